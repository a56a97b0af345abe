"""Upload page data: the first rows as they would be imported, unknown values, rejected rows."""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from django.core.cache import cache
from django.db.models import QuerySet

from accounts.models import User
from annotation.core.access import Seat, get_seat
from annotation.core.errors import ConcordError, Invalid, NotFound
from annotation.core.imported import round_labels
from annotation.imports.queries.ratings import decided_spellings
from annotation.imports.sheets import (
    GatheredSheet,
    RejectedRow,
    SheetRow,
    ValueReader,
    document_from_values,
    read_answer,
)
from annotation.imports.sheets.books import Sheet, SheetBook, open_book
from annotation.imports.sheets.choices import Choices
from annotation.imports.sheets.document_trees import tree_of
from annotation.imports.sheets.mapping import BookReader, SheetCount, check_mapping, dimensions_in_levels
from annotation.imports.sheets.missing_values import MissingValues
from annotation.imports.sheets.plans import multi_dimensions, read_book
from annotation.imports.sheets.questions import SheetQuestion
from annotation.imports.sheets.rounds import number_rounds
from annotation.imports.sheets.shifted_values import RowDoubt, Vocabulary, doubts
from annotation.imports.sheets.spellings import (
    DimensionSpellings,
    Meanings,
    new_values,
    unknown_values,
)
from annotation.imports.sheets.values import loose, read_decisions
from annotation.models import Study, Workbook
from annotation.studies.queries.studies import usable_taxonomies
from ingest.tables.files import TableRow
from shared import cached_values
from taxonomy.checking import load
from taxonomy.models import Taxonomy
from taxonomy.queries import newest_published, published_version, stored_ones
from taxonomy.ready_made import Preset, presets
from taxonomy.tree import VersionTree

READY_MADE = "ready-made:"
CELLS_READ_MOST = 200_000
"""A page reads the beginning of a larger upload: this many take some three seconds."""
ROWS_SHOWN = 6
REFUSALS_SHOWN = 50
DOUBTS_SHOWN = 100
KEPT_SECONDS = 3_600
KEPT_LINES_MOST = 20_000
BOOK = (SheetBook, Sheet, TableRow)


@dataclass
class UploadPreview:
    """What an upload would give, by what was chosen so far.

    `problem` says why nothing of it can be read yet; then there are no rows, counts and values. `n_read` rows were
    looked at, all of them unless `is_partial`; then the import can have questions about the others.
    """

    book: SheetBook
    choices: Choices
    problem: ConcordError | None = None
    doubts: Sequence[RowDoubt] = ()
    values: Sequence[DimensionSpellings] = ()
    counts: Sequence[SheetCount] = ()
    first: dict[str, list[SheetRow]] = field(default_factory=dict)
    refusals: Sequence[RejectedRow] = ()
    tree: VersionTree | None = None
    n_read: int = 0
    n_items: int = 0
    n_ratings: int = 0
    raters: Sequence[str] = ()
    rounds: Sequence[tuple[int, str, bool]] = ()
    """Number, label, and whether it will be the study's newest round."""
    questions: Sequence[SheetQuestion] = ()
    has_finals: bool = False
    is_partial: bool = False


def opened_book(workbook: Workbook) -> SheetBook:
    """The sheets of an upload; small ones are kept in the cache for a while. Raises NotFound where the file is gone."""
    found: SheetBook | None = cached_values.find(_place(workbook), BOOK)
    if found is not None:
        return found
    if not workbook.file:
        raise NotFound("The uploaded file was deleted. Upload it again.")
    try:
        with workbook.file.open("rb") as file:
            found = open_book(file, workbook.name)
    except FileNotFoundError:
        raise NotFound("The uploaded file was deleted. Upload it again.") from None
    keep_book(workbook, found)
    return found


def keep_book(workbook: Workbook, book: SheetBook) -> None:
    """Keeps the sheets of an upload in the cache, if they are few."""
    if book.n_lines <= KEPT_LINES_MOST:
        cached_values.keep(_place(workbook), book, KEPT_SECONDS, BOOK)


