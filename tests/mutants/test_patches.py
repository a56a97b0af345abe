"""Patches of the mutants: each still applies, so that none is taken for killed because it changes nothing."""

import re
import subprocess
from pathlib import Path

from tests.mutants.__main__ import lines_of_function

FOLDER = Path(__file__).resolve().parent
ROOT = FOLDER.parent.parent


def test_every_patch_still_applies() -> None:
    lost = []
    for path in sorted(FOLDER.glob("*.patch")):
        done = subprocess.run(
            ["git", "apply", "--check", str(path)], cwd=ROOT, capture_output=True, text=True, check=False
        )
        lost += [f"{path.name}: {done.stderr.strip()}"] if done.returncode else []
    assert not lost, "Make these patches anew, for the code as it is now."


def test_what_a_patch_touches_is_there() -> None:
    named = [
        place
        for path in FOLDER.glob("*.patch")
        for place in re.findall(r"^Touches: (\S+):(\w+)$", path.read_text(), re.M)
    ]
    assert len(named) > 10 and all(lines_of_function(path, name) for path, name in named)
