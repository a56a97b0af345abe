"""Two raters screen issues by keyboard, a difference is decided on the page, and later rounds take what is in."""

import os
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect
from pytest_django.live_server_helper import LiveServer

from annotation.choosing.actions import samples as sample_actions
from annotation.models import Item, Round, Study
from annotation.rounds.actions import rounds
from annotation.studies.actions.studies import change_study
from taxonomy.queries import forget_trees
from tests import builders as make
from tests.browser.visitors import assert_accessible, screens, sign_in

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True), pytest.mark.timeout(240)]


@pytest.fixture
def study() -> Study:
    forget_trees()
    made = make.study()
    change_study(seat=make.owner_seat(made), changes={"screening_keywords": ["hang*", "change"]})
    make.issues(6)
    sample_actions.draw_sample(seat=make.owner_seat(made), filter={"repository": "acme/rocket"}, size=6, seed=1)
    return made


def look(page: "Page", name: str) -> None:
    """axe finds nothing on the page, wide and light or narrow and dark; pictures are kept where `PICTURES` says."""
    folder = os.environ.get("PICTURES")
    for width in screens(page):
        assert_accessible(page)
        if folder:
            page.screenshot(path=f"{folder}/screening-{name}-{width}.png", full_page=name != "label")
    page.emulate_media(color_scheme="light")
    page.set_viewport_size({"width": 1280, "height": 800})


def make_round(page: "Page", live_server: LiveServer) -> Round:
    sign_in(page, live_server, "olga")
    page.goto(live_server.url + "/studies/study/rounds/new/", timeout=60000)
    expect(page.get_by_label("Reasons for screening out")).to_be_hidden()
    page.get_by_label("Screening: decide which issues").check()
    expect(page.get_by_label("Taxonomy version")).to_be_hidden()
    page.get_by_label("Reasons for screening out").fill("Not a bug\nDuplicate")
    expect(page.locator("#preview")).to_contain_text("6 items × 2 raters")
    look(page, "new")
    page.get_by_role("button", name="Create round").click()
    page.get_by_role("button", name="Open round 1").click()
    page.wait_for_selector("text=Withdraw 12")
    return Round.objects.get()


def order_of(round_: Round, name: str) -> list[str]:
    rows = round_.assignments.filter(rater__user__username=name).order_by("position")
    return list(rows.values_list("item__identifier", flat=True))


def screen(page: "Page", live_server: LiveServer, name: str, keys: list[str], *, pictures: bool) -> None:
    """Answers issue after issue by keyboard: `i`, or `o` with the key of the reason."""
    sign_in(page, live_server, name)
    page.goto(live_server.url + "/studies/study/rounds/1/label/")
    page.wait_for_selector("#announcer:not(:empty)", state="attached")
    expect(page.get_by_text("Propose a category")).to_have_count(0)
    for n_done, answer in enumerate(keys, start=1):
        page.wait_for_timeout(700)  # a submit right after an issue came is taken for a double click
        for key in answer:
            page.keyboard.press(key)
        if pictures and len(answer) > 1:
            look(page, "label")
        page.keyboard.press("Control+Enter")
        if n_done < len(keys):
            page.wait_for_selector(f"#where strong:text-is('{n_done}')")
    page.wait_for_selector("#room.is-over")


FOUND = """
async () => {
  const { finder } = await import("/static/js/lib/keywords.js");
  const found = (keyword, text) => [...finder([keyword])(text)].map(([start, end]) => text.slice(start, end)).join("|");
  const words = [
    ["hang", "Hang, hangs, change, _hang_ and hang_x"], ["*lock*", "Deadlocked"], ["time*out of", "timeout  of"],
    ["re-run", "Re-run"], ["a * b", "a xx b, a b"],
  ];
  const began = performance.now();
  for (const [keyword, unit] of [["a*a*a*a*a*a*a*a*z", "a"], ["_*a*z", "_"], ["hang", "_"], ["a * * * z", "a "]]) {
    found(keyword, "z " + unit.repeat(30000));
  }
  return [words.map((each) => found(...each)), performance.now() - began < 3000];
}
"""


# The next issue is a maybe in the very moment in which it comes.
MAYBE_AT_ONCE = """
() => {
  window.isOnePage = true;
  new MutationObserver((_, observer) => {
    observer.disconnect();
    document.dispatchEvent(new KeyboardEvent("keydown", { key: "m" }));
  }).observe(document.getElementById("screen-room"), { childList: true });
}
"""


