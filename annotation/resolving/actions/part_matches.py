"""Part matches of an issue: which part of a rater's answer is which agreed part."""

from collections.abc import Sequence

from django.db import transaction

from annotation.core.access import Seat
from annotation.core.audit import record
from annotation.core.errors import Conflict, Invalid, Stale
from annotation.labels.queries.changed_items import forget_queue
from annotation.labels.queries.part_matches import matches_of, same_parts
from annotation.models import Annotation, Assignment, Item, Membership, PartMatch, Resolution, Round, RoundItem
from annotation.resolving.actions.resolutions import hold_item

NOT_MATCHED = "Parts not matched."
MOST_PARTS = 100


@transaction.atomic
def match_parts(
    *,
    seat: Seat,
    round_: Round,
    item: Item,
    rater: object,
    parts: object,
    expected: object = None,
    shown: Sequence[str] = (),
) -> list[int]:
    """Says which agreed bug each part of a rater's current answer is, in the order of the parts: [2, 1] swaps two.

    The rater's blind answer is matched alike where it has the same parts. What stood before is kept in the audit.
    `expected` is the number of the revision that was seen: a newer one is Stale, and so is another match than the one
    that a page has `shown`. Raises Conflict where a resolution
    exists for a part that would become another one (reopen it first), and where a relabeling queue asked about the
    item. Raises Invalid with the fields, Forbidden, Blind.
    """
    hold_item(seat, round_, item)
    assignment = _assignment(round_, item, rater)
    current = assignment.current
    assert current is not None
    if expected is not None and str(expected) != str(current.revision):
        raise Stale(
            f"{assignment.rater} has changed their labels. Review them before you match the parts.",
            newer={"revision": current.revision, "n_parts": current.n_parts},
        )
    wanted = _read(parts, current.n_parts)
    stood = matches_of([current.pk]).get(current.pk, {})
    before = [stood.get(number, number) for number in range(1, current.n_parts + 1)]
    if wanted == before:
        return wanted
    if shown and list(map(str, before)) != list(shown):
        places = ", ".join(map(str, before))
        raise Stale(
            f"Someone matched the parts of {assignment.rater} after you opened the page: they are {places} now. "
            "Nothing was changed.",
            newer={"parts": before},
        )
    moved = {n for old, new in zip(before, wanted, strict=True) if old != new for n in (old, new)}
    _check_undecided(round_, item, moved)
    _check_not_asked(round_, item)
    for annotation in _alike(assignment, current):
        PartMatch.objects.filter(annotation=annotation).delete()
        if wanted != sorted(wanted) or wanted[-1] != len(wanted):
            PartMatch.objects.bulk_create(
                PartMatch(annotation=annotation, part=part, agreed_part=agreed)
                for part, agreed in enumerate(wanted, start=1)
            )
    transaction.on_commit(lambda: forget_queue(round_))
    record(
        study=seat.study,
        user=seat.user,
        verb="bugs matched",
        round=round_.number,
        item=item.identifier,
        rater=assignment.rater.code,
        before=before,
        after=wanted,
    )
    return wanted


def _assignment(round_: Round, item: Item, rater: object) -> Assignment:
    # Answers are read after the lock: joined to it, the one that a submit waited for would be missing.
    rows = Assignment.objects.select_for_update(of=("self",)).select_related("rater")
    found = None
    if isinstance(rater, str) and rater:
        found = rows.filter(
            round=round_, item=item, rater__code__iexact=rater, rater__kind=Membership.Kind.PERSON,
            state=Assignment.State.SUBMITTED,
        ).first()  # fmt: skip
    if found is None:
        sentence = f"“{str(rater)[:40]}” has no labels on this item. Name a rater by code."
        raise Invalid(NOT_MATCHED, fields={"rater": [sentence]})
    return found


def _read(parts: object, n_parts: int) -> list[int]:
    """Raises Invalid unless there is one number for each part, none twice."""
    given: list[int] = list(parts) if isinstance(parts, list | tuple) else []
    whole = all(isinstance(each, int) and not isinstance(each, bool) and 1 <= each <= MOST_PARTS for each in given)
    if not whole or len(given) != n_parts or len(set(given)) != len(given):
        bugs = "1 bug" if n_parts == 1 else f"{n_parts} bugs"
        sentence = f"Send one number for each of {bugs}, from 1 to {MOST_PARTS}, none twice."
        raise Invalid(NOT_MATCHED, fields={"parts": [sentence]})
    return given


def _check_undecided(round_: Round, item: Item, moved: set[int]) -> None:
    newest = (
        Resolution.objects.filter(round=round_, item=item, part__in=moved)
        .order_by("part", "dimension_id", "-revision")
        .distinct("part", "dimension_id")
    )
    decided = sorted({row.part for row in newest if row.method != Resolution.Method.REOPENED})
    if decided:
        bugs = f"bug {decided[0]}" if len(decided) == 1 else f"bugs {', '.join(map(str, decided))}"
        raise Conflict(f"There are resolutions on {bugs}. Reopen them first, then match the parts.", code="decided")


def _check_not_asked(round_: Round, item: Item) -> None:
    """A queue asks about bugs by the numbers that they have, and its answers count for these.

    Its raters see their earlier answers in that order, also later and when the item is hidden from them.
    """
    asked = RoundItem.objects.filter(
        item=item, round__study=round_.study_id, round__kind=Round.Kind.RELABEL, round__number__gt=round_.number
    ).exclude(round__state=Round.State.UNDONE)
    if number := asked.order_by("round__number").values_list("round__number", flat=True).first():
        raise Conflict(
            f"Round {number}, a relabeling queue, asks about {item.identifier} by the present numbers of its bugs, so "
            "they stay. Undo its migration first, then match the parts.",
            code="being_relabeled",
        )


def _alike(assignment: Assignment, current: Annotation) -> list[Annotation]:
    """The current answer, and the blind one where it has the same parts."""
    blind = assignment.blind
    if blind is None or blind.pk == current.pk or not same_parts(blind, current):
        return [current]
    return [current, blind]
