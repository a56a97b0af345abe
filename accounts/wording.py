"""Words in the numbers and lists that sentences need; pure."""

import re
from collections.abc import Sequence


def listed(words: Sequence[object]) -> str:
    """`a`, `a and b`, `a, b and c`; empty for none."""
    told = [str(word) for word in words]
    return "".join(told) if len(told) < 2 else f"{', '.join(told[:-1])} and {told[-1]}"


def counted(n: int, one: str, several: str = "") -> str:
    """`1 item`, `1,200 items`."""
    return f"{n:,} {one if n == 1 else several or one + 's'}"


def for_markdown(text: str) -> str:
    """A text as Markdown takes it for itself, on one line."""
    return re.sub(r"([\\`*_\[\]<>|~#])", r"\\\1", " ".join(text.split()))
