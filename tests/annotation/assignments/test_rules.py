"""What the rules of a study decide by themselves, whom they ask, and that nothing is done twice."""

import threading

import pytest
from django.db import connection, transaction
from django.utils import timezone

from annotation.assignments import jobs as rule_jobs
from annotation.assignments.jobs import ANSWERS, RULES, rounds_with_new_answers, rule_answers, rule_items, rule_round
from annotation.assignments.rules import Candidate, ruling, third_raters
from annotation.core.access import get_item, get_round, get_seat
from annotation.core.errors import Blind, Conflict, Forbidden, Invalid, WrongState
from annotation.labeling.actions import answers as answer_actions
from annotation.labeling.actions.next_item import take_next
from annotation.labels.consensus import PENDING, RaterValues, Verdict
from annotation.labels.queries.verdicts import round_verdicts
from annotation.members.actions import members
from annotation.models import Assignment, AuditEvent, InboxLine, Membership, Resolution, Round, RoundRater, Study
from annotation.resolving.actions.resolutions import reopen, resolve
from annotation.resolving.actions.third_rater_requests import apply_rules, ask_third_rater
from annotation.resolving.queries.queue import queue_of
from annotation.rounds.actions import rounds
from annotation.rounds.actions.raters import withdraw_from_study
from annotation.studies.actions import studies
from annotation.studies.actions.archive import archive_study, take_out_of_archive
from shared.job_holds import JobLockKind, hold_job
from tests import builders as make
from tests.annotation.permission_study import PAGES, Visitor, words_of
from tests.asserts import assert_queries, wait_until_someone_waits_for_a_lock
from tests.scripts import Script

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize(
    ("values", "arbiters", "third_rater", "majority", "wanted"),
    [
        (["crash", "crash", "hang"], "", False, True, ("crash", "majority")),
        (["crash", "crash", "hang"], "", True, False, None),
        (["crash", "hang", "hang"], "R3", True, False, ("hang", "third_rater")),
        (["crash", "hang", "hang"], "R3", False, True, ("hang", "third_rater")),
        (["crash", "hang", "hang"], "R3", False, False, None),
        (["crash", "hang", "slow"], "R3", True, True, None),
        (["crash", "hang"], "", True, True, None),
        (["crash", "crash", "hang", "hang"], "", False, True, None),
        (["crash", "crash", "crash", "hang"], "", False, True, ("crash", "majority")),
        (["crash", "crash", None, "hang"], "", False, True, ("crash", "majority")),
        (["crash", None, "hang"], "", False, True, None),
        (["crash", "crash", PENDING], "", True, True, None),
    ],
)
def test_more_than_half_of_three_at_least_decide(values, arbiters, third_rater, majority, wanted) -> None:
    ratings = [RaterValues(f"R{n}", None if value is None else (value,)) for n, value in enumerate(values, start=1)]
    verdict = Verdict(1, "symptom", "open", "differ", None, None, ratings)
    found = ruling(verdict, arbiters.split(), third_rater=third_rater, majority=majority)
    assert (found and (found.values[0], found.method)) == wanted


@pytest.mark.parametrize("reason", ["parts", "one_sided", "skipped", "pending"])
def test_only_values_that_differ_are_decided_by_a_rule(reason) -> None:
    ratings = [RaterValues("R1", ("crash",)), RaterValues("R2", ("crash",)), RaterValues("R3", ("hang",))]
    verdict = Verdict(1, "symptom", "open", reason, None, None, ratings)
    assert ruling(verdict, (), third_rater=True, majority=True) is None


def test_third_raters_are_taken_by_rank_then_by_seed_and_never_twice_for_an_item() -> None:
    people = [Candidate(1, 0), Candidate(2, 0), Candidate(3, 1)]
    found = third_raters(range(100), people, {7: [1, 2], 8: [1, 2, 3]}, seed=1)
    assert (found[7], 8 in found, len(found)) == (3, False, 99)
    loads = [list(found.values()).count(pk) for pk in (1, 2, 3)]
    assert min(loads[:2]) > 35 and loads[2] == 1
    for other in (1, 2, 50, 99):  # who is asked about one item tells nothing of another one
        rest = [item for item in range(100) if item != other]
        assert third_raters(rest, people, {7: [1, 2], 8: [1, 2, 3]}, seed=1) == {
            item: rater for item, rater in found.items() if item != other
        }
    assert found == third_raters(range(100), people, {7: [1, 2], 8: [1, 2, 3]}, seed=1)
    assert found != third_raters(range(100), people, {7: [1, 2], 8: [1, 2, 3]}, seed=2)


