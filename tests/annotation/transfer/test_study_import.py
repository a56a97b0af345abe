"""A study's file on another server: what is taken, what is refused in words, and how people are joined."""

import hashlib
import io
import json
import zipfile
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.apps import apps
from django.core.files.base import ContentFile, File
from django.core.management import call_command
from django.db import connection, transaction
from django.test import Client
from django.utils import timezone

from accounts.models import User
from annotation.agreement_report.queries.headline import FIXED
from annotation.choosing.actions.samples import draw_sample
from annotation.core.access import get_seat, get_whole_study
from annotation.core.audit import record
from annotation.core.errors import Blind, ConcordError, Conflict, Invalid
from annotation.discussion.actions import write_remark
from annotation.exports.actions import request_export
from annotation.exports.queries.kinds import read_export_request
from annotation.labels.queries import rows as label_rows
from annotation.members.actions.leaving import leave_study
from annotation.members.actions.members import add_member, set_member
from annotation.members.actions.name_only_members import join_member
from annotation.methods import as_text
from annotation.methods.outline import paragraph
from annotation.methods.queries.methods import methods
from annotation.models import Arrival, Assignment, Membership, Plan, Remark, Resolution, Round, RoundRater, Study
from annotation.overview.actions.demo import FOLDER, REPOSITORY
from annotation.package.queries.people import PackagePeople
from annotation.plans import jobs as plan_jobs
from annotation.plans.actions import preview_plan, run_plan
from annotation.resolving.actions import resolutions as resolution_actions
from annotation.resolving.actions.meetings import read_meeting
from annotation.rounds.actions import rounds
from annotation.transfer import study_file
from annotation.transfer.actions import study_import
from annotation.transfer.queries import rows as study_rows
from ingest.actions.fetches import run_now
from ingest.actions.uploads import start_file_fetch
from ingest.actions.visibility import change_visibility
from ingest.models import Activity, ClosingChange, FormerName, Issue, Repository, Snapshot
from ingest.records import content_digest
from taxonomy.models import Taxonomy
from tests import builders as make
from tests.annotation.transfer.test_study_export import files_of, written

pytestmark = pytest.mark.django_db


def brought(study: Study) -> io.BytesIO:
    return io.BytesIO(written(get_whole_study(study.slug), "study"))


def small() -> Study:
    """A study with a round of which one place was decided."""
    study = make.study()
    round_ = make.rate(make.open_round(study, 2), "item bob carol\n1 crash hang\n2 slow slow")
    item = round_.round_items.select_related("item").order_by("position")[0].item
    place: dict[str, Any] = {"part": 1, "dimension": "symptom", "values": ["hang"]}
    resolution_actions.resolve(
        seat=make.seat(study, "ada"), round_=round_, item=item, rationale="it hangs, says @bob", expected=None, **place
    )
    return study


def changed(file: io.BytesIO, change: Callable[[dict[str, bytes]], None], *, honest: bool = False) -> io.BytesIO:
    """The file with other entries; with `honest` the manifest has the hashes of what is in it then."""
    with zipfile.ZipFile(file) as archive:
        entries = {name: archive.read(name) for name in archive.namelist()}
    change(entries)
    if honest:
        manifest = json.loads(entries[study_file.MANIFEST])
        for each in manifest["tables"]:
            content = entries[each["path"]]
            each |= {"sha256": hashlib.sha256(content).hexdigest(), "rows": content.count(b"\n")}
        entries[study_file.MANIFEST] = json.dumps(manifest).encode()
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in entries.items():
            archive.writestr(name, content)
    made.seek(0)
    return made


def _swap(name: str, old: bytes, new: bytes) -> Callable[[dict[str, bytes]], None]:
    def change(entries: dict[str, bytes]) -> None:
        assert old in entries[study_file.path_of(name)]
        entries[study_file.path_of(name)] = entries[study_file.path_of(name)].replace(old, new)

    return change


def _manifest(**said: Any) -> Callable[[dict[str, bytes]], None]:
    def change(entries: dict[str, bytes]) -> None:
        entries[study_file.MANIFEST] = json.dumps(json.loads(entries[study_file.MANIFEST]) | said).encode()

    return change


def _more(name: str, content: bytes) -> Callable[[dict[str, bytes]], None]:
    return lambda entries: entries.update({name: content})


def test_what_is_no_whole_file_is_refused_in_words_and_leaves_nothing() -> None:
    file = brought(small())
    n_users = User.objects.count()
    bomb = b"0" * (study_file.UNPACKED_AT_LEAST + 1)
    fits = [
        (changed(file, _swap("rating", b"1", b"2")), "SHA-256 differs"),
        (changed(file, _manifest(format=study_file.FORMAT + 1, concord="9.0")), "newer Concord"),
        (changed(file, _manifest(kind="package")), "not that of a full export"),
        (changed(file, _more("../../etc/passwd", b"x")), "does not belong to a full export"),
        (changed(file, _more("/tables/rating.jsonl", b"x")), "does not belong to a full export"),
        (changed(file, lambda entries: entries.pop("tables/rating.jsonl")), "table that is missing"),
        (changed(file, lambda entries: entries.update({"tables/draft.jsonl": bomb})), "far too many"),
        (changed(file, lambda entries: entries.pop(study_file.MANIFEST)), "no manifest"),
        (io.BytesIO(b"not a zip"), "opened as a ZIP file"),
        (changed(file, _swap("round", b'"resolving"', b'"ajar"'), honest=True), "an unknown value"),
        (
            changed(file, _swap("rating", b'"category_id":', b'"category_id":9'), honest=True),
            "A rating must name a category of its dimension",
        ),
        (changed(file, _swap("assignment", b'"slot":2', b'"slot":1'), honest=True), "a slot of an item is held by one"),
        (changed(file, _swap("item", b"{", b"["), honest=True), "can't be read|is not valid"),
        (changed(file, _swap("study", b'"pseudonym_key":"', b'"pseudonym_key":"x'), honest=True), "settings"),
        (
            changed(file, _swap("taxonomyversion", b"kind: single", b"kind: double"), honest=True),
            "kind|document|single",
        ),
    ]
    for brought_file, said in fits:
        with pytest.raises(ConcordError, match=said):
            study_import.bring_study(user=make.user("nina"), file=brought_file, slug="other")
    assert not Study.objects.filter(slug="other").exists() and User.objects.count() == n_users + 1


