"""Ratings in bulk for benchmarks: one unit is brought in by the import, and the database copies its rows."""

import random
from collections.abc import Iterable, Iterator, Mapping, Sequence

from django.db import connection, transaction

from annotation.core.database_planner import tell_planner
from annotation.imports.actions.ratings import import_ratings
from annotation.models import Round, Study
from bench.ground import user
from ingest.upsert.copying import stage

ITEMS = """
    INSERT INTO annotation_item (study_id, identifier, screening, screening_reason, attributes)
    SELECT study_id, 'item-' || n, screening, screening_reason, attributes
    FROM annotation_item, generate_series(1, %s) n WHERE study_id = %s AND identifier = 'item-0'
"""
PLACES = """
    INSERT INTO annotation_rounditem (round_id, item_id, position, n_raters, n_free)
    SELECT %s, id, 1 + substr(identifier, 6)::int, %s, 0
    FROM annotation_item WHERE study_id = %s AND identifier <> 'item-0'
"""
ASSIGNMENTS = """
    INSERT INTO annotation_assignment (round_id, item_id, rater_id, slot, state, position)
    SELECT %s, i.id, m.id, substr(g.rater, 2)::int, 'submitted', g.item + 1
    FROM (SELECT DISTINCT item, rater FROM given) g
    JOIN annotation_item i ON i.study_id = %s AND i.identifier = 'item-' || g.item
    JOIN annotation_membership m ON m.study_id = %s AND m.code = upper(g.rater)
    ORDER BY g.item, m.id
"""
ANNOTATIONS = """
    INSERT INTO annotation_annotation (assignment_id, rater_id, revision, skip_reason, n_parts, memo, part_memos,
        is_flagged, n_proposals, answers_digest, idempotency_key, request_digest, created_at)
    SELECT a.id, a.rater_id, 1, '', 1, '', '{}', false, 0, '', '', '', now()
    FROM annotation_assignment a WHERE a.round_id = %s AND a.current_id IS NULL ORDER BY a.id
"""
POINTERS = """
    UPDATE annotation_assignment a SET blind_id = x.id, current_id = x.id
    FROM annotation_annotation x WHERE x.assignment_id = a.id AND a.round_id = %s AND a.current_id IS NULL
"""
RATINGS = """
    INSERT INTO annotation_rating (annotation_id, round_id, item_id, rater_id, part, dimension_id, category_id)
    SELECT a.current_id, a.round_id, a.item_id, a.rater_id, 1, c.dimension_id, c.id
    FROM given g
    JOIN annotation_item i ON i.study_id = %s AND i.identifier = 'item-' || g.item
    JOIN annotation_membership m ON m.study_id = %s AND m.code = upper(g.rater)
    JOIN annotation_assignment a ON a.round_id = %s AND a.item_id = i.id AND a.rater_id = m.id
    JOIN taxonomy_category c ON c.key = g.category
    JOIN taxonomy_dimension d ON d.id = c.dimension_id AND d.version_id = %s
    ORDER BY g.item, m.id
"""
COUNTS = """
    UPDATE annotation_roundrater r SET n_assigned = n, n_finished = n
    FROM (SELECT rater_id, count(*) AS n FROM annotation_assignment WHERE round_id = %s GROUP BY 1) c
    WHERE r.round_id = %s AND c.rater_id = r.rater_id
"""

Given = tuple[int, str, tuple[str, ...]]


def bring_in(study: Study, dimension: str | Mapping[str, str], given: Iterable[Given]) -> None:
    """Stores what raters r1, r2 … (item 0 names all of them) gave to items 0, 1 …: (item, rater, categories).

    Categories are of one dimension, or of those that a mapping by category says.
    The rows of item 0 arrive by an import, all others as copies of what it wrote, in one transaction.
    """
    everything = iter(given)
    first, rest = [], None
    for each in everything:
        if each[0] != 0:
            rest = each
            break
        first.append(each)
    lines = ["item,rater,dimension,value"]
    of = (lambda _: dimension) if isinstance(dimension, str) else dimension.__getitem__
    lines += [f"item-0,{rater},{of(category)},{category}" for _, rater, categories in first for category in categories]
    import_ratings(user=user("owner"), study=study.slug, file="\n".join(lines).encode(), name="bench.csv")
    if rest is None:
        return
    round_ = Round.objects.get(study=study)
    with transaction.atomic():
        last = 0

        def lines_of() -> Iterator[tuple[int, str, str]]:
            nonlocal last
            for item, rater, categories in (rest, *everything):
                last = item
                yield from ((item, rater, category) for category in categories)

        stage("given", {"item": "int", "rater": "text", "category": "text"}, lines_of())
        with connection.cursor() as cursor:
            # What is copied fits already; a million rows would wait for their triggers for minutes.
            cursor.execute("ANALYZE given; SET LOCAL session_replication_role = replica")
            cursor.execute(ITEMS, [last, study.pk])
            cursor.execute("ANALYZE annotation_item")
            cursor.execute(PLACES, [round_.pk, round_.raters_per_item, study.pk])
            cursor.execute(ASSIGNMENTS, [round_.pk, study.pk, study.pk])
            cursor.execute("ANALYZE annotation_assignment")
            cursor.execute(ANNOTATIONS, [round_.pk])
            cursor.execute("ANALYZE annotation_annotation")
            cursor.execute(POINTERS, [round_.pk])
            cursor.execute(RATINGS, [study.pk, study.pk, round_.pk, round_.taxonomy_version_id])
            cursor.execute(COUNTS, [round_.pk, round_.pk])
            cursor.execute("UPDATE annotation_roundrater SET revision = revision + 1 WHERE round_id = %s", [round_.pk])
    tell_planner(last)


def two_raters(size: int, n_categories: int) -> Iterator[Given]:
    """Two raters on `size` items; the second draws anew in one of five."""
    rng = random.Random(size)
    for number in range(size):
        value = rng.randrange(n_categories)
        other = value if rng.random() < 0.8 else rng.randrange(n_categories)
        yield number, "r1", (f"c{value}",)
        yield number, "r2", (f"c{other}",)


def many_raters(size: int, values: Sequence[tuple[str, ...]]) -> Iterator[Given]:
    """Fifty raters, of whom 25 rate each of `size` items (all of them item 0); three in ten answers are drawn anew."""
    rng = random.Random(size)
    raters = [f"r{number}" for number in range(1, 51)]
    for number in range(size):
        value = rng.choice(values)
        for rater in raters if number == 0 else sorted(rng.sample(raters, 25)):
            yield number, rater, value if rng.random() < 0.7 else rng.choice(values)
