"""Gunicorn settings: `gunicorn --config python:config.gunicorn --bind … config.wsgi`."""

import atexit
import errno
import hashlib
import os
import re
import selectors
import shutil
import signal
import socket
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import psutil
from gunicorn import systemd
from gunicorn.http.errors import LimitRequestLine
from gunicorn.util import write_error
from gunicorn.workers.gthread import TConn, ThreadWorker

from config import env
from config.settings import DATA_DIR, LOGGING, METRICS_TOKEN, PORT, WEB_PROCESSES
from shared import file_modes

TOO_LONG = (
    "The URL is longer than 8,190 characters, the limit of this server. Shorten the filter or the search in "
    "it, or send it by a form or by POST. Your saved work is safe."
)


REST_SECONDS = 5.0
"""So long what was refused unread is read on."""
LATE_SECONDS = 20.0
LATE = "The server is busy, so this request was not started. Your saved work is safe. Try again in a moment."
RESERVED = re.compile(rb"(?:GET|HEAD) /(?:static/|(?:healthz|readyz|metrics)[ ?])")
"""What needs no database and is answered however many requests wait for one: health checks, metrics, static files."""
RESERVED_THREADS = 4


class Worker(ThreadWorker):
    """Answers health checks, metrics and static files on threads of their own, so that they never wait for a page.

    An address that is too long is answered in words, before Django sees it, and so is a request that waited too long
    for a thread. What was refused unread is read on.
    """

    def init_process(self) -> None:
        self.reserved = ThreadPoolExecutor(RESERVED_THREADS, thread_name_prefix="reserved")
        super().init_process()

    def accept(self, listener: Any) -> None:
        """A new connection waits in the poller until its request begins to arrive, and takes no thread before."""
        try:
            client_sock, client_addr = listener.accept()
        except OSError as error:
            if error.errno not in (errno.EAGAIN, errno.ECONNABORTED, errno.EWOULDBLOCK):
                raise
            return
        self.nr_conns += 1
        conn = TConn(self.cfg, client_sock, client_addr, listener.getsockname())
        conn.set_timeout()
        self.pending_conns.append(conn)
        self.poller.register(conn.sock, selectors.EVENT_READ, partial(self.on_pending_socket_readable, conn))

    def enqueue_req(self, conn: Any) -> None:
        conn.arrived_at = time.monotonic()
        pool = self.reserved if RESERVED.match(_beginning(conn)) else self.tpool
        done = pool.submit(self.handle, conn)
        done.add_done_callback(lambda future: self.method_queue.defer(self.finish_request, conn, future))

    def handle_request(self, req: Any, conn: Any) -> Any:
        from config.request_time_limits import watch

        if time.monotonic() - conn.arrived_at > LATE_SECONDS and not watch.is_silent:  # else it is answered why
            write_error(conn.sock, 503, "Service Unavailable", LATE)
            return False
        return super().handle_request(req, conn)

    def _keepalive_after(self, conn: Any, keepalive: bool) -> bool:
        """A proxy that is still sending takes a connection that ends for a fault of ours: 503, and not only for one."""
        if not keepalive:
            return False
        return bool(conn.parser.finish_body(deadline=time.monotonic() + REST_SECONDS, max_bytes=sys.maxsize))

    def handle_error(self, req: Any, client: Any, addr: Any, exc: BaseException) -> None:
        if isinstance(exc, LimitRequestLine):
            write_error(client, 414, "URL too long", TOO_LONG)
        else:
            super().handle_error(req, client, addr, exc)


def _beginning(conn: Any) -> bytes:
    """The first bytes of the next request, which stay where they are."""
    if conn.parser is not None and (ahead := conn.parser.unreader.buf.getvalue()):
        return bytes(ahead[:40])
    with suppress(OSError):
        return bytes(conn.sock.recv(40, socket.MSG_PEEK | socket.MSG_DONTWAIT))
    return b""


