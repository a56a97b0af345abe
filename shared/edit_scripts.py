"""Edit scripts: the shortest way from one sequence to another. Pure."""

from collections.abc import Sequence
from typing import Literal

Kind = Literal["same", "added", "removed"]


def differing_middle(old: Sequence[str], new: Sequence[str]) -> tuple[int, int, int]:
    """Where both begin to differ, and where each stops differing."""
    start, shorter = 0, min(len(old), len(new))
    while start < shorter and old[start] == new[start]:
        start += 1
    same = 0
    while same < shorter - start and old[-1 - same] == new[-1 - same]:
        same += 1
    return start, len(old) - same, len(new) - same


def edits(old: Sequence[str], new: Sequence[str], most: int) -> list[tuple[Kind, int, int]] | None:
    """The shortest way from `old` to `new`: (kind, place in old, place in new); None where it takes over `most` steps.

    Myers, "An O(ND) Difference Algorithm and Its Variations", Algorithmica 1 (1986), 251–266: at most `most` squared
    steps and as many kept numbers, whatever the lengths.
    """
    start, old_end, new_end = differing_middle(old, new)
    steps = _myers(old[start:old_end], new[start:new_end], most)
    if steps is None:
        return None
    head: list[tuple[Kind, int, int]] = [("same", place, place) for place in range(start)]
    middle = [(kind, start + i, start + j) for kind, i, j in steps]
    ends = zip(range(old_end, len(old)), range(new_end, len(new)), strict=True)
    tail: list[tuple[Kind, int, int]] = [("same", i, j) for i, j in ends]
    return head + middle + tail


def _myers(old: Sequence[str], new: Sequence[str], most: int) -> list[tuple[Kind, int, int]] | None:
    n, m = len(old), len(new)
    if abs(n - m) > most:
        return None
    furthest = {1: 0}
    kept: list[dict[int, int]] = []
    for d in range(min(n + m, most) + 1):
        kept.append(dict(furthest))
        for k in range(-d, d + 1, 2):
            down = k == -d or (k != d and furthest[k - 1] < furthest[k + 1])
            x = furthest[k + 1] if down else furthest[k - 1] + 1
            while x < n and x - k < m and old[x] == new[x - k]:
                x += 1
            furthest[k] = x
            if x >= n and x - k >= m:
                return _back(kept, n, m)
    return None


def _back(kept: Sequence[dict[int, int]], x: int, y: int) -> list[tuple[Kind, int, int]]:
    found: list[tuple[Kind, int, int]] = []
    for d in range(len(kept) - 1, -1, -1):
        furthest, k = kept[d], x - y
        down = k == -d or (k != d and furthest[k - 1] < furthest[k + 1])
        before = k + 1 if down else k - 1
        x_before = furthest[before]
        y_before = x_before - before
        while x > max(x_before, 0) and y > max(y_before, 0):
            x, y = x - 1, y - 1
            found.append(("same", x, y))
        if d:
            found.append(("added", x_before, y_before) if down else ("removed", x_before, y_before))
            x, y = x_before, y_before
    return found[::-1]
