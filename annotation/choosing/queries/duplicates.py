"""Duplicates of a sample: marks of GitHub and in comments, texts to compare, groups found."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import orjson
from django.db import connection
from django.db.models import Count, Exists, OuterRef, Q, QuerySet, Subquery, TextField
from django.db.models.functions import Cast

from annotation.choosing.duplicates import duplicate_mark
from annotation.core.access import Seat
from annotation.core.constant_lookups import item_of
from annotation.core.digests import digest_of
from annotation.core.issue_states import newest_readable, readable_states
from annotation.models import BulkJob, Item, LikelyDuplicate, Sample, SampleIssue
from ingest.errors import Invalid
from ingest.identifiers import parse_identifier
from ingest.models import Issue, Repository

MARKED = "marked_as_duplicate"
"""The kind of the event by which GitHub marks an issue."""


@dataclass(frozen=True)
class IssueText:
    """An issue as it is compared: as its item has it pinned, else in the newest state that the searcher may read.

    `snapshot` is what must be readable to see what was found; None where the mark is in a private history.
    """

    snapshot: int | None
    title: str
    body: str
    is_closed_as_duplicate: bool
    mark: tuple[str, int] | None
    repository: str


_ISSUES = """
    SELECT issue.id FROM annotation_sampleissue AS drawn JOIN ingest_issue AS issue ON issue.id = drawn.issue_id
    WHERE drawn.sample_id = %s ORDER BY issue.repository_id, issue.number
"""
_STATES = """
    SELECT issue.id, coalesce(
        item.snapshot_id, CASE WHEN NOT home.private OR home.id = ANY(%s) THEN issue.current_snapshot_id END
    )
    FROM ingest_issue AS issue JOIN ingest_repository AS home ON home.id = issue.repository_id
    LEFT JOIN annotation_item AS item ON item.study_id = %s AND item.issue_id = issue.id
    WHERE issue.id = ANY(%s)
"""
_TEXTS = """
    SELECT issue.id, state.id, state.title, state.body, state.state_reason, home.owner || '/' || home.name,
        home.private, CASE WHEN NOT home.private OR home.id = ANY(%s) THEN (
            SELECT jsonb_path_query_array(told, '$.events[*] ? (@.kind like_regex "^(un)?marked_as_duplicate$")') -> -1
            FROM ingest_activity AS activity WHERE activity.issue_id = issue.id
        ) END
    FROM unnest(%s::bigint[], %s::bigint[]) AS read (issue_id, snapshot_id)
    JOIN ingest_issue AS issue ON issue.id = read.issue_id
    JOIN ingest_repository AS home ON home.id = issue.repository_id
    LEFT JOIN ingest_snapshot AS state ON state.id = read.snapshot_id
"""
_COMMENTS = """
    SELECT place.snapshot_id, comment.body FROM ingest_snapshotcomment AS place
    JOIN ingest_comment AS comment ON comment.id = place.comment_id
    WHERE place.snapshot_id = ANY(%s) AND comment.body ~* 'duplicate of' ORDER BY place.snapshot_id, place.position
"""


def issues_of(sample: Sample) -> list[int]:
    """The ids of a sample's issues, by repository and number."""
    with connection.cursor() as cursor:
        cursor.execute(_ISSUES, [sample.pk])
        return [pk for (pk,) in cursor.fetchall()]


def _states(seat: Seat, issues: Sequence[int], readable: list[int]) -> dict[int, int | None]:
    """The state in which each of these issues is compared, by issue; one query, and another for hidden repositories."""
    with connection.cursor() as cursor:
        cursor.execute(_STATES, [readable, seat.study.pk, list(issues)])
        states: dict[int, int | None] = dict(cursor.fetchall())
    if hidden := [pk for pk, state in states.items() if state is None]:
        drawn = Issue.objects.filter(pk__in=hidden).annotate(newest=newest_readable(seat))
        states |= dict(drawn.values_list("pk", "newest"))
    return states


def texts_of(seat: Seat, issues: Sequence[int]) -> list[IssueText]:
    """The texts of these issues as this person may compare them, in their order; three to five queries.

    What GitHub marks counts before what texts say, also where it was unmarked later; of private repositories only for
    those who may see them.
    """
    readable = list(Repository.objects.visible_to(seat.user).filter(private=True).values_list("pk", flat=True))
    states = _states(seat, issues, readable)
    with connection.cursor() as cursor:
        cursor.execute(_TEXTS, [readable, list(states), list(states.values())])
        rows = {row[0]: row[1:] for row in cursor.fetchall()}
        said: dict[int, tuple[str, int]] = {}
        cursor.execute(_COMMENTS, [[row[0] for row in rows.values() if row[0]]])
        for snapshot, body in cursor.fetchall():
            if snapshot not in said and (found := duplicate_mark(body)):
                said[snapshot] = found
    texts = []
    for pk in issues:
        snapshot, title, body, reason, home, is_private, event = rows[pk]
        mark = _marked_at_github(event)
        if event is None:
            mark = duplicate_mark(body or "") or said.get(snapshot)
        needed = None if is_private and event is not None else snapshot
        texts.append(IssueText(needed, title or "", body or "", reason == "duplicate", mark, home))
    return texts


