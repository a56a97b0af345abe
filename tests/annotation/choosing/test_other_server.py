"""A study goes to a server that has nothing: what leaves there again is what left here, histories included."""

import io
import json
import zipfile
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.db import connection

from accounts.models import User
from annotation.core.access import get_whole_study
from annotation.models import (
    Annotation,
    Assignment,
    Draft,
    Item,
    Meeting,
    MeetingResolution,
    Membership,
    PartMatch,
    Proposal,
    ProposalOutcome,
    Resolution,
    Sample,
    Spelling,
    Study,
)
from annotation.transfer.actions.study_import import bring_study
from annotation.transfer.queries import rows as study_rows
from annotation.transfer.study_file import FOLDER
from ingest.models import Activity, ClosingChange, Comment, Issue, Repository, Snapshot, SnapshotComment
from ingest.records import CommentRecord, content_digest
from taxonomy.models import Category, Dimension, Taxonomy, TaxonomyVersion
from taxonomy.queries import forget_trees
from tests import builders as make
from tests import prepared
from tests.annotation import permission_study
from tests.annotation.transfer.test_study_export import audit_of, files_of, written
from tests.config.other_databases import empty_database, working_on

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.timeout(300)]

PLACED: dict[Any, str] = {Issue: "issues", Snapshot: "snapshots", Repository: "repositories"}
"""Tables that are no tables of the study, and whose rows come in the same order."""
OF_ISSUES = {
    "issues": {"repository_id": Repository, "current_snapshot_id": Snapshot},
    "snapshots": {"issue_id": Issue},
    "closingchanges": {"issue_id": Issue},
    "activities": {"issue_id": Issue},
}


def everything() -> Study:
    """A study with rows in every table that travels."""
    study = permission_study.make_permission_study()
    olga, item = make.user("olga"), Item.objects.filter(study=study, issue__number=5).get()
    make.new_state(5, [(1, "ghost", "It hangs here, too."), (2, "mona", "Since 2.1.")])
    ClosingChange.objects.create(
        issue=item.issue, kind="commit", identifier="acme/rocket@1f", title="Wait less", paths=["a.py"], additions=3
    )
    event = {"kind": "closed", "at": "2024-05-01T10:00:00Z", "actor": "mona", "detail": "completed"}
    Activity.objects.create(issue=item.issue, told={"events": [event], "reactions": {"+1": 2}, "type": "Bug"})
    waiting = Assignment.objects.filter(round__study=study, state__in=Assignment.UNFINISHED).order_by("pk")[0]
    Draft.objects.create(assignment=waiting, body={"memo": "not sure"})
    PartMatch.objects.create(annotation=Annotation.objects.order_by("pk")[0], part=1, agreed_part=2)
    Spelling.objects.create(
        study=study, dimension_key="symptom", spelling="crahs", category_key="crash", decided_by=olga
    )
    ProposalOutcome.objects.create(
        proposal=Proposal.objects.order_by("pk")[0], outcome="declined", reason="It is a hang.", decided_by=olga
    )
    resolved = Resolution.objects.filter(round__study=study).order_by("pk")[0]
    meeting = Meeting.objects.create(
        round=resolved.round, held_on="2026-11-20", participants=["R1", "Ada"], stated_by=olga
    )
    MeetingResolution.objects.create(meeting=meeting, resolution=resolved)
    true_hashes()
    return study


def true_hashes() -> None:
    """Gives what the builders made the hashes that its content has, as anything that comes from GitHub has them."""
    with connection.cursor() as cursor:
        cursor.execute("SET session_replication_role = replica")  # what was fetched is never changed
        for comment in Comment.objects.all():
            record = CommentRecord(
                comment.author_login, comment.author_id, comment.body, comment.created_at, comment.github_id
            )
            Comment.objects.filter(pk=comment.pk).update(sha256=record.sha256)
        for each in Snapshot.objects.all():
            thread = SnapshotComment.objects.filter(snapshot=each).order_by("position")
            comments = list(thread.values_list("comment__sha256", flat=True))
            digest = content_digest(
                title=each.title,
                body=each.body,
                state=each.state,
                state_reason=each.state_reason,
                github_labels=each.github_labels,
                author=each.author_id or each.author_login,
                comments=comments if each.comments_known else None,
            )
            Snapshot.objects.filter(pk=each.pk).update(sha256=digest)
        cursor.execute("SET session_replication_role = DEFAULT")


