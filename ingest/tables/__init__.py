"""Tables of issues (CSV, XLSX): a header, rows of text, and the issues they describe. Pure."""

from ingest.tables.columns import (
    FIELDS,
    Guess,
    TableLayout,
    checked_guess,
    column_names,
    guess,
    lay_out,
    missing,
    without_identifying,
)
from ingest.tables.files import FileTable, TableRow, is_table, open_table
from ingest.tables.first_rows import TablePreview, sample
from ingest.tables.issues import TableReader, issue_of, read_rows

__all__ = [
    "FIELDS",
    "FileTable",
    "Guess",
    "TableLayout",
    "TablePreview",
    "TableReader",
    "TableRow",
    "checked_guess",
    "column_names",
    "guess",
    "is_table",
    "issue_of",
    "lay_out",
    "missing",
    "open_table",
    "read_rows",
    "sample",
    "without_identifying",
]
