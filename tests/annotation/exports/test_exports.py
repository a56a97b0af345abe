"""Files out: the same rows in every format, harmless cells, equal bytes, who may have them, and the commands."""

import csv
import hashlib
import io
import json
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from django.core.management import CommandError, call_command
from django.test import Client

from annotation.core.access import get_item
from annotation.core.errors import Blind
from annotation.exports import columns as export_columns
from annotation.exports.column_descriptions import RESOLUTIONS
from annotation.exports.queries import COLUMNS, FORMATS, rows
from annotation.labels.resolution_notes import NOTES
from annotation.members.actions.members import add_member
from annotation.models import Resolution, Round, Study
from annotation.package.dictionary import tables
from annotation.resolving.actions.resolutions import resolve
from annotation.rounds.actions.raters import add_rater
from ingest.models import ClosingChange, Issue
from shared import watched_streams
from shared.csv_files import undefused
from shared.row_files import write_rows
from tests import builders as make
from tests.asserts import assert_queries
from tests.scripts import Script

pytestmark = pytest.mark.django_db

EVIL = '=HYPERLINK("http://evil.example","x")'


def visitor(name: str, *, staff: bool = False) -> Client:
    client = Client()
    client.force_login(make.user(name, staff=staff))
    return client


def fetch(client: Client, name: str, query: str = "", *, study: str = "study") -> bytes:
    answer = client.get(f"/studies/{study}/exports/{name}{query}")
    assert answer.status_code == 200, answer.status_code
    return b"".join(answer.streaming_content)  # type: ignore[attr-defined]


def lines_of(sent: bytes) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(sent.decode(), newline="")))


def build_study() -> Study:
    """Round 1 is being resolved with one decision, round 2 is open: bob has answered one item. A change closed one."""
    made = make.study(text=make.FAULTS)
    round_ = make.open_round(made, 2)
    issue = Issue.objects.get(number=1)
    ClosingChange.objects.create(
        issue=issue, kind="pull_request", identifier="acme/rocket#9", number=9, title=EVIL, author_login="dana",
        paths=["a.py"], path_additions=[2], path_deletions=[0],
    )  # fmt: skip
    fault = {"kind": ["fault"], "symptom": ["crash"], "fixes": ["config", "code"], "distributed": True}
    make.submit(round_, "bob", 1, fault, memo=EVIL)
    make.submit(round_, "carol", 1, fault)
    make.submit(round_, "bob", 2, {"kind": ["how-to"]})
    make.submit(round_, "carol", 2, {"kind": ["fault"], "symptom": ["slow"], "fixes": [], "distributed": False})
    decide(made, "kind", ["how-to"], "-1+1 is no fault, see\n“notes”")
    make.submit(make.open_round(made, 2, first=3), "bob", 3, fault, memo="secret")
    return made


def decide(study: Study, dimension: str, values: list[str], rationale: str) -> None:
    seat = make.seat(study, "ada")
    resolve(
        seat=seat,
        round_=Round.objects.get(study=study, number=1),
        item=get_item(seat, "acme/rocket#2"),
        part=1,
        dimension=dimension,
        values=values,
        rationale=rationale,
        expected=None,
    )


@pytest.mark.parametrize("what", list(COLUMNS))
def test_csv_json_lines_and_parquet_hold_the_same_rows(study: Study, what: str) -> None:
    client = visitor("olga")
    from_csv = lines_of(fetch(client, f"{what}.csv"))
    from_jsonl = [json.loads(line) for line in fetch(client, f"{what}.jsonl").splitlines()]
    from_parquet = pq.read_table(io.BytesIO(fetch(client, f"{what}.parquet"))).to_pylist()
    assert len(from_csv) == len(from_jsonl) == len(from_parquet) > 0
    for line, spoken, packed in zip(from_csv, from_jsonl, from_parquet, strict=True):
        assert list(line) == list(spoken) == list(packed) == list(COLUMNS[what])
        for name in COLUMNS[what]:
            if name in ("values", "original_values"):
                assert [export_columns.word(value) for value in spoken[name]] == packed[name]
            elif not name.endswith("_at"):
                assert spoken[name] == packed[name]
            assert undefused(line[name]) == str(export_columns.cell(spoken[name], is_set=name in export_columns.VALUES))


