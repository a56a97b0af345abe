"""Emoji for shortcodes such as `:tada:`, as GitHub shows them; unknown ones stay as typed."""

import re
from functools import cache
from pathlib import Path

SHORTCODE = re.compile(r":([a-z0-9_+-]{1,40}):")

_TABLE = Path(__file__).with_suffix(".txt")
"""Each line has an emoji and its shortcodes."""


def emoji_of(shortcode: str) -> str:
    """The emoji of a shortcode without its colons; empty where GitHub has none, or it is not in this table."""
    return _named().get(shortcode, "")


@cache
def _named() -> dict[str, str]:
    return {
        name: line.split()[0] for line in _TABLE.read_text(encoding="utf-8").splitlines() for name in line.split()[1:]
    }
