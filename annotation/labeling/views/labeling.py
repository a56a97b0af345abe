"""Labeling page: one issue after another, with drafts and submits."""

from collections.abc import Mapping
from typing import cast
from uuid import UUID

from django.conf import settings
from django.contrib.auth.decorators import login_required
from django.core.cache import cache
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils.safestring import SafeString, mark_safe
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_POST

from accounts.models import User
from annotation.calibration.actions.training import require_admission
from annotation.calibration.queries.training import feedback_of
from annotation.core.access import Seat, get_own_assignment, get_round, get_seat
from annotation.core.errors import Invalid, MinimumNotReached, NotFound, Stale, Unreadable
from annotation.invitations.views import invitation_instead
from annotation.labeling.actions import answers as actions
from annotation.labeling.actions.next_item import take_following, take_next
from annotation.labeling.prompts import description, prompts
from annotation.labeling.queries import desk as queries
from annotation.labeling.queries.desk import lines_of
from annotation.labeling.views.own_items import list_context, list_filter
from annotation.labels.queries.label_version import plan_of
from annotation.models import Assignment, Round
from ingest.models import Snapshot
from ingest.queries import closing_changes
from ingest.rendering.markdown import CACHED_MOST, VERSION
from ingest.threads import first_part
from shared.forms import form_page
from shared.storable_json import read_json
from taxonomy.queries import published_version

RENDERED_SECONDS = 3600  # The ages beside the dates are no older than this.
SKIP_REASONS = (
    "Not a topic of this study",
    "Too little information to label it",
    "Not in a language I read",
    "Duplicate of another issue",
    "Spam or a test",
)


@login_required
@never_cache
@require_GET
def label(request: HttpRequest, slug: str, number: int) -> HttpResponse:
    """The next assignment, ready to be answered; or what happens next when there is none.

    In a pool this takes a lease, so a browser that only fetches the page in advance is turned away.
    """
    if _is_fetched_in_advance(request):
        return HttpResponse(status=503)
    try:
        seat = get_seat(cast(User, request.user), slug)
    except NotFound:
        if invitation := invitation_instead(request, slug):
            return invitation
        raise
    round_ = get_round(seat, number)
    assignment, held = take_following(seat=seat, round_=round_)
    if assignment is None:
        round_ = get_round(seat, number)
    return _page(request, seat, round_, assignment, held)


def _is_fetched_in_advance(request: HttpRequest) -> bool:
    """Whether a browser says that nobody asked for the page yet (Fetch standard, `Sec-Purpose`; earlier names)."""
    return any("prefetch" in request.headers.get(name, "") for name in ("Sec-Purpose", "Purpose", "X-Moz"))


@login_required
@never_cache
@form_page
def label_one(request: HttpRequest, slug: str, number: int, pk: UUID) -> HttpResponse:
    """One of one's own assignments, to look at and to change; a POST submits it and answers with the next one."""
    if request.method == "POST" and (another := _of_another_person(request)):
        return another
    seat = get_seat(cast(User, request.user), slug)
    if request.method == "POST":
        return _submit(request, seat, number, pk)
    assignment = get_own_assignment(seat, pk, round_number=number)
    if assignment.state in Assignment.UNFINISHED:
        try:
            require_admission(assignment.round, assignment.rater, assignment)
        except MinimumNotReached as error:
            return _page(request, seat, assignment.round, None, error)
    return _page(request, seat, assignment.round, assignment)


@login_required
@never_cache
@require_GET
def label_after(request: HttpRequest, slug: str, number: int, pk: UUID) -> HttpResponse:
    """What comes after an assignment, for the page to have at hand; nothing is taken, and 204 where nothing comes."""
    seat = get_seat(cast(User, request.user), slug)
    round_ = get_own_assignment(seat, pk, round_number=number).round
    try:
        following = take_next(seat=seat, round_=round_, after=str(pk))
    except MinimumNotReached:
        following = None
    if following is None:
        return HttpResponse(status=204)
    following.round = round_
    lines = lines_of([following], seat.study.slug, round_, following.pk) if following.pk else []
    context = _context(queries.reading(seat.study, round_, following, lines))
    return render(request, "annotation/labeling/_ahead.html", context)


@login_required
@require_POST
def keep_draft(request: HttpRequest, slug: str, number: int, pk: UUID) -> HttpResponse:
    """Keeps what was typed so far; 409 with the draft that stands where another tab or device typed meanwhile."""
    if another := _of_another_person(request):
        return another
    seat = get_seat(cast(User, request.user), slug)
    try:
        actions.keep_draft(seat=seat, assignment=pk, round_number=number, body=_body(request))
    except Stale as error:
        return JsonResponse({"message": error.message, "draft": error.newer}, status=409)
    return HttpResponse(status=204)


