"""The rows that result lists answer with, as the OpenAPI document describes them."""

from typing import Any

import pyarrow as pa
from drf_spectacular.utils import OpenApiParameter, extend_schema_field, inline_serializer
from rest_framework import serializers

from agreement import CI_METHODS
from annotation.exports.columns import COLUMNS, OF_EVIDENCE

ALWAYS = {
    "item",
    "part",
    "round",
    "round_label",
    "round_kind",
    "rater",
    "role",
    "dimension",
    "method",
    "memo",
    "raters",
    "training",
    "revision",
    "taxonomy_version",
    "screened_out",
}
"""Columns that are never null."""
VALUE = {"oneOf": [{"type": "string"}, {"type": "boolean"}, {"type": "number"}]}
CURSOR = OpenApiParameter("cursor", str, description="Where a page begins, as the `next` of the page before says.")
PAGE_SIZE = OpenApiParameter("page_size", int, description="How many rows a page holds at least; items stay whole.")


@extend_schema_field({"type": "array", "items": VALUE, "nullable": True})
class ValuesField(serializers.JSONField):
    """Keys of categories, or the value of another kind of dimension; null where no value can be told."""


def pages_of(name: str, shape: type[serializers.Serializer[Any]] | serializers.Serializer[Any]) -> Any:
    """A page of rows, with the address of the next page or null."""
    many = shape(many=True) if isinstance(shape, type) else type(shape)(many=True)
    return inline_serializer(name, {"results": many, "next": serializers.URLField(allow_null=True)})


def pages_of_rows(what: str) -> Any:
    """A page of rows that also leave as files, with their columns."""
    fields = {column: _field(column, kind) for column, kind in {**COLUMNS, **OF_EVIDENCE}[what].items()}
    word = "ClosingChange" if what == "changes" else what.removesuffix("s").capitalize()  # a study has changes too
    return pages_of(f"{word}Page", inline_serializer(f"{word}Row", fields))


def _field(column: str, kind: pa.DataType) -> serializers.Field[Any, Any, Any, Any]:
    options: dict[str, Any] = {"allow_null": column not in ALWAYS}
    if column in ("values", "original_values"):
        return ValuesField()
    if pa.types.is_list(kind):
        child: Any = serializers.CharField() if pa.types.is_string(kind.value_type) else serializers.DictField()
        return serializers.ListField(child=child, **options)
    if pa.types.is_boolean(kind):
        return serializers.BooleanField(**options)
    if pa.types.is_integer(kind):
        return serializers.IntegerField(**options)
    if pa.types.is_timestamp(kind):
        return serializers.DateTimeField(**options)
    return serializers.CharField(**options)


class GivenShape(serializers.Serializer[Any]):
    """What one rater said where raters differ."""

    rater = serializers.CharField()
    values = ValuesField()
    memo = serializers.CharField()
    skip = serializers.CharField(allow_null=True)
    proposal = inline_serializer(
        "ProposalSaid", {"name": serializers.CharField(), "memo": serializers.CharField()}, allow_null=True
    )


class DecisionShape(serializers.Serializer[Any]):
    """The resolution that stands."""

    id = serializers.UUIDField()
    values = ValuesField()
    no_part = serializers.BooleanField(help_text="The part was resolved as one that does not exist.")
    method = serializers.CharField()
    rationale = serializers.CharField()
    decided_by = serializers.CharField()
    decided_at = serializers.DateTimeField()


class AgreedBeforeShape(serializers.Serializer[Any]):
    """An agreed label of an earlier round, as it was agreed there."""

    values = ValuesField()
    round = serializers.IntegerField()
    taxonomy_version = serializers.IntegerField()
    method = serializers.CharField()


class DisagreementShape(serializers.Serializer[Any]):
    """A part and dimension of an item on which raters differ."""

    item = serializers.CharField()
    part = serializers.IntegerField()
    round = serializers.IntegerField()
    round_label = serializers.CharField(help_text="What the sheet that it came from calls it.")
    dimension = serializers.CharField()
    state = serializers.ChoiceField(["open", "resolved"])
    reason = serializers.ChoiceField(["differ", "parts", "one_sided", "skipped", "pending"])
    ratings = GivenShape(many=True)
    resolution = DecisionShape(allow_null=True)
    agreed_before = AgreedBeforeShape(
        allow_null=True, help_text="In a relabeling round: the earlier label that answers disagree with."
    )


