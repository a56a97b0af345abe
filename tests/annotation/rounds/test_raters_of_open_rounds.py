"""Giving out while a round is open: quotas, raters who leave, come and come back, machines."""

from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
from django.db.models import Sum

from annotation.assignments.queries import leaving, stuck
from annotation.core.access import get_round, get_seat
from annotation.core.errors import Conflict, Forbidden, Invalid, NotFound, WrongState
from annotation.labeling.actions import answers as answer_actions
from annotation.labeling.actions.answers import submit_annotation
from annotation.labeling.actions.next_item import take_next
from annotation.members.actions import members
from annotation.models import Assignment, AuditEvent, InboxLine, Membership, Round, RoundItem, RoundRater, Study
from annotation.overview.queries.waiting import waiting_for
from annotation.rounds.actions import raters as rater_actions
from annotation.rounds.actions import rounds
from annotation.rounds.queries import round_lines
from tests import builders as make
from tests.scripts import Script

pytestmark = pytest.mark.django_db
THREE = ("bob", "carol", "dan")
CRASH = {"labels": {"symptom": ["crash"]}}


def held(round_: Round, name: str) -> int:
    rows = Assignment.objects.filter(round=round_, rater__user__username=name, slot__isnull=False)
    return rows.exclude(state="withdrawn").count()


def n_free(round_: Round) -> int:
    return RoundItem.objects.filter(round=round_).aggregate(n=Sum("n_free"))["n"]


def row_of(round_: Round, name: str) -> RoundRater:
    return RoundRater.objects.get(round=round_, rater__user__username=name)


def answer_all(study: Study, name: str, number: int = 1, most: int = 1000) -> int:
    """Takes and submits until nothing is left for this rater; how many."""
    own = get_seat(make.user(name), study.slug)
    n = 0
    while n < most and (place := take_next(seat=own, round_=get_round(own, number))):
        submit_annotation(seat=own, assignment=place.public_id, body=CRASH)
        n += 1
    return n


def exactly_n(round_: Round) -> None:
    """No slot of an item is held twice or beyond N, nobody has an item twice, and nothing is lost: held + free = N."""
    places = list(RoundItem.objects.filter(round=round_))
    rows = Assignment.objects.filter(round=round_).exclude(state="withdrawn").exclude(slot=None)
    by_item = Counter(rows.values_list("item", flat=True))
    for place in places:
        assert by_item[place.item_id] + place.n_free == place.n_raters
    assert not rows.filter(slot__gt=100).exists()
    everything = list(Assignment.objects.filter(round=round_).values_list("item", "rater"))
    assert len(everything) == len(set(everything))


# Quotas


def test_a_planned_round_keeps_to_quotas_by_user_name_or_code() -> None:
    study = make.study(raters=THREE)
    round_ = make.open_round(study, 12, raters=THREE, raters_per_item=2, quotas={"bob": 3, "R2": None})
    assert [held(round_, name) for name in THREE] in ([3, 11, 10], [3, 10, 11])
    exactly_n(round_)


@pytest.mark.parametrize(
    ("quotas", "said"),
    [
        ({"bob": 1, "carol": 1}, "The quotas are 4 slots short of 6"),
        ({"mallory": 1}, "is not a rater of this round"),
        ({"bob": -1}, "enter a whole number from 0"),
        ({"bob": True}, "enter a whole number from 0"),
        ({"bob": "3"}, "enter a whole number from 0"),
        ([3, 3], "Send an object"),
    ],
)
def test_quotas_that_do_not_do_are_refused_and_no_round_is_made(quotas: Any, said: str) -> None:
    study = make.study()
    with pytest.raises(Invalid) as refused:
        make.open_round(study, 3, quotas=quotas)
    assert list(refused.value.fields) == ["quotas"] and said in refused.value.fields["quotas"][0]
    assert not Round.objects.exists()


def test_in_a_pool_a_rater_at_their_quota_gets_nothing_more_and_the_page_says_who_stands_in_the_way() -> None:
    study = make.study()
    round_ = make.open_round(study, 4, raters_per_item=1, mode="pool", quotas={"bob": 1, "carol": 2})
    assert answer_all(study, "bob") == 1
    assert stuck(round_) is None and not waiting_for(make.user("bob")) and waiting_for(make.user("carol"))
    assert answer_all(study, "carol") == 2
    found = stuck(get_round(make.owner_seat(study), 1))
    assert found is not None
    assert (found.n_slots, [each.code for each in found.at_quota]) == (1, ["R1", "R2"])
    assert Round.objects.get().state == "open"
    rater_actions.change_quota(seat=make.owner_seat(study), number=1, rater="R1", quota=2)
    assert stuck(round_) is None and waiting_for(make.user("bob"))
    assert answer_all(study, "bob") == 1
    assert Round.objects.get().state == "resolving"


