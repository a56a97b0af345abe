"""Comments on items and the inbox over REST."""

from typing import Any

from drf_spectacular.utils import OpenApiParameter, OpenApiResponse, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from accounts.api import scope
from annotation.assignments.actions.reading_log import REST, note_inbox, note_reading
from annotation.core.access import get_item, get_round
from annotation.core.api_bodies import Body, CheckedListField, StringField, Whole
from annotation.core.api_pages import PAGE, list_page, pages_of
from annotation.core.api_requests import caller, round_named, seat_of, word_in_address
from annotation.core.errors import Invalid
from annotation.discussion.actions import NOT_POSTED, write_remark
from annotation.discussion.queries import discussed_rounds, visible_remarks
from annotation.inbox.actions import read_lines
from annotation.inbox.queries import lines_of, n_unread, with_places
from annotation.labels.answers import MOST_PARTS
from annotation.models import InboxLine, Remark

NO_ROUND = "Enter the number of a round."


class RemarkShape(serializers.Serializer[Any]):
    """A remark; `dimension` is null where it is about the whole item. `author` is a code, or a name without one."""

    id = serializers.UUIDField()
    round = serializers.IntegerField()
    item = serializers.CharField()
    part = serializers.IntegerField()
    dimension = serializers.CharField(allow_null=True)
    author = serializers.CharField()
    text = serializers.CharField(help_text="Markdown.")
    created_at = serializers.DateTimeField()


class RemarkBody(Body):
    """A remark to write; `@name` or `@code` tells a member in their inbox."""

    refusal = NOT_POSTED

    round = Whole(NO_ROUND, min_value=1, max_value=2**31 - 1)
    item = StringField()
    text = StringField("Write a comment.")
    part = Whole(f"Enter a whole number from 1 to {MOST_PARTS}.", required=False)
    dimension = StringField(required=False, allow_null=True)


class InboxLineShape(serializers.Serializer[Any]):
    """A line of one's inbox; `remark` where someone mentions the caller."""

    id = serializers.UUIDField()
    kind = serializers.ChoiceField(InboxLine.Kind.choices)
    study = serializers.CharField()
    round = serializers.IntegerField()
    item = serializers.CharField(allow_null=True)
    n_items = serializers.IntegerField(allow_null=True)
    remark = RemarkShape(allow_null=True)
    created_at = serializers.DateTimeField()
    read_at = serializers.DateTimeField(allow_null=True)


class ReadBody(Body):
    """The lines that were read; without ids, all of them."""

    refusal = "Inbox lines not valid."

    ids = CheckedListField("Send a list of IDs.", child=serializers.UUIDField(), required=False)


class ReadShape(serializers.Serializer[Any]):
    """How many lines became read, and how many are left unread."""

    n_read = serializers.IntegerField()
    n_unread = serializers.IntegerField()


class Remarks(APIView):
    """What was said of items: for owner, adjudicators, and the raters of a round that is over."""

    permission_classes = [scope("rate")]
    ordering = ("pk",)

    @extend_schema(
        responses=pages_of(RemarkShape),
        parameters=[
            *PAGE,
            OpenApiParameter("round", int, description="Only this round."),
            OpenApiParameter("item", str, description="Only this item."),
        ],
        operation_id="studies_remarks_list",
    )
    def get(self, request: Request, slug: str) -> Response:
        seat = seat_of(request, slug)
        round_, name = round_named(request, seat), word_in_address(request, "item")
        rounds = discussed_rounds(seat)
        if round_ is not None:
            seat.require_discussion(round_)
            rounds = [round_]
        rows = visible_remarks(seat, rounds)
        if name:
            item = get_item(seat, name)
            if round_ is not None:
                seat.require_sight_of(round_, item)
            rows = rows.filter(item=item)
        answer = list_page(self, request, rows, remark_answer)
        note_reading(seat, rounds, "remarks", REST)
        return answer

    @extend_schema(request=RemarkBody, responses={201: RemarkShape})
    def post(self, request: Request, slug: str) -> Response:
        seat, body = seat_of(request, slug), RemarkBody.of(request)
        if "round" not in body:
            raise Invalid(NOT_POSTED, fields={"round": [NO_ROUND]})
        made = write_remark(
            seat=seat,
            round_=get_round(seat, body["round"]),
            item=get_item(seat, body.get("item", "")),
            text=body.get("text", ""),
            part=body.get("part", 1),
            dimension=body.get("dimension") or "",
        )
        return Response(remark_answer(made), status=201)


class Inbox(APIView):
    """The caller's own lines, newest first; what tells of others in a round they are blind in comes later."""

    permission_classes = [scope("rate")]
    ordering = ("-pk",)

    @extend_schema(responses=pages_of(InboxLineShape), parameters=PAGE, operation_id="inbox_list")
    def get(self, request: Request) -> Response:
        shown: list[InboxLine] = []

        def answer(line: InboxLine) -> dict[str, Any]:
            shown.append(line)
            return line_answer(line)

        found = list_page(self, request, with_places(lines_of(caller(request))), answer)
        note_inbox(caller(request), shown, REST)
        return found


class InboxRead(APIView):
    """Marks lines of the caller as read."""

    permission_classes = [scope("rate")]

    @extend_schema(request=ReadBody, responses={200: ReadShape, 422: OpenApiResponse(description="Not a list of IDs.")})
    def post(self, request: Request) -> Response:
        ids = ReadBody.of(request).get("ids")
        n_read = read_lines(user=caller(request), lines=ids)
        return Response({"n_read": n_read, "n_unread": n_unread(caller(request))})


def remark_answer(remark: Remark) -> dict[str, Any]:
    """A remark in the shape of the contract: raters as codes."""
    return {
        "id": remark.public_id,
        "round": remark.round.number,
        "item": remark.item.identifier,
        "part": remark.part,
        "dimension": remark.dimension.key if remark.dimension else None,
        "author": remark.author.code or remark.author.signed_name,
        "text": remark.text,
        "created_at": remark.created_at,
    }


def line_answer(line: InboxLine) -> dict[str, Any]:
    """A line of the inbox in the shape of the contract."""
    return {
        "id": line.public_id,
        "kind": line.kind,
        "study": line.round.study.slug,
        "round": line.round.number,
        "item": line.item.identifier if line.item else None,
        "n_items": line.n_items,
        "remark": remark_answer(line.remark) if line.remark else None,
        "created_at": line.created_at,
        "read_at": line.read_at,
    }
