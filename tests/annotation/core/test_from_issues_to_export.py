"""Whole studies over REST alone: from a file or GitHub over duplicates, screening, and labels to the exported files."""

import csv
import io
import random
from dataclasses import dataclass, field
from math import comb
from typing import Any

import pytest

from annotation.models import Annotation
from ingest import run_steps
from ingest.models import FetchRun
from tests import builders as make
from tests.annotation.core.test_api import BASE, Caller
from tests.github.world import File, World
from tests.published import VLLM, needs_vllm

pytestmark = pytest.mark.django_db
RATERS = ("bob", "carol")
NOT_A_BUG = "Not a bug"


@dataclass
class Way:
    """A study on its way, as its owner, two raters, and an adjudicator take it over REST."""

    draw: random.Random
    people: dict[str, Caller] = field(default_factory=dict)

    def __post_init__(self) -> None:
        make.version(make.FAULTS)
        self.olga = Caller("olga")
        self.olga.post("studies/", {"slug": "study", "title": "Small fixes", "taxonomy": "faults"})
        for name in (*RATERS, "ada"):
            make.user(name)
            role = "adjudicator" if name == "ada" else "rater"
            assert self.olga.post("studies/study/members/", {"user": name, "roles": [role]}).status_code == 201
            make.accept(name)
            self.people[name] = Caller(name, "manage" if name == "ada" else "rate")

    def send(self, path: str, body: Any, status: int = 201) -> Any:
        answer = self.olga.post(f"studies/study/{path}", body)
        assert answer.status_code == status, answer.content
        return answer.json()

    def rows(self, path: str) -> list[dict[str, Any]]:
        """Every row of a list, page by page."""
        found: list[dict[str, Any]] = []
        following: str | None = f"studies/study/{path}"
        while following:
            page = self.olga.get(following).json()
            found += page["results"]
            following = page["next"] and page["next"].partition(BASE)[2]
        return found

    def file(self, path: str) -> list[dict[str, str]]:
        """A CSV file that leaves the study."""
        answer = self.olga.get(f"studies/study/{path}?format=csv")
        assert answer.status_code == 200, answer.content
        sent = b"".join(answer.streaming_content) if answer.streaming else answer.content
        return list(csv.DictReader(io.StringIO(sent.decode())))

    def flow(self, sample: dict[str, Any]) -> list[tuple[str, int]]:
        lines = self.olga.get(f"studies/study/samples/{sample['id']}/flow/").json()
        return [(line["step"], line["n"]) for line in lines]

    def exclude_duplicates(self, sample: dict[str, Any]) -> list[str]:
        """Searches for likely duplicates and excludes all but the first of each group; those excluded."""
        path = f"samples/{sample['id']}/duplicates/"
        self.send(path, {}, 200)
        found = [row["item"] for row in self.rows(path) if not row["first"]]
        if found:
            body = {"items": found, "screening": "out", "reason": "Duplicate of another issue"}
            self.send("screening/", body, 200)
        return found

    def open_round(self, sample: dict[str, Any], raters: tuple[str, ...], **more: Any) -> int:
        body = {"raters": raters, "raters_per_item": len(raters), "sample": sample["id"]}
        number: int = self.send("rounds/", body | more)["number"]
        self.send(f"rounds/{number}/open/", {"unregistered": True}, 200)
        return number

    def answer(self, name: str, assignment: str, labels: dict[str, Any]) -> dict[str, Any]:
        rater = self.people[name]
        answer = rater.post("studies/study/annotations/?next=1", {"assignment": assignment, "labels": labels})
        assert answer.status_code == 201, answer.content
        found: dict[str, Any] = answer.json()
        return found

    def screen(self, sample: dict[str, Any], raters: tuple[str, ...], n_items: int, out: Any) -> int:
        """A screening round from its opening to its end; `out` chooses by rater and item what is no bug."""
        number = self.open_round(sample, raters, kind="screening", reasons=[NOT_A_BUG], n_items=n_items)
        for name in raters:
            rows = self.people[name].get(f"studies/study/rounds/{number}/screening/?page_size=1000").json()["results"]
            assert len(rows) == n_items
            for row in rows:
                is_out = out(name, row["item"])
                labels = {"screening": ["out"], "screening-reason": ["not-a-bug"]} if is_out else {"screening": ["in"]}
                self.answer(name, row["assignment"], labels)
        self.resolve(number)
        return number

    def label(self, sample: dict[str, Any], n_items: int) -> int:
        """A main round from its opening to its end, each answer of a rater bringing the next item."""
        number = self.open_round(sample, RATERS, kind="main", n_items=n_items)
        for name in RATERS:
            following = self.people[name].get(f"studies/study/rounds/{number}/next/").json()
            while following:
                symptom = ["crash", "hang", "slow"][following["issue"]["number"] % 3]
                if self.draw.random() < 0.2:
                    symptom = self.draw.choice(["crash", "hang", "slow"])
                labels = {"kind": ["fault"], "symptom": [symptom], "fixes": ["code"], "distributed": True}
                following = self.answer(name, following["assignment"], labels)["next"]
        self.resolve(number)
        return number

    def resolve(self, number: int) -> None:
        """Takes the first label wherever raters disagree, until nothing is open, and closes the round."""
        while left := self.rows(f"disagreements/?round={number}"):
            for row in left:
                body = {name: row[name] for name in ("item", "part", "round", "dimension")} | {"expected": None}
                body["values"] = next(each["values"] for each in row["ratings"] if each["values"] is not None)
                body["rationale"] = "Read again together."
                made = self.people["ada"].post("studies/study/resolutions/", body)
                assert made.status_code == 201, made.content
        assert self.send(f"rounds/{number}/close/", {}, 200)["state"] == "closed"


