"""Export job: writes a file, stores it, and reports progress; after a crash it begins again."""

import hashlib
import logging
import tempfile
from typing import IO, Any

from django.core.files import File
from django.utils import timezone

from annotation.core.access import OWNER, get_seat
from annotation.exports.queries.kinds import KINDS, write_file
from annotation.exports.queries.requests import ExportRequest
from annotation.exports.queries.rows import counting
from annotation.models import Export
from shared.disk_space import require_room
from shared.errors import ConcordError, StorageAway
from shared.job_holds import JobLockKind
from shared.job_time_limits import TaskTurn
from shared.jobs import ClaimLost, JobKind, JobProgress

PIECE = 1 << 20
FILES_AT_ONCE = 500
WAITS_FOR_STORAGE = "waiting: the file storage does not respond"

log = logging.getLogger(__name__)


class Exports(JobKind[Export]):
    """The making of files."""

    model, lock, task = Export, JobLockKind.EXPORT, "annotation.tasks.make_export"
    related = ("study", "created_by")
    advice = "Request a smaller export, or try again when the server is less busy."
    tries_most = 5
    gave_up = f"The worker stopped {tries_most} times while it made the file; ask for a smaller one."

    def do(self, job: Export, turn: TaskTurn) -> None:
        if job.file.name:  # what an earlier worker had stored
            job.file.storage.delete(job.file.name)
        _make(job)

    def begin(self, job: Export) -> None:
        job.n_rows, job.n_expected, job.step = 0, None, ""
        job.started_at = timezone.now()

    def take_back(self, job: Export) -> dict[str, Any]:
        return {"file": left_after_discarding(job), "step": ""}

    def postpone(self, job: Export, **changes: Any) -> None:
        super().postpone(job, step=WAITS_FOR_STORAGE)

    def unforeseen(self, error: Exception) -> str:
        if isinstance(error, OSError):
            return f"The file could not be written: {error.strerror}. Create the export again when there is space."
        return f"Export failed ({type(error).__name__}). The server's log has details."


EXPORTS = Exports()
work = EXPORTS.work


def left_after_discarding(export: Export) -> str:
    """Takes out of the storage what is stored of an export; its name where that is not possible now, else nothing.

    The name stays in the row then, and `discard_files` tries again.
    """
    name = export.file.name or ""
    try:
        if name:
            export.file.storage.delete(name)
    except Exception:
        log.warning("The file of export %s could not be deleted yet", export.pk, exc_info=True)
        return name
    return ""


def discard_files() -> int:
    """Takes out of the storage what is left of exports that have no file any more; of how many."""
    ended = Export.objects.filter(state__in=Export.WITHOUT_FILE, file__gt="").order_by("pk")
    n_discarded = 0
    for export in ended[:FILES_AT_ONCE]:
        if not left_after_discarding(export):
            n_discarded += Export.objects.filter(pk=export.pk, state=export.state).update(file="")
    return n_discarded


def _make(export: Export) -> None:
    seat = get_seat(export.created_by, export.study.slug)
    seat.require(OWNER)
    require_room("Create the export again when there is space. The Operations page shows how much is free.")
    kind = KINDS.get(export.what)
    if kind is None:
        raise ConcordError(f"The export kind “{export.what}” no longer exists.")
    rounds = kind.rounds(seat, export.asked)
    blind = counting(seat, export.asked.get("round")) if rounds else []
    EXPORTS.write(
        export,
        file="",
        rounds=[each.number for each in rounds],
        left_out=[each.number for each in blind if each.pk in seat.blind_round_ids],
        hidden=sorted(map(list, seat.withheld)),
    )
    progress = JobProgress(EXPORTS, export)

    def told(n_rows: int | None = None, *, n_expected: int | None = None, step: str | None = None) -> None:
        changes = {"n_rows": n_rows, "n_expected": n_expected, "step": step}
        progress(**{name: value for name, value in changes.items() if value is not None})

    with tempfile.TemporaryFile() as file:
        write_file(ExportRequest(export.what, export.format, export.asked), seat, file, told)
        progress.write()
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
    EXPORTS.write(export, file=name, step="storing the file")
    try:
        stored = storage.save(name, File(file), max_length=300)
    except StorageAway:
        raise
    except Exception as error:
        log.exception("Export %s could not be stored", export.pk)
        said = getattr(error, "strerror", None) or type(error).__name__
        raise ConcordError(
            f"The file could not be stored: {said}. Create the export again when there is space."
        ) from error
    done = {"file": stored, "n_bytes": n_bytes, "sha256": digest.hexdigest(), "step": ""}
    try:
        EXPORTS.finish(export, n_expected=export.n_rows, **done)
    except ClaimLost:
        storage.delete(stored)
        raise
