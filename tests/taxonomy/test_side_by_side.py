"""Two versions side by side, and as Markdown for an appendix."""

import re
import time
from dataclasses import replace

import pytest
from markdown_it import MarkdownIt

from shared.wording import for_markdown
from taxonomy import side_by_side
from taxonomy.appendix import Heading, appendix
from taxonomy.checking import load
from taxonomy.comparison import compare, compare_dimensions
from taxonomy.schema import CategorySpec, DimensionSpec, Document
from taxonomy.side_by_side import ComparisonRow, DimensionComparison, counts, sections

OLD = load("""
slug: s
title: Faults
dimensions:
  - key: kind
    title: Kind
    kind: single
    categories: [{key: fault, name: Fault}, {key: how-to, name: How-to}]
  - key: symptom
    title: Symptom
    kind: single
    help: What is seen.
    categories:
      - key: training
        name: Training
        categories:
          - {key: hang, name: Hang, definition: It stands.}
          - {key: freeze, name: Freeze}
          - {key: slow, name: Slow, definition: It goes on., examples: [one]}
          - {key: crash, name: Crash, definition: It ends., include: [a signal]}
      - {key: lost, name: Lost, definition: Not seen again.}
      - {key: odd, name: 'A|B `c` <d>'}
  - {key: why, title: Why, kind: text}
""")
NEW = load(
    """
slug: s
title: Faults
note: After round 1.
dimensions:
  - key: kind
    title: Kind
    kind: single
    categories: [{key: fault, name: Fault}, {key: how-to, name: How-to}]
  - key: symptom
    title: Symptoms
    kind: multi
    required: false
    applies_when: {dimension: kind, is: [fault]}
    help: What is seen.
    categories:
      - key: training
        name: Training
        categories:
          - {key: stop, name: Stop, definition: It stands still., was: [hang, freeze]}
          - {key: slow, name: Slow, definition: It goes on., examples: [one, two]}
          - {key: signal, name: Signal, definition: The system ends it., was: [crash]}
          - {key: exit, name: Exit, was: [crash]}
      - {key: odd, name: 'A|B `c` <e>', definition: 'With **stars**, a [link](x) and a # sign', exclude: [$x_1$]}
      - {key: new, name: New, selectable: false, categories: [{key: hangs, name: Hangs}]}
  - key: severity
    title: Severity
    kind: ordinal
    categories: [{key: low, name: Low}, {key: high, name: High}]
""",
    before=OLD,
)

GOLDEN = r"""# Faults: version 1 to version 2

Taxonomy `s`. Version 1: published on 3 May 2026. Version 2: draft, written on 4 May 2026.

Changes of categories: 4 added, 1 renamed, 2 merged, 2 split, 1 retired, 1 other details, 3 unchanged.

Note of version 2: After round 1.

## Kind (`kind`)

No category changed; 2 unchanged.

## Symptoms (`symptom`)

- Title: Symptom → Symptoms
- Answer: one category → any number of categories
- Required: yes → no
- Applies: always → only where Kind is Fault

| Change | Version 1 | Version 2 |
| --- | --- | --- |
| merged, renamed, redefined | Training / Hang (`hang`); Training / Freeze (`freeze`) | Training / Stop (`stop`) |
| other details | Training / Slow (`slow`) | Training / Slow (`slow`) |
| split, renamed, redefined | Training / Crash (`crash`) | Training / Signal (`signal`); Training / Exit (`exit`) |
| renamed, redefined | A\|B \`c\` \<d\> (`odd`) | A\|B \`c\` \<e\> (`odd`) |
| added | — | New (`new`) |
| added | — | New / Hangs (`hangs`) |
| retired | Lost (`lost`) | — |

Definitions that are new:

- **Stop** (`stop`). It stands still.
- **Signal** (`signal`). The system ends it.
- **Exit** (`exit`). No definition.
- **A\|B \`c\` \<e\>** (`odd`). With \*\*stars\*\*, a \[link\](x) and a \# sign. Excludes: \$x\_1\$.
- **New** (`new`). No definition. Only its subcategories can be selected.
- **Hangs** (`hangs`). No definition.

## Severity (`severity`) (added)

- Answer: one category of an ordered scale
- Required: yes
- Applies: always

| Change | Version 1 | Version 2 |
| --- | --- | --- |
| added | — | Low (`low`) |
| added | — | High (`high`) |

Definitions that are new:

- **Low** (`low`). No definition.
- **High** (`high`). No definition.

## Why (`why`) (retired)

- Answer: free text
- Required: yes
- Applies: always
"""


def told(old: Document = OLD, new: Document = NEW, **more: frozenset[str]) -> tuple[DimensionComparison, ...]:
    return sections(old, new, compare_dimensions(old, new), compare(old, new), **more)


def rows(section: DimensionComparison) -> dict[str, ComparisonRow]:
    return {row.anchor: row for row in section.rows}


def test_all_that_merged_stand_beside_what_they_became_and_a_split_one_beside_its_parts() -> None:
    found = rows(told()[1])
    merged, split = found["symptom.stop"], found["symptom.signal"]
    assert (merged.kind, merged.also) == ("merged", ("renamed", "redefined"))
    assert [side.spec.key for side in merged.olds] == ["hang", "freeze"]
    assert [side.spec.key for side in merged.news] == ["stop"]
    assert [side.spec.key for side in split.olds] == ["crash"]
    assert [side.spec.key for side in split.news] == ["signal", "exit"]
    assert "symptom.exit" not in found


