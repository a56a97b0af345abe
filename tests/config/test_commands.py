"""Commands print what others wrote without letting it control the terminal."""

import io
import json
import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

from config.settings import BASE_DIR
from shared.commands import ConcordCommand

HOSTILE = "\x1b]0;mine\x07\x1b[2Jtitle\u202e\x9b1m"


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


class Told(ConcordCommand):
    def handle(self, *args: object, **options: object) -> None:
        self.stdout.write(f"1\t{HOSTILE}\n2")
        self.stderr.write(HOSTILE)


@pytest.mark.parametrize("is_terminal", [True, False])
def test_a_terminal_gets_no_control_characters_and_a_file_gets_texts_as_they_are(is_terminal: bool) -> None:
    out, err = (Terminal(), Terminal()) if is_terminal else (io.StringIO(), io.StringIO())
    Told(stdout=out, stderr=err, no_color=True).run_from_argv(["manage.py", "told"])
    shown = r"\x1b]0;mine\x07\x1b[2Jtitle\u202e\x9b1m" if is_terminal else HOSTILE
    assert (out.getvalue(), err.getvalue()) == (f"1\t{shown}\n2\n", f"{shown}\n")


def test_every_command_of_concord_is_such_a_command() -> None:
    for path in BASE_DIR.glob("*/management/commands/[a-z]*.py"):
        assert "class Command(ConcordCommand):" in path.read_text(), path


@pytest.mark.process
def test_an_error_about_a_file_controls_no_terminal(tmp_path: Path) -> None:
    path = tmp_path / "taxonomy.json"
    path.write_text(json.dumps({"slug": "s", "title": "T", "dimensions": [], f"notes{HOSTILE}": "x"}))
    ours, theirs = pty.openpty()
    command = [sys.executable, "manage.py", "load_taxonomy", str(path)]
    ended = subprocess.run(command, cwd=BASE_DIR, stdout=theirs, stderr=theirs, check=False)
    os.close(theirs)
    told = os.read(ours, 10_000).decode()
    os.close(ours)
    assert ended.returncode == 1 and "has no field" in told and "\x1b]" not in told and "\x9b" not in told
