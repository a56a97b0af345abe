"""Taxonomy documents: what is read, what is refused and with which words, and that they come out as they went in."""

import json
import re
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ruamel.yaml import YAML

from shared.names import wrong_in
from taxonomy import parsing, schema
from taxonomy.checking import load
from taxonomy.errors import DocumentProblem, InvalidDocument, UnreadableDocument
from taxonomy.kinds import KINDS
from taxonomy.ready_made import presets
from taxonomy.schema import AppliesWhen, CategorySpec, DimensionSpec, Document
from taxonomy.schema_errors import short
from tests.simulation import examples

WHOLE = """\
slug: training-faults
title: Faults in distributed training
note: what this version is
dimensions:
  - key: kind
    title: Kind of issue
    kind: single              # single, multi, boolean, ordinal, number, text
    required: true            # default true
    categories: [{key: fault, name: Fault}, {key: how-to, name: How-to question}]
  - key: symptom
    title: Symptom
    kind: single
    applies_when: {dimension: kind, is: [fault]}
    help: |
      Two lines,
        one of them indented.
    categories:
      - key: communication-setup
        name: Communication setup
        definition: one sentence or more
        include: [what belongs here]
        exclude: [what does not, and where it goes]
        examples: ["- a = 1\\n+ a = 2\\n", 'RuntimeError: "x" # not a comment']
        was: [comm-setup]
        selectable: false
        categories:
          - {key: communication-setup-hang, name: Hang and timeout, shortcut: h}
  - {key: distributed-only, title: Only when distributed, kind: boolean, required: false}
  - key: why
    title: Why
    kind: text
    applies_when: {dimension: distributed-only, is: [true]}
"""


def problems(text: str, **options: object) -> list[DocumentProblem]:
    with pytest.raises(InvalidDocument) as caught:
        load(text, **options)  # type: ignore[arg-type]
    return list(caught.value.problems)


def dimension(*lines: str) -> str:
    """A document with one single dimension whose categories begin in line 7."""
    head = ["slug: s", "title: T", "dimensions:", "  - key: d", "    title: D", "    kind: single", "    categories:"]
    return "\n".join([*head, *(f"      {line}" for line in lines)]) + "\n"


def test_a_document_says_what_it_says() -> None:
    document = load(WHOLE)
    kind, symptom, only, why = document.dimensions
    assert [category.key for category in kind.categories] == ["fault", "how-to"]
    assert kind.stated == {"required"}
    assert symptom.applies_when == AppliesWhen("kind", ("fault",))
    assert symptom.help == "Two lines,\n  one of them indented.\n"
    assert [[*(each.key for each in above), spec.key] for spec, above in symptom.walk()] == [
        ["communication-setup"],
        ["communication-setup", "communication-setup-hang"],
    ]
    assert symptom.categories[0].was == ("comm-setup",)
    assert not only.required
    assert why.applies_when == AppliesWhen("distributed-only", (True,))


def test_a_document_comes_out_as_it_went_in() -> None:
    written = schema.dump(load(WHOLE))
    assert YAML(typ="safe").load(written) == YAML(typ="safe").load(WHOLE)
    assert load(written) == load(WHOLE)
    assert schema.dump(load(written)) == written


def test_json_is_read_like_yaml_and_says_where_it_is_wrong() -> None:
    plain = schema.plain(load(WHOLE))
    assert load(json.dumps(plain, indent=1)) == load(WHOLE)
    assert load(json.dumps(plain).replace("Why", "Why \\ud83d\\ude00")).dimensions[3].title == "Why 😀"
    text = '{"slug": "s", "title": "T",\n "dimensions": [{"key": "d", "title": "D",\n   "kind": "sinlge"}]}'
    (problem,) = problems(text)
    assert (problem.line, problem.column, problem.path) == (3, 12, "dimensions[0].kind")


