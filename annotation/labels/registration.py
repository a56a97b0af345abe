"""Registered coefficients: which primary coefficient and threshold of a dimension its study's owner confirmed.

A dimension without confirmation has the default of Concord, which is shown as such and never as registered.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from agreement import COEFFICIENTS, bound
from taxonomy.kinds import KINDS
from taxonomy.tree import TreeDimension

DEFAULT: Mapping[str, Any] = {"coefficient": "krippendorff_alpha", "threshold": 0.8}
"""What a dimension has whose study chose nothing (Krippendorff 2004, p. 241: 0.80 for reliable data)."""
NOT_MEASURED = "A dimension of free text has no agreement coefficient."

Primary = Mapping[str, Mapping[str, Any]]


def has_coefficients(kind: str) -> bool:
    """Whether agreement on a dimension of this kind is measured; texts are not."""
    return KINDS[kind].has_coefficients


def primary_of(primary: Primary, key: str, kind: str) -> Mapping[str, Any]:
    """Coefficient, threshold and more of a dimension: the study's, else the default; empty where none suits."""
    if not has_coefficients(kind):
        return {}
    return primary.get(key) or DEFAULT


def is_registered(entry: Mapping[str, Any]) -> bool:
    """Whether the owner confirmed it; what was only preset or copied has no day."""
    return bool(entry.get("fixed_at"))


def with_defaults(primary: Primary, dimensions: Iterable[TreeDimension]) -> dict[str, dict[str, Any]]:
    """The primary coefficient of each dimension that has one, each with `registered`."""
    known = {each.key: primary_of(primary, each.key, each.kind) for each in dimensions if has_coefficients(each.kind)}
    return {
        key: {**entry, "registered": is_registered(entry)}
        for key, entry in {**{key: entry for key, entry in primary.items() if key not in known}, **known}.items()
    }


def not_registered(primary: Primary, dimensions: Iterable[TreeDimension]) -> list[TreeDimension]:
    """The dimensions that have coefficients and none of them registered, in their order."""
    return [
        each
        for each in dimensions
        if has_coefficients(each.kind) and not is_registered(primary_of(primary, each.key, each.kind))
    ]


def in_words(entry: Mapping[str, Any]) -> str:
    """`Krippendorff's alpha, threshold 0.80`."""
    threshold = entry.get("threshold")
    return COEFFICIENTS[entry["coefficient"]].title + ("" if threshold is None else f", threshold {bound(threshold)}")
