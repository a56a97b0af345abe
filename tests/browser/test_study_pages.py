"""A study made, sampled and opened in a real browser; every page of a study passes axe, in light and in dark."""

from typing import Any

import pytest
from playwright.sync_api import Page, expect

from accounts.actions import make_token
from annotation.choosing.actions import samples as sample_actions
from annotation.core.access import get_item
from annotation.invitations.actions.invitations import invite
from annotation.members.actions.reader_links import make_reader_link
from annotation.models import Round, Study
from annotation.resolving.actions.resolutions import resolve
from annotation.rounds.actions import rounds
from annotation.studies.actions import studies
from tests import builders as make
from tests.browser.visitors import assert_accessible, screens, sign_in

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


@pytest.mark.slow
def test_an_owner_makes_a_study_draws_a_sample_and_opens_a_round(page: Page, live_server: Any) -> None:
    make.version(make.FAULTS)
    make.version(make.SYMPTOMS)
    make.issues(12)
    for name in ("bob", "carol"):
        make.user(name)
    sign_in(page, live_server, "olga")

    page.goto(live_server.url + "/studies/new/")
    page.get_by_role("button", name="Create study").click()
    expect(page.get_by_label("Title")).to_be_focused()
    expect(page.get_by_label("Title")).to_have_attribute("aria-invalid", "true")
    page.get_by_label("Title").fill("Faults: a first look")
    expect(page.get_by_label("Address")).to_have_value("faults-a-first-look")
    page.get_by_label("Taxonomy", exact=True).select_option("symptoms")
    expect(page.get_by_label("Coefficient of Fix patterns", exact=True)).to_have_count(0)
    page.get_by_label("Coefficient of Symptom", exact=True).select_option("cohen_kappa")
    page.get_by_label("Threshold of Symptom").fill("0.8")
    page.get_by_role("button", name="Create study").click()

    expect(page.get_by_role("link", name="Add raters")).to_be_visible()
    page.get_by_role("link", name="Members").click()
    for name in ("bob", "carol"):
        page.get_by_label("User name").fill(name)
        page.get_by_role("button", name="Add member").click()
        expect(page.get_by_text(f"{name} is invited as rater and can be named in rounds.")).to_be_visible()

    page.get_by_role("link", name="Rounds").click()
    page.get_by_role("link", name="Draw a sample").first.click()
    page.get_by_label("Repositories").fill("acme/rocket")
    page.get_by_label("With GitHub labels").fill("bug")
    page.get_by_role("button", name="Preview counts").click()
    expect(page.get_by_role("row", name="GitHub labels: bug 6")).to_be_visible()
    page.get_by_label("How many").fill("5")
    page.get_by_role("button", name="Draw sample").click()
    expect(page.get_by_text("5 of 5 in no coding round yet")).to_be_visible()

    page.get_by_role("link", name="New round").click()
    expect(page.get_by_text("5 items × 2 raters = 10 assignments")).to_be_visible()
    page.get_by_label("How many").fill("3")
    page.get_by_label("Raters per item").focus()
    expect(page.get_by_text("3 items × 2 raters = 6 assignments")).to_be_visible()
    expect(page.get_by_label("Issues", exact=True)).to_be_hidden()
    page.get_by_role("button", name="Create round").click()
    page.get_by_role("button", name="Open round 1").click()
    expect(page.get_by_text("0 of 6 finished")).to_be_visible()
    study = Study.objects.get()
    assert study.rounds.get().state == Round.State.OPEN
    assert study.primary["symptom"]["coefficient"] == "cohen_kappa"

    questions: list[str] = []
    page.once("dialog", lambda dialog: (questions.append(dialog.message), dialog.dismiss()))
    page.get_by_role("button", name="Withdraw 6 and start resolving").click()
    assert "Withdraw 6 unfinished assignments of round 1?" in questions[0]
    assert study.rounds.get().state == Round.State.OPEN
    page.once("dialog", lambda dialog: dialog.accept())
    page.get_by_role("button", name="Withdraw 6 and start resolving").click()
    page.get_by_role("button", name="Close round 1").click()
    expect(page.get_by_text("Round 1 is closed. Its agreed labels are final.")).to_be_visible()


