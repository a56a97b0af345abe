"""Agreement of a study from its rows: against values computed by hand, scikit-learn and NLTK, in every slice."""

from collections.abc import Sequence
from typing import Any

import pytest
from django.core.cache import cache

from agreement import COEFFICIENTS, benchmark_words
from annotation.agreement_report.queries.across_rounds import AgreementQuery, visible_rounds
from annotation.agreement_report.queries.coefficients import agreement, of_rounds, report
from annotation.agreement_report.queries.options import ask
from annotation.agreement_report.queries.patterns import Slice
from annotation.agreement_report.queries.units_behind import DrillDown, drill_down_units
from annotation.core.access import get_whole_study
from annotation.core.errors import Blind, Invalid
from annotation.models import Round, Study
from taxonomy import actions as taxonomy_actions
from tests import builders as make
from tests.asserts import assert_queries

pytestmark = pytest.mark.django_db

FAULT = {"kind": ["fault"], "symptom": ["crash"], "fixes": [], "distributed": True}
HOW_TO = {"kind": ["how-to"]}


def entries(study: Study, number: int | None = None, **words: str) -> dict[str, dict[str, Any]]:
    """Entries by dimension as the shell sees them, without intervals."""
    seat = get_whole_study(study.slug)
    asked = AgreementQuery.read(words)
    asked = AgreementQuery(
        dimension=asked.dimension, level=asked.level, metric=asked.metric, resamples=0, slice=asked.slice
    )
    return {
        each["dimension"]: each for each in agreement(seat, visible_rounds(seat, number), asked, round_number=number)
    }


def value(entry: dict[str, Any], name: str = "cohen_kappa") -> float | None:
    found: float | None = next(each["value"] for each in entry["coefficients"] if each["name"] == name)
    return found


def behind(
    study: Study, dimension: str, number: int | None = None, slice: Slice | None = None, **words: str
) -> list[Any]:
    """(item number, part) of the units behind a number."""
    seat = get_whole_study(study.slug)
    asked = AgreementQuery(dimension=dimension, level=words.pop("level", "leaf"), slice=slice or Slice())
    found = drill_down_units(
        seat, visible_rounds(seat, number), asked, DrillDown.read({"dimension": dimension, **words})
    )
    return [(int(line.item.identifier.rpartition("#")[2]), line.part) for line in found.lines]


@pytest.fixture
def faults() -> Study:
    return make.study(text=make.FAULTS)


def fill(round_: Round, given: dict[int, Sequence[Any]], names: Sequence[str] = ("bob", "carol")) -> None:
    """Submits per issue number one answer for each rater; None: not yet; a list: parts."""
    for number, answers in given.items():
        for name, answer in zip(names, answers, strict=True):
            if isinstance(answer, list):
                make.submit(round_, name, number, parts=[{"labels": each} for each in answer])
            elif answer is not None:
                make.submit(round_, name, number, answer)


TWENTY = ["crash", "crash", "hang", "slow", "hang", "crash", "slow", "slow", "crash", "hang"] * 2
OTHER = ["crash", "hang", "hang", "slow", "crash", "crash", "slow", "crash", "crash", "hang", *TWENTY[10:]]


def test_a_round_has_the_values_of_scikit_learn_and_of_paper_and_pencil() -> None:
    from sklearn.metrics import cohen_kappa_score

    study = make.study()
    lines = [f"{number} {a} {b}" for number, (a, b) in enumerate(zip(TWENTY, OTHER, strict=True), start=1)]
    make.rate(make.open_round(study, 20), "item bob carol\n" + "\n".join(lines))
    entry = entries(study, 1)["symptom"]
    assert (entry["units"], entry["ratings"], entry["raters"], entry["left_out"], entry["categories"]) == (
        20,
        40,
        2,
        0,
        3,
    )
    assert [each["name"] for each in entry["coefficients"]] == list(COEFFICIENTS)
    assert value(entry, "percent_agreement") == pytest.approx(17 / 20)
    assert value(entry) == pytest.approx(cohen_kappa_score(TWENTY, OTHER))
    # R1 said crash 8, hang 6, slow 6 times; R2 9, 6, 5: (0.85 − 0.345) / (1 − 0.345)
    assert value(entry) == pytest.approx((0.85 - (8 * 9 + 6 * 6 + 6 * 5) / 400) / (1 - (8 * 9 + 6 * 6 + 6 * 5) / 400))
    assert {(each["a"], each["b"]): each["n"] for each in entry["confusion"] if each["a"] != each["b"]} == {
        ("crash", "hang"): 1,
        ("hang", "crash"): 1,
        ("slow", "crash"): 1,
    }


