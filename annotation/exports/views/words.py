"""The words of the page of exports for formats and options; those of each kind of file are in its entry."""

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