def test_a_moved_study_tells_people_apart_by_their_user_names() -> None:
    """Full names are free: carol's is bob."""
    study = small()
    User.objects.filter(username="carol").update(first_name="bob")
    stored, _ = study_import.bring_study(user=make.user("nina"), file=brought(study), slug="other")
    assert {"bob", "bob (carol)"} < set(stored.study.memberships.values_list("name", flat=True))
    carol = User.objects.get(elsewhere="carol")
    assert carol.signed_name == "bob (carol, imported)"


BAD_SAMPLES = [
    (b'"filter":{', b'"filter":{"=cat":1,'),
    (b'"stratify_by":""', b'"stratify_by":"phase of the moon"'),
    (b'"counts":[', b'"counts":[5,'),
    (b'"strata":[]', b'"strata":[{"stratum":1}]'),
]


@pytest.mark.parametrize(("old", "new"), BAD_SAMPLES)
def test_a_sample_that_no_page_could_show_is_refused(old: bytes, new: bytes) -> None:
    study = small()
    make.issues(3, "acme/more")
    draw_sample(seat=make.owner_seat(study), filter={"repository": ["acme/more"]}, size=2, seed=1)
    file = brought(study)
    study_import.bring_study(user=make.user("nina"), file=file, slug="as-it-was")
    forged = changed(file, _swap("sample", old, new), honest=True)
    with pytest.raises(ConcordError, match="The table sample contains a row whose filter"):
        study_import.bring_study(user=make.user("nina"), file=forged, slug="forged")


def test_known_labels_and_lines_of_the_audit_that_no_page_could_show_are_refused() -> None:
    study = make.study()
    make.issues(3)
    known = {"acme/rocket#3": {"labels": {"symptom": ["crash"]}, "why": "It stops."}}
    asked = {"raters": ["bob", "carol"], "issues": ["acme/rocket#1"], "known": known}
    rounds.create_round(seat=make.owner_seat(study), asked=rounds.NewRound(kind="main", **asked))
    record(study=study, user=make.user("olga"), verb=FIXED, rounds=[1])
    file = brought(study)
    wrong_known = changed(file, _swap("rounditem", b'"why": "It stops."', b'"why": 5'), honest=True)
    with pytest.raises(ConcordError, match="gold answers that can't be read"):
        study_import.bring_study(user=make.user("nina"), file=wrong_known, slug="forged")
    wrong_line = changed(file, _swap("auditevent", b'"rounds": [1]', b'"rounds": "<b>"'), honest=True)
    with pytest.raises(ConcordError, match="Table auditevent, row 7, column detail: "):
        study_import.bring_study(user=make.user("nina"), file=wrong_line, slug="forged")


def test_a_round_under_a_version_that_is_a_draft_is_refused() -> None:
    """Raters could not answer there."""
    study = make.study()
    make.open_round(study, 2, raters=("bob", "carol"))

    def back_to_draft(entries: dict[str, bytes]) -> None:
        path = study_file.path_of("taxonomyversion")
        (row,) = [json.loads(line) for line in entries[path].splitlines()]
        row |= {"state": "draft", "published_at": None, "published_by_id": None}
        entries[path] = json.dumps(row).encode() + b"\n"

    forged = changed(brought(study), back_to_draft, honest=True)
    with pytest.raises(ConcordError, match="The table round has round 1 under a taxonomy version that is a draft"):
        study_import.bring_study(user=make.user("nina"), file=forged, slug="forged")
    assert not Study.objects.filter(slug="forged").exists()


def test_a_migration_from_or_to_a_draft_is_refused_unless_it_is_a_preview() -> None:
    study = make.study()
    make.rate(make.open_round(study, 1), "item bob carol\n1 crash crash")
    make.next_version(study, make.SYMPTOMS.replace("Slow", "Very slow"))
    plan = preview_plan(seat=make.owner_seat(study), to=2)

    def back_to_draft(entries: dict[str, bytes]) -> None:
        path = study_file.path_of("taxonomyversion")
        first, second = [json.loads(line) for line in entries[path].splitlines()]
        second |= {"state": "draft", "published_at": None, "published_by_id": None}
        entries[path] = b"".join(json.dumps(row).encode() + b"\n" for row in (first, second))

    def from_draft(entries: dict[str, bytes]) -> None:
        back_to_draft(entries)
        path = study_file.path_of("plan")
        row = json.loads(entries[path])
        row["from_version_id"], row["to_version_id"] = row["to_version_id"], row["from_version_id"]
        entries[path] = json.dumps(row).encode() + b"\n"

    previewed = brought(study)
    run_plan(seat=make.owner_seat(study), plan=plan)
    plan_jobs.work(plan.pk)
    for whole, change in ((brought(study), back_to_draft), (previewed, from_draft)):
        forged = changed(whole, change, honest=True)
        with pytest.raises(ConcordError, match=f"The table plan has migration {plan.number} from or to a version that"):
            study_import.bring_study(user=make.user("nina"), file=forged, slug="forged")
        assert not Study.objects.filter(slug="forged").exists()
    preview = changed(previewed, back_to_draft, honest=True)
    study_import.bring_study(user=make.user("nina"), file=preview, slug="preview")
    assert Plan.objects.get(study__slug="preview").state == "previewed"


