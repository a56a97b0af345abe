"""JSON files of issues, read row by row at constant memory.

JSON Lines, one JSON array or several, the output of `gh issue list --json …` and of `gh api --paginate`.
"""

import codecs
import io
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, BinaryIO

import orjson

from ingest.errors import RowError
from ingest.files.seen import SeenNumbers
from ingest.github.rest_objects import NotAnIssue, Repository, parse_issue
from ingest.records import IssueRecord, storable
from shared.storable_json import BODY_VALUES_MAX, n_values

CHUNK_CHARACTERS = 1 << 20
ROW_CHARACTERS_MAX = 32 << 20
ROW_VALUES_MAX = BODY_VALUES_MAX
"""So many values, counted by their marks, a row may hold: each takes up to 30 times its bytes."""
ROW_CHARACTERS_KEPT = 100_000
BATCH_ROWS = 2000
BATCH_BYTES = 8 << 20

_WRAPPER = re.compile(r'\s*\{\s*"issues"\s*:\s*\[')
_BETWEEN = re.compile(r"[\s,\[\]]*")
_MARKS = re.compile(r'["{}\[\]\\]')
_NOT_UTF8 = re.compile("[\udc80-\udcff]")
_SCAN = json.JSONDecoder().raw_decode


@dataclass(frozen=True, slots=True)
class JsonRow:
    """One row of a file: an issue, or why it is none and what stood there; `line` counts from 1.

    `next_offset` is where the next line begins, for the last row of a line that can be read by itself; otherwise 0.
    """

    line: int
    record: IssueRecord | None = None
    refusal: str = ""
    is_pull_request: bool = False
    text: str = ""
    next_offset: int = 0


@dataclass(slots=True)
class Batch:
    """Some rows, the place after them (see `RowReader`), and how much of the file is read."""

    rows: list[JsonRow]
    place: dict[str, Any]
    n_bytes_read: int


class RowReader:
    """Reads a file in batches from a place where it stopped before; each issue comes once.

    A place is what JSON can keep: `offset` and `line` (the next) of a line that begins, how many `rows` after it are
    read, and what was `seen` before it. Memory does not grow with the file.
    """

    def __init__(self, file: BinaryIO, repository: Repository | None = None, place: Mapping[str, Any] | None = None):
        self._file = file
        self._repository = repository
        self._place: dict[str, Any] = {"offset": 0, "line": 1, "rows": 0, "seen": {}, **(place or {})}
        self._seen = SeenNumbers.from_json(self._place["seen"])

    def batches(self) -> Iterator[Batch]:
        """Batches of BATCH_ROWS, fewer where rows are long."""
        n_to_skip = self._place["rows"]
        rows: list[JsonRow] = []
        began_at = self._place["offset"]
        for row in _rows(self._file, self._repository, self._seen, self._place["offset"], self._place["line"]):
            if n_to_skip:
                n_to_skip -= 1
                began_at = self._file.tell()
                continue
            rows.append(row)
            if len(rows) == BATCH_ROWS or (row.next_offset or self._file.tell()) - began_at > BATCH_BYTES:
                yield self._batch(rows)
                rows, began_at = [], self._file.tell()
        if rows:
            yield self._batch(rows)

    def _batch(self, rows: list[JsonRow]) -> Batch:
        seen = self._seen.as_json() if rows[-1].next_offset else None
        if seen is not None:
            self._place = {"offset": rows[-1].next_offset, "line": rows[-1].line + 1, "rows": 0, "seen": seen}
        else:
            self._place = self._place | {"rows": self._place["rows"] + len(rows)}
        return Batch(rows, self._place, self._file.tell())


def read_rows(file: BinaryIO, repository: Repository | None = None) -> Iterator[JsonRow]:
    """The rows of a file in order, each issue once; memory does not grow with the file.

    `repository` (host, owner, name) is for rows that don't say where they are from.
    """
    return _rows(file, repository, SeenNumbers(), 0, 1)


def shown_text(text: str) -> str:
    """A refused row as it is kept: whole, or the beginning of a very long one and a word that it was cut."""
    text = storable(_NOT_UTF8.sub("\ufffd", text.strip()))
    if len(text) <= ROW_CHARACTERS_KEPT:
        return text
    return f"{text[:ROW_CHARACTERS_KEPT]}… (cut after {ROW_CHARACTERS_KEPT:,} characters)"


def _rows(
    file: BinaryIO, repository: Repository | None, seen: SeenNumbers, offset: int, line: int
) -> Iterator[JsonRow]:
    for number, text, fault, next_offset in _values(file, offset, line):
        if fault:
            yield JsonRow(number, refusal=fault, text=shown_text(text), next_offset=next_offset)
            continue
        last: JsonRow | None = None
        for row in _row(number, text, repository):
            record = row.record
            if record and not seen.add(record.repository, record.number):
                row = JsonRow(number, refusal=f"{record.identifier} is already in this file.", text=shown_text(text))
            if last:
                yield last
            last = row
        if last:
            yield replace(last, next_offset=next_offset) if next_offset else last


