"""The numbers of a study: from the database's rating patterns to the agreement entries of pages and API."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from annotation.access import Seat
from annotation.agreement import METRICS_BY_KIND, Patterns, summary
from annotation.consensus import PENDING
from annotation.errors import Invalid
from annotation.models import Membership, Round
from annotation.queries.patterns import DOES_NOT_APPLY, PatternRow, Slice, Value, n_units, patterns
from annotation.queries.verdicts import code_order
from taxonomy.queries import published_version
from taxonomy.tree import TreeDimension

CHOICES = {
    "when": ("before", "after"),
    "parts": ("aligned", "single"),
    "pending": ("category", "left_out"),
    "applies": ("both", "either"),
    "level": ("leaf", "parent", "root"),
}


@dataclass(frozen=True)
class Asked:
    """What agreement was asked for; Invalid tells what can't be asked."""

    dimension: str | None = None
    level: str = "leaf"
    metric: str | None = None
    resamples: int = 1000
    slice: Slice = field(default_factory=Slice)

    @classmethod
    def read(cls, given: dict[str, str]) -> "Asked":
        """From the words of an address or command; blank ones are left at their defaults."""
        fields = {
            name: [f"Write {' or '.join(choices)}."]
            for name, choices in CHOICES.items()
            if given.get(name) and given[name] not in choices
        }
        metrics = sorted({metric for each in METRICS_BY_KIND.values() for metric in each})
        if given.get("metric") and given["metric"] not in metrics:
            fields["metric"] = [f"Write one of {', '.join(metrics)}."]
        if fields:
            raise Invalid("This agreement can't be asked for.", fields=fields)
        words = {name: given[name] for name in ("when", "parts", "pending", "applies") if given.get(name)}
        return cls(
            dimension=given.get("dimension") or None,
            level=given.get("level") or "leaf",
            metric=given.get("metric") or None,
            slice=Slice(**words),
        )


def agreement(seat: Seat, rounds: Sequence[Round], asked: Asked, *, round_number: int | None) -> list[dict[str, Any]]:
    """One entry per dimension over these rounds together, in the order of the newest version that has it.

    `rounds` must be such that the person may see them. A unit is a part of an item in a round; raters are told apart by
    their codes. Raises Invalid for a dimension that none of the rounds has, or a metric that does not suit it. Cost:
    one query per round and dimension (two where ratings are left out by choice), one for the raters.
    """
    trees = {round_.pk: published_version(round_.taxonomy_version_id) for round_ in rounds}
    newest_first = sorted(rounds, key=lambda each: -each.number)
    dimensions: dict[str, TreeDimension] = {}
    for round_ in newest_first:
        for dimension in trees[round_.pk].dimensions:
            dimensions.setdefault(dimension.key, dimension)
    if asked.dimension is not None:
        if asked.dimension not in dimensions:
            raise Invalid(
                "This agreement can't be asked for.",
                fields={"dimension": [f"There is no dimension “{asked.dimension}” in these rounds."]},
            )
        dimensions = {asked.dimension: dimensions[asked.dimension]}
    members = list(Membership.objects.filter(study=seat.study, code__isnull=False))
    codes = {member.pk: member.code or "" for member in sorted(members, key=code_order)}
    found = []
    for key, dimension in dimensions.items():
        rows: list[PatternRow] = []
        n_left_out = 0
        for round_ in rounds:
            own = trees[round_.pk].by_key.get(key)
            if own is None or own.kind != dimension.kind:
                continue
            here = patterns(round_.pk, trees[round_.pk], own, asked.slice)
            if asked.slice.parts == "single" or asked.slice.pending == "left_out":
                whole = replace(asked.slice, parts="aligned", pending="category")
                every = patterns(round_.pk, trees[round_.pk], own, whole)
                n_left_out += n_units(every) - n_units(here)
            rows.extend(at_level(own, here, asked.level))
        found.append(
            {
                "dimension": key,
                "round": round_number,
                "when": asked.slice.when,
                **_summary(dimension, rows, codes, asked, n_left_out),
            }
        )
    return found


