"""Audit log page, with filters and as a file."""

from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse, StreamingHttpResponse
from django.views.decorators.http import require_safe

from accounts.audit import lines_of, verbs
from accounts.forms import AuditForm
from annotation.core.access import OWNER, Seat, get_seat
from annotation.core.download_log import record_download
from annotation.core.errors import Blind
from annotation.core.pages import me, study_page
from annotation.core.paging import page_of
from annotation.models import AuditEvent
from annotation.studies.queries.audit import audit_of, people_of_audit
from shared.forms import status_of
from shared.watched_streams import watched

CONTENT_TYPES = {"csv": "text/csv; charset=utf-8", "jsonl": "application/jsonl"}


@login_required
@require_safe
def audit(request: HttpRequest, slug: str) -> HttpResponse:
    """Who did what, newest first, for owner and staff."""
    seat = _seat(request, slug)
    form = AuditForm(request.GET)
    asked = form.asked()
    page = page_of(request, asked.narrowed(audit_of(seat)), key="-pk")
    query = request.GET.copy()
    for name in ("after", "before"):
        query.pop(name, None)
    return study_page(
        request,
        seat,
        "studies/audit",
        "audit",
        status=status_of(form),
        page=page,
        form=form,
        is_filtered=any(form.data.get(name) for name in form.fields),
        people=people_of_audit(seat.study),
        verbs=_verbs(seat),
        query=query.urlencode(),
    )


@login_required
@require_safe
def audit_file(request: HttpRequest, slug: str, format: str) -> StreamingHttpResponse:
    """The lines that the page shows, all of them, as CSV or JSON Lines."""
    seat = _seat(request, slug)
    if format not in CONTENT_TYPES:
        raise Http404
    form = AuditForm(request.GET)
    newest = audit_of(seat).values_list("pk", flat=True).first() or 0
    rows = form.asked().narrowed(audit_of(seat)).filter(pk__lte=newest)  # without the line about this file
    filters = {name: form.data[name] for name in form.fields if form.data.get(name)}
    said = ", ".join(f"{name} {value}" for name, value in filters.items())
    record_download(seat=seat, what="audit log", format=format, method=request.method, filter=said)
    hidden = seat.hidden_answers

    def look() -> None:
        if _seat(request, slug).reads_less_than(*hidden):
            raise Blind("Your role in this study changed while this file was sent. Download it again.")

    answer = StreamingHttpResponse(watched(lines_of(rows, format), look), content_type=CONTENT_TYPES[format])
    answer["Content-Disposition"] = f'attachment; filename="{seat.study.slug}-audit.{format}"'
    return answer


def _verbs(seat: Seat) -> list[str]:
    """What was ever done, as far as this person may know it; one query."""
    if not seat.sealed_round_ids and not seat.withheld:
        return verbs(AuditEvent, study_id=seat.study.pk)
    return sorted(audit_of(seat).order_by().values_list("verb", flat=True).distinct())


def _seat(request: HttpRequest, slug: str) -> Seat:
    seat = get_seat(me(request), slug)
    if not seat.user.is_staff:
        seat.require(OWNER)
    return seat
