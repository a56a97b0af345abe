"""A backup is one whole file made while people work, and what is restored from it is identical, or nothing happened."""

import hashlib
import io
import json
import os
import random
import resource
import shutil
import stat
import threading
import zipfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import psycopg2
import pytest
from django.conf import settings
from django.contrib.contenttypes.models import ContentType
from django.core.files.base import ContentFile
from django.core.files.storage import default_storage
from django.core.management import CommandError, call_command
from django.db import DatabaseError, connection, transaction
from pytest_django.fixtures import Settings
from redis import Redis

from accounts.models import User
from annotation.models import Annotation, AuditEvent, Export, Study
from config.backups import archive, maintenance_lock, postgres, restore
from config.backups.archive import ArchiveMember, ArchiveWriter, BackupArchive, Manifest
from config.backups.backup import last_backup, make_backup
from config.backups.errors import BackupFailed, Damaged, NoDirectWay, NotRestored
from config.backups.restore import restore_backup
from tests import builders as make
from tests.config.other_databases import empty_database, working_on

pytestmark = [pytest.mark.process, pytest.mark.django_db(transaction=True)]
FILE = "exports/2026/11/labels.csv"


@pytest.fixture(autouse=True)
def own_files(tmp_path: Path, settings: Settings) -> None:
    """The data folder of these tests, with a secret key; the servers are those of all tests."""
    data_dir = tmp_path / "data"
    data_dir.mkdir()
    (data_dir / "secret_key").write_text("k" * 64)
    place = {**settings.STORAGES["default"], "OPTIONS": {"location": data_dir / "files"}}
    settings.STORAGES = {**settings.STORAGES, "default": place}


@pytest.fixture
def study() -> Study:
    """Two raters who agree once and differ once, and an export with its file."""
    study = make.study()
    round_ = make.open_round(study, 3)
    make.rate(round_, "item bob carol\n1 crash crash\n2 hang crash")
    default_storage.save(FILE, ContentFile(b"item,value\n" * 10_000))
    Export.objects.create(
        study=study, number=1, what="labels", format="csv", state="done", file=FILE, sha256="0" * 64, n_bytes=1,
        created_by=study.created_by,
    )  # fmt: skip
    return study


@contextmanager
def elsewhere(tmp_path: Path, name: str = "there") -> Iterator[Path]:
    """An empty Concord to restore into; its data folder."""
    with empty_database() as database, working_on(database, tmp_path / name):
        yield tmp_path / name


def sums() -> dict[str, Any]:
    with postgres.own_connection("tests") as side:
        return {**postgres.count_and_sum(side), **postgres.objects(side)}


def counted() -> tuple[int, ...]:
    return tuple(model.objects.count() for model in (User, Study, Annotation, AuditEvent))


def test_what_is_restored_elsewhere_is_identical_and_goes_on(study: Study, tmp_path: Path) -> None:
    before, rows, key = sums(), counted(), (settings.DATA_DIR / "secret_key").read_text()
    made = make_backup(tmp_path / "one.backup")
    assert stat.S_IMODE(made.path.stat().st_mode) == 0o600
    assert (made.n_files, made.manifest.missing) == (1, [])
    assert last_backup() is not None and last_backup()["path"] == str(made.path)  # type: ignore[index]
    with elsewhere(tmp_path) as data_dir:
        with Redis.from_url(settings.REDIS_URL) as redis:
            redis.mset({"concord:1:old": 1, "celery": 1, "other": 1})
            told: list[str] = []
            done = restore_backup(made.path, say=told.append)
            assert redis.keys() == [b"other"]
            redis.delete("other")
        assert done.as_json()["verified"] and done.n_migrations == 0 and done.replaced is None
        assert sums() == before and counted() == rows
        assert default_storage.open(FILE).read() == b"item,value\n" * 10_000
        assert (data_dir / "secret_key").read_text() == key
        ContentType.objects.clear_cache()
        make.user("newcomer")  # sequences go on
        with pytest.raises(DatabaseError, match="can't be changed"), transaction.atomic():
            Annotation.objects.update(memo="other")
        assert sums() != before
    differing = {name for name, found in sums().items() if found != before[name]}
    assert differing == {"accounts_serverevent"}  # a line about the backup


