"""Issues that are taken into a study while their repository becomes private: the fetch sees that they are read."""

import io
import threading
from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection, transaction

from accounts.models import User
from annotation.choosing.actions import batches, items, samples
from annotation.core.errors import Conflict, Forbidden
from annotation.imports.actions import ratings as sheets
from annotation.models import BulkJob, Item, SampleIssue, Study
from annotation.rounds import jobs as bulk_jobs
from annotation.rounds.actions import rounds
from annotation.studies.actions.studies import create_study
from annotation.transfer.actions import life, rows
from annotation.transfer.actions.study_import import bring_study
from ingest.models import ClosingChange, FetchRun, Issue, Repository
from tests import builders as make
from tests.annotation.transfer.test_study_import import brought as whole_file
from tests.asserts import wait_until_someone_waits_for_a_lock
from tests.github import GitHub, World
from tests.github.world import File

pytestmark = [pytest.mark.django_db, pytest.mark.github]

SHEET = b"item,rater,dimension,value\no/r#1,bob,symptom,crash\n"


@pytest.fixture(autouse=True)
def public(world: World, github: GitHub, settings: Any, fetch: Callable[..., FetchRun]) -> None:
    """A repository that ann fetched while it was public, a study of hers, and root, who is staff."""
    User.objects.create_user("root", is_staff=True)
    github.tokens = {"t"}
    settings.GITHUB_TOKENS = ["t"]
    home = world.repository("o/r")
    for number in (1, 3, 4):
        home.issue("Public title", number=number)
    make.study(owner="ann", raters=["bob"])
    assert fetch(user=make.user("ann")).state == "done"


def close_in_private(world: World) -> None:
    home = world.named("o/r")
    assert home is not None
    home.private = True
    home.issues[1].close_by(home.pull_request("Secret repair", files=[File("secret/path.py", 7, 3)], number=2))


def shared() -> Study:
    """A study with the issue, in which someone may read the repository whatever becomes of it."""
    ann = make.user("ann")
    taxonomy = Study.objects.get().taxonomy.slug
    study = create_study(user=ann, slug="shared", title="Shared", taxonomy=taxonomy)
    with transaction.atomic():
        items.items_for(make.owner_seat(study), [Issue.objects.get(number=1)])
    study.memberships.create(user=User.objects.get(username="root"), roles=["adjudicator"])
    return study


def take(way: str, file: io.BytesIO | None) -> None:
    """Ann takes the first issue into a study, one way or another."""
    seat = make.owner_seat(Study.objects.get(slug="study"))
    if way == "draw":
        samples.draw_sample(seat=seat, filter={"repository": "o/r"}, size=3)
    elif way == "name":
        asked = rounds.NewRound(raters=["bob"], raters_per_item=1, issues=["o/r#1"])
        rounds.create_round(seat=seat, asked=asked)
    elif way == "sheet":
        sheets.import_ratings(user=seat.user, study="study", file=SHEET, name="sheet.csv")
    elif way == "duplicate":
        source = make.owner_seat(Study.objects.get(slug="shared"))
        life.duplicate_study(seat=source, slug="copy", with_items=True)
    else:
        assert file is not None
        bring_study(user=seat.user, file=file, slug="copy")


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("way", ["draw", "name", "sheet", "file", "duplicate"])
def test_a_fetch_that_makes_a_repository_private_waits_for_who_takes_its_issues(
    world: World, fetch: Callable[..., FetchRun], way: str
) -> None:
    file = whole_file(shared()) if way in ("file", "duplicate") else None
    close_in_private(world)
    found: list[FetchRun] = []

    def make_private() -> None:
        try:
            found.append(fetch(user=User.objects.get(username="root")))
        finally:
            connection.close()

    fetching = threading.Thread(target=make_private)
    with transaction.atomic():
        take(way, file)
        fetching.start()
        wait_until_someone_waits_for_a_lock()
        assert not found
    fetching.join(30)
    assert found[0].state == "done" and Repository.objects.get(name="r").private
    assert not ClosingChange.objects.exists() and "none of whose members" in found[0].refusals.get().reason


def become_private(world: World, fetch: Callable[..., FetchRun]) -> None:
    close_in_private(world)
    assert fetch(user=User.objects.get(username="root")).state == "done"


def between(monkeypatch: pytest.MonkeyPatch, module: Any, name: str, act: Callable[[], None]) -> None:
    """Has something happen once, before a function is called."""
    before = getattr(module, name)

    def then(*given: Any, **named: Any) -> Any:
        monkeypatch.setattr(module, name, before)
        act()
        return before(*given, **named)

    monkeypatch.setattr(module, name, then)


@pytest.mark.parametrize("way", ["draw", "name", "sheet", "file", "duplicate"])
def test_issues_of_a_repository_that_became_private_are_not_taken(
    world: World, fetch: Callable[..., FetchRun], monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    """It was public when the person's right to read it was looked at first."""
    file = whole_file(shared()) if way in ("file", "duplicate") else None
    at: dict[str, tuple[Any, str]] = {
        "draw": (samples.SampleDraw, "of"), "name": (items, "items_for"), "sheet": (sheets, "hold_repositories"),
        "file": (rows.study_import, "store_issues"), "duplicate": (life, "create_study"),
    }  # fmt: skip
    between(monkeypatch, *at[way], lambda: become_private(world, fetch))
    if way == "sheet":
        take(way, file)
    else:
        with pytest.raises((Conflict, Forbidden), match="private"), transaction.atomic():
            take(way, file)
    others = Item.objects.exclude(study__slug="shared")
    assert not others.filter(issue__isnull=False).exists() and not SampleIssue.objects.exists()


def test_a_job_stops_drawing_where_a_repository_became_private(
    world: World, fetch: Callable[..., FetchRun], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(batches, "JOB_FROM", 1)
    monkeypatch.setattr(batches, "BATCH", 2)
    take("draw", None)
    become_private(world, fetch)
    job = BulkJob.objects.get()
    bulk_jobs.work(job.pk)
    job.refresh_from_db()
    assert job.state == "failed" and "became private" in job.error
    assert not SampleIssue.objects.exists() and ClosingChange.objects.get().issue == Issue.objects.get(number=1)
    with pytest.raises(Conflict, match="Draw another one"):
        samples.take_in(seat=make.owner_seat(Study.objects.get()), sample=Study.objects.get().samples.get())


def test_an_issue_that_was_in_a_frame_but_not_drawn_is_not_taken_by_its_name(
    world: World, fetch: Callable[..., FetchRun], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever drew may read its snapshot, but no fetch knew that they would see what closed it."""
    seat = make.owner_seat(Study.objects.get(slug="study"))
    samples.draw_sample(seat=seat, filter={"repository": "o/r"}, size=1)
    other = Issue.objects.exclude(pk=SampleIssue.objects.get().issue_id).first()
    assert other is not None
    between(monkeypatch, items, "items_for", lambda: become_private(world, fetch))
    asked = rounds.NewRound(raters=["bob"], raters_per_item=1, issues=[other.identifier])
    with pytest.raises(Forbidden, match="private"):
        rounds.create_round(seat=seat, asked=asked)
