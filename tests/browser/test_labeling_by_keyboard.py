"""Ten issues labelled without a mouse: every kind of question, and every way to answer or not to answer."""

from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect
from pytest_django.live_server_helper import LiveServer

from annotation.models import Annotation, Proposal, Rating, Round
from taxonomy.queries import forget_trees
from tests import builders as make
from tests.browser.visitors import assert_accessible, sign_in

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True), pytest.mark.timeout(180)]

ALL_KINDS = """
slug: all-kinds
title: All kinds
dimensions:
  - key: kind
    title: Kind of issue
    kind: single
    categories: [{key: fault, name: Fault}, {key: how-to, name: How-to question}]
  - key: symptom
    title: Symptom
    kind: single
    applies_when: {dimension: kind, is: [fault]}
    categories:
      - {key: crash, name: Crash, definition: It stops with an error., exclude: [a hang]}
      - {key: hang, name: Hang and timeout, definition: It waits for ever., include: [a deadlock of two ranks]}
      - {key: slow, name: Slow, definition: It takes too long.}
      - {key: wrong, name: Wrong result}
      - {key: memory, name: Out of memory}
      - {key: loss, name: Loss diverges}
      - {key: setup, name: Setup fails}
      - {key: other, name: Other symptom, definition: Neither a crash nor a hang.}
  - key: fixes
    title: Fix pattern
    kind: multi
    applies_when: {dimension: kind, is: [fault]}
    categories: [{key: config, name: Configuration}, {key: version, name: Version}, {key: code, name: Code}]
  - key: distributed
    title: Only distributed
    kind: boolean
    applies_when: {dimension: kind, is: [fault]}
  - key: effort
    title: Effort
    kind: ordinal
    required: false
    categories: [{key: low, name: Low}, {key: middle, name: Middle}, {key: high, name: High}]
  - key: days
    title: Days open
    kind: number
    required: false
  - key: note
    title: Note
    kind: text
    required: false
"""


@pytest.fixture
def round_() -> Round:
    return make.open_round(make.study(text=ALL_KINDS), 10)


@pytest.fixture
def desk(page: "Page", live_server: LiveServer, round_: Round) -> "Page":
    """The labelling page as bob sees it; fails the test on an error in a script."""
    forget_trees()
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    sign_in(page, live_server, "bob")
    page.goto(f"{live_server.url}/studies/study/rounds/1/label/")
    page.wait_for_selector("#announcer:not(:empty)", state="attached")
    yield page
    assert not errors


def press(page: "Page", *keys: str) -> None:
    for key in keys:
        page.keyboard.press(key)


def submit(page: "Page", n_done: int) -> None:
    press(page, "Control+Enter")
    page.wait_for_selector(f"#where strong:text-is('{n_done}')")


def given(annotation: Annotation, part: int = 1) -> dict[str, object]:
    found: dict[str, object] = {}
    for rating in Rating.objects.filter(annotation=annotation, part=part).select_related("dimension", "category"):
        value = rating.category.key if rating.category else None
        for other in (rating.boolean, rating.number, rating.text):
            value = other if other is not None else value
        key = rating.dimension.key
        found[key] = sorted([*found.get(key, []), value]) if rating.dimension.kind == "multi" else value  # type: ignore[misc]
    return found


def focused(page: "Page") -> str:
    return str(
        page.evaluate("document.activeElement.closest('fieldset')?.dataset.dimension ?? document.activeElement.id")
    )


def answer_fault(page: "Page", symptom: str) -> None:
    """A fault with a symptom found by its letters, one fix pattern, distributed."""
    press(page, "f")
    page.keyboard.type(symptom)
    press(page, "Enter", "v", "4", "y")


