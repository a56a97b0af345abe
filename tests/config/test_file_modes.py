"""File modes: nobody else on the machine reads what Concord stores, after fresh starts as root and as a plain user."""

import json
import os
import pwd
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from io import StringIO
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from django.core.management import call_command
from django.test import Client
from pytest_django.fixtures import Settings

from config import gunicorn
from config.backups.stored_files import put_data_file
from shared import file_modes
from shared.storage_folder import Folder
from tests import builders as make
from tests.config.test_up import BASE_DIR, _environment, _free_port
from tests.config.test_up import _manage as manage

pytestmark = pytest.mark.timeout(240)
NOBODY = 65_534
IS_ROOT = os.geteuid() == 0
as_root = pytest.mark.skipif(not IS_ROOT, reason="becoming other users needs root")
ISSUES = json.dumps({"number": 1, "title": "It crashes", "body": "…", "state": "open", "user": "ann"}) + "\n"
FILL = f"""
from io import BytesIO
from django.core.files import File
from annotation.core.access import get_seat
from annotation.exports.actions import request_export
from annotation.exports.jobs import work
from ingest.actions.uploads import start_file_fetch
from tests import builders as make

olga = make.user("olga")
start_file_fetch(user=olga, file=File(BytesIO({ISSUES.encode()!r}), name="issues.jsonl"), repository="acme/rocket")
seat = get_seat(olga, make.study(owner="olga").slug)
export = request_export(seat=seat, what="labels", format="csv", send=False)
work(export.pk)
export.refresh_from_db()
print("export", export.state)
"""


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder that everyone can list, unlike pytest's own."""
    place = Path(tempfile.mkdtemp(prefix="concord-modes-"))
    place.chmod(0o755)
    (place / "for everyone").write_text("the control")
    (place / "for everyone").chmod(0o644)
    yield place
    shutil.rmtree(place)


def as_other(uid: int, ask: Callable[[], Any]) -> Any:
    """What a function gives that runs as another user, in a process of its own without capabilities."""
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        try:
            os.setgroups([])
            os.setgid(uid)
            os.setuid(uid)
            os.write(writing, json.dumps(ask()).encode())
        finally:
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as said:
        found = json.load(said)
    os.waitpid(child, 0)
    return found


def readable(paths: list[str]) -> list[str]:
    """Those that can be listed, read or written."""
    found = []
    for path in paths:
        for kind in (os.R_OK, os.W_OK):
            if os.access(path, kind):
                found.append(path)
    return sorted(set(found))


def everything(top: Path) -> list[str]:
    return [str(top), *(str(path) for path in top.rglob("*"))]


def modes(top: Path) -> dict[str, str]:
    """What is open to others, without what is PostgreSQL's own."""
    return {
        str(path): oct(stat.S_IMODE(path.lstat().st_mode))
        for path in [top, *top.rglob("*")]
        if "postgres" not in path.relative_to(top).parts and path.lstat().st_mode & 0o077
    }


def started(command: list[str], data_dir: Path, said_at_last: str = "Ctrl-C", **how: Any) -> subprocess.Popen[str]:
    process = subprocess.Popen(
        [*command, "manage.py", "up", "--no-demo", "--port", str(_free_port())],
        cwd=BASE_DIR,
        env=_environment(data_dir, 8000),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        umask=0o022,
        **how,
    )
    said = ""
    for line in process.stdout or []:
        said += line
        if said_at_last in line:
            return process
    raise AssertionError(said)


def stopped(process: subprocess.Popen[str]) -> None:
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)


@pytest.mark.process
@pytest.mark.slow
@as_root
def test_after_a_fresh_start_as_root_nobody_else_reads_or_lists_anything_stored(folder: Path) -> None:
    data_dir = folder / "new" / "data"
    process = started([sys.executable], data_dir)
    try:
        filled = manage("shell", "-v", "0", "-c", FILL, data_dir=data_dir)
        assert "export done" in filled.stdout, filled.stdout + filled.stderr
        paths = everything(data_dir)
        assert any("/files/" in path and path.endswith(".csv") for path in paths) and len(paths) > 1000
        control = str(folder / "for everyone")
        assert as_other(NOBODY, lambda: readable([control, *paths])) == [control]
        assert stat.S_IMODE(data_dir.stat().st_mode) == 0o710, "PostgreSQL's user passes by its group"
        assert modes(data_dir) == {str(data_dir): "0o710"}
        assert (data_dir / "postgres").stat().st_uid != 0
    finally:
        stopped(process)
    assert set(modes(data_dir)) == {str(data_dir)}


