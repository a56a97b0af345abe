"""Names that files claim before GitHub is asked, and names of people in files: neither tells nor falsifies anything."""

from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from accounts.models import User
from annotation.choosing.actions.samples import draw_sample
from annotation.models import Study
from annotation.rounds.actions import rounds
from ingest import run_steps
from ingest.actions.fetches import start_check, start_closing_fetch
from ingest.models import Activity, ClosingChange, Comment, FetchRun, Issue, Repository, Snapshot, SnapshotComment
from ingest.upsert import batches
from tests import builders as make
from tests.github import GitHub, World, shapes
from tests.github.shapes import account_number
from tests.github.world import Comment as SaidComment
from tests.github.world import File, stamp
from tests.ingest.test_webhooks import API, SECRET, Hook, repository_of

pytestmark = [pytest.mark.django_db, pytest.mark.github]

SECRETS = ("Secret repair", "secret/path.py", "Secret title")


@pytest.fixture(autouse=True)
def server_with_a_token(github: GitHub, settings: Any) -> None:
    github.tokens = {"t"}
    settings.GITHUB_TOKENS = ["t"]


@pytest.fixture
def staff() -> User:
    return User.objects.create_user("root", is_staff=True)


def study_of_ann(*numbers: int) -> Study:
    study = make.study(owner="ann", raters=["bob"])
    asked = rounds.NewRound(raters=["bob"], raters_per_item=1, issues=[f"o/r#{number}" for number in numbers])
    rounds.create_round(seat=make.owner_seat(study), asked=asked)
    return study


def secret_issue(world: World, title: str = "Secret title") -> None:
    """An issue of the private o/r that a pull request closed."""
    home = world.repository("o/r", private=True)
    change = home.pull_request("Secret repair", files=[File("secret/path.py", 7, 3)], number=2)
    home.issue(title, number=1).close_by(change)


def fetch_what_closed(user: User) -> FetchRun:
    run = start_closing_fetch(user=user, repository="o/r", numbers=[1], send=False)
    run_steps.work(run.pk)
    run.refresh_from_db()
    assert run.state == "done", run.error
    return run


def shown_to(name: str, study: Study) -> str:
    """All that pages and files of a study say about what closed its issues."""
    client = Client()
    client.force_login(User.objects.get(username=name))
    item = study.items.get()
    pages = [f"items/{item.pk}/", "items/", "exports/issues.jsonl", "exports/changes.jsonl"]
    answers = [client.get(f"/studies/{study.slug}/{page}") for page in pages]
    assert [answer.status_code for answer in answers] == [200] * len(pages)
    return "".join(answer.getvalue().decode() for answer in answers)


@pytest.mark.parametrize("is_open", [False, True])
def test_who_claims_the_name_of_a_private_repository_learns_nothing_of_it(
    world: World, take: Any, fetch: Any, staff: User, is_open: bool
) -> None:
    ann = make.user("ann")
    take([{"number": 1, "title": "Claimed"}], user=ann, repository="o/r", private=not is_open)
    study = study_of_ann(1)
    secret_issue(world)
    assert fetch(user=staff).state == "done"
    fetch_what_closed(staff)
    text = shown_to("ann", study)
    assert "Claimed" in text and not any(secret in text for secret in SECRETS)
    claimed = Repository.objects.get(name="r-uploaded")
    assert list(Snapshot.objects.filter(issue__repository=claimed).values_list("title", flat=True)) == ["Claimed"]
    assert claimed.private is not is_open and claimed.added_by == ann
    own, private = Repository.objects.get(name="r"), Issue.objects.get(repository__name="r", number=1)
    assert own.private and not own.readers.filter(username="ann").exists()
    assert private.current_snapshot is not None and private.current_snapshot.title == "Secret title"
    assert ClosingChange.objects.get().issue == private


