"""Headline set of a study: the rounds whose agreement before discussion is the study's number."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Q, QuerySet

from annotation.core.access import Seat
from annotation.models import Assignment, AuditEvent, Round, RoundItem, Study

FIXED = "headline fixed"
"""What the audit log calls it that an owner fixed another set of rounds; the newest line counts."""
WORD = "headline"
"""What addresses call the set in place of a round's number."""


@dataclass(frozen=True)
class HeadlineSet:
    """The finished rounds that count, in their order, and those of a fixed set that are not finished yet.

    By default all finished main rounds of the newest version that has one. `fixed_by` and `fixed_at`: who fixed another
    set, and when. Where a round of the set is `hidden` from the reader, there is no headline for them.
    """

    rounds: Sequence[Round] = ()
    waiting: Sequence[Round] = ()
    fixed: Sequence[int] = ()
    fixed_by: str = ""
    fixed_at: datetime | None = None
    hidden: Sequence[int] = ()

    @property
    def numbers(self) -> list[int]:
        return [each.number for each in self.rounds]

    @property
    def has_sheets(self) -> bool:
        """Whether an import made one of the rounds, of which nobody knows whether labels are from before discussion."""
        return any(each.label or each.is_from_sheet for each in self.rounds)

    def is_of(self, rounds: Sequence[Round]) -> bool:
        """Whether these rounds are the set."""
        return bool(self.rounds) and {each.pk for each in rounds} == {each.pk for each in self.rounds}


def main_rounds(study: Study) -> QuerySet[Round]:
    """The rounds that can be in the headline set: main rounds under the study's own taxonomy."""
    return Round.objects.filter(study=study, kind=Round.Kind.MAIN, taxonomy_version__taxonomy=study.taxonomy_id)


def headline_set(seat: Seat) -> HeadlineSet:
    """Two queries."""
    rounds = main_rounds(seat.study).exclude(state=Round.State.UNDONE)
    main = list(rounds.select_related("taxonomy_version").order_by("number"))
    fixed = newest_fixed(seat)
    if fixed is not None:
        chosen = [each for each in main if each.number in fixed.detail["rounds"]]
    else:
        newest = max((each.taxonomy_version.number for each in main if each.state in Round.OVER), default=0)
        chosen = [each for each in main if each.state in Round.OVER and each.taxonomy_version.number == newest]
    finished = [each for each in chosen if each.state in Round.OVER]
    hidden = [each.number for each in finished if each.pk in seat.hidden_round_ids]
    return HeadlineSet(
        rounds=() if hidden else finished,
        waiting=[each for each in chosen if each.state not in Round.OVER],
        fixed=[each.number for each in chosen] if fixed else (),
        fixed_by=fixed.user.signed_name if fixed and fixed.user and seat.link is None else "",
        fixed_at=fixed.at if fixed else None,
        hidden=hidden,
    )


def newest_fixed(seat: Seat) -> AuditEvent | None:
    """The line by which an owner fixed another set, None where the default holds; one query."""
    lines = AuditEvent.objects.filter(study=seat.study, verb=FIXED).select_related("user").order_by("-pk")
    found = lines.first()
    numbers = found.detail.get("rounds") if found is not None and isinstance(found.detail, dict) else None
    is_set = isinstance(numbers, list) and bool(numbers) and all(type(number) is int for number in numbers)
    return found if is_set else None  # a file of a study can hold any line


def fixable_rounds(seat: Seat) -> list[int]:
    """The numbers of main rounds that can still be fixed as the headline: drafts of versions none of which opened."""
    main = main_rounds(seat.study)
    opened = {version for version, state in main.values_list("taxonomy_version", "state") if state != Round.State.DRAFT}
    drafts = main.filter(state=Round.State.DRAFT).exclude(taxonomy_version__in=opened)
    return list(drafts.order_by("number").values_list("number", flat=True))


def recurring_items(rounds: Sequence[Round]) -> list[int]:
    """The ids of items that are in more than one of these rounds; one query."""
    rows = RoundItem.objects.counting().filter(round__in=rounds).order_by().values_list("item", "round")
    seen: set[int] = set()
    found: set[int] = set()
    for item, _ in rows.distinct():
        (found if item in seen else seen).add(item)
    return sorted(found)


def items_of_several_units(rounds: Sequence[Round]) -> list[int]:
    """The ids of items that recur in these rounds, or that a rater divided into parts; one query, two in several."""
    several = Q(current__n_parts__gt=1) | Q(blind__n_parts__gt=1)
    in_parts = Assignment.objects.filter(several, round__in=rounds).order_by().values_list("item", flat=True)
    recurring = recurring_items(rounds) if len(rounds) > 1 else []
    return sorted({*recurring, *in_parts.distinct()})
