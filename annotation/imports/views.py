"""Workbook pages: upload, confirmation of sheets and columns, and the import."""

import io
import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe

from annotation.core.access import OWNER, Seat, get_own_workbook, get_seat, get_workbook
from annotation.core.demo_people import require_may_create_studies
from annotation.core.errors import ConcordError, Invalid, NotFound
from annotation.core.pages import me, study_page
from annotation.imports.actions import workbooks as actions
from annotation.imports.queries import workbooks as queries
from annotation.imports.sheets.books import SheetBook
from annotation.imports.sheets.choices import AS_IS, MEANINGS, NEW, SAME, Choices, NewStudyRequest, SpellingDecision
from annotation.imports.sheets.columns import OWN_ROLES, ROLES, whole_number
from annotation.imports.sheets.guesses import guess_sheet
from annotation.imports.sheets.mapping import (
    BY_RATER,
    FORMS,
    INSERT,
    KEEP,
    LEAVE,
    LONG,
    REMOVE,
    BookMapping,
    ColumnMapping,
    SheetMapping,
    problems,
)
from annotation.imports.sheets.questions import answer, open_ones
from annotation.imports.sheets.words import FORM_WORDS, ROLE_WORDS
from annotation.models import Workbook
from shared.csv_files import SafeCsv
from shared.forms import form_page
from shared.storable_json import read_json_field
from taxonomy.access import may_maintain

KEY_MAX = 400
NAME_MAX, VALUES_SHOWN, SAMPLE_LINES = 150, 3, 200
REFUSALS_SHOWN = 100


@dataclass(frozen=True)
class ColumnLine:
    """One column with the first of its values."""

    place: int
    column: ColumnMapping
    values: Sequence[str]

    @property
    def name(self) -> str:
        return self.column.name or f"column {self.place + 1}, without a name"


@dataclass(frozen=True)
class Shape:
    """Sheets whose columns have the same names, mapped once; `leader` is the first of them."""

    leader: int
    titles: Sequence[str]
    form: str
    columns: Sequence[ColumnLine]
    problems: Sequence[str]
    several: Sequence[str]


@dataclass(frozen=True)
class SheetLine:
    """One sheet in the list."""

    number: int
    title: str
    mapping: SheetMapping
    is_hidden: bool
    kind: str
    n_lines: int
    n_uncomputed: int
    count: Any
    has_rater: bool
    has_round: bool


@login_required
@form_page
def upload(request: HttpRequest, slug: str = "") -> HttpResponse:
    """Where files are chosen, and what was uploaded before; for a new study, or into one."""
    user = me(request)
    seat = get_seat(user, slug) if slug else None
    if seat is not None:
        seat.require(OWNER)
    else:
        require_may_create_studies(user)
    error = None
    if request.method == "POST":
        try:
            found = actions.take_workbook(user=user, files=request.FILES.getlist("file"), seat=seat)
        except Invalid as refused:
            error = refused
        else:
            return redirect(_address(found, seat))
    rows = queries.imports_of(seat) if seat else queries.own_uploads(user)
    lines = [(each, _address(each, seat)) for each in rows[:50]]
    return _page(request, seat, "upload", status=error.status if error else 200, error=error, lines=lines)


@login_required
@never_cache
@form_page
def workbook(request: HttpRequest, pk: int, slug: str = "") -> HttpResponse:
    """The sheets and columns of an upload, with its first rows; or how its import goes, and what came of it."""
    seat, found = _found(request, pk, slug)
    if not found.is_open:
        return _page(request, seat, "imported", **_told(found, seat))
    book = queries.opened_book(found)
    choices = Choices.from_json(found.mapping)
    error: ConcordError | None = None
    if request.method == "POST":
        choices = _read(request.POST, book, choices)
        try:
            actions.keep_choices(workbook=found, choices=choices)
            if "import" in request.POST:
                actions.confirm_workbook(workbook=found)
                return redirect(_address(found, seat))
        except ConcordError as refused:
            error = refused
    context = _context(request, seat, found, book, choices) | {"error": error}
    return _page(request, seat, "workbook", status=error.status if error else 200, **context)


