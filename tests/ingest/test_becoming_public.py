"""Repositories that become public at GitHub: what they told of private ones while they were private is gone then."""

from collections.abc import Callable
from typing import Any

import pytest
from django.core.cache import cache
from django.test import Client

from annotation.choosing.actions.duplicates import DuplicateSearch
from annotation.choosing.actions.samples import draw_sample
from annotation.labeling.views.labeling import issue_html
from annotation.models import BulkJob, LikelyDuplicate
from ingest import run_steps
from ingest.actions.fetches import start_check, start_closing_fetch, start_fetch
from ingest.models import Activity, ClosingChange, FetchRun, Issue, Repository, Snapshot
from tests import builders as make
from tests.github import GitHub, World, shapes
from tests.github.world import File
from tests.github.world import Repository as Home
from tests.ingest.test_webhooks import API, SECRET, Hook
from tests.scripts import Script

pytestmark = [pytest.mark.django_db, pytest.mark.github]
Fetch = Callable[..., FetchRun]
NUMBERS = range(1, 8)


@pytest.fixture(autouse=True)
def server_with_a_token(github: GitHub, settings: Any) -> None:
    github.tokens = {"t"}
    settings.GITHUB_TOKENS = ["t"]


@pytest.fixture
def home(world: World, fetch: Fetch) -> Home:
    """A private repository that was fetched and checked. Each of its issues, but one, leads to another private one."""
    home, hidden = world.repository("lab/app", private=True), world.repository("lab/topsecret", private=True)
    public = world.repository("lab/open")
    issues = [home.issue(f"Title {number}") for number in range(1, 7)]
    issues[0].close_by(hidden.pull_request("topsecret repair", files=[File("topsecret/a.py", 7, 3)]))
    issues[1].close_by(hidden.commit("topsecret commit", files=[File("topsecret/b.py", 2, 2)]))
    issues[2].close_by(public.pull_request("Open repair"))
    issues[2].label("bug")
    issues[3].mark_as_duplicate(hidden.issue("topsecret issue"))
    hidden.issue("Moved here").transfer(home)
    sam = make.user("sam", staff=True)
    assert fetch("lab/app", user=sam).state == "done"
    issues[4].transfer(hidden)
    issues[5].close()
    issues[5].convert_to_discussion().repository = hidden
    assert worked(start_check(user=sam, repository="lab/app", numbers=list(NUMBERS), send=False)).state == "done"
    assert shown_to("sam").count("topsecret") > 7
    return home


def worked(run: FetchRun) -> FetchRun:
    run_steps.work(run.pk)
    run.refresh_from_db()
    return run


def shown_to(name: str) -> str:
    """All that pages, REST and files tell someone of the issues of the repository."""
    script, pages = Script(name), Client()
    pages.force_login(make.user(name))
    own = [f"issues/lab/app/{number}/" for number in NUMBERS]
    answers = [script.send("GET", path) for path in (*own, "repositories/lab/app/changes/", "repositories/lab/app/")]
    answers += [script.send("GET", f"repositories/lab/app/{what}/?format=jsonl") for what in ("issues", "changes")]
    answers += [pages.get(f"/{path}") for path in own]
    assert {answer.status_code for answer in answers} == {200}
    return "".join(answer.getvalue().decode() for answer in answers)


WAYS: dict[str, Callable[[Any], FetchRun]] = {
    "whole": lambda user: start_fetch(user=user, repository="lab/app", send=False),
    "last": lambda user: start_fetch(user=user, repository="lab/app", since="last", send=False),
    "open ones": lambda user: start_fetch(user=user, repository="lab/app", state="open", send=False),
    "check": lambda user: start_check(user=user, repository="lab/app", numbers=[3], send=False),
    "closing changes": lambda user: start_closing_fetch(user=user, repository="lab/app", numbers=[3], send=False),
}


@pytest.mark.parametrize(("way", "name"), [("last", "sam"), *((way, "eve") for way in WAYS)])
def test_nothing_is_told_of_private_repositories_when_one_becomes_public(
    home: Home, fetch: Fetch, way: str, name: str
) -> None:
    user = make.user(name)
    home.private = False
    assert worked(WAYS[way](user)).state == "done"
    assert not Repository.objects.get(name="app").private
    assert "topsecret" not in shown_to("eve")
    assert fetch("lab/app", user=user, since="last").state == "done"
    text = shown_to("eve")
    assert "topsecret" not in text and "Open repair" in text and '"bug"' in text
    told = Issue.objects.filter(repository__name="app").order_by("number")
    assert [issue.number for issue in told if not issue.changes_known] == [5]
    assert list(told.exclude(presence="here").values_list("number", "presence", "moved_to")) == [
        (5, "transferred", ""), (6, "discussion", ""),
    ]  # fmt: skip
    kinds = [event["kind"] for each in Activity.objects.order_by("issue") for event in each.told["events"]]
    assert {"transferred", "marked_as_duplicate"} <= set(kinds)


