"""My work, studies, their people, samples, items and rounds."""

from collections.abc import Callable
from typing import Any

from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_safe

from accounts.models import User
from annotation import reporting
from annotation.access import ADJUDICATOR, OWNER, RATER, Seat, get_item_at, get_round, get_sample, get_seat
from annotation.actions import rounds as round_actions
from annotation.actions import studies as study_actions
from annotation.errors import ConcordError, Forbidden
from annotation.forms import (
    ItemFilter,
    MemberForm,
    PrimaryForm,
    RoundForm,
    SampleForm,
    SettingsForm,
    StudyForm,
    explain,
)
from annotation.models import Item, Membership, Round
from annotation.queries import items as item_queries
from annotation.queries import studies as queries
from annotation.queries.labelling import comments_of
from annotation.queries.verdicts import n_open_proposals
from annotation.views.next_step import may_decide, next_step
from annotation.views.paging import page_of
from ingest.queries import repositories
from taxonomy.models import Taxonomy, TaxonomyVersion
from taxonomy.queries import newest_published, published_version
from taxonomy.tree import TreeDimension

RESOLVING_SHOWN_MOST = 5
form_page = require_http_methods(["GET", "HEAD", "POST"])


def _me(request: HttpRequest) -> User:
    assert isinstance(request.user, User)
    return request.user


def _page(
    request: HttpRequest, seat: Seat, template: str, tab: str, *, status: int = 200, **context: Any
) -> HttpResponse:
    """A page of a study under its header."""
    context |= {"seat": seat, "study": seat.study, "tab": tab, "is_owner": seat.has_role(OWNER)}
    return render(request, f"annotation/studies/{template}.html", context, status=status)


def _status(*given: forms.Form) -> int:
    return 422 if any(form.is_bound and form.errors for form in given) else 200


@login_required
@require_safe
def home(request: HttpRequest) -> HttpResponse:
    """What waits for this person: rounds to label, rounds to resolve, their studies."""
    user = _me(request)
    waiting = queries.waiting_for(user)
    to_resolve = [
        (round_, found)
        for round_ in queries.rounds_to_resolve(user)[:RESOLVING_SHOWN_MOST]
        if (found := queries.open_disagreements(round_)).n
    ]
    lines = queries.study_lines(user, list(queries.studies_of(user)[:20]))
    steps = None if lines else queries.first_steps(user)
    context = {"waiting": waiting, "to_resolve": to_resolve, "lines": lines, "steps": steps}
    return render(request, "annotation/studies/home.html", context)


@login_required
@require_safe
def studies(request: HttpRequest) -> HttpResponse:
    user = _me(request)
    page = page_of(request, queries.visible_studies(user), key="-pk")
    context = {"page": page, "lines": queries.study_lines(user, page.rows)}
    return render(request, "annotation/studies/studies.html", context)


@login_required
@form_page
def new_study(request: HttpRequest) -> HttpResponse:
    """`?taxonomy=` chooses the taxonomy whose dimensions the form asks about."""
    user = _me(request)
    given = request.POST if request.method == "POST" else None
    taxonomies = queries.usable_taxonomies(user)
    first = taxonomies.filter(slug=(given or request.GET).get("taxonomy", "")).first() or taxonomies.first()
    initial: dict[str, str | None] = {name: request.GET.get(name, "") for name in ("title", "slug", "guidelines")}
    initial |= {"taxonomy": first.slug if first else None, "resolve_when": request.GET.get("resolve_when") or "round"}
    form = StudyForm(given, taxonomies=taxonomies, initial=initial)
    primary = PrimaryForm(given, dimensions=_dimensions(first))
    status = 0
    if given is not None and form.is_valid() and primary.is_valid():
        chosen = form.cleaned_data | {"taxonomy": form.cleaned_data["taxonomy"].slug, "primary": primary.primary}
        try:
            study = study_actions.create_study(user=user, **chosen)
        except ConcordError as error:
            explain(form, error)
            status = error.status
        else:
            messages.success(request, f"“{study.title}” is made. Add its raters, then draw a sample.")
            return redirect("study", study.slug)
    context = {"form": form, "primary": primary, "has_taxonomy": first is not None}
    return render(request, "annotation/studies/new_study.html", context, status=status or _status(form, primary))


