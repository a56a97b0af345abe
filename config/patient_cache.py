"""Redis cache that may be away: then nothing is found or stored, and no page waits for it."""

import logging
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from hashlib import blake2b
from hmac import compare_digest
from pickle import UnpicklingError
from typing import Any, TypeVar

from django.conf import settings
from django.core.cache.backends.base import DEFAULT_TIMEOUT
from django.core.cache.backends.redis import RedisCache, RedisSerializer
from redis.exceptions import RedisError

logger = logging.getLogger(__name__)
T = TypeVar("T")
AWAY_SECONDS = 3.0
"""How long nobody of this process asks again after Redis did not answer."""
OF_ANOTHER_VERSION = (UnpicklingError, AttributeError, ImportError, IndexError, EOFError, TypeError)
"""What reading an entry raises that another version of Concord has kept."""
MARK_BYTES = 32


class _RedisOutage:
    """Until when this process takes Redis for away."""

    until = 0.0

    def is_on(self) -> bool:
        return time.monotonic() < self.until

    def begin(self, error: Exception) -> None:
        if not self.is_on():
            logger.warning("Redis does not answer (%s); it is left alone for a few seconds", type(error).__name__)
        self.until = time.monotonic() + AWAY_SECONDS

    def end(self) -> None:
        self.until = 0.0


absence = _RedisOutage()


class SignedSerializer(RedisSerializer):
    """As Django writes entries, which are pickles, each after its mark by SECRET_KEY; others are not read.

    So nothing runs here that someone else who reaches Redis has written.
    """

    def dumps(self, obj: Any) -> Any:
        written = super().dumps(obj)
        return _mark(written) + written if isinstance(written, bytes) else written

    def loads(self, data: Any) -> Any:
        with suppress(ValueError):
            return int(data)
        mark, written = data[:MARK_BYTES], data[MARK_BYTES:]
        if not compare_digest(mark, _mark(written)):
            raise UnpicklingError("not written by this server")
        return super().loads(written)


def _mark(written: bytes) -> bytes:
    return blake2b(
        written, key=settings.SECRET_KEY.encode()[:64], person=b"concord cache", digest_size=MARK_BYTES
    ).digest()


class PatientCache(RedisCache):
    """Django's cache in Redis that behaves like an empty one while Redis is away."""

    def get(self, key: str, default: Any = None, version: int | None = None) -> Any:
        return self._tried(default, lambda: super(PatientCache, self).get(key, default, version))

    def get_many(self, keys: Iterable[str], version: int | None = None) -> dict[str, Any]:
        keys = list(keys)
        found: dict[str, Any] = self._tried({}, lambda: super(PatientCache, self).get_many(keys, version))
        return found

    def has_key(self, key: str, version: int | None = None) -> bool:
        return self._tried(False, lambda: super(PatientCache, self).has_key(key, version))

    def set(self, key: str, value: Any, timeout: Any = DEFAULT_TIMEOUT, version: int | None = None) -> None:
        self._tried(None, lambda: super(PatientCache, self).set(key, value, timeout, version))

    def set_many(self, data: Any, timeout: Any = DEFAULT_TIMEOUT, version: int | None = None) -> list[Any]:
        nothing: list[Any] = list(data)
        return self._tried(nothing, lambda: super(PatientCache, self).set_many(data, timeout, version))

    def add(self, key: str, value: Any, timeout: Any = DEFAULT_TIMEOUT, version: int | None = None) -> bool:
        return self._tried(False, lambda: super(PatientCache, self).add(key, value, timeout, version))

    def touch(self, key: str, timeout: Any = DEFAULT_TIMEOUT, version: int | None = None) -> bool:
        return self._tried(False, lambda: super(PatientCache, self).touch(key, timeout, version))

    def delete(self, key: str, version: int | None = None) -> bool:
        return self._tried(False, lambda: super(PatientCache, self).delete(key, version))

    def delete_many(self, keys: Iterable[str], version: int | None = None) -> None:
        keys = list(keys)
        self._tried(None, lambda: super(PatientCache, self).delete_many(keys, version))

    def incr(self, key: str, delta: int = 1, version: int | None = None) -> int:
        """As Django says, ValueError where there is no such key; also while Redis is away."""
        found = self._tried(None, lambda: super(PatientCache, self).incr(key, delta, version))
        if found is None:
            raise ValueError(f"Key '{key}' not found")
        return int(found)

    def _tried(self, otherwise: T, ask: Callable[[], T]) -> T:
        if absence.is_on():
            return otherwise
        try:
            return ask()
        except (RedisError, OSError) as error:
            absence.begin(error)
        except OF_ANOTHER_VERSION as error:
            logger.warning("an entry of the cache could not be read (%s)", type(error).__name__)
        return otherwise
