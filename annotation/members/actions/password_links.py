"""Password links for members, created by an owner who gains no access through them."""

from django.db import transaction
from django.db.models import Q

from accounts import actions as account_actions
from accounts.models import PasswordLink, User
from accounts.permissions import is_named_by_operator
from annotation.core.access import OWNER, Seat, changing, get_seat
from annotation.core.audit import record
from annotation.core.errors import Conflict, Forbidden
from annotation.members.queries.password_links import is_in_another_study, owned_by, was_created_by
from annotation.models import Membership, Round, Study
from shared.errors import ConcordError


@transaction.atomic
def make_password_link(*, seat: Seat, member: Membership) -> str:
    """The plaintext of a link that a member sets a new password by, once, within a day; it stands in the audit.

    Whoever has the link has the account. So an owner may create it only for an account that an invitation to this very
    study created, that is in no other study, owns nothing, and is not named in FETCHERS or STUDY_CREATORS. Staff may
    create it for anybody who is not staff. Nobody may who rates in an open round of a study of that account. Raises
    Forbidden with who can create it instead.
    """
    user = _require_may_make(seat, member)
    of_study = None if seat.user.is_staff else seat.study.pk
    _, plaintext = account_actions.make_password_link(user=user, made_by=seat.user, of_study=of_study)
    record(study=seat.study, user=seat.user, verb="password link made", member=user.username)
    return plaintext


def may_still_make(link: PasswordLink) -> bool:
    """Whether who made this link could make it now: staff, or an owner for the same member of the same study."""
    if link.of_study is None:
        maker = link.made_by
        if maker is None or not (maker.is_active and maker.is_staff) or link.user.is_staff:
            return False
        return _blind_beside(maker, link.user) is None
    study = None if link.of_study is None else Study.objects.filter(pk=link.of_study).first()
    member = Membership.objects.select_related("user").filter(study=study, user=link.user).first()
    if study is None or member is None or link.made_by is None or not link.made_by.is_active:
        return False
    try:
        with changing(False):  # a link that is out stays good while the study is archived
            _require_may_make(get_seat(link.made_by, study.slug), member)
    except ConcordError:
        return False
    return True


def record_use(link: PasswordLink) -> None:
    """Writes into the study's audit that an owner's link was used, and what its account may do there."""
    member = Membership.objects.select_related("study").get(study=link.of_study, user=link.user)
    said = {"member": link.user.username, "roles": member.roles}
    made_by = link.made_by.username if link.made_by else None
    record(study=member.study, user=None, verb="password link used", **said, made_by=made_by)


def _require_may_make(seat: Seat, member: Membership) -> User:
    """The account that a link would be for; raises Forbidden or Conflict for who may not make it."""
    if not seat.user.is_staff:
        seat.require(OWNER)
    user = member.user
    if user is None or member.is_machine:
        raise Conflict(f"{member.signed_name} does not sign in on this server.")
    if user == seat.user:
        raise Conflict("This is you. Change your password in your settings.")
    if reason := why_not(seat, user):
        raise Forbidden(f"You can't create a password link for {user.signed_name}: {reason}")
    return user


def why_not(seat: Seat, user: User) -> str:
    """Why this person may not have a link made for this member; empty where they may."""
    shell = "The server's operator can create one with `manage.py password_link`."
    staff = "Staff can create one, and so can the server's operator with `manage.py password_link`."
    if user.is_staff or user.is_superuser:
        return f"they are staff. {shell}"
    if (hidden := _blind_beside(seat.user, user)) is not None:
        return (
            f"you are a rater in round {hidden.number} of the study “{hidden.study.slug}”, and an account of "
            f"its members would show you the labels of others there. {staff}"
        )
    if seat.user.is_staff:
        return ""
    if not was_created_by(user, seat.study):
        return f"their account was not created by an invitation to this study. {staff}"
    if is_in_another_study(user, seat.study):
        return f"they are or were in another study, too. {staff}"
    if is_named_by_operator(user.username):
        return f"this server’s settings name their account. {staff}"
    if owned := owned_by(user):
        return f"their account has {owned}. {staff}"
    return ""


def _blind_beside(maker: User, user: User) -> Round | None:
    """A round whose answers are hidden from one person, of a study in which another one is a member, or is invited.

    Where they are not hidden from the other, the other's account shows them. Whether the other is asked as a third
    rater would tell that answers differ, so the other's own assignments play no part.
    """
    own = {each.study_id: each for each in Membership.objects.filter(user=maker)}
    theirs = Q(user=user) | Q(invited_user=user, invitation_key__isnull=False)
    for each in Membership.objects.select_related("study").filter(theirs).order_by("pk"):
        seat = Seat(maker, each.study, own.get(each.study_id))
        hidden = seat.blind_round_ids | {round_id for round_id, _ in seat.withheld}
        if hidden:
            return Round.objects.select_related("study").filter(pk__in=hidden).order_by("number").first()
    return None
