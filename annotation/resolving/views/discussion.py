"""Discussion of an item: its comments, all labels side by side, and who else is there."""

from collections.abc import Mapping
from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe
from django_htmx.http import HttpResponseClientRedirect

from annotation.core.access import get_item_at, get_round, get_seat, row_number
from annotation.core.errors import Invalid, Stale, WrongState
from annotation.core.pages import me, study_page
from annotation.core.paging import page_of
from annotation.discussion import queries
from annotation.discussion.actions import take_over, write_remark
from annotation.discussion.queries import DiscussionProgress
from annotation.labels.queries.verdicts import round_verdicts
from annotation.models import Annotation, Item, Remark, Resolution, Round
from annotation.resolving.views import item_discussion
from annotation.resolving.views.queue_position import QueuePosition, log_reading, may_look, queue_position
from shared.storable_json import read_json_field
from taxonomy.kinds import LONGEST_TEXT


def _at(request: HttpRequest, slug: str, number: int, pk: int) -> tuple[QueuePosition, Item]:
    """The item at an address, as far as this person may see what is said of it."""
    here = queue_position(request, slug, number)
    item = get_item_at(here.seat, pk)
    here.seat.require_sight_of(here.round, item)
    if not may_look(here):
        raise WrongState(f"Round {number} is {here.round.state}. Items can be discussed when its raters have finished.")
    log_reading(here)
    return here, item


def _number(given: Mapping[str, Any], name: str) -> int:
    return row_number(given.get(name, "")) or 0


def _seen(given: Mapping[str, Any]) -> int:
    """The last remark that the page has; 0 where it has none."""
    return Remark.number_of(given.get("after", "")) or 0


@login_required
@never_cache
@require_safe
def news(request: HttpRequest, slug: str, number: int, pk: int) -> HttpResponse:
    """What is new since the page was made: remarks, decisions, changed answers, who is here; 204 where nothing is."""
    here, item = _at(request, slug, number, pk)
    if here.round.state == Round.State.OPEN and not _is_done(here, item):
        raise WrongState(f"The raters of {item.identifier} have not finished it yet.")
    since = DiscussionProgress(
        Resolution.number_of(request.GET.get("decided", "")) or 0,
        Annotation.number_of(request.GET.get("answered", "")) or 0,
    )
    after = _seen(request.GET)
    taking_part = queries.people(here.seat, here.round)
    said = list(queries.remarks(here.round, item, after=after))
    meanwhile = queries.meanwhile(here.seat, here.round, item, since)
    told = item_discussion.news(here, item, taking_part, since, said[-1].pk if said else after, meanwhile)
    if not said and told["mark"] == request.GET.get("told"):
        return HttpResponse(status=204)
    context = told | {"remarks": [item_discussion.remark(here, each, taking_part) for each in said], "is_news": True}
    return render(request, "annotation/resolving/_thread_news.html", here.context | context)


def _is_done(here: QueuePosition, item: Item) -> bool:
    standing = next(iter(round_verdicts(here.round, items=[item.pk])), None)
    return standing is not None and standing.is_complete


@login_required
@require_POST
def say(request: HttpRequest, slug: str, number: int, pk: int) -> HttpResponse:
    """Appends a remark; htmx gets it with what others said meanwhile, and an empty form."""
    here, item = _at(request, slug, number, pk)
    is_part = bool(request.headers.get("HX-Request"))
    wanted, typed = request.POST.get("place", ""), request.POST.get("text", "")
    part, _, key = wanted.partition(".")
    standing = next(iter(round_verdicts(here.round, items=[item.pk])), None)
    verdicts = standing.verdicts if standing else ()
    place = next((each for each in verdicts if f"{each.part}.{each.dimension}" == wanted), None)
    form = {
        "places": item_discussion.places(here, verdicts, place),
        "talk_urls": {"say": item_discussion.url(here, item, "discuss_say")},
        "longest_remark": LONGEST_TEXT,
    }
    try:
        made = write_remark(
            seat=here.seat, round_=here.round, item=item, text=typed, part=row_number(part) or 1, dimension=key
        )
    except Invalid as error:
        if not is_part:
            messages.error(request, " ".join(each for sentences in error.fields.values() for each in sentences))
            return redirect(here.item_url(item.pk, place=wanted))
        wrong = form | {"wrong": error.fields, "typed": typed, "after": request.POST.get("after", "")}
        return render(request, "annotation/resolving/_thread_form.html", wrong | here.context, status=422)
    if not is_part:
        return redirect(here.item_url(item.pk, place=wanted) + f"#remark-{made.public_id}")
    taking_part = queries.people(here.seat, here.round)
    said = queries.remarks(here.round, item, after=_seen(request.POST))
    shown = [item_discussion.remark(here, each, taking_part) for each in said]
    told = {"remarks": shown, "after": made.public_id, "is_news": True}
    return render(request, "annotation/resolving/_thread_said.html", here.context | form | told)


