"""Pages of taxonomies: who sees what, what a form answers, and that pages stay quick."""

from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import connection
from django.test import Client

from accounts.models import User
from taxonomy.actions import discard_draft, load_document, new_draft, publish_version
from taxonomy.models import Category, Taxonomy, TaxonomyVersion
from taxonomy.ready_made import presets
from tests.asserts import assert_queries
from tests.taxonomy.test_documents import WHOLE, dimension
from tests.taxonomy.test_versions import FIRST, SECOND

pytestmark = pytest.mark.django_db


def signed_in(name: str, *, staff: bool = False) -> Client:
    user = User.objects.filter(username=name).first() or User.objects.create_user(name, is_staff=staff)
    client = Client()
    client.force_login(user)
    return client


@pytest.fixture
def maria() -> Client:
    return signed_in("maria")


@pytest.fixture
def second(maria: Client) -> TaxonomyVersion:
    """The draft of version 2, of Maria, after a published version 1."""
    user = User.objects.get(username="maria")
    first = publish_version(user=user, version=load_document(user=user, text=FIRST))
    return new_draft(user=user, taxonomy=first.taxonomy, text=SECOND)


PAGES = [
    "/taxonomies/",
    "/taxonomies/s/",
    "/taxonomies/s/versions/2/",
    "/taxonomies/s/diff/1..2/",
    "/taxonomies/s/diff/2..1/",
    "/taxonomies/s/diff/1..2/appendix.md",
]


@pytest.mark.parametrize("page", [*PAGES, "/taxonomies/s/versions/2/document.yaml"])
def test_every_page_opens_for_the_maintainer_and_for_staff(maria: Client, second: TaxonomyVersion, page: str) -> None:
    for client in (maria, signed_in("stefan", staff=True)):
        answer = client.get(page)
        assert answer.status_code == 200
        assert b"{%" not in answer.content
        assert b"{{" not in answer.content


@pytest.mark.parametrize("page", PAGES)
def test_nobody_anonymous_sees_a_page(second: TaxonomyVersion, page: str) -> None:
    answer = Client().get(page)
    assert (answer.status_code, answer["Location"].startswith("/sign-in")) == (302, True), answer["Location"]


def test_others_read_what_is_published_and_change_nothing(second: TaxonomyVersion) -> None:
    otto = signed_in("otto")
    listed = otto.get("/taxonomies/s/").content.decode()
    assert "Version 1" in listed
    assert "Version 2" not in listed
    assert "New version" not in listed
    assert otto.get("/taxonomies/s/versions/1/").status_code == 200
    for hidden in [*PAGES[2:], "/taxonomies/s/versions/2/document.yaml"]:
        assert otto.get(hidden).status_code == 404
    for refused in ("drafts/", "versions/1/retire/", "versions/1/discard/"):
        assert otto.post("/taxonomies/s/" + refused).status_code == 403
    for hidden in ("versions/2/retire/", "versions/2/discard/"):
        assert otto.post("/taxonomies/s/" + hidden).status_code == 404
    for word in ("Retire", "Discard", "Start the next version", "Edit"):
        assert f">{word}<" not in listed
    assert otto.post("/taxonomies/s/", {"text": SECOND}).status_code == 403
    assert otto.post("/taxonomies/s/versions/2/", {"text": SECOND}).status_code == 404
    assert otto.post("/taxonomies/s/versions/2/publish/").status_code == 404
    assert TaxonomyVersion.objects.get(pk=second.pk).is_draft


@pytest.mark.parametrize("action", ["drafts/", "versions/1/retire/", "versions/2/discard/", "versions/2/publish/"])
def test_nobody_anonymous_changes_anything(second: TaxonomyVersion, action: str) -> None:
    answer = Client().post("/taxonomies/s/" + action)
    assert (answer.status_code, answer["Location"].startswith("/sign-in")) == (302, True)
    assert {version.state for version in TaxonomyVersion.objects.all()} == {"published", "draft"}


