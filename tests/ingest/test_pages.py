"""Pages of repositories, fetches and issues."""

import json
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from accounts.models import User
from ingest import sync
from ingest.models import FetchRun
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
    sync.work(run.pk)
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
    sync.work(run.pk)
    page = ann.get(answer.url).content.decode()
    assert "Refused rows" in page
    assert "{bad &lt;b&gt;row&lt;/b&gt;" in page


def test_many_refusals_come_in_pages(ann):
    answer = upload(ann, b"\n".join(b"{bad" for _ in range(120)))
    sync.work(FetchRun.objects.get().pk)
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
        ({"repository": "nonsense", "state": "all"}, "Write it as owner/name"),
        ({"repository": "o/r", "state": "all", "since": "soon"}, "Write a date"),
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
    sync.work(run.pk)
    page = ann.get(f"/fetches/{run.pk}/").content.decode()
    assert "o/r is not at GitHub, or it is private and the token may not read it; check the name." in page
    assert "Continue" in page
    github.world.repository("o/r").issue()
    ann.post(f"/fetches/{run.pk}/continue/")
    sync.work(run.pk)
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


@pytest.mark.parametrize("query", ["repository=nonsense", "state=merged", "repository=%00"])
def test_a_filter_that_makes_no_sense_is_told(ann, query):
    assert ann.get(f"/issues/?{query}").status_code == 422


@pytest.mark.parametrize("query", ["after=x", "before=-1", "after=99999999999999999999", "label=%00", "search=%00%27"])
def test_strange_keys_and_words_do_no_harm(ann, query):
    assert ann.get(f"/issues/?{query}").status_code == 200


def test_an_older_snapshot_can_be_read(ann, take):
    take([{"number": 1, "title": "Before", "repository": "o/r"}])
    take([{"number": 1, "title": "After", "repository": "o/r"}])
    page = ann.get("/issues/o/r/1/")
    older = page.context["snapshots"][-1]
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
        with assert_queries(4):  # session, user, issues, repositories
            ann.get("/issues/")
        with assert_queries(5):  # session, user, repositories, their last runs, latest runs
            ann.get("/repositories/")


def test_a_long_thread_takes_no_more_queries(take):
    ann = signed_in("ann")
    for n in (1, 30):
        comments = [{"id": k + 1, "body": f"c{k}", "user": {"login": "bob", "id": 1}} for k in range(n)]
        take([{"number": n, "title": "t", "repository": "o/r", "comments": comments}])
        with assert_queries(5):  # session, user, issue, snapshots, comments
            ann.get(f"/issues/o/r/{n}/")


def test_fetching_again_asks_only_for_what_changed(world, ann):
    repository = world.repository("o/r")
    repository.issue()
    for _ in range(2):
        ann.post("/repositories/fetch/", {"repository": "o/r", "state": "all"})
        sync.work(FetchRun.objects.latest("pk").pk)
    page = ann.get("/repositories/").content.decode()
    assert "Fetch changes" in page
    today = FetchRun.objects.latest("pk").started_at.date().isoformat()
    assert f'name="since" value="{today}"' in page
    ann.post("/repositories/fetch/", {"repository": "o/r", "state": "all", "since": today})
    assert FetchRun.objects.latest("pk").requested["since"] == f"{today}T00:00:00Z"


@pytest.mark.parametrize(
    ("content", "sentence"),
    [(b"not json", "Every row was refused; the reasons stand below."), (b"[]", "The file holds no issue.")],
)
def test_a_file_that_brings_nothing_says_so_and_asks_for_another(ann, content, sentence):
    upload(ann, content)
    run = FetchRun.objects.get()
    sync.work(run.pk)
    page = ann.get(f"/fetches/{run.pk}/").content.decode()
    assert "Nothing was stored." in page and sentence in page
    assert "Upload another file" in page and "See the issues" not in page and "The other rows arrived" not in page
