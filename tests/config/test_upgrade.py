"""Rows of an older release are there after the migrations, with all that was added since."""

from typing import Any

import pytest
from django.db import connection
from django.db.migrations.executor import MigrationExecutor
from django.utils import timezone

from annotation.actions.rounds import finish_if_done
from annotation.models import Evidence, Item, Proposal, Round, Study
from annotation.queries.verdicts import round_verdicts
from ingest import indexing
from ingest.models import Issue, SearchEntry
from taxonomy.models import TaxonomyVersion
from tests import builders as make

BEFORE = [("ingest", "0002_rules"), ("annotation", "0002_rules"), ("taxonomy", "0002_rules")]


def migrate(targets: list[tuple[str, str]]) -> Any:
    executor = MigrationExecutor(connection)
    executor.migrate(targets)
    return executor.loader.project_state(targets).apps


def propose(old: Any, study: Any, item: Any) -> None:
    """A rater's answer in two parts; the second asks for a category."""

    def new(app: str, model: str, **values: Any) -> Any:
        return old.get_model(app, model).objects.create(**values)

    version = old.get_model("taxonomy", "TaxonomyVersion").objects.create(
        taxonomy_id=study.taxonomy_id, number=2, title="T", state="draft"
    )
    dimension = new("taxonomy", "Dimension", version=version, key="symptom", title="Symptom", kind="single", position=0)
    type(version).objects.filter(pk=version.pk).update(state="published", published_at=timezone.now())
    round_ = new(
        "annotation", "Round", study=study, number=1, taxonomy_version=version, created_by_id=study.created_by_id
    )
    rater = new("annotation", "Membership", study=study, name="r1", roles=["rater"], code="R1")
    place = {"round": round_, "item": item, "rater": rater}
    assignment = new("annotation", "Assignment", slot=1, position=1, **place)
    machine = new("annotation", "Membership", study=study, name="m1", roles=["rater"], code="R2", kind="machine")
    new("annotation", "Assignment", round=round_, item=item, rater=machine, slot=2, position=1)
    new("annotation", "RoundItem", round=round_, item=item, position=1, n_raters=2)
    answer = {"n_parts": 2, "n_proposals": 1, "answers_digest": "0" * 64, "request_digest": "0" * 64}
    annotation = new("annotation", "Annotation", assignment=assignment, rater=rater, revision=1, **answer)
    proposal = new("annotation", "Proposal", annotation=annotation, dimension=dimension, name="Stall")
    new("annotation", "Rating", annotation=annotation, part=2, dimension=dimension, proposal=proposal, **place)
    now = {"blind_id": annotation.pk, "current_id": annotation.pk, "state": "submitted"}
    type(assignment).objects.filter(pk=assignment.pk).update(**now)
    type(round_).objects.filter(pk=round_.pk).update(state="open")


@pytest.mark.django_db(transaction=True)
def test_what_was_stored_by_an_older_release_is_whole_after_the_migrations() -> None:
    newest = [leaf for leaf in MigrationExecutor(connection).loader.graph.leaf_nodes() if leaf[0] in dict(BEFORE)]
    try:
        old = migrate(BEFORE)
        repository = old.get_model("ingest", "Repository").objects.create(owner="o", name="r")
        issue = old.get_model("ingest", "Issue").objects.create(repository=repository, number=1)
        snapshot = old.get_model("ingest", "Snapshot").objects.create(
            issue=issue, sha256="0" * 64, title="Hangs in all_reduce", fetched_at=timezone.now()
        )
        type(issue).objects.filter(pk=issue.pk).update(current_snapshot=snapshot)
        taxonomy = old.get_model("taxonomy", "Taxonomy").objects.create(slug="t", title="T")
        old.get_model("taxonomy", "TaxonomyVersion").objects.create(
            taxonomy=taxonomy, number=1, title="T", state="retired", published_at=timezone.now()
        )
        study = old.get_model("annotation", "Study").objects.create(
            slug="s", title="S", taxonomy=taxonomy, created_by_id=make.user("olga").pk
        )
        item = old.get_model("annotation", "Item").objects.create(study=study, identifier="o/r#1", issue_id=issue.pk)
        propose(old, study, item)
    finally:
        migrate(newest)
    version = TaxonomyVersion.objects.get(number=1)
    assert (version.retired_at, version.revision) == (version.published_at, 1)
    assert Item.objects.get().snapshot_id == snapshot.pk
    assert Study.objects.get().pseudonym_key
    proposal = Proposal.objects.get()
    assert (proposal.round.number, proposal.item.identifier, proposal.proposed_by.code) == (1, "o/r#1", "R1")
    assert proposal.part == 2
    assert not Evidence.objects.exists()
    round_ = Round.objects.get()
    assert [each.is_complete for each in round_verdicts(round_)] == [False]
    assert not finish_if_done(round_.pk)
    assert indexing.index() == 1
    assert SearchEntry.objects.get().issue_id == Issue.objects.get().pk
