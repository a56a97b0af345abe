"""The rules of a round applied by real workers: through the broker, and killed (-9) anywhere."""

import os
import random
import time
from collections.abc import Iterator
from typing import Any

import pytest

from annotation import jobs as tasks
from annotation.models import (
    Annotation,
    Assignment,
    AuditEvent,
    InboxLine,
    Resolution,
    ResolutionValue,
    Round,
    RoundRater,
    Study,
)
from annotation.resolving.actions.third_rater_requests import apply_rules
from tests import builders as make
from tests.conftest import environment_of_servers
from tests.kill_harness import COMMIT, MOMENT, STATEMENT, Forks, KillPoint

pytestmark = [pytest.mark.process, pytest.mark.worker, pytest.mark.django_db(transaction=True)]
N_SEEDS = int(os.environ.get("SEEDS", "100"))
DEATHS_MOST = 8
RATERS = ("bob", "carol", "dave")
FAULT: dict[str, Any] = {"kind": ["fault"], "symptom": ["crash"], "distributed": True}
SAID: list[tuple[dict[str, Any], ...]] = [
    (FAULT, FAULT, {"kind": ["how-to"]}),  # a majority, and what hangs on it is answered by two only
    ({**FAULT, "symptom": ["hang"]}, {**FAULT, "symptom": ["slow"]}, FAULT),  # none: a third rater is asked
    ({**FAULT, "fixes": ["code", "config"]}, {**FAULT, "fixes": ["config", "code"]}, {**FAULT, "fixes": []}),
    (FAULT, FAULT, FAULT),
]
N_ITEMS = 24


def being_resolved() -> Round:
    """A round of three raters over the same items as any other one made here, to which no rule was applied yet."""
    study = Study.objects.first() or make.study(text=make.FAULTS, raters=(*RATERS, "erin", "frank"))
    Study.objects.update(third_rater=False, majority=False)
    round_ = make.open_round(Study.objects.get(pk=study.pk), N_ITEMS, raters=RATERS)
    for at in range(N_ITEMS):
        for name, labels in zip(RATERS, SAID[at % len(SAID)], strict=True):
            make.submit(round_, name, at + 1, labels)
    Study.objects.update(third_rater=True, majority=True)
    Round.objects.filter(pk=round_.pk).update(ruled_at=None, seed=7)
    return Round.objects.get(pk=round_.pk)


def being_answered() -> Round:
    """The same answers in a round that is open, for an item more was not answered; its study resolves item by item."""
    study = Study.objects.first() or make.study(text=make.FAULTS, raters=(*RATERS, "erin", "frank"))
    Study.objects.update(third_rater=True, majority=True, resolve_when="item")
    round_ = make.open_round(Study.objects.get(pk=study.pk), N_ITEMS + 1, raters=RATERS)
    Round.objects.filter(pk=round_.pk).update(seed=7)
    for at in range(N_ITEMS):
        for name, labels in zip(RATERS, SAID[at % len(SAID)], strict=True):
            make.submit(round_, name, at + 1, labels)
    return Round.objects.get(pk=round_.pk)


START = {
    "rules": being_resolved,
    "answers": being_answered,
    "rules in turns": being_resolved,
    "answers in turns": being_answered,
}


def done_to(round_: Round) -> dict[str, list[Any]]:
    """What the rules decided and whom they asked, without keys and dates."""
    decided = Resolution.objects.filter(round=round_)
    asked = Assignment.objects.filter(round=round_, slot=None)
    told = InboxLine.objects.filter(round=round_, kind=InboxLine.Kind.ARBITER)
    values = ("item", "part", "dimension__key", "revision", "method", "rationale")
    return {
        "decided": sorted((*row[1:], _chosen(row[0])) for row in decided.values_list("pk", *values)),
        "asked": sorted(asked.values_list("item", "rater__code", "position", "state")),
        "raters": sorted(RoundRater.objects.filter(round=round_).values_list("rater__code", "n_assigned")),
        "told": sorted(told.values_list("member__code", "n_items")),
        "counted": sorted(_summed(AuditEvent.objects.filter(detail__round=round_.number, user=None)).items()),
        "is_ruled": [_is_ruled(Round.objects.get(pk=round_.pk))],
    }


