"""Scope of a plan: its rounds, the routes of their values, and the outcome of each category."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

from annotation.core.errors import Conflict
from annotation.labels.queries.label_version import label_version, labeled_rounds, standing_version
from annotation.models import Plan, Round, Study
from annotation.plans.category_outcomes import CategoryOutcome, NewQuestion, category_outcomes, new_questions
from taxonomy.migration import Route
from taxonomy.models import TaxonomyVersion
from taxonomy.queries import published_version, route
from taxonomy.tree import VersionTree


@dataclass(frozen=True)
class PlanScope:
    """What a move to a version rests on: the rounds whose labels it takes along, and the way from each version.

    `rounds` are neither drafts, nor open, nor undone, and their labels stand below the version; `full` are those of
    them that are no worklists.
    """

    study: Study
    to: TaxonomyVersion
    rounds: Sequence[Round]
    standing: TaxonomyVersion | None
    ways: dict[int, Route] = field(repr=False)
    trees: dict[int, VersionTree] = field(repr=False)
    tree: VersionTree = field(repr=False)

    @cached_property
    def full(self) -> list[Round]:
        return [each for each in self.rounds if each.kind != Round.Kind.RELABEL]

    @property
    def from_version(self) -> TaxonomyVersion:
        """The lowest version in whose terms labels stand."""
        return min((label_version(each, self.standing) for each in self.rounds), key=lambda each: each.number)

    @cached_property
    def outcomes(self) -> dict[int, CategoryOutcome]:
        """The outcome of each category by its id, for every version that labels were given under."""
        return {
            outcome.category.id: outcome
            for version_id, way in self.ways.items()
            for outcome in category_outcomes(self.trees[version_id], way, self.tree)
        }

    @cached_property
    def questions(self) -> list[tuple[int, NewQuestion]]:
        """(version id, question that its answers may lack)."""
        return [
            (version_id, question)
            for version_id, way in self.ways.items()
            for question in new_questions(self.trees[version_id], way, self.tree)
        ]

    @cached_property
    def gone(self) -> list[int]:
        """The ids of the questions that are not in the newer version, or are another there: nothing is followed."""
        return [
            dimension.id
            for version_id, way in self.ways.items()
            for dimension in self.trees[version_id].dimensions
            if (blocked := way.dimension_blocked(dimension.key)) and blocked.reason == "dimension"
        ]

    @cached_property
    def narrowed(self) -> list[int]:
        """The ids of the questions that took several answers and take one in the newer version."""
        return [
            dimension.id
            for version_id in self.ways
            for dimension in self.trees[version_id].dimensions
            if dimension.is_set
            and (after := self.tree.by_key.get(dimension.key)) is not None
            and after.takes_one_category
            and dimension.id not in self.gone
        ]

    def redefined(self) -> list[CategoryOutcome]:
        """The categories whose labels follow into a category that is defined otherwise."""
        return [each for each in self.outcomes.values() if each.is_redefined]


def plan_scope(study: Study, to: TaxonomyVersion) -> PlanScope:
    """What a move of the study to a version rests on; a few queries, whatever the size.

    Raises Conflict where there is nothing to move, or no mapping leads there.
    """
    standing = standing_version(study)
    rounds = [each for each in labeled_rounds([study.pk]) if label_version(each, standing).number < to.number]
    if not rounds:
        at = standing.number if standing else None
        raise Conflict(
            f"The study's labels are already mapped to version {at}."
            if at is not None and at >= to.number
            else f"No label of this study is below version {to.number}, so there is nothing to migrate. Rounds "
            "count once they are resolving or closed.",
            code="nothing_to_move",
        )
    ways: dict[int, Route] = {}
    for each in rounds:
        if each.taxonomy_version_id not in ways:
            way = route(each.taxonomy_version_id, to.pk)
            if way is None:
                raise Conflict(
                    f"Round {each.number} was labeled under version {each.taxonomy_version.number}, and no "
                    f"mapping leads from there to version {to.number}.",
                    code="no_mapping",
                )
            ways[each.taxonomy_version_id] = way
    trees = {version_id: published_version(version_id) for version_id in ways}
    return PlanScope(study, to, rounds, standing, ways, trees, published_version(to.pk))


def scope_of(plan: Plan) -> PlanScope:
    """The same for a plan as it is in the database."""
    return plan_scope(plan.study, plan.to_version)
