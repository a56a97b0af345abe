"""What is started on servers: compose, the units of systemd and the files of the proxies agree with each other."""

import http.client
import os
import re
import shutil
import socket
import ssl
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib import import_module
from pathlib import Path

import pytest
from celery import Celery
from celery.app.utils import find_app
from ruamel.yaml import YAML

from config.gunicorn import Worker, limit_request_line
from tests.servers import MISSING, NOT_HERE, nginx

ROOT = Path(__file__).resolve().parents[2]
UNITS = sorted((ROOT / "deploy/systemd").glob("concord*"))
STOP_SECONDS_MOST = 40
"""Four times what our file grants requests under way when Caddy is stopped."""


@pytest.fixture
def services() -> dict[str, dict]:
    return YAML(typ="safe").load(ROOT / "docker-compose.yml")["services"]


def test_compose_has_two_web_processes_three_workers_and_one_clock(services: dict[str, dict]) -> None:
    n_of = {name: service.get("deploy", {}).get("replicas", 1) for name, service in services.items()}
    assert n_of == {"migrate": 1, "web": 2, "proxy": 1, "worker": 3, "beat": 1, "postgres": 1, "redis": 1}


def test_compose_opens_the_proxy_alone_and_on_the_loopback_address(services: dict[str, dict]) -> None:
    assert {name: service["ports"] for name, service in services.items() if "ports" in service} == {
        "proxy": ["${BIND:-127.0.0.1}:${PORT:-8000}:8000"]
    }


def test_every_variable_of_compose_is_explained() -> None:
    told = (ROOT / ".env.example").read_text()
    files = [ROOT / "docker-compose.yml", ROOT / "deploy/compose.domain.yml"]
    asked = {name for file in files for name in re.findall(r"(?<!\$)\$\{(\w+)", file.read_text())}
    assert asked and not {name for name in asked if f"\n#{name}=" not in told}


def test_what_compose_and_the_image_copy_is_there(services: dict[str, dict]) -> None:
    copied = re.findall(r"^COPY (.+) \S+$", (ROOT / "Dockerfile").read_text(), re.MULTILINE)
    mounted = [volume.split(":")[0] for volume in services["proxy"]["volumes"] if volume.startswith("./")]
    assert copied and mounted
    assert all((ROOT / name).exists() for line in copied + mounted for name in line.split())


@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.name)
def test_a_unit_belongs_to_the_target_and_starts_what_the_guide_installs(unit: Path) -> None:
    told = unit.read_text()
    if unit.suffix == ".service":
        assert "WantedBy=concord.target" in told and "PartOf=concord.target" in told
        assert re.search(r"^ExecStart=/srv/concord/app/\.venv/bin/(gunicorn|celery) ", told, re.MULTILINE)
    assert unit.stem.removesuffix("@") in (ROOT / "docs/operators.md").read_text()


@pytest.mark.parametrize("unit", [unit for unit in UNITS if unit.suffix == ".service"], ids=lambda unit: unit.name)
def test_a_unit_writes_files_for_its_own_user_alone(unit: Path) -> None:
    assert "\nUMask=0077\n" in unit.read_text()


def test_an_address_that_is_too_long_is_refused_in_words_by_every_proxy_and_by_gunicorn_itself() -> None:
    assert limit_request_line == 8190 and Worker.handle_error
    assert "large_client_header_buffers 4 8k;" in (ROOT / "deploy/nginx/concord.conf").read_text()


def test_every_command_names_an_application_that_is_there(services: dict[str, dict]) -> None:
    """Of compose, its health checks and the units; a health check must ask the application that the worker runs."""
    told = [unit.read_text() for unit in UNITS] + [(ROOT / "Dockerfile").read_text()]
    for service in services.values():
        for each in (service.get("command", []), service.get("healthcheck", {}).get("test", [])):
            told.append(" ".join(each) if isinstance(each, list) else each)
    celery = re.findall(r"celery (?:-A|--app)[ =](\S+)", "\n".join(told).replace(",", ""))
    assert len(celery) >= 5 and all(isinstance(find_app(name), Celery) for name in celery)
    web = set(re.findall(r"\bconfig\.\w+", "\n".join(told)))
    assert web == {"config.clock", "config.gunicorn", "config.wsgi"}
    assert callable(import_module("config.wsgi").application)


def test_compose_tells_concord_that_one_proxy_stands_before_it(services: dict[str, dict]) -> None:
    for name in ("web", "worker", "beat", "migrate"):
        assert services[name]["environment"]["TRUSTED_PROXIES"] == 1


