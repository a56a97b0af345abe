"""Gold answers: training items of a draft round, the minimum, and raters admitted without it."""

from django.db import transaction
from django.db.models import Max
from django.utils import timezone

from annotation.calibration.actions.training import (
    LONGEST_REASON,
    MOST,
    NOT_KEPT,
    read_all_gold,
    read_minimum,
    tell_admitted,
    tried_as_document,
)
from annotation.calibration.queries.training import newest_try
from annotation.choosing.actions.items import named_items
from annotation.core.access import OWNER, Seat, get_round, get_round_rater, items_by_identifier
from annotation.core.audit import record
from annotation.core.errors import Conflict, Invalid, NotFound, WrongState
from annotation.core.locks import hold_round, require_prepared
from annotation.labels.screening import IN, OPEN, UNSCREENED
from annotation.models import Item, Round, RoundItem, RoundRater
from taxonomy.queries import published_version


@transaction.atomic
def set_gold(*, seat: Seat, number: int, known: object) -> int:
    """Makes issues training items of a draft round, or changes what is known; how many. Raises Invalid with the fields.

    `known` is as in a request: by item, labels or parts, and why. What is not in the round comes into it beside its
    other items.
    """
    round_ = _draft(seat, number)
    fields: dict[str, list[str]] = {}
    read = read_all_gold(round_.taxonomy_version, known, fields)
    wrong: dict[str, list[str]] = {}
    items = named_items(seat, seat.study, list(read), wrong, (IN, UNSCREENED, OPEN)) if read else []
    if wrong:
        fields["known"] = [*fields.get("known", []), *wrong["issues"]]
    by_item = {item.pk: read[name] for name, item in items_by_identifier(seat.study, read).items()}
    places = {each.item_id: each for each in RoundItem.objects.filter(round=round_, item__in=list(by_item))}
    training = RoundItem.objects.filter(round=round_, known__isnull=False).exclude(item__in=list(by_item))
    if not fields and training.count() + len(by_item) > MOST:
        fields["known"] = [f"A round has at most {MOST} calibration items."]
    if fields or not by_item:
        raise Invalid(NOT_KEPT, fields=fields or {"known": ["Name at least one item."]})
    for pk, place in places.items():
        place.known = by_item[pk]
    RoundItem.objects.bulk_update(places.values(), ["known"])
    last = RoundItem.objects.filter(round=round_).aggregate(last=Max("position"))["last"] or 0
    new = [item for item in items if item.pk in by_item and item.pk not in places]
    RoundItem.objects.bulk_create(
        RoundItem(round=round_, item=item, position=position, n_raters=1, known=by_item[item.pk])
        for position, item in enumerate(new, start=last + 1)
    )
    record(study=seat.study, user=seat.user, verb="known answers given", round=number, items=len(by_item))
    return len(by_item)


@transaction.atomic
def remove_gold(*, seat: Seat, number: int, item: Item) -> None:
    """Makes a training item of a draft round an ordinary one again."""
    round_ = _draft(seat, number)
    if not RoundItem.objects.filter(round=round_, item=item, known__isnull=False).update(known=None):
        raise NotFound(f"{item.identifier} is not a calibration item of round {number}.")
    record(study=seat.study, user=seat.user, verb="known answer removed", round=number, item=item.identifier)


@transaction.atomic
def set_minimum(*, seat: Seat, number: int, minimum: object) -> Round:
    """What raters of a draft round have to reach on training items before they get others; None for nothing."""
    round_ = _draft(seat, number)
    fields: dict[str, list[str]] = {}
    tree = published_version(round_.taxonomy_version_id)
    read = read_minimum(tree, seat.study.primary, minimum, fields)
    if fields:
        raise Invalid("Minimum not saved.", fields=fields)
    if read != round_.gold_minimum:
        round_.gold_minimum = read
        round_.save(update_fields=["gold_minimum"])
        record(study=seat.study, user=seat.user, verb="minimum on training items set", round=number, minimum=read)
    return round_


@transaction.atomic
def admit(*, seat: Seat, number: int, rater: str, reason: object) -> RoundRater:
    """Lets a rater (code or user name) have the items of an open round without its minimum, for a reason that is kept.

    Whoever was let in or reached the minimum stays as they are. Raises Invalid, Conflict and WrongState.
    """
    seat.require(OWNER)
    round_ = hold_round(seat, number)
    row = get_round_rater(round_, rater)
    if not round_.gold_minimum:
        raise Conflict(f"Round {number} has no minimum on calibration items.", code="no_minimum")
    if round_.state != Round.State.OPEN:
        raise WrongState(f"Round {number} is {round_.state}. Raters can be let in while it is open.")
    if not isinstance(reason, str) or not reason.strip() or len(reason) > LONGEST_REASON:
        sentence = f"Give a reason of at most {LONGEST_REASON:,} characters."
        raise Invalid(f"{row.rater} was not let in.", fields={"reason": [sentence]})
    if row.admission:
        return row
    tried = newest_try(round_, row.rater)
    row.admission = {
        "how": "let_in",
        "at": timezone.now().isoformat(),
        "by": seat.user.username,
        "reason": reason.strip(),
        **(tried_as_document(tried) if tried else {}),
    }
    row.save(update_fields=["admission"])
    tell_admitted(row)
    record(
        study=seat.study,
        user=seat.user,
        verb="rater let in below the minimum",
        round=number,
        rater=row.rater.code,
        reason=reason.strip(),
    )
    return row


def _draft(seat: Seat, number: int) -> Round:
    seat.require(OWNER)
    get_round(seat, number)
    round_ = (
        Round.objects.select_for_update(of=("self",))
        .select_related("taxonomy_version")
        .get(study=seat.study, number=number)
    )
    seat.require_again()
    require_prepared(seat.study)
    if round_.state != Round.State.DRAFT:
        raise WrongState(f"Round {number} is {round_.state}. Calibration items are chosen while it is a draft.")
    if round_.kind not in (Round.Kind.PILOT, Round.Kind.MAIN):
        raise WrongState(f"Round {number} is a {round_.kind} round, which has no calibration items.")
    return round_
