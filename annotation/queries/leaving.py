"""What leaving a study does to the rounds that are open."""

from annotation.models import Membership, Round, RoundRater, Study
from annotation.queries.giving import Leaving, leaving


def leaves(study: Study, member: Membership) -> list[tuple[Round, RoundRater, Leaving]]:
    """Each open round that a member rates in, and what becomes of their items there."""
    rows = RoundRater.objects.filter(round__study=study, round__state=Round.State.OPEN, rater=member)
    rows = rows.filter(left_at__isnull=True).select_related("round", "rater").order_by("round__number")
    return [(row.round, row, leaving(row.round, row)) for row in rows]
