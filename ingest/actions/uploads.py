"""Uploads of issue files: JSON is read at once, a table waits until its columns are confirmed."""

from collections.abc import Mapping
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

from django.conf import settings
from django.core.files.base import File
from django.db import transaction

from accounts.actions import save_as_own
from accounts.permissions import is_shell_command
from ingest.actions.fetches import queue_run
from ingest.errors import Invalid, NotFound, TooLarge, Unreadable
from ingest.identifiers import full_name, parse_repository
from ingest.models import FetchRun, Upload
from ingest.tables import TablePreview, checked_guess, is_table, lay_out, sample
from shared.disk_space import require_room
from shared.stored_names import unused_name

if TYPE_CHECKING:
    from accounts.models import User

START_BYTES = 64
GONE = "This upload was already imported or discarded."
COMPRESSED = (b"\x1f\x8b", b"BZh", b"\xfd7zXZ\x00", b"\x28\xb5\x2f\xfd", b"7z\xbc\xaf\x27\x1c")


def take_file(
    *,
    user: "User | None",
    file: "File[Any]",
    repository: str | None = None,
    private: bool = True,
    columns: Mapping[str, str] | None = None,
    sheet: str = "",
    number_rows: bool = False,
    bytes_max: int | None = None,
    send: bool = True,
) -> FetchRun:
    """Queues the import of a file, JSON or a table, as `start_file_fetch` does.

    `columns` names the column that holds each field; without it a table's are guessed, if that is beyond doubt. With
    `number_rows` an issue has the number of its row, for a table that has no numbers. Raises Invalid with `columns`,
    and Unreadable for a table that can't be opened.
    """
    asked = {"user": user, "file": file, "repository": repository, "private": private, "bytes_max": bytes_max}
    if not _is_table(file):
        if columns or sheet:
            sentence = "Columns and sheets can be named for CSV and XLSX only. This file is neither."
            raise Invalid(sentence, fields={"columns": [sentence]})
        if number_rows:
            sentence = "Only rows of CSV and XLSX can be numbered. This file is neither."
            raise Invalid(sentence, fields={"number_rows": [sentence]})
        return start_file_fetch(**asked, send=send)  # type: ignore[arg-type]
    asked_of_file(file, repository, private, bytes_max)
    found = sample(file.file, sheet, count_up_to=1_000)  # type: ignore[arg-type]
    file.seek(0)
    if columns:
        lay_out(found.columns, columns, number_rows=number_rows)
    mapping = columns or _guessed(found, number_rows)
    table = {"columns": dict(mapping), "sheet": found.sheet} | ({"number_rows": True} if number_rows else {})
    return start_file_fetch(**asked, table=table, send=send)  # type: ignore[arg-type]


def take_upload(
    *, user: "User", file: "File[Any]", repository: str | None = None, private: bool = True
) -> "FetchRun | Upload":
    """A run for a file of JSON; for a table, an upload that waits for its columns. Raises Invalid and Unreadable."""
    if not _is_table(file):
        return start_file_fetch(user=user, file=file, repository=repository, private=private)
    requested = asked_of_file(file, repository, private)
    found = sample(file.file)  # type: ignore[arg-type]
    file.seek(0)
    upload = Upload(name=requested["file"], created_by=user, requested=requested | {"sample": found.as_json()})
    upload.file.save(unused_name("issues", "table"), file, save=False)
    save_as_own(user, upload, upload.file)
    return upload


def start_file_fetch(
    *,
    user: "User | None",
    file: "File[Any]",
    repository: str | None = None,
    private: bool = True,
    bytes_max: int | None = None,
    table: Mapping[str, Any] | None = None,
    send: bool = True,
) -> FetchRun:
    """Keeps a file of issues and queues its import; raises Invalid with the field.

    `repository` is for rows that don't say where they are from. `private`: only this user, staff and the studies that
    use the issues see them, and rows of a repository that others see here are rejected. `bytes_max` defaults to the
    setting UPLOAD_BYTES_MAX. `table` (columns, sheet) is for CSV and XLSX: `take_file` finds it.
    """
    requested = asked_of_file(file, repository, private, bytes_max) | dict(table or {})
    of_shell = user is None or is_shell_command()
    run = FetchRun(kind=FetchRun.Kind.FILE, requested=requested, is_unrestricted=of_shell)
    run.upload.save(unused_name("issues", "table" if table else "json"), file, save=False)
    return queue_run(run, user=user, send=send)


