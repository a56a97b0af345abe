"""What changes taxonomies: documents become drafts, drafts are written, published or discarded, versions retired."""

from taxonomy.actions.drafts import (
    add_document,
    discard_draft,
    load_document,
    new_draft,
    replace_draft,
    start_draft,
)
from taxonomy.actions.publishing import publish_version, retire_version

__all__ = [
    "add_document",
    "discard_draft",
    "load_document",
    "new_draft",
    "publish_version",
    "replace_draft",
    "retire_version",
    "start_draft",
]
