"""Database planner: updates its statistics after a bulk insert."""

from collections.abc import Sequence

from django.db import connection

TOLD_FROM = 1000
TABLES = ("annotation", "assignment", "rating", "resolution", "rounditem")
SMALL = ("membership", "round", "study")
"""Analyzed as well: too few rows change in them for PostgreSQL to do it, and it expects one rater of a round."""


def tell_planner(n_rows: int, tables: Sequence[str] = TABLES) -> None:
    """Analyzes tables (of answers, if none are named) after a thousand rows or more were written to them.

    PostgreSQL would do it after a tenth of a table changed, and until then plan for the few rows that it remembers: of
    a study that came after a much larger one it expects none, and looks up each row on its own.
    """
    if n_rows >= TOLD_FROM:
        with connection.cursor() as cursor:
            cursor.execute(f"ANALYZE {', '.join(f'annotation_{name}' for name in (*tables, *SMALL))}")
