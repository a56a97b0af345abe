"""Files of issues on their way into Postgres."""

import io
import json
from pathlib import Path

import pytest
from django.core.files.base import ContentFile
from django.db import IntegrityError, connection, transaction

from accounts.models import User
from ingest import runs, sync
from ingest.actions import continue_run, start_file_fetch
from ingest.errors import Conflict, Invalid, TooLarge
from ingest.files import read_rows
from ingest.models import Comment, FetchRun, Issue, Repository, Snapshot
from ingest.upsert import store
from tests.asserts import assert_queries
from tests.ingest.looking import counts, stored

pytestmark = pytest.mark.django_db
VLLM = Path(__file__).parents[3] / "shared" / "data" / "issues-vllm" / "issues.jsonl"


def issue(number: int = 1, repository: str = "o/r", **more) -> dict:
    given = {"title": "Hang", "body": "b", "state": "open", "labels": ["bug"]}
    return {"number": number, "html_url": f"https://github.com/{repository}/issues/{number}"} | given | more


def test_the_issues_of_vllm_are_stored_whole_and_only_once(take):
    if not VLLM.exists():
        pytest.skip("the folder ../shared/data is missing")
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
    store = sync.store_records

    def killed(run, records):
        stopped[0] += 1
        if stopped[0] == 2:
            raise SystemExit
        return store(run, records)

    monkeypatch.setattr(sync, "store_records", killed)
    with pytest.raises(SystemExit):
        take(rows)
    run = FetchRun.objects.get()
    assert (run.state, run.n_new, Issue.objects.count()) == ("running", 500, 500)
    FetchRun.objects.update(heartbeat_at="2020-01-01T00:00:00Z")
    assert runs.pick_up() == [run.pk]
    sync.work(run.pk)
    run.refresh_from_db()
    assert (run.state, counts(run)) == ("done", (1201, 1200, 0, 0, 1))
    assert Snapshot.objects.count() == 1200


def test_a_batch_takes_the_same_number_of_queries_whatever_its_size(take):
    def fresh(n):
        made = FetchRun.objects.create(kind="file", state="running", n_claims=1)

        content = "\n".join(json.dumps(issue(k, f"o/r{n}", comments=[{"id": k, "body": "c"}])) for k in range(1, n + 1))
        return made, [row.record for row in read_rows(io.BytesIO(content.encode()))]

    for n in (5, 400):
        made, records = fresh(n)
        with assert_queries(11):
            store(made, records)


def test_limits_of_an_upload_are_told_by_field(db, settings):
    with pytest.raises(Invalid) as error:
        start_file_fetch(user=None, file=ContentFile(b"", name="a.json"))
    assert "file" in error.value.fields
    settings.UPLOAD_BYTES_MAX = 10
    with pytest.raises(TooLarge):
        start_file_fetch(user=None, file=ContentFile(b"x" * 11, name="a.json"))
    with pytest.raises(Invalid) as error:
        start_file_fetch(user=None, file=ContentFile(b"{}", name="a.json"), repository="nonsense")
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
