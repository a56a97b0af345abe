"""Word differences between two texts: removed and added words. Pure."""

import re
from collections.abc import Iterable, Sequence
from itertools import groupby

from shared.edit_scripts import Kind, differing_middle, edits

Marked = tuple[tuple[bool, str], ...]
"""A text in pieces, each with whether it stands on this side alone; joined they are the text."""

WORDS_MAX = 500
EDITS_MAX = 60
"""Longer stretches between what both begin and end with, and those with more edits, are shown as replaced."""

_WORD = re.compile(r"\w+\s*|[^\w\s]\s*|\s+")


def mark_words(old: str, new: str) -> tuple[Marked, Marked]:
    """Both texts with the words marked that stand in only one of them."""
    before, after = _WORD.findall(old), _WORD.findall(new)
    old_flags, new_flags = _alone([word.strip() for word in before], [word.strip() for word in after])
    return _joined(zip(old_flags, before, strict=True)), _joined(zip(new_flags, after, strict=True))


def mark_lists(old: Sequence[str], new: Sequence[str]) -> tuple[tuple[Marked, ...], tuple[Marked, ...]]:
    """Both lists with the words marked; an entry that was reworded in its place is compared with what it was."""
    start, old_end, new_end = differing_middle(old, new)
    before, after = old[start:old_end], new[start:new_end]
    marks: tuple[list[Marked], list[Marked]] = ([], [])
    for is_same, olds, news in _stretches(before, after):
        paired = min(len(olds), len(news))
        for one, other in zip(olds, news, strict=False):
            pair = (unmarked(one, False), unmarked(other, False)) if is_same else mark_words(one, other)
            marks[0].append(pair[0])
            marks[1].append(pair[1])
        marks[0].extend(unmarked(text, True) for text in olds[paired:])
        marks[1].extend(unmarked(text, True) for text in news[paired:])
    first = [unmarked(text, False) for text in old[:start]]
    return (
        (*first, *marks[0], *(unmarked(text, False) for text in old[old_end:])),
        (*first, *marks[1], *(unmarked(text, False) for text in new[new_end:])),
    )


def _stretches(old: Sequence[str], new: Sequence[str]) -> list[tuple[bool, list[str], list[str]]]:
    """What both have and what only one has in turn, each with whether it is the same."""
    found = []
    for is_same, run in groupby(_edits(old, new), key=lambda step: step[0] == "same"):
        steps = list(run)
        olds = [old[at] for kind, at, _ in steps if kind != "added"]
        found.append((is_same, olds, [new[at] for kind, _, at in steps if kind != "removed"]))
    return found


def _edits(old: Sequence[str], new: Sequence[str]) -> list[tuple[Kind, int, int]]:
    if len(old) <= WORDS_MAX and len(new) <= WORDS_MAX and (found := edits(old, new, EDITS_MAX)) is not None:
        return found
    removed: list[tuple[Kind, int, int]] = [("removed", at, 0) for at in range(len(old))]
    return [*removed, *(("added", len(old), at) for at in range(len(new)))]


def unmarked(text: str, alone: bool) -> Marked:
    """A text in one piece."""
    return ((alone, text),) if text else ()


def _alone(old: Sequence[str], new: Sequence[str]) -> tuple[list[bool], list[bool]]:
    """For each word of both whether the other lacks it there."""
    start, old_end, new_end = differing_middle(old, new)
    flags = ([False] * len(old), [False] * len(new))
    for kind, at, new_at in _edits(old[start:old_end], new[start:new_end]):
        if kind == "removed":
            flags[0][start + at] = True
        elif kind == "added":
            flags[1][start + new_at] = True
    return flags


def _joined(words: Iterable[tuple[bool, str]]) -> Marked:
    """Neighbours of one kind as one piece."""
    return tuple(
        (alone, "".join(word for _, word in pieces)) for alone, pieces in groupby(words, key=lambda piece: piece[0])
    )
