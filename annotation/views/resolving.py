"""The room where differences are decided: the queue, and one item after another."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import cast
from urllib.parse import urlencode

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_safe
from django_htmx.http import HttpResponseClientRedirect

from accounts.models import User
from annotation import deciding
from annotation.access import ADJUDICATOR, OWNER, Seat, get_item_at, get_round, get_seat
from annotation.actions.resolving import BY_HAND, LONGEST_RATIONALE, resolve
from annotation.consensus import Decision, Values, Verdict
from annotation.errors import Invalid, NotFound, Stale, WrongState
from annotation.models import Item, Resolution, Round, Study
from annotation.queries import resolving as queries
from annotation.queries.resolving import Line, Narrowed, Queue, queue_of
from annotation.queries.verdicts import round_verdicts
from ingest.queries import closing_changes
from taxonomy.queries import published_version
from taxonomy.tree import TreeDimension, VersionTree

PAGE_SIZE = 50
BEHIND, AHEAD = 12, 40
MOST_CLASHES = 12
STATES = ("open", "resolved", "all")
METHODS = {
    Resolution.Method.DISCUSSION: "discussion",
    Resolution.Method.THIRD_RATER: "third rater",
    Resolution.Method.MAJORITY: "majority",
    Resolution.Method.OWNER: "the owner’s decision",
    Resolution.Method.IMPORTED: "imported",
}


@dataclass(frozen=True)
class Here:
    """Where an adjudicator is: a round, as they have narrowed its queue."""

    seat: Seat
    round: Round
    tree: VersionTree
    narrowed: Narrowed

    def queue_url(self, **more: str) -> str:
        return _with(reverse("resolve", args=[self.seat.study.slug, self.round.number]), self._asked | more)

    def item_url(self, item: int, **more: str) -> str:
        return _with(reverse("resolve_item", args=[self.seat.study.slug, self.round.number, item]), self._asked | more)

    @property
    def _asked(self) -> dict[str, str]:
        return {"dimension": self.narrowed.dimension, "clash": self.narrowed.clash}

    def hue(self, key: str) -> int:
        return self.tree.by_key[key].position % 8 + 1

    @property
    def context(self) -> dict[str, object]:
        return {"seat": self.seat, "study": self.seat.study, "round": self.round, "narrowed": self.narrowed}


@dataclass
class Filled:
    """What was filled in, to be shown again with what is wrong with it."""

    choice: str = ""
    other: Sequence[str] = ()
    method: str = Resolution.Method.DISCUSSION
    rationale: str = ""
    errors: Mapping[str, Sequence[str]] = field(default_factory=dict)
    is_stale: bool = False


@login_required
@never_cache
@require_safe
def queue(request: HttpRequest, slug: str, number: int) -> HttpResponse:
    """Where the raters of a round differ: counted, narrowed, in pages; and what to do when there is nothing."""
    here = _here(request, slug, number)
    round_, study = here.round, here.seat.study
    context = here.context | {"tab": "rounds", "is_owner": here.seat.has_role(OWNER)}
    if not _may_look(here):
        if round_.state == Round.State.OPEN:
            out = queries.unfinished_by_rater(round_)
            context |= {"out": out, "n_out": sum(n for _, n in out)}
        return render(request, "annotation/resolving/not_yet.html", context)
    waiting = queue_of(round_)
    state = request.GET.get("state", "")
    if state not in STATES:
        state = "open" if waiting.n_open or not waiting.lines else "resolved"
    selected = waiting.selected(here.narrowed, state)
    page = _page(request, here, selected, state)
    first = waiting.next_open(None, here.narrowed)
    context |= page | {
        "queue": waiting,
        "state": state,
        "states": [(each, here.queue_url(state=each)) for each in STATES],
        "first_url": here.item_url(first.item) if first else "",
        "dimensions": _dimensions(here, waiting, state),
        "n_in_state": sum(waiting.by_dimension(state).values()),
        "all_url": _with(reverse("resolve", args=[study.slug, round_.number]), {"state": state}),
        "clashes": _clashes(here, waiting, state),
        "clash": _clash_here(here),
        "n_decided": waiting.n_places - waiting.n_open,
        "n_agreed": waiting.n_unanimous + len(waiting.lines),
        "item_by_item": round_.state == Round.State.OPEN,
    }
    return render(request, "annotation/resolving/queue.html", context)


@login_required
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def resolve_item(request: HttpRequest, slug: str, number: int, pk: int) -> HttpResponse:
    """One item with all that its raters said; a POST decides one place and answers with the next."""
    here = _here(request, slug, number)
    if not _may_look(here):
        raise WrongState(f"Round {number} is {here.round.state}; decisions are taken when its raters are done.")
    item = get_item_at(here.seat, pk)
    if request.method == "POST":
        return _decide(request, here, item)
    context = _room(here, item, wanted=request.GET.get("place", ""))
    return render(request, "annotation/resolving/item.html", context)


def _here(request: HttpRequest, slug: str, number: int) -> Here:
    seat = get_seat(cast(User, request.user), slug)
    seat.require(ADJUDICATOR, OWNER)
    round_ = get_round(seat, number)
    seat.require_sight(round_)
    tree = published_version(round_.taxonomy_version_id)
    dimension = request.GET.get("dimension", "")
    narrowed = Narrowed(dimension, request.GET.get("clash", "")) if dimension in tree.by_key else Narrowed()
    return Here(seat, round_, tree, narrowed)


def _may_look(here: Here) -> bool:
    """Answers are shown when the round is over, or item by item where the study says so."""
    if here.round.state == Round.State.OPEN:
        return here.seat.study.resolve_when == Study.ResolveWhen.ITEM
    return here.round.state not in (Round.State.DRAFT, Round.State.UNDONE)


def _with(address: str, asked: Mapping[str, str]) -> str:
    query = urlencode({name: value for name, value in asked.items() if value})
    return f"{address}?{query}" if query else address


def _page(request: HttpRequest, here: Here, selected: Sequence[Line], state: str) -> dict[str, object]:
    """The lines of the page asked for, with their titles; one query."""
    asked = request.GET.get("page", "1")
    last = max((len(selected) - 1) // PAGE_SIZE + 1, 1)
    number = min(max(int(asked), 1), last) if asked.isascii() and asked.isdigit() and len(asked) < 9 else 1
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
                        "words": [_clash_words(here, place.dimension, clash) for clash in place.clashes],
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


def _dimensions(here: Here, waiting: Queue, state: str) -> list[dict[str, object]]:
    counted = waiting.by_dimension(state)
    most = max(counted.values(), default=0)
    address = reverse("resolve", args=[here.seat.study.slug, here.round.number])
    return [
        {
            "title": here.tree.by_key[key].title,
            "hue": here.hue(key),
            "n": n,
            "width": round(100 * n / most),
            "url": _with(address, {"dimension": key, "state": state}),
            "is_on": here.narrowed.dimension == key,
        }
        for key, n in counted.most_common()
    ]


def _clashes(here: Here, waiting: Queue, state: str) -> list[dict[str, object]]:
    """The pairs that are confused most, and the other reasons, as links that narrow the queue to them."""
    address = reverse("resolve", args=[here.seat.study.slug, here.round.number])
    counted = waiting.by_clash(here.narrowed, state).most_common(MOST_CLASHES)
    return [
        {
            "words": _clash_words(here, key, clash),
            "title": here.tree.by_key[key].title,
            "hue": here.hue(key),
            "n": n,
            "url": _with(address, {"dimension": key, "clash": clash, "state": state}),
            "is_on": here.narrowed == Narrowed(key, clash),
        }
        for (key, clash), n in counted
    ]


def _clash_words(here: Here, key: str, clash: str) -> str:
    return queries.clash_words(here.tree.by_key[key], clash)


def _clash_here(here: Here) -> str:
    return _clash_words(here, here.narrowed.dimension, here.narrowed.clash) if here.narrowed.clash else ""


def _room(
    here: Here,
    item: Item,
    *,
    wanted: str = "",
    filled: Filled | None = None,
    just: Mapping[str, str] | None = None,
    only_decision: bool = False,
) -> dict[str, object]:
    """Everything on an item's page; `wanted` is the place to be decided (part.dimension), else the first open one."""
    standing = next(iter(round_verdicts(here.round, items=[item.pk])), None)
    if standing is None:
        raise NotFound(f"{item.identifier} is not in round {here.round.number}.")
    if not standing.is_complete:
        raise WrongState(f"The raters of {item.identifier} are not done yet.")
    waiting = queue_of(here.round)
    heard = queries.voices(here.round, item)
    told = queries.history(here.round, item)
    place = _place_at(standing.verdicts, here.narrowed, wanted)
    context = here.context | _queue_column(here, waiting, item)
    context |= {
        "item": item,
        "queue": waiting,
        "queue_url": here.queue_url(),
        "just": just,
        "voices": heard,
        "n_parts": max((verdict.part for verdict in standing.verdicts), default=1),
        "rows": [_row(here, item, verdict, verdict is place) for verdict in standing.verdicts],
        "place": _place(here, item, place, heard, told, filled or Filled()) if place else None,
        "methods": [(method, METHODS[method]) for method in BY_HAND],
        "longest_rationale": LONGEST_RATIONALE,
        "clash": _clash_here(here),
    }
    if not only_decision:
        snapshot, comments = queries.what_was_read(item, heard)
        is_newest = snapshot is None or item.issue is None or item.issue.current_snapshot_id == snapshot.pk
        context |= {
            "issue": item.issue,
            "snapshot": snapshot,
            "comments": comments,
            "closing_changes": closing_changes(item.issue) if item.issue else [],
            "changed_since": not is_newest,
            "read_otherwise": [v.code for v in heard.values() if snapshot and v.snapshot not in (None, snapshot.pk)],
        }
    return context


