"""A plan that renames, merges, moves, splits and retires: its preview, job and undoing; and the editor's page."""

from pathlib import Path
from typing import Any

from django.db import connection
from django.test import Client

from accounts.actions import make_token
from annotation.core.access import get_seat
from annotation.members.actions.members import add_member
from annotation.models import Assignment, Plan, Rating, Study
from annotation.plans import jobs as plan_jobs
from annotation.plans.actions import run_plan, undo_plan
from bench.ground import N_CATEGORIES, rated_study, row, timed, user
from taxonomy.actions import load_document, new_draft, publish_version

EDITED = 300
HEAD = """
slug: {slug}
title: Symptoms
dimensions:
  - key: symptom
    title: Symptom
    kind: single
    categories:"""


def measure(size: int, folder: Path) -> list[dict[str, Any]]:
    study = rated_study(size)
    seat = get_seat(user("owner"), study.slug)
    version = _changed(study)
    for name in ("alice", "bob"):
        add_member(seat=seat, username=user(name).username, roles=["rater"])
    _, plain = make_token(user=user("owner"), name="bench", scope="manage")
    client, headers = Client(), {"Authorization": f"Bearer {plain}"}
    client.get("/api/v1/studies/", headers=headers)
    n_labels = Rating.objects.filter(round__study=study).count()
    with timed() as counted, connection.cursor() as cursor:
        cursor.execute(
            "SELECT category_id, count(*), count(DISTINCT item_id) FROM annotation_rating JOIN annotation_round round"
            " ON round.id = round_id WHERE round.study_id = %s GROUP BY 1",
            [study.pk],
        )
        cursor.fetchall()
    place = f"/api/v1/studies/{study.slug}/plans/"
    with timed() as previewed:
        told = client.post(place, {"to": version}, content_type="application/json", headers=headers).json()
    assert told["labels"]["total"] == n_labels
    plan = Plan.objects.get(study=study)
    run_plan(seat=seat, plan=plan, stand_ins=["alice", "bob"], send=False)
    with timed() as worked:
        plan_jobs.work(plan.pk)
    plan.refresh_from_db()
    assert plan.state == "done"
    n_given = Assignment.objects.filter(round=plan.worklist).count()
    with timed() as undone:
        undo_plan(seat=seat, plan=plan)
    reference = f"{counted():.2f} s the database counting labels and items by category"
    what = f"plan over {n_labels:,} labels"
    given = f"{plan.n_done:,} items to {n_given:,} raters"
    found = [
        row(f"{what}: preview", size, f"{previewed():.2f} s", reference, previewed() / counted()),
        row(f"{what}: job, {given}", size, f"{worked():.2f} s"),
        row(f"{what}: undo", size, f"{undone():.3f} s"),
    ]
    return found + _editor(size)


def _changed(study: Study) -> int:
    """A second version: one category renamed, two merged, one moved below another, one split, one retired."""
    same = [f"      - {{key: c{n}, name: Category {n}}}" for n in range(6, N_CATEGORIES)]
    changed = """
      - {key: renamed, name: Renamed, was: [c0]}
      - {key: merged, name: Merged, was: [c1, c2], categories: [{key: c5, name: Category 5}]}
      - {key: half, name: Half, was: [c3]}
      - {key: other-half, name: Other half, was: [c3]}
"""
    text = HEAD.format(slug=study.taxonomy.slug) + changed + "\n".join(same)
    draft = new_draft(user=user("owner"), taxonomy=study.taxonomy, text=text)
    return publish_version(user=user("owner"), version=draft).number


def _editor(size: int) -> list[dict[str, Any]]:
    """Server time of the editor's page of a draft with 300 categories, beside that of the page to read it."""
    categories = "\n".join(
        f"      - {{key: k{n}, name: Kind {n}, definition: What belongs to kind {n} and to no other one.}}"
        for n in range(EDITED)
    )
    text = HEAD.format(slug=f"edited-{size}") + f"\n{categories}\n"
    draft = load_document(user=user("owner"), text=text)
    client = Client()
    client.force_login(user("owner"))
    place = f"/taxonomies/edited-{size}/versions/{draft.number}/"
    for address in (place, f"{place}edit/"):
        assert client.get(address).status_code == 200
    with timed() as read:
        client.get(place)
    with timed() as opened:
        client.get(f"{place}edit/")
    reference = f"{1000 * read():.0f} ms the page to read it"
    said = f"{1000 * opened():.0f} ms"
    return [row(f"opening the editor with {EDITED} categories", EDITED, said, reference, opened() / read())]
