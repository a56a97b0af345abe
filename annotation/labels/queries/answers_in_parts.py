"""Answers of an item's raters by part, as each of them numbered the parts."""

from collections.abc import Sequence
from dataclasses import dataclass

from annotation.labels.consensus import Part
from annotation.labels.queries.part_matches import matches_of
from annotation.labels.queries.verdicts import read_values
from annotation.models import Assignment, Item, Membership, Round
from taxonomy.tree import VersionTree


@dataclass(frozen=True)
class AnswerInParts:
    """A rater's answer part by part, as they numbered it; `agreed` says which agreed bug each is."""

    rater: str
    revision: int
    parts: Sequence[Part]
    agreed: Sequence[int]


def answers_in_parts(round_: Round, tree: VersionTree, item: Item) -> list[AnswerInParts]:
    """What the raters of an item say now, without those who skipped it; three queries."""
    rows = Assignment.objects.filter(
        round=round_, item=item, state=Assignment.State.SUBMITTED, rater__kind=Membership.Kind.PERSON
    ).select_related("rater", "current")
    answers = [(row.rater.code or "", row.current) for row in rows.order_by("pk") if row.current is not None]
    values = read_values(tree, [current.pk for _, current in answers])
    matched = matches_of([current.pk for _, current in answers])
    return [
        AnswerInParts(
            rater=code,
            revision=current.revision,
            parts=[values.get((current.pk, number), {}) for number in range(1, current.n_parts + 1)],
            agreed=[matched.get(current.pk, {}).get(number, number) for number in range(1, current.n_parts + 1)],
        )
        for code, current in answers
    ]
