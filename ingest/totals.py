"""Totals of a repository, counted after a change and stored in its row."""

from collections.abc import Iterable

from django.db import connection, transaction

from ingest.models import Repository

LABELS_KEPT = 30

_COUNT = """
WITH present AS MATERIALIZED (
    SELECT issue.id, issue.changes_known, snapshot.state, snapshot.github_labels,
           CASE WHEN snapshot.comments_known THEN snapshot.n_comments END AS n_comments
    FROM ingest_issue AS issue JOIN ingest_snapshot AS snapshot ON snapshot.id = issue.current_snapshot_id
    WHERE issue.repository_id = %(repository)s
), used AS (
    SELECT label, count(*) AS n FROM present, unnest(github_labels) AS label
    GROUP BY label ORDER BY n DESC, label LIMIT %(labels)s
)
UPDATE ingest_repository SET
    is_counted = true,
    n_issues = (SELECT count(*) FROM present),
    n_open = (SELECT count(*) FROM present WHERE state = 'open'),
    n_comments = (SELECT coalesce(sum(n_comments), 0) FROM present),
    n_closing_changes = (
        SELECT count(change.id) FROM present LEFT JOIN ingest_closingchange AS change
            ON change.issue_id = present.id AND change.closes
        HAVING bool_or(present.changes_known)
    ),
    github_labels = (SELECT coalesce(jsonb_agg(jsonb_build_array(label, n) ORDER BY n DESC, label), '[]') FROM used)
WHERE id = %(repository)s
"""


def expect_other_totals(repository_ids: Iterable[int]) -> None:
    """Says that issues of these were stored; the last statement of the transaction that does so.

    It holds their rows until the transaction ends, so that whoever counts then sees what was stored.
    """
    if ids := set(repository_ids):
        held = Repository.objects.filter(pk__in=ids).order_by("pk").select_for_update(no_key=True)
        Repository.objects.filter(pk__in=list(held.values_list("pk", flat=True))).update(is_counted=False)


def count() -> int:
    """Counts the repositories into which something was stored since they were counted last; how many they are.

    A row is held while it is counted: what is stored meanwhile says so afterwards. Those that a batch or someone else
    who counts holds just now are left to the next time. 0.1 s for 50,000 issues.
    """
    n_counted = 0
    for repository_id in Repository.objects.filter(is_counted=False).order_by("pk").values_list("pk", flat=True):
        with transaction.atomic(), connection.cursor() as cursor:
            uncounted = Repository.objects.filter(pk=repository_id, is_counted=False)
            if not uncounted.select_for_update(skip_locked=True, no_key=True).exists():
                continue
            cursor.execute(_COUNT, {"repository": repository_id, "labels": LABELS_KEPT})
            n_counted += 1
    return n_counted
