"""Round pages: the list, a new round, and one round with its actions."""

from collections.abc import Callable, Sequence
from itertools import zip_longest
from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_safe

from annotation.assignments.queries import candidates, stuck, third_raters
from annotation.calibration.forms import ReasonForm
from annotation.calibration.queries.gate import shown_gate
from annotation.calibration.queries.training import is_held, training_rounds
from annotation.calibration.views import calibration, gate_context, reason_form
from annotation.choosing.queries import samples
from annotation.core.access import ADJUDICATOR, OWNER, RATER, Seat, get_round, get_seat, may_decide
from annotation.core.bulk_jobs import job_of
from annotation.core.errors import ConcordError, Forbidden, Stale
from annotation.core.locks import hold_round, queue_awaited
from annotation.core.member_lists import members_of
from annotation.core.pages import job_progress, me, study_page
from annotation.core.reader_pages import open_to_reader_links, reading_seat
from annotation.labels.queries.read_before import labeled_in_source, readers_before
from annotation.labels.queries.screening import reasons_to_offer, screening_counts
from annotation.labels.queries.verdicts import n_open_proposals
from annotation.labels.queries.without_value import n_lost_labels
from annotation.labels.registration import in_words, primary_of
from annotation.models import Round, Study
from annotation.resolving.queries.queue import open_disagreements
from annotation.rounds.actions import rounds as round_actions
from annotation.rounds.actions.drafts import remove_draft, return_to_draft
from annotation.rounds.actions.due_dates import set_due
from annotation.rounds.forms import RoundForm
from annotation.rounds.queries import (
    RoundLine,
    lacking_registration,
    rater_counts,
    round_lines,
    round_plan,
    shown_job,
    with_shares,
)
from annotation.studies.actions import studies as study_actions
from shared.forms import explain, form_page, is_sent_as_shown, status_of
from taxonomy.models import TaxonomyVersion
from taxonomy.tree import TreeDimension


@open_to_reader_links
@require_safe
def rounds(request: HttpRequest, slug: str) -> HttpResponse:
    seat = reading_seat(request, slug)
    lines = round_lines(seat.study.rounds.all(), seat=seat, with_raters=True)
    return study_page(request, seat, "rounds/rounds", "rounds", lines=lines, samples=samples.sample_lines(seat.study))


