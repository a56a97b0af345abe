"""Columns of an issue table: possible roles, the guess for each column, and missing ones."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ingest.errors import Invalid, RowError
from ingest.tables import values

NUMBER_AS_ID_MAX = 1_000_000
LEAST_SHARE = 0.5
TITLE_CHARACTERS = range(8, 301)


@dataclass(frozen=True, slots=True)
class Field:
    """Something of an issue that a column can hold; `names` are what people call it, the surest first."""

    key: str
    label: str
    names: tuple[str, ...]
    read: Callable[[str], Any] | None = None
    help: str = ""


FIELDS = (
    Field(
        "identifier", "Identifier or URL", ("identifier", "item", "issue", "issuekey", "key", "url", "link", "ref"),
        values.read_identifier, "owner/name#1, or the URL of the issue",
    ),
    Field(
        "repository", "Repository", ("repository", "repo", "repositoryname", "reponame", "repositoryfullname",
        "repositorynamewithowner", "repositoryurl", "fullname", "project"), values.read_repository, "owner/name",
    ),
    Field(
        "number", "Number", ("number", "issuenumber", "issue#", "#", "issueno", "no", "nr", "issueid", "issue", "id"),
        values.read_number,
    ),
    Field("title", "Title", ("title", "issuetitle", "summary", "subject", "headline", "name", "issue")),
    Field("body", "Body", ("body", "issuebody", "bodytext", "description", "text", "content")),
    Field("state", "State", ("state", "issuestate", "status"), values.read_state, "open or closed"),
    Field(
        "state_reason", "Reason of the state", ("statereason", "closereason", "reason", "resolution"),
        values.read_state_reason,
    ),
    Field(
        "labels", "GitHub labels", ("labels", "label", "labelnames", "labelsname", "labelname", "githublabels", "tags"),
        values.read_labels, "separated by semicolons, bars or commas, or a JSON list",
    ),
    Field(
        "author", "Author", ("author", "authorlogin", "user", "userlogin", "login", "username", "creator", "createdby",
        "openedby", "reporter"), values.read_author,
    ),
    Field(
        "created_at", "Created", ("createdat", "created", "creationdate", "createddate", "datecreated", "createdon",
        "opened", "openedat", "dateopened"), values.read_time,
    ),
    Field(
        "updated_at", "Updated", ("updatedat", "updated", "lastupdated", "updateddate", "dateupdated", "updatedon",
        "modified", "lastmodified"), values.read_time,
    ),
    Field(
        "closed_at", "Closed", ("closedat", "closed", "closeddate", "dateclosed", "closedon", "resolvedat"),
        values.read_time,
    ),
    Field("html_url", "URL of its page", ("htmlurl", "issueurl", "url", "link", "address"), values.read_address),
    Field(
        "n_comments", "Number of comments", ("ncomments", "comments", "commentcount", "commentscount", "numcomments",
        "numberofcomments", "totalcomments", "commentstotalcount"), values.read_count,
    ),
)  # fmt: skip
BY_KEY = {field.key: field for field in FIELDS}
IDENTIFYING = ("identifier", "number", "html_url")
GUESSED_FIRST = ("html_url", "number", "repository", "identifier")


@dataclass(frozen=True)
class Guess:
    """Which column is taken for each field; `doubts` are fields for which several columns would do."""

    mapping: Mapping[str, str]
    doubts: Mapping[str, Sequence[str]]


@dataclass(frozen=True)
class TableLayout:
    """The names of the columns, and the place of the one that holds each field.

    With `number_rows` an issue has the number of its row, 1 for the first one below the head line.
    """

    columns: Sequence[str]
    places: Mapping[str, int]
    number_rows: bool = False


def column_names(head: Sequence[str]) -> list[str]:
    """A name for every column, no two alike: `Column 3` where the head says nothing, `Title (2)` for the second."""
    names: list[str] = []
    taken = {name for name in head if name}
    seen: set[str] = set()
    for place, name in enumerate(head, start=1):
        name = name or _free(f"Column {place}", taken)
        if name in seen:
            name = _free(name, taken | seen)
        seen.add(name)
        names.append(name)
    return names


def lay_out(columns: Sequence[str], mapping: Mapping[str, str], *, number_rows: bool = False) -> TableLayout:
    """Where the columns of a mapping stand; raises Invalid (`columns`), naming the columns that there are.

    A column is found by its exact name, else whatever its case.
    """
    faults: list[str] = []
    places: dict[str, int] = {}
    for key, name in mapping.items():
        if key not in BY_KEY:
            faults.append(f"“{key}” can't be mapped. These can: {', '.join(BY_KEY)}.")
            continue
        place = _place(columns, str(name).strip())
        if place is None:
            faults.append(f"Column “{values.shown_value(str(name))}” not found.")
        else:
            places[key] = place
    faults += missing(mapping, number_rows=number_rows)
    if number_rows and (identifying := [key for key in IDENTIFYING if key in mapping]):
        faults.append(f"Either number the rows or name a column for {' and '.join(identifying)}, not both.")
    if faults:
        raise Invalid(
            f"{' '.join(faults)} The columns are: {', '.join(columns)}.", code="columns", fields={"columns": faults}
        )
    return TableLayout(columns, places, number_rows)


def missing(mapping: Iterable[str], *, number_rows: bool = False) -> list[str]:
    """What a mapping has to say still, in sentences."""
    mapping = set(mapping)
    found = [] if "title" in mapping else ["Choose the column of the title."]
    if not number_rows and not mapping & set(IDENTIFYING):
        found.append(
            "Choose the column of the number, or of the identifier or URL of the issue. If there is none, "
            "number the rows."
        )
    return found


def guess(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> Guess:
    """By the names of columns, where the first rows fit; identifiers, numbers and titles by content, too."""
    cells = {
        name: [row[place].strip() for row in rows if place < len(row) and row[place].strip()]
        for place, name in enumerate(columns)
    }
    found: dict[str, str] = {}
    doubts: dict[str, list[str]] = {}
    for field in (*(BY_KEY[key] for key in GUESSED_FIRST), *FIELDS):
        if field.key in found or field.key in doubts:
            continue
        for name in field.names:
            fitting = [
                column
                for column in columns
                if _plain(column) == name and column not in found.values() and _fits(field, name, cells[column])
            ]
            if len(fitting) > 1:
                doubts[field.key] = fitting
            elif fitting:
                found[field.key] = fitting[0]
            if fitting:
                break
    _guess_by_content(cells, found, doubts)
    return Guess({key: found[key] for key in BY_KEY if key in found}, doubts)


def without_identifying(guessed: Guess) -> Guess:
    """The guess for a table whose rows are numbered."""
    mapping = {key: name for key, name in guessed.mapping.items() if key not in IDENTIFYING}
    return Guess(mapping, {key: names for key, names in guessed.doubts.items() if key not in IDENTIFYING})


def checked_guess(
    columns: Sequence[str], rows: Sequence[Sequence[str]], *, number_rows: bool = False
) -> Mapping[str, str]:
    """The guess, if it is beyond doubt and complete; else raises Invalid with the columns found and the guess."""
    guessed = guess(columns, rows)
    if number_rows:
        guessed = without_identifying(guessed)
    faults = [
        f"{BY_KEY[key].label} can be {' or '.join(f'“{name}”' for name in names)}."
        for key, names in guessed.doubts.items()
    ]
    faults += missing({*guessed.mapping, *guessed.doubts}, number_rows=number_rows)
    if not faults:
        return guessed.mapping
    told = ", ".join(f"{key}={name}" for key, name in guessed.mapping.items()) or "nothing"
    sentences = [*faults, f"The columns are: {', '.join(columns)}.", f"Guessed: {told}."]
    raise Invalid(
        "The columns can't be identified for certain. Name them.",
        code="columns",
        fields={"columns": sentences},
    )


def _free(name: str, taken: set[str]) -> str:
    number = 2
    free = name
    while free in taken:
        free, number = f"{name} ({number})", number + 1
    return free


def _place(columns: Sequence[str], name: str) -> int | None:
    if name in columns:
        return list(columns).index(name)
    alike = [place for place, column in enumerate(columns) if column.casefold() == name.casefold()]
    return alike[0] if len(alike) == 1 else None


def _plain(name: str) -> str:
    """A name as it is compared: letters, digits and # alone."""
    return re.sub(r"[^\w#]|_", "", name.casefold())


