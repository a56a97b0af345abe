"""Mapped patterns: counted patterns in the terms of another taxonomy version. No query."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from agreement import category_label
from annotation.agreement_report.queries.patterns import DOES_NOT_APPLY, PatternRow, Value
from annotation.labels.consensus import PENDING
from taxonomy.migration import BlockedValue, Route
from taxonomy.tree import TreeDimension

FREE = (PENDING, DOES_NOT_APPLY)


@dataclass(frozen=True)
class LostValue:
    """Why a value can't be told: each category that stands in the way, with the reason in words."""

    reasons: Sequence[tuple[str, str]]

    @property
    def words(self) -> str:
        return "; ".join(dict.fromkeys(reason for _, reason in self.reasons))


@dataclass(frozen=True)
class MappedDimension:
    """A dimension's values under its `own` version, in terms of `dimension`, the same question in another version."""

    own: TreeDimension
    dimension: TreeDimension
    route: Route
    version: int
    _known: dict[Value, "Value | LostValue"] = field(default_factory=dict, repr=False, compare=False)

    def value(self, value: Value) -> "Value | LostValue":
        """What a value is called there, or what it is lost by."""
        if self.route.is_empty:
            return value
        if value not in self._known:
            self._known[value] = self._value(value)
        return self._known[value]

    def _value(self, value: Value) -> "Value | LostValue":
        key = self.own.key
        given = tuple(sorted(value)) if isinstance(value, frozenset) else (value,)
        found = self.route.values(key, given, free=FREE)
        if isinstance(found, BlockedValue):
            return LostValue(self._reasons(given) or [(category_label(value), found.words)])
        if self.dimension.is_set:
            return frozenset(str(each) for each in found)
        if not found:
            return LostValue([(category_label(value), BlockedValue("kind", self.version).words)])
        return found[0]

    def _reasons(self, given: Sequence[str | float]) -> list[tuple[str, str]]:
        if not self.own.has_categories:
            return []
        followed = [(str(each), self.route.follow(self.own.key, str(each))) for each in given if each not in FREE]
        return [(each, found.words) for each, found in followed if isinstance(found, BlockedValue)]

    def row(self, row: PatternRow) -> PatternRow:
        """A pattern with the raters whose values can be told."""
        if self.route.is_empty:
            return row
        told = [(rater, self.value(value)) for rater, value in zip(row.raters, row.values, strict=True)]
        kept = [(rater, value) for rater, value in told if not isinstance(value, LostValue)]
        return PatternRow(tuple(rater for rater, _ in kept), tuple(value for _, value in kept), row.n)

    def rows(self, rows: Sequence[PatternRow]) -> tuple[list[PatternRow], int]:
        """The patterns in which something can be told, and how many units have nothing left."""
        told = [self.row(row) for row in rows]
        return [row for row in told if row.raters], sum(row.n for row in told if not row.raters)

    def lost(self, rows: Sequence[PatternRow]) -> Mapping[tuple[str, str], int]:
        """How many ratings are lost, by category and reason."""
        counted: Counter[tuple[str, str]] = Counter()
        if not self.route.is_empty:
            for row in rows:
                for value in row.values:
                    if isinstance(found := self.value(value), LostValue):
                        counted.update(dict.fromkeys(found.reasons, row.n))
        return counted
