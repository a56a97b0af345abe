"""Slow requests: who asks is looked up when the body has come, and again while a long answer is sent."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.test.client import BOUNDARY, MULTIPART_CONTENT, FakePayload, encode_multipart

from accounts.actions import make_password_link, make_token, use_password_link
from accounts.models import PasswordLink, User
from annotation.models import Invitation, Study
from ingest.models import FetchRun
from shared import watched_streams
from shared.errors import Forbidden, NotFound
from shared.row_files import write_rows
from tests import builders as make

pytestmark = pytest.mark.django_db
OLD, NEW = "a long old password", "an even longer new password"
PADDING = SimpleUploadedFile("padding.bin", b"x" * (11 << 20))
"""With it, a form is too large for memory."""


class SlowBody(FakePayload):
    """A body of which something happens in the middle."""

    def __init__(self, content: bytes, meanwhile: Callable[[], object]) -> None:
        super().__init__(content)
        self.meanwhile = meanwhile

    def read(self, size: int | None = None) -> bytes:
        if self.meanwhile is not None:
            meanwhile, self.meanwhile = self.meanwhile, None
            meanwhile()
        return super().read(size)


def send(client: Client, path: str, body: bytes, kind: str, meanwhile: Callable[[], object], **more: Any) -> int:
    slow = {"wsgi.input": SlowBody(body, meanwhile)}
    return client.generic("POST", path, body, kind, **slow, **more).status_code


def form(**fields: Any) -> tuple[bytes, str]:
    return encode_multipart(BOUNDARY, fields), MULTIPART_CONTENT


def recovered(user: User) -> None:
    link, _ = make_password_link(user=user)
    use_password_link(link=link, new=NEW)


@pytest.fixture
def carl() -> User:
    return make.user("carl", password=OLD)


@pytest.fixture
def thief(carl: User) -> Client:
    client = Client()
    assert client.login(username="carl", password=OLD)
    return client


@pytest.mark.parametrize("padding", [None, PADDING], ids=["in memory", "on disk"])
def test_a_session_that_ended_while_a_form_came_closes_no_account(carl: User, thief: Client, padding: Any) -> None:
    fields = {"typed": "carl", "username": "carl", "password": OLD, **({"file": padding} if padding else {})}
    assert send(thief, "/me/close/", *form(**fields), lambda: recovered(carl)) in (302, 403)
    carl.refresh_from_db()
    assert carl.is_active and carl.check_password(NEW)


@pytest.mark.parametrize("authorization", ["", "Basic Zm9v", "Bearer", "Digest"])
def test_a_session_that_ended_while_a_large_file_came_stores_nothing(
    thief: Client, carl: User, authorization: str
) -> None:
    asked = {"headers": {"Authorization": authorization}} if authorization else {}
    body, kind = form(file=PADDING, repository="carl/stolen")
    assert send(thief, "/api/v1/fetches/", body, kind, lambda: recovered(carl), **asked) == 401
    assert not FetchRun.objects.exists()


@pytest.mark.parametrize("is_large", [False, True])
def test_a_token_that_was_revoked_while_a_body_came_does_nothing(carl: User, is_large: bool) -> None:
    study = make.study(owner="carl")
    token = make_token(user=carl, name="stolen", scope="manage")[1]
    asked = {"headers": {"Authorization": f"Bearer {token}"}}
    if is_large:
        body, kind = form(repository="acme/rocket", file=PADDING)
        assert send(Client(), "/api/v1/fetches/", body, kind, lambda: recovered(carl), **asked) == 401
    else:
        path, body = f"/api/v1/studies/{study.slug}/invitations/", b'{"roles": ["owner"]}'
        assert send(Client(), path, body, "application/json", lambda: recovered(carl), **asked) == 401
    assert not Invitation.objects.exists() and not FetchRun.objects.exists() and Study.objects.count() == 1


def test_who_is_no_staff_any_more_when_a_form_has_come_gets_no_link_for_others() -> None:
    path = f"/studies/study/members/{make.member(make.study(), 'bob').pk}/password-link/"
    sam = make.user("sam", staff=True)
    client = Client()
    client.force_login(sam)

    def demoted() -> None:
        User.objects.filter(pk=sam.pk).update(is_staff=False)

    assert send(client, path, *form(), lambda: None) in (200, 201)
    assert send(client, path, *form(), demoted) == 404
    assert PasswordLink.objects.count() == 1


def test_a_large_file_of_a_token_that_stays_arrives_whole() -> None:
    token = make_token(user=make.user("sam", staff=True), name="tests", scope="manage")[1]
    rows = b"repository,number,title,body\n" + b"acme/rocket,1,It crashes,It does\n" * 350_000
    body, kind = form(repository="acme/rocket", file=SimpleUploadedFile("issues.csv", rows))
    asked = {"headers": {"Authorization": f"Bearer {token}"}}
    assert send(Client(), "/api/v1/fetches/", body, kind, lambda: None, **asked) == 202
    upload = FetchRun.objects.get().upload
    assert upload is not None and upload.size == len(rows)


@pytest.mark.parametrize("way", ["session", "token"])
def test_a_file_ends_where_its_reader_was_signed_out(carl: User, thief: Client, way: str, monkeypatch: Any) -> None:
    monkeypatch.setattr(watched_streams, "LOOK_SECONDS", 0)
    monkeypatch.setitem(write_rows.__kwdefaults__, "chunk", 1)
    round_ = make.open_round(make.study(owner="carl"), 2)
    make.submit(round_, "bob", 1, {"symptom": ["crash"]})

    def pieces() -> Iterator[bytes]:
        if way == "session":
            answer: Any = thief.get("/studies/study/exports/ratings.jsonl")
        else:
            token = make_token(user=carl, name="stolen", scope="read")[1]
            headers = {"Authorization": f"Bearer {token}"}
            answer = Client().get("/api/v1/studies/study/ratings/?format=jsonl", headers=headers)
        assert answer.status_code == 200, answer.content
        return iter(answer.streaming_content)

    assert b"acme/rocket#1" in b"".join(pieces())
    sent = pieces()
    recovered(carl)
    make.submit(round_, "bob", 2, {"symptom": ["crash"]}, memo="later")
    with pytest.raises(Forbidden, match="signed out while this file was sent"):
        b"".join(sent)


@pytest.mark.parametrize("way", ["session", "token"])
def test_a_file_ends_where_its_reader_is_staff_no_longer(way: str, monkeypatch: Any) -> None:
    monkeypatch.setattr(watched_streams, "LOOK_SECONDS", 0)
    sam, client = make.user("sam", staff=True), Client()
    make.issues(3, private=True)
    token = make_token(user=sam, name="tests", scope="read")[1]
    client.force_login(sam)
    if way == "session":
        answer: Any = client.get("/operations/audit/audit.jsonl")
    else:
        headers = {"Authorization": f"Bearer {token}"}
        answer = Client().get("/api/v1/issues/?format=jsonl", headers=headers)
    assert answer.status_code == 200
    User.objects.filter(pk=sam.pk).update(is_staff=False)
    with pytest.raises(Forbidden, match="removed from staff while this file was sent"):
        list(answer.streaming_content)


@pytest.mark.parametrize(("roles", "error"), [(["reader"], Forbidden), ([], NotFound)])
def test_an_audit_log_ends_where_its_reader_owns_the_study_no_longer(
    carl: User, thief: Client, roles: list[str], error: type[Exception], monkeypatch: Any
) -> None:
    monkeypatch.setattr(watched_streams, "LOOK_SECONDS", 0)
    own = make.study(owner="carl").memberships.filter(user=carl)
    answer: Any = thief.get("/studies/study/audit/audit.jsonl")
    assert answer.status_code == 200
    own.update(roles=roles) if roles else own.delete()
    with pytest.raises(error):
        list(answer.streaming_content)
