"""Actions on taxonomies: create, write, publish, discard, and retire versions."""

from taxonomy.actions.drafts import (
    add_document,
    add_taxonomy,
    copy_taxonomy,
    discard_draft,
    free_slug,
    keep_unfinished,
    load_document,
    load_ready_made,
    new_draft,
    new_taxonomy,
    problems_of,
    replace_draft,
    start_draft,
    take_ready_made,
)
from taxonomy.actions.publishing import publish_version, retire_version

__all__ = [
    "add_document",
    "add_taxonomy",
    "copy_taxonomy",
    "discard_draft",
    "free_slug",
    "keep_unfinished",
    "load_document",
    "load_ready_made",
    "new_draft",
    "new_taxonomy",
    "problems_of",
    "publish_version",
    "replace_draft",
    "retire_version",
    "start_draft",
    "take_ready_made",
]
