"""A large study: how long a sample, a round and its opening take and what the process grows by; then pages and lists.

Issues are stored by the database itself. Two raters label a fifth of the items (10,000 at most), the last ones of the
round, a day ago, also by the database. Each page is measured beside the same page of a study of 1,000 items.
"""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import psutil
from django.core.cache import cache
from django.db import connection, transaction
from django.test import Client

from accounts.actions import make_token
from annotation.choosing.actions.samples import draw_sample
from annotation.core.access import get_seat
from annotation.core.database_planner import tell_planner
from annotation.imports.actions.ratings import import_ratings
from annotation.members.actions.members import add_member
from annotation.models import BulkJob, Round, RoundItem, Study
from annotation.rounds import jobs as bulk_jobs
from annotation.rounds.actions.rounds import NewRound, create_round, open_round
from bench.ground import new_study, processor_seconds, row, timed, user

IMPORTED_MOST = 50_000
LABELED_MOST = 10_000
"""Items with labels, each by two raters."""
SMALL = 1_000
REQUESTS = 20
TOO_LONG_SECONDS = 5
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
    WHERE a.round_id = %s AND i.position > %s;
INSERT INTO annotation_annotation (assignment_id, rater_id, revision, skip_reason, n_parts, memo, part_memos,
    is_flagged, n_proposals, answers_digest, idempotency_key, request_digest, created_at)
    SELECT id, rater_id, 1, '', 1, '', '{}', false, 0, n::text, '', '', now() - interval '1 day'
    FROM labeled ORDER BY id;
UPDATE annotation_assignment a SET blind_id = x.id, current_id = x.id, state = 'submitted'
    FROM annotation_annotation x, labeled l WHERE x.assignment_id = a.id AND l.id = a.id;
INSERT INTO annotation_rating (annotation_id, round_id, item_id, rater_id, part, dimension_id, category_id)
    SELECT a.current_id, l.round_id, l.item_id, l.rater_id, 1, c.dimension_id, c.id
    FROM labeled l JOIN annotation_assignment a ON a.id = l.id
    JOIN taxonomy_dimension d ON d.version_id = %s JOIN taxonomy_category c ON c.dimension_id = d.id
    WHERE c.key = 'c' || l.n;
UPDATE annotation_roundrater r SET n_finished = n, revision = revision + 1
    FROM (SELECT rater_id, count(*) AS n FROM labeled GROUP BY 1) c
    WHERE r.round_id = %s AND c.rater_id = r.rater_id;
"""
RESOLVING = """
UPDATE annotation_assignment a SET state = 'withdrawn' WHERE round_id = %s AND state = 'waiting';
UPDATE annotation_round SET state = 'resolving', resolving_at = now() - interval '20 hours', ruled_at = now()
    WHERE id = %s;
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
    for name, role in MEMBERS.items():
        add_member(seat=seat, username=user(name).username, roles=[role])
    wanted = {"repository": f"large/n{size}"}
    found = [row("draw a sample", size, whole(lambda: draw_sample(seat=seat, filter=wanted, size=size)))]
    sample = study.samples.defer("frame").get()
    raters = ["ann", "ben"]
    found.append(
        row(
            "create its round",
            size,
            whole(lambda: create_round(seat=seat, asked=NewRound(sample=sample.pk, raters=raters))),
        )
    )
    found.append(
        row("open it for two raters each", size, whole(lambda: open_round(seat=seat, number=1, unregistered=True)))
    )
    assert Round.objects.get(study=study).assignments.count() == 2 * size
    return study, found


def label(study: Study, n: int) -> None:
    """Two raters label the last `n` items of the round, which stays open; disagreements are resolved item by item."""
    round_ = study.rounds.get()
    pk, first = round_.pk, RoundItem.objects.filter(round=round_).count() - n
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(LABELED, [pk, first, round_.taxonomy_version_id, pk])
    Study.objects.filter(pk=study.pk).update(resolve_when=Study.ResolveWhen.ITEM)
    tell_planner(n)


def resolve(study: Study) -> None:
    """The round is resolved; what was not labeled is withdrawn."""
    pk = study.rounds.get().pk
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(RESOLVING, [pk, pk])


def imported(size: int) -> dict[str, Any]:
    """Ratings of two raters for `size` items (IMPORTED_MOST at most) from a CSV into a study of their own."""
    n = min(size, IMPORTED_MOST)
    study = new_study(f"imported-{size}")
    lines = [f"item-{k},{rater},symptom,c{k % 34}" for k in range(n) for rater in ("one", "two")]
    file = "\n".join(["item,rater,dimension,value", *lines]).encode()
    with growth() as grown, timed() as taken:
        report = import_ratings(user=user("owner"), study=study.slug, file=file, name="bench.csv")
    assert report.n_ratings == 2 * n
    return row("import ratings from a CSV", n, f"{taken():.1f} s, {2 * n / taken():,.0f} ratings/s, +{grown():.0f} MB")


