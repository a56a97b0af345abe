"""What counts as registered beforehand: only coefficients and thresholds that the owner confirmed before labeling."""

import io
from importlib import import_module
from typing import Any

import pytest
from django.core.management import call_command
from django.db import connection
from django.test import Client

from annotation.agreement_report.queries.coefficients import of_rounds
from annotation.core.access import get_whole_study
from annotation.core.errors import Conflict, Invalid
from annotation.methods import as_text, checklist_as_markdown
from annotation.methods.outline import paragraph
from annotation.methods.queries.methods import methods
from annotation.models import AuditEvent, Study
from annotation.rounds.actions import rounds
from annotation.studies.actions.studies import change_study, register_primary
from annotation.transfer.actions.life import duplicate_study
from tests import builders as make
from tests.annotation.core.test_api import Caller

pytestmark = pytest.mark.django_db

WITH_TEXT = """
slug: symptoms
title: Symptoms
dimensions:
  - key: symptom
    title: Symptom
    kind: single
    categories: [{key: crash, name: Crash}, {key: hang, name: Hang}]
  - key: cause
    title: Cause
    kind: text
"""
LABELS = "item bob carol\n1 crash crash\n2 hang hang\n3 crash hang"


def a_draft(study: Study) -> int:
    make.issues(3)
    numbers = [f"acme/rocket#{number}" for number in (1, 2, 3)]
    seat = make.owner_seat(study)
    return rounds.create_round(
        seat=seat, asked=rounds.NewRound(raters=["bob", "carol"], raters_per_item=2, issues=numbers)
    ).number


def opened(study: Study, **more: Any) -> Study:
    round_ = rounds.open_round(seat=make.owner_seat(study), number=a_draft(study), **more)
    make.rate(round_, LABELS)
    return study


def texts() -> tuple[str, str]:
    facts = methods(get_whole_study("study"))
    return as_text(paragraph(facts)), checklist_as_markdown(facts)


def signed_in(name: str) -> Client:
    client = Client()
    client.force_login(make.user(name))
    return client


def test_the_default_is_shown_and_never_counts_as_registered() -> None:
    study = opened(make.study(), unregistered=True)
    assert Caller("olga").get("studies/study/").json()["primary"] == {
        "symptom": {"coefficient": "krippendorff_alpha", "threshold": 0.8, "registered": False}
    }
    said, checks = texts()
    assert "with a threshold of 0.80 is reported, the default of the software; it was not registered" in said
    assert "before labeling began" not in said
    assert "No coefficient was registered beforehand. Default of the software: Symptom." in checks
    (line,) = of_rounds(make.owner_seat(study), list(study.rounds.all()))
    assert (line.is_default, line.fixed_at, line.threshold) == (True, None, 0.8)
    page = signed_in("olga").get("/studies/study/agreement/").content.decode()
    assert "the default, not registered" in page
    with pytest.raises(Conflict):
        register_primary(seat=make.owner_seat(study))


@pytest.mark.parametrize("way", ["post", "patch", "form", "new form", "button"])
def test_each_way_to_confirm_registers(way: str) -> None:
    primary = {"symptom": {"coefficient": "krippendorff_alpha", "threshold": 0.8}}
    form = {"primary-symptom.coefficient": "krippendorff_alpha", "primary-symptom.threshold": "0.8"}
    client = signed_in("olga")
    if way == "new form":
        make.version()
        shown = client.get("/studies/new/?taxonomy=symptoms").content.decode()
        assert '<option value="krippendorff_alpha" selected>' in shown
        sent = {"title": "Study", "slug": "study", "taxonomy": "symptoms", "resolve_when": "round", **form}
        assert client.post("/studies/new/", sent).status_code == 302
    else:
        study = make.study(primary=primary if way == "post" else None)
        if way == "patch":
            change_study(seat=make.owner_seat(study), changes={"primary": primary})
        elif way == "form":
            sent = {"title": "Study", "resolve_when": "round", **form, "primary-symptom.reason": "It is usual."}
            assert client.post("/studies/study/settings/", sent).status_code == 302
        elif way == "button":
            number = a_draft(study)
            page = client.get(f"/studies/study/rounds/{number}/").content.decode()
            assert "Register now" in page and "Open anyway" in page
            assert client.post(f"/studies/study/rounds/{number}/open/", {"register": "1"}).status_code == 302
            assert "Open anyway" not in client.get(f"/studies/study/rounds/{number}/").content.decode()
            assert study.rounds.get().state == "draft"
            assert AuditEvent.objects.get(verb="coefficients registered").detail == {"dimensions": ["symptom"]}
    assert Caller("olga").get("studies/study/").json()["primary"]["symptom"]["registered"] is True


def test_what_was_registered_before_the_first_opening_is_said_so() -> None:
    opened(make.study(primary={"symptom": {"coefficient": "cohen_kappa", "threshold": 0.7}}))
    said, checks = texts()
    assert "For Symptom, Cohen’s κ with a threshold of 0.70 was registered on" in said
    assert ", before labeling began." in said
    assert "Registered before labeling began: Symptom on" in checks


def test_the_first_round_opens_only_with_registered_coefficients_or_on_purpose() -> None:
    study = make.study()
    number = a_draft(study)
    olga = Caller("olga")
    refused = olga.post(f"studies/study/rounds/{number}/open/")
    assert (refused.status_code, refused.json()["code"]) == (409, "unregistered")
    assert "Symptom" in refused.json()["message"]
    assert olga.post(f"studies/study/rounds/{number}/open/", {"unregistered": "yes"}).status_code == 422
    assert signed_in("olga").post(f"/studies/study/rounds/{number}/open/").status_code == 409
    assert olga.post(f"studies/study/rounds/{number}/open/", {"unregistered": True}).status_code == 200
    assert AuditEvent.objects.get(verb="round opened").detail["unregistered"] == ["symptom"]
    make.issues(1, first=9)
    later = rounds.create_round(
        seat=make.owner_seat(study), asked=rounds.NewRound(raters=["bob", "carol"], issues=["acme/rocket#9"])
    )
    assert olga.post(f"studies/study/rounds/{later.number}/open/").status_code == 200


