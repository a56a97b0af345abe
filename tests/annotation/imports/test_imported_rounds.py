"""Rounds of sheets: they keep their labels, pilots come first, and everybody sees which one counts as the newest."""

import csv
import io
from importlib import import_module
from typing import Any

import pytest
from django.core.management import call_command
from django.db import connection
from django.test import Client

from annotation.core.access import get_seat
from annotation.exports.queries import rows
from annotation.imports.actions.ratings import ImportReport, import_ratings
from annotation.imports.sheets.books import Sheet, SheetBook
from annotation.imports.sheets.guesses import guess_book
from annotation.imports.sheets.rounds import in_order, is_trial, newest_trial, number_rounds
from annotation.models import AuditEvent, Round
from ingest.tables.files import TableRow
from tests import builders as make
from tests.scripts import Script

PILOT = (
    "item,rater,round,symptom\n"
    "acme/rocket#1,bob,1,Hang\nacme/rocket#1,carol,1,Hang\n"
    "acme/rocket#1,bob,pilot,Crash\nacme/rocket#1,carol,pilot,Crash\n"
)


def take(text: str = PILOT, **more: Any) -> ImportReport:
    options = {"dimensions": ["symptom"], "create": True} | more
    return import_ratings(user=make.user("olga"), study="study", file=text.encode(), name="sheet.csv", **options)


def exported(what: str = "labels", **options: Any) -> list[dict[str, str]]:
    seat = get_seat(make.user("olga"), "study")
    text = b"".join(rows.file_pieces(seat, what, "csv", options)).decode()
    return list(csv.DictReader(io.StringIO(text)))


@pytest.mark.parametrize(
    ("labels", "there", "numbers"),
    [
        (["3", "1"], {}, {"3": 3, "1": 1}),
        (["pilot", "1"], {}, {"pilot": 1, "1": 2}),
        (["1", "2", "0"], {}, {"1": 2, "2": 3, "0": 1}),
        (["late", "10", "9", "early", "Test round"], {}, {"late": 4, "10": 3, "9": 2, "early": 5, "Test round": 1}),
        (["1.5", "1"], {}, {"1.5": 2, "1": 1}),
        (["2", "1"], {1: ""}, {"2": 2, "1": 1}),
        (["3"], {1: "", 5: ""}, {"3": 6}),
        (["2"], {1: "pilot", 2: "1"}, {"2": 3}),
        (["pilot", "1", "2"], {1: "pilot", 2: "1"}, {"pilot": 1, "1": 2, "2": 3}),
        (["Pilot"], {1: "pilot"}, {"Pilot": 1}),
        (["pilot"], {1: "", 2: ""}, {"pilot": 3}),
        ([""], {1: ""}, {"": 2}),
    ],
)
def test_labels_become_numbers(labels: list[str], there: dict[int, str], numbers: dict[str, int]) -> None:
    assert number_rounds(labels, there) == numbers


def test_trials_come_first() -> None:
    labels = ["round a", "pilot study", "Calibration", "training_1", "trial", "test round", "test", "latest", "contest"]
    assert [label for label in labels if is_trial(label)] == labels[1:7]
    assert in_order(labels) == [*labels[1:7], "round a", "latest", "contest"]


@pytest.mark.django_db
def test_a_pilot_is_older_than_round_1_whatever_comes_first() -> None:
    report = take()
    assert [(each.number, each.label, each.is_newest) for each in report.rounds] == [
        (1, "pilot", False),
        (2, "1", True),
    ]
    assert [(each.number, each.label, each.kind) for each in Round.objects.all()] == [
        (1, "pilot", "pilot"),
        (2, "1", "main"),
    ]
    (label,) = exported()
    assert (label["values"], label["round"], label["round_label"]) == ("hang", "2", "1")
    assert {(row["round"], row["round_label"], row["values"]) for row in exported("ratings")} == {
        ("1", "pilot", "crash"),
        ("2", "1", "hang"),
    }


