"""The file of ratings is all that someone needs who computes the agreement of a study again, and it comes back whole.

`build_study` has a pilot and a main round, third raters asked by rule, a model rater, and answers that were changed.
"""

import csv
import io
from collections import defaultdict
from typing import Any

import numpy as np
import pytest

from annotation.assignments.jobs import rule_answers, rule_round
from annotation.core.access import get_seat
from annotation.exports.queries import rows
from annotation.imports.actions.ratings import import_ratings
from annotation.members.actions import members
from annotation.models import Assignment, Round, Study
from annotation.rounds.actions import rounds
from annotation.studies.actions import studies
from tests import builders as make
from tests.scripts import Script

pytestmark = pytest.mark.django_db
NAMES = (
    "percent_agreement", "cohen_kappa", "scott_pi", "fleiss_kappa", "conger_kappa", "brennan_prediger",
    "krippendorff_alpha", "gwet_ac1",
)  # fmt: skip


def build_study() -> Study:
    study = make.study(raters=("bob", "carol", "dan"))
    owner = make.owner_seat(study)
    model = {"name": "Reader", "version": "3.1", "prompt": "Say what the symptom is."}
    make.user("model")
    members.add_member(seat=owner, username="model", roles=["rater"], kind="machine", machine=model)
    studies.change_study(seat=owner, changes={"third_rater": True})
    pilot = make.open_round(study, 4, raters=("bob", "carol"), kind="pilot")
    make.rate(pilot, "item bob carol\n1 crash crash\n2 hang crash\n3 hang hang\n4 slow hang")
    settle(pilot)
    main = make.open_round(study, 6, first=5, raters=("bob", "carol", "model"), raters_per_item=2)
    for number in range(5, 11):
        make.submit(main, "model", number, {"symptom": ["slow"]}, memo="sure")
    make.rate(main, "item bob carol\n5 crash crash\n6 hang slow\n7 hang hang\n8 slow hang\n9 crash hang\n10 slow slow")
    settle(main, closes=False)
    make.submit(main, "carol", 8, {"symptom": ["slow"]}, memo="I see")
    rounds.close_round(seat=make.owner_seat(study), number=main.number, leave_open=True)
    return study


def settle(round_: Round, *, closes: bool = True) -> None:
    """Asks third raters, who answer hang, but for one item, and lets the rules decide on what they said."""
    rule_round(round_.pk)
    for each in Assignment.objects.filter(round=round_, slot=None, current=None, rater__kind="person"):
        number = int(each.item.identifier.rpartition("#")[2])
        make.submit(round_, "dan", number, {"symptom": ["slow" if number == 4 else "hang"]})
    rule_answers(round_.pk)
    if closes:
        rounds.close_round(seat=make.owner_seat(round_.study), number=round_.number, leave_open=True)


def file_of(study: str, what: str = "ratings", **options: Any) -> bytes:
    seat = get_seat(make.user("olga"), study)
    return b"".join(rows.file_pieces(seat, what, "csv", options))


def read(file: bytes) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(file.decode())))


def coefficients(units: list[list[str]]) -> dict[str, float]:
    """Those of two raters who both labeled every unit, each from its definition."""
    used = sorted({value for unit in units for value in unit})
    n, q = len(units), len(used)
    both = np.array([[used.index(value) for value in unit] for unit in units])
    table = np.zeros((q, q))
    np.add.at(table, (both[:, 0], both[:, 1]), 1 / n)
    agreed, one, other = np.trace(table), table.sum(axis=1), table.sum(axis=0)
    mean = (one + other) / 2

    def beyond(chance: float) -> float:
        return float((agreed - chance) / (1 - chance))

    cohen, scott = beyond(one @ other), beyond(mean @ mean)
    return dict(
        zip(
            NAMES,
            (
                agreed, cohen, scott, scott, cohen, beyond(1 / q), 1 - (1 - scott) * (1 - 1 / (2 * n)),
                beyond(mean @ (1 - mean) / (q - 1)),
            ),
            strict=True,
        )
    )  # fmt: skip


@pytest.mark.parametrize("shape", ["long", "wide"])
def test_every_coefficient_is_recomputed_from_the_file_of_ratings_alone(study: Study, shape: str) -> None:
    ratings = [row for row in read(file_of("study", shape=shape)) if row["role"] == "rater"]
    olga, n_compared = Script("olga"), 0
    for when in ("before", "after"):
        for asked in ("", "round=1&", "round=2&", "round=headline&"):
            units: dict[tuple[str, str], dict[str, str]] = defaultdict(dict)
            for row in ratings:
                if asked == "round=headline&" and row["round_kind"] != "main":
                    continue
                if asked.startswith(("round=1", "round=2")) and asked != f"round={row['round']}&":
                    continue
                place = units[row["round"], row["item"]]
                if row["revision"] == "blind" or when == "after":  # the current one follows the blind one
                    place[row["rater"]] = row["values" if shape == "long" else "symptom"]
            (entry,) = olga.send("GET", f"studies/study/agreement/?{asked}when={when}").json()
            assert entry["units"] == len(units)
            told = {each["name"]: each["value"] for each in entry["coefficients"]}
            found = coefficients([[unit["R1"], unit["R2"]] for unit in units.values()])
            assert {name: told[name] for name in found} == pytest.approx(found)
            n_compared += len(found)
    assert n_compared == 8 * len(NAMES)


