"""Revision of the running code: the commit, from the build or from Git."""

import re
import subprocess
from pathlib import Path

HERE = Path(__file__).resolve().parent
BY_ARCHIVE = "$Format:%H$"
"""Git writes the commit in here when it packs an archive (`export-subst` in .gitattributes)."""
UNKNOWN = "commit unknown"
SECONDS = 5


def commit(given: str, folder: Path = HERE.parent) -> str:
    """`commit` and its 40 digits, with local changes named; the given one is that of an image's build.

    Of a folder that is a Git checkout itself, not of one that lies in another project's.
    """
    if re.fullmatch(r"[0-9a-f]{40}", found := given or BY_ARCHIVE):
        return f"commit {found}"
    if not (folder / ".git").exists():
        return UNKNOWN
    head = _git(folder, "rev-parse", "HEAD")
    changed = _git(folder, "status", "--porcelain", "--untracked-files=no")
    if head is None or changed is None:
        return UNKNOWN
    return f"commit {head}, with local changes" if changed else f"commit {head}"


def _git(folder: Path, *words: str) -> str | None:
    """What Git answers; None where it is missing or refuses, as it does in a folder of another user."""
    command = ["git", "--no-optional-locks", "-C", str(folder), *words]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, check=True)
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip()
