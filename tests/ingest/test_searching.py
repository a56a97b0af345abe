"""Words are found after the index is filled, whoever fills it and however often it is killed."""

import threading

import pytest
from django.db import OperationalError, connection, transaction
from django.test.utils import CaptureQueriesContext

from accounts.models import User
from annotation.models import Item
from ingest import jobs as tasks
from ingest import queries, run_steps
from ingest.actions.fetches import run_now
from ingest.actions.uploads import start_file_fetch
from ingest.models import Issue, SearchText, Unsearchable
from ingest.search import conditions, indexing
from tests import builders as make
from tests.asserts import assert_queries, wait_until_someone_waits_for_a_lock
from tests.ingest.test_taking_files import file_of, issue

pytestmark = pytest.mark.django_db


@pytest.fixture
def staff(db):
    return User.objects.create_user("staff", is_staff=True)


@pytest.fixture
def found(staff):
    """The numbers of the issues that a search finds, newest first."""
    return lambda search, **more: [row.number for row in queries.issues(staff, search=search, **more)]


def store(rows):
    """Takes in rows and leaves them to the indexer."""
    run = start_file_fetch(user=None, private=False, file=file_of(rows), send=False)
    run_steps.work(run.pk)


def test_words_phrases_exclusions_alternatives_and_numbers_are_found(take, found):
    take(
        [
            issue(1, title="Training hangs", body="in all_reduce with NCCL"),
            issue(2, title="NCCL error", body="the training job hangs on node two"),
            issue(3, title="Wrong loss", body="hangs of training, in another order"),
        ]
    )
    assert found("hangs") == [3, 2, 1]
    assert found('"hang"') == [3, 2, 1]
    assert found("hang") == []
    assert found("NCCL training") == [2, 1]
    assert found("reduce") == [1]
    assert found('"training hangs"') == [1]
    assert found("hangs -nccl") == [3]
    assert found("#2") == [2]
    assert found("2") == []
    assert found("absent") == []


def test_an_edit_is_found_by_its_new_words_and_no_longer_by_the_old(take, found):
    take([issue(1, title="Deadlock"), issue(2, title="Deadlock too")])
    take([issue(1, title="Timeout")])
    assert (found("deadlock"), found("timeout")) == ([2], [1])


def test_an_issue_that_waits_is_found_by_the_words_it_has_now(take, found):
    take([issue(1, title="Deadlock")])
    store([issue(1, title="Timeout")])
    assert (found("deadlock"), found("timeout"), found("-timeout")) == ([], [1], [])
    assert queries.n_unsearchable() == 1
    indexing.index()
    assert (found("deadlock"), found("timeout"), queries.n_unsearchable()) == ([], [1], 0)


def test_an_issue_of_which_only_dates_or_counts_change_is_found_still(take, found):
    take([issue(1, title="Deadlock"), issue(2, title="Deadlock")])
    store([issue(1, title="Deadlock", created_at="2024-05-04T10:00:00Z"), issue(2, title="Deadlock", comments=3)])
    for n_waiting in (2, 0):
        assert queries.n_unsearchable() == n_waiting
        assert (found("deadlock"), found("deadlock created:2024-05-04"), found("comments:3")) == ([2, 1], [1], [2])
        indexing.index()


def test_what_did_not_change_is_not_indexed_again(take):
    take([issue(n) for n in range(1, 20)])
    store([issue(n) for n in range(1, 20)])
    assert not Unsearchable.objects.exists()
    store([issue(3, title="New words"), issue(4)])
    assert Unsearchable.objects.count() == 1


def test_search_and_filters_narrow_each_other(take, found):
    take(
        [
            issue(1, state="open", labels=["bug"]),
            issue(2, state="closed", labels=["bug", "nccl"]),
            issue(3, "p/q", state="closed", labels=["nccl"]),
        ]
    )
    assert found("hang", state="closed") == [3, 2]
    assert found("hang", label="nccl") == [3, 2]
    assert found("hang", label="nccl", repository="O/R", state="closed") == [2]


def test_indexing_twice_changes_nothing(take):
    take([issue(n) for n in range(1, 5)])
    before = list(SearchText.objects.order_by("pk").values_list("pk", "lexemes", "body"))
    Unsearchable.objects.bulk_create(Unsearchable(issue_id=pk) for pk, *_ in before)
    assert indexing.index() == 4
    assert list(SearchText.objects.order_by("pk").values_list("pk", "lexemes", "body")) == before
    assert indexing.index() == 0


def test_an_indexer_that_is_killed_leaves_its_batch_to_the_next(found, monkeypatch):
    monkeypatch.setattr(indexing, "BATCH_ISSUES", 4)
    store([issue(n) for n in range(1, 11)])

    def killed(execute, sql, *rest):
        if 'DELETE FROM "ingest_searchtext"' in sql and SearchText.objects.count() == 4:
            raise SystemExit
        return execute(sql, *rest)

    with pytest.raises(SystemExit), connection.execute_wrapper(killed):
        indexing.index()
    assert (SearchText.objects.count(), queries.n_unsearchable()) == (4, 6)
    assert indexing.index() == 6
    assert found("hang") == list(range(10, 0, -1))


