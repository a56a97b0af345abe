"""The watch over web requests: it ends waits for the database that are too long, COPY included, and no others."""

import io
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import psycopg2
import pytest
from django.db import Error as DatabaseProblem
from django.db import InterfaceError, OperationalError, ProgrammingError, connection
from django.http import HttpResponse, StreamingHttpResponse
from django.test import RequestFactory

from config import health, request_time_limits
from config.outages import outage_of
from config.request_time_limits import Deadlines, Watch

pytestmark = pytest.mark.django_db(transaction=True)
NOTICES = "SET client_connection_check_interval = '100ms';"
"""So that no statement of a test goes on when its client is gone."""


@pytest.fixture
def watch(monkeypatch: pytest.MonkeyPatch) -> Watch:
    made = Watch()
    monkeypatch.setattr(request_time_limits, "watch", made)
    return made


@contextmanager
def looking(watch: Watch) -> Iterator[None]:
    """Looks on as the thread of a web process does, as if each look came ten seconds after the last."""
    over = threading.Event()

    def run() -> None:
        while not over.wait(0.05):
            watch.look(10)

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def sleep() -> None:
    with connection.cursor() as cursor:
        cursor.execute(NOTICES + "SELECT pg_sleep(60)")


def copy() -> None:
    with connection.cursor() as cursor:
        cursor.execute(NOTICES)
        cursor.copy_expert("COPY (SELECT pg_sleep(60)) TO STDOUT", io.BytesIO())


@pytest.mark.parametrize("wait", [sleep, copy])
def test_a_request_that_waits_too_long_is_stopped_with_words_while_the_database_answers_others(
    wait: Callable[[], None], watch: Watch
) -> None:
    def view(request: object) -> HttpResponse:
        with pytest.raises((psycopg2.Error, DatabaseProblem)) as stopped:
            wait()
        return HttpResponse(status=503 if outage_of(stopped.value) else 500)

    with looking(watch):
        answer = Deadlines(view)(RequestFactory().get("/"))
    assert answer.status_code == 503 and "longer than the server allows" in answer.content.decode()
    assert not watch.is_silent
    connection.close()
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1")


def test_a_request_that_computes_for_long_keeps_its_connection(watch: Watch) -> None:
    def view(request: object) -> HttpResponse:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
            for _ in range(20):
                watch.look(10)
            cursor.execute("SELECT 1")
        return HttpResponse()

    assert Deadlines(view)(RequestFactory().get("/")).status_code == 200


def test_each_piece_of_an_answer_that_is_streamed_has_its_own_limit(watch: Watch) -> None:
    def pieces() -> Iterator[bytes]:
        with connection.cursor() as cursor:
            for _ in range(3):
                cursor.execute("SELECT pg_sleep(0.2)")
                yield b"x"

    once = threading.Event()

    def look() -> None:
        while not once.wait(0.05):
            watch.look(request_time_limits.REQUEST_SECONDS / 8)

    thread = threading.Thread(target=look)
    thread.start()
    answer = Deadlines(lambda request: StreamingHttpResponse(pieces()))(RequestFactory().get("/"))
    try:
        assert b"".join(answer) == b"xxx"  # type: ignore[call-overload]
    finally:
        once.set()
        thread.join()


def test_while_the_database_is_silent_requests_are_answered_at_once_and_probes_go_on(watch: Watch) -> None:
    watch.is_silent = True
    door = Deadlines(lambda request: HttpResponse())
    answer = door(RequestFactory().get("/studies/"))
    assert answer.status_code == 503 and "The database does not respond" in answer.content.decode()
    assert door(RequestFactory().get("/readyz")).status_code == 200
    watch.look(1)
    assert not watch.is_silent and door(RequestFactory().get("/studies/")).status_code == 200


def test_a_server_that_accepts_and_never_answers_is_silent_and_one_that_refuses_is_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    import socket

    with socket.create_server(("127.0.0.1", 0)) as server:
        monkeypatch.setitem(connection.settings_dict, "HOST", "127.0.0.1")
        monkeypatch.setitem(connection.settings_dict, "PORT", str(server.getsockname()[1]))
        assert not health.database_answers(0.3)
    assert health.database_answers(5)


@pytest.mark.parametrize(
    "error",
    [
        psycopg2.DatabaseError("server closed the connection unexpectedly\n\tThis probably means …"),
        psycopg2.DatabaseError("SSL SYSCALL error: EOF detected"),
        psycopg2.InterfaceError("connection already closed"),
        psycopg2.OperationalError("could not receive data from server: Connection timed out"),
        InterfaceError("cursor already closed"),
        OperationalError("server closed the connection unexpectedly"),
    ],
)
def test_every_error_of_a_lost_connection_is_an_outage(error: Exception) -> None:
    from django.db import DatabaseError

    assert outage_of(error) is not None
    wrapped = DatabaseError(str(error))
    wrapped.__cause__ = error
    assert outage_of(wrapped) is not None


def test_faults_in_a_statement_are_no_outages() -> None:
    for error in (ProgrammingError("x"), psycopg2.DatabaseError("no results to fetch"), psycopg2.DataError("x")):
        assert outage_of(error) is None


def test_one_who_got_no_connection_makes_the_watch_ask_so_that_others_are_answered_at_once(
    watch: Watch, monkeypatch: pytest.MonkeyPatch
) -> None:
    def answering(database_answers: bool) -> None:
        monkeypatch.setattr(health, "database_answers", lambda seconds: database_answers)
        Deadlines(lambda request: HttpResponse(status=503))(RequestFactory().get("/studies/"))
        watch.look(1)

    answering(True)
    assert not watch.is_silent
    answering(False)
    assert watch.is_silent
    monkeypatch.setattr(health, "database_answers", lambda seconds: True)
    watch.look(1)
    assert not watch.is_silent and not watch.is_doubted
