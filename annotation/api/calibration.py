"""Calibration over REST: the training items of a round, and how its raters did on them."""

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from accounts.api import scope
from annotation.access import OWNER, get_round
from annotation.api.reading import seat_of
from annotation.queries import training as queries


class TrainingItemShape(serializers.Serializer[Any]):
    """A training item; `known` is null for an owner who rates in the round and has not answered it."""

    item = serializers.CharField()
    known = serializers.DictField(allow_null=True, help_text='{"parts": [{"labels": {…}}, …], "why": ""}')


class ConfusionShape(serializers.Serializer[Any]):
    """What was taken for what, and how often."""

    known = serializers.CharField()
    given = serializers.CharField()
    n = serializers.IntegerField()


class ScoreShape(serializers.Serializer[Any]):
    """How often a rater was right on a dimension."""

    dimension = serializers.CharField()
    n_answered = serializers.IntegerField()
    n_right = serializers.IntegerField()
    confusions = ConfusionShape(many=True)


class TrainedShape(serializers.Serializer[Any]):
    """How one rater did, by their first answers."""

    rater = serializers.CharField()
    n_items = serializers.IntegerField(help_text="Training items that the rater has answered or skipped.")
    n_right = serializers.IntegerField()
    dimensions = ScoreShape(many=True)


class TrainingShape(serializers.Serializer[Any]):
    """The training items of a round, for the owner, and results: all raters’ for the owner, else the caller’s own."""

    items = TrainingItemShape(many=True)
    results = TrainedShape(many=True)


def trained_answer(each: queries.Trained) -> dict[str, Any]:
    return {
        "rater": each.rater.code,
        "n_items": each.n_items,
        "n_right": each.n_right,
        "dimensions": [
            {
                "dimension": score.dimension,
                "n_answered": score.n_answered,
                "n_right": score.n_right,
                "confusions": [{"known": known, "given": given, "n": n} for known, given, n in score.confusions],
            }
            for score in each.scores
        ],
    }


class TrainingOfRound(APIView):
    """How raters did on the items whose answer is known; they count in no agreement and no agreed label.

    An owner who rates in the round while it is open reads their own results alone.
    """

    permission_classes = [scope("manage")]

    @extend_schema(responses=TrainingShape, operation_id="studies_rounds_training")
    def get(self, request: Request, slug: str, number: int) -> Response:
        seat = seat_of(request, slug)
        round_ = get_round(seat, number)
        items = queries.training_items(seat, round_) if seat.has_role(OWNER) or seat.user.is_staff else []
        return Response(
            {
                "items": [{"item": each.item.identifier, "known": each.document} for each in items],
                "results": [trained_answer(each) for each in queries.training_results(seat, round_)],
            }
        )
