"""Fetching a repository from a local GitHub over real HTTP."""

from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.utils import timezone

from accounts.models import User
from config.env import PeopleSetting
from ingest import run_steps, runs
from ingest.actions.fetches import continue_run, start_fetch
from ingest.errors import FetchMustWait
from ingest.github.client import Client
from ingest.github.listings import read_thread
from ingest.github.run_state import RunState
from ingest.models import Comment, FetchRun, Issue, Repository, Snapshot, StagedComment
from tests.github import made_up
from tests.ingest.canned_server import canned
from tests.ingest.stored_rows import counts, repository_names, stored

pytestmark = pytest.mark.django_db


def go_on(run: FetchRun) -> FetchRun:
    """What the clock and a worker do when a waiting run is due."""
    FetchRun.objects.filter(pk=run.pk, state="waiting").update(waiting_until=timezone.now())
    runs.pick_up()
    run_steps.work(run.pk)
    run.refresh_from_db()
    return run


def test_issues_arrive_with_their_comments_and_pull_requests_do_not(world, fetch):
    repository = made_up(world, "o/r", 250)
    run = fetch()
    assert (run.state, run.error) == ("done", "")
    n_issues = sum(not issue.is_pull_request for issue in repository.issues.values())
    assert counts(run) == (n_issues, n_issues, 0, 0, 0)
    assert run.n_pull_requests == 250 - n_issues
    for row in repository.issues.values():
        if not row.is_pull_request:
            snapshot = Issue.objects.get(number=row.number).current_snapshot
            assert [comment.body for comment in snapshot.thread()] == [comment.body for comment in row.comments]
            assert (snapshot.title, snapshot.state, snapshot.state_reason) == (
                row.title,
                row.state,
                row.state_reason or "",
            )
    assert not StagedComment.objects.exists()


def test_requests_are_those_of_whole_listings(world, github, fetch):
    repository = made_up(world, "o/r", 350)
    n_comments = sum(len(issue.comments) for issue in repository.issues.values())
    run = fetch()
    assert run.n_requests == github.n_requests <= (350 + n_comments) / 100 + 5


def discussed(world: Any, n_issues: int, n_comments: int, **marked: int) -> Any:
    """A repository with issues of so many comments each, and in it some with a label, three comments each."""
    home = world.repository("o/r")
    for _ in range(n_issues):
        issue = home.issue()
        for n in range(n_comments):
            issue.comment(f"number {n}")
    home.pull_request(labels=["rare"]).comment("a comment of a pull request")
    for label, n in marked.items():
        for _ in range(n):
            issue = home.issue("Marked", labels=[label])
            for k in range(3):
                issue.comment(f"number {k}")
    return home


@pytest.mark.parametrize(
    ("label", "n_found", "n_requests", "n_comments"),
    [("none", 0, 2, 0), ("rare", 2, 1 + 1 + 1 + 2, 6), ("common", 13, 1 + 1 + 9 + 1, 39)],
)
def test_a_filtered_fetch_reads_what_takes_fewer_requests(world, github, fetch, label, n_found, n_requests, n_comments):
    """Eight hundred comments of others: nothing at all, two threads, or the nine pages of comments."""
    discussed(world, 8, 100, rare=2, common=13)
    run = fetch(labels=[label])
    assert (run.state, counts(run)) == ("done", (n_found, n_found, 0, 0, 0))
    assert github.n_requests == run.n_requests <= n_requests
    assert run.n_comments == Comment.objects.count() == n_comments
    assert all([c.body for c in s.thread()] == [f"number {n}" for n in range(3)] for s in Snapshot.objects.all())
    assert not StagedComment.objects.exists()


def test_threads_that_were_asked_for_before_a_limit_are_not_asked_for_again(world, github, fetch):
    discussed(world, 8, 100, rare=5)
    github.limit().remaining = 1 + 1 + 1 + 3
    run = fetch(labels=["rare"])
    assert (run.state, run.n_new, StagedComment.objects.count()) == ("waiting", 0, 9)
    github.limit().remaining = 100
    run = go_on(run)
    assert (run.state, run.n_new, run.n_comments) == ("done", 5, 15)
    assert len([asked for asked in github.asked if asked.path.count("/") == 6]) == 5


