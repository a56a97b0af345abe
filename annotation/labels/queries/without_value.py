"""Labels without a value in the version to which a plan moved the study; computed, never stored."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from django.core.cache import cache
from django.db.models import Max, Q, QuerySet

from annotation.core.access import ADJUDICATOR, OWNER, Seat
from annotation.labels.consensus import Values
from annotation.labels.queries.label_version import label_version, labeled_rounds, standing_plan
from annotation.labels.queries.rows import mapped_verdicts, settled_here, settled_verdicts
from annotation.labels.queries.verdicts import round_verdicts
from annotation.labels.queries.version_mapping import VersionMapping
from annotation.models import Annotation, PartMatch, Plan, Rating, Resolution, ResolutionValue, Round, RoundItem
from taxonomy.migration import BlockedValue
from taxonomy.models import TaxonomyVersion
from taxonomy.queries import published_version

KEPT_SECONDS = 3600


@dataclass(frozen=True)
class LabelWithoutValue:
    """A label that has no value in the newest version: what was agreed, in terms of which version, and why not."""

    item_id: int
    item: str
    part: int
    dimension: str
    values: Values
    version_id: int
    why: str


def without_value(seat: Seat, plan: Plan) -> Iterator[LabelWithoutValue]:
    """The labels that have no value in the version of the plan by which the study's labels stand, round by round.

    Labels of questions that are gone are not among them. Cost: the judging of the items on which a rater or a decision
    named what can't be followed, and of those of worklists.
    """
    rounds = [each for each in labeled_rounds([seat.study.pk]) if each.pk not in seat.hidden_round_ids]
    return (label for each in rounds for label in _in_round(seat, each, rounds, plan.to_version))


def n_without_value(seat: Seat, plan: Plan) -> int:
    """How many labels have none, kept until anything that labels rest on changes; five queries."""
    rounds = [each for each in labeled_rounds([seat.study.pk]) if each.pk not in seat.hidden_round_ids]
    decided = Resolution.objects.filter(round__in=rounds).aggregate(newest=Max("pk"))["newest"]
    answered = Annotation.objects.filter(assignment__round__in=rounds).aggregate(newest=Max("pk"))["newest"]
    matched = PartMatch.objects.filter(annotation__assignment__round__in=rounds).aggregate(newest=Max("pk"))["newest"]
    n_counting = RoundItem.objects.counting().filter(round__in=rounds).count()
    states = ",".join(f"{each.pk}{each.state}" for each in rounds)
    name = f"{plan.pk}:{decided}:{answered}:{matched}:{n_counting}:{states}:{sorted(seat.withheld)}"
    kept = cache.get(hashed := f"without-value:{sha256(name.encode()).hexdigest()}")
    if kept is None:
        kept = sum(1 for _ in without_value(seat, plan))
        cache.set(hashed, kept, KEPT_SECONDS)
    return int(kept)


def n_lost_labels(seat: Seat) -> tuple[Plan, int] | None:
    """For who resolves, how many labels have no value in the version at which they stand, and by which plan."""
    plan = standing_plan(seat.study) if seat.has_role(OWNER, ADJUDICATOR) else None
    n = n_without_value(seat, plan) if plan is not None else 0
    return (plan, n) if plan is not None and n else None


def _in_round(
    seat: Seat, round_: Round, rounds: Sequence[Round], standing: TaxonomyVersion
) -> Iterator[LabelWithoutValue]:
    version_mapping = VersionMapping(label_version(round_, standing))
    items = settled_here(round_, rounds).filter(item__in=_candidates(round_, version_mapping))
    for each in round_verdicts(round_, items=items):
        if (round_.pk, each.round_item.item_id) in seat.withheld:
            continue
        for verdict, told in mapped_verdicts(round_, settled_verdicts(round_, each), version_mapping):
            if not isinstance(told, str) or verdict.dimension not in version_mapping.tree.by_key:
                continue
            origin = verdict.origin
            yield LabelWithoutValue(
                item_id=each.round_item.item_id,
                item=each.identifier,
                part=verdict.part,
                dimension=verdict.dimension,
                values=origin.values if origin else verdict.values or (),
                version_id=origin.version_id if origin else round_.taxonomy_version_id,
                why=told,
            )


def _candidates(round_: Round, version_mapping: VersionMapping) -> QuerySet[Any, Any]:
    """The items of a round of which a label may have no value: all of a worklist, else those that name what is gone."""
    if round_.kind == Round.Kind.RELABEL:
        return RoundItem.objects.filter(round=round_).values("item")
    old, way = published_version(round_.taxonomy_version_id), version_mapping.route(round_.taxonomy_version_id)
    if way is None or version_mapping.version.pk == round_.taxonomy_version_id:
        return RoundItem.objects.none().values("item")
    here = [each for each in old.dimensions if each.key in version_mapping.tree.by_key]
    categories = [
        category.id
        for each in here
        for category in each.categories
        if isinstance(way.follow(each.key, category.key), BlockedValue)
    ]
    dimensions = [
        each.id
        for each in here
        if way.dimension_blocked(each.key) or (each.is_set and not version_mapping.tree.by_key[each.key].is_set)
    ]
    given = Rating.objects.filter(Q(category__in=categories) | Q(dimension__in=dimensions), round=round_)
    decided = ResolutionValue.objects.filter(
        Q(category__in=categories) | Q(resolution__dimension__in=dimensions), resolution__round=round_
    )
    either = Q(item__in=given.values("item")) | Q(item__in=decided.values("resolution__item"))
    return RoundItem.objects.filter(either, round=round_).values("item")
