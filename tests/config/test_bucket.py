"""Files in a bucket of S3, asked over real HTTP: what a folder can, a bucket can; one that is away is waited for."""

import io
from collections.abc import Iterator
from functools import partial
from typing import Any

import boto3
import pytest
from django.core.cache import cache
from django.core.exceptions import ImproperlyConfigured
from django.core.files.base import ContentFile, File
from django.core.files.storage import default_storage
from django.test import Client
from django.utils import timezone
from moto.server import ThreadedMotoServer

from annotation import jobs
from annotation.exports import jobs as export_jobs
from annotation.exports.actions import remove_export, request_export
from annotation.imports.actions import workbooks
from annotation.models import Export, Study, Workbook
from annotation.rounds.actions.rounds import close_round
from annotation.transfer import jobs as transfer_jobs
from annotation.transfer.actions import life
from config import env
from ingest import run_steps
from ingest.actions import uploads
from ingest.actions.uploads import start_file_fetch
from ingest.models import FetchRun
from shared.errors import StorageAway
from tests import builders as make

KEYS = {"S3_REGION": "us-east-1", "S3_ACCESS_KEY": "some", "S3_SECRET_KEY": "body"}
ROWS = b'{"number":1,"title":"a"}\n{"number":2,"title":"b"}\n'


class Store:
    """A server of S3 with a bucket; it can be away, and come back at its address with what it held."""

    def __init__(self) -> None:
        self._server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
        self._server.start()
        _, self.port = self._server.get_host_and_port()
        client = boto3.client(
            "s3", endpoint_url=self.url, region_name="us-east-1", aws_access_key_id="a", aws_secret_access_key="b"
        )
        client.create_bucket(Bucket="concord")
        self.client = client

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def leave(self) -> None:
        self._server.stop()

    def come_back(self) -> None:
        self._server = ThreadedMotoServer(ip_address="127.0.0.1", port=self.port, verbose=False)
        self._server.start()

    def names(self) -> list[str]:
        return [each["Key"] for each in self.client.list_objects_v2(Bucket="concord").get("Contents", [])]


@pytest.fixture(scope="module")
def running_store() -> Iterator[Store]:
    store = Store()
    yield store
    store.leave()


@pytest.fixture
def store(running_store: Store, settings: Any, monkeypatch: pytest.MonkeyPatch, db: None) -> Store:
    for name, value in (KEYS | {"S3_BUCKET": "concord", "S3_ENDPOINT": running_store.url}).items():
        monkeypatch.setenv(name, value)
    found = env.files(settings.DATA_DIR)
    settings.STORAGES = settings.STORAGES | {"default": found}
    for name in running_store.names():
        running_store.client.delete_object(Bucket="concord", Key=name)
    return running_store


def made(study: Study) -> Export:
    export = request_export(seat=make.owner_seat(study), what="ratings", format="csv", send=False)
    export_jobs.work(export.pk)
    export.refresh_from_db()
    return export


@pytest.fixture
def study(db: None) -> Study:
    found = make.study()
    make.rate(make.open_round(found, 2), "item bob carol\n1 crash hang\n2 hang hang")
    return found


def test_a_file_is_handed_out_by_the_page_itself_and_its_bytes_are_those_that_were_made(
    store: Store, study: Study
) -> None:
    export = made(study)
    assert (export.state, store.names()) == ("done", [export.file.name])
    client = Client()
    client.force_login(make.user("olga"))
    answer = client.get(f"/studies/study/exports/{export.number}/download/")
    assert answer.status_code == 200 and answer["ETag"] == f'"{export.sha256}"'
    stored = store.client.get_object(Bucket="concord", Key=export.file.name)["Body"].read()
    assert b"".join(answer.streaming_content) == stored and int(answer["Content-Length"]) == len(stored)
    default_storage.delete(export.file.name)
    assert client.get(f"/studies/study/exports/{export.number}/download/").status_code == 404


def test_nobody_can_read_a_file_without_a_key(store: Store, study: Study) -> None:
    export = made(study)
    grants = store.client.get_object_acl(Bucket="concord", Key=export.file.name)["Grants"]
    assert not [grant for grant in grants if "AllUsers" in str(grant["Grantee"])]


def test_uploads_of_issues_and_of_ratings_are_read_out_of_the_bucket(store: Store, study: Study) -> None:
    run = start_file_fetch(
        user=None, private=False, file=ContentFile(ROWS, name="a.jsonl"), repository="o/file", send=False
    )
    book = workbooks.take_workbook(
        user=make.user("olga"),
        files=[ContentFile(b"item,rater,symptom\nx,bob,crash\nx,carol,hang\n", "made.csv")],
        seat=make.owner_seat(study),
    )
    workbooks.confirm_workbook(workbook=book, send=False)
    cache.clear()
    assert len(store.names()) == 2
    run_steps.work(run.pk)
    jobs.import_workbook(book.pk)
    run.refresh_from_db()
    book.refresh_from_db()
    assert (run.state, run.n_new, book.state) == ("done", 2, "done"), (run.error, book.error)


