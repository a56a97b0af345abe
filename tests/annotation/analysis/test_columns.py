"""Columns of agreed labels: rows that are taken out, and categories told one level up."""

import numpy as np
import pytest

from annotation.labels.columns import (
    NOT_AGREED,
    Categories,
    Columns,
    MultiColumn,
    NumberColumn,
    SingleColumn,
    n_different,
)

TREE = Categories(
    ("training", "hang", "nccl", "crash", "oom", "slow"),
    ("Training", "Hang", "NCCL", "Crash", "Out of memory", "Slow"),
    (-1, 0, 1, -1, 3, -1),
)


def codes(*values: int) -> np.ndarray:
    return np.array(values, dtype=np.int64)


def columns() -> Columns:
    return Columns(
        items=codes(7, 7, 8, 9),
        parts=codes(1, 2, 1, 1),
        singles={"symptom": SingleColumn("symptom", "Symptom", "single", TREE, codes(2, 4, NOT_AGREED, 5))},
        multis={
            "fix": MultiColumn(
                "fix", "Fix", Categories(("a", "b"), ("A", "B")), codes(0, 0, 3), codes(0, 1, 1), codes(0, 0, -1, 0)
            )
        },
        numbers={"workers": NumberColumn("workers", "Workers", np.array([1.0, np.nan, 3.0, 4.0]))},
        attributes={
            "repository": SingleColumn(
                "repository", "Repository", "attribute", Categories(("x",), ("x",)), codes(0, 0, 0, 0)
            )
        },
    )


def test_a_category_is_told_by_its_parent_and_by_its_root_and_one_on_top_by_itself():
    parents, place = TREE.lifted("parent")
    assert [parents.keys[code] for code in place] == ["training", "training", "hang", "crash", "crash", "slow"]
    assert parents.parents == (-1, 0, -1, -1)
    roots, place = TREE.lifted("root")
    assert [roots.keys[code] for code in place] == ["training", "training", "training", "crash", "crash", "slow"]
    assert TREE.lifted("leaf")[0] is TREE


def test_a_family_holds_a_category_and_all_below_it():
    assert TREE.family("training") == {0, 1, 2}
    assert TREE.family("slow") == {5}
    assert TREE.family("nothing") == frozenset()


def test_rows_that_are_taken_keep_their_sets_and_numbers():
    found = columns().taken(codes(1, 3))
    assert found.items.tolist() == [7, 9]
    assert found.singles["symptom"].codes.tolist() == [4, 5]
    assert (found.multis["fix"].rows.tolist(), found.multis["fix"].codes.tolist()) == ([1], [1])
    assert found.numbers["workers"].values[1] == 4
    assert found.attributes["repository"].codes.tolist() == [0, 0]


def test_an_item_with_two_parts_is_known_as_such():
    assert columns().in_several_parts.tolist() == [True, True, False, False]


def test_different_items_are_counted_in_any_order_and_however_far_apart_their_numbers():
    assert n_different(codes()) == 0
    assert n_different(codes(3, 4, 9)) == 3
    assert n_different(codes(9, 4, 9, 3)) == 3
    assert n_different(codes(10**12, 4, 10**12)) == 2


def test_columns_of_other_lengths_are_refused():
    with pytest.raises(ValueError):
        Columns(items=codes(1, 2), parts=codes(1))


def test_an_unknown_level_is_refused():
    with pytest.raises(ValueError, match="there are leaf, parent, root"):
        TREE.lifted("twig")
