"""The job of an export: writes its file, stores it, and says how far it is; killed at any moment, it begins anew."""

import hashlib
import logging
import tempfile
import time
from contextlib import suppress
from datetime import datetime, timedelta
from typing import IO, Any

from celery.exceptions import SoftTimeLimitExceeded
from django.core.files import File
from django.db import InterfaceError, OperationalError, transaction
from django.db.models import F
from django.utils import timezone

from accounts.errors import ConcordError, StorageAway
from accounts.holds import Kind, are_held, held, place
from accounts.room import require_room
from accounts.time_limits import WHOLE_SECONDS, is_statement_limit, stopped
from annotation.access import OWNER, get_seat
from annotation.exports.asked import Asked
from annotation.exports.kinds import KINDS, write_file
from annotation.exports.rows import counting
from annotation.models import Export

TELL_SECONDS = 0.5
LOST_SECONDS = 30
CLAIMS_MOST = 5
PIECE = 1 << 20
WAITS_FOR_STORAGE = "waiting: the storage of files does not answer"

ADVICE = "Ask for a smaller file, or ask for it again when the server has less to do."

log = logging.getLogger(__name__)


class ClaimLost(Exception):
    """Someone else took the export up, or it was cancelled: write nothing more."""


def work(export_id: int) -> None:
    """Makes the file of an export that is queued; for another one it does nothing.

    All that is written to the row is fenced by the number of the claim, so of two workers only the last one finishes.
    What goes wrong for good is said in the row; a database that is away is waited for by the clock.
    """
    with held(Kind.EXPORT, export_id):
        export = _claimed(export_id)
        if export is not None:
            _work(export)


