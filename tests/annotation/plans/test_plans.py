"""A study moves to another version of its taxonomy by a plan: previewed, run as one job, undone until a round opens."""

import zipfile
from typing import Any

import pytest
from django.test import Client

from accounts.models import User
from annotation.choosing.actions.samples import screen_items
from annotation.core.access import get_round
from annotation.core.errors import Conflict, Forbidden, Invalid, WrongState
from annotation.exports import jobs as export_jobs
from annotation.exports.actions import request_export
from annotation.members.actions import members
from annotation.models import (
    Annotation,
    Assignment,
    AuditEvent,
    BulkJob,
    Item,
    Plan,
    ProposalOutcome,
    Rating,
    Round,
    RoundItem,
    Study,
)
from annotation.plans import jobs as plan_jobs
from annotation.plans.actions import preview_plan, run_plan, undo_plan
from annotation.plans.queries.listing import why_not_undo
from annotation.plans.queries.preview import preview_of
from annotation.plans.queries.relabeling import affected_items, items_with_categories
from annotation.plans.queries.scope import scope_of
from annotation.resolving.actions.resolutions import resolve
from annotation.rounds.actions.rounds import close_round, open_round
from annotation.transfer.queries.study_export import require_whole
from tests import builders as make
from tests.scripts import Script

pytestmark = pytest.mark.django_db

SECOND = """
slug: symptoms
title: Symptoms
dimensions:
  - key: symptom
    title: Symptom
    kind: single
    categories:
      - {key: failure, name: Failure, was: [crash]}
      - {key: early-hang, name: Early hang, was: [hang]}
      - {key: late-hang, name: Late hang, was: [hang]}
"""
SLOW_STAYS = SECOND + "      - {key: slow, name: Slow}\n"
TABLE = """
    item  bob    carol
    1     crash  crash
    2     hang   hang
    3     hang   crash
    4     slow   slow
    5     crash  crash
"""


def build_study() -> Study:
    return make.study()


def rated(study: Study, table: str = TABLE, n_items: int = 5) -> Round:
    return make.rate(make.open_round(study, n_items), table)


def planned(study: Study, to: int = 2, **more: Any) -> Plan:
    return preview_plan(seat=make.owner_seat(study), to=to, **more)


def ran(study: Study, to: int = 2, **more: Any) -> Plan:
    plan = run_plan(seat=make.owner_seat(study), plan=planned(study, to), **more)
    plan_jobs.work(plan.pk)
    plan.refresh_from_db()
    return plan


def given_out(plan: Plan) -> dict[str, list[str]]:
    """Item → names of the raters who have it in the worklist."""
    found: dict[str, list[str]] = {}
    rows = Assignment.objects.filter(round=plan.worklist).order_by("item", "slot")
    for item, user, name in rows.values_list("item__identifier", "rater__user__username", "rater__name"):
        found.setdefault(item.rpartition("#")[2], []).append(user or name)
    return found


def asked(plan: Plan) -> dict[str, list[list[Any]]]:
    rows = RoundItem.objects.filter(round=plan.worklist)
    return {item.rpartition("#")[2]: places for item, places in rows.values_list("item__identifier", "asked")}


def test_a_preview_counts_what_becomes_of_each_label_and_changes_nothing(study: Study) -> None:
    rated(study)
    make.next_version(study, SECOND)
    told = preview_of(planned(study)).as_document()
    assert (told["from"], told["to"], told["rounds"]) == (1, 2, [1])
    assert told["labels"] == {"total": 10, "following": 5, "renamed": 5, "split": 3, "retired": 2}
    changes = {each["old"]: (each["kind"], each["new"], each["labels"], each["items"]) for each in told["changes"]}
    assert changes == {
        "crash": ("renamed", "failure", 5, 3),
        "hang": ("split", None, 3, 2),
        "slow": ("retired", None, 2, 1),
    }
    assert told["worklist"] == {
        "items": 3,
        "raters": [{"rater": "R1", "items": 3, "absent": False}, {"rater": "R2", "items": 2, "absent": False}],
    }
    assert study.rounds.count() == 1 and Plan.objects.get().state == "previewed"


