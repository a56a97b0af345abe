"""Study files that were changed by hand: nothing that another door refuses comes in by one."""

import io
import json
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.db import DatabaseError, connection, transaction
from django.test import Client
from django.utils import timezone

from annotation.assignments.queries import rounds_to_rate_blind
from annotation.core.errors import ConcordError
from annotation.exports.actions import request_export
from annotation.exports.jobs import EXPORTS
from annotation.imports.actions.ratings import import_ratings
from annotation.models import Assignment, Export, Membership, Round, RoundItem, RoundRater, Study
from annotation.resolving.actions.third_rater_requests import ask_third_rater
from annotation.transfer import study_file
from annotation.transfer.actions import row_checks, study_import
from annotation.transfer.queries import rows as study_rows
from ingest.models import Activity, ClosingChange, Issue, Repository, SearchText, Unsearchable
from ingest.records import content_digest
from ingest.search import indexing
from shared.errors import TooMany
from shared.rate_limits import UNAVAILABLE_IDS, require_tries, require_tries_left
from taxonomy.models import Taxonomy
from tests import builders as make
from tests.annotation.choosing.test_screening import REASONS, screening
from tests.annotation.transfer.test_study_import import brought, changed, small
from tests.scripts import Script

pytestmark = pytest.mark.django_db

FAR = "20000-01-01T00:00:00+00:00"
HIDDEN = "Ada\u202e"
FORGED: list[tuple[str, dict[str, Any]]] = [
    ("membership", {"roles": []}),
    ("membership", {"formerly_id": True}),
    ("membership", {"user_id": 2**63}),
    ("taxonomy", {"slug": "bad slug/x"}),
    ("taxonomy", {"title": HIDDEN}),
    ("taxonomyversion", {"published_at": FAR}),
    ("people", {"first_name": HIDDEN}),
    ("people", {"username": " ", "first_name": "Vic"}),
    ("membership", {"code": HIDDEN}),
    ("membership", {"roles": ["king"]}),
    ("repositories", {"host": "h/h"}),
    ("repositories", {"owner": "ow/ner"}),
    ("repositories", {"name": ".."}),
    ("issues", {"updated_at": FAR}),
    ("issues", {"added_at": "infinity"}),
    ("snapshots", {"fetched_at": "0900-01-01T00:00:00Z"}),
    ("snapshots", {"comments_known": "false"}),
    ("snapshots", {"created_at": "2024-01-01T00:00:30.1234567+00:00"}),
    ("snapshots", {"created_at": "2024-01-01T00:00:30"}),
    ("study", {"created_at": FAR}),
    ("study", {"primary": {"symptom": 5}}),
    ("study", {"primary": {"symptom": {"coefficient": "nope"}}}),
    ("study", {"primary": {"symptom": {"coefficient": "cohen_kappa", "threshold": 0.8, "fixed_at": 5}}}),
    ("study", {"primary": {"symptom": {"coefficient": "cohen_kappa", "fixed_at": "0001-01-01T00:00:00+23:59"}}}),
    ("study", {"primary": {"symptom": {"coefficient": "cohen_kappa", "fixed_at": "2026-1-1 0:00Z"}}}),
    ("study", {"primary": {"elsewhere": {"coefficient": "cohen_kappa"}}}),
    ("round", {"opened_at": FAR}),
    ("round", {"due_on": "9999-12-31"}),
    ("round", {"gate": {"x": 1}}),
    ("round", {"label": HIDDEN}),
    ("round", {"kind": "screening"}),
    ("roundrater", {"admission": {"how": "reached", "at": 5}}),
    ("membership", {"code": None}),
    ("rounditem", {"asked": {"a": 1}}),
    ("item", {"attributes": [1]}),
    ("item", {"identifier": HIDDEN}),
    ("annotation", {"part_memos": [None]}),
    ("annotation", {"n_parts": 32_767}),
    ("annotation", {"confidence": 9}),
    ("rating", {"part": 51}),
    ("auditevent", {"at": FAR}),
    ("auditevent", {"detail": []}),
]


def forged(table: str, **columns: Any) -> Callable[[dict[str, bytes]], None]:
    """Changes columns of every row of a table."""

    def change(entries: dict[str, bytes]) -> None:
        rows = [json.loads(line) for line in entries[study_file.path_of(table)].splitlines()]
        assert rows, f"the file has no rows of {table}"
        entries[study_file.path_of(table)] = b"".join(json.dumps(row | columns).encode() + b"\n" for row in rows)

    return change


