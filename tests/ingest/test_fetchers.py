"""What people fetch with the server's tokens: public repositories alone, unless FETCHERS names them."""

import io
import json
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.core.files.base import ContentFile
from django.core.management import CommandError, call_command
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from accounts.actions import make_token
from accounts.models import User
from annotation.exports import jobs as export_jobs
from annotation.members.actions import members
from annotation.models import Arrival, Export, Item, Study
from annotation.transfer import study_file as form
from annotation.transfer.actions import study_import
from config.env import PeopleSetting
from ingest import run_steps
from ingest.actions.fetches import continue_run, start_asked, start_fetch
from ingest.github import numbered_issues
from ingest.models import ClosingChange, Comment, FetchRun, Issue, Repository, Snapshot
from tests import builders as make
from tests.annotation.transfer.test_study_import import changed
from tests.github import GitHub, World, shapes
from tests.github.world import File
from tests.ingest.test_incremental import now
from tests.ingest.test_webhooks import Hook
from tests.scripts import Script

pytestmark = [pytest.mark.django_db, pytest.mark.github]
Fetch = Callable[..., FetchRun]
NOT_THERE = "is not at GitHub, or it is private and the token may not read it. Check the name."
WAYS = ["graphql", "rest"]
API = "https://api.github.com"


@pytest.fixture(autouse=True)
def tokens(github: GitHub, settings: Any) -> None:
    """The server's token, which may read everything."""
    settings.GITHUB_TOKENS = ["ghp_of_the_lab"]
    github.tokens = {"ghp_of_the_lab"}


@pytest.fixture
def eve() -> User:
    """Owner of a study, and nothing else."""
    make.study(owner="eve")
    return User.objects.get(username="eve")


def worked(run: FetchRun, way: str = "graphql") -> FetchRun:
    if way == "rest":
        FetchRun.objects.filter(pk=run.pk).update(cursor={"by_rest": True})
    run_steps.work(run.pk)
    run.refresh_from_db()
    return run


def shown(run: FetchRun) -> dict[str, Any]:
    """What its person can read of a run, without what is different in any two runs."""
    client = Client()
    client.force_login(run.created_by or make.user("sam", staff=True))
    row = client.get(f"/api/v1/fetches/{run.pk}/").json()
    left_out = ("id", "created_at", "started_at", "finished_at", "heartbeat_at")
    return {name: value for name, value in row.items() if name not in left_out}


def test_a_private_repository_is_answered_like_one_that_is_not_there(world: World, fetch: Fetch, eve: User) -> None:
    world.repository("lab/secret", private=True).issue("The patient's name")
    secret, nothing = fetch("lab/secret", user=eve), fetch("lab/nosuch", user=eve)
    assert (secret.state, secret.error) == ("failed", f"lab/secret {NOT_THERE}")
    assert json.loads(json.dumps(shown(secret)).replace("secret", "nosuch")) == shown(nothing)
    assert not Repository.objects.exists() and not Issue.objects.exists()


@pytest.mark.parametrize("since", [None, "last", "2024-01-01"])
def test_a_private_repository_that_is_stored_is_answered_like_one_that_is_not_there(
    github: GitHub, world: World, fetch: Fetch, eve: User, since: str | None
) -> None:
    """What it costs at GitHub included: an answer that did not change would be free."""
    world.repository("lab/secret", private=True).issue()
    assert fetch("lab/secret", user=make.user("sam", staff=True)).state == "done"
    left, rows = [], []
    for name in ("lab/nosuch", "lab/secret"):
        before = github.limit("ghp_of_the_lab").remaining
        run = fetch(name, user=eve, since=since)
        left.append(before - github.limit("ghp_of_the_lab").remaining)
        rows.append({field.name: getattr(run, field.attname) for field in FetchRun._meta.concrete_fields} | shown(run))
    own = ("id", "created_at", "started_at", "finished_at", "heartbeat_at")
    nothing, secret = (json.dumps({k: v for k, v in row.items() if k not in own}, default=str) for row in rows)
    assert secret.replace("secret", "nosuch") == nothing
    assert left == [1, 1]


def test_a_fetch_of_a_private_repository_that_is_being_fetched_does_not_wait_for_it(
    world: World, fetch: Fetch, eve: User
) -> None:
    world.repository("lab/secret", private=True).issue()
    sam = make.user("sam", staff=True)
    other = start_fetch(user=sam, repository="lab/secret", send=False)
    FetchRun.objects.filter(pk=other.pk).update(state=FetchRun.State.RUNNING, heartbeat_at=timezone.now())
    assert fetch("lab/secret", user=eve).error == f"lab/secret {NOT_THERE}"
    assert fetch("lab/secret", user=sam).state == "queued"


