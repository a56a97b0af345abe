"""Answer shapes of analyses, for the OpenAPI description."""

from typing import Any

from rest_framework import serializers

Text, Whole, Real, Choice = (
    serializers.CharField,
    serializers.IntegerField,
    serializers.FloatField,
    serializers.ChoiceField,
)


def _reals() -> serializers.ListField:
    return serializers.ListField(
        child=serializers.ListField(child=serializers.FloatField(allow_null=True)), allow_null=True
    )


def _texts() -> serializers.ListField:
    return serializers.ListField(child=serializers.CharField())


class LeftOutShape(serializers.Serializer[Any]):
    """Parts that are left out, and why."""

    why = Text()
    n = Whole()


class DenominatorShape(serializers.Serializer[Any]):
    """What shares are of; `n` is null where each has its own."""

    of = Text()
    words = Text()
    n = Whole(allow_null=True)


class FoldedShape(serializers.Serializer[Any]):
    """Categories that became `others`, and the parts there."""

    categories = _texts()
    n = Whole()


class LabelsShape(serializers.Serializer[Any]):
    """Which labels an answer rests on, and what of them was looked at."""

    rounds = serializers.ListField(child=Whole())
    versions = serializers.DictField(child=Whole(), help_text="By round, the version to which its labels are mapped.")
    version = Whole(allow_null=True, help_text="The requested version.")
    hidden_rounds = serializers.ListField(child=Whole(), help_text="Rounds whose labels are hidden from you.")
    items_waiting = Whole(help_text="Items whose raters have not finished.")
    items_hidden = Whole(
        help_text="Items hidden until you have labeled them, as a third rater or again in an open round."
    )
    items_screened_out = Whole(help_text="Items that are screened out and count here, because the study keeps them.")
    parts = Choice(["all", "single"])
    where = _texts()
    n_parts = Whole()
    n_items = Whole()
    left_out = LeftOutShape(many=True)
    levels = serializers.DictField(child=Text())
    folded = serializers.DictField(child=FoldedShape())


class ShareShape(serializers.Serializer[Any]):
    """A share (0 to 1) with its 95 % interval after Wilson, or null with the reason.

    Shares of parts have no interval where items have several parts.
    """

    n = Whole()
    of = Whole()
    share = Real(allow_null=True)
    ci_low = Real(allow_null=True)
    ci_high = Real(allow_null=True)
    undefined = Text(allow_null=True)


class CategoryShareShape(ShareShape):
    """A category with its share."""

    category = Text()
    name = Text()


class GroupShape(serializers.Serializer[Any]):
    """The parts with one value of `by`."""

    value = Text(allow_null=True)
    name = Text()
    n = Whole()
    denominator = DenominatorShape()
    categories = CategoryShareShape(many=True)


class CountsShape(serializers.Serializer[Any]):
    """Counts and shares of a dimension."""

    dimension = Text()
    by = Text(allow_null=True)
    of = Choice(["all", "group", "category"])
    n = Whole(help_text="Parts with a value.")
    denominator = DenominatorShape()
    categories = CategoryShareShape(many=True)
    groups = GroupShape(many=True)
    left_out = LeftOutShape(many=True)
    notes = _texts()
    labels = LabelsShape()


class CorrelationShape(serializers.Serializer[Any]):
    """Spearman's rho of two groups' profiles."""

    a = Text()
    b = Text()
    n_categories = Whole()
    rho = Real(allow_null=True)
    p_value = Real(allow_null=True)
    method = Choice(
        ["exact", "t"], allow_null=True, help_text="exact: a permutation test, for nine categories or fewer."
    )
    undefined = Text(allow_null=True)


class ProfilesShape(serializers.Serializer[Any]):
    """Profiles of groups, and each two of them compared."""

    dimension = Text()
    by = Text()
    correlations = CorrelationShape(many=True)
    n = Whole()
    denominator = DenominatorShape()
    categories = CategoryShareShape(many=True)
    groups = GroupShape(many=True)
    left_out = LeftOutShape(many=True)
    notes = _texts()
    labels = LabelsShape()


