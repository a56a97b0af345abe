"""Labels, ratings and agreement in terms of any version to which a mapping exists; what was given stays beside."""

import csv
import io
import json
import random
import re
from html import unescape
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from django.core.management import CommandError, call_command
from django.test import Client
from django.utils import timezone

from annotation.agreement_report.queries.across_rounds import AgreementQuery, visible_rounds
from annotation.agreement_report.queries.coefficients import agreement, agreement_and_raters
from annotation.agreement_report.queries.options import ask
from annotation.agreement_report.queries.patterns import Slice
from annotation.agreement_report.queries.units_behind import DrillDown, drill_down_units
from annotation.core.access import get_whole_study
from annotation.core.errors import Invalid
from annotation.exports.queries import rows
from annotation.models import Plan, Round, Study
from taxonomy import actions as taxonomy_actions
from taxonomy.models import TaxonomyVersion
from tests import builders as make
from tests.asserts import assert_queries

pytestmark = pytest.mark.django_db

SECOND = """
slug: symptoms
title: Symptoms
dimensions:
  - key: symptom
    title: Symptom
    kind: single
    categories:
      - {key: stop, name: Stop, was: [crash]}
      - {key: early, name: Early, was: [hang]}
      - {key: late, name: Late, was: [hang]}
      - {key: slow, name: Slow}
"""
THIRD = """
slug: symptoms
title: Symptoms
dimensions:
  - key: symptom
    title: Symptom
    kind: single
    categories:
      - {key: halt, name: Halt, was: [stop, early, late]}
      - {key: new, name: New}
"""
FAULT = {"kind": ["fault"], "symptom": ["crash"], "fixes": ["config"], "distributed": True}


def build_study() -> Study:
    """Round 1 under version 1 is closed; version 2 renames, splits, version 3 merges, retires and adds."""
    made = make.study()
    round_ = make.rate(
        make.open_round(made, 4), "item bob carol\n1 crash crash\n2 hang hang\n3 slow slow\n4 crash hang"
    )
    Round.objects.filter(pk=round_.pk).update(state=Round.State.CLOSED)
    make.next_version(made, SECOND)
    make.next_version(made, THIRD)
    return made


def issue(row: Any) -> int:
    return int(row.item.rpartition("#")[2])


def labels(study: Study, **asked: Any) -> dict[int, Any]:
    found = rows.labels(make.seat(study, "rea"), **asked)
    return {issue(row): row for _, here in found for row in here}


def ratings(study: Study, **asked: Any) -> dict[tuple[int, str], Any]:
    found = rows.ratings(make.seat(study, "ada"), **asked)
    return {(issue(row), row.rater): row for _, here in found for row in here}


def entries(study: Study, version: int | None, **words: Any) -> dict[str, dict[str, Any]]:
    seat = get_whole_study(study.slug)
    told = TaxonomyVersion.objects.get(taxonomy=study.taxonomy, number=version) if version else None
    number = words.pop("number", None)
    found = agreement(
        seat, visible_rounds(seat, number), AgreementQuery(resamples=0, version=told, **words), round_number=number
    )
    return {each["dimension"]: each for each in found}


def behind(study: Study, version: int, *, slice: Slice | None = None, **words: str) -> list[tuple[int, int]]:
    seat = get_whole_study(study.slug)
    told = TaxonomyVersion.objects.get(taxonomy=study.taxonomy, number=version)
    dimension = words.pop("dimension", "symptom")
    asked = AgreementQuery(dimension=dimension, level=words.pop("level", "leaf"), version=told, slice=slice or Slice())
    found = drill_down_units(seat, visible_rounds(seat), asked, DrillDown.read({"dimension": dimension, **words}))
    return [(int(line.item.identifier.rpartition("#")[2]), line.part) for line in found.lines]


def percent(entry: dict[str, Any]) -> Any:
    return entry["coefficients"][0]["value"]


def plan(study: Study, number: int, to: int, state: str = Plan.State.DONE) -> Plan:
    versions = {each.number: each for each in study.taxonomy.versions.all()}
    return Plan.objects.create(
        study=study,
        number=number,
        from_version=versions[1],
        to_version=versions[to],
        state=state,
        created_by=study.created_by,
        done_at=timezone.now(),
    )


