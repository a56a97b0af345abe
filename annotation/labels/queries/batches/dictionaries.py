"""Dictionaries: columns of repeated words as Arrow dictionaries; lists of values as JSON texts."""

import json
from collections.abc import Sequence
from typing import overload

import numpy as np
import pyarrow as pa

Value = str | bool | float


@overload
def json_list(values: Sequence[Value]) -> str: ...
@overload
def json_list(values: None) -> None: ...
def json_list(values: Sequence[Value] | None) -> str | None:
    """Values as the JSON text of a list, as it stands in a file; None for none."""
    return None if values is None else json.dumps(list(values), ensure_ascii=False)


class DictionaryColumn:
    """Words as numbers of a dictionary that grows as they are added."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}
        self._rows: list[int] = []

    def add(self, word: str | None) -> None:
        self._rows.append(-1 if word is None else self.number(word))

    def number(self, word: str) -> int:
        """The number of a word, a new one where it was not there."""
        return self._numbers.setdefault(word, len(self._numbers))

    def taken(
        self,
        rows: np.ndarray,
        at: np.ndarray | None = None,
        words: Sequence[str] = (),
        numbers: np.ndarray | None = None,
    ) -> pa.DictionaryArray:
        """The words of some of the rows, some more than once; `at` some places stand others, by their numbers."""
        found = np.array(self._rows, dtype=np.int64)[rows]
        if at is None or numbers is None:
            return self.of(found)
        known = dict(self._numbers)
        mine = np.array([known.setdefault(word, len(known)) for word in words], dtype=np.int64)
        found[at] = mine[numbers]
        return of_words(list(known), found)

    def of(self, numbers: np.ndarray) -> pa.DictionaryArray:
        """The words of these numbers, none for −1."""
        return of_words(list(self._numbers), numbers)


def of_words(words: Sequence[str], numbers: np.ndarray) -> pa.DictionaryArray:
    """The words of these numbers, none for −1; no other word is in the dictionary, which a file shows to its reader."""
    used, indices = np.unique(numbers, return_inverse=True)
    n_none = int(len(used) > 0 and used[0] < 0)
    chosen = pa.array([words[number] for number in used[n_none:].tolist()], pa.string())
    places = (indices - n_none).astype(np.int32)
    return pa.DictionaryArray.from_arrays(pa.array(places, pa.int32(), mask=places < 0), chosen)
