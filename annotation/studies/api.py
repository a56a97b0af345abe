"""Studies over REST."""

from typing import Any, ClassVar

from django.db import transaction
from django.db.models import OuterRef, Subquery
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.generics import ListAPIView
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from annotation.agreement_report.actions import fix_headline
from annotation.agreement_report.queries.headline import HeadlineSet, headline_set
from annotation.core.access import Seat, get_seat
from annotation.core.api_bodies import Body, CheckedListField, StringField, Switch, Whole
from annotation.core.api_requests import caller, choice_in_address, present_entries, seat_of
from annotation.labels.registration import with_defaults
from annotation.models import Study
from annotation.studies.actions import studies as study_actions
from annotation.studies.actions.archive import archive_study, take_out_of_archive
from annotation.studies.actions.primary import newest_dimensions
from annotation.studies.queries.studies import visible_studies
from shared.entries_field import EntriesField
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
    screening_keywords = EntriesField(
        child=serializers.CharField(),
        required=False,
        help_text="Words that are highlighted for everyone who screens; `hang*` finds hangs, too.",
    )
    pseudonymise = serializers.BooleanField(required=False)
    names_shown = serializers.BooleanField(required=False)
    third_rater = serializers.BooleanField(required=False)
    majority = serializers.BooleanField(required=False)
    headline = CheckedListField(
        "Send a list of round numbers.",
        child=Whole(),
        required=False,
        help_text="Numbers of draft main rounds of one version, whose agreement is to be the study's number. It can be "
        "fixed before the first main round of that version opens. An empty list: all finished main rounds of the "
        "newest version that has one, which is the default.",
    )
    archived = Switch(
        required=False, help_text="True: the study is only read from now on; false: it is worked on again."
    )


class StudyBody(StudyChanges):
    """What a new study needs, and whatever can be changed in it later."""

    refusal = "Some fields are not valid."
    documents = tuple({*StudyChanges.documents} - {"title"})

    slug = StringField()
    title = StringField()
    taxonomy = StringField(help_text="The slug of a taxonomy.")


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


class Studies(ListAPIView[Study]):
    """The caller's studies (all of them for staff); with scope manage a new one, which the caller owns."""

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
                **present_entries(body, "primary", "guidelines", "resolve_when"),
            )
            if changes := present_entries(
                body, "applies", "screened_out", "screening_keywords", *study_actions.SWITCHES, "headline", "archived"
            ):
                study = change(get_seat(caller(request), study.slug), changes)
        return Response(StudyShape(study).data, status=201)


class OneStudy(APIView):
    """A study, with the caller's place in it."""

    in_archive_too = True

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
            take_out_of_archive(seat=seat)
        if changes or (archived is None and rounds is None):
            study_actions.change_study(seat=seat, changes=changes)
        if rounds is not None:
            fix_headline(seat=seat, rounds=rounds)
        if archived is True:
            archive_study(seat=seat)
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
