"""Resamples: seeded, with as many units as there are."""

import numpy as np
import pytest

from agreement import Patterns, bootstrap, share_reaching

PAIRS = Patterns.from_counts([(("a", "a"), 40), (("a", "b"), 9), (("b", "b"), 21)])


@pytest.mark.parametrize("counts", [[5, 1, 3], [50_000, 1, 300_000]], ids=["few units", "many units"])
def test_resamples_hold_as_many_units_as_there_are_whatever_the_chunks(counts: list[int], monkeypatch):
    whole = np.concatenate(list(bootstrap.resampled_counts(np.array(counts), 30, 4)))
    monkeypatch.setattr(bootstrap, "CELLS_AT_ONCE", 12)
    parts = list(bootstrap.resampled_counts(np.array(counts), 30, 4))
    assert len(parts) > 1
    assert (np.concatenate(parts) == whole).all()
    assert (whole.sum(axis=1) == sum(counts)).all()
    assert whole.mean(axis=0) == pytest.approx(counts, rel=0.5, abs=1)


def test_the_same_seed_gives_the_same_share_and_another_seed_another():
    first, again, other = (share_reaching(PAIRS, "cohen_kappa", 0.7, kind="single", seed=seed) for seed in (1, 1, 2))
    assert first == again != other
    assert 0.3 < first < 0.7
