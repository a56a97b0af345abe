"""The room where raters live: one issue after another."""

import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from typing import cast

from django.conf import settings
from django.contrib.auth.decorators import login_required
from django.core.cache import cache
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils.safestring import SafeString, mark_safe
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_http_methods, require_POST
from redis.exceptions import RedisError

from accounts.models import User
from annotation.access import RATER, Seat, get_own_assignment, get_round, get_seat
from annotation.actions import labelling as actions
from annotation.asking import description, prompts
from annotation.errors import Invalid, NotFound, Stale, Unreadable
from annotation.models import Assignment, Membership, Round
from annotation.queries import labelling as queries
from annotation.queries import proposals
from annotation.queries.plans.earlier_answers import carried_answer
from annotation.queries.plans.listing import plan_of
from ingest.models import Snapshot
from ingest.queries import closing_changes
from ingest.rendering import VERSION
from taxonomy.queries import published_version

RENDERED_SECONDS = 3600  # The ages beside the dates are no older than this.
SKIP_REASONS = (
    "Not about what this study asks",
    "Too little information to decide",
    "Not in a language I read",
    "Duplicate of another issue",
    "Spam or a test",
)


@dataclass(frozen=True)
class Line:
    """One of the rater's own items in the list at the left."""

    position: int
    identifier: str
    state: str
    flag: str
    url: str
    is_here: bool

    @property
    def name(self) -> str:
        """The identifier without the owner: the list is narrow."""
        return self.identifier.rpartition("/")[2] or self.identifier


@login_required
@never_cache
@require_GET
def label(request: HttpRequest, slug: str, number: int) -> HttpResponse:
    """The next assignment, ready to be answered; or what happens next when there is none."""
    seat = get_seat(cast(User, request.user), slug)
    round_ = get_round(seat, number)
    assignment = actions.take_next(seat=seat, round_=round_)
    if assignment is None:
        round_ = get_round(seat, number)
    return _page(request, seat, round_, assignment)


@login_required
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def label_one(request: HttpRequest, slug: str, number: int, pk: int) -> HttpResponse:
    """One of one's own assignments, to look at and to change; a POST submits it and answers with the next one."""
    seat = get_seat(cast(User, request.user), slug)
    assignment = _own(seat, number, pk)
    if request.method == "POST":
        return _submit(request, seat, assignment)
    return _page(request, seat, assignment.round, assignment)


@login_required
@require_POST
def keep_draft(request: HttpRequest, slug: str, number: int, pk: int) -> HttpResponse:
    """Keeps what was typed so far."""
    seat = get_seat(cast(User, request.user), slug)
    assignment = _own(seat, number, pk)
    actions.keep_draft(seat=seat, assignment=assignment.pk, body=_body(request))
    return HttpResponse(status=204)


@login_required
@never_cache
@require_GET
def earlier(request: HttpRequest, slug: str, number: int, place: int) -> HttpResponse:
    """More of the list at the left: the finished items before a place."""
    seat = get_seat(cast(User, request.user), slug)
    seat.require(RATER)
    round_ = get_round(seat, number)
    found = queries.before(round_, _rater(seat), place)
    context = {
        "lines": _lines(found, seat, round_, None),
        "before": _place_before(found),
        "study": seat.study,
        "round": round_,
    }
    return render(request, "annotation/labelling/_lines.html", context)


def _own(seat: Seat, number: int, pk: int) -> Assignment:
    assignment = get_own_assignment(seat, pk)
    if assignment.round.number != number:
        raise NotFound(f"You have no assignment {pk} in round {number} of the study “{seat.study.slug}”.")
    assignment.round.study = seat.study
    return assignment


def _rater(seat: Seat) -> Membership:
    assert seat.membership is not None
    return seat.membership


def _body(request: HttpRequest) -> dict[str, object]:
    try:
        body = json.loads(request.body)
    except (ValueError, RecursionError) as error:
        raise Unreadable("The request's body is not JSON.") from error
    if not isinstance(body, dict):
        raise Unreadable("The request's body is not a JSON object.")
    return body


