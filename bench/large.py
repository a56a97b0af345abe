"""A large study: how long a sample, a round and its opening take and what the process grows by; then pages and lists.

Issues are stored by the database itself. Two raters label a fifth of the items (20,000 at most), also by the database.
"""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil
from django.core.cache import cache
from django.db import connection, transaction
from django.test import Client

from accounts.actions import make_token
from annotation.access import get_seat
from annotation.actions import bulk_jobs
from annotation.actions.choosing import draw_sample
from annotation.actions.rounds import create_round, open_round
from annotation.actions.studies import add_member
from annotation.models import BulkJob, Round, Study
from annotation.queries.planner import tell_planner
from bench.ground import new_study, row, timed, user

LABELED_MOST = 20_000
ISSUES = """
WITH r AS (
    INSERT INTO ingest_repository (host, owner, name, private, added_at, is_counted)
    VALUES ('github.com', 'large', %s, false, now(), true) RETURNING id
), i AS (
    INSERT INTO ingest_issue (repository_id, number, added_at, presence, moved_to, changes_known)
    SELECT r.id, n, now(), 'here', '', false FROM r, generate_series(1, %s) n RETURNING id, number
)
INSERT INTO ingest_snapshot (issue_id, sha256, title, body, state, state_reason, github_labels, author_login, locked,
    html_url, comments_known, fetched_at, created_at)
SELECT id, encode(sha256(id::text::bytea), 'hex'), 'Crash number ' || number, repeat('It crashes. ', 20),
    CASE WHEN number %% 3 = 0 THEN 'open' ELSE 'closed' END, '', '{bug}', 'someone', false, '', false, now(),
    now() - number * interval '1 minute'
FROM i
"""
CURRENT = """
UPDATE ingest_issue i SET current_snapshot_id = s.id
FROM ingest_snapshot s WHERE s.issue_id = i.id AND i.current_snapshot_id IS NULL
"""
LABELED = """
SET LOCAL session_replication_role = replica;
CREATE TEMP TABLE labeled ON COMMIT DROP AS
    SELECT a.id, a.round_id, a.item_id, a.rater_id,
        (a.item_id + CASE WHEN a.item_id %% 5 = 0 THEN a.rater_id ELSE 0 END) %% 34 AS n
    FROM annotation_assignment a JOIN annotation_rounditem i USING (round_id, item_id)
    WHERE a.round_id = %s AND i.position <= %s;
INSERT INTO annotation_annotation (assignment_id, rater_id, revision, skip_reason, n_parts, memo, part_memos,
    is_flagged, n_proposals, answers_digest, idempotency_key, request_digest, created_at)
    SELECT id, rater_id, 1, '', 1, '', '{}', false, 0, n::text, '', '', now() FROM labeled ORDER BY id;
UPDATE annotation_assignment a SET blind_id = x.id, current_id = x.id, state = 'submitted'
    FROM annotation_annotation x, labeled l WHERE x.assignment_id = a.id AND l.id = a.id;
UPDATE annotation_assignment a SET state = 'withdrawn' WHERE round_id = %s AND state = 'waiting';
INSERT INTO annotation_rating (annotation_id, round_id, item_id, rater_id, part, dimension_id, category_id)
    SELECT a.current_id, l.round_id, l.item_id, l.rater_id, 1, c.dimension_id, c.id
    FROM labeled l JOIN annotation_assignment a ON a.id = l.id
    JOIN taxonomy_dimension d ON d.version_id = %s JOIN taxonomy_category c ON c.dimension_id = d.id
    WHERE c.key = 'c' || l.n;
UPDATE annotation_roundrater r SET n_finished = n, revision = revision + 1
    FROM (SELECT rater_id, count(*) AS n FROM labeled GROUP BY 1) c
    WHERE r.round_id = %s AND c.rater_id = r.rater_id;
UPDATE annotation_round SET state = 'resolving', resolving_at = now(), ruled_at = now() WHERE id = %s;
"""


@contextmanager
def growth() -> Iterator[Callable[[], float]]:
    """Gives a function with the most that this process grew by within the block, in MB."""
    process, over, most = psutil.Process(), threading.Event(), [0]
    before = process.memory_info().rss

    def look() -> None:
        while not over.wait(0.02):
            most[0] = max(most[0], process.memory_info().rss)

    thread = threading.Thread(target=look)
    thread.start()
    yield lambda: max(0, most[0] - before) / 1e6
    over.set()
    thread.join()


