"""Fetches and issues over REST, for everyone on the ladder."""

import gzip
import json
from typing import Any

import pytest
import yaml
from django.conf import settings
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.utils import timezone

from accounts.actions import make_token
from accounts.models import User
from ingest import queries, run_steps, runs, totals
from ingest.actions.fetches import start_asked
from ingest.models import ClosingChange, FetchRun, Issue, Repository, SearchText
from ingest.search import indexing
from shared.job_holds import JobLockKind, hold_job
from tests.asserts import assert_queries
from tests.github.world import File

pytestmark = pytest.mark.django_db
V1 = "/api/v1"


class Caller:
    """Someone with a token."""

    def __init__(self, name: str, scope: str = "manage", *, staff: bool = False) -> None:
        self.user = User.objects.filter(username=name).first() or User.objects.create_user(name, is_staff=staff)
        self.headers = {"Authorization": f"Bearer {make_token(user=self.user, name='t', scope=scope)[1]}"}

    def get(self, path: str) -> Any:
        return Client().get(f"{V1}{path}", headers=self.headers)

    def post(self, path: str, body: Any = None) -> Any:
        return Client().post(f"{V1}{path}", json.dumps(body or {}), "application/json", headers=self.headers)

    def upload(self, content: bytes, **fields: Any) -> Any:
        file = SimpleUploadedFile("issues.jsonl", content)
        return Client().post(f"{V1}/fetches/", {"file": file} | fields, headers=self.headers)


@pytest.fixture
def ann() -> Caller:
    return Caller("ann")


@pytest.fixture
def bob() -> Caller:
    return Caller("bob")


def lines(n: int, repository: str = "o/r", **more: Any) -> bytes:
    rows = [{"number": k, "title": f"Issue {k}", "repository": repository} | more for k in range(1, n + 1)]
    return "\n".join(json.dumps(row) for row in rows).encode()


def test_a_fetch_is_accepted_with_its_row_and_brings_issues(world, ann):
    issue = world.repository("o/r").issue("It hangs", "Body", labels=["bug"])
    issue.comment("Same here")
    answer = ann.post("/fetches/", {"repository": "o/r", "state": "all", "labels": [], "since": None})
    assert answer.status_code == 202
    assert answer.json()["state"] == "queued"
    run_steps.work(answer.json()["id"])
    run = ann.get(f"/fetches/{answer.json()['id']}/").json()
    assert (run["state"], run["repository"], run["n_new"], run["refusals"]) == ("done", "o/r", 1, [])
    found = ann.get("/issues/o/r/1/").json()
    assert (found["item"], found["body"], found["labels"]) == ("o/r#1", "Body", ["bug"])
    assert [(c["author"], c["body"]) for c in found["comments"]] == [("carol", "Same here")]
    assert found["snapshot"] == Issue.objects.get().current_snapshot.sha256


def test_a_file_is_accepted_with_its_row(ann):
    answer = ann.upload(lines(2) + b"\n{bad", repository="o/r")
    assert answer.status_code == 202
    run_steps.work(answer.json()["id"])
    run = ann.get(f"/fetches/{answer.json()['id']}/").json()
    assert (run["state"], run["n_new"], run["n_refused"], run["file"]) == ("done", 2, 1, "issues.jsonl")
    assert (run["refusals"][0]["line"], run["refusals"][0]["row"]) == (3, "{bad")
    assert ann.get("/issues/o/r/1/").json()["comments"] is None


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "repository"),
        ({"repository": "nonsense"}, "repository"),
        ({"repository": "https://example.org/o/r"}, "repository"),
        ({"repository": "o/r", "state": "merged"}, "state"),
        ({"repository": "o/r", "labels": "bug"}, "labels"),
        ({"repository": "o/r", "labels": ["a" * 101]}, "labels"),
        ({"repository": "o/r", "since": "soon"}, "since"),
        ({"repository": "o/r", "numbers": [1, 2]}, "what"),
    ],
)
def test_what_is_not_valid_names_its_field(github, ann, body, field):
    for path in ("/fetches/", "/fetches/estimate/"):
        answer = ann.post(path, body)
        assert answer.status_code == 422
        assert field in answer.json()["fields"]
    assert not github.asked
    assert not FetchRun.objects.exists()


