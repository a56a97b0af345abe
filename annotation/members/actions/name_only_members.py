"""Name-only members: a name from another server is linked to an account here."""

from django.db import IntegrityError, transaction
from django.db.models import ProtectedError, Q

from accounts.models import User
from annotation.assignments.actions.reading_locks import held_unblinded, is_held_unblinded, mark_unblinded
from annotation.assignments.queries import open_rounds_rated, rounds_to_rate_blind
from annotation.choosing.actions.screening_rounds import owners_maintain_screening
from annotation.core.access import OWNER, Seat
from annotation.core.audit import record_of_member
from annotation.core.demo_people import require_may_change_members
from annotation.core.errors import Conflict, Invalid
from annotation.core.locks import hold_study
from annotation.core.memberships import (
    account_named,
    ask_in,
    come_in,
    place_of,
    require_not_invited_too_often,
)
from annotation.invitations.queries.own_invitations import roles_asked
from annotation.models import Assignment, Membership, Round
from annotation.models.assignment_kinds import RATERS


@transaction.atomic
def join_member(*, seat: Seat, member: Membership, username: object) -> Membership:
    """Gives a member without an account the account of this user, who then has its code, answers and roles here.

    Accounts that are not in the study are invited, and have all that once their person accepts; staff give it at once.
    Who was in the study before, or has another invitation to it, has to accept one first: then there is nothing that
    would be lost, or left with the member, if they decline.
    What was said stays under the code, and what was done before under the name that it was done by. Who is in the study
    already without a code of their own keeps their roles beside the member's. Nobody gets the answers of a member who
    left: they are another person's. Raises Invalid, Conflict, TooMany, Forbidden for the people of the demo.
    """
    seat.require(OWNER)
    require_may_change_members(seat.user)
    hold_study(seat)
    member = Membership.objects.select_for_update(of=("self",)).get(pk=member.pk)
    if member.user_id is not None:
        raise Conflict(f"{member} is already linked to an account.")
    if member.left_at is not None:
        raise Conflict(f"{member} left this study. Their labels stay theirs and can't be linked to another account.")
    if member.is_invited:
        raise Conflict(f"{member} was invited and has not answered. Withdraw the invitation first.")
    if member.is_machine:
        raise Conflict(f"{member} is a model rater. Model raters don't sign in.")
    wanted = str(username or "").strip()
    here = Q(pk=seat.user.pk) | Q(memberships__study=seat.study)
    if not seat.user.is_staff and not User.named(wanted).filter(here).exists():
        require_not_invited_too_often(member)  # before the name is looked up: else the answer would tell who has it
    user = account_named(seat, wanted)
    directly = seat.user.is_staff or (user is not None and user.pk == seat.user.pk)
    if user is None or (directly and not user.is_active):
        sentence = f"User “{wanted[:80]}” not found."
        raise Invalid("Account not linked.", fields={"username": [sentence]})
    there = place_of(seat.study, user)
    is_in = there is not None and there.user_id is not None
    roles = set(member.roles)
    if there is not None and there.pk != member.pk:
        if there.code:
            sentence = f"{user.username} is already {there.code} in this study. Nobody can be two raters of it."
            raise Conflict(sentence, fields={"username": [sentence]})
        if there.formerly_id is not None and member.formerly_id is not None:
            sentence = f"{user.username} already has the place of {there.name or there} here. Choose another account."
            raise Conflict(sentence, fields={"username": [sentence]})
        if not is_in and not directly:
            _require_nothing_to_lose(there, member, user)
        roles |= set(there.roles) if is_in else roles_asked(there)
        _require_blind(seat, there, member)
        member.could_read_until = there.could_read_until
        member.formerly_id = member.formerly_id or there.formerly_id
        member.n_invited = max(member.n_invited, there.n_invited)
        _give_way(there, user)
    elif there is None and directly:  # others are marked when they accept: before, nothing tells whether they are staff
        there = Membership(study=seat.study, user=user, roles=[])
        _require_blind(seat, there, member)
    was = member.name
    if is_in or directly:
        come_in(member, user)
    else:
        ask_in(member, user, by=seat.user)
    member.roles = [each for each in Membership.Role.values if each in roles]
    member.save()
    if there is not None and there.pk != member.pk and member.user is not None:
        mark_unblinded(member, there)
    said = {"member": wanted, "was": was, "roles": member.roles, **({"code": member.code} if member.code else {})}
    verb = "member invited" if member.is_invited else "member joined"
    record_of_member(study=seat.study, user=seat.user, verb=verb, account=member.user, detail=said)
    if member.has_role(OWNER):
        owners_maintain_screening(seat.study)
    if seat.user.pk == user.pk:
        seat.membership = member
    return member


def _require_nothing_to_lose(there: Membership, member: Membership, user: User) -> None:
    """Raises Conflict where the person was a member, has an invitation, or is a name here already.

    The member has to be what it was again if the person declines, and so would they.
    """
    if there.is_invited:
        sentence = f"{user.username} has an open invitation. Link {member} once they accept it, or withdraw it."
    elif there.left_at is not None or there.formerly_id is not None or there.could_read_until is not None:
        sentence = f"{user.username} was in this study before. Invite them again, and link {member} once they accept."
    else:
        return
    raise Conflict(sentence, fields={"username": [sentence]})


def _require_blind(seat: Seat, there: Membership, member: Membership) -> None:
    """Raises Conflict where the member still rates blind in a round whose answers the person could read until now.

    Answers count there, too, of a member who left the round: who takes the place can change them while it is open.

    Not where it is hidden from who asks that the member is to answer there, in a relabeling queue or as a third rater:
    the member is marked instead.
    """
    rated = open_rounds_rated(member)
    shown = set(rated.exclude(kind=Round.Kind.RELABEL).values_list("pk", flat=True))
    given = Assignment.objects.filter(RATERS, rater=member, state__in=Assignment.FINISHED)
    for round_ in rounds_to_rate_blind(member):
        if seat.sees_all_results(round_.pk):
            could_read = is_held_unblinded(round_, member, there, {})
        else:  # what the member is asked there as a third rater is hidden
            could_read = round_.pk in shown and bool(held_unblinded(round_, [there], {}))
        if could_read and round_.state == Round.State.OPEN and given.filter(round=round_).exists():
            raise Conflict(
                f"{member} has answers in round {round_.number}, and {there} could read its labels. Link {member} "
                "after labeling there has ended.",
                code="not_blind_any_more",
            )
        if could_read:
            raise Conflict(
                f"{member} is a rater in round {round_.number}, and {there} could read its labels. Withdraw "
                f"{member} from the round first.",
                code="not_blind_any_more",
            )


def _give_way(there: Membership, user: User) -> None:
    """Takes away the membership of someone who gets another one; it must have left nothing behind."""
    try:
        with transaction.atomic():
            there.inbox.all().delete()
            there.delete()
    except (ProtectedError, IntegrityError) as error:
        sentence = f"{user.username} has already written in this study under their own name."
        raise Conflict(sentence, fields={"username": [sentence]}) from error
