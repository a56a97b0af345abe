"""Rounds of studies over REST."""

import dataclasses
from typing import Any

from django.db.models import Count, IntegerField, OuterRef, Q, QuerySet, Subquery, Sum
from django.db.models.functions import Coalesce
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from annotation.assignments.queries import ASKED_MEANWHILE, free_aside, n_set_aside
from annotation.calibration.actions.training import MOST
from annotation.calibration.queries.gate import gate_then
from annotation.core.access import Seat, get_round
from annotation.core.api_bodies import Body, CheckedListField, Choice, NumberField, StringField, Switch, Whole
from annotation.core.api_pages import IDEMPOTENCY_KEY, PAGE, JobShape, list_page, pages_of
from annotation.core.api_requests import present_entries, seat_of
from annotation.core.bulk_jobs import job_as_document, job_of
from annotation.labels.screening import STANDINGS
from annotation.models import Assignment, Round, RoundItem
from annotation.models.assignment_kinds import THIRD_RATERS
from annotation.rounds.actions import rounds as round_actions
from annotation.rounds.actions.drafts import remove_draft, return_to_draft
from annotation.rounds.actions.due_dates import set_due
from annotation.rounds.queries import shown_job


class GateShape(serializers.Serializer[Any]):
    """What a pilot said of a main round: open or wait, and by which numbers; and why it was opened all the same."""

    round = serializers.IntegerField(help_text="The number of the pilot.")
    advice = serializers.ChoiceField(["open", "wait"])
    dimensions = serializers.ListField(
        child=serializers.DictField(),
        help_text="dimension, title, coefficient, value, ci_low, ci_high, ci_method, threshold, undefined, and the "
        "verdict: met, not met, undefined or no threshold.",
    )
    reason = serializers.CharField(required=False, help_text="Empty where none was given, or none was needed.")
    by = serializers.CharField(required=False)
    at = serializers.DateTimeField(required=False)


class RoundShape(serializers.Serializer[Any]):
    """A round with its raters' codes and how far it is."""

    number = serializers.IntegerField()
    label = serializers.CharField(help_text="What the sheet that it came from calls it; else empty.")  # type: ignore[assignment]
    kind = serializers.CharField()
    state = serializers.CharField(help_text="draft, preparing (a job fills or opens it), open, resolving or closed.")
    taxonomy = serializers.DictField()
    taxonomy_version = serializers.IntegerField()
    raters = serializers.ListField(child=serializers.CharField())
    raters_per_item = serializers.IntegerField(help_text="Planned; of a round from a sheet the most raters of an item.")
    mode = serializers.CharField(help_text="planned or pool; says nothing of a round from a sheet, like `seed`.")
    double_share = serializers.FloatField()
    seed = serializers.IntegerField()
    n_items = serializers.IntegerField()
    n_assignments = serializers.IntegerField()
    n_finished = serializers.IntegerField(help_text="Items submitted or skipped.")
    n_free = serializers.IntegerField(help_text="Assignments without a rater that need one.")
    quotas = serializers.DictField(child=serializers.IntegerField(), help_text="By rater code, where there is one.")
    left = serializers.ListField(child=serializers.CharField(), help_text="Codes of raters who left the round.")
    due_on = serializers.DateField(allow_null=True, help_text="Its due date, if any.")
    opened_at = serializers.DateTimeField(
        allow_null=True, help_text="Of a round from a sheet, when it was imported, like `resolving_at`."
    )
    resolving_at = serializers.DateTimeField(allow_null=True)
    closed_at = serializers.DateTimeField(allow_null=True)
    gold_minimum = serializers.DictField(
        allow_null=True, help_text="What raters have to reach on calibration items before they get others."
    )
    gate = GateShape(allow_null=True, help_text="Of a main round: what the last pilot had reached when it was opened.")
    job = JobShape(
        allow_null=True, help_text="The job that fills or opens it, or reassigns its items, until it has finished."
    )