def test_a_file_of_the_same_name_stands_beside_the_other(store: Store) -> None:
    names = [default_storage.save("a/b.txt", ContentFile(text)) for text in (b"one", b"two")]
    assert len(set(names)) == 2
    assert [default_storage.open(name).read() for name in names] == [b"one", b"two"]


def test_a_large_file_passes_by_the_disk_and_not_through_memory(store: Store) -> None:
    size = 9 * 1024 * 1024
    name = default_storage.save("large", File(io.BytesIO(bytes(size))))
    with default_storage.open(name) as found:
        assert found.size == size and isinstance(found.file.fileno(), int)


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
def test_jobs_wait_for_a_bucket_that_is_away_and_go_on_when_it_is_back(store: Store, study: Study) -> None:
    run = start_file_fetch(
        user=None, private=False, file=ContentFile(ROWS, name="a.jsonl"), repository="o/file", send=False
    )
    book = workbooks.take_workbook(
        user=make.user("olga"),
        files=[ContentFile(b"item,rater,symptom\nx,bob,crash\nx,carol,hang\n", "made.csv")],
        seat=make.owner_seat(study),
    )
    workbooks.confirm_workbook(workbook=book, send=False)
    cache.clear()
    export = request_export(seat=make.owner_seat(study), what="ratings", format="csv", send=False)
    long_ago = timezone.now().replace(year=2020)
    store.leave()
    try:
        with pytest.raises(StorageAway):
            default_storage.open("large")
        run_steps.work(run.pk)
        jobs.import_workbook(book.pk)
        for _ in range(export_jobs.EXPORTS.tries_most + 1):
            export_jobs.work(export.pk)
            Export.objects.update(worked_at=long_ago)
            assert export_jobs.EXPORTS.sweep() == [export.pk]
        assert [each.state for each in fresh(run, book, export)] == ["waiting", "queued", "queued"]
        assert "file storage does not respond" in run.error and run.waiting_until is not None
        assert export.step == export_jobs.WAITS_FOR_STORAGE and book.n_attempts == 0
    finally:
        store.come_back()
    FetchRun.objects.update(waiting_until=long_ago)
    Workbook.objects.update(worked_at=long_ago)
    assert workbooks.WORKBOOKS.sweep(30) == [book.pk]
    run_steps.work(run.pk)
    jobs.import_workbook(book.pk)
    export_jobs.work(export.pk)
    assert [each.state for each in fresh(run, book, export)] == ["done"] * 3, (run.error, book.error, export.error)


def fresh(*rows: Any) -> tuple[Any, ...]:
    for row in rows:
        row.refresh_from_db()
    return rows


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"S3_ENDPOINT": "https://s3.example.org"}, "S3_BUCKET is empty"),
        ({"S3_BUCKET": "b", "S3_ENDPOINT": "s3.example.org"}, "S3_ENDPOINT is 's3.example.org'; write an address"),
        ({"S3_BUCKET": "b", "S3_ACCESS_KEY": "k"}, "one is missing; give both, or none"),
    ],
)
def test_settings_of_s3_that_do_not_fit_are_refused(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Any, given: dict[str, str], said: str
) -> None:
    for name, value in given.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(ImproperlyConfigured, match=said):
        env.files(tmp_path)


def test_what_is_deleted_while_the_bucket_is_away_leaves_no_file_behind(
    store: Store, study: Study, django_capture_on_commit_callbacks: Any
) -> None:
    seat, removed = make.owner_seat(study), made(study)
    book = workbooks.take_workbook(
        user=seat.user, files=[ContentFile(b"item,rater,symptom\nx,bob,crash\nx,carol,hang\n", "made.csv")], seat=seat
    )
    table = uploads.take_upload(
        user=seat.user, file=ContentFile(b"number,title\n1,It hangs\n", name="table.csv"), repository="o/table"
    )
    assert len(store.names()) == 3
    store.leave()
    try:
        with django_capture_on_commit_callbacks(execute=True):
            remove_export(seat=seat, export=removed)
        for throw_away in (partial(workbooks.throw_away, workbook=book), partial(uploads.throw_away, upload=table)):
            with pytest.raises(StorageAway):
                throw_away()
        assert export_jobs.discard_files() == 0
    finally:
        store.come_back()
    assert len(store.names()) == 3, "nothing is lost before it was thrown away"
    assert export_jobs.discard_files() == 1
    workbooks.throw_away(workbook=book)
    uploads.throw_away(upload=table)
    assert not store.names() and not fresh(removed)[0].file


def test_a_study_that_is_deleted_while_the_bucket_is_away_goes_with_its_files_later(store: Store, study: Study) -> None:
    close_round(seat=make.owner_seat(study), number=1, leave_open=True)
    whole = request_export(seat=make.owner_seat(study), what="study", send=False)
    export_jobs.work(whole.pk)
    assert len(store.names()) == 1
    deletion = life.delete_study(seat=make.owner_seat(study), typed="study", send=False)
    store.leave()
    try:
        transfer_jobs.work(deletion.pk)
        assert Study.objects.filter(pk=study.pk).exists() and fresh(deletion)[0].done_at is None
    finally:
        store.come_back()
    transfer_jobs.work(deletion.pk)
    assert not Study.objects.filter(pk=study.pk).exists() and not store.names()
