"""A study as one file: out of one database and into an empty one, beside pg_dump and pg_restore; memory of each."""

from contextlib import ExitStack
from pathlib import Path
from typing import Any

from django.core.management import call_command
from django.db import connection, transaction

from annotation.models import Annotation, Study
from annotation.transfer.queries.rows import counts
from bench.bulk import bring_in, two_raters
from bench.fetch import queued_made_up
from bench.ground import N_CATEGORIES, new_study, row, timed, user
from bench.programs import command, postgres_tool
from config import embedded
from ingest.actions.fetches import run_now
from tests.config.other_databases import empty_database, working_on

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
        out_seconds, out_megabytes = command(
            "export", study.slug, "--what", "study", "--out", file, DATABASE_URL=_address(folder, here)
        )
        in_seconds, in_megabytes = command(
            "import_study", file, "--owner", "owner", DATABASE_URL=_address(folder, there)
        )
        with timed() as dumped:
            postgres_tool(
                "pg_dump", "--format=custom", "--compress=gzip:6", f"--file={dump}", "-d", _address(folder, here)
            )
        with timed() as put_back:
            postgres_tool("pg_restore", "--no-owner", "--exit-on-error", "-d", _address(folder, restored), dump)
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
    run_now(run=queued_made_up("whole", size, folder))
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
