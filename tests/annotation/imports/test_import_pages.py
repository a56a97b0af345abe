"""Workbooks through their pages: who may, what is shown and asked, what is remembered, and all or nothing."""

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.core.files.base import ContentFile
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import call_command
from django.test import Client
from django.utils import timezone

from accounts.actions import make_token
from annotation import jobs
from annotation.core.access import get_seat
from annotation.imports.actions import workbooks as actions
from annotation.imports.actions import workbooks as workbook_actions
from annotation.imports.queries import workbooks as workbook_queries
from annotation.imports.queries.workbooks import look, opened_book
from annotation.imports.sheets.choices import Choices
from annotation.members.actions.members import add_member
from annotation.models import Assignment, AuditEvent, Rating, Resolution, Round, Spelling, Study, Workbook
from taxonomy.models import Category
from tests import builders as make
from tests.annotation.imports.test_workbooks import fields, imported, upload, visitor
from tests.asserts import assert_queries
from tests.conftest import environment_of_servers
from tests.kill_harness import COMMIT, STATEMENT, Forks, KillPoint

pytestmark = pytest.mark.django_db

NEW = "/studies/import/"
SHEET = """item,rater,symptom
acme/rocket#1,bob,Crash
acme/rocket#1,carol,crahs
acme/rocket#2,bob,hang
acme/rocket#2,carol,wedged
acme/rocket#2,final,hang
"""


def file(text: str = SHEET, name: str = "labels.csv") -> SimpleUploadedFile:
    return SimpleUploadedFile(name, text.encode())


@pytest.fixture
def study() -> Study:
    return make.study()


def values(study: str = "study") -> set[tuple[str, str, str]]:
    """Item, rater's name, category of the current answers."""
    current = Assignment.objects.filter(round__study__slug=study).values("current")
    rows = Rating.objects.filter(annotation__in=current)
    return {
        (each.item.identifier, each.rater.display_name, each.category.key if each.category else "")
        for each in rows.select_related("item", "rater__user", "category")
    }


def as_of(asked: dict[str, str], text: str) -> str:
    """The number of the question about a value, as the form has it."""
    (found,) = [name[6:] for name, value in asked.items() if name.startswith("typed-") and value == text]
    return found


# Who may

WHO = [("olga", 200), ("ada", 403), ("bob", 403), ("rea", 403), ("mallory", 404), (None, 302)]


@pytest.mark.parametrize(("name", "status"), WHO)
def test_only_the_owner_uploads_into_a_study_and_nobody_else_sees_what_was_uploaded(
    study: Study, name: str | None, status: int
) -> None:
    for other, roles in (("ada", ["adjudicator"]), ("rea", ["reader"]), ("ida", ["owner"])):
        add_member(seat=make.owner_seat(study), username=make.user(other).username, roles=roles)
    address = upload(visitor(), [file()], "/studies/study/import/")
    client = visitor(name) if name else Client()
    assert client.get("/studies/study/import/").status_code == status
    for more in ("", "progress/", "refusals.csv"):
        assert client.get(address + more).status_code == status, more
    if status != 200:
        assert client.post("/studies/study/import/", {"file": [file()]}).status_code == status
        assert client.post(address, {"import": "1"}).status_code == status
        assert client.post(address + "throw-away/").status_code == status
        assert Workbook.objects.get().state == "waiting"
    assert visitor("ida").get(address).status_code == 404


def test_an_upload_for_a_new_study_is_its_uploaders_alone_and_later_the_owners(study: Study) -> None:
    address = upload(visitor("bob"), [file()])
    assert visitor("bob").get(address).status_code == 200
    for client in (visitor("olga"), visitor("mallory")):
        assert client.get(address).status_code == 404
        assert client.post(address, {"import": "1"}).status_code == 404
    assert Client().get(address).status_code == 302
    assert visitor("bob").get(NEW + "99999/").status_code == 404
    imported(visitor("bob"), address, slug="made")
    assert visitor("bob").get(address).status_code == 200
    add_member(seat=get_seat(make.user("bob"), "made"), username="olga", roles=["owner"])
    Study.objects.get(slug="made").memberships.filter(user__username="bob").update(roles=["rater"])
    assert visitor("bob").get(address).status_code == 403


