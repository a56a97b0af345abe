"""A study as one file: out of one database and into an empty one, beside pg_dump and pg_restore; memory of each."""

import json
import os
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from django.core.files import File
from django.core.management import call_command
from django.db import connection, transaction

from annotation.models import Annotation, Study
from annotation.queries.whole import counts
from bench.bulk import bring_in, two_raters
from bench.fetch import Writer, made_up
from bench.ground import N_CATEGORIES, new_study, row, timed, user
from config import embedded
from ingest.actions.fetches import run_now
from ingest.actions.uploads import start_file_fetch
from tests.config.elsewhere import empty_database, working_on

WITH_ISSUES = """
    UPDATE annotation_item t SET issue_id = i.id, snapshot_id = i.current_snapshot_id
    FROM ingest_issue i WHERE t.study_id = %s AND i.number = substr(t.identifier, 6)::int + 1;
    UPDATE annotation_annotation a SET snapshot_id = t.snapshot_id
    FROM annotation_assignment s JOIN annotation_item t ON t.id = s.item_id
    WHERE s.id = a.assignment_id AND t.study_id = %s
"""


def measure(size: int, folder: Path) -> list[dict[str, Any]]:
    """With two answers each to as many issues, whose texts and comments go along."""
    with ExitStack() as stack:
        here, there, restored = (stack.enter_context(empty_database()) for _ in range(3))
        with working_on(here, folder / "whole"):
            call_command("migrate", verbosity=0)
            study = _made(size, folder)
            n_answers = Annotation.objects.count()
            n_rows = sum(counts(study).values())
        with working_on(there, folder / "whole"):
            call_command("migrate", verbosity=0)
            user("owner")
        file, dump = folder / "whole.zip", folder / "whole.dump"
        out_seconds, out_megabytes = _command(folder, here, "export", study.slug, "--what", "study", "--out", str(file))
        in_seconds, in_megabytes = _command(folder, there, "import_study", str(file), "--owner", "owner")
        with timed() as dumped:
            _tool("pg_dump", "--format=custom", "--compress=gzip:6", f"--file={dump}", "-d", _address(folder, here))
        with timed() as put_back:
            _tool("pg_restore", "--no-owner", "--exit-on-error", "-d", _address(folder, restored), dump)
        with working_on(there, folder / "whole"):
            assert Annotation.objects.count() == n_answers
        megabytes = file.stat().st_size / 1e6
        file.unlink()
        dump.unlink()
    rows = []
    for what, seconds, memory, reference, tool in (
        ("out", out_seconds, out_megabytes, dumped(), "pg_dump of the database"),
        ("in, on another server", in_seconds, in_megabytes, put_back(), "pg_restore of it"),
    ):
        said = f"{seconds:.1f} s, {n_rows / seconds:,.0f} rows/s, {memory:.0f} MB memory at most, {megabytes:.0f} MB"
        what = f"a study of {n_answers:,} answers, {what}"
        rows.append(row(what, size, said, f"{reference:.1f} s {tool}", seconds / reference))
    return rows


def _made(size: int, folder: Path) -> Study:
    """A study of as many issues, each with comments, that two raters labelled."""
    writer, path = Writer(size), folder / "whole.jsonl"
    with path.open("w", encoding="utf-8") as file:
        for number in range(1, size + 1):
            address = {"html_url": f"https://github.com/bench/whole/issues/{number}"}
            file.write(json.dumps(made_up(number, writer.body()) | address) + "\n")
    with path.open("rb") as issues:
        run_now(run=start_file_fetch(user=user("owner"), file=File(issues, name=path.name), send=False))
    path.unlink()
    study = new_study("whole")
    bring_in(study, "symptom", two_raters(size, N_CATEGORIES))
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SET LOCAL session_replication_role = replica")  # what was appended is never changed
        cursor.execute(WITH_ISSUES, [study.pk, study.pk])
    with connection.cursor() as cursor:
        cursor.execute("VACUUM ANALYZE")
    return study


def _address(folder: Path, database: str) -> str:
    return embedded.database_url(folder).replace(f"/{embedded.DATABASE}?", f"/{database}?")


def _tool(name: str, *arguments: object) -> None:
    subprocess.run([str(embedded.postgres_program(name)), *map(str, arguments)], check=True)


def _command(folder: Path, database: str, *arguments: str) -> tuple[float, float]:
    """The seconds that a command took, start of Python included, and the most memory that its process had, in MB."""
    env = {**os.environ, "DATABASE_URL": _address(folder, database)}
    with timed() as seconds:
        process = subprocess.Popen([sys.executable, "manage.py", *arguments], env=env, stdout=subprocess.DEVNULL)
        _, status, used = os.wait4(process.pid, 0)
    assert status == 0
    return seconds(), used.ru_maxrss / 1024
