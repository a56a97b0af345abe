"""Files out: agreed labels, ratings and resolutions as CSV, JSON Lines and Parquet, written in steady memory."""

from annotation.exports.writers import CONTENT_TYPES, FORMATS, write

__all__ = ["CONTENT_TYPES", "FORMATS", "write"]
