"""Whom a plan asks again and for what, in the corners: questions of another kind, conditions that reach further, and
what was settled before."""

import threading
from typing import Any

import pytest
from django.db import connections, transaction

from annotation.models import Item, Plan, Proposal, Round, Study
from annotation.plans.queries.preview import preview_of
from annotation.proposals.actions import settle_proposals
from annotation.proposals.queries import visible_proposals
from annotation.resolving.actions.resolutions import resolve
from annotation.rounds.actions.rounds import close_round
from tests import builders as make
from tests.annotation.plans.test_plans import asked, given_out, planned, ran, rated
from tests.annotation.plans.test_worklists import stands
from tests.asserts import wait_until_someone_waits_for_a_lock

pytestmark = pytest.mark.django_db

SPLIT = make.SYMPTOMS.replace(
    "{key: hang, name: Hang}", "{key: early, name: Early, was: [hang]}\n      - {key: late, name: Late, was: [hang]}"
)
REQUIRED_YES_OR_NO = make.SYMPTOMS + "  - {key: distributed, title: Only distributed, kind: boolean}\n"
OF_CATEGORIES = make.SYMPTOMS + (
    "  - {key: distributed, title: Only distributed, kind: single, categories: "
    "[{key: always, name: Always}, {key: never, name: Never}]}\n"
)
SEVERAL = make.SYMPTOMS.replace("kind: single", "kind: multi")


def both(round_: Round, number: int, labels: dict[str, Any], **more: Any) -> None:
    for name in ("bob", "carol"):
        make.submit(round_, name, number, labels, **more)


def settle(study: Study, proposal: Proposal, **answer: Any) -> None:
    settle_proposals(seat=make.owner_seat(study), proposals=[proposal.public_id], **answer)


def test_a_required_question_of_another_kind_is_asked_anew_of_all_whose_answer_can_not_follow() -> None:
    study = make.study(text=REQUIRED_YES_OR_NO)
    both(make.open_round(study, 1), 1, {"symptom": ["crash"], "distributed": True})
    make.next_version(study, OF_CATEGORIES)
    told = preview_of(planned(study)).as_document()
    assert told["dimensions"] == [
        {"dimension": "distributed", "title": "Only distributed", "kind": "required", "items": 1}
    ]
    assert told["labels"]["total"] == 4 and told["labels"]["dimension"] == 2
    plan = ran(study)
    assert given_out(plan) == {"1": ["bob", "carol"]} and asked(plan) == {"1": [[1, "distributed"]]}
    assert plan.worklist is not None
    both(plan.worklist, 1, {"symptom": ["crash"], "distributed": ["never"]})
    assert stands(plan.worklist)[1, 1, "distributed"] == ("agreed", ["never"])


def test_a_required_question_that_was_gone_for_a_version_is_asked_anew() -> None:
    study = make.study(text=OF_CATEGORIES)
    both(make.open_round(study, 1), 1, {"symptom": ["crash"], "distributed": ["always"]})
    make.next_version(study, make.SYMPTOMS)
    make.next_version(study, OF_CATEGORIES)
    plan = ran(study, 3)
    assert given_out(plan) == {"1": ["bob", "carol"]} and asked(plan) == {"1": [[1, "distributed"]]}
    assert plan.worklist is not None
    both(plan.worklist, 1, {"symptom": ["crash"], "distributed": ["never"]})
    assert stands(plan.worklist)[1, 1, "distributed"] == ("agreed", ["never"])


def test_who_was_asked_by_an_earlier_plan_is_not_asked_again_for_what_they_said_before_it() -> None:
    study = make.study()
    both(make.open_round(study, 1), 1, {"symptom": ["hang"]})
    make.next_version(study, SPLIT)
    first = ran(study)
    assert first.worklist is not None and given_out(first) == {"1": ["bob", "carol"]}
    both(first.worklist, 1, {"symptom": ["early"]})
    make.next_version(
        study, SPLIT.replace("[hang]", "[]").replace(", was: []", "") + "      - {key: slower, name: Slower}\n"
    )
    told = preview_of(planned(study, 3)).as_document()
    assert told["worklist"]["items"] == 0 and told["labels"]["following"] == told["labels"]["total"]


CONDITION = """
slug: symptoms
title: Symptoms
dimensions:
  - key: symptom
    title: Symptom
    kind: single
    categories:
      - key: failure
        name: Failure
        categories: [{key: crash, name: Crash}%s]
      - {key: other, name: Other%s}
  - key: cause
    title: Cause
    kind: single
    applies_when: {dimension: symptom, is: [failure]}
    categories: [{key: bug, name: Bug}, {key: user, name: User}]
"""


def test_a_question_is_asked_of_labels_that_move_below_the_category_it_hangs_on() -> None:
    study = make.study(text=CONDITION % ("", "}\n      - {key: hang, name: Hang"))
    round_ = make.open_round(study, 2)
    both(round_, 1, {"symptom": ["hang"]})
    both(round_, 2, {"symptom": ["crash"], "cause": ["bug"]})
    make.next_version(study, CONDITION % (", {key: hang, name: Hang}", ""))
    plan = ran(study)
    assert given_out(plan) == {"1": ["bob", "carol"]} and asked(plan) == {"1": [[1, "cause"]]}


def test_several_answers_where_one_is_taken_now_are_asked_anew() -> None:
    study = make.study(text=SEVERAL)
    round_ = make.open_round(study, 3)
    both(round_, 1, {"symptom": ["crash", "hang"]})
    both(round_, 2, {"symptom": ["crash"]})
    both(round_, 3, {"symptom": []})
    make.next_version(study, make.SYMPTOMS)
    told = preview_of(planned(study)).as_document()
    assert told["labels"] == {"total": 8, "following": 2, "kept": 2, "kind": 6}
    plan = ran(study)
    assert given_out(plan) == {"1": ["bob", "carol"], "3": ["bob", "carol"]}
    assert asked(plan) == {"1": [[1, "symptom"]], "3": [[1, "symptom"]]}