def test_a_form_without_a_file_and_an_empty_file_name_their_field(ann):
    answer = Client().post(f"{V1}/fetches/", {"repository": "o/r"}, headers=ann.headers)
    assert (answer.status_code, list(answer.json()["fields"])) == (422, ["file"])
    assert ann.upload(b"").status_code == 422


def test_a_compressed_file_is_refused_before_it_is_kept(ann):
    answer = ann.upload(gzip.compress(b'{"number": 1, "title": "a"}'))
    assert (answer.status_code, answer.json()["message"]) == (400, "The file is compressed. Unpack it first.")
    assert not FetchRun.objects.exists()


def test_what_is_not_json_is_unreadable(ann):
    answer = Client().post(f"{V1}/fetches/", "{", "application/json", headers=ann.headers)
    assert answer.status_code == 400
    assert ann.post("/fetches/", [1]).status_code == 400


def test_a_fetch_is_seen_by_who_started_it_and_by_staff(ann, bob):
    run_id = ann.upload(lines(1)).json()["id"]
    for caller, status in ((ann, 200), (Caller("root", staff=True), 200), (bob, 404)):
        assert caller.get(f"/fetches/{run_id}/").status_code == status
        assert caller.get("/fetches/").status_code == 200
        assert len(caller.get("/fetches/").json()["results"]) == (status == 200)
    assert bob.post(f"/fetches/{run_id}/cancel/").status_code == 404
    assert ann.get("/fetches/999999/").status_code == 404
    assert Client().get(f"{V1}/fetches/{run_id}/").status_code == 401


def test_a_small_scope_may_read_but_not_fetch(ann):
    reader = Caller("ann", "read")
    assert reader.post("/fetches/", {"repository": "o/r"}).status_code == 403
    assert reader.get("/fetches/").status_code == 200
    assert reader.get("/issues/").status_code == 200


def test_a_run_is_cancelled_once_and_continued(ann):
    run_id = ann.upload(lines(1)).json()["id"]
    assert ann.post(f"/fetches/{run_id}/continue/").status_code == 409
    assert ann.post(f"/fetches/{run_id}/cancel/").json()["state"] == "cancelled"
    assert ann.post(f"/fetches/{run_id}/cancel/").status_code == 409
    answer = ann.post(f"/fetches/{run_id}/continue/")
    assert (answer.status_code, answer.json()["state"]) == (202, "queued")


def test_issues_of_a_private_repository_do_not_exist_for_others(ann, bob, take):
    take(lines(1, "o/secret"), user=ann.user, private=True)
    assert ann.get("/issues/o/secret/1/").status_code == 200
    assert bob.get("/issues/o/secret/1/").status_code == 404
    assert bob.get("/issues/").json()["results"] == []
    assert bob.get("/issues/o/secret/2/").status_code == 404
    assert Client().get(f"{V1}/issues/").status_code == 401


def test_issues_are_filtered_and_searched(ann, take):
    take(
        [
            {"number": 1, "title": "Training hangs", "repository": "o/r", "state": "open", "labels": ["bug"]},
            {"number": 2, "title": "Docs", "body": "NCCL hang at init", "repository": "o/r", "state": "closed"},
            {"number": 1, "title": "Other", "repository": "p/q", "state": "open", "labels": ["Bug", "nccl"]},
        ]
    )

    def found(query: str) -> list[str]:
        return [row["item"] for row in ann.get(f"/issues/?{query}").json()["results"]]

    assert found("") == ["p/q#1", "o/r#2", "o/r#1"]
    assert found("repository=O/R") == ["o/r#2", "o/r#1"]
    assert found("state=open") == ["p/q#1", "o/r#1"]
    assert found("label=bug") == found("label=BUG") == ["p/q#1", "o/r#1"]
    assert found("search=%22hang%22") == ["o/r#2", "o/r#1"]
    assert found("search=hangs+-nccl") == ["o/r#1"]
    assert found("search=is:open+label:NCCL+repo:P/Q") == ["p/q#1"]
    assert found("search=%232") == ["o/r#2"]
    assert found("search=%00") == ["p/q#1", "o/r#2", "o/r#1"]
    assert found("repository=no/where") == []
    assert ann.get("/issues/?repository=nonsense").status_code == 422
    assert ann.get("/issues/?state=merged").status_code == 422
    wrong = ann.get("/issues/?author=dev-001")
    assert (wrong.status_code, list(wrong.json()["fields"])) == (422, ["author"])
    wrong = ann.get("/issues/?search=lable:bug")
    assert wrong.status_code == 422 and "Did you mean “label:”?" in str(wrong.json()["fields"]["search"])


