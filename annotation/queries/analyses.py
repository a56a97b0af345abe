"""The analyses that are kept with a study, as far as somebody may read of them."""

from django.db.models import QuerySet

from annotation.access import Seat
from annotation.errors import Blind, NotFound
from annotation.models import Analysis


def saved_analyses(seat: Seat) -> QuerySet[Analysis]:
    """The saved analyses by number; where results are hidden one reads one's own: a title can tell what came out."""
    rows = Analysis.objects.filter(study=seat.study).select_related("created_by").order_by("number")
    return rows.filter(created_by=seat.user) if _titles_are_hidden(seat) else rows


def get_analysis(seat: Seat, number: int) -> Analysis:
    """A saved analysis of the study by its number. Raises NotFound, and Blind where its title is hidden."""
    found = Analysis.objects.filter(study=seat.study, number=number).select_related("created_by").first()
    if found is None:
        raise NotFound(f"The study “{seat.study.slug}” has no analysis {number}.")
    if _titles_are_hidden(seat) and found.created_by_id != seat.user.pk:
        raise Blind(
            "You rate in a round that is open, could still join one, or owe a third answer. What others saved of the "
            "labels stays hidden until then."
        )
    found.study = seat.study
    return found


def _titles_are_hidden(seat: Seat) -> bool:
    return bool(seat.hidden_round_ids or seat.arbitrated)
