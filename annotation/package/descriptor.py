"""Descriptor of a package (Frictionless Data Package): each CSV with its Table Schema."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from annotation.package.tables import PackageColumn, PackageTable

DATETIME = "%Y-%m-%dT%H:%M:%SZ"
TYPES = {"list": "string", "object": "string"}
"""Of columns whose cells hold more than one value."""
MOST_LISTED = 1000
"""A column with more categories names none: they stand in a table of their own."""


def descriptor(
    *,
    name: str,
    title: str,
    description: str,
    version: str,
    created: str,
    keywords: Sequence[str],
    licence: Mapping[str, str] | None,
    authors: Sequence[str],
    resources: Sequence[tuple[PackageTable, int, str]],
) -> dict[str, Any]:
    """`datapackage.json`; a resource is a table with its bytes and SHA-256, `licence` has name, title and path."""
    found: dict[str, Any] = {
        "$schema": "https://datapackage.org/profiles/2.0/datapackage.json",
        "name": name,
        "title": title,
        "description": description,
        "version": version,
        "created": created,
        "keywords": list(keywords),
    }
    if licence:
        found["licenses"] = [dict(licence)]
    if authors:
        found["contributors"] = [{"title": author, "roles": ["author"]} for author in authors]
    return found | {"resources": [_resource(*each) for each in resources]}


def as_json(document: Any) -> str:
    """A document as the files of a package have it."""
    return json.dumps(document, ensure_ascii=False, indent=2, allow_nan=False) + "\n"


def _resource(table: PackageTable, size: int, sha256: str) -> dict[str, Any]:
    return {
        "name": table.name.replace("_", "-"),
        "type": "table",
        "path": f"{table.path}.csv",
        "title": table.title,
        "description": table.means,
        "scheme": "file",
        "format": "csv",
        "mediatype": "text/csv",
        "encoding": "utf-8",
        "bytes": size,
        "hash": f"sha256:{sha256}",
        "schema": schema_of(table),
    }


def schema_of(table: PackageTable) -> dict[str, Any]:
    """The Table Schema of a table, with categories, key and references."""
    found: dict[str, Any] = {"fields": [_field(column) for column in table.columns], "missingValues": [""]}
    if table.key:
        found["primaryKey"] = list(table.key)
    if table.references:
        found["foreignKeys"] = [
            {
                "fields": list(each.columns),
                "reference": {"resource": each.table.replace("_", "-"), "fields": list(each.of)},
            }
            for each in table.references
        ]
    return found


def _field(column: PackageColumn) -> dict[str, Any]:
    found: dict[str, Any] = {
        "name": column.name,
        "type": TYPES.get(column.type, column.type),
        "description": column.means,
    }
    if column.type == "datetime":
        found["format"] = DATETIME
    constraints: dict[str, Any] = {"required": True} if column.is_required else {}
    if 0 < len(column.categories) <= MOST_LISTED and column.type == "string":
        found["categories"] = [{"value": value, "label": label} for value, label in column.categories]
        found["categoriesOrdered"] = column.is_ordered
        constraints["enum"] = [value for value, _ in column.categories]
    return found | ({"constraints": constraints} if constraints else {})
