"""A backup and its restore into an empty folder, beside pg_dump and pg_restore of the same database; memory of each."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

from django.core.files import File
from django.db import connection

from bench.fetch import Writer, made_up
from bench.ground import rated_study, row, timed, user
from config import embedded
from ingest.actions.fetches import run_now
from ingest.actions.uploads import start_file_fetch
from tests.config.elsewhere import empty_database


def measure(size: int, folder: Path) -> list[dict[str, Any]]:
    """With as many issues, their file, and two ratings of as many items."""
    rated_study(size)
    writer, issues = Writer(size), folder / f"backup{size}.jsonl"
    with issues.open("w", encoding="utf-8") as file:
        for number in range(1, size + 1):
            address = {"html_url": f"https://github.com/bench/backup{size}/issues/{number}"}
            file.write(json.dumps(made_up(number, writer.body()) | address) + "\n")
    with issues.open("rb") as file:
        run_now(run=start_file_fetch(user=user("owner"), file=File(file, name=issues.name), send=False))
    connection.close()

    dump, path, there = folder / "plain.dump", folder / "bench.backup", folder / "there"
    database = f"--dbname={embedded.database_url(folder)}"
    with timed() as dumped:
        _tool("pg_dump", "--format=custom", "--compress=gzip:1", f"--file={dump}", database)
    with empty_database() as name, timed() as restored:
        other = database.replace("/concord?", f"/{name}?")
        _tool("pg_restore", "--no-owner", "--exit-on-error", other, dump)
    backup_seconds, backup_megabytes = _command("backup", path, DATA_DIR=folder)
    with embedded.servers(there):
        restore_seconds, restore_megabytes = _command("restore", path, DATA_DIR=there)
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


def _tool(name: str, *arguments: object) -> None:
    subprocess.run([str(embedded.postgres_program(name)), *map(str, arguments)], check=True)


def _command(name: str, path: Path, **environment: Path) -> tuple[float, float]:
    """The seconds that a command took, start of Python included, and the most memory that its process had, in MB."""
    env = {**os.environ, **{key: str(value) for key, value in environment.items()}}
    with timed() as seconds:
        process = subprocess.Popen([sys.executable, "manage.py", name, str(path)], env=env, stdout=subprocess.DEVNULL)
        _, status, used = os.wait4(process.pid, 0)
    assert status == 0
    return seconds(), used.ru_maxrss / 1024