@pytest.mark.slow
def test_ten_issues_are_labeled_by_keyboard_alone(desk: "Page") -> None:
    page = desk
    # 1: every kind of question, a memo, and what is missing is said on the way.
    press(page, "f")
    page.keyboard.type("crash")
    press(page, "Enter", "Control+Enter")
    assert page.inner_text("#missing") == "2 answers are missing: Fix pattern, Only distributed."
    assert focused(page) == "fixes" and page.inner_text("#error-3") == "“Fix pattern” is required."
    press(page, "v", "o", "4", "n", "5", "ArrowRight", "Enter")
    assert focused(page) == "days" and page.is_hidden("#missing")
    page.keyboard.type("12.5")
    press(page, "Enter")
    page.keyboard.type("see the log")
    press(page, "Escape", "m")
    page.keyboard.type("two **nodes**")
    submit(page, 1)
    # 2: a condition comes and goes; what was typed is there again.
    press(page, "f")
    page.keyboard.type("hang")
    press(page, "Enter", "1", "ArrowDown")
    assert page.is_hidden("#question-2")
    press(page, "ArrowUp")
    assert "Hang and timeout" in page.inner_text("#question-2 .chosen")
    press(page, "3", "c", "4", "y")
    submit(page, 2)
    # 3: skipped with a reason, flagged.
    press(page, "h", "!", "s", "ArrowDown", "Enter")
    page.wait_for_selector("#where strong:text-is('3')")
    # 4: a proposal in the place of a symptom.
    press(page, "f")
    page.keyboard.type("deadlock in a ring")
    press(page, "ArrowDown", "Enter")
    page.keyboard.type("none is about rings")
    press(page, "Escape", "3", "v", "4", "y")
    submit(page, 4)
    # 5: two bugs in one issue.
    answer_fault(page, "slow")
    page.focus("#add-part")
    press(page, "Enter")
    answer_fault(page, "memory")
    submit(page, 5)
    # 6: what was used last stands first.
    press(page, "f", "ArrowDown")
    shown = page.locator("#options-2 > li").all_inner_texts()
    assert shown[:6] == ["Recently used", "Out of memory", "Slow", "Hang and timeout", "Crash", "All"]
    press(page, "ArrowDown", "Enter", "v", "4", "y")
    submit(page, 6)
    # 7: a how-to question, flagged.
    press(page, "h", "!")
    submit(page, 7)
    # 8: back to the one before, and its answer is changed.
    press(page, "p")
    page.wait_for_selector("text=You labeled this item")
    assert page.get_attribute("#flag", "aria-pressed") == "true"
    press(page, "Escape", "!", "m")
    page.keyboard.type("not worth a talk")
    press(page, "Control+Enter")
    page.wait_for_selector("#submit-words:text-is('Submit and next')")
    for n_done in (8, 9):
        press(page, "h")
        submit(page, n_done)
    press(page, "h", "Control+Enter")
    page.wait_for_selector("text=You have finished all 10 items")

    first, second, third, fourth, fifth, sixth, seventh, changed, *rest = Annotation.objects.order_by("pk")
    assert given(first) == {
        "kind": "fault",
        "symptom": "crash",
        "fixes": ["code", "version"],
        "distributed": False,
        "effort": "middle",
        "days": 12.5,
        "note": "see the log",
    }
    assert first.memo == "two **nodes**"
    assert given(second) == {"kind": "fault", "symptom": "hang", "fixes": ["config"], "distributed": True}
    assert third.skip_reason == "Too little information to label it" and third.is_flagged
    asked = Proposal.objects.get()
    assert (asked.annotation_id, asked.name, asked.memo) == (fourth.pk, "deadlock in a ring", "none is about rings")
    assert [given(fifth, part)["symptom"] for part in (1, 2)] == ["slow", "memory"]
    assert given(sixth)["symptom"] == "slow"
    assert seventh.is_flagged and not changed.is_flagged
    assert (changed.revision, changed.memo, changed.assignment_id) == (2, "not worth a talk", seventh.assignment_id)
    assert len(rest) == 3 and {each.revision for each in rest} == {1}


