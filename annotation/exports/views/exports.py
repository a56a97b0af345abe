"""Exports page: files that are streamed, and files that a job writes."""

from collections.abc import Mapping
from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe

from annotation.agreement_report.views.agreement import number_of
from annotation.assignments.actions.reading_log import FILE, note_reading, note_results
from annotation.core.access import OWNER, RATER, Seat, get_export_at, get_seat
from annotation.core.download_log import filters_of, record_download
from annotation.core.errors import ConcordError, Forbidden, NotFound
from annotation.core.pages import in_archive_too, me
from annotation.core.reader_pages import open_to_reader_links, reading_seat
from annotation.exports import actions
from annotation.exports.queries import FORMATS, rows
from annotation.exports.queries.files import (
    exports_of,
    hides_state,
    is_hidden,
    require_download,
    rounds_held,
    shown_error,
)
from annotation.exports.queries.kinds import KINDS
from annotation.exports.views.downloads import file_response
from annotation.exports.views.words import FORMAT_WORDS, OPTION_WORDS
from annotation.labels.queries.label_version import standing_version
from annotation.labels.queries.version_mapping import target_version, versions_to_tell_in
from annotation.models import Export, Membership, Round
from shared.site_links import absolute
from taxonomy.queries import published_version

SHOWN = 50


@open_to_reader_links
@require_safe
def exports(request: HttpRequest, slug: str) -> HttpResponse:
    """Files to take home, what is in them, and how a script gets the same; for owners those that a job makes, too."""
    return _page(request, reading_seat(request, slug))


def _page(
    request: HttpRequest,
    seat: Seat,
    *,
    chosen: Mapping[str, Any] | None = None,
    refused: ConcordError | None = None,
) -> HttpResponse:
    seat.require_reading()
    study = seat.study
    version = target_version(seat, number_of(request, "version"))
    versions = versions_to_tell_in(seat)
    rounds = list(study.rounds.select_related("taxonomy_version").order_by("number"))
    makes = seat.has_role(OWNER)
    sees = makes or seat.user.is_staff
    found = list(exports_of(study)[: SHOWN + 1]) if sees else []
    standing = standing_version(study)
    context = {
        "seat": seat,
        "study": study,
        "tab": "exports",
        "files": [
            {"what": what, "is_told": "version" in kind.takes, "about": kind.on_page}
            for what, kind in KINDS.items()
            if kind.on_page is not None and (seat.sees_issues or not kind.has_texts)
        ],
        "version": version,
        "versions": versions if len(versions) > 1 else [],
        "standing": standing,
        "formats": [(name, FORMAT_WORDS[name]) for name in FORMATS],
        "blind": [each for each in rounds if each.pk in seat.blind_round_ids],
        "joinable": [each for each in rounds if each.pk in seat.hidden_round_ids - seat.blind_round_ids],
        "own_only": rows.own_only(seat),
        "has_rounds": any(each.state != Round.State.DRAFT for each in rounds),
        "address": absolute(f"/api/v1/studies/{study.slug}/"),
        "makes": makes,
        "sees": sees,
        "made": [_line(seat, each) for each in found[:SHOWN]],
        "has_more": len(found) > SHOWN,
        "refused": refused,
    }
    if makes:
        context |= _form(seat, rounds, versions, chosen or {})
    return render(request, "annotation/exports/exports.html", context, status=refused.status if refused else 200)


def _form(seat: Seat, rounds: list[Round], versions: list[Any], chosen: Mapping[str, Any]) -> dict[str, Any]:
    """What can be chosen for a file that a job makes, and what was."""
    seen = [each for each in rounds if each.state != Round.State.DRAFT and each.pk not in seat.hidden_round_ids]
    dimensions: dict[str, str] = {}
    for each in reversed(seen):
        if each.taxonomy_version.taxonomy_id == seat.study.taxonomy_id:
            for one in published_version(each.taxonomy_version_id).dimensions:
                dimensions.setdefault(one.key, one.title)
    raters = Membership.objects.filter(study=seat.study, roles__contains=[RATER], code__isnull=False).order_by("pk")
    choices = {
        "what": [(name, kind.title) for name, kind in KINDS.items() if set(kind.formats) <= {*FORMATS}],
        "format": [(name, FORMAT_WORDS[name]) for name in FORMATS],
        "round": [("", "all of them"), *((str(each.number), f"round {each.number}") for each in seen)],
        "dimension": [("", "all of them"), *dimensions.items()],
        "version": [("", "as in the study"), *((str(each.number), f"version {each.number}") for each in versions)],
        "raters": [("", "all of them"), *((each.code or "", each.code or "") for each in raters)],
        "revision": [
            ("", "blind or first, and current where changed"),
            ("blind", "blind"),
            ("first", "first (calibration items, relabeling rounds)"),
            ("current", "current"),
        ],
        "shape": [("", "long: a row for each label"), ("wide", "wide: a row for each part, and rater")],
    }
    return {
        "kinds": list(KINDS.items()),
        "fields": [
            {"name": name, "title": OPTION_WORDS[name], "choices": each, "chosen": str(chosen.get(name) or "")}
            for name, each in choices.items()
        ],
    }