def test_nothing_is_typed_into_questions_of_a_taxonomy_that_are_about_to_be_replaced(
    page: Page, live_server: Any
) -> None:
    make.version(make.SYMPTOMS)
    sign_in(page, live_server, "olga")
    page.goto(live_server.url + "/studies/new/")
    held: list[Any] = []
    page.route("**/studies/new/?**", lambda route: held.append(route))
    coefficient = page.get_by_label("Coefficient of Symptom", exact=True)
    expect(coefficient).to_be_enabled()
    with page.expect_request("**/studies/new/?**"):
        page.get_by_label("Taxonomy", exact=True).select_option("symptoms")
    expect(coefficient).to_be_disabled()
    held[0].continue_()
    expect(coefficient).to_be_enabled()


@pytest.mark.soak
def test_every_page_of_a_study_is_accessible(page: Page, live_server: Any) -> None:
    """In each size and scheme; `test_every_page` looks at each page of the site once."""
    study = make.study(text=make.FAULTS, guidelines="Read *all* of it.")
    fault = {"kind": ["fault"], "symptom": ["crash"], "distributed": True}
    first = make.open_round(study, 2)
    for name, symptom in (("bob", "crash"), ("carol", "hang")):
        make.submit(first, name, 1, fault | {"symptom": [symptom]}, memo="A memo.", confidence=2)
        make.submit(first, name, 2, fault | {"symptom": [symptom]})
    seat = make.owner_seat(study)
    item = get_item(seat, "acme/rocket#1")
    resolve(
        seat=make.seat(study, "ada"),
        round_=study.rounds.get(number=1),
        item=item,
        part=1,
        dimension="symptom",
        values=["hang"],
        rationale="It never ends.",
    )
    make.open_round(study, 3, first=3)
    sample = sample_actions.draw_sample(seat=seat, size=3, stratify_by="state", filter={"repository": "acme/rocket"})
    make.issues(2, first=10)
    rounds.create_round(seat=seat, asked=rounds.NewRound(raters=["bob"], raters_per_item=1, issues=["acme/rocket#10"]))
    studies.create_study(user=make.user("olga"), slug="empty", title="Empty", taxonomy="faults")
    hidden = get_item(seat, "acme/rocket#3")

    here, empty = "/studies/study/", "/studies/empty/"
    pages = {
        "olga": [
            *("/", "/studies/", "/studies/new/"),
            *(here + each for each in ("", "settings/", "members/", f"sample/?sample={sample.pk}", "items/", "audit/")),
            *(here + each for each in ("rounds/", "rounds/new/", "rounds/1/", "rounds/2/", "rounds/3/")),
            f"{here}items/{item.pk}/",
            *(empty + each for each in ("", "rounds/", "items/", "sample/", "rounds/new/")),
        ],
        "bob": ["/", here, f"{here}items/{hidden.pk}/"],
        "nina": ["/", "/studies/"],
    }
    for name, addresses in pages.items():
        sign_in(page, live_server, name)
        for address in addresses:
            assert page.goto(live_server.url + address).status == 200, address  # type: ignore[union-attr]
            for _ in screens(page):
                assert_accessible(page)


@pytest.mark.slow
def test_on_a_phone_sessions_tokens_members_and_links_are_read_without_moving_a_table(
    page: Page, live_server: Any
) -> None:
    study = make.study()
    seat = make.owner_seat(study)
    make_token(user=make.user("olga"), name="the laptop in the laboratory on the third floor", scope="manage")
    invite(seat=seat, roles=["rater", "reader"], note="For the helpers of the next summer", n_most=9)
    make_reader_link(seat=seat, label="Reviewers of the conference on empirical methods", days=30)
    page.set_viewport_size({"width": 360, "height": 740})
    sign_in(page, live_server, "olga")
    for path, words in (
        ("/me/", "the laptop in the laboratory"),
        ("/studies/study/members/", "For the helpers"),
        ("/studies/study/readers/", "Reviewers of the conference"),
    ):
        page.goto(live_server.url + path)
        expect(page.get_by_text(words)).to_be_visible()
        wide = "each => each.filter(one => one.scrollWidth > one.clientWidth).length"
        assert page.locator(".table-wrap").evaluate_all(wide) == 0
        assert_accessible(page)
