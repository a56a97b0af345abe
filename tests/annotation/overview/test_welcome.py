"""The first page for visitors, and who can act as the demo's people with one click."""

from importlib import import_module
from typing import Any

import pytest
from django.conf import settings as django_settings
from django.contrib.auth.hashers import make_password
from django.db import connection
from django.test import Client

from accounts import actions as account_actions
from accounts.actions import make_private
from accounts.models import ApiToken, ServerEvent, Session, User
from accounts.passwords import DEMO_PASSWORD
from accounts.permissions import may_use_tokens
from annotation.core.access import get_seat
from annotation.core.errors import Conflict, Forbidden
from annotation.exports import jobs as export_jobs
from annotation.exports.actions import request_export
from annotation.invitations.actions.invitations import accept_invitation, invite, join
from annotation.members.actions.members import add_member, set_member
from annotation.models import Study
from annotation.overview.actions.first_study import start_study
from annotation.studies.queries.studies import usable_taxonomies
from annotation.transfer.actions.life import duplicate_study
from config.env import PeopleSetting
from taxonomy.actions import publish_version, take_ready_made
from taxonomy.ready_made import preset
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


BOB = {"username": "demo-bob", "kind": "person"}


def other_study(owner: str) -> Study:
    return make.study("other", text=make.SYMPTOMS.replace("slug: symptoms", "slug: others"), owner=owner)


@pytest.mark.parametrize("way", ["page", "rest", "shell", "duplicate", "sheet"])
def test_no_visitor_stays_in_an_account_that_gets_into_another_study(demo: Study, settings: Any, way: str) -> None:
    settings.ALLOWED_HOSTS = ["localhost", "testserver"]
    make.user("sam", staff=True)
    bob, visitor, sam = User.objects.get(username="demo-bob"), Client(), Script("sam")
    bob.set_password(DEMO_PASSWORD)
    bob.email = "visitor@evil.example"
    bob.save()
    enter(visitor, "demo-bob")
    _, token = account_actions.make_token(user=bob, name="kept", scope="manage")
    other = other_study("sam")
    said = {"user": "demo-bob", "roles": ["adjudicator"]}
    if way == "page":
        staff = Client()
        staff.force_login(User.objects.get(username="sam"))
        page = staff.post("/studies/other/members/", {**BOB, "roles": ["adjudicator"]}, follow=True)
        assert "This account is private now" in page.content.decode()
    elif way == "rest":
        answer = sam.send("POST", "studies/other/members/", said)
        assert answer.status_code == 201 and "This account is private now" in answer.json()["notice"]
    elif way == "shell":
        add_member(seat=make.owner_seat(other), username="demo-bob", roles=["adjudicator"])
    elif way == "duplicate":
        Study.objects.filter(pk=other.pk).update(slug="elsewhere")
        demo.taxonomy.maintainers.set([make.user("sam")])
        add_member(seat=get_seat(User.objects.get(username="demo-olga"), "demo"), username="sam", roles=["owner"])
        duplicate_study(seat=get_seat(User.objects.get(username="sam"), "demo"), slug="other", with_members=True)
    else:
        sheet = b"item,rater,dimension,value\na,demo-bob,symptom,crash\n"
        answer = sam.client.post("/api/v1/studies/other/ratings/", sheet, content_type="text/csv", headers=sam.headers)
        assert answer.status_code == 201, answer.content
    assert Study.objects.get(slug="other").memberships.filter(user=bob).exists()
    assert visitor.get("/studies/other/", **HERE).status_code == 302, "signed out"
    kept = {"Authorization": f"Bearer {token}"}
    assert Client().get("/api/v1/studies/other/", headers=kept).status_code == 401
    bob.refresh_from_db()
    assert not bob.has_usable_password() and not bob.email and enter(Client(), "demo-bob") == ""
    assert ServerEvent.objects.filter(about=bob, verb="public account made private").count() == 1


def test_an_account_that_was_made_private_is_its_persons_own_for_good(demo: Study) -> None:
    make.user("sam", staff=True)
    ada = User.objects.get(username="demo-ada")
    other = other_study("sam")
    set_member(seat=make.owner_seat(other), username="demo-ada", roles=["reader"])
    link, _ = account_actions.make_password_link(user=ada)
    account_actions.use_password_link(link=link, new="her-own-long-password")
    again = make.study("third", text=make.SYMPTOMS.replace("slug: symptoms", "slug: thirds"), owner="sam")
    set_member(seat=make.owner_seat(again), username="demo-ada", roles=["reader"])
    other.memberships.filter(user=ada).delete()
    again.memberships.filter(user=ada).delete()
    ada.refresh_from_db()
    assert ada.check_password("her-own-long-password")
    assert enter(Client(), "demo-ada") == "", "also when the other studies are gone"


