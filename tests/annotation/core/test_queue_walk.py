"""Every URL of a study shows who labels items of a relabeling queue again the same, whatever the queue holds."""

import json
import re
from datetime import UTC, datetime
from io import BytesIO
from typing import Any

import pytest

from annotation.choosing.actions.samples import screen_items
from annotation.core.access import get_item
from annotation.core.errors import Conflict
from annotation.imports.actions.ratings import import_ratings
from annotation.inbox.queries import lines_of
from annotation.members.actions import members
from annotation.members.actions.reader_links import make_reader_link
from annotation.models import Assignment, Item, Membership, Round, RoundRater, Study
from annotation.rounds.actions import raters, rounds
from tests import builders as make
from tests.annotation.permission_study import BASE, Visitor, compared, words_of
from tests.permissions.site import NOT_TAKEN, rows, taken_back
from tests.scripts import Script

pytestmark = [pytest.mark.django_db, pytest.mark.timeout(900)]

OPEN, RESOLVING, CLOSED = Round.State.OPEN, Round.State.RESOLVING, Round.State.CLOSED
KEEP, EXCLUDE = Study.ScreenedOut.KEEP, Study.ScreenedOut.EXCLUDE
AGAIN = (1, 2, 3, 4)
"""The items of round 3: all were labeled in round 1, and 5 was, too."""
QUEUES = ("", "1 symptom al,zed\n2 symptom al\n3 symptom zed,mod\n4 symptom al")
"""What the queue holds besides item 5 of al: nothing, or items that are labeled again.

Zed and the model rater mod have no others.
"""
BODIES: dict[str, list[dict[str, Any]]] = {
    "quota/": [{"quota": "0"}],
    "admit/": [{"reason": "because"}],
    "resolve/": [{}, {"withdraw": True}],
    "close/": [{"leave_open": True}],
    "raters/add/": [{"user": "mal"}],
    "raters/": [{"user": "mal"}],
    "api/v1/studies/study/members/": [{"user": "mod", "roles": ["rater"], "machine": {"prompt": "Another one"}}],
    "api/v1/studies/study/rounds/": [
        {"issues": [], "raters": ["bob"], "raters_per_item": 1, "training_round": 2, "n_training": 9}
    ],
    "screening/": [
        {"screening": "out", "reason": "late"},
        {"screening": "out", "reason": "late", "items": ["acme/rocket#3"]},
    ],
}
"""What is sent, by the end of a URL; nothing where it is not named."""
PATCHES: dict[str, list[dict[str, Any]]] = {
    "rounds/2/": [{"due_on": None}],
    "raters/R2/": [{"quota": 0}],
    "raters/R5/": [{"quota": 0}],
}
CHANGING = re.compile(
    r"\d{4}-\d\d-\d\dT[\d:.]+(Z|\+00:00)?|\d\d:\d\d:\d\d|\d\d:\d\d UTC|class=\"ago\">[^<]+|Content-Length: \d+"
    r"|[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f-]{22}"
)
"""Times, and IDs that are encrypted."""


def new_study(*, is_asked: bool) -> Study:
    """A study with closed round 1 and round 3, in which bob, ada and the owner carl label its items again.

    Or where bob, ada and carl are asked as third raters.
    """
    study = make.study("study", raters=("ada", "al", "bob", "carl", "mal", "zed"))
    for name, role in (("carl", "owner"), ("ada", "adjudicator")):
        members.add_member(seat=make.owner_seat(study), username=name, roles=[role, "rater"])
    machine = make.user("mod").username
    members.add_member(seat=make.owner_seat(study), username=machine, roles=["rater"], kind="machine")
    lines = "\n".join(f"{number} hang hang hang" for number in range(1, 6))
    make.rate(make.open_round(study, 5, raters=("al", "mal", "zed")), f"item al mal zed\n{lines}")
    rounds.close_round(seat=make.owner_seat(study), number=1)
    make.next_version(study, make.HANG_SPLIT)
    names = ["al", "zed"] if is_asked else ["ada", "bob", "carl"]
    issues = [f"acme/rocket#{number}" for number in AGAIN]
    Round.objects.create(  # keeps number 2 for the queue
        study=study, number=2, kind=Round.Kind.RELABEL, taxonomy_version=study.taxonomy.versions.get(number=2),
        created_by=study.created_by,
    )  # fmt: skip
    asked = rounds.NewRound(raters=names, issues=issues, raters_per_item=len(names))
    rounds.create_round(seat=make.owner_seat(study), asked=asked)
    again = rounds.open_round(seat=make.owner_seat(study), number=3, reason="-", unregistered=True)
    for position, number in enumerate(AGAIN if is_asked else (), start=1):
        make.submit(again, "al", number, {"symptom": ["hang-a"]})
        make.submit(again, "zed", number, {"symptom": ["hang-b"]})
        for name in ("ada", "bob", "carl"):
            item = get_item(make.owner_seat(study), f"acme/rocket#{number}")
            Assignment.objects.create(round=again, item=item, rater=make.member(study, name), position=position)
    return study