def told(row: Any) -> tuple[Any, int, Any, int, Any]:
    return row.values, row.taxonomy_version, row.original_values, row.original_version, row.unmapped


# Labels and ratings


def test_without_a_plan_labels_stand_in_the_version_of_their_round(study: Study) -> None:
    assert told(labels(study)[2]) == (["hang"], 1, ["hang"], 1, None)


def test_labels_are_followed_forwards_and_what_cannot_be_is_null_with_the_reason(study: Study) -> None:
    second, third = labels(study, version=2), labels(study, version=3)
    assert told(second[1]) == (["stop"], 2, ["crash"], 1, None)
    assert told(second[2]) == (None, 2, ["hang"], 1, "split in version 2 into early, late")
    assert told(third[2]) == (["halt"], 3, ["hang"], 1, None)
    assert told(third[3]) == (None, 3, ["slow"], 1, "retired in version 3")


def test_labels_are_followed_back(study: Study) -> None:
    make.rate(make.open_round(study, 2, first=5, taxonomy_version=3), "item bob carol\n5 halt halt\n6 new new")
    first = labels(study, version=1)
    assert told(first[5]) == (None, 1, ["halt"], 3, "merged in version 3 from stop, early, late")
    assert told(first[6]) == (None, 1, ["new"], 3, "added in version 3")
    assert told(first[1]) == (["crash"], 1, ["crash"], 1, None)


def test_after_a_plan_labels_stand_in_its_version_and_after_its_undoing_as_before(study: Study) -> None:
    made = plan(study, 1, to=2)
    assert told(labels(study)[1]) == (["stop"], 2, ["crash"], 1, None)
    assert labels(study)[2].values is None
    assert told(ratings(study)[1, "R1"]) == (["crash"], 1, ["crash"], 1, None)
    make.rate(make.open_round(study, 1, first=5, taxonomy_version=3), "item bob carol\n5 new new")
    assert told(labels(study)[5]) == (["new"], 3, ["new"], 3, None)
    made.state = Plan.State.UNDONE
    made.save()
    assert told(labels(study)[1]) == (["crash"], 1, ["crash"], 1, None)


def test_ratings_are_as_given_or_in_terms_of_a_version_and_pending_stays_pending(study: Study) -> None:
    make.rate(make.open_round(study, 1, first=5, taxonomy_version=1), "item bob carol\n5 PENDING hang")
    given, second = ratings(study), ratings(study, version=2)
    assert told(given[4, "R2"]) == (["hang"], 1, ["hang"], 1, None)
    assert told(second[4, "R1"]) == (["stop"], 2, ["crash"], 1, None)
    assert told(second[4, "R2"]) == (None, 2, ["hang"], 1, "split in version 2 into early, late")
    assert told(second[5, "R1"]) == (["PENDING"], 2, ["PENDING"], 1, None)


def test_a_retired_question_is_null_with_the_reason_and_its_row_stays() -> None:
    study = make.study(text=make.FAULTS)
    round_ = make.open_round(study, 1)
    for name in ("bob", "carol"):
        make.submit(round_, name, 1, FAULT)
    at = make.FAULTS.index("  - key: distributed")
    make.next_version(study, make.FAULTS[:at])
    found = {row.dimension: row for _, here in rows.labels(make.seat(study, "rea"), version=2) for row in here}
    assert found["distributed"].values is None
    assert found["distributed"].unmapped == "its dimension is not in version 2"
    assert found["distributed"].original_values == [True]
    assert found["fixes"].values == ["config"]


