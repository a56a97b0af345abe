"""Dimensions for the methods text: their statistics before and after discussion, and by round."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from django.db.models import Exists, OuterRef

from agreement import COEFFICIENTS, SCALE_WEIGHTS, VARIABLES
from annotation.agreement_report.queries.across_rounds import OFF_SCALE, AgreementQuery, dimension_patterns, rater_codes
from annotation.agreement_report.queries.coefficients import DimensionReport, Headline, primary
from annotation.agreement_report.queries.headline import HeadlineSet
from annotation.agreement_report.queries.patterns import DOES_NOT_APPLY
from annotation.core.access import Seat
from annotation.core.constant_lookups import LookupExists
from annotation.core.member_lists import code_order
from annotation.labels.consensus import PENDING
from annotation.methods import CoefficientFacts, DimensionFacts
from annotation.methods.queries.counted_answers import COUNTS_HERE
from annotation.models import Assignment, Membership, Rating, Round, RoundRater
from annotation.models.assignment_kinds import RATERS
from taxonomy.kinds import KINDS
from taxonomy.models import Dimension, TaxonomyVersion
from taxonomy.queries import published_version


def dimension_facts(
    seat: Seat,
    rounds: Sequence[Round],
    headline: HeadlineSet,
    asked: AgreementQuery,
    reports: Sequence[DimensionReport],
    begun: datetime | None,
) -> list[DimensionFacts]:
    """What was found for each dimension in the headline set, with what was found after discussion, and by round.

    Without a headline no number is the study's: those by round are all there is.
    """
    codes = rater_codes(seat)
    later = replace(asked, slice=replace(asked.slice, when="after"))
    after = {each.dimension.key: each for each in dimension_patterns(rounds, later)} if reports else {}
    rated = _rated(seat, rounds) if reports else set()
    raters = _raters_of_dimensions(seat, rounds) if reports else {}
    registered = _registered(seat, rounds, reports)
    found = []
    for each in reports:
        key = each.across.dimension.key
        discussed = after.get(key)
        of_all = replace(
            _dimension(each, begun),
            **registered.get(key, {}),
            is_rated=key in rated,
            raters=raters.get(key, ()),
        )
        if not headline.rounds:
            of_all = replace(
                of_all,
                before=CoefficientFacts(0, (), None),
                left_out=(),
                warnings=(),
                words=(),
                ci_method=None,
            )
        together = replace(discussed.only(headline.rounds), is_headline=True) if discussed else None
        found.append(
            replace(
                of_all,
                after=coefficient_facts(primary(seat, together, codes, later))
                if together and together.counted
                else None,
                after_by_round={
                    one.round.number: coefficient_facts(primary(seat, discussed.only([one.round]), codes, later))
                    for one in discussed.counted
                }
                if discussed
                else {},
            )
        )
    return found


def _rated(seat: Seat, rounds: Sequence[Round]) -> set[str]:
    """The keys of the dimensions on which a person gave a label in these rounds; one query."""
    given = Assignment.objects.filter(seat.not_withheld(), COUNTS_HERE, current=OuterRef("annotation"))
    labels = Rating.objects.filter(
        LookupExists(given), round__in=rounds, rater__kind=Membership.Kind.PERSON, dimension=OuterRef("pk")
    )
    asked = Dimension.objects.filter(version__in={each.taxonomy_version_id for each in rounds})
    return set(asked.filter(Exists(labels)).values_list("key", flat=True))


def _raters_of_dimensions(seat: Seat, rounds: Sequence[Round]) -> dict[str, list[str]]:
    """By key of a dimension who labeled it in these rounds, third raters apart; one query."""
    asked = "round__taxonomy_version__dimensions"
    given = Assignment.objects.filter(
        seat.not_withheld(),
        COUNTS_HERE,
        RATERS,
        current=OuterRef("annotation"),
        state=Assignment.State.SUBMITTED,
        rater__kind=Membership.Kind.PERSON,
    )
    labels = Rating.objects.filter(
        LookupExists(given), round=OuterRef("round"), rater=OuterRef("rater"), dimension=OuterRef(asked)
    )
    rows = RoundRater.objects.filter(LookupExists(labels), round__in=rounds).order_by()
    found: dict[str, set[str]] = {}
    for key, code in rows.values_list(f"{asked}__key", "rater__code").distinct():
        found.setdefault(key, set()).add(code or "")
    return {key: sorted(codes, key=code_order) for key, codes in found.items()}


def _dimension(found: DimensionReport, begun: datetime | None) -> DimensionFacts:
    dimension, head, entry = found.across.dimension, found.headline, found.entry
    value = next(each for each in entry.coefficients if each["name"] == head.coefficient)
    fixed_at = datetime.fromisoformat(head.fixed_at).astimezone(UTC) if head.fixed_at else None
    why = [(each["because"], each["n"]) for each in entry.left_out_because if each["n"]]
    if not why and entry.left_out:
        why = [("", entry.left_out)]
    weights = entry.weights or ""
    return DimensionFacts(
        key=dimension.key,
        title=dimension.title,
        kind=dimension.kind,
        n_categories=sum(category.selectable for category in dimension.categories),
        is_conditional=dimension.applies_when is not None,
        coefficient=head.coefficient,
        metric=entry.metric,
        before=coefficient_facts(head),
        by_round={number: coefficient_facts(one) for number, one in found.trend.items()},
        is_fixed=fixed_at is not None,
        is_default=head.is_default,
        threshold=head.threshold,
        fixed_on=fixed_at.date() if fixed_at else None,
        is_fixed_before=fixed_at is not None and (begun is None or fixed_at <= begun),
        reason=head.reason,
        weights=weights if isinstance(weights, str) else "its own",
        words=[(each["scale"], each["word"], each.get("earned")) for each in value.get("words", [])],
        left_out=why,
        **_on_scale(found, entry.metric),
        warnings=entry.warnings,
        ci_method=value.get("ci_method"),
    )


def _registered(seat: Seat, rounds: Sequence[Round], reports: Sequence[DimensionReport]) -> dict[str, dict[str, Any]]:
    """By key of a dimension the statistic that was registered and what changed since, where the kind is another one.

    No query where nothing is registered, else one.
    """
    fixed = {each.across.dimension.key: each for each in reports if each.headline.fixed_at}
    if not fixed:
        return {}
    versions = TaxonomyVersion.objects.filter(taxonomy=seat.study.taxonomy_id, published_at__isnull=False)
    versions = versions.filter(number__lte=max(each.taxonomy_version.number for each in rounds))
    published = list(versions.order_by("number").values_list("published_at", "pk"))
    found = {}
    for key, each in fixed.items():
        at = datetime.fromisoformat(each.headline.fixed_at or "")
        there = [place for place, (when, _) in enumerate(published) if when is not None and when <= at]
        trees = [published_version(pk) for _, pk in published[there[-1] :]] if there else []
        then, entry = trees[0].by_key.get(key) if trees else None, seat.study.primary[key]
        if then is None or then.kind == each.across.dimension.kind or not KINDS[then.kind].has_coefficients:
            continue
        kind, changes = then.kind, []
        for tree in trees[1:]:
            dimension = tree.by_key.get(key)
            if dimension is not None and dimension.kind != kind:
                changes.append((tree.number, kind, dimension.kind))
                kind = dimension.kind
        metric = entry.get("metric") or VARIABLES[then.variable].metrics[0]
        weights = (entry.get("weights") or SCALE_WEIGHTS[0]) if then.is_ordered else ""
        weights = weights if isinstance(weights, str) else "its own"
        words = replace(_dimension(each, None), metric=metric, weights=weights).statistic
        found[key] = {"registered": words, "kind_changes": changes}
    return found


def _on_scale(found: DimensionReport, metric: str) -> dict[str, Any]:
    """On how many units an alpha of an order rests, where some labels are no level of the scale."""
    is_order = found.across.dimension.is_ordered and metric != "nominal"
    if COEFFICIENTS[found.headline.coefficient].takes != "metric" or not is_order:
        return {}
    rows = [row for each in found.across.counted for row in each.rows if len(row.raters) > 1]
    away = [value for value in OFF_SCALE if any(value in row.values for row in rows)]
    used = sum(row.n for row in rows if sum(value not in away for value in row.values) > 1)
    if used == found.headline.units:
        return {}
    return {"n_used": used, "off_scale": [OFF_SCALE_WORDS[value] for value in away]}


OFF_SCALE_WORDS = {PENDING: "a proposal", DOES_NOT_APPLY: "“does not apply”"}


def coefficient_facts(head: Headline) -> CoefficientFacts:
    return CoefficientFacts(
        head.units, head.raters, head.value, head.ci_low, head.ci_high, head.undefined, head.ci_method
    )
