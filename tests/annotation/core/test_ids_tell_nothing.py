"""The numbers of rows that answers make leave nowhere: no page, answer, cursor, file or address has one."""

import base64
import inspect
import io
import itertools
import json
import re
import zipfile
from collections import Counter
from collections.abc import Iterator
from typing import Any
from urllib.parse import parse_qs, urlsplit
from uuid import UUID

import pytest
from django.apps import apps
from django.db import connection, transaction
from django.test import Client

from annotation.exports import jobs as export_jobs
from annotation.exports.actions import request_export
from annotation.models import (
    Analysis,
    Annotation,
    Arrival,
    Assignment,
    Deletion,
    Export,
    InboxLine,
    Invitation,
    InvitationUse,
    Item,
    Membership,
    Plan,
    Proposal,
    ProposalOutcome,
    ReaderLink,
    Remark,
    Resolution,
    Round,
    Sample,
    Spelling,
    Study,
    Workbook,
)
from annotation.models.public import Public
from taxonomy.models import Category, Dimension, TaxonomyVersion
from tests import builders as make
from tests.annotation import permission_study
from tests.annotation.permission_study import Visitor, words_of
from tests.scripts import Script

pytestmark = [pytest.mark.django_db, pytest.mark.timeout(900)]

OF_THE_OWNER = (
    Study, Membership, ReaderLink, Invitation, InvitationUse, Sample, Item, Round, Plan, Workbook, Spelling, Analysis,
    Arrival, Deletion,
)  # fmt: skip
"""Rows that an owner makes by hand: no answer, rule or remark adds one, so their numbers tell nothing of labels."""
MODELS = [each for each in apps.get_app_config("annotation").get_models() if each not in OF_THE_OWNER]
MODELS += [TaxonomyVersion, Dimension, Category]  # an accepted proposal adds them
FIRST = {model: 770_000_001 + 100_000 * place for place, model in enumerate(MODELS, start=1)}
NUMBER = re.compile(r"(?<![0-9a-zA-Z.])77\d{2}0\d{4}(?![0-9a-zA-Z])")
"""Where rows are counted from here, so that their numbers are found wherever they stand."""
PUBLIC: list[Any] = [model for model in MODELS if issubclass(model, Public)]
OWNERS = ("api_plans", "api_plan", "api_samples", "api_sample", "api_invitations")
"""Where the IDs of rows that an owner makes by hand are numbers."""
MOST_PATHS = 3
"""So many paths are asked of each address: what stands in an answer does not depend on the round."""


@pytest.fixture(scope="module")
def study(django_db_setup: None, django_db_blocker: Any) -> Iterator[Study]:
    """The permission study, with numbers of rows that are like no other number in it."""
    with django_db_blocker.unblock(), transaction.atomic():
        with connection.cursor() as cursor:
            for model, first in FIRST.items():
                place = [model._meta.db_table]
                cursor.execute("SELECT nextval(pg_get_serial_sequence(%s, 'id'))", place)
                before = cursor.fetchone()[0]
                cursor.execute("SELECT setval(pg_get_serial_sequence(%s, 'id'), %s)", [*place, max(first, before)])
        yield inspect.unwrap(permission_study.make_permission_study)()
        transaction.set_rollback(True)


def ids_in(answer: object) -> Iterator[str]:
    """What fields called `id` hold, wherever they stand in an answer."""
    if isinstance(answer, dict):
        for name, value in answer.items():
            if name == "id" and value is not None:
                yield str(value)
            yield from ids_in(value)
    elif isinstance(answer, list):
        for each in answer:
            yield from ids_in(each)


def is_uuid(given: str) -> bool:
    try:
        return str(UUID(given)) == given
    except ValueError:
        return False


def near_each_other(ids: list[str]) -> bool:
    """Whether two ids could be two numbers, or two times, of one count: random ones are so near once in millions."""
    numbers = sorted(UUID(each).int for each in ids)
    return any(later - earlier < 2**100 for earlier, later in itertools.pairwise(numbers))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "most"),
    [("ada", 1), ("dan", 1), *(pytest.param(name, MOST_PATHS, marks=pytest.mark.soak) for name in ("ada", "dan"))],
)
def test_no_address_of_a_study_answers_with_such_a_number(study: Study, name: str, most: int) -> None:
    visitor, found, n_asked, n_ids = Visitor(name), [], Counter[str](), 0
    for address, base, path in permission_study.table():
        n_asked[address] += 1
        if n_asked[address] > most:
            continue
        answer = visitor.get(base, path)
        found += [f"{base}{path}: {each}" for each in NUMBER.findall(words_of(answer))]
        if (
            base == permission_study.BASE
            and answer.headers.get("Content-Type") == "application/json"
            and address not in OWNERS
        ):
            ids = list(ids_in(answer.json()))
            n_ids += len(ids)
            found += [f"{base}{path}: {each} is no UUID" for each in ids if not is_uuid(each)]
    assert not found
    assert n_ids >= (10 if name == "ada" else 3 if most == MOST_PATHS else 1)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["ada", "dan", "zoe"])