class PlannedShape(serializers.Serializer[Any]):
    """How many more units with two ratings narrow the 95% interval to a width, or null with the reason."""

    width = serializers.FloatField(help_text="The width that was asked for.")
    units = serializers.IntegerField(help_text="Units with two ratings or more so far.")
    width_now = serializers.FloatField(allow_null=True, help_text="2 · 1.96 · standard error.")
    units_needed = serializers.IntegerField(allow_null=True)
    more_units = serializers.IntegerField(allow_null=True)
    undefined = serializers.CharField(allow_null=True)


class CoefficientShape(serializers.Serializer[Any]):
    """A coefficient, or null with the reason."""

    name = serializers.CharField()
    value = serializers.FloatField(allow_null=True)
    se = serializers.FloatField(allow_null=True)
    ci_low = serializers.FloatField(allow_null=True)
    ci_high = serializers.FloatField(allow_null=True)
    ci_method = serializers.ChoiceField(CI_METHODS, allow_null=True, help_text="How the 95% CI was computed.")
    ci_undefined = serializers.CharField(
        allow_null=True, help_text="Why there is no confidence interval, where there is a value."
    )
    undefined = serializers.CharField(allow_null=True)
    planned = PlannedShape(required=False, help_text="Only with `width`.")


class CategoryAgreementShape(serializers.Serializer[Any]):
    """Agreement specific to a category."""

    category = serializers.CharField()
    agreement = serializers.FloatField(allow_null=True)
    n = serializers.IntegerField()


class PairShape(serializers.Serializer[Any]):
    """Agreement of two raters."""

    raters = serializers.ListField(child=serializers.CharField())
    cohen_kappa = serializers.FloatField(allow_null=True)
    percent_agreement = serializers.FloatField(allow_null=True)
    n = serializers.IntegerField()


class ConfusedShape(serializers.Serializer[Any]):
    """How often one said `a` where the other said `b`."""

    a = serializers.CharField()
    b = serializers.CharField()
    n = serializers.IntegerField()


class ConfusedPairShape(ConfusedShape):
    """Two categories that raters confuse, and what merging them would change."""

    share = serializers.FloatField(help_text="Of all differing pairs of ratings.")
    coefficient = serializers.CharField(help_text="The dimension’s own coefficient, to which `gain` refers.")
    gain = serializers.FloatField(allow_null=True, help_text="What the coefficient would gain if the two were one.")
    percent_gain = serializers.FloatField(help_text="What percent agreement would gain.")
    undefined = serializers.CharField(allow_null=True, help_text="Why there is no gain.")


class CoverageShape(serializers.Serializer[Any]):
    """How many items of the rounds are compared at all; calibration items are none of them."""

    items = serializers.IntegerField(help_text="Each counted once over the rounds.")
    labeled = serializers.IntegerField(help_text="By a rater at least.")
    double = serializers.IntegerField(help_text="By two raters at least in one round.")
    planned_for_one = serializers.IntegerField(help_text="Planned for one rater in every round; a sheet has no plan.")


class AgreementShape(serializers.Serializer[Any]):
    """Agreement on one dimension."""

    dimension = serializers.CharField()
    round = serializers.IntegerField(allow_null=True)
    rounds = serializers.ListField(child=serializers.IntegerField(), help_text="The rounds that have the dimension.")
    headline = serializers.BooleanField(help_text="Whether this is the study's number: see `?round=headline`.")
    when = serializers.ChoiceField(["before", "after"])
    metric = serializers.CharField()
    units = serializers.IntegerField()
    raters = serializers.IntegerField()
    ratings = serializers.IntegerField()
    left_out = serializers.IntegerField()
    coverage = CoverageShape()
    categories = serializers.IntegerField()
    coefficients = CoefficientShape(many=True)
    by_category = CategoryAgreementShape(many=True)
    by_pair = PairShape(many=True)
    confusion = ConfusedShape(many=True)
    confused_pairs = ConfusedPairShape(many=True)
    warnings = serializers.ListField(child=serializers.CharField())
