"""Who may create studies, by every way there is; and what an ID that is not available tells."""

import io
from typing import Any

import pytest
from django.core.management import call_command
from django.test import Client

from accounts.actions import make_token
from accounts.models import User
from annotation.models import Arrival, Membership, Study, Workbook
from config.env import PeopleSetting
from shared.rate_limits import UNAVAILABLE_IDS, process_counts
from tests import builders as make

pytestmark = pytest.mark.django_db
STAFF_ONLY = PeopleSetting()
SHEET = b"item,rater,dimension,value\na,bob,symptom,crash\n"


@pytest.fixture
def rita(settings: Any) -> User:
    """Owner of a study, in a server where only staff create studies."""
    study = make.study(owner="rita")
    settings.STUDY_CREATORS = STAFF_ONLY
    assert study.slug == "study"
    return User.objects.get(username="rita")


def signed_in(user: User) -> Client:
    client = Client()
    client.force_login(user)
    return client


def api(user: User) -> dict[str, str]:
    return {"Authorization": f"Bearer {make_token(user=user, name='t', scope='manage')[1]}"}


def body(slug: str = "second") -> dict[str, str]:
    return {"slug": slug, "title": "Second", "taxonomy": Study.objects.get(slug="study").taxonomy.slug}


def create(user: User, slug: str = "second") -> Any:
    return Client().post("/api/v1/studies/", body(slug), content_type="application/json", headers=api(user))


WAYS = [
    ("/studies/new/", {"slug": "second", "title": "Second", "taxonomy": "faults", "resolve_when": "round"}),
    ("/start/codebook/", {"title": "Second", "source": "use", "taxonomy": "faults"}),
    ("/studies/import/", {}),
    ("/studies/import/whole/", {"slug": "second"}),
    ("/studies/study/duplicate/", {"slug": "second", "title": "Second"}),
]


@pytest.mark.parametrize(("address", "sent"), WAYS)
def test_no_page_creates_a_study_for_whom_the_setting_leaves_out(
    rita: User, address: str, sent: dict[str, str]
) -> None:
    client = signed_in(rita)
    file = {"file": io.BytesIO(SHEET)} if "import" in address else {}
    for answer in (client.get(address), client.post(address, sent | file)):
        assert answer.status_code == 403
        assert "create studies on this server" in answer.content.decode()
    assert Study.objects.count() == 1
    assert not Workbook.objects.exists() and not Arrival.objects.exists()


def test_rest_creates_no_study_for_whom_the_setting_leaves_out(rita: User) -> None:
    answer = create(rita)
    assert (answer.status_code, answer.json()["code"]) == (403, "forbidden")
    assert "STUDY_CREATORS" in answer.json()["message"]
    assert Study.objects.count() == 1


def test_a_workbook_that_was_uploaded_before_is_not_made_into_a_study_any_more(settings: Any, rita: User) -> None:
    settings.STUDY_CREATORS = PeopleSetting(everyone=True)
    client = signed_in(rita)
    page = client.post("/studies/import/", {"file": io.BytesIO(SHEET)})["Location"]
    settings.STUDY_CREATORS = STAFF_ONLY
    assert client.post(page, {"title": "Second", "slug": "second", "import": "1"}).status_code == 403
    assert Workbook.objects.get().state in Workbook.OPEN


def test_no_page_offers_what_would_be_refused(settings: Any, rita: User) -> None:
    client = signed_in(rita)
    pages = ("/", "/studies/", "/studies/study/settings/")
    doors = ("/studies/new/", "/start/", "/studies/import/", "/duplicate/")
    assert not [(page, door) for page in pages for door in doors if door in client.get(page).content.decode()]
    settings.STUDY_CREATORS = PeopleSetting(everyone=True)
    assert [door for door in doors if not any(door in client.get(page).content.decode() for page in pages)] == []


def test_whoever_is_in_no_study_is_told_whom_to_ask(rita: User) -> None:
    nina = make.user("nina")
    for page in ("/", "/studies/"):
        words = signed_in(nina).get(page).content.decode()
        assert "people chosen by its operator" in words and "/studies/new/" not in words


def test_staff_and_the_people_who_are_named_create_studies(settings: Any, rita: User) -> None:
    sam = make.user("sam", staff=True)
    assert create(sam, "sams").status_code == 201
    settings.STUDY_CREATORS = PeopleSetting(names=frozenset({"rita"}))
    assert create(rita, "ritas").status_code == 201
    assert create(sam, "sams-too").status_code == 201
    assert create(make.user("nina"), "ninas").status_code == 403


def test_the_shell_creates_a_study_for_anyone(rita: User, tmp_path: Any) -> None:
    path = tmp_path / "sheet.csv"
    path.write_bytes(SHEET)
    call_command("import_ratings", str(path), study="second", create=True, owner="rita", stdout=io.StringIO())
    assert Membership.objects.filter(study__slug="second", user=rita, roles__contains=["owner"]).exists()


# IDs


def hidden(slug: str) -> Study:
    """A study that nina is not in."""
    return make.study(slug, owner="rita", text=make.SYMPTOMS.replace("slug: symptoms", f"slug: of-{slug}"))


@pytest.fixture
def nina() -> User:
    hidden("hidden")
    make.study(owner="nina", slug="study")
    return User.objects.get(username="nina")


def test_a_refused_id_does_not_tell_that_a_study_exists(nina: User) -> None:
    """One's own, one that is hidden, and a reserved word: the same status, code, message and fields."""
    answers = [create(nina, slug) for slug in ("hidden", "study", "new", "import")]
    said = {(answer.status_code, answer.content) for answer in answers}
    assert len(said) == 1
    assert answers[0].status_code == 409 and "not available" in answers[0].json()["message"]


def test_a_page_tells_no_more_about_a_refused_id(nina: User) -> None:
    client = signed_in(nina)
    sent = {"title": "Second", "taxonomy": Study.objects.get(slug="study").taxonomy.slug, "resolve_when": "round"}
    found = {}
    for slug in ("hidden", "new"):
        answer = client.post("/studies/study/duplicate/", sent | {"slug": slug})
        found[slug] = (answer.status_code, answer.content.decode().replace(f'value="{slug}"', ""))
        assert "his ID is not available" in found[slug][1]
    assert found["hidden"][0] == found["new"][0] == 409


def test_ids_can_not_be_tried_without_end(nina: User) -> None:
    answers = [create(nina, "hidden").status_code for _ in range(UNAVAILABLE_IDS.n_most + 1)]
    assert answers == [409] * UNAVAILABLE_IDS.n_most + [429]
    free = create(nina, "free")  # what is available would tell, too
    assert free.status_code == 429 and int(free["Retry-After"]) > 0
    assert create(make.user("sam", staff=True), "hidden").status_code == 409
    process_counts.clear()


def test_an_id_that_is_offered_does_not_pass_over_a_hidden_study(nina: User) -> None:
    hidden("study-2")
    assert 'value="study-2"' in signed_in(nina).get("/studies/study/duplicate/").content.decode()


def test_people_of_the_demo_learn_before_they_fill_in_a_form_that_they_create_no_studies() -> None:
    make.study("demo", owner="demo-olga")
    olga = signed_in(User.objects.get(username="demo-olga"))
    for address in (*(address for address, _ in WAYS), "/start/"):
        answer = olga.get(address.replace("/study/", "/demo/"))
        assert answer.status_code == 403 and "create no studies" in answer.content.decode(), address
