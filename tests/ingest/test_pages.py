"""Pages of repositories, fetches and issues."""

import json
import re
from datetime import timedelta
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.utils import timezone
from django.utils.html import strip_tags

from accounts.models import User
from ingest import run_steps
from ingest.models import ClosingChange, FetchRun, Issue, Repository
from ingest.templatetags.issues import issue_address
from tests.asserts import assert_queries

pytestmark = pytest.mark.django_db


def signed_in(name: str, *, staff: bool = False) -> Client:
    user = User.objects.filter(username=name).first() or User.objects.create_user(name, is_staff=staff)
    client = Client()
    client.force_login(user)
    return client


@pytest.fixture
def ann() -> Client:
    return signed_in("ann")


def lines(n: int, repository: str = "o/r", **more: Any) -> bytes:
    rows = [{"number": k, "title": f"Issue {k}", "repository": repository} | more for k in range(1, n + 1)]
    return "\n".join(json.dumps(row) for row in rows).encode()


def upload(client: Client, content: bytes, **fields: Any) -> Any:
    return client.post("/repositories/upload/", {"file": SimpleUploadedFile("issues.jsonl", content)} | fields)


def test_a_repository_is_fetched_by_the_form_and_its_progress_is_shown(world, ann):
    world.repository("o/r").issue("It **hangs**").comment("Same <script>alert(1)</script>")
    answer = ann.post("/repositories/fetch/", {"repository": "o/r", "state": "all"})
    run = FetchRun.objects.get()
    assert (answer.status_code, answer.url) == (302, f"/fetches/{run.pk}/")
    page = ann.get(answer.url).content.decode()
    assert "Queued" in page
    assert 'hx-trigger="every 1s"' in page
    run_steps.work(run.pk)
    part = ann.get(f"/fetches/{run.pk}/progress/")
    assert "hx-trigger" not in part.content.decode()
    assert part["HX-Refresh"] == "true"
    assert "o/r" in ann.get("/repositories/").content.decode()
    page = ann.get("/issues/o/r/1/").content.decode()
    assert "It **hangs**" in page
    assert "<script>alert" not in page


def test_a_file_is_uploaded_and_its_refused_rows_are_listed(ann):
    answer = upload(ann, lines(2) + b"\n{bad <b>row</b>")
    run = FetchRun.objects.get()
    run_steps.work(run.pk)
    page = ann.get(answer.url).content.decode()
    assert "Rejected rows" in page
    assert "{bad &lt;b&gt;row&lt;/b&gt;" in page


def test_a_formula_leads_to_the_page_that_was_last_told_of_its_issue(ann):
    upload(ann, lines(1, body="$a_1$", comments=[{"body": "$b_1$"}], html_url="https://github.com/o/r/issues/1"))
    run_steps.work(FetchRun.objects.get().pk)
    assert ann.get("/issues/o/r/1/").content.decode().count('"https://github.com/o/r/issues/1"') == 3
    Issue.objects.update(page_url="https://github.com/o/s/issues/7?a=1&b=2")
    page = ann.get("/issues/o/r/1/").content.decode()
    assert page.count('"https://github.com/o/s/issues/7?a=1&amp;b=2"') == 3


def test_many_refusals_come_in_pages(ann):
    answer = upload(ann, b"\n".join(b"{bad" for _ in range(120)))
    run_steps.work(FetchRun.objects.get().pk)
    seen, address = 0, answer.url
    while address:
        page = ann.get(address)
        seen += page.content.decode().count('class="excerpt"')
        address = page.context["next_url"] and answer.url + page.context["next_url"]
    assert seen == 120


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ({"repository": "", "state": "all"}, "This field is required."),
        ({"repository": "nonsense", "state": "all"}, "Enter it as owner/name"),
        ({"repository": "o/r", "state": "all", "since": "soon"}, "Enter a date"),
        ({"repository": "o/r", "state": "merged"}, "not one of the available choices"),
    ],
)
def test_what_is_not_valid_comes_back_with_a_sentence(ann, fields, sentence):
    answer = ann.post("/repositories/fetch/", fields)
    assert answer.status_code == 422
    assert sentence in answer.content.decode()
    assert not FetchRun.objects.exists()


def test_an_empty_upload_comes_back_with_a_sentence(ann):
    answer = upload(ann, b"")
    assert answer.status_code == 422
    assert "The file is empty." in answer.content.decode()