def test_a_third_rater_from_outside_the_round_has_a_code() -> None:
    study = make.study(raters=("bob", "carol", "zed"))
    round_ = make.rate(make.open_round(study, 1, raters=("bob", "carol")), "item bob carol\n1 crash hang")
    ask_third_rater(seat=make.owner_seat(study), round_=round_, item=round_.round_items.get().item, rater="zed")
    asked = Assignment.objects.get(slot=None)

    def without_code(entries: dict[str, bytes]) -> None:
        rows = [json.loads(line) for line in entries[study_file.path_of("membership")].splitlines()]
        rows = [row | {"code": None} if row["id"] == asked.rater_id else row for row in rows]
        entries[study_file.path_of("membership")] = b"".join(json.dumps(row).encode() + b"\n" for row in rows)

    assert bring(brought(study), "honest")
    with pytest.raises(ConcordError, match="assignment contains a rater who has no code"):
        bring(changed(brought(study), without_code, honest=True))
    Membership.objects.filter(pk=asked.rater_id).update(code="")
    assert make.seat(study, "zed").arbitrated


@pytest.mark.parametrize("left_at", [None, "2024-01-01T00:00:00+00:00"])
def test_who_has_items_in_a_round_is_one_of_its_raters(left_at: str | None) -> None:
    """Or else an owner who reads its answers could take the place of the name, and rate unmarked."""
    study = make.study(raters=("bob", "carol"))
    round_ = make.rate(make.open_round(study, 2), "item carol\n1 crash")
    bob = make.member(study, "bob")

    def without_row(entries: dict[str, bytes]) -> None:
        path = study_file.path_of("roundrater")
        rows = [json.loads(line) for line in entries[path].splitlines()]
        kept = [row for row in rows if row["rater_id"] != bob.pk]
        left = [row | {"left_at": left_at} for row in rows if row["rater_id"] == bob.pk and left_at]
        entries[path] = b"".join(json.dumps(row).encode() + b"\n" for row in kept + left)

    assert bring(brought(study), "honest")
    with pytest.raises(ConcordError, match="roundrater lacks a rater who has items"):
        bring(changed(brought(study), without_row, honest=True))
    row = RoundRater.objects.filter(round=round_, rater=bob)
    row.update(left_at=left_at) if left_at else row.delete()
    assert rounds_to_rate_blind(bob) == [round_]


def bring(file: io.BytesIO, slug: str = "forged", name: str = "mallory") -> Study:
    stored, _ = study_import.bring_study(user=make.user(name), file=file, slug=slug)
    return stored.study


def test_a_row_that_no_action_would_write_is_rejected_by_table_row_and_column() -> None:
    file = brought(small())
    Taxonomy.objects.update(slug="another")  # so that nothing of the file is here
    Repository.objects.update(name="another")
    true = changed(file, whole_hashes)
    for table, columns in FORGED:
        with pytest.raises(ConcordError) as caught, transaction.atomic():
            bring(changed(true, forged(table, **columns), honest=True))
        assert f"table {table}" in str(caught.value).lower(), (table, columns, str(caught.value))
    assert bring(changed(true, whole_hashes, honest=True))


def test_a_row_of_very_many_values_is_rejected_before_it_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(study_file, "LINE_VALUES_MAX", 10_000)
    file = changed(brought(small()), forged("auditevent", detail={"a": [{}] * 10_000}), honest=True)
    with pytest.raises(ConcordError, match="A row of the table auditevent has more than 10,000 values"):
        bring(file)


@pytest.mark.parametrize("table", ["study", "people", "dimension", "category", "repositories", "activities", "draft"])
def test_a_row_with_a_column_that_nobody_checks_is_rejected(table: str) -> None:
    with pytest.raises(ConcordError, match=f"Table {table}, row 3: unknown column “zzz”"):
        row_checks.check_row(table, 3, {"zzz": [{}]})


def test_a_file_with_an_unknown_column_leaves_nothing() -> None:
    file = changed(brought(small()), forged("study", zzz=[{}]), honest=True)
    with pytest.raises(ConcordError, match="Table study, row 1: unknown column “zzz”"), transaction.atomic():
        bring(file)


