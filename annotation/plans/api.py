"""Migration plans over REST: preview, run, and undo."""

from typing import Any
from urllib.parse import urlencode

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from annotation.assignments.actions.reading_log import REST, note_results
from annotation.core.access import ADJUDICATOR, OWNER, READER, Seat, get_plan
from annotation.core.api_bodies import Body, Whole
from annotation.core.api_pages import PAGE, list_page, pages_of
from annotation.core.api_requests import number_in_address, seat_of, word_in_address
from annotation.labels.queries.label_version import standing_plan
from annotation.labels.queries.without_value import n_without_value
from annotation.models import Plan
from annotation.plans import actions
from annotation.plans.queries import listing
from annotation.plans.queries.preview import preview_of
from annotation.plans.queries.relabeling import affected_items
from annotation.plans.queries.scope import scope_of
from shared.entries_field import EntriesField
from shared.request_checks import page_size


class PlanShape(serializers.Serializer[Any]):
    """A plan with what it would do or did."""

    id = serializers.CharField()
    number = serializers.IntegerField()
    state = serializers.ChoiceField(Plan.State.choices)
    rounds = serializers.ListField(child=serializers.IntegerField(), help_text="The labels that it migrates.")
    labels = serializers.DictField(help_text="Number of labels by effect, with total and following.")
    changes = serializers.ListField(child=serializers.DictField())
    dimensions = serializers.ListField(child=serializers.DictField(), help_text="Newly required ones.")
    pending = serializers.DictField(help_text="Labels PENDING by what was answered to the proposal.")
    recheck = serializers.ListField(child=serializers.DictField(), help_text="Redefined categories, chosen or not.")
    agreed = serializers.DictField(
        allow_null=True,
        help_text="Agreed `labels` that the migration maps, and how many are `unmapped`: they have no value in its "
        "version without an answer. Null for a plan that an earlier release ran.",
    )
    worklist = serializers.DictField()
    warnings = serializers.ListField(child=serializers.CharField())
    why_not_run = serializers.CharField(allow_null=True)
    why_not_undo = serializers.CharField(allow_null=True)
    labels_without_value = serializers.IntegerField(
        allow_null=True,
        help_text="Agreed labels that have no value in the plan's version: rows of `labels` with `unmapped`. Null "
        "unless the study's labels stand by this plan, and for who reads only their own answers.",
    )
    error = serializers.CharField(allow_null=True, help_text="Why the last run failed.")


class PlanLineShape(serializers.Serializer[Any]):
    """A plan in a list."""

    id = serializers.CharField()
    number = serializers.IntegerField()
    state = serializers.ChoiceField(Plan.State.choices)
    worklist = serializers.DictField()
    created_at = serializers.DateTimeField()
    run_at = serializers.DateTimeField(allow_null=True)
    done_at = serializers.DateTimeField(allow_null=True)
    undone_at = serializers.DateTimeField(allow_null=True)


class PlanBody(Body):
    """Where the study is to move."""

    refusal = actions.REFUSED
    documents = ("recheck",)

    to = Whole("Enter the number of a version.", help_text="The number of the version.")
    recheck = EntriesField(child=EntriesField(child=serializers.CharField()), required=False)


class RunBody(Body):
    """What is chosen when a plan is run; both may be left out."""

    documents = ("recheck", "stand_ins")

    recheck = EntriesField(child=EntriesField(child=serializers.CharField()), required=False)
    stand_ins = EntriesField(child=serializers.CharField(), required=False)


def require_all_answers(seat: Seat) -> None:
    """Raises Forbidden for who reads only their own answers."""
    if not listing.reads_all(seat):
        seat.require(OWNER, ADJUDICATOR, READER)


def plan_answer(plan: Plan, seat: Seat) -> dict[str, Any]:
    """A plan: what it would do now where it was not run yet, else what it did."""
    is_standing = plan.state == Plan.State.DONE and plan == standing_plan(seat.study)
    told = plan.preview if plan.preview else preview_of(plan).as_document()
    why_not_run, why_not_undo = listing.why_not_run(plan), listing.why_not_undo(plan)
    worklist = plan.worklist
    return {
        "id": str(plan.pk),
        "number": plan.number,
        "state": plan.state,
        **told,
        "agreed": told.get("agreed"),
        "worklist": {
            **told["worklist"],
            "round": worklist.number if worklist else None,
            "unassigned": plan.n_unassigned,
        },
        "warnings": [plan.warning] if plan.warning else told["warnings"],
        "items_done": plan.n_done,
        "created_at": plan.created_at,
        "run_at": plan.run_at,
        "done_at": plan.done_at,
        "undone_at": plan.undone_at,
        "why_not_run": why_not_run or None,
        "why_not_undo": why_not_undo or None,
        "labels_without_value": n_without_value(seat, plan) if is_standing and listing.reads_all(seat) else None,
        "error": plan.error or None,
    }


