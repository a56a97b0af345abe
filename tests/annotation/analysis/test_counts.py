"""Counts and shares: each with what it is of, against statsmodels and by hand."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from statsmodels.stats.proportion import proportion_confint

from annotation.analysis.counts import counts
from annotation.analysis.folding import FoldingRule, fold_column
from annotation.analysis.marks import marks
from annotation.analysis.shares import ExcludedParts, share
from annotation.labels.columns import LEFT_OUT, NOT_AGREED, Categories, SingleColumn
from tests.annotation.analysis.made_columns import multi, single

SYMPTOM = ["crash", "crash", "hang", "crash", None, "slow", "hang", "crash"]
STAGE = ["setup", "setup", "train", "train", "train", None, "train", "setup"]


def of(found):
    return {each.category: (each.share.n, each.share.of) for each in found.categories}


def test_a_wilson_interval_is_that_of_newcombe_1998():
    """Table I of Newcombe 1998, doi:10.1002/(SICI)1097-0258(19980430)17:8<857::AID-SIM777>3.0.CO;2-E, method 3."""
    table = {(81, 263): (0.2553, 0.3662), (15, 148): (0.0624, 0.1605), (0, 20): (0, 0.1611), (1, 29): (0.0061, 0.1718)}
    for (n, whole), interval in table.items():
        found = share(n, whole)
        assert (round(found.ci_low, 4), round(found.ci_high, 4)) == interval


@given(st.integers(1, 10_000).flatmap(lambda of: st.tuples(st.integers(0, of), st.just(of))))
def test_a_wilson_interval_is_that_of_statsmodels_and_holds_its_share(case):
    found = share(*case)
    assert (found.ci_low, found.ci_high) == pytest.approx(proportion_confint(*case, method="wilson"), abs=1e-12)
    assert 0 <= found.ci_low <= found.share <= found.ci_high <= 1


def test_a_share_of_nothing_is_undefined_and_says_why():
    found = share(0, 0)
    assert (found.share, found.ci_low, found.ci_high) == (None, None, None)
    assert found.undefined == "There is nothing that it could be a share of."


def test_more_than_all_is_refused():
    with pytest.raises(ValueError):
        share(3, 2)


def test_a_total_is_of_the_parts_with_a_value_and_says_which_are_left_out():
    found = counts(single("symptom", SYMPTOM))
    assert of(found.total) == {"crash": (4, 7), "hang": (2, 7), "slow": (1, 7)}
    assert found.total.denominator.words == "of the 7 parts with a value of symptom"
    assert (found.n, found.n_parts) == (7, 8)
    assert found.left_out == (ExcludedParts("Symptom: not applicable, or not labeled.", 1),)


@pytest.mark.parametrize(
    ("whole", "setup", "train"),
    [
        ("group", {"crash": (3, 3), "hang": (0, 3), "slow": (0, 3)}, {"crash": (1, 3), "hang": (2, 3), "slow": (0, 3)}),
        ("all", {"crash": (3, 7), "hang": (0, 7), "slow": (0, 7)}, {"crash": (1, 7), "hang": (2, 7), "slow": (0, 7)}),
        (
            "category",
            {"crash": (3, 4), "hang": (0, 2), "slow": (0, 0)},
            {"crash": (1, 4), "hang": (2, 2), "slow": (0, 0)},
        ),
    ],
)
def test_shares_within_groups_are_of_what_was_asked(whole, setup, train):
    found = counts(single("symptom", SYMPTOM), single("stage", STAGE), of=whole)
    assert [(group.value, group.n, of(group)) for group in found.groups] == [("setup", 3, setup), ("train", 3, train)]
    assert {group.denominator.of for group in found.groups} == {whole}
    assert found.left_out[1] == ExcludedParts("Stage: not applicable, or not labeled.", 1)


def test_a_set_counts_in_each_of_its_categories_and_the_answer_says_so():
    found = counts(multi("fix", [("a", "b"), ("a",), (), None]))
    assert of(found.total) == {"a": (2, 3), "b": (1, 3)}
    assert found.notes == ()
    found = counts(multi("fix", [("a", "b"), ("a", "b"), (), None]))
    assert found.notes == ("A part can have several values of fix, so that the numbers add up to 4, not to 3.",)


def test_why_nothing_counts_is_told_reason_by_reason():
    column = SingleColumn(
        "s", "Symptom", "single", Categories(("a",), ("A",)), np.array([0, NOT_AGREED, LEFT_OUT, NOT_AGREED])
    )
    assert counts(column).left_out == (
        ExcludedParts("Symptom: no agreed label.", 2),
        ExcludedParts("Symptom: the category was excluded on request.", 1),
    )


def test_an_unknown_whole_is_refused():
    with pytest.raises(ValueError):
        counts(single("symptom", SYMPTOM), of="stage")


# level, leaving out, folding

TREE = Categories(("train", "hang", "nan", "setup", "oom"), ("Train", "Hang", "NaN", "Setup", "OOM"), (-1, 0, 0, -1, 3))
COLUMN = SingleColumn("s", "S", "single", TREE, np.array([1, 1, 1, 2, 4, 3, -1]))


def keys(column):
    return [column.categories.keys[code] if code >= 0 else code for code in column.codes]


def test_rare_categories_become_others_after_the_level_was_chosen():
    found, folded = fold_column(COLUMN, FoldingRule(fold=2))
    assert keys(found) == ["hang", "hang", "hang", "others", "others", "others", -1]
    assert (folded.categories, folded.n) == (("nan", "setup", "oom"), 3)
    found, folded = fold_column(COLUMN, FoldingRule(level="root", fold=2))
    assert keys(found) == ["train"] * 4 + ["setup"] * 2 + [-1]
    assert folded.categories == ()


def test_a_share_folds_what_fewer_than_that_share_of_the_known_parts_have():
    found, _ = fold_column(COLUMN, FoldingRule(fold=0.17))
    assert keys(found) == ["hang"] * 3 + ["others"] * 3 + [-1]
    assert fold_column(COLUMN, FoldingRule(fold=0.16))[1].categories == ()


def test_a_category_is_left_out_with_all_below_it():
    found, _ = fold_column(COLUMN, FoldingRule(without=frozenset({"setup"})))
    assert keys(found) == ["hang"] * 3 + ["nan", LEFT_OUT, LEFT_OUT, -1]


def test_in_a_set_only_the_category_is_left_out_unless_nothing_else_was_chosen():
    found, _ = fold_column(multi("fix", [("a", "b"), ("a",), (), None]), FoldingRule(without=frozenset({"a"})))
    assert found.state.tolist() == [0, LEFT_OUT, 0, -1]
    assert of(counts(found).total) == {"a": (0, 2), "b": (1, 2)}


def test_two_of_a_set_that_become_one_count_once():
    found, folded = fold_column(multi("fix", [("a", "b"), ("c",), ("c",)]), FoldingRule(fold=2))
    assert of(counts(found).total) == {"c": (2, 3), "others": (1, 3)}
    assert folded.n == 1


def test_a_category_that_is_called_others_is_not_confused_with_the_folded_ones():
    found, _ = fold_column(single("s", ["others", "others", "a"]), FoldingRule(fold=2))
    assert found.categories.keys == ("others", "others-folded")


def test_columns_of_few_categories_bear_every_reason_for_none_in_a_byte():
    codes = np.array([0, -1, -2, -3, -4], dtype=np.int8)
    column = SingleColumn("s", "S", "single", Categories(("a",), ("A",), (-1,)), codes)
    found, folded = fold_column(column, FoldingRule(level="root", fold=2, without=frozenset()))
    assert (keys(found), folded.n) == (["others", -1, -2, -3, -4], 1)
    assert keys(fold_column(column, FoldingRule(without=frozenset({"a"})))[0]) == [-4, -1, -2, -3, -4]
    assert marks(column, "a").total.share.of == 1


def test_an_unknown_category_can_not_be_left_out():
    with pytest.raises(KeyError):
        fold_column(COLUMN, FoldingRule(without=frozenset({"nothing"})))


# marks


def test_the_share_of_a_mark_is_of_the_parts_whose_mark_is_known():
    mark = single(
        "only", ["true", "true", "false", None, "true", "false", "true", "false"], ["false", "true"], "boolean"
    )
    found = marks(mark, "true", single("symptom", SYMPTOM), single("stage", STAGE))
    assert (found.total.share.n, found.total.share.of, found.total.unknown) == (4, 7, 1)
    assert {each.category: (each.share.n, each.share.of, each.unknown) for each in found.total.categories} == {
        "crash": (2, 3, 1),
        "hang": (1, 2, 0),
        "slow": (0, 1, 0),
    }
    setup, train = found.groups
    assert (setup.value, setup.share.n, setup.share.of) == ("setup", 2, 3)
    assert (train.value, train.share.n, train.share.of, train.unknown) == ("train", 2, 3, 1)
    assert train.categories[2].share.undefined


def test_an_unknown_value_of_a_mark_is_refused():
    with pytest.raises(KeyError):
        marks(single("only", ["true"], ["false", "true"]), "maybe")
