"""Servers, worker and browser for the tests: the real ones, on a data folder that lives as long as the tests."""

import functools
import gc
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import quote

import psutil
import pytest

from config import embedded
from tests import prepared
from tests.budget import BUDGET_SECONDS, Budget
from tests.find_chromium import chromium
from tests.github import GitHub, World, descriptions
from tests.github.openapi import Recorder

if TYPE_CHECKING:
    from collections.abc import Callable

    from playwright.sync_api import Browser, Page
    from pytest_django.fixtures import Settings
    from pytest_django.live_server_helper import LiveServer

    from ingest.models import FetchRun
    from tests.browser.visitors import Visit

BASE_DIR = Path(__file__).resolve().parent.parent
NAMES = "--host-resolver-rules=MAP *.example 127.0.0.1"
"""Other hosts for the browser: texts link to no address of this machine."""
MEMORY = Path("/dev/shm")
ROOM = 4 << 30
"""Bytes that must be free in memory for the data folder to lie there."""
FOLDER = "concord tests "
LEFT_SECONDS = 6 * 3600
"""How old a folder is before it is taken for one that a killed process left: processes in containers are not seen."""


def _make_data_dir() -> Path:
    """A folder in memory where there is room for it, else among the temporary ones; named after this process."""
    has_room = os.access(MEMORY, os.W_OK) and shutil.disk_usage(MEMORY).free > ROOM
    if has_room:
        for left in MEMORY.glob(f"{FOLDER}*"):  # by processes that were killed
            pid = left.name.removeprefix(FOLDER).partition(" ")[0]
            is_old = left.stat().st_mtime < time.time() - LEFT_SECONDS
            if is_old and pid.isdigit() and not psutil.pid_exists(int(pid)):
                shutil.rmtree(left, ignore_errors=True)
    return Path(tempfile.mkdtemp(prefix=f"{FOLDER}{os.getpid()} ", dir=MEMORY if has_room else None))


DATA_DIR = _make_data_dir()

if "config.settings" in sys.modules:  # pytest-django has read them for a DJANGO_SETTINGS_MODULE of the shell
    pytest.exit("Unset DJANGO_SETTINGS_MODULE: the tests bring their own settings, servers and data folder.", 4)

# Before Django reads its settings, which happens after this file is imported.
os.environ["DATA_DIR"] = str(DATA_DIR)
os.environ["DJANGO_SETTINGS_MODULE"] = "config.settings"
for name in ("SECRET_KEY", "GITHUB_TOKENS", "GITHUB_API_URL", "HTTPS", "DEBUG", "ALLOWED_HOSTS", "SITE_URL"):
    os.environ.pop(name, None)

# What is compiled is kept, as anywhere: each of the many processes of the tests would take half a minute to compile it.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

HASTY = ("fsync = off", "full_page_writes = off", "max_wal_size = '256MB'", "jit = off")
"""Settings of a PostgreSQL whose data nobody needs tomorrow."""

FORGET = "for _, key in ipairs(redis.call('KEYS', ARGV[1])) do redis.call('UNLINK', key) end"
"""Empties the cache in one question."""

DURATIONS = Path(__file__).resolve().parent / "durations.json"
"""Seconds that each file took when it was measured last (`--keep-durations`): those that take longest begin first."""
ANY_FILE_SECONDS = 2.0
"""What a file is taken for that is not listed there."""
NEVER_SKIPPED = ("acceptance", "browser", "github", "process", "worker")
"""Marks of tests that `--complete` wants to run."""

_hold = embedded.Hold(DATA_DIR)
_skipped: list[str] = []
_seconds: dict[str, float] = {}
"""Of each test without the mark `slow` or `process`, without its fixtures: the first one would pay for the browser."""
_seconds_of_files: dict[str, float] = {}


class _Servers:
    """Whether they are those of the tests."""

    are_own = False


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--budget", action="store_true", help="fail when a test without the mark `slow` takes too long")
    parser.addoption(
        "--complete", action="store_true", help=f"fail when a test is skipped of {', '.join(NEVER_SKIPPED)}"
    )
    parser.addoption(
        "--keep-durations", action="store_true", help=f"store what each file took in tests/{DURATIONS.name}"
    )


def pytest_configure(config: pytest.Config) -> None:
    import django

    gc.set_threshold(100_000, 20, 100)
    django.setup()
    _Connections.count()
    _empty_quickly()
    _list_static_files_once()
    if _hands_out(config):  # The processes that run the tests bring their own.
        for name in ("DJANGO_SETTINGS_MODULE", "DATA_DIR"):
            os.environ.pop(name)


