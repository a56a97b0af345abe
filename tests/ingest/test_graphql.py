"""Fetching with a token: few requests, the same content as by REST, and nothing lost whatever GitHub does."""

from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.utils import timezone

from ingest import run_steps
from ingest.actions.fetches import continue_run, start_fetch
from ingest.github import graphql_queries, pushed_commits
from ingest.github.graphql import LOST_MAX, ROOM, WEIGHTS
from ingest.models import Activity, ClosingChange, Comment, FetchRun, Issue, Refusal, Snapshot
from tests.github import File, GitHub, Mannequin, World, graphql, made_up
from tests.github.resolvers import issues_of
from tests.github.world import Issue as Told
from tests.github.world import Repository as Home

pytestmark = [pytest.mark.django_db, pytest.mark.github]

IN_ORDER = {"field": "UPDATED_AT", "direction": "ASC"}


@pytest.fixture(autouse=True)
def token(github: GitHub, settings: Any) -> None:
    github.tokens = {"t"}
    settings.GITHUB_TOKENS = ["t"]


def go_on(run: FetchRun) -> FetchRun:
    FetchRun.objects.filter(pk=run.pk, state="waiting").update(waiting_until=timezone.now())
    run_steps.work(run.pk)
    run.refresh_from_db()
    return run


def contents() -> dict[int, tuple[str, list[str]]]:
    """What is stored of each issue: its hash and what closed it."""
    found = Issue.objects.select_related("current_snapshot").prefetch_related("closing_changes")
    return {
        issue.number: (
            issue.current_snapshot.sha256,
            sorted(f"{c.identifier} {c.merged_at} {c.n_lines} {c.paths}" for c in issue.closing_changes.all()),
        )
        for issue in found
    }


def told(home: Home) -> set[int]:
    return {number for number, issue in home.issues.items() if not issue.is_pull_request}


def questions_asked(github: GitHub, name: str = "Issues") -> list[dict[str, Any]]:
    return [asked.variables for asked in github.asked if asked.question.startswith(f"query {name}(")]


def odd(world: World) -> Home:
    """A repository with all that is unusual about people, texts and threads."""
    home = world.repository("o/r")
    home.issue("Ghost", user=None).comment("Gone, too", user=None)
    home.issue("An app", user="dependabot[bot]").comment("Bump", user="github-actions[bot]")
    home.issue("Brought over", user=Mannequin("old-name"))
    home.issue("Emoji 🧵", "Grüße 👩‍👩‍👧‍👦\r\n\r\n\u2028 end")
    home.issue("NUL \x00 in it", "a\x00b").comment("c\x00d")
    home.issue("No body", None).comment("")
    home.issue("Long", "x" * 120_000)
    thread = home.issue("A long thread")
    for n in range(250):
        thread.comment(f"number {n}", user=["carol", None, "erin"][n % 3])
    home.issue("Labels", labels=["bug", "good first issue", "Ünï", "a,b"])
    for reason in ("completed", "not_planned", "duplicate"):
        home.issue(f"Closed as {reason}").close(reason)
    reopened = home.issue("Reopened")
    reopened.close()
    reopened.reopen()
    home.issue("Locked").lock()
    return home


