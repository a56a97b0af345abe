"""Word differences between two texts: removed and added words. Pure."""

import re
from collections.abc import Iterable, Sequence
from difflib import SequenceMatcher
from itertools import groupby

Marked = tuple[tuple[bool, str], ...]
"""A text in pieces, each with whether it stands on this side alone; joined they are the text."""

WORDS_MAX = 500
"""Between what both begin and end with; longer stretches are told as replaced, for comparing takes quadratic time."""

_WORD = re.compile(r"\w+\s*|[^\w\s]\s*|\s+")


def mark_words(old: str, new: str) -> tuple[Marked, Marked]:
    """Both texts with the words marked that stand in only one of them."""
    before, after = _WORD.findall(old), _WORD.findall(new)
    old_flags, new_flags = _alone([word.strip() for word in before], [word.strip() for word in after])
    return _joined(zip(old_flags, before, strict=True)), _joined(zip(new_flags, after, strict=True))


def mark_lists(old: Sequence[str], new: Sequence[str]) -> tuple[tuple[Marked, ...], tuple[Marked, ...]]:
    """Both lists with the words marked; an entry that was reworded in its place is compared with what it was."""
    start, old_end, new_end = _middle(old, new)
    before, after = old[start:old_end], new[start:new_end]
    marks: tuple[list[Marked], list[Marked]] = ([], [])
    if len(before) > WORDS_MAX or len(after) > WORDS_MAX:
        spans = [("replace", 0, len(before), 0, len(after))]
    else:
        spans = list(SequenceMatcher(None, before, after, autojunk=False).get_opcodes())
    for tag, low, high, new_low, new_high in spans:
        olds, news = before[low:high], after[new_low:new_high]
        paired = min(len(olds), len(news))
        for one, other in zip(olds, news, strict=False):
            pair = mark_words(one, other) if tag == "replace" else (unmarked(one, False), unmarked(other, False))
            marks[0].append(pair[0])
            marks[1].append(pair[1])
        marks[0].extend(unmarked(text, True) for text in olds[paired:])
        marks[1].extend(unmarked(text, True) for text in news[paired:])
    first = [unmarked(text, False) for text in old[:start]]
    return (
        (*first, *marks[0], *(unmarked(text, False) for text in old[old_end:])),
        (*first, *marks[1], *(unmarked(text, False) for text in new[new_end:])),
    )


def unmarked(text: str, alone: bool) -> Marked:
    """A text in one piece."""
    return ((alone, text),) if text else ()


def _alone(old: Sequence[str], new: Sequence[str]) -> tuple[list[bool], list[bool]]:
    """For each word of both whether the other lacks it there."""
    start, old_end, new_end = _middle(old, new)
    flags = ([False] * len(old), [False] * len(new))
    flags[0][start:old_end] = [True] * (old_end - start)
    flags[1][start:new_end] = [True] * (new_end - start)
    if old_end - start <= WORDS_MAX and new_end - start <= WORDS_MAX:
        matcher = SequenceMatcher(None, old[start:old_end], new[start:new_end], autojunk=False)
        for block in matcher.get_matching_blocks():
            for place in range(block.size):
                flags[0][start + block.a + place] = flags[1][start + block.b + place] = False
    return flags


def _middle(old: Sequence[str], new: Sequence[str]) -> tuple[int, int, int]:
    """Where both begin to differ, and where each ends to."""
    start, shorter = 0, min(len(old), len(new))
    while start < shorter and old[start] == new[start]:
        start += 1
    same = 0
    while same < shorter - start and old[len(old) - 1 - same] == new[len(new) - 1 - same]:
        same += 1
    return start, len(old) - same, len(new) - same


def _joined(words: Iterable[tuple[bool, str]]) -> Marked:
    """Neighbours of one kind as one piece."""
    return tuple(
        (alone, "".join(word for _, word in pieces)) for alone, pieces in groupby(words, key=lambda piece: piece[0])
    )