@pytest.mark.process
@pytest.mark.slow
@as_root
def test_a_fresh_start_as_a_plain_user_works_and_leaves_nothing_open(folder: Path) -> None:
    plain = next(each for each in pwd.getpwall() if 0 < each.pw_uid < NOBODY and each.pw_name != "pgserver")
    os.chown(folder, plain.pw_uid, plain.pw_gid)
    data_dir = folder / "data"
    # The interpreter may lie in a closed folder of root's: the user may read everything, and write what is their own.
    passage = ["--inh-caps", "+dac_read_search", "--ambient-caps", "+dac_read_search"]
    become = ["setpriv", "--reuid", str(plain.pw_uid), "--regid", str(plain.pw_gid), "--clear-groups", *passage]
    process = started([*become, sys.executable], data_dir)
    try:
        assert {path.stat().st_uid for path in map(Path, everything(data_dir))} == {plain.pw_uid}
        assert stat.S_IMODE(data_dir.stat().st_mode) == 0o700
        assert modes(data_dir) == {}
        assert as_other(NOBODY, lambda: readable(everything(data_dir))) == []
    finally:
        stopped(process)


def test_what_was_stored_open_is_closed_and_the_rest_is_left_alone(tmp_path: Path) -> None:
    data_dir = tmp_path / "data"
    for name in ("files/a/b", "logs", "backups", "locks", "a person's own"):
        (data_dir / name).mkdir(parents=True)
        (data_dir / name / "file").touch()
    (data_dir / "secret_key").touch()
    for path in [data_dir, *data_dir.rglob("*")]:
        path.chmod(0o755 if path.is_dir() else 0o666)
    (tmp_path / "elsewhere").touch()
    (tmp_path / "elsewhere").chmod(0o644)
    (data_dir / "files" / "link").symlink_to(tmp_path / "elsewhere")
    found = file_modes.openings(data_dir)
    assert found.n == 12 and str(data_dir) in found.first
    assert "12 stored files and folders are open to other users of this machine" in found.sentence()
    assert not file_modes.close_to_others(data_dir)
    assert not file_modes.openings(data_dir)
    assert stat.S_IMODE((data_dir / "files/a/b/file").stat().st_mode) == 0o600
    assert stat.S_IMODE((data_dir / "files/a/b").stat().st_mode) == 0o700
    assert stat.S_IMODE((data_dir / "a person's own/file").stat().st_mode) == 0o666
    assert stat.S_IMODE((tmp_path / "elsewhere").stat().st_mode) == 0o644


def test_the_web_server_closes_what_was_stored_open_when_it_starts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "data" / "files").mkdir(parents=True)
    stored = tmp_path / "data" / "files" / "ratings.csv"
    stored.touch()
    for path in (tmp_path / "data", stored.parent):
        path.chmod(0o755)
    stored.chmod(0o644)
    monkeypatch.setattr(gunicorn, "DATA_DIR", tmp_path / "data")
    warned: list[str] = []
    server = SimpleNamespace(log=SimpleNamespace(warning=lambda *said: warned.append(said[0] % said[1:])))
    gunicorn.on_starting(server)
    assert modes(tmp_path / "data") == {}
    assert warned == []


def test_a_folder_for_everyone_and_one_that_has_the_code_in_it_stay_as_they_are(tmp_path: Path) -> None:
    tmp_path.chmod(0o1777)
    assert not file_modes.openings(tmp_path)
    file_modes.close_to_others(tmp_path)
    file_modes.let_group_pass(tmp_path, 12)
    assert stat.S_IMODE(tmp_path.stat().st_mode) == 0o1777
    assert not file_modes._is_closable(BASE_DIR.parent)


def test_a_data_folder_that_another_user_made_where_everyone_may_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder := tmp_path / "trial").mkdir(mode=0o777)
    if os.geteuid() == 0:
        os.chown(folder, 4711, -1)
    else:
        monkeypatch.setattr(os, "geteuid", lambda: 4711)
    file_modes.make_data_folder(folder)
    tmp_path.chmod(0o1777)
    with pytest.raises(PermissionError, match="Another user made this folder"):
        file_modes.make_data_folder(folder)


