"""The words of a filter: what each takes, and reading a filter that somebody wrote."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from difflib import get_close_matches
from typing import Any

from ingest.errors import Invalid
from ingest.identifiers import full_name, parse_repository
from ingest.keywords import Keywords, read_keywords
from ingest.models import Issue
from ingest.search.grammar import LONGEST_SEARCH

COUNT_MOST = 1_000_000
LONGEST_TEXT = 500
LIST_MOST = 500
STATES = ("open", "closed", "all")
CLOSING = ("merged_pull_request",)


@dataclass(frozen=True)
class Word:
    """One word of a filter: how its value is read (raising ValueError with a sentence), and what it means."""

    read: Callable[[Any], Any]
    means: str


def _text(value: Any) -> str:
    if not isinstance(value, str) or len(value) > LONGEST_TEXT:
        raise ValueError("Enter text." if not isinstance(value, str) else f"Enter at most {LONGEST_TEXT} characters.")
    return value.replace("\x00", " ").strip()


def _search(value: Any) -> str:
    """What was typed into a search; blanks count in quotes. The step reads it, so that stored ones are never lost."""
    if not isinstance(value, str) or len(value) > LONGEST_SEARCH:
        limit = f"Enter at most {LONGEST_SEARCH:,} characters."
        raise ValueError(limit if isinstance(value, str) else "Enter text.")
    return value.replace("\x00", " ") if value.strip() else ""


def _texts(value: Any) -> tuple[str, ...]:
    listed = [value] if isinstance(value, str) else value
    if not isinstance(listed, list | tuple) or not all(isinstance(each, str) for each in listed):
        raise ValueError("Send text, or a list of texts.")
    if len(listed) > LIST_MOST:
        raise ValueError(f"Send at most {LIST_MOST} of them.")
    return tuple(dict.fromkeys(each for each in map(_text, listed) if each))


def _repositories(value: Any) -> tuple[tuple[str, str, str], ...]:
    """Host, owner and name of each, one spelling for one repository."""
    found: dict[str, tuple[str, str, str]] = {}
    for name in _texts(value):
        try:
            named = parse_repository(name)
        except Invalid as error:
            raise ValueError(f"“{name[:100]}” is not a repository. Enter it as owner/name.") from error
        found.setdefault(full_name(*named).lower(), named)
    return tuple(found.values())


def _one_of(*choices: str) -> Callable[[Any], str]:
    def read(value: Any) -> str:
        word = value.strip().lower() if isinstance(value, str) else None
        if word not in choices:
            raise ValueError(f"Use {', '.join(choices[:-1])} or {choices[-1]}.")
        return word

    return read


def _some_of(*choices: str) -> Callable[[Any], tuple[str, ...]]:
    def read(value: Any) -> tuple[str, ...]:
        listed = tuple(each.lower() for each in _texts(value))
        if wrong := [each for each in listed if each not in choices]:
            raise ValueError(f"“{wrong[0][:40]}” is not one of {', '.join(choices)}.")
        return listed

    return read


def _day(value: Any) -> datetime:
    try:
        if isinstance(value, str):
            value = datetime.fromisoformat(value.strip())
        if not isinstance(value, datetime):
            value = datetime(value.year, value.month, value.day) if isinstance(value, date) else None
        if value is None:
            raise TypeError
        return value.astimezone(UTC) if value.tzinfo else value.replace(tzinfo=UTC)
    except (ValueError, TypeError, OverflowError):
        raise ValueError("Enter a date such as 2024-05-31.") from None


def _count(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= COUNT_MOST:
        raise ValueError("Enter a whole number from 0.")
    return value


def _flag(value: Any) -> bool:
    if not isinstance(value, bool):
        raise ValueError("Use true or false.")
    return value


def _closing(value: Any) -> bool | str:
    if isinstance(value, bool) or value in CLOSING:
        return value
    raise ValueError(f"Use true, false or {' or '.join(CLOSING)}.")


def _keywords(value: Any) -> Keywords | None:
    return read_keywords(value)


WORDS: Mapping[str, Word] = {
    "repository": Word(_repositories, "owner/name, or a list of them"),
    "presence": Word(
        _some_of(*Issue.Presence.values), "where issues are now at GitHub (a list); without it, all but deleted ones"
    ),
    "state": Word(_one_of(*STATES), "open, closed or all"),
    "state_reason": Word(_texts, "why it was closed, as GitHub says: completed, not_planned, duplicate (any of)"),
    "labels": Word(_texts, "has any of these GitHub labels, in any case"),
    "labels_all": Word(_texts, "has all of these GitHub labels"),
    "without_labels": Word(_texts, "has none of these GitHub labels"),
    "created_since": Word(_day, "opened on this day or later (UTC)"),
    "created_until": Word(_day, "opened before this day"),
    "closed_since": Word(_day, "closed on this day or later"),
    "closed_until": Word(_day, "closed before this day"),
    "updated_since": Word(_day, "last changed on this day or later"),
    "updated_until": Word(_day, "last changed before this day"),
    "comments_at_least": Word(_count, "has so many comments or more"),
    "comments_at_most": Word(_count, "has so many comments or fewer"),
    "without_bots": Word(_flag, "true: not opened by a GitHub App (a name that ends in [bot])"),
    "locked": Word(_flag, "whether the conversation is locked"),
    "has_closing_change": Word(
        _closing,
        "true: closed by a pull request or commit; merged_pull_request: by a merged one; false: known to have none",
    ),
    "has_merged_fix": Word(
        _flag,
        "true: a merged pull request or a commit closed it; false: known that none did. The fix words below count "
        "the merged pull requests, or where there is none the commits",
    ),
    "fixes_at_least": Word(_count, "has so many fixes or more"),
    "fixes_at_most": Word(_count, "has so many fixes or fewer; without a fix only where that is known"),
    "fix_lines_at_least": Word(_count, "its fixes add and delete so many lines together, or more"),
    "fix_lines_at_most": Word(_count, "its fixes add and delete so many lines together, or fewer"),
    "fix_files_at_least": Word(_count, "its fixes change so many files together, or more"),
    "fix_files_at_most": Word(_count, "its fixes change so many files together, or fewer"),
    "fix_paths": Word(
        _texts, "a fix changes a file with one of these paths; a folder holds all below it, * stands for any letters"
    ),
    "days_to_fix_at_least": Word(_count, "so many days or more from opening to the first fix"),
    "days_to_fix_at_most": Word(_count, "so many days or fewer from opening to the first fix"),
    "words": Word(
        _search, 'as in the search of issues: whole words, "a phrase", -without, label:bug created:>2024-05-31'
    ),
    "search": Word(_text, "title or body contains this text, in any case; code and addresses count"),
    "keywords": Word(
        _keywords,
        "whole words or phrases, * for any letters: a list (any of), or any, all, none with lists, and in (title, body,"
        " comments; the first two without it); code and addresses do not count",
    ),
}


def read(filter: object, *, others: Sequence[str] = ()) -> dict[str, Any]:
    """The filter's values by word, as the steps take them; what is empty or null is left out.

    `others` are words that the caller reads. Raises Invalid, with the nearest word for one that is unknown.
    """
    if not isinstance(filter, Mapping):
        raise Invalid("The filter is not valid.", fields={"filter": ["Send a mapping of filter words."]})
    fields: dict[str, list[str]] = {}
    found: dict[str, Any] = {}
    for name, value in filter.items():
        if name in others:
            continue
        if name not in WORDS:
            near = get_close_matches(str(name).lower(), [*WORDS, *others], n=1, cutoff=0.5)
            hint = f" Did you mean {near[0]}?" if near else f" Known: {', '.join([*WORDS, *others])}."
            fields[f"filter.{str(name)[:60]}"] = ["Unknown filter word." + hint]
            continue
        if value is None or value in ("", [], {}):
            continue
        try:
            given = WORDS[name].read(value)
        except ValueError as error:
            fields[f"filter.{name}"] = [str(error)]
            continue
        if given not in (None, "", ()):
            found[name] = given
    if fields:
        raise Invalid("The filter is not valid.", fields=fields)
    return found


def as_document(filter: Mapping[str, Any]) -> dict[str, Any]:
    """The filter as JSON can keep it: days of YAML become text, what is empty goes."""
    return {
        name: value.isoformat() if isinstance(value, date) else value
        for name, value in filter.items()
        if value is not None and value not in ("", [], {})
    }
