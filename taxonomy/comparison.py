"""Comparison of two documents: what happened to each category. Pure."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from shared.errors import Invalid
from taxonomy.schema import CategorySpec, DimensionSpec, Document

PAIRS_MAX = 100_000
"""So many pairs of an old and a new category that belong together a comparison has."""

Place = tuple[str, str]
"""A category: (dimension key, category key)."""

Sources = Mapping[Place, tuple[str, ...]]
"""For each category of the newer document the keys, in the same dimension of the older one, it comes from."""

MEANING = ("definition", "include", "exclude", "selectable")
"""Fields that say what belongs to a category: where one differs it is redefined."""

FIELDS = ("key", "name", *MEANING, "examples", "shortcut")
DIMENSION_FIELDS = ("title", "kind", "required", "applies_when", "help")

KINDS = ("kept", "renamed", "redefined", "moved", "merged", "split", "retired", "added")


@dataclass(frozen=True)
class Change:
    """What became of one category: `kind` decides what happens to its labels, `also` says what else changed.

    old is None for what was added, new is None for what was retired; paths are names from the root. `fields` are those
    of FIELDS that differ. Examples and a shortcut change no meaning: a category that differs in them alone was kept.
    """

    kind: str
    dimension: str
    old: str | None
    new: str | None
    also: tuple[str, ...] = ()
    old_path: tuple[str, ...] = ()
    new_path: tuple[str, ...] = ()
    fields: tuple[str, ...] = ()

    @property
    def is_seen(self) -> bool:
        """Whether there is anything to show: what was kept is shown only where a field differs."""
        return self.kind != "kept" or bool(self.fields)


@dataclass(frozen=True)
class DimensionChange:
    """What became of a dimension: added, retired or changed, with the fields that differ."""

    kind: str
    dimension: str
    fields: tuple[str, ...] = ()


@dataclass(frozen=True)
class _PlacedCategory:
    spec: CategorySpec
    above: tuple[CategorySpec, ...]

    @property
    def path(self) -> tuple[str, ...]:
        return (*(each.name for each in self.above), self.spec.name)


def sources(old: Document, new: Document) -> dict[Place, tuple[str, ...]]:
    """Where each category of the new document comes from, by its key and its `was`.

    A `was` that stands just so at the same key of the old document is a remainder from then and doesn't count.
    A key that goes on existing goes on meaning itself, also beside a `was`, unless another category's `was` claims it.
    """
    found: dict[Place, tuple[str, ...]] = {}
    old_dimensions = {dimension.key: dimension for dimension in old.dimensions}
    for dimension in new.dimensions:
        before = _placed(old_dimensions.get(dimension.key))
        told: dict[str, tuple[str, ...]] = {}
        for spec, _ in dimension.walk():
            own = before.get(spec.key)
            is_remainder = own is not None and own.spec.was == spec.was
            told[spec.key] = () if is_remainder else tuple(key for key in spec.was if key in before)
        claimed = {key: by for by, keys in told.items() for key in keys if key != by}
        for key, keys in told.items():
            goes_on = key in before and key not in keys and not (keys and key in claimed)
            found[dimension.key, key] = (key, *keys) if goes_on else keys
    return found


def compose(first: Sources, second: Sources) -> dict[Place, tuple[str, ...]]:
    """Sources over two steps: the second's keys, followed through the first.

    Raises Invalid where a merge of very many that is split into very many would have more than PAIRS_MAX pairs.
    """
    n_pairs = sum(len(first.get((place[0], middle), ())) for place, keys in second.items() for middle in keys)
    if n_pairs > PAIRS_MAX:
        raise Invalid(
            f"More than {PAIRS_MAX:,} pairs of categories belong together between these versions: many were merged "
            "into one, which was split again. Compare versions that are next to each other."
        )
    return {
        (dimension, key): tuple(dict.fromkeys(old for middle in keys for old in first.get((dimension, middle), ())))
        for (dimension, key), keys in second.items()
    }


def invert(told: Sources, old: Document) -> dict[Place, tuple[str, ...]]:
    """Sources read backwards, for comparing a newer document with an older one."""
    found: dict[Place, list[str]] = {
        (dimension.key, spec.key): [] for dimension in old.dimensions for spec, _ in dimension.walk()
    }
    for (dimension, key), keys in told.items():
        for source in keys:
            if (dimension, source) in found:
                found[dimension, source].append(key)
    return {place: tuple(keys) for place, keys in found.items()}


def compare(old: Document, new: Document, told: Sources | None = None) -> list[Change]:
    """What became of every category, in the order of the new document, the retired ones at the end of their dimension.

    Every pair of an old and a new category that belong together is one change. One old under several new ones is a
    split, several old under one new one a merge; where both meet it is a split, as its labels can't simply follow.
    Otherwise the first that holds of moved, renamed, redefined; `also` holds the others.
    """
    told = sources(old, new) if told is None else told
    old_dimensions = {dimension.key: dimension for dimension in old.dimensions}
    found: list[Change] = []
    for dimension in new.dimensions:
        found += _compare_dimension(old_dimensions.pop(dimension.key, None), dimension, told)
    for dimension in old_dimensions.values():
        found += _retired(dimension.key, _placed(dimension).values())
    return found


def compare_dimensions(old: Document, new: Document) -> list[DimensionChange]:
    """The dimensions that were added, retired, or differ in more than their categories."""
    before = {dimension.key: dimension for dimension in old.dimensions}
    found = []
    for dimension in new.dimensions:
        other = before.pop(dimension.key, None)
        if other is None:
            found.append(DimensionChange("added", dimension.key))
            continue
        fields = differing(other, dimension, DIMENSION_FIELDS)
        if fields:
            found.append(DimensionChange("changed", dimension.key, tuple(fields)))
    return found + [DimensionChange("retired", key) for key in before]


def differing(old: CategorySpec | DimensionSpec, new: CategorySpec | DimensionSpec, fields: Iterable[str]) -> list[str]:
    """Which of these fields are not equal in both."""
    return [name for name in fields if getattr(old, name) != getattr(new, name)]


def _placed(dimension: DimensionSpec | None) -> dict[str, _PlacedCategory]:
    return {spec.key: _PlacedCategory(spec, above) for spec, above in dimension.walk()} if dimension else {}


def _retired(dimension: str, gone: Iterable[_PlacedCategory]) -> list[Change]:
    return [Change("retired", dimension, each.spec.key, None, (), each.path, ()) for each in gone]


def _compare_dimension(old: DimensionSpec | None, new: DimensionSpec, told: Sources) -> list[Change]:
    before, after = _placed(old), _placed(new)
    heirs: dict[str, list[str]] = defaultdict(list)
    for key in after:
        for source in told.get((new.key, key), ()):
            if source in before:
                heirs[source].append(key)
    found = []
    for key, placed in after.items():
        keys = [source for source in told.get((new.key, key), ()) if source in before]
        if not keys:
            found.append(Change("added", new.key, None, key, (), (), placed.path))
        for source in keys:
            differs = _differences(before[source], placed, new.key, told)
            if len(heirs[source]) > 1:
                differs.insert(0, "split")
            elif len(keys) > 1:
                differs.insert(0, "merged")
            kind, *also = differs or ["kept"]
            fields = tuple(differing(before[source].spec, placed.spec, FIELDS))
            found.append(Change(kind, new.key, source, key, tuple(also), before[source].path, placed.path, fields))
    return found + _retired(new.key, (placed for key, placed in before.items() if key not in heirs))


def _differences(old: _PlacedCategory, new: _PlacedCategory, dimension: str, told: Sources) -> list[str]:
    """Which of moved, renamed and redefined hold; a parent that only has a new key is the same place."""
    found = []
    old_parent = old.above[-1].key if old.above else None
    new_parents = told.get((dimension, new.above[-1].key), ()) if new.above else (None,)
    if old_parent not in new_parents:
        found.append("moved")
    if old.spec.name != new.spec.name or old.spec.key != new.spec.key:
        found.append("renamed")
    if differing(old.spec, new.spec, MEANING):
        found.append("redefined")
    return found
