"""Chooses issues: a filter read step by step, so that the counts after every step can be told."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from django.db.models import Q, QuerySet

from ingest.errors import Invalid
from ingest.models import Issue

LISTS = frozenset({"repository", "labels", "without_labels"})
STRATA = ("repository", "state", "year")


@dataclass(frozen=True)
class FrameRow:
    """One issue of a frame: what it is sorted by (so that a seed means the same on every server), and its stratum."""

    issue_id: int
    order: tuple[str, str, str, int]
    stratum: str


def steps(filter: Mapping[str, Any], issues: QuerySet[Issue]) -> list[tuple[str, QuerySet[Issue]]]:
    """What is left of `issues` after each step of the filter, the first step being all of them.

    The filter's words: repository (one or a list), state (open, closed, all), labels and without_labels (lists: any of
    them), search (words in title or body), created_since and created_until (dates). Raises Invalid for others.
    """
    known = {"repository", "state", "labels", "without_labels", "search", "created_since", "created_until"}
    fields = {f"filter.{name}": ["This is no word of a filter."] for name in filter if name not in known}
    for name in known & set(filter):
        if not _is_words(filter[name], one=name not in LISTS):
            fields[f"filter.{name}"] = ["Write text, or a list of texts." if name in LISTS else "Write text."]
    if fields:
        raise Invalid("The filter could not be read.", fields=fields)
    found: list[tuple[str, QuerySet[Issue]]] = [("all issues", issues)]

    def narrow(name: str, condition: Q, leave_out: bool = False) -> None:
        before = found[-1][1]
        found.append((name, before.exclude(condition) if leave_out else before.filter(condition)))

    if names := _words(filter.get("repository")):
        chosen = Q()
        for name in names:
            *host, owner, repository = name.split("/") if name.count("/") in (1, 2) else ("", "", "")
            chosen |= Q(
                repository__host=host[0] if host and host[0] else "github.com",
                repository__owner__iexact=owner,
                repository__name__iexact=repository,
            )
        narrow("repository: " + ", ".join(names), chosen)
    state = str(filter.get("state") or "all").lower()
    if state not in {"open", "closed", "all"}:
        fields["filter.state"] = ["Write open, closed or all."]
    elif state != "all":
        narrow(f"state: {state}", Q(current_snapshot__state=state))
    if labels := _words(filter.get("labels")):
        narrow("GitHub labels: " + ", ".join(labels), Q(current_snapshot__github_labels__overlap=labels))
    if labels := _words(filter.get("without_labels")):
        narrow("without GitHub labels: " + ", ".join(labels), Q(current_snapshot__github_labels__overlap=labels), True)
    if search := str(filter.get("search") or "").strip():
        narrow(
            f"text: {search}",
            Q(current_snapshot__title__icontains=search) | Q(current_snapshot__body__icontains=search),
        )
    for name, lookup in (("created_since", "gte"), ("created_until", "lt")):
        if filter.get(name):
            try:
                day = datetime.fromisoformat(str(filter[name]))
            except ValueError:
                fields[f"filter.{name}"] = ["Write a date such as 2024-05-31."]
                continue
            day = day if day.tzinfo else day.replace(tzinfo=UTC)
            narrow(f"{name.replace('_', ' ')} {filter[name]}", Q(**{f"current_snapshot__created_at__{lookup}": day}))
    if fields:
        raise Invalid("The filter could not be read.", fields=fields)
    return found


def frame(issues: QuerySet[Issue], stratify_by: str = "") -> Sequence[FrameRow]:
    """The issues of a frame in one query, each with its stratum (one of STRATA, or none)."""
    rows = issues.values_list(
        "pk",
        "repository__host",
        "repository__owner",
        "repository__name",
        "number",
        "current_snapshot__state",
        "current_snapshot__created_at",
    )
    strata = {
        "": lambda row: "",
        "repository": lambda row: f"{row[2]}/{row[3]}",
        "state": lambda row: row[5] or "not known",
        "year": lambda row: str(row[6].year) if row[6] else "not known",
    }[stratify_by]
    return [FrameRow(row[0], (row[1], row[2], row[3], row[4]), strata(row)) for row in rows.iterator(chunk_size=5000)]


def _is_words(value: object, *, one: bool) -> bool:
    if value is None or isinstance(value, str):
        return True
    return not one and isinstance(value, list | tuple) and all(isinstance(word, str) for word in value)


def _words(value: object) -> list[str]:
    if isinstance(value, str):
        return [value] if value.strip() else []
    if isinstance(value, list | tuple):
        return [str(word) for word in value if str(word).strip()]
    return []
