"""Submitting, skipping, asking for the next: stored once, only by the right rater, only what fits the version."""

import threading
from datetime import timedelta

import pytest
from django.db import DatabaseError, connection, transaction
from django.utils import timezone

from annotation.core.access import get_round
from annotation.core.errors import Conflict, Invalid, NotFound, WrongState
from annotation.labeling.actions import answers as answer_actions
from annotation.labeling.actions.answers import submit_annotation
from annotation.labeling.actions.next_item import take_next
from annotation.models import Annotation, Assignment, Rating, Round
from annotation.rounds.actions import rounds
from tests import builders as make
from tests.asserts import assert_queries, wait_until_someone_waits_for_a_lock

pytestmark = pytest.mark.django_db


def test_opening_a_planned_round_gives_every_item_to_exactly_its_raters() -> None:
    study = make.study(raters=("bob", "carol", "dan"))
    round_ = make.open_round(study, 6, raters=("bob", "carol", "dan"), raters_per_item=2)
    per_item = list(Assignment.objects.filter(round=round_).values_list("item", "slot"))
    assert len(per_item) == len(set(per_item)) == 12
    assert sorted(slot for _, slot in per_item) == [1] * 6 + [2] * 6
    shares = {name: Assignment.objects.filter(rater__user__username=name).count() for name in ("bob", "carol", "dan")}
    assert set(shares.values()) == {4}


def test_next_gives_the_same_assignment_until_it_is_submitted() -> None:
    study = make.study()
    round_ = make.open_round(study)
    bob = make.seat(study, "bob")
    first = take_next(seat=bob, round_=round_)
    assert first is not None and take_next(seat=bob, round_=round_) == first
    submit_annotation(seat=bob, assignment=first.public_id, body={"labels": {"symptom": ["crash"]}})
    second = take_next(seat=bob, round_=round_)
    assert second is not None and second != first


def test_a_rater_who_asks_for_anothers_assignment_finds_nothing() -> None:
    study = make.study()
    round_ = make.open_round(study)
    carols = make.assignment(round_, "carol", 1)
    with pytest.raises(NotFound):
        submit_annotation(
            seat=make.seat(study, "bob"), assignment=carols.public_id, body={"labels": {"symptom": ["crash"]}}
        )
    assert not Annotation.objects.exists()


def test_the_same_submit_twice_is_stored_once_with_and_without_a_key() -> None:
    study = make.study()
    round_ = make.open_round(study)
    bob = make.seat(study, "bob")
    for key, number in (("k1", 1), ("", 2)):
        place = make.assignment(round_, "bob", number).public_id
        body = {"labels": {"symptom": ["crash"]}}
        one = submit_annotation(seat=bob, assignment=place, body=body, idempotency_key=key)
        two = submit_annotation(seat=bob, assignment=place, body=body, idempotency_key=key)
        assert (one.is_new, two.is_new) == (True, False) and one.annotation == two.annotation
    assert Annotation.objects.count() == 2


def test_a_key_used_for_another_request_is_a_conflict() -> None:
    study = make.study()
    round_ = make.open_round(study)
    bob = make.seat(study, "bob")
    place = make.assignment(round_, "bob", 1).public_id
    submit_annotation(seat=bob, assignment=place, body={"labels": {"symptom": ["crash"]}}, idempotency_key="k")
    for other, labels in ((place, ["hang"]), (make.assignment(round_, "bob", 2).public_id, ["crash"])):
        with pytest.raises(Conflict):
            submit_annotation(seat=bob, assignment=other, body={"labels": {"symptom": labels}}, idempotency_key="k")
    assert Annotation.objects.count() == 1


@pytest.mark.parametrize(
    ("labels", "field"),
    [
        ({}, "kind"),
        ({"kind": ["bug"]}, "kind"),
        ({"kind": ["how-to"], "symptom": ["crash"]}, "symptom"),
        ({"kind": ["fault"], "distributed": True}, "symptom"),
        ({"kind": ["fault"], "symptom": ["failure"], "distributed": True}, "symptom"),
        ({"kind": ["fault"], "symptom": ["crash", "hang"], "distributed": True}, "symptom"),
        ({"kind": ["fault"], "symptom": ["crash"], "distributed": "yes"}, "distributed"),
        ({"kind": ["fault"], "symptom": ["crash"], "distributed": True, "colour": ["red"]}, "colour"),
        ({"kind": 3}, "kind"),
    ],
)
def test_what_does_not_fit_the_version_is_refused_with_its_field_and_nothing_is_stored(labels, field) -> None:
    study = make.study(text=make.FAULTS)
    round_ = make.open_round(study)
    with pytest.raises(Invalid) as refused:
        make.submit(round_, "bob", 1, labels)
    assert list(refused.value.fields) == [field]
    assert not Annotation.objects.exists() and not Rating.objects.exists()


