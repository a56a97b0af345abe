"""Preview of a plan: its effects, counted."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from annotation.assignments.queries import is_absent
from annotation.labels.columns import UNMAPPED
from annotation.labels.queries.label_columns import read_label_columns
from annotation.models import Membership, Plan, Round
from annotation.plans.category_outcomes import CategoryOutcome
from annotation.plans.queries.relabeling import plan_counter
from annotation.plans.queries.scope import PlanScope, scope_of


@dataclass(frozen=True)
class CategoryOutcomeCount:
    """What becomes of one category's labels, and how many labels and items that is."""

    outcome: CategoryOutcome
    n_labels: int
    n_items: int

    def as_document(self) -> dict[str, Any]:
        outcome = self.outcome
        return {
            "dimension": outcome.dimension,
            "version": outcome.version,
            "old": outcome.category.key,
            "old_name": outcome.category.path,
            "kind": outcome.kind,
            "also": list(outcome.also),
            "new": outcome.new.key if outcome.new else None,
            "new_name": outcome.new.path if outcome.new else None,
            "into": [each.key for each in outcome.into],
            "reason": outcome.words or None,
            "labels": self.n_labels,
            "items": self.n_items,
        }


@dataclass(frozen=True)
class RaterLoad:
    """A rater and how many items would come to them; `is_absent` where nobody can sign in as this rater."""

    rater: Membership
    n_items: int
    is_absent: bool


@dataclass(frozen=True)
class NewQuestionCount:
    """A question that is newly required, and how many items lack an answer."""

    dimension: str
    title: str
    n_items: int


@dataclass(frozen=True)
class Preview:
    """What a plan would do, counted.

    `changes` are the categories that labels name and that don't simply stay; `n_gone` labels stand on questions without
    categories that are gone, `n_parted` in answers of several (or none) to questions that take one now. `redefined` are
    the items with labels that follow into a category which is defined otherwise, by (dimension, key) of that category.
    """

    scope: PlanScope
    n_labels: int
    n_kept: int
    n_gone: int
    n_parted: int
    changes: Sequence[CategoryOutcomeCount]
    redefined: Mapping[tuple[str, str], int]
    questions: Sequence[NewQuestionCount]
    pending: dict[str, int]
    n_asked_items: int
    n_agreed: int
    n_unmapped: int
    raters: Sequence[RaterLoad]
    recheck: Sequence[Sequence[str]]

    @cached_property
    def by_kind(self) -> dict[str, int]:
        """Labels by what becomes of them."""
        counts = Counter({"kept": self.n_kept, "dimension": self.n_gone, "pending": sum(self.pending.values())})
        for each in self.changes:
            counts[each.outcome.kind] += each.n_labels
        counts["kind"] += self.n_parted
        return {kind: n for kind, n in counts.items() if n}

    @property
    def n_following(self) -> int:
        """Labels that follow by themselves."""
        return self.n_kept + sum(each.n_labels for each in self.changes if each.outcome.is_carried)

    @cached_property
    def absent(self) -> list[RaterLoad]:
        return [each for each in self.raters if each.is_absent]

    def warnings(self) -> list[str]:
        """What the owner should know before they run it."""
        found = []
        if self.absent:
            codes = ", ".join(each.rater.code or "" for each in self.absent)
            found.append(f"{codes} can't sign in. Name substitutes who relabel for them.")
        if self.pending.get("open"):
            n = self.pending["open"]
            found.append(
                f"{n} {'proposal is' if n == 1 else 'proposals are'} not answered yet. PENDING labels stay PENDING."
            )
        resolving = [str(each.number) for each in self.scope.rounds if each.state == Round.State.RESOLVING]
        if resolving:
            which = f"Round {resolving[0]} is" if len(resolving) == 1 else f"Rounds {', '.join(resolving)} are"
            found.append(
                f"{which} still being resolved. Later resolutions are migrated, too. Assign third raters first: once "
                "the migration has run, they are unblinded, because the relabeling queue shows who gave which label."
            )
        return found

    def as_document(self) -> dict[str, Any]:
        """As REST and the plan's row have it."""
        return {
            "from": self.scope.from_version.number,
            "to": self.scope.to.number,
            "rounds": [each.number for each in self.scope.rounds],
            "labels": {"total": self.n_labels, "following": self.n_following, **self.by_kind},
            "changes": [each.as_document() for each in self.changes],
            "dimensions": [
                {"dimension": each.dimension, "title": each.title, "kind": "required", "items": each.n_items}
                for each in self.questions
            ],
            "pending": self.pending,
            "agreed": {"labels": self.n_agreed, "unmapped": self.n_unmapped},
            "recheck": [
                {
                    "dimension": dimension,
                    "category": key,
                    "items": n_items,
                    "chosen": [dimension, key] in self.recheck,
                }
                for (dimension, key), n_items in self.redefined.items()
            ],
            "worklist": {
                "items": self.n_asked_items,
                "raters": [
                    {"rater": each.rater.code, "items": each.n_items, "absent": each.is_absent} for each in self.raters
                ],
            },
            "warnings": self.warnings(),
        }


