"""Matching the bugs of an issue that raters gave in another order."""

import threading

import pytest
from django.db import connection

from annotation.core.access import get_item, get_round
from annotation.core.errors import Conflict, Forbidden, Invalid, Stale, WrongState
from annotation.discussion.actions import take_over
from annotation.labeling.queries.earlier_answers import prefilled_answer
from annotation.labels.consensus import RaterAnswer
from annotation.labels.part_matching import in_place, likeliest
from annotation.labels.queries.verdicts import has_open_disagreements, n_open_proposals, round_verdicts
from annotation.models import AuditEvent, PartMatch, Round, Study
from annotation.resolving.actions.part_matches import match_parts
from annotation.resolving.actions.resolutions import reopen, resolve
from annotation.rounds.actions import rounds
from taxonomy.queries import published_version
from tests import builders as make
from tests.scripts import Script

CRASH, HANG, SLOW = ({"symptom": (key,)} for key in ("crash", "hang", "slow"))


def test_parts_are_put_where_they_were_matched_with_gaps_between() -> None:
    answer = RaterAnswer("R1", [CRASH, HANG], part_memos=["one", "two"], proposals={(1, "symptom"): "asked"})
    moved = in_place(answer, {1: 3, 2: 1})
    assert (moved.parts, moved.part_memos) == ([HANG, None, CRASH], ["two", "", "one"])
    assert moved.proposals == {(3, "symptom"): "asked"}


@pytest.mark.parametrize(
    ("agreed", "parts", "wanted"),
    [
        ([CRASH, HANG], [HANG, CRASH], [2, 1]),
        ([CRASH, HANG], [CRASH, HANG], [1, 2]),
        ([CRASH, HANG], [SLOW], [1]),
        ([CRASH], [SLOW, CRASH], [2, 1]),
        ([CRASH, HANG, SLOW] * 4, [HANG, CRASH, SLOW] * 4, [2, 1, 3, 5, 4, 6, 8, 7, 9, 11, 10, 12]),
    ],
)
def test_the_likeliest_match_has_most_in_common_and_moves_least(agreed, parts, wanted) -> None:
    found = likeliest(agreed, parts)
    assert sorted(found) == sorted(wanted) and (len(parts) > 7 or found == wanted)
    same = sum(at <= len(agreed) and agreed[at - 1] == part for part, at in zip(parts, found, strict=True))
    assert same == sum(at <= len(agreed) and agreed[at - 1] == part for part, at in zip(parts, wanted, strict=True))


@pytest.fixture
def crossed(db: None) -> Round:
    """Bob and carol found the same two bugs, in other orders."""
    round_ = make.open_round(make.study(), 1)
    labels = [{"labels": {"symptom": [key]}} for key in ("crash", "hang")]
    make.submit(round_, "bob", 1, parts=labels)
    make.submit(round_, "carol", 1, parts=labels[::-1])
    return get_round(make.owner_seat(round_.study), 1)


def match(round_: Round, parts: object, who: str = "ada", rater: str = "R2", **more) -> list[int]:
    seat = make.seat(round_.study, who)
    item = get_item(seat, "acme/rocket#1")
    return match_parts(seat=seat, round_=get_round(seat, 1), item=item, rater=rater, parts=parts, **more)


def states(round_: Round) -> list[tuple[int, str, object]]:
    (found,) = round_verdicts(round_)
    return [(each.part, each.state, each.values) for each in found.verdicts]


def test_bugs_that_were_matched_agree_and_so_do_the_figures(crossed) -> None:
    olga = Script("olga")

    def agreement(when: str) -> float:
        return olga.send("GET", f"studies/study/agreement/?when={when}").json()[0]["coefficients"][0]["value"]

    assert [state for _, state, _ in states(crossed)] == ["open", "open"]
    assert agreement("before") == 0
    assert match(crossed, [2, 1]) == [2, 1]
    assert states(crossed) == [(1, "agreed", ("crash",)), (2, "agreed", ("hang",))]
    assert list(PartMatch.objects.values_list("part", "agreed_part").order_by("part")) == [(1, 2), (2, 1)]
    detail = AuditEvent.objects.get(verb="bugs matched").detail
    assert (detail["rater"], detail["before"], detail["after"]) == ("R2", [1, 2], [2, 1])
    match(crossed, [2, 1])
    assert AuditEvent.objects.filter(verb="bugs matched").count() == 1
    match(crossed, [1, 2])
    assert not PartMatch.objects.exists()
    assert [state for _, state, _ in states(crossed)] == ["open", "open"]


def test_a_match_with_a_gap_is_another_number_of_bugs(crossed) -> None:
    match(crossed, [3, 1])
    assert [(part, state) for part, state, _ in states(crossed)] == [(1, "agreed"), (2, "open"), (3, "open")]


