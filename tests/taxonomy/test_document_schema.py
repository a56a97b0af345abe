"""The JSON Schema of documents: it is valid, published, the one the check uses, and says what the check says."""

import json
import re
import time
from copy import deepcopy
from dataclasses import fields
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.test import Client
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from ruamel.yaml import YAML

from shared.names import wrong_in
from taxonomy import schema
from taxonomy.checking import check, load
from taxonomy.errors import DocumentProblem, InvalidDocument
from taxonomy.kinds import KINDS
from taxonomy.parsing import read
from taxonomy.ready_made import presets
from taxonomy.schema import AppliesWhen, CategorySpec, DimensionSpec, Document
from tests.simulation import examples
from tests.taxonomy.test_documents import WHOLE

ADDRESS = "/api/v1/taxonomies/schema.json"
PUBLISHED = Draft202012Validator(schema.SCHEMA)

# Sentences about what no schema can say: what is the same in two places, what a name refers to, what depends on depth.
BEYOND_A_SCHEMA = re.compile(
    "Another |is no category|is no dimension|There is no dimension|comes later|wait for each other|ends up below itself"
    "|named twice|given twice|answered by true|a condition needs categories|stands below|nothing stands below it"
    "|nested too deeply|^Dimension “.*” not found|can't be stored|has no category|is a document of"
)


def problems(text: str) -> tuple[DocumentProblem, ...]:
    try:
        load(text)
    except InvalidDocument as error:
        return error.problems
    return ()


def as_editors_read(text: str) -> Any:
    """The values of a YAML text as an editor checks them: numbers are numbers."""
    return YAML(typ="safe", pure=True).load(text)


def test_it_is_a_json_schema_and_says_of_each_field_what_it_is_for() -> None:
    Draft202012Validator.check_schema(schema.SCHEMA)
    parts = [schema.SCHEMA, *(schema.SCHEMA["$defs"][name] for name in ("dimension", "category", "condition"))]
    for part in parts:
        assert part["additionalProperties"] is False
        for name, field in part["properties"].items():
            assert field["title"], name
            assert len(field["description"]) > 20, name


@pytest.mark.parametrize(
    ("kind", "known"),
    [
        (Document, schema.DOCUMENT_FIELDS),
        (DimensionSpec, schema.DIMENSION_FIELDS),
        (CategorySpec, schema.CATEGORY_FIELDS),
    ],
)
def test_it_has_the_fields_that_the_code_has(kind: type, known: tuple[str, ...]) -> None:
    assert tuple(field.name for field in fields(kind) if field.name != "stated") == known


@pytest.mark.django_db
@pytest.mark.parametrize("who", ["anonymous", "signed in"])
def test_anyone_can_read_it_and_keeps_it_by_its_etag(who: str, django_user_model: Any) -> None:
    client = Client()
    if who == "signed in":
        client.force_login(django_user_model.objects.create_user("maria"))
    answer = client.get(ADDRESS)
    assert (answer.status_code, answer.headers["Content-Type"]) == (200, "application/schema+json")
    assert answer.json() == schema.SCHEMA
    assert "max-age=3600" in answer.headers["Cache-Control"]
    again = client.get(ADDRESS, headers={"If-None-Match": answer.headers["ETag"]})
    assert (again.status_code, again.content) == (304, b"")
    assert client.get(ADDRESS, headers={"If-None-Match": '"another"'}).status_code == 200


@pytest.mark.django_db
def test_it_can_only_be_read() -> None:
    for method in ("post", "put", "delete"):
        assert getattr(Client(), method)(ADDRESS).status_code == 405
    assert Client().get("/api/v1/taxonomies/schema.jsonx").status_code == 404


def test_the_command_prints_it(capsys: pytest.CaptureFixture[str]) -> None:
    call_command("dump_taxonomy", "--schema")
    assert json.loads(capsys.readouterr().out) == schema.SCHEMA
    with pytest.raises(CommandError, match="--schema"):
        call_command("dump_taxonomy")


