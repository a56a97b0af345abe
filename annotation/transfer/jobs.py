"""Deletion job: deletes a study table by table, and continues after a crash."""

from contextlib import suppress
from typing import Any

from django.core.files.storage import default_storage
from django.db import IntegrityError, connection, transaction
from django.db.models import Q

from accounts.models import User
from annotation.models import Arrival, Assignment, Deletion, Export, Study, Workbook
from annotation.transfer.queries import rows as study_rows
from shared.job_holds import JobLockKind
from shared.job_time_limits import BATCHES, TaskTurn
from shared.jobs import JobKind, TurnOver

BATCH = 5000
SWITCH = "concord.study_that_goes"


class Deletions(JobKind[Deletion]):
    """The taking away of deleted studies, batch by batch."""

    model, lock, task = Deletion, JobLockKind.DELETION, "annotation.tasks.delete_study"
    related = ("study",)
    limits = BATCHES
    advice = "Continue the deletion when the server is less busy. Deleted data does not return."

    @property
    def queued(self) -> Q:
        """Web processes of earlier versions, which continue a deletion, know its error and no state."""
        return Q(done_at=None, error="") & ~Q(state="running")

    def do(self, job: Deletion, turn: TaskTurn) -> None:
        people = _people(job.pk)
        _forget_import(job)
        while _batch(job):
            if turn.is_over():
                raise TurnOver
        _forget(people)

    def take_back(self, job: Deletion) -> dict[str, Any]:
        return {"done_at": None}


DELETIONS = Deletions()
work = DELETIONS.work


def _name(study: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT set_config(%s, %s, true)", [SWITCH, study])


def _batch(deletion: Deletion) -> bool:
    """Takes away one batch; whether there may be more. In its transaction alone the database lets these rows go."""
    study = deletion.study
    assert study is not None
    with DELETIONS.batch(deletion):
        _name(str(study.pk))
        n_taken = _unpoint(study)
        if not n_taken:
            n_taken = next((n for table in study_rows.in_order_of_leaving() if (n := _take(table, study))), 0)
        if n_taken:
            DELETIONS.write(deletion, n_done=deletion.n_done + n_taken)
        else:
            DELETIONS.finish(deletion, study=None, n_done=deletion.n_total)
            with connection.cursor() as cursor:
                cursor.execute("DELETE FROM annotation_study WHERE id = %s", [study.pk])
        _name("")
    return n_taken > 0


def _forget_import(deletion: Deletion) -> None:
    """Deletes the file that the study came from, and what the register of imports says of it. Raises StorageAway."""
    came_by = Arrival.objects.filter(study__deletion=deletion)
    for name in came_by.filter(file__gt="").values_list("file", flat=True):
        default_storage.delete(name)
    came_by.update(study=None, file="", report=None)


def _unpoint(study: Study) -> int:
    """Assignments and answers name each other; the assignments let go first, which counts for nothing."""
    rows = Assignment.objects.filter(Q(blind__isnull=False) | Q(current__isnull=False), rater__study=study)
    pks = list(rows.order_by("pk").values_list("pk", flat=True)[:BATCH])
    Assignment.objects.filter(pk__in=pks).update(blind=None, current=None)
    return len(pks)


def _take(table: study_rows.StudyTable, study: Study) -> int:
    """Takes away rows of one table, with their files; how many. Raises StorageAway."""
    pks = list(table.rows(study).values_list("pk", flat=True)[:BATCH])
    if not pks:
        return 0
    if table.model in (Export, Workbook):
        files: Any = table.model._default_manager.filter(pk__in=pks, file__gt="").values_list("file", flat=True)
        for name in files:  # before the rows, so that no file is left that nobody knows of
            default_storage.delete(name)
    with connection.cursor() as cursor:
        cursor.execute(f"DELETE FROM {table.model._meta.db_table} WHERE id = ANY(%s)", [pks])  # noqa: S608
    return len(pks)


def _people(deletion_id: int) -> set[int]:
    """People of another server who stand in the study; they go with it unless something else names them."""
    study = Study.objects.filter(deletion=deletion_id).first()
    if study is None:
        return set()
    members = study.memberships.filter(formerly__isnull=False).values_list("formerly", flat=True)
    mark = User.objects.filter(pk__in=list(members)).exclude(elsewhere="").values_list("username", flat=True).first()
    if mark is None:
        return set()
    beginning = mark.rpartition("-")[0] + "-"
    return set(User.objects.filter(username__startswith=beginning).exclude(elsewhere="").values_list("pk", flat=True))


def _forget(people: set[int]) -> None:
    for pk in people:
        with suppress(IntegrityError), transaction.atomic(), connection.cursor() as cursor:
            cursor.execute("DELETE FROM accounts_user WHERE id = %s", [pk])
            cursor.execute("SET CONSTRAINTS ALL IMMEDIATE; SET CONSTRAINTS ALL DEFERRED")
