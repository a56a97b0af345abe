"""Filters that choose issues: read word by word, applied step by step, and counted after each step."""

from ingest.filters.conditions import FilterStep
from ingest.filters.fixes import STRATA_BY_FIX
from ingest.filters.frames import STRATA, Count, Frame, frame, strata_of
from ingest.filters.registry import WORDS, Word, as_document, read, steps

__all__ = [
    "STRATA",
    "STRATA_BY_FIX",
    "WORDS",
    "Count",
    "FilterStep",
    "Frame",
    "Word",
    "as_document",
    "frame",
    "read",
    "steps",
    "strata_of",
]  # fmt: skip
