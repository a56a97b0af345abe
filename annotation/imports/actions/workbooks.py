"""Uploaded workbooks: stored, mapped by a person, and imported as a whole or not at all."""

import tempfile
import zipfile
from collections.abc import Callable, Sequence
from dataclasses import asdict
from datetime import timedelta
from itertools import takewhile
from pathlib import PurePath
from typing import Any

from django.conf import settings
from django.core.files.base import File
from django.db import transaction
from django.utils import timezone

from accounts.actions import save_as_own
from accounts.models import User
from annotation.core.access import OWNER, Seat, get_seat
from annotation.core.demo_people import require_may_create_studies
from annotation.core.errors import Invalid, Unreadable, WrongState
from annotation.core.numbers import next_round_number
from annotation.imports.actions.ratings import (
    ImportReport,
    Unanswered,
    import_plan,
    import_sheet,
    plan_import,
    require_answers,
)
from annotation.imports.actions.vocabulary import NewStudy
from annotation.imports.queries.workbooks import (
    CELLS_READ_MOST,
    forget_book,
    keep_book,
    opened_book,
    questions_on_page,
    read,
)
from annotation.imports.sheets.books import SheetBook, open_book
from annotation.imports.sheets.choices import Choices, NewStudyRequest
from annotation.imports.sheets.guesses import guess_book
from annotation.imports.sheets.mapping import check_mapping, dimensions_in_levels
from annotation.imports.sheets.plans import SheetOptions
from annotation.imports.sheets.questions import open_ones
from annotation.imports.sheets.shifted_values import doubts
from annotation.models import Study, Workbook
from annotation.studies.actions.study_ids import require_available, wrong_in_study_id
from shared.disk_space import require_room
from shared.job_holds import JobLockKind
from shared.job_time_limits import TaskTurn
from shared.jobs import JobKind, progress_beside
from shared.stored_names import unused_name
from taxonomy.schema import key_of

REFUSALS_KEPT = 10_000
UNCONFIRMED_DAYS = 2
FILES_AT_ONCE = 500
NAMES_SHOWN = 3
OPTIONS = "options"
"""Key of what a file that came over REST is to be read with, beside the guess that its page begins with."""


def take_workbook(*, user: User, files: Sequence["File[Any]"], seat: Seat | None = None) -> Workbook:
    """Keeps files, several as one zip, with a guess of what they hold; nothing is imported before it is confirmed.

    With a seat they are for its study, whose owner alone may; else they make a new one. Raises Invalid with `file`.
    """
    if seat is not None:
        seat.require(OWNER)
    else:
        require_may_create_studies(user)
    require_room()
    if not files:
        raise Invalid("Choose a file.", fields={"file": ["Choose a file."]})
    size = sum(file.size for file in files)
    if size > settings.UPLOAD_BYTES_MAX:
        sentence = f"The files have {size:,} bytes. At most {settings.UPLOAD_BYTES_MAX:,} are allowed."
        raise Invalid(sentence, code="too_large", fields={"file": [sentence]})
    names = [PurePath(file.name or "file").name.replace("\x00", "")[:150] for file in files]
    with tempfile.SpooledTemporaryFile(16 << 20) as copy:
        if len(files) == 1:
            source: Any = files[0]
        else:
            _zip(files, names, copy)
            source = File(copy, "files.zip")
        try:
            book = open_book(source.file, names[0] if len(files) == 1 else "files.zip")
        except Unreadable as error:
            raise Invalid(error.message, code=error.code, fields={"file": [error.message]}) from error
        source.seek(0)
        choices = _guessed(book, seat, _called(names))
        found = Workbook(
            study=seat.study if seat else None,
            name=_title(names),
            mapping=choices.as_json(),
            created_by=user,
        )
        found.file.save(unused_name("workbook", "bin"), File(source.file), save=False)
    save_as_own(user, found, found.file)
    keep_book(found, book)
    return found