@pytest.mark.parametrize(
    "page",
    [
        "/taxonomies/none/",
        "/taxonomies/s/versions/9/",
        "/taxonomies/s/diff/1..9/",
        "/taxonomies/s/diff/9..1/appendix.md",
    ],
)
def test_nonsense_is_not_found(maria: Client, second: TaxonomyVersion, page: str) -> None:
    assert maria.get(page).status_code == 404


def test_an_empty_house_says_how_to_begin(maria: Client) -> None:
    page = maria.get("/taxonomies/").content.decode()
    assert "No taxonomies yet." in page
    assert presets()[0].document.title in page


def test_a_ready_made_taxonomy_is_loaded_by_one_click_and_only_once(maria: Client) -> None:
    name, slug = presets()[0].name, presets()[0].document.slug
    answer = maria.post("/taxonomies/", {"preset": name})
    assert (answer.status_code, answer["Location"]) == (302, f"/taxonomies/{slug}/versions/1/")
    assert maria.get(answer["Location"]).status_code == 200
    answer = maria.post("/taxonomies/", {"preset": name})
    assert answer.status_code == 409
    assert "his ID is not available" in answer.content.decode()
    assert maria.post("/taxonomies/", {"preset": "nonsense"}).status_code == 404
    assert Taxonomy.objects.count() == 1


def test_a_document_is_loaded_from_a_file_or_from_text(maria: Client) -> None:
    file = SimpleUploadedFile("a.yaml", WHOLE.encode())
    assert (
        maria.post("/taxonomies/", {"file": file, "text": ""})["Location"] == "/taxonomies/training-faults/versions/1/"
    )
    assert maria.post("/taxonomies/", {"text": FIRST.replace("\n", "\r\n")})["Location"] == "/taxonomies/s/versions/1/"


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"text": WHOLE.replace("kind: text", "kind: txt")}, "Line 31, column 11"),
        ({"text": "slug: ["}, "Line 1, column 8"),
        ({"text": ""}, "The document is empty."),
        ({}, "The document is empty."),
        ({"file": SimpleUploadedFile("a.xlsx", b"PK\x03\x04\xff\xff")}, "not UTF-8"),
    ],
)
def test_a_mistake_comes_back_with_its_place_and_with_the_text(maria: Client, given: dict, words: str) -> None:  # type: ignore[type-arg]
    answer = maria.post("/taxonomies/", given)
    page = answer.content.decode()
    assert answer.status_code == 422
    assert words in page
    assert "One problem to correct. Nothing was saved." in page.replace("\n", " ")
    if "text" in given:
        assert given["text"].splitlines()[:1] == [] or given["text"].splitlines()[0] in page
    assert not Taxonomy.objects.exists()


def test_a_draft_is_replaced_and_published_from_its_page(maria: Client, second: TaxonomyVersion) -> None:
    page = "/taxonomies/s/versions/2/"
    assert maria.post(page, {"text": FIRST}).status_code == 302
    assert "Crash" in maria.get(page).content.decode()
    assert maria.post(page, {"text": "slug: t"}).status_code == 422
    assert maria.post(page + "publish/").status_code == 302
    for again in (lambda: maria.post(page + "publish/"), lambda: maria.post(page, {"text": SECOND})):
        assert again().status_code == 409
    assert "Change this draft" not in maria.get(page).content.decode()


def test_a_draft_is_started_by_one_button_and_gone_on_with(maria: Client, second: TaxonomyVersion) -> None:
    page = maria.get("/taxonomies/s/").content.decode()
    assert "Edit the draft of version 2" in page
    assert "Start the next version" not in page
    assert maria.post("/taxonomies/s/versions/2/publish/").status_code == 302
    assert "Start the next version" in maria.get("/taxonomies/s/").content.decode()
    answer = maria.post("/taxonomies/s/drafts/")
    assert (answer.status_code, answer["Location"]) == (302, "/taxonomies/s/versions/3/edit/")
    page = maria.get("/taxonomies/s/").content.decode()
    assert "since version 2" in page
    assert '<a class="nowrap" href="/taxonomies/s/diff/2..3/">0 changes' in page
    assert '<a class="nowrap" href="/taxonomies/s/diff/1..2/">5 changes' in page


