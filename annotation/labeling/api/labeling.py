"""Labeling over REST: the next assignment, and its answer."""

from typing import Any

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from accounts.api import scope
from accounts.models import ApiToken
from annotation.calibration.calibration import NO_ANSWER, NO_PART, NOT_ASKED, SKIPPED
from annotation.calibration.queries.training import feedback_of
from annotation.core.access import Seat, get_round
from annotation.core.api_bodies import Body
from annotation.core.api_requests import caller, seat_of
from annotation.core.errors import Invalid
from annotation.invitations.actions.own_invitations import accept_by_next
from annotation.labeling.actions.answers import submit_annotation
from annotation.labeling.actions.next_item import require_present, take_following, take_next
from annotation.labeling.queries.assignments import draft_of, progress, snapshot_to_read
from annotation.labeling.queries.earlier_answers import prefilled_answer
from annotation.models import Assignment, Round
from ingest.queries import issue_as_document
from shared.entries_field import EntriesField
from taxonomy.queries import published_version


class NextShape(serializers.Serializer[Any]):
    """An assignment with everything that a rater needs for it."""

    assignment = serializers.UUIDField(allow_null=True)
    round = serializers.IntegerField()
    item = serializers.CharField()
    position = serializers.IntegerField()
    total = serializers.IntegerField()
    taxonomy = serializers.DictField()
    issue = serializers.DictField(allow_null=True)
    draft = serializers.DictField(
        allow_null=True,
        help_text="The draft. In a relabeling queue without one, the earlier labels as far as they can be mapped.",
    )
    before = serializers.ListField(
        child=serializers.DictField(),
        help_text="In a relabeling queue, each place to relabel or whose meaning changed: part, dimension, is_asked, "
        "the earlier values with version and round, and the reason as a text.",
    )


class AnnotationBody(Body):
    """The answer: labels, or parts, or skip."""

    # `submit_annotation` reads them all: the labeling page sends the same, and what is right depends on the taxonomy.
    documents = (
        *("assignment", "labels", "parts", "skip", "proposals", "memo", "confidence", "flag", "evidence", "snapshot"),
        "seconds",
    )

    assignment = serializers.UUIDField()
    labels = serializers.DictField(required=False, help_text="By dimension key: a list of keys, or a JSON scalar.")
    parts = EntriesField(child=serializers.DictField(), required=False)
    skip = serializers.CharField(required=False)
    proposals = serializers.DictField(required=False)
    memo = serializers.CharField(required=False)
    confidence = serializers.IntegerField(required=False)
    flag = serializers.BooleanField(required=False, help_text="True: this item should be talked about. Skips may, too.")
    evidence = EntriesField(
        child=serializers.DictField(),
        required=False,
        help_text="Quotes an answer rests on: dimension, category (PENDING for a proposal), where (title, body or "
        "comment), comment (its number in the thread), quote, and optionally before and after (the shown text around "
        "it), start and end (characters in the source). With parts, each part has its own.",
    )
    snapshot = serializers.CharField(required=False, help_text="SHA-256 of the state that was read: the pinned one.")
    seconds = serializers.IntegerField(required=False)


class ComparedShape(serializers.Serializer[Any]):
    """One part and dimension of an answer against what is known; null where there is no value."""

    part = serializers.IntegerField()
    dimension = serializers.CharField()
    given = serializers.ListField(child=serializers.JSONField(), allow_null=True)
    known = serializers.ListField(child=serializers.JSONField(), allow_null=True)
    right = serializers.BooleanField()
    missing = serializers.ChoiceField(
        [SKIPPED, NOT_ASKED, NO_ANSWER, NO_PART],
        allow_null=True,
        help_text="Why one side has no value; not asked: the dimension does not apply under the rater's other answers.",
    )


class FeedbackShape(serializers.Serializer[Any]):
    """What a rater is told of their answer to a calibration item."""

    right = serializers.BooleanField()
    dimensions = ComparedShape(many=True)
    why = serializers.CharField()


