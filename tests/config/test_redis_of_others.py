"""Redis that other people reach: what they read there, what they write there, and the warning about it."""

import pickle
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import redis
from django.conf import settings
from django.core import mail
from django.core.cache import cache
from django.test import override_settings

from accounts import jobs
from accounts.models import User
from config.checks import redis_evicts_nothing, redis_has_a_password
from tests import builders as make


class Touching:
    """Pickled, it makes a file when it is read."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> Any:
        return Path.touch, (self.path,)


@pytest.fixture
def server() -> Iterator[redis.Redis]:
    with redis.Redis.from_url(settings.REDIS_URL.replace("redis+socket://", "unix://")) as found:
        yield found


def test_reading_an_entry_that_someone_else_wrote_runs_nothing(tmp_path: Path, server: redis.Redis) -> None:
    made = tmp_path / "made"
    for forged in (pickle.dumps(Touching(made)), b"x" * 32 + pickle.dumps(Touching(made)), b"x"):
        server.set(cache.make_key("forged"), forged, ex=60)
        assert cache.get("forged", "nothing") == "nothing" and not made.exists()
    cache.set("plain", {"a": (1, b"b", None)}, 60)
    assert cache.get("plain") == {"a": (1, b"b", None)}
    with override_settings(SECRET_KEY="the key of another server, of many signs"):
        assert cache.get("plain") is None


@pytest.mark.django_db
def test_a_link_in_an_e_mail_is_not_in_the_queue(monkeypatch: pytest.MonkeyPatch) -> None:
    User.objects.filter(pk=make.user("vic").pk).update(email="vic@example.org")
    queued: list[tuple[Any, ...]] = []
    monkeypatch.setattr(jobs.send_message, "delay", lambda *given, **more: queued.append((given, more)))
    jobs.send_password_links("vic@example.org", "https://concord.example.org")
    [(given, more)] = queued
    assert given[0] == "vic@example.org" and "new-password" not in repr(queued)
    with override_settings(
        SECRET_KEY="another key, which came later, of many signs", SECRET_KEY_FALLBACKS=[settings.SECRET_KEY]
    ):
        jobs.send_message(*given, **more)
    jobs.send_message("vic@example.org", "Of an earlier version", "as it is")
    sent, earlier = (each.body for each in mail.outbox)
    link = re.search(r"https://concord\.example\.org(/new-password/\S+)", sent)
    assert link and earlier == "as it is"


@pytest.mark.parametrize(
    ("url", "n"),
    [
        ("redis://127.0.0.1:6379/0", 1),
        ("redis://localhost", 1),
        ("redis://:@10.0.0.1:6379/0", 1),
        ("rediss://[2001:db8::1]:6379/0", 1),
        ("redis://redis.example.org", 1),
        ("redis://:word@127.0.0.1:6379/0", 0),
        ("redis://redis:6379/0", 0),  # a container
        ("redis+socket:///srv/data/redis.sock", 0),
        ("unix:///run/redis/redis.sock", 0),
    ],
)
def test_the_check_for_deployment_warns_of_a_redis_without_a_password(url: str, n: int) -> None:
    with override_settings(REDIS_URL=url):
        assert [each.id for each in redis_has_a_password(None)] == ["concord.W005"] * n


@pytest.mark.parametrize(
    ("memory", "policy", "n"), [("0", "volatile-lru", 0), ("100gb", "noeviction", 0), ("100gb", "allkeys-lru", 1)]
)
def test_the_check_for_deployment_warns_of_a_redis_that_evicts(
    server: redis.Redis, memory: str, policy: str, n: int
) -> None:
    before = server.config_get("maxmemory*")
    try:
        server.config_set("maxmemory", memory)
        server.config_set("maxmemory-policy", policy)
        assert [each.id for each in redis_evicts_nothing(None)] == ["concord.W006"] * n
    finally:
        for name in ("maxmemory", "maxmemory-policy"):
            server.config_set(name, before[name])


def test_the_check_says_nothing_of_a_redis_that_does_not_answer() -> None:
    with override_settings(REDIS_URL="redis://127.0.0.1:1/0"):
        assert redis_evicts_nothing(None) == []
