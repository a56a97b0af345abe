"""Content types that name a codec: addresses and bodies are read as UTF-8, and nothing that a request names runs."""

import json
import zlib
from io import BytesIO
from typing import Any

import pytest
from django.core.handlers.wsgi import WSGIHandler
from django.test import Client, RequestFactory

from accounts.actions import make_token
from annotation.models import Study
from config.content_types import PlainContentTypes, plain
from tests import builders as make

CODECS = ["zlib", "bz2", "hex", "base64", "rot13", "idna", "undefined", "unicode_escape", "cp037", "utf-7", "utf-16"]


@pytest.mark.parametrize(
    ("given", "kind", "charset"),
    [
        ("application/json; charset=utf-8", "application/json", ""),
        ("Application/JSON; charset=UTF8", "application/json", ""),
        ("text/html; charset=us-ascii", "text/html", ""),
        ("text/plain; charset=zlib", "text/plain", "zlib"),
        ("text/csv; charset=nothing-known", "text/csv", "nothing-known"),
        ("multipart/form-data; charset=hex; boundary=a-b", 'multipart/form-data; boundary="a-b"', "hex"),
        ("text/plain; a*=nothing-known''x", "text/plain", ""),
        ("text/plain; charset*=zlib''zlib", "text/plain", "zlib"),
        ("; charset=utf-8", "", ""),
        ('text/plain; boundary="a\\"; charset=zlib; x=\\"b"', "text/plain", ""),
        (
            "multipart/form-data; boundary=----WebKitFormBoundaryAb1",
            'multipart/form-data; boundary="----WebKitFormBoundaryAb1"',
            "",
        ),
        ('multipart/form-data; boundary="a b:c"', 'multipart/form-data; boundary="a b:c"', ""),
        ("multipart/form-data; boundary=a\u00e9", "multipart/form-data", ""),
        ('text/"x; charset=zlib', "", ""),
        ("text/plain, text/x; charset=zlib", "", "zlib"),
    ],
)
def test_the_kind_and_the_boundary_are_kept(given: str, kind: str, charset: str) -> None:
    assert plain(given) == (kind, charset)


def ask(
    method: str, path: str, content_type: str, body: bytes = b"", **headers: str
) -> tuple[int, dict[str, str], bytes]:
    """The answer of the application as the web server runs it."""
    told: list[Any] = []
    address, _, query = path.partition("?")
    environ = RequestFactory()._base_environ(
        REQUEST_METHOD=method, PATH_INFO=address, QUERY_STRING=query, CONTENT_TYPE=content_type, **headers
    ) | {"wsgi.input": BytesIO(body), "CONTENT_LENGTH": str(len(body))}
    answer = PlainContentTypes(WSGIHandler())(environ, lambda status, headers, *_: told.extend((status, headers)))
    return int(told[0].split()[0]), dict(told[1]), b"".join(answer)


@pytest.mark.django_db
@pytest.mark.parametrize("codec", CODECS)
def test_addresses_are_read_as_utf_8_whatever_charset_a_request_names(codec: str) -> None:
    for path in ("/sign-in/?next=/%5Cud800", "/healthz?a=b", "/help/?q=a%5Cud800"):
        status, headers, body = ask("GET", path, f"text/plain; charset={codec}")
        assert status == 200 and headers["X-Content-Type-Options"] == "nosniff", path
        assert "\ud800" not in body.decode()


@pytest.mark.django_db(transaction=True)
def test_bodies_that_name_another_charset_are_refused_unread(study: Study) -> None:
    token = f"Bearer {make_token(user=make.user('olga'), name='t', scope='manage')[1]}"
    unpacked = json.dumps({"ids": []}).encode()

    def send(kind: str, body: bytes, path: str = "/api/v1/inbox/read/") -> tuple[int, str]:
        status, _, answer = ask("POST", path, kind, body, HTTP_AUTHORIZATION=token)
        return status, answer.decode()

    for codec in CODECS:
        sentence = f"The request says that its text is {codec}. Send it as UTF-8."
        for kind, body in (
            ("application/json", zlib.compress(unpacked)),
            ("application/x-www-form-urlencoded", b"a=b"),
            ("multipart/form-data; boundary=B", b"--B--\r\n"),
        ):
            status, answer = send(f"{kind}; charset={codec}", body)
            assert status == 415 and json.loads(answer)["message"] == sentence, (codec, kind)
        status, answer = send(f"application/x-www-form-urlencoded; charset={codec}", b"username=a", "/sign-in/")
        assert status == 415 and sentence in answer
    assert send("application/json; charset=UTF8", unpacked)[0] == 200


@pytest.fixture
def study() -> Study:
    return make.study()


@pytest.mark.django_db
def test_odd_parameters_of_what_is_accepted_choose_no_codec(study: Study) -> None:
    client = Client()
    client.force_login(make.user("olga"))
    for path in ("/studies/", "/api/v1/studies/"):
        for accept in (
            "application/json; a*=nothing-known''x",
            "text/html; a*=zlib''x, */*",
            "application/json; indent*=zlib''4",
        ):
            assert client.get(path, headers={"Accept": accept}).status_code == 200, (path, accept)