def add_state(entries: dict[str, bytes]) -> None:
    """Puts a state of the first issue in front that its study reads, too: what was pinned, in other words."""
    rows = [json.loads(line) for line in entries[study_file.path_of("snapshots")].splitlines()]
    forged = rows[0] | {"title": "Forged", "fetched_at": "2020-01-01T00:00:00Z"}
    digest = content_digest(
        title="Forged", body=forged["body"], state=forged["state"], state_reason=forged["state_reason"],
        github_labels=forged["github_labels"], author=forged["author_id"] or forged["author_login"], comments=[],
    )  # fmt: skip
    rows[0] = forged | {"sha256": digest}
    entries[study_file.path_of("snapshots")] = b"".join(json.dumps(row).encode() + b"\n" for row in rows)


def test_a_file_adds_no_state_to_a_fetched_repository_unless_fetchers_bring_it() -> None:
    file = changed(brought(small()), add_state, honest=True)
    fetched = Repository.objects.filter(name="rocket")
    fetched.update(github_id=77)
    n_states = Snapshot.objects.count()
    with pytest.raises(ConcordError, match="reads acme/rocket#1 in another state than is stored here"):
        study_import.bring_study(user=make.user("nina"), file=file, slug="forged")
    assert Snapshot.objects.count() == n_states and not Study.objects.filter(slug="forged").exists()
    study_import.bring_study(user=make.user("sam", staff=True), file=file, slug="of-fetchers")
    assert Snapshot.objects.count() == n_states + 1


def test_a_file_tells_not_what_closed_issues_of_a_fetched_repository_unless_fetchers_bring_it() -> None:
    study = small()
    issue = Issue.objects.get(number=1)
    ClosingChange.objects.create(issue=issue, kind="commit", identifier="acme/rocket@abc", title="Forged")
    told = {"events": [], "reactions": {"heart": 1}, "type": "Bug"}
    Activity.objects.create(issue=issue, told=told)
    file = brought(study)
    ClosingChange.objects.all().delete()
    Activity.objects.all().delete()
    Repository.objects.filter(name="rocket").update(github_id=77)
    study_import.bring_study(user=make.user("nina"), file=file, slug="other")
    assert not ClosingChange.objects.exists() and not Activity.objects.exists()
    study_import.bring_study(user=make.user("sam", staff=True), file=file, slug="of-fetchers")
    assert ClosingChange.objects.get().issue == issue
    assert Activity.objects.get(issue=issue).told == told
    Activity.objects.update(told={"type": "Task"})
    study_import.bring_study(user=make.user("sam", staff=True), file=file, slug="again")
    assert Activity.objects.get().told == told | {"type": "Task"}, "what is known here stays"


def told_of(study: Study) -> io.BytesIO:
    """The file of a study with what closed its first issue, and what happened there; here nobody knows it any more."""
    issue = Issue.objects.filter(items__study=study).earliest("number")
    ClosingChange.objects.create(issue=issue, kind="commit", identifier="acme/rocket@abc", title="Forged")
    Activity.objects.update_or_create(issue=issue, defaults={"told": {"type": "Bug"}})
    file = brought(study)
    ClosingChange.objects.all().delete()
    Activity.objects.all().delete()
    return file


def test_a_file_tells_not_what_closed_issues_that_it_plants_in_a_fetched_repository() -> None:
    file = told_of(of_real_issues())
    Repository.objects.update(name="elsewhere")
    owner, name = REPOSITORY.split("/")
    fetched = Repository.objects.create(owner=owner, name=name, github_id=7)
    study_import.bring_study(user=make.user("nina"), file=file, slug="forged")
    assert Issue.objects.filter(repository=fetched).exists()
    assert not ClosingChange.objects.exists() and not Activity.objects.exists()


def test_a_file_tells_nothing_to_studies_of_people_who_may_not_read_a_private_repository() -> None:
    file = told_of(small())
    Repository.objects.update(private=True, github_id=7)
    Repository.objects.get().readers.clear()
    study_import.bring_study(user=make.user("sam", staff=True), file=file, slug="of-staff")
    assert not ClosingChange.objects.exists() and not Activity.objects.exists()
    Repository.objects.get().readers.add(make.user("olga"))
    study_import.bring_study(user=make.user("sam", staff=True), file=file, slug="again")
    assert ClosingChange.objects.exists() and Activity.objects.exists()


def test_a_file_takes_no_former_name_of_a_fetched_repository() -> None:
    file = changed(brought(small()), _swap("repositories", b'"rocket"', b'"shuttle"'), honest=True)
    fetched = Repository.objects.get(name="rocket")
    FormerName.objects.create(repository=fetched, host="github.com", owner="acme", name="shuttle")
    study_import.bring_study(user=make.user("nina"), file=file, slug="forged")
    assert Repository.objects.get() == fetched, "the name leads to the one that had it"
    Repository.objects.update(private=True)
    with pytest.raises(ConcordError, match="You may not add to acme/shuttle here"):
        study_import.bring_study(user=make.user("nina"), file=file, slug="again")


