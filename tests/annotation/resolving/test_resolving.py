"""Deciding where raters differ: who may, when, what is refused, and that nothing is overwritten."""

import threading
from datetime import timedelta

import pytest
from django.db import DatabaseError, connection, transaction
from django.test import Client

from annotation.core.access import get_item, get_round
from annotation.core.errors import Blind, Forbidden, Invalid, NotFound, Stale, WrongState
from annotation.labels.queries.verdicts import round_verdicts
from annotation.members.actions import members
from annotation.models import AuditEvent, Resolution, Round, RoundItem, Study
from annotation.resolving.actions.resolutions import resolve
from annotation.resolving.queries import queue as queue_queries
from annotation.resolving.queries.queue import QueueFilter, queue_of
from annotation.rounds.actions import rounds
from tests import builders as make
from tests.asserts import assert_queries

pytestmark = pytest.mark.django_db

FAULT = {"kind": ["fault"], "symptom": ["crash"], "distributed": True}
HOW_TO = {"kind": ["how-to"]}


def decide(round_: Round, number: int, values, *, who: str = "ada", dimension: str = "symptom", **more):
    seat = make.seat(round_.study, who)
    return resolve(
        seat=seat,
        round_=get_round(seat, round_.number),
        item=get_item(seat, f"acme/rocket#{number}"),
        part=more.pop("part", 1),
        dimension=dimension,
        values=values,
        **more,
    )


def standing(round_: Round, number: int = 1) -> dict[str, tuple[str, object]]:
    seat = make.owner_seat(round_.study)
    item = get_item(seat, f"acme/rocket#{number}")
    (found,) = round_verdicts(get_round(seat, round_.number), items=[item.pk])
    return {each.dimension: (each.state, each.values) for each in found.verdicts}


@pytest.fixture
def disputed() -> Round:
    """Item 1 is disputed, 2 agreed, 3 skipped by one."""
    study = make.study()
    round_ = make.open_round(study)
    return make.rate(round_, "item bob carol\n1 crash hang\n2 slow slow\n3 crash -")


@pytest.mark.parametrize("values", [["crash"], ["slow"], "hang", []])
def test_a_decision_is_one_of_theirs_a_third_value_or_none(disputed, values) -> None:
    decide(disputed, 1, values)
    expected = tuple([values] if isinstance(values, str) else values) or None
    assert standing(disputed)["symptom"] == ("resolved", expected)


def test_a_decision_is_recorded_with_who_why_and_how(disputed) -> None:
    made = decide(disputed, 1, ["crash"], method="adjudicator", rationale="  the log says so  ")
    assert (made.method, made.rationale, made.decided_by.username) == ("adjudicator", "the log says so", "ada")
    assert AuditEvent.objects.filter(verb="resolved", detail__item="acme/rocket#1").exists()


def test_deciding_again_appends_a_revision_and_keeps_the_earlier_one(disputed) -> None:
    first = decide(disputed, 1, ["crash"])
    second = decide(disputed, 1, ["hang"], expected=first.public_id)
    assert list(Resolution.objects.order_by("revision").values_list("pk", flat=True)) == [first.pk, second.pk]
    assert standing(disputed)["symptom"] == ("resolved", ("hang",))


@pytest.mark.parametrize(
    "expected",
    [None, "0", "999999", "nonsense", pytest.param(Resolution.public_id_of(999_999), id="made up")],
)
def test_who_did_not_see_the_newest_decision_is_told_it_and_overwrites_nothing(disputed, expected) -> None:
    first = decide(disputed, 1, ["crash"], rationale="first")
    with pytest.raises(Stale) as told:
        decide(disputed, 1, ["hang"], who="olga", expected=expected)
    assert told.value.newer["id"] == first.public_id
    assert (told.value.newer["values"], told.value.newer["decided_by"]) == (["crash"], "ada")
    assert Resolution.objects.count() == 1


