"""Duplicates of a sample over REST."""

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from annotation.choosing.actions.duplicates import find_duplicates
from annotation.choosing.queries.duplicates import likely_duplicates
from annotation.core.access import ADJUDICATOR, OWNER, get_sample
from annotation.core.api_pages import PAGE, JobShape, list_page, pages_of
from annotation.core.api_requests import seat_of
from annotation.core.bulk_jobs import job_as_document
from annotation.models import BulkJob, Item, LikelyDuplicate


class DuplicateShape(serializers.Serializer[Any]):
    """An issue of a group of likely duplicates."""

    group = serializers.IntegerField()
    item = serializers.CharField()
    first = serializers.BooleanField(help_text="The one that the others of its group are duplicates of.")
    how = serializers.ChoiceField(LikelyDuplicate.How.choices)
    like = serializers.CharField(
        allow_null=True, help_text="The issue of the sample that it is most like, or is marked as a duplicate of."
    )
    named = serializers.CharField(help_text="Of which issue it is marked as a duplicate, in or out of the sample.")
    similarity = serializers.FloatField(allow_null=True, help_text="Estimated Jaccard index of title and prose, 0–1.")
    screening = serializers.CharField()
    screening_reason = serializers.CharField()


class SearchShape(JobShape):
    """The search, and once it is done how many groups and issues it found."""

    state = serializers.ChoiceField(BulkJob.State.choices)
    groups = serializers.IntegerField(required=False)
    issues = serializers.IntegerField(required=False)


class Duplicates(APIView):
    """Likely duplicates of a sample, by group. To exclude some, `POST screening/` with items and a reason."""

    ordering = ("pk",)

    @extend_schema(responses=pages_of(DuplicateShape), parameters=PAGE, operation_id="studies_samples_duplicates")
    def get(self, request: Request, slug: str, pk: str) -> Response:
        """What the newest search found; empty before the first one."""
        seat = seat_of(request, slug)
        seat.require(OWNER, ADJUDICATOR)
        return list_page(self, request, likely_duplicates(seat, get_sample(seat, pk)), duplicate_answer)

    @extend_schema(request=None, responses={200: SearchShape, 202: SearchShape}, operation_id="studies_samples_search")
    def post(self, request: Request, slug: str, pk: str) -> Response:
        """Searches the sample; 202 with the row of its job for more than 500 issues. Nothing is excluded."""
        seat = seat_of(request, slug)
        job = find_duplicates(seat=seat, sample=get_sample(seat, pk))
        is_done = job.state == BulkJob.State.DONE
        found = {"groups": job.cursor["groups"], "issues": job.cursor["issues"]} if is_done else {}
        return Response({**job_as_document(job), **found}, status=200 if is_done else 202)


def duplicate_answer(row: Any) -> dict[str, Any]:
    return {
        "group": row.group,
        "item": row.issue.identifier,
        "first": row.is_first,
        "how": row.how,
        "like": row.like.identifier if row.like else None,
        "named": row.named,
        "similarity": row.similarity,
        "screening": row.screening or Item.Screening.UNSCREENED,
        "screening_reason": row.screening_reason or "",
    }
