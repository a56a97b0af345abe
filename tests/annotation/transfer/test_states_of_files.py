"""Stored states that an imported study takes: GitHub's, or one that says all the same as its own file."""

import html
import io
import json
import re
from typing import Any

import pytest
from django.core.files.base import File
from django.db import connection
from django.test import Client

from annotation.core.errors import ConcordError
from annotation.labeling.views.labeling import issue_html
from annotation.models import Item, Study
from annotation.rounds.actions import rounds
from annotation.transfer.actions import study_import
from ingest.actions.fetches import run_now
from ingest.actions.uploads import start_file_fetch
from ingest.models import FetchRun, Issue, Repository, Snapshot
from tests import builders as make
from tests.annotation.transfer.test_forged_study_files import forged
from tests.annotation.transfer.test_study_import import brought, changed

pytestmark = pytest.mark.django_db

ADDRESS = "https://github.com/acme/engine/issues/1"
OF_ANOTHER = "https://github.com/eve/engine/issues/1"
FORGED = [
    ("snapshots", {"author_login": "FAKE"}),
    ("snapshots", {"html_url": ""}),
    ("snapshots", {"updated_at": "2023-01-01T00:00:00+00:00"}),
    ("snapshots", {"locked": True}),
    ("snapshots", {"fetched_at": "2023-01-01T00:00:00+00:00"}),
    ("comments", {"author_login": "FAKE"}),
]


@pytest.fixture
def study() -> Study:
    """One of an issue of which the file has the numbers of all people, so that no name is in a hash."""
    upload("olga")
    made = make.study()
    asked = rounds.NewRound(raters=["bob", "carol"], issues=["acme/engine#1"])
    round_ = rounds.create_round(seat=make.owner_seat(made), asked=asked)
    rounds.open_round(seat=make.owner_seat(made), number=round_.number, unregistered=True)
    return made


def upload(name: str, **changes: Any) -> None:
    said = {"body": "Confirmed.", "created_at": "2024-01-02T00:00:00Z", "user": {"login": "carol", "id": 8}}
    comments = [said | {"id": pk} for pk in range(1, 52)]
    row = {"number": 1, "title": "It hangs", "body": "Two nodes.", "state": "open", "labels": [], "comments": comments}
    row |= {"user": {"login": "dana", "id": 7}, "html_url": ADDRESS, "locked": False}
    row |= {"created_at": "2024-01-01T00:00:00Z", "updated_at": "2024-01-03T00:00:00Z"} | changes
    file = File(io.BytesIO(json.dumps([row]).encode()), name="issues.json")
    run_now(run=start_file_fetch(user=make.user(name), file=file, repository="acme/engine", private=False, send=False))


def read(study: Study) -> tuple[Any, ...]:
    """What the study's raters read of its issue, beside its text."""
    state = Item.objects.get(study=study).snapshot
    thread = [(comment.author_login, comment.body) for comment in state.thread()]
    return state.author_login, state.html_url, state.updated_at, state.locked, state.fetched_at, thread


def bring(file: io.BytesIO, slug: str, name: str, *, staff: bool = False) -> Study:
    stored, _ = study_import.bring_study(user=make.user(name, staff=staff), file=file, slug=slug)
    return stored.study


def is_fetched(name: str) -> None:
    Repository.objects.filter(name=name).update(github_id=77)


@pytest.mark.parametrize(("table", "columns"), FORGED)
@pytest.mark.parametrize("staff", [False, True])
def test_names_and_times_are_those_of_the_studys_own_file(
    study: Study, table: str, columns: dict[str, Any], staff: bool
) -> None:
    """A stranger who brings the issue first has no say in them, even where the hashes are true."""
    file, before = brought(study), read(study)
    Repository.objects.update(name="another")
    bring(changed(file, forged(table, **columns), honest=True), "of-eve", "eve")
    is_fetched("engine")
    assert read(bring(file, "of-ron", "ron", staff=staff)) == before
    assert Snapshot.objects.filter(issue__repository__name="engine").count() == 2
    bring(file, "again", "ron", staff=staff)
    assert Snapshot.objects.filter(issue__repository__name="engine").count() == 2
    current = Repository.objects.get(name="engine").issues.get().current_snapshot
    assert current == Item.objects.get(study__slug="of-eve").snapshot


@pytest.mark.parametrize("staff", [False, True])
def test_a_state_that_github_told_is_taken_whatever_the_file_calls_people(study: Study, staff: bool) -> None:
    file, before = brought(study), read(study)
    fake = changed(file, forged("snapshots", author_login="FAKE"), honest=True)
    is_fetched("engine")
    as_told_by_github(Snapshot.objects.get())
    assert read(bring(fake, "of-ron", "ron", staff=staff)) == before
    assert Snapshot.objects.count() == 1


