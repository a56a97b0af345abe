"""Plan pages: list, preview with counts, run, progress, and undo."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.http import urlencode
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe

from annotation.assignments.actions import reading_log
from annotation.assignments.queries import is_absent
from annotation.core.access import OWNER, Seat, get_plan_at, get_seat
from annotation.core.errors import Blind, ConcordError, Conflict, Forbidden
from annotation.core.member_lists import members_of
from annotation.core.pages import me, study_page
from annotation.core.paging import page_of
from annotation.labels.queries.label_version import owned_studies, standing_plan, stands_at, versions_ahead
from annotation.labels.queries.without_value import n_without_value, without_value
from annotation.labels.resolution_options import value_words
from annotation.models import Item, Membership, Plan, Round
from annotation.plans import actions
from annotation.plans.category_outcomes import ASKED
from annotation.plans.forms import PlanForm
from annotation.plans.queries import listing
from annotation.plans.queries.preview import preview_of
from annotation.plans.queries.relabeling import PAGE, affected_items, items_with_categories
from annotation.plans.queries.scope import scope_of
from annotation.rounds.queries import RoundLine, round_lines
from shared.forms import explaining, form_page, status_of
from taxonomy.access import get_version
from taxonomy.queries import published_version
from taxonomy.tree import VersionTree

LOST_SHOWN = 200
HAPPENS = {
    "split": "split",
    "retired": "retired",
    "kind": "its dimension is of another kind",
    "merged back": "merged from several",
    "added": "does not exist yet",
    "dimension": "its dimension was removed",
    "merged": "merged",
    "moved": "moved",
    "renamed": "renamed",
    "redefined": "redefined",
}
"""What happens to a category, in the order in which it is shown."""
WHY = {
    "split": "was split",
    "retired": "was retired",
    "kind": "belongs to a dimension of another kind",
    "merged back": "was merged from several",
    "added": "is not there yet",
    "redefined": "is redefined",
    "pending": "a proposal was answered",
    "required": "now required",
    "resolved": "was resolved",
}


@dataclass(frozen=True)
class PlanLine:
    """A plan in the list, with how far its worklist is."""

    plan: Plan
    n_following: int | None
    n_asked: int | None
    worklist: RoundLine | None
    may_undo: bool


@dataclass(frozen=True)
class CategoryChangeLine:
    """A category whose labels don't simply stay."""

    title: str
    position: int
    version: int
    old_name: str
    happens: str
    new_names: Sequence[str]
    follows: str
    n_labels: int
    n_items: int
    items_url: str


@dataclass(frozen=True)
class Recheck:
    """A category that is defined anew; chosen: its labels are looked at again."""

    value: str
    title: str
    name: str
    n_items: int
    is_chosen: bool


@dataclass(frozen=True)
class StandIn:
    """Someone who may answer in the place of an absent rater."""

    code: str
    name: str
    is_chosen: bool


@dataclass(frozen=True)
class AffectedLine:
    """An item in the list behind a count, and in words what is asked of it and of whom."""

    item: Item
    reasons: Sequence[tuple[str, Sequence[str]]] = ()

    @property
    def title(self) -> str:
        return self.item.snapshot.title if self.item.snapshot else ""


@dataclass(frozen=True)
class LostLabel:
    """An agreed label without a value in the newest version, in words."""

    item_id: int
    item: str
    part: int
    title: str
    value: str
    why: str


@login_required
@form_page
def plans(request: HttpRequest, slug: str) -> HttpResponse:
    """All plans, newest first; a POST previews the move to a version."""
    seat = get_seat(me(request), slug)
    seat.require_reading()
    given = request.POST if request.method == "POST" else None
    if given is not None:
        seat.require(OWNER)
    at = stands_at([seat.study]).get(seat.study.pk)
    versions = [] if at is None else versions_ahead(seat.user, seat.study.taxonomy, at)
    form = PlanForm(given, versions=versions, initial={"to": request.GET.get("to") or None})
    if given is not None and form.is_valid():
        with explaining(form, passing=Forbidden):
            plan = actions.preview_plan(seat=seat, to=form.cleaned_data["to"])
            return redirect("plan", slug, plan.number)
    page = page_of(request, listing.plans(seat), key="-number")
    context = {"page": page, "lines": _lines(page.rows, seat), "form": form, "at": at, "versions": versions}
    return study_page(request, seat, "plans/plans", "plans", status=status_of(form), **context)


