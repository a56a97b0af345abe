"""What is doubtful in a taxonomy though it is allowed."""

import time
from itertools import product

import pytest

from taxonomy.checking import load
from taxonomy.warnings import doubts, near_identical


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Crash", "crash"),
        ("Communication error", "Communication errors"),
        ("Hang and timeout", "Hang & timeout"),
        ("Hang and timeout", "Timeout / hang"),
        ("Out-of-memory", "out of memory"),
        ("Comunication error", "Communication error"),
        ("Timeout of a worker", "Time-out of worker"),
        ("Abhängigkeit fehlt", "abhangigkeit fehlt"),
        ("Missing dependency", "Missing dependencies"),
        ("缺少依赖", " 缺少依赖 "),
    ],
)
def test_names_that_mean_the_same_stand_together(one, other):
    assert near_identical([one, "Numerical issue", other]) == [(0, 2), (1,)]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Level 1", "Level 2"),
        ("Internal API incompatibility", "External API incompatibility"),
        ("Hang", "Hand"),
        ("Bus", "Bug"),
        ("Condition missing", "Condition redundant"),
        ("Single node training crash", "Multi node training crash"),
        ("Typed tensors", "Untyped tensors"),
        ("!", "?"),
        ("", "?"),
    ],
)
def test_names_that_differ_in_meaning_stand_apart(one, other):
    assert near_identical([one, other]) == [(0,), (1,)]


def test_every_place_is_in_one_group():
    assert near_identical([]) == []
    assert near_identical(["Crash", "Crashes", "crash", "Hang"]) == [(0, 1, 2), (3,)]


def test_a_thousand_names_are_grouped_quickly():
    names = [f"Category {number} about {'abcdefghij'[number % 10] * 7} things" for number in range(1000)]
    started = time.process_time()
    assert len(near_identical(names)) == 1000
    assert time.process_time() - started < 2


def test_names_with_numbers_are_compared_in_a_time_that_has_an_end() -> None:
    """Names with the same numbers are compared with each other: so of eight thousand there are eight thousands."""
    names = [f"{''.join(letters) * 40} {number}" for number in range(8) for letters in product("abcdefghij", repeat=3)]
    begun = time.process_time()
    assert near_identical([*names, "Crashed", "Crasheds"])[-1] == (8_000, 8_001)
    assert time.process_time() - begun < 2


def test_doubts_name_the_categories():
    document = load("""
slug: t
title: T
dimensions:
  - key: symptom
    title: Symptom
    kind: single
    categories:
      - key: hang
        name: Hang
        definition: It waits.
        categories:
          - {key: barrier, name: At a barrier, definition: At one.}
      - {key: crash, name: Crash, selectable: true}
      - {key: crashes, name: Crashes, definition: It ends.}
""")
    assert [(doubt.kind, doubt.keys) for doubt in doubts(document)] == [
        ("alike", ("crash", "crashes")),
        ("only_child", ("hang", "barrier")),
        ("undefined", ("crash",)),
    ]


def test_names_by_the_thousand_are_compared_in_a_time_in_proportion_to_their_number() -> None:
    names = [f"{''.join(letters)} failure of the system" for letters in product("abcdefgh", repeat=4)]
    begun = time.process_time()
    assert len(near_identical([*names, names[5].upper()])) == len(names)
    assert time.process_time() - begun < 2
