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
from agreement import COEFFICIENTS
from annotation.agreement_report.queries.headline import FIXED
from annotation.analysis.queries.results.kinds import KINDS as ANALYSES
from annotation.assignments.queries import READ
from annotation.exports.queries.kinds import KINDS as FILES
from annotation.exports.queries.options import SHAPES as EXPORT_SHAPES
from annotation.imports.queries.ratings import IMPORTED
from annotation.labels.queries.results import REVISIONS
from annotation.models import AuditEvent, Export, Plan, Study
from annotation.package.papers import LICENCES, TEXTS
from annotation.studies.queries.studies import STUDY_IMPORTED
from annotation.transfer.archive_of_study import refused
from annotation.transfer.queries import rows as whole
from ingest.identifiers import is_host, is_name, is_owner
from ingest.models import Activity, ClosingChange, Comment, Issue, Repository, Snapshot
from shared.names import visible
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


def _is_yes_or_no(value: Any) -> bool:
    return isinstance(value, bool)


def _is_empty_mapping(value: Any) -> bool:
    return value == {}


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


def _record(needed: Mapping[str, Check], more: Mapping[str, Check] | None = None, *, is_closed: bool = False) -> Check:
    """A mapping with the `needed` keys, those of `more` that it has in their form, and no other one if `is_closed`."""
    other = more or {}

    def check(value: Any) -> bool:
        return (
            isinstance(value, dict)
            and all(name in value and each(value[name]) for name, each in needed.items())
            and all(each(value[name]) for name, each in other.items() if name in value)
            and not (is_closed and value.keys() - needed.keys() - other.keys())
        )

    return check


def _both(first: Check, second: Check) -> Check:
    return lambda value: first(value) and second(value)


def _either(*checks: Check) -> Check:
    return lambda value: any(check(value) for check in checks)


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

_DRAFT_PART = {
    "labels": _ANY_MAPPING,
    "proposals": _mapping_of(_none_or(_record({}, {"name": _WORDS, "memo": _WORDS}))),
    "memo": _is_text,
    "evidence": _list_of(_ANY_MAPPING),
}
DRAFT = _record(
    {},
    {
        **_DRAFT_PART,
        "parts": _list_of(_record({}, _DRAFT_PART)),
        "confidence": _none_or(_is_whole),
        "flag": _is_yes_or_no,
        "base": _none_or(_is_whole),
        "at": _FIGURE,
        "seen": _FIGURE,
        "by": _WORDS,
        "seconds": _FIGURE,
    },
)
"""What the labeling page keeps of an answer that is being typed (`readState` and `Drafts.draft` of its script)."""
_FATE = {
    **dict.fromkeys(("dimension", "old", "old_name", "kind"), _is_text),
    **dict.fromkeys(("version", "labels", "items"), _is_whole),
    **dict.fromkeys(("also", "into"), _list_of(_is_text)),
    **dict.fromkeys(("new", "new_name"), _WORDS),
}
_COUNTED = _mapping_of(_is_whole)
_PREVIEW = _record(
    {
        "from": _is_whole,
        "to": _is_whole,
        "rounds": _COUNTS,
        "labels": _both(_record({"total": _is_whole, "following": _is_whole}), _COUNTED),
        "changes": _list_of(_record(_FATE, {"reason": _WORDS})),
        "dimensions": _list_of(_record({"dimension": _is_text, "title": _is_text, "items": _is_whole})),
        "pending": _COUNTED,
        "recheck": _list_of(_record({"dimension": _is_text, "category": _is_text, "items": _is_whole})),
        "worklist": _record(
            {
                "items": _is_whole,
                "raters": _list_of(_record({"rater": _WORDS, "items": _is_whole, "absent": _is_yes_or_no})),
            }
        ),
        "warnings": _list_of(_is_text),
    },
    {"agreed": _record({"labels": _is_whole, "unmapped": _is_whole})},
)
"""What a preview of a migration says (`Preview.as_document`)."""
_ASKED = _record(
    {},
    {
        "round": _is_whole,
        "version": _is_whole,
        "dimension": _is_text,
        "raters": _list_of(_is_text),
        "revision": _one_of(REVISIONS),
        "shape": _one_of(EXPORT_SHAPES),
        "texts": _one_of(TEXTS),
        "licence": _one_of(LICENCES),
        "pseudonymise": _is_yes_or_no,
        "authors": _list_of(_is_text),
    },
    is_closed=True,
)
"""The options of exports and packages."""
_PLACE = {"round": _is_whole, "rater": _WORDS}
_DETAIL = _record(
    {},
    {
        **dict.fromkeys(("part", "export", "plan", "pilot", "number", "n", "withdrawn", "waiting"), _is_whole),
        **dict.fromkeys(("item", "dimension", "what", "door", "sha256", "answers_hash", "reason", "member"), _WORDS),
        **_PLACE,
        "rounds": _either(_COUNTS, _COUNTED),
        "items": _either(_is_whole, _list_of(_is_text)),
        "given": _either(_is_whole, _COUNTED),
        "fetches": _COUNTS,
        "screening": _either(_is_text, _list_of(_is_text)),
    },
)
"""What lines of the audit log have in common. By `round` Concord knows which lines somebody may not see."""
_DETAILS: Mapping[str, Check] = {
    "rater withdrawn": _record(_PLACE, {"given": _COUNTED}),
    "rater added": _record(_PLACE),
    "third rater asked": _record({"round": _is_whole, "item": _is_text}),
    READ: _record({"round": _is_whole, "door": _is_text, "answers_hash": _is_text}),
    IMPORTED: _record({}, {"rounds": _COUNTED}),
    FIXED: _record({"rounds": _COUNTS}),
    STUDY_IMPORTED: _record({}, {"rounds": _COUNTS}),
}
"""Of each verb whose lines Concord reads again: the keys that it needs."""
_FILTERS = _mapping_of(_either(_is_text, _is_whole, _is_yes_or_no, _list_of(_is_text)))

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
    ("draft", "body"): DRAFT,
    ("plan", "recheck"): _list_of(_pair_of(_is_text, _is_text)),
    ("plan", "stand_ins"): _COUNTS,
    ("plan", "preview"): _either(_PREVIEW, _is_empty_mapping),
    ("plan", "cursor"): _mapping_of(_is_whole),
    ("analysis", "question"): _mapping_of(_list_of(_is_text)),
    ("export", "asked"): _ASKED,
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
    **dict.fromkeys(NAMES, (_is_visible, "contains characters that are invisible or change the direction of the text")),
    ("taxonomy", "slug"): (is_key, "not a slug"),
    ("repositories", "host"): (is_host, "not a host"),
    ("repositories", "owner"): (is_owner, "not an owner of repositories"),
    ("repositories", "name"): (is_name, "not a name of a repository"),
    ("export", "state"): (
        _one_of(set(Export.State.values) - set(Export.AT_WORK)),
        "a job that is still running, which has no file",
    ),
    ("export", "what"): (_one_of(FILES), "an unknown kind of file"),
    ("export", "format"): (_one_of(FORMATS), "an unknown format"),
    ("plan", "state"): (_one_of(set(Plan.State.values) - set(Plan.AT_WORK)), "a job that is still running"),
    ("analysis", "kind"): (_one_of(ANALYSES), "an unknown kind of analysis"),
}
"""Checks of single columns beyond those that follow from their type, and what is there that should not be."""


