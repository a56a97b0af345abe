"""Sheets that come into rounds in which people are asked as third raters."""

from collections.abc import Callable
from typing import Any

import pytest
from django.db import transaction

from annotation.assignments.actions.third_raters import withdraw_third_raters
from annotation.calibration.actions.training import seen_warnings
from annotation.core.access import get_seat
from annotation.imports.actions.ratings import import_ratings
from annotation.labeling.actions.next_item import take_next
from annotation.members.actions.leaving import leave_study
from annotation.models import Assignment, Item, Membership, Round, RoundRater
from annotation.resolving.actions.resolutions import resolve
from annotation.resolving.actions.third_rater_requests import ask_third_rater
from annotation.rounds.actions import rounds
from tests import builders as make
from tests.scripts import Script

pytestmark = pytest.mark.django_db

ITEM = "acme/rocket#{}"
HEAD = "item,rater,round,symptom\n"
HEAD_OF_FILE = (
    "item,part,round,round_label,round_kind,rater,role,dimension,values,memo,seconds,training,revision,"
    "taxonomy_version,original_values,original_version,unmapped,screened_out\n"
)


def begun(resolve_when: str, *, differ: bool, asked: bool = False) -> Round:
    """A round of four items of bob and carol, who agree on the first one or differ; then xen may be asked about it."""
    study = make.study(raters=("bob", "carol", "xen", "dan"), resolve_when=resolve_when)
    make.accept("xen")
    round_ = make.open_round(study, 4)
    make.rate(round_, f"item bob carol\n1 hang {'crash' if differ else 'hang'}")
    if resolve_when == "round":
        make.rate(round_, f"item bob carol\n2 hang {'crash' if differ else 'hang'}\n3 hang hang\n4 hang hang")
    round_.refresh_from_db()
    if asked:
        ask(round_, "xen", 1)
    return round_


def ask(round_: Round, name: str, number: int) -> None:
    item = Item.objects.get(study=round_.study, identifier=ITEM.format(number))
    ask_third_rater(
        seat=make.seat(round_.study, "ada"), round_=round_, item=item, rater=make.member(round_.study, name).code
    )


def bring(round_: Round, sheet: str) -> int:
    mapped = {} if sheet.startswith(HEAD_OF_FILE) else {"dimensions": ["symptom"]}
    slug = round_.study.slug
    report = import_ratings(user=make.user("olga"), study=slug, file=sheet.encode(), name="sheet.csv", **mapped)
    assert not report.refusals
    return report.n_ratings


def rows_of(round_: Round, name: str, *numbers: int) -> str:
    code = make.member(round_.study, name).code
    return HEAD + "".join(f"{ITEM.format(number)},{code},1,hang\n" for number in numbers)


def progress(round_: Round, name: str) -> dict[str, tuple[int, int]]:
    found = Script(name).send("GET", f"studies/{round_.study.slug}/rounds/1/raters/").json()
    return {each["code"]: (each["n_finished"], each["n_assigned"]) for each in found["results"]}


@pytest.mark.parametrize("act", ["decide", "close", "leave", "screen"])
def test_who_is_asked_and_becomes_a_rater_by_a_sheet_can_be_withdrawn(act: str) -> None:
    round_ = begun("round", differ=True, asked=True)
    ask(round_, "xen", 2)
    assert bring(round_, rows_of(round_, "xen", 3)) == 1
    row = RoundRater.objects.get(round=round_, rater=make.member(round_.study, "xen"))
    assert (row.n_finished, row.n_assigned) == (1, 3)
    seat = make.owner_seat(round_.study)
    if act == "decide":
        for number in (1, 2):
            item = Item.objects.get(identifier=ITEM.format(number))
            resolve(
                seat=make.seat(round_.study, "ada"), round_=round_, item=item, part=1, dimension="symptom",
                values=["hang"], rationale="It hangs.", expected=None,
            )  # fmt: skip
    elif act == "close":
        rounds.close_round(seat=seat, number=1, leave_open=True)
    elif act == "leave":
        leave_study(seat=get_seat(make.user("xen"), round_.study.slug))
    else:
        screened = {"items": [ITEM.format(1), ITEM.format(2)], "screening": "out", "reason": "None."}
        assert Script("olga").send("POST", f"studies/{round_.study.slug}/screening/", screened).status_code == 200
    row.refresh_from_db()
    assert (row.n_finished, row.n_assigned) == (1, 1)


def test_counts_that_contradict_what_is_assigned_keep_nobody_in_a_study() -> None:
    round_ = begun("round", differ=True, asked=True)
    RoundRater.objects.create(round=round_, rater=make.member(round_.study, "xen"))
    left = leave_study(seat=get_seat(make.user("xen"), round_.study.slug))
    assert left.member.user is None and left.member.left_at is not None and left.rounds == []
    assert Assignment.objects.filter(round=round_, rater=left.member, state=Assignment.State.WAITING).count() == 1


def test_a_rater_without_a_code_leaves_an_open_round() -> None:
    round_ = begun("item", differ=True)
    make.accept("bob")
    Membership.objects.filter(study=round_.study, user__username="bob").update(code=None)
    left = leave_study(seat=get_seat(make.user("bob"), round_.study.slug))
    assert left.member.user is None and [pk for pk, _ in left.rounds] == [round_.pk]


def in_both_worlds(told: Callable[[bool], Any]) -> Any:
    """What a test is told where two raters agree and where they differ; it must be the same."""
    found = []
    for differ in (False, True):
        with transaction.atomic():
            found.append(told(differ))
            transaction.set_rollback(True)
    assert found[0] == found[1]
    return found[0]


