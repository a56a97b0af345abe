"""Members: accounts that get roles or are invited, and owners who give up their role."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from django.db import transaction

from accounts.models import User
from annotation.assignments.actions.finishing import finish_left
from annotation.assignments.actions.reading_locks import mark_unblinded, wait_before_roles
from annotation.choosing.actions.screening_rounds import owners_maintain_screening
from annotation.core.access import OWNER, RATER, Seat
from annotation.core.audit import record_of_member
from annotation.core.demo_people import require_may_change_members
from annotation.core.errors import Conflict, Invalid, Stale
from annotation.core.locks import hold_study
from annotation.core.memberships import (
    account_named,
    are_roles,
    ask_in,
    come_in,
    has_another_owner,
    next_code,
    place_of,
)
from annotation.members.actions.leaving import end_offers
from annotation.members.queries.leaving import Offers
from annotation.model_raters import actions as model_rater_actions
from annotation.models import Membership


@dataclass(frozen=True)
class MembershipResult:
    """A membership that was set, whether the account was added or invited just now, and what ended for it.

    An owner who is none any more made the offers; their ending may have been all that the rounds waited for.
    """

    membership: Membership
    is_new: bool
    offers: Offers | None = None
    rounds: Sequence[int] = ()
    was_public: bool = False

    @property
    def notice(self) -> str:
        """What the owner has to know of an account that was one of the demo's people until now."""
        if not self.was_public:
            return ""
        return (
            f"Anyone could act as {self.membership} of the demo study. This account is private now: its sessions, "
            "API tokens, password, e-mail address and providers have ended. Staff can create a password link."
        )


def add_member(
    *,
    seat: Seat,
    username: str,
    roles: Iterable[str],
    kind: str | None = None,
    machine: Mapping[str, object] | None = None,
) -> Membership:
    """Adds an account to the study at once, without asking its person: for the shell and the demo, never for a request.

    Everything else is as in `set_member`.
    """
    return _done(_set_member(seat, username, roles, kind, machine, directly=True)).membership


def set_member(
    *,
    seat: Seat,
    username: str,
    roles: Iterable[str],
    kind: str | None = None,
    machine: Mapping[str, object] | None = None,
    expected: Collection[str] | None = None,
) -> MembershipResult:
    """Gives an account roles in the study (a set that replaces the earlier one), or invites it.

    `expected` is what the owner was shown before: the roles and the kind of the member, none where there was no
    member. Where another owner changed them since then, nothing is done (Stale).

    Accounts that are not members are invited, and are members once their person accepts; staff add them at once.
    A new member is a person unless `kind` is machine; `machine` contains its name, version and prompt. After the first
    answer both stay as they are: another model, or another prompt, is another rater. An owner who stops
    being one takes along what they handed out: their invitations and reader links end.

    Raises Invalid, Conflict (also after MOST_INVITATIONS), TooMany after too many unknown names, Forbidden for the
    people of the demo.
    """
    require_may_change_members(seat.user)
    return _done(_set_member(seat, username, roles, kind, machine, directly=seat.user.is_staff, expected=expected))


def _done(placed: MembershipResult) -> MembershipResult:
    finish_left(placed.rounds)
    return placed


def _require_as_shown(membership: Membership | None, expected: Collection[str], username: str) -> None:
    """Raises Stale where a member is not, or not any more, what a page showed (`set_member`)."""
    present = (Membership.State.MEMBER, Membership.State.INVITED)
    is_there = membership is not None and membership.state in present
    roles = membership.roles if membership is not None and is_there else []
    kind = [membership.kind] if membership is not None and is_there else []
    if {*roles, *kind} == set(expected):
        return
    if not expected:
        sentence = f"“{username}” is in this study already, as {' and '.join(roles)}. Change the roles in the table."
    elif not is_there:
        sentence = f"“{username}” was removed from this study after you opened the page."
    else:
        sentence = f"“{username}” was changed after you opened the page, and is {' and '.join(roles)} now."
    raise Stale(f"{sentence} Nothing was changed.", newer={"roles": roles})


@transaction.atomic
def _set_member(
    seat: Seat,
    username: str,
    roles: Iterable[str],
    kind: str | None,
    machine: Mapping[str, object] | None,
    *,
    directly: bool,
    expected: Collection[str] | None = None,
) -> MembershipResult:
    seat.require(OWNER)
    wanted = sorted(set(roles), key=list(Membership.Role.values).index) if are_roles(roles) else []
    fields: dict[str, list[str]] = {}
    hold_study(seat)
    if not wanted:
        fields["roles"] = [f"Choose at least one of {', '.join(Membership.Role.values)}."]
    if kind not in (None, *Membership.Kind.values):
        fields["kind"] = ["Use person or machine."]
    models = Membership.objects.filter(study=seat.study, kind=Membership.Kind.MACHINE)
    is_machine = kind == Membership.Kind.MACHINE or (
        kind is None and models.filter(user__in=User.named(str(username))).exists()
    )
    described = model_rater_actions.read_description(machine, is_machine, fields)
    if fields:  # before the name is looked up: whoever has it would not be invited
        raise Invalid("Member not added.", fields=fields)
    member = account_named(seat, username)
    if member is None:
        sentence = f"User “{username}” not found. Create one with `manage.py add_user`."
        raise Invalid("Member not added.", fields={"user": [sentence]})
    membership = place_of(seat.study, member)
    if expected is not None:
        _require_as_shown(membership, expected, str(username))
    if membership is None:
        membership = Membership(study=seat.study, roles=[])
    is_in = membership.user_id is not None
    is_waiting = membership.is_invited
    loses_ownership = is_in and OWNER in membership.roles and OWNER not in wanted
    was_public = False
    if is_in:
        if loses_ownership and not has_another_owner(membership):
            raise Conflict("A study needs an owner. Make someone else an owner first.")
    elif directly or member.pk == seat.user.pk:
        was_public = come_in(membership, member)
    elif not is_waiting:
        ask_in(membership, member, by=seat.user, name=str(username).strip())
    else:
        membership.invited_by = seat.user  # who set the roles answers for them
    if is_in and membership.has_role(RATER) and set(wanted) - set(membership.roles):
        wait_before_roles(membership)
    membership.roles = wanted
    model_rater_actions.set_description(membership, kind, described)
    if RATER in wanted and not membership.code:
        membership.code = next_code(seat.study)
    membership.save()
    said: dict[str, object] = {"machine": described} if described else {}
    if not is_in and membership.user is not None:
        mark_unblinded(membership)
    verb = "member invited" if membership.is_invited else "member set"
    said = {"member": str(username), "roles": wanted, **said}
    account = membership.user  # none for who was invited: nobody here before they accept
    record_of_member(study=seat.study, user=seat.user, verb=verb, account=account, detail=said)
    offers, rounds = end_offers(seat, member) if loses_ownership else (None, [])
    if loses_ownership or OWNER in wanted:
        owners_maintain_screening(seat.study)
    return MembershipResult(
        membership, not is_in and not is_waiting, offers, [round_id for round_id, _ in rounds], was_public
    )