@pytest.mark.django_db(transaction=True)
def test_of_two_adjudicators_at_the_same_moment_one_decides_and_one_is_told(disputed) -> None:
    outcomes: list[str] = []

    def work(who: str, value: str) -> None:
        try:
            decide(disputed, 1, [value], who=who)
            outcomes.append("decided")
        except Stale:
            outcomes.append("told")
        finally:
            connection.close()

    threads = [threading.Thread(target=work, args=each) for each in (("ada", "crash"), ("olga", "hang"))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(outcomes) == ["decided", "told"]
    assert Resolution.objects.count() == 1


@pytest.mark.parametrize("who", ["bob", "rea"])
def test_raters_and_readers_decide_nothing(disputed, who) -> None:
    with pytest.raises(Forbidden):
        decide(disputed, 1, ["crash"], who=who)


def test_nothing_is_decided_while_the_round_is_open() -> None:
    round_ = make.open_round(make.study(), 2)
    make.rate(round_, "item bob carol\n1 crash hang")
    with pytest.raises(WrongState):
        decide(round_, 1, ["crash"])


def test_item_by_item_a_complete_item_is_decided_while_others_are_out() -> None:
    round_ = make.open_round(make.study(), 2)
    Study.objects.update(resolve_when="item")
    make.rate(round_, "item bob carol\n1 crash hang")
    decide(round_, 1, ["crash"])
    with pytest.raises(WrongState):
        decide(round_, 2, ["crash"])


def test_an_owner_who_rates_in_the_open_round_is_blind_there() -> None:
    study = make.study(raters=("bob",))
    members.add_member(seat=make.owner_seat(study), username="olga", roles=["owner", "rater"])
    round_ = make.open_round(study, 2, raters=("bob", "olga"))
    Study.objects.update(resolve_when="item")
    with pytest.raises(Blind):
        decide(round_, 1, ["crash"], who="olga")


@pytest.mark.parametrize(
    ("values", "more", "field"),
    [
        (["bang"], {}, "values"),
        (["crash", "hang"], {}, "values"),
        ([3], {}, "values"),
        (["crash"], {"dimension": "colour"}, "dimension"),
        (["crash"], {"method": "imported"}, "method"),
        (["crash"], {"method": "dice"}, "method"),
        (["crash"], {"part": 2}, "part"),
        (["crash"], {"rationale": "x" * 20_001}, "rationale"),
    ],
)
def test_what_cannot_be_decided_is_refused_with_its_field_and_nothing_is_stored(disputed, values, more, field) -> None:
    with pytest.raises(Invalid) as refused:
        decide(disputed, 1, values, **more)
    assert list(refused.value.fields) == [field]
    assert not Resolution.objects.exists()


def test_an_item_of_another_round_is_not_found(disputed) -> None:
    make.open_round(disputed.study, 1, first=9)
    with pytest.raises(NotFound):
        decide(disputed, 9, ["crash"])


def test_a_category_of_another_version_cannot_get_into_a_decision_even_in_the_database(disputed) -> None:
    other = make.version(make.FAULTS)
    foreign = other.dimensions.get(key="symptom").categories.get(key="crash")
    decided = decide(disputed, 1, ["crash"])
    with pytest.raises(DatabaseError), transaction.atomic():
        decided.decided.create(category=foreign)


def test_what_was_decided_cannot_be_edited_or_deleted_in_the_database(disputed) -> None:
    decide(disputed, 1, ["crash"])
    for statement in (
        "UPDATE annotation_resolution SET rationale = 'other'",
        "DELETE FROM annotation_resolutionvalue",
        "DELETE FROM annotation_resolution",
    ):
        with pytest.raises(DatabaseError, match="can't be changed or deleted"), transaction.atomic():
            connection.cursor().execute(statement)


def test_what_hangs_on_a_disputed_dimension_can_be_decided_only_after_it() -> None:
    round_ = make.open_round(make.study(text=make.FAULTS), 1)
    make.submit(round_, "bob", 1, FAULT)
    make.submit(round_, "carol", 1, HOW_TO)
    with pytest.raises(Invalid) as refused:
        decide(round_, 1, ["crash"])
    assert list(refused.value.fields) == ["dimension"]
    first = decide(round_, 1, ["fault"], dimension="kind")
    decide(round_, 1, ["crash"])
    assert standing(round_)["symptom"] == ("resolved", ("crash",))
    decide(round_, 1, ["how-to"], dimension="kind", expected=first.public_id)
    assert list(standing(round_)) == ["kind"]


def test_booleans_sets_and_unanimous_answers_are_decided_too() -> None:
    round_ = make.open_round(make.study(text=make.FAULTS), 1)
    make.submit(round_, "bob", 1, {**FAULT, "fixes": ["code"]})
    make.submit(round_, "carol", 1, {**FAULT, "distributed": False, "fixes": ["config", "code"]})
    decide(round_, 1, False, dimension="distributed")
    decide(round_, 1, ["version", "config"], dimension="fixes")
    decide(round_, 1, ["hang"], dimension="symptom", method="owner", who="olga")
    now = standing(round_)
    assert (now["distributed"], now["fixes"]) == (("resolved", (False,)), ("resolved", ("config", "version")))
    assert now["symptom"] == ("resolved", ("hang",))


def test_a_closed_round_takes_a_decision_again(disputed) -> None:
    first = decide(disputed, 1, ["crash"])
    decide(disputed, 3, ["crash"])
    rounds.close_round(seat=make.owner_seat(disputed.study), number=1)
    decide(disputed, 1, ["hang"], expected=first.public_id)
    assert standing(disputed)["symptom"] == ("resolved", ("hang",))


def test_an_item_of_one_rater_is_not_said_to_be_in_full_agreement() -> None:
    round_ = make.open_round(make.study(), 6, double_share=0.5)
    doubled = min(round_.assignments.filter(slot=2).values_list("item__identifier", flat=True))
    for name, item, slot in round_.assignments.values_list("rater__user__username", "item__identifier", "slot"):
        value = "hang" if (item, slot) == (doubled, 2) else "crash"
        make.submit(round_, name, int(item.partition("#")[2]), {"symptom": [value]})
    queue = queue_of(get_round(make.owner_seat(round_.study), 1))
    assert (queue.n_open, queue.n_unanimous, queue.n_single) == (1, 2, 3)
    client = Client()
    client.force_login(make.user("ada"))
    words = client.get("/studies/study/rounds/1/resolve/").content.decode()
    assert "2 items are agreed without a resolution; 3 were labeled by one rater" in words


def test_the_queue_counts_what_is_open_by_dimension_and_by_pair_and_what_needed_no_click() -> None:
    round_ = make.open_round(make.study(), 6)
    table = "item bob carol\n1 crash hang\n2 hang crash\n3 crash slow\n4 slow slow\n5 - -\n6 PENDING crash"
    queue = queue_of(make.rate(round_, table))
    assert (queue.n_open, queue.n_unanimous, queue.n_skipped) == (4, 1, 1)
    assert queue.by_dimension() == {"symptom": 4}
    pairs = queue.by_clash(QueueFilter())
    assert pairs.most_common(1) == [(("symptom", "crash~hang"), 2)]
    assert set(pairs) == {("symptom", "crash~hang"), ("symptom", "crash~slow"), ("symptom", "pending")}
    assert [line.identifier for line in queue.selected(QueueFilter("symptom", "crash~slow"))] == ["acme/rocket#3"]


def test_the_most_confused_pair_comes_first_and_stays_there_while_it_is_decided() -> None:
    round_ = make.open_round(make.study(), 5)
    table = "item bob carol\n1 crash slow\n2 crash hang\n3 PENDING crash\n4 hang crash\n5 crash -"
    round_ = make.rate(round_, table)
    order = [f"acme/rocket#{number}" for number in (2, 4, 1, 3, 5)]
    assert [line.identifier for line in queue_of(round_).lines] == order
    decide(round_, 2, ["crash"])
    queue = queue_of(round_)
    assert [line.identifier for line in queue.lines] == order
    steps = []
    item = queue.lines[0].item
    for _ in range(4):
        following = queue.next_open(item, QueueFilter())
        assert following is not None
        item = following.item
        steps.append(following.identifier)
    assert steps == order[1:]
    assert queue.next_open(item, QueueFilter()) == queue.lines[1]


def test_the_queue_follows_decisions_and_revisions_though_it_is_kept(disputed) -> None:
    assert queue_of(disputed).n_open == 2
    decide(disputed, 1, ["crash"])
    assert [(line.identifier, line.n_open) for line in queue_of(disputed).lines] == [
        ("acme/rocket#1", 0),
        ("acme/rocket#3", 1),
    ]
    make.submit(disputed, "carol", 3, {"symptom": ["crash"]})
    make.submit(disputed, "carol", 2, {"symptom": ["hang"]})
    assert {line.identifier: line.n_open for line in queue_of(disputed).lines} == {
        "acme/rocket#1": 0,
        "acme/rocket#2": 1,
    }


def test_a_queue_that_was_read_before_takes_two_queries_whatever_its_length(monkeypatch) -> None:
    study = make.study()
    round_ = make.open_round(study, 3)
    make.rate(round_, "item bob carol\n1 crash hang\n2 crash hang\n3 hang crash")
    round_ = make.rate(round_, "item bob carol")
    queue_of(round_)
    monkeypatch.setattr(queue_queries, "LONGEST_TRANSACTION", timedelta(0))
    with assert_queries(2):
        assert queue_of(round_).n_open == 3


def test_the_database_refuses_a_decision_on_a_dimension_of_another_version() -> None:
    study, other = make.study(), make.study("other", text=make.FAULTS)
    round_ = make.open_round(study, 1)
    foreign = other.taxonomy.versions.get().dimensions.get(key="symptom")
    item = RoundItem.objects.get(round=round_).item
    with pytest.raises(DatabaseError, match="version of its round"), transaction.atomic():
        Resolution.objects.create(round=round_, item=item, dimension=foreign, revision=1, method="discussion")
