"""A script of a user, as tests run it: REST with a token."""

import json
from typing import Any

from django.test import Client

from accounts.actions import make_token
from tests import builders as make

BASE = "/api/v1/"


class Script:
    """Calls the API as one user with a token, and sends bodies as written."""

    def __init__(self, name: str, scope: str = "manage") -> None:
        _, plain = make_token(user=make.user(name), name="test", scope=scope)
        self.client = Client(raise_request_exception=False)
        self.headers = {"Authorization": f"Bearer {plain}"}

    def send(self, method: str, path: str, body: Any = None, *, text: str | None = None, **headers: str) -> Any:
        return self.client.generic(
            method,
            BASE + path,
            json.dumps(body) if text is None else text,
            content_type="application/json",
            headers={**self.headers, **headers},
        )

    def send_form(self, path: str, fields: dict[str, Any]) -> Any:
        """A form with files, as multipart/form-data."""
        return self.client.post(BASE + path, fields, headers=self.headers)

    def refused(self, method: str, path: str, body: Any, status: int = 422) -> dict[str, list[str]]:
        """The fields that an answer names; it must be of the one error shape."""
        answer = self.send(method, path, body)
        assert answer.status_code == status, (body, answer.status_code, answer.content[:300])
        assert set(answer.json()) == {"code", "message", "fields"}
        return answer.json()["fields"]