def test_comments_of_pull_requests_are_not_counted(world, fetch):
    home = discussed(world, 2, 3)
    run = fetch()
    assert run.n_comments == Comment.objects.count() == 6
    assert sum(len(issue.comments) for issue in home.issues.values()) == 7


@pytest.mark.parametrize("way", ["rest", pytest.param("graphql", marks=pytest.mark.github)])
def test_a_label_with_a_comma_is_one_label(world, github, settings, fetch, way):
    settings.GITHUB_TOKENS = ["t"] if way == "graphql" else []
    home = world.repository("o/r")
    for labels in (["with,comma"], ["With,Comma", "bug"], ["with", "comma", "bug"], ["bug"]):
        home.issue(labels=labels).comment("Same here")
    assert fetch(labels=["bug", "with,comma"]).state == "done"
    assert list(Issue.objects.values_list("number", flat=True)) == [2]
    fetch(labels=["with,comma"])
    assert sorted(Issue.objects.values_list("number", flat=True)) == [1, 2]


def test_fetching_again_changes_nothing(world, fetch):
    made_up(world, "o/r", 120)
    first = fetch()
    before = stored()
    second = fetch()
    assert counts(second) == (first.n_seen, 0, 0, first.n_seen, 0)
    assert stored() == before


def test_an_edit_makes_a_new_snapshot_and_leaves_the_old_one(world, fetch):
    issue = world.repository("o/r").issue("Old title")
    fetch()
    issue.edit(title="New title")
    run = fetch()
    assert counts(run) == (1, 0, 1, 0, 0)
    assert list(Snapshot.objects.order_by("pk").values_list("title", flat=True)) == ["Old title", "New title"]
    assert Issue.objects.get().current_snapshot.title == "New title"
    issue.edit(title="Old title")
    run = fetch()
    assert counts(run) == (1, 0, 1, 0, 0)
    assert Snapshot.objects.count() == 2
    assert Issue.objects.get().current_snapshot.title == "Old title"


def test_since_brings_new_and_edited_comments_and_keeps_the_thread(world, github, fetch):
    repository = world.repository("o/r")
    one, two = repository.issue("One"), repository.issue("Two")
    first = one.comment("first")
    two.comment("other")
    fetch()
    since = world.tick()
    one.comment("second")
    one.edit_comment(first, "first, edited")
    two.edit_comment(two.comments[0], "other, edited")
    run = fetch(since=since)
    assert run.n_changed == 2
    threads = {i.number: [c.body for c in i.current_snapshot.thread()] for i in Issue.objects.all()}
    assert threads == {1: ["first, edited", "second"], 2: ["other, edited"]}
    assert Comment.objects.count() == 5


def test_a_thread_that_does_not_add_up_is_asked_for_by_itself(world, github, fetch):
    issue = world.repository("o/r").issue("Old")
    for n in range(3):
        issue.comment(f"{n}")
    since = world.tick()
    issue.comment("new")
    fetch(since=since)
    assert [c.body for c in Issue.objects.get().current_snapshot.thread()] == ["0", "1", "2", "new"]
    assert sum(asked.path.endswith("/issues/1/comments") for asked in github.asked) == 1


def test_many_changes_in_one_second_do_not_loop_and_lose_nothing(world, fetch):
    repository = world.repository("o/r")
    repository.issue("before")
    world.step_seconds = 0
    for n in range(330):
        repository.issue(f"Moved in bulk {n}")
    world.step_seconds = 1
    repository.issue("after")
    run = fetch()
    assert (run.state, counts(run)) == ("done", (332, 332, 0, 0, 0))


def test_a_listing_that_moves_while_it_is_read_loses_nothing(world, github, fetch):
    repository = made_up(world, "o/r", 320)

    def disturb(asked: Any) -> None:
        pages = [other for other in github.asked if other.path.endswith("/issues")]
        if asked in pages and 1 < len(pages) < 5:
            for number in range(1, 4):
                repository.issues[number].edit(labels=[f"touched {len(pages)}"])

    github.before_answer = disturb
    run = fetch()
    assert run.state == "done"
    wanted = {number for number, issue in repository.issues.items() if not issue.is_pull_request}
    assert set(Issue.objects.values_list("number", flat=True)) == wanted