def _is_detail(row: Mapping[str, Any]) -> bool:
    """Whether the details of a line of the audit log are those of its verb."""
    verb, detail = row.get("verb"), row.get("detail")
    if verb == AuditEvent.DOWNLOADED:  # its filters are what was asked for
        return _FILTERS(detail)
    return _DETAIL(detail) and _DETAILS.get(str(verb), _is_anything)(detail)


def _has_preview(row: Mapping[str, Any]) -> bool:
    """Whether a migration that was run has the counts with which it was."""
    return row.get("state") not in (Plan.State.DONE, Plan.State.UNDONE) or row.get("preview") != {}


ROW_CHECKS: Mapping[str, tuple[str, Callable[[Mapping[str, Any]], bool], str]] = {
    "auditevent": ("detail", _is_detail, "other keys or values than its verb has"),
    "plan": ("preview", _has_preview, "no counts, though the migration was run"),
}
"""By table, what hangs on two columns of a row: the column that is named, the check, and what is there."""


def check_row(table: str, number: int, row: Mapping[str, Any]) -> None:
    """Raises Invalid where a column of a row holds what can't be there; `number` counts the rows from 1."""
    for column, check, what in _checks(table):
        if (value := row.get(column)) is not None and not check(value):
            raise refused(f"Table {table}, row {number}, column {column}: {what}.")
    if table in ROW_CHECKS:
        column, holds, what = ROW_CHECKS[table]
        if column in row and not holds(row):
            raise refused(f"Table {table}, row {number}, column {column}: {what}.")


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
        return _list_of(base[0] if base else _is_text), base[1] if base else "not a list of texts"
    if column.choices:
        return _one_of(str(word) for word, _ in column.choices), "an unknown value"
    if isinstance(column, DateTimeField):
        return _is_time, f"not a time from the years {FIRST_YEAR} to {LAST_YEAR}"
    if isinstance(column, DateField):
        return _is_day, f"not a day from the years {FIRST_YEAR} to {LAST_YEAR}"
    if isinstance(column, JSONField) and table in AROUND and (table, column.column) not in SHAPES:
        return None  # it stays
    if isinstance(column, JSONField):
        return SHAPES[table, str(column.column)], "not in the form that Concord writes"
    if isinstance(column, SlugField):
        return None  # a study gets the slug that is asked for, a taxonomy's is in CHECKS
    if isinstance(column, FloatField):
        return _is_number, "not a number"
    if isinstance(column, IntegerField):
        return _is_whole, "not a whole number"
    if isinstance(column, CharField | TextField):
        return _is_text, "not a text"
    return None
