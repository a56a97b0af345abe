"""Row checks of a study file: nothing is imported that no action here would write."""

import re
from collections.abc import Callable, Mapping
from datetime import timedelta
from functools import cache, partial
from typing import Any

from django.contrib.postgres.fields import ArrayField
from django.db import connection
from django.db.models import (
    BooleanField,
    CharField,
    DateField,
    DateTimeField,
    FloatField,
    ForeignKey,
    IntegerField,
    JSONField,
    Model,
    SlugField,
    TextField,
)

from accounts.models import User
from agreement import COEFFICIENTS
from annotation.agreement_report.queries.headline import FIXED
from annotation.analysis.queries.presentation.kinds import KINDS as ANALYSES
from annotation.assignments.queries import READ
from annotation.core.imported import IMPORTED, STUDY_IMPORTED
from annotation.core.row_checks import (
    ANY_MAPPING,
    DRAFT,
    FIGURE,
    FIRST_YEAR,
    LAST_YEAR,
    SHORT_TEXT,
    Check,
    both_of,
    either_of,
    is_anything,
    is_at_most_ahead,
    is_day,
    is_empty_mapping,
    is_from_to,
    is_number,
    is_text,
    is_time,
    is_visible,
    is_whole,
    is_yes_or_no,
    list_of,
    mapping_of,
    one_of,
    pair_of,
    record_of,
)
from annotation.exports.package_options import LICENCES, TEXTS
from annotation.exports.queries.kinds import KINDS as FILES
from annotation.exports.queries.options import SHAPES as EXPORT_SHAPES
from annotation.labels.answers import MOST_PARTS
from annotation.labels.queries.rows import REVISIONS
from annotation.models import AuditEvent, Export, Plan, Study
from annotation.resolving.actions.part_matches import MOST_PARTS as MOST_AGREED_PARTS
from annotation.transfer.queries import rows as study_rows
from annotation.transfer.study_file import rejection
from ingest.github.rest_objects import LABEL_CHARACTERS, LABELS_MAX
from ingest.identifiers import is_host, is_name, is_owner
from ingest.models import Activity, ClosingChange, Comment, Issue, Repository, Snapshot
from taxonomy.kinds import LONGEST_TEXT
from taxonomy.kinds.number import LARGEST
from taxonomy.models import Category, Dimension, Taxonomy, TaxonomyVersion
from taxonomy.schema import is_key

AROUND: Mapping[str, type[Model]] = {
    "study": Study,
    "people": User,
    "taxonomy": Taxonomy,
    "taxonomyversion": TaxonomyVersion,
    "dimension": Dimension,
    "category": Category,
    "repositories": Repository,
    "issues": Issue,
    "comments": Comment,
    "snapshots": Snapshot,
    "closingchanges": ClosingChange,
    "activities": Activity,
}
"""The tables of a file that are none of the study's own, and of what their rows are made."""
MOST_SIGNS, MOST_SIGNS_AROUND = 100_000, 5_000_000
"""Of a text in a study's own tables, where no action stores as many, and of one in those around it: of an issue."""


MORE: Mapping[str, frozenset[str]] = {
    "taxonomyversion": frozenset({"document"}),
    "snapshots": frozenset({"thread"}),
}
"""What rows of a file have beyond the columns of their table."""

_COUNTS = list_of(is_whole)
_PILOT = record_of(
    {
        "dimension": is_text,
        "title": is_text,
        "coefficient": one_of(COEFFICIENTS),
        "verdict": is_text,
        **dict.fromkeys(("value", "ci_low", "ci_high", "threshold"), FIGURE),
    },
    {
        "ci_method": SHORT_TEXT,
        "undefined": SHORT_TEXT,
    },
)

