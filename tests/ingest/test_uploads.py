"""Tables on their way in: page, REST, command; what was refused, as a file; what is removed after a while."""

import csv
import io
import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import openpyxl
import pytest
from django.conf import settings
from django.core.files.base import ContentFile
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import CommandError, call_command
from django.test import Client
from django.utils import timezone

from accounts.actions import make_token
from accounts.models import User
from ingest import run_steps
from ingest.actions.fetches import continue_run
from ingest.actions.uploads import confirm_upload, take_file, take_upload
from ingest.errors import Conflict, NotFound
from ingest.files import leftovers
from ingest.files.json_rows import BATCH_ROWS
from ingest.models import FetchRun, Issue, Refusal, Upload
from ingest.tables import sample
from tests.asserts import assert_queries
from tests.ingest.stored_rows import counts

pytestmark = pytest.mark.django_db

TABLE = "Issue #,Summary,State,Tags\n1,It hangs,open,bug;nccl\n2,It crashes,closed,\nx,No number,open,\n"
COLUMNS = {"number": "Issue #", "title": "Summary", "state": "State", "labels": "Tags"}


def signed_in(name: str) -> Client:
    client = Client()
    client.force_login(User.objects.filter(username=name).first() or User.objects.create_user(name))
    return client


@pytest.fixture
def ann() -> Client:
    return signed_in("ann")


def upload(client: Client, content: str | bytes, name: str = "issues.csv", **fields: Any) -> Any:
    content = content.encode() if isinstance(content, str) else content
    return client.post("/repositories/upload/", {"file": SimpleUploadedFile(name, content)} | fields)


def chosen(**columns: str) -> dict[str, str]:
    return {f"column-{key}": name for key, name in columns.items()}


def workbook() -> bytes:
    book = openpyxl.Workbook()
    book.active.title = "About"
    book.active.append(["What this is"])
    sheet = book.create_sheet("Issues")
    sheet.append(["number", "title"])
    sheet.append([7, "Seven"])
    out = io.BytesIO()
    book.save(out)
    return out.getvalue()


def file_path(row: FetchRun | Upload) -> Path:
    return Path((row.upload if isinstance(row, FetchRun) else row.file).path)


# Page


def test_a_table_is_shown_with_its_guess_and_nothing_is_stored_before_it_is_confirmed(ann):
    answer = upload(ann, TABLE, repository="o/r")
    waiting = Upload.objects.get()
    assert (answer.status_code, answer.url) == (302, f"/uploads/{waiting.pk}/")
    with assert_queries(4):
        shown = ann.get(answer.url)
    page = shown.content.decode()
    assert {choice.field.key: choice.column for choice in shown.context["choices"] if choice.column} == COLUMNS
    assert "Import 3 rows" in page
    assert "o/r#1" in page
    assert "Issue #: “x” is not the number of an issue." in page
    assert not FetchRun.objects.exists()
    answer = ann.post(answer.url, chosen(**COLUMNS) | {"repository": "o/r"})
    run = FetchRun.objects.get()
    assert answer.url == f"/fetches/{run.pk}/"
    assert not Upload.objects.exists()
    run_steps.work(run.pk)
    run.refresh_from_db()
    assert (run.state, run.error, counts(run)) == ("done", "", (3, 2, 0, 0, 1))
    assert Issue.objects.get(number=1).current_snapshot.github_labels == ["bug", "nccl"]
    assert [(row.line, row.row) for row in run.refusals.all()] == [(4, "x,No number,open,")]


def test_the_preview_follows_the_columns_that_are_chosen(ann):
    address = upload(ann, TABLE).url
    page = ann.get(address).content.decode()
    assert "It is not known which repository this issue is of" in page
    part = ann.get(f"{address}columns/", chosen(number="Issue #", title="Tags") | {"repository": "p/q"})
    page = part.content.decode()
    assert "bug;nccl" in page
    assert "p/q#1" in page
    assert "Line 3" in page
    assert "The title is missing." in page
    assert "<html" not in page
    part = ann.get(f"{address}columns/", chosen(title="Summary"))
    assert "Choose the column of the number" in part.content.decode()
    assert "disabled" in part.content.decode()
    part = ann.get(f"{address}columns/", chosen(title="Summary", number="Issue #") | {"repository": "nonsense"})
    assert "is not a repository. Enter owner/name." in part.content.decode()