def test_every_process_of_compose_has_the_name_of_the_site(services: dict[str, dict]) -> None:
    """A worker writes links, too."""
    yaml = YAML(typ="safe")
    yaml.constructor.add_constructor("!override", lambda loader, node: loader.construct_sequence(node))
    named = yaml.load(ROOT / "deploy/compose.domain.yml")["services"]
    of_concord = {name for name, service in services.items() if service.get("image") == "concord"}
    environments = {
        name: services[name]["environment"] | named.get(name, {}).get("environment", {}) for name in of_concord
    }
    assert {"web", "worker", "beat"} < of_concord and environments["worker"]["SITE_URL"].startswith("https://${DOMAIN")
    assert all(each == environments["web"] for each in environments.values()), environments


class Upstream(BaseHTTPRequestHandler):
    """Says how many bytes it was sent, over connections that stay open as gunicorn's do.

    Like Concord, which stores what arrived, it answers a body only after a while. Caddy 2.6.2 cuts an answer off that
    comes before it has seen the end of the body itself: Go's server closes the body on the first byte of the answer,
    and the pending read for more then closes the connection to the upstream.
    """

    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        n, left = 0, int(self.headers["Content-Length"] or 0)
        while n < left and (piece := self.rfile.read(min(1 << 16, left - n))):
            n += len(piece)
        if n:
            threading.Event().wait(0.3)
        said = str(n).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(said)))
        self.end_headers()
        self.wfile.write(said)

    do_GET = do_POST  # noqa: N815

    def log_message(self, *_: object) -> None:
        pass


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


@contextmanager
def caddy_before(web_port: int, folder: Path, other_port: int | None = None) -> Iterator[int]:
    """The port of Debian's Caddy with our file, before web services on these ports; 2.6.2 names buffers otherwise.

    Two of them are listed, not looked up: of services that it looks up, 2.6.2 forgets failures, and 2.11.2 does not.
    """
    caddy = shutil.which("caddy")
    if caddy is None:
        pytest.skip("caddy missing (apt-get install caddy)")
    port = free_port()
    environment = os.environ | {
        "LISTEN": str(port), "WEB_NAME": "localhost", "WEB_PORT": str(web_port),
        "XDG_DATA_HOME": str(folder), "XDG_CONFIG_HOME": str(folder), "HOME": str(folder),
    }  # fmt: skip
    config = (ROOT / "deploy/Caddyfile").read_text()
    if subprocess.run([caddy, "version"], capture_output=True, text=True, check=True).stdout.startswith(
        ("2.6.2", "v2.6.2")
    ):
        config = re.sub(r"request_buffers (\w+)", r"buffer_requests\n\t\tmax_buffer_size \1", config)
    if other_port is not None:
        both = f"to localhost:{web_port} localhost:{other_port}"
        config, n = re.subn(r"dynamic a [^}]*}[^}]*} {[^}]*}", both, config)
        assert n == 1
    (folder / "Caddyfile").write_text(config)
    command = [caddy, "run", "--config", str(folder / "Caddyfile"), "--adapter", "caddyfile"]
    with open(folder / "log", "w") as log:
        running = subprocess.Popen(command, env=environment, stdout=log, stderr=log)
    try:
        for _ in range(200):
            with socket.socket() as tried:
                if tried.connect_ex(("127.0.0.1", port)) == 0:
                    break
            assert running.poll() is None, (folder / "log").read_text()
            threading.Event().wait(0.05)
        yield port
    finally:
        running.terminate()
        running.wait(STOP_SECONDS_MOST)


@pytest.fixture
def proxy(tmp_path: Path) -> Iterator[int]:
    upstream = ThreadingHTTPServer(("127.0.0.1", 0), Upstream)
    threading.Thread(target=upstream.serve_forever, daemon=True).start()
    try:
        with caddy_before(upstream.server_port, tmp_path) as port:
            yield port
    finally:
        upstream.shutdown()
        upstream.server_close()


