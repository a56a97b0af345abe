"""Filter words: one entry each, with how its value is read, its meaning, and its step.

A new word is an entry of `WORDS`. Its field on the page is in `annotation/choosing/forms.py`.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any

from django.db.models import F, Q

from ingest.errors import Invalid
from ingest.filters import conditions, fixes, reading
from ingest.models import Issue
from shared.errors import FIELDS_MAX
from shared.wording import nearest


@dataclass(frozen=True)
class Word:
    """One word of a filter.

    `read` reads its value, raising ValueError with a sentence. `step` is its condition; None for keywords, which are
    looked for in texts after all other steps.
    """

    read: Callable[[Any], Any]
    means: str
    step: Callable[[Any], conditions.FilterStep] | None = None


AT_LEAST, AT_MOST = "at least", "at most"


def _bounds(
    name: str, means: str, said: Callable[[str, int], str], condition: Callable[[str, int], Q]
) -> dict[str, Word]:
    """Two words that bound a number from below and from above: what a step is called, and its condition by lookup."""

    def word(bound: str, lookup: str, more: str) -> Word:
        return Word(
            reading.count, f"{means}, or {more}", lambda n: conditions.FilterStep(said(bound, n), condition(lookup, n))
        )

    return {
        f"{name}_at_least": word(AT_LEAST, "gte", "more"),
        f"{name}_at_most": word(AT_MOST, "lte", "fewer"),
    }


WORDS: Mapping[str, Word] = {
    "repository": Word(reading.repositories, "owner/name, or a list of them", conditions.repository),
    "presence": Word(
        reading.some_of(*Issue.Presence.values),
        "where issues are now at GitHub (a list); without it, all but deleted ones",
        conditions.presence,
    ),
    "state": Word(reading.one_of(*reading.STATES), "open, closed or all", conditions.state),
    "state_reason": Word(
        reading.texts,
        "why it was closed at GitHub: completed, not_planned, duplicate (any of)",
        lambda reasons: conditions.FilterStep(
            "closed as: " + ", ".join(reasons), Q(current_snapshot__state_reason__in=[each.lower() for each in reasons])
        ),
    ),
    "created_since": Word(
        reading.day,
        "opened on this day or later (UTC)",
        conditions.day("opened since", "current_snapshot__created_at", "gte"),
    ),
    "created_until": Word(
        reading.day, "opened before this day", conditions.day("opened before", "current_snapshot__created_at", "lt")
    ),
    "closed_since": Word(
        reading.day, "closed on this day or later", conditions.day("closed since", "current_snapshot__closed_at", "gte")
    ),
    "closed_until": Word(
        reading.day, "closed before this day", conditions.day("closed before", "current_snapshot__closed_at", "lt")
    ),
    "updated_since": Word(
        reading.day, "last changed on this day or later", conditions.day("updated since", "updated_at", "gte")
    ),
    "updated_until": Word(
        reading.day, "last changed before this day", conditions.day("updated before", "updated_at", "lt")
    ),
    "labels": Word(reading.texts, "has any of these GitHub labels, in any case", conditions.labels),
    "labels_all": Word(reading.texts, "has all of these GitHub labels", conditions.labels_all),
    "without_labels": Word(reading.texts, "has none of these GitHub labels", conditions.without_labels),
    **_bounds(
        "comments",
        "has so many comments",
        lambda bound, n: f"{bound} {n} comments",
        lambda lookup, n: Q(**{f"current_snapshot__n_comments__{lookup}": n}),
    ),
    "without_bots": Word(
        reading.flag, "true: not opened by a GitHub App (a name that ends in [bot])", conditions.without_bots
    ),
    "locked": Word(reading.flag, "whether the conversation is locked", conditions.locked),
    "has_closing_change": Word(
        reading.closing,
        "true: closed by a pull request or commit; merged_pull_request: by a merged one; false: known to have none",
        conditions.closing_change,
    ),
    "has_merged_fix": Word(
        reading.flag,
        "true: a merged pull request or a commit closed it; false: known that none did. The fix words below count "
        "the merged pull requests, or where there is none the commits",
        lambda wanted: conditions.FilterStep(
            "has a merged fix" if wanted else "known to have no merged fix", fixes.has_fix(wanted)
        ),
    ),
    **_bounds(
        "fixes",
        "has so many fixes (none only where that is known)",
        lambda bound, n: f"{bound} {conditions.counted(n, 'fix', 'fixes')}",
        fixes.n_fixes,
    ),
    **_bounds(
        "fix_lines",
        "its fixes add and delete so many lines together",
        lambda bound, n: f"fixed by {bound} {conditions.counted(n, 'changed line')}",
        lambda lookup, n: fixes.size(fixes.LINES, lookup, n),
    ),
    **_bounds(
        "fix_files",
        "its fixes change so many files together",
        lambda bound, n: f"fixed in {bound} {conditions.counted(n, 'file')}",
        lambda lookup, n: fixes.size(F("n_files"), lookup, n),
    ),
    "fix_paths": Word(
        reading.texts,
        "a fix changes a file with one of these paths; a folder includes all below it, * stands for any letters",
        lambda paths: conditions.FilterStep("fixed in: " + ", ".join(paths), fixes.paths(paths)),
    ),
    **_bounds(
        "days_to_fix",
        "so many days from opening to the first fix",
        lambda bound, n: (
            f"fixed within {conditions.counted(n, 'day')}"
            if bound == AT_MOST
            else f"fixed after {conditions.counted(n, 'day')} or later"
        ),
        fixes.days,
    ),
    "words": Word(
        reading.search,
        'as in the search of issues: whole words, "a phrase", -without, label:bug created:>2024-05-31',
        conditions.words,
    ),
    "search": Word(
        reading.text, "title or body contains this text, in any case; code and addresses count", conditions.search
    ),
    "keywords": Word(
        reading.keywords,
        "whole words or phrases, * for any letters: a list (any of), or any, all, none with lists, and in (title, body,"
        " comments; the first two without it); code and addresses do not count",
    ),
}
"""In the order in which a paper tells their steps."""


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
        if len(fields) >= FIELDS_MAX:
            break
        if name not in WORDS:
            near = nearest(str(name)[:60].lower(), [*WORDS, *others])
            hint = f" Did you mean {near}?" if near else f" Known: {', '.join([*WORDS, *others])}."
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


def steps(given: Mapping[str, Any]) -> list[conditions.FilterStep]:
    """The steps of a filter that was read, keywords left out; deleted issues are left out unless presence asks."""
    asked = given if "presence" in given else {**given, "presence": None}
    return [each.step(asked[word]) for word, each in WORDS.items() if each.step is not None and word in asked]
