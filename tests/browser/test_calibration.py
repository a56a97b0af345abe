"""Calibration items and the pilot's advice in a real browser: told before the next issue, by keyboard alone."""

import os
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect
from pytest_django.live_server_helper import LiveServer

from annotation.models import Annotation, Round
from annotation.rounds.actions import rounds
from taxonomy.queries import forget_trees
from tests import builders as make
from tests.browser.visitors import assert_accessible, sign_in, wait_until

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True), pytest.mark.timeout(180)]


@pytest.fixture
def round_() -> Round:
    forget_trees()
    study = make.study(primary={"symptom": {"coefficient": "krippendorff_alpha", "threshold": 0.8}})
    make.issues(6)
    known = {"acme/rocket#6": {"labels": {"symptom": ["hang"]}, "why": "Nothing is printed any more."}}
    made = rounds.create_round(
        seat=make.owner_seat(study),
        asked=rounds.NewRound(
            raters=["bob", "carol"], issues=["acme/rocket#1", "acme/rocket#2"], kind="pilot", known=known
        ),
    )
    return rounds.open_round(seat=make.owner_seat(study), number=made.number, unregistered=True)


@pytest.mark.slow
@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (360, "dark")])
def test_the_feedback_comes_before_the_next_issue_and_goes_on_by_keyboard(
    page: "Page", live_server: LiveServer, round_: Round, width: int, scheme: str
) -> None:
    sign_in(page, live_server, "bob")
    page.set_viewport_size({"width": width, "height": 800})
    page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
    page.goto(f"{live_server.url}/studies/study/rounds/{round_.number}/label/")
    page.wait_for_selector("#announcer:not(:empty)", state="attached")
    page.wait_for_timeout(700)  # a submit right after an issue came is taken for a double click
    page.keyboard.press("c")
    page.keyboard.press("Control+Enter")
    dialog = page.locator("dialog#feedback")
    dialog.wait_for()
    assert "your label differs" in dialog.inner_text()
    assert "Nothing is printed any more." in dialog.inner_text()
    assert page.locator("#issue-title").inner_text() == "Issue 6 of rocket"
    expect(page.locator("#feedback-on")).to_be_focused()
    wide = dialog.evaluate(
        """node => [node, ...node.querySelectorAll("*")]
            .filter((each) => ["auto", "scroll"].includes(getComputedStyle(each).overflowX))
            .map((each) => each.scrollWidth - each.clientWidth)"""
    )
    assert max(wide) <= 1, "something in the dialog scrolls sideways"
    assert_accessible(page)
    if folder := os.environ.get("PICTURES"):
        page.screenshot(path=f"{folder}/feedback-{width}-{scheme}.png")
    page.keyboard.press("Enter" if width > 1000 else "Control+Enter")
    page.wait_for_selector("#where strong:text-is('1')")
    assert dialog.count() == 0
    assert page.locator("#issue-title").inner_text() != "Issue 6 of rocket"
    assert Annotation.objects.count() == 1


@pytest.mark.slow
def test_a_draft_main_round_says_what_the_pilot_says_and_its_training_items_are_chosen_by_form(
    page: "Page", live_server: LiveServer, round_: Round
) -> None:
    make.rate(round_, "item bob carol\n6 hang hang\n1 crash hang\n2 hang crash")
    draft = rounds.create_round(
        seat=make.owner_seat(round_.study),
        asked=rounds.NewRound(raters=["bob", "carol"], issues=["acme/rocket#3", "acme/rocket#4"]),
    )
    sign_in(page, live_server, "olga")
    address = f"{live_server.url}/studies/study/rounds/{draft.number}/"
    page.goto(address)
    assert_accessible(page)
    page.click("text=Choose calibration items")
    page.wait_for_selector("h1:text-is('Calibration items')")
    assert_accessible(page)
    page.fill("#id_known-item", "acme/rocket#4")
    page.select_option("#id_known-of-symptom", "slow")
    page.click("text=Add calibration item")
    page.wait_for_selector("text=Symptom: Slow")
    page.fill("#id_sheet", "item,dimension,value\nacme/rocket#3,symptom,slw")
    page.click("text=Import sheet")
    page.wait_for_selector("text=Did you mean “slow”?")
    page.goto(address)
    page.click("text=Open anyway")
    page.wait_for_selector("text=Give the reason for opening the round")
    page.fill("#id_reason", "The definitions are sharper now.")
    page.click("text=Open anyway")
    page.wait_for_selector("text=“The definitions are sharper now.”")
    assert_accessible(page)


@pytest.mark.slow
def test_an_answer_that_arrives_later_tells_of_its_training_item_in_a_line_and_not_over_another_issue(
    page: "Page", live_server: LiveServer, round_: Round
) -> None:
    sign_in(page, live_server, "bob")
    page.goto(f"{live_server.url}/studies/study/rounds/{round_.number}/label/")
    page.wait_for_selector("#announcer:not(:empty)", state="attached")
    page.wait_for_timeout(700)
    page.context.set_offline(True)
    page.keyboard.press("c")
    page.keyboard.press("Control+Enter")
    wait_until(page, "!document.querySelector('#issue-title').innerText.includes('Issue 6')")
    here = page.inner_text("#issue-title")
    page.context.set_offline(False)
    told = page.locator("#banner [data-name=told]")
    told.wait_for()
    assert "Calibration item acme/rocket#6: your label differs." in told.inner_text()
    assert page.locator("dialog#feedback").count() == 0
    assert page.inner_text("#issue-title") == here
    assert_accessible(page)
    if folder := os.environ.get("PICTURES"):
        page.screenshot(path=f"{folder}/told-1280-light.png")
    page.reload()
    told.wait_for()
    told.get_by_role("link", name="Show feedback").click()
    page.wait_for_selector("text=Nothing is printed any more.")
    assert "Issue 6" in page.inner_text("#issue-title")
    assert told.count() == 0
    page.go_back()
    page.wait_for_selector(".question")
    assert told.count() == 0
