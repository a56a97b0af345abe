"""Public ids: unlike each other, read back by their kind alone, of another key others, and no numbers that count up."""

from itertools import pairwise
from uuid import UUID

import pytest
from django.test import override_settings

from shared.public_ids import public_id, row_number_of

OTHER_KEY = "another-key-of-at-least-fifty-characters-for-the-tests-0"


def test_a_public_id_is_a_uuid_that_stands_for_one_row_of_one_kind() -> None:
    made = {number: public_id("assignment", number) for number in (*range(1, 2000), 2**60)}
    assert len(set(made.values())) == len(made)
    for number, given in made.items():
        assert (str(UUID(given)), UUID(given).version) == (given, 8)
        assert row_number_of("assignment", given) == number and row_number_of("assignment", UUID(given)) == number
        assert row_number_of("annotation", given) is None


def test_the_order_of_public_ids_says_nothing_of_the_order_of_rows() -> None:
    made = [public_id("assignment", number) for number in range(1, 4001)]
    n_rising = sum(one < other for one, other in pairwise(made))
    assert 1800 < n_rising < 2200
    for place in range(len(made[0])):  # no character of it counts on
        shared = sum(one[place] == other[place] for one, other in pairwise(made))
        assert shared < 1500 or place in (8, 13, 14, 18, 23), place


@pytest.mark.parametrize(
    "nonsense", ["", "0", "135", "x", "9" * 30, None, 135, "00000000-0000-0000-0000-000000000000", [1], "{}"]
)
def test_what_is_no_public_id_stands_for_no_row(nonsense: object) -> None:
    assert row_number_of("assignment", nonsense) is None


def test_a_changed_character_makes_an_id_of_nothing() -> None:
    given = public_id("assignment", 7)
    for place, character in enumerate(given):
        if character != "-":
            other = given[:place] + ("0" if character != "0" else "1") + given[place + 1 :]
            assert row_number_of("assignment", other) is None


def test_ids_of_a_former_key_are_read_and_no_more_given() -> None:
    before = public_id("assignment", 7)
    with override_settings(SECRET_KEY=OTHER_KEY, SECRET_KEY_FALLBACKS=[]):
        assert row_number_of("assignment", before) is None and public_id("assignment", 7) != before
        since = public_id("assignment", 7)
    with override_settings(SECRET_KEY_FALLBACKS=[OTHER_KEY]):
        assert row_number_of("assignment", since) == 7 and public_id("assignment", 7) == before
