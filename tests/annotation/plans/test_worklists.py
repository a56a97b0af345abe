"""A closed worklist gives its items whole labels: what was agreed before stays, what was asked is judged anew."""

from collections.abc import Sequence
from contextlib import nullcontext
from typing import Any

import pytest
from django.test import Client

from annotation.assignments.queries import READ
from annotation.core.access import get_round, get_seat_by_link
from annotation.core.errors import Conflict, Forbidden, WrongState
from annotation.discussion.actions import write_remark
from annotation.exports.queries import rows
from annotation.labels.queries.batches.rating_batches import rating_batches
from annotation.labels.queries.item_history import item_rounds
from annotation.labels.queries.rows import disagreements, resolvable_rounds
from annotation.labels.queries.verdicts import has_open_disagreements, round_verdicts
from annotation.members.actions.members import add_member
from annotation.members.actions.reader_links import make_reader_link
from annotation.models import Assignment, AuditEvent, Item, Round, Study
from annotation.resolving.actions.resolutions import resolve
from annotation.resolving.queries.queue import queue_of
from annotation.rounds.actions import rounds
from tests import builders as make
from tests.annotation.plans.test_plans import asked, ran
from tests.asserts import assert_queries
from tests.scripts import Script

pytestmark = pytest.mark.django_db

FAULT = {"kind": ["fault"], "symptom": ["hang"], "fixes": ["code"], "distributed": True}
HOW_TO = {"kind": ["how-to"]}
SPLIT = make.FAULTS.replace(
    "{key: hang, name: Hang}",
    "{key: early, name: Early, was: [hang]}, {key: late, name: Late, was: [hang]}",
).replace("{key: code, name: Code}", "{key: patch, name: Patch, was: [code]}")


def build_study() -> Study:
    return make.study(text=make.FAULTS)


def labeled(study: Study, *answers: tuple[Any, Any], close: bool = True) -> Round:
    """A closed round with an item for each pair of answers; a list: parts."""
    round_ = make.open_round(study, len(answers))
    for number, pair in enumerate(answers, start=1):
        for name, answer in zip(("bob", "carol"), pair, strict=True):
            submit(round_, name, number, answer)
    if close:
        rounds.close_round(seat=make.owner_seat(study), number=round_.number, leave_open=True)
    return round_


def submit(round_: Round, name: str, number: int, answer: Any) -> None:
    if isinstance(answer, list):
        make.submit(round_, name, number, parts=[{"labels": each} for each in answer])
    else:
        make.submit(round_, name, number, answer)


def close(round_: Round, *, leave_open: bool = False) -> Round:
    return rounds.close_round(seat=make.owner_seat(round_.study), number=round_.number, leave_open=leave_open)


def decide(round_: Round, number: int, dimension: str, value: Sequence[str], part: int = 1) -> None:
    seat = make.seat(round_.study, "ada")
    item = Item.objects.get(study=round_.study, identifier=f"acme/rocket#{number}")
    fresh = get_round(seat, round_.number)
    resolve(seat=seat, round_=fresh, item=item, part=part, dimension=dimension, values=list(value), rationale="so")


def stands(round_: Round) -> dict[tuple[int, int, str], tuple[str, Any]]:
    """(issue, part, dimension) → state and values, as the round judges them."""
    fresh = Round.objects.select_related("taxonomy_version").get(pk=round_.pk)
    return {
        (int(each.identifier.rpartition("#")[2]), verdict.part, verdict.dimension): (
            verdict.state,
            None if verdict.values is None else list(verdict.values),
        )
        for each in round_verdicts(fresh)
        for verdict in each.verdicts
    }


def labels(study: Study, **asked: Any) -> dict[tuple[int, int, str], Any]:
    """(issue, part, dimension) → the row."""
    found = rows.labels(make.seat(study, "rea"), **asked)
    listed = [row for _, here in found for row in here]
    by_place = {(int(row.item.rpartition("#")[2]), row.part, row.dimension): row for row in listed}
    assert len(by_place) == len(listed)
    return by_place


