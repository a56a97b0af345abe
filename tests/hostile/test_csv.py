"""CSV that leaves Concord: no cell is a formula, and each cell reads as the text that was written."""

import ast
import csv
import io
import json
import re
import shutil
import subprocess
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import openpyxl
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from django.core.management import call_command
from hypothesis import example, given, settings
from hypothesis import strategies as st

from annotation.exports import columns as export_columns
from annotation.exports import record_batches
from annotation.exports.queries.kinds import KINDS
from annotation.imports.sheets import open_table as rating_table
from annotation.imports.sheets.books import open_book
from annotation.package import dictionary, tables
from config.settings import BASE_DIR
from ingest.tables import open_table as issue_table
from ingest.tables.issues import read_rows
from shared.csv_files import DANGEROUS, SafeCsv, as_lines, defused, undefused
from tests import builders as make
from tests.annotation import permission_study
from tests.annotation.script import recompute
from tests.hostile.corpus import PLACES, SPREADSHEETS
from tests.hostile.hostile_study import make_hostile_study
from tests.simulation import examples

HOSTILE = [text.replace("\0", "") for text in dict.fromkeys([*SPREADSHEETS, *PLACES]) if text.strip()]
NUMBER = re.compile(r"-?(\d+(\.\d+)?(e[+-]?\d+)?|inf)")
PIECES = st.sampled_from(
    [*"'=+-@=1a \t\r\n,;\"|%\x0b\x1c", "\u00a0", "\u200b", "\ufeff", "＝", "－", "′", "’", "\u3000"]
)
TEXTS = st.lists(PIECES, max_size=8).map("".join) | st.text(st.characters(exclude_categories=["Cs"]), max_size=20)


def by_python(sent: str) -> list[list[str]]:
    return list(csv.reader(io.StringIO(sent, newline=""), strict=True))


def by_pandas(sent: str) -> list[list[str]]:
    frame = pd.read_csv(
        io.BytesIO(sent.encode()), dtype=str, keep_default_na=False, header=None, skip_blank_lines=False
    )
    return frame.to_numpy().tolist()


def cells_of(sent: str) -> list[list[str]]:
    """The cells that Python and pandas read alike, every row as long as the first; none is a formula."""
    rows = by_python(sent)
    assert {len(row) for row in rows} == {len(rows[0])}
    assert by_pandas(sent) == rows
    for cell in (cell for row in rows for cell in row):
        assert cell[:1] == "'" or not re.match(DANGEROUS, cell) or NUMBER.fullmatch(cell), cell
    return rows


# The rule


@given(TEXTS)
@example("'=1")
@example("'''\n=1")
@example("' '=1")
@example("-3")
def test_taking_the_apostrophe_away_gives_back_every_text(text: str) -> None:
    cell = defused(text)
    assert undefused(cell) == text == recompute.text_of(cell)
    assert cell[:1] == "'" or not re.match(DANGEROUS, cell)
    assert cell in (text, f"'{text}")


@given(TEXTS, TEXTS)
def test_no_two_texts_become_one_cell(one: str, other: str) -> None:
    assert (defused(one) == defused(other)) == (one == other)


@pytest.mark.parametrize(
    "text", ["=1", " =1", "\n=1", "\t\r+1", "\u00a0-1", "\ufeff@x", "\u200b=1", "＝1", "＋1", "－1", "＠x"]
)
def test_what_a_spreadsheet_may_evaluate_begins_with_an_apostrophe(text: str) -> None:
    assert defused(text) == f"'{text}"


@pytest.mark.parametrize("text", ["", "'", "'s", "a=1", "1-2", "|x", "%x", "−0.04", "(=1)", "’=1", " 'x'"])
def test_what_no_spreadsheet_evaluates_stays_as_it_is(text: str) -> None:
    assert defused(text) == text == undefused(text)


@settings(max_examples=examples(60))
@given(st.lists(st.tuples(TEXTS, TEXTS, st.integers() | st.floats(allow_nan=False)), min_size=1, max_size=5))
def test_every_text_and_number_reads_as_it_was_written_whatever_ends_the_lines(
    rows: list[tuple[str, str, float]],
) -> None:
    texts = [(one.replace("\0", ""), other.replace("\0", ""), number) for one, other, number in rows]
    for end in ("\n", "\r\n"):
        text = io.StringIO(newline="")
        SafeCsv(text, lineterminator=end).rows([("one", "other", "number"), *texts])
        read = cells_of(text.getvalue())[1:]
        assert [[undefused(one), undefused(other), float(number)] for one, other, number in read] == [
            [one, other, float(number)] for one, other, number in texts
        ]
    assert by_python(as_lines([each[:2] for each in texts])) == [list(each[:2]) for each in texts]