def test_a_quota_is_never_set_below_what_was_taken_and_a_higher_one_takes_waiting_slots() -> None:
    study = make.study(raters=THREE)
    owner = make.owner_seat(study)
    round_ = make.open_round(study, 6, raters=THREE, raters_per_item=2, quotas={"bob": 4, "carol": 4, "dan": 4})
    with pytest.raises(Invalid, match="not changed") as refused:
        rater_actions.change_quota(seat=owner, number=1, rater="bob", quota=3)
    assert refused.value.fields == {"quota": ["R1 already has 4 items. Enter 4 or more."]}
    assert rater_actions.withdraw_rater(seat=owner, number=1, rater="R3").n_waiting == 4
    assert n_free(round_) == 4
    rater_actions.change_quota(seat=owner, number=1, rater="bob", quota=5)
    assert (held(round_, "bob"), n_free(round_)) == (5, 3)
    rater_actions.change_quota(seat=owner, number=1, rater="bob", quota=None)
    rater_actions.change_quota(seat=owner, number=1, rater="carol", quota=None)
    assert (held(round_, "bob"), held(round_, "carol"), n_free(round_)) == (6, 6, 0)
    exactly_n(round_)
    with pytest.raises(WrongState, match="R3 left round 1"):
        rater_actions.change_quota(seat=owner, number=1, rater="R3", quota=9)


def test_a_draft_with_quotas_too_small_is_not_opened() -> None:
    study = make.study()
    make.issues(2)
    made = rounds.create_round(
        seat=make.owner_seat(study),
        asked=rounds.NewRound(raters=["bob", "carol"], issues=["acme/rocket#1", "acme/rocket#2"]),
    )
    with pytest.raises(Invalid) as refused:
        rater_actions.change_quota(seat=make.owner_seat(study), number=1, rater="bob", quota=1)
    assert "1 slot short of 4" in refused.value.fields["quota"][0]
    RoundRater.objects.filter(round=made).update(quota=1)
    with pytest.raises(Conflict, match="2 slots short"):
        rounds.open_round(seat=make.owner_seat(study), number=1, unregistered=True)


# Leaving


def test_who_leaves_keeps_their_answers_and_the_rest_goes_to_those_who_never_had_it() -> None:
    study = make.study(raters=(*THREE, "eve"))
    round_ = make.open_round(study, 12, raters=(*THREE, "eve"), raters_per_item=2)
    assert answer_all(study, "bob", most=2) == 2
    told = leaving(round_, row_of(round_, "bob"))
    before = {name: held(round_, name) for name in THREE}
    found = rater_actions.withdraw_rater(seat=make.owner_seat(study), number=1, rater="R1")
    assert [(each.pk, to) for each, to in found.moves] == [(each.pk, to) for each, to in told.moves]
    assert found.sentence.startswith(f"{found.n} items go to R2 (") and found.n == before["bob"] - 2 == found.n_given
    assert held(round_, "bob") == 2 and row_of(round_, "bob").left_at
    assert row_of(round_, "bob").n_assigned == 2
    exactly_n(round_)
    given = dict(found.given)
    assert max(given.values()) - min(given.values()) <= 2
    for member, n in found.given:
        line = InboxLine.objects.get(member=member, kind="given")
        assert line.n_items == n
        own = list(Assignment.objects.filter(round=round_, rater=member).order_by("position"))
        assert [each.position for each in own] == list(range(1, len(own) + 1))
        assert {each.item_id for each in own[-n:]} <= {each.item_id for each, _ in found.moves}
    event = AuditEvent.objects.get(verb="rater withdrawn")
    assert (event.detail["withdrawn"], event.detail["waiting"]) == (found.n, 0)


def test_leaving_twice_changes_nothing_and_the_leaver_gets_no_next() -> None:
    study = make.study(raters=THREE)
    round_ = make.open_round(study, 6, raters=THREE, raters_per_item=2)
    bob, owner = make.seat(study, "bob"), make.owner_seat(study)
    place = take_next(seat=bob, round_=round_)
    assert place is not None
    answer_actions.keep_draft(seat=bob, assignment=place.public_id, body={"labels": {"symptom": ["cra"]}})
    rater_actions.withdraw_rater(seat=owner, number=1, rater="bob")
    rows = list(Assignment.objects.order_by("pk").values())
    assert rater_actions.withdraw_rater(seat=owner, number=1, rater="bob").n == 0
    assert rows == list(Assignment.objects.order_by("pk").values())
    with pytest.raises(Forbidden, match="You left round 1"):
        take_next(seat=bob, round_=get_round(bob, 1))
    with pytest.raises(WrongState, match="was withdrawn"):
        submit_annotation(seat=bob, assignment=place.public_id, body=CRASH)
    place.refresh_from_db()
    assert place.draft.body == {"labels": {"symptom": ["cra"]}}
    assert Script("bob").send("GET", "studies/study/rounds/1/next/").status_code == 403


