"""The wall: who may ask for what, at every address of the site, as one table (`wall.txt`).

Each row is an address, each column somebody; a cell says how GET and POST are answered. Rounds are asked about in each
state they go through. An address that has no row fails, and so does a row whose address is gone.
"""

import re
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from django.core.files.base import ContentFile
from django.db import transaction
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver, resolve

from accounts.actions import make_token
from annotation.actions import rounds as round_actions
from annotation.actions.reader_links import make_reader_link
from annotation.models import Round, Study
from ingest.actions.uploads import take_upload
from ingest.images import frame_of
from ingest.models import FetchRun, Issue
from tests import builders as make
from tests.annotation import walled

pytestmark = [pytest.mark.django_db, pytest.mark.timeout(900)]

TABLE = Path(__file__).with_name("wall.txt")
VISITORS = {
    "owner": "ida", "adjudicator": "ada", "rater": "dan", "reader": "rea", "link": None, "outsider": "mallory",
    "staff": "tess", "nobody": None,
}  # fmt: skip
STATES = ("draft", "open", "resolving", "closed")
"""Of round 2, in which the rater rates and the others do not."""
IN_ANY_STATE = "*"
OUTSIDE = ("outsider", "nobody")
"""To whom it makes no difference in which state a round is."""


class Site:
    """The study that `walled` builds, what stands for the ids in an address, and who asks."""

    def __init__(self) -> None:
        self.study = walled.walled()
        make.user("tess", staff=True)
        issue = Issue.objects.select_related("repository", "current_snapshot").order_by("pk").first()
        assert issue is not None and issue.current_snapshot is not None
        owner = make.user("ida")
        run = FetchRun.objects.create(repository=issue.repository, kind="github", state="done", created_by=owner)
        upload = take_upload(
            user=owner, file=ContentFile(b"number,title\n1,Hang\n", "more.csv"), repository="acme/more"
        )
        round_actions.create_round(
            seat=make.owner_seat(self.study), raters=["bob", "carol"], raters_per_item=2, issues=["acme/rocket#12"]
        )
        link, secret = make_reader_link(seat=make.seat(self.study, "ida"), label="reviewers")
        self.ids = {name: str(pk) for name, pk in walled.ids().items()} | {
            "run": str(run.pk), "upload of issues": str(upload.pk), "sha": issue.current_snapshot.sha256,
            "link": str(link.number), "secret": secret,
            "image": frame_of("https://example.org/a.png").partition("?")[2],
            "token": str(make_token(user=owner, name="mine")[0].pk),
        }  # fmt: skip
        self.known: dict[tuple[str, str], str] = {}
        self.clients = {column: self._client(column, name, secret) for column, name in VISITORS.items()}

    def _client(self, column: str, name: str | None, secret: str) -> tuple[Client, dict[str, str]]:
        client = Client(raise_request_exception=False)
        if column == "link":
            assert client.get(f"/read/{secret}/").status_code == 302
        if name is None:
            return client, {}
        client.force_login(make.user(name))
        return client, {"Authorization": f"Bearer {make_token(user=make.user(name), name='t', scope='manage')[1]}"}

    def path(self, address: str) -> str:
        return "/" + re.sub(r"\{([^}]+)\}", lambda found: self.ids[found[1]], address)

    def cell(self, column: str, address: str) -> str:
        """How GET and POST are answered, whatever they change taken back: `200 405`."""
        if (column, address) not in self.known:
            told = " ".join(str(self.status(column, method, self.path(address))) for method in ("get", "post"))
            if column not in OUTSIDE:
                return told
            self.known[column, address] = told
        return self.known[column, address]

    def status(self, column: str, method: str, path: str) -> int:
        client, headers = self.clients[column]
        asked: dict[str, Any] = {"headers": headers if path.startswith("/api/") else {}}
        if method == "post" and path.startswith("/api/"):
            asked |= {"data": "{}", "content_type": "application/json"}
        with taken_back():
            session = client.cookies.copy()
            answer = getattr(client, method)(path, **asked)
            if answer.streaming:
                list(answer.streaming_content)
            client.cookies = session
        return int(answer.status_code)

    @contextmanager
    def round_2(self, state: str) -> Iterator[None]:
        with taken_back():
            if state != IN_ANY_STATE:
                Round.objects.filter(study=self.study, number=2).update(state=state)
            yield