class NewRoundShape(RoundShape):
    """A round that was made, with what to consider before it is opened."""

    warnings = serializers.ListField(
        child=serializers.CharField(), help_text="Sentences, such as that items were in an earlier round."
    )


class RoundChanges(Body):
    """What can be changed in a round that exists."""

    documents = ("due_on",)

    due_on = serializers.DateField(allow_null=True, help_text="A day (UTC), today or later; null: none.")


class RoundBody(Body):
    """What a new round needs: either issues, or a sample with n_items or share."""

    refusal = "Round not created."
    documents = ("known", "gold_minimum", "quotas", "sample", "due_on")

    kind = Choice(["screening", "pilot", "main"], round_actions.KIND, required=False)
    taxonomy_version = Whole(required=False, help_text="Not for a screening round.")
    screening = CheckedListField(
        round_actions.SCREENING,
        child=serializers.ChoiceField(list(STANDINGS)),
        required=False,
        help_text="Only for a coding round: how the issues it takes may stand to screening. Without it `in` once the "
        "study has opened a screening round, else `in`, `unscreened` and `open`. `open`: a screening round asked, and "
        "has no agreed result. `out` needs the study’s `screened_out` to be `keep`.",
    )
    reasons = CheckedListField(
        "Send a list of texts, one reason each.",
        child=StringField(),
        required=False,
        help_text="Only for a screening round: why an issue can be out; without them those of the round before.",
    )
    known = serializers.DictField(
        child=serializers.DictField(),
        required=False,
        help_text='Calibration items, labeled first: by item {"labels": {…}} or {"parts": […]}, and "why". They are '
        "added to the items of the round; an item named in both is a calibration item. Omitted dimensions are not "
        "judged. With them no other items have to be named.",
    )
    training_round = Whole(
        "Name a closed round of this study.",
        required=False,
        help_text="Instead of `known`: a closed round, whose agreed labels are what is known.",
    )
    n_training = Whole(
        f"Enter a whole number from 1 to {MOST}.",
        required=False,
        help_text="So many of its items, the first in its order.",
    )
    gold_minimum = serializers.DictField(
        required=False,
        help_text='What raters have to reach on calibration items before they get others: {"share": 0.8, "dimensions": '
        '{"symptom": 0.6}}, one of them or both. It is fixed when the round opens.',
    )
    raters = CheckedListField("Name at least one rater.", child=StringField(), help_text="User names or rater codes.")
    quotas = serializers.DictField(
        child=serializers.IntegerField(allow_null=True),
        required=False,
        help_text="By user name or rater code: how many items they take at most; null: no limit.",
    )
    raters_per_item = Whole(round_actions.RATERS_PER_ITEM, required=False)
    mode = Choice(Round.Mode.choices, "Use planned or pool.", required=False)
    double_share = NumberField(round_actions.DOUBLE_SHARE, required=False)
    seed = Whole(required=False)
    issues = CheckedListField("Name at least one issue, as owner/name#number.", child=StringField(), required=False)
    sample = serializers.CharField(required=False)
    n_items = Whole(round_actions.N_ITEMS, required=False)
    share = NumberField(round_actions.SHARE, required=False)
    due_on = serializers.DateField(required=False, allow_null=True, help_text="The due date.")


class Reason(Body):
    """Why a main round is opened although the last pilot speaks against it."""

    reason = StringField(
        required=False, help_text="Needed where the pilot did not reach its thresholds: else 409 `against_gate`."
    )
    unregistered = Switch(
        required=False,
        help_text="True opens a study's first round although a dimension has no registered coefficient; else that is "
        "409 with the code `unregistered`.",
    )


class Withdraw(Body):
    """Whether unfinished assignments are withdrawn."""

    withdraw = Switch(required=False)


class LeaveOpen(Body):
    """Whether open disagreements and proposals are left open."""

    leave_open = Switch(required=False)