def test_two_fetches_of_a_public_repository_do_not_work_at_once(world: World, fetch: Fetch, eve: User) -> None:
    world.repository("o/r").issue()
    other = start_fetch(user=make.user("sam", staff=True), repository="o/r", send=False)
    FetchRun.objects.filter(pk=other.pk).update(state=FetchRun.State.RUNNING, heartbeat_at=timezone.now())
    run = fetch(user=eve)
    assert (run.state, run.error) == ("waiting", "Another run of o/r is running. This one continues after it.")
    FetchRun.objects.filter(pk=other.pk).update(state=FetchRun.State.DONE)
    assert worked(continue_run(run=run, send=False)).state == "done"


def test_rest_and_pages_fetch_nothing_private_for_them(world: World, eve: User) -> None:
    world.repository("lab/secret", private=True).issue()
    client = Client()
    client.force_login(eve)
    client.post("/repositories/fetch/", {"repository": "lab/secret", "state": "all"})
    headers = {"Authorization": f"Bearer {make_token(user=eve, name='t', scope='manage')[1]}"}
    for what in ({}, {"what": "presence", "numbers": [1]}, {"what": "closing_changes", "numbers": [1]}):
        sent = {"repository": "lab/secret"} | what
        assert (
            Client().post("/api/v1/fetches/", sent, content_type="application/json", headers=headers).status_code == 202
        )
    runs = [worked(run) for run in FetchRun.objects.filter(created_by=eve, kind="github")]
    assert len(runs) == 4 and {(run.state, run.error) for run in runs} == {("failed", f"lab/secret {NOT_THERE}")}
    assert not Repository.objects.filter(owner="lab").exists()


def test_a_public_repository_is_fetched_with_the_tokens_by_everybody(world: World, fetch: Fetch, eve: User) -> None:
    world.repository("o/r").issue()
    assert fetch(user=eve).state == "done"
    assert Issue.objects.count() == 1


def test_staff_and_named_people_fetch_private_repositories(
    world: World, fetch: Fetch, settings: Any, eve: User
) -> None:
    world.repository("lab/secret", private=True).issue()
    settings.FETCHERS = PeopleSetting(names=frozenset({"eve"}))
    assert fetch("lab/secret", user=eve).state == "done"
    settings.FETCHERS = PeopleSetting()
    assert fetch("lab/secret", user=eve).state == "failed"
    assert fetch("lab/secret", user=make.user("sam", staff=True)).state == "done"
    assert Repository.objects.get().private


def test_the_shell_fetches_whatever_the_tokens_can_read(world: World, eve: User) -> None:
    world.repository("lab/secret", private=True).issue()
    call_command("fetch", "lab/secret", user="eve", stdout=io.StringIO())
    assert Issue.objects.visible_to(eve).count() == 1


def test_a_fetch_of_the_shell_that_they_continue_is_theirs(world: World, eve: User) -> None:
    home = world.repository("lab/secret")
    home.has_issues = False
    home.issue()
    with pytest.raises(CommandError):
        call_command("fetch", "lab/secret", user="eve", stdout=io.StringIO(), stderr=io.StringIO())
    home.private, home.has_issues = True, True
    run = continue_run(run=FetchRun.objects.get(), user=eve, send=False)
    assert worked(run).error == f"lab/secret {NOT_THERE}"
    assert not Issue.objects.exists()


@pytest.mark.parametrize("since", [None, "last"])
def test_what_became_private_is_not_fetched_again(world: World, fetch: Fetch, eve: User, since: str | None) -> None:
    home = world.repository("o/r")
    home.issue()
    assert fetch(user=eve).state == "done"
    home.private = True
    home.issue("Written in private")
    assert fetch(user=eve, since=since).error == f"o/r {NOT_THERE}"
    assert Issue.objects.count() == 1


@pytest.mark.parametrize("way", WAYS)
def test_a_run_that_goes_on_looks_again_whether_the_repository_is_public(
    world: World, github: GitHub, eve: User, way: str
) -> None:
    """It waited for a limit after its first page; meanwhile the repository became private."""
    home = world.repository("o/r")
    for _ in range(80 if way == "graphql" else 120):
        home.issue()
    if way == "rest":
        github.fault("no_graphql", "/graphql")
        github.fault("secondary", "/o/r/issues", skip=2)  # after the page of comments and the first page of issues
    else:
        github.fault("secondary", "/graphql", skip=1)
    run = worked(start_fetch(user=eve, repository="o/r", send=False))
    assert run.state == "waiting"
    assert run.cursor.get("way") == (None if way == "graphql" else "listings")
    n_stored = Issue.objects.count()
    home.private = True
    FetchRun.objects.filter(pk=run.pk).update(state="queued", waiting_until=None)
    assert (worked(run).state, run.error) == ("failed", f"o/r {NOT_THERE}")
    assert Issue.objects.count() == n_stored
    assert worked(continue_run(run=run, user=eve, send=False)).state == "failed"
    home.private = False
    assert worked(continue_run(run=run, user=eve, send=False)).state == "done"