def rows_of(file: bytes) -> dict[str, list[dict[str, Any]]]:
    """The rows of a study's file without what a server alone knows: ids stand for places, names and keys."""
    with zipfile.ZipFile(io.BytesIO(file)) as archive:
        found = {
            name.removeprefix(f"{FOLDER}/").removesuffix(".jsonl"): [json.loads(line) for line in archive.open(name)]
            for name in archive.namelist()
            if name.startswith(FOLDER)
        }
    words: dict[Any, dict[int, Any]] = {
        User: {row["id"]: row["elsewhere"] or row["username"] for row in found["people"]},
        Taxonomy: {row["id"]: row["slug"] for row in found["taxonomy"]},
        Study: {found["study"][0]["id"]: "study"},
    }
    for model, name, above, told in (
        (TaxonomyVersion, "taxonomyversion", Taxonomy, ("taxonomy_id", "number")),
        (Dimension, "dimension", TaxonomyVersion, ("version_id", "key")),
        (Category, "category", Dimension, ("dimension_id", "key")),
    ):
        words[model] = {row["id"]: (words[above][row[told[0]]], row[told[1]]) for row in found[name]}
    tables = {**{table.model: table.name for table in study_rows.study_tables()}, **PLACED}
    words |= {model: {row["id"]: at for at, row in enumerate(found[name])} for model, name in tables.items()}

    words[Comment] = {row["id"]: row["sha256"] for row in found["comments"]}  # they are stored by their hash
    references = {table.name: foreign_keys(table.model) for table in study_rows.study_tables()}
    references |= OF_ISSUES | {"study": foreign_keys(Study)}
    for name, columns in references.items():
        for row in found[name]:
            row |= {column: row[column] and words[to][row[column]] for column, to in columns.items() if column in row}
    for row in found["sample"]:
        row["frame"] = [words[Snapshot][pk] for pk in row["frame"]]
    for row in found["snapshots"]:
        row["thread"] = [words[Comment][pk] for pk in row["thread"]]
    for row in found["plan"]:
        row["stand_ins"] = [words[Membership][pk] for pk in row["stand_ins"]]
    for row in found["auditevent"]:
        if isinstance(row["detail"].get("sample"), int):
            row["detail"]["sample"] = words[Sample][row["detail"]["sample"]]
    for row in found["taxonomyversion"]:
        at = ("created_by_id", "published_by_id", "edited_by_id")
        row |= {column: row[column] and words[User][row[column]] for column in at}
        row |= {
            "parent_id": words[TaxonomyVersion].get(row["parent_id"]),
            "taxonomy_id": words[Taxonomy][row["taxonomy_id"]],
        }
    for row in found["taxonomy"]:
        row["created_by_id"] = words[User][row["created_by_id"]]
    for rows in found.values():
        for row in rows:
            row.pop("id", None)
    for name, model in (("dimension", Dimension), ("category", Category)):
        found[name] = [{"is": each} for each in sorted(words[model].values())]
    found["comments"].sort(key=lambda row: row["sha256"])
    found["taxonomy"].sort(key=lambda row: row["slug"])
    found["taxonomyversion"].sort(key=lambda row: (row["taxonomy_id"], row["number"]))
    return found


def foreign_keys(model: Any) -> dict[str, Any]:
    return {each.column: each.related_model for each in study_rows.columns_of(model) if each.is_relation}


def without_those_who_sign_in(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Members as another server has them: under the name that they had, until an owner says who is who."""
    return [
        {
            **row,
            "user_id": None,
            "formerly_id": row["formerly_id"] or row["user_id"],
            "name": row["name"] or row["user_id"],
        }
        for row in rows
    ]


@pytest.mark.slow
def test_what_leaves_another_server_is_what_left_here_row_by_row(tmp_path: Path) -> None:
    study = everything()
    before, audit = files_of(study), audit_of(study)
    file = written(get_whole_study("study"), "study")
    n_issues = Issue.objects.filter(pk__in=Item.objects.filter(study=study).values("issue")).count()
    with empty_database(template=prepared.template()) as database, working_on(database, tmp_path / "there"):
        call_command("migrate", verbosity=0)
        assert not User.objects.exists() and not Issue.objects.exists()
        forget_trees()
        stored, _ = bring_study(user=make.user("nina"), file=io.BytesIO(file))
        assert stored.n_new_issues >= n_issues and stored.taxonomies[0]["is_new"]
        again = written(get_whole_study("study"), "study")
        after, audit_there = files_of(stored.study), audit_of(stored.study)
    forget_trees()
    for name in before:
        assert after[name] == before[name], name
    assert audit_there[: len(audit)] == audit and [each[1] for each in audit_there[len(audit) :]] == ["study imported"]
    here, there = rows_of(file), rows_of(again)
    assert set(here) == set(there) and all(here.values()), "a table without a row tells nothing"
    assert [each["verb"] for each in there["auditevent"][len(here["auditevent"]) :]] == ["study imported"]
    there["auditevent"].pop()
    (owner,) = there["membership"][len(here["membership"]) :]
    assert (owner["user_id"], owner["roles"]) == ("nina", ["owner"])
    there["membership"].pop()
    here["membership"] = without_those_who_sign_in(here["membership"])
    for row in here["export"]:
        row |= {"state": "removed", "file": ""}  # files stay where they were made
    people = {row["username"] for row in here["people"]}
    assert people | {"nina"} == {row["elsewhere"] or row["username"] for row in there["people"]}
    del here["people"], there["people"]
    for row in [*here["roundrater"], *there["roundrater"]]:
        del row["revision"]  # a number for caches, which the database gives anew
    differences = [
        f"{name}: {[(column, row[column], other.get(column)) for column in row if row[column] != other.get(column)]}"
        for name in here
        for row, other in zip(here[name], there[name], strict=True)
        if row != other
    ]
    assert not differences, "\n".join(differences)
