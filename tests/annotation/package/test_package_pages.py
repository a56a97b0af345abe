"""The page of the replication package and its REST request: who may ask, with what, and the row that comes of it."""

import pytest
from django.test import Client

from annotation.members.actions.members import add_member
from annotation.models import Export, Study
from tests import builders as make
from tests.asserts import assert_queries
from tests.scripts import Script

pytestmark = pytest.mark.django_db
ADDRESS = "/studies/study/exports/package/"
ASKED = {"texts": "included", "licence": "CC0-1.0", "authors": "Doe, Jo\n"}


def visitor(name: str, *, staff: bool = False) -> Client:
    client = Client()
    client.force_login(make.user(name, staff=staff))
    return client


def build_study() -> Study:
    made = make.study()
    make.rate(make.open_round(made, 2), "item bob carol\n1 crash hang\n2 crash crash")
    return made


def test_only_its_owner_sees_the_page_and_has_a_package_made(study: Study) -> None:
    make.study("other", text=make.FAULTS, raters=("mallory",))
    for name, status in (("ada", 403), ("bob", 403), ("rea", 403), ("mallory", 404)):
        assert visitor(name).get(ADDRESS).status_code == status, name
        assert visitor(name).post(ADDRESS, ASKED).status_code == status, name
    assert visitor("stan", staff=True).get(ADDRESS).status_code == 403
    assert Client().get(ADDRESS)["Location"].startswith("/sign-in/")
    assert visitor("olga").get("/studies/nonsense/exports/package/").status_code == 404
    assert not Export.objects.exists()
    answer = visitor("olga").post(ADDRESS, ASKED)
    assert (answer.status_code, answer["Location"]) == (302, "/studies/study/exports/#made")


def test_what_was_chosen_stands_in_the_row_and_the_same_is_asked_for_once(study: Study) -> None:
    olga = visitor("olga")
    for _ in range(2):
        olga.post(ADDRESS, ASKED)
    row = Export.objects.get()
    assert (row.what, row.format, row.state) == ("package", "zip", "queued")
    assert row.asked == {"texts": "included", "pseudonymise": False, "licence": "CC0-1.0", "authors": ["Doe, Jo"]}


def test_the_page_says_what_will_be_in_it_and_of_whom(study: Study) -> None:
    page = visitor("olga").get(ADDRESS).content.decode()
    for words in ("4 submissions from 1 round", "recompute.py", "belong to the people who wrote them", "by pseudonym"):
        assert words in page
    assert 'name="pseudonymise" aria-describedby="id_pseudonymise_helptext" id="id_pseudonymise" checked' in page


@pytest.mark.parametrize(("field", "value"), [("texts", "all"), ("licence", "WTFPL"), ("authors", "x" * 201)])
def test_nonsense_comes_back_beside_its_field(study: Study, field: str, value: str) -> None:
    answer = visitor("olga").post(ADDRESS, ASKED | {field: value})
    assert answer.status_code == 422 and f'id="id_{field}_error"' in answer.content.decode()
    assert not Export.objects.exists()


def test_an_empty_study_teaches_and_refuses() -> None:
    make.study()
    olga = visitor("olga")
    assert "Nothing to package yet" in olga.get(ADDRESS).content.decode()
    assert olga.post(ADDRESS, ASKED).status_code == 422
    assert Script("olga").send("POST", "studies/study/exports/", {"what": "package"}).status_code == 409


def test_an_owner_who_is_blind_in_a_round_reads_that_it_is_left_out(study: Study) -> None:
    add_member(seat=make.owner_seat(study), username="olga", roles=["owner", "rater"])
    make.submit(make.open_round(study, 1, raters=("olga", "bob"), first=3), "bob", 3, {"symptom": ["slow"]})
    page = visitor("olga").get(ADDRESS).content.decode()
    assert "You are a rater in round 2. Your package excludes it" in page and "4 submissions from 1 round" in page


def test_scripts_ask_for_it_with_all_options(study: Study) -> None:
    body = {"what": "package", "format": "zip", "texts": "left_out", "pseudonymise": False, "licence": "none"}
    answer = Script("olga").send("POST", "studies/study/exports/", body)
    assert answer.status_code == 202
    assert answer.json()["options"] == {"texts": "left_out", "pseudonymise": False, "licence": "none", "authors": []}
    assert Script("olga").send("POST", "studies/study/exports/", body | {"format": "csv"}).status_code == 422
    refused = Script("olga").send("POST", "studies/study/exports/", body | {"round": 1})
    assert refused.status_code == 422 and list(refused.json()["fields"]) == ["round"]
    assert Script("ada").send("POST", "studies/study/exports/", body).status_code == 403


def test_queries_of_the_page_do_not_grow_with_the_study(study: Study) -> None:
    olga = visitor("olga")
    for n_items in (5, 10):
        make.open_round(study, n_items, first=10)
        olga.get(ADDRESS)
        with assert_queries(9):
            olga.get(ADDRESS)
