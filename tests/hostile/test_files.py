"""Hostile files: each is refused in words before it is unpacked, or read as the harmless thing that it is."""

import base64
import io
import json
import subprocess
import sys
import tracemalloc
import zipfile
from collections.abc import Callable, Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any

import openpyxl
import pyarrow as pa
import pyarrow.parquet
import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from openpyxl.utils import get_column_letter

from annotation.core import parquet_sheets, sheet_tables
from annotation.core.errors import Unreadable as Unfit
from annotation.core.parquet_pages import largest_pages
from annotation.core.parquet_sheets import read_parquet
from annotation.imports.sheets import books
from annotation.imports.sheets.books import SheetBook, open_book
from ingest.actions.uploads import asked_of_file, take_file
from ingest.errors import Unreadable
from ingest.files import json_rows
from ingest.files.json_rows import read_rows
from ingest.tables import files, open_table
from shared.storable_json import DEEPEST
from taxonomy.errors import UnreadableDocument
from taxonomy.parsing import read
from tests import builders as make

BASE_DIR = Path(__file__).resolve().parents[2]
BOMB = '<!DOCTYPE x [<!ENTITY a "aaaaaaaaaa">' + "".join(
    f'<!ENTITY {name} "{f"&{before};" * 10}">' for before, name in zip("abcdefgh", "bcdefghi", strict=True)
)


def workbook(spoil: Mapping[str, Callable[[str], str]] | None = None, **more: str) -> io.BytesIO:
    """A workbook of two columns and a row, some of whose parts are spoilt; `more` are parts by their name."""
    book = openpyxl.Workbook()
    book.active.append(["item", "R1"])
    book.active.append(["a/b#1", "crash"])
    whole, made = io.BytesIO(), io.BytesIO()
    book.save(whole)
    with zipfile.ZipFile(whole) as source, zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as target:
        for name in source.namelist():
            content = source.read(name).decode()
            target.writestr(name, (spoil or {}).get(name, str)(content))
        for name, content in more.items():
            target.writestr(name, content)
    made.seek(0)
    return made


def rows_of(file: io.BytesIO) -> list[list[str]]:
    return [list(row.cells) for row in open_table(file).rows]


def head(content: str) -> Callable[[str], str]:
    """Puts something before the root of a sheet."""
    return lambda xml: xml.replace("<worksheet", content + "<worksheet", 1)


SHEET = "xl/worksheets/sheet1.xml"
MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
RELATED = "http://schemas.openxmlformats.org/officeDocument/2006/relationships/sharedStrings"
KIND = "application/vnd.openxmlformats-officedocument.spreadsheetml.sharedStrings+xml"


def with_texts(number: int, texts: str, n_cells: int = 1) -> io.BytesIO:
    """A workbook whose last cell, or so many of them, are the shared text of a number."""
    related = f'<Relationship Id="rId9" Type="{RELATED}" Target="/xl/sharedStrings.xml"/></Relationships>'
    listed = f'<Override PartName="/xl/sharedStrings.xml" ContentType="{KIND}"/></Types>'
    spoil = {
        SHEET: lambda xml: xml.replace(
            '<c r="B2" t="inlineStr"><is><t>crash</t></is></c>',
            "".join(f'<c r="{get_column_letter(2 + at)}2" t="s"><v>{number}</v></c>' for at in range(n_cells)),
        ),
        "xl/_rels/workbook.xml.rels": lambda xml: xml.replace("</Relationships>", related),
        "[Content_Types].xml": lambda xml: xml.replace("</Types>", listed),
    }
    return workbook(spoil, **{"xl/sharedStrings.xml": texts})


