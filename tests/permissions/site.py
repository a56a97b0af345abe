"""The permission study, who asks for its addresses, and the tables of how they ought to be answered."""

import re
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from django.core.files.base import ContentFile
from django.db import transaction
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver, resolve

from accounts.actions import make_token
from annotation.members.actions import members
from annotation.members.actions.reader_links import make_reader_link
from annotation.models import Round
from annotation.rounds.actions import rounds as round_actions
from ingest.actions.uploads import take_upload
from ingest.models import FetchRun, Issue
from ingest.rendering.images import frame_of
from tests import builders as make
from tests.annotation import permission_study

HERE = Path(__file__).parent
VISITORS = {
    "owner": "ida", "adjudicator": "ada", "rater": "dan", "reader": "rea", "link": None, "outsider": "mallory",
    "staff": "tess", "nobody": None,
}  # fmt: skip
STATES = ("draft", "open", "resolving", "closed")
"""Of round 2, in which the rater rates and the others do not."""
IN_ANY_STATE = "*"
OUTSIDE = ("outsider", "nobody")
"""To whom it makes no difference in which state a round is."""
NOT_TAKEN = "405"
"""An address takes the same methods in each state."""
CHANGED_BY_STATE = ("owner", "rater", "link")
"""Whose answers are looked at in every state; those of others while the round is open, and in all by `make soak`."""
WHERE_ALL_ARE_ALIKE = ("owner", "outsider", "nobody")
"""Who is asked about a row that is the same for everybody; by `make soak` the others, too."""
METHODS = ("put", "patch", "delete")
"""Beside GET and POST, of which every cell tells."""
BODIES = {
    ("patch", "raters/R1/"): '{"quota": 5}',
    ("patch", "training/"): '{"gold_minimum": {"share": 0.8}}',
    ("patch", "acme/rocket/"): '{"private": true}',
}
"""What is sent where an empty body would be refused before anybody is asked who they are."""


class Site:
    """The study that `make_permission_study` builds, what stands for the ids in an address, and who asks."""

    def __init__(self) -> None:
        self.study = permission_study.make_permission_study()
        make.user("tess", staff=True)
        issue = Issue.objects.select_related("repository", "current_snapshot").order_by("pk").first()
        assert issue is not None and issue.current_snapshot is not None
        owner = make.user("ida")
        run = FetchRun.objects.create(repository=issue.repository, kind="github", state="done", created_by=owner)
        upload = take_upload(
            user=owner, file=ContentFile(b"number,title\n1,Hang\n", "more.csv"), repository="acme/more"
        )
        round_actions.create_round(
            seat=make.owner_seat(self.study),
            asked=round_actions.NewRound(
                raters=["bob", "carol"], raters_per_item=2, issues=["acme/rocket#12"], screening=["unscreened"]
            ),
        )
        asked = members.set_member(
            seat=make.owner_seat(self.study), username=make.user("yara").username, roles=["rater"]
        )
        link, secret = make_reader_link(seat=make.seat(self.study, "ida"), label="reviewers")
        self.ids = {name: str(pk) for name, pk in permission_study.ids().items()} | {
            "run": str(run.pk), "upload of issues": str(upload.pk), "sha": issue.current_snapshot.sha256,
            "link": str(link.number), "secret": secret,
            "own invitation": asked.membership.invitation_key or "",
            "image": frame_of("https://example.org/a.png").partition("?")[2],
            "token": str(make_token(user=owner, name="mine")[0].pk),
        }  # fmt: skip
        self.known: dict[tuple[str, str, str], str] = {}
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
        """How an address is answered: `200 405` to GET and POST, or `405` to the method that stands before it."""
        method, _, place = address.rpartition(" /")
        methods = (method.lower(),) if method else ("get", "post")
        return " ".join(self.status(column, each, self.path(place)) for each in methods)

    def status(self, column: str, method: str, path: str) -> str:
        """The status of an answer; asked once where the state of a round makes no difference."""
        place = (column, method, path)
        if place not in self.known:
            told = str(self.answer(column, method, path)[0])
            if column not in OUTSIDE and told != NOT_TAKEN:
                return told
            self.known[place] = told
        return self.known[place]

    def answer(self, column: str, method: str, path: str, body: str = "") -> tuple[int, str]:
        """Status and words of an answer, whatever the request changed taken back."""
        body = body or next((each for (of, end), each in BODIES.items() if of == method and path.endswith(end)), "{}")
        client, headers = self.clients[column]
        asked: dict[str, Any] = {"headers": headers if path.startswith("/api/") else {}}
        if method not in ("get", "head", "options") and path.startswith("/api/"):
            path = path.partition("?")[0]  # what narrows a list is no parameter of other methods
            asked |= {"data": body, "content_type": "application/json"}
        with taken_back():
            session = client.cookies.copy()
            answer: Any = getattr(client, method)(path, **asked)
            words = b"".join(answer.streaming_content) if answer.streaming else answer.content
            client.cookies = session
        return int(answer.status_code), words.decode(errors="replace") + answer.headers.get("Location", "")

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


