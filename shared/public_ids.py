"""Public IDs of rows in URLs and answers: nothing about other rows follows from them.

A number that counts up reveals how many rows came between two of one's own. So the number of a row leaves the server
encrypted, as a UUID: a Feistel network of four rounds over the number and a mark of its kind (M. Luby and C. Rackoff,
How to construct pseudorandom permutations from pseudorandom functions, SIAM J. Comput. 17, 1988, p. 373), with keyed
BLAKE2b. It needs no column and no index. An invented ID is detected without a query, and one of another kind of row is
not valid. Another SECRET_KEY gives other IDs. Those of keys in SECRET_KEY_FALLBACKS are read, too.
"""

from functools import lru_cache
from hashlib import blake2b
from uuid import UUID

from django.conf import settings

HALF = 61
"""Bits of each half: a UUID has 122 beside its version (8, made by rules of one's own) and its variant."""
_MASK = (1 << HALF) - 1
_ROUNDS = range(4)


def public_id(kind: str, number: int) -> str:
    """The public id of a row of this kind."""
    key = _key(settings.SECRET_KEY)
    left, right = _mark(kind), number
    for turn in _ROUNDS:
        left, right = right, left ^ _mixed(key, turn, right)
    return str(UUID(int=_spread(left << HALF | right)))


def row_number_of(kind: str, identifier: object) -> int | None:
    """The number of the row that a public id of this kind stands for; None for anything else. No query."""
    text = str(identifier).lower()
    try:
        given = UUID(text)
    except ValueError:
        return None
    both = _gathered(given.int)
    if str(given) != text or _spread(both) != given.int:
        return None
    for secret in (settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS):
        key = _key(secret)
        left, right = both >> HALF, both & _MASK
        for turn in reversed(_ROUNDS):
            left, right = right ^ _mixed(key, turn, left), left
        if left == _mark(kind):
            return right
    return None


def _mixed(key: bytes, turn: int, half: int) -> int:
    found = blake2b(half.to_bytes(8), key=key, salt=bytes([turn]), digest_size=8).digest()
    return int.from_bytes(found) & _MASK


@lru_cache(maxsize=8)
def _key(secret: str) -> bytes:
    return blake2b(secret.encode(), person=b"public ids", digest_size=32).digest()


@lru_cache(maxsize=64)
def _mark(kind: str) -> int:
    return int.from_bytes(blake2b(kind.encode(), digest_size=8).digest()) & _MASK


def _spread(both: int) -> int:
    """122 bits as a UUID: 48, the version, 12, the variant, 62."""
    return (both >> 74) << 80 | 0x8 << 76 | (both >> 62 & 0xFFF) << 64 | 0b10 << 62 | both & ((1 << 62) - 1)


def _gathered(whole: int) -> int:
    return (whole >> 80) << 74 | (whole >> 64 & 0xFFF) << 62 | whole & ((1 << 62) - 1)
