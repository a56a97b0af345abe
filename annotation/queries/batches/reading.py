"""What stands in a stretch of a round, as arrays: its items, who answered, what they gave, what was decided."""

import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from django.db import connection
from django.db.models import QuerySet
from pyarrow import csv

from annotation.models import Membership, Resolution, Round, RoundItem
from annotation.queries.binary import read_binary
from annotation.queries.verdicts import code_order
from ingest.errors import Invalid as NotAnIssue
from ingest.identifiers import full_name, parse_identifier
from ingest.models import Repository
from taxonomy.tree import VersionTree

ITEMS = 20_000
"""How many items are read at once."""
EMPTY, PENDING, NO, YES, FREE = range(5)
"""What a value's number says before the categories begin: none (of a set), a proposal, a mark, words or a number."""
FIRST = 5

_ANSWERS = """
    SELECT a.item_id::bigint, a.rater_id::bigint, array_position(ARRAY['waiting', 'leased', 'submitted', 'skipped',
        'withdrawn'], a.state::text)::int, coalesce(a.slot, -1)::int, coalesce(a.current_id, -1)::bigint,
        coalesce(a.blind_id, -1)::bigint
    FROM annotation_assignment a WHERE a.round_id = %s AND a.item_id = ANY(%s)"""
_VALUE = f"""
    CASE WHEN category_id IS NOT NULL THEN category_id WHEN boolean IS NOT NULL THEN -{YES} + (NOT boolean)::int
        WHEN number IS NOT NULL OR text IS NOT NULL THEN -{FREE} ELSE -{EMPTY} END::bigint"""
_RATINGS = f"""
    SELECT r.annotation_id::bigint, r.part::int, r.dimension_id::bigint,
        CASE WHEN r.proposal_id IS NOT NULL THEN -{PENDING} ELSE {_VALUE} END::bigint
    FROM annotation_rating r WHERE r.round_id = %s AND r.item_id = ANY(%s)"""
_FREE_RATINGS = """
    SELECT r.annotation_id, r.part, r.dimension_id, r.number, r.text
    FROM annotation_rating r WHERE r.round_id = %s AND r.item_id = ANY(%s)
        AND (r.number IS NOT NULL OR r.text IS NOT NULL) AND r.proposal_id IS NULL"""
_NEWEST = """
    SELECT DISTINCT ON (item_id, part, dimension_id) * FROM annotation_resolution
    WHERE round_id = %s AND item_id = ANY(%s) ORDER BY item_id, part, dimension_id, revision DESC"""
_DECISIONS = f"""
    SELECT d.item_id::bigint, d.part::int, d.dimension_id::bigint, array_position(%s::text[], d.method::text)::int,
        {_VALUE}, (extract(epoch FROM d.created_at) * 1000000)::bigint
    FROM ({_NEWEST}) AS d LEFT JOIN annotation_resolutionvalue v ON v.resolution_id = d.id
    WHERE d.method <> 'reopened'"""
_FREE_DECISIONS = f"""
    SELECT d.item_id, d.part, d.dimension_id, v.number, v.text
    FROM ({_NEWEST}) AS d JOIN annotation_resolutionvalue v ON v.resolution_id = d.id
    WHERE d.method <> 'reopened' AND (v.number IS NOT NULL OR v.text IS NOT NULL)"""
METHODS = tuple(Resolution.Method.values)
UNFINISHED, FINISHED, WITHDRAWN = (1, 2), (3, 4), 5


def copied(sql: str, params: Sequence[Any], columns: dict[str, pa.DataType]) -> pa.Table:
    """The rows of a query, texts and nulls too, by a COPY; one query."""
    file = io.BytesIO()
    with connection.cursor() as cursor:
        said = cursor.mogrify(sql, params)
        with connection.wrap_database_errors:
            cursor.copy_expert(f"COPY ({said.decode()}) TO STDOUT (FORMAT csv)", file, 1 << 16)
    if not file.tell():
        return pa.table({name: pa.array([], kind) for name, kind in columns.items()})
    file.seek(0)
    return csv.read_csv(
        file,
        read_options=csv.ReadOptions(column_names=list(columns), use_threads=False, block_size=1 << 24),
        parse_options=csv.ParseOptions(newlines_in_values=True),
        convert_options=csv.ConvertOptions(
            column_types=columns, null_values=[""], strings_can_be_null=True, quoted_strings_can_be_null=False
        ),
    ).combine_chunks()


@dataclass(frozen=True)
class Raters:
    """The raters of a study: their keys in order, and of each a place in the order of codes, its code, what counts."""

    keys: np.ndarray
    places: np.ndarray
    codes: tuple[str, ...]
    is_person: np.ndarray

    def places_of(self, keys: np.ndarray) -> np.ndarray:
        """Of members by key their places in the order of codes."""
        found: np.ndarray = self.places[np.searchsorted(self.keys, keys)]
        return found


