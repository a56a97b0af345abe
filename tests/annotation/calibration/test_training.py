"""Calibration items: what is known of them, who gets them, what they tell, and that they count nowhere."""

import json
from dataclasses import replace
from typing import Any

import pytest
from django.test import Client

from annotation.calibration.actions import gold
from annotation.calibration.queries.training import training_items, training_results
from annotation.core.errors import Forbidden, Invalid, WrongState
from annotation.labeling.actions.next_item import take_next
from annotation.members.actions.members import add_member
from annotation.models import Assignment, Item, Round, RoundItem, Study
from annotation.resolving.queries.queue import queue_of
from annotation.rounds.actions import rounds
from annotation.rounds.actions.raters import withdraw_rater
from tests import builders as make
from tests.annotation.core.test_api import Caller

pytestmark = pytest.mark.django_db

CRASH = {"labels": {"symptom": ["crash"]}, "why": "It stops with a trace."}
HANG = {"labels": {"symptom": ["hang"]}, "why": ""}


def build_study() -> Study:
    made = make.study()
    make.issues(8)
    return made


def name(number: int) -> str:
    return f"acme/rocket#{number}"


def draft(study: Study, *numbers: int, known: Any = None, **more: Any) -> Round:
    more = {"kind": "pilot", "raters": ["bob", "carol"]} | more
    return rounds.create_round(
        seat=make.owner_seat(study), asked=rounds.NewRound(issues=[name(n) for n in numbers], known=known, **more)
    )


def opened(study: Study, *numbers: int, known: Any = None, **more: Any) -> Round:
    made = draft(study, *numbers, known=known, **more)
    return rounds.open_round(seat=make.owner_seat(study), number=made.number, unregistered=True)


def order(round_: Round, who: str) -> list[str]:
    rows = Assignment.objects.filter(round=round_, rater__user__username=who).order_by("position")
    return list(rows.values_list("item__identifier", flat=True))


@pytest.mark.parametrize("raters_per_item", [1, 2])
def test_every_rater_gets_every_training_item_first_and_the_others_as_planned(
    study: Study, raters_per_item: int
) -> None:
    known = {name(7): CRASH, name(8): HANG}
    round_ = opened(study, 1, 2, 3, 4, known=known, raters_per_item=raters_per_item)
    for who in ("bob", "carol"):
        assert order(round_, who)[:2] == [name(7), name(8)]
        assert len(order(round_, who)) == 2 + (4 if raters_per_item == 2 else 2)
    places = Assignment.objects.filter(round=round_, item__identifier=name(7)).values_list("slot", flat=True)
    assert sorted(places) == [1, 2]
    assert RoundItem.objects.get(round=round_, item__identifier=name(7)).n_raters == 2
    assert {row.n_assigned for row in round_.round_raters.all()} == {2 + 2 * raters_per_item}


def test_in_a_pool_too_every_rater_begins_with_the_training_items(study: Study) -> None:
    round_ = opened(study, 1, 2, known={name(8): CRASH}, raters_per_item=1, mode="pool")
    for who in ("bob", "carol"):
        given = take_next(seat=make.seat(study, who), round_=round_)
        assert given is not None and given.item.identifier == name(8)
        make.submit(round_, who, 8, {"symptom": ["crash"]})
    for who in ("bob", "carol"):
        following = take_next(seat=make.seat(study, who), round_=round_)
        assert following is not None and following.position == 2
        make.submit(round_, who, int(following.item.identifier[-1]), {"symptom": ["slow"]})
    round_.refresh_from_db()
    assert round_.state == Round.State.RESOLVING


def test_a_share_of_double_coded_items_is_a_share_of_those_that_count(study: Study) -> None:
    round_ = draft(study, 1, 2, 3, 4, 5, 6, double_share=0.5)
    gold.set_gold(seat=make.owner_seat(study), number=round_.number, known={name(1): CRASH, name(2): CRASH})
    rounds.open_round(seat=make.owner_seat(study), number=round_.number, unregistered=True)
    counting = RoundItem.objects.counting().filter(round=round_).values_list("n_raters", flat=True)
    assert sorted(counting) == [1, 1, 2, 2]