def _of_another_person(request: HttpRequest) -> HttpResponse | None:
    """The answer to a page of someone who is not the one signed in any more; a page says in a header whose it is."""
    named = request.headers.get("Concord-Person", "")
    if named in ("", str(request.user.pk)):
        return None
    words = f"{request.user.get_username()} is now signed in in this browser, and this page belongs to another user."
    return HttpResponse(words, status=409, headers={"Concord-Person": str(request.user.pk)})


def _body(request: HttpRequest) -> dict[str, object]:
    try:
        body = read_json(request.body)
    except (ValueError, RecursionError) as error:
        raise Unreadable("The request's body is not JSON.") from error
    if not isinstance(body, dict):
        raise Unreadable("The request's body is not a JSON object.")
    return body


def _submit(request: HttpRequest, seat: Seat, number: int, pk: UUID) -> HttpResponse:
    body = _body(request)
    expected = body.pop("expected", None)
    try:
        submitted = actions.submit_annotation(
            seat=seat,
            assignment=pk,
            round_number=number,
            body=body,
            idempotency_key=request.headers.get("Idempotency-Key", ""),
            expected=expected if isinstance(expected, int) else None,
        )
    except Invalid as error:
        wrong = {"problems": _problems(error.fields), "message": error.message}
        return render(request, "annotation/labeling/_problems.html", wrong, status=422)
    except Stale as error:
        stale = {"message": error.message, "newer": error.newer}
        return render(request, "annotation/labeling/_stale.html", stale, status=409)
    following, held = take_following(seat=seat, round_=submitted.assignment.round)
    round_ = submitted.assignment.round if following else get_round(seat, number)
    at_hand = request.headers.get("Has-Reading", "").split()
    feedback = feedback_of(submitted.assignment, submitted.annotation)
    context = _context(queries.desk(seat, round_, following, at_hand)) | {"feedback": feedback, "held": held}
    answer = render(request, "annotation/labeling/_turn.html", context)
    answer["HX-Replace-Url"] = reverse("label", args=[seat.study.slug, round_.number])
    return answer


def _problems(fields: Mapping[str, list[str]]) -> list[dict[str, object]]:
    """Where each sentence belongs: part (0 where the answer has no parts) and dimension, memo or skip."""
    found: list[dict[str, object]] = []
    for path, sentences in fields.items():
        part, _, name = path.rpartition(".")
        number = part.removeprefix("parts[").removesuffix("]")
        found.append({"part": number if number.isdecimal() else "1", "name": name, "sentence": " ".join(sentences)})
    return found


def _page(
    request: HttpRequest,
    seat: Seat,
    round_: Round,
    assignment: Assignment | None,
    held: MinimumNotReached | None = None,
) -> HttpResponse:
    asked = prompts(published_version(round_.taxonomy_version_id))
    context = _context(queries.desk(seat, round_, assignment)) | {"held": held}
    if (show := list_filter(request)) != "all":
        context |= list_context(seat, round_, show, assignment.pk if assignment else None)
    context |= {
        "prompts": asked,
        "plan": plan_of(round_),
        "version": {
            "dimensions": description(asked),
            "number": round_.taxonomy_version_id,
            "user": seat.user.pk,
            "has_password": seat.user.has_usable_password(),
            "sign_in_url": reverse("sign_in_again"),
            "csrf_cookie": settings.CSRF_COOKIE_NAME,
        },
        "skip_reasons": SKIP_REASONS,
    }
    return render(request, "annotation/labeling/label.html", context)


def _context(found: queries.DeskIssue) -> dict[str, object]:
    """The context of the templates, with the issue as HTML unless the page has it at hand."""
    snapshot = found.turn.snapshot if found.turn and not found.is_at_hand else None
    return found.context | {"issue_html": issue_html(snapshot) if snapshot else ""}


def issue_html(snapshot: Snapshot) -> SafeString:
    """The issue as its pages show it, a long thread up to its first part: the page fetches the others by itself.

    The other raters of an item find it rendered (a snapshot does not change), but not what was rendered before its
    repository became public: what closed it is forgotten then.
    """
    issue = snapshot.issue
    key = f"labelling:reading:{VERSION}:{snapshot.pk}:{issue.changes_known:d}:{issue.repository.private:d}"
    if found := cache.get(key):
        html: SafeString = mark_safe(found)
        return html
    context: dict[str, object] = {"issue": issue, "snapshot": snapshot, "closing_changes": closing_changes(issue)}
    comments, part = first_part(snapshot)
    context["comments"] = comments
    if part:
        place = f"{issue.get_absolute_url()}{{}}?snapshot={snapshot.key}&"
        context |= {"part": part, "part_url": place.format(""), "comments_url": place.format("comments/")}
    html = render_to_string("ingest/_issue.html", context)
    if len(html) <= CACHED_MOST:
        cache.set(key, str(html), RENDERED_SECONDS)
    return html
