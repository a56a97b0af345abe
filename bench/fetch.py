"""A file of issues into Postgres, beside parsing the same file and copying the same rows with COPY."""

import io
import json
from pathlib import Path
from typing import Any

from django.core.files import File
from django.db import connection

from bench.ground import row, timed, user
from ingest.actions import run_now, start_file_fetch


def measure(size: int, folder: Path) -> list[dict[str, Any]]:
    path = folder / f"issues-{size}.jsonl"
    body = "The second rank waits in all_reduce while the first one is gone. " * 22
    with path.open("w", encoding="utf-8") as file:
        for number in range(1, size + 1):
            issue = {
                "number": number,
                "title": f"Training hangs after step {number}",
                "body": f"{number} {body}",
                "state": "closed",
                "labels": [{"name": "bug"}],
                "user": {"login": "someone", "id": 7},
                "created_at": "2024-05-04T10:00:00Z",
                "html_url": f"https://github.com/bench/r{size}/issues/{number}",
            }
            file.write(json.dumps(issue) + "\n")
    with timed() as reference, path.open(encoding="utf-8") as file, connection.cursor() as cursor:
        rows = [json.loads(line) for line in file]
        cursor.execute("CREATE TEMP TABLE reference (number int, title text, body text)")
        text = io.StringIO("".join(f"{each['number']}\t{each['title']}\t{each['body']}\n" for each in rows))
        cursor.copy_expert("COPY reference FROM STDIN", text)
        cursor.execute("DROP TABLE reference")
    with path.open("rb") as upload, timed() as taken:
        run = run_now(run=start_file_fetch(user=user("owner"), file=File(upload, name=path.name), send=False))
    assert run.n_new == size, run.error
    with path.open("rb") as upload, timed() as again:
        run = run_now(run=start_file_fetch(user=user("owner"), file=File(upload, name=path.name), send=False))
    assert run.n_unchanged == size, run.error
    said = f"{reference():.2f} s json.loads and COPY"
    return [
        row("fetch from a file", size, f"{taken():.2f} s, {size / taken():,.0f} issues/s", said, taken() / reference()),
        row(
            "the same file again", size, f"{again():.2f} s, {size / again():,.0f} issues/s", said, again() / reference()
        ),
    ]