def test_no_row_is_cut_where_a_text_has_a_lone_carriage_return() -> None:
    text = io.StringIO(newline="")
    SafeCsv(text).rows([["acme/rocket#1", "ok\r=1+1", -0.04, None]])
    assert text.getvalue() == 'acme/rocket#1,"ok\r=1+1",-0.04,\n'


# Who writes


def test_nothing_but_the_one_writer_writes_csv() -> None:
    """Whatever else knows how to make lines of CSV is not called, and no module brings its own quotes."""
    forbidden = {("csv", "writer"), ("csv", "DictWriter"), ("csv", "write_csv"), ("csv", "CSVWriter")}
    found = set()
    for app in ("accounts", "agreement", "annotation", "config", "ingest", "shared", "taxonomy"):
        for path in (BASE_DIR / app).rglob("*.py"):
            name = str(path.relative_to(BASE_DIR))
            text = path.read_text()
            for node in ast.walk(ast.parse(text)) if "csv" in text else ():
                if isinstance(node, ast.Attribute):
                    of = node.value.id if isinstance(node.value, ast.Name) else ""
                    if (of, node.attr) in forbidden or node.attr in ("to_csv", "write_csv"):
                        found.add((name, node.attr))
                elif isinstance(node, ast.ImportFrom) and node.module in ("csv", "pyarrow.csv"):
                    found |= {(name, each.name) for each in node.names}
                elif isinstance(node, ast.Constant) and re.search(r"(?is)TO STDOUT.*csv", str(node.value)):
                    found.add((name, "COPY"))
    assert found == {
        ("shared/csv_files.py", "writer"),
        ("annotation/labels/queries/batches/chunks.py", "COPY"),  # read again by the next line, and never sent
    }


def test_the_quick_writer_of_batches_makes_the_same_cells() -> None:
    texts = [*PLACES, *SPREADSHEETS, "", "x"]
    texts = [text.replace("\0", "") for text in texts if text.isprintable() or "\r" in text or "\n" in text]
    columns = {"item": pa.string(), "memo": pa.dictionary(pa.int32(), pa.string()), "values": pa.list_(pa.string())}
    columns |= {"number": pa.float64()}
    batch = pa.RecordBatch.from_arrays(
        [
            pa.array(texts),
            pa.array(texts).dictionary_encode(),
            pa.array([json.dumps([text, "b"]) for text in texts]).dictionary_encode(),
            pa.array([-0.04] * len(texts)),
        ],
        names=list(columns),
    )
    sent = b"".join(record_batches.write_batches(columns, "csv", [batch])).decode()
    read = cells_of(sent)[1:]
    assert [[undefused(cell) for cell in row] for row in read] == [[text, text, f"{text};b", "-0.04"] for text in texts]


# What leaves


def told(value: Any, *, is_set: bool = False) -> str:
    """A value of JSON Lines as a cell; no value of a set is [], which an import reads as the empty set."""
    if value is None:
        return ""
    if is_set and value == []:
        return "[]"
    if isinstance(value, list) and value and isinstance(value[0], dict):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, dict):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, list):
        return ";".join(export_columns.word(each) for each in value)
    return str(value).lower() if isinstance(value, bool) else str(value)


def same(sent: str, lines: str) -> int:
    """Holds CSV against JSON Lines of the same rows; how many cells were defused."""
    head, *rows = cells_of(sent)
    spoken = [json.loads(line) for line in lines.split("\n") if line]
    assert len(rows) == len(spoken)
    for row, line in zip(rows, spoken, strict=True):
        assert [undefused(cell) for cell in row] == [
            told(line[name], is_set=name in ("values", "original_values")) for name in head
        ]
    return sum(cell != undefused(cell) for row in rows for cell in row)


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.django_db
def test_every_csv_of_a_hostile_study_reads_as_its_json_lines_do(tmp_path: Path) -> None:
    make_hostile_study()
    visitor = permission_study.Visitor("olga")
    n_files = n_defused = 0
    for _, base, path in permission_study.table():
        if "csv" not in path:
            continue
        answer = visitor.get(base, path)
        if not answer.headers.get("Content-Type", "").startswith("text/csv") or answer.status_code != 200:
            continue
        if "/audit/" in path:  # each download is a line of it, so the second file has one line more
            continue
        sent = body_of(answer)
        cells_of(sent)
        n_files += 1
        other = visitor.get(base, re.sub(r"\bcsv\b", "jsonl", path))
        if other.status_code == 200 and "json" in other.headers.get("Content-Type", ""):
            n_defused += same(sent, body_of(other))
    assert n_files > 15 and n_defused > 0
    for name, kind in KINDS.items():
        if {"csv", "jsonl"} <= set(kind.formats):
            files = [tmp_path / f"of.{format}" for format in ("csv", "jsonl")]
            for file in files:
                call_command("export", "study", "--what", name, "--out", str(file), stdout=io.StringIO())
            n_defused += same(*(file.read_bytes().decode() for file in files))
    assert n_defused > 0


