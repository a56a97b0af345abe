"""Resolution queue page: disagreements counted, filtered, and in pages."""

from collections.abc import Mapping, Sequence

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.cache import never_cache

from annotation.core.access import ADJUDICATOR, OWNER
from annotation.core.errors import Invalid, WrongState
from annotation.discussion.queries import n_flagged
from annotation.labels.queries.resolution_facts import without_discussion
from annotation.labels.queries.without_value import n_lost_labels
from annotation.models import Resolution, Round
from annotation.resolving.actions.meetings import meeting_of_form, state_meeting
from annotation.resolving.queries import queue as queries
from annotation.resolving.queries.queue import Queue, QueueFilter, QueueLine
from annotation.resolving.views.queue_position import (
    QueuePosition,
    add_queries,
    clash_at,
    clash_words,
    log_reading,
    may_look,
    queue_position,
)
from shared.forms import form_page
from shared.wording import plural

PAGE_SIZE = 50
MOST_CLASHES = 12
STATES = ("open", "resolved", "all")


@login_required
@never_cache
@form_page
def queue(request: HttpRequest, slug: str, number: int) -> HttpResponse:
    """Where the raters of a round differ: counted, narrowed, in pages; a POST states a meeting for it."""
    here = queue_position(request, slug, number)
    if request.method == "POST":
        here.seat.require(ADJUDICATOR, OWNER)
        if not may_look(here):
            raise WrongState(f"Round {number} is {here.round.state}. Meetings are stated for resolutions.")
        return _state_meeting(request, here)
    return _page_of(request, here)


def _state_meeting(request: HttpRequest, here: QueuePosition) -> HttpResponse:
    filled = {name: request.POST.get(name, "") for name in ("held_on", "participants")}
    try:
        stated, newest = meeting_of_form(**filled), request.POST.get("newest")
        _, n = state_meeting(seat=here.seat, round_=here.round, meeting=stated, newest=newest)
    except Invalid as error:
        return _page_of(request, here, filled=filled, wrong=error.fields.get("meeting", ()), status=422)
    messages.success(request, f"The meeting was saved for {plural(n, 'resolution')}.")
    return redirect(here.queue_url())


def _page_of(
    request: HttpRequest,
    here: QueuePosition,
    *,
    filled: Mapping[str, str] | None = None,
    wrong: Sequence[str] = (),
    status: int = 200,
) -> HttpResponse:
    round_, study = here.round, here.seat.study
    context = here.context | {"tab": "rounds", "is_owner": here.seat.has_role(OWNER), "filled": filled, "wrong": wrong}
    if not may_look(here):
        if round_.state == Round.State.OPEN:
            here.seat.require_queue(round_)
            out = queries.unfinished_by_rater(round_)
            context |= {"out": out, "n_out": sum(n for _, n in out)}
        return render(request, "annotation/resolving/not_yet.html", context)
    log_reading(here)
    waiting = here.queue()
    state = request.GET.get("state", "")
    if state not in STATES:
        state = "open" if waiting.n_open or not waiting.lines else "resolved"
    selected = waiting.selected(here.narrowed, state)
    page = _page(request, here, selected, state)
    first = waiting.next_open(None, here.narrowed)
    alone = without_discussion(here.seat, round_) if here.decides and waiting.lines else []
    context |= page | {
        "queue": waiting,
        "state": state,
        "states": [(each, here.queue_url(state=each)) for each in STATES],
        "first_url": here.item_url(first.item) if first else "",
        "dimensions": _dimensions(here, waiting, state),
        "n_in_state": sum(waiting.by_dimension(state).values()),
        "all_url": add_queries(reverse("resolve", args=[study.slug, round_.number]), {"state": state}),
        "clashes": _clashes(here, waiting, state),
        "clash": clash_at(here),
        "n_decided": waiting.n_places - waiting.n_open,
        "n_alone": len(alone),
        "newest_alone": Resolution.public_id_of(max(alone)) if alone else "",
        "n_agreed": waiting.n_unanimous + waiting.n_single + len(waiting.lines),
        "item_by_item": round_.state == Round.State.OPEN,
        "lost": n_lost_labels(here.seat) if round_.kind == Round.Kind.RELABEL else None,
        "n_flagged": n_flagged(round_, here.hidden),
        "discuss_url": reverse("discuss", args=[study.slug, round_.number]),
    }
    return render(request, "annotation/resolving/queue.html", context, status=status)


def _page(request: HttpRequest, here: QueuePosition, selected: Sequence[QueueLine], state: str) -> dict[str, object]:
    """The lines of the page asked for, with their titles; one query."""
    asked = request.GET.get("page", "1")
    last = max((len(selected) - 1) // PAGE_SIZE + 1, 1)
    number = min(max(int(asked), 1), last) if asked.isascii() and asked.isdecimal() and len(asked) < 9 else 1
    lines = selected[(number - 1) * PAGE_SIZE : number * PAGE_SIZE]
    titles = queries.titles([line.item for line in lines])
    start = (number - 1) * PAGE_SIZE + 1
    return {
        "rows": [
            {
                "line": line,
                "title": titles.get(line.item, ""),
                "url": here.item_url(line.item),
                "places": [
                    {
                        "title": here.tree.by_key[place.dimension].title,
                        "hue": here.hue(place.dimension),
                        "words": queries.differing_words(here.tree.by_key[place.dimension], place.clashes),
                        "place": place,
                        "url": here.item_url(line.item, place=f"{place.part}.{place.dimension}"),
                    }
                    for place in line.places
                    if here.narrowed.holds(place) and state in ("all", place.state)
                ],
            }
            for line in lines
        ],
        "n_selected": len(selected),
        "shown": f"{start}–{start + len(lines) - 1} of {len(selected)}" if last > 1 else "",
        "previous_url": here.queue_url(state=state, page=str(number - 1)) if number > 1 else "",
        "next_url": here.queue_url(state=state, page=str(number + 1)) if number < last else "",
    }


def _dimensions(here: QueuePosition, waiting: Queue, state: str) -> list[dict[str, object]]:
    counted = waiting.by_dimension(state)
    most = max(counted.values(), default=0)
    address = reverse("resolve", args=[here.seat.study.slug, here.round.number])
    return [
        {
            "title": here.tree.by_key[key].title,
            "hue": here.hue(key),
            "n": n,
            "width": round(100 * n / most),
            "url": add_queries(address, {"dimension": key, "state": state}),
            "is_on": here.narrowed.dimension == key,
        }
        for key, n in counted.most_common()
    ]


def _clashes(here: QueuePosition, waiting: Queue, state: str) -> list[dict[str, object]]:
    """The pairs that are confused most, and the other reasons, as links that narrow the queue to them."""
    address = reverse("resolve", args=[here.seat.study.slug, here.round.number])
    counted = waiting.by_clash(here.narrowed, state).most_common(MOST_CLASHES)
    return [
        {
            "words": clash_words(here, key, clash),
            "title": here.tree.by_key[key].title,
            "hue": here.hue(key),
            "n": n,
            "url": add_queries(address, {"dimension": key, "clash": clash, "state": state}),
            "is_on": here.narrowed == QueueFilter(key, clash),
        }
        for (key, clash), n in counted
    ]
