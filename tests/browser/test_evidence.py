"""Evidence in a real browser: selected words become quotes of an answer, stay marked, and are seen while resolving."""

from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect
from pytest_django.live_server_helper import LiveServer

from annotation.models import Evidence, Round
from taxonomy.queries import forget_trees
from tests import builders as make
from tests.browser.visitors import found_by_axe, sign_in, wait_until

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True), pytest.mark.timeout(180)]

BODY = """The job is **stuck at [the barrier](https://example.org/barrier)** for ever.

```text
rank 0: waiting
rank 1: waiting
```
"""
SELECT = """([from, start, until, end]) => {
  const at = (selector, place) => {
    const walker = document.createTreeWalker(document.querySelector(selector), NodeFilter.SHOW_TEXT);
    for (let node = walker.nextNode(); node; node = walker.nextNode()) {
      if (place <= node.data.length) return [node, place];
      place -= node.data.length;
    }
  };
  const range = document.createRange();
  range.setStart(...at(from, start));
  range.setEnd(...at(until, end));
  getSelection().removeAllRanges();
  getSelection().addRange(range);
}"""
MARKED = """() => [...CSS.highlights].filter(([name]) => name !== "evidence-flash").map(
  ([name, ranges]) => [name, [...ranges].map(String)]).sort()"""


@pytest.fixture
def round_() -> Round:
    study = make.study(text=make.FAULTS)
    make.issues(2)
    make.new_state(1, [(1, "ann", "same here"), (2, "ben", "It waits for NCCL")], body=BODY)
    return make.open_round(study, 2)


@pytest.fixture
def room(page: "Page", live_server: LiveServer, round_: Round) -> "Page":
    """The labelling page of the first issue as bob; fails the test on an error in a script."""
    forget_trees()
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.on("console", lambda message: errors.append(message.text) if "Content Security" in message.text else None)
    sign_in(page, live_server, "bob")
    pk = make.assignment(round_, "bob", 1).public_id
    page.goto(f"{live_server.url}/studies/{round_.study.slug}/rounds/1/label/{pk}/")
    page.wait_for_selector("#announcer:not(:empty)", state="attached")
    yield page
    assert not errors


def select(page: "Page", start: int, end: int, root: str = "[data-source=body]", until: str = "") -> None:
    page.evaluate(SELECT, [root, start, until or root, end])
    page.wait_for_selector("#evidence:not([hidden])")


def answer(page: "Page") -> None:
    for key in ("f", "h"):
        page.keyboard.press(key)


@pytest.mark.slow
def test_selected_words_are_attached_by_a_key_marked_and_stored(room: "Page") -> None:
    answer(room)
    select(room, 11, 31)
    assert room.inner_text("#evidence-title") == "Evidence for"
    room.keyboard.press("2")
    assert room.is_hidden("#evidence")
    assert room.evaluate(MARKED) == [["evidence-2-1", ["stuck at the barrier"]]]
    assert room.inner_text("#question-2 .evidence-go") == "“stuck at the barrier”"
    select(room, 3, 8, "#comment-2 [data-source=comment]")
    room.click(".evidence-choice:has-text('Kind of issue')")
    assert "comment 2" in room.inner_text("#question-1 .evidence-go")
    room.wait_for_selector("text=Draft saved")
    room.reload()
    room.wait_for_selector("#question-2 .evidence-go")
    assert room.evaluate(MARKED) == [["evidence-1-1", ["waits"]], ["evidence-2-1", ["stuck at the barrier"]]]
    room.focus("#question-4")
    room.keyboard.press("y")
    room.keyboard.press("Control+Enter")
    room.wait_for_selector("#where strong:text-is('1')")
    rows = {row.quote: row for row in Evidence.objects.select_related("rating__category", "comment")}
    stuck = rows["stuck at the barrier"]
    assert stuck.rating.category is not None and stuck.rating.category.key == "hang"
    assert BODY[stuck.start : stuck.end] == "stuck at [the barrier"
    assert rows["waits"].comment is not None and (rows["waits"].start, rows["waits"].end) == (3, 8)


def test_it_is_done_by_keyboard_alone_and_escape_takes_it_back(room: "Page") -> None:
    answer(room)
    select(room, 4, 7)
    room.keyboard.press("Escape")
    assert room.is_hidden("#evidence")
    room.keyboard.press("e")
    expect(room.locator(".evidence-choice:focus")).to_be_visible()
    room.keyboard.press("ArrowDown")
    room.keyboard.press("Enter")
    assert room.inner_text("#question-2 .evidence-go") == "“job”"
    room.focus("#question-2 .evidence-go")
    room.keyboard.press("Enter")
    assert room.evaluate("CSS.highlights.has('evidence-flash')")
    room.keyboard.press("Delete")
    assert room.evaluate(MARKED) == [] and not room.locator(".evidence-go").count()