def _place_at(verdicts: Sequence[Verdict], narrowed: Narrowed, wanted: str) -> Verdict | None:
    """The verdict that is asked for, else the first open one (of the narrowed dimension first), disputed one, any."""
    part, _, key = wanted.partition(".")
    asked = [verdict for verdict in verdicts if str(verdict.part) == part and verdict.dimension == key]
    waiting = [verdict for verdict in verdicts if verdict.state == "open"]
    fitting = [verdict for verdict in waiting if verdict.dimension == narrowed.dimension]
    disputed = [verdict for verdict in verdicts if verdict.reason is not None]
    return next(iter([*asked, *fitting, *waiting, *disputed, *verdicts]), None)


def _queue_column(here: Here, waiting: Queue, item: Item) -> dict[str, object]:
    """The items around this one, as far as the queue is narrowed to them, and those before and behind."""
    before, onwards = waiting.around(item.pk, here.narrowed)
    own = [line for line in onwards if line.item == item.pk]
    ahead = onwards[len(own) :]
    shown = [*before[-BEHIND:], *own, *ahead[:AHEAD]]
    return {
        "lines": [(line, here.item_url(line.item), line.item == item.pk) for line in shown],
        "n_before": max(len(before) - BEHIND, 0),
        "n_behind": max(len(ahead) - AHEAD, 0),
        "previous_item_url": here.item_url(before[-1].item) if before else "",
        "next_item_url": here.item_url(ahead[0].item) if ahead else "",
        "n_left": len(waiting.selected(here.narrowed, "open")),
        "n_decided": waiting.n_places - waiting.n_open,
    }


