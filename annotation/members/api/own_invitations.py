"""Invitations of the caller to studies over REST."""

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from accounts.api import scope
from annotation.core.api_pages import PAGE, list_page, pages_of
from annotation.core.api_requests import caller
from annotation.invitations.actions import own_invitations as actions
from annotation.invitations.queries.own_invitations import invitations_of
from annotation.members.actions.leaving import decline
from annotation.models import Membership


class OwnInvitationShape(serializers.Serializer[Any]):
    """An invitation as the invited person sees it."""

    id = serializers.CharField()
    study = serializers.CharField(help_text="The slug of the study.")
    title = serializers.CharField()
    invited_by = serializers.CharField(help_text="The name of the owner who invited.")
    roles = serializers.ListField(child=serializers.ChoiceField(Membership.Role.choices))
    invited_at = serializers.DateTimeField()


class AcceptedShape(serializers.Serializer[Any]):
    """The place that someone has in a study by now."""

    study = serializers.CharField()
    state = serializers.ChoiceField(Membership.State.choices)
    roles = serializers.ListField(child=serializers.CharField())
    code = serializers.CharField(allow_null=True)


def own_invitation_answer(one: Membership) -> dict[str, Any]:
    return {
        "id": one.invitation_key,
        "study": one.study.slug,
        "title": one.study.title,
        "invited_by": one.invited_by.signed_name if one.invited_by else "",
        "roles": one.roles,
        "invited_at": one.invited_at,
    }


class OwnInvitations(APIView):
    """The invitations to studies that wait for the caller's answer, the newest first."""

    permission_classes = [scope("rate")]

    @extend_schema(responses=pages_of(OwnInvitationShape), parameters=PAGE, operation_id="me_invitations_list")
    def get(self, request: Request) -> Response:
        return list_page(self, request, list(invitations_of(caller(request))), own_invitation_answer)


class AcceptInvitation(APIView):
    """Makes the caller a member of the study."""

    permission_classes = [scope("rate")]

    @extend_schema(request=None, responses=AcceptedShape)
    def post(self, request: Request, key: str) -> Response:
        found = actions.accept(user=caller(request), key=key)
        answer = {"study": found.study.slug, "state": found.state, "roles": found.roles, "code": found.code}
        return Response(answer)


class DeclineInvitation(APIView):
    """Declines an invitation; its owner sees that."""

    permission_classes = [scope("rate")]

    @extend_schema(request=None, responses={204: None})
    def post(self, request: Request, key: str) -> Response:
        decline(user=caller(request), key=key)
        return Response(status=204)
