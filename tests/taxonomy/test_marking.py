"""Words that differ between two texts are marked, and nothing is lost on the way."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from taxonomy.word_differences import Marked, mark_lists, mark_words

TEXTS = st.text(alphabet="ab ,.\n", max_size=40)


def shown(pieces: Marked) -> str:
    return "".join(f"[{text}]" if alone else text for alone, text in pieces)


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("It hangs.", "It hangs.", ("It hangs.", "It hangs.")),
        ("It hangs.", "It never ends.", ("It [hangs].", "It [never ends].")),
        ("", "It hangs.", ("", "[It hangs.]")),
        ("one two three", "one three", ("one [two ]three", "one three")),
        ("hang", "hangs", ("[hang]", "[hangs]")),
        ("a  b", "a b", ("a  b", "a b")),
    ],
)
def test_words_of_one_side_alone_are_marked(old: str, new: str, expected: tuple[str, str]) -> None:
    assert tuple(shown(side) for side in mark_words(old, new)) == expected


def test_an_entry_reworded_in_its_place_is_compared_with_what_it_was() -> None:
    old, new = mark_lists(("one", "it hangs", "last"), ("one", "it stops", "more", "last"))
    assert [shown(text) for text in old] == ["one", "it [hangs]", "last"]
    assert [shown(text) for text in new] == ["one", "it [stops]", "[more]", "last"]


@given(TEXTS, TEXTS)
def test_both_texts_come_out_whole_and_what_is_not_marked_is_common(old: str, new: str) -> None:
    sides = mark_words(old, new)
    assert tuple("".join(text for _, text in side) for side in sides) == (old, new)
    common = ["".join(text for alone, text in side if not alone).split() for side in sides]
    assert "".join(common[0]) == "".join(common[1])


@given(st.lists(TEXTS, max_size=6), st.lists(TEXTS, max_size=6))
def test_both_lists_come_out_whole(old: list[str], new: list[str]) -> None:
    for given_, side in zip((old, new), mark_lists(old, new), strict=True):
        assert ["".join(text for _, text in entry) for entry in side] == given_


def test_texts_of_any_length_are_compared_quickly() -> None:
    began = time.process_time()
    old, new = "a b " * 30_000, "b a " * 30_000 + "c"
    mark_words(old, new)
    mark_lists(["a", "b"] * 5_000, ["b", "a"] * 5_000)
    for _ in range(20):
        mark_words("a " * 490, "a b " * 245)
    assert time.process_time() - began < 5
