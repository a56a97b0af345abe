"""Pages of ingest in a real browser: an issue as its author wrote it, long threads, what changed, a run that waits."""

from datetime import timedelta
from typing import TYPE_CHECKING

import pytest
from django.utils import timezone
from playwright.sync_api import expect
from pytest_django.live_server_helper import LiveServer

from accounts.models import User
from ingest.models import ClosingChange, Comment, FetchRun, Issue, Snapshot, SnapshotComment
from tests import builders
from tests.accounts.test_in_browser import sign_in
from tests.browser.visitors import assert_accessible, screens

if TYPE_CHECKING:
    from playwright.sync_api import Page, Route

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

BODY = """Training hangs with **two nodes**, see #12.

![screenshot](https://images.example.org/one.png)
[![badge](https://images.example.org/two.png)](https://elsewhere.example.org/)

```python
loss = engine(batch["input_ids"].to(f"cuda:{args.local_rank}"), labels=batch["labels"].to(f"cuda:{args.local_rank}"))
```

<script>document.title = "taken over"</script><img src=x onerror="document.title = 'taken over'">

### Checked
- [x] the nightly

LOG
""".replace("LOG", "```\n" + "a line of a log\n" * 60 + "```")


@pytest.fixture
def issue() -> Issue:
    [made] = builders.issues(1)
    made.current_snapshot = Snapshot.objects.create(
        issue=made, sha256="0" * 64, title="It hangs & <b>more</b>", body=BODY, state="closed", github_labels=["bug"]
    )
    made.save()
    return made


@pytest.fixture
def opened(page: "Page", live_server: LiveServer, issue: Issue) -> "Page":
    sign_in(page, live_server)
    page.goto(f"{live_server.url}/issues/{issue.repository.full_name}/{issue.number}/")
    page.locator(".issue").wait_for()
    return page


def test_images_are_fetched_only_when_asked_for(opened: "Page") -> None:
    asked: list[str] = []
    opened.route("https://images.example.org/**", lambda route: (asked.append(route.request.url), route.abort()))
    opened.reload()
    opened.wait_for_load_state("networkidle")
    assert asked == []
    opened.get_by_role("button", name="badge show from images.example.org").click()
    opened.get_by_text("can't be shown").wait_for()
    assert asked == ["https://images.example.org/two.png"]
    assert opened.url.startswith("http://localhost")
    expect(opened.locator(".show-images")).to_be_hidden()  # one image is left, with a button of its own
    opened.reload()
    opened.get_by_role("button", name="Show all 2 images").click()
    expect(opened.get_by_text("can't be shown")).to_have_count(2)
    assert sorted(asked[1:]) == ["https://images.example.org/one.png", "https://images.example.org/two.png"]


def test_images_of_a_host_that_someone_chose_are_shown_at_once(opened: "Page") -> None:
    picture = b'<svg xmlns="http://www.w3.org/2000/svg" width="40" height="20"><rect width="40" height="20"/></svg>'
    asked: list[str] = []

    def answer(route: "Route") -> None:
        asked.append(route.request.url)
        route.fulfill(body=picture, content_type="image/svg+xml")

    opened.route("https://images.example.org/**", answer)
    opened.get_by_role("button", name="screenshot show from images.example.org").click()
    opened.get_by_role("button", name="Always show images from images.example.org").click()
    expect(opened.locator(".shown-image iframe")).to_have_count(2)
    opened.reload()
    expect(opened.locator(".shown-image iframe")).to_have_count(2)
    assert len(asked) >= 3
    assert User.objects.get(username="alice").image_hosts == ["images.example.org"]


def test_what_the_author_wrote_runs_nothing(opened: "Page") -> None:
    assert "taken over" not in opened.title()
    assert opened.locator("h1").inner_text() == "It hangs & <b>more</b>"


def test_long_lines_wrap_on_demand_and_logs_unfold(opened: "Page") -> None:
    code = opened.locator(".markdown > div > .code").first
    overflows = "pre => pre.scrollWidth > pre.clientWidth"
    assert code.locator("pre").evaluate(overflows)
    code.hover()
    code.get_by_role("button", name="Wrap long lines").click()
    assert not code.locator("pre").evaluate(overflows)
    log = opened.locator("details.code-fold")
    assert not log.locator("pre").is_visible()
    log.get_by_text("60 lines").click()
    assert log.locator("pre").is_visible()


def test_an_issue_is_accessible_and_fits_a_phone(opened: "Page") -> None:
    for _ in screens(opened):
        assert_accessible(opened)


@pytest.fixture
def thread(issue: Issue) -> Issue:
    """The same issue with 120 comments, and a second snapshot with one more and another title."""
    first = issue.current_snapshot
    assert first is not None
    said = Comment.objects.bulk_create(
        [Comment(sha256=f"{k:064}", github_id=k, author_login="bob", body=f"Said **{k}**.") for k in range(1, 122)]
    )
    newer = Snapshot.objects.create(
        issue=issue, sha256="1" * 64, title="It hangs with offload", body=BODY, state="open", comments_known=True
    )
    places = [SnapshotComment(snapshot=newer, comment=comment, position=k) for k, comment in enumerate(said, start=1)]
    SnapshotComment.objects.bulk_create(places)
    issue.current_snapshot, issue.changes_known = newer, True
    issue.save()
    ClosingChange.objects.create(
        issue=issue, kind="pull_request", identifier=f"{issue.repository.full_name}#9", number=9, title="Fix",
        additions=12, deletions=3, n_files=1, paths=["engine.py"],
    )  # fmt: skip
    return issue


