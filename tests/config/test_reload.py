"""`systemctl reload` of the web services, one after another, under load behind nginx: new settings, and no error."""

import http.client
import json
import re
import signal
import socket
import ssl
import subprocess
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path

import psutil
import pytest

from tests.conftest import environment_of_servers
from tests.servers import DEPLOY, MISSING, NOT_HERE, ROOT, free_port, nginx, unit_command, unit_environment
from tests.site import wait_until

pytestmark = [
    pytest.mark.process,
    pytest.mark.timeout(900),
    pytest.mark.django_db(transaction=True),
    pytest.mark.skipif(bool(MISSING), reason=NOT_HERE),
]
PATIENCE = 180
"""Seconds that a start or a reload may take on a busy machine."""
BODY = b"username=nobody&password=" + b"x" * 5000


class Service:
    """One web service as systemd runs it, which holds its port and hears from the process which one is the master."""

    def __init__(self, folder: Path, settings: Path) -> None:
        self._socket = socket.create_server(("127.0.0.1", 0), backlog=2048)
        self.port = self._socket.getsockname()[1]
        self._notes = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._notes.bind(str(folder / f"{self.port}.notify"))
        self._notes.settimeout(PATIENCE)
        self._environment = (
            environment_of_servers()
            | unit_environment("concord-web@", str(self.port))
            | {
                "SETTINGS_FILE": str(settings),
                "DATA_DIR": str(folder / "data"),
                "NOTIFY_SOCKET": str(folder / f"{self.port}.notify"),
                "WEB_PROCESSES": "1",
            }
        )
        self._log = folder / f"{self.port}.log"
        self.start()

    def start(self) -> None:
        with self._log.open("ab") as log:
            open_file = self._socket.fileno()
            command = ["bash", "-c", f'LISTEN_FDS=1 LISTEN_PID=$$ exec "$@" 3<&{open_file}', "bash"]
            command += unit_command("concord-web@", str(self.port))
            self._started = subprocess.Popen(
                command, cwd=ROOT, env=self._environment, stdout=log, stderr=log, pass_fds=[open_file]
            )
        self.master = self.master_told()

    def master_told(self) -> psutil.Process:
        """The master that the service names next."""
        while True:
            said = dict(line.split("=", 1) for line in self._notes.recv(4096).decode().splitlines())
            if "MAINPID" in said:
                return psutil.Process(int(said["MAINPID"]))

    def reload(self) -> None:
        """As the unit does it; returns when the former master is gone."""
        (told,) = re.findall(r"^ExecReload=/bin/kill -(\w+) \$MAINPID$", web_unit(), re.MULTILINE)
        former = self.master
        former.send_signal(signal.Signals[f"SIG{told}"])
        self.master = self.master_told()
        assert self.master.pid != former.pid
        if former.pid == self._started.pid:
            self._started.wait(PATIENCE)
        else:
            former.wait(PATIENCE)

    def log(self) -> str:
        return self._log.read_text()

    def stop(self) -> None:
        for process in (self.master, psutil.Process(self._started.pid) if self._started.poll() is None else None):
            if process is not None:
                with suppress(psutil.NoSuchProcess):
                    process.terminate()
        with suppress(psutil.TimeoutExpired, psutil.NoSuchProcess):
            self.master.wait(40)
        self._started.wait(40)
        self._notes.close()
        self._socket.close()


def web_unit() -> str:
    return (DEPLOY / "systemd/concord-web@.service").read_text()


class Visitor(threading.Thread):
    """Reads a page and sends a form, in turn, on a connection that is kept, and now and then on a new one."""

    def __init__(self, port: int) -> None:
        super().__init__(daemon=True)
        self._port = port
        self.answers: Counter[object] = Counter()
        self.is_over = False

    def run(self) -> None:
        connection = self._new()
        while not self.is_over:
            for method, body in (("GET", None), ("POST", BODY)):
                try:
                    connection.request(method, "/sign-in/", body)
                    answer = connection.getresponse()
                    answer.read()
                    self.answers[method, answer.status] += 1
                except (OSError, http.client.HTTPException) as error:
                    self.answers[method, repr(error)] += 1
                    connection.close()
                    connection = self._new()
            if self.answers.total() % 10 == 0:
                connection.close()
                connection = self._new()
        connection.close()

    def _new(self) -> http.client.HTTPSConnection:
        context = ssl._create_unverified_context()
        return http.client.HTTPSConnection("127.0.0.1", self._port, timeout=30, context=context)


@pytest.fixture
def settings(tmp_path: Path) -> Path:
    (tmp_path / "data").mkdir()
    path = tmp_path / "concord.env"
    path.write_text("SITE_URL=https://localhost\nALLOWED_HOSTS=127.0.0.1\nHTTPS=1\nTRUSTED_PROXIES=1\n")
    return path