class MarkedShape(CategoryShareShape):
    """A category with the share of its parts that are marked; of `unknown` ones the mark is not known."""

    unknown = Whole()


class MarkedGroupShape(ShareShape):
    """The marked among the parts with one value of `by`."""

    value = Text(allow_null=True)
    name = Text()
    unknown = Whole()
    categories = MarkedShape(many=True)


class SharesShape(serializers.Serializer[Any]):
    """The share of a mark."""

    mark = Text()
    marked = Text()
    dimension = Text(allow_null=True)
    by = Text(allow_null=True)
    denominator = DenominatorShape()
    total = MarkedGroupShape()
    groups = MarkedGroupShape(many=True)
    left_out = LeftOutShape(many=True)
    labels = LabelsShape()


class MarginShape(serializers.Serializer[Any]):
    """A row or column with its parts."""

    category = Text()
    name = Text()
    n = Whole()


class IndependenceShape(serializers.Serializer[Any]):
    """The test, and why it was chosen."""

    method = Choice(["chi_square", "fisher", "exact", "monte_carlo"])
    because = Text()
    statistic = Real(help_text="Pearson's chi-square.")
    df = Whole()
    p_value = Real()
    draws = Whole(allow_null=True)
    seed = Whole(allow_null=True)


class CramersVShape(serializers.Serializer[Any]):
    """Cramér's V; the interval is that of the population's."""

    value = Real()
    ci_low = Real()
    ci_high = Real()
    ci_method = Text()
    corrected = Real(allow_null=True, help_text="Without its bias (Bergsma).")


class CrosstabShape(serializers.Serializer[Any]):
    """A cross table; where there is no test, `undefined` says why."""

    rows = Text()
    columns = Text()
    of = Choice(["row", "column", "all"])
    n = Whole()
    n_items = Whole()
    row_categories = MarginShape(many=True)
    column_categories = MarginShape(many=True)
    counts = serializers.ListField(child=serializers.ListField(child=Whole()))
    denominator = DenominatorShape()
    shares = serializers.ListField(child=serializers.ListField(child=Real()))
    test = IndependenceShape(allow_null=True)
    cramers_v = CramersVShape(allow_null=True)
    expected = _reals()
    residuals = _reals()
    p_residuals = _reals()
    residuals_method = Choice(
        ["normal", "fisher"], allow_null=True, help_text="The test of each cell behind `p_residuals`, before Holm."
    )
    undefined = Text(allow_null=True)
    left_out = LeftOutShape(many=True)
    notes = _texts()
    labels = LabelsShape()


class NodeShape(CategoryShareShape):
    """A category of one dimension of a flow."""

    dimension = Text()


class BandShape(ShareShape):
    """Parts that go from a category to one of the next dimension."""

    from_dimension = Text()
    to_dimension = Text()
    to = Text()
    share_of_from = Real(allow_null=True)

    def get_fields(self) -> Any:
        return {**super().get_fields(), "from": serializers.CharField()}


class PathShape(ShareShape):
    """One category of each dimension."""

    categories = _texts()


class FlowGroupShape(serializers.Serializer[Any]):
    """The flow within one value of `within`."""

    value = Text(allow_null=True)
    name = Text()
    denominator = DenominatorShape()
    nodes = NodeShape(many=True)
    bands = BandShape(many=True)
    paths = PathShape(many=True)


class LabelFlowShape(serializers.Serializer[Any]):
    """A flow through dimensions."""

    dimensions = _texts()
    within = Text(allow_null=True)
    n = Whole()
    groups = FlowGroupShape(many=True)
    left_out = LeftOutShape(many=True)
    notes = _texts()
    labels = LabelsShape()


class QuantileShape(serializers.Serializer[Any]):
    """The number that this share of all is at or under."""

    share = Real()
    value = Real()


class CurvePointShape(serializers.Serializer[Any]):
    """How many numbers are at or under a value."""

    value = Real()
    n = Whole()
    share = Real()