@pytest.mark.parametrize("parts", [[1], [1, 1], [0, 1], [1, True], "21", None, [1, 2, 3], [1, 101]])
def test_what_is_no_match_is_refused(crossed, parts) -> None:
    with pytest.raises(Invalid) as refused:
        match(crossed, parts)
    assert list(refused.value.fields) == ["parts"]


def test_who_may_match_and_whose_bugs(crossed) -> None:
    for name in ("bob", "rea"):
        with pytest.raises(Forbidden):
            match(crossed, [2, 1], who=name)
    with pytest.raises(Invalid):
        match(crossed, [2, 1], rater="R9")


def test_a_decided_bug_is_not_moved_until_it_is_reopened(crossed) -> None:
    seat = make.seat(crossed.study, "ada")
    place = {"seat": seat, "round_": crossed, "item": get_item(seat, "acme/rocket#1"), "dimension": "symptom"}
    first = resolve(values=["crash"], part=1, **place)
    with pytest.raises(Conflict, match="resolutions on bug 1. Reopen them first"):
        match(crossed, [2, 1])
    reopen(part=1, expected=first.public_id, **place)
    match(crossed, [2, 1])


def test_a_new_revision_keeps_the_match_only_where_its_parts_say_the_same(crossed) -> None:
    match(crossed, [2, 1])
    labels = [{"labels": {"symptom": [key]}} for key in ("hang", "crash")]
    make.submit(crossed, "carol", 1, parts=labels, memo="only a memo")
    assert [state for _, state, _ in states(crossed)] == ["agreed", "agreed"]
    make.submit(crossed, "carol", 1, parts=[{"labels": {"symptom": [key]}} for key in ("hang", "slow")])
    assert [state for _, state, _ in states(crossed)] == ["open", "open"]
    with pytest.raises(Stale):
        match(crossed, [2, 1], expected=1)
    match(crossed, [2, 1], expected=3)


def test_a_script_matches_bugs(crossed) -> None:
    ada = Script("ada")
    asked = {"item": "acme/rocket#1", "rater": "R2", "parts": [2, 1]}
    assert ada.send("POST", "studies/study/matches/", asked | {"revision": 7}).status_code == 409
    assert ada.send("POST", "studies/study/matches/", asked).json()["parts"] == [2, 1]
    labels = Script("olga").send("GET", "studies/study/labels/").json()["results"]
    assert [(row["part"], row["values"]) for row in labels] == [(1, ["crash"]), (2, ["hang"])]
    assert Script("bob").send("POST", "studies/study/matches/", asked).status_code == 403


def test_the_page_matches_by_likeness_and_says_what_stands_in_the_way(crossed) -> None:
    script = Script("ada")
    script.client.force_login(make.user("ada"))
    item = get_item(make.seat(crossed.study, "ada"), "acme/rocket#1")
    page = f"/studies/study/rounds/1/resolve/{item.pk}/"
    assert "Suggested by similarity: 2, 1" in script.client.get(page).content.decode()
    filled = {"rater": "R2", "revision": "1", "parts": ["2", "1"]}
    answer = script.client.post(page + "match/", filled, follow=True).content.decode()
    assert "The parts of R2 are matched." in answer and "Suggested by similarity" not in answer
    refused = script.client.post(page + "match/", filled | {"parts": ["1", "1"]}, follow=True).content.decode()
    assert "none twice" in refused
    script.client.force_login(make.user("bob"))
    assert script.client.post(page + "match/", filled).status_code == 403


def take(round_: Round, part: int, value: str, who: str = "carol", expected: int | None = None):
    seat = make.seat(round_.study, who)
    item = get_item(seat, "acme/rocket#1")
    place = {"round_": get_round(seat, 1), "item": item, "part": part, "dimension": "symptom"}
    return take_over(seat=seat, values=[value], expected=expected, **place)


def test_a_value_is_not_taken_over_into_another_bug_than_the_one_it_stands_at(crossed) -> None:
    match(crossed, [2, 3])
    with pytest.raises(WrongState, match="This value can't be entered here"):
        take(crossed, 1, "slow")
    taken = take(crossed, 3, "slow")
    assert taken.annotation is not None
    assert [(part, values) for part, _, values in states(crossed)] == [(1, None), (2, ("hang",)), (3, None)]
    assert dict(taken.annotation.part_matches.values_list("part", "agreed_part")) == {1: 2, 2: 3}


def test_taking_over_what_one_says_already_keeps_the_match(crossed) -> None:
    match(crossed, [2, 1])
    taken = take(crossed, 1, "crash")
    assert taken.annotation is not None
    assert [state for _, state, _ in states(crossed)] == ["agreed", "agreed"]


