"""Kinds of questions: each declares what it is, and a new one needs nothing but its class."""

import ast
import json
import re
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest
from django.conf import settings
from django.db import IntegrityError, transaction
from django.test import Client

from accounts.models import User
from taxonomy import schema
from taxonomy.actions import load_document
from taxonomy.checking import load
from taxonomy.errors import InvalidDocument
from taxonomy.kinds import KINDS, Kind, WrongValue, register
from taxonomy.models import Dimension
from taxonomy.tree import TreeDimension
from tests import builders as make
from tests.made_up_kinds import SLIDER, slider_registered

DOCUMENT = """
slug: sure
title: Sure
dimensions:
  - {key: share, title: Share, kind: slider}
"""


@pytest.mark.parametrize(
    ("name", "column", "is_set"),
    [
        ("single", "category", False),
        ("multi", "category", True),
        ("ordinal", "category", False),
        ("boolean", "boolean", False),
        ("number", "number", False),
        ("text", "text", False),
    ],
)
@pytest.mark.django_db
def test_a_dimension_written_by_the_version_before_has_the_column_of_its_kind(
    name: str, column: str, is_set: bool
) -> None:
    draft = load_document(user=make.user("maria"), text=DOCUMENT.replace("slider", "boolean"))
    row = Dimension.objects.create(version=draft, key="old", title="Old", kind=name, position=9)
    row.refresh_from_db()
    assert (row.value_column, row.is_set) == (column, is_set) == (KINDS[name].column, KINDS[name].is_set)


@pytest.mark.django_db
def test_a_kind_that_no_version_knows_has_to_declare_a_column() -> None:
    draft = load_document(user=make.user("maria"), text=DOCUMENT.replace("slider", "boolean"))
    with pytest.raises(IntegrityError, match="values_have_a_column"), transaction.atomic():
        Dimension.objects.create(version=draft, key="new", title="New", kind="date", position=9)
    Dimension.objects.create(version=draft, key="new", title="New", kind="date", value_column="number", position=9)


@pytest.mark.slow
@pytest.mark.django_db
def test_a_kind_registered_anywhere_is_in_documents_the_schema_and_the_editor(client: Client) -> None:
    with pytest.raises(InvalidDocument, match="is not a kind of dimension"):
        load(DOCUMENT)
    with slider_registered():
        assert schema.dump(load(DOCUMENT)).endswith("kind: slider\n")
        with pytest.raises(InvalidDocument, match="Did you mean “slider”"):
            load(DOCUMENT.replace("slider", "percentage"))
        shown = json.loads(client.get("/api/v1/taxonomies/schema.json").content)["$defs"]["dimension"]
        assert shown["properties"]["kind"]["enum"] == [*KINDS] and "slider" in KINDS
        assert shown["allOf"][1]["if"]["properties"]["kind"]["enum"] == ["boolean", "number", "text", "slider"]
        draft = load_document(user=make.user("maria"), text=DOCUMENT)
        assert list(draft.dimensions.values_list("value_column", "is_set")) == [("number", False)]
        client.force_login(User.objects.get(username="maria"))
        page = client.get(f"/taxonomies/sure/versions/{draft.number}/edit/").content.decode()
        assert '<option value="slider">0 to 100</option>' in page
    assert "slider" not in schema.document_schema()["$defs"]["dimension"]["properties"]["kind"]["enum"]


def test_cells_and_answers_are_read_as_the_kind_says() -> None:
    with slider_registered():
        dimension = load(DOCUMENT).dimensions[0]
        question = TreeDimension(1, dimension.key, dimension.title, dimension.kind, True, None, "", 0)
        assert question.question_kind.read(question, 40) == question.question_kind.read_cell(question, "40") == (40.0,)
        for given in (101, 0.5, True, "40"):
            with pytest.raises(WrongValue, match="number"):
                SLIDER.read(question, given)
        for cell, sentence in (("101", "a whole number from 0 to 100"), ("inf", "“inf”"), ("x", "“x”")):
            with pytest.raises(WrongValue, match=sentence):
                SLIDER.read_cell(question, cell)


def test_a_kind_is_registered_once_and_with_a_column_that_there_is() -> None:
    class Dated(Kind):
        name, column = "dated", "date"

    with pytest.raises(ValueError, match="'date' is no column of values"):
        register(Dated())
    with slider_registered(), pytest.raises(ValueError, match="a kind 'slider' already"):
        register(SLIDER)