@login_required
@never_cache
@require_safe
def progress(request: HttpRequest, pk: int, slug: str = "") -> HttpResponse:
    """How far the import is, then what came of it; the part that asks again by itself."""
    seat, found = _found(request, pk, slug)
    return render(request, "annotation/imports/_imported.html", _told(found, seat))


@login_required
@require_POST
def throw_away(request: HttpRequest, pk: int, slug: str = "") -> HttpResponse:
    seat, found = _found(request, pk, slug)
    actions.throw_away(workbook=found)
    return redirect("import_into", seat.study.slug) if seat else redirect("import_study")


@login_required
@never_cache
@require_safe
def refusals(request: HttpRequest, pk: int, slug: str = "") -> HttpResponse:
    """The rows of an import that were refused, as a file."""
    _, found = _found(request, pk, slug)
    text = io.StringIO()
    columns = ("sheet", "line", "reason", "row")
    writer = SafeCsv(text, lineterminator="\r\n")
    writer.row(columns)
    writer.rows([[str(each[name]) for name in columns] for each in queries.refusals_of(found)])
    name = f'attachment; filename="refused-rows-{found.pk}.csv"'
    return HttpResponse(
        text.getvalue().encode("utf-8-sig"),
        content_type="text/csv; charset=utf-8",
        headers={"Content-Disposition": name},
    )


def _found(request: HttpRequest, pk: int, slug: str) -> tuple[Seat | None, Workbook]:
    """The upload for who may see it: the owner of its study; or, while it has none, who uploaded it."""
    user = me(request)
    if slug:
        seat = get_seat(user, slug)
        return seat, get_workbook(seat, pk)
    found = get_own_workbook(user, pk)
    if found.study is not None:
        get_seat(user, found.study.slug).require(OWNER)
        if not found.state == Workbook.State.DONE:
            raise NotFound(f"Upload {pk} not found.")
    return None, found


def _address(found: Workbook, seat: Seat | None) -> str:
    if seat is not None:
        return reverse("import_into_file", args=[seat.study.slug, found.pk])
    return reverse("import_study_file", args=[found.pk])


def _page(request: HttpRequest, seat: Seat | None, template: str, status: int = 200, **context: Any) -> HttpResponse:
    context["base"] = "annotation/studies/_base.html" if seat else "annotation/imports/_base.html"
    if seat is not None:
        return study_page(request, seat, f"imports/{template}", "import", status=status, **context)
    return render(request, f"annotation/imports/{template}.html", context, status=status)


def _told(found: Workbook, seat: Seat | None) -> dict[str, Any]:
    rows = queries.refusals_of(found)
    address = _address(found, seat)
    return {
        "workbook": found,
        "report": found.report,
        "address": address,
        "refusals": rows[:REFUSALS_SHOWN],
        "n_refused": (found.report or {}).get("n_refused", 0),
    }


# What was chosen


def _read(sent: QueryDict, book: SheetBook, before: Choices) -> Choices:
    """The choices of a form; what it doesn't name stays as it was."""
    sheets = list(before.book.sheets)
    leaders = {number: shape[0] for shape in _shapes(sheets) for number in shape}
    for number, sheet in enumerate(sheets):
        if f"sheet-{number}" not in sent:
            continue
        form, head = sent.get(f"form-{number}", sheet.form), whole_number(sent.get(f"head-{number}", "")) or sheet.head
        if form in FORMS and (form != sheet.form or head != sheet.head):
            kept = sheet
            sheet = guess_sheet(book.sheets[number], form, head)
            sheet.several = kept.several
        else:
            sheet = _columns_read(sent, sheet, leaders[number])
        sheet.is_used = f"used-{number}" in sent
        sheet.rater = _short(sent.get(f"rater-{number}", ""))
        sheet.round = _short(sent.get(f"round-{number}", ""))
        sheet.parts = sent.get(f"parts-{number}") != "one"
        sheets[number] = sheet
    rows = {name[4:]: str(sent[name]) for name in sent if name.startswith("row-") and _is_fate(str(sent[name]))}
    if sent.get("all-rows") == "shift":
        rows = {place: str(sent.get(f"shift-{place}") or fate) for place, fate in rows.items()}
    elif sent.get("all-rows") == LEAVE:
        rows = dict.fromkeys(rows, LEAVE)
    mapping = BookMapping(
        sheets,
        _short(sent.get("final", before.book.final)) or "final",
        _short(sent.get("repository", "")),
        before.book.rows | rows,
        dict(before.book.answers),
    )
    for name in sent:
        key, chosen = str(sent[name]), str(sent.get(name.replace("question-", "answer-"), ""))
        if name.startswith("question-") and chosen and mapping.answers.get(key) != chosen:
            answer(mapping, key[:KEY_MAX], chosen[:NAME_MAX])
    study = NewStudyRequest(
        " ".join(sent.get("title", before.study.title).split())[:200],
        sent.get("slug", before.study.slug).strip()[:80],
        sent.get("taxonomy", before.study.taxonomy)[:200],
    )
    return Choices(mapping, _decisions(sent, before), study)