def _dimensions(taxonomy: Taxonomy | None) -> tuple[TreeDimension, ...]:
    version = newest_published(taxonomy) if taxonomy else None
    return published_version(version.pk).dimensions if version else ()


@login_required
@require_safe
def study(request: HttpRequest, slug: str) -> HttpResponse:
    """Where the study stands, what is next, one number per dimension."""
    seat = get_seat(_me(request), slug)
    lines = queries.round_lines(seat.study.rounds.all(), with_raters=True)
    members = queries.members_of(seat.study)
    step = next_step(
        seat,
        lines,
        n_raters=sum(member.has_role(RATER) for member in members),
        n_samples=seat.study.samples.count(),
    )
    over = next((line.round for line in lines if _is_over(seat, line.round)), None)
    headline = reporting.headline(seat, over) if over else []
    return _page(
        request, seat, "study", "overview", lines=lines, step=step, over=over, headline=headline, members=members
    )


def _is_over(seat: Seat, round_: Round) -> bool:
    return round_.state in (Round.State.RESOLVING, Round.State.CLOSED) and round_.pk not in seat.blind_round_ids


@login_required
@form_page
def study_settings(request: HttpRequest, slug: str) -> HttpResponse:
    """Title, guidelines and when to resolve; the primary coefficients until the first round opens."""
    seat = get_seat(_me(request), slug)
    seat.require(OWNER)
    here = seat.study
    given = request.POST if request.method == "POST" else None
    initial = {"title": here.title, "guidelines": here.guidelines, "resolve_when": here.resolve_when}
    form = SettingsForm(given, initial=initial)
    is_fixed = here.rounds.exclude(state=Round.State.DRAFT).exists()
    dimensions = () if is_fixed else _dimensions(here.taxonomy)
    primary = PrimaryForm(given, dimensions=dimensions, initial=PrimaryForm.initial_of(here.primary))
    status = 0
    if given is not None and form.is_valid() and primary.is_valid():
        changes = {name: form.cleaned_data[name] for name in form.changed_data}
        if primary.changed_data:
            changes["primary"] = primary.primary
        try:
            if changes:
                study_actions.change_study(seat=seat, changes=changes)
        except ConcordError as error:
            explain(form, error)
            status = error.status
        else:
            messages.success(request, "The study is changed." if changes else "Nothing was changed.")
            return redirect("study", slug)
    return _page(
        request,
        seat,
        "settings",
        "overview",
        status=status or _status(form, primary),
        form=form,
        primary=primary,
        is_fixed=is_fixed,
        titles={each.key: each.title for each in _dimensions(here.taxonomy)},
    )


@login_required
@form_page
def members(request: HttpRequest, slug: str) -> HttpResponse:
    """Everybody in the study; the owner adds people and changes their roles."""
    seat = get_seat(_me(request), slug)
    given = request.POST if request.method == "POST" else None
    form = MemberForm(given, initial={"roles": [RATER]})
    status = 0
    if given is not None:
        seat.require(OWNER)
        if form.is_valid():
            try:
                member = study_actions.add_member(seat=seat, **form.cleaned_data)
            except ConcordError as error:
                explain(form, error, user="username")
                status = error.status
            else:
                messages.success(request, f"{member.display_name} is {' and '.join(member.roles)} now.")
                return redirect("members", slug)
    return _page(
        request,
        seat,
        "members",
        "members",
        status=status or _status(form),
        form=form,
        members=queries.members_of(seat.study),
        roles=Membership.Role.values,
        changed=given.get("username", "") if given else "",
    )


