"""Resolutions of disagreements: resolve and reopen; every resolution is appended."""

from django.db import transaction
from django.utils import timezone

from annotation.assignments.actions.third_raters import withdraw_where_settled
from annotation.choosing.actions.screening_rounds import screen_by_round
from annotation.core.access import ADJUDICATOR, OWNER, Seat, hold_state
from annotation.core.audit import record
from annotation.core.errors import Invalid, NotFound, Stale, WrongState
from annotation.labels.answers import read_decision
from annotation.labels.queries.answers_in_parts import answers_in_parts
from annotation.labels.queries.resolution_facts import arbiters_of, changed_arbiters_of, is_discussed
from annotation.labels.queries.verdicts import ItemVerdicts, resolution_values, round_verdicts
from annotation.labels.resolution_methods import STATED, contradiction
from annotation.labels.resolution_notes import NOTES, ResolutionNotes, notes_of
from annotation.labels.resolution_options import decided_by
from annotation.labels.value_rows import value_columns
from annotation.models import Item, Resolution, ResolutionValue, Round, RoundItem
from annotation.resolving.actions.meetings import attach, read_meeting
from taxonomy.queries import published_version
from taxonomy.tree import VersionTree

NOT_TAKEN = "Disagreement not resolved."
NOT_REOPENED = "Resolution not reopened."


@transaction.atomic
def resolve(
    *,
    seat: Seat,
    round_: Round,
    item: Item,
    part: int,
    dimension: str,
    values: object,
    method: str = "",
    expected: object = None,
    meeting: object = None,
    no_part: bool | None = None,
    **notes: str,
) -> Resolution:
    """Appends the decision on one part and dimension of an item.

    `values` are as in an answer: a list of keys, or a JSON scalar (alone or in a list); an empty list says that the
    part has no value there. `no_part` says that the part does not exist, which settles all its dimensions; so does an
    empty list where the raters found different numbers of parts, except of a set. Without a `method` it is `discussion`
    where the remarks show one, else `adjudicator`; a stated one has to agree with the answers, remarks and roles.
    `meeting` is as in `meetings.read_meeting`. `expected` is the public ID of the resolution that the adjudicator saw,
    None for none: raises Stale with the newer one where someone was quicker. `notes` are those of `ResolutionNotes`.
    Raises Invalid with the fields, Blind, Forbidden, WrongState.
    """
    standing = hold_item(seat, round_, item)
    tree = published_version(round_.taxonomy_version_id)
    fields: dict[str, list[str]] = {}
    if dimension not in tree.by_key:
        raise Invalid(NOT_TAKEN, fields={"dimension": [f"Dimension “{dimension}” not found."]})
    read = read_decision(tree.by_key[dimension], values, "values", fields)
    if no_part and read:
        fields["values"] = ["A part that does not exist has no values. Omit `values`."]
    if method and method not in STATED:
        fields["method"] = [f"Choose one of {', '.join(STATED)}, or omit it."]
    stated = ResolutionNotes(**notes)
    _check_notes(stated, fields)
    _check_place(standing, part, dimension, tree.by_key[dimension].title, fields)
    held_in = read_meeting(seat, round_, meeting, fields)
    if fields:
        raise Invalid(NOT_TAKEN, fields=fields)
    verdict = next(each for each in standing.verdicts if (each.part, each.dimension) == (part, dimension))
    is_set = tree.by_key[dimension].is_set
    no_part = no_part or (verdict.reason == "parts" and not read and not is_set)
    if no_part and all(part in each.agreed for each in answers_in_parts(round_, tree, item)):
        sentence = f"All raters found part {part}, so it can’t be resolved as one that does not exist."
        raise Invalid(NOT_TAKEN, fields={"no_part": [sentence]})
    discussed = is_discussed(round_, item.pk, part, tree.by_key[dimension].id, timezone.now())
    if method:
        asked, changed = (of(round_, [item.pk]).get(item.pk, set()) for of in (arbiters_of, changed_arbiters_of))
        blind_arbiters = asked - changed
        why = contradiction(
            method,
            read,
            verdict.ratings,
            blind_arbiters,
            is_owner=seat.has_role(OWNER),
            is_discussed=discussed or held_in is not None,
        )
        if why:
            raise Invalid(NOT_TAKEN, fields={"method": [why]})
    newest = _newest(round_, item, part, tree.by_key[dimension].id)
    _check_seen(newest, expected, tree)
    resolution = Resolution.objects.create(
        round=round_,
        item=item,
        part=part,
        dimension_id=tree.by_key[dimension].id,
        revision=newest.revision + 1 if newest else 1,
        method=method or (Resolution.Method.DISCUSSION if discussed else Resolution.Method.ADJUDICATOR),
        no_part=bool(no_part),
        decided_by=seat.user,
        **stated.stripped().columns(),
    )
    ResolutionValue.objects.bulk_create(
        ResolutionValue(resolution=resolution, **columns)
        for columns in value_columns(tree.by_key[dimension], read)
        if columns
    )
    if held_in is not None:
        attach(seat, round_, held_in, [resolution.pk])
    n_withdrawn = withdraw_where_settled(round_, [item.pk])
    _record(seat, "resolved", resolution, dimension, **{"third_raters_withdrawn": n_withdrawn} if n_withdrawn else {})
    screen_by_round(seat=seat, round_=round_, items=[item.pk])
    return resolution


