"""The package of a study that went from version to version: its script works out the labels that plans moved, too."""

import csv
import re
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from random import Random
from typing import Any

import pytest
from django.db import transaction

from annotation.analysis.actions import save_analysis
from annotation.core.access import get_round
from annotation.models import Assignment, Round, Study
from annotation.plans import jobs as plan_jobs
from annotation.plans.actions import preview_plan, run_plan
from annotation.resolving.actions.resolutions import resolve
from annotation.rounds.actions import rounds
from taxonomy.queries import forget_trees, published_version
from tests import builders as make
from tests.annotation.packages import EVERYTHING, labeled, package, quickly, recompute, settle, unpacked

pytestmark = [pytest.mark.django_db, pytest.mark.process]

SECOND = (
    EVERYTHING.replace("name: Crash}, {key: hang, name: Hang}", "name: Abort}, {key: early, name: Early, was: [hang]}, "
                       "{key: late, name: Late, was: [hang]}")
    .replace("{key: begin, name: Begin}, {key: end, name: End}", "{key: run, name: Run, was: [begin, end]}, "
             "{key: setup, name: Set-up}")
    .replace("{key: config, name: Configuration}, {key: version, name: Version}", "{key: library, name: Library, "
             "was: [version]}")
    + "  - {key: device, title: Device, kind: single, applies_when: {dimension: kind, is: [fault]}, categories: "
    "[{key: gpu, name: GPU}, {key: cpu, name: CPU}]}\n"
)  # fmt: skip
"""Renamed, split, merged, retired, and a question that was not asked before."""
THIRD = (
    SECOND.replace("{key: early, name: Early, was: [hang]}, {key: late, name: Late, was: [hang]}",
                   "{key: hang, name: Hang, was: [early, late]}")
    .replace("{key: run, name: Run, was: [begin, end]}", "{key: run, name: Run}")
    .replace("{key: library, name: Library, was: [version]}", "{key: library, name: Library}")
    .replace("    kind: boolean\n    applies_when: {dimension: kind, is: [fault]}", "    kind: single\n"
             "    categories: [{key: always, name: Always}, {key: never, name: Never}]")
    .replace("{dimension: distributed, is: [true]}", "{dimension: distributed, is: [always]}")
    .replace("    kind: ordinal", "    kind: single")
)  # fmt: skip
"""What was split is one again, and two questions are of another kind."""


@pytest.fixture(autouse=True, scope="module")
def _quickly() -> Iterator[None]:
    with quickly():
        yield


def any_answer(round_: Round, likes: str) -> dict[str, Any]:
    """Labels under the version of a round that someone who likes the same things gives, too."""
    tree, draw = published_version(round_.taxonomy_version_id), Random(likes)
    found: dict[str, Any] = {}
    for each in tree.dimensions:
        if not tree.applies(each.key, found) or (not each.required and draw.random() < 0.3):
            continue
        keys = [category.key for category in each.categories if category.selectable]
        if each.kind in ("single", "ordinal"):
            found[each.key] = [draw.choice(keys)]
        elif each.kind == "multi":
            found[each.key] = sorted(draw.sample(keys, draw.randint(0, 2)))
        else:
            found[each.key] = {"boolean": draw.random() < 0.5, "number": 3.5, "text": "as said"}[each.kind]
    return found


def answered(round_: Round, draw: Random, *, most: float = 1.0) -> None:
    """Most of what a worklist asks is answered, often alike."""
    rows = (
        Assignment.objects.filter(round=round_).order_by("pk").values_list("item__identifier", "rater__user__username")
    )
    for item, name in list(rows):
        likes, number = draw.random(), int(item.rpartition("#")[2])
        if likes > most:
            continue
        alike = any_answer(round_, item if likes < 0.7 else f"{item} {name}")
        if likes > 0.95:
            make.submit(round_, name, number, skip="cannot tell")
        elif likes > 0.85:
            make.submit(round_, name, number, parts=[{"labels": any_answer(round_, f"{item} {n}")} for n in range(2)])
        else:
            make.submit(round_, name, number, alike)


def moved(study: Study, to: int) -> Round:
    """The worklist of a plan that was run."""
    seat = make.owner_seat(study)
    plan = run_plan(seat=seat, plan=preview_plan(seat=seat, to=to))
    plan_jobs.work(plan.pk)
    plan.refresh_from_db()
    assert plan.state == "done" and plan.worklist is not None
    return get_round(seat, plan.worklist.number)


def closed(study: Study, number: int) -> None:
    seat = make.owner_seat(study)
    if get_round(seat, number).state == Round.State.OPEN:
        rounds.resolve_round(seat=seat, number=number, withdraw=True)
    rounds.close_round(seat=seat, number=number, leave_open=True)


def lived(seed: int) -> Study:
    """Two rounds, a plan with its worklist, a round under the new version, and a plan whose worklist is at work."""
    draw = Random(seed)
    study = make.study(text=EVERYTHING, raters=("bob", "carol", "dave"))
    labeled(study, 10, ("bob", "carol"), first=1, seed=seed, per_item=2)
    closed(study, 1)
    labeled(study, 6, ("bob", "carol", "dave"), first=8, seed=seed + 1000, per_item=2)
    closed(study, 2)
    make.next_version(study, SECOND)
    worklist = moved(study, 2)
    answered(worklist, draw)
    settle(study, get_round(make.owner_seat(study), worklist.number), draw)
    closed(study, 3)
    other = make.open_round(study, 4, first=20)
    answered(other, draw)
    settle(study, get_round(make.owner_seat(study), 4), draw)
    closed(study, 4)
    make.next_version(study, THIRD)
    answered(moved(study, 3), draw, most=0.8)
    return study


