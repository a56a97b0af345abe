"""Patterns of a round on a dimension, counted by the database: one row for each distinct pattern."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from django.db import connection

from annotation.agreement_report.queries.bitpacked_patterns import NOT_COUNTING, packing
from annotation.labels.consensus import PENDING
from annotation.models.assignment_kinds import is_rater_sql
from taxonomy.kinds import BOOLEAN, CATEGORY, NUMBER, TEXT
from taxonomy.tree import TreeDimension, VersionTree

DOES_NOT_APPLY = "(does not apply)"
POINTERS = {"before": "blind_id", "after": "current_id"}
MANY = 20_000
_PENDING, _NOT_APPLICABLE = -1, -2

Value = str | float | frozenset[str]
NOT_COMPARED = """
    SELECT item_id FROM annotation_rounditem WHERE round_id = %s AND known IS NOT NULL
    UNION ALL SELECT item_id FROM annotation_rounditem WHERE round_id = %s AND excluded"""
"""The training items of a round, whose answers are compared with what is known, and those that are excluded."""


PLACE = """
    SELECT p.position FROM annotation_rounditem p
    WHERE p.item_id = unit.item_id AND p.round_id + 0 = %s OFFSET 0"""
"""The place of a unit, looked up by its item: where the planner expects few rows it would count all units for each."""


@dataclass(frozen=True)
class PatternRow:
    """`n` units in which these raters (member ids) gave these values, in the same order."""

    raters: tuple[int, ...]
    values: tuple[Value, ...]
    n: int


@dataclass(frozen=True)
class Slice:
    """Which ratings count: before or after discussion, all parts or single ones, with pending, applying to whom.

    With `repository` (as item identifiers write it) or `stratum` (of a sample of the study) only items from there, with
    `raters` (member ids) only what they gave. `machines` are members whose ratings count beside those of the raters who
    hold a slot. `without` lists the (round id, item id) pairs that the reader still has to answer as a third rater.
    """

    when: str = "before"
    parts: str = "aligned"
    pending: str = "category"
    applies: str = "both"
    repository: str = ""
    stratum: str = ""
    raters: tuple[int, ...] = ()
    machines: tuple[int, ...] = ()
    without: tuple[tuple[int, int], ...] = ()

    @property
    def whole(self) -> "Slice":
        """The same items with all that was given: nobody and nothing is left out by choice."""
        return replace(self, parts="aligned", pending="category", raters=())


def patterns(
    round_id: int, tree: VersionTree, dimension: TreeDimension, part: Slice, *, n_answers: int = 0
) -> list[PatternRow]:
    """The distinct patterns of one dimension in one round with how often each occurs; one query.

    A unit is a part of an item. Arbiters have no slot and are left out, as are training and excluded items, and ratings
    (of a sheet) on a dimension that does not apply under the rater's own answers. Cost: one pass over the round's
    ratings on the dimension; the answer has as many rows as there are different patterns. Where `n_answers`, about how
    many the round holds, are many, one more query finds out whether they can be counted in a quicker way.
    """
    found = _packed(round_id, tree, dimension, part) if n_answers >= MANY else None
    if found is not None:
        return found
    unit, params = units_sql(round_id, tree, dimension, part)
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT raters, given_values, count(*) FROM ({unit}) AS unit GROUP BY 1, 2", params)
        rows = cursor.fetchall()
    return [_pattern(dimension, *row) for row in rows]


def patterns_by_item(
    round_id: int, tree: VersionTree, dimension: TreeDimension, part: Slice, items: Sequence[int]
) -> list[tuple[int, PatternRow]]:
    """The pattern of each unit of some items, with the item's id, in a fixed order; one query."""
    among = ("r.item_id = ANY(%s)", [list(items)])
    unit, params = units_sql(round_id, tree, dimension, part, among=among)
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT item_id, raters, given_values FROM ({unit}) AS unit ORDER BY item_id, part", params)
        rows = cursor.fetchall()
    return [(item, _pattern(dimension, raters, values, 1)) for item, raters, values in rows]


def _packed(round_id: int, tree: VersionTree, dimension: TreeDimension, part: Slice) -> list[PatternRow] | None:
    """The patterns counted as numbers; None where that can't be."""
    asked_of_either = part.applies == "either" and dimension.applies_when is not None
    chosen = None if asked_of_either or part.machines else packing(round_id, dimension)
    if chosen is None:
        return None
    given, params = ratings_sql(round_id, tree, dimension, part, POINTERS[part.when], every_answer=True)
    return [_pattern(dimension, *row) for row in chosen.counted(given, params)]


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
    among: tuple[str, list[Any]] | None = None,
    after: tuple[int, int] = (0, 0),
    limit: int,
) -> list[Unit]:
    """The units whose pattern is wanted, in the round's order, after a (position, part); two queries.

    `among` is a condition on `r.item_id` for the items that are meant, with its parameters.
    """
    unit, params = units_sql(round_id, tree, dimension, part, among=among)
    kept = texts_of(dimension, unit, params, wanted)
    if not kept:
        return []
    where = "(raters::text, given_values::text) IN (SELECT * FROM unnest(%s::text[], %s::text[]))"
    keys = [list(each) for each in zip(*kept, strict=True)]
    return places(round_id, dimension, unit, params, where, keys, after, limit)