@pytest.mark.parametrize("way", WAYS)
def test_a_run_of_staff_makes_a_repository_private_that_became_so_while_it_waited(
    world: World, github: GitHub, eve: User, way: str
) -> None:
    """Staff may read it with the tokens: what is fetched then must not lie among issues that everyone sees."""
    home = world.repository("o/r")
    for _ in range(80 if way == "graphql" else 120):
        home.issue()
    if way == "rest":
        github.fault("no_graphql", "/graphql")
        github.fault("secondary", "/o/r/issues", skip=2)
    else:
        github.fault("secondary", "/graphql", skip=1)
    run = worked(start_fetch(user=make.user("sam", staff=True), repository="o/r", send=False))
    assert (run.state, Repository.objects.get().private) == ("waiting", False)
    n_stored = Issue.objects.count()
    home.private = True
    FetchRun.objects.filter(pk=run.pk).update(state="queued", waiting_until=None)
    assert worked(run).state == "waiting" and Issue.objects.count() == n_stored
    FetchRun.objects.filter(pk=run.pk).update(state="queued", waiting_until=None)
    assert worked(run).state == "done" and Repository.objects.get().private
    assert Issue.objects.count() == len(home.issues) and not Issue.objects.visible_to(eve).exists()


@pytest.mark.parametrize("way", WAYS)
def test_a_run_ends_when_the_repository_becomes_private_while_it_is_read(
    world: World, github: GitHub, fetch: Fetch, eve: User, way: str
) -> None:
    home, path = world.repository("o/r"), "/graphql" if way == "graphql" else "/repos/o/r/issues"
    for _ in range(80 if way == "graphql" else 220):
        home.issue()
    if way == "rest":
        github.fault("no_graphql", "/graphql")

    def before(asked: Any) -> None:
        home.private = sum(each.path == path for each in github.asked) > 1

    github.before_answer = before
    run = fetch(user=eve)
    github.before_answer = None
    assert (run.state, run.error) == ("failed", f"o/r {NOT_THERE}")
    assert 0 < Issue.objects.count() < len(home.issues)


def test_threads_that_are_read_while_a_repository_becomes_private_are_not_stored(
    world: World, github: GitHub, fetch: Fetch, eve: User
) -> None:
    """Each is asked for by itself after the page that names the issue."""
    home = world.repository("o/r")
    issue = home.issue()
    issue.comment("before")
    github.fault("no_graphql", "/graphql")

    def before(asked: Any) -> None:
        if asked.path.endswith(f"/issues/{issue.number}/comments") and not home.private:
            issue.comment("private words")
            home.private = True

    github.before_answer = before
    run = fetch(user=eve, state="open")
    github.before_answer = None
    assert home.private and (run.state, run.error) == ("failed", f"o/r {NOT_THERE}")
    assert not Comment.objects.exists() and not Issue.objects.exists()


@pytest.mark.parametrize("what", ["presence", "closing_changes"])
def test_issues_that_are_looked_up_while_a_repository_becomes_private_are_not_stored(
    world: World, github: GitHub, fetch: Fetch, eve: User, what: str
) -> None:
    """By REST no answer about an issue says whether its repository is public."""
    home = world.repository("o/r")
    issues = [home.issue() for _ in range(12)]
    assert fetch(user=eve).state == "done"
    github.fault("no_graphql", "/graphql")
    numbers = [each.number for each in issues]

    def before(asked: Any) -> None:
        if asked.path.startswith("/repos/o/r/issues/") and not home.private:
            for issue in issues:
                issue.title = "private words"
            home.private = True

    github.before_answer = before
    run = start_asked(user=eve, repository="o/r", what=what, numbers=numbers, send=False)
    run = worked(run, "rest")
    github.before_answer = None
    assert home.private and (run.state, run.error) == ("failed", f"o/r {NOT_THERE}")
    assert Snapshot.objects.count() == 12 and not Issue.objects.filter(checked_at__isnull=False).exists()


@pytest.mark.parametrize("what", ["presence", "closing_changes"])
@pytest.mark.parametrize("name", ["eve", "sam"])
def test_a_check_stores_nothing_public_of_what_becomes_private_between_its_batches(
    world: World, github: GitHub, fetch: Fetch, eve: User, monkeypatch: pytest.MonkeyPatch, what: str, name: str
) -> None:
    home, user = world.repository("o/r"), eve if name == "eve" else make.user("sam", staff=True)
    issues = [home.issue() for _ in range(6)]
    assert fetch(user=user).state == "done"
    monkeypatch.setattr(numbered_issues, "PAGE_ISSUES", 3)
    n_before = sum(asked.path == "/graphql" for asked in github.asked)

    def before(asked: Any) -> None:
        if sum(each.path == "/graphql" for each in github.asked) > n_before + 1 and not home.private:
            home.private = True
            for issue in issues:
                issue.edit(title="private words")
                issue.close_by(home.pull_request(files=[File("private/path.py")]))

    github.before_answer = before
    numbers = [each.number for each in issues]
    run = worked(start_asked(user=user, repository="o/r", what=what, numbers=numbers, send=False))
    assert home.private and not ClosingChange.objects.exists()
    assert not Snapshot.objects.filter(title="private words").exists()
    if name == "eve":
        assert (run.state, run.error) == ("failed", f"o/r {NOT_THERE}")
    else:
        assert run.state == "waiting"
        FetchRun.objects.filter(pk=run.pk).update(state="queued", waiting_until=None)
        assert worked(run).state == "done" and Repository.objects.get().private
        assert not Issue.objects.visible_to(eve).exists()


