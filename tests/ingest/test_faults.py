"""Faults and movements drawn at random, over whole fetches: what comes in is what an undisturbed fetch brings."""

import os
import random
from datetime import UTC, datetime
from typing import Any

import pytest
from django.utils import timezone

from ingest import run_steps, runs
from ingest.actions.fetches import continue_run, start_check
from ingest.models import FetchRun, Issue
from tests.github import GitHub, Repository, World, made_up
from tests.ingest.run_kinds import WAYS, Case
from tests.ingest.stored_rows import all_counts, empty_tables, everything

pytestmark = pytest.mark.django_db(transaction=True)
N_SEEDS = -(-int(os.environ.get("SEEDS", "100")) // 5)
FAULTS = ["close", "cut", "truncated", "html", "html_502", "status_500", "secondary", "secondary_silent"]
OF_GRAPHQL = ["timeout", "partial", "rate_limited", "rate_limit", "resources", "secondary_200"]
FAULTY_SHARE = dict.fromkeys(("few by REST", "closing changes by REST", "presence by REST", "presence by GraphQL"), 0.1)
FAULTY_SHARE_ELSE = 0.35  # those above take many requests before anything is stored
BY_REST, BY_GRAPHQL = [], [pytest.mark.github]


def go_on(run: FetchRun) -> FetchRun:
    """What the clock, a worker and, where a run failed, a user do when time has passed."""
    FetchRun.objects.filter(pk=run.pk, state="waiting").update(waiting_until=timezone.now())
    if run.state == FetchRun.State.FAILED:
        assert "attempts failed. Continue the run" in run.error
        continue_run(run=run, send=False)
    runs.pick_up()
    run_steps.work(run.pk)
    run.refresh_from_db()
    return run


def spoil_at_random(github: GitHub, share: float, draw: random.Random) -> None:
    def spoil(asked: Any) -> None:
        if draw.random() < share:
            github.fault(draw.choice(FAULTS + OF_GRAPHQL * asked.is_graphql), asked.path)

    github.before_answer = spoil


def fetched_with_faults(github: GitHub, settings: Any, name: str, seed: int) -> int:
    """How many faults there were."""
    way = WAYS[name]
    settings.GITHUB_TOKENS = list(way.tokens)
    began = datetime.now(UTC).replace(microsecond=0)
    found, n_attempts = [], 0
    for faulty in (False, True):
        empty_tables()
        github.world = World()
        run = way.prepare(Case(github, began, way.n_issues))
        if faulty:
            spoil_at_random(github, FAULTY_SHARE.get(name, FAULTY_SHARE_ELSE), random.Random(seed))
        go_on(run)
        while run.state != "done":
            n_attempts += 1
            assert n_attempts < 300 and faulty, run.error
            go_on(run)
        github.before_answer = None
        found.append((all_counts(run), everything()))
    assert found[1] == found[0]
    return len(github.faults)


@pytest.mark.parametrize("fault", ["cut", "close"])
def test_a_redirect_that_breaks_off_is_asked_for_again(github, fetch, fault):
    home = made_up(github.world, "o/r", 3)
    assert fetch().state == "done"
    home.issues[2].transfer(github.world.repository("o/other"))
    github.fault(fault, "/issues/2")
    run = start_check(user=None, repository="o/r", numbers=[1, 2, 3], send=False)
    run_steps.work(run.pk)
    run.refresh_from_db()
    assert (run.state, "connection to GitHub broke" in run.error) == ("waiting", True)
    assert go_on(run).state == "done"
    assert list(Issue.objects.order_by("number").values_list("presence", "moved_to")) == [
        ("here", ""), ("transferred", "o/other#1"), ("here", ""),
    ]  # fmt: skip


def ways(*names: str) -> list[Any]:
    return [pytest.param(name, marks=BY_GRAPHQL if WAYS[name].tokens else BY_REST) for name in names]


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", ways("REST", "few by REST", "GraphQL", "what changed by REST", "what changed by GraphQL")
)
def test_a_run_among_faults_ends_like_an_undisturbed_one(github, settings, name):
    assert fetched_with_faults(github, settings, name, seed=1)


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(N_SEEDS))
@pytest.mark.parametrize(
    "name", ways(*(name for name, way in WAYS.items() if " by " in name or "REST" in name or way.tokens))
)
def test_a_run_among_any_faults_ends_like_an_undisturbed_one(github, settings, name, seed):
    fetched_with_faults(github, settings, name, seed)


