"""Saved analyses of a study that a reader may see."""

from django.db.models import QuerySet

from annotation.core.access import Seat, get_seat
from annotation.core.drafts import tells_of_draft
from annotation.core.errors import Blind, NotFound
from annotation.models import Analysis


def saved_analyses(seat: Seat) -> QuerySet[Analysis]:
    """The saved analyses by number. A person from whom results are hidden reads only their own.

    A title can reveal what came out. Those who do not read the taxonomy's drafts see none with categories of one.
    """
    rows = _readable(seat).select_related("created_by").order_by("number")
    return rows.filter(created_by=seat.user) if _is_hidden_from(seat) else rows


def _readable(seat: Seat) -> QuerySet[Analysis]:
    return Analysis.objects.filter(study=seat.study).exclude(tells_of_draft(Analysis, seat.study, seat.user))


def hidden_from_author(analysis: Analysis) -> bool:
    """Whether results are hidden from who saved an analysis, and is a member now; a few queries."""
    try:
        return _is_hidden_from(get_seat(analysis.created_by, analysis.study.slug))
    except NotFound:
        return False


def _is_hidden_from(seat: Seat) -> bool:
    """Whether results of a round, or of items that this person still has to rate, are hidden from them."""
    return bool(seat.hidden_round_ids or seat.withheld)


def get_analysis(seat: Seat, number: int) -> Analysis:
    """A saved analysis of the study by its number. Raises NotFound, and Blind where its title is hidden."""
    found = _readable(seat).filter(number=number).select_related("created_by").first()
    if found is None:
        raise NotFound(f"The study “{seat.study.slug}” has no analysis {number}.")
    if _is_hidden_from(seat) and found.created_by_id != seat.user.pk:
        raise Blind(
            "Some results are hidden from you: a round is open, or you still have to label items that others "
            "labeled. A title could reveal results, so saved analyses of others stay hidden until then."
        )
    found.study = seat.study
    return found