def test_rounds_together_are_the_units_of_all_and_each_round_keeps_its_own() -> None:
    study = make.study()
    make.rate(make.open_round(study, 2), "item bob carol\n1 crash crash\n2 crash hang")
    make.rate(make.open_round(study, 2, first=3), "item bob carol\n3 hang hang\n4 slow slow")
    assert [entries(study, n)["symptom"]["units"] for n in (None, 1, 2)] == [4, 2, 2]
    assert [value(entries(study, n)["symptom"], "percent_agreement") for n in (None, 1, 2)] == [0.75, 0.5, 1]
    assert entries(study)["symptom"]["round"] is None and entries(study, 2)["symptom"]["round"] == 2
    assert behind(study, "symptom") == [(1, 1), (2, 1), (3, 1), (4, 1)]
    assert behind(study, "symptom", 2) == [(3, 1), (4, 1)]


def test_three_raters_with_gaps_give_pairs_and_leave_out_what_only_one_said() -> None:
    study = make.study(raters=("bob", "carol", "dan"))
    round_ = make.open_round(study, 4, raters=("bob", "carol", "dan"))
    table = "item bob carol dan\n1 crash crash crash\n2 crash hang -\n3 - slow slow\n4 hang - -"
    make.rate(round_, table)
    entry = entries(study, 1)["symptom"]
    assert (entry["units"], entry["ratings"], entry["raters"], entry["left_out"]) == (3, 7, 3, 1)
    assert value(entry) is None and value(entry, "percent_agreement") == pytest.approx((1 + 0 + 1) / 3)
    # Nominal alpha by hand: observed disagreement 2/7; 4 crash, 1 hang, 2 slow.
    expected = 1 - (2 / 7) / ((7 * 7 - (16 + 1 + 4)) / (7 * 6))
    assert value(entry, "krippendorff_alpha") == pytest.approx(expected)
    assert {tuple(each["raters"]): each["n"] for each in entry["by_pair"]} == {
        ("R1", "R2"): 2,
        ("R1", "R3"): 1,
        ("R2", "R3"): 2,
    }
    assert behind(study, "symptom") == [(1, 1), (2, 1), (3, 1)]
    assert behind(study, "symptom", show="left_out") == [(4, 1)]
    assert behind(study, "symptom", raters="R2,R3") == [(1, 1), (3, 1)]
    assert behind(study, "symptom", a="crash", b="hang") == behind(study, "symptom", a="hang", b="crash") == [(2, 1)]
    assert behind(study, "symptom", a="crash", b="crash") == [(1, 1)]


def test_parts_are_compared_by_number_and_single_leaves_whole_items_out(faults: Study) -> None:
    round_ = make.open_round(faults, 3)
    two = [FAULT, {**FAULT, "symptom": ["hang"]}]
    fill(round_, {1: [FAULT, FAULT], 2: [two, [FAULT, {**FAULT, "symptom": ["slow"]}]], 3: [two, FAULT]})
    aligned, single = entries(faults, 1)["symptom"], entries(faults, 1, parts="single")["symptom"]
    assert (aligned["units"], aligned["left_out"], value(aligned, "percent_agreement")) == (4, 1, 0.75)
    assert (single["units"], single["left_out"], value(single, "percent_agreement")) == (1, 4, 1)
    assert behind(faults, "symptom") == [(1, 1), (2, 1), (2, 2), (3, 1)]
    assert behind(faults, "symptom", show="left_out") == [(3, 2)]
    alone = Slice(parts="single")
    assert behind(faults, "symptom", slice=alone) == [(1, 1)]
    assert behind(faults, "symptom", slice=alone, show="left_out") == [(2, 1), (2, 2), (3, 1), (3, 2)]