def decided(round_: Round) -> dict[int, tuple[list[str], str, object]]:
    rows = Resolution.objects.filter(round=round_).select_related("item__issue", "decided_by")
    return {
        row.item.issue.number: ([v.category.key for v in row.decided.all()], row.method, row.decided_by) for row in rows
    }


def of_three(**rules: bool) -> Round:
    """A round of three raters that is being resolved: 1 has a majority, 2 none, 3 is unanimous, 4 proposes."""
    study = make.study(raters=("bob", "carol", "dave"))
    Study.objects.update(**rules)
    round_ = make.open_round(Study.objects.get(), 4, raters=("bob", "carol", "dave"))
    table = "item bob carol dave\n1 crash crash hang\n2 crash hang slow\n3 slow slow slow\n4 PENDING crash crash"
    make.rate(round_, table)
    return get_round(make.owner_seat(study), 1)


def test_the_majority_is_decided_when_the_round_is_resolved_and_run_again_it_decides_nothing_twice() -> None:
    round_ = of_three(majority=True)
    assert round_.ruled_at is None
    rule_round(round_.pk)
    assert decided(round_) == {1: (["crash"], "majority", None)}
    assert Resolution.objects.get().rationale == "2 of 3 raters chose it."
    Round.objects.update(ruled_at=None)
    rule_round(round_.pk)
    rule_items(round_.pk, list(round_.round_items.values_list("item", flat=True)))
    assert Resolution.objects.count() == 1
    assert Round.objects.get().ruled_at is not None
    event = AuditEvent.objects.get(verb="decided by rule")
    assert (event.user, event.detail) == (None, {"round": 1, "majority": 1})


def test_without_a_rule_nothing_is_decided_and_a_rule_turned_on_later_waits_for_the_owner() -> None:
    round_ = of_three()
    assert round_.ruled_at is not None
    owner = make.owner_seat(round_.study)
    with pytest.raises(WrongState, match="no rule"):
        apply_rules(seat=owner, number=1)
    Round.objects.update(ruled_at=None)  # as a round from before there were rules
    studies.change_study(seat=owner, changes={"majority": True})
    assert RULES.sweep(0) == []
    owner = make.owner_seat(round_.study)
    with pytest.raises(Forbidden):
        apply_rules(seat=make.seat(round_.study, "ada"), number=1)
    apply_rules(seat=make.owner_seat(Study.objects.get()), number=1)
    assert RULES.sweep(-5) == [round_.pk]
    rule_round(round_.pk)
    assert list(decided(round_)) == [1]
    assert RULES.sweep(-5) == []


def test_rules_hand_over_after_a_turn_and_see_what_is_answered_between_two_of_them() -> None:
    round_ = of_three(majority=True)
    second, n_turns, has_changed = round_.round_items.get(item__issue__number=2), 0, False
    while RULES.work(round_.pk, turn_seconds=0):
        n_turns += 1
        ruled = Round.objects.get()
        assert ruled.ruled_at is None and RULES.sweep(-5) == [round_.pk]
        if ruled.ruled_to >= second.position and not has_changed:
            make.submit(round_, "dave", 2, {"symptom": ["crash"]})
            has_changed = True
    assert n_turns == 3 and has_changed and sorted(decided(round_)) == [1]
    ruled = Round.objects.get()
    assert ruled.ruled_at is not None and ruled.ruled_to == 0 and RULES.sweep(-5) == []
    let_the_clock_pass()
    assert {number: row[0] for number, row in decided(round_).items()} == {1: ["crash"], 2: ["crash"]}


def test_rules_asked_for_again_between_two_turns_begin_anew() -> None:
    round_ = of_three(majority=True)
    while decided(round_) == {}:
        assert RULES.work(round_.pk, turn_seconds=0)
    stale = Round.objects.get()
    apply_rules(seat=make.owner_seat(round_.study), number=1)
    assert stale.ruled_to > 0 == Round.objects.get().ruled_to and not rule_jobs._move(stale, ruled_at=timezone.now())
    assert not RULES.work(round_.pk) and Round.objects.get().ruled_at is not None


