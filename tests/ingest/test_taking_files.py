"""Files of issues on their way into Postgres."""

import io
import json
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
from django.core.files.base import ContentFile
from django.db import IntegrityError, connection, transaction

from accounts.models import User
from ingest import run_steps, runs
from ingest.actions.fetches import continue_run
from ingest.actions.uploads import start_file_fetch
from ingest.errors import Conflict, Invalid, TooLarge
from ingest.files import json_rows
from ingest.files.json_rows import read_rows
from ingest.models import ClosingChange, Comment, FetchRun, Issue, Repository, Snapshot
from ingest.records import ChangeRecord, IssueRecord
from ingest.upsert import store
from tests.asserts import assert_queries
from tests.ingest.stored_rows import counts, stored
from tests.published import VLLM, needs_vllm

pytestmark = pytest.mark.django_db


def issue(number: int = 1, repository: str = "o/r", **more) -> dict:
    given = {"title": "Hang", "body": "b", "state": "open", "labels": ["bug"]}
    return {"number": number, "html_url": f"https://github.com/{repository}/issues/{number}"} | given | more


def file_of(rows: list[dict]) -> ContentFile:
    return ContentFile("\n".join(json.dumps(row) for row in rows).encode(), name="issues.jsonl")


@pytest.mark.slow
@needs_vllm
def test_the_issues_of_vllm_are_stored_whole_and_only_once(take):
    content = VLLM.read_bytes()
    first = take(content)
    assert (first.state, counts(first)) == ("done", (470, 470, 0, 0, 0))
    before = stored()
    second = take(content)
    assert counts(second) == (470, 0, 0, 470, 0)
    assert stored() == before
    assert not Snapshot.objects.filter(comments_known=True).exists()


def test_good_rows_arrive_and_bad_ones_are_listed(take):
    run = take(b'{"number":1,"title":"a","repository":"o/r"}\n{bad\n{"number":2,"title":"b"}\n')
    assert (run.state, counts(run)) == ("done", (3, 1, 0, 0, 2))
    assert [(row.line, row.row) for row in run.refusals.all()] == [(2, "{bad"), (3, '{"number":2,"title":"b"}')]


def test_a_source_that_only_counts_comments_makes_no_new_snapshot(take):
    comment = {"user": {"login": "c", "id": 5}, "body": "x", "created_at": "2024-01-01T00:00:00Z", "id": 9}
    take([issue(comments=[comment])])
    run = take([issue(comments=1)])
    assert counts(run) == (1, 0, 0, 1, 0)
    assert Issue.objects.get().current_snapshot.comments_known
    run = take([issue(comments=1, title="Other")])
    assert counts(run) == (1, 0, 1, 0, 0)
    assert not Issue.objects.get().current_snapshot.comments_known


def test_a_source_that_knows_less_takes_nothing_away(take):
    take([issue(user={"login": "ann", "id": 3}, state_reason=None, state="closed")])
    rows = [{key: value for key, value in issue(state="closed").items() if key not in {"labels", "body"}}]
    assert counts(take(rows)) == (1, 0, 0, 1, 0)
    snapshot = Issue.objects.get().current_snapshot
    assert (snapshot.author_id, snapshot.github_labels, snapshot.body) == (3, ["bug"], "b")
    assert counts(take([issue(user={"login": "ann"}, state="closed")])) == (1, 0, 0, 1, 0)


def test_comments_that_become_known_make_a_new_snapshot(take):
    take([issue(comments=0)])
    assert counts(take([issue(comments=[])])) == (1, 0, 1, 0, 0)


def test_an_older_export_does_not_overwrite_what_is_newer(take):
    take([issue(title="New", updated_at="2024-02-01T00:00:00Z")])
    assert counts(take([issue(title="Old", updated_at="2024-01-01T00:00:00Z")])) == (1, 0, 0, 1, 0)
    assert Issue.objects.get().current_snapshot.title == "New"


def test_a_longer_thread_does_not_copy_the_comments_before(take):
    comments = [
        {"user": {"login": "c", "id": 5}, "body": f"{n}", "created_at": f"2024-01-01T00:0{n}:00Z", "id": n + 1}
        for n in range(3)
    ]
    take([issue(comments=comments[:2])])
    take([issue(comments=comments)])
    assert Comment.objects.count() == 3
    assert [c.body for c in Issue.objects.get().current_snapshot.thread()] == ["0", "1", "2"]