def queue_2(study: Study, holds: str) -> Round:
    Round.objects.filter(study=study, number=2).delete()
    made = make.worklist(study, 2, f"item asked raters\n{holds}", state=Round.State.DRAFT)
    Round.objects.filter(pk=made.pk).update(number=2, state=OPEN, raters_per_item=1)
    made.refresh_from_db()
    return made


def add_queue(study: Study, holds: str, state: str) -> None:
    """Queue 2, which another owner changed, screened items of, and moved on."""
    seat, made = make.owner_seat(study), queue_2(study, f"5 symptom al\n{holds}")
    for name in ("al", "zed") if "zed" in holds else ("al",):
        raters.change_quota(seat=seat, number=2, rater=name, quota=9)
    if state != OPEN:
        make.submit(made, "al", 5, {"symptom": ["hang-a"]})
    for name in ("zed", "mod") if "zed" in holds else ():
        make.submit(made, name, 3, {"symptom": ["hang-a"]})
    names = [f"acme/rocket#{number}" for number in (2, 4)]
    screen_items(seat=seat, screening="out", reason="off topic", items=names)
    made.refresh_from_db()
    if state != OPEN and made.state == OPEN:
        rounds.resolve_round(seat=seat, number=2, withdraw=True)
    if state == CLOSED:
        rounds.close_round(seat=seat, number=2, leave_open=True)


def addresses(study: Study) -> list[tuple[str, str]]:
    """Method and URL of everything in the tables of tests/permissions/ that names the study, for each of its raters."""
    members = {each.user.username: each.pk for each in study.memberships.select_related("user") if each.user}
    items = {each.identifier.rpartition("#")[2]: each.pk for each in Item.objects.filter(study=study)}
    found: dict[tuple[str, str], None] = {}
    for table in ("pages", "rest", "methods"):
        for _, address, cells in rows(table):
            method, _, place = address.rpartition(" /")
            if "studies/study/" not in place and place not in ("", "studies/", "inbox/"):
                continue
            places = [place.replace("round=1", "round=2").replace("rounds/1/", "rounds/2/")]
            if "R1" in place:
                places = [place.replace("R1", code) for code in ("R2", "R5", "R6")]
            elif "{member" in place:
                places = [re.sub(r"\{member \w+\}", str(members[name]), place) for name in ("al", "mal", "zed")]
            elif re.search(r"\{\d+\}", place):
                places = [re.sub(r"\{\d+\}", str(items[number]), places[0]) for number in ("1", "2", "3", "5")]
            for each in places:
                path = re.sub(r"\{[^}]+\}", "1", each)
                for way, status in zip((method,) if method else ("GET", "POST"), cells[0].split(), strict=True):
                    if status != NOT_TAKEN:
                        found[way, "/" + path] = None
    more = ("analysis/saturation/?round=2", "analysis/counts/?round=2", "agreement/?round=2", "audit/audit.jsonl")
    for path in more:
        found["GET", f"/studies/study/{path}"] = None
    return list(found)


def walk(visitor: Visitor, places: list[tuple[str, str]]) -> dict[tuple[str, str, str], str]:
    """What each URL answers, with the page that a form leads to; whatever it changed is taken back."""
    found = {}
    for method, path in places:
        sent = {"POST": BODIES, "PATCH": PATCHES}.get(method, {})
        for body in next((bodies for end, bodies in sent.items() if path.endswith(end)), [{}]):
            with taken_back():
                found[method, path, str(body)] = answer(visitor, method, path, body)
    return found


def answer(visitor: Visitor, method: str, path: str, body: dict[str, Any]) -> str:
    asked: dict[str, Any] = {}
    if path.startswith(BASE):
        asked["headers"] = visitor.headers
    if method in ("POST", "PATCH", "PUT", "DELETE") and path.startswith(BASE):
        asked |= {"data": json.dumps(body), "content_type": "application/json"}
        path = path.partition("?")[0]
    elif method == "POST":
        asked |= {"data": body, "follow": True}
    client = visitor.client
    cookies = client.cookies.copy()
    told = getattr(client, method.lower())(path, **asked)
    client.cookies = cookies
    assert told.status_code < 500, path
    return f"{told.status_code} " + CHANGING.sub("", compared(words_of(told)))


