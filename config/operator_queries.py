"""Operations queries: processes, jobs, failures, disk space, and problems of the installation."""

import shutil
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from django.conf import settings
from django.db import connection
from django.db.models import Case, Count, F, Min, Q, QuerySet, Value, When
from django.urls import reverse
from django.utils import timezone

from accounts.models import User
from annotation.core.locks import waits_for_queue
from annotation.models import Arrival, Assignment, BulkJob, Deletion, Export, Plan, Round, RoundRater, Workbook
from config import health, heartbeats
from config.backups.archive import newest
from config.backups.backup import ENDING, last_backup
from ingest import queries
from ingest.models import FetchRun
from shared import disk_space
from shared.file_modes import openings

FAILED_DAYS = 7
SHOWN_MOST = 30
TABLES_MOST = 10
SIZE_STEP = 16 * 1024 * 1024
"""In bytes: what is shown of a size that grows with answers."""
LITTLE_ROOM = 1024**3
ERRORS = {"deletion": "error", "rules": "rules_error"}
"""Of kinds whose rows have no state of their work the column of why it failed; blank: it waits or goes on."""


@dataclass(frozen=True, kw_only=True)
class JobLine:
    """A job that is not over, or that failed lately.

    A fetch or deletion that failed is tried again at `again_url`; of other kinds `then` says how it is begun anew.
    There is no page (`url`) where that is someone else's alone.
    """

    kind: str
    what: str
    url: str
    state: str
    since: datetime | None
    heard_at: datetime | None
    error: str
    again_url: str = ""
    cancel_url: str = ""
    then: str = ""

    @property
    def is_bad(self) -> bool:
        return self.state == "failed"


@dataclass(frozen=True)
class JobCount:
    """How many jobs of a kind are in a state, and when the oldest began."""

    kind: str
    state: str
    n: int
    oldest: datetime | None


def _open() -> list[tuple[str, QuerySet[Any], str]]:
    since = timezone.now() - timedelta(days=FAILED_DAYS)
    has_rules = Q(study__third_rater=True) | Q(study__majority=True)
    fetches = Q(state__in=FetchRun.UNFINISHED) | Q(state=FetchRun.State.FAILED, finished_at__gt=since)
    files = Q(state__in=Export.AT_WORK) | Q(state=Export.State.FAILED, done_at__gt=since)
    books = Q(state__in=Workbook.AT_WORK) | Q(state=Workbook.State.FAILED, worked_at__gt=since)
    arrivals = Q(state__in=Arrival.AT_WORK) | Q(state=Arrival.State.FAILED, done_at__gt=since)
    bulk = Q(state__in=BulkJob.AT_WORK) | Q(state=BulkJob.State.FAILED, worked_at__gt=since)
    plans = Q(state__in=Plan.AT_WORK) | Q(state=Plan.State.FAILED, worked_at__gt=since)
    waiting = Q(has_rules, state=Round.State.RESOLVING, ruled_at=None)
    rules = Round.objects.filter((waiting & ~waits_for_queue()) | ~Q(rules_error=""))
    return [
        ("fetch", FetchRun.objects.filter(fetches), "created_at"),
        ("export", Export.objects.filter(files).select_related("study"), "created_at"),
        ("plan", Plan.objects.filter(plans).select_related("study"), "run_at"),
        ("bulk", BulkJob.objects.filter(bulk).select_related("study", "round"), "created_at"),
        ("workbook", Workbook.objects.filter(books).select_related("study", "created_by"), "created_at"),
        ("study in", Arrival.objects.filter(arrivals).select_related("created_by"), "created_at"),
        ("deletion", Deletion.objects.filter(done_at=None), "deleted_at"),
        ("rules", rules.select_related("study"), "resolving_at"),
    ]


def job_counts() -> list[JobCount]:
    """Jobs by kind and state; one query a kind."""
    found = []
    for kind, rows, began in _open():
        state: Any = F("state")
        if kind in ERRORS:
            state = Case(When(**{ERRORS[kind]: ""}, then=Value("queued")), default=Value("failed"))
        groups = rows.select_related(None).order_by().annotate(job_state=state).values("job_state")
        groups = groups.annotate(n=Count("pk"), oldest=Min(began))
        found += [JobCount(kind, row["job_state"], row["n"], row["oldest"]) for row in groups if row["n"]]
    return found


