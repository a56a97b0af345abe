"""Home page, and the overview of a study."""

from dataclasses import replace

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from accounts.permissions import may_create_studies
from annotation.agreement_report.queries.coefficients import of_rounds
from annotation.agreement_report.queries.headline import headline_set
from annotation.agreement_report.views.words import which_rounds
from annotation.calibration.queries.gate import shown_gate
from annotation.calibration.views import gate_context
from annotation.core.access import ADJUDICATOR, OWNER, RATER, Seat, get_seat
from annotation.core.errors import NotFound
from annotation.core.member_lists import members_of
from annotation.core.pages import me, study_page
from annotation.core.paging import page_of
from annotation.core.reader_pages import open_to_reader_links, reading_seat
from annotation.core.withheld_items import withheld_words
from annotation.invitations.queries.own_invitations import invitations_of
from annotation.invitations.views import invitation_instead
from annotation.labels.queries.without_value import n_lost_labels
from annotation.models import Round
from annotation.overview.queries.waiting import rounds_to_resolve, study_lines, third_ratings_for, waiting_for
from annotation.overview.views.first_study import begin_path
from annotation.overview.views.next_step import next_step
from annotation.overview.views.welcome import welcome
from annotation.proposals.queries import came_back
from annotation.resolving.queries.queue import open_disagreements
from annotation.rounds.queries import round_lines
from annotation.studies.queries import studies as queries

RESOLVING_SHOWN_MOST = 5


@require_safe
def home(request: HttpRequest) -> HttpResponse:
    """My work: rounds to label, rounds to resolve, one's studies. Signed out: what Concord is."""
    if not request.user.is_authenticated:
        return welcome(request)
    user = me(request)
    waiting = [*waiting_for(user), *third_ratings_for(user)]
    to_resolve = [
        (round_, found)
        for round_ in rounds_to_resolve(user)[:RESOLVING_SHOWN_MOST]
        if (found := open_disagreements(get_seat(user, round_.study.slug), round_)).n
    ]
    lines = study_lines(user, list(queries.studies_of(user)[:20]))
    context = {
        "waiting": waiting,
        "to_resolve": to_resolve,
        "lines": lines,
        "came_back": came_back(user),
        "own_invitations": invitations_of(user),
        "may_create_studies": may_create_studies(user),
    }
    if not lines and context["may_create_studies"]:
        context |= begin_path(request)
    return render(request, "annotation/overview/home.html", context)


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
    lines = round_lines(seat.study.rounds.all(), seat=seat, with_raters=True)
    members = members_of(seat.study)
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
        "overview/study",
        "overview",
        lines=lines,
        step=step,
        headline=headline,
        unclosed=unclosed,
        headline_rounds=which_rounds(headline.rounds) if headline.rounds else "",
        numbers=of_rounds(seat, headline.rounds, is_headline=True) if headline.rounds else [],
        withheld=withheld_words(seat, headline.rounds),
        has_opened=any(labels_here(line.round) for line in lines),
        members=members,
        lost=n_lost_labels(seat),
        **gate_context(shown_gate(seat) if is_drafted and seat.has_role(OWNER) else None),
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
@require_safe
def studies(request: HttpRequest) -> HttpResponse:
    """The studies a person may open; `?archived=1`: those that are archived."""
    user = me(request)
    archived = bool(request.GET.get("archived"))
    page = page_of(request, queries.visible_studies(user, archived=archived), key="-pk")
    context = {"page": page, "lines": study_lines(user, page.rows), "archived": archived}
    context["may_create_studies"] = may_create_studies(user)
    return render(request, "annotation/overview/studies.html", context)
