"""Deciding where raters differed; every decision is appended beside the answers."""

from django.db import transaction

from annotation.access import ADJUDICATOR, OWNER, Seat
from annotation.actions.rows import value_columns
from annotation.actions.studies import record
from annotation.answers import read_decided
from annotation.errors import Invalid, NotFound, Stale, WrongState
from annotation.models import Item, Resolution, ResolutionValue, Round, RoundItem, Study
from annotation.queries.verdicts import ItemVerdicts, resolution_values, round_verdicts
from taxonomy.queries import published_version
from taxonomy.tree import VersionTree

LONGEST_RATIONALE = 20_000
BY_HAND = (
    Resolution.Method.DISCUSSION,
    Resolution.Method.THIRD_RATER,
    Resolution.Method.MAJORITY,
    Resolution.Method.OWNER,
)


@transaction.atomic
def resolve(
    *,
    seat: Seat,
    round_: Round,
    item: Item,
    part: int,
    dimension: str,
    values: object,
    method: str = Resolution.Method.DISCUSSION,
    rationale: str = "",
    expected: object = None,
) -> Resolution:
    """Appends the decision on one part and dimension of an item.

    `values` are as in an answer: a list of keys, or a JSON scalar (alone or in a list); an empty list says that the
    part has no value there. `expected` names the resolution that the adjudicator saw, None for none: raises Stale with
    the newer one where somebody was quicker. Raises Invalid with the fields, Blind, Forbidden, WrongState.
    """
    seat.require(ADJUDICATOR, OWNER)
    seat.require_sight(round_)
    round_item = RoundItem.objects.select_for_update().filter(round=round_, item=item).first()
    if round_item is None:
        raise NotFound(f"{item.identifier} is not in round {round_.number}.")
    state = Round.objects.values_list("state", flat=True).get(pk=round_.pk)
    standing = _standing(round_, item)
    if state in (Round.State.DRAFT, Round.State.UNDONE) or (
        state == Round.State.OPEN and not (seat.study.resolve_when == Study.ResolveWhen.ITEM and standing.is_complete)
    ):
        when = "" if state == Round.State.UNDONE else "; decisions are taken when its raters are done"
        raise WrongState(f"Round {round_.number} is {state}{when}.")
    tree = published_version(round_.taxonomy_version_id)
    fields: dict[str, list[str]] = {}
    if dimension not in tree.by_key:
        raise Invalid("The decision could not be taken.", fields={"dimension": [f"There is no “{dimension}”."]})
    read = read_decided(tree.by_key[dimension], values, "values", fields)
    if method not in BY_HAND:
        fields["method"] = [f"Choose one of {', '.join(BY_HAND)}."]
    if not isinstance(rationale, str) or len(rationale) > LONGEST_RATIONALE:
        fields["rationale"] = [f"The rationale is text of at most {LONGEST_RATIONALE} characters."]
    _check_place(standing, part, dimension, tree.by_key[dimension].title, fields)
    if fields:
        raise Invalid("The decision could not be taken.", fields=fields)
    newest = _newest(round_, item, part, tree.by_key[dimension].id)
    if str(newest.pk if newest else "") != str(expected if expected is not None else ""):
        raise _stale(newest, tree)
    resolution = Resolution.objects.create(
        round=round_,
        item=item,
        part=part,
        dimension_id=tree.by_key[dimension].id,
        revision=newest.revision + 1 if newest else 1,
        method=method,
        rationale=rationale.strip(),
        decided_by=seat.user,
    )
    ResolutionValue.objects.bulk_create(
        ResolutionValue(resolution=resolution, **columns)
        for columns in value_columns(tree.by_key[dimension], read)
        if columns
    )
    record(
        study=seat.study,
        user=seat.user,
        verb="resolved",
        round=round_.number,
        item=item.identifier,
        part=part,
        dimension=dimension,
    )
    return resolution


def _standing(round_: Round, item: Item) -> ItemVerdicts:
    return next(iter(round_verdicts(round_, items=[item.pk])))


def _check_place(
    standing: ItemVerdicts, part: object, dimension: str, title: str, fields: dict[str, list[str]]
) -> None:
    """A decision needs a part that somebody gave and a dimension that applies and hangs on nothing open."""
    parts = {verdict.part for verdict in standing.verdicts}
    if isinstance(part, bool) or not isinstance(part, int) or part not in parts:
        fields["part"] = [f"The item has no part {part}; its raters gave {len(parts)}."]
    elif not any(verdict.part == part and verdict.dimension == dimension for verdict in standing.verdicts):
        fields["dimension"] = [
            f"“{title}” is not to be decided here: nobody answered it, it does not apply, or it hangs on an open one."
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
        return Stale("There is no such decision (yet); look again.", newer={})
    who = newest.decided_by.username if newest.decided_by else "an import"
    return Stale(
        f"{who} decided this meanwhile; look at that decision before you change it.",
        newer={
            "id": str(newest.pk),
            "values": list(resolution_values(tree, [newest]).get(newest.pk, ())),
            "method": newest.method,
            "rationale": newest.rationale,
            "decided_by": who,
        },
    )
