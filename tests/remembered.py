"""Baselines made once: what builders leave in an empty database is kept as rows, and copied in when asked for again.

The actions that a builder calls run once for each process and chain of calls. Where anything else was written in
between, or a test has replaced something, they run as ever.
"""

import pickle
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import wraps
from io import StringIO
from typing import Any, ParamSpec, TypeVar

from django.db import connection, models, transaction

from taxonomy.queries import _told, _trees, forget_trees

Given = ParamSpec("Given")
Made = TypeVar("Made")

TREES: tuple[dict[Any, Any], ...] = (_trees, _told)
READS = ("SELECT", "SAVEPOINT", "RELEASE", "SET CONSTRAINTS")
FIRST = ("accounts_user", "taxonomy_taxonomy", "ingest_repository", "annotation_study")
"""Tables of which one has a row in every database that is not empty."""
EMPTY = "SELECT NOT ({})".format(" OR ".join(f"EXISTS (SELECT FROM {table})" for table in FIRST))
CHANGED = """
SELECT relname FROM pg_stat_xact_user_tables
WHERE schemaname = 'public' AND n_tup_ins + n_tup_upd + n_tup_del > 0
"""
ADVANCE = """
SELECT setval(place, highest) FROM (
    SELECT pg_get_serial_sequence(quote_ident(name), 'id')::regclass AS place, highest
    FROM unnest(%s::text[], %s::bigint[]) AS kept (name, highest)
) AS kept
WHERE coalesce(pg_sequence_last_value(place), 0) < highest
"""
"""Sequences go on behind the rows put back, also where a test has begun them again (TRUNCATE … RESTART IDENTITY)."""
COLUMNS = """
SELECT string_agg(quote_ident(attname), ', ' ORDER BY attnum) FROM pg_attribute
WHERE attrelid = %s::regclass AND attnum > 0 AND NOT attisdropped AND attgenerated = ''
"""

Rows = dict[str, list[str]]
"""The rows of each table that has some, as COPY writes them."""


@dataclass
class _Place:
    """What the database holds after a chain of calls, and what has to be done to get there from the place before."""

    rows: Rows = field(default_factory=dict)
    emptied: Sequence[str] = ()
    added: Rows = field(default_factory=dict)
    highest: dict[str, int] = field(default_factory=dict)
    """The highest ID of each table in `added` that has numbers as IDs."""
    result: bytes = b""
    callbacks: Sequence[tuple[Any, bool]] = ()
    trees: tuple[dict[Any, Any], ...] = ({}, {})
    """Versions of taxonomies that the process has read by then."""
    next: dict[str, "_Place"] = field(default_factory=dict)


