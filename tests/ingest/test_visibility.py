"""Who sees what someone uploaded: over REST, on pages and in the shell."""

import io
import json
from datetime import timedelta
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import CommandError, call_command
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from accounts.actions import make_token
from accounts.models import ServerEvent, User
from annotation.rounds.actions import rounds as round_actions
from config.backups import upgrade
from config.env import PeopleSetting
from ingest import queries, run_steps
from ingest.models import FetchRun, Issue, Repository, Snapshot
from ingest.search import indexing
from tests import builders as make

pytestmark = pytest.mark.django_db
V1 = "/api/v1"


class Person:
    """Someone with a session and a token."""

    def __init__(self, name: str, *, staff: bool = False) -> None:
        self.user = User.objects.create_user(name, is_staff=staff)
        self.pages = Client()
        self.pages.force_login(self.user)
        self.headers = {"Authorization": f"Bearer {make_token(user=self.user, name='t', scope='manage')[1]}"}

    def get(self, path: str) -> Any:
        return Client().get(f"{V1}{path}", headers=self.headers)

    def patch(self, path: str, body: Any) -> Any:
        return Client().patch(f"{V1}{path}", json.dumps(body), "application/json", headers=self.headers)

    def upload(self, *titles: str, repository: str = "acme/rocket", **fields: Any) -> FetchRun:
        """A file of issues over REST, read to its end."""
        answer = Client().post(f"{V1}/fetches/", {"file": file_of(titles, repository)} | fields, headers=self.headers)
        assert answer.status_code == 202, answer.json()
        return finished(answer.json()["id"])

    def sees(self, path: str = "acme/rocket/1") -> bool:
        """Whether an issue is there, over REST and as a page alike."""
        statuses = {self.get(f"/issues/{path}/").status_code, self.pages.get(f"/issues/{path}/").status_code}
        assert len(statuses) == 1
        return statuses == {200}


def file_of(titles: Any, repository: str) -> SimpleUploadedFile:
    rows = [{"number": n, "title": title, "repository": repository} for n, title in enumerate(titles, start=1)]
    return SimpleUploadedFile("issues.jsonl", "\n".join(json.dumps(row) for row in rows).encode())


def finished(run_id: int) -> FetchRun:
    run_steps.work(run_id)
    indexing.index()
    return FetchRun.objects.get(pk=run_id)


def reasons(run: FetchRun) -> list[str]:
    return list(run.refusals.values_list("reason", flat=True))


@pytest.fixture
def ann() -> Person:
    return Person("ann")


@pytest.fixture
def bob() -> Person:
    return Person("bob")


@pytest.fixture
def staff() -> Person:
    return Person("root", staff=True)


def test_a_file_over_rest_is_private_unless_its_uploader_says_otherwise(ann, bob, staff):
    assert ann.upload("It hangs").n_new == 1
    assert (ann.sees(), bob.sees(), staff.sees()) == (True, False, True)
    assert bob.get("/issues/?repository=acme/rocket").json()["results"] == []
    assert bob.get("/issues/?search=hangs").json()["results"] == []
    assert bob.get("/repositories/").json()["results"] == []
    ann.upload("It burns", repository="acme/open", private="false")
    assert bob.sees("acme/open/1")


def test_a_file_on_a_page_is_private_unless_its_uploader_unticks_the_box(ann, bob):
    page = ann.pages.get("/repositories/").content.decode()
    assert '<input type="checkbox" name="private" id="upload_private" checked>' in page
    for name, sent in (("acme/rocket", {"private": "on"}), ("acme/open", {})):
        answer = ann.pages.post("/repositories/upload/", {"file": file_of(["It hangs"], name)} | sent)
        finished(int(answer["Location"].split("/")[2]))
    assert (bob.sees("acme/rocket/1"), bob.sees("acme/open/1")) == (False, True)
    shown = bob.pages.get("/repositories/").content.decode() + bob.pages.get("/issues/").content.decode()
    assert "acme/open" in shown and "acme/rocket" not in shown
    assert "<strong>1</strong> issue" in shown or "1 issue" in shown