def _hands_out(config: pytest.Config) -> bool:
    """Whether this process runs no test itself (`-n 3`): each of the others has servers of its own."""
    return bool(config.getoption("numprocesses", None)) and not hasattr(config, "workerinput")


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The files that take longest begin first, so that two processes end together."""
    seconds = _read_durations()
    items.sort(key=lambda item: -seconds.get(_file_of(item.nodeid), ANY_FILE_SECONDS))


def _read_durations() -> dict[str, float]:
    found: dict[str, float] = json.loads(DURATIONS.read_text()) if DURATIONS.exists() else {}
    return found


def _file_of(nodeid: str) -> str:
    return nodeid.partition("::")[0]


def pytest_sessionstart(session: pytest.Session) -> None:
    if _hands_out(session.config) or (os.environ.get("DATABASE_URL") and os.environ.get("REDIS_URL")):
        return
    _hold.take()
    _forget_durability()
    _Servers.are_own = True


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session: pytest.Session) -> None:
    """The tables are made before the first test begins, so that no test's time limit counts them."""
    prepared.keep_in(session.config.cache.mkdir("tables") if session.config.cache else DATA_DIR)
    if _Servers.are_own and any(item.get_closest_marker("django_db") for item in session.items):
        prepared.prepare(DATA_DIR)


@pytest.fixture(scope="session")
def django_db_modify_db_settings(django_db_modify_db_settings_parallel_suffix: None) -> None:
    from django.db import connection

    connection.settings_dict["TEST"]["TEMPLATE"] = prepared.template()


@pytest.fixture(scope="session")
def django_db_keepdb() -> bool:
    """Whether the database stays: it goes with the data folder, and to drop it would wait for all its connections."""
    return _Servers.are_own


def _empty_quickly() -> None:
    """Let Django empty the database after a test with transactions in our way."""
    from django.db import connections
    from django.test import TransactionTestCase

    def leave(self: Any) -> None:
        for alias in self._databases_names(include_mirrors=False):
            prepared.empty(connections[alias])

    TransactionTestCase._fixture_teardown = leave  # type: ignore[attr-defined]


def _list_static_files_once() -> None:
    """Each visitor of a test has a middleware of their own, which would look through all folders again."""
    from whitenoise.middleware import WhiteNoiseMiddleware

    listed: dict[str, Any] = {}
    look = WhiteNoiseMiddleware.add_files_from_finders

    def add(self: Any) -> None:
        if not listed:
            prepared.place_chart_script(DATA_DIR)
            look(self)
            listed.update(self.files)
        self.files.update(listed)

    WhiteNoiseMiddleware.add_files_from_finders = add


class _Garbage:
    """Collected before each file alone, and what is left is never looked through again: it took a fifth of the time."""

    path: Path | None = None

    @classmethod
    def collect(cls, path: Path) -> None:
        if path != cls.path:
            cls.path = path
            gc.collect()
            gc.freeze()


class _Tables:
    """Vacuumed before a file begins, once a minute, while no test has uncommitted rows."""

    SECONDS = 60
    path: Path | None = None
    tidied = time.monotonic()

    @classmethod
    def tidy(cls, path: Path) -> None:
        is_due = path != cls.path and time.monotonic() > cls.tidied + cls.SECONDS
        cls.path = path
        if _Servers.are_own and is_due:
            prepared.vacuum()
            cls.tidied = time.monotonic()


def pytest_runtest_setup(item: pytest.Item) -> None:
    from tests.remembered import memory

    _Garbage.collect(item.path)
    _Tables.tidy(item.path)
    memory.begin(item)
    if item.get_closest_marker("github") and not descriptions.are_here():
        pytest.skip(descriptions.MISSING)


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    marks = set(report.keywords)
    if report.skipped and marks.intersection(NEVER_SKIPPED) and not hasattr(report, "wasxfail"):
        _skipped.append(report.nodeid)
    if report.when == "call" and not marks & {"slow", "process", "soak"}:
        _seconds[report.nodeid] = report.duration
    file = _file_of(report.nodeid)
    _seconds_of_files[file] = _seconds_of_files.get(file, 0.0) + report.duration


def _budget() -> Budget:
    return Budget(_seconds, _seconds_of_files, _read_durations())


