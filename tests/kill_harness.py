"""Workers that die: real processes, killed (-9) at a chosen place, quickly made because they are forked.

`Forks` starts one process that has Django loaded and opens no connection; each piece of work is done by a fork of it.
Where the fork dies is told beforehand: after the n-th statement inside a transaction, right after the n-th commit, at
the n-th call of a function anywhere, or of one that reads an answer or a file, or at a moment, from outside.
"""

import json
import os
import select
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

BASE_DIR = Path(__file__).resolve().parents[1]
STATEMENT, COMMIT, READING, CALL, MOMENT = PLACES = ("statement", "commit", "reading", "call", "moment")
READERS = (
    "/http/client.py",
    "/ingest/files/json_rows.py",
    "/ingest/tables/",
    "/ingest/webhooks/messages.py",
    "/ingest/github/client.py",
)
ANSWER_SECONDS = 300
BATCH_ITEMS = 5
BATCH_ROWS = 200  # so that a small file has many batches


@dataclass(frozen=True)
class KillPoint:
    """Where a worker is to die: at the n-th of its place, or after n seconds (`moment`)."""

    place: str
    n: float


@dataclass(frozen=True)
class Report:
    """How a worker ended: whether it was killed, and in a transaction; how many of each place it passed, if asked."""

    killed: bool
    in_transaction: bool
    passed: dict[str, float]


class Forks:
    """Makes workers on the database and the GitHub that `environment` names, for as long as the block lasts."""

    def __init__(self, environment: dict[str, str]) -> None:
        command = [sys.executable, "-m", "tests.kill_harness"]
        pipe = subprocess.PIPE
        self._process = subprocess.Popen(command, cwd=BASE_DIR, env=environment, stdin=pipe, stdout=pipe, text=True)

    def __enter__(self) -> "Forks":
        return self

    def __exit__(self, *error: object) -> None:
        self._process.kill()
        self._process.communicate()

    def work(
        self, task: str, *arguments: Any, kill_point: KillPoint | None = None, count: bool = False, **settings: Any
    ) -> Report:
        """Lets a worker do a task with these settings, until it is done or dies; `count` what it passes."""
        order = {"task": task, "arguments": arguments, "settings": settings, "count": count}
        order["kill_point"] = [kill_point.place, kill_point.n] if kill_point else None
        assert self._process.stdin and self._process.stdout
        print(json.dumps(order), file=self._process.stdin, flush=True)
        said = json.loads(self._process.stdout.readline())
        ends = {0} if kill_point is None else {0, -signal.SIGKILL}
        assert said["code"] in ends, f"the worker ended with {said['code']}"
        return Report(said["code"] != 0, said.get("in_transaction", False), said.get("passed", {}))


# The process that forks


def _serve() -> None:
    import django

    django.setup()
    from annotation.assignments import jobs as rule_jobs  # so that each fork has them already
    from annotation.choosing.actions import batches as draw_batches
    from annotation.exports import jobs as export_jobs
    from annotation.imports.actions import workbooks
    from annotation.plans import jobs as plan_jobs
    from annotation.rounds import jobs as bulk_jobs
    from annotation.transfer.actions import study_import
    from ingest import run_steps
    from ingest.files import json_rows
    from ingest.search import indexing
    from ingest.tables import issues

    json_rows.BATCH_ROWS = issues.BATCH_ROWS = BATCH_ROWS
    plan_jobs.BATCH = rule_jobs.BATCH = draw_batches.BATCH = draw_batches.BATCH_OF_OPEN = BATCH_ITEMS
    tasks = {
        "work": run_steps.work,
        "index": indexing.index,
        "plan": _swept(plan_jobs.PLANS),
        "rules": rule_jobs.rule_round,
        "answers": rule_jobs.rule_answers,
        "rules in turns": _in_turns(rule_jobs.RULES),
        "answers in turns": _in_turns(rule_jobs.ANSWERS),
        "workbook": _swept(workbooks.WORKBOOKS),
        "export": export_jobs.work,
        "arrival": _swept(study_import.ARRIVALS),
        "bulk": _swept(bulk_jobs.BULK_JOBS),
    }
    for line in sys.stdin:
        order = json.loads(line)
        ours, theirs = os.pipe()
        pid = os.fork()
        if pid == 0:
            os.close(ours)
            _be_a_worker(order, tasks[order["task"]], theirs)
        os.close(theirs)
        kill_point = order["kill_point"]
        if kill_point and kill_point[0] == MOMENT and not select.select([ours], [], [], kill_point[1])[0]:
            os.kill(pid, signal.SIGKILL)
        if not select.select([ours], [], [], ANSWER_SECONDS)[0]:
            os.kill(pid, signal.SIGKILL)
        with open(ours) as report:
            said = json.loads(report.readline() or "{}")  # two threads may have come to the place at once
        status = os.waitpid(pid, 0)[1]
        print(json.dumps(said | {"code": os.waitstatus_to_exitcode(status)}), flush=True)


