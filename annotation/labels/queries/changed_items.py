"""Changed items of a round since a time, and the cache of the resolution queue."""

from datetime import datetime, timedelta

from django.core.cache import cache

from annotation.models import Assignment, PartMatch, Resolution, Round, RoundItem

LONGEST_TRANSACTION = timedelta(seconds=120)
"""A row can come to light so much later than its date says."""


def forget_queue(*rounds: Round) -> None:
    """Has the queues read anew, for what changed without a date: matched bugs, and which items are excluded."""
    states = (Round.State.OPEN, *Round.OVER)
    cache.delete_many([cache_key(round_, state) for round_ in rounds for state in states])


def cache_key(round_: Round, state: str) -> str:
    return f"resolving:2:{round_.pk}:{state}"


def changed_since(round_: Round, looked_at: datetime) -> set[int]:
    """Ids of the items that may have changed since they were looked at: decided, answered, or with matched bugs."""
    matched = PartMatch.objects.filter(annotation__assignment__round=round_)
    return decided_or_answered_since(round_, looked_at - LONGEST_TRANSACTION) | {
        *matched.values_list("annotation__assignment__item", flat=True)
    }


def decided_or_answered_since(round_: Round, since: object) -> set[int]:
    """Ids of the items that were decided or answered since."""
    decisions = Resolution.objects.filter(created_at__gte=since)
    if round_.kind == Round.Kind.RELABEL:  # A worklist rests on what is decided in the rounds before it, too.
        decisions = decisions.filter(item__in=RoundItem.objects.filter(round=round_).values("item"))
    else:
        decisions = decisions.filter(round=round_)
    decided = decisions.values_list("item_id", flat=True)
    answered = Assignment.objects.filter(round=round_, current__created_at__gte=since).values_list("item_id", flat=True)
    return {*decided, *answered}
