"""One study from its pilot to an undone migration, counted again from its exported files at twelve points on the way.

What is computed here comes from files alone and shares no code with Concord; pages, REST, the paragraph and the
package must say the same at each of them.
"""

import csv
import html
import io
import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import permutations
from pathlib import Path
from typing import Any

import pytest
from django.test import Client

from annotation.assignments.jobs import rule_answers, rule_round
from annotation.exports.queries.kinds import read_export_request, write_file
from annotation.methods import as_text
from annotation.methods.outline import paragraph
from annotation.models import Assignment, Plan, Round, Study
from annotation.plans import jobs as plan_jobs
from tests import builders as make
from tests.annotation.claims.checker import Checker
from tests.annotation.claims.studies import Made, exported
from tests.annotation.claims.test_claims import complaints
from tests.annotation.packages import package, quickly, recompute, unpacked, unwatched
from tests.scripts import Script

pytestmark = [pytest.mark.django_db, pytest.mark.process, pytest.mark.slow, pytest.mark.timeout(900)]

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
TITLES = {"Kind": "kind", "Symptom": "symptom", "Areas": "areas"}
KINDS = {"kind": "single", "symptom": "single", "areas": "multi"}
PEOPLE = ("ann", "ben", "cat", "dan")
GOLD, RETRY = (92, 93), (94, 95)
MINIMUM = 0.5
PILOT, SECOND_TRY, SCREENING, MAIN = 1, 2, 3, 4
SOME_POINTS = (9, 12)
"""Those on the way at which most has come together: `make soak` stops at all twelve."""
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


def side(number: int, who: str) -> dict[str, Any]:
    """What the two who screen say: some are out for both, of some one alone thinks so."""
    is_out = number % 6 == 0 or (number % 9 == 1 and who == "ben")
    reason = "spam" if number % 4 else "duplicate"
    return {"screening": ["out"], "screening-reason": [reason]} if is_out else {"screening": ["in"]}


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
        said = answer(number, "ann" if number in RETRY else who, crash)
        if number in GOLD and who == "dan":
            said = {"kind": ["question"]}
        if given.json()["taxonomy"]["slug"] != "faults":
            said = side(number, who)
        body = {"assignment": given.json()["assignment"], "labels": said}
        made = script.send("POST", "studies/study/annotations/", body)
        assert made.status_code == 201, made.content
        n += 1
    return n


# What the files say


def of(what: str, **options: Any) -> list[dict[str, str]]:
    seat, file = make.seat(Study.objects.get(slug="study"), "olga"), io.BytesIO()
    write_file(read_export_request(seat, what, "csv", options), seat, file, unwatched)
    return list(csv.DictReader(io.StringIO(file.getvalue().decode())))


def value_of(dimension: str, text: str) -> Value:
    return frozenset(each for each in text.strip("[]").split(";") if each) if KINDS.get(dimension) == "multi" else text


def units_of(ratings: Iterable[Mapping[str, str]], rounds: set[str], dimension: str, when: str) -> Units:
    found: Units = defaultdict(dict)
    for row in ratings:
        if row["role"] != "rater" or row["round"] not in rounds or row["dimension"] != dimension:
            continue
        # Neither is a part of agreement. What screening rounds say counts there, whatever came of it.
        if row["training"] == "true" or (row["screened_out"] == "true" and row["round_kind"] != "screening"):
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


KNOWN = {number: answer(number, "ann") for number in (*GOLD, *RETRY)}


# Points on the way


def reckon(study: Study, client: Client) -> dict[str, Any]:
    """Holds what Concord says now against its files; the agreed labels, for who comes back to here."""
    olga = Script("olga")
    ratings, resolutions, labels = of("ratings"), of("resolutions"), of("labels")
    _agreement(olga, client, ratings)
    made = exported(study, resamples=10)
    _texts(made, client, ratings, labels)
    n_raters = {(row["round"], row["item"]): int(row["n_raters"]) for row in made.rows.tables["round_items"]}
    _labels(olga, client, ratings, resolutions, labels, n_raters)
    _training(olga, client, ratings)
    _screening(olga, client, labels)
    return {"labels": sorted((row["item"], row["dimension"], row["values"], row["method"]) for row in labels)}


