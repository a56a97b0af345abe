"""Withheld items: how many the numbers exclude for a member who labels these items again, and which labels."""

from collections.abc import Iterable, Sequence

from annotation.core.access import Seat
from annotation.models import Round
from shared.wording import plural


def n_labeled_again(seat: Seat, rounds: Iterable[Round]) -> int:
    """How many items of these rounds are withheld because they are labeled again in another one; no answer counts."""
    ids = {each.pk for each in rounds}
    return len({item for round_id, item in seat.withheld - seat.arbitrated if round_id in ids})


def withheld_among(seat: Seat, rounds: Sequence[Round]) -> frozenset[tuple[int, int]]:
    """Round and item (ids) of all labels of the items that are withheld from this person in one of these rounds.

    An item's label counts in one of them: in which one would show whether the item is in a relabeling queue.
    """
    ids = {each.pk for each in rounds}
    items = {item for round_id, item in seat.withheld if round_id in ids}
    return frozenset((pk, item) for pk in ids for item in items)


def withheld_words(seat: Seat, rounds: Iterable[Round]) -> list[str]:
    """What a page with results of these rounds leaves out for this person, and until when, in sentences."""
    rounds = list(rounds)
    ids = {each.pk for each in rounds}
    found = []
    if n := len({item for round_id, item in seat.arbitrated if round_id in ids}):
        is_, counts = ("is", "It counts") if n == 1 else ("are", "They count")
        found.append(
            f"{plural(n, 'item')} assigned to you as a third rater {is_} not included. {counts} here once you submit "
            "your labels. Until then, other members see other numbers."
        )
    n = n_labeled_again(seat, rounds)
    if n and seat.link is not None:
        is_, counts = ("is", "It counts") if n == 1 else ("are", "They count")
        found.append(
            f"{plural(n, 'item')} labeled again in a round that is not closed {is_} not included. {counts} here once "
            "that round is closed. Until then, members see other numbers."
        )
    elif n:
        is_, counts, them = ("is", "It counts", "it") if n == 1 else ("are", "They count", "them")
        found.append(
            f"{plural(n, 'item')} that you label again in another round {is_} not included. {counts} here once that "
            f"round closes. Until then, members who don’t label {them} there see other numbers."
        )
    return found
