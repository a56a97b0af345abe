"""Patterns of a dimension over several rounds, for the options of a request."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeVar

from agreement import VARIABLES, Clusters, Patterns, Weights, weights_over
from annotation.agreement_report.queries.exclusions import n_excluded
from annotation.agreement_report.queries.headline import items_of_several_units
from annotation.agreement_report.queries.mapped_patterns import MappedDimension
from annotation.agreement_report.queries.patterns import (
    DOES_NOT_APPLY,
    PatternRow,
    Slice,
    Value,
    n_units,
    patterns,
    patterns_by_item,
)
from annotation.core.access import Seat
from annotation.core.errors import Invalid
from annotation.core.member_lists import code_order
from annotation.labels.consensus import PENDING
from annotation.labels.queries.cached_statistics import Standing, cached, standings
from annotation.labels.queries.label_version import way
from annotation.models import Membership, Round
from taxonomy.migration import Route
from taxonomy.models import TaxonomyVersion
from taxonomy.queries import published_version
from taxonomy.tree import TreeCategory, TreeDimension

T = TypeVar("T")
CHOICES = {
    "when": ("before", "after"),
    "parts": ("aligned", "single"),
    "pending": ("category", "left_out"),
    "applies": ("both", "either"),
    "level": ("leaf", "parent", "root"),
}
OFF_SCALE = (PENDING, DOES_NOT_APPLY)
"""Values that are no level of an ordinal dimension."""
WEIGHTS = ("linear", "quadratic")
"""What weighted kappa and AC2 can be asked with by name."""


@dataclass(frozen=True)
class AgreementQuery:
    """What agreement was asked for: each round in its own version, or all in terms of `version`.

    `raters` are the codes of the two whose ratings alone count; `fixed` is what the study fixed for a dimension
    (metric, weights), which holds where nothing else was asked for, as does `applies_there`. `keeps_out`: the study
    keeps items that are screened out. Invalid tells what can't be asked.
    """

    dimension: str | None = None
    level: str = "leaf"
    metric: str | None = None
    weights: str | None = None
    resamples: int = 1000
    slice: Slice = field(default_factory=Slice)
    raters: tuple[str, ...] = ()
    version: TaxonomyVersion | None = None
    fixed: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    applies_there: str = "both"
    keeps_out: bool = False

    @classmethod
    def read(cls, given: dict[str, str]) -> "AgreementQuery":
        """From the words of an address or command; blank ones are left at their defaults.

        What has to be looked up in the study (repository, stratum, raters) is for `options.ask`.
        """
        fields = {
            name: [f"Write {' or '.join(choices)}."]
            for name, choices in CHOICES.items()
            if given.get(name) and given[name] not in choices
        }
        metrics = sorted({metric for each in VARIABLES.values() for metric in each.metrics})
        if given.get("metric") and given["metric"] not in metrics:
            fields["metric"] = [f"Use one of {', '.join(metrics)}."]
        if given.get("weights") and given["weights"] not in WEIGHTS:
            fields["weights"] = [f"Write {' or '.join(WEIGHTS)}."]
        if fields:
            raise Invalid("Agreement request not valid.", fields=fields)
        words: dict[str, Any] = {
            name: given[name] for name in ("when", "parts", "pending", "applies") if given.get(name)
        }
        return cls(
            dimension=given.get("dimension") or None,
            level=given.get("level") or "leaf",
            metric=given.get("metric") or None,
            weights=given.get("weights") or None,
            slice=Slice(**words),
        )


@dataclass(frozen=True)
class RoundPatterns:
    """The rating patterns of a dimension in one round, at the level asked for, and how many units were left out.

    `told` leads from the round's own version to `dimension`; `lost` counts the ratings that can't be told there, by
    category and reason. The database is asked when one of them is read: one query, two where ratings are left out by
    choice.
    """

    round: Round
    told: MappedDimension
    asked: AgreementQuery
    n_answers: int = 0
    _units: dict[tuple[int, ...], list[tuple[int, PatternRow]]] = field(default_factory=dict, compare=False)

    @property
    def dimension(self) -> TreeDimension:
        return self.told.dimension

    @property
    def rows(self) -> Sequence[PatternRow]:
        return self._counted[0]

    @property
    def n_left_out(self) -> int:
        return self._counted[1]

    @property
    def lost(self) -> Mapping[tuple[str, str], int]:
        return self._counted[2]

    @property
    def own_rows(self) -> Sequence[PatternRow]:
        """The patterns in the round's own version, as they were given."""
        return self._counted[3]

    def rows_of(self, items: Sequence[int]) -> list[tuple[int, PatternRow]]:
        """The unit of each part of these items as a pattern that occurs once, told and lifted as asked; one query."""
        if (key := tuple(items)) not in self._units:
            tree = published_version(self.round.taxonomy_version_id)
            found = patterns_by_item(self.round.pk, tree, self.told.own, self.asked.slice, items)
            self._units[key] = [
                (item, each)
                for item, row in found
                for each in at_level(self.told.dimension, self.told.rows([row])[0], self.asked.level)
            ]
        return self._units[key]

    @cached_property
    def left_out_because(self) -> Mapping[str, int]:
        """How many units are not compared, by reason; a query where there are any."""
        alone = sum(row.n for row in self.own_rows if len(row.raters) < 2)
        told = sum(row.n for row in self.own_rows if len(row.raters) > 1 and len(self.told.row(row).raters) < 2)
        found = {"unmapped": told} if told else {}
        if alone or self.n_chosen_out:
            tree = published_version(self.round.taxonomy_version_id)
            found |= n_excluded(self.round.pk, tree, self.told.own, self.asked.slice)
        return found

    @property
    def n_chosen_out(self) -> int:
        """The units that are left out by choice whole."""
        return self._counted[4]

    @cached_property
    def _counted(self) -> tuple[Sequence[PatternRow], int, Mapping[tuple[str, str], int], Sequence[PatternRow], int]:
        tree, own, part = published_version(self.round.taxonomy_version_id), self.told.own, self.asked.slice
        here = patterns(self.round.pk, tree, own, part, n_answers=self.n_answers)
        n_left_out = 0
        if part != (whole := part.whole):
            n_left_out = n_units(patterns(self.round.pk, tree, own, whole, n_answers=self.n_answers)) - n_units(here)
        rows, n_lost = self.told.rows(here)
        lifted = at_level(self.told.dimension, rows, self.asked.level)
        return lifted, n_left_out + n_lost, self.told.lost(here), here, n_left_out