def test_a_study_of_several_files_is_called_as_all_their_names_begin() -> None:
    upload(visitor(), [file(name="Reliability_analysis_round1.csv"), file(name="Reliability_analysis_round2.csv")])
    asked = Choices.from_json(Workbook.objects.get().mapping).study
    assert (asked.title, asked.slug) == ("Reliability analysis", "reliability-analysis")


def test_pages_take_as_many_queries_for_large_sheets_as_for_small_ones(study: Study) -> None:
    client = visitor()
    addresses = []
    for n in (3, 300):
        rows = "".join(f"i{each},{rater},crash\n" for each in range(n) for rater in ("bob", "carol"))
        addresses.append(upload(client, [file("item,rater,symptom\n" + rows)], "/studies/study/import/"))
    for address in addresses:
        with assert_queries(12):  # one for the rounds of the study, three for what is hidden here
            assert client.get(address).status_code == 200
    with assert_queries(5):
        client.get("/studies/study/import/")


# What is shown and asked


def test_a_new_study_from_a_sheet_with_what_looks_alike_said_to_be_the_same() -> None:
    client = visitor()
    address = upload(client, [file()])
    asked = fields(client, address)
    number = as_of(asked, "crahs")
    page = client.get(address).content.decode()
    assert "the same as “Crash”" in page and "line 3" in page and "wedged" in page
    found = imported(client, address, **{f"as-{number}": "same", "slug": "made", "title": "Made from labels"})
    assert found.state == "done", found.error
    study = Study.objects.get(slug="made")
    assert study.title == "Made from labels" and found.study == study
    names = Category.objects.filter(dimension__version__taxonomy=study.taxonomy).values_list("name", flat=True)
    assert set(names) == {"Crash", "hang", "wedged"}
    assert values("made") == {
        ("acme/rocket#1", "bob", "crash"), ("acme/rocket#1", "carol", "crash"),
        ("acme/rocket#2", "bob", "hang"), ("acme/rocket#2", "carol", "wedged"),
    }  # fmt: skip
    assert Resolution.objects.count() == 1
    spelling = Spelling.objects.get()
    assert (spelling.dimension_key, spelling.spelling, spelling.category_key) == ("symptom", "crahs", "crash")
    report = client.get(address).content.decode()
    assert (
        "4 new ratings were imported" in report
        and "The sheet has 2 items and 2 raters." in report
        and "/studies/made/agreement/" in report
    )


def test_an_upload_is_not_shown_as_one_that_had_the_name_of_its_file(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workbook_queries, "KEPT_LINES_MOST", 10)
    vic, eve = visitor("vic"), visitor("eve")
    address = upload(vic, [file("item,rater,symptom\nsecretlab/model#1,VIC,Crash\n")])
    assert "secretlab/model#1" in vic.get(address).content.decode()
    first = Workbook.objects.get().file.name
    assert first is not None and vic.post(address + "throw-away/").status_code == 302
    own = "item,rater,symptom\n" + "".join(f"acme/rocket#{n},EVE,Hang\n" for n in range(1, 20))
    monkeypatch.setattr(workbook_actions, "unused_name", lambda *_: Path(first).name)
    address = upload(eve, [file(own)])
    assert Workbook.objects.get().file.name == first, "as earlier versions named it"
    page = eve.get(address).content.decode()
    assert "acme/rocket#1" in page and "secretlab" not in page and "VIC" not in page


def test_a_form_with_a_nul_is_refused_by_its_field(study: Study) -> None:
    """PostgreSQL keeps no such text. The same check is made of every form."""
    olga = visitor("olga")
    book = upload(olga, [file()])
    for path, field in ((book, "title"), ("/taxonomies/", "text"), ("/taxonomies/", "preset")):
        answer = olga.post(path, {field: "a\0b"})
        assert answer.status_code == 422, path
        page = answer.content.decode()
        assert field in page and "Remove the character U+0000" in page and "\0" not in page
        in_place = olga.post(path, {field: "a\0b"}, headers={"HX-Request": "true"})
        assert in_place.status_code == 422 and in_place["HX-Retarget"] == "#messages"


def test_a_row_of_a_wide_sheet_counts_once_in_report_and_audit_log() -> None:
    client = visitor()
    address = upload(client, [file("item,symptom R1,symptom R2,symptom final\na,x,x,\nb,x,y,x\nc,,,\n")])
    found = imported(client, address, slug="made", title="Made from labels")
    assert found.state == "done", found.error
    report = found.report or {}
    assert (report["n_rows"], report["n_rows_without_label"], report["n_ratings"]) == (2, 1, 4)
    assert AuditEvent.objects.get(verb="ratings imported").detail["rows"] == 2


