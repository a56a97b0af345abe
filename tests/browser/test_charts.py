"""Charts in a real browser: drawn under the strict Content-Security-Policy, opened by click and by key, printed."""

import re

import pytest
from playwright.sync_api import Page, expect

from annotation.models import Study
from tests import builders as make
from tests.browser.visitors import Visit, assert_accessible, screens

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

AGREEMENT = "/studies/study/agreement/"


@pytest.fixture
def study() -> Study:
    """Three raters in two rounds; on items 1 and 2 one said Crash and another Hang."""
    raters = ("bob", "carol", "dan")
    made = make.study(raters=raters, primary={"symptom": {"coefficient": "fleiss_kappa", "threshold": 0.8}})
    first = make.open_round(made, 4, raters=raters)
    table = "1 crash hang crash\n2 crash hang hang\n3 hang hang hang\n4 slow slow slow"
    make.rate(first, f"item bob carol dan\n{table}")
    make.rate(
        make.open_round(made, 2, first=5, raters=raters), "item bob carol dan\n5 slow slow slow\n6 hang hang hang"
    )
    return made


def drawn(page: Page) -> Page:
    """The page when each of its charts stands."""
    for figure in page.locator("[data-chart]").all():
        expect(figure).to_have_attribute("data-drawn", "done")
    return page


def test_charts_are_drawn_and_the_browser_complains_of_nothing(study: Study, visit: Visit) -> None:
    page = visit("rea", "/studies/study/items/")
    said: list[str] = []
    page.on("console", lambda message: said.append(message.text) if message.type in ("error", "warning") else None)
    page.goto(page.url.replace("/studies/study/items/", AGREEMENT))
    drawn(page)
    expect(page.locator("[data-chart] svg")).to_have_count(3)
    expect(page.locator(".trend-charts svg")).to_contain_text("0.80")
    assert not said


def test_charts_are_drawn_in_a_browser_that_is_never_idle(study: Study, visit: Visit) -> None:
    """Those out of sight wait for an idle moment, but not for ever."""
    page = visit("rea", "/studies/study/items/")
    page.set_viewport_size({"width": 1280, "height": 100})
    page.add_init_script(
        "window.requestIdleCallback = (work, asked) => asked?.timeout ? setTimeout(work, asked.timeout) : 0"
    )
    page.goto(page.url.replace("/studies/study/items/", AGREEMENT))
    drawn(page)


def test_pages_without_charts_load_nothing_for_them(study: Study, visit: Visit) -> None:
    page = visit("rea", "/studies/study/items/")
    assert page.locator("script[src*=vega]").count() == 0
    assert visit("rea", AGREEMENT).locator("script[src*=vega]").count() == 1


def test_a_click_on_a_cell_opens_its_items(study: Study, visit: Visit) -> None:
    page = drawn(visit("ada", f"{AGREEMENT}?round=1"))
    cells = page.locator("[data-chart=map]").first.locator("svg text", has_text=re.compile("^4$"))
    cells.first.scroll_into_view_if_needed()
    box = cells.first.bounding_box()
    assert box
    page.mouse.move(box["x"] + 3, box["y"] + 3)
    expect(page.locator(".chart-tip")).to_contain_text("Crash and Hang: 4")
    page.mouse.click(box["x"] + 3, box["y"] + 3)
    expect(page.get_by_role("heading", level=1)).to_contain_text("One rater chose Crash, another Hang")
    expect(page.locator(".behind tbody tr")).to_have_count(2)


def test_cells_are_gone_through_by_keyboard(study: Study, visit: Visit) -> None:
    page = drawn(visit("ada", f"{AGREEMENT}?round=1"))
    page.locator("#symptom .talk a").first.focus()
    chart = page.get_by_role("group", name=re.compile("^Confusion of categories in Symptom"))
    for _ in range(40):
        page.keyboard.press("Tab")
        if chart.evaluate("element => element === document.activeElement"):
            break
    tip = page.locator(".chart-tip")
    expect(tip).to_contain_text("Crash and Crash: 1")
    page.keyboard.press("ArrowRight")
    expect(tip).to_contain_text("Crash and Hang: 4")
    page.keyboard.press("ArrowDown")
    expect(tip).to_contain_text("Hang and Hang")
    page.keyboard.press("ArrowUp")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_contain_text("One rater chose Crash, another Hang")


def test_behind_each_chart_stands_its_table(study: Study, visit: Visit) -> None:
    page = drawn(visit("ada", AGREEMENT))
    page.get_by_text("The trend as a table").click()
    expect(page.get_by_role("region", name="Table: trend over rounds")).to_be_visible()
    page.get_by_text("The confusion matrix as a table").click()
    page.get_by_role("region", name="Table: confusion in Symptom").get_by_role("link", name="4").click()
    expect(page.locator(".behind tbody tr")).to_have_count(2)


def test_a_chart_follows_the_theme_and_is_printed_in_colors_of_paper(study: Study, visit: Visit) -> None:
    page = drawn(visit("rea", AGREEMENT, scheme="dark"))
    title = page.locator(".trend-charts svg text", has_text="Symptom").first
    color = "element => getComputedStyle(element).fill"
    assert title.evaluate(color) == "rgb(223, 222, 219)"
    page.emulate_media(media="print")
    assert title.evaluate(color) == "rgb(0, 0, 0)"


@pytest.mark.slow
def test_figures_are_downloaded(study: Study, visit: Visit) -> None:
    page = visit("rea", AGREEMENT)
    for format, begins in (("SVG", b"<svg"), ("PNG", b"\x89PNG"), ("PDF", b"%PDF")):
        with page.expect_download() as found:
            page.get_by_role("link", name=f"{format} of the trend").click()
        assert found.value.suggested_filename == f"study-trend.{format.lower()}"
        assert found.value.path().read_bytes().startswith(begins)


def test_axe_finds_nothing_where_charts_stand(study: Study, visit: Visit) -> None:
    page = drawn(visit("ada", f"{AGREEMENT}?when=after"))
    for _ in screens(page):
        assert_accessible(page)
