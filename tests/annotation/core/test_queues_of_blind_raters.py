"""A relabeling queue shows no one who labels its items again which of them it holds, at any door."""

import csv
import json
import re
from collections.abc import Callable
from typing import Any

import pytest
from django.db import transaction
from django.test import Client

from annotation.calibration.queries.training import seen_answers
from annotation.core.access import get_item, get_round
from annotation.discussion.actions import write_remark
from annotation.exports.actions import request_export
from annotation.exports.jobs import EXPORTS
from annotation.members.actions import leaving, members
from annotation.members.actions.reader_links import make_reader_link
from annotation.models import Assignment, AuditEvent, Export, InboxLine, Item, Membership, Round, RoundRater, Study
from annotation.resolving.actions.resolutions import resolve
from annotation.resolving.actions.third_rater_requests import ask_third_rater
from annotation.rounds.actions import rounds
from tests import builders as make
from tests.scripts import Script

pytestmark = pytest.mark.django_db

AGAIN = (1, 2, 3, 4)
"""The items of round 3: all were labeled in round 1, and 5 was, too."""
QUEUES = [(5,), (1, 2, 5)]


def new_study(queue: tuple[int, ...], state: str, *, is_asked: bool) -> Study:
    """A study with queue 2, and with round 3, in which bob and the owners carl and zed label items again.

    Or carl alone, who is asked as a third rater there.
    """
    study = make.study("study", raters=("al", "bob", "carl", "zed"))
    for name in ("carl", "zed"):
        members.add_member(seat=make.owner_seat(study), username=name, roles=["owner", "rater"])
    lines = "\n".join(f"{number} hang hang" for number in range(1, 6))
    make.rate(make.open_round(study, 5, raters=("al", "zed")), f"item al zed\n{lines}")
    rounds.close_round(seat=make.owner_seat(study), number=1)
    make.next_version(study, make.HANG_SPLIT)
    table = "\n".join(f"{number} symptom al,zed" for number in queue)
    made = make.worklist(study, 2, f"item asked raters\n{table}")
    if state != Round.State.OPEN:
        for number in queue:
            make.submit(made, "al", number, {"symptom": ["hang-a"]})
            make.submit(made, "zed", number, {"symptom": ["hang-b"]})
        Round.objects.filter(pk=made.pk).update(state=state)
    names = [f"acme/rocket#{number}" for number in AGAIN]
    raters = ["al", "zed"] if is_asked else ["bob", "carl", "zed"]
    asked = rounds.NewRound(raters=raters, issues=names, raters_per_item=len(raters))
    number = rounds.create_round(seat=make.owner_seat(study), asked=asked).number
    with make.queues_aside(study):
        again = rounds.open_round(seat=make.owner_seat(study), number=number, reason="-", unregistered=True)
    if is_asked:
        for position, number in enumerate(AGAIN, start=1):
            make.submit(again, "al", number, {"symptom": ["hang-a"]})
            make.submit(again, "zed", number, {"symptom": ["hang-b"]})
            item, rater = get_item(make.owner_seat(study), f"acme/rocket#{number}"), make.member(study, "carl")
            Assignment.objects.create(round=again, item=item, rater=rater, position=position)
    return study


def item_pages(study: Study, who: str) -> list[Any]:
    """What the pages of the items show of rounds, to a member or (no name) by a reader link."""
    client = Client()
    if who:
        client.force_login(make.user(who))
    else:
        _, secret = make_reader_link(seat=make.owner_seat(study), label="Reviewer", with_issues=True)
        client.get(f"/read/{secret}/")
    found: list[Any] = []
    for number in AGAIN:
        item = get_item(make.owner_seat(study), f"acme/rocket#{number}").pk
        page = client.get(f"/studies/study/items/{item}/")
        found.append((page.status_code, re.findall(r'id="round-(\d+)"', page.content.decode())))
        for path in ("items/{}/changes/", "rounds/2/resolve/{}/", "rounds/2/resolve/{}/news/"):
            page = client.get(f"/studies/study/{path.format(item)}")
            found.append((path, number, page.status_code, len(re.sub(r"\d", "", page.content.decode()))))
    for path in ("items/", "rounds/2/", "items/?round=2"):
        page = client.get(f"/studies/study/{path}").content.decode()
        found.append(re.findall(r"rocket#[1-4]\b|Round \d|wait for your answer", page))
    return found