def test_rules_of_single_items_hand_over_after_a_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rule_jobs, "BATCH", 2)
    make.study(raters=("bob", "carol", "dave"))
    Study.objects.update(third_rater=True, resolve_when="item")
    round_ = make.open_round(Study.objects.get(), 4)
    make.rate(round_, "item bob carol\n1 crash hang\n2 slow slow\n3 hang slow")
    with hold_job(JobLockKind.RULES, round_.pk):
        assert rounds_with_new_answers() == []
    n_turns = 1
    while ANSWERS.work(round_.pk, turn_seconds=0):
        n_turns += 1
        assert n_turns > 3 or rounds_with_new_answers() == [round_.pk]
    assert n_turns == 4 and sorted(arbiters(round_)) == [1, 3] and rounds_with_new_answers() == []


def test_the_clock_leaves_a_round_alone_at_which_a_worker_is() -> None:
    round_ = of_three(majority=True)
    assert RULES.sweep(-5) == [round_.pk]
    with hold_job(JobLockKind.RULES, round_.pk):
        assert RULES.sweep(-5) == []
        with hold_job(JobLockKind.RULES, round_.pk):  # the owner asked for the rules meanwhile
            assert RULES.sweep(-5) == []
    assert RULES.sweep(-5) == [round_.pk]


def test_rules_of_an_archived_study_wait_until_it_is_worked_on_again() -> None:
    round_ = of_three(majority=True)
    archive_study(seat=make.owner_seat(round_.study))
    rule_round(round_.pk)
    rule_items(round_.pk, list(round_.round_items.values_list("item", flat=True)))
    assert not decided(round_) and RULES.sweep(-5) == [] and Round.objects.get().ruled_at is None
    take_out_of_archive(seat=make.owner_seat(Study.objects.get()))
    assert RULES.sweep(-5) == [round_.pk]
    rule_round(round_.pk)
    assert list(decided(round_)) == [1]


def test_what_someone_decided_or_reopened_is_left_to_people() -> None:
    round_ = of_three(majority=True)
    seat = make.seat(round_.study, "ada")
    place = {"seat": seat, "round_": round_, "item": get_item(seat, "acme/rocket#1"), "part": 1, "dimension": "symptom"}
    first = resolve(values=["hang"], **place)
    rule_round(round_.pk)
    reopen(expected=first.public_id, **place)
    Round.objects.update(ruled_at=None)
    rule_round(round_.pk)
    assert list(Resolution.objects.values_list("method", flat=True).order_by("revision")) == ["adjudicator", "reopened"]


def test_what_hangs_on_a_decision_of_a_rule_is_decided_by_it_too() -> None:
    make.study(raters=("bob", "carol", "dave"), text=make.FAULTS)
    Study.objects.update(majority=True)
    round_ = make.open_round(Study.objects.get(), 1, raters=("bob", "carol", "dave"))
    fault = {"kind": ["fault"], "symptom": ["crash"], "distributed": True}
    make.submit(round_, "bob", 1, fault)
    make.submit(round_, "carol", 1, {**fault, "fixes": ["code"]})
    make.submit(round_, "dave", 1, {"kind": ["how-to"]})
    rule_round(round_.pk)
    assert {row.dimension.key for row in Resolution.objects.select_related("dimension")} == {"kind"}
    (standing,) = round_verdicts(get_round(make.owner_seat(round_.study), 1))
    assert {v.dimension: (v.state, v.values) for v in standing.verdicts} == {
        "kind": ("resolved", ("fault",)),
        "symptom": ("agreed", ("crash",)),
        "fixes": ("open", None),
        "distributed": ("agreed", (True,)),
    }


@pytest.fixture
def asking() -> Round:
    """Bob and carol differ on 1 and 2, agree on 3; dave and eve rate in the study, and the rule asks a third."""
    make.study(raters=("bob", "carol", "dave", "eve"))
    Study.objects.update(third_rater=True)
    round_ = make.open_round(Study.objects.get(), 3)
    make.rate(round_, "item bob carol\n1 crash hang\n2 hang slow\n3 slow slow")
    _draw_different_people(round_)
    rule_round(round_.pk)
    return get_round(make.owner_seat(Study.objects.get()), 1)