@pytest.mark.parametrize(
    ("table", "column"),
    [
        ("issues", "updated_at"),
        ("issues", "checked_at"),
        ("issues", "added_at"),
        ("snapshots", "closed_at"),
        ("snapshots", "fetched_at"),
        ("membership", "created_at"),
        ("study", "archived_at"),
    ],
)
def test_a_time_in_the_future_is_rejected(table: str, column: str) -> None:
    def change(entries: dict[str, bytes]) -> None:
        rows = [json.loads(line) for line in entries[study_file.path_of(table)].splitlines()]
        rows[0][column] = (timezone.now() + timedelta(hours=1 if table in ("membership", "study") else 25)).isoformat()
        entries[study_file.path_of(table)] = b"".join(json.dumps(row).encode() + b"\n" for row in rows)

    with pytest.raises(ConcordError, match=f"Table {table}, row 1, column {column}: a time in the future"):
        study_import.bring_study(
            user=make.user("nina"), file=changed(brought(small()), change, honest=True), slug="forged"
        )


def test_what_happened_to_an_issue_must_have_the_form_that_sources_give_it() -> None:
    study = small()
    issue = Issue.objects.get(number=1)
    for told in ({"events": [{"kind": "exploded", "at": None, "actor": "", "detail": ""}]}, {"reactions": 3}, ["x"]):
        Activity.objects.update_or_create(issue=issue, defaults={"told": told})
        with pytest.raises(ConcordError, match="What happened to an issue in the file can't be read"):
            study_import.bring_study(user=make.user("nina"), file=brought(study), slug="other")


def test_an_address_that_is_taken_or_none_is_refused() -> None:
    file = brought(small())
    with pytest.raises(Conflict, match="not available"):
        study_import.bring_study(user=make.user("nina"), file=file)
    with pytest.raises(Invalid):
        study_import.bring_study(user=make.user("nina"), file=file, slug="Not An Address")


def of_real_issues() -> Study:
    """A study of issues as a file of GitHub's has them, with comments and true hashes."""
    olga = make.user("olga")
    rows = json.loads((FOLDER / "issues.json").read_bytes())[:4]
    file = File(io.BytesIO(json.dumps(rows).encode()), name="issues.json")
    run_now(run=start_file_fetch(user=olga, file=file, repository=REPOSITORY, private=False, send=False))
    study = make.study()
    names = [f"{REPOSITORY}#{number}" for number in Issue.objects.order_by("number").values_list("number", flat=True)]
    made = rounds.create_round(
        seat=make.owner_seat(study), asked=rounds.NewRound(raters=["bob", "carol"], issues=names)
    )
    rounds.open_round(seat=make.owner_seat(study), number=made.number, unregistered=True)
    return study


def test_another_server_gets_issues_with_comments_and_the_taxonomy_and_those_that_it_has_are_not_doubled() -> None:
    study = of_real_issues()
    file, before = brought(study), files_of(study)
    Repository.objects.update(private=True)
    private = brought(study)
    Repository.objects.update(name="another", private=False)  # so that nothing of the file is here
    Taxonomy.objects.update(slug="another")
    nina = make.user("nina")
    stored, _ = study_import.bring_study(user=nina, file=file, slug="again")
    assert (stored.n_new_issues, stored.n_new_repositories, stored.taxonomies[0]["is_new"]) == (4, 1, True)
    after = files_of(stored.study)
    for name in before:
        assert after[name] == before[name], name
    again, _ = study_import.bring_study(user=nina, file=file, slug="third")
    assert (again.n_new_issues, again.n_new_snapshots, again.taxonomies[0]["is_new"]) == (0, 0, False)
    assert Snapshot.objects.filter(issue__repository__name="paratrain").count() == 4
    with pytest.raises(Invalid, match="private in the file and public here"):
        study_import.bring_study(user=nina, file=private, slug="fourth")
    Repository.objects.update(private=True)
    with pytest.raises(Invalid, match="You may not add to"):
        study_import.bring_study(user=make.user("mallory"), file=private, slug="fourth")
    assert study_import.bring_study(user=nina, file=private, slug="fourth")[0].n_new_issues == 0
    assert not Issue.objects.visible_to(make.user("mallory")).exists()


@pytest.mark.parametrize("table", ["issues", "snapshots"])
def test_a_file_adds_nothing_to_what_someone_else_uploaded(table: str) -> None:
    """Their next file would meet a newer state of the same number, and the upload could not be made private."""
    file = brought(of_real_issues())
    olga, nina = make.user("olga"), make.user("nina")
    home = Repository.objects.get()
    if table == "issues":
        Repository.objects.update(name="another")
        owner, name = REPOSITORY.split("/")
        home = Repository.objects.create(owner=owner, name=name, private=False, added_by=olga)
    else:
        with connection.cursor() as cursor:
            cursor.execute("SET LOCAL session_replication_role = replica")
            cursor.execute("UPDATE ingest_snapshot SET sha256 = repeat('0', 64)")
            cursor.execute("SET LOCAL session_replication_role = origin")
    before = Issue.objects.count(), Snapshot.objects.count()
    with pytest.raises(Invalid, match="was uploaded by someone else here"):
        study_import.bring_study(user=nina, file=file, slug="planted")
    assert (Issue.objects.count(), Snapshot.objects.count()) == before
    assert not Study.objects.filter(slug="planted").exists()
    study_import.bring_study(user=make.user("sam", staff=True), file=file, slug="of-staff")
    assert (Issue.objects.count(), Snapshot.objects.count()) > before
    assert change_visibility(repository=home, user=olga, private=True).private


