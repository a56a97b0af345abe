"""An issue in a real browser: nothing comes from elsewhere until someone asks, code wraps, the page is accessible."""

from typing import TYPE_CHECKING

import pytest
from axe_playwright_python.sync_playwright import Axe
from pytest_django.live_server_helper import LiveServer

from ingest.models import Issue, Snapshot
from tests import builders
from tests.accounts.test_in_browser import sign_in

if TYPE_CHECKING:
    from playwright.sync_api import Page

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


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_an_issue_is_accessible(opened: "Page", scheme: str) -> None:
    opened.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
    found = Axe().run(opened)
    assert found.violations_count == 0, found.generate_report()


def test_an_issue_fits_a_phone(opened: "Page") -> None:
    opened.set_viewport_size({"width": 360, "height": 740})
    assert opened.evaluate("document.documentElement.scrollWidth") == 360
