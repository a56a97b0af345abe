"""Disagreements and resolutions over REST."""

from collections.abc import Sequence
from typing import Any

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.settings import api_settings
from rest_framework.views import APIView

from accounts.api import scope
from annotation.assignments.actions.reading_log import REST, note_reading
from annotation.core.access import ADJUDICATOR, OWNER, Seat, get_item, get_round
from annotation.core.api_bodies import Body, StringField, Switch, Whole
from annotation.core.api_pages import DIMENSION, ROUND, ROUND_LABEL, pages_of
from annotation.core.api_requests import choice_in_address, dimension_in_address, round_for, round_in_address, seat_of
from annotation.core.errors import Invalid, Stale
from annotation.exports.api.item_pages import CURSOR, PAGE_SIZE, cursor_of, page_of_items
from annotation.labels.queries import rows as label_rows
from annotation.labels.queries.resolution_facts import meetings_of, newest_by_hand, ways, with_facts
from annotation.labels.queries.verdicts import resolution_values
from annotation.labels.resolution_methods import STATED
from annotation.labels.resolution_notes import notes_in, notes_of
from annotation.models import Meeting, Resolution, Round
from annotation.resolving.actions.meetings import NOT_STATED, state_meeting
from annotation.resolving.actions.resolutions import NOT_TAKEN, reopen, resolve
from annotation.resolving.api.shapes import DisagreementShape, ShapeWithNotes
from shared.entries_field import EntriesField
from taxonomy.queries import published_version


def resolvable_in_address(request: Request, seat: Seat) -> list[Round]:
    """The rounds whose disagreements and resolutions are asked for: the one named, or all. Raises Forbidden, Blind."""
    if not seat.user.is_staff:
        seat.require(ADJUDICATOR, OWNER)
    round_ = round_in_address(request, seat)
    if round_ is not None:
        seat.require_answers(round_)
    return [each for each in label_rows.resolvable_rounds(seat) if round_ is None or each.pk == round_.pk]


class DisagreementsOfStudy(APIView):
    """Where raters differ, item by item in the order of the rounds."""

    permission_classes = [scope("rate")]

    @extend_schema(
        parameters=[
            ROUND,
            ROUND_LABEL,
            DIMENSION,
            OpenApiParameter("state", str, enum=["open", "resolved", "all"]),
            CURSOR,
            PAGE_SIZE,
        ],
        responses={200: pages_of(DisagreementShape)},
    )
    def get(self, request: Request, slug: str) -> Response:
        seat = seat_of(request, slug)
        rounds = resolvable_in_address(request, seat)
        found = label_rows.disagreements(
            rounds,
            state=choice_in_address(request, "state", ("open", "resolved", "all"), "open") or "open",
            dimension=dimension_in_address(request, seat),
            after=cursor_of(request),
            without=seat.withheld,
        )
        answer = page_of_items(request, found)
        note_reading(seat, rounds, "disagreements", REST)
        return answer


class MeetingBody(serializers.Serializer[Any]):
    """A meeting in which disagreements were discussed, as the person who resolves states it."""

    held_on = serializers.DateField()
    participants = EntriesField(
        child=serializers.CharField(), help_text="Two people or more, by code, user name or name."
    )


class ResolutionBody(ShapeWithNotes, Body):
    """A decision on one part of an item and one dimension; or, without `values`, a meeting stated for one.

    With `round` and `meeting` alone the meeting is stated for all resolutions of the round that would otherwise be
    reported as resolved by adjudication.
    """

    refusal = NOT_TAKEN
    notes_before = "expected"
    documents = ("values", "method", "meeting", "expected")

    item = StringField(required=False)
    part = Whole(required=False)
    round = Whole(required=False)
    dimension = StringField(required=False)
    values = EntriesField(
        child=serializers.JSONField(), required=False, help_text="Needed unless `reopen`, or a meeting alone."
    )
    no_part = Switch(
        required=False,
        help_text="True: the part does not exist, which settles all its dimensions. `values` are left out or empty.",
    )
    reopen = Switch(required=False, help_text="True reopens the disagreement.")
    method = serializers.ChoiceField(
        STATED,
        required=False,
        help_text="Checked against answers, remarks and roles. Without it: `discussion` if two people, one of them a "
        "rater of the item, wrote remarks there, else `adjudicator`.",
    )
    meeting = MeetingBody(required=False)
    expected = serializers.UUIDField(allow_null=True, required=False)

    def note_field(self) -> serializers.CharField:
        return StringField(required=False)


