"""Editor feedback on a draft: changes since the version before, and warnings."""

from collections.abc import Mapping
from typing import Any

from shared.storable_json import unstorable
from taxonomy import schema
from taxonomy.comparison import compare, compare_dimensions
from taxonomy.schema import Document
from taxonomy.warnings import doubts


def draft_marks(before: Document | None, document: Document) -> dict[str, Any]:
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
        "frozen": frozen_by_publishing(document),
    }


def frozen_by_publishing(document: Document) -> str:
    """What publishing a draft freezes, in a sentence; how many categories have no definition in a second one."""
    n_dimensions = len(document.dimensions)
    categories = [each for dimension in document.dimensions for each, _ in dimension.walk()]
    n_without = sum(not each.definition.strip() for each in categories)
    found = f"{n_dimensions} dimension{'' if n_dimensions == 1 else 's'}"
    found += f" with {len(categories)} categor{'y' if len(categories) == 1 else 'ies'} can never be changed afterwards."
    if n_without:
        found += f" {n_without} categor{'y has' if n_without == 1 else 'ies have'} no definition."
    return f"{found} A later change needs a new version."


LEVELS = ({"title", "dimensions"}, {"key", "title", "kind"}, {"key", "name"})
"""What a document, a dimension and a category have in any case."""


def has_shape(document: object, depth: int = 0) -> bool:
    """Whether this is built like a document, so that the editor can open it, whatever is wrong with what it says."""
    if not isinstance(document, Mapping) or depth > schema.LEVELS_MAX or LEVELS[min(depth, 2)] - set(document):
        return False
    inner = "categories" if depth else "dimensions"
    return all(_fits(name, value, inner, depth) for name, value in document.items())


def _fits(name: str, value: object, inner: str, depth: int) -> bool:
    if name == inner:
        return isinstance(value, list) and all(has_shape(each, depth + 1) for each in value)
    if name == "applies_when":
        is_whole = isinstance(value, Mapping) and set(value) == {"dimension", "is"}
        return is_whole and _is_text(value["dimension"]) and _are_values(value["is"])  # type: ignore[index]
    return isinstance(value, bool) or _is_text(value) or _are_values(value)


def _are_values(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(each, bool) or _is_text(each) for each in value)


def _is_text(value: object) -> bool:
    return isinstance(value, str) and unstorable(value) is None


def editor_state(before: Document | None, document: Document) -> dict[str, Any]:
    """All that the editor begins with: the document, the version before, and what is told beside them."""
    return {
        "document": schema.plain(document),
        "before": schema.plain(before) if before else None,
        **draft_marks(before, document),
    }
