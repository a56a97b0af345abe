"""Redis cache that may be away: then nothing is found or stored, and no page waits for it."""

import io
import logging
import time
from collections.abc import Callable, Iterable
from pickle import Unpickler, UnpicklingError
from typing import Any, TypeVar

from django.core.cache.backends.base import DEFAULT_TIMEOUT
from django.core.cache.backends.redis import RedisCache, RedisSerializer
from redis.exceptions import RedisError

logger = logging.getLogger(__name__)
T = TypeVar("T")
AWAY_SECONDS = 3.0
"""How long nobody of this process asks again after Redis did not answer."""
OF_ANOTHER_VERSION = (UnpicklingError, AttributeError, ImportError, IndexError, EOFError, TypeError)
"""What reading an entry raises that another version of Concord has kept."""
CLASSES = {
    ("datetime", "date"),
    ("datetime", "datetime"),
    ("datetime", "timezone"),
    ("datetime", "timedelta"),
    ("django.utils.safestring", "SafeString"),
    ("numpy", "dtype"),
    ("numpy", "ndarray"),
    ("numpy._core.multiarray", "_reconstruct"),
    ("numpy._core.multiarray", "scalar"),
    ("numpy._core.numeric", "_frombuffer"),
}
"""What entries hold beside the types of Python that need no import."""


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


class _PlainUnpickler(Unpickler):
    """Makes nothing but plain values, times and arrays: an entry that someone else wrote can run nothing."""

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) not in CLASSES:
            raise UnpicklingError(f"{module}.{name}")
        return super().find_class(module, name)


class PlainSerializer(RedisSerializer):
    """As Django writes entries, which are pickles; of the classes that they name only those in CLASSES are made."""

    def loads(self, data: Any) -> Any:
        try:
            return int(data)
        except ValueError:
            return _PlainUnpickler(io.BytesIO(data)).load()


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
