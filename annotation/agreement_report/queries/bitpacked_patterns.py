"""Bit-packed patterns: counts many answers of few raters as numbers, without sorting."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from django.db import connection, transaction

from annotation.models.assignment_kinds import is_extra_sql
from taxonomy.tree import TreeDimension

MOST_BITS = 63
MEMORY = "64MB"
"""For half a million units at once; more of them are sorted out on disk."""

_ROUND = """
    WITH RECURSIVE answering AS (
        (SELECT rater_id FROM annotation_assignment WHERE round_id = %(round)s ORDER BY rater_id LIMIT 1)
        UNION ALL
        SELECT (SELECT a.rater_id FROM annotation_assignment a
            WHERE a.round_id = %(round)s AND a.rater_id > answering.rater_id ORDER BY a.rater_id LIMIT 1)
        FROM answering WHERE answering.rater_id IS NOT NULL
    )
    SELECT (SELECT array_agg(rater_id ORDER BY rater_id) FROM answering WHERE rater_id IS NOT NULL),
        EXISTS (SELECT FROM annotation_partmatch m JOIN annotation_annotation x ON x.id = m.annotation_id
            JOIN annotation_assignment a ON a.id = x.assignment_id WHERE a.round_id = %(round)s)
"""
_IS_EXTRA = is_extra_sql("a")
NOT_COUNTING = f"""
    SELECT x.id FROM annotation_assignment a JOIN annotation_annotation x ON x.assignment_id = a.id
    WHERE a.round_id = %s AND a.current_id IS NOT NULL AND ({_IS_EXTRA} OR a.blind_id IS NULL)
        AND ({_IS_EXTRA} OR x.id IS DISTINCT FROM a.{{pointer}})
    UNION ALL
    SELECT x.id FROM annotation_annotation later JOIN annotation_assignment a ON a.id = later.assignment_id
    JOIN annotation_annotation x ON x.assignment_id = a.id
    WHERE later.revision > 1 AND a.round_id = %s AND ({_IS_EXTRA} OR x.id IS DISTINCT FROM a.{{pointer}})
"""
"""The annotations of a round that do not count: of assignments without a slot, and revisions that another one replaced.

They are few, and found by the partial indexes on what is rare. An assignment with one annotation points to it.
"""


@dataclass(frozen=True)
class Packing:
    """Which bits of a number say what each rater gave: 0 nothing, 1 pending, from 2 on the values from `lowest`."""

    raters: tuple[int, ...]
    lowest: int
    bits: int

    def counted(self, given: str, params: list[Any]) -> list[tuple[list[int], list[int], int]]:
        """Raters, values and number of units of each pattern; `given` has item_id, part, rater_id and value."""
        places = " ".join(f"WHEN {rater} THEN {place * self.bits}" for place, rater in enumerate(self.raters))
        said = f"(CASE WHEN value = -1 THEN 1 ELSE value - {self.lowest - 2} END)::bigint"
        sql = f"""
            SELECT packed, count(*) FROM (
                SELECT bit_or({said} << (CASE rater_id {places} END)) AS packed FROM ({given}) AS given
                GROUP BY item_id, part
            ) AS unit WHERE packed IS NOT NULL GROUP BY 1
        """
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(f"SET LOCAL work_mem = '{MEMORY}'; SET LOCAL jit = off")
            cursor.execute(sql, params)
            return [(*self._unpacked(packed), n) for packed, n in cursor.fetchall()]

    @cached_property
    def _mask(self) -> int:
        return (1 << self.bits) - 1

    def _unpacked(self, packed: int) -> tuple[list[int], list[int]]:
        raters, values = [], []
        for place, rater in enumerate(self.raters):
            if said := (packed >> (place * self.bits)) & self._mask:
                raters.append(rater)
                values.append(-1 if said == 1 else said + self.lowest - 2)
        return raters, values


def packing(round_id: int, dimension: TreeDimension) -> Packing | None:
    """How the answers of a round fit into one number; None where they do not, or bugs were matched; one query.

    Raters are found by a probe of an index each.
    """
    if dimension.is_two_valued:
        lowest, highest = 0, 1
    elif dimension.takes_one_category and dimension.by_id:
        lowest, highest = min(dimension.by_id), max(dimension.by_id)
    else:
        return None
    bits = (highest - lowest + 2).bit_length()
    with connection.cursor() as cursor:
        cursor.execute(_ROUND, {"round": round_id})
        raters, has_matches = cursor.fetchone()
    if not raters or has_matches or len(raters) * bits > MOST_BITS:
        return None
    return Packing(tuple(raters), lowest, bits)