def test_what_was_agreed_and_is_not_asked_stays_and_the_answer_of_the_one_concerned_is_the_rest(study: Study) -> None:
    labeled(study, (FAULT, FAULT), (HOW_TO, HOW_TO))
    make.next_version(study, SPLIT)
    worklist = make.worklist(study, 2, "item asked raters\n1 symptom bob")
    make.submit(worklist, "bob", 1, {**FAULT, "symptom": ["early"], "fixes": [], "distributed": False})
    assert stands(worklist) == {
        (1, 1, "kind"): ("agreed", ["fault"]),
        (1, 1, "symptom"): ("agreed", ["early"]),
        (1, 1, "fixes"): ("agreed", ["patch"]),
        (1, 1, "distributed"): ("agreed", [True]),
    }
    close(worklist)
    found = labels(study)
    assert {place: row.values for place, row in found.items() if place[0] == 1} == {
        (1, 1, "kind"): ["fault"],
        (1, 1, "symptom"): ["early"],
        (1, 1, "fixes"): ["patch"],
        (1, 1, "distributed"): [True],
    }
    judged, carried = found[1, 1, "symptom"], found[1, 1, "fixes"]
    assert (judged.round, judged.raters, judged.method) == (2, ["R1"], "relabel_single")
    assert (judged.original_values, judged.original_version) == (["early"], 2)
    assert (carried.round, carried.raters, carried.method) == (1, ["R1", "R2"], "unanimous")
    assert (carried.original_values, carried.original_version, carried.taxonomy_version) == (["code"], 1, 2)


def test_two_who_differ_over_what_was_asked_are_a_disagreement_there_alone(study: Study) -> None:
    labeled(study, (FAULT, FAULT))
    make.next_version(study, SPLIT)
    worklist = make.worklist(study, 2, "item asked raters\n1 symptom bob,carol")
    make.submit(worklist, "bob", 1, {**FAULT, "symptom": ["early"], "fixes": []})
    make.submit(worklist, "carol", 1, {**FAULT, "symptom": ["late"], "fixes": ["patch"], "distributed": False})
    worklist.refresh_from_db()
    assert worklist.state == Round.State.RESOLVING and has_open_disagreements(worklist)
    assert [place.dimension for line in queue_of(worklist).lines for place in line.places] == ["symptom"]
    (found,) = [row for _, here in disagreements([worklist], state="all") for row in here]
    assert (found["dimension"], found["reason"]) == ("symptom", "differ")
    with pytest.raises(Conflict):
        close(worklist)
    decide(worklist, 1, "symptom", ["late"])
    close(worklist)
    row = labels(study)[1, 1, "symptom"]
    assert (row.values, row.method, row.round) == (["late"], "adjudicator", 2)
    assert labels(study)[1, 1, "fixes"].values == ["patch"]


def test_a_decision_from_before_stays_a_decision(study: Study) -> None:
    round_ = labeled(study, (FAULT, {**FAULT, "fixes": ["config"]}), close=False)
    decide(round_, 1, "fixes", ["code", "version"])
    close(round_)
    make.next_version(study, SPLIT)
    worklist = make.worklist(study, 2, "item asked raters\n1 symptom bob,carol")
    for name in ("bob", "carol"):
        make.submit(worklist, name, 1, {**FAULT, "symptom": ["early"], "fixes": []})
    close(Round.objects.get(pk=worklist.pk))
    row = labels(study)[1, 1, "fixes"]
    assert (row.values, row.method, row.round) == (["patch", "version"], "adjudicator", 1)
    assert (row.original_values, row.original_version) == (["code", "version"], 1)
    assert row.resolved_at is not None
    assert not list(queue_of(get_round(make.owner_seat(study), 2)).lines)


def test_of_several_parts_the_asked_one_is_judged_and_the_others_stay(study: Study) -> None:
    two = [FAULT, {**FAULT, "symptom": ["slow"]}]
    labeled(study, (two, two))
    make.next_version(study, SPLIT)
    worklist = make.worklist(study, 2, "item asked raters\n1 symptom bob,carol")
    for name in ("bob", "carol"):
        first = {**FAULT, "symptom": ["late"], "fixes": ["patch"]}
        submit(worklist, name, 1, [first] if name == "bob" else [first, {**HOW_TO}])
    assert not has_open_disagreements(Round.objects.get(pk=worklist.pk))
    close(worklist)
    found = {place: row.values for place, row in labels(study).items() if place[2] == "symptom"}
    assert found == {(1, 1, "symptom"): ["late"], (1, 2, "symptom"): ["slow"]}
    assert labels(study)[1, 2, "symptom"].round == 1


def test_what_hangs_on_an_answer_given_anew_comes_and_goes_with_it(study: Study) -> None:
    labeled(study, (FAULT, FAULT), (HOW_TO, HOW_TO), (FAULT, FAULT))
    make.next_version(study, SPLIT)
    worklist = make.worklist(study, 2, "item asked raters\n1 kind bob,carol\n2 kind bob,carol\n3 kind bob,carol")
    for name in ("bob", "carol"):
        make.submit(worklist, name, 1, HOW_TO)
        symptom = ["early"] if name == "bob" else ["late"]
        make.submit(worklist, name, 2, {**FAULT, "symptom": symptom, "fixes": ["patch"], "distributed": False})
        make.submit(worklist, name, 3, {**FAULT, "symptom": ["slow"], "fixes": [], "distributed": False})
    found = stands(worklist)
    assert {place: value for place, value in found.items() if place[0] == 1} == {(1, 1, "kind"): ("agreed", ["how-to"])}
    assert {place[2]: value for place, value in found.items() if place[0] == 2} == {
        "kind": ("agreed", ["fault"]),
        "symptom": ("open", None),
        "fixes": ("agreed", ["patch"]),
        "distributed": ("agreed", [False]),
    }
    assert found[3, 1, "distributed"] == ("agreed", [True])
    close(worklist, leave_open=True)
    kept = labels(study)
    assert (1, 1, "distributed") not in kept and kept[2, 1, "distributed"].round == 2


