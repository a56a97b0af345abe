"""The editor's addresses: who may edit, what a save answers, and that nobody's work is overwritten."""

import json
from typing import Any

import pytest
from django.test import Client

from taxonomy import actions, schema
from taxonomy.models import CategoryChange, TaxonomyVersion
from taxonomy.queries import document
from tests import builders as make
from tests.asserts import assert_queries
from tests.scripts import Script

pytestmark = pytest.mark.django_db


def client(name: str, *, staff: bool = False) -> Client:
    made = Client()
    made.force_login(make.user(name, staff=staff))
    return made


def big(n: int) -> str:
    groups = [
        {
            "key": f"group-{group}",
            "name": f"Group {group}",
            "definition": "What belongs together here.",
            "categories": [
                {"key": f"c-{group}-{each}", "name": f"Category {group} {each}", "definition": "It is this. " * 10}
                for each in range(9)
            ],
        }
        for group in range(n // 10)
    ]
    symptom = {"key": "symptom", "title": "Symptom", "kind": "single", "categories": groups}
    return json.dumps({"slug": f"big-{n}", "title": "Big", "dimensions": [symptom]})


@pytest.fixture
def draft() -> TaxonomyVersion:
    """The draft of a version 2 of symptoms, which olga maintains."""
    published = make.version()
    return actions.start_draft(user=make.user("olga"), taxonomy=published.taxonomy)


EDIT = "/taxonomies/symptoms/versions/2/edit/"


def posted(who: Client, text: Any, revision: Any = 1, address: str = EDIT) -> Any:
    return who.post(address, json.dumps({"document": text, "revision": revision}), content_type="application/json")


def renamed(version: TaxonomyVersion, old: str, new: str) -> dict[str, Any]:
    plain = schema.plain(document(version))
    next(each for each in plain["dimensions"][0]["categories"] if each["name"] == old)["name"] = new
    return plain


@pytest.mark.parametrize(
    ("name", "staff", "status"), [("olga", False, 200), ("root", True, 200), ("eve", False, 404), ("ada", False, 404)]
)
def test_only_maintainers_and_staff_open_save_and_look_at_a_draft(draft, name, staff, status):
    who = client(name, staff=staff)
    assert who.get(EDIT).status_code == status
    assert who.get(EDIT + "state/").status_code == status
    assert posted(who, renamed(draft, "Hang", "Stall")).status_code == status
    draft.refresh_from_db()
    assert draft.revision == (2 if status == 200 else 1)
    assert posted(who, renamed(draft, "Slow", "Slower"), address=EDIT + "copy/").status_code == (
        201 if status == 200 else 404
    )


def test_a_stranger_is_asked_to_sign_in_and_nonsense_is_not_found(draft):
    assert Client().get(EDIT).status_code == 302
    assert posted(Client(), renamed(draft, "Hang", "Stall")).status_code == 302
    for address in ("/taxonomies/symptoms/versions/9/edit/", "/taxonomies/none/versions/1/edit/"):
        assert client("olga").get(address).status_code == 404
        assert posted(client("olga"), {}, address=address).status_code == 404


def test_a_published_version_leads_to_starting_a_draft(draft):
    page = client("olga").get("/taxonomies/symptoms/versions/1/edit/", follow=True)
    assert page.redirect_chain[-1][0] == "/taxonomies/symptoms/versions/1/"
    assert "Start a draft to change the taxonomy" in page.content.decode()
    answer = posted(client("olga"), renamed(draft, "Hang", "Stall"), address="/taxonomies/symptoms/versions/1/edit/")
    assert answer.status_code == 409 and answer.json()["code"] == "no_draft"
    assert client("eve").get("/taxonomies/symptoms/versions/1/edit/").status_code == 403


def test_a_save_answers_with_the_new_revision_and_what_changed(draft):
    answer = posted(client("olga"), renamed(draft, "Hang", "Stall"))
    body = answer.json()
    assert answer.status_code == 200 and body["revision"] == 2 and body["edited_by"] == "olga"
    assert [(each["kind"], each["old"], each["new"]) for each in body["changes"]] == [("renamed", "hang", "hang")]
    assert {each["kind"] for each in body["doubts"]} == {"undefined"}
    assert CategoryChange.objects.get(version=draft, kind="renamed").new.name == "Stall"
    assert client("olga").get(EDIT + "state/").json()["revision"] == 2


def test_a_document_comes_back_as_it_was_shown(draft):
    before = document(draft)
    page = client("olga").get(EDIT)
    assert posted(client("olga"), page.context["begin"]["document"]).status_code == 200
    assert document(draft) == before


def test_what_is_based_on_an_older_revision_is_refused_with_who_and_when(draft):
    assert posted(client("olga"), renamed(draft, "Hang", "Stall")).status_code == 200
    answer = posted(client("max", staff=True), renamed(draft, "Slow", "Slower"))
    assert answer.status_code == 409
    newer = answer.json()["newer"]
    assert (newer["revision"], newer["edited_by"], newer["state"]) == (2, "olga", "draft") and newer["edited_at"]
    names = [spec.name for spec in document(draft).dimensions[0].categories]
    assert names == ["Crash", "Stall", "Slow"]


def test_the_very_same_text_sent_again_is_a_yes(draft):
    text = renamed(draft, "Hang", "Stall")
    assert posted(client("olga"), text).json()["revision"] == 2
    again = posted(client("olga"), text)
    assert again.status_code == 200 and again.json()["revision"] == 2


def test_a_stale_text_that_is_invalid_too_is_stale(draft):
    assert posted(client("olga"), renamed(draft, "Hang", "Stall")).status_code == 200
    assert posted(client("olga"), renamed(draft, "Slow", "Crash")).status_code == 409


def test_an_invalid_document_is_stored_as_unfinished_and_names_the_place(draft):
    text = renamed(draft, "Hang", "crash")
    answer = posted(client("olga"), text)
    assert answer.status_code == 202 and answer.json()["revision"] == 2
    (problem,) = answer.json()["problems"]
    assert problem["path"] == "dimensions[0].categories[1].name" and "“crash”" in problem["sentence"]
    assert posted(client("olga"), text).status_code == 202, "the very same text sent again is a yes"
    begin = client("olga").get(EDIT).context["begin"]
    assert begin["document"] == text and begin["revision"] == 2 and begin["problems"] == [problem]
    assert [each.name for each in document(draft).dimensions[0].categories] == ["Crash", "Hang", "Slow"]
    page = client("olga").get("/taxonomies/symptoms/versions/2/").content.decode()
    assert "not valid yet" in page and "Publish version 2" not in page
    refused = client("olga").post("/taxonomies/symptoms/versions/2/publish/", {"expected": 2})
    assert refused.status_code == 422 and "“crash”" in refused.content.decode()
    assert posted(client("olga"), renamed(draft, "Hang", "Stall"), 2).status_code == 200
    assert "problems" not in client("olga").get(EDIT).context["begin"]
    page = client("olga").get("/taxonomies/symptoms/versions/2/").content.decode()
    assert "Publish version 2? 1 dimension with 3 categories can never be changed afterwards." in page


def test_no_other_door_deletes_what_the_editor_keeps_of_a_text_that_is_not_valid_yet(draft):
    text = renamed(draft, "Hang", "crash")
    assert posted(client("olga"), text).status_code == 202
    place = "taxonomies/symptoms/versions/2/"
    olga = Script("olga")
    valid, etag = schema.plain(document(draft)), olga.send("GET", place).headers["ETag"]
    refused = olga.send("PUT", place, valid, **{"If-Match": etag})
    assert (refused.status_code, refused.json()["code"]) == (409, "unfinished")
    assert client("olga").get(EDIT).context["begin"]["document"] == text
    assert posted(client("olga"), renamed(draft, "Hang", "Stall"), 2).status_code == 200


def test_a_new_taxonomy_starts_in_the_editor_with_one_dimension():
    first, second = (client("olga").post("/new-taxonomy/", {"title": "My faults"}).url for _ in range(2))
    assert first == "/taxonomies/my-faults/versions/1/edit/" != second and second.startswith("/taxonomies/my-faults-")
    begin = client("olga").get(first + "?next=/studies/").context["begin"]
    (dimension,) = begin["document"]["dimensions"]
    assert dimension == {"key": "category", "title": "Category", "kind": "single"} and begin["problems"]
    assert 'name="next" value="/studies/"' in client("olga").get(first + "?next=/studies/").content.decode()
    assert 'name="next"' not in client("olga").get(first + "?next=//elsewhere.example/").content.decode()
    filled = begin["document"] | {"dimensions": [{**dimension, "categories": [{"key": "a", "name": "A"}]}]}
    assert posted(client("olga"), filled, address=first).status_code == 200
    published = client("olga").post("/taxonomies/my-faults/versions/1/publish/", {"next": "/studies/"})
    assert published.status_code == 302 and published.url == "/studies/"
    assert client("olga").post("/new-taxonomy/", {"title": " "}).status_code == 422


@pytest.mark.parametrize(
    "body",
    ["", "[]", "{}", "nonsense", '{"document": [], "revision": 1}', '{"document": {}, "revision": "1"}', "[" * 100_000],
)
def test_a_body_that_is_no_save_is_unreadable(draft, body):
    assert client("olga").post(EDIT, body, content_type="application/json").status_code == 400


@pytest.mark.parametrize("document", [{}, {"slug": "symptoms", "title": "\ud800", "dimensions": []}, {"slug": "other"}])
def test_a_document_that_is_none_is_invalid(draft, document):
    assert posted(client("olga"), document).status_code == 422


def test_a_discarded_draft_is_not_found_when_it_is_saved(draft):
    text = renamed(draft, "Hang", "Stall")
    actions.discard_draft(user=make.user("olga"), version=draft)
    assert posted(client("olga"), text).status_code == 404


def test_mine_beside_theirs_becomes_another_draft(draft):
    answer = posted(client("olga"), renamed(draft, "Hang", "Stall"), address=EDIT + "copy/")
    assert answer.status_code == 201 and answer.json()["address"] == "/taxonomies/symptoms/versions/3/edit/"
    made = TaxonomyVersion.objects.get(number=3)
    assert made.parent.number == 1 and [each.name for each in document(made).dimensions[0].categories][1] == "Stall"
    assert posted(client("olga"), renamed(draft, "Hang", "crash"), address=EDIT + "copy/").status_code == 422


@pytest.mark.parametrize("n", [30, 300])
def test_the_editor_opens_with_twelve_queries_at_any_size(n):
    published = make.version(big(n))
    actions.start_draft(user=make.user("olga"), taxonomy=published.taxonomy)
    who = client("olga")
    address = f"/taxonomies/big-{n}/versions/2/edit/"
    who.get(address)
    with assert_queries(12):
        page = who.get(address)
    assert f"Group {n // 10 - 1}" in page.content.decode()