def _line(seat: Seat, export: Export) -> dict[str, Any]:
    """An export as its row shows it."""
    export.study = seat.study
    why_not = ""
    hides = hides_state(seat, export)
    if export.state == Export.State.DONE or hides:
        try:
            require_download(seat, export)
        except Forbidden as error:
            why_not = error.message
    kind = KINDS.get(export.what)
    return {
        "export": export,
        "title": kind.title if kind else export.what,
        "format": FORMAT_WORDS.get(export.format, export.format.upper()),
        "narrowed": [
            f"{OPTION_WORDS.get(name, name).lower()} {', '.join(value) if isinstance(value, list) else value}"
            for name, value in export.asked.items()
        ],
        "why_not": why_not,
        "is_hidden": is_hidden(seat, export),
        "hides_state": hides,
        "error": shown_error(seat, export),
        "makes": seat.has_role(OWNER) and not hides,
    }


@open_to_reader_links
@require_safe
def download(request: HttpRequest, slug: str, what: str, format: str) -> HttpResponseBase:
    """A file, written while it is sent; `?round=` and `?dimension=` narrow it down, `?version=` tells it otherwise."""
    seat = reading_seat(request, slug)
    kind = KINDS.get(what)
    if kind is None or kind.on_page is None or format not in FORMATS:
        there_are = ", ".join(name for name, each in KINDS.items() if each.on_page is not None)
        raise NotFound(f"Unknown export {what}.{format}. Use one of {there_are} as {', '.join(FORMATS)}.")
    if kind.has_texts:
        seat.require_issues()
    asked: dict[str, Any] = {
        "round_number": number_of(request, "round"),
        "dimension": request.GET.get("dimension") or None,
        "version": number_of(request, "version"),
    }
    if "shape" in kind.takes and request.GET.get("shape") == "wide":
        asked["shape"] = "wide"
    answer = rows.stream_rows(seat, what, format, options=asked)
    if kind.has_single_answers:
        note_reading(seat, rows.read_of_others(seat, asked["round_number"]), what, FILE)
    elif not kind.has_texts:
        note_results(seat, what, FILE, asked["round_number"])
    record_download(seat=seat, what=what, format=format, method=request.method, **filters_of(asked))
    return answer


@in_archive_too
@login_required
@require_POST
def make_export(request: HttpRequest, slug: str) -> HttpResponse:
    """Asks for a file; what is in the way comes back on the page."""
    seat = get_seat(me(request), slug)
    given = {name: value for name, value in request.POST.items() if name != "csrfmiddlewaretoken"}
    what, format = given.pop("what", ""), given.pop("format", "")
    if what in KINDS:  # A form without scripts has the fields of all kinds.
        given = KINDS[str(what)].fitting(given)
    try:
        actions.request_export(seat=seat, what=what, format=format, options=given)
    except (Forbidden, NotFound):
        raise
    except ConcordError as error:
        return _page(request, seat, chosen=request.POST, refused=error)
    return redirect(f"/studies/{slug}/exports/#made")


@login_required
@never_cache
@require_safe
def export_state(request: HttpRequest, slug: str, number: int) -> HttpResponse:
    """The row of an export, which asks again by itself while it is at work."""
    seat = get_seat(me(request), slug)
    line = _line(seat, get_export_at(seat, number))
    return render(request, "annotation/exports/_made.html", {"line": line, "study": seat.study, "seat": seat})


@login_required
@require_safe
def download_export(request: HttpRequest, slug: str, number: int) -> HttpResponseBase:
    """The file that a job made."""
    seat = get_seat(me(request), slug)
    export = get_export_at(seat, number)
    require_download(seat, export)
    answer = file_response(export)
    note_reading(seat, rounds_held(export), f"export {export.number}", FILE)
    note_results(seat, f"export {export.number}", FILE)
    record_download(seat=seat, what=export.what, format=export.format, method=request.method, export=export.number)
    return answer


@in_archive_too
@login_required
@require_POST
def cancel_export(request: HttpRequest, slug: str, number: int) -> HttpResponse:
    """Stops the making of a file."""
    seat = get_seat(me(request), slug)
    actions.cancel_export(seat=seat, export=get_export_at(seat, number))
    return redirect(f"/studies/{slug}/exports/#made")


@in_archive_too
@login_required
@require_POST
def remove_export(request: HttpRequest, slug: str, number: int) -> HttpResponse:
    """Removes a file that a job made."""
    seat = get_seat(me(request), slug)
    try:
        actions.remove_export(seat=seat, export=get_export_at(seat, number))
    except (Forbidden, NotFound):
        raise
    except ConcordError as error:
        messages.error(request, error.message)
    return redirect(f"/studies/{slug}/exports/#made")
