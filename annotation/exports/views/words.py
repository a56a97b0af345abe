"""Words of the Exports page for formats and options."""

FORMAT_WORDS = {"csv": "CSV", "jsonl": "JSON Lines", "parquet": "Parquet", "zip": "Zip"}
OPTION_WORDS = {
    "what": "What",
    "format": "Format",
    "round": "Round",
    "dimension": "Dimension",
    "version": "Version",
    "raters": "Rater",
    "revision": "Revision",
    "shape": "Shape",
}