def texts_of(
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


def places(
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
        FROM ({unit}) AS unit CROSS JOIN LATERAL ({PLACE}) AS place
        WHERE (place.position, unit.part) > (%s, %s) AND {where}
        ORDER BY place.position, unit.part LIMIT %s
    """
    with connection.cursor() as cursor:
        cursor.execute(sql, [*params, round_id, *after, *more, limit])
        rows = cursor.fetchall()
    return [
        Unit(item, part, position, tuple(raters), tuple(value_of(dimension, value) for value in values))
        for item, part, position, raters, values in rows
    ]


def _pattern(dimension: TreeDimension, raters: list[int], values: list[Any], n: int) -> PatternRow:
    return PatternRow(tuple(raters), tuple(value_of(dimension, value) for value in values), n)


def units_sql(
    round_id: int,
    tree: VersionTree,
    dimension: TreeDimension,
    part: Slice,
    *,
    among: tuple[str, list[Any]] | None = None,
) -> tuple[str, list[Any]]:
    """One row per unit: item_id, part, raters and given_values in the same order; `among` as in `units`."""
    pointer = POINTERS[part.when]
    given, params = ratings_sql(round_id, tree, dimension, part, pointer, among=among)
    steps = [f"given AS ({given})"]
    source = "given"
    if part.applies == "either" and dimension.applies_when is not None and not dimension.is_open:
        asked = was_asked(tree, dimension, params, round_id)
        steps.append(f"either AS ({_either(dimension, pointer, part, asked)})")
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


GIVEN = {
    BOOLEAN: "r.boolean::int",
    NUMBER: "r.number",
    TEXT: "r.text",
    CATEGORY: f"CASE WHEN r.proposal_id IS NOT NULL THEN {_PENDING} ELSE r.category_id END",
}
"""The value of a rating, by its column."""

_BESIDE = """JOIN annotation_assignment a ON a.{pointer} = r.annotation_id
    LEFT JOIN annotation_partmatch m ON m.annotation_id = r.annotation_id AND m.part = r.part"""
_AGREED_PART = "coalesce(m.agreed_part, r.part)"
"""Parts are aligned by number, unless they were matched while resolving."""

HAS_PART = """CASE WHEN EXISTS (SELECT FROM annotation_partmatch m WHERE m.annotation_id = x.id)
    THEN EXISTS (SELECT FROM annotation_partmatch m WHERE m.annotation_id = x.id AND m.agreed_part = u.part)
    ELSE x.n_parts >= u.part END"""


def condition_sql(tree: VersionTree, dimension: TreeDimension, params: list[Any]) -> str:
    """What the rater's own answer above must be for the dimension to apply; its parameters are appended."""
    condition = dimension.applies_when
    assert condition is not None
    above = tree.by_key[condition.dimension]
    params.append(above.id)
    if above.is_two_valued:
        params.append([value is True for value in condition.values])
        return "p.boolean = ANY(%s)"
    params.append([above.by_key[key].id for value in condition.values for key in above.below(str(value))])
    return "p.category_id = ANY(%s)"


def counts(assignment: str, part: Slice) -> str:
    """Whether the ratings of an assignment count, as SQL: whoever holds no slot answered beside the raters."""
    found = is_rater_sql(assignment)
    if part.raters:
        found += f" AND {_one_of(assignment, part.raters)}"
    return f"({found} OR {_one_of(assignment, part.machines)})" if part.machines else f"({found})"


def _one_of(assignment: str, members: Sequence[int]) -> str:
    return f"{assignment}.rater_id = ANY(ARRAY[{','.join(str(int(pk)) for pk in members)}]::bigint[])"


def in_slice(round_id: int, part: Slice, params: list[Any]) -> list[str]:
    """Conditions on a rating's item: repository, stratum, and not hidden; their parameters are appended."""
    found = []
    if hidden := [item for where, item in part.without if where == round_id]:
        found.append("r.item_id <> ALL(%s)")
        params.append(hidden)
    if part.repository:
        found.append("r.item_id IN (SELECT i.id FROM annotation_item i WHERE " + _ITEM_OF + ")")
        params += [round_id, part.repository + "#"]
    if part.stratum:
        found.append("r.item_id IN (SELECT i.id " + _DRAWN + ")")
        params += [round_id, part.stratum]
    return found


_ITEM_OF = (
    "i.study_id = (SELECT study_id FROM annotation_round WHERE id = %s) AND starts_with(i.identifier, %s)"
    " AND i.identifier ~ '#[0-9]+$'"
)
_DRAWN = """FROM annotation_sample s JOIN annotation_sampleissue d ON d.sample_id = s.id
    JOIN annotation_item i ON i.issue_id = d.issue_id AND i.study_id = s.study_id
    WHERE s.study_id = (SELECT study_id FROM annotation_round WHERE id = %s) AND d.stratum = %s"""


def ratings_sql(
    round_id: int,
    tree: VersionTree,
    dimension: TreeDimension,
    part: Slice,
    pointer: str,
    *,
    every_answer: bool = False,
    among: tuple[str, list[Any]] | None = None,
) -> tuple[str, list[Any]]:
    """One row per unit and rater with the value: a category's id, −1 pending; sets as ids joined by commas.

    `every_answer` takes all answers of the round but the few that do not count, instead of looking up each; no machine
    counts then, and no bugs are matched.
    """
    where = ["r.round_id = %s", "r.dimension_id = %s", f"r.item_id <> ALL(ARRAY({NOT_COMPARED}))"]
    params: list[Any] = [round_id, dimension.id, round_id, round_id]
    if every_answer:
        agreed_part, beside = "r.part", ""
        where.append(f"r.annotation_id NOT IN ({NOT_COUNTING.format(pointer=pointer)})")
        params += [round_id, round_id]
        if part.raters:
            where.append(_one_of("r", part.raters))
    else:
        agreed_part, beside = _AGREED_PART, _BESIDE.format(pointer=pointer)
        where.append(counts("a", part))
    where += in_slice(round_id, part, params)
    if among is not None:
        where.append(among[0])
        params += among[1]
    if part.parts == "single":
        where.append(
            f"""r.item_id NOT IN (
                SELECT b.item_id FROM annotation_assignment b JOIN annotation_annotation x ON x.id = b.{pointer}
                WHERE b.round_id = %s AND {counts("b", part)} AND x.n_parts > 1)"""
        )
        params.append(round_id)
    if dimension.applies_when is not None:
        where.append(_OWN_ANSWER.format(value=condition_sql(tree, dimension, params)))
    leave_pending = part.pending == "left_out"
    group = ""
    if dimension.is_set:
        value = (
            "coalesce(string_agg(CASE WHEN r.proposal_id IS NOT NULL THEN '-1' ELSE r.category_id::text END, ','"
            " ORDER BY r.category_id), '')"
        )
        group = f"GROUP BY r.item_id, {agreed_part}, r.rater_id"
        if leave_pending:
            group += " HAVING count(r.proposal_id) = 0"
    else:
        value = GIVEN[dimension.column]
        if leave_pending:
            where.append("r.proposal_id IS NULL")
    sql = f"""
        SELECT r.item_id, {agreed_part} AS part, r.rater_id, {value} AS value
        FROM annotation_rating r {beside} WHERE {" AND ".join(where)} {group}
    """
    return sql, params


def was_asked(tree: VersionTree, dimension: TreeDimension, params: list[Any], *before: Any) -> str:
    """Whether the dimension applied in part `u` under the answer `x`; parameters are appended, after those `before`."""
    params += before
    asked = _OWN_ANSWER.format(value=condition_sql(tree, dimension, params))
    own_part = "coalesce((SELECT m.part FROM annotation_partmatch m"
    own_part += " WHERE m.annotation_id = x.id AND m.agreed_part = u.part), u.part)"
    return asked.replace("r.annotation_id", "x.id").replace("r.part", own_part)


def _either(dimension: TreeDimension, pointer: str, part: Slice, asked: str) -> str:
    """The given values, and “does not apply” for raters who labelled the part but were not asked there."""
    missing = f"'{_NOT_APPLICABLE}'" if dimension.is_set else str(_NOT_APPLICABLE)
    return f"""
        SELECT u.item_id, u.part, b.rater_id, coalesce(g.value, {missing}) AS value
        FROM (SELECT DISTINCT item_id, part FROM given) u
        JOIN annotation_assignment b ON b.item_id = u.item_id AND b.round_id = %s AND {counts("b", part)}
        JOIN annotation_annotation x ON x.id = b.{pointer} AND x.skip_reason = '' AND {HAS_PART}
        LEFT JOIN given g ON g.item_id = u.item_id AND g.part = u.part AND g.rater_id = b.rater_id
        WHERE g.rater_id IS NOT NULL OR NOT {asked}
    """


def value_of(dimension: TreeDimension, value: Any) -> Value:
    if dimension.is_set:
        return frozenset(_name(dimension, int(each)) for each in value.split(",") if each)
    if dimension.is_two_valued:
        return {0: "false", 1: "true"}.get(value, DOES_NOT_APPLY)
    if dimension.has_categories:
        return _name(dimension, value)
    found: Value = value
    return found


def _name(dimension: TreeDimension, code: int) -> str:
    if code == _PENDING:
        return PENDING
    return DOES_NOT_APPLY if code == _NOT_APPLICABLE else dimension.by_id[code].key


def n_units(rows: Sequence[PatternRow]) -> int:
    return sum(row.n for row in rows)