@pytest.mark.parametrize("is_told", [False, True])
def test_pages_show_the_state_that_is_meant_of_several_with_one_hash(study: Study, is_told: bool) -> None:
    """The last comments of a long thread, which the label page fetches, and the REST API, which knows hashes alone."""
    file = brought(study)
    Repository.objects.update(name="another")
    bring(changed(file, forged("comments", author_login="FAKE"), honest=True), "of-eve", "eve")
    is_fetched("engine")
    pinned = Item.objects.get(study=bring(file, "of-ron", "ron")).snapshot
    if is_told:
        as_told_by_github(pinned)
    client = Client()
    client.force_login(make.user("ron"))
    address = re.search(r'hx-get="([^"]+)"', issue_html(pinned))
    assert address is not None
    for path in (html.unescape(address[1]), f"/issues/acme/engine/1/?snapshot={pinned.sha256}&after=50"):
        page = client.get(path).content.decode()
        assert "carol" in page and "FAKE" not in page, path
    states = f"/api/v1/issues/acme/engine/1/snapshots/{pinned.sha256}/"
    assert client.get(states).json()["comments"][-1]["author"] == "carol"
    of_eve = Item.objects.get(study__slug="of-eve").snapshot
    assert "FAKE" in client.get(f"/issues/acme/engine/1/?snapshot={of_eve.key}").content.decode()
    for wrong in (f"{of_eve.sha256[:12]}.0", f"{of_eve.sha256[:12]}.x", "0" * 12):
        assert client.get(f"/issues/acme/engine/1/comments/?snapshot={wrong}").status_code == 404


def test_an_upload_takes_no_state_that_the_file_of_a_study_added(study: Study) -> None:
    fake = changed(brought(study), forged("snapshots", author_login="FAKE"), honest=True)
    is_fetched("engine")
    bring(fake, "of-eve", "eve")
    assert Snapshot.objects.filter(author_login="FAKE").count() == 1
    make.user("sam", staff=True)
    for title, hour in (("It hung", 1), ("It hangs", 2)):
        upload("sam", title=title, updated_at=f"2024-01-04T0{hour}:00:00Z")
        current = Issue.objects.get(number=1).current_snapshot
        assert (current.title, current.author_login) == (title, "dana")


def test_a_file_with_other_names_than_an_upload_of_others_is_rejected(study: Study) -> None:
    fake = changed(brought(study), forged("comments", author_login="FAKE"), honest=True)
    with pytest.raises(ConcordError, match="was uploaded by someone else here"):
        bring(fake, "of-eve", "eve")
    assert bring(brought(study), "of-ron", "ron") and Snapshot.objects.count() == 1


@pytest.mark.parametrize(
    "address",
    [
        OF_ANOTHER,
        "https://github.com/acme/engine/issues/2",
        "https://github.com/acme/engine/../../eve/engine/issues/1",
        "https://github.com/acme/engine/%2e%2e/%2e%2e/eve/issues/1",
        "https://github.com/acme/engine/issues/1#/../1",
        "https://github.com\\@evil.example/acme/engine/issues/1",
    ],
)
def test_an_address_of_another_issue_is_not_kept(study: Study, address: str) -> None:
    def elsewhere(entries: dict[str, bytes]) -> None:
        forged("snapshots", html_url=address)(entries)
        forged("issues", page_url=address)(entries)

    file = changed(brought(study), elsewhere, honest=True)
    assert kept(file, "of-eve") == ("", "")


@pytest.mark.parametrize(
    "address", [ADDRESS, "https://GitHub.com/Acme/engine/pull/1", "http://github.com/acme/engine/-/work_items/1"]
)
def test_an_address_of_the_issue_is_kept(study: Study, address: str) -> None:
    file = changed(brought(study), forged("snapshots", html_url=address), honest=True)
    assert kept(file, "of-ron")[0] == address


def kept(file: io.BytesIO, slug: str) -> tuple[str, str]:
    Repository.objects.update(name="another")
    state = Item.objects.get(study=bring(file, slug, "eve")).snapshot
    return state.html_url, state.issue.page_url


def as_told_by_github(state: Snapshot) -> None:
    run = FetchRun.objects.create(kind=FetchRun.Kind.GITHUB, repository=Repository.objects.get(name="engine"))
    without_guards("UPDATE ingest_snapshot SET run_id = %s WHERE id = %s", [run.pk, state.pk])


def without_guards(statement: str, values: list[Any]) -> None:
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL session_replication_role = replica")
        cursor.execute(statement, values)
        cursor.execute("SET LOCAL session_replication_role = origin")