def raters_of(study_id: int) -> Raters:
    """All who could have answered, in the order of their codes; one query."""
    rows = list(Membership.objects.filter(study=study_id).order_by("pk").values_list("pk", "code", "kind"))
    order = sorted(range(len(rows)), key=lambda at: (code_order(rows[at][1]), rows[at][0]))
    places = np.empty(len(rows), dtype=np.int64)
    places[order] = np.arange(len(rows))
    is_person = np.zeros(len(rows), dtype=bool)
    is_person[places] = [kind == Membership.Kind.PERSON for _, _, kind in rows]
    keys = np.array([row[0] for row in rows], dtype=np.int64)
    return Raters(keys, places, tuple(rows[at][1] or "" for at in order), is_person)


class Values:
    """The values that can stand in ratings under a version, by numbers; free ones get theirs as they are met."""

    def __init__(self, tree: VersionTree) -> None:
        pairs = sorted((one.id, one.key) for dimension in tree.dimensions for one in dimension.categories)
        self._ids = np.array([pk for pk, _ in pairs], dtype=np.int64)
        self.words: list[Any] = [None, "PENDING", False, True, None, *(key for _, key in pairs)]
        self._free: dict[str | float, int] = {}

    def numbers(self, values: np.ndarray) -> np.ndarray:
        """The numbers of values as the queries here give them."""
        found = np.searchsorted(self._ids, values) + FIRST
        return np.where(values <= 0, -values, found)

    def free(self, values: Sequence[str | float]) -> np.ndarray:
        for value in values:
            if value not in self._free:
                self._free[value] = len(self.words)
                self.words.append(value)
        return np.array([self._free[value] for value in values], dtype=np.int64)


@dataclass(frozen=True)
class Stretch:
    """N items of a round, in its order: keys, places, planned raters; what they are called is an Arrow table."""

    round: Round
    table: pa.Table

    @cached_property
    def items(self) -> np.ndarray:
        found: np.ndarray = self.table["item_id"].to_numpy()
        return found

    @cached_property
    def n_raters(self) -> np.ndarray:
        found: np.ndarray = self.table["n_raters"].to_numpy()
        return found

    @property
    def last(self) -> int:
        return int(self.table["position"][-1].as_py())

    @cached_property
    def _order(self) -> np.ndarray:
        return np.argsort(self.items, kind="stable")

    def rows_of(self, items: np.ndarray) -> np.ndarray:
        """Where items (by key, all of this stretch) stand in it."""
        found: np.ndarray = self._order[np.searchsorted(self.items, items, sorter=self._order)]
        return found

    def answers(self) -> np.ndarray:
        """item, rater, state (UNFINISHED, FINISHED, WITHDRAWN), slot or −1, current and blind revision or −1."""
        return read_binary(
            _ANSWERS,
            [self.round.pk, self.items.tolist()],
            item="bigint", rater="bigint", state="int", slot="int", current="bigint", blind="bigint",
        )  # fmt: skip

    def ratings(self, values: Values, dimensions: Sequence[int], *, has_free: bool) -> np.ndarray:
        """annotation, part, dimension (its place among these keys) and the number of the value, of every revision."""
        rows = read_binary(
            _RATINGS,
            [self.round.pk, self.items.tolist()],
            annotation="bigint", part="int", dimension="bigint", value="bigint",
        )  # fmt: skip
        rows["value"] = values.numbers(rows["value"])
        if has_free and (is_free := rows["value"] == FREE).any():
            kinds = {"annotation": pa.int64(), "part": pa.int64(), "dimension": pa.int64()}
            rows = self._with_free(rows, is_free, values, _FREE_RATINGS, kinds, "annotation")
        rows["dimension"] = _places(rows["dimension"], dimensions)
        return rows

    def decisions(self, values: Values, dimensions: Sequence[int], *, has_free: bool) -> np.ndarray:
        """item, part, dimension, place of the method, number of the value, microseconds; one row for each value."""
        rows = read_binary(
            _DECISIONS,
            [list(METHODS), self.round.pk, self.items.tolist()],
            item="bigint", part="int", dimension="bigint", method="int", value="bigint", at="bigint",
        )  # fmt: skip
        rows["value"] = values.numbers(rows["value"])
        if has_free and (is_free := rows["value"] == FREE).any():
            kinds = {"item": pa.int64(), "part": pa.int64(), "dimension": pa.int64()}
            rows = self._with_free(rows, is_free, values, _FREE_DECISIONS, kinds, "item")
        rows["dimension"] = _places(rows["dimension"], dimensions)
        return rows

    def _with_free(
        self, rows: np.ndarray, is_free: np.ndarray, values: Values, sql: str, kinds: dict[str, Any], owner: str
    ) -> np.ndarray:
        """The rows with the numbers of their words: both are put into one order, in which they belong together."""
        table = copied(
            sql, [self.round.pk, self.items.tolist()], {**kinds, "number": pa.float64(), "text": pa.string()}
        )
        said = [
            number if number is not None else text
            for number, text in zip(table["number"].to_pylist(), table["text"].to_pylist(), strict=True)
        ]
        keys = [table[name].to_numpy() for name in ("dimension", "part", owner)]
        theirs = np.lexsort(keys)
        mine = np.flatnonzero(is_free)
        mine = mine[np.lexsort([rows[name][mine] for name in ("dimension", "part", owner)])]
        rows["value"][mine] = values.free([said[at] for at in theirs])
        return rows