def test_a_screening_round_opens_without_any_coefficient() -> None:
    study = make.study()
    make.issues(2)
    made = rounds.create_round(
        seat=make.owner_seat(study),
        asked=rounds.NewRound(kind="screening", raters=["bob"], raters_per_item=1, issues=["acme/rocket#1"]),
    )
    assert Caller("olga").post(f"studies/study/rounds/{made.number}/open/").status_code == 200


def test_text_has_no_coefficient_in_forms_paragraph_checklist_and_headline() -> None:
    study = make.study(text=WITH_TEXT)
    with pytest.raises(Invalid) as refused:
        change_study(seat=make.owner_seat(study), changes={"primary": {"cause": {"coefficient": "gwet_ac1"}}})
    assert "no agreement coefficient" in refused.value.fields["primary.cause"][0]
    register_primary(seat=make.owner_seat(study))
    assert list(Study.objects.get().primary) == ["symptom"]
    round_ = rounds.open_round(seat=make.owner_seat(study), number=a_draft(study))
    for name, number, label, cause in (("bob", 1, "crash", "a"), ("carol", 1, "hang", "b")):
        make.submit(round_, name, number, {"symptom": [label], "cause": cause})
    for name in ("bob", "carol"):
        for number in (2, 3):
            make.submit(round_, name, number, {"symptom": ["hang"], "cause": "c"})
    said, checks = texts()
    assert "Cause, a text" in said
    assert not [line for line in said.replace("\n", " ").split(". ") if "Cause" in line and "a text" not in line]
    assert "Cause: Krippendorff" not in checks
    seat = make.owner_seat(study)
    assert [each.dimension for each in of_rounds(seat, list(study.rounds.all()))] == ["symptom"]
    overview = signed_in("olga").get("/studies/study/").content.decode()
    assert "Krippendorff" in overview and "Cause" not in overview.partition('id="headline"')[2].partition("</table>")[0]


def test_text_has_no_coefficient_on_the_page_over_rest_and_in_the_shell() -> None:
    study = make.study(text=WITH_TEXT)
    round_ = make.open_round(study, 2)
    for name in ("bob", "carol"):
        for number in (1, 2):
            make.submit(round_, name, number, {"symptom": ["crash"], "cause": f"because {number}"})
    why = "Free text has no agreement coefficient, because nobody writes the same text twice."
    symptom, cause = Caller("olga").get("studies/study/agreement/").json()
    assert {each["value"] for each in symptom["coefficients"]} != {None} and symptom["by_rater"]
    assert {(each["value"], each["se"], each["ci_low"], each["undefined"]) for each in cause["coefficients"]} == {
        (None, None, None, why)
    }
    assert len(cause["coefficients"]) == 10 and cause["units"] == 2
    assert not any(cause[name] for name in ("by_category", "by_pair", "by_rater", "intra_rater", "warnings"))
    page = signed_in("olga").get("/studies/study/agreement/").content.decode()
    of_text = page.partition('id="cause"')[2].partition("</details>")[0]
    assert why in of_text and "All coefficients" not in of_text and "Rater pairs" not in of_text
    out = io.StringIO()
    call_command("agreement", "study", "--dimension", "cause", stdout=out)
    assert out.getvalue().splitlines() == [
        "cause: round 1 (the headline), before discussion, 2 units by 2 raters, 0 excluded",
        f"    {why}",
    ]


def test_a_copy_of_a_study_is_not_registered_by_being_copied() -> None:
    study = make.study(primary={"symptom": {"coefficient": "cohen_kappa", "threshold": 0.7}})
    copy = duplicate_study(seat=make.owner_seat(study), slug="copy")
    assert copy.primary == {"symptom": {"coefficient": "cohen_kappa", "threshold": 0.7}}
    answer = Caller("olga").get("studies/copy/").json()["primary"]["symptom"]
    assert (answer["coefficient"], answer["registered"]) == ("cohen_kappa", False)


def test_of_stored_studies_only_what_the_audit_log_proves_stays_registered() -> None:
    primary = {"symptom": {"coefficient": "cohen_kappa", "threshold": 0.7}}
    proved, changed, without = (
        make.study(slug, primary=primary, text=make.SYMPTOMS.replace("slug: symptoms", f"slug: {slug}"))
        for slug in ("proved", "changed", "without")
    )
    change_study(seat=make.owner_seat(changed), changes={"primary": primary})
    copy = duplicate_study(seat=make.owner_seat(proved), slug="copy")
    forged = {"symptom": {**primary["symptom"], "fixed_at": "2020-01-01T00:00:00+00:00"}}
    now = Study.objects.get(slug="proved").primary
    Study.objects.filter(pk=without.pk).update(primary=forged)
    Study.objects.filter(pk=copy.pk).update(primary=now)  # as older versions copied
    with connection.cursor() as cursor:
        cursor.execute(import_module("annotation.migrations.0024_registered_by_proof").WITHOUT_PROOF)
    kept = {study.slug: "fixed_at" in study.primary["symptom"] for study in Study.objects.all()}
    assert kept == {"proved": True, "changed": True, "without": False, "copy": False}