@pytest.mark.django_db(transaction=True)
def test_bugs_are_matched_while_their_rater_takes_a_value_over_and_nobody_waits_in_a_ring() -> None:
    study = make.study()
    Study.objects.update(majority=True)
    round_ = make.open_round(study, 1)
    labels = [{"labels": {"symptom": [key]}} for key in ("crash", "hang")]
    make.submit(round_, "bob", 1, parts=labels)
    make.submit(round_, "carol", 1, parts=labels[::-1])
    wrong: list[BaseException] = []
    values = ["slow", "hang", "crash"] * 5

    def taking() -> None:
        try:
            for value in values:
                take(round_, 1, value)
        except BaseException as error:
            wrong.append(error)
        finally:
            connection.close()

    other = threading.Thread(target=taking)
    other.start()
    for number in range(30):
        match(round_, [2, 1] if number % 2 else [1, 2])
    other.join()
    assert not wrong


def test_a_proposal_on_a_matched_bug_is_settled_by_the_decision_on_that_bug(db) -> None:
    round_ = make.open_round(make.study(), 1)
    asked = {"labels": {}, "proposals": {"symptom": {"name": "Stall", "memo": "none fits"}}}
    crash = {"labels": {"symptom": ["crash"]}}
    make.submit(round_, "bob", 1, parts=[crash, {"labels": {"symptom": ["hang"]}}])
    make.submit(round_, "carol", 1, parts=[asked, crash])
    match(round_, [2, 1])
    seat = make.seat(round_.study, "ada")
    assert [n_open_proposals(round_), has_open_disagreements(get_round(seat, 1))] == [1, True]
    place = {"seat": seat, "round_": get_round(seat, 1), "item": get_item(seat, "acme/rocket#1")}
    resolve(values=["hang"], part=2, dimension="symptom", **place)
    assert n_open_proposals(round_) == 0
    rounds.close_round(seat=make.owner_seat(round_.study), number=1)


def test_in_a_worklist_the_earlier_answer_stands_in_the_order_of_the_agreed_bugs(crossed) -> None:
    match(crossed, [2, 1])
    rounds.close_round(seat=make.owner_seat(crossed.study), number=1)
    text = make.SYMPTOMS.replace("{key: hang, name: Hang}", "{key: hang, name: Stall, was: [hang]}")
    version = make.next_version(crossed.study, text)
    made = make.worklist(crossed.study, version.number, "item asked raters\n1 2:symptom bob,carol")
    for name in ("bob", "carol"):
        carried = prefilled_answer(make.assignment(made, name, 1), published_version(version.pk))
        assert [part["labels"] for part in carried.draft["parts"]] == [{"symptom": ["crash"]}, {"symptom": ["hang"]}]
        assert [(each.part, [value.key for value in each.values]) for each in carried.before] == [(2, ["hang"])]


def test_who_found_one_bug_alone_may_have_found_the_second(db) -> None:
    round_ = make.open_round(make.study(), 1)
    make.submit(round_, "bob", 1, parts=[{"labels": {"symptom": [key]}} for key in ("crash", "hang")])
    make.submit(round_, "carol", 1, {"symptom": ["hang"]})
    match(round_, [2])
    assert states(round_) == [(1, "open", None), (2, "agreed", ("hang",))]
    make.submit(round_, "carol", 1, {"symptom": ["hang"]}, memo="only a memo")
    assert states(round_) == [(1, "open", None), (2, "agreed", ("hang",))]


@pytest.mark.parametrize("state", [Round.State.OPEN, Round.State.RESOLVING, Round.State.CLOSED])
def test_parts_keep_their_numbers_where_a_queue_asked_about_them(crossed: Round, state: str) -> None:
    """Its raters see their earlier answers in the order of the matched bugs, and its answers count by these numbers."""
    make.next_version(crossed.study, make.HANG_SPLIT)
    queue = make.worklist(crossed.study, 2, "item asked raters\n1 1:symptom,2:symptom carol")
    if state != Round.State.OPEN:
        make.submit(queue, "carol", 1, parts=[{"labels": {"symptom": [key]}} for key in ("hang-a", "crash")])
        Round.objects.filter(pk=queue.pk).update(state=state)
    with pytest.raises(Conflict, match="Round 2, a relabeling queue, asks about acme/rocket#1") as error:
        match(crossed, [2, 1])
    assert error.value.code == "being_relabeled" and not PartMatch.objects.exists()
    Round.objects.filter(pk=queue.pk).update(state=Round.State.UNDONE)
    assert match(crossed, [2, 1]) == [2, 1]
