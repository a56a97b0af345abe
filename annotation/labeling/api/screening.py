"""Screening over REST: a rater's list, answers, maybes, and keywords."""

from typing import Any

from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from accounts.api import scope
from annotation.calibration.actions.training import require_admission
from annotation.core.access import RATER, Seat, get_round
from annotation.core.api_bodies import Body, CheckedListField, StringField, Switch
from annotation.core.api_pages import PAGE, list_page, pages_of
from annotation.core.api_requests import choice_in_address, seat_of
from annotation.core.errors import Forbidden, Invalid, NotFound
from annotation.labeling.actions.next_item import require_present
from annotation.labeling.actions.screening_answers import set_maybe, set_own_keywords
from annotation.labeling.queries.assignments import has_part_in
from annotation.labels.queries import screening as queries
from annotation.models import Round


class OwnScreeningShape(serializers.Serializer[Any]):
    """An issue that a rater screens."""

    assignment = serializers.UUIDField()
    position = serializers.IntegerField()
    item = serializers.CharField()
    title = serializers.CharField()
    screening = serializers.CharField(
        help_text="The rater's answer: `in`, `out` or `skipped`; `open` and `maybe` are still to be answered."
    )
    reason = serializers.CharField(help_text="Why it is out; otherwise empty.")


class MaybeBody(Body):
    """Which issue is put off, or (`maybe` false) not any more."""

    refusal = "Nothing was changed."
    documents = ("assignment",)

    assignment = serializers.UUIDField()
    maybe = Switch()


class KeywordsShape(serializers.Serializer[Any]):
    """The words that are highlighted while screening."""

    keywords = serializers.ListField(child=serializers.CharField(), help_text="The caller's own.")
    of_study = serializers.ListField(child=serializers.CharField(), read_only=True)


class KeywordsBody(Body):
    """The caller's own keywords; an empty list takes them away."""

    refusal = "The keywords were not saved."

    keywords = CheckedListField("Give a list of texts, one keyword each.", child=StringField())


def _round(seat: Seat, number: int) -> Round:
    """A screening round in which the caller rates."""
    seat.require(RATER)
    round_ = get_round(seat, number)
    if round_.kind != Round.Kind.SCREENING:
        raise NotFound(f"Round {number} is not a screening round.")
    assert seat.membership is not None
    if not has_part_in(round_, seat.membership):
        raise Forbidden(f"You are not a rater of round {number}.")
    return round_


class OwnScreenings(APIView):
    """The caller's own issues of a screening round, with what they said of them. Answers go to `annotations/`."""

    permission_classes = [scope("rate", read="rate")]
    ordering = ("position",)

    @extend_schema(
        responses=pages_of(OwnScreeningShape),
        parameters=[*PAGE, OpenApiParameter("show", str, enum=list(queries.SHOWN))],
        operation_id="studies_rounds_own_screenings",
    )
    def get(self, request: Request, slug: str, number: int) -> Response:
        """409 `away` for a rater who is away; 409 `below_minimum` before the round's minimum on calibration items."""
        seat = seat_of(request, slug)
        round_ = _round(seat, number)
        require_present(seat)
        assert seat.membership is not None
        require_admission(round_, seat.membership, None)
        show = choice_in_address(request, "show", queries.SHOWN, "all") or "all"
        rows = queries.with_words(queries.own_screenings(round_, seat.membership, show))
        names = queries.reason_names(round_)

        def shown(row: Any) -> dict[str, Any]:
            line = queries.line_of(row, names)
            return {
                "assignment": row.public_id,
                "position": row.position,
                "item": row.item.identifier,
                "title": line.title,
                "screening": line.side,
                "reason": line.reason,
            }

        return list_page(self, request, rows, shown)

    @extend_schema(request=MaybeBody, responses=MaybeBody, operation_id="studies_rounds_maybe")
    def post(self, request: Request, slug: str, number: int) -> Response:
        """Puts one of the caller's issues off as a maybe, or takes that back; 409 where it is answered."""
        seat = seat_of(request, slug)
        _round(seat, number)
        body = MaybeBody.of(request)
        if body.get("assignment") is None:
            raise Invalid(MaybeBody.refusal, fields={"assignment": ["Name the assignment."]})
        found = set_maybe(seat=seat, assignment=body["assignment"], maybe=body.get("maybe", True), round_number=number)
        return Response({"assignment": found.public_id, "maybe": found.maybe})


class KeywordsOfRater(APIView):
    """The words that are highlighted for the caller while they screen."""

    permission_classes = [scope("rate", read="rate")]

    @extend_schema(responses=KeywordsShape, operation_id="studies_keywords_read")
    def get(self, request: Request, slug: str) -> Response:
        seat = seat_of(request, slug)
        seat.require(RATER)
        return Response(_keywords(seat))

    @extend_schema(request=KeywordsBody, responses=KeywordsShape, operation_id="studies_keywords_set")
    def post(self, request: Request, slug: str) -> Response:
        """Sets the caller's own; those of the study are its owner's (`screening_keywords`)."""
        seat, body = seat_of(request, slug), KeywordsBody.of(request)
        set_own_keywords(seat=seat, keywords=body.get("keywords"))
        return Response(_keywords(seat))


def _keywords(seat: Seat) -> dict[str, Any]:
    assert seat.membership is not None
    return {"keywords": seat.membership.screening_keywords, "of_study": seat.study.screening_keywords}
