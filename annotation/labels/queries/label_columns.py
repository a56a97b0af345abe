"""Label columns of a study: the result of each set of answers becomes a code once.

The values are those of `rows.labels`: both ask consensus and map values in the same way.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from annotation.labels.columns import (
    NONE,
    NOT_AGREED,
    UNMAPPED,
    Categories,
    Columns,
    Ints,
    MultiColumn,
    NumberColumn,
    SingleColumn,
)
from annotation.labels.consensus import Values
from annotation.labels.queries.batches.batch_consensus import BatchConsensus, ChunkConsensus, FreeAnswer
from annotation.labels.queries.batches.changes import RoundRevision, revision_of, stretch_numbers
from annotation.labels.queries.batches.chunks import ItemChunk, stretches
from annotation.labels.queries.label_version import label_version
from annotation.labels.queries.rows import mapped_verdicts, settled_here, settled_verdicts
from annotation.labels.queries.verdicts import ItemVerdicts
from annotation.labels.queries.version_mapping import VersionMapping
from annotation.models import Round
from taxonomy.kinds import HasKind
from taxonomy.models import TaxonomyVersion
from taxonomy.queries import published_version
from taxonomy.tree import TreeDimension

MARK = Categories(("false", "true"), ("no", "yes"))
_PART = 13
"""Bits that the number of a part takes beside that of its item."""


@dataclass(frozen=True)
class LabeledChunk:
    """A stretch of a round by number, how many rows it has, and how many items that wait for their raters."""

    round: int
    number: int
    n_rows: int
    n_waiting: int


@dataclass(frozen=True)
class LabelColumns:
    """Columns of agreed labels, in terms of which versions they stand, and what is not in them.

    `rounds` has of each row the number of the round that gave it, `stretches` tell which rows are of which stretch, and
    `revisions` what was counted in each round.
    """

    columns: Columns
    rounds: Ints
    versions: Mapping[int, int]
    stretches: Sequence[LabeledChunk] = ()
    revisions: Sequence[RoundRevision] = ()

    def n_waiting(self, *, without: Collection[int]) -> int:
        """The items of these rounds, but those of some numbers, that their raters are not done with yet."""
        return sum(each.n_waiting for each in self.stretches if each.round not in without)


@dataclass(frozen=True)
class ColumnDimension(HasKind):
    """A dimension as the columns have it: as the newest version says, categories that only others have at the end."""

    key: str
    title: str
    kind: str
    categories: Categories


def read_label_columns(
    rounds: Sequence[Round],
    *,
    version: TaxonomyVersion | None = None,
    standing: TaxonomyVersion | None = None,
    earlier: LabelColumns | None = None,
) -> LabelColumns:
    """The agreed labels of these rounds (with their taxonomy_version), in the order of rounds and of items in them.

    What counts and how it is mapped is as in `rows.labels`. Dimensions that are texts have no column.
    `earlier` is what this gave before for the same versions: stretches in which nothing changed are taken from there.
    Cost: one query per round, and seven for every stretch of ITEMS items that is read.
    """
    told_in = {each.pk: version or label_version(each, standing) for each in rounds}
    asking = dimensions_in(told_in.values())
    tellings: dict[int, VersionMapping] = {}
    ordered = sorted(rounds, key=lambda each: each.number)
    # What comes after this was read makes labels newer than their revisions say, so that they are read again.
    since = {each.round: each for each in earlier.revisions} if earlier else {}
    found = {each.pk: revision_of(each, since.get(each.pk)) for each in ordered}
    revisions = [found[each.pk][0] for each in ordered]
    # Where an item counts hangs on all of its rounds.
    is_followed = [(each.round, each.rest) for each in revisions] == [
        (each.round, each.rest) for each in since.values()
    ]
    known = _by_stretch(earlier) if earlier and is_followed else {}
    gathered = [
        one
        for each in ordered
        for one in _round(
            each,
            rounds,
            tellings.setdefault(told_in[each.pk].pk, VersionMapping(told_in[each.pk])),
            asking,
            known.get(each.number, {}),
            found[each.pk][1] if is_followed or each.pk not in since else None,
        )
    ]
    versions = {each.number: told_in[each.pk].number for each in rounds}
    return replace(_whole(asking, gathered, versions), revisions=revisions)


def no_labels(version: TaxonomyVersion) -> Columns:
    """The columns of a version without a row."""
    return _whole(dimensions_in([version]), [], {}).columns


def dimensions_in(versions: Iterable[TaxonomyVersion]) -> dict[str, ColumnDimension]:
    """The dimensions of some versions by key, without texts; a key is of the kind that the newest version says."""
    trees = [published_version(each.pk) for each in sorted({*versions}, key=lambda each: (-each.number, each.pk))]
    gathered: dict[str, list[TreeDimension]] = {}
    for tree in trees:
        for dimension in tree.dimensions:
            gathered.setdefault(dimension.key, []).append(dimension)
    return {key: _asking(same) for key, same in gathered.items() if not same[0].is_free_text}


def _asking(same: Sequence[TreeDimension]) -> ColumnDimension:
    newest = same[0]
    if newest.is_two_valued:
        return ColumnDimension(newest.key, newest.title, newest.kind, MARK)
    kept = {category.key: category for dimension in reversed(same) for category in dimension.categories}
    keys = [*newest.by_key, *(key for key in kept if key not in newest.by_key)]
    place = {key: code for code, key in enumerate(keys)}
    shown = [kept[key].name for key in keys]
    names = [kept[key].path if shown.count(name) > 1 else name for key, name in zip(keys, shown, strict=True)]
    parents = [place.get(kept[key].parent or "", -1) for key in keys]
    return ColumnDimension(newest.key, newest.title, newest.kind, Categories(tuple(keys), tuple(names), tuple(parents)))


@dataclass
class _ChunkRows:
    """The rows of a stretch of one round: places, and of each dimension what stands there."""

    stretch: LabeledChunk
    items: Ints
    parts: Ints
    codes: dict[str, Ints]
    numbers: dict[str, np.ndarray]
    pairs: dict[str, tuple[Ints, Ints]]


class _Codes:
    """What sets of answers come to, below each other: part, dimension, and what stands in its column."""

    def __init__(self, round_: Round, version_mapping: VersionMapping, asking: Mapping[str, ColumnDimension]) -> None:
        self.round, self.version_mapping, self.asking = round_, version_mapping, asking
        self.columns = {key: at for at, key in enumerate(asking)}
        self.forget()

    def forget(self) -> None:
        self.starts, self.sizes = [0], [0]
        self.part: list[int] = []
        self.column: list[int] = []
        """Which dimension it is, −1 for one without a column."""
        self.code: list[int] = []
        self.number: list[float] = []
        self.own: list[int] = []
        """Which of the item's free answers stands here, −1 for none."""
        self.set_starts: list[int] = []
        self.set_sizes: list[int] = []
        self.members: list[int] = []

    def add(self, key: str | None, each: ItemVerdicts) -> int:
        found: dict[tuple[int, str], Values | str | None] = {}
        for verdict, told in mapped_verdicts(self.round, settled_verdicts(self.round, each), self.version_mapping):
            if key in (None, verdict.dimension):
                found[verdict.part, verdict.dimension] = told
        for verdict in each.verdicts:
            if verdict.state == "open" and key in (None, verdict.dimension):
                found.setdefault((verdict.part, verdict.dimension), None)
        self.starts.append(len(self.part))
        self.sizes.append(len(found))
        for (part, dimension), value in found.items():
            self._add(part, dimension, value)
        return len(self.starts) - 1

    def _add(self, part: int, dimension: str, value: Values | str | None) -> None:
        asking = self.asking.get(dimension)
        first = value[0] if isinstance(value, tuple) and value else None
        is_set = asking is not None and asking.is_set and isinstance(value, tuple)
        members = [asking.categories.place[str(one)] for one in value or ()] if asking and is_set else []
        self.part.append(part)
        self.column.append(self.columns.get(dimension, -1))
        self.code.append(NONE if asking is None else NOT_AGREED if value is None else _code(asking, value))
        self.number.append(first if isinstance(first, float | int) else np.nan)
        self.own.append(first.rank if isinstance(first, FreeAnswer) else -1)
        self.set_starts.append(len(self.members))
        self.set_sizes.append(len(members))
        self.members += members


