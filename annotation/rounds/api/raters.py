"""Raters of a round over REST: shares, leaving, and joining."""

from collections.abc import Collection, Mapping
from datetime import date, datetime
from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from annotation.assignments.queries import DepartureOutcome, ThirdRater, leaving, third_raters, uncounted
from annotation.calibration.actions import gold
from annotation.calibration.queries.training import raters_with_hidden_tries, sees_tries
from annotation.core.access import OWNER, Seat, get_round, get_round_rater
from annotation.core.api_bodies import Body, StringField, Switch, Whole
from annotation.core.api_pages import PAGE, JobShape, list_page, pages_of
from annotation.core.api_requests import present_entries, seat_of
from annotation.core.bulk_jobs import job_as_document, job_of
from annotation.core.errors import Invalid
from annotation.models import Membership, Round, RoundRater
from annotation.rounds.actions import raters as actions
from annotation.rounds.queries import asked_in_all, double_coded, last_days, leases, unfinished_by_rater

NO_QUOTA = "Enter a whole number from 0, or null for no limit."


class AdmissionShape(serializers.Serializer[Any]):
    """How a rater came in: the minimum was reached in a round, or the owner let them in for a reason."""

    how = serializers.ChoiceField(["reached", "let_in"])
    at = serializers.DateTimeField()
    round = serializers.IntegerField(allow_null=True, help_text="The round of their newest try until then.")
    n_items = serializers.IntegerField(allow_null=True)
    n_right = serializers.IntegerField(allow_null=True)
    reason = serializers.CharField(allow_null=True)


class RoundRaterShape(serializers.Serializer[Any]):
    """A rater of a round, or a third rater from outside, and how far they are; `user` only for the owner."""

    code = serializers.CharField()
    user = serializers.CharField(allow_null=True)
    kind = serializers.CharField()
    quota = serializers.IntegerField(allow_null=True, help_text="At most so many items; null: no limit.")
    n_assigned = serializers.IntegerField()
    n_finished = serializers.IntegerField(help_text="Items submitted or skipped.")
    n_third = serializers.IntegerField(
        allow_null=True,
        help_text="Items asked of them as a third rater, part of `n_assigned` once the round is over; null where the "
        "results of the round are hidden from the caller.",
    )
    n_third_finished = serializers.IntegerField(allow_null=True, help_text="How many of these they answered.")
    last_day = serializers.DateField(
        allow_null=True,
        help_text="The day (UTC) of the last answer that was given here, for the study's owner and staff; null for "
        "others, and where all are imported.",
    )
    left_at = serializers.DateTimeField(allow_null=True)
    away_until = serializers.DateField(
        allow_null=True, help_text="The day of their return, for owners and themselves; before it they get no items."
    )
    lease_until = serializers.DateTimeField(
        allow_null=True, help_text="In a pool, until when they hold an item at the latest, to the full hour."
    )
    n_double = serializers.IntegerField(
        allow_null=True,
        help_text="How many of the items assigned have another rater, too; null where all items have all raters.",
    )
    unblinded = serializers.BooleanField(
        help_text="They could read answers of the round before they rated, so theirs never count as before discussion."
    )
    admission = AdmissionShape(
        allow_null=True,
        help_text="Where the round has a minimum on calibration items: how the rater came in, for the rater, and for "
        "owners and staff from whom no answers of the rater to calibration items are hidden, in any round; null for "
        "others, where the rater has not come in yet, or where there is no minimum.",
    )


class RoundRaterBody(Body):
    """Who comes into an open round, and how many items they take at most."""

    refusal = "Rater not added."

    user = StringField(help_text="User name or rater code.")
    quota = Whole(NO_QUOTA, required=False, allow_null=True)
    unblinded = Switch(
        required=False,
        help_text="True adds and marks a rater who could read answers of the round (else 409 `not_blind_any_more`).",
    )


class QuotaBody(Body):
    """How many items a rater takes at most; null: no limit."""

    refusal = "Quota not changed."

    quota = Whole(NO_QUOTA, allow_null=True)


class LeavingShape(serializers.Serializer[Any]):
    """What becomes of the unfinished items of a rater who leaves."""

    rater = serializers.CharField()
    withdrawn = serializers.IntegerField(help_text="Unfinished items taken away from the rater.")
    given = serializers.DictField(
        child=serializers.IntegerField(),
        allow_null=True,
        help_text="How many of them went to whom, by code; null before a job moved more than 20,000.",
    )
    waiting = serializers.IntegerField(
        allow_null=True,
        help_text="How many wait for a rater; in a pool, how many went back to it; null before a job moved them.",
    )