def _in_turns(kind: Any) -> Any:
    """The work of a kind of job that hands over as soon as it can."""

    def work(pk: int) -> None:
        while kind.work(pk, turn_seconds=0):
            pass

    return work


def _swept(kind: Any) -> Any:
    """The work of a kind of job, before which the clock queues what a killed worker left."""
    from shared.job_holds import are_held, place

    def work(pk: int) -> None:
        ends_at = time.monotonic() + ANSWER_SECONDS / 2
        while place(pk) in are_held(kind.lock) and time.monotonic() < ends_at:
            time.sleep(0.01)
        kind.sweep(0)
        kind.work(pk)

    return work


def _be_a_worker(order: dict[str, Any], task: Any, report: int) -> None:
    from django.conf import settings

    try:
        for name, value in order["settings"].items():
            setattr(settings, name, value)
        place, n = order["kill_point"] or ("", 0)
        with _watched(place, n, report, count=order["count"]) as passed:
            began = time.monotonic()
            task(*order["arguments"])
            passed[MOMENT] = time.monotonic() - began
        os.write(report, json.dumps({"passed": passed}).encode())
        os._exit(0)
    finally:
        sys.excepthook(*sys.exc_info())  # type: ignore[arg-type]  # only what was raised comes here
        os._exit(1)


@contextmanager
def _watched(place: str, n: float, report: int, *, count: bool) -> Iterator[dict[str, float]]:
    """Counts what is passed, and kills at the n-th of the place."""
    from django.db import connections

    connection = connections["default"]
    passed: dict[str, float] = dict.fromkeys((STATEMENT, COMMIT, READING, CALL), 0)

    def note(kind: str) -> None:
        passed[kind] += 1
        if kind == place and passed[kind] >= n:
            os.write(report, f"{json.dumps({'in_transaction': connection.in_atomic_block})}\n".encode())
            os.kill(os.getpid(), signal.SIGKILL)

    def statement(execute: Any, sql: Any, params: Any, many: Any, context: Any) -> Any:
        done = execute(sql, params, many, context)
        if connection.in_atomic_block:
            note(STATEMENT)
        return done

    commit = connection._commit

    def committed() -> None:
        commit()
        note(COMMIT)

    connection._commit = committed
    reads: dict[str, bool] = {}

    def call(frame: Any, event: str, argument: Any) -> None:
        note(CALL)
        file = frame.f_code.co_filename
        if file not in reads:
            reads[file] = any(reader in file for reader in READERS)
        if reads[file]:
            note(READING)

    if count or place in {READING, CALL}:
        threading.setprofile(call)
        sys.setprofile(call)
    try:
        with connection.execute_wrapper(statement):
            yield passed
    finally:
        sys.setprofile(None)
        with suppress(Exception):
            threading.setprofile(None)  # type: ignore[arg-type]


if __name__ == "__main__":
    _serve()