def test_nonsense_for_private_is_rejected_and_nothing_is_stored(ann):
    sent = {"file": file_of(["It hangs"], "acme/rocket"), "private": "perhaps"}
    answer = Client().post(f"{V1}/fetches/", sent, headers=ann.headers)
    assert (answer.status_code, list(answer.json()["fields"])) == (422, ["private"])
    assert not FetchRun.objects.exists()


def test_the_shell_stores_what_is_open_unless_told_private(ann, bob, tmp_path):
    for name, more in (("acme/open", []), ("acme/rocket", ["--private"])):
        path = tmp_path / "issues.jsonl"
        path.write_bytes(file_of(["It hangs"], name).read())
        call_command("fetch", "--file", str(path), "--user", "ann", *more, stdout=io.StringIO())
    assert (bob.sees("acme/open/1"), bob.sees("acme/rocket/1"), ann.sees("acme/rocket/1")) == (True, False, True)


def test_a_private_file_stores_nothing_in_a_repository_that_others_see(ann, bob):
    ann.upload("Known to all", private="false")
    run = ann.upload("Known to all", "A secret of Ann")
    assert (run.n_new, run.n_changed, run.n_refused) == (0, 0, 2)
    assert "acme/rocket is open to everyone who signs in here" in reasons(run)[0]
    assert Issue.objects.count() == Snapshot.objects.count() == 1 and bob.sees()
    assert not Repository.objects.get().private


def test_a_private_file_stores_nothing_in_a_repository_with_other_readers(ann, bob):
    bob.upload("Known to Bob and Ann")
    Repository.objects.get().readers.add(ann.user)
    run = bob.upload("Known to Bob and Ann", "A secret of Bob")
    assert run.n_refused == 2 and "Other people read acme/rocket here" in reasons(run)[0]
    assert bob.upload("Known to Bob and Ann", "No secret", private="false").n_new == 1
    assert "Only the person who uploaded acme/rocket, and staff" in reasons(ann.upload("Of Ann", private="false"))[0]


def test_to_what_someone_opened_only_they_and_staff_add(ann, bob, staff):
    ann.upload("It hangs", private="false")
    run = bob.upload("It never hangs", "Of Bob", private="false")
    assert (run.n_new, run.n_changed, run.n_refused) == (0, 0, 2)
    assert "Only the person who uploaded acme/rocket, and staff, can add to it or change it." in reasons(run)[0]
    assert bob.get("/issues/acme/rocket/1/").json()["title"] == "It hangs"
    for private in (True, False):
        assert ann.patch("/repositories/acme/rocket/", {"private": private}).status_code == 200
    assert ann.upload("It hung", private="false").n_changed == 1
    assert staff.upload("It was slow", "Of staff", private="false").n_changed == 1


def test_an_upload_gives_nobody_a_look_at_what_someone_else_uploaded(ann, bob):
    ann.upload("A secret of Ann")
    for private in ("true", "false"):
        run = bob.upload("Mine", "Mine as well", private=private)
        assert (run.n_new, run.n_refused) == (0, 2)
        assert not bob.sees() and Repository.objects.get().private
    assert [user.username for user in Repository.objects.get().readers.all()] == ["ann"]


@pytest.mark.github
def test_a_fetch_does_not_open_what_was_uploaded_privately(ann, bob, world, fetch):
    ann.upload("A secret of Ann", repository="o/r")
    world.repository("o/r").issue("Public")
    for person in (bob, ann):
        run = fetch(user=person.user)
        assert run.state == "failed" and "uploaded privately" in run.error
    assert Repository.objects.get().private and not bob.sees("o/r/1")
    assert Snapshot.objects.get().title == "A secret of Ann"
    assert ann.patch("/repositories/o/r/", {"private": False}).status_code == 200
    assert fetch(user=bob.user).state == "done"
    assert bob.sees("o/r/1")