@login_required
@require_POST
def take(request: HttpRequest, slug: str, number: int, pk: int) -> HttpResponse:
    """Makes another's value one's own; leads back to the place, or to the labelling page where more is to be said."""
    here, item = _at(request, slug, number, pk)
    key = request.POST.get("dimension", "")
    part = _number(request.POST, "part") or 1
    address = here.item_url(item.pk, place=f"{part}.{key}") if key in here.tree.by_key else here.item_url(item.pk)
    try:
        values = read_json_field(request.POST.get("values", ""))
    except ValueError:
        values = None
    try:
        if not isinstance(values, list):
            raise Invalid("Label not changed.", fields={"values": ["Choose one of the values."]})
        taken = take_over(
            seat=here.seat,
            round_=here.round,
            item=item,
            part=part,
            dimension=key,
            values=values,
            expected=_number(request.POST, "revision") or None,
        )
    except (Invalid, Stale) as error:
        sentences = [each for given in error.fields.values() for each in given]
        messages.error(request, f"{error.message} {' '.join(sentences)}".strip())
    else:
        title = here.tree.by_key[key].title
        if taken.annotation is None:
            messages.warning(
                request, f"With “{title}” changed, other dimensions need a label, too. Nothing is sent yet."
            )
            address = reverse("label_one", args=[slug, number, taken.assignment.public_id])
        else:
            messages.success(request, f"Your label of “{title}” is changed. Your blind label is kept.")
    return HttpResponseClientRedirect(address) if request.headers.get("HX-Request") else redirect(address)


@login_required
@never_cache
@require_safe
def items(request: HttpRequest, slug: str, number: int) -> HttpResponse:
    """All items of a round in its order, or those that a rater wants to talk about, to be gone through one by one."""
    here = queue_position(request, slug, number)
    if not may_look(here):
        return redirect(here.queue_url())
    log_reading(here)
    flagged = request.GET.get("flagged") == "1"
    walk = "flagged" if flagged else "all"
    rows = queries.round_items(here.round, flagged=flagged, without=here.hidden)
    page = page_of(request, rows, key="position")
    first = rows.first()
    address = reverse("discuss", args=[slug, number])
    return study_page(
        request,
        here.seat,
        "resolving/discuss_items",
        "rounds",
        round=here.round,
        page=page,
        lines=[(line, here.item_url(line.item, walk=walk)) for line in queries.discussion_items(here.round, page.rows)],
        names=queries.people(here.seat, here.round).names_of_codes,
        flagged=flagged,
        n_flagged=queries.n_flagged(here.round, here.hidden),
        choices=[("All items", address, not flagged), ("⚑ Flagged", f"{address}?flagged=1", flagged)],
        first_url=here.item_url(first.item_id, walk=walk) if first else "",
        queue_url=here.queue_url(),
        item_by_item=here.round.state == Round.State.OPEN and here.seat.study.is_resolved_by_item,
    )


@login_required
@require_safe
def one(request: HttpRequest, slug: str, number: int, pk: int) -> HttpResponse:
    """The page of an item under the discussion's address, for who may know of the study."""
    get_round(get_seat(me(request), slug), number)
    return redirect("resolve_item", slug, number, pk)
