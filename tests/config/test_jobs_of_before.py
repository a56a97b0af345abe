"""Jobs that an earlier version queued, or left in the middle, are finished by this one.

`jobs_of_before/` is a backup of version 0.2.0 at f07baa9 with two jobs of each kind, one queued and one whose worker
was killed, and the messages that were in its queue.
"""

import json
import lzma
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
import redis

from config import embedded
from tests.site import BASE_DIR, Site, wait_until

FOLDER = Path(__file__).parent / "jobs_of_before"
STATES = """
    SELECT 'fetch', state FROM ingest_fetchrun UNION ALL SELECT 'export', state FROM annotation_export
    UNION ALL SELECT 'plan', state FROM annotation_plan UNION ALL SELECT kind, state FROM annotation_bulkjob
    UNION ALL SELECT 'workbook', state FROM annotation_workbook
    UNION ALL SELECT 'arrival', state FROM annotation_arrival
    UNION ALL SELECT 'deletion', CASE WHEN study_id IS NULL THEN 'done' ELSE state END FROM annotation_deletion
    UNION ALL SELECT 'rules', CASE WHEN ruled_at IS NULL THEN 'queued' ELSE 'done' END FROM annotation_round r
    JOIN annotation_study s ON s.id = r.study_id WHERE s.slug LIKE '%%ruled'"""
N_JOBS = {"fetch": 2, "plan": 2, "export": 2, "workbook": 2, "arrival": 2, "deletion": 2, "rules": 2}
N_JOBS |= {"sample": 6, "round": 4, "opening": 2}
pytestmark = [pytest.mark.process, pytest.mark.slow, pytest.mark.timeout(600)]


@pytest.mark.parametrize("is_sent", [True, False], ids=["with its messages", "whose messages were lost"])
def test_what_an_earlier_version_began_is_finished(tmp_path: Path, is_sent: bool) -> None:
    data_dir = tmp_path / "data"
    command = [sys.executable, "manage.py", "restore", str(FOLDER / "jobs.backup")]
    left_out = {"DATABASE_URL", "REDIS_URL"}
    environment = {name: value for name, value in os.environ.items() if name not in left_out}
    subprocess.run(command, cwd=BASE_DIR, env=environment | {"DATA_DIR": str(data_dir)}, check=True)
    site = Site(data_dir)
    try:
        if is_sent:
            queue = redis.Redis.from_url(embedded.redis_url(data_dir).replace("redis+socket://", "unix://"))
            for message in json.loads(lzma.decompress((FOLDER / "messages.json.xz").read_bytes())):
                queue.lpush("celery", json.dumps(message))

        def states() -> Counter[tuple[str, str]]:
            return Counter(map(tuple, site.query(STATES)))

        wait_until(lambda: {state for _, state in states()} == {"done"}, f"all are done, not {states()}")
        assert {kind: n for (kind, _), n in states().items()} == N_JOBS
        of_files = "FROM ingest_issue i JOIN ingest_repository r ON r.id = i.repository_id WHERE r.owner = 'o'"
        assert site.query(f"SELECT count(*) {of_files}") == [(80,)]
    finally:
        site.stop()
