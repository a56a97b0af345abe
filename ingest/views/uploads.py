"""Upload page: the columns of a table, its preview as issues, and rejected rows."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse, QueryDict, StreamingHttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe

from ingest import queries
from ingest.access import get_run, get_upload
from ingest.actions import uploads
from ingest.errors import Invalid, Unreadable
from ingest.files.refusals import CONTENT_TYPES, write_refusals
from ingest.identifiers import parse_repository
from ingest.models import Upload
from ingest.tables import FIELDS, Guess, TablePreview, missing, without_identifying
from ingest.tables.columns import Field
from shared.site_links import onward

PREFIX = "column-"


@dataclass(frozen=True)
class FieldChoice:
    """A field, the column that is taken for it, some of its values, and columns that would do as well."""

    field: Field
    column: str
    values: list[str]
    doubts: list[str]


@login_required
@never_cache
def upload(request: HttpRequest, upload_id: int) -> HttpResponse:
    """The columns, a guess for each field, and ten rows as they would come in; POST imports, or draws them anew."""
    found = get_upload(request.user, upload_id)
    if request.method != "POST" or "draw" in request.POST:
        sent = request.POST if request.method == "POST" else request.GET
        return render(request, "ingest/upload.html", _context(found, sent))
    try:
        run = uploads.confirm_upload(
            upload=found,
            columns=_mapping(request.POST),
            repository=request.POST.get("repository"),
            number_rows=_numbers_rows(request.POST),
        )
    except Invalid as error:
        context = _context(found, request.POST) | {"error": error}
        return render(request, "ingest/upload.html", context, status=422)
    return redirect(onward(request.POST.get("next")) or run)


@login_required
@never_cache
@require_safe
def columns(request: HttpRequest, upload_id: int) -> HttpResponse:
    """The part of the page that is drawn anew when another column is chosen."""
    found = get_upload(request.user, upload_id)
    return render(request, "ingest/_upload.html", _context(found, request.GET))


@login_required
@require_POST
def choose_sheet(request: HttpRequest, upload_id: int) -> HttpResponse:
    """Takes another sheet of the workbook."""
    found = get_upload(request.user, upload_id)
    try:
        uploads.choose_sheet(upload=found, sheet=request.POST.get("sheet", ""))
    except Unreadable as error:
        context = _context(found, _next_only(request)) | {"error": error}
        return render(request, "ingest/upload.html", context, status=422)
    query = _next_only(request).urlencode(safe="/")
    return redirect(f"{found.get_absolute_url()}?{query}" if query else found)


@login_required
@require_POST
def throw_away(request: HttpRequest, upload_id: int) -> HttpResponse:
    uploads.throw_away(upload=get_upload(request.user, upload_id))
    return redirect(onward(request.POST.get("next")) or "repositories")


@login_required
@never_cache
@require_safe
def refusals(request: HttpRequest, run_id: int) -> StreamingHttpResponse:
    """The rows of a run that were refused, as a file."""
    run = get_run(request.user, run_id)
    rows = write_refusals("csv", queries.refused_rows(run))
    name = f'attachment; filename="refused-rows-{run.pk}.csv"'
    return StreamingHttpResponse(rows, content_type=CONTENT_TYPES["csv"], headers={"Content-Disposition": name})


def _next_only(request: HttpRequest) -> QueryDict:
    """Of what was sent, the page that comes after the upload, if one was named."""
    kept = QueryDict(mutable=True)
    if address := onward(request.POST.get("next")):
        kept["next"] = address
    return kept


def _numbers_rows(sent: QueryDict) -> bool:
    return sent.get("number_rows") == "1"


def _mapping(sent: QueryDict) -> dict[str, str]:
    """The columns that were chosen; where the rows are numbered, without one for the number."""
    chosen = {field.key: name for field in FIELDS if (name := sent.get(PREFIX + field.key, ""))}
    return dict(without_identifying(Guess(chosen, {})).mapping) if _numbers_rows(sent) else chosen


def _context(found: Upload, sent: QueryDict) -> dict[str, Any]:
    """By the columns that were sent, or by the guess where none were."""
    sample = TablePreview.from_json(found.requested["sample"])
    guess = sample.guess()
    is_chosen = any(name.startswith(PREFIX) for name in sent)
    mapping: Mapping[str, str] = _mapping(sent) if is_chosen else guess.mapping
    doubts = {} if is_chosen else guess.doubts
    values = sample.values()
    repository = sent.get("repository", found.requested.get("repository") or "").strip()
    name, problem = None, ""
    if repository:
        try:
            name = parse_repository(repository)
        except Invalid as error:
            problem = error.message
    number_rows = _numbers_rows(sent)
    lacking = missing(mapping, number_rows=number_rows)
    rows = [] if lacking else sample.preview(mapping, name, number_rows=number_rows)
    taken = set(mapping.values())
    return {
        "upload": found,
        "next": onward(sent.get("next")),
        "sample": sample,
        "choices": [
            FieldChoice(
                field,
                mapping.get(field.key, ""),
                values.get(mapping.get(field.key, ""), []),
                list(doubts.get(field.key, [])),
            )
            for field in FIELDS
        ],
        "left_out": [(column, shown) for column, shown in values.items() if column not in taken],
        "number_rows": number_rows,
        "repository": repository,
        "repository_problem": problem,
        "missing": lacking,
        "rows": rows,
        "n_refused": sum(bool(row.refusal) for row in rows),
    }