def rater_answer(
    seat: Seat,
    row: RoundRater,
    meanwhile: Mapping[tuple[int, int], tuple[int, int]] | None = None,
    days: Mapping[int, date] | None = None,
    third: Mapping[int, ThirdRater] | None = None,
    until: Mapping[int, datetime] | None = None,
    double: Mapping[int, tuple[int, int]] | None = None,
    unfinished: Mapping[int, int] | None = None,
    hidden_tries: Collection[int] | None = None,
) -> dict[str, Any]:
    """A rater of a round; what concerns all raters of the round is read where it is not given."""
    may_know = seat.has_role(OWNER) or seat.user.is_staff
    meanwhile = uncounted([row.round], seat) if meanwhile is None else meanwhile
    if may_know and days is None:
        days = last_days(row.round, seat)
    until = leases(row.round) if until is None else until
    double = double_coded(row.round) if double is None else double
    unfinished = unfinished_by_rater(row.round) if unfinished is None else unfinished
    hidden_tries = raters_with_hidden_tries(seat, row.round) if hidden_tries is None else hidden_tries
    is_own = seat.membership is not None and seat.membership.pk == row.rater_id
    n, n_done = meanwhile.get((row.round_id, row.rater_id), (0, 0))
    is_shown = seat.sees_all_results(row.round_id)
    if third is None:
        third = _third_raters(seat, row.round)
    asked = third.get(row.rater_id)
    return {
        "code": row.rater.code,
        "user": row.rater.user_name if may_know else None,
        "kind": row.rater.kind,
        "quota": row.quota,
        "n_assigned": asked_in_all(row, unfinished.get(row.rater_id, 0)) - n,
        "n_finished": row.n_finished - n_done,
        "n_third": (asked.n_total if asked else 0) if is_shown else None,
        "n_third_finished": (asked.n_finished if asked else 0) if is_shown else None,
        "last_day": days.get(row.rater_id) if may_know and days else None,
        "left_at": row.left_at,
        "away_until": row.rater.away_until if row.rater.is_away and (may_know or is_own) else None,
        "lease_until": until.get(row.rater_id),
        "n_double": double.get(row.rater_id, (0, 0))[0] if double else None,
        "unblinded": row.unblinded,
        "admission": admission_answer(row) if sees_tries(seat, row, hidden_tries) else None,
    }


def _third_raters(seat: Seat, round_: Round) -> dict[int, ThirdRater]:
    """The third raters of a round by the membership's id, none where anything of its results is hidden."""
    found = third_raters(round_) if seat.sees_all_results(round_.pk) else []
    return {each.rater.pk: each for each in found}


def admission_answer(row: RoundRater) -> dict[str, Any] | None:
    kept = row.admission
    return {name: kept.get(name) for name in ("how", "at", "round", "n_items", "n_right", "reason")} if kept else None


def leaving_answer(found: DepartureOutcome) -> dict[str, Any]:
    return {
        "rater": found.rater.code,
        "withdrawn": found.n,
        "given": None if found.n_later else {str(to): n for to, n in found.given},
        "waiting": None if found.n_later else found.n_waiting,
    }


def job_answer(round_: Round) -> Response | None:
    """202 with the job that is at work on a round; None where there is none."""
    job = job_of(round_)
    return Response(job_as_document(job), status=202) if job is not None and job.is_at_work else None