def test_strange_issues_arrive(world, fetch):
    repository = world.repository("o/r")
    repository.issue("No body, no author", None, user=None)
    repository.issue("Nul \x00 and 🎉", "a\x00b \ud83d 🎉")
    repository.issue("Long", "x" * 120_000)
    run = fetch()
    assert (run.state, counts(run)) == ("done", (3, 3, 0, 0, 0))
    found = {issue.number: issue.current_snapshot for issue in Issue.objects.all()}
    assert (found[1].body, found[1].author_login) == ("", "")
    assert found[2].title == "Nul � and 🎉"
    assert found[2].body == "a�b � 🎉"
    assert len(found[3].body) == 120_000


def test_state_and_labels_are_asked_for(world, fetch):
    repository = world.repository("o/r")
    repository.issue("a", labels=["bug", "nccl"]).close()
    repository.issue("b", labels=["bug", "nccl"])
    repository.issue("c", labels=["bug"]).close()
    fetch(state="closed", labels=["bug", "nccl"])
    assert list(Issue.objects.values_list("number", flat=True)) == [1]


def test_a_repository_that_moved_is_stored_under_its_present_name(world, fetch):
    repository = world.repository("old/name")
    repository.issue()
    fetch("old/name")
    repository.rename("new/name")
    run = fetch("old/name")
    assert run.state == "done"
    assert repository_names() == ["new/name"]
    assert [issue.identifier for issue in Issue.objects.all()] == ["new/name#1"]


def test_a_repository_renamed_while_it_is_read_is_read_to_the_end(world, github, fetch):
    repository = made_up(world, "old/name", 250)

    def rename(asked: Any) -> None:
        if asked.query.get("since") and asked.path.endswith("/issues") and repository.owner == "old":
            repository.rename("new/name")

    github.before_answer = rename
    run = fetch("old/name")
    assert run.state == "waiting"
    run = go_on(run)
    wanted = {number for number, issue in repository.issues.items() if not issue.is_pull_request}
    assert (run.state, run.n_new) == ("done", len(wanted))
    assert set(Issue.objects.values_list("number", flat=True)) == wanted
    assert repository_names() == ["new/name"]


def test_a_repository_that_is_not_there_fails_in_words_and_leaves_no_name(github, fetch):
    run = fetch("no/where")
    assert (run.state, run.error) == (
        "failed",
        "no/where is not at GitHub, or it is private and the token may not read it. Check the name.",
    )
    assert not Repository.objects.exists()


def test_switched_off_issues_fail_in_words(world, fetch):
    world.repository("o/r", has_issues=False)
    run = fetch()
    assert (run.state, run.error) == ("failed", "o/r has no issues at GitHub: they are switched off or gone.")


@pytest.mark.github
def test_a_wrong_token_fails_in_words_and_the_run_goes_on_with_a_right_one(world, github, settings, fetch):
    world.repository("o/r").issue()
    github.tokens = {"right"}
    settings.GITHUB_TOKENS = ["wrong"]
    run = fetch()
    assert run.state == "failed"
    assert "does not accept the token" in run.error
    settings.GITHUB_TOKENS = ["right"]
    run_steps.work(continue_run(run=run, send=False).pk)
    run.refresh_from_db()
    assert (run.state, run.error, run.n_new) == ("done", "", 1)


def test_the_rate_limit_makes_the_run_wait_until_it_is_renewed(world, github, fetch):
    made_up(world, "o/r", 250)
    limit = github.limit()
    limit.remaining, limit.reset_at = 4, int(timezone.now().timestamp()) + 1800
    run = fetch()
    assert run.state == "waiting"
    assert "hourly rate limit (primary rate limit) is used up" in run.error
    assert "set GITHUB_TOKENS" in run.error
    assert timedelta(seconds=1790) < run.waiting_until - timezone.now() < timedelta(seconds=1810)
    n_requests = github.n_requests
    runs.pick_up()
    run_steps.work(run.pk)
    assert github.n_requests == n_requests
    limit.reset_at = 0
    run = go_on(run)
    assert (run.state, run.error) == ("done", "")
    assert run.n_seen == Issue.objects.count() == run.n_new