def test_the_rest_of_a_long_thread_is_not_stored_of_what_became_private(
    world: World, github: GitHub, fetch: Fetch, eve: User
) -> None:
    home = world.repository("o/r")
    issue = home.issue()
    for n in range(130):
        issue.comment(f"{n}")

    def before(asked: Any) -> None:
        home.private = sum(each.path == "/graphql" for each in github.asked) > 1

    github.before_answer = before
    run = fetch(user=eve)
    github.before_answer = None
    assert home.private and (run.state, run.error) == ("failed", f"o/r {NOT_THERE}")
    assert not Comment.objects.exists()


def test_edits_of_comments_that_were_read_before_a_repository_became_private_are_not_stored(
    world: World, github: GitHub, fetch: Fetch, eve: User
) -> None:
    """A run for changes by GraphQL ends with the listing of comments, whose pages do not say what is public."""
    home = world.repository("o/r")
    issue = home.issue()
    comment = issue.comment("before")
    assert fetch(user=eve).state == "done"
    now(world)
    issue.edit_comment(comment, "private words")

    def before(asked: Any) -> None:
        home.private = home.private or asked.path.endswith("/issues/comments")

    github.before_answer = before
    run = fetch(user=eve, since="last")
    github.before_answer = None
    assert (run.state, run.error) == ("failed", f"o/r {NOT_THERE}")
    assert [each.body for each in Comment.objects.all()] == ["before"]


def test_a_name_that_leads_to_a_private_repository_is_not_there(world: World, fetch: Fetch, eve: User) -> None:
    home = world.repository("o/open", private=True)
    home.issue()
    home.rename("lab/secret")
    moved, nothing = fetch("o/open", user=eve), fetch("o/nosuch", user=eve)
    assert json.loads(json.dumps(shown(moved)).replace("o/open", "o/nosuch")) == shown(nothing)
    assert not Repository.objects.exists()


@pytest.mark.parametrize("way", WAYS)
def test_where_an_issue_went_is_not_told_if_that_is_private(
    world: World, github: GitHub, fetch: Fetch, eve: User, way: str
) -> None:
    home, secret = world.repository("o/r"), world.repository("lab/secret", private=True)
    issue = home.issue()
    assert fetch(user=eve).state == "done"
    issue.transfer(secret)
    run = start_asked(user=eve, repository="o/r", what="presence", numbers=[issue.number], send=False)
    run = worked(run, way)
    assert run.state == "done", run.error
    stored = Issue.objects.get()
    assert (stored.presence, stored.moved_to) == ("transferred", "")


@pytest.mark.parametrize("what", ["issues", "closing_changes"])
@pytest.mark.parametrize("way", WAYS)
def test_private_changes_that_closed_a_public_issue_are_not_stored(
    world: World, github: GitHub, fetch: Fetch, eve: User, way: str, what: str
) -> None:
    home, secret, other = world.repository("o/r"), world.repository("lab/secret", private=True), world.repository("o/s")
    issues = [home.issue() for _ in range(2)]
    for repository, issue in zip((secret, other), issues, strict=True):
        pull = repository.pull_request(f"Fixes o/r#{issue.number} of {repository.full_name}")
        issue.close_by(pull)
    issues.append(home.issue())
    issues[-1].close(by=secret.commit("The secret commit"))
    run = fetch(user=eve)
    if what == "closing_changes":
        ClosingChange.objects.all().delete()
        numbers = [issue.number for issue in issues]
        run = worked(start_asked(user=eve, repository="o/r", what=what, numbers=numbers, send=False), way)
    assert run.state == "done", run.error
    found = " ".join(ClosingChange.objects.values_list("identifier", flat=True))
    assert "lab/secret" not in found and "o/s#" in found


@pytest.mark.parametrize("waits", [False, True])
def test_files_of_another_repository_are_not_stored_once_it_is_private(
    world: World, github: GitHub, fetch: Fetch, eve: User, waits: bool
) -> None:
    """Those of a pull request that is not linked to its issue are asked for when the list is at its end."""
    home, other = world.repository("o/r"), world.repository("o/s")
    issue = home.issue()
    issue.close(by=other.pull_request())
    if waits:
        github.fault("secondary", "/graphql", skip=1)

    def before(asked: Any) -> None:
        other.private = other.private or "query More" in asked.question

    github.before_answer = before
    run = fetch(user=eve)
    if waits:
        assert run.state == "waiting"
        FetchRun.objects.filter(pk=run.pk).update(state="queued", waiting_until=None)
        run = worked(run)
    github.before_answer = None
    assert (run.state, other.private) == ("done", True), run.error
    assert ClosingChange.objects.get().paths == []


