"""The servers that come with the packages: kept, found again, and mended, in folders of any name."""

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import psycopg2
import pytest
import redis

from config import embedded
from tests.conftest import BASE_DIR

pytestmark = [pytest.mark.process, pytest.mark.timeout(300)]

COUNT = "from accounts.models import User; print(User.objects.count())"


@pytest.fixture
def data_dir(tmp_path: Path) -> Iterator[Path]:
    folder = tmp_path / "a folder's name, with blanks" / ("and very long " * 8).strip()
    yield folder
    for process in _processes(folder):
        process.kill()
    shutil.rmtree(Path(embedded.redis_url(folder).removeprefix("redis+socket://")).parent, ignore_errors=True)


def _processes(folder: Path) -> list[psutil.Process]:
    """Keeper, postmaster and Valkey of a data folder."""
    marks = {str(folder), f"{folder}/postgres", embedded.redis_url(folder).removeprefix("redis+socket://")}
    found = []
    for process in psutil.process_iter(["cmdline"]):
        if any(mark in argument for argument in process.info["cmdline"] or [] for mark in marks):
            found.append(process)
    return found


def _gone(folder: Path, seconds: float = 30) -> bool:
    ends_at = time.monotonic() + seconds
    while _processes(folder) and time.monotonic() < ends_at:
        time.sleep(0.05)
    return not _processes(folder)


def _ask(folder: Path, sql: str) -> object:
    connection = psycopg2.connect(embedded.database_url(folder))
    try:
        connection.autocommit = True
        with connection.cursor() as cursor:
            cursor.execute(sql)
            return cursor.fetchone()[0] if cursor.description else None
    finally:
        connection.close()


def _postmaster(folder: Path) -> int:
    return int((folder / "postgres" / "postmaster.pid").read_text().split()[0])


def _keeper(folder: Path) -> int:
    return int((folder / "locks" / "keeper.lock").read_text())


def test_data_are_found_again_after_the_servers_were_stopped(data_dir: Path) -> None:
    with embedded.servers(data_dir):
        _ask(data_dir, "CREATE TABLE kept AS SELECT 'Zürich 🚀' AS name")
        assert _ask(data_dir, "SHOW server_version_num").startswith("18")
        assert _ask(data_dir, "SELECT current_setting('fsync') || current_setting('synchronous_commit')") == "onon"
        assert _ask(data_dir, "SELECT upper('zürich')") == "ZÜRICH"
        _ask(data_dir, "CREATE UNIQUE INDEX once ON kept (name)")
        with pytest.raises(psycopg2.errors.UniqueViolation):
            _ask(data_dir, "INSERT INTO kept VALUES ('Zürich 🚀')")
        assert redis.Redis.from_url(embedded.redis_url(data_dir).replace("redis+socket", "unix")).ping()
    assert _gone(data_dir, 5)
    logged = (data_dir / "logs" / "postgres.log").read_text()
    assert "duplicate key" in logged and "INSERT" not in logged and "Zürich" not in logged
    with embedded.servers(data_dir):
        assert _ask(data_dir, "SELECT name FROM kept") == "Zürich 🚀"