@pytest.mark.parametrize("fault", ["secondary", "secondary_silent"])
def test_a_secondary_limit_makes_the_run_wait_a_minute(world, github, fetch, fault):
    world.repository("o/r").issue()
    github.fault(fault, "/issues")
    run = fetch()
    assert run.state == "waiting"
    assert timedelta(seconds=50) < run.waiting_until - timezone.now() < timedelta(seconds=70)
    assert "slow down (secondary rate limit" in run.error
    assert "GITHUB_TOKENS" not in run.error
    assert go_on(run).state == "done"


@pytest.mark.github
def test_tokens_are_used_in_turn(world, github, settings, fetch):
    made_up(world, "o/r", 250)
    github.tokens = {"a", "b"}
    settings.GITHUB_TOKENS = ["a", "b"]
    github.limit("a", "graphql").remaining = 4
    run = fetch()
    assert run.state == "done"
    assert [asked.token for asked in github.asked][:3] == ["a", "a", "b"]


@pytest.mark.parametrize("fault", ["close", "cut", "truncated", "html", "html_502", "status_500"])
@pytest.mark.parametrize("skip", [0, 2])
def test_a_fault_makes_the_run_wait_and_go_on_to_the_same_result(world, github, fetch, fault, skip):
    repository = made_up(world, "o/r", 250)
    github.fault(fault, "/issues", skip=skip)
    run = fetch()
    assert run.state == "waiting"
    assert "GitHub" in run.error
    run = go_on(run)
    n_issues = sum(not issue.is_pull_request for issue in repository.issues.values())
    assert (run.state, run.error, counts(run)) == ("done", "", (n_issues, n_issues, 0, 0, 0))
    assert Snapshot.objects.count() == n_issues


def test_a_fault_that_stays_ends_in_failed_and_can_be_continued(world, github, fetch):
    world.repository("o/r").issue()
    github.fault("html_502", "/issues", times=100)
    run = fetch()
    n_attempts = 1
    while run.state == "waiting":
        run = go_on(run)
        n_attempts += 1
    assert (run.state, n_attempts) == ("failed", 5)
    assert "status 502" in run.error
    github.faults.clear()
    run_steps.work(continue_run(run=run, send=False).pk)
    run.refresh_from_db()
    assert (run.state, run.n_new) == ("done", 1)


def test_what_may_not_be_read_fails_with_githubs_reason(world, github, fetch):
    world.repository("o/r").issue()
    github.fault("forbidden", "/issues")
    run = fetch()
    assert (run.state, run.error) == (
        "failed",
        "GitHub denies access to o/r: Resource protected by organization SAML.",
    )


def test_two_runs_of_one_repository_never_work_at_once(world, github):
    world.repository("o/r").issue()
    one = start_fetch(user=None, repository="o/r", send=False)
    two = start_fetch(user=None, repository="O/R", send=False)
    assert runs.claim(one.pk) is not None
    assert runs.claim(two.pk) is None
    assert runs.claim(one.pk) is None
    FetchRun.objects.filter(pk=one.pk).update(state="done")
    assert runs.claim(two.pk) is not None


@pytest.mark.django_db(transaction=True)
def test_a_worker_that_lost_its_run_stores_nothing_more(world, github, fetch):
    made_up(world, "o/r", 250)
    run = start_fetch(user=None, repository="o/r", send=False)

    def cancel(asked: Any) -> None:
        if asked.path.endswith("/issues") and asked.query.get("since"):
            FetchRun.objects.filter(pk=run.pk).update(state="cancelled")
            connection.close()

    github.before_answer = cancel
    run_steps.work(run.pk)
    run.refresh_from_db()
    assert run.state == "cancelled"
    n_before = Issue.objects.count()
    assert run.n_new == n_before < 100
    github.before_answer = None
    run_steps.work(continue_run(run=run, send=False).pk)
    run.refresh_from_db()
    assert (run.state, run.n_new) == ("done", Issue.objects.count())
    assert Issue.objects.count() > n_before


