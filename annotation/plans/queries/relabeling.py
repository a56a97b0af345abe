"""Relabeling requests of a plan: which raters must relabel what, found by the database."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from django.db import connection, transaction

from annotation.models import Assignment, Item, Membership
from annotation.models.assignment_kinds import is_rater_sql
from annotation.plans.queries.scope import PlanScope

PAGE = 50

STANDING = f"""
WITH base AS (
    SELECT DISTINCT ON (place.item_id) place.item_id, round.number
    FROM annotation_rounditem place JOIN annotation_round round ON round.id = place.round_id
    WHERE place.round_id = ANY(%(full)s) AND place.known IS NULL AND NOT place.excluded
    ORDER BY place.item_id, round.number DESC
)
SELECT DISTINCT ON (given.item_id, given.rater_id)
    given.item_id, given.rater_id, given.current_id AS annotation_id, round.taxonomy_version_id AS version_id
FROM annotation_assignment given
JOIN annotation_round round ON round.id = given.round_id
JOIN base ON base.item_id = given.item_id AND round.number >= base.number
JOIN annotation_rounditem place ON place.round_id = given.round_id AND place.item_id = given.item_id
    AND place.known IS NULL AND NOT place.excluded
WHERE given.round_id = ANY(%(rounds)s) AND given.state = '{Assignment.State.SUBMITTED}' AND {is_rater_sql("given")}
ORDER BY given.item_id, given.rater_id, round.number DESC
"""
NOTHING = """
SELECT NULL::bigint AS item_id, NULL::bigint AS rater_id, NULL::text AS why, NULL::text AS dimension,
    NULL::bigint AS category_id
WHERE false
"""
NO_SETS = """
SELECT NULL::bigint AS item_id, NULL::bigint AS rater_id, NULL::bigint AS annotation_id, NULL::integer AS part,
    NULL::bigint AS dimension_id
WHERE false
"""
OF_CATEGORIES = """
SELECT standing.item_id, standing.rater_id, mapped.why, mapped.dimension, rating.category_id
FROM standing_answers standing
JOIN annotation_rating rating ON rating.annotation_id = standing.annotation_id
JOIN unnest(%(ids)s::bigint[], %(whys)s::text[], %(dimensions)s::text[]) AS mapped(id, why, dimension)
    ON mapped.id = rating.category_id
"""
SETS = """
SELECT standing.item_id, standing.rater_id, rating.annotation_id, rating.part, rating.dimension_id
FROM standing_answers standing
JOIN annotation_rating rating ON rating.annotation_id = standing.annotation_id
LEFT JOIN unnest(%(ids)s::bigint[], %(successors)s::text[]) AS mapped(id, successor) ON mapped.id = rating.category_id
WHERE rating.dimension_id = ANY(%(dimensions)s)
GROUP BY 1, 2, 3, 4, 5
HAVING bool_and(rating.category_id IS NULL OR mapped.successor IS NOT NULL)
    AND count(DISTINCT mapped.successor) + count(rating.proposal_id) <> 1
"""
OF_SETS = """
SELECT DISTINCT parted.item_id, parted.rater_id, 'kind', dimension.key, NULL::bigint
FROM sets_parted parted JOIN taxonomy_dimension dimension ON dimension.id = parted.dimension_id
"""
PROPOSALS = """
SELECT standing.item_id, standing.rater_id, rating.dimension_id, answered.outcome, answered.version_number
FROM standing_answers standing
JOIN annotation_rating rating ON rating.annotation_id = standing.annotation_id AND rating.proposal_id IS NOT NULL
JOIN annotation_proposal here ON here.id = rating.proposal_id
JOIN annotation_annotation answer ON answer.id = standing.annotation_id
LEFT JOIN (
    SELECT DISTINCT ON (said.assignment_id, asked.dimension_id, asked.name, asked.memo)
        said.assignment_id, asked.dimension_id, asked.name, asked.memo, given.outcome, given.version_number
    FROM annotation_proposaloutcome given
    JOIN annotation_proposal asked ON asked.id = given.proposal_id
    JOIN annotation_annotation said ON said.id = asked.annotation_id
    JOIN annotation_assignment place ON place.id = said.assignment_id
    WHERE place.round_id = ANY(%(rounds)s) AND (given.version_number IS NULL OR EXISTS (
        SELECT FROM taxonomy_taxonomyversion version
        WHERE version.taxonomy_id = %(taxonomy)s AND version.number = given.version_number
    ))
    ORDER BY said.assignment_id, asked.dimension_id, asked.name, asked.memo, given.id DESC
) answered ON (answered.assignment_id, answered.dimension_id, answered.name, answered.memo)
    = (answer.assignment_id, here.dimension_id, here.name, here.memo)
