"""Side-by-side view of two versions: matching rows with the words that differ. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from taxonomy.comparison import KINDS, MEANING, Change, DimensionChange, differing
from taxonomy.schema import CategorySpec, DimensionSpec, Document
from taxonomy.word_differences import Marked, mark_lists, mark_words, unmarked

DETAILS = "details"
"""What is shown of a category that was kept: only its examples or its shortcut differ."""

SEEN_KINDS = ("added", "renamed", "redefined", "moved", "merged", "split", "retired", DETAILS)
"""The kinds of change that a page lists, in its order; `kept` is what it counts."""

FIELD_WORDS = {
    "definition": "Definition",
    "include": "Includes",
    "exclude": "Excludes",
    "examples": "Examples",
    "shortcut": "Shortcut",
    "selectable": "Can be selected",
    "title": "Title",
    "kind": "Answer",
    "required": "Required",
    "applies_when": "Applies",
    "help": "Help",
}
SHOWN = ("definition", "include", "exclude", "selectable", "examples", "shortcut")


@dataclass(frozen=True)
class FieldText:
    """One field of a category on one side: its texts in pieces, of which some stand on this side alone."""

    field: str
    words: str
    texts: tuple[Marked, ...]
    differs: bool


@dataclass(frozen=True)
class CategorySide:
    """A category on one side of a row."""

    key: Marked
    above: tuple[str, ...]
    name: Marked
    fields: tuple[FieldText, ...]
    spec: CategorySpec


@dataclass(frozen=True)
class ComparisonRow:
    """Categories that belong together: one and one, all that merged beside what they became, one beside its parts.

    `kind` is what the row is found under; `also` is what else is so of any of its pairs.
    """

    anchor: str
    kind: str
    also: tuple[str, ...]
    olds: tuple[CategorySide, ...]
    news: tuple[CategorySide, ...]
    changes: tuple[Change, ...]

    @property
    def is_moved(self) -> bool:
        """Whether one category stands beside one, elsewhere in the tree."""
        return len(self.changes) == 1 and "moved" in (self.kind, *self.also)


@dataclass(frozen=True)
class FieldChange:
    """One field of a dimension, in words, before and after."""

    words: str
    old: Marked
    new: Marked


@dataclass(frozen=True)
class DimensionComparison:
    """A dimension: what became of it (`state` is empty, added, retired or changed) and its rows."""

    key: str
    title: str
    state: str
    fields: tuple[FieldChange, ...]
    rows: tuple[ComparisonRow, ...]
    n_kept: int


def kind_of(change: Change) -> str:
    """The kind under which a page lists a change: one of SEEN_KINDS, or kept."""
    return DETAILS if change.kind == "kept" and change.fields else change.kind


def counts(changes: Sequence[Change]) -> dict[str, int]:
    """How many pairs of categories changed, by the kinds that a page lists, and how many were kept."""
    found = dict.fromkeys((*SEEN_KINDS, "kept"), 0)
    for change in changes:
        found[kind_of(change)] += 1
    return found


def sections(
    old: Document,
    new: Document,
    dimensions: Sequence[DimensionChange],
    changes: Sequence[Change],
    kinds: frozenset[str] = frozenset(SEEN_KINDS),
) -> tuple[DimensionComparison, ...]:
    """The dimensions of both versions with the rows of these kinds; those of the old one alone stand at the end."""
    before = {each.key: each for each in old.dimensions}
    after = {each.key: each for each in new.dimensions}
    changed = {each.dimension: each for each in dimensions}
    conditions = _names(old), _names(new)
    by_dimension: dict[str, list[Change]] = {key: [] for key in (*after, *before)}
    for change in changes:
        by_dimension[change.dimension].append(change)
    found = []
    for key, listed in by_dimension.items():
        pair = before.get(key), after.get(key)
        rows = _rows(key, pair, listed)
        change_of = changed.get(key)
        found.append(
            DimensionComparison(
                key=key,
                title=(pair[1] or pair[0]).title,  # type: ignore[union-attr]  # one of both has it
                state=change_of.kind if change_of else "",
                fields=_told(change_of, pair, conditions) if change_of else (),
                rows=tuple(row for row in rows if row.kind in kinds),
                n_kept=sum(1 for change in listed if kind_of(change) == "kept"),
            )
        )
    return tuple(found)


def _rows(
    dimension: str, pair: tuple[DimensionSpec | None, DimensionSpec | None], changes: list[Change]
) -> list[ComparisonRow]:
    specs = tuple(
        {spec.key: (spec, tuple(each.name for each in above)) for spec, above in each.walk()} if each else {}
        for each in pair
    )
    rows = []
    for group in _together(changes):
        olds = list(dict.fromkeys(change.old for change in group if change.old is not None))
        news = list(dict.fromkeys(change.new for change in group if change.new is not None))
        sides = _sides([specs[0][key] for key in olds], [specs[1][key] for key in news])
        kinds = {kind_of(change) for change in group}
        kind = next((each for each in ("split", "merged") if each in kinds), kind_of(group[0]))
        said = {word for change in group for word in (kind_of(change), *change.also)} - {kind}
        also = tuple(word for word in KINDS if word in said)
        anchor = f"{dimension}.{news[0]}" if news else f"retired.{dimension}.{olds[0]}"
        rows.append(ComparisonRow(anchor, kind, also, *sides, tuple(group)))
    return rows


def _together(changes: Sequence[Change]) -> list[list[Change]]:
    """Changes that share a category of either version, in the order of the first of them."""
    heads = list(range(len(changes)))

    def head(place: int) -> int:
        while heads[place] != place:
            heads[place] = heads[heads[place]]
            place = heads[place]
        return place

    first: dict[tuple[str, str], int] = {}
    for place, change in enumerate(changes):
        for side, key in (("old", change.old), ("new", change.new)):
            if key is not None:
                low, high = sorted((head(place), head(first.setdefault((side, key), place))))
                heads[high] = low
    groups: dict[int, list[Change]] = {}
    for place, change in enumerate(changes):
        groups.setdefault(head(place), []).append(change)
    return list(groups.values())


Placed = tuple[CategorySpec, tuple[str, ...]]


def _sides(olds: list[Placed], news: list[Placed]) -> tuple[tuple[CategorySide, ...], tuple[CategorySide, ...]]:
    """Both sides of a row: one beside one with the words marked, otherwise whole texts of the fields that differ."""
    if len(olds) == len(news) == 1:
        (old, old_above), (new, new_above) = olds[0], news[0]
        fields = _compared(old, new)
        keys = unmarked(old.key, old.key != new.key), unmarked(new.key, old.key != new.key)
        names = mark_words(old.name, new.name)
        return (
            (CategorySide(keys[0], old_above, names[0], tuple(pair[0] for pair in fields), old),),
            (CategorySide(keys[1], new_above, names[1], tuple(pair[1] for pair in fields), new),),
        )
    is_alone = not (olds and news)
    shown = [name for name in SHOWN if is_alone or len({getattr(spec, name) for spec, _ in (*olds, *news)}) > 1]
    return (
        tuple(_whole_side(each, shown, is_alone) for each in olds),
        tuple(_whole_side(each, shown, is_alone) for each in news),
    )


def _whole_side(placed: Placed, shown: Sequence[str], is_alone: bool) -> CategorySide:
    spec, above = placed
    fields = tuple(
        FieldText(name, FIELD_WORDS[name], tuple(unmarked(text, False) for text in texts), False)
        for name in shown
        if (texts := _texts(spec, name)) and not (is_alone and name == "selectable" and spec.selectable)
    )
    return CategorySide(unmarked(spec.key, False), above, unmarked(spec.name, False), fields, spec)


def _compared(old: CategorySpec, new: CategorySpec) -> list[tuple[FieldText, FieldText]]:
    """The fields that differ, on both sides; where the meaning differs, the definition always."""
    names = differing(old, new, SHOWN)
    if set(names) & set(MEANING) and "definition" not in names and new.definition:
        names.insert(0, "definition")
    found = []
    for name in names:
        texts = mark_lists(_texts(old, name), _texts(new, name))
        words, differs = FIELD_WORDS[name], getattr(old, name) != getattr(new, name)
        found.append((FieldText(name, words, texts[0], differs), FieldText(name, words, texts[1], differs)))
    return found


def _texts(spec: CategorySpec, name: str) -> tuple[str, ...]:
    """A field as a list of texts."""
    value = getattr(spec, name)
    if name == "selectable":
        return ("yes",) if value else ("no, only its subcategories",)
    if isinstance(value, tuple):
        return value
    return (value,) if value else ()


def _names(document: Document) -> dict[tuple[str, str | bool], str]:
    """The names of all answers that a condition can hang on, and under (key, "") the title of a dimension."""
    found: dict[tuple[str, str | bool], str] = {}
    for dimension in document.dimensions:
        found |= {(dimension.key, ""): dimension.title, (dimension.key, True): "yes", (dimension.key, False): "no"}
        found |= {(dimension.key, spec.key): spec.name for spec, _ in dimension.walk()}
    return found


def in_words(spec: DimensionSpec, name: str, names: Mapping[tuple[str, str | bool], str]) -> str:
    """A field of a dimension as a sentence's end: "yes", "one category", "only where Kind of issue is Fault"."""
    value = getattr(spec, name)
    if name == "kind":
        return spec.question_kind.words
    if name == "required":
        return "yes" if value else "no"
    if name == "applies_when":
        if value is None:
            return "always"
        wanted = " or ".join(names.get((value.dimension, each), str(each)) for each in value.values)
        return f"only where {names.get((value.dimension, ''), value.dimension)} is {wanted}"
    return str(value)


def _told(
    change: DimensionChange,
    pair: tuple[DimensionSpec | None, DimensionSpec | None],
    names: tuple[Mapping[tuple[str, str | bool], str], Mapping[tuple[str, str | bool], str]],
) -> tuple[FieldChange, ...]:
    """The fields that differ, or for an added or retired dimension all that say something."""
    old, new = pair
    if old and new:
        return tuple(
            FieldChange(FIELD_WORDS[name], *mark_words(in_words(old, name, names[0]), in_words(new, name, names[1])))
            for name in change.fields
        )
    spec, side = (new, 1) if new else (old, 0)
    assert spec is not None
    told = []
    for name in ("kind", "required", "applies_when", "help"):
        if text := in_words(spec, name, names[side]):
            pieces = unmarked(text, False)
            told.append(FieldChange(FIELD_WORDS[name], () if side else pieces, pieces if side else ()))
    return tuple(told)
