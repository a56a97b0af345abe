"""Rows of an older release are there after the migrations, with all that was added since."""

from typing import Any

import pytest
from django.db import connection
from django.db.migrations.executor import MigrationExecutor
from django.utils import timezone

from annotation.models import Item, Study
from ingest import indexing
from ingest.models import Issue, SearchEntry
from taxonomy.models import TaxonomyVersion
from tests import builders as make

BEFORE = [("ingest", "0002_rules"), ("annotation", "0002_rules"), ("taxonomy", "0002_rules")]


def migrate(targets: list[tuple[str, str]]) -> Any:
    executor = MigrationExecutor(connection)
    executor.migrate(targets)
    return executor.loader.project_state(targets).apps


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
        old.get_model("annotation", "Item").objects.create(study=study, identifier="o/r#1", issue_id=issue.pk)
    finally:
        migrate(newest)
    version = TaxonomyVersion.objects.get()
    assert (version.retired_at, version.revision) == (version.published_at, 1)
    assert Item.objects.get().snapshot_id == snapshot.pk
    assert Study.objects.get().pseudonym_key
    assert indexing.index() == 1
    assert SearchEntry.objects.get().issue_id == Issue.objects.get().pk
