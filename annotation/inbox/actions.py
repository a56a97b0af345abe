"""Inbox lines: written when a round ends, and marked as read."""

from collections.abc import Sequence

from django.utils import timezone

from accounts.models import User
from annotation.core.errors import Invalid
from annotation.inbox.queries import lines_of
from annotation.models import InboxLine

MOST = 1_000
"""So many lines are marked by their IDs at once."""


def read_lines(*, user: User, lines: Sequence[object] | None = None) -> int:
    """Marks inbox lines of a person as read, all that they may see where none are named; how many were unread.

    Lines are named by public ID; IDs of lines that this person may not see are passed over. Raises Invalid.
    """
    if lines is not None and len(lines) > MOST:
        raise Invalid("No lines were marked.", fields={"ids": [f"Name at most {MOST:,} lines, or none for all."]})
    unread = lines_of(user).filter(read_at__isnull=True)
    if lines is not None:
        numbers = [InboxLine.number_of(each) for each in lines]
        unread = unread.filter(pk__in=[number for number in numbers if number is not None])
    found = list(unread.values_list("pk", flat=True))
    return InboxLine.objects.filter(pk__in=found, read_at__isnull=True).update(read_at=timezone.now())
