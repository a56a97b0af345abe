"""Labelling in a real browser: by keyboard alone, with nothing lost and nothing doubled."""

import json
import re
from collections.abc import Callable
from itertools import combinations
from typing import TYPE_CHECKING

import pytest
from django.conf import settings
from playwright.sync_api import expect
from pytest_django.live_server_helper import LiveServer

from annotation.models import Annotation, Assignment, Draft, Proposal, Rating, Round, Study
from taxonomy.queries import forget_trees
from taxonomy.ready_made import preset
from tests import builders as make
from tests.browser.visitors import found_by_axe, screens, sign_in

if TYPE_CHECKING:
    from playwright.sync_api import Page, Route

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True), pytest.mark.timeout(180)]

Enter = Callable[..., "Page"]


@pytest.fixture
def enter(page: "Page", live_server: LiveServer) -> Enter:
    """Opens the labelling page of a round as a rater who is signed in; fails the test on an error in a script."""
    forget_trees()
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.on("console", lambda message: errors.append(message.text) if "Content Security" in message.text else None)

    def entered(round_: Round, name: str = "bob", rest: str = "") -> "Page":
        sign_in(page, live_server, name)
        page.goto(f"{live_server.url}/studies/{round_.study.slug}/rounds/{round_.number}/label/{rest}")
        page.wait_for_selector("#announcer:not(:empty)", state="attached")
        return page

    yield entered
    assert not errors


@pytest.fixture
def round_() -> Round:
    return make.open_round(make.study(text=make.FAULTS))


def values(annotation: Annotation) -> dict[str, object]:
    found: dict[str, object] = {}
    for rating in Rating.objects.filter(annotation=annotation).select_related("dimension", "category"):
        found[rating.dimension.key] = rating.category.key if rating.category else rating.boolean
    return found


def on_item(page: "Page", n_done: int) -> None:
    page.wait_for_selector(f"#where strong:text-is('{n_done}')")


@pytest.mark.slow
def test_three_issues_are_labeled_by_keyboard_alone(round_: Round, enter: Enter) -> None:
    page = enter(round_)
    press = page.keyboard.press
    for key in ("f", "h"):  # a fault; a hang; then on to the optional question
        press(key)
    press("Enter")
    press("y")
    press("m")
    page.keyboard.type("two nodes")
    press("Control+Enter")
    on_item(page, 1)
    press("h")  # a how-to question; nothing else is asked
    press("Control+Enter")
    on_item(page, 2)
    press("s")
    press("ArrowDown")
    press("Enter")
    page.wait_for_selector("text=You have finished all 3 items")
    first, second, third = Annotation.objects.order_by("pk")
    assert values(first) == {"kind": "fault", "symptom": "hang", "fixes": None, "distributed": True}
    assert first.memo == "two nodes" and first.seconds is not None
    assert values(second) == {"kind": "how-to"}
    assert third.skip_reason == "Too little information to label it"


@pytest.mark.slow
def test_a_long_taxonomy_is_searched_by_a_few_letters(enter: Enter) -> None:
    study = make.study(text=preset("liu-2023").text)
    round_ = make.open_round(study)
    page = enter(round_)
    page.keyboard.press("f")
    page.keyboard.press("n")
    page.keyboard.type("setup hang")
    assert page.locator("[role=option] .option-path").first.inner_text() == "Communication setup"
    assert "does not come to an end" in page.inner_text("#definition")
    page.keyboard.press("Enter")
    page.keyboard.type("network")
    page.keyboard.press("Enter")
    page.keyboard.type("version")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    page.keyboard.press("Control+Enter")
    on_item(page, 1)
    given = Rating.objects.order_by("pk").values_list("dimension__key", "category__key")
    assert ("symptom", "communication-setup-hang-and-timeout") in given
    assert sum(key == "fix-pattern" for key, _ in given) == 2


