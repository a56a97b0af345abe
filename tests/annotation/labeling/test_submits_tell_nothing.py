"""What a submit does and answers is the same whatever the other raters said: statements, rows, tasks and the answer."""

import json
import re
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from celery.signals import before_task_publish
from django.db import connection, transaction
from django.test import Client
from django.test.utils import CaptureQueriesContext

from annotation.labeling.actions.next_item import take_next
from annotation.models import Assignment, Round, Study
from tests import builders as make
from tests.remembered import remembered
from tests.scripts import Script

pytestmark = pytest.mark.django_db

WORLDS: dict[str, str | None] = {"the others agreed": "crash", "the others differed": "hang", "nobody else yet": None}
PASSING = {"Date", "X-Request-ID", "Set-Cookie", "Content-Security-Policy"}
MINE = {"labels": {"symptom": ["crash"]}, "memo": "as seen", "seconds": 9}


def shape(text: str) -> str:
    """A statement or an answer without what stands for one row, moment or person."""
    text = re.sub(r"'(?:[^']|'')*'", "?", text)
    text = re.sub(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", "?", text)
    text = re.sub(r"\b[A-Za-z0-9]{64}\b", "?", text)  # a token of a form
    return re.sub(r"s?\d[\w.:+-]*", "?", text)


@contextmanager
def watched() -> Iterator[dict[str, Any]]:
    """Fills in what is done meanwhile: the shapes of statements in order, rows written by table, and tasks sent."""

    def sent(sender: str = "", **more: Any) -> None:
        found["tasks"].append(sender)

    found: dict[str, Any] = {"tasks": []}
    before = rows_written()
    before_task_publish.connect(sent)
    try:
        with CaptureQueriesContext(connection) as captured:
            yield found
    finally:
        before_task_publish.disconnect(sent)
    found["statements"] = [shape(each["sql"]) for each in captured]
    written = rows_written()
    written.subtract(before)
    found["rows"] = {place: n for place, n in written.items() if n}


def rows_written() -> Counter[tuple[str, str]]:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT relname, n_tup_ins, n_tup_upd, n_tup_del FROM pg_stat_xact_all_tables WHERE schemaname = 'public'"
        )
        rows = cursor.fetchall()
    kinds = ("inserted", "updated", "deleted")
    return Counter({(name, kind): n for name, *counts in rows for kind, n in zip(kinds, counts, strict=True)})


@remembered
def study_of(mode: str, n_raters: int) -> Round:
    """A study that resolves item by item with all rules on, and could ask erin and frank; bob, carol … rate."""
    raters = ("bob", "carol", "dave")[:n_raters]
    study = make.study(raters=(*raters, "erin", "frank"))
    Study.objects.update(resolve_when="item", third_rater=True, majority=True)
    return make.open_round(Study.objects.get(pk=study.pk), 4, raters=raters, mode=mode)


def given(round_: Round, name: str) -> Assignment:
    """Someone's assignment of the first issue; in a pool they walk there."""
    if round_.mode == Round.Mode.PLANNED:
        return make.assignment(round_, name, 1)
    found = take_next(seat=make.seat(round_.study, name), round_=round_)
    assert found is not None
    return found


def place_of(assignment: Assignment) -> str:
    return assignment.public_id


def seen_of_submit(round_: Round, door: str, said: str | None, kind: str) -> dict[str, Any]:
    """What bob's submit on the first item does and answers, where the others said this of it, or nothing."""
    own = given(round_, "bob")
    item = own.item
    if kind == "revision":
        make.submit(round_, "bob", item.issue.number, {"symptom": ["slow"]})
    for name in round_.round_raters.exclude(rater__user__username="bob").values_list(
        "rater__user__username", flat=True
    ):
        others = given(round_, name)
        assert others.item == item
        if said is not None:
            make.submit(round_, name, item.issue.number, {"symptom": [said]})
    body = {"skip": "not in English"} if kind == "skip" else MINE
    script, client = Script("bob"), Client()
    client.force_login(make.user("bob"))
    page = f"/studies/study/rounds/1/label/{place_of(own)}/"
    client.get("/help/")  # the session of a fresh client is noted once
    with watched() as found:
        if door == "rest":
            answer = script.send(
                "POST",
                "studies/study/annotations/?next=1",
                {"assignment": place_of(own), **body},
                **{"Idempotency-Key": "k"},
            )
        else:
            answer = client.post(
                page, json.dumps(body), content_type="application/json", headers={"Idempotency-Key": "k"}
            )
    assert answer.status_code == (201 if door == "rest" else 200), answer.content[:300]
    found["answer"] = answer.status_code
    found["headers"] = {name: shape(value) for name, value in answer.headers.items() if name not in PASSING}
    found["body"] = shape(answer.content.decode())
    after = [script.send("GET", "studies/study/rounds/1/next/"), client.get("/studies/study/rounds/1/label/")]
    found["after"] = [(each.status_code, shape(each.content.decode())) for each in after]
    return found


@pytest.mark.parametrize("kind", ["first", "revision", "skip"])
@pytest.mark.parametrize("n_raters", [2, 3])
@pytest.mark.parametrize("mode", ["planned", "pool"])
@pytest.mark.parametrize("door", ["rest", "page"])
def test_a_submit_does_and_answers_the_same_whatever_the_others_said(
    door: str, mode: str, n_raters: int, kind: str, django_capture_on_commit_callbacks: Any
) -> None:
    round_ = study_of(mode, n_raters)
    seen: dict[str, dict[str, Any]] = {}
    for world, said in [("warm", None), *WORLDS.items()]:
        with transaction.atomic(), django_capture_on_commit_callbacks(execute=True):
            seen[world] = seen_of_submit(round_, door, said, kind)
            transaction.set_rollback(True)
    quiet = seen["nobody else yet"]
    assert quiet["statements"] and quiet["rows"][("annotation_annotation", "inserted")] == 1
    for world in WORLDS:
        for what, wanted in quiet.items():
            assert seen[world][what] == wanted, f"{what}, where {world}"
