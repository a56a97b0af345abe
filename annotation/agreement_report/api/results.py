"""What came out over REST: ratings, disagreements and their resolutions, agreed labels, agreement."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any

from django.db.models import Exists, OuterRef
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.settings import api_settings
from rest_framework.utils.urls import replace_query_param
from rest_framework.views import APIView

from accounts.api import AnyAccept, format_of, scope
from annotation.agreement_report.api.shapes import (
    CURSOR,
    PAGE_SIZE,
    AgreementShape,
    DisagreementShape,
    pages_of,
    pages_of_rows,
)
from annotation.agreement_report.queries.across_rounds import WEIGHTS, visible_rounds
from annotation.agreement_report.queries.coefficients import agreement_and_raters
from annotation.agreement_report.queries.headline import WORD, headline_set
from annotation.agreement_report.queries.model_raters import with_machines
from annotation.agreement_report.queries.more_items import width_of, with_planned
from annotation.agreement_report.queries.slices import ask
from annotation.assignments.actions.reading_log import FILE, REST, note_reading, note_results
from annotation.core.access import ADJUDICATOR, OWNER, Seat, get_item, get_round
from annotation.core.api_bodies import Body, Switch, Text, Whole
from annotation.core.api_requests import (
    choice_in_address,
    dimension_in_address,
    number_in_address,
    round_in_address,
    round_number_in_address,
    seat_of,
)
from annotation.core.download_log import filters_of, record_download
from annotation.core.errors import Invalid, Stale, Unreadable
from annotation.exports.queries import rows
from annotation.exports.queries.options import REVISIONS, SHAPES
from annotation.imports.api import (
    SHEET_FORM,
    SHEET_OPTIONS,
    SHEET_PARSERS,
    ImportJobShape,
    ImportReportShape,
    import_sent_sheet,
)
from annotation.labels.queries import results
from annotation.labels.queries.resolution_methods import meetings_of, newest_by_hand, ways, with_facts
from annotation.labels.queries.telling import told_version
from annotation.labels.queries.verdicts import resolution_values
from annotation.labels.resolution_methods import STATED
from annotation.models import Item, Meeting, Resolution, Round, RoundItem, Study
from annotation.resolving.actions.meetings import NOT_STATED, state_meeting
from annotation.resolving.actions.resolutions import NOT_TAKEN, reopen, resolve
from ingest.api.files import FORMAT
from shared.public_ids import public_id, row_number_of
from shared.request_checks import page_size
from taxonomy.models import Dimension
from taxonomy.queries import published_version

PAGE, MOST_PER_PAGE = 500, 5000
CURSOR_OF_ITEMS = "cursor of items"
ROUND = OpenApiParameter("round", int, description="Only this round.")
ROUND_LABEL = OpenApiParameter("round_label", str, description="Only the round that a sheet brought with this label.")
DIMENSION = OpenApiParameter("dimension", str, description="Only this dimension.")
VERSION = OpenApiParameter(
    "version",
    int,
    description="Mapped to this version of the taxonomy. Where no mapping exists, values are null with the reason in "
    "`unmapped`.",
)


def page_of_items(request: Request, found: Iterable[tuple[results.Place, list[Any]]]) -> Response:
    """A page of whole items: at least the page's size of rows unless they run out; `next` goes on after the item.

    It is the last item that has rows. One whose rows are withheld moves no cursor, which would tell that it is there.
    """
    gathered: list[Any] = []
    last: results.Place = (0, 0)
    size = page_size(request, PAGE, MOST_PER_PAGE)
    following = None
    for place, here in found:
        if len(gathered) >= size and here:
            following = replace_query_param(request.build_absolute_uri(), "cursor", encoded(last))
            break
        if here:
            gathered.extend(here)
            last = place
    return Response(
        {"results": [row if isinstance(row, dict) else results.as_dict(row) for row in gathered], "next": following}
    )


def encoded(place: results.Place) -> str:
    """A place as a cursor, from which nothing can be read: the number of its round above the position in it."""
    return public_id(CURSOR_OF_ITEMS, place[0] << 32 | place[1])


def cursor_of(request: Request) -> results.Place:
    """Where the page begins. Raises Unreadable."""
    given = request.query_params.get("cursor")
    if not given:
        return (0, 0)
    number = row_number_of(CURSOR_OF_ITEMS, given)
    if number is None:
        raise Unreadable("The cursor is not valid.", code="bad_cursor")
    return number >> 32, number & 0xFFFFFFFF


class Ratings(APIView):
    """What raters gave: a rater reads only their own, others all but the rounds they are blind in.

    The owner sends a CSV, XLSX or Parquet file to bring in ratings from elsewhere. A job imports one above 2 MB.
    """

    permission_classes = [scope("manage")]
    content_negotiation_class = AnyAccept
    parser_classes = SHEET_PARSERS

    @extend_schema(
        parameters=[
            ROUND,
            ROUND_LABEL,
            DIMENSION,
            VERSION,
            FORMAT,
            OpenApiParameter("revision", str, enum=list(REVISIONS)),
            OpenApiParameter(
                "shape", str, enum=list(SHAPES), description="Of a file: wide has a row for each part and rater."
            ),
            CURSOR,
            PAGE_SIZE,
        ],
        responses={200: pages_of_rows("ratings")},
    )
    def get(self, request: Request, slug: str) -> Any:
        seat = seat_of(request, slug)
        format = format_of(request)
        asked: dict[str, Any] = {
            "round_number": round_number_in_address(request, seat),
            "dimension": dimension_in_address(request, seat),
            "revision": choice_in_address(request, "revision", REVISIONS, None),
            "version": number_in_address(request, "version"),
        }
        shape = choice_in_address(request, "shape", SHAPES, SHAPES[0])
        if format:
            options = {**asked, "shape": "wide"} if shape == "wide" else asked
            answer: Any = rows.streamed(seat, "ratings", format, options=options)
            filters = filters_of(options)
            record_download(seat=seat, what="ratings", format=format, method=request.method, **filters)
        else:
            answer = page_of_items(request, rows.ratings(seat, **asked, after=cursor_of(request)))
        note_reading(seat, rows.read_of_others(seat, asked["round_number"]), "ratings", FILE if format else REST)
        return answer

    @extend_schema(
        parameters=SHEET_OPTIONS,
        request={"text/csv": OpenApiTypes.STR, "multipart/form-data": SHEET_FORM},
        responses={201: ImportReportShape, 202: ImportJobShape},
    )
    def post(self, request: Request, slug: str) -> Response:
        document, status = import_sent_sheet(request, seat_of(request, slug))
        return Response(document, status=status)


def resolvable_in_address(request: Request, seat: Seat) -> list[Round]:
    """The rounds whose disagreements and resolutions are asked for: the one named, or all. Raises Forbidden, Blind."""
    if not seat.user.is_staff:
        seat.require(ADJUDICATOR, OWNER)
    round_ = round_in_address(request, seat)
    if round_ is not None:
        seat.require_answers(round_)
    return [each for each in results.resolvable_rounds(seat) if round_ is None or each.pk == round_.pk]


class Disagreements(APIView):
    """Where raters differ, item by item in the order of the rounds."""

    permission_classes = [scope("rate")]

    @extend_schema(
        parameters=[
            ROUND,
            ROUND_LABEL,
            DIMENSION,
            OpenApiParameter("state", str, enum=["open", "resolved", "all"]),
            CURSOR,
            PAGE_SIZE,
        ],
        responses={200: pages_of("DisagreementPage", DisagreementShape)},
    )
    def get(self, request: Request, slug: str) -> Response:
        seat = seat_of(request, slug)
        rounds = resolvable_in_address(request, seat)
        found = results.disagreements(
            rounds,
            state=choice_in_address(request, "state", ("open", "resolved", "all"), "open") or "open",
            dimension=dimension_in_address(request, seat),
            after=cursor_of(request),
            without=seat.withheld,
        )
        answer = page_of_items(request, found)
        note_reading(seat, rounds, "disagreements", REST)
        return answer


class MeetingBody(serializers.Serializer[Any]):
    """A meeting in which disagreements were discussed, as the person who resolves states it."""

    held_on = serializers.DateField()
    participants = serializers.ListField(
        child=serializers.CharField(), help_text="Two people or more, by code, user name or name."
    )


class ResolutionBody(Body):
    """A decision on one part of an item and one dimension; or, without `values`, a meeting stated for one.

    With `round` and `meeting` alone the meeting is stated for all resolutions of the round that would otherwise be
    reported as resolved by adjudication.
    """

    refusal = NOT_TAKEN
    documents = ("values", "method", "meeting", "expected")

    item = Text(required=False)
    part = Whole(required=False)
    round = Whole(required=False)
    dimension = Text(required=False)
    values = serializers.ListField(
        child=serializers.JSONField(), required=False, help_text="Needed unless `reopen`, or a meeting alone."
    )
    no_part = Switch(
        required=False,
        help_text="True: the part does not exist, which settles all its dimensions. `values` are left out or empty.",
    )
    reopen = Switch(required=False, help_text="True reopens the disagreement.")
    method = serializers.ChoiceField(
        STATED,
        required=False,
        help_text="Checked against answers, remarks and roles. Without it: `discussion` if two people, one of them a "
        "rater of the item, wrote remarks there, else `adjudicator`.",
    )
    meeting = MeetingBody(required=False)
    rationale = Text(required=False)
    expected = serializers.UUIDField(allow_null=True, required=False)


class MeetingShape(serializers.Serializer[Any]):
    """A meeting as it was stated: raters by code, others as they were named."""

    held_on = serializers.DateField()
    participants = serializers.ListField(child=serializers.CharField())
    stated_by = serializers.CharField()
    stated_at = serializers.DateTimeField()


class ResolutionShape(serializers.Serializer[Any]):
    """A decision that was taken; `reported_as` is how papers report it, as far as the facts bear its method out."""

    id = serializers.UUIDField()
    item = serializers.CharField()
    part = serializers.IntegerField()
    round = serializers.IntegerField()
    dimension = serializers.CharField()
    revision = serializers.IntegerField()
    values = serializers.ListField(child=serializers.JSONField())
    no_part = serializers.BooleanField(help_text="The part was resolved as one that does not exist.")
    method = serializers.CharField()
    reported_as = serializers.CharField()
    meeting = MeetingShape(allow_null=True)
    rationale = serializers.CharField()
    decider = serializers.ChoiceField(results.DECIDERS, help_text="A rule of the study, a person, or an import.")
    decided_by = serializers.CharField()
    decided_at = serializers.DateTimeField()


class Resolutions(APIView):
    """Decides where raters differ. A stale `expected` is 409 with the newer decision as `resolution`."""

    permission_classes = [scope("rate")]
    ordering = ("pk",)

    @extend_schema(
        parameters=[ROUND, DIMENSION, CURSOR, PAGE_SIZE],
        responses={200: pages_of("ResolutionPage", ResolutionShape)},
        operation_id="studies_resolutions_list",
    )
    def get(self, request: Request, slug: str) -> Response:
        """Every decision with its revisions: for owner and adjudicator."""
        seat = seat_of(request, slug)
        rounds = resolvable_in_address(request, seat)
        rows = Resolution.objects.filter(seat.not_withheld(), round__in=rounds)
        if key := dimension_in_address(request, seat):
            rows = rows.filter(dimension__key=key)
        paginator: Any = api_settings.DEFAULT_PAGINATION_CLASS
        pagination = paginator()
        found = pagination.paginate_queryset(
            with_facts(rows).select_related("round", "item", "dimension", "decided_by"), request, self
        )
        answer: Response = pagination.get_paginated_response(resolution_answers(found))
        note_reading(seat, rounds, "resolutions", REST)
        return answer

    @extend_schema(
        request=ResolutionBody,
        responses={201: ResolutionShape, 409: OpenApiResponse(OpenApiTypes.OBJECT, description="Stale.")},
    )
    def post(self, request: Request, slug: str) -> Response:
        seat = seat_of(request, slug)
        seat.require(ADJUDICATOR, OWNER)
        body = ResolutionBody.of(request)
        if body.get("item") is None and body.get("meeting") is not None:
            return Response(_state_for_queue(seat, body), status=201)
        is_reopening = body.get("reopen", False)
        no_part = body.get("no_part") or None
        has_values = body.get("values") is not None or no_part is not None
        is_meeting = not has_values and body.get("meeting") is not None and not is_reopening
        has_all = is_reopening or is_meeting or no_part is not None
        for name in ("item", "dimension") if has_all else ("item", "dimension", "values"):
            if body.get(name) is None:
                raise Invalid("Disagreement not resolved.", fields={name: ["This field is required."]})
        if is_reopening and (body.get("values") or body.get("meeting")):
            name = "values" if body.get("values") else "meeting"
            sentence = "Either resolve or reopen. A reopened place has no values and no meeting."
            raise Invalid("Resolution not reopened.", fields={name: [sentence]})
        item = get_item(seat, body["item"])
        asked: dict[str, Any] = {
            "seat": seat,
            "round_": round_for(seat, item, body.get("round"), body["dimension"]),
            "item": item,
            "part": body.get("part", 1),
            "dimension": body["dimension"],
        }
        if is_meeting:
            return Response(_state_for_place(asked, body), status=201)
        asked |= {"rationale": body.get("rationale", ""), "expected": body.get("expected")}
        try:
            if is_reopening:
                made = reopen(**asked)
            else:
                asked |= {"method": body.get("method") or "", "meeting": body.get("meeting")}
                made = resolve(values=body.get("values") or [], no_part=no_part, **asked)
        except Stale as stale:
            newer = {"code": stale.code, "message": stale.message, "fields": {}, "resolution": stale.newer or None}
            return Response(newer, status=409)
        return Response(resolution_answer(made), status=201)


def _state_for_queue(seat: Seat, body: dict[str, Any]) -> dict[str, Any]:
    """States a meeting for the whole queue of a round."""
    number = body.get("round")
    if number is None:
        raise Invalid(NOT_STATED, fields={"round": ["Enter the number of the round, or name an item."]})
    for name in ("values", "no_part", "method", "dimension", "part", "reopen"):
        if body.get(name) is not None:
            raise Invalid(NOT_STATED, fields={"item": [f"Name the item to which `{name}` belongs."]})
    meeting, n = state_meeting(seat=seat, round_=get_round(seat, number), meeting=body["meeting"])
    return {"round": number, "meeting": meeting_answer(meeting), "n_resolutions": n}


def _state_for_place(asked: dict[str, Any], body: dict[str, Any]) -> dict[str, Any]:
    """States a meeting for the resolution of one place; the answer is that resolution."""
    if body.get("method") is not None:
        raise Invalid(NOT_STATED, fields={"method": ["A method is stated together with `values`."]})
    state_meeting(**asked, meeting=body["meeting"])
    place = {"item": asked["item"], "part": asked["part"], "dimension__key": asked["dimension"]}
    return resolution_answer(newest_by_hand(asked["seat"], asked["round_"]).get(**place))


def round_for(seat: Seat, item: Item, number: int | None, dimension: str = "") -> Round:
    """The round that a decision is for: the one named, else the newest one of the item that can be decided.

    Where none is named a screening round is meant only by a dimension that screening asks and the study does not.
    """
    if number is not None:
        return get_round(seat, number)
    states = [*Round.OVER]
    if seat.study.resolve_when == Study.ResolveWhen.ITEM:
        states.append(Round.State.OPEN)
    asks = Dimension.objects.filter(version=OuterRef("round__taxonomy_version"), key=dimension)
    places = RoundItem.objects.filter(item=item, known__isnull=True).exclude(round__state=Round.State.UNDONE)
    rows = list(
        places.annotate(asks=Exists(asks))
        .order_by("-round__number")
        .values_list("round__number", "round__state", "round__kind", "asks")
    )
    rows = [row for row in rows if row[3]] or rows
    rows = [row for row in rows if row[2] != Round.Kind.SCREENING] or rows
    chosen = next((row[0] for row in rows if row[1] in states), rows[0][0] if rows else 0)
    return get_round(seat, chosen)


def resolution_answer(made: Resolution) -> dict[str, Any]:
    rows = with_facts(Resolution.objects.filter(pk=made.pk))
    return resolution_answers(list(rows.select_related("round", "item", "dimension", "decided_by")))[0]


def resolution_answers(rows: Sequence[Any]) -> list[dict[str, Any]]:
    """Resolutions from `with_facts` in the shape of the contract; two queries, those of `ways`, one a version."""
    told, meetings = ways(rows), meetings_of(rows)
    values: dict[int, Any] = {}
    for version in {row.round.taxonomy_version_id for row in rows}:
        those = [row for row in rows if row.round.taxonomy_version_id == version]
        values |= resolution_values(published_version(version), those)
    return [
        {
            "id": row.public_id,
            "item": row.item.identifier,
            "part": row.part,
            "round": row.round.number,
            "dimension": row.dimension.key,
            "revision": row.revision,
            "values": list(values.get(row.pk, ())),
            "no_part": row.no_part,
            "method": row.method,
            "reported_as": told[row.pk],
            "meeting": meeting_answer(meetings[row.pk]) if row.pk in meetings else None,
            "rationale": row.rationale,
            "decider": results.decider_of(row),
            "decided_by": row.decided_by.told_name if row.decided_by else "",
            "decided_at": row.created_at,
        }
        for row in rows
    ]


def meeting_answer(meeting: Meeting) -> dict[str, Any]:
    return {
        "held_on": meeting.held_on.isoformat(),
        "participants": meeting.participants,
        "stated_by": meeting.stated_by.told_name if meeting.stated_by else "",
        "stated_at": meeting.created_at,
    }


class Labels(APIView):
    """The agreed labels: for owner, adjudicator, reader, and raters who are not blind."""

    permission_classes = [scope("manage")]
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
            answer: Any = rows.streamed(seat, "labels", format, options={**asked, "shape": shape})
            filters = filters_of({**asked, "shape": shape})
            record_download(seat=seat, what="labels", format=format, method=request.method, **filters)
        else:
            answer = page_of_items(request, rows.labels(seat, **asked, after=cursor_of(request)))
        note_results(seat, "labels", FILE if format else REST, asked["round_number"])
        return answer


def _about_issues(request: Request, slug: str, what: str, read: Callable[..., rows.Found]) -> Any:
    """Rows about a study's issues: a page of what `read` finds, or a file, whose download the audit log keeps."""
    seat = seat_of(request, slug)
    format = format_of(request)
    if format:
        answer = rows.streamed(seat, what, format)
        record_download(seat=seat, what=what, format=format, method=request.method)
        return answer
    return page_of_items(request, read(seat, after=cursor_of(request)))


