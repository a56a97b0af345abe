"""Third raters of a round from which labels went to a relabeling queue: who sees the queue is not blind there."""

import pytest

from annotation.assignments import jobs as rule_jobs
from annotation.models import Assignment, Item, Membership
from annotation.plans import actions as plan_actions
from annotation.plans import jobs as plan_jobs
from annotation.studies.actions.studies import change_study
from tests import builders as make
from tests.annotation.core.test_independence import ask
from tests.annotation.plans.test_plans import SECOND
from tests.scripts import Script

pytestmark = pytest.mark.django_db

ITEM = "acme/rocket#1"


@pytest.mark.parametrize("stand_ins", [["dan"], []])
def test_who_sees_a_relabeling_queue_of_a_round_is_no_blind_third_rater_there(stand_ins: list[str]) -> None:
    """Its items and raters tell all members who said what, and stand-ins read it."""
    study = make.study(raters=("bob", "carol", "dan", "eve"))
    round_ = make.rate(
        make.open_round(study, 3, raters=("bob", "carol")), "item bob carol\n1 hang crash\n2 crash crash\n3 crash crash"
    )
    make.next_version(study, SECOND)
    if stand_ins:
        Membership.objects.filter(pk=make.member(study, "bob").pk).update(roles=["reader"])
    plan = plan_actions.preview_plan(seat=make.owner_seat(study), to=2)
    plan_actions.run_plan(seat=make.owner_seat(study), plan=plan, stand_ins=stand_ins, send=False)
    plan.refresh_from_db()
    assert "Assign third raters first" in plan.preview["warnings"][-1]
    for is_done in (False, True):  # what is at work opens soon
        if is_done:
            plan_jobs.work(plan.pk)
        refused = ask(item=ITEM, rater="dan")
        assert (refused.status_code, refused.json()["code"]) == (409, "not_blind_any_more")
    if stand_ins:
        before = Script("dan").send("GET", "studies/study/rounds/2/next/").json()["before"]
        assert "R1 said Hang" in before[0]["words"]
    item = Item.objects.get(study=study, identifier=ITEM)
    change_study(seat=make.owner_seat(study), changes={"third_rater": True})
    assert rule_jobs.rule_items(round_.pk, [item.pk])
    assert not Assignment.objects.filter(round=round_, slot=None).exists()
    given = ask(item=ITEM, rater="dan", unblinded=True)
    assert (given.status_code, given.json()["unblinded"]) == (201, True)


def test_a_stand_in_reads_nothing_of_an_item_that_is_withheld_from_them() -> None:
    study = make.study(raters=("bob", "carol", "dan"))
    make.rate(
        make.open_round(study, 3, raters=("bob", "carol")), "item bob carol\n1 hang crash\n2 hang hang\n3 crash crash"
    )
    make.next_version(study, SECOND)
    Membership.objects.filter(pk=make.member(study, "bob").pk).update(roles=["reader"])
    plan = plan_actions.preview_plan(seat=make.owner_seat(study), to=2)
    plan_actions.run_plan(seat=make.owner_seat(study), plan=plan, stand_ins=["dan"], send=False)
    plan_jobs.work(plan.pk)
    make.open_round(study, 1, raters=("dan",), raters_per_item=1)  # the first item again
    told = Script("dan").send("GET", "studies/study/rounds/2/next/").json()
    assert told["item"] == ITEM and not told["before"] and not told["draft"]