def test_each_note_of_a_resolution_has_a_column_in_the_database_in_files_and_in_their_descriptions() -> None:
    described = tables([], [], [], texts="left_out")["resolutions"].columns
    for name in NOTES:
        assert Resolution._meta.get_field(name).get_internal_type() == "TextField"
        assert name in COLUMNS["resolutions"] and name in RESOLUTIONS.columns
        assert name in {column.name for column in described}


def test_cells_that_a_spreadsheet_would_run_are_defused_in_csv_alone(study: Study) -> None:
    client = visitor("olga")
    memos = {line["memo"] for line in lines_of(fetch(client, "ratings.csv"))}
    assert f"'{EVIL}" in memos and EVIL not in memos
    assert EVIL in {json.loads(line)["memo"] for line in fetch(client, "ratings.jsonl").splitlines()}
    rationale = lines_of(fetch(client, "resolutions.csv"))[0]["rationale"]
    assert rationale == "'-1+1 is no fault, see\n“notes”"


@pytest.mark.parametrize("text", ["=1", "+1", "-1", "@x", "\t=x", "\r=x", "-3"])
def test_each_way_to_begin_a_formula_is_defused_and_no_number_is(text: str) -> None:
    row = {**dict.fromkeys(COLUMNS["ratings"]), "memo": text, "values": [text, "b"], "original_values": [-1.5]}
    [line] = lines_of(b"".join(export_columns.write("ratings", "csv", [row])))
    assert line["memo"] == f"'{text}"
    assert line["values"] == f"'{text};b"
    assert line["original_values"] == "-1.5"


@pytest.mark.parametrize("what", list(COLUMNS))
@pytest.mark.parametrize("format", FORMATS)
def test_two_exports_of_the_same_state_are_equal_to_the_byte(study: Study, what: str, format: str) -> None:
    sent = [fetch(visitor(name), f"{what}.{format}") for name in ("olga", "ada", "olga")]
    assert sent[0] == sent[1] == sent[2]


@pytest.mark.parametrize("what", ["labels", "ratings"])
def test_the_page_and_rest_send_the_same_bytes(study: Study, what: str) -> None:
    client = visitor("ada")
    for format in FORMATS:
        answer = client.get(f"/api/v1/studies/study/{what}/?format={format}")
        assert b"".join(answer.streaming_content) == fetch(client, f"{what}.{format}")  # type: ignore[attr-defined]


def test_a_blind_rater_gets_no_word_of_others_in_the_round(study: Study) -> None:
    carol = visitor("carol")
    for what in ("labels", "ratings", "resolutions"):
        for format in ("csv", "jsonl"):
            assert b"secret" not in fetch(carol, f"{what}.{format}")
            assert b"acme/rocket#3" not in fetch(carol, f"{what}.{format}")
    assert {line["rater"] for line in lines_of(fetch(carol, "ratings.csv"))} == {"R2"}
    for what in ("labels", "resolutions"):
        assert carol.get(f"/studies/study/exports/{what}.csv?round=2").status_code == 403
        assert carol.get(f"/studies/study/exports/{what}.csv?round=1").status_code == 200
    assert b"secret" in fetch(visitor("ada"), "ratings.csv")
    assert b"secret" not in fetch(visitor("rea"), "ratings.csv")
    page = carol.get("/studies/study/exports/").content.decode()
    assert "You are a rater in round 2" in page and "You get your own" in page


def test_an_owner_who_rates_gets_their_own_in_the_round_they_are_blind_in() -> None:
    from annotation.members.actions.members import add_member

    study = make.study()
    add_member(seat=make.owner_seat(study), username="olga", roles=["owner", "rater"])
    make.rate(make.open_round(study, 1), "item bob carol\n1 crash hang")
    round_ = make.open_round(study, 2, raters=("olga", "bob"), first=2)
    make.submit(round_, "bob", 2, {"symptom": ["slow"]}, memo="secret")
    make.submit(round_, "olga", 2, {"symptom": ["slow"]})
    sent = lines_of(fetch(visitor("olga"), "ratings.csv"))
    assert [(line["round"], line["rater"]) for line in sent] == [("1", "R1"), ("1", "R2"), ("2", "R3")]