def test_rows_that_belong_together_are_both_in_a_backup_or_neither(study: Study, tmp_path: Path) -> None:
    over = threading.Event()

    def work() -> None:
        number = 0
        while not over.wait(0.001):
            number += 1
            with transaction.atomic():
                user = User.objects.create(username=f"u{number}")
                AuditEvent.objects.create(user=user, verb="came", study=study)
        connection.close()

    worker = threading.Thread(target=work)
    worker.start()
    try:
        made = make_backup(tmp_path)
    finally:
        over.set()
        worker.join()
    with elsewhere(tmp_path):
        restore_backup(made.path)
        came = AuditEvent.objects.filter(verb="came").values_list("user__username", flat=True)
        assert sorted(came) == sorted(User.objects.filter(username__startswith="u").values_list("username", flat=True))


def test_a_database_that_holds_anything_is_left_alone_or_backed_up_first(study: Study, tmp_path: Path) -> None:
    made = make_backup(tmp_path)
    with elsewhere(tmp_path) as data_dir:
        restore_backup(made.path)
        make.user("someone")
        default_storage.save("uploads/old.json", ContentFile(b"[]"))
        connection.cursor().execute(
            "INSERT INTO ingest_upload (file, name, requested, created_by_id, created_at)"
            " SELECT 'uploads/old.json', 'old', '{}', id, now() FROM accounts_user LIMIT 1"
        )
        before = sums()
        with pytest.raises(NotRestored, match=r"not empty \(accounts_.*accounts_user.*--replace"):
            restore_backup(made.path)
        assert sums() == before
        done = restore_backup(made.path, replace=True)
        assert done.replaced and done.replaced.parent == data_dir / "backups"
        assert not default_storage.exists("uploads/old.json")
        restore_backup(done.replaced, replace=True)
        assert sums() == before and default_storage.exists("uploads/old.json")


@pytest.fixture
def whole(study: Study, tmp_path: Path) -> Path:
    return make_backup(tmp_path / "whole.backup").path


