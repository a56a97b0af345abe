"""Third raters on request, reminders, and the rules of a study applied by hand."""

from typing import Any

from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from annotation.assignments import jobs as rule_jobs
from annotation.assignments.actions.reading_locks import held_unblinded_by_item
from annotation.assignments.actions.third_raters import ask_third_raters, candidates, withdraw_third_raters
from annotation.assignments.queries import (
    may_have_it_queued,
    read_elsewhere,
    rounds_elsewhere,
    unblinded_among,
)
from annotation.core.access import ADJUDICATOR, OWNER, Seat, get_round
from annotation.core.audit import record
from annotation.core.errors import Blind, Conflict, Invalid, NotFound, WrongState
from annotation.core.locks import hold_round, queue_awaited, require_no_open_queue, require_no_plan
from annotation.core.member_lists import member_named
from annotation.models import Assignment, InboxLine, Item, Membership, Round
from annotation.models.assignment_kinds import THIRD_RATERS
from annotation.resolving.actions.resolutions import hold_item

NOT_ASKED = "Third rater not assigned."


@transaction.atomic
def ask_third_rater(
    *, seat: Seat, round_: Round, item: Item, rater: object = None, unblinded: bool | None = None
) -> Assignment:
    """Gives a disputed item to a third rater, named by code or user name, or to whom the rule would choose.

    They answer it like any other, blind to the others until then. Someone who could read the answers, or did,
    is asked only by name and with `unblinded`, which marks the answer. Raises Invalid with the field,
    Conflict, WrongState, Forbidden, Blind.
    """
    standing = hold_item(seat, round_, item)
    if round_.state == Round.State.CLOSED or round_.kind == Round.Kind.RELABEL:
        why = "it is closed" if round_.state == Round.State.CLOSED else "its raters see earlier agreed labels"
        raise WrongState(f"No third rater can be assigned in round {round_.number}: {why}.")
    if not any(verdict.state == "open" for verdict in standing.verdicts):
        raise WrongState(f"{item.identifier} has no open disagreement, so no third rater is needed.")
    asked = Assignment.objects.filter(
        THIRD_RATERS, round=round_, item=item, state__in=Assignment.UNFINISHED
    ).select_related("rater")
    if (waiting := asked.first()) is not None:
        raise WrongState(f"{waiting.rater} was already assigned and has not submitted labels yet.")
    members, had = candidates(round_, [item.pk])
    free = [each for each in members if each.pk not in had[item.pk] and each != seat.membership]
    could_read = held_unblinded_by_item(round_, [item.pk], free)[item.pk]
    blind = [each for each in free if each.pk not in could_read]
    chosen = None
    if rater not in (None, ""):
        named = member_named(seat.study, rater)
        chosen = next((each for each in free if each == named), None)
        if chosen is None:
            sentence = f"“{str(rater)[:40]}” can’t be assigned. Choose a rater of the study who has not had this item."
            raise Invalid(NOT_ASKED, fields={"rater": [sentence]})
        if chosen.pk in could_read and not unblinded:
            raise Conflict(
                f"{chosen} was not assigned: they could read the labels. Choose someone else, or assign them "
                "as an unblinded rater, whose labels never count as before discussion.",
                code="not_blind_any_more",
            )
    elif free and not blind:
        sentence = "All remaining raters could read the labels. Name one of them to assign as an unblinded rater."
        raise Invalid(NOT_ASKED, fields={"rater": [sentence]})
    elif not free:
        sentence = "Every rater of the study has had this item or left the round. Add another member as a rater."
        raise Invalid(NOT_ASKED, fields={"rater": [sentence]})
    require_no_plan(round_.study)
    require_no_open_queue(round_, [item.pk], "Assign a third rater")
    given = ask_third_raters(round_, [item.pk], by_hand=blind if chosen is None else [chosen])
    marked = {"unblinded": True} if chosen is not None and chosen.pk in could_read else {}
    record(
        study=seat.study, user=seat.user, verb="third rater asked", round=round_.number, item=item.identifier, **marked
    )
    return Assignment.objects.select_related("rater", "item", "round").get(
        round=round_, item=item, rater_id=given[item.pk]
    )


