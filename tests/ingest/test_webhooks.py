"""Messages of GitHub's webhook: signed, once each, in any order, and never more than they say."""

import hashlib
import hmac
import json
from pathlib import Path
from typing import Any

import pytest
from django.core.files.base import ContentFile
from django.test import Client

from accounts.models import User
from ingest import run_steps
from ingest.actions.uploads import take_upload
from ingest.models import Delivery, FetchRun, Issue, Repository, Snapshot
from tests.github import shapes
from tests.ingest.stored_rows import stored
from tests.published import WEBHOOKS

pytestmark = pytest.mark.django_db
SECRET = "a secret that both sides know"
ADDRESS = "/api/v1/webhooks/github/"
API = "https://api.github.com"


@pytest.fixture(autouse=True)
def secret(settings: Any) -> None:
    settings.GITHUB_WEBHOOK_SECRET = SECRET


class Hook:
    """Sends messages as GitHub does, and lets a worker take them in."""

    def __init__(self) -> None:
        self.n = 0

    def send(self, event: str, payload: Any, *, guid: str = "", secret: str = SECRET, **headers: str) -> Any:
        self.n += 1
        body = payload if isinstance(payload, bytes) else json.dumps(payload).encode()
        signature = "sha256=" + hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()
        given = {
            "X-GitHub-Event": event,
            "X-GitHub-Delivery": guid or f"00000000-0000-0000-0000-{self.n:012}",
            "X-Hub-Signature-256": signature,
        } | headers
        return Client().post(ADDRESS, body, content_type="application/json", headers=given)

    def tell(self, event: str, payload: Any, **more: Any) -> FetchRun:
        answer = self.send(event, payload, **more)
        assert answer.status_code == 202, answer.content
        run_steps.work(answer.json()["run"])
        run = FetchRun.objects.get(pk=answer.json()["run"])
        assert (run.state, run.error) == ("done", "")
        return run

    def issue(self, row: Any, action: str = "edited", **more: Any) -> FetchRun:
        payload = {"action": action, "issue": shapes.issue(API, row), "repository": repository_of(row), **more}
        return self.tell("issues", payload)

    def comment(self, row: Any, comment: Any, action: str = "created") -> FetchRun:
        return self.tell("issue_comment", comment_message(row, comment, action))


def repository_of(row: Any) -> dict[str, Any]:
    return shapes.repository(API, row.repository)


def comment_message(row: Any, comment: Any, action: str = "created") -> dict[str, Any]:
    told = {"issue": shapes.issue(API, row), "comment": shapes.comment(API, comment)}
    return {"action": action, **told, "repository": repository_of(row)}


def repository_elsewhere(told: dict[str, Any]) -> dict[str, Any]:
    """The message with a repository that nobody has heard of."""
    return told | {"repository": told["repository"] | {"id": 9, "name": "no", "full_name": "no/no"}}


@pytest.fixture
def hook() -> Hook:
    return Hook()


@pytest.fixture
def kept(world, fetch) -> Any:
    """A repository that is fetched already, with one issue that has one comment."""
    issue = world.repository("o/r").issue("Hangs", "Two nodes.", labels=["bug"])
    issue.comment("Seen here, too.")
    assert fetch().state == "done"
    return issue


def bodies() -> list[str]:
    return [comment.body for comment in Issue.objects.get().current_snapshot.thread()]


def test_an_edit_makes_a_snapshot_and_keeps_the_thread(kept, hook):
    kept.edit(title="Hangs at the barrier")
    hook.issue(kept)
    snapshot = Issue.objects.get().current_snapshot
    assert (snapshot.title, snapshot.comments_known, bodies()) == ("Hangs at the barrier", True, ["Seen here, too."])
    assert Snapshot.objects.count() == 2