def test_what_was_decided_holds_for_later_imports_by_page_rest_and_command(study: Study, tmp_path: Any) -> None:
    client = visitor()
    address = upload(client, [file()], "/studies/study/import/")
    asked = fields(client, address)
    assert "rejected" in client.get(address).content.decode()
    crash, wedged = as_of(asked, "crahs"), as_of(asked, "wedged")
    imported(client, address, **{f"as-{crash}": "same", f"as-{wedged}": "pending"})
    assert ("acme/rocket#1", "carol", "crash") in values()
    assert set(Spelling.objects.values_list("spelling", "category_key", "is_pending")) == {
        ("crahs", "crash", False), ("wedged", "", True),
    }  # fmt: skip
    again = SHEET.replace("rocket#", "rocket#1")
    page = upload(client, [file(again)], "/studies/study/import/")
    assert not [name for name in fields(client, page) if name.startswith("typed-")]
    path = tmp_path / "again.csv"
    path.write_text(again)
    call_command("import_ratings", str(path), "--study", "study", "--dimensions", "symptom")
    assert ("acme/rocket#11", "carol", "crash") in values()
    token = make_token(user=make.user("olga"), name="t", scope="manage")[1]
    answer = client.post(
        "/api/v1/studies/study/ratings/?dimensions=symptom",
        SHEET.replace("rocket#", "rocket#2"),
        content_type="text/csv",
        headers={"Authorization": f"Bearer {token}"},
    )
    assert answer.status_code == 201 and answer.json()["n_refused"] == 0
    assert ("acme/rocket#21", "carol", "crash") in values()


def test_an_unknown_value_is_refused_with_its_row_or_no_rating_or_a_category_of_a_new_version(study: Study) -> None:
    client = visitor()
    address = upload(client, [file()], "/studies/study/import/")
    wedged = as_of(fields(client, address), "wedged")
    found = imported(client, address, **{f"as-{wedged}": "new"})
    (refusal,) = (found.report or {})["refusals"]
    assert (refusal["line"], "The nearest is “Crash”" in refusal["reason"]) == (3, True)
    assert ("acme/rocket#2", "carol", "wedged") in values()
    assert study.taxonomy.versions.latest("number").number == 2
    rows = client.get(address + "refusals.csv").content.decode("utf-8-sig").splitlines()
    assert rows[0] == "sheet,line,reason,row" and rows[1].startswith(",3,")
    address = upload(client, [file(SHEET.replace("#", "#7"))], "/studies/study/import/")
    crahs = as_of(fields(client, address), "crahs")
    found = imported(client, address, **{f"as-{crahs}": "nothing"})
    assert (found.report or {})["n_refused"] == 0 and ("acme/rocket#71", "carol") not in {each[:2] for each in values()}


def test_a_form_that_is_not_finished_says_what_is_missing_and_keeps_what_was_chosen(study: Study) -> None:
    client = visitor()
    address = upload(client, [file()])
    without = {name: "" if name.startswith("role-") else value for name, value in fields(client, address).items()}
    answer = client.post(address, without | {"import": "1"})
    assert answer.status_code == 422 and "No column contains the item" in answer.content.decode()
    assert all(value == "" for name, value in fields(client, address).items() if name.startswith("role-"))
    other = upload(client, [file()])
    taken = client.post(other, fields(client, other) | {"slug": "study", "import": "1"})
    assert taken.status_code == 409 and "his ID is not available" in taken.content.decode()
    strange = client.post(other, fields(client, other) | {"slug": "No slug!", "import": "1"})
    assert strange.status_code == 422
    assert set(Workbook.objects.values_list("state", flat=True)) == {"waiting"}


def test_another_form_or_head_line_reads_the_sheet_anew(study: Study) -> None:
    client = visitor()
    text = "A title,,\n,,\nitem,Alice,Bob\n" + "".join(f"i{n},crash,hang\n" for n in range(4))
    address = upload(client, [file(text)])
    asked = fields(client, address)
    assert asked["head-0"] == "3"
    client.post(address, asked | {"form-0": "raters"})
    found = fields(client, address)
    assert (found["whose-0-1"], found["dimension-0-1"]) == ("Alice", "label")
    client.post(address, found | {"head-0": "1"})
    assert fields(client, address)["head-0"] == "1"