def test_an_empty_multi_dimension_is_the_empty_set_and_a_rating() -> None:
    study = make.study(text=make.FAULTS)
    round_ = make.open_round(study)
    make.submit(round_, "bob", 1, {"kind": ["fault"], "symptom": ["crash"], "distributed": False})
    empty = Rating.objects.get(dimension__key="fixes")
    assert empty.category is None
    make.submit(
        round_, "bob", 2, {"kind": ["fault"], "symptom": ["crash"], "distributed": False, "fixes": ["code", "config"]}
    )
    assert Rating.objects.filter(dimension__key="fixes", category__isnull=False).count() == 2


def test_a_further_submit_appends_a_revision_and_leaves_the_blind_one_once_the_round_is_over() -> None:
    study = make.study()
    round_ = make.open_round(study, 1)
    make.submit(round_, "bob", 1, {"symptom": ["crash"]})
    make.submit(round_, "bob", 1, {"symptom": ["hang"]})
    make.submit(round_, "carol", 1, {"symptom": ["slow"]})
    assert Round.objects.get(pk=round_.pk).state == Round.State.RESOLVING
    make.submit(round_, "bob", 1, {"symptom": ["slow"]})
    place = make.assignment(round_, "bob", 1)
    assert (place.blind.revision, place.current.revision) == (2, 3)
    rounds.close_round(seat=make.owner_seat(study), number=1)
    with pytest.raises(WrongState):
        make.submit(round_, "bob", 1, {"symptom": ["hang"]})


def test_the_last_submit_or_skip_moves_the_round_to_resolving() -> None:
    study = make.study()
    round_ = make.open_round(study, 2)
    make.rate(round_, "item bob carol\n1 crash crash")
    assert Round.objects.get(pk=round_.pk).state == Round.State.OPEN
    make.rate(round_, "item bob carol\n2 hang -")
    assert Round.objects.get(pk=round_.pk).state == Round.State.RESOLVING


def test_submit_and_next_take_the_same_queries_whatever_the_size_of_the_round() -> None:
    counts = []
    for slug, n_items in (("small", 3), ("large", 60)):
        study = make.study(slug, text=make.SYMPTOMS.replace("slug: symptoms", f"slug: {slug}"))
        round_ = make.open_round(study, n_items)
        bob = make.seat(study, "bob")
        first = take_next(seat=bob, round_=round_)
        with assert_queries(9):
            submit_annotation(seat=bob, assignment=first.public_id, body={"labels": {"symptom": ["crash"]}})
            take_next(seat=bob, round_=round_)
        counts.append(n_items)
    assert counts == [3, 60]


def test_what_a_rater_said_cannot_be_edited_or_deleted_in_the_database() -> None:
    study = make.study()
    round_ = make.open_round(study)
    place = make.assignment(round_, "bob", 1)
    body = {"proposals": {"symptom": {"name": "Slow start", "memo": ""}}}
    submit_annotation(seat=make.seat(study, "bob"), assignment=place.public_id, body=body)
    for statement in (
        "UPDATE annotation_annotation SET memo = 'other'",
        "DELETE FROM annotation_rating",
        "UPDATE annotation_rating SET part = 2",
        "UPDATE annotation_proposal SET name = 'other'",
    ):
        with pytest.raises(DatabaseError, match="can't be changed or deleted"), transaction.atomic():
            connection.cursor().execute(statement)


def test_the_database_refuses_a_rating_outside_its_version_dimension_or_assignment() -> None:
    study, other = make.study(), make.study("other", text=make.FAULTS)
    round_ = make.open_round(study)
    make.submit(round_, "bob", 1, {"symptom": ["crash"]})
    good = Rating.objects.get()
    foreign = other.taxonomy.versions.get().dimensions.get(key="symptom")
    for wrong in (
        {"dimension": foreign, "category": foreign.categories.get(key="crash")},
        {"part": 2},
        {"rater": make.member(study, "carol")},
        {"category": None},
        {"category": good.dimension.categories.get(key="hang")},
    ):
        row = {name: getattr(good, name) for name in ("annotation", "round", "item", "rater", "dimension", "category")}
        with pytest.raises(DatabaseError), transaction.atomic():
            Rating.objects.create(**{**row, **wrong})


def test_the_database_refuses_an_assignment_that_points_to_anothers_answer() -> None:
    study = make.study()
    round_ = make.open_round(study)
    make.submit(round_, "bob", 1, {"symptom": ["crash"]})
    make.submit(round_, "carol", 1, {"symptom": ["hang"]})
    carols = make.assignment(round_, "carol", 1)
    for name in ("blind", "current"):
        with pytest.raises(DatabaseError, match="its own annotations"), transaction.atomic():
            Assignment.objects.filter(pk=carols.pk).update(**{name: make.assignment(round_, "bob", 1).current})


@pytest.mark.django_db(transaction=True)
def test_a_pool_gives_each_item_to_exactly_two_of_four_raters_who_work_at_once() -> None:
    names = ("bob", "carol", "dan", "eve")
    study = make.study(raters=names)
    round_ = make.open_round(study, 12, raters=names, raters_per_item=2, mode="pool")
    wrong: list[BaseException] = []

    def work(name: str) -> None:
        try:
            own = make.seat(study, name)
            while place := take_next(seat=own, round_=get_round(own, 1)):
                submit_annotation(seat=own, assignment=place.public_id, body={"labels": {"symptom": ["crash"]}})
        except BaseException as error:
            wrong.append(error)
        finally:
            connection.close()

    threads = [threading.Thread(target=work, args=(name,)) for name in names]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    done = list(Assignment.objects.filter(state="submitted").values_list("item", "rater"))
    assert len(done) == len(set(done)) == 24
    assert Round.objects.get(pk=round_.pk).state == Round.State.RESOLVING