def test_a_message_reaches_no_file_that_someone_uploaded_under_the_name(world, hook):
    eve = User.objects.create_user("eve")
    file = ContentFile(b'[{"number": 1, "title": "Hang"}]', "lab.json")
    run_steps.work(take_upload(user=eve, file=file, repository="lab/hooked").pk)
    assert Repository.objects.get(name="hooked").github_id is None
    row = world.repository("lab/hooked", private=True).issue("A private title")
    told = {"action": "opened", "issue": shapes.issue(API, row), "repository": repository_of(row)}
    assert hook.send("issues", told).json() == hook.send("issues", repository_elsewhere(told)).json()
    assert not Delivery.objects.exists() and not Snapshot.objects.filter(title="A private title").exists()


def test_what_a_message_told_is_what_a_fetch_would_bring(kept, hook, fetch):
    comment = kept.comment("A third node.")
    hook.comment(kept, comment)
    kept.edit_comment(comment, "A fourth node.")
    hook.comment(kept, comment, "edited")
    kept.close()
    hook.issue(kept, "closed")
    before = stored()
    assert fetch().n_changed == 0
    assert stored() == before
    assert bodies() == ["Seen here, too.", "A fourth node."]


def test_a_new_issue_and_its_first_comment_arrive(kept, hook, fetch):
    issue = kept.repository.issue("Runs out of memory")
    hook.issue(issue, "opened")
    hook.comment(issue, issue.comment("How much memory?"))
    before = stored()
    assert fetch().n_changed == 0
    assert stored() == before


def test_a_comment_told_late_is_not_lost(kept, hook):
    first = kept.comment("First.")
    late = comment_message(kept, first)
    second = kept.comment("Second.")
    hook.comment(kept, second)
    hook.tell("issue_comment", late)
    assert bodies() == ["Seen here, too.", "First.", "Second."]


def test_a_comment_told_as_new_after_its_edit_stays_edited(kept, hook):
    comment = kept.comment("Frist.")
    late = comment_message(kept, comment)
    kept.edit_comment(comment, "First.")
    hook.comment(kept, comment, "edited")
    hook.tell("issue_comment", late)
    assert bodies() == ["Seen here, too.", "First."]


def test_a_deleted_comment_goes_and_the_old_snapshot_keeps_it(kept, hook):
    comment = kept.comments.pop()
    hook.comment(kept, comment, "deleted")
    assert bodies() == []
    assert [c.body for c in Snapshot.objects.earliest("pk").thread()] == ["Seen here, too."]


def test_locking_makes_no_snapshot(kept, hook):
    kept.edit(locked=True)
    hook.issue(kept, "locked")
    assert Issue.objects.get().locked is True
    assert Snapshot.objects.count() == 1


def test_a_deleted_issue_stays_readable(kept, hook):
    hook.issue(kept, "deleted")
    issue = Issue.objects.get()
    assert (issue.presence, issue.current_snapshot.title) == ("deleted", "Hangs")


def test_a_transferred_issue_says_where_it_is_now(kept, hook):
    changes = {
        "new_issue": {"html_url": "https://github.com/o/other/issues/9"},
        "new_repository": repository_of(kept) | {"name": "other", "full_name": "o/other"},
    }
    hook.issue(kept, "transferred", changes=changes)
    issue = Issue.objects.get()
    assert (issue.presence, issue.moved_to) == ("transferred", "o/other#9")


def test_a_renamed_label_is_renamed_in_every_issue(kept, hook, fetch):
    for n in range(3):
        kept.repository.issue(f"Number {n}", labels=["bug", "help"])
    fetch()
    told = {"label": {"name": "defect"}, "repository": repository_of(kept)}
    hook.tell("label", {"action": "edited", "changes": {"name": {"from": "bug"}}, **told})
    labels = [sorted(issue.current_snapshot.github_labels) for issue in Issue.objects.order_by("number")]
    assert labels == [["defect"], ["defect", "help"], ["defect", "help"], ["defect", "help"]]
    assert bodies_of_first() == ["Seen here, too."]
    hook.tell("label", {"action": "deleted", **told})
    assert not Issue.objects.filter(current_snapshot__github_labels__contains=["defect"]).exists()


