"""Coverage of agreement: how many items two raters labeled, and how many only one was to label."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.db import connection

from annotation.agreement_report.queries.patterns import POINTERS, Slice, counts, in_slice
from annotation.core.imported import MARK
from annotation.models import Round


@dataclass(frozen=True)
class Coverage:
    """Items of some rounds, each once: labeled at all, by two raters in a round, and planned for one rater alone."""

    items: int = 0
    labeled: int = 0
    double: int = 0
    planned_for_one: int = 0


PLANNED_FOR_ONE = """CASE WHEN {place}.n_raters < 2 THEN NOT EXISTS (
    SELECT FROM annotation_assignment s JOIN annotation_annotation y ON y.id = s.current_id
    WHERE s.round_id = {place}.round_id AND s.item_id = {place}.item_id AND starts_with(y.idempotency_key, '{mark}'))
    ELSE false END"""
"""Whether an item of a round was planned for one rater; a sheet does not tell for how many."""


def planned_for_one(place: str) -> str:
    return PLANNED_FOR_ONE.format(place=place, mark=MARK)


def coverage(rounds: Sequence[Round], part: Slice) -> Coverage:
    """How many items of these rounds are compared at all, without training and excluded items.

    One query, none without rounds.
    """
    if not rounds:
        return Coverage()
    places, params = [], []
    for round_ in rounds:
        sql, more = _places(round_.pk, part)
        places.append(sql)
        params += more
    with connection.cursor() as cursor:
        cursor.execute(
            f"""SELECT count(*), count(*) FILTER (WHERE most > 0), count(*) FILTER (WHERE most > 1),
                count(*) FILTER (WHERE is_for_one)
            FROM (SELECT item_id, max(n) AS most, bool_and(is_for_one) AS is_for_one
                FROM ({" UNION ALL ".join(places)}) AS place GROUP BY item_id) AS item""",
            params,
        )
        return Coverage(*cursor.fetchone())


def _places(round_id: int, part: Slice) -> tuple[str, list[Any]]:
    """The items of a round with the number of raters whose labels count there.

    Joins nothing: where the planner expects few rows, a join counts all answers again for each item. OFFSET 0 has
    ratings looked up, which it would join with all answers.
    """
    params: list[Any] = [round_id]
    where = ["r.round_id = %s", "r.known IS NULL", "NOT r.excluded", *in_slice(round_id, part, params)]
    params.append(round_id)
    given = f"""SELECT a.item_id, count(*) AS n, NULL AS is_for_one FROM annotation_assignment a
        WHERE a.round_id = %s AND {counts("a", part)} AND EXISTS (SELECT FROM annotation_rating g
            WHERE g.annotation_id = a.{POINTERS[part.when]} AND g.round_id = a.round_id OFFSET 0)
        GROUP BY a.item_id"""
    return (
        f"""SELECT item_id, max(n) AS n, bool_and(is_for_one) AS is_for_one FROM (
        SELECT r.item_id, 0 AS n, {planned_for_one("r")} AS is_for_one
        FROM annotation_rounditem r WHERE {" AND ".join(where)} UNION ALL {given}
        ) AS told GROUP BY item_id HAVING count(is_for_one) > 0""",
        params,
    )