def test_a_file_that_is_cut_off_or_changed_is_refused_before_anything_is_touched(whole: Path, tmp_path: Path) -> None:
    draw = random.Random(7)
    text = whole.read_bytes()
    spoiled = tmp_path / "spoilt.backup"
    before = sums()
    for length in (0, 10, len(text) // 2, len(text) - 1):
        spoiled.write_bytes(text[:length])
        with pytest.raises(Damaged):
            restore_backup(spoiled, replace=True)
    with BackupArchive(whole) as good:
        contents = {member.name: member.sha256 for member in good.manifest.members}
    for _ in range(40):
        place = draw.randrange(len(text))
        changed = bytearray(text)
        changed[place] ^= 1 << draw.randrange(8)
        spoiled.write_bytes(changed)
        try:
            with BackupArchive(spoiled) as read:
                read.check()
                assert {member.name: member.sha256 for member in read.manifest.members} == contents, place
        except Damaged:
            pass
    assert sums() == before
    with pytest.raises(Damaged, match="not a Concord backup"):
        restore_backup(Path(__file__))
    with pytest.raises(Damaged, match="can't be read: No such file"):
        restore_backup(tmp_path / "none")


@pytest.mark.parametrize(
    "name", ["files/../../x", "files//etc/x", "files/", "kept/../x", "files/a\\b", "files/./x", "files/x\0y"]
)
def test_a_file_whose_name_leads_elsewhere_is_refused_by_its_name(name: str, tmp_path: Path) -> None:
    with (tmp_path / "made.backup").open("wb") as file, ArchiveWriter(file) as writer:
        writer.members.append(ArchiveMember(name=name, n_bytes=1, sha256="x"))
        writer.close(Manifest(id="x", concord="0.2.0", made_at="x", postgres=18, members=writer.members))
    with pytest.raises(Damaged, match="it has a file named"):
        BackupArchive(tmp_path / "made.backup")


@pytest.mark.parametrize("manifest", ["[]", "{}", '{"members": [{"name": "x"}]}', '{"members": 7}', "7", "no JSON"])
def test_a_manifest_that_is_none_is_refused_in_a_sentence(manifest: str, tmp_path: Path) -> None:
    path = tmp_path / "made.backup"
    with zipfile.ZipFile(path, "w") as made:
        made.writestr(archive.MANIFEST, manifest)
        made.comment = f"Concord backup, manifest sha256:{hashlib.sha256(manifest.encode()).hexdigest()}".encode()
    with pytest.raises(Damaged, match="its manifest can't be read"):
        BackupArchive(path)


def test_a_backup_of_a_newer_concord_is_refused(whole: Path, settings: Settings) -> None:
    settings.CONCORD_VERSION = "0.1.9"
    with pytest.raises(NotRestored, match=r"made by Concord .* and this is 0\.1\.9, which is older"):
        restore_backup(whole, replace=True)


def test_a_dump_that_does_not_give_what_was_counted_changes_nothing(whole: Path, tmp_path: Path) -> None:
    with BackupArchive(whole) as backup, elsewhere(tmp_path):
        restore_backup(whole)
        make.user("someone")
        before = sums()
        wrong = {**backup.manifest.tables, "accounts_user": {"rows": 2, "checksum": "1"}}
        with pytest.raises(
            postgres.ToolFailed, match=r"not what was backed up: accounts_user \(5 rows, there were 2\)"
        ):
            postgres.rebuild(backup.stream(archive.DUMP), backup="x", expected=wrong)
        half = io.BytesIO(b"".join(backup.pieces(archive.DUMP))[:-5000])
        with pytest.raises(postgres.ToolFailed):
            postgres.rebuild(half, backup="x", expected=backup.manifest.tables)
        assert sums() == before


def test_the_id_of_a_backup_is_a_text_for_the_database() -> None:
    told = postgres._last_words("x'; DROP TABLE accounts_user; --", {})
    assert "AS SELECT 'x''; DROP TABLE accounts_user; --'::text AS backup" in told


def test_lines_that_other_servers_do_not_know_are_left_out_but_never_from_rows() -> None:
    head = b"SET lock_timeout = 0;\nSET transaction_timeout = 0;\nCREATE TABLE public.t (a text);\n"
    option = b"ALTER TABLE ONLY public.t ALTER COLUMN a SET (n_distinct=5);\n"
    default = b"ALTER TABLE ONLY public.t ALTER COLUMN a SET DEFAULT 'x';\n"
    rows = b"COPY public.t (a) FROM stdin;\n" + option + b"SET transaction_timeout = 0;\n" + b"\\.\n"
    told = b"".join(postgres._understood_everywhere(io.BytesIO(head + option + default + rows)))
    assert told == head.replace(b"SET transaction_timeout = 0;\n", b"") + default + rows


def test_a_restore_that_was_killed_leaves_nothing_and_can_be_run_again(whole: Path, tmp_path: Path) -> None:
    with elsewhere(tmp_path) as data_dir, BackupArchive(whole) as backup:
        environment = {
            "DATABASE_URL": f"postgresql://{settings.DATABASES['default']['USER']}@/"
            f"{connection.settings_dict['NAME']}?host={connection.settings_dict['HOST']}",
            "REDIS_URL": settings.REDIS_URL,
            "DATA_DIR": str(data_dir),
        }
        code = (
            "import os, signal, django; django.setup()\n"
            "from pathlib import Path\n"
            "from config.backups import postgres, restore\n"
            "def die(*_): os.kill(os.getpid(), signal.SIGKILL)\n"
            "{where} = die\n"
            f"restore.restore_backup(Path({str(whole)!r}))\n"
        )
        _run(code.format(where="postgres._last_words"), environment)
        with postgres.own_connection("tests") as side:
            wait_for_rest(side)
            assert postgres.tables(side) == []
        _run(code.format(where="restore._empty_redis"), environment)
        with postgres.own_connection("tests") as side:
            wait_for_rest(side)
            assert postgres.unfinished_restore(side) == backup.manifest.id
        make.user("came in between")
        told: list[str] = []
        restore_backup(whole, say=told.append)
        assert "stopped after the database was there" in " ".join(told)
        assert User.objects.filter(username="came in between").exists()
        with pytest.raises(NotRestored, match="not empty"):
            restore_backup(whole)


def _run(code: str, environment: dict[str, str]) -> None:
    import subprocess
    import sys

    done = subprocess.run([sys.executable, "-c", code], check=False, env={**os.environ, **environment}, timeout=60)
    assert done.returncode == -9


def wait_for_rest(side: Any) -> None:
    """Until no other process is connected: a server process notices a little later that its client is gone."""
    from tests.site import wait_until

    wait_until(lambda: not postgres.other_connections(side), "the database is left alone")


def test_while_others_work_on_the_database_nothing_is_restored(
    whole: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(restore, "OTHERS_SECONDS", 0.1)
    busy = pytest.raises(NotRestored, match=r"celery at this machine .* Stop web, worker and beat")
    with elsewhere(tmp_path), closing(psycopg2.connect(**_parameters(), application_name="celery")), busy:
        restore_backup(whole)


def _parameters() -> dict[str, Any]:
    return {
        name: connection.settings_dict[key] for name, key in (("dbname", "NAME"), ("user", "USER"), ("host", "HOST"))
    }


def test_a_running_up_steps_aside_for_a_restore_and_no_two_restore_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    serving = maintenance_lock.ServingClaim(tmp_path)
    assert serving.take() and not maintenance_lock.is_wanted(tmp_path)
    monkeypatch.setattr(maintenance_lock, "ASIDE_SECONDS", 0.1)
    monkeypatch.setattr(maintenance_lock, "LOOK_SECONDS", 0.1)
    with pytest.raises(maintenance_lock.NotAlone, match="does not step aside"), maintenance_lock.alone(tmp_path):
        pass
    serving.leave()
    with maintenance_lock.alone(tmp_path):
        assert maintenance_lock.is_wanted(tmp_path) and not serving.take()
        with pytest.raises(maintenance_lock.NotAlone, match="Another restore"), maintenance_lock.alone(tmp_path):
            pass
    assert serving.take()
    serving.leave()


def test_a_full_disk_is_said_and_no_half_file_stays(study: Study, tmp_path: Path) -> None:
    folder = tmp_path / "small"
    folder.mkdir()
    least, most = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (30_000, most))
    try:
        with pytest.raises(CommandError, match=r"can't be written: File too large\. Nothing is left of it"):
            call_command("backup", str(folder))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (least, most))
    assert list(folder.iterdir()) == []


