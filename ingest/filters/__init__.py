"""Chooses issues: a filter is read word by word and taken step by step, and every step is counted."""

from ingest.filters.fixes import STRATA_BY_FIX
from ingest.filters.frames import STRATA, Count, Frame, frame, strata_of
from ingest.filters.reading import WORDS, Word, as_document, read
from ingest.filters.steps import Step, steps

__all__ = [
    "STRATA", "STRATA_BY_FIX", "WORDS", "Count", "Frame", "Step", "Word", "as_document", "frame", "read", "steps",
    "strata_of",
]  # fmt: skip
