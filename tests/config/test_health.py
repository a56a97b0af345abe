"""`/healthz` and `/readyz`: what they say while all is well, and while something is away."""

from pathlib import Path

import pytest
from django.core.files.storage import default_storage
from django.db import connection
from django.test import Client
from pytest_django.fixtures import Settings

from config import health
from tests.asserts import assert_queries

pytestmark = pytest.mark.django_db
WELL = {"database": "ok", "redis": "ok", "migrations": "ok", "disk": "ok", "storage": "ok"}


def test_the_process_is_alive_whatever_the_database_does(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(connection.settings_dict, "HOST", "/nowhere")
    with assert_queries(0):
        answer = Client().get("/healthz")
    assert (answer.status_code, answer.json()) == (200, {"process": "ok"})


def test_all_parts_are_ready_and_nothing_is_left_in_the_storage() -> None:
    answer = Client().get("/readyz")
    assert (answer.status_code, answer.json()) == (200, WELL)
    assert "no-store" in answer["Cache-Control"]
    assert not [name for name in default_storage.listdir("")[1] if "health" in name]


def test_a_database_that_is_away_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(connection.settings_dict, "HOST", "/nowhere")
    answer = Client().get("/readyz")
    away = {"database": "does not answer", "migrations": "not known"}
    assert (answer.status_code, answer.json()) == (503, WELL | away)


def test_redis_away_is_said_and_does_not_concern_who_needs_the_database_alone(settings: Settings) -> None:
    settings.REDIS_URL = "redis://127.0.0.1:1/0"
    answer = Client().get("/readyz")
    assert (answer.status_code, answer.json()) == (503, WELL | {"redis": "does not answer"})
    assert Client().get("/readyz?need=database,migrations").status_code == 200
    assert Client().get("/readyz?need=nonsense").status_code == 503


def test_a_migration_that_was_not_applied_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    of_the_next_version = health._own_migrations() | {("accounts", "9999_later")}
    monkeypatch.setattr(health, "_own_migrations", lambda: of_the_next_version)
    answer = Client().get("/readyz")
    assert (answer.status_code, answer.json()["migrations"]) == (503, "1 is not applied")


def test_a_storage_that_can_not_be_written_is_said(settings: Settings, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    settings.STORAGES = settings.STORAGES | {
        "default": {
            "BACKEND": "django.core.files.storage.FileSystemStorage",
            "OPTIONS": {"location": tmp_path / "file"},
        }
    }
    health.forget()
    answer = Client().get("/readyz")
    health.forget()
    assert (answer.status_code, answer.json()["storage"]) == (503, "can't be written")