SHARED = f'<sst xmlns="{MAIN}"><si><t>hang</t></si></sst>'
BROKEN_BOOKS = {
    "entities that grow": lambda: workbook({SHEET: lambda xml: head(BOMB + "]>")(xml).replace("crash", "&i;")}),
    "an entity of another file": lambda: workbook(
        {SHEET: lambda xml: head('<!DOCTYPE x [<!ENTITY a SYSTEM "file:///etc/passwd">]>')(xml)}
    ),
    "entities in shared texts": lambda: with_texts(0, BOMB + "]>" + SHARED.replace("hang", "&i;")),
    "a text number that is none": lambda: with_texts(99_999_999, SHARED),
    "a cell far beyond the last column": lambda: workbook({SHEET: lambda xml: xml.replace('r="B2"', 'r="ZZZZZ2"')}),
    "a long text in very many cells": lambda: with_texts(0, SHARED.replace("hang", "a" * (1 << 17)), 400),
    "a cell of 40 MB": lambda: workbook({SHEET: lambda xml: xml.replace("crash", "a" * (40 << 20))}),
    "a shared text of 40 MB": lambda: with_texts(0, SHARED.replace("hang", "a" * (40 << 20))),
    "ten thousand parts": lambda: workbook(**{f"xl/media/{number}.bin": "" for number in range(10_001)}),
    "a style sheet of 40 MB": lambda: workbook(**{"xl/styles2.xml": " " * (40 << 20)}),
}


@pytest.mark.parametrize("name", BROKEN_BOOKS)
def test_a_workbook_that_is_a_trap_is_refused_in_words(name: str) -> None:
    file = BROKEN_BOOKS[name]()
    with pytest.raises(Unreadable) as refused:
        rows_of(file)
    assert "CSV" in refused.value.message or "workbook" in refused.value.message
    assert "passwd" not in refused.value.message


def test_a_workbook_is_read_without_its_links_macros_and_the_size_it_claims() -> None:
    link = '<externalLink xmlns="x"><externalBook r:id="rId1"/></externalLink>'
    dtd = head('<!DOCTYPE x SYSTEM "http://canary.invalid/x.dtd">')
    file = workbook(
        {SHEET: lambda xml: dtd(xml.replace('<dimension ref="A1:B2"', '<dimension ref="A1:XFD1048576"'))},
        **{"xl/externalLinks/externalLink1.xml": link, "xl/vbaProject.bin": "Sub AutoOpen()", "../../evil.xml": "<x/>"},
    )
    assert rows_of(file) == [["a/b#1", "crash"]]
    assert rows_of(with_texts(0, SHARED)) == [["a/b#1", "hang"]]


@pytest.mark.parametrize(
    "content", [b"\x1f\x8b\x08\x00" + b"\0" * 60, b"BZh9" + b"\0" * 60, b"\xfd7zXZ\0" + b"\0" * 60]
)
def test_what_is_packed_otherwise_is_not_unpacked(content: bytes) -> None:
    with pytest.raises(Unfit, match="is compressed. Unpack it first"):
        open_book(io.BytesIO(content), "ratings.csv.gz")


def zipped(*names: str, content: bytes = b"item,R1\na/b#1,crash\n") -> io.BytesIO:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as target:
        for name in names:
            target.writestr(name, content)
    made.seek(0)
    return made


