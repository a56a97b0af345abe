"""Coming back for what changed: nothing missed, nothing twice, and nearly nothing spent where nothing happened."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.utils import timezone

from ingest import run_steps, runs
from ingest.actions.fetches import cancel_run, continue_run, start_fetch
from ingest.github.fetch import CLOCK_SECONDS
from ingest.models import FetchRun, Issue, Repository, Snapshot, Validator
from tests.github import made_up
from tests.ingest.stored_rows import counts

pytestmark = [pytest.mark.django_db, pytest.mark.github]


@pytest.fixture
def again(world: Any, fetch: Any) -> Any:
    """Fetches what changed, as at GitHub's present time."""

    def again(**asked: Any) -> FetchRun:
        return fetch(since="last", **asked)

    return again


def now(world: Any) -> None:
    """The world's clock is that of the server from now on: what follows changed after the fetch before."""
    world.now = datetime.now(UTC).replace(microsecond=0)


def current(number: int = 1) -> Snapshot:
    return Issue.objects.get(number=number).current_snapshot


def thread(number: int = 1) -> list[str]:
    return [comment.body for comment in current(number).thread()]


def test_a_complete_fetch_says_until_when_all_is_known(world, fetch, way):
    made_up(world, "o/r", 30)
    began = timezone.now()
    fetch()
    until = Repository.objects.get().complete_until
    assert timedelta(0) <= began - until <= timedelta(seconds=CLOCK_SECONDS + 2)


@pytest.mark.parametrize("asked", [{"state": "open"}, {"labels": ["bug"]}, {"since": "2023-01-01"}])
def test_a_narrow_fetch_or_one_with_a_gap_before_it_completes_nothing(world, fetch, way, asked):
    made_up(world, "o/r", 30)
    fetch(**asked)
    assert Repository.objects.get().complete_until is None
    fetch()
    until = Repository.objects.get().complete_until
    fetch(**(asked | ({"since": "2100-01-01"} if "since" in asked else {})))
    assert Repository.objects.get().complete_until == until


def test_what_changed_without_a_fetch_before_is_all(world, again, way):
    made_up(world, "o/r", 30)
    run = again()
    assert (run.state, run.requested["since"], run.n_new) == ("done", None, Issue.objects.count())
    assert Repository.objects.get().complete_until


def test_the_run_shows_since_when_it_asked(world, fetch, again, way):
    world.repository("o/r").issue()
    fetch()
    until = Repository.objects.get().complete_until
    run = again()
    assert run.requested["since"] == until.strftime("%Y-%m-%dT%H:%M:%SZ")
    assert Repository.objects.get().complete_until >= until


def test_where_nothing_changed_every_answer_is_free(world, github, fetch, again, way):
    made_up(world, "o/r", 250)
    fetch()
    again()
    left = github.limit("t" if way == "token" else None).remaining
    before = github.n_requests
    run = again()
    assert (run.state, run.n_seen, run.n_requests, run.n_unchanged_answers) == ("done", 0, 3, 3)
    assert github.n_requests - before == 3
    assert github.limit("t" if way == "token" else None).remaining == left - (0 if way == "token" else 3)
    assert {asked.status for asked in github.asked[-3:]} == {304}


def test_without_a_token_the_second_run_is_free_at_once(world, github, fetch, again):
    made_up(world, "o/r", 250)
    fetch()
    assert (again().n_unchanged_answers, Validator.objects.count()) == (3, 3)
    assert again().n_unchanged_answers == 3


def change_title(home: Any) -> None:
    home.issues[1].edit(title="Edited")


def change_body(home: Any) -> None:
    home.issues[1].edit(body="Edited")


def comment(home: Any) -> None:
    home.issues[1].comment("new")


def edit_comment(home: Any) -> None:
    home.issues[1].edit_comment(home.issues[1].comments[0], "edited")


def delete_comment(home: Any) -> None:
    home.issues[1].delete_comment(home.issues[1].comments[0])


def close(home: Any) -> None:
    home.issues[1].close()


def label(home: Any) -> None:
    home.issues[1].edit(labels=["nccl"])


CHANGES = {
    change_title: lambda: current().title == "Edited",
    change_body: lambda: current().body == "Edited",
    comment: lambda: thread() == ["first", "second", "new"],
    edit_comment: lambda: thread() == ["edited", "second"],
    delete_comment: lambda: thread() == ["second"],
    close: lambda: (current().state, current().state_reason) == ("closed", "completed"),
    label: lambda: current().github_labels == ["nccl"],
}


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.__name__)
@pytest.mark.parametrize("n_before", [0, 2])
def test_each_change_leaves_the_old_snapshot_and_makes_a_new_one(world, fetch, again, way, change, n_before):
    home = world.repository("o/r")
    issue = home.issue("One")
    issue.comment("first")
    issue.comment("second")
    home.issue("Two").comment("other")
    fetch()
    old = current()
    for _ in range(n_before):
        assert again().n_changed == 0
    now(world)
    change(home)
    run = again()
    assert (run.state, run.n_new, run.n_changed) == ("done", 0, 1)
    assert CHANGES[change]()
    assert [old.pk, current().pk] == list(
        Snapshot.objects.filter(issue__number=1).order_by("pk").values_list("pk", flat=True)
    )
    assert Snapshot.objects.filter(issue__number=2).count() == 1
    assert again().n_changed == 0