@pytest.mark.parametrize("way", WAYS)
def test_changes_of_another_repository_are_not_stored_if_it_became_private_while_they_were_read(
    world: World, github: GitHub, fetch: Fetch, eve: User, way: str
) -> None:
    home, other = world.repository("o/r"), world.repository("o/s")
    issue = home.issue()
    if way == "rest":
        issue.close_by(other.pull_request(f"Fixes o/r#{issue.number}"))
    else:
        issue.close(by=other.commit())
    assert fetch(user=eve).state == "done"
    ClosingChange.objects.all().delete()

    def before(asked: Any) -> None:
        other.private = other.private or asked.path.endswith("/files") or "query Objects" in asked.question

    github.before_answer = before
    numbers = [issue.number]
    run = start_asked(user=eve, repository="o/r", what="closing_changes", numbers=numbers, send=False)
    run = worked(run, way)
    github.before_answer = None
    assert (run.state, other.private) == ("done", True), run.error
    assert not ClosingChange.objects.exists()


def test_who_named_a_repository_in_a_file_does_not_read_what_the_tokens_bring(
    world: World, fetch: Fetch, take: Fetch, eve: User
) -> None:
    """A row of a private file had the name before anybody with the permission fetched it."""
    world.repository("lab/secret", private=True).issue("The patient's name")
    take([{"number": 99, "title": "Mine", "repository": "lab/secret"}], user=eve, private=True)
    assert Issue.objects.visible_to(eve).filter(repository__name="secret").count() == 1
    sam, tom = make.user("sam", staff=True), make.user("tom")
    assert fetch("lab/secret", user=sam).state == "done"
    assert not Issue.objects.visible_to(eve).filter(repository__name="secret").exists()
    assert Issue.objects.visible_to(eve).get().identifier == "lab/secret-uploaded#99"
    assert Issue.objects.visible_to(sam).filter(repository__name="secret").count() == 1
    assert not Issue.objects.visible_to(tom).exists()


# Messages of a webhook


@pytest.fixture
def hook(settings: Any) -> Hook:
    settings.GITHUB_WEBHOOK_SECRET = "a secret that both sides know"
    return Hook()


def test_a_message_of_what_became_private_is_not_stored_among_public_issues(
    world: World, fetch: Fetch, eve: User, hook: Hook
) -> None:
    home = world.repository("o/r")
    issue = home.issue("Open")
    fetch(user=eve)
    home.private = True
    issue.edit(title="Written in private")
    payload = {
        "action": "edited",
        "issue": shapes.issue(API, issue),
        "repository": shapes.repository(API, home),
    }
    run = worked(FetchRun.objects.get(pk=hook.send("issues", payload).json()["run"]))
    assert run.state == "failed" and "is now private at GitHub" in run.error
    assert Issue.objects.get().current_snapshot.title == "Open"
    assert fetch(user=make.user("sam", staff=True)).state == "done"
    assert worked(continue_run(run=run, send=False)).state == "done"
    assert Repository.objects.get().private and not Issue.objects.visible_to(eve).exists()


def test_a_message_does_not_tell_the_private_place_of_an_issue(
    world: World, fetch: Fetch, eve: User, hook: Hook
) -> None:
    home, secret = world.repository("o/r"), world.repository("lab/secret", private=True)
    issue = home.issue()
    fetch(user=eve)
    old = shapes.issue(API, issue)
    public = shapes.repository(API, home)
    moved = issue.transfer(secret)
    changes = {
        "new_issue": shapes.issue(API, moved),
        "new_repository": shapes.repository(API, secret),
    }
    hook.tell("issues", {"action": "transferred", "issue": old, "repository": public, "changes": changes})
    stored = Issue.objects.get()
    assert (stored.presence, stored.moved_to) == ("transferred", "")


def renamed_message(issue: Any, comment: Any = None, **changes: Any) -> tuple[str, dict[str, Any]]:
    """The message that GitHub sends about an issue or a new comment, as its repository is called now."""
    told = {
        "action": "created" if comment else "edited",
        "issue": shapes.issue(API, issue),
        "repository": shapes.repository(API, issue.repository) | changes,
    }
    if comment is None:
        return "issues", told
    return "issue_comment", told | {"comment": shapes.comment(API, comment)}


def secret_issue(world: World, fetch: Fetch) -> Any:
    """An issue of a private repository that staff fetched."""
    issue = world.repository("lab/secret", private=True).issue("The patient's name")
    assert fetch("lab/secret", user=make.user("sam", staff=True)).state == "done"
    return issue


