"""What differs between two states of an issue, said in words and shown by line and word."""

import time
from collections.abc import Sequence
from difflib import SequenceMatcher

import pytest
from hypothesis import example, given
from hypothesis import strategies as some

from ingest.differences import (
    CHARACTERS_COMPARED,
    CHARACTERS_OF_COMMENTS,
    COMMENTS_SHOWN,
    CONTEXT,
    LABELS_SHOWN,
    LINES_SHOWN,
    DiffComment,
    DiffLine,
    State,
    TextDifference,
    difference,
    text_difference,
    whole_text,
)
from shared.edit_scripts import edits

LINES = some.lists(some.sampled_from("abcde"), max_size=12)


def shown(text: TextDifference) -> list[str]:
    """Each line as `+words`, a changed word between brackets, gaps as `…`."""
    found = []
    for hunk in text.hunks:
        found += ["…"] * bool(hunk.n_before) + [line_of(line) for line in hunk.lines]
    return found + ["…"] * bool(text.n_after)


def line_of(line: DiffLine) -> str:
    sign = {"same": " ", "added": "+", "removed": "-"}[line.kind]
    if len(line.pieces) == 1:
        return sign + line.text
    return sign + "".join(piece.text if piece.kind == "same" else f"[{piece.text}]" for piece in line.pieces)


def test_a_changed_word_is_marked_in_both_of_its_lines() -> None:
    found = text_difference("It hangs\nafter step 3.", "It hangs\nafter step 40.")
    assert shown(found) == [" It hangs", "-after step [3].", "+after step [40]."]
    assert (found.n_added, found.n_removed) == (1, 1)
    removed = found.hunks[0].lines[1]
    assert (removed.old, removed.new, found.hunks[0].lines[2].new) == (2, None, 2)


def test_words_that_changed_beside_each_other_are_one_mark() -> None:
    found = text_difference("it hangs at the first step", "it was stuck at the first step")
    assert shown(found) == ["-it [hangs] at the first step", "+it [was stuck] at the first step"]
    found = text_difference("one two three four five six", "one 2 3 four five six")
    assert shown(found) == ["-one [two three] four five six", "+one [2 3] four five six"]


def test_lines_with_little_in_common_stand_as_a_whole() -> None:
    assert shown(text_difference("It hangs", "NCCL error 5")) == ["-It hangs", "+NCCL error 5"]
    found = text_difference("one two three four five six", "one 2 3 4 5 6 7 8")
    assert shown(found) == ["-one two three four five six", "+one 2 3 4 5 6 7 8"]


def test_unchanged_lines_far_away_are_counted_and_left_out() -> None:
    old = [f"line {number}" for number in range(40)]
    new = [*old[:20], "a new line", *old[20:]]
    found = text_difference("\n".join(old), "\n".join(new))
    assert shown(found)[0] == "…" and shown(found)[-1] == "…"
    assert found.hunks[0].n_before == 20 - CONTEXT and found.n_after == 20 - CONTEXT
    assert (found.n_added, found.n_removed, found.n_lines) == (1, 0, 2 * CONTEXT + 1)


def test_two_changes_near_each_other_stand_in_one_hunk() -> None:
    old = [f"line {number}" for number in range(30)]
    near, far = list(old), list(old)
    near[10], near[10 + 2 * CONTEXT] = "x", "y"
    far[5], far[25] = "x", "y"
    assert len(text_difference("\n".join(old), "\n".join(near)).hunks) == 1
    assert len(text_difference("\n".join(old), "\n".join(far)).hunks) == 2


def test_the_ends_of_lines_are_no_change() -> None:
    assert not text_difference("one\r\ntwo\r\n", "one\ntwo")
    assert "body" in difference(State("t", "one\r\n"), State("t", "one\n")).words


@given(LINES, LINES)
def test_the_edits_lead_from_the_old_to_the_new_and_none_is_shorter(old: list[str], new: list[str]) -> None:
    found = edits(old, new, 100)
    assert found is not None
    assert [old[i] for kind, i, _ in found if kind != "added"] == old
    assert [new[j] for kind, _, j in found if kind != "removed"] == new
    assert all(old[i] == new[j] for kind, i, j in found if kind == "same")
    blocks = SequenceMatcher(None, old, new, autojunk=False).get_matching_blocks()
    assert sum(kind == "same" for kind, _, _ in found) >= sum(block.size for block in blocks)
    assert sum(kind == "same" for kind, _, _ in found) == longest_common(old, new)


def longest_common(old: list[str], new: list[str]) -> int:
    row = [0] * (len(new) + 1)
    for one in old:
        before, row = row, [0]
        for place, other in enumerate(new):
            row.append(before[place] + 1 if one == other else max(before[place + 1], row[-1]))
    return row[-1]


@example("b ", "b  aa a")
@given(some.text("ab \n", max_size=60), some.text("ab \n", max_size=60))
def test_what_was_added_and_removed_gives_back_both_texts(old: str, new: str) -> None:
    found = text_difference(old, new)
    lines = [line for hunk in found.hunks for line in hunk.lines]
    for line in lines:
        if line.old is not None:
            assert old.split("\n")[line.old - 1] == line.text
        if line.new is not None:
            assert new.split("\n")[line.new - 1] == line.text


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("\n".join(f"step {n}" for n in range(60_000)), "\n".join(f"step {n} of 9" for n in range(60_000))),
        ("x" * 400_000, "y" * 400_000),
        ("a b " * 100_000, "b a " * 100_000),
        ("\n".join("ab" * 30_000), "\n".join("ba" * 29_999)),
        ("\n".join(str(n % 20) for n in range(4_000)), "\n".join(str(n % 19) for n in range(4_000))),
    ],
)
def test_long_texts_that_differ_everywhere_take_no_long_time(old: str, new: str) -> None:
    begun = time.process_time()
    found = text_difference(old, new)
    assert time.process_time() - begun < 5
    assert (
        found
        and found.n_lines <= LINES_SHOWN
        and found.n_added
        == found.n_lines
        + found.n_not_shown
        - (found.n_removed + sum(line.kind == "same" for hunk in found.hunks for line in hunk.lines))
    )