def _keep_durations() -> None:
    """What this run measured replaces what was stored of these files; those that are gone are forgotten."""
    kept = {**_read_durations(), **_seconds_of_files}
    stored = {file: round(took) for file, took in sorted(kept.items()) if took > ANY_FILE_SECONDS}
    there = {file: took for file, took in stored.items() if (BASE_DIR / file).exists()}
    DURATIONS.write_text(json.dumps(there, indent=1) + "\n")


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    asked = session.config.getoption
    if asked("keep_durations") and not hasattr(session.config, "workerinput"):
        _keep_durations()
    too_slow = asked("budget") and _budget().is_exceeded()
    incomplete = asked("complete") and _skipped
    if session.exitstatus == pytest.ExitCode.OK and (too_slow or incomplete):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    if _skipped:
        terminalreporter.section(f"Skipped, and needed: {len(_skipped)}")
        for name in _skipped:
            terminalreporter.write_line(name)
    budget = _budget()
    if over := budget.over():
        terminalreporter.section(f"Over {BUDGET_SECONDS:g} seconds and not marked slow: {len(over)}")
        for took, name in over:
            terminalreporter.write_line(f"{took:6.1f} s {name}")
    if config.getoption("budget") and budget.is_exceeded():
        text = f"Failed: a test took more than {budget.allowed():.1f} seconds on this machine."
        terminalreporter.write_line(text, red=True, bold=True)
    if not chromium():
        terminalreporter.write_line("The browser tests did NOT run: no Chromium was found.", yellow=True, bold=True)
    if not descriptions.are_here():
        terminalreporter.write_line(f"Tests did NOT run. {descriptions.MISSING}.", yellow=True, bold=True)


def pytest_unconfigure() -> None:
    _hold.leave()
    shutil.rmtree(DATA_DIR, ignore_errors=True)


def _forget_durability() -> None:
    """Tests need not survive a power cut, and are a third quicker without; the log of writes is short, as in memory.

    `_Tables` vacuums between files. If PostgreSQL did so while a test has uncommitted rows, it would take the tables
    for empty and choose plans that need 25 times as long.
    """
    import psycopg2

    connection = psycopg2.connect(embedded.database_url(DATA_DIR))
    connection.autocommit = True
    with connection.cursor() as cursor:
        for setting in (*HASTY, "autovacuum = off"):
            cursor.execute(f"ALTER SYSTEM SET {setting}")
        cursor.execute("SELECT pg_reload_conf()")
    connection.close()


@pytest.fixture(autouse=True, scope="session")
def quick_passwords() -> Iterator[None]:
    from django.test import override_settings

    with override_settings(PASSWORD_HASHERS=["django.contrib.auth.hashers.MD5PasswordHasher"]):
        yield


@pytest.fixture(autouse=True, scope="session")
def figures_drawn_by_one_process() -> Iterator[None]:
    from tests.one_drawing_process import one_drawing_process

    with one_drawing_process():
        yield


@pytest.fixture(autouse=True, scope="session")
def site_of_test_clients() -> Iterator[None]:
    """Links lead where Django's test client is."""
    from django.test import override_settings

    with override_settings(SITE_URL="http://testserver"):
        yield


@pytest.fixture(autouse=True, scope="session")
def csrf_tokens_without_words() -> Iterator[None]:
    """No page has a rater's code, a name or a number only because its token happens to contain it."""
    from django.middleware import csrf

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(csrf, "CSRF_ALLOWED_CHARS", "QXZqxz")
        yield


@pytest.fixture(autouse=True, scope="session")
def quick_sign_in_of_test_clients() -> Iterator[None]:
    """A fresh test client that signs in stores its session once, in place of making, storing and noting it."""
    from django.conf import settings
    from django.contrib.auth import BACKEND_SESSION_KEY, HASH_SESSION_KEY, SESSION_KEY
    from django.test import Client

    from accounts.sessions import SessionStore

    thorough = Client.force_login
    used = settings.AUTHENTICATION_BACKENDS[0]

    def force_login(client: Client, user: Any, backend: str | None = None) -> None:
        if backend or client.cookies:
            thorough(client, user, backend)
            return
        user.backend = used
        session = SessionStore()
        session.update({SESSION_KEY: str(user.pk), BACKEND_SESSION_KEY: used})
        session[HASH_SESSION_KEY] = user.get_session_auth_hash()
        session.create()
        client.cookies[settings.SESSION_COOKIE_NAME] = str(session.session_key)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Client, "force_login", force_login)
        yield


@pytest.fixture(autouse=True, scope="session")
def patient_health_checks() -> Iterator[None]:
    """Parts that answer are not taken for silent because the machine has much else to do."""
    from config import health

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(health, "WAIT_SECONDS", 20)
        yield


@pytest.fixture(autouse=True)
def site_of_live_server(request: pytest.FixtureRequest) -> None:
    """Links lead to the live server, where a test has one."""
    if "live_server" in request.fixturenames:
        request.getfixturevalue("settings").SITE_URL = request.getfixturevalue("live_server").url


