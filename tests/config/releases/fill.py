"""Fills an empty Concord with a study in which a bit of everything happened, beside the demo study.

Run once with the code of a release, when it is cut: see “release” in CONTRIBUTING.md.
"""

import uuid

from django.core.files.base import ContentFile

from accounts.actions import make_token
from annotation.analysis.actions import save_analysis
from annotation.core.access import get_item, get_round
from annotation.discussion.actions import write_remark
from annotation.exports import jobs as export_jobs
from annotation.exports.actions import request_export
from annotation.imports.actions.workbooks import take_workbook
from annotation.models import Assignment
from annotation.overview.actions.demo import load_demo
from annotation.plans import jobs as plan_jobs
from annotation.plans.actions import preview_plan, run_plan
from annotation.resolving.actions.resolutions import resolve
from annotation.rounds.actions.rounds import NewRound, close_round, create_round, resolve_round
from tests import builders as make

SECOND = """
slug: faults
title: Faults
note: hang is split, slow renamed
dimensions:
  - key: kind
    title: Kind of issue
    kind: single
    categories: [{key: fault, name: Fault}, {key: how-to, name: How-to question}]
  - key: symptom
    title: Symptom
    kind: single
    applies_when: {dimension: kind, is: [fault]}
    categories:
      - key: failure
        name: Failure
        selectable: false
        categories:
          - {key: crash, name: Crash}
          - {key: early-hang, name: Early hang, was: [hang]}
          - {key: late-hang, name: Late hang, was: [hang]}
      - {key: performance, name: Performance, was: [slow], definition: Too slow.}
  - key: fixes
    title: Fix patterns
    kind: multi
    required: false
    applies_when: {dimension: kind, is: [fault]}
    categories: [{key: config, name: Configuration, was: [config, version]}, {key: code, name: Code}]
  - key: distributed
    title: Only distributed
    kind: boolean
    applies_when: {dimension: kind, is: [fault]}
"""


def fault(symptom: str, *fixes: str, distributed: bool = False) -> dict[str, object]:
    return {"kind": ["fault"], "symptom": [symptom], "fixes": list(fixes), "distributed": distributed}


def answer(round_, name: str, number: int, labels=None, **more) -> None:
    make.submit(round_, name, number, labels, key=uuid.uuid4().hex, **more)


def first_round(study) -> None:
    """Agreed and disputed places, parts, a skip, a proposal, revisions, remarks and decisions; closed."""
    make.issues(8)
    make.new_state(1, [(11, "ann", "It hangs in **all_reduce**."), (12, "ghost", "Same here.")], title="Hangs, edited")
    round_ = make.open_round(study, 8)
    for number, bob, carol in (
        (1, fault("hang", "code"), fault("hang", "code")),
        (2, fault("crash"), fault("hang", distributed=True)),
        (3, {"kind": ["how-to"]}, fault("slow", "config", "version")),
        (4, fault("slow", "version"), fault("slow", "version")),
        (5, fault("crash", distributed=True), fault("crash", distributed=True)),
    ):
        answer(round_, "bob", number, bob, memo=f"memo on {number}")
        answer(round_, "carol", number, carol, confidence=3)
    answer(round_, "bob", 6, parts=[{"labels": fault("crash")}, {"labels": fault("slow"), "memo": "a second bug"}])
    answer(round_, "carol", 6, fault("crash"))
    pending = {"kind": ["fault"], "fixes": [], "distributed": False}
    answer(round_, "bob", 7, pending, proposals={"symptom": {"name": "Deadlock", "memo": "neither hang nor crash"}})
    answer(round_, "carol", 7, fault("hang"))
    answer(round_, "bob", 2, fault("crash", "code"), memo="on second thought")
    answer(round_, "bob", 8, skip="not in English")
    answer(round_, "carol", 8, fault("hang"))
    owner = make.owner_seat(study)
    round_ = get_round(owner, round_.number)
    ada = make.seat(study, "ada")
    item = get_item(ada, "acme/rocket#2")
    write_remark(seat=ada, round_=round_, item=item, dimension="symptom", text="The log ends in a signal, @R2.")
    resolve(seat=ada, round_=round_, item=item, part=1, dimension="symptom", values=["hang"], rationale="no exit code")
    resolve(seat=ada, round_=round_, item=get_item(ada, "acme/rocket#3"), part=1, dimension="kind", values=["fault"])
    close_round(seat=owner, number=round_.number, leave_open=True)


def fill() -> None:
    load_demo()
    study = make.study("everything", text=make.FAULTS)
    owner = make.owner_seat(study)
    first_round(study)
    make.next_version(study, SECOND)
    plan = preview_plan(seat=owner, to=2)
    run_plan(seat=owner, plan=plan, send=False)
    plan_jobs.work(plan.pk)
    plan.refresh_from_db()
    worklist = get_round(owner, 2)
    first = Assignment.objects.filter(round=worklist, rater__user__username="bob").order_by("position").first()
    answer(worklist, "bob", int(first.item.identifier.partition("#")[2]), fault("early-hang", "code"))
    resolve_round(seat=owner, number=2, withdraw=True)
    half = make.open_round(study, 4, first=20, taxonomy_version=2)
    answer(half, "bob", 20, fault("performance", "config"))
    answer(half, "carol", 20, fault("crash"))
    answer(half, "bob", 21, {"kind": ["how-to"]})
    pool = make.open_round(study, 4, first=30, taxonomy_version=2, mode="pool", raters_per_item=1)
    assert pool.mode == "pool"
    create_round(
        seat=owner, asked=NewRound(kind="main", raters=["bob", "carol"], issues=["acme/rocket#1"], taxonomy_version=2)
    )
    for what in ("labels", "ratings"):
        export = request_export(seat=owner, what=what, send=False)
        if what == "labels":
            export_jobs.work(export.pk)
    save_analysis(seat=owner, title="Symptoms", kind="counts", question={"dimension": ["symptom"]})
    sheet = ContentFile(b"item,rater,dimension,value\nx-1,R1,symptom,crash\nx-1,R2,symptom,hang\n", name="old.csv")
    take_workbook(user=study.created_by, files=[sheet])
    make_token(user=make.user("bob"), name="laptop", scope="rate")


if __name__ == "__main__":
    import django

    django.setup()
    fill()