@transaction.atomic
def reopen(
    *, seat: Seat, round_: Round, item: Item, part: int, dimension: str, expected: object = None, **notes: str
) -> Resolution:
    """Takes a decision back: what stood is kept in the history and counts no more, and the place is judged anew.

    It is a revision without values. The study's rules don't decide the place again. `expected` and `notes` are as in
    `resolve`. Raises Invalid with the fields, Stale, Blind, Forbidden, WrongState.
    """
    hold_item(seat, round_, item)
    tree = published_version(round_.taxonomy_version_id)
    fields: dict[str, list[str]] = {}
    stated = ResolutionNotes(**notes)
    _check_notes(stated, fields)
    if dimension not in tree.by_key:
        fields["dimension"] = [f"Dimension “{dimension}” not found."]
    if fields:
        raise Invalid(NOT_REOPENED, fields=fields)
    newest = _newest(round_, item, part, tree.by_key[dimension].id)
    _check_seen(newest, expected, tree)
    if newest is None or newest.method == Resolution.Method.REOPENED:
        raise Invalid(NOT_REOPENED, fields={"dimension": ["There is no resolution to reopen."]})
    resolution = Resolution.objects.create(
        round=round_,
        item=item,
        part=part,
        dimension_id=newest.dimension_id,
        revision=newest.revision + 1,
        method=Resolution.Method.REOPENED,
        decided_by=seat.user,
        **stated.stripped().columns(),
    )
    _record(seat, "reopened", resolution, dimension)
    return resolution


def hold_item(seat: Seat, round_: Round, item: Item) -> ItemVerdicts:
    """How the item stands, which stays so until the commit: whoever decides on it meanwhile waits, or ends the round.

    `round_` is given the state that it has now. Raises NotFound, Forbidden, Blind, and WrongState where decisions are
    not taken.
    """
    seat.require(ADJUDICATOR, OWNER)
    seat.require_sight_of(round_, item)
    round_.state = state = hold_state(round_.pk) or round_.state
    seat.require_again()
    places = RoundItem.objects.filter(round=round_, item=item, known__isnull=True)
    if (place := places.select_for_update().first()) is None:
        raise NotFound(f"{item.identifier} is not in round {round_.number}.")
    if place.excluded:
        raise WrongState(
            f"{item.identifier} is screened out, and this study excludes such items. Screen it in first, or have the "
            "study keep them (Settings)."
        )
    standing = _standing(round_, item)
    if state in (Round.State.DRAFT, Round.State.UNDONE) or (
        state == Round.State.OPEN and not (seat.study.is_resolved_by_item and standing.is_complete)
    ):
        when = "" if state == Round.State.UNDONE else ". Disagreements can be resolved when its raters have finished"
        raise WrongState(f"Round {round_.number} is {state}{when}.")
    return standing


def _record(seat: Seat, verb: str, resolution: Resolution, dimension: str, **more: object) -> None:
    record(
        study=seat.study,
        user=seat.user,
        verb=verb,
        round=resolution.round.number,
        item=resolution.item.identifier,
        part=resolution.part,
        dimension=dimension,
        **more,
    )


def _check_notes(notes: ResolutionNotes, fields: dict[str, list[str]]) -> None:
    for name, words in notes.columns().items():
        if len(words) > NOTES[name].longest:
            fields[name] = [f"The {NOTES[name].title} has at most {NOTES[name].longest} characters."]


def _check_seen(newest: Resolution | None, expected: object, tree: VersionTree) -> None:
    """Raises Stale unless this is what the adjudicator saw; a place that was reopened may be taken for undecided."""
    if (newest is None or newest.method == Resolution.Method.REOPENED) and expected in (None, ""):
        return
    if newest is None or Resolution.number_of(expected) != newest.pk:
        raise _stale(newest, tree)


def _standing(round_: Round, item: Item) -> ItemVerdicts:
    return next(iter(round_verdicts(round_, items=[item.pk])))


def _check_place(standing: ItemVerdicts, part: int, dimension: str, title: str, fields: dict[str, list[str]]) -> None:
    """A decision needs a part that someone gave and a dimension that applies and hangs on nothing open."""
    parts = {verdict.part for verdict in standing.verdicts}
    if part not in parts:
        fields["part"] = [f"The item has no part {part}. Its raters labeled {len(parts)}."]
    elif not any(verdict.part == part and verdict.dimension == dimension for verdict in standing.verdicts):
        fields["dimension"] = [
            f"“{title}” can't be resolved here: nobody labeled it, it does not apply, it depends on an open "
            "one, or the part was resolved as one that does not exist."
        ]


def _newest(round_: Round, item: Item, part: int, dimension_id: int) -> Resolution | None:
    return (
        Resolution.objects.select_related("decided_by")
        .filter(round=round_, item=item, part=part, dimension=dimension_id)
        .order_by("-revision")
        .first()
    )


def _stale(newest: Resolution | None, tree: VersionTree) -> Stale:
    if newest is None:
        return Stale("Resolution not found. Reload the page.", newer={})
    who = decided_by(newest.method, newest.decided_by.told_name if newest.decided_by else "")
    verb = "reopened" if newest.method == Resolution.Method.REOPENED else "decided"
    return Stale(
        f"{who} {verb} this after you opened it. Review it before you change it.",
        newer={
            "id": newest.public_id,
            "values": list(resolution_values(tree, [newest]).get(newest.pk, ())),
            "no_part": newest.no_part,
            "method": newest.method,
            **notes_of(newest).columns(),
            "decided_by": who,
        },
    )
