"""Rows over REST: agreed labels, issues, and closing changes of a study."""

from collections.abc import Callable
from typing import Any

from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.views import APIView

from accounts.api import AnyAccept, format_of
from annotation.assignments.actions.reading_log import FILE, REST, note_results
from annotation.core.api_pages import DIMENSION, ROUND, ROUND_LABEL, VERSION
from annotation.core.api_requests import (
    choice_in_address,
    dimension_in_address,
    number_in_address,
    round_number_in_address,
    seat_of,
)
from annotation.core.download_log import filters_of, record_download
from annotation.exports.api.item_pages import CURSOR, PAGE_SIZE, cursor_of, page_of_items, pages_of_rows
from annotation.exports.queries import rows
from annotation.exports.queries.options import SHAPES
from ingest.api.files import FORMAT
from shared.chunks import n_characters


class Labels(APIView):
    """The agreed labels: for owner, adjudicator, reader, and raters who are not blind."""

    content_negotiation_class = AnyAccept

    @extend_schema(
        parameters=[
            ROUND,
            ROUND_LABEL,
            DIMENSION,
            VERSION,
            FORMAT,
            OpenApiParameter("shape", str, enum=list(SHAPES), description="Of a file: wide has a row for each part."),
            CURSOR,
            PAGE_SIZE,
        ],
        responses={200: pages_of_rows("labels")},
    )
    def get(self, request: Request, slug: str) -> Any:
        seat = seat_of(request, slug)
        format = format_of(request)
        asked: dict[str, Any] = {
            "round_number": round_number_in_address(request, seat),
            "dimension": dimension_in_address(request, seat),
            "version": number_in_address(request, "version"),
        }
        shape = choice_in_address(request, "shape", SHAPES, SHAPES[0])
        if format:
            answer: Any = rows.stream_rows(seat, "labels", format, options={**asked, "shape": shape})
        else:
            answer = page_of_items(request, rows.labels(seat, **asked, after=cursor_of(request)))
        note_results(seat, "labels", FILE if format else REST, asked["round_number"])
        if format:
            filters = filters_of({**asked, "shape": shape})
            record_download(seat=seat, what="labels", format=format, method=request.method, **filters)
        return answer


def _about_issues(
    request: Request,
    slug: str,
    what: str,
    read: Callable[..., rows.Found],
    n_characters: Callable[[Any], int] = lambda row: 0,
) -> Any:
    """Rows about a study's issues: a page of what `read` finds, or a file, whose download the audit log keeps."""
    seat = seat_of(request, slug)
    format = format_of(request)
    if format:
        answer = rows.stream_rows(seat, what, format)
        record_download(seat=seat, what=what, format=format, method=request.method)
        return answer
    return page_of_items(request, read(seat, after=cursor_of(request)), n_characters)


class IssuesOfStudy(APIView):
    """The study's issues as they are pinned; people by pseudonym unless the study's owner decided otherwise."""

    content_negotiation_class = AnyAccept

    @extend_schema(
        operation_id="study_issues", parameters=[FORMAT, CURSOR, PAGE_SIZE], responses={200: pages_of_rows("issues")}
    )
    def get(self, request: Request, slug: str) -> Any:
        return _about_issues(request, slug, "issues", rows.issues, n_characters)


class ClosingChanges(APIView):
    """What closed the study's issues, and linked pull requests; people by pseudonym as in `issues`."""

    content_negotiation_class = AnyAccept

    @extend_schema(
        operation_id="study_changes", parameters=[FORMAT, CURSOR, PAGE_SIZE], responses={200: pages_of_rows("changes")}
    )
    def get(self, request: Request, slug: str) -> Any:
        return _about_issues(request, slug, "changes", rows.changes)
