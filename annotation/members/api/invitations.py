"""Invitations into a study over REST."""

from typing import Any

from django.urls import reverse
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from annotation.core.access import OWNER, get_invitation
from annotation.core.api_bodies import Body, StringField, Whole
from annotation.core.api_pages import PAGE, list_page, pages_of
from annotation.core.api_requests import present_entries, seat_of
from annotation.invitations.actions import invitations as actions
from annotation.invitations.queries.invitations import InvitationLine, invitation_line, invitation_lines
from annotation.models import Membership
from shared.entries_field import EntriesField
from shared.site_links import absolute

STATES = [("open", "open"), ("used up", "used up"), ("withdrawn", "withdrawn"), ("over", "over")]


class InvitationBody(Body):
    """What a new invitation needs; nothing is sent to anybody."""

    refusal = "Invitation not created."
    documents = ("roles",)

    roles = EntriesField(child=serializers.ChoiceField(Membership.Role.choices))
    note = StringField("Enter at most 200 characters.", required=False, help_text="A note, visible to owners.")
    days = Whole(
        f"Enter a whole number from 1 to {actions.DAYS_MOST}.",
        required=False,
        min_value=1,
        max_value=actions.DAYS_MOST,
        help_text="Days until it expires; 14 by default.",
    )
    n_most = Whole(
        f"Enter a whole number from 1 to {actions.PEOPLE_MOST}.",
        required=False,
        min_value=1,
        max_value=actions.PEOPLE_MOST,
        help_text="How many people can use it; 1 by default.",
    )


class InvitationShape(serializers.Serializer[Any]):
    """An invitation as the owners see it."""

    id = serializers.IntegerField()
    roles = serializers.ListField(child=serializers.CharField())
    note = serializers.CharField()
    state = serializers.ChoiceField(STATES)
    n_most = serializers.IntegerField()
    n_left = serializers.IntegerField()
    members = serializers.ListField(child=serializers.CharField(), help_text="User names of the people who used it.")
    created_at = serializers.DateTimeField()
    expires_at = serializers.DateTimeField()


class NewInvitationShape(InvitationShape):
    """With its link, which nobody can read again."""

    token = serializers.CharField()
    link = serializers.CharField(help_text="Where people accept it.")


def invitation_answer(line: InvitationLine) -> dict[str, Any]:
    one = line.invitation
    people = [use.member.user or use.member.former_user for use in line.uses]
    return {
        "id": one.pk,
        "roles": one.roles,
        "note": one.note,
        "state": line.state,
        "n_most": one.n_most,
        "n_left": line.n_left,
        "members": [person.username for person in people if person],
        "created_at": one.created_at,
        "expires_at": one.expires_at,
    }


class Invitations(APIView):
    """The newest invitations of a study, for its owners, who make new ones."""

    @extend_schema(responses=pages_of(InvitationShape), parameters=PAGE, operation_id="studies_invitations_list")
    def get(self, request: Request, slug: str) -> Response:
        seat = seat_of(request, slug)
        seat.require(OWNER)
        return list_page(self, request, invitation_lines(seat.study), invitation_answer)

    @extend_schema(request=InvitationBody, responses={201: NewInvitationShape})
    def post(self, request: Request, slug: str) -> Response:
        seat, body = seat_of(request, slug), InvitationBody.of(request)
        made, plaintext = actions.invite(
            seat=seat, roles=body.get("roles") or [], **present_entries(body, "note", "days", "n_most")
        )
        link = absolute(reverse("invitation", args=[plaintext]))
        answer = Response(invitation_answer(invitation_line(made)) | {"token": plaintext, "link": link}, status=201)
        answer["Cache-Control"] = "no-store"
        return answer


class WithdrawInvitation(APIView):
    """Ends an invitation; who came in by it stays, and a second time changes nothing."""

    @extend_schema(request=None, responses=InvitationShape)
    def post(self, request: Request, slug: str, pk: int) -> Response:
        seat = seat_of(request, slug)
        invitation = get_invitation(seat, pk)
        actions.withdraw_invitation(seat=seat, invitation=invitation)
        invitation.refresh_from_db()
        return Response(invitation_answer(invitation_line(invitation)))
