"""Results over REST: ratings, disagreements, resolutions, agreed labels, agreement."""

from dataclasses import replace

from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from annotation.agreement_report.api.shapes import AgreementShape
from annotation.agreement_report.queries.across_rounds import WEIGHTS, visible_rounds
from annotation.agreement_report.queries.coefficients import agreement_and_raters
from annotation.agreement_report.queries.headline import WORD, headline_set
from annotation.agreement_report.queries.model_raters import with_machines
from annotation.agreement_report.queries.more_items import width_of, with_units_needed
from annotation.agreement_report.queries.options import ask
from annotation.assignments.actions.reading_log import REST, note_results
from annotation.core.api_pages import DIMENSION, ROUND_LABEL
from annotation.core.api_requests import dimension_in_address, number_in_address, round_in_address, seat_of
from annotation.labels.queries.version_mapping import target_version


class AgreementOfStudy(APIView):
    """Agreement per dimension: all coefficients of each, or null with the reason."""

    @extend_schema(
        parameters=[
            OpenApiParameter(
                "round",
                str,
                description="Only this round, by its number; `headline`: the rounds whose agreement is the study's "
                "number (none where no main round is finished). Without it all pilot and main rounds together.",
            ),
            ROUND_LABEL,
            DIMENSION,
            OpenApiParameter("when", str, enum=["before", "after"]),
            OpenApiParameter(
                "version", int, description="All rounds mapped to this version; otherwise each round in its own."
            ),
            OpenApiParameter("level", str, enum=["leaf", "parent", "root"]),
            OpenApiParameter("parts", str, enum=["aligned", "single"]),
            OpenApiParameter("pending", str, enum=["category", "left_out"]),
            OpenApiParameter(
                "applies", str, enum=["both", "either"], description="Without it as the study is set (`applies`)."
            ),
            OpenApiParameter("metric", str, description="The distance of Krippendorff's alpha; else the primary's."),
            OpenApiParameter(
                "weights", str, enum=list(WEIGHTS), description="Of weighted kappa and AC2; else the primary's own."
            ),
            OpenApiParameter("repository", str, description="Only items from there, as owner/name."),
            OpenApiParameter("stratum", str, description="Only items that a sample of the study drew from it."),
            OpenApiParameter("raters", str, description="Two codes, as R1,R2: only what these two gave."),
            OpenApiParameter(
                "width",
                float,
                description="Target width of the 95% CI: each coefficient gets `planned`, how many more units with two "
                "ratings it needs.",
            ),
        ],
        responses={200: AgreementShape(many=True)},
    )
    def get(self, request: Request, slug: str) -> Response:
        seat = seat_of(request, slug)
        seat.require_reading()
        asked = ask(seat, {name: str(value) for name, value in request.query_params.items()})
        asked = replace(asked, dimension=dimension_in_address(request, seat))
        width = width_of(request.query_params.get("width", ""))
        headline = headline_set(seat)
        is_asked = request.query_params.get("round") == WORD
        round_ = None if is_asked else round_in_address(request, seat)
        asked = replace(asked, version=target_version(seat, number_in_address(request, "version"), round_))
        rounds = list(headline.rounds) if is_asked else visible_rounds(seat, round_.number if round_ else None)
        number = round_.number if round_ else None
        entries = agreement_and_raters(seat, rounds, asked, round_number=number, is_headline=headline.is_of(rounds))
        found = with_machines(seat, rounds, asked, entries)
        note_results(seat, "agreement", REST, number)
        return Response(with_units_needed(found, width))