def test_what_no_longer_applies_under_the_followed_labels_is_left_out_unless_what_it_hangs_on_is_blocked() -> None:
    study = make.study(text=make.FAULTS)
    round_ = make.open_round(study, 1)
    for name in ("bob", "carol"):
        make.submit(round_, name, 1, FAULT)
    how_to, when = "{key: how-to, name: How-to question}", "applies_when: {dimension: kind, is: [fault]}"
    second = make.FAULTS.replace(how_to, f"{how_to}, {{key: bug, name: Bug}}")
    fixes = second.index("  - key: fixes")
    second = second[:fixes] + second[fixes:].replace(when, when.replace("fault", "bug"), 1)
    make.next_version(study, second)
    third = second.replace(
        "{key: fault, name: Fault}", "{key: fault, name: Fault}, {key: flaw, name: Flaw, was: [fault]}"
    )
    make.next_version(study, third.replace("{key: fault, name: Fault}", "{key: fault, name: Fault, was: [fault]}"))
    seat = make.seat(study, "rea")
    kept = [row.dimension for _, here in rows.labels(seat, version=2) for row in here]
    assert kept == ["kind", "symptom", "distributed"]
    blocked = {row.dimension: row.values for _, here in rows.labels(seat, version=3) for row in here}
    assert blocked == {"kind": None, "symptom": ["crash"], "fixes": ["config"], "distributed": [True]}
    narrowed = [row.dimension for _, here in rows.labels(seat, version=2, dimension="fixes") for row in here]
    assert narrowed == []


def test_no_mapping_at_all_is_said_for_every_row(study: Study) -> None:
    other = taxonomy_actions.new_draft(user=study.created_by, taxonomy=study.taxonomy, text=THIRD)
    TaxonomyVersion.objects.filter(pk=other.pk).update(parent=None)
    seat = make.owner_seat(study)
    found = [row for _, here in rows.labels(seat, version=other.number) for row in here]
    assert {(row.values, row.unmapped) for row in found} == {(None, f"no mapping leads to version {other.number}")}
    assert sorted(row.original_values[0] for row in found) == ["crash", "hang", "slow"]


def test_a_version_that_is_not_there_or_is_a_draft_of_others_can_not_be_asked_for(study: Study) -> None:
    draft = taxonomy_actions.new_draft(user=study.created_by, taxonomy=study.taxonomy, text=THIRD)
    rea, olga = Client(), Client()
    rea.force_login(make.user("rea"))
    olga.force_login(make.user("olga"))
    for what in ("labels/", "ratings/", "labels/?format=csv", "agreement/"):
        for number in (9, draft.number):
            address = f"/api/v1/studies/study/{what}{'&' if '?' in what else '?'}version={number}"
            answer = rea.get(address)
            assert answer.status_code == 422 and list(answer.json()["fields"]) == ["version"]
            assert olga.get(address).status_code == (422 if number == 9 else 200)
    for nonsense in ("x", "-1", "99999999999"):
        assert rea.get(f"/api/v1/studies/study/labels/?version={nonsense}").status_code == 422
    with pytest.raises(Invalid):
        rows.ratings(make.seat(study, "bob"), version=9)


def test_every_format_and_the_command_say_the_same(study: Study, tmp_path: Path) -> None:
    client = Client()
    client.force_login(make.user("rea"))

    def sent(format: str) -> bytes:
        answer = client.get(f"/api/v1/studies/study/labels/?version=2&format={format}")
        return b"".join(answer.streaming_content)  # type: ignore[attr-defined]

    from_csv = list(csv.DictReader(io.StringIO(sent("csv").decode())))
    from_jsonl = [json.loads(line) for line in sent("jsonl").splitlines()]
    from_parquet = pq.read_table(io.BytesIO(sent("parquet"))).to_pylist()
    pages = client.get("/api/v1/studies/study/labels/?version=2").json()["results"]
    assert [each["values"] for each in from_jsonl] == [each["values"] for each in from_parquet]
    assert [each["values"] for each in pages] == [["stop"], None, ["slow"]]
    assert [each["values"] for each in from_csv] == ["stop", "", "slow"]
    assert from_csv[1]["unmapped"] == from_parquet[1]["unmapped"] == "split in version 2 into early, late"
    assert (from_csv[1]["original_values"], from_csv[1]["original_version"]) == ("hang", "1")
    out = tmp_path / "labels.csv"
    call_command("export", "study", "--out", str(out), "--version", "2")
    assert out.read_bytes() == sent("csv")
    with pytest.raises(CommandError, match="no version 9"):
        call_command("export", "study", "--out", str(out), "--version", "9")


