"""A member who stands in a study by name only becomes an account here: “this is Alice”."""

from django.db import IntegrityError, transaction
from django.db.models import ProtectedError

from accounts.models import User
from annotation.access import OWNER, Seat
from annotation.actions.studies import record
from annotation.errors import Conflict, Invalid
from annotation.models import Membership, Round, RoundRater, Study
from annotation.queries.giving import unblinded_among


@transaction.atomic
def join_member(*, seat: Seat, member: Membership, username: object) -> Membership:
    """Gives a member without an account the account of this user, who then has its code, answers and roles here.

    What was said stays under the code, and what was done before under the name that it was done by. Who is in the study
    already without a code of their own keeps their roles beside the member's. Raises Invalid, Conflict.
    """
    seat.require(OWNER)
    Study.objects.select_for_update(no_key=True).get(pk=seat.study.pk)
    member = Membership.objects.select_for_update(of=("self",)).get(pk=member.pk)
    if member.user_id is not None:
        raise Conflict(f"{member} has an account here already.")
    if member.is_machine:
        raise Conflict(f"{member} is a machine; machines don't sign in.")
    wanted = str(username or "").strip()
    user = User.objects.filter(username__iexact=wanted, is_active=True, elsewhere="").first()
    if user is None:
        sentence = f"There is no user “{wanted[:80]}” here."
        raise Invalid("The member could not be joined.", fields={"username": [sentence]})
    there = Membership.objects.filter(study=seat.study, user=user).first()
    roles = set(member.roles)
    if there is not None:
        if there.code:
            sentence = f"{user.username} is {there.code} in this study; nobody can be two raters of it."
            raise Conflict(sentence, fields={"username": [sentence]})
        roles |= set(there.roles)
        _require_blind(there, member)
        member.could_read_until = there.could_read_until
        _give_way(there, user)
    member.user = user
    member.roles = [each for each in Membership.Role.values if each in roles]
    member.save(update_fields=["user", "roles", "could_read_until"])
    said = {"code": member.code} if member.code else {}
    record(study=seat.study, user=seat.user, verb="member joined", member=user.username, was=member.name, **said)
    if seat.user.pk == user.pk:
        seat.membership = member
    return member


def _require_blind(there: Membership, member: Membership) -> None:
    """Raises Conflict where the member rates in an open round whose answers the person could read until now."""
    rows = RoundRater.objects.filter(rater=member, round__state=Round.State.OPEN, left_at__isnull=True)
    for row in rows.select_related("round"):
        if unblinded_among(row.round, [there]):
            raise Conflict(
                f"{member} rates in round {row.round.number}, and {there} could read its answers. Withdraw {member} "
                "from the round first.",
                code="not_blind_any_more",
            )


def _give_way(there: Membership, user: User) -> None:
    """Takes away the membership of somebody who gets another one; it must have left nothing behind."""
    try:
        with transaction.atomic():
            there.inbox.all().delete()
            there.delete()
    except (ProtectedError, IntegrityError) as error:
        sentence = f"{user.username} has written in this study already, so they stay who they are there."
        raise Conflict(sentence, fields={"username": [sentence]}) from error