def test_closed_and_reopened_is_two_states_and_back(world, fetch, again, way):
    issue = world.repository("o/r").issue("One")
    fetch()
    now(world)
    issue.close()
    again()
    issue.reopen()
    again()
    assert [(s.state, s.state_reason) for s in Snapshot.objects.order_by("pk")] == [
        ("open", ""),
        ("closed", "completed"),
        ("open", "reopened"),
    ]


def test_locked_and_unlocked_is_noted_without_a_snapshot(world, fetch, again, way):
    issue = world.repository("o/r").issue("One")
    fetch()
    assert Issue.objects.get().locked is False
    now(world)
    issue.lock()
    again()
    assert Issue.objects.get().locked is True
    issue.unlock()
    again()
    assert Issue.objects.get().locked is False
    assert Snapshot.objects.count() == 1


def test_a_page_full_to_the_last_row_vouches_for_nothing(world, fetch, again):
    home = world.repository("o/r")
    for n in range(100):
        home.issue(f"Issue {n}")
    fetch()
    assert not Validator.objects.filter(question__startswith="/repos/o/r/issues?").exists()
    now(world)
    home.issue("The hundred and first")
    assert again().n_new == 1


def test_a_run_that_refused_a_row_or_was_cancelled_vouches_for_nothing(world, github, fetch, again):
    home = made_up(world, "o/r", 250)
    home.issues[3].title = " "
    assert fetch().n_refused == 1
    assert not Validator.objects.filter(question__contains="?").exists()
    Repository.objects.update(complete_until=None)
    run = start_fetch(user=None, repository="o/r", send=False)
    github.fault("cut", "/issues", skip=3)
    run_steps.work(run.pk)
    cancel_run(run=FetchRun.objects.get(pk=run.pk))
    assert Repository.objects.get().complete_until is None
    assert not Validator.objects.filter(question__contains="?").exists()
    run_steps.work(continue_run(run=FetchRun.objects.get(pk=run.pk), send=False).pk)
    run.refresh_from_db()
    assert (run.state, bool(Repository.objects.get().complete_until)) == ("done", True)


def test_comments_staged_by_a_run_that_never_ended_come_with_the_next(world, github, fetch, again):
    issue = world.repository("o/r").issue("One")
    first = issue.comment("first")
    fetch()
    now(world)
    issue.edit_comment(first, "edited")
    github.fault("close", "/issues", skip=1)
    run = again()
    assert run.state == "waiting"
    cancel_run(run=run)
    assert again().n_changed == 1
    assert thread() == ["edited"]


def test_a_change_twice_within_a_second_between_two_pages_is_not_lost(world, github, fetch, again):
    home = world.repository("o/r")
    for n in range(150):
        home.issue(f"Issue {n}")
    world.step_seconds = 0

    def edit(asked: Any) -> None:
        if asked.query.get("since") and asked.path.endswith("/issues") and home.issues[100].title != "Edited":
            home.issues[100].title = "Edited"

    github.before_answer = edit
    fetch()
    again()
    assert current(100).title == "Edited"


def test_a_renamed_repository_goes_on_from_where_it_was(world, github, fetch, again, way):
    home = made_up(world, "o/r", 120)
    fetch()
    again()
    home.rename("new/name")
    now(world)
    home.issue("After the move")
    run = again()
    assert (run.state, run.n_new, run.requested["since"] is None) == ("done", 1, False)
    assert [row.full_name for row in Repository.objects.all()] == ["new/name"]


def test_what_was_transferred_here_comes_with_its_old_comments(world, fetch, again, way):
    home, other = world.repository("o/r"), world.repository("o/other")
    home.issue("One")
    moving = other.issue("Moving")
    moving.comment("long ago")
    fetch()
    now(world)
    moved = moving.transfer(home)
    assert again().n_new == 1
    assert thread(moved.number) == ["long ago"]


def test_with_a_token_what_closed_an_issue_meanwhile_comes_along(world, github, settings, fetch, again):
    github.tokens = {"t"}
    settings.GITHUB_TOKENS = ["t"]
    home = world.repository("o/r")
    issue = home.issue("One")
    fetch()
    now(world)
    issue.close_by(home.pull_request())
    assert again().n_closing_changes == 1


def test_a_run_killed_between_its_parts_ends_as_an_undisturbed_one(world, github, fetch, way):
    home = made_up(world, "o/r", 250)
    fetch()
    now(world)
    home.issues[1].edit(title="Edited")
    home.issues[2].comment("new")
    run = start_fetch(user=None, repository="o/r", since="last", send=False)
    for skip in range(6):
        github.faults.clear()
        github.fault("cut", "", skip=skip)
        FetchRun.objects.filter(pk=run.pk, state="waiting").update(waiting_until=timezone.now())
        runs.pick_up()
        run_steps.work(run.pk)
        run.refresh_from_db()
    assert (run.state, run.n_changed, counts(run)[1]) == ("done", 2, 0)
