"""The invitations of a study, and which one a link stands for."""

from dataclasses import dataclass

from django.db.models import Prefetch
from django.utils import timezone

from accounts.models import User, digest
from annotation.errors import NotFound
from annotation.models import Invitation, InvitationUse, Study

SHOWN_MOST = 50
OVER = (
    "This invitation is not valid: it has ended, was withdrawn or was used already. Ask whoever sent you the link for "
    "a new one."
)


@dataclass(frozen=True)
class InvitationLine:
    """An invitation with who used it."""

    invitation: Invitation
    uses: list[InvitationUse]

    @property
    def state(self) -> str:
        """open, used up, withdrawn or over."""
        if self.invitation.withdrawn_at:
            return "withdrawn"
        if len(self.uses) >= self.invitation.n_most:
            return "used up"
        return "open" if self.invitation.expires_at > timezone.now() else "over"

    @property
    def n_left(self) -> int:
        return max(self.invitation.n_most - len(self.uses), 0)


def invitation_lines(study: Study) -> list[InvitationLine]:
    """The newest invitations of a study; two queries."""
    uses = InvitationUse.objects.select_related("member__user", "member__former_user")
    rows = Invitation.objects.filter(study=study).prefetch_related(Prefetch("uses", uses))
    return [InvitationLine(each, list(each.uses.all())) for each in rows[:SHOWN_MOST]]


def invitation_line(invitation: Invitation) -> InvitationLine:
    uses = InvitationUse.objects.select_related("member__user", "member__former_user").filter(invitation=invitation)
    return InvitationLine(invitation, list(uses))


def living_invitation(plaintext: str, *, by: User | None = None, lock: bool = False) -> Invitation:
    """The invitation that a link stands for. Raises NotFound, which tells nothing of the study.

    For who used it before (`by`) it is also open when it is used up, as long as they are a member.
    """
    rows = Invitation.objects.filter(digest=digest(plaintext), withdrawn_at=None, expires_at__gt=timezone.now())
    rows = rows.filter(study__archived_at=None, study__deleted_at=None)
    if lock:
        rows = rows.select_for_update(of=("self",), no_key=True)
    found = rows.first()
    if found is not None:
        of_this = InvitationUse.objects.filter(invitation=found)
        is_theirs = by is not None and of_this.filter(member__user=by).exists()
        if is_theirs or of_this.count() < found.n_most:
            return found
    raise NotFound(OVER)