def forget_book(workbook: Workbook) -> None:
    """Takes the sheets of an upload out of the cache."""
    cache.delete(_place(workbook))


def _place(workbook: Workbook) -> str:
    """No other upload has this place, as another can have the name of a file that is gone."""
    return f"workbook:3:{workbook.pk}:{workbook.created_at.isoformat()}"


def look(
    user: User, book: SheetBook, choices: Choices, study: Study | None, unanswered: Sequence[SheetQuestion] = ()
) -> UploadPreview:
    """Reads an upload as it is mapped, up to CELLS_READ_MOST cells, without storing anything.

    `unanswered` are the questions that stopped its import. They are shown again if the upload was not read as a whole.
    """
    found = UploadPreview(book, choices)
    tree = _tree(user, choices, study)
    found.tree = tree
    try:
        check_mapping(choices.book, book)
    except Invalid as error:
        found.problem = error
        return found
    beginning = book.beginning(CELLS_READ_MOST)
    found.is_partial = beginning is not book
    found.doubts = doubts(beginning, choices.book, _known(tree))[:DOUBTS_SHOWN]
    reader = BookReader(beginning, choices.book)
    rows = list(reader.rows())
    found.n_read, found.counts = len(rows), reader.counts
    meanings = choices.meanings()
    before = _with_spellings(tree, user, study) if tree else None
    decided = _with_meanings(before, meanings) if before else {}
    reads = ValueReader(tree, spellings=decided) if tree else None
    missing = MissingValues(choices.book.answers, reads, multi_dimensions(reads, choices.several()), meanings)
    given = [row for row in missing.read(rows) if isinstance(row, SheetRow)]
    for row in (each for each in given if each.values or each.attributes):
        shown = found.first.setdefault(row.sheet, [])
        if len(shown) < ROWS_SHOWN:
            shown.append(row)
    sheet, questions = _read(beginning, choices, reads)
    found.questions = _with_unanswered(questions, unanswered if found.is_partial else (), choices)
    if before is None or tree is None:
        found.values = new_values(given, meanings, choices.several())
        try:
            levels = dimensions_in_levels(choices.book)
            made = document_from_values(
                sheet, slug="new", title="New", several=choices.several(), levels=levels, scales=choices.scales()
            )
            text = json.dumps(made)
            tree = tree_of(load(text))
        except ConcordError as error:
            found.problem = error
            return found
    else:
        found.values = unknown_values(given, before, meanings)
    there = round_labels(study) if study else {}
    _count(found, sheet, ValueReader(tree, spellings=decided), choices, there)
    return found


def questions_on_page(workbook: Workbook, book: SheetBook, choices: Choices) -> list[SheetQuestion]:
    """The questions about an upload that its page shows, with their answers, as `look` finds them."""
    beginning = book.beginning(CELLS_READ_MOST)
    _, questions = read(workbook.created_by, beginning, choices, workbook.study)
    return _with_unanswered(questions, unanswered_of(workbook) if beginning is not book else (), choices)


def _with_unanswered(
    questions: Sequence[SheetQuestion], unanswered: Sequence[SheetQuestion], choices: Choices
) -> list[SheetQuestion]:
    """The questions, and those others that stopped an import, with the answers given since."""
    asked = {each.key for each in questions}
    more = (each for each in unanswered if each.key not in asked)
    return [*questions, *(replace(each, chosen=choices.book.answers.get(each.key, "")) for each in more)]


def unanswered_of(workbook: Workbook) -> list[SheetQuestion]:
    """The questions that stopped the import of an upload."""
    return [SheetQuestion(**each) for each in (workbook.report or {}).get("questions", ())]


def _with_spellings(tree: VersionTree, user: User, study: Study | None) -> ValueReader:
    return ValueReader(tree, spellings=decided_spellings(get_seat(user, study.slug)) if study else {})


