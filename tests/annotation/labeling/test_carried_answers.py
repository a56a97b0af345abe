"""What a rater of a worklist begins with: the earlier answer as far as it follows, and why the rest is asked anew."""

import json
from typing import Any

import pytest
from django.test import Client

from accounts.models import User
from annotation.labeling.queries.earlier_answers import PrefilledAnswer, PreviousValue, prefilled_answer
from annotation.members.actions import members
from annotation.models import Plan, ProposalOutcome, Round, Study
from annotation.rounds.actions import rounds
from taxonomy.queries import published_version
from tests import builders as make
from tests.asserts import assert_queries

pytestmark = pytest.mark.django_db

SECOND = """
slug: faults
title: Faults
dimensions:
  - key: kind
    title: Kind of issue
    kind: single
    categories: [{key: fault, name: Fault}, {key: how-to, name: How-to question}]
  - key: symptom
    title: Symptom
    kind: single
    applies_when: {dimension: kind, is: [fault]}
    categories:
      - key: failure
        name: Failure
        selectable: false
        categories:
          - {key: crash, name: Abort, was: [crash]}
          - {key: early-hang, name: Early hang, was: [hang]}
          - {key: late-hang, name: Late hang, was: [hang]}
      - {key: slow, name: Slow, definition: Slower than it was in the release before.}
  - key: fixes
    title: Fix patterns
    kind: multi
    required: false
    applies_when: {dimension: kind, is: [fault]}
    categories: [{key: setup, name: Setup, was: [config, version]}, {key: code, name: Code}]
  - key: distributed
    title: Only distributed
    kind: boolean
    applies_when: {dimension: kind, is: [fault]}
  - key: stage
    title: Stage
    kind: single
    applies_when: {dimension: kind, is: [fault]}
    categories: [{key: training, name: Training}, {key: inference, name: Inference}]
"""
FAULT = {"kind": ["fault"], "symptom": ["hang"], "fixes": ["config", "code"], "distributed": True}


def build_study() -> Study:
    made = make.study(text=make.FAULTS)
    make.open_round(made)
    return made


def first_round(study: Study) -> Round:
    return study.rounds.get(number=1)


def answer(study: Study, number: int, **more: Any) -> None:
    """Both raters say the same of an issue in round 1."""
    for name in ("bob", "carol"):
        make.submit(first_round(study), name, number, **(more or {"labels": FAULT}))


def move_on(study: Study, table: str, text: str = SECOND) -> Round:
    """Closes what is open, publishes the next version, and opens a worklist under it."""
    owner = make.owner_seat(study)
    for round_ in study.rounds.filter(state=Round.State.OPEN):
        rounds.resolve_round(seat=owner, number=round_.number, withdraw=True)
    number = 2 if study.taxonomy.versions.count() > 1 else make.next_version(study, text).number
    return make.worklist(study, number, table)


def carried(worklist: Round, name: str, number: int) -> PrefilledAnswer:
    assignment = make.assignment(worklist, name, number)
    found = prefilled_answer(assignment, published_version(worklist.taxonomy_version_id))
    assert found is not None
    return found


def labels(found: PrefilledAnswer, part: int = 1) -> dict[str, Any]:
    assert found.draft is not None
    parts: Any = found.draft["parts"]
    return dict(parts[part - 1]["labels"])


def before(found: PrefilledAnswer, dimension: str) -> PreviousValue:
    (one,) = [each for each in found.before if each.dimension == dimension]
    return one


def test_what_follows_is_filled_in_and_what_was_split_is_left_blank(study: Study) -> None:
    answer(study, 1, labels=FAULT, memo="stuck at the barrier", confidence=2)
    found = carried(move_on(study, "item asked raters\n1 symptom,stage bob,carol"), "bob", 1)
    assert labels(found) == {"kind": ["fault"], "fixes": ["setup", "code"], "distributed": True}
    assert found.draft is not None
    assert found.draft["confidence"] == 2
    assert found.draft["parts"][0]["memo"] == "stuck at the barrier"  # type: ignore[index]