def test_a_mapping_that_lacks_something_imports_nothing(ann):
    address = upload(ann, TABLE).url
    answer = ann.post(address, chosen(title="Summary"))
    assert answer.status_code == 422
    assert "Choose the column of the number" in answer.content.decode()
    answer = ann.post(address, chosen(**COLUMNS) | {"repository": "nonsense"})
    assert answer.status_code == 422
    answer = ann.post(address, chosen(title="Summary", number="Not there"))
    assert "Column “Not there” not found." in answer.content.decode()
    answer = ann.post(address, chosen(title="Summary", number="Issue #") | {"draw": "1"})
    assert answer.status_code == 200
    assert Upload.objects.count() == 1
    assert not FetchRun.objects.exists()


def test_another_sheet_of_a_workbook_is_chosen(ann):
    address = upload(ann, workbook(), "issues.xlsx", repository="o/r").url
    assert ann.get(address).context["sample"].sheet == "About"
    assert ann.post(f"{address}sheet/", {"sheet": "Nothing"}).status_code == 422
    assert ann.post(f"{address}sheet/", {"sheet": "Issues"}).url == address
    assert "o/r#7" in ann.get(address).content.decode()
    ann.post(address, chosen(number="number", title="title") | {"repository": "o/r"})
    run_steps.work(FetchRun.objects.get().pk)
    assert Issue.objects.get().current_snapshot.title == "Seven"


def test_an_upload_that_is_thrown_away_while_another_sheet_is_read_is_gone(
    ann, monkeypatch: pytest.MonkeyPatch
) -> None:
    address = upload(ann, workbook(), "issues.xlsx", repository="o/r").url

    def thrown_away(*asked: Any) -> Any:
        Upload.objects.all().delete()
        return sample(*asked)

    monkeypatch.setattr("ingest.actions.uploads.sample", thrown_away)
    answer = ann.post(f"{address}sheet/", {"sheet": "Issues"})
    assert answer.status_code == 404 and "already imported or discarded" in answer.content.decode()


def test_an_upload_is_imported_once_and_thrown_away_with_its_file(ann, django_capture_on_commit_callbacks):
    owner = User.objects.get(username="ann")
    waiting = take_upload(user=owner, file=ContentFile(TABLE.encode(), name="a.csv"), repository="o/r")
    path = file_path(waiting)
    again = Upload.objects.get()
    run = confirm_upload(upload=waiting, columns=COLUMNS, repository="o/r", send=False)
    assert file_path(run) == path
    with pytest.raises(NotFound):
        confirm_upload(upload=again, columns=COLUMNS, repository="o/r", send=False)
    address = upload(ann, TABLE).url
    path = file_path(Upload.objects.get())
    with django_capture_on_commit_callbacks(execute=True):
        assert ann.post(f"{address}throw-away/").url == "/repositories/"
    assert not path.exists()
    assert ann.get(address).status_code == 404


def test_uploads_that_wait_are_listed_for_their_owner(ann):
    address = upload(ann, TABLE).url
    assert address in ann.get("/repositories/").content.decode()
    assert address not in signed_in("bob").get("/repositories/").content.decode()


def test_an_upload_is_only_its_owners(ann):
    address = upload(ann, TABLE).url
    for name in ("", "columns/"):
        assert signed_in("bob").get(address + name).status_code == 404
        assert Client().get(address + name).status_code == 302
    for name in ("", "sheet/", "throw-away/"):
        assert signed_in("bob").post(address + name).status_code == 404
    assert ann.get("/uploads/999999/").status_code == 404
    assert Upload.objects.exists()