@transaction.atomic
def remind_third_rater(*, seat: Seat, number: int, rater: str) -> tuple[Membership, int]:
    """Writes into a third rater's inbox (code or user name) that their answers are waited for; who, and how many items.

    Raises WrongState where the round is closed, Conflict where they have answered all, NotFound and Blind.
    """
    round_, member, waiting = _asked(seat, number, rater)
    n = waiting.count()
    line, is_new = InboxLine.objects.get_or_create(
        member=member, kind=InboxLine.Kind.REMINDER, round=round_, item=None, remark=None, defaults={"n_items": n}
    )
    if not is_new:
        InboxLine.objects.filter(pk=line.pk).update(n_items=n, read_at=None, created_at=timezone.now())
    record(study=seat.study, user=seat.user, verb="third rater reminded", round=number, rater=member.code, items=n)
    return member, n


@transaction.atomic
def withdraw_third_rater(*, seat: Seat, number: int, rater: str) -> tuple[Membership, int]:
    """Asks a third rater (code or user name) no more for what they have not answered; who, and how many items that was.

    What they answered stays and counts. Others can be asked for the items by hand, or by *Apply rules*. Raises as
    `remind_third_rater` does.
    """
    _, member, waiting = _asked(seat, number, rater)
    n = withdraw_third_raters(waiting)
    record(study=seat.study, user=seat.user, verb="third rater withdrawn", round=number, rater=member.code, items=n)
    return member, n


def _asked(seat: Seat, number: int, rater: str) -> tuple[Round, Membership, QuerySet[Assignment]]:
    """A round that is held, a third rater in it, and what they have not answered; at least one item."""
    seat.require(OWNER)
    shown = get_round(seat, number)
    seat.require_sight(shown)
    if shown.pk in seat.unsettled_round_ids:
        raise Blind(
            f"Labels of round {number} are withheld from you while you answer items of it yourself, and so is who was "
            "asked there as a third rater."
        )
    round_ = hold_round(seat, number)
    asked = Assignment.objects.filter(THIRD_RATERS, round=round_)
    member = member_named(seat.study, rater)
    if member is None or not asked.filter(rater=member).exists():
        raise NotFound(f"Round {number} has no third rater “{rater[:40]}”.")
    if round_.state == Round.State.CLOSED:
        raise WrongState(f"Round {number} is closed, so no third rater has anything left to answer.")
    waiting = asked.filter(rater=member, state__in=Assignment.UNFINISHED)
    if not waiting.exists():
        raise Conflict(f"{member} has answered every item assigned to them as a third rater in round {number}.")
    return round_, member, waiting


@transaction.atomic
def apply_rules(*, seat: Seat, number: int) -> Round:
    """Applies the rules to a round that is being resolved, also where they were turned on later; a worker does it.

    After a job that failed also to an open round whose disagreements are resolved item by item.
    """
    seat.require(OWNER)
    round_ = get_round(seat, number)
    failed_open = round_.state == Round.State.OPEN and bool(round_.rules_error)
    if round_.state != Round.State.RESOLVING and not failed_open:
        raise WrongState(f"Round {number} is {round_.state}. Rules are applied while a round is being resolved.")
    if not seat.study.has_rules:
        raise WrongState("The study has no rule to apply. Turn one on in its settings.")
    seat.require_queue(round_)
    require_no_plan(seat.study)
    if queue := queue_awaited(round_):
        raise Conflict(
            f"Round {queue}, a relabeling queue, is not closed. Rules are applied to round {number} after that.",
            code="queue_open",
        )
    # A worker that is at it ends, so that what it passed is looked at again.
    anew: dict[str, Any] = {} if failed_open else {"ruled_until": None, "ruled_to": 0}
    Round.objects.filter(pk=round_.pk).update(ruled_at=None, rules_error="", **anew)
    round_.ruled_at, round_.rules_error = None, ""
    record(study=seat.study, user=seat.user, verb="rules applied", round=number)
    (rule_jobs.ANSWERS if failed_open else rule_jobs.RULES).send_later(round_.pk)
    return round_


def people_to_ask(seat: Seat, round_: Round, item: Item) -> list[tuple[str, str, bool]]:
    """Code and name of who can be asked as a third rater by hand, and whether they could read the answers, these last.

    Eight queries, up to five more where the item is in other rounds.
    """
    seat.require(ADJUDICATOR, OWNER)
    members, had = candidates(round_, [item.pk])
    free = [each for each in members if each.pk not in had[item.pk] and each != seat.membership]
    elsewhere = read_elsewhere(round_, rounds_elsewhere(round_, [item.pk]), [item.pk], free)
    could_read = unblinded_among(round_, free) | elsewhere[item.pk] | may_have_it_queued(round_, [item.pk])[item.pk]
    found = [(each.code or "", each.signed_name, each.pk in could_read) for each in free]
    return sorted(found, key=lambda each: each[2])