def test_the_people_of_the_demo_hand_out_no_accounts(demo: Study, settings: Any) -> None:
    settings.ALLOWED_HOSTS = ["localhost", "testserver"]
    client, olga = Client(), Script("demo-olga")
    enter(client, "demo-olga")
    make.user("mal")
    page = client.get("/studies/demo/members/", **HERE).content.decode()
    assert (
        "invite, add, and remove no one" in page
        and "Create link" not in page
        and "Add member" not in page
        and "password link" not in page
    )
    link = {"roles": ["reader"], "days": "14", "n_most": "200"}
    answers = [
        client.post("/studies/demo/members/invite/", link, **HERE),
        client.post("/studies/demo/members/", {"username": "mal", "kind": "person", "roles": ["owner"]}, **HERE),
        olga.send("POST", "studies/demo/invitations/", {"roles": ["reader"], "n_most": 200}),
        olga.send("POST", "studies/demo/members/", {"user": "mal", "roles": ["owner"]}),
    ]
    for rater in ("Rude Name", "demo-ada"):
        sheet = f"item,rater,dimension,value\na,{rater},symptom,crash\n".encode()
        answers.append(
            olga.client.post("/api/v1/studies/demo/ratings/", sheet, content_type="text/csv", headers=olga.headers)
        )
    assert [answer.status_code for answer in answers] == [403] * 6
    assert all("invite, add, and remove no one" in answer.content.decode() for answer in answers)
    assert not demo.invitations.exists() and not demo.memberships.filter(invited_user__isnull=False).exists()


def test_a_link_that_a_visitor_of_the_demo_made_earlier_leads_nowhere(demo: Study) -> None:
    _, plaintext = invite(seat=get_seat(make.user("mal"), other_study("mal").slug), roles=["reader"])
    made = Study.objects.get(slug="other").invitations.get()
    made.study, made.created_by = demo, User.objects.get(username="demo-olga")
    made.save()
    assert Client().get(f"/invitations/{plaintext}/", **HERE).status_code == 404


ALICE = {"typed": "demo-alice", "password": DEMO_PASSWORD}
TAKEN: list[tuple[str, str, dict[str, Any]]] = [
    ("demo-alice", "/studies/demo/leave/", {}),
    ("demo-alice", "/me/password/", {"old": DEMO_PASSWORD, "new": "a-visitors-own-password"}),
    ("demo-alice", "/me/profile/", {"full_name": "Mal", "email": "", "password": DEMO_PASSWORD}),
    ("demo-alice", "/me/profile/", {"full_name": "Alice Rater", "email": "m@l.example", "password": DEMO_PASSWORD}),
    ("demo-alice", "/me/tokens/", {"name": "t", "scope": "manage", "days": "never", "password": DEMO_PASSWORD}),
    ("demo-alice", "/me/close/", ALICE),
    ("demo-alice", "/me/image-hosts/", {"host": "evil.example"}),
    ("demo-alice", "/me/image-hosts/", {"hosts": "evil.example"}),
    ("demo-olga", "/studies/demo/members/{bob}/remove/", {}),
    ("demo-olga", "/studies/demo/members/", {**BOB, "roles": ["reader"]}),
]


def test_no_visitor_takes_the_demos_people_from_the_next(demo: Study) -> None:
    User.objects.filter(username__startswith="demo-").update(password=make_password(DEMO_PASSWORD))
    bob = demo.memberships.get(user__username="demo-bob").pk
    for person, path, sent in TAKEN:
        client = Client()
        enter(client, person)
        before = list(User.objects.values()), list(demo.memberships.values()), ApiToken.objects.count()
        answer = client.post(path.format(bob=bob), sent, **HERE)
        assert answer.status_code == 403 and "Anyone can act as the people of the demo" in answer.content.decode(), path
        after = list(User.objects.values()), list(demo.memberships.values()), ApiToken.objects.count()
        assert after == before, path
    page = client.get("/me/", **HERE).content.decode()
    assert "Use another account" in page
    assert not [each for each in ("Save name", "Change password", "Create token", "Close my") if each in page]


def test_whoever_deletes_the_demo_keeps_no_account_of_its_people(
    demo: Study, django_capture_on_commit_callbacks: Any
) -> None:
    User.objects.filter(username__startswith="demo-").update(password=make_password(DEMO_PASSWORD))
    client = Client()
    enter(client, "demo-olga")
    export = request_export(seat=make.owner_seat(demo), what="study", format=None, send=False)
    export_jobs.work(export.pk)
    assert client.post("/studies/demo/delete/", {"typed": "demo"}, **HERE).status_code == 302
    sent = {"name": "t", "scope": "manage", "days": "never", "password": DEMO_PASSWORD}
    for path, data in (
        ("/me/tokens/", sent),
        ("/me/password/", {"old": DEMO_PASSWORD, "new": "a-visitors-own-password"}),
        ("/me/profile/", {"full_name": "Olga", "email": "m@l.example", "password": DEMO_PASSWORD}),
        ("/me/close/", {"typed": "demo-olga", "password": DEMO_PASSWORD}),
        ("/studies/new/", {"title": "Mine", "slug": "mine"}),
    ):
        answer = client.post(path, data, **HERE)
        assert answer.status_code == 403 and "the people of the demo" in answer.content.decode(), path
    assert not Study.objects.filter(slug="mine").exists() and not ApiToken.objects.exists()
    assert "Try as" not in client.get("/", **HERE).content.decode()