def test_counts_by_which_nobody_could_be_withdrawn_are_corrected() -> None:
    study = make.study()
    make.rate(make.open_round(study, 2), "item bob carol\n1 crash hang")
    file = brought(study)
    told = [list(RoundRater.objects.order_by("pk").values_list("n_assigned", "n_finished"))]
    file = changed(file, forged("roundrater", n_assigned=0, n_finished=0), honest=True)
    stored = bring(changed(file, forged("rounditem", n_free=2, n_aside=2), honest=True), name="olga")
    rows = RoundRater.objects.filter(round__study=stored)
    told.append(list(rows.order_by("pk").values_list("n_assigned", "n_finished")))
    assert told[0] == told[1] == [(2, 1), (2, 1)]
    assert not RoundItem.objects.filter(round__study=stored).exclude(n_free=0, n_aside=0).exists()


def whole_hashes(entries: dict[str, bytes]) -> None:
    """Gives the snapshots of builders the hashes of their content."""
    rows = [json.loads(line) for line in entries[study_file.path_of("snapshots")].splitlines()]
    for row in rows:
        row["sha256"] = content_digest(
            title=row["title"], body=row["body"], state=row["state"], state_reason=row["state_reason"],
            github_labels=row["github_labels"], author=row["author_id"] or row["author_login"], comments=[],
        )  # fmt: skip
    entries[study_file.path_of("snapshots")] = b"".join(json.dumps(row).encode() + b"\n" for row in rows)


PREVIEW: dict[str, Any] = {
    "from": 1, "to": 2, "rounds": [1], "labels": {"total": 1, "following": 1}, "changes": [], "dimensions": [],
    "pending": {}, "recheck": [], "worklist": {"items": 0, "raters": []}, "warnings": [],
}  # fmt: skip
GATE: dict[str, Any] = {
    "round": 1,
    "advice": "go on",
    "dimensions": [
        {
            "dimension": "symptom",
            "title": "Symptom",
            "coefficient": "cohen_kappa",
            "verdict": "reached",
            "value": 0.9,
            "ci_low": None,
            "ci_high": None,
            "threshold": 0.8,
        }
    ],
}
BY_ROW: list[tuple[str, str, Any, Any]] = [
    ("export", "state", "done", "running"),
    ("export", "rounds", [1], 5),
    ("export", "what", "labels", "<b>"),
    ("plan", "state", "done", "queued"),
    ("plan", "recheck", [["symptom", "crash"]], [5]),
    ("analysis", "kind", "crosstab", "nothing"),
    ("analysis", "question", {"rows": ["symptom"]}, {"rows": 5}),
    ("analysis", "title", "Symptoms", HIDDEN),
    ("snapshots", "github_labels", ["bug"], [None]),
    ("snapshots", "github_labels", ["L" * 500], ["L" * 501]),
    ("sample", "confidence", 0.95, "NaN"),
    ("sample", "confidence", 0.95, 95),
    ("resolution", "part", 100, 101),
    ("rating", "number", 1e100, -1e101),
    ("partmatch", "agreed_part", 100, 32_767),
    ("rating", "number", 1.5, "Infinity"),
    ("draft", "body", {}, []),
    ("draft", "body", {"parts": [{"labels": {"symptom": ["crash"]}}], "at": 1.5, "by": "a"}, {"parts": [5]}),
    ("draft", "body", {"memo": "so far", "confidence": None}, {"confidence": "sure"}),
    ("plan", "preview", {}, {"worklist": 5}),
    ("plan", "preview", PREVIEW, PREVIEW | {"changes": [{"dimension": "symptom"}]}),
    ("plan", "preview", PREVIEW, PREVIEW | {"labels": {"total": 1, "following": "all"}}),
    ("export", "asked", {"round": 1, "raters": ["R1"], "shape": "wide"}, {"round": "1"}),
    ("export", "asked", {"texts": "included", "authors": ["Ada"], "pseudonymise": True}, {"elsewhere": 1}),
    ("auditevent", "detail", {"round": 1, "item": "a", "items": 2}, {"round": "1"}),
    ("auditevent", "detail", {"rounds": {"": 1}, "given": 5}, {"rounds": "1"}),
    ("auditevent", "detail", {"member": "bob", "roles": ["owner"]}, {"member": "bob", "roles": 5}),
    ("auditevent", "detail", {"unblinded": [2], "was": "Bob"}, {"unblinded": {}}),
    ("closingchanges", "merged_at", "2025-01-01T00:00:00Z", FAR),
    ("remark", "text", "Why?", "a" * 20_001),
    ("membership", "code", "R12", "a/b"),
    ("round", "gate", GATE, GATE | {"dimensions": [{**GATE["dimensions"][0], "value": "high"}]}),
    ("annotation", "part_memos", ["so far"], ["a" * 100_001]),
    ("snapshots", "body", "a" * 100_001, "a" * 5_000_001),
]


