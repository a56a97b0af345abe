"""Answers that the methods text counts, as conditions and querysets."""

from collections.abc import Sequence

from django.db.models import F, OuterRef, Q, QuerySet

from annotation.core.access import Seat
from annotation.core.constant_lookups import LookupExists
from annotation.core.imported import MARK
from annotation.models import Assignment, Membership, Rating, Round, RoundItem
from annotation.models.assignment_kinds import RATERS

OWN = (
    Q(blind__submitted_by=F("rater__user"))
    | Q(blind__submitted_by=F("rater__former_user"))
    | Q(blind__submitted_by=F("rater__invited_user"))
    | Q(blind__submitted_by=F("rater__formerly"))
) & ~Q(blind__idempotency_key__startswith=MARK)
"""Answers that the raters gave themselves, here or on the server that the study came from, and not by a sheet.

Who left the study, and was invited again, gave theirs as well.
"""

NOT_COUNTING = RoundItem.objects.filter(Q(excluded=True) | Q(known__isnull=False))

COUNTS_HERE = ~LookupExists(NOT_COUNTING.filter(round=OuterRef("round"), item=OuterRef("item")))
"""Of an assignment, a resolution or a proposal: its item counts in its round. Few do not, and indexes find those."""

PRESENT_HERE = ~LookupExists(NOT_COUNTING.filter(round=OuterRef("round"), item=OuterRef("item"), excluded=True))
"""Its item is not excluded there; it can be a calibration item."""

HAS_LABEL = LookupExists(Rating.objects.filter(annotation=OuterRef("current")))
"""An answer in which at least one dimension was labeled."""

HAD_LABEL = LookupExists(Rating.objects.filter(annotation__assignment=OuterRef("pk")))
"""One that had a label in any revision: who read it knows it, also if a skip replaced it."""


def assigned_answers(seat: Seat, rounds: Sequence[Round]) -> QuerySet[Assignment]:
    """What people were to answer of items that count: no training or excluded items, third raters or model raters."""
    return Assignment.objects.filter(
        seat.not_withheld(),
        COUNTS_HERE,
        RATERS,
        round__in=rounds,
        rater__kind=Membership.Kind.PERSON,
    ).order_by()


def labeled_answers(seat: Seat, rounds: Sequence[Round]) -> QuerySet[Assignment]:
    """Those of them that were answered with a label."""
    return assigned_answers(seat, rounds).filter(HAS_LABEL, state=Assignment.State.SUBMITTED)
