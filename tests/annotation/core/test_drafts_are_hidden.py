"""What names a category of a draft: pages, answers of REST and files show it to those who read drafts alone."""

import inspect
import io
import re
import zipfile
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest
from django.db import transaction

from annotation.exports import jobs as export_jobs
from annotation.exports.actions import request_export
from annotation.models import Analysis, AuditEvent, Proposal, ProposalOutcome, Study
from taxonomy.actions import new_draft
from tests import builders as make
from tests.annotation import permission_study
from tests.annotation.permission_study import BASE, PAGES, SECOND, Visitor, words_of

pytestmark = [pytest.mark.django_db, pytest.mark.slow]
NAME = "xyzzydraft"
OF_DRAFT = [(f"analysis 9 of {base}", base, "studies/study/analysis/9/") for base in (PAGES, BASE)]


@pytest.fixture(scope="module")
def study(django_db_setup: None, django_db_blocker: Any) -> Iterator[Study]:
    """The permission study, in which all proposals became a category of a draft, and an analysis counts it."""
    with django_db_blocker.unblock(), transaction.atomic():
        made = inspect.unwrap(permission_study.make_permission_study)()
        olga = make.user("olga")
        new_draft(user=olga, taxonomy=made.taxonomy, text=f"{SECOND}      - {{key: {NAME}, name: {NAME.title()}}}\n")
        became = {"category_key": NAME, "category_name": NAME.title(), "version_number": 3, "decided_by": olga}
        for number, each in enumerate(Proposal.objects.order_by("pk")):
            outcome = ProposalOutcome.Outcome.MAPPED if number % 2 else ProposalOutcome.Outcome.ACCEPTED
            ProposalOutcome.objects.create(proposal=each, revision=9, outcome=outcome, **became)
            detail = {"round": each.round.number, "category": NAME, "version": 3}
            AuditEvent.objects.create(study=made, user=olga, verb=f"proposal {outcome}", detail=detail)
        asked = {"what": "table: counts", "format": "csv", "where": f"symptom:{NAME}"}
        for version in ("3", ["2", "3"]):
            detail = asked | {"version": version}
            AuditEvent.objects.create(study=made, user=olga, verb=AuditEvent.DOWNLOADED, detail=detail)
        question = {"where": [f"symptom:{NAME}"], "version": ["3"]}
        Analysis.objects.create(study=made, number=9, title="9", kind="counts", question=question, created_by=olga)
        yield made
        transaction.set_rollback(True)


@pytest.mark.parametrize("name", ["ida", "carol"])
def test_no_address_shows_a_category_of_a_draft(study: Study, name: str) -> None:
    visitor, n_asked = Visitor(name), Counter[str]()
    found = []
    for address, base, path in [*OF_DRAFT, *permission_study.table()]:
        n_asked[address] += 1
        if n_asked[address] == 1 and NAME in words_of(visitor.get(base, path)).lower():
            found.append(f"{base}{path}")
    assert not found and sum(n_asked.values()) > 200


def test_those_who_read_drafts_are_shown_it(study: Study) -> None:
    study.taxonomy.maintainers.add(make.user("ida"))
    ida = Visitor("ida")
    table = [row for row in (*OF_DRAFT, *permission_study.table()) if re.search("analysis/9|proposals|audit", row[2])]
    shown = [base + path for _, base, path in table if NAME in words_of(ida.get(base, path)).lower()]
    assert len(shown) > 4 and OF_DRAFT[0][1] + OF_DRAFT[0][2] in shown, shown


@pytest.mark.parametrize("what", ["study", "package", "labels", "ratings", "resolutions"])
def test_no_file_holds_a_category_of_a_draft(study: Study, what: str) -> None:
    export = request_export(seat=make.seat(study, "ida"), what=what, format=None, send=False)
    export_jobs.work(export.pk)
    export.refresh_from_db()
    with export.file.open("rb") as file:
        content = file.read()
    texts = [content]
    if zipfile.is_zipfile(io.BytesIO(content)):
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            texts = [archive.read(name) for name in archive.namelist()]
    assert not [each for each in texts if NAME.encode() in each.lower()]