@pytest.mark.parametrize(
    ("verb", "good", "bad"),
    [
        ("rater withdrawn", {"round": 1, "rater": "R1", "given": {"R2": 3}}, {"round": 1}),
        ("rater withdrawn", {"round": 1, "rater": "R1"}, {"round": 1, "rater": "R1", "given": 5}),
        ("rater added", {"round": 1, "rater": "R1", "given": 5}, {"rater": "R1"}),
        ("round moved to resolving", {"round": 1, "withdrawn": 1}, {"withdrawn": 1}),
        ("items screened: out", {"n": 1, "items": ["a/b#1"]}, {"n": 1, "items": 1}),
        ("headline fixed", {"rounds": [1]}, {"rounds": {"": 1}}),
        ("ratings imported", {"rounds": {"": 1}}, {"rounds": [1]}),
        ("downloaded", {"what": "labels", "round": "all"}, {"round": {"a": 1}}),
    ],
)
def test_the_details_of_an_audit_line_are_those_of_its_verb(verb: str, good: Any, bad: Any) -> None:
    row_checks.check_row("auditevent", 1, {"verb": verb, "detail": good})
    with pytest.raises(ConcordError, match="Table auditevent, row 7, column detail: "):
        row_checks.check_row("auditevent", 7, {"verb": verb, "detail": bad})


@pytest.mark.parametrize(
    ("table", "column", "most"),
    [
        ("round", "number", 2**30 - 1),
        ("sample", "number", 2**30 - 1),
        ("taxonomyversion", "number", 2**30 - 1),
        ("annotation", "revision", 2**30 - 1),
        ("roundrater", "revision", 2**62 - 1),
        ("round", "raters_per_item", 2**14 - 1),
        ("sample", "seed", 2**63 - 1),
        ("issues", "number", 2**31 - 1),
    ],
)
def test_numbers_from_which_others_are_counted_up_leave_room_for_these(table: str, column: str, most: int) -> None:
    row_checks.check_row(table, 1, {column: most})
    with pytest.raises(ConcordError, match=f"Table {table}, row 7, column {column}: not a whole number up to"):
        row_checks.check_row(table, 7, {column: most + 1})


@pytest.mark.parametrize(("table", "column", "good", "bad"), BY_ROW)
def test_a_column_has_one_check_whatever_the_row(table: str, column: str, good: Any, bad: Any) -> None:
    row_checks.check_row(table, 1, {column: good})
    with pytest.raises(ConcordError, match=f"Table {table}, row 7, column {column}: "):
        row_checks.check_row(table, 7, {column: bad})


def test_every_column_of_json_that_travels_has_a_form() -> None:
    models = {**row_checks.AROUND, **{table.name: table.model for table in study_rows.study_tables()}}
    for name, model in models.items():
        for column in model._meta.concrete_fields:
            if column in study_rows.columns_of(model) or name == "study":
                row_checks.of_column(name, column)


def test_a_relabeling_round_without_its_migration_is_rejected() -> None:
    study = small()
    Round.objects.update(kind=Round.Kind.RELABEL)
    with pytest.raises(ConcordError, match="relabeling rounds that no row of the table plan names .* round 1"):
        bring(brought(study))
    with pytest.raises(ConcordError, match="row 3, column preview: no counts"):
        row_checks.check_row("plan", 3, {"state": "done", "preview": {}})


def test_a_file_never_makes_a_taxonomy_of_others_one_that_it_screens_by() -> None:
    study = small()
    taxonomy = study.taxonomy
    there = study.taxonomy_id
    with pytest.raises(ConcordError, match="screening_taxonomy_id"):
        bring(changed(brought(study), forged("study", screening_taxonomy_id=there), honest=True))
    with pytest.raises(DatabaseError, match="no other study has it"), transaction.atomic():
        Study.objects.filter(pk=study.pk).update(screening_taxonomy=taxonomy)
    eve = Script("eve")
    assert eve.send("GET", f"taxonomies/{taxonomy.slug}/").status_code == 200