def test_a_proposal_is_a_category_or_left_out() -> None:
    study = make.study()
    round_ = make.open_round(study, 4)
    make.rate(round_, "item bob carol\n1 crash crash\n2 PENDING hang\n3 PENDING PENDING\n4 slow slow")
    counted, without = entries(study, 1)["symptom"], entries(study, 1, pending="left_out")["symptom"]
    assert (counted["units"], counted["left_out"], value(counted, "percent_agreement")) == (4, 0, 0.75)
    assert (without["units"], without["left_out"], value(without, "percent_agreement")) == (2, 2, 1)
    assert behind(study, "symptom", a="PENDING", b="hang") == [(2, 1)]
    assert behind(study, "symptom", slice=Slice(pending="left_out"), show="left_out") == [(2, 1), (3, 1)]


def test_before_discussion_stays_as_it_was_when_raters_come_together() -> None:
    study = make.study()
    round_ = make.rate(make.open_round(study, 2), "item bob carol\n1 crash crash\n2 crash hang")
    make.submit(round_, "bob", 2, {"symptom": ["hang"]})
    assert value(entries(study, 1)["symptom"], "percent_agreement") == 0.5
    after = entries(study, 1, when="after")["symptom"]
    assert (value(after, "percent_agreement"), after["when"]) == (1, "after")
    assert behind(study, "symptom", show="differ") == [(2, 1)]
    assert behind(study, "symptom", slice=Slice(when="after"), show="differ") == []


def test_the_report_never_puts_after_discussion_first() -> None:
    study = make.study()
    round_ = make.rate(make.open_round(study, 2), "item bob carol\n1 crash crash\n2 crash hang")
    make.submit(round_, "bob", 2, {"symptom": ["hang"]})
    seat = make.seat(study, "rea")
    asked = AgreementQuery.read({"when": "after"})
    (found,) = report(seat, visible_rounds(seat), visible_rounds(seat), asked, round_number=None)
    assert found.headline.value == found.trend[1].value == pytest.approx(0)
    assert found.after is not None and found.after.value == 1
    assert value(found.entry.as_json(), "percent_agreement") == 1


def test_a_conditional_dimension_counts_where_it_was_asked_of_both_or_of_either(faults: Study) -> None:
    round_ = make.open_round(faults, 3)
    fill(round_, {1: [FAULT, FAULT], 2: [FAULT, HOW_TO], 3: [HOW_TO, HOW_TO]})
    both, either = entries(faults, 1)["symptom"], entries(faults, 1, applies="either")["symptom"]
    assert (both["units"], both["left_out"], value(both, "percent_agreement")) == (1, 1, 1)
    assert (either["units"], either["left_out"], value(either, "percent_agreement")) == (2, 0, 0.5)
    assert {"a": "crash", "b": "(does not apply)", "n": 1} in either["confusion"]
    assert entries(faults, 1, applies="either")["kind"]["units"] == 3
    assert entries(faults, 1, applies="either")["distributed"]["units"] == 2
    assert entries(faults, 1, applies="either")["fixes"]["units"] == 2
    assert behind(faults, "symptom", slice=Slice(applies="either"), show="differ") == [(2, 1)]


def test_a_level_up_two_leaves_of_one_parent_are_the_same(faults: Study) -> None:
    round_ = make.open_round(faults, 3)
    fill(
        round_,
        {1: [FAULT, {**FAULT, "symptom": ["hang"]}], 2: [FAULT, {**FAULT, "symptom": ["slow"]}], 3: [FAULT, FAULT]},
    )
    found = {level: entries(faults, 1, level=level)["symptom"] for level in ("leaf", "parent", "root")}
    assert [value(each, "percent_agreement") for each in found.values()] == pytest.approx([1 / 3, 2 / 3, 2 / 3])
    assert {each["a"] for each in found["parent"]["confusion"]} == {"failure"}
    assert behind(faults, "symptom", level="parent", a="failure", b="failure") == [(1, 1), (3, 1)]
    assert behind(faults, "symptom", level="parent", show="differ") == [(2, 1)]