_FATE = {
    **dict.fromkeys(("dimension", "old", "old_name", "kind"), is_text),
    **dict.fromkeys(("version", "labels", "items"), is_whole),
    **dict.fromkeys(("also", "into"), list_of(is_text)),
    **dict.fromkeys(("new", "new_name"), SHORT_TEXT),
}
_COUNTED = mapping_of(is_whole)
_PREVIEW = record_of(
    {
        "from": is_whole,
        "to": is_whole,
        "rounds": _COUNTS,
        "labels": both_of(record_of({"total": is_whole, "following": is_whole}), _COUNTED),
        "changes": list_of(record_of(_FATE, {"reason": SHORT_TEXT})),
        "dimensions": list_of(record_of({"dimension": is_text, "title": is_text, "items": is_whole})),
        "pending": _COUNTED,
        "recheck": list_of(record_of({"dimension": is_text, "category": is_text, "items": is_whole})),
        "worklist": record_of(
            {
                "items": is_whole,
                "raters": list_of(record_of({"rater": SHORT_TEXT, "items": is_whole, "absent": is_yes_or_no})),
            }
        ),
        "warnings": list_of(is_text),
    },
    {"agreed": record_of({"labels": is_whole, "unmapped": is_whole})},
)
"""What a preview of a migration says (`Preview.as_document`)."""
_ASKED = record_of(
    {},
    {
        "round": is_whole,
        "version": is_whole,
        "dimension": is_text,
        "raters": list_of(is_text),
        "revision": one_of(REVISIONS),
        "shape": one_of(EXPORT_SHAPES),
        "texts": one_of(TEXTS),
        "licence": one_of(LICENCES),
        "pseudonymise": is_yes_or_no,
        "authors": list_of(is_text),
    },
    is_closed=True,
)
"""The options of exports and packages."""
_PLACE = {"round": is_whole, "rater": SHORT_TEXT}
_DETAIL = record_of(
    {},
    {
        **dict.fromkeys(("part", "export", "plan", "pilot", "number", "n", "withdrawn", "waiting"), is_whole),
        **dict.fromkeys(("item", "dimension", "what", "door"), SHORT_TEXT),
        **dict.fromkeys(("sha256", "answers_hash", "reason", "member", "was", "of", "places"), SHORT_TEXT),
        **_PLACE,
        "roles": list_of(is_text),
        "unblinded": either_of(is_yes_or_no, is_whole, _COUNTS),
        "rounds": either_of(_COUNTS, _COUNTED),
        "items": either_of(is_whole, list_of(is_text)),
        "given": either_of(is_whole, _COUNTED),
        "fetches": _COUNTS,
        "screening": either_of(is_text, list_of(is_text)),
    },
)
"""What lines of the audit log have in common. By `round` Concord knows which lines someone may not see."""
_DETAILS: Mapping[str, Check] = {
    "rater withdrawn": record_of(_PLACE, {"given": _COUNTED}),
    "rater added": record_of(_PLACE),
    "round moved to resolving": record_of({"round": is_whole}),
    **dict.fromkeys(("items screened: in", "items screened: out"), record_of({}, {"items": list_of(is_text)})),
    "third rater asked": record_of({"round": is_whole, "item": is_text}),
    READ: record_of({"round": is_whole, "door": is_text, "answers_hash": is_text}),
    IMPORTED: record_of({}, {"rounds": _COUNTED}),
    FIXED: record_of({"rounds": _COUNTS}),
    STUDY_IMPORTED: record_of({}, {"rounds": _COUNTS}),
}
"""Of each verb whose lines Concord reads again: the keys that it needs."""
_FILTERS = mapping_of(either_of(is_text, is_whole, is_yes_or_no, list_of(is_text)))

SHAPES: Mapping[tuple[str, str], Check] = {
    ("study", "primary"): mapping_of(ANY_MAPPING),
    ("sample", "filter"): ANY_MAPPING,
    ("sample", "counts"): list_of(is_anything),
    ("sample", "strata"): list_of(is_anything),
    ("item", "attributes"): mapping_of(lambda value: isinstance(value, str | int | float | None)),
    ("round", "gate"): record_of(
        {"round": is_whole, "advice": is_text, "dimensions": list_of(_PILOT)}, {"reason": SHORT_TEXT}
    ),
    ("round", "gold_minimum"): ANY_MAPPING,
    ("roundrater", "admission"): record_of(
        {"how": one_of(["reached", "let_in"]), "at": is_time},
        {"round": is_whole, "n_items": is_whole, "n_right": is_whole, "by": is_text, "reason": is_text},
    ),
    ("rounditem", "asked"): list_of(pair_of(is_whole, is_text)),
    ("rounditem", "known"): ANY_MAPPING,
    ("draft", "body"): DRAFT,
    ("plan", "recheck"): list_of(pair_of(is_text, is_text)),
    ("plan", "stand_ins"): _COUNTS,
    ("plan", "preview"): either_of(_PREVIEW, is_empty_mapping),
    ("plan", "cursor"): mapping_of(is_whole),
    ("analysis", "question"): mapping_of(list_of(is_text)),
    ("export", "asked"): _ASKED,
    ("export", "rounds"): _COUNTS,
    ("export", "left_out"): _COUNTS,
    ("export", "hidden"): lambda value: isinstance(value, list),
    ("auditevent", "detail"): ANY_MAPPING,
    ("repositories", "github_labels"): is_anything,
    ("activities", "told"): is_anything,
}
"""The form of every column of JSON. What hangs on the taxonomy or on other rows is looked at when they are stored."""