def _work(export: Export) -> None:
    try:
        _make(export)
    except ClaimLost:
        return
    except SoftTimeLimitExceeded:
        raise
    except (OperationalError, InterfaceError) as error:
        if not is_statement_limit(error):
            raise
        _fail(export, stopped(WHOLE_SECONDS // 2, ADVICE))
    except StorageAway:
        log.warning("Export %s waits: the storage of files does not answer", export.pk)
        with suppress(ClaimLost):
            _note(export, step=WAITS_FOR_STORAGE)
    except ConcordError as error:
        details = [sentence for each in error.fields.values() for sentence in each]
        _fail(export, " ".join([error.message, *details]))
    except OSError as error:
        log.warning("Export %s failed: %s", export.pk, error.strerror)
        _fail(export, f"The file could not be written: {error.strerror}. Make it again once there is room for it.")
    except Exception as error:
        log.exception("Export %s failed", export.pk)
        _fail(export, f"The file could not be made ({type(error).__name__}). The server's log says more.")


def end_over_limit(export_id: int) -> None:
    """Notes that the worker of an export was stopped at its limit; a process that may still run has lost the claim."""
    error = stopped(WHOLE_SECONDS, ADVICE)
    ended = {"state": Export.State.FAILED, "error": error, "step": "", "file": "", "done_at": timezone.now()}
    Export.objects.filter(pk=export_id, state=Export.State.RUNNING).update(n_claims=F("n_claims") + 1, **ended)


def _claimed(export_id: int) -> Export | None:
    """The export, now ours; what an earlier worker had stored of it goes first."""
    now = timezone.now()
    with transaction.atomic():
        rows = Export.objects.select_for_update(of=("self",)).select_related("study", "created_by")
        export = rows.filter(pk=export_id, state=Export.State.QUEUED).first()
        if export is None:
            return None
        left = export.file.name
        export.state, export.file = Export.State.RUNNING, ""
        export.n_claims += 1
        export.n_rows, export.n_expected, export.step, export.error = 0, None, "", ""
        export.started_at = export.worked_at = now
        export.save()
    if left:
        with suppress(Exception):
            export.file.storage.delete(left)
    return export


def _note(export: Export, **changes: Any) -> None:
    """Writes to the export's row. Raises ClaimLost where it is no longer ours."""
    changes["worked_at"] = timezone.now()
    ours = Export.objects.filter(pk=export.pk, n_claims=export.n_claims, state=Export.State.RUNNING)
    if not ours.update(**changes):
        raise ClaimLost
    for name, value in changes.items():
        setattr(export, name, value)


class _Told:
    """The progress of an export, written to its row twice a second at most."""

    def __init__(self, export: Export) -> None:
        self._export = export
        self._waiting: dict[str, Any] = {}
        self._last = 0.0

    def __call__(self, n_rows: int | None = None, *, n_expected: int | None = None, step: str | None = None) -> None:
        told = {"n_rows": n_rows, "n_expected": n_expected, "step": step}
        self._waiting |= {name: value for name, value in told.items() if value is not None}
        if time.monotonic() - self._last >= TELL_SECONDS:
            self.write()

    def write(self) -> None:
        """Writes what was told last. Raises ClaimLost."""
        _note(self._export, **self._waiting)
        self._waiting = {}
        self._last = time.monotonic()


def _make(export: Export) -> None:
    seat = get_seat(export.created_by, export.study.slug)
    seat.require(OWNER)
    require_room("Ask for the file again when there is room; the page Operations shows how much is free.")
    kind = KINDS.get(export.what)
    if kind is None:
        raise ConcordError(f"There are no files of the kind “{export.what}” any more.")
    rounds = kind.rounds(seat, export.asked)
    blind = counting(seat, export.asked.get("round")) if rounds else []
    _note(
        export,
        rounds=[each.number for each in rounds],
        left_out=[each.number for each in blind if each.pk in seat.blind_round_ids],
        hidden=sorted(map(list, seat.withheld)),
    )
    told = _Told(export)
    with tempfile.TemporaryFile() as file:
        write_file(Asked(export.what, export.format, export.asked), seat, file, told)
        told.write()
        _store(export, file)


def _store(export: Export, file: IO[bytes]) -> None:
    """Hands the file over to the storage; its name stands in the row before, so that nothing is left lying there."""
    digest, n_bytes = hashlib.sha256(), 0
    file.seek(0)
    while piece := file.read(PIECE):
        digest.update(piece)
        n_bytes += len(piece)
    file.seek(0)
    stem, _, ending = export.name.rpartition(".")
    storage = export.file.storage
    name = export.file.field.generate_filename(export, f"{stem}-{digest.hexdigest()[:12]}-{export.n_claims}.{ending}")
    _note(export, file=name, step="storing the file")
    try:
        stored = storage.save(name, File(file), max_length=300)
    except StorageAway:
        raise
    except Exception as error:
        log.exception("Export %s could not be stored", export.pk)
        said = getattr(error, "strerror", None) or type(error).__name__
        raise ConcordError(f"The file could not be stored: {said}. Make it again once there is room for it.") from error
    done = {"file": stored, "n_bytes": n_bytes, "sha256": digest.hexdigest(), "step": "", "done_at": timezone.now()}
    try:
        _note(export, state=Export.State.DONE, n_expected=export.n_rows, **done)
    except ClaimLost:
        storage.delete(stored)
        raise


def _fail(export: Export, why: str) -> None:
    name, storage = export.file.name, export.file.storage
    with suppress(ClaimLost):
        _note(export, state=Export.State.FAILED, error=why, file="", step="", done_at=timezone.now())
    if name:
        with suppress(Exception):
            storage.delete(name)


def pick_up(lost_seconds: int = LOST_SECONDS) -> list[int]:
    """Queues exports whose worker died or whose message was lost; their ids, to be sent to workers.

    One whose workers died again and again has failed. A row that is locked here can't begin or end, so of one that is
    running with nobody at work on it the worker is gone.
    """
    now = timezone.now()
    with transaction.atomic():
        rows = Export.objects.select_for_update(skip_locked=True).filter(state__in=Export.AT_WORK).order_by("pk")
        waiting = list(rows)
        at_work = are_held(Kind.EXPORT) if waiting else set()
        found = [each for each in waiting if place(each.pk) not in at_work and _is_lost(each, now, lost_seconds)]
        for each in found:
            each.state, each.worked_at = Export.State.QUEUED, now
            if each.n_claims >= CLAIMS_MOST and each.step != WAITS_FOR_STORAGE:
                each.state, each.done_at = Export.State.FAILED, now
                each.error = f"The worker stopped {CLAIMS_MOST} times while it made the file; ask for a smaller one."
            each.save(update_fields=["state", "worked_at", "done_at", "error"])
    return [each.pk for each in found if each.state == Export.State.QUEUED]


def _is_lost(export: Export, now: datetime, lost_seconds: int) -> bool:
    is_waiting = export.state == Export.State.QUEUED or export.step == WAITS_FOR_STORAGE
    seconds = lost_seconds if is_waiting else 0
    return (export.worked_at or export.created_at) <= now - timedelta(seconds=seconds)
