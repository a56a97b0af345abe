"""What a page of another site has a browser load from this one is refused; what people open themselves is not."""

import html
import re

import pytest
from django.test import Client, RequestFactory

from accounts.models import ServerEvent
from annotation.assignments.queries import READ
from annotation.models import Assignment, AuditEvent
from shared.errors import TooMany
from shared.rate_limits import LINKS, UNKNOWN_NAMES, require_room
from tests import builders as make
from tests.annotation.core.test_independence import resolving_with_carol_free

pytestmark = pytest.mark.django_db
FOREIGN = [
    {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors", "Sec-Fetch-Dest": "image"},
    {"Sec-Fetch-Site": "same-site", "Sec-Fetch-Mode": "no-cors", "Sec-Fetch-Dest": "script"},
    {"Sec-Fetch-Site": "same-site", "Sec-Fetch-Mode": "cors", "Sec-Fetch-Dest": "empty"},
    {"Sec-Fetch-Site": "same-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "iframe"},
    {"Sec-Fetch-Site": "same-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "object"},
    {"Sec-Fetch-Site": "same-site", "Sec-Fetch-Mode": "navigate", "Sec-Purpose": "prefetch;prerender"},
]
OPENED = [
    {},
    {"Sec-Fetch-Site": "none", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"},
    {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"},
    {"Sec-Fetch-Site": "same-origin", "Sec-Fetch-Mode": "cors", "Sec-Fetch-Dest": "empty"},
    {"Sec-Fetch-Site": "same-origin", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "iframe"},
]


@pytest.mark.parametrize("headers", FOREIGN)
def test_nobody_reads_answers_by_a_page_of_another_site(headers: dict[str, str]) -> None:
    resolving_with_carol_free()
    carol = Client()
    carol.force_login(make.user("carol"))
    for path in ("/studies/study/agreement/", "/studies/study/exports/labels.csv", "/api/v1/studies/study/labels/"):
        answer = carol.get(path, headers=headers)
        assert answer.status_code == 403 and "of another site" in answer.content.decode()
    assert not AuditEvent.objects.filter(verb=READ).exists()


@pytest.mark.parametrize("headers", OPENED)
def test_what_people_open_is_answered_wherever_its_link_is(headers: dict[str, str]) -> None:
    resolving_with_carol_free()
    carol = Client()
    carol.force_login(make.user("carol"))
    assert carol.get("/studies/study/rounds/1/", headers=headers).status_code == 200


def test_links_that_a_page_of_another_site_tries_are_not_counted() -> None:
    stranger = Client()
    for turn in range(LINKS.n_most + 1):
        assert stranger.get(f"/new-password/x{turn}/", headers=FOREIGN[0]).status_code == 403
    for turn in range(LINKS.n_most + 1):
        assert stranger.get(f"/new-password/x{turn}/", headers=OPENED[2]).status_code == 404
    assert stranger.get("/new-password/x/").status_code == 404


def test_who_follows_a_link_from_elsewhere_opens_what_counts_as_reading_themselves() -> None:
    """A page can begin to open an address, and stop it before its reader sees anything."""
    resolving_with_carol_free()
    carol = Client()
    carol.force_login(make.user("carol"))
    place = "/studies/study/agreement/?round=1"
    answer = carol.get(place, headers=OPENED[2])
    assert answer.status_code == 403 and f'href="{place}">Open it</a>' in answer.content.decode()
    assert carol.get("/studies/study/exports/labels.csv", headers=OPENED[2]).status_code == 403
    assert not AuditEvent.objects.filter(verb=READ).exists()
    assert carol.get(place, headers=OPENED[3]).status_code == 200
    assert AuditEvent.objects.filter(verb=READ).count() == 1
    assert carol.get(place, headers=OPENED[2]).status_code == 200, "they have read it"


def test_a_page_of_another_site_learns_not_from_a_file_whether_there_is_one() -> None:
    """A window into which a file is sent stays as it was, and is still in reach of the page that opened it."""
    round_ = make.open_round(make.study(owner="olga"), 1)
    make.submit(round_, "bob", 1, {"symptom": ["crash"]})
    olga, taxonomy = Client(), round_.study.taxonomy
    olga.force_login(make.user("olga"))
    files = (
        "/studies/study/analysis/counts/figure/counts.svg?dimension=symptom&round=1&where=symptom:crash",
        "/studies/study/exports/issues.csv",
        "/studies/study/audit/audit.csv",
        f"/taxonomies/{taxonomy.slug}/versions/1/document.yaml",
        "/api/v1/studies/study/ratings/?format=jsonl",
        "/api/v1/studies/study/issues/?format=jsonl",
    )
    for place in files:
        answer = olga.get(place, headers=OPENED[2])
        assert answer.status_code == 403 and "Content-Disposition" not in answer, place
        assert "A page of another site opened this" in answer.content.decode()
        assert place.startswith("/api/") or ">Open it</a>" in answer.content.decode()
    assert not AuditEvent.objects.filter(verb__in=[READ, AuditEvent.DOWNLOADED]).exists()
    for place in files[1:]:
        answer = olga.get(place, headers=OPENED[3])
        assert answer.status_code == 200 and answer["Content-Disposition"].startswith("attachment"), place


def test_a_page_of_another_site_leaves_no_line_in_the_servers_audit_log() -> None:
    stan, place = Client(), "/operations/audit/audit.csv"
    stan.force_login(make.user("stan", staff=True))
    assert stan.get(place, headers=OPENED[2]).status_code == 403
    assert not ServerEvent.objects.filter(verb="audit log downloaded").exists()
    assert stan.get(place, headers=OPENED[3]).status_code == 200
    assert ServerEvent.objects.filter(verb="audit log downloaded").count() == 1


def test_a_page_of_another_site_learns_not_whether_there_is_news() -> None:
    """No content is answered where nothing happened since, and a window then stays as it was."""
    _, item = resolving_with_carol_free()
    ada = Client()
    ada.force_login(make.user("ada"))
    place = f"/studies/study/rounds/1/resolve/{item.pk}/"
    news = re.search(rf"{place}news/[^\"]+", html.unescape(ada.get(place).content.decode()))
    assert news and ada.get(news[0], headers=OPENED[3]).status_code == 204
    answer = ada.get(news[0], headers=OPENED[2])
    assert answer.status_code == 403 and "A page of another site opened this" in answer.content.decode()


def test_who_is_refused_labels_leaves_no_line_that_they_downloaded_them() -> None:
    resolving_with_carol_free()
    carol = Client()
    carol.force_login(make.user("carol"))
    for place in ("/studies/study/exports/labels.csv", "/api/v1/studies/study/labels/?format=jsonl"):
        assert carol.get(place, headers=OPENED[2]).status_code == 403
    assert not AuditEvent.objects.filter(verb=AuditEvent.DOWNLOADED).exists()


def test_a_page_of_another_site_takes_no_item_of_a_pool() -> None:
    make.open_round(make.study(), 2, mode="pool", raters_per_item=1)
    bob, place = Client(), "/studies/study/rounds/1/label/"
    bob.force_login(make.user("bob"))
    answer = bob.get(place, headers=OPENED[2])
    assert answer.status_code == 403 and f'href="{place}">Open it</a>' in answer.content.decode()
    assert not Assignment.objects.exists()
    assert bob.get(place, headers=OPENED[3], follow=True).status_code == 200
    assert Assignment.objects.count() == 1
    assert bob.get(place, headers=OPENED[2], follow=True).status_code == 200, "it is taken"


def test_nobody_tries_names_or_sends_e_mails_without_end_by_claiming_to_come_from_elsewhere() -> None:
    request = RequestFactory().get("/", headers=OPENED[2])
    for _ in range(UNKNOWN_NAMES.n_most):
        require_room(request, UNKNOWN_NAMES)
    with pytest.raises(TooMany):
        require_room(request, UNKNOWN_NAMES)
