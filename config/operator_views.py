"""Operations pages for staff: the health of the installation, and the audit log of the server."""

from functools import wraps
from typing import Any

from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse, StreamingHttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from accounts.audit import lines_of, record, verbs
from accounts.forms import AuditForm
from accounts.models import ServerEvent, User
from annotation.core.pages import me
from annotation.core.paging import page_of
from annotation.studies.views.audit import CONTENT_TYPES
from config.operator_queries import overview
from shared.foreign_requests import require_opened_here
from shared.forms import status_of


def for_staff(view: Any) -> Any:
    """404 for everybody else who is signed in."""

    @login_required
    @require_safe
    @wraps(view)
    def checked(request: HttpRequest, *args: Any, **given: Any) -> HttpResponse:
        if not me(request).is_staff:
            raise Http404
        answer: HttpResponse = view(request, *args, **given)
        return answer

    return checked


@for_staff
def operations(request: HttpRequest) -> HttpResponse:
    """Who is alive, what is at work or failed, how full everything is."""
    return render(request, "operations/operations.html", overview(me(request)))


@for_staff
def server_audit(request: HttpRequest) -> HttpResponse:
    """What was done outside of studies, newest first."""
    form = AuditForm(request.GET)
    rows = form.asked().narrowed(_lines())
    query = request.GET.copy()
    for name in ("after", "before"):
        query.pop(name, None)
    context = {
        "page": page_of(request, rows, key="-pk"),
        "form": form,
        "is_filtered": any(form.data.get(name) for name in form.fields),
        "people": [str(name) for name in User.objects.order_by("username").values_list("username", flat=True)[:200]],
        "verbs": verbs(ServerEvent),
        "query": query.urlencode(),
    }
    return render(request, "operations/audit.html", context, status=status_of(form))


@for_staff
def server_audit_file(request: HttpRequest, format: str) -> StreamingHttpResponse:
    """The lines that the page shows, all of them, as CSV or JSON Lines."""
    if format not in CONTENT_TYPES:
        raise Http404
    require_opened_here()
    newest = _lines().values_list("pk", flat=True).first() or 0
    rows = AuditForm(request.GET).asked().narrowed(_lines()).filter(pk__lte=newest)  # without the line about this file
    if request.method != "HEAD":
        record(verb="audit log downloaded", user=me(request), format=format)
    answer = StreamingHttpResponse(lines_of(rows, format), content_type=CONTENT_TYPES[format])
    answer["Content-Disposition"] = f'attachment; filename="server-audit.{format}"'
    return answer


def _lines() -> Any:
    return ServerEvent.objects.select_related("user", "about").order_by("-pk")
