"""Checks of the rows of a study's file, column by column: a file brings nothing that no action here would write."""

import math
import re
from collections.abc import Callable, Mapping
from datetime import date
from functools import cache
from typing import Any

from django.contrib.postgres.fields import ArrayField
from django.db.models import (
    CharField,
    DateField,
    DateTimeField,
    FloatField,
    IntegerField,
    JSONField,
    Model,
    SlugField,
    TextField,
)
from django.utils.dateparse import parse_date, parse_datetime

from accounts.models import User
from accounts.naming import visible
from annotation.agreement import COEFFICIENTS
from annotation.exports.kinds import KINDS as FILES
from annotation.models import Export, Plan, Study
from annotation.package.whole import refused
from annotation.queries import whole
from annotation.reporting.shown.kinds import KINDS as ANALYSES
from ingest.identifiers import is_host, is_name, is_owner
from ingest.models import Activity, ClosingChange, Comment, Issue, Repository, Snapshot
from taxonomy.models import Taxonomy, TaxonomyVersion
from taxonomy.schema import is_key

FIRST_YEAR, LAST_YEAR = 1970, 2100
AROUND: Mapping[str, type[Model]] = {
    "study": Study,
    "people": User,
    "taxonomy": Taxonomy,
    "taxonomyversion": TaxonomyVersion,
    "repositories": Repository,
    "issues": Issue,
    "comments": Comment,
    "snapshots": Snapshot,
    "closingchanges": ClosingChange,
    "activities": Activity,
}
"""The tables of a file that are none of the study's own, and of what their rows are made."""

Check = Callable[[Any], bool]


def _is_anything(value: Any) -> bool:
    return True


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_whole(value: Any) -> bool:
    return type(value) is int


def _is_number(value: Any) -> bool:
    return type(value) in (int, float) and math.isfinite(value)


def _is_time(value: Any) -> bool:
    found = parse_datetime(value) if isinstance(value, str) else None
    return found is not None and FIRST_YEAR <= found.year <= LAST_YEAR


def _is_day(value: Any) -> bool:
    found: date | None = parse_date(value) if isinstance(value, str) else None
    return found is not None and FIRST_YEAR <= found.year <= LAST_YEAR


def _is_visible(value: Any) -> bool:
    """Whether nothing in a name is hidden or turns the text around, as in names that people type."""
    return isinstance(value, str) and visible(value) == value


def _matches(pattern: str) -> Check:
    expression = re.compile(pattern)
    return lambda value: isinstance(value, str) and expression.fullmatch(value) is not None


def _none_or(check: Check) -> Check:
    return lambda value: value is None or check(value)


def _one_of(words: Any) -> Check:
    known = frozenset(words)
    return lambda value: isinstance(value, str) and value in known


def _list_of(check: Check) -> Check:
    return lambda value: isinstance(value, list) and all(map(check, value))


def _pair_of(first: Check, second: Check) -> Check:
    return lambda value: isinstance(value, list) and len(value) == 2 and first(value[0]) and second(value[1])


def _mapping_of(check: Check) -> Check:
    return lambda value: isinstance(value, dict) and all(map(check, value.values()))


def _record(needed: Mapping[str, Check], more: Mapping[str, Check] | None = None) -> Check:
    """A mapping with the `needed` keys, and with those of `more` that it has in their form."""
    other = more or {}

    def check(value: Any) -> bool:
        return (
            isinstance(value, dict)
            and all(name in value and each(value[name]) for name, each in needed.items())
            and all(each(value[name]) for name, each in other.items() if name in value)
        )

    return check


_ANY_MAPPING = _mapping_of(_is_anything)
_WORDS = _none_or(_is_text)
_FIGURE = _none_or(_is_number)
_COUNTS = _list_of(_is_whole)
_PILOT = _record(
    {"dimension": _is_text, "title": _is_text, "coefficient": _one_of(COEFFICIENTS), "verdict": _is_text},
    {
        "value": _FIGURE,
        "ci_low": _FIGURE,
        "ci_high": _FIGURE,
        "threshold": _FIGURE,
        "ci_method": _WORDS,
        "undefined": _WORDS,
    },
)

