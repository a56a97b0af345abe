"""Absences of raters: no new items until the day of their return."""

from datetime import date

from django.db import transaction
from django.utils import timezone

from annotation.assignments.queries import raters_by_name
from annotation.core.access import OWNER, RATER, Seat
from annotation.core.audit import record
from annotation.core.errors import Forbidden, Invalid, NotFound
from annotation.core.member_lists import member_named
from annotation.models import Membership

NOT_SET = "Absence not saved."


@transaction.atomic
def set_away(*, seat: Seat, until: object, user: object = None) -> Membership:
    """Pauses a rater's assignments until a day (a date, or text like 2026-12-24), or with None ends the pause.

    Raters set their own absence; an owner sets that of a `user`, by code or user name. Raises Forbidden and Invalid,
    NotFound for who was removed while this waited.
    """
    member = _member(seat, user)
    held = Membership.objects.select_for_update(of=("self",)).select_related("user").get(pk=member.pk)
    if held.user_id != member.user_id:
        raise NotFound(f"{held.signed_name} left the study at this moment.")
    held.away_until = _day(until)
    held.save(update_fields=["away_until"])
    told = held.away_until.isoformat() if held.away_until else None
    record(study=seat.study, user=seat.user, verb="absence set", rater=held.code, until=told)
    return held


def _member(seat: Seat, user: object) -> Membership:
    own = seat.membership
    is_own = user in (None, "") or member_named(seat.study, user) == own
    if own is not None and own.has_role(RATER) and is_own:
        return own
    if user in (None, ""):
        raise Forbidden("You are not a rater of this study, so there is nothing to pause.")
    seat.require(OWNER)
    fields: dict[str, list[str]] = {}
    found = [each for each in raters_by_name(seat.study, [user], fields, field="user") if not each.is_machine]
    if not found:
        fields.setdefault("user", ["A model rater is never away."])
        raise Invalid(NOT_SET, fields=fields)
    return found[0]


def _day(until: object) -> date | None:
    if until in (None, ""):
        return None
    try:
        day = date.fromisoformat(until) if isinstance(until, str) else None
    except ValueError:
        day = None
    if day is None:
        raise Invalid(NOT_SET, fields={"until": ["Enter a day as 2026-12-24, or null to end the absence."]})
    if day <= timezone.now().date():
        raise Invalid(NOT_SET, fields={"until": ["Choose a day after today (UTC), or end the absence."]})
    return day