def test_a_second_claim_of_a_name_steps_aside_under_another_one(
    world: World, take: Any, fetch: Any, staff: User
) -> None:
    take([{"number": 1, "title": "First"}], user=make.user("ann"), repository="o/r", private=True)
    take([{"number": 1, "title": "Other"}], user=make.user("bob"), repository="o/r-uploaded", private=True)
    secret_issue(world)
    assert fetch(user=staff).state == "done"
    names = dict(Snapshot.objects.values_list("title", "issue__repository__name"))
    assert names == {"First": "r-uploaded-2", "Other": "r-uploaded", "Secret title": "r"}


def test_what_people_who_may_fetch_uploaded_is_the_repository_that_is_fetched(
    world: World, take: Any, fetch: Any, staff: User
) -> None:
    take([{"number": 1, "title": "Of staff"}], user=staff, repository="o/r", private=True)
    secret_issue(world)
    assert fetch(user=staff).state == "done"
    assert list(Snapshot.objects.order_by("pk").values_list("title", flat=True)) == ["Of staff", "Secret title"]
    assert Issue.objects.get().repository == Repository.objects.get()


@pytest.mark.parametrize("has_drawn", [False, True])
def test_a_study_of_a_repository_that_became_private_learns_nothing_later(
    world: World, fetch: Any, staff: User, has_drawn: bool
) -> None:
    """Also where it drew the issues before, and takes them in afterwards."""
    ann, home = make.user("ann"), world.repository("o/r")
    issue = home.issue("Public title", number=1)
    assert fetch(user=ann).state == "done"
    if has_drawn:
        study = make.study(owner="ann", raters=["bob"])
        draw_sample(seat=make.owner_seat(study), filter={"repository": "o/r"}, size=1)
    else:
        study = study_of_ann(1)
    home.private = True
    issue.close_by(home.pull_request("Secret repair", files=[File("secret/path.py", 7, 3)], number=2))
    assert fetch(user=staff).state == "done"
    run = fetch_what_closed(staff)
    if has_drawn:
        asked = rounds.NewRound(raters=["bob"], raters_per_item=1, sample=study.samples.get().pk, n_items=1)
        rounds.create_round(seat=make.owner_seat(study), asked=asked)
    assert not any(secret in shown_to("ann", study) for secret in SECRETS)
    assert "o/r#1 is in a study none of whose members may read this private repository" in run.refusals.get().reason
    make.owner_seat(study)
    study.memberships.create(user=staff, roles=["owner"])
    assert fetch_what_closed(staff).n_refused == 0
    assert "Secret repair" in shown_to("ann", study)


def test_strangers_learn_no_further_file_of_a_pull_request_that_they_know(
    world: World, fetch: Any, staff: User
) -> None:
    """Its files beyond the first page are read after the issues."""
    ann, home = make.user("ann"), world.repository("o/r")
    issue = home.issue("Public title", number=1)
    other = home.issue("Not in the study", number=3)
    files = [File(f"src/{n:03}.py", 1, 0) for n in range(120)]
    change = home.pull_request("Repair", "Closes #1. Closes #3.", files=files, number=2)
    for each in (issue, other):
        each.event("cross-referenced", change.user, source=change)
    assert fetch(user=ann).state == "done"
    study = study_of_ann(1)
    home.private = True
    change.files = [*change.files[1:], File("topsecret/path.py", 7, 3)]
    change.merge()
    for each in (issue, other):
        each.close(by=change)
    assert fetch(user=staff).state == "done"
    assert "topsecret" not in shown_to("ann", study)
    paths = {each.issue.number: each.paths for each in ClosingChange.objects.select_related("issue")}
    assert set(paths[3]) == {file.path for file in change.files} and "topsecret/path.py" not in paths[1]


@pytest.mark.parametrize("is_private", [True, False])
def test_a_study_of_a_repository_that_became_private_learns_no_new_place_that_is_private(
    world: World, fetch: Any, staff: User, is_private: bool
) -> None:
    issue = in_a_study_and_private_now(world, fetch)
    issue.transfer(world.repository("o/elsewhere", private=is_private))
    assert fetch(user=staff).state == "done"
    run = start_check(user=staff, repository="o/r", numbers=[1], send=False)
    run_steps.work(run.pk)
    known = Issue.objects.get()
    assert (known.presence, known.moved_to) == ("transferred", "" if is_private else "o/elsewhere#1")