@dataclass(frozen=True)
class DimensionPatterns:
    """A dimension, as the version asked for or the newest one says, with its patterns in each round that has it.

    `astray` are the rounds from whose version no mapping leads to the one asked for; `standing` is what had come to
    count in each round before its patterns were read. `is_headline`: the rounds are the study's headline set.
    `several` are the items of several units by rounds, as far as they were read.
    """

    dimension: TreeDimension
    counted: Sequence[RoundPatterns]
    astray: Sequence[Round] = ()
    standing: Mapping[int, Standing] = field(default_factory=dict)
    is_headline: bool = False
    several: dict[tuple[int, ...], list[int]] = field(default_factory=dict, compare=False)

    def only(self, rounds: Sequence[Round]) -> "DimensionPatterns":
        """The same in some of the rounds."""
        wanted = {round_.pk for round_ in rounds}
        return DimensionPatterns(
            self.dimension,
            [each for each in self.counted if each.round.pk in wanted],
            [each for each in self.astray if each.pk in wanted],
            self.standing,
            several=self.several,
        )

    @property
    def items_of_several_units(self) -> list[int]:
        """The items that have several units here, in parts or in several rounds; read once for all dimensions."""
        rounds = [each.round for each in self.counted]
        key = tuple(each.pk for each in rounds)
        if key not in self.several:
            self.several[key] = items_of_several_units(rounds)
        return self.several[key]

    def kept(
        self,
        what: str,
        question: object,
        compute: Callable[[], T],
        *,
        also: object = None,
        classes: Sequence[type] = (),
    ) -> T:
        """What `compute` makes of these patterns, or made of them before where it still holds; as `kept.kept`.

        `question` is all that it is asked with beyond the dimension and its rounds. Nothing is kept of a stratum: which
        items were drawn from it does not hang on answers.
        """
        if any(each.asked.slice.stratum for each in self.counted):
            return compute()
        rounds = [each.round for each in self.counted]
        versions = [each.told.dimension.id for each in self.counted]
        asked = (self.dimension.id, versions, [each.pk for each in self.astray], self.is_headline, question)
        return cached(what, rounds, self.standing, asked, compute, also=also, classes=classes)

    @property
    def categories(self) -> dict[str, TreeCategory]:
        """The categories by key; those that only an older version has come last."""
        found: dict[str, TreeCategory] = dict(self.dimension.by_key)
        for each in sorted(self.counted, key=lambda each: -each.round.number):
            for key, category in each.told.own.by_key.items():
                found.setdefault(key, category)
        return found

    @property
    def paths(self) -> dict[str, tuple[str, ...]]:
        """The categories from the top of the tree down to each; what is none of them (PENDING) stands alone."""
        return {key: tuple(category.keys) for key, category in self.categories.items()}