@login_required
@form_page
def new_round(request: HttpRequest, slug: str) -> HttpResponse:
    """Makes a draft round; sent with `preview` it only says what the round would hold."""
    seat = get_seat(me(request), slug)
    seat.require(OWNER)
    given = request.POST if request.method == "POST" else None
    raters = [each for each in members_of(seat.study) if each.has_role(RATER) and (each.user or each.is_invited)]
    versions = list(seat.study.taxonomy.versions.filter(state=TaxonomyVersion.State.PUBLISHED).order_by("-number"))
    form = RoundForm(
        given,
        versions=versions,
        raters=raters,
        samples=samples.sample_lines(seat.study),
        training_rounds=training_rounds(seat.study.rounds),
        has_screening=samples.has_screening(seat.study),
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
    )  # what is counted while someone fills in is no error
    if given is not None and form.is_valid():
        chosen = form.chosen
        if "preview" in given:
            plan = round_plan(
                n_items=form.n_wanted or 0,
                quotas=form.quotas_of_people,
                raters_per_item=chosen.raters_per_item,
                double_share=chosen.double_share,
                seed=chosen.seed,
            )
        else:
            try:
                made = round_actions.create_round(seat=seat, asked=chosen)
            except ConcordError as error:
                explain(form, error, double_share="double_percent", share="share_percent", quotas="raters")
                status = error.status
            else:
                is_whole = job_of(made) is None
                said = "is a draft. Review it, then open it." if is_whole else "is being prepared."
                messages.success(request, f"Round {made.number} {said}")
                for warning in [*round_actions.screening_warnings(made), *round_actions.warnings_of(seat, made)]:
                    messages.warning(request, warning)
                return redirect("round", slug, made.number)
    return study_page(
        request,
        seat,
        "rounds/new_round",
        "rounds",
        status=status or status_of(form),
        form=form,
        plan=plan,
        has_raters=bool(raters),
        has_samples=bool(form.samples),
        has_version=bool(versions),
        **gate_context(shown_gate(seat)),
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
    return job_progress(request, lambda: shown_job(seat, found)) or _round_page(request, seat, found)


def _round_page(
    request: HttpRequest, seat: Seat, round_: Round, status: int = 200, reason: ReasonForm | None = None
) -> HttpResponse:
    with_days = round_.state != Round.State.DRAFT and (seat.has_role(OWNER) or seat.user.is_staff)
    (line,) = round_lines(Round.objects.filter(pk=round_.pk), seat=seat, with_raters=True, with_days=with_days)
    line = with_shares(line)
    decides = may_decide(seat, round_)
    is_resolving = round_.state == Round.State.RESOLVING
    own = next((each for each in line.raters if seat.membership and each.rater.pk == seat.membership.pk), None)
    return study_page(
        request,
        seat,
        "rounds/round",
        "rounds",
        status=status,
        round=round_,
        resolving_at=None if round_.pk in seat.withheld_queues else round_.resolving_at,
        line=line,
        with_days=with_days,
        rater_counts=_rater_counts(round_),
        own=own,
        is_held=own is not None and is_held(round_, own.rater),
        job=shown_job(seat, round_),
        lacking=_lacking(seat, round_),
        **_raters(seat, round_, line),
        n_out=line.n_left if round_.state == Round.State.OPEN else 0,
        decides=decides,
        discusses=own is not None and not decides and round_.pk not in seat.sealed_round_ids,
        kept=screening_counts(round_) if round_.pk not in seat.hidden_round_ids else None,
        disagreements=open_disagreements(seat, round_) if decides or (is_resolving and seat.has_role(OWNER)) else None,
        n_proposals=n_open_proposals(round_, without=seat.withheld_in(round_))
        if is_resolving and seat.has_role(OWNER, ADJUDICATOR)
        else 0,
        n_owed=len(seat.withheld_in(round_)),
        queue_awaited=_queue_awaited(seat, round_),
        lost=n_lost_labels(seat) if round_.kind == Round.Kind.RELABEL and is_resolving else None,
        n_third=_n_third(seat, round_) if own is None or round_.state != Round.State.OPEN else 0,
        third_raters=third_raters(round_) if seat.sees_all_results(round_.pk) else [],
        readers_before=_readers_before(seat, round_),
        labeled_in_source=labeled_in_source(seat, round_) if seat.has_role(OWNER) else "",
        screening_notes=round_actions.screening_warnings(round_)
        if round_.state == Round.State.DRAFT and seat.has_role(OWNER)
        else [],
        **calibration(seat, round_, reason),
    )


def _queue_awaited(seat: Seat, round_: Round) -> int | None:
    """For its owner, the number of the relabeling queue for which rules wait in a round that is being resolved."""
    if round_.state != Round.State.RESOLVING or not seat.study.has_rules or not seat.has_role(OWNER):
        return None
    return queue_awaited(round_)


def _readers_before(seat: Seat, round_: Round) -> str:
    """Who of the raters could read labels of the round's items elsewhere; of a draft who can, for its owner."""
    if round_.state == Round.State.DRAFT and not seat.has_role(OWNER):
        return ""
    found = None if seat.link is not None else readers_before(round_)
    if not found:
        return ""
    return found.warning if round_.state == Round.State.DRAFT else found.sentence


def _rater_counts(round_: Round) -> list[tuple[int, int]]:
    """How many items have so many raters, where that was not planned in Concord or is not the same for all items."""
    is_shared = round_.double_share < 1 and round_.state != Round.State.DRAFT
    return rater_counts(round_) if round_.is_from_sheet or is_shared else []


def _n_third(seat: Seat, round_: Round) -> int:
    """How many items of the round this person still has to answer as a third rater."""
    return sum(pk == round_.pk for pk, _ in seat.arbitrated)


def _lacking(seat: Seat, round_: Round) -> list[tuple[TreeDimension, str]]:
    """For the owner of a draft, the dimensions whose coefficient is only preset, each with what is preset."""
    if round_.state != Round.State.DRAFT or not seat.has_role(OWNER):
        return []
    primary = seat.study.primary
    return [(each, in_words(primary_of(primary, each.key, each.kind))) for each in lacking_registration(round_)]


def _raters(seat: Seat, round_: Round, line: RoundLine) -> dict[str, Any]:
    """What the raters' part of a round's page shows and offers."""
    is_open, is_owner = round_.state == Round.State.OPEN, seat.has_role(OWNER)
    may_add = is_open and is_owner and round_.kind != Round.Kind.RELABEL
    return {
        "may_change": is_owner and round_.kind != Round.Kind.RELABEL and (is_open or round_.state == Round.State.DRAFT),
        "may_withdraw": is_owner and is_open,
        "may_add": may_add,
        "has_shares": any(each.n_double is not None for each in line.raters),
        "has_quotas": any(each.quota is not None for each in line.raters),
        "stuck": stuck(round_, line.n_free),
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
    job = job_of(moved) if isinstance(moved, Round) else None
    if job is None or not job.is_at_work:
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
    reason = reason_form(request, here, get_round(here, number)) if request.method == "POST" else None
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
    if is_sent_as_shown(request, "due_on"):
        get_seat(me(request), slug).require(OWNER)
        messages.info(request, "Nothing was changed.")
        return redirect("round", slug, number)
    return _move(
        request,
        slug,
        number,
        lambda seat: set_due(seat=seat, number=number, due_on=given),
        f"Round {number} is due on {given}." if given else f"Round {number} has no due date.",
    )


def _require_no_more(request: HttpRequest, seat: Seat, number: int) -> None:
    """Raises Stale where more is left in a round than the page showed that withdraws it, or leaves it open.

    Call it in the transaction that does so: the round is held.
    """
    seat.require(OWNER)
    shown = request.POST.getlist("left")
    if not shown:
        return
    round_ = hold_round(seat, number)
    if round_.state == Round.State.OPEN:
        (line,) = round_lines(Round.objects.filter(pk=round_.pk), seat=seat)
        left = [line.n_left]
    else:
        withheld = seat.withheld_in(round_)
        left = [open_disagreements(seat, round_).n, n_open_proposals(round_, without=withheld), len(withheld)]
    most = [int(each) if each.isascii() and each.isdecimal() else 0 for each in shown]
    if any(now > then for now, then in zip_longest(left, most, fillvalue=0)):
        raise Stale(
            f"More is left in round {number} than when you opened the page. Look at it again. Nothing was changed.",
            newer={"left": left},
        )


@login_required
@form_page
def start_resolving(request: HttpRequest, slug: str, number: int) -> HttpResponse:
    @transaction.atomic
    def moved(seat: Seat) -> Round:
        _require_no_more(request, seat, number)
        return round_actions.resolve_round(seat=seat, number=number, withdraw="withdraw" in request.POST)

    return _move(
        request,
        slug,
        number,
        moved,
        f"Round {number} is being resolved.",
    )


@login_required
@form_page
def close_round(request: HttpRequest, slug: str, number: int) -> HttpResponse:
    @transaction.atomic
    def closed(seat: Seat) -> Round:
        _require_no_more(request, seat, number)
        return round_actions.close_round(seat=seat, number=number, leave_open="leave_open" in request.POST)

    return _move(
        request,
        slug,
        number,
        closed,
        f"Round {number} is closed. Its agreed labels are final.",
    )