@pytest.mark.slow
def test_alpha_over_the_tree_forgives_siblings_as_much_as_nltk_does(faults: Study) -> None:
    from nltk.metrics.agreement import AnnotationTask

    chosen = {
        1: ("crash", "hang"),
        2: ("crash", "crash"),
        3: ("slow", "slow"),
        4: ("hang", "hang"),
        5: ("slow", "hang"),
    }
    round_ = make.open_round(faults, 6)
    fill(round_, {number: [{**FAULT, "symptom": [each]} for each in pair] for number, pair in chosen.items()})
    unnamed = {name: given for name, given in FAULT.items() if name != "symptom"}
    make.submit(round_, "bob", 6, unnamed, proposals={"symptom": {"name": "Melts"}})
    make.submit(round_, "carol", 6, {**FAULT, "symptom": ["hang"]})

    def apart(a: str, b: str) -> float:
        return 0.0 if a == b else 0.5 if {a, b} == {"crash", "hang"} else 1.0

    rows = [(str(rater), n, each) for n, pair in chosen.items() for rater, each in enumerate(pair)]
    rows += [("0", 6, "PENDING"), ("1", 6, "hang")]
    tree = entries(faults, 1, dimension="symptom", metric="tree")["symptom"]
    assert tree["metric"] == "tree"
    assert value(tree, "krippendorff_alpha") == pytest.approx(AnnotationTask(rows, distance=apart).alpha())
    assert entries(faults, 1, metric="tree")["fixes"]["metric"] == "masi"


LEVELS = """
slug: effort
title: Effort
dimensions:
  - key: effort
    title: Effort
    kind: ordinal
    categories: [{key: low, name: Low}, {key: middle, name: Middle}, {key: high, name: High}]
"""


def test_a_proposal_is_no_level_above_the_highest() -> None:
    import krippendorff

    study = make.study(text=LEVELS)
    lines = "1 low low\n2 low middle\n3 high high\n4 middle middle\n5 low high\n6 PENDING low\n7 PENDING PENDING"
    make.rate(make.open_round(study, 7), f"item bob carol\n{lines}", "effort")
    entry = entries(study, 1)["effort"]
    on_the_scale = [[1, 1, 3, 2, 1], [1, 2, 3, 2, 3]]
    expected = krippendorff.alpha(on_the_scale, level_of_measurement="ordinal", value_domain=[1, 2, 3])
    assert (entry["metric"], entry["units"]) == ("ordinal", 7)
    assert value(entry, "krippendorff_alpha") == pytest.approx(expected)
    assert any("3 ratings of “PENDING”" in each for each in entry["warnings"])
    assert not any(
        "is not on the scale" in each for each in entries(study, 1, pending="left_out")["effort"]["warnings"]
    )


def test_sets_are_compared_with_masi_as_nltk_does(faults: Study) -> None:
    from nltk.metrics import masi_distance
    from nltk.metrics.agreement import AnnotationTask

    given = {
        1: (["config"], ["config"]),
        2: (["config", "version"], ["config"]),
        3: ([], ["code"]),
        4: ([], []),
        5: (["version", "code"], ["code", "version"]),
        6: (["config", "code"], ["version", "code"]),
    }
    round_ = make.open_round(faults, 6)
    fill(round_, {number: [{**FAULT, "fixes": each} for each in sets] for number, sets in given.items()})
    entry = entries(faults, 1, dimension="fixes")["fixes"]
    rows = [
        (rater, number, frozenset(each) or frozenset({"(none)"}))
        for number, sets in given.items()
        for rater, each in zip(("bob", "carol"), sets, strict=True)
    ]
    assert entry["metric"] == "masi" and entry["units"] == 6
    assert value(entry, "krippendorff_alpha") == pytest.approx(AnnotationTask(rows, distance=masi_distance).alpha())
    assert value(entries(faults, 1, dimension="fixes", metric="jaccard")["fixes"], "krippendorff_alpha") != value(
        entry, "krippendorff_alpha"
    )
    assert behind(faults, "fixes", a="code") == [(3, 1), (5, 1), (6, 1)]
    assert behind(faults, "fixes", a="config + version", b="config", raters="R1,R2") == [(2, 1)]
    assert behind(faults, "fixes", a="(none)", b="(none)") == [(4, 1)]


def test_a_boolean_is_yes_or_no_and_a_blank_is_no_rating(faults: Study) -> None:
    from sklearn.metrics import cohen_kappa_score

    left, right = [True, True, False, False, True], [True, False, False, True, True]
    round_ = make.open_round(faults, 5)
    fill(
        round_,
        {
            number: [{**FAULT, "distributed": each} for each in pair]
            for number, pair in enumerate(zip(left, right, strict=True), start=1)
        },
    )
    entry = entries(faults, 1)["distributed"]
    assert (entry["units"], value(entry)) == (5, pytest.approx(cohen_kappa_score(left, right)))
    assert {each["category"] for each in entry["by_category"]} == {"true", "false"}
    assert behind(faults, "distributed", a="true", b="false", raters="R1,R2") == [(2, 1)]