@pytest.fixture
def services(tmp_path: Path, settings: Path) -> Iterator[list[Service]]:
    started = [Service(tmp_path, settings)]
    try:
        started.append(Service(tmp_path, settings))
        yield started
    finally:
        for service in started:
            service.stop()


@pytest.fixture
def proxy(tmp_path: Path, services: list[Service]) -> Iterator[int]:
    port = free_port()
    command = nginx(tmp_path, port, [service.port for service in services])
    with (tmp_path / "nginx.log").open("wb") as log:
        running = subprocess.Popen(command, stdout=log, stderr=log)
    try:
        wait_until(lambda: page(port) is not None, "nginx answers")
        yield port
    finally:
        running.terminate()
        running.wait(20)


def page(port: int, *, tls: bool = True) -> str | None:
    context = ssl._create_unverified_context()
    kind = http.client.HTTPSConnection if tls else http.client.HTTPConnection
    more = {"context": context} if tls else {}
    with closing(kind("127.0.0.1", port, timeout=20, **more)) as connection:
        try:
            connection.request("GET", "/sign-in/", headers={} if tls else {"X-Forwarded-Proto": "https"})
            answer = connection.getresponse()
            said = answer.read().decode()
        except OSError:
            return None
    return said if answer.status == 200 else None


def test_a_reload_of_each_service_loads_new_settings_and_shows_clients_no_error(
    services: list[Service], settings: Path, proxy: int
) -> None:
    assert "Type=notify\nNotifyAccess=all\n" in web_unit()
    visitors = [Visitor(proxy) for _ in range(4)]
    for visitor in visitors:
        visitor.start()
    more = {"OIDC_SERVER_URL": "https://id.example.org", "OIDC_CLIENT_ID": "a", "OIDC_CLIENT_SECRET": "b"}
    for turn, name in enumerate(("The first university", "The second university")):
        lines = [*more.items(), ("OIDC_NAME", f"'{name}'")]
        with settings.open("a") as file:
            file.writelines(f"{key}={value}\n" for key, value in (lines if turn == 0 else []))
        if turn:
            settings.write_text(settings.read_text().replace("The first university", name))
        for service in services:
            n_before = sum(visitor.answers.total() for visitor in visitors)
            service.reload()
            wait_until(lambda n=n_before: sum(v.answers.total() for v in visitors) > n + 20, "answers come on")
            assert name in (page(service.port, tls=False) or "")
    for visitor in visitors:
        visitor.is_over = True
    for visitor in visitors:
        visitor.join(60)
    found = sum((visitor.answers for visitor in visitors), Counter[object]())
    assert set(found) == {("GET", 200), ("POST", 403)}, json.dumps({str(key): n for key, n in found.items()})


def test_a_reload_with_settings_that_are_not_clear_leaves_the_service_as_it_was(
    services: list[Service], settings: Path, proxy: int
) -> None:
    service = services[0]
    settings.write_text(settings.read_text() + "EMAIL_FROM=Concord <concord@example.org>\n")
    service.master.send_signal(signal.SIGUSR2)
    wait_until(lambda: "Line 5 of" in service.log(), "the new master refuses")
    wait_until(lambda: len(service.master.children()) == 1, "it is gone")
    assert page(service.port, tls=False) and page(proxy)


def test_nginx_answers_503_in_words_while_no_service_is_there(services: list[Service], proxy: int) -> None:
    for service in services:
        service.stop()
    with closing(
        http.client.HTTPSConnection("127.0.0.1", proxy, timeout=20, context=ssl._create_unverified_context())
    ) as connection:
        connection.request("POST", "/sign-in/", BODY)
        answer = connection.getresponse()
        assert (answer.status, answer.getheader("Retry-After")) == (503, "5")
        assert answer.read().startswith(b"Concord does not answer at the moment.")


def test_a_restart_leaves_the_port_to_nobody_else_and_what_is_sent_then_is_answered(services: list[Service]) -> None:
    service = services[0]
    service.master.kill()
    psutil.wait_procs([service.master, *service.master.children(recursive=True)], 20)
    with closing(socket.socket()) as other:
        other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        with pytest.raises(OSError, match="Address already in use"):
            other.bind(("127.0.0.1", service.port))
    asked = threading.Thread(target=lambda: said.append(page(service.port, tls=False)))
    said: list[str | None] = []
    asked.start()
    service.start()
    asked.join(60)
    assert said[0] and "Sign in" in said[0]


def test_the_socket_unit_holds_the_port_of_its_service_until_the_target_is_stopped() -> None:
    told = (DEPLOY / "systemd/concord-web@.socket").read_text()
    assert "ListenStream=127.0.0.1:%i\n" in told and "StopPropagatedFrom=concord.target\n" in told
    assert "PartOf" not in told and "Requires=concord-web@%i.socket\n" in web_unit()
    assert "TriggerLimitIntervalSec=0\n" in told and "StartLimitIntervalSec=0\n" in web_unit(), "it gives up"