def answers(study: Study, who: str) -> list[Any]:
    """What the API answers to acts on the items in round 2, and where no round is named."""
    script = Script(who)
    found: list[Any] = []
    place = {"dimension": "symptom", "part": 1}
    bodies: dict[str, dict[str, Any]] = {
        "remarks/": {"text": "why?"},
        "resolutions/": {**place, "values": ["hang-a"], "rationale": ""},
        "third-raters/": {"rater": "bob"},
        "matches/": {"rater": "al", "parts": [1]},
        "proposals/": {"dimension": "symptom", "name": "Hang C"},
    }
    for number in AGAIN:
        for path, body in bodies.items():
            for named in ({"round": 2}, {}):
                asked = body | {"item": f"acme/rocket#{number}"} | named
                answer = script.send("POST", f"studies/study/{path}", asked)
                found.append((path, number, named, answer.status_code, answer.json()))
        for path in ("remarks", "ratings", "labels", "disagreements", "evidence"):
            answer = script.send("GET", f"studies/study/{path}/?round=2&item=acme/rocket%23{number}")
            found.append((path, number, answer.status_code, answer.json().get("results")))
    for way in ("GET", "POST"):
        answer = script.send(way, "studies/study/rounds/2/raters/R1/withdraw/")
        found.append((answer.status_code, answer.json().get("code")))
    answer = script.send("POST", "studies/study/rounds/2/close/", {})
    return [*found, (answer.status_code, answer.json().get("code"))]


def imports(study: Study, who: str) -> list[Any]:
    """What an import into round 2 reports of the items, each in a file of its own."""
    script = Script(who)
    found = []
    for number in AGAIN:
        sheet = f"item,rater,round,symptom\nacme/rocket#{number},al,2,hang-b\n"
        path = "/api/v1/studies/study/ratings/?dimensions=symptom"
        answer = script.client.post(path, sheet, content_type="text/csv", headers=script.headers)
        found.append((answer.status_code, answer.json()))
    return found


def files(study: Study, who: str) -> list[Any]:
    """The rounds in the file of items that this owner makes, and what they see of another owner's file."""
    made: dict[str, Export] = {}
    for maker in (who, "zed" if who == "carl" else "carl", ""):
        seat = make.seat(study, maker) if maker else make.owner_seat(study)
        export = request_export(seat=seat, what="items", format="csv", options={}, send=False)
        EXPORTS.work(export.pk)
        export.refresh_from_db()
        assert export.state == "done", export.error
        made[maker] = export
    script = Script(who)
    found: list[Any] = []
    for export in made.values():
        answer = script.send("GET", f"exports/{export.public_id}/download/")
        shown = script.send("GET", f"exports/{export.public_id}/").json()
        told: Any = [shown[name] is None for name in ("rows", "bytes", "sha256")]
        if answer.status_code == 200:
            rows = csv.DictReader(b"".join(answer.streaming_content).decode().splitlines())
            told = [(row["item"], row["rounds"]) for row in rows if not row["item"].endswith("#5")]
        found.append((answer.status_code, told))
    return found


OPEN, RESOLVING, CLOSED = Round.State.OPEN, Round.State.RESOLVING, Round.State.CLOSED


@pytest.mark.slow
@pytest.mark.parametrize(
    ("read", "who", "state", "is_asked"),
    [
        (item_pages, "bob", OPEN, False),
        (item_pages, "zed", OPEN, False),
        (item_pages, "", OPEN, False),
        (item_pages, "", CLOSED, False),
        (item_pages, "carl", RESOLVING, False),
        (item_pages, "carl", OPEN, True),
        (answers, "carl", OPEN, False),
        (answers, "carl", RESOLVING, False),
        (answers, "carl", RESOLVING, True),
        (answers, "carl", CLOSED, False),
        (imports, "carl", RESOLVING, False),
        (files, "carl", OPEN, False),
        (files, "carl", CLOSED, True),
    ],
)
def test_nothing_shows_which_items_a_queue_holds_to_who_labels_them_again(
    read: Callable[[Study, str], list[Any]], who: str, state: str, is_asked: bool
) -> None:
    worlds = []
    for queue in QUEUES:
        with transaction.atomic():
            worlds.append(read(new_study(queue, state, is_asked=is_asked), who))
            transaction.set_rollback(True)
    assert worlds[0] == worlds[1]