def test_the_cost_of_telling_does_not_grow_with_the_rows(study: Study) -> None:
    lines = "\n".join(f"{number} crash crash" for number in range(5, 25))
    make.rate(make.open_round(study, 20, first=5, taxonomy_version=1), f"item bob carol\n{lines}")
    seat = make.owner_seat(study)
    for number in (1, 2):
        list(rows.flat(seat, rows.labels(seat, round_number=number, version=3)))
        with assert_queries(8):
            list(rows.flat(seat, rows.labels(seat, round_number=number, version=3)))


# Agreement


def test_agreement_tells_every_round_in_terms_of_the_version_asked_for(study: Study) -> None:
    make.rate(make.open_round(study, 2, first=5, taxonomy_version=3), "item bob carol\n5 halt halt\n6 halt new")
    own, third = entries(study, None)["symptom"], entries(study, 3)["symptom"]
    assert (own["version"], own["units"], own["unmapped"]) == (None, 6, [])
    assert (third["version"], third["units"], third["left_out"]) == (3, 5, 1)
    assert percent(third) == pytest.approx(4 / 5)
    assert third["unmapped"] == [
        {"category": "slow", "version": 1, "reason": "retired in version 3", "ratings": 2},
    ]
    assert {(each["a"], each["b"]): each["n"] for each in third["confusion"]} == {
        ("halt", "halt"): 4,
        ("halt", "new"): 1,
    }


def test_a_blocked_value_is_a_missing_rating_and_a_unit_with_one_left_is_left_out(study: Study) -> None:
    second = entries(study, 2)["symptom"]
    assert (second["units"], second["left_out"], second["ratings"]) == (2, 2, 4)
    assert second["unmapped"] == [
        {"category": "hang", "version": 1, "reason": "split in version 2 into early, late", "ratings": 3}
    ]
    assert behind(study, 2) == [(1, 1), (3, 1)]
    assert behind(study, 2, show="left_out") == [(2, 1), (4, 1)]
    assert behind(study, 2, a="stop", b="stop") == [(1, 1)]
    assert behind(study, 3, a="halt", b="halt") == [(1, 1), (2, 1), (4, 1)]
    assert behind(study, 3, show="left_out") == [(3, 1)]


def test_a_left_out_unit_says_what_was_given_and_why_it_can_not_be_told(study: Study) -> None:
    seat = get_whole_study(study.slug)
    second = TaxonomyVersion.objects.get(taxonomy=study.taxonomy, number=2)
    asked = AgreementQuery(dimension="symptom", version=second)
    left_out = DrillDown.read({"dimension": "symptom", "show": "left_out"})
    line = drill_down_units(seat, visible_rounds(seat), asked, left_out).lines[1]
    assert line.given == [("R1", ("stop",)), ("R2", ("hang",))]
    assert line.unmapped == {"R2": "split in version 2 into early, late"}


def test_agreement_in_terms_of_a_version_to_which_no_mapping_leads_is_a_warning(study: Study) -> None:
    other = taxonomy_actions.new_draft(user=study.created_by, taxonomy=study.taxonomy, text=THIRD)
    TaxonomyVersion.objects.filter(pk=other.pk).update(parent=None)
    entry = entries(study, other.number)["symptom"]
    assert entry["units"] == 0
    assert f"Round 1 is excluded: no mapping leads from version 1 to version {other.number}." in entry["warnings"]


def test_levels_are_those_of_the_version_asked_for() -> None:
    study = make.study(text=make.FAULTS)
    round_ = make.open_round(study, 1)
    make.submit(round_, "bob", 1, FAULT)
    make.submit(round_, "carol", 1, {**FAULT, "symptom": ["slow"]})
    flat = make.FAULTS.replace("      - {key: slow, name: Slow, definition: Too slow.}\n", "")
    flat = flat.replace(
        "{key: hang, name: Hang}]", "{key: hang, name: Hang}, {key: slow, name: Slow, definition: Too slow.}]"
    )
    make.next_version(study, flat)
    assert percent(entries(study, None, level="parent")["symptom"]) == 0
    assert percent(entries(study, 2, level="parent")["symptom"]) == 1
    assert behind(study, 2, level="parent", a="failure", b="failure") == [(1, 1)]