_address = env.text("BIND", "127.0.0.1")
_host = f"[{_address}]" if ":" in _address and not _address.startswith("[") else _address
bind = [f"{_host}:{env.whole_number('WEB_PORT', PORT, least=1, most=65535)}"]  # --bind comes before it
worker_class = "config.gunicorn.Worker"
preload_app = True  # once, for all of its processes
workers = WEB_PROCESSES
threads = 4
limit_request_line = 8190  # as much as gunicorn can; nginx and Caddy let through as much
keepalive = 75  # longer than proxies keep a connection, so that none of them sends into one that is just closed
graceful_timeout = 30  # downloads may end
control_socket_disable = True
forwarder_headers = ""  # no SCRIPT_NAME or PATH_INFO of a request: they would change the links in cached pages
umask = file_modes.PRIVATE_UMASK  # of a Unix socket to listen on; the settings set that of the process
logconfig_dict = LOGGING  # as everything else logs

HAS_BUCKET = bool(env.text("S3_BUCKET"))


def _count_in_a_folder_of_our_own() -> None:
    """Has this process and its forks count for Prometheus in a folder that no other master uses.

    In memory: a full disk would end a process that counts in a file of its own there. What a master that was killed
    has left behind is removed.
    """
    shared = Path("/dev/shm") if os.access("/dev/shm", os.W_OK) else Path(tempfile.gettempdir())
    ours = f"concord-{os.getuid()}-{hashlib.sha256(str(DATA_DIR).encode()).hexdigest()[:12]}-"
    for left in shared.glob(f"{ours}*"):  # some may be someone else's, of any name
        pid = left.name.removeprefix(ours).partition("-")[0]
        if pid == str(os.getpid()) or not (pid.isdecimal() and len(pid) < 10 and psutil.pid_exists(int(pid))):
            shutil.rmtree(left, ignore_errors=True)
    os.environ["PROMETHEUS_MULTIPROC_DIR"] = tempfile.mkdtemp(prefix=f"{ours}{os.getpid()}-", dir=shared)
    atexit.register(_forget_counts)


def _has_a_folder() -> bool:
    return f"-{os.getpid()}-" in Path(os.environ["PROMETHEUS_MULTIPROC_DIR"]).name


def _forget_counts() -> None:
    if _has_a_folder():  # not that of the process that this one is a fork of
        shutil.rmtree(os.environ["PROMETHEUS_MULTIPROC_DIR"], ignore_errors=True)


if METRICS_TOKEN:  # before anything counts
    _count_in_a_folder_of_our_own()


def on_starting(server: Any) -> None:
    """Stored files are closed to others, and counts begin again, with the process that listens."""
    if left := file_modes.close_to_others(DATA_DIR):
        server.log.warning("%s `manage.py check --deploy` shows how to close them.", left.sentence())
    if METRICS_TOKEN and not _has_a_folder():  # a fork of `up`
        _count_in_a_folder_of_our_own()


def on_exit(server: Any) -> None:
    if METRICS_TOKEN:
        _forget_counts()


def pre_exec(server: Any) -> None:
    """Gives the next master (USR2) the numbers of its open ports, which are no longer those that systemd gave."""
    server.systemd = False


def when_ready(server: Any) -> None:
    """Tells systemd which process is the master from now on, also where it replaces another (USR2)."""
    systemd.sd_notify(f"MAINPID={os.getpid()}", server.log)


def post_worker_init(worker: Any) -> None:
    """Each process that answers reports that it runs, watches over its requests, and connects with limits.

    It lets the master that its own master replaces (USR2) finish.
    """
    from config import database, heartbeats, request_time_limits

    database.limit(database.WEB)
    if HAS_BUCKET:
        from shared import storage_bucket

        storage_bucket.absence.is_on_watch = True
    request_time_limits.watch.begin()
    if former := int(os.environ.get("GUNICORN_PID", 0)):
        with suppress(psutil.NoSuchProcess, ProcessLookupError):
            if psutil.Process(worker.ppid).ppid() == former:
                os.kill(former, signal.SIGTERM)
    heartbeats.keep_beating(heartbeats.WEB)


def child_exit(server: Any, worker: Any) -> None:
    if METRICS_TOKEN:
        from prometheus_client import multiprocess

        multiprocess.mark_process_dead(worker.pid)  # type: ignore[no-untyped-call]