def test_known_answers_are_checked_as_answers_are_with_the_path_to_what_is_wrong(study: Study) -> None:
    known = {
        name(1): {"labels": {"symptom": ["crsh"]}},
        name(2): {"labels": {}},
        name(3): {"labels": {"symptom": ["crash"]}, "memo": "x"},
        name(4): ["crash"],
        name(5): {"parts": [{"labels": {}, "proposals": {"symptom": {"name": "New"}}}]},
    }
    with pytest.raises(Invalid) as refused:
        draft(study, 1, 2, 3, 4, 5, known=known)
    fields = refused.value.fields
    assert "Did you mean “crash”?" in fields[f"known.{name(1)}.symptom"][0]
    assert fields[f"known.{name(2)}.labels"] == ["Give the gold label of at least one dimension."]
    assert f"known.{name(3)}.memo" in fields
    assert f"known.{name(4)}" in fields
    assert fields[f"known.{name(5)}.proposals"] == ["A gold answer can't propose a category."]
    assert not Round.objects.exists()


def test_an_issue_that_is_not_stored_is_no_training_item(study: Study) -> None:
    with pytest.raises(Invalid) as refused:
        draft(study, 1, known={name(99): CRASH})
    assert "is not stored" in refused.value.fields["known"][0]


def test_agreed_labels_of_a_closed_round_become_what_is_known(study: Study) -> None:
    first = make.rate(
        make.open_round(study, 3),
        """
        item  bob    carol
        1     crash  crash
        2     hang   crash
        3     slow   slow
        """,
    )
    owner = make.owner_seat(study)
    rounds.close_round(seat=owner, number=first.number, leave_open=True)
    make.worklist(study, 1, "item asked raters\n1 symptom bob")  # what it holds makes no difference
    made = draft(study, 4, 5, training_round=first.number, n_training=2)
    known = dict(RoundItem.objects.filter(round=made).values_list("item__identifier", "known"))
    assert known == {
        name(1): {"parts": [{"labels": {"symptom": ["crash"]}}], "why": ""},
        name(3): {"parts": [{"labels": {"symptom": ["slow"]}}], "why": ""},
        name(4): None,
        name(5): None,
    }
    with pytest.raises(Invalid, match="not created") as refused:
        draft(study, 6, training_round=first.number, n_training=3)
    assert "Only 2 items" in refused.value.fields["n_training"][0]
    with pytest.raises(Invalid) as refused:
        draft(study, 6, training_round=made.number, n_training=1)
    assert "training_round" in refused.value.fields


def test_known_answers_are_given_and_removed_while_the_round_is_a_draft(study: Study) -> None:
    round_ = draft(study, 1, 2)
    owner = make.owner_seat(study)
    assert gold.set_gold(seat=owner, number=round_.number, known={name(2): CRASH}) == 1
    (listed,) = training_items(owner, round_)
    assert listed.labels == [(1, "Symptom", "Crash")]
    gold.remove_gold(seat=owner, number=round_.number, item=listed.item)
    assert training_items(owner, round_) == []
    for who in ("bob", "ada", "rea"):
        with pytest.raises(Forbidden):
            gold.set_gold(seat=make.seat(study, who), number=round_.number, known={name(2): CRASH})
    rounds.open_round(seat=owner, number=round_.number, unregistered=True)
    with pytest.raises(WrongState):
        gold.set_gold(seat=owner, number=round_.number, known={name(2): CRASH})


def test_the_first_answer_counts_for_the_result_and_raters_see_their_own_alone(study: Study) -> None:
    round_ = opened(study, 1, known={name(7): CRASH, name(8): HANG})
    make.submit(round_, "bob", 7, {"symptom": ["hang"]})
    make.submit(round_, "bob", 7, {"symptom": ["crash"]})
    make.submit(round_, "carol", 7, {"symptom": ["crash"]})
    make.submit(round_, "carol", 8, skip="not in English")
    everybody = training_results(make.owner_seat(study), round_)
    assert [(each.rater.code, each.n_right, each.n_items) for each in everybody] == [("R1", 0, 1), ("R2", 1, 2)]
    score = everybody[0].score("symptom")
    assert score is not None and [(each.known, each.given, each.n) for each in score.confusions] == [
        (("crash",), ("hang",), 1)
    ]
    assert everybody[0].n_revised == 1 and everybody[0].after is not None and everybody[0].after.n_right == 1
    skipped = everybody[1].score("symptom")
    assert skipped is not None and (skipped.n, skipped.n_answered, skipped.n_skipped) == (2, 1, 1)
    assert [each.rater.code for each in training_results(make.seat(study, "bob"), round_)] == ["R1"]
    assert training_results(make.seat(study, "ada"), round_) == []