class DistributionShape(serializers.Serializer[Any]):
    """How numbers are distributed."""

    n = Whole()
    n_missing = Whole()
    minimum = Real(allow_null=True)
    maximum = Real(allow_null=True)
    mean = Real(allow_null=True)
    sd = Real(allow_null=True)
    quantiles = QuantileShape(many=True)
    at_or_under = ShareShape(allow_null=True)
    curve = CurvePointShape(many=True)
    undefined = Text(allow_null=True)


class NumberGroupShape(DistributionShape):
    """The numbers of one value of `by`."""

    value = Text()
    name = Text()


class KruskalShape(serializers.Serializer[Any]):
    """All groups at once, or why not."""

    h = Real(allow_null=True)
    df = Whole(allow_null=True)
    p_value = Real(allow_null=True)
    method = Choice(
        ["exact", "chi_square"], allow_null=True, help_text="exact: a permutation test, for nine numbers or fewer."
    )
    epsilon_squared = Real(allow_null=True)
    undefined = Text(allow_null=True)


class PairTestShape(serializers.Serializer[Any]):
    """Two groups: Mann and Whitney's U, Cliff's delta."""

    a = Text()
    b = Text()
    n_a = Whole()
    n_b = Whole()
    u = Real(allow_null=True)
    p_value = Real(allow_null=True)
    p_holm = Real(allow_null=True)
    method = Choice(
        ["exact", "asymptotic"],
        allow_null=True,
        help_text="exact: a permutation test, where one group has nine numbers or fewer; else a normal approximation.",
    )
    delta = Real(allow_null=True)
    ci_low = Real(allow_null=True)
    ci_high = Real(allow_null=True)
    undefined = Text(allow_null=True)


class ComparisonShape(serializers.Serializer[Any]):
    """Groups of numbers compared by ranks."""

    groups = _texts()
    without_numbers = _texts()
    n = Whole()
    kruskal_wallis = KruskalShape()
    pairs = PairTestShape(many=True)


class NumbersShape(serializers.Serializer[Any]):
    """A measure in all and by group; `uncompared` says why groups are not compared."""

    measure = Text()
    title = Text()
    unit = Text(allow_blank=True)
    by = Text(allow_null=True)
    counted = Choice(["item", "part"])
    cut = Real(allow_null=True)
    total = DistributionShape()
    groups = NumberGroupShape(many=True)
    comparison = ComparisonShape(allow_null=True)
    uncompared = Text(allow_null=True)
    left_out = LeftOutShape(many=True)
    labels = LabelsShape()


class FirstSeenShape(serializers.Serializer[Any]):
    """When a category came up: with which item in the order of labelling, from 1."""

    category = Text()
    name = Text()
    place = Whole()
    n_items = Whole()


class SaturationPointShape(serializers.Serializer[Any]):
    """After so many items: categories seen, and on average over all orders."""

    n_items = Whole()
    n_categories = Whole()
    mean = Real()


class SaturationShape(serializers.Serializer[Any]):
    """New categories per labelled item."""

    dimension = Text()
    n_items = Whole()
    n_categories = Whole()
    n_unseen = Whole()
    n_once = Whole()
    chance_new = Real(allow_null=True, help_text="That the next item adds a category that no item had.")
    undefined = Text(allow_null=True)
    first_seen = FirstSeenShape(many=True)
    curve = SaturationPointShape(many=True)
    left_out = LeftOutShape(many=True)
    labels = LabelsShape()


class ValueShape(serializers.Serializer[Any]):
    """A value of a dimension."""

    dimension = Text()
    category = Text()


class CombinationShape(ShareShape):
    """Values that come together."""

    values = ValueShape(many=True)
    lift = Real()


class CombinationsShape(serializers.Serializer[Any]):
    """Frequent combinations."""

    dimensions = _texts()
    n = Whole()
    least = Whole()
    denominator = DenominatorShape()
    n_found = Whole()
    combinations = CombinationShape(many=True)
    left_out = LeftOutShape(many=True)
    labels = LabelsShape()