def sent(port: int, path: str, n_bytes: int = 0) -> tuple[int, str]:
    """What the proxy answers: to a GET, or to a POST of so many bytes."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
    try:
        connection.request("POST" if n_bytes else "GET", path, bytes(n_bytes), {"Content-Length": str(n_bytes)})
        answer = connection.getresponse()
        return answer.status, answer.read().decode()
    finally:
        connection.close()


def test_caddy_lets_bodies_of_every_size_through_which_concord_itself_limits(proxy: int) -> None:
    assert sent(proxy, "/repositories/upload/", 5 << 20) == (200, str(5 << 20))
    assert "max_size" not in (ROOT / "deploy/Caddyfile").read_text()


def test_caddy_keeps_a_body_that_comes_slowly_until_it_is_whole(tmp_path: Path) -> None:
    """A web process has few threads, and each would wait with the body."""
    with ExitStack() as stack:
        web = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
        web.settimeout(1)
        port = stack.enter_context(caddy_before(web.getsockname()[1], tmp_path))
        client = stack.enter_context(socket.create_connection(("127.0.0.1", port)))
        client.sendall(b"POST /sign-in/ HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5000\r\n\r\na=")
        with pytest.raises(TimeoutError):
            web.accept()
        client.sendall(bytes(4998))
        told = stack.enter_context(web.accept()[0])
        told.settimeout(10)
        got = b""
        while len(got.partition(b"\r\n\r\n")[2]) < 5000:
            got += told.recv(1 << 16)
        assert got.startswith(b"POST /sign-in/ HTTP/1.1\r\n") and b"Content-Length: 5000\r\n" in got


def test_caddy_passes_pages_on_and_no_metrics(proxy: int) -> None:
    assert sent(proxy, "/studies/") == (200, "0")
    assert sent(proxy, "/metrics")[0] == 404


class Interrupted(Upstream):
    """A web process that ends the connection of a POST without an answer, as gunicorn does where it rejects a head."""

    def do_POST(self) -> None:
        self.close_connection = True

    do_GET = Upstream.do_POST  # noqa: N815


@contextmanager
def two_web_processes() -> Iterator[list[int]]:
    webs = [ThreadingHTTPServer(("127.0.0.1", 0), Interrupted) for _ in range(2)]
    for web in webs:
        threading.Thread(target=web.serve_forever, daemon=True).start()
    try:
        yield [web.server_port for web in webs]
    finally:
        for web in webs:
            web.shutdown()
            web.server_close()


@contextmanager
def nginx_before(webs: list[int], folder: Path) -> Iterator[int]:
    port = free_port()
    running = subprocess.Popen(nginx(folder, port, webs), stderr=subprocess.DEVNULL)
    try:
        while not is_open(port):
            assert running.poll() is None
            threading.Event().wait(0.05)
        yield port
    finally:
        running.terminate()
        running.wait(STOP_SECONDS_MOST)


def is_open(port: int) -> bool:
    with socket.socket() as tried:
        return tried.connect_ex(("127.0.0.1", port)) == 0


def answer_over_tls(port: int, method: str) -> int:
    context = ssl._create_unverified_context()
    with closing(http.client.HTTPSConnection("127.0.0.1", port, timeout=20, context=context)) as connection:
        connection.request(method, "/sign-in/", b"")
        return connection.getresponse().status


@pytest.mark.skipif(bool(MISSING), reason=NOT_HERE)
def test_nginx_keeps_web_processes_in_use_whose_connections_ended_for_single_requests(tmp_path: Path) -> None:
    """One request of a stranger must not keep others out."""
    with two_web_processes() as webs, nginx_before(webs, tmp_path) as port:
        for _ in range(6):
            assert answer_over_tls(port, "POST") == 503
            assert answer_over_tls(port, "GET") == 200


@pytest.mark.skipif(bool(MISSING), reason=NOT_HERE)
def test_nginx_passes_on_to_the_other_web_process_what_one_that_is_down_did_not_take(tmp_path: Path) -> None:
    with two_web_processes() as webs, nginx_before([webs[0], free_port()], tmp_path) as port:
        assert {answer_over_tls(port, "GET") for _ in range(12)} == {200}


def test_caddy_keeps_web_processes_in_use_whose_connections_ended_for_single_requests(tmp_path: Path) -> None:
    with two_web_processes() as webs, caddy_before(webs[0], tmp_path, other_port=webs[1]) as port:
        began = time.monotonic()
        for _ in range(6):
            assert sent(port, "/sign-in/", 1)[0] == 503
            assert sent(port, "/sign-in/")[0] == 200
        assert time.monotonic() - began < 2


def test_caddy_passes_on_to_the_other_web_process_what_one_that_is_down_did_not_take(tmp_path: Path) -> None:
    with two_web_processes() as webs, caddy_before(webs[0], tmp_path, other_port=free_port()) as port:
        answers: list[int] = []
        asked = [threading.Thread(target=lambda: answers.append(sent(port, "/studies/")[0])) for _ in range(12)]
        for each in asked:
            each.start()
        for each in asked:
            each.join()
        assert answers == [200] * 12


@pytest.mark.process
def test_caddy_stops_soon_although_a_web_process_never_answers(tmp_path: Path) -> None:
    """As where a client gave up: Caddy waits for the web process, and without a limit it stops only when that ends."""
    with ExitStack() as stack:
        silent = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
        with caddy_before(silent.getsockname()[1], tmp_path) as port:
            with socket.create_connection(("127.0.0.1", port)) as client:
                client.sendall(b"GET /studies/ HTTP/1.1\r\nHost: localhost\r\n\r\n")
                stack.enter_context(silent.accept()[0]).recv(100)
            began = time.monotonic()
    assert 9 < time.monotonic() - began < STOP_SECONDS_MOST
