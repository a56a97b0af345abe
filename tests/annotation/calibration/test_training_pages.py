"""Who reads and writes training items: the page, the sheet that is uploaded, and the results over REST."""

import csv
import io
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from openpyxl import Workbook

from annotation.models import RoundItem, Study
from annotation.rounds.actions import rounds
from tests import builders as make
from tests.scripts import Script

pytestmark = pytest.mark.django_db

KNOWN = {"acme/rocket#3": {"labels": {"symptom": ["crash"]}, "why": "It stops with a trace."}}
AT = "/studies/study/rounds/1/training/"
OTHERS = [("ada", 403), ("bob", 403), ("rea", 403), ("nina", 404)]
"""Who is no owner of the study; nina owns another one."""


def build_study() -> Study:
    made = make.study()
    make.issues(4)
    make.study("elsewhere", text=make.SYMPTOMS.replace("slug: symptoms", "slug: other"), owner="nina", raters=["nick"])
    rounds.create_round(
        seat=make.owner_seat(made),
        asked=rounds.NewRound(
            raters=["bob", "carol"], issues=["acme/rocket#1", "acme/rocket#2"], kind="pilot", known=KNOWN
        ),
    )
    return made


def client(name: str) -> Client:
    found = Client()
    found.force_login(make.user(name))
    return found


@pytest.mark.parametrize(("name", "status"), [("olga", 200), *OTHERS])
def test_only_the_owner_sees_and_changes_training_items(study: Study, name: str, status: int) -> None:
    browser = client(name)
    page = browser.get(AT)
    assert page.status_code == status
    assert ("It stops with a trace." in page.content.decode()) == (status == 200)
    sent = browser.post(AT, {"known-item": "acme/rocket#1", "known-of-symptom": "hang"})
    place = RoundItem.objects.get(item__identifier="acme/rocket#3")
    removed = browser.post(f"{AT}{place.item_id}/remove/")
    assert (sent.status_code, removed.status_code) == ((302, 302) if status == 200 else (status, status))
    known = RoundItem.objects.filter(known__isnull=False).values_list("item__identifier", flat=True)
    assert set(known) == ({"acme/rocket#1"} if status == 200 else {"acme/rocket#3"})


def test_training_items_have_no_page_for_who_is_not_signed_in_nor_in_a_round_that_is_not_there(study: Study) -> None:
    assert Client().get(AT).status_code == 302
    assert client("olga").get("/studies/study/rounds/9/training/").status_code == 404
    rounds.open_round(seat=make.owner_seat(study), number=1, unregistered=True)
    assert client("olga").get(AT).status_code == 409


def results(name: str) -> dict[str, Any]:
    answer = Script(name).send("GET", "studies/study/rounds/1/training/")
    assert answer.status_code == 200, answer.content
    return answer.json()


def test_over_rest_the_owner_reads_all_results_and_a_rater_their_own(study: Study) -> None:
    round_ = rounds.open_round(seat=make.owner_seat(study), number=1, unregistered=True)
    make.submit(round_, "bob", 3, {"symptom": ["hang"]})
    make.submit(round_, "carol", 3, {"symptom": ["crash"]})
    found = results("olga")
    assert found["items"] == [
        {
            "item": "acme/rocket#3",
            "known": {"parts": [{"labels": {"symptom": ["crash"]}}], "why": "It stops with a trace."},
        }
    ]
    assert [(each["rater"], each["n_right"], each["n_items"]) for each in found["results"]] == [
        ("R1", 0, 1),
        ("R2", 1, 1),
    ]
    (bob,), (carol,) = (each["dimensions"] for each in found["results"])
    assert bob["confusions"] == [{"known": "crash", "given": "hang", "n": 1}] and not carol["confusions"]
    assert (bob["n_known"], bob["n_answered"], bob["n_right"], carol["n_right"]) == (1, 1, 0, 1)
    own = results("bob")
    assert (own["items"], own["results"], own["tries"]) == ([], found["results"][:1], found["tries"][:1])
    for name in ("ada", "rea"):
        assert results(name) == {"items": [], "gold_minimum": None, "results": [], "tries": [], "warnings": []}
    Script("nina").refused("GET", "studies/study/rounds/1/training/", None, 404)
    Script("olga").refused("GET", "studies/study/rounds/9/training/", None, 404)
    assert Client().get("/api/v1/studies/study/rounds/1/training/").status_code == 401


def workbook(*rows: tuple[str, ...]) -> bytes:
    made, content = Workbook(), io.BytesIO()
    assert made.active is not None
    for row in rows:
        made.active.append(row)
    made.save(content)
    return content.getvalue()


ROWS = [("item", "dimension", "value", "why"), ("acme/rocket#1", "symptom", "slow", "It goes on, late.")]


@pytest.mark.parametrize("kind", ["csv", "semicolons", "xlsx"])
def test_a_sheet_of_known_answers_is_uploaded(study: Study, kind: str) -> None:
    separator = ";" if kind == "semicolons" else ","
    quoted = [f'"{each}"' for row in ROWS for each in row]
    text = "\n".join(separator.join(quoted[start : start + 4]) for start in range(0, len(quoted), 4))
    content = workbook(*ROWS) if kind == "xlsx" else text.encode()
    answer = client("olga").post(AT, {"sheet": "", "file": SimpleUploadedFile("known.sheet", content)})
    assert answer.status_code == 302, answer.content.decode()
    known = RoundItem.objects.get(item__identifier="acme/rocket#1").known
    assert known == {"parts": [{"labels": {"symptom": ["slow"]}}], "why": "It goes on, late."}


@pytest.mark.parametrize(
    ("sheet", "file", "sentence"),
    [
        ("", None, "Choose a file, or paste its text below."),
        ("item,dimension,value\n", b"item,dimension,value\n", "Choose a file or paste text, not both."),
        ("", b"item,dimension,value\nacme/rocket#1,symptom,slw\n", "Did you mean “slow”?"),
        ('item,dimension,value,why\nacme/rocket#1,symptom,hang,"it\n', None, "close every quotation mark"),
        ("", b"PK\x03\x04 no workbook", "can’t be read"),
        ("", b"x" * 1_000_001, "larger than 1,000,000 bytes"),
    ],
)
def test_a_sheet_that_cannot_be_taken_says_why_and_nothing_is_stored(
    study: Study, sheet: str, file: bytes | None, sentence: str
) -> None:
    sent: dict[str, Any] = {"sheet": sheet} | ({"file": SimpleUploadedFile("a.csv", file)} if file else {})
    answer = client("olga").post(AT, sent)
    text = answer.content.decode().replace("&#x27;", "’").replace("'", "’")
    assert answer.status_code == 422 and sentence in text
    assert RoundItem.objects.filter(known__isnull=False).count() == 1


def test_a_pasted_sheet_with_an_endless_cell_is_rejected_in_words(study: Study) -> None:
    before = csv.field_size_limit(131_072)  # of the whole process: reading a file raises it
    try:
        answer = client("olga").post(AT, {"sheet": "item,dimension,value\na," + "b" * 200_000})
    finally:
        csv.field_size_limit(before)
    assert answer.status_code == 422 and "be read as CSV" in answer.content.decode()