class AnnotationShape(serializers.Serializer[Any]):
    """The revision that was stored."""

    id = serializers.UUIDField()
    assignment = serializers.UUIDField()
    round = serializers.IntegerField()
    item = serializers.CharField()
    revision = serializers.IntegerField()
    state = serializers.CharField()
    flag = serializers.BooleanField()
    created_at = serializers.DateTimeField()
    feedback = FeedbackShape(
        allow_null=True, help_text="Of a calibration item: the answer against the known one; null for any other."
    )
    next = NextShape(allow_null=True, required=False)


class Next(APIView):
    """The assignment to work on now; the same one until it is submitted or skipped; 204 when there is none.

    409 `away` for a rater who is away. Where the round has a minimum on calibration items and the rater has not reached
    it, 409 `below_minimum` in place of any other item.

    Whoever was invited as a rater accepts by the first one that they ask for with a token.
    """

    permission_classes = [scope("rate", read="rate")]

    @extend_schema(
        parameters=[
            OpenApiParameter("after", OpenApiTypes.UUID, description="Looks ahead of this assignment, without a lease.")
        ],
        responses={200: NextShape, 204: OpenApiResponse(description="Nothing for you now.")},
    )
    def get(self, request: Request, slug: str, number: int) -> Response:
        if isinstance(request.auth, ApiToken):  # a link in a browser accepts nothing
            accept_by_next(user=caller(request), slug=slug, number=number)
        seat = seat_of(request, slug)
        round_ = get_round(seat, number)
        require_present(seat)
        found = take_next(seat=seat, round_=round_, after=request.query_params.get("after") or None)
        return Response(status=204) if found is None else Response(next_answer(seat, round_, found))


def next_answer(seat: Seat, round_: Round, assignment: Assignment) -> dict[str, Any]:
    assert seat.membership is not None
    snapshot = snapshot_to_read(assignment.item)
    tree = published_version(round_.taxonomy_version_id)
    assignment.round = round_
    carried = prefilled_answer(assignment, tree)
    draft = draft_of(assignment)
    return {
        "assignment": assignment.public_id if assignment.pk else None,
        "round": round_.number,
        "item": assignment.item.identifier,
        "position": assignment.position,
        "total": progress(round_, seat.membership).n_total,
        "taxonomy": {"slug": tree.slug, "version": tree.number},
        "issue": issue_as_document(snapshot.issue, snapshot) if snapshot else None,
        "draft": carried.draft if carried and draft is None else draft,
        "before": carried.before_as_documents if carried else [],
    }


class Annotations(APIView):
    """Takes the answer to an assignment; with `?next=1` the next assignment comes along."""

    permission_classes = [scope("rate")]

    @extend_schema(
        parameters=[
            OpenApiParameter("Idempotency-Key", str, OpenApiParameter.HEADER),
            OpenApiParameter("next", OpenApiTypes.STR),
        ],
        request=AnnotationBody,
        responses={200: AnnotationShape, 201: AnnotationShape},
    )
    def post(self, request: Request, slug: str) -> Response:
        seat, body = seat_of(request, slug), AnnotationBody.of(request)
        identifier = body.get("assignment")
        if identifier is None:
            raise Invalid("Labels not saved.", fields={"assignment": ["Name the assignment."]})
        submitted = submit_annotation(
            seat=seat,
            assignment=identifier,
            body=body,
            idempotency_key=request.headers.get("Idempotency-Key", ""),
        )
        annotation, assignment = submitted.annotation, submitted.assignment
        feedback = feedback_of(assignment, annotation)
        answer: dict[str, Any] = {
            "id": annotation.public_id,
            "assignment": assignment.public_id,
            "round": assignment.round.number,
            "item": assignment.item.identifier,
            "revision": annotation.revision,
            "state": "skipped" if annotation.skip_reason else "submitted",
            "flag": annotation.is_flagged,
            "created_at": annotation.created_at,
            "feedback": feedback.as_document() if feedback else None,
        }
        if request.query_params.get("next") in ("1", "true"):
            following, _ = take_following(seat=seat, round_=assignment.round)
            answer["next"] = next_answer(seat, assignment.round, following) if following else None
        return Response(answer, status=201 if submitted.is_new else 200)