def test_a_failed_run_says_why_and_is_continued_by_a_button(github, ann):
    ann.post("/repositories/fetch/", {"repository": "o/r", "state": "all"})
    run = FetchRun.objects.get()
    run_steps.work(run.pk)
    page = ann.get(f"/fetches/{run.pk}/").content.decode()
    assert "o/r is not at GitHub, or it is private and the token may not read it. Check the name." in page
    assert "Continue" in page
    github.world.repository("o/r").issue()
    ann.post(f"/fetches/{run.pk}/continue/")
    run_steps.work(run.pk)
    run.refresh_from_db()
    assert (run.state, run.n_new) == ("done", 1)
    assert ann.post(f"/fetches/{run.pk}/cancel/").status_code == 409


def test_a_run_is_not_there_for_others(ann, github):
    ann.post("/repositories/fetch/", {"repository": "o/r", "state": "all"})
    run_id = FetchRun.objects.get().pk
    bob = signed_in("bob")
    for path in ("", "progress/"):
        assert bob.get(f"/fetches/{run_id}/{path}").status_code == 404
        assert signed_in("root", staff=True).get(f"/fetches/{run_id}/{path}").status_code == 200
        assert Client().get(f"/fetches/{run_id}/{path}").status_code == 302
    for path in ("continue/", "cancel/"):
        assert bob.post(f"/fetches/{run_id}/{path}").status_code == 404
        assert ann.get(f"/fetches/{run_id}/{path}").status_code == 405
    assert ann.get("/fetches/999999999/").status_code == 404


def test_private_issues_are_not_there_for_others(ann, take):
    owner = User.objects.get(username="ann")
    take(lines(1, "o/secret"), user=owner, private=True)
    bob = signed_in("bob")
    assert ann.get("/issues/o/secret/1/").status_code == 200
    assert bob.get("/issues/o/secret/1/").status_code == 404
    for path in ("/issues/", "/repositories/"):
        assert "o/secret" in ann.get(path).content.decode()
        assert "o/secret" not in bob.get(path).content.decode()
        assert Client().get(path).status_code == 302


def test_the_list_goes_forth_and_back_by_key(ann, take):
    take(lines(120))

    def page(address: str) -> Any:
        return ann.get(address).context

    first = page("/issues/?repository=o/r")
    second = page("/issues/" + first["next_url"])
    third = page("/issues/" + second["next_url"])
    assert [len(p["rows"]) for p in (first, second, third)] == [50, 50, 20]
    assert (first["previous_url"], third["next_url"]) == (None, None)
    assert "repository=o%2Fr" in third["previous_url"]
    back = page("/issues/" + third["previous_url"])
    assert [row.pk for row in back["rows"]] == [row.pk for row in second["rows"]]


@pytest.mark.parametrize("query", ["repository=nonsense", "state=merged"])
def test_a_filter_that_makes_no_sense_is_told(ann, query):
    assert ann.get(f"/issues/?{query}").status_code == 422


def test_beyond_the_end_of_the_list_the_way_leads_back(ann, take):
    take(lines(2))
    page = ann.get("/issues/?repository=o/r&after=1").content.decode()
    assert "This page is past the end of the list." in page and 'href="?repository=o%2Fr"' in page


@pytest.mark.parametrize("query", ["after=x", "before=-1", "after=99999999999999999999", "label=%00", "search=%00%27"])
def test_strange_keys_and_words_do_no_harm(ann, query):
    assert ann.get(f"/issues/?{query}").status_code == 200


def test_an_older_snapshot_can_be_read(ann, take):
    take([{"number": 1, "title": "Before", "repository": "o/r"}])
    take([{"number": 1, "title": "After", "repository": "o/r"}])
    page = ann.get("/issues/o/r/1/")
    older = page.context["snapshots"][-1].snapshot
    assert "An older snapshot" not in page.content.decode()
    page = ann.get(f"/issues/o/r/1/?snapshot={older.sha256[:12]}").content.decode()
    assert "Before" in page
    assert "An older snapshot" in page


