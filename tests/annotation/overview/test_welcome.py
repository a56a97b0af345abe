"""The first page for visitors, and who can act as the demo's people with one click."""

from typing import Any

import pytest
from django.test import Client

from accounts.models import User
from annotation.core.access import get_seat
from annotation.core.errors import Forbidden
from annotation.invitations.actions.invitations import accept_invitation, invite
from annotation.members.actions.members import add_member, set_member
from annotation.models import Study
from tests import builders as make
from tests.scripts import Script

pytestmark = pytest.mark.django_db
HERE: dict[str, Any] = {"HTTP_HOST": "localhost:8000", "REMOTE_ADDR": "127.0.0.1"}


@pytest.fixture
def demo(settings: Any) -> Study:
    settings.LOOPBACK_ONLY, settings.SITE_URL_GIVEN, settings.ALLOWED_HOSTS = True, "", ["localhost", "concord.example"]
    study = make.study("demo", owner="demo-olga", raters=("demo-alice", "demo-bob"))
    add_member(seat=make.owner_seat(study), username=make.user("demo-ada").username, roles=["adjudicator"])
    return study


def enter(client: Client, person: str, **where: Any) -> str:
    """Acts as this person by the first page; gives who is signed in then."""
    client.post("/demo/sign-in/", {"person": person}, **(HERE | where))
    key = client.session.get("_auth_user_id")
    return User.objects.get(pk=key).username if key else ""


def test_a_visitor_reads_what_concord_is_and_how_to_sign_in() -> None:
    page = Client().get("/").content.decode()
    assert "Label GitHub issues together" in page and 'href="/sign-in/"' in page and "Try as" not in page


def test_one_click_signs_a_visitor_in_and_the_banner_switches_person(demo: Study) -> None:
    client = Client()
    page = client.get("/", **HERE).content.decode()
    assert all(f"Try as {role}" in page for role in ("rater", "adjudicator", "owner"))
    assert enter(client, "demo-alice") == "demo-alice"
    assert "You are Alice Rater" in client.get("/studies/demo/", **HERE).content.decode()
    assert enter(client, "demo-olga") == "demo-olga" and client.get("/demo/sign-in/", **HERE).status_code == 405


def test_who_has_no_items_left_in_the_demo_reads_who_has_and_only_they_do(demo: Study) -> None:
    make.open_round(demo, 2, raters=("demo-alice", "demo-bob"))
    for number in (1, 2):
        make.submit(demo.rounds.get(), "demo-alice", number, {"symptom": ["crash"]})
    client = Client()
    enter(client, "demo-alice")
    page = client.get("/studies/demo/rounds/1/label/", **HERE).content.decode()
    assert "Bob Rater still has 2 items to label in round 1." in page and "Switch to Bob Rater" in page
    answer = client.post("/demo/sign-in/", {"person": "demo-bob"}, **HERE)
    assert answer.url == "/studies/demo/rounds/1/label/", "where the items wait for the person one switches to"
    assert client.post("/demo/sign-in/", {"person": "demo-olga"}, **HERE).url == "/studies/demo/"
    assert Client().post("/demo/sign-in/", {"person": "demo-bob"}, **HERE).url == "/studies/demo/", (
        "a visitor looks first"
    )
    enter(client, "demo-bob")
    assert "still has" not in client.get("/studies/demo/rounds/1/label/", **HERE).content.decode()


def test_people_of_the_demo_are_told_at_once_that_they_create_no_studies(demo: Study) -> None:
    client = Client()
    enter(client, "demo-olga")
    for path in ("/start/", "/start/codebook/"):
        answer = client.get(path, **HERE)
        assert answer.status_code == 403 and "Use another account" in answer.content.decode()


@pytest.mark.parametrize(
    "where",
    [
        {"HTTP_HOST": "concord.example"},
        {"REMOTE_ADDR": "192.0.2.7"},
        {"HTTP_X_FORWARDED_FOR": "192.0.2.7"},
        {"site": "http://localhost:8000"},
        {"loopback": False},
    ],
)
def test_nobody_elsewhere_can_act_as_the_demos_people(demo: Study, settings: Any, where: dict[str, Any]) -> None:
    where = dict(where)
    settings.SITE_URL_GIVEN, settings.LOOPBACK_ONLY = where.pop("site", ""), where.pop("loopback", True)
    assert "Try as" not in Client().get("/", **(HERE | where)).content.decode()
    assert enter(Client(), "demo-alice", **where) == ""
    settings.DEMO_OPEN = True
    assert enter(Client(), "demo-alice", **where) == "demo-alice"


def test_only_people_who_are_in_the_demo_alone_can_be_entered(demo: Study) -> None:
    other = make.study("other", text=make.SYMPTOMS.replace("symptoms", "others"), owner="ida", raters=("demo-bob",))
    set_member(seat=make.owner_seat(other), username="demo-ada", roles=["reader"])
    make.user("demo-carol")
    User.objects.filter(username="demo-olga").update(is_staff=True)
    people = ("demo-alice", "demo-bob", "demo-ada", "demo-carol", "demo-olga", "bob", "")
    assert [enter(Client(), person) for person in people] == ["demo-alice", "", "demo-ada", *[""] * 4]


def test_someone_with_an_account_of_their_own_stays_signed_in(demo: Study) -> None:
    client = Client()
    client.force_login(make.user("bob"))
    assert enter(client, "demo-alice") == "bob"


def test_nobody_takes_the_demos_people_away_by_a_study(demo: Study, settings: Any) -> None:
    settings.ALLOWED_HOSTS = ["localhost", "testserver"]
    make.version(make.SYMPTOMS.replace("slug: symptoms", "slug: others"), "mal")
    made = Script("mal").send("POST", "studies/", {"slug": "mine", "title": "Mine", "taxonomy": "others"})
    assert made.status_code == 201
    invited = Script("mal").send("POST", "studies/mine/members/", {"user": "demo-ada", "roles": ["reader"]})
    assert invited.status_code == 201 and enter(Client(), "demo-ada") == "demo-ada"
    (waiting,) = Script("demo-ada").send("GET", "me/invitations/").json()["results"]
    assert Script("demo-ada").send("POST", f"me/invitations/{waiting['id']}/accept/", {}).status_code == 403
    _, plaintext = invite(seat=get_seat(make.user("mal"), "mine"), roles=["reader"])
    with pytest.raises(Forbidden, match="Anyone can act as the people of the demo"):
        accept_invitation(user=make.user("demo-ada"), plaintext=plaintext)
    own = {"slug": "theirs", "title": "Theirs", "taxonomy": "others"}
    assert Script("demo-olga").send("POST", "studies/", own).status_code == 403
    assert {enter(Client(), name) for name in ("demo-olga", "demo-ada")} == {"demo-olga", "demo-ada"}