SHAPES: Mapping[tuple[str, str], Check] = {
    ("study", "primary"): _mapping_of(_ANY_MAPPING),
    ("sample", "filter"): _ANY_MAPPING,
    ("sample", "counts"): _list_of(_is_anything),
    ("sample", "strata"): _list_of(_is_anything),
    ("item", "attributes"): _mapping_of(lambda value: isinstance(value, str | int | float | None)),
    ("round", "gate"): _record(
        {"round": _is_whole, "advice": _is_text, "dimensions": _list_of(_PILOT)}, {"reason": _WORDS}
    ),
    ("round", "gold_minimum"): _ANY_MAPPING,
    ("roundrater", "admission"): _record(
        {"how": _one_of(["reached", "let_in"]), "at": _is_time},
        {"round": _is_whole, "n_items": _is_whole, "n_right": _is_whole, "by": _is_text, "reason": _is_text},
    ),
    ("rounditem", "asked"): _list_of(_pair_of(_is_whole, _is_text)),
    ("rounditem", "known"): _ANY_MAPPING,
    ("draft", "body"): _ANY_MAPPING,
    ("plan", "recheck"): _list_of(_pair_of(_is_text, _is_text)),
    ("plan", "stand_ins"): _COUNTS,
    ("plan", "preview"): _ANY_MAPPING,
    ("plan", "cursor"): _mapping_of(_is_whole),
    ("analysis", "question"): _mapping_of(_list_of(_is_text)),
    ("export", "asked"): _ANY_MAPPING,
    ("export", "rounds"): _COUNTS,
    ("export", "left_out"): _COUNTS,
    ("export", "hidden"): lambda value: isinstance(value, list),
    ("auditevent", "detail"): _ANY_MAPPING,
    ("repositories", "github_labels"): _is_anything,
    ("activities", "told"): _is_anything,
}
"""The form of every column of JSON. What hangs on the taxonomy or on other rows is looked at when they are stored."""

NAMES = (
    ("people", "username"),
    ("people", "first_name"),
    ("people", "last_name"),
    ("people", "elsewhere"),
    ("membership", "name"),
    ("membership", "code"),
    ("taxonomy", "title"),
    ("round", "label"),
    ("analysis", "title"),
    ("item", "identifier"),
)
FORMATS = {form for each in FILES.values() for form in each.formats}

CHECKS: Mapping[tuple[str, str], tuple[Check, str]] = {
    **dict.fromkeys(NAMES, (_is_visible, "characters that can't be seen or turn the text around")),
    ("taxonomy", "slug"): (is_key, "what can't be a slug"),
    ("repositories", "host"): (is_host, "what can't be a host"),
    ("repositories", "owner"): (is_owner, "what can't be an owner of repositories"),
    ("repositories", "name"): (is_name, "what can't be the name of a repository"),
    ("export", "state"): (_one_of(set(Export.State.values) - set(Export.AT_WORK)), "a job at work, which is no file"),
    ("export", "what"): (_one_of(FILES), "an unknown kind of file"),
    ("export", "format"): (_one_of(FORMATS), "an unknown format"),
    ("plan", "state"): (_one_of(set(Plan.State.values) - set(Plan.AT_WORK)), "a job at work"),
    ("analysis", "kind"): (_one_of(ANALYSES), "an unknown kind of analysis"),
}
"""Checks of single columns beyond those that follow from their type, and what is there that should not be."""


def check_row(table: str, number: int, row: Mapping[str, Any]) -> None:
    """Raises Invalid where a column of a row holds what can't be there; `number` counts the rows from 1."""
    for column, check, what in _checks(table):
        if (value := row.get(column)) is not None and not check(value):
            raise refused(f"The table {table} holds, in row {number}, column {column}, {what}.")


@cache
def _checks(table: str) -> tuple[tuple[str, Check, str], ...]:
    """The checks of a table: column, check and what it finds."""
    model = AROUND.get(table) or (whole.tables()[table].model if table in whole.tables() else None)
    found: list[tuple[str, Check, str]] = []
    columns: Any = model._meta.concrete_fields if model else ()
    for column in columns:
        if each := of_column(table, column):
            found.append((column.column, *each))
        if (table, column.column) in CHECKS:
            found.append((column.column, *CHECKS[table, column.column]))
    return tuple(found)


def of_column(table: str, column: Any) -> tuple[Check, str] | None:
    """The check that follows from a column's type; a column of JSON needs a form in SHAPES."""
    if isinstance(column, ArrayField):
        base = of_column(table, column.base_field)
        return _list_of(base[0] if base else _is_text), base[1] if base else "what is no list of texts"
    if column.choices:
        return _one_of(str(word) for word, _ in column.choices), "an unknown value"
    if isinstance(column, DateTimeField):
        return _is_time, f"what is no time of the years {FIRST_YEAR} to {LAST_YEAR}"
    if isinstance(column, DateField):
        return _is_day, f"what is no day of the years {FIRST_YEAR} to {LAST_YEAR}"
    if isinstance(column, JSONField) and table in AROUND and (table, column.column) not in SHAPES:
        return None  # it stays
    if isinstance(column, JSONField):
        return SHAPES[table, str(column.column)], "what has another form than Concord gives it"
    if isinstance(column, SlugField):
        return None  # a study gets the slug that is asked for, a taxonomy's is in CHECKS
    if isinstance(column, FloatField):
        return _is_number, "what is no number"
    if isinstance(column, IntegerField):
        return _is_whole, "what is no whole number"
    if isinstance(column, CharField | TextField):
        return _is_text, "what is no text"
    return None
