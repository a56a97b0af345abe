"""Columns of exported row files. Pure."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import pyarrow as pa

from annotation.labels.resolution_notes import NOTES
from ingest.files.export_columns import CHANGE
from shared.row_files import (
    CHUNK,
    CONTENT_TYPES,
    FORMATS,
    OF_PEOPLE,
    REPEATED,
    VALUES,
    Drain,
    cell,
    join_values,
    word,
    write_rows,
)

__all__ = [
    "AROUND", "CHUNK", "COLUMNS", "CONTENT_TYPES", "FORMATS", "OF_A_SAMPLE", "OF_EVIDENCE", "OF_PEOPLE", "REPEATED",
    "VALUES", "Drain", "cell", "join_values", "word", "write",
]  # fmt: skip

COMMENT = pa.struct([("author", pa.string()), ("created_at", pa.timestamp("us", tz="UTC")), ("body", pa.string())])
COLUMNS: Mapping[str, Mapping[str, pa.DataType]] = {
    "labels": {
        "item": pa.string(),
        "repository": REPEATED,
        "number": pa.int64(),
        "part": pa.int32(),
        "round": pa.int32(),
        "round_label": REPEATED,
        "round_kind": REPEATED,
        "dimension": REPEATED,
        "values": pa.list_(pa.string()),
        "method": REPEATED,
        "taxonomy_version": pa.int32(),
        "resolved_at": pa.timestamp("us", tz="UTC"),
        "raters": pa.list_(pa.string()),
        "original_values": pa.list_(pa.string()),
        "original_version": pa.int32(),
        "unmapped": REPEATED,
        "screened_out": pa.bool_(),
    },
    "ratings": {
        "item": pa.string(),
        "part": pa.int32(),
        "round": pa.int32(),
        "round_label": REPEATED,
        "round_kind": REPEATED,
        "rater": REPEATED,
        "role": REPEATED,
        "dimension": REPEATED,
        "values": pa.list_(pa.string()),
        "memo": pa.string(),
        "seconds": pa.int32(),
        "training": pa.bool_(),
        "revision": REPEATED,
        "taxonomy_version": pa.int32(),
        "original_values": pa.list_(pa.string()),
        "original_version": pa.int32(),
        "unmapped": REPEATED,
        "screened_out": pa.bool_(),
    },
    "resolutions": {
        "item": pa.string(),
        "part": pa.int32(),
        "round": pa.int32(),
        "round_label": REPEATED,
        "dimension": REPEATED,
        "revision": pa.int32(),
        "values": pa.list_(pa.string()),
        "method": REPEATED,
        "reported_as": REPEATED,
        "meeting_held_on": REPEATED,
        "meeting_participants": pa.list_(pa.string()),
        **dict.fromkeys(NOTES, pa.string()),
        "decider": REPEATED,
        "decided_by": REPEATED,
        "decided_at": pa.timestamp("us", tz="UTC"),
        "no_part": pa.bool_(),
    },
    "issues": {
        "item": pa.string(),
        "repository": REPEATED,
        "number": pa.int64(),
        "title": pa.string(),
        "body": pa.string(),
        "state": REPEATED,
        "state_reason": REPEATED,
        "github_labels": pa.list_(pa.string()),
        "author": pa.string(),
        "created_at": pa.timestamp("us", tz="UTC"),
        "closed_at": pa.timestamp("us", tz="UTC"),
        "n_comments": pa.int32(),
        "comments": pa.list_(COMMENT),
        "closed_by": pa.list_(pa.string()),
        "merged_at": pa.timestamp("us", tz="UTC"),
        "additions": pa.int64(),
        "deletions": pa.int64(),
        "files": pa.int64(),
        "presence": REPEATED,
        "screening": REPEATED,
        "screening_reason": REPEATED,
        "snapshot": pa.string(),
        "n_answers_on_other_states": pa.int32(),
    },
    "changes": {"item": pa.string(), **CHANGE},
}
AROUND: Mapping[str, Mapping[str, pa.DataType]] = {
    "items": {
        "item": pa.string(),
        "repository": REPEATED,
        "number": pa.int64(),
        "screening": REPEATED,
        "screening_reason": REPEATED,
        "sample": pa.int64(),
        "stratum": REPEATED,
        "drawn": pa.int64(),
        "samples": pa.list_(pa.int64()),
        "rounds": pa.list_(pa.int32()),
        "state": REPEATED,
        "state_reason": REPEATED,
        "github_labels": pa.list_(pa.string()),
        "created_at": pa.timestamp("us", tz="UTC"),
        "closed_at": pa.timestamp("us", tz="UTC"),
        "n_comments": pa.int32(),
        "merged_at": pa.timestamp("us", tz="UTC"),
        "additions": pa.int64(),
        "deletions": pa.int64(),
        "files": pa.int64(),
        "presence": REPEATED,
        "snapshot": pa.string(),
        "attributes": pa.string(),
    },
    "taxonomies": {
        "taxonomy": REPEATED,
        "version": pa.int32(),
        "title": pa.string(),
        "state": REPEATED,
        "note": pa.string(),
        "parent": pa.int32(),
        "published_at": pa.timestamp("us", tz="UTC"),
        "document": pa.string(),
    },
    "agreement": {
        "dimension": REPEATED,
        "round": pa.int32(),
        "headline": pa.bool_(),
        "when": REPEATED,
        "coefficient": REPEATED,
        "value": pa.float64(),
        "se": pa.float64(),
        "ci_low": pa.float64(),
        "ci_high": pa.float64(),
        "ci_method": REPEATED,
        "ci_undefined": REPEATED,
        "undefined": REPEATED,
        "metric": REPEATED,
        "units": pa.int64(),
        "raters": pa.int32(),
        "ratings": pa.int64(),
        "left_out": pa.int64(),
        "categories": pa.int32(),
    },
}
OF_EVIDENCE: Mapping[str, Mapping[str, pa.DataType]] = {
    "evidence": {
        "item": pa.string(),
        "part": pa.int32(),
        "round": pa.int32(),
        "rater": REPEATED,
        "dimension": REPEATED,
        "category": REPEATED,
        "where": REPEATED,
        "comment": pa.int32(),
        "start": pa.int32(),
        "end": pa.int32(),
        "quote": pa.string(),
        "snapshot": pa.string(),
        "revision": REPEATED,
    },
}
OF_A_SAMPLE: Mapping[str, Mapping[str, pa.DataType]] = {
    "frame": {
        "item": pa.string(),
        "repository": REPEATED,
        "number": pa.int64(),
        "stratum": pa.string(),
        "drawn": pa.int64(),
        "snapshot": pa.string(),
        "created_at": pa.timestamp("us", tz="UTC"),
        "state": REPEATED,
    },
}


TEXTS_AT_ONCE = 20
"""So many rows with the texts of issues are held at once."""


def write(what: str, format: str, rows: Iterable[Mapping[str, Any]]) -> Iterator[bytes]:
    """The bytes of a file in chunks. `what` names the columns; raises KeyError for an unknown `what` or format."""
    columns = {**COLUMNS, **AROUND, **OF_EVIDENCE, **OF_A_SAMPLE}[what]
    return write_rows(columns, format, rows, **({"chunk": TEXTS_AT_ONCE} if what == "issues" else {}))