def test_a_question_that_the_version_has_not_is_there_with_all_its_ratings_unmapped() -> None:
    study = make.study(text=make.FAULTS)
    round_ = make.open_round(study, 1)
    for name in ("bob", "carol"):
        make.submit(round_, name, 1, FAULT)
    make.next_version(study, make.FAULTS[: make.FAULTS.index("  - key: distributed")])
    entry = entries(study, 2)["distributed"]
    assert (entry["units"], entry["left_out"], percent(entry)) == (0, 1, None)
    assert entry["unmapped"] == [
        {"category": "true", "version": 1, "reason": "its dimension is not in version 2", "ratings": 2}
    ]
    assert behind(study, 2, dimension="distributed", show="left_out") == [(1, 1)]
    assert behind(study, 2, dimension="distributed") == []


def test_sets_are_followed_as_a_whole_and_pending_goes_along() -> None:
    study = make.study(text=make.FAULTS)
    round_ = make.open_round(study, 2)
    make.submit(round_, "bob", 1, {**FAULT, "fixes": ["config", "version"]})
    make.submit(round_, "carol", 1, {**FAULT, "fixes": ["config"]})
    make.submit(round_, "bob", 2, {**FAULT, "fixes": ["code"]})
    make.submit(round_, "carol", 2, {**FAULT, "fixes": []}, proposals={"fixes": {"name": "Other"}})
    text = make.FAULTS.replace(
        "{key: config, name: Configuration}, {key: version, name: Version}, {key: code, name: Code}",
        "{key: setup, name: Setup, was: [config, version]}",
    )
    make.next_version(study, text)
    entry = entries(study, 2)["fixes"]
    assert (entry["units"], entry["left_out"], percent(entry)) == (1, 1, 1)
    assert {each["a"] for each in entry["confusion"]} == {"setup"}
    assert entry["unmapped"] == [{"category": "code", "version": 1, "reason": "retired in version 2", "ratings": 1}]


def test_items_left_out_and_compared_together_are_all_units_in_every_slice(study: Study) -> None:
    make.rate(
        make.open_round(study, 3, first=5, taxonomy_version=1), "item bob carol\n5 PENDING hang\n6 slow crash\n7 - hang"
    )
    for version in (1, 2, 3):
        for pending in ("category", "left_out"):
            asked = Slice(pending=pending)
            entry = entries(study, version, slice=asked)["symptom"]
            compared, left = behind(study, version, slice=asked), behind(study, version, slice=asked, show="left_out")
            assert (len(compared), len(left)) == (entry["units"], entry["left_out"])
            assert sorted([*compared, *left]) == [(number, 1) for number in range(1, 8)]


def test_agreement_in_terms_of_a_version_takes_no_query_for_each_pattern(study: Study) -> None:
    lines = "\n".join(f"{number} crash hang" for number in range(5, 25))
    make.rate(make.open_round(study, 20, first=5, taxonomy_version=1), f"item bob carol\n{lines}")
    third = TaxonomyVersion.objects.get(taxonomy=study.taxonomy, number=3)
    seat = get_whole_study(study.slug)
    for number in (1, 2):
        rounds = visible_rounds(seat, number)
        agreement(seat, rounds, AgreementQuery(resamples=0, version=third), round_number=number)
        with assert_queries(2):
            agreement(seat, rounds, AgreementQuery(resamples=0, version=third), round_number=number)