"""
OF_PROPOSALS = """
SELECT standing.item_id, standing.rater_id, 'pending', dimension.key, NULL::bigint
FROM standing_proposals standing JOIN taxonomy_dimension dimension ON dimension.id = standing.dimension_id
WHERE (standing.outcome = 'declined' OR standing.version_number <= %(to)s)
    AND NOT standing.dimension_id = ANY(%(gone)s)
"""
OF_QUESTIONS = """
SELECT standing.item_id, standing.rater_id, 'required', %(dimension)s, NULL::bigint
FROM standing_answers standing JOIN annotation_annotation answer ON answer.id = standing.annotation_id
WHERE standing.version_id = %(version)s AND answer.n_parts > (
    SELECT count(DISTINCT rating.part) FROM annotation_rating rating
    WHERE rating.annotation_id = standing.annotation_id AND rating.dimension_id = %(old)s
)
"""
OF_CONDITIONAL_QUESTIONS = """
SELECT DISTINCT standing.item_id, standing.rater_id, 'required', %(dimension)s, NULL::bigint
FROM standing_answers standing
JOIN annotation_rating above ON above.annotation_id = standing.annotation_id AND above.dimension_id = %(parent)s
WHERE standing.version_id = %(version)s
    AND (above.category_id = ANY(%(categories)s) OR above.boolean = ANY(%(booleans)s))
    AND NOT EXISTS (
        SELECT FROM annotation_rating rating
        WHERE rating.annotation_id = standing.annotation_id AND rating.part = above.part
            AND rating.dimension_id = %(old)s
    )
"""
OF_RESOLUTIONS = """
SELECT DISTINCT standing.item_id, standing.rater_id, 'resolved', decided.dimension, decided.category_id
FROM (
    SELECT DISTINCT ON (decision.item_id, decision.part, decision.dimension_id)
        decision.id, decision.item_id, decision.part, dimension.key, round.number
    FROM annotation_resolution decision
    JOIN annotation_round round ON round.id = decision.round_id
    JOIN taxonomy_dimension dimension ON dimension.id = decision.dimension_id
    WHERE decision.round_id = ANY(%(rounds)s)
        AND decision.dimension_id IN (SELECT dimension_id FROM taxonomy_category WHERE id = ANY(%(ids)s))
    ORDER BY decision.item_id, decision.part, decision.dimension_id, round.number DESC, decision.revision DESC
) newest
JOIN annotation_resolutionvalue said ON said.resolution_id = newest.id
JOIN unnest(%(ids)s::bigint[], %(dimensions)s::text[]) AS decided(category_id, dimension)
    ON decided.category_id = said.category_id
