"""Proposal pages: the owner answers in groups, raters see the outcomes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from annotation.assignments.actions.reading_log import PAGE, note_reading
from annotation.core.access import OWNER, Seat, get_seat
from annotation.core.errors import Invalid
from annotation.core.pages import me
from annotation.core.paging import page_of
from annotation.labels.queries.proposal_states import OPEN
from annotation.models import Proposal, Round
from annotation.proposals import queries
from annotation.proposals.actions import settle_proposals
from annotation.proposals.queries import ProposalGroup, ProposalLine, get_proposal
from shared.forms import form_page
from taxonomy.access import may_maintain
from taxonomy.queries import published_version
from taxonomy.tree import VersionTree

GROUPS_PER_PAGE = 40
ANSWERS = ("accept", "map_to", "decline")


@dataclass(frozen=True)
class GroupInput:
    """What stands in the form of a group, and what is wrong with it."""

    answer: str
    name: str = ""
    parent: str = ""
    definition: str = ""
    map_to: str = ""
    decline: str = ""
    left_out: frozenset[str] = frozenset()
    wrong: Mapping[str, str] = field(default_factory=dict)
    message: str = ""


@login_required
@never_cache
@require_safe
def proposals(request: HttpRequest, slug: str) -> HttpResponse:
    """For owner and adjudicators the open ones in groups and below them the settled ones; for a rater their own."""
    seat = get_seat(me(request), slug)
    visible = queries.visible_proposals(seat)
    number, dimension = request.GET.get("round", ""), request.GET.get("dimension", "")
    round_number = int(number) if number.isascii() and number.isdecimal() and len(number) < 9 else None
    rows = queries.filter_proposals(visible, round_number=round_number, dimension=dimension)
    note_reading(seat, seat.study.rounds.filter(state=Round.State.OPEN), "proposals", PAGE)
    context: dict[str, Any] = {
        "rounds": list(seat.study.rounds.exclude(state__in=[Round.State.DRAFT, Round.State.UNDONE]).order_by("number")),
        "is_filtered": bool(round_number is not None or dimension),
        "chosen_round": round_number,
        "chosen_dimension": dimension,
    }
    newest = queries.newest_tree(seat)
    context["dimensions"] = [each for each in newest.dimensions if each.has_categories] if newest else []
    if not queries.reads_all(seat):
        page = page_of(request, rows, key="-pk")
        return _page(
            request,
            seat,
            "own",
            page=page,
            proposals=[(each, _label_url(seat, each)) for each in queries.with_outcomes(page.rows, seat)],
            **context,
        )
    waiting = queries.with_outcomes(queries.filter_proposals(rows, state="open"))
    groups = queries.group_proposals(waiting, newest)
    start = _start(request, len(groups))
    shown = groups[start : start + GROUPS_PER_PAGE]
    page = page_of(request, rows.exclude(state=OPEN), key="-pk")
    return _page(
        request,
        seat,
        "proposals",
        page=page,
        settled=queries.with_outcomes(page.rows, seat),
        sections=_sections(shown),
        n_open=len(waiting),
        n_groups=len(groups),
        first_group=start + 1,
        last_group=start + len(shown),
        earlier_url=_from(request, start - GROUPS_PER_PAGE) if start else "",
        later_url=_from(request, start + GROUPS_PER_PAGE) if start + GROUPS_PER_PAGE < len(groups) else "",
        **context,
        **_room(seat, newest),
    )


@login_required
@never_cache
@form_page
def proposal(request: HttpRequest, slug: str, pk: UUID) -> HttpResponse:
    """One proposal with all answers to it; a POST answers it and those that were chosen with it."""
    seat = get_seat(me(request), slug)
    if request.method == "POST":
        return _settle(request, seat, pk)
    found = get_proposal(seat, pk)
    if found.rater != (seat.membership and seat.membership.code):
        note_reading(seat, [found.round], "proposals", PAGE)
    newest = queries.newest_tree(seat)
    group = ProposalGroup(found.dimension, found.dimension_title, [found], [])
    return _page(
        request,
        seat,
        "proposal",
        proposal=found,
        history=queries.history_of(seat, found.outcome.proposal_id if found.outcome else found.id),
        group=group,
        typed=typed_before(group),
        is_own=seat.membership is not None and found.rater == seat.membership.code,
        label_url=_label_url(seat, found),
        **_room(seat, newest),
    )


def _page(request: HttpRequest, seat: Seat, template: str, *, status: int = 200, **context: Any) -> HttpResponse:
    context |= {"seat": seat, "study": seat.study, "tab": "proposals", "is_owner": seat.has_role(OWNER)}
    return render(request, f"annotation/proposals/{template}.html", context, status=status)


def _room(seat: Seat, newest: VersionTree | None) -> dict[str, Any]:
    """What the forms offer: categories to map to and parents, by dimension, and whether one may accept; 5 queries."""
    is_maintainer = may_maintain(seat.user, seat.study.taxonomy)
    draft = queries.newest_draft(seat) if is_maintainer else None
    tree = published_version(draft.pk) if draft else newest
    offered: dict[str, list[str]] = {}
    parents: dict[str, list[str]] = {}
    for each in (newest, tree):
        for dimension in each.dimensions if each else ():
            if dimension.has_categories:
                paths = [category.path for category in queries.selectable(dimension)]
                offered[dimension.key] = list(dict.fromkeys([*offered.get(dimension.key, []), *paths]))
                parents[dimension.key] = [category.path for category in dimension.categories]
    return {
        "may_answer": seat.has_role(OWNER),
        "may_accept": is_maintainer,
        "offered": [(key, offered[key], parents[key]) for key in offered],
        "draft": draft,
        "newest": newest,
    }


def typed_before(group: ProposalGroup) -> GroupInput:
    """The form before anybody wrote into it: the most frequent name, the first reason, what it is near to.

    What has no name is not taken together unasked: nothing is ticked, and the name is to be found.
    """
    near = group.near[0].path if group.near else ""
    outcome = group.proposals[0].outcome
    if outcome is not None and outcome.category_name:
        near = near or outcome.category_key
    if group.is_nameless:
        left_out = frozenset(each.public_id for each in group.proposals if len(group.proposals) > 1)
        return GroupInput("map_to" if near else "accept", map_to=near, left_out=left_out)
    reason = next((each.memo for each in group.proposals if each.memo and each.called == each.name), "")
    return GroupInput("map_to" if near else "accept", name=group.names[0], definition=reason, map_to=near)


def _sections(groups: Sequence[ProposalGroup]) -> list[tuple[str, list[tuple[ProposalGroup, GroupInput]]]]:
    """Groups by dimension, in their order."""
    found: dict[str, list[tuple[ProposalGroup, GroupInput]]] = {}
    for group in groups:
        found.setdefault(group.dimension_title, []).append((group, typed_before(group)))
    return list(found.items())


def _label_url(seat: Seat, each: ProposalLine) -> str:
    """Where its rater can answer the item anew; empty where they can't any more."""
    is_answer = each.is_current and each.assignment is not None
    may_change = is_answer and each.round.state in (Round.State.OPEN, Round.State.RESOLVING)
    return reverse("label_one", args=[seat.study.slug, each.round.number, each.assignment]) if may_change else ""