def test_what_was_open_before_and_is_not_asked_is_no_disagreement_of_the_worklist(study: Study) -> None:
    labeled(study, (FAULT, {**FAULT, "distributed": False}))
    make.next_version(study, SPLIT)
    worklist = make.worklist(study, 2, "item asked raters\n1 kind,symptom bob,carol")
    make.submit(worklist, "bob", 1, {**FAULT, "symptom": ["early"], "fixes": []})
    make.submit(worklist, "carol", 1, {**FAULT, "symptom": ["early"], "fixes": [], "distributed": False})
    assert (1, 1, "distributed") not in stands(worklist)
    assert not has_open_disagreements(Round.objects.get(pk=worklist.pk))


@pytest.mark.parametrize("is_closed", [True, False])
def test_a_worklist_counts_as_soon_as_its_raters_are_done_and_not_before(study: Study, is_closed: bool) -> None:
    labeled(study, (FAULT, FAULT), (FAULT, FAULT), (FAULT, FAULT), close=is_closed)
    make.next_version(study, SPLIT)
    worklist = make.worklist(study, 2, "item asked raters\n1 symptom bob,carol\n2 symptom bob,carol\n3 symptom bob")
    for number in (1, 2):
        make.submit(worklist, "bob", number, {**FAULT, "symptom": ["early"], "fixes": []})
        other = "early" if number == 1 else "late"
        make.submit(worklist, "carol", number, {**FAULT, "symptom": [other], "fixes": []})
    assert labels(study, version=1)[1, 1, "symptom"].values == ["hang"] and labels(study)[1, 1, "symptom"].round == 1
    make.submit(worklist, "bob", 3, skip="cannot tell")
    worklist.refresh_from_db()
    assert worklist.state == Round.State.RESOLVING
    found = labels(study)
    assert (found[1, 1, "symptom"].values, found[1, 1, "symptom"].method) == (["early"], "relabel")
    for number in (2, 3):
        row = found[number, 1, "symptom"]
        assert (row.round, row.original_values, row.method) == (1, ["hang"], "unanimous")
    close(worklist, leave_open=True)
    assert {place: row.values for place, row in labels(study).items()} == {
        place: row.values for place, row in found.items()
    }


def test_answers_of_a_worklist_are_not_called_blind(study: Study) -> None:
    labeled(study, (FAULT, FAULT), (FAULT, FAULT))
    make.next_version(study, SPLIT)
    worklist = make.worklist(study, 2, "item asked raters\n1 symptom bob,carol\n2 symptom bob")
    for name in ("bob", "carol"):
        make.submit(worklist, name, 1, {**FAULT, "symptom": ["early"], "fixes": []})
    make.submit(worklist, "bob", 2, {**FAULT, "symptom": ["late"], "fixes": []})
    make.submit(worklist, "bob", 1, {**FAULT, "symptom": ["late"], "fixes": []}, key="again")
    worklist.refresh_from_db()
    for revision, wanted in (
        (None, {(1, "blind"), (2, "first"), (2, "current")}),
        ("blind", {(1, "blind")}),
        ("first", {(2, "first")}),
        ("current", {(1, "current"), (2, "current")}),
    ):
        seat = make.owner_seat(study)
        listed = [row for _, here in rows.ratings(seat, revision=revision) for row in here]
        assert {(row.round, row.revision) for row in listed} == wanted
        read = list(Round.objects.filter(study=study).select_related("taxonomy_version").order_by("number"))
        batches = [row for _, batch in rating_batches(read, revision=revision) for row in batch.to_pylist()]
        assert {(row["round"], row["revision"]) for row in batches} == wanted


