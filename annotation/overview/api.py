"""Studies, their members and rounds over REST."""

from typing import Any, ClassVar

from django.db import transaction
from django.db.models import Count, IntegerField, OuterRef, Q, QuerySet, Subquery, Sum
from django.db.models.functions import Coalesce
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.generics import ListAPIView
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from accounts.api import scope
from annotation.agreement_report.actions import fix_headline
from annotation.agreement_report.queries.headline import HeadlineSet, headline_set
from annotation.assignments.queries import ASKED_MEANWHILE, set_aside
from annotation.calibration.queries.gate import gate_then
from annotation.core.access import OWNER, Seat, get_round, get_seat
from annotation.core.api_bodies import Body, Listed, Switch, Text, Whole
from annotation.core.api_pages import IDEMPOTENCY_KEY, PAGE, JobShape, paged, pages_of
from annotation.core.api_requests import body_of, caller, choice_in_address, picked, seat_of
from annotation.core.bulk_jobs import job_as_document, job_of
from annotation.labels.queries.verdicts import ARBITERS, code_order
from annotation.labels.registration import with_defaults
from annotation.labels.screening import STANDINGS
from annotation.members.actions import members as member_actions
from annotation.models import Assignment, Membership, Round, RoundItem, Study
from annotation.rounds.actions import rounds as round_actions
from annotation.rounds.actions.absence import set_away
from annotation.rounds.actions.drafts import remove_draft, return_to_draft
from annotation.rounds.actions.due_dates import set_due
from annotation.studies.actions import studies as study_actions
from annotation.studies.actions.primary import newest_dimensions
from annotation.studies.queries.studies import visible_studies
from annotation.transfer.actions import life
from taxonomy.models import TaxonomyVersion
from taxonomy.queries import published_version


class Primary(serializers.Serializer[Any]):
    """The coefficient that stands first, with its threshold."""

    coefficient = serializers.CharField()
    threshold = serializers.FloatField(allow_null=True, required=False)
    metric = serializers.CharField(
        required=False, allow_null=True, help_text="The distance of Krippendorff's alpha, where not the kind's own."
    )
    weights = serializers.JSONField(
        required=False,
        allow_null=True,
        help_text="Of weighted kappa and AC2: linear, quadratic, or a row of numbers from 0 to 1 for each category "
        "that can be chosen, in their order, with 1 for a category and itself.",
    )
    reason = serializers.CharField(required=False, allow_blank=True, help_text="Why this statistic.")


class StudyChanges(Body):
    """What can be changed in a study."""

    refusal = "Study not changed."
    documents: ClassVar[tuple[str, ...]] = (
        *("title", "guidelines", "resolve_when", "primary", "applies", "screened_out", "screening_keywords"),
        *study_actions.SWITCHES,
    )

    title = serializers.CharField()
    guidelines = serializers.CharField(required=False)
    resolve_when = serializers.ChoiceField(Study.ResolveWhen.choices, required=False)
    primary = serializers.DictField(child=Primary(), required=False, help_text="By dimension key.")
    applies = serializers.ChoiceField(
        Study.Applies.choices,
        required=False,
        help_text="Which units of a conditional dimension agreement compares where it is not asked otherwise.",
    )
    screened_out = serializers.ChoiceField(
        Study.ScreenedOut.choices,
        required=False,
        help_text="Labeled items that are screened out: exclude them from agreement, agreed labels, counts and files, "
        "or keep them, marked `screened_out`.",
    )
    screening_keywords = serializers.ListField(
        child=serializers.CharField(),
        required=False,
        help_text="Words that are highlighted for everyone who screens; `hang*` finds hangs, too.",
    )
    pseudonymise = serializers.BooleanField(required=False)
    names_shown = serializers.BooleanField(required=False)
    third_rater = serializers.BooleanField(required=False)
    majority = serializers.BooleanField(required=False)
    headline = Listed(
        "Send a list of round numbers.",
        child=Whole(),
        required=False,
        help_text="Numbers of draft main rounds of one version, whose agreement is to be the study's number. It can be "
        "fixed before the first main round of that version opens. An empty list: all finished main rounds of the "
        "newest version in use, which is the default.",
    )
    archived = Switch(
        required=False, help_text="True: the study is only read from now on; false: it is worked on again."
    )


class StudyBody(StudyChanges):
    """What a new study needs, and whatever can be changed in it later."""

    refusal = "Some fields are not valid."
    documents = tuple({*StudyChanges.documents} - {"title"})

    slug = Text()
    title = Text()
    taxonomy = Text(help_text="The slug of a taxonomy.")