def test_a_file_that_is_no_table_says_so_beside_the_form(ann):
    answer = upload(ann, b"PK\x03\x04 no workbook", "issues.xlsx")
    assert answer.status_code == 422
    assert "The workbook can&#x27;t be read" in answer.content.decode()
    answer = upload(ann, "n\xe9,title\n1,a\n".encode("cp1252"))
    assert "Windows-1252" in answer.content.decode()
    assert not Upload.objects.exists()


def test_a_table_with_hostile_names_and_texts_is_shown_as_text(ann):
    hostile = "<script>alert(1)</script>"
    address = upload(ann, f'number,title,"{hostile}"\n1,{hostile},"{hostile}"\nx,{hostile},a\x00b\n').url
    for page in (ann.get(address), ann.get(f"{address}columns/", chosen(number="number", title=hostile))):
        assert page.status_code == 200
        assert hostile not in page.content.decode()


# A run


def test_a_long_table_goes_on_where_it_stopped(db, monkeypatch):
    content = "number,title\n" + "".join(f"{n},Issue {n}\n" for n in range(1, 2 * BATCH_ROWS + 11))
    run = take_file(
        user=None, private=False, file=ContentFile(content.encode(), name="a.csv"), repository="o/r", send=False
    )
    stored = run_steps.store_records

    def stop_at_the_second(run, records):
        if run.n_new:
            raise KeyboardInterrupt
        return stored(run, records)

    monkeypatch.setattr(run_steps, "store_records", stop_at_the_second)
    with pytest.raises(KeyboardInterrupt):
        run_steps.work(run.pk)
    monkeypatch.undo()
    run.refresh_from_db()
    assert (run.n_new, run.cursor["place"]) == (BATCH_ROWS, {"rows": BATCH_ROWS})
    FetchRun.objects.filter(pk=run.pk).update(state="queued")
    run_steps.work(run.pk)
    run.refresh_from_db()
    assert (run.state, run.n_new, run.n_unchanged, run.n_refused) == ("done", 2 * BATCH_ROWS + 10, 0, 0)
    assert run.n_bytes_read == run.n_bytes


def test_a_run_whose_table_is_broken_says_so(db):
    run = take_file(
        user=None, private=False, file=ContentFile(TABLE.encode(), name="a.csv"), repository="o/r", send=False
    )
    run.upload.storage.delete(run.upload.name)
    FetchRun.objects.filter(pk=run.pk).update(upload=run.upload.storage.save("x.csv", ContentFile(b"a,b\n1,2\n")))
    run_steps.work(run.pk)
    run.refresh_from_db()
    assert (run.state, "Column “Issue #” not found." in run.error) == ("failed", True)


# REST and command


def send(content: str | bytes, name: str = "issues.csv", who: str = "ann", **fields: Any) -> Any:
    return Client().post("/api/v1/fetches/", {"file": file_of(content, name)} | fields, headers=token(who))


def test_blank_lines_are_not_read_by_the_million_while_someone_waits(ann: Client) -> None:
    token = make_token(user=User.objects.get(username="ann"), name="t", scope="manage")[1]
    headers = {"Authorization": f"Bearer {token}"}
    blank, rows = b"\n" * 300_000, TABLE.encode().split(b"\n", 1)
    for content, status in (
        (TABLE.encode() + blank, 202),
        (blank + TABLE.encode(), 400),
        (rows[0] + b"\n" + blank + rows[1], 400),
    ):
        file = SimpleUploadedFile("issues.csv", content)
        answer = ann.post("/api/v1/fetches/", {"file": file, "repository": "o/r"}, headers=headers)
        assert answer.status_code == status, answer.content
        if status == 400:
            assert answer.json()["message"].startswith("More than 20,000 lines up to line 20,00")
        file = SimpleUploadedFile("issues.csv", content)
        with file.open() as opened:
            read_from = opened.file  # type: ignore[union-attr]
            if status == 202:
                found = sample(read_from)
                assert (found.n_rows, found.is_counted) == (3, False)
                assert read_from.tell() < len(content) / 5
    run_steps.work(FetchRun.objects.get().pk)
    assert Issue.objects.count() == 2
    page = upload(ann, TABLE.encode() + blank, repository="o/r")
    assert "more than 2 rows" in " ".join(ann.get(page.headers["Location"]).content.decode().split())