def test_an_owner_who_rates_sees_neither_known_answers_nor_others_results_before_they_answered(study: Study) -> None:
    owner = make.owner_seat(study)
    add_member(seat=owner, username="olga", roles=["owner", "rater"])
    made = rounds.create_round(
        seat=make.owner_seat(study),
        asked=rounds.NewRound(raters=["olga", "bob"], issues=[name(1)], known={name(8): CRASH}, kind="pilot"),
    )
    seat = make.owner_seat(study)
    assert [each.labels for each in training_items(seat, made)] == [None]
    round_ = rounds.open_round(seat=seat, number=made.number, unregistered=True)
    make.submit(round_, "bob", 8, {"symptom": ["hang"]})
    seat = make.owner_seat(study)
    assert training_results(seat, round_) == []
    assert [each.labels for each in training_items(seat, round_)] == [None]
    make.submit(round_, "olga", 8, {"symptom": ["crash"]})
    assert [each.rater.user and each.rater.user.username for each in training_results(seat, round_)] == ["olga"]
    assert [each.labels for each in training_items(seat, round_)] == [[(1, "Symptom", "Crash")]]


def posted(round_: Round, who: str, number: int, body: dict[str, Any], key: str = "") -> Any:
    client = Client()
    client.force_login(make.user(who))
    pk = make.assignment(round_, who, number).public_id
    address = f"/studies/{round_.study.slug}/rounds/{round_.number}/label/{pk}/"
    headers = {"Idempotency-Key": key} if key else {}
    return client.post(address, json.dumps(body), content_type="application/json", headers=headers)


def test_the_answer_to_a_training_item_is_told_at_once_and_to_an_ordinary_one_nothing_is(study: Study) -> None:
    round_ = opened(study, 1, known={name(8): CRASH})
    text = posted(round_, "bob", 8, {"labels": {"symptom": ["hang"]}}, key="k").content.decode()
    assert 'id="feedback"' in text
    assert "your label differs" in text
    assert "It stops with a trace." in text
    again = posted(round_, "bob", 8, {"labels": {"symptom": ["hang"]}}, key="k").content.decode()
    assert "your label differs" in again
    assert 'id="feedback"' not in posted(round_, "bob", 1, {"labels": {"symptom": ["hang"]}}).content.decode()


def test_over_rest_the_answer_to_a_training_item_carries_the_feedback_and_next_never_tells(study: Study) -> None:
    round_ = opened(study, 1, known={name(8): CRASH})
    bob = Caller("bob", "rate")
    given = bob.get(f"studies/{study.slug}/rounds/{round_.number}/next/")
    assert given.json()["item"] == name(8)
    assert "It stops" not in given.content.decode()
    told = bob.post(
        f"studies/{study.slug}/annotations/?next=1",
        {"assignment": given.json()["assignment"], "labels": {"symptom": ["hang"]}},
    ).json()
    assert told["feedback"] == {
        "right": False,
        "dimensions": [
            {
                "part": 1,
                "dimension": "symptom",
                "given": ["hang"],
                "known": ["crash"],
                "right": False,
                "missing": None,
            }
        ],
        "why": "It stops with a trace.",
    }
    following = bob.post(
        f"studies/{study.slug}/annotations/",
        {"assignment": told["next"]["assignment"], "labels": {"symptom": ["hang"]}},
    )
    assert following.json()["feedback"] is None