def _round(
    round_: Round,
    rounds: Sequence[Round],
    version_mapping: VersionMapping,
    asking: Mapping[str, ColumnDimension],
    known: dict[int, _ChunkRows],
    changed: Sequence[int] | None,
) -> Iterator[_ChunkRows]:
    """The stretches of a round: those that changed (None: all of them) are read, the others are `known`."""
    if changed is None or round_.kind == Round.Kind.RELABEL:  # what a worklist gives rests on earlier rounds, too
        known, changed = {}, stretch_numbers(round_)
    if changed:
        codes = _Codes(round_, version_mapping, asking)
        judge = BatchConsensus(round_, version_mapping, codes)
        among = settled_here(round_, rounds) if len(rounds) > 1 else None
        for stretch in stretches(round_, among=among, only=changed):
            known[stretch.number] = _gathered(stretch, codes, judge, judge.judged(stretch))
    for number in sorted(known):
        yield known[number]


def _by_stretch(found: LabelColumns) -> dict[int, dict[int, _ChunkRows]]:
    """What was found before, by the number of the round and of the stretch."""
    known: dict[int, dict[int, _ChunkRows]] = {}
    columns, end = found.columns, 0
    for stretch in found.stretches:
        start, end = end, end + stretch.n_rows
        pairs = {}
        for key, multi in columns.multis.items():
            first, last = np.searchsorted(multi.rows, (start, end))
            pairs[key] = multi.rows[first:last] - start, multi.codes[first:last]
        codes = {key: single.codes[start:end] for key, single in columns.singles.items()}
        codes |= {key: multi.state[start:end] for key, multi in columns.multis.items()}
        numbers = {key: number.values[start:end] for key, number in columns.numbers.items()}
        known.setdefault(stretch.round, {})[stretch.number] = _ChunkRows(
            stretch, columns.items[start:end], columns.parts[start:end], codes, numbers, pairs
        )
    return known


