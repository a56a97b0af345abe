"""Files out: agreed labels, ratings and resolutions as CSV, JSON Lines and Parquet, written in steady memory."""

from annotation.exports.columns import COLUMNS, CONTENT_TYPES, FORMATS, write

__all__ = ["COLUMNS", "CONTENT_TYPES", "FORMATS", "write"]