def issues(size: int) -> None:
    """Stores issues by one statement."""
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SET LOCAL session_replication_role = replica")
        cursor.execute(ISSUES, [f"n{size}", size])
        cursor.execute("ANALYZE ingest_issue, ingest_snapshot")
        cursor.execute(CURRENT)
    with connection.cursor() as cursor:
        cursor.execute("VACUUM ANALYZE ingest_issue, ingest_snapshot, ingest_repository")


def whole(act: Callable[[], Any]) -> str:
    """Does something, with the job that it queues; the seconds and the growth of the process."""
    with growth() as grown, timed() as taken:
        act()
        for job in BulkJob.objects.filter(state=BulkJob.State.QUEUED):
            bulk_jobs.work(job.pk)
            job.refresh_from_db()
            assert job.state == BulkJob.State.DONE, job.error
    return f"{taken():.1f} s, +{grown():.0f} MB"


def prepared(size: int) -> tuple[Study, list[dict[str, Any]]]:
    """A study whose only round holds all of `size` issues, open for two raters, and how long that took."""
    issues(size)
    study = new_study(f"large-{size}")
    seat = get_seat(user("owner"), study.slug)
    for name in ("ann", "ben"):
        add_member(seat=seat, username=user(name).username, roles=["rater"])
    wanted = {"repository": f"large/n{size}"}
    found = [row("draw a sample", size, whole(lambda: draw_sample(seat=seat, filter=wanted, size=size)))]
    sample = study.samples.defer("frame").get()
    raters = ["ann", "ben"]
    found.append(row("create its round", size, whole(lambda: create_round(seat=seat, sample=sample.pk, raters=raters))))
    found.append(
        row("open it for two raters each", size, whole(lambda: open_round(seat=seat, number=1, unregistered=True)))
    )
    assert Round.objects.get(study=study).assignments.count() == 2 * size
    return study, found


def label(study: Study, n: int) -> None:
    """Two raters label the first `n` items of the round, which is then resolved."""
    round_ = study.rounds.get()
    pk = round_.pk
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(LABELED, [pk, n, pk, round_.taxonomy_version_id, pk, pk])
    tell_planner(n)


def addresses(study: Study) -> dict[str, str]:
    """Pages and lists by what they are called."""
    page, rest = f"/studies/{study.slug}/", f"/api/v1/studies/{study.slug}/"
    named = ("", "rounds/", "rounds/1/", "rounds/new/", "sample/", "items/", "items/?search=crash", "agreement/",
        "analysis/", "changes/", "audit/", "plans/", "resolve/", "exports/", "members/", "settings/")  # fmt: skip
    lists = ("", "rounds/", "rounds/1/", "samples/", "labels/", "ratings/", "disagreements/?round=1", "agreement/",
        "analysis/counts/")  # fmt: skip
    return {f"page {name or 'study'}": page + name for name in named} | {
        f"REST {name or 'study'}": rest + name for name in lists
    }


def measure(size: int, folder: Path) -> list[dict[str, Any]]:
    cache.clear()
    study, found = prepared(size)
    label(study, min(LABELED_MOST // 2, size // 5 or size))
    browser, script = Client(), Client()
    browser.force_login(user("owner"))
    headers = {"Authorization": f"Bearer {make_token(user=user('owner'), name='bench', scope='manage')[1]}"}
    for name, address in addresses(study).items():
        client, sent = (script, headers) if name.startswith("REST") else (browser, {})
        taken = []
        for _ in range(7):
            started = time.perf_counter()
            answer = client.get(address, headers=sent)
            sum(map(len, answer)) if answer.streaming else answer.content
            taken.append(1000 * (time.perf_counter() - started))
            if taken[0] > 5000:
                break
        first, rest = taken[0], sorted(taken[1:]) or taken
        found.append(
            row(
                f"{name}, {answer.status_code}",
                size,
                f"first {first:.0f} ms, p50 {rest[len(rest) // 2]:.0f}, most {rest[-1]:.0f} ms",
            )
        )
    return found