def _row(line: int, text: str, repository: Repository | None) -> Iterator[JsonRow]:
    if n_values(text) > ROW_VALUES_MAX:
        fault = f"This row has more than {ROW_VALUES_MAX:,} values, counted by the characters {{, [ and the comma."
        yield JsonRow(line, refusal=fault, text=shown_text(text))
        return
    try:
        value = _loaded(text)
    except (ValueError, RecursionError) as error:
        yield JsonRow(line, refusal=f"This is not valid JSON: {_reason(error)}.", text=shown_text(text))
        return
    values = value if isinstance(value, list) else _wrapped(value)
    for part in [value] if values is None else values:
        try:
            yield JsonRow(line, record=parse_issue(part, repository))
        except NotAnIssue:
            yield JsonRow(line, is_pull_request=True)
        except RowError as error:
            shown = text if values is None else json.dumps(part, ensure_ascii=False)
            yield JsonRow(line, refusal=str(error), text=shown_text(shown))


def _wrapped(value: Any) -> list[Any] | None:
    """The issues of an object that is none itself: `{"issues": […]}`, or what GitHub's search answers."""
    if not isinstance(value, dict) or "number" in value:
        return None
    inner = value.get("items") if "total_count" in value else value.get("issues")
    return inner if isinstance(inner, list) else None


def _loaded(text: str) -> Any:
    """The value; what the quick reader refuses (NaN, halves of surrogate pairs, deep nesting) the patient one tries."""
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:
        return json.loads(text)


def _reason(error: Exception) -> str:
    if isinstance(error, json.JSONDecodeError):
        return f"{error.msg.removesuffix(' at')} at character {error.pos + 1}"
    return "it is nested too deeply" if isinstance(error, RecursionError) else "a number is too long"


def _values(file: BinaryIO, offset: int, line: int) -> Iterator[tuple[int, str, str, int]]:
    """(line, text of one JSON value, fault, where the next line begins or 0) over the file.

    Where a fault is given the text can't be a value.
    """
    encoding = _encoding(file)
    if encoding != "utf-16":
        file.seek(offset)
        if offset or _is_by_line(file):
            yield from _byte_lines(file, offset, line)
            return
        file.seek(0)
    for number, text, fault in _decoded_values(file, encoding):
        if not fault and not text.isascii() and _NOT_UTF8.search(text):
            fault = "This row has bytes that are not UTF-8. Save the file as UTF-8."
        yield number, text, fault, 0


def _is_by_line(file: BinaryIO) -> bool:
    """Whether the file, read from its beginning, has one value to a line; reads up to the first one, and goes back."""
    start = b""
    while not start and (line := file.readline(ROW_CHARACTERS_MAX)):
        start = line.removeprefix(codecs.BOM_UTF8).strip()
    file.seek(0)
    return bool(start) and _is_line_of_values(start.decode(errors="replace"))


def _is_line_of_values(start: str) -> bool:
    """Whether the first line of a file, without blanks around it, holds a value of its own."""
    goes_on = start == "{" or (_WRAPPER.match(start) is not None and not start.endswith("}"))
    return not start.startswith("[") and not goes_on


def _byte_lines(file: BinaryIO, offset: int, line: int) -> Iterator[tuple[int, str, str, int]]:
    while content := file.readline(ROW_CHARACTERS_MAX):
        offset += len(content)
        fault = ""
        if len(content) >= ROW_CHARACTERS_MAX and not content.endswith(b"\n"):
            fault = f"This row is longer than {ROW_CHARACTERS_MAX >> 20} million bytes."
            rest = content
            while rest and not rest.endswith(b"\n"):
                rest = file.readline(CHUNK_CHARACTERS)
                offset += len(rest)
        if content.startswith(codecs.BOM_UTF8):
            content = content[len(codecs.BOM_UTF8) :]
        try:
            text = content.decode()
        except UnicodeDecodeError:
            text = content[: 4 * ROW_CHARACTERS_KEPT].decode(errors="surrogateescape")
            fault = fault or "This row has bytes that are not UTF-8. Save the file as UTF-8."
        if fault or not text.isspace():
            yield line, text, fault, offset
        line += 1


def _decoded_values(file: BinaryIO, encoding: str) -> Iterator[tuple[int, str, str]]:
    reader = io.TextIOWrapper(file, encoding=encoding, errors="surrogateescape", newline="\n")
    try:
        line = 1
        while (first := reader.readline(ROW_CHARACTERS_MAX)) and not first.strip().strip("\ufeff"):
            line += 1
        start = first.lstrip().lstrip("\ufeff")
        if _is_line_of_values(start.strip()):
            yield from _lines(reader, first, line)
        else:  # an object that is spread over lines may be `{"issues": [`, which shows after its first line
            yield from _stream(reader, first + (reader.read(CHUNK_CHARACTERS) if start[:1] == "{" else ""), line)
    finally:
        if not file.closed:
            reader.detach()