def test_one_category_alone_is_undefined_with_its_reason() -> None:
    study = make.study()
    make.rate(make.open_round(study, 2), "item bob carol\n1 crash crash\n2 crash crash")
    entry = entries(study, 1)["symptom"]
    for each in entry["coefficients"]:
        assert (each["value"] is None) == bool(each["undefined"]), each
    assert value(entry) is None and value(entry, "percent_agreement") == 1


def test_a_category_that_a_newer_version_dropped_still_counts_in_its_round() -> None:
    study = make.study()
    make.rate(make.open_round(study, 2), "item bob carol\n1 slow slow\n2 crash slow")
    owner = make.user("olga")
    text = make.SYMPTOMS.replace("      - {key: slow, name: Slow}\n", "      - {key: wrong, name: Wrong result}\n")
    draft = taxonomy_actions.new_draft(user=owner, taxonomy=study.taxonomy, text=text)
    taxonomy_actions.publish_version(user=owner, version=draft)
    make.rate(make.open_round(study, 1, first=3, taxonomy_version=2), "item bob carol\n3 wrong wrong")
    entry = entries(study)["symptom"]
    assert entry["units"] == 3 and value(entry, "percent_agreement") == pytest.approx(2 / 3)
    assert [each["category"] for each in entry["by_category"]] == ["crash", "wrong", "slow"]
    assert behind(study, "symptom", a="slow") == [(1, 1), (2, 1)]


def test_what_a_rater_is_blind_in_is_left_out_and_refused_by_number() -> None:
    study = make.study()
    make.rate(make.open_round(study, 1), "item bob carol\n1 crash hang")
    second = make.open_round(study, 2, first=2)
    make.submit(second, "carol", 2, {"symptom": ["slow"]})
    bob, ada = make.seat(study, "bob"), make.seat(study, "ada")
    assert [round_.number for round_ in visible_rounds(bob)] == [1]
    assert [round_.number for round_ in visible_rounds(ada)] == [1, 2]
    assert [round_.number for round_ in visible_rounds(make.seat(study, "rea"))] == [1]
    with pytest.raises(Blind, match="You are a rater in round 2"):
        visible_rounds(bob, 2)
    assert agreement(bob, visible_rounds(bob), AgreementQuery(resamples=0), round_number=None)[0]["left_out"] == 0
    assert agreement(ada, visible_rounds(ada), AgreementQuery(resamples=0), round_number=None)[0]["left_out"] == 1


def test_the_primary_coefficient_is_the_fixed_one_with_the_interval_of_the_whole_table() -> None:
    primary = {"symptom": {"coefficient": "cohen_kappa", "threshold": 0.8}}
    study = make.study(primary=primary)
    lines = [f"{number} {a} {b}" for number, (a, b) in enumerate(zip(TWENTY, OTHER, strict=True), start=1)]
    round_ = make.rate(make.open_round(study, 20), "item bob carol\n" + "\n".join(lines))
    seat = make.owner_seat(study)
    (line,) = of_rounds(seat, [round_])
    assert (line.coefficient, line.threshold, line.units, line.raters) == ("cohen_kappa", 0.8, 20, ("R1", "R2"))
    assert line.fixed_at is not None
    (entry,) = agreement(seat, [round_], AgreementQuery(), round_number=1)
    same = next(each for each in entry["coefficients"] if each["name"] == "cohen_kappa")
    assert (line.value, line.se, line.ci_low, line.ci_high) == tuple(
        same[name] for name in ("value", "se", "ci_low", "ci_high")
    )