@pytest.mark.parametrize("preset", presets(), ids=lambda preset: preset.name)
def test_the_ready_made_taxonomies_are_valid_by_it(preset: Any) -> None:
    PUBLISHED.validate(as_editors_read(preset.text))


SPOILED = {
    "a field nobody knows": ("    kind: single ", "    knid: x\n    kind: single "),
    "no title": ("title: Faults in distributed training\n", ""),
    "a kind nobody knows": ("kind: single  ", "kind: singel  "),
    "a key with blanks": ("key: how-to", "key: How to"),
    "a key with a number below nothing": ("key: how-to", "key: -1"),
    "a text for true": ("required: true", "required: 'true'"),
    "one line for a list": ("include: [what belongs here]", "include: what belongs here"),
    "an entry of nothing but blanks": ("include: [what belongs here]", "include: [' ']"),
    "a name of two lines": ("name: Fault}", 'name: "a\\nb"}'),
    "a name too long": ("name: Fault}", f"name: {'x' * 201}}}"),
    "an empty name": ("name: Fault}", "name: ''}"),
    "categories of a boolean": ("kind: boolean,", "kind: boolean, categories: [{key: a, name: A}],"),
    "no categories": ("kind: text\n", "kind: ordinal\n"),
    "nothing for categories": ("kind: text\n", "kind: multi\n    categories:\n"),
    "a condition in a line": ("{dimension: kind, is: [fault]}", "kind=fault"),
    "a condition without answers": ("is: [fault]", "is: []"),
    "a shortcut of two signs": ("shortcut: h", "shortcut: hh"),
    "was in a line": ("was: [comm-setup]", "was: comm-setup"),
    "no dimensions": (WHOLE[WHOLE.index("dimensions:") :], "dimensions: []\n"),
}


@pytest.mark.parametrize("case", SPOILED.values(), ids=SPOILED.keys())
def test_what_it_refuses_the_check_refuses_and_an_editor_sees_it_too(case: tuple[str, str]) -> None:
    old, new = case
    assert old in WHOLE
    text = WHOLE.replace(old, new, 1)
    assert problems(text)
    assert not PUBLISHED.is_valid(as_editors_read(text))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("name: Fault}", "name: 2020}"),
        ("name: Fault}", "name: 1.5}"),
        ("name: Fault}", "name: true}"),
        ("name: Fault}", "name: yes}"),
        ("name: Fault}", "name: 'null'}"),
        ("key: how-to", "key: 12"),
        ("note: what this version is", "note:"),
        ("include: [what belongs here]", "include:"),
        ("include: [what belongs here]", "include: [12, no]"),
        ("shortcut: h", "shortcut: 7"),
        ("shortcut: h", "shortcut: "),
        ("name: Fault}", "name: Fault, parent: }"),
        ("required: true", "applies_when: # always"),
    ],
)
def test_what_the_check_takes_an_editor_takes(old: str, new: str) -> None:
    assert old in WHOLE
    text = WHOLE.replace(old, new, 1)
    assert problems(text) == ()
    PUBLISHED.validate(as_editors_read(text))


PIECES = st.recursive(
    st.sampled_from(["", " ", "a", "a-b", "A b", "fault", "kind", "single", "boolean", "x" * 101, "x" * 201, "a\nb"])
    | st.sampled_from([None, True, False]),
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.dictionaries(st.sampled_from(["key", "name", "is", "dimension", "categories", "x"]), inner, max_size=3)
    ),
    max_leaves=4,
)


