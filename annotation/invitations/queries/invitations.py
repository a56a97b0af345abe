"""Invitations of a study by link, and the one that a link belongs to."""

from dataclasses import dataclass

from django.db.models import Prefetch
from django.utils import timezone

from accounts.models import User, digest
from annotation.core.access import made_by_an_owner
from annotation.core.demo_people import is_demo_person
from annotation.core.errors import NotFound
from annotation.models import Invitation, InvitationUse, Study

SHOWN_MOST = 50
OVER = (
    "This invitation is not valid: it expired, was withdrawn or used already, or the person who created it no longer "
    "owns the study. Ask the person who sent you the link, or an owner of the study, for a new one."
)


@dataclass(frozen=True)
class InvitationLine:
    """An invitation with who used it."""

    invitation: Invitation
    uses: list[InvitationUse]
    is_of_owner: bool

    @property
    def state(self) -> str:
        """open, used up, withdrawn or over."""
        if self.invitation.withdrawn_at:
            return "withdrawn"
        if len(self.uses) >= self.invitation.n_most:
            return "used up"
        return "open" if self.is_of_owner and self.invitation.expires_at > timezone.now() else "over"

    @property
    def n_left(self) -> int:
        return max(self.invitation.n_most - len(self.uses), 0)


def invitation_lines(study: Study) -> list[InvitationLine]:
    """The newest invitations of a study; two queries."""
    uses = InvitationUse.objects.select_related("member__user", "member__former_user")
    rows = Invitation.objects.filter(study=study).prefetch_related(Prefetch("uses", uses))
    rows = rows.annotate(is_of_owner=made_by_an_owner())
    return [InvitationLine(each, list(each.uses.all()), each.is_of_owner) for each in rows[:SHOWN_MOST]]


def invitation_line(invitation: Invitation) -> InvitationLine:
    uses = InvitationUse.objects.select_related("member__user", "member__former_user").filter(invitation=invitation)
    is_of_owner = Invitation.objects.filter(made_by_an_owner(), pk=invitation.pk).exists()
    return InvitationLine(invitation, list(uses), is_of_owner)


def living_invitation(plaintext: str, *, by: User | None = None, lock: bool = False) -> Invitation:
    """The invitation that a link stands for. Raises NotFound, which tells nothing of the study.

    For who used it before (`by`) it is also open when it is used up, as long as they are a member. It is over when its
    maker owns the study no more, and where anyone can act as its maker.
    """
    rows = Invitation.objects.filter(digest=digest(plaintext), withdrawn_at=None, expires_at__gt=timezone.now())
    rows = rows.filter(made_by_an_owner(), study__archived_at=None, study__deleted_at=None)
    if lock:
        rows = rows.select_for_update(of=("self",), no_key=True)
    found = rows.select_related("created_by").first()
    if found is not None and not is_demo_person(found.created_by):
        of_this = InvitationUse.objects.filter(invitation=found)
        is_theirs = by is not None and of_this.filter(member__user=by).exists()
        if is_theirs or of_this.count() < found.n_most:
            return found
    raise NotFound(OVER)