class MeetingShape(serializers.Serializer[Any]):
    """A meeting as it was stated: raters by code, others as they were named."""

    held_on = serializers.DateField()
    participants = serializers.ListField(child=serializers.CharField())
    stated_by = serializers.CharField()
    stated_at = serializers.DateTimeField()


class ResolutionShape(ShapeWithNotes):
    """A decision that was taken; `reported_as` is how papers report it, as far as the facts bear its method out."""

    notes_before = "decider"
    id = serializers.UUIDField()
    item = serializers.CharField()
    part = serializers.IntegerField()
    round = serializers.IntegerField()
    dimension = serializers.CharField()
    revision = serializers.IntegerField()
    values = serializers.ListField(child=serializers.JSONField())
    no_part = serializers.BooleanField(help_text="The part was resolved as one that does not exist.")
    method = serializers.CharField()
    reported_as = serializers.CharField()
    meeting = MeetingShape(allow_null=True)
    decider = serializers.ChoiceField(label_rows.DECIDERS, help_text="A rule of the study, a person, or an import.")
    decided_by = serializers.CharField()
    decided_at = serializers.DateTimeField()


class Resolutions(APIView):
    """Decides where raters differ. A stale `expected` is 409 with the newer decision as `resolution`."""

    permission_classes = [scope("rate")]
    ordering = ("pk",)

    @extend_schema(
        parameters=[ROUND, DIMENSION, CURSOR, PAGE_SIZE],
        responses={200: pages_of(ResolutionShape)},
        operation_id="studies_resolutions_list",
    )
    def get(self, request: Request, slug: str) -> Response:
        """Every decision with its revisions: for owner and adjudicator."""
        seat = seat_of(request, slug)
        rounds = resolvable_in_address(request, seat)
        rows = Resolution.objects.filter(seat.not_withheld(), round__in=rounds)
        if key := dimension_in_address(request, seat):
            rows = rows.filter(dimension__key=key)
        paginator: Any = api_settings.DEFAULT_PAGINATION_CLASS
        pagination = paginator()
        found = pagination.paginate_queryset(
            with_facts(rows).select_related("round", "item", "dimension", "decided_by"), request, self
        )
        answer: Response = pagination.get_paginated_response(resolution_answers(found))
        note_reading(seat, rounds, "resolutions", REST)
        return answer

    @extend_schema(
        request=ResolutionBody,
        responses={201: ResolutionShape, 409: OpenApiResponse(OpenApiTypes.OBJECT, description="Stale.")},
    )
    def post(self, request: Request, slug: str) -> Response:
        seat = seat_of(request, slug)
        seat.require(ADJUDICATOR, OWNER)
        body = ResolutionBody.of(request)
        if body.get("item") is None and body.get("meeting") is not None:
            return Response(_state_for_queue(seat, body), status=201)
        is_reopening = body.get("reopen", False)
        no_part = body.get("no_part") or None
        has_values = body.get("values") is not None or no_part is not None
        is_meeting = not has_values and body.get("meeting") is not None and not is_reopening
        has_all = is_reopening or is_meeting or no_part is not None
        for name in ("item", "dimension") if has_all else ("item", "dimension", "values"):
            if body.get(name) is None:
                raise Invalid("Disagreement not resolved.", fields={name: ["This field is required."]})
        if is_reopening and (body.get("values") or body.get("meeting")):
            name = "values" if body.get("values") else "meeting"
            sentence = "Either resolve or reopen. A reopened place has no values and no meeting."
            raise Invalid("Resolution not reopened.", fields={name: [sentence]})
        item = get_item(seat, body["item"])
        asked: dict[str, Any] = {
            "seat": seat,
            "round_": round_for(seat, item, body.get("round"), body["dimension"]),
            "item": item,
            "part": body.get("part", 1),
            "dimension": body["dimension"],
        }
        if is_meeting:
            return Response(_state_for_place(asked, body), status=201)
        asked |= {"expected": body.get("expected"), **notes_in(body).columns()}
        try:
            if is_reopening:
                made = reopen(**asked)
            else:
                asked |= {"method": body.get("method") or "", "meeting": body.get("meeting")}
                made = resolve(values=body.get("values") or [], no_part=no_part, **asked)
        except Stale as stale:
            newer = {"code": stale.code, "message": stale.message, "fields": {}, "resolution": stale.newer or None}
            return Response(newer, status=409)
        return Response(resolution_answer(made), status=201)