def test_who_could_know_training_items_does_not_hang_on_what_a_queue_held() -> None:
    study = make.study("study", raters=("al", "bob", "carl", "zed"))
    make.rate(make.open_round(study, 2, raters=("al", "zed")), "item al zed\n1 hang hang\n2 hang hang")
    rounds.close_round(seat=make.owner_seat(study), number=1)
    make.next_version(study, make.HANG_SPLIT)
    queue = make.worklist(study, 2, "item asked raters\n1 symptom bob")
    make.submit(queue, "bob", 1, {"symptom": ["hang-a"]})
    Round.objects.filter(pk=queue.pk).update(state=Round.State.CLOSED)
    again = make.open_round(study, 2, raters=("carl", "zed"))
    items = list(Item.objects.filter(study=study).values_list("pk", flat=True))
    asked = rounds.NewRound(raters=["bob"], raters_per_item=1, issues=["acme/rocket#2"])
    draft = rounds.create_round(seat=make.owner_seat(study), asked=asked)
    assert again.state == Round.State.OPEN and len(items) == 2
    assert seen_answers(draft, [make.member(study, "bob").pk], items) == set()


@pytest.mark.parametrize("happens", ["third rater asked", "remark", "decision", "third answer", "not answered"])
def test_who_gets_a_training_item_does_not_hang_on_what_happened_to_it(happens: str) -> None:
    """In a round that is over: who has the item as a training item is blind there, and sees which raters have it."""
    study = make.study("study", raters=("al", "carl", "dan", "zed"))
    owner, eve = make.owner_seat(study), make.user("eve").username
    members.add_member(seat=owner, username=eve, roles=["adjudicator", "rater"])
    make.accept(eve)
    said = "item zed\n1 crash" if happens == "not answered" else "item al zed\n1 hang crash"
    make.rate(make.open_round(study, 1, raters=("al", "zed")), said)
    if happens == "not answered":
        rounds.resolve_round(seat=owner, number=1, withdraw=True)
    decider = make.seat(study, eve)
    item = get_item(decider, "acme/rocket#1")
    place: dict[str, Any] = {"seat": decider, "round_": get_round(decider, 1), "item": item}
    if happens.startswith("third"):
        ask_third_rater(seat=owner, round_=get_round(owner, 1), item=item, rater="carl")
    if happens == "third answer":
        make.submit(get_round(owner, 1), "carl", 1, {"symptom": ["hang"]})
    if happens == "remark":
        write_remark(**place, text="Look.")
    if happens == "decision":
        resolve(**place, expected=None, part=1, dimension="symptom", values=["hang"])
    members.set_member(seat=owner, username=eve, roles=["rater"])
    known = {"acme/rocket#1": {"labels": {"symptom": ["hang"]}, "why": "-"}}
    asked = rounds.NewRound(raters=["al", "carl", "dan", eve], raters_per_item=1, issues=[], known=known, kind="pilot")
    draft = rounds.create_round(seat=owner, asked=asked)
    people = {name: make.member(study, name).pk for name in ("al", "carl", "dan", eve)}
    for state in (RESOLVING, CLOSED):
        Round.objects.filter(study=study, number=1).update(state=state)
        assert seen_answers(draft, list(people.values()), [item.pk]) == {(item.pk, people["al"])}


