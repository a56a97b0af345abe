"""Files in a bucket of S3 instead of a folder; one that does not answer is told apart from one that refuses."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError, HTTPClientError
from django.core.files import File
from storages.backends.s3 import S3Storage

from accounts.errors import StorageAway


class Bucket(S3Storage):
    """Django's storage in a bucket. What is opened is here already: in memory if it is small, else on this disk.

    Raises StorageAway, and FileNotFoundError where there is no such file.
    """

    def _open(self, name: str, mode: str = "rb") -> Any:
        with _answering():
            found = super()._open(name, mode)
            if "r" in mode:
                found.open()
            return found

    def _save(self, name: str, content: File) -> str:
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


@contextmanager
def _answering() -> Iterator[None]:
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
