"""Jobs: the base of all kinds of jobs, with claim, progress, attempts, time limit, cancel, and sweep.

A job is a row of a model that inherits `Job`. A `JobKind` describes the work. A worker holds the row (`job_holds.py`)
as long as it lives, and claims it by a number. Only the newest claim may write. Celery carries IDs only. A lost
message, or a dead worker, leaves a row that the sweep sends again.
"""

import logging
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from datetime import datetime, timedelta
from typing import Any, Generic, TypeVar

from celery import current_app
from celery.exceptions import SoftTimeLimitExceeded
from django.db import (
    DEFAULT_DB_ALIAS,
    DataError,
    IntegrityError,
    InterfaceError,
    OperationalError,
    connections,
    models,
    transaction,
)
from django.db.models import Q
from django.utils import timezone

from shared.errors import ConcordError, StorageAway
from shared.job_holds import JobLockKind as Lock
from shared.job_holds import are_held, hold_job, place
from shared.job_time_limits import TURN_SECONDS, WHOLE, WHOLE_SECONDS, TaskTurn, is_statement_limit, stop_sentence

LOST_SECONDS = 30
"""How long a job is queued before its message counts as lost."""
PROGRESS_SECONDS = 0.5
"""How often a job writes how far it is, at most."""
DETAILS_MOST = 10

log = logging.getLogger(__name__)
J = TypeVar("J", bound="Job")


class ClaimLost(Exception):
    """Someone else took the job up, or it was cancelled: write nothing more."""


class TurnOver(Exception):
    """The batch is stored, and the job goes on in another task."""


class Job(models.Model):
    """What the row of every job has; a model with more states brings its own `State` and `state`."""

    class State(models.TextChoices):
        QUEUED = "queued"
        RUNNING = "running"
        DONE = "done"
        FAILED = "failed"

    AT_WORK = (State.QUEUED, State.RUNNING)

    state = models.CharField(max_length=10, choices=State.choices, default=State.QUEUED, db_default="queued")
    n_claims = models.PositiveIntegerField(default=0, db_default=0, help_text="Who holds the last claim may write.")
    error = models.TextField(blank=True, default="", db_default="", help_text="Why it failed, in words.")
    worked_at = models.DateTimeField(null=True, blank=True, help_text="When the job was last heard of.")
    done_at = models.DateTimeField(null=True, blank=True, help_text="When it was over, whichever way.")

    class Meta:
        abstract = True

    @property
    def is_at_work(self) -> bool:
        return self.state in self.AT_WORK


class Work:
    """What workers do for a row by a task, and what the clock does about it; the sweep knows every kind of it."""

    lock: Lock
    task: str
    limits: dict[str, Any] = WHOLE
    advice: str
    """What to do about one that was stopped at its time limit."""

    def __init__(self) -> None:
        KINDS.append(self)

    @property
    def options(self) -> dict[str, Any]:
        """The options of its task."""
        return {"name": self.task, **self.limits, "over_limit": staticmethod(self.end_over_limit)}

    def over_limit_sentence(self) -> str:
        return stop_sentence(self.limits["soft_time_limit"], self.advice)

    def send(self, pk: int) -> None:
        """Tells a worker; where the message gets lost, the sweep finds the row."""
        current_app.send_task(self.task, args=[pk])

    def send_later(self, pk: int) -> None:
        """Tells a worker after the commit."""
        transaction.on_commit(lambda: self.send(pk), robust=True)

    def run(self, pk: int) -> bool:
        """The task: works for a turn, and sends the row again where it is to go on; whether it does."""
        goes_on = self.work(pk, turn_seconds=TURN_SECONDS if self.limits is not WHOLE else None)
        if goes_on:
            self.send(pk)
        return goes_on

    def work(self, pk: int, *, turn_seconds: float | None = None) -> bool:
        """Works on a row until its turn is over; whether it is to go on then."""
        raise NotImplementedError

    def end_over_limit(self, pk: int) -> None:
        """Notes that the worker of a row was stopped at its time limit."""
        raise NotImplementedError

    def sweep(self, lost_seconds: float = LOST_SECONDS) -> list[int]:
        """The rows whose worker or message was lost, to be sent again."""
        raise NotImplementedError


KINDS: list[Work] = []
BAD_ROW = (DataError, IntegrityError, ArithmeticError, AttributeError, LookupError, TypeError, ValueError)
"""What a row raises that holds something that can't be; work on many rows logs it and goes on with the others."""