def _gathered(stretch: ItemChunk, codes: _Codes, judge: BatchConsensus, judged: ChunkConsensus) -> _ChunkRows:
    rows, dimensions, at = judged.cells(codes.starts, codes.sizes)
    parts = np.array(codes.part, dtype=np.int64)[at]
    places, which = np.unique(rows << _PART | parts, return_inverse=True)
    said, numbers = np.array(codes.code, dtype=np.int64)[at], np.array(codes.number)[at]
    columns, own = np.array(codes.column, dtype=np.int64)[at], np.array(codes.own, dtype=np.int64)[at]
    mine = np.flatnonzero((own >= 0) & (columns >= 0))
    if len(mine):
        words = judged.own_numbers(rows[mine], own[mine], dimensions[mine])
        _write_own(judge, codes, mine, words, columns, said, numbers)
    n_waiting = int((~judged.is_complete).sum()) if codes.round.state == Round.State.OPEN else 0
    found = _ChunkRows(
        stretch=LabeledChunk(codes.round.number, stretch.number, len(places), n_waiting),
        items=stretch.items[places >> _PART],
        parts=places & (1 << _PART) - 1,
        codes={},
        numbers={},
        pairs={},
    )
    for column, (key, each) in enumerate(codes.asking.items()):
        mine = np.flatnonzero(columns == column)
        if each.is_number:
            found.numbers[key] = np.full(len(places), np.nan)
            found.numbers[key][which[mine]] = numbers[mine]
            continue
        found.codes[key] = np.full(len(places), NONE, dtype=np.int64)
        found.codes[key][which[mine]] = said[mine]
        if each.is_set:
            found.pairs[key] = _pairs(codes, which[mine], at[mine])
    return found


