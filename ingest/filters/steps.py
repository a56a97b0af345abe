"""The steps of a filter: one condition for each word, in the order in which a paper tells them."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import Exists, F, OuterRef, Q, QuerySet

from ingest.errors import Conflict, Invalid
from ingest.filters import fixes
from ingest.identifiers import full_name
from ingest.models import ClosingChange, Issue, Repository
from ingest.search import conditions
from ingest.search.grammar import SearchError, read_search

WAITING_MOST = 20_000
"""Issues that are not indexed yet and whose texts are read for a frame, which must be complete."""


@dataclass(frozen=True)
class Step:
    """A condition that narrows issues, in words and for the database; `always` is counted even if it leaves all."""

    name: str
    condition: Q
    always: bool = True


def steps(given: Mapping[str, Any]) -> list[Step]:
    """The steps of a filter that was read, keywords left out; deleted issues are left out unless presence asks."""
    asked = given if "presence" in given else {**given, "presence": None}
    return [step(asked[word]) for word, step in STEPS.items() if word in asked]


def _repository(named: tuple[tuple[str, str, str], ...]) -> Step:
    chosen = Q(pk__in=[])
    for host, owner, name in named:
        chosen |= Q(repository__in=Repository.objects.called(host, owner, name))
    return Step("repository: " + ", ".join(full_name(*each) for each in named), chosen)


def _presence(wanted: tuple[str, ...] | None) -> Step:
    if wanted is None:
        return Step("not deleted at GitHub", ~Q(presence=Issue.Presence.DELETED), always=False)
    return Step("presence: " + ", ".join(wanted), Q(presence__in=wanted))


def _state(state: str) -> Step:
    return Step(f"state: {state}", Q() if state == "all" else Q(current_snapshot__state=state), always=state != "all")


def _labels(labels: tuple[str, ...]) -> Step:
    return Step("GitHub labels: " + ", ".join(labels), conditions.has_label(*labels))


def _labels_all(labels: tuple[str, ...]) -> Step:
    has_all = Q()
    for label in labels:
        has_all &= conditions.has_label(label)
    return Step("all GitHub labels: " + ", ".join(labels), has_all)


def _without_labels(labels: tuple[str, ...]) -> Step:
    return Step("without GitHub labels: " + ", ".join(labels), ~conditions.has_label(*labels))


def _day(words: str, field: str, lookup: str) -> Callable[[datetime], Step]:
    def step(day: datetime) -> Step:
        written = day.date().isoformat() if not (day.hour or day.minute or day.second) else f"{day:%Y-%m-%dT%H:%M:%SZ}"
        return Step(f"{words} {written}", Q(**{f"{field}__{lookup}": day}))

    return step


def _locked(is_locked: bool) -> Step:
    return Step("locked" if is_locked else "not locked", conditions.is_locked(is_locked))


def _without_bots(asked: bool) -> Step:
    return Step(
        "not opened by a bot",
        ~Q(current_snapshot__author_login__endswith="[bot]") if asked else Q(),
        always=asked,
    )


def _closing_change(wanted: bool | str) -> Step:
    changes = ClosingChange.objects.filter(issue=OuterRef("pk"), closes=True)
    if wanted is False:
        return Step("known to have no closing change", Q(changes_known=True) & ~Q(Exists(changes)))
    if wanted is True:
        return Step("has a closing change", Q(Exists(changes)))
    merged = changes.filter(kind=ClosingChange.Kind.PULL_REQUEST, merged_at__isnull=False)
    return Step("closed by a merged pull request", Q(Exists(merged)))


def _words(text: str) -> Step:
    """By the index, which is filled a little later than issues come in; what it lacks is read. Raises Invalid."""
    try:
        search = read_search(text)
        if search.sort:
            raise SearchError("A frame has its own order. Omit “sort:”.")
    except SearchError as error:
        raise Invalid("The filter is not valid.", fields={"filter.words": [str(error)]}) from error
    condition = conditions.qualified(search)
    if search.has_text:
        waiting = conditions.unindexed(at_most=WAITING_MOST + 1)
        if len(waiting) > WAITING_MOST:
            raise Conflict(conditions.INDEX_BUILDING, code="index_building")
        condition &= conditions.with_words(search, conditions.waiting_with_words(search, waiting))
    return Step(f"words: {text}", condition)


def _search(text: str) -> Step:
    has = Q(current_snapshot__title__icontains=text) | Q(current_snapshot__body__icontains=text)
    return Step(f"text: {text}", has)


def _counted(n: int, one: str, many: str = "") -> str:
    return f"{n:,} {one if n == 1 else many or one + 's'}"


def countable(issues: QuerySet[Issue]) -> QuerySet[Issue]:
    """Issues of which something is known, with the names that the conditions of the steps use."""
    return conditions.with_last_update(issues)


STEPS: Mapping[str, Callable[[Any], Step]] = {
    "repository": _repository,
    "presence": _presence,
    "state": _state,
    "state_reason": lambda reasons: Step(
        "closed as: " + ", ".join(reasons), Q(current_snapshot__state_reason__in=[each.lower() for each in reasons])
    ),
    "created_since": _day("opened since", "current_snapshot__created_at", "gte"),
    "created_until": _day("opened before", "current_snapshot__created_at", "lt"),
    "closed_since": _day("closed since", "current_snapshot__closed_at", "gte"),
    "closed_until": _day("closed before", "current_snapshot__closed_at", "lt"),
    "updated_since": _day("updated since", "last_updated_at", "gte"),
    "updated_until": _day("updated before", "last_updated_at", "lt"),
    "labels": _labels,
    "labels_all": _labels_all,
    "without_labels": _without_labels,
    "comments_at_least": lambda n: Step(f"at least {n} comments", Q(current_snapshot__n_comments__gte=n)),
    "comments_at_most": lambda n: Step(f"at most {n} comments", Q(current_snapshot__n_comments__lte=n)),
    "without_bots": _without_bots,
    "locked": _locked,
    "has_closing_change": _closing_change,
    "has_merged_fix": lambda wanted: Step(
        "has a merged fix" if wanted else "known to have no merged fix", fixes.has_fix(wanted)
    ),
    "fixes_at_least": lambda n: Step(f"at least {_counted(n, 'fix', 'fixes')}", fixes.n_fixes("gte", n)),
    "fixes_at_most": lambda n: Step(f"at most {_counted(n, 'fix', 'fixes')}", fixes.n_fixes("lte", n)),
    "fix_lines_at_least": lambda n: Step(
        f"fixed by at least {_counted(n, 'changed line')}", fixes.size(fixes.LINES, "gte", n)
    ),
    "fix_lines_at_most": lambda n: Step(
        f"fixed by at most {_counted(n, 'changed line')}", fixes.size(fixes.LINES, "lte", n)
    ),
    "fix_files_at_least": lambda n: Step(
        f"fixed in at least {_counted(n, 'file')}", fixes.size(F("n_files"), "gte", n)
    ),
    "fix_files_at_most": lambda n: Step(f"fixed in at most {_counted(n, 'file')}", fixes.size(F("n_files"), "lte", n)),
    "fix_paths": lambda paths: Step("fixed in: " + ", ".join(paths), fixes.paths(paths)),
    "days_to_fix_at_least": lambda n: Step(f"fixed after {_counted(n, 'day')} or later", fixes.days("gte", n)),
    "days_to_fix_at_most": lambda n: Step(f"fixed within {_counted(n, 'day')}", fixes.days("lte", n)),
    "words": _words,
    "search": _search,
}
