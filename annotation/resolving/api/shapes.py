"""Shapes of disagreements and resolutions, for the OpenAPI description."""

from typing import Any, ClassVar

from drf_spectacular.utils import inline_serializer
from rest_framework import serializers

from annotation.exports.api.item_pages import ValuesField
from annotation.labels.resolution_notes import NOTES


class GivenShape(serializers.Serializer[Any]):
    """What one rater said where raters differ."""

    rater = serializers.CharField()
    values = ValuesField()
    memo = serializers.CharField()
    skip = serializers.CharField(allow_null=True)
    proposal = inline_serializer(
        "ProposalSaid", {"name": serializers.CharField(), "memo": serializers.CharField()}, allow_null=True
    )


class ShapeWithNotes(serializers.Serializer[Any]):
    """A shape with the notes of a resolution, which stand before one of its fields."""

    notes_before: ClassVar[str]

    def note_field(self) -> serializers.CharField:
        return serializers.CharField()

    def get_fields(self) -> dict[str, serializers.Field[Any, Any, Any, Any]]:
        found: dict[str, serializers.Field[Any, Any, Any, Any]] = {}
        for name, declared in super().get_fields().items():
            if name == self.notes_before:
                found |= {note: self.note_field() for note in NOTES}
            found[name] = declared
        return found


class DecisionShape(ShapeWithNotes):
    """The resolution that stands."""

    notes_before = "decided_by"
    id = serializers.UUIDField()
    values = ValuesField()
    no_part = serializers.BooleanField(help_text="The part was resolved as one that does not exist.")
    method = serializers.CharField()
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