def test_where_nothing_is_chosen_the_next_choice_gets_the_quote(room: "Page") -> None:
    select(room, 4, 7)
    assert "Nothing is selected yet" in room.inner_text("#evidence")
    room.keyboard.press("1")
    assert "will be attached to your next choice here" in room.inner_text("#question-1")
    room.keyboard.press("f")
    assert room.inner_text("#question-1 .evidence-go") == "“job”"
    assert room.evaluate(MARKED) == [["evidence-1-1", ["job"]]]


def test_a_quote_of_an_answer_that_is_gone_is_grayed_and_not_sent(room: "Page") -> None:
    answer(room)
    select(room, 4, 7)
    room.keyboard.press("2")
    room.check("#question-2 [value=slow]")
    assert room.evaluate(MARKED) == [["evidence-off", ["job"]]]
    assert "Hang is not selected, so the quote is not sent" in room.inner_text("#question-2 .evidence-line")
    room.focus("#question-4")
    room.keyboard.press("n")
    room.keyboard.press("Control+Enter")
    room.wait_for_selector("#where strong:text-is('1')")
    assert not Evidence.objects.exists()


def test_a_selection_across_two_texts_is_cut_at_the_end_of_the_first(room: "Page") -> None:
    answer(room)
    select(room, 5, 4, "#comment-1 [data-source=comment]", "#comment-2 [data-source=comment]")
    room.keyboard.press("1")
    assert room.evaluate(MARKED) == [["evidence-1-1", ["here"]]]


@pytest.mark.slow
def test_of_equal_lines_the_one_that_was_meant_is_marked_again(room: "Page") -> None:
    answer(room)
    text = room.locator("[data-source=body]").evaluate("each => each.textContent")
    second = text.rindex("waiting")
    select(room, second, second + 7)
    room.keyboard.press("1")
    room.wait_for_selector("text=Draft saved")
    room.reload()
    room.wait_for_selector(".evidence-go")
    before = "[...CSS.highlights.get('evidence-1-1')][0].startContainer.data.slice(0, "
    start = room.evaluate("[...CSS.highlights.get('evidence-1-1')][0].startOffset")
    assert room.evaluate(f"{before}{start})").endswith("rank 1: ")


def test_plain_clicks_and_copying_stay_as_they_are(room: "Page") -> None:
    answer(room)
    room.focus("#memo")
    select(room, 4, 7)
    assert room.evaluate("String(getSelection())") == "job"
    room.click("#reading h1")
    room.wait_for_selector("#evidence", state="hidden")


@pytest.mark.slow
@pytest.mark.parametrize("width", [1280, 360])
def test_axe_finds_nothing(room: "Page", width: int) -> None:
    answer(room)
    room.set_viewport_size({"width": width, "height": 800})
    for start in (4, 20):
        select(room, start, start + 6)
        room.click(".evidence-choice >> nth=1")
    select(room, 40, 45)
    found = found_by_axe(room)
    assert not found, [(each["id"], [node["html"][:120] for node in each["nodes"]]) for each in found]
    assert room.evaluate("document.documentElement.scrollWidth") <= width


@pytest.mark.slow
def test_whoever_resolves_sees_each_raters_quotes_in_their_color_and_goes_there(
    round_: Round, page: "Page", live_server: LiveServer
) -> None:
    forget_trees()
    fault = {"kind": ["fault"], "fixes": [], "distributed": True}
    stuck = {"dimension": "symptom", "where": "body", "quote": "stuck at the barrier"}
    waits = {"dimension": "symptom", "category": "slow", "where": "comment", "comment": 2, "quote": "waits for"}
    overlapping = stuck | {"category": "slow", "quote": "barrier for ever"}
    make.submit(round_, "bob", 1, fault | {"symptom": ["hang"]}, evidence=[stuck | {"category": "hang"}])
    make.submit(round_, "carol", 1, fault | {"symptom": ["slow"]}, evidence=[overlapping, waits])
    for name in ("bob", "carol"):
        make.submit(round_, name, 2, {"kind": ["how-to"]})
    sign_in(page, live_server, "ada")
    item = make.assignment(round_, "bob", 1).item_id
    page.goto(f"{live_server.url}/studies/{round_.study.slug}/rounds/1/resolve/{item}/")
    wait_until(page, "CSS.highlights.size === 3")
    assert page.evaluate(MARKED) == [
        ["evidence-rater-1-1", ["stuck at the barrier"]],
        ["evidence-rater-2-1", ["barrier for ever"]],
        ["evidence-rater-2-2", ["waits for"]],
    ]
    assert "comment 2" in page.inner_text(".evidence-go >> nth=2")
    page.click(".evidence-go >> nth=2")
    assert page.evaluate("String([...CSS.highlights.get('evidence-flash')][0])") == "waits for"
    found = found_by_axe(page)
    assert not found, [(each["id"], [node["html"][:120] for node in each["nodes"]]) for each in found]