def jobs(user: User) -> list[JobLine]:
    """Jobs that are not over or failed within a week, the newest thirty of each kind; nine queries.

    Why a job of a study failed is left out for who is blind there, and so are files that others have made there: how
    long one takes follows from the answers in it.
    """
    own = Q(rater__user=user, round__state=Round.State.OPEN)
    given = Assignment.objects.filter(own).exclude(state=Assignment.State.WITHDRAWN).order_by()
    present = RoundRater.objects.filter(own, left_at__isnull=True).order_by()
    blind = {pk for (pk,) in given.values_list("round__study_id").union(present.values_list("round__study_id"))}
    found: list[JobLine] = []
    for kind, rows, began in _open():
        if kind == "export":
            rows = rows.exclude(~Q(created_by=user), study__in=blind)
        for row in rows.order_by("-pk")[:SHOWN_MOST]:
            found.append(_job(kind, row, getattr(row, began), blind, user))
    return sorted(found, key=lambda job: (not job.is_bad, job.since or timezone.now()))


_BULK = {
    "round": "items of round",
    "opening": "opening of round",
    "leaving": "items of a rater who leaves round",
    "giving": "items for a rater of round",
    "pinning": "newest snapshots",
    "duplicates": "search for duplicates",
}


def _job(kind: str, row: Any, since: datetime | None, blind: set[int], user: User) -> JobLine:
    heard = getattr(row, "worked_at", None) or getattr(row, "heartbeat_at", None)
    study = getattr(row, "study", None)
    why = getattr(row, ERRORS.get(kind, "error"), "")
    error = "Hidden while you are blind there." if study and study.pk in blind else why
    told: dict[str, Any] = {"kind": kind, "since": since, "heard_at": heard}
    told["state"] = ("failed" if why else "queued") if kind in ERRORS else row.state
    told["error"] = error if told["state"] in {"failed", "waiting"} else ""
    has_failed = told["state"] == "failed"
    match kind:
        case "fetch":
            told |= {"what": f"{row.target or row.title} · run {row.pk}", "url": reverse("fetch", args=[row.pk])}
            may_again = row.state == FetchRun.State.FAILED
            told |= {"again_url": reverse("continue_fetch", args=[row.pk])} if may_again else {}
            told |= {} if may_again else {"cancel_url": reverse("cancel_fetch", args=[row.pk])}
        case "export":
            url = reverse("exports", args=[row.study.slug])
            told |= {"what": f"{row.study.slug} · export {row.number}, {row.what}", "url": url}
            told |= {"then": "Create it again on the Exports page."} if has_failed else {}
        case "plan":
            url = reverse("plan", args=[row.study.slug, row.number])
            told |= {"what": f"{row.study.slug} · plan {row.number}", "url": url}
            told |= {"then": "Run it again on its page."} if has_failed else {}
        case "bulk":
            slug, of_round = row.study.slug, row.round
            page = "changes" if row.kind == BulkJob.Kind.PINNING else "samples"
            url = reverse("round", args=[slug, of_round.number]) if of_round else reverse(page, args=[slug])
            doing = _BULK.get(row.kind, "drawing of a sample")
            told |= {"what": f"{slug} · {doing} {of_round.number if of_round else ''}".rstrip(), "url": url}
            told |= {"then": "An owner can start it again on its page."} if has_failed else {}
        case "workbook":
            url = (
                reverse("import_into_file", args=[row.study.slug, row.pk])
                if row.study
                else reverse("import_study_file", args=[row.pk])
            )
            told |= {"what": f"{row.study.slug if row.study else 'a new study'} · workbook {row.pk}", "url": url}
            then = "Owners of the study can change its columns on its page." if has_failed else ""
            told |= {"url": url, "then": then} if row.study else _of(row.created_by, user, url, then.split(",")[0])
        case "study in":
            url = reverse("import_whole_file", args=[row.pk])
            told |= {"what": f"{row.slug} · from a file"}
            told |= _of(row.created_by, user, url, "Choose the file again there." if has_failed else "")
        case "deletion":
            told |= {"what": f"{row.slug} · taken away", "url": reverse("deleted_studies")}
            told |= {"again_url": reverse("continue_deletion", args=[row.pk])} if has_failed else {}
        case "rules":
            url = reverse("round", args=[row.study.slug, row.number])
            told |= {"what": f"{row.study.slug} · rules of round {row.number}", "url": url}
            told |= {"then": "An owner can apply them again on the round’s page."} if has_failed else {}
    return JobLine(**told)


def _of(owner: User, user: User, url: str, then: str) -> dict[str, str]:
    """What is said of a job whose page is its owner's alone."""
    if owner.pk == user.pk:
        return {"url": url, "then": then}
    return {"url": "", "then": f"Only {owner.signed_name} can open its page. {then}".strip()}


