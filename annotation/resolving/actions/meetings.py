"""Meetings in which disagreements were discussed, as the person who resolves them states; only ever appended."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta

from django.db import transaction
from django.utils import timezone

from annotation.core.access import ADJUDICATOR, OWNER, Seat, hold_state
from annotation.core.audit import record
from annotation.core.errors import Invalid, WrongState
from annotation.core.imported import MARK
from annotation.labels.queries.resolution_facts import newest_by_hand, without_discussion
from annotation.models import Annotation, Item, Meeting, MeetingResolution, Resolution, Round
from shared.names import folded, wrong_in
from shared.storable_json import check_storable
from shared.wording import series

LEAST_PARTICIPANTS, MOST_PARTICIPANTS, LONGEST_NAME = 2, 100, 200
NAMED_MAX = 10
"""So many unknown codes are named."""
ANYWHERE = timedelta(hours=14)
"""By so much the day of some place on earth is ahead of, or behind, that of UTC."""
CODE = re.compile(r"R\d+", re.IGNORECASE)
NOT_STATED = "Meeting not saved."


@dataclass(frozen=True)
class StatedMeeting:
    """A meeting as it was stated: raters by their codes, others as they were named."""

    held_on: date
    participants: Sequence[str]


def read_meeting(seat: Seat, round_: Round, given: object, fields: dict[str, list[str]]) -> StatedMeeting | None:
    """A meeting from `{"held_on": "2026-11-20", "participants": ["alice", "R2"]}`; None where nothing was stated.

    What is wrong with it goes into `fields`. Two queries.
    """
    if given is None:
        return None
    wrong: list[str] = []
    if not isinstance(given, Mapping) or set(given) - {"held_on", "participants"}:
        fields["meeting"] = ["A meeting has `held_on` and `participants` only."]
        return None
    held_on = _day(given.get("held_on"))
    if held_on is None:
        wrong.append("Enter the day of the meeting as YYYY-MM-DD.")
    elif held_on > (timezone.now() + ANYWHERE).date():
        wrong.append("The day of the meeting must not be in the future.")
    elif _is_before_labels(round_, held_on):
        earliest = _earliest_day(round_).isoformat()
        wrong.append(
            f"The meeting must be on {earliest} or later: the earliest day, anywhere on earth, on which round "
            f"{round_.number} was open."
        )
    participants = _participants(seat, given.get("participants"), wrong)
    if wrong or held_on is None:
        fields["meeting"] = wrong
        return None
    return StatedMeeting(held_on, participants)


def meeting_of_form(held_on: str, participants: str) -> dict[str, object] | None:
    """A meeting as a form states it, with names separated by commas; None where both fields are empty."""
    if not held_on.strip() and not participants.strip():
        return None
    return {"held_on": held_on.strip(), "participants": participants.split(",")}


def _day(given: object) -> date | None:
    try:
        return date.fromisoformat(given) if isinstance(given, str) and len(given) == len("2026-11-20") else None
    except ValueError:
        return None


def _earliest_day(round_: Round) -> date:
    """The day on which a round was opened where the day began last."""
    assert round_.opened_at is not None
    return (round_.opened_at - ANYWHERE).date()


def _is_before_labels(round_: Round, held_on: date) -> bool:
    """Whether none of the round's labels existed on a day; sheets may hold labels that are older than their round."""
    if round_.opened_at is None or held_on >= _earliest_day(round_):
        return False
    return not Annotation.objects.filter(assignment__round=round_, idempotency_key__startswith=MARK).exists()


def _participants(seat: Seat, given: object, wrong: list[str]) -> list[str]:
    """Who took part, members with a code by that; each once. A code that nobody has would be read as a rater's."""
    if not isinstance(given, list) or not all(isinstance(each, str) and len(each) <= LONGEST_NAME for each in given):
        wrong.append(f"List participants by a name or code of at most {LONGEST_NAME} characters each.")
        return []
    check_storable({"participants": given})
    accounts = "user__username", "invited_user__username", "former_user__username", "formerly__elsewhere"
    members = list(seat.study.memberships.values_list("code", *accounts))
    codes: dict[str, str] = {}
    for names in zip(*members, strict=True):  # codes before user names, those of people who left after these
        for (code, *_), name in zip(members, names, strict=True):
            if name:
                codes.setdefault(folded(name), code or "")
    found = list(dict.fromkeys(codes.get(folded(name)) or name for each in given if (name := " ".join(each.split()))))
    wrong += list(filter(None, map(wrong_in, found)))
    if unknown := [name for name in found if CODE.fullmatch(name) and name not in codes.values()]:
        are = "is" if len(unknown) == 1 else "are"
        more = [f"{len(unknown) - NAMED_MAX:,} more"] if len(unknown) > NAMED_MAX else []
        named = series([*unknown[:NAMED_MAX], *more])
        wrong.append(f"{named} {are} not a code of this study. Enter names or codes of its raters.")
    if not LEAST_PARTICIPANTS <= len(found) <= MOST_PARTICIPANTS:
        wrong.append(f"List {LEAST_PARTICIPANTS} to {MOST_PARTICIPANTS} people who took part.")
    return found


def attach(seat: Seat, round_: Round, stated: StatedMeeting, resolutions: Sequence[int]) -> Meeting:
    """Appends the meeting, once for everything that the same person states of it, and what it is stated for."""
    meeting, _ = Meeting.objects.get_or_create(
        round=round_, held_on=stated.held_on, participants=list(stated.participants), stated_by=seat.user
    )
    MeetingResolution.objects.bulk_create(
        [MeetingResolution(meeting=meeting, resolution_id=each) for each in resolutions], ignore_conflicts=True
    )
    return meeting


@transaction.atomic
def state_meeting(
    *,
    seat: Seat,
    round_: Round,
    meeting: object,
    item: Item | None = None,
    part: int = 1,
    dimension: str = "",
    newest: str | None = None,
) -> tuple[Meeting, int]:
    """States a meeting for resolutions that were taken: of one place, or of the whole queue of a round.

    Of the queue these are all that would otherwise be reported as resolved by adjudication, with `newest` only those up
    to it (the public ID of the newest one that a page counted). Returns the meeting and for how many resolutions it was
    stated. Raises Invalid with the fields, Blind, Forbidden, WrongState.
    """
    seat.require(ADJUDICATOR, OWNER)
    seat.require_sight(round_)
    hold_state(round_.pk)  # so that no deletion of the study overlooks it
    seat.require_again()
    fields: dict[str, list[str]] = {}
    if meeting is None:
        fields["meeting"] = ["This field is required."]
    stated = read_meeting(seat, round_, meeting, fields)
    if stated is None:
        raise Invalid(NOT_STATED, fields=fields)
    if item is not None:
        seat.require_sight_of(round_, item)
        rows = newest_by_hand(seat, round_).filter(item=item, part=part, dimension__key=dimension)
        chosen = list(rows.values_list("pk", flat=True))
    else:
        chosen = without_discussion(seat, round_)
        if newest is not None:
            chosen = [each for each in chosen if each <= (Resolution.number_of(newest) or 0)]
    if not chosen:
        raise WrongState("No resolution can be linked to this meeting.")
    made = attach(seat, round_, stated, chosen)
    record(
        study=seat.study,
        user=seat.user,
        verb="meeting stated",
        round=round_.number,
        held_on=stated.held_on.isoformat(),
        resolutions=len(chosen),
    )
    return made, len(chosen)
