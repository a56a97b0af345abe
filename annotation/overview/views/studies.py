"""My work, studies, their people, rounds and one item."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from django.conf import settings
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_safe

from annotation.agreement_report.actions import fix_headline
from annotation.agreement_report.queries.coefficients import of_rounds
from annotation.agreement_report.queries.headline import fixable_rounds, headline_set
from annotation.agreement_report.views.words import which_rounds
from annotation.assignments.actions.reading_log import PAGE, note_reading
from annotation.assignments.queries import candidates, stuck, third_raters
from annotation.calibration.forms import ReasonForm
from annotation.calibration.queries.gate import gate
from annotation.calibration.queries.training import is_held, training_rounds
from annotation.calibration.views import calibration, gate_shown, reason_asked
from annotation.choosing.queries import samples as choosing
from annotation.core.access import ADJUDICATOR, OWNER, RATER, Seat, get_item_at, get_round, get_seat
from annotation.core.bulk_jobs import job_of
from annotation.core.demo_people import require_may_create_studies
from annotation.core.errors import ConcordError, Forbidden, NotFound
from annotation.core.forms import explain
from annotation.core.pages import job_progress, me, status_of, study_page
from annotation.core.paging import page_of
from annotation.core.reader_pages import open_to_reader_links, reading_seat
from annotation.labeling.queries.assignments import comments_of
from annotation.labels.queries import items as item_queries
from annotation.labels.queries.label_version import standing_version
from annotation.labels.queries.screening import kept, reasons_to_offer
from annotation.labels.queries.verdicts import n_open_proposals
from annotation.labels.registration import in_words, primary_of, with_defaults
from annotation.members.actions import members as member_actions
from annotation.members.queries.invitations import invitation_lines
from annotation.members.queries.leaving import offers_of, owner_who_stops
from annotation.members.queries.own_invitations import invitations_of
from annotation.members.views.own_invitations import invitation_instead
from annotation.models import Item, Membership, Round, Study
from annotation.overview.forms.studies import (
    InvitationForm,
    MemberForm,
    PrimaryForm,
    RoundForm,
    SettingsForm,
    StudyForm,
)
from annotation.overview.views.next_step import may_decide, next_step
from annotation.overview.views.starting import begin_path
from annotation.overview.views.welcome import welcome
from annotation.plans.queries.without_value import labels_lost
from annotation.proposals.queries import came_back
from annotation.rounds.actions import rounds as round_actions
from annotation.rounds.actions.drafts import remove_draft, return_to_draft
from annotation.rounds.actions.due_dates import set_due
from annotation.studies.actions import studies as study_actions
from annotation.studies.queries import studies as queries
from ingest.queries import closing_changes
from shared.errors import TooMany
from taxonomy.models import Taxonomy, TaxonomyVersion
from taxonomy.queries import newest_published, published_version
from taxonomy.tree import TreeDimension

RESOLVING_SHOWN_MOST = 5
form_page = require_http_methods(["GET", "HEAD", "POST"])


@require_safe
def home(request: HttpRequest) -> HttpResponse:
    """My work: rounds to label, rounds to resolve, one's studies. Signed out: what Concord is."""
    if not request.user.is_authenticated:
        return welcome(request)
    user = me(request)
    waiting = [*queries.waiting_for(user), *queries.third_ratings_for(user)]
    to_resolve = [
        (round_, found)
        for round_ in queries.rounds_to_resolve(user)[:RESOLVING_SHOWN_MOST]
        if (found := queries.open_disagreements(get_seat(user, round_.study.slug), round_)).n
    ]
    lines = queries.study_lines(user, list(queries.studies_of(user)[:20]))
    context = {
        "waiting": waiting,
        "to_resolve": to_resolve,
        "lines": lines,
        "came_back": came_back(user),
        "own_invitations": invitations_of(user),
    }
    if not lines and user.may_create_studies:
        context |= begin_path(request)
    return render(request, "annotation/studies/home.html", context)


