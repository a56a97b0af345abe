"""Leaving a study, removal, and closing an account: access ends, answers stay under the rater code."""

import logging
from dataclasses import dataclass

from django.db import OperationalError, transaction
from django.utils import timezone

from accounts import actions as account_actions
from accounts.confirmation import Confirmation, require_confirmed
from accounts.models import User
from accounts.permissions import require_private_account
from annotation.assignments.actions.finishing import finish_left
from annotation.assignments.queries import DepartureOutcome
from annotation.choosing.actions.screening_rounds import owners_maintain_screening
from annotation.core.access import OWNER, RATER, Seat, get_own_invitation, get_seat
from annotation.core.audit import record, record_of_member
from annotation.core.demo_people import require_may_change_members
from annotation.core.errors import ConcordError, Conflict, Forbidden, Invalid
from annotation.core.locks import hold_study
from annotation.core.memberships import has_another_owner
from annotation.invitations.queries.own_invitations import waiting_for
from annotation.members.queries.leaving import Offers, offers_of
from annotation.models import Annotation, AuditEvent, Invitation, Membership, ReaderLink, Round, Study
from annotation.rounds.actions.raters import take_out

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Departure:
    """Who left a study, what became of their items in rounds that are open, and which offers of theirs ended."""

    member: Membership
    name: str
    rounds: list[tuple[int, DepartureOutcome]]
    offers: Offers | None = None


def leave_study(*, seat: Seat) -> Departure:
    """Ends one's own part in a study.

    Raises Conflict for the last owner, Forbidden for who is no member and for the people of the demo.
    """
    require_may_change_members(seat.user)
    if seat.membership is None:
        raise Forbidden("You are not a member of this study. As staff you see every study.")
    return finish(_leave(seat, seat.membership.pk, "member left"))


def remove_member(*, seat: Seat, member: Membership) -> Departure:
    """Ends someone's part in a study, as its owner; an invitation that waits for its answer is withdrawn.

    Raises Conflict for the last owner and for who left already, Forbidden also for the people of the demo.
    """
    seat.require(OWNER)
    require_may_change_members(seat.user)
    if member.is_invited:
        return finish(end_invitation(seat, member.pk))
    return finish(_leave(seat, member.pk, "member removed"))


@transaction.atomic
def end_invitation(seat: Seat, pk: int, *, is_declined: bool = False, former_owner: str = "") -> Departure:
    """Ends an invitation that waits for its answer; rounds that are open give its items to others.

    Who was a member before is one who left, as they were. A name that was linked to the account is that name again.
    `former_owner` is for the audit: who made it, if that is why it ends. Raises Conflict where it was answered
    already.
    """
    hold_study(seat)
    member = Membership.objects.select_for_update(of=("self",)).get(pk=pk)
    if not member.is_invited:
        raise Conflict(f"The invitation of {member.signed_name} was already answered or withdrawn.")
    found, user_name = _taken_out(seat, member), member.user_name
    member.invitation_key = None
    if is_declined:
        member.declined_at = timezone.now()
    if member.left_at is not None:
        member.former_user, member.invited_user = member.invited_user, None
    elif (roles := _roles_of_name(member)) is not None:
        member.invited_user, member.declined_at, member.roles = None, None, roles
    member.save()
    verb = "member declined" if is_declined else "member invitation withdrawn"
    said = {"former_owner": former_owner} if former_owner else {}
    record(study=seat.study, user=seat.user, verb=verb, member=user_name, code=member.code, **said)
    return Departure(member, member.name, [(each.pk, leaving) for each, leaving in found])


def _roles_of_name(member: Membership) -> list[str] | None:
    """What the name was that an invited member is once more: one that was linked, or that a sheet brought answers of.

    None for an account that was invited as itself. Roles that were given since were meant for the person.
    """
    linked = AuditEvent.objects.filter(study=member.study_id, verb="member invited", detail__was=member.name)
    if member.code:
        linked = linked.filter(detail__code=member.code)
    detail = linked.order_by("-pk").values_list("detail", flat=True).first()
    if detail is None and not Annotation.objects.filter(assignment__rater=member).exists():
        return None
    roles = (detail or {}).get("roles", [])
    return [role for role in Membership.Role.values if role in roles] or [RATER]


