"""Analysis in a real browser: from a question to a figure, from a mark in it to its items; by mouse, key and reader."""

import re

import pytest
from playwright.sync_api import Page, expect

from annotation.models import Study
from tests import builders as make
from tests.annotation.analysis.test_analysis_pages import LABELS, labeled
from tests.browser.test_charts import drawn
from tests.browser.visitors import Visit, assert_accessible

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

ANALYSIS = "/studies/study/analysis/"


@pytest.fixture
def study() -> Study:
    made = make.study(text=make.FAULTS)
    labeled(made, LABELS)
    return made


def items_listed(page: Page) -> int:
    return page.locator("table.items tbody tr").count()


def test_from_a_question_to_the_items_behind_a_bar_a_cell_and_a_band(study: Study, visit: Visit) -> None:
    page = visit("olga", ANALYSIS)
    said: list[str] = []
    page.on("console", lambda message: said.append(message.text) if message.type in ("error", "warning") else None)
    page.get_by_role("link", name="Counts", exact=True).click()
    page.get_by_label("Count", exact=True).select_option("symptom")
    expect(page).to_have_url(re.compile("dimension=symptom"))
    drawn(page).locator("[data-chart] .mark-rect path").first.click(position={"x": 5, "y": 3})
    expect(page.get_by_text("Symptom: Crash.")).to_be_visible()
    assert items_listed(page) == 2

    page.goto(page.url.partition("/studies/")[0] + f"{ANALYSIS}flow/?dimensions=kind,symptom&within=distributed")
    drawn(page).locator("[data-chart] svg .mark-path path").first.click(position={"x": 5, "y": 5})
    expect(page.get_by_text("Kind of issue: Fault; Symptom:")).to_be_visible()
    assert items_listed(page) >= 1
    assert not said


@pytest.mark.slow
def test_pages_of_analysis_are_for_everybody(study: Study, visit: Visit) -> None:
    page = visit("olga", ANALYSIS)
    assert_accessible(page)
    for kind in (
        "counts/?dimension=symptom&by=distributed",
        "crosstab/?rows=symptom&columns=distributed",
        "flow/",
        "shares/",
        "numbers/",
    ):
        page.goto(page.url.partition("/studies/")[0] + ANALYSIS + kind)
        assert_accessible(drawn(page))
    page.get_by_role("textbox", name="Save with the study as").fill("How long")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("heading", name="How long")).to_be_visible()
    assert_accessible(drawn(page))