def test_several_answers_that_a_merge_makes_one_follow_into_a_question_that_takes_one() -> None:
    study = make.study(text=SEVERAL)
    both(make.open_round(study, 1), 1, {"symptom": ["crash", "hang"]})
    merged = make.SYMPTOMS.replace("      - {key: hang, name: Hang}\n", "").replace(
        "name: Crash}", "name: Crash, was: [crash, hang]}"
    )
    make.next_version(study, merged)
    assert ran(study).worklist is None


def test_a_decision_that_a_worklist_overtook_asks_nobody_again() -> None:
    study = make.study()
    round_ = rated(study, "item bob carol\n1 crash slow", 1)
    item = Item.objects.get(identifier="acme/rocket#1")
    resolve(seat=make.seat(study, "ada"), round_=round_, item=item, part=1, dimension="symptom", values=["hang"])
    close_round(seat=make.owner_seat(study), number=1)
    make.next_version(study, SPLIT)
    first = ran(study)
    assert first.worklist is not None and given_out(first) == {"1": ["bob", "carol"]}
    make.rate(first.worklist, "item bob carol\n1 early early")
    close_round(seat=make.owner_seat(study), number=2)
    make.next_version(study, SPLIT.replace("name: Crash", "name: Crashes"))
    assert preview_of(planned(study, 3)).as_document()["worklist"]["items"] == 0


def test_a_proposal_that_was_said_again_in_the_same_words_keeps_its_answer_in_a_plan() -> None:
    study = make.study()
    round_ = rated(study, "item bob carol\n1 PENDING crash", 1)
    proposal = visible_proposals(make.owner_seat(study)).get()
    settle(study, proposal, map_to="slow")
    again = {"symptom": {"name": "New", "memo": "none fits"}}
    make.submit(round_, "bob", 1, {}, proposals=again, memo="I looked again.")
    make.next_version(study, SPLIT)
    assert preview_of(planned(study)).as_document()["pending"] == {"mapped": 1}
    plan = ran(study)
    assert given_out(plan) == {"1": ["bob"]} and asked(plan) == {"1": [[1, "symptom"]]}


def test_what_was_mapped_to_a_later_version_does_not_come_back_yet() -> None:
    study = make.study()
    rated(study, "item bob carol\n1 PENDING crash", 1)
    make.next_version(study, SPLIT)
    make.next_version(study, SPLIT + "      - {key: leak, name: Leak}\n")
    settle(study, visible_proposals(make.owner_seat(study)).get(), map_to="leak")
    assert ran(study, 2).worklist is None


def test_a_proposal_for_a_question_that_is_gone_asks_nobody() -> None:
    study = make.study(text=OF_CATEGORIES)
    round_ = make.open_round(study, 1)
    proposals = {"distributed": {"name": "Sometimes", "memo": ""}}
    make.submit(round_, "bob", 1, {"symptom": ["crash"]}, proposals=proposals)
    make.submit(round_, "carol", 1, {"symptom": ["crash"], "distributed": ["never"]})
    settle(study, visible_proposals(make.owner_seat(study)).get(), decline="It is one of both.")
    make.next_version(study, make.SYMPTOMS)
    assert ran(study).worklist is None


def test_what_an_earlier_worklist_settled_is_not_asked_again_while_that_is_being_resolved() -> None:
    text = SPLIT + "  - {key: note, title: Note, kind: single, categories: [{key: a, name: A}, {key: b, name: B}]}\n"
    before = text.replace(SPLIT, make.SYMPTOMS)
    study = make.study(text=before)
    both(make.open_round(study, 1), 1, {"symptom": ["hang"], "note": ["a"]})
    close_round(seat=make.owner_seat(study), number=1)
    make.next_version(study, text)
    first = ran(study)
    assert first.worklist is not None and asked(first) == {"1": [[1, "symptom"]]}
    both(first.worklist, 1, {"symptom": ["early"], "note": ["a"]})
    first.worklist.refresh_from_db()
    assert first.worklist.state == "resolving"
    make.next_version(
        study, text.replace("{key: a, name: A}", "{key: c, name: C, was: [a]}, {key: d, name: D, was: [a]}")
    )
    second = ran(study, 3)
    assert asked(second) == {"1": [[1, "note"]]}
    assert second.worklist is not None
    both(second.worklist, 1, {"symptom": ["late"], "note": ["d"]})
    assert stands(second.worklist) == {(1, 1, "symptom"): ("agreed", ["early"]), (1, 1, "note"): ("agreed", ["d"])}


@pytest.mark.django_db(transaction=True)
def test_a_draft_that_is_discarded_while_a_plan_for_it_is_previewed_leaves_both_whole() -> None:
    study = make.study()
    rated(study, "item bob carol\n1 crash crash", 1)
    owner = study.created_by
    draft = make.taxonomy_actions.new_draft(user=owner, taxonomy=study.taxonomy, text=SPLIT)
    wrong: list[BaseException] = []

    def discard() -> None:
        try:
            make.taxonomy_actions.discard_draft(user=owner, version=draft)
        except BaseException as error:
            wrong.append(error)
        finally:
            connections.close_all()

    second = threading.Thread(target=discard)
    with transaction.atomic():
        planned(study)
        second.start()
        wait_until_someone_waits_for_a_lock()
    second.join(60)
    assert wrong == [] and not Plan.objects.exists() and not study.taxonomy.versions.filter(number=2).exists()