def carry_to_the_end(way: Way, filter: dict[str, Any], n: int, n_control: int, n_out: int) -> dict[str, Any]:
    """Draws a sample, excludes duplicates, screens, checks a control stretch, labels the rest, and exports; the sample.

    Each rater screens out `n_out` issues, one of them alone.
    """
    sample = way.send("samples/", {"filter": filter, "size": n, "seed": 7})
    duplicates = way.exclude_duplicates(sample)
    left = [item for item in sample["issues"] if item not in duplicates]
    chosen = {name: set(left[at : at + n_out]) for at, name in enumerate(RATERS)}
    way.screen(sample, RATERS, len(left), lambda name, item: item in chosen[name])
    out = {row["item"] for row in way.rows("screening/?screening=out")}
    assert set(left[1:n_out]) <= out - set(duplicates) <= set(left[: n_out + 1])
    kept = [item for item in left if item not in out]
    lines = way.flow(sample)
    assert lines[-1] == ("kept", len(kept)) and (f"screened out: {NOT_A_BUG}", len(left) - len(kept)) in lines
    assert not duplicates or ("screened out: Duplicate of another issue", len(duplicates)) in lines

    asked = {"filter": {"repository": filter["repository"], "left_out_of": sample["id"]}, "size": n_control, "seed": 8}
    control = way.send("samples/", asked)
    assert not set(control["issues"]) & set(sample["issues"])
    way.screen(control, ("bob",), n_control, lambda name, item: True)
    n_left_out = next(each["n"] for each in control["counts"] if each["step"].startswith("excluded by the filter"))
    (missed,) = [line for line in way.flow(control) if line[0].startswith("missed by the filter")]
    # None of n: the most with which more than 5% of all draws have none.
    few = (n for n in range(n_left_out) if 20 * comb(n_left_out - n, n_control) <= comb(n_left_out, n_control))
    bound = f"{(next(few) - 1) / n_left_out:.1%}"
    how = f"at most {bound} of {n_left_out:,} left out (95%, exact hypergeometric)"
    how = how if n_control < n_left_out else f"0.0% of {n_left_out:,} left out (all of them screened)"
    assert missed == (f"missed by the filter: {how}", 0)

    before = Annotation.objects.count()
    number = way.label(sample, len(kept))
    assert Annotation.objects.count() - before == 2 * len(kept)
    labels = way.file("labels/")
    assert {row["item"] for row in labels} == set(kept)
    symptoms = {row["item"]: row["values"] for row in labels if row["dimension"] == "symptom"}
    counted = way.olga.get("studies/study/analysis/counts/?dimension=symptom").json()
    found = {row["category"]: row["n"] for row in counted["categories"] if row["n"]}
    assert found == {value: list(symptoms.values()).count(value) for value in set(symptoms.values())}
    ratings = [row for row in way.file("ratings/") if row["dimension"] == "symptom" and row["round"] == str(number)]
    assert len(ratings) == 2 * len(kept)
    given: dict[str, list[str]] = {}
    for row in ratings:
        given.setdefault(row["item"], []).append(row["values"])
    (agreement,) = way.olga.get(f"studies/study/agreement/?round={number}&dimension=symptom").json()
    percent = {each["name"]: each["value"] for each in agreement["coefficients"]}["percent_agreement"]
    assert percent == pytest.approx(sum(len(set(each)) == 1 for each in given.values()) / len(kept))
    return sample


