"""Own invitations of an account: accept by button, REST, or the first `next`, or decline."""

from django.db import transaction

from accounts.models import User
from annotation.assignments.actions.reading_locks import mark_unblinded
from annotation.choosing.actions.screening_rounds import owners_maintain_screening
from annotation.core.access import OWNER, RATER, get_own_invitation
from annotation.core.audit import record
from annotation.core.demo_people import require_no_demo_person
from annotation.core.memberships import come_in
from annotation.invitations.queries.own_invitations import invitation_to
from annotation.models import Membership, Round, Study


@transaction.atomic
def accept(*, user: User, key: str) -> Membership:
    """Makes the account a member with the roles and the code that it was invited with.

    Raises NotFound for an invitation that does not wait for this very account.
    """
    found = get_own_invitation(user, key)
    Study.objects.select_for_update(no_key=True).get(pk=found.study_id)
    Membership.objects.select_for_update(no_key=True).get(pk=found.pk)  # its absence is set without holding the study
    found = get_own_invitation(user, key)
    require_no_demo_person(user, found.study)
    come_in(found, user)
    found.save()
    mark_unblinded(found)
    record(study=found.study, user=user, verb="member accepted", member=user.username, roles=found.roles)
    if found.has_role(OWNER):
        owners_maintain_screening(found.study)
    return found


def accept_by_next(*, user: User, slug: str, number: int) -> None:
    """Accepts an invitation as a rater, if one waits: the account asks for its first item of a round of the study."""
    found = invitation_to(user, slug)
    if found is None or not found.has_role(RATER):
        return
    if Round.objects.filter(study=found.study_id, number=number).exclude(state=Round.State.DRAFT).exists():
        accept(user=user, key=found.invitation_key or "")
