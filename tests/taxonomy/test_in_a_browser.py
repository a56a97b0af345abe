"""A taxonomy in a real browser: finding a category, folding, and mending a document."""

from typing import Any

import pytest

from accounts.models import User
from taxonomy.actions import load_document
from tests.browser.visitors import sign_in
from tests.taxonomy.test_documents import WHOLE

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def page(live_server: Any, browser: Any) -> Any:
    user = User.objects.create_user("maria")
    load_document(user=user, text=WHOLE)
    context = browser.new_context(base_url=live_server.url)
    page = context.new_page()
    sign_in(page, live_server, user.username)
    yield page
    context.close()


def shown(page: Any) -> list[str]:
    names = page.locator(".category-name")
    return [names.nth(at).inner_text() for at in range(names.count()) if names.nth(at).is_visible()]


def test_a_category_is_found_by_typing_and_stands_below_its_parents(page: Any) -> None:
    page.goto("/taxonomies/training-faults/versions/1/")
    page.keyboard.press("/")
    page.keyboard.type("tim han")
    assert shown(page) == ["Communication setup", "Hang and timeout"]
    assert page.locator("#category-count").inner_text() == "1 of 4"
    page.keyboard.press("Escape")
    assert len(shown(page)) == 4
    page.get_by_role("button", name="Collapse all", exact=True).click()
    assert "Hang and timeout" not in shown(page)


def test_a_mistake_leads_to_its_line_and_the_mended_document_is_published(page: Any) -> None:
    page.goto("/taxonomies/")
    text = WHOLE.replace("training-faults", "faults-two").replace("is: [fault]", "is: [falt]")
    page.locator(".document-text").fill(text)
    page.get_by_role("button", name="Load as a draft").click()
    page.get_by_role("button", name="Line 13, column 42").click()
    assert page.evaluate("getSelection().toString()") == "falt]}"
    page.keyboard.type("fault]}")
    page.get_by_role("button", name="Load as a draft").click()
    page.wait_for_url("**/taxonomies/faults-two/versions/1/")
    page.on("dialog", lambda dialog: dialog.accept())
    page.get_by_role("button", name="Publish version 1").click()
    page.get_by_text("Version 1 is published.").wait_for()
    assert page.get_by_role("button", name="Replace the draft").count() == 0
