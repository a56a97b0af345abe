"""Attribute columns of a sheet: names that a question can use, and their values."""

import re

from shared.names import clean_name

NAME_MAX, VALUE_MAX = 80, 200
APART = re.compile(r"[,:]+")
"""They stand between words of a question's address."""


def attribute_name(head: str) -> str:
    """The name of an attribute by the head of its column; empty where that says nothing or too much."""
    name = " ".join(APART.sub(" ", clean_name(head)).split())
    return name if len(name) <= NAME_MAX else ""


def wrong_head(head: str) -> str:
    """Why a column of attributes can't have this name, in a sentence; empty where it can."""
    if attribute_name(head):
        return ""
    named = f"“{head[:NAME_MAX]}”" if head.strip() else "A column without a name"
    return f"{named} can't be an attribute. Give it a name of at most {NAME_MAX} characters."
