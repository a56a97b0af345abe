"""Through a PgBouncer that pools by transaction goes all that Concord does: fetches, imports, plans, files, backups."""

import json
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import psycopg2
import pytest
from django.db import connection, transaction

from tests.config.other_databases import empty_database
from tests.conftest import environment_of_servers
from tests.github import GitHub, World, made_up
from tests.servers import MISSING, NOT_HERE, ROOT, Servers
from tests.site import wait_until

pytestmark = [
    pytest.mark.process,
    pytest.mark.worker,
    pytest.mark.skipif(bool(MISSING), reason=NOT_HERE),
    pytest.mark.timeout(600),
]
PREPARE = """
from accounts.actions import make_token
from tests import builders as make
from tests.annotation.plans.test_plans import SECOND, TABLE
study = make.study()
make.rate(make.open_round(study, 5), TABLE)
make.next_version(study, SECOND)
print(make_token(user=make.user("olga"), name="files", scope="manage")[1])
"""
SHEET = """
from django.core.files.base import ContentFile
from annotation.imports.actions import workbooks
from tests import builders as make
sheet = ContentFile(b"item,rater,symptom\\nx,bob,crash\\nx,carol,hang\\n", "made.csv")
book = workbooks.take_workbook(user=make.user("olga"), files=[sheet], seat=make.owner_seat(make.Study.objects.get()))
workbooks.confirm_workbook(workbook=book)
"""
ARRIVE = """
from django.core.files.base import File
from annotation.transfer.actions.study_import import take_study
from annotation.models import Export
from tests import builders as make
with Export.objects.get(what="study").file.open() as file:
    take_study(user=make.user("olga"), file=File(file, "study.zip"), slug="again")
"""
DELETE = """
from annotation.core.access import get_seat
from annotation.transfer.actions.life import delete_study
from tests import builders as make
delete_study(seat=get_seat(make.user("olga"), "study"), typed="study")
"""


@pytest.fixture
def servers(worker_aside: None, github: GitHub) -> Iterator[Servers]:
    environment = environment_of_servers()
    with Servers(environment["DATABASE_URL"], environment["REDIS_URL"], each_web=2, n_workers=2) as found:
        yield found


def test_whatever_is_done_through_a_pool_is_done_and_leaves_nothing_on_its_connections(
    servers: Servers, world: World, tmp_path: Path
) -> None:
    token = servers.run(PREPARE)
    made_up(world, "o/r", 60)

    def asked(path: str, given: Any = None) -> Any:
        status, said = servers.ask(f"api/v1/{path}", token, given)
        assert status < 300, (path, status, said[:2000], servers.logs())
        return json.loads(said)

    def becomes(path: str, *states: str) -> Any:
        return wait_until(lambda: (found := asked(path))["state"] in states and found, f"{path} is {states}")

    def is_done(table: str, n: int = 1) -> None:
        sql = f"SELECT state, error FROM annotation_{table}"
        wait_until(lambda: {state for state, _ in servers.query(sql)} <= {"done", "failed"}, f"{table} is over")
        assert servers.query(sql) == [("done", "")] * n

    for _ in range(2):
        run = asked("fetches/", {"repository": "o/r"})
        assert becomes(f"fetches/{run['id']}/", "done", "failed", "waiting")["error"] == ""
        wait_until(lambda: servers.query("SELECT count(*) FROM ingest_unsearchable") == [(0,)], "all can be searched")
    drawn = asked(
        "studies/study/samples/", {"filter": {"repository": "acme/rocket", "search": "hangs"}, "size": 3, "seed": 1}
    )
    assert drawn["n_frame"] > 3

    servers.run(SHEET)
    is_done("workbook")

    plan = asked("studies/study/plans/", {"to": 2})
    asked(f"studies/study/plans/{plan['id']}/run/", {})
    assert becomes(f"studies/study/plans/{plan['id']}/", "done", "failed")["state"] == "done"

    for what in ({"what": "labels", "format": "csv"}, {"what": "package", "format": "zip"}, {"what": "study"}):
        export = asked("studies/study/exports/", what)
        assert becomes(f"exports/{export['id']}/", "done", "failed")["state"] == "done", what
        assert servers.ask(f"api/v1/exports/{export['id']}/download/", token)[0] == 200
    servers.run(ARRIVE)
    is_done("arrival")
    assert asked("studies/again/rounds/")["results"]
    servers.run(DELETE)
    wait_until(lambda: servers.query("SELECT 1 FROM annotation_deletion WHERE done_at IS NOT NULL"), "it is gone")
    assert servers.ask("api/v1/studies/study/", token)[0] == 404

    left = servers.query("SELECT relname FROM pg_class WHERE relpersistence = 't' AND relkind = 'r'")
    assert (left, servers.query("SELECT mode FROM pg_locks WHERE locktype = 'advisory'")) == ([], [])
    assert not [line for line in servers.whole_logs().splitlines() if "Traceback" in line or " ERROR " in line]