def _is_text_of(most: int, value: Any) -> bool:
    return isinstance(value, str) and len(value) <= most


def _are_few_labels(value: Any) -> bool:
    return len(value) <= LABELS_MAX


def _is_code(value: Any) -> bool:
    return isinstance(value, str) and re.fullmatch(r"R[1-9]\d{0,9}", value) is not None


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

ENDS = frozenset({"ends_at", "expires_at", "lease_until", "away_until"})
"""Columns of times until which something holds. All others are over: one in the future would stay the newest for years,
so that nothing that GitHub says were newer, and no export newer than the study.
"""
OF_SOURCES = ("issues", "comments", "snapshots", "closingchanges")
"""Tables of what GitHub or an upload told, whose times an upload may have a day ahead."""
CHECKS: Mapping[tuple[str, str], tuple[Check, str]] = {
    **dict.fromkeys(NAMES, (is_visible, "contains characters that are invisible or change the direction of the text")),
    **dict.fromkeys(
        [("remark", "text"), ("annotation", "memo"), ("proposal", "memo"), ("rating", "text")],
        (partial(_is_text_of, LONGEST_TEXT), f"a text of more than {LONGEST_TEXT:,} characters"),
    ),
    ("membership", "roles"): (bool, "no role"),
    ("membership", "code"): (_is_code, "not a code of a rater (R and a number)"),
    ("taxonomy", "slug"): (is_key, "not a slug"),
    ("repositories", "host"): (is_host, "not a host"),
    ("repositories", "owner"): (is_owner, "not an owner of repositories"),
    ("repositories", "name"): (is_name, "not a name of a repository"),
    ("snapshots", "github_labels"): (
        both_of(list_of(partial(_is_text_of, LABEL_CHARACTERS)), _are_few_labels),
        f"more than {LABELS_MAX:,} GitHub labels, or one of more than {LABEL_CHARACTERS} characters",
    ),
    ("export", "state"): (
        one_of(set(Export.State.values) - set(Export.AT_WORK)),
        "a job that is still running, which has no file",
    ),
    ("export", "what"): (one_of(FILES), "an unknown kind of file"),
    ("export", "format"): (one_of(FORMATS), "an unknown format"),
    ("plan", "state"): (one_of(set(Plan.State.values) - set(Plan.AT_WORK)), "a job that is still running"),
    ("analysis", "kind"): (one_of(ANALYSES), "an unknown kind of analysis"),
    **dict.fromkeys(
        [("annotation", "n_parts"), ("proposal", "part"), ("rating", "part"), ("partmatch", "part")],
        (is_from_to(1, MOST_PARTS), f"not a number of parts from 1 to {MOST_PARTS}"),
    ),
    **dict.fromkeys(
        [("partmatch", "agreed_part"), ("resolution", "part"), ("remark", "part")],
        (is_from_to(1, MOST_AGREED_PARTS), f"not the number of a part from 1 to {MOST_AGREED_PARTS}"),
    ),
    **dict.fromkeys(
        [("rating", "number"), ("resolutionvalue", "number")], (is_from_to(-LARGEST, LARGEST), "too large a number")
    ),
    ("annotation", "confidence"): (is_from_to(1, 3), "not a confidence from 1 to 3"),
    **dict.fromkeys([("sample", "confidence"), ("sample", "margin")], (is_from_to(0, 1), "not a number from 0 to 1")),
}
"""Checks of single columns beyond those that follow from their type, and what is there that should not be."""


def _is_detail(row: Mapping[str, Any]) -> bool:
    """Whether the details of a line of the audit log are those of its verb."""
    verb, detail = row.get("verb"), row.get("detail")
    if verb == AuditEvent.DOWNLOADED:  # its filters are what was asked for
        return _FILTERS(detail)
    return _DETAIL(detail) and _DETAILS.get(str(verb), is_anything)(detail)


def _has_preview(row: Mapping[str, Any]) -> bool:
    """Whether a migration that was run has the counts with which it was."""
    return row.get("state") not in (Plan.State.DONE, Plan.State.UNDONE) or row.get("preview") != {}


def _has_name(row: Mapping[str, Any]) -> bool:
    """Whether a person has a user name, or one of another server: by it pages tell that a study file names them."""
    return bool(str(row.get("elsewhere") or row.get("username") or "").strip())


def _is_there_or_left(row: Mapping[str, Any]) -> bool:
    return row.get("user_id") is None or row["former_user_id"] is None


