"""Whatever becomes of a taxonomy: no label is lost, each leads back to what was typed, and undoing is exact.

Random sequences of changes, plans, worklists, rounds and undoings, drawn by seed. What a value must become is told by a
second, simpler bookkeeping: for each step, into which keys each key went.
"""

import os
import random
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest

from annotation.agreement_report.queries.across_rounds import AgreementQuery, visible_rounds
from annotation.agreement_report.queries.coefficients import agreement
from annotation.core.errors import Conflict
from annotation.exports.queries import rows
from annotation.labeling.actions.answers import submit_annotation
from annotation.labeling.queries.earlier_answers import prefilled_answer
from annotation.labels.queries.rows import as_dict
from annotation.models import Annotation, Assignment, Plan, Proposal, Rating, Resolution, Round, Study
from annotation.plans import jobs as plan_jobs
from annotation.plans.actions import preview_plan, run_plan, undo_plan
from annotation.plans.queries.listing import why_not_undo
from annotation.rounds.actions.rounds import close_round
from taxonomy.actions import new_draft, publish_version
from taxonomy.queries import document, newest_published, published_version
from taxonomy.schema import CategorySpec, DimensionSpec, Document, dump
from tests import builders as make
from tests.annotation.exports.test_batches import assert_same

pytestmark = pytest.mark.django_db
N_SEEDS = int(os.environ.get("SEEDS", "100"))
N_STEPS = 9
RATERS = ("bob", "carol")
START = """
slug: alive
title: Alive
dimensions:
  - key: symptom
    title: Symptom
    kind: single
    categories:
      - {key: failure, name: Failure, categories: [{key: crash, name: Crash}, {key: hang, name: Hang}]}
      - {key: slow, name: Slow}
      - {key: wrong, name: Wrong}
  - key: fixes
    title: Fixes
    kind: multi
    required: false
    categories: [{key: config, name: Config}, {key: version, name: Version}, {key: code, name: Code}]
"""

Into = Mapping[tuple[str, str], frozenset[str]]
"""Of one version: (dimension, key of the version before) → the keys that it went into."""


