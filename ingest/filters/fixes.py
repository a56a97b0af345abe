"""Fixes of an issue as filter conditions: merged pull requests that closed it, otherwise commits."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.contrib.postgres.fields import ArrayField
from django.db.models import (
    BigIntegerField,
    BooleanField,
    Count,
    DateTimeField,
    Exists,
    ExpressionWrapper,
    F,
    Func,
    OuterRef,
    Q,
    QuerySet,
    Subquery,
    Sum,
    TextField,
    Value,
)
from django.db.models.functions import Cast, Extract

from ingest.models import ClosingChange

LINES = Cast("additions", BigIntegerField()) + Cast("deletions", BigIntegerField())


def fixes(issue: str = "pk") -> QuerySet[ClosingChange]:
    """The fixes of an issue, `OuterRef(issue)`."""
    merged = ClosingChange.objects.filter(closes=True, merged_at__isnull=False)
    pulls = merged.filter(issue=OuterRef("issue"), kind=ClosingChange.Kind.PULL_REQUEST)
    counted = Q(kind=ClosingChange.Kind.PULL_REQUEST) | ~Q(Exists(pulls))
    return merged.filter(counted, issue=OuterRef(issue)).order_by()


def has_fix(wanted: bool) -> Q:
    """Whether something merged closed it; False only where it is known that nothing did."""
    return Q(Exists(fixes())) if wanted else Q(changes_known=True) & ~Q(Exists(fixes()))


def n_fixes(lookup: str, n: int) -> Q:
    """At least (`gte`) or at most (`lte`) so many fixes."""
    if lookup == "gte" and n == 0:
        return Q(changes_known=True) | Q(Exists(fixes()))
    counted = fixes().values("issue").annotate(n=Count("pk"))
    if lookup == "gte":
        return Q(Exists(counted.filter(n__gte=n)))
    return Q(changes_known=True) & ~Q(Exists(counted.filter(n__gt=n)))


def size(of: Any, lookup: str, n: int) -> Q:
    """The sum of `of` over the fixes compared with a number; not where one of them does not say."""
    summed = fixes().values("issue").annotate(n=Sum(of), n_all=Count("pk"), n_known=Count(of))
    return Q(Exists(summed.filter(n_all=F("n_known"), **{f"n__{lookup}": n})))


def days(lookup: str, n: int) -> Q:
    """The time from opening to the first fix compared with a number of days."""
    bound = ExpressionWrapper(OuterRef("current_snapshot__created_at") + Value(timedelta(days=n)), DateTimeField())
    if lookup == "lte":
        return Q(Exists(fixes().filter(merged_at__lte=bound)))
    opened = Q(current_snapshot__created_at__isnull=False)
    return opened & Q(Exists(fixes())) & ~Q(Exists(fixes().filter(merged_at__lt=bound)))


def paths(wanted: Sequence[str]) -> Q:
    """A fix changes a file whose path is one of these, or lies below one; `*` stands for any letters."""
    patterns = [pattern for path in wanted for pattern in _patterns(path)]
    some = _AnyLike(F("paths"), Value(patterns, output_field=ArrayField(TextField())))
    return Q(Exists(fixes().filter(some)))


class _AnyLike(Func):
    """Whether one of an array of texts is like one of several patterns."""

    template = "EXISTS (SELECT FROM unnest(%(expressions)s))"
    arg_joiner = ") AS path WHERE path LIKE ANY ("
    output_field = BooleanField()


def _patterns(path: str) -> list[str]:
    escaped = path.strip("/").replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
    pattern = escaped.replace("*", "%")
    return [pattern, f"{pattern}/%"]


@dataclass(frozen=True)
class FixStratum:
    """A way to put issues into strata by their fixes: what is read of each, and the name of its stratum."""

    value: Any
    name: Callable[[Any], str]


NO_FIX, NOT_KNOWN = "no merged fix", "not known"


def _bands(*bounds: tuple[int, str], above: str) -> Callable[[Any], str]:
    """The name of the first band whose bound is not below a number."""

    def name(value: float | None) -> str:
        if value is None:
            return NOT_KNOWN
        return next((words for bound, words in bounds if value <= bound), above)

    return name


def _summed(of: Any) -> Subquery:
    summed = fixes().values("issue").annotate(n=Sum(of), n_all=Count("pk"), n_known=Count(of))
    return Subquery(summed.filter(n_all=F("n_known")).values("n"))


STRATA_BY_FIX: Mapping[str, FixStratum] = {
    "merged_fix": FixStratum(Value(1), lambda _: "merged fix"),
    "fixes": FixStratum(
        Subquery(fixes().values("issue").annotate(n=Count("pk")).values("n")),
        _bands((1, "1 fix"), (2, "2 fixes"), above="3 fixes or more"),
    ),
    "fix_lines": FixStratum(
        _summed(LINES),
        _bands((10, "1 to 10 lines"), (50, "11 to 50 lines"), (200, "51 to 200 lines"), above="more than 200 lines"),
    ),
    "fix_files": FixStratum(
        _summed(F("n_files")), _bands((1, "1 file"), (5, "2 to 5 files"), above="more than 5 files")
    ),
    "days_to_fix": FixStratum(
        Extract(
            Subquery(fixes().order_by("merged_at").values("merged_at")[:1]) - F("current_snapshot__created_at"), "epoch"
        )
        / 86400.0,
        _bands((1, "within a day"), (7, "within a week"), (30, "within 30 days"), above="later than 30 days"),
    ),
    "fix_folder": FixStratum(
        Subquery(fixes().exclude(paths=[]).order_by("merged_at", "pk").values("paths__0")[:1]),
        lambda path: NOT_KNOWN if path is None else path.partition("/")[0] if "/" in path else "top folder",
    ),
}
"""Strata by the fixes of issues. What fixes an issue is no part of a snapshot, so samples keep these strata.

`fix_folder` is the top folder of the first path of the first fix.
"""


def stratum_value(stratify_by: str) -> dict[str, Any]:
    """What is read of each issue: whether it has a fix, whether that is known, and the value of its stratum."""
    return {"fix_value": STRATA_BY_FIX[stratify_by].value, "has_fix": Exists(fixes())}


def stratum_name(stratify_by: str, value: Any, *, has_fix: bool, is_known: bool) -> str:
    """The stratum of an issue."""
    if not has_fix:
        return NO_FIX if is_known else NOT_KNOWN
    return STRATA_BY_FIX[stratify_by].name(value)