@contextmanager
def built(django_db_blocker: Any) -> Iterator[Site]:
    """The site, once for all tests of a module."""
    with django_db_blocker.unblock(), transaction.atomic():
        yield Site()
        transaction.set_rollback(True)


def rows(table: str) -> Iterator[tuple[str, str, list[str]]]:
    """State of round 2, address and cells of each row of a table."""
    for line in (HERE / f"{table}.txt").read_text().splitlines()[1:]:
        if line and not line.startswith("#"):
            state, address, *cells = re.split(r" {2,}", line.strip())
            yield state, address.removeprefix("/"), cells


def written(state: str, address: str, cells: list[str]) -> str:
    """A row as it stands in the table."""
    shown = address if " /" in address else "/" + address
    return "  ".join([f"{state:<9}", f"{shown:<76}", *cells]).rstrip()


def routes(patterns: Any = None, before: str = "") -> Iterator[tuple[str, Any]]:
    """Every route of the site with its view."""
    for pattern in get_resolver().url_patterns if patterns is None else patterns:
        here = before + str(pattern.pattern)
        if isinstance(pattern, URLResolver):
            yield from routes(pattern.url_patterns, here)
        elif isinstance(pattern, URLPattern) and not here.endswith("^(?P<rest>.*)$"):
            yield here, pattern.callback


def is_rest(route: str) -> bool:
    return route.startswith("api/")


def walked(site: Site, table: str) -> set[str]:
    """The routes to which the addresses of a table lead."""
    places = (address.rpartition(" /")[2] for _, address, _ in rows(table))
    return {resolve(site.path(place).partition("?")[0]).route for place in places}


def unlike_the_table(site: Site, table: str, in_other_states: Collection[str]) -> str:
    """The rows that are not as the table says; while round 2 is not open, only these columns are looked at."""
    wrong = []
    for state, address, cells in rows(table):
        looked_at: Collection[str] = VISITORS if state in (IN_ANY_STATE, "open") else in_other_states
        if len(set(cells)) == 1 and in_other_states is not VISITORS:
            looked_at = WHERE_ALL_ARE_ALIKE
        with site.round_2(state):
            found = [
                site.cell(column, address) if column in looked_at else said
                for column, said in zip(VISITORS, cells, strict=True)
            ]
        if found != cells:
            said, is_so = (written(state, address, each) for each in (cells, found))
            wrong.append(f"the table says  {said}\nthe site says   {is_so}")
    return "\n".join(wrong)


def cells_that_are_wrong_by_themselves(table: str) -> str:
    """Faults, and members' statuses told to those outside."""
    wrong = []
    for state, address, cells in rows(table):
        told = dict(zip(VISITORS, cells, strict=True))
        place = address.rpartition(" /")[2]
        if re.search(r"\b5\d\d\b", " ".join(cells)):
            wrong.append(f"{address}: a fault")
        if place.removeprefix("api/v1/").startswith("studies/study/"):
            nobody = "401" if place.startswith("api/") else "302"
            if not {*told["outsider"].split()} <= {"404", "405"} or not {*told["nobody"].split()} <= {nobody, "405"}:
                wrong.append(f"{state} {address}: outside of the study more is told than that nothing is there")
    return "\n".join(wrong)
