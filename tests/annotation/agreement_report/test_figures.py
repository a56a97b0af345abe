"""The files of figures: by whom they can be had, what slice they show, and what they are."""

from typing import Any

import pytest
from django.test import Client

from annotation.models import Study
from tests import builders as make

pytestmark = pytest.mark.django_db

FIGURE = "/studies/study/agreement/figure/"
TYPES = {"svg": "image/svg+xml", "png": "image/png", "pdf": "application/pdf"}


def build_study() -> Study:
    """Three raters; rounds 1 and 2 are being resolved, in round 3 bob and carol rate."""
    raters = ("bob", "carol", "dan")
    made = make.study(raters=raters, primary={"symptom": {"coefficient": "fleiss_kappa", "threshold": 0.8}})
    make.rate(make.open_round(made, 2, raters=raters), "item bob carol dan\n1 crash crash hang\n2 hang hang hang")
    two = make.open_round(made, 2, first=3, raters=raters)
    make.rate(two, "item bob carol dan\n3 slow crash slow\n4 hang hang hang")
    make.submit(make.open_round(made, 2, first=5), "bob", 5, {"symptom": ["slow"]})
    return made


def get(name: str | None, address: str) -> Any:
    client = Client()
    if name:
        client.force_login(make.user(name))
    return client.get(FIGURE + address)


@pytest.mark.parametrize("format", TYPES)
def test_a_file_is_what_it_says_it_is(study: Study, format: str) -> None:
    answer = get("rea", f"confusion.{format}?dimension=symptom")
    assert (answer.status_code, answer["Content-Type"]) == (200, TYPES[format])
    assert answer["Content-Disposition"] == f'attachment; filename="study-confusion-symptom.{format}"'


@pytest.mark.slow
def test_a_figure_shows_the_slice_of_its_address(study: Study) -> None:
    whole, one = (get("rea", f"confusion.svg?dimension=symptom{more}").content for more in ("", "&round=1"))
    assert b"Slow" in whole and b"Slow" not in one and b"Hang" in one
    alone = get("rea", "confusion.svg?dimension=symptom&raters=R1,R3").content.decode()
    assert "Rows: R1. Columns: R3." in alone and "pooled" in whole.decode()


def test_pairs_and_trend_are_drawn(study: Study) -> None:
    assert b"R3" in get("rea", "pairs.svg?dimension=symptom").content
    assert b"Round" in get("rea", "trend.svg").content


@pytest.mark.parametrize(
    ("name", "address", "status"),
    [
        ("rea", "confusion.gif?dimension=symptom", 404),
        ("rea", "else.svg", 404),
        ("rea", "confusion.svg", 422),
        ("rea", "confusion.svg?dimension=colour", 422),
        ("rea", "trend.svg?round=9", 404),
        ("rea", "trend.svg?round=x", 422),
        ("rea", "pairs.svg?dimension=symptom&raters=R1,R2", 404),
        ("mallory", "trend.svg", 404),
        (None, "trend.svg", 302),
        ("bob", "confusion.svg?dimension=symptom&round=3", 403),
    ],
)
def test_who_gets_none_is_told_why(study: Study, name: str | None, address: str, status: int) -> None:
    assert get(name, address).status_code == status


def test_a_rater_gets_the_figure_without_the_round_they_are_blind_in(study: Study) -> None:
    make.submit(study.rounds.get(number=3), "carol", 5, {"symptom": ["slow"]})
    assert b"round 3" not in get("bob", "trend.svg").content.lower()
    page = Client()
    page.force_login(make.user("bob"))
    shown = page.get("/studies/study/agreement/").content.decode()
    assert "round 2" in shown and "Symptom, round 3" not in shown
