"""Original workbooks come in through the page as they are: Liu et al., TOSEM 2023, doi 10.1145/3597204."""

import json
import re
from collections.abc import Sequence
from dataclasses import replace
from html.parser import HTMLParser

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from annotation import jobs
from annotation.agreement_report.queries.across_rounds import AgreementQuery, visible_rounds
from annotation.agreement_report.queries.coefficients import agreement
from annotation.core.access import get_seat
from annotation.members.actions.members import add_member, set_member
from annotation.models import Membership, Study, Workbook
from tests import builders as make
from tests.published import LIU

pytestmark = pytest.mark.django_db

ORIGINAL = LIU / "original"
ROUNDS = [f"reliability_analysis_round{number}.xlsx" for number in range(1, 6)]


def visitor(name: str = "olga") -> Client:
    client = Client()
    client.force_login(make.user(name))
    return client


def sent(*names: str) -> list[SimpleUploadedFile]:
    return [SimpleUploadedFile(name, (ORIGINAL / name).read_bytes()) for name in names]


def upload(client: Client, files: Sequence[SimpleUploadedFile], address: str = "/studies/import/") -> str:
    """Uploads files; the address of the page that asks what they hold."""
    response = client.post(address, {"file": list(files)})
    assert response.status_code == 302, response.content.decode()
    return response["Location"]


def fields(client: Client, address: str) -> dict[str, str]:
    """What the form of the page would send as it stands."""
    found: dict[str, str] = {}

    class Reader(HTMLParser):
        select = ""

        def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
            given = dict(attrs)
            name = given.get("name") or ""
            if tag == "input" and name and name != "csrfmiddlewaretoken":
                if given.get("type") != "checkbox":
                    found[name] = given.get("value") or ""
                elif "checked" in given:
                    found[name] = "on"
            elif tag == "select":
                self.select = name
            elif tag == "option" and (self.select not in found or "selected" in given):
                found[self.select] = given.get("value") or ""

    page = client.get(address)
    assert page.status_code == 200
    Reader().feed(page.content.decode())
    return found


def imported(client: Client, address: str, **changed: str) -> Workbook:
    """Confirms the page as it stands but for what is changed, and runs the job."""
    response = client.post(address, fields(client, address) | changed | {"import": "1"})
    assert response.status_code == 302, re.sub(r"<[^>]+>", " ", response.content.decode())
    workbook = Workbook.objects.latest("pk")
    jobs.import_workbook(workbook.pk)
    workbook.refresh_from_db()
    return workbook


def kappas(slug: str, number: int, dimension: str) -> tuple[int, float | None]:
    seat = get_seat(make.user("olga"), slug)
    asked = replace(AgreementQuery.read({"dimension": dimension, "parts": "single"}), resamples=0)
    (entry,) = agreement(seat, visible_rounds(seat, number), asked, round_number=number)
    (value,) = [each["value"] for each in entry["coefficients"] if each["name"] == "cohen_kappa"]
    return entry["units"], value


@pytest.mark.slow
def test_five_original_workbooks_at_once_become_a_study_with_the_kappas_that_others_computed() -> None:
    client = visitor()
    address = upload(client, sent(*ROUNDS))
    workbook = imported(client, address, title="Liu", slug="liu")
    assert workbook.state == "done", workbook.error
    report = workbook.report or {}
    assert [(each["number"], each["n_items"]) for each in report["rounds"]] == [
        (1, 108),
        (2, 110),
        (3, 108),
        (4, 108),
        (5, 99),
    ]
    computed = json.loads((LIU / "computed.json").read_text())
    for number in range(1, 6):
        for key, name in (("issue-type", "issue_type"), ("stage", "fault.stage")):
            expected = computed[f"round_{number}"][name]
            assert kappas("liu", number, key) == (expected["n"], pytest.approx(expected["kappa"])), (number, name)


@pytest.mark.slow
def test_original_workbooks_one_after_another_are_the_next_rounds_of_one_study() -> None:
    client = visitor()
    first = imported(client, upload(client, sent(ROUNDS[0])), title="Liu", slug="liu")
    assert first.state == "done", first.error
    for name in ROUNDS[1:]:
        address = upload(client, sent(name), "/studies/liu/import/")
        asked = fields(client, address)
        new = {each: "new" for each in asked if each.startswith("as-")}
        found = imported(client, address, **new)
        assert found.state == "done", found.error
    study = Study.objects.get(slug="liu")
    assert list(study.rounds.order_by("number").values_list("number", flat=True)) == [1, 2, 3, 4, 5]
    assert set(Membership.objects.filter(study=study).exclude(code=None).values_list("name", flat=True)) == {
        "label1",
        "label2",
    }
    computed = json.loads((LIU / "computed.json").read_text())
    for number in range(1, 6):
        for key, name in (("issue-type", "issue_type"), ("stage", "fault.stage")):
            expected = computed[f"round_{number}"][name]
            assert kappas("liu", number, key) == (expected["n"], pytest.approx(expected["kappa"])), (number, name)


@pytest.mark.slow
def test_the_pilot_and_the_final_categories_come_in_with_their_shifted_rows_pointed_out() -> None:
    client = visitor()
    address = upload(client, sent("pilot_labelling.xlsx"))
    page = client.get(address).content.decode()
    assert "Row 558" in page and "shifted by one column to the right" in page
    shifts = {each: value for each, value in fields(client, address).items() if each.startswith("shift-")}
    rows = {each.replace("shift-", "row-"): value for each, value in shifts.items()}
    assert len(rows) > 25
    workbook = imported(client, address, slug="pilot", **rows)
    assert workbook.state == "done" and (workbook.report or {})["n_items"] == 537
    stages = Study.objects.get(slug="pilot").taxonomy.versions.get().dimensions.get(key="inner-symptom").categories
    assert not stages.filter(name__iexact="training & evaluation").exists()
    other = imported(client, upload(client, sent("final_categories.xlsx")), slug="final-labels")
    assert other.state == "done" and (other.report or {})["n_resolutions"] > 1000


def test_who_is_no_owner_any_more_when_the_worker_comes_imports_nothing() -> None:
    study, other = make.study(owner="olga"), make.user("oscar")
    add_member(seat=make.owner_seat(study), username=other.username, roles=["owner"])
    oscar = visitor("oscar")
    file = SimpleUploadedFile("answers.csv", b"item,rater,symptom\nacme/rocket#1,R1,Crash\nacme/rocket#1,R2,Hang\n")
    address = upload(oscar, [file], "/studies/study/import/")
    assert oscar.post(address, fields(oscar, address) | {"import": "1"}).status_code == 302
    set_member(seat=make.owner_seat(study), username="oscar", roles=["reader"])
    workbook = Workbook.objects.get()
    jobs.import_workbook(workbook.pk)
    workbook.refresh_from_db()
    assert workbook.state == "failed" and not study.rounds.exists()
