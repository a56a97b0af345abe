"""Spreadsheets: a file becomes rows, rows become answers, and answers are read against a taxonomy. Pure."""

from annotation.core.sheet_tables import SheetTable, open_table
from annotation.imports.sheets.columns import SheetLayout, SheetRow, lay_out
from annotation.imports.sheets.gathered_rows import GatheredSheet, ItemName, RejectedRow, gather
from annotation.imports.sheets.values import Blank, ReadAnswer, ReadDecision, ValueReader, read_answer, read_decisions
from annotation.imports.sheets.vocabulary import document_from_values

__all__ = [
    "Blank",
    "GatheredSheet",
    "ItemName",
    "ReadAnswer",
    "ReadDecision",
    "RejectedRow",
    "SheetLayout",
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
