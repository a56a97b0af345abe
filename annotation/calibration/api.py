"""Calibration over REST: training items and minimum of a round, results of raters, admissions."""

from typing import Any

from django.db import transaction
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from agreement import Coefficient
from annotation.calibration.actions import gold as actions
from annotation.calibration.actions.training import seen_warnings
from annotation.calibration.calibration import Confusion, Criterion, Score, in_short
from annotation.calibration.queries import training as queries
from annotation.core.access import OWNER, Seat, get_round
from annotation.core.api_bodies import Body
from annotation.core.api_requests import seat_of
from annotation.core.errors import Invalid
from annotation.models import Round


class TrainingItemShape(serializers.Serializer[Any]):
    """A calibration item; `known` is null for an owner who rates in the round and has not answered it."""

    item = serializers.CharField()
    known = serializers.DictField(allow_null=True, help_text='{"parts": [{"labels": {…}}, …], "why": ""}')


class ConfusionShape(serializers.Serializer[Any]):
    """What was taken for what, and how often; `(none)` is the empty set, `(skipped)` an item that was skipped."""

    known = serializers.CharField()
    given = serializers.CharField()
    n = serializers.IntegerField()


class GoldCoefficientShape(serializers.Serializer[Any]):
    """Agreement of a rater's labels with the known ones, with its 95% confidence interval."""

    name = serializers.CharField()
    value = serializers.FloatField(allow_null=True)
    ci_low = serializers.FloatField(allow_null=True)
    ci_high = serializers.FloatField(allow_null=True)
    ci_method = serializers.CharField(allow_null=True)
    undefined = serializers.CharField(allow_null=True, help_text="Why there is no value.")


class GoldCategoryShape(serializers.Serializer[Any]):
    """A category against all others together: how often it is known, given, both, and Krippendorff's alpha."""

    category = serializers.CharField()
    n_known = serializers.IntegerField()
    n_given = serializers.IntegerField()
    n_both = serializers.IntegerField()
    coefficient = GoldCoefficientShape()


class ScoreShape(serializers.Serializer[Any]):
    """How often a rater was right on a dimension, and the agreement with the known labels."""

    dimension = serializers.CharField()
    n_known = serializers.IntegerField(help_text="Known labels of the items that the rater answered or skipped.")
    n_answered = serializers.IntegerField(help_text="Those for which the rater gave a label.")
    n_right = serializers.IntegerField()
    n_skipped = serializers.IntegerField()
    n_not_asked = serializers.IntegerField(
        help_text="The dimension did not apply under what the rater answered to the one above it."
    )
    confusions = ConfusionShape(many=True)
    coefficient = GoldCoefficientShape(
        allow_null=True, help_text="The study's coefficient of the dimension; null for free text."
    )
    categories = GoldCategoryShape(many=True)


class CriterionShape(serializers.Serializer[Any]):
    """A criterion of the minimum: the share of items right (`dimension` null), or a coefficient."""

    dimension = serializers.CharField(allow_null=True)
    coefficient = serializers.CharField(allow_null=True)
    value = serializers.FloatField(
        allow_null=True, help_text="Null where the coefficient is undefined; then every label has to be right."
    )
    minimum = serializers.FloatField()
    reached = serializers.BooleanField()


class AnswersShape(serializers.Serializer[Any]):
    """How one rater did."""

    n_right = serializers.IntegerField(help_text="Items with every known label right.")
    dimensions = ScoreShape(many=True)


class TrainedShape(AnswersShape):
    """How one rater did, by their first answers; `after` the feedback, where answers were revised."""

    rater = serializers.CharField()
    round = serializers.IntegerField()
    n_items = serializers.IntegerField(help_text="Calibration items that the rater has answered or skipped.")
    n_asked = serializers.IntegerField(help_text="Calibration items that the rater has in the round.")
    n_revised = serializers.IntegerField(help_text="Those whose answer was changed after the feedback.")
    after = AnswersShape(allow_null=True, help_text="By the newest answers; null where none was changed.")
    minimum = CriterionShape(many=True, help_text="The minimum of the round, held against the first answers.")
    reached = serializers.BooleanField(help_text="All items are answered, and the minimum, if any, is reached.")
    last_at = serializers.DateTimeField()


class MinimumShape(serializers.Serializer[Any]):
    """What raters have to reach on calibration items before they get other items."""

    share = serializers.FloatField(required=False, help_text="Share of items with every known label right.")
    dimensions = serializers.DictField(
        required=False,
        help_text='By key: a minimum of the study\'s coefficient, or {"coefficient": "cohen_kappa", "minimum": 0.6}.',
    )


