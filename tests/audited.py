"""`python -m tests.audited`: looks the locked packages up among known vulnerabilities, where that can be done.

Exit status 1 for a vulnerability that is known. Where no source of advisories is within reach, or it does not know the
packages, one line says so and the exit status is 0: then it was not looked, and nothing is promised.
"""

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

SECONDS = 60
BASE_DIR = Path(__file__).resolve().parents[1]
COMMAND = (
    sys.executable, "-m", "pip_audit", "--disable-pip", "--require-hashes", "--requirement", "requirements.lock",
    "--requirement", "requirements-dev.lock", "--format", "json", "--progress-spinner", "off", "--timeout", "10",
)  # fmt: skip


def said(answer: str) -> tuple[int, str]:
    """Exit status and words for what pip-audit found, as JSON."""
    try:
        rows: Sequence[Any] = json.loads(answer)["dependencies"]
    except (ValueError, KeyError, TypeError):
        return 0, "Packages were not audited: no source of advisories is within reach."
    known = [row for row in rows if "skip_reason" not in row]
    unknown = sorted({row["name"] for row in rows if "skip_reason" in row})
    left = [f"Not looked up, for the source of advisories does not know them: {', '.join(unknown)}."] if unknown else []
    lines = [
        f"{row['name']} {row['version']}: {found['id']}, mended in {', '.join(found['fix_versions']) or 'no version'}"
        for row in known
        for found in row["vulns"]
    ]
    if lines:
        return 1, "\n".join(["Packages with known vulnerabilities:", *sorted(set(lines)), *left])
    if not known:
        return 0, "Packages were not audited: the source of advisories within reach knows none of them."
    return 0, "\n".join([f"{len(known)} packages have no known vulnerability.", *left])


def main() -> int:
    try:
        done = subprocess.run(COMMAND, check=False, capture_output=True, text=True, timeout=SECONDS, cwd=BASE_DIR)
        status, words = said(done.stdout)
    except subprocess.TimeoutExpired:
        status, words = 0, f"Packages were not audited: no source of advisories answered within {SECONDS} seconds."
    print(words)
    return status


if __name__ == "__main__":
    sys.exit(main())