def _submit(request: HttpRequest, seat: Seat, assignment: Assignment) -> HttpResponse:
    body = _body(request)
    expected = body.pop("expected", None)
    try:
        actions.submit_annotation(
            seat=seat,
            assignment=assignment.pk,
            body=body,
            idempotency_key=request.headers.get("Idempotency-Key", ""),
            expected=expected if isinstance(expected, int) else None,
        )
    except Invalid as error:
        wrong = {"problems": _problems(error.fields), "message": error.message}
        return render(request, "annotation/labelling/_problems.html", wrong, status=422)
    except Stale as error:
        stale = {"message": error.message, "newer": error.newer}
        return render(request, "annotation/labelling/_stale.html", stale, status=409)
    round_ = assignment.round
    following = actions.take_next(seat=seat, round_=round_)
    if following is None:
        round_ = get_round(seat, round_.number)
    answer = render(request, "annotation/labelling/_turn.html", _desk(seat, round_, following))
    answer["HX-Replace-Url"] = reverse("label", args=[seat.study.slug, round_.number])
    return answer


def _problems(fields: Mapping[str, list[str]]) -> list[dict[str, object]]:
    """Where each sentence belongs: part (0 where the answer has no parts) and dimension, memo or skip."""
    found: list[dict[str, object]] = []
    for path, sentences in fields.items():
        part, _, name = path.rpartition(".")
        number = part.removeprefix("parts[").removesuffix("]")
        found.append({"part": number if number.isdigit() else "1", "name": name, "sentence": " ".join(sentences)})
    return found


def _page(request: HttpRequest, seat: Seat, round_: Round, assignment: Assignment | None) -> HttpResponse:
    asked = prompts(published_version(round_.taxonomy_version_id))
    context = _desk(seat, round_, assignment) | {
        "prompts": asked,
        "plan": plan_of(round_),
        "version": {
            "dimensions": description(asked),
            "user": seat.user.pk,
            "csrf_cookie": settings.CSRF_COOKIE_NAME,
        },
        "skip_reasons": SKIP_REASONS,
    }
    return render(request, "annotation/labelling/label.html", context)


def _desk(seat: Seat, round_: Round, assignment: Assignment | None) -> dict[str, object]:
    """What changes from one issue to the next: progress, the list at the left, the issue, and what was typed before."""
    rater = _rater(seat)
    near = queries.around(round_, rater, assignment.position if assignment else None)
    progress = queries.progress(round_, rater)
    lines = _lines(near, seat, round_, assignment)
    here = next((number for number, line in enumerate(lines) if line.is_here), len(lines))
    context: dict[str, object] = {
        "study": seat.study,
        "round": round_,
        "rater": rater,
        "progress": progress,
        "time_left": _time_left(queries.usual_seconds(near), progress.n_left) if assignment else "",
        "lines": lines,
        "before": _place_before(near),
        "came_back": _came_back(seat, round_) if assignment is None or _any_proposed(near) else None,
        "previous_url": lines[here - 1].url if here and lines else None,
        "assignment": assignment,
        "is_first_answer": assignment is not None and assignment.state in Assignment.UNFINISHED,
    }
    if assignment is None:
        return context | {"turn": None}
    snapshot = queries.snapshot_to_read(assignment.item)
    answer = assignment.current
    return context | {
        "item": assignment.item,
        "issue_html": _issue_html(snapshot) if snapshot else "",
        "answered_on": answer.snapshot_id if answer and answer.snapshot_id != assignment.item.snapshot_id else None,
        "turn": _turn(round_, assignment, snapshot),
        "may_change": _may_change(round_, assignment),
    }


