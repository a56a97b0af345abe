"""Paging keys, read from URLs."""


def parse_key(text: str | None) -> int | None:
    """A key out of an address, or None."""
    return int(text) if text and text.isascii() and text.isdecimal() and len(text) < 19 else None
