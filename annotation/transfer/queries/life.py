"""Life of a study for pages: its size, deletions, and imports under way."""

from collections.abc import Sequence

from django.db.models import QuerySet

from accounts.models import User
from annotation.core.errors import NotFound
from annotation.models import Arrival, Deletion, Study
from annotation.studies.queries.studies import visible_studies
from annotation.transfer.queries import rows as study_rows

SHOWN = 50
WORDS = {
    "item": "item",
    "sample": "sample",
    "round": "round",
    "assignment": "assignment",
    "annotation": "answer",
    "rating": "rating",
    "resolution": "decision",
    "remark": "remark",
    "proposal": "proposal",
    "analysis": "saved analysis",
    "export": "file",
    "membership": "member",
    "auditevent": "audit log entry",
}
PLURALS = {"saved analysis": "saved analyses", "audit log entry": "audit log entries"}


def study_contents(study: Study) -> list[tuple[int, str]]:
    """What a study holds, as (number, word); a query for each word."""
    tables = study_rows.tables()
    found = [(tables[name].rows(study).order_by().count(), word) for name, word in WORDS.items()]
    return [(n, word if n == 1 else PLURALS.get(word, f"{word}s")) for n, word in found if n]


def free_slug(slug: str, user: User) -> str:
    """An ID like this one that no study has as far as this person can see; the others stay unknown to them."""
    seen = visible_studies(user) | visible_studies(user, archived=True)
    number = 2
    while seen.filter(slug=(free := f"{slug[:74]}-{number}")).exists():
        number += 1
    return free


def deletions_of(user: User) -> Sequence[Deletion]:
    """Studies that were deleted, the newest first: by this person; staff, by anybody."""
    return list(_deletions(user)[:SHOWN])


def _deletions(user: User) -> QuerySet[Deletion]:
    rows = Deletion.objects.select_related("deleted_by").order_by("-pk")
    return rows if user.is_staff else rows.filter(deleted_by=user)


def deletion_of(user: User, pk: int) -> Deletion:
    """One of them; raises NotFound."""
    found = _deletions(user).filter(pk=pk).first()
    if found is None:
        raise NotFound(f"You have no deletion {pk}.")
    return found


def arrivals_of(user: User) -> Sequence[Arrival]:
    """Studies' files that this person brought, the newest first."""
    return list(Arrival.objects.filter(created_by=user).select_related("study").order_by("-pk")[:SHOWN])
