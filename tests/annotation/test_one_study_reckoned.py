"""One study from its pilot to an undone migration, counted again from its exported files at ten points on the way.

What is computed here comes from files alone and shares no code with Concord; pages, REST, the paragraph and the
package must say the same.
"""

import csv
import io
import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from itertools import permutations
from typing import Any

import pytest
from django.test import Client

from annotation import moving
from annotation.exports import rows
from annotation.models import Assignment, Plan, Round, Study
from annotation.ruling import rule_answers, rule_round
from tests import builders as make
from tests.annotation.claims.checker import Checker
from tests.annotation.claims.studies import exported
from tests.annotation.claims.test_claims import complaints
from tests.scripts import Script

pytestmark = [pytest.mark.django_db, pytest.mark.slow, pytest.mark.timeout(400)]

TAXONOMY = """
slug: faults
title: Faults
dimensions:
  - {key: kind, title: Kind, kind: single, categories: [{key: fault, name: Fault}, {key: question, name: Question}]}
  - key: symptom
    title: Symptom
    kind: single
    applies_when: {dimension: kind, is: [fault]}
    categories: [{key: crash, name: Crash}, {key: hang, name: Hang}, {key: slow, name: Slow}]
  - key: areas
    title: Areas
    kind: multi
    required: false
    applies_when: {dimension: kind, is: [fault]}
    categories: [{key: api, name: API}, {key: core, name: Core}, {key: build, name: Build}]
"""
SPLIT = TAXONOMY.replace(
    "{key: crash, name: Crash}",
    "{key: crash-start, name: At start, was: [crash]}, {key: crash-run, name: Later, was: [crash]}",
)
KINDS = {"kind": "single", "symptom": "single", "areas": "multi"}
PEOPLE = ("ann", "ben", "cat", "dan")
GOLD = (92, 93)
Value = str | frozenset[str]
Units = dict[tuple[str, str, str], dict[str, Value]]


# What raters say


