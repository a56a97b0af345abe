"""Invitations to studies that wait for the answer of an account."""

from django.db.models import Q, QuerySet

from accounts.models import User
from annotation.models import Membership


def waiting_for(user: User) -> Q:
    """Memberships that this account was invited to and has not answered; deleted and archived studies have none."""
    here = Q(study__deleted_at=None, study__archived_at=None)
    return here & Q(invited_user=user, invitation_key__isnull=False)


def invitations_of(user: User) -> QuerySet[Membership]:
    """What waits for the answer of this account, the newest first; one query."""
    rows = Membership.objects.filter(waiting_for(user)).select_related("study", "invited_by")
    return rows.order_by("-invited_at", "-pk")


def invitation_to(user: User, slug: str) -> Membership | None:
    """The invitation of this account to a study, if one waits for its answer; one query."""
    return invitations_of(user).filter(study__slug=slug).first()