def test_what_nobody_answered_anew_keeps_its_old_label_with_the_reason(study: Study) -> None:
    labeled(study, (FAULT, FAULT))
    make.next_version(study, SPLIT)
    worklist = make.worklist(study, 2, "item asked raters\n1 symptom bob")
    make.submit(worklist, "bob", 1, skip="cannot tell any more")
    close(worklist)
    row = labels(study)[1, 1, "symptom"]
    assert (row.values, row.unmapped, row.round) == (None, "split in version 2 into early, late", 1)
    assert (row.original_values, row.original_version) == (["hang"], 1)
    assert labels(study)[1, 1, "fixes"].values == ["patch"]
    assert labels(study, version=1)[1, 1, "symptom"].values == ["hang"]


def test_a_second_worklist_carries_on_what_the_first_one_did(study: Study) -> None:
    labeled(study, (FAULT, FAULT))
    make.next_version(study, SPLIT)
    first = make.worklist(study, 2, "item asked raters\n1 symptom bob")
    make.submit(first, "bob", 1, {**FAULT, "symptom": ["early"], "fixes": []})
    close(first)
    third = SPLIT.replace(", was: [hang]", "").replace(", was: [code]", "")
    make.next_version(study, third.replace("{key: patch, name: Patch}", "{key: mend, name: Mend, was: [patch]}"))
    second = make.worklist(study, 3, "item asked raters\n1 kind bob")
    make.submit(second, "bob", 1, {**FAULT, "symptom": ["late"], "fixes": []})
    close(second)
    found = labels(study)
    assert {place[2]: (row.values, row.round, row.original_version) for place, row in found.items()} == {
        "kind": (["fault"], 3, 3),
        "symptom": (["early"], 2, 2),
        "fixes": (["mend"], 1, 1),
        "distributed": ([True], 1, 1),
    }
    back = labels(study, version=1)
    assert back[1, 1, "fixes"].values == ["code"] and back[1, 1, "symptom"].values == ["hang"]


@pytest.mark.parametrize("is_closed", [False, True])
def test_a_worklist_that_was_undone_before_it_closed_is_hidden_from_raters_and_links(is_closed: bool) -> None:
    study = make.study()
    make.rate(make.open_round(study, 1, raters_per_item=1, raters=("bob",)), "item bob\n1 hang")
    rounds.close_round(seat=make.owner_seat(study), number=1)
    make.next_version(study, make.HANG_SPLIT)
    worklist = make.worklist(study, 2, "item asked raters\n1 symptom bob")
    make.submit(worklist, "bob", 1, {"symptom": ["hang-a"]})
    if is_closed:
        close(worklist)
    Round.objects.filter(pk=worklist.pk).update(state=Round.State.UNDONE)
    link = make_reader_link(seat=make.owner_seat(study), label="reviewers")[0]
    of_link = get_seat_by_link(link.pk, study.slug)
    undone, item = get_round(of_link, 2), Item.objects.get(study=study)
    for seat in (of_link, make.seat(study, "carol"), make.seat(study, "bob")):
        with nullcontext() if is_closed else pytest.raises(Forbidden):
            seat.require_sight(undone)
        assert seat.hides(undone, item.pk) != is_closed
    for name in ("olga", "ada", "rea"):
        make.seat(study, name).require_sight(undone)
    path = "studies/study/agreement/?round=2"
    told = {name: Script(name).send("GET", path).status_code for name in ("carol", "rea", "olga")}
    assert told == {"carol": 200 if is_closed else 403, "rea": 200, "olga": 200}
    assert Script("bob").send("GET", "studies/study/ratings/?round=2").json()["results"], "own answers"


def test_an_undone_worklist_counts_nowhere_and_is_read_by_its_number(study: Study) -> None:
    labeled(study, (FAULT, FAULT))
    make.next_version(study, SPLIT)
    worklist = make.worklist(study, 2, "item asked raters\n1 symptom bob")
    make.submit(worklist, "bob", 1, {**FAULT, "symptom": ["early"], "fixes": []})
    Round.objects.filter(pk=worklist.pk).update(state=Round.State.UNDONE)
    owner, rea = make.owner_seat(study), make.seat(study, "rea")
    assert labels(study)[1, 1, "symptom"].values == ["hang"]
    assert {row.round for _, here in rows.ratings(rea) for row in here} == {1}
    assert {row.round for _, here in rows.ratings(rea, round_number=2) for row in here} == {2}
    assert labels(study, round_number=2)[1, 1, "symptom"].values == ["early"]
    assert [each.number for each in resolvable_rounds(owner)] == [1]
    (undone, first) = item_rounds(rea, Item.objects.get(study=study))
    assert undone.round.number == 2 and not undone.parts and first.parts
    with pytest.raises(WrongState):
        decide(worklist, 1, "symptom", ["late"])
    with pytest.raises(WrongState):
        make.submit(worklist, "bob", 1, {**FAULT, "symptom": ["late"], "fixes": []})


