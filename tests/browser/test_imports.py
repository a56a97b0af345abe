"""From a workbook to the agreement page in a real browser, with a worker that imports."""

import io
import re
import subprocess
from typing import Any

import openpyxl
import pytest
from playwright.sync_api import Page, Route, expect

from annotation.models import Study
from taxonomy.queries import forget_trees
from tests.browser.visitors import assert_accessible, sign_in

pytestmark = [
    pytest.mark.browser,
    pytest.mark.worker,
    pytest.mark.django_db(transaction=True),
    pytest.mark.timeout(240),
]


def workbook() -> bytes:
    """Two raters and what was decided, on a sheet each; one spelling is off, and one row of Bob's is shifted."""
    book = openpyxl.Workbook()
    book.remove(book.active)  # type: ignore[arg-type]
    stages, causes = ["setup", "training"], ["bug", "typo", "config"]
    for name in ("alice", "Bob", "Final"):
        sheet = book.create_sheet(name)
        sheet.append(["Labels of round 1"])
        sheet.append(["Link", "Stage", "Cause", "Notes"])
        for n in range(1, 25):
            stage, cause = stages[n % 2], causes[n % 3]
            if name == "Bob" and n % 6 == 0:
                stage = "setup"
            if name == "alice" and n == 1:
                cause = "typpo"
            sheet.append([f"https://github.com/acme/rocket/issues/{n}", stage, cause])
        if name == "Bob":
            sheet.append(["https://github.com/acme/rocket/issues/25", "typo", None])
    content = io.BytesIO()
    book.save(content)
    return content.getvalue()


@pytest.mark.slow
def test_a_workbook_becomes_a_study_whose_agreement_is_one_click_away(
    page: Page, live_server: Any, live_worker: subprocess.Popen[bytes]
) -> None:
    forget_trees()
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    sign_in(page, live_server, "olga")
    page.goto(live_server.url + "/studies/")
    page.get_by_role("link", name="Import spreadsheets").click()
    page.get_by_label("Files").set_input_files(
        {"name": "labels.xlsx", "mimeType": "application/octet-stream", "buffer": workbook()}
    )
    page.get_by_role("button", name="Upload").click()
    expect(page.get_by_role("heading", name="labels.xlsx")).to_be_visible()
    expect(page.get_by_label("Header row of alice")).to_have_value("2")
    expect(page.get_by_label("Rater of Final")).to_have_value("final")
    assert_accessible(page)
    held: list[Route] = []
    page.route(re.compile(r"/import/\d+/$"), lambda route: route.continue_() if held else held.append(route))
    page.get_by_label("Category for typpo").select_option(label="the same as “typo”")
    page.get_by_label("ID", exact=True).fill("from-labels")  # while the page is being drawn anew
    page.evaluate("document.querySelector('#workbook').dataset.old = 'yes'")
    held[0].continue_()
    expect(page.locator("#workbook[data-old]")).to_have_count(0)
    expect(page.get_by_label("ID", exact=True)).to_have_value("from-labels")
    expect(page.get_by_label("ID", exact=True)).to_be_focused()
    shifted = page.get_by_label("What to do with row 27 of Bob")
    shifted.focus()
    shifted.select_option(label="shift it back")
    expect(page.get_by_text("25 items, 97 ratings by 2 raters")).to_be_visible()
    expect(shifted).to_be_focused()
    page.get_by_role("button", name="Create study").click()
    expect(page.get_by_role("link", name="Show agreement")).to_be_visible(timeout=60_000)
    assert_accessible(page)
    page.set_viewport_size({"width": 360, "height": 800})
    assert_accessible(page)
    page.get_by_role("link", name="Show agreement").click()
    expect(page.get_by_role("heading", name="Agreement", exact=True)).to_be_visible()
    assert Study.objects.get().slug == "from-labels" and not errors
