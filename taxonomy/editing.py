"""What the editor of a draft is told beside the document: what changed since the version before, what is doubtful."""

from typing import Any

from taxonomy import schema
from taxonomy.comparison import compare, compare_dimensions
from taxonomy.schema import Document
from taxonomy.warnings import doubts


def told(before: Document | None, document: Document) -> dict[str, Any]:
    """What a draft's marks are made of, ready for JSON: changes against the version before (without what was kept as
    it was; nothing where there is none), those of dimensions, and doubts.
    """
    changes = compare(before, document) if before else []
    dimensions = compare_dimensions(before, document) if before else []
    return {
        "changes": [
            {
                "kind": each.kind,
                "dimension": each.dimension,
                "old": each.old,
                "new": each.new,
                "also": list(each.also),
                "old_path": list(each.old_path),
            }
            for each in changes
            if each.kind != "kept" or each.also
        ],
        "dimensions": [
            {"kind": each.kind, "dimension": each.dimension, "fields": list(each.fields)} for each in dimensions
        ],
        "doubts": [
            {"kind": each.kind, "dimension": each.dimension, "keys": list(each.keys), "sentence": each.sentence}
            for each in doubts(document)
        ],
    }


def opened(before: Document | None, document: Document) -> dict[str, Any]:
    """All that the editor begins with: the document, the version before, and what is told beside them."""
    return {
        "document": schema.plain(document),
        "before": schema.plain(before) if before else None,
        **told(before, document),
    }
