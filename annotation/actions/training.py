"""Calibration: training items, which every rater answers first; and what a pilot said of a main round."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from django.db import transaction
from django.db.models import F
from django.utils import timezone

from accounts.storable import check_storable
from annotation.access import OWNER, Seat, get_round, row_number
from annotation.actions.bulk import require_prepared
from annotation.actions.studies import record
from annotation.answers import LONGEST_TEXT, read_parts
from annotation.errors import Conflict, Invalid, NotFound, WrongState
from annotation.models import Assignment, Item, Round, RoundItem, RoundRater
from annotation.queries.training import agreed_answers
from annotation.reporting.gate import gate
from taxonomy.models import TaxonomyVersion
from taxonomy.queries import published_version
from taxonomy.tree import VersionTree

Known = dict[str, Any]
MOST = 200
"""So many training items a round takes at most."""
LONGEST_REASON = 2000
NOT_KEPT = "The known answer could not be kept."


def read_known(tree: VersionTree, given: object, path: str, fields: dict[str, list[str]]) -> Known | None:
    """A known answer in the shape that is kept, checked as an answer is; what is wrong goes into `fields` below `path`.

    `given` holds `labels` or `parts`, and `why` in words, which raters read with the feedback.
    """
    if not isinstance(given, Mapping):
        fields[path] = ['Give {"labels": {…}, "why": ""} or {"parts": [{"labels": {…}}, …], "why": ""}.']
        return None
    wrong: dict[str, list[str]] = {}
    why = given.get("why") or ""
    if not isinstance(why, str) or len(why) > LONGEST_TEXT:
        wrong["why"] = [f"Say why in at most {LONGEST_TEXT} characters."]
    for name in sorted(set(map(str, given)) - {"labels", "parts", "why"}):
        wrong[name] = ["A known answer has labels or parts, and why."]
    parts = read_parts(tree, {name: given[name] for name in ("labels", "parts") if name in given}, wrong)
    if any(part.proposals for part in parts):
        wrong["proposals"] = ["A known answer proposes no category."]
    fields |= {f"{path}.{name}": sentences for name, sentences in wrong.items()}
    if wrong:
        return None
    labels = [
        {
            key: list(values) if tree.by_key[key].has_categories else values[0]
            for key, values in part.values.items()
            if values or tree.by_key[key].has_categories
        }
        for part in parts
    ]
    return {"parts": [{"labels": each} for each in labels], "why": str(why).strip()}


def read_all_known(version: TaxonomyVersion, known: object, fields: dict[str, list[str]]) -> dict[str, Known]:
    """The known answers of a request by the items they are for; what is wrong goes into `fields`."""
    if not isinstance(known, Mapping):
        fields["known"] = ['Give {"owner/name#1": {"labels": {…}, "why": ""}, …}.']
        return {}
    if len(known) > MOST:
        fields["known"] = [f"A round takes at most {MOST} training items."]
        return {}
    check_storable(known)
    tree = published_version(version.pk)
    read = {str(name): read_known(tree, given, f"known.{name}", fields) for name, given in known.items()}
    return {name: each for name, each in read.items() if each is not None}


def known_of_round(
    seat: Seat, version: TaxonomyVersion, number: object, n_items: object, fields: dict[str, list[str]]
) -> list[tuple[Item, Known]]:
    """The first `n_items` items of a closed round with what was agreed on them, as far as it follows into `version`.

    Items of which that is withheld from this person are passed over.
    """
    if isinstance(n_items, bool) or not isinstance(n_items, int) or not 1 <= n_items <= MOST:
        fields["n_training"] = [f"Write a whole number from 1 to {MOST}."]
        return []
    given = row_number(number)
    closed = seat.study.rounds.filter(state=Round.State.CLOSED).exclude(kind=Round.Kind.SCREENING)
    round_ = closed.select_related("taxonomy_version").filter(number=given).first() if given is not None else None
    if round_ is None or round_.taxonomy_version.taxonomy_id != version.taxonomy_id:
        fields["training_round"] = ["Name a closed round of this study."]
        return []
    found: list[tuple[Item, Known]] = []
    tree = published_version(version.pk)
    withheld = seat.withheld_in(round_)
    for item, answer in agreed_answers(round_, version):
        if len(found) == n_items:
            break
        if item.pk in withheld:
            continue
        known = read_known(tree, answer, "known", {})
        if known is not None and item.screening != Item.Screening.OUT:
            found.append((item, known))
    if len(found) < n_items:
        fields["n_training"] = [
            f"Only {len(found)} items of round {number} have agreed labels that are a whole answer"
            f" under version {version.number}."
        ]
    return found


@transaction.atomic
def set_known(*, seat: Seat, number: int, known: object) -> int:
    """Makes items of a draft round training items, or changes what is known; how many. Raises Invalid with the fields.

    `known` is as in a request: by item, labels or parts, and why.
    """
    round_ = _draft(seat, number)
    fields: dict[str, list[str]] = {}
    read = read_all_known(round_.taxonomy_version, known, fields)
    places = {
        each.item.identifier: each
        for each in RoundItem.objects.filter(round=round_, item__identifier__in=list(read)).select_related("item")
    }
    for name in read:
        if name not in places:
            fields[f"known.{name}"] = [f"“{name}” is not in round {number}."]
    if not fields and RoundItem.objects.filter(round=round_, known__isnull=False).count() + len(read) > 2 * MOST:
        fields["known"] = [f"A round takes at most {MOST} training items."]
    if fields or not read:
        raise Invalid(NOT_KEPT, fields=fields or {"known": ["Name at least one item."]})
    for name, each in read.items():
        places[name].known = each
    RoundItem.objects.bulk_update(places.values(), ["known"])
    record(study=seat.study, user=seat.user, verb="known answers given", round=number, items=len(read))
    return len(read)


@transaction.atomic
def remove_known(*, seat: Seat, number: int, item: Item) -> None:
    """Makes a training item of a draft round an ordinary one again."""
    round_ = _draft(seat, number)
    if not RoundItem.objects.filter(round=round_, item=item, known__isnull=False).update(known=None):
        raise NotFound(f"{item.identifier} is no training item of round {number}.")
    record(study=seat.study, user=seat.user, verb="known answer removed", round=number, item=item.identifier)


def _draft(seat: Seat, number: int) -> Round:
    seat.require(OWNER)
    get_round(seat, number)
    round_ = (
        Round.objects.select_for_update(of=("self",))
        .select_related("taxonomy_version")
        .get(study=seat.study, number=number)
    )
    require_prepared(seat.study)
    if round_.state != Round.State.DRAFT:
        raise WrongState(f"Round {number} is {round_.state}; training items are chosen while it is a draft.")
    if round_.kind not in (Round.Kind.PILOT, Round.Kind.MAIN):
        raise WrongState(f"Round {number} is a {round_.kind} round, and such a round has no training items.")
    return round_


def give_training(round_: Round, training: Sequence[RoundItem], raters: Iterable[RoundRater]) -> None:
    """Gives every rater all training items, in places 1, 2 …; they have them from the start, in a pool as well."""
    if not training:
        return
    everybody = list(raters)
    RoundItem.objects.filter(pk__in=[each.pk for each in training]).update(n_raters=len(everybody), n_free=0)
    Assignment.objects.bulk_create(
        [
            Assignment(round=round_, item_id=each.item_id, rater_id=rater.rater_id, slot=slot, position=position)
            for position, each in enumerate(training, start=1)
            for slot, rater in enumerate(everybody, start=1)
        ],
        batch_size=5000,
    )
    RoundRater.objects.filter(round=round_).update(n_assigned=F("n_assigned") + len(training))


def passed_gate(*, seat: Seat, round_: Round, reason: object) -> Known | None:
    """What is kept of the last pilot's advice with a main round that is being opened; None where there is none.

    Where the advice is to wait the round opens with a reason alone, which is kept. Raises Invalid, Conflict without a
    reason, and Blind for someone who still has to answer as a third rater in that pilot.
    """
    if not isinstance(reason, str) or len(reason) > LONGEST_REASON:
        raise Invalid(
            "The round could not be opened.", fields={"reason": [f"Say why in at most {LONGEST_REASON} characters."]}
        )
    found = gate(seat) if round_.kind == Round.Kind.MAIN else None
    if found is None:
        return None
    if seat.withheld_in(found.pilot):
        seat.require_nothing_withheld("What the pilot says of the main round")
    if found.is_wait and not reason.strip():
        raise Conflict(
            f"Round {round_.number} was not opened. {found.sentence} To open it all the same, say why (`reason`).",
            code="against_gate",
            fields={"reason": ["Say why the round is opened although the pilot speaks against it."]},
        )
    said = {
        "reason": reason.strip() if found.is_wait else "",
        "by": seat.user.username,
        "at": timezone.now().isoformat(),
    }
    return {**found.as_document(), **said}
