"""A backup and its restore into an empty folder, beside pg_dump and pg_restore of the same database; memory of each."""

import shutil
from pathlib import Path
from typing import Any

from django.db import connection

from bench.fetch import queued_made_up
from bench.ground import rated_study, row, timed
from bench.programs import command, postgres_tool
from config import embedded
from ingest.actions.fetches import run_now
from tests.config.other_databases import empty_database


def measure(size: int, folder: Path) -> list[dict[str, Any]]:
    """With as many issues, their file, and two ratings of as many items."""
    rated_study(size)
    run_now(run=queued_made_up(f"backup{size}", size, folder))
    connection.close()

    dump, path, there = folder / "plain.dump", folder / "bench.backup", folder / "there"
    database = f"--dbname={embedded.database_url(folder)}"
    with timed() as dumped:
        postgres_tool("pg_dump", "--format=custom", "--compress=gzip:1", f"--file={dump}", database)
    with empty_database() as name, timed() as restored:
        other = database.replace("/concord?", f"/{name}?")
        postgres_tool("pg_restore", "--no-owner", "--exit-on-error", other, dump)
    backup_seconds, backup_megabytes = command("backup", path, DATA_DIR=folder)
    with embedded.servers(there):
        restore_seconds, restore_megabytes = command("restore", path, DATA_DIR=there)
    megabytes = path.stat().st_size / 1e6
    [(stored,)] = _sizes()
    shutil.rmtree(there)
    path.unlink()
    rows = []
    for what, seconds, memory, reference, tool in (
        ("backup, while it is served", backup_seconds, backup_megabytes, dumped(), "pg_dump"),
        ("restore and verify", restore_seconds, restore_megabytes, restored(), "pg_restore"),
    ):
        told = f"{seconds:.1f} s, {stored / 1e6 / seconds:.0f} MB/s of tables, a file of {megabytes:.0f} MB, "
        rows.append(
            row(what, size, f"{told}{memory:.0f} MB memory at most", f"{reference:.1f} s {tool}", seconds / reference)
        )
    return rows


def _sizes() -> list[tuple[int]]:
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_database_size(current_database())")
        found = cursor.fetchall()
    connection.close()
    return found
