"""Export columns of issues, comments, and changes. Pure."""

from collections.abc import Mapping

import pyarrow as pa

from shared.row_files import REPEATED

TIME = pa.timestamp("us", tz="UTC")
PATH = pa.struct([("path", pa.string()), ("additions", pa.int32()), ("deletions", pa.int32())])
EVENT = pa.struct([("kind", pa.string()), ("at", pa.string()), ("actor", pa.string()), ("detail", pa.string())])
CHANGE: Mapping[str, pa.DataType] = {
    "kind": REPEATED,
    "change": pa.string(),
    "number": pa.int64(),
    "sha": pa.string(),
    "title": pa.string(),
    "author": pa.string(),
    "created_at": TIME,
    "merged_at": TIME,
    "merged": pa.bool_(),
    "closes": pa.bool_(),
    "additions": pa.int32(),
    "deletions": pa.int32(),
    "files": pa.int32(),
    "paths": pa.list_(PATH),
    "html_url": pa.string(),
}
"""What a file tells of each change; `number` is a pull request's, `sha` a commit's."""
COLUMNS: Mapping[str, Mapping[str, pa.DataType]] = {
    "issues": {
        "item": pa.string(),
        "repository": REPEATED,
        "number": pa.int64(),
        "title": pa.string(),
        "body": pa.string(),
        "state": REPEATED,
        "state_reason": REPEATED,
        "labels": pa.list_(pa.string()),
        "author": pa.string(),
        "author_association": REPEATED,
        "created_at": TIME,
        "updated_at": TIME,
        "closed_at": TIME,
        "n_comments": pa.int32(),
        "comments_known": pa.bool_(),
        "changes_known": pa.bool_(),
        "locked": pa.bool_(),
        "presence": REPEATED,
        "moved_to": pa.string(),
        "type": REPEATED,
        "reactions": pa.int64(),
        "events": pa.list_(EVENT),
        "html_url": pa.string(),
        "snapshot": pa.string(),
    },
    "comments": {
        "item": pa.string(),
        "position": pa.int32(),
        "id": pa.string(),
        "author": pa.string(),
        "created_at": TIME,
        "body": pa.string(),
    },
    "changes": {"item": pa.string(), **CHANGE},
}
TITLES = {"issues": "Issues", "comments": "Comments", "changes": "Changes that closed them"}
