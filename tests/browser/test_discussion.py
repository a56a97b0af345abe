"""Discussing in a real browser: two raters talk by keyboard, one changes an answer, the other is told."""

from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from annotation.models import Item, Remark, Resolution, Round
from tests import builders as make
from tests.browser.visitors import SCREENS, Visit, assert_accessible, screens, wait_until

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True), pytest.mark.timeout(240)]

QUEUE = "/studies/study/rounds/1/resolve/"


@pytest.fixture
def round_() -> Round:
    """Item 1 is disputed, 2 is agreed."""
    return make.rate(make.open_round(make.study(), 2), "item bob carol\n1 crash hang\n2 slow slow")


def at(number: int = 1) -> str:
    return f"{QUEUE}{Item.objects.get(identifier=f'acme/rocket#{number}').pk}/"


def ready(page: "Page") -> None:
    page.wait_for_selector("body.resolving[data-keys=on]")


def look(page: "Page") -> None:
    """Comes back to the tab, upon which the page asks at once what is new."""
    page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")


@pytest.mark.slow
def test_two_raters_discuss_by_keyboard_and_one_takes_the_others_value_over(round_: Round, visit: Visit) -> None:
    carol = visit("carol", at())
    ready(carol)
    bob = visit("bob", QUEUE)
    bob.locator("#resolve-first").focus()
    bob.keyboard.press("Enter")
    ready(bob)
    assert bob.locator("[name=choice]").count() == 0
    assert "R2" in bob.inner_text(".talk-present")
    bob.keyboard.press("d")
    bob.wait_for_selector("#remark-text:focus")
    bob.keyboard.type("It stops at once, @")
    bob.wait_for_selector("#mention-list:visible")
    bob.keyboard.press("ArrowDown")
    bob.keyboard.press("ArrowUp")
    bob.keyboard.type("R")
    bob.keyboard.press("Enter")
    assert bob.input_value("#remark-text") == "It stops at once, @R2 "
    bob.keyboard.press("Control+Enter")
    bob.wait_for_selector("#remarks li >> text=It stops at once")
    expect(bob.locator("#remark-text")).to_have_value("")
    expect(bob.locator("#remark-text")).to_be_focused()
    look(bob)  # its own remark comes along again, and stands there once
    wait_until(bob, "() => document.querySelector('#talk-news').getAttribute('hx-get').includes('after=0') === false")
    assert bob.locator("#remarks li").count() == 1
    assert Remark.objects.get().dimension is not None and not Resolution.objects.exists()

    look(carol)
    carol.wait_for_selector("#remarks li >> text=It stops at once")
    wait_until(carol, "() => document.querySelector('#announcer').textContent.includes('It stops at once')")
    carol.goto(carol.url.replace(at(), "/inbox/"))
    assert "R1 mentioned you" in carol.inner_text(".inbox-line.is-unread")
    carol.locator(".inbox-line a.row-title").first.focus()
    carol.keyboard.press("Enter")
    ready(carol)
    assert "#remark-" in carol.url and carol.locator(".menu-inbox").count() <= 1
    carol.get_by_role("button", name="Change my label to this").focus()
    carol.keyboard.press("Enter")
    carol.wait_for_selector("text=is changed. Your blind label is kept")
    assert "blind: Hang" in carol.inner_text(".answers-table") and "now: Crash" in carol.inner_text(".answers-table")
    assert "Your label: Crash (blind: Hang)" in carol.inner_text(".talk-own")

    look(bob)
    bob.wait_for_selector("text=R2 changed their label.")
    bob.keyboard.press("Escape")


@pytest.mark.slow
def test_a_second_adjudicator_sees_who_is_there_and_what_was_decided_before_deciding(
    round_: Round, visit: Visit
) -> None:
    ada = visit("ada", at())
    ready(ada)
    olga = visit("olga", at())
    ready(olga)
    assert "ada is also reading this" in olga.inner_text(".talk-present")
    look(ada)
    ada.wait_for_selector("text=olga is also reading this")
    ada.keyboard.press("d")
    ada.keyboard.type("a remark that is half")
    olga.keyboard.press("1")
    olga.keyboard.press("Control+Enter")
    olga.wait_for_url(f"**{QUEUE}")
    look(ada)
    ada.wait_for_selector("text=olga resolved “Symptom” while you were reading.")
    assert ada.input_value("#remark-text") == "a remark that is half"
    assert Resolution.objects.count() == 1


@pytest.mark.slow
def test_the_pages_are_readable_for_everybody(round_: Round, visit: Visit) -> None:
    for name, (width, scheme) in zip(("ada", "bob"), SCREENS, strict=True):
        page = visit(name, at(), width, scheme)
        ready(page)
        if width == 360:
            page.click("[data-sheet]")
        page.fill("#remark-text", "A **remark** with `code`, and ")
        page.locator("#remark-text").press("End")
        page.keyboard.type("@")
        page.wait_for_selector("#mention-list:visible")
        assert_accessible(page)
        page.keyboard.press("Escape")
        page.fill("#remark-text", "A **remark** for @R1 and @R2")
        page.keyboard.press("Control+Enter")
        page.wait_for_selector("#remarks li")
        assert_accessible(page)
        for address in (
            "/inbox/",
            "/studies/study/rounds/1/discuss/",
            "/studies/study/rounds/1/discuss/?flagged=1",
            QUEUE,
        ):
            page.goto(page.url.partition("/studies/")[0].partition("/inbox/")[0] + address)
            for _ in screens(page):
                assert_accessible(page)