class JobKind(Work, Generic[J]):
    """A kind of job: what is done with its rows (`do`), and what is peculiar to it."""

    model: type[J]
    related: tuple[str, ...] = ()
    """What is fetched along with a row that is claimed."""
    tries, tries_most, gave_up = "n_claims", 0, ""
    """The column that counts workers that began, how many may die, and the sentence after that; 0: any number."""
    heard, over = "worked_at", "done_at"
    own = Q()
    """Which rows of the model are of this kind."""

    # What a kind says

    def do(self, job: J, turn: TaskTurn) -> None:
        """Works until the job is finished; raises TurnOver when the turn ends first, and what makes the job fail."""
        raise NotImplementedError

    def begin(self, job: J) -> None:
        """What else changes in a row with a new claim; it is saved by the caller."""

    def take_back(self, job: J) -> dict[str, Any]:
        """Takes back what a job that fails has done, in the same transaction; what else changes in its row."""
        return {}

    def queue_again(self, job: J) -> None:
        """What else changes in a row that the sweep queues; it is saved by the caller."""

    def unforeseen(self, error: Exception) -> str | None:
        """Why the job failed, for an error that nobody foresaw; None: it is raised, and the job begins again."""
        return None

    @property
    def queued(self) -> Q:
        """The rows that a worker may claim."""
        return Q(state="queued")

    # What workers do

    def work(self, pk: int, *, turn_seconds: float | None = None) -> bool:
        """Works on a job that is queued, nothing for another one; whether it is to go on, for its turn was over.

        Why it can't be done is written into its row; a database that is away is waited for by the clock.
        """
        with hold_job(self.lock, pk):
            job = self.claim(pk)
            if job is None:
                return False
            try:
                self.do(job, TaskTurn(turn_seconds))
            except TurnOver:
                with suppress(ClaimLost):
                    self.write(job, state="queued")
                return True
            except ClaimLost:
                log.info("%s %s goes on elsewhere or was cancelled", self.model.__name__, pk)
            except SoftTimeLimitExceeded:
                raise
            except Exception as error:
                if not self.deal_with(job, error):
                    raise
        return False

    def claim(self, pk: int) -> J | None:
        """The job, now ours; None where it is not queued."""
        with transaction.atomic():
            rows = self.model._default_manager.select_for_update(of=("self",), no_key=True)
            job: J | None = rows.select_related(*(self.related or [None])).filter(self.queued, self.own, pk=pk).first()
            if job is not None:
                job.state, job.error, job.n_claims = "running", "", job.n_claims + 1
                setattr(job, self.heard, timezone.now())
                self.begin(job)
                job.save()
        return job

    def ours(self, job: J) -> models.QuerySet[J]:
        return self.model._default_manager.filter(pk=job.pk, n_claims=job.n_claims, state="running")

    def write(self, job: J, **changes: Any) -> None:
        """Writes to the row, which says that the job is alive. Raises ClaimLost."""
        changes[self.heard] = timezone.now()
        if not self.ours(job).update(**changes):
            raise ClaimLost
        for name, value in changes.items():
            setattr(job, name, value)

    @contextmanager
    def batch(self, job: J) -> Iterator[None]:
        """A transaction that holds the row. Raises ClaimLost."""
        with transaction.atomic():
            if not self.ours(job).select_for_update(no_key=True).exists():
                raise ClaimLost
            yield

    def finish(self, job: J, **changes: Any) -> None:
        """All is done. Raises ClaimLost."""
        self.write(job, state="done", error="", **{self.over: timezone.now()}, **changes)

    def fail(self, job: J, why: str) -> None:
        """Ends a job that is still ours for a reason that time does not cure; nothing for another one."""
        with suppress(ClaimLost), self.batch(job):
            self.write(job, state="failed", error=why, **{self.over: timezone.now()} | self.take_back(job))

    def postpone(self, job: J, **changes: Any) -> None:
        """Queues a job that is still ours until the sweep sends it again; this was no try."""
        with suppress(ClaimLost):
            self.write(job, state="queued", **{self.tries: getattr(job, self.tries) - 1}, **changes)

    def deal_with(self, job: J, error: Exception) -> bool:
        """Postpones or fails a job, in words; whether it did."""
        if isinstance(error, StorageAway):
            log.warning("%s %s waits: the storage of files does not answer", self.model.__name__, job.pk)
            self.postpone(job)
            return True
        why = self._sentence(error)
        if why is None:
            return False
        if not isinstance(error, ConcordError):
            log.warning("%s %s failed", self.model.__name__, job.pk, exc_info=error)
        self.fail(job, why)
        return True

    def _sentence(self, error: Exception) -> str | None:
        if isinstance(error, ConcordError):
            details = [each for sentences in error.fields.values() for each in sentences if each not in error.message]
            return " ".join([error.message, *details[:DETAILS_MOST]])
        if isinstance(error, (OperationalError, InterfaceError)):
            return stop_sentence(WHOLE_SECONDS // 2, self.advice) if is_statement_limit(error) else None
        return self.unforeseen(error)

    # What others do to a job

    @transaction.atomic
    def end_over_limit(self, pk: int) -> None:
        """Notes that the worker was stopped at its time limit; a process that may still run has lost the claim."""
        rows = self.model._default_manager.select_for_update(of=("self",), no_key=True)
        job = rows.filter(pk=pk, state__in=["queued", "running"]).first()
        if job is not None:
            job.error = self.over_limit_sentence()
            self.end(job, "failed", **self.take_back(job))

    def end(self, job: J, state: str, **changes: Any) -> None:
        """Ends a job whose row the caller holds, whoever works on it."""
        changes = {"state": state, "n_claims": job.n_claims + 1, self.over: timezone.now()} | changes
        for name, value in changes.items():
            setattr(job, name, value)
        job.save()

    def has_worker(self, job: J) -> bool:
        """Whether a process works on a job whose row the caller holds: then it can't end meanwhile."""
        return job.state == "running" and place(job.pk) in are_held(self.lock)

    def sweep(self, lost_seconds: float = LOST_SECONDS) -> list[int]:
        """Queues jobs whose worker died or whose message was lost; their ids, to be sent to workers.

        One whose workers died again and again has failed; one that can't be looked at is logged. A row that is held
        here can't begin or end, so of one that is running with nobody at work on it the worker is gone.
        """
        waiting = self.model._default_manager.filter(self.queued | Q(state="running"), self.own).order_by("pk")
        found = []
        for pk in list(waiting.values_list("pk", flat=True)):
            try:
                with transaction.atomic():
                    if self._queue_lost(pk, lost_seconds):
                        found.append(pk)
            except BAD_ROW:
                log.exception("%s %s could not be swept", self.task, pk)
        return found

    def _queue_lost(self, pk: int, lost_seconds: float) -> bool:
        """Queues a job that was lost, or ends it after too many tries; whether it is to be sent."""
        now = timezone.now()
        rows = self.model._default_manager.select_for_update(skip_locked=True, of=("self",), no_key=True)
        job = rows.filter(self.queued | Q(state="running"), pk=pk).first()
        if job is None or place(pk) in are_held(self.lock) or not self._is_lost(job, now, lost_seconds):
            return False
        if job.state == "running" and self.tries_most and getattr(job, self.tries) >= self.tries_most:
            job.error = self.gave_up
            self.end(job, "failed", **self.take_back(job))
            return False
        self.queue_again(job)
        job.state = "queued"
        setattr(job, self.heard, now)
        job.save()
        return True

    def _is_lost(self, job: J, now: datetime, lost_seconds: float) -> bool:
        heard_at = getattr(job, self.heard)
        return job.state != "queued" or heard_at is None or heard_at < now - timedelta(seconds=lost_seconds)


class JobProgress(Generic[J]):
    """How far a job is, written to its row twice a second at most."""

    def __init__(self, kind: JobKind[J], job: J) -> None:
        self._kind, self._job = kind, job
        self._waiting: dict[str, Any] = {}
        self._last = 0.0

    def __call__(self, **changes: Any) -> None:
        self._waiting |= changes
        if time.monotonic() - self._last >= PROGRESS_SECONDS:
            self.write()

    def write(self) -> None:
        """Writes what was told last. Raises ClaimLost."""
        self._kind.write(self._job, **self._waiting)
        self._waiting = {}
        self._last = time.monotonic()


class SideConnectionProgress(JobProgress[J]):
    """Written over a connection of its own, so that it is seen before the transaction of the job ends."""

    def __init__(self, kind: JobKind[J], job: J) -> None:
        super().__init__(kind, job)
        self._side = connections.create_connection(DEFAULT_DB_ALIAS)

    def write(self) -> None:
        known = {field.name: field.column for field in self._job._meta.concrete_fields}
        columns = "".join(f"{known[name]} = %s, " for name in self._waiting)
        with self._side.cursor() as cursor:
            cursor.execute(
                f"UPDATE {self._job._meta.db_table} SET {columns}{self._kind.heard} = now() "  # noqa: S608
                "WHERE id = %s AND n_claims = %s AND state = 'running'",
                [*self._waiting.values(), self._job.pk, self._job.n_claims],
            )
        self._waiting = {}
        self._last = time.monotonic()


@contextmanager
def progress_beside(kind: JobKind[J], job: J) -> Iterator[SideConnectionProgress[J]]:
    """Says how far a job is whose work is one transaction."""
    told = SideConnectionProgress(kind, job)
    with closing(told._side):
        yield told


def sweep() -> None:
    """Sends every job again whose worker or message was lost; one kind that can't be looked at hinders no other."""
    errors = []
    for kind in KINDS:
        try:
            for pk in kind.sweep():
                kind.send(pk)
        except Exception as error:
            log.exception("%s could not be swept", kind.task)
            errors.append(error)
    if errors:
        raise errors[0]
