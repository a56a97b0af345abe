"""Proposals in a real browser: from the rater who proposes to the round that closes, and readable for everybody."""

import pytest

from annotation.labels.queries.verdicts import n_open_proposals
from annotation.models import Proposal, ProposalOutcome, Rating, Round
from annotation.proposals.actions import settle_proposals
from annotation.rounds.actions import rounds
from taxonomy.models import Category
from tests import builders as make
from tests.annotation.proposals.test_proposals import propose
from tests.browser.visitors import Visit, assert_accessible, screens, wait_until

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True), pytest.mark.timeout(240)]


@pytest.fixture
def round_() -> Round:
    return make.open_round(make.study(), 3)


PAGE = "/studies/study/proposals/"


def symptom_of(number: int) -> str | None:
    """What bob says of an item now, by key; None: it is pending."""
    now = make.assignment(Round.objects.get(), "bob", number).current
    assert now is not None
    return Rating.objects.get(annotation=now).category and Rating.objects.get(annotation=now).category.key  # type: ignore[union-attr]


@pytest.mark.slow
def test_the_whole_way_of_a_proposal_from_the_rater_to_the_closed_round(round_: Round, visit: Visit) -> None:
    propose(round_, "bob", 1, "Blocked ring")
    propose(round_, "carol", 1, "blocked-ring")
    propose(round_, "carol", 2, "Too narrow")
    label = make.assignment(round_, "bob", 2).public_id
    bob = visit("bob", f"/studies/study/rounds/1/label/{label}/")
    bob.click("[data-propose]")
    bob.keyboard.type("Deadlock")
    bob.keyboard.press("Control+Enter")
    wait_until(bob, "() => document.querySelectorAll('.label-doubt').length === 2")
    assert Proposal.objects.filter(name="Deadlock").exists()
    make.rate(round_, "item bob carol\n3 hang hang")

    olga = visit("olga", PAGE)
    assert olga.locator(".proposal-group").count() == 3
    olga.locator(".proposal-group").nth(0).get_by_text("Map it to an existing category").click()
    olga.locator(".proposal-group").nth(0).locator("[name=map_to]").last.fill("Hang")
    olga.keyboard.press("Enter")
    olga.wait_for_selector("[data-done]:focus")
    assert "to Hang" in olga.inner_text("[data-done]") and "and 1 more" in olga.inner_text("[data-done]")
    # The next group has come open; by keyboard alone from here.
    group = olga.locator(".proposal-group", has_text="Deadlock")
    if not group.locator("form").is_visible():
        group.locator("summary").focus()
        olga.keyboard.press("Enter")
    group.locator("[name=name]").fill("")
    olga.keyboard.press("Enter")
    focused = "document.querySelector('[name=name][aria-invalid=true]:focus')"
    wait_until(olga, f"() => {focused} && !document.querySelector('.htmx-added')")  # what was added is ready
    olga.keyboard.type("Deadlock")
    olga.keyboard.press("Enter")
    wait_until(olga, "() => document.querySelectorAll('[data-done]').length === 2")
    group = olga.locator(".proposal-group", has_text="Too narrow")
    if not group.locator("form").is_visible():
        group.locator("summary").click()
    group.get_by_text("Decline it").click()
    group.locator("textarea[name=decline]").fill("it is a kind of hang")
    group.locator("button[type=submit]").click()
    wait_until(olga, "() => document.querySelectorAll('[data-done]').length === 3")
    assert ProposalOutcome.objects.count() == 4 and n_open_proposals(round_) == 0
    assert Category.objects.filter(name="Deadlock", dimension__version__state="draft").exists()

    bob.goto(bob.url.split("/studies")[0])
    assert "1 of your items was returned" in bob.inner_text(".work")
    bob.get_by_role("link", name="Label again in round 1").click()
    bob.wait_for_selector(".outcome:visible")
    assert "“Blocked ring”: the owner mapped it to Hang." in bob.inner_text(".outcome:visible")
    for width in (360, 1000, 1280):
        bob.set_viewport_size({"width": width, "height": 800})
        assert bob.locator(".came-back").is_visible(), width
    bob.click("[data-take]")
    bob.click("#submit")
    wait_until(bob, "() => !document.body.innerText.includes('returned to you')")
    assert symptom_of(1) == "hang" and symptom_of(2) is None

    for name, number in (("carol", 1), ("carol", 2), ("bob", 2)):
        make.submit(round_, name, number, {"symptom": ["hang"]})
    assert rounds.close_round(seat=make.owner_seat(round_.study), number=1).state == "closed"


@pytest.mark.slow
def test_the_pages_of_proposals_pass_axe_and_fit(round_: Round, visit: Visit) -> None:
    first = propose(round_, "bob", 1, "Ring stall", "no progress, no error")
    propose(round_, "carol", 1, "ring-stall")
    settled = propose(round_, "bob", 2, "An unusually long name for a category that nobody has thought of yet " * 2)
    settle_proposals(seat=make.owner_seat(round_.study), proposals=[settled.public_id], decline="too narrow")
    label = f"/studies/study/rounds/1/label/{settled.annotation.assignment.public_id}/"
    for name, path in (("olga", PAGE), ("olga", f"{PAGE}{first.pk}/"), ("bob", PAGE), ("bob", label)):
        page = visit(name, path)
        page.wait_for_load_state("networkidle")
        for _ in screens(page):
            assert_accessible(page)