class RoundRaters(APIView):
    """The raters of a round, third raters from outside among them; the owner adds one to an open round."""

    ordering = ("pk",)

    @extend_schema(responses=pages_of(RoundRaterShape), parameters=PAGE, operation_id="studies_rounds_raters_list")
    def get(self, request: Request, slug: str, number: int) -> Response:
        seat = seat_of(request, slug)
        round_ = get_round(seat, number)
        meanwhile, third = uncounted([round_], seat), _third_raters(seat, round_)
        days = last_days(round_, seat) if seat.has_role(OWNER) or seat.user.is_staff else {}
        of_round = {
            row.rater_id: row
            for row in RoundRater.objects.filter(round=round_)
            if (round_.pk, row.rater_id) not in seat.unseen_queue_raters
        }
        members = Membership.objects.filter(pk__in={*of_round, *third}).select_related("user", "invited_user")
        until, double, unfinished = leases(round_), double_coded(round_), unfinished_by_rater(round_)
        hidden_tries = raters_with_hidden_tries(seat, round_)

        def shown(member: Membership) -> dict[str, Any]:
            row = of_round.get(member.pk)
            if row is None:
                asked = third[member.pk]
                row = RoundRater(n_assigned=asked.n_total, n_finished=asked.n_finished)
            row.round, row.rater = round_, member
            return rater_answer(seat, row, meanwhile, days, third, until, double, unfinished, hidden_tries)

        return list_page(self, request, members, shown)

    @extend_schema(request=RoundRaterBody, responses={201: RoundRaterShape, 200: RoundRaterShape, 202: JobShape})
    def post(self, request: Request, slug: str, number: int) -> Response:
        """In a planned round they get the slots that wait for someone; the same again changes nothing, 200.

        Someone who could read answers of the round as owner or adjudicator is 409 `not_blind_any_more`, unless the
        body has `"unblinded": true`: then none of their answers counts as before discussion, and the methods name them.
        More than 20,000 items are assigned by a job: 202 with its row.
        """
        seat, body = seat_of(request, slug), {"user": "", **RoundRaterBody.of(request)}
        added = actions.add_rater(seat=seat, number=number, **present_entries(body, "user", "quota", "unblinded"))
        if added.job is not None:
            return Response(job_as_document(added.job), status=202)
        row = get_round_rater(added.round_rater.round, added.round_rater.rater.code or "")
        return Response(rater_answer(seat, row), status=201 if added.is_new else 200)


class OneRoundRater(APIView):
    """A rater of a round."""

    @extend_schema(responses=RoundRaterShape)
    def get(self, request: Request, slug: str, number: int, code: str) -> Response:
        seat = seat_of(request, slug)
        return Response(rater_answer(seat, get_round_rater(get_round(seat, number), code, seat)))

    @extend_schema(request=QuotaBody, responses={200: RoundRaterShape, 202: JobShape})
    def patch(self, request: Request, slug: str, number: int, code: str) -> Response:
        """Changes the quota, before the round opens and while it is open; never below what was taken.

        A rater who can now take more than 20,000 waiting items gets them by a job: 202 with its row.
        """
        seat, body = seat_of(request, slug), QuotaBody.of(request)
        if "quota" not in body:
            raise Invalid("No changes sent.", fields={"quota": [NO_QUOTA]})
        row = actions.change_quota(seat=seat, number=number, rater=code, quota=body["quota"])
        return job_answer(row.round) or Response(rater_answer(seat, row))


class WithdrawRater(APIView):
    """A rater leaves an open round: what they answered stays and counts, the rest goes to others or waits."""

    @extend_schema(responses=LeavingShape)
    def get(self, request: Request, slug: str, number: int, code: str) -> Response:
        """What withdrawing would do now, for the owner."""
        seat = seat_of(request, slug)
        seat.require(OWNER)
        round_ = get_round(seat, number)
        seat.require_queue(round_)
        return Response(leaving_answer(leaving(round_, get_round_rater(round_, code))))

    @extend_schema(request=None, responses={200: LeavingShape, 202: JobShape})
    def post(self, request: Request, slug: str, number: int, code: str) -> Response:
        """Withdraws the rater; the same again changes nothing.

        More than 20,000 unfinished items are moved by a job: 202 with its row. The rater has left when it is done.
        """
        seat = seat_of(request, slug)
        found = actions.withdraw_rater(seat=seat, number=number, rater=code)
        job = job_answer(get_round(seat, number)) if found.n_later else None
        return job or Response(leaving_answer(found))


class AdmitBody(Body):
    """Why a rater gets items without having reached the minimum."""

    documents = ("reason",)

    reason = serializers.CharField()


class AdmitRater(APIView):
    """Lets a rater have the items of an open round without its minimum on calibration items."""

    @extend_schema(request=AdmitBody, responses=RoundRaterShape)
    def post(self, request: Request, slug: str, number: int, code: str) -> Response:
        """The reason is kept, and reported with the round and in the methods paragraph. Again it changes nothing."""
        seat = seat_of(request, slug)
        row = gold.admit(seat=seat, number=number, rater=code, reason=AdmitBody.of(request).get("reason"))
        return Response(rater_answer(seat, row))