@pytest.mark.parametrize("event", ["issues", "issue_comment"])
@pytest.mark.parametrize("name", ["lab/renamed", "LAB/Secret", "ward/secret"])
def test_a_message_of_a_private_repository_that_was_renamed_stays_private(
    world: World, fetch: Fetch, hook: Hook, eve: User, event: str, name: str
) -> None:
    issue = secret_issue(world, fetch)
    issue.repository.rename(name)
    comment = issue.comment("The kitchen is on fire.") if event == "issue_comment" else None
    issue.edit(body="The kitchen is on fire.")
    hook.tell(*renamed_message(issue, comment))
    stored = Repository.objects.get()
    assert (stored.full_name, stored.private, Snapshot.objects.count()) == (name, True, 2)
    for path in (f"issues/{name}/1/", "issues/lab/secret/1/"):
        assert Script("eve").send("GET", path).status_code == 404
    assert Script("eve").send("GET", "issues/?search=kitchen").json()["results"] == []
    assert b"kitchen" in Script("sam").send("GET", f"issues/{name}/1/").content


@pytest.mark.parametrize("private", [True, False])
def test_a_message_goes_into_no_upload_that_has_the_new_name(
    world: World, fetch: Fetch, take: Fetch, hook: Hook, eve: User, private: bool
) -> None:
    issue = secret_issue(world, fetch)
    take([{"number": 1, "title": "Mine", "repository": "lab/renamed"}], user=eve, private=private)
    issue.repository.rename("lab/renamed")
    issue.edit(title="The kitchen is on fire")
    hook.tell(*renamed_message(issue))
    told = Issue.objects.get(repository__name="secret")
    assert (told.current_snapshot.title, told.repository.private) == ("The kitchen is on fire", True)
    assert Script("eve").send("GET", "issues/lab/renamed/1/").json()["title"] == "Mine"
    assert Repository.objects.count() == 2
    assert fetch("lab/renamed", user=make.user("sam")).state == "done"
    issue.edit(title="It still burns")
    hook.tell(*renamed_message(issue))
    told = Issue.objects.get(repository__name="renamed")
    assert (told.current_snapshot.title, told.repository.private) == ("It still burns", True)
    assert Script("eve").send("GET", "issues/lab/renamed/1/").status_code == 404


def test_a_message_that_does_not_say_public_is_not_stored_among_public_issues(
    world: World, fetch: Fetch, hook: Hook, eve: User
) -> None:
    issue = world.repository("o/r").issue("Open")
    fetch(user=eve)
    issue.edit(title="Written in private")
    for changes in ({"private": None}, {"visibility": "internal"}):
        event, told = renamed_message(issue, **changes)
        run = worked(FetchRun.objects.get(pk=hook.send(event, told).json()["run"]))
        assert run.state == "failed" and "is now private at GitHub" in run.error
    assert Issue.objects.get().current_snapshot.title == "Open"


def test_a_new_place_that_does_not_say_public_is_not_told(world: World, fetch: Fetch, hook: Hook, eve: User) -> None:
    issue = world.repository("o/r").issue()
    fetch(user=eve)
    told = renamed_message(issue)[1] | {"action": "transferred"}
    hook.tell("issues", told | {"changes": {"new_issue": {"html_url": "https://github.com/lab/secret/issues/9"}}})
    assert (Issue.objects.get().presence, Issue.objects.get().moved_to) == ("transferred", "")


def test_a_public_repository_under_an_old_private_name_opens_nothing(world: World, fetch: Fetch, eve: User) -> None:
    """Whoever takes the name of a renamed owner at GitHub can make a public repository there."""
    secret_issue(world, fetch).repository.rename("ward/secret")
    world.repository("lab/secret").issue("Bait")
    run = fetch("lab/secret", user=eve)
    assert run.state == "failed" and "is now another repository at GitHub" in run.error
    assert Script("eve").send("GET", "issues/lab/secret/1/").status_code == 404
    assert Repository.objects.get().private
    assert fetch("ward/secret", user=make.user("sam")).state == "done"
    assert fetch("lab/secret", user=eve).state == "done"
    assert [row.private for row in Repository.objects.order_by("owner")] == [False, True]


def study_of(name: str, *issues: str) -> Any:
    """A study with an open round in which carol labels these issues, and a script of its owner."""
    script = Script(name)
    slug = "older"
    body = {"slug": slug, "title": "An older state", "taxonomy": "symptoms"}
    assert script.send("POST", "studies/", body).status_code == 201
    study = Study.objects.get(slug=slug)
    members.add_member(seat=make.seat(study, name), username=make.user("carol").username, roles=["rater"])
    sent = {"kind": "main", "taxonomy_version": 1, "raters": ["carol"], "raters_per_item": 1, "issues": list(issues)}
    assert script.send("POST", f"studies/{slug}/rounds/", sent).status_code == 201
    assert script.send("POST", f"studies/{slug}/rounds/1/open/", {"unregistered": True}).status_code == 200
    return script, slug