def test_suggestions_name_only_what_the_caller_may_see(ann, bob, take):
    take(
        [{"number": 1, "title": "T", "repository": "o/secret", "labels": ["secret-label"]}], user=ann.user, private=True
    )
    totals.count()

    def suggested(caller: Caller, typed: str) -> list[str]:
        return [each["search"] for each in caller.get(f"/issues/suggestions/?search={typed}").json()]

    assert suggested(ann, "label:sec") == ["label:secret-label"] and suggested(ann, "repo:o") == ["repo:o/secret"]
    assert suggested(bob, "label:sec") == suggested(bob, "repo:o") == []
    assert suggested(bob, "crea") == ["created:"]


def test_lists_are_ordered_by_what_a_search_says_and_unknown_values_come_last(ann, take, monkeypatch):
    days = {1: "2024-03-01", 2: None, 3: "2024-01-01", 4: "2024-02-01", 5: "2024-02-01"}
    take(
        [
            {
                "number": n,
                "title": "T",
                "repository": "o/r",
                "created_at": day and f"{day}T00:00:00Z",
                "comments": n % 3,
            }
            for n, day in days.items()
        ]
    )

    def pages(search: str) -> list[int]:
        path, found = f"/issues/?page_size=2&search={search}", []
        while path:
            answer = ann.get(path).json()
            found += [row["number"] for row in answer["results"]]
            path = (answer["next"] or "").partition(V1)[2]
        return found

    assert pages("sort:created") == [1, 5, 4, 3, 2]
    assert pages("sort:created-asc") == [2, 3, 4, 5, 1]
    assert pages("sort:comments-desc") == [5, 2, 4, 1, 3]
    monkeypatch.setattr("ingest.views.issues.PAGE_ROWS", 2)
    page = Client()
    page.force_login(ann.user)
    seen, at = [], "?search=sort:created-asc"
    while at:
        context = page.get(f"/issues/{at}").context
        seen += [row.number for row in context["rows"]]
        before, at = context["previous_url"], context["next_url"]
    assert seen == [2, 3, 4, 5, 1]
    assert [row.number for row in page.get(f"/issues/{before}").context["rows"]] == [4, 5] or before


def test_a_search_that_the_index_cannot_answer_yet_is_409(ann, take, monkeypatch):
    take([{"number": n, "title": "Hang", "repository": "o/r"} for n in range(1, 5)])
    monkeypatch.setattr(queries, "WAITING_MOST", 1)
    assert indexing.queue_what_is_missing() == 0
    SearchText.objects.all().delete()
    assert indexing.queue_what_is_missing() == 4
    answer = ann.get("/issues/?search=hang")
    assert (answer.status_code, answer.json()["code"]) == (409, "index_building")
    assert len(ann.get("/issues/?search=is:issue").json()["results"]) == 4
    page = Client()
    page.force_login(ann.user)
    assert "3 issues can’t be found by words yet" in page.get("/issues/?search=hang").content.decode()
    indexing.index()
    assert len(ann.get("/issues/?search=hang").json()["results"]) == 4


def test_lists_take_the_same_number_of_queries_whatever_their_length(ann, take):
    def ask(n: int, path: str) -> None:
        client = Client()
        client.force_login(ann.user)
        with assert_queries(n):
            assert client.get(f"{V1}{path}").status_code == 200

    for n in (3, 60):
        take(lines(n, f"o/r{n}"), user=ann.user)
        ask(3, "/issues/")
        ask(3, "/fetches/")