def _fits(field: Field, name: str, cells: Sequence[str]) -> bool:
    """Whether what stands in a column can be what its name says: half can be read, any under the surest name."""
    if not cells:
        return field.key not in IDENTIFYING
    if field.key == "title":
        return not (_readable(values.read_identifier, cells) == 1 or _readable(values.read_number, cells) == 1)
    if field.key == "html_url" and any("/repos/" in cell for cell in cells):
        return False
    if name == "id" and not all(
        cell.isascii() and cell.isdecimal() and int(cell[:12]) < NUMBER_AS_ID_MAX for cell in cells
    ):
        return False
    share = _readable(field.read, cells) if field.read else 1.0
    return share > 0 if name == field.names[0] else share >= LEAST_SHARE


def _readable(read: Callable[[str], Any], cells: Sequence[str]) -> float:
    """The share of cells that can be read."""
    n_read = 0
    for cell in cells:
        try:
            read(cell)
        except RowError:
            continue
        n_read += 1
    return n_read / len(cells) if cells else 0.0


def _guess_by_content(cells: Mapping[str, Sequence[str]], found: dict[str, str], doubts: dict[str, list[str]]) -> None:
    def take(key: str, fits: Callable[[Sequence[str]], bool]) -> None:
        fitting = [name for name, those in cells.items() if those and name not in found.values() and fits(those)]
        if len(fitting) == 1:
            found[key] = fitting[0]
        elif fitting:
            doubts[key] = fitting

    known = {*found, *doubts}
    if not known & set(IDENTIFYING):
        take("identifier", lambda those: _readable(values.read_identifier, those) == 1)
        if not {"identifier"} & {*found, *doubts}:
            take("number", lambda those: _readable(values.read_number, those) == 1 and len(set(those)) == len(those))
    if "number" in found and not known & {"repository", "identifier", "html_url"}:
        take("repository", lambda those: _readable(values.read_repository, those) == 1)
    if "title" not in known:
        taken = {name for names in doubts.values() for name in names}
        texts = {name: those for name, those in cells.items() if name not in taken and _is_titles(those)}
        if len(texts) == 1 and not set(texts) & set(found.values()):
            found["title"] = next(iter(texts))


def _is_titles(cells: Sequence[str]) -> bool:
    return bool(cells) and all(
        len(cell) in TITLE_CHARACTERS and " " in cell and "\n" not in cell and not _readable(values.read_time, [cell])
        for cell in cells
    )