def visitor_of(study: Study, who: str) -> Visitor:
    if who:
        return Visitor(who)
    _, secret = make_reader_link(seat=make.owner_seat(study), label="Reviewer", with_issues=True)
    visitor = Visitor(None)
    visitor.client.get(f"/read/{secret}/")
    return visitor


@pytest.mark.slow
@pytest.mark.parametrize(
    ("who", "state", "is_asked", "screened_out"),
    [
        ("carl", OPEN, False, KEEP),
        ("", OPEN, False, KEEP),
        pytest.param("bob", OPEN, True, KEEP, marks=pytest.mark.soak),
        pytest.param("bob", CLOSED, False, EXCLUDE, marks=pytest.mark.soak),
        pytest.param("ada", RESOLVING, False, KEEP, marks=pytest.mark.soak),
        pytest.param("carl", RESOLVING, True, KEEP, marks=pytest.mark.soak),
        pytest.param("carl", OPEN, False, EXCLUDE, marks=pytest.mark.soak),
    ],
)
def test_no_url_shows_what_a_queue_holds_to_those_who_label_its_items_again(
    who: str, state: str, is_asked: bool, screened_out: str
) -> None:
    """Who does not decide changes nothing of a round, so that they are asked for pages alone."""
    study = new_study(is_asked=is_asked)
    Study.objects.filter(pk=study.pk).update(screened_out=screened_out)
    visitor, places = visitor_of(study, who), addresses(study)
    if who not in ("ada", "carl"):
        places = [(method, path) for method, path in places if method == "GET" and (who or not path.startswith(BASE))]
    worlds = []
    for holds in QUEUES:
        with taken_back():
            add_queue(study, holds, state)
            worlds.append(walk(visitor, places))
    assert [place for place, told in worlds[0].items() if told != worlds[1][place]] == []


def test_who_is_in_a_queue_and_labels_its_items_again_leaves_like_anyone() -> None:
    study = new_study(is_asked=False)
    made, bob = queue_2(study, "1 symptom bob\n2 symptom carl,bob"), Visitor("bob")
    page = bob.get("/", "studies/study/leave/")
    assert page.status_code == 200 and "Round 3" in page.content.decode() and "Round 2" not in page.content.decode()
    assert bob.post("/", "studies/study/leave/", {}).status_code == 302
    assert RoundRater.objects.get(round=made, rater__former_user=make.user("bob")).left_at
    carl = make.user("carl")
    carl.set_password("a long password")
    carl.save()
    Membership.objects.filter(study=study, user=carl).update(roles=["rater"])
    closed = Visitor("carl").post("/", "me/close/", {"typed": "carl", "password": "a long password"})
    assert closed["Location"] == "/sign-in/" and not Membership.objects.filter(user=carl).exists()


@pytest.mark.parametrize("path", ["members/{}/withdraw/", "members/{}/remove/"])
def test_taking_someone_out_of_a_queue_tells_nobody_who_labels_its_items_again(path: str) -> None:
    study = new_study(is_asked=False)
    made, al = queue_2(study, "1 symptom al"), make.member(study, "al")
    client, path = Visitor("carl").client, f"/studies/study/{path.format(al.pk)}"
    assert "Round 2" not in client.get(path).content.decode()
    told = client.post(path, follow=True).content.decode()
    assert "Round 2" not in told and "1 open round" not in told
    assert not Assignment.objects.filter(round=made, state__in=Assignment.UNFINISHED).exists()
    assert Round.objects.get(pk=made.pk).state == OPEN, "that it is done would show that al alone was left in it"


def test_screening_the_last_item_of_a_queue_out_does_not_show_that_it_was_there(
    django_capture_on_commit_callbacks: Any,
) -> None:
    study = new_study(is_asked=True)
    Study.objects.filter(pk=study.pk).update(screened_out=EXCLUDE)
    made = queue_2(study, "1 symptom al")
    with django_capture_on_commit_callbacks(execute=True):
        done = screen_items(seat=make.seat(study, "carl"), screening="out", reason="off topic", items=["acme/rocket#1"])
    assert done.n_in_open_rounds == 0
    assert not Assignment.objects.filter(round=made, state__in=Assignment.UNFINISHED).exists()
    assert Round.objects.get(pk=made.pk).state == OPEN