def test_a_draft_that_was_written_meanwhile_is_not_overwritten_published_or_discarded(
    maria: Client, second: TaxonomyVersion
) -> None:
    page = "/taxonomies/s/versions/2/"
    assert 'name="expected" value="1"' in maria.get(page).content.decode()
    assert signed_in("stefan", staff=True).post(page, {"text": SECOND, "expected": "1"}).status_code == 302
    answer = maria.post(page, {"text": FIRST, "expected": "1"})
    shown = answer.content.decode()
    assert answer.status_code == 409
    assert "stefan saved version 2 after you opened it" in shown
    assert "- {key: crash, name: Crash}" in shown
    assert 'name="expected" value="2"' in shown
    for action in ("publish/", "discard/"):
        assert maria.post(page + action, {"expected": "1"}).status_code == 409
    assert Category.objects.filter(dimension__version=second, key="stop").exists()
    assert maria.post(page, {"text": FIRST, "expected": "2"}).status_code == 302


def test_a_draft_is_discarded_and_a_version_retired_from_the_pages(maria: Client, second: TaxonomyVersion) -> None:
    assert maria.post("/taxonomies/s/versions/1/discard/").status_code == 409
    assert maria.post("/taxonomies/s/versions/2/retire/").status_code == 409
    assert maria.post("/taxonomies/s/versions/2/discard/", {"expected": "1"})["Location"] == "/taxonomies/s/"
    assert maria.get("/taxonomies/s/versions/2/").status_code == 404
    assert maria.post("/taxonomies/s/versions/1/retire/")["Location"] == "/taxonomies/s/"
    page = maria.get("/taxonomies/s/versions/1/").content.decode()
    assert "Retired" in page
    assert ">Retire<" not in page
    alone = load_document(user=second.created_by, text=FIRST.replace("slug: s", "slug: alone"))
    assert maria.post(f"/taxonomies/alone/versions/{alone.number}/discard/")["Location"] == "/taxonomies/"


@pytest.mark.parametrize(("page", "read", "status"), [("/taxonomies/", ">", 200), ("/taxonomies/s/", "=", 404)])
def test_a_taxonomy_whose_only_draft_is_discarded_while_its_page_is_made_is_not_there(
    maria: Client, page: str, read: str, status: int
) -> None:
    draft = load_document(user=User.objects.get(username="maria"), text=FIRST)
    assert maria.get(page).status_code == 200

    def discarding(execute: Any, sql: str, *more: Any) -> Any:
        found = execute(sql, *more)
        if f'"taxonomy_taxonomy"."slug" {read} ' in sql and waiting:
            discard_draft(user=draft.created_by, version=waiting.pop())
        return found

    waiting = [draft]
    with connection.execute_wrapper(discarding):
        assert maria.get(page).status_code == status


def test_two_versions_stand_side_by_side_with_the_words_that_differ(maria: Client, second: TaxonomyVersion) -> None:
    text = FIRST.replace("name: Slow", "name: Very slow, definition: '<b>It</b> goes on.'")
    maria.post(
        "/taxonomies/s/versions/2/", {"text": text.replace("title: D\n", "title: Symptom\n    required: false\n")}
    )
    page = maria.get("/taxonomies/s/diff/1..2/").content.decode()
    for told in ("all changes <span", "renamed <span", "unchanged <span", 'id="d.slow"', "&lt;b&gt;"):
        assert told in page, told
    assert '<ins><span class="visually-hidden">[new: </span>Very slow<span' in page
    assert '<del><span class="visually-hidden">[gone: </span>yes<span' in page
    assert "Hang" not in page
    assert "Hang" in maria.get("/taxonomies/s/diff/1..2/?kind=kept").content.decode()
    assert "Very" not in maria.get("/taxonomies/s/diff/1..2/?kind=kept").content.decode()
    assert "Very" in maria.get("/taxonomies/s/diff/1..2/?kind=nonsense").content.decode()
    assert "No differences." not in page