def _lines(rows: Sequence[Plan], seat: Seat) -> list[PlanLine]:
    ids = [row.worklist_id for row in rows if row.worklist_id]
    queues = round_lines(Round.objects.filter(pk__in=ids), seat=seat) if ids else []
    worklists = {line.round.pk: line for line in queues}
    last_done = next((row for row in rows if row.state == Plan.State.DONE), None)
    may_undo = last_done is not None and seat.has_role(OWNER) and not listing.why_not_undo(last_done)
    return [
        PlanLine(
            row,
            row.preview["labels"]["following"] if row.preview and not seat.withheld else None,
            row.preview["worklist"]["items"] if row.preview and not seat.withheld else None,
            worklists.get(row.worklist_id or 0),
            may_undo and row is last_done,
        )
        for row in rows
    ]


@login_required
@never_cache
@require_safe
def plan(request: HttpRequest, slug: str, number: int) -> HttpResponse:
    """What a plan would do, does, or did."""
    seat, found = _seat_and_plan(request, slug, number)
    return _plan_page(request, seat, found)


def _seat_and_plan(request: HttpRequest, slug: str, number: int) -> tuple[Seat, Plan]:
    seat = get_seat(me(request), slug)
    seat.require_reading()
    found = get_plan_at(seat, number)
    reading_log.note_results(seat, "plan", reading_log.PAGE)
    return seat, found


def _plan_page(request: HttpRequest, seat: Seat, found: Plan, status: int = 200, **more: Any) -> HttpResponse:
    context = _told(seat, found) | more
    return study_page(request, seat, "plans/plan", "plans", status=status, plan=found, **context)


def _told(seat: Seat, found: Plan, stand_ins: Sequence[str] = ()) -> dict[str, Any]:
    """What the page of a plan says, from its row where it was run, else counted now."""
    is_preview = found.state in Plan.OPEN
    why_not = ""
    told: Mapping[str, Any] = found.preview
    if not told:
        try:
            told = preview_of(found).as_document()
        except Conflict as error:
            return {"stale": error.message, "is_preview": is_preview}
    tree = published_version(found.to_version_id)
    raters = {each.code: each for each in members_of(seat.study) if each.code}
    asked = [(raters.get(each["rater"]), each) for each in told["worklist"]["raters"]]
    is_owner = seat.has_role(OWNER)
    if is_owner:
        why_not = listing.why_not_run(found) if is_preview else listing.why_not_undo(found)
    lines = round_lines(Round.objects.filter(pk=found.worklist_id), with_raters=True) if found.worklist_id else []
    n_given = lines[0].n_items if lines else 0
    return {
        "is_preview": is_preview,
        "told": told,
        "changes": _changes(seat, found, told, tree, has_items=is_preview),
        "questions": [
            {**each, "items_url": _items_url(seat, found, why="required", dimension=each["dimension"])}
            for each in told["dimensions"]
        ],
        "rechecks": _rechecks(told, tree) if is_preview else [],
        "pending": _pending(told["pending"]),
        "asked": asked,
        "stand_ins": _stand_ins(raters, told, stand_ins) if is_preview else [],
        "stood_in": [each for each in raters.values() if each.pk in found.stand_ins],
        "n_following": told["labels"]["following"],
        "n_gone": told["labels"].get("dimension", 0),
        "n_asked": told["worklist"]["items"] if found.state != Plan.State.DONE else n_given,
        "items_url": reverse("plan_items", args=[seat.study.slug, found.number]),
        "worklist": lines[0] if lines else None,
        "why_not": why_not,
        "is_at_work": found.state in Plan.AT_WORK,
    } | _without_value(seat, found, tree)


def _without_value(seat: Seat, found: Plan, tree: VersionTree) -> dict[str, Any]:
    """The labels without a value in the version at which they stand, for those who read all labels."""
    if found.state != Plan.State.DONE or found != standing_plan(seat.study) or not listing.reads_all(seat):
        return {}
    lines = []
    for each in islice(without_value(seat, found), LOST_SHOWN):
        old = published_version(each.version_id).by_key[each.dimension]
        title, value = tree.by_key[each.dimension].title, value_words(old, each.values)
        lines.append(LostLabel(each.item_id, each.item, each.part, title, value, each.why))
    return {"lost": lines, "n_lost": n_without_value(seat, found), "has_lost": True}