def test_the_affected_items_are_listed_with_the_reason_and_the_raters_concerned(study: Study) -> None:
    rated(study)
    make.next_version(study, SECOND)
    found = scope_of(planned(study))
    listed = {each.item.identifier[-1]: each.reasons for each in affected_items(found)}
    assert listed == {
        "2": [("split", "symptom", "Hang", ("R1", "R2"))],
        "3": [("split", "symptom", "Hang", ("R1",))],
        "4": [("retired", "symptom", "Slow", ("R1", "R2"))],
    }
    assert [each.item.identifier[-1] for each in affected_items(found, why="retired")] == ["4"]
    first = affected_items(found, size=1)[0].item
    assert [each.item.identifier[-1] for each in affected_items(found, after=first.pk, size=1)] == ["3"]
    crash = next(pk for pk, outcome in found.outcomes.items() if outcome.category.key == "crash")
    assert [item.identifier[-1] for item in items_with_categories(found, [crash])] == ["1", "3", "5"]


def test_a_plan_gives_out_just_the_affected_items_to_just_the_raters_concerned(study: Study) -> None:
    rated(study)
    make.next_version(study, SECOND)
    plan = ran(study)
    worklist = plan.worklist
    assert plan.state == "done" and worklist is not None
    assert (worklist.number, worklist.kind, worklist.state, worklist.taxonomy_version.number) == (
        2,
        "relabel",
        "open",
        2,
    )
    assert given_out(plan) == {"2": ["bob", "carol"], "3": ["bob"], "4": ["bob", "carol"]}
    assert asked(plan) == {"2": [[1, "symptom"]], "3": [], "4": [[1, "symptom"]]}
    assert AuditEvent.objects.filter(verb="plan run").count() == 1


def test_no_rating_is_written_or_touched_by_a_plan_or_its_undoing(study: Study) -> None:
    rated(study)
    make.next_version(study, SECOND)
    before = (list(Annotation.objects.values()), list(Rating.objects.values()))
    plan = ran(study)
    undo_plan(seat=make.owner_seat(study), plan=plan)
    assert (list(Annotation.objects.values()), list(Rating.objects.values())) == before


def test_a_plan_without_anything_to_ask_makes_no_worklist(study: Study) -> None:
    rated(study, "item bob carol\n1 crash crash", 1)
    make.next_version(study, SECOND)
    plan = ran(study)
    assert (plan.state, plan.worklist, study.rounds.count()) == ("done", None, 1)


def test_a_resolution_that_can_not_be_followed_brings_the_item_to_all_of_its_raters(study: Study) -> None:
    round_ = rated(study, "item bob carol\n1 crash slow\n2 crash crash", 2)
    item = Item.objects.get(identifier="acme/rocket#1")
    resolve(seat=make.seat(study, "ada"), round_=round_, item=item, part=1, dimension="symptom", values=["hang"])
    make.next_version(study, SLOW_STAYS)
    plan = ran(study)
    assert given_out(plan) == {"1": ["bob", "carol"]}
    assert asked(plan) == {"1": [[1, "symptom"]]}


def test_redefined_categories_are_looked_at_again_only_where_that_is_wanted(study: Study) -> None:
    rated(study)
    text = make.SYMPTOMS.replace("name: Crash}", "name: Crash, definition: A process ends with an error.}")
    make.next_version(study, text)
    assert preview_of(planned(study)).as_document()["recheck"] == [
        {"dimension": "symptom", "category": "crash", "items": 3, "chosen": False}
    ]
    with pytest.raises(Invalid) as refused:
        planned(study, recheck=[["symptom", "hang"]])
    assert "recheck" in refused.value.fields
    plan = run_plan(seat=make.owner_seat(study), plan=planned(study), recheck=[["symptom", "crash"]])
    plan_jobs.work(plan.pk)
    plan.refresh_from_db()
    assert given_out(plan) == {"1": ["bob", "carol"], "3": ["carol"], "5": ["bob", "carol"]}
    assert asked(plan) == {"1": [[1, "symptom"]], "3": [], "5": [[1, "symptom"]]}


