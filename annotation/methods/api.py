"""Methods paragraph, checklist, and table of a study over REST."""

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from annotation.assignments.actions.reading_log import REST, note_results
from annotation.core.api_requests import seat_of
from annotation.methods.queries.methods import methods, methods_as_document


class MethodsOfStudy(APIView):
    """The paragraph as plain text, the checklist with answer, evidence and how to mend it, the table as LaTeX.

    What is missing stands in the paragraph as `[missing: …]`. Rounds that the caller is blind in are left out.
    """

    @extend_schema(responses={200: OpenApiTypes.OBJECT})
    def get(self, request: Request, slug: str) -> Response:
        seat = seat_of(request, slug)
        seat.require_reading()
        found = methods_as_document(methods(seat))
        note_results(seat, "methods", REST)
        return Response(found)