def body_of(answer: Any) -> str:
    body: bytes = b"".join(answer.streaming_content) if answer.streaming else answer.content
    return body.decode("utf-8-sig")


ALL = {**export_columns.COLUMNS, **export_columns.AROUND, **export_columns.OF_EVIDENCE, **export_columns.OF_A_SAMPLE}
LATER = datetime(2026, 11, 23, tzinfo=UTC)


def hostile(kind: pa.DataType, text: str) -> Any:
    """A value for a column of this type: the text wherever texts can be, a negative number elsewhere."""
    if pa.types.is_list(kind):
        is_text = pa.types.is_string(kind.value_type)
        return [text, "b"] if is_text else [{"author": text}] if pa.types.is_struct(kind.value_type) else [-3]
    if pa.types.is_timestamp(kind):
        return LATER
    return text if pa.types.is_string(kind) or pa.types.is_dictionary(kind) else -3


@pytest.mark.parametrize("what", ALL)
def test_every_text_column_of_every_file_keeps_every_hostile_text(what: str) -> None:
    rows = [{name: hostile(kind, text) for name, kind in ALL[what].items()} for text in HOSTILE]
    read = cells_of(b"".join(export_columns.write(what, "csv", rows)).decode())
    assert [[undefused(cell) for cell in row] for row in read[1:]] == [
        [told(json.loads(json.dumps(value, default=datetime.isoformat))) for value in row.values()] for row in rows
    ]


WIDE = [tables.PackageColumn("d", "string", "")]
PACKAGE = dictionary.tables([("d", "D")], ["R1"], WIDE, texts="included", attributes=["a"])


@pytest.mark.parametrize("name", PACKAGE)
def test_every_text_column_of_a_package_keeps_every_hostile_text_and_is_read_by_its_script(
    name: str, tmp_path: Path
) -> None:
    kinds = {"string": str, "list": lambda text: [text, "b"], "object": lambda text: {"a": text}}
    table, files = PACKAGE[name], {"csv": io.BytesIO(), "parquet": io.BytesIO()}
    writer = tables.TableWriter(table, {format: files[format] for format in table.formats})
    rows = [
        {
            column.name: kinds[column.type](text)
            if column.type in kinds
            else {"boolean": True, "datetime": LATER}.get(column.type, -3)
            for column in table.columns
        }
        for text in HOSTILE
    ]
    for row in rows:
        writer.write(row)
    writer.close()
    cells_of(files["csv"].getvalue().decode())
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / f"{name}.csv").write_bytes(files["csv"].getvalue())
    data = recompute.PackageData.__new__(recompute.PackageData)
    data.folder = tmp_path
    found = data.table(name).to_dict("records")
    packed = pq.read_table(io.BytesIO(files["parquet"].getvalue())).to_pylist() if "parquet" in table.formats else []
    for at, row in enumerate(rows):
        for column in table.columns:
            if column.type in ("string", "object"):
                text = row[column.name] if column.type == "string" else tables.as_json(row[column.name])
                assert found[at][column.name] == text
                assert not packed or packed[at][column.name] == text
            elif column.type == "list":
                assert found[at][column.name] == ";".join(row[column.name])
            elif column.type in ("integer", "number"):
                assert found[at][column.name] == "-3"


# What comes back


def sheet_of(columns: list[str]) -> bytes:
    text = io.StringIO(newline="")
    SafeCsv(text).rows([columns, *([each] * len(columns) for each in HOSTILE)])
    return text.getvalue().encode()


READERS = {
    "issues": lambda file: [row.cells for row in issue_table(file).rows],
    "ratings": lambda file: [row.cells for row in rating_table(file).rows],
    "workbooks": lambda file: [row.cells for row in open_book(file, "ratings.csv").sheets[0].lines[1:]],
}


