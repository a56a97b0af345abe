"""Terminals: texts that others may have written, shown so that nothing in them controls one."""

import re

CONTROLS = re.compile("[\\x00-\\x1f\\x7f-\\x9f\\u200e\\u200f\\u2028-\\u202e\\u2066-\\u2069\\ud800-\\udfff]")
"""Characters that control a terminal, or turn a text around in it."""


def escaped(text: str) -> str:
    """A text whose control characters, line breaks too, are written as in Python: `\\x1b`."""
    return text if text.isprintable() else CONTROLS.sub(_escape, text)


def _escape(found: re.Match[str]) -> str:
    return found[0].encode("unicode_escape").decode()
