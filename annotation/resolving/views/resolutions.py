"""Resolutions on the page: each POST resolves one disagreement and answers with the next."""

from collections.abc import Mapping
from typing import Any, cast

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django_htmx.http import HttpResponseClientRedirect

from annotation.core.access import ADJUDICATOR, OWNER, get_item_at
from annotation.core.errors import Invalid, Stale, WrongState
from annotation.labels import resolution_options
from annotation.labels.consensus import Values
from annotation.labels.resolution_notes import notes_in
from annotation.models import Item
from annotation.resolving.actions.meetings import meeting_of_form
from annotation.resolving.actions.resolutions import reopen, resolve
from annotation.resolving.queries.queue import Queue
from annotation.resolving.views.item import FilledForm, room
from annotation.resolving.views.queue_position import QueuePosition, log_reading, may_look, queue_position
from shared.forms import form_page
from shared.storable_json import read_json_field
from taxonomy.tree import TreeDimension, VersionTree


@login_required
@never_cache
@form_page
def resolve_item(request: HttpRequest, slug: str, number: int, pk: int) -> HttpResponse:
    """One item with all that its raters said; a POST decides one place and answers with the next."""
    here = queue_position(request, slug, number)
    if not may_look(here):
        raise WrongState(
            f"Round {number} is {here.round.state}. Disagreements can be resolved when its raters have finished."
        )
    item = get_item_at(here.seat, pk)
    here.seat.require_sight_of(here.round, item)
    if request.method == "POST":
        here.seat.require(ADJUDICATOR, OWNER)
    log_reading(here)
    if request.method == "POST":
        return _decide(request, here, item)
    context = room(here, item, wanted=request.GET.get("place", ""))
    return render(request, "annotation/resolving/item.html", context)


def _decide(request: HttpRequest, here: QueuePosition, item: Item) -> HttpResponse:
    """Takes the decision; then the next open place of this item, else of the next one, else the queue."""
    key = request.POST.get("dimension", "")
    part = request.POST.get("part", "")
    filled = FilledForm(
        choice=request.POST.get("choice", ""),
        other=[value for value in request.POST.getlist("other") if value.strip()],
        several=[value for value in request.POST.getlist("several") if value.strip()],
        method=request.POST.get("method", ""),
        notes=notes_in(request.POST),
        held_on=request.POST.get("held_on", ""),
        participants=request.POST.get("participants", ""),
    )
    wanted = f"{part}.{key}"
    number = int(part) if part.isascii() and part.isdecimal() and len(part) < 5 else 0
    asked: dict[str, Any] = {"part": number, "dimension": key, **filled.notes.columns()}
    asked["expected"] = request.POST.get("expected") or None
    try:
        if request.POST.get("reopen"):
            reopen(seat=here.seat, round_=here.round, item=item, **asked)
            return _stay(request, here, item, wanted)
        is_gone = filled.choice == resolution_options.NO_PART
        values = [] if is_gone else _values(here.tree, key, filled)
        asked |= {
            "no_part": is_gone or None,
            "method": filled.method,
            "meeting": meeting_of_form(filled.held_on, filled.participants),
        }
        resolve(seat=here.seat, round_=here.round, item=item, values=values, **asked)
    except Invalid as error:
        filled.errors = error.fields
        return _again(request, here, item, wanted, filled, 422)
    except Stale:
        filled.is_stale = True
        return _again(request, here, item, wanted, filled, 409)
    just = {
        "verb": "decided",
        "words": resolution_options.no_part_words(number)
        if is_gone
        else f"{here.tree.by_key[key].title}: {_decided_words(here.tree.by_key[key], filled)}",
        "url": here.item_url(item.pk, place=wanted),
    }
    return _go_on(request, here, item, just)


def _stay(request: HttpRequest, here: QueuePosition, item: Item, wanted: str) -> HttpResponse:
    """The place that was reopened, to be decided anew."""
    if not request.headers.get("HX-Request"):
        return redirect(here.item_url(item.pk, place=wanted))
    key = wanted.partition(".")[2]
    just = {"verb": "reopened", "words": here.tree.by_key[key].title, "url": ""}
    context = room(here, item, wanted=wanted, just=just, only_decision=True)
    return render(request, "annotation/resolving/_turn.html", context)


def _values(tree: VersionTree, key: str, filled: FilledForm) -> object:
    """The values of a filled form as the action takes them; raises Invalid where nothing was chosen."""
    if filled.choice == "several":
        return list(filled.several)
    if filled.choice == "other" and filled.other:
        dimension = tree.by_key.get(key)
        if dimension is None or dimension.has_categories:
            return list(filled.other)
        return dimension.question_kind.parse(filled.other[0])
    try:
        values = read_json_field(filled.choice)
    except ValueError:
        values = None
    if not isinstance(values, list):
        sentence = "Enter the other value." if filled.choice == "other" else "Choose an agreed label."
        raise Invalid("Disagreement not resolved.", fields={"values": [sentence]})
    return values


def _decided_words(dimension: TreeDimension, filled: FilledForm) -> str:
    if filled.choice == "several":
        return resolution_options.value_words(dimension, tuple(filled.several))
    if filled.choice == "other":
        values: Values = tuple(filled.other) if dimension.has_categories else (filled.other[0],)
        return resolution_options.value_words(dimension, values) if dimension.has_categories else str(values[0])
    return resolution_options.value_words(dimension, tuple(read_json_field(filled.choice)))


def _again(
    request: HttpRequest, here: QueuePosition, item: Item, wanted: str, filled: FilledForm, status: int
) -> HttpResponse:
    is_part = bool(request.headers.get("HX-Request"))
    context = room(here, item, wanted=wanted, filled=filled, only_decision=is_part)
    place = context["place"]
    assert place is None or isinstance(place, dict)
    shown = place["verdict"] if place else None
    context["gone"] = shown is None or f"{shown.part}.{shown.dimension}" != wanted
    template = "annotation/resolving/_turn.html" if is_part else "annotation/resolving/item.html"
    return render(request, template, context, status=status)


def _go_on(request: HttpRequest, here: QueuePosition, item: Item, just: Mapping[str, str]) -> HttpResponse:
    is_part = bool(request.headers.get("HX-Request"))
    context = room(here, item, just=just, only_decision=True)
    place = context["place"]
    assert isinstance(place, dict)
    if place["verdict"].state == "open":
        if not is_part:
            return redirect(here.item_url(item.pk))
        answer = render(request, "annotation/resolving/_turn.html", context)
        answer["HX-Replace-Url"] = here.item_url(item.pk)
        return answer
    waiting = cast(Queue, context["queue"])
    following = waiting.next_open(item.pk, here.narrowed)
    if following is None:
        messages.success(request, f"Decided: {just['words']}.")
        address = here.queue_url()
        return HttpResponseClientRedirect(address) if is_part else redirect(address)
    address = here.item_url(following.item)
    if not is_part:
        return redirect(address)
    next_item = get_item_at(here.seat, following.item)
    context = room(here, next_item, just=just)
    answer = render(request, "annotation/resolving/_next.html", context)
    answer["HX-Retarget"], answer["HX-Reswap"], answer["HX-Push-Url"] = "#room", "outerHTML", address
    return answer
