"""The room where differences are decided, what goes beyond one decision: all of it by keyboard alone."""

from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from annotation.assignments import jobs as rule_jobs
from annotation.core.access import get_item, get_round
from annotation.discussion.actions import write_remark
from annotation.models import Assignment, Item, PartMatch, Proposal, Resolution, Round, Study
from annotation.proposals.actions import settle_proposals
from annotation.resolving.actions.resolutions import resolve
from tests import builders as make
from tests.browser.test_resolving import FAULT, at, decided, ready
from tests.browser.visitors import Visit, assert_accessible, screens

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True), pytest.mark.timeout(180)]

Open = Callable[..., "Page"]
QUEUE = "/studies/study/rounds/1/resolve/"


def item(number: int) -> Item:
    return Item.objects.get(identifier=f"acme/rocket#{number}")


@pytest.fixture
def open_item(visit: Visit) -> Open:
    """The page of acme/rocket#number, once it listens to keys."""

    def opened(number: int, who: str = "ada", rest: str = "", **more: object) -> "Page":
        page = visit(who, f"{QUEUE}{item(number).pk}/{rest}", **more)
        ready(page)
        return page

    return opened


def press(page: "Page", *keys: str) -> None:
    for key in keys:
        page.keyboard.press(key)


@pytest.fixture
def crossed(db: None) -> Round:
    """Item 1 holds the same two bugs in two orders, 2 differs in the fixes, 3 and 4 in the symptom."""
    study = make.study(text=make.FAULTS, raters=("bob", "carol", "dave"))
    round_ = make.open_round(study, 4)
    bugs = [{"labels": FAULT}, {"labels": {**FAULT, "symptom": ["hang"]}}]
    make.submit(round_, "bob", 1, parts=bugs)
    make.submit(round_, "carol", 1, parts=bugs[::-1])
    for name, fixes, symptom in (("bob", ["config", "version"], "crash"), ("carol", ["code", "config"], "hang")):
        make.submit(round_, name, 2, {**FAULT, "fixes": fixes})
        make.submit(round_, name, 3, {**FAULT, "symptom": [symptom]}, memo=f"{name} says {symptom}", flag=name == "bob")
        make.submit(round_, name, 4, {**FAULT, "symptom": [symptom]})
    return get_round(make.owner_seat(study), 1)


@pytest.mark.slow
def test_one_of_theirs_a_third_value_and_several_are_decided_in_a_row(crossed: Round, open_item: Open) -> None:
    page = open_item(3)
    press(page, "2", "Control+Enter")
    at(page, "Symptom", 4)
    press(page, "o")
    page.keyboard.type("slo")
    press(page, "Enter", "Control+Enter")
    at(page, "Fix patterns", 2)
    press(page, "s")
    expect(page.locator("[name=several][value=config]:checked")).to_be_focused()
    press(page, "Tab", "Space", "Tab", "Space", "Control+Enter")
    page.wait_for_selector("#queue [aria-current]:has-text('#1')")
    assert decided() == {
        (3, "symptom"): ["hang"],
        (4, "symptom"): ["slow"],
        (2, "fixes"): ["config", "version", "code"],
    }


def test_a_decision_is_reopened_and_taken_again_and_its_history_stays(crossed: Round, open_item: Open) -> None:
    seat = make.seat(crossed.study, "ada")
    place = {"part": 1, "dimension": "symptom"}
    resolve(seat=seat, round_=crossed, item=get_item(seat, "acme/rocket#3"), values=["crash"], rationale="sic", **place)
    page = open_item(3, rest="?place=1.symptom")
    assert page.locator(".resolve-told li").count() == 1
    press(page, "r")
    page.wait_for_selector(".resolve-just:has-text('reopened')")
    expect(page.locator("#decision-title")).to_be_focused()
    assert "sic" in page.inner_text(".resolve-told") and page.locator("[name=choice]:checked").count() == 0
    press(page, "2", "Control+Enter")
    at(page, "Symptom", 4)
    assert decided() == {(3, "symptom"): ["hang"]}
    assert list(Resolution.objects.order_by("revision").values_list("method", flat=True)) == [
        "adjudicator",
        "reopened",
        "adjudicator",
    ]


@pytest.mark.slow
def test_a_third_rater_answers_blind_on_the_labeling_page_and_the_majority_decides(
    crossed: Round, open_item: Open, visit: Visit
) -> None:
    Study.objects.update(majority=True)
    page = open_item(3)
    press(page, "t")
    expect(page.locator("#third-rater")).to_be_focused()
    page.keyboard.type("R3")
    press(page, "Tab", "Enter")
    page.wait_for_selector("#messages :text('R3 is assigned to acme/rocket#3 as a third rater.')")
    assert "R3 was assigned as a third rater" in page.inner_text(".resolve-beside")
    dave = visit("dave", "/studies/study/rounds/1/label/")
    dave.wait_for_selector("#announcer:not(:empty)", state="attached")
    assert "Issue 3 of rocket" in dave.inner_text("#reading")
    assert not {"bob", "carol", "R1", "R2", "says"} & set(dave.inner_text("body").split())
    assert dave.request.get(page.url).status == 403
    press(dave, "f", "h", "4", "y", "Control+Enter")
    dave.wait_for_selector("#room.is-over", state="attached")
    assert Assignment.objects.get(slot=None).state == Assignment.State.SUBMITTED
    rule_jobs.rule_answers(crossed.pk)
    page.goto(page.url.split("?")[0] + "?place=1.symptom")
    assert "by a rule of the study, third rater" in page.inner_text(".resolve-told")
    assert "R3" in page.inner_text(".resolve-options")
    assert decided() == {(3, "symptom"): ["hang"]}


