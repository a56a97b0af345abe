"""Members of a study over REST, and their absences."""

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from accounts.api import scope
from annotation.core.access import OWNER, Seat
from annotation.core.api_bodies import Body, StringField
from annotation.core.api_pages import PAGE, list_page, pages_of
from annotation.core.api_requests import present_entries, seat_of
from annotation.core.member_lists import code_order
from annotation.members.actions import members as member_actions
from annotation.models import Membership
from annotation.rounds.actions.absence import set_away
from shared.entries_field import EntriesField


class MachineShape(serializers.Serializer[Any]):
    """Which machine it is, and what it is told."""

    name = serializers.CharField(allow_blank=True)
    version = serializers.CharField(allow_blank=True)
    prompt = serializers.CharField(allow_blank=True)


class MemberBody(Body):
    """A user's roles; what is given replaces what was."""

    documents = ("roles", "kind", "machine")

    user = StringField()
    roles = EntriesField(child=serializers.ChoiceField(Membership.Role.choices))
    kind = serializers.ChoiceField(Membership.Kind.choices, required=False)
    machine = MachineShape(required=False, help_text="Of a model rater; fixed once it has labels.")


class MemberShape(serializers.Serializer[Any]):
    """A member, or someone who was invited; `user` only for the owner.

    An account that was invited is no member until its person accepts; `user` is the name as the owner typed it.
    """

    user = serializers.CharField(allow_null=True)
    state = serializers.ChoiceField(
        Membership.State.choices,
        help_text="member; invited (waits for the answer), declined or withdrawn (of an invitation); left; name_only "
        "(from a sheet, without an account).",
    )
    roles = serializers.ListField(child=serializers.CharField())
    code = serializers.CharField(allow_null=True)
    kind = serializers.CharField()
    machine = MachineShape(allow_null=True)
    away_until = serializers.DateField(
        allow_null=True, help_text="The day of their return, for owners and themselves; before it they get no items."
    )
    notice = serializers.CharField(
        required=False, help_text="Only in the answer to a POST that made one of the demo's people private: what ended."
    )


class Members(APIView):
    """The members of a study; the owner gives a user roles.

    An account that is not a member is invited (201, `"state": "invited"`); staff add it at once. Until its person
    accepts, it can be named in rounds, and sees nothing of the study. Too many unknown names are 429.
    """

    @extend_schema(responses=pages_of(MemberShape), parameters=PAGE, operation_id="studies_members_list")
    def get(self, request: Request, slug: str) -> Response:
        seat = seat_of(request, slug)
        members = list(Membership.objects.filter(study=seat.study).select_related("user", "invited_user"))
        in_order = sorted(members, key=lambda each: code_order(each.code))
        return list_page(self, request, in_order, lambda member: member_answer(seat, member))

    @extend_schema(request=MemberBody, responses={201: MemberShape, 200: MemberShape})
    def post(self, request: Request, slug: str) -> Response:
        seat, body = seat_of(request, slug), MemberBody.of(request)
        placed = member_actions.set_member(
            seat=seat,
            username=body.get("user", ""),
            roles=body.get("roles") or [],
            **present_entries(body, "kind", "machine"),
        )
        notice = {"notice": placed.notice} if placed.notice else {}
        return Response(member_answer(seat, placed.membership) | notice, status=201 if placed.is_new else 200)


def member_answer(seat: Seat, member: Membership) -> dict[str, Any]:
    may_know = seat.has_role(OWNER) or seat.user.is_staff or member.user_id == seat.user.pk
    return {
        "user": member.user_name if may_know else None,
        "state": member.state,
        "roles": member.roles,
        "code": member.code,
        "kind": member.kind,
        "machine": machine_answer(member) if member.is_machine else None,
        "away_until": member.away_until if may_know and member.is_away else None,
    }


class AbsenceBody(Body):
    """Until when a rater is away."""

    documents = ("until", "user")

    until = serializers.DateField(allow_null=True, help_text="The day of the return (UTC); null ends the absence.")
    user = serializers.CharField(required=False, help_text="User name or code, for owners; without it oneself.")


class Absence(APIView):
    """A rater is away until a day: until then they get no items, and what they have is kept for them."""

    permission_classes = [scope("rate")]

    @extend_schema(request=AbsenceBody, responses={200: MemberShape})
    def post(self, request: Request, slug: str) -> Response:
        """Raters set their own absence, owners anybody's; the same again changes nothing."""
        seat, body = seat_of(request, slug), AbsenceBody.of(request)
        made = set_away(seat=seat, until=body.get("until", False), user=body.get("user"))
        return Response(member_answer(seat, made))


def machine_answer(member: Membership) -> dict[str, str]:
    return {"name": member.machine_name, "version": member.machine_version, "prompt": member.machine_prompt}
