"""Questions about a sheet in a real browser: shown, answered, and nothing is imported before."""

from typing import Any

import pytest
from playwright.sync_api import Page, expect

from annotation.models import Rating
from taxonomy.queries import forget_trees
from tests.browser.visitors import assert_accessible, sign_in

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True), pytest.mark.timeout(120)]

SHEET = "item,kind_A,kind_B,kind_selected,severity_A,severity_B\n" + "".join(
    f"acme/rocket#{n},{'bug' if n % 2 else 'docs'},{'bug' if n % 3 else 'docs'},bug,{n % 4 + 1},{n % 3 + 1}\n"
    for n in range(1, 12)
)


@pytest.mark.slow
def test_questions_about_a_sheet_are_answered_before_it_is_imported(page: Page, live_server: Any) -> None:
    forget_trees()
    sign_in(page, live_server, "olga")
    page.goto(live_server.url + "/studies/import/")
    page.get_by_label("Files").set_input_files({"name": "labels.csv", "mimeType": "text/csv", "buffer": SHEET.encode()})
    page.get_by_role("button", name="Upload").click()
    expect(page.get_by_role("heading", name="Questions")).to_be_visible()
    expect(page.get_by_text("1 open", exact=True)).to_be_visible()
    assert_accessible(page)
    page.set_viewport_size({"width": 390, "height": 900})
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    page.get_by_label("Labels of several raters").check()
    expect(page.get_by_text("all answered", exact=True)).to_be_visible()
    expect(page.get_by_label("Neither: categories without an order")).to_be_checked()
    page.get_by_label("Ordinal: categories in this order").check()
    expect(page.get_by_label("Ordinal: categories in this order")).to_be_checked()
    assert not Rating.objects.exists()
