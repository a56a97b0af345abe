"""Jobs whose worker is killed (-9), whole or one process of its pool: each kind is worked on again within 15 seconds.

The jobs are those of `jobs_of_before/`, one of each kind. A trigger holds each of them in its last statement, so that
all are at work together, and in a statement that only ends when the database notices that nobody waits for it.
"""

import os
import subprocess
import sys
import time
from collections.abc import Collection
from pathlib import Path

import psutil
import pytest

from shared.job_holds import JobLockKind
from tests.config.test_jobs_of_before import FOLDER, STATES
from tests.site import BASE_DIR, Site, wait_until

MOST_SECONDS = 15
TABLES = {
    "fetch": "ingest_fetchrun",
    "export": "annotation_export",
    "plan": "annotation_plan",
    "workbook": "annotation_workbook",
    "arrival": "annotation_arrival",
    "deletion": "annotation_deletion",
    "bulk": "annotation_bulkjob",
}
AT_WORK = " UNION ALL ".join(
    [
        *(
            f"SELECT {'kind' if name == 'bulk' else repr(name)}::text, id, n_claims::bigint FROM {table} "
            "WHERE state = 'running'"
            for name, table in TABLES.items()
        ),
        "SELECT 'rules', objid::bigint, max(pid)::bigint FROM pg_locks "
        f"WHERE locktype = 'advisory' AND granted AND objsubid = 2 AND classid = {int(JobLockKind.RULES)} "
        "GROUP BY objid",
    ]
)
"""Which jobs are at work, and for the how-manieth time; of rules, which process of the database holds them."""
STOP = """
from django.db import connection
cursor = connection.cursor()
cursor.execute('''
CREATE TABLE stop_of_a_test AS SELECT true AS is_on;
CREATE FUNCTION wait_for_a_test() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    WHILE (SELECT is_on FROM stop_of_a_test) LOOP PERFORM pg_sleep(0.05); END LOOP;
    RETURN NEW;
END $$;
CREATE TRIGGER wait_for_a_test BEFORE INSERT ON annotation_resolution
    FOR EACH ROW EXECUTE FUNCTION wait_for_a_test();
UPDATE annotation_round SET ruled_at = now() WHERE state = 'resolving' AND ruled_at IS NULL
    AND id <> (SELECT max(id) FROM annotation_round WHERE state = 'resolving' AND ruled_at IS NULL);
UPDATE annotation_round SET resolving_at = now() WHERE state = 'resolving' AND ruled_at IS NULL;
''')
for table, kind in %r:
    cursor.execute(f'''
CREATE TRIGGER wait_for_a_test BEFORE UPDATE ON {table} FOR EACH ROW
    WHEN (NEW.state = 'done' AND OLD.state <> 'done') EXECUTE FUNCTION wait_for_a_test();
UPDATE {table} SET state = 'failed', error = 'Another one is enough.' WHERE state IN ('queued', 'running')
    AND id NOT IN (SELECT max(id) FROM {table} WHERE state IN ('queued', 'running') GROUP BY {kind});
''')
"""
KINDS = {"fetch", "export", "plan", "workbook", "arrival", "deletion", "sample", "round", "opening", "rules"}
pytestmark = [pytest.mark.process, pytest.mark.slow, pytest.mark.timeout(600)]


def run(data_dir: Path, *arguments: str) -> None:
    kept = {name: value for name, value in os.environ.items() if name not in {"DATABASE_URL", "REDIS_URL"}}
    command = [sys.executable, "manage.py", *arguments]
    subprocess.run(command, cwd=BASE_DIR, env=kept | {"DATA_DIR": str(data_dir)}, check=True)


def at_work(site: Site) -> dict[tuple[str, int], int]:
    return {(kind, pk): claim for kind, pk, claim in site.query(AT_WORK)}


def kill(processes: Collection[psutil.Process]) -> float:
    for process in processes:
        process.kill()
    return time.monotonic()


def seconds_until_resumed(site: Site, before: dict[tuple[str, int], int], began: float) -> dict[str, float]:
    found: dict[str, float] = {}

    def look() -> bool:
        for job, claim in at_work(site).items():
            if job in before and claim != before[job]:
                found.setdefault(job[0], round(time.monotonic() - began, 1))
        return found.keys() == {kind for kind, _ in before}

    wait_until(look, f"all are worked on again, not only {found}")
    return found


def seconds_until_one_is_resumed(site: Site, before: dict[tuple[str, int], int]) -> dict[str, float]:
    """Kills processes of the pool one by one until it was one with a job; whose, and after how long it was taken up."""
    for process in site.workers()[1:]:
        began = kill([process])
        while time.monotonic() < began + MOST_SECONDS:
            if changed := {job for job, claim in at_work(site).items() if before.get(job) != claim}:
                return {job: round(time.monotonic() - began, 1) for job, _ in changed}
            time.sleep(0.1)
    return {}


def test_each_kind_of_job_is_worked_on_again_soon_after_its_worker_was_killed(tmp_path: Path) -> None:
    data_dir = tmp_path / "data"
    run(data_dir, "restore", str(FOLDER / "jobs.backup"))
    run(
        data_dir,
        "shell",
        "-v",
        "0",
        "-c",
        STOP % [(t, "kind" if t.endswith("bulkjob") else "()") for t in TABLES.values()],
    )
    site = Site(
        data_dir, PICK_UP_SECONDS="5", WORKER_PROCESSES=str(len(KINDS) + 2)
    )  # a message of rules may come twice
    try:

        def all_at_work() -> dict[tuple[str, int], int]:
            wait_until(lambda: {kind for kind, _ in at_work(site)} == KINDS, "all are at work")
            return at_work(site)

        before = all_at_work()
        took = seconds_until_resumed(site, before, kill(site.workers()))
        print(f"worker killed, at work again after (s): {took}")
        assert max(took.values()) < MOST_SECONDS, took

        before = all_at_work()
        took = seconds_until_resumed(site, before, kill(site.workers()[1:]))
        print(f"processes of the pool killed, at work again after (s): {took}")
        assert max(took.values()) < MOST_SECONDS, took

        before = all_at_work()
        took = seconds_until_one_is_resumed(site, before)
        print(f"one process of the pool killed, at work again after (s): {took}")
        assert len(took) == 1 and max(took.values()) < MOST_SECONDS, took

        site.query("UPDATE stop_of_a_test SET is_on = false")
        wait_until(lambda: {state for _, state in site.query(STATES)} <= {"done", "failed"}, "all are over")
        assert {kind for kind, state in site.query(STATES) if state == "done"} == KINDS
    finally:
        site.stop()
