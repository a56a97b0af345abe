"""Where links lead that people hand on, and the names that the site answers to."""

import os
import re
import runpy
import subprocess
import sys
from typing import Any

import pytest
from django.core.exceptions import ImproperlyConfigured
from django.core.mail import EmailMessage
from django.test import Client

from accounts.models import User
from tests import builders as make
from tests.conftest import BASE_DIR

SITE = "https://concord.example.org"
HOSTS = ["concord.example.org:4444", "localhost:4444", "127.0.0.1:4444", "[::1]:4444"]
NAMES = ("SITE_URL", "ALLOWED_HOSTS", "HTTPS", "TRUSTED_PROXIES", "BIND", "PORT")


@pytest.fixture
def olga(settings: Any) -> User:
    """Owner of a study, on a site with a name."""
    make.study(owner="olga")
    olga = User.objects.get(username="olga")
    olga.email = "olga@example.org"
    olga.save()
    settings.SITE_URL, settings.SENDS_EMAIL, settings.CELERY_TASK_ALWAYS_EAGER = SITE, True, True
    settings.ALLOWED_HOSTS = ["concord.example.org", "localhost", "127.0.0.1", "[::1]"]
    return olga


@pytest.mark.django_db
@pytest.mark.parametrize("host", HOSTS)
def test_links_in_e_mail_do_not_follow_the_host_or_port_of_a_request(
    olga: User, mailoutbox: list[EmailMessage], host: str
) -> None:
    anonymous = Client(headers={"host": host})
    assert anonymous.post("/sign-in/lost-password/", {"email": "olga@example.org"}).status_code == 200
    owner = Client(headers={"host": host})
    owner.force_login(olga)
    invited = {"roles": ["rater"], "email": "new@example.org", "days": 7, "n_most": 1}
    assert owner.post("/studies/study/members/invite/", invited).status_code == 201
    assert len(mailoutbox) == 2
    for mail in mailoutbox:
        assert re.findall(r"https?://[^/\s]+", str(mail.body)) and "4444" not in mail.body
        assert {*re.findall(r"https?://[^/\s]+", str(mail.body))} == {SITE}


@pytest.mark.django_db
@pytest.mark.parametrize("host", HOSTS)
def test_links_that_people_hand_on_do_not_follow_the_host_or_port_of_a_request(olga: User, host: str) -> None:
    client = Client(headers={"host": host})
    client.force_login(make.user("sam", staff=True))
    owner = Client(headers={"host": host})
    owner.force_login(olga)
    bob = make.member(make.Study.objects.get(), "bob").pk
    sent = {"roles": ["rater"], "days": 7, "n_most": 1}
    answers = [
        owner.post("/studies/study/members/invite/", sent),
        owner.post("/studies/study/readers/", {"label": "reviewers", "days": 7}),
        client.post(f"/studies/study/members/{bob}/password-link/"),
        owner.post("/api/v1/studies/study/invitations/", sent, content_type="application/json"),
    ]
    for answer in answers:
        assert answer.status_code in (200, 201), answer.content
        words = answer.content.decode()
        assert re.search(SITE + "/(invitations|read|new-password)/", words)
        assert not re.search(r"https?://[^/\s\"]*4444", words)


