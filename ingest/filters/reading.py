"""Values of filter words, read from text; each reader raises ValueError with a sentence."""

from collections.abc import Callable
from datetime import UTC, date, datetime
from typing import Any

from ingest.errors import Invalid
from ingest.identifiers import full_name, parse_repository
from ingest.search.grammar import LONGEST_SEARCH
from ingest.search.keywords import Keywords, read_keywords

COUNT_MOST = 1_000_000
LONGEST_TEXT = 500
LIST_MOST = 500
STATES = ("open", "closed", "all")
CLOSING = ("merged_pull_request",)


def text(value: Any) -> str:
    if not isinstance(value, str) or len(value) > LONGEST_TEXT:
        raise ValueError("Enter text." if not isinstance(value, str) else f"Enter at most {LONGEST_TEXT} characters.")
    return value.replace("\x00", " ").strip()


def search(value: Any) -> str:
    """What was typed into a search; blanks count in quotes. The step reads it, so that stored ones are never lost."""
    if not isinstance(value, str) or len(value) > LONGEST_SEARCH:
        limit = f"Enter at most {LONGEST_SEARCH:,} characters."
        raise ValueError(limit if isinstance(value, str) else "Enter text.")
    return value.replace("\x00", " ") if value.strip() else ""


def texts(value: Any) -> tuple[str, ...]:
    listed = [value] if isinstance(value, str) else value
    if not isinstance(listed, list | tuple) or not all(isinstance(each, str) for each in listed):
        raise ValueError("Send text, or a list of texts.")
    if len(listed) > LIST_MOST:
        raise ValueError(f"Send at most {LIST_MOST} of them.")
    return tuple(dict.fromkeys(each for each in map(text, listed) if each))


def repositories(value: Any) -> tuple[tuple[str, str, str], ...]:
    """Host, owner and name of each, one spelling for one repository."""
    found: dict[str, tuple[str, str, str]] = {}
    for name in texts(value):
        try:
            named = parse_repository(name)
        except Invalid as error:
            raise ValueError(f"“{name[:100]}” is not a repository. Enter it as owner/name.") from error
        found.setdefault(full_name(*named).lower(), named)
    return tuple(found.values())


def one_of(*choices: str) -> Callable[[Any], str]:
    def read(value: Any) -> str:
        word = value.strip().lower() if isinstance(value, str) else None
        if word not in choices:
            raise ValueError(f"Use {', '.join(choices[:-1])} or {choices[-1]}.")
        return word

    return read


def some_of(*choices: str) -> Callable[[Any], tuple[str, ...]]:
    def read(value: Any) -> tuple[str, ...]:
        listed = tuple(each.lower() for each in texts(value))
        if wrong := [each for each in listed if each not in choices]:
            raise ValueError(f"“{wrong[0][:40]}” is not one of {', '.join(choices)}.")
        return listed

    return read


def day(value: Any) -> datetime:
    try:
        if isinstance(value, str):
            value = datetime.fromisoformat(value.strip())
        if not isinstance(value, datetime):
            value = datetime(value.year, value.month, value.day) if isinstance(value, date) else None
        if value is None:
            raise TypeError
        found: datetime = value.astimezone(UTC) if value.tzinfo else value.replace(tzinfo=UTC)
        return found
    except (ValueError, TypeError, OverflowError):
        raise ValueError("Enter a date such as 2024-05-31.") from None


def count(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= COUNT_MOST:
        raise ValueError("Enter a whole number from 0.")
    return value


def flag(value: Any) -> bool:
    if not isinstance(value, bool):
        raise ValueError("Use true or false.")
    return value


def closing(value: Any) -> bool | str:
    if isinstance(value, bool) or value in CLOSING:
        found: bool | str = value
        return found
    raise ValueError(f"Use true, false or {' or '.join(CLOSING)}.")


def keywords(value: Any) -> Keywords | None:
    return read_keywords(value)
