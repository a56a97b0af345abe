"""Proposals over REST, and the owner's answers."""

from typing import Any
from uuid import UUID

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.settings import api_settings
from rest_framework.views import APIView

from accounts.api import scope
from annotation.assignments.actions.reading_log import REST, note_reading
from annotation.core.access import ADJUDICATOR, OWNER, Seat, get_item
from annotation.core.api_bodies import Body, StringField, Whole
from annotation.core.api_pages import PAGE, pages_of
from annotation.core.api_requests import (
    choice_in_address,
    dimension_in_address,
    round_for,
    round_number_in_address,
    seat_of,
)
from annotation.core.errors import Stale
from annotation.labels.actions.faults import LONGEST_MEMO, LONGEST_NAME, NOT_PROPOSED, propose_category
from annotation.labels.queries.proposal_states import STATES
from annotation.models import ProposalOutcome, Round
from annotation.proposals import queries
from annotation.proposals.actions import NO_REASON, NOT_TAKEN, settle_proposals
from annotation.proposals.queries import get_proposal
from shared.entries_field import EntriesField


class OutcomeShape(serializers.Serializer[Any]):
    """What was answered; `category` by key, with the version that has it."""

    id = serializers.UUIDField()
    outcome = serializers.ChoiceField(ProposalOutcome.Outcome.values)
    category = serializers.CharField(allow_null=True)
    category_name = serializers.CharField(allow_null=True)
    version = serializers.IntegerField(allow_null=True)
    reason = serializers.CharField()
    decided_at = serializers.DateTimeField()


class ProposalShape(serializers.Serializer[Any]):
    """A proposal; open ones of near-identical names have the same `group`, and `near` names categories there are."""

    id = serializers.UUIDField()
    item = serializers.CharField()
    part = serializers.IntegerField()
    round = serializers.IntegerField()
    dimension = serializers.CharField()
    rater = serializers.CharField()
    assignment = serializers.UUIDField(
        allow_null=True, help_text="The caller's own assignment, to relabel the item; null for another rater's."
    )
    name = serializers.CharField()
    memo = serializers.CharField()
    state = serializers.ChoiceField(STATES)
    outcome = OutcomeShape(allow_null=True)
    group = serializers.UUIDField(allow_null=True)
    near = serializers.ListField(child=serializers.CharField())
    proposed_at = serializers.DateTimeField()


class AcceptedCategory(serializers.Serializer[Any]):
    """A category for the draft."""

    name = serializers.CharField()
    key = serializers.CharField(required=False)
    definition = serializers.CharField(required=False)
    parent: Any = serializers.CharField(required=False, allow_null=True, help_text="Key of the category above.")
    include = EntriesField(child=serializers.CharField(), required=False)
    exclude = EntriesField(child=serializers.CharField(), required=False)
    examples = EntriesField(child=serializers.CharField(), required=False)


class ProposedBody(Body):
    """A category that an item lacks."""

    refusal = NOT_PROPOSED

    item = StringField()
    round = Whole(required=False)
    part = Whole("Enter a whole number from 1.", required=False)
    dimension = StringField()
    name = StringField(f"Enter a category name of at most {LONGEST_NAME} characters.")
    memo = StringField(f"Enter at most {LONGEST_MEMO} characters.", required=False)


class Ids(EntriesField):
    """IDs; one alone will do."""

    child = serializers.UUIDField()

    def to_internal_value(self, data: Any) -> list[str]:
        listed = data if isinstance(data, list) else [data]
        if not all(isinstance(each, str | int) and not isinstance(each, bool) for each in listed):
            raise serializers.ValidationError("Send a list of IDs.")
        return [str(each) for each in listed]


class SettleBody(Body):
    """One of accept, map_to and decline; `also` names more proposals that get the same answer."""

    refusal = NOT_TAKEN
    documents = ("accept",)

    accept = AcceptedCategory(required=False)
    map_to = StringField("Name a category by its key.", required=False)
    decline = StringField(NO_REASON, required=False)
    also = Ids(required=False)
    expected = Ids(required=False, help_text="IDs of the answers that were seen, to change them.")


