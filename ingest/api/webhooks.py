"""Webhook of GitHub over REST."""

from typing import Any

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from ingest.actions.deliveries import take_delivery


class MessageAnswer(serializers.Serializer[Any]):
    """The run that takes the message in; null where there is nothing to keep, or it was here before."""

    run = serializers.IntegerField(allow_null=True)


class Messages(APIView):
    """Where GitHub sends its webhook's messages; signed with the secret that both sides know."""

    authentication_classes = ()
    permission_classes = ()
    throttle_classes = ()

    @extend_schema(
        request=OpenApiTypes.OBJECT,
        parameters=[
            OpenApiParameter("X-GitHub-Event", OpenApiTypes.STR, OpenApiParameter.HEADER),
            OpenApiParameter("X-GitHub-Delivery", OpenApiTypes.STR, OpenApiParameter.HEADER),
            OpenApiParameter("X-Hub-Signature-256", OpenApiTypes.STR, OpenApiParameter.HEADER),
        ],
        responses={
            202: MessageAnswer,
            200: MessageAnswer,
            401: OpenApiResponse(description="The signature is wrong."),
            404: OpenApiResponse(description="This server accepts no messages."),
        },
        auth=[],
    )
    def post(self, request: Request) -> Response:
        given = request.headers
        run = take_delivery(
            guid=given.get("X-GitHub-Delivery", ""),
            event=given.get("X-GitHub-Event", ""),
            signature=given.get("X-Hub-Signature-256", ""),
            body=request.body,
        )
        return Response({"run": run.pk if run else None}, status=202 if run else 200)
