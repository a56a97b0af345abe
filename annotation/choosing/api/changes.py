"""Changed issues of a study over REST."""

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.settings import api_settings
from rest_framework.views import APIView

from annotation.choosing.actions import pinning as actions
from annotation.choosing.queries import changes as queries
from annotation.core.access import OWNER
from annotation.core.api_bodies import Body, CheckedListField, StringField
from annotation.core.api_pages import PAGE, JobShape, pages_of
from annotation.core.api_requests import seat_of
from annotation.core.bulk_jobs import job_as_document, pinning_of
from annotation.models import BulkJob
from ingest.models import Issue
from ingest.queries import run_as_document


class ChangeShape(serializers.Serializer[Any]):
    """An item whose issue changed, is gone, or was answered on another state than the pinned one."""

    item = serializers.CharField()
    presence = serializers.ChoiceField(Issue.Presence.choices)
    moved_to = serializers.CharField(allow_null=True)
    pinned = serializers.CharField(allow_null=True, help_text="SHA-256 of the state that raters read.")
    current = serializers.CharField(allow_null=True, help_text="SHA-256 of the newest state.")
    changed = serializers.ListField(child=serializers.CharField(), help_text="A text; empty where current is pinned.")
    n_answers = serializers.IntegerField()
    n_answers_on_other_states = serializers.IntegerField()


class RepinBody(Body):
    """Either items, or all."""

    refusal = "Items not valid."
    documents = ("all",)

    items = CheckedListField("Send a list of items as owner/name#number.", child=StringField(), required=False)
    all = serializers.BooleanField(required=False)


class RepinnedShape(serializers.Serializer[Any]):
    """How many items were moved on."""

    repinned = serializers.IntegerField()


class RepinningShape(serializers.Serializer[Any]):
    """The job that pins many items to their newest states."""

    job = JobShape(allow_null=True, help_text="Null once it is done, and before there is one.")


class CheckBody(Body):
    """What GitHub is to be asked of the study's issues."""

    documents = ("what",)

    what = serializers.ChoiceField(list(actions.QUESTIONS))


class StartedShape(serializers.Serializer[Any]):
    """The fetches that were started, as under /fetches/."""

    fetches = serializers.ListField(child=serializers.DictField())


class Changes(APIView):
    """Items that changed at GitHub since they were pinned, by the order in which they became items."""

    @extend_schema(responses=pages_of(ChangeShape), parameters=PAGE, operation_id="studies_changes_list")
    def get(self, request: Request, slug: str) -> Response:
        seat = seat_of(request, slug)
        seat.require_reading()
        pagination: Any = api_settings.DEFAULT_PAGINATION_CLASS
        pages = pagination()
        rows = queries.for_list(queries.changed_items(seat)).order_by("pk")
        found = pages.paginate_queryset(rows, request, self)
        answer: Response = pages.get_paginated_response(
            [change_answer(line) for line in queries.change_lines(seat, found)]
        )
        return answer


def change_answer(line: queries.ItemChangeLine) -> dict[str, Any]:
    pinned, current = line.item.snapshot, line.issue.current_snapshot
    return {
        "item": line.item.identifier,
        "presence": line.issue.presence,
        "moved_to": line.issue.moved_to or None,
        "pinned": pinned.sha256 if pinned else None,
        "current": current.sha256 if current else None,
        "changed": list(line.words),
        "n_answers": line.n_answers,
        "n_answers_on_other_states": line.n_answers_on_other_states,
    }


class Repin(APIView):
    """Lets raters read the newest states of items from now on; annotations keep the state they were made on."""

    @extend_schema(responses=RepinningShape)
    def get(self, request: Request, slug: str) -> Response:
        """How far the job is that pins many items to their newest states, for the owner; null once it is done."""
        seat = seat_of(request, slug)
        seat.require(OWNER)
        job = pinning_of(seat.study)
        return Response({"job": job_as_document(job) if job else None})

    @extend_schema(request=RepinBody, responses={200: RepinnedShape, 202: JobShape})
    def post(self, request: Request, slug: str) -> Response:
        """More than 20,000 items are pinned by a job: 202 with its row."""
        seat, body = seat_of(request, slug), RepinBody.of(request)
        done = actions.repin_items(seat=seat, items=body.get("items"), everything=body.get("all") is True)
        if isinstance(done, BulkJob):
            return Response(job_as_document(done), status=202)
        return Response({"repinned": done})


class CheckOfIssues(APIView):
    """Asks GitHub about the study's issues: one fetch for each repository."""

    @extend_schema(request=CheckBody, responses={202: StartedShape})
    def post(self, request: Request, slug: str) -> Response:
        runs = actions.ask_github(seat=seat_of(request, slug), what=CheckBody.of(request).get("what", ""))
        return Response({"fetches": [run_as_document(run, refusals_most=0) for run in runs]}, status=202)