def test_every_study_has_a_screening_taxonomy_of_its_own_and_writes_into_no_other() -> None:
    study = make.study()
    screening(study, 2, reasons=REASONS)
    study.refresh_from_db()
    own = study.screening_taxonomy
    there = bring(brought(study), "there", "olga")
    assert there.taxonomy == study.taxonomy and there.screening_taxonomy not in (None, own)
    again = {"kind": "screening", "raters": ["olga"], "raters_per_item": 1, "issues": ["acme/rocket#1"]}
    script = Script("olga")
    assert (
        script.send("POST", "studies/there/members/", {"user": "olga", "roles": ["owner", "rater"]}).status_code < 300
    )
    Round.objects.filter(study=there).update(state=Round.State.CLOSED)
    answer = script.send("POST", "studies/there/rounds/", again | {"reasons": ["Another reason"]})
    assert answer.status_code == 201, answer.content
    assert own is not None and own.versions.count() == 1 and there.screening_taxonomy.versions.count() == 2
    # Earlier versions let studies share one: such a study gets its own with the next reasons.
    with connection.cursor() as cursor:
        cursor.execute("ALTER TABLE annotation_study DISABLE TRIGGER screening_is_own")
        Study.objects.filter(pk=there.pk).update(screening_taxonomy=own)
        cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
        cursor.execute("ALTER TABLE annotation_study ENABLE TRIGGER screening_is_own")
    assert script.send("DELETE", f"studies/there/rounds/{answer.json()['number']}/").status_code == 204
    assert script.send("POST", "studies/there/rounds/", again | {"reasons": ["A third one"]}).status_code == 201
    assert own.versions.count() == 1
    there.refresh_from_db()
    assert there.screening_taxonomy not in (None, own)


def with_further_taxonomies(entries: dict[str, bytes]) -> None:
    """One for each further try of a taxonomy's ID."""
    for table, key in (("taxonomy", "id"), ("taxonomyversion", "taxonomy_id")):
        name = study_file.path_of(table)
        row = json.loads(entries[name].splitlines()[0])
        further = []
        for number in range(1, UNAVAILABLE_IDS.n_most + 2):
            slug = f"guess-{number}-screening"
            more = {"slug": slug} if table == "taxonomy" else {"document": row["document"].replace("symptoms", slug)}
            further.append(json.dumps({**row, "id": 9000 + number, key: 9000 + number, **more}).encode())
        entries[name] = b"".join(line + b"\n" for line in [*entries[name].splitlines(), *further])


def with_the_same_taxonomy_often(entries: dict[str, bytes]) -> None:
    """Under as many IDs."""
    name = study_file.path_of("taxonomy")
    row = json.loads(entries[name])
    slugs = [row["slug"], *(f"guess-{number}-screening" for number in range(1, UNAVAILABLE_IDS.n_most + 2))]
    entries[name] = b"".join(json.dumps({**row, "slug": slug}).encode() + b"\n" for slug in slugs)


@pytest.mark.parametrize("change", [with_further_taxonomies, with_the_same_taxonomy_often])
@pytest.mark.parametrize("name", ["mallory", "sam"])
def test_a_file_asks_for_no_more_ids_of_taxonomies_than_others_may(
    name: str, change: Callable[[dict[str, bytes]], None]
) -> None:
    file = changed(brought(small()), change, honest=True)
    make.user("sam", staff=True)
    n_before = Taxonomy.objects.count()
    if name == "sam":
        bring(file, name=name)
        assert Taxonomy.objects.count() == n_before + UNAVAILABLE_IDS.n_most + 1
        return
    with pytest.raises(TooMany, match="Too many attempts. Wait"):
        bring(file, name=name)
    assert Taxonomy.objects.count() == n_before and not Study.objects.filter(slug="forged").exists()


def by_file() -> None:
    says_otherwise = forged("taxonomyversion", document=make.SYMPTOMS.replace("Slow}", "Too slow}"))
    assert bring(changed(brought(small()), says_otherwise, honest=True)).taxonomy.slug == "symptoms-2"


def by_screening() -> None:
    make.version(make.SYMPTOMS.replace("slug: symptoms", "slug: forged-screening"), owner="nina")
    make.study("forged", owner="mallory")
    screening(Study.objects.get(), 1)
    taxonomy = Study.objects.get().screening_taxonomy
    assert taxonomy is not None and taxonomy.slug == "forged-screening-2"


def by_sheet() -> None:
    make.version(make.SYMPTOMS.replace("slug: symptoms", "slug: forged"), owner="nina")
    make.issues(1)
    sheet = b"item,rater,dimension,value\nacme/rocket#1,A,symptom,crash\nacme/rocket#1,B,symptom,hang\n"
    import_ratings(user=make.user("mallory"), study="forged", file=sheet, name="sheet.csv", create=True)
    assert Study.objects.get().taxonomy.slug == "forged-2"