@pytest.fixture(autouse=True)
def empty_cache(request: pytest.FixtureRequest) -> None:
    """Every test that touches the database starts with an empty cache (throttles count in it)."""
    if "db" not in request.fixturenames and not request.node.get_closest_marker("django_db"):
        return
    from django.conf import settings

    from config.patient_cache import absence

    absence.end()
    _redis().eval(FORGET, 0, f"{settings.CACHES['default']['KEY_PREFIX']}:*")


def _redis() -> Any:
    from django.conf import settings

    return _client_of(settings.REDIS_URL.replace("redis+socket://", "unix://"))


@functools.cache
def _client_of(url: str):  # type: ignore[no-untyped-def]
    import redis

    return redis.Redis.from_url(url)


@pytest.fixture(scope="session")
def github_server() -> Iterator[GitHub]:
    """The local GitHub, which every worker that is started from now on asks."""
    with GitHub() as server:
        os.environ["GITHUB_API_URL"] = server.url
        if descriptions.are_here():
            server.recorder = Recorder()
        yield server


@pytest.fixture
def github(github_server: GitHub, settings: "Settings") -> Iterator[GitHub]:
    """An empty local GitHub, at which the settings point; what was asked and answered has to be as GitHub describes."""
    settings.GITHUB_API_URL = github_server.url
    settings.GITHUB_TOKENS = []
    github_server.reset()
    yield github_server
    wrong = github_server.recorder.wrong if github_server.recorder else []
    github_server.reset()
    assert not wrong, "\n".join(wrong)


@pytest.fixture
def world(github: GitHub) -> World:
    return github.world


@pytest.fixture
def fetch(db: None, github: GitHub) -> "Callable[..., FetchRun]":
    """Fetches a repository and works as far as it goes."""
    from ingest import run_steps
    from ingest.actions.fetches import start_fetch

    def fetch(repository: str = "o/r", *, user: Any = None, **asked: Any) -> "FetchRun":
        run = start_fetch(user=user, repository=repository, send=False, **asked)
        run_steps.work(run.pk)
        run.refresh_from_db()
        return run

    return fetch


def environment_of_servers() -> dict[str, str]:
    """The environment of a process that is to work on the test database and the real Valkey."""
    from django.conf import settings
    from django.db import connection

    place = {name: str(value) for name, value in connection.settings_dict.items()}
    name, host = place["NAME"], place["HOST"]
    where = f"/{name}?host={host}" if host.startswith("/") else f"{host}:{place['PORT']}/{name}"
    address = f"postgresql://{quote(place['USER'])}:{quote(place['PASSWORD'])}@{where}"
    return {**os.environ, "DATABASE_URL": address, "REDIS_URL": settings.REDIS_URL}


@pytest.fixture(scope="session")
def live_worker(django_db_setup: None, github_server: GitHub) -> Iterator[subprocess.Popen[bytes]]:
    """A real Celery worker on the test database and the real Valkey.

    It sees committed rows only: mark the test `django_db(transaction=True)`, and `worker`.
    """
    from config.celery import app

    app.control.purge()
    log_path = DATA_DIR / "worker.log"
    command = [sys.executable, "-m", "celery", "-A", "config", "worker", "--pool", "threads", "--concurrency", "2"]
    with log_path.open("wb") as log:
        worker = subprocess.Popen(
            [*command, "--loglevel", "INFO", "--without-gossip", "--without-mingle"],
            cwd=BASE_DIR,
            env=environment_of_servers(),
            stdout=log,
            stderr=log,
        )
    try:
        ends_at = time.monotonic() + 110
        while b" ready." not in log_path.read_bytes():
            if worker.poll() is not None or time.monotonic() > ends_at:
                pytest.fail(f"The worker did not start:\n{log_path.read_text()[-4000:]}")
            time.sleep(0.1)
        _Worker.lives = True
        yield worker
    finally:
        _Worker.lives = False
        worker.terminate()
        try:
            worker.wait(20)
        except subprocess.TimeoutExpired:
            worker.kill()
            worker.wait()


@pytest.fixture
def worker_aside(transactional_db: None) -> Iterator[None]:
    """The worker of the tests, if it lives, leaves the queue to a test's own workers, which keep files elsewhere."""
    from config.celery import app

    if not _Worker.lives:
        yield
        return
    app.control.cancel_consumer("celery", reply=True, timeout=5)
    try:
        yield
    finally:
        app.control.add_consumer("celery", reply=True, timeout=5)


