"""Items of a study with their attributes, row by row at constant memory."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from annotation.core.access import Seat
from annotation.core.issue_texts import closing_changes, counted, total
from annotation.models import Item, RoundItem, SampleIssue, Study
from ingest.errors import Invalid as NotAnIssue
from ingest.identifiers import full_name, parse_identifier

CHUNK = 1000
NOT_DRAWN: Mapping[str, Any] = {"sample": None, "stratum": None, "drawn": None, "samples": ()}


def item_rows(seat: Seat) -> Iterator[dict[str, Any]]:
    """One row for each item in the order of their keys; four queries for every CHUNK items.

    Sample, stratum and place in the sample are those of the newest sample that drew the issue; `samples` are all.
    `rounds` leaves out relabeling queues in which the item's labels are withheld from this person.
    """
    study = seat.study
    after = 0
    items = Item.objects.filter(study=study).select_related("snapshot", "issue__repository").order_by("pk")
    items = items.defer("snapshot__body", "snapshot__title")
    while chunk := list(items.filter(pk__gt=after)[:CHUNK]):
        after = chunk[-1].pk
        issues = [item.issue_id for item in chunk if item.issue_id is not None]
        changes, drawn = closing_changes(issues), _drawn(study, issues)
        rounds: dict[int, list[int]] = {}
        for item_id, number in (
            RoundItem.objects.present()
            .filter(seat.not_queued(), item__in=[item.pk for item in chunk])
            .exclude(round__state="draft")
            .order_by("round__number")
            .values_list("item", "round__number")
        ):
            rounds.setdefault(item_id, []).append(number)
        for item in chunk:
            merged = counted(changes.get(item.issue_id or 0, []))
            yield {
                **_named(item),
                "screening": item.screening,
                "screening_reason": item.screening_reason,
                **drawn.get(item.issue_id or 0, NOT_DRAWN),
                "rounds": rounds.get(item.pk, []),
                **_facts(item),
                "merged_at": min((each.merged_at for each in merged if each.merged_at), default=None),
                "additions": total(merged, "additions"),
                "deletions": total(merged, "deletions"),
                "files": total(merged, "n_files"),
                "attributes": json.dumps(item.attributes, ensure_ascii=False, sort_keys=True),
            }


def _named(item: Item) -> dict[str, Any]:
    if item.issue is not None:
        named = {"repository": item.issue.repository.full_name, "number": item.issue.number}
    else:
        try:
            host, owner, name, number = parse_identifier(item.identifier)
            named = {"repository": full_name(host, owner, name), "number": number}
        except NotAnIssue:
            named = {"repository": None, "number": None}
    return {"item": item.identifier, **named}


def _facts(item: Item) -> dict[str, Any]:
    snapshot, issue = item.snapshot, item.issue
    names = ("state", "state_reason", "created_at", "closed_at", "n_comments")
    said = {name: getattr(snapshot, name) if snapshot else None for name in names}
    return {
        **said,
        "github_labels": list(snapshot.github_labels) if snapshot else None,
        "presence": issue.presence if issue else None,
        "snapshot": snapshot.sha256 if snapshot else None,
    }


def _drawn(study: Study, issues: Sequence[int]) -> Mapping[int, dict[str, Any]]:
    """Of each issue the newest sample that drew it, by ID, with its place there, and the numbers of all; one query."""
    rows = SampleIssue.objects.filter(sample__study=study, issue__in=issues).order_by("sample")
    found: dict[int, dict[str, Any]] = {}
    for issue, sample, number, stratum, position in rows.values_list(
        "issue", "sample", "sample__number", "stratum", "position"
    ):
        earlier = found.get(issue, NOT_DRAWN)["samples"]
        found[issue] = {"sample": sample, "stratum": stratum, "drawn": position, "samples": [*earlier, number]}
    return found