@pytest.mark.parametrize("way", ["fetch", "check"])
@pytest.mark.parametrize(("is_private", "place", "is_told"), [
    (False, "o/r", True), (False, "lab/secret", False), (False, "o/open", True),
    (True, "o/r", False), (True, "lab/secret", False), (True, "o/open", True),
])  # fmt: skip
def test_the_place_of_a_discussion_is_told_to_those_who_may_see_it(
    world: World, fetch: Any, staff: User, way: str, is_private: bool, place: str, is_told: bool
) -> None:
    """The repository is open, or became private after a study of people who may not read it had taken the issue."""
    ann, home = make.user("ann"), world.repository("o/r")
    world.repository("lab/secret", private=True)
    world.repository("o/open")
    issue = home.issue("Public title", number=1)
    issue.close()
    assert fetch(user=ann).state == "done"
    study_of_ann(1)
    home.private = is_private
    if way == "check":
        assert fetch(user=staff).state == "done"
    discussion = issue.convert_to_discussion()
    discussion.repository = world.named(place) or home
    if way == "fetch":
        assert fetch(user=staff if is_private else ann).state == "done"
    else:
        run = start_check(user=staff, repository="o/r", numbers=[1], send=False)
        run_steps.work(run.pk)
    known = Issue.objects.get()
    address = f"https://github.com/{place}/discussions/{discussion.number}"
    assert (known.presence, known.moved_to) == ("discussion", address if is_told else "")


@pytest.mark.parametrize("is_private", [True, False])
def test_a_place_that_is_no_issue_is_told_only_where_it_is_public(
    world: World, fetch: Any, staff: User, monkeypatch: pytest.MonkeyPatch, is_private: bool
) -> None:
    """As where the issue that was transferred became a discussion there."""
    issue, elsewhere = world.repository("o/r").issue(number=1), world.repository("lab/other", private=is_private)
    assert fetch(user=staff).state == "done"
    issue.transfer(elsewhere)
    as_issue = shapes.issue

    def as_discussion(*given: Any, **named: Any) -> dict[str, Any]:
        shape = as_issue(*given, **named)
        return shape | {"html_url": shape["html_url"].replace("/issues/", "/discussions/")}

    monkeypatch.setattr(shapes, "issue", as_discussion)
    run_steps.work(start_check(user=staff, repository="o/r", numbers=[1], send=False).pk)
    known = Issue.objects.get()
    address = "https://github.com/lab/other/discussions/1"
    assert (known.presence, known.moved_to) == ("transferred", "" if is_private else address)


def as_told(said: SaidComment, login: str) -> dict[str, Any]:
    """A comment at GitHub as a file says it, with another name of its author."""
    user = {"login": login, "id": account_number(said.user or "")}
    return {"id": said.id, "user": user, "body": said.body, "created_at": stamp(said.created_at)}


def test_a_file_names_nobody_in_other_repositories(world: World, take: Any, fetch: Any) -> None:
    said = world.repository("o/r").issue("Public", number=1).comment("Same here.", user="carol")
    row = {"number": 1, "title": "Own", "comments": [as_told(said, "forged")]}
    take([row], user=make.user("ann"), repository="ann/x", private=True)
    assert fetch(user=make.user("bob")).state == "done"
    threads = Snapshot.objects.values_list("issue__repository__name", "comments__author_login", "comments__sha256")
    (_, name, sha256), (_, other, same) = sorted(threads)
    assert (name, other) == ("carol", "forged") and sha256 == same