def end_offers(seat: Seat, owner: User) -> tuple[Offers, list[tuple[int, DepartureOutcome]]]:
    """Ends what someone handed out as an owner of the study, which they are no more, each with a line in the audit.

    Invitations by link, reader links, and invitations of accounts that wait. Call it in the transaction that takes the
    role, which holds the study; also answers the rounds that may be done after the commit.
    """
    study, now, rounds = seat.study, timezone.now(), []
    offers = offers_of(study, owner)
    Invitation.objects.filter(study=study, created_by=owner, withdrawn_at=None).update(withdrawn_at=now)
    for link in offers.links:
        said = {"number": link.pk, "former_owner": owner.username}
        record(study=study, user=seat.user, verb="invitation withdrawn", **said)
    ReaderLink.objects.filter(pk__in=[each.pk for each in offers.reader_links]).update(withdrawn_at=now)
    for read in offers.reader_links:
        told = {"link": read.number, "label": read.label, "former_owner": owner.username}
        record(study=study, user=seat.user, verb="reader link withdrawn", **told)
    for member in offers.invited:
        rounds += end_invitation(seat, member.pk, former_owner=owner.username).rounds
    return offers, rounds


def close_account(*, user: User, typed: str, confirmation: Confirmation) -> None:
    """Leaves every study and ends the account, for who typed their user name and showed again who they are.

    Raises Invalid for another name and without that, Conflict where a study would be left without an owner, Forbidden
    for the people of the demo; then nothing happened.
    """
    require_private_account(user, "don't close their accounts")
    if typed.strip() != user.username:
        raise Invalid("Account not closed.", fields={"typed": [f"Type {user.username} exactly."]})
    require_confirmed(user, confirmation)
    with transaction.atomic():
        seats = [get_seat(user, slug) for slug in studies_to_leave(user)]
        alone = [seat.study.title for seat in seats if _is_last_owner(seat.membership)]
        if alone:
            named = " and ".join(f"“{title}”" for title in alone)
            raise Conflict(f"You are the only owner of {named}. Make someone else an owner there first, or delete it.")
        left = [_leave(seat, seat.membership.pk, "member left") for seat in seats if seat.membership is not None]
        for asked in Membership.objects.select_related("study").filter(waiting_for(user)):
            left.append(end_invitation(Seat(user, asked.study, None), asked.pk, is_declined=True))
        account_actions.end_account(user=user)
    for each in left:
        finish(each)


def studies_to_leave(user: User) -> list[str]:
    """The slugs of the studies in which someone takes part, in order."""
    return list(Study.objects.filter(memberships__user=user).order_by("slug").values_list("slug", flat=True))


def _is_last_owner(member: Membership | None) -> bool:
    return member is not None and member.has_role(OWNER) and not has_another_owner(member)


@transaction.atomic
def _leave(seat: Seat, pk: int, verb: str) -> Departure:
    hold_study(seat)
    member = Membership.objects.select_for_update(of=("self",)).select_related("user").get(pk=pk)
    user = member.user
    if user is None:
        raise Conflict(f"{member.signed_name} has no access to this study.")
    if _is_last_owner(member):
        raise Conflict("A study needs an owner. Make someone else an owner first, under Members.")
    found = _taken_out(seat, member)
    member.name, member.user, member.former_user = user.kept_name, None, user
    member.left_at = timezone.now()
    member.save(update_fields=["name", "user", "former_user", "left_at"])
    said = {"member": user.username, "code": member.code}
    record_of_member(study=seat.study, user=seat.user, verb=verb, account=user, detail=said)
    offers, others = end_offers(seat, user) if member.has_role(OWNER) else (None, [])
    if member.has_role(OWNER):
        owners_maintain_screening(seat.study)
    return Departure(member, user.signed_name, [(each.pk, leaving) for each, leaving in found] + others, offers)


def _taken_out(seat: Seat, member: Membership) -> list[tuple[Round, DepartureOutcome]]:
    """Takes someone out of the rounds of the study; where what is stored of these contradicts itself, out of none.

    Such rounds can come with a study file. They keep nobody in the study: what the person did not answer stays assigned
    to a name without access, for an owner to withdraw.
    """
    try:
        with transaction.atomic():
            return take_out(seat, member)
    except (ConcordError, OperationalError):
        raise
    except Exception:
        logger.exception("rounds of study %s contradict themselves, so %s stays in them", seat.study.slug, member.pk)
    return []


def finish(left: Departure) -> Departure:
    """Moves rounds on that waited for who left; after the commit."""
    finish_left(round_id for round_id, _ in left.rounds)
    return left


def decline(*, user: User, key: str) -> Departure:
    """Declines an invitation; what was planned for the account goes to others.

    Raises NotFound for an invitation that does not wait for this very account.
    """
    found = get_own_invitation(user, key)
    return finish(end_invitation(Seat(user, found.study, None), found.pk, is_declined=True))
