"""Intra-rater pairs: answers of a rater to the same part in an earlier and a later round."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.db import connection

from annotation.agreement_report.queries.patterns import POINTERS, Slice, Value, ratings_sql, value_of
from taxonomy.tree import TreeDimension, VersionTree

TWICE = """EXISTS (
    SELECT FROM annotation_rounditem t
    WHERE t.item_id = r.item_id AND t.round_id + 0 = ANY(%s) AND t.known IS NULL AND NOT t.excluded OFFSET 1)"""
"""Looked up by the item of a rating: its second place in these rounds."""


@dataclass(frozen=True)
class RepeatedRating:
    """`n` parts of which a rater (member id) said `earlier` in one round and `later` in another, `days` after."""

    rater: int
    rounds: tuple[int, int]
    earlier: Value
    later: Value
    days: int
    n: int


def repeated_ratings(rounds: Sequence[tuple[int, VersionTree, TreeDimension]], part: Slice) -> list[RepeatedRating]:
    """Counted by round, value and days between; rounds by id in their order with their own dimension. One query."""
    ids = [round_id for round_id, _, _ in rounds]
    pointer = POINTERS[part.when]
    said, params = [], []
    for place, (round_id, tree, dimension) in enumerate(rounds):
        given, more = ratings_sql(round_id, tree, dimension, part, pointer, among=(TWICE, [ids]))
        said.append(f"""
            SELECT {place} AS place, g.item_id, g.part, g.rater_id, g.value, x.created_at
            FROM ({given}) AS g JOIN annotation_assignment a
                ON a.round_id = %s AND a.item_id = g.item_id AND a.rater_id = g.rater_id
            JOIN annotation_annotation x ON x.id = a.{pointer}""")
        params += [*more, round_id]
    sql = f"""
        SELECT rater_id, place, next_place, value, next_value, next_at::date - created_at::date AS days, count(*)
        FROM (
            SELECT s.*, lead(place) OVER later AS next_place, lead(value) OVER later AS next_value,
                lead(created_at) OVER later AS next_at
            FROM ({" UNION ALL ".join(said)}) AS s
            WINDOW later AS (PARTITION BY item_id, part, rater_id ORDER BY place)
        ) AS found WHERE next_place IS NOT NULL GROUP BY 1, 2, 3, 4, 5, 6"""
    with connection.cursor() as cursor:
        cursor.execute(sql, params)
        rows: list[Any] = cursor.fetchall()
    return [
        RepeatedRating(
            rater,
            (ids[place], ids[later_place]),
            value_of(rounds[place][2], value),
            value_of(rounds[later_place][2], later),
            days,
            n,
        )
        for rater, place, later_place, value, later, days, n in rows
    ]
