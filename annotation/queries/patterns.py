"""The rating patterns of a round on a dimension, counted by the database: one row per distinct pattern."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from django.db import connection

from annotation.consensus import PENDING
from taxonomy.tree import TreeDimension, VersionTree

DOES_NOT_APPLY = "(does not apply)"
_PENDING, _NOT_APPLICABLE = -1, -2

Value = str | float | frozenset[str]


@dataclass(frozen=True)
class PatternRow:
    """`n` units in which these raters (member ids) gave these values, in the same order."""

    raters: tuple[int, ...]
    values: tuple[Value, ...]
    n: int


@dataclass(frozen=True)
class Slice:
    """Which ratings count: before or after discussion, all parts or single ones, with pending, applying to whom."""

    when: str = "before"
    parts: str = "aligned"
    pending: str = "category"
    applies: str = "both"


def patterns(round_id: int, tree: VersionTree, dimension: TreeDimension, part: Slice) -> list[PatternRow]:
    """The distinct patterns of one dimension in one round with how often each occurs; one query.

    A unit is a part of an item. Arbiters have no slot and are left out, as are ratings (of a sheet) on a dimension that
    does not apply under the rater's own answers. Cost: one pass over the round's ratings on the
    dimension; the answer has as many rows as there are different patterns.
    """
    unit, params = _units(round_id, tree, dimension, part)
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT raters, given_values, count(*) FROM ({unit}) AS unit GROUP BY 1, 2", params)
        rows = cursor.fetchall()
    return [_pattern(dimension, *row) for row in rows]


@dataclass(frozen=True)
class Unit:
    """A part of an item with what its raters (member ids) gave, in the same order."""

    item_id: int
    part: int
    position: int
    raters: tuple[int, ...]
    values: tuple[Value, ...]


def units(
    round_id: int,
    tree: VersionTree,
    dimension: TreeDimension,
    part: Slice,
    *,
    wanted: Callable[[PatternRow], bool],
    after: tuple[int, int] = (0, 0),
    limit: int,
) -> list[Unit]:
    """The units whose pattern is wanted, in the round's order, after a (position, part); two queries."""
    unit, params = _units(round_id, tree, dimension, part)
    kept = _texts_of(dimension, unit, params, wanted)
    if not kept:
        return []
    where = "(raters::text, given_values::text) IN (SELECT * FROM unnest(%s::text[], %s::text[]))"
    keys = [list(each) for each in zip(*kept, strict=True)]
    return _places(round_id, dimension, unit, params, where, keys, after, limit)


def units_left_out(
    round_id: int,
    tree: VersionTree,
    dimension: TreeDimension,
    part: Slice,
    *,
    told: Callable[[PatternRow], PatternRow] | None = None,
    after: tuple[int, int] = (0, 0),
    limit: int,
) -> list[Unit]:
    """The units with a rating that are not compared: fewer than two ratings are left there; one query.

    `told` leaves out of a pattern what can't be told in another version; with it two queries.
    """
    unit, params = _units(round_id, tree, dimension, replace(part, parts="aligned", pending="category"))
    compared, more = _units(round_id, tree, dimension, part)
    where = (
        "NOT EXISTS (SELECT FROM (" + compared + ") AS compared WHERE compared.item_id = unit.item_id"
        " AND compared.part = unit.part AND cardinality(compared.raters) > 1"
    )
    if told is not None:
        lost = _texts_of(dimension, compared, more, lambda row: len(told(row).raters) < 2)
        where += (
            " AND (compared.raters::text, compared.given_values::text)"
            " NOT IN (SELECT * FROM unnest(%s::text[], %s::text[]))"
        )
        more = [*more, [raters for raters, _ in lost], [values for _, values in lost]]
    return _places(round_id, dimension, unit, params, where + ")", more, after, limit)


