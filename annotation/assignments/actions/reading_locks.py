"""Locks between those who read answers and those who ask others to rate the same items blind.

Each side does its own thing first and then looks at what the other did: a reader adds the line of reading, then looks
for assignments of theirs; the one who assigns a rater looks for such lines, then adds the assignment. An assignment
that is not committed yet would be seen by neither, so the reader waits for it.
"""

from collections.abc import Collection, Iterable, Mapping

from django.db import connection

from annotation.assignments.queries import (
    rounds_elsewhere,
    rounds_to_rate_blind,
    unblinded_among,
    unblinded_by_item,
)
from annotation.core.audit import record
from annotation.models import Assignment, Membership, Round, RoundRater
from annotation.models.assignment_kinds import EXTRA_RATERS
from shared.job_holds import place

READING = 7_311
"""The first number of these locks; those of jobs have others."""


def held_unblinded(
    round_: Round, members: Iterable[Membership], in_round: Mapping[int, RoundRater] | None = None
) -> set[int]:
    """`unblinded_among`, until the commit: a person who begins to read the round's answers waits for what is added.

    The members get the roles that they have at present: they may have been read before another role was given, by which
    the round's answers were read since. Call it in the transaction that adds or marks the raters. Two queries more.
    """
    return unblinded_among(round_, _held([round_], members), in_round)


def held_unblinded_by_item(
    round_: Round,
    items: Collection[int],
    members: Iterable[Membership],
    in_round: Mapping[int, RoundRater] | None = None,
) -> dict[int, set[int]]:
    """`held_unblinded` of third raters: by item also those who read what was answered for it in another round.

    Anyone who can have it in a relabeling queue is among them, also who is none of these members.
    """
    others = rounds_elsewhere(round_, items)
    return unblinded_by_item(round_, others, items, _held([round_, *others], members), in_round)


def is_held_unblinded(
    round_: Round, member: Membership, reader: Membership, in_round: Mapping[int, RoundRater] | None = None
) -> bool:
    """Whether a reader could read answers of a round, or of an item there that the member owes as a third rater."""
    asked = Assignment.objects.filter(EXTRA_RATERS, rater=member, round=round_, state__in=Assignment.UNFINISHED)
    items = set(asked.order_by().values_list("item_id", flat=True))
    if not items:
        return bool(held_unblinded(round_, [reader], in_round))
    return any(reader.pk in found for found in held_unblinded_by_item(round_, items, [reader], in_round).values())


def _held(rounds: Iterable[Round], members: Iterable[Membership]) -> list[Membership]:
    places = sorted({place(each.pk) for each in rounds})
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(%s, place) FROM unnest(%s::int[]) place", [READING, places])
    everybody = list(members)
    present = Membership.objects.in_bulk([each.pk for each in everybody if each.pk])
    for each in everybody:
        if each.pk in present:
            each.roles, each.could_read_until = present[each.pk].roles, present[each.pk].could_read_until
    return everybody


def wait_for_assignments(rounds: Iterable[Round]) -> None:
    """Waits until nobody is just being assigned in these rounds. Call it after the line of reading; one query."""
    places = sorted({place(each.pk) for each in rounds})
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock_shared(%s, place) FROM unnest(%s::int[]) place", [READING, places])


def wait_before_roles(member: Membership) -> None:
    """Waits until nobody is just asking a rater to rate an item, before they get another role. Two queries.

    By the role they read answers, and leave no line where owners, adjudicators and readers are known by their roles.
    Until the commit those who ask others wait, and then find the role (`held_unblinded`).
    """
    under_way = Round.objects.filter(study=member.study_id, state__in=[Round.State.OPEN, Round.State.RESOLVING])
    if rounds := list(under_way.order_by("pk")):
        wait_for_assignments(rounds)


def mark_unblinded(member: Membership, before: Membership | None = None) -> None:
    """Marks who has just become a member where they are still to rate blind and the account could read answers.

    Staff read every study until they rate in it, which is from now on. Each round has a line of its own in the audit
    log: that a member is in it, or was asked there, is hidden from people from whom labels of the round are withheld.
    So the raters of a round, which these see, show no mark of who only owes an answer there as a third rater.
    `before` is what the account was in the study until now, where it takes a member's place.
    """
    is_new = before is not None or (member.user is not None and member.user.is_staff)
    in_round: dict[int, RoundRater] | None = {} if is_new else None
    there = before or member
    found = [each for each in rounds_to_rate_blind(member) if is_held_unblinded(each, member, there, in_round)]
    rated = [each for each in found if each.state == Round.State.OPEN and held_unblinded(each, [there], in_round)]
    RoundRater.objects.filter(rater=member, round__in=rated).update(unblinded=True)
    asked = Assignment.objects.filter(EXTRA_RATERS, rater=member, round__in=found)
    asked.filter(state__in=Assignment.UNFINISHED).update(unblinded=True)
    for each in found:
        record(study=member.study, user=None, verb="rater marked unblinded", round=each.number, rater=member.code)
