"""Holm's correction of the p-values of many tests."""

from __future__ import annotations

import numpy as np

from annotation.labels.columns import Floats


def holm(p_values: Floats) -> Floats:
    """The adjusted p-values of a family of tests, in any shape; NaN is no test and stays.

    Holm 1979, A simple sequentially rejective multiple test procedure, Scandinavian Journal of Statistics 6(2), 65–70.
    """
    flat = np.asarray(p_values, dtype=np.float64).ravel()
    found = np.full(len(flat), np.nan)
    tests = np.flatnonzero(~np.isnan(flat))
    order = tests[np.argsort(flat[tests], kind="stable")]
    factors = len(order) - np.arange(len(order))
    found[order] = np.minimum(1.0, np.maximum.accumulate(factors * flat[order]))
    return found.reshape(np.shape(p_values))
