"""Celery application with the tasks of all apps; options in the settings, schedule sent by `config.clock`."""

import gc
import inspect
import logging
import os
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import structlog
from celery import Celery, Task
from celery.beat import Scheduler
from celery.exceptions import SoftTimeLimitExceeded, TimeLimitExceeded
from celery.signals import (
    beat_init,
    before_task_publish,
    celeryd_init,
    heartbeat_sent,
    setup_logging,
    task_postrun,
    task_prerun,
    worker_before_create_process,
    worker_ready,
)
from django.dispatch import receiver
from django_structlog.celery.signals import bind_extra_task_metadata, modify_context_before_task_publish
from django_structlog.celery.steps import DjangoStructLogInitStep
from kombu.exceptions import OperationalError
from redis.exceptions import RedisError

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
logger = logging.getLogger(__name__)
NOTE_SECONDS = 20


class TimeLimitedTask(Task):
    """A task with a time limit. Where it works on a row, `over_limit` writes there that it was stopped.

    The soft limit raises in the task; where that is swallowed, or never seen, the hard limit kills the process.
    """

    over_limit: Callable[[int], None] | None = None

    def on_failure(self, exc: Exception, task_id: str, args: Any, kwargs: Any, einfo: Any) -> None:
        if self.over_limit is None or not args or not isinstance(exc, (SoftTimeLimitExceeded, TimeLimitExceeded)):
            return
        thread = threading.Thread(target=_note_over_limit, args=(self.over_limit, args[0]), daemon=True)
        thread.start()
        if isinstance(exc, SoftTimeLimitExceeded):  # else this is the process that keeps the pool, and has no time
            thread.join(NOTE_SECONDS)


def _note_over_limit(note: Callable[[int], None], pk: int) -> None:
    from django.db import connections

    try:
        note(pk)
    except Exception:
        logger.exception("could not note that a job was over its time limit")
    finally:
        connections.close_all()


class Clock(Scheduler):
    """A beat that keeps its schedule in memory, so that a full disk does not end it.

    The time of its schedule file shows that it runs, where there is room for such a file.
    """

    def __init__(self, *args: Any, schedule_filename: str = "", **options: Any) -> None:
        self._sign = Path(schedule_filename) if schedule_filename else None
        super().__init__(*args, **options)

    def sync(self) -> None:
        if self._sign:
            with suppress(OSError):
                self._sign.touch()


class Concord(Celery):
    """Celery whose messages may get lost: work is a row, and the clock finds the rows that nobody was told of."""

    task_cls = TimeLimitedTask

    def send_task(self, name: str, *args: Any, **options: Any) -> Any:
        """As Celery does; None where Redis does not answer."""
        from config.patient_cache import absence

        if absence.is_on():
            logger.warning("%s is not sent while Redis is away; the clock will find the work", name)
            return None
        try:
            return super().send_task(name, *args, **options)
        except (OperationalError, RedisError, OSError) as error:
            absence.begin(error)
            logger.warning("%s was not sent, Redis does not answer; the clock will find the work", name)
            return None


app = Concord("concord")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.steps["worker"].add(DjangoStructLogInitStep)


@setup_logging.connect
def _log_as_all_do(**_: Any) -> None:
    """Keeps Celery from setting up logging of its own; Django has done it."""


@receiver(bind_extra_task_metadata)
def _say_what_is_at_work(task: Any = None, **_: Any) -> None:
    """Has each line of a job name its task and the rows it works on (`run_id`, `export_id`, …).

    Nothing else that a task is given goes into the log: e-mails have addresses, and links that open doors.
    """
    names = list(inspect.signature(task.run).parameters)
    given = dict(zip(names, task.request.args or (), strict=False)) | (task.request.kwargs or {})
    rows = {name: value for name, value in given.items() if isinstance(value, int)}
    structlog.contextvars.bind_contextvars(task=task.name, **rows)


@receiver(modify_context_before_task_publish)
def _hand_on_the_request(context: dict[str, Any] | None = None, **_: Any) -> None:
    """Of what is bound, a task takes along the number of the request that sent it, and nothing else."""
    kept = {name: value for name, value in (context or {}).items() if name == "request_id"}
    if context is not None:
        context.clear()
        context.update(kept)


@celeryd_init.connect
def _jobs_have_limits(**_: Any) -> None:
    """What a worker asks of the database may take long, and not for ever."""
    from config import database

    database.limit(database.JOBS)


@worker_before_create_process.connect
def _share_what_is_loaded(**_: Any) -> None:
    """The garbage collector of a forked process would write to all that it shares with the others."""
    gc.freeze()


@worker_ready.connect
@heartbeat_sent.connect
def _worker_lives(sender: Any = None, **_: Any) -> None:
    from config import heartbeats

    heartbeats.beat(heartbeats.WORKER)


@beat_init.connect
def _clock_begins(**_: Any) -> None:
    """From now on this process is the clock, which is heard of whenever it sends something."""
    from config import heartbeats

    def ticks(**_: Any) -> None:
        heartbeats.beat(heartbeats.CLOCK)

    heartbeats.beat(heartbeats.CLOCK)
    before_task_publish.connect(ticks, weak=False)


@task_prerun.connect
def _task_begins(task: Any = None, **_: Any) -> None:
    task.request.concord_began = time.monotonic()


@task_postrun.connect
def _task_is_over(task: Any = None, state: str | None = None, **_: Any) -> None:
    from config import heartbeats

    began = getattr(task.request, "concord_began", None)
    heartbeats.count_task(task.name, state or "unknown", time.monotonic() - began if began else 0.0)