def test_a_restored_key_is_not_written_into_a_file_that_lies_there(tmp_path: Path, settings: Settings) -> None:
    settings.DATA_DIR = tmp_path
    (planted := tmp_path / "demo-sign-ins.json.restored").touch()
    planted.chmod(0o666)
    with planted.open() as reader:
        put_data_file("demo-sign-ins.json", b"[]")
        assert reader.read() == "" and (tmp_path / "demo-sign-ins.json").read_text() == "[]"
    assert stat.S_IMODE((tmp_path / "demo-sign-ins.json").stat().st_mode) == 0o600


def test_stored_files_are_their_owners_alone_whatever_the_umask_is(tmp_path: Path) -> None:
    from django.core.files.base import ContentFile

    before = os.umask(0)
    try:
        name = Folder(location=tmp_path / "files").save("exports/2026/a.csv", ContentFile(b"x"))
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "files" / name).stat().st_mode) == 0o600
    assert stat.S_IMODE((tmp_path / "files/exports").stat().st_mode) == 0o700


@pytest.mark.django_db
@pytest.mark.parametrize("umask", [0o022, 0o027, 0o007, 0o077])
def test_a_file_that_a_person_asks_for_follows_their_umask(
    umask: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, settings: Settings
) -> None:
    study = make.study(owner="olga")
    monkeypatch.setattr(file_modes._Caller, "umask", umask)
    settings.DATA_DIR = tmp_path / "data"
    (tmp_path / "data").mkdir()
    for out, mode in ((tmp_path / "labels.csv", 0o666 & ~umask), (tmp_path / "data" / "labels.csv", 0o600)):
        call_command("export", study.slug, "--out", str(out), stdout=StringIO())
        assert stat.S_IMODE(out.stat().st_mode) == mode


def test_a_command_of_a_shell_remembers_the_umask_and_works_under_its_own(tmp_path: Path) -> None:
    code = "from shared import file_modes as f; import os; print(oct(f.umask_of_caller()), oct(os.umask(0)))"
    done = subprocess.run(
        [sys.executable, "-c", f"import config.settings; {code}"],
        cwd=BASE_DIR,
        env=_environment(tmp_path / "data", 8000),
        capture_output=True,
        text=True,
        umask=0o026,
        check=True,
    )
    assert done.stdout.split() == ["0o26", "0o77"]
    assert modes(tmp_path / "data") == {}


def test_collected_static_files_can_be_read_by_the_user_who_serves_them(tmp_path: Path, settings: Settings) -> None:
    settings.STATIC_ROOT = tmp_path / "collected"
    (tmp_path / "collected" / "css").mkdir(parents=True)
    from django.contrib.staticfiles.storage import storages

    storage = storages.create_storage(settings.STORAGES["staticfiles"])
    assert (storage.file_permissions_mode, storage.directory_permissions_mode) == (0o644, 0o755)


@pytest.mark.slow
@pytest.mark.django_db
def test_the_deployment_check_and_the_operators_page_show_what_is_open(tmp_path: Path, settings: Settings) -> None:
    settings.DATA_DIR = tmp_path / "data"
    (tmp_path / "data" / "logs").mkdir(parents=True)
    (tmp_path / "data").chmod(0o700)
    staff = Client()
    staff.force_login(make.user("stan", staff=True))
    told = StringIO()
    call_command("check", tags=["security"], deploy=True, stderr=told, stdout=told)
    assert "concord.W001" not in told.getvalue()
    assert "other users of this machine" not in staff.get("/operations/").content.decode()

    log = tmp_path / "data" / "logs" / "web.log"
    log.touch()
    log.chmod(0o644)
    told = StringIO()
    call_command("check", tags=["security"], deploy=True, stderr=told, stdout=told)
    assert f"1 stored file or folder is open to other users of this machine: {log}." in told.getvalue()
    assert f"chmod -R go-rwx {tmp_path}/data/logs" in told.getvalue()
    page = staff.get("/operations/").content.decode()
    assert "1 stored file or folder can be read or listed by other users of this machine" in page
    assert str(log) in page
