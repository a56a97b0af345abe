"""Variables: types of data that agreement is measured on, and the metrics and coefficients that suit each."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Variable:
    """`metrics` are those of Krippendorff's alpha that suit it, the default first.

    `is_ordered`: weights can go by the order of its values. `is_open`: its values are no categories.
    `has_coefficients`: agreement on it is measured.
    """

    metrics: tuple[str, ...]
    is_ordered: bool = False
    is_open: bool = False
    has_coefficients: bool = True


VARIABLES: dict[str, Variable] = {
    "single": Variable(("nominal", "tree")),
    "boolean": Variable(("nominal",)),
    "text": Variable(("nominal",), is_open=True, has_coefficients=False),
    "ordinal": Variable(("ordinal", "nominal", "interval"), is_ordered=True),
    "number": Variable(("interval", "ratio", "ordinal", "nominal"), is_ordered=True, is_open=True),
    "multi": Variable(("masi", "jaccard", "nominal")),
}
"""By the name that a kind of question declares as its `variable`."""