class StudyShape(serializers.ModelSerializer[Study]):
    """A study as its members see it."""

    taxonomy: Any = serializers.SlugRelatedField("slug", read_only=True)
    primary = serializers.SerializerMethodField(
        help_text="By dimension key: coefficient, threshold, …, and `registered`: whether the owner confirmed them."
    )

    def get_primary(self, study: Study) -> dict[str, dict[str, Any]]:
        """A query for a single study; none in a list, which has the `newest_version` of each."""
        newest: int | None = getattr(study, "newest_version", None)
        dimensions = published_version(newest).dimensions if newest else newest_dimensions(study.taxonomy)
        return with_defaults(study.primary, dimensions)

    class Meta:
        model = Study
        fields = (
            "slug",
            "title",
            "taxonomy",
            "guidelines",
            "primary",
            "resolve_when",
            "applies",
            "screened_out",
            "screening_keywords",
            "pseudonymise",
            "names_shown",
            "third_rater",
            "majority",
            "created_at",
            "archived_at",
        )


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
    raters_per_item = serializers.IntegerField()
    mode = serializers.CharField()
    double_share = serializers.FloatField()
    seed = serializers.IntegerField()
    n_items = serializers.IntegerField()
    n_assignments = serializers.IntegerField()
    n_finished = serializers.IntegerField(help_text="Items submitted or skipped.")
    n_free = serializers.IntegerField(help_text="Assignments without a rater that need one.")
    quotas = serializers.DictField(child=serializers.IntegerField(), help_text="By rater code, where there is one.")
    left = serializers.ListField(child=serializers.CharField(), help_text="Codes of raters who left the round.")
    due_on = serializers.DateField(allow_null=True, help_text="Its due date, if any.")
    opened_at = serializers.DateTimeField(allow_null=True)
    resolving_at = serializers.DateTimeField(allow_null=True)
    closed_at = serializers.DateTimeField(allow_null=True)
    gold_minimum = serializers.DictField(
        allow_null=True, help_text="What raters have to reach on calibration items before they get others."
    )
    gate = GateShape(allow_null=True, help_text="Of a main round: what the last pilot said when it was opened.")
    job = JobShape(allow_null=True, help_text="The job that fills or opens it, until it has finished.")


class NewRoundShape(RoundShape):
    """A round that was made, with what to consider before it is opened."""

    warnings = serializers.ListField(
        child=serializers.CharField(), help_text="Sentences, such as that items were in an earlier round."
    )


class RoundChanges(Body):
    """What can be changed in a round that exists."""

    documents = ("due_on",)

    due_on = serializers.DateField(allow_null=True, help_text="A day (UTC), today or later; null: none.")