def _draw_different_people(round_: Round) -> None:
    items = list(round_.round_items.order_by("position").values_list("item", flat=True))[:2]
    dave, eve = (Candidate(make.member(round_.study, name).pk, 1) for name in ("dave", "eve"))
    seeds = (each for each in range(1000) if len({*third_raters(items, [dave, eve], {}, each).values()}) == 2)
    Round.objects.filter(pk=round_.pk).update(seed=next(seeds))


def arbiters(round_: Round) -> dict[int, Assignment]:
    rows = Assignment.objects.filter(round=round_, slot=None).select_related("rater__user", "item__issue")
    return {row.item.issue.number: row for row in rows}


def answer(asked: Assignment, value: str) -> None:
    """Submits for a third rater, and lets the clock pass."""
    seat = get_seat(asked.rater.user, asked.round.study.slug)
    answer_actions.submit_annotation(seat=seat, assignment=asked.public_id, body={"labels": {"symptom": [value]}})
    let_the_clock_pass()


def let_the_clock_pass() -> None:
    """What the clock has workers do within a minute."""
    for pk in RULES.sweep(-5):
        rule_round(pk)
    for pk in rounds_with_new_answers():
        rule_answers(pk)


def test_where_two_differ_a_third_is_asked_once_and_told(asking) -> None:
    asked = arbiters(asking)
    assert sorted(asked) == [1, 2]
    assert {row.rater.user.username for row in asked.values()} == {"dave", "eve"}
    told = InboxLine.objects.filter(kind="arbiter").values_list("member__user__username", "n_items", "item")
    assert sorted(told) == [("dave", 1, None), ("eve", 1, None)]
    Round.objects.update(ruled_at=None)
    rule_round(asking.pk)
    assert Assignment.objects.filter(slot=None).count() == 2
    assert InboxLine.objects.filter(kind="arbiter").count() == 2
    assert AuditEvent.objects.get(verb="third raters asked by rule").detail == {"round": 1, "items": 2}


def test_a_third_rater_answers_on_the_usual_page_and_what_two_say_is_decided(asking) -> None:
    asked = arbiters(asking)
    seat = get_seat(asked[1].rater.user, "study")
    assert take_next(seat=seat, round_=asking) == asked[1]
    answer(asked[1], "hang")
    assert decided(asking) == {1: (["hang"], "third_rater", None)}
    assert Resolution.objects.get().rationale == "2 of 3 raters chose it, including the third rater."
    assert take_next(seat=seat, round_=asking) is None
    made = Assignment.objects.get(pk=asked[1].pk)
    assert (made.state, made.blind) == ("submitted", made.current)
    answer(asked[2], "crash")
    assert list(decided(asking)) == [1]
    assert queue_of(asking).n_open == 1


def test_third_raters_from_outside_find_their_work_and_the_owner_sees_who_owes_it(asking) -> None:
    asked = arbiters(asking)
    name = asked[1].rater.user.username
    pages = Visitor(name), Visitor("olga")
    paths = ["", "studies/study/", "studies/study/rounds/1/"]
    for path in paths:
        words = words_of(pages[0].get(PAGES, path))
        assert "third rater" in words and "/studies/study/rounds/1/label/" in words, path
        assert "You have no open work" not in words
    assert "6 of 8 finished" in words_of(pages[1].get(PAGES, paths[2]))
    rows = Script("olga").send("GET", "studies/study/rounds/1/raters/").json()["results"]
    told = [(row["code"], row["n_assigned"], row["n_finished"], row["n_third"]) for row in rows]
    assert told == [("R1", 3, 3, 0), ("R2", 3, 3, 0), ("R3", 1, 0, 1), ("R4", 1, 0, 1)]
    item = asked[1].item
    seat = make.seat(asking.study, "ada")
    decision = {"seat": seat, "round_": asking, "part": 1, "dimension": "symptom", "values": ["crash"]}
    resolve(item=item, **decision)
    assert Assignment.objects.get(pk=asked[1].pk).state == Assignment.State.WITHDRAWN
    assert "third rater" not in words_of(pages[0].get(PAGES, ""))
    assert take_next(seat=make.seat(asking.study, name), round_=asking) is None
    assert Assignment.objects.get(pk=asked[2].pk).state == Assignment.State.WAITING
    assert "6 of 7 finished" in words_of(pages[1].get(PAGES, paths[2]))


