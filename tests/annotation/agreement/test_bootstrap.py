"""The intervals: seeded, the same alone and in a summary, and of the right width."""

import numpy as np
import pytest

from annotation import agreement
from annotation.agreement import Patterns, bootstrap, summary

RNG = np.random.default_rng(3)
TRUE = RNG.integers(0, 4, 400)
RATED = [np.where(RNG.random(400) < 0.8, TRUE, RNG.integers(0, 4, 400)) for _ in range(3)]
TWO = Patterns.from_table(np.stack(RATED[:2], axis=1).tolist())
THREE = Patterns.from_table(np.stack(RATED, axis=1).tolist())


@pytest.mark.parametrize("patterns", [TWO, THREE], ids=["two raters", "three raters"])
def test_the_same_seed_gives_the_same_interval_and_another_seed_another(patterns: Patterns):
    first, again, other = (agreement.krippendorff_alpha(patterns, seed=seed) for seed in (1, 1, 2))
    assert first == again
    assert (first.ci_low, first.ci_high) != (other.ci_low, other.ci_high)
    assert first.value == other.value


def test_a_coefficient_alone_has_the_interval_it_has_in_the_summary():
    entry = summary(TWO, kind="single", seed=5)
    for coefficient in entry["coefficients"]:
        if coefficient["value"] is not None:
            alone = getattr(agreement, coefficient["name"])(TWO, seed=5)
            assert alone.ci_low == pytest.approx(coefficient["ci_low"], abs=1e-12)
            assert alone.ci_method == "bootstrap"


@pytest.mark.parametrize("patterns", [TWO, THREE], ids=["two raters", "three raters"])
def test_bootstrap_and_analytic_standard_error_tell_the_same_story(patterns: Patterns):
    for coefficient in summary(patterns, kind="ordinal", metric="interval", resamples=4000)["coefficients"]:
        if coefficient["value"] is None:
            continue
        width = coefficient["ci_high"] - coefficient["ci_low"]
        assert width / (2 * 1.96) == pytest.approx(coefficient["se"], rel=0.08), coefficient["name"]
        assert coefficient["ci_low"] < coefficient["value"] < coefficient["ci_high"]


def test_the_interval_of_ordinal_alpha_is_that_of_the_expanded_resamples():
    drawn = next(bootstrap.resampled_counts(THREE.counts, 40, 0))
    expected = [
        agreement.krippendorff_alpha(
            Patterns(THREE.values, counts.astype(int), THREE.categories, THREE.raters), "ordinal", resamples=0
        ).value
        for counts in drawn
    ]
    low, high = np.percentile(expected, [2.5, 97.5])
    alpha = agreement.krippendorff_alpha(THREE, "ordinal", resamples=40)
    assert (alpha.ci_low, alpha.ci_high) == pytest.approx((low, high), abs=1e-9)


@pytest.mark.parametrize("counts", [[5, 1, 3], [50_000, 1, 300_000]], ids=["few units", "many units"])
def test_resamples_hold_as_many_units_as_there_are_whatever_the_chunks(counts: list[int], monkeypatch):
    whole = np.concatenate(list(bootstrap.resampled_counts(np.array(counts), 30, 4)))
    monkeypatch.setattr(bootstrap, "CELLS_AT_ONCE", 12)
    parts = list(bootstrap.resampled_counts(np.array(counts), 30, 4))
    assert len(parts) > 1
    assert (np.concatenate(parts) == whole).all()
    assert (whole.sum(axis=1) == sum(counts)).all()
    assert whole.mean(axis=0) == pytest.approx(counts, rel=0.5, abs=1)


def test_sparse_and_dense_tallies_give_the_same_interval(monkeypatch):
    dense = summary(THREE, kind="ordinal", resamples=50)
    monkeypatch.setattr("annotation.agreement.tallies.DENSE_CELLS", 0)
    sparse = summary(THREE, kind="ordinal", resamples=50)
    for left, right in zip(dense["coefficients"], sparse["coefficients"], strict=True):
        assert left["ci_low"] == pytest.approx(right["ci_low"], abs=1e-12)


def test_a_rater_missing_from_a_resample_does_not_undo_congers_interval():
    rows = [(("a", "a", None), 30), (("a", "b", None), 5), (("b", "b", None), 20), (("b", None, "b"), 1)]
    conger = agreement.conger_kappa(Patterns.from_counts(rows))
    assert conger.ci_low < conger.value < conger.ci_high