@pytest.fixture(autouse=True)
def nothing_in_flight(request: pytest.FixtureRequest) -> Iterator[None]:
    """The database is emptied only when the live server has answered everybody: a page may save while it is closed."""
    if "live_server" not in request.fixturenames:
        yield
        return
    request.getfixturevalue("transactional_db")  # so that it is left after this
    yield
    ends_at = time.monotonic() + 5
    while _Connections.n_open and time.monotonic() < ends_at:
        time.sleep(0.01)


@pytest.fixture(autouse=True)
def nothing_at_work(request: pytest.FixtureRequest) -> Iterator[None]:
    """The database is emptied only when the worker has nothing left to do: it indexes after a run is done.

    The worker lives from the first test that asks for it until the last test, and takes what any other one sends.
    """
    mark = request.node.get_closest_marker("django_db")
    if not (mark and mark.kwargs.get("transaction")) and "live_server" not in request.fixturenames:
        yield
        return
    request.getfixturevalue("transactional_db")  # so that it is left after this
    yield
    ends_at = time.monotonic() + 120
    while _Worker.lives and not _is_idle():
        assert time.monotonic() < ends_at, "the worker does not come to rest"


@pytest.fixture(autouse=True)
def forks_alone(request: pytest.FixtureRequest, nothing_at_work: None) -> None:
    """A test that lets forked workers work and die keeps the other worker from taking their jobs."""
    if "forks" in request.fixturenames:
        request.getfixturevalue("worker_aside")


class _Worker:
    """Whether the worker of the tests has been started."""

    lives = False


def _is_idle() -> bool:
    """Nothing in the queue, nothing taken from it, nothing at work: a task goes this way, and so does the look."""
    from config.celery import app

    if _redis().llen("celery"):
        return False
    for question in ("reserved", "active"):
        answers = app.control.broadcast(question, reply=True, limit=1, timeout=5)
        if not answers or any(tasks for answer in answers for tasks in answer.values()):
            return False
    return True


class _Connections:
    """How many connections the live server holds."""

    n_open = 0
    lock = threading.Lock()

    @classmethod
    def count(cls) -> None:
        """Let Django's threaded server keep the count."""
        from django.core.servers.basehttp import ThreadedWSGIServer

        begin, carry_out = ThreadedWSGIServer.process_request, ThreadedWSGIServer.process_request_thread

        def process_request(self: Any, *arguments: Any) -> None:
            with cls.lock:
                cls.n_open += 1
            begin(self, *arguments)

        def process_request_thread(self: Any, *arguments: Any) -> None:
            try:
                carry_out(self, *arguments)
            finally:
                with cls.lock:
                    cls.n_open -= 1

        ThreadedWSGIServer.process_request = process_request  # type: ignore[assignment, method-assign]
        ThreadedWSGIServer.process_request_thread = process_request_thread  # type: ignore[assignment, method-assign]


@pytest.fixture(scope="session")
def browser() -> Iterator["Browser"]:
    """A real Chromium without a window."""
    path = chromium()
    if not path:
        pytest.skip("No Chromium was found: install it (`apt-get install chromium`) or set CHROMIUM to its path.")
    from playwright.sync_api import expect, sync_playwright

    expect.set_options(timeout=20_000)
    os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = "1"  # Playwright's loop runs in the thread that asks the database
    arguments = ["--no-sandbox"] if os.geteuid() == 0 else []
    with sync_playwright() as playwright:
        chrome = playwright.chromium.launch(executable_path=path, args=[*arguments, "--disable-dev-shm-usage", NAMES])
        yield chrome
        chrome.close()


@pytest.fixture
def page(browser: "Browser") -> Iterator["Page"]:
    """An empty page of a fresh visitor, 1280 × 800. Mark the test `browser`."""
    context = browser.new_context(viewport={"width": 1280, "height": 800})
    page = context.new_page()
    page.set_default_timeout(20_000)
    yield page
    context.close()


@pytest.fixture
def visit(browser: "Browser", live_server: "LiveServer") -> Iterator["Visit"]:
    """Opens an address as someone who is signed in, each in a browser of their own; no script may fail meanwhile."""
    from taxonomy.queries import forget_trees
    from tests.browser.visitors import sign_in

    forget_trees()
    errors: list[str] = []
    contexts = []

    def visited(name: str, path: str, width: int = 1280, scheme: Literal["light", "dark"] = "light") -> "Page":
        context = browser.new_context(viewport={"width": width, "height": 800}, color_scheme=scheme)
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(20_000)
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.on("console", lambda message: errors.append(message.text) if "Content Security" in message.text else None)
        sign_in(page, live_server, name)
        page.goto(f"{live_server.url}{path}")
        return page

    yield visited
    for context in contexts:
        context.close()
    assert not errors