UNEVEN = "item,rater,s,t\n" + "a,ann,x,p;q\na,bo,y,p\na,cy,x,p\nb,ann,x,\nb,bo,x,\nc,ann,x,p;q\nd,ann,bad,\n"


@pytest.mark.django_db
def test_the_pages_of_a_round_from_a_sheet_show_only_what_is_known_of_it(client: Client) -> None:
    take(UNEVEN.replace("d,ann,bad,\n", ""), dimensions=["s", "t"], several=["t"], blank="none")
    client.force_login(make.user("olga"))
    page = " ".join(client.get("/studies/study/rounds/1/").content.decode().split())
    assert "3 for 1 item, 2 for 1 item, 1 for 1 item" in page and "imported from a sheet" in page
    for words in ("<dt>Assignment</dt>", "<dt>Seed</dt>", 'course-name">Open<', 'course-name">Created<'):
        assert words not in page
    assert page.count("Imported</span>") == 1
    agreement = client.get("/studies/study/agreement/").content.decode()
    assert "which does not show whether its raters worked independently" in agreement and "“blind”" not in agreement


@pytest.mark.django_db
def test_a_report_counts_ratings_as_files_have_them_and_items_with_a_label() -> None:
    first = take("item,rater,s,t\nz,ann,x,p;q\nz,bo,y,p\n", dimensions=["s", "t"], several=["t"])
    assert first.n_ratings == len(exported("ratings")) == 4
    text = UNEVEN.replace("item,rater", "item,round,rater").replace("\na,", "\na,2,").replace("\nb,", "\nb,2,")
    text = text.replace("\nc,", "\nc,2,").replace("\nd,", "\nd,2,")
    report = take(text, dimensions=["s", "t"], several=["t"], blank="none", create=False)
    assert (report.n_refused, report.n_items, [each.n_items for each in report.rounds]) == (1, 3, [3])
    assert report.n_ratings == len(exported("ratings")) - 4
    noted = AuditEvent.objects.filter(verb="ratings imported").latest("pk")
    assert noted.detail["ratings"] == report.n_ratings
    again = take(text, dimensions=["s", "t"], several=["t"], blank="none", create=False)
    assert (again.n_ratings, again.n_ratings_unchanged) == (0, report.n_ratings)


@pytest.mark.django_db
def test_a_question_that_only_a_final_label_raises_is_unanswered_and_no_disagreement(client: Client) -> None:
    make.study(text=make.FAULTS)
    rows = "item,rater,kind,symptom\nb,bob,how-to,\nb,final,fault,\nc,bob,fault,hang\nc,carol,fault,crash\n"
    take(rows, dimensions=["kind", "symptom"], create=False)
    client.force_login(make.user("olga"))
    page = client.get("/studies/study/rounds/1/resolve/").content.decode()
    assert "1 disagreement and 2 unanswered questions in 2 items" in page and "Nobody labeled it" in page
    assert (
        "Resolve 1 disagreement and 2 unanswered questions" in client.get("/studies/study/rounds/1/").content.decode()
    )


@pytest.mark.django_db
def test_the_same_labels_are_the_same_rounds_in_the_next_import() -> None:
    take()
    report = take(PILOT + "acme/rocket#1,dora,pilot,Crash\nacme/rocket#1,dora,2,Hang\n", create=False)
    assert [(each.number, each.label, each.is_new) for each in report.rounds] == [
        (1, "pilot", False),
        (2, "1", False),
        (3, "2", True),
    ]
    assert (report.n_unchanged, report.n_ratings) == (4, 2)


@pytest.mark.django_db
def test_the_command_shows_which_round_counts_as_the_newest(tmp_path: Any) -> None:
    make.user("olga")
    path = tmp_path / "sheet.csv"
    path.write_text(PILOT)
    out = io.StringIO()
    options = {"study": "study", "create": True, "owner": "olga", "dimensions": "symptom"}
    call_command("import_ratings", str(path), **options, stdout=out)
    lines = [line.strip() for line in out.getvalue().splitlines()]
    assert lines[1:] == ["round 1 (pilot): 1 item, closed", "round 2 (1): 1 item, closed; the newest round"]


