"""Screening page: the list of a rater's issues beside the current one, with in, maybe, and out."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast
from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_POST

from accounts.models import User
from annotation.calibration.actions.training import require_admission
from annotation.calibration.queries.training import visible_feedback
from annotation.core.access import RATER, Seat, get_own_assignment, get_round, get_seat
from annotation.core.errors import Forbidden, Invalid, MinimumNotReached, NotFound
from annotation.core.locks import require_prepared
from annotation.labeling.actions import screening_answers as actions
from annotation.labeling.actions.next_item import take_beside_maybes
from annotation.labeling.queries.assignments import ITEM_TO_READ, has_part_in, progress, snapshot_to_read
from annotation.labeling.queries.desk import may_change
from annotation.labeling.views.labeling import issue_html
from annotation.labels.queries import screening as queries
from annotation.labels.screening import REASON
from annotation.models import Assignment, Membership, Round
from shared.forms import form_page
from taxonomy.queries import published_version

NAMES = {"all": "All", "open": "Open", "maybe": "Maybe", "in": "In", "out": "Out", "skipped": "Skipped"}


@dataclass(frozen=True)
class ReasonChoice:
    """A reason why an issue is out, and the digit that chooses it (empty from the tenth on)."""

    key: str
    name: str
    definition: str
    digit: str


@login_required
@never_cache
@require_GET
def screen(request: HttpRequest, slug: str, number: int) -> HttpResponse:
    """The list, with the first issue that is open; `?show=` lists a part of it."""
    seat, round_ = _seat_and_round(request, slug, number)
    take_beside_maybes(seat=seat, round_=round_)
    show = _shown(request.GET.get("show"))
    found = None if _rater(seat).is_away else queries.next_to_screen(round_, _rater(seat), show, None)
    return _page(request, seat, round_, show, found, is_list=True)


@login_required
@never_cache
@form_page
def screen_one(request: HttpRequest, slug: str, number: int, pk: UUID) -> HttpResponse:
    """One of one's own issues; a POST says in, out with a reason, or maybe, and goes on to the next."""
    seat, round_ = _seat_and_round(request, slug, number)
    found = _assignment(seat, round_, pk)
    if request.method != "POST":
        return _page(request, seat, round_, _shown(request.GET.get("show")), found)
    show = _shown(request.POST.get("show"))
    said, _, reason = request.POST.get("answer", "").partition(":")
    try:
        if said in ("maybe", "open"):
            actions.set_maybe(seat=seat, assignment=pk, maybe=said == "maybe", round_number=number)
        else:
            actions.answer_screening(
                seat=seat,
                assignment=pk,
                round_number=number,
                side=said,
                reason=reason,
                expected=_whole(request.POST.get("revision")),
                seconds=_whole(request.POST.get("seconds")),
            )
    except Invalid as error:
        refusal = " ".join(sentence for each in error.fields.values() for sentence in each)
        return _page(request, seat, round_, show, found, refusal=refusal, status=422)
    round_ = get_round(seat, number)
    take_beside_maybes(seat=seat, round_=round_)
    following = queries.next_to_screen(round_, _rater(seat), show, found.position)
    if said == "open" or visible_feedback(_assignment(seat, round_, pk)):
        following = found
    following = following and _assignment(seat, round_, following.public_id)
    if not request.headers.get("HX-Request"):
        words = f"?show={show}"
        if following is None:
            return redirect(reverse("screen", args=[slug, number]) + words)
        return redirect(reverse("screen_one", args=[slug, number, following.public_id]) + words)
    context = _context(seat, round_, show, following)
    own = queries.own_screenings(round_, _rater(seat)).filter(pk=found.pk)
    context |= {"answered": queries.screening_lines(round_, own), "is_turn": True}
    answer = render(request, "annotation/labeling/screening/_turn.html", context)
    here = reverse("screen_one", args=[slug, number, following.public_id]) if following else None
    answer["HX-Replace-Url"] = (here or reverse("screen", args=[slug, number])) + f"?show={show}"
    return answer


@login_required
@never_cache
@require_GET
def screen_list(request: HttpRequest, slug: str, number: int) -> HttpResponse:
    """The list alone: from a place on (`?from=`), or around one's own assignment `?here=`."""
    seat, round_ = _seat_and_round(request, slug, number)
    show = _shown(request.GET.get("show"))
    here = Assignment.number_of(request.GET.get("here", ""))
    at = queries.own_screenings(round_, _rater(seat)).filter(pk=here or 0).first()
    return render(
        request,
        "annotation/labeling/screening/_list.html",
        _list(seat, round_, show, at, start=_whole(request.GET.get("from"))),
    )


@login_required
@require_POST
def screen_keywords(request: HttpRequest, slug: str, number: int) -> HttpResponse:
    """Sets the rater's own keywords, separated by commas or on lines of their own."""
    seat, _ = _seat_and_round(request, slug, number)
    given = request.POST.get("keywords", "").replace("\n", ",").split(",")
    try:
        actions.set_own_keywords(seat=seat, keywords=given)
    except Invalid as error:
        messages.error(request, " ".join(sentence for each in error.fields.values() for sentence in each))
    else:
        messages.success(request, "Your keywords are saved.")
    return redirect("screen", slug, number)


