"""A backup of a Concord with a folder is restored into one with a bucket of S3, and the other way round."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.core.files.base import ContentFile
from django.core.files.storage import default_storage
from django.db import connection
from django.test import Client, override_settings

from annotation.exports import jobs as export_jobs
from annotation.exports.actions import request_export
from annotation.models import Export
from config import env
from config.backups import postgres
from config.backups.backup import make_backup
from config.backups.errors import BackupFailed, NotRestored
from config.backups.restore import restore_backup
from tests import builders as make
from tests.config.other_databases import empty_database, working_on
from tests.config.test_bucket import KEYS, Store

pytestmark = [pytest.mark.process, pytest.mark.django_db(transaction=True)]
OLD = "uploads/old.json"


@pytest.fixture(scope="module")
def store() -> Iterator[Store]:
    found = Store()
    yield found
    found.leave()


@pytest.fixture
def export(tmp_path: Path, settings: Any) -> Export:
    """One that was made in a Concord whose files lie in a folder; beside it a large file that an upload names."""
    settings.STORAGES = {**settings.STORAGES, "default": env.files(tmp_path / "files")}
    study = make.study()
    make.rate(make.open_round(study, 2), "item bob carol\n1 crash hang\n2 hang hang")
    made = request_export(seat=make.owner_seat(study), what="ratings", format="csv", send=False)
    export_jobs.work(made.pk)
    named("uploads/large.json", bytes(9 * 1024 * 1024))
    made.refresh_from_db()
    return made


def named(name: str, content: bytes) -> None:
    """A stored file that a row names."""
    default_storage.save(name, ContentFile(content))
    connection.cursor().execute(
        "INSERT INTO ingest_upload (file, name, requested, created_by_id, created_at)"
        " SELECT %s, 'x', '{}', id, now() FROM accounts_user LIMIT 1",
        [name],
    )


@contextmanager
def with_bucket(store: Store, data_dir: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """An empty Concord whose files lie in the empty bucket."""
    for name in store.names():
        store.client.delete_object(Bucket="concord", Key=name)
    with empty_database() as database, working_on(database, data_dir), monkeypatch.context() as patch:
        for variable, value in (KEYS | {"S3_BUCKET": "concord", "S3_ENDPOINT": store.url}).items():
            patch.setenv(variable, value)
        with override_settings(STORAGES={**settings.STORAGES, "default": env.files(data_dir)}):
            yield


def tables() -> dict[str, Any]:
    with postgres.own_connection("tests") as side:
        return postgres.count_and_sum(side)


def downloaded(export: Export) -> bytes:
    client = Client()
    client.force_login(make.user("olga"))
    answer = client.get(f"/studies/study/exports/{export.number}/download/")
    assert answer.status_code == 200
    return b"".join(answer.streaming_content)  # type: ignore[attr-defined]


def test_from_a_folder_into_a_bucket_and_back_every_file_and_row_is_what_it_was(
    export: Export, store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text, before = downloaded(export), tables()
    first = make_backup(tmp_path / "1.backup")
    with with_bucket(store, tmp_path / "there", monkeypatch):
        done = restore_backup(first.path)
        assert (done.n_files, done.manifest.missing, tables()) == (2, [], before)
        assert store.names() == sorted([export.file.name, "uploads/large.json"])
        assert not list((tmp_path / "there").rglob("*.csv"))
        second = make_backup(tmp_path / "2.backup")
        assert downloaded(export) == text
    assert {member.name: member.sha256 for member in second.manifest.under("files/")} == {
        member.name: member.sha256 for member in first.manifest.under("files/")
    }
    with empty_database() as database, working_on(database, tmp_path / "back"):
        restore_backup(second.path)
        assert tables() == before
        assert (tmp_path / "back/files" / export.file.name).read_bytes() == text
        assert (tmp_path / "back/files/uploads/large.json").stat().st_size == 9 * 1024 * 1024


def test_what_is_replaced_leaves_the_bucket_and_is_in_the_backup_made_of_it(
    export: Export, store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = make_backup(tmp_path / "1.backup")
    with with_bucket(store, tmp_path / "there", monkeypatch):
        restore_backup(made.path)
        named(OLD, b"[]")
        done = restore_backup(made.path, replace=True)
        assert done.replaced and OLD not in store.names()
        restore_backup(done.replaced, replace=True)
        assert store.client.get_object(Bucket="concord", Key=OLD)["Body"].read() == b"[]"


def test_a_bucket_that_is_away_is_named_and_nothing_is_restored_until_it_is_back(
    export: Export, store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = make_backup(tmp_path / "1.backup")
    with with_bucket(store, tmp_path / "there", monkeypatch):
        store.leave()
        try:
            with pytest.raises(NotRestored, match="storage of files does not answer.*The database is as it was"):
                restore_backup(made.path)
            assert tables() == {}
        finally:
            store.come_back()
        restore_backup(made.path)
        store.leave()
        try:
            with pytest.raises(BackupFailed, match=r"^No backup was made: the storage of files does not answer\.$"):
                make_backup(tmp_path / "2.backup")
        finally:
            store.come_back()
        assert not (tmp_path / "2.backup").exists()
