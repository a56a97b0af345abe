"""Kind of an assignment: that of a rater of the item, of a third rater, or of a model rater.

It is read from two stored facts, the slot that an assignment holds and the kind of its member. No other module asks
whether a slot is null.
"""

from django.db import models
from django.db.models import F, Q
from django.db.models.lookups import IsNull

from annotation.models.studies import Membership


class AssignmentKind(models.TextChoices):
    RATER = "rater", "holds a slot of the item"
    THIRD = "third", "a person who labels the item in addition to its raters"
    MODEL = "model", "a model rater that labels the item in addition to its raters"


def kind_of(slot: int | None, member_kind: str) -> AssignmentKind:
    """The kind of an assignment with this slot, whose member is of this kind.

    A model rater that holds a slot, as in rounds opened by older releases, is one of the raters.
    """
    if slot is not None:
        return AssignmentKind.RATER
    return AssignmentKind.MODEL if member_kind == Membership.Kind.MACHINE else AssignmentKind.THIRD


RATERS = Q(slot__isnull=False)
"""Assignments that hold a slot: an item waits for them, and agreement counts them."""
EXTRA_RATERS = Q(slot__isnull=True)
"""Assignments of third raters and of model raters: nobody waits for them, and agreement does not count them."""
THIRD_RATERS = EXTRA_RATERS & Q(rater__kind=Membership.Kind.PERSON)
CONSENSUS_RATERS = RATERS | Q(rater__kind=Membership.Kind.PERSON)
"""All but those of model raters: they have a say in what is agreed."""
OPENING_RATERS = RATERS | Q(rater__kind=Membership.Kind.MACHINE)
"""All but those of third raters: they exist once a round is open."""
EXTRA_RATERS_LAST = IsNull(F("slot"), True)
"""An order in which those of raters come first."""


def is_rater_sql(assignment: str) -> str:
    """RATERS as SQL, for an alias of the table."""
    return f"{assignment}.slot IS NOT NULL"


def is_extra_sql(assignment: str) -> str:
    """EXTRA_RATERS as SQL, for an alias of the table."""
    return f"{assignment}.slot IS NULL"