def test_a_third_rater_is_blind_to_the_item_until_they_answered(asking) -> None:
    owner, asked = make.owner_seat(asking.study), arbiters(asking)[1]
    name = asked.rater.user.username
    members.add_member(seat=owner, username=name, roles=["rater", "adjudicator"])
    page = f"/studies/study/rounds/1/resolve/{asked.item_id}/"
    script = Script(name)
    script.client.force_login(asked.rater.user)
    assert script.client.get(page).status_code == 403
    listing = script.client.get("/studies/study/rounds/1/resolve/").content.decode()
    assert asked.item.identifier not in listing
    for place in ("disagreements/?state=all", "labels/", "ratings/"):
        rows = script.send("GET", f"studies/study/{place}").json()["results"]
        assert all(row["item"] != asked.item.identifier for row in rows), place
    seat = get_seat(asked.rater.user, "study")
    place = {"round_": asking, "item": asked.item, "part": 1, "dimension": "symptom"}
    with pytest.raises(Blind):
        resolve(seat=seat, values=["crash"], **place)
    with pytest.raises(Blind):
        ask_third_rater(seat=seat, round_=asking, item=asked.item)
    answer(asked, "slow")
    assert script.client.get(page).status_code == 200


def test_a_revised_answer_can_make_the_majority(asking) -> None:
    answer(arbiters(asking)[1], "slow")
    assert not Resolution.objects.exists()
    make.submit(asking, "bob", 1, {"symptom": ["slow"]})
    assert not Resolution.objects.exists()
    let_the_clock_pass()
    assert decided(asking) == {1: (["slow"], "third_rater", None)}


@pytest.mark.parametrize("first", [{"skip": "not sure"}, {"labels": {"symptom": ["slow"]}}])
def test_a_third_rater_who_may_have_read_the_others_answers_before_theirs_decides_nothing(asking, first) -> None:
    asked = arbiters(asking)[1]
    seat = get_seat(asked.rater.user, "study")
    answer_actions.submit_annotation(seat=seat, assignment=asked.public_id, body=first)
    answer(asked, "hang")  # they could read the other answers in between
    assert not Resolution.objects.exists()
    place = {"round_": asking, "item": asked.item, "part": 1, "dimension": "symptom", "values": ["hang"]}
    with pytest.raises(Invalid) as refused:
        resolve(seat=make.seat(asking.study, "ada"), expected=None, method="third_rater", **place)
    assert refused.value.fields["method"] == ["No third rater labeled this item."]
    Study.objects.update(majority=True)
    Round.objects.update(ruled_at=None)
    rule_round(asking.pk)
    assert not Resolution.objects.exists()


def test_a_third_rater_counts_in_no_agreement_and_keeps_no_round_open() -> None:
    make.study(raters=("bob", "carol", "dave"))
    Study.objects.update(third_rater=True, resolve_when="item")
    round_ = make.open_round(Study.objects.get(), 2)
    make.rate(round_, "item bob carol\n1 crash hang")
    assert not arbiters(round_)
    let_the_clock_pass()
    asked = arbiters(round_)[1]
    assert asked.rater.user.username == "dave"
    assert queue_of(get_round(make.owner_seat(round_.study), 1)).n_open == 1
    make.rate(round_, "item bob carol\n2 slow slow")
    round_.refresh_from_db()
    assert round_.state == "resolving"
    answer(asked, "crash")
    assert decided(round_) == {1: (["crash"], "third_rater", None)}
    assert not RoundRater.objects.filter(rater__user__username="dave").exists()
    found = Script("olga").send("GET", "studies/study/agreement/").json()[0]
    assert (found["raters"], found["ratings"]) == (2, 4)


