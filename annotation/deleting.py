"""The job that takes a deleted study away, table by table; killed at any moment, it goes on where it was."""

import logging
from contextlib import suppress
from datetime import timedelta
from typing import Any

from django.core.files.storage import default_storage
from django.db import IntegrityError, connection, transaction
from django.db.models import Q
from django.utils import timezone

from accounts.holds import Kind, are_held, held, place
from accounts.models import User
from accounts.time_limits import BATCHES_SECONDS, Turn, stopped
from annotation.models import Assignment, Deletion, Export, Study, Workbook
from annotation.queries import whole

BATCH = 5000
SWITCH = "concord.study_that_goes"

log = logging.getLogger(__name__)


def work(deletion_id: int, *, turn_seconds: float | None = None) -> bool:
    """Takes away what a deleted study holds, then the study, until the turn is over; whether it is to go on.

    A batch is a transaction, in which alone the database lets rows of this study go.
    """
    turn = Turn(turn_seconds)
    with held(Kind.DELETION, deletion_id):
        people = _people(deletion_id)
        while _batch(deletion_id):
            if turn.is_over():
                return True
        if not Deletion.objects.filter(pk=deletion_id, done_at=None).exists():
            _forget(people)
    return False


def end_over_limit(deletion_id: int) -> None:
    """Notes that the worker of a deletion was stopped at its time limit; the next batch begins only by hand."""
    error = stopped(BATCHES_SECONDS, "Continue the deletion when the server has less to do. Nothing comes back.")
    Deletion.objects.filter(pk=deletion_id, done_at=None).update(error=error)


def _held(deletion_id: int) -> Deletion | None:
    """The deletion, nobody else's until the transaction ends, with its study named to the database.

    None: it is over, or failed.
    """
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_try_advisory_xact_lock(%s, %s)", [Kind.DELETION_BATCH, place(deletion_id)])
        if not cursor.fetchone()[0]:
            return None
    found = Deletion.objects.select_related("study").filter(pk=deletion_id, done_at=None, error="").first()
    if found is not None:
        _name(str(found.study_id))
    return found


def _name(study: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT set_config(%s, %s, true)", [SWITCH, study])


@transaction.atomic
def _batch(deletion_id: int) -> bool:
    """Takes away one batch; whether there may be more."""
    deletion = _held(deletion_id)
    if deletion is None or deletion.study is None:
        return False
    study = deletion.study
    n_taken = _unpoint(study)
    if not n_taken:
        n_taken = next((n for table in whole.in_order_of_leaving() if (n := _take(table, study))), 0)
    if n_taken:
        deletion.n_done += n_taken
        deletion.worked_at = timezone.now()
        deletion.save(update_fields=["n_done", "worked_at"])
        _name("")
        return True
    deletion.study, deletion.done_at, deletion.worked_at = None, timezone.now(), timezone.now()
    deletion.n_done = deletion.n_total
    deletion.save()
    with connection.cursor() as cursor:
        cursor.execute("UPDATE annotation_arrival SET study_id = NULL WHERE study_id = %s", [study.pk])
        cursor.execute("DELETE FROM annotation_study WHERE id = %s", [study.pk])
    _name("")
    return False


def _unpoint(study: Study) -> int:
    """Assignments and answers name each other; the assignments let go first, which counts for nothing."""
    rows = Assignment.objects.filter(Q(blind__isnull=False) | Q(current__isnull=False), rater__study=study)
    pks = list(rows.order_by("pk").values_list("pk", flat=True)[:BATCH])
    Assignment.objects.filter(pk__in=pks).update(blind=None, current=None)
    return len(pks)


def _take(table: whole.Table, study: Study) -> int:
    """Takes away rows of one table, with their files; how many."""
    pks = list(table.rows(study).values_list("pk", flat=True)[:BATCH])
    if not pks:
        return 0
    if table.model in (Export, Workbook):
        files: Any = table.model._default_manager.filter(pk__in=pks, file__gt="").values_list("file", flat=True)
        _throw_away(list(files))  # before the rows, so that no file is left that nobody knows of
    with connection.cursor() as cursor:
        cursor.execute(f"DELETE FROM {table.model._meta.db_table} WHERE id = ANY(%s)", [pks])  # noqa: S608
    return len(pks)


def _throw_away(names: list[str]) -> None:
    for name in names:
        with suppress(Exception):
            default_storage.delete(name)


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


def lost(before_seconds: int) -> list[int]:
    """Deletions that wait, that nobody works on and that were not sent for so long; they are sent again."""
    now = timezone.now()
    rows = Deletion.objects.filter(Q(worked_at__lt=now - timedelta(seconds=before_seconds)) | Q(worked_at=None))
    waiting = list(rows.filter(done_at=None, error="").order_by("pk").values_list("pk", flat=True))
    at_work = are_held(Kind.DELETION) if waiting else set()
    found = [pk for pk in waiting if place(pk) not in at_work]
    Deletion.objects.filter(pk__in=found).update(worked_at=now)
    return found
