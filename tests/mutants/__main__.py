"""Small breaks of Concord, and whether the tests see them: `python -m tests.mutants cover`, then `… run`.

`cover` runs the suite once and records which test touches which line. `run` applies each patch of this folder to a
copy of the last commit, runs the tests that touch what it changes, quickest first, and stops at the first failure. A
patch begins with `What:` and may have lines `Touches: path:function` where coverage can't see what it changes (SQL, a
template, a script), and `Tests: path` for tests whose code runs in another process.
"""

import ast
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from argparse import ArgumentParser
from collections.abc import Iterable, Iterator
from difflib import SequenceMatcher
from pathlib import Path

import coverage

from tests.mutants.recording import FOLDER as RECORDED

ROOT = Path(__file__).resolve().parent.parent.parent
FOLDER = Path(__file__).resolve().parent
LIMIT_SECONDS = 1800


def cover(arguments: list[str]) -> int:
    shutil.rmtree(RECORDED, ignore_errors=True)
    command = [sys.executable, "-m", "pytest", "-m", "not soak", "-p", "tests.mutants.recording", "-q", *arguments]
    ended = subprocess.run(command, cwd=ROOT).returncode
    whole = coverage.Coverage(data_file=str(RECORDED / "whole"), config_file=False)
    whole.combine([str(path) for path in RECORDED.glob("coverage.*")], strict=True)
    whole.save()
    seconds: dict[str, float] = {}
    for path in RECORDED.glob("durations.*.json"):
        for test, each in json.loads(path.read_text()).items():
            seconds[test] = max(each, seconds.get(test, 0.0))
    (RECORDED / "durations.json").write_text(json.dumps(seconds))
    return ended


def changed_lines(patch: str) -> Iterator[tuple[str, set[int]]]:
    """The lines that a patch replaces, by file, as they are before it; of an insertion the lines around it.

    The numbers in a patch are those of the day when it was made: the lines are looked for as `git apply` finds them.
    """
    paths = re.findall(r"^--- a/([^\t\n]+)", patch, re.M)
    with tempfile.TemporaryDirectory(prefix="concord-mutant-") as name:
        copy = Path(name)
        for path in paths:
            (copy / path).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / path, copy / path)
        subprocess.run(["git", "apply", "-"], cwd=copy, input=patch, text=True, capture_output=True)
        for path in paths:
            before, after = ((folder / path).read_text().splitlines() for folder in (ROOT, copy))
            lines: set[int] = set()
            for kind, first, last, _, _ in SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
                if kind == "insert":
                    lines.update({first, first + 1})
                elif kind != "equal":
                    lines.update(range(first + 1, last + 1))
            yield path, lines


def lines_of_function(path: str, name: str) -> set[int]:
    for node in ast.walk(ast.parse((ROOT / path).read_text())):
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and node.name == name:
            return set(range(node.lineno + 1, (node.end_lineno or node.lineno) + 1))
    raise SystemExit(f"{path} has no {name}.")


def statement_lines(path: str, lines: set[int]) -> set[int]:
    """The first lines of the statements that these lines belong to: coverage counts statements by those."""
    found: set[int] = set()
    nodes = [each for each in ast.walk(ast.parse((ROOT / path).read_text())) if isinstance(each, ast.stmt)]
    for line in lines:
        around = [each for each in nodes if each.lineno <= line <= (each.end_lineno or each.lineno)]
        if around:
            found.add(max(around, key=lambda each: each.lineno).lineno)
    return found


def tests_of(patch: str, data: coverage.CoverageData, seconds: dict[str, float]) -> list[str]:
    """The tests that touch what a patch changes, the quickest first; then those that the patch names."""
    touched: dict[str, set[int]] = {
        path: statement_lines(path, lines) for path, lines in changed_lines(patch) if path.endswith(".py")
    }
    for path, name in re.findall(r"^Touches: (\S+):(\w+)$", patch, re.M):
        touched.setdefault(path, set()).update(lines_of_function(path, name))
    found: set[str] = set()
    for path, lines in touched.items():
        by_line = data.contexts_by_lineno(str(ROOT / path))
        found |= {test for line in lines for test in by_line.get(line, ()) if test}
    named = [path for path in re.findall(r"^Tests: (\S+)$", patch, re.M) if path not in found]
    return sorted(found, key=lambda test: seconds.get(test, 0.0)) + named