def dimension_patterns(rounds: Sequence[Round], asked: AgreementQuery) -> list[DimensionPatterns]:
    """Patterns per dimension and round, in the order of the version asked for, else of the newest that has it.

    Raises Invalid for a dimension that none of the rounds has. Cost: one query; one more per round and dimension, two
    where ratings are left out by choice, when its patterns are read; telling them in terms of a version costs none.
    """
    dimensions = dimensions_of(rounds, asked.version)
    if asked.dimension is not None:
        if asked.dimension not in dimensions:
            raise no_such_dimension(asked.dimension)
        dimensions = {asked.dimension: dimensions[asked.dimension]}
    ways = {round_.pk: way(round_, asked.version) for round_ in rounds}
    astray = [round_ for round_ in rounds if ways[round_.pk] is None]
    standing = standings(rounds)
    found = []
    several: dict[tuple[int, ...], list[int]] = {}
    for dimension in dimensions.values():
        told = [(round_, map_to_version(round_, ways[round_.pk], dimension, asked)) for round_ in rounds]
        counted = [
            RoundPatterns(round_, each, asked, sum(n for *_, n in standing[round_.pk]))
            for round_, each in told
            if each is not None
        ]
        found.append(DimensionPatterns(dimension, counted, astray, standing, several=several))
    return found


def dimensions_of(rounds: Sequence[Round], version: TaxonomyVersion | None) -> dict[str, TreeDimension]:
    """The dimensions of these rounds by key: as `version` has them, and those it has not as the newest round does."""
    trees = [published_version(each.taxonomy_version_id) for each in sorted(rounds, key=lambda each: -each.number)]
    asked = {dimension.key for tree in trees for dimension in tree.dimensions}
    found: dict[str, TreeDimension] = {}
    for tree in [published_version(version.pk), *trees] if version else trees:
        for dimension in tree.dimensions:
            if dimension.key in asked:
                found.setdefault(dimension.key, dimension)
    return found


def map_to_version(
    round_: Round, route: Route | None, dimension: TreeDimension, asked: AgreementQuery
) -> MappedDimension | None:
    """How a round's values on a dimension are told; None where the round has no such dimension, or no way there."""
    own = published_version(round_.taxonomy_version_id).by_key.get(dimension.key)
    if own is None or route is None or (route.is_empty and own.kind != dimension.kind):
        return None
    number = asked.version.number if asked.version else round_.taxonomy_version.number
    return MappedDimension(own, own if route.is_empty else dimension, route, number)


def no_such_dimension(key: str) -> Invalid:
    words = [f"Dimension “{key}” is not in these rounds."]
    return Invalid("Agreement request not valid.", fields={"dimension": words})


def rater_codes(seat: Seat) -> dict[int, str]:
    """The codes of the study's raters by member id, R2 before R10."""
    members = list(Membership.objects.filter(study=seat.study, code__isnull=False))
    return {member.pk: member.code or "" for member in sorted(members, key=lambda each: code_order(each.code))}


def metric_for(dimension: TreeDimension, asked: AgreementQuery) -> str | None:
    """The metric asked for, else the one that the study fixed; None: the kind's own.

    Raises Invalid for a metric, or weights, that don't suit the one dimension that was asked for.
    """
    if asked.weights is not None and asked.dimension is not None and not dimension.is_ordered:
        words = [f"A {dimension.kind} dimension has no order. Omit the weights."]
        raise Invalid("Agreement request not valid.", fields={"weights": words})
    if asked.metric is None:
        fixed = asked.fixed.get(dimension.key, {}).get("metric")
        return fixed if fixed in VARIABLES[dimension.variable].metrics else None
    if asked.metric in VARIABLES[dimension.variable].metrics:
        return asked.metric
    if asked.dimension is not None:
        raise Invalid(
            "Agreement request not valid.",
            fields={"metric": [f"Not suitable for a {dimension.kind} dimension. Omit it."]},
        )
    return None


def weights_for(dimension: TreeDimension, asked: AgreementQuery, patterns: Patterns) -> tuple[Weights | None, str]:
    """The weights asked for, else those that the study fixed; None: quadratic ones where there is an order.

    A matrix is laid out over the categories of the patterns; where it says nothing of one of them, a sentence says so
    and it does not count.
    """
    has_order = dimension.is_ordered
    if asked.weights is not None:
        return (asked.weights if has_order else None), ""
    fixed = asked.fixed.get(dimension.key, {})
    weights = fixed.get("weights")
    if weights is None or isinstance(weights, str):
        return (weights if has_order else None), ""
    try:
        return weights_over(weights, fixed.get("scale", []), patterns.categories, apart=OFF_SCALE), ""
    except ValueError as error:
        return None, f"The fixed weights can't be used here. {error}"