def _changes(
    seat: Seat, found: Plan, told: Mapping[str, Any], tree: VersionTree, *, has_items: bool
) -> list[CategoryChangeLine]:
    """What stops a label first, then by question in the order of the newer version."""
    names = {(each.key, one.key): one.path for each in tree.dimensions for one in each.categories}
    place = {each.key: each.position for each in tree.dimensions}
    order = list(HAPPENS)
    listed = sorted(
        told["changes"],
        key=lambda each: (order.index(each["kind"]) if each["kind"] in order else 99, place.get(each["dimension"], 99)),
    )
    return [
        CategoryChangeLine(
            title=tree.by_key[each["dimension"]].title if each["dimension"] in place else each["dimension"],
            position=place.get(each["dimension"], 0),
            version=each["version"],
            old_name=each["old_name"],
            happens=", ".join(HAPPENS.get(kind, kind) for kind in (each["kind"], *each["also"])),
            new_names=[each["new_name"]]
            if each["new_name"]
            else [names.get((each["dimension"], key), key) for key in each["into"]],
            follows=_follows(each["kind"]),
            n_labels=each["labels"],
            n_items=each["items"],
            items_url=_items_url(
                seat, found, version=each["version"], dimension=each["dimension"], category=each["old"]
            )
            if has_items
            else "",
        )
        for each in listed
    ]


def _follows(kind: str) -> str:
    if kind in ASKED:
        return "to relabel"
    return "readable, no longer counts" if kind == "dimension" else "follows"


def _items_url(seat: Seat, found: Plan, **query: str | int) -> str:
    return f"{reverse('plan_items', args=[seat.study.slug, found.number])}?{urlencode(query)}"


def _rechecks(told: Mapping[str, Any], tree: VersionTree) -> list[Recheck]:
    return [
        Recheck(
            f"{each['dimension']} {each['category']}",
            tree.by_key[each["dimension"]].title,
            tree.by_key[each["dimension"]].by_key[each["category"]].path,
            each["items"],
            each["chosen"],
        )
        for each in told["recheck"]
    ]


def _pending(counts: Mapping[str, int]) -> list[tuple[str, int]]:
    words = {
        "accepted": "accepted: its raters choose the new category",
        "mapped": "mapped to an existing category: its raters choose it",
        "declined": "declined: its raters relabel the item",
        "open": "not answered yet: stays PENDING",
    }
    return [(words[key], counts[key]) for key in words if counts.get(key)]


def _stand_ins(raters: Mapping[str, Membership], told: Mapping[str, Any], chosen: Sequence[str]) -> list[StandIn]:
    """Who may answer in the place of absent raters; nobody where none is absent."""
    if not any(each["absent"] for each in told["worklist"]["raters"]):
        return []
    return [StandIn(code, each.signed_name, code in chosen) for code, each in raters.items() if not is_absent(each)]


@login_required
@never_cache
@require_safe
def plan_progress(request: HttpRequest, slug: str, number: int) -> HttpResponse:
    """The part that asks again by itself while the plan is at work; then the whole page is loaded."""
    seat, found = _seat_and_plan(request, slug, number)
    answer = render(request, "annotation/plans/_progress.html", {"plan": found, "study": seat.study})
    if found.state not in Plan.AT_WORK:
        answer["HX-Refresh"] = "true"
    return answer


@login_required
@require_POST
def recheck_plan(request: HttpRequest, slug: str, number: int) -> HttpResponse:
    """Counts a preview again with what is to be looked at again."""
    seat, found = _seat_and_plan(request, slug, number)
    if found.state not in Plan.OPEN:
        return redirect("plan", slug, number)
    try:
        counted = actions.preview_plan(seat=seat, to=found.to_version.number, recheck=_ticked(request), again=found)
    except Forbidden:
        raise
    except ConcordError as error:
        messages.error(request, error.message)
        return _plan_page(request, seat, found, status=error.status)
    if "HX-Request" not in request.headers or counted.state not in Plan.OPEN:
        return redirect("plan", slug, counted.number)
    counted = get_plan_at(seat, counted.number)
    context = _told(seat, counted, request.POST.getlist("stand_ins"))
    context |= {"plan": counted, "study": seat.study, "seat": seat, "is_owner": True}
    return render(request, "annotation/plans/_plan.html", context)


def _ticked(request: HttpRequest) -> list[list[str]]:
    return [each.split(" ", 1) for each in request.POST.getlist("recheck")]


@login_required
@form_page
def run_plan(request: HttpRequest, slug: str, number: int) -> HttpResponse:
    """Runs a plan with what is ticked; what is in the way comes back on its page."""
    seat, found = _seat_and_plan(request, slug, number)
    if request.method != "POST":
        return redirect("plan", slug, number)
    stand_ins = request.POST.getlist("stand_ins")
    try:
        actions.run_plan(seat=seat, plan=found, recheck=_ticked(request), stand_ins=stand_ins)
    except Forbidden:
        raise
    except ConcordError as error:
        said = [sentence for sentences in error.fields.values() for sentence in sentences]
        messages.error(request, " ".join([error.message, *said]))
        return _plan_page(request, seat, get_plan_at(seat, number), status=error.status)
    return redirect("plan", slug, number)


