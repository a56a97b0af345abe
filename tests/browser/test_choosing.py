"""A frame is counted while it is described, a sample drawn and screened by keyboard, in a real browser."""

from typing import Any

import pytest
from playwright.sync_api import Page, expect

from annotation.models import Item, Sample
from tests import builders as make
from tests.browser.visitors import assert_accessible, sign_in

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


@pytest.mark.slow
def test_an_owner_counts_draws_and_screens_by_keyboard(page: Page, live_server: Any) -> None:
    make.study()
    make.issues(12)
    sign_in(page, live_server, "olga")
    page.goto(live_server.url + "/studies/study/sample/")
    frame = page.locator("#frame")
    page.get_by_label("Repositories").fill("acme/rocket")
    page.get_by_label("With GitHub labels", exact=False).first.fill("bug")
    expect(frame).to_contain_text("repository: acme/rocket")
    page.get_by_label("Any of these keywords").fill("hangs, deadlock")
    page.get_by_label("from confidence and margin").check()
    expect(frame.get_by_role("row", name="keywords: any of hangs, deadlock (in title or body) 6")).to_be_visible()
    expect(frame).to_contain_text("Draws 6 of 6")
    page.get_by_label("Strata (optional)", exact=True).select_option("state")
    expect(frame.get_by_role("row", name="closed 2 2")).to_be_visible()
    assert_accessible(page)
    page.get_by_role("button", name="Draw sample").click()
    expect(page.get_by_text("is drawn: 6 issues.")).to_be_visible()
    assert Sample.objects.get().strata[0] == {"stratum": "closed", "n_frame": 2, "n_drawn": 2}
    assert_accessible(page)

    page.get_by_role("button", name="Screen these issues").click()
    rows = page.locator("tr[data-item]")
    expect(rows).to_have_count(6)
    page.wait_for_load_state("load")
    page.keyboard.press("j")
    expect(rows.nth(0)).to_be_focused()
    page.keyboard.press("i")
    expect(rows.nth(0).get_by_role("button", name="In", exact=True)).to_have_attribute("aria-pressed", "true")
    expect(rows.nth(1)).to_be_focused()
    page.keyboard.press("o")
    page.keyboard.press("Enter")
    expect(rows.nth(1).get_by_text("Give a reason")).to_be_visible()
    expect(rows.nth(1).locator(".screening-reason")).to_be_focused()
    assert_accessible(page)
    page.keyboard.type("a question")
    page.keyboard.press("Enter")
    expect(rows.nth(2)).to_be_focused()
    page.keyboard.press("i")
    expect(rows.nth(3)).to_be_focused()
    page.keyboard.press("ArrowUp")
    page.keyboard.press("u")
    expect(rows.nth(2).get_by_role("button", name="Undo")).to_have_count(0)
    expect(rows.nth(2)).to_be_focused()
    states = list(Item.objects.order_by("pk").values_list("screening", "screening_reason"))
    assert states == [("in", ""), ("out", "a question"), *[("unscreened", "")] * 4]

    page.goto(live_server.url + "/studies/study/items/?screening=unscreened")
    page.get_by_text("Screen all 4 shown items").click()
    page.once("dialog", lambda dialog: dialog.accept())
    page.get_by_role("button", name="All in").click()
    expect(page.get_by_text("4 items are screened in.")).to_be_visible()
    page.goto(live_server.url + "/studies/study/sample/")
    expect(page.get_by_role("row", name="screened out: a question 1")).to_be_visible()
    expect(page.get_by_role("row", name="kept 5")).to_be_visible()