def _columns_read(sent: QueryDict, sheet: SheetMapping, leader: int) -> SheetMapping:
    columns = []
    several = set(sheet.several)
    for place, column in enumerate(sheet.columns):
        role = sent.get(f"role-{leader}-{place}")
        if role not in (*ROLES, *OWN_ROLES):
            columns.append(column)
            continue
        dimension = _short(sent.get(f"dimension-{leader}-{place}", column.dimension))
        if role == "answer":
            dimension = dimension or column.dimension or ("label" if sheet.form == BY_RATER else column.name)
        columns.append(
            ColumnMapping(
                column.name,
                role,
                dimension if role in ("answer", "attribute") else "",
                _short(sent.get(f"whose-{leader}-{place}", column.rater)) if role == "answer" else "",
            )
        )
        if role == "answer" and f"asks-several-{leader}" in sent:
            several.discard(column.dimension)
            several |= {dimension} if f"several-{leader}-{place}" in sent else set()
    used = {column.dimension for column in columns if column.role == "answer"}
    names = sorted(several & used) if sheet.form != LONG else sheet.several
    return replace(sheet, columns=columns, several=names)


def _decisions(sent: QueryDict, before: Choices) -> list[SpellingDecision]:
    """By dimension and value; what the form doesn't show stays decided."""
    found = {(each.dimension, each.value): each for each in before.decisions}
    for name in sent:
        kind, _, number = name.partition("-")
        if kind != "value":
            continue
        try:
            dimension, value, nearest = read_json_field(str(sent[name]))
        except (ValueError, TypeError):
            continue
        meaning, other = sent.get(f"as-{number}", AS_IS), " ".join(sent.get(f"to-{number}", "").split())[:500]
        if not isinstance(dimension, str) or not isinstance(value, str) or not isinstance(nearest, str):
            continue
        if other and meaning != NEW:
            meaning = SAME
        found.pop((dimension, value), None)
        if meaning in MEANINGS and meaning != AS_IS:
            found[dimension, value] = SpellingDecision(
                dimension, value, meaning, (other or nearest) if meaning == SAME else other or _typed(sent, number)
            )
    return list(found.values())


def _typed(sent: QueryDict, number: str) -> str:
    """The value as it was typed, which names a new category."""
    return " ".join(sent.get(f"typed-{number}", "").split())[:200]


def _is_fate(text: str) -> bool:
    move, _, place = text.partition(":")
    return text in (KEEP, LEAVE) or (move in (INSERT, REMOVE) and place.isdecimal() and len(place) < 6)


def _short(text: str) -> str:
    return " ".join(text.split())[:NAME_MAX]


# What is shown


def _shapes(sheets: Sequence[SheetMapping]) -> list[list[int]]:
    """Numbers of sheets whose columns have the same names and form."""
    found: dict[tuple[Any, ...], list[int]] = {}
    for number, sheet in enumerate(sheets):
        found.setdefault((sheet.form, *(column.name for column in sheet.columns)), []).append(number)
    return list(found.values())


