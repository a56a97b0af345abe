"""Keyboard shortcuts of the labeling page that each user can change."""

from collections.abc import Mapping

from shared.errors import Invalid

USUAL = {"skip": "s", "memo": "m", "evidence": "e", "flag": "!", "previous": "p", "fold": "["}
WORDS = {
    "skip": "skip, with a reason",
    "memo": "write a memo",
    "evidence": "attach the selected text to an answer",
    "flag": "flag for discussion",
    "previous": "previous item",
    "fold": "collapse the item list",
}
TAKEN = {"?": "list of keys", "+": "larger text", "=": "larger text", "-": "smaller text"}
SINGLE = "single"


def read_keys(given: Mapping[str, object]) -> dict[str, object]:
    """What differs from the usual keys; `single` false switches all keys without Ctrl off. Raises Invalid."""
    fields: dict[str, list[str]] = {}
    chosen: dict[str, str] = {}
    for action, usual in USUAL.items():
        key = given.get(action, usual)
        key = key.strip().lower() if isinstance(key, str) else ""
        by = next((other for other, used in chosen.items() if used == key), None)
        if len(key) != 1 or not key.isprintable():
            fields[action] = ["Enter one letter or sign."]
        elif key.isdecimal():
            fields[action] = ["Digits are reserved for the questions."]
        elif key in TAKEN:
            fields[action] = [f"This key is {TAKEN[key]}."]
        elif by:
            fields[action] = [f"This key is already used: {WORDS[by]}."]
        chosen[action] = key
    if fields:
        raise Invalid("Keys not saved.", fields=fields)
    different: dict[str, object] = {name: key for name, key in chosen.items() if key != USUAL[name]}
    return different if given.get(SINGLE, True) else different | {SINGLE: False}


def keys_of(chosen: Mapping[str, object]) -> dict[str, str]:
    """Every action with the key that someone has for it."""
    return {action: str(chosen.get(action, usual)) for action, usual in USUAL.items()}
