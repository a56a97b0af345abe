"""Study import from another server: a checked file, stored by a job as a whole or not at all."""

import hashlib
from collections.abc import Callable
from datetime import timedelta
from pathlib import PurePath
from typing import IO, Any

from django.conf import settings
from django.core.files.base import File
from django.db import transaction
from django.utils import timezone

from accounts.actions import save_as_own
from accounts.models import User
from annotation.core.access import OWNER
from annotation.core.audit import record_of_member
from annotation.core.demo_people import require_may_create_studies
from annotation.core.errors import Invalid
from annotation.core.imported import STUDY_IMPORTED
from annotation.core.memberships import come_in
from annotation.models import Arrival, Membership
from annotation.studies.actions.study_ids import require_available
from annotation.transfer.actions.rows import StudyImportResult, store_study, table_names
from annotation.transfer.study_file import StudyFile, open_study
from shared.disk_space import require_room
from shared.job_holds import JobLockKind
from shared.job_time_limits import TaskTurn
from shared.jobs import JobKind, progress_beside
from shared.stored_names import unused_name

KEPT_DAYS = 2
FILES_AT_ONCE = 100
PIECE = 1 << 20


def take_study(*, user: User, file: "File[Any]", slug: str = "", send: bool = True) -> Arrival:
    """Keeps a study's file and queues its import; the study gets this address, or the one that it had.

    What the file is can be seen at once, whether its rows are whole only by the job. Raises Invalid with `file` or
    `slug`.
    """
    if file.size > settings.UPLOAD_BYTES_MAX:
        sentence = f"The file has {file.size:,} bytes. At most {settings.UPLOAD_BYTES_MAX:,} are allowed."
        raise Invalid(sentence, code="too_large", fields={"file": [sentence]})
    require_may_create_studies(user)
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
    found.file.save(unused_name("study", "zip"), File(file.file), save=False)
    with transaction.atomic():
        save_as_own(user, found, found.file)
        if send:
            ARRIVALS.send_later(found.pk)
    return found


class Arrivals(JobKind[Arrival]):
    """The storing of studies from files.

    The study, all that is in it and the report are one transaction, so a worker that is killed leaves nothing.
    """

    model, lock, task = Arrival, JobLockKind.ARRIVAL, "annotation.jobs.take_study_in"
    related = ("created_by",)
    advice = "Nothing was saved. Import the file in pieces, or run the import again."
    tries, tries_most = "n_attempts", 5
    gave_up = "The worker stopped several times while it imported this file. Import it in the shell."

    def begin(self, job: Arrival) -> None:
        job.n_attempts += 1

    def take_back(self, job: Arrival) -> dict[str, Any]:
        return {"step": ""}

    def do(self, job: Arrival, turn: TaskTurn) -> None:
        with progress_beside(self, job) as progress, transaction.atomic(), job.file.open("rb") as file:

            def told(n_done: int, step: str) -> None:
                progress(n_done=n_done, step=step[:200])

            stored, sha256 = bring_study(user=job.created_by, file=file, slug=job.slug, told=told)
            report = report_of(stored, sha256)
            self.finish(job, study=stored.study, n_done=job.n_total, step="", report=report)


ARRIVALS = Arrivals()
take_in = ARRIVALS.work


def nobody_looks(n_done: int, step: str) -> None:
    """The progress of an import that nobody watches."""


@transaction.atomic
def bring_study(
    *, user: User, file: IO[bytes], slug: str = "", told: Callable[[int, str], None] = nobody_looks
) -> tuple[StudyImportResult, str]:
    """Checks a study's file and stores it, owned by this person; what was stored, and the SHA-256 of the file.

    Raises Invalid for a file that is not whole or was changed, Conflict where the address is taken.
    """
    require_may_create_studies(user)
    opened = open_study(file, table_names())
    slug = slug.strip() or opened.slug
    require_available(slug, user)
    sha256 = _digest(file)
    for name in opened.check():
        told(0, f"checking {name}")
    stored = store_study(user=user, file=opened, slug=slug, told=told)
    owner = Membership(study=stored.study, roles=[OWNER])
    come_in(owner, user)
    owner.save()
    rounds = sorted(stored.study.rounds.values_list("number", flat=True))
    said = {"sha256": sha256, "rounds": rounds, **_came_from(opened)}
    record_of_member(study=stored.study, user=user, verb=STUDY_IMPORTED, account=user, detail=said)
    return stored, sha256


def _came_from(opened: StudyFile) -> dict[str, Any]:
    return {"was": opened.slug, "concord": str(opened.manifest.get("concord"))[:20]}


def _digest(file: IO[bytes]) -> str:
    file.seek(0)
    digest = hashlib.sha256()
    while piece := file.read(PIECE):
        digest.update(piece)
    return digest.hexdigest()


def report_of(stored: StudyImportResult, sha256: str) -> dict[str, Any]:
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
