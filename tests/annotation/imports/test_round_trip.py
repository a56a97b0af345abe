"""Ratings, long or wide, that are exported, imported into an empty study and exported again are equal to the byte.

Agreed labels, long or wide, come back with equal values and the method `imported`.
"""

import csv
import io
import random
from typing import Any

import pytest

from annotation.core.access import get_seat
from annotation.exports.queries import rows
from annotation.imports.actions.ratings import import_ratings
from annotation.studies.actions.studies import create_study
from tests import builders as make
from tests.annotation.exports.test_cells import FIX

SEEDS = 2
KINDS = (
    FIX
    + """
  - {key: seconds, title: Seconds to the crash, kind: number, required: false}
  - {key: known, title: Known, kind: boolean, required: false}
  - {key: rater, title: Remark, kind: text, required: false}
"""
)
"""Every kind of dimension; two have the name of a column."""
LABELS = ["1", "2", "5"], ["pilot", "1", "2"], ["early", "late"]


def sheet_of(chance: random.Random) -> str:
    """A sheet in the long form: three raters, rounds with labels, parts, empty sets, PENDING, seconds and memos."""
    out = io.StringIO()
    lines = csv.writer(out, lineterminator="\n")
    lines.writerow(["item", "rater", "round", "part", "dimension", "value", "seconds", "memo"])
    labels = chance.choice(LABELS)
    memos = ["", "", "looks odd", "two\nlines", 'he said "no", twice', "=1+1", "ünïcode"]
    for number in range(1, 9):
        label = chance.choice(labels)
        for rater in chance.sample(["ann", "ben", "cleo", "final"], 3):
            parts = chance.choice([1, 1, 1, 2])
            seconds = "" if rater == "final" else chance.choice(["", str(chance.randint(1, 900))])
            for part in range(1, parts + 1):
                memo = "" if rater == "final" else chance.choice(memos)
                place = [f"acme/rocket#{number}" if number % 3 else f"post-{number}", rater, label, part]
                fix = chance.choice([["[]"], ["config"], ["config", "code"]])
                symptom = chance.choice(["io", "output", "both", "crash", "crash"])
                if rater != "final" and chance.random() < 0.15:
                    symptom = "PENDING"
                more = [
                    ("seconds", chance.choice(["", "3", "2.5", "-1"])),
                    ("known", chance.choice(["", "true", "false"])),
                    ("rater", chance.choice(["", "a; b", "two\nlines", "-3", "[]"])),
                ]
                for dimension, value in [*(("fix", each) for each in fix), ("symptom", symptom), *more]:
                    lines.writerow([*place, dimension, value, seconds, memo])
    return out.getvalue()


def exported(study: str, what: str, format: str = "csv", **options: Any) -> bytes:
    seat = get_seat(make.user("olga"), study)
    return b"".join(rows.file_pieces(seat, what, format, options))


def take(study: str, name: str, text: bytes) -> None:
    report = import_ratings(user=make.user("olga"), study=study, file=text, name=name)
    assert report.refusals == []


def labels_of(study: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(exported(study, "labels").decode())))


@pytest.mark.django_db
@pytest.mark.parametrize("shape", ["long", "wide"])
@pytest.mark.parametrize("seed", range(SEEDS))
def test_exported_ratings_come_back_to_the_byte(seed: int, shape: str) -> None:
    file = check(seed, shape)
    assert all(each in file for each in (b"[]", b"PENDING", b",2,")), "the sheet has too little in it"


@pytest.mark.soak
@pytest.mark.django_db
@pytest.mark.parametrize("shape", ["long", "wide"])
@pytest.mark.parametrize("seed", range(SEEDS, 103))
def test_many_exported_ratings_come_back_to_the_byte(seed: int, shape: str) -> None:
    check(seed, shape)


def check(seed: int, shape: str) -> bytes:
    taxonomy = make.version(KINDS).taxonomy
    for slug in ("first", "second"):
        create_study(user=make.user("olga"), slug=slug, title=slug, taxonomy=taxonomy.slug)
    take("first", "sheet.csv", sheet_of(random.Random(seed)).encode())
    file = exported("first", "ratings", shape=shape)
    take("second", "ratings.csv", file)
    assert exported("second", "ratings") == exported("first", "ratings")
    assert exported("second", "ratings", shape=shape) == file
    return file

    before = labels_of("first")
    take("second", "labels.csv", exported("first", "labels", shape=shape))
    after = labels_of("second")
    names = ("item", "part", "round", "round_label", "dimension", "values")
    assert [[row[name] for name in names] for row in after] == [[row[name] for name in names] for row in before]
    assert before and {row["method"] for row in after} == {"imported"}