class RoundBody(serializers.Serializer[Any]):
    """What a new round needs: either issues, or a sample with n_items or share."""

    kind = serializers.ChoiceField(["screening", "pilot", "main"], required=False)
    taxonomy_version = serializers.IntegerField(required=False, help_text="Not for a screening round.")
    screening = serializers.ListField(
        child=serializers.ChoiceField(list(STANDINGS)),
        required=False,
        help_text="Only for a coding round: how the issues it takes may stand to screening. Without it `in` once the "
        "study has opened a screening round, else `in`, `unscreened` and `open`. `open`: a screening round asked, and "
        "has no agreed result. `out` needs the study’s `screened_out` to be `keep`.",
    )
    reasons = serializers.ListField(
        child=serializers.CharField(),
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
    training_round = serializers.IntegerField(
        required=False, help_text="Instead of `known`: a closed round, whose agreed labels are what is known."
    )
    n_training = serializers.IntegerField(required=False, help_text="So many of its items, the first in its order.")
    gold_minimum = serializers.DictField(
        required=False,
        help_text='What raters have to reach on calibration items before they get others: {"share": 0.8, "dimensions": '
        '{"symptom": 0.6}}, one of them or both. It is fixed when the round opens.',
    )
    raters = serializers.ListField(child=serializers.CharField(), help_text="User names or rater codes.")
    quotas = serializers.DictField(
        child=serializers.IntegerField(allow_null=True),
        required=False,
        help_text="By user name or rater code: how many items they take at most; null: no limit.",
    )
    raters_per_item = serializers.IntegerField(required=False)
    mode = serializers.ChoiceField(Round.Mode.choices, required=False)
    double_share = serializers.FloatField(required=False)
    seed = serializers.IntegerField(required=False)
    issues = serializers.ListField(child=serializers.CharField(), required=False)
    sample = serializers.CharField(required=False)
    n_items = serializers.IntegerField(required=False)
    share = serializers.FloatField(required=False)
    due_on = serializers.DateField(required=False, allow_null=True, help_text="The due date.")


class MachineShape(serializers.Serializer[Any]):
    """Which machine it is, and what it is told."""

    name = serializers.CharField(allow_blank=True)
    version = serializers.CharField(allow_blank=True)
    prompt = serializers.CharField(allow_blank=True)


class MemberBody(Body):
    """A user's roles; what is given replaces what was."""

    documents = ("roles", "kind", "machine")

    user = Text()
    roles = serializers.ListField(child=serializers.ChoiceField(Membership.Role.choices))
    kind = serializers.ChoiceField(Membership.Kind.choices, required=False)
    machine = MachineShape(required=False, help_text="Of a model rater; fixed once it has labels.")


class MemberShape(serializers.Serializer[Any]):
    """A member, or somebody who was invited; `user` only for the owner.

    An account that was invited is no member until its person accepts; `user` is the name as the owner typed it.
    """

    user = serializers.CharField(allow_null=True)
    state = serializers.ChoiceField(
        Membership.State.choices,
        help_text="member; invited (waits for the answer), declined or withdrawn (of an invitation); left; name_only "
        "(from a sheet, without an account).",
    )
    roles = serializers.ListField(child=serializers.CharField())
    code = serializers.CharField(allow_null=True)
    kind = serializers.CharField()
    machine = MachineShape(allow_null=True)
    away_until = serializers.DateField(
        allow_null=True, help_text="The day of their return, for owners and themselves; before it they get no items."
    )


class Reason(Body):
    """Why a main round is opened although the last pilot speaks against it."""

    reason = Text(
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


class Studies(ListAPIView[Study]):
    """The caller's studies (all of them for staff); with scope manage a new one, which the caller owns."""

    permission_classes = [scope("manage")]
    serializer_class = StudyShape
    ordering = ("slug",)

    def get_queryset(self) -> Any:
        if getattr(self, "swagger_fake_view", False):
            return Study.objects.none()
        asked = choice_in_address(self.request, "archived", ("true", "false"), "false")
        versions = TaxonomyVersion.objects.filter(taxonomy=OuterRef("taxonomy")).order_by("-number").values("pk")
        versions = versions.exclude(state=TaxonomyVersion.State.DRAFT)
        found = visible_studies(caller(self.request), archived=asked == "true")
        return found.annotate(newest_version=Subquery(versions[:1]))

    @extend_schema(
        parameters=[OpenApiParameter("archived", bool, description="The archived ones instead of those worked on.")]
    )
    def get(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        return super().get(request, *args, **kwargs)

    @extend_schema(request=StudyBody, responses={201: StudyShape})
    def post(self, request: Request) -> Response:
        body = {"slug": "", "title": "", "taxonomy": "", **StudyBody.of(request)}
        with transaction.atomic():
            study = study_actions.create_study(
                user=caller(request),
                slug=body["slug"],
                title=body["title"],
                taxonomy=body["taxonomy"],
                **picked(body, "primary", "guidelines", "resolve_when"),
            )
            if changes := picked(
                body, "applies", "screened_out", "screening_keywords", *study_actions.SWITCHES, "headline", "archived"
            ):
                study = change(get_seat(caller(request), study.slug), changes)
        return Response(StudyShape(study).data, status=201)


class OneStudy(APIView):
    """A study, with the caller's place in it."""

    in_archive_too = True
    permission_classes = [scope("manage")]

    @extend_schema(responses=StudyShape)
    def get(self, request: Request, slug: str) -> Response:
        return Response(study_answer(seat_of(request, slug)))

    @extend_schema(request=StudyChanges(partial=True), responses=StudyShape)
    def patch(self, request: Request, slug: str) -> Response:
        seat = seat_of(request, slug)
        change(seat, StudyChanges.of(request))
        return Response(study_answer(seat))


def change(seat: Seat, changes: dict[str, Any]) -> Study:
    """Changes a study as the body of a request asks; `archived` first where it is false, last where it is true."""
    archived, rounds = changes.pop("archived", None), changes.pop("headline", None)
    with transaction.atomic():
        if archived is False:
            life.take_out_of_archive(seat=seat)
        if changes or (archived is None and rounds is None):
            study_actions.change_study(seat=seat, changes=changes)
        if rounds is not None:
            fix_headline(seat=seat, rounds=rounds)
        if archived is True:
            life.archive_study(seat=seat)
    return seat.study


def study_answer(seat: Seat) -> dict[str, Any]:
    member = seat.membership
    return {
        **StudyShape(seat.study).data,
        "headline": headline_answer(headline_set(seat)),
        "roles": member.roles if member else [],
        "code": member.code if member else None,
    }


def headline_answer(found: HeadlineSet) -> dict[str, Any]:
    """The finished rounds of the headline, those of it that are not finished, and who fixed the set, if anybody."""
    return {
        "rounds": found.numbers,
        "waiting": [each.number for each in found.waiting],
        "fixed": list(found.fixed) or None,
        "fixed_by": found.fixed_by or None,
        "fixed_at": found.fixed_at,
    }


class Members(APIView):
    """The members of a study; the owner gives a user roles.

    An account that is not a member is invited (201, `"state": "invited"`); staff add it at once. Until its person
    accepts, it can be named in rounds, and sees nothing of the study. Too many unknown names are 429.
    """

    permission_classes = [scope("manage")]

    @extend_schema(responses=pages_of(MemberShape), parameters=PAGE, operation_id="studies_members_list")
    def get(self, request: Request, slug: str) -> Response:
        seat = seat_of(request, slug)
        members = list(Membership.objects.filter(study=seat.study).select_related("user"))
        in_order = sorted(members, key=lambda each: code_order(each.code))
        return paged(self, request, in_order, lambda member: member_answer(seat, member))

    @extend_schema(request=MemberBody, responses={201: MemberShape, 200: MemberShape})
    def post(self, request: Request, slug: str) -> Response:
        seat, body = seat_of(request, slug), MemberBody.of(request)
        placed = member_actions.set_member(
            seat=seat, username=body.get("user", ""), roles=body.get("roles") or [], **picked(body, "kind", "machine")
        )
        return Response(member_answer(seat, placed.membership), status=201 if placed.is_new else 200)


def member_answer(seat: Seat, member: Membership) -> dict[str, Any]:
    may_know = seat.has_role(OWNER) or seat.user.is_staff or member.user_id == seat.user.pk
    return {
        "user": member.user_name if may_know else None,
        "state": member.state,
        "roles": member.roles,
        "code": member.code,
        "kind": member.kind,
        "machine": machine_answer(member) if member.is_machine else None,
        "away_until": member.away_until if may_know and member.is_away else None,
    }


class AbsenceBody(Body):
    """Until when a rater is away."""

    documents = ("until", "user")

    until = serializers.DateField(allow_null=True, help_text="The day of the return (UTC); null ends the absence.")
    user = serializers.CharField(required=False, help_text="User name or code, for owners; without it oneself.")


class Absence(APIView):
    """A rater is away until a day: until then they get no items, and what they have is kept for them."""

    permission_classes = [scope("rate")]

    @extend_schema(request=AbsenceBody, responses={200: MemberShape})
    def post(self, request: Request, slug: str) -> Response:
        """Raters set their own absence, owners anybody's; the same again changes nothing."""
        seat, body = seat_of(request, slug), AbsenceBody.of(request)
        made = set_away(seat=seat, until=body.get("until", False), user=body.get("user"))
        return Response(member_answer(seat, made))


def machine_answer(member: Membership) -> dict[str, str]:
    return {"name": member.machine_name, "version": member.machine_version, "prompt": member.machine_prompt}


class Rounds(APIView):
    """The rounds of a study; the owner makes a new one, a draft."""

    ordering = ("number",)
    permission_classes = [scope("manage")]

    @extend_schema(responses=pages_of(RoundShape), parameters=PAGE, operation_id="studies_rounds_list")
    def get(self, request: Request, slug: str) -> Response:
        seat = seat_of(request, slug)
        rounds = detailed(Round.objects.filter(study=seat.study), seat)
        return paged(self, request, rounds, lambda each: round_answer(seat, each))

    @extend_schema(parameters=[IDEMPOTENCY_KEY], request=RoundBody, responses={201: NewRoundShape})
    def post(self, request: Request, slug: str) -> Response:
        seat, body = seat_of(request, slug), body_of(request)
        names = ("kind", "taxonomy_version", "quotas", "raters_per_item", "mode", "double_share", "seed")
        made = round_actions.create_round(
            seat=seat,
            idempotency_key=request.headers.get("Idempotency-Key", ""),
            raters=body.get("raters") or [],
            **picked(
                body,
                *(*names, "issues", "sample", "n_items", "share", "screening", "reasons"),
                *("known", "training_round", "n_training", "gold_minimum", "due_on"),
            ),
        )
        warnings = [*round_actions.screening_warnings(made), *round_actions.warnings_of(made)]
        return Response({**one_round(seat, made), "warnings": warnings}, status=201)


def detailed(rounds: Any, seat: Seat) -> Any:
    """Rounds with everything that `round_answer` shows this person; two queries, one more where something is withheld.

    Each count is a subquery of its own: joined, items and assignments of a round would be multiplied.
    """
    assignments = Assignment.objects.filter(seat.not_queued(), round=OuterRef("pk")).exclude(ASKED_MEANWHILE)
    if seat.unsettled_round_ids:
        assignments = assignments.exclude(ARBITERS, round__in=seat.unsettled_round_ids)
    counts = ~Q(state=Assignment.State.WITHDRAWN)
    if seat.sealed_round_ids:
        counts |= Q(pk__in=set_aside(seat.sealed_round_ids).values("pk"))
    places = RoundItem.objects.filter(seat.not_queued(), round=OuterRef("pk"))
    return (
        rounds.select_related("taxonomy_version__taxonomy")
        .prefetch_related("round_raters__rater", "bulk_jobs")
        .annotate(
            n_assignments=_counted(assignments.filter(counts)),
            n_finished=_counted(assignments.filter(state__in=Assignment.FINISHED)),
            n_items=_counted(places),
            n_free=_summed(places.filter(n_free__gt=0), "n_free"),
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
    job = job_of(round_)
    return {
        "number": round_.number,
        "label": round_.label,
        "kind": round_.kind,
        "state": "preparing" if job is not None and job.is_at_work else round_.state,
        "taxonomy": {"slug": round_.taxonomy_version.taxonomy.slug, "version": round_.taxonomy_version.number},
        "taxonomy_version": round_.taxonomy_version.number,
        "raters": [each.rater.code for each in round_.round_raters.all()],
        "raters_per_item": round_.raters_per_item,
        "mode": round_.mode,
        "double_share": round_.double_share,
        "seed": round_.seed,
        "n_items": round_.n_items,
        "n_assignments": round_.n_assignments,
        "n_finished": round_.n_finished,
        "n_free": round_.n_free,
        "quotas": {each.rater.code: each.quota for each in round_.round_raters.all() if each.quota is not None},
        "left": [each.rater.code for each in round_.round_raters.all() if each.left_at is not None],
        "due_on": round_.due_on,
        "opened_at": round_.opened_at,
        "resolving_at": round_.resolving_at,
        "closed_at": round_.closed_at,
        "gold_minimum": round_.gold_minimum,
        "gate": gate_then(seat, round_),
        "job": job_as_document(job) if job else None,
    }


class OneRound(APIView):
    """A round and how far it is."""

    permission_classes = [scope("manage")]

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
        """Removes a draft; any other round is 409. Its number is used again where no later round was made."""
        remove_draft(seat=seat_of(request, slug), number=number)
        return Response(status=204)


class ReturnToDraft(APIView):
    """Makes an open round a draft again while nobody has answered in it; else 409."""

    permission_classes = [scope("manage")]

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

    permission_classes = [scope("manage")]

    @extend_schema(request=Reason, responses={200: RoundShape, 202: JobShape})
    def post(self, request: Request, slug: str, number: int) -> Response:
        seat, body = seat_of(request, slug), Reason.of(request)
        opened = round_actions.open_round(seat=seat, number=number, **picked(body, "reason", "unregistered"))
        if (job := job_of(opened)) is not None:
            return Response(job_as_document(job), status=202)
        return Response(one_round(seat, opened))


class ResolveRound(APIView):
    """Moves an open round to resolving by hand."""

    permission_classes = [scope("manage")]

    @extend_schema(request=Withdraw, responses=RoundShape)
    def post(self, request: Request, slug: str, number: int) -> Response:
        seat, withdraw = seat_of(request, slug), Withdraw.of(request).get("withdraw", False)
        return Response(one_round(seat, round_actions.resolve_round(seat=seat, number=number, withdraw=withdraw)))


class CloseRound(APIView):
    """Closes a resolving round."""

    permission_classes = [scope("manage")]

    @extend_schema(request=LeaveOpen, responses=RoundShape)
    def post(self, request: Request, slug: str, number: int) -> Response:
        seat, leave_open = seat_of(request, slug), LeaveOpen.of(request).get("leave_open", False)
        return Response(one_round(seat, round_actions.close_round(seat=seat, number=number, leave_open=leave_open)))