def _is_ruled(round_: Round) -> bool:
    newest = Annotation.objects.filter(assignment__round=round_).order_by("pk").last()
    has_seen = newest is not None and round_.ruled_until is not None and round_.ruled_until >= newest.pk
    return has_seen and (round_.state == Round.State.OPEN or round_.ruled_at is not None)


def _chosen(resolution: int) -> list[str]:
    rows = ResolutionValue.objects.filter(resolution=resolution)
    return sorted(row.category.key if row.category else str(row.boolean) for row in rows.select_related("category"))


def _summed(events: Any) -> dict[str, int]:
    """What the audit says of the rules, over all its lines."""
    found: dict[str, int] = {}
    for event in events:
        for name, n in event.detail.items():
            if name != "round":
                found[f"{event.verb}: {name}"] = found.get(f"{event.verb}: {name}", 0) + n
    return found


def test_a_worker_applies_the_rules_that_the_owner_asks_for(live_worker: object) -> None:
    round_ = being_resolved()
    apply_rules(seat=make.owner_seat(round_.study), number=round_.number)
    ends_at = time.monotonic() + 120
    while not (found := done_to(round_))["is_ruled"][0]:
        assert time.monotonic() < ends_at, "the rules were not applied"
        time.sleep(0.05)
    found = done_to(round_)  # what was read beside the mark may be from before it
    assert {row[4] for row in found["decided"]} == {"majority"} and len(found["asked"]) == N_ITEMS // 4


@pytest.fixture(scope="module")
def forks(django_db_setup: None) -> Iterator[Forks]:
    with Forks(environment_of_servers()) as forks:
        yield forks


def undisturbed_and_killed(forks: Forks, task: str, seed: int) -> int:
    """Applies the rules undisturbed to one round, and to its like with workers that die; how many died."""
    draw = random.Random(seed)
    round_ = START[task]()
    passed = forks.work(task, round_.pk, count=True).passed
    wanted = done_to(round_)
    assert wanted["is_ruled"] == [True] and wanted["decided"] and wanted["asked"]
    round_, n_killed = START[task](), 0
    for place in (STATEMENT, COMMIT, *draw.choices((STATEMENT, COMMIT, MOMENT), k=DEATHS_MOST), None):
        n = draw.uniform(0, passed[place]) if place else 0.0
        kill_point = KillPoint(place, n if place == MOMENT else max(1, round(n))) if place else None
        n_killed += forks.work(task, round_.pk, kill_point=kill_point).killed
    assert done_to(round_) == wanted
    assert forks.work(task, round_.pk, count=True).passed[STATEMENT] == 0, "once more, it does nothing"
    assert done_to(round_) == wanted
    return n_killed


@pytest.mark.parametrize("task", START)
def test_rules_whose_workers_are_killed_do_what_undisturbed_ones_do_and_nothing_twice(forks: Forks, task: str) -> None:
    assert undisturbed_and_killed(forks, task, seed=1) > 0


@pytest.mark.soak
@pytest.mark.parametrize("task", START)
@pytest.mark.parametrize("seed", range(-(-N_SEEDS // 4)))
def test_rules_whose_workers_are_killed_anywhere_do_the_same(forks: Forks, seed: int, task: str) -> None:
    undisturbed_and_killed(forks, task, seed)


def test_a_worker_applies_the_rules_to_answers_of_an_open_round(live_worker: object) -> None:
    round_ = being_answered()
    tasks.rule_new_answers.delay()
    ends_at = time.monotonic() + 120
    while not done_to(round_)["is_ruled"][0]:
        assert time.monotonic() < ends_at, "the rules were not applied"
        time.sleep(0.05)
    assert len(done_to(round_)["asked"]) == N_ITEMS // 4