def test_a_sheet_does_not_tell_who_is_in_a_queue_by_who_could_read_it() -> None:
    worlds = []
    for asked in ("1 symptom al\n2 symptom zed", "1 symptom zed\n2 symptom zed"):
        with transaction.atomic():
            study = make.study("study", raters=("al", "carl", "zed"))
            seat = make.owner_seat(study)
            members.add_member(seat=seat, username="carl", roles=["owner", "rater"])
            members.add_member(seat=seat, username="al", roles=["reader", "rater"])
            make.rate(
                make.open_round(study, 3, raters=("al", "zed")), "item al zed\n1 hang hang\n2 hang hang\n3 hang hang"
            )
            rounds.close_round(seat=seat, number=1)
            make.next_version(study, make.HANG_SPLIT)
            make.submit(make.worklist(study, 2, f"item asked raters\n{asked}"), "zed", 2, {"symptom": ["hang-a"]})
            again = rounds.NewRound(raters=["carl"], issues=["acme/rocket#1", "acme/rocket#2"], raters_per_item=1)
            number = rounds.create_round(seat=seat, asked=again).number
            with make.queues_aside(study):
                rounds.open_round(seat=seat, number=number, reason="-", unregistered=True)
            reports = []
            for item in (1, 2, 3):
                script, sheet = Script("carl"), f"item,rater,round,symptom\nacme/rocket#{item},al,2,hang-a\n"
                path = "/api/v1/studies/study/ratings/?dimensions=symptom"
                answer = script.client.post(path, sheet, content_type="text/csv", headers=script.headers)
                reports.append((answer.status_code, answer.json()))
            worlds.append(reports)
            transaction.set_rollback(True)
    assert worlds[0] == worlds[1]
    assert [report["unblinded"] for _, report in worlds[0]] == [[], [], []]


MAIN, RELABEL, RATED = Round.Kind.MAIN, Round.Kind.RELABEL, "also rated"


def joined_by(way: str, kind: str, *, is_there: bool) -> tuple[list[Any], list[bool]]:
    """What carl sees while an account that could read takes a place, and whether that rater is marked in each round.

    The place is that of a substitute in queue 2, of a third rater in round 1, or of nobody there. Carl, an owner,
    labels the item again. The third rater may be a rater of round 1, too.
    """
    study = make.study("study", raters=("al", "carl", "zed"))
    seat = make.owner_seat(study)
    members.add_member(seat=seat, username="carl", roles=["owner", "rater"])
    make.user("stan", staff=True)
    if way == "invitation":
        members.set_member(seat=seat, username="stan", roles=["rater"])
        rater = Membership.objects.get(invited_user__username="stan")
    else:
        members.add_member(seat=seat, username=make.user("dora").username, roles=["reader"])
        rater = Membership.objects.create(study=study, name="Rae", code="R9", roles=["rater"])
    round_ = make.rate(make.open_round(study, 2, raters=("al", "zed")), "item al zed\n1 hang crash\n2 hang hang")
    if kind == RELABEL:
        rounds.close_round(seat=seat, number=1, leave_open=True)
        make.next_version(study, make.HANG_SPLIT)
        round_ = make.worklist(study, 2, "item asked raters\n1 symptom al\n2 symptom zed")
        make.submit(round_, "zed", 2, {"symptom": ["hang-a"]})
    if is_there:
        Assignment.objects.create(round=round_, item=get_item(seat, "acme/rocket#1"), rater=rater, position=1)
    if is_there and kind == RATED:
        InboxLine.objects.create(member=rater, kind=InboxLine.Kind.ARBITER, round=round_, n_items=1)
    if kind == RATED:
        RoundRater.objects.create(round=round_, rater=rater, n_assigned=int(is_there))
    if is_there and kind == RELABEL:
        RoundRater.objects.create(round=round_, rater=rater, n_assigned=1)
    with make.queues_aside(study):
        make.open_round(study, 2, raters=("carl",), raters_per_item=1)
    carl = Client()
    carl.force_login(make.user("carl"))
    seen: list[Any] = []
    if way == "invitation":
        make.accept("stan")
    else:
        page = carl.post(f"/studies/study/members/{rater.pk}/join/", {"username": "dora"}, follow=True)
        seen += [page.redirect_chain, "could read its labels" in page.content.decode()]
    seen.append(Script("carl").send("GET", f"studies/study/rounds/{round_.number}/raters/").json())
    lines = b"".join(carl.get("/studies/study/audit/audit.jsonl").streaming_content).decode().splitlines()
    seen += [{**json.loads(line), "at": ""} for line in lines]
    assert '"member accepted"' in lines[0] or '"member joined"' in lines[0]
    rows = RoundRater.objects if kind == RELABEL else Assignment.objects
    marks = list(rows.filter(rater=rater).values_list("unblinded", flat=True))
    assert AuditEvent.objects.filter(verb="rater marked unblinded").count() == len(marks)
    return seen, marks