def _seat_and_round(request: HttpRequest, slug: str, number: int) -> tuple[Seat, Round]:
    """Raises NotFound for a round of another kind, Forbidden for anybody who does not rate in it."""
    seat = get_seat(cast(User, request.user), slug)
    seat.require(RATER)
    round_ = get_round(seat, number)
    if round_.kind != Round.Kind.SCREENING:
        raise NotFound(f"Round {number} is not a screening round.")
    if round_.state == Round.State.DRAFT:
        require_prepared(seat.study)
    elif not has_part_in(round_, _rater(seat)):
        raise Forbidden(f"You are not a rater of round {number}.")
    return seat, round_


def _assignment(seat: Seat, round_: Round, pk: object) -> Assignment:
    """One's own assignment with what is read."""
    found = get_own_assignment(seat, pk, round_number=round_.number)
    row = Assignment.objects.select_related(ITEM_TO_READ, "draft", "current").get(pk=found.pk)
    row.round, row.rater = round_, _rater(seat)
    return row


def _page(
    request: HttpRequest,
    seat: Seat,
    round_: Round,
    show: str,
    found: Assignment | None,
    *,
    refusal: str = "",
    status: int = 200,
    is_list: bool = False,
) -> HttpResponse:
    """The page, or for htmx the issue alone; with `is_list` a phone shows the list first."""
    chosen = found and _assignment(seat, round_, found.public_id)
    context = _context(seat, round_, show, chosen) | {"refusal": refusal}
    if request.headers.get("HX-Target") == "screen-read":
        return render(request, "annotation/labeling/screening/_read.html", context, status=status)
    context |= _list(seat, round_, show, chosen) | {"is_list": is_list}
    return render(request, "annotation/labeling/screening/screen.html", context, status=status)


def _list(
    seat: Seat, round_: Round, show: str, here: Assignment | None, *, start: int | None = None
) -> dict[str, object]:
    rater = _rater(seat)
    # Who is away gets no items; what they answered they may look at.
    part = ("in" if show in ("all", "open", "maybe") else show) if rater.is_away else show
    found = queries.window(round_, rater, part, start=start, here=here.position if here else None)
    return _frame(seat, round_, show) | {"window": found, "here": here.public_id if here else None}


def _frame(seat: Seat, round_: Round, show: str) -> dict[str, object]:
    """What every part of the page has."""
    counts = queries.side_counts(round_, _rater(seat))
    tabs = [(name, NAMES[name], sum(counts.values()) if name == "all" else counts[name]) for name in queries.SHOWN]
    return {
        "study": seat.study,
        "round": round_,
        "rater": _rater(seat),
        "show": show,
        "tabs": [each for each in tabs if each[0] != "skipped" or each[2] or show == "skipped"],
        "n_maybe": counts["maybe"],
        "n_open": counts["open"],
        "progress": progress(round_, _rater(seat)),
    }


def _context(seat: Seat, round_: Round, show: str, found: Assignment | None) -> dict[str, object]:
    """The issue that is read, the buttons and what the rater said of it."""
    rater = _rater(seat)
    context: dict[str, object] = _frame(seat, round_, show) | {
        "keywords": queries.keywords_of(seat.study, rater),
        "held": None,
        "assignment": found,
    }
    if found is None:
        return context
    if found.state in Assignment.UNFINISHED:
        try:
            if rater.is_away:
                raise MinimumNotReached(
                    f"You are away until {rater.away_until:%-d %B %Y}. Until then you get no items."
                )
            require_admission(round_, rater, found)
        except MinimumNotReached as error:
            return context | {"held": error, "assignment": None}
    snapshot = snapshot_to_read(found.item)
    (line,) = queries.screening_lines(round_, queries.own_screenings(round_, rater).filter(pk=found.pk)) or (None,)
    answer = found.current
    return context | {
        "item": found.item,
        "issue_html": issue_html(snapshot) if snapshot else "",
        "line": line,
        "is_split": answer is not None and answer.n_parts > 1,
        "revision": answer.revision if answer else 0,
        "may_change": may_change(round_, found),
        "is_finished": found.state in Assignment.FINISHED,
        "reasons": _reasons(round_),
        "trained": visible_feedback(found),
    }


def _reasons(round_: Round) -> Sequence[ReasonChoice]:
    tree = published_version(round_.taxonomy_version_id)
    chosen = [each for each in tree.by_key[REASON].categories if each.selectable]
    return [
        ReasonChoice(each.key, each.name, each.definition, str(n) if n < 10 else "")
        for n, each in enumerate(chosen, start=1)
    ]


def _shown(asked: str | None) -> str:
    """The part of the list that is asked for; all of it where that is none."""
    return asked if asked in queries.SHOWN else "all"


def _whole(text: str | None) -> int | None:
    return int(text) if text and text.isascii() and text.isdecimal() and len(text) < 10 else None


def _rater(seat: Seat) -> Membership:
    assert seat.membership is not None
    return seat.membership
