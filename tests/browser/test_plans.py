"""A study moves to a newer version in a real browser: previewed, run by a worker, its worklist answered, undone."""

import subprocess
from typing import Any

import pytest
from playwright.sync_api import Page, Route, expect

from annotation.models import Annotation, Plan, Rating
from annotation.plans import jobs as plan_jobs
from annotation.plans.actions import preview_plan, run_plan
from taxonomy.queries import forget_trees
from tests import builders as make
from tests.annotation.labeling.test_carried_answers import FAULT, SECOND
from tests.browser.visitors import assert_accessible, sign_in

pytestmark = [
    pytest.mark.browser,
    pytest.mark.worker,
    pytest.mark.django_db(transaction=True),
    pytest.mark.timeout(240),
]


@pytest.mark.slow
def test_an_owner_moves_a_study_a_rater_answers_the_worklist_and_the_owner_undoes_it(
    page: Page, live_server: Any, live_worker: subprocess.Popen[bytes]
) -> None:
    forget_trees()
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.on("dialog", lambda dialog: dialog.accept())
    study = make.study(text=make.FAULTS)
    round_ = make.open_round(study, 2)
    for name in ("bob", "carol"):
        make.submit(round_, name, 1, FAULT)
        make.submit(round_, name, 2, FAULT | {"symptom": ["slow"]})
    make.next_version(study, SECOND)

    sign_in(page, live_server, "olga")
    page.goto(live_server.url + "/studies/study/plans/")
    page.get_by_role("button", name="Preview migration").click()
    expect(
        page.get_by_text("18 labels migrate automatically, 2 items go to a relabeling queue, and no label is lost.")
    ).to_be_visible()
    assert_accessible(page)
    tick = page.get_by_label("Check labels of Slow again")
    counting: list[Route] = []
    page.route("**/recheck/", lambda route: counting.append(route))
    tick.check()
    expect(page.get_by_role("button", name="Run migration 1")).to_be_disabled()  # the part with it is to be replaced
    counting[0].continue_()
    expect(page.get_by_role("button", name="Run migration 1")).to_be_enabled()
    expect(tick).to_be_focused()
    page.get_by_role("button", name="Run migration 1").click()
    expect(page.get_by_text("The labels are mapped to version 2. 18 migrated automatically")).to_be_visible(
        timeout=60_000
    )
    expect(page.locator("[hx-trigger='every 1s']")).to_have_count(0)
    assert_accessible(page)
    assert Plan.objects.get().recheck == [["symptom", "slow"]]

    page.context.clear_cookies()
    sign_in(page, live_server, "bob")
    page.goto(live_server.url + "/studies/study/")
    page.get_by_role("link", name="Start relabeling").click()
    expect(page.get_by_text("Relabeling queue of migration 1 · version 2")).to_be_visible()
    symptom = page.locator("fieldset[data-dimension=symptom]")
    expect(symptom).to_contain_text("In version 1 you said Failure › Hang; it was split into Early hang and Late hang.")
    expect(symptom.locator(".tag", has_text="asked")).to_be_visible()
    expect(page.locator("fieldset[data-dimension=fixes] input[value=setup]")).to_be_checked()
    expect(page.locator("fieldset[data-dimension=fixes]")).to_contain_text("became part of Setup")
    expect(symptom.locator("input:focus")).to_have_count(1)
    assert_accessible(page)
    page.keyboard.press("l")
    expect(page.locator("fieldset[data-dimension=stage] input:focus")).to_have_count(1)
    page.keyboard.press("t")
    expect(page.locator("#submit")).to_be_focused()
    page.wait_for_timeout(
        700
    )  # The first moments after an issue came take no submit: a double click may be on its way.
    page.keyboard.press("Control+Enter")
    expect(page.locator("#issue-title")).to_contain_text("Issue 2")
    expect(symptom).to_contain_text("it is redefined. Check whether it still applies")
    expect(symptom.locator("input[value=slow]")).to_be_checked()
    symptom.get_by_text("Earlier definition").click()
    expect(symptom.get_by_text("Too slow.")).to_be_visible()
    given = Annotation.objects.filter(assignment__round__number=2).get()
    assert set(Rating.objects.filter(annotation=given).values_list("category__key", flat=True)) == {
        "fault", "late-hang", "setup", "code", "training", None,
    }  # fmt: skip

    page.context.clear_cookies()
    sign_in(page, live_server, "olga")
    page.goto(live_server.url + "/studies/study/plans/")
    page.get_by_role("button", name="Undo").click()
    expect(page.get_by_text("The labels are as they were before this migration.")).to_be_visible()
    page.get_by_role("link", name="round 2").click()
    expect(page.get_by_role("link", name="Relabeling queue of migration 1")).to_be_visible()
    expect(page.get_by_text("undone", exact=False).first).to_be_visible()
    assert Annotation.objects.filter(assignment__round__number=2).count() == 1
    assert not errors


OPTIONAL = make.SYMPTOMS.replace("kind: single", "kind: single\n    required: false")


def test_what_is_asked_anew_is_left_empty_only_by_a_second_submit(page: Page, live_server: Any) -> None:
    forget_trees()
    study = make.study(text=OPTIONAL)
    round_ = make.open_round(study, 1)
    for name in ("bob", "carol"):
        make.submit(round_, name, 1, {"symptom": ["hang"]})
    halves = "{key: early, name: Early, was: [hang]}\n      - {key: late, name: Late, was: [hang]}"
    make.next_version(study, OPTIONAL.replace("{key: hang, name: Hang}", halves))
    seat = make.owner_seat(study)
    plan = preview_plan(seat=seat, to=2)
    run_plan(seat=seat, plan=plan, send=False)
    plan_jobs.work(plan.pk)
    sign_in(page, live_server, "bob")
    page.goto(live_server.url + "/studies/study/rounds/2/label/")
    expect(page.locator(".question-before")).to_contain_text("it was split into")
    page.wait_for_timeout(700)
    page.keyboard.press("Control+Enter")
    sentence = page.get_by_text("This needs a new label. Choose one, or submit again to leave it empty.")
    expect(sentence.locator("visible=true").first).to_be_visible()
    assert not Annotation.objects.filter(assignment__round__number=2).exists()
    page.keyboard.press("Control+Enter")
    expect(page.get_by_role("heading", name="You have labeled the only item")).to_be_visible()
    assert Annotation.objects.filter(assignment__round__number=2).count() == 1
