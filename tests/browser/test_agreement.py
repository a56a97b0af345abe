"""Agreement in a real browser: from a number to the items behind it, folds, filters; axe in light, dark and narrow."""

from typing import Any

import pytest
from playwright.sync_api import Page, expect

from annotation.models import Round, Study
from tests import builders as make
from tests.browser.visitors import assert_accessible, screens, sign_in

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

FAULT = {"kind": ["fault"], "symptom": ["crash"], "fixes": ["config"], "distributed": True}


@pytest.fixture
def study() -> Study:
    """Two rounds; in the first raters differ on symptoms, fixes and kinds, the second is open."""
    primary = {"symptom": {"coefficient": "cohen_kappa", "threshold": 0.8}}
    made = make.study(text=make.FAULTS, primary=primary)
    round_ = make.open_round(made, 5)
    other = {**FAULT, "symptom": ["hang"], "fixes": ["config", "code"]}
    slow = {**FAULT, "symptom": ["slow"], "distributed": False}
    pairs = [(FAULT, FAULT), (FAULT, other), (other, other), (slow, FAULT), ({"kind": ["how-to"]}, FAULT)]
    for number, answers in enumerate(pairs, start=1):
        for name, labels in zip(("bob", "carol"), answers, strict=True):
            make.submit(round_, name, number, labels)
    make.submit(make.open_round(made, 2, first=6), "bob", 6, FAULT)
    return made


@pytest.fixture
def go(page: Page, live_server: Any) -> Any:
    """Opens an address of the study as a user."""

    def opened(name: str, address: str) -> Page:
        sign_in(page, live_server, name)
        page.goto(f"{live_server.url}/studies/study/{address}")
        return page

    return opened


def test_from_a_difference_to_the_item_and_back(study: Study, go: Any) -> None:
    page = go("ada", "agreement/?round=1")
    page.get_by_role("link", name="Symptom", exact=True).click()
    talk = page.locator("#symptom .talk").first
    expect(talk).to_be_visible()
    expect(talk.get_by_role("heading", name="Failure / Crash")).to_be_visible()
    page.locator("#symptom").get_by_text("The confusion matrix as a table").click()
    page.locator("#symptom .matrix").get_by_role("link", name="1").and_(page.locator("[class^=heat] a")).first.click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("R1 chose Failure / Crash")
    page.get_by_role("link", name="acme/rocket#2").click()
    expect(page.get_by_role("heading", name="Labels")).to_be_visible()


@pytest.mark.slow
def test_filters_go_into_the_address_and_stay_chosen(study: Study, go: Any) -> None:
    page = go("ada", "agreement/?round=all")
    expect(page.get_by_text("Live.")).to_be_visible()
    page.get_by_label("Round", exact=True).select_option("1")
    page.wait_for_url("**round=1*")
    page.get_by_label("Level").select_option("root")
    page.wait_for_url("**level=root*")
    expect(page.get_by_label("Round", exact=True)).to_have_value("1")
    expect(page.get_by_role("heading", level=1)).to_have_text("Agreement in round 1")
    expect(page.locator("#symptom .matrix th[scope=row]", has_text="Failure")).to_have_count(1)


def test_all_dimensions_are_printed_whether_folded_or_not(study: Study, go: Any) -> None:
    page = go("rea", "agreement/")
    folded = page.locator("#symptom .coefficients")
    expect(folded).to_be_hidden()
    page.emulate_media(media="print")
    assert folded.evaluate("element => element.getBoundingClientRect().height") > 100


def test_a_file_is_downloaded(study: Study, go: Any) -> None:
    page = go("rea", "exports/")
    with page.expect_download() as found:
        page.get_by_role("link", name="CSV of Agreed labels").click()
    assert found.value.suggested_filename == "study-labels.csv"
    assert found.value.path().read_text().startswith("item,repository,number,part,round")


@pytest.mark.slow
def test_axe_finds_nothing(study: Study, page: Page, go: Any) -> None:
    page.emulate_media(reduced_motion="reduce")
    for address in (
        "agreement/",
        "agreement/?when=after&round=1",
        "agreement/items/?dimension=symptom",
        "agreement/items/?dimension=symptom&a=slow&b=hang",
        "exports/",
    ):
        go("ada", address)
        page.evaluate("for (const each of document.querySelectorAll('details')) each.open = true")
        for _ in screens(page):
            assert_accessible(page)


def test_axe_finds_nothing_where_there_is_nothing(go: Any) -> None:
    make.study()
    for address in ("agreement/", "exports/"):
        assert_accessible(go("olga", address))
    assert not Round.objects.exists()