def _texts_of(
    dimension: TreeDimension, unit: str, params: list[Any], wanted: Callable[[PatternRow], bool]
) -> list[tuple[str, str]]:
    """Raters and values, as the database writes them, of the patterns that are wanted; one query."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT raters, given_values, count(*), raters::text, given_values::text"
            f" FROM ({unit}) AS unit GROUP BY 1, 2",
            params,
        )
        return [(row[3], row[4]) for row in cursor.fetchall() if wanted(_pattern(dimension, *row[:3]))]


def _places(
    round_id: int,
    dimension: TreeDimension,
    unit: str,
    params: list[Any],
    where: str,
    more: list[Any],
    after: tuple[int, int],
    limit: int,
) -> list[Unit]:
    sql = f"""
        SELECT unit.item_id, unit.part, place.position, unit.raters, unit.given_values
        FROM ({unit}) AS unit
        JOIN annotation_rounditem place ON place.round_id = %s AND place.item_id = unit.item_id
        WHERE (place.position, unit.part) > (%s, %s) AND {where}
        ORDER BY place.position, unit.part LIMIT %s
    """
    with connection.cursor() as cursor:
        cursor.execute(sql, [*params, round_id, *after, *more, limit])
        rows = cursor.fetchall()
    return [
        Unit(item, part, position, tuple(raters), tuple(_value(dimension, value) for value in values))
        for item, part, position, raters, values in rows
    ]


def _pattern(dimension: TreeDimension, raters: list[int], values: list[Any], n: int) -> PatternRow:
    return PatternRow(tuple(raters), tuple(_value(dimension, value) for value in values), n)


def _units(round_id: int, tree: VersionTree, dimension: TreeDimension, part: Slice) -> tuple[str, list[Any]]:
    """One row per unit: item_id, part, raters and given_values in the same order."""
    pointer = {"before": "blind_id", "after": "current_id"}[part.when]
    given, params = _given(round_id, tree, dimension, part, pointer)
    steps = [f"given AS ({given})"]
    source = "given"
    if part.applies == "either" and dimension.applies_when is not None and dimension.kind not in ("number", "text"):
        steps.append(f"either AS ({_either(dimension, pointer)})")
        params.append(round_id)
        source = "either"
    sql = f"""
        WITH {", ".join(steps)}
        SELECT item_id, part, array_agg(rater_id ORDER BY rater_id) AS raters,
            array_agg(value ORDER BY rater_id) AS given_values
        FROM {source} GROUP BY item_id, part
    """
    return sql, params


_OWN_ANSWER = """EXISTS (
    SELECT FROM annotation_rating p
    WHERE p.annotation_id = r.annotation_id AND p.part = r.part AND p.dimension_id = %s AND {value})"""


def _condition_sql(tree: VersionTree, dimension: TreeDimension, params: list[Any]) -> str:
    """What the rater's own answer above must be for the dimension to apply; its parameters are appended."""
    condition = dimension.applies_when
    assert condition is not None
    above = tree.by_key[condition.dimension]
    params.append(above.id)
    if above.kind == "boolean":
        params.append([value is True for value in condition.values])
        return "p.boolean = ANY(%s)"
    params.append([above.by_key[key].id for value in condition.values for key in above.below(str(value))])
    return "p.category_id = ANY(%s)"


def _given(
    round_id: int, tree: VersionTree, dimension: TreeDimension, part: Slice, pointer: str
) -> tuple[str, list[Any]]:
    """One row per unit and rater with the value: a category's id, −1 pending; sets as ids joined by commas."""
    where = ["r.round_id = %s", "r.dimension_id = %s", "a.slot IS NOT NULL"]
    params: list[Any] = [round_id, dimension.id]
    if part.parts == "single":
        where.append(
            f"""r.item_id NOT IN (
                SELECT b.item_id FROM annotation_assignment b JOIN annotation_annotation x ON x.id = b.{pointer}
                WHERE b.round_id = %s AND b.slot IS NOT NULL AND x.n_parts > 1)"""
        )
        params.append(round_id)
    if dimension.applies_when is not None:
        where.append(_OWN_ANSWER.format(value=_condition_sql(tree, dimension, params)))
    leave_pending = part.pending == "left_out"
    group = ""
    if dimension.kind == "multi":
        value = (
            "coalesce(string_agg(CASE WHEN r.proposal_id IS NOT NULL THEN '-1' ELSE r.category_id::text END, ','"
            " ORDER BY r.category_id), '')"
        )
        group = "GROUP BY r.item_id, r.part, r.rater_id"
        if leave_pending:
            group += " HAVING count(r.proposal_id) = 0"
    else:
        column = {"boolean": "r.boolean::int", "number": "r.number", "text": "r.text"}.get(
            dimension.kind, f"CASE WHEN r.proposal_id IS NOT NULL THEN {_PENDING} ELSE r.category_id END"
        )
        value = column
        if leave_pending:
            where.append("r.proposal_id IS NULL")
    sql = f"""
        SELECT r.item_id, r.part, r.rater_id, {value} AS value
        FROM annotation_rating r JOIN annotation_assignment a ON a.{pointer} = r.annotation_id
        WHERE {" AND ".join(where)} {group}
    """
    return sql, params


def _either(dimension: TreeDimension, pointer: str) -> str:
    """The given values, and “does not apply” for raters who labelled the part but were not asked there."""
    missing = f"'{_NOT_APPLICABLE}'" if dimension.kind == "multi" else str(_NOT_APPLICABLE)
    return f"""
        SELECT u.item_id, u.part, b.rater_id, coalesce(g.value, {missing}) AS value
        FROM (SELECT DISTINCT item_id, part FROM given) u
        JOIN annotation_assignment b ON b.item_id = u.item_id AND b.round_id = %s AND b.slot IS NOT NULL
        JOIN annotation_annotation x ON x.id = b.{pointer} AND x.skip_reason = '' AND x.n_parts >= u.part
        LEFT JOIN given g ON g.item_id = u.item_id AND g.part = u.part AND g.rater_id = b.rater_id
    """


def _value(dimension: TreeDimension, value: Any) -> Value:
    if dimension.kind == "multi":
        return frozenset(_name(dimension, int(each)) for each in value.split(",") if each)
    if dimension.kind == "boolean":
        return {0: "false", 1: "true"}.get(value, DOES_NOT_APPLY)
    if dimension.has_categories:
        return _name(dimension, value)
    return value


def _name(dimension: TreeDimension, code: int) -> str:
    if code == _PENDING:
        return PENDING
    return DOES_NOT_APPLY if code == _NOT_APPLICABLE else dimension.by_id[code].key


def n_units(rows: Sequence[PatternRow]) -> int:
    return sum(row.n for row in rows)
