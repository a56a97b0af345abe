"""Chunks of a round as arrays: items, raters, answers, and resolutions."""

import io
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from django.db import connection
from django.db.models import BooleanField, QuerySet
from django.db.models.expressions import RawSQL
from pyarrow import csv

from annotation.core.binary_copy import read_binary
from annotation.core.member_lists import code_order
from annotation.models import Assignment, Membership, Resolution, Round, RoundItem
from annotation.models.assignment_kinds import is_rater_sql
from ingest.errors import Invalid as NotAnIssue
from ingest.identifiers import full_name, parse_identifier
from ingest.models import Repository
from taxonomy.tree import VersionTree

ITEMS = 20_000
"""How many items are read at once."""
EMPTY, PENDING, NO, YES, FREE = range(5)
"""What a value's number says before the categories begin: none (of a set), a proposal, a mark, words or a number."""
FIRST = 5

Kind = Assignment.Kind
KINDS = tuple(Kind)
STATES = list(Assignment.State.values)
UNFINISHED = tuple(STATES.index(each) + 1 for each in Assignment.UNFINISHED)
FINISHED = tuple(STATES.index(each) + 1 for each in Assignment.FINISHED)
WITHDRAWN = STATES.index(Assignment.State.WITHDRAWN) + 1
"""States of assignments as the database numbers them in these answers: from 1."""

_ANSWERS = f"""
    SELECT a.item_id::bigint, a.rater_id::bigint, array_position(ARRAY{STATES}, a.state::text)::int,
        ({is_rater_sql("a")})::int, coalesce(a.current_id, -1)::bigint,
        coalesce(a.blind_id, -1)::bigint
    FROM annotation_assignment a WHERE a.round_id = %s AND a.item_id {{}}"""
_VALUE = f"""
    CASE WHEN category_id IS NOT NULL THEN category_id WHEN boolean IS NOT NULL THEN -{YES} + (NOT boolean)::int
        WHEN number IS NOT NULL OR text IS NOT NULL THEN -{FREE} ELSE -{EMPTY} END::bigint"""
_RATINGS = f"""
    SELECT r.annotation_id::bigint, r.part::int, r.dimension_id::bigint,
        CASE WHEN r.proposal_id IS NOT NULL THEN -{PENDING} ELSE {_VALUE} END::bigint
    FROM annotation_rating r WHERE r.round_id = %s AND r.item_id {{}}"""
_FREE_RATINGS = """
    SELECT r.annotation_id, r.part, r.dimension_id, r.number, r.text
    FROM annotation_rating r WHERE r.round_id = %s AND r.item_id {}
        AND (r.number IS NOT NULL OR r.text IS NOT NULL) AND r.proposal_id IS NULL"""
_NEWEST = """
    SELECT DISTINCT ON (item_id, part, dimension_id) * FROM annotation_resolution
    WHERE round_id = %s AND item_id {} ORDER BY item_id, part, dimension_id, revision DESC"""
_DECISIONS = f"""
    SELECT d.id::bigint, d.item_id::bigint, d.part::int, d.dimension_id::bigint,
        array_position(%s::text[], CASE WHEN EXISTS (
            SELECT FROM annotation_meetingresolution m WHERE m.resolution_id = d.id
        ) THEN '{Resolution.Method.DISCUSSION}' ELSE d.method::text END)::int, {_VALUE},
        (extract(epoch FROM d.created_at) * 1000000)::bigint
    FROM ({_NEWEST}) AS d LEFT JOIN annotation_resolutionvalue v ON v.resolution_id = d.id
    WHERE d.method <> 'reopened'"""
_FREE_DECISIONS = """
    SELECT d.id, v.number, v.text
    FROM annotation_resolution d JOIN annotation_resolutionvalue v ON v.resolution_id = d.id
    WHERE d.round_id = %s AND d.item_id {} AND (v.number IS NOT NULL OR v.text IS NOT NULL)"""
_PLACES = """
    SELECT position::int, item_id::bigint, n_raters::int, (known IS NOT NULL)::int FROM ({}) AS places"""
_FIRST_ANSWERS = """
    SELECT a.item_id::bigint, a.rater_id::bigint, n.id::bigint
    FROM annotation_assignment a JOIN annotation_annotation n ON n.assignment_id = a.id AND n.revision = 1
    WHERE a.round_id = %s AND a.item_id {}"""
