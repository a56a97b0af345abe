"""A study from another server: its file is taken, checked, and stored by a job that leaves all or nothing."""

import hashlib
import time
from collections.abc import Callable
from datetime import timedelta
from pathlib import PurePath
from typing import IO, Any

from celery import current_app
from django.conf import settings
from django.core.files.base import File
from django.db import DEFAULT_DB_ALIAS, connection, connections, transaction
from django.utils import timezone

from accounts.allowances import require_study_creator
from accounts.holds import Kind, place, without_worker
from accounts.models import User
from accounts.room import require_room
from accounts.time_limits import WHOLE_SECONDS, stopped
from annotation.access import OWNER
from annotation.actions.arriving_rows import Stored, store_study, table_names
from annotation.actions.studies import record
from annotation.actions.study_ids import require_available
from annotation.errors import ConcordError, Conflict, Invalid
from annotation.models import Arrival, Membership
from annotation.package.whole import StudyFile, open_study
from annotation.queries.studies import STUDY_IMPORTED

JOB = "annotation.jobs.take_study_in"
ATTEMPTS_MOST = 5
BEAT_SECONDS = 1.0
KEPT_DAYS = 2
FILES_AT_ONCE = 100
PIECE = 1 << 20


def take_study(*, user: User, file: File, slug: str = "", send: bool = True) -> Arrival:
    """Keeps a study's file and queues its import; the study gets this address, or the one that it had.

    What the file is can be seen at once, whether its rows are whole only by the job. Raises Invalid with `file` or
    `slug`.
    """
    if file.size > settings.UPLOAD_BYTES_MAX:
        sentence = f"The file has {file.size:,} bytes; at most {settings.UPLOAD_BYTES_MAX:,} are taken."
        raise Invalid(sentence, code="too_large", fields={"file": [sentence]})
    require_study_creator(user)
    require_room()
    assert file.file is not None
    opened = open_study(file.file, table_names())
    slug = slug.strip() or opened.slug
    require_available(slug, user)
    found = Arrival(
        name=PurePath(file.name or "study.zip").name.replace("\x00", "")[:200],
        slug=slug,
        n_total=opened.n_rows,
        created_by=user,
        worked_at=timezone.now(),
    )
    file.seek(0)
    found.file.save("study.zip", File(file.file), save=False)
    with transaction.atomic():
        found.save()
        if send:
            transaction.on_commit(lambda: current_app.send_task(JOB, args=[found.pk]))
    return found


class _Side:
    """A connection beside the import's own, so that its progress is seen before all is stored."""

    def __init__(self, arrival_id: int) -> None:
        self.arrival_id = arrival_id
        self.told_at = 0.0
        self.connection = connections.create_connection(DEFAULT_DB_ALIAS)

    def begin(self) -> int:
        """Marks the arrival as running; the number of this attempt, 0 where nobody sees the row yet."""
        with self.connection.cursor() as cursor:
            cursor.execute(
                "UPDATE annotation_arrival SET state = %s, worked_at = now(), n_attempts = n_attempts + 1 "
                "WHERE id = %s RETURNING n_attempts",
                [Arrival.State.RUNNING, self.arrival_id],
            )
            row = cursor.fetchone()
        return row[0] if row else 0

    def tell(self, n_done: int, step: str) -> None:
        if time.monotonic() - self.told_at < BEAT_SECONDS:
            return
        self.told_at = time.monotonic()
        with self.connection.cursor() as cursor:
            cursor.execute(
                "UPDATE annotation_arrival SET n_done = %s, step = %s, worked_at = now() WHERE id = %s",
                [n_done, step[:200], self.arrival_id],
            )

    def close(self) -> None:
        self.connection.close()


def take_in(arrival_id: int) -> None:
    """Stores the study of an arrival that is queued or running; nothing for another one, or while a worker is at it.

    The study, all that is in it and the report are one transaction, so a worker that is killed leaves nothing; the
    clock sends the arrival again, a few times. What can't be taken is said in the row.
    """
    if not Arrival.objects.filter(pk=arrival_id, state__in=Arrival.AT_WORK).exists():
        return
    side = _Side(arrival_id)
    try:
        with transaction.atomic():
            arrival = _held(arrival_id)
            if arrival is None:
                return
            if side.begin() > ATTEMPTS_MOST:
                raise Conflict("The worker stopped several times at this file; import it in the shell.")
            with arrival.file.open("rb") as file:
                stored, sha256 = bring_study(user=arrival.created_by, file=file, slug=arrival.slug, told=side.tell)
            Arrival.objects.filter(pk=arrival_id).update(
                state=Arrival.State.DONE,
                study=stored.study,
                n_done=arrival.n_total,
                step="",
                report=report_of(stored, sha256),
                error="",
                done_at=timezone.now(),
            )
    except ConcordError as error:
        Arrival.objects.filter(pk=arrival_id, state__in=Arrival.AT_WORK).update(
            state=Arrival.State.FAILED, error=error.message, step="", done_at=timezone.now()
        )
    finally:
        side.close()