@pytest.mark.parametrize("holds", ["1 symptom zed", "5 symptom zed"])
def test_no_item_that_an_open_queue_can_hold_is_labeled_again(holds: str) -> None:
    """Its last answer moves it on, so its state would tell who labels such an item again whether it is there."""
    study = make.study("study", raters=("al", "bob", "zed"))
    make.rate(make.open_round(study, 5, raters=("zed",), raters_per_item=1), "item zed\n1 hang\n2 slow\n5 hang")
    first, seat = study.rounds.get(), make.owner_seat(study)
    rounds.resolve_round(seat=seat, number=1, withdraw=True)
    queue = make.worklist(study, 1, f"item asked raters\n{holds}")
    assert make.open_round(study, 1, raters=("al", "bob"), first=9).state == OPEN
    asked = rounds.NewRound(raters=["al"], issues=["acme/rocket#1"], raters_per_item=1)
    again = rounds.create_round(seat=seat, asked=asked).number
    with pytest.raises(Conflict, match="Round 2, a relabeling queue, is open, and items of round 4 were") as refused:
        rounds.open_round(seat=seat, number=again, reason="-")
    assert refused.value.code == "queue_open"
    sheet = b"item,rater,round,symptom\nacme/rocket#1,al,3,crash\nacme/rocket#9,al,3,hang\n"
    asked_for = {"user": make.user("olga"), "study": "study", "dimensions": ["symptom"]}
    report = import_ratings(file=BytesIO(sheet), **asked_for)
    assert (report.n_ratings, [each.line for each in report.refusals]) == (1, [2])
    assert "Import it once labeling in the queue has ended" in report.refusals[0].reason
    make.submit(queue, "zed", int(holds[0]), {"symptom": ["crash"]})
    queue.refresh_from_db()
    first.refresh_from_db()
    assert (queue.state, first.state) == (RESOLVING, RESOLVING)
    assert import_ratings(file=BytesIO(sheet), **asked_for).n_ratings == 1
    assert rounds.open_round(seat=seat, number=again, reason="-").state == OPEN
    told = Script("al").send("GET", "studies/study/rounds/2/").json()
    assert (told["state"], told["resolving_at"]) == (RESOLVING, None), "when the last answer came can be withheld, too"
    assert told["opened_at"] and Script("zed").send("GET", "studies/study/rounds/2/").json()["resolving_at"]
    assert "Resolving</span>\n      </li>" in Visitor("al").get("/", "studies/study/rounds/2/").content.decode()


def test_a_rater_of_a_queue_comments_on_their_own_items_there() -> None:
    """Who sees item 5 and may not know that zed has item 3 would read zed's comment."""
    study = new_study(is_asked=False)
    add_queue(study, QUEUES[1], RESOLVING)
    script, at = Script("zed"), {"round": 2, "part": 1, "dimension": "symptom", "text": "Hm."}
    answer = script.send("POST", "studies/study/remarks/", at | {"item": "acme/rocket#5"})
    assert (answer.status_code, "comment on items that they labeled" in answer.content.decode()) == (403, True)
    assert script.send("POST", "studies/study/remarks/", at | {"item": "acme/rocket#3"}).status_code == 201
    assert Script("al").send("POST", "studies/study/remarks/", at | {"item": "acme/rocket#5"}).status_code == 201


@pytest.mark.slow
def test_no_url_shows_whether_a_queue_under_way_is_resolving_to_who_came_by_a_reader_link() -> None:
    """Its last answer moves it on, so that a state beside what a link shows of it would tell of one more item."""
    study = new_study(is_asked=False)
    visitor, places = visitor_of(study, ""), addresses(study)
    places = [(method, path) for method, path in places if method == "GET" and not path.startswith(BASE)]
    worlds = []
    for holds, state in (("", RESOLVING), ("1 symptom zed", OPEN)):
        with taken_back():
            made = queue_2(study, f"5 symptom al\n{holds}")
            make.submit(made, "al", 5, {"symptom": ["hang-a"]})
            made.refresh_from_db()
            assert made.state == state
            worlds.append(walk(visitor, places))
    assert [place for place, told in worlds[0].items() if told != worlds[1][place]] == []


def test_when_labeling_in_a_queue_ended_is_told_to_nobody_who_labels_its_items_again() -> None:
    study = new_study(is_asked=False)
    made = queue_2(study, "5 symptom al,zed")
    for name, category in (("al", "hang-a"), ("zed", "hang-b")):
        make.submit(made, name, 5, {"symptom": [category]})
    told = {"opened_at": datetime(2020, 1, 1, tzinfo=UTC), "resolving_at": datetime(2020, 2, 2, tzinfo=UTC)}
    Round.objects.filter(pk=made.pk, state=RESOLVING).update(**told)

    def lines(name: str) -> list[tuple[str, int]]:
        return list(lines_of(make.user(name)).filter(kind="resolving").values_list("kind", "round__number"))

    assert [lines(name) for name in ("olga", "carl", "ada")] == [[("resolving", 2)], [], []]
    page = Visitor("ada").get("/", "").content.decode()
    assert "round 2, relabel · since" in page and "2020-01-01" in page and "2020-02-02" not in page
    Round.objects.filter(study=study, number=3).update(state=CLOSED)
    assert lines("carl") == lines("ada") == [("resolving", 2)]