def test_a_redefined_category_that_several_lead_to_is_offered_once_with_the_items_of_all(study: Study) -> None:
    rated(study)
    merged = SLOW_STAYS.replace("was: [crash]", "was: [crash, hang]").split("      - {key: early")[0]
    make.next_version(study, merged)
    make.next_version(study, merged.replace("name: Failure,", "name: Failure, definition: It ends,"))
    assert preview_of(planned(study, 3)).as_document()["recheck"] == [
        {"dimension": "symptom", "category": "failure", "items": 4, "chosen": False}
    ]


def test_a_newly_required_question_asks_where_it_applies_and_has_no_answer() -> None:
    study = make.study(text=make.FAULTS)
    round_ = make.open_round(study, 2)
    for name in ("bob", "carol"):
        make.submit(round_, name, 1, {"kind": ["fault"], "symptom": ["crash"], "distributed": True})
        make.submit(round_, name, 2, {"kind": ["how-to"]})
    more = "  - {key: stage, title: Stage, kind: single, applies_when: {dimension: kind, is: [fault]}, categories: "
    make.next_version(study, make.FAULTS + more + "[{key: setup, name: Setup}]}\n")
    told = preview_of(planned(study)).as_document()
    assert told["dimensions"] == [{"dimension": "stage", "title": "Stage", "kind": "required", "items": 1}]
    plan = ran(study)
    assert given_out(plan) == {"1": ["bob", "carol"]} and asked(plan) == {"1": [[1, "stage"]]}


def test_a_question_that_becomes_required_asks_only_those_who_left_it_blank() -> None:
    text = make.SYMPTOMS + "  - {key: note, title: Note, kind: text, required: false}\n"
    study = make.study(text=text)
    round_ = make.open_round(study, 1)
    make.submit(round_, "bob", 1, {"symptom": ["crash"], "note": "odd"})
    make.submit(round_, "carol", 1, {"symptom": ["crash"]})
    make.next_version(study, text.replace("required: false", "required: true"))
    assert given_out(ran(study)) == {"1": ["carol"]}


def test_what_is_pending_comes_back_once_its_proposal_was_answered(study: Study) -> None:
    rated(study, "item bob carol\n1 PENDING crash\n2 crash PENDING\n3 crash crash", 3)
    proposal = Rating.objects.get(proposal__isnull=False, item__identifier="acme/rocket#1").proposal
    assert proposal is not None
    ProposalOutcome.objects.create(
        proposal=proposal, outcome="accepted", version_number=2, category_key="new", category_name="New"
    )
    make.next_version(study, make.SYMPTOMS + "      - {key: new, name: New}\n")
    told = preview_of(planned(study)).as_document()
    assert told["pending"] == {"accepted": 1, "open": 1}
    plan = ran(study)
    assert given_out(plan) == {"1": ["bob"]} and asked(plan) == {"1": [[1, "symptom"]]}


def test_what_was_accepted_into_a_later_version_does_not_come_back_yet(study: Study) -> None:
    rated(study, "item bob carol\n1 PENDING crash", 1)
    proposal = Rating.objects.get(proposal__isnull=False).proposal
    assert proposal is not None
    ProposalOutcome.objects.create(
        proposal=proposal, outcome="accepted", version_number=3, category_key="new", category_name="New"
    )
    make.next_version(study, SECOND)
    assert ran(study).worklist is None


def carol_rates_no_more(study: Study) -> None:
    carol = make.member(study, "carol")
    carol.roles = ["reader"]
    carol.save()