def bodies_of_first() -> list[str]:
    return [comment.body for comment in Issue.objects.earliest("number").current_snapshot.thread()]


def test_comments_on_pull_requests_are_left_out(kept, hook):
    pull_request = kept.repository.issue("Mend it", is_pull_request=True)
    run = hook.comment(pull_request, pull_request.comment("Looks good."))
    assert (run.n_new, Issue.objects.count()) == (0, 1)


@pytest.mark.parametrize("signature", ["", "sha256=", "sha256=" + "0" * 64, "sha1=abc", "sha256=é"])
def test_a_message_with_a_wrong_signature_is_refused(kept, hook, signature):
    answer = hook.send("issues", {}, **{"X-Hub-Signature-256": signature})
    assert (answer.status_code, answer.json()["code"]) == (401, "unsigned")
    assert not Delivery.objects.exists()


def test_a_message_signed_with_another_secret_is_refused(kept, hook):
    assert hook.send("issues", {}, secret="another").status_code == 401


def test_a_server_without_a_secret_takes_no_messages(kept, hook, settings):
    settings.GITHUB_WEBHOOK_SECRET = ""
    assert hook.send("issues", {}, secret="").status_code == 404


def test_a_message_is_taken_once(kept, hook):
    kept.edit(title="New")
    message = {"action": "edited", "issue": shapes.issue(API, kept), "repository": repository_of(kept)}
    hook.tell("issues", message, guid="one")
    again = hook.send("issues", message, guid="one")
    replayed = hook.send("issues", message, guid="another")
    assert [(answer.status_code, answer.json()["run"]) for answer in (again, replayed)] == [(200, None)] * 2
    assert Delivery.objects.count() == 1


def test_a_message_whose_run_failed_is_taken_when_github_sends_it_again(kept, hook):
    kept.edit(title="New")
    message = {"action": "edited", "issue": shapes.issue(API, kept), "repository": repository_of(kept)}
    run_id = hook.send("issues", message, guid="one").json()["run"]
    FetchRun.objects.filter(pk=run_id).update(state="failed")
    hook.tell("issues", message, guid="one")
    assert Issue.objects.get().current_snapshot.title == "New"


def test_messages_of_one_moment_share_a_run_and_keep_their_order(kept, hook):
    runs = set()
    for title in ("First", "Second", "Third"):
        kept.edit(title=title)
        message = {"action": "edited", "issue": shapes.issue(API, kept), "repository": repository_of(kept)}
        runs.add(hook.send("issues", message).json()["run"])
    assert len(runs) == 1
    run_steps.work(runs.pop())
    assert list(Snapshot.objects.order_by("pk").values_list("title", flat=True)) == [
        "Hangs",
        "First",
        "Second",
        "Third",
    ]


def test_a_run_that_was_killed_between_two_messages_goes_on_with_the_second(kept, hook):
    for title in ("First", "Second"):
        kept.edit(title=title)
        message = {"action": "edited", "issue": shapes.issue(API, kept), "repository": repository_of(kept)}
        run_id = hook.send("issues", message).json()["run"]
    Delivery.objects.filter(pk=Delivery.objects.earliest("pk").pk).update(payload=None)
    run_steps.work(run_id)
    assert Issue.objects.get().current_snapshot.title == "Second"
    assert Snapshot.objects.count() == 2


def test_messages_about_repositories_that_are_not_kept_are_dropped(world, hook):
    issue = world.repository("o/other").issue("Elsewhere")
    message = {"action": "opened", "issue": shapes.issue(API, issue), "repository": repository_of(issue)}
    answer = hook.send("issues", message)
    assert (answer.status_code, answer.json()["run"]) == (200, None)
    assert not Repository.objects.exists() and not Delivery.objects.exists()


