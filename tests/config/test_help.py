"""The guides as pages: all of them open, every link leads somewhere, and each page leads to its section."""

import re

import pytest
from django.test import Client
from django.urls import get_resolver

from config import guides
from tests import builders as make

pytestmark = pytest.mark.django_db


def test_every_guide_opens_for_everybody_and_all_its_links_lead_somewhere() -> None:
    pages = {each.address: Client().get(each.address).content.decode() for each in guides.guides()}
    assert [each.name for each in guides.guides()] == list(guides.ORDER)
    ids = {address: set(re.findall(r'id="([^"]+)"', page)) for address, page in pages.items()}
    for address, page in pages.items():
        text = page[page.index("<main") :]
        assert "guides.invalid" not in text and "<h2" in text and "<br>\n" not in text
        for link in re.findall(r'(?:href|src)="([^"]+)"', text):
            path, _, anchor = link.partition("#")
            if path.endswith(".png"):
                assert Client().get(path)["Content-Type"] == "image/png"
            elif path.startswith("/help/") and path != "/help/":
                assert path in pages and (not anchor or anchor in ids[path]), f"{address}: {link}"
            elif not path:
                assert anchor in ids[address], f"{address}: {link}"
    assert "default-src 'none'" in Client().get("/help/")["Content-Security-Policy"]
    assert Client().get("/help/nothing/").status_code == 404
    assert Client().get("/help/pictures/nothing.png").status_code == 404


def test_every_page_leads_to_a_section_that_exists() -> None:
    names = {each for each in get_resolver().reverse_dict if isinstance(each, str)}
    assert not set(guides.BY_PAGE) - names
    for to in {*guides.BY_PAGE.values(), *(to for _, to in guides.BY_PATH)}:
        name, _, anchor = to.partition("#")
        found = guides.guide(name)
        assert found is not None and (not anchor or anchor in {each.anchor for each in found.sections}), to
    client = Client()
    client.force_login(make.user("olga"))
    assert 'href="/help/owners/#the-study" data-help' in client.get("/studies/").content.decode()
    assert 'href="/help/owners/#the-study">Read the guide</a>' in client.get("/studies/").content.decode()
    assert 'href="/help/taxonomies/" data-help' in client.get("/taxonomies/").content.decode()


def test_the_search_finds_sections_with_all_words_and_shows_what_was_typed_as_text() -> None:
    page = Client().get("/help/", {"q": "headline agreement"}).content.decode()
    assert page.index("/help/agreement/#the-headline") < page.index("Guides</h2>")
    page = Client().get("/help/", {"q": "without network"}).content.decode()
    assert "The first command runs a local GitHub" in page
    assert not re.search(r'help-snippet">[^<]*(?:sh skip|\*|`)', page), "a hit has no marks of Markdown"
    page = Client().get("/help/", {"q": "<b>zzz\x00"}).content.decode()
    assert "&lt;b&gt;zzz" in page and "<b>zzz" not in page and "No section contains all these words" in page