class Rounds(APIView):
    """The rounds of a study; the owner makes a new one, a draft."""

    ordering = ("number",)

    @extend_schema(responses=pages_of(RoundShape), parameters=PAGE, operation_id="studies_rounds_list")
    def get(self, request: Request, slug: str) -> Response:
        seat = seat_of(request, slug)
        rounds = detailed(Round.objects.filter(study=seat.study), seat)
        return list_page(self, request, rounds, lambda each: round_answer(seat, each))

    @extend_schema(parameters=[IDEMPOTENCY_KEY], request=RoundBody, responses={201: NewRoundShape})
    def post(self, request: Request, slug: str) -> Response:
        seat, body = seat_of(request, slug), RoundBody.of(request)
        names = (each.name for each in dataclasses.fields(round_actions.NewRound))
        made = round_actions.create_round(
            seat=seat,
            asked=round_actions.NewRound(**present_entries({"raters": [], **body}, *names)),
            idempotency_key=request.headers.get("Idempotency-Key", ""),
        )
        warnings = [*round_actions.screening_warnings(made), *round_actions.warnings_of(seat, made)]
        return Response({**one_round(seat, made), "warnings": warnings}, status=201)


def detailed(rounds: Any, seat: Seat) -> Any:
    """Rounds with everything that `round_answer` shows this person; two queries, one more where something is withheld.

    Each count is a subquery of its own: joined, items and assignments of a round would be multiplied.
    """
    assignments = Assignment.objects.filter(seat.not_queued(), round=OuterRef("pk")).exclude(ASKED_MEANWHILE)
    if seat.unsettled_round_ids:
        assignments = assignments.exclude(THIRD_RATERS, round__in=seat.unsettled_round_ids)
    counts = ~Q(state=Assignment.State.WITHDRAWN)
    if seat.sealed_round_ids:
        counts |= Q(pk__in=n_set_aside(seat.sealed_round_ids).values("pk"))
    places = RoundItem.objects.filter(seat.not_queued(), round=OuterRef("pk"))
    n_free: Any = _summed(places.filter(n_free__gt=0), "n_free")
    if seat.sealed_round_ids:
        free, held = free_aside(seat.sealed_round_ids)
        n_free += _summed(free.filter(round=OuterRef("pk")), "n_aside") - _counted(held.filter(round=OuterRef("pk")))
    return (
        rounds.select_related("taxonomy_version__taxonomy")
        .prefetch_related("round_raters__rater", "bulk_jobs")
        .annotate(
            n_assignments=_counted(assignments.filter(counts)),
            n_finished=_counted(assignments.filter(state__in=Assignment.FINISHED)),
            n_items=_counted(places),
            n_free=n_free,
        )
    )


def _counted(rows: QuerySet[Any]) -> Coalesce:
    by_round = rows.order_by().values("round").annotate(n=Count("pk")).values("n")
    return Coalesce(Subquery(by_round, output_field=IntegerField()), 0)


def _summed(rows: QuerySet[Any], column: str) -> Coalesce:
    by_round = rows.order_by().values("round").annotate(n=Sum(column)).values("n")
    return Coalesce(Subquery(by_round, output_field=IntegerField()), 0)


def one_round(seat: Seat, round_: Round) -> dict[str, Any]:
    return round_answer(seat, detailed(Round.objects.filter(pk=round_.pk), seat).get())