def test_rules_see_every_answer_of_an_open_round_once_and_those_that_came_meanwhile_the_next_time() -> None:
    make.study(raters=("bob", "carol", "dave"))
    Study.objects.update(third_rater=True, resolve_when="item")
    round_ = make.open_round(Study.objects.get(), 4)
    assert rounds_with_new_answers() == []
    make.rate(round_, "item bob carol\n1 crash hang\n2 slow slow")
    make.submit(round_, "bob", 3, {"symptom": ["crash"]})
    assert rounds_with_new_answers() == [round_.pk]
    let_the_clock_pass()
    assert sorted(arbiters(round_)) == [1] and rounds_with_new_answers() == []
    with assert_queries(1):
        rule_answers(round_.pk)
    make.submit(round_, "carol", 3, {"symptom": ["hang"]})
    make.submit(round_, "carol", 2, {"symptom": ["hang"]})
    let_the_clock_pass()
    assert sorted(arbiters(round_)) == [1, 2, 3]
    Round.objects.update(ruled_until=None)  # a worker was killed before it noted how far it was
    let_the_clock_pass()
    assert Assignment.objects.filter(slot=None).count() == 3
    assert rounds_with_new_answers() == []


def test_rules_leave_an_open_round_alone_that_is_resolved_as_a_whole_or_archived() -> None:
    make.study(raters=("bob", "carol", "dave"))
    Study.objects.update(third_rater=True)
    round_ = make.open_round(Study.objects.get(), 2)
    make.rate(round_, "item bob carol\n1 crash hang")
    assert rounds_with_new_answers() == []
    rule_answers(round_.pk)
    assert not arbiters(round_)
    Study.objects.update(resolve_when="item", archived_at=timezone.now())
    assert rounds_with_new_answers() == []
    rule_answers(round_.pk)
    assert not arbiters(round_) and Round.objects.get().ruled_until is None
    Study.objects.update(archived_at=None)
    let_the_clock_pass()
    assert sorted(arbiters(round_)) == [1]


def test_where_nobody_is_left_nothing_happens() -> None:
    make.study(raters=("bob", "carol"))
    Study.objects.update(third_rater=True)
    round_ = make.open_round(Study.objects.get(), 1)
    make.rate(round_, "item bob carol\n1 crash hang")
    rule_round(round_.pk)
    assert not Assignment.objects.filter(slot=None).exists()
    seat = make.seat(Study.objects.get(), "ada")
    with pytest.raises(Invalid, match="Third rater not assigned"):
        ask_third_rater(seat=seat, round_=get_round(seat, 1), item=get_item(seat, "acme/rocket#1"))


def test_by_hand_a_third_rater_is_asked_without_a_rule_and_never_twice() -> None:
    make.study(raters=("bob", "carol", "dave", "eve"))
    round_ = make.open_round(Study.objects.get(), 2)
    make.rate(round_, "item bob carol\n1 crash hang\n2 slow slow")
    seat = make.seat(Study.objects.get(), "ada")
    round_ = get_round(seat, 1)
    place = {"round_": round_, "item": get_item(seat, "acme/rocket#1")}
    with pytest.raises(Invalid) as refused:
        ask_third_rater(seat=seat, rater="bob", **place)
    assert list(refused.value.fields) == ["rater"]
    with pytest.raises(WrongState, match="has no open disagreement"):
        ask_third_rater(seat=seat, round_=round_, item=get_item(seat, "acme/rocket#2"))
    asked = ask_third_rater(seat=seat, rater="R4", **place)
    assert asked.rater.user.username == "eve"
    with pytest.raises(WrongState, match="R4 was already assigned"):
        ask_third_rater(seat=seat, **place)
    for name in ("bob", "rea"):
        with pytest.raises(Forbidden):
            ask_third_rater(seat=make.seat(round_.study, name), **place)
    assert InboxLine.objects.get(kind="arbiter").item == place["item"]
    answer(asked, "hang")
    assert not Resolution.objects.exists()


def test_by_hand_without_a_name_someone_is_drawn_and_nobody_who_left_the_round() -> None:
    make.study(raters=("bob", "carol", "dave", "eve", "finn"))
    study = Study.objects.get()
    round_ = make.open_round(study, 2, raters=("bob", "carol"))
    make.rate(round_, "item bob carol\n1 crash hang\n2 hang slow")
    seat = make.seat(study, "ada")
    dave = Membership.objects.get(study=study, user__username="dave")
    RoundRater.objects.create(round=round_, rater=dave, left_at=timezone.now())
    asked = set()
    for number in (1, 2):
        place = {"round_": get_round(seat, 1), "item": get_item(seat, f"acme/rocket#{number}")}
        with pytest.raises(Invalid):
            ask_third_rater(seat=seat, rater="dave", **place)
        asked.add(ask_third_rater(seat=seat, **place).rater.user.username)
    assert asked <= {"eve", "finn"}


