"""Values are followed through the recorded changes of versions, in either direction, as far as they lead."""

from typing import Any

import pytest

from taxonomy.migration import BlockedValue, Link, Route, VersionChanges, route

KINDS = {"symptom": "single", "fixes": "multi", "only": "boolean"}


def links(table: str) -> list[Link]:
    """Lines of kind, old and new; - for none."""
    rows = [line.split() for line in table.strip().splitlines()]
    return [Link(kind, "symptom", *(None if key == "-" else key for key in keys)) for kind, *keys in rows]


def told(*tables: str, kinds: Any = None) -> dict[int, VersionChanges]:
    """Version 1 and one version after the other, with ids ten times their numbers."""
    found = {10: VersionChanges(1, None, (), KINDS)}
    for number, table in enumerate(tables, start=2):
        found[number * 10] = VersionChanges(number, number * 10 - 10, links(table), kinds or KINDS)
    return found


def ways(*tables: str) -> tuple[Route, Route]:
    """Forwards from version 1 to the newest, and back."""
    every = told(*tables)
    newest = max(every)
    forth, back = route(every, 10, newest), route(every, newest, 10)
    assert forth is not None and back is not None
    return forth, back


@pytest.mark.parametrize(
    ("table", "old", "expected"),
    [
        ("kept hang hang", "hang", "hang"),
        ("renamed hang stall", "hang", "stall"),
        ("redefined hang hang", "hang", "hang"),
        ("moved hang hang", "hang", "hang"),
        ("merged hang stuck\nmerged freeze stuck", "freeze", "stuck"),
        ("split hang early\nsplit hang late", "hang", BlockedValue("split", 2, ("early", "late"))),
        ("retired hang -", "hang", BlockedValue("retired", 2)),
        ("kept hang hang", "unheard-of", BlockedValue("retired", 2)),
    ],
)
def test_one_step_forwards(table: str, old: str, expected: object) -> None:
    assert ways(table)[0].follow("symptom", old) == expected


@pytest.mark.parametrize(
    ("table", "new", "expected"),
    [
        ("renamed hang stall", "stall", "hang"),
        ("merged hang stuck\nmerged freeze stuck", "stuck", BlockedValue("merged", 2, ("hang", "freeze"))),
        ("split hang early\nsplit hang late", "late", "hang"),
        ("added - new", "new", BlockedValue("added", 2)),
    ],
)
def test_one_step_back(table: str, new: str, expected: object) -> None:
    assert ways(table)[1].follow("symptom", new) == expected


def test_what_was_split_and_merged_again_arrives() -> None:
    forth, back = ways("split hang early\nsplit hang late", "merged early stuck\nmerged late stuck")
    assert forth.follow("symptom", "hang") == "stuck"
    assert back.follow("symptom", "stuck") == "hang"


def test_what_was_split_and_of_which_one_half_was_retired_is_blocked_by_the_split() -> None:
    forth, _ = ways("split hang early\nsplit hang late", "kept early early\nretired late -")
    assert forth.follow("symptom", "hang") == BlockedValue("split", 2, ("early", "late"))


def test_a_split_stays_the_reason_however_many_versions_follow() -> None:
    forth, _ = ways("split hang early\nsplit hang late", "renamed early first\nkept late late")
    assert forth.follow("symptom", "hang") == BlockedValue("split", 2, ("early", "late"))


def test_a_way_leads_over_the_common_ancestor_of_two_branches() -> None:
    every = told("renamed hang stall")
    every[30] = VersionChanges(3, 10, links("renamed hang stuck\nadded - new"), KINDS)
    way = route(every, 20, 30)
    assert way is not None and way.follow("symptom", "stall") == "stuck"
    back = route(every, 30, 20)
    assert back is not None and back.follow("symptom", "new") == BlockedValue("added", 3)


def test_no_way_joins_what_has_no_common_ancestor() -> None:
    every = told("kept hang hang")
    every[50] = VersionChanges(5, None, (), KINDS)
    assert route(every, 20, 50) is None


def test_a_set_is_followed_as_a_whole_and_holds_nothing_twice() -> None:
    every = {10: VersionChanges(1, None, (), KINDS)}
    changes = [
        Link("merged", "fixes", "a", "x"),
        Link("merged", "fixes", "b", "x"),
        Link("retired", "fixes", "c", None),
    ]
    every[20] = VersionChanges(2, 10, changes, KINDS)
    way = route(every, 10, 20)
    assert way is not None
    assert way.values("fixes", ("a", "b")) == ("x",)
    assert way.values("fixes", ()) == ()
    assert way.values("fixes", ("a", "c")) == BlockedValue("retired", 2)
    assert way.values("fixes", ("a", "PENDING"), free=["PENDING"]) == ("PENDING", "x")


def test_answers_without_categories_go_on_while_their_question_does() -> None:
    every = told("kept hang hang")
    way = route(every, 10, 20)
    assert way is not None and way.values("only", (True,)) == (True,)
    every[20] = VersionChanges(2, 10, (), {"symptom": "single"})
    way = route(every, 10, 20)
    assert way is not None and way.values("only", (True,)) == BlockedValue("dimension", 2)


def test_backwards_the_version_is_named_that_has_not_the_question() -> None:
    every = {10: VersionChanges(1, None, (), {"symptom": "single"})}
    every[20] = VersionChanges(2, 10, (), {"symptom": "boolean", "phase": "single"})
    every[30] = VersionChanges(3, 20, (), {"symptom": "boolean", "phase": "single"})
    back = route(every, 30, 10)
    assert back is not None and back.values("phase", ("training",)) == BlockedValue("dimension", 1)
    assert BlockedValue("dimension", 1).words == "its dimension is not in version 1"
    assert back.values("symptom", (True,)) == BlockedValue("kind", 1)


def test_a_question_that_takes_several_values_now_keeps_its_one_and_the_other_way_only_a_single_one() -> None:
    every = {
        10: VersionChanges(1, None, (), {"symptom": "single"}),
        20: VersionChanges(2, 10, (), {"symptom": "multi"}),
    }
    every[20] = VersionChanges(2, 10, links("kept hang hang\nkept crash crash"), {"symptom": "multi"})
    forth, back = route(every, 10, 20), route(every, 20, 10)
    assert forth is not None and forth.values("symptom", ("hang",)) == ("hang",)
    assert back is not None and back.values("symptom", ("hang",)) == ("hang",)
    assert back.values("symptom", ("crash", "hang")) == BlockedValue("kind", 1)
    every[20] = VersionChanges(2, 10, (), {"symptom": "boolean"})
    way = route(every, 10, 20)
    assert way is not None and way.values("symptom", ("hang",)) == BlockedValue("kind", 2)


def test_a_reason_is_told_in_words() -> None:
    assert BlockedValue("split", 3, ("a", "b")).words == "split in version 3 into a, b"
    assert BlockedValue("added", 2).words == "added in version 2"


def test_what_happened_on_the_way_is_told() -> None:
    every = told("merged hang stuck\nmerged freeze stuck")
    every[30] = VersionChanges(3, 20, [Link("moved", "symptom", "stuck", "stalled", ("renamed", "redefined"))], KINDS)
    way = route(every, 10, 30)
    assert way is not None
    assert way.kinds_of("symptom", "hang") == ("merged", "moved", "renamed", "redefined")
    assert way.kinds_of("symptom", "crash") == ()
