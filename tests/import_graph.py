"""Import graph of the features of `annotation`, drawn as text; it fails on a file whose name promises that it is pure.

Import-linter (`pyproject.toml`) fails on a cycle and on an import of a feature from one below it. Here is what it
cannot say: every module of a feature whose name is none of `NAMED` is pure, so it imports none of `FRAMEWORKS`.
"""

import ast
import sys
import tomllib
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
NAMED = frozenset({"actions", "api", "forms", "jobs", "queries", "urls", "views"})
"""Files and folders of a feature that may import what they like; `STYLE` of the layers is in `pyproject.toml`."""
FRAMEWORKS = frozenset({"celery", "django", "github", "requests", "rest_framework"})
EXEMPT = frozenset({"core", "models"})
"""Packages of `annotation` that all features rest on."""
PURE = ("agreement", "taxonomy/kinds", "ingest/tables", "ingest/files/json_rows.py", "ingest/search/grammar.py")
"""Pure code outside the features."""


def features() -> list[str]:
    """The features of `annotation`, the highest first: the layers of the import contract."""
    with (ROOT / "pyproject.toml").open("rb") as file:
        contracts = tomllib.load(file)["tool"]["importlinter"]["contracts"]
    layers = next(each["layers"] for each in contracts if each.get("containers") == ["annotation"])
    return [each for each in layers if not each.startswith("(")]


def imported(path: Path) -> Iterator[tuple[int, str]]:
    """Line and dotted name of every import of a file, those in functions included."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, each.name) for each in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield from ((node.lineno, f"{node.module}.{each.name}") for each in node.names)


def impure() -> list[str]:
    """Pure files, by their names, that import a framework: path, line and what they import."""
    paths = [
        path
        for feature in features()
        if feature not in EXEMPT
        for path in sorted((ROOT / "annotation" / feature).rglob("*.py"))
        if not {path.stem, *path.relative_to(ROOT / "annotation" / feature).parts} & NAMED
    ]
    for each in PURE:
        place = ROOT / each
        paths += [place] if place.is_file() else sorted(place.rglob("*.py"))
    return [
        f"{path.relative_to(ROOT)}:{line} imports {name}"
        for path in paths
        for line, name in imported(path)
        if name.partition(".")[0] in FRAMEWORKS or (name.startswith("annotation.") and {*name.split(".")[2:3]} & NAMED)
    ]


def drawn() -> str:
    """A line for each feature: its files and lines of code, and how many imports it has of which feature below it."""
    order = features()
    found: dict[str, Counter[str]] = defaultdict(Counter)
    sizes: dict[str, tuple[int, int]] = {}
    for feature in order:
        paths = sorted((ROOT / "annotation" / feature).rglob("*.py"))
        sizes[feature] = len(paths), sum(len(path.read_text(encoding="utf-8").splitlines()) for path in paths)
        for path in paths:
            for name in {name.split(".")[1] for _, name in imported(path) if name.startswith("annotation.")}:
                found[feature][name] += name != feature
    lines = [f"{'feature':<17}{'files':>6}{'lines':>8}  imports of (files)"]
    for feature in order:
        below = ", ".join(f"{name} {found[feature][name]}" for name in order if found[feature][name])
        lines.append(f"{feature:<17}{sizes[feature][0]:>6}{sizes[feature][1]:>8,}  {below}")
    return "\n".join(lines)


if __name__ == "__main__":
    (ROOT / ".import-graph.txt").write_text(drawn() + "\n", encoding="utf-8")
    if wrong := impure():
        sys.exit("\n".join([*wrong, "By its name it is pure: move it to queries, actions, views, api, forms or jobs."]))