def _row(here: Here, item: Item, verdict: Verdict, is_here: bool) -> dict[str, object]:
    """A verdict as a line under the one that is being decided."""
    dimension = here.tree.by_key[verdict.dimension]
    return {
        "verdict": verdict,
        "title": dimension.title,
        "hue": here.hue(verdict.dimension),
        "words": "" if verdict.state == "open" else deciding.value_words(dimension, verdict.values or ()),
        "url": here.item_url(item.pk, place=f"{verdict.part}.{verdict.dimension}"),
        "is_here": is_here,
    }


def _place(
    here: Here,
    item: Item,
    verdict: Verdict,
    heard: Mapping[str, queries.Voice],
    told: Mapping[tuple[int, str], Sequence[Decision]],
    filled: Filled,
) -> dict[str, object]:
    """The place to be decided: the answers side by side, what else can be chosen, and what was decided before."""
    dimension = here.tree.by_key[verdict.dimension]
    columns = deciding.options(dimension, verdict, heard)
    earlier = told.get((verdict.part, verdict.dimension), ())
    if not filled.choice and earlier:
        filled.choice, filled.other = _as_chosen(columns, earlier[0].values)
    return {
        "verdict": verdict,
        "dimension": dimension,
        "hue": here.hue(verdict.dimension),
        "options": columns,
        "is_wide": len(columns) > 2,
        "reason": deciding.reason_words(verdict, heard),
        "has_other": dimension.kind != "boolean",
        "has_none": all(option.value != "[]" for option in columns),
        "none_words": deciding.none_words(dimension, verdict),
        "other_chosen": filled.choice == "other",
        "other_text": filled.other[0] if filled.other and not dimension.has_categories else "",
        "other_keys": filled.other or _shared(columns) if dimension.kind == "multi" else filled.other,
        "filled": filled,
        "told": [_told(dimension, decision) for decision in earlier],
        "expected": earlier[0].id if earlier else "",
        "action": here.item_url(item.pk),
    }