def file_of(content: str | bytes, name: str) -> SimpleUploadedFile:
    return SimpleUploadedFile(name, content.encode() if isinstance(content, str) else content)


def token(who: str) -> dict[str, str]:
    user = User.objects.filter(username=who).first() or User.objects.create_user(who)
    return {"Authorization": f"Bearer {make_token(user=user, name='t', scope='manage')[1]}"}


def test_a_table_comes_in_over_rest_by_its_columns_or_the_guess(db):
    for fields in ({"columns": json.dumps(COLUMNS)}, {}):
        answer = send(TABLE, repository="o/r", **fields)
        assert answer.status_code == 202
        assert answer.json()["requested"]["columns"] == COLUMNS
        run = FetchRun.objects.get(pk=answer.json()["id"])
        run_steps.work(run.pk)
        run.refresh_from_db()
        assert (run.state, run.n_seen, run.n_refused) == ("done", 3, 1)


def test_a_guess_that_is_not_beyond_doubt_names_the_columns_and_what_was_guessed(db):
    answer = send("number,Title,title\n1,a,b\n", repository="o/r")
    assert (answer.status_code, answer.json()["code"]) == (422, "columns")
    assert answer.json()["fields"]["columns"] == [
        "Title can be “Title” or “title”.",
        "The columns are: number, Title, title.",
        "Guessed: number=number.",
    ]
    assert not FetchRun.objects.exists()


@pytest.mark.parametrize(
    "columns", ["[]", "{", '{"number": 1}', '{"number": "nope", "title": "Summary"}', '{"x": "y"}']
)
def test_columns_that_do_not_fit_are_told(db, columns):
    answer = send(TABLE, columns=columns)
    assert answer.status_code == 422
    assert "columns" in answer.json()["fields"]


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ("number,title\n", "The table has no rows."),
        (
            "number,title\n1,ä\n".encode("latin-1"),
            "No row of the table can be read. Line 2: The row has bytes that are",
        ),
    ],
)
def test_a_table_without_a_row_that_can_be_read_says_why_before_columns_are_guessed(db, content, sentence):
    answer = send(content, repository="o/r")
    assert answer.status_code == 422
    assert answer.json()["message"].startswith(sentence)


def test_columns_of_a_file_of_json_are_refused(db):
    assert send('{"number":1,"title":"a"}', "a.json", columns=json.dumps(COLUMNS)).status_code == 422


def test_a_sheet_is_named_over_rest(db):
    answer = send(workbook(), "a.xlsx", repository="o/r", sheet="Issues")
    assert answer.status_code == 202
    run_steps.work(answer.json()["id"])
    assert Issue.objects.get().number == 7
    assert send(workbook(), "a.xlsx", sheet="None such").status_code == 400


def run_command(*arguments: str) -> str:
    out = io.StringIO()
    call_command("fetch", *arguments, stdout=out, stderr=io.StringIO())
    return out.getvalue()


def test_the_command_takes_a_table_by_the_same_rule_and_in_the_same_words(db, tmp_path):
    path = tmp_path / "issues.csv"
    path.write_text("nr;what happened;title\n1;It hangs;\n2;It crashes;\n")
    said = run_command("--file", str(path), "--repository", "o/r", "--map", "number=NR", "--map", "title=what happened")
    assert "2 new" in said
    path.write_text("number,Title,title\n1,a,b\n")
    with pytest.raises(CommandError, match="Title can be “Title” or “title”. The columns are: number, Title, title."):
        run_command("--file", str(path), "--repository", "o/r")
    with pytest.raises(CommandError, match="is not FIELD=COLUMN"):
        run_command("--file", str(path), "--map", "number")


# Refused rows


@pytest.fixture
def refused() -> FetchRun:
    owner = User.objects.create_user("ann")
    content = 'number,title\n1,a\n=1+1,"b\nc"\n@x,d\n'
    run = take_file(user=owner, file=ContentFile(content.encode(), name="a.csv"), repository="o/r", send=False)
    run_steps.work(run.pk)
    return run


