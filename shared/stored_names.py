"""Stored names: no uploaded file ever has the name of another one, also after that is gone."""

import secrets


def unused_name(stem: str, ending: str) -> str:
    """A name that no file has had: what is kept or deleted by the name of a file concerns that file alone."""
    return f"{stem}-{secrets.token_hex(8)}.{ending}"
