"""Resolution methods: what a stated method must rest on, and how it is reported. Pure."""

from collections import Counter
from collections.abc import Collection, Sequence

from annotation.labels.consensus import RaterValues, Values

DISCUSSION, ADJUDICATOR, MEETING = "discussion", "adjudicator", "meeting"
THIRD_RATER, MAJORITY, OWNER = "third_rater", "majority", "owner"
STATED = (DISCUSSION, ADJUDICATOR, THIRD_RATER, MAJORITY, OWNER)
"""The methods that the person who resolves can state; without one it is derived."""
LEAST_ALIKE = 2


def contradiction(
    method: str,
    values: Values,
    ratings: Sequence[RaterValues],
    arbiters: Collection[str],
    *,
    is_owner: bool,
    is_discussed: bool,
) -> str:
    """Why the facts of a place do not bear a stated method out, in a sentence; empty where they do.

    `ratings` are the answers there, None where a rater gave none; `arbiters` are the codes of third raters.
    """
    if method == OWNER and not is_owner:
        return "You are not an owner of this study."
    if method == DISCUSSION and not is_discussed:
        return "There are no comments by two people here, one of them a rater of this item. State a meeting instead."
    if method == THIRD_RATER:
        given = third_answers(ratings, arbiters)
        if not given:
            return "No third rater labeled this item."
        if frozenset(values) not in given:
            return "The third rater chose another label."
    if method == MAJORITY:
        most = majority(ratings)
        if most is None:
            return "No label was chosen by more than half of the raters."
        if frozenset(values) != most:
            return "Most raters chose another label."
    return ""


def third_answers(ratings: Sequence[RaterValues], arbiters: Collection[str]) -> list[frozenset[str | bool | float]]:
    """What third raters answered at a place."""
    return [frozenset(each.values) for each in ratings if each.rater in arbiters and each.values is not None]


def majority(ratings: Sequence[RaterValues]) -> frozenset[str | bool | float] | None:
    """The answer of more than half of all raters of a place, those included who gave none; None without one."""
    counted = Counter(frozenset(each.values) for each in ratings if each.values is not None)
    values, n = next(iter(counted.most_common(1)), (frozenset(), 0))
    return values if n >= LEAST_ALIKE and 2 * n > len(ratings) else None


def reported_method(method: str, *, has_meeting: bool, is_discussed: bool, is_borne_out: bool = True) -> str:
    """How a stored resolution is reported: what the facts do not bear out was taken by the adjudicator.

    Older versions preset *discussion* and took every other method as it was stated.
    """
    if has_meeting:
        return MEETING
    if (method == DISCUSSION and not is_discussed) or not is_borne_out:
        return ADJUDICATOR
    return method