def test_nobody_gets_the_user_name_of_the_demos_people_by_an_invitation() -> None:
    _, link = invite(seat=make.owner_seat(make.study()), roles=["rater"])
    for name in ("demo-bob", "DEMO-Bob"):
        with pytest.raises(Conflict, match=f"The name {name} is taken"):
            join(plaintext=link, username=name, password="a long password of theirs")
    assert not User.objects.filter(username__iexact="demo-bob").exists()


def test_the_people_of_the_demo_use_no_token_of_the_server(demo: Study, settings: Any) -> None:
    settings.FETCHERS = PeopleSetting(everyone=True)
    olga, nina = User.objects.get(username="demo-olga"), make.user("nina")
    assert may_use_tokens(nina) and not may_use_tokens(olga)
    for user, asks in ((olga, True), (nina, False)):
        client = Client()
        client.force_login(user)
        assert ("To fetch a private one" in client.get("/repositories/", **HERE).content.decode()) is asks, user


def test_the_people_of_the_demo_are_offered_no_study_of_their_own(demo: Study) -> None:
    pages = {"/": "Start a study", "/studies/": "New study", "/studies/demo/settings/": "Duplicate …"}
    olga, nina = User.objects.get(username="demo-olga"), make.user("nina")
    add_member(seat=get_seat(olga, "demo"), username=nina.username, roles=["owner"])
    make.accept("nina")
    for user, is_offered in ((olga, False), (nina, True)):
        client = Client()
        client.force_login(user)
        for path, offer in pages.items():
            assert (offer in client.get(path, **HERE).content.decode()) is is_offered, (user, path)


def test_a_visitor_sees_and_ends_no_session_of_another_visitor(demo: Study) -> None:
    first, second = Client(), Client(headers={"User-Agent": "Mozilla/5.0 (iPhone; CPU) AppleWebKit Safari/604.1"})
    assert enter(first, "demo-alice") == enter(second, "demo-alice") == "demo-alice"
    theirs = Session.objects.get(pk=second.cookies[django_settings.SESSION_COOKIE_NAME].value)
    page = first.get("/me/", **HERE).content.decode()
    assert "this session" in page and "iPhone" not in page and theirs.number not in page and "Sign out" in page
    for path in (f"/me/sessions/{theirs.number}/end/", "/me/sessions/end-others/"):
        answer = first.post(path, **HERE)
        assert answer.status_code == 403 and "belong to other visitors" in answer.content.decode(), path
    assert second.get("/me/", **HERE).status_code == 200


def test_a_visitor_of_a_public_demo_site_deletes_and_archives_no_study(demo: Study, settings: Any) -> None:
    settings.DEMO_OPEN = True
    client = Client()
    enter(client, "demo-olga")
    answer = client.post("/studies/demo/delete/", {"typed": "demo"}, **HERE)
    assert answer.status_code == 403 and "delete it" in answer.content.decode()
    answer = client.post("/studies/demo/archive/", **HERE)
    demo.refresh_from_db()
    assert answer.status_code == 403 and demo.archived_at is None


def test_nobody_else_makes_a_study_of_what_the_demos_people_can_change(demo: Study, settings: Any) -> None:
    """Whoever clicks one of them writes versions and reads drafts, in which proposals of raters stand."""
    settings.ALLOWED_HOSTS = ["localhost", "testserver"]
    olga = User.objects.get(username="demo-olga")
    publish_version(user=olga, version=take_ready_made(user=olga, asked=preset("liu-2023").document))
    nina = make.user("nina")
    answer = Script("nina").send("POST", "studies/", {"slug": "mine", "title": "Mine", "taxonomy": "liu-2023"})
    assert answer.status_code == 422 and "anyone can act as them" in str(answer.json()["fields"]["taxonomy"])
    assert not usable_taxonomies(nina).exists() and usable_taxonomies(demo.created_by).count() == 2
    study, _ = start_study(user=nina, title="Mine", source="ready", chosen={"preset": "liu-2023"})
    assert study.taxonomy.slug == "liu-2023-2" and [each.username for each in study.taxonomy.maintainers.all()] == [
        "nina"
    ]


def test_an_upgrade_takes_taxonomies_that_others_use_from_the_demos_people(demo: Study) -> None:
    other = other_study("nina")
    own = make.version(make.SYMPTOMS.replace("slug: symptoms", "slug: of-the-demo"), "demo-olga").taxonomy
    for each in (other.taxonomy, own):
        each.maintainers.set([User.objects.get(username="demo-olga"), make.user("nina")])
    migration = import_module("annotation.migrations.0061_demo_people_maintain_the_demo_alone")

    def left() -> list[list[str]]:
        with connection.cursor() as cursor:
            cursor.execute(migration.DEMO_PEOPLE_GO)
        return [sorted(each.maintainers.values_list("username", flat=True)) for each in (other.taxonomy, own)]

    assert left() == [["nina"], ["demo-olga", "nina"]]
    make_private(user=User.objects.get(username="demo-olga"))
    other.taxonomy.maintainers.add(User.objects.get(username="demo-olga"))
    assert left()[0] == ["demo-olga", "nina"]
