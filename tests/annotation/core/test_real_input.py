"""The main job on real input: 470 real issues come in, sixty are labelled by two raters over REST and resolved."""

import csv
import io
import json
import random
from typing import Any

import pytest
from django.core.management import call_command

from annotation.models import Annotation, Resolution
from ingest.models import FetchRun, Snapshot
from ingest.rendering.markdown import render_markdown
from tests import builders as make
from tests.annotation.core.test_api import BASE, Caller
from tests.published import NEEDS_VLLM, VLLM

pytestmark = [pytest.mark.django_db, *NEEDS_VLLM]
SEED = 2024
N_ITEMS = 60


@pytest.fixture
def rows() -> list[dict[str, Any]]:
    return [json.loads(line) for line in VLLM.read_text(encoding="utf-8").splitlines()]


@pytest.fixture
def run(rows: list[dict[str, Any]]) -> FetchRun:
    """The whole file, taken in by the command."""
    make.user("olga")
    printed = io.StringIO()
    call_command("fetch", file=str(VLLM), user="olga", json=True, stdout=printed)
    return FetchRun.objects.get(pk=json.loads(printed.getvalue())["id"])


def test_every_row_of_the_file_arrives_as_it_was(run: FetchRun, rows: list[dict[str, Any]]) -> None:
    assert (run.state, run.n_seen, run.n_new, run.n_refused) == ("done", 470, 470, 0)
    stored = {each.issue.number: each for each in Snapshot.objects.select_related("issue__repository")}
    assert {each.issue.repository.full_name for each in stored.values()} == {"vllm-project/vllm"}
    assert len(stored) == len(rows) == 470
    for row in rows:
        snapshot = stored[row["number"]]
        assert (snapshot.title, snapshot.body, snapshot.state) == (row["title"], row["body"] or "", row["state"])
        assert (snapshot.n_comments, snapshot.comments_known) == (row["comments"], False)
    assert max(len(each.body) for each in stored.values()) == 118_055


@pytest.mark.slow
def test_every_body_is_rendered(rows: list[dict[str, Any]]) -> None:
    for row in rows:
        html = render_markdown(row["body"] or "", "vllm-project/vllm")
        assert bool(html.strip()) == bool((row["body"] or "").strip()), row["number"]
        assert "<script" not in html.lower()


def labels_of(draw: random.Random, number: int) -> dict[str, Any]:
    """What a made-up rater says: often what the number of the issue suggests, sometimes something else."""
    is_fault = number % 3 != 0 if draw.random() < 0.9 else draw.random() < 0.5
    if not is_fault:
        return {"kind": ["how-to"]}
    usual = ["crash", "hang", "slow"][number % 3]
    labels: dict[str, Any] = {"kind": ["fault"]}
    labels["symptom"] = [usual if draw.random() < 0.8 else draw.choice(["crash", "hang", "slow"])]
    labels["fixes"] = sorted({draw.choice(["config", "version", "code"]) for _ in range(draw.randrange(3))})
    labels["distributed"] = draw.random() < 0.6
    return labels


def labeled(rater: Caller, seed: int) -> dict[str, Any]:
    """Labels item by item until nothing is left, each answer bringing the next; what was said, by item."""
    draw = random.Random(seed)
    said: dict[str, Any] = {}
    following = rater.get("studies/serving/rounds/1/next/").json()
    while following:
        said[following["item"]] = labels = labels_of(draw, following["issue"]["number"])
        answer = rater.post(
            "studies/serving/annotations/?next=1",
            {"assignment": following["assignment"], "labels": labels, "seconds": draw.randrange(20, 400)},
            **{"Idempotency-Key": f"{seed}-{following['assignment']}"},
        )
        assert answer.status_code == 201, answer.content
        following = answer.json()["next"]
    return said


def all_rows(caller: Caller, path: str) -> list[dict[str, Any]]:
    """Every row of a list, page by page."""
    found: list[dict[str, Any]] = []
    following: str | None = path
    while following:
        page = caller.get(following).json()
        found += page["results"]
        following = page["next"] and page["next"].partition(BASE)[2]
    return found


