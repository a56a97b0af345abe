"""The numbers of assignments, annotations and exports leave nowhere: no page, answer, file or address has one."""

import io
import re
import zipfile
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest
from django.db import connection, transaction
from django.test import Client

from annotation import exporting
from annotation.actions.exporting import request_export
from annotation.models import Annotation, Assignment, Export, Study
from tests import builders as make
from tests.annotation import walled
from tests.annotation.walled import Visitor, words_of
from tests.scripts import Script

pytestmark = [pytest.mark.django_db, pytest.mark.timeout(900)]

FIRST = {Assignment: 7_700_001, Annotation: 8_800_001, Export: 9_900_001}
NUMBER = re.compile(r"(?<![0-9a-zA-Z.])(?:770|880|990)\d{4}(?![0-9a-zA-Z])")
"""What numbers begin with here, so that they are found wherever they stand."""
MOST_PATHS = 3
"""So many paths are asked of each address: what stands in an answer does not depend on the round."""


@pytest.fixture(scope="module")
def study(django_db_setup: None, django_db_blocker: Any) -> Iterator[Study]:
    """The study of the wall, with numbers of rows that are like no other number in it."""
    with django_db_blocker.unblock(), transaction.atomic():
        with connection.cursor() as cursor:
            for model, first in FIRST.items():
                place = [model._meta.db_table]
                cursor.execute("SELECT nextval(pg_get_serial_sequence(%s, 'id'))", place)
                before = cursor.fetchone()[0]
                cursor.execute("SELECT setval(pg_get_serial_sequence(%s, 'id'), %s)", [*place, max(first, before)])
        yield walled.walled()
        transaction.set_rollback(True)


@pytest.mark.parametrize("name", ["ada", "dan"])
def test_no_address_of_a_study_answers_with_such_a_number(study: Study, name: str) -> None:
    visitor, found, n_asked = Visitor(name), [], Counter[str]()
    for address, base, path in walled.table():
        n_asked[address] += 1
        if n_asked[address] > MOST_PATHS:
            continue
        found += [f"{base}{path}: {each}" for each in NUMBER.findall(words_of(visitor.get(base, path)))]
    assert not found


@pytest.mark.parametrize(
    ("what", "format"),
    [("study", None), ("package", None), ("ratings", "csv"), ("resolutions", "jsonl"), ("evidence", "csv")],
)
def test_no_file_holds_such_a_number(study: Study, what: str, format: str | None) -> None:
    export = request_export(seat=make.seat(study, "ida"), what=what, format=format, send=False)
    exporting.work(export.pk)
    export.refresh_from_db()
    assert export.state == Export.State.DONE, export.error
    with export.file.open("rb") as file:
        content = file.read()
    names = {"": content}
    if zipfile.is_zipfile(io.BytesIO(content)):
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            names = {name: archive.read(name) for name in archive.namelist()}
    found = {
        name: each[:5] for name, text in names.items() if (each := NUMBER.findall(text.decode("utf-8", "replace")))
    }
    assert not found
    if what == "study":
        rows = names["tables/assignment.jsonl"].splitlines()
        assert b'"id":1,' in rows[0] and len(rows) > 9
        assert b"request_digest" not in names["tables/annotation.jsonl"]
        for public in (each.public_id for each in Assignment.objects.filter(round__study=study)):
            assert not any(public.encode() in text for text in names.values())


def test_ids_of_a_pool_do_not_tell_how_many_assignments_were_made_in_between() -> None:
    """A third rater's assignment is one more; from the gap somebody could tell that the other one differed."""
    make.study("pooled", raters=("bob", "carol", "dave"), text=make.SYMPTOMS.replace("slug: symptoms", "slug: pooled"))
    round_ = make.open_round(Study.objects.get(slug="pooled"), 4, mode="pool", raters_per_item=2)
    bob = Script("bob")
    given = bob.send("GET", "studies/pooled/rounds/1/next/").json()
    seen = [given["assignment"]]
    for _ in range(3):
        answer = bob.send(
            "POST", "studies/pooled/annotations/?next=1", {"assignment": seen[-1], "labels": {"symptom": ["crash"]}}
        ).json()
        assert answer["assignment"] == seen[-1] and Annotation.number_of(answer["id"])
        seen.append(answer["next"]["assignment"])
    assert [Assignment.number_of(each) for each in seen] == sorted(
        Assignment.objects.filter(round=round_).values_list("pk", flat=True)
    )
    assert seen != sorted(seen) or len({each[0] for each in seen}) > 1


def test_the_number_of_a_row_is_no_id_at_any_door() -> None:
    study = make.study("numbered", text=make.SYMPTOMS.replace("slug: symptoms", "slug: numbered"))
    own = make.assignment(make.open_round(study, 2), "bob", 1)
    export = request_export(seat=make.owner_seat(study), what="labels", format="csv", send=False)
    bob, olga, browser = Script("bob"), Script("olga"), Client()
    browser.force_login(make.user("bob"))
    body = {"labels": {"symptom": ["crash"]}}
    for number in (own.pk, str(own.pk)):
        assert bob.send("POST", "studies/numbered/annotations/", {"assignment": number, **body}).status_code == 404
    assert bob.send("GET", f"studies/numbered/rounds/1/next/?after={own.pk}").status_code == 404
    assert bob.send("GET", f"studies/numbered/rounds/1/next/?after={own.public_id}").status_code in (200, 204)
    assert olga.send("GET", f"exports/{export.pk}/").status_code == 404
    assert olga.send("GET", f"exports/{export.public_id}/").status_code == 200
    for rest in ("", "draft/"):
        path = f"/studies/numbered/rounds/1/label/{own.pk}/{rest}"
        assert browser.post(path, body, content_type="application/json").status_code == 404
    assert browser.get(f"/studies/numbered/rounds/1/label/{own.pk}/").status_code == 404
    assert browser.get(f"/studies/numbered/rounds/1/label/{own.public_id}/").status_code == 200
    assert not Annotation.objects.filter(assignment=own).exists()