@dataclass
class Life:
    """A study and its taxonomy while they change, with the second bookkeeping."""

    study: Study
    draw: random.Random
    into: dict[int, Into] = field(default_factory=dict)
    n_made: int = 0
    n_issues: int = 0
    typed: dict[int, tuple[Any, ...]] = field(default_factory=dict)
    before_plans: list[tuple[int, dict[str, Any]]] = field(default_factory=list)
    passed: list[str] = field(default_factory=list)

    # What may happen

    def change(self) -> None:
        """The next version: up to three changes of the newest one."""
        newest = newest_published(self.study.taxonomy)
        assert newest is not None
        text = document(newest)
        dimensions, into = [], {}
        for dimension in text.dimensions:
            nodes = _flat(dimension)
            went = {key: {key} for key in nodes}
            for _ in range(self.draw.randint(0, 3)):
                self._change_one(nodes, went)
            dimensions.append(_grown(dimension, nodes))
            into |= {(dimension.key, key): frozenset(keys & nodes.keys()) for key, keys in went.items()}
        changed = Document(slug=text.slug, title=text.title, dimensions=tuple(dimensions))
        draft = new_draft(user=self.study.created_by, taxonomy=self.study.taxonomy, text=dump(changed))
        self.into[publish_version(user=self.study.created_by, version=draft).number] = into

    def _change_one(self, nodes: "Nodes", went: dict[str, set[str]]) -> None:
        key = self.draw.choice(sorted(nodes))
        node = nodes[key]
        what = self.draw.choice(("rename", "new key", "redefine", "move", "merge", "split", "retire", "add"))
        others = sorted(each for each in nodes if each != key)
        if what == "rename":
            node["name"] = f"Name {self._fresh()}"
        elif what == "redefine":
            node["definition"] = f"Definition {self._fresh()}."
        elif what == "move":
            node["parent"] = self.draw.choice([None, *(each for each in others if key not in _above(nodes, each))])
        elif what == "add":
            fresh = f"new-{self._fresh()}"
            nodes[fresh] = {"name": fresh, "definition": "", "parent": None, "from": set()}
        elif what == "new key":
            self._replace(nodes, went, key, [f"key-{self._fresh()}"])
        elif what == "split":
            self._replace(nodes, went, key, [f"half-{self._fresh()}", f"half-{self._fresh()}"])
        elif what == "merge" and len(others) > 1:
            self._replace(nodes, went, key, [self.draw.choice(others)])
        elif what == "retire" and len(others) > 1:
            self._replace(nodes, went, key, [])

    def _replace(self, nodes: "Nodes", went: dict[str, set[str]], key: str, by: list[str]) -> None:
        """Puts categories in the place of one; what came from it comes from them, and its children go to its parent."""
        gone = nodes.pop(key)
        for node in nodes.values():
            if node["parent"] == key:
                node["parent"] = gone["parent"]
        for each in by:
            node = nodes.setdefault(each, {"name": each, "definition": "", "parent": gone["parent"], "from": set()})
            node["from"] |= gone["from"]
        for keys in went.values():
            if key in keys:
                keys.remove(key)
                keys.update(by)

    def _fresh(self) -> int:
        self.n_made += 1
        return self.n_made

    def plan(self) -> None:
        """Moves the study to the newest version, if anything is to move and nothing is open."""
        newest = newest_published(self.study.taxonomy)
        assert newest is not None
        seat = make.owner_seat(self.study)
        if self.study.rounds.filter(state="open").exists():
            return
        try:
            plan = preview_plan(seat=seat, to=newest.number)
        except Conflict:
            return
        before = self.told()
        plan = run_plan(seat=seat, plan=plan, send=False)
        plan_jobs.work(plan.pk)
        self.before_plans.append((plan.pk, before))
        self.check()

    def re_label(self) -> None:
        """Some or all of a worklist is answered: what came over stays, the rest is chosen at random."""
        for assignment in Assignment.objects.filter(round__state="open", state="waiting").select_related("round"):
            if self.draw.random() < 0.8:
                self._answer(assignment)

    def _answer(self, assignment: Assignment) -> None:
        tree = published_version(assignment.round.taxonomy_version_id)
        name = assignment.rater.user.username  # type: ignore[union-attr]
        carried = prefilled_answer(assignment, tree)
        given = carried.draft["parts"][0]["labels"] if carried and carried.draft else {}  # type: ignore[index]
        labels = {
            dimension.key: given.get(dimension.key) or self._chosen(dimension)
            for dimension in tree.dimensions
            if dimension.required or given.get(dimension.key)
        }
        seat = make.seat(self.study, name)
        submit_annotation(seat=seat, assignment=assignment.public_id, body={"labels": labels})

    def _chosen(self, dimension: Any) -> list[str]:
        return [self.draw.choice([each.key for each in dimension.categories if each.selectable])]

    def round(self) -> None:
        """A new round over some issues, answered at random, with some proposals and decisions, then closed."""
        if self.study.rounds.filter(state="open").exists():
            return
        first = self.n_issues + 1
        self.n_issues += 4
        round_ = make.open_round(self.study, 4, first=first)
        tree = published_version(round_.taxonomy_version_id)
        for number in range(first, first + 4):
            for name in RATERS:
                symptom, fixes = tree.by_key["symptom"], tree.by_key["fixes"]
                some = self.draw.sample([each.key for each in fixes.categories], self.draw.randint(0, 2))
                if self.draw.random() < 0.1:
                    make.submit(round_, name, number, {"fixes": some}, proposals={"symptom": {"name": "New"}})
                else:
                    make.submit(round_, name, number, {"symptom": self._chosen(symptom), "fixes": some})
        self.close()

    def close(self) -> None:
        """Closes what is being resolved."""
        for number in self.study.rounds.filter(state="resolving").values_list("number", flat=True):
            close_round(seat=make.owner_seat(self.study), number=number, leave_open=True)

    def undo(self) -> None:
        """Undoes the last plan where that may be; everything is told as before it."""
        if not self.before_plans:
            return
        pk, before = self.before_plans[-1]
        plan = Plan.objects.get(pk=pk)
        if why_not_undo(plan):
            return
        undo_plan(seat=make.owner_seat(self.study), plan=plan)
        self.before_plans.pop()
        assert self.told() == before

    # What must hold

    def told(self) -> dict[str, Any]:
        """Labels, ratings, disagreement and agreement, as they are told."""
        seat = make.owner_seat(self.study)
        every = visible_rounds(seat)
        return {
            "labels": flat(rows.labels(seat)),
            "ratings": flat(rows.ratings(seat)),
            "agreement": agreement(seat, every, AgreementQuery(resamples=0), round_number=None) if every else None,
        }

    def check(self) -> None:
        """Nothing that was stored is gone or different, and every value is what the second bookkeeping says."""
        for model in (Annotation, Rating, Proposal, Resolution):
            stored = {("", row["id"]): tuple(sorted(row.items(), key=str)) for row in model.objects.values()}
            known = {key: row for (name, key), row in self.typed.items() if name == model.__name__}  # type: ignore[misc]
            assert {key: stored.get(("", key)) for key in known} == known, model.__name__
            self.typed |= {(model.__name__, key): row for (_, key), row in stored.items()}  # type: ignore[misc]
        seat = make.owner_seat(self.study)
        for version in (None, max([1, *self.into])):
            assert_same(seat, version=version)
        typed = flat(rows.ratings(seat))
        assert typed and all(row["values"] == row["original_values"] for row in typed)
        numbers = [1, *self.into]
        for number in numbers:
            for told in (flat(rows.ratings(seat, version=number)), flat(rows.labels(seat, version=number))):
                for row in told:
                    self._check_row(row, number)
        for number in numbers:
            again = flat(rows.ratings(seat, version=number))
            assert [row["original_values"] for row in again] == [row["values"] for row in typed]
        for row in flat(rows.labels(seat)):
            self._check_row(row, row["taxonomy_version"])

    def _check_row(self, row: dict[str, Any], number: int) -> None:
        assert row["taxonomy_version"] == number
        expected = self.followed(row["dimension"], row["original_values"], row["original_version"], number)
        assert row["values"] == expected, (row, expected)
        assert (row["unmapped"] is None) == (expected is not None), row

    def followed(self, dimension: str, values: list[str], old: int, new: int) -> list[str] | None:
        """What values become by the second bookkeeping; None where one of them has not just one fate."""
        found = set()
        for value in values:
            if value == "PENDING":
                found.add(value)
                continue
            at: set[str | None] = {value}
            for number in range(old + 1, new + 1) if old < new else range(old, new, -1):
                into = self.into[number]
                if old < new:
                    heirs = [into.get((dimension, each), frozenset()) for each in at if each]
                else:
                    heirs = [
                        frozenset(before for (key, before), keys in into.items() if key == dimension and each in keys)
                        for each in at
                        if each
                    ]
                at = {key for keys in heirs for key in keys} | ({None} if None in at or not all(heirs) else set())
            if len(at) != 1 or None in at:
                return None
            found |= at
        return sorted(found, key=str)  # type: ignore[type-var]