def test_a_word_that_finds_nothing_makes_no_proposal_by_a_reflex(enter: Enter) -> None:
    page = enter(make.open_round(make.study(text=preset("liu-2023").text)))
    for key in ("f", "n"):
        page.keyboard.press(key)
    page.keyboard.type("wrong batches")
    assert "batches of the wrong form" in page.locator("#question-3 .option-reason").first.inner_text(), (
        "why it was found"
    )
    assert "Going through a data set" in page.inner_text("#definition")
    page.fill("#search-3", "")
    page.keyboard.type("zzz")
    assert "appears here" in page.inner_text("#definition"), "no category is at hand, so none is explained"
    page.keyboard.press("Enter")
    assert page.is_visible("text=No category contains “zzz”.") and page.is_hidden("#question-3 .proposal")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    assert page.input_value("#question-3 [name=proposal-name]") == "zzz"


def test_a_question_comes_with_its_condition_and_keeps_what_was_typed(round_: Round, enter: Enter) -> None:
    page = enter(round_)
    symptom = page.locator("#question-2")
    assert symptom.is_hidden()
    page.check("text=Fault")
    assert symptom.is_visible()
    page.check("text=Slow")
    page.check("text=How-to question")
    assert symptom.is_hidden()
    page.check("text=Fault")
    assert symptom.is_visible() and page.is_checked("text=Slow")
    page.check("text=How-to question")
    page.click("#submit")
    on_item(page, 1)
    assert values(Annotation.objects.get()) == {"kind": "how-to"}


def test_what_is_missing_is_said_at_its_question_which_gets_the_focus(round_: Round, enter: Enter) -> None:
    page = enter(round_)
    page.keyboard.press("f")
    page.keyboard.press("Control+Enter")
    page.wait_for_selector("#error-2:has-text('“Symptom” is required.')")
    expect(page.locator("#question-2 :focus")).to_be_attached()
    assert page.is_visible("#error-4")
    page.keyboard.press("c")
    assert page.is_hidden("#error-2") and page.is_visible("#error-4")
    assert not Annotation.objects.exists()


@pytest.mark.slow
def test_a_draft_survives_a_reload_and_another_browser(round_: Round, enter: Enter) -> None:
    page = enter(round_)
    page.keyboard.press("f")
    page.keyboard.press("c")
    with page.expect_response(re.compile("/draft/$")):
        page.fill("#memo", "not yet sure")
    page.reload()
    page.wait_for_selector("text=restored")
    assert page.is_checked("text=Crash") and page.input_value("#memo") == "not yet sure"
    page.evaluate("localStorage.clear()")
    page.reload()
    page.wait_for_selector("text=restored")
    assert page.is_checked("text=Crash") and page.input_value("#memo") == "not yet sure"
    page.keyboard.press("y")
    page.keyboard.press("Control+Enter")
    on_item(page, 1)
    assert not Draft.objects.exists()
    assert not page.is_checked("text=Fault")


@pytest.mark.slow
def test_the_page_begins_with_the_newer_draft_of_the_browser_and_the_server(round_: Round, enter: Enter) -> None:
    page = enter(round_)
    bodies = []
    for memo in ("typed first", "typed last"):
        with page.expect_response(re.compile("/draft/$")):
            page.fill("#memo", memo)
        bodies.append(Draft.objects.get().body)
    Draft.objects.update(body=bodies[0])  # as if the last request had been lost
    page.reload()
    page.wait_for_selector("text=restored")
    assert page.input_value("#memo") == "typed last"


@pytest.mark.slow
def test_a_draft_that_a_reload_brought_back_can_be_submitted_at_once(round_: Round, enter: Enter) -> None:
    page = enter(round_)
    with page.expect_response(re.compile("/draft/$")):
        page.keyboard.press("h")
    page.add_init_script(
        """document.addEventListener("DOMContentLoaded", () => new MutationObserver((_, observer) => {
            if (!document.querySelector("#saved-words")?.textContent.includes("restored")) return;
            observer.disconnect();
            document.querySelector("#submit").click();
        }).observe(document.body, { childList: true, subtree: true, characterData: true }))"""
    )
    page.reload()
    on_item(page, 1)
    assert values(Annotation.objects.get()) == {"kind": "how-to"}


def test_a_double_click_stores_once(round_: Round, enter: Enter) -> None:
    page = enter(round_)
    page.keyboard.press("h")
    page.dblclick("#submit")
    on_item(page, 1)
    page.wait_for_timeout(300)
    assert Annotation.objects.count() == 1
    assert Assignment.objects.filter(state="submitted").count() == 1


