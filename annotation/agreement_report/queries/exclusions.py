"""Exclusions: units that are not compared, counted and listed by reason."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from django.db import connection

from annotation.agreement_report.queries.coverage import planned_for_one
from annotation.agreement_report.queries.patterns import (
    HAS_PART,
    PatternRow,
    Slice,
    Unit,
    counts,
    places,
    texts_of,
    units_sql,
    was_asked,
)
from taxonomy.tree import TreeDimension, VersionTree

BECAUSE = {
    "one_sided": "only one label counts there",
    "planned_for_one": "planned for one rater",
    "skipped": "the other rater skipped it",
    "not_asked": "it did not apply for the other rater",
    "other_raters": "labeled by raters other than these two",
    "parts": "an issue of several parts",
    "pending": "a category was proposed",
    "unmapped": "it has no equivalent in this version",
}
"""The reasons in words, in the order in which they are looked for: the first that leaves fewer than two ratings."""


def n_excluded(round_id: int, tree: VersionTree, dimension: TreeDimension, part: Slice) -> dict[str, int]:
    """How many units with a rating have fewer than two to compare, by reason; one query.

    What can't be told in another version is not known here.
    """
    sql, params = _reasons(round_id, tree, dimension, part)
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT reason, count(*) FROM ({sql}) AS found GROUP BY 1", params)
        return dict(cursor.fetchall())


def units_left_out(
    round_id: int,
    tree: VersionTree,
    dimension: TreeDimension,
    part: Slice,
    *,
    told: Callable[[PatternRow], PatternRow] | None = None,
    because: str = "",
    after: tuple[int, int] = (0, 0),
    limit: int,
) -> list[Unit]:
    """The units with a rating that are not compared: fewer than two ratings are left there; one query.

    `told` leaves out of a pattern what can't be told in another version; with it two queries. `because` leaves those
    of one reason.
    """
    unit, params = units_sql(round_id, tree, dimension, part.whole)
    compared, more = units_sql(round_id, tree, dimension, part)
    here = (
        "EXISTS (SELECT FROM (" + compared + ") AS compared WHERE compared.item_id = unit.item_id"
        " AND compared.part = unit.part AND cardinality(compared.raters) > 1"
    )
    where = f"NOT {here}"
    if told is not None:
        lost = texts_of(dimension, compared, more, lambda row: len(told(row).raters) < 2)
        where += (
            " AND (compared.raters::text, compared.given_values::text)"
            " NOT IN (SELECT * FROM unnest(%s::text[], %s::text[]))"
        )
        more = [*more, [raters for raters, _ in lost], [values for _, values in lost]]
    where += ")"
    if because == "unmapped":
        again, params_again = units_sql(round_id, tree, dimension, part)
        where += " AND " + here.replace(compared, again) + ")"
        more = [*more, *params_again]
    elif because:
        reasons, params_of = _reasons(round_id, tree, dimension, part)
        where += f" AND (unit.item_id, unit.part) IN (SELECT item_id, part FROM ({reasons}) AS why WHERE reason = %s)"
        more = [*more, *params_of, because]
    return places(round_id, dimension, unit, params, where, more, after, limit)


def _reasons(round_id: int, tree: VersionTree, dimension: TreeDimension, part: Slice) -> tuple[str, list[Any]]:
    """One row per unit that is not compared: item_id, part, reason. Each choice narrows down what those before left."""
    pointer = {"before": "blind_id", "after": "current_id"}[part.when]
    params: list[Any] = []
    reason = _why_alone(round_id, tree, dimension, part, pointer, params)
    unit, more = units_sql(round_id, tree, dimension, part.whole)
    params += more
    joined, last = f"({unit}) AS u", "u"
    step = part.whole
    for because, narrower in (
        ("other_raters", {"raters": part.raters}),
        ("parts", {"parts": part.parts}),
        ("pending", {"pending": part.pending}),
    ):
        before, step = step, replace(step, **narrower)
        if step == before:
            continue
        last = f"after_{because}"
        sql, more = units_sql(round_id, tree, dimension, step)
        params += more
        joined += f" LEFT JOIN ({sql}) AS {last} ON {last}.item_id = u.item_id AND {last}.part = u.part"
        reason += f" WHEN coalesce(cardinality({last}.raters), 0) < 2 THEN '{because}'"
    found = f"SELECT u.item_id, u.part, CASE {reason} END AS reason FROM {joined}"
    return f"{found} WHERE coalesce(cardinality({last}.raters), 0) < 2", params


def _why_alone(
    round_id: int, tree: VersionTree, dimension: TreeDimension, part: Slice, pointer: str, params: list[Any]
) -> str:
    """Why a unit `u` has one rating whatever is chosen: another skipped, was not asked, or did not answer there."""
    others = f"""
        SELECT FROM annotation_assignment b JOIN annotation_annotation x ON x.id = b.{pointer}
        WHERE b.round_id = %s AND b.item_id = u.item_id AND {counts("b", part.whole)}"""
    params.append(round_id)
    found = f" WHEN cardinality(u.raters) < 2 AND EXISTS ({others} AND x.skip_reason <> '') THEN 'skipped'"
    if dimension.applies_when is not None:
        params.append(round_id)
        asked = was_asked(tree, dimension, params)
        there = f"x.skip_reason = '' AND b.rater_id <> ALL(u.raters) AND {HAS_PART}"
        found += f" WHEN cardinality(u.raters) < 2 AND EXISTS ({others} AND {there} AND NOT {asked}) THEN 'not_asked'"
    params.append(round_id)
    one = (
        f"SELECT FROM annotation_rounditem p WHERE p.round_id = %s AND p.item_id = u.item_id AND {planned_for_one('p')}"
    )
    found += f" WHEN cardinality(u.raters) < 2 AND EXISTS ({one}) THEN 'planned_for_one'"
    return found + " WHEN cardinality(u.raters) < 2 THEN 'one_sided'"
