"""A thread of many comments while labelling: it begins at once, and the rest comes by itself."""

from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import Route, expect
from pytest_django.live_server_helper import LiveServer

from annotation.models import Evidence, Round
from ingest.threads import PART_COMMENTS
from tests import builders as make
from tests.browser.test_evidence import MARKED, select
from tests.browser.visitors import assert_accessible

if TYPE_CHECKING:
    from tests.browser.visitors import Visit

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True), pytest.mark.timeout(180)]

N = 2 * PART_COMMENTS + 20
PLACE = "/studies/study/rounds/1/label/"


def thread(words: str) -> list[tuple[int, str, str]]:
    return [(number, "ann", f"{words} {number}") for number in range(1, N + 1)]


@pytest.fixture
def round_() -> Round:
    study = make.study(text=make.FAULTS, raters=["bob"])
    make.issues(1)
    make.new_state(1, thread("It hangs"))
    return make.open_round(study, 1, raters=["bob"])


@pytest.mark.slow
def test_a_long_thread_comes_in_parts_by_itself_and_its_last_comment_can_be_quoted(
    round_: Round, visit: "Visit"
) -> None:
    page = visit("bob", "/")
    first = page.request.get(f"{page.url.rstrip('/')}{PLACE}").text()
    assert first.count('class="comment"') == PART_COMMENTS
    page.goto(f"{page.url.rstrip('/')}{PLACE}")
    expect(page.locator("#reading .comment")).to_have_count(N)
    assert_accessible(page)
    assert page.locator("#reading .thread-more").count() == 0
    assert page.evaluate(
        "document.activeElement.closest('.question') !== null"
    )  # Nobody was taken away from an answer.
    page.keyboard.press("h")
    select(page, 3, 8, f"#comment-{N} [data-source=comment]")
    page.keyboard.press("1")
    page.wait_for_selector("text=Draft saved")
    page.reload()
    expect(page.locator("#reading .comment")).to_have_count(N)
    expect(page.locator("#question-1 .evidence-go")).to_contain_text(f"comment {N}")
    assert page.evaluate(MARKED) == [["evidence-1-1", ["hangs"]]]
    page.click("#submit")
    expect(page.locator(".label-over")).to_be_visible()
    quoted = Evidence.objects.get().comment
    assert quoted is not None and quoted.body == f"It hangs {N}"


@pytest.mark.slow
def test_the_rest_is_of_the_same_state_and_without_a_connection_waits_for_it_or_a_click(
    round_: Round, visit: "Visit", live_server: LiveServer
) -> None:
    page = visit("bob", "/")
    parts = []

    def lost(route: Route) -> None:
        parts.append(route.request.url)
        route.abort()

    page.route("**/comments/**", lost)
    page.goto(f"{live_server.url}{PLACE}")
    page.wait_for_selector("#announcer:not(:empty)", state="attached")
    more = page.locator("#reading #more-comments [rel=next]")
    expect(more).to_be_visible()
    make.new_state(1, thread("It crashes"))
    while not parts:
        page.wait_for_timeout(20)
    page.unroute("**/comments/**")
    more.click()
    expect(page.locator("#reading .comment")).to_have_count(N)
    expect(page.locator(f"#comment-{PART_COMMENTS + 1}")).to_be_focused()
    assert page.locator("#reading .comment", has_text="It crashes").count() == 0