def test_pages_take_the_same_number_of_queries_whatever_their_length(take):
    ann = signed_in("ann")
    user = User.objects.get(username="ann")
    for n in (2, 40):
        for k in range(n // 4 + 1):
            take(lines(n, f"o/r{n}x{k}"), user=user)
        with assert_queries(5):  # session, user, issues, repositories, inbox
            ann.get("/issues/")
        with assert_queries(7):  # session, user, repositories, their last runs, uploads, latest runs, inbox
            ann.get("/repositories/")


def thread(n: int, number: int = 1, **more: Any) -> dict[str, Any]:
    comments = [{"id": k, "body": f"Said {k}.", "user": {"login": "bob", "id": 1}} for k in range(1, n + 1)]
    return {"number": number, "title": "t", "repository": "o/r", "comments": comments} | more


def test_a_long_thread_takes_no_more_queries(take):
    ann = signed_in("ann")
    for n in (1, 120):
        take([thread(n, number=n)])
        with assert_queries(7):  # session, user, issue, snapshots, length of the thread, its first part, inbox
            ann.get(f"/issues/o/r/{n}/")


def test_a_long_thread_comes_in_parts_forth_and_back(ann, take):
    take([thread(120)])

    def said(address: str) -> list[int]:
        page = ann.get(address).content.decode()
        return [int(number) for number in re.findall(r"Said (\d+)\.", page)]

    first = ann.get("/issues/o/r/1/")
    assert "120 comments" in first.content.decode() and "Show the next 50" in first.content.decode()
    assert said("/issues/o/r/1/") == list(range(1, 51))
    assert said("/issues/o/r/1/?after=50") == list(range(51, 101))
    assert said("/issues/o/r/1/comments/?after=100") == list(range(101, 121))
    assert "Show the next" not in ann.get("/issues/o/r/1/comments/?after=100").content.decode()
    assert 'href="/issues/o/r/1/"' in ann.get("/issues/o/r/1/?after=50").content.decode()
    for strange in ("x", "-1", "99999999999999999999", "120", "100000"):
        assert ann.get(f"/issues/o/r/1/?after={strange}").status_code == 200


def test_the_next_comments_are_those_of_the_snapshot_that_is_read(ann, take):
    take([thread(60)])
    take([thread(61, title="Other")])
    older = ann.get("/issues/o/r/1/").context["snapshots"][1].snapshot.key
    page = ann.get(f"/issues/o/r/1/?snapshot={older[:12]}").content.decode()
    assert f"/issues/o/r/1/comments/?snapshot={older}&amp;after=50" in page
    part = ann.get(f"/issues/o/r/1/comments/?snapshot={older}&after=50").content.decode()
    assert "60 of 60" in part and "Said 61." not in part


def test_what_changed_stands_beside_each_snapshot_and_any_two_are_compared(ann, take):
    take([thread(2, body="one\ntwo")])
    take([thread(3, body="one\n2 <b>")])
    changed = thread(3, body="one\n2 <b>", state="closed", state_reason="not_planned")
    changed["comments"][0]["body"] = "Edited."
    take([changed])
    lines = ann.get("/issues/o/r/1/").context["snapshots"]
    assert [list(line.words) for line in lines] == [
        ["closed as not planned", "1 comment edited"],
        ["body", "1 comment added"],
        [],
    ]
    newest, middle, oldest = (line.snapshot.sha256[:12] for line in lines)
    page = ann.get(f"/issues/o/r/1/?from={oldest}&to={newest}").content.decode()
    assert "Changes of o/r#1" in page and "2 &lt;b&gt;" in page and "Edited." in page
    assert "2 <b>" not in page
    assert "Edited." not in ann.get(f"/issues/o/r/1/?from={oldest}&to={middle}").content.decode()
    for strange in ("from=x&to=y", "from=%00&to=%27", f"from={oldest}"):
        assert "Changes of" not in ann.get(f"/issues/o/r/1/?{strange}").content.decode()


def test_a_page_of_many_differences_shows_the_first_and_says_how_many_are_left_out(ann, take):
    for n in (1, 2):
        changed = thread(103, body=f"{n}" * 100_001, labels=[f"l{n}-{each}" for each in range(102)])
        for comment in changed["comments"]:
            comment["body"] += f" {n}"
        take([changed])
    new, old = (line.snapshot.sha256[:12] for line in ann.get("/issues/o/r/1/").context["snapshots"])
    with assert_queries(10):
        page = ann.get(f"/issues/o/r/1/?from={old}&to={new}").content.decode()
    assert page.count("difference-comment-") == 2 * 100
    for words in (
        "3 more comments with differences, not shown",
        "4 more labels, not shown",
        "Longer than 100,000 characters",
    ):
        assert words in page, words


@pytest.mark.slow
def test_many_snapshots_come_in_pages_and_take_no_more_queries(ann, take):
    for n in range(35):
        take([{"number": 1, "title": f"Title {n}", "repository": "o/r", "comments": []}])
        if n == 1:
            with assert_queries(7):  # session, user, issue, snapshots, their comments, length of the thread, inbox
                ann.get("/issues/o/r/1/")
    with assert_queries(7):
        page = ann.get("/issues/o/r/1/")
    assert len(page.context["snapshots"]) == 30
    older = ann.get("/issues/o/r/1/" + page.context["older_url"])
    assert len(older.context["snapshots"]) == 5
    assert list(page.context["snapshots"][-1].words) == ["title"]


def test_what_closed_an_issue_stands_below_its_text(ann, take):
    take([thread(0)])
    issue = Issue.objects.get()
    Issue.objects.update(changes_known=True)
    ClosingChange.objects.create(
        issue=issue, kind="pull_request", identifier="O/R#4330", number=4330, title="Fix <it>", additions=12,
        deletions=3, n_files=2, paths=["a<b>.py", "c.py"], merged_at=timezone.now(), html_url="javascript:alert(1)",
    )  # fmt: skip
    ClosingChange.objects.create(issue=issue, kind="commit", identifier="p/q@" + "a" * 40, title="Commit")
    page = ann.get("/issues/o/r/1/").content.decode()
    words = " ".join(strip_tags(page).split())
    assert "Closed by #4330: +12 −3 in 2 files" in words
    assert "Closed by p/q@aaaaaaaaaa Commit" in words
    assert "a&lt;b&gt;.py" in page and "Fix &lt;it&gt;" in page and "javascript:" not in page


@pytest.mark.parametrize(
    ("presence", "sentence"),
    [
        ("deleted", "Deleted at GitHub."),
        ("transferred", "Transferred to another repository."),
        ("discussion", "Converted to a discussion."),
    ],
)
def test_an_issue_that_is_not_where_it_was_says_so(ann, take, presence, sentence):
    take([thread(0)])
    assert sentence not in ann.get("/issues/o/r/1/").content.decode()
    Issue.objects.update(presence=presence, moved_to="https://github.com/p/q/issues/7", locked=True)
    page = ann.get("/issues/o/r/1/").content.decode()
    assert sentence in page and 'href="https://github.com/p/q/issues/7"' in page and "locked" in page
    found = ann.get(f"/issues/?presence={presence}")
    assert len(found.context["rows"]) == 1
    assert not ann.get("/issues/?presence=here").context["rows"]


def test_issues_are_found_by_what_closed_them(ann, take):
    take(lines(3))
    closed, known, _ = Issue.objects.order_by("number")
    Issue.objects.filter(pk__in=[closed.pk, known.pk]).update(changes_known=True)
    ClosingChange.objects.create(issue=closed, kind="commit", identifier="o/r@" + "b" * 40)
    for choice, numbers in (("yes", [1]), ("no", [2]), ("", [3, 2, 1])):
        assert [row.number for row in ann.get(f"/issues/?changes={choice}").context["rows"]] == numbers
    assert ann.get("/issues/?changes=maybe").status_code == 422


def test_hits_are_counted_where_that_is_cheap(ann, take):
    take(lines(60, state="open", labels=["bug"]))
    assert ann.get("/issues/?repository=o/r").context["counted"].n == 60
    assert ann.get("/issues/?label=bug").context["counted"].n == 60
    assert ann.get("/issues/?state=open").context["counted"] is None
    assert ann.get("/issues/?state=closed").context["counted"].n == 0


def test_what_a_repository_holds_is_counted_when_something_was_stored(ann, take):
    user = User.objects.get(username="ann")
    assert ann.get("/repositories/").status_code == 200
    take(
        [thread(3, state="open", labels=["bug"]), thread(2, number=2, state="closed", labels=["bug", "a&b"])], user=user
    )
    row = Repository.objects.get()
    assert (row.n_issues, row.n_open, row.n_comments, row.n_closing_changes) == (2, 1, 5, None)
    assert row.github_labels == [["bug", 2], ["a&b", 1]]
    page = ann.get("/repositories/o/r/").content.decode()
    assert "Comments known</dt><dd>5</dd>" in page and "label=a%26b" in page
    take([thread(3, number=3)])
    row.refresh_from_db()
    assert (row.n_issues, row.is_counted) == (3, True)


def test_a_repository_has_a_page_for_who_may_see_it(ann, take):
    user = User.objects.get(username="ann")
    take(lines(1, "o/open"), user=user)
    take(lines(1, "o/secret"), user=user, private=True)
    bob, root = signed_in("bob"), signed_in("root", staff=True)
    for client, secret in ((ann, 200), (bob, 404), (root, 200)):
        assert client.get("/repositories/o/open/").status_code == 200
        assert client.get("/repositories/O/Secret/").status_code == secret
    assert "issues.jsonl" in ann.get("/repositories/o/open/").content.decode()
    assert "issues.jsonl" not in bob.get("/repositories/o/open/").content.decode()
    assert ann.get("/repositories/no/where/").status_code == 404
    assert ann.get("/repositories/a%20b/c/").status_code == 404
    assert ann.get("/repositories/ghe.example.org/o/open/").status_code == 404
    assert Client().get("/repositories/o/open/").status_code == 302


def test_runs_of_a_repository_come_in_pages_with_the_same_number_of_queries(ann, take):
    user = User.objects.get(username="ann")
    for n in (1, 30):
        for _ in range(n):
            take(lines(1), user=user)
        with assert_queries(5):  # session, user, repository, runs, inbox
            page = ann.get("/repositories/o/r/")
    assert len(page.context["runs"]) == 25
    assert len(ann.get("/repositories/o/r/" + page.context["next_url"]).context["runs"]) == 6


def test_repositories_come_in_pages(ann):
    Repository.objects.bulk_create([Repository(owner=f"o{n % 7}", name=f"r{n:03}") for n in range(230)])
    seen, address = [], "/repositories/"
    while address:
        page = ann.get(address)
        seen += [row.full_name for row, _ in page.context["rows"]]
        address = page.context["next_url"] and "/repositories/" + page.context["next_url"]
    assert len(seen) == 230 and seen == sorted(seen)


@pytest.mark.parametrize(
    ("asked", "sentence"),
    [
        ({"what": "presence", "numbers": [4]}, "Whether issue #4 is still at GitHub."),
        ({"what": "presence", "numbers": list(range(1, 31))}, "Whether 30 issues are still at GitHub."),
        ({"what": "closing_changes", "numbers": [1, 2]}, "What closed issues #1, #2."),
        (
            {"state": "open", "labels": ["a", "b"], "since": "2024-01-01T00:00:00Z"},
            "Open issues labelled a, b, changed since 1 January 2024, 00:00 UTC.",
        ),
        ({"state": "all", "since": "last"}, "Open and closed issues, what changed since the last complete fetch."),
    ],
)
def test_a_run_says_what_it_was_asked_for(ann, asked, sentence):
    run = made_run(**asked)
    words = " ".join(strip_tags(ann.get(f"/fetches/{run.pk}/").content.decode()).split())
    assert sentence in words


def made_run(run_state: str = "running", n: dict[str, Any] | None = None, **asked: Any) -> FetchRun:
    made: FetchRun = FetchRun.objects.create(
        kind="github", requested={"repository": "o/r"} | asked, created_by=User.objects.get(username="ann"),
        started_at=timezone.now() - timedelta(seconds=60), heartbeat_at=timezone.now(),
        waiting_until=timezone.now() + timedelta(hours=1, minutes=2) if run_state == "waiting" else None,
        **(n or {}) | {"state": run_state},
    )  # fmt: skip
    return made


def test_a_run_shows_what_it_spent_and_how_long_it_will_take(ann):
    spent = {"n_requests": 61, "n_unchanged_answers": 12, "n_requests_left": 4939, "n_closing_changes": 7}
    run = made_run(n=spent | {"n_expected": 400, "n_seen": 190, "n_pull_requests": 10})
    words = " ".join(strip_tags(ann.get(f"/fetches/{run.pk}/").content.decode()).split())
    assert "Requests61 12 of them free" in words and "Requests left4,939" in words and "Closing changes7" in words
    assert "200 of about 400 read" in words and "about 60 s left" in words


def test_a_file_says_how_many_bytes_are_read(ann):
    run = made_run(n={"n_bytes": 4_000_000, "n_bytes_read": 1_000_000, "n_seen": 100})
    FetchRun.objects.update(kind="file", requested={"file": "issues.jsonl", "bytes": 4_000_000})
    page = ann.get(f"/fetches/{run.pk}/progress/").content.decode()
    assert 'value="1000000" max="4000000"' in page and "about 3 min left" in page


def test_a_waiting_run_says_for_how_long_also_without_a_script(ann):
    run = made_run("waiting")
    page = ann.get(f"/fetches/{run.pk}/").content.decode()
    assert ("continues automatically in" in page and "1 h 2 min</strong>" in page) or "1 h 1 min</strong>" in page
    assert "Try now" in page and "Cancel" in page


def test_a_long_refused_row_is_folded_and_bounded(ann):
    upload(ann, b"{bad " + b"x" * 50_000)
    run = FetchRun.objects.get()
    run_steps.work(run.pk)
    page = ann.get(f"/fetches/{run.pk}/").content.decode()
    assert "50,005 characters" in page and "Only the first 4,000 characters are shown" in page
    assert len(page) < 20_000


def test_fetching_again_asks_only_for_what_changed(world, ann):
    world.repository("o/r").issue()
    ann.post("/repositories/fetch/", {"repository": "o/r", "state": "all"})
    run_steps.work(FetchRun.objects.get().pk)
    for address in ("/repositories/", "/repositories/o/r/"):
        page = ann.get(address).content.decode()
        assert "Fetch changes" in page and 'name="since" value="last"' in page
    ann.post("/repositories/fetch/", {"repository": "o/r", "state": "all", "since": "last"})
    run = FetchRun.objects.latest("pk")
    assert run.requested["since"] == "last"
    assert "what changed since the last complete fetch" in ann.get(f"/fetches/{run.pk}/").content.decode()


@pytest.mark.parametrize(
    ("content", "sentence"),
    [(b"not json", "Every row was rejected."), (b"[]", "The file contains no issue.")],
)
def test_a_file_that_brings_nothing_says_so_and_asks_for_another(ann, content, sentence):
    upload(ann, content)
    run = FetchRun.objects.get()
    run_steps.work(run.pk)
    page = ann.get(f"/fetches/{run.pk}/").content.decode()
    assert "Nothing was stored." in page and sentence in page
    assert "Upload another file" in page and "Show issues" not in page and "The other rows were imported" not in page


def test_a_cancelled_run_does_not_say_that_it_goes_on_by_itself(ann):
    said = "GitHub's rate limit is used up; the run goes on when it is renewed."
    run = made_run("waiting")
    FetchRun.objects.filter(pk=run.pk).update(error=said, waiting_until=timezone.now() + timedelta(minutes=9))
    assert "the run goes on when it is renewed" in ann.get(f"/fetches/{run.pk}/").content.decode()
    ann.post(f"/fetches/{run.pk}/cancel/")
    for path in (f"/fetches/{run.pk}/", "/repositories/"):
        page = ann.get(path).content.decode()
        assert "Cancelled" in page and "the run goes on when it is renewed" not in page


def test_a_filter_by_a_repository_that_is_not_stored_says_so(ann, take):
    take(lines(1))
    page = ann.get("/issues/?repository=o/elsewhere").content.decode()
    assert "No repository with this name is stored" in page and "<option selected>o/elsewhere</option>" in page
    page = ann.get("/issues/?repository=O/R").content.decode()
    assert "No repository with this name" not in page and 'href="/repositories/o/r/"' in page


@pytest.mark.parametrize(
    ("identifier", "address"),
    [
        ("horovod/horovod#155", "https://github.com/horovod/horovod/issues/155"),
        ("git.example.org/a/b#2", "https://git.example.org/a/b/issues/2"),
        ("https://stackoverflow.com/questions/1", "https://stackoverflow.com/questions/1"),
        ("javascript:alert(1)", ""),
        ("case 7", ""),
    ],
)
def test_an_imported_identifier_leads_to_where_it_can_be_read(identifier: str, address: str) -> None:
    assert issue_address(identifier) == address