@pytest.mark.parametrize("reader", READERS)
def test_a_file_of_concord_comes_back_as_the_texts_it_was_made_of(reader: str) -> None:
    for columns in (["item", "title", "snapshot"], ["Item", "memo", "taxonomy_version"]):
        found = READERS[reader](io.BytesIO(sheet_of(columns)))
        assert [list(cells) for cells in found] == [[text] * 3 for text in HOSTILE]


@pytest.mark.parametrize("reader", READERS)
def test_an_apostrophe_in_a_file_of_others_belongs_to_the_text(reader: str) -> None:
    [cells] = READERS[reader](io.BytesIO(b"number,title\n1,'--help' ends with an error\n"))
    assert cells[1] == "'--help' ends with an error"


@pytest.mark.django_db
def test_a_title_with_a_lone_carriage_return_leaves_as_one_cell_and_comes_back() -> None:
    study = make.study()
    titles = ["ok\r=1+1", 'x\r=HYPERLINK("https://canary.invalid/")', "＝1+1", "'=1", "-3", "plain"]
    for number, title in enumerate(titles, start=1):
        make.issues(1, first=number)
        make.new_state(number, title=title, body=f" \n{title}")
    make.open_round(study, len(titles))
    answer = permission_study.Visitor("olga").get("/api/v1/", "studies/study/issues/?format=csv")
    assert answer.status_code == 200
    sent = body_of(answer)
    head, *rows = cells_of(sent)
    place = {name: at for at, name in enumerate(head)}
    assert [undefused(row[place["title"]]) for row in rows] == titles
    assert [row[place["number"]] for row in rows] == [str(at) for at in range(1, len(titles) + 1)]
    mapping = {"identifier": "item", "title": "title", "body": "body"}
    read = list(read_rows(io.BytesIO(sent.encode()), mapping))
    assert [each.record.title for each in read if each.record] == titles
    assert [each.record.body for each in read if each.record] == [f" \n{title}" for title in titles]


# Programs of others, where they are on this machine


@pytest.mark.soak
@pytest.mark.skipif(not shutil.which("soffice"), reason="LibreOffice (soffice) is not on this machine")
def test_libreoffice_evaluates_no_cell_and_reads_each_as_it_was_written(tmp_path: Path) -> None:
    texts = [text for text in HOSTILE if re.sub(r"[\x00-\x08\x0b-\x1f]", "", text) == text]  # what XLSX can hold
    sheet = io.StringIO(newline="")
    SafeCsv(sheet).rows([["text", "number"], *([text, -0.04] for text in texts)])
    (tmp_path / "sheet.csv").write_text(sheet.getvalue(), newline="")
    options = "CSV:44,34,76,1,,0,false,true,false,false,true"  # UTF-8, and formulas evaluated
    command = ["soffice", "--headless", f"--infilter={options}", "--convert-to", "xlsx", "--outdir", str(tmp_path)]
    subprocess.run([*command, str(tmp_path / "sheet.csv")], check=True, capture_output=True, timeout=300)
    rows = list(openpyxl.load_workbook(tmp_path / "sheet.xlsx").active.iter_rows(min_row=2))
    assert [row[0].data_type for row in rows if row[0].data_type == "f"] == []
    assert [undefused(str(row[0].value)) for row in rows] == texts
    assert {row[1].value for row in rows} == {-0.04}


@pytest.mark.soak
@pytest.mark.skipif(not shutil.which("Rscript"), reason="R (Rscript) is not on this machine")
def test_r_reads_each_cell_as_it_was_written(tmp_path: Path) -> None:
    texts = [text for text in HOSTILE if "\r" not in text]  # R reads each carriage return as a line feed
    sheet = io.StringIO(newline="")
    SafeCsv(sheet).rows([["text", "number"], *([text, -0.04] for text in texts)])
    (tmp_path / "sheet.csv").write_text(sheet.getvalue(), newline="")
    script = (
        'd <- read.csv("sheet.csv", colClasses = "character", na.strings = character(0), encoding = "UTF-8");'
        'for (t in d$text) cat(paste(utf8ToInt(enc2utf8(t)), collapse = " "), "\\n", sep = "")'
    )
    done = subprocess.run(["Rscript", "-e", script], check=True, cwd=tmp_path, capture_output=True, text=True)
    read = ["".join(chr(int(code)) for code in line.split()) for line in done.stdout.splitlines()]
    assert [undefused(cell) for cell in read] == texts