def test_each_place_says_what_was_said_under_which_version_and_why_it_is_asked(study: Study) -> None:
    answer(study, 1)
    found = carried(move_on(study, "item asked raters\n1 symptom,stage bob,carol"), "bob", 1)
    symptom, fixes, stage = (before(found, key) for key in ("symptom", "fixes", "stage"))
    assert symptom.words == "In version 1 you said Failure › Hang; it was split into Early hang and Late hang."
    assert (symptom.is_asked, symptom.reason, symptom.version, symptom.round) == (True, "split", 1, 1)
    assert [(each.key, each.name, each.path) for each in symptom.values] == [("hang", "Hang", "Failure › Hang")]
    assert not fixes.is_asked
    assert fixes.words == "In version 1 you said Configuration and Code; Configuration became part of Setup."
    assert (stage.reason, stage.words) == ("new", "This dimension is new in version 2.")
    assert len(found.before) == 3


def test_a_renamed_category_is_filled_in_and_told(study: Study) -> None:
    answer(study, 1, labels=FAULT | {"symptom": ["crash"]})
    found = carried(move_on(study, "item asked raters\n1 stage bob,carol"), "bob", 1)
    assert labels(found)["symptom"] == ["crash"]
    assert before(found, "symptom").words == "In version 1 you said Failure › Crash; it is now Abort."


def test_a_redefined_category_is_told_only_where_it_is_to_be_looked_at_again(study: Study) -> None:
    for number in (1, 2):
        answer(study, number, labels=FAULT | {"symptom": ["slow"]})
    worklist = move_on(study, "item asked raters\n1 symptom bob,carol\n2 stage bob,carol")
    asked, not_asked = carried(worklist, "bob", 1), carried(worklist, "bob", 2)
    assert labels(asked)["symptom"] == ["slow"]
    told = before(asked, "symptom")
    assert (told.reason, told.values[0].definition) == ("redefined", "Too slow.")
    assert [each.dimension for each in not_asked.before] == ["fixes", "stage"]


def test_what_was_retired_is_blank_and_told(study: Study) -> None:
    answer(study, 1, labels=FAULT | {"symptom": ["slow"]})
    text = SECOND.replace(
        "      - {key: slow, name: Slow, definition: Slower than it was in the release before.}\n", ""
    )
    found = carried(move_on(study, "item asked raters\n1 symptom bob,carol", text), "bob", 1)
    assert "symptom" not in labels(found)
    assert before(found, "symptom").words == "In version 1 you said Slow; it was retired."


def test_a_category_that_only_groups_others_now_is_left_blank(study: Study) -> None:
    answer(study, 1, labels=FAULT | {"symptom": ["slow"]})
    text = SECOND.replace(
        "name: Slow, definition: Slower than it was in the release before.",
        "name: Slow, selectable: false, categories: [{key: step, name: Slow step}]",
    )
    found = carried(move_on(study, "item asked raters\n1 symptom bob,carol", text), "bob", 1)
    assert "symptom" not in labels(found)
    assert before(found, "symptom").reason == "group"


def test_each_part_is_followed_by_itself_and_only_the_asked_one_is_marked(study: Study) -> None:
    parts = [{"labels": FAULT, "memo": "one"}, {"labels": FAULT | {"symptom": ["crash"]}, "memo": "two"}]
    answer(study, 1, parts=parts)
    found = carried(move_on(study, "item asked raters\n1 symptom bob,carol"), "bob", 1)
    assert ("symptom" in labels(found), labels(found, 2)["symptom"]) == (False, ["crash"])
    assert [(each.part, each.is_asked) for each in found.before if each.dimension == "symptom"] == [
        (1, True),
        (2, False),
    ]
    assert [part["memo"] for part in found.draft["parts"]] == ["one", "two"]  # type: ignore[index, union-attr]


def propose(study: Study) -> Any:
    """Bob proposes Deadlock for issue 1; his proposal."""
    asked = {"labels": {"kind": ["fault"], "distributed": False}, "proposals": {"symptom": {"name": "Deadlock"}}}
    answer(study, 1, **asked)
    return make.assignment(first_round(study), "bob", 1).current.proposals.get()  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("outcome", "given", "expected", "words"),
    [
        (
            {"outcome": "accepted", "version_number": 2, "category_key": "early-hang", "category_name": "Early hang"},
            ["early-hang"],
            {},
            "You proposed “Deadlock”; it was accepted as Early hang.",
        ),
        (
            {"outcome": "mapped", "version_number": 1, "category_key": "crash", "category_name": "Crash"},
            ["crash"],
            {},
            "You proposed “Deadlock”; it was mapped to Abort.",
        ),
        (
            {"outcome": "mapped", "version_number": 1, "category_key": "hang", "category_name": "Hang"},
            None,
            {},
            "You proposed “Deadlock”; it was mapped to Hang, which this version does not have.",
        ),
        (
            {"outcome": "declined", "reason": "It is a hang."},
            None,
            {},
            "You proposed “Deadlock”. It was declined: It is a hang.",
        ),
        (
            None,
            None,
            {"symptom": {"name": "Deadlock", "memo": ""}},
            "You proposed “Deadlock”. It was not answered yet.",
        ),
    ],
)
def test_a_proposal_comes_back_with_its_answer(
    study: Study, outcome: dict[str, Any] | None, given: list[str] | None, expected: dict[str, Any], words: str
) -> None:
    proposal = propose(study)
    if outcome:
        ProposalOutcome.objects.create(proposal=proposal, **outcome)
    found = carried(move_on(study, "item asked raters\n1 symptom bob,carol"), "bob", 1)
    told = before(found, "symptom")
    assert labels(found).get("symptom") == given
    assert found.draft["parts"][0]["proposals"] == expected  # type: ignore[index]
    assert (told.reason, told.words) == ("pending", words)