def import_later(*, seat: Seat, file: "File[Any]", options: SheetOptions) -> Workbook:
    """Keeps a file and queues its import; what the options lack fails the job. Raises as `take_workbook`."""
    found = take_workbook(user=seat.user, files=[file], seat=seat)
    found.mapping = {**found.mapping, OPTIONS: asdict(options)}
    found.state, found.worked_at = Workbook.State.QUEUED, timezone.now()
    with transaction.atomic():
        found.save(update_fields=["mapping", "state", "worked_at"])
        WORKBOOKS.send_later(found.pk)
    return found


def _zip(files: Sequence["File[Any]"], names: Sequence[str], target: Any) -> None:
    """One zip of several files; of equal names the later ones are numbered."""
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for number, (file, name) in enumerate(zip(files, names, strict=True), start=1):
            free = f"{number}-{name}" if name in names[: number - 1] else name
            with archive.open(free, "w") as part:
                for chunk in file.chunks():
                    part.write(chunk)
    target.seek(0)


def _title(names: Sequence[str]) -> str:
    more = len(names) - NAMES_SHOWN
    return (", ".join(names[:NAMES_SHOWN]) + (f" and {more} more" if more > 0 else ""))[:200]


def _called(names: Sequence[str]) -> str:
    """What files are called together: the words that all of their names begin with, else the first name."""
    stems = [PurePath(name).stem.replace("_", " ").replace("-", " ").split() for name in names]
    shared = takewhile(lambda words: len({*words}) == 1, zip(*stems, strict=False))
    return " ".join([words[0] for words in shared] or stems[0])


def _guessed(book: SheetBook, seat: Seat | None, stem: str) -> Choices:
    """The guess, rows that hold heads left out; the next round where no name says which."""
    mapping = guess_book(book, "1" if seat is None else str(next_round_number(seat.study)))
    mapping.rows = {each.place: each.usual for each in doubts(book.beginning(CELLS_READ_MOST), mapping)}
    study = NewStudyRequest(stem[:1].upper() + stem[1:200], key_of(stem)[:80].strip("-_"))
    return Choices(mapping, study=study if seat is None else NewStudyRequest())


def keep_choices(*, workbook: Workbook, choices: Choices) -> None:
    """Keeps what was chosen so far; raises WrongState for a workbook that is imported, or about to be."""
    changed = Workbook.objects.filter(pk=workbook.pk, state__in=Workbook.OPEN).update(mapping=choices.as_json())
    if not changed:
        raise WrongState("This file is already imported or queued, so its columns can't be changed.")
    workbook.mapping = choices.as_json()


def confirm_workbook(*, workbook: Workbook, send: bool = True) -> None:
    """Queues the import. Raises Invalid where something is missing or the ID is none, Conflict where it is taken.

    Of a large file only the questions that its page shows are looked at; the import asks the others.
    """
    choices = Choices.from_json(workbook.mapping)
    book = opened_book(workbook)
    check_mapping(choices.book, book)
    require_answers(open_ones(questions_on_page(workbook, book, choices)))
    if workbook.study_id is None:
        _check_study(choices.study, workbook.created_by)
    now = timezone.now()
    with transaction.atomic():
        changed = Workbook.objects.filter(pk=workbook.pk, state__in=Workbook.OPEN).update(
            state=Workbook.State.QUEUED, worked_at=now, n_attempts=0, n_done=0, n_total=0, error="", done_at=None
        )
        if not changed:
            raise WrongState("This file is already imported or queued.")
        if send:
            WORKBOOKS.send_later(workbook.pk)


def _check_study(asked: NewStudyRequest, user: User) -> None:
    require_may_create_studies(user)
    fields: dict[str, list[str]] = {}
    if not asked.title.strip():
        fields["title"] = ["Enter a title."]
    if sentence := wrong_in_study_id(asked.slug):
        fields["slug"] = [sentence]
    if fields:
        raise Invalid("Study not created yet.", fields=fields)
    require_available(asked.slug, user)


def throw_away(*, workbook: Workbook) -> None:
    """Removes a file that was not imported, with its row, which stays where the file does.

    Raises WrongState for one that was imported, or is about to be, and StorageAway.
    """
    with transaction.atomic():
        if not Workbook.objects.filter(pk=workbook.pk, state__in=Workbook.OPEN).delete()[0]:
            raise WrongState("This file is already imported or queued.")
        workbook.file.delete(save=False)
    forget_book(workbook)