def test_every_issue_stands_on_exactly_one_page(ann, take):
    take(lines(25))
    seen, address = [], "/issues/?page_size=10"
    while address:
        page = ann.get(address).json()
        seen += [row["number"] for row in page["results"]]
        address = page["next"] and page["next"].partition(V1)[2]
    assert seen == list(range(25, 0, -1))


def test_an_issue_says_what_closed_it_where_it_is_and_how_it_was(ann, bob, take):
    take([{"number": 1, "title": "Before", "repository": "o/r", "comments": []}], user=ann.user, private=True)
    take([{"number": 1, "title": "After", "repository": "o/r", "comments": []}], user=ann.user)
    found = ann.get("/issues/o/r/1/").json()
    assert (found["closing_changes"], found["presence"], found["moved_to"]) == (None, "here", "")
    newest, oldest = (row["sha256"] for row in found["snapshots"])
    assert newest == found["snapshot"]
    was = ann.get(f"/issues/o/r/1/snapshots/{oldest}/").json()
    assert (was["title"], was["snapshot"]) == ("Before", oldest)
    assert ann.get(f"/issues/o/r/1/snapshots/{oldest[:12]}/").json()["title"] == "Before"
    Issue.objects.update(changes_known=True, presence="transferred", moved_to="https://github.com/p/q/issues/3")
    change = {"kind": "pull_request", "identifier": "o/r#9", "number": 9, "additions": 12, "deletions": 3, "n_files": 1}
    ClosingChange.objects.create(issue=Issue.objects.get(), **change, paths=["a.py"])
    found = ann.get("/issues/o/r/1/").json()
    assert (found["presence"], found["moved_to"]) == ("transferred", "https://github.com/p/q/issues/3")
    assert found["closing_changes"][0].items() >= (change | {"paths": ["a.py"], "merged_at": None}).items()
    for nonsense in ("0" * 64, "ab", "%00", "x" * 64):
        assert ann.get(f"/issues/o/r/1/snapshots/{nonsense}/").status_code == 404
    for path in ("", f"snapshots/{oldest}/"):
        assert bob.get(f"/issues/o/r/1/{path}").status_code == 404


def test_repositories_are_listed_with_what_they_hold_in_pages(ann, bob, take):
    take(lines(3, "o/open", state="open"), user=ann.user)
    take(lines(1, "o/secret"), user=ann.user, private=True)
    first = ann.get("/repositories/?page_size=1").json()
    assert first["results"] == [
        {
            "repository": "o/open", "private": False, "complete_until": None, "n_issues": 3, "n_open": 3,
            "n_comments": 0, "n_closing_changes": None,
        }
    ]  # fmt: skip
    second = ann.get(first["next"].partition(V1)[2]).json()
    assert ([row["repository"] for row in second["results"]], second["next"]) == (["o/secret"], None)
    assert [row["repository"] for row in bob.get("/repositories/").json()["results"]] == ["o/open"]
    assert Client().get(f"{V1}/repositories/").status_code == 401


def test_one_issue_takes_the_same_number_of_queries_whatever_its_history(ann, take):
    client = Client()
    client.force_login(ann.user)
    for n in (1, 20):
        for k in range(n):
            comments = [{"id": i, "body": "x", "user": None} for i in range(1, k + 2)]
            take([{"number": n, "title": f"t{k}", "repository": "o/r", "comments": comments}])
        with assert_queries(5):  # session, user, issue, comments, snapshots
            client.get(f"{V1}/issues/o/r/{n}/")


def test_issues_are_listed_by_what_closed_them_and_where_they_are(ann, take):
    take(lines(2))
    issue = Issue.objects.get(number=1)
    Issue.objects.filter(pk=issue.pk).update(changes_known=True, presence="deleted")
    ClosingChange.objects.create(issue=issue, kind="commit", identifier="o/r@" + "a" * 40)
    for query in ("changes=yes", "presence=deleted"):
        assert [row["number"] for row in ann.get(f"/issues/?{query}").json()["results"]] == [1]
    assert ann.get("/issues/?changes=maybe").status_code == 422
    assert ann.get("/issues/?presence=away").status_code == 422