def test_closing_with_places_left_open_withdraws_who_was_asked(asking) -> None:
    owner = make.owner_seat(asking.study)
    with pytest.raises(Conflict):
        rounds.close_round(seat=owner, number=1)
    rounds.close_round(seat=owner, number=1, leave_open=True)
    assert {row.state for row in arbiters(asking).values()} == {"withdrawn"}
    assert AuditEvent.objects.get(verb="third raters withdrawn").detail["n"] == 2
    with pytest.raises(WrongState):
        answer(arbiters(asking)[1], "hang")


def test_raters_who_left_and_accounts_that_are_closed_are_not_asked() -> None:
    make.study(raters=("bob", "carol", "dave", "eve"))
    Study.objects.update(third_rater=True)
    eve = make.user("eve")
    eve.is_active = False
    eve.save()
    round_ = make.open_round(Study.objects.get(), 1)
    make.rate(round_, "item bob carol\n1 crash hang")
    rule_round(round_.pk)
    assert arbiters(round_)[1].rater.user.username == "dave"


def test_a_submit_without_rules_asks_the_database_nothing_of_them(asking) -> None:
    Study.objects.update(third_rater=False)
    study = Study.objects.get()
    counts = []
    for rule in (False, True):
        Study.objects.update(majority=rule)
        with_rule = make.seat(Study.objects.get(), "bob")
        round_ = make.open_round(study, 2, first=10 + 10 * rule)
        number = 10 + 10 * rule
        own = make.assignment(round_, "bob", number)
        with assert_counted(counts):
            answer_actions.submit_annotation(
                seat=with_rule, assignment=own.public_id, body={"labels": {"symptom": ["crash"]}}
            )
    assert counts[0] == counts[1]


def assert_counted(counts: list[int]):
    from django.db import connection
    from django.test.utils import CaptureQueriesContext

    class Counted(CaptureQueriesContext):
        def __exit__(self, *error: object) -> None:
            super().__exit__(*error)
            counts.append(len(self))

    return Counted(connection)


def test_a_batch_of_any_size_takes_the_same_queries_but_for_what_it_decides() -> None:
    make.study(raters=("bob", "carol", "dave"))
    Study.objects.update(third_rater=True)
    study = Study.objects.get()
    for number, n in ((1, 2), (2, 12)):
        round_ = make.open_round(study, n, first=20 * number)
        lines = [f"{20 * number + k} crash hang" for k in range(n)]
        make.rate(round_, "\n".join(["item bob carol", *lines]))
        with assert_queries(31):
            rule_items(round_.pk, list(round_.round_items.values_list("item", flat=True)))
        assert Assignment.objects.filter(round=round_, slot=None).count() == n


def test_who_leaves_the_study_is_asked_no_more_and_someone_else_can_be(asking) -> None:
    rule_round(asking.pk)
    asked = Assignment.objects.filter(round=asking, slot=None, item__identifier="acme/rocket#1").get()
    owner = make.owner_seat(asking.study)
    withdraw_from_study(seat=owner, member=asked.rater)
    place = {"round_": get_round(owner, 1), "item": asked.item}
    other = ask_third_rater(seat=make.seat(asking.study, "ada"), **place)
    assert other.rater != asked.rater


@pytest.mark.django_db(transaction=True)
def test_nobody_is_asked_in_a_round_that_is_just_being_closed() -> None:
    make.study(raters=("bob", "carol", "dave"))
    round_ = make.open_round(Study.objects.get(), 1)
    make.rate(round_, "item bob carol\n1 crash hang")
    seat = make.seat(Study.objects.get(), "ada")
    place = {"round_": get_round(seat, 1), "item": get_item(seat, "acme/rocket#1")}
    told: list[str] = []

    def ask() -> None:
        try:
            ask_third_rater(seat=seat, **place)
        except WrongState as refused:
            told.append(refused.message)
        finally:
            connection.close()

    asking = threading.Thread(target=ask)
    with transaction.atomic():
        rounds.close_round(seat=make.owner_seat(Study.objects.get()), number=1, leave_open=True)
        asking.start()
        wait_until_someone_waits_for_a_lock()
    asking.join()
    assert told == ["No third rater can be assigned in round 1: it is closed."]
    assert not Assignment.objects.filter(slot=None).exists()
