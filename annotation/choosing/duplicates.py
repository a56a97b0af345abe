"""Duplicates among issues: MinHash of title and prose, and groups of similar issues. Pure.

Two texts are compared by their shingles, which are runs of three words. A sketch holds the smallest of 128 seeded
hashes of them, so the share of equal places in two sketches estimates the Jaccard index of the shingles (Broder 1997,
doi:10.1109/SEQUEN.1997.666900). Only issues whose sketches are equal in one of 32 bands of four places are compared.
Shingles that many texts share come from a project's issue template and do not count. Shingles and sketches are in
files, so memory does not grow with their number; those of one text take some 100 bytes each.
"""

import re
import tempfile
import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from types import TracebackType
from typing import Any

import numpy as np
import numpy.typing as npt

from ingest.search.keywords import GAP, prose

Hashes = npt.NDArray[np.uint32]

WORDS = 3
"""Words of a shingle."""
PLACES, BANDS = 128, 32
CHARACTERS_COMPARED = 500_000
"""Of a title and of a body; at GitHub a body has at most 65,536."""
FEWEST = 8
"""Texts with fewer shingles say too little to be compared."""
THRESHOLD = 0.5
"""The similarity from which two issues are likely duplicates."""
TEMPLATE_SHARE, TEMPLATE_TEXTS = 0.02, 8
"""A shingle of more than this share of all texts, and of more than so many, belongs to a form."""
COUNTERS = 1 << 20
READ = 4096
"""Sketches that are read at once, and shingles that are hashed at once."""
RUN_MOST = 40
"""In a longer run of equal bands each issue is compared with the first and the one before it alone."""

# Chinese, Japanese and Korean have no blanks between words, so each sign counts as one.
_WORD = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]|[^\W_]+")
_MARK = re.compile(r"(?:^|\n)[ \t>*_]{0,6}duplicate of:?\s+(?:(?P<name>[\w.-]{1,100}/[\w.-]{1,100})?#|https?://(?P<host>[\w.-]{1,253})/"
                   r"(?P<url>[\w.-]{1,100}/[\w.-]{1,100})/issues/)(?P<number>\d{1,9})\b", re.IGNORECASE)  # fmt: skip


def shingles(title: str, body: str) -> Hashes:
    """The hashes of the runs of three words in title and prose, each once, in order. Code and addresses don't count."""
    found: set[int] = set()
    for text in f"{prose(title[:CHARACTERS_COMPARED])}{GAP}{prose(body[:CHARACTERS_COMPARED])}".split(GAP):
        words = _WORD.findall(text)
        for at in range(len(words) - WORDS + 1):
            found.add(zlib.crc32(" ".join(words[at : at + WORDS]).encode()))
    return np.array(sorted(found), dtype=np.uint32)


def duplicate_mark(text: str) -> tuple[str, int] | None:
    """Of which issue a text says that it is a duplicate: (`owner/name`, number), the first empty for the same one.

    `Duplicate of #12` at the beginning of a line, as GitHub reads it.
    """
    found = _MARK.search(text)
    return (found["name"] or found["url"] or "", int(found["number"])) if found else None


