"""Resolving in a real browser: by keyboard alone, two adjudicators at once, and readable for everybody."""

from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

from annotation.models import Resolution, Round
from tests import builders as make
from tests.browser.visitors import Visit, found_by_axe, screens, wait_until

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True), pytest.mark.timeout(180)]

Enter = Callable[..., "Page"]
FAULT = {"kind": ["fault"], "symptom": ["crash"], "distributed": True}


@pytest.fixture
def enter(visit: Visit) -> Enter:
    """Opens the queue, or more, as someone who is signed in."""

    def entered(name: str = "ada", rest: str = "", width: int = 1280, scheme: str = "light") -> "Page":
        return visit(name, f"/studies/study/rounds/1/resolve/{rest}", width, scheme)

    return entered


@pytest.fixture
def round_() -> Round:
    """Item 1 differs in kind, and in what hangs on it; 2 in the symptom; 3 in the fixes."""
    made = make.open_round(make.study(text=make.FAULTS), 3)
    make.submit(made, "bob", 1, FAULT, memo="it stops")
    make.submit(made, "carol", 1, {"kind": ["how-to"]}, memo="a question")
    make.submit(made, "bob", 2, FAULT)
    make.submit(made, "carol", 2, {**FAULT, "symptom": ["hang"]})
    make.submit(made, "bob", 3, {**FAULT, "fixes": ["config"]})
    make.submit(made, "carol", 3, {**FAULT, "fixes": ["config", "code"]})
    return made


def ready(page: "Page") -> None:
    """Waits until an item's page listens to keys."""
    page.wait_for_selector("body.resolving[data-keys=on]")


def at(page: "Page", title: str, item: int) -> None:
    """Waits until this place of this item is asked, and its heading has the focus."""
    wait_until(
        page,
        """([title, item]) => document.querySelector("#decision-title")?.innerText.trim() === title
           && document.querySelector("#queue [aria-current]")?.innerText.includes("#" + item)
           && document.activeElement.id === "decision-title" """,
        arg=[title, item],
    )


def decided() -> dict[tuple[int, str], list[str]]:
    """The newest values by issue number and dimension."""
    found = {}
    for each in Resolution.objects.order_by("revision").select_related("item__issue", "dimension"):
        values = [str(row.category.key if row.category else row.boolean) for row in each.decided.order_by("category")]
        found[each.item.issue.number, each.dimension.key] = values
    return found


@pytest.mark.slow
def test_three_items_are_resolved_by_keyboard_alone(round_: Round, enter: Enter) -> None:
    page = enter()
    page.locator("#resolve-first").focus()
    page.keyboard.press("Enter")
    ready(page)
    press = page.keyboard.press
    press("1")
    press("w")
    page.keyboard.type("it says so")
    press("Control+Enter")
    at(page, "Symptom", 1)
    assert "Kind of issue: Fault" in page.inner_text(".resolve-just")
    press("o")
    page.keyboard.type("slo")
    press("Enter")
    press("Control+Enter")
    at(page, "Fix patterns", 1)
    press("n")
    press("Control+Enter")
    at(page, "Only distributed", 1)
    press("1")
    press("Control+Enter")
    at(page, "Symptom", 2)
    assert "Issue 2 of rocket" in page.inner_text("#reading")
    press("2")
    press("Control+Enter")
    at(page, "Fix patterns", 3)
    press("o")
    page.keyboard.type("vers")
    press("Enter")
    press("Control+Enter")
    page.wait_for_selector("text=All items are agreed")
    assert decided() == {
        (1, "kind"): ["fault"],
        (1, "symptom"): ["slow"],
        (1, "fixes"): [],
        (1, "distributed"): ["True"],
        (2, "symptom"): ["hang"],
        (3, "fixes"): ["config", "version"],
    }
    assert Resolution.objects.get(dimension__key="kind").rationale == "it says so"


@pytest.mark.slow
def test_keys_move_through_the_queue_and_can_be_switched_off(round_: Round, enter: Enter) -> None:
    page = enter()
    page.click("#resolve-first")
    for key, item in (("j", 2), ("]", 3), ("k", 2), ("[", 1)):
        ready(page)
        page.keyboard.press(key)
        page.wait_for_selector(f"#queue [aria-current]:has-text('#{item}')")
    ready(page)
    page.keyboard.press("?")
    page.uncheck("#single-keys")
    page.keyboard.press("Escape")
    page.keyboard.press("2")
    assert page.locator("[name=choice]:checked").count() == 0
    page.reload()
    ready(page)
    page.keyboard.press("2")
    assert page.locator("[name=choice]:checked").count() == 0


@pytest.mark.slow
def test_of_two_adjudicators_the_second_sees_the_first_decision_and_overwrites_nothing(
    round_: Round, enter: Enter
) -> None:
    ada, olga = enter("ada"), enter("olga")
    for page in (ada, olga):
        page.click("#resolve-first")
        ready(page)
    ada.keyboard.press("1")
    ada.keyboard.press("Control+Enter")
    at(ada, "Symptom", 1)
    olga.keyboard.press("2")
    olga.keyboard.press("w")
    olga.keyboard.type("I read it otherwise")
    olga.keyboard.press("Control+Enter")
    olga.wait_for_selector("text=ada resolved this as Fault while you were reading.")
    wait_until(olga, "() => document.activeElement.getAttribute('role') === 'alert'")
    assert olga.input_value("#rationale") == "I read it otherwise"
    assert decided() == {(1, "kind"): ["fault"]}
    olga.keyboard.press("Control+Enter")
    at(olga, "Symptom", 2)
    assert decided() == {(1, "kind"): ["how-to"]}
    assert Resolution.objects.count() == 2


def test_a_decision_without_a_choice_says_so_and_goes_there(round_: Round, enter: Enter) -> None:
    page = enter()
    page.click("#resolve-first")
    ready(page)
    page.click("text=Resolve and next")
    page.wait_for_selector("text=Choose an agreed label.")
    wait_until(page, "() => document.activeElement.getAttribute('aria-invalid') === 'true'")
    assert not Resolution.objects.exists()


def serious(page: "Page") -> list[str]:
    """What axe finds on a wide and light screen, and on a dark phone with its sheet open."""
    found = []
    for width in screens(page):
        if width < 500 and page.is_visible("[data-sheet]") and not page.is_visible("dialog"):
            page.click("[data-sheet]")
        found += found_by_axe(page)
    page.set_viewport_size({"width": 1280, "height": 800})
    return [
        f"{each['id']}: {each['nodes'][0]['html'][:160]}" for each in found if each["impact"] in ("serious", "critical")
    ]


@pytest.mark.slow
def test_axe_finds_nothing_serious(round_: Round, enter: Enter) -> None:
    page = enter("olga")
    assert serious(page) == []
    page.click("#resolve-first")
    page.wait_for_selector("#decision-title", state="attached")
    page.check("[value=other]")
    page.click("text=Resolve and next")
    page.wait_for_selector("text=Enter the other value.")
    assert serious(page) == []
    page.check("[data-key='1']")
    page.click("text=Resolve and next")
    page.wait_for_selector(".resolve-just")
    assert serious(page) == []
    page.evaluate("document.getElementById('keys').showModal()")
    assert serious(page) == []


@pytest.mark.parametrize("width", [1280, 360])
def test_nothing_is_wider_than_the_screen(round_: Round, enter: Enter, width: int) -> None:
    page = enter(width=width)
    for _ in range(2):
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        page.click("#resolve-first") if page.locator("#resolve-first").count() else None
        page.wait_for_selector("#decision-title", state="attached")