_CALLED = """
    SELECT i.id, i.identifier, n.repository_id, n.number, (i.screening = 'out')::int
    FROM annotation_item i LEFT JOIN ingest_issue n ON n.id = i.issue_id WHERE i.id {}"""
_AMONG = "annotation_rounditem.item_id = ANY (%s::bigint[])"
SPREAD_MOST = 4
"""How many times as wide as a stretch the range of its items' keys may be, to be read as a range."""
METHODS = tuple(Resolution.Method.values)


def copy_rows(sql: str, params: Sequence[Any], columns: dict[str, pa.DataType]) -> pa.Table:
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

    def kinds(self, is_rater: np.ndarray, places: np.ndarray) -> np.ndarray:
        """Of assignments of the members at these places their kinds, as places among KINDS."""
        extra = np.where(self.is_person[places], KINDS.index(Kind.THIRD), KINDS.index(Kind.MODEL))
        return np.where(is_rater > 0, KINDS.index(Kind.RATER), extra)

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


class ValueCodes:
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

    def forget_free(self) -> None:
        """Free values get their numbers anew from here."""
        del self.words[FIRST + len(self._ids) :]
        self._free = {}

    @property
    def first_free(self) -> int:
        """The number from which on values are free ones."""
        return FIRST + len(self._ids)

    def free(self, values: Sequence[str | float]) -> np.ndarray:
        for value in values:
            if value not in self._free:
                self._free[value] = len(self.words)
                self.words.append(value)
        return np.array([self._free[value] for value in values], dtype=np.int64)