@pytest.mark.slow
def test_the_description_gives_every_operation_a_name_of_its_own():
    description = yaml.safe_load(Client().get(f"{V1}/schema/").content)
    names = [
        operation["operationId"]
        for path in description["paths"].values()
        for method, operation in path.items()
        if method in {"get", "post", "put", "patch", "delete"}
    ]
    assert len(names) == len(set(names))
    assert not [name for name in names if name[-2:-1] == "_" and name[-1].isdigit()]


def test_a_run_whose_worker_is_dead_is_continued_and_one_at_work_is_not(ann):
    run_id = ann.upload(lines(1)).json()["id"]
    FetchRun.objects.filter(pk=run_id).update(state="running", n_claims=1, heartbeat_at=timezone.now())
    with hold_job(JobLockKind.FETCH, run_id):
        assert ann.post(f"/fetches/{run_id}/continue/").status_code == 409
    for _ in range(2):  # once more while it is queued again
        answer = ann.post(f"/fetches/{run_id}/continue/")
        assert (answer.status_code, answer.json()["state"]) == (202, "queued")
    run_steps.work(run_id)
    assert ann.get(f"/fetches/{run_id}/").json()["state"] == "done"
    assert ann.post(f"/fetches/{run_id}/continue/").status_code == 409


def test_a_run_whose_worker_was_just_killed_is_sent_again_at_the_next_look(ann):
    run_id = ann.upload(lines(1)).json()["id"]
    FetchRun.objects.filter(pk=run_id).update(state="running", n_claims=1, heartbeat_at=timezone.now())
    assert runs.pick_up() == [run_id]
    assert settings.PICK_UP_SECONDS <= 15


@pytest.mark.parametrize(
    ("asked", "n_requests"),
    [
        ({}, 1 + 1 + 4),
        ({"state": "closed"}, 1 + 1),  # no issue is closed
        ({"labels": ["rare"]}, 1 + 1 + 3),  # their two threads, and a look at the comments
        ({"what": "presence", "numbers": [1, 2, 3]}, 1 + 3),
    ],
)
def test_an_estimate_tells_requests_time_and_what_a_token_would_change(world, github, ann, asked, n_requests):
    github.limit().total = github.limit().remaining = 60
    home = world.repository("o/r")
    for labels in [["rare"]] * 2 + [[]] * 38:
        issue = home.issue(labels=labels)
        for _ in range(8):
            issue.comment("Same here")
    answer = ann.post("/fetches/estimate/", {"repository": "o/r"} | asked)
    assert answer.status_code == 200
    told = answer.json()
    assert told["n_requests"] == n_requests
    assert (told["n_requests_per_hour"], told["has_token"], told["seconds_waiting"]) == (60, False, 0)
    assert told["n_requests_with_token"] <= told["n_requests"]
    assert "With a token in GITHUB_TOKENS" in told["message"]
    assert not FetchRun.objects.exists() and not Issue.objects.exists()


def test_an_estimate_says_for_how_long_the_limit_stops_a_fetch(world, github, ann):
    home = world.repository("o/r")
    home.issue().comment("Same here")
    github.limit().total, github.limit().remaining = 60, 3
    told = ann.post("/fetches/estimate/", {"repository": "o/r"}).json()
    assert (told["n_requests"], told["n_requests_left"], told["seconds_waiting"]) == (3, 0, 3600)
    assert "at least 1 hour" in told["message"]


@pytest.mark.github
@pytest.mark.parametrize("what", ["issues", "closing_changes"])
def test_an_estimate_with_a_token_counts_what_pages_of_issues_do_not_contain(world, github, settings, fetch, ann, what):
    github.tokens, settings.GITHUB_TOKENS = {"t"}, ["t"]
    home = world.repository("o/r")
    for n in range(3):
        home.issue().close_by(home.commit(f"Fix {n}", files=[File("src/barrier.py", 2, 2)]))
    for n in range(250):
        home.issues[1].comment(f"number {n}")
    asked = {"repository": "o/r"} | ({} if what == "issues" else {"what": what, "numbers": [1, 2, 3]})
    if what != "issues":
        fetch()
        ClosingChange.objects.all().delete()
    told = ann.post("/fetches/estimate/", asked).json()
    before = github.n_requests
    run = start_asked(user=None, send=False, **asked)
    run_steps.work(run.pk)
    assert FetchRun.objects.get(pk=run.pk).state == "done"
    assert (told["n_requests"], told["has_token"]) == (github.n_requests - before, True)


