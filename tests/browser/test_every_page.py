"""Every page of the site: axe finds nothing serious, no script fails, and nothing is wider than a phone."""

from collections.abc import Iterator
from typing import Any

import pytest
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver
from playwright.sync_api import Page
from pytest_django.live_server_helper import LiveServer

from accounts.actions import mails_off_token, make_password_link
from annotation.invitations.actions.invitations import invite
from annotation.models import Study
from taxonomy.queries import forget_trees
from tests import builders as make
from tests.annotation import permission_study
from tests.browser.visitors import found_by_axe, sign_in

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True), pytest.mark.timeout(400)]

ROLES = ("olga", "ada", "bob", "rea")
"""Owner, adjudicator, rater and reader, in turn: the first who sees a page looks at it."""
LOOKS = [(1280, "light"), (360, "dark"), (1280, "dark"), (360, "light")]
"""Taken in turn."""

ELSEWHERE = {
    "sign_in": "/sign-in/",
    "lost_password": "/sign-in/lost-password/",
    "me": "/me/",
    "taxonomies": "/taxonomies/",
    "taxonomy": "/taxonomies/symptoms/",
    "taxonomy_version": "/taxonomies/symptoms/versions/1/",
    "edit_taxonomy_version": "/taxonomies/symptoms/versions/3/edit/",
    "compare_taxonomy_versions": "/taxonomies/symptoms/diff/",
    "taxonomy_diff": "/taxonomies/symptoms/diff/1..2/",
    "repositories": "/repositories/",
    "repository": "/repositories/acme/rocket/",
    "issues": "/issues/",
    "issue": "/issues/acme/rocket/1/",
    "label": "/studies/study/rounds/2/label/",
    "help": "/help/",
    "guide": "/help/owners/",
    "operations": "/operations/",
    "server_audit": "/operations/audit/",
}
"""Pages outside of studies, and the one that can’t be opened twice; `permission_study` lists those of studies."""
NO_PAGES = {
    "choose_image_hosts", "choose_mails", "create_taxonomy", "guide_picture",
    "choose_keys", "choose_theme", "connect_provider", "disconnect_provider", "end_other_sessions", "end_session",
    "github_callback", "openid_connect_callback", "sign_in_with",
    "cancel_fetch", "change_password", "change_profile", "change_visibility", "confirm_password_link",
    "continue_fetch", "copy_taxonomy_draft",
    "discard_taxonomy_draft", "fetch_progress", "fetch_repository", "healthz", "image", "issue_comments", "make_token",
    "metrics", "publish_taxonomy_version", "readyz", "refusals", "retire_taxonomy_version", "revoke_token",
    "server_audit_file", "sign_in_again", "sign_out", "start_taxonomy_draft", "taxonomy_appendix", "taxonomy_document",
    "taxonomy_draft_state", "throw_away_upload", "upload", "upload_file", "upload_sheet",
}  # fmt: skip
"""They take a POST alone, or give a part of a page or a file."""
OF_A_RUN = {"fetch", "upload_columns"}
"""Pages of one run or one file; tests/ingest looks at them with axe."""
OF_A_LINK = {"new_password", "invitation", "mails_off"}
"""Pages of one link, which are looked at apart: whoever has it, with or without an account."""


def addresses() -> dict[str, str]:
    """The first address under every name."""
    found = {
        name: "/" + path
        for name, base, path in reversed(list(permission_study.table()))
        if base == permission_study.PAGES
    }
    return found | ELSEWHERE


def names(patterns: Any = None) -> Iterator[str]:
    """Of all addresses but those of the API, by the URL resolver."""
    for pattern in get_resolver().url_patterns if patterns is None else patterns:
        if isinstance(pattern, URLResolver):
            if not str(pattern.pattern).startswith("api/"):
                yield from names(pattern.url_patterns)
        elif isinstance(pattern, URLPattern) and pattern.name:
            yield pattern.name


def is_page(client: Client, path: str) -> bool:
    """Whether someone sees a page there, and not a part of one, a file or a refusal."""
    answer = client.get(path)
    return answer.status_code == 200 and not answer.streaming and answer.content.lstrip()[:9].lower() == b"<!doctype"


def wrong_with(page: Page, errors: list[str]) -> list[str]:
    found = found_by_axe(page)
    told = [
        f"{each['id']}: {each['nodes'][0]['html'][:160]}" for each in found if each["impact"] in ("serious", "critical")
    ]
    page.set_viewport_size({"width": 360, "height": 800})
    wider = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
    told += [f"{wider} px wider than a phone"] if wider > 0 else []
    told += errors
    errors.clear()
    return told


@pytest.mark.slow
def test_every_page_can_be_used_by_who_sees_it(page: Page, live_server: LiveServer) -> None:
    permission_study.make_permission_study()
    forget_trees()
    make.next_version(Study.objects.get(slug="study"), make.SYMPTOMS)
    clients = {name: Client(raise_request_exception=False) for name in ROLES}
    for role, client in clients.items():
        client.force_login(make.user(role))
    visits: dict[str, list[str]] = {role: [] for role in ROLES}
    for at, path in enumerate(addresses().values()):
        for role in (*ROLES[at % 4 :], *ROLES[: at % 4]):
            if is_page(clients[role], path):
                visits[role].append(path)
                break
    assert sum(map(len, visits.values())) > 35
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.on("console", lambda said: errors.append(said.text) if said.type == "error" else None)
    page.set_default_timeout(30_000)
    wrong: list[str] = []
    for role, places in visits.items():
        sign_in(page, live_server, role)
        for at, path in enumerate(places):
            width, scheme = LOOKS[at % len(LOOKS)]
            page.set_viewport_size({"width": width, "height": 800})
            page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
            page.goto(live_server.url + path)
            wrong += [f"{path} as {role}, {width} {scheme}: {each}" for each in wrong_with(page, errors)]
    assert not wrong, "\n".join(wrong)


def test_pages_of_a_link_can_be_used_by_who_has_it(page: Page, live_server: LiveServer) -> None:
    study = make.study()
    invited = f"/invitations/{invite(seat=make.owner_seat(study), roles=['rater'], n_most=9)[1]}/"
    new_password = f"/new-password/{make_password_link(user=make.user('bob'))[1]}/"
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.on("console", lambda said: errors.append(said.text) if said.type == "error" else None)
    page.set_default_timeout(30_000)
    wrong: list[str] = []
    mails_off = f"/mails/off/{mails_off_token(make.user('bob'))}/"
    for at, (role, path) in enumerate([("", invited), ("", new_password), ("zoe", invited), ("", mails_off)]):
        if role:
            sign_in(page, live_server, role)
        width, scheme = LOOKS[at % len(LOOKS)]
        page.set_viewport_size({"width": width, "height": 800})
        page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
        page.goto(live_server.url + path)
        assert page.locator("form .primary").is_visible(), path
        wrong += [f"{path} as {role}, {width} {scheme}: {each}" for each in wrong_with(page, errors)]
    assert not wrong, "\n".join(wrong)


def test_every_address_of_a_page_is_in_a_list() -> None:
    listed = {
        *ELSEWHERE,
        *permission_study.EVERYBODYS,
        *permission_study.OF_STUDY,
        *NO_PAGES,
        *OF_A_RUN,
        *OF_A_LINK,
        *permission_study.OPEN,
    }
    assert {name for name in names() if name not in listed} == set()