def test_what_others_said_of_an_item_that_is_rated_elsewhere_is_known_to_nobody_who_rates_it(study: Study) -> None:
    owner = make.owner_seat(study)
    add_member(seat=owner, username="olga", roles=["owner", "rater"])
    for who in ("dave", "erin"):
        add_member(seat=owner, username=make.user(who).username, roles=["rater"])
    first = make.open_round(study, 3)
    again = make.open_round(study, 3, raters=("olga", "dave"))
    make.rate(first, "item bob carol\n1 crash crash\n2 hang crash\n3 slow slow")
    rounds.close_round(seat=make.owner_seat(study), number=first.number, leave_open=True)
    add_member(seat=make.owner_seat(study), username=make.user("ida").username, roles=["owner"])
    asked = rounds.NewRound(raters=["dave", "erin"], issues=[name(4)], kind="pilot", mode="pool")
    for who in ("ida", "olga"):  # which were agreed on would show, also where an owner makes the round who reads them
        of_round = replace(asked, training_round=first.number, n_training=1)
        with pytest.raises(Invalid) as refused:
            rounds.create_round(seat=make.seat(study, who), asked=of_round)
        assert refused.value.fields["n_training"][0].startswith("Only 0 items")
        assert refused.value.fields["n_training"][0].endswith("Items of open and resolving rounds are not taken.")
    of_hand = replace(asked, known={name(1): CRASH, name(3): CRASH})
    made = rounds.create_round(seat=make.seat(study, "ida"), asked=of_hand)
    made = rounds.open_round(seat=make.seat(study, "ida"), number=made.number, unregistered=True)
    olga = Caller("olga", "manage").get(f"studies/{study.slug}/rounds/{made.number}/training/").json()
    assert [each["known"] for each in olga["items"]] == [None, None]
    crash = {"labels": {"symptom": ["crash"]}}
    assert 'id="feedback"' not in posted(made, "dave", 1, crash).content.decode()
    assert 'id="feedback"' in posted(made, "erin", 1, crash).content.decode()
    own = Caller("dave", "rate").get(f"studies/{study.slug}/rounds/{made.number}/training/").json()
    assert own["results"] == []
    rounds.resolve_round(seat=make.seat(study, "ida"), number=again.number, withdraw=True)
    own = Caller("dave", "rate").get(f"studies/{study.slug}/rounds/{made.number}/training/").json()
    assert [each["n_items"] for each in own["results"]] == [1]


@pytest.mark.parametrize("has_it", ["withdrawn with an answer", "withdrawn without", "third rater"])
def test_no_feedback_tells_what_others_said_of_an_item_that_a_rater_can_still_answer(study: Study, has_it: str) -> None:
    """Who was withdrawn from an open round can revise an answer; a third rater has yet to give theirs."""
    owner = make.owner_seat(study)
    add_member(seat=owner, username=make.user("dave").username, roles=["rater"])
    other = make.open_round(study, 2, raters=("dave", "bob") if has_it == "third rater" else ("carol", "bob"))
    if has_it == "withdrawn with an answer":
        make.submit(other, "carol", 1, {"symptom": ["hang"]})
    made = opened(study, 4, known={name(1): CRASH}, raters=["carol"], raters_per_item=1)
    if has_it == "third rater":
        Round.objects.filter(pk=other.pk).update(state="resolving")
        item, rater = Item.objects.get(identifier=name(1)), make.member(study, "carol")
        asked = Assignment.objects.create(round=other, item=item, rater=rater, position=9)
    else:
        withdraw_rater(seat=owner, number=other.number, rater="carol")
    is_told = has_it == "withdrawn without"
    carol = Caller("carol", "rate")
    assert ('id="feedback"' in posted(made, "carol", 1, HANG).content.decode()) == is_told
    training = f"studies/{study.slug}/rounds/{made.number}/training/"
    assert bool(carol.get(training).json()["results"]) == is_told
    if has_it == "third rater":
        Assignment.objects.filter(pk=asked.pk).update(state="skipped")
        assert carol.get(training).json()["results"]


@pytest.mark.parametrize("label", ["crash", "hang"])
def test_whether_a_minimum_was_reached_tells_nothing_of_an_item_that_a_third_rater_has_yet_to_answer(
    study: Study, label: str
) -> None:
    add_member(seat=make.owner_seat(study), username=make.user("dave").username, roles=["rater"])
    other = make.open_round(study, 2, raters=("dave", "bob"))
    Round.objects.filter(pk=other.pk).update(state="resolving")
    item, rater = Item.objects.get(identifier=name(1)), make.member(study, "carol")
    asked = Assignment.objects.create(round=other, item=item, rater=rater, position=9)
    made = opened(study, 4, known={name(1): CRASH}, raters=["carol"], raters_per_item=1, gold_minimum={"share": 1.0})
    make.submit(made, "carol", 1, {"symptom": [label]})
    carol = Caller("carol", "rate")
    following = f"studies/{study.slug}/rounds/{made.number}/next/"
    answer = carol.get(following)
    assert (answer.status_code, answer.json()["code"]) == (409, "below_minimum")
    assert "as a third rater in another round. Label it there first" in answer.json()["message"]
    client = Client()
    client.force_login(make.user("carol"))
    for path in ("/", f"/studies/{study.slug}/", f"/studies/{study.slug}/rounds/{made.number}/"):
        assert "elow the minimum" not in client.get(path).content.decode()
    Assignment.objects.filter(pk=asked.pk).update(state="skipped")
    assert carol.get(following).status_code == (200 if label == "crash" else 409)


