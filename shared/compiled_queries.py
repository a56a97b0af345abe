"""Compiled queries: querysets of hot paths whose SQL is written once, not at every call."""

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Any, Generic, TypeVar

from django.db import connection, transaction
from django.db.models import Field, ForeignKey, Lookup, QuerySet
from django.db.models.query import ValuesListIterable, get_related_populators

Row = TypeVar("Row")

MARKS: dict[type, Callable[[int], Any]] = {
    int: lambda place: 2_147_480_001 + place,
    str: lambda place: f"the argument at place {place}",
    datetime: lambda place: datetime(1901 + place, 1, 1, tzinfo=UTC),
    list: lambda place: [2_147_480_001 + place],
}
"""Values that stand for an argument while the SQL is written; no other value of a queryset may be one of them."""


@Field.register_lookup
@ForeignKey.register_lookup
class AnyOf(Lookup):
    """`column__any_of=ids`: as `in`, with SQL of one shape however many they are; none find nothing."""

    lookup_name = "any_of"
    prepare_rhs = False

    def as_sql(self, compiler: Any, connection: Any) -> tuple[str, Any]:
        sql, values = self.process_lhs(compiler, connection)
        return f"{sql} = ANY(%s)", [*values, list(self.rhs)]


class CompiledQuery(Generic[Row]):
    """A queryset with arguments: the ORM says what is asked and makes the rows, its SQL is written at the first call.

    `queryset` is called once, with a mark for each argument; the kinds are int, str, datetime, or list for ids that
    are asked for with `any_of`. Arguments must not change the shape of the SQL: no None. Slices, joins, annotations,
    locks and `values_list` are kept; `lock` is one that the ORM has no word for.
    """

    def __init__(self, queryset: Callable[..., QuerySet[Any, Row]], *kinds: type, lock: str = "") -> None:
        self._queryset, self._lock = queryset, lock
        self._marks = [MARKS[kind](place) for place, kind in enumerate(kinds)]
        self._written: _QueryTemplate | None = None

    def all(self, *arguments: Any) -> list[Row]:
        """The rows for these arguments; one query."""
        written = self._written
        if written is None:
            written = self._written = _QueryTemplate(self._queryset(*self._marks), self._marks, self._lock)
        return written.rows(arguments)

    def first(self, *arguments: Any) -> Row | None:
        """The first of the rows, or None; the queryset says by its slice that one is enough."""
        found = self.all(*arguments)
        return found[0] if found else None


class _QueryTemplate:
    """The SQL of a queryset, where its arguments go, and how rows become what the queryset yields."""

    def __init__(self, queryset: QuerySet[Any, Any], marks: Sequence[Any], lock: str) -> None:
        compiler = queryset.query.get_compiler(connection.alias)
        sql, values = compiler.as_sql()
        self.sql = f"{sql} {lock}".rstrip()
        self.values = list(values)
        self.places = [(at, marks.index(value)) for at, value in enumerate(values) if value in marks]
        missing = set(range(len(marks))) - {argument for _, argument in self.places}
        if missing:
            raise TypeError(f"The arguments {sorted(missing)} do not stand in the SQL: {self.sql}")
        self.locks = bool(lock) or queryset.query.select_for_update
        columns = [column[0] for column in compiler.select[: compiler.col_count]]
        self.converters = list(compiler.get_converters(columns).items())
        self.is_plain = queryset._iterable_class is ValuesListIterable
        if self.is_plain:
            return
        about = compiler.klass_info
        assert about is not None
        self.model, fields = about["model"], about["select_fields"]
        self.start, self.end = fields[0], fields[-1] + 1
        self.names = [column[0].target.attname for column in compiler.select[self.start : self.end]]
        self.related = get_related_populators(about, compiler.select, connection.alias)  # type: ignore[call-arg]
        self.added = list(compiler.annotation_col_map.items())

    def rows(self, arguments: Sequence[Any]) -> list[Any]:
        if self.locks and connection.get_autocommit():
            raise transaction.TransactionManagementError("Rows are held until a commit, and there is no transaction.")
        values = self.values.copy()
        for at, argument in self.places:
            values[at] = arguments[argument]
        with connection.cursor() as cursor:
            cursor.execute(self.sql, values)
            found = cursor.fetchall()
        if self.converters:
            found = [self._converted(row) for row in found]
        return found if self.is_plain else [self._made(row) for row in found]

    def _converted(self, row: Sequence[Any]) -> tuple[Any, ...]:
        changed = list(row)
        for place, (converters, column) in self.converters:
            for convert in converters:
                changed[place] = convert(changed[place], column, connection)
        return tuple(changed)

    def _made(self, row: Sequence[Any]) -> Any:
        made = self.model.from_db(connection.alias, self.names, row[self.start : self.end])
        for populate in self.related:
            populate.populate(row, made)
        for name, place in self.added:
            setattr(made, name, row[place])
        return made
