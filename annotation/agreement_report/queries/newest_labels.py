"""Newest labels of raters with the agreed label, where a resolution or a change makes them differ."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from django.db import connection
from django.db.models import Count, Max

from annotation.agreement_report.queries.patterns import Slice, Value, units_sql, value_of
from annotation.labels.consensus import Values, Verdict
from annotation.labels.queries.batches.batch_consensus import BatchConsensus
from annotation.labels.queries.batches.chunks import stretches
from annotation.labels.queries.verdicts import ItemVerdicts
from annotation.labels.queries.version_mapping import VersionMapping
from annotation.models import Resolution, Round
from taxonomy.queries import published_version
from taxonomy.tree import TreeDimension

EXCEPTIONS = """
    SELECT item_id FROM annotation_resolution WHERE round_id = %s AND dimension_id = ANY(%s)
    UNION SELECT item_id FROM annotation_resolution WHERE round_id = %s AND no_part
    UNION SELECT item_id FROM annotation_assignment WHERE round_id = %s AND blind_id <> current_id
    UNION SELECT item_id FROM annotation_assignment
        WHERE round_id = %s AND current_id IS NOT NULL AND blind_id IS NULL"""


@dataclass(frozen=True)
class AgreedComparison:
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


def agreed_comparisons(round_: Round, dimension: TreeDimension, part: Slice) -> list[AgreedComparison]:
    """Patterns with the label agreed on, of the items where something was decided or an answer changed.

    A label that rests on one answer alone is none here: it agrees with its rater by itself. Anywhere else the patterns
    alone tell. Cost: two queries, and those of a stretch for every ITEMS of these items.
    """
    tree = published_version(round_.taxonomy_version_id)
    chain = [dimension]
    while (condition := chain[-1].applies_when) is not None:
        chain.append(tree.by_key[condition.dimension])
    with connection.cursor() as cursor:
        cursor.execute(EXCEPTIONS, [round_.pk, [each.id for each in chain], *[round_.pk] * 3])
        items = [pk for (pk,) in cursor.fetchall()]
    if not items:
        return []
    unit, params = units_sql(round_.pk, tree, dimension, part, among=("r.item_id = ANY(%s)", [items]))
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT item_id, part, raters, given_values FROM ({unit}) AS unit", params)
        rows = cursor.fetchall()
    labels = _labels(round_, dimension, items)
    counted: Counter[tuple[tuple[int, ...], tuple[Value, ...], Value | None, bool]] = Counter()
    for item, number, raters, values in rows:
        agreed, is_decided = labels.get((item, number), (None, False))
        counted[tuple(raters), tuple(value_of(dimension, value) for value in values), agreed, is_decided] += 1
    return [AgreedComparison(*key[:2], key[2], key[3], n) for key, n in counted.items()]


class _AgreedLabelSets:
    """The labels on a dimension that sets of answers come to, and where those of each begin."""

    def __init__(self, dimension: str) -> None:
        self.dimension = dimension
        self.forget()

    def forget(self) -> None:
        self.verdicts: list[Verdict] = []
        self.starts, self.sizes = [0], [0]

    def add(self, key: str | None, each: ItemVerdicts) -> int:
        found = [] if key not in (None, self.dimension) else [one for one in each.verdicts if self._counts(one)]
        self.starts.append(len(self.verdicts))
        self.sizes.append(len(found))
        self.verdicts += found
        return len(self.starts) - 1

    def _counts(self, verdict: Verdict) -> bool:
        n_given = sum(rating.values is not None for rating in verdict.ratings)
        has_label = verdict.dimension == self.dimension and verdict.values is not None
        return has_label and (verdict.decision is not None or n_given > 1)


def _labels(round_: Round, dimension: TreeDimension, items: Sequence[int]) -> dict[tuple[int, int], tuple[Value, bool]]:
    """By item and part the label on a dimension and whether it was decided."""
    agreed = _AgreedLabelSets(dimension.key)
    judge = BatchConsensus(round_, VersionMapping(round_.taxonomy_version), agreed, has_own=False)
    found = {}
    for stretch in stretches(round_, among=items):
        rows, _, at = judge.judged(stretch).cells(agreed.starts, agreed.sizes)
        for item, place in zip(stretch.items[rows].tolist(), at.tolist(), strict=True):
            verdict = agreed.verdicts[place]
            found[item, verdict.part] = _value(dimension, verdict.values or ()), verdict.decision is not None
    return found


def _value(dimension: TreeDimension, values: Values) -> Value:
    if dimension.is_set:
        return frozenset(map(str, values))
    return str(values[0]).lower() if dimension.is_two_valued else values[0]
