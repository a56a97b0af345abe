"""Samples, their frames and flow tables, screening and ready-made selections over REST."""

from typing import Any

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema, extend_schema_field
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from accounts.api import AnyAccept
from annotation.choosing.actions import samples as actions
from annotation.choosing.queries import samples as queries
from annotation.choosing.views.frames import FLOW_FORMATS, FRAME_FORMATS, flow_file, frame_file
from annotation.core.access import get_sample
from annotation.core.api_bodies import Body, StringField
from annotation.core.api_pages import IDEMPOTENCY_KEY, PAGE, JobShape, list_page, pages_of
from annotation.core.api_requests import caller, present_entries, seat_of
from annotation.core.bulk_jobs import job_as_document, job_of
from annotation.core.download_log import record_download
from annotation.models import Item, Sample, SampleIssue
from ingest.selections import selection, selections
from shared.entries_field import EntriesField


class SampleBody(Body):
    """What to draw, and from which frame: size, or confidence and margin."""

    documents = ("filter", "size", "confidence", "margin", "seed", "stratify_by", "allocation", "at_least_one")

    filter = serializers.DictField(required=False, help_text="See the guide for scripts for its words.")
    selection = StringField(required=False, help_text="The slug of a ready-made selection.")
    size = serializers.IntegerField(required=False)
    confidence = serializers.FloatField(required=False, help_text="0–1, for example 0.95")
    margin = serializers.FloatField(required=False, help_text="0–1, for example 0.05")
    seed = serializers.IntegerField(required=False)
    stratify_by = serializers.CharField(required=False, help_text="repository, state, year or label")
    allocation = serializers.ChoiceField(Sample.Allocation.choices, required=False)
    at_least_one = serializers.BooleanField(required=False)


class SampleShape(serializers.Serializer[Any]):
    """A drawn sample; `issues` in seeded order only where it was just drawn."""

    id = serializers.CharField()
    number = serializers.IntegerField(help_text="Within its study.")
    filter = serializers.DictField()
    counts = serializers.ListField(child=serializers.DictField())
    n_frame = serializers.IntegerField(allow_null=True)
    size = serializers.IntegerField()
    confidence = serializers.FloatField(allow_null=True)
    margin = serializers.FloatField(allow_null=True)
    seed = serializers.IntegerField()
    stratify_by = serializers.CharField()
    allocation = serializers.CharField()
    at_least_one = serializers.BooleanField()
    strata = serializers.ListField(child=serializers.DictField())
    created_at = serializers.DateTimeField()
    job: Any = serializers.SerializerMethodField(help_text="The job that draws it, until it has finished.")

    @extend_schema_field(JobShape(allow_null=True))
    def get_job(self, sample: Sample) -> dict[str, Any] | None:
        job = job_of(sample)
        return job_as_document(job) if job else None


class DrawnShape(serializers.Serializer[Any]):
    """One issue drawn."""

    position = serializers.IntegerField()
    item = serializers.CharField()
    repository = serializers.CharField()
    number = serializers.IntegerField()
    stratum = serializers.CharField()
    screening = serializers.CharField()
    screening_reason = serializers.CharField()


class FlowShape(serializers.Serializer[Any]):
    """A line of the flow table."""

    step = serializers.CharField()
    n = serializers.IntegerField()
    kind = serializers.ChoiceField(
        ["step", "drawn", "out", "open", "unscreened", "kept", "missed", "added", "uncoded", "coded"]
    )


class ScreeningBody(Body):
    """Which items (a list; or all that fit a filter, of a sample), and in, out or unscreened; out needs a reason."""

    documents = ("screening", "items", "filter", "sample")

    screening = serializers.ChoiceField(Item.Screening.choices)
    reason = StringField("Enter at most 200 characters.", required=False)
    items = EntriesField(child=serializers.CharField(), required=False)
    filter = serializers.DictField(required=False)
    sample = serializers.CharField(required=False)


class ScreenedShape(serializers.Serializer[Any]):
    """How many items are in that state now, and how many places in draft rounds they gave up."""

    n = serializers.IntegerField()
    n_left_rounds = serializers.IntegerField()
    n_labeled = serializers.IntegerField(
        help_text="How many of them have labels in coding rounds. If they are out, the study excludes or keeps them "
        "(`screened_out`)."
    )


class ScreeningShape(serializers.Serializer[Any]):
    """An item with its screening state."""

    item = serializers.CharField()
    screening = serializers.CharField()
    reason = serializers.CharField()
    at = serializers.DateTimeField(allow_null=True)


class SelectionShape(serializers.Serializer[Any]):
    """A ready-made selection; `not_stored` are the repositories it names that are not stored here."""

    slug = serializers.CharField()
    title = serializers.CharField()
    source: Any = serializers.CharField()
    note = serializers.CharField()
    missing = serializers.ListField(child=serializers.CharField())
    filter = serializers.DictField()
    not_stored = serializers.ListField(child=serializers.CharField())


class FetchesShape(serializers.Serializer[Any]):
    """The fetches that were started."""

    fetches = serializers.ListField(child=serializers.IntegerField())


def file_formats(*formats: str) -> list[OpenApiParameter]:
    return [OpenApiParameter("format", str, enum=list(formats))]


