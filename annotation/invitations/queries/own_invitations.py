"""Own invitations of an account that wait for an answer."""

from django.db.models import Q, QuerySet

from accounts.models import User
from annotation.core.access import made_by_an_owner
from annotation.models import Membership


def waiting_for(user: User) -> Q:
    """Memberships that this account was invited to and has not answered; deleted and archived studies have none."""
    here = Q(study__deleted_at=None, study__archived_at=None)
    return here & Q(invited_user=user, invitation_key__isnull=False)


def invitations_of(user: User) -> QuerySet[Membership]:
    """What waits for the answer of this account, and can be accepted, the newest first; one query."""
    rows = Membership.objects.filter(waiting_for(user)).select_related("study", "invited_by")
    rows = rows.filter(made_by_an_owner("invited_by"))
    return rows.order_by("-invited_at", "-pk")


def roles_asked(member: Membership) -> set[str]:
    """The roles that an invitation of an account would give now; empty where none waits, or nobody may accept it."""
    if not member.is_invited:
        return set()
    is_good = Membership.objects.filter(made_by_an_owner("invited_by"), pk=member.pk).exists()
    return set(member.roles) if is_good else set()


def invitation_to(user: User, slug: str) -> Membership | None:
    """The invitation of this account to a study, if one waits for its answer; one query."""
    return invitations_of(user).filter(study__slug=slug).first()
