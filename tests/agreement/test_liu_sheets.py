"""The sheets of Liu et al., read as they were recomputed by others, give their kappas."""

import csv
import json
from collections import defaultdict

import pytest

from agreement import Patterns, cohen_kappa, krippendorff_alpha, percent_agreement
from tests.published import LIU

FAULT, HOW_TO = "fault", "how-to question"
WAY = ("issue_type", "howto_topic", "howto_subtopic", "stage", "type", "leaf_category")
QUESTIONS = [
    ("issue_type", "issue_type", None),
    ("stage", "fault.stage", FAULT),
    ("leaf_category", "fault.leaf_category", FAULT),
    ("fix_pattern", "fault.fix_pattern", FAULT),
    ("howto_topic", "howto.topic", HOW_TO),
]


def pairs(number: int, column: str, kind: str | None) -> list[tuple[str, str]]:
    """What both said of items that both left in one part; a blank below the issue type is a value of its own."""
    given: dict[str, dict[str, list[dict[str, str]]]] = defaultdict(lambda: defaultdict(list))
    with (LIU / "labels_long.csv").open(newline="", encoding="utf-8") as file:
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
    expected = json.loads((LIU / "computed.json").read_text())[f"round_{number}"][name]
    patterns = Patterns.from_table(pairs(number, column, kind))
    kappa = cohen_kappa(patterns, intervals=False)
    assert patterns.n_units == expected["n"]
    assert percent_agreement(patterns, intervals=False).value == pytest.approx(expected["po"], abs=1e-12)
    assert kappa.value == pytest.approx(expected["kappa"], abs=1e-12)


def paths(number: int) -> dict[str, dict[str, list[str]]]:
    """What each rater left at each item, part by part, as the whole way down from the issue type."""
    found: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    with (LIU / "labels_long.csv").open(newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            if row["round"] == str(number) and row["rater"] in ("rater1", "rater2") and row["issue_type"].strip():
                way = (" ".join(row[step].split()).lower() for step in WAY)
                found[row["item_url"]][row["rater"]].append(" / ".join(way))
    return {item: raters for item, raters in found.items() if len(raters) == 2}


@pytest.mark.parametrize("number", range(1, 6))
def test_the_whole_path_of_each_round_has_the_kappa_and_alpha_that_others_recomputed(number: int) -> None:
    expected = json.loads((LIU / "computed.json").read_text())[f"round_{number}"]
    single = [raters for raters in paths(number).values() if all(len(rows) == 1 for rows in raters.values())]
    patterns = Patterns.from_table([(raters["rater1"][0], raters["rater2"][0]) for raters in single])
    assert patterns.n_units == expected["full_path"]["n"]
    kappa, alpha = cohen_kappa(patterns, intervals=False), krippendorff_alpha(patterns, intervals=False)
    assert kappa.value == pytest.approx(expected["full_path"]["kappa"], abs=1e-12)
    assert alpha.value == pytest.approx(expected["full_path_alpha"], abs=1e-12)


@pytest.mark.parametrize("number", range(1, 6))
def test_all_bugs_of_an_issue_as_a_set_have_the_alpha_that_others_recomputed(number: int) -> None:
    expected = json.loads((LIU / "computed.json").read_text())[f"round_{number}"]
    sets = [tuple(frozenset(raters[name]) for name in ("rater1", "rater2")) for raters in paths(number).values()]
    patterns = Patterns.from_table(sets)
    assert patterns.n_units == expected["masi_alpha_full_path_sets"]["n"]
    for metric, value in (
        ("masi", expected["masi_alpha_full_path_sets"]["alpha"]),
        ("jaccard", expected["jaccard_alpha_full_path_sets"]),
    ):
        assert krippendorff_alpha(patterns, metric, intervals=False).value == pytest.approx(value, abs=1e-9)
