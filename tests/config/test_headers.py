"""What every answer tells a browser, what is refused before it is read, and what holds where the site speaks HTTPS."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from django.test import Client

from accounts.actions import make_token
from accounts.models import User

pytestmark = pytest.mark.django_db
HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "accelerometer=(), autoplay=(), camera=(), display-capture=(), encrypted-media=(), "
    "geolocation=(), gyroscope=(), magnetometer=(), microphone=(), midi=(), payment=(), picture-in-picture=(), "
    "screen-wake-lock=(), usb=(), xr-spatial-tracking=()",
    "X-Frame-Options": "DENY",
    "X-Robots-Tag": "noindex, nofollow",
    "X-Permitted-Cross-Domain-Policies": "none",
}
PLAIN_POLICY = "default-src 'none'; frame-ancestors 'none'; sandbox"
PAGE_POLICY = {
    "default-src 'none'", "script-src 'self'", "style-src 'self'", "img-src 'self'", "frame-src 'self'",
    "font-src 'self'", "connect-src 'self'", "form-action 'self'", "base-uri 'none'", "frame-ancestors 'none'",
}  # fmt: skip
BASE_DIR = Path(__file__).resolve().parents[2]


@pytest.fixture
def alice(client: Client) -> User:
    user = User.objects.create_user("alice", password="correct horse battery")
    client.force_login(user)
    return user


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/sign-in/", 200),
        ("/studies/", 200),
        ("/issues/?repository=x", 422),
        ("/no-such-page/", 404),
        ("/studies/no-such-study/", 404),
        ("/me/tokens/1/revoke/", 405),
        ("/healthz", 200),
        ("/static/css/base.css", 200),
        ("/static/favicon.svg", 200),
        ("/static/no-such-file.css", 404),
        ("/api/v1/", 404),
        ("/api/v1/docs/", 200),
        ("/api/v1/schema/", 200),
        ("/api/v1/studies/", 200),
        ("/api/v1/studies/no-such-study/", 404),
        ("/studies", 301),
    ],
)
def test_every_answer_has_the_headers(client: Client, alice: User, path: str, status: int) -> None:
    if path == "/sign-in/":
        client.logout()
    answer = client.get(path)
    assert answer.status_code == status
    assert {name: answer.get(name) for name in HEADERS} == HEADERS
    is_page = answer.get("Content-Type", "").startswith("text/html")
    expected = PAGE_POLICY if is_page else set(PLAIN_POLICY.split("; "))
    assert set(answer["Content-Security-Policy"].split("; ")) == expected
    if path.startswith("/static/") and status == 200:
        assert "public" in answer["Cache-Control"]
        assert "Access-Control-Allow-Origin" not in answer
    else:
        assert "no-store" in answer["Cache-Control"]
        assert "private" in answer["Cache-Control"]


def test_a_file_that_did_not_change_has_the_headers_too(client: Client) -> None:
    first = client.get("/static/css/base.css")
    again = client.get("/static/css/base.css", headers={"if-modified-since": first["Last-Modified"]})
    assert again.status_code == 304
    assert again["X-Content-Type-Options"] == "nosniff"


def test_what_breaks_has_the_headers_too(client: Client, alice: User, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: Any) -> None:
        raise RuntimeError("broken on purpose")

    monkeypatch.setattr("accounts.views.me.tokens_of", broken)
    client.raise_request_exception = False
    answer = client.get("/me/")
    assert answer.status_code == 500
    assert {name: answer.get(name) for name in HEADERS} == HEADERS
    assert "script-src 'self'" in answer["Content-Security-Policy"]


def test_another_name_of_the_site_is_refused_in_words(client: Client, settings: Any) -> None:
    settings.ALLOWED_HOSTS = ["concord.example.org"]
    answer = client.get("/sign-in/", headers={"host": "evil.example"})
    assert answer.status_code == 400
    assert "ALLOWED_HOSTS" in answer.content.decode()
    assert "evil.example" not in answer.content.decode()
    assert answer["X-Content-Type-Options"] == "nosniff"


def test_a_form_from_elsewhere_is_refused_in_words(alice: User) -> None:
    strict = Client(enforce_csrf_checks=True)
    strict.force_login(alice)
    answer = strict.post("/me/profile/", {"full_name": "Mallory"})
    assert answer.status_code == 403
    assert "reload the page" in answer.content.decode()
    refused = strict.post("/api/v1/taxonomies/", "{}", content_type="application/json")
    assert refused.status_code == 403
    assert "<style" not in answer.content.decode()


def test_no_method_but_the_requests_own_counts(client: Client, alice: User) -> None:
    plaintext = make_token(user=alice, name="x", scope="manage")[1]
    bearer = {"authorization": f"Bearer {plaintext}", "x-http-method-override": "DELETE"}
    assert client.post("/api/v1/studies/", {"_method": "DELETE"}, headers=bearer).status_code == 415
    assert client.post("/api/v1/studies/?_method=DELETE", headers=bearer).status_code == 422


@pytest.mark.parametrize(
    "where", ["https://evil.example/", "//evil.example", "/\\\\evil.example", "javascript:alert(1)", "\t//evil.example"]
)
def test_after_sign_in_nobody_is_sent_elsewhere_and_the_session_is_a_new_one(
    client: Client, settings: Any, where: str
) -> None:
    User.objects.create_user("bob", password="correct horse battery")
    planted = client.session
    planted.save()
    client.cookies[settings.SESSION_COOKIE_NAME] = planted.session_key
    answer = client.post("/sign-in/", {"username": "bob", "password": "correct horse battery", "next": where})
    assert (answer.status_code, answer["Location"]) == (302, "/")
    assert client.cookies[settings.SESSION_COOKIE_NAME].value != planted.session_key


# What is refused before it is read


def test_a_body_that_is_too_large_is_refused_unread(client: Client, alice: User, settings: Any) -> None:
    settings.DATA_UPLOAD_MAX_MEMORY_SIZE = 1000
    for path, kind in (("/api/v1/studies/", "application/json"), ("/me/profile/", "application/x-www-form-urlencoded")):
        answer = client.generic("POST", path, b"x" * 1001, content_type=kind)
        assert answer.status_code == 413, path
        assert "larger than" in answer.content.decode()
    assert Client().generic("POST", "/api/v1/studies/", b"x" * 1001, content_type="multipart/form-data; boundary=x"
    ).status_code == 413  # fmt: skip


def test_files_may_be_larger_than_forms_but_not_without_end(client: Client, alice: User, settings: Any) -> None:
    settings.DATA_UPLOAD_MAX_MEMORY_SIZE = 1000
    settings.UPLOAD_BYTES_MAX = 2000
    kind = "multipart/form-data; boundary=x"
    for sender, headers in ((client, {}), (Client(), {"authorization": "Bearer x"})):
        within = sender.generic("POST", "/api/v1/fetches/", b"x" * 2000, content_type=kind, headers=headers)
        assert within.status_code != 413
        beyond = sender.generic(
            "POST", "/api/v1/fetches/", b"x" * (3000 + (1 << 20)), content_type=kind, headers=headers
        )
        assert (beyond.status_code, beyond.json()["code"]) == (413, "too_large")
    unknown = Client().generic(
        "POST", "/sign-in/", b"x" * 2000, content_type=kind, headers={"authorization": "Bearer x"}
    )
    assert unknown.status_code == 413


def test_a_form_of_too_many_fields_is_refused_in_words(client: Client, alice: User) -> None:
    fields = "&".join(f"f{number}=1" for number in range(100_000))
    answer = client.post("/me/profile/", fields, content_type="application/x-www-form-urlencoded")
    assert answer.status_code == 400
    assert "more than 5,000 fields" in answer.content.decode()


@pytest.mark.parametrize("encoding", ["gzip", "deflate", "br"])
def test_a_compressed_body_is_not_unpacked(client: Client, alice: User, encoding: str) -> None:
    import gzip

    packed = gzip.compress(b" " * 50_000_000 + b'{"slug": "s"}')
    answer = client.generic(
        "POST", "/api/v1/studies/", packed, content_type="application/json", headers={"content-encoding": encoding}
    )
    assert answer.status_code == 400


def test_a_nest_without_end_is_refused(client: Client, alice: User) -> None:
    for text in ("[" * 200_000, '{"a":' * 100_000, "[" * 200_000 + "]" * 200_000):
        answer = client.post("/api/v1/studies/", text, content_type="application/json")
        assert answer.status_code == 400
        assert answer.json()["code"] == "unreadable"


# Where the site speaks HTTPS


def with_https(*arguments: str) -> str:
    """What a process prints that reads the settings anew."""
    place = {
        "HTTPS": "1",
        "SECRET_KEY": "0123456789abcdefghijklmnopqrstuvwxyz-ABCDEFGHIJKLMNOP",
        "DJANGO_SETTINGS_MODULE": "config.settings",
    }
    place |= {
        "DATABASE_URL": "postgresql://nobody@nowhere/none",
        "REDIS_URL": "redis://nowhere",
        "SITE_URL": "https://concord.example.org",
    }
    kept = {name: value for name, value in os.environ.items() if name != "DJANGO_ALLOW_ASYNC_UNSAFE"}
    done = subprocess.run(
        [sys.executable, *arguments], check=False, cwd=BASE_DIR, env=kept | place, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.slow
def test_the_check_for_deployment_finds_nothing() -> None:
    assert "no issues" in with_https("manage.py", "check", "--deploy", "--fail-level", "DEBUG")


SEEN = """
import json, django; django.setup()
from django.conf import settings; settings.SESSION_ENGINE = "django.contrib.sessions.backends.signed_cookies"
from django.test import Client
far = Client(headers={"host": "concord.example.org"})
page = far.get("/sign-in/", secure=True)
plain = far.get("/sign-in/?a=b")
print(json.dumps({
    "cookies": {name: [m["secure"], m["path"], m["domain"], m["samesite"]] for name, m in page.cookies.items()},
    "session": [settings.SESSION_COOKIE_NAME, settings.SESSION_COOKIE_SECURE, settings.SESSION_COOKIE_HTTPONLY],
    "hsts": page.headers["Strict-Transport-Security"], "policy": page.headers["Content-Security-Policy"],
    "plain": [plain.status_code, plain.headers["Location"], plain.headers["X-Content-Type-Options"]],
}))
"""


@pytest.mark.process
def test_with_https_cookies_belong_to_this_host_alone_and_nothing_travels_in_the_clear() -> None:
    seen = json.loads(with_https("-c", SEEN))
    assert seen["cookies"] == {"__Host-concord_csrf": [True, "/", "", "Lax"]}
    assert seen["session"] == ["__Host-concord", True, True]
    assert seen["hsts"] == "max-age=31536000"
    assert "upgrade-insecure-requests" in seen["policy"]
    assert seen["plain"] == [301, "https://concord.example.org/sign-in/?a=b", "nosniff"]


def test_a_key_that_was_changed_signs_nobody_out_while_the_former_one_is_named(
    settings: Any, client: Client, alice: User
) -> None:
    idle = Client()
    idle.force_login(alice)
    settings.SECRET_KEY, former = "n" * 40, settings.SECRET_KEY
    settings.SECRET_KEY_FALLBACKS = [former]
    assert client.get("/me/").status_code == 200
    settings.SECRET_KEY_FALLBACKS = []
    assert client.get("/me/").status_code == 200, "signed anew at the first visit"
    assert idle.get("/me/").status_code == 302


def test_every_form_that_posts_carries_a_token_against_forgery() -> None:
    forms = [
        (path.name, form)
        for path in sorted((BASE_DIR / "templates").rglob("*.html"))
        for form in re.findall(r'<form\b[^>]*method="post".*?</form>', path.read_text(), re.S)
    ]
    assert len(forms) > 100
    assert not [(name, form[:120]) for name, form in forms if "{% csrf_token %}" not in form]
