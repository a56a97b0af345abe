"""A table in a real browser: its columns are chosen, the preview follows, its rows come in."""

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect
from pytest_django.live_server_helper import LiveServer

from ingest import run_steps
from ingest.models import FetchRun, Issue
from tests.browser.visitors import assert_accessible, sign_in

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


@pytest.mark.slow
def test_columns_are_chosen_by_keyboard_and_the_preview_follows(page: "Page", live_server: LiveServer, tmp_path: Path):
    path = tmp_path / "issues.csv"
    head = "Nr;Title;title;" + ";".join(f"Column of a study {n}" for n in range(40))
    rows = [f"{n};It hangs {n};{'A long title ' * 30};{';'.join('v' * 60 for _ in range(40))}" for n in range(1, 13)]
    path.write_text("\n".join([head, *rows, "x;Bad;Bad" + ";" * 40]))
    sign_in(page, live_server, "ann")
    page.goto(f"{live_server.url}/repositories/")
    page.locator("input[type='file']").set_input_files(path)
    page.get_by_role("button", name="Upload").click()
    expect(page.get_by_role("heading", name="issues.csv")).to_be_visible()
    expect(page.get_by_text("Title or title?")).to_be_visible()
    expect(page.get_by_role("button", name="Import 13 rows")).to_be_disabled()

    page.locator("#column-title").focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    expect(page.get_by_text("It is not known which repository this issue is of").first).to_be_visible()
    expect(page.locator("#column-title")).to_be_focused()
    expect(page.locator("#column-title")).to_have_value("Title")
    page.get_by_label("Repository of all other rows").fill("o/r")
    page.keyboard.press("Tab")
    expect(page.locator(".preview").get_by_text("o/r#10")).to_be_visible()
    page.get_by_text("41 columns not imported").click()
    for theme, width in (("light", 1280), ("dark", 360)):
        page.emulate_media(color_scheme=theme, reduced_motion="reduce")  # type: ignore[arg-type]
        page.set_viewport_size({"width": width, "height": 800})
        assert_accessible(page)

    page.get_by_role("button", name="Import 13 rows").click()
    page.wait_for_url("**/fetches/*/")
    run = FetchRun.objects.get()
    run_steps.work(run.pk)
    page.reload()
    link = page.locator("a[href$='refusals.csv']")
    expect(link).to_be_visible()
    with page.expect_download() as started:
        link.click()
    assert "“x” is not the number of an issue." in Path(started.value.path()).read_text()
    assert Issue.objects.count() == 12