# The job


class Workbooks(JobKind[Workbook]):
    """The import of files with ratings.

    The study, everything in it and the report are one transaction, so a worker that is killed leaves nothing.
    """

    model, lock, task = Workbook, JobLockKind.WORKBOOK, "annotation.jobs.import_workbook"
    related = ("study", "created_by")
    advice = "Nothing was saved. Import the file in pieces, or run the import again."
    tries, tries_most = "n_attempts", 5
    gave_up = "The worker stopped several times at this file. Import it in pieces, or run it again."

    def begin(self, job: Workbook) -> None:
        job.n_attempts += 1

    def do(self, job: Workbook, turn: TaskTurn) -> None:
        try:
            with progress_beside(self, job) as progress, transaction.atomic():
                report = _import(job, lambda n_done, n_total: progress(n_done=n_done, n_total=n_total))
                progress.write()
                self.finish(job, study=Study.objects.get(slug=report.study), report=_kept(report))
        except Unanswered as error:
            self.write(job, report={"questions": [asdict(each) for each in error.questions]})
            raise


WORKBOOKS = Workbooks()
import_workbook = WORKBOOKS.work


def _import(workbook: Workbook, told: Callable[[int, int], None]) -> ImportReport:
    if workbook.study is not None:
        get_seat(workbook.created_by, workbook.study.slug).require(OWNER)
        if OPTIONS in workbook.mapping:
            return _import_by_options(workbook, told)
    choices = Choices.from_json(workbook.mapping)
    book = opened_book(workbook)
    check_mapping(choices.book, book)
    if book.beginning(CELLS_READ_MOST) is not book:  # the page showed no doubts about the rest
        for each in doubts(book, choices.book):
            choices.book.rows.setdefault(each.place, each.usual)
    sheet, questions = read(workbook.created_by, book, choices, workbook.study)
    require_answers(open_ones(questions))
    asked = choices.study
    new = None
    if workbook.study is None:
        _check_study(asked, workbook.created_by)
        levels = dimensions_in_levels(choices.book)
        new = NewStudy(asked.slug, asked.title.strip(), asked.taxonomy, choices.several(), levels, choices.scales())
    return import_sheet(
        user=workbook.created_by,
        study=workbook.study.slug if workbook.study else asked.slug,
        sheet=sheet,
        name=workbook.name,
        new=new,
        meanings=choices.meanings(),
        added=choices.added(),
        on_progress=told,
    )


def _import_by_options(workbook: Workbook, told: Callable[[int, int], None]) -> ImportReport:
    """Imports a file that came over REST, where nobody looks at it before."""
    assert workbook.study is not None
    asked: dict[str, Any] = {"user": workbook.created_by, "study": workbook.study.slug, "name": workbook.name}
    with workbook.file.open("rb") as file:
        plan = plan_import(file=file.file, options=SheetOptions(**workbook.mapping[OPTIONS]), **asked)
    return import_plan(plan=plan, on_progress=told, **asked)


def _kept(report: ImportReport) -> dict[str, Any]:
    kept = report.as_document()
    kept["refusals"] = [asdict(each) for each in report.refusals[:REFUSALS_KEPT]]
    return kept


def remove_old_workbooks() -> int:
    """Removes files that were not imported after two days, imported ones' after UPLOADS_KEPT_DAYS; how many."""
    now = timezone.now()
    n_removed = 0
    old = Workbook.objects.filter(state__in=Workbook.OPEN, created_at__lt=now - timedelta(days=UNCONFIRMED_DAYS))
    for workbook in list(old[:FILES_AT_ONCE]):
        throw_away(workbook=workbook)
        n_removed += 1
    done = Workbook.objects.filter(
        state=Workbook.State.DONE, done_at__lt=now - timedelta(days=settings.UPLOADS_KEPT_DAYS), file__gt=""
    )
    for workbook in list(done[:FILES_AT_ONCE]):
        workbook.file.delete(save=False)
        Workbook.objects.filter(pk=workbook.pk).update(file="")
        n_removed += 1
    return n_removed