def round_answer(seat: Seat, round_: Any) -> dict[str, Any]:
    job = shown_job(seat, round_)
    is_withheld = round_.pk in seat.withheld_queues  # where what was answered last may be withheld, too
    unseen = seat.unseen_queue_raters
    raters = [each for each in round_.round_raters.all() if (round_.pk, each.rater_id) not in unseen]
    return {
        "number": round_.number,
        "label": round_.label,
        "kind": round_.kind,
        "state": "preparing" if job is not None and job.is_preparing else round_.state,
        "taxonomy": {"slug": round_.taxonomy_version.taxonomy.slug, "version": round_.taxonomy_version.number},
        "taxonomy_version": round_.taxonomy_version.number,
        "raters": [each.rater.code for each in raters],
        "raters_per_item": round_.raters_per_item,
        "mode": round_.mode,
        "double_share": round_.double_share,
        "seed": round_.seed,
        "n_items": round_.n_items,
        "n_assignments": round_.n_assignments,
        "n_finished": round_.n_finished,
        "n_free": round_.n_free,
        "quotas": {each.rater.code: each.quota for each in raters if each.quota is not None},
        "left": [each.rater.code for each in raters if each.left_at is not None],
        "due_on": round_.due_on,
        "opened_at": round_.opened_at,
        "resolving_at": None if is_withheld else round_.resolving_at,
        "closed_at": round_.closed_at,
        "gold_minimum": round_.gold_minimum,
        "gate": gate_then(seat, round_),
        "job": job_as_document(job) if job else None,
    }


class OneRound(APIView):
    """A round and how far it is."""

    @extend_schema(responses=RoundShape)
    def get(self, request: Request, slug: str, number: int) -> Response:
        seat = seat_of(request, slug)
        return Response(one_round(seat, get_round(seat, number)))

    @extend_schema(request=RoundChanges, responses=RoundShape)
    def patch(self, request: Request, slug: str, number: int) -> Response:
        """Sets or removes the due date of a draft or an open round."""
        seat, body = seat_of(request, slug), RoundChanges.of(request)
        return Response(one_round(seat, set_due(seat=seat, number=number, due_on=body.get("due_on", False))))

    @extend_schema(responses={204: None})
    def delete(self, request: Request, slug: str, number: int) -> Response:
        """Removes a draft; any other round is 409. Its number is not used again."""
        remove_draft(seat=seat_of(request, slug), number=number)
        return Response(status=204)


class ReturnToDraft(APIView):
    """Makes an open round a draft again while nobody has answered in it; else 409."""

    @extend_schema(request=None, responses=RoundShape)
    def post(self, request: Request, slug: str, number: int) -> Response:
        seat = seat_of(request, slug)
        return Response(one_round(seat, return_to_draft(seat=seat, number=number)))


class OpenRound(APIView):
    """Opens a draft round: every planned assignment exists when this answers 200.

    A round of more than 20,000 items, or 100,000 assignments, is opened by a job: 202 with its row.

    A main round that the last pilot speaks against opens with a reason, which `gate` keeps; without one it is 409
    `against_gate`.
    """

    @extend_schema(request=Reason, responses={200: RoundShape, 202: JobShape})
    def post(self, request: Request, slug: str, number: int) -> Response:
        seat, body = seat_of(request, slug), Reason.of(request)
        opened = round_actions.open_round(seat=seat, number=number, **present_entries(body, "reason", "unregistered"))
        if (job := job_of(opened)) is not None:
            return Response(job_as_document(job), status=202)
        return Response(one_round(seat, opened))


class ResolveRound(APIView):
    """Moves an open round to resolving by hand."""

    @extend_schema(request=Withdraw, responses=RoundShape)
    def post(self, request: Request, slug: str, number: int) -> Response:
        seat, withdraw = seat_of(request, slug), Withdraw.of(request).get("withdraw", False)
        return Response(one_round(seat, round_actions.resolve_round(seat=seat, number=number, withdraw=withdraw)))


class CloseRound(APIView):
    """Closes a resolving round."""

    @extend_schema(request=LeaveOpen, responses=RoundShape)
    def post(self, request: Request, slug: str, number: int) -> Response:
        seat, leave_open = seat_of(request, slug), LeaveOpen.of(request).get("leave_open", False)
        return Response(one_round(seat, round_actions.close_round(seat=seat, number=number, leave_open=leave_open)))