@login_required
@require_safe
def studies(request: HttpRequest) -> HttpResponse:
    """The studies a person may open; `?archived=1`: those that are archived."""
    user = me(request)
    archived = bool(request.GET.get("archived"))
    page = page_of(request, queries.visible_studies(user, archived=archived), key="-pk")
    context = {"page": page, "lines": queries.study_lines(user, page.rows), "archived": archived}
    return render(request, "annotation/studies/studies.html", context)


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
    status = 0
    if given is not None and form.is_valid() and primary.is_valid():
        chosen = form.cleaned_data | {"taxonomy": form.cleaned_data["taxonomy"].slug, "primary": primary.primary}
        try:
            study = study_actions.create_study(user=user, **chosen)
        except ConcordError as error:
            explain(form, error)
            status = error.status
        else:
            messages.success(request, f"“{study.title}” was created. Add its raters, then draw a sample.")
            return redirect("study", study.slug)
    context = {"form": form, "primary": primary, "has_taxonomy": first is not None}
    return render(request, "annotation/studies/new_study.html", context, status=status or status_of(form, primary))


def _dimensions(taxonomy: Taxonomy | None) -> tuple[TreeDimension, ...]:
    version = newest_published(taxonomy) if taxonomy else None
    return published_version(version.pk).dimensions if version else ()


@open_to_reader_links
@require_safe
def study(request: HttpRequest, slug: str) -> HttpResponse:
    """Where the study stands, what is next, one number per dimension."""
    try:
        seat = reading_seat(request, slug)
    except NotFound:
        if invitation := invitation_instead(request, slug):
            return invitation
        raise
    lines = queries.round_lines(seat.study.rounds.all(), seat=seat, with_raters=True)
    members = queries.members_of(seat.study)
    step = next_step(
        seat,
        lines,
        n_raters=sum(member.has_role(RATER) for member in members),
        n_samples=seat.study.samples.count(),
    )
    headline = headline_set(seat)
    unclosed = [] if all(_is_over(seat, each) for each in headline.rounds) else headline.numbers
    if unclosed:
        headline = replace(headline, rounds=())
    is_drafted = any(each.round.state == Round.State.DRAFT and each.round.kind == Round.Kind.MAIN for each in lines)
    return study_page(
        request,
        seat,
        "study",
        "overview",
        lines=lines,
        step=step,
        headline=headline,
        unclosed=unclosed,
        headline_rounds=which_rounds(headline.rounds) if headline.rounds else "",
        numbers=of_rounds(seat, headline.rounds, is_headline=True) if headline.rounds else [],
        has_opened=any(labels_here(line.round) for line in lines),
        members=members,
        lost=labels_lost(seat),
        **gate_shown(gate(seat) if is_drafted and seat.has_role(OWNER) else None),
    )


def _is_over(seat: Seat, round_: Round) -> bool:
    """Whether the overview shows its agreement, before it is closed only to owners and adjudicators.

    Otherwise each visit would count as reading results, after which nobody is a blind third rater.
    """
    states = Round.OVER if seat.has_role(OWNER, ADJUDICATOR) else (Round.State.CLOSED,)
    return round_.state in states


def labels_here(round_: Round) -> bool:
    """Whether a round was opened in which people label."""
    kinds = (Round.Kind.PILOT, Round.Kind.MAIN)
    return round_.kind in kinds and round_.state not in (Round.State.DRAFT, Round.State.UNDONE)


@login_required
@form_page
def study_settings(request: HttpRequest, slug: str) -> HttpResponse:
    """Title, guidelines and when to resolve; the primary coefficients until the first round opens."""
    seat = get_seat(me(request), slug)
    seat.require(OWNER)
    here = seat.study
    given = request.POST if request.method == "POST" else None
    initial: dict[str, object] = {"title": here.title, "guidelines": here.guidelines, "resolve_when": here.resolve_when}
    initial |= {"pseudonymise": here.pseudonymise, "third_rater": here.third_rater, "majority": here.majority}
    initial |= {"names_shown": here.names_shown, "applies": here.applies, "screened_out": here.screened_out}
    initial["screening_keywords"] = ", ".join(here.screening_keywords)
    headline = headline_set(seat)
    initial["headline"] = [str(number) for number in headline.fixed]
    form = SettingsForm(given, initial=initial, fixable=fixable_rounds(seat))
    is_fixed = queries.labelling_has_begun(here)
    every = _dimensions(here.taxonomy)
    dimensions = () if is_fixed else every
    primary = PrimaryForm(given, dimensions=dimensions, initial=PrimaryForm.initial_of(here.primary, dimensions))
    status = 0
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
        try:
            with transaction.atomic():
                if changes:
                    study_actions.change_study(seat=seat, changes=changes)
                if fixes:
                    numbers = [int(each) for each in form.cleaned_data["headline"]]
                    fix_headline(seat=seat, rounds=numbers)
        except ConcordError as error:
            explain(form, error)
            status = error.status
        else:
            messages.success(request, "Your changes are saved." if changes or fixes else "Nothing was changed.")
            return redirect("study", slug)
    return study_page(
        request,
        seat,
        "settings",
        "overview",
        status=status or status_of(form, primary),
        form=form,
        primary=primary,
        is_fixed=is_fixed,
        titles={each.key: each.title for each in every},
        registered=with_defaults(here.primary, every),
    )


