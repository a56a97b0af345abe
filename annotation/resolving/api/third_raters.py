"""Part matches, third raters, and rules over REST."""

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from accounts.api import scope
from annotation.core.access import ADJUDICATOR, OWNER, get_item
from annotation.core.api_bodies import Body, StringField, Switch, Whole
from annotation.core.api_requests import round_for, seat_of
from annotation.resolving.actions.part_matches import match_parts
from annotation.resolving.actions.third_rater_requests import (
    NOT_ASKED,
    apply_rules,
    ask_third_rater,
    remind_third_rater,
    withdraw_third_rater,
)
from shared.entries_field import EntriesField


class MatchBody(Body):
    """Which agreed bug each part of a rater's answer is: [2, 1] swaps two."""

    documents = ("parts", "revision")

    item = StringField()
    round = Whole(required=False)
    rater = StringField(help_text="A rater's code.")
    parts = EntriesField(child=serializers.IntegerField())
    revision = serializers.IntegerField(required=False, help_text="Of the answer that was seen; another one is 409.")


class MatchShape(serializers.Serializer[Any]):
    """How the bugs of an answer are matched now."""

    item = serializers.CharField()
    round = serializers.IntegerField()
    rater = serializers.CharField()
    parts = serializers.ListField(child=serializers.IntegerField())


class Matches(APIView):
    """Says which agreed bug each part of a rater's answer is; answers stay as they are."""

    permission_classes = [scope("rate")]

    @extend_schema(request=MatchBody, responses={200: MatchShape})
    def post(self, request: Request, slug: str) -> Response:
        seat = seat_of(request, slug)
        seat.require(ADJUDICATOR, OWNER)
        body = MatchBody.of(request)
        item, rater = get_item(seat, body.get("item", "")), body.get("rater", "")
        round_ = round_for(seat, item, body.get("round"))
        asked = {"rater": rater, "parts": body.get("parts"), "expected": body.get("revision")}
        parts = match_parts(seat=seat, round_=round_, item=item, **asked)
        return Response({"item": item.identifier, "round": round_.number, "rater": rater, "parts": parts})


class AskBody(Body):
    """An item, and who is to answer it as a third rater; without `rater` someone drawn by the round's seed."""

    refusal = NOT_ASKED

    item = StringField()
    round = Whole(required=False)
    rater = StringField(required=False)
    unblinded = Switch(
        required=False, help_text="True assigns a rater who could read the answers (else 409 `not_blind_any_more`)."
    )


class AskShape(serializers.Serializer[Any]):
    """Who was asked."""

    item = serializers.CharField()
    round = serializers.IntegerField()
    rater = serializers.CharField()
    unblinded = serializers.BooleanField()


class ThirdRaters(APIView):
    """Asks a third rater for a disputed item, by hand."""

    permission_classes = [scope("rate")]

    @extend_schema(request=AskBody, responses={201: AskShape})
    def post(self, request: Request, slug: str) -> Response:
        seat = seat_of(request, slug)
        seat.require(ADJUDICATOR, OWNER)
        body = AskBody.of(request)
        item = get_item(seat, body.get("item", ""))
        round_ = round_for(seat, item, body.get("round"))
        asked = {"rater": body.get("rater"), "unblinded": body.get("unblinded")}
        made = ask_third_rater(seat=seat, round_=round_, item=item, **asked)
        answer = {"item": item.identifier, "round": round_.number, "rater": made.rater.code}
        answer |= {"unblinded": made.unblinded}
        return Response(answer, status=201)


class ThirdRaterShape(serializers.Serializer[Any]):
    """A third rater of a round, and how many unanswered items it was about."""

    rater = serializers.CharField()
    n_items = serializers.IntegerField()


class RemindThirdRater(APIView):
    """Reminds a third rater of the items that they have not answered, by a line in their inbox."""

    @extend_schema(request=None, responses=ThirdRaterShape)
    def post(self, request: Request, slug: str, number: int, code: str) -> Response:
        """409 where they have answered everything, or the round is closed; for the owner."""
        member, n = remind_third_rater(seat=seat_of(request, slug), number=number, rater=code)
        return Response({"rater": member.code, "n_items": n})


class WithdrawThirdRater(APIView):
    """Asks a third rater no more for the items that they have not answered; their answers stay and count."""

    @extend_schema(request=None, responses=ThirdRaterShape)
    def post(self, request: Request, slug: str, number: int, code: str) -> Response:
        """409 where they have answered everything, or the round is closed; for the owner."""
        member, n = withdraw_third_rater(seat=seat_of(request, slug), number=number, rater=code)
        return Response({"rater": member.code, "n_items": n})


class RulesOfStudy(APIView):
    """Applies the study's rules to a round that is being resolved; a worker does it."""

    @extend_schema(request=None, responses={202: None})
    def post(self, request: Request, slug: str, number: int) -> Response:
        apply_rules(seat=seat_of(request, slug), number=number)
        return Response(status=202)
