"""The document that shows one image of another host: for signed addresses alone, with a policy that names its host."""

import re
from urllib.parse import parse_qs, urlencode, urlsplit

import pytest
from django.test import Client

from config.headers import HEADERS
from ingest.rendering.images import frame_of, sources_of
from ingest.rendering.markdown import render_markdown

ATTACHED = "https://github.com/user-attachments/assets/1"
SHOT = "https://images.example.org/a.png?x=1&y=<2>"


def policy_of(answer: object) -> dict[str, str]:
    return dict(part.strip().partition(" ")[::2] for part in answer["Content-Security-Policy"].split(";"))  # type: ignore[index]


@pytest.mark.parametrize(
    ("address", "sources"),
    [
        (SHOT, ("https://images.example.org",)),
        ("http://10.0.0.1:9000/a.png", ("http://10.0.0.1:9000",)),
        ("http://127.0.0.1:9000/a.png", ()),
        ("https://Xn--bcher-kva.example/a.png", ("https://xn--bcher-kva.example",)),
        ("https://Bücher.example/a.png", ()),
        ("https://a_b.example/a b.png", ("https://a_b.example",)),
        ("https://a_b.example./a b.png", ()),
        ("https://a.example;script-src/a.png", ()),
        ("https://a.example,b/a.png", ()),
        ("https://a.example *.example/", ()),
        ("https://*/", ()),
        ("https://*.example.org/a.png", ()),
        ("https://me:secret@a.example/a.png", ()),
        ("https://evil.example\\@good.example/a.png", ()),
        ("https://[::1]/a.png", ()),
        ("https://[half/a.png", ()),
        ("https://a.example:port/a.png", ()),
        ("https://a.example:99999/a.png", ()),
        (f"https://{'a' * 70}.example/a.png", ()),
        ("https:///a.png", ()),
        ("//a.example/a.png", ()),
        ("data:image/png;base64,AAAA", ()),
        ("javascript:alert(1)", ()),
        ("ftp://a.example/a.png", ()),
        ("https://a.example/" + "a" * 2_000, ()),
        ("", ()),
    ],
)
def test_an_image_is_shown_where_its_host_can_be_named_in_a_policy(address: str, sources: tuple[str, ...]) -> None:
    assert sources_of(address) == sources
    assert ('class="remote-image"' in render_markdown(f'<img src="{address}">')) is bool(sources)


def test_where_github_sends_its_attachments_on_is_named_too() -> None:
    host, *beyond = sources_of(ATTACHED)
    assert host == "https://github.com"
    assert "https://*.githubusercontent.com" in beyond


@pytest.mark.parametrize("method", ["get", "head"])
def test_the_document_loads_that_image_alone_and_runs_nothing(client: Client, method: str) -> None:
    answer = getattr(client, method)(frame_of(SHOT))
    assert answer.status_code == 200
    assert policy_of(answer) == {
        "default-src": "'none'", "img-src": "https://images.example.org", "style-src": "'self'", "base-uri": "'none'",
        "form-action": "'none'", "frame-ancestors": "'self'", "sandbox": "allow-same-origin",
    }  # fmt: skip
    unlike = {"X-Frame-Options": "SAMEORIGIN", "Referrer-Policy": "no-referrer"}
    assert {name: answer[name] for name in HEADERS} == HEADERS | unlike
    assert not answer.cookies
    if method == "get":
        assert answer.content.count(b"<img") == 1
        assert b'src="https://images.example.org/a.png?x=1&amp;y=&lt;2&gt;"' in answer.content


def test_only_an_address_that_a_text_named_is_shown(client: Client) -> None:
    html = render_markdown(f"![chart]({SHOT})")
    frame = re.search(r'data-frame="([^"]+)"', html)
    assert frame is not None
    named = frame[1].replace("&amp;", "&")
    assert client.get(named).status_code == 200
    asked = {name: values[0] for name, values in parse_qs(urlsplit(named).query).items()}
    for wrong in ({"address": "https://evil.example/a.png"}, {"mark": "x"}, {"mark": ""}, {"address": ""}):
        answer = client.get("/images/?" + urlencode(asked | wrong))
        assert answer.status_code == 404, wrong
        assert "frame-ancestors 'none'" in answer["Content-Security-Policy"]
    assert client.get("/images/").status_code == 404
    assert client.get(frame_of("data:image/svg+xml,x")).status_code == 404
    assert client.post(named).status_code == 405


def test_where_the_site_speaks_https_images_travel_so_too(client: Client, settings: object) -> None:
    settings.HTTPS = True  # type: ignore[attr-defined]
    assert "upgrade-insecure-requests" in policy_of(client.get(frame_of("http://a.example/a.png")))