class Proposals(APIView):
    """What raters proposed: a rater reads their own, owner and adjudicators all but of rounds they are blind in."""

    permission_classes = [scope("rate")]
    ordering = ("pk",)

    @extend_schema(
        responses=pages_of(ProposalShape),
        parameters=[
            *PAGE,
            OpenApiParameter("state", str, enum=list(queries.BY_STATE)),
            OpenApiParameter("round", int, description="Only this round."),
            OpenApiParameter("dimension", str, description="Only this dimension."),
        ],
        operation_id="studies_proposals_list",
    )
    def get(self, request: Request, slug: str) -> Response:
        seat = seat_of(request, slug)
        visible = queries.visible_proposals(seat)
        state = choice_in_address(request, "state", tuple(queries.BY_STATE), "all") or "all"
        number, dimension = round_number_in_address(request, seat), dimension_in_address(request, seat)
        rows = queries.filter_proposals(visible, state=state, round_number=number, dimension=dimension or "")
        groups = groups_of(seat)
        pagination: Any = api_settings.DEFAULT_PAGINATION_CLASS
        pages = pagination()
        found = queries.with_outcomes(pages.paginate_queryset(rows, request, self), seat)
        answer: Response = pages.get_paginated_response([proposal_answer(seat, each, groups) for each in found])
        note_reading(seat, seat.study.rounds.filter(state=Round.State.OPEN), "proposals", REST)
        return answer

    @extend_schema(request=ProposedBody, responses={201: ProposalShape}, operation_id="studies_proposals_create")
    def post(self, request: Request, slug: str) -> Response:
        """An adjudicator or the owner proposes a category while resolving: the taxonomy has no place for an item."""
        seat = seat_of(request, slug)
        if seat.membership is not None:
            seat.require(ADJUDICATOR, OWNER)
        body = {"item": "", "dimension": "", "name": "", **ProposedBody.of(request)}
        item = get_item(seat, body["item"])
        made = propose_category(
            seat=seat,
            round_=round_for(seat, item, body.get("round"), body["dimension"]),
            item=item,
            dimension=body["dimension"],
            name=body["name"],
            memo=body.get("memo", ""),
            part=body.get("part", 1),
        )
        return Response(proposal_answer(seat, get_proposal(seat, made.public_id), groups_of(seat)), status=201)


class OneProposal(APIView):
    """A proposal; the owner answers it, and with `also` others of its dimension in the same way."""

    @extend_schema(responses=ProposalShape)
    def get(self, request: Request, slug: str, pk: UUID) -> Response:
        seat = seat_of(request, slug)
        found = get_proposal(seat, pk)
        if found.rater != (seat.membership and seat.membership.code):
            note_reading(seat, [found.round], "proposals", REST)
        return Response(proposal_answer(seat, found, groups_of(seat)))

    @extend_schema(
        request=SettleBody,
        responses={200: ProposalShape, 409: OpenApiResponse(OpenApiTypes.OBJECT, description="Stale.")},
        operation_id="studies_proposals_settle",
    )
    def post(self, request: Request, slug: str, pk: UUID) -> Response:
        seat = seat_of(request, slug)
        seat.require(OWNER)
        body = SettleBody.of(request)
        try:
            settle_proposals(
                seat=seat,
                proposals=[pk, *body.get("also", [])],
                accept=body.get("accept"),
                map_to=body.get("map_to"),
                decline=body.get("decline"),
                expected=body.get("expected", []),
            )
        except Stale as stale:
            newer = {"code": stale.code, "message": stale.message, "fields": {}, "outcome": stale.newer}
            return Response(newer, status=409)
        return Response(proposal_answer(seat, get_proposal(seat, pk), groups_of(seat)))


Groups = dict[int, tuple[str, list[str]]]


def groups_of(seat: Seat) -> Groups:
    """Open proposal → the first of its group, and the keys of the categories that its name is near to; three queries.

    Only of what this person may read.
    """
    waiting = queries.with_outcomes(queries.filter_proposals(queries.visible_proposals(seat), state="open"))
    return {
        each.id: (group.public_id, [category.key for category in group.near])
        for group in queries.group_proposals(waiting, queries.newest_tree(seat))
        for each in group.proposals
    }


def proposal_answer(seat: Seat, found: queries.ProposalLine, groups: Groups) -> dict[str, Any]:
    """A proposal in the shape of the contract; `near` are the keys of categories with almost its name."""
    group, near = groups.get(found.id, (None, []))
    is_own = seat.membership is not None and seat.membership.code == found.rater
    return {
        "id": found.public_id,
        "item": found.item.identifier,
        "part": found.part,
        "round": found.round.number,
        "dimension": found.dimension,
        "rater": found.rater,
        "assignment": found.assignment if is_own else None,
        "name": found.name,
        "memo": found.memo,
        "state": found.state,
        "outcome": outcome_answer(found.outcome) if found.outcome else None,
        "group": group,
        "near": near,
        "proposed_at": found.proposed_at,
    }


def outcome_answer(outcome: ProposalOutcome) -> dict[str, Any]:
    """What was answered to a proposal, in the shape of the contract."""
    return {
        "id": outcome.public_id,
        "outcome": outcome.outcome,
        "category": outcome.category_key or None,
        "category_name": outcome.category_name or None,
        "version": outcome.version_number,
        "reason": outcome.reason,
        "decided_at": outcome.created_at,
    }