@login_required
@form_page
def undo_plan(request: HttpRequest, slug: str, number: int) -> HttpResponse:
    """Undoes a plan; what is in the way comes back on its page."""
    seat, found = _seat_and_plan(request, slug, number)
    if request.method != "POST":
        return redirect("plan", slug, number)
    try:
        actions.undo_plan(seat=seat, plan=found, only_stop="stop" in request.POST)
    except Forbidden:
        raise
    except ConcordError as error:
        messages.error(request, error.message)
        return _plan_page(request, seat, get_plan_at(seat, number), status=error.status)
    messages.success(request, f"Migration {number} is undone. The labels are as they were before.")
    return redirect("plan", slug, number)


@login_required
@require_safe
def plan_items(request: HttpRequest, slug: str, number: int) -> HttpResponse:
    """The items behind a count: those of the worklist, of one reason and question, or those that name a category."""
    seat, found = _seat_and_plan(request, slug, number)
    query = request.GET
    given = query.get("after", "")
    after = int(given) if given.isascii() and given.isdecimal() and len(given) < 19 else 0
    tree = published_version(found.to_version_id)
    titles = {each.key: each.title for each in tree.dimensions}
    dimension, why = (query.get(name, "") for name in ("dimension", "why"))
    heading, lines, last, stale = "Items of the relabeling queue", [], 0, ""
    shows_values = not seat.sealed_round_ids
    listing.require_items(seat, found)
    if seat.blind_round_ids and query.get("category"):
        raise Blind("You are a rater in an open round, so labels of single items are hidden until it closes.")
    if not shows_values and query.get("category"):
        raise Forbidden("Until every round is closed, only owners and adjudicators see labels of single items.")
    try:
        if found.is_over:
            rows = listing.worklist_items(found, after=after) if found.worklist_id else []
            lines = [AffectedLine(row.item, _places(row.asked, titles)) for row in rows]
            last = rows[-1].position if rows else 0
        elif category := query.get("category", ""):
            scope = scope_of(found)
            outcomes = [
                outcome
                for outcome in scope.outcomes.values()
                if (outcome.dimension, outcome.category.key, str(outcome.version))
                == (dimension, category, query.get("version"))
            ]
            items = items_with_categories(scope, [outcome.category.id for outcome in outcomes], after=after)
            lines = [AffectedLine(item) for item in items]
            heading = f"Items labeled {outcomes[0].category.path}" if outcomes else "Category not found"
            last = items[-1].pk if items else 0
        else:
            asked = affected_items(scope_of(found), found.recheck, why=why, dimension=dimension, after=after)
            lines = [AffectedLine(each.item, _reasons(each.reasons, titles, shows_values)) for each in asked]
            heading = f"Items without a label of “{titles.get(dimension, dimension)}”" if dimension else heading
            last = asked[-1].item.pk if asked else 0
    except Conflict as error:
        stale = error.message
    following = query.copy()
    following["after"] = str(last)
    return study_page(
        request,
        seat,
        "plans/items",
        "plans",
        plan=found,
        heading=heading,
        lines=lines,
        stale=stale,
        is_first=not after,
        has_reasons=any(line.reasons for line in lines),
        next_url=f"?{following.urlencode()}" if len(lines) == PAGE else "",
    )


def _places(asked: Sequence[Sequence[Any]] | None, titles: Mapping[str, str]) -> list[tuple[str, Sequence[str]]]:
    if not asked:
        return [("raters check their own labels again", ())]
    return [(titles.get(key, key) + (f" (part {part})" if part > 1 else ""), ()) for part, key in asked]


def _reasons(
    reasons: Sequence[tuple[str, str, str, tuple[str, ...]]], titles: Mapping[str, str], shows_values: bool
) -> list[tuple[str, Sequence[str]]]:
    """In words; who rates in an open round reads no values and no codes."""
    found: dict[str, Sequence[str]] = {}
    for why, dimension, path, codes in reasons:
        title = titles.get(dimension, dimension)
        said = f"{path} {WHY.get(why, why)}" if path and shows_values else WHY.get(why, why)
        found[f"{title}: {said}"] = codes if shows_values else ()
    return list(found.items())


@login_required
@require_safe
def plans_for_version(request: HttpRequest, slug: str, number: int) -> HttpResponse:
    """The studies that a version of a taxonomy concerns, each with the way to its plan."""
    user = me(request)
    version = get_version(user, slug, number)
    studies = list(owned_studies(user, version.taxonomy))
    at = stands_at(studies)
    lines = [(each, at.get(each.pk)) for each in studies]
    return render(request, "annotation/plans/of_version.html", {"version": version, "lines": lines})
