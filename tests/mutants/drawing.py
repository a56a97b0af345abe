"""Mutants drawn by seed from the functions that most commits changed, one small break in each.

`python -m tests.mutants.drawing --seed 16 --n 30` prints the drawn functions and writes one patch for each. A drawn
patch is a proposal: whoever commits it has read it, and replaces one that changes nothing that can be observed.
"""

import ast
import difflib
import random
import re
import subprocess
from argparse import ArgumentParser
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

SOURCES = ("accounts", "agreement", "annotation", "config", "ingest", "shared", "taxonomy")
MOST_CHANGED = 300
"""Functions are drawn from as many, those that most commits changed."""
ROOT = Path(__file__).resolve().parent.parent.parent
FOLDER = Path(__file__).resolve().parent
COMPARISONS: dict[type[ast.cmpop], str] = {
    ast.Eq: "!=", ast.NotEq: "==", ast.Lt: "<=", ast.LtE: "<", ast.Gt: ">=", ast.GtE: ">",
    ast.In: "not in", ast.NotIn: "in", ast.Is: "is not", ast.IsNot: "is",
}  # fmt: skip


@dataclass(frozen=True)
class Function:
    path: str
    name: str
    first: int
    last: int


def functions(path: str, source: str) -> Iterator[Function]:
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef):
            yield Function(path, node.name, node.lineno, node.end_lineno or node.lineno)


def weights() -> Counter[tuple[str, str]]:
    """How many commits changed each function, by path and name as the hunk headers of the history name them."""
    log = ["git", "log", "-U0", "--no-color", "--format=%x00", "--", *SOURCES]
    text = subprocess.run(log, cwd=ROOT, check=True, capture_output=True, text=True, errors="replace").stdout
    found: Counter[tuple[str, str]] = Counter()
    for commit in text.split("\0"):
        changed: set[tuple[str, str]] = set()
        path = ""
        for line in commit.splitlines():
            if line.startswith("+++ b/"):
                path = line.removeprefix("+++ b/")
            elif match := re.match(r"@@ .* @@.*\bdef (\w+)", line):
                changed.add((path, match[1]))
        found.update(changed)
    return found


def breaks(source: str, function: Function) -> list[tuple[str, str]]:
    """Small breaks of a function: what each does, and the whole source with it."""
    lines = source.splitlines(keepends=True)
    found: list[tuple[str, str]] = []

    def change(node: ast.expr | ast.stmt, what: str, text: str) -> None:
        if node.end_lineno is None or node.end_col_offset is None:
            return
        head = lines[node.lineno - 1].encode()[: node.col_offset].decode()
        tail = lines[node.end_lineno - 1].encode()[node.end_col_offset :].decode()
        made = "".join([*lines[: node.lineno - 1], head + text + tail, *lines[node.end_lineno :]])
        try:
            ast.parse(made)
        except SyntaxError:
            return
        found.append((f"{what} in {function.name}", made))

    for node in ast.walk(ast.parse(source)):
        at = getattr(node, "lineno", 0)
        if not function.first < at <= function.last:
            continue
        if isinstance(node, ast.Compare) and len(node.ops) == 1 and type(node.ops[0]) in COMPARISONS:
            left, right = ast.get_source_segment(source, node.left), ast.get_source_segment(source, node.comparators[0])
            sign = COMPARISONS[type(node.ops[0])]
            change(node, f"comparison becomes {sign}", f"{left} {sign} {right}")
        elif isinstance(node, ast.BoolOp):
            sign = "or" if isinstance(node.op, ast.And) else "and"
            parts = [f"({ast.get_source_segment(source, each)})" for each in node.values]
            change(node, f"condition is joined by {sign}", f"({f' {sign} '.join(parts)})")
        elif isinstance(node, ast.If):
            change(node.test, "condition is never true", "False")
        elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
            change(node, "call is left out", "pass")
        elif isinstance(node, ast.Constant) and type(node.value) is int:
            change(node, "number is one more", str(node.value + 1))
        elif isinstance(node, ast.Constant) and type(node.value) is bool:
            change(node, "truth is turned around", str(not node.value))
        elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            change(node, "not is left out", ast.get_source_segment(source, node.operand) or "")
    return found


def draw(seed: int, n: int) -> Iterator[tuple[Function, int, str, str]]:
    """Functions with their number of commits, what is broken, and the patch; no function and no file twice."""
    by_name = {
        (each.path, each.name): each
        for path in sorted(str(p.relative_to(ROOT)) for source in SOURCES for p in (ROOT / source).rglob("*.py"))
        if "/migrations/" not in path
        for each in functions(path, (ROOT / path).read_text())
    }
    often = Counter({key: n_commits for key, n_commits in sorted(weights().items()) if key in by_name})
    weighted = often.most_common(MOST_CHANGED)
    chance = random.Random(seed)
    seen: set[str] = set()
    while len(seen) < n:
        [(key, n_commits)] = chance.choices(weighted, weights=[n_commits for _, n_commits in weighted])
        function = by_name[key]
        source = (ROOT / function.path).read_text()
        possible = breaks(source, function)
        if function.path in seen or not possible:
            continue
        seen.add(function.path)
        what, made = chance.choice(possible)
        diff = difflib.unified_diff(
            source.splitlines(keepends=True), made.splitlines(keepends=True), f"a/{function.path}", f"b/{function.path}"
        )
        yield function, n_commits, what, "".join(diff)


def main() -> None:
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--n", type=int, default=30)
    asked = parser.parse_args()
    for number, (function, n_commits, what, diff) in enumerate(draw(asked.seed, asked.n), start=1):
        name = f"drawn-{number:02}-{function.name.strip('_').replace('_', '-')}.patch"
        (FOLDER / name).write_text(f"What: {what}\nDrawn: seed {asked.seed}, changed by {n_commits} commits\n\n{diff}")
        print(f"{name}: {function.path}:{function.first} {what} ({n_commits} commits)")


if __name__ == "__main__":
    main()