def test_a_ready_made_taxonomy_takes_stage_and_leaf_as_the_levels_of_its_symptoms() -> None:
    client = visitor()
    text = "item,rater,Issue type,Stage,Leaf\ni1,bob,fault,Package build & import,import error\n"
    address = upload(client, [file(text)])
    asked = fields(client, address) | {"taxonomy": "ready-made:liu-2023", "slug": "made"}
    client.post(address, asked)
    levels = {name: "Symptom" for name, value in asked.items() if value in ("Stage", "Leaf")}
    client.post(address, asked | levels)
    page = client.get(address).content.decode()
    assert "Package build and import / Import error" in page
    number = as_of(fields(client, address), "Package build & import / import error")
    found = imported(client, address, **{f"as-{number}": "same"})
    assert found.state == "done", found.error
    assert values("made") == {("i1", "bob", "fault"), ("i1", "bob", "import-error")}


def test_no_study_is_made_where_nothing_fits_the_taxonomy_that_was_chosen() -> None:
    client = visitor()
    address = upload(client, [file("item,rater,colour\ni1,bob,red\n")])
    found = imported(client, address, taxonomy="ready-made:liu-2023", slug="made")
    assert found.state == "failed" and "has no dimension “colour”" in found.error
    assert not Study.objects.exists()


def test_a_taxonomy_made_from_a_sheet_does_not_name_its_file_and_the_page_tells_who_reads_it() -> None:
    client = visitor()
    address = upload(client, [file(name="layoffs_secret.csv")])
    told = "A new taxonomy gets the title and ID of the study. Everyone who is signed in can read both"
    assert told in client.get(address).content.decode()
    assert imported(client, address, slug="made", title="Made").state == "done"
    version = Study.objects.get(slug="made").taxonomy.versions.get()
    assert version.note == "Made from the values of an imported sheet."
    shown = Client()
    shown.force_login(make.user("mallory"))
    assert "secret" not in shown.get("/taxonomies/made/versions/1/").content.decode()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("content", "name", "words"),
    [
        (b"\xd0\xcf\x11\xe0", "old.xls", "old workbook"),
        (b"", "empty.csv", "empty"),
        (b"PK\x03\x04", "cut.xlsx", "incomplete"),
        (b'{"a": 1}', "a.json", "Unknown JSON"),
    ],
)
def test_what_cannot_be_read_is_refused_at_the_upload(content: bytes, name: str, words: str) -> None:
    answer = visitor().post(NEW, {"file": [SimpleUploadedFile(name, content)]})
    assert answer.status_code == 422 and words in answer.content.decode() and not Workbook.objects.exists()


def test_a_file_that_is_too_large_is_refused(settings: Any) -> None:
    settings.UPLOAD_BYTES_MAX = 10
    answer = visitor().post(NEW, {"file": [file()]})
    assert answer.status_code == 422 and "At most 10 are allowed" in answer.content.decode()


def test_a_refused_row_that_begins_a_formula_is_defused(study: Study) -> None:
    client = visitor()
    text = f"item,rater,symptom\n={'c' * 501},bob,hang\nx,bob,crash\n"
    address = upload(client, [file(text)], "/studies/study/import/")
    imported(client, address)
    assert ",'=cc" in client.get(address + "refusals.csv").content.decode("utf-8-sig")


# All or nothing


def queued(study: Study | None = None, text: str = SHEET) -> Workbook:
    seat = make.owner_seat(study) if study else None
    found = actions.take_workbook(user=make.user("olga"), files=[ContentFile(text.encode(), "made.csv")], seat=seat)
    actions.confirm_workbook(workbook=found, send=False)
    return found


def test_a_job_that_runs_twice_imports_once(study: Study) -> None:
    found = queued(study)
    jobs.import_workbook(found.pk)
    before = (Rating.objects.count(), Round.objects.count())
    jobs.import_workbook(found.pk)
    assert (Rating.objects.count(), Round.objects.count()) == before
    with pytest.raises(actions.WrongState):
        actions.confirm_workbook(workbook=found)


def test_an_import_that_fails_says_why_stores_nothing_and_can_be_changed_and_run_again() -> None:
    found = queued()
    make.study("made", text=make.SYMPTOMS.replace("slug: symptoms", "slug: made"))
    asked = {"title": "M", "slug": "made", "taxonomy": ""}
    Workbook.objects.filter(pk=found.pk).update(mapping=found.mapping | {"study": asked})
    jobs.import_workbook(found.pk)
    found.refresh_from_db()
    assert found.state == "failed" and "his ID is not available" in found.error
    client = visitor()
    address = f"{NEW}{found.pk}/"
    assert "Not imported" in client.get(address).content.decode()
    again = imported(client, address, slug="made-anew")
    assert again.state == "done" and Study.objects.filter(slug="made-anew").exists()


