"""Membership of a study: existing, new, and invited members."""

import secrets

from django.db.models import Q
from django.utils import timezone

from accounts.actions import hold_account
from accounts.models import User
from annotation.core.access import OWNER, Seat
from annotation.core.demo_people import leave_public
from annotation.core.errors import Conflict
from annotation.models import Membership, Study
from shared.errors import TooMany
from shared.rate_limits import UNKNOWN_NAMES, count, give_back, in_minutes

MOST_INVITATIONS = 3
"""How often an account can be invited to a study without accepting."""


def account_named(seat: Seat, username: object) -> User | None:
    """The account of this user name, or None; what a membership is called decides nothing, as people choose it.

    Raises TooMany for someone who typed too many names that nobody has.
    Else the form would tell anybody who has an account here. Those who are in the study, or were invited, are no
    secret, and staff see everybody. A name that exists is not counted: its person is told that they were invited.
    """
    name = str(username or "").strip()
    known = Q(memberships__study=seat.study) | Q(former_memberships__study=seat.study)
    known |= Q(invited_memberships__study=seat.study)
    accounts = User.named(name).filter(elsewhere="")
    if (found := accounts.filter(known).first()) or seat.user.pk is None or seat.user.is_staff:
        return found or accounts.first()
    counted = count((UNKNOWN_NAMES, str(seat.user.pk)))
    if counted.wait_seconds:
        raise TooMany(
            f"Too many unknown user names. Wait {in_minutes(counted.wait_seconds)}, then try again, or send "
            "people an invitation link.",
            wait_seconds=counted.wait_seconds,
        )
    if found := accounts.first():
        give_back(counted)
    return found


def place_of(study: Study, user: User) -> Membership | None:
    """Someone's membership, also one that they left or are invited to, locked until the commit."""
    theirs = Q(user=user) | Q(former_user=user) | Q(invited_user=user)
    return Membership.objects.select_for_update(of=("self",), no_key=True).filter(theirs, study=study).first()


def come_in(membership: Membership, user: User) -> bool:
    """Makes an account the member. Those who left keep their code and answers, and are blind where they were.

    Every way into a study leads here, because a demo person who gets into another one has to be made
    private (`leave_public`); whether that was done. The account is held: an owner's link for its password is used
    before, or not any more. Raises Invalid where its password was changed since this person was asked for it.
    """
    hold_account(user)
    was_public = leave_public(user, membership)
    if membership.left_at is not None:
        membership.name = ""
    membership.user, membership.former_user, membership.left_at = user, None, None
    membership.invited_user, membership.invitation_key, membership.declined_at = None, None, None
    membership.n_invited = 0
    return was_public


def ask_in(membership: Membership, user: User, *, by: User, name: str = "") -> None:
    """Makes a membership an invitation of this account. Raises Conflict after MOST_INVITATIONS without acceptance.

    Of the account it holds nothing but the name as it was typed; who left keeps the name that they had here.
    """
    require_not_invited_too_often(membership)
    membership.name = membership.name or name[:150]
    membership.former_user, membership.invited_user, membership.invited_by = None, user, by
    membership.invited_at, membership.declined_at = timezone.now(), None
    membership.invitation_key = secrets.token_urlsafe(18)
    membership.n_invited += 1


def require_not_invited_too_often(membership: Membership) -> None:
    """Raises Conflict after MOST_INVITATIONS without acceptance."""
    if membership.n_invited >= MOST_INVITATIONS:
        raise Conflict(
            f"{membership.name} was invited {MOST_INVITATIONS} times and did not accept. Send them an invitation link, "
            "which they may use.",
            code="invited_too_often",
        )


def are_roles(roles: object) -> bool:
    return isinstance(roles, list | tuple | set) and all(role in Membership.Role.values for role in roles)


def has_another_owner(membership: Membership) -> bool:
    """Whether the study has an owner besides this member; who left or closed their account is none."""
    others = Membership.objects.filter(study=membership.study, roles__contains=[OWNER], user__is_active=True)
    return others.exclude(pk=membership.pk).exists()


def next_code(study: Study) -> str:
    """The first of R1, R2 … that nobody in the study has."""
    taken = set(Membership.objects.filter(study=study, code__isnull=False).values_list("code", flat=True))
    number = 1
    while f"R{number}" in taken:
        number += 1
    return f"R{number}"
