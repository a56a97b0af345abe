"""A study leaves as one file, is deleted, and comes in again: identical, histories included."""

import hashlib
import io
import re
import zipfile
from typing import Any

import pytest
from django.db import transaction

from accounts.models import User
from annotation.core.access import Seat, get_seat, get_whole_study
from annotation.exports import jobs as export_jobs
from annotation.exports.actions import request_export
from annotation.exports.queries.kinds import read_export_request, write_file
from annotation.members.actions import members
from annotation.models import Analysis, AuditEvent, Deletion, Export, Proposal, Study
from annotation.proposals.actions import settle_proposals
from annotation.transfer import jobs as transfer_jobs
from annotation.transfer.actions.life import delete_study, export_of_present
from annotation.transfer.actions.study_import import bring_study
from annotation.transfer.queries import rows as study_rows
from taxonomy.actions import discard_draft, publish_version
from taxonomy.models import TaxonomyVersion
from tests import builders as make
from tests.annotation import permission_study
from tests.annotation.packages import unwatched
from tests.annotation.proposals.test_proposals import propose

pytestmark = [pytest.mark.django_db, pytest.mark.timeout(300)]
WHATS = ("labels", "ratings", "resolutions", "items", "issues", "agreement", "taxonomies")

NAME_SAMPLES = {"data/items.csv", "data/items.parquet", "sample/sample-n.json", "README.md", "datapackage.json"}
"""Files of a package that name samples by the numbers of their rows, or hold the hash of one that does."""


def written(seat: Seat, what: str, format: str | None = None, **options: Any) -> bytes:
    file = io.BytesIO()
    write_file(read_export_request(seat, what, format, options), seat, file, unwatched)
    return file.getvalue()


def files_of(study: Study) -> dict[str, bytes]:
    """What leaves a study, but for the numbers of rows that stand for samples; and its audit as far as it goes."""
    seat = get_whole_study(study.slug)
    found = {what: written(seat, what, "jsonl") for what in WHATS}
    found["items"] = re.sub(rb'"sample": \d+', b'"sample": n', found["items"])
    return found


def audit_of(study: Study) -> list[tuple[str, str, str, str]]:
    rows = AuditEvent.objects.filter(study=study).order_by("pk").select_related("user")
    return [
        (str(row.at), row.verb, repr({**row.detail, "sample": ""}), row.user.home_name if row.user else "")
        for row in rows
    ]


def unpacked(package: bytes) -> dict[str, bytes]:
    """The files of a replication package, but for the numbers of rows that stand for samples."""
    with zipfile.ZipFile(io.BytesIO(package)) as archive:
        found = {name: archive.read(name) for name in archive.namelist() if name != "CHECKSUMS.txt"}
    return {re.sub(r"sample-\d+", "sample-n", name): content for name, content in found.items()}


def exported_and_deleted(study: Study, name: str) -> tuple[io.BytesIO, Deletion]:
    """The study is exported whole and deleted by an owner, each with its job; its file, and what the register says."""
    seat = make.seat(study, name)
    made = request_export(seat=seat, what="study", send=False)
    export_jobs.work(made.pk)
    export = Export.objects.get(pk=made.pk)
    assert export.state == Export.State.DONE, export.error
    with export.file.open("rb") as file:
        kept = io.BytesIO(file.read())
    deletion = delete_study(seat=seat, typed=study.slug, send=False)
    transfer_jobs.work(deletion.pk)
    deletion.refresh_from_db()
    assert deletion.done_at and not Study.objects.filter(slug=study.slug).exists()
    assert not export.file.storage.exists(export.file.name)
    return kept, deletion


@pytest.mark.slow
def test_a_study_that_was_deleted_and_comes_back_says_the_same_in_every_file() -> None:
    study = permission_study.make_permission_study()
    before, n_rows, audit = files_of(study), study_rows.counts(study), audit_of(study)
    package = unpacked(written(get_whole_study("study"), "package"))
    kept, deletion = exported_and_deleted(study, "ida")
    assert deletion.sha256 == hashlib.sha256(kept.getvalue()).hexdigest()
    stored, _ = bring_study(user=make.user("olga"), file=kept)
    after = files_of(stored.study)
    for name in before:
        assert after[name] == before[name], name
    assert audit_of(stored.study)[: len(audit)] == audit
    assert study_rows.counts(stored.study) == n_rows | {
        "membership": n_rows["membership"] + 1,
        "auditevent": n_rows["auditevent"] + 2,
    }
    assert [each["is_new"] for each in stored.taxonomies] == [False, False] and stored.n_new_issues == 0
    again = unpacked(written(get_whole_study("study"), "package"))
    differ = {name for name in package if again[name] != package[name]}
    assert differ <= NAME_SAMPLES, differ
    assert get_seat(make.user("olga"), "study").has_role("owner")
    assert not User.objects.filter(is_active=True).exclude(elsewhere="").exists()
    exported_and_deleted(stored.study, "olga")
    assert not User.objects.exclude(elsewhere="").exists()


@pytest.mark.slow
def test_what_names_categories_of_a_draft_leaves_with_those_who_read_it_alone() -> None:
    study = make.study()
    olga, carl = make.user("olga"), make.user("carl")
    members.add_member(seat=make.owner_seat(study), username="carl", roles=["owner"])
    propose(make.open_round(study, 2), "bob", 1, "Lock trouble")
    (proposal,) = Proposal.objects.all()
    settle_proposals(seat=make.owner_seat(study), proposals=[proposal.public_id], accept={"name": "Deadlock"})
    in_draft = {"where": ["symptom:deadlock"], "version": ["2"]}
    for number, question in enumerate((in_draft, {"dimension": ["symptom"]}, {"version": ["1"]}), start=1):
        Analysis.objects.create(
            study=study, number=number, title=f"{number}", kind="counts", question=question, created_by=olga
        )

    def told(user: User) -> tuple[int, bool, int, bool]:
        export = request_export(seat=make.seat(study, user.username), what="study", format=None, send=False)
        export_jobs.work(export.pk)
        export.refresh_from_db()
        with export.file.open("rb") as file:
            tables = unpacked(file.read())
        n_answers, n_analyses = (
            tables[f"tables/{name}.jsonl"].count(b"\n") for name in ("proposaloutcome", "analysis")
        )
        assert export_of_present(study) == (export, "")
        audit, whole = tables["tables/auditevent.jsonl"], b"".join(tables.values())
        return n_answers, b"proposal accepted" in audit, n_analyses, b"eadlock" in whole

    draft = TaxonomyVersion.objects.get(state="draft")
    assert told(olga) == (1, True, 3, True)
    assert told(carl) == (0, False, 2, False)
    with transaction.atomic():
        discard_draft(user=olga, version=draft)
        assert told(olga) == (1, True, 3, True)
        assert told(carl) == (0, False, 2, False)
        transaction.set_rollback(True)
    publish_version(user=olga, version=TaxonomyVersion.objects.get(state="draft"))
    assert told(carl) == (1, True, 2, True)  # what was asked in terms of the draft stays with who read it