@dataclass(frozen=True)
class ItemChunk:
    """N items of a round, in its order: keys, places, planned raters."""

    round: Round
    places: np.ndarray

    @cached_property
    def items(self) -> np.ndarray:
        return np.ascontiguousarray(self.places["item"])

    @property
    def n_raters(self) -> np.ndarray:
        return self.places["n_raters"].astype(np.int64)

    @property
    def number(self) -> int:
        """Its number, where it is one of `only` some stretches."""
        return (int(self.places["position"][0]) - 1) // ITEMS

    @property
    def last(self) -> int:
        return int(self.places["position"][-1])

    @cached_property
    def names(self) -> pa.Table:
        """Identifier, repository and number of the items, and whether they are screened out.

        Two queries where it is asked for first.
        """
        return _names(self.items)

    @cached_property
    def _order(self) -> np.ndarray:
        return np.argsort(self.items, kind="stable")

    @cached_property
    def _table(self) -> tuple[int, np.ndarray] | None:
        """The lowest key, and of each from there where it stands, −1 for those of others; None where they are far."""
        low, high = int(self.items.min()), int(self.items.max())
        if high - low >= SPREAD_MOST * len(self.items):
            return None
        table = np.full(high - low + 1, -1, dtype=np.int64)
        table[self.items - low] = np.arange(len(self.items))
        return low, table

    def rows_of(self, items: np.ndarray) -> np.ndarray:
        """Where items by key stand in this stretch, −1 for those that do not."""
        if self._table is not None:
            low, table = self._table
            inside = (items >= low) & (items < low + len(table))
            return np.where(inside, table[np.where(inside, items - low, 0)], -1)
        at = self._order[np.searchsorted(self.items, items, sorter=self._order).clip(max=len(self.items) - 1)]
        return np.where(self.items[at] == items, at, -1)

    @cached_property
    def _within(self) -> tuple[str, list[Any]]:
        return within(self.items)

    def answers(self) -> np.ndarray:
        """item, rater, state (UNFINISHED, FINISHED, WITHDRAWN), is_rater, current and blind revision or −1."""
        condition, keys = self._within
        rows = read_binary(
            _ANSWERS.format(condition),
            [self.round.pk, *keys],
            item="bigint", rater="bigint", state="int", is_rater="int", current="bigint", blind="bigint",
        )  # fmt: skip
        return self._ours(rows)

    @property
    def training(self) -> np.ndarray:
        """Of each item whether it is one to train with."""
        found: np.ndarray = self.places["training"] > 0
        return found

    def first_answers(self) -> np.ndarray:
        """item, rater and first answer to each training item; one query where there is one."""
        kinds = {"item": "bigint", "rater": "bigint", "annotation": "bigint"}
        condition, keys = within(self.items[self.training])
        rows = read_binary(_FIRST_ANSWERS.format(condition), [self.round.pk, *keys], **kinds)
        at = self.rows_of(rows["item"])
        found: np.ndarray = rows[(at >= 0) & self.training[at]]
        return found

    def _ours(self, rows: np.ndarray) -> np.ndarray:
        is_ours = self.rows_of(rows["item"]) >= 0
        return rows if is_ours.all() else rows[is_ours]

    def ratings(self, values: ValueCodes, dimensions: Sequence[int], *, has_free: bool) -> np.ndarray:
        """annotation, part, dimension (its place among these keys) and the number of the value, of every revision.

        Those of other items of the round may be among them.
        """
        condition, keys = self._within
        rows = read_binary(
            _RATINGS.format(condition),
            [self.round.pk, *keys],
            annotation="bigint", part="int", dimension="bigint", value="bigint",
        )  # fmt: skip
        rows["value"] = values.numbers(rows["value"])
        if has_free and (is_free := rows["value"] == FREE).any():
            rows = self._with_free(rows, is_free, values, _FREE_RATINGS, "annotation", "part", "dimension")
        rows["dimension"] = _places(rows["dimension"], dimensions)
        return rows

    def decisions(self, values: ValueCodes, dimensions: Sequence[int], *, has_free: bool) -> np.ndarray:
        """id, item, part, dimension, place of the method, number of the value, microseconds; a row for each value."""
        condition, keys = self._within
        rows = read_binary(
            _DECISIONS.format(condition),
            [list(METHODS), self.round.pk, *keys],
            id="bigint", item="bigint", part="int", dimension="bigint", method="int", value="bigint", at="bigint",
        )  # fmt: skip
        rows["value"] = values.numbers(rows["value"])
        if has_free and (is_free := rows["value"] == FREE).any():
            rows = self._with_free(rows, is_free, values, _FREE_DECISIONS, "id")
        rows["dimension"] = _places(rows["dimension"], dimensions)
        return self._ours(rows)

    def _with_free(
        self, rows: np.ndarray, is_free: np.ndarray, values: ValueCodes, sql: str, *names: str
    ) -> np.ndarray:
        """The rows with the numbers of their words, which another query reads; `names` say which belong together.

        What was written between the two queries has words here and no row: nothing is ever taken away, so each row has
        its words.
        """
        condition, items = self._within
        kinds = {name: pa.int64() for name in names} | {"number": pa.float64(), "text": pa.string()}
        table = copy_rows(sql.format(condition), [self.round.pk, *items], kinds)
        said = [
            number if number is not None else text
            for number, text in zip(table["number"].to_pylist(), table["text"].to_pylist(), strict=True)
        ]
        mine = np.flatnonzero(is_free)
        theirs = _met([rows[name][mine] for name in names], [table[name].to_numpy() for name in names])
        rows["value"][mine] = values.free([said[at] for at in theirs])
        return rows


def _met(ours: Sequence[np.ndarray], theirs: Sequence[np.ndarray]) -> np.ndarray:
    """Where each row of some columns stands among different others, which have it all; in its order."""
    one, other = np.lexsort(ours), np.lexsort(theirs)
    if len(one) != len(other):
        wanted = set(zip(*(each.tolist() for each in ours), strict=True))
        other = other[[key in wanted for key in zip(*(each[other].tolist() for each in theirs), strict=True)]]
    found = np.empty(len(one), dtype=np.int64)
    found[one] = other
    return found


def _places(keys: np.ndarray, dimensions: Sequence[int]) -> np.ndarray:
    """Of dimensions by key their places among these."""
    known = np.array(dimensions, dtype=np.int64)
    order = np.argsort(known)
    found: np.ndarray = order[np.searchsorted(known, keys, sorter=order)]
    return found


def within(keys: np.ndarray) -> tuple[str, list[Any]]:
    """What holds of these keys, in SQL with its parameters: their range where it is narrow, else their list.

    A list of twenty thousand keys costs the planner more than reading what they mean.
    """
    low, high = int(keys.min()), int(keys.max())
    if high - low < SPREAD_MOST * len(keys):
        return "BETWEEN %s AND %s", [low, high]
    return "= ANY(%s::bigint[])", [f"{{{','.join(map(str, keys.tolist()))}}}"]