def patterns_of(found: DimensionPatterns, codes: dict[int, str], asked: AgreementQuery) -> Patterns:
    rows = [row for each in found.counted for row in each.rows]
    return as_patterns(found.dimension, rows, codes, asked.level, keys=list(found.categories))


def clusters_of(found: DimensionPatterns, codes: dict[int, str], patterns: Patterns) -> Clusters | None:
    """The clusters of units of one item, in parts or in several rounds; None where every unit is of its own item.

    Cost: one query for all dimensions of the same rounds, two where these are several, and one more per round where
    there are such items.
    """
    if not found.counted or not found.dimension.has_coefficients:
        return None
    units = [own for own in _units_of(found, codes, patterns).values() if len(own) > 1]
    return Clusters.of(patterns, units, may_have_more=True) if units else None


def _units_of(
    found: DimensionPatterns, codes: dict[int, str], patterns: Patterns
) -> Mapping[int, list[list[Value | None]]]:
    """The units of each item that can have several, as rows of values, one per rater of the patterns."""
    place = {code: index for index, code in enumerate(patterns.raters)}
    items = found.items_of_several_units
    units: dict[int, list[list[Value | None]]] = {}
    for each in found.counted if items else ():
        for item, row in each.rows_of(items):
            values: list[Value | None] = [None] * len(place)
            for rater, value in zip(row.raters, row.values, strict=True):
                if (code := codes.get(rater)) in place:
                    values[place[code]] = value
            if any(value is not None for value in values):
                units.setdefault(item, []).append(values)
    return units


def as_patterns(
    dimension: TreeDimension,
    rows: Sequence[PatternRow],
    codes: dict[int, str],
    level: str = "leaf",
    *,
    keys: Sequence[str] = (),
) -> Patterns:
    """Pattern rows as the matrix of patterns: raters in the order of their codes, categories in that of the tree.

    `keys` are all categories that can occur, where they are more than those of the dimension.
    """
    present = {rater for row in rows for rater in row.raters}
    raters = [pk for pk in codes if pk in present]
    place = {pk: index for index, pk in enumerate(raters)}
    table = []
    for row in rows:
        values: list[Value | None] = [None] * len(raters)
        for rater, value in zip(row.raters, row.values, strict=True):
            if rater in place:
                values[place[rater]] = value
        table.append((values, row.n))
    used = {value for values, _ in table for value in values if value is not None}
    return Patterns.from_counts(
        table, raters=[codes[pk] for pk in raters], categories=_categories(dimension, used, level, keys)
    )


def _categories(dimension: TreeDimension, used: set[Value], level: str, keys: Sequence[str]) -> list[Any]:
    """The categories that were used, in order; all of them for an ordinal dimension, whose scale counts."""
    if not dimension.has_categories or dimension.is_set:
        return sorted(used, key=lambda value: sorted(value) if isinstance(value, frozenset) else value)
    scale = {category.key for category in dimension.categories if category.selectable}
    counts = scale if dimension.has_steps and level == "leaf" else set()
    found: list[Any] = [key for key in keys or dimension.by_key if key in used or key in counts]
    return found + [extra for extra in OFF_SCALE if extra in used]


def at_level(dimension: TreeDimension, rows: Sequence[PatternRow], level: str) -> list[PatternRow]:
    """The same patterns with each category replaced by its parent or its root."""
    if level == "leaf" or not dimension.has_categories:
        return list(rows)
    place = {
        category.key: category.keys[0] if level == "root" else (category.parent or category.key)
        for category in dimension.categories
    }

    def lift(value: Value) -> Value:
        if isinstance(value, frozenset):
            return frozenset(place.get(each, each) for each in value)
        return place.get(value, value) if isinstance(value, str) else value

    return [PatternRow(row.raters, tuple(lift(value) for value in row.values), row.n) for row in rows]


def visible_rounds(seat: Seat, number: int | None = None) -> list[Round]:
    """The rounds whose ratings this person may see together: no drafts, no undone, blind or relabel rounds.

    With `number` that one round, which raises Blind where it is hidden.
    """
    rounds = Round.objects.filter(study=seat.study).select_related("taxonomy_version")
    if number is not None:
        found = list(rounds.filter(number=number))
        for round_ in found:
            seat.require_sight(round_)
        return found
    return [
        round_
        for round_ in rounds.exclude(state__in=[Round.State.DRAFT, Round.State.UNDONE])
        if round_.pk not in seat.hidden_round_ids and round_.kind in (Round.Kind.PILOT, Round.Kind.MAIN)
    ]
