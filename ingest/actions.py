"""Starts, continues and cancels fetches."""

import logging
import time
from collections.abc import Callable, Sequence
from datetime import UTC, date, datetime
from pathlib import PurePath
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from django.conf import settings
from django.core.files.base import File
from django.db import transaction
from django.utils import timezone
from kombu.exceptions import OperationalError

from ingest import runs, sync
from ingest.errors import Conflict, Invalid, TooLarge
from ingest.identifiers import GITHUB_HOST, full_name, parse_repository
from ingest.models import FetchRun
from ingest.tasks import fetch_run

if TYPE_CHECKING:
    from accounts.models import User

logger = logging.getLogger(__name__)

STATES = ("open", "closed", "all")
ATTEMPTS_IN_FOREGROUND = 3


def start_fetch(
    *,
    user: "User | None",
    repository: str,
    state: str = "all",
    labels: Sequence[str] = (),
    since: datetime | date | str | None = None,
    send: bool = True,
) -> FetchRun:
    """Queues the fetch of a repository from GitHub; raises Invalid with the field.

    `since`: only what changed from then on. `send=False` leaves the work to `run_now`.
    """
    host, owner, name = parse_repository(repository)
    api_host = (urlsplit(settings.GITHUB_API_URL).hostname or "").removeprefix("api.")
    if host not in {GITHUB_HOST, api_host}:
        sentence = f"This server fetches from {api_host}, not from {host}."
        raise Invalid(sentence, fields={"repository": [sentence]})
    if state not in STATES:
        raise Invalid("The state can't be used.", fields={"state": ["Choose open, closed or all."]})
    names = [label.strip() for label in labels if label.strip()]
    if faulty := [label for label in names if "," in label or "\x00" in label or len(label) > 100]:
        sentence = f"“{faulty[0][:100]}” can't be the name of a label."
        raise Invalid(sentence, fields={"labels": [sentence]})
    requested = {
        "repository": full_name(host, owner, name),
        "name": [host, owner, name],
        "state": state,
        "labels": names,
        "since": _since(since),
    }
    run = FetchRun(kind=FetchRun.Kind.GITHUB, target=f"{host}/{owner}/{name}".lower(), requested=requested)
    return _queue(run, user, send)


def start_file_fetch(
    *,
    user: "User | None",
    file: File,
    repository: str | None = None,
    private: bool = False,
    bytes_max: int | None = None,
    send: bool = True,
) -> FetchRun:
    """Keeps a file of issues and queues its import; raises Invalid with the field.

    `repository` is for rows that don't say where they are from; `private`: repositories that are new here are seen
    only by this user, staff and studies that use them. `bytes_max` defaults to the setting UPLOAD_BYTES_MAX.
    """
    name = list(parse_repository(repository)) if repository and repository.strip() else None
    most = settings.UPLOAD_BYTES_MAX if bytes_max is None else bytes_max
    if file.size > most:
        sentence = f"The file has {file.size:,} bytes; at most {most:,} are taken."
        raise TooLarge(sentence, fields={"file": [sentence]})
    if not file.size:
        raise Invalid("The file is empty.", fields={"file": ["The file is empty."]})
    title = PurePath(file.name or "file").name[:200]
    requested = {
        "repository": full_name(*name) if name else None,
        "name": name,
        "file": title.replace("\x00", ""),
        "bytes": file.size,
        "private": private,
    }
    run = FetchRun(kind=FetchRun.Kind.FILE, requested=requested)
    run.upload.save("issues.json", file, save=False)
    return _queue(run, user, send)


def continue_run(*, run: FetchRun, send: bool = True) -> FetchRun:
    """Queues a failed, cancelled or waiting run again: it goes on from its cursor. Raises Conflict for others."""
    with transaction.atomic():
        run = FetchRun.objects.select_for_update(of=("self",)).get(pk=run.pk)
        if run.state not in {FetchRun.State.FAILED, FetchRun.State.CANCELLED, FetchRun.State.WAITING}:
            raise Conflict(f"This fetch is {run.state}; only one that failed, waits or was cancelled can be continued.")
        run.n_failures = 0
        run.finished_at = None
        run.waiting_until = None
        run.error = ""
        run.state = FetchRun.State.QUEUED
        run.heartbeat_at = timezone.now()
        run.save(update_fields=["n_failures", "finished_at", "waiting_until", "error", "state", "heartbeat_at"])
        if send:
            _send_after_commit(run)
    return run


def cancel_run(*, run: FetchRun) -> FetchRun:
    """Stops a run that is not over; what it stored stays, and it can be continued. Raises Conflict."""
    with transaction.atomic():
        run = FetchRun.objects.select_for_update(of=("self",)).get(pk=run.pk)
        if run.is_over:
            raise Conflict(f"This fetch is over already: {run.state}.")
        run.state = FetchRun.State.CANCELLED
        run.waiting_until = None
        run.finished_at = timezone.now()
        run.save(update_fields=["state", "waiting_until", "finished_at"])
    return run


def run_now(*, run: FetchRun, on_wait: Callable[[FetchRun], None] | None = None) -> FetchRun:
    """Works on a run in the foreground until it is over, waiting as long as it has to; for commands.

    Where a worker has it meanwhile, waits for the worker. `on_wait` is called whenever the run begins to wait. A limit
    is waited for as long as it lasts; after ATTEMPTS_IN_FOREGROUND failed attempts the run fails, and can be continued.
    """
    told = None
    while True:
        sync.work(run.pk)
        run = FetchRun.objects.select_related("repository", "created_by").get(pk=run.pk)
        if run.is_over:
            return run
        if run.state == FetchRun.State.WAITING and run.n_failures >= ATTEMPTS_IN_FOREGROUND:
            runs.give_up(run)
            continue
        if on_wait and (run.state, run.waiting_until) != told:
            told = (run.state, run.waiting_until)
            on_wait(run)
        time.sleep(0.5)


def _queue(run: FetchRun, user: "User | None", send: bool) -> FetchRun:
    run.created_by = user
    run.heartbeat_at = timezone.now()
    with transaction.atomic():
        run.save()
        if send:
            _send_after_commit(run)
    return run


def _send_after_commit(run: FetchRun) -> None:
    """Tells a worker; if the broker is away the clock finds the queued run later."""

    def send() -> None:
        try:
            fetch_run.delay(run.pk)
        except OperationalError:
            logger.warning("the broker does not answer; run %s stays queued", run.pk)

    transaction.on_commit(send)


def _since(value: datetime | date | str | None) -> str | None:
    """UTC as GitHub writes it; raises Invalid."""
    if value is None or value == "":
        return None
    try:
        if isinstance(value, str):
            value = datetime.fromisoformat(value.strip())
        if not isinstance(value, datetime):
            value = datetime(value.year, value.month, value.day)
        value = value if value.tzinfo else value.replace(tzinfo=UTC)
        return value.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    except (ValueError, OverflowError):
        sentence = "Write a date, or a date and time, as 2024-05-31 or 2024-05-31T12:00:00Z."
        raise Invalid("The time can't be read.", fields={"since": [sentence]}) from None