MEMBERS = {"ann": "rater", "ben": "rater", "ada": "adjudicator", "rea": "reader"}
OF_ROLES = {
    "rater": ("/", "", "rounds/1/", "rounds/1/label/", "rounds/1/label/mine/", "items/"),
    "adjudicator": ("/", "", "rounds/1/", "rounds/1/resolve/", "rounds/1/resolve/{item}/", "items/{item}/"),
    "reader": ("/", "", "rounds/1/", "items/", "items/{item}/", "agreement/"),
}
"""Pages that members open who own nothing; {item} is one on which raters differ."""
AFTER_RATING = ("rounds/1/discuss/", "rounds/1/discuss/{item}/")
"""Those of a rater once the round is being resolved, in place of the labeling page."""
ALWAYS = ("", "rounds/", "rounds/1/", "items/", "changes/", "rounds/1/resolve/")
WHILE_OPEN = (*ALWAYS, "rounds/1/raters/R1/withdraw/")
PAGES = (*ALWAYS, "rounds/new/", "sample/", "items/?page=200", "items/?search=crash", "agreement/",
    "agreement/methods/", "analysis/", "analysis/counts/", "proposals/", "audit/",
    "plans/", "exports/", "members/", "settings/")  # fmt: skip
LISTS = ("", "rounds/", "rounds/1/", "samples/", "issues/", "changes/", "updates/", "labels/", "ratings/",
    "resolutions/", "disagreements/?round=1", "agreement/", "agreement/methods/",
    "analysis/counts/?dimension=symptom")  # fmt: skip


def addresses(study: Study) -> dict[str, tuple[str, str]]:
    """User and address of pages and lists by what they are called; fewer while the round is open."""
    page, rest = f"/studies/{study.slug}/", f"/api/v1/studies/{study.slug}/"
    places = RoundItem.objects.filter(round__study=study).order_by("-position")
    item = next(pk for pk in places.values_list("item", flat=True)[:LABELED_MOST] if pk % 5 == 0)
    is_open = study.rounds.get().state == Round.State.OPEN
    then = ", round open" if is_open else ""
    found = {f"{name or 'study'}{then}": ("owner", page + name) for name in (WHILE_OPEN if is_open else PAGES)}
    if not is_open:
        found |= {f"REST {name or 'study'}": ("owner", rest + name) for name in LISTS}
    of_role = {role: member for member, role in MEMBERS.items()}
    for role, names in OF_ROLES.items():
        if role == "rater" and not is_open:
            names = tuple(name for name in names if "label" not in name) + AFTER_RATING
        for name in names:
            address = name if name == "/" else page + name.format(item=item)
            shown = name.replace("/{item}", "/…") or "study"
            found[f"{'home' if name == '/' else shown}, {role}{then}"] = (of_role[role], address)
    return found


class Taken(NamedTuple):
    """A request: its milliseconds, and those of a processor that this process and its connection used for it."""

    ms: float
    processor_ms: float


def times(study: Study) -> dict[str, list[Taken]]:
    """What each page and list took, the first request first, with an empty cache before each first one."""
    browser, script = Client(), Client()
    headers = {"Authorization": f"Bearer {make_token(user=user('owner'), name='bench', scope='manage')[1]}"}
    found: dict[str, list[Taken]] = {}
    for name, (who, address) in addresses(study).items():
        cache.clear()
        browser.force_login(user(who))
        client, sent = (script, headers) if name.startswith("REST") else (browser, {})
        taken = found[name] = []
        while len(taken) < REQUESTS and sum(each.ms for each in taken) < 1000 * REQUESTS * TOO_LONG_SECONDS:
            used, started = processor_seconds(), time.perf_counter()
            answer = client.get(address, headers=sent, follow=True)
            sum(map(len, answer)) if answer.streaming else answer.content
            seconds = time.perf_counter() - started
            taken.append(Taken(1000 * seconds, 1000 * (processor_seconds() - used)))
            assert answer.status_code == 200, (address, answer.status_code)
    return found


def pages(size: int) -> tuple[list[dict[str, Any]], dict[str, list[Taken]]]:
    """The rows of making a study of `size` items, and the times of its pages."""
    study, found = prepared(size)
    label(study, min(LABELED_MOST, size // 5 or size))
    taken = times(study)
    resolve(study)
    return found, taken | times(study)


def said(taken: list[Taken]) -> str:
    rest = taken[1:] or taken
    late = sorted(each.ms for each in rest)
    used = sorted(each.processor_ms for each in rest)
    first, middle, most = taken[0], late[len(late) // 2], late[int(len(late) * 0.95)]
    return (
        f"first {first.ms:.0f} ms ({first.processor_ms:.0f} of a processor), "
        f"then p50 {middle:.0f} ms, p95 {most:.0f} ms ({used[int(len(used) * 0.95)]:.0f} of a processor)"
    )


def measure(size: int, folder: Path) -> list[dict[str, Any]]:
    """Pages at `size` items, those at 1,000 as their reference; the study of 1,000 is made by the first call."""
    if not _SMALL:
        _SMALL.update(pages(SMALL)[1])
    found, taken = ([], _SMALL) if size == SMALL else pages(size)
    found.append(imported(size))
    for name, each in taken.items():
        ratio = _middle(each) / _middle(_SMALL[name])
        found.append(row(name, size, said(each), f"{said(_SMALL[name])} at 1,000", ratio))
    return found


def _middle(taken: list[Taken]) -> float:
    late = sorted(each.ms for each in taken[1:] or taken)
    return late[len(late) // 2]


_SMALL: dict[str, list[Taken]] = {}
