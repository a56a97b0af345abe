"""Files of issues, row by row at constant memory.

JSON Lines, one JSON array or several, the output of `gh issue list --json …` and of `gh api --paginate`.
"""

import codecs
import io
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO

from ingest.errors import RowError
from ingest.github.parse import NotAnIssue, Repository, parse_issue
from ingest.records import IssueRecord, storable

CHUNK_CHARACTERS = 1 << 20
ROW_CHARACTERS_MAX = 32 << 20
EXCERPT_CHARACTERS = 300

_BETWEEN = re.compile(r"[\s,\[\]]*")
_MARKS = re.compile(r'["{}\[\]\\]')
_NOT_UTF8 = re.compile("[\udc80-\udcff]")
_SCAN = json.JSONDecoder().raw_decode


@dataclass(frozen=True, slots=True)
class Row:
    """One row of a file: an issue, or why it is none; `line` counts from 1."""

    line: int
    record: IssueRecord | None = None
    refusal: str = ""
    is_pull_request: bool = False
    excerpt: str = ""


class NumberSet:
    """A set of whole numbers that stays small where they lie close together, as the numbers of issues do."""

    def __init__(self) -> None:
        self._blocks: dict[int, int] = {}

    def add(self, number: int) -> bool:
        """Whether the number is new."""
        block, bit = number >> 10, 1 << (number & 1023)
        bits = self._blocks.get(block, 0)
        self._blocks[block] = bits | bit
        return not bits & bit


def read_rows(file: BinaryIO, repository: Repository | None = None) -> Iterator[Row]:
    """The rows of a file in order, each issue once; memory does not grow with the file.

    `repository` (host, owner, name) is for rows that don't say where they are from. Reading the same file again gives
    the same rows, so that a count of rows is a cursor.
    """
    seen: dict[Repository, NumberSet] = {}
    for line, text, fault in _values(file):
        if fault:
            yield Row(line, refusal=fault, excerpt=_excerpt(text))
            continue
        row = _row(line, text, repository)
        for result in row:
            record = result.record
            if record and not seen.setdefault(record.repository, NumberSet()).add(record.number):
                result = Row(line, refusal=f"{record.identifier} is in this file already.", excerpt=_excerpt(text))
            yield result


def _row(line: int, text: str, repository: Repository | None) -> Iterator[Row]:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        yield Row(line, refusal=f"This is not valid JSON: {_reason(error)}.", excerpt=_excerpt(text))
        return
    inner = value.get("items") if isinstance(value, dict) and "total_count" in value else None
    values = inner if isinstance(inner, list) else value if isinstance(value, list) else [value]
    for part in values:
        try:
            yield Row(line, record=parse_issue(part, repository))
        except NotAnIssue:
            yield Row(line, is_pull_request=True)
        except RowError as error:
            yield Row(line, refusal=str(error), excerpt=_excerpt(text))


def _reason(error: Exception) -> str:
    if isinstance(error, json.JSONDecodeError):
        return f"{error.msg} at character {error.pos + 1}"
    return "it is nested too deeply" if isinstance(error, RecursionError) else "a number is too long"


def _excerpt(text: str) -> str:
    text = _NOT_UTF8.sub("\ufffd", text.strip())
    return storable(text if len(text) <= EXCERPT_CHARACTERS else f"{text[:EXCERPT_CHARACTERS]}…")


def _values(file: BinaryIO) -> Iterator[tuple[int, str, str]]:
    """(line, text of one JSON value, fault) over the file; where a fault is given the text can't be a value."""
    reader = io.TextIOWrapper(file, encoding=_encoding(file), errors="surrogateescape", newline="\n")
    try:
        line = 1
        while (first := reader.readline(ROW_CHARACTERS_MAX)) and not first.strip().strip("\ufeff"):
            line += 1
        start = first.lstrip().lstrip("\ufeff")
        by_line = not start.startswith("[") and start.strip() != "{"
        found = _lines(reader, first, line) if by_line else _stream(reader, first, line)
        for number, text, fault in found:
            if not fault and _NOT_UTF8.search(text):
                fault = "This row has bytes that are not UTF-8; save the file as UTF-8."
            yield number, text, fault
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
            yield line, text[:1000], f"This row is longer than {ROW_CHARACTERS_MAX >> 20} million characters."
            while text and not text.endswith("\n"):
                text = reader.readline(CHUNK_CHARACTERS)
        elif text.strip():
            yield line, text.strip().lstrip("\ufeff"), ""
        line += 1
        text = reader.readline(ROW_CHARACTERS_MAX)


def _stream(reader: io.TextIOWrapper, text: str, line: int) -> Iterator[tuple[int, str, str]]:
    """The items of one or several arrays (`[…][…]`, `[[…],[…]]`), or objects that span lines."""
    depth, position, opened = 0, 0, line
    while True:
        gap = _BETWEEN.match(text, position)
        assert gap is not None
        between = gap.group()
        if "[" in between and depth == 0:
            opened = line + between.count("\n", 0, between.index("["))
        depth += between.count("[") - between.count("]")
        line += between.count("\n")
        position = gap.end()
        if position == len(text):
            text, position = reader.read(CHUNK_CHARACTERS), 0
            if not text:
                if depth > 0:
                    yield line, "", f"The file ends inside the list that begins in line {opened}; the rest is missing."
                return
            continue
        end, complete = _end_of_value(text, position)
        if not complete:
            rest = text[position:]
            if len(rest) > ROW_CHARACTERS_MAX:
                yield line, rest[:1000], f"This row is longer than {ROW_CHARACTERS_MAX >> 20} million characters."
                return
            more = reader.read(max(CHUNK_CHARACTERS, len(rest)))
            if more:
                text, position = rest + more, 0
                continue
            yield line, rest[:1000], "The file ends in the middle of this row."
            return
        yield line, text[position:end], ""
        line += text.count("\n", position, end)
        position = end


def _end_of_value(text: str, start: int) -> tuple[int, bool]:
    """Where the value at `start` ends, and whether all of it is there."""
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