def test_a_skip_is_told_and_fills_nothing_in(study: Study) -> None:
    answer(study, 1, skip="not in English")
    found = carried(move_on(study, "item asked raters\n1 symptom bob,carol"), "bob", 1)
    assert found.draft is None
    assert before(found, "symptom").words == "In version 1 you skipped this item: not in English"


def test_the_answer_of_an_undone_worklist_under_the_same_version_comes_first(study: Study) -> None:
    answer(study, 1)
    undone = move_on(study, "item asked raters\n1 symptom,stage bob,carol")
    given = {"kind": ["fault"], "symptom": ["late-hang"], "fixes": [], "distributed": True, "stage": ["training"]}
    make.submit(undone, "bob", 1, given)
    Round.objects.filter(pk=undone.pk).update(state=Round.State.UNDONE)
    again = make.worklist(study, 2, "item asked raters\n1 symptom,stage bob,carol")
    found = carried(again, "bob", 1)
    assert labels(found) == given
    assert before(found, "symptom").words == (
        "In round 2, before its migration was undone, you said Failure › Late hang."
    )
    assert "symptom" not in labels(carried(again, "carol", 1))


def test_a_plan_run_again_marks_what_its_raters_gave_even_where_no_agreed_label_asks_for_it(study: Study) -> None:
    answer(study, 1)
    undone = move_on(study, "item asked raters\n1 kind bob,carol")
    first = before(carried(undone, "bob", 1), "symptom")
    given = {"kind": ["fault"], "symptom": ["late-hang"], "fixes": [], "distributed": True, "stage": ["training"]}
    make.submit(undone, "bob", 1, given)
    Round.objects.filter(pk=undone.pk).update(state=Round.State.UNDONE)
    found = carried(make.worklist(study, 2, "item asked raters\n1 kind bob,carol"), "bob", 1)
    told = before(found, "symptom")
    assert labels(found) == given and (told.reason, told.values) == ("split", first.values)
    assert told.words == f"{first.words} In round 2, before its migration was undone, you said Failure › Late hang."


def test_an_undone_worklist_under_another_version_counts_no_more(study: Study) -> None:
    answer(study, 1)
    undone = move_on(study, "item asked raters\n1 symptom,stage bob,carol")
    make.submit(
        undone, "bob", 1, {"kind": ["fault"], "symptom": ["late-hang"], "distributed": True, "stage": ["training"]}
    )
    Round.objects.filter(pk=undone.pk).update(state=Round.State.UNDONE)
    make.next_version(study, SECOND.replace("Early hang", "Hang at start"))
    found = carried(make.worklist(study, 3, "item asked raters\n1 symptom,stage bob,carol"), "bob", 1)
    assert before(found, "symptom").version == 1


def test_the_newest_round_that_is_over_is_taken(study: Study) -> None:
    answer(study, 1)
    first = move_on(study, "item asked raters\n1 symptom,stage bob,carol")
    given = {"kind": ["fault"], "symptom": ["late-hang"], "distributed": True, "stage": ["training"]}
    for name in ("bob", "carol"):
        make.submit(first, name, 1, given)
    found = carried(make.worklist(study, 2, "item asked raters\n1 stage bob,carol"), "bob", 1)
    assert labels(found)["symptom"] == ["late-hang"]
    assert before(found, "stage").words == "In version 2 you said Training. Relabel it."


