"""Agreement by category and by pair of raters, and who confuses what."""

import numpy as np
import pytest
from hypothesis import given

from annotation import agreement
from annotation.agreement import Patterns

from .tables import QUICK, Table, rating_tables

TWO = Patterns.from_counts(
    [
        (("crash", "crash"), 10),
        (("crash", "hang"), 3),
        (("hang", "crash"), 1),
        (("hang", "hang"), 6),
        (("slow", None), 2),
    ],
    raters=["bob", "carol"],
)


def test_specific_agreement_of_two_raters_is_twice_both_over_all_who_said_it():
    assert agreement.by_category(TWO) == [
        {"category": "crash", "agreement": pytest.approx(20 / 24), "n": 24},
        {"category": "hang", "agreement": pytest.approx(12 / 16), "n": 16},
    ]


def test_specific_agreement_of_many_raters_counts_every_pair():
    patterns = Patterns.from_table([["a", "a", "b"], ["a", "b", None], ["b", "b", "b"]])
    assert agreement.by_category(patterns) == [
        {"category": "a", "agreement": pytest.approx(2 / (2 * 2 + 1)), "n": 3},
        {"category": "b", "agreement": pytest.approx(6 / (2 + 1 + 6)), "n": 5},
    ]


def test_sets_are_taken_apart_for_agreement_by_category():
    patterns = Patterns.from_table([[{"a", "b"}, {"a"}], [set(), {"b"}], [{"c"}, {"c"}], [set(), set()]])
    assert agreement.by_category(patterns) == [
        {"category": "a", "agreement": 1.0, "n": 2},
        {"category": "b", "agreement": 0.0, "n": 2},
        {"category": "c", "agreement": 1.0, "n": 2},
    ]


def test_confusion_of_two_raters_keeps_who_said_what():
    assert agreement.confusion(TWO) == [
        {"a": "crash", "b": "crash", "n": 10},
        {"a": "crash", "b": "hang", "n": 3},
        {"a": "hang", "b": "crash", "n": 1},
        {"a": "hang", "b": "hang", "n": 6},
    ]


def test_confusion_of_more_raters_pools_their_pairs():
    patterns = Patterns.from_table([["a", "a", "b"], ["b", "a", None]])
    assert agreement.confusion(patterns) == [{"a": "a", "b": "a", "n": 1}, {"a": "a", "b": "b", "n": 3}]


def test_confusion_names_sets_by_their_members():
    patterns = Patterns.from_table([[{"hang", "crash"}, set()]])
    assert agreement.confusion(patterns) == [{"a": "crash + hang", "b": "(none)", "n": 1}]


@pytest.mark.parametrize(
    ("category", "label"),
    [("crash", "crash"), (True, "true"), (2, "2"), (2.0, "2"), (2.5, "2.5"), (frozenset("ba"), "a + b")],
)
def test_a_category_has_one_label(category, label: str):
    assert agreement.category_label(category) == label


@QUICK
@given(rating_tables())
def test_confusion_adds_up_to_every_compared_pair_and_its_diagonal_to_the_agreeing_ones(table: Table):
    patterns = Patterns.from_table(table)
    cells = agreement.confusion(patterns)
    pairs = [
        (row[i], row[j])
        for row in table
        for i in range(len(row))
        for j in range(i)
        if row[i] is not None and row[j] is not None
    ]
    assert sum(cell["n"] for cell in cells) == len(pairs)
    assert sum(cell["n"] for cell in cells if cell["a"] == cell["b"]) == sum(a == b for a, b in pairs)


@QUICK
@given(rating_tables())
def test_each_pair_of_raters_has_the_kappa_of_those_two_alone(table: Table):
    patterns = Patterns.from_table(table)
    found = {tuple(pair["raters"]): pair for pair in agreement.by_pair(patterns)}
    for i, first in enumerate(patterns.raters):
        for j in range(i + 1, len(patterns.raters)):
            both = [[row[i], row[j]] for row in table if row[i] is not None and row[j] is not None]
            pair = found.pop((first, patterns.raters[j]), None)
            if not both:
                assert pair is None
                continue
            alone = Patterns.from_table(both)
            kappa = agreement.cohen_kappa(alone, resamples=0).value
            assert pair["cohen_kappa"] == (None if kappa is None else pytest.approx(kappa, abs=1e-9))
            percent = agreement.percent_agreement(alone, resamples=0).value
            assert pair["percent_agreement"] == pytest.approx(percent, abs=1e-9)
            assert pair["n"] == len(both)
    assert not found


def test_pairs_of_many_raters_are_pooled_in_bounded_pieces(monkeypatch):
    rng = np.random.default_rng(0)
    values = rng.integers(-1, 5, (200, 8))
    patterns = Patterns(values, np.ones(200), tuple("abcde"), tuple("12345678"))
    whole = agreement.confusion(patterns)
    monkeypatch.setattr("annotation.agreement.tallies.PAIRS_AT_ONCE", 20)
    assert agreement.confusion(patterns) == whole