def test_comments_are_known_by_their_marks() -> None:
    old = State(
        "t",
        "b",
        comments=[DiffComment(1, "ann", "first"), DiffComment(2, "bob", "second"), DiffComment(3, "cat", "third")],
    )
    new = State(
        "t",
        "b",
        comments=[
            DiffComment(1, "ann", "first, edited"),
            DiffComment(3, "cat", "third"),
            DiffComment(4, "dan", "fourth"),
        ],
    )
    found = difference(old, new)
    assert [(each.kind, each.number, each.author) for each in found.comments] == [
        ("removed", 2, "bob"),
        ("edited", 1, "ann"),
        ("added", 3, "dan"),
    ]
    assert found.words == ["1 comment added", "1 comment edited", "1 comment removed"]


def test_comments_without_marks_are_known_by_their_words() -> None:
    same = DiffComment(None, "ann", "+1")
    found = difference(State("t", "b", comments=[same, same]), State("t", "b", comments=[same, same, same]))
    assert [(each.kind, each.number) for each in found.comments] == [("added", 3)]


def test_comments_that_were_not_known_are_not_comments_added() -> None:
    found = difference(State("t", "b"), State("t", "b", comments=[DiffComment(1, "ann", "first")]))
    assert (found.comments, found.words) == ([], ["comments are known now"])
    assert difference(State("t", "b", comments=[]), State("t", "b")).words == ["comments are not known any more"]


def test_title_state_and_labels_are_said_in_words() -> None:
    old = State("Hangs at start", "b", "open", "", ["bug"], "ann")
    new = State("Hangs at the end", "b", "closed", "not_planned", ["bug", "wontfix"], "ann")
    found = difference(old, new)
    assert found.words == ["title", "closed as not planned", "labels"]
    assert found.state == ("open", "closed as not planned")
    assert (found.labels_added, found.labels_removed) == (["wontfix"], [])
    assert [(piece.kind, piece.text) for piece in found.title] == [
        ("same", "Hangs at "),
        ("removed", "start"),
        ("added", "the end"),
    ]


def test_equal_states_have_no_difference() -> None:
    assert not difference(State("t", "b"), State("t", "b"))


def test_an_empty_comment_came_without_lines() -> None:
    assert (whole_text("", "added").n_lines, whole_text("a\nb", "removed").n_removed) == (0, 2)


def test_a_text_that_is_too_long_is_not_compared() -> None:
    longest = "x" * CHARACTERS_COMPARED
    assert text_difference("", longest).n_added == 1 and not text_difference("", longest).is_too_long
    for found in (
        text_difference("", longest + "x"),
        text_difference(longest + "x", ""),
        whole_text(longest + "x", "added"),
    ):
        assert found and found.is_too_long and not found.hunks
    assert difference(State("t", longest + "x"), State("t", "b")).words == ["body"]


def thread(n: int, words: str) -> list[DiffComment]:
    return [DiffComment(number, "ann", words) for number in range(n)]


def test_of_many_comments_the_first_are_shown_and_all_counted() -> None:
    n = COMMENTS_SHOWN + 1
    found = difference(State("t", "b", comments=thread(n, "a")), State("t", "b", comments=thread(n, "b")))
    assert (len(found.comments), found.n_comments_not_shown) == (COMMENTS_SHOWN, 1)
    assert found.words == [f"{n} comments edited"]


def test_comments_are_compared_while_their_lines_and_characters_have_room() -> None:
    lines = LINES_SHOWN // 5
    old, new = thread(20, "a\n" * lines), thread(20, "b\n" * lines)
    found = difference(State("t", "b", comments=old), State("t", "b", comments=new))
    assert sum(each.text.n_lines for each in found.comments) == 3 * 2 * lines
    assert found.n_comments_not_shown == 17
    size = CHARACTERS_OF_COMMENTS // 8
    found = difference(State("t", "b", comments=[]), State("t", "b", comments=thread(10, "c" * size)))
    assert (len(found.comments), found.n_comments_not_shown) == (8, 2)


def test_of_many_labels_the_first_are_shown_and_all_counted() -> None:
    """By sets: 100,000 that all differ would take minutes by lists."""
    old, new = ([f"{side}{n}" for n in range(100_000)] for side in "ab")
    found = difference(State("t", "b", labels=old), State("t", "b", labels=new))
    assert (found.labels_added, found.labels_removed) == (new[:LABELS_SHOWN], old[:LABELS_SHOWN])
    assert found.n_labels_not_shown == 2 * (100_000 - LABELS_SHOWN)


def test_only_the_texts_of_comments_that_are_shown_are_read() -> None:
    old = [DiffComment(number, "ann", "digest", key=number) for number in range(300)]
    new = [DiffComment(number, "ann", "another", key=1000 + number) for number in range(300)]
    read: list[int] = []

    def texts(comments: Sequence[DiffComment]) -> dict[int, str]:
        read.extend(said.key for said in comments)
        return {said.key: "b" if said.key >= 1000 else "a" for said in comments}

    found = difference(State("t", "b", comments=old), State("t", "b", comments=new), texts)
    assert len(read) == 2 * COMMENTS_SHOWN
    assert [line_of(line) for line in found.comments[0].text.hunks[0].lines] == ["-a", "+b"]