@login_required
@form_page
def members(request: HttpRequest, slug: str) -> HttpResponse:
    """Everybody in the study; the owner adds people and changes their roles."""
    seat = get_seat(me(request), slug)
    given = request.POST if request.method == "POST" else None
    form = MemberForm(given, initial={"roles": [RATER]})
    status = 0
    if given is not None:
        seat.require(OWNER)
        if form.is_valid():
            if "confirmed" not in given and (page := _former_owner(request, seat, form)):
                return page
            try:
                placed = member_actions.set_member(seat=seat, **form.chosen)
            except TooMany:
                raise  # its page has the header Retry-After
            except ConcordError as error:
                explain(form, error, user="username")
                status = error.status
            else:
                member, ended = placed.membership, placed.offers.sentence if placed.offers else ""
                roles = " and ".join(member.roles)
                done = f"is now {roles}" if member.user else f"is invited as {roles} and can be named in rounds"
                messages.success(request, f"{member.display_name} {done}.{ended}")
                return redirect("members", slug)
    return members_page(request, seat, status=status or status_of(form), form=form)


def _former_owner(request: HttpRequest, seat: Seat, form: MemberForm) -> HttpResponse | None:
    """The page that asks once more where an owner stops being one and what they handed out ends with that."""
    found = owner_who_stops(seat.study, form.cleaned_data["username"], form.cleaned_data["roles"])
    offers = offers_of(seat.study, found.user) if found is not None and found.user is not None else None
    if not offers:
        return None
    given = [(name, value) for name in form.fields for value in request.POST.getlist(name)]
    shown = {"member": found, "offers": offers, "roles": form.cleaned_data["roles"], "given": given}
    return study_page(request, seat, "former_owner", "members", **shown)


PRESENT = (Membership.State.MEMBER, Membership.State.INVITED, Membership.State.NAME_ONLY)


def members_page(
    request: HttpRequest,
    seat: Seat,
    *,
    status: int = 200,
    form: MemberForm | None = None,
    invitation: InvitationForm | None = None,
    **shown: Any,
) -> HttpResponse:
    """The page of a study's people; `shown` is a link that was just made."""
    everybody = queries.members_of(seat.study)
    is_owner = seat.has_role(OWNER)
    return study_page(
        request,
        seat,
        "members",
        "members",
        status=status,
        form=form or MemberForm(initial={"roles": [RATER]}),
        invitation=invitation or InvitationForm(),
        invitations=invitation_lines(seat.study) if is_owner else [],
        sends_email=settings.SENDS_EMAIL,
        members=[each for each in everybody if each.state in PRESENT],
        former=[each for each in everybody if each.state not in PRESENT],
        may_make_links=is_owner or seat.user.is_staff,
        roles=Membership.Role.values,
        **shown,
    )


@open_to_reader_links
@require_safe
def rounds(request: HttpRequest, slug: str) -> HttpResponse:
    seat = reading_seat(request, slug)
    lines = queries.round_lines(seat.study.rounds.all(), seat=seat, with_raters=True)
    return study_page(request, seat, "rounds", "rounds", lines=lines, samples=choosing.sample_lines(seat.study))