def test_pages_and_jobs_have_limits_of_their_own_and_none_is_carried_over(servers: Servers) -> None:
    servers.run(PREPARE)
    asked = "from django.db import connection; cursor = connection.cursor(); "
    assert "30min" in servers.run(f"{asked}cursor.execute('SHOW statement_timeout'); print(cursor.fetchone())")

    def shown(address: str) -> set[str]:
        """The limits that thirty transactions of six clients at once find."""
        links = [psycopg2.connect(address) for _ in range(6)]
        found = set()
        for _ in range(5):
            for link in links:
                cursor = link.cursor()
                cursor.execute("SELECT current_setting('statement_timeout') || ' ' || current_setting('lock_timeout')")
                found.add(cursor.fetchone()[0])
            for link in links:
                link.rollback()
        for link in links:
            link.close()
        return found

    with ThreadPoolExecutor(2) as both:
        jobs = both.submit(shown, servers.environment["DATABASE_URL"])
        web = both.submit(shown, servers.environment["WEB_DATABASE_URL"])
    assert (jobs.result(), web.result()) == ({"30min 10min"}, {"18s 10s"})
    token = servers.run(
        "from accounts.actions import make_token; from tests import builders as make; "
        "print(make_token(user=make.user('olga'), name='x', scope='manage')[1])"
    )
    with connection.cursor() as cursor, transaction.atomic():
        cursor.execute("LOCK TABLE annotation_study IN ACCESS EXCLUSIVE MODE")
        status, said = servers.ask("api/v1/studies/", token)
    assert status == 503 and b"at the same time" in said
    assert servers.ask("api/v1/studies/", token)[0] == 200


def manage(environment: dict[str, str], *arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "manage.py", *map(str, arguments)]
    return subprocess.run(command, check=False, cwd=ROOT, env=environment, capture_output=True, text=True)


def let_go(name: str) -> None:
    """What stopping PgBouncer does to what it keeps."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s", [name])


def test_a_backup_and_its_restore_go_past_the_pool_and_leave_its_connections_alone(
    servers: Servers, tmp_path: Path
) -> None:
    servers.run(PREPARE)
    path = tmp_path / "one.backup"
    refused = manage(servers.environment, "backup", path)
    assert refused.returncode == 1 and "set DIRECT_DATABASE_URL" in refused.stderr
    direct = {"DIRECT_DATABASE_URL": environment_of_servers()["DATABASE_URL"]}
    done = manage(servers.environment | direct, "backup", path, "--json")
    assert done.returncode == 0, done.stderr
    made = json.loads(done.stdout)
    assert made["tables"]["annotation_study"]["rows"] == 1
    there = tmp_path / "there"
    with empty_database() as name:
        for variable in ("DATABASE_URL", "DIRECT_DATABASE_URL"):
            direct |= {
                variable: (servers.environment | direct)[variable].replace(connection.settings_dict["NAME"], name)
            }
        environment = servers.environment | direct | {"DATA_DIR": str(there)}
        assert manage(environment, "showmigrations").returncode == 0
        refused = manage(environment, "restore", path)
        assert refused.returncode == 1 and "and PgBouncer, which keeps connections" in refused.stderr
        let_go(name)
        done = manage(environment, "restore", path, "--json")
        assert done.returncode == 0, done.stderr
        assert json.loads(done.stdout)["tables"] == made["tables"]


def test_an_empty_database_behind_the_pool_is_upgraded_without_a_way_past_it(servers: Servers, tmp_path: Path) -> None:
    with empty_database() as name:
        address = servers.environment["DATABASE_URL"].replace(connection.settings_dict["NAME"], name)
        environment = servers.environment | {"DATABASE_URL": address, "DATA_DIR": str(tmp_path / "there")}
        done = manage(environment, "upgrade")
        assert done.returncode == 0, done.stderr
        assert "[ ]" not in manage(environment, "showmigrations", "--plan").stdout
        let_go(name)