def test_the_command_tells_the_version_and_what_can_not_be_told(
    study: Study, capsys: pytest.CaptureFixture[str]
) -> None:
    call_command("agreement", "study", "--version", "2")
    said = capsys.readouterr().out
    assert "all rounds mapped to version 2" in said
    assert "hang (version 1), 3 ratings: split in version 2 into early, late" in said
    with pytest.raises(CommandError, match="no version 9"):
        call_command("agreement", "study", "--version", "9")


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.soak) for seed in range(1, 4))])
def test_whatever_the_changes_the_original_values_are_what_was_rated(seed: int) -> None:
    """Random renames, merges, splits, retirements and additions over several versions, read in terms of each."""
    dice = random.Random(seed)
    study = make.study()
    keys = ["crash", "hang", "slow"]
    given: dict[tuple[int, str], tuple[int, str]] = {}
    first = 1
    for version in range(1, 5):
        lines = []
        for number in range(first, first + 4):
            values = [dice.choice(keys) for _ in range(2)]
            given |= {(number, f"R{n}"): (version, value) for n, value in enumerate(values, start=1)}
            lines.append(f"{number} {' '.join(values)}")
        make.rate(
            make.open_round(study, 4, first=first, taxonomy_version=version), "item bob carol\n" + "\n".join(lines)
        )
        first += 4
        keys, categories = changed(dice, keys, version)
        make.next_version(
            study, make.SYMPTOMS.split("      - {key")[0] + "".join(f"      - {each}\n" for each in categories)
        )
    for version in range(1, 6):
        told_in = ratings(study, version=version)
        assert {place: (row.original_version, row.original_values[0]) for place, row in told_in.items()} == given
        for row in told_in.values():
            assert (row.values is None) == bool(row.unmapped) and row.taxonomy_version == version
            assert row.original_version != version or row.values == row.original_values
        agreed = labels(study, version=version)
        for number, row in agreed.items():
            assert {(row.original_version, row.original_values[0])} == {given[number, f"R{n}"] for n in (1, 2)}
        entry = entries(study, version)["symptom"]
        n_lost = sum(row.values is None for row in told_in.values())
        assert sum(each["ratings"] for each in entry["unmapped"]) == n_lost
        assert entry["units"] + entry["left_out"] == 16


def changed(dice: random.Random, keys: list[str], version: int) -> tuple[list[str], list[str]]:
    """The keys of a next version, and its categories in YAML."""
    left, found = list(keys), []
    dice.shuffle(left)
    while left:
        key, what = left.pop(), dice.choice(["keep", "rename", "split", "merge", "retire"])
        if what == "rename":
            found.append((f"{key}x", [key]))
        elif what == "split":
            found += [(f"{key}-a", [key]), (f"{key}-b", [key])]
        elif what == "merge" and left:
            found.append((f"m{version}-{len(found)}", [key, left.pop()]))
        elif what != "retire":
            found.append((key, []))
    found.append((f"new{version}", []))
    texts = [f"{{key: {key}, name: {key}{', was: [' + ', '.join(was) + ']' if was else ''}}}" for key, was in found]
    return [key for key, _ in found], texts


# Pages


def visitor(name: str) -> Client:
    client = Client()
    client.force_login(make.user(name))
    return client


def test_the_page_of_agreement_offers_the_versions_and_lists_what_can_not_be_told(study: Study) -> None:
    page = visitor("rea").get("/studies/study/agreement/?version=2").content.decode()
    assert '<option value="2" selected>version 2</option>' in page and "Mapped to version 2." in page
    assert "No equivalent in version 2" in page and "split in version 2 into early, late" in page
    assert "/api/v1/studies/study/agreement/?version=2" in page
    own = visitor("rea").get("/studies/study/agreement/").content.decode()
    assert "each round’s own" in own and "Mapped to" not in own and "No equivalent in version" not in own


def test_the_items_behind_a_number_say_what_was_given_and_why_it_can_not_be_told(study: Study) -> None:
    address = "/studies/study/agreement/items/?version=2&dimension=symptom&show=left_out"
    page = visitor("rea").get(address).content.decode()
    assert "mapped to version 2" in page and page.count("split in version 2 into early, late") == 3
    assert "acme/rocket#2" in page and "acme/rocket#1<" not in page


def test_the_page_of_exports_sends_labels_and_ratings_in_terms_of_the_version_chosen(study: Study) -> None:
    page = visitor("rea").get("/studies/study/exports/?version=2").content.decode()
    assert "/studies/study/exports/labels.csv?version=2" in page and "ratings.parquet?version=2" in page
    assert "resolutions.csv?version" not in page and "labels/?format=csv&amp;version=2" in page
    sent = visitor("rea").get("/studies/study/exports/labels.csv?version=2")
    assert b"split in version 2" in b"".join(sent.streaming_content)  # type: ignore[attr-defined]
    plan(study, 1, to=3)
    standing = visitor("rea").get("/studies/study/exports/").content.decode()
    assert "A migration mapped the labels to version 3" in standing and "csv?version" not in standing