def test_ratings_tell_the_roles_of_their_raters_and_labels_and_ratings_the_kind_of_their_round(study: Study) -> None:
    found = {(row["round_kind"], row["rater"], row["role"]) for row in read(file_of("study"))}
    expected = {(kind, code, "rater") for kind in ("pilot", "main") for code in ("R1", "R2")}
    expected |= {(kind, "R3", "third") for kind in ("pilot", "main")} | {("main", "R4", "model")}
    assert found == expected
    olga = Script("olga")
    for what in ("ratings", "labels"):
        listed = olga.send("GET", f"studies/study/{what}/?page_size=500").json()["results"]
        kinds = {(row["round"], row["round_kind"]) for row in listed}
        assert kinds == {(1, "pilot"), (2, "main")}
        for shape in ("long", "wide"):
            assert {
                (int(row["round"]), row["round_kind"]) for row in read(file_of("study", what, shape=shape))
            } == kinds
        if what == "ratings":
            assert {(row["round_kind"], row["rater"], row["role"]) for row in listed} == expected


def test_resolutions_tell_rules_from_people(study: Study) -> None:
    olga = Script("olga")
    place = {"item": "acme/rocket#1", "round": 1, "dimension": "symptom", "values": ["slow"], "rationale": "Seen."}
    assert olga.send("POST", "studies/study/resolutions/", place).status_code == 201
    listed = olga.send("GET", "studies/study/resolutions/").json()["results"]
    found = sorted((row["decider"], row["method"], bool(row["decided_by"])) for row in listed)
    assert found == [("person", "adjudicator", True), *[("rule", "third_rater", False)] * 5]
    assert found == sorted(
        (row["decider"], row["method"], bool(row["decided_by"])) for row in read(file_of("study", "resolutions"))
    )


@pytest.mark.parametrize("shape", ["long", "wide"])
def test_third_and_model_raters_and_pilots_come_back_with_the_file(study: Study, shape: str) -> None:
    file = file_of("study", shape=shape)
    studies.create_study(user=make.user("olga"), slug="second", title="Second", taxonomy=study.taxonomy.slug)
    report = import_ratings(user=make.user("olga"), study="second", file=file, name="ratings.csv")
    assert report.refusals == []
    assert file_of("second", shape=shape) == file
    olga = Script("olga")
    numbers = [
        [(each["units"], each["coefficients"]) for each in olga.send("GET", f"studies/{slug}/agreement/").json()]
        for slug in ("study", "second")
    ]
    assert numbers[0] == numbers[1]
    again = import_ratings(user=make.user("olga"), study="second", file=file, name="ratings.csv")
    assert (again.n_ratings, again.n_resolutions) == (0, 0)


def test_a_relabeling_round_is_no_main_round_after_an_import(study: Study) -> None:
    file = file_of("study").replace(b",main,", b",relabel,")
    studies.create_study(user=make.user("olga"), slug="second", title="Second", taxonomy=study.taxonomy.slug)
    report = import_ratings(user=make.user("olga"), study="second", file=file, name="ratings.csv")
    assert {each.reason for each in report.refusals} == {
        "Round 2 of the file is a relabeling round, which only a migration makes. Import its agreed labels instead."
    }
    assert [each.number for each in report.rounds] == [1]


def test_a_wide_file_of_before_whose_dimension_is_called_role_is_still_read() -> None:
    make.version(make.SYMPTOMS.replace("key: symptom", "key: role"))
    studies.create_study(user=make.user("olga"), slug="second", title="Second", taxonomy="symptoms")
    sheet = (
        b"item,part,round,round_label,rater,role,memo,seconds,revision,taxonomy_version\n"
        b"acme/rocket#1,1,1,,R1,crash,,,blind,1\nacme/rocket#1,1,1,,R2,hang,,,blind,1\n"
    )
    report = import_ratings(user=make.user("olga"), study="second", file=sheet, name="ratings.csv")
    assert report.refusals == [] and report.n_ratings == 2
    assert {row["role.label"] for row in read(file_of("second", shape="wide"))} == {"crash", "hang"}