def asked_of_file(
    file: "File[Any]", repository: str | None, private: bool, bytes_max: int | None = None
) -> dict[str, Any]:
    """What a run notes of its file; raises Invalid with the field, for a file that is empty or too large, too."""
    require_room()
    name = list(parse_repository(repository)) if repository and repository.strip() else None
    most = settings.UPLOAD_BYTES_MAX if bytes_max is None else bytes_max
    if file.size > most:
        sentence = f"The file has {file.size:,} bytes. At most {most:,} are allowed."
        raise TooLarge(sentence, fields={"file": [sentence]})
    if not file.size:
        raise Invalid("The file is empty.", fields={"file": ["The file is empty."]})
    title = PurePath(file.name or "file").name[:200]
    return {
        "repository": full_name(*name) if name else None,
        "name": name,
        "file": title.replace("\x00", ""),
        "bytes": file.size,
        "private": private,
    }


def choose_sheet(*, upload: Upload, sheet: str) -> Upload:
    """Takes another sheet of a workbook; raises Unreadable for one that is not there or has no head line.

    Raises NotFound where the upload was confirmed or thrown away, also while the sheet was read.
    """
    try:
        file = upload.file.open("rb")
    except FileNotFoundError:
        raise NotFound("The uploaded file was deleted. Upload it again.") from None
    with file:
        found = sample(file.file, sheet)
    upload.requested["sample"] = found.as_json()
    if not Upload.objects.filter(pk=upload.pk).update(requested=upload.requested):
        raise NotFound(GONE)
    return upload


def confirm_upload(
    *,
    upload: Upload,
    columns: Mapping[str, str],
    repository: str | None = None,
    number_rows: bool = False,
    send: bool = True,
) -> FetchRun:
    """Queues the import of an upload whose columns are said now; the upload is gone then, and its file the run's.

    With `number_rows` an issue has the number of its row. Raises Invalid with `columns` or `repository`, NotFound where
    it was confirmed or thrown away meanwhile.
    """
    requested: dict[str, Any] = dict(upload.requested)
    found = requested.pop("sample")
    lay_out(found["columns"], columns, number_rows=number_rows)
    name = list(parse_repository(repository)) if repository and repository.strip() else None
    requested |= {
        "repository": full_name(*name) if name else None,
        "name": name,
        "columns": dict(columns),
        "sheet": found["sheet"],
    }
    if number_rows:
        requested["number_rows"] = True
    with transaction.atomic():
        _take(upload)
        run = FetchRun(kind=FetchRun.Kind.FILE, requested=requested)
        run.upload = upload.file.name
        return queue_run(run, user=upload.created_by, send=send)


def throw_away(*, upload: Upload) -> None:
    """Removes an upload with its file: the row stays where the file does, so that none is left that no row names.

    Raises NotFound where it was confirmed meanwhile, and StorageAway.
    """
    with transaction.atomic():
        _take(upload)
        upload.file.delete(save=False)


def _take(upload: Upload) -> None:
    """Deletes the row, of which only one caller can have the use."""
    if not Upload.objects.filter(pk=upload.pk).delete()[0]:
        raise NotFound(GONE)


def _guessed(found: TablePreview, number_rows: bool) -> Mapping[str, str]:
    """The columns by their names and values; raises Invalid, where no row has any for what is the matter with them."""
    if not found.cells():
        line, _, fault, _ = found.rows[0] if found.rows else (0, (), "", False)
        sentence = f"No row of the table can be read. Line {line}: {fault}" if fault else "The table has no rows."
        raise Invalid(sentence, fields={"file": [sentence]})
    return checked_guess(found.columns, found.cells(), number_rows=number_rows)


def _is_table(file: "File[Any]") -> bool:
    start = file.read(START_BYTES)
    file.seek(0)
    if start.startswith(COMPRESSED):
        sentence = "The file is compressed. Unpack it first."
        raise Unreadable(sentence, fields={"file": [sentence]})
    return is_table(file.name or "", start)