@st.composite
def changed(draw: st.DrawFn) -> Any:
    """The whole example with up to three of its values replaced, removed or added."""
    whole: Any = deepcopy(schema.plain(load(WHOLE)))
    for _ in range(draw(st.integers(0, 3))):
        at = whole
        while True:
            steps = list(at) if isinstance(at, dict) else range(len(at))
            if not steps:
                break
            step = draw(st.sampled_from(steps))
            if isinstance(at[step], dict | list) and at[step] and draw(st.booleans()):
                at = at[step]
                continue
            deed = draw(st.sampled_from(["replace", "remove", "add"]))
            if deed == "replace":
                at[step] = draw(PIECES)
            elif deed == "remove":
                del at[step]
            elif isinstance(at, dict):
                at[draw(st.sampled_from([*schema.CATEGORY_FIELDS, *schema.DIMENSION_FIELDS, "parent"]))] = draw(PIECES)
            else:
                at.append(draw(PIECES))
            break
    return whole


@pytest.mark.slow
@settings(max_examples=examples(150), deadline=None)
@given(changed())
def test_the_check_finds_fault_with_the_structure_just_where_the_published_schema_does(document: Any) -> None:
    text = json.dumps(document)
    found = problems(text)
    of_structure = [each for each in found if not BEYOND_A_SCHEMA.search(each.sentence)]
    assert bool(of_structure) == (not PUBLISHED.is_valid(document)), (document, found)
    if not found:
        PUBLISHED.validate(schema.plain(load(text)))


WORDS_OF_YAML = "yes no null ~ true 1.0 0x1 1e3 2020-01-01 #1 *x &x !x %x @x `x` 'x \"x [a {a a] --- ... << = ? -"
NO_WORDS = tuple(WORDS_OF_YAML.split())
NO_LINES = (
    "a: b",
    "a #b",
    "- a",
    "? x",
    ": x",
    "> 5",
    "| x",
    "\\n",
    "😀 crash",
    "训练",
    "x\u200dy",
    "x\u00a0y",
    "\ufffd",
)
BREAKS = (
    "x\n\n",
    "\n\nx",
    "x\n  y\n",
    "\ta\n\tb",
    "a\r\nb\r\n",
    "a\rb",
    "a\n\n\nb",
    "x \ny",
    "a\x85b",
    "a\u2028b\u2029c",
)
BLOCKS = (
    "  leading",
    "trailing  ",
    "a: 1\n- b\n# c\n",
    "|\n  a",
    "\ufeffa",
    "```diff\n- a = 1\n+ a = 2\n```\n",
    "---\nx\n...\n",
)
LONG = ("word " * 4_000, "x" * 20_000, "line of an issue\n" * 1_000)
EMPTY = ("", " ", "\n", "\r\n")


def with_texts(text: str, entry: str, name: str) -> Document:
    category = CategorySpec(key="a", name=name, definition=text, include=(entry,), examples=(entry, "x"))
    dimension = DimensionSpec(key="d", title=name, kind="single", help=text, categories=(category,))
    return Document(slug="s", title=name, note=text, dimensions=(dimension,))


def assert_comes_out_as_it_went_in(document: Document) -> None:
    written = schema.dump(document)
    assert load(written) == document
    assert load(json.dumps(schema.plain(document))) == document
    as_read = as_editors_read(written)
    assert as_read == schema.plain(document)
    PUBLISHED.validate(as_read)


@pytest.mark.parametrize(
    "text", [*NO_WORDS, *NO_LINES, *BREAKS, *BLOCKS, *LONG, *EMPTY], ids=lambda text: repr(text[:12])
)
def test_an_odd_text_comes_out_as_it_went_in_wherever_it_stands(text: str) -> None:
    entry = text if text.strip() else "x"
    name = text if text in {*NO_WORDS, *NO_LINES} else "x"
    assert_comes_out_as_it_went_in(with_texts(text, entry, name))