def test_a_round_with_known_answers_is_made_over_rest(study: Study) -> None:
    olga = Caller("olga")
    body = {"raters": ["bob", "carol"], "issues": [name(1), name(2)], "kind": "pilot"}
    made = olga.post(f"studies/{study.slug}/rounds/", {**body, "known": {name(2): CRASH, name(8): HANG}})
    assert made.status_code == 201, made.content
    assert made.json()["n_items"] == 3
    wrong = olga.post(f"studies/{study.slug}/rounds/", {**body, "known": {name(2): {"labels": {"symptom": ["x"]}}}})
    assert wrong.status_code == 422
    assert f"known.{name(2)}.symptom" in wrong.json()["fields"]
    for known in ([], "x", {name(2): None}):
        assert olga.post(f"studies/{study.slug}/rounds/", {**body, "known": known}).status_code == 422


def test_training_items_count_in_no_agreement_no_disagreement_and_no_agreed_label(study: Study) -> None:
    round_ = make.rate(
        opened(study, 1, 2, known={name(8): CRASH}),
        """
        item  bob    carol
        8     hang   crash
        1     crash  crash
        2     hang   hang
        """,
    )
    assert round_.state == Round.State.RESOLVING
    olga = Caller("olga")
    at = f"studies/{study.slug}/"
    assert olga.get(f"{at}disagreements/").json()["results"] == []
    assert {row["item"] for row in olga.get(f"{at}labels/").json()["results"]} == {name(1), name(2)}
    (entry,) = olga.get(f"{at}agreement/").json()
    assert (entry["units"], entry["left_out"]) == (2, 0)
    decision = {"item": name(8), "dimension": "symptom", "values": ["crash"], "round": round_.number}
    assert olga.post(f"{at}resolutions/", decision).status_code == 404
    assert queue_of(round_).n_unanimous == 2
    rated = {row["item"] for row in olga.get(f"{at}ratings/").json()["results"]}
    assert name(8) in rated
    rounds.close_round(seat=make.owner_seat(study), number=round_.number)


def test_a_training_item_of_a_later_round_leaves_its_agreed_label_as_it_was(study: Study) -> None:
    first = make.rate(make.open_round(study, 1), "item bob carol\n1 slow slow")
    rounds.close_round(seat=make.owner_seat(study), number=first.number)
    for who in ("dave", "erin"):
        add_member(seat=make.owner_seat(study), username=make.user(who).username, roles=["rater"])
    second = opened(study, 2, training_round=first.number, n_training=1, raters=["dave", "erin"])
    make.rate(second, "item dave erin\n1 hang hang\n2 crash crash")
    rounds.close_round(seat=make.owner_seat(study), number=second.number)
    rows = Caller("olga").get(f"studies/{study.slug}/labels/").json()["results"]
    assert {(row["item"], row["round"], *row["values"]) for row in rows} == {
        (name(1), first.number, "slow"),
        (name(2), second.number, "crash"),
    }


def test_an_item_that_is_no_training_item_any_more_has_as_many_raters_as_the_others(study: Study) -> None:
    owner = make.owner_seat(study)
    draft(study, 1, 2, known={name(7): CRASH}, raters_per_item=1)
    item = RoundItem.objects.get(item__identifier=name(7)).item
    gold.remove_gold(seat=owner, number=1, item=item)
    round_ = rounds.open_round(seat=owner, number=1, unregistered=True)
    assert set(RoundItem.objects.filter(round=round_).values_list("n_raters", flat=True)) == {1}
    assert Assignment.objects.filter(round=round_).count() == 3
