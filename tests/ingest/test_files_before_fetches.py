"""Files that told of issues before GitHub did: what GitHub says replaces all of it, whatever is fetched first."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.db import transaction

from accounts.models import User
from ingest import run_steps
from ingest.actions.fetches import start_check, start_closing_fetch
from ingest.github.rest_objects import parse_issue
from ingest.models import FetchRun, Issue, Repository, Snapshot
from ingest.upsert import store

pytestmark = [pytest.mark.django_db, pytest.mark.github]

SINCE = "2024-01-02"


@pytest.fixture
def at_github(world: Any) -> Any:
    """An issue with two comments, beside one that has a label."""
    world.now = datetime(2024, 1, 1, tzinfo=UTC)
    home = world.repository("o/r")
    home.issue("First", labels=["first"])
    issue = home.issue("It hangs", "Two nodes.")
    world.now = datetime(2024, 2, 1, tzinfo=UTC)
    issue.comment("Same here.", user="erin")
    issue.comment("Fixed by the new driver.", user="erin")
    return issue


def row(issue: Any, **changes: Any) -> dict[str, Any]:
    """What a file says of the issue: all that GitHub says, but for the changes."""
    at = issue.created_at.isoformat()
    told = {"number": issue.number, "repository": "o/r", "title": issue.title, "body": issue.body, "state": "open"}
    told |= {"labels": [], "created_at": at, "user": {"login": issue.user, "id": number_of(issue.user)}}
    return told | {"html_url": f"https://github.com/o/r/issues/{issue.number}"} | changes


def number_of(login: str) -> int:
    """The number of a person at GitHub, as an earlier fetch of another repository tells it."""
    found = Snapshot.objects.filter(author_login=login, author_id__isnull=False).values_list("author_id", flat=True)
    return found[0]


def comments(issue: Any, **changes: Any) -> list[dict[str, Any]]:
    return [
        {"id": each.id, "body": each.body, "created_at": each.created_at.isoformat()}
        | {"user": {"login": each.user, "id": number_of(each.user)}} | changes
        for each in issue.comments
    ]  # fmt: skip


@pytest.fixture
def known_people(world: Any, fetch: Any) -> None:
    other = world.repository("o/other")
    for login in ("bob", "erin"):
        other.issue("Hello", user=login)
    fetch("o/other")


def shown(number: int = 2) -> tuple[Any, ...]:
    issue = Issue.objects.get(repository__name="r", number=number)
    state = issue.current_snapshot
    thread = [(comment.author_login, comment.body) for comment in state.thread()]
    return state.title, state.body, state.author_login, thread, state.closed_at, state.run.kind


TRUE = (
    "It hangs", "Two nodes.", "bob", [("erin", "Same here."), ("erin", "Fixed by the new driver.")], None, "github"
)  # fmt: skip


def test_comments_of_github_make_no_state_of_github_of_a_text_from_a_file(
    at_github: Any, known_people: None, take: Any, fetch: Any, way: str
) -> None:
    later = (datetime.now(UTC) + timedelta(hours=23)).isoformat()
    take([row(at_github, title="Forged", body="Forged", comments=[], updated_at=later)])
    fetch(labels=["first"], since=SINCE)
    assert shown() == TRUE
    fetch()
    assert shown() == TRUE


def test_a_thread_of_a_file_is_no_part_of_what_github_says(
    at_github: Any, known_people: None, take: Any, fetch: Any, way: str
) -> None:
    forged = comments(at_github, body="Forged")
    take([row(at_github, comments=[each | {"id": 7 + n} for n, each in enumerate(forged)])])
    at_github.edit(labels=["slow"])
    fetch(since=(at_github.updated_at - timedelta(seconds=1)).isoformat())
    assert shown() == TRUE


@pytest.mark.usefixtures("known_people")
def test_looking_for_what_closed_an_issue_makes_no_text_of_a_file_githubs(
    at_github: Any, take: Any, fetch: Any, way: str
) -> None:
    later = (datetime.now(UTC) + timedelta(hours=23)).isoformat()
    take([row(at_github, title="Forged", body="Forged", comments=[], updated_at=later)])
    fetch(labels=["first"])
    run = start_closing_fetch(user=None, repository="o/r", numbers=[2], send=False)
    run_steps.work(run.pk)
    assert shown() == TRUE
    at_github.edit(title="It hung")
    fetch()
    assert shown()[0] == "It hung"


@pytest.mark.usefixtures("known_people", "way")
def test_a_message_without_comments_makes_no_thread_of_a_file_githubs(at_github: Any, take: Any, fetch: Any) -> None:
    fetch(labels=["first"])
    forged = [each | {"id": 7 + n} for n, each in enumerate(comments(at_github, body="Forged"))]
    before = {"created_at": "2020-01-01T00:00:00Z"}
    take([row(at_github, comments=forged, **before)])
    home = Repository.objects.get(name="r")
    run = FetchRun.objects.create(kind="webhook", repository=home, state="running", n_claims=1)
    told = parse_issue(row(at_github) | {"author_association": "MEMBER", "updated_at": "2024-03-01T00:00:00Z"})
    with transaction.atomic():
        store(run, [replace(told, comments=None, n_comments=2)])
    assert shown()[-1] == "file"
    fetch()
    assert shown() == TRUE


@pytest.mark.usefixtures("known_people", "way")
def test_an_upload_under_the_next_name_of_a_repository_steps_aside(
    at_github: Any, world: Any, take: Any, fetch: Any
) -> None:
    fetch()
    take([{"number": 1, "repository": "o/next", "title": "Of a file"}], user=User.objects.create_user("eve"))
    world.named("o/r").rename("o/next")
    at_github.edit(title="It hung")
    fetch("o/r")
    home = Repository.objects.get(name="next")
    assert home.issues.get(number=2).current_snapshot.title == "It hung"
    assert Repository.objects.get(name="next-uploaded").issues.get().current_snapshot.title == "Of a file"


@pytest.mark.usefixtures("known_people", "way")
def test_a_number_that_is_a_pull_request_does_not_end_a_check(
    at_github: Any, world: Any, take: Any, fetch: Any
) -> None:
    home = world.repository("o/checked")
    home.issue("Here")
    home.pull_request()
    gone = home.issue("Gone")
    fetch("o/checked")
    take([{"number": 2, "repository": "o/checked", "title": "Of a file"}])
    gone.delete()
    run = start_check(user=None, repository="o/checked", numbers=[1, 2, 3], send=False)
    run_steps.work(run.pk)
    run.refresh_from_db()
    there = dict(Issue.objects.filter(repository__name="checked").values_list("number", "presence"))
    assert (run.state, there) == ("done", {1: "here", 2: "here", 3: "deleted"})
    assert "pull request" in run.refusals.get().reason


@pytest.mark.parametrize("n_fetches", [1, 2])
def test_names_that_an_earlier_file_gave_to_people_are_not_taken_for_githubs(
    at_github: Any, known_people: None, take: Any, fetch: Any, way: str, n_fetches: int
) -> None:
    person = {"id": number_of("bob"), "login": "FAKE-owner"}
    said = comments(at_github, user={"id": number_of("erin"), "login": "FAKE-maintainer"})
    take([row(at_github, user=person, comments=said, updated_at="2024-02-01T00:00:00Z")])
    take([row(at_github, title="Another", comments=comments(at_github), updated_at="2024-03-01T00:00:00Z")])
    for _ in range(n_fetches):
        fetch()
        assert shown() == TRUE


def test_the_closing_date_of_a_file_does_not_stay_on_an_open_issue(
    at_github: Any, known_people: None, take: Any, fetch: Any, way: str
) -> None:
    take([row(at_github, comments=comments(at_github), closed_at="2020-01-01T00:00:00Z")])
    assert shown()[-2:] == (datetime(2020, 1, 1, tzinfo=UTC), "file")
    fetch()
    assert shown() == TRUE
