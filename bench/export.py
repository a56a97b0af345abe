"""Agreed labels and ratings as files, beside COPY of a SELECT that gives the same; memory of what writes them."""

import json
import os
import random
import resource
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from django.db import connection

from annotation.models import Study
from annotation.studies.actions.studies import create_study
from bench.bulk import Given, bring_in
from bench.ground import rated_study, row, timed, user
from taxonomy.actions import load_document, publish_version

RATINGS = """
    SELECT i.identifier, r.part, o.number, m.code, d.key, c.key, x.memo, x.seconds, 'blind', v.number
    FROM annotation_rating r
    JOIN annotation_annotation x ON x.id = r.annotation_id
    JOIN annotation_assignment a ON a.blind_id = x.id
    JOIN annotation_item i ON i.id = r.item_id JOIN annotation_membership m ON m.id = r.rater_id
    JOIN annotation_round o ON o.id = r.round_id JOIN taxonomy_taxonomyversion v ON v.id = o.taxonomy_version_id
    JOIN annotation_rounditem p ON p.round_id = o.id AND p.item_id = i.id
    JOIN taxonomy_dimension d ON d.id = r.dimension_id JOIN taxonomy_category c ON c.id = r.category_id
    WHERE i.study_id = {study} ORDER BY o.number, p.position, r.part, d.position, m.code"""
LABELS = """
    SELECT i.identifier, r.part, o.number, d.key, min(c.key), 'unanimous', array_agg(m.code ORDER BY m.code), v.number
    FROM annotation_rating r
    JOIN annotation_assignment a ON a.current_id = r.annotation_id
    JOIN annotation_item i ON i.id = r.item_id JOIN annotation_membership m ON m.id = r.rater_id
    JOIN annotation_round o ON o.id = r.round_id JOIN taxonomy_taxonomyversion v ON v.id = o.taxonomy_version_id
    JOIN annotation_rounditem p ON p.round_id = o.id AND p.item_id = i.id
    JOIN taxonomy_dimension d ON d.id = r.dimension_id JOIN taxonomy_category c ON c.id = r.category_id
    WHERE i.study_id = {study} GROUP BY i.identifier, r.part, o.number, d.key, d.position, v.number, p.position
    HAVING min(c.key) = max(c.key) ORDER BY o.number, p.position, r.part, d.position"""
DIMENSIONS = {"symptom": 34, "cause": 28, "fix": 6}
SELECTS = {"labels": LABELS, "ratings": RATINGS}


class Sink:
    """Takes what is written and keeps nothing."""

    n_bytes = n_rows = 0

    def write(self, data: bytes) -> int:
        self.n_bytes += len(data)
        self.n_rows += data.count(b"\n")
        return len(data)


def measure(size: int, folder: Path) -> list[dict[str, Any]]:
    return [*_measured(size, rated_study(size), ""), *_measured(size, three_dimensions(size), ", three dimensions")]


def three_dimensions(size: int) -> Study:
    """A study of `size` ratings by each of two raters: of a third as many items, in three dimensions; made once."""
    slug = f"three-{size}"
    if found := Study.objects.filter(slug=slug).first():
        return found
    text = f"slug: {slug}\ntitle: Bugs\ndimensions:\n"
    for key, n in DIMENSIONS.items():
        listed = ", ".join(f"{{key: {key}{number}, name: {key} {number}}}" for number in range(n))
        text += f"  - {{key: {key}, title: {key.title()}, kind: single, categories: [{listed}]}}\n"
    version = publish_version(user=user("owner"), version=load_document(user=user("owner"), text=text))
    study = create_study(user=user("owner"), slug=slug, title=slug, taxonomy=version.taxonomy.slug)
    rng = random.Random(size)

    def given() -> Iterator[Given]:
        for item in range(size // len(DIMENSIONS)):
            agreed = {key: rng.randrange(n) for key, n in DIMENSIONS.items()}
            other = {key: agreed[key] if rng.random() < 0.8 else rng.randrange(n) for key, n in DIMENSIONS.items()}
            for rater, said in (("r1", agreed), ("r2", other)):
                yield item, rater, tuple(f"{key}{value}" for key, value in said.items())

    bring_in(study, {f"{key}{number}": key for key, n in DIMENSIONS.items() for number in range(n)}, given())
    return study


def _measured(size: int, study: Study, more: str) -> list[dict[str, Any]]:
    found = []
    for what, sql in SELECTS.items():
        copied = Sink()
        with timed() as reference, connection.cursor() as cursor:
            cursor.copy_expert(f"COPY ({sql.format(study=study.pk)}) TO STDOUT WITH CSV", copied, 1 << 16)
        said_of_copy = f"{reference():.2f} s COPY of these {copied.n_rows:,}"
        for kind in ("csv", "jsonl", "parquet"):
            told = apart(lambda what=what, kind=kind: written(study.slug, what, kind))  # type: ignore[misc]
            pace = f"{copied.n_rows / told['seconds']:,.0f} rows/s"
            size_of = f"{told['bytes'] / 2**20:.1f} MB"
            said = f"{told['seconds']:.2f} s, {pace}, {size_of}, +{told['grown']:.0f} MB memory"
            found.append(row(f"{what} as {kind}{more}", size, said, said_of_copy, told["seconds"] / reference()))
    return found


def written(slug: str, what: str, kind: str) -> dict[str, float]:
    """Writes a file as the web server and a worker do; seconds, bytes, and by how much memory grew at most."""
    from annotation.core.access import get_seat
    from annotation.exports.queries import rows

    seat, n_bytes = get_seat(user("owner"), slug), 0
    list(rows.file_pieces(seat, what, kind, {"dimension": "nothing"}))  # the libraries are loaded
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with timed() as taken:
        for piece in rows.file_pieces(seat, what, kind, {}):
            n_bytes += len(piece)
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    return {"seconds": taken(), "bytes": n_bytes, "grown": grown}


def apart(measured: Callable[[], dict[str, float]]) -> dict[str, float]:
    """What is measured in a process of its own, so that the memory of one file does not hide that of the next."""
    connection.close()
    ours, theirs = os.pipe()
    if (pid := os.fork()) == 0:
        try:
            os.write(theirs, json.dumps(measured()).encode())
        finally:
            os._exit(0)
    os.close(theirs)
    with open(ours) as report:
        told = json.loads(report.read())
    os.waitpid(pid, 0)
    return told
