"""Third raters of a round from which labels went to a relabeling queue: who sees the queue is not blind there."""

from io import BytesIO

import pytest
from django.test import Client
from django.utils import timezone

from annotation.assignments import jobs as rule_jobs
from annotation.assignments.queries import read_elsewhere, rounds_elsewhere
from annotation.core.errors import Conflict
from annotation.imports.actions.ratings import import_ratings
from annotation.models import Assignment, Item, Membership, Proposal, Resolution, Round, RoundRater, Study
from annotation.plans import actions as plan_actions
from annotation.plans import jobs as plan_jobs
from annotation.proposals.actions import settle_proposals
from annotation.rounds.actions import rounds
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
    assert not rule_jobs.rule_items(round_.pk, [item.pk]), "rules wait for the queue"
    refused = ask(item=ITEM, rater="dan", unblinded=True)
    assert (refused.status_code, refused.json()["code"]) == (409, "queue_open")
    rounds.resolve_round(seat=make.owner_seat(study), number=2, withdraw=True)
    assert not rule_jobs.rule_items(round_.pk, [item.pk]), "until an owner closes it"
    rounds.close_round(seat=make.owner_seat(study), number=2, leave_open=True)
    assert rule_jobs.rule_items(round_.pk, [item.pk])
    assert not Assignment.objects.filter(round=round_, slot=None).exists()
    given = ask(item=ITEM, rater="dan", unblinded=True, round=1)
    assert (given.status_code, given.json()["unblinded"]) == (201, True)


def test_a_round_that_came_while_a_migration_waited_has_no_blind_third_raters() -> None:
    """Nothing of a sheet is imported then. An import that had begun before ends later, and the job reads its round."""
    study = make.study(raters=("bob", "carol", "dan"))
    round_ = make.open_round(study, 2, raters=("bob", "carol"))
    make.rate(round_, "item bob carol\n1 hang crash\n2 crash crash")
    make.next_version(study, SECOND)
    plan = plan_actions.preview_plan(seat=make.owner_seat(study), to=2)
    plan_actions.run_plan(seat=make.owner_seat(study), plan=plan, send=False)
    sheet = BytesIO(b"item,rater,symptom\nacme/rocket#1,bob,hang\n")
    with pytest.raises(Conflict, match="A migration of this study is running"):
        import_ratings(user=make.user("olga"), study="study", file=sheet, dimensions=["symptom"])
    Round.objects.filter(pk=round_.pk).update(opened_at=timezone.now(), resolving_at=timezone.now())
    for is_done in (False, True):
        if is_done:
            plan_jobs.work(plan.pk)
        refused = ask(item=ITEM, rater="dan")
        assert (refused.status_code, refused.json()["code"]) == (409, "not_blind_any_more"), is_done


def test_a_queue_tells_of_an_item_also_where_it_was_labeled_under_the_new_version() -> None:
    """Which items it asks about follows from labels of the first round, which is being resolved."""
    study = make.study(raters=("bob", "carol", "dan", "eve", "zed"))
    make.rate(make.open_round(study, 2, raters=("bob", "carol")), "item bob carol\n1 hang hang\n2 crash crash")
    make.next_version(study, SECOND)
    second = make.open_round(study, 2, raters=("eve", "zed"))
    make.rate(second, "item eve zed\n1 early-hang failure\n2 early-hang failure")
    plan = plan_actions.preview_plan(seat=make.owner_seat(study), to=2)
    before = ask(item=ITEM, rater="dan", round=2)
    assert (before.status_code, before.json()["unblinded"]) == (201, False)
    Assignment.objects.filter(round=second, slot=None).delete()
    plan_actions.run_plan(seat=make.owner_seat(study), plan=plan, send=False)
    plan_jobs.work(plan.pk)
    refused = ask(item=ITEM, rater="dan", round=2)
    assert (refused.status_code, refused.json()["code"]) == (409, "not_blind_any_more")


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
    with make.queues_aside(study):
        make.open_round(study, 1, raters=("dan",), raters_per_item=1)  # the first item again
    told = Script("dan").send("GET", "studies/study/rounds/2/next/").json()
    assert told["item"] == ITEM and not told["before"] and not told["draft"]


