"""Storage in an S3 bucket; one that does not respond is distinguished from one that rejects."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from boto3.s3.transfer import TransferConfig
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError, HTTPClientError
from django.core.files import File
from storages.backends.s3 import S3Storage

from shared.errors import StorageAway

AWAY_SECONDS = 5.0
"""How long a web process leaves a bucket alone that did not answer."""


class Bucket(S3Storage):
    """Django's storage in a bucket. What is opened is here already: in memory if it is small, else on this disk.

    Raises StorageAway, and FileNotFoundError where there is no such file.
    """

    def __init__(self, **given: Any) -> None:
        super().__init__(**given)
        limits = self.limits_of_requests if absence.is_on_watch else self.limits_of_jobs
        self.client_config = limits.merge(Config(s3={"addressing_style": self.addressing_style}))
        if absence.is_on_watch:
            self.transfer_config = TransferConfig(num_download_attempts=1)

    limits_of_requests = Config(connect_timeout=3, read_timeout=10, retries={"total_max_attempts": 1})
    limits_of_jobs = Config(connect_timeout=5, read_timeout=30, retries={"mode": "standard", "max_attempts": 3})

    def _open(self, name: str, mode: str = "rb") -> Any:
        with _answering():
            found = super()._open(name, mode)
            if "r" in mode:
                found.open()
            return found

    def _save(self, name: str, content: "File[bytes]") -> str:
        with _answering():
            return str(super()._save(name, content))

    def delete(self, name: str) -> None:
        with _answering():
            super().delete(name)

    def exists(self, name: str) -> bool:
        with _answering():
            return bool(super().exists(name))

    def size(self, name: str) -> int:
        with _answering():
            return int(super().size(name))


class _BucketOutage:
    """What a web process knows of a bucket that does not answer: one request tries it again, the others don't wait.

    Jobs have time: in their processes it is not on watch.
    """

    def __init__(self) -> None:
        self.is_on_watch = False
        self._lock = threading.Lock()
        self._is_away = self._is_tried = False
        self._failed_at = 0.0

    @contextmanager
    def heeded(self) -> Iterator[None]:
        """Raises StorageAway at once where the bucket did not answer just now."""
        if not self.is_on_watch:
            yield
            return
        with self._lock:
            is_trial = self._is_away
            if is_trial and (self._is_tried or time.monotonic() - self._failed_at < AWAY_SECONDS):
                raise StorageAway
            self._is_tried = is_trial
        try:
            yield
        except StorageAway:
            self._is_away, self._failed_at = True, time.monotonic()
            raise
        except Exception:
            self._is_away = False
            raise
        else:
            self._is_away = False
        finally:
            if is_trial:
                self._is_tried = False


absence = _BucketOutage()


@contextmanager
def _answering() -> Iterator[None]:
    with absence.heeded():
        try:
            yield
        except Exception as error:
            if _is_away(error):
                raise StorageAway from error
            raise


def _is_away(error: BaseException | None) -> bool:
    """Whether it is the network's or the server's fault; boto3 wraps some of these, at times without a cause."""
    while error is not None:
        match error:
            case ClientError():
                status = error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0)
                return bool(status >= 500 or status == 429)
            case HTTPClientError() | ConnectionError():
                return True
            case BotoCoreError():
                return "Endpoint" in type(error).__name__
        error = error.__cause__ or error.__context__
    return False