def test_slots_that_find_nobody_keep_the_round_open_until_a_rater_comes_for_them() -> None:
    study = make.study(raters=THREE)
    owner = make.owner_seat(study)
    round_ = make.open_round(study, 3)
    found = rater_actions.withdraw_rater(seat=owner, number=1, rater="R1")
    assert (found.n_waiting, found.sentence) == (3, "3 items find nobody")
    assert answer_all(study, "carol") == 3
    (line,) = round_lines(study.rounds.all(), with_raters=True)
    assert (line.round.state, line.n_done, line.n_total, line.n_free) == ("open", 3, 6, 3)
    assert stuck(round_) is not None
    assert rater_actions.add_rater(seat=owner, number=1, user="dan", quota=2).n_given == 2
    assert n_free(round_) == 1 and InboxLine.objects.get(member__user__username="dan").n_items == 2
    assert not rater_actions.add_rater(seat=owner, number=1, user="R3").is_new
    assert answer_all(study, "dan") == 2 and Round.objects.get().state == "open"
    with pytest.raises(WrongState, match="1 assignment of round 1 is unfinished"):
        rounds.resolve_round(seat=owner, number=1)
    assert rounds.resolve_round(seat=owner, number=1, withdraw=True).state == "resolving"


def test_leases_of_who_leaves_a_pool_go_back_to_it() -> None:
    study = make.study(raters=THREE)
    round_ = make.open_round(study, 3, raters=THREE, raters_per_item=1, mode="pool")
    bob = make.seat(study, "bob")
    assert answer_all(study, "bob", most=1) == 1
    take_next(seat=bob, round_=round_)
    assert n_free(round_) == 1
    found = rater_actions.withdraw_rater(seat=make.owner_seat(study), number=1, rater="bob")
    assert (n_free(round_), found.sentence) == (2, "1 item goes back to the pool")
    with pytest.raises(Forbidden):
        take_next(seat=bob, round_=get_round(bob, 1))
    assert answer_all(study, "carol") == 2 and Round.objects.get().state == "resolving"


def test_a_worklist_that_only_the_leaver_held_up_is_done() -> None:
    study = make.study()
    make.rate(make.open_round(study, 2), "item bob carol\n1 crash crash\n2 crash crash")
    rounds.close_round(seat=make.owner_seat(study), number=1)
    round_ = make.worklist(study, 1, "item asked raters\n1 symptom bob,carol\n2 symptom bob,carol")
    assert answer_all(study, "carol", 2) == 2
    found = rater_actions.withdraw_rater(seat=make.owner_seat(study), number=2, rater="bob")
    assert found.sentence == "2 items of R1 are unassigned" and n_free(round_) == 0
    assert get_round(make.owner_seat(study), 2).state == "resolving"


def test_a_rater_who_left_with_an_answer_stays_blind_and_both_may_come_back() -> None:
    study = make.study(raters=THREE)
    owner = make.owner_seat(study)
    round_ = make.open_round(study, 6, raters=THREE, raters_per_item=2)
    assert answer_all(study, "bob", most=1) == 1
    n_bob = held(round_, "bob")
    for name in ("bob", "carol"):
        rater_actions.withdraw_rater(seat=owner, number=1, rater=name)
    assert make.seat(study, "bob").blind_round_ids == {round_.pk}
    assert make.seat(study, "carol").blind_round_ids == frozenset()
    back = rater_actions.add_rater(seat=owner, number=1, user="bob")
    assert back.is_new and back.n_given >= n_bob - 1 and row_of(round_, "bob").left_at is None
    assert rater_actions.add_rater(seat=owner, number=1, user="carol").is_new
    assert not RoundRater.objects.filter(unblinded=True).exists()
    exactly_n(round_)
    own = Assignment.objects.filter(round=round_, rater__user__username="bob")
    assert own.values("item").distinct().count() == own.count()
    assert answer_all(study, "bob") == back.n_given


def test_who_left_a_pool_without_an_answer_sees_it_and_who_answered_does_not() -> None:
    study = make.study(raters=THREE)
    round_ = make.open_round(study, 6, raters=THREE, raters_per_item=2, mode="pool")
    answer_all(study, "bob", most=1)
    for name in ("bob", "carol"):
        rater_actions.withdraw_rater(seat=make.owner_seat(study), number=1, rater=name)
    assert make.seat(study, "bob").blind_round_ids == {round_.pk}
    assert make.seat(study, "carol").blind_round_ids == frozenset()