@contextmanager
def taken_back() -> Iterator[None]:
    before = transaction.savepoint()
    try:
        yield
    finally:
        transaction.savepoint_rollback(before)


@pytest.fixture(scope="module")
def site(django_db_setup: None, django_db_blocker: Any) -> Iterator[Site]:
    with django_db_blocker.unblock(), transaction.atomic():
        yield Site()
        transaction.set_rollback(True)


def rows() -> Iterator[tuple[str, str, list[str]]]:
    """State of round 2, address and cells of each row of the table."""
    for line in TABLE.read_text().splitlines()[1:]:
        if line and not line.startswith("#"):
            state, address, *cells = re.split(r" {2,}", line.strip())
            yield state, address.removeprefix("/"), cells


def written(state: str, address: str, cells: list[str]) -> str:
    """A row as it stands in the table."""
    return "  ".join([f"{state:<9}", f"{'/' + address:<76}", *cells]).rstrip()


def routes(patterns: Any = None, before: str = "") -> Iterator[str]:
    for pattern in get_resolver().url_patterns if patterns is None else patterns:
        here = before + str(pattern.pattern)
        if isinstance(pattern, URLResolver):
            yield from routes(pattern.url_patterns, here)
        elif isinstance(pattern, URLPattern) and not here.endswith("^(?P<rest>.*)$"):
            yield here


def test_every_address_of_the_site_has_its_row(site: Site) -> None:
    walked = {resolve(site.path(address).partition("?")[0]).route for _, address, _ in rows()}
    assert sorted(set(routes()) - walked) == []


def unlike_the_table(site: Site, in_other_states: Collection[str]) -> str:
    """The rows that are not as the table says; while round 2 is not open, only these columns are looked at."""
    wrong = []
    for state, address, cells in rows():
        looked_at = VISITORS if state in (IN_ANY_STATE, "open") else in_other_states
        with site.round_2(state):
            found = [
                site.cell(column, address) if column in looked_at else said
                for column, said in zip(VISITORS, cells, strict=True)
            ]
        if found != cells:
            said, is_so = (written(state, address, each) for each in (cells, found))
            wrong.append(f"the table says  {said}\nthe site says   {is_so}")
    return "\n".join(wrong)


def test_everybody_is_answered_as_the_table_says(site: Site) -> None:
    assert not (wrong := unlike_the_table(site, ("owner", "rater", "link"))), wrong


@pytest.mark.soak
def test_everybody_is_answered_as_the_table_says_in_every_state(site: Site) -> None:
    assert not (wrong := unlike_the_table(site, VISITORS)), wrong


def test_what_belongs_to_another_study_is_not_found_under_ones_own(site: Site) -> None:
    """Mallory owns the study `other`, and asks there for everything of this one."""
    Study.objects.get(slug="other")
    wrong = []
    for state, address, _ in rows():
        if "studies/study/" in address and re.search(r"\{(?!secret)|rounds/\d|/1/", address) and state in ("*", "open"):
            path = site.path(address).replace("studies/study/", "studies/other/")
            found = [site.status("outsider", method, path) for method in ("get", "post")]
            if min(found) < 400:  # a role, or a body that can't be read, may be refused before anything is looked for
                wrong.append(f"{path}: {found}")
    assert not wrong, "\n".join(wrong)


def test_no_cell_is_a_fault_and_outsiders_stay_outside() -> None:
    for state, address, cells in rows():
        told = dict(zip(VISITORS, cells, strict=True))
        assert not re.search(r"\b5\d\d\b", " ".join(cells)), address
        if address.removeprefix("api/v1/").startswith("studies/study/"):
            nobody = "401" if address.startswith("api/") else "302"
            assert {*told["outsider"].split()} <= {"404", "405"}, (state, address)
            assert {*told["nobody"].split()} <= {nobody, "405"}, (state, address)