@pytest.mark.django_db(transaction=True)
def test_two_indexers_share_the_work_and_neither_waits(monkeypatch):
    monkeypatch.setattr(indexing, "BATCH_ISSUES", 3)
    store([issue(n) for n in range(1, 7)])
    counts = []

    def other():
        counts.append(indexing._index_batch())
        connection.close()

    with transaction.atomic():
        counts.append(indexing._index_batch())
        thread = threading.Thread(target=other)
        thread.start()
        thread.join(20)
    assert counts == [3, 3]
    assert (SearchText.objects.count(), queries.n_unsearchable()) == (6, 0)


@pytest.mark.django_db(transaction=True)
def test_a_state_stored_while_the_last_one_is_indexed_is_indexed_too():
    staff = User.objects.create_user("staff", is_staff=True)
    store([issue(1, title="Deadlock")])
    fault = []

    def edit():
        try:
            store([issue(1, title="Timeout")])
        except OperationalError as error:
            fault.append(error)
        connection.close()

    thread = threading.Thread(target=edit)
    with transaction.atomic():
        assert indexing._index_batch() == 1
        thread.start()
        wait_until_someone_waits_for_a_lock()
    thread.join(20)
    assert not fault
    assert queries.n_unsearchable() == 1
    indexing.index()
    assert [row.number for row in queries.issues(staff, search="timeout")] == [1]


@pytest.mark.django_db(transaction=True)
def test_a_run_in_the_foreground_is_searchable_when_it_is_over():
    staff = User.objects.create_user("staff", is_staff=True)
    rows = [issue(n, title=f"Deadlock {n}") for n in range(1, 3001)]
    run = run_now(run=start_file_fetch(user=None, private=False, file=file_of(rows), send=False))
    assert (run.state, queries.n_unsearchable()) == ("done", 0)
    assert queries.issues(staff, search="deadlock").count() == 3000


def test_a_task_leaves_the_rest_to_the_next_task(monkeypatch):
    monkeypatch.setattr(indexing, "BATCH_ISSUES", 2)
    monkeypatch.setattr(tasks, "ISSUES_A_TASK", 4)
    sent = []
    monkeypatch.setattr(tasks.make_searchable, "delay", lambda: sent.append(1))
    store([issue(n) for n in range(1, 8)])
    tasks.make_searchable()
    assert (queries.n_unsearchable(), sent) == (3, [1])
    tasks.make_searchable()
    assert (queries.n_unsearchable(), sent) == (0, [1])


def test_a_search_takes_as_many_queries_however_much_it_finds(take, staff):
    for n in (3, 60):
        take([issue(k, labels=["bug"]) for k in range(1, n + 1)])
        with assert_queries(5):  # what waits, spellings of the label, how many to expect, which these are, issues
            assert len(queries.issues(staff, search="hang", label="bug", state="open")[:51]) == min(n, 51)


def test_many_hits_are_shown_by_pages_and_counted_up_to_a_limit(take, staff, client, monkeypatch):
    rows = [issue(n, title="Deadlock" if n % 2 else "Timeout", labels=["bug"]) for n in range(1, 301)]
    take(rows)
    client.force_login(staff)
    exact = client.get("/issues/?search=deadlock")
    assert exact.context["counted"] == queries.IssueCount(150)
    assert ">150 issues" in exact.content.decode()
    monkeypatch.setattr(queries, "COUNTED_MOST", 149)
    more = client.get("/issues/?search=deadlock")
    assert more.context["rows"] == exact.context["rows"]
    assert more.context["counted"] == queries.IssueCount(149, is_more=True)
    assert ">more than 149 issues" in more.content.decode()
    assert client.get("/issues/?search=label:bug").context["counted"] == queries.IssueCount(149, is_more=True)
    few = client.get("/issues/?search=deadlock created:<2000-01-01 -hang")
    assert few.context["counted"] == queries.IssueCount(0)


HIDDEN_IN = {"words": "deadlock", "a phrase": '"at st"', "words and a phrase": 'deadlock "at st"', "without": "-absent"}
HIDDEN_IN |= {"sorted": "deadlock sort:comments", "a label": "label:bug", "an author": "author:alice"}
HIDDEN_IN |= {"private ones": "is:private", "by name": "repo:own/r repo:acme/secret"}