def test_a_fetch_gives_people_back_the_names_that_a_file_took(world: World, take: Any, fetch: Any) -> None:
    """The file says all else as GitHub does, so that hashes are the same."""
    issue = world.repository("o/r").issue("Public", "Two nodes.", number=1, user="bob")
    said = issue.comment("Same here.", user="carol")
    row = {
        "number": 1, "title": "Public", "body": "Two nodes.", "state": "open", "labels": [],
        "user": {"login": "forged", "id": account_number("bob")}, "comments": [as_told(said, "forged-too")],
        "created_at": stamp(issue.created_at), "updated_at": stamp(issue.updated_at),
    }  # fmt: skip
    take([row], user=make.user("ann"), repository="o/r")
    first = Snapshot.objects.get()
    assert (first.author_login, first.thread().get().author_login) == ("forged", "forged-too")
    run = fetch(user=make.user("bob"))
    assert (run.state, run.n_changed) == ("done", 1)
    now = Issue.objects.get().current_snapshot
    assert now is not None and now.sha256 == first.sha256
    assert (now.author_login, now.thread().get().author_login) == ("bob", "carol")
    assert fetch(user=make.user("bob")).n_changed == 0


def test_a_fetch_replaces_what_the_file_of_a_study_said_whatever_time_it_gave(world: World, fetch: Any) -> None:
    """A state from a study's file has no run."""
    home = world.repository("o/r")
    home.issue("First", number=1)
    assert fetch().state == "done"
    later = timezone.now() + timedelta(days=20_000)
    planted = Issue.objects.create(repository=Repository.objects.get(), number=2, updated_at=later)
    planted.current_snapshot = Snapshot.objects.create(issue=planted, sha256="f" * 64, title="Forged", updated_at=later)
    planted.save()
    home.issue("Real", number=2)
    assert fetch().state == "done"
    planted.refresh_from_db()
    assert planted.current_snapshot is not None and planted.current_snapshot.title == "Real"
    assert planted.updated_at is not None and planted.updated_at < timezone.now()


def planted(home: Any, number: int, **more: Any) -> Issue:
    """An issue that the file of a study told of a fetched repository, whose state has no run."""
    later = timezone.now() + timedelta(hours=20)
    made = Issue.objects.create(repository=home, number=number, updated_at=later, page_url="https://evil.example/x")
    made.current_snapshot = Snapshot.objects.create(
        issue=made, sha256="f" * 64, title="Forged", state="closed", updated_at=later, comments_known=True, **more
    )
    made.save()
    said = Comment.objects.create(sha256="e" * 64, author_login="forged", body="Forged too.")
    SnapshotComment.objects.create(snapshot=made.current_snapshot, comment=said, position=1)
    return made


@pytest.mark.parametrize("event", ["opened", "comment", "label"])
def test_a_message_carries_nothing_over_from_what_a_file_said(
    world: World, fetch: Any, settings: Any, event: str
) -> None:
    settings.GITHUB_WEBHOOK_SECRET = SECRET
    home = world.repository("o/r")
    home.issue("First", number=1)
    assert fetch().state == "done"
    issue = planted(Repository.objects.get(), 2, github_labels=["bug"])
    real = home.issue("Real", number=2, labels=["bug"])
    hook = Hook()
    if event == "opened":
        hook.issue(real, "opened")
    elif event == "comment":
        hook.comment(real, real.comment("Genuine."))
    else:
        changed = {"label": {"name": "defect"}, "changes": {"name": {"from": "bug"}}}
        hook.tell("label", {"action": "edited", "repository": repository_of(real), **changed})
    issue.refresh_from_db()
    if event != "label":
        assert now_said(issue)[0] == "Real" and "Forged too." not in now_said(issue)
    assert fetch().state == "done"
    issue.refresh_from_db()
    assert now_said(issue) == (["Real", "Genuine."] if event == "comment" else ["Real"])
    assert issue.page_url != "https://evil.example/x" and issue.current_snapshot.state == "open"


def now_said(issue: Issue) -> list[str]:
    assert issue.current_snapshot is not None
    return [issue.current_snapshot.title, *issue.current_snapshot.thread().values_list("body", flat=True)]