def test_the_second_half_of_a_slow_double_click_does_not_answer_the_next_issue(enter: Enter) -> None:
    optional = make.SYMPTOMS.replace("kind: single", "kind: single\n    required: false")
    page = enter(make.open_round(make.study(text=optional)))
    page.keyboard.press("c")
    page.evaluate(
        """() => new Promise((done) => {
            const submit = document.getElementById("submit");
            new MutationObserver((_, observer) => {
                observer.disconnect();
                setTimeout(() => done(submit.click()), 50);
            }).observe(document.querySelector("main"), { childList: true });
            submit.click();
        })"""
    )
    on_item(page, 1)
    page.wait_for_timeout(300)
    assert Annotation.objects.count() == 1


@pytest.mark.slow
def test_an_answer_whose_reply_was_lost_is_sent_again_and_stored_once(round_: Round, enter: Enter) -> None:
    page = enter(round_)
    keys: list[str] = []

    def lose_the_first_reply(route: "Route") -> None:
        keys.append(route.request.headers["idempotency-key"])
        if len(keys) == 1:
            route.fetch()
            route.abort("connectionreset")
        else:
            route.continue_()

    page.route(re.compile(r"/label/[0-9a-f-]{36}/$"), lose_the_first_reply)
    page.keyboard.press("h")
    page.keyboard.press("Control+Enter")
    page.wait_for_selector("#banner :text('No connection')")
    on_item(page, 1)
    assert len(keys) == 2 and keys[0] == keys[1]
    assert Annotation.objects.count() == 1
    assert page.inner_text("#banner") == ""


@pytest.mark.slow
def test_without_a_network_typing_goes_on_and_the_answer_is_sent_when_it_is_back(round_: Round, enter: Enter) -> None:
    page = enter(round_)
    page.context.set_offline(True)
    page.keyboard.press("h")
    page.fill("#memo", "on a train")
    page.wait_for_selector("#banner :text('Keep working')")
    page.keyboard.press("Control+Enter")
    page.wait_for_selector("#banner :text('One answer is kept')")
    page.context.set_offline(False)
    on_item(page, 1)
    assert Annotation.objects.get().memo == "on a train"


def test_who_was_signed_out_loses_nothing(round_: Round, enter: Enter) -> None:
    page = enter(round_)
    cookies = page.context.cookies()
    page.context.clear_cookies(name=settings.SESSION_COOKIE_NAME)
    page.keyboard.press("h")
    page.keyboard.press("Control+Enter")
    page.wait_for_selector("#banner :text('You are signed out')")
    page.context.add_cookies(cookies)
    page.click("text=Continue here")
    on_item(page, 1)
    assert Annotation.objects.count() == 1


@pytest.mark.slow
def test_a_second_tab_is_told_that_the_issue_was_answered_in_the_first(round_: Round, enter: Enter) -> None:
    page = enter(round_)
    other = page.context.new_page()
    other.goto(page.url)
    page.keyboard.press("h")
    page.keyboard.press("Control+Enter")
    on_item(page, 1)
    other.bring_to_front()
    other.click("text=How-to question")
    other.fill("#memo", "the second tab")
    other.click("#submit")
    other.wait_for_selector("#banner :text('another tab')")
    assert Annotation.objects.count() == 1
    other.click("text=Use this answer")
    on_item(other, 1)
    assert list(Annotation.objects.order_by("revision").values_list("revision", "memo")) == [
        (1, ""),
        (2, "the second tab"),
    ]


@pytest.mark.slow
def test_two_bugs_in_one_issue_and_a_proposal_for_the_second(round_: Round, enter: Enter) -> None:
    page = enter(round_)
    for key in ("f", "c"):
        page.keyboard.press(key)
    page.check("#question-4 input[value=no]")
    page.fill("#memo", "the first")
    page.click("text=Add a part for another problem")
    assert page.inner_text("[role=tab][aria-selected=true]") == "Part 2"
    page.keyboard.press("f")
    page.click("#question-2 >> text=Category missing")
    page.keyboard.type("Deadlock")
    page.check("#question-4 input[value=yes]")
    page.check("[name=confidence][value='1']")
    page.keyboard.press("Control+Enter")
    on_item(page, 1)
    stored = Annotation.objects.get()
    assert (stored.n_parts, stored.part_memos, stored.confidence) == (2, ["the first", ""], 1)
    assert Proposal.objects.get().name == "Deadlock"
    assert page.locator("#own-lines .label-doubt").count() == 1