def _state_for_queue(seat: Seat, body: dict[str, Any]) -> dict[str, Any]:
    """States a meeting for the whole queue of a round."""
    number = body.get("round")
    if number is None:
        raise Invalid(NOT_STATED, fields={"round": ["Enter the number of the round, or name an item."]})
    for name in ("values", "no_part", "method", "dimension", "part", "reopen"):
        if body.get(name) is not None:
            raise Invalid(NOT_STATED, fields={"item": [f"Name the item to which `{name}` belongs."]})
    meeting, n = state_meeting(seat=seat, round_=get_round(seat, number), meeting=body["meeting"])
    return {"round": number, "meeting": meeting_answer(meeting), "n_resolutions": n}


def _state_for_place(asked: dict[str, Any], body: dict[str, Any]) -> dict[str, Any]:
    """States a meeting for the resolution of one place; the answer is that resolution."""
    if body.get("method") is not None:
        raise Invalid(NOT_STATED, fields={"method": ["A method is stated together with `values`."]})
    state_meeting(**asked, meeting=body["meeting"])
    place = {"item": asked["item"], "part": asked["part"], "dimension__key": asked["dimension"]}
    return resolution_answer(newest_by_hand(asked["seat"], asked["round_"]).get(**place))


def resolution_answer(made: Resolution) -> dict[str, Any]:
    rows = with_facts(Resolution.objects.filter(pk=made.pk))
    return resolution_answers(list(rows.select_related("round", "item", "dimension", "decided_by")))[0]


def resolution_answers(rows: Sequence[Any]) -> list[dict[str, Any]]:
    """Resolutions from `with_facts` in the shape of the contract; two queries, those of `ways`, one a version."""
    told, meetings = ways(rows), meetings_of(rows)
    values: dict[int, Any] = {}
    for version in {row.round.taxonomy_version_id for row in rows}:
        those = [row for row in rows if row.round.taxonomy_version_id == version]
        values |= resolution_values(published_version(version), those)
    return [
        {
            "id": row.public_id,
            "item": row.item.identifier,
            "part": row.part,
            "round": row.round.number,
            "dimension": row.dimension.key,
            "revision": row.revision,
            "values": list(values.get(row.pk, ())),
            "no_part": row.no_part,
            "method": row.method,
            "reported_as": told[row.pk],
            "meeting": meeting_answer(meetings[row.pk]) if row.pk in meetings else None,
            **notes_of(row).columns(),
            "decider": label_rows.decider_of(row),
            "decided_by": row.decided_by.told_name if row.decided_by else "",
            "decided_at": row.created_at,
        }
        for row in rows
    ]


def meeting_answer(meeting: Meeting) -> dict[str, Any]:
    return {
        "held_on": meeting.held_on.isoformat(),
        "participants": meeting.participants,
        "stated_by": meeting.stated_by.told_name if meeting.stated_by else "",
        "stated_at": meeting.created_at,
    }
