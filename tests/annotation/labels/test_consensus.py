"""Where raters agree and where they differ: tables of cases, without a database."""

from dataclasses import replace

import pytest

from annotation.labels.consensus import PENDING, ConsensusQuestion, Decision, RaterAnswer, Verdict, verdicts

KIND = ConsensusQuestion("kind")
SYMPTOM = ConsensusQuestion("symptom", hangs_on="kind")
CAUSE = ConsensusQuestion("cause", hangs_on="symptom")
FIXES = ConsensusQuestion("fixes", required=False, multi=True)
NOTE = ConsensusQuestion("note", required=False)
SKIP = "skip"


def applies(key, values):
    """Symptoms are asked of faults, causes of crashes."""
    if key == "symptom":
        return "fault" in values.get("kind", ())
    return "crash" in values.get("symptom", ()) if key == "cause" else True


def answers(*given):
    """R1, R2 … : one mapping, a list of mappings for several parts, or a skip."""
    return [
        RaterAnswer(f"R{place}", skip_reason="unclear")
        if each == SKIP
        else RaterAnswer(f"R{place}", parts=each if isinstance(each, list) else [each])
        for place, each in enumerate(given, start=1)
    ]


def judged(questions, *given, n_raters=None, decisions=None):
    decided = {place: Decision(1, values, "discussion") for place, values in (decisions or {}).items()}
    return verdicts(questions, applies, answers(*given), decided, n_raters or len(given))


def in_short(found: list[Verdict]):
    return [(each.part, each.dimension, each.state, each.reason or each.method, each.values) for each in found]


CRASH, HANG, NEW = {"kind": ("crash",)}, {"kind": ("hang",)}, {"kind": (PENDING,)}


@pytest.mark.parametrize(
    ("given", "n_raters", "state", "why", "values"),
    [
        ((CRASH, CRASH), 2, "agreed", "unanimous", ("crash",)),
        ((CRASH,), 1, "agreed", "single", ("crash",)),
        ((CRASH, HANG), 2, "open", "differ", None),
        ((CRASH, HANG, CRASH), 3, "open", "differ", None),
        ((CRASH, SKIP), 2, "open", "skipped", None),
        ((CRASH, CRASH, SKIP), 3, "agreed", "unanimous", ("crash",)),
        ((CRASH, HANG, SKIP), 3, "open", "differ", None),
        ((CRASH, SKIP, SKIP), 3, "open", "skipped", None),
        ((CRASH, NEW), 2, "open", "pending", None),
        ((NEW, NEW), 2, "open", "pending", None),
        ((NEW,), 1, "open", "pending", None),
        ((CRASH, {}), 2, "open", "one_sided", None),
        ((CRASH,), 2, "open", "one_sided", None),
    ],
)
def test_how_one_required_dimension_stands(given, n_raters, state, why, values) -> None:
    assert in_short(judged([KIND], *given, n_raters=n_raters)) == [(1, "kind", state, why, values)]


FAULT, QUESTION = {"kind": ("fault",), "symptom": ("hang",)}, {"kind": ("how-to",)}


@pytest.mark.parametrize(
    ("given", "thirds", "n_raters", "decided_by", "wanted"),
    [
        ((FAULT, FAULT), 0, 2, None, "unanimous"),
        ((FAULT,), 0, 1, None, "single"),
        ((FAULT, FAULT, SKIP), 0, 3, None, "unanimous"),
        ((FAULT, QUESTION, FAULT), 1, 2, "third_rater", "third_rater"),
        ((FAULT, SKIP, FAULT), 1, 2, None, "third_rater"),
        ((FAULT, FAULT, FAULT), 1, 2, None, "unanimous"),
        ((SKIP, FAULT), 1, 1, None, "third_rater"),
        ((FAULT, FAULT, QUESTION), 0, 3, "majority", "majority"),
        ((FAULT, FAULT, QUESTION), 0, 3, "adjudicator", "adjudicator"),
        ((FAULT, FAULT), 0, 2, "adjudicator", "unanimous"),
    ],
)
def test_unanimous_and_single_are_of_the_planned_raters_alone(given, thirds, n_raters, decided_by, wanted) -> None:
    said = answers(*given)
    said = [*said[: len(said) - thirds], *(replace(each, is_third=True) for each in said[len(said) - thirds :])]
    decisions = {(1, "kind"): Decision(1, ("fault",), decided_by)} if decided_by else {}
    found = verdicts([KIND, SYMPTOM], applies, said, decisions, n_raters)
    assert [each.method for each in found if each.dimension == "symptom"] == [wanted]


@pytest.mark.parametrize(
    ("blind", "wanted"),
    [
        ([QUESTION], "not_blind"),
        ([{**FAULT, "symptom": ("slow",)}], "not_blind"),
        ([{**FAULT, "note": ("x",)}], "unanimous"),
        ([], "not_blind"),
    ],
)
def test_what_was_changed_when_others_answers_could_be_read_is_not_unanimous(blind, wanted) -> None:
    one, other = answers(FAULT, FAULT)
    found = verdicts([KIND, SYMPTOM], applies, [one, replace(other, blind=blind)], {}, 2)
    assert [each.method for each in found if each.dimension == "symptom"] == [wanted]


@pytest.mark.parametrize(("given", "wanted"), [((FAULT,), "relabel_single"), ((FAULT, FAULT), "relabel")])
def test_labels_of_relabeling_answers_say_so(given, wanted) -> None:
    found = verdicts([KIND, SYMPTOM], applies, answers(*given), {}, len(given), is_relabel=True)
    assert {each.method for each in found} == {wanted}


