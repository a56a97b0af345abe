"""Spreadsheets: a file becomes rows, rows become answers, and answers are read against a taxonomy. Pure."""

from annotation.core.sheet_tables import Row, SheetTable, open_table
from annotation.imports.sheets.columns import Layout, SheetRow, lay_out
from annotation.imports.sheets.gathered_rows import Gathered, ItemName, Refusal, gather
from annotation.imports.sheets.values import Blank, Decided, ReadAnswer, ValueReader, read_answer, read_decisions
from annotation.imports.sheets.vocabulary import document_from_values

__all__ = [
    "Blank",
    "Decided",
    "Gathered",
    "ItemName",
    "Layout",
    "ReadAnswer",
    "Refusal",
    "Row",
    "SheetRow",
    "SheetTable",
    "ValueReader",
    "document_from_values",
    "gather",
    "lay_out",
    "open_table",
    "read_answer",
    "read_decisions",
]