@pytest.mark.slow
def test_the_numbers_above_lists_are_the_same_whatever_is_hidden(take, client, monkeypatch):
    ann, bob = User.objects.create_user("ann"), User.objects.create_user("bob")
    row = {"title": "Deadlock", "body": "at step", "labels": ["bug"], "user": {"login": "alice", "id": 7}}
    take([issue(n, repository="own/r", **row) for n in range(1, 61)], user=bob, private=True)
    client.force_login(bob)

    def counted():
        with connection.cursor() as cursor:
            cursor.execute("ANALYZE ingest_issue, ingest_snapshot, ingest_searchtext, ingest_repository")
        found = {}
        for most in (40, 10_000):
            monkeypatch.setattr(conditions, "COMPARED_MOST", most)
            monkeypatch.setattr(conditions, "LISTED_MOST", most)
            for kind, typed in HIDDEN_IN.items():
                found[kind, most] = client.get("/issues/", {"search": typed}).context["counted"]
        return found

    before = counted()
    take([issue(n, repository="acme/secret", **row) for n in range(1, 1_701)], user=ann, private=True)
    assert counted() == before == dict.fromkeys(before, queries.IssueCount(60))


def test_a_hidden_repository_is_searched_as_one_that_is_not_stored(take):
    ann, bob = User.objects.create_user("ann"), User.objects.create_user("bob")
    take([issue(1, repository="acme/secret"), issue(1, repository="acme/shared")], user=ann, private=True)
    for asked in ({"search": "repo:acme/secret"}, {"search": "-repo:acme/secret"}, {"repository": "acme/secret"}):
        with CaptureQueriesContext(connection) as hidden:
            assert len(queries.issues(bob, **asked)) == ("-" in asked.get("search", "") and 0)
        with CaptureQueriesContext(connection) as absent:
            list(queries.issues(bob, **{name: word.replace("secret", "nothing") for name, word in asked.items()}))
        assert [each["sql"] for each in hidden][1:] == [each["sql"] for each in absent][1:]
        assert len(queries.issues(ann, **asked)) == 1


def test_members_find_the_pinned_issues_of_a_private_repository_by_its_name(take):
    ann, bob = make.user("ann"), make.user("bob")
    take([issue(n, repository="acme/secret") for n in (1, 2)], user=ann, private=True)
    shown = Issue.objects.select_related("repository").get(number=2)
    study = make.study(owner="ann", raters=["bob"])
    Item.objects.create(study=study, identifier=shown.identifier, issue=shown, snapshot=shown.current_snapshot)
    for asked in ({"search": "repo:acme/secret"}, {"repository": "acme/secret"}):
        assert [row.number for row in queries.issues(bob, **asked)] == [2]


def test_words_of_a_text_with_more_lexemes_than_are_indexed_are_compared(take, found, monkeypatch):
    monkeypatch.setattr("ingest.search.matching.LEXEMES_BYTES", 60)
    take([issue(1, body="of a job"), issue(2, body="one of very many different words that go on and on")])
    assert list(SearchText.objects.order_by("pk").values_list("has_all_lexemes", flat=True)) == [True, False]
    for typed, wanted in (
        ("hangs", []),
        ("of", [2, 1]),
        ("words", [2]),
        ("of -words", [1]),
        ('"wor"', [2]),
        ("job", [1]),
    ):
        assert found(typed) == wanted, typed


@pytest.mark.parametrize(("listed_most", "way"), [(conditions.LISTED_MOST, "desc"), (40, "desc"), (40, "asc")])
def test_a_sorted_search_with_many_hits_is_paged_in_its_order(take, staff, client, monkeypatch, listed_most, way):
    monkeypatch.setattr(conditions, "LISTED_MOST", listed_most)
    monkeypatch.setattr(conditions, "COMPARED_MOST", 40)
    rows = [issue(n, title="Deadlock" if n % 2 else "Timeout", comments=n * 7 % 11) for n in range(1, 301)]
    take(rows)
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE ingest_issue, ingest_snapshot, ingest_searchtext")
    wanted = sorted(range(1, 301, 2), key=lambda n: (n * 7 % 11, n), reverse=way == "desc")
    client.force_login(staff)
    seen, page = [], client.get(f"/issues/?search=deadlock sort:comments-{way}")
    while page is not None:
        last = page
        seen += [row.number for row in page.context["rows"]]
        page = client.get(f"/issues/{page.context['next_url']}") if page.context["next_url"] else None
    assert seen == wanted
    back = client.get(f"/issues/{last.context['previous_url']}")
    assert [row.number for row in back.context["rows"]] == wanted[50:100]


def test_private_issues_are_not_found_by_others(take):
    ann, bob = User.objects.create_user("ann"), User.objects.create_user("bob")
    take([issue(1, title="Secret")], user=ann, private=True)
    assert [len(queries.issues(user, search="secret")) for user in (ann, bob)] == [1, 0]


def test_what_waits_is_counted_only_so_far(monkeypatch):
    store([issue(n) for n in range(1, 6)])
    assert (queries.n_unsearchable(), queries.n_unsearchable(at_most=3)) == (5, 3)