@login_required
@form_page
def samples(request: HttpRequest, slug: str) -> HttpResponse:
    """The samples drawn, `?sample=` with its issues; the owner counts a frame and draws from it."""
    seat = get_seat(_me(request), slug)
    given = request.POST if request.method == "POST" else None
    form = SampleForm(given, initial={"state": "all"})
    status, counts = 0, None
    if given is not None:
        seat.require(OWNER)
        try:
            if form.is_valid():
                if "count" in given:
                    counts = queries.frame_counts(seat.user, form.filter)
                else:
                    chosen = {name: form.cleaned_data[name] for name in ("size", "seed", "stratify_by")}
                    sample = study_actions.draw_sample(seat=seat, filter=form.filter, **chosen)
                    messages.success(request, f"Sample {sample.pk} is drawn: {sample.size} issues.")
                    return redirect(f"{request.path}?sample={sample.pk}")
        except ConcordError as error:
            explain(form, error)
            status = error.status
    lines = queries.sample_lines(seat.study)
    shown = get_sample(seat, request.GET["sample"]) if "sample" in request.GET else lines[0].sample if lines else None
    return _page(
        request,
        seat,
        "samples",
        "rounds",
        status=status or _status(form),
        form=form,
        counts=counts,
        lines=lines,
        chosen=shown,
        page=page_of(request, queries.drawn_issues(shown), key="position") if shown else None,
        repositories=repositories(seat.user)[:200] if seat.has_role(OWNER) else [],
    )


@login_required
@require_safe
def rounds(request: HttpRequest, slug: str) -> HttpResponse:
    seat = get_seat(_me(request), slug)
    lines = queries.round_lines(seat.study.rounds.all(), with_raters=True)
    return _page(request, seat, "rounds", "rounds", lines=lines, samples=queries.sample_lines(seat.study))


@login_required
@form_page
def new_round(request: HttpRequest, slug: str) -> HttpResponse:
    """Makes a draft round; sent with `preview` it only says what the round would hold."""
    seat = get_seat(_me(request), slug)
    seat.require(OWNER)
    given = request.POST if request.method == "POST" else None
    raters = [member for member in queries.members_of(seat.study) if member.has_role(RATER) and member.user]
    versions = list(seat.study.taxonomy.versions.filter(state=TaxonomyVersion.State.PUBLISHED).order_by("-number"))
    form = RoundForm(
        given,
        versions=versions,
        raters=raters,
        samples=queries.sample_lines(seat.study),
        initial={"raters": [member.code for member in raters], "raters_per_item": min(2, len(raters)) or 1},
    )
    status, plan = (
        200 if "HX-Request" in request.headers else 0,
        None,
    )  # what is counted while somebody fills in is no error
    if given is not None and form.is_valid():
        chosen = form.chosen
        if "preview" in given:
            plan = queries.round_plan(
                n_items=form.n_wanted or 0,
                n_raters=len(chosen["raters"]),
                raters_per_item=chosen["raters_per_item"],
                double_share=chosen["double_share"],
                seed=chosen["seed"],
            )
        else:
            try:
                made = round_actions.create_round(seat=seat, **chosen)
            except ConcordError as error:
                explain(form, error, double_share="double_percent", share="share_percent")
                status = error.status
            else:
                messages.success(request, f"Round {made.number} is a draft. Look at it, then open it.")
                return redirect("round", slug, made.number)
    return _page(
        request,
        seat,
        "new_round",
        "rounds",
        status=status or _status(form),
        form=form,
        plan=plan,
        has_raters=bool(raters),
        has_samples=bool(form.samples),
        has_version=bool(versions),
    )


@login_required
@require_safe
def round_page(request: HttpRequest, slug: str, number: int) -> HttpResponse:
    seat = get_seat(_me(request), slug)
    return _round_page(request, seat, get_round(seat, number))