OF_CATEGORIES = """
SELECT rating.category_id, count(*) AS n, count(DISTINCT standing.item_id) AS n_items
FROM standing_answers standing
JOIN annotation_rating rating ON rating.annotation_id = standing.annotation_id
LEFT JOIN sets_parted parted ON (parted.annotation_id, parted.part, parted.dimension_id)
    = (rating.annotation_id, rating.part, rating.dimension_id)
WHERE rating.category_id IS NOT NULL AND parted.annotation_id IS NULL
GROUP BY 1
"""
OF_REDEFINED = """
SELECT mapped.dimension, mapped.key, count(DISTINCT standing.item_id) AS n
FROM standing_answers standing
JOIN annotation_rating rating ON rating.annotation_id = standing.annotation_id
JOIN unnest(%(ids)s::bigint[], %(dimensions)s::text[], %(keys)s::text[]) AS mapped(id, dimension, key)
    ON mapped.id = rating.category_id
LEFT JOIN sets_parted parted ON (parted.annotation_id, parted.part, parted.dimension_id)
    = (rating.annotation_id, rating.part, rating.dimension_id)
WHERE parted.annotation_id IS NULL
GROUP BY 1, 2
"""
OF_OTHERS = """
SELECT rating.dimension_id, count(*) AS n
FROM standing_answers standing
JOIN annotation_rating rating ON rating.annotation_id = standing.annotation_id
LEFT JOIN sets_parted parted ON (parted.annotation_id, parted.part, parted.dimension_id)
    = (rating.annotation_id, rating.part, rating.dimension_id)
WHERE rating.category_id IS NULL AND rating.proposal_id IS NULL AND parted.annotation_id IS NULL
GROUP BY 1
"""
OF_PARTED = """
SELECT count(*) AS n FROM sets_parted parted
JOIN annotation_rating rating ON (rating.annotation_id, rating.part, rating.dimension_id)
    = (parted.annotation_id, parted.part, parted.dimension_id)
WHERE rating.proposal_id IS NULL
"""


def agreed_labels(found: PlanScope) -> tuple[int, int]:
    """How many labels are agreed on questions that the newer version has, and how many of these have no value there.

    Six queries for every 20,000 items.
    """
    columns = read_label_columns(found.rounds, version=found.to).columns
    n_agreed = n_unmapped = 0
    for codes in (
        *(each.codes for each in columns.singles.values()),
        *(each.state for each in columns.multis.values()),
    ):
        n_unmapped += int((codes == UNMAPPED).sum())
        n_agreed += int((codes == UNMAPPED).sum() + (codes >= 0).sum())
    return n_agreed + sum(int(np.isfinite(each.values).sum()) for each in columns.numbers.values()), n_unmapped


