"""Data of every release are whole after the migrations, and say what they said; a backup is made before."""

import json
import lzma
import math
import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.core.management import CommandError, call_command
from django.db import connection
from django.db.migrations.recorder import MigrationRecorder

from accounts.models import User
from annotation.models import Export, Plan, Workbook
from config import embedded
from config.backups import postgres
from config.backups.archive import BackupArchive
from config.backups.backup import last_backup
from config.backups.restore import restore_backup
from config.backups.upgrade import upgrade
from tests.config.other_databases import empty_database, working_on
from tests.config.releases.said import said

FOLDER = Path(__file__).parent / "releases"
RELEASES = sorted(path.name.removesuffix(".sql.xz") for path in FOLDER.glob("*.sql.xz"))
N_FILES = {"0.1.0": 3, "0.2.0-536a578": 6}
pytestmark = [pytest.mark.process, pytest.mark.django_db(transaction=True), pytest.mark.timeout(600)]


@pytest.fixture(params=RELEASES)
def release(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """Django works on a database as this release left it; its version."""
    sql = lzma.decompress((FOLDER / f"{request.param}.sql.xz").read_bytes())
    with empty_database() as name:
        where = f"host={connection.settings_dict['HOST']} user={connection.settings_dict['USER']} dbname={name}"
        command = [embedded.postgres_program("psql"), "-qX", "-v", "ON_ERROR_STOP=1", "-1", "-f", "-", "-d", where]
        done = subprocess.run(command, input=sql.replace(b"CREATE SCHEMA public;\n", b""), capture_output=True)
        assert done.returncode == 0, done.stderr
        with working_on(name, tmp_path / "data"):
            yield request.param


def counts() -> dict[str, int]:
    """Rows of each table, but for those that migrations write.

    They queue all issues for the index of searches, and owners come to maintain what their studies screen by.
    """
    with postgres.own_connection("tests") as side:
        found = postgres.count_and_sum(side)
    return {
        name: table["rows"]
        for name, table in found.items()
        if name not in {*postgres.IN_EVERY_DATABASE, "ingest_unsearchable", "taxonomy_taxonomy_maintainers"}
    }


CHANGED_ON_PURPOSE = re.compile(
    r"/coefficients/(\d/(se|p_threshold)|\d/words/\d+/(earned|word)|\d/ci_(low|high|method))$"
    r"|/warnings(/\d+)?$|/confused_pairs/\d+/(a|b|gain|undefined)$|/left_out_because/\d+/reason$"
)
"""What the agreement page lists as reported differently (`annotation/agreement_report/queries/changed_statistics.py`).

And `earned`, which says nothing of the lowest class any more, the class of a value at the end of one, and the words of
warnings and reasons. Gains are those of the dimension's own coefficient; pairs with equal counts are sorted by them.
"""
OF_A_LABEL = ("round", "item", "part", "dimension")
"""Labels of a relabeling round that is being resolved count in it, and stand where its items do."""
ONE_CATEGORY = re.compile(r"\w+ used “.*” only, so kappa is 0 ")
KAPPA = re.compile(r"/(coefficients/[1-5]/(value|se|words|ci_low|ci_high|p_threshold)|.*/cohen_kappa)$")


def differences(was: Any, now: Any, place: str = "") -> list[str]:
    """Where something that was said then is said otherwise now; what came in addition is no difference."""
    if isinstance(was, dict) and isinstance(now, dict):
        return [each for key in was for each in differences(was[key], now.get(key), f"{place}/{key}")]
    if place.endswith("/labels"):
        was, now = (sorted(rows, key=lambda row: [row[name] for name in OF_A_LABEL]) for rows in (was, now))
    if isinstance(was, list) and isinstance(now, list) and len(was) == len(now):
        pairs = enumerate(zip(was, now, strict=True))
        return [each for number, (a, b) in pairs for each in differences(a, b, f"{place}/{number}")]
    if isinstance(was, float) and isinstance(now, float) and math.isclose(was, now, rel_tol=1e-12):
        return []  # another processor adds up in another order
    if was == now or CHANGED_ON_PURPOSE.search(place) or (was, now) == ("", "[]"):
        return []
    if place.endswith("/revision") and (was, now) == ("blind", "first"):
        return []  # of a relabeling round, whose raters see earlier labels; every other one is compared as it is
    if place.endswith("/undefined") and was and now:
        return []  # the reason in other words
    if (was is None and ONE_CATEGORY.match(str(now))) or (KAPPA.search(place) and now in (None, [])):
        return []
    return [f"{place}: {was!r} became {now!r}"]


def old_backups() -> tuple[list[str], list[str]]:
    """One more than are kept of those made before migrations, the oldest first; and others."""
    folder = settings.DATA_DIR / "backups"
    folder.mkdir()
    made = [f"before-0.1.{number}-20260101-000000.backup" for number in range(settings.BACKUPS_KEPT + 1)]
    others = ["mine.backup", "before-restore-20260101-000000.backup"]
    for number, name in enumerate([*made, *others]):
        (folder / name).touch()
        os.utime(folder / name, (number, number))
    return made, others


def test_labels_ratings_resolutions_and_agreement_of_a_release_are_what_they_were(release: str) -> None:
    before, told, (old, others) = counts(), list[str](), old_backups()
    upgrade(told.append)
    call_command("migrate", check_unapplied=True, verbosity=0)
    now = counts()
    now["accounts_serverevent"] -= 1  # the line about the backup
    assert differences(before, now) == [] and last_backup() is not None
    assert differences(json.loads(lzma.decompress((FOLDER / f"{release}.json.xz").read_bytes())), said()) == []
    assert Plan.objects.exists() and Workbook.objects.exists() and Export.objects.exclude(file="").exists()

    kept = {path.name for path in (settings.DATA_DIR / "backups").iterdir()}
    [backup] = (settings.DATA_DIR / "backups").glob(f"before-{settings.CONCORD_VERSION}-*")
    assert kept == {*others, *old[2:], backup.name}
    assert f"{backup} (" in told[0] and told[0].startswith("Backup before ")
    told.clear()
    upgrade(told.append)
    assert told == []

    with BackupArchive(backup) as read:
        n_missing = len(read.manifest.missing)
    assert n_missing == N_FILES[release]  # uploads, exports and workbooks, whose files are not kept with the tests
    done = restore_backup(backup, replace=True)
    assert done.n_migrations > 0 and differences(before, counts()) == []
    call_command("migrate", check_unapplied=True, verbosity=0)


@pytest.mark.parametrize("release", RELEASES[:1], indirect=True)
def test_without_a_backup_nothing_is_migrated(release: str) -> None:
    in_the_way = settings.DATA_DIR / "backups"
    in_the_way.write_text("")
    before = set(MigrationRecorder(connection).applied_migrations())
    with pytest.raises(CommandError, match=r"not migrated, because no backup could be made\. There is no place for it"):
        call_command("upgrade")
    assert set(MigrationRecorder(connection).applied_migrations()) == before

    MigrationRecorder(connection).record_applied("annotation", "9999_from_the_future")
    with pytest.raises(CommandError, match=r"newer than this one .*annotation\.9999_from_the_future"):
        call_command("upgrade")


COLUMNS = """
    SELECT table_name, column_name FROM information_schema.columns WHERE table_schema = 'public'"""
MUST_BE_GIVEN = (
    COLUMNS
    + """
    AND is_nullable = 'NO' AND column_default IS NULL AND is_identity = 'NO' AND is_generated = 'NEVER'"""
)


def test_a_release_can_go_on_writing_while_its_tables_are_already_those_of_this_version(release: str) -> None:
    """It fills in the columns that it knows; the database fills in the others."""
    with connection.cursor() as cursor:
        cursor.execute(COLUMNS)
        known = set(cursor.fetchall())
    upgrade([].append)
    with connection.cursor() as cursor:
        cursor.execute(MUST_BE_GIVEN)
        tables = {table for table, _ in known}
        assert {(table, column) for table, column in cursor.fetchall() if table in tables} <= known

        columns = sorted(column for table, column in known if table == "accounts_user" and column != "id")
        row = {column: f"OLD.{column}" for column in columns} | {"username": "'newcomer'"}
        cursor.execute(
            f"INSERT INTO accounts_user ({', '.join(columns)}) "
            f'SELECT {", ".join(row[column] for column in columns)} FROM accounts_user "OLD" LIMIT 1'.replace(
                "OLD.", '"OLD".'
            )
        )
    added = User.objects.get(username="newcomer")
    assert (added.theme, added.keys) == ("", {}) or "theme" in columns