def test_an_upload_is_thrown_away_by_hand_or_after_two_days_and_an_imported_one_keeps_its_report(study: Study) -> None:
    client = visitor()
    address = upload(client, [file()])
    assert client.post(address + "throw-away/").status_code == 302 and not Workbook.objects.exists()
    upload(client, [file()])
    done = queued(study)
    jobs.import_workbook(done.pk)
    long_ago = timezone.now().replace(year=2020)
    Workbook.objects.update(created_at=long_ago)
    Workbook.objects.filter(pk=done.pk).update(done_at=long_ago)
    jobs.remove_old_workbooks()
    (left,) = Workbook.objects.all()
    assert left.pk == done.pk and not left.file and left.report
    assert client.get(f"/studies/study/import/{done.pk}/").status_code == 200


def test_the_preview_counts_what_the_import_then_stores(study: Study) -> None:
    client = visitor()
    upload(client, [file()], "/studies/study/import/")
    found = Workbook.objects.get()
    seen = look(make.user("olga"), opened_book(found), Choices.from_json(found.mapping), study)
    assert (seen.n_items, seen.n_ratings, len(seen.refusals)) == (2, 2, 2)
    actions.confirm_workbook(workbook=found, send=False)
    jobs.import_workbook(found.pk)
    found.refresh_from_db()
    report = found.report or {}
    assert (report["n_items"], report["n_ratings"], report["n_refused"]) == (2, 2, 2)


@pytest.fixture(scope="module")
def forks(django_db_setup: None) -> Iterator[Forks]:
    with Forks(environment_of_servers()) as forks:
        yield forks


@pytest.mark.process
@pytest.mark.worker
@pytest.mark.django_db(transaction=True)
def test_an_import_whose_worker_is_killed_anywhere_leaves_nothing_and_is_whole_in_the_end(
    forks: Forks,
) -> None:
    rows = "".join(f"i{n},{rater},{'crash' if n % 3 else 'hang'}\n" for n in range(40) for rater in ("bob", "carol"))
    found = queued(text="item,rater,symptom\n" + rows)
    draw = random.Random(1)
    passed = 0
    for place in (STATEMENT, STATEMENT, COMMIT, STATEMENT):
        kill_point = KillPoint(place, draw.randint(3, 25) if place == STATEMENT else 1)
        report = forks.work("workbook", found.pk, kill_point=kill_point)
        passed += report.killed
        if report.killed and place == STATEMENT:
            assert not Study.objects.exists() and not Rating.objects.exists()
    forks.work("workbook", found.pk)
    found.refresh_from_db()
    assert passed >= 2 and found.state == "done"
    assert Rating.objects.count() == 80 and Assignment.objects.count() == 80 and Study.objects.count() == 1


def test_a_page_reads_the_beginning_of_a_large_file_and_asks_later_what_stopped_its_import(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Behind it the head stands once more, and a value that often means none."""
    for module in (workbook_queries, workbook_actions):
        monkeypatch.setattr(module, "CELLS_READ_MOST", 200)
    pairs = [(n, rater) for n in range(1, 61) for rater in ("bob", "carol")]
    rows = [f"acme/rocket#{n},{rater},{'crash' if n % 2 else 'hang'}\n" for n, rater in pairs]
    head = "item,rater,symptom\n"
    client = visitor()
    address = upload(client, [file(head + "".join(rows) + head + "acme/rocket#1,dave,-\n")])
    page = client.get(address).content.decode()
    assert "in the first 65 rows" in page and 'name="question-' not in page
    found = imported(client, address, slug="made", title="Made")
    assert (found.state, Study.objects.count()) == ("failed", 0)
    page = client.get(address).content.decode()
    assert "1 question about the sheet is open" in page and "“-” often stands for a missing value" in page
    found = imported(client, address, **{"answer-1": "none", "slug": "made", "title": "Made"})
    assert found.state == "done", found.error
    assert (found.report or {})["n_refused"] == 0, "the second head is left out, as everywhere"
    assert len(values("made")) == len(rows)