def test_stand_ins_answer_in_the_place_of_raters_who_can_not_sign_in(study: Study) -> None:
    rated(study)
    make.next_version(study, SECOND)
    carol_rates_no_more(study)
    told = preview_of(planned(study)).as_document()
    assert told["worklist"]["raters"][1] == {"rater": "R2", "items": 2, "absent": True}
    assert "R2" in told["warnings"][0]
    plan = ran(study)
    assert given_out(plan) == {"2": ["bob"], "3": ["bob"], "4": ["bob"]}
    undo_plan(seat=make.owner_seat(study), plan=plan)
    make.members.add_member(seat=make.owner_seat(study), username=make.user("dora").username, roles=["rater"])
    assert given_out(ran(study, stand_ins=["dora"])) == {"2": ["bob", "dora"], "3": ["bob"], "4": ["bob", "dora"]}


def test_who_stands_in_for_an_item_does_not_hang_on_the_others(study: Study) -> None:
    """Whoever may not know that one of them is in the queue reads who has the others."""
    rated(study)
    make.next_version(study, SECOND)
    carol_rates_no_more(study)
    for name in ("dora", "erin"):
        make.members.add_member(seat=make.owner_seat(study), username=make.user(name).username, roles=["rater"])
    plan = ran(study, stand_ins=["dora", "erin"])
    of_all = given_out(plan)
    undo_plan(seat=make.owner_seat(study), plan=plan)
    Study.objects.filter(pk=study.pk).update(screened_out=Study.ScreenedOut.EXCLUDE)
    study.refresh_from_db()
    screen_items(seat=make.owner_seat(study), screening="out", reason="off topic", items=["acme/rocket#2"])
    of_fewer = given_out(ran(study, stand_ins=["dora", "erin"]))
    assert list(of_all) == ["2", "3", "4"] and of_fewer == {"3": of_all["3"], "4": of_all["4"]}


def test_a_plan_reports_what_nobody_was_assigned(study: Study) -> None:
    rated(study)
    make.next_version(study, SECOND)
    User.objects.filter(username__in=("bob", "carol")).update(is_active=False)
    plan = ran(study)
    assert (plan.worklist, plan.n_unassigned) == (None, 3)
    assert plan.warning.startswith("Nothing was assigned: ") and "3 items were left as they are." in plan.warning
    User.objects.filter(username="carol").update(is_active=True)
    undo_plan(seat=make.owner_seat(study), plan=plan)
    plan = ran(study)
    assert plan.n_unassigned == 1 and plan.warning.startswith("1 item was not assigned: ")
    User.objects.filter(username="bob").update(is_active=True)
    undo_plan(seat=make.owner_seat(study), plan=plan)
    assert ran(study).warning == ""


def test_an_invited_rater_stands_in_before_they_accept(study: Study) -> None:
    rated(study)
    make.next_version(study, SECOND)
    carol_rates_no_more(study)
    make.members.set_member(seat=make.owner_seat(study), username=make.user("dora").username, roles=["rater"])
    assert given_out(ran(study, stand_ins=["dora"])) == {"2": ["bob", "dora"], "3": ["bob"], "4": ["bob", "dora"]}


def test_no_plan_runs_while_a_job_opens_a_round(study: Study) -> None:
    """It would be open beside the plan, or older than a queue with its items."""
    first = rated(study)
    close_round(seat=make.owner_seat(study), number=1, leave_open=True)
    make.next_version(study, SECOND)
    job = BulkJob.objects.create(study=study, kind="opening", round=first, n_total=9, created_by=study.created_by)
    with pytest.raises(Conflict) as error:
        run_plan(seat=make.owner_seat(study), plan=planned(study))
    assert error.value.code == "preparing" and not Plan.objects.filter(run_at__isnull=False).exists()
    job.delete()
    assert ran(study).state == "done"


def test_an_undone_plan_leaves_no_worklist_that_counts_and_its_number_is_not_used_again(study: Study) -> None:
    rated(study)
    make.next_version(study, SECOND)
    plan = undo_plan(seat=make.owner_seat(study), plan=ran(study))
    worklist = plan.worklist
    assert plan.state == "undone" and worklist is not None
    worklist.refresh_from_db()
    assert worklist.state == "undone"
    again = ran(study)
    assert again.number == 2 and again.worklist is not None and again.worklist.number == 3


