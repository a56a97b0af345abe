"""Primary coefficients: the owner registers coefficient, threshold, distance or weights, and reason."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from agreement import COEFFICIENTS, SCALE_WEIGHTS, VARIABLES, weights_over
from annotation.core.errors import Invalid
from annotation.core.row_checks import is_time
from annotation.labels.registration import NOT_MEASURED, Primary, has_coefficients, not_registered, primary_of
from taxonomy.models import Taxonomy, TaxonomyVersion
from taxonomy.queries import published_version
from taxonomy.tree import TreeDimension

LONGEST_REASON = 2000


def check_primary(primary: object, taxonomy: Taxonomy, now: datetime | None) -> dict[str, dict[str, object]]:
    """What was registered per dimension, with the day: coefficient, threshold; where given metric, weights and reason.

    Without a day (`now` None) it is only preset: the owner has not confirmed it.

    A matrix of weights is in the order of the categories that can be chosen; they are kept with it as `scale`. Raises
    Invalid.
    """
    if not isinstance(primary, Mapping):
        raise Invalid("Primary coefficients not valid.", fields={"primary": ["Send a mapping by dimension."]})
    dimensions = {each.key: each for each in newest_dimensions(taxonomy)}
    fields: dict[str, list[str]] = {}
    checked: dict[str, dict[str, object]] = {}
    for key, entry in primary.items():
        path = f"primary.{key}"
        if key not in dimensions:
            fields[path] = [f"The taxonomy {taxonomy.slug} has no dimension “{key}”."]
            continue
        if not has_coefficients(dimensions[key].kind):
            fields[path] = [f"{NOT_MEASURED} Omit it."]
            continue
        found: dict[str, object] = {}
        wrong = _read(entry if isinstance(entry, Mapping) else {}, dimensions[key], found)
        if wrong:
            fields[path] = [wrong]
        else:
            checked[key] = {**found, "fixed_at": now.isoformat()} if now else found
    if fields:
        raise Invalid("Primary coefficients not saved.", fields=fields)
    return checked


def wrong_in_brought(primary: Primary, taxonomy: Taxonomy) -> str:
    """The first dimension of which a study's file holds what no owner could have fixed under any version; or empty.

    A query for each version.
    """
    versions = taxonomy.versions.exclude(state=TaxonomyVersion.State.DRAFT).order_by("-number")
    trees = [published_version(pk) for pk in versions.values_list("pk", flat=True)] if primary else []
    for key, entry in primary.items():
        if not any(_could_be(entry, tree.by_key[key]) for tree in trees if key in tree.by_key):
            return key
    return ""


def _could_be(entry: Mapping[str, Any], dimension: TreeDimension) -> bool:
    found: dict[str, object] = {}
    fixed_at = entry.get("fixed_at")
    return (
        has_coefficients(dimension.kind)
        and (fixed_at is None or (is_time(fixed_at) and datetime.fromisoformat(fixed_at).tzinfo is not None))
        and not _read(entry, dimension, found)
        and entry.get("scale") == found.get("scale")
    )


def newest_dimensions(taxonomy: Taxonomy) -> Sequence[TreeDimension]:
    """The dimensions of the newest published version, which a study's coefficients are for; one query.

    Never those of a draft: it may hold what a rater of an open round proposed.
    """
    newest = taxonomy.versions.exclude(state=TaxonomyVersion.State.DRAFT).order_by("-number").first()
    return published_version(newest.pk).dimensions if newest else ()


def confirmed(primary: Primary, dimensions: Iterable[TreeDimension], now: datetime) -> dict[str, dict[str, Any]]:
    """The coefficients as they are, registered now where they were not."""
    fixed = {key: dict(entry) for key, entry in primary.items()}
    for each in not_registered(primary, dimensions):
        fixed[each.key] = {**primary_of(primary, each.key, each.kind), "fixed_at": now.isoformat()}
    return fixed


def _read(entry: Mapping[str, Any], dimension: TreeDimension, found: dict[str, object]) -> str:
    """Reads what was fixed for a dimension into `found`; the first thing that is wrong, else empty."""
    coefficient, threshold = entry.get("coefficient"), entry.get("threshold")
    if not isinstance(coefficient, str) or coefficient not in COEFFICIENTS:
        return f"Choose one of {', '.join(COEFFICIENTS)}."
    if threshold is not None and (
        isinstance(threshold, bool) or not isinstance(threshold, int | float) or not -1 <= threshold <= 1
    ):
        return "The threshold is a number from -1 to 1."
    found |= {"coefficient": coefficient, "threshold": threshold}
    metric, weights, reason = entry.get("metric"), entry.get("weights"), entry.get("reason") or ""
    suited = VARIABLES[dimension.variable].metrics
    if metric not in (None, "", *suited):
        return f"The metric of this dimension ({dimension.kind}) is one of {', '.join(suited)}."
    if metric:
        found["metric"] = metric
    if wrong := _weights(weights, dimension, found):
        return wrong
    if not isinstance(reason, str) or len(reason) > LONGEST_REASON:
        return f"Give a reason of at most {LONGEST_REASON} characters."
    if reason.strip():
        found["reason"] = " ".join(reason.replace("\x00", " ").split())
    return ""


def _weights(weights: object, dimension: TreeDimension, found: dict[str, object]) -> str:
    if weights in (None, ""):
        return ""
    if isinstance(weights, str):
        if weights not in SCALE_WEIGHTS:
            return f"The weights are {' or '.join(SCALE_WEIGHTS)}, or a matrix."
        if not dimension.is_ordered:
            return f"This dimension ({dimension.kind}) has no order for {weights} weights. Send a matrix."
        found["weights"] = weights
        return ""
    scale = [category.key for category in dimension.categories if category.selectable]
    if not scale or dimension.is_set:
        return f"This dimension ({dimension.kind}) takes no matrix of weights."
    is_table = isinstance(weights, list) and all(
        isinstance(row, list) and all(isinstance(cell, int | float) and not isinstance(cell, bool) for cell in row)
        for row in weights
    )
    if not is_table or len(weights) != len(scale) or any(len(row) != len(scale) for row in weights):  # type: ignore[arg-type, attr-defined]
        return (
            f"The weights are {len(scale)} rows of {len(scale)} numbers, in the order of the categories that can be "
            f"chosen: {', '.join(scale)}."
        )
    try:
        weights_over(weights, scale, scale)  # type: ignore[arg-type]
    except ValueError as error:
        return str(error)
    found |= {"weights": weights, "scale": scale}
    return ""