class Restless:
    """Changes a repository between two answers, so that its lists move while they are read."""

    def __init__(self, home: Repository, draw: random.Random) -> None:
        self.home = home
        self.draw = draw
        self.n = 0

    def __call__(self, asked: Any) -> None:
        for _ in range(self.draw.choice((0, 0, 1, 2, 5))):
            self.n += 1
            self.home.world.step_seconds = self.draw.choice((0, 1, 1))
            self.draw.choice(
                (self.edit, self.edit, self.comment, self.edit_comment, self.add, self.close, self.delete)
            )()

    def any_issue(self) -> Any:
        return self.draw.choice([issue for issue in self.home.issues.values() if not issue.is_pull_request])

    def edit(self) -> None:
        self.any_issue().edit(title=f"Edited {self.n}", labels=[f"label {self.n % 3}"])

    def comment(self) -> None:
        self.any_issue().comment(f"Comment {self.n}")

    def edit_comment(self) -> None:
        issue = self.any_issue()
        if issue.comments:
            issue.edit_comment(self.draw.choice(issue.comments), f"Edited {self.n}")

    def add(self) -> None:
        self.home.issue(f"New {self.n}").comment(f"Comment {self.n}")

    def close(self) -> None:
        issue = self.any_issue()
        if issue.state == "closed":
            issue.reopen()
        else:
            issue.close_by(self.home.pull_request(f"Fix {self.n}"))

    def delete(self) -> None:
        self.any_issue().delete()


def as_it_is(home: Repository) -> dict[int, Any]:
    """What is stored of the issues that are still at GitHub."""
    found = {}
    for issue in Issue.objects.filter(number__in=list(home.issues)).select_related("current_snapshot"):
        thread = list(issue.current_snapshot.thread().values_list("github_id", "body"))
        changes = sorted(issue.closing_changes.values_list("identifier", "merged_at", "additions", "n_files", "paths"))
        snapshot = issue.current_snapshot
        said = (snapshot.title, snapshot.state, snapshot.state_reason, snapshot.github_labels, snapshot.sha256)
        found[issue.number] = (said, thread, changes, issue.updated_at, issue.presence)
    return found


def fetched_while_it_moves(github: GitHub, fetch: Any, seed: int) -> None:
    github.world = World()
    home = made_up(github.world, "o/r", 300)
    github.world.now = datetime.now(UTC).replace(microsecond=0)
    github.before_answer = restless = Restless(home, random.Random(seed))
    assert fetch().state == "done"
    github.before_answer = None
    assert restless.n
    assert fetch(since="last").state == "done"
    found = as_it_is(home)
    assert all(Issue.objects.values_list("current_snapshot__comments_known", flat=True))
    empty_tables()
    assert fetch().state == "done"
    wanted = as_it_is(home)
    assert set(wanted) == {issue.number for issue in home.issues.values() if not issue.is_pull_request}
    assert {n: (found.get(n), row) for n, row in wanted.items() if found.get(n) != row} == {}
    assert set(found) == set(wanted)


BOTH = [pytest.param([], id="REST"), pytest.param(["t"], id="GraphQL", marks=pytest.mark.github)]


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("tokens", BOTH)
def test_a_list_that_moves_while_it_is_read_is_whole_after_the_next_run(github, settings, fetch, tokens, seed):
    settings.GITHUB_TOKENS = tokens
    fetched_while_it_moves(github, fetch, seed)


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(N_SEEDS))
@pytest.mark.parametrize("tokens", BOTH)
def test_a_list_that_moves_anyhow_is_whole_after_the_next_run(github, settings, fetch, tokens, seed):
    settings.GITHUB_TOKENS = tokens
    fetched_while_it_moves(github, fetch, seed)