@pytest.mark.github
def test_a_fetch_of_a_private_repository_shows_nobody_what_someone_else_uploaded(
    ann, bob, world, github, settings, fetch
):
    ann.upload("A secret of Ann", repository="o/r")
    world.repository("o/r", private=True).issue("Of GitHub")
    github.tokens = {"t"}
    settings.GITHUB_TOKENS = ["t"]
    settings.FETCHERS = PeopleSetting(everyone=True)
    run = fetch(user=bob.user)
    assert run.state == "failed" and "another person uploaded privately" in run.error
    assert not bob.sees("o/r/1")
    assert fetch(user=ann.user).state == "done"
    assert ann.sees("o/r/1") and not bob.sees("o/r/1")


@pytest.mark.github
def test_a_fetched_repository_has_the_visibility_that_it_has_at_github(ann, bob, world, fetch):
    world.repository("o/r").issue("Public")
    assert fetch(user=ann.user).state == "done"
    assert bob.sees("o/r/1")
    for person in (ann, bob):
        answer = person.patch("/repositories/o/r/", {"private": True})
        assert answer.status_code in (403, 409)
    assert not Repository.objects.get().private


def test_members_of_a_study_see_the_private_issues_that_it_uses_and_no_others(ann, bob):
    ann.upload("In the study", "Not in the study")
    study = make.study(owner="ann", raters=["bob"])
    round_actions.create_round(
        seat=make.seat(study, "ann"),
        asked=round_actions.NewRound(raters=["bob"], raters_per_item=1, issues=["acme/rocket#1"]),
    )
    assert (bob.sees("acme/rocket/1"), bob.sees("acme/rocket/2")) == (True, False)
    assert bob.get("/repositories/acme/rocket/").status_code == 404


def test_an_uploader_opens_and_closes_an_upload_and_the_audit_has_both(ann, bob):
    ann.upload("It hangs")
    assert ann.patch("/repositories/acme/rocket/", {"private": False}).json()["private"] is False
    assert bob.sees()
    page = ann.pages.get("/repositories/acme/rocket/").content.decode()
    assert "Make private" in page
    sent = {"repository": "acme/rocket", "private": "1"}
    assert ann.pages.post(reverse("change_visibility"), sent).status_code == 302
    assert not bob.sees() and ann.sees()
    lines = list(
        ServerEvent.objects.filter(verb__startswith="upload").order_by("pk").values_list("verb", "user", "detail")
    )
    said = {"repository": "acme/rocket"}
    assert lines == [("upload opened", ann.user.pk, said), ("upload made private", ann.user.pk, said)]


def test_nobody_else_opens_or_closes_an_upload(ann, bob, staff):
    ann.upload("It hangs")
    assert bob.patch("/repositories/acme/rocket/", {"private": False}).status_code == 404
    assert (
        bob.pages.post(reverse("change_visibility"), {"repository": "acme/rocket", "private": "0"}).status_code == 404
    )
    ann.patch("/repositories/acme/rocket/", {"private": False})
    assert bob.patch("/repositories/acme/rocket/", {"private": True}).status_code == 403
    assert "Make private" not in bob.pages.get("/repositories/acme/rocket/").content.decode()
    assert bob.sees()
    assert staff.patch("/repositories/acme/rocket/", {"private": True}).status_code == 200
    assert not bob.sees() and ann.sees()


def test_an_upload_to_which_others_contributed_is_changed_by_staff_alone(ann, bob, staff):
    ann.upload("It hangs", private="false")
    staff.upload("It hangs", "Of staff", private="false")
    answer = ann.patch("/repositories/acme/rocket/", {"private": True})
    assert answer.status_code == 409 and "Other people also contributed" in answer.json()["message"]
    assert staff.patch("/repositories/acme/rocket/", {"private": True}).status_code == 200
    assert ann.sees() and not bob.sees()


