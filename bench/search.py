"""Searches of the list of issues: first page and how many there are, and the size of the index."""

import statistics
from collections.abc import Callable
from pathlib import Path
from typing import Any

from django.db import connection

from accounts.models import User
from bench.fetch import Writer, queued_made_up
from bench.ground import row, timed, user
from ingest import queries
from ingest.actions.fetches import run_now

N_TEXTS = 10_000
SEARCHES = 20
SNAPSHOT = (
    "title", "body", "state", "state_reason", "github_labels", "author_login", "author_id", "locked", "created_at",
    "updated_at", "closed_at", "html_url", "n_comments", "comments_known", "fetched_at", "run_id",
)  # fmt: skip
VARIED = {
    "created_at": "timestamptz '2022-01-01' + copied.number * interval '7 minutes'",
    "closed_at": "CASE state WHEN 'closed' THEN timestamptz '2022-02-01' + copied.number * interval '420 s' END",
    "n_comments": "copied.number * 7919 %% 53",
}
COPIED = f"""
WITH copied AS (
    INSERT INTO ingest_issue (repository_id, number, current_snapshot_id, updated_at, locked, added_at)
    SELECT repository_id, number + %(shift)s, nextval(pg_get_serial_sequence('ingest_snapshot', 'id')),
        timestamptz '2022-03-01' + (number + %(shift)s) * 7919 %% 200000 * interval '7 minutes', locked, now()
    FROM ingest_issue WHERE number <= %(n)s ORDER BY number
    RETURNING id, number, current_snapshot_id
), texts AS (
    INSERT INTO ingest_searchtext (issue_id, snapshot_id, lexemes, has_all_lexemes, title, body, comments)
    SELECT copied.id, copied.current_snapshot_id, lexemes, has_all_lexemes, title, body, comments
    FROM copied JOIN ingest_issue AS first ON first.number = copied.number - %(shift)s
    JOIN ingest_searchtext ON issue_id = first.id
)
INSERT INTO ingest_snapshot (id, issue_id, sha256, {", ".join(SNAPSHOT)})
SELECT copied.current_snapshot_id, copied.id, sha256,
    {", ".join(VARIED.get(name, f"snapshot.{name}") for name in SNAPSHOT)}
FROM copied JOIN ingest_issue AS first ON first.number = copied.number - %(shift)s
JOIN ingest_snapshot AS snapshot ON snapshot.id = first.current_snapshot_id
"""


def measure(size: int, folder: Path) -> list[dict[str, Any]]:
    """Of `size` issues: N_TEXTS of them indexed by the product, and the others copies of these."""
    n_texts = min(size, N_TEXTS)
    run = run_now(run=queued_made_up("search", n_texts, folder))
    assert run.n_new == n_texts, run.error
    with connection.cursor() as cursor:
        for shift in range(n_texts, size, n_texts):
            cursor.execute(COPIED, {"shift": shift, "n": n_texts})
        cursor.execute("SELECT gin_clean_pending_list('search_texts_by_lexeme')")
        cursor.execute("VACUUM ANALYZE")
    return [*_searches(size), _size(size)]


def _searches(size: int) -> list[dict[str, Any]]:
    """First pages of 50 and how many there are, as someone who is not staff asks for them."""
    someone: User = user("reader")
    words = Writer(0).words
    with timed() as plain:
        for _ in range(SEARCHES):
            _ask(someone)
    reference = plain() / SEARCHES * 1000
    kinds: dict[str, Callable[[int], dict[str, str]]] = {
        "a word of every issue": lambda n: {"search": "training hangs"},
        "a frequent word": lambda n: {"search": words[n]},
        "a rare word": lambda n: {"search": words[10_000 + n]},
        "two words and a phrase": lambda n: {"search": f'{words[n]} {words[900 + n]} "training hangs"'},
        "two frequent words as an identifier": lambda n: {"search": f"{words[n]}_{words[n + 1]}"},
        "the beginning of a word": lambda n: {"search": f'"{words[9_000 + n][:5]}"'},
        "a phrase without a word": lambda n: {"search": f'"hangs after step {7 * n}" -{words[n]}'},
        "label, login and days": lambda n: {"search": f"label:BUG author:Someone created:>2024-05-0{n % 9 + 1}"},
        "a rare label": lambda n: {"search": f'label:"AREA {3 * n}"'},
        "a word in titles": lambda n: {"search": f"step {words[n]} in:title"},
        "a word that another one excludes": lambda n: {"search": f"{words[50 + n]} -{words[60 + n]}"},
        "closed on a day": lambda n: {"search": f"closed:2023-11-{n + 1:02}"},
        "all, sorted by creation": lambda n: {"search": f"sort:created-{('asc', 'desc')[n % 2]}"},
        "all, sorted by last change": lambda n: {"search": f"is:open sort:updated-{('asc', 'desc')[n % 2]}"},
        "a word, sorted by comments": lambda n: {"search": f"{words[200 + n]} sort:comments"},
        "a rarer word, sorted by comments": lambda n: {"search": f"{words[1500 + 100 * n]} sort:comments"},
        "a phrase, sorted by creation": lambda n: {"search": f'"{words[20 + n]} the {words[n]}" sort:created'},
        "a word, state, label and repository": lambda n: {
            "search": f"{words[100 + n]} is:open label:bug repo:bench/search"
        },
    }
    rows = []
    for what, asked in kinds.items():
        times = []
        for n in range(SEARCHES):
            with timed() as taken:
                _ask(someone, **asked(n))
            times.append(taken() * 1000)
        middle, most = statistics.median(times), max(times)
        said = f"{reference:.1f} ms the list without it"
        rows.append(row(f"search: {what}", size, f"p50 {middle:.1f} ms, most {most:.1f} ms", said, middle / reference))
    return rows


def _ask(someone: User, **asked: str) -> None:
    found = queries.issues(someone, **asked)
    if len(found[:51]) > 50:
        queries.n_found(found)


def _size(size: int) -> dict[str, Any]:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT pg_relation_size('search_texts_by_lexeme'), pg_total_relation_size('ingest_searchtext'), "
            "sum(octet_length(title) + octet_length(body)) FROM ingest_snapshot"
        )
        index, table, texts = (int(n) / (1 << 20) for n in cursor.fetchone())
    what = f"{index:.0f} MB, {table:.0f} MB with its table"
    return row("search: size of the index", size, what, f"{texts:.0f} MB titles and bodies", table / texts)
