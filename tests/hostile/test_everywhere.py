"""The whole corpus in every text of a study: on no page anything of it runs, in no file it is a formula."""

import csv
import io
import re
from typing import Any
from urllib.parse import urlsplit

import pytest
from django.test import Client
from playwright.sync_api import Page, Route
from pytest_django.live_server_helper import LiveServer

from shared.csv_files import DANGEROUS
from tests import builders as make
from tests.annotation import permission_study
from tests.browser.test_every_page import ELSEWHERE, ROLES, is_page
from tests.browser.visitors import sign_in
from tests.hostile.corpus import CANARY
from tests.hostile.hostile_study import MARK, make_hostile_study

ALIVE = """
() => [
  ...(window.pwned === undefined ? [] : [`a text ran: ${window.pwned}`]),
  ...[...document.querySelectorAll("*")].flatMap((element) => [...element.attributes].flatMap(({ name, value }) =>
    /^on|^hx-on|^srcdoc$|^style$|^ping$|^background$|^srcset$/.test(name) && !element.closest("svg, .chart")
      || (/^(href|src|action|formaction|data|xlink:href)$/.test(name) && /^\\s*(javascript|data):/i.test(value))
      || (name === "target" && value === "_blank" && !/noopener/.test(element.rel))
      || (/^(id|name)$/.test(name) && /pwned|canary/.test(value))
      ? [`<${element.localName} ${name}="${value.slice(0, 60)}">`] : [])),
  ...[...document.querySelectorAll("script:not([src]):not([type='application/json'])")].map(() => "a script"),
  ...[...document.querySelectorAll("main :is(iframe, object, embed, base, meta, link, style, video, audio, form form)")]
    .map((element) => `<${element.localName}>`),
  ...[...document.querySelectorAll("[id]")].map(({ id }) => id)
    .filter((id, at, ids) => ["turn", "version", "messages", "content"].includes(id) && ids.indexOf(id) !== at)
    .map((id) => `a second #${id}`),
]
"""


WITHOUT = {
    "/deleted-studies/", "/help/", "/help/owners/", "/me/", "/me/close/", "/repositories/",
    "/repositories/acme/rocket/", "/sign-in/lost-password/", "/start/", "/studies/import/", "/studies/import/whole/",
    "/studies/study/start/people/",
}  # fmt: skip
"""Pages on which nobody's words stand, for who is the first to see them; on every other one there are some."""


@pytest.mark.slow
@pytest.mark.browser
@pytest.mark.timeout(400)
@pytest.mark.django_db(transaction=True)
def test_on_no_page_anything_hostile_runs_or_asks_another_host(page: Page, live_server: LiveServer) -> None:
    assert make_hostile_study() > 50
    clients = {name: Client(raise_request_exception=False) for name in ROLES}
    for name, client in clients.items():
        client.force_login(make.user(name))
    places = {
        name: "/" + path
        for name, base, path in reversed(list(permission_study.table()))
        if base == permission_study.PAGES
    }
    places |= {name: path for name, path in ELSEWHERE.items() if "3" not in path and "diff" not in path}
    wrong: list[str] = []
    here = urlsplit(live_server.url).netloc

    def elsewhere(route: Route) -> None:
        wrong.append(f"{page.url} asks {route.request.url}")
        route.abort()

    page.route(lambda address: urlsplit(address).netloc not in ("", here), elsewhere)
    page.on("pageerror", lambda error: wrong.append(f"{page.url}: {error}"))
    page.on("dialog", lambda dialog: (wrong.append(f"{page.url}: a dialog"), dialog.dismiss()))
    page.on("console", lambda said: wrong.append(f"{page.url}: {said.text}") if said.type == "error" else None)
    visits: dict[str, list[str]] = {role: [] for role in ROLES}
    for at, path in enumerate(places.values()):
        for role in (*ROLES[at % 4 :], *ROLES[: at % 4]):
            if is_page(clients[role], path):
                visits[role].append(path)
                break
    shown = set()
    for role, paths in visits.items():
        sign_in(page, live_server, role)
        for path in paths:
            page.goto(live_server.url + path)
            wrong += [f"{path} as {role}: {each}" for each in page.evaluate(ALIVE)]
            if MARK in page.content():
                shown.add(path)
    assert sum(map(len, visits.values())) > 50
    assert {path for paths in visits.values() for path in paths} - shown == WITHOUT, "else the corpus is there, as text"
    assert not wrong, "\n".join(dict.fromkeys(wrong))


@pytest.mark.slow
@pytest.mark.timeout(400)
@pytest.mark.django_db
def test_no_address_breaks_and_no_file_holds_a_formula_or_a_command() -> None:
    make_hostile_study()
    visitor = permission_study.Visitor("olga")
    wrong: list[str] = []
    kinds: set[str] = set()
    for _, base, path in permission_study.table():
        answer = visitor.get(base, path)
        kind = answer.headers.get("Content-Type", "").partition(";")[0]
        kinds.add(kind)
        if answer.status_code >= 500:
            wrong.append(f"{path}: {answer.status_code}")
        elif kind == "text/csv":
            wrong += [f"{path}: {cell!r}" for cell in _formulas(body_of(answer))]
        elif kind in ("application/x-tex", "text/x-tex"):
            text = body_of(answer)
            wrong += [f"{path}: {command}" for command in (r"\input", r"\immediate", r"\catcode") if command in text]
        if base != permission_study.PAGES or kind != "text/html":
            disposition = answer.headers.get("Content-Disposition", "attachment")
            if CANARY in disposition or not re.match(r'attachment(; filename="[\w.-]+")?$', disposition):
                wrong.append(f"{path}: {disposition}")
    assert {"text/html", "text/csv", "application/json"} <= kinds
    assert not wrong, "\n".join(wrong)


def body_of(answer: Any) -> str:
    body: bytes = b"".join(answer.streaming_content) if answer.streaming else answer.content
    return body.decode("utf-8-sig")


def _formulas(text: str) -> list[str]:
    """The cells of a CSV that a spreadsheet would run; numbers are none."""
    cells = [cell for row in csv.reader(io.StringIO(text, newline=""), strict=True) for cell in row]
    return [
        cell
        for cell in cells
        if re.match(DANGEROUS, cell) and cell[0] != "'" and not re.fullmatch(r"-?[\d.]+(e[+-]\d+)?", cell)
    ]