def test_the_list_shows_a_part_by_keyboard_and_goes_on_showing_it_after_a_submit(desk: "Page") -> None:
    page = desk
    press(page, "h", "!")
    submit(page, 1)
    page.wait_for_selector("#shown-flagged:has-text('Flagged 1')")
    page.focus("#shown-flagged")
    press(page, "Enter")
    page.wait_for_selector("#own-list[data-show=flagged]")
    assert page.locator("#own-lines > li").count() == 1
    expect(page.locator("#shown-flagged")).to_be_focused()
    page.focus("#submit")
    press(page, "h", "!")
    submit(page, 2)
    page.wait_for_selector("#shown-flagged:has-text('Flagged 2')")
    assert page.locator("#own-lines > li").count() == 2
    press(page, "h")
    submit(page, 3)
    page.wait_for_timeout(300)
    assert page.locator("#own-lines > li").count() == 2


def test_text_and_columns_keep_the_size_they_were_given(desk: "Page") -> None:
    page = desk

    def width(of: str) -> float:
        return float(page.evaluate(f"document.querySelector('{of}').getBoundingClientRect().width"))

    def letters() -> str:
        return str(page.evaluate("getComputedStyle(document.querySelector('#reading .markdown')).fontSize"))

    usual, usual_letters = width("#answers-column"), letters()
    page.focus("[data-column=answers]")
    press(page, "ArrowLeft", "ArrowLeft")
    assert width("#answers-column") == usual + 32
    assert page.get_attribute("[data-column=answers]", "aria-valuenow") == str(int(usual) + 32)
    page.focus("[data-column=list]")
    press(page, "ArrowRight")
    page.focus("#submit")
    press(page, "+")
    assert letters() != usual_letters
    large = letters()
    page.reload()
    assert (width("#answers-column"), width("#own-list"), letters()) == (usual + 32, 224, large)
    page.dblclick("[data-column=answers]")
    assert width("#answers-column") == usual
    press(page, "-")
    assert letters() == usual_letters
    page.focus("[data-column=answers]")
    press(page, "End")
    page.set_viewport_size({"width": 1100, "height": 700})
    assert width("#reading") > 300 and width("#answers-column") <= 0.45 * 1100 + 1


def test_where_the_window_has_no_room_for_the_list_it_opens_over_the_issue(desk: "Page") -> None:
    page = desk
    press(page, "h")
    submit(page, 1)
    page.set_viewport_size({"width": 900, "height": 700})
    assert page.is_hidden("#own-list")
    page.focus("#open-list")
    press(page, "Enter")
    assert page.is_visible("#own-lines a") and page.get_attribute("#open-list", "aria-expanded") == "true"
    press(page, "Escape")
    assert page.is_hidden("#own-list")
    expect(page.locator("#open-list")).to_be_focused()


def test_a_definition_is_shown_for_what_has_the_focus(desk: "Page") -> None:
    page = desk
    press(page, "f")
    page.keyboard.type("hang")
    assert "a deadlock of two ranks" in page.inner_text("#definition")
    press(page, "Enter", "2")
    assert "It waits for ever." in page.inner_text("#definition")
    press(page, "5", "ArrowRight")
    assert page.inner_text("#definition h2") == "Middle"


@pytest.mark.slow
@pytest.mark.parametrize(("scheme", "width"), [("light", 1280), ("dark", 900), ("light", 360)])
def test_axe_finds_nothing_where_everything_is_in_use(desk: "Page", scheme: str, width: int) -> None:
    page = desk
    page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
    answer_fault(page, "slow")
    press(page, "Escape", "!")
    submit(page, 1)
    page.set_viewport_size({"width": width, "height": 800})
    if width < 500:
        page.click("[data-sheet]")
    press(page, "f")
    page.check("#question-1 >> text=Fault")
    page.check("#question-5 >> text=High", force=True)
    page.click("#flag")
    page.click("#submit")
    page.wait_for_selector("#missing:not([hidden])")
    assert_accessible(page)
    page.focus("#search-2")
    press(page, "ArrowDown")
    assert page.is_visible("#options-2")
    assert_accessible(page)
    if 500 < width < 1000:
        press(page, "Escape")
        page.click("#open-list")
        assert_accessible(page)