def preview(found: PlanScope, recheck: Sequence[Sequence[str]] = ()) -> Preview:
    """What a move would do; the counts of ratings are one statement, whatever the size."""
    asked: dict[str, tuple[str, Any]] = {
        "categories": (OF_CATEGORIES, None),
        "others": (OF_OTHERS, None),
        "parted": (OF_PARTED, None),
        "required": (
            "SELECT dimension, count(DISTINCT item_id) AS n FROM needs WHERE why = 'required' GROUP BY 1",
            None,
        ),
        "pending": (
            "SELECT coalesce(outcome, 'open') AS outcome, count(*) AS n FROM standing_proposals GROUP BY 1",
            None,
        ),
        "items": ("SELECT count(DISTINCT item_id) AS n FROM needs", None),
        "raters": ("SELECT rater_id, count(DISTINCT item_id) AS n FROM needs GROUP BY 1", None),
    }
    successors = [
        (outcome.category.id, outcome.dimension, outcome.new.key)
        for outcome in found.redefined()
        if outcome.new is not None
    ]
    if successors:
        columns = zip(("ids", "dimensions", "keys"), map(list, zip(*successors, strict=True)), strict=True)
        asked["redefined"] = (OF_REDEFINED, dict(columns))
    with plan_counter(found, recheck) as answers:
        counts = answers.several(asked)
    of_categories = {each["category_id"]: (each["n"], each["n_items"]) for each in counts["categories"]}
    of_others = {each["dimension_id"]: each["n"] for each in counts["others"]}
    n_parted = counts["parted"][0]["n"]
    questions = dict(sorted((each["dimension"], each["n"]) for each in counts["required"]))
    pending = {each["outcome"]: each["n"] for each in counts["pending"]}
    n_asked_items = counts["items"][0]["n"]
    by_rater = {each["rater_id"]: each["n"] for each in counts["raters"]}
    n_redefined = {(each["dimension"], each["key"]): each["n"] for each in counts.get("redefined", ())}
    places = dict.fromkeys((dimension, key) for _, dimension, key in successors)
    redefined = {place: n_redefined[place] for place in places if place in n_redefined}
    changes = []
    gone = {
        dimension.id
        for version_id, way in found.ways.items()
        for dimension in found.trees[version_id].dimensions
        if way.dimension_blocked(dimension.key)
    }
    n_gone = sum(n for dimension_id, n in of_others.items() if dimension_id in gone)
    n_kept = sum(of_others.values()) - n_gone
    for category_id, outcome in found.outcomes.items():
        n_labels, n_items = of_categories.get(category_id, (0, 0))
        if outcome.kind == "kept":
            n_kept += n_labels
        elif n_labels:
            changes.append(CategoryOutcomeCount(outcome, n_labels, n_items))
    members = Membership.objects.filter(pk__in=by_rater).select_related("user").order_by("pk")
    titles = {each.key: each.title for each in found.tree.dimensions}
    n_agreed, n_unmapped = agreed_labels(found)
    return Preview(
        scope=found,
        n_labels=sum(n for n, _ in of_categories.values()) + sum(of_others.values()) + sum(pending.values()) + n_parted,
        n_kept=n_kept,
        n_gone=n_gone,
        n_parted=n_parted,
        changes=changes,
        redefined=redefined,
        questions=[NewQuestionCount(key, titles[key], n) for key, n in questions.items()],
        pending=pending,
        n_asked_items=n_asked_items,
        n_agreed=n_agreed,
        n_unmapped=n_unmapped,
        raters=[RaterLoad(each, by_rater[each.pk], is_absent(each)) for each in members],
        recheck=[list(each) for each in recheck],
    )


def preview_of(plan: Plan) -> Preview:
    """What a plan would do now. Raises Conflict where there is nothing to move any more."""
    return preview(scope_of(plan), plan.recheck)