def test_a_plan_can_be_undone_until_the_next_round_opens(study: Study) -> None:
    rated(study, "item bob carol\n1 crash crash", 1)
    make.next_version(study, SECOND)
    plan = ran(study)
    assert why_not_undo(plan) == ""
    make.open_round(study, 1, first=9)
    assert "Round 2 was opened" in why_not_undo(plan)
    with pytest.raises(WrongState):
        undo_plan(seat=make.owner_seat(study), plan=plan)


def test_plans_are_undone_from_the_last_one_backwards(study: Study) -> None:
    rated(study, "item bob carol\n1 crash crash", 1)
    make.next_version(study, SECOND)
    first = ran(study)
    make.next_version(study, SECOND.replace("name: Failure", "name: Fault"))
    second = ran(study, 3)
    assert (second.from_version.number, second.to_version.number) == (2, 3)
    with pytest.raises(WrongState, match="Migration 2 was run after it"):
        undo_plan(seat=make.owner_seat(study), plan=first)
    undo_plan(seat=make.owner_seat(study), plan=second)
    assert undo_plan(seat=make.owner_seat(study), plan=first).state == "undone"


def test_a_plan_waits_for_open_rounds_and_a_published_version(study: Study) -> None:
    make.open_round(study, 1)
    make.next_version(study, SECOND)
    with pytest.raises(Conflict, match="nothing to migrate"):
        planned(study)
    close = make.rate(get_round(make.owner_seat(study), 1), "item bob carol\n1 crash crash")
    close_round(seat=make.owner_seat(study), number=close.number)
    make.open_round(study, 1, first=7)
    with pytest.raises(WrongState, match="Round 2 is open"):
        run_plan(seat=make.owner_seat(study), plan=planned(study))


def test_a_draft_can_be_previewed_and_not_run(study: Study) -> None:
    rated(study, "item bob carol\n1 crash crash", 1)
    make.taxonomy_actions.new_draft(user=study.created_by, taxonomy=study.taxonomy, text=SECOND)
    plan = planned(study)
    assert preview_of(plan).by_kind == {"renamed": 2}
    with pytest.raises(WrongState, match="Publish it first"):
        run_plan(seat=make.owner_seat(study), plan=plan)


def test_what_a_draft_says_reaches_nobody_who_does_not_read_it_by_previews_or_files(study: Study) -> None:
    """A category of it may be what a rater proposed in a round that is open for others."""
    rated(study, "item bob carol\n1 crash crash", 1)
    make.taxonomy_actions.new_draft(user=study.created_by, taxonomy=study.taxonomy, text=SECOND)
    members.add_member(seat=make.owner_seat(study), username=make.user("ed").username, roles=["owner"])
    plan = planned(study)
    made = request_export(seat=make.owner_seat(study), what="labels", format="csv", options={"version": 2}, send=False)
    export_jobs.work(made.pk)
    file = f"exports/{made.public_id}/download/"
    read = [f"studies/study/plans/{plan.pk}/", "studies/study/plans/", file]
    shown = {name: [Script(name).send("GET", path) for path in read] for name in ("olga", "ed", "bob", "rea")}
    assert [each.status_code for each in shown["olga"]] == [200] * 3
    for name in ("ed", "bob", "rea"):
        one, listed, held = shown[name]
        assert (one.status_code, held.status_code, listed.json()["results"]) == (404, 403, []), name
        client = Client()
        client.force_login(make.user(name))
        assert client.get("/studies/study/plans/1/").status_code == 404
        assert "/plans/1/" not in client.get("/studies/study/plans/").content.decode()
    with pytest.raises(Forbidden, match="Migration 1 contains a draft"):
        require_whole(make.seat(study, "ed"))
    require_whole(make.owner_seat(study))


