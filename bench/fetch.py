"""A file of issues into Postgres and the search, beside parsing the same file and copying the same rows with COPY."""

import itertools
import json
import random
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import psutil
from django.core.files import File
from django.db import connection

from bench.ground import row, timed, user
from ingest import queries, run_steps
from ingest.actions.fetches import run_now
from ingest.actions.uploads import start_file_fetch
from ingest.models import FetchRun
from ingest.search import indexing
from ingest.upsert import copy

BODY_CHARACTERS = 1500
FREQUENT = re.findall(
    r"\w+",
    """the of and to in a is that for it on with as was be by this are not have from or an at but which when we if can
    all will there been has more then no do so after before while does only into than some also what where""",
)
SYLLABLES = [
    a + b for a in (*"bcdfgklmnprstvw", "tr", "st", "pr", "ch", "sh") for b in (*"eiou", "ai", "er", "on", "a")
]
N_WORDS = 20_000


class Writer:
    """Bodies with as many different words as those of real issues have: some 70 to 1,000 characters."""

    def __init__(self, seed: int) -> None:
        self._rng = random.Random(seed)
        rng = random.Random(0)
        found: dict[str, None] = {}
        while len(found) < N_WORDS:
            found["".join(rng.choices(SYLLABLES, k=rng.choice((1, 2, 2, 2, 3, 3, 4))))] = None
        self.words = [word for word in found if word not in FREQUENT]
        self._weights = list(itertools.accumulate(1 / (rank + 2.7) for rank in range(len(self.words))))

    def body(self) -> str:
        rare = self._rng.choices(self.words, cum_weights=self._weights, k=200)
        text = " ".join(f"{word} {self._rng.choice(FREQUENT)}" if n % 5 else word for n, word in enumerate(rare))
        return text[:BODY_CHARACTERS].ljust(BODY_CHARACTERS, ".")


def measure(size: int, folder: Path) -> list[dict[str, Any]]:
    writer = Writer(size)
    names = (f"bench/one{size}", f"bench/two{size}")
    paths = [folder / f"{name.partition('/')[2]}.jsonl" for name in names]
    with paths[0].open("w", encoding="utf-8") as one, paths[1].open("w", encoding="utf-8") as two:
        for number in range(1, size + 1):
            issue = made_up(number, writer.body())
            for file, name in ((one, names[0]), (two, names[1])):
                file.write(json.dumps(issue | {"html_url": f"https://github.com/{name}/issues/{number}"}) + "\n")
    reference = _reference(paths[0])
    said = f"{reference:.2f} s json.loads and COPY"
    connection.close()
    with _memory() as grown, timed() as stored:
        run = _queued(paths[0])
        run_steps.work(run.pk)
    run.refresh_from_db()
    assert run.n_new == size, run.error
    with timed() as indexed:
        assert indexing.index() == size
    with timed() as again:
        run = _queued(paths[0])
        run_steps.work(run.pk)
    run.refresh_from_db()
    assert run.n_unchanged == size, run.error
    with timed() as both:
        run = run_now(run=_queued(paths[1]))
    assert (run.n_new, queries.n_unsearchable()) == (size, 0), run.error
    for path in paths:
        path.unlink()
    return [
        _row("fetch from a file", size, stored(), said, reference, f", +{grown():.0f} MB memory"),
        _row("the same file again", size, again(), said, reference),
        _row("make it searchable afterwards", size, indexed(), said, reference),
        _row("fetch from a file and make it searchable, at once", size, both(), said, reference),
    ]


def made_up(number: int, body: str) -> dict[str, Any]:
    """An issue as GitHub's API writes it."""
    return {
        "number": number,
        "title": f"Training hangs after step {number}",
        "body": body,
        "state": "closed" if number % 5 else "open",
        "labels": [{"name": "bug"}, *([] if number % 3 else [{"name": f"area {number % 500}"}])],
        "user": {"login": "someone", "id": 7},
        "created_at": "2024-05-04T10:00:00Z",
    }


def queued_made_up(name: str, size: int, folder: Path) -> FetchRun:
    """The run of a file with so many issues of the repository bench/`name`, which nobody works at yet."""
    writer, path = Writer(size), folder / f"{name}.jsonl"
    with path.open("w", encoding="utf-8") as file:
        for number in range(1, size + 1):
            address = {"html_url": f"https://github.com/bench/{name}/issues/{number}"}
            file.write(json.dumps(made_up(number, writer.body()) | address) + "\n")
    run = _queued(path)
    path.unlink()
    return run


def _queued(path: Path) -> FetchRun:
    with path.open("rb") as upload:
        return start_file_fetch(user=user("owner"), private=False, file=File(upload, name=path.name), send=False)


def _reference(path: Path) -> float:
    """Seconds to parse the file and to COPY the same rows into a table with the same columns and no index."""
    with timed() as seconds, path.open(encoding="utf-8") as file, connection.cursor() as cursor:
        parsed = [json.loads(line) for line in file]
        cursor.execute("CREATE TABLE reference (LIKE ingest_snapshot)")
        now = datetime.now(UTC)
        columns = {
            "id": lambda r: r["number"], "issue_id": lambda r: r["number"], "sha256": lambda r: f"{r['number']:064}",
            "title": lambda r: r["title"], "body": lambda r: r["body"], "state": lambda r: r["state"],
            "state_reason": lambda r: "", "github_labels": lambda r: tuple(each["name"] for each in r["labels"]),
            "author_login": lambda r: r["user"]["login"], "author_id": lambda r: r["user"]["id"],
            "locked": lambda r: False, "created_at": lambda r: r["created_at"], "html_url": lambda r: r["html_url"],
            "comments_known": lambda r: False, "fetched_at": lambda r: now,
        }  # fmt: skip
        copy("reference", list(columns), ([value(each) for value in columns.values()] for each in parsed))
        cursor.execute("DROP TABLE reference")
    return seconds()


def _row(what: str, size: int, seconds: float, said: str, reference: float, more: str = "") -> dict[str, Any]:
    return row(what, size, f"{seconds:.2f} s, {size / seconds:,.0f} issues/s{more}", said, seconds / reference)


@contextmanager
def _memory() -> Iterator[Callable[[], float]]:
    """Gives a function that tells how many megabytes the process grew by, at most, since the block began."""
    process = psutil.Process()
    before = peak = process.memory_info().rss
    over = threading.Event()

    def watch() -> None:
        nonlocal peak
        while not over.wait(0.01):
            peak = max(peak, process.memory_info().rss)

    thread = threading.Thread(target=watch, daemon=True)
    thread.start()
    try:
        yield lambda: (peak - before) / (1 << 20)
    finally:
        over.set()
        thread.join()