@pytest.mark.parametrize("preset", presets(), ids=lambda preset: preset.name)
def test_every_ready_made_taxonomy_is_valid_and_comes_out_as_it_went_in(preset) -> None:  # type: ignore[no-untyped-def]
    written = schema.dump(preset.document)
    assert load(written) == preset.document
    assert YAML(typ="safe").load(written) == YAML(typ="safe").load(preset.text)


@pytest.mark.parametrize(
    ("text", "line", "column", "words"),
    [
        ("", 1, 1, "empty"),
        ("\n\n", 1, 1, "empty"),
        ("slug: s\ntitle: a: b\n", 2, 9, "colon too many"),
        ("slug: s\n\ttitle: T\n", 2, 1, "tab"),
        ("slug: [a\ntitle: T\n", 2, 6, "not YAML"),
        ('{"slug": "s", 3: [}', 1, 15, "key in double quotes is missing"),
        ('{"slug": "s" "title": "T"}', 1, 14, "comma"),
        ('{"slug": "s"', 1, 13, "comma or a closing bracket"),
        ("a: &x [1]\nb: 2", 1, 4, "anchor"),
        ("a: 1\nb: *x\n", 2, 4, "alias"),
        ("a: !!python/object:os.system x\n", 1, 4, "tag"),
        ("slug: s\n---\nslug: t\n", 2, 1, "second document"),
        ("a: \x07", 1, 4, "character"),
        ("slug: s\ntitle: " + "[" * 100, 2, 78, "too deeply"),
        ('{"a": ' + "[" * 5000, 1, 77, "too deeply"),
        (b"slug: s\ntitle: \xff\n", 2, 8, "UTF-8"),
        ("a: !x!y b\n", 1, 4, "undefined tag handle '!x!'"),
        ("x" * 2_000_001, 1, 1, "2 MB"),
    ],
)
def test_what_cannot_be_read_says_where_it_breaks(text: str, line: int, column: int, words: str) -> None:
    with pytest.raises(UnreadableDocument) as caught:
        load(text)
    (problem,) = caught.value.problems
    assert (problem.line, problem.column) == (line, column), problem
    assert words in problem.sentence
    assert caught.value.message.startswith(f"Line {line}, column {column}: ")