class Issues(APIView):
    """The study's issues as raters read them; people by pseudonym unless the study's owner decided otherwise."""

    permission_classes = [scope("manage")]
    content_negotiation_class = AnyAccept

    @extend_schema(
        operation_id="study_issues", parameters=[FORMAT, CURSOR, PAGE_SIZE], responses={200: pages_of_rows("issues")}
    )
    def get(self, request: Request, slug: str) -> Any:
        return _about_issues(request, slug, "issues", rows.issues)


class ClosingChanges(APIView):
    """What closed the study's issues, and linked pull requests; people by pseudonym as in `issues`."""

    permission_classes = [scope("manage")]
    content_negotiation_class = AnyAccept

    @extend_schema(
        operation_id="study_changes", parameters=[FORMAT, CURSOR, PAGE_SIZE], responses={200: pages_of_rows("changes")}
    )
    def get(self, request: Request, slug: str) -> Any:
        return _about_issues(request, slug, "changes", rows.changes)


class AgreementOfStudy(APIView):
    """Agreement per dimension: all coefficients of each, or null with the reason."""

    permission_classes = [scope("manage")]

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
        asked = replace(asked, version=told_version(seat, number_in_address(request, "version"), round_))
        rounds = list(headline.rounds) if is_asked else visible_rounds(seat, round_.number if round_ else None)
        number = round_.number if round_ else None
        entries = agreement_and_raters(seat, rounds, asked, round_number=number, is_headline=headline.is_of(rounds))
        found = with_machines(seat, rounds, asked, entries)
        note_results(seat, "agreement", REST, number)
        return Response(with_planned(found, width))