def stretches(
    round_: Round,
    *,
    among: QuerySet[Any, Any] | Sequence[int] | None = None,
    counting: bool = True,
    only: Iterable[int] | None = None,
) -> Iterator[ItemChunk]:
    """The items of a round in its order, ITEMS at a time; one query each, and those of what is asked of them.

    `among` are the ids of the items that are meant, or a query for them; `counting` leaves out training items, not only
    excluded ones; `only` are numbers of stretches: that of each is its positions, from 0, divided by ITEMS.
    """
    rows = RoundItem.objects.counting() if counting else RoundItem.objects.present()
    rows = rows.filter(round=round_)
    if isinstance(among, QuerySet):
        rows = rows.filter(item__in=among)
    elif among is not None:
        keys = f"{{{','.join(map(str, among))}}}"
        rows = rows.filter(RawSQL(_AMONG, [keys], output_field=BooleanField()))  # noqa: S611
    for number in () if only is None else only:
        places = _places_of(rows.filter(position__gt=number * ITEMS, position__lte=(number + 1) * ITEMS))
        if len(places):
            yield ItemChunk(round_, places)
    after = 0
    while only is None:
        places = _places_of(rows.filter(position__gt=after))
        if not len(places):
            return
        yield ItemChunk(round_, places)
        if len(places) < ITEMS:
            return
        after = int(places["position"][-1])


def _places_of(rows: QuerySet[RoundItem]) -> np.ndarray:
    """The first ITEMS of some places, in their order."""
    found = rows.order_by("position")[:ITEMS].values_list("position", "item_id", "n_raters", "known")
    sql, params = found.query.sql_with_params()
    kinds = {"position": "int", "item": "bigint", "n_raters": "int", "training": "int"}
    return read_binary(_PLACES.format(sql), params, **kinds)


def _names(items: np.ndarray) -> pa.Table:
    condition, params = within(items)
    kinds = {
        "item_id": pa.int64(),
        "identifier": pa.string(),
        "repository": pa.int64(),
        "number": pa.int64(),
        "screened_out": pa.bool_(),
    }
    table = copy_rows(_CALLED.format(condition), params, kinds)
    keys = table["item_id"].to_numpy()
    order = np.argsort(keys)
    return _with_names(table.take(pa.array(order[np.searchsorted(keys, items, sorter=order)])))


def _with_names(table: pa.Table) -> pa.Table:
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
    for name, column in (("repository", repositories), ("number", _one(numbers))):
        table = table.set_column(table.schema.get_field_index(name), name, column)
    return table


def _repositories(keys: Sequence[int]) -> list[tuple[Any, ...]]:
    return list(Repository.objects.filter(pk__in=keys).values_list("pk", "host", "owner", "name")) if keys else []


def _one(column: Any) -> Any:
    return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column


def group_sets(owners: np.ndarray, tokens: np.ndarray, n: int) -> tuple[list[np.ndarray], np.ndarray]:
    """Which different sets of tokens there are, and of each owner 0 … n − 1 which of them it has."""
    order = np.lexsort((tokens, owners))
    return sets_of(np.bincount(owners, minlength=n), tokens[order])


def sets_of(sizes: np.ndarray, tokens: np.ndarray) -> tuple[list[np.ndarray], np.ndarray]:
    """As `group_sets`, of tokens that stand in order, those of each owner together; `sizes`: how many each has.

    Exact: owners with equally many tokens are compared as rows of a matrix.
    """
    tokens = np.ascontiguousarray(tokens)
    starts = np.cumsum(sizes) - sizes
    which = np.empty(len(sizes), dtype=np.int64)
    different: list[np.ndarray] = []
    for size in np.flatnonzero(np.bincount(sizes)) if len(sizes) else ():
        mine = np.flatnonzero(sizes == size)
        if not size:
            which[mine] = len(different)
            different.append(np.zeros(0, dtype=np.int64))
            continue
        matrix = np.ascontiguousarray(tokens[starts[mine][:, None] + np.arange(size)])
        whole = matrix.ravel() if size == 1 else matrix.view(np.dtype((np.void, 8 * int(size)))).ravel()
        _, first, inverse = np.unique(whole, return_index=True, return_inverse=True)
        which[mine] = inverse + len(different)
        different.extend(matrix[first])
    return different, which