def _shared(columns: Sequence[deciding.Option]) -> Sequence[str]:
    """Where several categories count, those that all raters gave are set already."""
    return sorted(columns[0].shared) if columns else ()


def _as_chosen(columns: Sequence[deciding.Option], values: Values) -> tuple[str, Sequence[str]]:
    """An earlier decision as the form would have sent it."""
    value = deciding.as_value(values)
    if not values or any(option.value == value for option in columns):
        return value, ()
    return "other", [f"{each:g}" if isinstance(each, float) else str(each) for each in values]


def _told(dimension: TreeDimension, decision: Decision) -> dict[str, object]:
    return {
        "words": deciding.value_words(dimension, decision.values),
        "method": METHODS.get(Resolution.Method(decision.method), decision.method),
        "rationale": decision.rationale,
        "by": decision.decided_by or "an import",
        "at": decision.decided_at,
    }


def _decide(request: HttpRequest, here: Here, item: Item) -> HttpResponse:
    """Takes the decision; then the next open place of this item, else of the next one, else the queue."""
    key = request.POST.get("dimension", "")
    part = request.POST.get("part", "")
    filled = Filled(
        choice=request.POST.get("choice", ""),
        other=[value for value in request.POST.getlist("other") if value.strip()],
        method=request.POST.get("method", Resolution.Method.DISCUSSION),
        rationale=request.POST.get("rationale", ""),
    )
    wanted = f"{part}.{key}"
    try:
        decided = resolve(
            seat=here.seat,
            round_=here.round,
            item=item,
            part=int(part) if part.isascii() and part.isdigit() and len(part) < 5 else 0,
            dimension=key,
            values=_values(here.tree, key, filled),
            method=filled.method,
            rationale=filled.rationale,
            expected=request.POST.get("expected") or None,
        )
    except Invalid as error:
        filled.errors = error.fields
        return _again(request, here, item, wanted, filled, 422)
    except Stale:
        filled.is_stale = True
        return _again(request, here, item, wanted, filled, 409)
    just = {
        "words": f"{here.tree.by_key[key].title}: {_decided_words(here.tree.by_key[key], filled)}",
        "url": here.item_url(item.pk, place=wanted),
    }
    return _go_on(request, here, item, decided, just)


def _values(tree: VersionTree, key: str, filled: Filled) -> object:
    """The values of a filled form as the action takes them; raises Invalid where nothing was chosen."""
    if filled.choice == "other" and filled.other:
        dimension = tree.by_key.get(key)
        if dimension is not None and dimension.kind == "number":
            return _as_number(filled.other[0])
        return filled.other[0] if dimension is not None and dimension.kind == "text" else list(filled.other)
    try:
        values = json.loads(filled.choice)
    except ValueError:
        values = None
    if not isinstance(values, list):
        sentence = "Say which other value it is." if filled.choice == "other" else "Choose what counts here."
        raise Invalid("The decision could not be taken.", fields={"values": [sentence]})
    return values


def _as_number(text: str) -> float | str:
    try:
        return float(text)
    except ValueError:
        return text


def _decided_words(dimension: TreeDimension, filled: Filled) -> str:
    if filled.choice == "other":
        values: Values = tuple(filled.other) if dimension.has_categories else (filled.other[0],)
        return deciding.value_words(dimension, values) if dimension.has_categories else str(values[0])
    return deciding.value_words(dimension, tuple(json.loads(filled.choice)))


def _again(request: HttpRequest, here: Here, item: Item, wanted: str, filled: Filled, status: int) -> HttpResponse:
    is_part = bool(request.headers.get("HX-Request"))
    context = _room(here, item, wanted=wanted, filled=filled, only_decision=is_part)
    place = context["place"]
    assert place is None or isinstance(place, dict)
    shown = place["verdict"] if place else None
    context["gone"] = shown is None or f"{shown.part}.{shown.dimension}" != wanted
    template = "annotation/resolving/_turn.html" if is_part else "annotation/resolving/item.html"
    return render(request, template, context, status=status)


def _go_on(request: HttpRequest, here: Here, item: Item, decided: Resolution, just: Mapping[str, str]) -> HttpResponse:
    is_part = bool(request.headers.get("HX-Request"))
    method = Filled(method=decided.method)
    context = _room(here, item, filled=method, just=just, only_decision=True)
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
    context = _room(here, next_item, filled=Filled(method=decided.method), just=just)
    answer = render(request, "annotation/resolving/_next.html", context)
    answer["HX-Retarget"], answer["HX-Reswap"], answer["HX-Push-Url"] = "#room", "outerHTML", address
    return answer
