"""Chooses issues: a filter is read word by word and taken step by step, and every step is counted."""

from ingest.filters.conditions import Step
from ingest.filters.fixes import STRATA_BY_FIX
from ingest.filters.frames import STRATA, Count, Frame, frame, strata_of
from ingest.filters.registry import WORDS, Word, as_document, read, steps

__all__ = [
    "STRATA", "STRATA_BY_FIX", "WORDS", "Count", "Frame", "Step", "Word", "as_document", "frame", "read", "steps",
    "strata_of",
]  # fmt: skip