def test_a_closed_worklist_shows_no_single_answers_of_a_round_that_is_still_resolved(study: Study) -> None:
    labeled(study, (FAULT, {**FAULT, "distributed": False}), (FAULT, HOW_TO), close=False)
    decide(Round.objects.get(number=1), 1, "distributed", [True])
    make.next_version(study, SPLIT)
    worklist = make.worklist(study, 2, "item asked raters\n1 symptom bob,carol")
    for name in ("bob", "carol"):
        make.submit(worklist, name, 1, {**FAULT, "symptom": ["early"], "fixes": []})
    close(worklist)

    def told(name: str) -> tuple[list[str], list[str], bool, str] | None:
        item = Item.objects.get(study=study, identifier="acme/rocket#1")
        (queue, _) = item_rounds(make.seat(study, name), item)
        reads = Script(name).send("GET", "studies/study/ratings/?round=2").json()
        visitor = Client()
        visitor.force_login(make.user(name))
        page = visitor.get(f"/studies/study/items/{item.pk}/").content.decode()
        assert queue.is_sealed == ("This queue can have labels of an earlier round that is being resolved." in page)
        if queue.is_sealed:
            assert not queue.parts and not reads.get("results")
            assert Script(name).send("GET", "studies/study/labels/?round=2").json()["results"]
            return None
        assert reads["results"]
        lines = {line.key: line for line in queue.parts[0].dimensions}
        carried, anew = lines["distributed"], lines["symptom"]
        assert carried.agreed == ["yes"] and anew.agreed == ["Failure / Early"]
        return (
            [each.code for each in carried.given],
            [each.code for each in anew.given],
            bool(carried.decision),
            carried.how,
        )

    how = "resolved by adjudication, in round 1"
    add_member(seat=make.owner_seat(study), username=make.user("dave").username, roles=["rater"])
    make.accept("dave")
    for name in ("rea", "dave"):
        assert told(name) is None
    assert told("olga") == told("ada") == (["R1", "R2"], ["R1", "R2"], True, how)
    close(Round.objects.get(number=1), leave_open=True)
    assert told("rea") == told("ada")


@pytest.mark.parametrize("is_closed", [False, True])
def test_a_worklist_is_discussed_by_those_who_read_the_rounds_before_it(study: Study, is_closed: bool) -> None:
    labeled(study, (FAULT, {**FAULT, "distributed": False}), close=False)
    add_member(seat=make.owner_seat(study), username=make.user("dave").username, roles=["rater"])
    make.accept("dave")
    make.next_version(study, SPLIT)
    worklist = make.worklist(study, 2, "item asked raters\n1 symptom bob,dave")
    make.submit(worklist, "bob", 1, {**FAULT, "symptom": ["early"], "fixes": []})
    make.submit(worklist, "dave", 1, {**FAULT, "symptom": ["late"], "fixes": []})
    worklist.refresh_from_db()
    if is_closed:
        close(worklist, leave_open=True)
    item = Item.objects.get(study=study, identifier="acme/rocket#1")
    write_remark(
        seat=make.seat(study, "ada"), round_=get_round(make.seat(study, "ada"), 2), item=item, text="Why @dave?"
    )
    places = [f"resolve/{item.pk}/", "resolve/", f"discuss/{item.pk}/", "discuss/", f"resolve/{item.pk}/news/"]

    def answers(name: str) -> set[int]:
        visitor = Client()
        visitor.force_login(make.user(name))
        page = visitor.get("/studies/study/rounds/2/").content.decode()
        found = {visitor.get(f"/studies/study/rounds/2/{place}", follow=True).status_code for place in places}
        script = Script(name)
        found.add(script.send("GET", "studies/study/remarks/?round=2&item=acme/rocket%231").status_code)
        remarks = script.send("GET", "studies/study/remarks/").json()["results"]
        assert [each["round"] for each in remarks] == [2] * (200 in found)
        told = script.send("GET", "inbox/").json()["results"]
        assert any(each["remark"] for each in told) == (name == "dave" and 200 in found)
        inbox = visitor.get("/inbox/")
        assert inbox.status_code == 200 and ("Why" in inbox.content.decode()) == (name == "dave" and 200 in found)
        assert (">Discuss</a>" in page) == (200 in found)
        return found

    assert answers("dave") == {403} and not AuditEvent.objects.filter(verb=READ, user__username="dave").exists()
    assert answers("bob") == {200}
    close(Round.objects.get(number=1), leave_open=True)
    assert answers("dave") == {200}


