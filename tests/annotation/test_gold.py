"""Gold in a study: partly known answers, a minimum for each rater with retries, agreement with gold, and the files."""

import csv
import io
from typing import Any

import pytest

from annotation.actions import rounds
from annotation.models import Round, Study
from tests import builders as make
from tests.annotation.test_api import Caller

pytestmark = pytest.mark.django_db

FAULT = {"kind": ["fault"], "symptom": ["crash"], "fixes": ["config"], "distributed": False}


def build_study() -> Study:
    made = make.study(text=make.FAULTS, raters=["bob", "carol", "dave"])
    make.issues(20)
    return made


def name(number: int) -> str:
    return f"acme/rocket#{number}"


def opened(study: Study, raters: list[str], *numbers: int, known: dict[int, Any], **more: Any) -> Round:
    made = rounds.create_round(
        seat=make.owner_seat(study),
        raters=raters,
        raters_per_item=1,
        issues=[name(n) for n in numbers],
        known={name(n): {"labels": labels} for n, labels in known.items()},
        **({"kind": "pilot"} | more),
    )
    return rounds.open_round(seat=make.owner_seat(study), number=made.number, unregistered=True)


def ratings(study: Study, rest: str = "") -> list[dict[str, str]]:
    answer = Caller("olga").get(f"studies/{study.slug}/ratings/?format=csv{rest}")
    return list(csv.DictReader(io.StringIO(b"".join(answer.streaming_content).decode())))


def test_ratings_mark_training_items_and_keep_the_first_answer_in_json_csv_parquet_and_wide(study: Study) -> None:
    round_ = opened(study, ["bob"], 1, 2, known={8: FAULT, 9: FAULT})
    make.submit(round_, "bob", 8, {"kind": ["how-to"]})
    make.submit(round_, "bob", 9, {"kind": ["how-to"]})
    make.submit(round_, "bob", 8, {**FAULT, "fixes": []})
    make.submit(round_, "bob", 8, FAULT)
    make.submit(round_, "bob", 1, FAULT)
    make.submit(round_, "bob", 1, {"kind": ["how-to"]})
    truth = {
        (name(8), "true", "first", "how-to"),
        (name(8), "true", "current", "fault"),
        (name(9), "true", "first", "how-to"),
        (name(1), "false", "blind", "how-to"),
    }
    rows = [row for row in ratings(study) if row["dimension"] == "kind"]
    assert {(row["item"], row["training"], row["revision"], row["values"]) for row in rows} == truth and len(rows) == 4
    shown = Caller("olga").get(f"studies/{study.slug}/ratings/?dimension=kind").json()["results"]
    assert {(r["item"], str(r["training"]).lower(), r["revision"], *r["values"]) for r in shown} == truth
    wide = ratings(study, "&shape=wide")
    assert {(row["item"], row["training"], row["revision"], row["kind"]) for row in wide} == truth
    for revision in ("first", "blind", "current"):
        only = ratings(study, f"&revision={revision}&dimension=kind")
        page = Caller("olga").get(f"studies/{study.slug}/ratings/?dimension=kind&revision={revision}").json()["results"]
        assert [(row["item"], row["values"]) for row in only] == [(row["item"], *row["values"]) for row in page]
        assert {row["revision"] for row in only} == {revision}
    assert len(ratings(study, "&revision=current&dimension=kind")) == 3


def test_a_proposal_on_gold_holds_back_no_closing_and_is_in_no_paragraph(study: Study) -> None:
    round_ = opened(study, ["bob"], 1, known={8: FAULT})
    make.submit(round_, "bob", 8, {}, proposals={"kind": {"name": "New", "memo": "none fits"}})
    make.submit(round_, "bob", 1, FAULT)
    olga = Caller("olga")
    assert "proposal" not in olga.get(f"studies/{study.slug}/agreement/methods/").json()["paragraph"]
    assert rounds.close_round(seat=make.owner_seat(study), number=round_.number).state == Round.State.CLOSED