class Samples(APIView):
    """The samples of a study; the owner draws a new one."""

    @extend_schema(responses=pages_of(SampleShape), parameters=PAGE, operation_id="studies_samples_list")
    def get(self, request: Request, slug: str) -> Response:
        seat = seat_of(request, slug)
        rows = queries.samples_of(seat.study).prefetch_related("bulk_jobs")
        return list_page(self, request, rows, lambda sample: SampleShape(sample).data)

    @extend_schema(parameters=[IDEMPOTENCY_KEY], request=SampleBody, responses={201: SampleShape})
    def post(self, request: Request, slug: str) -> Response:
        seat, body = seat_of(request, slug), SampleBody.of(request)
        wish = ("size", "confidence", "margin", "seed", "stratify_by", "allocation", "at_least_one")
        sample = actions.draw_sample(
            seat=seat,
            filter=body.get("filter"),
            selection=body.get("selection", ""),
            idempotency_key=request.headers.get("Idempotency-Key", ""),
            **present_entries(body, *wish),
        )
        if job_of(sample) is not None:
            return Response({**SampleShape(sample).data, "state": "preparing"}, status=201)
        drawn = sample.drawn.select_related("issue__repository").order_by("position")
        return Response({**SampleShape(sample).data, "issues": [row.issue.identifier for row in drawn]}, status=201)


class OneSample(APIView):
    """The issues of a sample in the order drawn, with what screening said of them."""

    ordering = ("position",)

    @extend_schema(responses=pages_of(DrawnShape), parameters=PAGE, operation_id="studies_samples_read")
    def get(self, request: Request, slug: str, pk: str) -> Response:
        seat = seat_of(request, slug)
        return list_page(self, request, queries.drawn_issues(seat, get_sample(seat, pk)), drawn_answer)

    @extend_schema(responses={204: None}, operation_id="studies_samples_discard")
    def delete(self, request: Request, slug: str, pk: str) -> Response:
        """Discards a sample that no round uses; 409 where one does."""
        seat = seat_of(request, slug)
        actions.discard_sample(seat=seat, sample=get_sample(seat, pk))
        return Response(status=204)


def drawn_answer(row: SampleIssue) -> dict[str, Any]:
    said: Any = row
    return {
        "position": row.position,
        "item": row.issue.identifier,
        "repository": row.issue.repository.full_name,
        "number": row.issue.number,
        "stratum": row.stratum,
        "screening": said.screening or Item.Screening.UNSCREENED,
        "screening_reason": said.screening_reason or "",
    }


class FrameOfSample(APIView):
    """The frame of a sample as a file, in the order that the seed drew from: CSV, or `?format=jsonl`."""

    content_negotiation_class = AnyAccept

    @extend_schema(parameters=file_formats(*FRAME_FORMATS), responses={(200, "text/csv"): OpenApiTypes.STR})
    def get(self, request: Request, slug: str, pk: str) -> Any:
        seat = seat_of(request, slug)
        sample, format = get_sample(seat, pk), request.query_params.get("format") or "csv"
        answer = frame_file(seat, sample, format)
        record_download(seat=seat, what="frame", format=format, method=request.method, sample=sample.pk)
        return answer


class FlowOfSample(APIView):
    """The flow table of a sample: found, drawn, screened out by reason, kept; `?format=csv` or `md` as a file."""

    content_negotiation_class = AnyAccept

    @extend_schema(parameters=file_formats(*FLOW_FORMATS), responses=FlowShape(many=True))
    def get(self, request: Request, slug: str, pk: str) -> Any:
        seat = seat_of(request, slug)
        sample, format = get_sample(seat, pk), request.query_params.get("format")
        if format:
            answer = flow_file(seat, sample, format)
            record_download(seat=seat, what="flow", format=format, method=request.method, sample=sample.pk)
            return answer
        return Response([{"step": line.step, "n": line.n, "kind": line.kind} for line in queries.flow(sample)])


class Screening(APIView):
    """The screening state of items; owner and adjudicator screen in and out."""

    ordering = ("pk",)

    @extend_schema(
        responses=pages_of(ScreeningShape),
        parameters=[*PAGE, OpenApiParameter("screening", str, enum=Item.Screening.values)],
        operation_id="studies_screening_list",
    )
    def get(self, request: Request, slug: str) -> Response:
        seat = seat_of(request, slug)
        rows = Item.objects.filter(study=seat.study)
        if wanted := request.query_params.get("screening"):
            rows = rows.filter(screening=wanted)
        return list_page(self, request, rows, screening_answer)

    @extend_schema(request=ScreeningBody, responses=ScreenedShape)
    def post(self, request: Request, slug: str) -> Response:
        seat, body = seat_of(request, slug), ScreeningBody.of(request)
        done = actions.screen_items(
            seat=seat,
            screening=body.get("screening"),
            reason=body.get("reason", ""),
            items=body.get("items"),
            filter=body.get("filter"),
            sample=get_sample(seat, body["sample"]) if body.get("sample") is not None else None,
        )
        return Response({"n": done.n, "n_left_rounds": done.n_left_rounds, "n_labeled": done.n_labeled})


def screening_answer(item: Item) -> dict[str, Any]:
    return {
        "item": item.identifier,
        "screening": item.screening,
        "reason": item.screening_reason,
        "at": item.screened_at,
    }


class Selections(APIView):
    """The ready-made selections of published studies."""

    @extend_schema(responses=SelectionShape(many=True), operation_id="selections_list")
    def get(self, request: Request) -> Response:
        return Response([selection_answer(line) for line in queries.selection_lines(caller(request), selections())])


def selection_answer(line: queries.SelectionLine) -> dict[str, Any]:
    chosen = line.selection
    return {
        "slug": chosen.slug,
        "title": chosen.title,
        "source": chosen.source,
        "note": chosen.note,
        "missing": list(chosen.missing),
        "filter": dict(chosen.filter),
        "not_stored": list(line.missing),
    }


class FetchSelection(APIView):
    """Starts fetches of the repositories that a selection names and that are not stored yet."""

    @extend_schema(request=None, responses={202: FetchesShape})
    def post(self, request: Request, slug: str) -> Response:
        runs = actions.fetch_selection(user=caller(request), chosen=selection(slug))
        return Response({"fetches": [run.pk for run in runs]}, status=202)