def secret_seen(name: str, slug: str) -> set[str]:
    """The addresses at which someone reads what the private repository says now."""
    script, pages = Script(name), Client()
    pages.force_login(make.user(name))
    item = Item.objects.get(study__slug=slug)
    own = [f"studies/{slug}/{path}" for path in ("changes/", "items/", f"items/{item.pk}/", "rounds/1/next/")]
    rest = ["issues/lab/hooked/1/", "issues/lab/hooked/1/comments/", "issues/?search=kitchen", *own]
    site = [
        f"studies/{slug}/{path}"
        for path in ("changes/", f"items/{item.pk}/", f"items/{item.pk}/changes/", "rounds/1/label/")
    ]
    site += ["issues/lab/hooked/1/", "issues/?q=kitchen"]
    found = {path for path in rest if b"kitchen" in script.send("GET", path).content}
    return found | {f"/{path}" for path in site if b"kitchen" in pages.get(f"/{path}").content}


def claiming(study_file: bytes, number: int) -> io.BytesIO:
    """The whole-study file with a repository of another name that claims a number of GitHub's."""

    def change(entries: dict[str, bytes]) -> None:
        path = form.path_of("repositories")
        row = json.loads(entries[path]) | {"github_id": number, "name": "claimed"}
        entries[path] = json.dumps(row).encode() + b"\n"

    return changed(io.BytesIO(study_file), change, honest=True)


@pytest.mark.parametrize("fetched", ["never", "before", "after"])
def test_a_whole_study_file_claims_no_number_of_github(
    world: World, fetch: Fetch, take: Fetch, hook: Hook, fetched: str
) -> None:
    mal, sam = make.user("mal"), make.user("sam", staff=True)
    make.version(owner="mal")
    thread = [{"id": 5, "body": "hello", "created_at": "2024-01-01T00:00:00Z"}]
    later = (timezone.now() + timedelta(hours=20)).isoformat()
    mine = {"number": 1, "title": "Mine", "updated_at": later, "repository": "mal/x"}
    take([mine | {"comments": thread}], user=mal, private=True)
    script, slug = study_of("mal", "mal/x#1")
    export = script.send("POST", f"studies/{slug}/exports/", {"what": "study"}).json()["id"]
    export_jobs.work(Export.objects.get().pk)
    answer: Any = script.send("GET", f"exports/{export}/download/")
    secret = world.repository("lab/secret", private=True).issue("The patient's name")
    if fetched == "before":
        assert fetch("lab/secret", user=sam).state == "done"
    pages = Client()
    pages.force_login(mal)
    number = shapes.repository(API, secret.repository)["id"]
    file = ContentFile(claiming(b"".join(answer.streaming_content), number).read(), "study.zip")
    assert pages.post("/studies/import/whole/", {"file": file, "slug": "claimed"}).status_code == 302
    study_import.take_in(Arrival.objects.get().pk)
    assert (Arrival.objects.get().state, Arrival.objects.get().error) == ("done", "")
    if fetched == "after":
        assert fetch("lab/secret", user=sam).state == "done"
    claimed = Repository.objects.get(name="claimed")
    assert (claimed.github_id, claimed.private, claimed.full_name) == (None, True, "mal/claimed")
    event, told = renamed_message(secret, secret.comment("The kitchen is on fire."))
    said = hook.send(event, told)
    assert said.status_code == (200 if fetched == "never" else 202)
    if said.json()["run"]:
        assert worked(FetchRun.objects.get(pk=said.json()["run"])).repository.name == "secret"
    bodies = [comment["body"] for comment in script.send("GET", "issues/mal/claimed/1/").json()["comments"]]
    assert bodies == ["hello"]
    assert script.send("GET", "issues/lab/secret/1/").status_code == 404


@pytest.mark.slow
def test_what_staff_fetch_of_a_private_repository_reaches_no_study_that_holds_an_older_state(
    world: World, fetch: Fetch
) -> None:
    eve = make.user("eve")
    make.version(owner="eve")
    hooked = world.repository("lab/hooked")
    row = hooked.issue("An old title")
    assert fetch("lab/hooked", user=eve).state == "done"
    _, slug = study_of("eve", "lab/hooked#1")
    hooked.private = True
    row.edit(title="The kitchen is on fire")
    row.comment("The kitchen is still on fire.")
    staff = make.user("staffy", staff=True)
    assert fetch("lab/hooked", user=staff).state == "done"
    assert Issue.objects.get(number=1, repository__name="hooked").current_snapshot.title == "The kitchen is on fire"
    for name in ("eve", "carol"):
        assert secret_seen(name, slug) == set()
    script = Script("eve")
    for body in ({"all": True}, {"items": ["lab/hooked#1"]}):
        script.send("POST", f"studies/{slug}/changes/repin/", body)
        assert secret_seen("carol", slug) == set()
    assert script.send("POST", f"studies/{slug}/changes/repin/", body).status_code == 403
    assert "An old title" in Script("carol").send("GET", f"studies/{slug}/rounds/1/next/").content.decode()
    members.add_member(seat=make.seat(Study.objects.get(slug=slug), "eve"), username="staffy", roles=["owner"])
    assert Script("staffy").send("POST", f"studies/{slug}/changes/repin/", {"all": True}).json() == {"repinned": 1}
    assert secret_seen("carol", slug) >= {"issues/lab/hooked/1/", "/issues/lab/hooked/1/"}