def closing_repository(world: World) -> dict[str, list[int]]:
    """A repository with issues by what closed them: small and large merged fixes, no fix, and open ones."""
    home = world.repository("acme/trainer")
    words = "The worker {0} of rank {0} waits forever in barrier {0} while nobody reads queue {0} of host {0} at night"
    numbers: dict[str, list[int]] = {"small": [], "large": [], "by hand": [], "open": []}
    for n in range(26):
        kind = ["small", "small", "large", "by hand", "open"][n % 5] if n < 20 else "small"
        issue = home.issue(f"Training hangs {n}", words.format(1 if n == 25 else n), labels=["bug"])
        numbers[kind].append(issue.number)
        if kind in ("small", "large"):
            size = 4 if kind == "small" else 40
            issue.close_by(home.pull_request(files=[File("src/barrier.py", size, 3), File("tests/test_it.py", 2)]))
        elif kind == "by hand":
            issue.close()
    home.issues[numbers["small"][2]].comment(f"Duplicate of #{numbers['small'][0]}")
    return numbers


@pytest.mark.github
@pytest.mark.process
def test_a_study_of_merged_fixes_of_at_most_ten_lines_from_fetch_to_export(
    world: World, github: Any, settings: Any
) -> None:
    github.tokens, settings.GITHUB_TOKENS = {"t"}, ["t"]
    numbers = closing_repository(world)
    way = Way(random.Random(1))
    asked = {"repository": "acme/trainer"}
    way_in = Caller("olga").post("fetches/", asked)
    assert way_in.status_code == 202, way_in.content
    run_steps.work(way_in.json()["id"])
    assert way.olga.get(f"fetches/{way_in.json()['id']}/").json()["state"] == "done"
    small = [f"acme/trainer#{number}" for number in numbers["small"]]
    filter = asked | {"has_merged_fix": True, "fix_lines_at_most": 10}
    sample = carry_to_the_end(way, filter, n=len(small), n_control=5, n_out=3)
    assert sorted(sample["issues"]) == sorted(small)
    assert [(each["step"], each["n"]) for each in sample["counts"]] == [
        ("all issues", 26),
        ("repository: acme/trainer", 26),
        ("has a merged fix", len(small) + len(numbers["large"])),
        ("fixed by at most 10 changed lines", len(small)),
    ]
    lines = dict(way.flow(sample))
    assert lines["screened out: Duplicate of another issue"] == 2
    changes = [row for row in way.file("changes/") if row["item"] in {row["item"] for row in way.file("labels/")}]
    assert {(row["kind"], row["merged"], row["additions"], row["deletions"]) for row in changes} == {
        ("pull_request", "true", "6", "3")
    }


@needs_vllm
@pytest.mark.process
def test_the_real_issues_go_from_their_file_to_labels_and_export() -> None:
    way = Way(random.Random(2))
    with VLLM.open("rb") as file:
        sent = way.olga.client.post(f"{BASE}fetches/", {"file": file, "private": "false"}, headers=way.olga.headers)
    assert sent.status_code == 202, sent.content
    run_steps.work(sent.json()["id"])
    run = FetchRun.objects.get(pk=sent.json()["id"])
    assert (run.state, run.n_new, run.n_refused) == ("done", 470, 0)
    filter = {"repository": "vllm-project/vllm", "state": "closed", "keywords": ["error", "hang*", "crash*"]}
    sample = carry_to_the_end(way, filter, n=40, n_control=20, n_out=8)
    frame = way.file(f"samples/{sample['id']}/frame/")
    assert len(frame) == sample["n_frame"] and sum(bool(row["drawn"]) for row in frame) == 40
    steps = [each["step"] for each in sample["counts"]]
    assert steps == [
        "all issues",
        "repository: vllm-project/vllm",
        "state: closed",
        "keywords: any of error, hang*, crash* (in title or body)",
    ]