def test_a_run_that_was_killed_goes_on_and_counts_everything_once(take, monkeypatch):
    rows = [issue(n) for n in range(1, 1201)] + [{"number": 7}]
    stopped = [0]
    store = run_steps.store_records

    def killed(run, records):
        stopped[0] += 1
        if stopped[0] == 2:
            raise SystemExit
        return store(run, records)

    monkeypatch.setattr(json_rows, "BATCH_ROWS", 500)
    monkeypatch.setattr(run_steps, "store_records", killed)
    with pytest.raises(SystemExit):
        take(rows)
    run = FetchRun.objects.get()
    assert (run.state, run.n_new, Issue.objects.count()) == ("running", 500, 500)
    FetchRun.objects.update(heartbeat_at="2020-01-01T00:00:00Z")
    assert runs.pick_up() == [run.pk]
    run_steps.work(run.pk)
    run.refresh_from_db()
    assert (run.state, counts(run)) == ("done", (1201, 1200, 0, 0, 1))
    assert Snapshot.objects.count() == 1200


def test_a_batch_takes_the_same_number_of_queries_whatever_its_size(take):
    def fresh(n):
        made = FetchRun.objects.create(kind="file", requested={"private": False}, state="running", n_claims=1)

        content = "\n".join(json.dumps(issue(k, f"o/r{n}", comments=[{"id": k, "body": "c"}])) for k in range(1, n + 1))
        return made, [row.record for row in read_rows(io.BytesIO(content.encode()))]

    for n in (5, 400):
        made, records = fresh(n)
        with assert_queries(15):  # the last one keeps how labels and people are spelled
            store(made, records)
        with assert_queries(5):
            store(made, records)
        changed = [replace(record, title="Other", closing_changes=(change(9),)) for record in records]
        with assert_queries(22):
            store(made, changed)


def change(number: int, **more) -> ChangeRecord:
    return ChangeRecord("pull_request", f"o/r#{number}", number=number, **more)


def told(run: FetchRun, *changes: ChangeRecord, **more) -> IssueRecord:
    """An issue with what closed it, stored for the run."""
    record = IssueRecord("github.com", "o", "r", 1, "Hang", closing_changes=changes, **more)
    with transaction.atomic():
        store(run, [record])
    return record


@pytest.fixture
def at_github(db):
    """A run that tells what is so at GitHub now."""
    home = Repository.objects.create(owner="o", name="r")
    return FetchRun.objects.create(kind="github", repository=home, state="running", n_claims=1)


def test_what_closed_an_issue_is_kept_as_last_told_and_makes_no_snapshot(at_github):
    told(at_github, change(7, additions=3, deletions=1, paths=("a.py", 'b "c".py')), change(8))
    told(at_github, change(7, title="Fix", merged_at=datetime(2024, 1, 1, tzinfo=UTC)), change(9))
    assert list(ClosingChange.objects.values_list("identifier", "title", "additions", "paths")) == [
        ("o/r#7", "Fix", 3, ["a.py", 'b "c".py']),
        ("o/r#9", "", None, []),
    ]
    assert (Issue.objects.get().changes_known, Snapshot.objects.count()) == (True, 1)
    told(at_github)
    assert not ClosingChange.objects.exists()


def test_a_source_that_is_silent_about_what_closed_an_issue_leaves_it(take, at_github):
    told(at_github, change(7))
    take([issue(1)])
    assert ClosingChange.objects.get().identifier == "o/r#7"
    take([issue(2)])
    assert list(Issue.objects.order_by("pk").values_list("changes_known", flat=True)) == [True, False]


def test_the_closing_pull_requests_that_gh_lists_are_taken_in(take):
    pull = {"id": "PR_x", "number": 9, "url": "https://github.com/o/r/pull/9", "repository": {"name": "r"}}
    run = take(
        [
            issue(1, state="CLOSED", closedByPullRequestsReferences=[pull]),
            issue(2, state="OPEN", closedByPullRequestsReferences=[pull]),
            issue(3, state="CLOSED", closedByPullRequestsReferences=[{}]),
        ]
    )
    assert (run.n_closing_changes, run.n_refused) == (1, 1)
    found = ClosingChange.objects.get()
    assert (found.issue.number, found.identifier, found.number) == (1, "o/r#9", 9)
    assert Issue.objects.filter(changes_known=True).count() == 2


def test_locking_is_noted_without_a_snapshot(take):
    take([issue(locked=False)])
    assert counts(take([issue(locked=True)])) == (1, 0, 0, 1, 0)
    assert (Issue.objects.get().locked, Snapshot.objects.count()) == (True, 1)
    take([issue()])
    assert Issue.objects.get().locked is True


