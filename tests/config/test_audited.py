"""The audit of packages fails for what is known, and says when it could not look."""

import json

import pytest

from tests.audited import said

FINE = {"name": "django", "version": "5.2.19", "vulns": []}
BAD = {"name": "old", "version": "1.0", "vulns": [{"id": "PYSEC-1", "fix_versions": ["1.1"], "description": "x"}]}
UNKNOWN = {"name": "other", "version": "1.0", "skip_reason": "not found"}


@pytest.mark.parametrize(
    ("rows", "status", "words"),
    [
        ([FINE], 0, "1 packages have no known vulnerability."),
        (
            [FINE, UNKNOWN],
            0,
            "1 packages have no known vulnerability.\n"
            "Not looked up, for the source of advisories does not know them: other.",
        ),
        ([UNKNOWN, UNKNOWN], 0, "Packages were not audited: the source of advisories within reach knows none of them."),
        ([FINE, BAD, BAD], 1, "Packages with known vulnerabilities:\nold 1.0: PYSEC-1, mended in 1.1"),
        (
            [BAD, UNKNOWN],
            1,
            "Packages with known vulnerabilities:\nold 1.0: PYSEC-1, mended in 1.1\n"
            "Not looked up, for the source of advisories does not know them: other.",
        ),
        ([], 0, "Packages were not audited: the source of advisories within reach knows none of them."),
    ],
)
def test_what_is_known_fails_and_what_is_not_is_said(rows: list[dict[str, object]], status: int, words: str) -> None:
    assert said(json.dumps({"dependencies": rows})) == (status, words)


@pytest.mark.parametrize("answer", ["", "Connection refused", "[]", "{}"])
def test_without_a_source_it_was_not_looked(answer: str) -> None:
    assert said(answer) == (0, "Packages were not audited: no source of advisories is within reach.")