def test_nothing_is_told_while_the_fetch_that_makes_it_public_waits(github: GitHub, home: Home, fetch: Fetch) -> None:
    home.private = False
    github.fault("status_500", "/graphql", times=9)
    assert fetch("lab/app", user=make.user("eve")).state == "waiting"
    assert "topsecret" not in shown_to("eve")
    assert not ClosingChange.objects.exists()


def test_nothing_is_told_of_private_repositories_where_the_name_changed_with_it(home: Home, fetch: Fetch) -> None:
    home.rename("lab/renamed")
    home.private = False
    assert fetch("lab/app", user=make.user("eve")).state == "done"
    home.rename("lab/app")
    assert fetch("lab/app", user=make.user("eve")).state == "done"
    assert "topsecret" not in shown_to("eve")


@pytest.mark.parametrize("since", [None, "last"])
def test_a_place_that_a_message_told_in_private_is_gone_when_the_repository_becomes_public(
    world: World, home: Home, fetch: Fetch, settings: Any, since: str | None
) -> None:
    settings.GITHUB_WEBHOOK_SECRET = SECRET
    issue, hidden = home.issues[4], world.repository("lab/hidden", private=True)
    told = {"action": "transferred", "repository": shapes.repository(API, home), "issue": shapes.issue(API, issue)}
    moved = issue.transfer(hidden)
    changes = {"new_issue": shapes.issue(API, moved), "new_repository": shapes.repository(API, hidden)}
    Hook().tell("issues", told | {"changes": changes})
    stored = Issue.objects.get(repository__name="app", number=4)
    assert stored.moved_to == f"lab/hidden#{moved.number}"
    home.private = False
    assert fetch("lab/app", user=make.user("eve"), since=since).state == "done"
    stored.refresh_from_db()
    assert (stored.presence, stored.moved_to) == ("transferred", "")


def test_public_places_are_told_again_by_a_check(world: World, home: Home, fetch: Fetch) -> None:
    eve = make.user("eve")
    home.issues[1].transfer(world.named("lab/open") or home)
    home.private = False
    assert fetch("lab/app", user=eve).state == "done"
    assert worked(start_check(user=eve, repository="lab/app", numbers=list(NUMBERS), send=False)).state == "done"
    places = Issue.objects.exclude(presence="here").order_by("number").values_list("number", "moved_to")
    assert list(places) == [(1, "lab/open#2"), (5, ""), (6, "")]


def test_raters_are_shown_no_page_that_was_rendered_while_the_repository_was_private(home: Home, fetch: Fetch) -> None:
    cache.clear()

    def page() -> str:
        found = Snapshot.objects.select_related("issue__repository").filter(issue__repository__name="app")
        return issue_html(found.get(issue__number=1))

    assert "topsecret" in page()
    home.private = False
    assert fetch("lab/app", user=make.user("eve")).state == "done"
    assert Issue.objects.get(repository__name="app", number=1).changes_known
    assert "topsecret" not in page()


@pytest.mark.parametrize("is_late", [False, True])
def test_duplicates_in_samples_name_no_private_repository_when_theirs_becomes_public(
    home: Home, fetch: Fetch, is_late: bool
) -> None:
    seat = make.owner_seat(make.study(owner="sam"))
    n = Issue.objects.filter(repository__name="app").count()
    sample = draw_sample(seat=seat, size=n, seed=1, filter={"repository": ["lab/app"]})
    search, job = DuplicateSearch(seat, sample), BulkJob(sample=sample)
    assert search.step(job)
    if not is_late:
        assert not search.step(job)
        assert LikelyDuplicate.objects.filter(named__startswith="lab/topsecret#").count() == 1
    home.private = False
    assert fetch("lab/app", user=make.user("eve"), since="last").state == "done"
    if is_late:
        assert not search.step(job)
    (row,) = LikelyDuplicate.objects.filter(how="marked")
    assert (row.issue.number, row.named) == (4, "")
    pages = Client()
    pages.force_login(make.user("ada"))
    answers = [pages.get(f"/studies/study/sample/{sample.pk}/duplicates/")]
    answers += [Script("ada").send("GET", f"studies/study/samples/{sample.pk}/duplicates/")]
    assert {answer.status_code for answer in answers} == {200}
    assert not any(b"topsecret" in answer.content for answer in answers)
