"""What changed at GitHub, read and accepted by keyboard in a real browser; the pages pass axe, in light and in dark."""

from typing import Any

import pytest
from playwright.sync_api import Page, expect

from annotation.models import Item
from tests import builders as make
from tests.browser.visitors import assert_accessible, found_by_axe, sign_in

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


@pytest.mark.slow
def test_an_owner_reads_what_changed_and_re_pins_by_keyboard(page: Page, live_server: Any) -> None:
    study = make.study()
    round_ = make.open_round(study, 3)
    make.submit(round_, "bob", 1, {"symptom": ["crash"]})
    log = "\n".join(f"step {n}: loss {n * 7 % 13}" for n in range(60))
    for number in (1, 2, 3):
        before = f"Training **hangs** after step {number}.\n\n{log}"
        make.new_state(number, [(number, "ann", "Same here.")], title=f"Hangs at step {number}", body=before)
    sign_in(page, live_server, "olga")
    page.goto(f"{live_server.url}/studies/study/changes/")
    expect(page.get_by_role("heading", name="3 items changed at GitHub")).to_be_visible()
    for theme in ("light", "dark"):
        page.emulate_media(color_scheme=theme, reduced_motion="reduce")
        assert_accessible(page)

    first = page.get_by_role("link", name="Issue 1 of rocket")
    first.focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Issue 1 of rocket")).to_be_visible()
    expect(page.locator("#difference-title + p ins")).to_have_text("Hangs at step 1")
    expect(page.get_by_role("heading", name="Comment 1 added")).to_be_visible()
    for theme in ("light", "dark"):
        page.emulate_media(color_scheme=theme, reduced_motion="reduce")
        assert_accessible(page)
    page.set_viewport_size({"width": 360, "height": 740})
    assert_accessible(page)
    page.set_viewport_size({"width": 1280, "height": 800})
    page.get_by_role("button", name="Use the latest snapshot").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_text("read its newest snapshot from now on")).to_be_visible()
    expect(page.get_by_role("button", name="Use the latest snapshot")).to_have_count(0)
    pinned = Item.objects.select_related("snapshot", "issue").get(identifier="acme/rocket#1")
    assert pinned.snapshot_id == pinned.issue.current_snapshot_id

    page.goto(f"{live_server.url}/studies/study/changes/")
    page.get_by_role("button", name="Re-pin all 2").focus()
    page.keyboard.press("Enter")
    assert not found_by_axe(page, context="#repin-all")
    page.get_by_role("button", name="Keep the pinned snapshots").press("Enter")
    expect(page.get_by_role("dialog")).to_be_hidden()
    page.get_by_role("button", name="Re-pin all 2").press("Enter")
    page.get_by_role("button", name="Use the latest snapshots").press("Enter")
    expect(page.get_by_text("2 items re-pinned")).to_be_visible()
    expect(page.get_by_role("heading", name="1 item changed at GitHub")).to_be_visible()  # bob's answer is on the old