def _round_page(request: HttpRequest, seat: Seat, round_: Round, status: int = 200) -> HttpResponse:
    (line,) = queries.round_lines(Round.objects.filter(pk=round_.pk), with_raters=True)
    decides = may_decide(seat, round_)
    is_resolving = round_.state == Round.State.RESOLVING
    own = next((each for each in line.raters if seat.membership and each.rater.pk == seat.membership.pk), None)
    return _page(
        request,
        seat,
        "round",
        "rounds",
        status=status,
        round=round_,
        line=line,
        own=own,
        n_out=line.n_left if round_.state == Round.State.OPEN else 0,
        decides=decides,
        disagreements=queries.open_disagreements(round_)
        if decides or (is_resolving and seat.has_role(OWNER))
        else None,
        n_proposals=n_open_proposals(round_) if is_resolving and seat.has_role(OWNER, ADJUDICATOR) else 0,
    )


def _move(request: HttpRequest, slug: str, number: int, move: Callable[[Seat], object], done: str) -> HttpResponse:
    """Moves a round on and shows it; what stands in the way is said on its page."""
    seat = get_seat(_me(request), slug)
    round_ = get_round(seat, number)
    if request.method != "POST":
        return redirect("round", slug, number)
    try:
        move(seat)
    except Forbidden:
        raise
    except ConcordError as error:
        messages.error(request, error.message)
        return _round_page(request, seat, get_round(seat, round_.number), status=error.status)
    messages.success(request, done)
    return redirect("round", slug, number)


@login_required
@form_page
def open_round(request: HttpRequest, slug: str, number: int) -> HttpResponse:
    return _move(
        request,
        slug,
        number,
        lambda seat: round_actions.open_round(seat=seat, number=number),
        f"Round {number} is open; its raters find it under “My work”.",
    )


@login_required
@form_page
def start_resolving(request: HttpRequest, slug: str, number: int) -> HttpResponse:
    withdraw = "withdraw" in request.POST
    return _move(
        request,
        slug,
        number,
        lambda seat: round_actions.resolve_round(seat=seat, number=number, withdraw=withdraw),
        f"Round {number} is being resolved.",
    )


@login_required
@form_page
def close_round(request: HttpRequest, slug: str, number: int) -> HttpResponse:
    leave_open = "leave_open" in request.POST
    return _move(
        request,
        slug,
        number,
        lambda seat: round_actions.close_round(seat=seat, number=number, leave_open=leave_open),
        f"Round {number} is closed; its labels stand.",
    )


@login_required
@require_safe
def items(request: HttpRequest, slug: str) -> HttpResponse:
    """Every item of the study with how far it is in each round: counts, nobody's values."""
    seat = get_seat(_me(request), slug)
    found = list(seat.study.rounds.order_by("number"))
    form = ItemFilter(request.GET, numbers=[each.number for each in found])
    form.is_valid()
    number = form.cleaned_data.get("round")
    rows = queries.items_of(
        seat.study,
        search=form.cleaned_data.get("search") or "",
        round_=next((each for each in found if each.number == number), None),
    )
    page = page_of(request, rows)
    return _page(
        request,
        seat,
        "items",
        "items",
        form=form,
        page=page,
        lines=queries.item_lines(page.rows),
        is_filtered=any(form.cleaned_data.values()),
    )


@login_required
@require_safe
def item(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    """One item: the issue, and round by round what was said of it, as far as this person may see."""
    seat = get_seat(_me(request), slug)
    seat.require_reading()
    found: Item = get_item_at(seat, pk)
    issue = found.issue
    return _page(
        request,
        seat,
        "item",
        "items",
        item=found,
        issue=issue,
        snapshot=issue.current_snapshot if issue else None,
        comments=comments_of(issue),
        rounds=[(each, may_decide(seat, each.round)) for each in item_queries.item_rounds(seat, found)],
    )


@login_required
@require_safe
def audit(request: HttpRequest, slug: str) -> HttpResponse:
    """Who did what, newest first, for owner and staff."""
    seat = get_seat(_me(request), slug)
    if not seat.user.is_staff:
        seat.require(OWNER)
    return _page(request, seat, "audit", "audit", page=page_of(request, queries.audit_of(seat), key="-pk"))
