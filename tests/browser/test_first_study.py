"""From an empty server to the first issue, along the guided path: pages and clicks are counted."""

from typing import Any

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from annotation.models import Round
from ingest import run_steps
from ingest.models import FetchRun
from taxonomy.queries import forget_trees
from tests import builders as make
from tests.browser.visitors import assert_accessible, sign_in

pytestmark = [pytest.mark.browser, pytest.mark.slow, pytest.mark.django_db(transaction=True)]


class Hand:
    """Someone who uses the mouse alone, or the keyboard alone; clicks and pages are counted."""

    def __init__(self, page: Page, device: str) -> None:
        self.page, self.device, self.n_clicks, self.pages = page, device, 0, [page.url]
        page.on("framenavigated", lambda frame: frame.parent_frame is None and self.pages.append(frame.url))

    def use(self, target: Locator) -> None:
        self.n_clicks += 1
        if self.device == "mouse":
            target.click()
            return
        self.focus(target)
        self.page.keyboard.press("Space" if target.evaluate("each => each.type === 'radio'") else "Enter")

    def write(self, target: Locator, words: str) -> None:
        if self.device == "mouse":
            self.n_clicks += 1
            target.click()
        else:
            self.focus(target)
        self.page.keyboard.type(words)

    def focus(self, target: Locator) -> None:
        expect(target).to_be_visible()
        for _ in range(60):
            if target.evaluate("each => each === document.activeElement"):
                return
            self.page.keyboard.press("Tab")
        raise AssertionError(f"Tab does not reach {target}")


@pytest.mark.parametrize("width", [1440, 390])
@pytest.mark.parametrize("device", ["mouse", "keyboard"])
def test_five_pages_and_few_clicks_lead_to_the_first_issue(
    browser: Browser, live_server: Any, width: int, device: str
) -> None:
    forget_trees()
    make.user("bob")
    context = browser.new_context(viewport={"width": width, "height": 844})
    page = context.new_page()
    page.set_default_timeout(20_000)
    sign_in(page, live_server, "olga")
    page.goto(f"{live_server.url}/")
    hand = Hand(page, device)
    assert_accessible(page)
    hand.use(page.get_by_role("button", name="Continue to the taxonomy"))
    expect(page.get_by_label("Title of the study")).to_have_value("Issues of example-lab/paratrain")
    run_steps.work(FetchRun.objects.get().pk)
    assert_accessible(page)
    hand.use(page.get_by_role("button", name="Continue to people"))
    expect(page.get_by_label("I am one of the raters")).to_be_checked()
    assert_accessible(page)
    hand.write(page.get_by_label("Other raters, by user name"), "bob")
    hand.use(page.get_by_role("button", name="Continue to the first round"))
    expect(page.get_by_label("Items", exact=True)).to_have_value("20")
    assert_accessible(page)
    hand.use(page.get_by_role("button", name="Open round 1 and label"))
    expect(page.locator("#issue, article").first).to_be_visible()
    expect(page).to_have_url(f"{live_server.url}/studies/issues-of-example-lab-paratrain/rounds/1/label/")
    assert Round.objects.get().state == Round.State.OPEN
    assert len(hand.pages) <= 5, hand.pages
    assert hand.n_clicks <= 15
    context.close()