def test_a_worklist_that_was_undone_shows_no_earlier_answers(study: Study) -> None:
    """Their parts may be matched since, and what others answered may be hidden from the rater by then."""
    answer(study, 1)
    worklist = move_on(study, "item asked raters\n1 symptom bob,carol")
    assert carried(worklist, "bob", 1).before
    Round.objects.filter(pk=worklist.pk).update(state=Round.State.UNDONE)
    tree = published_version(worklist.taxonomy_version_id)
    assert prefilled_answer(make.assignment(worklist, "bob", 1), tree) is None


def leave(study: Study, name: str) -> None:
    """The rater can't sign in any more."""
    User.objects.filter(username=name).update(is_active=False)


def stand_in(study: Study) -> None:
    members.add_member(seat=make.owner_seat(study), username=make.user("dora").username, roles=["rater"])


def test_a_stand_in_begins_with_what_the_absent_rater_said_without_their_memo(study: Study) -> None:
    make.submit(first_round(study), "bob", 1, FAULT, memo="mine", confidence=1)
    make.submit(first_round(study), "carol", 1, FAULT | {"symptom": ["crash"]})
    leave(study, "bob")
    stand_in(study)
    found = carried(move_on(study, "item asked raters\n1 symptom dora"), "dora", 1)
    told = before(found, "symptom")
    assert (told.rater, told.words) == (
        "R1",
        "In version 1 R1 said Failure › Hang; it was split into Early hang and Late hang.",
    )
    assert labels(found) == {"kind": ["fault"], "fixes": ["setup", "code"], "distributed": True}
    assert found.draft is not None
    assert (found.draft["parts"][0]["memo"], found.draft["confidence"]) == ("", None)  # type: ignore[index]


def test_a_stand_in_for_two_begins_with_what_both_said_alike(study: Study) -> None:
    make.submit(first_round(study), "bob", 1, FAULT)
    make.submit(first_round(study), "carol", 1, FAULT | {"distributed": False})
    leave(study, "bob")
    leave(study, "carol")
    stand_in(study)
    found = carried(move_on(study, "item asked raters\n1 symptom dora"), "dora", 1)
    assert labels(found) == {"kind": ["fault"], "fixes": ["setup", "code"]}
    assert [each.rater for each in found.before if each.dimension == "symptom"] == ["R1", "R2"]


def test_a_stand_in_who_answered_themselves_begins_with_their_own_and_sees_the_absent_raters(study: Study) -> None:
    make.submit(first_round(study), "bob", 1, FAULT)
    make.submit(first_round(study), "carol", 1, FAULT | {"symptom": ["crash"]})
    leave(study, "bob")
    worklist = move_on(study, "item asked raters\n1 symptom carol")
    plan = Plan.objects.create(
        study=study, number=1, from_version=first_round(study).taxonomy_version, to_version=worklist.taxonomy_version,
        worklist=worklist, stand_ins=[make.member(study, "carol").pk], created_by=study.created_by,
    )  # fmt: skip
    found = carried(worklist, "carol", 1)
    assert labels(found)["symptom"] == ["crash"]
    assert [each.rater for each in found.before if each.dimension == "symptom"] == ["", "R1"]
    Plan.objects.filter(pk=plan.pk).update(stand_ins=[])
    assert [each.rater for each in carried(worklist, "carol", 1).before if each.dimension == "symptom"] == [""]


@pytest.mark.parametrize("state", [Round.State.RESOLVING, Round.State.CLOSED])
def test_a_stand_in_sees_nothing_of_a_round_that_the_migration_did_not_move(study: Study, state: str) -> None:
    """A rater of a later round left, too: nobody stands in for them, and that round may still be resolved."""
    make.submit(first_round(study), "bob", 1, FAULT)
    make.submit(first_round(study), "carol", 1, FAULT | {"symptom": ["crash"]})
    stand_in(study)
    make.next_version(study, SECOND)
    Round.objects.filter(number=1).update(state=Round.State.CLOSED)
    second = make.open_round(study, 1, raters=("bob", "carol"))
    for name in ("bob", "carol"):
        make.submit(second, name, 1, {"kind": ["how-to"]})
        leave(study, name)
    Round.objects.filter(number=2).update(state=state)
    found = carried(make.worklist(study, 2, "item asked raters\n1 symptom dora"), "dora", 1)
    assert {each.round for each in found.before} == {1}
    assert {each.rater for each in found.before if each.dimension == "symptom"} == {"R1", "R2"}


def test_nobody_stands_in_for_a_rater_who_can_sign_in(study: Study) -> None:
    answer(study, 1)
    stand_in(study)
    found = carried(move_on(study, "item asked raters\n1 symptom dora"), "dora", 1)
    assert found == PrefilledAnswer(None, ())


