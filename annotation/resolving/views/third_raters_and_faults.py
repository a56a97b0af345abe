"""Third raters and gaps in the taxonomy, reported from the resolving page."""

from collections.abc import Callable, Sequence
from typing import cast

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST

from accounts.models import User
from annotation.core.access import get_item_at, get_seat
from annotation.core.errors import ConcordError, Forbidden, NotFound
from annotation.labels import resolution_options
from annotation.labels.actions.faults import propose_category
from annotation.labels.consensus import Part, Verdict
from annotation.labels.part_matching import likeliest
from annotation.labels.queries.answers_in_parts import answers_in_parts
from annotation.labels.resolution_notes import notes_of
from annotation.models import Item, Round
from annotation.proposals import queries as proposal_queries
from annotation.resolving.actions.part_matches import match_parts
from annotation.resolving.actions.third_rater_requests import apply_rules, ask_third_rater, people_to_ask
from annotation.resolving.queries.precedents import SHOWN, precedents
from annotation.resolving.queries.queue import short_name, waiting_third_raters
from annotation.resolving.views.queue_position import QueuePosition, queue_position


@login_required
@never_cache
@require_POST
def ask(request: HttpRequest, slug: str, number: int, pk: int) -> HttpResponse:
    """Asks a third rater for an item, by hand."""
    here = queue_position(request, slug, number)
    item = get_item_at(here.seat, pk)

    def asked() -> str:
        rater = request.POST.get("rater", "")
        insists = request.POST.get("unblinded") == "1"
        made = ask_third_rater(seat=here.seat, round_=here.round, item=item, rater=rater, unblinded=insists)
        return f"{made.rater} is assigned to {item.identifier} as a third rater."

    return _done(request, here, item, asked)


@login_required
@never_cache
@require_POST
def fault(request: HttpRequest, slug: str, number: int, pk: int) -> HttpResponse:
    """Proposes a category because the taxonomy has no place for the item."""
    here = queue_position(request, slug, number)
    item = get_item_at(here.seat, pk)
    part = _part(request.POST.get("part", "1"))

    def proposed() -> str:
        made = propose_category(
            seat=here.seat,
            round_=here.round,
            item=item,
            part=part,
            dimension=request.POST.get("dimension", ""),
            name=request.POST.get("name", ""),
            memo=request.POST.get("memo", ""),
        )
        return f"“{made.name}” is proposed. The owner answers the proposal."

    return _done(request, here, item, proposed)


@login_required
@never_cache
@require_POST
def match(request: HttpRequest, slug: str, number: int, pk: int) -> HttpResponse:
    """Says which agreed bug each part of a rater's answer is."""
    here = queue_position(request, slug, number)
    item = get_item_at(here.seat, pk)
    parts = [_part(each) for each in request.POST.getlist("parts")]
    rater = request.POST.get("rater", "")

    def matched() -> str:
        revision = request.POST.get("revision") or None
        match_parts(
            seat=here.seat,
            round_=here.round,
            item=item,
            rater=rater,
            parts=parts,
            expected=revision,
            shown=request.POST.getlist("shown"),
        )
        return f"The parts of {rater} are matched."

    return _done(request, here, item, matched)


@login_required
@never_cache
@require_POST
def apply(request: HttpRequest, slug: str, number: int) -> HttpResponse:
    """Applies the study's rules to a round that is being resolved."""
    try:
        apply_rules(seat=get_seat(cast(User, request.user), slug), number=number)
        messages.success(request, "The rules are being applied. Their resolutions and third raters appear here soon.")
    except (Forbidden, NotFound):
        raise
    except ConcordError as error:
        messages.error(request, error.message)
    return redirect("round", slug, number)


