"""Data that others published, which tests are held against: `tests/data/README.md` names sources and licenses.

The texts of real issues are not part of this repository: tests that read those are marked `needs_vllm`.
"""

from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import pytest

DATA = Path(__file__).resolve().parent / "data"
AGREEMENT_TABLES = DATA / "agreement-tables"
EXCHANGES = DATA / "github-exchanges"
WEBHOOKS = DATA / "github-webhooks"
LIU = DATA / "faults-distributed-training"
"""The labels of Liu et al., TOSEM 2023, doi 10.1145/3597204."""
VLLM = DATA.parent.parent.parent / "shared" / "data" / "issues-vllm" / "issues.jsonl"
"""470 issues of vllm-project/vllm, outside the repository."""
NEEDS_VLLM = (
    pytest.mark.acceptance,
    pytest.mark.skipif(not VLLM.exists(), reason=f"{VLLM} is missing: see Tests in CONTRIBUTING.md"),
)
Test = TypeVar("Test", bound=Callable[..., None])


def needs_vllm(test: Test) -> Test:
    for mark in NEEDS_VLLM:
        test = mark(test)
    return test
