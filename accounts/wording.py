"""Words in the numbers and lists that sentences need; pure."""

from collections.abc import Sequence


def listed(words: Sequence[object]) -> str:
    """`a`, `a and b`, `a, b and c`; empty for none."""
    told = [str(word) for word in words]
    return "".join(told) if len(told) < 2 else f"{', '.join(told[:-1])} and {told[-1]}"


def counted(n: int, one: str, several: str = "") -> str:
    """`1 item`, `1,200 items`."""
    return f"{n:,} {one if n == 1 else several or one + 's'}"
