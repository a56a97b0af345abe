"""Names in the code: a class name has one meaning, and identifiers are American English."""

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from django.core.management import get_commands, load_command_class

ROOT = Path(__file__).resolve().parent.parent
PRODUCT = ("accounts", "agreement", "annotation", "config", "ingest", "shared", "taxonomy")

OF_DJANGO = {"Command", "Meta"}

TWO_MODELS = {"Spelling"}
"""Models of two apps: the name of a model is in that of its table."""

BRITISH = re.compile(
    r"labell|modell|travell|cancell|colour|behaviour|favour|honour|neighbour|centre|grey|catalogue|dialogue|licence|"
    r"defence|judgement|spoilt|analys(e|ed|ing)$|[a-z]{2,}is(e|ed|es|er|ing|ation)$"
)
ISE = re.compile(
    r"analyses|(advi|ari|compri|conci|enterpri|exerci|improvi|(white)?noi|otherwi|pairwi|preci|promi|rai|revi|supervi|"
    r"surpri)s(e|ed|es|er|ing)$"
)
"""Words that end so in America, too."""

CONTRACT = {"cancelled", "licence", "licences", "pseudonymise"}
"""A stored state, and a column and options that REST, forms and study files name."""


@cache
def files() -> dict[str, str]:
    """The text of every Python file that is written by hand, by its path."""
    folders = (*PRODUCT, "bench", "tests")
    paths = [path for each in folders for path in sorted((ROOT / each).rglob("*.py")) if "migrations" not in path.parts]
    return {str(path.relative_to(ROOT)): path.read_text(encoding="utf-8") for path in paths}


def identifiers(tree: ast.Module) -> Iterator[tuple[str, int]]:
    """Names that a file gives to classes, functions, arguments, variables, attributes and imports, with their lines."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            yield node.name, node.lineno
        elif isinstance(node, ast.arg):
            yield node.arg, node.lineno
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id, node.lineno
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield node.attr, node.lineno
        elif isinstance(node, ast.alias) and node.asname:
            yield node.asname, node.lineno


@cache
def british(identifier: str) -> str | None:
    """The first word of an identifier that an American spells in another way."""
    for word in re.sub(r"([a-z])([A-Z])", r"\1_\2", identifier).lower().split("_"):
        if BRITISH.match(word) and not ISE.match(word) and word not in CONTRACT:
            return word
    return None


def test_a_class_name_has_one_meaning() -> None:
    places = defaultdict(list)
    for path, text in files().items():
        if path.startswith(PRODUCT):
            for name in re.findall(r"^class (\w+)", text, re.MULTILINE):
                places[name].append(path)
    twice = {name: each for name, each in places.items() if len(each) > 1 and name not in OF_DJANGO | TWO_MODELS}
    assert not twice, twice


@pytest.mark.parametrize(
    ("identifier", "word"),
    [
        ("labelling_has_begun", "labelling"),
        ("isColoured", "coloured"),
        ("n_normalised", "normalised"),
        ("Centre", "centre"),
        ("analyse", "analyse"),
        ("organisation", "organisation"),
        *[(each, None) for each in ("analyses", "raised", "promises", "CANCELLED", "labeled", "otherwise", "noise")],
    ],
)
def test_british_words_are_seen(identifier: str, word: str | None) -> None:
    assert british(identifier) == word


def test_identifiers_are_american() -> None:
    found = []
    for path, text in files().items():
        if any(map(british, set(re.findall(r"[A-Za-z_]\w+", text)))):
            found += [f"{path}:{line}: {name}" for name, line in identifiers(ast.parse(text)) if british(name)]
    assert not found, "\n".join(found)


def test_commands_begin_without_loading_every_page() -> None:
    """Django's checks of the settings import all pages, which takes a second: `manage.py check` makes them."""
    own = {name: app for name, app in get_commands().items() if app in PRODUCT}
    assert len(own) >= 15
    assert [name for name, app in own.items() if load_command_class(app, name).requires_system_checks] == []