@pytest.mark.parametrize(
    "place",
    [
        "/studies/study/rounds/2/resolve/{item}/",
        "/studies/study/rounds/2/resolve/",
        "/studies/study/rounds/2/discuss/",
        "/studies/study/rounds/2/discuss/{item}/",
        "/studies/study/items/{item}/",
        "/inbox/",
        "/api/v1/inbox/",
        "/api/v1/studies/study/remarks/?round=2",
    ],
)
def test_who_discusses_a_worklist_has_read_the_rounds_before_it_that_are_resolved(place: str) -> None:
    study = make.study(text=make.FAULTS, raters=("bob", "carol", "dave"))
    first = make.open_round(study, 3, raters=("bob", "carol", "dave"), raters_per_item=2)
    for each in Assignment.objects.filter(round=first).select_related("rater__user", "item"):
        number = int(each.item.identifier.rpartition("#")[2])
        make.submit(first, each.rater.user_name, number, {**FAULT, "distributed": each.rater.user_name == "bob"})
    first.refresh_from_db()
    assert first.state == Round.State.RESOLVING
    of_dave = Assignment.objects.filter(round=first, rater__user__username="dave").values("item")
    (item,) = Item.objects.filter(study=study).exclude(pk__in=of_dave)
    make.next_version(study, SPLIT)
    number = item.identifier.rpartition("#")[2]
    worklist = make.worklist(study, 2, f"item asked raters\n{number} symptom bob,dave")
    for name, symptom in (("bob", "early"), ("dave", "late")):
        make.submit(worklist, name, int(number), {**FAULT, "symptom": [symptom], "fixes": []})
    close(worklist, leave_open=True)
    worklist.refresh_from_db()
    write_remark(seat=make.seat(study, "ada"), round_=worklist, item=item, text="@dave look: bob said distributed.")
    dave = Client()
    dave.force_login(make.user("dave"))
    assert dave.get(place.format(item=item.pk), follow=True).status_code == 200
    lines = AuditEvent.objects.filter(verb=READ, user__username="dave")
    assert [each.detail["round"] for each in lines] == [1]


@pytest.mark.parametrize(("number", "is_older"), [(1, True), (2, True), (4, False)])
def test_a_draft_that_is_older_than_a_worklist_with_an_item_of_it_stays_one(number: int, is_older: bool) -> None:
    """Labels of the rounds before a worklist are shown with it, while such a round is resolved, too."""
    study, olga = make.study(), Script("olga")
    make.rate(make.open_round(study, 3), "item bob carol\n1 hang hang\n2 crash crash\n3 slow slow")
    rounds.close_round(seat=make.owner_seat(study), number=1)
    make.issues(1, first=4)
    made = {"kind": "main", "raters": ["bob", "carol"], "raters_per_item": 2, "issues": [f"acme/rocket#{number}"]}
    assert olga.send("POST", "studies/study/rounds/", made).status_code == 201
    make.next_version(study, make.HANG_SPLIT)
    make.worklist(study, 2, "item asked raters\n1 symptom bob", state=Round.State.CLOSED)
    opened = {"unregistered": True, "reason": "-"}
    answer = olga.send("POST", "studies/study/rounds/2/open/", opened)
    assert answer.status_code == (409 if is_older else 200)
    if is_older:
        assert answer.json()["code"] == "older_than_queue" and "Delete this draft" in answer.json()["message"]
        assert olga.send("DELETE", "studies/study/rounds/2/").status_code == 204
        assert olga.send("POST", "studies/study/rounds/", made).status_code == 201
        assert olga.send("POST", "studies/study/rounds/4/open/", opened).status_code == 200


def test_the_base_of_a_worklist_is_read_with_a_fixed_number_of_queries(study: Study) -> None:
    labeled(study, *[(FAULT, FAULT)] * 8)
    make.next_version(study, SPLIT)
    lines = "".join(f"\n{number} symptom bob" for number in range(1, 9))
    worklist = make.worklist(study, 2, f"item asked raters{lines}", state=Round.State.RESOLVING)
    list(round_verdicts(worklist))
    with assert_queries(8):  # here three, where they were before, and four there
        assert len(list(round_verdicts(worklist))) == 8


def test_the_pages_of_an_item_show_what_stays_and_from_which_round(study: Study) -> None:
    labeled(study, (FAULT, FAULT))
    make.next_version(study, SPLIT)
    worklist = make.worklist(study, 2, "item asked raters\n1 symptom bob,carol")
    make.submit(worklist, "bob", 1, {**FAULT, "symptom": ["early"], "fixes": []})
    make.submit(worklist, "carol", 1, {**FAULT, "symptom": ["late"], "fixes": []})
    client = Client()
    client.force_login(make.user("ada"))
    item = Item.objects.get(study=study)
    for place in ("1.fixes", "1.symptom", "1.kind"):
        page = client.get(f"/studies/study/rounds/2/resolve/{item.pk}/?place={place}")
        assert page.status_code == 200 and "Patch" in page.content.decode()
    said = client.get(f"/studies/study/items/{item.pk}/").content.decode()
    assert "unanimous, in round 1" in said and "raters disagree" in said
    decide(worklist, 1, "fixes", ["config"])
    assert stands(worklist)[1, 1, "fixes"] == ("resolved", ["config"])
    close(worklist, leave_open=True)
    assert (labels(study)[1, 1, "fixes"].round, labels(study)[1, 1, "fixes"].values) == (2, ["config"])


