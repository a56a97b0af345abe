"""Random tables against independent libraries (development dependencies only)."""

import math
import warnings

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import agreement
from agreement import Patterns

from .tables import QUICK, Table, rating_tables

CATEGORIES = [1, 2, 3, 4]


def full_table(patterns: Patterns, first: int, second: int) -> np.ndarray:
    table = np.zeros((len(CATEGORIES), len(CATEGORIES)))
    for row, n in zip(patterns.values, patterns.counts, strict=True):
        if row[first] >= 0 and row[second] >= 0:
            table[row[first], row[second]] += n
    return table


@QUICK
@given(rating_tables(), st.sampled_from(["nominal", "ordinal", "interval", "ratio"]))
def test_alpha_is_that_of_the_krippendorff_package(table: Table, metric: str):
    import krippendorff

    ours = agreement.krippendorff_alpha(Patterns.from_table(table), metric, intervals=False).value
    data = np.array([[np.nan if value is None else value for value in row] for row in table], dtype=float).T
    used = {value for row in table if sum(v is not None for v in row) > 1 for value in row if value is not None}
    if len(used) < 2:
        assert ours is None
        return
    theirs = krippendorff.alpha(reliability_data=data, level_of_measurement=metric)
    assert ours == pytest.approx(theirs, abs=1e-9)


@QUICK
@given(rating_tables(raters=(2, 2)), st.sampled_from([None, "linear", "quadratic"]))
def test_cohen_and_weighted_kappa_are_those_of_scikit_learn(table: Table, weights: str | None):
    from sklearn.metrics import cohen_kappa_score

    patterns = Patterns.from_table(table, categories=CATEGORIES)
    ours = (
        agreement.weighted_kappa(patterns, weights, intervals=False)
        if weights
        else agreement.cohen_kappa(patterns, intervals=False)
    )
    both = [row for row in table if None not in row]
    assume(both)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = cohen_kappa_score(*zip(*both, strict=True), labels=CATEGORIES, weights=weights)
    if math.isnan(theirs) or min(len(set(side)) for side in zip(*both, strict=True)) == 1:
        assert ours.value is None
    else:
        assert ours.value == pytest.approx(theirs, abs=1e-9)


@QUICK
@given(rating_tables(raters=(2, 2)), st.sampled_from(["identity", "linear", "quadratic"]))
def test_standard_error_of_kappa_is_that_of_statsmodels(table: Table, weights: str):
    from statsmodels.stats.inter_rater import cohens_kappa

    patterns = Patterns.from_table(table, categories=CATEGORIES)
    ours = agreement.weighted_kappa(patterns, weights, intervals=False)
    assume(ours.value is not None and patterns.n_units > 1)
    options = {} if weights == "identity" else {"wt": weights}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = cohens_kappa(full_table(patterns, 0, 1), **options)
    assert ours.value == pytest.approx(theirs.kappa, abs=1e-9)
    # Their variance is a difference and can fall just below 0.
    assert ours.se**2 == pytest.approx(theirs.var_kappa, abs=1e-12)


