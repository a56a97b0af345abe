"""Exclusions: units that are not compared, counted and listed by reason."""

from collections.abc import Callable, Sequence
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
    if because and because != "unmapped":
        unit, params = _reasons(round_id, tree, dimension, part)
        return places(round_id, dimension, unit, params, "reason = %s", [because], after, limit)
    compared, more = units_sql(round_id, tree, dimension, part)
    lost = texts_of(dimension, compared, more, lambda row: len(told(row).raters) < 2) if told is not None else []
    pattern = ("compared", "raters::text || given_values::text", compared, more)
    unit, params = _with_columns(*units_sql(round_id, tree, dimension, part.whole), [pattern])
    where = "compared = ANY(%s)" if because else "(compared IS NULL OR compared = ANY(%s))"
    return places(
        round_id, dimension, unit, params, where, [[raters + values for raters, values in lost]], after, limit
    )


def _with_columns(
    unit: str, params: list[Any], columns: Sequence[tuple[str, str, str, list[Any]]]
) -> tuple[str, list[Any]]:
    """Units with columns of other queries for units: (name, text, query, its parameters) of each.

    A column is null where its query has fewer than two ratings of the unit. Joins nothing: where the planner expects
    few rows, a join would group all answers again for each unit.
    """
    names = [name for name, *_ in columns]
    rows, params = (
        [f"SELECT *, {', '.join(f'NULL::text AS {name}' for name in names)} FROM ({unit}) AS unit"],
        [*params],
    )
    for name, text, query, more in columns:
        given = ", ".join(text if each == name else "NULL" for each in names)
        rows.append(f"SELECT item_id, part, NULL, NULL, {given} FROM ({query}) AS other WHERE cardinality(raters) > 1")
        params += more
    newest = ", ".join(f"max({name}) AS {name}" for name in ("raters", "given_values", *names))
    return f"SELECT item_id, part, {newest} FROM ({' UNION ALL '.join(rows)}) AS found GROUP BY 1, 2", params


def _reasons(round_id: int, tree: VersionTree, dimension: TreeDimension, part: Slice) -> tuple[str, list[Any]]:
    """One row per unit that is not compared, with its reason. Each choice narrows down what those before left."""
    pointer = {"before": "blind_id", "after": "current_id"}[part.when]
    params: list[Any] = []
    reason = _why_alone(round_id, tree, dimension, part, pointer, params)
    unit, more = units_sql(round_id, tree, dimension, part.whole)
    columns = []
    step, is_alone = part.whole, "cardinality(u.raters) < 2"
    for because, narrower in (
        ("other_raters", {"raters": part.raters}),
        ("parts", {"parts": part.parts}),
        ("pending", {"pending": part.pending}),
    ):
        before, step = step, replace(step, **narrower)
        if step == before:
            continue
        columns.append((f"after_{because}", "'compared'", *units_sql(round_id, tree, dimension, step)))
        is_alone = f"after_{because} IS NULL"
        reason += f" WHEN {is_alone} THEN '{because}'"
    if columns:
        unit, more = _with_columns(unit, more, columns)
    found = f"SELECT u.item_id, u.part, u.raters, u.given_values, CASE {reason} END AS reason FROM ({unit}) AS u"
    return f"{found} WHERE {is_alone}", [*params, *more]


def _why_alone(
    round_id: int, tree: VersionTree, dimension: TreeDimension, part: Slice, pointer: str, params: list[Any]
) -> str:
    """Why a unit `u` has one rating whatever is chosen: another skipped, was not asked, or did not answer there.

    All is found by its item, and not among all answers of the round, however few the planner expects there.
    """
    others = f"""
        SELECT FROM annotation_assignment b JOIN annotation_annotation x ON x.id = b.{pointer}
        WHERE b.round_id + 0 = %s AND b.item_id = u.item_id AND {counts("b", part.whole)}"""
    params.append(round_id)
    found = f" WHEN cardinality(u.raters) < 2 AND EXISTS ({others} AND x.skip_reason <> '') THEN 'skipped'"
    if dimension.applies_when is not None:
        params.append(round_id)
        asked = was_asked(tree, dimension, params)
        there = f"x.skip_reason = '' AND b.rater_id <> ALL(u.raters) AND {HAS_PART}"
        found += f" WHEN cardinality(u.raters) < 2 AND EXISTS ({others} AND {there} AND NOT {asked}) THEN 'not_asked'"
    params.append(round_id)
    one = (
        "SELECT FROM annotation_rounditem p "
        f"WHERE p.round_id + 0 = %s AND p.item_id = u.item_id AND {planned_for_one('p')}"
    )
    found += f" WHEN cardinality(u.raters) < 2 AND EXISTS ({one}) THEN 'planned_for_one'"
    return found + " WHEN cardinality(u.raters) < 2 THEN 'one_sided'"