def test_a_decision_taken_late_in_the_round_before_shows_in_the_worklist_at_once(study: Study) -> None:
    first = labeled(study, (FAULT, FAULT), (FAULT, FAULT))
    make.next_version(study, SPLIT)
    worklist = make.worklist(study, 2, "item asked raters\n1 symptom bob,carol\n2 symptom bob,carol")
    for number in (1, 2):
        make.submit(worklist, "bob", number, {**FAULT, "symptom": ["early"], "fixes": []})
        make.submit(worklist, "carol", number, {**FAULT, "symptom": ["late"], "fixes": []})
    worklist.refresh_from_db()
    assert queue_of(worklist).n_open == 2
    decide(first, 1, "kind", ["how-to"])
    assert queue_of(worklist).n_open == 1
    assert {place[2] for place in stands(worklist) if place[0] == 1} == {"kind"}


def test_who_is_not_asked_again_goes_on_counting_with_their_earlier_answer(study: Study) -> None:
    asked_for = {"proposals": {"symptom": {"name": "Stall"}}}
    round_ = make.open_round(study, 2)
    for number, other in ((1, "crash"), (2, "slow")):
        make.submit(round_, "bob", number, {"kind": ["fault"], "fixes": [], "distributed": True}, **asked_for)
        make.submit(round_, "carol", number, {**FAULT, "symptom": [other], "fixes": []})
    close(get_round(make.owner_seat(study), 1), leave_open=True)
    make.next_version(study, SPLIT)
    worklist = make.worklist(study, 2, "item asked raters\n1 symptom bob\n2 symptom bob")
    make.submit(worklist, "bob", 1, {**FAULT, "symptom": ["early"], "fixes": []})
    make.submit(worklist, "bob", 2, {**FAULT, "symptom": ["slow"], "fixes": []})
    found = {
        (each.identifier[-1], verdict.dimension): (verdict.state, verdict.reason, verdict.values, verdict.method)
        for each in round_verdicts(get_round(make.owner_seat(study), 2))
        for verdict in each.verdicts
    }
    assert found["1", "symptom"] == ("open", "differ", None, None)
    assert found["2", "symptom"] == ("agreed", None, ("slow",), "relabel")
    assert has_open_disagreements(get_round(make.owner_seat(study), 2))


def test_one_answer_alone_does_not_replace_a_decision_and_two_alike_do(study: Study) -> None:
    labeled(study, *[(FAULT, {**FAULT, "symptom": ["crash"]})] * 3, close=False)
    for number in (1, 2, 3):
        decide(get_round(make.owner_seat(study), 1), number, "symptom", ["hang"])
    close(get_round(make.owner_seat(study), 1))
    make.next_version(study, SPLIT)
    worklist = make.worklist(study, 2, "item asked raters\n1 symptom bob\n2 symptom bob,carol\n3 symptom bob")
    for name, number in (("bob", 1), ("bob", 2), ("carol", 2), ("bob", 3)):
        make.submit(worklist, name, number, {**FAULT, "symptom": ["late"], "fixes": ["patch"]})
    worklist.refresh_from_db()
    (found,) = [row for _, here in disagreements([worklist], state="all") for row in here if row["item"][-1] == "1"]
    assert (found["dimension"], found["state"], found["reason"]) == ("symptom", "open", "one_sided")
    assert found["agreed_before"] == {"values": ["hang"], "round": 1, "taxonomy_version": 1, "method": "adjudicator"}
    assert stands(worklist)[2, 1, "symptom"] == ("agreed", ["late"])
    client = Client()
    client.force_login(make.user("ada"))
    item = Item.objects.get(study=study, identifier="acme/rocket#1")
    page = client.get(f"/studies/study/rounds/2/resolve/{item.pk}/").content.decode()
    assert "“Hang”. Only R1 relabeled it" in page
    with pytest.raises(Conflict):
        close(worklist)
    decide(worklist, 1, "symptom", ["late"])
    assert queue_of(worklist).n_open == 1 and len(queue_of(worklist).lines) == 2
    close(worklist, leave_open=True)
    kept = {number: labels(study)[number, 1, "symptom"] for number in (1, 2, 3)}
    assert (kept[1].values, kept[1].method, kept[1].round) == (["late"], "adjudicator", 2)
    assert (kept[2].values, kept[2].round, kept[3].values, kept[3].round) == (["late"], 2, None, 1)


