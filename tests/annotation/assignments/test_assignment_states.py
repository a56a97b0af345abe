"""Assignments change their state in one module, and no SQL elsewhere spells a state."""

import re

import pytest

from annotation.models import Assignment
from tests.conftest import BASE_DIR

OWN = {
    "annotation/assignments/actions/states_and_leases.py",
    "annotation/models/labeling.py",
    "annotation/package/recompute.py",
}
FILES = {
    str(path.relative_to(BASE_DIR)): path.read_text()
    for path in sorted((BASE_DIR / "annotation").rglob("*.py"))
    if "migrations" not in path.parts
}
SPELLED = re.compile(rf"state\b[^\n]{{0,30}}'({'|'.join(Assignment.State.values)})'", re.IGNORECASE)
WRITTEN = re.compile(r"\.state = Assignment\.State|\"state\": Assignment\.State|update\([^)]*\bstate=Assignment\.State")


@pytest.mark.parametrize("pattern", [SPELLED, WRITTEN], ids=["spells a state in SQL", "writes a state"])
def test_no_other_module(pattern: re.Pattern[str]) -> None:
    assert pattern.search(
        FILES["annotation/assignments/actions/states_and_leases.py"]
        + " state = 'leased' row.state = Assignment.State.LEASED"
    )
    assert [name for name, text in FILES.items() if name not in OWN and pattern.search(text)] == []