def _texts(made: Made, client: Client, ratings: list[dict[str, str]], labels: list[dict[str, str]]) -> None:
    """The package has the rows of the files, and paragraph, checklist, table and README claim what they bear out."""
    assert complaints(made.rows, made.facts) == []
    assert Checker(made.rows).readme(made.readme) == []
    page = plain(client.get("/studies/study/agreement/methods/"))
    for each in as_text(paragraph(made.facts)).split("\n\n"):
        assert " ".join(each.split()) in page
    place = ("round", "item", "part", "dimension")
    for flag in ("blind", "current"):
        told = Counter(
            (*(row[name] for name in place), row["rater"], row["values"].strip("[]"))
            for row in made.rows.tables["ratings"]
            if row[flag] == "true" and (row["round"], row["item"]) not in _training_places(made.rows.tables)
        )
        found: dict[tuple[str, ...], str] = {}
        for row in ratings:
            if row["training"] == "false" and (flag == "current" or row["revision"] == flag) and row["role"] != "third":
                found[*(row[name] for name in place), row["rater"]] = row["values"].strip("[]")
        own = {(*key, value) for key, value in found.items()}
        assert own <= set(told), own - set(told)
    packed = {
        (*(row[name] for name in place), row["values"].strip("[]"), row["method"]) for row in made.rows.tables["labels"]
    }
    assert packed == {(*(row[name] for name in place), row["values"].strip("[]"), row["method"]) for row in labels}


def _training_places(tables: Mapping[str, Any]) -> set[tuple[str, str]]:
    return {(row["round"], row["item"]) for row in tables["round_items"] if row["training"] == "true"}


def plain(answer: Any) -> str:
    """The words of a page, with one blank between them."""
    assert answer.status_code == 200, answer
    return " ".join(html.unescape(re.sub(r"<[^>]*>", " ", answer.content.decode())).split())


def rows_of(answer: Any) -> list[list[str]]:
    """The cells of all tables of a page, row by row, as words."""
    assert answer.status_code == 200, answer
    rows = re.findall(r"<tr[^>]*>(.*?)</tr>", answer.content.decode(), re.S)
    cells = [re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row, re.S) for row in rows]
    return [[" ".join(html.unescape(re.sub(r"<[^>]*>", " ", each)).split()) for each in row] for row in cells]


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
                assert f">{printed(value)}</a>" in page, (words, key, value)
    _overview(client, ratings, by_kind["main"] & over)


def printed(value: float) -> str:
    return f"{value:.2f}".replace("-0.00", "0.00").replace("-", "−")


def _overview(client: Client, ratings: list[dict[str, str]], headline: set[str]) -> None:
    """The first page of the study has the headline by dimension: of all main rounds that are over, or no number."""
    shown = {row[0]: row for row in rows_of(client.get("/studies/study/")) if row and row[0] in TITLES}
    if not headline:
        assert not shown, shown
        return
    for title, key in TITLES.items():
        units = units_of(ratings, headline, key, "before")
        value, n = alpha(units), sum(len(each) > 1 for each in units.values())
        assert shown[title][-2] == str(n), (title, shown[title], n)
        assert math.isnan(value) or shown[title][2] == printed(value), (title, shown[title], value)