def answer(number: int, who: str, crash: str = "crash") -> dict[str, Any]:
    """Most of it follows from the issue; each rater has issues that they take for something else."""
    shift = PEOPLE.index(who)
    if (number + shift) % 7 == 0:
        return {"kind": ["question"]}
    symptom = (crash, "hang", "slow")[(number // 2 + ((number + 2 * shift) % 5 == 0)) % 3]
    areas = [["api"], ["api", "core"], [], ["build"]][(number + (number + shift) % 4 // 3) % 4]
    return {"kind": ["fault"], "symptom": [symptom], "areas": areas}


def number_of(item: str) -> int:
    return int(item.rpartition("#")[2])


def work(who: str, round_: int, most: int = 1000, crash: str = "crash") -> int:
    """Takes and answers items over REST until there is none; how many."""
    script, n = Script(who), 0
    while n < most:
        given = script.send("GET", f"studies/study/rounds/{round_}/next/")
        if given.status_code != 200:
            break
        number = number_of(given.json()["item"])
        said = {"kind": ["question"]} if number in GOLD and who == "dan" else answer(number, who, crash)
        body = {"assignment": given.json()["assignment"], "labels": said}
        made = script.send("POST", "studies/study/annotations/", body)
        assert made.status_code == 201, made.content
        n += 1
    return n


# What the files say


def of(what: str, slug: str = "study") -> list[dict[str, str]]:
    seat = make.seat(Study.objects.get(slug=slug), "olga")
    return list(csv.DictReader(io.StringIO(b"".join(rows.written(seat, what, "csv", {})).decode())))


def value_of(dimension: str, text: str) -> Value:
    return frozenset(each for each in text.strip("[]").split(";") if each) if KINDS[dimension] == "multi" else text


def units_of(ratings: Iterable[Mapping[str, str]], rounds: set[str], dimension: str, when: str) -> Units:
    found: Units = defaultdict(dict)
    for row in ratings:
        if row["role"] != "rater" or row["round"] not in rounds or row["dimension"] != dimension:
            continue
        if (row["round"], number_of(row["item"]) in GOLD) == ("1", True):  # gold answers are no part of agreement
            continue
        if row["revision"] == "blind" or when == "after":
            found[row["round"], row["item"], row["part"]][row["rater"]] = value_of(dimension, row["values"])
    return found


def masi(a: Value, b: Value) -> float:
    if a == b:
        return 0.0
    if not isinstance(a, frozenset) or not isinstance(b, frozenset) or not a & b:
        return 1.0
    return 1 - len(a & b) / len(a | b) * (2 / 3 if a < b or b < a else 1 / 3)


def alpha(units: Units) -> float:
    """Krippendorff 2011: within units over all ratings, nominal, for sets by MASI."""
    pairable = [list(each.values()) for each in units.values() if len(each) > 1]
    ratings = [value for unit in pairable for value in unit]
    n = len(ratings)
    if n < 2:
        return math.nan
    observed = sum(
        sum(masi(a, b) for a, b in permutations(unit, 2)) / (len(unit) - 1) for unit in pairable
    ) / n  # fmt: skip
    expected = sum(masi(a, b) for a, b in permutations(ratings, 2)) / (n * (n - 1))
    return math.nan if not expected else 1 - observed / expected


def percent(units: Units) -> float:
    pairs = [[a == b for a, b in permutations(each.values(), 2)] for each in units.values() if len(each) > 1]
    return sum(sum(each) / len(each) for each in pairs) / len(pairs) if pairs else math.nan


def same(found: float | None, expected: float) -> bool:
    return math.isnan(expected) if found is None else math.isclose(found, expected, abs_tol=1e-9)


# Points on the way


def reckon(study: Study, client: Client, *, with_package: bool = False) -> dict[str, Any]:
    """Holds what Concord says now against its files; the counts of agreed labels, for who comes back to here."""
    olga = Script("olga")
    ratings, resolutions, labels = of("ratings"), of("resolutions"), of("labels")
    _agreement(olga, client, ratings)
    _labels(olga, ratings, resolutions, labels)
    sample = olga.send("GET", "studies/study/samples/").json()["results"][0]
    flow = olga.send("GET", f"studies/study/samples/{sample['id']}/flow/").json()
    assert [line["n"] for line in flow if line["kind"] == "drawn"] == [sample["size"]]
    made = exported(study, resamples=10) if with_package else None
    if made is not None:
        assert complaints(made.rows, made.facts) == []
        assert Checker(made.rows).readme(made.readme) == []
    return {"labels": sorted((row["item"], row["dimension"], row["values"], row["method"]) for row in labels)}


def _agreement(olga: Script, client: Client, ratings: list[dict[str, str]]) -> None:
    by_kind: dict[str, set[str]] = defaultdict(set)
    for row in ratings:
        by_kind[row["round_kind"]].add(row["round"])
    over = {str(each.number) for each in Round.objects.filter(kind="main", state__in=("resolving", "closed"))}
    asked = [(f"round={number}", {number}) for kind in ("pilot", "main") for number in by_kind[kind]]
    asked.append(("", by_kind["pilot"] | by_kind["main"]))
    if by_kind["main"] & over:
        asked.append(("round=headline", by_kind["main"] & over))
    for words, rounds in asked:
        for when in ("before", "after"):
            entries = olga.send("GET", f"studies/study/agreement/?{words}&when={when}").json()
            for entry in entries:
                units = units_of(ratings, rounds, entry["dimension"], when)
                n = sum(len(each) > 1 for each in units.values())
                where = (words, when, entry["dimension"])
                assert (entry["units"], entry["left_out"]) == (n, len(units) - n), where
                told = {each["name"]: each["value"] for each in entry["coefficients"]}
                assert same(told["percent_agreement"], percent(units)), where
                assert same(told["krippendorff_alpha"], alpha(units)), where
        page = client.get(f"/studies/study/agreement/?{words or 'round=all'}").content.decode()
        for key in KINDS:
            value = alpha(units_of(ratings, rounds, key, "before"))
            if not math.isnan(value):
                assert f">{value:.2f}</a>".replace("-0.00", "0.00") in page, (words, key, value)


def _labels(
    olga: Script,
    ratings: list[dict[str, str]],
    resolutions: list[dict[str, str]],
    labels: list[dict[str, str]],
) -> None:
    """Agreed labels that no migration touched follow from ratings and resolutions; counts and REST from the file."""
    current: dict[tuple[str, str, str], dict[str, Value]] = defaultdict(dict)
    for row in ratings:
        current[row["round"], row["item"], row["dimension"]][row["rater"]] = value_of(row["dimension"], row["values"])
    decided: dict[tuple[str, str, str], Value | None] = {}
    for row in resolutions:
        place = (row["round"], row["item"], row["dimension"])
        decided[place] = None if row["method"] == "reopened" else value_of(row["dimension"], row["values"])
    for row in labels:
        place = (row["round"], row["item"], row["dimension"])
        if row["original_version"] != row["taxonomy_version"] or row["round_kind"] == "relabel":
            continue
        value = value_of(row["dimension"], row["values"])
        if row["method"] in ("unanimous", "single"):
            assert set(current[place].values()) == {value} and decided.get(place) is None, row
        elif row["method"] == "third_rater" and place not in decided:  # a third rater said the same as the others
            assert set(current[place].values()) == {value}, row
        else:
            assert decided[place] == value, row
    listed = olga.send("GET", "studies/study/labels/?page_size=5000").json()["results"]
    assert [(each["item"], each["dimension"], each["method"]) for each in listed] == [
        (row["item"], row["dimension"], row["method"]) for row in labels
    ]
    for key in KINDS:
        told = olga.send("GET", f"studies/study/analysis/counts/?dimension={key}").json()
        found = Counter(
            value
            for row in labels
            if row["dimension"] == key and row["values"]
            for value in (row["values"].strip("[]").split(";") if KINDS[key] == "multi" else [row["values"]])
            if value
        )
        counted = {each["category"]: each["n"] for each in told["categories"] if each["n"]}
        assert counted == dict(found), key


@pytest.fixture
def client_of_olga() -> Client:
    client = Client()
    client.force_login(make.user("olga"))
    return client


def test_files_pages_rest_paragraph_and_package_say_the_same_all_the_way(client_of_olga: Client) -> None:
    study = make.study(text=TAXONOMY, raters=PEOPLE)
    olga, ada = Script("olga"), Script("ada")
    make.issues(60)
    for number in GOLD:
        make.issues(1, "acme/gold", first=number)
    assert olga.send("PATCH", "studies/study/", {"third_rater": True}).status_code == 200

    def post(path: str, body: Any = None, who: Script = olga) -> Any:
        answered = who.send("POST", f"studies/study/{path}", {} if body is None else body)
        assert answered.status_code in (200, 201, 202), (path, answered.content)
        return answered.json()

    def point(*, with_package: bool = False) -> dict[str, Any]:
        return reckon(study, client_of_olga, with_package=with_package)

    sample = post("samples/", {"filter": {"repository": "acme/rocket"}, "size": 40, "seed": 5})

    # A pilot with gold, in which Dan gets none right
    gold = {f"acme/gold#{number}": {"labels": answer(number, "ann")} for number in GOLD}
    post(
        "rounds/",
        {
            "kind": "pilot",
            "raters": list(PEOPLE),
            "raters_per_item": 2,
            "sample": sample["id"],
            "n_items": 8,
            "known": gold,
        },
    )
    post("rounds/1/open/", {"unregistered": True})
    work("ann", 1, most=4)
    work("ben", 1)
    point()  # 1
    for who in PEOPLE:
        work(who, 1)
    point()  # 2
    told = olga.send("GET", "studies/study/rounds/1/training/").json()["results"]
    assert {each["rater"]: (each["n_right"], each["n_items"]) for each in told}["R4"] == (0, 2)
    post("rounds/1/close/", {"leave_open": True})
    point(with_package=True)  # 3

    # A main round: a third of the items for two, quotas, and a rater who leaves
    post(
        "rounds/",
        {
            "kind": "main", "raters": list(PEOPLE[:3]), "raters_per_item": 2, "double_share": 0.4,
            "sample": sample["id"], "n_items": 24, "quotas": {"cat": 8},
        },
    )  # fmt: skip
    post("rounds/2/open/", {"reason": "The pilot was only to train."})
    for who in PEOPLE[:3]:
        work(who, 2, most=5)
    point()  # 4
    post("rounds/2/raters/R1/withdraw/")
    post("rounds/2/raters/", {"user": "dan"})
    work("dan", 2, most=3)
    point()  # 5
    for who in PEOPLE[1:]:
        work(who, 2)
    assert Round.objects.get(study=study, number=2).state == "resolving", "somebody has items left"
    point()  # 6

    # Third raters by rule, then the adjudicator, who is right as ann is
    second = Round.objects.get(study=study, number=2)
    rule_round(second.pk)
    for who in PEOPLE:
        work(who, 2)
    rule_answers(second.pk)
    assert any(row["decider"] == "rule" for row in of("resolutions"))
    assert Assignment.objects.filter(round=second, slot=None).exclude(current=None).exists()
    point(with_package=True)  # 7
    n_before = math.inf
    while (waiting := ada.send("GET", "studies/study/disagreements/?round=2").json()["results"]) and len(
        waiting
    ) < n_before:
        n_before = len(waiting) + 1
        for each in waiting:
            right = answer(number_of(each["item"]), "ann").get(each["dimension"], [])
            place = {name: each[name] for name in ("item", "part", "round", "dimension")}
            if right or each["dimension"] == "areas":
                post("resolutions/", {**place, "values": right, "rationale": "As Ann said."}, ada)
    post("rounds/2/close/", {"leave_open": True})
    before = point(with_package=True)  # 8

    # A split, whose relabeling is half done, then done, then undone
    make.next_version(study, SPLIT)
    plan = Plan.objects.get(pk=_planned(post))
    relabeling = plan.worklist
    assert relabeling is not None
    work("ben", relabeling.number, crash="crash-start")
    point()  # 9
    for who in PEOPLE:
        work(who, relabeling.number, crash="crash-run")
    point(with_package=True)  # 10
    post(f"plans/{plan.pk}/undo/")
    assert point() == before  # 11


def _planned(post: Any) -> int:
    """The id of a plan to version 2 that was run, its job included."""
    number = post("plans/", {"to": 2})["id"]
    post(f"plans/{number}/run/")
    plan = Plan.objects.get()
    moving.work(plan.pk)
    plan.refresh_from_db()
    assert plan.state == "done"
    return plan.pk
