"""Precedents: earlier resolutions where raters differed on the same values."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from django.db.models import Exists, OuterRef

from annotation.core.access import Seat
from annotation.labels.consensus import PENDING, Values, Verdict
from annotation.labels.queries.label_version import way
from annotation.labels.queries.part_matches import matches_of
from annotation.models import Assignment, Rating, Resolution, ResolutionValue, Round
from annotation.models.assignment_kinds import CONSENSUS_RATERS
from annotation.resolving.queries.queue import clash_names, clashes
from taxonomy.migration import BlockedValue, Route
from taxonomy.queries import published_version
from taxonomy.tree import VersionTree

MOST_LOOKED_AT = 200
SHOWN = 8


@dataclass(frozen=True)
class Precedent:
    """An earlier decision on a pair; `values` in terms of the version at hand, `is_third`: neither of the pair."""

    resolution: Resolution
    values: Values
    is_third: bool


@dataclass(frozen=True)
class Precedents:
    """Those of a place, newest first, and how often each value won; None: a third one."""

    found: Sequence[Precedent]
    counted: Sequence[tuple[Values | None, int]]


def precedents(seat: Seat, round_: Round, item: int, verdict: Verdict) -> Precedents:
    """Decisions on the same dimension where one of the same pairs stood against each other; five queries at most.

    Of all rounds under the taxonomy that are being resolved or closed and that this person may see, the newest
    MOST_LOOKED_AT; categories of other versions are followed into the round's. None for a place without such a pair.
    """
    tree = published_version(round_.taxonomy_version_id)
    pairs = {pair for pair in clashes(tree, verdict) if "~" in pair}
    if not pairs or not tree.by_key[verdict.dimension].has_categories:
        return Precedents((), ())
    rows = _decided(seat, round_, item, verdict)
    if not rows:
        return Precedents((), ())
    ways = {each.round.taxonomy_version_id: way(each.round, round_.taxonomy_version) for each in rows}
    given, values = _given(rows), _values(rows)
    found = []
    for row in rows:
        route = ways[row.round.taxonomy_version_id]
        said = [
            _followed(route, verdict.dimension, each) for each in given.get((row.round_id, row.item_id, row.part), [])
        ]
        names = clash_names(tree.by_key[verdict.dimension], [each for each in said if each is not None])
        became = _followed(route, verdict.dimension, values.get(row.pk, ()))
        if pairs.isdisjoint(names) or became is None:
            continue
        sides = {side for pair in pairs & set(names) for side in pair.split("~")}
        found.append(Precedent(row, became, "+".join(sorted(map(str, became))) not in sides))
    counted = Counter(None if each.is_third else each.values for each in found)
    return Precedents(found, counted.most_common())


def _decided(seat: Seat, round_: Round, item: int, verdict: Verdict) -> list[Resolution]:
    """The newest standing decisions on the dimension under any version, but not that of the place at hand."""
    place = {name: OuterRef(name) for name in ("round", "item", "dimension", "part")}
    later = Resolution.objects.filter(revision__gt=OuterRef("revision"), **place)
    rounds = Round.objects.filter(
        study=seat.study,
        taxonomy_version__taxonomy=round_.taxonomy_version.taxonomy_id,
        state__in=(Round.State.OPEN, *Round.OVER),
    ).exclude(pk__in=seat.hidden_round_ids)
    rows = (
        Resolution.objects.filter(~Exists(later), seat.not_withheld(), round__in=rounds)
        .filter(dimension__key=verdict.dimension)
        .exclude(method=Resolution.Method.REOPENED)
        .exclude(no_part=True)
        .exclude(round=round_, item=item, part=verdict.part)
        .select_related("round__taxonomy_version", "item", "dimension", "decided_by")
        .order_by("-pk")
    )
    return list(rows[:MOST_LOOKED_AT])


def _values(rows: Sequence[Resolution]) -> dict[int, Values]:
    trees = {row.pk: published_version(row.round.taxonomy_version_id) for row in rows}
    dimensions = {row.pk: row.dimension_id for row in rows}
    found: dict[int, list[str]] = defaultdict(list)
    said = ResolutionValue.objects.filter(resolution__in=list(trees), category__isnull=False)
    for pk, category in said.values_list("resolution_id", "category_id"):
        assert category is not None
        found[pk].append(trees[pk].by_id[dimensions[pk]].by_id[category].key)
    return {pk: tuple(sorted(values)) for pk, values in found.items()}


def _given(rows: Sequence[Resolution]) -> Mapping[tuple[int, int, int], list[Values]]:
    """What raters say now at the places of decisions, by round, item and part; three queries."""
    trees: dict[int, VersionTree] = {row.round_id: published_version(row.round.taxonomy_version_id) for row in rows}
    dimensions = {row.dimension_id for row in rows}
    wanted = {(row.round_id, row.item_id, row.part) for row in rows}
    answers = Assignment.objects.filter(
        CONSENSUS_RATERS,
        round__in=list(trees),
        item__in={row.item_id for row in rows},
        state=Assignment.State.SUBMITTED,
    )
    annotations = list(answers.values_list("current_id", flat=True))
    matched = matches_of([pk for pk in annotations if pk is not None])
    ratings = Rating.objects.filter(annotation__in=annotations, dimension__in=dimensions)
    found: dict[tuple[int, int, int], dict[int, list[str]]] = defaultdict(lambda: defaultdict(list))
    for annotation, round_id, item, part, dimension, category, proposal in ratings.values_list(
        "annotation_id", "round_id", "item_id", "part", "dimension_id", "category_id", "proposal_id"
    ):
        place = (round_id, item, matched.get(annotation, {}).get(part, part))
        if place not in wanted:
            continue
        said = found[place][annotation]
        if proposal is not None:
            said.append(PENDING)
        elif category is not None:
            said.append(trees[round_id].by_id[dimension].by_id[category].key)
    return {place: [tuple(sorted(each)) for each in by.values()] for place, by in found.items()}


def _followed(route: Route | None, dimension: str, values: Values) -> Values | None:
    if route is None:
        return None
    became = route.values(dimension, values, free=[PENDING])
    return None if isinstance(became, BlockedValue) else tuple(sorted(became, key=str))