@pytest.mark.parametrize("holds", ["1 symptom zed", "3 symptom zed"])
def test_rules_wait_for_a_queue_that_can_hold_their_items_and_draw_the_same_people(holds: str) -> None:
    """The state of the queue would tell who is asked whether it holds the item, and so would it that zed is not."""
    study = make.study(raters=("bob", "carol", "nia", "zed"))
    change_study(seat=make.owner_seat(study), changes={"third_rater": True})
    lines = "\n".join(f"{number} hang" for number in (1, 2, 3))
    make.rate(make.open_round(study, 3, raters=("zed",), raters_per_item=1), f"item zed\n{lines}")
    rounds.close_round(seat=make.owner_seat(study), number=1)
    make.next_version(study, make.HANG_SPLIT)
    second = make.rate(make.open_round(study, 1, raters=("bob", "carol")), "item bob carol\n1 crash slow")
    queue = make.worklist(study, 2, f"item asked raters\n{holds}")
    asked = Assignment.objects.filter(round=second, slot=None)
    assert second.pk not in rule_jobs.RULES.sweep(-1) and second.pk not in rule_jobs.rounds_with_new_answers()
    rule_jobs.rule_round(second.pk)
    assert not rule_jobs.rule_items(second.pk, [second.round_items.get().item_id]) and not asked.exists()
    refused = Script("olga").send("POST", "studies/study/rounds/2/rules/", {})
    assert (refused.status_code, refused.json()["code"]) == (409, "queue_open")
    make.submit(queue, "zed", int(holds[0]), {"symptom": ["hang-a"]})
    queue.refresh_from_db()
    assert queue.state == Round.State.RESOLVING and rule_jobs.RULES.sweep(-1) == [], "the time would tell when it ended"
    refused = Script("olga").send("POST", "studies/study/rounds/2/rules/", {})
    assert (refused.status_code, refused.json()["code"]) == (409, "queue_open")
    assert f"once round {queue.number}, a relabeling queue, is closed" in _page("rounds/2/")
    rounds.close_round(seat=make.owner_seat(study), number=queue.number, leave_open=True)
    assert rule_jobs.RULES.sweep(-1) == [second.pk] and "Apply the rules now" in _page("rounds/2/")
    rule_jobs.rule_round(second.pk)
    assert [each.rater.user.username for each in asked] == ["nia"]


def _page(path: str) -> str:
    olga = Client()
    olga.force_login(make.user("olga"))
    return olga.get(f"/studies/study/{path}").content.decode()


@pytest.mark.parametrize("resolve_when", Study.ResolveWhen.values)
def test_rules_act_in_a_queue_only_when_an_owner_asks_for_it(resolve_when: str) -> None:
    """What they decide has a time, and so it would tell when the last answer came, which can be withheld.

    Whether they decided at all would tell it, too: of an item answered or revised before, or after.
    """
    raters = ("bob", "carol", "dan")
    study = make.study(raters=raters)
    change_study(seat=make.owner_seat(study), changes={"majority": True, "resolve_when": resolve_when})
    make.rate(make.open_round(study, 2, raters=raters, raters_per_item=3), "item bob carol dan\n1 hang hang hang")
    rounds.resolve_round(seat=make.owner_seat(study), number=1, withdraw=True)
    rounds.close_round(seat=make.owner_seat(study), number=1)
    make.next_version(study, make.HANG_SPLIT)
    queue = make.worklist(study, 2, "item asked raters\n1 symptom bob,carol,dan\n2 symptom bob")
    for name, category in zip(raters, ("hang-a", "hang-a", "crash"), strict=True):
        make.submit(queue, name, 1, {"symptom": [category]})
    for is_over in (False, True):
        if is_over:
            make.submit(queue, "bob", 2, {"symptom": ["hang-a"]})
        queue.refresh_from_db()
        assert (queue.state == Round.State.RESOLVING) == is_over
        assert rule_jobs.RULES.sweep(-1) == [] and rule_jobs.rounds_with_new_answers() == []
        rule_jobs.rule_round(queue.pk)
        rule_jobs.rule_answers(queue.pk)
        assert not Resolution.objects.filter(round=queue).exists()
    assert Script("olga").send("POST", f"studies/study/rounds/{queue.number}/rules/", {}).status_code == 202
    rule_jobs.rule_round(queue.pk)
    assert Resolution.objects.get(round=queue).method == Resolution.Method.MAJORITY