@login_required
@form_page
def new_round(request: HttpRequest, slug: str) -> HttpResponse:
    """Makes a draft round; sent with `preview` it only says what the round would hold."""
    seat = get_seat(me(request), slug)
    seat.require(OWNER)
    given = request.POST if request.method == "POST" else None
    raters = [
        each for each in queries.members_of(seat.study) if each.has_role(RATER) and (each.user or each.is_invited)
    ]
    versions = list(seat.study.taxonomy.versions.filter(state=TaxonomyVersion.State.PUBLISHED).order_by("-number"))
    form = RoundForm(
        given,
        versions=versions,
        raters=raters,
        samples=choosing.sample_lines(seat.study),
        training_rounds=training_rounds(seat.study.rounds),
        has_screening=choosing.has_screening(seat.study),
        keeps_out=seat.study.screened_out == Study.ScreenedOut.KEEP,
        initial={
            "raters": [member.code for member in raters],
            "raters_per_item": min(2, len(raters)) or 1,
            "reasons": "\n".join(reasons_to_offer(seat.study)),
            **_retry(request, [member.code for member in raters]),
        },
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
                quotas=form.quotas_of_people,
                raters_per_item=chosen["raters_per_item"],
                double_share=chosen["double_share"],
                seed=chosen["seed"],
            )
        else:
            try:
                made = round_actions.create_round(seat=seat, **chosen)
            except ConcordError as error:
                explain(form, error, double_share="double_percent", share="share_percent", quotas="raters")
                status = error.status
            else:
                is_whole = job_of(made) is None
                said = "is a draft. Review it, then open it." if is_whole else "is being prepared."
                messages.success(request, f"Round {made.number} {said}")
                for warning in [*round_actions.screening_warnings(made), *round_actions.warnings_of(made)]:
                    messages.warning(request, warning)
                return redirect("round", slug, made.number)
    return study_page(
        request,
        seat,
        "new_round",
        "rounds",
        status=status or status_of(form),
        form=form,
        plan=plan,
        has_raters=bool(raters),
        has_samples=bool(form.samples),
        has_version=bool(versions),
        **gate_shown(gate(seat)),
    )


def _retry(request: HttpRequest, codes: Sequence[str | None]) -> dict[str, Any]:
    """What the form begins with where a rater is to have other training items (`?retry=R2`)."""
    code = request.GET.get("retry")
    if code not in codes:
        return {}
    return {"kind": Round.Kind.PILOT, "source": "none", "raters": [code], "raters_per_item": 1}


@open_to_reader_links
@require_safe
def round_page(request: HttpRequest, slug: str, number: int) -> HttpResponse:
    seat = reading_seat(request, slug)
    found = get_round(seat, number)
    return job_progress(request, found) or _round_page(request, seat, found)


def _round_page(
    request: HttpRequest, seat: Seat, round_: Round, status: int = 200, reason: ReasonForm | None = None
) -> HttpResponse:
    with_days = round_.state != Round.State.DRAFT and (seat.has_role(OWNER) or seat.user.is_staff)
    (line,) = queries.round_lines(Round.objects.filter(pk=round_.pk), seat=seat, with_raters=True, with_days=with_days)
    line = queries.with_shares(line)
    decides = may_decide(seat, round_)
    is_resolving = round_.state == Round.State.RESOLVING
    own = next((each for each in line.raters if seat.membership and each.rater.pk == seat.membership.pk), None)
    return study_page(
        request,
        seat,
        "round",
        "rounds",
        status=status,
        round=round_,
        line=line,
        with_days=with_days,
        own=own,
        is_held=own is not None and is_held(round_, own.rater),
        job=job_of(round_),
        lacking=_lacking(seat, round_),
        **_raters(seat, round_, line),
        n_out=line.n_left if round_.state == Round.State.OPEN else 0,
        decides=decides,
        kept=kept(round_) if round_.pk not in seat.hidden_round_ids else None,
        disagreements=queries.open_disagreements(seat, round_)
        if decides or (is_resolving and seat.has_role(OWNER))
        else None,
        n_proposals=n_open_proposals(round_, without=seat.withheld_in(round_))
        if is_resolving and seat.has_role(OWNER, ADJUDICATOR)
        else 0,
        n_owed=len(seat.withheld_in(round_)),
        lost=labels_lost(seat) if round_.kind == Round.Kind.RELABEL and is_resolving else None,
        n_third=_n_third(seat, round_) if own is None or round_.state != Round.State.OPEN else 0,
        third_raters=third_raters(round_) if seat.sees_all_results(round_.pk) else [],
        screening_notes=round_actions.screening_warnings(round_)
        if round_.state == Round.State.DRAFT and seat.has_role(OWNER)
        else [],
        **calibration(seat, round_, reason),
    )


def _n_third(seat: Seat, round_: Round) -> int:
    """How many items of the round this person still has to answer as a third rater."""
    return sum(pk == round_.pk for pk, _ in seat.arbitrated)


def _lacking(seat: Seat, round_: Round) -> list[tuple[TreeDimension, str]]:
    """For the owner of a draft, the dimensions whose coefficient is only preset, each with what is preset."""
    if round_.state != Round.State.DRAFT or not seat.has_role(OWNER):
        return []
    primary = seat.study.primary
    return [(each, in_words(primary_of(primary, each.key, each.kind))) for each in queries.lacking_registration(round_)]