@pytest.mark.parametrize("table", ["issues", "snapshots"])
def test_private_issues_of_a_file_go_into_no_upload_that_others_read(table: str) -> None:
    """Also not for staff: whoever used the name first would read what others move to this server."""
    study = of_real_issues()
    Repository.objects.update(private=True)
    file = brought(study)
    eve, sam = make.user("eve"), make.user("sam", staff=True)
    owner, home_name = REPOSITORY.split("/")
    if table == "issues":
        Repository.objects.update(name="another")
        home = Repository.objects.create(owner=owner, name=home_name, private=True, added_by=eve)
    else:
        home = Repository.objects.get()
        with connection.cursor() as cursor:
            cursor.execute("SET LOCAL session_replication_role = replica")
            cursor.execute("UPDATE ingest_snapshot SET sha256 = repeat('0', 64)")
            cursor.execute("SET LOCAL session_replication_role = origin")
    home.readers.set([eve])
    before = Issue.objects.count(), Snapshot.objects.count()
    for user in (sam, eve):
        home.added_by = user
        home.save()
        if user == eve:
            home.readers.add(sam)
        with pytest.raises(Invalid, match="other people read an upload of this name"):
            study_import.bring_study(user=user, file=file, slug="moved")
    assert (Issue.objects.count(), Snapshot.objects.count()) == before
    call_command("uploads", "--rename", REPOSITORY, verbosity=0)
    home.refresh_from_db()
    assert home.name == f"{home_name}-uploaded" and set(home.readers.all()) == {eve, sam}
    stored, _ = study_import.bring_study(user=sam, file=file, slug="moved")
    assert stored.n_new_issues == 4
    assert not Issue.objects.visible_to(eve).filter(repository__name=home_name).exists()


def test_a_file_tells_of_private_issues_nothing_to_others_who_read_the_upload() -> None:
    study = small()
    Repository.objects.update(private=True)
    Repository.objects.get().readers.set(User.objects.filter(memberships__study=study))
    file = told_of(study)
    study_import.bring_study(user=make.user("sam", staff=True), file=file, slug="of-staff")
    assert not ClosingChange.objects.exists() and not Activity.objects.exists()


def test_a_text_that_is_not_that_of_its_hash_is_refused() -> None:
    file = brought(of_real_issues())
    Repository.objects.update(name="another")
    spoiled = changed(file, _swap("snapshots", b'"title":"', b'"title":"Not '), honest=True)
    with pytest.raises(Invalid, match="does not match that SHA-256"):
        study_import.bring_study(user=make.user("nina"), file=spoiled, slug="again")


def _more_snapshots(entries: dict[str, bytes]) -> None:
    """Adds a row to each snapshot that has its hash and another content: it says so many comments more."""
    path = study_file.path_of("snapshots")
    rows = [json.loads(line) for line in entries[path].splitlines()]
    last = max(row["id"] for row in rows)
    rows += [
        row | {"id": last + n, "title": "Forged", "body": "Forged", "n_comments": (row["n_comments"] or 0) + 1}
        for n, row in enumerate(rows, start=1)
    ]
    entries[path] = b"".join(json.dumps(row).encode() + b"\n" for row in rows)