def test_a_long_thread_goes_on_where_the_reader_is(page: "Page", live_server: LiveServer, thread: Issue) -> None:
    sign_in(page, live_server)
    page.goto(f"{live_server.url}{thread.get_absolute_url()}")
    assert page.locator(".comment").count() == 50
    link = page.get_by_role("link", name="Show the next 50")
    link.focus()
    page.keyboard.press("Enter")
    page.locator("#comment-100").wait_for()
    expect(page.locator("#comment-51")).to_be_focused()
    page.get_by_role("link", name="Show the next 21").click()
    page.locator("#comment-121").wait_for()
    assert page.locator(".comment").count() == 121
    assert page.get_by_role("link", name="Show the next").count() == 0
    page.goto(f"{live_server.url}{thread.get_absolute_url()}?after=50")
    assert "Said 51." in page.locator(".comment").first.inner_text()
    page.get_by_role("link", name="Earlier comments").click()
    page.locator("#comment-1").wait_for()


@pytest.mark.slow
def test_what_changed_and_a_thread_are_accessible_and_fit(page: "Page", live_server: LiveServer, thread: Issue) -> None:
    sign_in(page, live_server)
    page.goto(f"{live_server.url}{thread.get_absolute_url()}")
    for _ in ("the thread", "show changes"):
        for _ in screens(page):
            assert_accessible(page)
        if not page.get_by_role("heading", name="Changes of").count():
            page.get_by_role("link", name="show changes").first.click()
            page.get_by_role("heading", name="Changes of").wait_for()
    assert page.locator("ins", has_text="offload").is_visible()


@pytest.fixture
def waiting(page: "Page", live_server: LiveServer) -> FetchRun:
    sign_in(page, live_server)
    made: FetchRun = FetchRun.objects.create(
        kind="github", state="waiting", waiting_until=timezone.now() + timedelta(minutes=30), n_requests=60,
        requested={"repository": "o/r", "state": "all"}, created_by=User.objects.get(username="alice"),
        error="GitHub allows no more requests for now.", n_expected=400, n_seen=120, n_refused=1,
    )  # fmt: skip
    made.refusals.create(line=3, reason="This is not valid JSON.", row="{bad " * 100)
    return made


@pytest.mark.slow
def test_a_waiting_run_counts_down_and_is_cancelled_and_continued_by_keyboard(
    page: "Page", live_server: LiveServer, waiting: FetchRun
) -> None:
    page.goto(f"{live_server.url}/fetches/{waiting.pk}/")
    left = page.locator("[data-countdown]")
    before = left.inner_text()
    assert before.startswith(("29 min", "30 min"))
    expect(left).not_to_have_text(before)
    page.get_by_role("button", name="Cancel").focus()
    with page.expect_response(lambda answer: answer.url.endswith("/progress/")):
        pass
    expect(page.locator("#cancel-run")).to_be_focused()
    page.keyboard.press("Enter")
    page.get_by_text("Cancelled").wait_for()
    assert "hx-get" not in (page.locator("#run").evaluate("part => part.outerHTML.slice(0, 200)"))
    page.get_by_role("button", name="Continue").press("Enter")
    expect(page.locator("#run")).not_to_contain_text("Cancelled")
    waiting.refresh_from_db()
    assert waiting.state != "cancelled"  # queued, or a worker of another test has taken it up


@pytest.mark.slow
def test_a_new_state_is_announced_once(page: "Page", live_server: LiveServer, waiting: FetchRun) -> None:
    page.goto(f"{live_server.url}/fetches/{waiting.pk}/")
    expect(page.locator("#run-said")).to_be_empty()
    FetchRun.objects.filter(pk=waiting.pk).update(state="running", waiting_until=None, started_at=timezone.now())
    expect(page.locator("#run-said")).to_contain_text("Running", timeout=15_000)


@pytest.mark.slow
def test_pages_of_fetches_are_accessible_and_fit(
    page: "Page", live_server: LiveServer, waiting: FetchRun, issue: Issue
) -> None:
    FetchRun.objects.update(repository=issue.repository)
    for path in ("/repositories/", issue.repository.get_absolute_url(), f"/fetches/{waiting.pk}/", "/issues/"):
        page.goto(f"{live_server.url}{path}")
        for _ in screens(page):
            assert_accessible(page)


def test_the_list_of_issues_goes_by_keyboard(page: "Page", live_server: LiveServer, issue: Issue) -> None:
    builders.issues(3, first=100)
    sign_in(page, live_server)
    page.goto(f"{live_server.url}/issues/")
    page.keyboard.press("j")
    page.keyboard.press("j")
    page.keyboard.press("k")
    assert page.evaluate("document.activeElement.getAttribute('href')").endswith("/102/")
    page.keyboard.press("/")
    expect(page.locator("#search")).to_be_focused()
    page.keyboard.type("j/k")
    assert page.locator("#search").input_value() == "j/k"