def _raters(seat: Seat, round_: Round, line: queries.RoundLine) -> dict[str, Any]:
    """What the raters' part of a round's page shows and offers."""
    is_open, is_owner = round_.state == Round.State.OPEN, seat.has_role(OWNER)
    may_add = is_open and is_owner and round_.kind != Round.Kind.RELABEL
    return {
        "may_change": is_owner and round_.kind != Round.Kind.RELABEL and (is_open or round_.state == Round.State.DRAFT),
        "may_withdraw": is_owner and is_open,
        "may_add": may_add,
        "has_shares": any(each.n_double is not None for each in line.raters),
        "has_quotas": any(each.quota is not None for each in line.raters),
        "stuck": stuck(round_) if line.n_free else None,
        "candidates": candidates(round_) if may_add else [],
    }


def _move(request: HttpRequest, slug: str, number: int, move: Callable[[Seat], object], done: str) -> HttpResponse:
    """Moves a round on and shows it; what stands in the way is said on its page."""
    seat = get_seat(me(request), slug)
    round_ = get_round(seat, number)
    if request.method != "POST":
        return redirect("round", slug, number)
    try:
        moved = move(seat)
    except Forbidden:
        raise
    except ConcordError as error:
        messages.error(request, error.message)
        return _round_page(request, seat, get_round(seat, round_.number), status=error.status)
    if not (isinstance(moved, Round) and job_of(moved)):
        messages.success(request, done)
    return redirect("round", slug, number)


@login_required
@form_page
def open_round(request: HttpRequest, slug: str, number: int) -> HttpResponse:
    """Opens a round; against the advice of the pilot only with a reason. `register` registers coefficients first."""
    here = get_seat(me(request), slug)
    if request.method == "POST" and "register" in request.POST:
        study_actions.register_primary(seat=here)
        messages.success(request, "The coefficients and thresholds are registered. You can open the round now.")
        return redirect("round", slug, get_round(here, number).number)
    reason = reason_asked(request, here, get_round(here, number)) if request.method == "POST" else None
    if reason is not None and not reason.is_valid():
        return _round_page(request, here, get_round(here, number), status=422, reason=reason)
    why = reason.cleaned_data["reason"] if reason else ""
    return _move(
        request,
        slug,
        number,
        lambda seat: round_actions.open_round(
            seat=seat, number=number, reason=why, unregistered="unregistered" in request.POST
        ),
        f"Round {number} is open. Its raters find it under “My work”.",
    )


@login_required
@form_page
def remove_round(request: HttpRequest, slug: str, number: int) -> HttpResponse:
    """Removes a draft round, asked again by the button."""
    seat = get_seat(me(request), slug)
    if request.method != "POST":
        return redirect("round", slug, get_round(seat, number).number)
    remove_draft(seat=seat, number=number)
    messages.success(request, f"The draft of round {number} is deleted.")
    return redirect("rounds", slug)


@login_required
@form_page
def return_round_to_draft(request: HttpRequest, slug: str, number: int) -> HttpResponse:
    """Takes back the opening of a round in which nobody has answered, asked again by the button."""
    return _move(
        request,
        slug,
        number,
        lambda seat: return_to_draft(seat=seat, number=number),
        f"Round {number} is a draft again. Its raters no longer see it.",
    )


@login_required
@form_page
def set_due_date(request: HttpRequest, slug: str, number: int) -> HttpResponse:
    """Sets the due date of a round, or removes it where the field is left empty."""
    given = request.POST.get("due_on", "")
    return _move(
        request,
        slug,
        number,
        lambda seat: set_due(seat=seat, number=number, due_on=given),
        f"Round {number} is due on {given}." if given else f"Round {number} has no due date.",
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
        f"Round {number} is closed. Its agreed labels are final.",
    )


@open_to_reader_links
@require_safe
def item(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    """One item: the issue, and round by round what was said of it, as far as this person may see."""
    seat = reading_seat(request, slug)
    seat.require_reading()
    found: Item = get_item_at(seat, pk)
    issue = found.issue
    rounds = item_queries.item_rounds(seat, found)
    note_reading(seat, [each.round for each in rounds if each.parts], "item", PAGE)
    return study_page(
        request,
        seat,
        "item",
        "items",
        item=found,
        issue=issue,
        snapshot=found.snapshot,
        comments=comments_of(found.snapshot) if seat.sees_issues else [],
        closing_changes=closing_changes(issue) if issue and seat.sees_issues else [],
        rounds=[(each, may_decide(seat, each.round)) for each in rounds],
        histories=item_queries.label_histories(rounds, standing_version(seat.study)),
    )
