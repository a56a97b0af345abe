"""The studies that benchmarks stand on, made by the actions of users where these are what is measured."""

import random
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import psutil
from django.db import connection

from accounts.models import User
from annotation.core.access import get_seat
from annotation.imports.actions.ratings import import_ratings
from annotation.models import Study
from taxonomy.actions import load_document, publish_version

DOCUMENT = """
slug: {slug}
title: Symptoms
dimensions:
  - key: symptom
    title: Symptom
    kind: {kind}
    categories:
{categories}
"""
N_CATEGORIES = 34
IN_BULK = 100_000


def user(name: str) -> User:
    return User.objects.get_or_create(username=name, defaults={"password": "!"})[0]


def taxonomy(slug: str, kind: str = "single") -> str:
    """A published taxonomy of one dimension with 34 categories."""
    categories = "\n".join(f"      - {{key: c{n}, name: Category {n}}}" for n in range(N_CATEGORIES))
    draft = load_document(user=user("owner"), text=DOCUMENT.format(slug=slug, kind=kind, categories=categories))
    return publish_version(user=user("owner"), version=draft).taxonomy.slug


def new_study(slug: str, kind: str = "single") -> Study:
    """A study of one dimension with 34 categories."""
    from annotation.studies.actions.studies import create_study

    return create_study(user=user("owner"), slug=slug, title=slug, taxonomy=taxonomy(slug, kind))


def rated_study(size: int) -> Study:
    """A study of `size` items that two raters labelled, one in five differently; made once per size."""
    slug = f"rated-{size}"
    if found := Study.objects.filter(slug=slug).first():
        return found
    study = new_study(slug)
    if size >= IN_BULK:
        from bench.bulk import bring_in, two_raters

        bring_in(study, "symptom", two_raters(size, N_CATEGORIES))
        return study
    rng = random.Random(size)
    lines = ["item,rater,dimension,value"]
    for number in range(size):
        value = rng.randrange(N_CATEGORIES)
        other = value if rng.random() < 0.8 else rng.randrange(N_CATEGORIES)
        lines += [f"item-{number},one,symptom,c{value}", f"item-{number},two,symptom,c{other}"]
    import_ratings(user=user("owner"), study=slug, file="\n".join(lines).encode(), name="bench.csv")
    return get_seat(user("owner"), slug).study


@contextmanager
def timed() -> Iterator[Callable[[], float]]:
    """Gives a function that tells the seconds since the block began, and after it those that it took."""
    started = time.perf_counter()
    ended: list[float] = []
    yield lambda: (ended[0] if ended else time.perf_counter()) - started
    ended.append(time.perf_counter())


def processor_seconds() -> float:
    """What this process and the process of its connection have used of a processor so far."""
    connection.ensure_connection()
    spent = psutil.Process(connection.connection.get_backend_pid()).cpu_times()
    return time.process_time() + spent.user + spent.system


def row(what: str, items: int, measured: str, reference: str = "", ratio: float | None = None) -> dict[str, Any]:
    return {
        "what": what,
        "items": items,
        "measured": measured,
        "reference": reference,
        "ratio": "" if ratio is None else f"{ratio:.2f}",
    }