def _mixed(values: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    """Each value spread over 64 bits (the finalizer of SplitMix64)."""
    values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    mixed: npt.NDArray[np.uint64] = values ^ (values >> np.uint64(31))
    return mixed


_SEEDS = _mixed(np.arange(1, PLACES + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15))


def sketch(hashes: Hashes) -> Hashes:
    """The smallest of each of 128 hashes: PLACES numbers. Memory: some 4 MB, whatever the number of shingles."""
    smallest = np.full(PLACES, 0xFFFFFFFF, dtype=np.uint64)
    for start in range(0, len(hashes), READ):
        spread = _mixed(hashes[start : start + READ].astype(np.uint64)[:, None] ^ _SEEDS[None, :])
        np.minimum(smallest, (spread >> np.uint64(32)).min(axis=0), out=smallest)
    return smallest.astype(np.uint32)


@dataclass
class Commonness:
    """In how many texts shingles occur; 4 MB for any number of them, as two shingles may share a counter."""

    n_texts: int = 0
    counts: npt.NDArray[np.uint32] = field(default_factory=lambda: np.zeros(COUNTERS, dtype=np.uint32))

    def add(self, hashes: Hashes) -> None:
        self.n_texts += 1
        self.counts[np.unique(hashes % COUNTERS)] += 1

    def rare(self, hashes: Hashes) -> Hashes:
        """Those that belong to no form."""
        most = max(TEMPLATE_TEXTS, TEMPLATE_SHARE * self.n_texts)
        kept: Hashes = hashes[self.counts[hashes % COUNTERS] <= most]
        return kept


@dataclass(frozen=True)
class GroupMember:
    """An issue of a group by its number among all, the first one of its group, and the one that it is like."""

    index: int
    first: int
    like: int | None
    similarity: float | None
    is_marked: bool


class ShingleFile:
    """The shingles of many issues, in a file: written once and read once, in the same order."""

    def __init__(self) -> None:
        self._file: Any = tempfile.TemporaryFile()  # noqa: SIM115
        self._sizes: list[int] = []
        self._n_read = 0

    def close(self) -> None:
        self._file.close()

    def add(self, hashes: Hashes) -> None:
        self._file.write(hashes.tobytes())
        self._sizes.append(len(hashes))

    def read(self, n: int) -> Iterator[Hashes]:
        """Those of the next `n` issues; nothing is added any more."""
        if not self._n_read:
            self._file.seek(0)
        for size in self._sizes[self._n_read : self._n_read + n]:
            yield np.frombuffer(self._file.read(size * 4), dtype=np.uint32)
        self._n_read += n


class Sketches:
    """The sketches of many issues, in a file while it is used (`with`); in memory are some twenty bytes of each."""

    def __init__(self) -> None:
        self._file: Any = tempfile.TemporaryFile()  # noqa: SIM115
        self._n = 0
        self._is_said: list[npt.NDArray[np.bool_]] = []

    def __enter__(self) -> "Sketches":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        self._file.close()

    def __len__(self) -> int:
        return self._n

    def add(self, texts: Iterable[Hashes]) -> None:
        """Appends the issues with these shingles; those with too few of them are like none."""
        found = list(texts)
        block = np.zeros((len(found), PLACES), dtype=np.uint32)
        for at, hashes in enumerate(found):
            if len(hashes) >= FEWEST:
                block[at] = sketch(hashes)
        self._is_said.append(np.array([len(each) >= FEWEST for each in found], dtype=np.bool_))
        self._file.seek(0, 2)
        self._file.write(block.tobytes())
        self._n += len(found)

    def _band(self, number: int) -> npt.NDArray[np.uint64]:
        """The hash of a band of every issue."""
        rows = PLACES // BANDS
        keys = np.zeros(self._n, dtype=np.uint64)
        for start in range(0, self._n, READ):
            block = self._rows(start, min(READ, self._n - start))
            for place in range(number * rows, (number + 1) * rows):
                part = keys[start : start + READ]
                keys[start : start + READ] = _mixed(part ^ block[:, place].astype(np.uint64)) + np.uint64(1)
        return keys

    def _rows(self, start: int, n: int) -> Hashes:
        self._file.seek(start * PLACES * 4)
        return np.frombuffer(self._file.read(n * PLACES * 4), dtype=np.uint32).reshape(n, PLACES)

    def similarity(self, one: int, other: int) -> float:
        """The estimated Jaccard index of two issues."""
        return float((self._rows(one, 1) == self._rows(other, 1)).mean())

    def candidates(self) -> Iterator[tuple[int, int]]:
        """Pairs (lower, higher) that are equal in a band; a pair may come more than once."""
        if not self._n:
            return
        said = np.flatnonzero(np.concatenate(self._is_said))
        for number in range(BANDS):
            keys = self._band(number)[said]
            order = np.argsort(keys, kind="stable")
            edges = np.flatnonzero(np.diff(keys[order], prepend=~keys[order[:1]], append=~keys[order[-1:]]))
            for at in np.flatnonzero(np.diff(edges) > 1):
                yield from _pairs_of(said[order[edges[at] : edges[at + 1]]].tolist())


def _pairs_of(run: Sequence[int]) -> Iterator[tuple[int, int]]:
    if len(run) <= RUN_MOST:
        for at, one in enumerate(run):
            for other in run[at + 1 :]:
                yield one, other
        return
    for before, one in pairwise(run):
        yield before, one
        if before != run[0]:
            yield run[0], one


def groups(
    sketches: Sketches, marks: Iterable[tuple[int, int]] = (), *, threshold: float = THRESHOLD
) -> list[GroupMember]:
    """The issues that have a likely duplicate, group by group. The first has the lowest number that is not marked.

    `marks` are pairs that someone marked as duplicates, (the duplicate, what it is a duplicate of). Issues of one
    group need not all be alike: each is like another one.
    """
    parents = np.arange(len(sketches), dtype=np.int64)

    def root(index: int) -> int:
        while parents[index] != index:
            parents[index] = parents[parents[index]]
            index = int(parents[index])
        return index

    like: dict[int, tuple[int, float | None]] = {}
    told: set[int] = set()
    for duplicate, other in marks:
        one, two = sorted((root(duplicate), root(other)))
        parents[two] = one
        like[duplicate] = (other, None)
        like.setdefault(other, (duplicate, None))
        told.add(duplicate)
    for one, other in sketches.candidates():
        first, second = root(one), root(other)
        if first == second:
            continue
        share = sketches.similarity(one, other)
        if share < threshold:
            continue
        parents[max(first, second)] = min(first, second)
        for this, that in ((one, other), (other, one)):
            if this not in like or (like[this][1] is not None and share > (like[this][1] or 0)):
                like[this] = (that, share)
    members: dict[int, list[int]] = {}
    for each in sorted(like):
        members.setdefault(root(each), []).append(each)
    found = []
    for group in sorted(members.values()):
        first = next((each for each in group if each not in told), group[0])
        order = [first, *(each for each in group if each != first)]
        found += [GroupMember(each, first, *like[each], is_marked=each in told) for each in order]
    return found
