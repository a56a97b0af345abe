"""Submit and next in a round: over REST and as the page does it, one after another, and by eight raters at once.

They begin when the database has swept and written what the round brought, as in the days of labeling that follow.
Requests of the first kind go through Django's stack without the network; those of eight raters over real HTTP to web
processes as `manage.py up` starts them. The peers' figures were measured on a two-core machine by others, with calls of
their APIs alone; they stand in this project's tracker.
"""

import json
import os
import socket
import statistics
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from django.conf import settings
from django.db import connection
from django.test import Client

from accounts.actions import make_token
from annotation.choosing.actions.samples import draw_sample
from annotation.core.access import get_seat
from annotation.members.actions.members import add_member
from annotation.models import Round
from annotation.rounds.actions.rounds import NewRound, create_round, open_round
from annotation.studies.actions.studies import create_study
from bench.fetch import queued_made_up
from bench.ground import N_CATEGORIES, row, taxonomy, timed, user
from ingest import run_steps
from ingest.models import Issue

N_SUBMITS = 300
N_AT_ONCE = 8
SECONDS_AT_ONCE = 10
BEST_OF_PEERS = {10_000: 16.0, 100_000: 4.4}
"""Labels per second of the quickest of Label Studio, doccano and Potato with eight raters at once."""


def measure(size: int, folder: Path) -> list[dict[str, Any]]:
    repository = _stored(size, folder)
    found = []
    for mode in Round.Mode.values:
        names = [f"{mode}-{size}-{n}" for n in range(1, N_AT_ONCE + 1)]
        slug = f"{mode}-{size}"
        with timed() as opened:
            _open(slug, repository, size, mode, names)
        settle()
        reference = inserts()
        said = f"{reference * 1000:.1f} ms one insert"
        n = min(N_SUBMITS, size // N_AT_ONCE)
        over_rest, over_page = submits(slug, names[0], n), page_submits(slug, names[1], n)
        found.append(row(f"open a round, {mode}", size, f"{opened():.2f} s"))
        for what, times in (("over REST", over_rest), ("the whole page", over_page)):
            middle = statistics.median(times)
            late = statistics.quantiles(times, n=20)[-1]
            measured = f"p50 {middle * 1000:.1f} ms, p95 {late * 1000:.1f} ms"
            found.append(row(f"submit and next, {mode}, {what}", size, measured, said, middle / reference))
        found.append(_at_once_row(slug, mode, size, names))
    return found


def _stored(size: int, folder: Path) -> str:
    """A repository with so many issues."""
    name = f"labelled{size}"
    if not Issue.objects.filter(repository__name=name).exists():
        run_steps.work(queued_made_up(name, size, folder).pk)
    return f"bench/{name}"


def _open(slug: str, repository: str, size: int, mode: str, names: list[str]) -> None:
    """A round over all issues, two raters for each."""
    create_study(user=user("owner"), slug=slug, title=slug, taxonomy=taxonomy(slug))
    seat = get_seat(user("owner"), slug)
    for name in names:
        add_member(seat=seat, username=user(name).username, roles=["rater"])
    sample = draw_sample(seat=seat, filter={"repository": repository}, size=size, seed=1)
    create_round(seat=seat, asked=NewRound(raters=names, sample=sample.pk, n_items=size, mode=mode))
    open_round(seat=seat, number=1, unregistered=True)


def settle() -> None:
    """What the database does by itself in the minutes after so many rows came: their room swept, pages written."""
    with connection.cursor() as cursor:
        cursor.execute("VACUUM ANALYZE")
        cursor.execute("CHECKPOINT")


def _token(name: str) -> str:
    return make_token(user=user(name), name="bench", scope="rate")[1]


def submits(slug: str, name: str, n: int) -> list[float]:
    """Seconds of each of n submits that bring the next assignment along, whole request included."""
    client, headers = Client(), {"Authorization": f"Bearer {_token(name)}"}
    following = client.get(f"/api/v1/studies/{slug}/rounds/1/next/", headers=headers).json()
    times = []
    for number in range(n):
        body = {"assignment": following["assignment"], "labels": {"symptom": [f"c{number % N_CATEGORIES}"]}}
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


def page_submits(slug: str, name: str, n: int) -> list[float]:
    """The same as the labeling page does it: the answer is the part of the page with the next issue."""
    client = Client()
    client.force_login(user(name))
    page = client.get(f"/studies/{slug}/rounds/1/label/").content.decode()
    times = []
    for number in range(n):
        turn = json.loads(page.partition('<script id="turn" type="application/json">')[2].partition("</script>")[0])
        if turn is None:
            break
        body = {"labels": {"symptom": [f"c{number % N_CATEGORIES}"]}, "expected": 0, "snapshot": turn["snapshot"]}
        started = time.perf_counter()
        answer = client.post(
            turn["submit_url"],
            json.dumps(body),
            content_type="application/json",
            headers={"Idempotency-Key": f"page-{number}", "HX-Request": "true"},
        )
        times.append(time.perf_counter() - started)
        assert answer.status_code == 200, answer.content
        page = answer.content.decode()
    return times[5:]


def _at_once_row(slug: str, mode: str, size: int, names: list[str]) -> dict[str, Any]:
    each, seconds = at_once(slug, [_token(name) for name in names])
    rate = len(each) / seconds
    measured = f"{rate:.0f} labels/s, p50 {statistics.median(each) * 1000:.0f} ms"
    measured += f", p95 {statistics.quantiles(each, n=20)[-1] * 1000:.0f} ms"
    peers = BEST_OF_PEERS.get(size)
    said = f"{peers:g} labels/s the best of the peers" if peers else ""
    return row(f"eight raters at once, {mode}, over HTTP", size, measured, said, rate / peers if peers else None)


def at_once(slug: str, tokens: list[str]) -> tuple[list[float], float]:
    """Seconds of each submit (the next assignment comes along) of raters who all work for a while, and the while."""
    with _web() as port:
        _raters_label(port, slug, 1, tokens)  # every process has read the taxonomy by now
        return _raters_label(port, slug, SECONDS_AT_ONCE, tokens), SECONDS_AT_ONCE


def _raters_label(port: int, slug: str, seconds: float, tokens: list[str]) -> list[float]:
    command = [sys.executable, "-m", "bench.raters", str(port), slug, str(seconds), *tokens]
    done = subprocess.run(command, cwd=settings.BASE_DIR, check=True, capture_output=True, timeout=300)
    return json.loads(done.stdout)


@contextmanager
def _web() -> Iterator[int]:
    """Web processes as `manage.py up` starts them, on a free port."""
    from config.management.commands.up import web_command

    with closing(socket.socket()) as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [sys.executable, "-m", *web_command(port)]
    process = subprocess.Popen(command, cwd=settings.BASE_DIR, env=os.environ | {"PORT": str(port)})
    try:
        ends_at = time.monotonic() + 60
        while True:
            try:
                with urllib.request.urlopen(f"http://127.0.0.1:{port}/readyz", timeout=20):
                    break
            except (OSError, urllib.error.HTTPError):
                assert time.monotonic() < ends_at, "the web processes do not answer"
                time.sleep(0.1)
        yield port
    finally:
        process.terminate()
        process.wait(30)


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