def plan_line(plan: Plan, seat: Seat) -> dict[str, Any]:
    """A plan in a list, without its counts; the size of its queue is null where labels are withheld from who reads."""
    return {
        "id": str(plan.pk),
        "number": plan.number,
        "state": plan.state,
        "from": plan.from_version.number,
        "to": plan.to_version.number,
        "worklist": {
            "round": plan.worklist.number if plan.worklist else None,
            "items": None if seat.withheld else plan.n_total,
            "unassigned": None if seat.withheld else plan.n_unassigned,
        },
        "created_at": plan.created_at,
        "run_at": plan.run_at,
        "done_at": plan.done_at,
        "undone_at": plan.undone_at,
    }


class PlansOfStudy(APIView):
    """A study's plans, the newest first; a new one is a preview that changes nothing."""

    ordering = ("-number",)

    @extend_schema(responses=pages_of(PlanLineShape), parameters=PAGE, operation_id="studies_plans_list")
    def get(self, request: Request, slug: str) -> Response:
        seat = seat_of(request, slug)
        seat.require_reading()
        return list_page(self, request, listing.plans(seat), lambda each: plan_line(each, seat))

    @extend_schema(request=PlanBody, responses={201: PlanShape})
    def post(self, request: Request, slug: str) -> Response:
        seat, body = seat_of(request, slug), PlanBody.of(request)
        plan = actions.preview_plan(seat=seat, to=body.get("to"), recheck=body.get("recheck"))
        return Response(plan_answer(plan, seat), status=201)


class OnePlan(APIView):
    """A plan with its counts."""

    @extend_schema(responses=PlanShape)
    def get(self, request: Request, slug: str, plan_id: str) -> Response:
        seat = seat_of(request, slug)
        seat.require_reading()
        found = plan_answer(get_plan(seat, plan_id), seat)
        note_results(seat, "plan", REST)
        return Response(found)


class PlanItems(APIView):
    """The items that a plan would ask again and why, or that it did; not for raters, who see their own answers only."""

    @extend_schema(
        parameters=[*PAGE, OpenApiParameter("after", int), OpenApiParameter("why", str)],
        responses={200: OpenApiTypes.OBJECT},
    )
    def get(self, request: Request, slug: str, plan_id: str) -> Response:
        seat = seat_of(request, slug)
        require_all_answers(seat)
        plan = get_plan(seat, plan_id)
        listing.require_items(seat, plan)
        after, size = number_in_address(request, "after") or 0, page_size(request, 500, 5000)
        why, shows_values = word_in_address(request, "why"), not seat.sealed_round_ids
        if plan.is_over:
            given = listing.worklist_items(plan, after=after, size=size) if plan.worklist_id else []
            lines = [{"item": each.item.identifier, "asked": each.asked} for each in given]
            last = given[-1].position if given else 0
        else:
            found = affected_items(scope_of(plan), plan.recheck, why=why, after=after, size=size)
            lines = [
                {
                    "item": each.item.identifier,
                    "reasons": [
                        {
                            "why": reason,
                            "dimension": dimension,
                            "category": path if path and shows_values else None,
                            "raters": list(raters) if shows_values else [],
                        }
                        for reason, dimension, path, raters in each.reasons
                    ],
                }
                for each in found
            ]
            last = found[-1].item.pk if found else 0
        on = urlencode({"after": last, "page_size": size, **({"why": why} if why else {})})
        following = request.build_absolute_uri(f"?{on}") if len(lines) == size else None
        return Response({"results": lines, "next": following})


class RunPlan(APIView):
    """Queues the job of a plan."""

    @extend_schema(request=RunBody, responses={202: PlanShape})
    def post(self, request: Request, slug: str, plan_id: str) -> Response:
        seat, body = seat_of(request, slug), RunBody.of(request)
        plan = actions.run_plan(
            seat=seat,
            plan=get_plan(seat, plan_id),
            recheck=body.get("recheck"),
            stand_ins=body.get("stand_ins") or (),
        )
        return Response(plan_answer(plan, seat), status=202)


class UndoPlan(APIView):
    """Undoes a plan, until the next round opens."""

    @extend_schema(request=None, responses=PlanShape)
    def post(self, request: Request, slug: str, plan_id: str) -> Response:
        seat = seat_of(request, slug)
        return Response(plan_answer(actions.undo_plan(seat=seat, plan=get_plan(seat, plan_id)), seat))