def test_bugs_are_matched_by_keyboard_and_what_differed_is_agreed(crossed: Round, open_item: Open) -> None:
    page = open_item(1)
    press(page, "m")
    expect(page.get_by_label("Part 1 of R1 is the agreed part")).to_be_focused()
    press(page, "Tab", "Tab", "Tab", "ArrowDown", "Tab", "ArrowUp", "Tab", "Enter")
    page.wait_for_selector("#messages :text('The parts of R2 are matched.')")
    assert list(PartMatch.objects.order_by("part").values_list("part", "agreed_part")) == [(1, 2), (2, 1)]
    assert page.locator(".answers-differ").count() == 0
    page.goto(page.url.split("/resolve/")[0] + "/resolve/")
    assert "acme/rocket#1" not in page.inner_text(".resolve-rows")


@pytest.mark.slow
def test_a_fault_of_the_taxonomy_is_proposed_and_the_round_stays_open_until_it_is_answered(
    crossed: Round, open_item: Open, visit: Visit
) -> None:
    page = open_item(3)
    press(page, "p")
    page.keyboard.type("Deadlock")
    press(page, "Tab")
    page.keyboard.type("it waits")
    press(page, "Tab", "Enter")
    page.wait_for_selector("#messages :text('“Deadlock” is proposed')")
    assert "not answered yet" in page.inner_text(".resolve-beside")
    seat = make.seat(crossed.study, "ada")
    for number, key, values in ((3, "symptom", ["crash"]), (4, "symptom", ["crash"]), (2, "fixes", [])):
        resolve(seat=seat, round_=crossed, item=item(number), part=1, dimension=key, values=values)
    for part in (1, 2):
        resolve(seat=seat, round_=crossed, item=item(1), part=part, dimension="symptom", values=["crash"])
    olga = visit("olga", QUEUE)
    olga.locator("text=Close round 1").focus()
    press(olga, "Enter")
    olga.wait_for_selector("text=open proposals")
    assert Round.objects.get().state == Round.State.RESOLVING
    asked = Proposal.objects.get()
    settle_proposals(seat=make.owner_seat(crossed.study), proposals=[asked.public_id], decline="it is a hang")
    olga.goto(olga.url.split("/rounds/")[0] + "/rounds/1/resolve/")
    olga.locator("text=Close round 1").focus()
    press(olga, "Enter")
    olga.wait_for_selector("text=Close round 1", state="detached")
    assert Round.objects.get().state == Round.State.CLOSED
    page.reload()
    assert "declined: it is a hang" in page.inner_text(".resolve-beside")


@pytest.mark.slow
def test_a_second_adjudicator_is_told_before_and_when_deciding(crossed: Round, open_item: Open) -> None:
    ada, olga = open_item(3), open_item(3, who="olga")
    assert "ada is also reading this." in olga.inner_text("#talk-news")
    press(ada, "1", "Control+Enter")
    at(ada, "Symptom", 4)
    olga.evaluate("window.htmx.trigger(document.getElementById('talk-news'), 'look')")
    olga.wait_for_selector(".talk-meanwhile:has-text('ada resolved “Symptom” while you were reading.')")
    press(olga, "2", "Control+Enter")
    olga.wait_for_selector("text=ada resolved this as Crash while you were reading.")
    assert decided() == {(3, "symptom"): ["crash"]}


@pytest.mark.slow
def test_flagged_items_are_gone_through_by_keyboard_with_who_flagged_them(crossed: Round, visit: Visit) -> None:
    page = visit("ada", QUEUE)
    page.locator("text=1 flagged").focus()
    press(page, "Enter")
    page.wait_for_selector("text=bob says crash")
    page.locator("text=Start with the first").focus()
    press(page, "Enter")
    ready(page)
    assert "R1 flagged this for discussion" in page.inner_text(".resolve-facts")
    assert page.locator("#queue .resolve-lines a").count() == 1


@pytest.mark.slow
def test_with_all_unfolded_the_page_is_accessible(crossed: Round, open_item: Open) -> None:
    seat = make.seat(crossed.study, "ada")
    resolve(seat=seat, round_=crossed, item=item(4), part=1, dimension="symptom", values=["crash"], rationale="so")
    for text in ("@R2 **look**", "```\nlog\n```"):
        write_remark(seat=seat, round_=crossed, item=item(3), text=text, part=1, dimension="symptom")
    for number in (3, 1):
        page = open_item(number)
        page.evaluate("document.querySelectorAll('details').forEach((each) => { each.open = true; })")
        if number == 3:
            assert "1 × Crash" in page.inner_text(".resolve-precedents")
            assert "2 comments" in page.inner_text(".resolve-facts")
        box = page.locator(".resolve-end").bounding_box()
        assert box and box["y"] + box["height"] <= 800, "the button stays in sight"
        for width in screens(page):
            if width < 500:
                page.click("[data-sheet]")
            assert_accessible(page)