def _places(keys: np.ndarray, dimensions: Sequence[int]) -> np.ndarray:
    """Of dimensions by key their places among these."""
    known = np.array(dimensions, dtype=np.int64)
    order = np.argsort(known)
    found: np.ndarray = order[np.searchsorted(known, keys, sorter=order)]
    return found


def stretches(round_: Round, *, among: QuerySet[Any, Any] | None = None, counting: bool = True) -> Iterator[Stretch]:
    """The items of a round in its order, ITEMS at a time; two queries each, and those of what is asked of them.

    `among` is a query for the ids of the items that are meant; `counting` leaves out training items.
    """
    rows = RoundItem.objects.counting() if counting else RoundItem.objects.all()
    rows = rows.filter(round=round_)
    if among is not None:
        rows = rows.filter(item__in=among)
    columns = {
        "position": pa.int64(), "item_id": pa.int64(), "n_raters": pa.int64(), "identifier": pa.string(),
        "repository": pa.int64(), "number": pa.int64(),
    }  # fmt: skip
    after = 0
    while True:
        found = rows.filter(position__gt=after).order_by("position").values_list(
            "position", "item_id", "n_raters", "item__identifier", "item__issue__repository", "item__issue__number"
        )[:ITEMS]  # fmt: skip
        table = copied(*found.query.sql_with_params(), columns)
        if not table.num_rows:
            return
        yield Stretch(round_, _named(table))
        if table.num_rows < ITEMS:
            return
        after = int(table["position"][-1].as_py())


def _named(table: pa.Table) -> pa.Table:
    """Repositories by name; of an item without a stored issue as its identifier says, if it names one."""
    keys = [pk for pk in pc.unique(table["repository"]).to_pylist() if pk is not None]
    names = {pk: full_name(*name) for pk, *name in _repositories(keys)}
    words = [names[pk] for pk in keys]
    places = pc.index_in(table["repository"], pa.array(keys, pa.int64()))
    numbers = table["number"]
    identifiers = table["identifier"]
    doubtful = pc.and_(pc.is_null(numbers), pc.match_substring_regex(identifiers, "[#/]"))
    if pc.any(doubtful).as_py():
        said, counted = places.to_pylist(), numbers.to_pylist()
        of_name = {name: place for place, name in enumerate(words)}
        for at in np.flatnonzero(doubtful.to_numpy()):
            try:
                host, owner, name, number = parse_identifier(identifiers[int(at)].as_py())
            except NotAnIssue:
                continue
            whole = full_name(host, owner, name)
            if whole not in of_name:
                of_name[whole] = len(words)
                words.append(whole)
            said[at], counted[at] = of_name[whole], number
        places, numbers = pa.array(said, pa.int32()), pa.array(counted, pa.int64())
    repositories = pa.DictionaryArray.from_arrays(_one(places).cast(pa.int32()), pa.array(words, pa.string()))
    return table.set_column(4, "repository", repositories).set_column(5, "number", _one(numbers))


def _repositories(keys: Sequence[int]) -> list[tuple[Any, ...]]:
    return list(Repository.objects.filter(pk__in=keys).values_list("pk", "host", "owner", "name")) if keys else []


def _one(column: Any) -> Any:
    return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column


def grouped(owners: np.ndarray, tokens: np.ndarray, n: int) -> tuple[list[np.ndarray], np.ndarray]:
    """Which different sets of tokens there are, and of each owner 0 … n − 1 which of them it has.

    Exact: owners with equally many tokens are compared as rows of a matrix.
    """
    order = np.lexsort((tokens, owners))
    tokens = np.ascontiguousarray(tokens[order])
    sizes = np.bincount(owners, minlength=n)
    starts = np.cumsum(sizes) - sizes
    which = np.empty(n, dtype=np.int64)
    different: list[np.ndarray] = []
    for size in np.unique(sizes):
        mine = np.flatnonzero(sizes == size)
        if not size:
            which[mine] = len(different)
            different.append(np.zeros(0, dtype=np.int64))
            continue
        matrix = np.ascontiguousarray(tokens[starts[mine][:, None] + np.arange(size)])
        whole = matrix.view(np.dtype((np.void, matrix.dtype.itemsize * int(size)))).ravel()
        _, first, inverse = np.unique(whole, return_index=True, return_inverse=True)
        which[mine] = inverse + len(different)
        different.extend(matrix[first])
    return different, which