def test_no_number_can_be_read_in_a_cursor(study: Study, name: str) -> None:
    visitor, seen = Visitor(name), set()
    lists = {
        address: path for address, base, path in reversed([*permission_study.table()]) if base == permission_study.BASE
    }
    for address, path in lists.items():
        path = "".join((path, "&" if "?" in path else "?", "page_size=1"))
        answer = visitor.get(permission_study.BASE, path)
        is_list = answer.headers.get("Content-Type") == "application/json" and answer.status_code == 200
        shown = answer.json() if is_list else {}
        following = isinstance(shown, dict) and shown.get("next")
        if isinstance(following, str) and "cursor=" in following:
            seen.add(address)
            [cursor] = parse_qs(urlsplit(following).query)["cursor"]
            signed = cursor.partition(":")[0]
            padded = signed + "=" * (-len(signed) % 4)
            plain = cursor if is_uuid(cursor) else base64.urlsafe_b64decode(padded).decode()
            assert not any(map(str.isdecimal, re.findall(r'[^\[\], "]+', plain))), (path, plain)
            more = visitor.get("", urlsplit(following).path + "?" + urlsplit(following).query)
            assert more.status_code == 200 and more.json()["results"] != shown["results"], path
    assert {"api_proposals", "api_remarks", "api_labels"} <= seen if name == "ada" else seen, seen


def test_a_cursor_that_someone_made_is_refused(study: Study) -> None:
    """By trying numbers people could find those of their own rows, and how many rows came between two of them."""
    ada = Script("ada")
    number = Proposal.objects.filter(round__study=study).latest("pk").pk
    for cursor in ([str(number)], [number], [str(number - 1)], ["x"]):
        plain = base64.urlsafe_b64encode(json.dumps(cursor).encode()).decode().rstrip("=")
        for path in ("proposals/?state=all&", "remarks/?", "resolutions/?"):
            for made in (plain, f"{plain}:{'a' * 43}"):
                answer = ada.send("GET", f"studies/{study.slug}/{path}cursor={made}")
                assert (answer.status_code, answer.json()["code"]) == (400, "bad_cursor"), path


def test_a_cursor_of_one_study_is_refused_in_another(study: Study) -> None:
    other = make.study("newest", text=make.SYMPTOMS.replace("slug: symptoms", "slug: newest"), owner="otto")
    ada = Script("ada")
    for path in ("proposals/?state=all&", "remarks/?", "resolutions/?"):
        following = ada.send("GET", f"studies/{study.slug}/{path}page_size=1").json()["next"]
        [cursor] = parse_qs(urlsplit(following).query)["cursor"]
        assert ada.send("GET", f"studies/{study.slug}/{path}cursor={cursor}").status_code == 200, path
        answer = ada.send("GET", f"studies/{other.slug}/{path}cursor={cursor}")
        assert (answer.status_code, answer.json()["code"]) == (400, "bad_cursor"), path


def test_an_address_of_a_further_page_holds_no_number(study: Study) -> None:
    ada = make.member(study, "ada")
    line = {"member": ada, "kind": InboxLine.Kind.GIVEN, "round": study.rounds.get(number=2), "n_items": 1}
    InboxLine.objects.bulk_create(InboxLine(**line) for _ in range(60))
    visitor, seen = Visitor("ada"), []
    path = "inbox/"
    for name in ("after", "before"):
        seen += re.findall(rf'href="/inbox/\?{name}=([^"]+)"', words_of(visitor.get("/", path)))
        path = f"inbox/?{name}={seen[-1]}"
    assert len(seen) == 2 and all(map(is_uuid, seen))
    former = f"inbox/?after={InboxLine.objects.latest('pk').pk - 20}"
    shown = [re.findall(r"/inbox/([^/?\"]+)/", words_of(visitor.get("/", each))) for each in ("inbox/", path, former)]
    assert len(set(shown[0])) > 45 and shown[0] == shown[1] == shown[2]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("what", "format"),
    [("study", None), ("package", None), ("ratings", "csv"), ("resolutions", "jsonl"), ("evidence", "csv")],
)
def test_no_file_holds_such_a_number(study: Study, what: str, format: str | None) -> None:
    export = request_export(seat=make.seat(study, "ida"), what=what, format=format, send=False)
    export_jobs.work(export.pk)
    export.refresh_from_db()
    assert export.state == Export.State.DONE, export.error
    with export.file.open("rb") as file:
        content = file.read()
    names = {"": content}
    if zipfile.is_zipfile(io.BytesIO(content)):
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            names = {name: archive.read(name) for name in archive.namelist()}
    texts = {name: text.decode("utf-8", "replace") for name, text in names.items()}
    assert not {name: each[:5] for name, text in texts.items() if (each := NUMBER.findall(text))}
    public = [each.public_id for model in PUBLIC for each in model.objects.all()]
    assert len(public) > 60
    assert not [each for each in public if any(each in text for text in texts.values())]
    if what == "study":
        rows = names["tables/assignment.jsonl"].splitlines()
        assert b'"id":1,' in rows[0] and len(rows) > 9
        assert b"request_digest" not in names["tables/annotation.jsonl"]


