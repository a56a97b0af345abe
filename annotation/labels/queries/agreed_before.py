"""Labels agreed before a relabeling queue, mapped to its version."""

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from annotation.labels.consensus import PENDING, Base, Origin, Place, RaterValues, Values, Verdict
from annotation.labels.queries.label_version import way
from annotation.models import Round, RoundItem
from taxonomy.migration import BlockedValue, Route
from taxonomy.queries import published_version
from taxonomy.tree import VersionTree

if TYPE_CHECKING:
    from annotation.labels.queries.verdicts import ItemVerdicts

Reading = Callable[..., "Iterator[ItemVerdicts]"]


def base_verdicts(round_: Round, items: Sequence[RoundItem], read: Reading) -> dict[int, Base]:
    """Per item id what was agreed on the items of a worklist before it; none for items asked as a whole.

    That is how the item stands in its newest round before the worklist that is over, followed into the worklist's
    version; what such a round carried on itself is carried further. Only a round that is over counts, so that nobody
    reads in a worklist what they are blind for. `read` is `round_verdicts`. Cost: no query for a
    round of another kind, else one, and for each such round those of `round_verdicts`.
    """
    if round_.kind != Round.Kind.RELABEL:
        return {}
    asked = {row.item_id: frozenset((part, key) for part, key in row.asked) for row in items if row.asked is not None}
    earlier = (
        RoundItem.objects.counting()
        .filter(item__in=list(asked), round__number__lt=round_.number, round__state__in=Round.OVER)
        .exclude(round__kind=Round.Kind.SCREENING)
        .order_by("item_id", "-round__number")
        .distinct("item_id")
        .select_related("round__taxonomy_version")
    )
    rounds: dict[int, Round] = {}
    by_round: dict[int, list[int]] = defaultdict(list)
    for row in earlier:
        rounds[row.round_id] = row.round
        by_round[row.round_id].append(row.item_id)
    tree = published_version(round_.taxonomy_version_id)
    found: dict[int, Base] = {}
    for pk, item_ids in by_round.items():
        route = way(rounds[pk], round_.taxonomy_version)
        old = published_version(rounds[pk].taxonomy_version_id)
        new = frozenset(
            key for key in tree.by_key if key not in old.by_key or (route is not None and _was_gone(route, key))
        )
        for each in read(rounds[pk], items=item_ids):
            item_id = each.round_item.item_id
            if each.is_complete:
                found[item_id] = _base(rounds[pk], route, tree, each.verdicts, asked[item_id], new)
    return found


def _base(
    round_: Round,
    route: Route | None,
    tree: VersionTree,
    standing: Sequence[Verdict],
    asked: frozenset[Place],
    new: frozenset[str],
) -> Base:
    carried: dict[Place, Verdict] = {}
    before: dict[Place, Verdict] = {}
    others: dict[Place, list[RaterValues]] = {}
    unsettled: set[Place] = set()
    for verdict in standing:
        place = (verdict.part, verdict.dimension)
        if place in asked and verdict.decision is None:
            ratings = _followed_ratings(route, tree, verdict)
            others[place] = [each for each in ratings if each.values is not None and PENDING not in each.values]
        if verdict.state == "open":
            unsettled.add(place)
            continue
        followed = _followed(route, tree, verdict.dimension, verdict.values)
        is_blocked = isinstance(followed, BlockedValue) or followed is None
        stood = _carried(round_, route, tree, verdict, None if is_blocked else followed)
        if verdict.values is not None:
            before[place] = stood
        if is_blocked and verdict.values is not None and verdict.dimension not in new:
            unsettled.add(place)
        elif place not in asked and verdict.dimension in tree.by_key:
            carried[place] = stood
    return Base(
        carried=carried,
        asked=asked,
        unsettled=frozenset(unsettled),
        new=new,
        n_parts=max((verdict.part for verdict in standing), default=0),
        before=before,
        others=others,
    )


def _was_gone(route: Route, dimension: str) -> bool:
    """Whether a question was taken away on the way: one of the same key is another."""
    blocked = route.dimension_blocked(dimension)
    return blocked is not None and blocked.reason == "dimension"


def _carried(round_: Round, route: Route | None, tree: VersionTree, verdict: Verdict, values: Values | None) -> Verdict:
    """A verdict as it stands in the worklist: its values and those of its raters followed, its origin kept."""
    origin = verdict.origin or Origin(
        round=round_.number,
        version=round_.taxonomy_version.number,
        version_id=round_.taxonomy_version_id,
        raters=tuple(rating.rater for rating in verdict.ratings if rating.values is not None),
        values=verdict.values or (),
        label=round_.label,
        kind=round_.kind,
    )
    ratings = _followed_ratings(route, tree, verdict)
    decision = verdict.decision and replace(verdict.decision, values=values or ())
    return replace(verdict, reason=None, values=values, ratings=ratings, decision=decision, origin=origin)


def _followed_ratings(route: Route | None, tree: VersionTree, verdict: Verdict) -> list[RaterValues]:
    return [replace(rating, values=_given(route, tree, verdict.dimension, rating)) for rating in verdict.ratings]


def _given(route: Route | None, tree: VersionTree, dimension: str, rating: RaterValues) -> Values | None:
    followed = _followed(route, tree, dimension, rating.values)
    return None if isinstance(followed, BlockedValue) else followed


def _followed(route: Route | None, tree: VersionTree, dimension: str, values: Values | None) -> Any:
    """Values in terms of the worklist's version; None where there were none, or no way leads there."""
    if values is None or route is None or dimension not in tree.by_key:
        return None
    return route.values(dimension, values, free=[PENDING])