@pytest.mark.parametrize("look_seconds", [0, 1000])
@pytest.mark.parametrize("what", ["ratings.jsonl", "ratings.csv", "evidence"])
def test_a_file_ends_where_its_reader_became_a_rater_of_an_open_round(
    what: str, look_seconds: int, monkeypatch: Any
) -> None:
    """They take it slowly: rounds that come later in it are read from the database when they have become blind.

    Between two looks nothing is sent that came in after it.
    """
    monkeypatch.setattr(watched_streams, "LOOK_SECONDS", look_seconds)
    monkeypatch.setitem(write_rows.__kwdefaults__, "chunk", 1)
    study = make.study()
    seat = make.owner_seat(study)
    add_member(seat=seat, username="olga", roles=["owner", "rater"])
    quote = [
        {"dimension": "symptom", "category": "crash", "where": "body", "quote": "hangs after", "before": "Training "}
    ]
    for first in (1, 2, 3):
        opened = make.open_round(study, 1, first=first)
        for who in ("bob", "carol") if first < 3 else ():
            make.submit(opened, who, first, {"symptom": ["crash"]}, evidence=quote)

    def pieces() -> Iterator[bytes]:
        if what == "evidence":
            answer = Script("olga").send("GET", "studies/study/evidence/?format=csv")
        else:
            answer = visitor("olga").get(f"/studies/study/exports/{what}")
        assert answer.status_code == 200, answer.content
        return iter(answer.streaming_content)  # type: ignore[attr-defined]

    assert b"acme/rocket#2" in b"".join(pieces())
    sent = pieces()
    next(sent)
    add_rater(seat=seat, number=3, user="olga")
    make.submit(opened, "bob", 3, {"symptom": ["crash"]}, evidence=quote)
    rest = b""
    with suppress(Blind) if look_seconds else pytest.raises(Blind, match="while this file was sent"):
        for piece in sent:
            rest += piece
    assert b"acme/rocket#3" not in rest


def test_who_may_have_which_file(study: Study) -> None:
    make.study("other", text=make.SYMPTOMS, raters=("mallory",))
    for name, status in (("olga", 200), ("ada", 200), ("bob", 200), ("rea", 200), ("mallory", 404)):
        client = visitor(name)
        assert client.get("/studies/study/exports/").status_code == status, name
        for what in COLUMNS:
            assert client.get(f"/studies/study/exports/{what}.csv").status_code == status, (name, what)
    assert visitor("stan", staff=True).get("/studies/study/exports/labels.csv").status_code == 200
    for path in ("", "labels.csv"):
        answer = Client().get(f"/studies/study/exports/{path}")
        assert answer.status_code == 302 and answer["Location"].startswith("/sign-in/")


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("labels.xlsx", 404),
        ("secrets.csv", 404),
        ("labels.csv?round=9", 404),
        ("labels.csv?round=x", 422),
        (f"labels.csv?round={10**30}", 422),
    ],
)
def test_nonsense_gets_its_status(study: Study, path: str, status: int) -> None:
    assert visitor("olga").get(f"/studies/study/exports/{path}").status_code == status
    assert visitor("olga").post("/studies/study/exports/labels.csv").status_code == 405


def test_a_file_can_be_of_one_round_and_one_dimension(study: Study) -> None:
    client = visitor("olga")
    sent = lines_of(fetch(client, "ratings.csv", "?round=1&dimension=kind"))
    assert {(line["round"], line["dimension"]) for line in sent} == {("1", "kind")} and len(sent) == 4
    assert len(lines_of(fetch(client, "resolutions.csv", "?dimension=symptom"))) == 0
    assert len(lines_of(fetch(client, "resolutions.csv", "?dimension=kind"))) == 1


def test_an_empty_study_exports_heads_and_teaches() -> None:
    make.study()
    client = visitor("olga")
    assert fetch(client, "labels.csv").decode() == ",".join(COLUMNS["labels"]) + "\n"
    assert fetch(client, "labels.jsonl") == b""
    assert pq.read_table(io.BytesIO(fetch(client, "labels.parquet"))).num_rows == 0
    assert "Nothing to export yet" in client.get("/studies/study/exports/").content.decode()