def test_members_read_of_a_private_issue_the_snapshots_that_their_studies_pin_and_no_others(
    world: World, fetch: Fetch
) -> None:
    eve, staff = make.user("eve"), make.user("staffy", staff=True)
    make.version(owner="eve")
    hooked = world.repository("lab/hooked")
    row = hooked.issue("As it was pinned")
    assert fetch("lab/hooked", user=eve).state == "done"
    _, slug = study_of("eve", "lab/hooked#1")
    hooked.private = True
    for title in ("The kitchen is on fire", "Redacted"):
        row.edit(title=title)
        assert fetch("lab/hooked", user=staff).state == "done"
    members.add_member(seat=make.seat(Study.objects.get(slug=slug), "eve"), username="staffy", roles=["owner"])
    assert Script("staffy").send("POST", f"studies/{slug}/changes/repin/", {"all": True}).json() == {"repinned": 1}
    issue = Issue.objects.get()
    now = issue.current_snapshot.sha256
    for name, listed in (("carol", 1), ("eve", 1), ("staffy", 3)):
        script, pages, page = Script(name), Client(), "/issues/lab/hooked/1/"
        pages.force_login(make.user(name))
        answer = script.send("GET", "issues/lab/hooked/1/").json()
        assert (answer["title"], len(answer["snapshots"])) == ("Redacted", listed)
        assert len(pages.get(page).context["snapshots"]) == listed
        for snapshot in issue.snapshots.exclude(sha256=now):
            at = snapshot.sha256[:12]
            status = script.send("GET", f"issues/lab/hooked/1/snapshots/{at}/").status_code
            assert status == (200 if listed == 3 else 404)
            for query in (f"snapshot={at}", f"from={at}&to={now}", f"from={now}&to={at}"):
                shown = pages.get(f"{page}?{query}").content + pages.get(f"{page}comments/?{query}").content
                assert (snapshot.title.encode() in shown) == (listed == 3)


def told_of(run: FetchRun) -> str:
    """All that pages and REST tell bob of a run of his, also when it is cancelled and continued."""
    script, pages = Script("bob"), Client()
    pages.force_login(make.user("bob"))
    answers = [pages.get(path) for path in ("/repositories/", "/", "/start/", "/start/codebook/")]
    answers += [pages.get(f"/fetches/{run.pk}/{part}") for part in ("", "progress/")]
    answers += [script.send("GET", path) for path in (f"fetches/{run.pk}/", "fetches/")]
    answers += [script.send("POST", f"fetches/{run.pk}/{act}/") for act in ("continue", "cancel", "continue")]
    return "".join(answer.content.decode() for answer in answers)


def test_who_fetched_a_repository_reads_no_name_that_it_got_in_private(world: World, fetch: Fetch) -> None:
    home = world.repository("ren/pub")
    home.issue("One")
    run = fetch("ren/pub", user=make.user("bob"))
    assert run.state == "done" and told_of(run).count("ren/pub") > 5
    home.private = True
    home.rename("ren/topsecret")
    assert fetch("ren/topsecret", user=make.user("sam", staff=True)).state == "done"
    assert Repository.objects.get().full_name == "ren/topsecret"
    text = told_of(run)
    assert "topsecret" not in text and text.count("ren/pub") > 5
    assert Script("sam").send("GET", f"fetches/{run.pk}/").json()["repository"] == "ren/topsecret"
    many = [FetchRun(kind="github", state="done", created_by=run.created_by, repository=run.repository) for _ in "123"]
    with CaptureQueriesContext(connection) as one:
        Script("bob").send("GET", "fetches/")
    FetchRun.objects.bulk_create(many)
    with CaptureQueriesContext(connection) as four:
        assert "topsecret" not in Script("bob").send("GET", "fetches/").content.decode()
    assert len(four) == len(one)


def test_a_run_that_goes_on_says_no_name_that_its_repository_got_in_private(
    world: World, github: GitHub, fetch: Fetch
) -> None:
    home = world.repository("ren/pub")
    for _ in range(80):
        home.issue()
    github.fault("secondary", "/graphql", skip=1)
    run = worked(start_fetch(user=make.user("bob"), repository="ren/pub", send=False))
    assert run.state == "waiting"
    home.private = True
    home.rename("ren/topsecret")
    assert fetch("ren/topsecret", user=make.user("sam", staff=True)).state == "done"
    FetchRun.objects.filter(pk=run.pk).update(state="queued", waiting_until=None)
    run = worked(FetchRun.objects.get(pk=run.pk))
    assert (run.state, run.error) == ("failed", f"ren/pub {NOT_THERE}")
    assert "topsecret" not in told_of(run)
