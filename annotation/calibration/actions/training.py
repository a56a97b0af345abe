"""Training: admission of raters by their training items, and the pilot's result for a main round."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from django.db.models import F
from django.utils import timezone

from agreement import COEFFICIENTS
from annotation.assignments.queries import training_of
from annotation.calibration.queries.gate import gate
from annotation.calibration.queries.training import (
    TrainingResult,
    agreed_answers,
    minimum_words,
    newest_try,
    seen_answers,
    still_asked,
)
from annotation.core.access import Seat, row_number
from annotation.core.errors import Conflict, Invalid, MinimumNotReached
from annotation.core.member_lists import code_order
from annotation.labels.answers import read_parts
from annotation.labels.registration import NOT_MEASURED, Primary, primary_of
from annotation.models import Assignment, InboxLine, Item, Membership, Round, RoundItem, RoundRater
from shared.errors import FIELDS_MAX
from shared.storable_json import check_storable
from shared.wording import did_you_mean, plural
from taxonomy.kinds import LONGEST_TEXT
from taxonomy.models import TaxonomyVersion
from taxonomy.queries import published_version
from taxonomy.tree import VersionTree

Known = dict[str, Any]
MOST = 200
"""So many training items a round takes at most."""
LONGEST_REASON = 2000
NOT_KEPT = "Gold answer not saved."


def read_gold(tree: VersionTree, given: object, path: str, fields: dict[str, list[str]]) -> Known | None:
    """A known answer in the shape that is kept, checked as an answer is; what is wrong goes into `fields` below `path`.

    `given` holds `labels` or `parts`, and `why` in words, which raters read with the feedback. Dimensions that are left
    out are not known, and raters are not judged by them; `[]` says that the set is known to be empty.
    """
    if not isinstance(given, Mapping):
        fields[path] = ['Send {"labels": {…}, "why": ""} or {"parts": [{"labels": {…}}, …], "why": ""}.']
        return None
    wrong: dict[str, list[str]] = {}
    why = given.get("why") or ""
    if not isinstance(why, str) or len(why) > LONGEST_TEXT:
        wrong["why"] = [f"Give a reason of at most {LONGEST_TEXT} characters."]
    for name in sorted(set(map(str, given)) - {"labels", "parts", "why"}):
        wrong[name] = ["A gold answer has labels or parts, and why."]
    parts = read_parts(
        tree, {name: given[name] for name in ("labels", "parts") if name in given}, wrong, is_partial=True
    )
    if any(part.proposals for part in parts):
        wrong["proposals"] = ["A gold answer can't propose a category."]
    elif not wrong and not any(part.values for part in parts):
        wrong["labels"] = ["Give the gold label of at least one dimension."]
    fields |= {f"{path}.{name}": sentences for name, sentences in wrong.items()}
    if wrong:
        return None
    labels = [
        {
            key: tree.by_key[key].question_kind.as_json(values)
            for key, values in part.values.items()
            if values or tree.by_key[key].has_categories
        }
        for part in parts
    ]
    return {"parts": [{"labels": each} for each in labels], "why": str(why).strip()}


def read_all_gold(version: TaxonomyVersion, known: object, fields: dict[str, list[str]]) -> dict[str, Known]:
    """The known answers of a request by the items they are for; what is wrong goes into `fields`."""
    if not isinstance(known, Mapping):
        fields["known"] = ['Send {"owner/name#1": {"labels": {…}, "why": ""}, …}.']
        return {}
    if len(known) > MOST:
        fields["known"] = [f"A round has at most {MOST} calibration items."]
        return {}
    check_storable(known)
    tree = published_version(version.pk)
    read = {str(name): read_gold(tree, given, f"known.{name}", fields) for name, given in known.items()}
    return {name: each for name, each in read.items() if each is not None}


def gold_of_round(
    seat: Seat, version: TaxonomyVersion, number: object, n_items: object, fields: dict[str, list[str]]
) -> list[tuple[Item, Known]]:
    """The first `n_items` items of a closed round with what was agreed on them, as far as it follows into `version`.

    Items of which that is withheld from this person are passed over, and those of rounds under way, whose raters would
    see which items were agreed on. What is in a relabeling queue follows from labels, so it makes no difference.
    """
    if isinstance(n_items, bool) or not isinstance(n_items, int) or not 1 <= n_items <= MOST:
        fields["n_training"] = [f"Enter a whole number from 1 to {MOST}."]
        return []
    given = row_number(number)
    closed = seat.study.rounds.filter(state=Round.State.CLOSED).exclude(kind=Round.Kind.SCREENING)
    round_ = closed.select_related("taxonomy_version").filter(number=given).first() if given is not None else None
    if round_ is None or round_.taxonomy_version.taxonomy_id != version.taxonomy_id:
        fields["training_round"] = ["Name a closed round of this study."]
        return []
    found: list[tuple[Item, Known]] = []
    tree = published_version(version.pk)
    places = RoundItem.objects.filter(
        round__study=seat.study,
        round__state__in=[Round.State.OPEN, Round.State.RESOLVING],
        round__taxonomy_version__taxonomy=version.taxonomy_id,
        item__round_items__round=round_,
        known__isnull=True,
    )
    again = set(places.exclude(round__kind=Round.Kind.RELABEL).order_by().values_list("item", flat=True))
    passed_over = again | seat.withheld_in(round_)
    for item, answer in agreed_answers(round_, version):
        if len(found) == n_items:
            break
        if item.pk in passed_over:
            continue
        known = read_gold(tree, answer, "known", {})
        if known is not None and item.screening != Item.Screening.OUT:
            found.append((item, known))
    if len(found) < n_items:
        items = plural(len(found), f"item of round {number} has", f"items of round {number} have")
        said = f"Only {items} agreed labels for every dimension under version {version.number}."
        # Said whether there is such an item or not: a relabeling queue holds items because of their labels.
        fields["n_training"] = [f"{said} Items of open and resolving rounds are not taken."]
    return found


def give_training(round_: Round, training: Sequence[RoundItem], raters: Iterable[RoundRater]) -> dict[int, int]:
    """Gives every rater the training items, in places 1, 2 …; how many each (by the membership's id) got.

    They have them from the start, in a pool as well. Whoever may know what is right of one does not get it.
    """
    everybody = list(raters)
    given = {each.rater_id: 0 for each in everybody}
    if not training:
        return given
    seen = seen_answers(round_, list(given), [each.item_id for each in training])
    made = []
    for position, each in enumerate(training, start=1):
        for_it = [rater.rater_id for rater in everybody if (each.item_id, rater.rater_id) not in seen]
        each.n_raters, each.n_free = len(for_it), 0
        for slot, rater_id in enumerate(for_it, start=1):
            given[rater_id] += 1
            made.append(Assignment(round=round_, item_id=each.item_id, rater_id=rater_id, slot=slot, position=position))
    RoundItem.objects.bulk_update(training, ["n_raters", "n_free"])
    Assignment.objects.bulk_create(made, batch_size=5000)
    for n in set(given.values()) - {0}:
        those = [rater_id for rater_id, each in given.items() if each == n]
        RoundRater.objects.filter(round=round_, rater__in=those).update(n_assigned=F("n_assigned") + n)
    return given


def seen_warnings(round_: Round) -> list[str]:
    """Who does not get which training items of a draft because they may know what is right; in sentences."""
    items = list(RoundItem.objects.filter(round=round_, known__isnull=False).values_list("item_id", flat=True))
    raters = RoundRater.objects.filter(round=round_, rater__kind=Membership.Kind.PERSON).select_related("rater__user")
    by_rater = {each.rater_id: each.rater for each in raters}
    seen = Counter(rater for _, rater in seen_answers(round_, list(by_rater), items))
    return [
        f"{by_rater[pk]} had {n} of the {len(items)} calibration items before, or was a rater of a round that has them "
        "and is over, or may know their labels as an owner or adjudicator. "
        f"Concord does not assign {'it' if n == 1 else 'them'} to {by_rater[pk]} again."
        for pk, n in sorted(seen.items(), key=lambda each: code_order(by_rater[each[0]].code))
    ]


def require_admission(round_: Round, rater: Membership, assignment: Assignment | None) -> None:
    """Raises Held where a rater has not reached the round's minimum on training items, for any other item.

    What their newest try reached is kept with the rater, so it is looked at once. No query where there is no minimum.
    """
    is_extra = assignment is not None and assignment.kind != Assignment.Kind.RATER
    if not round_.gold_minimum or rater.is_machine or is_extra:
        return
    row = RoundRater.objects.filter(round=round_, rater=rater).first()
    if row is None or row.admission:
        return
    if assignment is not None and training_of(round_).filter(item=assignment.item_id).exists():
        return
    if item := still_asked(round_, rater):
        raise MinimumNotReached(
            f"You are assigned to {item}, a calibration item, as a third rater in another round. Label it there first. "
            "Then this round can tell whether you reached its minimum."
        )
    tried = newest_try(round_, rater)
    if tried is None or not tried.reached:
        raise MinimumNotReached(held_words(round_, tried))
    _keep_reached(row, tried)


def admit_elsewhere(assignment: Assignment) -> None:
    """Lets a rater have the items of another open round that held them back, once a try reaches its minimum.

    Call it after the first answer to a training item; a line of the inbox tells them. It looks at their own answers
    alone. One query where no other round has a minimum that they have not reached.
    """
    rater, taxonomy = assignment.rater, assignment.round.taxonomy_version.taxonomy_id
    if rater.is_machine:
        return
    rows = RoundRater.objects.filter(
        rater=rater,
        admission__isnull=True,
        left_at__isnull=True,
        round__state=Round.State.OPEN,
        round__gold_minimum__isnull=False,
        round__taxonomy_version__taxonomy=taxonomy,
    )
    rows = rows.exclude(round=assignment.round_id).select_related("round__study", "round__taxonomy_version")
    for row in rows.order_by("round"):
        own = Assignment.objects.filter(round=row.round, rater=rater, state__in=Assignment.UNFINISHED)
        if own.filter(item__in=training_of(row.round)).exists():
            continue  # they still have training items there, and are held back by nothing else
        if still_asked(row.round, rater):
            continue
        tried = newest_try(row.round, rater)
        if tried is not None and tried.reached:
            _keep_reached(row, tried)
            tell_admitted(row)


def _keep_reached(row: RoundRater, tried: TrainingResult) -> None:
    admission = {"how": "reached", "at": timezone.now().isoformat(), **tried_as_document(tried)}
    RoundRater.objects.filter(pk=row.pk, admission__isnull=True).update(admission=admission)


def tell_admitted(row: RoundRater) -> None:
    """Writes into the inbox of a rater that the round gives them items now."""
    InboxLine.objects.get_or_create(
        member_id=row.rater_id, kind=InboxLine.Kind.ADMITTED, round=row.round, item=None, remark=None
    )


def tried_as_document(tried: TrainingResult) -> dict[str, Any]:
    """A try as it is kept with who was let in."""
    return {"round": tried.round.number, "n_items": tried.n_items, "n_right": tried.n_right}


def held_words(round_: Round, tried: TrainingResult | None) -> str:
    """What a rater reads who gets no items yet."""
    least = minimum_words(round_)
    if tried is None:
        had = "You have not labeled any calibration items yet."
    elif not tried.is_whole:
        had = f"You have labeled {tried.n_items} of {tried.n_asked} calibration items in round {tried.round.number}."
    else:
        had = (
            f"You labeled {tried.n_right} of {tried.n_items} calibration items correctly in round {tried.round.number}."
        )
    return (
        f"Round {round_.number} assigns other items to raters who reach its minimum on calibration items: "
        f"{least}. {had} The owner of the study can assign you other calibration items, or let you in."
    )


def read_minimum(tree: VersionTree, primary: Primary, given: object, fields: dict[str, list[str]]) -> Known | None:
    """The minimum on training items in the shape that is kept; None for nothing. What is wrong goes into `fields`.

    Coefficients are those of the study at that time, unless the request names others.
    """
    if given is None or given == {}:
        return None
    if not isinstance(given, Mapping) or set(given) - {"share", "dimensions"}:
        fields["gold_minimum"] = ['Send {"share": 0.8, "dimensions": {"key": 0.6}}, one of them or both, or null.']
        return None
    read: Known = {}
    if (share := given.get("share")) is not None:
        if _is_number(share) and 0 < share <= 1:
            read["share"] = float(share)
        else:
            fields["gold_minimum.share"] = ["Enter a share above 0, up to 1."]
    dimensions = given.get("dimensions") or {}
    if not isinstance(dimensions, Mapping):
        fields["gold_minimum.dimensions"] = ['Give {"key": 0.6}.']
        dimensions = {}
    for key, least in dimensions.items():
        if len(fields) >= FIELDS_MAX:
            break
        at = f"gold_minimum.dimensions.{key}"
        if key not in tree.by_key:
            fields[at] = [f"The version has no dimension “{key}”.{did_you_mean(str(key), tree.by_key)}"]
            continue
        name = primary_of(primary, key, tree.by_key[key].kind).get("coefficient")
        if isinstance(least, Mapping):
            name, least = least.get("coefficient", name), least.get("minimum")
        if name is None:
            fields[at] = [NOT_MEASURED]
        elif str(name) not in COEFFICIENTS:
            fields[at] = [f"There is no coefficient “{str(name)[:60]}”.{did_you_mean(str(name)[:60], COEFFICIENTS)}"]
        elif not _is_number(least) or not 0 < least <= 1:
            fields[at] = ["Enter a minimum above 0, up to 1."]
        else:
            read.setdefault("dimensions", {})[key] = {"coefficient": name, "minimum": float(least)}
    return read or None


def _is_number(given: object) -> bool:
    return isinstance(given, int | float) and not isinstance(given, bool)


def passed_gate(*, seat: Seat, round_: Round, reason: object) -> Known | None:
    """What is kept of the last pilot's advice with a main round that is being opened; None where there is none.

    Where the advice is to wait the round opens with a reason alone, which is kept. Raises Invalid, Conflict without a
    reason, and Blind for someone from whom something of that pilot is withheld.
    """
    if not isinstance(reason, str) or len(reason) > LONGEST_REASON:
        raise Invalid(
            "Round not opened.", fields={"reason": [f"Give a reason of at most {LONGEST_REASON} characters."]}
        )
    found = gate(seat) if round_.kind == Round.Kind.MAIN else None
    if found is None:
        return None
    if found.is_wait and not reason.strip():
        raise Conflict(
            f"Round {round_.number} was not opened. {found.sentence} To open it anyway, give a reason (`reason`).",
            code="against_gate",
            fields={"reason": ["Give the reason for opening the round although the pilot advises against it."]},
        )
    said = {
        "reason": reason.strip() if found.is_wait else "",
        "by": seat.user.username,
        "at": timezone.now().isoformat(),
    }
    return {**found.as_document(), **said}