def matching(here: QueuePosition, item: Item) -> list[dict[str, object]]:
    """Each rater's bugs with which agreed one they are, and which they are likeliest; none where all found one."""
    given = answers_in_parts(here.round, here.tree, item)
    if not any(len(each.parts) > 1 for each in given) or len(given) < 2:
        return []
    first = max(given, key=lambda each: len(each.parts))
    n_bugs = max(max(each.agreed, default=1) for each in given)
    telling = _telling(here, [part for each in given for part in each.parts])
    rows = []
    for each in given:
        likely = each.agreed if each is first else likeliest(first.parts, each.parts)
        words = [_part_words(here, part, telling) for part in each.parts]
        rows.append(
            {
                "rater": each.rater,
                "revision": each.revision,
                "parts": list(zip(range(1, len(words) + 1), words, each.agreed, strict=True)),
                "numbers": range(1, n_bugs + 2),
                "likely": likely if likely != each.agreed else [],
            }
        )
    return rows


def _telling(here: QueuePosition, parts: Sequence[Part]) -> list[str]:
    """The dimensions by which bugs can be told from each other; all, where they are alike."""
    keys = [key for key in here.tree.by_key if any(key in part for part in parts)]
    return [key for key in keys if any(part.get(key) != parts[0].get(key) for part in parts)] or keys


def _part_words(here: QueuePosition, part: Part, telling: Sequence[str]) -> str:
    """The first answers of a bug that tell it from the others, short."""
    shown = [resolution_options.value_words(here.tree.by_key[key], part[key]) for key in telling if key in part]
    return " · ".join(shown[:3])


def _part(sent: str) -> int:
    """The number of a part as a form sends it; 0, which no part has, for what is none."""
    return int(sent) if sent.isascii() and sent.isdecimal() and len(sent) < 5 else 0


def _done(request: HttpRequest, here: QueuePosition, item: Item, act: Callable[[], str]) -> HttpResponse:
    """Back to the place; what went wrong is said there."""
    try:
        messages.success(request, act())
    except Forbidden:
        raise
    except ConcordError as error:
        sentences = [sentence for each in error.fields.values() for sentence in each]
        messages.error(request, " ".join([error.message, *sentences]))
    return redirect(here.item_url(item.pk, place=request.POST.get("place", "")))


def side_panel(here: QueuePosition, item: Item, verdict: Verdict) -> dict[str, object]:
    """Precedents, proposals and third raters of a place, for who decides."""
    dimension = here.tree.by_key[verdict.dimension]
    known = precedents(here.seat, here.round, item.pk, verdict)
    waiting = waiting_third_raters(here.round, item)
    may_ask = (
        verdict.state == "open"
        and not waiting
        and here.round.state in (Round.State.OPEN, Round.State.RESOLVING)
        and here.round.kind != Round.Kind.RELABEL
    )
    people = people_to_ask(here.seat, here.round, item) if may_ask else []
    return {
        "precedents": [
            {
                "words": resolution_options.value_words(dimension, each.values),
                "identifier": each.resolution.item.identifier,
                "short_name": short_name(each.resolution.item.identifier),
                "url": here.elsewhere(each.resolution),
                "notes": notes_of(each.resolution).stated(),
                "by": resolution_options.decided_by(
                    each.resolution.method,
                    each.resolution.decided_by.told_name if each.resolution.decided_by else "",
                ),
                "at": each.resolution.created_at,
            }
            for each in known.found
        ],
        "precedents_shown": SHOWN,
        "precedents_counted": [
            (n, "a third value" if values is None else resolution_options.value_words(dimension, values))
            for values, n in known.counted
        ],
        "waiting_third": waiting,
        "may_ask": may_ask,
        "people": people,
        "has_unblinded": any(could_read for *_, could_read in people),
        "may_propose": dimension.has_categories
        and here.seat.membership is not None
        and here.round.state in (Round.State.OPEN, Round.State.RESOLVING),
        "asked_for": proposal_queries.with_outcomes(
            proposal_queries.visible_proposals(here.seat).filter(
                annotation__isnull=True, round=here.round, item=item, part=verdict.part, dimension=dimension.id
            ),
            here.seat,
        ),
    }
