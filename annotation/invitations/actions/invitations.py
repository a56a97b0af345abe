"""Invitations by link: create, revoke, and accept."""

import secrets
from collections.abc import Iterable
from datetime import timedelta

from django.core.exceptions import ValidationError
from django.core.validators import validate_email
from django.db import transaction
from django.utils import timezone

from accounts import actions as account_actions
from accounts.actions import hold_account
from accounts.models import User, digest
from annotation.assignments.actions.reading_locks import mark_unblinded, wait_before_roles
from annotation.choosing.actions.screening_rounds import owners_maintain_screening
from annotation.core.access import OWNER, RATER, Seat
from annotation.core.audit import record
from annotation.core.demo_people import require_may_change_members, require_no_demo_person
from annotation.core.errors import Invalid, NotFound
from annotation.core.locks import hold_study
from annotation.core.memberships import are_roles, come_in, next_code, place_of
from annotation.invitations.queries.invitations import OVER, living_invitation
from annotation.invitations.queries.own_invitations import roles_asked
from annotation.models import Invitation, InvitationUse, Membership, Study

DAYS_MOST, PEOPLE_MOST = 90, 200


@transaction.atomic
def invite(
    *, seat: Seat, roles: Iterable[str], note: str = "", email: str = "", days: int = 14, n_most: int = 1
) -> tuple[Invitation, str]:
    """A link into the study with these roles, and its plaintext, which nobody can read again.

    Raises Invalid, Forbidden for the people of the demo: a visitor would have an account of their own by it.
    """
    seat.require(OWNER)
    require_may_change_members(seat.user)
    wanted = sorted(set(roles), key=list(Membership.Role.values).index) if are_roles(roles) else []
    fields: dict[str, list[str]] = {}
    if not wanted:
        fields["roles"] = [f"Choose at least one of {', '.join(Membership.Role.values)}."]
    if not isinstance(note, str) or len(note) > 200:
        fields["note"] = ["Enter at most 200 characters."]
    if not isinstance(email, str) or (email and not _is_email(email)):
        fields["email"] = ["This is not an e-mail address."]
    for name, number, most in (("days", days, DAYS_MOST), ("n_most", n_most, PEOPLE_MOST)):
        if not isinstance(number, int) or isinstance(number, bool) or not 1 <= number <= most:
            fields[name] = [f"Enter a whole number from 1 to {most}."]
    if fields:
        raise Invalid("Invitation not created.", fields=fields)
    hold_study(seat)
    plaintext = secrets.token_urlsafe(32)
    made = Invitation.objects.create(
        study=seat.study,
        roles=wanted,
        note=note.strip(),
        email=email,
        digest=digest(plaintext),
        n_most=n_most,
        created_by=seat.user,
        expires_at=timezone.now() + timedelta(days=days),
    )
    record(study=seat.study, user=seat.user, verb="invitation made", number=made.pk, roles=wanted, people=n_most)
    return made, plaintext


@transaction.atomic
def withdraw_invitation(*, seat: Seat, invitation: Invitation) -> None:
    """Ends an invitation; who used it stays. A second time changes nothing."""
    seat.require(OWNER)
    living = Invitation.objects.filter(pk=invitation.pk, study=seat.study, withdrawn_at=None)
    if living.update(withdrawn_at=timezone.now()):
        record(study=seat.study, user=seat.user, verb="invitation withdrawn", number=invitation.pk)


@transaction.atomic
def accept_invitation(*, user: User, plaintext: str) -> Membership:
    """Makes someone a member with the invitation's roles, besides those they have or were invited with.

    A second time changes nothing, whatever became of their roles since.

    Raises NotFound where the link is over, used up or withdrawn, or they are no member any more.
    """
    invitation, study = _held(plaintext, by=user)
    hold_account(user)
    require_no_demo_person(user, study)
    membership = place_of(study, user) or Membership(study=study, user=user, roles=[])
    if membership.left_at is not None and membership.left_at > invitation.created_at:
        raise NotFound(OVER)  # whoever was removed does not come back by a link that was out then
    if InvitationUse.objects.filter(invitation=invitation, member=membership.pk).exists():
        if membership.user is None:
            raise NotFound(OVER)
        return membership  # with the roles of today: a link gives its roles once
    is_new = membership.user is None
    if is_new:
        asked_as = roles_asked(membership)
        come_in(membership, user)
        membership.roles = list(asked_as)
    else:
        wait_before_roles(membership)
    roles = set(membership.roles) | set(invitation.roles)
    membership.roles = [role for role in Membership.Role.values if role in roles]
    if RATER in roles and not membership.code:
        membership.code = next_code(study)
    membership.save()
    InvitationUse.objects.create(invitation=invitation, member=membership)
    if is_new:
        mark_unblinded(membership)
    detail: dict[str, object] = {"number": invitation.pk, "member": user.username, "roles": membership.roles}
    record(study=study, user=user, verb="invitation accepted", **detail)
    if membership.has_role(OWNER):
        owners_maintain_screening(study)
    return membership


@transaction.atomic
def join(
    *,
    plaintext: str,
    username: str,
    full_name: str = "",
    email: str = "",
    password: str | None = None,
    provider: tuple[str, str, str] | None = None,
) -> tuple[User, Membership]:
    """A new account for who was invited, with a password or an account at a provider (its key, uid and name there).

    Raises Invalid and Conflict for the account, NotFound for the link; then nothing was made.
    """
    invitation, _ = _held(plaintext)
    user, _ = account_actions.add_user(
        username=username, full_name=full_name, email=email, password=password, by_invitation=True
    )
    if provider:
        key, uid, called = provider
        account_actions.connect_provider(user=user, provider=key, uid=uid, called=called)
        user.set_unusable_password()
        user.save(update_fields=["password"])
    member = accept_invitation(user=user, plaintext=plaintext)
    InvitationUse.objects.filter(invitation=invitation, member=member).update(made_account=True)
    return user, member


def _held(plaintext: str, by: User | None = None) -> tuple[Invitation, Study]:
    """An invitation and its study, locked: the study first, as by whoever ends invitations. Raises NotFound."""
    study = Study.objects.select_for_update(no_key=True).get(pk=living_invitation(plaintext, by=by).study_id)
    return living_invitation(plaintext, by=by, lock=True), study


def _is_email(text: str) -> bool:
    try:
        validate_email(text)
    except ValidationError:
        return False
    return True
