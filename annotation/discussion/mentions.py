"""Mentions in a Markdown text by @name or @code, outside of code. Pure."""

import re
from collections.abc import Mapping

from shared.names import folded

_CODE = re.compile(
    r"^(?P<fence> {0,3}(`{3,}|~{3,}))[^\n]*\n.*?(?:^ {0,3}\2[`~]*[ \t]*$|\Z)"  # a fenced block, also an open one
    r"|(?<!`)(?P<ticks>`+)(?!`).+?(?<!`)(?P=ticks)(?!`)",
    re.MULTILINE | re.DOTALL,
)
_NAME = re.compile(r"(?<![\w@/.`-])@([\w][\w.+@-]*)")
_LINK = re.compile(r'<a [^>]*href="https://[^"]*/([A-Za-z0-9-]+)"[^>]*>@\1</a>')
_END = ".+-@_"


def mentioned_members(text: str, members: Mapping[str, int]) -> list[int]:
    """The members that a text mentions, each once, in the order of the text; `members` maps names and codes to ids.

    Names are compared without case. A dot or hyphen at the end belongs to the sentence where no name ends so.
    """
    known = {folded(name): each for name, each in members.items() if name}
    found: dict[int, None] = {}
    for match in _NAME.finditer(_CODE.sub(" ", text)):
        name = folded(match[1])
        while name and name not in known and name[-1] in _END:
            name = name[:-1]
        if name in known:
            found[known[name]] = None
    return list(found)


def mark_mentions(html: str, members: Mapping[str, int]) -> str:
    """Rendered Markdown whose mentions are marked; a renderer's links to accounts of that name elsewhere are undone."""
    known = {folded(name) for name in members if name}

    def mark(match: re.Match[str]) -> str:
        name = match[1]
        return f'<strong class="mention">@{name}</strong>' if folded(name) in known else f"@{name}"

    return _LINK.sub(mark, html)