ODD_TEXTS = st.sampled_from([*NO_WORDS, *NO_LINES, *BREAKS, *BLOCKS, *EMPTY]) | st.text(
    st.characters(exclude_categories=["Cs", "Cc", "Cn"], include_characters="\n\t"), max_size=30
)
WORDS = st.sampled_from([*NO_WORDS, *NO_LINES])
ODD_LINES = WORDS | st.text(
    st.characters(exclude_categories=["Cs", "Cc", "Cn", "Zl", "Zp"]), min_size=1, max_size=30
).map(str.strip).filter(lambda line: line and not wrong_in(line))
ODD_ENTRIES = st.lists(ODD_TEXTS.filter(str.strip), max_size=3).map(tuple)


@st.composite
def odd_documents(draw: st.DrawFn) -> Document:
    numbers = iter(range(1000))

    def category(depth: int) -> CategorySpec:
        number = next(numbers)
        below = tuple(category(depth + 1) for _ in range(draw(st.integers(0, 2 if depth < 2 else 0))))
        stated = draw(st.sets(st.sampled_from(["definition", "include", "selectable"])))
        spec = CategorySpec(
            key=draw(st.sampled_from(["null-{}", "{}", "1-{}", "true_{}", "no-{}"])).format(number),
            name=f"{draw(ODD_LINES)} {number}",
            definition=draw(ODD_TEXTS),
            include=draw(ODD_ENTRIES),
            exclude=draw(ODD_ENTRIES),
            examples=draw(ODD_ENTRIES),
            shortcut=chr(0x4E00 + number) if draw(st.booleans()) else "",
            selectable=not below or draw(st.booleans()),
            was=draw(st.sampled_from([(), ("a-b",), ("true", "12"), ("null",)])),
            categories=below,
        )
        kept = frozenset(name for name in stated if getattr(spec, name) == schema.DEFAULTS[name])
        return CategorySpec(**{**spec.__dict__, "stated": kept})

    kind = draw(st.sampled_from([name for name, each in KINDS.items() if each.has_categories]))
    first = DimensionSpec(key="1", title=draw(ODD_LINES), kind=kind, categories=(category(0), category(0)))
    second = DimensionSpec(
        key="null",
        title=draw(ODD_LINES),
        kind="boolean",
        required=draw(st.booleans()),
        applies_when=AppliesWhen("1", (first.categories[1].key,)),
        help=draw(ODD_TEXTS),
    )
    third = DimensionSpec(key="yes", title="1.0", kind="number", applies_when=AppliesWhen("null", (True, False)))
    return Document(slug="12", title=draw(ODD_LINES), note=draw(ODD_TEXTS), dimensions=(first, second, third))


@pytest.mark.slow
@settings(max_examples=examples(40), deadline=None)
@given(odd_documents())
def test_any_document_comes_out_as_it_went_in_however_odd_its_texts(document: Document) -> None:
    assert_comes_out_as_it_went_in(document)
    assert schema.dump(load(schema.dump(document))) == schema.dump(document)


def of_size(n: int) -> Any:
    """A document of n categories, ten below each of the first level, as full as real ones are."""
    whole: list[Any] = []
    for number in range(n):
        category = {
            "key": f"c{number}",
            "name": f"Name {number}",
            "definition": "One sentence that says when this category is chosen.",
            "include": ["what belongs here", "and this"],
            "exclude": ["what does not: another"],
            "examples": ["stuck at barrier after the first step"],
        }
        if number % 10:
            whole[-1]["categories"].append(category)
        else:
            whole.append({**category, "categories": []})
    dimension = {"key": "d", "title": "D", "kind": "single", "categories": whole}
    return {"slug": "s", "title": "T", "dimensions": [dimension]}


@pytest.mark.slow
@pytest.mark.parametrize(("n", "seconds"), [(300, 0.3), (2_000, 1.5)])
def test_a_check_takes_milliseconds_for_three_hundred_categories(n: int, seconds: float) -> None:
    root = read(json.dumps(of_size(n)))
    taken = []
    for _ in range(3):
        started_at = time.process_time()
        check(root)
        taken.append(time.process_time() - started_at)
    assert min(taken) < seconds