def _marked_at_github(event: str | None) -> tuple[str, int] | None:
    """Of which issue the last of the marks in a history says that this one is a duplicate."""
    told = orjson.loads(event) if event else {"kind": ""}
    if told["kind"] != MARKED:
        return None
    try:
        _, owner, name, number = parse_identifier(told["detail"])
    except Invalid:
        return None  # it is in a repository that is hidden
    return f"{owner}/{name}", number


def places_of(names: set[tuple[str, int]], issues: Sequence[int]) -> dict[tuple[str, int], int]:
    """Where issues by (`owner/name` in lower case, number) stand among those of a sample; a query for every 1,000."""
    place = {pk: at for at, pk in enumerate(issues)}
    wanted = sorted({number for _, number in names})
    found = {}
    for start in range(0, len(wanted), 1000):
        rows = Issue.objects.filter(number__in=wanted[start : start + 1000])
        columns = rows.values_list("pk", "repository__owner", "repository__name", "number")
        for pk, owner, name, number in columns.iterator():
            key = (f"{owner}/{name}".lower(), number)
            if key in names and pk in place:
                found[key] = place[pk]
    return found


def search_of(sample: Sample) -> BulkJob | None:
    """The newest search for duplicates in a sample; `cursor` has its `groups` and `issues` once it is done."""
    return BulkJob.objects.filter(sample=sample, kind=BulkJob.Kind.DUPLICATES).order_by("-pk").first()


def hidden_search(seat: Seat, sample: Sample) -> BulkJob | None:
    """The newest finished search, if someone else made it and it compared issues that this person may not see.

    Then nothing of it is shown: which issue an issue is like depends on all that were compared, and so does which
    group it is in. One query, two for a search of someone else.
    """
    done = BulkJob.objects.filter(sample=sample, kind=BulkJob.Kind.DUPLICATES, state=BulkJob.State.DONE)
    search = done.select_related("created_by").order_by("-pk").first()
    if search is None or search.created_by_id == seat.user.pk:
        return None
    drawn = SampleIssue.objects.filter(sample=sample)
    hidden = drawn.exclude(issue__repository__in=Repository.objects.visible_to(seat.user).values("pk"))
    return search if hidden.exists() else None


def likely_duplicates(seat: Seat, sample: Sample) -> QuerySet[LikelyDuplicate]:
    """The issues of a sample in groups of likely duplicates, the first of each group before the others.

    None of a `hidden_search`. Rights can have ended since a search: only rows of which this person may read the
    compared states, those of the issue and of the one that it is like. With `title` as this person may read it (or
    null), `is_open` (whether they may open the issue), and `screening` and `screening_reason` of its item.
    """
    item = item_of(OuterRef("issue"), sample.study_id)
    readable = Repository.objects.visible_to(seat.user).values("pk")
    pinned = item.filter(snapshot=OuterRef("snapshot"))
    rows: Any = LikelyDuplicate.objects.filter(
        Q(issue__repository__in=readable) | Q(snapshot__in=readable_states(seat)) | Exists(pinned), sample=sample
    )
    rows = rows.filter(Q(like__isnull=True) | Q(like__in=rows.values("issue")))
    rows = rows.select_related("issue__repository", "like__repository")
    found: QuerySet[LikelyDuplicate] = rows.annotate(
        title=newest_readable(seat, "issue", "title"),
        is_open=Exists(Issue.objects.visible_to(seat.user).filter(pk=OuterRef("issue"))),
        screening=Subquery(item.values("screening")),
        screening_reason=Subquery(item.values("screening_reason")),
    ).order_by("pk")
    return found if hidden_search(seat, sample) is None else found.none()


SUGGESTED = Q(is_first=False, like__isnull=False) & ~Q(
    screening__in=(Item.Screening.IN, Item.Screening.OUT), screening__isnull=False
)
"""What is suggested to be excluded: not the first of a group, nor what someone screened in or out already."""


def suggested_state(rows: QuerySet[LikelyDuplicate]) -> str:
    """A digest of which issues are suggested. One query."""
    told = digest_of(Cast("issue", TextField()), order_by="issue")
    return rows.filter(SUGGESTED).order_by().aggregate(told=told)["told"] or ""


def n_found(rows: QuerySet[LikelyDuplicate]) -> dict[str, int]:
    """How many groups and issues these rows have, and how many are suggested: not the first ones, nor out already."""
    return rows.order_by().aggregate(
        groups=Count("group", distinct=True), issues=Count("pk"), suggested=Count("pk", filter=SUGGESTED)
    )