@QUICK
@given(rating_tables(raters=(2, 2)), st.lists(st.floats(0.1, 1), min_size=12, max_size=12))
def test_weights_may_be_lopsided_as_in_statsmodels(table: Table, apart: list[float]):
    from statsmodels.stats.inter_rater import cohens_kappa

    patterns = Patterns.from_table(table, categories=CATEGORIES)
    disagreement = np.zeros((4, 4))
    disagreement[~np.eye(4, dtype=bool)] = apart
    ours = agreement.weighted_kappa(patterns, 1 - disagreement, intervals=False)
    assume(ours.value is not None and patterns.n_units > 1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = cohens_kappa(full_table(patterns, 0, 1), weights=disagreement)
    assert ours.value == pytest.approx(theirs.kappa, abs=1e-9)
    assert ours.se**2 == pytest.approx(theirs.var_kappa, abs=1e-10)


@QUICK
@given(rating_tables(gaps=False))
def test_fleiss_and_brennan_prediger_are_those_of_statsmodels(table: Table):
    from statsmodels.stats.inter_rater import fleiss_kappa

    patterns = Patterns.from_table(table, categories=CATEGORIES)
    counts = np.array([[row.count(category) for category in CATEGORIES] for row in table])
    ours = agreement.brennan_prediger(patterns, intervals=False).value
    assert ours == pytest.approx(fleiss_kappa(counts, method="randolph"), abs=1e-9)
    if (counts.sum(axis=0) > 0).sum() > 1:
        ours = agreement.fleiss_kappa(patterns, intervals=False).value
        assert ours == pytest.approx(fleiss_kappa(counts, method="fleiss"), abs=1e-9)


@QUICK
@given(rating_tables(raters=(2, 2), gaps=False))
def test_percent_scott_and_cohen_are_those_of_nltk(table: Table):
    from nltk.metrics.agreement import AnnotationTask

    assume(len({value for row in table for value in row}) > 1)
    task = AnnotationTask(
        [(str(rater), unit, value) for unit, row in enumerate(table) for rater, value in enumerate(row)]
    )
    patterns = Patterns.from_table(table)
    assert agreement.percent_agreement(patterns, intervals=False).value == pytest.approx(task.avg_Ao(), abs=1e-9)
    assert agreement.scott_pi(patterns, intervals=False).value == pytest.approx(task.pi(), abs=1e-9)
    assert agreement.brennan_prediger(patterns, intervals=False).value == pytest.approx(task.S(), abs=1e-9)
    if min(len(set(side)) for side in zip(*table, strict=True)) > 1:
        assert agreement.cohen_kappa(patterns, intervals=False).value == pytest.approx(task.kappa(), abs=1e-9)


@QUICK
@given(rating_tables(raters=(12, 40), categories=6, units=12), st.sampled_from(["nominal", "ordinal", "interval"]))
def test_alpha_of_many_raters_with_gaps_is_that_of_the_krippendorff_package(table: Table, metric: str):
    import krippendorff

    patterns = Patterns.from_table(table)
    ours = agreement.krippendorff_alpha(patterns, metric, intervals=False).value
    assume(ours is not None)
    data = np.array([[np.nan if value is None else value for value in row] for row in table], dtype=float).T
    assert ours == pytest.approx(krippendorff.alpha(data, level_of_measurement=metric), abs=1e-9)


@QUICK
@given(st.lists(st.integers(0, 10**9), min_size=9, max_size=9), st.sampled_from([None, "linear", "quadratic"]))
def test_tables_of_billions_of_units_have_the_kappa_and_the_error_of_statsmodels(counts: list[int], weights):
    from statsmodels.stats.inter_rater import cohens_kappa

    table = np.array(counts).reshape(3, 3)
    patterns = Patterns.from_counts([((a, b), table[a, b]) for a in range(3) for b in range(3)], categories=range(3))
    ours = agreement.weighted_kappa(patterns, weights or "identity", intervals=False)
    assume(ours.value is not None and patterns.n_units > 1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = cohens_kappa(table.astype(float), **({"wt": weights} if weights else {}))
    assert ours.value == pytest.approx(theirs.kappa, abs=1e-9)
    assert ours.se**2 == pytest.approx(theirs.var_kappa, rel=1e-6, abs=1e-14)


sets = st.frozensets(st.sampled_from("abcd"), min_size=1, max_size=3)


@QUICK
@given(st.lists(st.lists(st.one_of(sets, sets, st.none()), min_size=3, max_size=3), min_size=2, max_size=15))
def test_alpha_over_sets_is_that_of_nltk_with_masi_and_jaccard(table: Table):
    from nltk.metrics import jaccard_distance, masi_distance
    from nltk.metrics.agreement import AnnotationTask

    kept = [row for row in table if sum(value is not None for value in row) > 1]
    assume(len({value for row in kept for value in row if value is not None}) > 1)
    triples = [
        (str(rater), unit, value)
        for unit, row in enumerate(kept)
        for rater, value in enumerate(row)
        if value is not None
    ]
    for metric, distance in (("masi", masi_distance), ("jaccard", jaccard_distance)):
        ours = agreement.krippendorff_alpha(Patterns.from_table(table), metric, intervals=False).value
        assert ours == pytest.approx(AnnotationTask(triples, distance=distance).alpha(), abs=1e-9)


def test_hundreds_of_thousands_of_units_as_counts_equal_the_krippendorff_package_on_every_single_one():
    import krippendorff

    rows = [(("a", "a"), 30_000), (("a", "b"), 4_000), (("b", "b"), 9_000), (("c", "c"), 7), (("c", None), 500)]
    patterns = Patterns.from_counts(rows)
    number = {"a": 1.0, "b": 2.0, "c": 3.0, None: math.nan}
    data = np.array([[number[value] for value in row] for row, n in rows for _ in range(n)]).T
    ours = agreement.krippendorff_alpha(patterns, intervals=False).value
    assert ours == pytest.approx(krippendorff.alpha(data, level_of_measurement="nominal"), abs=1e-12)