def resolve_all(ada: Caller) -> int:
    """Decides until nothing is open (a decision can open another): mostly the first answer; how many decisions."""
    n_decided = 0
    while open_ones := all_rows(ada, "studies/serving/disagreements/"):
        for row in open_ones:
            values = next((each["values"] for each in row["ratings"] if each["values"] is not None), [])
            made = ada.post(
                "studies/serving/resolutions/",
                {
                    **{name: row[name] for name in ("item", "part", "round", "dimension")},
                    "values": values,
                    "rationale": "Read again together.",
                    "expected": None,
                },
            )
            assert made.status_code == 201, made.content
            n_decided += 1
    return n_decided


@pytest.mark.slow
def test_sixty_issues_are_labeled_by_two_raters_and_resolved_and_the_labels_come_out(run: FetchRun) -> None:
    for name in ("bob", "carol", "ada"):
        make.user(name)
    make.version(make.FAULTS)
    olga = Caller("olga")
    olga.post("studies/", {"slug": "serving", "title": "Faults in serving", "taxonomy": "faults"})
    for name, role in (("bob", "rater"), ("carol", "rater"), ("ada", "adjudicator")):
        assert olga.post("studies/serving/members/", {"user": name, "roles": [role]}).status_code == 201
    asked = {"filter": {"repository": "vllm-project/vllm", "state": "closed"}, "size": N_ITEMS, "seed": SEED}
    sample = olga.post("studies/serving/samples/", asked).json()
    assert len(set(sample["issues"])) == N_ITEMS
    assert olga.post("studies/serving/samples/", asked).json()["issues"] == sample["issues"]
    body = {"raters": ["bob", "carol"], "raters_per_item": 2, "sample": sample["id"], "n_items": N_ITEMS}
    assert olga.post("studies/serving/rounds/", body).status_code == 201
    assert olga.post("studies/serving/rounds/1/open/", {"unregistered": True}).json()["n_assignments"] == 2 * N_ITEMS

    first, second = (labeled(Caller(name, "rate"), seed) for name, seed in (("bob", 1), ("carol", 2)))
    assert set(first) == set(second) == set(sample["issues"])
    assert Annotation.objects.count() == 2 * N_ITEMS
    assert olga.get("studies/serving/rounds/1/").json()["state"] == "resolving"
    make.accept("ada")
    n_decided = resolve_all(Caller("ada"))
    assert n_decided > 20 and Resolution.objects.count() == n_decided
    assert olga.post("studies/serving/rounds/1/close/").json()["state"] == "closed"

    rows = all_rows(olga, "studies/serving/labels/")
    agreed = {(row["item"], row["dimension"]): row for row in rows}
    assert len(agreed) == len(rows)
    for item in sample["issues"]:
        kind = agreed[item, "kind"]
        if first[item]["kind"] == second[item]["kind"]:
            assert (kind["values"], kind["method"]) == (first[item]["kind"], "unanimous")
        else:
            assert kind["method"] == "adjudicator"
        is_fault = kind["values"] == ["fault"]
        assert ((item, "symptom") in agreed) == is_fault
        if is_fault and first[item].get("symptom") == second[item].get("symptom"):
            assert agreed[item, "symptom"]["values"] == first[item]["symptom"]
    answer = olga.get("studies/serving/labels/?format=csv")
    as_csv = list(csv.DictReader(io.StringIO(b"".join(answer.streaming_content).decode())))
    assert [(row["item"], row["dimension"]) for row in as_csv] == [(row["item"], row["dimension"]) for row in rows]

    by_dimension = {entry["dimension"]: entry for entry in olga.get("studies/serving/agreement/").json()}
    kappa = {each["name"]: each["value"] for each in by_dimension["kind"]["coefficients"]}["cohen_kappa"]
    assert by_dimension["kind"]["units"] == N_ITEMS and 0.3 < kappa < 1
    same = sum(first[item]["kind"] == second[item]["kind"] for item in sample["issues"])
    percent = {each["name"]: each["value"] for each in by_dimension["kind"]["coefficients"]}["percent_agreement"]
    assert percent == pytest.approx(same / N_ITEMS)