class TrainingShape(serializers.Serializer[Any]):
    """The calibration items of a round, for the owner, and results: all raters’ for the owner, else the caller’s own.

    `tries` are the results of all rounds of the study, in order, each held against the minimum of this round.
    `warnings` tell the owner of a draft which raters do not get some items, because they may know their gold labels.
    """

    items = TrainingItemShape(many=True)
    gold_minimum = MinimumShape(allow_null=True)
    results = TrainedShape(many=True)
    tries = TrainedShape(many=True)
    warnings = serializers.ListField(child=serializers.CharField())


class TrainingBody(Body):
    """What changes of the calibration items of a draft round."""

    documents = ("known", "gold_minimum")

    known = serializers.DictField(
        child=serializers.DictField(),
        required=False,
        help_text='By item {"labels": {…}} or {"parts": […]}, and "why"; omitted dimensions are not judged.',
    )
    gold_minimum = MinimumShape(required=False, allow_null=True)


def trained_answer(each: queries.TrainingResult) -> dict[str, Any]:
    return {
        "rater": each.rater.code,
        "round": each.round.number,
        "n_items": each.n_items,
        "n_asked": each.n_asked,
        **_answers(each),
        "n_revised": each.n_revised,
        "after": _answers(each.after) if each.after else None,
        "minimum": [_criterion(one) for one in each.minimum],
        "reached": each.reached,
        "last_at": each.last_at,
    }


def _answers(each: queries.TrainingResult) -> dict[str, Any]:
    return {"n_right": each.n_right, "dimensions": [_score(score) for score in each.scores]}


def _score(score: Score) -> dict[str, Any]:
    return {
        "dimension": score.dimension,
        "n_known": score.n,
        "n_answered": score.n_answered,
        "n_right": score.n_right,
        "n_skipped": score.n_skipped,
        "n_not_asked": score.n_not_asked,
        "confusions": [_confusion(each) for each in score.confusions],
        "coefficient": _coefficient(score.coefficient) if score.coefficient else None,
        "categories": [
            {
                "category": each.category,
                "n_known": each.n_known,
                "n_given": each.n_given,
                "n_both": each.n_both,
                "coefficient": _coefficient(each.coefficient),
            }
            for each in score.categories
        ],
    }


def _confusion(each: Confusion) -> dict[str, Any]:
    return {"known": in_short(each.known, each.missing), "given": in_short(each.given, each.missing), "n": each.n}


def _coefficient(each: Coefficient) -> dict[str, Any]:
    return {name: getattr(each, name) for name in ("name", "value", "ci_low", "ci_high", "ci_method", "undefined")}


def _criterion(each: Criterion) -> dict[str, Any]:
    return {
        "dimension": each.dimension or None,
        "coefficient": each.coefficient or None,
        "value": each.value,
        "minimum": each.minimum,
        "reached": each.reached,
    }


class TrainingOfRound(APIView):
    """How raters did on the items whose answer is known; they count in no agreement and no agreed label.

    An owner who rates in the round while it is open reads their own results alone.
    """

    @extend_schema(responses=TrainingShape, operation_id="studies_rounds_training")
    def get(self, request: Request, slug: str, number: int) -> Response:
        seat = seat_of(request, slug)
        return Response(_training(seat, get_round(seat, number)))

    @extend_schema(request=TrainingBody, responses=TrainingShape)
    def patch(self, request: Request, slug: str, number: int) -> Response:
        """Gives calibration items to a draft, changes what is known of them, or sets the minimum; for the owner."""
        seat, body = seat_of(request, slug), TrainingBody.of(request)
        seat.require(OWNER)
        if not {"known", "gold_minimum"} & set(body):
            raise Invalid("No changes sent.", fields={"known": ["Send known, gold_minimum, or both."]})
        with transaction.atomic():
            if "known" in body:
                actions.set_gold(seat=seat, number=number, known=body["known"])
            if "gold_minimum" in body:
                actions.set_minimum(seat=seat, number=number, minimum=body["gold_minimum"])
        return Response(_training(seat, get_round(seat, number)))


def _training(seat: Seat, round_: Round) -> dict[str, Any]:
    items = queries.training_items(seat, round_) if seat.has_role(OWNER) or seat.user.is_staff else []
    return {
        "items": [{"item": each.item.identifier, "known": each.document} for each in items],
        "gold_minimum": round_.gold_minimum,
        "results": [trained_answer(each) for each in queries.training_results(seat, round_)],
        "tries": [trained_answer(each) for each in queries.tries(seat, round_)],
        "warnings": seen_warnings(round_) if seat.has_role(OWNER) and round_.state == Round.State.DRAFT else [],
    }
