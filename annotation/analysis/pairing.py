"""Pairing: how often the categories of two columns occur on the same part."""

from __future__ import annotations

import numpy as np
import scipy

from annotation.labels.columns import Ints, MultiColumn, SingleColumn

from .folding import has_value


def cross(rows: SingleColumn | MultiColumn, columns: SingleColumn | MultiColumn) -> Ints:
    """R × C: the number of parts with both categories; of sets, each pair of their categories counts."""
    shape = (len(rows.categories), len(columns.categories))
    if isinstance(rows, SingleColumn) and isinstance(columns, SingleColumn):
        keys = np.multiply(rows.codes, shape[1], dtype=np.int64) + columns.codes
        both = (rows.codes >= 0) & (columns.codes >= 0)
        return np.bincount(keys if both.all() else keys[both], minlength=shape[0] * shape[1]).reshape(shape)
    both = has_value(rows) & has_value(columns)
    found: Ints = (_membership(rows, both).T @ _membership(columns, both)).toarray()
    return found


def _membership(column: SingleColumn | MultiColumn, among: np.ndarray) -> scipy.sparse.csr_array:
    """N × K ones and zeros."""
    if isinstance(column, SingleColumn):
        rows = np.flatnonzero(among & (column.codes >= 0))
        codes = column.codes[rows]
    else:
        kept = among[column.rows]
        rows, codes = column.rows[kept], column.codes[kept]
    ones = np.ones(len(rows), dtype=np.int64)
    return scipy.sparse.csr_array((ones, (rows, codes)), shape=(len(among), len(column.categories)))
