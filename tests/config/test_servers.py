"""Web processes behind nginx and TLS, workers, PgBouncer: whatever dies costs a retry, and nothing is lost."""

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

from tests.annotation.core.test_many_raters import check
from tests.concurrent_raters import work
from tests.conftest import environment_of_servers
from tests.servers import MISSING, NOT_HERE, OverTLS, Servers, free_port
from tests.site import wait_until

pytestmark = [
    pytest.mark.process,
    pytest.mark.worker,
    pytest.mark.skipif(bool(MISSING), reason=NOT_HERE),
    pytest.mark.timeout(300),
]


@pytest.fixture
def servers(worker_aside: None) -> Iterator[Servers]:
    environment = environment_of_servers()
    with Servers(
        environment["DATABASE_URL"], environment["REDIS_URL"], each_web=1, n_workers=2, has_clock=False
    ) as found:
        yield found


def kill(servers: Servers, *names: str) -> None:
    for process in [each for name in names for each in servers.processes(name)]:
        with suppress(psutil.NoSuchProcess):
            process.send_signal(signal.SIGKILL)


def use_everything(servers: Servers, *, n_raters: int, n_items: int, seed: int) -> None:
    """A crowd labels while web processes die; then files are made while workers die, and read over both processes."""
    outcome = work(servers, "planned", n_raters=n_raters, n_items=n_items, raters_per_item=2, seed=seed, rater=OverTLS)
    check(servers, outcome, n_items=n_items, raters_per_item=2, n_killed=1)
    api, token = f"api/v1/studies/{outcome.slug}", outcome.owner
    if not servers.has_clock:
        kill(servers, "worker1")
    status, said = servers.ask(f"{api}/exports/", token, {"what": "package", "format": "zip"})
    assert status == 202, said
    export = json.loads(said)["id"]
    if servers.has_clock:  # which sends again what the killed ones had in their hands
        kill(servers, "worker1", "worker2")

    def state() -> str:
        return str(json.loads(servers.ask(f"api/v1/exports/{export}/", token)[1])["state"])

    wait_until(lambda: state() in ("done", "failed"), "the package is made")
    assert state() == "done", servers.logs()
    status, package = servers.ask(f"api/v1/exports/{export}/download/", token)
    assert (status, package[:2]) == (200, b"PK")
    ratings = [servers.ask(f"{api}/ratings/?format=csv", token) for _ in range(4)]
    assert {status for status, _ in ratings} == {200} and len({said for _, said in ratings}) == 1
    agreement = [servers.ask(f"{api}/agreement/", token) for _ in range(4)]
    assert {status for status, _ in agreement} == {200} and len({said for _, said in agreement}) == 1


def held_by_sessions(servers: Servers) -> list[tuple[str, ...]]:
    """What someone else would find on a connection of the pool: locks, cursors; there must be none."""
    return servers.query("SELECT mode FROM pg_locks WHERE locktype = 'advisory'") + servers.query(
        "SELECT query FROM pg_stat_activity WHERE state LIKE 'idle in%%' AND state_change < now() - interval '5 s'"
    )


def test_a_crowd_loses_nothing_while_web_processes_and_workers_are_killed(servers: Servers) -> None:
    use_everything(servers, n_raters=4, n_items=24, seed=3)
    assert held_by_sessions(servers) == []
    status, said = servers.ask(f"?q={'a' * 9000}")
    assert status == 414 and said.startswith(b"The address is too long.")
    assert servers.ask("metrics")[0] == 403


@pytest.fixture
def debians(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, str]]:
    """PostgreSQL and Redis of Debian: the addresses of a new database and of an empty Redis."""
    programs = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    if not programs or not shutil.which("redis-server") or not shutil.which("runuser"):
        pytest.skip("postgresql or redis-server of Debian missing (apt-get install postgresql redis-server)")
    binaries, port, redis_port = programs[-1].parent, free_port(), free_port()
    folder = Path(subprocess.check_output(["runuser", "-u", "postgres", "--", "mktemp", "-d"], text=True).strip())

    def run(*command: object) -> None:
        subprocess.run(
            ["runuser", "-u", "postgres", "--", *map(str, command)], check=True, capture_output=True, cwd="/"
        )

    run(
        binaries / "initdb",
        "-D",
        folder / "data",
        "--locale=C.UTF-8",
        "--encoding=UTF8",
        "-A",
        "trust",
        "-U",
        "concord",
    )
    run(binaries / "pg_ctl", "-D", folder / "data", "-w", "-l", folder / "log", "-o",
        f"-p {port} -k {folder} -c listen_addresses=127.0.0.1", "start")  # fmt: skip
    run(binaries / "createdb", "-h", "127.0.0.1", "-p", port, "-U", "concord", "concord")
    redis = subprocess.Popen(["redis-server", "--port", str(redis_port), "--save", ""], stdout=subprocess.DEVNULL)
    places = f"postgresql://concord@127.0.0.1:{port}/concord", f"redis://127.0.0.1:{redis_port}/0"
    try:
        environment = os.environ | dict(zip(("DATABASE_URL", "REDIS_URL"), places, strict=True))
        subprocess.run([sys.executable, "manage.py", "migrate", "--no-input", "-v", "0"], check=True, env=environment)
        yield places
    finally:
        redis.terminate()
        redis.wait(20)
        run(binaries / "pg_ctl", "-D", folder / "data", "-m", "fast", "stop")
        shutil.rmtree(folder, ignore_errors=True)


@pytest.mark.soak
@pytest.mark.timeout(1800)
def test_a_crowd_loses_nothing_on_servers_of_debian(debians: tuple[str, str]) -> None:
    with Servers(*debians) as servers:
        for turn in range(3):
            use_everything(servers, n_raters=16, n_items=120, seed=turn)
        assert held_by_sessions(servers) == []