def test_a_stand_in_sees_nothing_of_a_round_that_is_still_open(study: Study) -> None:
    answer(study, 1)
    leave(study, "bob")
    stand_in(study)
    make.next_version(study, SECOND)
    assert first_round(study).state == Round.State.OPEN
    worklist = make.worklist(study, 2, "item asked raters\n1 symptom dora")
    assert carried(worklist, "dora", 1) == PrefilledAnswer(None, ())


def test_ordinary_rounds_ask_nothing_and_worklists_a_fixed_number_of_queries(study: Study) -> None:
    proposal = propose(study)
    ProposalOutcome.objects.create(
        proposal=proposal, outcome="mapped", version_number=1, category_key="crash", category_name="Crash"
    )
    answer(study, 2)
    answer(study, 3, parts=[{"labels": FAULT}] * 5)
    ordinary = make.assignment(first_round(study), "bob", 2)
    worklist = move_on(study, "item asked raters\n1 symptom bob,carol\n2 symptom bob,carol\n3 symptom bob,carol")
    carried(worklist, "bob", 1)
    tree = published_version(worklist.taxonomy_version_id)
    rows = {number: make.assignment(worklist, "bob", number) for number in (1, 2, 3)}
    for row in (ordinary, *rows.values()):
        assert row.round and row.item
    with assert_queries(0):
        assert prefilled_answer(ordinary, tree) is None
    for number in (2, 3):
        with assert_queries(3):
            prefilled_answer(rows[number], tree)
    with assert_queries(8):
        prefilled_answer(rows[1], tree)


# Through the doors


def visitor(name: str) -> Client:
    client = Client()
    client.force_login(make.user(name))
    return client


def test_next_over_rest_begins_with_the_earlier_answer_and_what_is_typed_comes_before_it(study: Study) -> None:
    answer(study, 1)
    worklist = move_on(study, "item asked raters\n1 symptom,stage bob,carol")
    bob = visitor("bob")
    found = bob.get("/api/v1/studies/study/rounds/2/next/").json()
    assert found["draft"]["parts"][0]["labels"]["fixes"] == ["setup", "code"]
    assert [(each["dimension"], each["is_asked"]) for each in found["before"]] == [
        ("symptom", True),
        ("fixes", False),
        ("stage", True),
    ]
    typed = {"parts": [{"labels": {"kind": ["how-to"]}, "proposals": {}, "memo": ""}], "base": 0}
    pk = make.assignment(worklist, "bob", 1).public_id
    bob.post(f"/studies/study/rounds/2/label/{pk}/draft/", json.dumps(typed), content_type="application/json")
    found = bob.get("/api/v1/studies/study/rounds/2/next/").json()
    assert found["draft"] == typed
    assert len(found["before"]) == 3


def test_next_over_rest_in_an_ordinary_round_has_nothing_from_before(study: Study) -> None:
    found = visitor("bob").get("/api/v1/studies/study/rounds/1/next/").json()
    assert (found["draft"], found["before"]) == (None, [])


def test_the_page_of_a_worklist_carries_the_earlier_answer_for_its_script(study: Study) -> None:
    answer(study, 1)
    move_on(study, "item asked raters\n1 symptom,stage bob,carol")
    text = visitor("bob").get("/studies/study/rounds/2/label/").content.decode()
    start = text.index('<script id="turn" type="application/json">') + len('<script id="turn" type="application/json">')
    turn = json.loads(text[start : text.index("</script>", start)])
    assert turn["carried"]["parts"][0]["labels"]["fixes"] == ["setup", "code"]
    assert turn["before"][0]["words"].startswith("In version 1 you said Failure › Hang")
    assert turn["answer"] is None


def test_another_raters_answer_never_comes_along(study: Study) -> None:
    make.submit(first_round(study), "bob", 1, FAULT)
    make.submit(first_round(study), "carol", 1, FAULT | {"symptom": ["crash"], "distributed": False})
    worklist = move_on(study, "item asked raters\n1 symptom,stage bob,carol")
    assert labels(carried(worklist, "carol", 1))["symptom"] == ["crash"]
    assert "Hang" not in json.dumps(carried(worklist, "carol", 1).before_as_documents)


def test_a_rater_without_earlier_answers_begins_empty(study: Study) -> None:
    worklist = move_on(study, "item asked raters\n1 symptom bob,carol")
    assert carried(worklist, "bob", 1) == PrefilledAnswer(None, ())
