"""Study pages: the list, a new study, and the settings of one."""

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render

from accounts.permissions import may_create_studies
from annotation.agreement_report.actions import fix_headline
from annotation.agreement_report.queries.headline import fixable_rounds, headline_set
from annotation.core.access import OWNER, Seat, get_seat
from annotation.core.demo_people import require_may_create_studies
from annotation.core.forms import explain_changed_meanwhile
from annotation.core.locks import hold_study
from annotation.core.pages import me, study_page
from annotation.labels.registration import with_defaults
from annotation.studies.actions import studies as study_actions
from annotation.studies.forms import PrimaryForm, SettingsForm, StudyForm
from annotation.studies.queries import studies as queries
from shared.forms import explaining, form_page, status_of
from taxonomy.models import Taxonomy
from taxonomy.queries import newest_published, published_version
from taxonomy.tree import TreeDimension


@login_required
@form_page
def new_study(request: HttpRequest) -> HttpResponse:
    """`?taxonomy=` chooses the taxonomy whose dimensions the form asks about."""
    user = me(request)
    require_may_create_studies(user)
    given = request.POST if request.method == "POST" else None
    taxonomies = queries.usable_taxonomies(user)
    first = taxonomies.filter(slug=(given or request.GET).get("taxonomy", "")).first() or taxonomies.first()
    initial: dict[str, str | None] = {name: request.GET.get(name, "") for name in ("title", "slug", "guidelines")}
    initial |= {"taxonomy": first.slug if first else None, "resolve_when": request.GET.get("resolve_when") or "round"}
    form = StudyForm(given, taxonomies=taxonomies, initial=initial)
    dimensions = _dimensions(first)
    primary = PrimaryForm(given, dimensions=dimensions, initial=PrimaryForm.initial_of({}, dimensions))
    explain_changed_meanwhile(form)
    explain_changed_meanwhile(primary, PrimaryForm.dimension_of)
    if given is not None and form.is_valid() and primary.is_valid():
        chosen = form.cleaned_data | {"taxonomy": form.cleaned_data["taxonomy"].slug, "primary": primary.primary}
        with explaining(form):
            study = study_actions.create_study(user=user, **chosen)
            messages.success(request, f"“{study.title}” was created. Add its raters, then draw a sample.")
            return redirect("study", study.slug)
    context = {"form": form, "primary": primary, "has_taxonomy": first is not None}
    return render(request, "annotation/studies/new_study.html", context, status=status_of(form, primary))


def _dimensions(taxonomy: Taxonomy | None) -> tuple[TreeDimension, ...]:
    version = newest_published(taxonomy) if taxonomy else None
    return published_version(version.pk).dimensions if version else ()


@login_required
@form_page
def study_settings(request: HttpRequest, slug: str) -> HttpResponse:
    """Title, guidelines and when to resolve; the primary coefficients until the first round opens.

    What is sent is compared with what is stored while nobody else changes it: forms send what they leave, too.
    """
    seat = get_seat(me(request), slug)
    seat.require(OWNER)
    if request.method != "POST":
        return _settings(request, seat)
    with transaction.atomic():
        seat.study = hold_study(seat)
        return _settings(request, seat)


def _settings(request: HttpRequest, seat: Seat) -> HttpResponse:
    here = seat.study
    given = request.POST if request.method == "POST" else None
    initial: dict[str, object] = {"title": here.title, "guidelines": here.guidelines, "resolve_when": here.resolve_when}
    initial |= {"pseudonymise": here.pseudonymise, "third_rater": here.third_rater, "majority": here.majority}
    initial |= {"names_shown": here.names_shown, "applies": here.applies, "screened_out": here.screened_out}
    initial["screening_keywords"] = ", ".join(here.screening_keywords)
    headline = headline_set(seat)
    initial["headline"] = [str(number) for number in headline.fixed]
    form = SettingsForm(given, initial=initial, fixable=fixable_rounds(seat))
    is_fixed = queries.labeling_has_begun(here)
    every = _dimensions(here.taxonomy)
    dimensions = () if is_fixed else every
    primary = PrimaryForm(given, dimensions=dimensions, initial=PrimaryForm.initial_of(here.primary, dimensions))
    explain_changed_meanwhile(form)
    explain_changed_meanwhile(primary, PrimaryForm.dimension_of)
    if given is not None and form.is_valid() and primary.is_valid():
        changes = {name: form.cleaned_data[name] for name in form.changed_data if name != "headline"}
        if "screening_keywords" in changes:
            changes["screening_keywords"] = changes["screening_keywords"].replace("\n", ",").split(",")
        fixes = "headline" in form.fields and "headline" in form.changed_data
        for name in ("applies", "screened_out"):
            if not changes.get(name):
                changes.pop(name, None)
        if primary.changed_data:
            changes["primary"] = primary.primary
        with explaining(form):
            with transaction.atomic():
                if changes:
                    study_actions.change_study(seat=seat, changes=changes)
                if fixes:
                    numbers = [int(each) for each in form.cleaned_data["headline"]]
                    fix_headline(seat=seat, rounds=numbers)
            messages.success(request, "Your changes are saved." if changes or fixes else "Nothing was changed.")
            return redirect("study", here.slug)
    return study_page(
        request,
        seat,
        "studies/settings",
        "overview",
        status=status_of(form, primary),
        form=form,
        primary=primary,
        is_fixed=is_fixed,
        may_create_studies=may_create_studies(seat.user),
        titles={each.key: each.title for each in every},
        registered=with_defaults(here.primary, every),
    )
