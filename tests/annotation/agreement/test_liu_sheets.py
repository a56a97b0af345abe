"""The sheets of Liu et al., read as they were recomputed by others, give their kappas; skipped where they are not."""

import csv
import json
from collections import defaultdict
from pathlib import Path

import pytest

from annotation.agreement import Patterns, cohen_kappa, percent_agreement

DATA = Path(__file__).resolve().parents[4] / "shared/data/faults-distributed-training"
FAULT, HOW_TO = "fault", "how-to question"
QUESTIONS = [
    ("issue_type", "issue_type", None),
    ("stage", "fault.stage", FAULT),
    ("leaf_category", "fault.leaf_category", FAULT),
    ("fix_pattern", "fault.fix_pattern", FAULT),
    ("howto_topic", "howto.topic", HOW_TO),
]

pytestmark = pytest.mark.skipif(not DATA.is_dir(), reason=f"the sheets of Liu et al. are not at {DATA}")


def pairs(number: int, column: str, kind: str | None) -> list[tuple[str, str]]:
    """What both said of items that both left in one part; a blank below the issue type is a value of its own."""
    given: dict[str, dict[str, list[dict[str, str]]]] = defaultdict(lambda: defaultdict(list))
    with (DATA / "labels_long.csv").open(newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            if row["round"] == str(number) and row["rater"] in ("rater1", "rater2"):
                given[row["item_url"]][row["rater"]].append({k: (v or "").strip().lower() for k, v in row.items()})
    found = []
    for raters in given.values():
        if sorted(raters) != ["rater1", "rater2"] or any(len(rows) != 1 for rows in raters.values()):
            continue
        first, second = (raters[name][0] for name in ("rater1", "rater2"))
        if not first["issue_type"] or not second["issue_type"]:
            continue
        if kind is None or first["issue_type"] == second["issue_type"] == kind:
            found.append((first[column] or "(blank)", second[column] or "(blank)"))
    return found


@pytest.mark.parametrize("number", range(1, 6))
@pytest.mark.parametrize(("column", "name", "kind"), QUESTIONS)
def test_each_question_of_each_round_has_the_kappa_that_others_recomputed(
    number: int, column: str, name: str, kind: str | None
) -> None:
    expected = json.loads((DATA / "computed.json").read_text())[f"round_{number}"][name]
    patterns = Patterns.from_table(pairs(number, column, kind))
    kappa = cohen_kappa(patterns, resamples=0)
    assert patterns.n_units == expected["n"]
    assert percent_agreement(patterns, resamples=0).value == pytest.approx(expected["po"], abs=1e-12)
    assert kappa.value == pytest.approx(expected["kappa"], abs=1e-12)
