"""Whom a text mentions."""

import pytest

from annotation.discussion.mentions import mark_mentions, mentioned_members

MEMBERS = {"bob": 1, "R2": 2, "carol": 2, "dan.x": 3}


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("@bob and @R2, see", [1, 2]),
        ("@BOB, @r2.", [1, 2]),
        ("@carol is @R2", [2]),
        ("ask (@dan.x).", [3]),
        ("*@bob*'s", [1]),
        ("bob@bob.example and a/@bob", []),
        ("@bobby @nobody @", []),
        ("`@bob` and ``a ` @bob``", []),
        ("```\n@bob\n```\n@R2", [2]),
        ("~~~\n@bob", []),
        ("- a list\n\n    @bob", [1]),
    ],
)
def test_members_are_mentioned_by_name_or_code_outside_of_code(text, found) -> None:
    assert mentioned_members(text, MEMBERS) == found


def test_a_mention_is_marked_and_leads_to_nobody_elsewhere() -> None:
    html = '<p><a href="https://github.com/bob" rel="nofollow">@bob</a> <a href="https://github.com/x">@x</a></p>'
    assert mark_mentions(html, MEMBERS) == '<p><strong class="mention">@bob</strong> @x</p>'
    kept = '<a href="https://github.com/bob/issues/1">bob#1</a>'
    assert mark_mentions(kept, MEMBERS) == kept
