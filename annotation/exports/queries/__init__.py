"""Queries of exports: agreed labels, ratings, and resolutions as rows, at constant memory."""

from annotation.exports.columns import COLUMNS, CONTENT_TYPES, FORMATS, write

__all__ = ["COLUMNS", "CONTENT_TYPES", "FORMATS", "write"]