def test_what_is_merged_and_split_at_once_is_one_row() -> None:
    from tests.taxonomy.test_comparison import taxonomy

    (section,) = told(taxonomy("a", "b", "c"), taxonomy("y < b", "z < c", "x < a b c"))
    (row,) = section.rows
    assert (row.kind, len(row.olds), len(row.news), len(row.changes)) == ("split", 3, 3, 5)


def test_thousands_of_categories_that_hang_together_are_one_row_at_once() -> None:
    """Each new category comes from two old ones, and so do its neighbours: all of them belong together."""
    n, order = 3_000, [*range(0, 3_000, 2), *range(1, 3_000, 2)]
    olds = tuple(CategorySpec(key=f"o{at}", name=f"O{at}", definition="x") for at in range(n + 1))
    news = tuple(CategorySpec(key=f"n{at}", name=f"N{at}", was=(f"o{at}", f"o{at + 1}")) for at in order)
    old, new = (
        Document(slug="s", title="S", dimensions=(DimensionSpec(key="d", title="D", kind="single", categories=those),))
        for those in (olds, news)
    )
    started_at = time.process_time()
    ((row,),) = (each.rows for each in sections(old, new, [], compare(old, new)))
    assert (len(row.olds), len(row.news)) == (n + 1, n)
    assert [each.field for each in row.olds[0].fields] == ["definition"]
    assert time.process_time() - started_at < 2


def test_a_pair_shows_the_fields_that_differ_with_the_words_marked() -> None:
    row = rows(told()[1])["symptom.odd"]
    assert (row.kind, row.also) == ("renamed", ("redefined",))
    assert row.olds[0].name == ((False, "A|B `c` <"), (True, "d"), (False, ">"))
    assert row.news[0].name == ((False, "A|B `c` <"), (True, "e"), (False, ">"))
    assert [(field.words, field.differs) for field in row.news[0].fields] == [("Definition", True), ("Excludes", True)]
    slow = rows(told()[1])["symptom.slow"]
    assert (slow.kind, [field.words for field in slow.news[0].fields]) == ("details", ["Examples"])
    assert slow.news[0].fields[0].texts == (((False, "one"),), ((True, "two"),))


def test_dimensions_say_in_words_what_changed() -> None:
    kind, symptom, severity, why = told()
    assert (kind.state, kind.rows, kind.fields, kind.n_kept) == ("", (), (), 2)
    assert (symptom.state, severity.state, why.state) == ("changed", "added", "retired")

    def sides(section: DimensionComparison) -> list[tuple[str, str, str]]:
        return [
            (each.words, *("".join(t for _, t in side) for side in (each.old, each.new))) for each in section.fields
        ]

    assert sides(symptom) == [
        ("Title", "Symptom", "Symptoms"),
        ("Answer", "one category", "any number of categories"),
        ("Required", "yes", "no"),
        ("Applies", "always", "only where Kind is Fault"),
    ]
    assert sides(why)[0] == ("Answer", "free text", "")
    assert sides(severity)[0] == ("Answer", "", "one category of an ordered scale")


@pytest.mark.parametrize("kind", [*side_by_side.SEEN_KINDS, "kept"])
def test_each_kind_has_the_rows_that_its_count_says(kind: str) -> None:
    changes = compare(OLD, NEW)
    shown = told(kinds=frozenset([kind]))
    assert sum(len(row.changes) for section in shown for row in section.rows) == counts(changes)[kind]


def test_every_category_of_both_versions_stands_in_one_row() -> None:
    shown = told(kinds=frozenset(counts([])))
    for document, side in ((OLD, "olds"), (NEW, "news")):
        listed = sorted(each.spec.key for section in shown for row in section.rows for each in getattr(row, side))
        assert listed == sorted(spec.key for dimension in document.dimensions for spec, _ in dimension.walk())


def test_anchors_are_unique() -> None:
    anchors = [row.anchor for section in told(kinds=frozenset(counts([]))) for row in section.rows]
    assert len(anchors) == len(set(anchors))


def written(old: Document = OLD, new: Document = NEW) -> str:
    return appendix(
        new.title,
        new.slug,
        Heading(1, "published on 3 May 2026"),
        Heading(2, "draft, written on 4 May 2026", new.note),
        counts(compare(old, new)),
        told(old, new),
    )


def test_the_appendix_reads_so() -> None:
    assert written() == GOLDEN


def test_the_appendix_is_whole_tables_whatever_names_hold() -> None:
    nasty = [
        "a|b",
        "`code",
        "<script>alert(1)</script>",
        "**bold** _x_ [l](u)",
        "back\\slash|",
        "# head",
        "a\nb",
        "&lt;",
        "~~x~~",
    ]

    def named(names: list[str]) -> Document:
        specs = tuple(
            CategorySpec(key=f"k{n}", name=name, definition=name, include=(name,)) for n, name in enumerate(names)
        )
        return replace(OLD, title=names[0], dimensions=(replace(OLD.dimensions[1], title=names[0], categories=specs),))

    text = written(OLD, named(nasty))
    page = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"]).render(text)
    assert "<script" not in page
    assert not re.search("<(em|a|s|h3)[ >]", page)
    cells = re.findall(r"<t[dh]>(.*?)</t[dh]>", page, re.DOTALL)
    assert len(cells) % 3 == 0
    for name in nasty:
        shown = " ".join(name.split()).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
        assert any(cell.startswith(f"{shown} (<code>") for cell in cells), name


def test_a_text_on_one_line_holds_no_markup() -> None:
    assert for_markdown("a\n b") == "a b"
    assert for_markdown("a_b*c") == r"a\_b\*c"


def test_nothing_changed_is_said_too() -> None:
    text = written(OLD, OLD)
    assert "Changes of categories: none, 9 unchanged." in text
    assert "No category changed; 7 unchanged." in text
