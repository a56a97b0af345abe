"""What raters gave beside what was agreed on, where a decision or a changed answer makes the two differ."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.db import connection
from django.db.models import Count, Max

from annotation.models import Resolution, Round
from annotation.queries.patterns import Slice, Value, condition_sql, units_sql, value_of
from taxonomy.kinds import BOOLEAN, CATEGORY, NUMBER, TEXT
from taxonomy.tree import TreeDimension, VersionTree

EXCEPTIONS = """
    SELECT item_id FROM annotation_resolution WHERE round_id = %s AND dimension_id = ANY(%s)
    UNION SELECT item_id FROM annotation_resolution WHERE round_id = %s AND no_part
    UNION SELECT item_id FROM annotation_assignment WHERE round_id = %s AND blind_id <> current_id
    UNION SELECT item_id FROM annotation_assignment
        WHERE round_id = %s AND current_id IS NOT NULL AND blind_id IS NULL"""
NEWEST = """
    SELECT DISTINCT ON (item_id, part) id, item_id, part, method FROM annotation_resolution
    WHERE round_id = %s AND dimension_id = %s ORDER BY item_id, part, revision DESC"""
NO_PART = """
    SELECT DISTINCT ON (item_id, part, dimension_id) item_id, part, no_part FROM annotation_resolution
    WHERE round_id = %s ORDER BY item_id, part, dimension_id, revision DESC"""
OF_DECISION = "FROM annotation_resolutionvalue v WHERE v.resolution_id = d.id"
DECIDED = {
    BOOLEAN: f"SELECT v.boolean::int {OF_DECISION} LIMIT 1",
    NUMBER: f"SELECT v.number {OF_DECISION} LIMIT 1",
    TEXT: f"SELECT v.text {OF_DECISION} LIMIT 1",
    CATEGORY: f"SELECT v.category_id {OF_DECISION} LIMIT 1",
}
"""The value of a decision, by its column."""
DECIDED_SET = f"SELECT coalesce(string_agg(v.category_id::text, ',' ORDER BY v.category_id), '') {OF_DECISION}"


@dataclass(frozen=True)
class BesideAgreed:
    """`n` units in which these raters (member ids) gave these values; `agreed` is None where nothing is agreed."""

    raters: tuple[int, ...]
    values: tuple[Value, ...]
    agreed: Value | None
    is_decided: bool
    n: int


def decisions_so_far(rounds: Sequence[Round]) -> tuple[int, int]:
    """Changes with every decision in these rounds; one query."""
    found = Resolution.objects.filter(round__in=rounds).aggregate(n=Count("pk"), newest=Max("pk"))
    return found["n"], found["newest"] or 0


def beside_agreed(round_id: int, tree: VersionTree, dimension: TreeDimension, part: Slice) -> list[BesideAgreed]:
    """Patterns with the label agreed on, of the items where something was decided or an answer changed; two queries.

    Agreed is the newest decision that stands, as long as no decision says that the part does not exist and none above
    that the dimension does not apply;
    else what all raters say now, if they are two at least. Anywhere else the patterns alone tell.
    """
    chain, at = [dimension.id], dimension
    conditions = f"""
        AND NOT EXISTS (SELECT FROM ({NO_PART}) AS w WHERE w.item_id = u.item_id AND w.part = u.part AND w.no_part)"""
    more: list[Any] = [round_id]
    while at.applies_when is not None:
        above: list[Any] = []
        fits = condition_sql(tree, at, above)
        conditions += f"""
            AND NOT EXISTS (SELECT FROM ({NEWEST}) AS w WHERE w.item_id = u.item_id AND w.part = u.part
                AND w.method <> 'reopened' AND NOT EXISTS (
                    SELECT FROM annotation_resolutionvalue p WHERE p.resolution_id = w.id AND {fits}))"""
        more += [round_id, *above]
        at = tree.by_key[at.applies_when.dimension]
        chain.append(at.id)
    with connection.cursor() as cursor:
        cursor.execute(EXCEPTIONS, [round_id, chain, round_id, round_id, round_id])
        items = [pk for (pk,) in cursor.fetchall()]
    if not items:
        return []
    among = ("SELECT unnest(%s::bigint[])", [items])
    given, params = units_sql(round_id, tree, dimension, part, among=among)
    now, params_now = units_sql(round_id, tree, dimension, Slice(when="after"), among=among)
    sql = f"""
        SELECT u.raters, u.given_values,
            CASE WHEN d.method <> 'reopened' THEN ({DECIDED_SET if dimension.is_set else DECIDED[dimension.column]})
                WHEN cardinality(now.raters) > 1 AND now.given_values[1] = ALL(now.given_values)
                THEN now.given_values[1] END AS agreed,
            coalesce(d.method <> 'reopened', false) AS is_decided, true{conditions} AS applies, count(*)
        FROM ({given}) AS u
        LEFT JOIN ({now}) AS now ON now.item_id = u.item_id AND now.part = u.part
        LEFT JOIN ({NEWEST}) AS d ON d.item_id = u.item_id AND d.part = u.part
        GROUP BY 1, 2, 3, 4, 5"""
    with connection.cursor() as cursor:
        cursor.execute(sql, [*more, *params, *params_now, round_id, dimension.id])
        rows = cursor.fetchall()
    return [
        BesideAgreed(
            raters=tuple(raters),
            values=tuple(value_of(dimension, value) for value in values),
            agreed=value_of(dimension, agreed) if applies and agreed is not None else None,
            is_decided=is_decided,
            n=n,
        )
        for raters, values, agreed, is_decided, applies, n in rows
    ]