ROW_CHECKS: Mapping[str, tuple[str, Callable[[Mapping[str, Any]], bool], str]] = {
    "auditevent": ("detail", _is_detail, "other keys or values than its verb has"),
    "membership": ("former_user_id", _is_there_or_left, "someone who left in the place of someone who is there"),
    "people": ("username", _has_name, "no name"),
    "plan": ("preview", _has_preview, "no counts, though the migration was run"),
}
"""By table, what hangs on two columns of a row: the column that is named, the check, and what is there."""


def check_row(table: str, number: int, row: Mapping[str, Any]) -> None:
    """Raises Invalid where a column of a row holds what can't be there, or is unknown; `number` counts rows from 1."""
    if unknown := row.keys() - _names(table):
        raise rejection(
            f"Table {table}, row {number}: unknown column “{min(unknown)[:40]}”. If a newer Concord created the file, "
            "upgrade this server first. Otherwise export the study again."
        )
    for column, check, what in _checks(table):
        if (value := row.get(column)) is not None and not check(value):
            raise rejection(f"Table {table}, row {number}, column {column}: {what}.")
    if table in ROW_CHECKS:
        column, holds, what = ROW_CHECKS[table]
        if column in row and not holds(row):
            raise rejection(f"Table {table}, row {number}, column {column}: {what}.")


@cache
def _names(table: str) -> frozenset[str]:
    """The columns that a row of this table can have, in files of earlier versions too: none was ever dropped."""
    model = AROUND.get(table) or study_rows.tables()[table].model
    return MORE.get(table, frozenset()) | {str(column.column) for column in model._meta.concrete_fields}


@cache
def _checks(table: str) -> tuple[tuple[str, Check, str], ...]:
    """The checks of a table: column, check and what it finds."""
    model = AROUND.get(table) or (study_rows.tables()[table].model if table in study_rows.tables() else None)
    found: list[tuple[str, Check, str]] = []
    columns: Any = model._meta.concrete_fields if model else ()
    for column in columns:
        if each := of_column(table, column):
            found.append((column.column, *each))
        if isinstance(column, DateTimeField) and column.column not in ENDS:
            ahead = timedelta(days=1) if table in OF_SOURCES else timedelta(minutes=10)
            found.append((str(column.column), is_at_most_ahead(ahead), "a time in the future"))
        if (table, column.column) in CHECKS:
            found.append((column.column, *CHECKS[table, column.column]))
    return tuple(found)


def _largest(table: str, column: Any) -> int:
    """What a number may be: of a study or taxonomy half of what the column holds, for many are counted up from."""
    most: int = connection.ops.integer_field_range(column.get_internal_type())[1]
    is_counted_up = (table not in AROUND or table.startswith("taxonomy")) and column.name != "seed"
    return most // 2 if is_counted_up else most


def _is_whole_to(most: int, value: Any) -> bool:
    return is_whole(value) and -most - 1 <= value <= most


def of_column(table: str, column: Any) -> tuple[Check, str] | None:
    """The check that follows from a column's type; a column of JSON needs a form in SHAPES."""
    if isinstance(column, ArrayField):
        base = of_column(table, column.base_field)
        return list_of(base[0] if base else is_text), base[1] if base else "not a list of texts"
    if column.choices:
        return one_of(str(word) for word, _ in column.choices), "an unknown value"
    if isinstance(column, DateTimeField):
        return is_time, f"not a time from the years {FIRST_YEAR} to {LAST_YEAR}"
    if isinstance(column, DateField):
        return is_day, f"not a day from the years {FIRST_YEAR} to {LAST_YEAR}"
    if isinstance(column, JSONField) and table in AROUND and (table, column.column) not in SHAPES:
        return None  # it stays
    if isinstance(column, JSONField):
        return SHAPES[table, str(column.column)], "not in the form that Concord writes"
    if isinstance(column, SlugField):
        return None  # a study gets the slug that is asked for, a taxonomy's is in CHECKS
    if isinstance(column, BooleanField):
        return is_yes_or_no, "neither true nor false"
    if isinstance(column, FloatField):
        return is_number, "not a number"
    if isinstance(column, IntegerField):
        most = _largest(table, column)
        return partial(_is_whole_to, most), f"not a whole number up to {most:,}"
    if isinstance(column, ForeignKey):
        return partial(_is_whole_to, _largest(table, column.target_field)), "not the ID of a row"
    if isinstance(column, CharField | TextField):
        most = MOST_SIGNS_AROUND if table in AROUND else MOST_SIGNS
        return partial(_is_text_of, most), f"not a text of at most {most:,} characters"
    return None