def test_a_question_that_all_raters_of_a_sheet_left_blank_is_no_disagreement() -> None:
    assert judged([KIND], {}, {}, n_raters=2) == []


@pytest.mark.parametrize("given", [(SKIP, SKIP), (SKIP,), ()])
def test_an_item_that_nobody_answered_has_no_verdict(given) -> None:
    assert judged([KIND, FIXES], *given, n_raters=2) == []


@pytest.mark.parametrize(
    ("one", "other", "state", "values"),
    [
        (("a", "b"), ("b", "a"), "agreed", ("a", "b")),
        ((), (), "agreed", ()),
        ((), ("a",), "open", None),
        (("a",), ("a", "b"), "open", None),
    ],
)
def test_sets_are_compared_as_sets_and_two_empty_ones_agree(one, other, state, values) -> None:
    (verdict,) = judged([FIXES], {"fixes": one}, {"fixes": other})
    assert (verdict.state, verdict.values) == (state, values)


def test_an_optional_dimension_left_blank_by_all_has_no_verdict_and_by_one_is_one_sided() -> None:
    assert judged([NOTE], {}, {}) == []
    assert in_short(judged([NOTE], {"note": ("x",)}, {})) == [(1, "note", "open", "one_sided", None)]


def test_a_part_that_only_one_rater_found_is_a_disagreement_about_parts() -> None:
    found = judged([KIND, NOTE], [CRASH, HANG], CRASH)
    assert in_short(found) == [
        (1, "kind", "agreed", "unanimous", ("crash",)),
        (2, "kind", "open", "parts", None),
    ]


def test_a_part_decided_away_leaves_no_values_and_nothing_that_hangs_on_it() -> None:
    fault = {"kind": ("fault",), "symptom": ("crash",)}
    found = judged([KIND, SYMPTOM], [fault, fault], fault, decisions={(2, "kind"): ()})
    assert [row for row in in_short(found) if row[0] == 2] == [(2, "kind", "resolved", "parts", None)]


FAULT_CRASH = {"kind": ("fault",), "symptom": ("crash",), "cause": ("oom",)}
HOW_TO = {"kind": ("how-to",)}


def test_what_hangs_on_an_open_dimension_appears_once_that_is_decided() -> None:
    tree = [KIND, SYMPTOM, CAUSE]
    assert [each.dimension for each in judged(tree, FAULT_CRASH, HOW_TO)] == ["kind"]
    found = judged(tree, FAULT_CRASH, HOW_TO, decisions={(1, "kind"): ("fault",)})
    assert in_short(found) == [
        (1, "kind", "resolved", "differ", ("fault",)),
        (1, "symptom", "open", "one_sided", None),
    ]
    found = judged(tree, FAULT_CRASH, HOW_TO, decisions={(1, "kind"): ("fault",), (1, "symptom"): ("crash",)})
    assert [each.dimension for each in found] == ["kind", "symptom", "cause"]


def test_labels_that_do_not_apply_any_more_vanish_decided_ones_too() -> None:
    decisions = {(1, "kind"): ("how-to",), (1, "symptom"): ("crash",)}
    found = judged([KIND, SYMPTOM, CAUSE], FAULT_CRASH, FAULT_CRASH, decisions=decisions)
    assert in_short(found) == [(1, "kind", "resolved", "discussion", ("how-to",))]


def test_a_decision_stands_over_the_ratings_even_where_all_said_the_same() -> None:
    (verdict,) = judged([KIND], CRASH, CRASH, decisions={(1, "kind"): ("hang",)})
    assert (verdict.state, verdict.values, verdict.reason) == ("resolved", ("hang",), None)
    assert [each.values for each in verdict.ratings] == [("crash",), ("crash",)]


def test_deciding_the_empty_set_is_a_value_for_several_and_none_for_one() -> None:
    (several,) = judged([FIXES], {"fixes": ("a",)}, {"fixes": ()}, decisions={(1, "fixes"): ()})
    (one,) = judged([KIND], CRASH, HANG, decisions={(1, "kind"): ()})
    assert (several.values, one.values) == ((), None)


@pytest.mark.parametrize("value", [True, False])
def test_no_is_an_answer_and_a_blank_is_not(value) -> None:
    mark = ConsensusQuestion("mark")
    assert judged([mark], {"mark": (value,)}, {"mark": (value,)})[0].state == "agreed"
    assert judged([mark], {"mark": (value,)}, {"mark": (not value,)})[0].reason == "differ"
    assert judged([mark], {"mark": (value,)}, {})[0].reason == "one_sided"


def test_in_free_text_pending_is_a_text_and_no_proposal() -> None:
    said, other = {"cause": (PENDING,)}, {"cause": ("else",)}
    text, category = ConsensusQuestion("cause", is_text=True), ConsensusQuestion("cause")
    assert judged([text], said, said)[0].state == "agreed"
    assert judged([text], said, other)[0].reason == "differ"
    assert judged([category], said, said)[0].reason == "pending"


def test_the_order_of_raters_changes_nothing_but_the_order_of_what_they_said() -> None:
    given = (CRASH, HANG, SKIP, NEW)
    one, other = judged([KIND], *given)[0], judged([KIND], *reversed(given))[0]
    assert (one.state, one.reason, one.values) == (other.state, other.reason, other.values)


def test_a_memo_of_a_part_comes_before_the_memo_of_the_whole() -> None:
    answer = RaterAnswer("R1", parts=[CRASH, CRASH], memo="whole", part_memos=["", "second"])
    assert (answer.memo_of(1), answer.memo_of(2), answer.memo_of(3)) == ("whole", "second", "whole")