@pytest.mark.parametrize(
    ("way", "kind"), [(way, kind) for way in ("invitation", "name") for kind in (RELABEL, MAIN, RATED)]
)
def test_who_labels_items_again_does_not_see_where_someone_is_marked_as_they_join(way: str, kind: str) -> None:
    seen, marks = [], []
    for is_there in (True, False):
        with transaction.atomic():
            told, marked = joined_by(way, kind, is_there=is_there)
            transaction.set_rollback(True)
        seen.append(told)
        marks += marked
    assert seen[0] == seen[1] and marks == [True]


@pytest.mark.parametrize("act", ["remark", "decision", "nothing"])
def test_what_is_said_or_decided_in_a_queue_makes_no_training_item_known(act: str) -> None:
    study = make.study("study", raters=("al", "carl", "zed"), resolve_when="item")
    make.rate(make.open_round(study, 1, raters=("al", "zed")), "item al zed\n1 hang hang")
    rounds.close_round(seat=make.owner_seat(study), number=1)
    make.next_version(study, make.HANG_SPLIT)
    queue = make.worklist(study, 2, "item asked raters\n1 symptom al,carl")
    make.submit(queue, "al", 1, {"symptom": ["hang-a"]})
    make.submit(queue, "carl", 1, {"symptom": ["hang-b"]})
    place = {"round": 2, "item": "acme/rocket#1", "dimension": "symptom"}
    said = {"remark": ("remarks/", {"text": "Look."}), "decision": ("resolutions/", {"values": ["hang-a"]})}
    make.user("eve")
    members.add_member(seat=make.owner_seat(study), username="eve", roles=["adjudicator"])
    make.accept("eve")
    if act in said:
        path, more = said[act]
        assert Script("eve").send("POST", f"studies/study/{path}", place | more).status_code == 201
    asked = rounds.NewRound(raters=["zed"], raters_per_item=1, issues=["acme/rocket#1"])
    draft = rounds.create_round(seat=make.owner_seat(study), asked=asked)
    members.set_member(seat=make.owner_seat(study), username="eve", roles=["rater"])
    (item,), eve = Item.objects.filter(study=study).values_list("pk", flat=True), make.member(study, "eve").pk
    ada = make.member(study, "ada").pk
    for state in (OPEN, CLOSED):
        Round.objects.filter(pk=queue.pk).update(state=state)
        assert seen_answers(draft, [ada, eve], [item]) == {(item, ada)}


@pytest.mark.parametrize("is_asked", [True, False])
def test_a_queue_stays_open_when_the_last_who_had_items_leaves(is_asked: bool) -> None:
    """Whether it moved on told that who leaves is asked as a third rater about some item."""
    study = make.study("study", raters=("al", "bob", "lena", "zed"))
    make.rate(make.open_round(study, 1, raters=("al", "zed")), "item al zed\n1 hang hang")
    rounds.close_round(seat=make.owner_seat(study), number=1)
    other = make.rate(make.open_round(study, 1, first=2, raters=("bob", "zed")), "item bob zed\n2 hang crash")
    make.next_version(study, make.HANG_SPLIT)
    queue = make.worklist(study, 2, "item asked raters\n1 symptom al,lena")
    make.submit(queue, "al", 1, {"symptom": ["hang-a"]})
    if is_asked:
        ada = make.seat(study, "ada")
        item = get_item(ada, "acme/rocket#2")
        with make.queues_aside(study):
            ask_third_rater(seat=ada, round_=get_round(ada, other.number), item=item, rater="lena")
    leaving.leave_study(seat=make.seat(study, "lena"))
    queue.refresh_from_db()
    assert queue.state == Round.State.OPEN
