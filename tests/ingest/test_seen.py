"""Which issues a file has brought already (pure)."""

import json
import random

from ingest.files.seen import SeenNumbers

HERE = ("github.com", "o", "r")


def test_a_number_is_new_once_in_each_repository():
    seen = SeenNumbers()
    assert [seen.add(HERE, 7), seen.add(HERE, 7), seen.add(("github.com", "o", "s"), 7)] == [True, False, True]


def test_what_was_seen_is_the_same_after_it_was_kept():
    numbers = random.Random(1).sample(range(1, 200_000), 5000)
    seen = SeenNumbers()
    for number in numbers:
        seen.add(HERE, number)
    again = SeenNumbers.from_json(json.loads(json.dumps(seen.as_json())))
    assert not any(again.add(HERE, number) for number in numbers)
    assert again.add(HERE, 200_001)


def test_a_hundred_thousand_issues_are_kept_in_little_and_scattered_numbers_are_not():
    seen = SeenNumbers()
    for number in range(1, 100_001):
        seen.add(HERE, number)
    assert len(json.dumps(seen.as_json())) < 10_000
    for number in random.Random(1).sample(range(1, 2**31), 30_000):
        seen.add(HERE, number)
    assert seen.as_json() is None