def _with_meanings(reader: ValueReader, meanings: Meanings) -> dict[tuple[str, str], str]:
    """What spellings stand for, as was decided before and now."""
    return dict(reader.spellings) | {
        (dimension.key, spelling): meaning
        for (name, spelling), meaning in meanings.items()
        if (dimension := reader.dimension(name)) is not None
    }


def read(
    user: User, book: SheetBook, choices: Choices, study: Study | None
) -> tuple[GatheredSheet, list[SheetQuestion]]:
    """All rows of an upload, for a study or (None) a new one, and the questions about them, with their answers."""
    tree = _tree(user, choices, study)
    reader = None
    if tree is not None:
        before = _with_spellings(tree, user, study)
        reader = ValueReader(tree, spellings=_with_meanings(before, choices.meanings()))
    return _read(book, choices, reader)


def _read(book: SheetBook, choices: Choices, reader: ValueReader | None) -> tuple[GatheredSheet, list[SheetQuestion]]:
    if reader is None:
        return read_book(book, choices.book, None, choices.several(), choices.meanings())
    return read_book(book, choices.book, reader, choices.several())


def _count(
    found: UploadPreview, sheet: GatheredSheet, reader: ValueReader, choices: Choices, there: Mapping[int, str]
) -> None:
    """Reads every answer as the import would; what is to become a new category is not refused."""
    new = {(loose(each), text.casefold()) for each, text in choices.added()}
    for (round_, item, _), rows in sheet.answers.items():
        read = read_answer(reader, rows, sheet.part_numbers(round_, item), sheet.refuse)
        found.n_ratings += sum(len(part.values) for part in read.parts)
    for (round_, item), rows in sheet.finals.items():
        read_decisions(reader, rows, sheet.part_numbers(round_, item), sheet.refuse)
    refusals = sheet.refusals
    if new:
        refusals = [each for each in refusals if not any(f"“{text}”" in each.reason.casefold() for _, text in new)]
    found.refusals = [replace(each) for each in refusals]
    found.n_items, found.has_finals = len(sheet.items), bool(sheet.finals)
    found.raters = list(sheet.raters.values())
    numbers = number_rounds(sheet.rounds, there)
    newest = max([*there, *numbers.values()], default=0)
    found.rounds = sorted((number, label, number == newest) for label, number in numbers.items())


def _tree(user: User, choices: Choices, study: Study | None) -> VersionTree | None:
    """What values are read against; None where the taxonomy is made from them."""
    if study is not None:
        version = newest_published(study.taxonomy)
        return published_version(version.pk) if version else None
    asked = choices.study.taxonomy
    if asked.startswith(READY_MADE):
        return next((tree_of(each.document) for each in presets() if READY_MADE + each.name == asked), None)
    taxonomy = usable_taxonomies(user).filter(slug=asked).first() if asked else None
    version = newest_published(taxonomy) if taxonomy else None
    return published_version(version.pk) if version else None


def _known(tree: VersionTree | None) -> Vocabulary:
    if tree is None:
        return {}
    return {
        loose(name): Counter({category.name.casefold(): 1 for category in dimension.categories})
        for dimension in tree.dimensions
        for name in (dimension.key, dimension.title)
    }


def taxonomies_to_choose(user: User) -> tuple[list[Taxonomy], list[Preset]]:
    """Taxonomies that a new study can have: those that are there, and ready-made ones that are not."""
    stored = stored_ones(user, [each.document for each in presets()])
    return list(usable_taxonomies(user)), [each for each in presets() if each.document.slug not in stored]


def imports_of(seat: Seat) -> QuerySet[Workbook]:
    """Files that this person uploaded into a study, the newest first."""
    return Workbook.objects.filter(study=seat.study, created_by=seat.user).select_related("created_by").order_by("-pk")


def own_uploads(user: User) -> QuerySet[Workbook]:
    """A person's uploads for studies that are not made yet, the newest first."""
    return Workbook.objects.filter(created_by=user, study=None).order_by("-pk")


def refusals_of(workbook: Workbook) -> list[dict[str, Any]]:
    """The rows of an import that were refused, as far as they are kept."""
    return list((workbook.report or {}).get("refusals", ()))