def test_any_two_versions_are_chosen_and_compared(maria: Client, second: TaxonomyVersion) -> None:
    assert 'id="compare-old"' in maria.get("/taxonomies/s/").content.decode()
    assert maria.get("/taxonomies/s/diff/?old=2&new=1")["Location"] == "/taxonomies/s/diff/2..1/"
    assert maria.get("/taxonomies/s/diff/?old=x&new=1").status_code == 400
    assert maria.get("/taxonomies/s/diff/1..1/").status_code == 200
    answer = maria.get("/taxonomies/s/diff/1..2/appendix.md")
    assert answer["Content-Disposition"] == 'attachment; filename="s-v1-to-v2.md"'
    assert answer.content.decode().startswith("# T: version 1 to version 2\n")


def test_the_next_version_is_stored_from_the_page_of_the_taxonomy(maria: Client, second: TaxonomyVersion) -> None:
    assert maria.post("/taxonomies/s/", {"text": FIRST})["Location"] == "/taxonomies/s/versions/3/"
    answer = maria.post("/taxonomies/s/", {"text": WHOLE})
    assert answer.status_code == 422
    assert "not of “s”" in answer.content.decode()


@pytest.mark.parametrize(("page", "number"), [("/taxonomies/fruit/", 2), ("/taxonomies/fruit/versions/2/", 2)])
def test_the_text_of_a_version_is_written_into_the_form_only_where_it_is_asked_for(
    maria: Client, second: TaxonomyVersion, page: str, number: int
) -> None:
    page = page.replace("fruit", second.taxonomy.slug)
    plain = maria.get(page).content.decode()
    assert f"Start with the text of version {number}" in plain and "dimensions:" not in plain
    filled = maria.get(f"{page}?text=1").content.decode()
    assert "dimensions:" in filled and "Start with the text" not in filled
    assert "/api/v1/taxonomies/schema.json" in plain


def test_what_a_document_says_is_shown_as_text_never_as_markup(maria: Client) -> None:
    text = dimension("- {key: a, name: '<script>alert(1)</script>', definition: '<b>x</b>', examples: ['</pre><i>']}")
    maria.post("/taxonomies/", {"text": text.replace("title: D", "title: '<u>D</u>'")})
    for page in ("/taxonomies/s/", "/taxonomies/s/versions/1/"):
        shown = maria.get(page).content.decode()
        for markup in ("<script>alert", "<b>x", "</pre><i>", "<u>D"):
            assert markup not in shown


@pytest.mark.slow
def test_pages_take_as_many_queries_for_three_hundred_categories_as_for_three(maria: Client) -> None:
    user = User.objects.get(username="maria")

    def text(slug: str, n: int) -> str:
        listed = (f"- {{key: c{number}, name: Category {number}}}" for number in range(n))
        return dimension(*listed).replace("slug: s", f"slug: {slug}")

    for slug, n in (("small", 3), ("large", 300)):
        load_document(user=user, text=text(slug, n))
        with assert_queries(9):
            assert maria.get(f"/taxonomies/{slug}/versions/1/").status_code == 200
        with assert_queries(9):
            assert maria.get(f"/taxonomies/{slug}/").status_code == 200
        publish_version(user=user, version=TaxonomyVersion.objects.get(taxonomy__slug=slug))
        redefined = text(slug, n).replace("}", ", definition: So and so.}")
        new_draft(user=user, taxonomy=Taxonomy.objects.get(slug=slug), text=redefined)
        with assert_queries(16):
            assert maria.get(f"/taxonomies/{slug}/diff/1..2/").status_code == 200
    with assert_queries(7):
        maria.get("/taxonomies/")
    for number in range(60):
        load_document(user=user, text=text(f"t{number:02}", 1))
    with assert_queries(7):
        page = maria.get("/taxonomies/").content.decode()
    assert "?after=t47" in page
