"""Row shapes of result lists, as the OpenAPI description shows them."""

from typing import Any

from rest_framework import serializers

from agreement import CI_METHODS


class PlannedShape(serializers.Serializer[Any]):
    """How many more units with two ratings narrow the 95% interval to a width, or null with the reason."""

    width = serializers.FloatField(help_text="The requested width.")
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
