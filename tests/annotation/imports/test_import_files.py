"""Sheets as files: workbooks, Parquet, uploads, the guide's example, and the command that takes them."""

import io
import json
from pathlib import Path
from typing import Any

import openpyxl
import pyarrow as pa
import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import CommandError, call_command
from pyarrow import parquet

from annotation.imports.actions.ratings import ImportReport, import_ratings
from tests import builders as make
from tests.annotation.stored_rows import everything, verdicts

pytestmark = pytest.mark.django_db


def take(text: str, *, study: str = "study", owner: str = "olga", **more: Any) -> ImportReport:
    return import_ratings(user=make.user(owner), study=study, file=text.encode(), name="sheet.csv", **more)


def content(kind: str) -> bytes:
    rows: list[list[Any]] = [["item", "rater", "part", "stage"], ["a", "bob", 1, "Setup"], ["a", "eve", 1, "training"]]
    file = io.BytesIO()
    if kind == "xlsx":
        book = openpyxl.Workbook()
        for row in rows:
            book.active.append(row)
        book.save(file)
    else:
        table = pa.table(dict(zip(rows[0], zip(*rows[1:], strict=True), strict=True)))
        parquet.write_table(table, file)
    return file.getvalue()


@pytest.mark.parametrize("kind", ["xlsx", "parquet"])
def test_workbooks_and_parquet_files_arrive_as_csv_does(kind: str, tmp_path: Path) -> None:
    path = tmp_path / f"sheet.{kind}"
    path.write_bytes(content(kind))
    make.user("olga")
    command(path, "--study", "study", "--create", "--owner", "olga", "--dimensions", "stage")
    assert verdicts() == {("a", 1, "stage"): ("open", "differ", None)}


@pytest.mark.parametrize("kind", ["csv", "xlsx", "parquet"])
def test_an_uploaded_file_is_taken_as_it_comes_from_a_request(kind: str) -> None:
    body = b"item,rater,part,stage\na,bob,1,Setup\na,eve,1,training\n" if kind == "csv" else content(kind)
    upload = SimpleUploadedFile(f"sheet.{kind}", body)
    report = import_ratings(user=make.user("olga"), study="s", file=upload, dimensions=["stage"], create=True)
    assert report.n_ratings == 2


def test_the_guides_example_is_what_it_says() -> None:
    guide = (Path(__file__).resolve().parents[3] / "docs" / "spreadsheets.md").read_text()
    sheet, document = (guide.split(f"```{kind}\n")[1].split("```")[0] for kind in ("csv", "json"))
    assert take(sheet, study="training-faults", create=True).as_document() == json.loads(document)


def command(path: Path, *arguments: str) -> str:
    out = io.StringIO()
    call_command("import_ratings", str(path), *arguments, stdout=out)
    return out.getvalue()


def test_the_command_lists_what_it_refused_and_prints_json_alone_when_asked(tmp_path: Path) -> None:
    make.study()
    path = tmp_path / "sheet.csv"
    path.write_text("item,who,dimension,value\na,bob,symptom,crahs\nb,bob,symptom,crash\n")
    told = command(path, "--study", "study", "--map", "rater=who")
    assert "1 new rating," in told and "line 2: “crahs” is not a category" in told and "“Crash”" in told
    path.write_text("item,rater,dimension,value,round\nc,bob,symptom,crahs,7\n")
    document = json.loads(command(path, "--study", "study", "--json"))
    assert (document["n_refused"], document["refusals"][0]["line"], document["rounds"]) == (1, 2, [])


@pytest.mark.parametrize(
    ("text", "arguments", "sentence"),
    [
        (None, ["--study", "study"], "can't be read"),
        ("", ["--study", "study"], "empty"),
        ("link,who\na,b\n", ["--study", "study"], "link, who"),
        ("item,rater,dimension,value\n", ["--study", "nowhere"], "Study “nowhere” not found"),
        ("item,rater,dimension,value\na,b,s,x\n", ["--study", "study", "--create"], "--owner"),
        ("item,rater,dimension,value\na,b,s,x\n", ["--study", "study", "--create", "--owner", "olga"], "not available"),
        ("item,rater,dimension,value\na,b,s,x\n", ["--study", "new", "--create", "--owner", "nobody"], "nobody"),
        ("item,rater,dimension,value\na,b,s,\n", ["--study", "another", "--create", "--owner", "olga"], "no values"),
        ("item,rater,dimension,value\na,b,s,x\n", ["--study", "study", "--map", "item"], "FIELD=COLUMN"),
        ("item,rater,dimension,value\na,b,s,x\n", ["--study", "New One", "--create", "--owner", "olga"], "hyphens"),
    ],
)
def test_the_command_fails_in_words(tmp_path: Path, text: str | None, arguments: list[str], sentence: str) -> None:
    make.study()
    path = tmp_path / "sheet.csv"
    if text is not None:
        path.write_text(text)
    before = everything()
    with pytest.raises(CommandError, match=sentence):
        command(path, *arguments)
    assert everything() == before