def screen_in_pane(page: "Page", live_server: LiveServer, name: str, keys: list[str]) -> None:
    """Answers issue after issue beside the list, by `i` or the digit of a reason; two are maybes for a while."""
    sign_in(page, live_server, name)
    page.goto(live_server.url + "/studies/study/rounds/1/screen/")
    reading = page.locator("#screen-read")
    expect(page.locator(".screen-line")).to_have_count(6)
    assert page.evaluate("CSS.highlights.get('screening-keyword').size") == 1, "hangs, in the text that is read"
    look(page, "pane")
    found, is_quick = page.evaluate(FOUND)
    assert found == ["Hang|hang", "Deadlocked", "timeout  of", "Re-run", "a xx b"] and is_quick
    here = [page.locator(".screen-line").nth(n).get_attribute("data-item") or "" for n in range(3)]
    page.evaluate(MAYBE_AT_ONCE)
    page.keyboard.press("m")
    expect(reading).to_have_attribute("data-here", here[2])
    for n_maybe in (1, 0):
        page.keyboard.press("k")
        expect(reading).to_have_attribute("data-here", here[n_maybe])
        page.keyboard.press("m")
        expect(page.get_by_role("link", name=f"Maybe {n_maybe}")).to_be_visible()
    assert page.evaluate("window.isOnePage"), "a key in the moment in which an issue comes loads the whole page"
    for n_done, answer in enumerate(keys, start=1):
        page.keyboard.press({"i": "i", "on": "1"}.get(answer, "o"))
        if answer == "od":
            page.get_by_role("button", name="Duplicate").click()
        expect(page.locator("#screen-progress strong")).to_have_text(str(n_done))
    expect(page.get_by_role("heading", name="Round 1 is being resolved")).to_be_visible()


def decide(page: "Page", live_server: LiveServer) -> None:
    """The adjudicator decides what differs: out, and then why."""
    sign_in(page, live_server, "ada")
    page.goto(live_server.url + "/studies/study/rounds/1/resolve/")
    page.locator("#resolve-first").focus()
    page.keyboard.press("Enter")
    page.wait_for_selector("body.resolving[data-keys=on]")
    expect(page.locator("#decision-title")).to_have_text("In or out")
    look(page, "resolve")
    page.get_by_role("radio", name="Out: leave it out").first.check()
    page.keyboard.press("Control+Enter")
    expect(page.locator("#decision-title")).to_have_text("Why out")
    page.get_by_role("radio", name="Duplicate").first.check()
    page.keyboard.press("Control+Enter")
    page.wait_for_url("**/rounds/1/resolve/")


@pytest.mark.slow
def test_issues_are_screened_by_two_raters_and_a_later_round_passes_over_what_is_out(
    page: "Page", live_server: LiveServer, study: Study
) -> None:
    round_ = make_round(page, live_server)
    order = {name: order_of(round_, name) for name in ("bob", "carol")}
    out, differs = sorted(order["bob"])[:2]
    for name in ("bob", "carol"):
        said = {out: "on", differs: "od" if name == "carol" else "i"}
        answers = [said.get(item, "i") for item in order[name]]
        if name == "bob":
            screen(page, live_server, name, answers, pictures=True)
        else:
            screen_in_pane(page, live_server, name, answers)
    round_.refresh_from_db()
    assert round_.state == Round.State.RESOLVING

    decide(page, live_server)
    sign_in(page, live_server, "olga")
    page.goto(live_server.url + "/studies/study/rounds/1/")
    page.get_by_role("button", name="Close round 1").click()
    kept = page.get_by_role("region", name="Table: what was screened in and out")
    expect(kept.get_by_role("row", name="in 4")).to_be_visible()
    expect(kept.get_by_role("row", name="out: Duplicate 1")).to_be_visible()
    expect(kept.get_by_role("row", name="out: Not a bug 1")).to_be_visible()
    look(page, "round")
    page.goto(live_server.url + "/studies/study/items/")
    sign_in(page, live_server, "rea")
    page.reload()
    expect(page.locator("tr", has_text=differs)).to_contain_text("Duplicate")
    expect(page.locator("tr", has_text=out)).to_contain_text("Not a bug")
    sign_in(page, live_server, "olga")
    said = dict(Item.objects.values_list("identifier", "screening"))
    assert sorted(said.values()) == ["in"] * 4 + ["out"] * 2

    page.goto(live_server.url + "/studies/study/rounds/new/", timeout=60000)
    page.get_by_label("Main: counts").check()
    expect(page.locator("#preview")).to_contain_text("4 items × 2 raters")
    page.get_by_role("button", name="Create round").click()
    page.wait_for_selector("h1:has-text('Round 2')")
    main = rounds.get_round(make.owner_seat(study), 2)
    assert set(main.round_items.values_list("item__identifier", flat=True)) == set(order["bob"]) - {out, differs}
