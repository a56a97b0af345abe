"""Texts that a spreadsheet would take for formulas."""

FORMULA = ("=", "+", "-", "@", "\t", "\r")


def defused(text: str) -> str:
    """The text as a harmless cell: with an apostrophe before it where it begins as a formula does."""
    return f"'{text}" if text.startswith(FORMULA) else text
