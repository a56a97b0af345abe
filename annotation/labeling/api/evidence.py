"""Evidence of answers over REST: quotes with their place in the snapshot."""

from typing import Any

from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.utils.urls import replace_query_param
from rest_framework.views import APIView

from accounts.api import AnyAccept, format_of, scope
from annotation.assignments.actions.reading_log import FILE, REST, note_reading
from annotation.core.api_pages import DIMENSION, ROUND, ROUND_LABEL
from annotation.core.api_requests import dimension_in_address, rater_in_address, round_number_in_address, seat_of
from annotation.core.download_log import filters_of, record_download
from annotation.exports.api.item_pages import (
    CURSOR,
    MOST_PER_PAGE,
    PAGE,
    PAGE_SIZE,
    cursor_of,
    encode_cursor,
    pages_of_rows,
)
from annotation.exports.queries import rows, write
from ingest.api.files import FORMAT
from shared.request_checks import page_size


class EvidenceOfStudy(APIView):
    """The quotes that answers rest on: a rater reads only their own, others all but the rounds they are blind in."""

    permission_classes = [scope("read")]
    content_negotiation_class = AnyAccept

    @extend_schema(
        parameters=[
            ROUND,
            ROUND_LABEL,
            DIMENSION,
            FORMAT,
            OpenApiParameter("rater", str, description="Only this rater's, by code."),
            CURSOR,
            PAGE_SIZE,
        ],
        responses={200: pages_of_rows("evidence")},
    )
    def get(self, request: Request, slug: str) -> Any:
        seat = seat_of(request, slug)
        format = format_of(request)
        asked: dict[str, Any] = {
            "round_number": round_number_in_address(request, seat),
            "dimension": dimension_in_address(request, seat),
            "rater": rater_in_address(request, seat),
        }
        found = rows.evidence(seat, **asked, after=(0, 0) if format else cursor_of(request))
        read = rows.read_of_others(seat, asked["round_number"])
        size = page_size(request, PAGE, MOST_PER_PAGE)
        note_reading(seat, read, "evidence", FILE if format else REST)
        if format:
            record_download(seat=seat, what="evidence", format=format, method=request.method, **filters_of(asked))
            sent = rows.flat(seat, rows.while_reading(seat, found))
            return rows.response_pieces(seat, "evidence", format, write("evidence", format, sent))
        gathered: list[dict[str, Any]] = []
        following, last = None, (0, 0)
        for place, here in found:
            if len(gathered) == size and here:
                following = replace_query_param(request.build_absolute_uri(), "cursor", encode_cursor(request, last))
                break
            if here:  # a quote that is withheld moves no cursor, which would tell that it is there
                gathered.extend(here)
                last = place
        return Response({"results": gathered, "next": following})