def test_a_command_makes_the_tables_of_a_new_data_folder(data_dir: Path) -> None:
    given = {name: value for name, value in os.environ.items() if name not in ("DATABASE_URL", "REDIS_URL")}
    done = subprocess.run(
        [sys.executable, "manage.py", "shell", "-v", "0", "-c", COUNT],
        check=False, cwd=BASE_DIR, env={**given, "DATA_DIR": str(data_dir)}, capture_output=True, text=True,
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (0, "0\n"), done.stderr


def test_servers_stay_until_the_last_of_two_users_leaves(data_dir: Path) -> None:
    with embedded.servers(data_dir):
        with embedded.servers(data_dir):
            pass
        assert _ask(data_dir, "SELECT 1") == 1
    assert _gone(data_dir, 5)


def test_servers_end_by_themselves_when_their_user_is_killed(data_dir: Path) -> None:
    code = f"""
import time
from pathlib import Path
from config import embedded
with embedded.servers(Path({str(data_dir)!r})):
    print("up", flush=True)
    time.sleep(60)
"""
    python = [os.sys.executable, "-c", code]
    with subprocess.Popen(python, cwd=embedded.BASE_DIR, stdout=subprocess.PIPE) as user:
        assert user.stdout.readline() == b"up\n"
        assert _processes(data_dir)
        user.kill()
    assert _gone(data_dir)


def test_committed_rows_survive_the_killing_of_every_server_process(data_dir: Path) -> None:
    with embedded.servers(data_dir) as hold:
        _ask(data_dir, "CREATE TABLE kept AS SELECT 7 AS number")
        os.kill(_keeper(data_dir), signal.SIGKILL)
        os.kill(_postmaster(data_dir), signal.SIGKILL)
        while hold.is_kept():
            time.sleep(0.01)
        hold.ensure()
        assert _ask(data_dir, "SELECT number FROM kept") == 7


def test_a_postgres_that_dies_is_started_again(data_dir: Path) -> None:
    with embedded.servers(data_dir):
        before = _postmaster(data_dir)
        os.kill(before, signal.SIGKILL)
        ends_at = time.monotonic() + 120
        while time.monotonic() < ends_at:
            try:
                assert _ask(data_dir, "SELECT 1") == 1
                break
            except psycopg2.OperationalError:
                time.sleep(0.1)
        assert _postmaster(data_dir) != before


def test_a_stale_postmaster_file_with_the_number_of_a_living_process_is_cleared(data_dir: Path) -> None:
    with embedded.servers(data_dir):
        pass
    stale = data_dir / "postgres" / "postmaster.pid"
    owner = stale.parent.stat().st_uid  # PostgreSQL heeds only processes of its own user
    other = subprocess.Popen(["sleep", "60"], user=owner if os.geteuid() == 0 else None)
    try:
        stale.write_text(f"{other.pid}\n{data_dir}/postgres\n1\n5432\n\n\n\nready\n")
        with embedded.servers(data_dir):
            assert _ask(data_dir, "SELECT 1") == 1
        assert other.poll() is None
    finally:
        other.kill()
        other.wait()


def test_a_half_made_cluster_is_made_again(data_dir: Path) -> None:
    half = data_dir / "postgres.half-made"
    half.mkdir(parents=True)
    (half / "PG_VERSION").write_text("18\n")
    (data_dir / "postgres").mkdir()
    with embedded.servers(data_dir):
        assert _ask(data_dir, "SELECT 1") == 1
    assert not half.exists()


def test_a_foreign_half_copied_cluster_is_refused_in_a_sentence_and_left_alone(data_dir: Path) -> None:
    cluster = data_dir / "postgres"
    (cluster / "base").mkdir(parents=True)
    with (
        pytest.raises(embedded.ServersUnavailable, match=r"not a whole PostgreSQL folder.*mv '"),
        embedded.servers(data_dir),
    ):
        pass
    assert [path.name for path in cluster.iterdir()] == ["base"]
    assert _gone(data_dir, 5)


def test_a_cluster_of_another_postgres_is_refused_in_a_sentence(data_dir: Path) -> None:
    cluster = data_dir / "postgres"
    (cluster / "global").mkdir(parents=True)
    (cluster / "global" / "pg_control").touch()
    (cluster / "PG_VERSION").write_text("16\n")
    with pytest.raises(embedded.ServersUnavailable, match="was made by PostgreSQL 16"), embedded.servers(data_dir):
        pass


def test_a_socket_folder_that_others_could_enter_is_refused(data_dir: Path) -> None:
    folder = Path(embedded.redis_url(data_dir).removeprefix("redis+socket://")).parent
    folder.mkdir(mode=0o777)
    folder.chmod(0o777)
    try:
        with pytest.raises(embedded.ServersUnavailable, match="another user made it"), embedded.servers(data_dir):
            pass
    finally:
        folder.rmdir()


def test_socket_paths_are_short_whatever_the_data_folder_is_called(data_dir: Path) -> None:
    assert len(str(data_dir)) > 130
    assert len(embedded.redis_url(data_dir).removeprefix("redis+socket://")) < 90
