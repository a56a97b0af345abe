"""The one error shape, and lists in pages."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import yaml
from django.core.exceptions import PermissionDenied
from django.core.exceptions import ValidationError as DjangoValidationError
from django.core.management import call_command
from django.http import Http404
from django.test import Client
from rest_framework import exceptions, generics
from rest_framework.permissions import AllowAny
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.test import APIRequestFactory
from rest_framework.views import APIView

from accounts.models import User
from config.api import Description, flat
from shared.errors import Conflict, Forbidden, Invalid, NotFound, Unreadable


class Failing(APIView):
    permission_classes = [AllowAny]
    authentication_classes: list[type] = []
    error: Exception = Exception()

    def get(self, request: Request) -> Response:
        raise self.error


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("error", "status", "code"),
    [
        (Unreadable("x"), 400, "unreadable"),
        (exceptions.ParseError("x"), 400, "unreadable"),
        (exceptions.NotAuthenticated(), 401, "unauthenticated"),
        (exceptions.AuthenticationFailed(), 401, "unauthenticated"),
        (Forbidden("x"), 403, "forbidden"),
        (PermissionDenied(), 403, "forbidden"),
        (exceptions.PermissionDenied(), 403, "forbidden"),
        (NotFound("x"), 404, "not_found"),
        (Http404(), 404, "not_found"),
        (User.DoesNotExist(), 404, "not_found"),
        (exceptions.MethodNotAllowed("PUT"), 405, "method_not_allowed"),
        (Conflict("x", code="stale"), 409, "stale"),
        (exceptions.UnsupportedMediaType("text/x"), 415, "unsupported_media_type"),
        (Invalid("x", fields={"a": ["b"]}), 422, "invalid"),
        (exceptions.ValidationError({"a": ["b"]}), 422, "invalid"),
        (DjangoValidationError({"a": ["b"]}), 422, "invalid"),
        (exceptions.Throttled(9), 429, "throttled"),
    ],
)
def test_every_error_has_its_status_and_the_one_shape(error: Exception, status: int, code: str) -> None:
    view = Failing.as_view(authentication_classes=Failing.authentication_classes, error=error)
    if status == 401:
        from accounts.api import TokenAuthentication

        view = Failing.as_view(authentication_classes=[TokenAuthentication], error=error)
    answer = view(APIRequestFactory().get("/"))
    assert answer.status_code == status
    assert set(answer.data) == {"code", "message", "fields"}
    assert answer.data["code"] == code
    assert answer.data["fields"] == ({"a": ["b"]} if status == 422 else {})


@pytest.mark.django_db
def test_what_nobody_foresaw_is_not_hidden() -> None:
    with pytest.raises(ZeroDivisionError):
        Failing.as_view(error=ZeroDivisionError())(APIRequestFactory().get("/"))


def test_nested_messages_become_paths_of_fields() -> None:
    nested = {
        "labels": {"symptom": ["Not known."]},
        "parts": [{}, {"memo": ["Too long."]}],
        "non_field_errors": ["No."],
    }
    assert flat(nested) == {"labels.symptom": ["Not known."], "parts.1.memo": ["Too long."], "": ["No."]}


class Names(generics.GenericAPIView):
    permission_classes = [AllowAny]
    authentication_classes: list[type] = []
    ordering = ("first_name", "last_name", "-username")
    rows: list[int] | None = None

    def get(self, request: Request) -> Response:
        rows = self.paginate_queryset(User.objects.all() if self.rows is None else self.rows)
        return self.get_paginated_response([getattr(row, "username", row) for row in rows])


def walk(address: str, **parts: object) -> tuple[list[object], int]:
    view = Names.as_view(**parts)
    found: list[object] = []
    n_pages = 0
    while address:
        answer = view(APIRequestFactory().get(address))
        assert answer.status_code == 200, answer.data
        found += answer.data["results"]
        n_pages += 1
        address = answer.data["next"]
    return found, n_pages


@pytest.mark.django_db
@pytest.mark.parametrize("size", [1, 2, 5, 7, 1000])
def test_pages_bring_every_row_once_and_in_order(size: int) -> None:
    people = ["b y u1", "a x u2", "b y u3", "a y u4", "a x u5", "c x u6", "b x u7", "b y u8", "a x u9"]
    for person in people:
        first, last, name = person.split()
        User.objects.create(first_name=first, last_name=last, username=name)
    found, _ = walk(f"/?page_size={size}&x=1")
    assert found == ["u9", "u5", "u2", "u4", "u7", "u8", "u3", "u1", "u6"]


@pytest.mark.django_db
def test_a_row_that_arrives_while_the_list_is_read_neither_doubles_nor_hides_another() -> None:
    User.objects.bulk_create(User(username=f"u{number}") for number in range(4))
    first = Names.as_view(ordering="username")(APIRequestFactory().get("/?page_size=2"))
    User.objects.create(username="a")
    assert first.data["next"].startswith("http://testserver/")
    found, _ = walk(first.data["next"], ordering="username")
    assert first.data["results"] + found == ["u0", "u1", "u2", "u3"]


@pytest.mark.django_db
def test_a_plain_list_is_paged_too() -> None:
    assert walk("/?page_size=3", rows=list(range(8))) == (list(range(8)), 3)


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("query", "status"),
    [(f"cursor={cursor}", 400) for cursor in ("!", "W10", "eyJ9")]
    + [(f"page_size={size}", 422) for size in ("0", "x", "-1")],
)
def test_a_page_that_can_not_be_read_is_refused(query: str, status: int) -> None:
    answer = Names.as_view()(APIRequestFactory().get(f"/?{query}"))
    assert answer.status_code == status


def test_the_description_names_the_errors_of_each_operation():
    description = yaml.safe_load(Client().get("/api/v1/schema/").content)
    fetches = description["paths"]["/api/v1/fetches/"]
    assert set(fetches["post"]["responses"]) == {"202", "400", "401", "403", "409", "413", "415", "422", "429", "503"}
    one = description["paths"]["/api/v1/issues/{owner}/{name}/{number}/"]["get"]["responses"]
    assert set(one) == {"200", "301", "401", "403", "404", "422", "429", "503"}
    webhook = description["paths"]["/api/v1/webhooks/github/"]["post"]["responses"]
    assert set(webhook) == {"200", "202", "400", "401", "404", "413", "415", "422", "503"}
    error = {"application/json": {"schema": {"$ref": "#/components/schemas/Error"}}}
    refused = [answer for answers in (fetches["post"]["responses"], one, webhook) for answer in answers.items()]
    assert all(answer["content"] == error for status, answer in refused if status >= "400")


def test_those_who_ask_for_the_description_at_once_all_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Description, "made", None)
    with ThreadPoolExecutor(6) as crowd:
        answers = list(crowd.map(lambda _: Client().get("/api/v1/schema/"), range(6)))
    assert {answer.status_code for answer in answers} == {200}
    assert len({answer.content for answer in answers}) == 1


def test_the_description_is_made_without_a_warning_and_describes_every_operation(tmp_path: Path):
    made = tmp_path / "schema.yaml"
    call_command("spectacular", "--validate", "--fail-on-warn", file=str(made))
    operations = [
        (path, method, each)
        for path, methods in yaml.safe_load(made.read_text())["paths"].items()
        for method, each in methods.items()
    ]
    assert [(path, method) for path, method, each in operations if not each.get("description")] == []
    assert len({each["operationId"] for _, _, each in operations}) == len(operations)
