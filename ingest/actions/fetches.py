"""Fetches: start, continue, and cancel."""

import csv
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, date, datetime
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from django.conf import settings
from django.db import transaction
from django.utils import timezone

from accounts.actions import hold_account
from accounts.audit import record
from accounts.permissions import is_shell_command, may_use_tokens
from ingest import run_steps, runs
from ingest.errors import Conflict, Invalid
from ingest.github.client import Client
from ingest.github.estimates import Estimate, estimate
from ingest.github.run_state import RunState
from ingest.identifiers import GITHUB_HOST, NUMBER_MAX, full_name, parse_repository
from ingest.models import FetchRun
from ingest.runs import RUNS
from ingest.search import indexing
from shared import disk_space

if TYPE_CHECKING:
    from accounts.models import User


STATES = ("open", "closed", "all")
LAST = "last"
PRESENCE = "presence"
CLOSING_CHANGES = "closing_changes"
NUMBERS_MAX = 100_000
LABEL_CHARACTERS_MAX = 100
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

    `since`: only what changed from then on; "last" goes on from the last fetch that was complete, and fetches all
    where there was none. `send=False` leaves the work to `run_now`.
    """
    return queue_run(_run_of_issues(user, repository, state, labels, since), user=user, send=send)


def labels_in(text: str) -> list[str]:
    """Names of labels in one line of CSV: apart by commas, one that contains a comma in double quotes."""
    return next(csv.reader([" ".join(text.splitlines())], skipinitialspace=True), [])


def start_check(*, user: "User | None", repository: str, numbers: Sequence[int], send: bool = True) -> FetchRun:
    """Queues the question whether these stored issues are still at GitHub; raises Invalid with the field.

    Each is marked as here, deleted, transferred or converted to a discussion; what changed comes along.
    """
    return queue_run(_run_of_numbers(user, repository, PRESENCE, numbers), user=user, send=send)


def start_closing_fetch(*, user: "User | None", repository: str, numbers: Sequence[int], send: bool = True) -> FetchRun:
    """Queues the fetch of the pull requests and commits that closed these stored issues; raises Invalid."""
    return queue_run(_run_of_numbers(user, repository, CLOSING_CHANGES, numbers), user=user, send=send)


def start_asked(*, user: "User | None", send: bool = True, **asked: Any) -> FetchRun:
    """Queues what is asked for in a word: issues (as `start_fetch` takes them), presence or closing_changes."""
    return queue_run(_asked_run(user, **asked), user=user, send=send)


def estimate_asked(*, user: "User | None", **asked: Any) -> Estimate:
    """What the fetch that `start_asked` would queue takes of GitHub's limit: asks GitHub, and stores nothing.

    Raises Invalid, FetchFailed and FetchMustWait.
    """
    run = _asked_run(user, **asked)
    run.created_by = user
    tokens = settings.GITHUB_TOKENS
    return estimate(RunState(run, Client(settings.GITHUB_API_URL, tokens)), n_tokens=len(tokens))


def continue_run(*, run: FetchRun, user: "User | None" = None, send: bool = True) -> FetchRun:
    """Queues a run again that failed, was cancelled, waits, or lost its worker: it goes on from its cursor.

    Raises Conflict for one that is done or that a worker has, and where the file is gone.
    """
    with transaction.atomic():
        run = FetchRun.objects.select_for_update(of=("self",)).get(pk=run.pk)
        has_begun = run.state != FetchRun.State.QUEUED or run.n_claims
        if run.state == FetchRun.State.DONE or RUNS.has_worker(run) or not has_begun:
            raise Conflict(f"This fetch is {run.state}. Only one that failed, waits or was cancelled can be continued.")
        if run.kind == FetchRun.Kind.FILE and not run.upload:
            raise Conflict("The file of this fetch was removed. Upload it again. Nothing is stored twice.")
        run.n_failures = 0
        run.finished_at = None
        run.waiting_until = None
        run.error = ""
        run.state = FetchRun.State.QUEUED
        run.heartbeat_at = timezone.now()
        if user is not None and not may_use_tokens(user):
            run.is_unrestricted = False
        changed = ["n_failures", "finished_at", "waiting_until", "error", "state", "heartbeat_at", "is_unrestricted"]
        run.save(update_fields=changed)
        record(verb="fetch continued", user=user, fetch=run.pk, target=run.target or run.title)
        if send:
            RUNS.send_later(run.pk)
    return run


def cancel_run(*, run: FetchRun, user: "User | None" = None) -> FetchRun:
    """Stops a run that is not over; what it stored stays, and it can be continued. Raises Conflict."""
    with transaction.atomic():
        run = FetchRun.objects.select_for_update(of=("self",)).get(pk=run.pk)
        if run.is_over:
            raise Conflict(f"This fetch has already ended: {run.state}.")
        RUNS.end(run, FetchRun.State.CANCELLED, waiting_until=None)
        record(verb="fetch cancelled", user=user, fetch=run.pk, target=run.target or run.title)
    return run


def run_now(*, run: FetchRun, on_wait: Callable[[FetchRun], None] | None = None) -> FetchRun:
    """Works on a run in the foreground until it is over and searchable, waiting as long as it has to; for commands.

    Where a worker has it meanwhile, waits for the worker. `on_wait` is called whenever the run begins to wait. A limit
    is waited for as long as it lasts; after ATTEMPTS_IN_FOREGROUND failed attempts the run fails, and can be continued.
    Raises NoRoom.
    """
    told = None
    while True:
        with indexing.alongside():
            run_steps.work(run.pk)
        run = FetchRun.objects.select_related("repository", "created_by").get(pk=run.pk)
        if run.is_over:
            return run
        if run.state == FetchRun.State.WAITING:
            disk_space.require_room(runs.GOES_ON)
        if run.state == FetchRun.State.WAITING and run.n_failures >= ATTEMPTS_IN_FOREGROUND:
            runs.give_up(run)
            continue
        if on_wait and (run.state, run.waiting_until) != told:
            told = (run.state, run.waiting_until)
            on_wait(run)
        time.sleep(0.5)


def queue_run(run: FetchRun, *, user: "User | None", send: bool = True) -> FetchRun:
    """Stores a new run and, with `send`, tells a worker."""
    run.created_by = user
    run.heartbeat_at = timezone.now()
    with transaction.atomic():
        if user is not None:
            hold_account(user)
        run.save()
        if send:
            RUNS.send_later(run.pk)
    return run


def _name(repository: str) -> tuple[str, str, str]:
    host, owner, name = parse_repository(repository)
    api_host = (urlsplit(settings.GITHUB_API_URL).hostname or "").removeprefix("api.")
    if host not in {GITHUB_HOST, api_host}:
        sentence = f"This server fetches from {api_host}, not from {host}."
        raise Invalid(sentence, fields={"repository": [sentence]})
    return host, owner, name


def _numbers(numbers: Sequence[int]) -> list[int]:
    wanted = sorted(set(numbers))
    if not wanted or wanted[0] < 1 or wanted[-1] > NUMBER_MAX or len(wanted) > NUMBERS_MAX:
        sentence = f"Name issues by their numbers, from 1, at most {NUMBERS_MAX:,} of them."
        raise Invalid(sentence, fields={"numbers": [sentence]})
    return wanted


def _asked_run(
    user: "User | None", *, repository: str, what: str = "issues", numbers: Sequence[int] = (), **asked: Any
) -> FetchRun:
    if what in {PRESENCE, CLOSING_CHANGES}:
        return _run_of_numbers(user, repository, what, numbers)
    if numbers:
        sentence = f"Choose what to check for these issues: {PRESENCE} or {CLOSING_CHANGES}."
        raise Invalid("Issues can't be fetched by their numbers.", fields={"what": [sentence]})
    return _run_of_issues(user, repository, **asked)


def _run_of_issues(
    user: "User | None",
    repository: str,
    state: str = "all",
    labels: Sequence[str] = (),
    since: datetime | date | str | None = None,
) -> FetchRun:
    name = _name(repository)
    if state not in STATES:
        raise Invalid("State not valid.", fields={"state": ["Choose open, closed or all."]})
    names = [label.strip() for label in labels if label.strip()]
    if faulty := [label for label in names if "\x00" in label or len(label) > LABEL_CHARACTERS_MAX]:
        sentence = f"“{faulty[0][:100]}” can't be the name of a label."
        raise Invalid(sentence, fields={"labels": [sentence]})
    return _run(user, name, {"state": state, "labels": names, "since": LAST if since == LAST else _since(since)})


def _run_of_numbers(user: "User | None", repository: str, what: str, numbers: Sequence[int]) -> FetchRun:
    return _run(user, _name(repository), {"what": what, "numbers": _numbers(numbers)})


def _run(user: "User | None", name: tuple[str, str, str], asked: Mapping[str, object]) -> FetchRun:
    """A run that is not stored yet.

    One of people who may not use the tokens has no target before GitHub calls its repository public: that it waits for
    another run would tell that someone fetches a private one.
    """
    is_unrestricted = user is None or is_shell_command()
    return FetchRun(
        kind=FetchRun.Kind.GITHUB,
        target="/".join(name).lower() if is_unrestricted or may_use_tokens(user) else "",
        requested={"repository": full_name(*name), "name": list(name), **asked},
        is_unrestricted=is_unrestricted,
    )


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
        sentence = "Enter a date, or a date and time, as 2024-05-31 or 2024-05-31T12:00:00Z."
        raise Invalid("Time not valid.", fields={"since": [sentence]}) from None