@pytest.mark.github
def test_an_estimate_with_a_token_tells_nothing_of_a_private_repository(world, github, settings, ann):
    github.tokens, settings.GITHUB_TOKENS = {"t"}, ["t"]
    for name, private in (("o/open", False), ("o/secret", True)):
        home = world.repository(name, private=private)
        for _ in range(130):
            home.issue()
    told = ann.post("/fetches/estimate/", {"repository": "o/open"}).json()
    assert (told["n_requests"], told["has_token"], told["seconds_waiting"]) == (1 + 3, True, 0)
    hidden, nowhere = (ann.post("/fetches/estimate/", {"repository": f"o/{name}"}) for name in ("secret", "nowhere"))
    assert hidden.status_code == nowhere.status_code == 409
    assert hidden.json()["message"].replace("secret", "nowhere") == nowhere.json()["message"]


def test_a_renamed_repository_answers_under_its_old_name_with_its_new_address(world, fetch, ann, bob):
    home = world.repository("old/name")
    home.issue("It hangs")
    fetch("old/name")
    home.rename("new/name")
    fetch("old/name")
    sha256 = Issue.objects.get().current_snapshot.sha256
    for path in ("repositories/{}/", "issues/{}/1/", f"issues/{{}}/1/snapshots/{sha256[:12]}/"):
        answer = ann.get(f"/{path.format('OLD/name')}")
        assert (answer.status_code, answer["Location"]) == (301, f"{V1}/{path.format('new/name')}")
        assert answer.json()["code"] == "moved"
        assert ann.get(f"/{path.format('new/name')}").status_code == 200
    assert ann.get("/issues/old/name/2/").status_code == 404
    assert [each["item"] for each in ann.get("/issues/?repository=old/name").json()["results"]] == ["new/name#1"]
    run_steps.work(
        ann.upload(b'{"number": 7, "title": "Of a file", "repository": "old/name"}', private="false").json()["id"]
    )
    assert ann.get("/issues/new/name/7/").json()["title"] == "Of a file"
    patched = Client().patch(f"{V1}/repositories/old/name/", {"private": True}, "application/json", headers=ann.headers)
    assert (patched.status_code, patched["Location"]) == (307, f"{V1}/repositories/new/name/")
    page = Client()
    page.force_login(ann.user)
    for path in ("repositories/{}/", "issues/{}/1/"):
        answer = page.get(f"/{path.format('old/name')}?after=50")
        assert (answer.status_code, answer["Location"]) == (301, f"/{path.format('new/name')}?after=50")
    Repository.objects.update(private=True)  # who may not see it does not learn its name
    assert bob.get("/repositories/old/name/").status_code == bob.get("/issues/old/name/1/").status_code == 404


def test_a_new_repository_under_a_name_that_another_one_had_is_found_by_it(world, fetch, ann):
    home = world.repository("o/r")
    home.issue("The first one")
    fetch("o/r")
    home.rename("o/moved")
    fetch("o/r")
    world.repository("o/r").issue("The second one")
    assert fetch("o/r").state == "done"
    titles = [ann.get(f"/issues/o/{name}/1/").json()["title"] for name in ("r", "moved")]
    assert titles == ["The second one", "The first one"]


def test_rows_of_a_table_are_numbered_where_the_field_says_so(ann):
    def sent(**fields: Any) -> Any:
        file = SimpleUploadedFile("nlbse.csv", b"label,title,body\nbug,It hangs,Two nodes\nquestion,How to,Please\n")
        asked = {"file": file, "repository": "lab/nlbse"} | fields
        return Client().post(f"{V1}/fetches/", asked, headers=ann.headers)

    assert (sent().status_code, sent(number_rows="perhaps").status_code) == (422, 422)
    run = sent(number_rows="true").json()
    assert run["requested"]["number_rows"] is True
    run_steps.work(run["id"])
    assert {each["item"] for each in ann.get("/issues/").json()["results"]} == {"lab/nlbse#1", "lab/nlbse#2"}