@pytest.mark.parametrize(
    ("text", "line", "column"),
    [
        ("- a\n" * 60_000, 1_000, 3),
        ("- [" + "a," * 100_000 + "]\n", 1, 2_000),
        ("a:\n" * 60_000, 501, 1),
        ('["a"' + ',\n"a"' * 60_000 + "]", 1_000, 1),
    ],
    ids=["list", "flow", "keys", "JSON"],
)
def test_a_document_is_read_no_further_than_its_thousands_of_values(
    text: str, line: int, column: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert parsing.NODES_MAX == 60_000
    monkeypatch.setattr(parsing, "NODES_MAX", 1_000)
    started_at = time.process_time()
    with pytest.raises(UnreadableDocument) as caught:
        load(text)
    assert "more than 1,000 values" in caught.value.message
    assert (caught.value.problems[0].line, caught.value.problems[0].column) == (line, column)
    assert time.process_time() - started_at < 1


def test_a_bomb_of_aliases_and_a_deep_well_cost_nothing() -> None:
    bomb = "a: &a [x,x,x,x,x,x,x,x,x]\n" + "".join(
        f"{b}: &{b} [{'*' + a + ','} *{a}]\n" for a, b in zip("abcdefgh", "bcdefghi", strict=True)
    )
    started_at = time.process_time()
    for text in (bomb, "[" * 1_000_000, "- " * 500_000, "{a: " * 200_000, '{"a":' * 200_000):
        with pytest.raises(UnreadableDocument):
            load(text)
    assert time.process_time() - started_at < 10


CASES = {
    "not a mapping": ("- a\n- b\n", 1, 1, "", "a taxonomy is expected"),
    "unknown field at the top": (WHOLE.replace("note:", "notes:"), 3, 1, "notes", "Did you mean “note”?"),
    "field given twice": ("slug: s\n" + WHOLE, 2, 1, "slug", "appears twice; it is already in line 1"),
    "slug missing": (WHOLE.removeprefix("slug: training-faults\n"), 1, 1, "slug", "needs “slug”; add “slug: …”"),
    "slug with capitals": (WHOLE.replace("training-faults", "Training Faults"), 1, 7, "slug", "“training-faults”"),
    "title empty": (WHOLE.replace("title: Kind of issue", "title:"), 6, 5, "dimensions[0].title", "Text is missing"),
    "no dimensions": ("slug: s\ntitle: T\ndimensions: []\n", 3, 13, "dimensions", "at least one dimension"),
    "dimensions is a text": ("slug: s\ntitle: T\ndimensions: kind\n", 3, 13, "dimensions", "list of dimensions"),
    "unknown kind": (
        WHOLE.replace("kind: single              #", "kind: singel              #"),
        7,
        11,
        "dimensions[0].kind",
        "Kinds are single, multi, boolean, ordinal, number and text. Did you mean “single”?",
    ),
    "dimension key twice": (WHOLE + "  - {key: why, title: W, kind: text}\n", 33, 11, "dimensions[4].key", "(line 29)"),
    "unknown field of a dimension": (
        WHOLE.replace("required: true", "requierd: true"),
        8,
        5,
        "dimensions[0].requierd",
        "Did you mean “required”?",
    ),
    "yes is not true": (
        WHOLE.replace("required: true ", "required: yes "),
        8,
        15,
        "dimensions[0].required",
        "write true",
    ),
    "kind missing": (WHOLE.replace("    kind: text\n", ""), 29, 5, "dimensions[3].kind", "needs “kind”"),
    "categories on a boolean": (
        WHOLE.replace("kind: boolean,", "kind: boolean, categories: [{key: a, name: A}],"),
        28,
        74,
        "dimensions[2].categories",
        "A boolean dimension has no categories",
    ),
    "no categories": (
        "slug: s\ntitle: T\ndimensions:\n  - {key: d, title: D, kind: multi}\n",
        4,
        5,
        "dimensions[0].categories",
        "A multi dimension needs categories",
    ),
    "condition on nothing": (
        WHOLE.replace("{dimension: kind, is", "{dimension: kinds, is"),
        13,
        31,
        "dimensions[1].applies_when.dimension",
        "Did you mean “kind”?",
    ),
    "condition on a later dimension": (
        WHOLE.replace("{dimension: kind, is: [fault]}", "{dimension: distributed-only, is: [true]}"),
        13,
        31,
        "dimensions[1].applies_when.dimension",
        "comes later",
    ),
    "condition on itself": (
        WHOLE.replace("{dimension: kind, is: [fault]}", "{dimension: symptom, is: [fault]}"),
        13,
        31,
        "dimensions[1].applies_when.dimension",
        "symptom → symptom",
    ),
    "condition on an unknown category": (
        WHOLE.replace("is: [fault]", "is: [how-too]"),
        13,
        42,
        "dimensions[1].applies_when.is[0]",
        "Did you mean “how-to”?",
    ),
    "condition without a list": (
        WHOLE.replace("is: [fault]", "is: fault"),
        13,
        41,
        "dimensions[1].applies_when.is",
        "write [fault]",
    ),
    "condition on yes": (
        WHOLE.replace("is: [true]", "is: [yes]"),
        32,
        54,
        "dimensions[3].applies_when.is[0]",
        "write true",
    ),
    "condition on a text": (
        WHOLE + "  - {key: z, title: Z, kind: text, applies_when: {dimension: why, is: [true]}}\n",
        33,
        72,
        "dimensions[4].applies_when.dimension",
        "“why” is a text",
    ),
    "category key twice": (
        dimension("- {key: a, name: A}", "- {key: b, name: B, categories: [{key: a, name: C}]}"),
        9,
        46,
        "dimensions[0].categories[1].categories[0].key",
        "has the key “a” (line 8)",
    ),
    "sibling names alike": (
        dimension("- {key: a, name: Hang}", "- {key: b, name: 'hang '}"),
        9,
        24,
        "dimensions[0].categories[1].name",
        "has the name “hang” (line 8)",
    ),
    "name missing": (dimension("- {key: a}"), 8, 9, "dimensions[0].categories[0].name", "needs “name”"),
    "include is a text": (
        dimension("- {key: a, name: A, include: this}"),
        8,
        36,
        "dimensions[0].categories[0].include",
        "write [this]",
    ),
    "shortcut too long": (
        dimension("- {key: a, name: A, shortcut: ab}"),
        8,
        37,
        "dimensions[0].categories[0].shortcut",
        "one letter",
    ),
    "shortcut taken": (
        dimension("- {key: a, name: A, shortcut: a}", "- {key: b, name: B, shortcut: a}"),
        9,
        37,
        "dimensions[0].categories[1].shortcut",
        "Choose another",
    ),
    "parent unknown": (
        dimension("- {key: hang, name: A}", "- {key: b, name: B, parent: hnag}"),
        9,
        35,
        "dimensions[0].categories[1].parent",
        "Did you mean “hang”?",
    ),
    "parent of a nested one": (
        dimension("- {key: a, name: A, categories: [{key: b, name: B, parent: c}]}", "- {key: c, name: C}"),
        8,
        66,
        "dimensions[0].categories[0].categories[0].parent",
        "is already below “a”",
    ),
    "leaf that cannot be chosen": (
        dimension("- {key: a, name: A, selectable: false}"),
        8,
        9,
        "dimensions[0].categories[0].selectable",
        "has no subcategories",
    ),
    "control character": (
        dimension(r'- {key: a, name: A, definition: "a\0b"}'),
        8,
        39,
        "dimensions[0].categories[0].definition",
        "U+0000",
    ),
    "name too long": (dimension(f"- {{key: a, name: {'x' * 201}}}"), 8, 24, "dimensions[0].categories[0].name", "201"),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
def test_each_mistake_is_named_with_line_column_path_and_remedy(case: tuple[str, int, int, str, str]) -> None:
    text, line, column, path, words = case
    (problem,) = problems(text)
    assert (problem.line, problem.column, problem.path) == (line, column, path), problem
    assert words in problem.sentence


def test_a_cycle_of_parents_names_every_line_and_key_of_it() -> None:
    found = problems(
        dimension(
            "- {key: a, name: A, parent: c}",
            "- {key: b, name: B, parent: a}",
            "- {key: c, name: C, parent: b}",
            "- {key: d, name: D, parent: a}",
        )
    )
    assert [(problem.line, problem.path[-21:]) for problem in found] == [
        (8, ".categories[0].parent"),
        (9, ".categories[1].parent"),
        (10, ".categories[2].parent"),
    ]
    assert "a → c → b → a" in found[0].sentence


def test_conditions_that_wait_for_each_other_are_told_as_a_cycle() -> None:
    text = WHOLE.replace("required: true            #", "applies_when: {dimension: symptom, is: [x]} #")
    found = problems(text)
    assert [problem.line for problem in found] == [8, 13]
    assert "kind → symptom → kind" in found[0].sentence


def test_flat_categories_with_parents_become_a_tree() -> None:
    flat = dimension("- {key: b, name: B, parent: a}", "- {key: a, name: A}", "- {key: c, name: C, parent: b}")
    nested = dimension("- {key: a, name: A, categories: [{key: b, name: B, categories: [{key: c, name: C}]}]}")
    assert load(flat) == load(nested)


def test_all_mistakes_are_told_at_once_and_in_the_order_of_the_text() -> None:
    found = problems(
        WHOLE.replace("slug: t", "slug: T").replace("single  ", "sinlge  ").replace("is: [true]", "is: []")
    )
    assert [problem.line for problem in found] == [1, 7, 32]
    with pytest.raises(InvalidDocument) as caught:
        load(dimension(*("- {kye: a}" for _ in range(500))))
    assert len(caught.value.problems) == 100
    assert "(And 99 more.)" in caught.value.message
    assert set(caught.value.fields) >= {"dimensions[0].categories[0].kye", "dimensions[0].categories[0].name"}


def test_was_must_name_a_category_of_the_version_before() -> None:
    before = load(dimension("- {key: hang, name: Hang}", "- {key: crash, name: Crash}"))
    load(dimension("- {key: hang-up, name: Hang, was: [hang]}", "- {key: crash, name: Crash}"), before=before)
    (problem,) = problems(dimension("- {key: hang-up, name: Hang, was: [hung]}"), before=before)
    assert (problem.line, problem.path) == (8, "dimensions[0].categories[0].was[0]")
    assert "Did you mean “hang”?" in problem.sentence


def test_a_was_left_over_from_the_version_before_is_no_mistake() -> None:
    text = dimension("- {key: hang-up, name: Hang, was: [hang]}")
    assert load(text, before=load(text)) == load(text)


def test_a_key_is_made_from_a_name() -> None:
    assert schema.key_of("Hang & timeout") == "hang-and-timeout"
    assert schema.key_of("  Übergröße / Größe ") == "ubergrosse-grosse"
    assert schema.key_of("训练") == ""


TEXTS = st.text(st.characters(exclude_categories=["Cs", "Cc", "Cn"], include_characters="\n\t"), max_size=30)
LINES = st.text(st.characters(exclude_categories=["Cs", "Cc", "Cn", "Zl", "Zp"]), min_size=1, max_size=20)
NAMES = LINES.map(str.strip).filter(lambda line: line and not wrong_in(line))
ENTRIES = st.lists(TEXTS.filter(str.strip), max_size=2).map(tuple)


@st.composite
def documents(draw: st.DrawFn) -> Document:
    numbers = iter(range(1000))

    def category(depth: int) -> CategorySpec:
        number = next(numbers)
        below = tuple(category(depth + 1) for _ in range(draw(st.integers(0, 2 if depth < 3 else 0))))
        return CategorySpec(
            key=f"c{number}",
            name=f"{draw(NAMES)} {number}",
            definition=draw(TEXTS),
            include=draw(ENTRIES),
            examples=draw(ENTRIES),
            selectable=not below or draw(st.booleans()),
            was=draw(st.sampled_from([(), ("a-b",), ("true", "12")])),
            categories=below,
        )

    first = DimensionSpec(key="1", title=draw(NAMES), kind="multi", categories=(category(0), category(0)))
    second = DimensionSpec(
        key="null",
        title=draw(NAMES),
        kind="text",
        required=draw(st.booleans()),
        applies_when=AppliesWhen("1", (first.categories[1].key,)),
        help=draw(TEXTS),
    )
    return Document(slug="2020-01-01", title=draw(NAMES), note=draw(TEXTS), dimensions=(first, second))


@settings(max_examples=examples(60), deadline=None)
@given(documents())
def test_any_document_that_is_written_reads_as_the_same(document: Document) -> None:
    assert load(schema.dump(document)) == load(json.dumps(schema.plain(document))) == document


def test_the_example_of_the_guide_is_a_taxonomy() -> None:
    guide = (Path(__file__).parents[2] / "docs" / "taxonomies.md").read_text()
    document = load(guide.partition("```yaml\n")[2].partition("```")[0])
    assert [each.key for each in document.dimensions] == ["kind", "symptom", "fix-pattern", "distributed-only"]
    for field in (*schema.DOCUMENT_FIELDS, *schema.DIMENSION_FIELDS, *schema.CATEGORY_FIELDS, *KINDS):
        assert f"`{field}`" in guide


FIELDS = st.sampled_from(
    [*schema.DOCUMENT_FIELDS, *schema.DIMENSION_FIELDS, *schema.CATEGORY_FIELDS, "parent", "is", "x"]
)
VALUES = st.recursive(
    st.sampled_from([None, True, False, 0, 1.5, "", "a", "b", "a b", "single", "multi", "boolean", "\x00", "\ud800"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(FIELDS, inner, max_size=6),
    max_leaves=25,
)


@settings(max_examples=examples(100), deadline=None)
@given(
    st.dictionaries(FIELDS, VALUES) | st.builds(lambda each: {"slug": "s", "title": "T", "dimensions": each}, VALUES)
)
def test_nonsense_of_the_right_words_is_refused_in_words(nonsense: dict) -> None:  # type: ignore[type-arg]
    try:
        document = load(json.dumps(nonsense))
    except InvalidDocument as error:
        document = None
        found = error.problems
    else:
        found = ()
    assert document is None or load(schema.dump(document)) == document
    assert all(problem.line >= 1 and problem.column >= 1 for problem in found)


@settings(max_examples=examples(100), deadline=None)
@given(
    st.integers(0, len(WHOLE)), st.integers(0, 40), st.text(max_size=3) | st.sampled_from([": ", "- ", "\n", "  ", "{"])
)
def test_a_spoiled_document_is_refused_in_words(start: int, n: int, put: str) -> None:
    try:
        load(WHOLE[:start] + put + WHOLE[start + n :])
    except (UnreadableDocument, InvalidDocument) as error:
        said = [problem.sentence for problem in error.problems]
    else:
        said = ["It is still a taxonomy."]
    for sentence in said:
        assert len(sentence) > 20 and "\n" not in sentence and not sentence.endswith((": .", "..")), sentence
        assert not re.search('in "<|while (?:parsing|scanning)|<block|line \\d+, column', sentence), sentence


@pytest.mark.slow
@pytest.mark.parametrize(
    "text",
    [
        dimension(*(f"- {{key: c{n}, name: N{n}, parent: c{(n + 1) % 3000}}}" for n in range(3_000))),
        dimension(*(f"- {{key: c{n}, name: N{n}, parent: c{n + 1}}}" for n in range(3_000)), "- {key: c3000, name: N}"),
        dimension(*(f"- {{key: c{n}, name: N}}" for n in range(4_000))),
        dimension(*(f"- {{key: c{n}, name: N{n}}}" for n in range(2_000)))
        + "".join(
            f"  - {{key: d{n}, title: D, kind: text, applies_when: {{dimension: d, is: [c1999x]}}}}\n"
            for n in range(2_000)
        ),
    ],
    ids=["a loop of 3,000", "a chain of 3,000", "4,000 of one name", "2,000 conditions on 2,000"],
)
def test_a_huge_document_full_of_mistakes_is_refused_within_seconds(text: str) -> None:
    started_at = time.process_time()
    assert 1 <= len(problems(text)) <= 100
    assert time.process_time() - started_at < 6


def test_a_taxonomy_has_at_most_200_dimensions() -> None:
    """A page of a chain of thousands, each asked only where the one before applies, was an error 500."""
    text = "slug: s\ntitle: T\ndimensions:\n- {key: d0, title: D, kind: boolean}\n"
    lines = [
        f"- {{key: d{n}, title: D, kind: boolean, applies_when: {{dimension: d{n - 1}, is: [true]}}}}\n"
        for n in range(1, 201)
    ]
    assert len(load(text + "".join(lines[:199])).dimensions) == 200
    (problem,) = problems(text + "".join(lines))
    assert problem.sentence == "A taxonomy has at most 200 dimensions, and here are 201."
    assert problem.path == "dimensions"


def test_sixty_characters_are_quoted_whole_and_one_more_is_cut() -> None:
    assert short("x" * 60) == "x" * 60
    assert short("x" * 61) == "x" * 57 + "…"