def test_a_ping_and_unknown_events_are_answered(kept, hook):
    assert hook.send("ping", {"zen": "Keep it logically awesome.", "hook_id": 1}).status_code == 200
    assert hook.send("milestone", {"action": "created", "repository": repository_of(kept)}).status_code == 200


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"", 400),
        (b"{", 400),
        (b"[]", 400),
        (b"\xff", 400),
        (b"payload=", 400),
        (b"{}", 422),
        (b'{"repository": 5}', 422),
    ],
)
def test_a_signed_message_that_makes_no_sense_is_refused_in_words(kept, hook, body, status):
    answer = hook.send("issues", body)
    assert (answer.status_code, bool(answer.json()["message"])) == (status, True)


def test_an_issue_that_makes_no_sense_is_a_refusal_of_its_run(kept, hook):
    run = hook.tell("issues", {"action": "edited", "issue": {"number": "x"}, "repository": repository_of(kept)})
    assert run.n_refused == 1
    assert run.refusals.get().reason


def test_a_form_as_github_sends_it_is_read(kept, hook):
    from urllib.parse import urlencode

    kept.edit(title="By form")
    message = {"action": "edited", "issue": shapes.issue(API, kept), "repository": repository_of(kept)}
    hook.tell("issues", urlencode({"payload": json.dumps(message)}).encode())
    assert Issue.objects.get().current_snapshot.title == "By form"


def recorded() -> list[Path]:
    return sorted(WEBHOOKS.glob("*/*.json"))


def test_every_recorded_message_is_taken_in_without_a_refusal(hook):
    for path in recorded():
        payload = json.loads(path.read_text())
        name = payload["repository"]["full_name"].split("/")
        number = payload["repository"]["id"]
        Repository.objects.get_or_create(
            owner=name[0], name=name[1], defaults={"github_id": number, "private": payload["repository"]["private"]}
        )
        event = path.parent.name
        answer = hook.send(event, payload, guid=str(path.relative_to(WEBHOOKS)))
        assert answer.status_code == (200 if event == "milestone" or answer.json()["run"] is None else 202), path
        if answer.json()["run"]:
            run_steps.work(answer.json()["run"])
    assert FetchRun.objects.exists()
    assert not FetchRun.objects.exclude(state="done").exists()
    assert not FetchRun.objects.filter(n_refused__gt=0).exists()
    assert Issue.objects.filter(presence="deleted").exists()


def test_a_recorded_comment_arrives_as_it_was_written(hook):
    Repository.objects.create(owner="Codertocat", name="Hello-World", github_id=186853002)
    issue = json.loads((WEBHOOKS / "issues/opened.payload.json").read_text())
    comment = json.loads((WEBHOOKS / "issue_comment/created.payload.json").read_text())
    hook.tell("issues", issue)
    hook.tell("issue_comment", comment)
    snapshot = Issue.objects.get().current_snapshot
    assert [(c.author_login, c.body) for c in snapshot.thread()] == [
        ("Codertocat", "You are totally right! I'll get this fixed right away.")
    ]


def test_a_message_with_characters_that_postgres_cannot_keep_arrives(hook, kept):
    row = shapes.issue(API, kept) | {"title": "Hangs\x00 here \ud83d", "body": "a\x00b"}
    hook.tell("issues", {"action": "edited", "issue": row, "repository": repository_of(kept), "\x00": ["\x00"]})
    assert Issue.objects.get().current_snapshot.title == "Hangs\ufffd here \ufffd"


@pytest.mark.parametrize("number", ["NaN", "-Infinity", "1e999"])
def test_a_message_with_a_number_that_is_none_is_refused(hook: Hook, number: str) -> None:
    answer = hook.send("issues", b'{"action": "edited", "issue": {"id": %s}}' % number.encode())
    assert answer.status_code == 400 and "JSON" in answer.json()["message"]