def in_a_study_and_private_now(world: World, fetch: Any) -> Any:
    """An issue that ann has in a study, of a repository that GitHub calls private by now."""
    ann, home = make.user("ann"), world.repository("o/r")
    issue = home.issue("Public title", number=1)
    assert fetch(user=ann).state == "done"
    study_of_ann(1)
    home.private = True
    return issue


def test_a_message_tells_strangers_no_new_place_and_no_lock(
    world: World, fetch: Any, staff: User, settings: Any
) -> None:
    settings.GITHUB_WEBHOOK_SECRET = SECRET
    issue = in_a_study_and_private_now(world, fetch)
    assert fetch(user=staff).state == "done"
    hook = Hook()
    issue.edit(locked=True)
    hook.issue(issue, "locked")
    assert Issue.objects.get().locked is False
    place = {"new_issue": {"number": 77, "html_url": "https://github.com/o/secret/issues/77"}}
    elsewhere = {"new_repository": shapes.repository(API, world.repository("o/secret", private=True))}
    hook.issue(issue, "transferred", changes=place | elsewhere)
    assert (Issue.objects.get().presence, Issue.objects.get().moved_to) == ("transferred", "")


def test_strangers_learn_neither_when_an_issue_changed_nor_what_its_author_is_by_now(
    world: World, fetch: Any, staff: User, settings: Any
) -> None:
    settings.GITHUB_WEBHOOK_SECRET = SECRET
    issue = in_a_study_and_private_now(world, fetch)
    before = Issue.objects.values("updated_at", "author_association").get()
    issue.edit()
    assert fetch(user=staff).state == "done"
    as_owner = shapes.issue(API, issue) | {"author_association": "OWNER"}
    Hook().tell("issues", {"action": "assigned", "issue": as_owner, "repository": repository_of(issue)})
    assert Issue.objects.values("updated_at", "author_association").get() == before
    issue.edit(title="Other title")  # a snapshot that strangers do not read, with a time that decides what is newer
    assert fetch(user=staff).state == "done"
    assert Issue.objects.get().updated_at == issue.updated_at and Issue.objects.get().author_association == "NONE"


def test_a_file_of_someone_who_may_fetch_tells_strangers_nothing(
    world: World, take: Any, fetch: Any, staff: User
) -> None:
    ann, home = make.user("ann"), world.repository("o/r")
    home.issue("Public title", number=1)
    assert fetch(user=ann).state == "done"
    study = study_of_ann(1)
    home.private = True
    assert fetch(user=staff).state == "done"
    Issue.objects.update(changes_known=False)
    closed = {"number": 2, "url": "https://github.com/o/r/pull/2", "repository": {"name": "r", "owner": {"login": "o"}}}
    run = take(
        [{"number": 1, "title": "Public title", "closedByPullRequestsReferences": [closed]}],
        user=staff,
        repository="o/r",
    )
    assert not ClosingChange.objects.exists() and "none of whose members" in run.refusals.get().reason
    assert "o/r#2" not in shown_to("ann", study)


def test_a_file_of_someone_who_may_not_fetch_tells_nothing_of_what_closed_an_issue_that_it_plants(
    world: World, take: Any, fetch: Any
) -> None:
    world.repository("o/r").issue("First", number=1)
    assert fetch().state == "done"
    closed = {"number": 9, "url": "https://github.com/o/r/pull/9", "repository": {"name": "r", "owner": {"login": "o"}}}
    row = {"title": "Planted", "closedByPullRequestsReferences": [closed]}
    run = take([{"number": 2, **row}], user=make.user("ann"), repository="o/r")
    assert run.n_new == 1 and not ClosingChange.objects.exists()
    take([{"number": 2, **row}], user=make.user("ann"), repository="ann/own")
    assert ClosingChange.objects.get().issue.repository.name == "own"


FORGED: dict[str, Any] = {
    "events": [{"kind": "closed", "at": "2024-01-01T00:00:00Z", "actor": "forged", "detail": "not_planned"}],
    "reactions": {"-1": 666},
    "type": "Forged",
}