def test_each_query_is_one_that_github_understands_and_is_cheap():
    page = graphql.read(graphql_queries.PAGE)
    assert page.errors == ()
    assert page.document is not None
    asked = {"first": graphql_queries.PAGE_ISSUES, "owner": "o", "name": "r", "filter": {}, "changes": True}
    price = graphql.price(page.document, asked)
    assert price.n_nodes < 50_000 < graphql.NODES_MAX
    assert price.n_points <= 4, "68,000 issues are 1,237 pages, and an hour has 5,000 points"
    for name in graphql_queries.MORE:
        for n in (1, 10, ROOM // WEIGHTS[name]):
            text, variables = graphql_queries.more([(name, "I_1", "c")] * n, 100, ("o", "r"))
            query = graphql.read(text)
            assert query.errors == ()
            assert query.document is not None
            assert graphql.price(query.document, variables).n_points <= 2
    for text in (graphql_queries.ONLY_NUMBERS, graphql_queries.ANYTHING):
        assert graphql.read(text).errors == ()
    counted = {"first": graphql_queries.COUNTED_AT_ONCE, "owner": "o", "name": "r", "filter": {}}
    for text in (graphql_queries.COUNTED, graphql_queries.counted(range(1, graphql_queries.COUNTED_AT_ONCE + 1))):
        query = graphql.read(text)
        assert query.errors == () and query.document is not None
        assert graphql.price(query.document, counted).n_points <= 4


def test_each_query_about_a_repository_asks_whether_it_is_private():
    texts = [graphql_queries.PAGE, graphql_queries.ONLY_NUMBERS, graphql_queries.COUNTED]
    texts += [graphql_queries.given([1, 2]), graphql_queries.counted([1, 2])]
    texts += [graphql_queries.more([("files", "PR_1", None)], 100, ("o", "r"))[0]]
    texts += [
        graphql_queries.objects([("o/r", "0" * 40)], each, ("o", "r"))[0] for each in ("Changed", "Folder", "Text")
    ]
    for text in texts:
        query = graphql.read(text)
        assert query.errors == () and query.document is not None, text
        (asked,) = [each for each in query.document.definitions if hasattr(each, "operation")]
        first = asked.selection_set.selections[0]
        assert first.name.value == "repository" and first.alias is None, text
        assert "isPrivate" in [getattr(each, "name", each).value for each in first.selection_set.selections], text


@pytest.mark.parametrize("n_files", [2, pytest.param(150, marks=pytest.mark.soak)])
def test_a_thousand_issues_take_at_most_25_requests(world, github, fetch, n_files):
    home = made_up(world, "o/r", 1167, n_comments=3)
    if n_files > 2:  # then nearly every issue is closed by a pull request of its own
        for issue in [each for each in home.issues.values() if not each.is_pull_request and not each.events]:
            issue.close_by(home.pull_request(files=[File(f"src/{issue.number}/{n:03}.py") for n in range(n_files)]))
    run = fetch()
    assert (run.state, run.error) == ("done", "")
    assert (run.n_new, run.n_comments, Comment.objects.count()) == (1001, 3003, 3003)
    assert ClosingChange.objects.filter(kind="commit").count() > 50
    assert run.n_requests == github.n_requests <= 25
    assert sum(asked.n_points for asked in github.asked) <= 100
    closed = [issue for issue in home.issues.values() if any(event.closer for event in issue.events)]
    n_changes = sum(not issue.is_pull_request for issue in closed)
    assert ClosingChange.objects.count() == run.n_closing_changes == n_changes > 100
    pulls = ClosingChange.objects.filter(kind="pull_request")
    assert all(len(change.paths) == len(change.path_additions) == change.n_files for change in pulls)
    assert max(change.n_files for change in pulls) == n_files
    assert not ClosingChange.objects.filter(path_additions=[]).exists()
    assert run.n_requests_left == github.limit("t", "graphql").remaining  # the commits were asked last
    assert (run.n_expected, run.n_seen) == (1001, 1001)


@pytest.mark.parametrize("first", ["rest", "graphql"])
def test_rest_and_graphql_bring_the_same_content(world, github, settings, fetch, first):
    home = odd(world)
    for n, way in enumerate(["rest", "graphql"] if first == "rest" else ["graphql", "rest"]):
        settings.GITHUB_TOKENS = ["t"] if way == "graphql" else []
        run = fetch()
        assert (run.state, run.error, run.n_refused) == ("done", "", 0)
        assert (run.n_new, run.n_changed, run.n_unchanged) == ((len(told(home)), 0, 0), (0, 0, len(told(home))))[n]
        assert bool(questions_asked(github)) == (way == "graphql" or first == "graphql")
    assert Snapshot.objects.count() == len(told(home))


def test_what_stands_in_an_issue_arrives(world, fetch):
    home = odd(world)
    fetch()
    by_title = {s.title: s for s in Snapshot.objects.all()}
    assert (by_title["Ghost"].author_login, by_title["Ghost"].author_id) == ("", None)
    assert by_title["An app"].author_login == "dependabot[bot]"
    assert by_title["An app"].author_id
    assert by_title["No body"].body == ""
    assert len(by_title["Long"].body) == 120_000
    assert sorted(by_title["Labels"].github_labels) == ["a,b", "bug", "good first issue", "Ünï"]
    assert by_title["Closed as duplicate"].state_reason == "duplicate"
    assert by_title["Reopened"].state_reason == "reopened"
    thread = [c.body for c in by_title["A long thread"].thread()]
    assert thread == [f"number {n}" for n in range(250)]
    ids = {comment.id for issue in home.issues.values() for comment in issue.comments}
    assert set(Comment.objects.values_list("github_id", flat=True)) == ids
    assert Issue.objects.get(current_snapshot__title="Locked").locked is True


def test_what_closed_an_issue_is_kept_once_with_its_size_and_paths(world, fetch):
    home, other = world.repository("o/r"), world.repository("o/fork")
    files = [File("src/a.py", 10, 2), File("docs/b.md", 1, 0)]
    pull = home.pull_request("Fix both", files=files)
    one, two = home.issue("one"), home.issue("two")
    one.close_by(pull)
    two.close_by(pull)
    elsewhere = home.issue("elsewhere")
    elsewhere.close_by(other.pull_request("From a fork", files=[File("c.py", 3, 3)]))
    twice = home.issue("twice")
    twice.close_by(commit := home.commit("Fix #5\n\nat last", files=[File("d.py", 7, 1)]))
    twice.reopen()
    twice.close_by(last := home.pull_request("Really fix it"))
    by_hand = home.issue("by hand")
    by_hand.close()
    linked = home.issue("linked")
    linked.event("cross-referenced", source=home.pull_request("Tried"))
    assert fetch().state == "done"

    def found(issue: Told) -> list[Any]:
        rows = ClosingChange.objects.filter(issue__number=issue.number).order_by("pk")
        return [(c.kind, c.identifier, c.title, c.additions, c.deletions, c.n_files, c.paths) for c in rows]

    both = [("pull_request", "o/r#1", "Fix both", 11, 2, 2, ["docs/b.md", "src/a.py"])]
    assert found(one) == found(two) == both
    assert found(elsewhere) == [("pull_request", "o/fork#1", "From a fork", 3, 3, 1, ["c.py"])]
    assert sorted(found(twice)) == [
        ("commit", f"o/r@{commit.sha}", "Fix #5", 7, 1, 1, ["d.py"]),
        ("pull_request", f"o/r#{last.number}", "Really fix it", 3, 1, 1, ["src/trainer.py"]),
    ]
    assert found(by_hand) == found(linked) == []
    assert all(Issue.objects.values_list("changes_known", flat=True))
    times = {change.merged_at for change in ClosingChange.objects.filter(identifier="o/r#1")}
    assert times == {pull.merged_at}


def test_an_issue_converted_to_a_discussion_says_where_it_is(world, fetch):
    home = world.repository("o/r")
    home.issue("stays")
    discussion = home.issue("goes").convert_to_discussion()
    fetch()
    assert list(Issue.objects.order_by("number").values_list("presence", "moved_to")) == [
        ("here", ""),
        ("discussion", f"https://github.com/o/r/discussions/{discussion.number}"),
    ]


def test_what_does_not_fit_into_a_page_is_read_apart_for_several_issues_at_once(world, github, fetch):
    home = world.repository("o/r")
    for n in range(12):
        issue = home.issue(f"issue {n}")
        for k in range(150 if n < 10 else 320):
            issue.comment(f"{n} {k}")
    many = home.issue("many labels", labels=[f"label {n:03}" for n in range(130)])
    many.close_by(home.pull_request("Big", files=[File(f"src/{n:03}.py") for n in range(230)]))
    for n in range(5):
        many.event("cross-referenced", source=(pull := home.pull_request(f"Part {n}")))
        pull.merge()
    many.edit()
    run = fetch()
    assert (run.state, run.n_refused, run.n_comments) == ("done", 0, 10 * 150 + 2 * 320)
    assert [len(s.thread()) for s in Snapshot.objects.order_by("issue__number")[:12]] == [150] * 10 + [320] * 2
    assert len(Snapshot.objects.get(title="many labels").github_labels) == 130
    changes = ClosingChange.objects.filter(issue__number=many.number)
    assert changes.count() == 6
    assert len(changes.get(title="Big").paths) == 230
    assert len(questions_asked(github, "More")) <= 5


@pytest.mark.slow
def test_the_files_of_pull_requests_that_closed_but_are_not_linked_are_asked_for_two_hundred_at_once(
    world, github, fetch
):
    home = world.repository("o/r")
    for n in range(240):
        files = [File(f"src/{n}.py"), *(File(f"many/{k:03}.py") for k in range(150 if n == 0 else 0))]
        home.issue().close(by=home.pull_request(files=files))
    run = fetch()
    assert (run.state, run.n_closing_changes) == ("done", 240)
    found = {change.number: change.paths for change in ClosingChange.objects.all()}
    told_paths = {n: sorted(f.path for f in pull.files) for n, pull in home.issues.items() if pull.is_pull_request}
    assert found == told_paths
    assert len(questions_asked(github, "More")) == 2 + 1  # the last is for the one with more than a hundred files
    github.asked.clear()
    home.issues[1].edit(title="Edited")
    fetch()
    assert questions_asked(github, "More") == []


def test_commits_that_pull_requests_were_merged_as_are_asked_for_a_hundred_at_once(world, github, fetch):
    home = world.repository("o/r")
    told_files: dict[str, list[File]] = {}
    for n in range(120):
        pull = home.pull_request(
            files=[File(f"src/{n}.py", n, 1), *(File(f"many/{k:03}.py") for k in range(150 if n == 0 else 1))]
        )
        pull.merge()
        told_files[pull.merge_commit.sha] = pull.files
        home.issue().close(by=pull.merge_commit)
    rebased = home.pull_request(files=[File("a.py", 2, 2), File("b.py", 3, 3)])
    rebased.merge()
    rebased.merge_commit.files = [File("b.py", 3, 3)]
    for commit in (rebased.merge_commit, home.commit(files=[File("pushed.py", 1, 1)])):
        told_files[commit.sha] = commit.files
        home.issue().close(by=commit)
    run = fetch()
    assert (run.state, run.error, run.n_closing_changes) == ("done", "", 122)
    found = {
        change.identifier: sorted(zip(change.paths, change.path_additions, change.path_deletions, strict=True))
        for change in ClosingChange.objects.filter(kind="commit")
    }
    assert found == {
        f"o/r@{sha}": sorted((file.path, file.additions, file.deletions) for file in files)
        for sha, files in told_files.items()
    }
    assert len(questions_asked(github, "Objects")) == 2
    assert not [asked for asked in github.asked if "/commits/" in asked.path]


PUSHED = [
    [File("src/a.py", 3, 2)],
    [File("a.py", 1, 0), File("deep/er/and/deeper/b.py", 4, 4), File("deep/er/c.py", 0, 2)],
    [File("new/n.py", 7, 0, "added"), File("old/o.py", 0, 5, "removed"), File("src/README.md", 1, 1, "added")],
    [File("run.sh", 0, 0), File("b.py", 2, 1)],
    [File("picture.png", 0, 0, is_binary=True), File("b.py", 2, 1)],
    [File("one/moved.py", 0, 0, "added"), File("two/moved.py", 1, 1)],
    [File(f"many/{n}.py", 1, 1) for n in range(40)],
    [File("long.py", 900, 0), File("b.py", 1, 0)],
]


@pytest.mark.parametrize("fault", ["", "timeout"])
def test_files_of_pushed_commits_come_many_at_once_and_of_the_others_one_by_one(
    world, github, fetch, fault, monkeypatch
):
    monkeypatch.setattr(pushed_commits, "FEW", 1)
    home = world.repository("o/r")
    commits = [home.commit(f"Fix {n}", files=files) for n, files in enumerate([*PUSHED, *PUSHED[:3]])]
    for commit in commits:
        home.issue().close(by=commit)
    if fault:
        github.fault("timeout", "/graphql", skip=2)
    assert fetch().state == "done"
    found = {change.identifier: change for change in ClosingChange.objects.all()}
    for commit in commits:
        change = found[f"o/r@{commit.sha}"]
        told = sorted(zip(change.paths, change.path_additions, change.path_deletions, strict=True))
        assert told == sorted((file.path, file.additions, file.deletions) for file in commit.files)
    by_rest = {asked.path.rpartition("/")[2] for asked in github.asked if "/commits/" in asked.path}
    expected = {commits[n].sha for n in (6, 7)}
    assert by_rest >= expected if fault else by_rest == expected
    assert len(questions_asked(github, "Objects")) <= (12 if fault else 7)
    github.asked.clear()
    home.issues[1].edit(title="Edited")
    fetch()
    assert not questions_asked(github, "Objects"), "what is known is not asked again"


def test_a_github_without_types_of_issues_is_asked_once_more(world, github, fetch):
    world.repository("o/r").issue(issue_type="Bug")
    github.has_issue_types = False
    run = fetch()
    assert (run.state, run.n_new, run.n_requests) == ("done", 1, 3)
    assert "type" not in Activity.objects.get().told
    github.has_issue_types = True
    world.repositories[0].issues[1].edit()
    fetch()
    assert Activity.objects.get().told["type"] == "Bug"


def test_all_labels_asked_for_are_meant_in_any_case(world, fetch):
    home = world.repository("o/r")
    for labels in (["bug"], ["Bug", "linux"], ["linux"], ["bug", "linux", "x"]):
        home.issue(labels=labels)
    assert fetch(labels=["bug", "Linux"]).state == "done"
    assert sorted(Issue.objects.values_list("number", flat=True))[-1:] == [4]
    assert 1 not in Issue.objects.values_list("number", flat=True)


@pytest.mark.parametrize(("state", "numbers"), [("open", [1, 3]), ("closed", [2]), ("all", [1, 2, 3])])
def test_a_state_asked_for_is_meant(world, fetch, state, numbers):
    home = world.repository("o/r")
    _, closed, _ = home.issue(), home.issue(), home.issue()
    closed.close()
    fetch(state=state)
    assert sorted(Issue.objects.values_list("number", flat=True)) == numbers


def test_a_list_that_moves_while_it_is_read_loses_nothing(world, github, fetch):
    home = made_up(world, "o/r", 400)
    numbers = sorted(told(home))

    def move(asked: Any) -> None:
        n = len(questions_asked(github))
        if asked.is_graphql and n < 6:
            home.issues[numbers[n * 3]].edit(title=f"Edited before page {n}")  # one that was read already, or will be
            home.issues[numbers[-n - 1]].comment("So late")
            home.issue(f"New before page {n}")
            home.issues[numbers[n * 40 + 20]].delete()

    github.before_answer = move
    run = fetch()
    github.before_answer = None
    assert (run.state, run.n_refused) == ("done", 0)
    assert told(home) <= set(Issue.objects.values_list("number", flat=True))
    stored = dict(Issue.objects.values_list("number", "current_snapshot__title"))
    assert {n: stored[n] for n in told(home)} == {n: home.issues[n].title for n in told(home)}
    n_comments = {n: len(home.issues[n].comments) for n in told(home)}
    assert n_comments == {
        n: c for n, c in Issue.objects.values_list("number", "current_snapshot__n_comments") if n in n_comments
    }


def test_more_issues_than_a_page_that_changed_in_one_second_are_all_read(world, github, fetch):
    world.step_seconds = 0
    home = made_up(world, "o/r", 400)
    run = fetch()
    assert (run.state, run.n_new, run.n_seen) == ("done", len(told(home)), len(told(home)))
    assert any(asked["after"] for asked in questions_asked(github))


@pytest.mark.django_db(transaction=True)
def test_a_run_that_lost_its_worker_goes_on_where_it_was(world, github, fetch):
    home = made_up(world, "o/r", 400)
    expected = told(home)
    run = start_fetch(user=None, repository="o/r", send=False)

    def cancel(asked: Any) -> None:
        if len(questions_asked(github)) == 4:
            FetchRun.objects.filter(pk=run.pk).update(state="cancelled")
            connection.close()

    github.before_answer = cancel
    run_steps.work(run.pk)
    github.before_answer = None
    run.refresh_from_db()
    assert (run.state, run.n_new) == ("cancelled", 165)
    n_before = len(questions_asked(github))
    run_steps.work(continue_run(run=run, send=False).pk)
    run.refresh_from_db()
    assert (run.state, run.n_new, run.n_changed) == ("done", len(expected), 0)
    assert questions_asked(github)[n_before]["filter"]["since"]
    assert set(Issue.objects.values_list("number", flat=True)) == expected


@pytest.mark.parametrize("fault", ["close", "cut", "truncated", "html", "status_500"])
@pytest.mark.parametrize("skip", [0, 3])
def test_a_fault_makes_the_run_wait_and_go_on_to_the_same_result(world, github, fetch, fault, skip):
    home = made_up(world, "o/r", 250)
    github.fault(fault, "/graphql", skip=skip)
    run = fetch()
    assert run.state == "waiting"
    assert "GitHub" in run.error
    run = go_on(run)
    assert (run.state, run.error, run.n_new, run.n_seen) == ("done", "", len(told(home)), len(told(home)))


@pytest.mark.parametrize("fault", ["html_502", "timeout", "resources", "partial"])
def test_a_page_that_takes_too_long_is_asked_for_in_smaller_parts_until_it_goes_well_again(world, github, fetch, fault):
    home = made_up(world, "o/r", 500)
    github.fault(fault, "/graphql", skip=1, times=3)
    run = fetch()
    assert (run.state, run.n_new, run.n_refused) == ("done", len(told(home)), 0)
    sizes = [asked["first"] for asked in questions_asked(github)]
    whole = graphql_queries.PAGE_ISSUES
    assert sizes[:5] == [whole, whole, whole // 2, whole // 4, whole // 8]
    assert sizes[-1] == whole


def test_the_size_of_a_page_outlives_the_attempt(world, github, fetch):
    made_up(world, "o/r", 250)
    github.fault("timeout", "/graphql", times=2)
    github.fault("close", "/graphql")
    run = fetch()
    assert run.state == "waiting"
    n_before = len(questions_asked(github))
    assert go_on(run).state == "done"
    assert questions_asked(github)[n_before]["first"] == graphql_queries.PAGE_ISSUES // 4


def poison(github: GitHub, home: Home, numbers: set[int], *, even_alone: bool = True) -> None:
    """Every page with one of these issues in it takes too long; or only with what closed them."""

    def spoil(asked: Any) -> None:
        if asked.question.startswith("query Issues(") and (even_alone or asked.variables["changes"]):
            given = {"first": asked.variables["first"], "after": asked.variables["after"], "orderBy": IN_ORDER}
            page = issues_of(home, "issues", Told, given | {"filterBy": asked.variables["filter"]})
            if numbers & {issue.number for issue in page.nodes}:
                github.fault("timeout", "/graphql")

    github.before_answer = spoil


@pytest.mark.parametrize("numbers", [{1}, {60}, {100, 101}, {150}, {1, 75, 150}])
def test_issues_that_cannot_be_read_even_alone_are_refused_and_the_rest_arrives(world, github, fetch, numbers):
    home = world.repository("o/r")
    for n in range(150):
        home.issue(f"issue {n + 1}")
    poison(github, home, numbers)
    run = fetch()
    assert (run.state, run.error, run.n_new, run.n_refused) == ("done", "", 150 - len(numbers), len(numbers))
    assert set(Issue.objects.values_list("number", flat=True)) == told(home) - numbers
    refusals = Refusal.objects.order_by("pk")
    assert [r.row for r in refusals] == [f"https://github.com/o/r/issues/{n}" for n in sorted(numbers)]
    assert all("not even alone" in r.reason for r in refusals)


def test_an_issue_whose_changes_take_too_long_comes_without_them(world, github, fetch):
    home = world.repository("o/r")
    for n in range(60):
        home.issue(f"issue {n + 1}").close_by(home.pull_request())
    poison(github, home, {home.issues[41].number}, even_alone=False)
    run = fetch()
    assert (run.state, run.n_new, run.n_refused) == ("done", 60, 0)
    assert list(Issue.objects.filter(changes_known=False).values_list("number", flat=True)) == [41]
    assert ClosingChange.objects.count() == 59


def test_an_issue_that_is_deleted_while_its_thread_is_read_stops_nothing(world, github, fetch):
    home = world.repository("o/r")
    home.issue("short")
    long = home.issue("long")
    for n in range(120):
        long.comment(str(n))

    def delete(asked: Any) -> None:
        if asked.question.startswith("query More(") and long.number in home.issues:
            long.delete()

    github.before_answer = delete
    run = fetch()
    assert (run.state, run.n_new, run.n_refused) == ("done", 1, 1)
    assert "Could not resolve to a node" in Refusal.objects.get().reason


def test_a_github_that_is_down_refuses_no_issue(world, github, fetch):
    made_up(world, "o/r", 250)
    github.fault("html_502", "/graphql", skip=1, times=100)
    run = fetch()
    assert (run.state, run.n_refused) == ("waiting", 0)
    n_requests = github.n_requests
    run = go_on(run)
    assert (run.state, run.n_refused) == ("waiting", 0)
    assert github.n_requests - n_requests <= 3
    github.faults.clear()
    while run.state == "waiting":
        run = go_on(run)
    assert (run.state, run.n_refused, run.n_seen) == ("done", 0, Issue.objects.count())


def test_a_thread_that_cannot_be_read_to_its_end_refuses_its_issue_alone(world, github, fetch):
    home = world.repository("o/r")
    home.issue("short")
    long = home.issue("long")
    for n in range(120):
        long.comment(str(n))

    def spoil(asked: Any) -> None:
        if asked.question.startswith("query More("):
            github.fault("timeout", "/graphql")

    github.before_answer = spoil
    run = fetch()
    assert (run.state, run.n_new, run.n_refused) == ("done", 1, 1)
    assert "its comments break off" in Refusal.objects.get().reason


@pytest.mark.parametrize("fault", ["rate_limited", "rate_limit"])
def test_a_used_up_budget_makes_the_run_wait_until_it_is_renewed(world, github, fetch, fault):
    made_up(world, "o/r", 250)
    github.limit("t", "graphql").reset_at = int(timezone.now().timestamp()) + 1800
    github.fault(fault, "/graphql", skip=2)
    run = fetch()
    assert run.state == "waiting"
    assert timedelta(seconds=1790) < run.waiting_until - timezone.now() < timedelta(seconds=1810)
    assert go_on(run).state == "done"


def test_points_that_run_out_are_waited_for(world, github, fetch):
    made_up(world, "o/r", 250)
    limit = github.limit("t", "graphql")
    limit.remaining, limit.reset_at = 8, int(timezone.now().timestamp()) + 1800
    run = fetch()
    assert (run.state, run.n_new) == ("waiting", 110)
    assert github.n_requests == 3
    limit.reset_at = 0
    assert go_on(run).state == "done"


def test_secondary_limits_that_repeat_last_longer_each_time_until_something_goes_well(world, github, fetch):
    made_up(world, "o/r", 250)
    github.fault("secondary_silent", "/graphql", skip=1, times=3)
    run = fetch()
    waits = []
    for _ in range(3):
        assert run.state == "waiting"
        waits.append(round((run.waiting_until - timezone.now()).total_seconds()))
        run = go_on(run)
    assert waits == [60, 120, 240]
    assert run.state == "done"
    assert "n_slowed" not in run.cursor


@pytest.mark.parametrize("fault", ["secondary", "secondary_200"])
def test_a_secondary_limit_that_says_how_long_lasts_so_long(world, github, fetch, fault):
    made_up(world, "o/r", 60)
    github.fault(fault, "/graphql")
    run = fetch()
    assert run.state == "waiting"
    assert timedelta(seconds=55) < run.waiting_until - timezone.now() < timedelta(seconds=65)
    assert go_on(run).state == "done"


def test_a_wrong_token_is_dropped_and_the_other_does_the_work(world, github, settings, fetch):
    made_up(world, "o/r", 60)
    settings.GITHUB_TOKENS = ["ghp_expired", "t"]
    run = fetch()
    assert run.state == "done"
    assert [asked.token for asked in github.asked].count("ghp_expired") == 1


def test_a_place_in_the_list_that_github_forgot_is_found_again(world, github, fetch):
    world.step_seconds = 0
    home = made_up(world, "o/r", 250)
    github.fault("close", "/graphql", skip=2)
    run = fetch()
    kept = run.cursor["graphql"]
    assert kept["after"]
    FetchRun.objects.filter(pk=run.pk).update(cursor=run.cursor | {"graphql": kept | {"after": "nonsense"}})
    run = go_on(run)
    assert (run.state, run.n_new, run.n_seen) == ("done", len(told(home)), len(told(home)))
    assert LOST_MAX > 0


def test_a_repository_without_issues_and_one_that_is_not_there_are_told_apart(world, fetch):
    world.repository("o/r", has_issues=False)
    world.repository("o/blocked", blocked=True)
    assert "switched off" in fetch().error
    assert "not at GitHub" in fetch("o/none").error
    assert "legal" in fetch("o/blocked").error


def test_a_repository_renamed_while_it_is_read_is_followed(world, github, fetch):
    home = made_up(world, "o/r", 250)

    def rename(asked: Any) -> None:
        if len(questions_asked(github)) == 3 and home.name == "r":
            home.rename("new/name")

    github.before_answer = rename
    run = fetch()
    run = go_on(run)
    assert (run.state, run.n_new, run.n_seen) == ("done", len(told(home)), len(told(home)))
    assert run.repository.full_name == "new/name"