def test_refused_rows_are_a_file_with_line_reason_and_row(refused):
    answer = signed_in("ann").get(f"/fetches/{refused.pk}/refusals.csv")
    assert answer["Content-Disposition"] == f'attachment; filename="refused-rows-{refused.pk}.csv"'
    found = list(csv.reader(io.StringIO(answer.getvalue().decode(), newline="")))
    assert found == [
        ["line", "reason", "row"],
        ["3", "number: “=1+1” is not the number of an issue.", '\'=1+1,"b\nc"'],
        ["5", "number: “@x” is not the number of an issue.", "'@x,d"],
    ]


def test_refused_rows_come_over_rest_as_pages_and_as_files(refused):
    address = f"/api/v1/fetches/{refused.pk}/refusals/"
    page = Client().get(f"{address}?page_size=1", headers=token("ann")).json()
    assert page["results"][0]["line"] == 3
    page = Client().get(page["next"], headers=token("ann")).json()
    assert (page["results"][0]["row"], page["next"]) == ("@x,d", None)
    lines = Client().get(f"{address}?format=jsonl", headers=token("ann")).getvalue().decode().splitlines()
    assert [json.loads(line)["row"] for line in lines] == ['=1+1,"b\nc"', "@x,d"]
    assert Client().get(f"{address}?format=csv", headers=token("ann"))["Content-Type"].startswith("text/csv")
    assert Client().get(f"{address}?format=parquet", headers=token("ann")).status_code == 422


def test_refused_rows_are_only_for_who_sees_the_run(refused):
    for query in ("", "?format=csv"):
        address = f"/api/v1/fetches/{refused.pk}/refusals/{query}"
        assert Client().get(address, headers=token("bob")).status_code == 404
        assert Client().get(address).status_code == 401
    assert signed_in("bob").get(f"/fetches/{refused.pk}/refusals.csv").status_code == 404


def test_a_run_without_refusals_gives_the_head_line_alone(refused):
    Refusal.objects.all().delete()
    assert signed_in("ann").get(f"/fetches/{refused.pk}/refusals.csv").getvalue() == b"line,reason,row\n"


# After a while


def test_uploads_that_nobody_confirmed_go_after_two_days(ann):
    upload(ann, TABLE)
    upload(ann, TABLE)
    old, new = Upload.objects.order_by("pk")
    Upload.objects.filter(pk=old.pk).update(created_at=timezone.now() - timedelta(days=2, minutes=1))
    assert leftovers.remove_old_files() == 1
    assert (file_path(old).exists(), file_path(new).exists()) == (False, True)
    assert list(Upload.objects.all()) == [new]
    assert leftovers.remove_old_files() == 0


def test_files_of_runs_that_ended_long_ago_go_and_such_a_run_can_not_be_continued(refused, settings):
    settings.UPLOADS_KEPT_DAYS = 5
    path = file_path(FetchRun.objects.get())
    long_ago = timezone.now() - timedelta(days=5, minutes=1)
    FetchRun.objects.update(state="queued", finished_at=long_ago)
    assert leftovers.remove_old_files() == 0
    FetchRun.objects.update(state="failed", finished_at=timezone.now())
    assert leftovers.remove_old_files() == 0
    FetchRun.objects.update(finished_at=long_ago)
    path.unlink()  # as if the server stopped after the file went
    assert leftovers.remove_old_files() == 1
    run = FetchRun.objects.get()
    assert not run.upload
    with pytest.raises(Conflict, match="was removed. Upload it again"):
        continue_run(run=run)
    page = signed_in("ann").get(f"/fetches/{run.pk}/").content.decode()
    assert "Its file was removed" in page
    assert f"/fetches/{run.pk}/continue/" not in page
    assert leftovers.remove_old_files() == 0


def test_the_clock_removes_them():
    from config.celery import app

    schedule = [entry["task"] for entry in app.conf.beat_schedule.values()]
    assert "ingest.tasks.remove_old_files" in schedule
    assert settings.UPLOADS_KEPT_DAYS == 30