def test_a_path_is_a_folder_or_a_new_name_or_an_earlier_backup(study: Study, tmp_path: Path) -> None:
    other = tmp_path / "thesis.txt"
    other.write_text("years of work")
    with pytest.raises(BackupFailed, match="is not a Concord backup, so it was not overwritten"):
        make_backup(other)
    with pytest.raises(BackupFailed, match="There is no folder"):
        make_backup(tmp_path / "none" / "x")
    killed = tmp_path / f"{archive.HALF}x.half"
    killed.write_bytes(b"PK")
    first = make_backup(tmp_path / "nightly")
    assert make_backup(tmp_path / "nightly").sha256 != first.sha256
    assert not killed.exists()
    named = make_backup(tmp_path).path
    assert named.parent == tmp_path and named.name.startswith("concord-2") and named.suffix == ".backup"


def test_a_file_that_vanished_is_reported_by_both_commands(study: Study, tmp_path: Path) -> None:
    default_storage.delete(FILE)
    out = io.StringIO()
    call_command("backup", str(tmp_path / "x"), as_json=True, stdout=out)
    told = json.loads(out.getvalue())
    assert (told["missing"], told["files"]) == ([FILE], 0)
    assert told["tables"]["annotation_study"]["rows"] == 1 and len(told["sha256"]) == 64 and told["bytes"] > 1000
    with elsewhere(tmp_path):
        out = io.StringIO()
        call_command("restore", str(tmp_path / "x"), as_json=True, stdout=out)
        assert json.loads(out.getvalue())["missing"] == [FILE]


def test_an_empty_database_and_a_pgbouncer_alone_are_not_backed_up(tmp_path: Path) -> None:
    with elsewhere(tmp_path), pytest.raises(CommandError, match="nothing to back up"):
        call_command("backup", str(tmp_path / "x"))
    connection.settings_dict["DISABLE_SERVER_SIDE_CURSORS"] = True
    try:
        with pytest.raises(NoDirectWay, match="DIRECT_DATABASE_URL"):
            make_backup(tmp_path / "x")
    finally:
        connection.settings_dict["DISABLE_SERVER_SIDE_CURSORS"] = False
    assert not (tmp_path / "x").exists() and shutil.disk_usage(tmp_path)