def say_of_the_past(issue: Issue) -> None:
    """What the file of a study may say of an issue in a repository of its uploader."""
    Activity.objects.update_or_create(issue=issue, defaults={"told": FORGED})
    issue.checked_at = timezone.now() + timedelta(hours=20)
    issue.save()


@pytest.mark.parametrize("has_token", [True, False])
@pytest.mark.parametrize("way", ["by its name", "by a former name"])
def test_what_an_open_claim_said_of_the_past_of_issues_ends_when_github_tells_of_them(
    world: World, take: Any, fetch: Any, settings: Any, has_token: bool, way: str
) -> None:
    """Also of issues that GitHub does not have, which stay: raters may have answered on them."""
    home = world.repository("o/r")
    home.issue("Genuine", number=1).edit(state="closed")
    closed = {"number": 9, "url": "https://github.com/o/r/pull/9", "repository": {"name": "r", "owner": {"login": "o"}}}
    row = {"title": "Claimed", "state": "closed", "closedByPullRequestsReferences": [closed]}
    take([{"number": n, **row} for n in (1, 99)], user=make.user("ann"), repository="o/r")
    for issue in Issue.objects.all():
        say_of_the_past(issue)
    study = study_of_ann(99)
    if way == "by a former name":
        home.rename("o/new")
    settings.GITHUB_TOKENS = ["t"] if has_token else []
    assert fetch("o/r", user=make.user("bob")).state == "done"
    genuine, other = Issue.objects.order_by("number")
    assert genuine.repository == other.repository and genuine.repository.github_id is not None
    assert not ClosingChange.objects.exists()
    assert [issue.changes_known for issue in (genuine, other)] == [has_token, False]
    assert [issue.checked_at for issue in (genuine, other)] == [None, None]
    told = Activity.objects.filter(issue=genuine).values_list("told", flat=True)
    assert "forged" not in str(list(told)) and not Activity.objects.filter(issue=other).exists()
    assert now_said(genuine) == ["Genuine"] and now_said(other) == ["Claimed"]
    assert study.items.get().issue == other
    assert genuine.repository.n_closing_changes == (0 if has_token else None)


def test_what_people_who_may_fetch_said_of_the_past_of_issues_stays(
    world: World, take: Any, fetch: Any, staff: User
) -> None:
    world.repository("o/r").issue("Genuine", number=1).edit(state="closed")
    closed = {"number": 9, "url": "https://github.com/o/r/pull/9", "repository": {"name": "r", "owner": {"login": "o"}}}
    take([{"number": 99, "title": "t", "closedByPullRequestsReferences": [closed]}], user=staff, repository="o/r")
    assert fetch(user=make.user("bob")).state == "done"
    assert ClosingChange.objects.get().issue.number == 99


def test_a_file_that_is_read_while_its_repository_is_fetched_for_the_first_time_claims_nothing(
    world: World, take: Any, fetch: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The batch has looked up its repository already."""
    world.repository("o/r").issue("Genuine", number=1)
    ann = make.user("ann")
    take([{"number": 99, "title": "Claimed"}], user=ann, repository="o/r")
    found = batches.repositories_of

    def then_fetched(run: FetchRun, records: Any) -> Any:
        repositories = found(run, records)
        if run.kind == FetchRun.Kind.FILE:
            Repository.objects.update(github_id=7)
        return repositories

    monkeypatch.setattr(batches, "repositories_of", then_fetched)
    closed = {"number": 9, "url": "https://github.com/o/r/pull/9", "repository": {"name": "r", "owner": {"login": "o"}}}
    row = {"title": "Claimed", "closedByPullRequestsReferences": [closed]}
    assert take([{"number": n, **row} for n in (99, 100)], user=ann, repository="o/r").n_new == 1
    assert not ClosingChange.objects.exists() and not Issue.objects.filter(changes_known=True).exists()