def test_progress_does_not_show_who_was_asked_where_a_sheet_says_that_they_labeled() -> None:
    """Bob labeled the first item alone: a count that lacks xen's answer there would tell him that carol differs."""

    def told(differ: bool) -> Any:
        round_ = begun("item", differ=differ, asked=differ)
        assert bring(round_, rows_of(round_, "xen", 1, 2, 3)) == 3
        return {name: progress(round_, name) for name in ("bob", "dan", "xen")}

    assert in_both_worlds(told)["bob"]["R3"] == (3, 3)


def test_progress_does_not_show_who_is_asked_about_other_items_than_a_sheet_brings() -> None:
    def told(differ: bool) -> Any:
        round_ = begun("item", differ=differ, asked=differ)
        bring(round_, rows_of(round_, "xen", 3))
        return progress(round_, "bob")

    assert in_both_worlds(told)["R3"] == (1, 1)


def test_third_answers_of_a_file_are_in_no_count_of_an_open_round() -> None:
    def told(differ: bool) -> Any:
        study = make.study(raters=("bob", "carol", "dan"), resolve_when="item")
        round_ = make.open_round(study, 6, raters=("bob", "carol", "dan"), raters_per_item=2)
        held = Assignment.objects.filter(round=round_).values_list("item__identifier", "rater__user__username")
        without = [n for n in range(1, 7) if (ITEM.format(n), "dan") not in set(held)]
        for name, label in (("bob", "hang"), ("carol", "crash" if differ else "hang")):
            make.submit(round_, name, without[0], {"symptom": [label]})
        if differ:
            ask(round_, "dan", without[0])
        before = progress(round_, "bob")
        code = make.member(study, "dan").code
        row = f"{ITEM.format(without[1])},1,1,,main,{code},third,symptom,hang,,,false,blind,1,hang,1,,false\n"
        assert bring(round_, HEAD_OF_FILE + row) == 1
        assert progress(round_, "bob") == before
        return before

    in_both_worlds(told)


def test_calibration_items_do_not_hang_on_who_was_asked_where_a_sheet_says_that_they_labeled() -> None:
    def told(differ: bool) -> Any:
        round_ = begun("item", differ=differ, asked=differ)
        bring(round_, rows_of(round_, "xen", 1))
        make.rate(round_, "item bob carol\n2 hang hang\n3 hang hang\n4 hang hang")
        known = {ITEM.format(1): {"labels": {"symptom": ["hang"]}}}
        asked = rounds.NewRound(raters=["xen"], raters_per_item=1, issues=[ITEM.format(4)], known=known)
        return seen_warnings(rounds.create_round(seat=make.owner_seat(round_.study), asked=asked))

    assert "R3 had 1 of the 1 calibration items before" in in_both_worlds(told)[0]


def test_progress_of_a_round_that_is_being_resolved_does_not_show_who_was_asked() -> None:
    def told(differ: bool) -> Any:
        round_ = begun("round", differ=True, asked=differ)
        assert bring(round_, rows_of(round_, "xen", 1, 3)) == 2
        return progress(round_, "dan")

    assert in_both_worlds(told)["R3"] == (2, 2)


@pytest.mark.parametrize("rater", ["xen", "dan"])
@pytest.mark.parametrize("is_withdrawn", [True, False])
def test_who_was_asked_and_withdrawn_in_a_pool_is_counted_once(rater: str, is_withdrawn: bool) -> None:
    study = make.study(raters=("bob", "carol", "dan", "xen"), resolve_when="item")
    round_ = make.open_round(study, 3, raters=("bob", "carol", "dan"), raters_per_item=2, mode="pool")
    for name, label in (("bob", "hang"), ("carol", "crash")):
        taken = take_next(seat=make.seat(study, name), round_=round_)
        assert taken is not None and taken.item.identifier == ITEM.format(1)
        make.submit(round_, name, 1, {"symptom": [label]})
    ask(round_, rater, 1)
    if is_withdrawn:
        withdraw_third_raters(Assignment.objects.filter(round=round_, rater=make.member(study, rater)))
    assert bring(round_, rows_of(round_, rater, 1)) == 1
    assert progress(round_, "bob")[make.member(study, rater).code or ""] == (1, 1)


def test_who_has_an_item_of_a_pool_by_a_sheet_goes_on_with_the_others() -> None:
    study = make.study(raters=("bob", "carol"))
    round_ = make.open_round(study, 4, raters_per_item=2, mode="pool")
    assert bring(round_, rows_of(round_, "bob", 2)) == 1
    seat, met = make.seat(study, "bob"), []
    while (taken := take_next(seat=seat, round_=round_)) is not None:
        met.append(taken.item.identifier)
        make.submit(round_, "bob", int(met[-1][-1]), {"symptom": ["hang"]})
    assert met == [ITEM.format(number) for number in (1, 3, 4)]


@pytest.mark.parametrize("is_asked", [True, False])
def test_a_row_of_which_nothing_can_be_read_ends_no_assignment(is_asked: bool) -> None:
    round_ = begun("item", differ=True, asked=is_asked)
    name = "xen" if is_asked else "bob"
    number = 1 if is_asked else 2
    code = make.member(round_.study, name).code
    sheet = f"{HEAD}{ITEM.format(number)},{code},1,nonsense\n{ITEM.format(3)},{code},1,hang\n"
    report = import_ratings(
        user=make.user("olga"), study=round_.study.slug, file=sheet.encode(), name="sheet.csv", dimensions=["symptom"]
    )
    assert (report.n_ratings, report.n_refused) == (1, 1)
    assert make.assignment(round_, name, number).state == Assignment.State.WAITING