def test_an_issue_that_was_gone_is_here_again_when_github_lists_it_and_not_because_of_a_file(take, at_github):
    when = datetime(2024, 5, 1, tzinfo=UTC)
    told(at_github, updated_at=when)
    Issue.objects.update(presence="transferred", moved_to="o/s#3")
    take([issue(1, title="Other", updated_at="2025-01-01T00:00:00Z")])
    assert Issue.objects.get().presence == "transferred"
    told(at_github, updated_at=datetime(2025, 2, 1, tzinfo=UTC))
    assert (Issue.objects.get().presence, Issue.objects.get().moved_to) == ("here", "")


def test_an_older_message_does_not_bring_a_gone_issue_back(at_github):
    told(at_github, updated_at=datetime(2024, 5, 1, tzinfo=UTC))
    Issue.objects.update(presence="deleted", checked_at=datetime(2024, 6, 1, tzinfo=UTC))
    by_message = FetchRun.objects.create(kind="webhook", repository=at_github.repository, state="running", n_claims=1)
    told(by_message, updated_at=datetime(2024, 5, 31, tzinfo=UTC))
    assert Issue.objects.get().presence == "deleted"
    told(by_message, updated_at=datetime(2024, 6, 2, tzinfo=UTC))
    assert Issue.objects.get().presence == "here"


def test_a_batch_killed_in_its_middle_leaves_nothing_and_is_stored_whole_the_next_time(take):
    comments = [{"id": 5, "body": "c", "user": {"login": "x", "id": 1}}]

    def killed(execute, sql, *rest):
        if "ingest_unsearchable" in sql:
            raise SystemExit
        return execute(sql, *rest)

    with pytest.raises(SystemExit), connection.execute_wrapper(killed):
        take([issue(n, comments=comments) for n in range(1, 30)])
    assert not (Issue.objects.exists() or Snapshot.objects.exists() or Comment.objects.exists())
    FetchRun.objects.update(heartbeat_at="2020-01-01T00:00:00Z")
    (run_id,) = runs.pick_up()
    run_steps.work(run_id)
    assert counts(FetchRun.objects.get()) == (29, 29, 0, 0, 0)
    assert Comment.objects.count() == 1


def test_texts_arrive_as_they_are_whatever_they_hold(take):
    text = 'a\\b\tc\r\nd "e" \\N {f,g} \u00e9 \U0001f600 \\.'
    take([issue(1, title=text.strip(), body=text, labels=[text, 'x"y', ""], user={"login": "l\\n"})])
    snapshot = Issue.objects.get().current_snapshot
    assert (snapshot.body, snapshot.github_labels, snapshot.author_login) == (text, [text, 'x"y'], "l\\n")


def test_a_refused_row_is_kept_whole_up_to_a_hundred_thousand_characters(take):
    short, long = "y" * 5000, "z" * 200_000
    run = take(json.dumps({"title": short}).encode() + b"\n" + json.dumps({"title": long}).encode())
    first, second = run.refusals.all()
    assert first.row == json.dumps({"title": short})
    assert second.row.endswith("z… (cut after 100,000 characters)")


def test_refusals_are_kept_up_to_a_limit_and_counted_beyond(take, monkeypatch):
    monkeypatch.setattr(runs, "REFUSALS_KEPT", 30)
    run = take(b"{bad\n" * 50)
    assert (run.n_refused, run.refusals.count()) == (50, 30)


def test_a_run_knows_how_much_of_its_file_is_read(take, monkeypatch):
    monkeypatch.setattr(json_rows, "BATCH_ROWS", 10)
    read = []
    store = run_steps.store_records

    def watched(run, records):
        read.append((run.n_bytes_read, run.seconds_left is not None))
        return store(run, records)

    monkeypatch.setattr(run_steps, "store_records", watched)
    content = "\n".join(json.dumps(issue(n, body="x" * 5000)) for n in range(1, 41)).encode()
    run = take(content)
    assert [part for part, _ in read] == sorted(part for part, _ in read)
    assert 0 < read[1][0] < len(content)
    assert (run.n_bytes, run.n_bytes_read) == (len(content), len(content))


def test_a_file_goes_on_from_its_line_and_still_refuses_what_came_before_it(take, monkeypatch):
    monkeypatch.setattr(json_rows, "BATCH_ROWS", 100)
    store = run_steps.store_records
    n_batches = [0]

    def killed(run, records):
        n_batches[0] += 1
        if n_batches[0] == 4:
            raise SystemExit
        return store(run, records)

    monkeypatch.setattr(run_steps, "store_records", killed)
    rows = [issue(n) for n in range(1, 401)] + [issue(7), issue(350), issue(401)]
    with pytest.raises(SystemExit):
        take(rows)
    place = FetchRun.objects.get().cursor["place"]
    assert (place["line"], place["rows"]) == (301, 0)
    FetchRun.objects.update(heartbeat_at="2020-01-01T00:00:00Z")
    (run_id,) = runs.pick_up()
    run_steps.work(run_id)
    run = FetchRun.objects.get()
    assert counts(run) == (403, 401, 0, 0, 2)
    assert [(row.line, row.reason) for row in run.refusals.all()] == [
        (401, "o/r#7 is already in this file."),
        (402, "o/r#350 is already in this file."),
    ]


