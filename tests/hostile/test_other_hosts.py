"""Nothing that a user writes and nothing that GitHub answers leads a request, or a token, to another host."""

import logging
from collections.abc import Iterator
from contextlib import suppress
from urllib.parse import urlsplit

import pytest

from ingest.errors import FetchError, Invalid
from ingest.github.client import Client
from ingest.identifiers import parse_identifier, parse_repository
from tests.ingest.canned_server import Canned, canned

TOKEN = "ghp_secret_of_ours_0123456789"


@pytest.fixture
def github() -> Iterator[Canned]:
    with canned() as found:
        yield found


@pytest.fixture
def other() -> Iterator[Canned]:
    """A host that nobody asked for: what arrives there is in `asked`."""
    with canned() as found:
        yield found.say(200, {"full_name": "o/r", "data": {"viewer": {"login": "x"}}})


def addresses(github: Canned, other: Canned) -> list[str]:
    """Ways to write the other host so that it looks like the one that was asked."""
    host, here = urlsplit(other.url).netloc, urlsplit(github.url).netloc
    return [
        f"{other.url}/repos/o/r",
        f"//{host}/repos/o/r",
        f"{github.url}@{host}/repos/o/r",
        f"{github.url}.{host}/repos/o/r",
        f"http://{here}:x@{host}/repos/o/r",
        f"HTTP://{host}/repos/o/r",
        f"http:\\\\{host}\\repos",
        f" {other.url}/",
        f"/\\{host}/repos/o/r",
        f"///{host}/repos/o/r",
        f"gopher://{host}/x",
        "file:///etc/passwd",
    ]


@pytest.mark.parametrize("way", range(12))
@pytest.mark.parametrize("status", [301, 302, 307, 308])
def test_a_redirect_leads_no_token_to_another_host(github: Canned, other: Canned, way: int, status: int) -> None:
    github.say(status, None, Location=addresses(github, other)[way])
    client = Client(github.url, [TOKEN])
    with pytest.raises(FetchError) as refused:
        client.get("/repos/o/r")
    assert other.asked == []
    assert TOKEN not in refused.value.message


@pytest.mark.parametrize("way", range(12))
def test_a_link_to_the_next_page_stays_where_it_was_asked(github: Canned, other: Canned, way: int) -> None:
    where = addresses(github, other)[way]
    github.say(200, [], Link=f'<{where}>; rel="next"').say(200, [])
    client = Client(github.url, [TOKEN])
    link = client.rows("/repos/o/r/issues").next
    if link:
        with suppress(FetchError):
            client.rows(link)
    assert other.asked == []


def test_a_redirect_of_graphql_is_not_followed(github: Canned, other: Canned, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    github.say(307, None, Location=f"{other.url}/graphql")
    with pytest.raises(FetchError):
        Client(github.url, [TOKEN]).graphql("query { viewer { login } }", {"after": f"{other.url}/cursor"})
    assert other.asked == []
    assert TOKEN not in caplog.text


def test_an_echoed_token_comes_into_no_message_and_no_log(github: Canned, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    github.say(403, {"message": f"Resource not accessible by {TOKEN}"})
    with pytest.raises(FetchError) as refused:
        Client(github.url, [TOKEN]).get("/repos/o/r")
    assert TOKEN not in refused.value.message + caplog.text


@pytest.mark.parametrize(
    "name",
    ["../../user", "o/..", "o/r/../../../user", "o/r?x=http://a", "o/r#@h", "http://[fd00::1]/latest/meta-data",
     "file:///etc/passwd", "o/r\r\nHost: evil", "o%2f..%2f/r", "git@h:o/r\n", "//evil.example/o", "o@evil/r",
     "[::1]/o/r", "user:pass@h/o/r", "о/r", "o/r\u202e"],
)  # fmt: skip
def test_what_is_no_repository_is_refused(name: str) -> None:
    if name.endswith("\n"):
        assert parse_repository(name) == ("h", "o", "r"), "blanks around a name don't count"
        return
    with pytest.raises(Invalid):
        parse_repository(name)
    with pytest.raises(Invalid):
        parse_identifier(f"{name}#1" if "#" not in name else name)


@pytest.mark.parametrize(
    "name", ["127.0.0.1:6379/o/r", "http://169.254.169.254/o/r", "localhost/o/r", "https://evil.example/o/r"]
)
def test_a_host_in_a_name_is_a_name_alone(name: str, github: Canned, other: Canned) -> None:
    """Only GITHUB_API_URL says where requests go; who wrote another host gets that repository's name there."""
    github.say(404, {"message": "Not Found"})
    _, owner, repository = parse_repository(name)
    with pytest.raises(FetchError):
        Client(github.url, [TOKEN]).repository(owner, repository)
    assert [asked.path for asked in github.asked] == ["/repos/o/r"]