Nodes = dict[str, dict[str, Any]]


def _flat(dimension: DimensionSpec) -> Nodes:
    """Categories by key: name, definition, parent's key, and the keys of this version that they come from."""
    return {
        spec.key: {
            "name": spec.name,
            "definition": spec.definition,
            "parent": above[-1].key if above else None,
            "from": {spec.key},
        }
        for spec, above in dimension.walk()
    }


def _above(nodes: Nodes, key: str) -> set[str]:
    found = set()
    at: str | None = key
    while at is not None:
        found.add(at)
        at = nodes[at]["parent"]
    return found


def _grown(dimension: DimensionSpec, nodes: Nodes) -> DimensionSpec:
    def below(parent: str | None) -> tuple[CategorySpec, ...]:
        return tuple(
            CategorySpec(
                key=key,
                name=node["name"],
                definition=node["definition"],
                was=() if node["from"] in ({key}, set()) else tuple(sorted(node["from"])),
                categories=below(key),
            )
            for key, node in nodes.items()
            if node["parent"] == parent
        )

    return DimensionSpec(
        key=dimension.key,
        title=dimension.title,
        kind=dimension.kind,
        required=dimension.required,
        categories=below(None),
    )


def flat(found: rows.Found) -> list[dict[str, Any]]:
    return [as_dict(row) for _, here in found for row in here]


def lived(seed: int, n_steps: int = N_STEPS) -> Life:
    draw = random.Random(seed)
    life = Life(make.study("alive", text=START, raters=RATERS), draw)
    life.round()
    life.check()
    for _ in range(n_steps):
        what = draw.choice(("change", "change", "plan", "plan", "re_label", "close", "round", "undo", "undo"))
        life.passed.append(what)
        getattr(life, what)()
        life.check()
    return life


@pytest.mark.slow
def test_the_seeds_come_to_plans_with_worklists_and_to_undoing() -> None:
    life = lived(1, 1)
    for what in ("change", "plan", "change", "plan", "undo"):
        getattr(life, what)()
        life.check()
    assert Round.objects.filter(kind="relabel").exists() and Plan.objects.filter(state="undone").exists()


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(100, 100 + N_SEEDS))
def test_no_label_is_lost_whatever_happens(seed: int) -> None:
    lived(seed)
