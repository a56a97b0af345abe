"""Wording of numbers and lists in sentences. Pure."""

import re
from collections.abc import Callable, Iterable, Sequence

from rapidfuzz import fuzz, process

LIKENESS_MIN = 60
"""From 0 to 100: how alike two words are at least for one to be taken for the other."""


def series(words: Sequence[object]) -> str:
    """`a`, `a and b`, `a, b and c`; empty for none."""
    told = [str(word) for word in words]
    return "".join(told) if len(told) < 2 else f"{', '.join(told[:-1])} and {told[-1]}"


def plural(n: int, one: str, several: str = "") -> str:
    """`1 item`, `1,200 items`."""
    return f"{n:,} {one if n == 1 else several or one + 's'}"


def nearest(
    word: str,
    options: Iterable[str],
    *,
    likeness_min: float = LIKENESS_MIN,
    processor: Callable[[str], str] | None = None,
) -> str:
    """The option that is spelled most alike, each as `processor` has it, or an empty string."""
    found = process.extractOne(word, list(options), scorer=fuzz.ratio, processor=processor, score_cutoff=likeness_min)
    return found[0] if found else ""


def did_you_mean(word: str, options: Iterable[str]) -> str:
    """“ Did you mean …?” with the nearest option, for the end of a message; an empty string where none is near."""
    found = nearest(word, options)
    return f" Did you mean “{found}”?" if found else ""


def for_markdown(text: str) -> str:
    """Text on one line in which nothing is markup, an entity or TeX, in GitHub's Markdown and in Pandoc's."""
    return re.sub(r"([\\`*_{}\[\]<>|~^$#]|&(?=#?\w+;))", r"\\\1", " ".join(text.split()))
