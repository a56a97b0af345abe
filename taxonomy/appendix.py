"""Appendix of a paper: the changes between two versions as Markdown. Pure."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from shared.wording import for_markdown
from taxonomy.schema import CategorySpec
from taxonomy.side_by_side import DETAILS, SEEN_KINDS, CategorySide, ComparisonRow, DimensionComparison

KIND_WORDS = {DETAILS: "other details"}
NOTHING = "—"
MEANING_CHANGED = frozenset({"added", "redefined"})


@dataclass(frozen=True)
class Heading:
    """One of the two versions: its number, and what is said of it ("published on 21 November 2026")."""

    number: int
    said: str
    note: str = ""


def appendix(
    title: str,
    slug: str,
    old: Heading,
    new: Heading,
    counts: Mapping[str, int],
    sections: Sequence[DimensionComparison],
) -> str:
    """The text: counts, then for each dimension a table of changes and the definitions that are new."""
    lines = [
        f"# {for_markdown(title)}: version {old.number} to version {new.number}",
        "",
        f"Taxonomy `{slug}`. Version {old.number}: {for_markdown(old.said)}. "
        f"Version {new.number}: {for_markdown(new.said)}.",
        "",
        f"Changes of categories: {_counted(counts)}.",
        "",
    ]
    if new.note.strip():
        lines += [f"Note of version {new.number}: {for_markdown(new.note)}", ""]
    for section in sections:
        lines += _section(section, old.number, new.number)
    return "\n".join(lines).rstrip("\n") + "\n"


def _counted(counts: Mapping[str, int]) -> str:
    found = [f"{counts[kind]} {KIND_WORDS.get(kind, kind)}" for kind in SEEN_KINDS if counts.get(kind)]
    return ", ".join([*(found or ["none"]), f"{counts.get('kept', 0)} unchanged"])


def _section(section: DimensionComparison, old: int, new: int) -> Iterator[str]:
    state = f" ({section.state})" if section.state in {"added", "retired"} else ""
    yield f"## {for_markdown(section.title)} (`{section.key}`){state}"
    yield ""
    for told in section.fields:
        before, after = ("".join(text for _, text in side) for side in (told.old, told.new))
        if section.state == "changed":
            yield f"- {told.words}: {for_markdown(before) or NOTHING} → {for_markdown(after) or NOTHING}"
        else:
            yield f"- {told.words}: {for_markdown(after or before)}"
    if section.fields:
        yield ""
    if not section.rows:
        if section.n_kept:
            yield f"No category changed; {section.n_kept} unchanged."
            yield ""
        return
    yield f"| Change | Version {old} | Version {new} |"
    yield "| --- | --- | --- |"
    for row in section.rows:
        said = ", ".join(KIND_WORDS.get(kind, kind) for kind in (row.kind, *row.also))
        yield f"| {said} | {_places(row.olds)} | {_places(row.news)} |"
    yield ""
    defined = [side for row in section.rows if _has_new_meaning(row) for side in row.news]
    if defined:
        yield "Definitions that are new:"
        yield ""
        for side in defined:
            yield f"- **{for_markdown(side.spec.name)}** (`{side.spec.key}`). {_definition(side.spec)}".rstrip()
        yield ""


def _places(sides: Sequence[CategorySide]) -> str:
    """The categories of one side by their paths and keys."""
    paths = (" / ".join(for_markdown(name) for name in (*side.above, side.spec.name)) for side in sides)
    return "; ".join(f"{path} (`{side.spec.key}`)" for path, side in zip(paths, sides, strict=True)) or NOTHING


def _has_new_meaning(row: ComparisonRow) -> bool:
    return bool(MEANING_CHANGED & {row.kind, *row.also})


def _definition(spec: CategorySpec) -> str:
    parts = [_sentence(spec.definition) if spec.definition.strip() else "No definition."]
    for words, texts in (("Includes", spec.include), ("Excludes", spec.exclude), ("Examples", spec.examples)):
        if texts:
            parts.append(_sentence(f"{words}: {'; '.join(texts)}"))
    if not spec.selectable:
        parts.append("Only its subcategories can be selected.")
    return " ".join(parts)


def _sentence(text: str) -> str:
    """A text that ends as a sentence does."""
    text = for_markdown(text)
    return text if text.endswith((".", "!", "?", "…")) else f"{text}."