def asked(study: Study) -> None:
    """Analyses in terms of each version, and of each round."""
    seat, dimensions = make.owner_seat(study), ("symptom", "fixes", "distributed")
    for name, number, dimension in product(("version", "round"), "123", dimensions):
        words = {"dimension": [dimension], name: [number]}
        save_analysis(seat=seat, title=f"{dimension}, {name} {number}", kind="counts", question=words)


@pytest.fixture(scope="module")
def made(django_db_setup: None, django_db_blocker: Any) -> bytes:
    with django_db_blocker.unblock(), transaction.atomic():
        study = lived(6)
        asked(study)
        found = package(make.owner_seat(study))
        transaction.set_rollback(True)
    forget_trees()
    return found


def test_labels_that_plans_moved_and_worklists_gave_are_recomputed(made: bytes, tmp_path: Path) -> None:
    folder = unpacked(made, tmp_path)
    status, said = recompute(folder)
    assert status == 0 and "Not recomputed" not in said, said
    with (folder / "data" / "labels.csv").open(encoding="utf-8", newline="") as file:
        labels = list(csv.DictReader(file))
    assert {each["taxonomy_version"] for each in labels} == {"3"}
    assert {each["original_version"] for each in labels} == {"1", "2"}
    assert {"", "retired in version 2", "its dimension is of another kind in version 3"} <= {
        each["unmapped"] for each in labels
    }
    from_worklist = [each for each in labels if each["round"] == "3"]
    assert from_worklist and any(each["values"] != each["original_values"] for each in labels if each["values"])


@pytest.mark.parametrize(
    ("file", "old", "new", "told"),
    [
        ("data/labels.csv", "retired in version 2", "retired in version 3", "why there are none"),
        ("data/labels.csv", ",run,", ",setup,", "stage: values"),
        ("taxonomy/changes.json", '"category": "run"', '"category": "setup"', "stage: values"),
        ("data/rounds.csv", ",3,", ",2,", "told in version"),
    ],
)
def test_an_error_planted_on_the_way_to_another_version_is_found(
    made: bytes, tmp_path: Path, file: str, old: str, new: str, told: str
) -> None:
    folder = unpacked(made, tmp_path)
    path = folder / file
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new, 1), encoding="utf-8")
    status, said = recompute(folder)
    assert status == 1 and re.search(f"DIFFERS  data/labels.csv: acme/rocket#.*{told}", said), said


def test_labels_of_items_whose_raters_alone_were_to_relabel_are_recomputed(tmp_path: Path) -> None:
    study = make.study(text=make.FAULTS)
    round_ = make.open_round(study, 3)
    fault = {"kind": ["fault"], "fixes": ["code"], "distributed": True}
    for number in (1, 2, 3):
        for name, symptom in (("bob", "hang"), ("carol", "slow")):
            make.submit(round_, name, number, {**fault, "symptom": [symptom]})
    ada, place = make.seat(study, "ada"), {"part": 1, "dimension": "symptom", "values": ["slow"]}
    for each in round_.round_items.select_related("item"):
        resolve(seat=ada, round_=get_round(ada, 1), item=each.item, rationale="", **place)
    closed(study, 1)
    make.next_version(study, make.FAULTS.replace(
        "{key: hang, name: Hang}", "{key: early, name: Early, was: [hang]}, {key: late, name: Late, was: [hang]}"
    ))  # fmt: skip
    worklist = moved(study, 2)
    assert [each.asked for each in worklist.round_items.all()] == [[], [], []]
    make.submit(worklist, "bob", 1, {**fault, "symptom": ["late"]})
    make.submit(worklist, "bob", 2, {"kind": ["how-to"]})
    make.submit(worklist, "bob", 3, skip="cannot tell")
    folder = unpacked(package(make.owner_seat(study)), tmp_path)
    status, said = recompute(folder)
    assert status == 0 and "Not recomputed" not in said, said
    with (folder / "data" / "labels.csv").open(encoding="utf-8", newline="") as file:
        labels = {(each["item"][-1], each["dimension"]): each["values"] for each in csv.DictReader(file)}
    assert all(labels[number, "symptom"] == "slow" and labels[number, "kind"] == "fault" for number in "123")


@pytest.mark.slow
def test_an_error_planted_in_an_answer_of_a_worklist_is_found(made: bytes, tmp_path: Path) -> None:
    folder = unpacked(made, tmp_path)
    with (folder / "data" / "labels.csv").open(encoding="utf-8", newline="") as file:
        alike = [each for each in csv.DictReader(file) if (each["round"], each["method"]) == ("3", "relabel")]
    wanted = alike[0]
    path = folder / "data" / "ratings.csv"
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    place = f"3,{wanted['item']},"
    at = next(n for n, line in enumerate(lines) if line.startswith(place) and f",{wanted['dimension']}," in line)
    lines[at] = lines[at].replace(
        f",{wanted['dimension']},{wanted['original_values']},", f",{wanted['dimension']},cpu,"
    )
    path.write_text("".join(lines), encoding="utf-8")
    status, said = recompute(folder)
    assert status == 1 and f"{wanted['item']}, part {wanted['part']}, {wanted['dimension']}" in said, said
