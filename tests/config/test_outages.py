"""The database, Redis or room on a disk taken away: each door says so, nothing is lost, and it heals by itself."""

import resource
import signal
import socket
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from django.core.cache import caches
from django.core.files.base import ContentFile
from django.core.files.storage import default_storage
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import InterfaceError, OperationalError, ProgrammingError, connection
from django.test import Client
from pytest_django.fixtures import Settings

from annotation.exports import jobs as export_jobs
from annotation.exports.actions import request_export
from annotation.models import Annotation, Export, Study
from config import env, health
from config.celery import app
from config.outages import BUSY_DATABASE, outage_of
from config.patient_cache import absence
from ingest.models import FetchRun
from shared.storage_folder import Folder
from tests import builders as make
from tests.scripts import Script


@pytest.fixture(autouse=True)
def redis_is_asked() -> Iterator[None]:
    absence.end()
    yield
    absence.end()


@pytest.fixture
def study() -> Study:
    made = make.study()
    make.open_round(made, 2)
    return made


@contextmanager
def database_away(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with monkeypatch.context() as patch:
        connection.close()
        patch.setitem(connection.settings_dict, "HOST", "/nowhere")
        yield
        connection.close()


@contextmanager
def no_room(n_bytes: int = 2048) -> Iterator[None]:
    """No file of this process may grow beyond that; the servers are other processes."""
    compiles, sys.dont_write_bytecode = sys.dont_write_bytecode, True  # half a module would be found by other tests
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    before = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (n_bytes, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        signal.signal(signal.SIGXFSZ, before)
        sys.dont_write_bytecode = compiles


@pytest.mark.django_db(transaction=True)
def test_every_door_says_that_the_database_is_away_and_opens_when_it_is_back(
    study: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    client, script = Client(), Script("bob")
    client.force_login(make.user("bob"))
    path = f"/studies/{study.slug}/rounds/1/label/"
    with database_away(monkeypatch):
        page = client.get(path)
        part = client.post(f"{path}{uuid4()}/", headers={"HX-Request": "true"})
        answer = script.send("GET", "studies/study/rounds/1/next/")
    words = "The database does not respond. Your saved work is safe."
    assert (page.status_code, page["Retry-After"]) == (503, "5")
    assert words in page.content.decode() and "<html" in page.content.decode()
    assert part.status_code == 503 and part["HX-Retarget"] == "#messages" and "<html" not in part.content.decode()
    assert answer.status_code == 503 and answer["Retry-After"] == "5"
    assert answer.json()["code"] == "unavailable" and words in answer.json()["message"]
    assert client.get(path).status_code == 200
    assert script.send("GET", "studies/study/rounds/1/next/").status_code == 200


@pytest.mark.django_db
def test_an_answer_that_the_databases_disk_has_no_room_for_is_stored_once_when_there_is_room(study: Study) -> None:
    bob = Script("bob")
    at = bob.send("GET", "studies/study/rounds/1/next/").json()
    given = {"assignment": at["assignment"], "labels": {"symptom": ["crash"]}}
    with connection.cursor() as cursor:
        cursor.execute(
            "CREATE FUNCTION no_room() RETURNS trigger LANGUAGE plpgsql AS "
            "$$ BEGIN RAISE EXCEPTION 'No space left on device' USING ERRCODE = 'disk_full'; END $$"
        )
        cursor.execute("CREATE TRIGGER full_disk BEFORE INSERT ON annotation_annotation EXECUTE FUNCTION no_room()")
        answer = bob.send("POST", "studies/study/annotations/", given, **{"Idempotency-Key": "k"})
        assert (answer.status_code, answer.json()["code"]) == (503, "unavailable")
        assert "disk is full" in answer.json()["message"] and not Annotation.objects.exists()
        cursor.execute("DROP TRIGGER full_disk ON annotation_annotation")
    for status in (201, 200):
        assert bob.send("POST", "studies/study/annotations/", given, **{"Idempotency-Key": "k"}).status_code == status
    assert Annotation.objects.count() == 1


@pytest.fixture
def own_folder(tmp_path: Path, settings: Settings) -> Path:
    settings.STORAGES = {**settings.STORAGES, "default": env.files(tmp_path)}
    health.forget()
    return tmp_path


def files_in(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]


@pytest.mark.django_db
def test_who_asks_often_whether_there_is_room_fills_no_folder(own_folder: Path) -> None:
    client = Client()
    with no_room():
        assert client.get("/readyz").json()["storage"] == "can't be written"
    assert not files_in(own_folder)
    assert client.get("/readyz").json()["storage"] == "ok" and not files_in(own_folder)


@pytest.mark.django_db
def test_files_of_one_name_that_come_at_once_stand_beside_each_other(own_folder: Path) -> None:
    default_storage.save("a/one.txt", ContentFile(b"first"))
    names = {default_storage.save("a/one.txt", ContentFile(bytes([n]))) for n in range(5)}
    with ThreadPoolExecutor(8) as pool:
        names |= set(pool.map(lambda n: Folder(own_folder)._save("a/two.txt", ContentFile(bytes([n]))), range(8)))
    assert len(names) == 13 and len(files_in(own_folder)) == 14
    assert sorted(path.read_bytes() for path in own_folder.glob("a/two*")) == [bytes([n]) for n in range(8)]


@pytest.mark.django_db
def test_an_upload_without_room_is_refused_in_words_and_leaves_no_run_and_no_file(own_folder: Path) -> None:
    client = Client()
    client.force_login(make.user("olga"))
    lines = b'{"number": 1, "title": "a", "body": "%s"}\n' % (b"x" * 4000)

    def upload() -> Any:
        file = SimpleUploadedFile("issues.jsonl", lines, "application/jsonl")
        return client.post("/repositories/upload/", {"file": file, "repository": "acme/rocket"})

    with no_room():
        answer = upload()
    assert answer.status_code == 503 and "disk is full" in answer.content.decode()
    assert not FetchRun.objects.exists() and not files_in(own_folder)
    assert upload().status_code == 302 and FetchRun.objects.count() == 1


@pytest.mark.django_db
def test_an_export_without_room_says_so_in_its_row_and_is_made_again_later(study: Study, own_folder: Path) -> None:
    def made() -> Export:
        export = request_export(seat=make.owner_seat(study), what="ratings", format="csv", send=False)
        export_jobs.work(export.pk)
        export.refresh_from_db()
        return export

    with no_room(10):
        failed = made()
    assert failed.state == "failed" and "Create the export again when there is space" in failed.error
    assert not files_in(own_folder)
    assert made().state == "done"


class DeafRedis:
    """A server that lets one connect and never says a word."""

    def __init__(self, server: socket.socket) -> None:
        self.server = server
        self._taken: list[socket.socket] = []

    def n_asked(self) -> int:
        """How many connections were made so far."""
        with suppress(BlockingIOError):
            while True:
                self._taken.append(self.server.accept()[0])
        return len(self._taken)


@pytest.fixture
def deaf_redis(settings: Settings) -> Iterator[DeafRedis]:
    with socket.create_server(("127.0.0.1", 0), backlog=50) as server:
        server.setblocking(False)
        place = f"redis://127.0.0.1:{server.getsockname()[1]}/0"
        options = settings.CACHES["default"]["OPTIONS"] | {"socket_timeout": 0.05}  # type: ignore[operator]
        settings.CACHES = {"default": settings.CACHES["default"] | {"LOCATION": place, "OPTIONS": options}}
        yield DeafRedis(server)


def test_a_redis_that_hangs_is_waited_for_once_and_then_left_alone(deaf_redis: DeafRedis) -> None:
    cache = caches["default"]
    assert cache.get("key", "nothing") == "nothing"
    assert deaf_redis.n_asked() == 1
    cache.set("key", 1)
    assert not cache.add("key", 1) and cache.get_many(["key"]) == {} and not cache.delete("key")
    with pytest.raises(ValueError):
        cache.incr("key")
    assert app.send_task("annotation.tasks.make_export", args=[1]) is None
    assert deaf_redis.n_asked() == 1


@pytest.mark.django_db
def test_people_label_while_redis_hangs(study: Study, deaf_redis: DeafRedis) -> None:
    client = Client()
    client.force_login(make.user("bob"))
    assert client.get(f"/studies/{study.slug}/rounds/1/label/").status_code == 200
    bob = Script("bob")
    at = bob.send("GET", "studies/study/rounds/1/next/").json()
    given = {"assignment": at["assignment"], "labels": {"symptom": ["crash"]}}
    assert bob.send("POST", "studies/study/annotations/", given).status_code == 201


def test_what_another_version_has_kept_counts_as_nothing() -> None:
    cache = caches["default"]
    cache.set("gone", 1.5)
    cache._cache.get_client(write=True).set(cache.make_key("gone"), b"\x80\x04\x8c\x06nowher\x8c\x04Gone\x93.")
    assert cache.get("gone") is None


def test_faults_of_concord_itself_are_no_outages() -> None:
    for error in (ProgrammingError("x"), ValueError("x"), FileNotFoundError(2, "x"), KeyError("x")):
        assert outage_of(error) is None
    for away in (OperationalError("x"), InterfaceError("x"), OSError(28, "No space left on device")):
        told = RuntimeError("x")
        told.__cause__ = away
        assert outage_of(told) is not None


@pytest.mark.django_db(transaction=True)
def test_a_page_over_the_limit_of_a_statement_says_so_and_the_next_one_answers(study: Study) -> None:
    client = Client()
    client.force_login(make.user("olga"))

    def slowly(execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        if "annotation_round" in sql:
            return execute("SELECT pg_sleep(30)", None, many, context)
        return execute(sql, params, many, context)

    with connection.cursor() as cursor:
        cursor.execute("SET statement_timeout = '100ms'")
    with connection.execute_wrapper(slowly):
        answer = client.get("/studies/study/")
    assert answer.status_code == 503 and b"took longer than the server allows" in answer.content
    assert client.get("/studies/study/").status_code == 200
    connection.close()


@pytest.mark.django_db(transaction=True)
def test_a_job_that_does_not_get_a_lock_says_what_a_request_says(study: Study) -> None:
    """Of jobs the limit is ten minutes; here it is a moment, on a real lock."""
    holder = connection.copy()
    with closing(holder):
        holder.set_autocommit(False)
        with holder.cursor() as cursor:
            cursor.execute("LOCK TABLE annotation_round IN ACCESS EXCLUSIVE MODE")
        with connection.cursor() as cursor:
            cursor.execute("SET lock_timeout = '50ms'")
            with pytest.raises(OperationalError) as stopped:
                cursor.execute("SELECT count(*) FROM annotation_round")
        assert outage_of(stopped.value) is BUSY_DATABASE
        holder.rollback()
    assert study.rounds.count() == 1
    connection.close()