def test_limits_of_an_upload_are_told_by_field(db, settings):
    with pytest.raises(Invalid) as error:
        start_file_fetch(user=None, private=False, file=ContentFile(b"", name="a.json"))
    assert "file" in error.value.fields
    settings.UPLOAD_BYTES_MAX = 10
    with pytest.raises(TooLarge):
        start_file_fetch(user=None, private=False, file=ContentFile(b"x" * 11, name="a.json"))
    with pytest.raises(Invalid) as error:
        start_file_fetch(user=None, private=False, file=ContentFile(b"{}", name="a.json"), repository="nonsense")
    assert "repository" in error.value.fields
    assert not FetchRun.objects.exists()


def test_only_what_is_not_at_work_can_be_continued(take):
    run = take([issue()])
    with pytest.raises(Conflict):
        continue_run(run=run)


def test_a_file_of_private_issues_is_for_its_owner(take):
    ann, bob = User.objects.create_user("ann"), User.objects.create_user("bob")
    take([issue()], user=ann, private=True)
    assert (Issue.objects.visible_to(ann).count(), Issue.objects.visible_to(bob).count()) == (1, 0)
    run = take([issue(2)], user=bob)
    assert counts(run) == (1, 0, 0, 0, 1)
    assert Issue.objects.count() == 1


def test_names_of_repositories_differ_not_by_case(take):
    take([issue(1, "O/R"), issue(2, "o/r")])
    assert Repository.objects.count() == 1
    assert Issue.objects.count() == 2


def test_what_was_stored_can_neither_be_changed_nor_deleted(take):
    take([issue(comments=[{"id": 1, "body": "c"}])])
    for table in ("ingest_snapshot", "ingest_comment", "ingest_snapshotcomment"):
        for statement in (f"UPDATE {table} SET id = id", f"DELETE FROM {table}"):
            with (
                pytest.raises(IntegrityError, match="never changed or deleted"),
                transaction.atomic(),
                connection.cursor() as cursor,
            ):
                cursor.execute(statement)


def test_a_file_of_one_repository_is_a_fetch_of_it_and_one_of_several_is_not(take):
    one = take([issue(n, "o/r") for n in range(1, 700)])
    assert one.repository == Repository.objects.get()
    several = take([issue(n, "o/r") for n in range(1, 700)] + [issue(1, "p/q")])
    assert several.repository is None


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"<html><body>Sign in</body></html>", "Every row was rejected."),
        (b'{"number": "x", "title": "a"}', "Every row was rejected."),
        (b"[]", "The file contains no issue."),
        (b'{"issues": []}', "The file contains no issue."),
        (b'{"number": 1, "title": "a", "pull_request": {"url": "x"}}', "The file contains pull requests only."),
    ],
)
def test_a_file_from_which_nothing_came_is_a_failure(take, content, sentence):
    run = take(content, repository="o/r")
    assert run.state == "failed"
    assert run.error.startswith(sentence)
    assert not Issue.objects.exists()


def test_a_file_of_unchanged_issues_and_a_rejected_row_is_none(take):
    take([issue()])
    run = take([issue(), {"number": "x", "title": "a"}], repository="o/r")
    assert (run.state, run.n_unchanged, run.n_refused) == ("done", 1, 1)


@pytest.mark.parametrize(
    ("told", "reason"),
    [
        ({"labels": ["L" * 300_000]}, "A label has more than 500 characters."),
        ({"labels": [{"name": "\U0001f600" * 501}]}, "A label has more than 500 characters."),
        ({"comments": {"totalCount": 2**31}}, "comments is an object, neither a list nor a count."),
    ],
)
def test_a_row_that_can_not_be_stored_is_refused_and_the_rest_arrives(take: Any, told: Any, reason: str) -> None:
    longest = {"number": 2, "title": "t", "labels": ["\U0001f600" * 500]}
    run = take([{"number": 1, "title": "t"} | told, longest], repository="o/r")
    assert (run.state, run.n_new, run.n_refused) == ("done", 1, 1), run.error
    assert run.refusals.get().reason == reason
