"""Shapes of disagreements and resolutions, for the OpenAPI description."""

from typing import Any

from drf_spectacular.utils import inline_serializer
from rest_framework import serializers

from annotation.exports.api.item_pages import ValuesField


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
