"""Many raters at once over real HTTP, their web processes killed: nothing lost, nothing doubled, N and no more."""

import os
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

from tests.concurrent_raters import Outcome, work
from tests.site import Site

pytestmark = [pytest.mark.process, pytest.mark.worker, pytest.mark.timeout(1200)]
TURNS = int(os.environ.get("SEEDS", "20"))

STORED = """
    SELECT a.id, a.idempotency_key, a.revision, g.id, g.item_id, g.rater_id, array_agg(c.key)
    FROM annotation_annotation a
    JOIN annotation_assignment g ON g.id = a.assignment_id
    JOIN annotation_round r ON r.id = g.round_id JOIN annotation_study s ON s.id = r.study_id
    JOIN annotation_rating v ON v.annotation_id = a.id JOIN taxonomy_category c ON c.id = v.category_id
    WHERE s.slug = %s GROUP BY 1, 2, 3, 4, 5, 6
"""
HELD = """
    SELECT g.item_id, g.rater_id, g.state, g.slot FROM annotation_assignment g
    JOIN annotation_round r ON r.id = g.round_id JOIN annotation_study s ON s.id = r.study_id
    WHERE s.slug = %s AND g.state <> 'withdrawn'
"""
ROUND = "SELECT r.state FROM annotation_round r JOIN annotation_study s ON s.id = r.study_id WHERE s.slug = %s"


@pytest.fixture(scope="module")
def site(tmp_path_factory: Any) -> Iterator[Site]:
    made = Site(tmp_path_factory.mktemp("crowd") / "data")
    yield made
    made.stop()


def check(site: Site, outcome: Outcome, *, n_items: int, raters_per_item: int, n_killed: int = 3) -> None:
    assert [told.error for told in outcome.raters if told.error] == []
    stored = site.query(STORED, outcome.slug)
    by_key = {key: labels for _, key, _, _, _, _, labels in stored}
    told = {key: each["labels"]["symptom"] for key, each in outcome.acknowledged.items()}
    assert len({each["id"] for each in outcome.acknowledged.values()}) == len(told)
    assert by_key == told, "every acknowledged label is there, exactly once, and no other"
    assert len(stored) == n_items * raters_per_item
    assert max(revision for _, _, revision, *_ in stored) == 1
    held = site.query(HELD, outcome.slug)
    assert set(Counter(item for item, *_ in held).values()) == {raters_per_item}, "every item has just N raters"
    assert max(Counter((item, rater) for item, rater, *_ in held).values()) == 1, "nobody has an item twice"
    assert {state for _, _, state, _ in held} == {"submitted"}
    assert site.query(ROUND, outcome.slug) == [("resolving",)], "all finish, and the round moves on by itself"
    handed_out = [assignment for each in outcome.raters for assignment in each.handed_out]
    assert len(handed_out) == len(set(handed_out)) == n_items * raters_per_item
    assert outcome.n_killed >= n_killed


@pytest.mark.parametrize("mode", ["planned", "pool"])
def test_eight_raters_lose_and_double_nothing_while_web_processes_are_killed(site: Site, mode: str) -> None:
    outcome = work(site, mode, n_raters=8, n_items=60, raters_per_item=3, seed=1)
    check(site, outcome, n_items=60, raters_per_item=3)


@pytest.mark.soak
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("turn", range(TURNS))
@pytest.mark.parametrize("mode", ["planned", "pool"])
def test_fifty_raters_lose_and_double_nothing_while_web_processes_are_killed(site: Site, mode: str, turn: int) -> None:
    outcome = work(site, mode, n_raters=50, n_items=250, raters_per_item=3, seed=turn)
    check(site, outcome, n_items=250, raters_per_item=3)