JOIN standing_answers standing ON standing.item_id = newest.item_id
WHERE NOT EXISTS (
    SELECT FROM raters_asked asked WHERE asked.item_id = newest.item_id AND asked.dimension = decided.dimension
) AND NOT EXISTS (
    SELECT FROM annotation_rounditem place JOIN annotation_round later ON later.id = place.round_id
    WHERE place.round_id = ANY(%(rounds)s) AND place.item_id = newest.item_id
        AND later.number > newest.number AND place.known IS NULL AND NOT place.excluded
        AND (place.asked IS NULL OR place.asked @> jsonb_build_array(jsonb_build_array(newest.part, newest.key)))
)
"""


class PlanCounter:
    """Asks of a plan's answers; every question is one statement that begins with the tables that it needs.

    They are `standing_answers` (each rater's newest answer of each item), `needs` (who is asked again: item, rater, why
    (split, retired, kind …, redefined, pending, required, resolved), dimension, category), `standing_proposals` with
    the answer to each, and `sets_parted`: answers of several categories, or none, to a question that takes one now.
    Cost of a statement: one pass over the answers that stand.
    """

    def __init__(self, cursor: Any, tables: str) -> None:
        self._cursor, self._tables = cursor, tables

    def rows(self, sql: str, params: Mapping[str, Any] | Sequence[Any] | None = None) -> list[tuple[Any, ...]]:
        """The rows of a query."""
        self._cursor.execute(f"WITH {self._tables} {_filled(self._cursor, sql, params)}")
        found: list[tuple[Any, ...]] = self._cursor.fetchall()
        return found

    def several(self, queries: Mapping[str, tuple[str, Any]]) -> dict[str, list[dict[str, Any]]]:
        """The rows of several queries as mappings, by one statement; for counts, not for many rows."""
        parts = [
            f"SELECT '{name}', (SELECT json_agg(q) FROM ({_filled(self._cursor, sql, params)}) q)"
            for name, (sql, params) in queries.items()
        ]
        return {name: found or [] for name, found in self.rows(" UNION ALL ".join(parts))}


@contextmanager
def plan_counter(found: PlanScope, recheck: Sequence[Sequence[str]] = ()) -> Iterator[PlanCounter]:
    """What can be asked of the answers that a plan moves; nothing is written.

    `recheck` names redefined categories of the newer version, (dimension, key), whose labels are to be looked at again.
    """
    again = {(dimension, key) for dimension, key in recheck}
    asked = [
        (outcome.category.id, outcome.kind, outcome.dimension)
        for outcome in found.outcomes.values()
        if outcome.is_asked
    ]
    asked += [
        (outcome.category.id, "redefined", outcome.dimension)
        for outcome in found.redefined()
        if outcome.new is not None and (outcome.dimension, outcome.new.key) in again
    ]
    ids, whys, dimensions = ([each[place] for each in asked] for place in range(3))
    rounds = {"rounds": [each.pk for each in found.rounds], "full": [each.pk for each in found.full]}
    needs: list[tuple[str, Any]] = [(NOTHING, None)]
    sets: tuple[str, Any] = (NO_SETS, None)
    if asked:
        needs.append((OF_CATEGORIES, {"ids": ids, "whys": whys, "dimensions": dimensions}))
    if found.narrowed:
        carried = {
            outcome.category.id: outcome.new.key for outcome in found.outcomes.values() if outcome.new is not None
        }
        successors: dict[str, Any] = {
            "ids": list(carried),
            "successors": list(carried.values()),
            "dimensions": found.narrowed,
        }
        sets = (SETS, successors)
        needs.append((OF_SETS, None))
    needs.append((OF_PROPOSALS, {"to": found.to.number, "gone": found.gone}))
    for version_id, question in found.questions:
        values: dict[str, Any] = {
            "version": version_id, "dimension": question.dimension, "old": question.old_id,
            "parent": question.parent_id, "categories": list(question.categories),
            "booleans": list(question.booleans),
        }  # fmt: skip
        needs.append((OF_CONDITIONAL_QUESTIONS if question.parent_id else OF_QUESTIONS, values))
    resolved = (OF_RESOLUTIONS, {**rounds, "ids": ids, "dimensions": dimensions}) if asked else (NOTHING, None)
    with transaction.atomic(), connection.cursor() as cursor:
        tables = {
            "standing_answers": [(STANDING, rounds)],
            "sets_parted": [sets],
            "standing_proposals": [(PROPOSALS, {**rounds, "taxonomy": found.to.taxonomy_id})],
            "raters_asked": needs,
            "needs": [("SELECT * FROM raters_asked", None), resolved],
        }
        filled = [
            f"{name} AS MATERIALIZED ({' UNION ALL '.join(f'({_filled(cursor, *part)})' for part in parts)})"
            for name, parts in tables.items()
        ]
        # Whole rounds are read. A planner that was not told yet of a round's rows would look them up one by one.
        cursor.execute("SET LOCAL enable_nestloop = off")
        yield PlanCounter(cursor, ", ".join(filled))
        cursor.execute("SET LOCAL enable_nestloop = on")


def _filled(cursor: Any, sql: str, params: Any) -> str:
    """A piece of SQL with its values in it."""
    return sql if params is None else str(cursor.mogrify(sql, params), "utf-8")


@dataclass(frozen=True)
class AffectedItem:
    """An item and why it would be asked again: (why, dimension key, category's path, codes of the raters)."""

    item: Item
    reasons: Sequence[tuple[str, str, str, tuple[str, ...]]]


def affected_items(
    found: PlanScope,
    recheck: Sequence[Sequence[str]] = (),
    *,
    why: str = "",
    dimension: str = "",
    after: int = 0,
    size: int = PAGE,
) -> list[AffectedItem]:
    """The items that a plan would ask again, by id after `after`, `size` at most; with what concerns each."""
    with plan_counter(found, recheck) as answers:
        rows = answers.rows(
            "SELECT item_id, why, dimension, category_id, array_agg(DISTINCT rater_id) FROM needs WHERE item_id IN"
            " (SELECT DISTINCT item_id FROM needs WHERE item_id > %(after)s AND %(why)s IN ('', why)"
            "  AND %(dimension)s IN ('', dimension) ORDER BY item_id LIMIT %(size)s)"
            " GROUP BY 1, 2, 3, 4 ORDER BY 1, 3, 2, 4",
            {"after": after, "why": why, "dimension": dimension, "size": size},
        )
    items = Item.objects.select_related("snapshot").defer("snapshot__body").in_bulk({row[0] for row in rows})
    codes = dict(Membership.objects.filter(study=found.study).values_list("pk", "code"))
    gathered: dict[int, list[tuple[str, str, str, tuple[str, ...]]]] = {}
    for item_id, reason, key, category_id, raters in rows:
        path = found.outcomes[category_id].category.path if category_id in found.outcomes else ""
        who = tuple(sorted(codes.get(pk) or "" for pk in raters))
        gathered.setdefault(item_id, []).append((reason, key, path, who))
    return [AffectedItem(items[item_id], reasons) for item_id, reasons in gathered.items()]


def items_with_categories(
    found: PlanScope, category_ids: Sequence[int], *, after: int = 0, size: int = PAGE
) -> list[Item]:
    """The items on which a rater's standing answer names one of these categories, by id after `after`."""
    with plan_counter(found) as answers:
        rows = answers.rows(
            "SELECT DISTINCT standing.item_id FROM standing_answers standing"
            " JOIN annotation_rating rating ON rating.annotation_id = standing.annotation_id"
            " WHERE rating.category_id = ANY(%s) AND standing.item_id > %s ORDER BY 1 LIMIT %s",
            [list(category_ids), after, size],
        )
    wanted = [row[0] for row in rows]
    return list(Item.objects.filter(pk__in=wanted).select_related("snapshot").defer("snapshot__body").order_by("pk"))


@dataclass(frozen=True)
class RelabelRequest:
    """One rater who is asked again about one item: why, on which dimension, because of which category."""

    rater_id: int
    why: str
    dimension: str
    category_id: int | None


def needs(found: PlanScope, recheck: Sequence[Sequence[str]]) -> dict[int, list[RelabelRequest]]:
    """Item id → who is asked again and why, by item id; as many rows as there are reasons."""
    gathered: dict[int, list[RelabelRequest]] = {}
    with plan_counter(found, recheck) as answers:
        rows = answers.rows("SELECT DISTINCT item_id, rater_id, why, dimension, category_id FROM needs ORDER BY 1, 2")
    for item_id, *rest in rows:
        gathered.setdefault(item_id, []).append(RelabelRequest(*rest))
    return gathered
