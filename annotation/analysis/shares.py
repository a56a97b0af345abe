"""Shares with their denominator and a Wilson interval."""

from __future__ import annotations

from dataclasses import dataclass, fields, is_dataclass, replace
from math import sqrt
from typing import Any, TypeVar

Z = 1.959963984540054
"""The 97.5 percentile of the normal distribution, for intervals of 95 %."""


class AnalysisTooLarge(ValueError):
    """An answer would have more rows than anybody reads; `word` is what to change, the message says how."""

    def __init__(self, word: str, sentence: str) -> None:
        super().__init__(sentence)
        self.word = word


@dataclass(frozen=True)
class Share:
    """`n` of `of`, from 0 to 1, with its 95 % interval; where one of them is None, `undefined` is the reason."""

    n: int
    of: int
    share: float | None
    ci_low: float | None
    ci_high: float | None
    undefined: str | None = None


@dataclass(frozen=True)
class Denominator:
    """What a share is of: `of` in one word (all, group, category), in words, and how many parts that are.

    `n` is None where each category has its own.
    """

    of: str
    words: str
    n: int | None


@dataclass(frozen=True)
class ExcludedParts:
    """How many parts are left out, and why as a sentence."""

    why: str
    n: int


T = TypeVar("T")


def without_intervals(found: T, reason: str) -> T:
    """The same result with the reason in place of the interval of each share."""
    return _without(found, reason)  # type: ignore[no-any-return]


def _without(found: Any, reason: str) -> Any:
    if isinstance(found, Share):
        return found if found.share is None else replace(found, ci_low=None, ci_high=None, undefined=reason)
    if isinstance(found, tuple):
        return tuple(_without(each, reason) for each in found)
    if is_dataclass(found) and not isinstance(found, type):
        values = {field.name: getattr(found, field.name) for field in fields(found)}
        return replace(found, **{name: _without(value, reason) for name, value in values.items()})
    return found


def share(n: int, of: int) -> Share:
    """The share with the score interval of Wilson 1927, doi:10.1080/01621459.1927.10502953, without correction.

    Undefined where there is nothing to be a share of. Raises ValueError unless 0 ≤ n ≤ of.
    """
    if not 0 <= n <= of:
        raise ValueError(f"{n} of {of} is not a share.")
    if of == 0:
        return Share(n, of, None, None, None, "There is nothing that it could be a share of.")
    found = n / of
    middle = (found + Z * Z / (2 * of)) / (1 + Z * Z / of)
    half = Z / (1 + Z * Z / of) * sqrt(found * (1 - found) / of + Z * Z / (4 * of * of))
    # At the ends the interval ends there exactly; rounding would leave it a hair beside.
    return Share(n, of, found, 0.0 if n == 0 else middle - half, 1.0 if n == of else middle + half)