def test_one_action_withdraws_from_all_open_rounds_of_the_study() -> None:
    study = make.study(raters=THREE)
    one, two = (
        make.open_round(study, 3, raters=THREE, raters_per_item=2),
        make.open_round(study, 3, raters=("bob", "dan"), first=4, raters_per_item=1, mode="pool"),
    )
    found = rater_actions.withdraw_from_study(seat=make.owner_seat(study), member=make.member(study, "bob"))
    assert [round_.pk for round_, _ in found] == [one.pk, two.pk]
    assert not RoundRater.objects.filter(rater__user__username="bob", left_at=None).exists()
    assert not rater_actions.withdraw_from_study(seat=make.owner_seat(study), member=make.member(study, "bob"))


def test_only_the_owner_and_only_while_the_round_is_open() -> None:
    study = make.study(raters=THREE)
    make.open_round(study, 3, raters=("bob", "carol"))
    actions: list[Callable[..., object]] = [
        lambda seat: rater_actions.withdraw_rater(seat=seat, number=1, rater="R1"),
        lambda seat: rater_actions.add_rater(seat=seat, number=1, user="dan"),
        lambda seat: rater_actions.change_quota(seat=seat, number=1, rater="R1", quota=9),
        lambda seat: rater_actions.withdraw_from_study(seat=seat, member=make.member(study, "bob")),
    ]
    for name in ("ada", "bob", "rea"):
        for act in actions:
            with pytest.raises(Forbidden):
                act(make.seat(study, name))
    rounds.resolve_round(seat=make.owner_seat(study), number=1, withdraw=True)
    for act in actions[:3]:
        with pytest.raises(WrongState):
            act(make.owner_seat(study))
    with pytest.raises(NotFound):
        rater_actions.withdraw_rater(seat=make.owner_seat(study), number=1, rater="R9")


def test_only_a_rater_of_the_study_can_be_added() -> None:
    study = make.study(raters=THREE)
    make.open_round(study, 2)
    for wrong in ("rea", "nobody", "", 7):
        with pytest.raises(Invalid) as refused:
            rater_actions.add_rater(seat=make.owner_seat(study), number=1, user=wrong)  # type: ignore[arg-type]
        assert list(refused.value.fields) == ["user"]


def test_raters_are_told_that_a_round_was_opened() -> None:
    study = make.study()
    make.open_round(study, 3)
    lines = InboxLine.objects.filter(kind="round").values_list("member__code", "n_items")
    assert sorted(lines) == [("R1", 3), ("R2", 3)]


# Machines


def with_machine() -> Study:
    study = make.study()
    members.add_member(
        seat=make.owner_seat(study), username=make.user("robot").username, roles=["rater"], kind="machine"
    )
    return study


@pytest.mark.parametrize("mode", ["planned", "pool"])
def test_a_machine_gets_every_item_without_a_slot_and_nobody_waits_for_it(mode: str) -> None:
    study = with_machine()
    round_ = make.open_round(study, 4, raters=("bob", "carol", "robot"), raters_per_item=2, mode=mode)
    own = Assignment.objects.filter(round=round_, rater__kind=Membership.Kind.MACHINE)
    assert (own.count(), own.filter(slot=None, state="waiting").count()) == (4, 4)
    exactly_n(round_)
    assert answer_all(study, "robot", most=1) == 1
    assert [answer_all(study, name) for name in ("bob", "carol")] == [4, 4]
    (line,) = round_lines(study.rounds.all())
    assert (line.round.state, line.n_done, line.n_total) == ("resolving", 8, 8)
    assert answer_all(study, "robot") == 3
    assert set(own.values_list("state", flat=True)) == {"submitted"} and not own.filter(blind=None).exists()
    exactly_n(round_)


def test_a_machine_does_not_count_among_the_raters_per_item() -> None:
    study = with_machine()
    with pytest.raises(Invalid) as refused:
        make.open_round(study, 2, raters=("bob", "robot"), raters_per_item=2)
    assert list(refused.value.fields) == ["raters_per_item"]
    with pytest.raises(Invalid) as refused:
        make.open_round(study, 2, raters=("bob", "robot"), raters_per_item=1, quotas={"robot": 2})
    assert list(refused.value.fields) == ["quotas"]


def test_a_machine_that_leaves_or_comes_moves_nobodys_items() -> None:
    study = with_machine()
    owner = make.owner_seat(study)
    round_ = make.open_round(study, 3)
    assert rater_actions.add_rater(seat=owner, number=1, user="robot").n_given == 3
    found = rater_actions.withdraw_rater(seat=owner, number=1, rater="robot")
    assert (found.n, found.n_given, found.n_waiting) == (3, 0, 0)
    assert n_free(round_) == 0
    exactly_n(round_)