def test_ids_of_a_pool_do_not_tell_how_many_assignments_were_made_in_between() -> None:
    """A third rater's assignment is one more; from the gap someone could tell that the other one differed."""
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
    assert all(map(is_uuid, seen)) and not near_each_other(seen)


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


def test_numbers_of_proposals_lines_remarks_and_resolutions_are_no_ids_at_any_door() -> None:
    study = make.study("differing", text=make.SYMPTOMS.replace("slug: symptoms", "slug: differing"))
    round_ = make.open_round(study, 2)
    make.rate(round_, "item bob carol\n1 crash hang")
    proposed = {"symptom": {"name": "New", "memo": "none fits"}}
    make.submit(round_, "bob", 2, {}, proposals=proposed)
    make.submit(round_, "carol", 2, {"symptom": ["crash"]})
    ada, olga, carol, browser = Script("ada"), Script("olga"), Script("carol"), Client()
    proposal = Proposal.objects.get(round=round_)
    assert olga.send("GET", f"studies/differing/proposals/{proposal.pk}/").status_code == 404
    assert olga.send("GET", f"studies/differing/proposals/{proposal.public_id}/").json()["id"] == proposal.public_id
    settled = olga.send("POST", f"studies/differing/proposals/{proposal.public_id}/", {"map_to": "hang"}).json()
    again, outcome = {"decline": "No."}, ProposalOutcome.objects.get(proposal=proposal)
    for seen, status in ((str(outcome.pk), 409), (settled["outcome"]["id"], 200)):
        body = {**again, "expected": [seen]}
        assert olga.send("POST", f"studies/differing/proposals/{proposal.public_id}/", body).status_code == status
    body = {"item": "acme/rocket#1", "round": 1}
    said = ada.send("POST", "studies/differing/remarks/", {**body, "text": "@carol look"}).json()
    assert Remark.number_of(said["id"]) == Remark.objects.get(round=round_).pk
    line = InboxLine.objects.get(kind="mention", round=round_)
    for named, n in ((str(line.pk), None), (line.public_id, 1)):
        answer = carol.send("POST", "inbox/read/", {"ids": [named]})
        assert (answer.status_code, answer.json().get("n_read")) == (200 if n else 422, n)
    browser.force_login(make.user("carol"))
    assert browser.get(f"/inbox/{line.pk}/").status_code == 404
    assert said["id"] in browser.get(f"/inbox/{line.public_id}/")["Location"]
    decided = {**body, "dimension": "symptom", "values": ["crash"]}
    first = ada.send("POST", "studies/differing/resolutions/", {**decided, "expected": None}).json()
    number = Resolution.number_of(first["id"])
    shown = ada.send("GET", "studies/differing/disagreements/?state=all&round=1").json()["results"][0]
    assert shown["resolution"]["id"] == first["id"]
    for seen, status in ((str(number), 409), (number, 409), (first["id"], 201)):
        answer = ada.send("POST", "studies/differing/resolutions/", {**decided, "expected": seen})
        assert answer.status_code == status
        assert status == 201 or answer.json()["resolution"]["id"] == first["id"]


def test_ids_of_ones_own_proposals_do_not_tell_whether_others_proposed_in_between() -> None:
    study = make.study("proposing", text=make.SYMPTOMS.replace("slug: symptoms", "slug: proposing"))
    round_ = make.open_round(study, 6)
    for number, others in enumerate((0, 1, 0, 1, 1, 0), start=1):
        for name in ("bob", "carol")[: 1 + others]:
            make.submit(round_, name, number, {}, proposals={"symptom": {"name": "New", "memo": "none fits"}})
    shown = Script("bob").send("GET", "studies/proposing/proposals/").json()["results"]
    assert [each["item"].rpartition("#")[2] for each in shown] == list("123456")
    ids = [each["id"] for each in shown]
    assert all(map(is_uuid, ids)) and not near_each_other(ids)
