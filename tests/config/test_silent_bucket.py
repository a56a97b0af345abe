"""A bucket that accepts connections and never answers: a request waits once, and probes and labeling not at all."""

import socket
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from botocore.config import Config

from config import env
from shared import storage_bucket
from shared.errors import StorageAway
from shared.storage_bucket import Bucket

KEYS = {"S3_BUCKET": "concord", "S3_REGION": "us-east-1", "S3_ACCESS_KEY": "some", "S3_SECRET_KEY": "body"}


class Silent:
    """A server that accepts, and never answers."""

    def __init__(self) -> None:
        self._server = socket.create_server(("127.0.0.1", 0), backlog=200)
        self.url = f"http://127.0.0.1:{self._server.getsockname()[1]}"
        self.taken: list[socket.socket] = []
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                self.taken.append(self._server.accept()[0])

    def close(self) -> None:
        self._server.close()
        for each in self.taken:
            each.close()


@pytest.fixture(scope="module")
def silent() -> Iterator[Silent]:
    made = Silent()
    yield made
    made.close()


@pytest.fixture
def storage(silent: Silent, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Bucket:
    """The bucket as a web process asks it, with a tenth of its patience."""
    for name, value in (KEYS | {"S3_ENDPOINT": silent.url}).items():
        monkeypatch.setenv(name, value)
    watch = storage_bucket._BucketOutage()
    watch.is_on_watch = True
    monkeypatch.setattr(storage_bucket, "absence", watch)
    impatient = Bucket.limits_of_requests.merge(Config(read_timeout=0.5))
    monkeypatch.setattr(Bucket, "limits_of_requests", impatient)
    options: Any = env.files(tmp_path)["OPTIONS"]
    return Bucket(**options)


def test_a_request_asks_a_silent_bucket_once_and_the_next_ones_not_at_all(
    storage: Bucket, silent: Silent, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = len(silent.taken)
    for _ in range(5):
        with pytest.raises(StorageAway):
            storage.open("x")
    assert len(silent.taken) - before == 1
    monkeypatch.setattr(storage_bucket, "AWAY_SECONDS", 0)
    with ThreadPoolExecutor(8) as crowd:
        asked = [crowd.submit(storage.exists, "x") for _ in range(8)]
    assert {type(each.exception()) for each in asked} == {StorageAway}
    assert 1 <= len(silent.taken) - before - 1 < 8, "one tries again, and the others don't wait"


def test_in_a_request_nobody_waits_longer_than_was_promised() -> None:
    limits: Any = Bucket.limits_of_requests
    assert (limits.connect_timeout, limits.read_timeout, limits.retries) == (3, 10, {"total_max_attempts": 1})
