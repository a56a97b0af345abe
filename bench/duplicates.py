"""Likely duplicates of a large sample: how long the search takes and what the process grows by.

Issues are stored by the database itself. One in ten repeats most of another one's words.
"""

import io
import random
from pathlib import Path
from typing import Any

from django.db import connection, transaction

from annotation.choosing.actions.duplicates import find_duplicates
from annotation.choosing.actions.samples import draw_sample
from annotation.core.access import get_seat
from annotation.models import LikelyDuplicate
from bench.fetch import Writer
from bench.ground import new_study, row, user
from bench.large import issues, whole

REPEATED_SHARE, SAME_SHARE = 0.1, 0.8
AT_ONCE = 5_000


def measure(size: int, folder: Path) -> list[dict[str, Any]]:
    issues(size)
    n_repeated = _write(size)
    study = new_study(f"duplicates-{size}")
    seat = get_seat(user("owner"), study.slug)
    whole(lambda: draw_sample(seat=seat, filter={"repository": f"large/n{size}"}, size=size))
    sample = study.samples.defer("frame").get()
    taken = whole(lambda: find_duplicates(seat=seat, sample=sample))
    n_found = LikelyDuplicate.objects.filter(sample=sample).count()
    return [
        row("find likely duplicates", size, taken, f"{n_repeated:,} repeat another one, {n_found:,} found in groups")
    ]


def _write(size: int) -> int:
    """Gives each issue a body of its own; how many repeat most of an earlier one."""
    writer, rng = Writer(size), random.Random(size)
    bodies: list[str] = []
    n_repeated = 0
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("CREATE TEMP TABLE written (number int, body text) ON COMMIT DROP")
        for start in range(1, size + 1, AT_ONCE):
            lines = []
            for number in range(start, min(start + AT_ONCE, size + 1)):
                body = writer.body()
                if bodies and rng.random() < REPEATED_SHARE:
                    earlier = rng.choice(bodies)
                    body = earlier[: round(len(earlier) * SAME_SHARE)] + body[: round(len(body) * (1 - SAME_SHARE))]
                    n_repeated += 1
                elif len(bodies) < AT_ONCE:
                    bodies.append(body)
                lines.append(f"{number}\t{body}\n")
            cursor.copy_expert("COPY written FROM STDIN", io.StringIO("".join(lines)))
        cursor.execute("SET LOCAL session_replication_role = replica")
        cursor.execute(
            "UPDATE ingest_snapshot s SET body = w.body FROM written w, ingest_issue i, ingest_repository r WHERE "
            "i.number = w.number AND s.issue_id = i.id AND r.id = i.repository_id AND r.name = %s",
            [f"n{size}"],
        )
    return n_repeated