def test_an_entry_holds_its_coefficients_against_the_threshold_that_the_study_fixed() -> None:
    study = make.study(primary={"symptom": {"coefficient": "cohen_kappa", "threshold": 0.6}})
    lines = [f"{number} {a} {b}" for number, (a, b) in enumerate(zip(TWENTY, OTHER, strict=True), start=1)]
    round_ = make.rate(make.open_round(study, 20), "item bob carol\n" + "\n".join(lines))
    seat = make.owner_seat(study)
    (entry,) = agreement(seat, [round_], ask(seat, {}), round_number=1)
    kappa = next(each for each in entry["coefficients"] if each["name"] == "cohen_kappa")
    assert (kappa["p_threshold"] >= 0.975) == (kappa["ci_low"] >= 0.6)
    assert kappa["words"] == benchmark_words("cohen_kappa", kappa["value"], kappa["ci_low"])
    (entry,) = agreement(seat, [round_], AgreementQuery(), round_number=1)
    assert {each["p_threshold"] for each in entry["coefficients"]} == {None}


@pytest.mark.parametrize(
    "words",
    [{"when": "later"}, {"parts": "all"}, {"pending": "yes"}, {"level": "2"}, {"applies": "none"}, {"metric": "x"}],
)
def test_what_cannot_be_asked_names_its_field(words: dict[str, str]) -> None:
    with pytest.raises(Invalid) as refused:
        AgreementQuery.read(words)
    assert list(refused.value.fields) == list(words)


def test_a_dimension_that_is_not_there_and_a_metric_that_does_not_suit_are_refused(faults: Study) -> None:
    fill(make.open_round(faults, 1), {1: [FAULT, FAULT]})
    for words in ({"dimension": "colour"}, {"dimension": "kind", "metric": "masi"}):
        with pytest.raises(Invalid):
            entries(faults, 1, **words)
    assert entries(faults, 1, metric="jaccard")["fixes"]["metric"] == "jaccard"
    with pytest.raises(Invalid):
        behind(faults, "colour")


def test_an_arbiter_is_no_rater_of_agreement() -> None:
    study = make.study()
    round_ = make.open_round(study, 1)
    make.rate(round_, "item bob carol\n1 crash hang")
    make.assignment(round_, "carol", 1)
    from annotation.models import Assignment

    Assignment.objects.filter(rater__user__username="carol").update(slot=None)
    assert (entries(study, 1)["symptom"]["units"], entries(study, 1)["symptom"]["left_out"]) == (0, 1)


def test_queries_do_not_grow_with_the_study(faults: Study) -> None:
    fill(make.open_round(faults, 2), {number: [FAULT, HOW_TO] for number in (1, 2)})
    fill(make.open_round(faults, 20, first=3), {number: [FAULT, FAULT] for number in range(3, 23)})
    seat = get_whole_study(faults.slug)
    asked = AgreementQuery(resamples=0)
    for number in (1, 2):
        chosen = visible_rounds(seat, number)
        agreement(seat, chosen, asked, round_number=number)
        with assert_queries(2):  # the raters, what has come to count
            agreement(seat, chosen, asked, round_number=number)
        cache.clear()
        with assert_queries(11 if number == 1 else 8):  # four dimensions, parts, coverage, why three leave units out
            agreement(seat, chosen, asked, round_number=number)
        with assert_queries(4):  # raters, patterns, units, items
            drill_down_units(seat, chosen, AgreementQuery(dimension="kind"), DrillDown())


def test_units_come_in_pages_that_meet() -> None:
    study = make.study()
    make.rate(make.open_round(study, 3), "item bob carol\n1 crash hang\n2 crash hang\n3 hang hang")
    make.rate(make.open_round(study, 2, first=4), "item bob carol\n4 crash hang\n5 slow hang")
    seat = get_whole_study(study.slug)
    seen, after = [], ""
    for _ in range(5):
        asked = DrillDown.read({"dimension": "symptom", "after": after})
        found = drill_down_units(seat, visible_rounds(seat), AgreementQuery(dimension="symptom"), asked, size=2)
        seen.append([line.item.identifier for line in found.lines])
        after = found.next
        if not after:
            break
    assert [len(page) for page in seen] == [2, 2, 1]
    assert [name for page in seen for name in page] == [f"acme/rocket#{number}" for number in range(1, 6)]


def test_a_relabel_round_is_seen_by_its_number_only() -> None:
    study = make.study()
    make.rate(make.open_round(study, 1), "item bob carol\n1 crash crash")
    make.rate(make.open_round(study, 1, first=2), "item bob carol\n2 crash hang")
    Round.objects.filter(number=2).update(kind=Round.Kind.RELABEL)
    assert entries(study)["symptom"]["units"] == 1
    assert value(entries(study, 2)["symptom"], "percent_agreement") == 0