@pytest.mark.parametrize("second", ["crash", "slow"])
def test_whom_a_rule_draws_does_not_tell_who_was_a_third_rater_before(second: str) -> None:
    """Xen answered the item as a third rater of the first round, if its raters differed; a queue came since."""
    study = make.study(raters=("bob", "carol", "al", "nia", "xen", "yan"))
    first = make.rate(
        make.open_round(study, 2, raters=("bob", "carol")), f"item bob carol\n1 slow {second}\n2 hang hang"
    )
    if second == "crash":
        assert ask(item=ITEM, rater="xen").status_code == 201
        make.submit(first, "xen", 1, {"symptom": ["slow"]})
    rounds.close_round(seat=make.owner_seat(study), number=1, leave_open=True)
    make.next_version(study, make.HANG_SPLIT)
    queue = make.worklist(study, 2, "item asked raters\n2 symptom bob,carol")
    for name in ("bob", "carol"):
        make.submit(queue, name, 2, {"symptom": ["hang-a"]})
    rounds.close_round(seat=make.owner_seat(study), number=queue.number, leave_open=True)
    change_study(seat=make.owner_seat(study), changes={"third_rater": True})
    again = make.open_round(study, 1, raters=("al", "nia"))
    RoundRater.objects.create(round=again, rater=make.member(study, "xen"))
    make.rate(again, "item al nia\n1 crash slow")
    rule_jobs.rule_round(again.pk)
    asked = Assignment.objects.get(round=again, slot=None)
    assert (asked.rater.user.username, asked.unblinded) == ("xen", False)


@pytest.mark.parametrize("of_item", [1, 2])
def test_a_maintainer_is_drawn_alike_whichever_item_a_proposal_was_for(of_item: int) -> None:
    study = make.study(raters=("bob", "carol", "al", "nia", "xen", "yan"))
    study.taxonomy.maintainers.add(make.user("xen"), make.user("bob"))
    first = make.open_round(study, 2, raters=("bob", "carol"))
    make.submit(first, "bob", of_item, {}, proposals={"symptom": {"name": "Stall", "memo": "none fits"}})
    make.submit(first, "bob", 3 - of_item, {"symptom": ["crash"]})
    make.rate(first, "item carol\n1 crash\n2 crash")
    [line] = Proposal.objects.filter(round=first)
    settle_proposals(seat=make.owner_seat(study), proposals=[line.public_id], accept={"name": "Stall"})
    items = {place.position: place.item_id for place in first.round_items.all()}
    rounds.close_round(seat=make.owner_seat(study), number=1, leave_open=True)
    again = make.open_round(study, 1, raters=("al", "nia"))
    free = [make.member(study, "xen"), make.member(study, "bob"), make.member(study, "yan")]
    found = read_elsewhere(again, rounds_elsewhere(again, [items[1]]), [items[1]], free)
    assert found == {items[1]: {each.pk for each in free[:2]}}, "also who made it"


@pytest.mark.parametrize("before", ["hang", "slow"])
def test_reading_results_of_a_queue_counts_for_every_item_that_it_can_hold(before: str) -> None:
    """Whether it holds the item follows from its labels: whom a rule, or a request, leaves out must not tell it."""
    study = make.study(raters=("bob", "carol", "al", "nia", "xen", "yan"))
    table = f"item bob carol\n1 {before} crash\n2 hang hang"
    make.rate(make.open_round(study, 2, raters=("bob", "carol")), table)
    rounds.close_round(seat=make.owner_seat(study), number=1, leave_open=True)
    make.next_version(study, make.HANG_SPLIT)
    holds = "\n1 symptom bob" if before == "hang" else ""
    queue = make.worklist(study, 2, f"item asked raters\n2 symptom bob,carol{holds}")
    for name in ("bob", "carol"):
        make.submit(queue, name, 2, {"symptom": ["hang-a"]})
    if holds:
        make.submit(queue, "bob", 1, {"symptom": ["hang-a"]})
    assert Script("xen").send("GET", f"studies/study/labels/?round={queue.number}").status_code == 200
    rounds.close_round(seat=make.owner_seat(study), number=queue.number, leave_open=True)
    again = make.rate(make.open_round(study, 1, raters=("al", "nia")), "item al nia\n1 crash slow")
    item = again.round_items.get().item_id
    members = list(Membership.objects.filter(study=study))
    found = read_elsewhere(again, rounds_elsewhere(again, [item]), [item], members)
    assert make.member(study, "xen").pk in found[item]
    RoundRater.objects.create(round=again, rater=make.member(study, "bob"))
    given = ask(item=ITEM, round=again.number)
    assert (given.status_code, given.json()["rater"]) == (201, make.member(study, "yan").code)
    sheet = BytesIO(f"item,round,rater,symptom\n{ITEM},{again.number},R1,crash\n".encode())
    report = import_ratings(user=make.user("olga"), study="study", file=sheet, dimensions=["symptom"])
    assert report.unblinded == ["R1"]
