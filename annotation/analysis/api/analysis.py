"""Analyses of agreed labels over REST: counts, cross tables, flows, numbers, and others."""

from typing import Any

from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from annotation.analysis import combinations, counts, crosstab
from annotation.analysis.api.shapes import (
    CombinationsShape,
    CountsShape,
    CrosstabShape,
    LabelFlowShape,
    NumbersShape,
    ProfilesShape,
    SaturationShape,
    SharesShape,
)
from annotation.analysis.queries import answer, plain_answer
from annotation.analysis.queries.effort import MEASURES
from annotation.analysis.queries.questions import PARTS
from annotation.assignments.actions.reading_log import REST, noting_results
from annotation.core.api_requests import seat_of
from annotation.labels.columns import LEVELS

COMMON = [
    OpenApiParameter("round", int, description="Only labels of this round; else the newest closed one of each item."),
    OpenApiParameter("version", int, description="Mapped to this version of the taxonomy."),
    OpenApiParameter(
        "level",
        str,
        description=f"Level of the tree at which categories are reported: {', '.join(LEVELS)}. "
        "For one dimension: `symptom:root`; several with commas between them.",
    ),
    OpenApiParameter(
        "fold",
        str,
        description="Categories of the requested dimensions that fewer parts have become `others`: a number from 1, or "
        "below 1 a share. For one dimension: `symptom:10`.",
    ),
    OpenApiParameter(
        "left_out",
        str,
        description="Categories that are excluded, each with all below it, as `dimension:category` with commas between "
        "them; the category alone where one dimension is requested.",
    ),
    OpenApiParameter(
        "where",
        str,
        description="Only parts with this category or one below it, as `dimension:category`; of one dimension any of "
        "those named, of several dimensions all. Attributes (`repository:owner/name`) do as well.",
    ),
    OpenApiParameter("parts", str, enum=list(PARTS), description="single: only items of one part."),
]
DIMENSION = OpenApiParameter("dimension", str, required=True, description="A dimension, or an attribute of items.")
BY = OpenApiParameter(
    "by", str, description="Within each value of this dimension or attribute (`repository`, `year` …)."
)
DIMENSIONS = OpenApiParameter("dimensions", str, required=True, description="With commas between them, in their order.")


def answered(request: Request, slug: str, kind: str) -> Response:
    """What a study's agreed labels say to a question of this kind; for all members who are not blind."""
    words: dict[str, Any] = dict(request.query_params.lists())
    seat = seat_of(request, slug)
    with noting_results(seat, f"analysis: {kind}", REST):
        found = answer(seat, kind, words)
    return Response(plain_answer(found))


class CountsOfStudy(APIView):
    """How often each category was agreed on, as a share of a named number, with Wilson's interval."""

    @extend_schema(
        parameters=[
            DIMENSION,
            BY,
            OpenApiParameter("of", str, enum=list(counts.OF), description="With `by`: what shares are of (group)."),
            *COMMON,
        ],
        responses={200: CountsShape},
    )
    def get(self, request: Request, slug: str) -> Response:
        return answered(request, slug, "counts")


class SharesOfStudy(APIView):
    """The share of a mark, such as “only in distributed settings”, in all, per category and per group."""

    @extend_schema(
        parameters=[
            OpenApiParameter(
                "mark", str, required=True, description="A boolean dimension, or a single one with `value`."
            ),
            OpenApiParameter("value", str, description="Which value is the mark; true without it."),
            OpenApiParameter("dimension", str, description="The share within each of its categories."),
            BY,
            *COMMON,
        ],
        responses={200: SharesShape},
    )
    def get(self, request: Request, slug: str) -> Response:
        return answered(request, slug, "shares")


class CrosstabOfStudy(APIView):
    """Two dimensions against each other: counts, a test, Cramér's V and residuals, or the reason why only counts."""

    @extend_schema(
        parameters=[
            OpenApiParameter("rows", str, required=True),
            OpenApiParameter("columns", str, required=True),
            OpenApiParameter("of", str, enum=list(crosstab.OF), description="What `shares` are of (row)."),
            *COMMON,
        ],
        responses={200: CrosstabShape},
    )
    def get(self, request: Request, slug: str) -> Response:
        return answered(request, slug, "crosstab")


class FlowOfStudy(APIView):
    """How parts go through two to four dimensions (symptom → root cause → fix), within each value of another."""

    @extend_schema(
        parameters=[
            DIMENSIONS,
            OpenApiParameter("within", str, description="Apart for each value of this dimension or attribute."),
            *COMMON,
        ],
        responses={200: LabelFlowShape},
    )
    def get(self, request: Request, slug: str) -> Response:
        return answered(request, slug, "flow")


class NumbersOfStudy(APIView):
    """How hard issues were: quantiles, share at or under a cut, cumulative curve, and groups compared by ranks."""

    @extend_schema(
        parameters=[
            OpenApiParameter(
                "measure", str, required=True, description=f"{', '.join(MEASURES)}, or a dimension that is a number."
            ),
            BY,
            OpenApiParameter("cut", float, description="Also report the share at or below this number."),
            *COMMON,
        ],
        responses={200: NumbersShape},
    )
    def get(self, request: Request, slug: str) -> Response:
        return answered(request, slug, "numbers")


class ProfilesOfStudy(APIView):
    """The profile of each repository over the categories, and Spearman's correlation of each two."""

    @extend_schema(
        parameters=[
            DIMENSION,
            OpenApiParameter("by", str, description="The groups that are compared (repository)."),
            *COMMON,
        ],
        responses={200: ProfilesShape},
    )
    def get(self, request: Request, slug: str) -> Response:
        return answered(request, slug, "profiles")


class SaturationOfStudy(APIView):
    """New categories per labelled item, in the order of labelling and on average over all orders."""

    @extend_schema(parameters=[DIMENSION, *COMMON], responses={200: SaturationShape})
    def get(self, request: Request, slug: str) -> Response:
        return answered(request, slug, "saturation")


class CombinationsOfStudy(APIView):
    """Values that come together often, with support and lift."""

    @extend_schema(
        parameters=[
            DIMENSIONS,
            OpenApiParameter("least", float, description="Parts that have it: a number from 1 (2), below 1 a share."),
            OpenApiParameter("largest", int, description=f"Values in a combination: 2 to {combinations.LARGEST}."),
            *COMMON,
        ],
        responses={200: CombinationsShape},
    )
    def get(self, request: Request, slug: str) -> Response:
        return answered(request, slug, "combinations")