def test_queries_of_a_file_do_not_grow_with_the_study() -> None:
    study = make.study()
    make.rate(make.open_round(study, 2), "item bob carol\n1 crash hang\n2 crash hang")
    lines = [f"{number} slow hang" for number in range(3, 33)]
    make.rate(make.open_round(study, 30, first=3), "item bob carol\n" + "\n".join(lines))
    seat = make.owner_seat(study)
    for what, n in (("labels", 7), ("ratings", 6), ("resolutions", 4)):
        for number in (1, 2):
            list(rows.flat(seat, rows.of_kind(what, seat, round_number=number)))
            with assert_queries(n):
                list(rows.flat(seat, rows.of_kind(what, seat, round_number=number)))


# Commands


def run(*words: str) -> str:
    out = io.StringIO()
    call_command(*words, stdout=out)
    return out.getvalue()


@pytest.mark.parametrize("format", FORMATS)
def test_the_command_writes_the_file_of_the_page_and_tells_its_digest(
    study: Study, tmp_path: Path, format: str
) -> None:
    path = tmp_path / f"out.{format}"
    path.write_text("what was there before")
    report: dict[str, Any] = json.loads(run("export", "study", "--out", str(path), "--json"))
    assert path.read_bytes() == fetch(visitor("ada"), f"labels.{format}")
    assert report["sha256"] == hashlib.sha256(path.read_bytes()).hexdigest()
    assert (report["format"], report["what"]) == (format, "labels")
    assert report["rows"] == len(fetch(visitor("ada"), "labels.jsonl").splitlines())
    assert [each.name for each in tmp_path.iterdir()] == [path.name]


def test_the_command_sees_all_rounds_and_says_how_many_rows(study: Study, tmp_path: Path) -> None:
    path = tmp_path / "ratings"
    said = run("export", "study", "--what", "ratings", "--out", str(path))
    assert "secret" in path.read_text()
    assert said.startswith(f"{path}: {len(lines_of(path.read_bytes()))} rows, SHA-256 ")


def test_a_file_that_cannot_be_written_leaves_nothing_behind(study: Study, tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    for out in (tmp_path / "nowhere" / "x.csv", folder):
        with pytest.raises(CommandError, match="can't be written"):
            run("export", "study", "--out", str(out))
    with pytest.raises(CommandError, match="Study “nix” not found"):
        run("export", "nix", "--out", str(tmp_path / "x.csv"))
    assert [*tmp_path.rglob("*")] == [folder]


def test_what_breaks_while_writing_leaves_the_old_file(study: Study, tmp_path: Path, monkeypatch: Any) -> None:
    path = tmp_path / "x.csv"
    path.write_text("old")

    def broken(asked: Any, seat: Any, file: Any, progress: Any) -> None:
        file.write(b"half")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("annotation.management.commands.export.write_file", broken)
    with pytest.raises(CommandError, match="No space left"):
        run("export", "study", "--out", str(path))
    assert path.read_text() == "old" and [each.name for each in tmp_path.iterdir()] == ["x.csv"]


def test_the_command_of_agreement_prints_the_list_of_rest(study: Study) -> None:
    words = {"round": "1", "dimension": "kind", "parts": "single", "pending": "left_out", "level": "root"}
    query = "&".join(f"{name}={value}" for name, value in words.items())
    expected = visitor("olga").get(f"/api/v1/studies/study/agreement/?{query}").json()
    given = [part for name, value in words.items() for part in (f"--{name}", value)]
    assert json.loads(run("agreement", "study", "--json", *given)) == expected
    assert [each["dimension"] for each in expected] == ["kind"]


def test_the_command_of_agreement_prints_a_table_for_people(study: Study) -> None:
    said = run("agreement", "study", "--round", "1")
    assert "kind: round 1 (the headline), before discussion, 2 units by 2 raters, 0 excluded" in said
    assert "* Krippendorff's alpha" in said and "(the default, not registered)" in said
    assert "Weighted kappa needs categories in an order" in said


@pytest.mark.parametrize(
    "words",
    [("nix",), ("study", "--round", "9"), ("study", "--dimension", "colour"), ("study", "--metric", "x")],
)
def test_the_command_of_agreement_refuses_in_words(study: Study, words: tuple[str, ...]) -> None:
    with pytest.raises(CommandError):
        run("agreement", *words)


def test_the_command_of_agreement_on_an_empty_study_says_so() -> None:
    make.study()
    assert "No agreement to show yet" in run("agreement", "study")
    assert json.loads(run("agreement", "study", "--json")) == []