@pytest.mark.django_db
def test_rest_shows_labels_and_selects_by_them() -> None:
    take()
    script = Script("olga")
    rounds = script.send("GET", "studies/study/rounds/").json()["results"]
    assert [(each["number"], each["label"], each["kind"]) for each in rounds] == [
        (1, "pilot", "pilot"),
        (2, "1", "main"),
    ]
    for address in ("ratings", "labels"):
        found = script.send("GET", f"studies/study/{address}/?round_label=Pilot").json()["results"]
        assert {(each["round"], each["round_label"]) for each in found} == {(1, "pilot")}
    (entry,) = script.send("GET", "studies/study/agreement/?round_label=pilot").json()
    assert entry["round"] == 1
    for address in ("ratings", "labels", "agreement", "evidence", "disagreements"):
        for asked in ("round_label=final", "round_label=pilot&round=2"):
            answer = script.send("GET", f"studies/study/{address}/?{asked}")
            assert (answer.status_code, list(answer.json()["fields"])) == (422, ["round_label"]), address
    made = script.send("POST", "studies/study/exports/", {"what": "labels", "format": "csv", "round_label": "pilot"})
    assert made.status_code == 202 and made.json()["options"] == {"round": 1}


@pytest.mark.django_db
def test_a_study_numbered_by_the_older_rule_shows_a_notice(client: Client) -> None:
    take()
    client.force_login(make.user("olga"))
    assert "Check the order of the rounds" not in client.get("/studies/study/").content.decode()
    Round.objects.filter(number=1).update(label="1")
    Round.objects.filter(number=2).update(label="pilot")
    page = client.get("/studies/study/").content.decode()
    assert "Check the order of the rounds" in page and "Round 2 was imported as “pilot”" in page
    assert newest_trial({1: "1", 2: "pilot"}) == 2
    assert newest_trial({1: "pilot", 2: "1"}) is newest_trial({1: "", 2: "pilot"}) is None


@pytest.mark.django_db
def test_rounds_of_earlier_imports_get_their_labels_from_the_audit_log() -> None:
    take()
    event = AuditEvent.objects.get(verb="ratings imported")
    assert event.detail["rounds"] == {"pilot": 1, "1": 2}
    Round.objects.update(label="")
    with connection.cursor() as cursor:
        cursor.execute(import_module("annotation.migrations.0026_round_labels").FROM_THE_AUDIT)
    assert list(Round.objects.values_list("number", "label")) == [(1, "pilot"), (2, "1")]


def _sheet(name: str) -> Sheet:
    cells = [["item", "R1", "R2"], ["a", "Crash", "Hang"], ["b", "Crash", "Crash"], ["c", "Hang", "Crash"]]
    return Sheet("book.xlsx", name, [TableRow(line, row) for line, row in enumerate(cells, start=1)])


def test_the_pilot_of_a_workbook_is_no_part_of_round_1() -> None:
    names = ["Pilot", "pilot round 1", "Round 1", "Round 2", "Data"]
    book = SheetBook([_sheet(name) for name in names])
    assert [each.round for each in guess_book(book, "1").sheets] == ["pilot", "pilot", "1", "2", "1"]


@pytest.mark.django_db
def test_an_imported_answer_has_no_day_of_work(client: Client) -> None:
    take()
    client.force_login(make.user("olga"))
    page = client.get("/studies/study/rounds/1/").content.decode()
    assert "Last day of work" in page and page.count('<span class="muted">imported</span>') == 2
    assert "no labels yet" not in page
    rows = Script("olga").send("GET", "studies/study/rounds/1/raters/").json()["results"]
    assert [each["last_day"] for each in rows] == [None, None]