def test_operators_see_which_uploads_are_open_and_close_them(ann, bob, staff):
    ann.upload("It hangs", "It burns", private="false")
    ann.upload("Secret", repository="acme/secret")
    page = staff.pages.get("/operations/").content.decode()
    assert "acme/rocket" in page and "acme/secret" not in page
    found = queries.open_uploads()
    assert [(each.repository, each.uploader, each.n_issues) for each in found] == [("acme/rocket", "ann", 2)]
    sent = {"repository": "acme/rocket", "private": "1", "back": "operations"}
    assert staff.pages.post(reverse("change_visibility"), sent)["Location"] == "/operations/"
    assert queries.open_uploads() == [] and not bob.sees()


def test_the_shell_lists_open_uploads_and_closes_them(ann, bob):
    ann.upload("It hangs", private="false")
    said = io.StringIO()
    call_command("uploads", stdout=said)
    assert "acme/rocket: 1 issue, uploaded by ann on 20" in said.getvalue()
    said = io.StringIO()
    call_command("uploads", "--close", "acme/rocket", stdout=said)
    assert "acme/rocket is now private." in said.getvalue() and not bob.sees() and ann.sees()
    with pytest.raises(CommandError, match="not stored here"):
        call_command("uploads", "--close", "no/where")


def test_an_upgrade_keeps_the_visibility_of_stored_data_and_lists_open_uploads(ann, bob):
    ann.upload("It hangs", private="false")
    said: list[str] = []
    upgrade._list_open_uploads(said.append)
    assert any("acme/rocket: 1 issue, uploaded by ann" in line for line in said)
    assert bob.sees()


def test_how_many_issues_wait_to_be_searched_tells_nothing_of_private_ones(ann, bob):
    answer = Client().post(f"{V1}/fetches/", {"file": file_of(["It hangs"], "acme/rocket")}, headers=ann.headers)
    run_steps.work(answer.json()["id"])
    assert (queries.n_unsearchable(user=ann.user), queries.n_unsearchable(user=bob.user)) == (1, 0)


@pytest.mark.github
def test_a_file_of_someone_who_may_not_fetch_adds_issues_to_a_fetched_repository_and_changes_none(
    ann, staff, take, world, fetch
):
    world.repository("o/r").issue("Real")
    assert fetch(user=ann.user).state == "done"
    forged = [{"number": 1, "title": "Forged", "updated_at": timezone.now().isoformat()}, {"number": 7, "title": "New"}]
    run = take(forged, user=ann.user, repository="o/r")
    assert (run.state, run.n_new, run.n_changed, run.n_refused) == ("done", 1, 0, 1)
    assert "o/r#1 is stored from a repository that was fetched from GitHub" in reasons(run)[0]
    assert ann.get("/issues/o/r/1/").json()["title"] == "Real" and ann.sees("o/r/7")
    assert take(forged, user=staff.user, repository="o/r").n_changed == 1


@pytest.mark.github
def test_a_fetch_replaces_what_a_file_said_whatever_time_the_file_gave(ann, take, world, fetch):
    ahead = (timezone.now() + timedelta(hours=20)).isoformat()
    assert take([{"number": 1, "title": "Forged", "updated_at": ahead}], user=ann.user, repository="o/r").n_new == 1
    world.repository("o/r").issue("Real")
    assert fetch(user=ann.user).state == "done"
    assert ann.get("/issues/o/r/1/").json()["title"] == "Real"


def test_a_row_with_a_time_in_the_future_is_rejected(ann, take):
    ahead = (timezone.now() + timedelta(days=2)).isoformat()
    rows = [{"number": 1, "title": "Later", "updated_at": ahead}, {"number": 2, "title": "Now"}]
    run = take(rows, user=ann.user, repository="acme/rocket")
    assert (run.n_new, run.n_refused) == (1, 1)
    assert run.refusals.get().line == 1 and "is in the future. Correct" in reasons(run)[0]