def test_a_preview_names_no_category_that_a_draft_lost_before_it_was_published(study: Study) -> None:
    rated(study, "item bob carol\n1 hang hang", 1)
    olga, taxonomy = study.created_by, study.taxonomy
    secret = make.SYMPTOMS.replace(
        "{key: hang, name: Hang}", "{key: secretlock, name: Secret, definition: It waits., was: [hang]}"
    )
    assert secret != make.SYMPTOMS
    draft = make.taxonomy_actions.new_draft(user=olga, taxonomy=taxonomy, text=secret)
    members.add_member(seat=make.owner_seat(study), username=make.user("ed").username, roles=["owner"])
    plan = preview_plan(seat=make.owner_seat(study), to=2, recheck=[["symptom", "secretlock"]])
    draft = make.taxonomy_actions.replace_draft(user=olga, version=draft, text=SECOND)
    make.taxonomy_actions.publish_version(user=olga, version=draft)

    def leaves(name: str) -> bool:
        made = request_export(seat=make.seat(study, name), what="study", format=None, send=False)
        export_jobs.work(made.pk)
        made.refresh_from_db()
        with made.file.open("rb") as file, zipfile.ZipFile(file) as archive:
            return any(b"secretlock" in archive.read(each) for each in archive.namelist() if each.startswith("tables/"))

    assert not leaves("ed") and leaves("olga")
    plan = run_plan(seat=make.owner_seat(study), plan=plan, send=False)
    assert plan.recheck == []


@pytest.mark.parametrize("end", ["discarded", "published"])
def test_a_file_in_terms_of_a_draft_stays_hidden_whatever_becomes_of_the_draft(study: Study, end: str) -> None:
    """The draft may say what a rater proposed in a round that is open for others, and be edited before its end."""
    rated(study, "item bob carol\n1 crash crash", 1)
    draft = make.taxonomy_actions.new_draft(user=study.created_by, taxonomy=study.taxonomy, text=SECOND)
    members.add_member(seat=make.owner_seat(study), username=make.user("ed").username, roles=["owner"])

    def made() -> str:
        seat = make.owner_seat(study)
        file = request_export(seat=seat, what="labels", format="csv", options={"version": 2}, send=False)
        export_jobs.work(file.pk)
        return f"exports/{file.public_id}/download/"

    def opened(path: str) -> list[int]:
        return [Script(name).send("GET", path).status_code for name in ("olga", "ed")]

    path = made()
    assert opened(path) == [200, 403]
    if end == "discarded":
        make.taxonomy_actions.discard_draft(user=study.created_by, version=draft)
    else:
        make.taxonomy_actions.publish_version(user=study.created_by, version=draft)
    assert opened(path) == [200, 403]
    assert "Version 2 was a draft when this file was made" in str(Script("ed").send("GET", path).json())
    if end == "published":
        assert opened(made()) == [200, 200]


def test_a_preview_that_is_run_while_it_is_counted_again_stays_the_only_one(study: Study) -> None:
    rated(study)
    make.next_version(study, make.SYMPTOMS.replace("name: Crash}", "name: Crash, definition: It ends with an error.}"))
    seat, plan = make.owner_seat(study), planned(study)
    read_before = Plan.objects.get()
    run_plan(seat=seat, plan=plan, recheck=[["symptom", "crash"]], send=False)
    again = preview_plan(seat=seat, to=2, recheck=[], again=read_before)
    assert (again.pk, again.state) == (plan.pk, Plan.State.QUEUED)
    assert Plan.objects.get().recheck == [["symptom", "crash"]]


@pytest.mark.parametrize("to", [0, 3, 2**40, "2", None, True])
def test_a_version_that_is_not_there_is_refused(study: Study, to: object) -> None:
    rated(study, "item bob carol\n1 crash crash", 1)
    make.next_version(study, SECOND)
    with pytest.raises(Invalid) as refused:
        preview_plan(seat=make.owner_seat(study), to=to)
    assert "to" in refused.value.fields