def _summary(
    dimension: TreeDimension, rows: Iterable[PatternRow], codes: dict[int, str], asked: Asked, n_left_out: int
) -> dict[str, Any]:
    metric = asked.metric
    if metric is not None and metric not in METRICS_BY_KIND[dimension.kind]:
        if asked.dimension is not None:
            raise Invalid(
                "This agreement can't be asked for.",
                fields={"metric": [f"It does not suit a {dimension.kind} dimension; leave it out."]},
            )
        metric = None
    return summary(
        as_patterns(dimension, list(rows), codes, asked.level),
        kind=dimension.kind,
        metric=metric,
        resamples=asked.resamples,
        left_out=n_left_out,
    )


def as_patterns(
    dimension: TreeDimension, rows: Sequence[PatternRow], codes: dict[int, str], level: str = "leaf"
) -> Patterns:
    """Pattern rows as the matrix of patterns: raters in the order of their codes, categories in that of the tree."""
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
        table, raters=[codes[pk] for pk in raters], categories=_categories(dimension, used, level)
    )


def _categories(dimension: TreeDimension, used: set[Value], level: str) -> list[Any]:
    """The categories that were used, in order; all of them for an ordinal dimension, whose scale counts."""
    if not dimension.has_categories or dimension.kind == "multi":
        return sorted(used, key=lambda value: sorted(value) if isinstance(value, frozenset) else value)
    ordinal = dimension.kind == "ordinal" and level == "leaf"
    keys: list[Any] = [
        category.key for category in dimension.categories if category.key in used or (ordinal and category.selectable)
    ]
    return keys + [extra for extra in (PENDING, DOES_NOT_APPLY) if extra in used]


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


def visible_rounds(seat: Seat, number: int | None = None, version: int | None = None) -> list[Round]:
    """The rounds whose ratings this person may see together: neither drafts, nor blind ones, nor relabel rounds.

    With `number` that one round, which raises Blind where it is hidden; with `version` those under that version.
    """
    rounds = Round.objects.filter(study=seat.study).select_related("taxonomy_version")
    if version is not None:
        rounds = rounds.filter(taxonomy_version__number=version)
    if number is not None:
        found = list(rounds.filter(number=number))
        for round_ in found:
            seat.require_sight(round_)
        return found
    return [
        round_
        for round_ in rounds.exclude(state=Round.State.DRAFT)
        if round_.pk not in seat.blind_round_ids and round_.kind in (Round.Kind.PILOT, Round.Kind.MAIN)
    ]


@dataclass(frozen=True)
class Headline:
    """The one number of a dimension: its primary coefficient before discussion."""

    dimension: str
    title: str
    coefficient: str
    value: float | None
    ci_low: float | None
    ci_high: float | None
    threshold: float | None
    undefined: str | None
    units: int
    n_raters: int
    fixed_at: str | None


def headline(seat: Seat, round_: Round) -> list[Headline]:
    """The primary coefficient of each dimension in a round, before discussion; else Krippendorff's alpha."""
    entries = agreement(seat, [round_], Asked(), round_number=round_.number)
    tree = published_version(round_.taxonomy_version_id)
    return [headline_of(seat, entry, tree.by_key[entry["dimension"]].title) for entry in entries]


def headline_of(seat: Seat, entry: dict[str, Any], title: str) -> Headline:
    """The primary coefficient out of an agreement entry."""
    chosen = seat.study.primary.get(entry["dimension"], {})
    name = chosen.get("coefficient", "krippendorff_alpha")
    coefficient = next(each for each in entry["coefficients"] if each["name"] == name)
    return Headline(
        dimension=entry["dimension"],
        title=title,
        coefficient=name,
        value=coefficient["value"],
        ci_low=coefficient["ci_low"],
        ci_high=coefficient["ci_high"],
        threshold=chosen.get("threshold"),
        undefined=coefficient["undefined"],
        units=entry["units"],
        n_raters=entry["raters"],
        fixed_at=chosen.get("fixed_at"),
    )