def _training(olga: Script, client: Client, ratings: list[dict[str, str]]) -> None:
    """Tries on training items by the first answers of the file; who reached the minimum, and who got other items."""
    first: dict[tuple[str, int], dict[str, dict[str, Value]]] = defaultdict(lambda: defaultdict(dict))
    others = set()
    for row in ratings:
        if row["training"] == "true" and row["revision"] != "current":
            first[row["rater"], int(row["round"])][row["item"]][row["dimension"]] = value_of(
                row["dimension"], row["values"]
            )
        elif row["round"] == str(PILOT) and row["role"] == "rater":
            others.add(row["rater"])
    expected = {}
    for (rater, round_), given in first.items():
        right = 0
        for item, said in given.items():
            known = {key: values if key == "areas" else values[0] for key, values in KNOWN[number_of(item)].items()}
            right += said == {key: frozenset(each) if key == "areas" else each for key, each in known.items()}
        expected[rater, round_] = (right, len(given), len(given) == 2 and right / len(given) >= MINIMUM)
    told = olga.send("GET", f"studies/study/rounds/{PILOT}/training/").json()["tries"]
    assert {
        (each["rater"], each["round"]): (each["n_right"], each["n_items"], each["reached"]) for each in told
    } == expected
    shown = [row[:3] for row in rows_of(client.get(f"/studies/study/rounds/{PILOT}/"))]
    for (rater, round_), (right, n, _) in expected.items():
        assert any(rater in row[0].split() and f"{right} of {n}" in " ".join(row) for row in shown), (
            rater,
            round_,
            shown,
        )
    reached = {rater for (rater, _), (_, _, is_reached) in expected.items() if is_reached}
    assert others <= reached
    raters = olga.send("GET", f"studies/study/rounds/{PILOT}/raters/").json()["results"]
    assert {each["code"] for each in raters if each["admission"]} >= others


def _screening(olga: Script, client: Client, labels: list[dict[str, str]]) -> None:
    """Flow, agreement and reasons of the screening, from the files of items and of that round's ratings."""
    (sample,) = olga.send("GET", "studies/study/samples/").json()["results"]
    flow = olga.send("GET", f"studies/study/samples/{sample['id']}/flow/").json()
    told = {line["step"]: line["n"] for line in flow if line["kind"] != "step"}
    drawn = [row for row in of("items") if row["sample"] == str(sample["id"])]
    screens = Round.objects.filter(study__slug="study", number=SCREENING).exclude(state="draft").exists()
    ratings = of("ratings", round=SCREENING) if screens else []
    coding = {str(each.number) for each in Round.objects.exclude(kind="screening").exclude(state="draft")}
    n: Counter[str] = Counter()
    coded: Counter[str] = Counter()
    for row in drawn:
        rounds = set(row["rounds"].strip("[]").split(";"))
        standing = row["screening"] if row["screening"] != "unscreened" else "open"
        standing = "unscreened" if standing == "open" and str(SCREENING) not in rounds else standing
        n["out: " + row["screening_reason"] if standing == "out" else standing] += 1
        coded[standing] += bool(rounds & coding)
    found = {"drawn": sample["size"]}
    if n["in"]:
        found |= {f"screened {words}": each for words, each in n.items() if words.startswith("out: ")}
        found |= {"screening unresolved": n["open"], "not screened yet": n["unscreened"] + sample["size"] - len(drawn)}
        found |= {"kept": n["in"], "included, in no coding round yet": n["in"] - coded["in"] if coded else 0}
        found |= {"coded without screening": coded["unscreened"], "coded with screening unresolved": coded["open"]}
        found |= {"coded, though screened out": coded["out"], "in coding rounds": sum(coded.values())}
    assert told == {words: each for words, each in found.items() if each}
    shown = {row[0]: row[1] for row in rows_of(client.get("/studies/study/sample/")) if len(row) == 2}
    assert {words: shown.get(words) for words in told} == {words: str(n) for words, n in told.items()}
    out = {row["item"] for row in drawn if row["screening"] == "out"}
    assert not out & {row["item"] for row in labels}
    if not ratings:
        return
    for entry in olga.send("GET", f"studies/study/agreement/?round={SCREENING}").json():
        units = units_of(ratings, {str(SCREENING)}, entry["dimension"], "before")
        assert entry["units"] == sum(len(each) > 1 for each in units.values())
        coefficients = {each["name"]: each["value"] for each in entry["coefficients"]}
        assert same(coefficients["percent_agreement"], percent(units)), entry["dimension"]
        assert same(coefficients["krippendorff_alpha"], alpha(units)), entry["dimension"]