def test_the_clock_picks_up_what_is_stale_due_or_lost(world, github):
    long_ago = timezone.now() - timedelta(hours=1)
    made = {
        state: FetchRun.objects.create(
            kind="github", state=state, heartbeat_at=long_ago, waiting_until=long_ago if state == "waiting" else None
        ).pk
        for state in ("queued", "running", "waiting", "done", "failed", "cancelled")
    }
    later = FetchRun.objects.create(
        kind="github", state="waiting", waiting_until=timezone.now() + timedelta(hours=1), heartbeat_at=long_ago
    )
    assert sorted(runs.pick_up()) == sorted([made["queued"], made["running"], made["waiting"]])
    assert runs.pick_up() == []
    later.refresh_from_db()
    assert later.state == "waiting"


@pytest.mark.github
def test_a_private_repository_is_seen_by_who_fetched_it_and_by_staff(world, github, settings, fetch):
    ann, bob = User.objects.create_user("ann"), User.objects.create_user("bob")
    staff = User.objects.create_user("staff", is_staff=True)
    world.repository("o/r", private=True).issue()
    github.tokens = {"t"}
    settings.GITHUB_TOKENS = ["t"]
    settings.FETCHERS = PeopleSetting(names=frozenset({"ann"}))
    assert fetch(user=ann).state == "done"
    for user, n in ((ann, 1), (bob, 0), (staff, 1)):
        assert Issue.objects.visible_to(user).count() == n
        assert Repository.objects.visible_to(user).count() == n


def test_the_client_never_sends_a_token_to_another_host(world, github):
    world.repository("o/r").issue()
    client = Client(github.url, ["t"])
    answer = client.rows("https://elsewhere.example/repos/o/r/issues?state=all")
    assert len(answer.value) == 1
    assert github.asked[-1].path == "/repos/o/r/issues"


def test_a_repository_blocked_for_legal_reasons_fails_in_words(world, fetch):
    world.repository("o/r", blocked=True).issue()
    run = fetch()
    assert (run.state, run.error) == ("failed", "o/r is blocked at GitHub for legal reasons.")


def test_a_repository_that_became_private_while_it_was_read_fails_and_keeps_what_came(world, github, fetch):
    home = made_up(world, "o/r", 250)
    github.tokens = {"another"}

    def close_off(asked: Any) -> None:
        home.private = home.private or bool(asked.path.endswith("/issues") and asked.query.get("since"))

    github.before_answer = close_off
    run = fetch()
    assert run.state == "failed"
    assert "o/r is not at GitHub, or it is private" in run.error
    assert run.n_new == Issue.objects.count() > 0
    assert Repository.objects.get().complete_until is None
    home.private, github.before_answer = False, None
    run_steps.work(continue_run(run=run, send=False).pk)
    run.refresh_from_db()
    assert (run.state, run.n_new) == ("done", Issue.objects.count())


def test_links_that_lead_in_a_circle_are_noticed(settings, fetch):
    when = "2024-01-01T00:00:00Z"
    with canned() as server:
        settings.GITHUB_API_URL, settings.GITHUB_TOKENS = server.url, []
        about = {"id": 1, "full_name": "o/r", "private": False, "html_url": "https://github.com/o/r"}
        rows = [
            {"id": n, "updated_at": when, "issue_url": f"{server.url}/repos/o/r/issues/{n}", "body": ""} for n in (1, 2)
        ]
        onward = f'<{server.url}/repositories/1/issues/comments?page=%d>; rel="next"'
        server.say(200, about).say(200, rows).say(200, rows, Link=onward % 2).say(200, rows, Link=onward % 3)
        server.answers[1] = (200, rows, {"Link": onward % 2})
        server.say(200, rows, Link=onward % 2)
        run = fetch()
    assert (run.state, run.error) == ("waiting", "GitHub's pages lead in a circle.")
    assert len(server.asked) < 8


def test_a_thread_whose_links_lead_in_a_circle_is_noticed(settings, github):
    with canned() as server:
        client = Client(server.url)
        server.say(200, [], Link=f'<{server.url}/again>; rel="next"')
        repository = Repository.objects.create(owner="o", name="r")
        run = FetchRun.objects.create(kind="github", repository=repository)
        with pytest.raises(FetchMustWait, match="circle"):
            read_thread(RunState(run, client), 1)
    assert len(server.asked) == 2
