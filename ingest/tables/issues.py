"""Issues from the rows of a table, by a mapping of its columns."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, BinaryIO

from ingest.errors import RowError
from ingest.files.json_rows import BATCH_BYTES, BATCH_ROWS, Batch, JsonRow, shown_text
from ingest.files.seen import SeenNumbers
from ingest.github.rest_objects import NotAnIssue, Repository, parse_issue
from ingest.identifiers import full_name
from ingest.records import IssueRecord
from ingest.tables.columns import BY_KEY, TableLayout, column_names, lay_out
from ingest.tables.files import TableRow, as_line, open_table
from ingest.tables.values import page_address


class TableReader:
    """Reads a table in batches from a place where it stopped before; each issue comes once.

    A place is how many `rows` are read. Reading again goes over these rows, without looking into them. Raises
    Unreadable, also while rows are read, and Invalid for a mapping that does not fit.
    """

    def __init__(
        self,
        file: BinaryIO,
        mapping: Mapping[str, str],
        repository: Repository | None = None,
        place: Mapping[str, Any] | None = None,
        sheet: str = "",
        *,
        number_rows: bool = False,
    ) -> None:
        self._file = file
        self._number_rows = number_rows
        self._mapping = mapping
        self._repository = repository
        self._n_read: int = (place or {}).get("rows", 0)
        self._sheet = sheet

    def batches(self) -> Iterator[Batch]:
        """Batches of BATCH_ROWS, fewer where rows are long."""
        rows: list[JsonRow] = []
        n_characters = 0
        found = _rows(self._file, self._mapping, self._repository, self._sheet, self._number_rows)
        for number, (row, length) in enumerate(found):
            if number < self._n_read:
                continue
            rows.append(row)
            n_characters += length
            if len(rows) == BATCH_ROWS or n_characters > BATCH_BYTES:
                yield self._batch(rows)
                rows, n_characters = [], 0
        if rows:
            yield self._batch(rows)

    def _batch(self, rows: list[JsonRow]) -> Batch:
        self._n_read += len(rows)
        return Batch(rows, {"rows": self._n_read}, self._file.tell())


def read_rows(
    file: BinaryIO,
    mapping: Mapping[str, str],
    repository: Repository | None = None,
    sheet: str = "",
    *,
    number_rows: bool = False,
) -> Iterator[JsonRow]:
    """The rows of a table in order, each issue once; memory does not grow with the file.

    `mapping` names the column that holds each field, `repository` (host, owner, name) is for rows that don't say where
    they are from. With `number_rows` an issue has the number of its row. Raises Unreadable and Invalid.
    """
    return (row for row, _ in _rows(file, mapping, repository, sheet, number_rows))


def issue_of(
    cells: Sequence[str], layout: TableLayout, repository: Repository | None = None, *, position: int = 0
) -> IssueRecord:
    """What a row says of an issue; raises RowError with the column and the reason, NotAnIssue for a pull request.

    `position` is that of the row, from 1, for a table whose rows are numbered.
    """
    told: dict[str, str] = {key: cells[place].strip() for key, place in layout.places.items()}
    given: dict[str, Any] = {}
    for key, text in told.items():
        if text and (read := BY_KEY[key].read):
            try:
                given[key] = read(text)
            except RowError as error:
                raise RowError(f"{layout.columns[layout.places[key]]}: {error}") from None
    if layout.number_rows:
        given["number"] = position
    document: dict[str, Any] = {"title": told.get("title")}
    _identify(document, told, given)
    if "body" in told:
        document["body"] = cells[layout.places["body"]]
    if "labels" in told:
        document["labels"] = given.get("labels", [])
    if "state_reason" in told:
        document["state_reason"] = given.get("state_reason")
    for key, name in (("state", "state"), ("author", "user"), ("n_comments", "comments")):
        if key in given:
            document[name] = given[key]
    for key in ("created_at", "updated_at", "closed_at"):
        if key in given:
            document[key] = given[key].isoformat()
    return parse_issue(document, repository)


def _identify(document: dict[str, Any], told: Mapping[str, str], given: Mapping[str, Any]) -> None:
    """Number, repository and address, which must not say different things."""
    address = given.get("html_url", "")
    names = [given["identifier"]] if "identifier" in given else []
    if address:
        names.append(BY_KEY["identifier"].read(address))  # type: ignore[misc]
    elif (page := page_address(told.get("identifier", ""))).startswith("http"):
        address = page
    numbers = [name[3] for name in names] + ([given["number"]] if "number" in given else [])
    repositories = [name[:3] for name in names] + ([given["repository"]] if "repository" in given else [])
    if len(set(numbers)) > 1:
        raise RowError(f"The row has number {numbers[0]} and number {numbers[1]}.")
    if len({tuple(part.lower() for part in name) for name in repositories}) > 1:
        raise RowError(f"The row has {full_name(*repositories[0])} and {full_name(*repositories[1])}.")
    if not numbers:
        raise RowError("The number is missing.")
    document["number"] = numbers[0]
    if repositories:
        document["repository"] = full_name(*repositories[0])
    if address:
        document["html_url"] = address


def _rows(
    file: BinaryIO, mapping: Mapping[str, str], repository: Repository | None, sheet: str, number_rows: bool
) -> Iterator[tuple[JsonRow, int]]:
    """Every row, and how long it is."""
    table = open_table(file, sheet)
    layout = lay_out(column_names(table.columns), mapping, number_rows=number_rows)
    seen = SeenNumbers()
    for position, row in enumerate(table.rows, start=1):
        yield row_of(row, layout, repository, seen, position), sum(map(len, row.cells))


def row_of(
    row: TableRow, layout: TableLayout, repository: Repository | None, seen: SeenNumbers, position: int
) -> JsonRow:
    """An issue, or why the row is none; `position` counts the rows of the table from 1."""
    fault = row.fault
    if not fault and row.is_short:
        fault = "The row has fewer cells than the table has columns. Its values may have shifted."
    if not fault:
        try:
            record = issue_of(row.cells, layout, repository, position=position)
        except NotAnIssue:
            return JsonRow(row.line, is_pull_request=True)
        except RowError as error:
            fault = str(error)
        else:
            if seen.add(record.repository, record.number):
                return JsonRow(row.line, record=record)
            fault = f"{record.identifier} is already in this file."
    return JsonRow(row.line, refusal=fault, text=shown_text(row.text or as_line(row.cells)))