class _Memory:
    """Where the database of this process stands now: at a place that is known (`here`), or anywhere (None)."""

    def __init__(self) -> None:
        self.root = _Place()
        self.here: _Place | None = None
        self.is_building = False
        self.item: Any = None
        self.columns: dict[str, str] = {}

    def begin(self, item: Any) -> None:
        """A test begins, in whatever its module has built."""
        self.here, self.item = None, item
        if self._watch not in connection.execute_wrappers:
            connection.execute_wrappers.append(self._watch)

    def _watch(self, execute: Any, sql: Any, params: Any, many: bool, context: Any) -> Any:
        if self.here is not None and not str(sql).lstrip().startswith(READS):
            self.here = None
        return execute(sql, params, many, context)

    def call(self, build: Callable[..., Any], given: Sequence[Any], named: Mapping[str, Any]) -> Any:
        is_apart = self.is_building or self.item is None or not connection.in_atomic_block
        place = None if is_apart or self._is_patched() else self._place()
        key = None if place is None else _key(build.__name__, given, named)
        if place is None or key is None:
            return build(*given, **named)
        known = place.next.get(key)
        if known is not None:
            return self._put_back(known)
        if place is self.root and any(self.copied(table) for table in self.changed()):
            return build(*given, **named)
        n_callbacks, had = len(connection.run_on_commit), [{*each} for each in TREES]
        self.is_building = True
        try:
            made = build(*given, **named)
        finally:
            self.is_building = False
            self.here = None
        after = place.next[key] = self.here = self._place_after(place, made, n_callbacks)
        after.trees = tuple(
            before | {key: tree for key, tree in now.items() if key not in old}
            for before, now, old in zip(place.trees, TREES, had, strict=True)
        )
        return made

    def _place(self) -> _Place | None:
        if self.here is None:
            with connection.connection.cursor() as cursor:
                cursor.execute(EMPTY)
                (is_empty,) = cursor.fetchone()
            return self.root if is_empty else None
        return self.here

    def _is_patched(self) -> bool:
        """Whether the test has replaced anything: what a builder makes then is for this test alone."""
        found = getattr(getattr(self.item, "_request", None), "_fixture_defs", {})
        for name in ("monkeypatch", "settings", "mocker"):
            result = getattr(found.get(name), "cached_result", None)
            if result and any(getattr(result[0], each, None) for each in ("_setattr", "_setitem", "_to_restore")):
                return True
        return False

    def changed(self) -> list[str]:
        """The tables in which this transaction has written, or one within the second before it."""
        with connection.connection.cursor() as cursor:
            cursor.execute(CHANGED)
            return [name for (name,) in cursor.fetchall()]

    def _place_after(self, before: _Place, made: Any, n_callbacks: int) -> _Place:
        rows = {table: found for table in self.changed() if (found := self.copied(table))}
        after = _Place(rows, result=pickle.dumps(made))
        waiting: list[Any] = list(connection.run_on_commit[n_callbacks:])
        after.callbacks = [(run, is_robust) for _, run, is_robust in waiting]
        emptied = []
        for table in sorted({*rows, *before.rows}):
            now, then = rows.get(table, []), before.rows.get(table, [])
            if set(then) <= set(now):
                added = [row for row in now if row not in set(then)] if then else now
            else:
                emptied.append(table)
                added = now
            if added:
                after.added[table] = added
                highest = self._highest(table, added)
                if highest:
                    after.highest[table] = highest
        after.emptied = emptied
        return after

    def _highest(self, table: str, rows: Sequence[str]) -> int:
        names = self.columns[table].split(", ")
        ids = [row.rstrip("\n").split("\t")[names.index("id")] for row in rows] if "id" in names else []
        return max((int(each) for each in ids if each.isdecimal()), default=0)

    def copied(self, table: str) -> list[str]:
        """The rows of a table, as COPY writes them."""
        found = StringIO()
        with connection.connection.cursor() as cursor:
            if table not in self.columns:
                cursor.execute(COLUMNS, [f'"{table}"'])
                self.columns[table] = cursor.fetchone()[0]
            cursor.copy_expert(f'COPY (SELECT {self.columns[table]} FROM "{table}") TO STDOUT', found)
        return found.getvalue().splitlines(keepends=True)

    def _put_back(self, place: _Place) -> Any:
        with connection.connection.cursor() as cursor:
            emptied = "".join(f'DELETE FROM "{table}";' for table in place.emptied)
            cursor.execute(f"SET LOCAL session_replication_role = replica; {emptied}")
            for table, rows in place.added.items():
                cursor.copy_expert(f'COPY "{table}" ({self.columns[table]}) FROM STDIN', StringIO("".join(rows)))
            cursor.execute("SET LOCAL session_replication_role = origin")
            cursor.execute(ADVANCE, [list(place.highest), list(place.highest.values())])
        for run, is_robust in place.callbacks:
            transaction.on_commit(run, robust=is_robust)
        forget_trees()
        for trees, then in zip(TREES, place.trees, strict=True):
            trees.update(then)
        self.here = place
        return pickle.loads(place.result)


memory = _Memory()


def remembered(build: Callable[Given, Made]) -> Callable[Given, Made]:
    """A builder whose rows are kept."""

    @wraps(build)
    def built(*given: Given.args, **named: Given.kwargs) -> Made:
        made: Made = memory.call(build, given, named)
        return made

    return built


def _key(name: str, given: Sequence[Any], named: Mapping[str, Any]) -> str | None:
    """What was asked for, in words; None where it can't be said."""
    with suppress(TypeError):
        return repr((name, [_said(each) for each in given], sorted((key, _said(each)) for key, each in named.items())))
    return None


def _said(value: Any) -> Any:
    if isinstance(value, models.Model):
        return value._meta.label, value.pk
    if isinstance(value, dict):
        return {key: _said(each) for key, each in value.items()}
    if isinstance(value, list | tuple | range):
        return [_said(each) for each in value]
    if value is None or isinstance(value, str | int | float):
        return value
    raise TypeError(value)