def _held(arrival_id: int) -> Arrival | None:
    """The arrival, nobody else's until the transaction ends; None where it is somebody's, or done meanwhile."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_try_advisory_xact_lock(%s, %s)", [Kind.ARRIVAL, place(arrival_id)])
        if not cursor.fetchone()[0]:
            return None
    return Arrival.objects.select_related("created_by").filter(pk=arrival_id, state__in=Arrival.AT_WORK).first()


def nobody_looks(n_done: int, step: str) -> None:
    """The progress of an import that nobody watches."""


@transaction.atomic
def bring_study(
    *, user: User, file: IO[bytes], slug: str = "", told: Callable[[int, str], None] = nobody_looks
) -> tuple[Stored, str]:
    """Checks a study's file and stores it, owned by this person; what was stored, and the SHA-256 of the file.

    Raises Invalid for a file that is not whole or was changed, Conflict where the address is taken.
    """
    require_study_creator(user)
    opened = open_study(file, table_names())
    slug = slug.strip() or opened.slug
    require_available(slug, user)
    sha256 = _digest(file)
    for name in opened.check():
        told(0, f"checking {name}")
    stored = store_study(user=user, file=opened, slug=slug, told=told)
    Membership.objects.create(study=stored.study, user=user, roles=[OWNER])
    rounds = sorted(stored.study.rounds.values_list("number", flat=True))
    record(study=stored.study, user=user, verb=STUDY_IMPORTED, sha256=sha256, rounds=rounds, **_came_from(opened))
    return stored, sha256


def _came_from(opened: StudyFile) -> dict[str, Any]:
    return {"was": opened.slug, "concord": str(opened.manifest.get("concord"))[:20]}


def _digest(file: IO[bytes]) -> str:
    file.seek(0)
    digest = hashlib.sha256()
    while piece := file.read(PIECE):
        digest.update(piece)
    return digest.hexdigest()


def report_of(stored: Stored, sha256: str) -> dict[str, Any]:
    """What came of a file, for page, command and REST."""
    return {
        "study": stored.study.slug,
        "sha256": sha256,
        "rows": stored.n_rows,
        "people": stored.n_people,
        "issues": stored.n_issues,
        "new_issues": stored.n_new_issues,
        "new_snapshots": stored.n_new_snapshots,
        "new_repositories": stored.n_new_repositories,
        "taxonomies": stored.taxonomies,
    }


def end_over_limit(pk: int) -> None:
    """Notes that the worker of an import was stopped at its time limit; nothing of it was stored."""
    error = stopped(WHOLE_SECONDS, "Nothing was stored. Import the file in pieces, or run the import again.")
    ended = {"state": Arrival.State.FAILED, "error": error, "done_at": timezone.now()}
    Arrival.objects.filter(pk=pk, state__in=Arrival.AT_WORK).update(**ended)


def lost(before_seconds: int) -> list[int]:
    """Arrivals that are queued for so long, or running with nobody at work on them; they are sent again."""
    rows = Arrival.objects.filter(state__in=Arrival.AT_WORK).order_by("pk").values_list("pk", "state", "worked_at")
    found = without_worker(Kind.ARRIVAL, list(rows), before_seconds)
    Arrival.objects.filter(pk__in=found).update(worked_at=timezone.now())
    return found


def remove_old_files() -> int:
    """Removes the files of arrivals that were over two days ago; how many."""
    old = Arrival.objects.exclude(state__in=Arrival.AT_WORK).filter(
        done_at__lt=timezone.now() - timedelta(days=KEPT_DAYS), file__gt=""
    )
    n_removed = 0
    for arrival in list(old[:FILES_AT_ONCE]):
        arrival.file.delete(save=False)
        Arrival.objects.filter(pk=arrival.pk).update(file="")
        n_removed += 1
    return n_removed
