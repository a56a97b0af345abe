"""Warnings about a valid taxonomy: similar names, missing definitions, single children. Pure."""

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np
from rapidfuzz import fuzz, process
from rapidfuzz.distance import Levenshtein

from taxonomy.schema import DimensionSpec, Document

ALIKE_PERCENT = 85
SLIP_PERCENT = 80
SHORT_NAME = 5
COMPARED_MAX, PAIRS_MAX = 1_000, 100_000
"""Names that are compared with each other, and pairs that are alike enough to be looked at word by word."""
SMALL_WORDS = frozenset({"a", "an", "and", "in", "of", "on", "or", "the", "to"})


@dataclass(frozen=True)
class TaxonomyWarning:
    """One thing to look at: `kind` is alike, undefined or only_child; `keys` are the categories of `dimension`."""

    kind: str
    dimension: str
    keys: tuple[str, ...]
    sentence: str


def near_identical(names: Sequence[str]) -> list[tuple[int, ...]]:
    """The places of the names, grouped: names that differ in case, accents, plural, punctuation, order of words or
    a letter or two stand together. Every place is in one group, most groups have one; in the order of their first.

    Names with different numbers in them ("Level 1", "Level 2") are never alike; of five letters or fewer only those
    that fold to the same, and so of the others once the squares of COMPARED_MAX names are used up.
    """
    folded = [_folded(name) for name in names]
    heads = list(range(len(names)))

    def head(place: int) -> int:
        while heads[place] != place:
            heads[place] = heads[heads[place]]
            place = heads[place]
        return place

    first: dict[str, int] = {}
    for place, words in enumerate(folded):
        told = " ".join(sorted(words)) or names[place].strip()
        heads[place] = first.setdefault(told, place)
    numbered: dict[tuple[str, ...], list[int]] = {}
    for place in first.values():
        if sum(map(len, folded[place])) > SHORT_NAME:
            numbered.setdefault(tuple(re.findall(r"\d+", names[place])), []).append(place)
    n_left = COMPARED_MAX**2
    for places in sorted(numbered.values(), key=len):
        if len(places) ** 2 > n_left:
            continue
        n_left -= len(places) ** 2
        joined = ["".join(sorted(folded[place])) for place in places]
        typed = ["".join(folded[place]) for place in places]
        for texts in (joined, typed) if len(places) > 1 else ():
            scores = process.cdist(texts, texts, scorer=fuzz.ratio, score_cutoff=ALIKE_PERCENT, dtype=np.uint8)
            pairs = zip(*np.nonzero(np.triu(scores, 1)), strict=True)
            for row, column in islice(pairs, PAIRS_MAX):
                one, other = places[int(row)], places[int(column)]
                low, high = sorted((head(one), head(other)))
                if low != high and _differ_by_a_slip(folded[one], folded[other]):
                    heads[high] = low
    groups: dict[int, list[int]] = {}
    for place in range(len(names)):
        groups.setdefault(head(place), []).append(place)
    return [tuple(group) for group in groups.values()]


def doubts(document: Document) -> list[TaxonomyWarning]:
    """All that is doubtful in a document, dimension by dimension."""
    return [doubt for dimension in document.dimensions for doubt in _doubts(dimension)]


def _doubts(dimension: DimensionSpec) -> list[TaxonomyWarning]:
    specs = [spec for spec, _ in dimension.walk()]
    found = []
    for group in near_identical([spec.name for spec in specs]):
        # The very same name below another parent is meant so: the path tells the two apart.
        if len({specs[place].name for place in group}) > 1:
            names = list(dict.fromkeys(f"“{specs[place].name}”" for place in group))
            told = f"{', '.join(names[:-1])} and {names[-1]} have similar names. Merge or rename them."
            found.append(TaxonomyWarning("alike", dimension.key, tuple(specs[place].key for place in group), told))
    for spec in specs:
        if spec.selectable and not spec.definition.strip():
            told = f"“{spec.name}” has no definition, so raters will define it for themselves."
            found.append(TaxonomyWarning("undefined", dimension.key, (spec.key,), told))
        if len(spec.categories) == 1:
            child = spec.categories[0]
            told = f"“{child.name}” is the only subcategory of “{spec.name}”. One of the two may be enough."
            found.append(TaxonomyWarning("only_child", dimension.key, (spec.key, child.key), told))
    return found


def _folded(name: str) -> list[str]:
    """The words of a name without case, accents, punctuation, small words and the s of a plural."""
    plain = unicodedata.normalize("NFKD", name.casefold().replace("&", " and "))
    plain = "".join(sign for sign in plain if not unicodedata.combining(sign))
    words = re.sub(r"[^\w]+|_", " ", plain).split()
    return [_singular(word) for word in words if word not in SMALL_WORDS]


def _singular(word: str) -> str:
    if len(word) > 4 and word.endswith("ies"):
        return f"{word[:-3]}y"
    if len(word) > 4 and word.endswith(("sses", "shes", "ches", "xes")):
        return word[:-2]
    if len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is")):
        return word[:-1]
    return word


def _differ_by_a_slip(one: Sequence[str], other: Sequence[str]) -> bool:
    """Whether only a letter or two of the words they don't share differ; "typed" and "untyped" mean opposites."""
    rest, missing = [word for word in one if word not in other], [word for word in other if word not in one]
    short, long = sorted(("".join(rest), "".join(missing)), key=len)
    if long != short and long.endswith(short):
        return False
    return fuzz.ratio(short, long) >= SLIP_PERCENT and Levenshtein.distance(short, long) <= 2