NAMES = [
    "../../etc/cron.d/x.csv", "/etc/passwd.csv", "C:\\x.csv", "con.csv", "a" * 500 + ".csv", "\u202evsc.exe",
    "x\n.csv", "<img src=x onerror=pwned=1>.csv", "$(id).csv", "-rf.csv",
]  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_names_inside_a_zip_lead_nowhere(name: str, tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    book: SheetBook = open_book(zipped(name), "all.zip")
    assert [line.cells for line in book.sheets[0].lines] == [["item", "R1"], ["a/b#1", "crash"]]
    assert "/" not in book.sheets[0].file and len(book.sheets[0].file) <= 150
    assert list(tmp_path.iterdir()) == []


@pytest.mark.django_db
@pytest.mark.parametrize("name", [*NAMES, "", ".", "..", "\0.csv"])
def test_names_of_uploads_lead_nowhere(name: str, settings: Any) -> None:
    row = b'{"number": 1, "title": "t", "repository": "o/r"}\n'
    file = SimpleUploadedFile("x.json", row)
    file._name = name  # past Django's own cleaning
    run = take_file(user=make.user("olga"), file=file)
    assert run.upload.name.startswith("uploads/") and ".." not in run.upload.name
    assert len(run.requested["file"]) <= 200 and "/" not in run.requested["file"] and "\0" not in run.requested["file"]
    assert asked_of_file(file, None, False)["bytes"] == len(row)


def test_a_zip_that_says_less_than_it_holds_is_refused() -> None:
    file = zipped("a.csv", content=b"item,R1\n" * 100_000)
    lying = file.getvalue().replace((800_000).to_bytes(4, "little"), (8).to_bytes(4, "little"))
    with pytest.raises(Unfit, match="unpack"):
        open_book(io.BytesIO(lying), "all.zip")


@pytest.mark.parametrize(("at", "put"), [(6, b"\1\0"), (8, b"\x0c\0"), (8, b"\x63\0"), (60, b"\xff" * 20)])
def test_a_zip_with_a_password_of_another_kind_or_broken_within_is_refused(at: int, put: bytes) -> None:
    """The bytes stand in the head of the entry and, two further on, in the list at the end."""
    content = zipped("ratings.csv", content=b"item,R1\n" + bytes(range(32, 127)) * 50).getvalue()
    there = content.index(b"PK\1\2") + 2 + at
    spoiled = content[:at] + put + content[at + len(put) :]
    if at < 30:
        spoiled = spoiled[:there] + put + spoiled[there + len(put) :]
    with pytest.raises(Unfit, match="unpacked"):
        open_book(io.BytesIO(spoiled), "all.zip")


def parquet(columns: Mapping[str, Any], **more: Any) -> io.BytesIO:
    file = io.BytesIO()
    pyarrow.parquet.write_table(pa.table(dict(columns)), file, **more)
    file.seek(0)
    return file


def test_a_parquet_file_of_a_few_bytes_that_repeats_a_long_text_is_refused() -> None:
    text = pa.DictionaryArray.from_arrays(pa.array([0] * 20_000, pa.int32()), ["x" * 1_000_000])
    file = parquet({"item": text}, compression="zstd")
    assert len(file.getvalue()) < 100_000
    with pytest.raises(Unfit, match="MB of text"):
        list(sheet_tables.open_table(file).rows)


@pytest.mark.parametrize("is_stored", [False, True], ids=["plain schema", "schema of Arrow"])
def test_neither_lists_nor_bytes_repeat_a_long_text_in_memory(is_stored: bool) -> None:
    at = pa.array([0] * 2_000, pa.int32())
    texts = pa.ListArray.from_arrays(
        pa.array(range(2_001), pa.int32()), pa.DictionaryArray.from_arrays(at, ["x" * 500_000])
    )
    made_of_bytes = pa.DictionaryArray.from_arrays(at, [b"x" * 500_000])
    fixed = pa.array([b"x" * 16] * 10, pa.binary(16))
    before = pa.total_allocated_bytes()
    for column, words in ((texts, "MB of text"), (made_of_bytes, "contains bytes"), (fixed, "contains bytes")):
        with pytest.raises(Unfit, match=words):
            list(read_parquet(parquet({"item": column}, compression="zstd", store_schema=is_stored)))
    assert pa.total_allocated_bytes() - before < 50_000_000
    with pytest.raises(Unfit, match="values in lists"):
        list(read_parquet(parquet({"item": [[1] * 600_000]})))


def varint(number: int) -> bytes:
    """A number as the header of a page holds it."""
    found, number = bytearray(), number * 2
    while number > 127:
        found.append(number & 127 | 128)
        number >>= 7
    return bytes([*found, number])


def test_pages_of_parquet_are_measured_by_their_own_headers(monkeypatch: pytest.MonkeyPatch) -> None:
    content = parquet({"item": ["x" * 2_000_000]}, compression="zstd", use_dictionary=False).getvalue()
    size, n_pages = largest_pages(io.BytesIO(content), 4, 100)
    assert n_pages == 1 and len(list(read_parquet(io.BytesIO(content)))) == 2
    forged = content.replace(varint(size), varint(134_000_000), 1)
    assert forged.index(varint(134_000_000)) < 40
    monkeypatch.setattr(parquet_sheets, "PAGES_BYTES_MAX", 100 << 20)
    with pytest.raises(Unfit, match="take more than 100 MB at once"):
        list(read_parquet(io.BytesIO(forged)))
    monkeypatch.setattr(parquet_sheets, "PAGES_BYTES_MAX", 1 << 20)
    many = [str(number).zfill(600) for number in range(1_000)]
    for pages in ({"a": ["x" * 2_000_000]}, {"a": many, "b": many}):
        with pytest.raises(Unfit, match="take more than 1 MB at once"):
            list(read_parquet(parquet(pages, compression="zstd")))
    for broken in (b"\x15", b"\x19", b"\x1c" * 20, b"\x15" + b"\xff" * 12, b"\x25\x01\x00"):
        with pytest.raises(ValueError, match="header of a page|below zero"):
            largest_pages(io.BytesIO(broken), 0, len(broken))


@pytest.mark.parametrize("kind", ["json", "decimal"])
def test_texts_of_parquet_that_are_never_read_as_dictionaries_are_refused(kind: str) -> None:
    column: Any = pa.ExtensionArray.from_storage(pa.json_(), pa.array(["[1]"]))
    if kind == "decimal":
        column = pa.array([Decimal("1.5")], pa.decimal128(5, 2))
    file = parquet({"item": column})
    if kind == "json":
        with pytest.raises(Unfit, match="texts of the kind JSON"):
            sheet_tables.open_table(file)
    else:
        assert [list(row.cells) for row in sheet_tables.open_table(file).rows] == [["1.50"]]


def test_a_parquet_file_larger_or_deeper_than_a_sheet_is_refused_before_it_is_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with pytest.raises(Unfit, match="more than 1,000,000 rows"):
        list(read_parquet(parquet({"item": pa.nulls(1_000_001, pa.string())})))
    deep: Any = pa.string()
    for _ in range(30):
        deep = pa.list_(deep)
    for kind in (deep, pa.struct([("a", pa.string())]), pa.map_(pa.string(), pa.string())):
        with pytest.raises(Unfit, match="tables within cells"):
            list(read_parquet(parquet({"item": pa.nulls(1, kind)})))
    monkeypatch.setattr(parquet_sheets, "EXPANDED_BYTES_MAX", 100)
    with pytest.raises(Unfit, match="larger than a gigabyte"):
        list(read_parquet(parquet({"item": [f"o/r#{number}" for number in range(100)]})))
    broken = parquet({"item": ["a"]}).getvalue()
    for content in (b"PAR1" + b"\xff" * 100, broken[:-20], broken[:40] + b"\xff" * 30 + broken[70:]):
        with pytest.raises(Unfit, match="can't be read"):
            list(read_parquet(io.BytesIO(content)))


def test_parquet_is_read_as_it_is_stored() -> None:
    file = parquet({"item": ["o/r#1", None, "o/r#1"], "n": [1.0, 2.5, None], "tags": [["a", "b"], [], None]})
    table = sheet_tables.open_table(file)
    assert [list(row.cells) for row in table.rows] == [["o/r#1", "1", "a; b"], ["", "2.5", "[]"], ["o/r#1", "", ""]]


DAMAGED = base64.b64decode(
    "UEFSMRUEFSQVKEwVBBUAEgAAEkQFAAAAYS9iIzEFAAAAYS9iIzIVABUSFRYsFQQVEBUGFQYcNgAoBWEvYiMyGAVhL2IjMRERAAAACSACAAAABA"
    "EBAwIVBBUMFRBMFQIVABIAAAYUAgAAAGFsFQAVEhUWLBUEFRAVBhUGHDYCKAJhbBgCYWwREQAAAAkgAgAAAAMBAQIAFQQZPDUAGAZzY2hlbWEV"
    "BAAVCCUCGARpdGVtJQBMHAAAABUMJQIYBXJhdGVyJQBMHAAAABYEGRwZLCYAHBUMGTUABhAZGARpdGVtFQIWBBacARakASZMJggcNgAoBWEvYi"
    "MyGAVhL2IjMRERABksFQQVABUCABUAFRAVAgA8FhQZBhkmAAQAAAAmABwVDBk1AAYQGRgFcmF0ZXIVAhYEFngWgAEm2AEmrAEcNgIoAmFsGAJh"
    "bBERABksFQQVABUCABUAFRAVAgA8FgQZBhkmAgIAAAAWlAIWBCYIFqQCABkcGAxBUlJPVzpzY2hlbWEY4AEvLy8vLzZBQUFBQVFBQUFBQUFBS0"
    "FBd0FCZ0FGQUFnQUNnQUFBQUFCQkFBTUFBQUFDQUFJQUFBQUJBQUlBQUFBQkFBQUFBSUFBQUJBQUFBQUJBQUFBTmovLy84QUFBRUZFQUFBQUJn"
    "QUFBQUVBQUFBQUFBQUFBVUFBQUJ5WVhSbGNnQUFBTWovLy84UUFCUUFDQUFHQUFjQURBQUFBQkFBRUFBQUFBQUFBUVVRQUFBQUhBQUFBQVFBQU"
    "FBQUFBQUFCQUFBQUdsMFpXMEFBQUFBQkFBRUFBUUFBQUFBQUFBQQAYIHBhcnF1ZXQtY3BwLWFycm93IHZlcnNpb24gMjYuMC4xGSwcAAAcAAAA"
    "/gEAAFBBUjE="
)
"""Two rows, and one wrong byte, by which Arrow 26 ends its process."""


@pytest.mark.django_db
def test_a_damaged_parquet_file_ends_no_process_of_the_server() -> None:
    with pytest.raises(Unfit, match="is damaged|can't be read"):
        sheet_tables.open_table(io.BytesIO(DAMAGED))
    client = Client()
    client.force_login(make.user("eve"))
    answer = client.post("/studies/import/", {"file": SimpleUploadedFile("a.parquet", DAMAGED)})
    assert answer.status_code == 422 and "Write it again, or import it as CSV" in answer.content.decode()


def test_dates_of_parquet_beyond_the_year_9999_are_refused() -> None:
    far = pa.array([2**60], pa.timestamp("us"))
    with pytest.raises(Unfit, match="can't be read"):
        list(sheet_tables.open_table(parquet({"item": ["a"], "day": far})).rows)


@pytest.mark.parametrize("written", [b"", b'[0, ["a"]]\n', b'[0, ["a"]]\n[1, ["o/r#', b'[0, ["a"]]\n[1, ["b"]]\n'])
def test_rows_of_a_parquet_file_whose_process_ends_on_the_way_are_no_whole_file(
    written: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    popen = subprocess.Popen
    code = f"import os; os.write(1, {written!r}); os.abort()"
    monkeypatch.setattr(subprocess, "Popen", lambda command, **more: popen([sys.executable, "-c", code], **more))
    with pytest.raises(Unfit, match="is damaged"):
        list(sheet_tables.parquet_lines(parquet({"item": ["o/r#1"]})))


def test_the_process_that_reads_parquet_ends_with_its_reader(monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[subprocess.Popen[bytes]] = []
    popen = subprocess.Popen

    def start(*given: Any, **more: Any) -> "subprocess.Popen[bytes]":
        started.append(popen(*given, **more))
        return started[-1]

    monkeypatch.setattr(subprocess, "Popen", start)
    table = sheet_tables.open_table(parquet({"item": [f"o/r#{number}" for number in range(100_000)]}))
    assert next(table.rows).cells == ["o/r#0"] and started[0].poll() is None
    del table
    assert started[0].poll() is not None


def test_a_table_of_a_million_columns_is_refused_by_its_head() -> None:
    with pytest.raises(Unreadable, match="columns. At most 2000 are allowed"):
        open_table(io.BytesIO(",".join(f"c{number}" for number in range(200_000)).encode() + b"\n"))
    with pytest.raises(Unreadable):
        open_table(io.BytesIO(b"," * 8_000_000))


@pytest.mark.parametrize(
    "text",
    ["[" * 100_000, '{"a":' * 100_000 + "1", '{"number": 1' + "0" * 5000 + "}", '{"number": 1e999}', '{"number": NaN}',
     '{"number": 1, "number": 2, "title": []}', '{"__proto__": {"number": 1}}', '{"number": -1, "title": "x"}'],
)  # fmt: skip
def test_json_that_is_too_deep_too_large_or_double_is_refused_by_row(text: str) -> None:
    rows = list(read_rows(io.BytesIO(f'{text}\n{{"number": 7, "title": "t", "repository": "o/r"}}\n'.encode())))
    assert any(row.refusal for row in rows)
    assert any(row.record for row in rows) or len(rows) == 1


@pytest.mark.parametrize(("before", "between", "after"), [("", "\n", ""), ("[", ",\n", "]")], ids=["lines", "a list"])
@pytest.mark.parametrize("n_words", [0, 10_000])
def test_a_row_of_very_many_values_is_refused_before_they_are_built(
    before: str, between: str, after: str, n_words: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(json_rows, "ROW_VALUES_MAX", 1_000)
    monkeypatch.setattr(json_rows, "CHUNK_CHARACTERS", 1_000)
    monkeypatch.setattr(json_rows, "ROW_CHARACTERS_KEPT", 100)
    row = '{"number": %d, "title": "t", "body": "%s", "repository": "o/r", "of": [%s{}]}'
    rows = (row % (1, "word " * n_words, ""), row % (2, "", "{}," * 20_000), row % (3, "", "{}," * 400))
    content = f"{before}{between.join(rows)}{after}".encode()
    tracemalloc.start()
    try:
        found = list(read_rows(io.BytesIO(content)))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert [row.record.number if row.record else row.refusal for row in found] == [
        1, "This row has more than 1,000 values, counted by the characters {, [ and the comma.", 3
    ]  # fmt: skip
    assert peak < 1_200_000


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("tasks.json", b"[" + b"{}," * 1_000_000 + b"{}]", "values"),
        ("a.csv", b"item,R1\n" + b'"\n",' * 300_000, "longer than"),
        ("b.csv", b"item,R1\n" + (b"x" * 90_000 + "\U0001f41b\n".encode()) * 30, "MB of memory"),
    ],
    ids=["empty objects", "a row over many lines", "an emoji in each row"],
)
def test_a_zip_of_a_few_bytes_does_not_fill_the_memory(
    name: str, content: bytes, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "ROW_CHARACTERS_MAX", 1 << 20)
    monkeypatch.setattr(books, "TEXT_BYTES_MAX", 8 << 20)
    file = zipped(name, content=content)
    assert len(file.getvalue()) < 20_000
    with pytest.raises(Unreadable, match=words):
        open_book(file, "all.zip")


def nested(levels: int, start: str = "[", end: str = "]") -> str:
    return start * levels + "1" + end * levels


TASK = '[{"id": 1, "data": {"text": "x"}, "annotations": [{"completed_by": %s, "result": []}]}]'


@pytest.mark.parametrize(
    "text",
    ['[{"data": ' + "[" * 5000 + "]" * 5000 + "}]", "[" * 100_000, '{"label": 1e999}', TASK % nested(300),
     TASK % nested(990, '{"id": ', "}"), '[{"id": 1, "text": "x", "label": ["a"], "user": ' + nested(300) + "}]",
     '[{"id": 1, "annotator": 1, "annotation_id": 3, "s": ' + nested(300) + "}]"],
)  # fmt: skip
def test_json_of_other_tools_that_is_too_deep_is_refused(text: str) -> None:
    with pytest.raises(Unfit):
        open_book(io.BytesIO(text.encode()), "tasks.json")


def test_json_in_a_cell_that_is_too_deep_stays_as_it_is() -> None:
    cell = '{"choices":[' + nested(300) + "]}"
    sheet = open_book(
        io.BytesIO(f'annotation_id,annotator,s\n1,2,"{cell.replace(chr(34), chr(34) * 2)}"\n'.encode()), "a.csv"
    )
    assert [list(line.cells) for line in sheet.sheets[0].lines[1:]] == [["1", "2", cell]]
    assert len(open_book(io.BytesIO((TASK % nested(40)).encode()), "tasks.json").sheets) == 1


YAML = {
    "aliases that grow": "a: &a [x, x]\nb: &b [*a, *a]\nc: [*b, *b]",
    "a tag": "slug: !!python/object/apply:os.system [id]",
    "a tag of its own": "slug: !include /etc/passwd",
    "a merge": "base: {slug: x}\n<<: *base",
    "a well of brackets": "[" * 5000,
    "a well of keys": "".join(f"{' ' * depth}a:\n" for depth in range(200)),
    "two documents": "slug: a\n---\nslug: b",
    "a directive": "%YAML 9.9\n---\nslug: a\n---\n",
    "NUL": 'slug: "a\0b"',
    "too much": "a" * 2_000_001,
}


@pytest.mark.parametrize("text", YAML.values(), ids=YAML.keys())
def test_a_document_that_is_a_trap_is_refused_with_its_line(text: str) -> None:
    with pytest.raises(UnreadableDocument) as refused:
        read(text)
    assert refused.value.problems[0].line >= 1


def test_json_of_requests_has_an_end_to_its_depth() -> None:
    assert DEEPEST < 100
    assert json.loads("[" * DEEPEST + "]" * DEEPEST) is not None