def _context(
    request: HttpRequest, seat: Seat | None, found: Workbook, book: SheetBook, choices: Choices
) -> dict[str, Any]:
    user = me(request)
    study = seat.study if seat else None
    look = queries.look(user, book, choices, study, queries.unanswered_of(found))
    sheets = choices.book.sheets
    counts = dict(enumerate(look.counts))
    lines = [
        SheetLine(
            number,
            book.title_of(number) or sheet.name or sheet.file,
            mapping,
            sheet.is_hidden,
            sheet.kind,
            len(sheet.lines),
            sheet.n_uncomputed,
            counts.get(number),
            mapping.place("rater") >= 0 or mapping.form == BY_RATER,
            mapping.place("round") >= 0,
        )
        for number, (sheet, mapping) in enumerate(zip(book.sheets, sheets, strict=True))
    ]
    shapes = [_shape(book, sheets, numbers) for numbers in _shapes(sheets) if any(sheets[n].is_used for n in numbers)]
    taxonomies, ready_made = queries.taxonomies_to_choose(user) if seat is None else ([], [])
    dimensions = [each.title for each in look.tree.dimensions] if look.tree else []
    own = {column.role for sheet in sheets for column in sheet.columns if column.role in OWN_ROLES}
    return {
        "workbook": found,
        "book": book,
        "choices": choices,
        "look": look,
        "lines": lines,
        "shapes": shapes,
        "forms": FORM_WORDS.items(),
        "roles": [(role, words) for role, words in ROLE_WORDS.items() if role in ROLES or role in own],
        "address": _address(found, seat),
        "is_new": seat is None,
        "taxonomies": taxonomies,
        "ready_made": ready_made,
        "chosen_taxonomy": choices.study.taxonomy,
        "dimensions": dimensions,
        "questions": _questions(look, choices),
        "n_open": len(open_ones(look.questions)),
        "may_add": seat is not None and may_maintain(user, seat.study.taxonomy),
        "doubts": [(each, choices.book.rows.get(each.place, KEEP)) for each in look.doubts],
        "previews": [(title or "the file", rows) for title, rows in look.first.items()],
        "n_refused": len(look.refusals),
        "refusals": look.refusals[: queries.REFUSALS_SHOWN],
    }


def _shape(book: SheetBook, sheets: Sequence[SheetMapping], numbers: Sequence[int]) -> Shape:
    leader = numbers[0]
    sheet, mapping = book.sheets[leader], sheets[leader]
    rows = [each.cells for each in sheet.lines if each.line > mapping.head and not each.fault][:SAMPLE_LINES]
    columns = []
    for place, column in enumerate(mapping.columns):
        texts = (" ".join(cells[place].split()) for cells in rows if place < len(cells))
        values = list(dict.fromkeys(text[:60] for text in texts if text))[:VALUES_SHOWN]
        columns.append(ColumnLine(place, column, values))
    titles = [book.title_of(number) for number in numbers if sheets[number].is_used]
    wrong = list(dict.fromkeys(sentence for n in numbers if sheets[n].is_used for sentence in problems(sheets[n])))
    return Shape(leader, titles, mapping.form, columns, wrong, mapping.several)


@dataclass(frozen=True)
class ValueQuestion:
    """One value to decide on, with its place in the form."""

    number: int
    sent: str
    value: Any
    meaning: str
    other: str


def _questions(look: queries.UploadPreview, choices: Choices) -> list[tuple[Any, list[ValueQuestion]]]:
    decided = {(each.dimension, each.value): each for each in choices.decisions}
    number = 0
    found = []
    for values in look.values:
        asked = []
        for value in values.unsure[:200]:
            number += 1
            key = " ".join(value.text.split()).casefold()
            decision = decided.get((values.title if look.tree is None else values.name, key)) or decided.get(
                (values.name, key)
            )
            asked.append(
                ValueQuestion(
                    number,
                    json.dumps([values.name, key, value.nearest]),
                    value,
                    decision.meaning if decision else AS_IS,
                    decision.other if decision and decision.other != value.nearest else "",
                )
            )
        found.append((values, asked))
    return found