@pytest.mark.django_db(transaction=True)
def test_an_item_taken_from_a_pool_while_the_owner_ends_it_is_withdrawn_with_the_others() -> None:
    study = make.study()
    make.open_round(study, 3, mode="pool")
    bob, owner = make.seat(study, "bob"), make.owner_seat(study)

    def end() -> None:
        try:
            rounds.resolve_round(seat=owner, number=1, withdraw=True)
        finally:
            connection.close()

    ending = threading.Thread(target=end)
    with transaction.atomic():
        taken = take_next(seat=bob, round_=get_round(bob, 1))
        ending.start()
        wait_until_someone_waits_for_a_lock()
    ending.join()
    taken.refresh_from_db()
    assert (taken.state, Round.objects.get().state) == (Assignment.State.WITHDRAWN, Round.State.RESOLVING)


def test_an_item_is_leased_for_two_hours_from_the_last_time_it_was_asked_for() -> None:
    study = make.study()
    round_ = make.open_round(study, 1, raters_per_item=1, mode="pool")
    held = take_next(seat=make.seat(study, "bob"), round_=round_)

    def remaining() -> float:
        held.refresh_from_db()
        return (held.lease_until - timezone.now()) / timedelta(hours=1)

    assert remaining() == pytest.approx(2, abs=1 / 60)
    Assignment.objects.filter(pk=held.pk).update(lease_until=timezone.now() + timedelta(minutes=5))
    assert take_next(seat=make.seat(study, "bob"), round_=round_) == held
    assert remaining() == pytest.approx(2, abs=1 / 60)


def test_a_lease_that_ran_out_goes_to_another_rater() -> None:
    study = make.study()
    round_ = make.open_round(study, 1, raters_per_item=1, mode="pool")
    held = take_next(seat=make.seat(study, "bob"), round_=round_)
    assert take_next(seat=make.seat(study, "carol"), round_=round_) is None
    Assignment.objects.filter(pk=held.pk).update(lease_until="2020-01-01T00:00Z")
    assert take_next(seat=make.seat(study, "carol"), round_=round_).item == held.item
    with pytest.raises(WrongState):
        submit_annotation(
            seat=make.seat(study, "bob"), assignment=held.public_id, body={"labels": {"symptom": ["crash"]}}
        )


def test_a_draft_is_kept_and_thrown_away_by_the_submit() -> None:
    study = make.study()
    round_ = make.open_round(study)
    place = make.assignment(round_, "bob", 1)
    answer_actions.keep_draft(
        seat=make.seat(study, "bob"), assignment=place.public_id, body={"labels": {"symptom": ["cra"]}}
    )
    assert make.assignment(round_, "bob", 1).draft.body == {"labels": {"symptom": ["cra"]}}
    make.submit(round_, "bob", 1, {"symptom": ["crash"]})
    assert not answer_actions.Draft.objects.exists()


def test_a_rater_whose_lease_ran_out_can_take_the_item_again_when_nobody_else_did() -> None:
    study = make.study()
    round_ = make.open_round(study, 2, raters_per_item=1, mode="pool")
    bob = make.seat(study, "bob")
    held = take_next(seat=bob, round_=round_)
    Assignment.objects.filter(pk=held.pk).update(lease_until="2020-01-01T00:00Z")
    taken = take_next(seat=make.seat(study, "carol"), round_=round_)
    assert taken.item == held.item
    other = take_next(seat=bob, round_=round_)
    assert other.item != held.item
    Assignment.objects.filter(pk=taken.pk).update(lease_until="2020-01-01T00:00Z")
    submit_annotation(seat=bob, assignment=other.public_id, body={"labels": {"symptom": ["crash"]}})
    again = take_next(seat=bob, round_=round_)
    assert (again.pk, again.state) == (held.pk, "leased")


def test_a_draft_that_a_study_file_could_not_bring_is_rejected() -> None:
    study = make.study()
    place, seat = make.assignment(make.open_round(study), "bob", 1).public_id, make.seat(study, "bob")
    for body in ({"memo": 5}, {"parts": [1]}, {"labels": []}):
        with pytest.raises(Invalid, match="draft was not saved"):
            answer_actions.keep_draft(seat=seat, assignment=place, body=body)
    assert not answer_actions.Draft.objects.exists()


def test_a_draft_has_at_most_200_000_characters() -> None:
    study = make.study()
    place, seat = make.assignment(make.open_round(study), "bob", 1).public_id, make.seat(study, "bob")
    room = 200_000 - len(str({"memo": ""}))
    answer_actions.keep_draft(seat=seat, assignment=place, body={"memo": "x" * room})
    with pytest.raises(Invalid, match="too long"):
        answer_actions.keep_draft(seat=seat, assignment=place, body={"memo": "x" * (room + 1)})