NAMES = frozenset(KINDS)
QUOTED = re.compile(rf"""["'](?:{"|".join(NAMES)})["']""")
IN_PAGES = re.compile(rf"""kind\b[^%;]*?(?:==|!=|\bin\b)\s*\S*?["'](?:{"|".join(NAMES)})["']""")


def is_named(node: ast.AST) -> bool:
    """Whether this is the name of a kind, or holds one."""
    return any(isinstance(each, ast.Constant) and each.value in NAMES for each in ast.walk(node))


def is_of_kind(node: ast.AST) -> bool:
    """Whether this is something that is called kind."""
    match node:
        case ast.Attribute(attr=name) | ast.Name(id=name):
            return name == "kind" or name.endswith("_kind")
        case ast.Subscript(slice=ast.Constant(value="kind")):
            return True
        case ast.Call(func=ast.Attribute(attr="kind" | "get"), args=arguments):
            return is_of_kind(node.func) or any(
                isinstance(each, ast.Constant) and each.value == "kind" for each in arguments
            )
    return False


def comparisons(path: Path) -> Iterator[str]:
    """The places of a module that compare a kind with the name of one, or look something up by such names."""
    text = path.read_text()
    for node in ast.walk(ast.parse(text)) if "kind" in text and QUOTED.search(text) else ():
        match node:
            case ast.Compare():
                sides = [node.left, *node.comparators]
                found = any(map(is_of_kind, sides)) and any(map(is_named, sides))
            case ast.Match(subject=subject, cases=cases):
                found = is_of_kind(subject) and any(is_named(each.pattern) for each in cases)
            case ast.Subscript(value=value, slice=key) if not isinstance(key, ast.Constant):
                found = is_of_kind(key) and is_named(value)
            case _:
                continue
        if found:
            yield f"{path}:{node.lineno}"


def test_nothing_asks_what_a_kind_is_called() -> None:
    listed = subprocess.run(["git", "ls-files"], cwd=settings.BASE_DIR, capture_output=True, text=True, check=True)
    files = [
        settings.BASE_DIR / each
        for each in listed.stdout.splitlines()
        if re.match("(annotation|taxonomy|templates|static)/", each)
    ]
    places: list[str] = []
    for path in files:
        if path.suffix == ".py" and "migrations" not in path.parts and path.parent.name != "kinds":
            places += comparisons(path)
        elif path.suffix in (".html", ".js") and (found := IN_PAGES.search(path.read_text())):
            places.append(f"{path}: {found[0]}")
    assert not places


def test_very_many_wrong_categories_are_rejected_in_short_time() -> None:
    known = {f"category-number-{number}": object() for number in range(2_000)}
    question = SimpleNamespace(title="Symptom", by_key=known)
    begun = time.process_time()
    with pytest.raises(WrongValue) as refused:
        KINDS["multi"].read(question, [f"categorx-nomber-{number}" for number in range(20_000)] + ["x" * 1_000_000])
    assert len(refused.value.sentences) == 20
    assert "“categorx-nomber-0” is not a category of “Symptom”. Did you mean “category-number-0”?" in str(refused.value)
    assert time.process_time() - begun < 1


def test_numbers_of_which_nothing_can_be_computed_are_rejected() -> None:
    question = SimpleNamespace(title="Days", by_key={})
    for given in (1e101, -1e308):
        with pytest.raises(WrongValue, match="Enter a number from −1e"):
            KINDS["number"].read(question, given)
        with pytest.raises(WrongValue, match="Enter a number from −1e"):
            KINDS["number"].read_cell(question, repr(given))
    assert KINDS["number"].read(question, -1e100) == (-1e100,)


def test_a_text_of_many_digits_is_no_number_in_short_time() -> None:
    begun = time.process_time()
    for text in ("1" * 20_000 + "x", "1." + "1" * 20_000 + "x", "1" * 20_000 + "e"):
        with pytest.raises(WrongValue, match="is not a number"):
            KINDS["number"].read_cell(SimpleNamespace(title="Days", by_key={}), text)
    assert time.process_time() - begun < 1
    assert [KINDS["number"].parse(text) for text in ("1.", ".5", "-1.5e3", "1 000")] == [1.0, 0.5, -1500.0, "1 000"]