@dataclass(frozen=True)
class DatabaseTable:
    """A table of the database with its indexes and what lies beside it."""

    name: str
    n_bytes: int


def largest_tables() -> list[DatabaseTable]:
    """The largest tables of more than SIZE_STEP, by steps of it up to which they are; one query.

    Without numbers of rows, and not by pages, of which a long answer fills several at once: from those, staff who rate
    would learn what kind of answer each submit of others was.
    """
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT relname, (pg_total_relation_size(relid) + %(step)s - 1) / %(step)s * %(step)s AS n_bytes"
            " FROM pg_stat_user_tables WHERE pg_total_relation_size(relid) > %(step)s"
            " ORDER BY n_bytes DESC, relname LIMIT %(most)s",
            {"step": SIZE_STEP, "most": TABLES_MOST},
        )
        return [DatabaseTable(*row) for row in cursor.fetchall()]


def in_steps(n_bytes: int | None) -> int | None:
    """A size as operators see it: the next multiple of SIZE_STEP."""
    return None if n_bytes is None else -(-n_bytes // SIZE_STEP) * SIZE_STEP


def database() -> dict[str, Any]:
    """Version, size (by steps of SIZE_STEP) and connections of PostgreSQL; one query."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT current_setting('server_version'), pg_database_size(current_database()),"
            " (SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()),"
            " current_setting('max_connections')::int"
        )
        version, n_bytes, n_used, n_most = cursor.fetchone()
    return {"version": version, "n_bytes": in_steps(n_bytes), "n_used": n_used, "n_most": n_most}


def disk() -> dict[str, Any]:
    """Room where DATA_DIR lies."""
    try:
        usage = shutil.disk_usage(settings.DATA_DIR)
    except OSError:
        return {}
    is_little = usage.free < min(LITTLE_ROOM, usage.total // 20)
    reserve = disk_space.reserve(usage.total)
    return {"n_free": usage.free, "n_total": usage.total, "n_reserved": reserve, "is_little": is_little}


def troubles() -> list[str]:
    """What is wrong with processes and Redis, in sentences for staff; one call to Redis."""
    return list(_troubles(heartbeats.pulses()))


def _troubles(heard: list[heartbeats.Heartbeat] | None) -> Iterator[str]:
    if heard is None:
        yield "Redis does not answer: jobs wait until it does."
        return
    for kind, words in (
        (heartbeats.WORKER, "No worker has reported for two minutes. Jobs wait."),
        (heartbeats.CLOCK, "The scheduler has not reported for two minutes. Scheduled jobs wait."),
    ):
        known = [each for each in heard if each.kind == kind]
        if known and not any(each.is_alive for each in known):
            yield words


def no_worker(since: datetime | None) -> bool:
    """Whether a job that waits since then waits because no worker is there; False where nobody knows."""
    if since is None or timezone.now() - since < heartbeats.GONE:
        return False
    heard = heartbeats.pulses()
    return heard is not None and not any(each.kind == heartbeats.WORKER and each.is_alive for each in heard)


def _backed_up() -> dict[str, Any]:
    """When the last backup was made, and where: the last one in the audit, or a newer one in `backups` here."""
    found = newest(settings.DATA_DIR / "backups", f"*{ENDING}")
    at = datetime.fromtimestamp(found[0].stat().st_mtime, UTC) if found else None
    known = last_backup() or {}
    with suppress(KeyError, ValueError, TypeError):
        made_at = datetime.fromisoformat(known["made_at"])
        if at is None or made_at >= at - timedelta(minutes=1):
            return {
                "at": made_at,
                "path": str(known["path"]),
                "n_bytes": known.get("bytes"),
                "machine": known.get("machine"),
            }
    return {"at": at, "path": str(found[0]), "n_bytes": found[0].stat().st_size} if found else {}


def overview(user: User) -> dict[str, Any]:
    """All that the operator's page shows."""
    heard = heartbeats.pulses()
    missing = health.missing_migrations()
    return {
        "troubles": list(_troubles(heard)),
        "states": health.states(),
        "pulses": heard,
        "queue_length": heartbeats.queue_length(),
        "redis_bytes": in_steps(heartbeats.memory_bytes()),
        "jobs": jobs(user),
        "database": database(),
        "tables": largest_tables(),
        "open_uploads": queries.open_uploads(),
        "disk": disk(),
        "openings": openings(settings.DATA_DIR),
        "backed_up": _backed_up(),
        "version": settings.CONCORD_VERSION,
        "missing_migrations": missing,
    }