def copy_of_commit(to: Path) -> None:
    archive = subprocess.run(["git", "archive", "HEAD"], cwd=ROOT, check=True, stdout=subprocess.PIPE).stdout
    subprocess.run(["tar", "-x", "-C", str(to)], input=archive, check=True)
    for name in (".venv", ".github-descriptions"):
        if (ROOT / name).exists():
            (to / name).symlink_to(ROOT / name)
    if (ROOT / ".pytest_cache").exists():  # it keeps the tables; of a changed migration the copy makes its own
        shutil.copytree(ROOT / ".pytest_cache", to / ".pytest_cache")


def verdict(patch: Path, tests: list[str], processes: int) -> tuple[str, float]:
    """`killed by TEST`, `survived`, or `invalid` with the reason; and the seconds it took."""
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="concord-mutant-") as name:
        copy = Path(name)
        copy_of_commit(copy)
        applied = subprocess.run(
            ["git", "apply", "-"], cwd=copy, input=patch.read_text(), text=True, capture_output=True
        )
        if applied.returncode:
            return f"invalid: {applied.stderr.strip()}", 0.0
        named = copy / "tests.txt"
        named.write_text("\n".join(tests))
        command = [sys.executable, "-m", "pytest", "-q", "-x", "-m", "not soak"]
        command += ["-p", "no:randomly", "-p", "tests.mutants.ordering"]
        command += ["-n", str(processes), f"@{named}"]
        try:
            done = subprocess.run(
                command, cwd=copy, capture_output=True, text=True, timeout=LIMIT_SECONDS, env={**os.environ}
            )
        except subprocess.TimeoutExpired:
            return "killed by its time limit", time.monotonic() - began
    took = time.monotonic() - began
    if done.returncode == 0:
        return "survived", took
    failed = re.search(r"^(?:FAILED|ERROR) (\S+)", done.stdout, re.M)
    return (f"killed by {failed[1]}" if failed else f"invalid: {done.stdout[-300:]}{done.stderr[-300:]}"), took


def run(patches: Iterable[Path], processes: int, report: Path) -> int:
    data = coverage.CoverageData(str(RECORDED / "whole"))
    data.read()
    seconds = json.loads((RECORDED / "durations.json").read_text())
    done: dict[str, str] = json.loads(report.read_text()) if report.exists() else {}
    for patch in patches:
        if patch.stem in done:
            continue
        tests = tests_of(patch.read_text(), data, seconds)
        said, took = verdict(patch, tests, processes) if tests else ("survived: no test touches it", 0.0)
        if said == "survived":  # what the fixture of a file does is recorded for its first test alone
            said, longer = verdict(patch, sorted({test.partition("::")[0] for test in tests}), processes)
            took += longer
        done[patch.stem] = said
        report.write_text(json.dumps(done, indent=1))
        print(f"{patch.stem}: {said} ({len(tests)} tests touch it, {took:.0f} s)", flush=True)
    survivors = [name for name, said in done.items() if said.startswith("survived")]
    print(f"{len(done) - len(survivors)} of {len(done)} killed. Survivors: {', '.join(survivors) or 'none'}")
    return 0


def main() -> int:
    parser = ArgumentParser(description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("cover")
    running = commands.add_parser("run")
    running.add_argument("names", nargs="*")
    running.add_argument("--processes", type=int, default=2)
    running.add_argument("--report", type=Path, default=RECORDED / "report.json")
    asked, more = parser.parse_known_args()
    if asked.command == "cover":
        return cover(more)
    patches = sorted(FOLDER.glob("*.patch"))
    if asked.names:
        patches = [each for each in patches if each.stem in asked.names]
    return run(patches, asked.processes, asked.report)


if __name__ == "__main__":
    sys.exit(main())
