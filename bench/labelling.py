"""Submit and next over REST in a round, beside plain inserts with a commit each."""

import json
import statistics
import time
from pathlib import Path
from typing import Any

from django.db import connection
from django.test import Client

from accounts.actions import make_token
from annotation.access import get_seat
from annotation.actions.choosing import draw_sample
from annotation.actions.rounds import create_round, open_round
from annotation.actions.studies import add_member, create_study
from bench.ground import row, taxonomy, timed, user
from ingest.models import Issue

N_SUBMITS = 300


def measure(size: int, folder: Path) -> list[dict[str, Any]]:
    repository = f"bench/r{size}"
    if not Issue.objects.filter(repository__name=f"r{size}").exists():
        from bench import fetch

        fetch.measure(size, folder)
    found = []
    for mode in ("planned", "pool"):
        slug = f"{mode}-{size}"
        create_study(user=user("owner"), slug=slug, title=slug, taxonomy=taxonomy(slug))
        seat = get_seat(user("owner"), slug)
        for name in ("one", "two"):
            add_member(seat=seat, username=user(name).username, roles=["rater"])
        sample = draw_sample(seat=seat, filter={"repository": repository}, size=size, seed=1)
        create_round(seat=seat, raters=["one", "two"], sample=sample.pk, n_items=size, mode=mode)
        with timed() as opened:
            open_round(seat=seat, number=1)
        times = submits(slug, min(N_SUBMITS, size))
        said = (
            f"p50 {statistics.median(times) * 1000:.1f} ms, p95 {statistics.quantiles(times, n=20)[-1] * 1000:.1f} ms"
        )
        reference = inserts()
        ratio = statistics.median(times) / reference
        found.append(row(f"submit and next, {mode}", size, said, f"{reference * 1000:.1f} ms one insert", ratio))
        found.append(row(f"open a round, {mode}", size, f"{opened():.2f} s"))
    return found


def submits(slug: str, n: int) -> list[float]:
    """Seconds of each of n submits that bring the next assignment along, whole request included."""
    _, plain = make_token(user=user("one"), name="bench", scope="rate")
    client, headers = Client(), {"Authorization": f"Bearer {plain}"}
    following = client.get(f"/api/v1/studies/{slug}/rounds/1/next/", headers=headers).json()
    times = []
    for number in range(n):
        body = {"assignment": following["assignment"], "labels": {"symptom": [f"c{number % 34}"]}}
        started = time.perf_counter()
        answer = client.post(
            f"/api/v1/studies/{slug}/annotations/?next=1",
            json.dumps(body),
            content_type="application/json",
            headers={**headers, "Idempotency-Key": str(number)},
        )
        times.append(time.perf_counter() - started)
        assert answer.status_code == 201, answer.content
        following = answer.json()["next"]
        if following is None:
            break
    return times[5:]


def inserts() -> float:
    """The median seconds of one insert of one row with its commit."""
    times = []
    with connection.cursor() as cursor:
        cursor.execute("CREATE TABLE IF NOT EXISTS reference_inserts (n int, words text)")
        for number in range(200):
            started = time.perf_counter()
            cursor.execute("INSERT INTO reference_inserts VALUES (%s, %s)", [number, "crash"])
            times.append(time.perf_counter() - started)
    return statistics.median(times)