def _start(request: HttpRequest, n: int) -> int:
    given = request.GET.get("from", "")
    start = int(given) if given.isascii() and given.isdecimal() and len(given) < 9 else 0
    return start // GROUPS_PER_PAGE * GROUPS_PER_PAGE if start < n else 0


def _from(request: HttpRequest, start: int) -> str:
    query = request.GET.copy()
    query["from"] = str(max(start, 0))
    return f"{request.path}?{query.urlencode()}"


def _settle(request: HttpRequest, seat: Seat, pk: UUID) -> HttpResponse:
    seat.require(OWNER)
    found = get_proposal(seat, pk)
    members = list(dict.fromkeys([found.public_id, *request.POST.getlist("member")]))
    chosen = [each for each in request.POST.getlist("chosen") if each in members]
    typed = _typed(request, frozenset(set(members) - set(chosen)))
    settled: list[Any] = []
    try:
        if not chosen:
            raise Invalid("Proposal not answered.", fields={"also": ["Choose at least one of them."]})
        settled = settle_proposals(
            seat=seat, proposals=chosen, expected=request.POST.getlist("expected"), **_answer(typed)
        )
    except Invalid as error:
        wrong = {name.removeprefix("accept."): " ".join(sentences) for name, sentences in error.fields.items()}
        typed = _typed(request, typed.left_out, wrong, " ".join([error.message] if not wrong else []))
    if "HX-Request" in request.headers:
        return _group_parts(request, seat, members, chosen, typed, bool(settled))
    if not settled:
        found = get_proposal(seat, pk)
        group = ProposalGroup(found.dimension, found.dimension_title, _told(seat, members), [])
        return _page(
            request,
            seat,
            "proposal",
            status=422,
            proposal=found,
            history=queries.history_of(seat, found.id),
            group=group,
            typed=typed,
            **_room(seat, queries.newest_tree(seat)),
        )
    messages.success(request, f"“{_told(seat, chosen)[0].name}”: {_told(seat, chosen)[0].sentence}.")
    return redirect("proposals", seat.study.slug)


def _group_parts(
    request: HttpRequest, seat: Seat, members: list[str], chosen: list[str], typed: GroupInput, is_settled: bool
) -> HttpResponse:
    """The group as it stands now: what was settled in one line, and what is left of it with its form."""
    newest = queries.newest_tree(seat)
    told = _told(seat, members)
    if is_settled:
        left = [each for each in told if each.is_open and each.public_id not in chosen]
        done = [each for each in told if each.public_id in chosen]
        groups = [(group, typed_before(group)) for group in queries.group_proposals(left, newest)]
    else:
        done = []
        groups = [(ProposalGroup(told[0].dimension, told[0].dimension_title, told, []), typed)]
    context = {"study": seat.study, "done": done, "groups": groups, "is_apart": True, **_room(seat, newest)}
    return render(request, "annotation/proposals/_after.html", context, status=200 if is_settled else 422)


def _told(seat: Seat, ids: Sequence[str]) -> list[ProposalLine]:
    numbers = [number for each in ids if (number := Proposal.number_of(each)) is not None]
    return queries.with_outcomes(queries.visible_proposals(seat).filter(pk__in=numbers), seat)


def _typed(
    request: HttpRequest, left_out: frozenset[str], wrong: Mapping[str, str] | None = None, message: str = ""
) -> GroupInput:
    sent = request.POST
    answer = sent.get("answer", "")
    return GroupInput(
        answer=answer if answer in ANSWERS else "",
        name=sent.get("name", ""),
        parent=sent.get("parent", ""),
        definition=sent.get("definition", ""),
        map_to=sent.get("map_to", ""),
        decline=sent.get("decline", ""),
        left_out=left_out,
        wrong=wrong or {},
        message=message,
    )


def _answer(typed: GroupInput) -> dict[str, Any]:
    """What the form says, as the action takes it: just the chosen one of the three."""
    match typed.answer:
        case "accept":
            return {"accept": {"name": typed.name, "parent": typed.parent, "definition": typed.definition}}
        case "map_to":
            return {"map_to": typed.map_to}
        case "decline":
            return {"decline": typed.decline}
    return {}