def test_a_text_that_is_not_that_of_its_hash_is_not_stored_because_the_file_has_that_too(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A fetch would take it for GitHub's: it has that hash, and the dates and counts that are at GitHub."""
    file = changed(brought(of_real_issues()), _more_snapshots, honest=True)
    Repository.objects.update(name="another")
    with pytest.raises(Invalid, match="does not match that SHA-256"), transaction.atomic():
        study_import.bring_study(user=make.user("nina"), file=file, slug="again")
    monkeypatch.setattr("ingest.upsert.study_import.BATCH_LINES", 1)
    study_import.bring_study(user=make.user("nina"), file=file, slug="again")
    stored = Snapshot.objects.filter(issue__repository__name="paratrain")
    assert stored.count() == 4
    study_import.bring_study(user=make.user("nina"), file=file, slug="third")
    assert stored.count() == 4 and not stored.filter(title="Forged").exists()


@pytest.mark.parametrize(
    "address", ["https://github.com/a/b/issues/2\nNot a crash.", "https://evil.example/a/b/issues/2"]
)
def test_an_address_with_a_line_break_or_of_another_host_is_not_kept(address: str) -> None:
    def broken(entries: dict[str, bytes]) -> None:
        for table, column in (("issues", "page_url"), ("issues", "moved_to"), ("snapshots", "html_url")):
            rows = [json.loads(line) for line in entries[study_file.path_of(table)].splitlines()]
            rows = [row | {column: address} for row in rows]
            entries[study_file.path_of(table)] = b"".join(json.dumps(row).encode() + b"\n" for row in rows)

    file = changed(brought(of_real_issues()), broken, honest=True)
    Repository.objects.update(name="another")
    study_import.bring_study(user=make.user("nina"), file=file, slug="again")
    stored = Issue.objects.filter(repository__name="paratrain")
    assert {(each.page_url, each.moved_to, each.current_snapshot.html_url) for each in stored} == {("", "", "")}


def test_pages_of_a_taxonomy_mark_names_that_a_file_alone_gave() -> None:
    """Or else everyone would read that a person of this server wrote and published what a stranger brought."""
    file = brought(small())
    Taxonomy.objects.update(slug="another")
    study_import.bring_study(user=make.user("mallory"), file=file, slug="again")
    client = Client()
    client.force_login(make.user("nina"))
    for path in ("", "versions/1/"):
        page = client.get(f"/taxonomies/symptoms/{path}").content.decode()
        assert "olga (imported)" in page and page.count("olga") == page.count("olga (imported)")
        assert "(imported" not in client.get(f"/taxonomies/another/{path}").content.decode()


def test_the_hash_of_a_comment_that_is_stored_here_does_not_bring_its_text() -> None:
    file = brought(of_real_issues())
    spoiled = changed(file, _swap("comments", b'"body":"', b'"body":"Not '), honest=True)
    with pytest.raises(Invalid, match="does not match that SHA-256"):
        study_import.bring_study(user=make.user("olga"), file=spoiled, slug="hashed")
    assert not Study.objects.filter(slug="hashed").exists()


def test_a_taxonomy_that_says_something_else_comes_under_another_address() -> None:
    study = small()
    file = brought(study)
    make.next_version(study, make.SYMPTOMS.replace("Slow}", "Too slow}"))
    stored, _ = study_import.bring_study(user=make.user("olga"), file=file, slug="again")
    assert stored.taxonomies == [{"there": "symptoms", "here": "symptoms", "is_new": False, "is_own": True}]
    changed_there = changed(file, _swap("taxonomyversion", b"name: Slow", b"name: Slower"), honest=True)
    stored, _ = study_import.bring_study(user=make.user("olga"), file=changed_there, slug="third")
    assert stored.taxonomies == [{"there": "symptoms", "here": "symptoms-2", "is_new": True, "is_own": True}]
    assert stored.study.taxonomy.slug == "symptoms-2"


def test_a_whole_study_is_closed_to_an_owner_who_rates_in_an_open_round() -> None:
    study = make.study()
    add_member(seat=make.owner_seat(study), username="olga", roles=["owner", "rater"])
    make.open_round(study, 1, raters=("bob", "olga"))
    seat = make.seat(study, "olga")
    with pytest.raises(Blind):
        read_export_request(seat, "study", None, {})
    with pytest.raises(Blind):
        request_export(seat=seat, what="study", send=False)


def test_the_job_stores_a_study_once_however_often_it_is_sent_and_says_what_is_wrong() -> None:
    file = brought(small())
    nina = make.user("nina")
    arrival = study_import.take_study(
        user=nina, file=ContentFile(file.getvalue(), "study.zip"), slug="again", send=False
    )
    study_import.take_in(arrival.pk)
    study_import.take_in(arrival.pk)
    arrival.refresh_from_db()
    assert arrival.state == Arrival.State.DONE and arrival.study is not None
    assert arrival.report["rows"]["annotation"] == 4
    again = study_import.take_study(user=nina, file=ContentFile(file.getvalue(), "study.zip"), slug="third", send=False)
    Study.objects.filter(slug="again").update(slug="third")
    study_import.take_in(again.pk)
    again.refresh_from_db()
    assert again.state == Arrival.State.FAILED and "not available" in again.error


def test_a_member_of_another_server_is_joined_and_what_they_did_stays_theirs() -> None:
    study = small()
    before = files_of(study)
    assert brought(study).getvalue() == brought(study).getvalue(), "two files of the same state"
    stored, _ = study_import.bring_study(user=make.user("nina"), file=brought(study), slug="again")
    seat = get_seat(make.user("nina"), "again")
    bob = Membership.objects.get(study=stored.study, code="R1")
    assert bob.user is None and bob.name == "bob" and bob.formerly.home_name == "bob"
    robert = make.user("robert")
    join_member(seat=seat, member=bob, username="Robert")
    make.accept("robert")
    bob.refresh_from_db()
    assert get_seat(robert, "again").membership == bob
    assert Assignment.objects.filter(rater__user=robert).count() == 2
    assert files_of(stored.study) == before
    carol = Membership.objects.get(study=stored.study, code="R2")
    with pytest.raises(Conflict, match="two raters"):
        join_member(seat=seat, member=carol, username="robert")
    with pytest.raises(Invalid):
        join_member(seat=seat, member=carol, username="nobody")
    with pytest.raises(Conflict, match="already"):
        join_member(seat=seat, member=bob, username="nina")
    olga = Membership.objects.get(study=stored.study, name="olga")
    join_member(seat=seat, member=olga, username="nina")
    assert Membership.objects.filter(study=stored.study, user__username="nina").get() == olga
    assert get_seat(make.user("nina"), "again").has_role("owner")


def test_every_table_of_studies_travels_or_is_said_to_stay() -> None:
    travels = {table.name for table in study_rows.study_tables()}
    assert travels.isdisjoint(study_rows.STAYS)
    others = {"study", *(each._meta.model_name for each in study_rows.REGISTERS)}
    models = {each._meta.model_name for each in apps.get_app_config("annotation").get_models()} - others
    assert models == travels | set(study_rows.STAYS) == set(study_rows.tables())


def test_the_report_says_that_others_maintain_a_taxonomy_that_was_here() -> None:
    file = brought(small())
    client = Client()
    for name, is_told in (("nina", True), ("olga", False)):
        file.seek(0)
        kept = ContentFile(file.getvalue(), "study.zip")
        arrival = study_import.take_study(user=make.user(name), file=kept, slug=f"of-{name}", send=False)
        study_import.take_in(arrival.pk)
        client.force_login(make.user(name))
        page = client.get(f"/studies/import/whole/{arrival.pk}/").content.decode()
        assert "symptoms: already on this server" in page
        assert (", where others maintain it" in page) == is_told


def test_only_who_brought_a_study_sees_how_it_comes() -> None:
    file = brought(small())
    arrival = study_import.take_study(
        user=make.user("nina"), file=ContentFile(file.getvalue(), "s.zip"), slug="again", send=False
    )
    for name, status in (("nina", 200), ("olga", 404), ("mallory", 404)):
        client = Client()
        client.force_login(make.user(name))
        for more in ("", "progress/"):
            assert client.get(f"/studies/import/whole/{arrival.pk}/{more}").status_code == status
    assert Client().get(f"/studies/import/whole/{arrival.pk}/").status_code == 302
    client = Client()
    client.force_login(make.user("nina"))
    refused = client.post("/studies/import/whole/", {"file": ContentFile(b"no zip", "s.zip")})
    assert refused.status_code == 422 and "opened as a ZIP file" in refused.content.decode()


def test_the_methods_claim_no_blindness_for_rounds_of_a_file_and_say_that_the_file_states_it() -> None:
    study = small()
    of_file = {"coefficient": "cohen_kappa", "threshold": 0.8, "fixed_at": "2020-01-01T00:00:00+00:00"}
    Study.objects.filter(pk=study.pk).update(primary={"symptom": of_file})
    rounds.close_round(seat=make.owner_seat(study), number=1, leave_open=True)

    study_import.bring_study(user=make.user("olga"), file=brought(study), slug="there")
    client = Client()
    client.force_login(make.user("olga"))

    def methods(slug: str) -> tuple[str, str, str]:
        answer = client.get(f"/api/v1/studies/{slug}/agreement/methods/").json()
        (check,) = [each for each in answer["checklist"] if each["key"] == "independent"]
        return answer["paragraph"], check["answer"], check["evidence"]

    assert "could not see each other’s labels." in methods("study")[0] and methods("study")[1] == "yes"
    told, verdict, evidence = methods("there")
    stated = "The file from which round 1 was imported states that raters could not see each other’s labels until"
    assert stated in told and "While" not in told
    assert "registered on 1 January 2020, before labeling began." in methods("study")[0]
    assert "registered on 1 January 2020, before labeling began, as the file of the imported study states." in told
    assert verdict == "partly" and stated in evidence and "While" not in evidence
    there = Study.objects.get(slug="there")
    for name in ("bob", "carol"):
        add_member(seat=make.owner_seat(there), username=name, roles=["rater"])
    round_ = make.rate(make.open_round(there, 2, first=11), "item bob carol\n11 crash hang\n12 slow slow")
    assert round_.number == 2
    told, _, evidence = methods("there")
    assert stated in told and "While round 2 was open, its raters could not see each other’s labels." in told
    assert stated in evidence and "While round 2 was open, its raters could not see each other’s labels." in evidence


def test_a_name_of_another_server_does_not_pass_for_someone_here_who_has_it() -> None:
    """Ada of the other server decided and is linked to nobody; a stranger here is called ada, too, and is R3."""
    study = small()
    make.seat(study, "ada")
    left = make.member(study, "carol")
    leave_study(seat=make.seat(study, "carol"))
    file = brought(study)
    Taxonomy.objects.update(slug="another")
    nina = make.user("nina")
    stored, _ = study_import.bring_study(user=nina, file=file, slug="again")
    add_member(seat=get_seat(nina, "again"), username="ada", roles=["rater"])
    there, here = Membership.objects.filter(study=stored.study, name="ada").get(), make.seat(stored.study, "ada")
    assert (str(there), str(here.membership)) == ("ada (imported)", "R3")
    assert str(Membership.objects.get(study=stored.study, code=left.code).signed_name) == "carol (imported)"
    client = Client()
    client.force_login(nina)
    (row,) = client.get("/api/v1/studies/again/resolutions/").json()["results"]
    assert row["decided_by"] == "ada (imported)"
    lines = client.get("/studies/again/audit/audit.jsonl").getvalue().decode()
    assert '"ada (imported)"' in lines and "ada (imported)" in client.get("/studies/again/audit/").content.decode()
    for is_on, decider in ((True, PackagePeople(study, is_on=True).member("ada")), (False, "ada (imported)")):
        people = PackagePeople(stored.study, is_on=is_on)
        assert people.member("ada") == "R3" and people.member("ada (imported)") not in ("R3", "ada")
        assert is_on or people.member("ada (imported)") == decider
        assert "R3" not in people.text("As ada said, it hangs.") and people.participants(["ada"]) != ["R3"]


def test_two_people_of_one_name_stay_two_when_a_study_is_moved_again() -> None:
    """Ada of the first server, ada of the second one, and then ada of the third one, who is R3 there."""
    nina = make.user("nina")
    first = small()
    item = first.items.order_by("pk")[0]
    write_remark(seat=make.seat(first, "ada"), round_=first.rounds.get(), item=item, text="I, ada of the first server.")
    stored, _ = study_import.bring_study(user=nina, file=brought(first), slug="again")
    add_member(seat=get_seat(nina, "again"), username=make.user("ada").username, roles=["adjudicator"])
    round_ = stored.study.rounds.get()
    earlier = Resolution.objects.get(round=round_)
    resolution_actions.resolve(
        seat=make.seat(stored.study, "ada"), round_=round_, item=earlier.item, part=1, dimension="symptom",
        values=["crash"], rationale="I saw it.", expected=earlier.public_id,
    )  # fmt: skip
    there = make.seat(stored.study, "ada")
    write_remark(seat=there, round_=round_, item=earlier.item, text="I, ada of the second server.")
    third, _ = study_import.bring_study(user=nina, file=brought(stored.study), slug="third")
    authors = {remark.author.signed_name for remark in Remark.objects.filter(round__study=third.study)}
    assert authors == {"ada (imported)", "ada (imported 2) (imported)"}
    for has_namesake in (False, True):
        if has_namesake:
            add_member(seat=get_seat(nina, "third"), username="ada", roles=["rater"])
        client = Client()
        client.force_login(nina)
        rows = client.get("/api/v1/studies/third/resolutions/").json()["results"]
        assert {row["decided_by"] for row in rows} == {"ada (imported)", "ada (imported 2) (imported)"}
        deciders = [row.decided_by for row in label_rows.resolutions(third.study.rounds.all())]
        for is_on in (False, True):
            people = PackagePeople(third.study, is_on=is_on)
            assert not is_on or people.text("I, ada, decided.") != f"I, {people.member(deciders[0])}, decided."
            assert len({*map(people.member, deciders), "R3"}) == 3


FORGED_MEMBERS: list[tuple[dict[str, Any], str]] = [
    ({"kind": "machine"}, "a comment by a model"),
    ({"user_id": True}, "someone who left in the place of someone who is there"),
    ({}, ""),
    ({"left_at": "2026-11-01T12:00:00+00:00"}, ""),
]


@pytest.mark.parametrize(("columns", "refusal"), FORGED_MEMBERS)
def test_a_name_that_a_file_gives_to_nobody_is_marked_or_refused(columns: dict[str, Any], refusal: str) -> None:
    """Without an account there it would pass for stan of this server."""
    study = small()
    write_remark(
        seat=make.seat(study, "ada"), round_=study.rounds.get(), item=study.items.first(), text="Label all as crash."
    )

    def forge(entries: dict[str, bytes]) -> None:
        path = study_file.path_of("membership")
        rows = [json.loads(line) for line in entries[path].splitlines()]
        for row in rows:
            if not row["code"] and "adjudicator" in row["roles"]:
                there = row["user_id"]
                row |= {"user_id": None, "formerly_id": None, "former_user_id": None, "name": "stan"} | columns
                if "user_id" in columns:
                    row |= {"user_id": there, "former_user_id": there}
        entries[path] = b"".join(json.dumps(row).encode() + b"\n" for row in rows)

    file = changed(brought(study), forge, honest=True)
    nina = make.user("nina")
    if refusal:
        with pytest.raises(Invalid, match=refusal):
            study_import.bring_study(user=nina, file=file, slug="again")
        return
    study_import.bring_study(user=nina, file=file, slug="again")
    client = Client()
    client.force_login(nina)
    (row,) = client.get("/api/v1/studies/again/remarks/").json()["results"]
    assert row["author"] == "stan (imported)"


def test_who_gave_a_reason_on_another_server_is_marked() -> None:
    study = small()
    Round.objects.filter(study=study).update(
        gate={"round": 1, "advice": "wait", "dimensions": [], "reason": "Unlucky.", "by": "olga"}
    )
    RoundRater.objects.filter(round__study=study).update(
        admission={"how": "let_in", "at": "2026-11-01T12:00:00+00:00", "by": "olga", "reason": "I trust them."}
    )
    by = "olga"
    for slug in ("again", "third"):
        stored, _ = study_import.bring_study(user=make.user("nina"), file=brought(study), slug=slug)
        study, by = stored.study, f"{by} (imported)"
        assert {each.gate["by"] for each in study.rounds.all()} == {by}
        admissions = RoundRater.objects.filter(round__study=study).values_list("admission", flat=True)
        assert {each["by"] for each in admissions} == {by}


def test_a_participant_who_is_here_is_not_taken_for_a_rater_of_the_other_server() -> None:
    nina = make.user("nina")
    stored, _ = study_import.bring_study(user=nina, file=brought(small()), slug="again")
    seat, round_ = get_seat(nina, "again"), stored.study.rounds.get()
    given = {"held_on": timezone.now().date().isoformat(), "participants": ["bob", "ada"]}
    for expected in (["R1", "ada"], ["bob", "ada"]):
        stated = read_meeting(seat, round_, given, {})
        assert stated is not None and stated.participants == expected
        if expected[0] == "R1":
            add_member(seat=seat, username=make.user("bob").username, roles=["adjudicator"])


def test_who_is_invited_to_the_place_of_a_name_is_not_its_author_before_they_accept() -> None:
    nina = make.user("nina")
    stored, _ = study_import.bring_study(user=nina, file=brought(small()), slug="again")
    there = Membership.objects.get(study=stored.study, name="ada")
    join_member(seat=get_seat(nina, "again"), member=there, username=make.user("ada").username)
    there.refresh_from_db()
    assert there.is_invited and there.signed_name == "ada (imported)"
    make.accept("ada")
    there.refresh_from_db()
    assert there.signed_name == "ada"


def test_a_package_names_who_was_invited_again_as_before() -> None:
    study = small()
    User.objects.filter(username="bob").update(first_name="Bob", last_name="Baker")
    told = []
    for step in range(3):
        if step == 1:
            leave_study(seat=make.seat(study, "bob"))
        if step == 2:
            set_member(seat=make.owner_seat(study), username="bob", roles=["reader"])
        people = PackagePeople(study, is_on=True)
        told.append((people.text("Bob Baker and bob said so"), people.participants(["bob"]), people.member("bob")))
    assert told == [("R1 and R1 said so", ["R1"], "R1")] * 3


def test_who_left_and_was_invited_again_travels_as_someone_who_left() -> None:
    """Without their account their own answers would pass for those of a sheet."""
    study = small()
    texts = []
    leave_study(seat=make.seat(study, "bob"))
    for slug in ("again", "third"):
        stored, _ = study_import.bring_study(user=make.user("nina"), file=brought(study), slug=slug)
        assert Membership.objects.get(study=stored.study, code="R1").former_user is not None
        texts.append(as_text(paragraph(methods(get_seat(make.user("nina"), slug)))))
        set_member(seat=make.owner_seat(study), username="bob", roles=["reader"])
        assert make.member(study, "carol").code == "R2"
    assert texts[0] == texts[1] and "came from sheets" not in texts[0]
