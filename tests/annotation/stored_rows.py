"""What is stored of studies, to be compared."""

from typing import Any

from annotation.core.access import get_round, get_seat
from annotation.labels.queries.verdicts import round_verdicts
from annotation.models import (
    Annotation,
    Assignment,
    Item,
    Membership,
    Proposal,
    Rating,
    Resolution,
    ResolutionValue,
    Round,
    RoundItem,
    RoundRater,
    Study,
)
from tests import builders as make


def everything() -> dict[str, int]:
    """How many rows there are of each kind."""
    models = (Study, Item, Membership, Round, RoundItem, RoundRater, Assignment, Annotation)
    return {m.__name__: m.objects.count() for m in (*models, Rating, Proposal, Resolution, ResolutionValue)}


def verdicts(number: int = 1, study: str = "study") -> dict[tuple[str, int, str], tuple[str, str | None, Any]]:
    """(item, part, dimension) → state, reason and values."""
    round_ = get_round(get_seat(make.user("olga"), study), number)
    return {
        (each.identifier.removeprefix("acme/rocket"), verdict.part, verdict.dimension): (
            verdict.state,
            verdict.reason,
            verdict.values,
        )
        for each in round_verdicts(round_)
        for verdict in each.verdicts
    }