@pytest.mark.parametrize("path", ["agreement/", "agreement/items/?dimension=symptom", "exports/", "exports/labels.csv"])
def test_who_may_ask_for_a_version(study: Study, path: str) -> None:
    address = f"/studies/study/{path}{'&' if '?' in path else '?'}version="
    for name in ("olga", "ada", "bob", "rea"):
        client = visitor(name)
        assert [client.get(address + number).status_code for number in ("2", "9", "x")] == [200, 422, 422]
    assert visitor("stranger").get(address + "2").status_code == 404
    assert Client().get(address + "2").status_code == 302


def test_a_study_with_one_version_has_no_choice() -> None:
    made = make.study()
    make.rate(make.open_round(made, 1), "item bob carol\n1 crash crash")
    for page in ("agreement", "exports"):
        assert "id_version" not in visitor("rea").get(f"/studies/study/{page}/").content.decode()


@pytest.mark.slow
def test_an_undone_round_is_listed_with_its_state_and_is_no_next_step(study: Study) -> None:
    worklist = make.worklist(study, 2, "item asked raters\n2 symptom bob")
    make.submit(worklist, "bob", 2, {"symptom": ["early"]})
    Round.objects.filter(pk=worklist.pk).update(state=Round.State.UNDONE)
    for name in ("olga", "ada", "bob", "rea"):
        client = visitor(name)
        assert "undone" in client.get("/studies/study/rounds/").content.decode()
        assert "count in no result" in client.get("/studies/study/rounds/2/").content.decode()
        said = re.search(r'next-words">([^<]+)<', client.get("/studies/study/").content.decode())
        assert said and "ound 2" not in said[1]
        assert "undone" not in client.get("/").content.decode()
        assert "Round 2" not in client.get("/studies/study/agreement/").content.decode()
    found = visitor("rea").get("/api/v1/studies/study/rounds/").json()["results"]
    assert [(each["number"], each["state"]) for each in found] == [(1, "closed"), (2, "undone")]
    assert visitor("ada").get("/studies/study/rounds/2/resolve/").status_code == 200
    item = worklist.round_items.get().item_id
    assert visitor("ada").get(f"/studies/study/rounds/2/resolve/{item}/").status_code == 409
    assert "count in no result" in visitor("rea").get(f"/studies/study/items/{item}/").content.decode()


def test_a_rater_beside_themselves_is_compared_in_one_version_whichever_the_rounds_had(study: Study) -> None:
    """Crash became Stop, then Halt, hang was split and merged again, and slow has no counterpart in version 3."""
    make.rate(make.open_round(study, 4), "item bob carol\n1 halt new\n2 halt halt\n3 new new\n4 halt -")
    seat = get_whole_study(study.slug)

    def beside_themselves(version: int | None = None) -> dict[str, tuple[int, float]]:
        asked = ask(seat, {"version": str(version)} if version else {})
        (entry,) = agreement_and_raters(seat, visible_rounds(seat), asked, round_number=None)
        return {each["rater"]: (each["n"], each["percent_agreement"]) for each in entry["intra_rater"]}

    client = Client()
    client.force_login(make.user("olga"))
    page = client.get("/studies/study/agreement/?round=all").content.decode()
    table = page.partition("Intra-rater agreement")[2].partition("</table>")[0]
    link = unescape(re.findall(r'href="([^"]+)"', table)[0])
    items = re.findall(r'#round-(\d+)">acme/rocket#(\d+)<', client.get(link).content.decode())
    assert items == [("1", "1"), ("1", "2"), ("1", "4"), ("2", "1"), ("2", "2"), ("2", "3"), ("2", "4")]
    assert beside_themselves() == beside_themselves(3) == {"R1": (3, 1.0), "R2": (2, 0.5)}
