"""What the web server does with a connection after Django has answered: a real one, and gunicorn's own parser."""

import hashlib
import os
import socket
import stat
import subprocess
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace

import pytest
from gunicorn.config import Config
from gunicorn.http.parser import RequestParser
from gunicorn.http.wsgi import create
from gunicorn.workers.gthread import ThreadWorker

from config import gunicorn

N_BYTES = 12_000_000
POST = b"POST /sign-in/ HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n" % N_BYTES
GET = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"


def is_kept(kind: type[ThreadWorker]) -> bool:
    """Whether a connection goes on, and with the next request, after a large body was refused unread."""
    server, proxy = socket.socketpair()
    with server, proxy:

        def send() -> None:
            with suppress(OSError):
                proxy.sendall(POST + bytes(N_BYTES) + GET)

        sending = threading.Thread(target=send)
        parser = RequestParser(Config(), server, ("127.0.0.1", 1))
        sending.start()
        assert next(parser).path == "/sign-in/"
        kept = kind._keepalive_after(kind.__new__(kind), SimpleNamespace(parser=parser), True)
        if kept:
            assert next(parser).path == "/healthz"
        server.shutdown(socket.SHUT_RDWR)
        sending.join(60)
        return kept


def test_a_proxy_may_send_to_its_end_what_was_refused_unread(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gunicorn, "REST_SECONDS", 120.0)
    assert is_kept(gunicorn.Worker)
    assert not is_kept(ThreadWorker), "gunicorn does so itself by now: take ours away"


def test_who_sends_on_for_too_long_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gunicorn, "REST_SECONDS", 0.05)
    server, proxy = socket.socketpair()
    with server, proxy:
        proxy.sendall(POST)
        parser = RequestParser(Config(), server, ("127.0.0.1", 1))
        next(parser)
        assert not gunicorn.Worker._keepalive_after(
            gunicorn.Worker.__new__(gunicorn.Worker), SimpleNamespace(parser=parser), True
        )


def test_no_request_names_the_folder_of_the_site_or_another_path(monkeypatch: pytest.MonkeyPatch) -> None:
    """gunicorn takes both from programs of this machine, and from Caddy, which passes on what visitors send."""
    monkeypatch.delenv("SCRIPT_NAME", raising=False)
    cfg = Config()
    cfg.set("forwarder_headers", gunicorn.forwarder_headers)
    server, proxy = socket.socketpair()
    with server, proxy:
        proxy.sendall(b"GET /gone/studies/ HTTP/1.1\r\nSCRIPT_NAME: /gone\r\nPATH_INFO: /me/\r\n\r\n")
        request = next(RequestParser(cfg, server, ("127.0.0.1", 1)))
        _, environ = create(request, server, ("127.0.0.1", 1), ("127.0.0.1", 8000), cfg)
    assert (environ["SCRIPT_NAME"], environ["PATH_INFO"]) == ("", "/gone/studies/")


def test_a_request_that_waited_too_long_for_a_thread_is_answered_in_words_and_not_begun() -> None:
    server, proxy = socket.socketpair()
    with server, proxy:
        worker = gunicorn.Worker.__new__(gunicorn.Worker)
        conn = SimpleNamespace(sock=server, arrived_at=time.monotonic() - gunicorn.LATE_SECONDS - 1)
        assert not worker.handle_request(None, conn)
        answer = proxy.recv(4096).decode()
    assert answer.startswith("HTTP/1.1 503") and "was not started" in answer


@pytest.mark.parametrize(
    ("beginning", "is_reserved"),
    [
        (b"GET /healthz HTTP/1.1", True),
        (b"HEAD /readyz?need=database HTTP/1.1", True),
        (b"GET /static/css/base.css HTTP/1.1", True),
        (b"POST /metrics HTTP/1.1", False),
        (b"GET /healthzz HTTP/1.1", False),
        (b"GET /studies/?q=/static/ HTTP/1.1", False),
        (b"GE", False),
    ],
)
def test_health_checks_and_static_files_are_told_apart_by_their_first_bytes(
    beginning: bytes, is_reserved: bool
) -> None:
    server, proxy = socket.socketpair()
    with server, proxy:
        proxy.sendall(beginning)
        found = gunicorn._beginning(SimpleNamespace(parser=None, sock=server))
        assert bool(gunicorn.RESERVED.match(found)) == is_reserved
        assert server.recv(100) == beginning


@pytest.mark.parametrize(
    ("environment", "address"),
    [
        ({"PORT": "8000"}, "127.0.0.1:8000"),
        ({"PORT": "8000", "WEB_PORT": "8002", "BIND": "10.0.0.5"}, "10.0.0.5:8002"),
        ({"WEB_PORT": "8002", "BIND": "fd00::5"}, "[fd00::5]:8002"),
    ],
)
def test_the_address_to_listen_on_is_a_setting(environment: dict[str, str], address: str) -> None:
    code = "from gunicorn.app.wsgiapp import WSGIApplication as App; print(*App().cfg.address)"
    command = [sys.executable, "-c", code, "--config", "python:config.gunicorn", "config.wsgi"]
    kept = {name: value for name, value in os.environ.items() if name not in ("PORT", "WEB_PORT", "BIND")}
    done = subprocess.run(command, env=kept | environment, check=True, capture_output=True, text=True)
    host, _, port = address.rpartition(":")
    assert done.stdout.split() == [f"('{host.strip('[]')}',", f"{port})"]


def test_a_folder_that_someone_else_made_for_counts_is_no_obstacle(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where metrics are on, each process counts in a folder of its own, next to those of others in /dev/shm."""
    monkeypatch.setattr(gunicorn, "DATA_DIR", tmp_path)
    monkeypatch.setattr(gunicorn, "Path", lambda path: tmp_path if path == "/dev/shm" else Path(path))
    monkeypatch.setattr(gunicorn, "atexit", SimpleNamespace(register=lambda _: None))
    monkeypatch.setenv("PROMETHEUS_MULTIPROC_DIR", "")
    ours = f"concord-{os.getuid()}-{hashlib.sha256(str(tmp_path).encode()).hexdigest()[:12]}-"
    for name in ("x", f"{os.getpid()}", f"{os.getpid()}-left", "9" * 30, "1-of-a-living-one"):
        (tmp_path / f"{ours}{name}").mkdir()
    gunicorn._count_in_a_folder_of_our_own()
    made = Path(os.environ["PROMETHEUS_MULTIPROC_DIR"])
    assert made.parent == tmp_path and stat.S_IMODE(made.stat().st_mode) == 0o700 and gunicorn._has_a_folder()
    assert {each.name for each in tmp_path.iterdir()} == {made.name, f"{ours}1-of-a-living-one"}