def test_an_earlier_answer_is_opened_and_changed(round_: Round, enter: Enter) -> None:
    page = enter(round_)
    page.keyboard.press("h")
    page.keyboard.press("Control+Enter")
    on_item(page, 1)
    page.keyboard.press("p")
    page.wait_for_url(re.compile(r"/label/[0-9a-f-]{36}/$"))
    page.wait_for_selector("text=You labeled this item")
    assert page.is_checked("text=How-to question")
    page.fill("#memo", "changed my mind")
    page.click("text=Save change")
    page.wait_for_url(re.compile("/label/$"))
    assert list(Annotation.objects.order_by("revision").values_list("revision", "memo")) == [
        (1, ""),
        (2, "changed my mind"),
    ]


def test_no_part_of_the_head_line_lies_over_another(round_: Round, enter: Enter) -> None:
    """At an earlier answer it has one link more; the title of the study gives way."""
    Study.objects.update(title="Faults in distributed training of large models")
    own = Assignment.objects.filter(round=round_, rater__user__username="bob").order_by("position")
    for each in own[:2]:
        make.submit(round_, "bob", int(each.item.identifier.partition("#")[2]), {"kind": ["how-to"]})
    page = enter(round_, "bob", f"{own[1].public_id}/")
    expect(page.locator("#previous")).to_be_visible()
    expect(page.locator("#onward")).to_be_visible()
    for width in (1440, 1280, 1100, 1000, 800, 390):
        page.set_viewport_size({"width": width, "height": 900})
        boxes = page.locator(".label-head :is(a, button, strong, progress)").evaluate_all(
            "all => all.filter(each => each.checkVisibility()).map(each => each.getBoundingClientRect())"
            ".map(each => [each.left, each.right, each.top, each.bottom])"
        )
        over = [
            (one, other)
            for one, other in combinations(boxes, 2)
            if one[0] < other[1] - 1 and other[0] < one[1] - 1 and one[2] < other[3] - 1 and other[2] < one[3] - 1
        ]
        assert not over, width


def test_a_stray_letter_does_not_change_a_question_that_was_answered(round_: Round, enter: Enter) -> None:
    page = enter(round_)
    page.keyboard.press("f")
    page.keyboard.press("c")
    page.focus("#submit")
    page.keyboard.press("h")
    assert page.is_checked("text=Fault") and page.is_checked("text=Crash")
    page.keyboard.press("1")
    page.keyboard.press("h")
    assert page.is_checked("text=How-to question")


def test_single_keys_do_nothing_while_typing_or_when_switched_off(round_: Round, enter: Enter) -> None:
    page = enter(round_)
    page.fill("#memo", "")
    page.click("#memo")
    page.keyboard.type("skip [ph?")
    assert page.input_value("#memo") == "skip [ph?"
    assert not page.is_checked("text=How-to question") and page.is_hidden("#skip")
    page.keyboard.press("Escape")
    page.keyboard.press("?")
    page.uncheck("#single-keys")
    page.click("#keys >> text=Close")
    page.keyboard.press("h")
    assert not page.is_checked("text=How-to question")


@pytest.mark.slow
def test_axe_finds_nothing_serious(round_: Round, enter: Enter) -> None:
    page = enter(round_)
    page.check("#question-1 >> text=Fault")
    page.click("#question-2 >> text=Category missing")
    page.click("text=Add a part for another problem")
    page.keyboard.press("Control+Enter")
    page.wait_for_selector(".is-wrong")
    for width in screens(page):
        if width < 500:
            page.click("[data-sheet]")
        assert serious(page) == []
    page.evaluate("document.getElementById('keys').showModal()")
    for _ in screens(page):
        assert serious(page) == []


def serious(page: "Page") -> list[str]:
    found = found_by_axe(page)
    return [
        json.dumps([each["id"], [node["html"][:200] for node in each["nodes"]]])
        for each in found
        if each["impact"] in ("serious", "critical")
    ]