def _issue_html(snapshot: Snapshot) -> SafeString:
    """The issue as its pages show it; the other raters of an item find it rendered (a snapshot does not change)."""
    issue = snapshot.issue
    key = f"labelling:issue:{VERSION}:{snapshot.pk}:{issue.changes_known:d}"
    with suppress(RedisError):
        if found := cache.get(key):
            return mark_safe(found)
    context = {
        "issue": issue,
        "snapshot": snapshot,
        "comments": queries.comments_of(snapshot),
        "closing_changes": closing_changes(issue),
    }
    html = render_to_string("ingest/_issue.html", context)
    with suppress(RedisError):
        cache.set(key, str(html), RENDERED_SECONDS)
    return html


def _turn(round_: Round, assignment: Assignment, snapshot: Snapshot | None) -> dict[str, object]:
    """The assignment for the script of the page."""
    tree = published_version(round_.taxonomy_version_id)
    answer = queries.answer_of(assignment, tree)
    assignment.round = round_
    carried = carried_answer(assignment, tree)
    place = [round_.study.slug, round_.number, assignment.pk]
    return {
        "assignment": assignment.pk,
        "name": assignment.item.identifier,
        "position": assignment.position,
        "snapshot": snapshot.sha256 if snapshot else None,
        "submit_url": reverse("label_one", args=place),
        "draft_url": reverse("keep_draft", args=place),
        "revision": answer["revision"] if answer else 0,
        "answer": answer,
        "draft": queries.draft_of(assignment),
        "carried": carried.draft if carried else None,
        "before": carried.before_as_documents if carried else [],
        "may_change": _may_change(round_, assignment),
        "outcomes": _outcomes(round_, assignment),
    }


def _outcomes(round_: Round, assignment: Assignment) -> list[dict[str, object]]:
    """What was answered to the proposals in the rater's own answer, for the questions of the page."""
    answer = assignment.current
    if answer is None or not answer.n_proposals:
        return []
    found = proposals.answered_in(answer.pk, published_version(round_.taxonomy_version_id))
    return [asdict(each) for each in found]


def _any_proposed(near: list[Assignment]) -> bool:
    return any(each.current is not None and each.current.n_proposals for each in near)


def _came_back(seat: Seat, round_: Round) -> proposals.CameBack | None:
    """The rater's items of this round whose proposals were answered."""
    return next(iter(proposals.came_back(seat.user, round_)), None)


def _may_change(round_: Round, assignment: Assignment) -> bool:
    if assignment.state == Assignment.State.WITHDRAWN:
        return False
    if assignment.state in Assignment.UNFINISHED:
        return round_.state == Round.State.OPEN
    return round_.state in (Round.State.OPEN, Round.State.RESOLVING)


def _lines(near: list[Assignment], seat: Seat, round_: Round, assignment: Assignment | None) -> list[Line]:
    """Finished items and the one at hand; what lies ahead is not shown."""
    here = assignment.pk if assignment else None
    return [
        Line(
            position=each.position,
            identifier=each.item.identifier,
            state=each.state if each.state in Assignment.FINISHED else "now",
            flag=_flag(each),
            url=reverse("label_one", args=[seat.study.slug, round_.number, each.pk]),
            is_here=each.pk == here,
        )
        for each in near
        if each.pk == here or each.state in Assignment.FINISHED
    ]


def _place_before(listed: list[Assignment]) -> int | None:
    """The place before which there may be more."""
    return listed[0].position if listed and listed[0].position > 1 else None


def _flag(assignment: Assignment) -> str:
    answer = assignment.current
    if answer is None:
        return ""
    if answer.n_proposals:
        return "a category is proposed"
    return "unsure" if answer.confidence == 1 else ""


def _time_left(usual_seconds: float | None, n_left: int) -> str:
    if usual_seconds is None or n_left == 0:
        return ""
    minutes = usual_seconds * n_left / 60
    if minutes < 55:
        return f"about {max(5, round(minutes / 5) * 5)} min left" if minutes >= 3 else "a few minutes left"
    return f"about {round(minutes / 60)} h left"