@pytest.mark.parametrize("door", [by_file, by_screening, by_sheet])
def test_an_id_of_a_taxonomy_that_is_taken_counts_as_a_try_at_every_door(door: Callable[[], None]) -> None:
    mallory = make.user("mallory")
    for _ in range(UNAVAILABLE_IDS.n_most - 2):
        require_tries(UNAVAILABLE_IDS, str(mallory.pk))
    door()
    require_tries_left(UNAVAILABLE_IDS, str(mallory.pk))
    require_tries(UNAVAILABLE_IDS, str(mallory.pk))
    with pytest.raises(TooMany):
        require_tries_left(UNAVAILABLE_IDS, str(mallory.pk))


@pytest.mark.parametrize("name", ["mallory", "olga"])
def test_a_file_tells_what_closed_stored_issues_only_of_ones_own_uploads(name: str) -> None:
    study = small()
    issue = study.items.order_by("pk")[0].issue
    assert issue is not None
    ClosingChange.objects.create(
        issue=issue, kind="pull_request", identifier="evil/evil#9", title="Fix", additions=9999
    )
    Activity.objects.create(issue=issue, told={"type": "Bug"})
    file = brought(study)
    ClosingChange.objects.all().delete()
    Activity.objects.all().delete()
    bring(file, "other", name)
    assert ClosingChange.objects.exists() == Activity.objects.exists() == (name == "olga")


def test_one_row_that_cannot_be_swept_hinders_no_other(caplog: Any) -> None:
    study = small()
    seat = make.owner_seat(study)
    bad = request_export(seat=seat, what="labels", send=False)
    good = request_export(seat=seat, what="ratings", send=False)
    long_ago = timezone.now() - timedelta(hours=1)
    Export.objects.filter(pk=good.pk).update(worked_at=long_ago)
    with connection.cursor() as cursor:
        cursor.execute("UPDATE annotation_export SET worked_at = '20000-01-01' WHERE id = %s", [bad.pk])
    assert EXPORTS.sweep() == [good.pk]
    assert "could not be swept" in caplog.text


def test_one_issue_that_cannot_be_indexed_hinders_no_other(caplog: Any) -> None:
    study = small()
    issues = [item.issue_id for item in study.items.order_by("pk")]
    SearchText.objects.all().delete()
    make.new_state(1, github_labels=[None])
    Unsearchable.objects.bulk_create([Unsearchable(issue_id=pk) for pk in issues], ignore_conflicts=True)
    indexing.index()
    assert set(SearchText.objects.values_list("issue", flat=True)) == set(issues[1:])
    assert "could not be indexed" in caplog.text and not Unsearchable.objects.exists()


def test_pages_that_everyone_sees_stay_whole(client: Client) -> None:
    file = brought(small())
    for table, columns in (("taxonomy", {"slug": "bad slug/x"}), ("repositories", {"host": "h/h"})):
        with pytest.raises(ConcordError), transaction.atomic():
            bring(changed(file, forged(table, **columns), honest=True))
    client.force_login(make.user("eve"))
    for path in ("/taxonomies/", "/repositories/", "/issues/", "/studies/"):
        assert client.get(path).status_code == 200, path


@pytest.mark.parametrize("name", ["mallory", "olga"])
def test_a_file_says_only_of_ones_own_uploads_that_what_closed_an_issue_is_known(name: str) -> None:
    """Nor when GitHub was asked for it. Fetched repositories take issues from a file, uploads of others none."""
    study = small()
    if name == "mallory":
        Repository.objects.update(github_id=7)
    Issue.objects.update(changes_known=True, checked_at=timezone.now())
    planted = changed(changed(brought(study), whole_hashes), with_other_numbers, honest=True)
    Issue.objects.update(changes_known=False, checked_at=None)
    bring(planted, "other", name)
    issue = Issue.objects.get(number=71)
    assert issue.changes_known == (issue.checked_at is not None) == (name == "olga")


def with_other_numbers(entries: dict[str, bytes]) -> None:
    """Gives the issues numbers that nothing here has."""
    rows = [json.loads(line) for line in entries[study_file.path_of("issues")].splitlines()]
    rows = [row | {"number": row["number"] + 70} for row in rows]
    entries[study_file.path_of("issues")] = b"".join(json.dumps(row).encode() + b"\n" for row in rows)