@pytest.mark.parametrize(
    ("environment", "url", "hosts"),
    [
        ({}, "http://127.0.0.1:8000", ["localhost", "127.0.0.1", "[::1]"]),
        ({"PORT": "8001"}, "http://127.0.0.1:8001", ["localhost", "127.0.0.1", "[::1]"]),
        ({"SITE_URL": SITE}, SITE, ["concord.example.org"]),
        ({"SITE_URL": SITE + "/", "ALLOWED_HOSTS": "lab"}, SITE, ["lab", "concord.example.org"]),
        ({"ALLOWED_HOSTS": "concord.example.org lab", "HTTPS": "1"}, SITE, ["concord.example.org", "lab"]),
        ({"ALLOWED_HOSTS": ".example.org", "HTTPS": "1"}, "https://example.org", [".example.org"]),
        ({"ALLOWED_HOSTS": "lab", "TRUSTED_PROXIES": "1"}, "http://lab", ["lab"]),
        ({"ALLOWED_HOSTS": "lab"}, "http://lab:8000", ["lab"]),
        (
            {"ALLOWED_HOSTS": "localhost 127.0.0.1", "TRUSTED_PROXIES": "1"},
            "http://localhost:8000",
            ["localhost", "127.0.0.1"],
        ),
        ({"HTTPS": "1"}, "https://127.0.0.1:8000", []),
        ({"BIND": "0.0.0.0"}, "http://127.0.0.1:8000", []),
    ],
)
def test_loopback_names_are_names_of_the_site_only_where_it_listens_there_alone(
    monkeypatch: pytest.MonkeyPatch, environment: dict[str, str], url: str, hosts: list[str]
) -> None:
    for name in NAMES:
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    found = runpy.run_path("config/settings.py")
    assert (found["SITE_URL"], found["ALLOWED_HOSTS"]) == (url, hosts)


def test_names_of_the_site_that_are_all_names_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ALLOWED_HOSTS", "lab *")
    with pytest.raises(ImproperlyConfigured, match="ALLOWED_HOSTS can't be"):
        runpy.run_path("config/settings.py")


@pytest.mark.parametrize(
    "given", ["concord.example.org", "ftp://x", "https://", "https://a/b", "https://a:x", "http://u@h", "https://a?b"]
)
def test_a_site_url_that_is_none_is_refused(monkeypatch: pytest.MonkeyPatch, given: str) -> None:
    monkeypatch.setenv("SITE_URL", given)
    with pytest.raises(ImproperlyConfigured, match="SITE_URL is .*; write it as https://concord.example.org"):
        runpy.run_path("config/settings.py")


@pytest.mark.django_db
def test_health_checks_and_metrics_answer_under_every_name_and_pages_do_not(settings: Any) -> None:
    settings.ALLOWED_HOSTS, settings.SITE_URL = ["concord.example.org"], SITE
    settings.METRICS_TOKEN = "0123456789abcdef"
    for host in ("127.0.0.1:8000", "localhost", "[::1]:8000", "172.18.0.5:8000", "web-1:8000", "evil.example.org"):
        process = Client(headers={"host": host})
        assert process.get("/healthz").status_code == process.get("/readyz").status_code == 200
        assert process.get("/metrics", headers={"Authorization": "Bearer 0123456789abcdef"}).status_code in (200, 404)
        assert process.get("/sign-in/").status_code == process.get("/healthz/").status_code == 400
        assert host.encode() not in process.get("/readyz").content


@pytest.mark.slow
@pytest.mark.parametrize(
    ("environment", "said"),
    [
        ({"ALLOWED_HOSTS": "concord.example.org", "HTTPS": "1"}, "begin with https://concord.example.org"),
        pytest.param(
            {"SITE_URL": "http://concord.example.org", "HTTPS": "1"},
            "HTTPS is set, but SITE_URL is http://",
            marks=pytest.mark.process,
        ),
        pytest.param({"HTTPS": "1"}, "has no name", marks=pytest.mark.process),
    ],
)
def test_the_check_for_deployment_says_where_links_may_lead_astray(environment: dict[str, str], said: str) -> None:
    kept = {name: value for name, value in os.environ.items() if name not in NAMES}
    given = kept | environment | {"DATABASE_URL": "postgresql://nobody@nowhere/none", "REDIS_URL": "redis://nowhere"}
    command = [sys.executable, "manage.py", "check", "--deploy"]
    done = subprocess.run(command, check=False, cwd=BASE_DIR, env=given, capture_output=True, text=True)
    assert said in done.stderr