def test_only_the_owner_makes_runs_and_undoes_plans(study: Study) -> None:
    rated(study, "item bob carol\n1 crash crash", 1)
    make.next_version(study, SECOND)
    plan = planned(study)
    for name in ("bob", "ada", "rea"):
        with pytest.raises(Forbidden):
            preview_plan(seat=make.seat(study, name), to=2)
        with pytest.raises(Forbidden):
            run_plan(seat=make.seat(study, name), plan=plan)
        with pytest.raises(Forbidden):
            undo_plan(seat=make.seat(study, name), plan=plan)


def test_asking_again_gives_the_same_preview_and_running_again_the_same_run(study: Study) -> None:
    rated(study)
    make.next_version(study, SECOND)
    assert planned(study).pk == planned(study).pk
    plan = run_plan(seat=make.owner_seat(study), plan=planned(study))
    assert run_plan(seat=make.owner_seat(study), plan=plan).pk == plan.pk
    plan_jobs.work(plan.pk)
    plan_jobs.work(plan.pk)
    plan.refresh_from_db()
    assert Round.objects.filter(kind="relabel").count() == 1 and len(given_out(plan)) == 3


def test_a_job_that_was_killed_between_two_batches_goes_on_and_gives_out_nothing_twice(
    study: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    rated(study)
    make.next_version(study, SECOND)
    monkeypatch.setattr(plan_jobs, "BATCH", 1)
    plan = run_plan(seat=make.owner_seat(study), plan=planned(study))
    batch, turns = plan_jobs._batch, []

    def killed(*arguments: Any) -> bool:
        turns.append(1)
        if len(turns) == 3:
            raise KeyboardInterrupt
        return batch(*arguments)

    monkeypatch.setattr(plan_jobs, "_batch", killed)
    with pytest.raises(KeyboardInterrupt):
        plan_jobs.work(plan.pk)
    plan.refresh_from_db()
    assert (plan.state, plan.n_done, plan.n_total) == ("running", 2, 3)
    with pytest.raises(Conflict, match="A migration of this study is running"):
        open_round(seat=make.owner_seat(study), number=2, unregistered=True)
    assert plan_jobs.PLANS.sweep() == [plan.pk]
    plan_jobs.work(plan.pk)
    plan.refresh_from_db()
    assert given_out(plan) == {"2": ["bob", "carol"], "3": ["bob"], "4": ["bob", "carol"]}
    assert [*RoundItem.objects.filter(round=plan.worklist).values_list("position", flat=True)] == [1, 2, 3]


def test_a_plan_at_work_can_be_stopped_and_leaves_nothing(study: Study, monkeypatch: pytest.MonkeyPatch) -> None:
    rated(study)
    make.next_version(study, SECOND)
    monkeypatch.setattr(plan_jobs, "BATCH", 1)
    plan = run_plan(seat=make.owner_seat(study), plan=planned(study))
    batch = plan_jobs._batch
    monkeypatch.setattr(plan_jobs, "_batch", lambda *arguments: batch(*arguments) and False)
    plan_jobs.work(plan.pk)
    plan = undo_plan(seat=make.owner_seat(study), plan=Plan.objects.get())
    assert (plan.state, plan.worklist, study.rounds.count()) == ("undone", None, 1)


def test_lost_plans_are_found(study: Study) -> None:
    rated(study)
    make.next_version(study, SECOND)
    plan = run_plan(seat=make.owner_seat(study), plan=planned(study))
    assert plan_jobs.PLANS.sweep(60) == [] and plan_jobs.PLANS.sweep(-1) == [plan.pk]


def test_only_the_newest_answers_of_an_item_count(study: Study) -> None:
    close_round(seat=make.owner_seat(study), number=rated(study, "item bob carol\n1 hang hang\n2 hang hang", 2).number)
    second = make.open_round(study, 1)
    make.rate(second, "item bob carol\n1 crash crash")
    make.next_version(study, SECOND)
    assert given_out(ran(study)) == {"2": ["bob", "carol"]}