def _write_own(
    judge: BatchConsensus, codes: _Codes, at: Ints, words: Ints, columns: Ints, said: Ints, numbers: np.ndarray
) -> None:
    """Writes the items' own free answers: numbers, and words where another round asks for categories."""
    asking = list(codes.asking.values())
    different, which = np.unique(words, return_inverse=True)
    values = [judge.values.words[number] for number in different.tolist()]
    numbers[at] = np.array([each if isinstance(each, float) else np.nan for each in values])[which]
    for place in np.flatnonzero(np.array([not asking[column].is_number for column in columns[at]])):
        said[at[place]] = _code(asking[columns[at[place]]], (values[which[place]],))


def _pairs(codes: _Codes, rows: Ints, at: Ints) -> tuple[Ints, Ints]:
    """Of a set dimension rows and the codes of their members, in the order of both."""
    sizes = np.array(codes.set_sizes, dtype=np.int64)[at]
    starts = np.array(codes.set_starts, dtype=np.int64)[at]
    within = np.arange(sizes.sum()) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    members = np.array(codes.members, dtype=np.int64)[np.repeat(starts, sizes) + within]
    rows = np.repeat(rows, sizes)
    order = np.lexsort((members, rows))
    return rows[order], members[order]


def _code(asking: ColumnDimension, value: Values | str | None) -> int:
    """What stands in a column for an answer: a code, 0 for a set, or why there is none."""
    if value is None:
        return NONE
    if isinstance(value, str):
        return UNMAPPED
    if asking.is_two_valued:
        return int(value[0] is True)
    if asking.is_set or asking.is_number:
        return 0
    return asking.categories.place.get(str(value[0]), UNMAPPED) if len(value) == 1 else UNMAPPED


def _whole(
    asking: Mapping[str, ColumnDimension], gathered: Sequence[_ChunkRows], versions: Mapping[int, int]
) -> LabelColumns:
    """The rounds below each other, in types as small as their values allow: this is what is kept."""
    starts = np.cumsum([0, *(len(each.items) for each in gathered)])
    singles, multis, numbers = {}, {}, {}
    for key, each in asking.items():
        if each.is_number:
            numbers[key] = NumberColumn(key, each.title, _stacked([one.numbers[key] for one in gathered], np.float64))
            continue
        codes = _stacked([one.codes[key] for one in gathered], _small(len(each.categories)))
        if each.is_set:
            rows = [one.pairs[key][0] + start for one, start in zip(gathered, starts, strict=False)]
            said = [one.pairs[key][1] for one in gathered]
            small = _small(len(each.categories))
            multis[key] = MultiColumn(
                key, each.title, each.categories, _stacked(rows, np.int32), _stacked(said, small), codes
            )
        else:
            singles[key] = SingleColumn(key, each.title, each.kind, each.categories, codes)
    columns = Columns(
        _stacked([each.items for each in gathered], np.int64),
        _stacked([each.parts for each in gathered], np.int16),
        singles,
        multis,
        numbers,
    )
    rounds = _stacked([np.full(len(each.items), each.stretch.round) for each in gathered], np.int32)
    return LabelColumns(columns, rounds, versions, [each.stretch for each in gathered])


def _stacked(arrays: Sequence[np.ndarray], kind: type) -> np.ndarray:
    return np.concatenate([np.zeros(0, dtype=kind), *arrays]).astype(kind, copy=False)


def _small(n: int) -> type:
    return np.int8 if n < 127 else np.int16 if n < 32_000 else np.int32