def _labels(
    olga: Script,
    client: Client,
    ratings: list[dict[str, str]],
    resolutions: list[dict[str, str]],
    labels: list[dict[str, str]],
    n_raters: Mapping[tuple[str, str], int],
) -> None:
    """Agreed labels that no migration touched follow from ratings and resolutions; counts and REST from the file."""
    current: dict[tuple[str, str, str], dict[str, Value]] = defaultdict(dict)
    for row in ratings:
        current[row["round"], row["item"], row["dimension"]][row["rater"]] = value_of(row["dimension"], row["values"])
    third: dict[tuple[str, str], set[str]] = defaultdict(set)
    for row in ratings:
        if row["role"] == "third":
            third[row["round"], row["item"]].add(row["rater"])
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
            n_planned = sum(who not in third[place[:2]] for who in current[place])
            assert n_planned and (n_planned > 1) == (row["method"] == "unanimous"), row  # without third raters
            assert set(current[place].values()) == {value} and decided.get(place) is None, row
        elif row["method"] == "third_rater" and place not in decided:  # a third rater said the same as the others
            assert set(current[place].values()) == {value}, row
        else:
            assert decided[place] == value, row
    anew = {row["item"] for row in (*ratings, *labels) if row["round_kind"] == "relabel"}
    told_of = {
        (row["round"], row["item"], row["dimension"]): value_of(row["dimension"], row["original_values"])
        for row in labels
        if row["item"] not in anew
    }
    assert told_of == {
        place: value for place, value in expected_labels(ratings, decided, n_raters).items() if place[1] not in anew
    }
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
        names = {each["category"]: each["name"] for each in told["categories"]}
        shown = {row[0]: row[1] for row in rows_of(client.get(f"/studies/study/analysis/counts/?dimension={key}"))}
        assert {each: shown.get(names[each], "0") for each in found} == {each: str(n) for each, n in found.items()}


def expected_labels(
    ratings: list[dict[str, str]],
    decided: Mapping[tuple[str, str, str], Value | None],
    n_raters: Mapping[tuple[str, str], int],
) -> dict[tuple[str, str, str], Value]:
    """What is agreed by round, item and dimension: what was decided, else what all gave once `n_raters` have."""
    given: dict[tuple[str, str], dict[str, dict[str, Value]]] = defaultdict(lambda: defaultdict(dict))
    for row in ratings:
        if row["round_kind"] in ("pilot", "main") and "true" not in (row["training"], row["screened_out"]):
            value = value_of(row["dimension"], row["values"])
            given[row["round"], row["item"]][row["dimension"]][row["rater"]] = value
    found: dict[tuple[str, str, str], Value] = {}
    for (round_, item), by_dimension in given.items():
        raters = set(by_dimension["kind"])
        if len(raters) < n_raters[round_, item]:
            continue
        for key in KINDS:  # a question comes after the one that it hangs on
            place, said = (round_, item, key), by_dimension[key]
            if key != "kind" and found.get((round_, item, "kind")) != "fault":
                continue
            if (value := decided.get(place)) is not None:
                found[place] = value
            elif place not in decided and len(said) >= min(2, len(raters)) and len(set(said.values())) == 1:
                found[place] = next(iter(said.values()))  # who said that it is no fault was not asked
    return found


def relabeled(ratings: list[dict[str, str]], labels: list[dict[str, str]], before: list[tuple[str, ...]]) -> int:
    """Holds each label against the one before the split and the answers since; how many have a value from these."""
    answers: dict[str, dict[str, str]] = defaultdict(dict)
    for row in ratings:
        if row["role"] == "relabel" and row["dimension"] == "symptom":
            answers[row["item"]][row["rater"]] = row["values"]
    now = {(row["item"], row["dimension"]): row for row in labels}
    n = 0
    for item, dimension, values, method in before:
        row = now.get((item, dimension))
        if (dimension, values) != ("symptom", "crash"):
            assert row is not None and row["values"] == values, (item, dimension, values, row)
            continue
        said = answers[item]
        is_decided = method not in ("unanimous", "single")
        counts = len(set(said.values())) == 1 and len(said) > is_decided
        assert row is None or row["values"] in ("", *(set(said.values()) if counts else ())), (item, method, said, row)
        n += bool(row and row["values"])
    assert set(now) <= {(item, dimension) for item, dimension, *_ in before}
    return n