def _encoding(file: BinaryIO) -> str:
    """UTF-8 unless the file begins with the mark of UTF-16, as PowerShell writes it."""
    start = file.read(4)
    file.seek(0)
    if start.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16"
    return "utf-8-sig" if start.startswith(codecs.BOM_UTF8) else "utf-8"


def _lines(reader: io.TextIOWrapper, text: str, line: int) -> Iterator[tuple[int, str, str]]:
    while text:
        too_long = len(text) >= ROW_CHARACTERS_MAX and not text.endswith("\n")
        if too_long:
            yield line, text, f"This row is longer than {ROW_CHARACTERS_MAX >> 20} million characters."
            while text and not text.endswith("\n"):
                text = reader.readline(CHUNK_CHARACTERS)
        elif text.strip():
            yield line, text.strip().lstrip("\ufeff"), ""
        line += 1
        text = reader.readline(ROW_CHARACTERS_MAX)


def _stream(reader: io.TextIOWrapper, text: str, line: int) -> Iterator[tuple[int, str, str]]:
    """The items of one or several arrays (`[…][…]`, `[[…],[…]]`), of `{"issues": […]}`, or objects that span lines."""
    depth, position, opened = 0, 0, line
    if wrapper := _WRAPPER.match(text):
        depth, position = 1, wrapper.end()
        line += text.count("\n", 0, position)
    while True:
        gap = _BETWEEN.match(text, position)
        assert gap is not None
        between = gap.group()
        if "[" in between and depth == 0:
            opened = line + between.count("\n", 0, between.index("["))
        depth += between.count("[") - between.count("]")
        line += between.count("\n")
        position = gap.end()
        if wrapper and depth <= 0:
            after = between.rpartition("]")[2]  # the comma before the next key
            rest = after + text[position:] + reader.read(ROW_CHARACTERS_MAX)
            if not _ends_object(rest):
                yield line, rest, "The list “issues” ends here, and what follows is not the end of its object."
            return
        if position == len(text):
            text, position = reader.read(CHUNK_CHARACTERS), 0
            if not text:
                if depth > 0:
                    yield line, "", f"The file ends inside the list that begins in line {opened}. The rest is missing."
                return
            continue
        end, complete = _end_of_value(text, position)
        if not complete:
            rest = text[position:]
            if len(rest) > ROW_CHARACTERS_MAX:
                yield line, rest, f"This row is longer than {ROW_CHARACTERS_MAX >> 20} million characters."
                return
            more = reader.read(max(CHUNK_CHARACTERS, len(rest)))
            if more:
                text, position = rest + more, 0
                continue
            yield line, rest, "The file ends in the middle of this row."
            return
        yield line, text[position:end], ""
        line += text.count("\n", position, end)
        position = end


def _ends_object(rest: str) -> bool:
    """Whether this, after the first value of an object, is the rest of the object and nothing more."""
    if n_values(rest) > ROW_VALUES_MAX:
        return False
    try:
        json.loads(f'{{"issues":[]{rest}')
    except (ValueError, RecursionError):
        return False
    return True


def _end_of_value(text: str, start: int) -> tuple[int, bool]:
    """Where the value at `start` ends, and whether all of it is there; no more than ROW_VALUES_MAX are built for it."""
    if text[start] == "{" and len(text) - start > 2 * CHUNK_CHARACTERS:
        try:
            return start + _SCAN(text[start : start + CHUNK_CHARACTERS])[1], True
        except (ValueError, RecursionError):
            end, complete = _end_of_object(text, start)
        if n_values(text[start:end]) > ROW_VALUES_MAX:
            return end, complete
    try:
        end = _SCAN(text, start)[1]
        return end, end < len(text) or text[start] in '{"'
    except (ValueError, RecursionError):
        pass
    if text[start] != "{":
        found = re.compile(r"[,\[\]{}\n]").search(text, start + 1)
        return (found.start(), True) if found else (len(text), False)
    return _end_of_object(text, start)


def _end_of_object(text: str, start: int) -> tuple[int, bool]:
    """The end of a faulty or unfinished object by its brackets, so that the next one can be read."""
    depth, in_text, position = 0, False, start
    while found := _MARKS.search(text, position):
        mark, position = found.group(), found.end()
        if mark == "\\":
            position += 1
        elif mark == '"':
            in_text = not in_text
        elif not in_text:
            depth += 1 if mark in "{[" else -1
            if depth <= 0:
                return position, True
    return len(text), False
