"""Conditions of a filter: each word as a step, in words and for the database."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Exists, OuterRef, Q, QuerySet

from ingest.errors import Conflict, Invalid
from ingest.identifiers import full_name
from ingest.models import ClosingChange, Issue, Repository
from ingest.search import conditions
from ingest.search.grammar import SearchError, read_search

WAITING_MOST = 20_000
"""Issues that are not indexed yet and whose texts are read for a frame, which must be complete."""


@dataclass(frozen=True)
class FilterStep:
    """A condition that narrows issues, in words and for the database; `always` is counted even if it leaves all."""

    name: str
    condition: Q
    always: bool = True


def repository(named: tuple[tuple[str, str, str], ...]) -> FilterStep:
    chosen = Q(pk__in=[])
    for host, owner, name in named:
        chosen |= Q(repository__in=Repository.objects.called(host, owner, name))
    return FilterStep("repository: " + ", ".join(full_name(*each) for each in named), chosen)


def presence(wanted: tuple[str, ...] | None) -> FilterStep:
    if wanted is None:
        return FilterStep("not deleted at GitHub", ~Q(presence=Issue.Presence.DELETED), always=False)
    return FilterStep("presence: " + ", ".join(wanted), Q(presence__in=wanted))


def state(state: str) -> FilterStep:
    return FilterStep(
        f"state: {state}", Q() if state == "all" else Q(current_snapshot__state=state), always=state != "all"
    )


def labels(labels: tuple[str, ...]) -> FilterStep:
    return FilterStep("GitHub labels: " + ", ".join(labels), conditions.has_label(*labels))


def labels_all(labels: tuple[str, ...]) -> FilterStep:
    has_all = Q()
    for label in labels:
        has_all &= conditions.has_label(label)
    return FilterStep("all GitHub labels: " + ", ".join(labels), has_all)


def without_labels(labels: tuple[str, ...]) -> FilterStep:
    return FilterStep("without GitHub labels: " + ", ".join(labels), ~conditions.has_label(*labels))


def day(words: str, field: str, lookup: str) -> Callable[[datetime], FilterStep]:
    def step(day: datetime) -> FilterStep:
        written = day.date().isoformat() if not (day.hour or day.minute or day.second) else f"{day:%Y-%m-%dT%H:%M:%SZ}"
        return FilterStep(f"{words} {written}", Q(**{f"{field}__{lookup}": day}))

    return step


def locked(is_locked: bool) -> FilterStep:
    return FilterStep("locked" if is_locked else "not locked", conditions.is_locked(is_locked))


def without_bots(asked: bool) -> FilterStep:
    return FilterStep(
        "not opened by a bot",
        ~Q(current_snapshot__author_login__endswith="[bot]") if asked else Q(),
        always=asked,
    )


def closing_change(wanted: bool | str) -> FilterStep:
    changes = ClosingChange.objects.filter(issue=OuterRef("pk"), closes=True)
    if wanted is False:
        return FilterStep("known to have no closing change", Q(changes_known=True) & ~Q(Exists(changes)))
    if wanted is True:
        return FilterStep("has a closing change", Q(Exists(changes)))
    merged = changes.filter(kind=ClosingChange.Kind.PULL_REQUEST, merged_at__isnull=False)
    return FilterStep("closed by a merged pull request", Q(Exists(merged)))


def words(text: str) -> FilterStep:
    """By the index, which is filled a little later than issues come in; what it lacks is read. Raises Invalid."""
    try:
        search = read_search(text)
        if search.sort:
            raise SearchError("A frame has its own order. Omit “sort:”.")
    except SearchError as error:
        raise Invalid("The filter is not valid.", fields={"filter.words": [str(error)]}) from error
    condition = conditions.qualifier_condition(search, Repository.objects.all())
    if search.has_text:
        waiting = conditions.unindexed(at_most=WAITING_MOST + 1)
        if len(waiting) > WAITING_MOST:
            raise Conflict(conditions.INDEX_BUILDING, code="index_building")
        condition &= conditions.with_words(search, conditions.waiting_with_words(search, waiting))
    return FilterStep(f"words: {text}", condition)


def search(text: str) -> FilterStep:
    has = Q(current_snapshot__title__icontains=text) | Q(current_snapshot__body__icontains=text)
    return FilterStep(f"text: {text}", has)


def counted(n: int, one: str, many: str = "") -> str:
    return f"{n:,} {one if n == 1 else many or one + 's'}"


def countable(issues: QuerySet[Issue]) -> QuerySet[Issue]:
    """Issues of which something is known."""
    return issues.filter(current_snapshot__isnull=False)