def test_an_answer_that_changes_a_question_above_disagrees_with_the_label_agreed_there(study: Study) -> None:
    labeled(study, (FAULT, FAULT), (HOW_TO, FAULT), (FAULT, FAULT), close=False)
    decide(get_round(make.owner_seat(study), 1), 2, "kind", ["fault"])
    decide(get_round(make.owner_seat(study), 1), 2, "symptom", ["hang"])
    close(get_round(make.owner_seat(study), 1), leave_open=True)
    make.next_version(study, SPLIT)
    worklist = make.worklist(study, 2, "item asked raters\n1 symptom bob,carol\n2 symptom bob\n3 symptom bob")
    for name, number in (("bob", 1), ("carol", 1), ("bob", 2), ("bob", 3)):
        make.submit(worklist, name, number, HOW_TO)
    worklist.refresh_from_db()
    found = [row for _, here in disagreements([worklist]) for row in here]
    assert [(row["item"][-1], row["dimension"], row["reason"]) for row in found] == [
        ("1", "kind", "differ"),
        ("2", "symptom", "one_sided"),  # Bob said so before, and it was overruled: only what is asked is open.
        ("3", "kind", "differ"),
    ]
    assert found[0]["agreed_before"]["values"] == ["fault"]
    assert [place.clashes for line in queue_of(worklist).lines for place in line.places if place.dimension == "kind"]
    client = Client()
    client.force_login(make.user("ada"))
    item = Item.objects.get(study=study, identifier="acme/rocket#1")
    page = client.get(f"/studies/study/rounds/2/resolve/{item.pk}/").content.decode()
    assert "The label agreed in round 1 is “Fault”. R1 and R2 labeled it differently." in page
    assert 'value="[&quot;fault&quot;]"' in page and 'value="[&quot;how-to&quot;]"' in page
    waiting = labels(study)  # what hangs on a disputed label stays until that is resolved
    assert [waiting[1, 1, key].values for key in ("kind", "symptom", "fixes")] == [["fault"], None, ["patch"]]
    with pytest.raises(Conflict):
        close(worklist)
    decide(worklist, 1, "kind", ["how-to"])
    decide(worklist, 3, "kind", ["fault"])
    assert stands(worklist)[3, 1, "symptom"] == ("open", None)
    decide(worklist, 3, "symptom", ["early"])
    close(worklist, leave_open=True)
    kept = labels(study)
    assert (kept[1, 1, "kind"].values, kept[1, 1, "kind"].round) == (["how-to"], 2)
    assert (1, 1, "symptom") not in kept and kept[3, 1, "symptom"].values == ["early"]
    assert (kept[2, 1, "kind"].values, kept[2, 1, "kind"].round) == (["fault"], 1)


def test_a_change_above_disagrees_too_where_only_an_answer_and_no_agreed_label_was_asked_for(study: Study) -> None:
    labeled(study, (FAULT, {**FAULT, "symptom": ["crash"]}), (FAULT, {**FAULT, "symptom": ["crash"]}), close=False)
    for number in (1, 2):
        decide(get_round(make.owner_seat(study), 1), number, "symptom", ["crash"])
    close(get_round(make.owner_seat(study), 1))
    make.next_version(study, SPLIT)
    plan = ran(study)
    assert plan.worklist is not None and asked(plan) == {"1": [], "2": []}
    make.submit(plan.worklist, "bob", 1, HOW_TO)
    make.submit(plan.worklist, "bob", 2, {**FAULT, "symptom": ["late"], "fixes": ["patch"]})
    (row,) = [row for _, here in disagreements([Round.objects.get(pk=plan.worklist.pk)]) for row in here]
    assert (row["item"][-1], row["dimension"], row["agreed_before"]["values"]) == ("1", "kind", ["fault"])
    kept = labels(study)
    assert (kept[1, 1, "kind"].values, kept[1, 1, "symptom"].values) == (["fault"], ["crash"])
    assert kept[2, 1, "symptom"].values == ["crash"]


def test_a_decision_for_no_value_is_not_replaced_by_what_stood_before(study: Study) -> None:
    labeled(study, (FAULT, FAULT))
    make.next_version(study, SPLIT)
    worklist = make.worklist(study, 2, "item asked raters\n1 symptom bob,carol")
    for name, symptom in (("bob", "early"), ("carol", "late")):
        make.submit(worklist, name, 1, {**FAULT, "symptom": [symptom], "fixes": []})
    decide(worklist, 1, "symptom", [])
    close(worklist)
    assert (1, 1, "symptom") not in labels(study)