def recomputed(study: Study, folder: Path) -> None:
    """The script in the package, which has its own computation, gives every number of the package."""
    with quickly():
        status, said = recompute(unpacked(package(make.seat(study, "olga")), folder))
    assert status == 0 and "Not recomputed" not in said, said


@pytest.fixture
def client_of_olga() -> Client:
    client = Client()
    client.force_login(make.user("olga"))
    return client


@pytest.mark.parametrize("points", [SOME_POINTS, pytest.param(range(1, 13), marks=pytest.mark.soak)])
def test_files_pages_rest_paragraph_and_package_say_the_same_all_the_way(
    client_of_olga: Client, tmp_path: Path, points: Sequence[int]
) -> None:
    study = make.study(text=TAXONOMY, raters=PEOPLE)
    olga, ada = Script("olga"), Script("ada")
    make.issues(60)
    make.issues(4, "acme/gold", first=GOLD[0])
    assert olga.send("PATCH", "studies/study/", {"third_rater": True}).status_code == 200

    def post(path: str, body: Any = None, who: Script = olga) -> Any:
        answered = who.send("POST", f"studies/study/{path}", {} if body is None else body)
        assert answered.status_code in (200, 201, 202), (path, answered.content)
        return answered.json()

    def point(number: int, *, with_script: bool = False) -> dict[str, Any]:
        if number not in points:
            return {}
        if with_script:
            recomputed(study, tmp_path / str(len(list(tmp_path.iterdir()))))
        return reckon(study, client_of_olga)

    def known(numbers: tuple[int, ...]) -> dict[str, Any]:
        return {f"acme/gold#{number}": {"labels": KNOWN[number]} for number in numbers}

    sample = post("samples/", {"filter": {"repository": "acme/rocket"}, "size": 40, "seed": 5})

    # A pilot with gold, in which Dan gets none right, and so no other items before a second try
    post(
        "rounds/",
        {
            "kind": "pilot", "raters": list(PEOPLE), "raters_per_item": 2, "sample": sample["id"], "n_items": 8,
            "known": known(GOLD), "gold_minimum": {"share": MINIMUM},
        },
    )  # fmt: skip
    post(f"rounds/{PILOT}/open/", {"unregistered": True})
    work("ann", PILOT, most=4)
    work("ben", PILOT)
    point(1)
    for who in PEOPLE:
        work(who, PILOT)
    held = Script("dan").send("GET", f"studies/study/rounds/{PILOT}/next/")
    assert (held.status_code, held.json()["code"]) == (409, "below_minimum")
    point(2)
    post("rounds/", {"kind": "pilot", "raters": ["dan"], "raters_per_item": 1, "issues": [], "known": known(RETRY)})
    post(f"rounds/{SECOND_TRY}/open/", {"unregistered": True})
    work("dan", SECOND_TRY)
    work("dan", PILOT)
    for number in (SECOND_TRY, PILOT):
        assert Round.objects.get(study=study, number=number).state == "resolving"
        post(f"rounds/{number}/close/", {"leave_open": True})
    point(3, with_script=True)

    # Screening of what the pilot left; one that both did not agree on is decided, its reason and some others are open
    screening = {"kind": "screening", "raters": ["ben", "cat"], "sample": sample["id"], "n_items": 30}
    post("rounds/", {**screening, "reasons": ["Spam", "Duplicate"]})
    post(f"rounds/{SCREENING}/open/")
    for who in ("ben", "cat"):
        work(who, SCREENING)
    waiting = ada.send("GET", f"studies/study/disagreements/?round={SCREENING}").json()["results"]
    assert len(waiting) > 1, "nothing stays open"
    place = {name: waiting[0][name] for name in ("item", "part", "round", "dimension")}
    post("resolutions/", {**place, "values": ["out"], "rationale": "Ben is right."}, ada)
    post(f"rounds/{SCREENING}/close/", {"leave_open": True})
    assert [row["screening_reason"] for row in of("items") if row["item"] == place["item"]] == ["reason unresolved"]

    # A main round of what is in: a part of the items for two, quotas, and a rater who leaves
    made = post(
        "rounds/",
        {
            "kind": "main", "raters": list(PEOPLE[:3]), "raters_per_item": 2, "double_share": 0.5,
            "sample": sample["id"], "quotas": {"cat": 8},
        },
    )  # fmt: skip
    post(f"rounds/{MAIN}/open/", {"reason": "The pilot was only to train."})
    coded = {row["item"] for row in of("items") if str(MAIN) in row["rounds"].strip("[]").split(";")}
    assert coded == {row["item"] for row in of("items") if row["screening"] == "in"}
    assert made["n_items"] == len(coded) > 15
    for who in PEOPLE[:3]:
        work(who, MAIN, most=5)
    point(4)
    post(f"rounds/{MAIN}/raters/R1/withdraw/")
    post(f"rounds/{MAIN}/raters/", {"user": "dan"})
    work("dan", MAIN, most=3)
    point(5)
    for who in PEOPLE[1:]:
        work(who, MAIN)
    assert Round.objects.get(study=study, number=MAIN).state == "resolving", "someone has items left"
    point(6)

    # Third raters by rule, then the adjudicator, who is right as ann is
    main = Round.objects.get(study=study, number=MAIN)
    rule_round(main.pk)
    for who in PEOPLE:
        work(who, MAIN)
    rule_answers(main.pk)
    assert any(row["decider"] == "rule" for row in of("resolutions"))
    assert Assignment.objects.filter(round=main, slot=None).exclude(current=None).exists()
    point(7, with_script=True)

    # An item that two coded is screened out, and leaves every result
    late = next(row["item"] for row in of("labels") if row["method"] == "unanimous" and row["round"] == str(MAIN))
    post("screening/", {"screening": "out", "reason": "Spam", "items": [late]})
    point(8)
    n_before = math.inf
    while (waiting := ada.send("GET", f"studies/study/disagreements/?round={MAIN}").json()["results"]) and len(
        waiting
    ) < n_before:
        n_before = len(waiting) + 1
        for each in waiting:
            right = answer(number_of(each["item"]), "ann").get(each["dimension"], [])
            place = {name: each[name] for name in ("item", "part", "round", "dimension")}
            if right or each["dimension"] == "areas":
                post("resolutions/", {**place, "values": right, "rationale": "As Ann said."}, ada)
    post(f"rounds/{MAIN}/close/", {"leave_open": True})
    before = point(9, with_script=True)

    # A split, whose relabeling is half done, then done, then undone
    make.next_version(study, SPLIT)
    plan = Plan.objects.get(pk=_planned(post))
    relabeling = plan.worklist
    assert relabeling is not None
    n_crashes = sum((dimension, values) == ("symptom", "crash") for _, dimension, values, _ in before["labels"])
    assert relabeled(of("ratings"), of("labels"), before["labels"]) == 0 < n_crashes
    work("ben", relabeling.number, crash="crash-start")
    point(10, with_script=True)
    relabeled(of("ratings"), of("labels"), before["labels"])
    for who in PEOPLE:
        work(who, relabeling.number, crash="crash-run")
    assert Round.objects.get(pk=relabeling.pk).state == "resolving"
    point(11, with_script=True)
    assert 0 < relabeled(of("ratings"), of("labels"), before["labels"]) < n_crashes
    post(f"plans/{plan.pk}/undo/")
    assert point(12) == before


def _planned(post: Any) -> int:
    """The id of a plan to version 2 that was run, its job included."""
    number = post("plans/", {"to": 2})["id"]
    post(f"plans/{number}/run/")
    plan = Plan.objects.get()
    plan_jobs.work(plan.pk)
    plan.refresh_from_db()
    assert plan.state == "done"
    return plan.pk
