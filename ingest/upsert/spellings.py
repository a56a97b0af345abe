"""Spellings of GitHub labels and logins, which searches compare without case."""

from collections.abc import Iterable

from django.db import connection

from ingest.models import Spelling
from ingest.search.matching import fold


def store_spellings(labels: Iterable[str], logins: Iterable[str]) -> None:
    """Stores those that are new, in one order, so that two runs never wait for each other; one statement at most."""
    told = {(Spelling.Kind.LABEL.value, each) for each in labels} | {
        (Spelling.Kind.LOGIN.value, each) for each in logins
    }
    rows = sorted((kind, fold(each), each) for kind, each in told if 0 < len(each) <= Spelling.LONGEST)
    if not rows:
        return
    with connection.cursor() as cursor:
        cursor.execute(
            """
            INSERT INTO ingest_spelling (kind, folded, spelling)
            SELECT * FROM unnest(%s::text[], %s::text[], %s::text[]) AS told (kind, folded, spelling)
            WHERE NOT EXISTS (
                SELECT FROM ingest_spelling AS known
                WHERE (known.kind, known.folded, known.spelling) = (told.kind, told.folded, told.spelling))
            ORDER BY 1, 2, 3
            ON CONFLICT DO NOTHING
            """,
            [list(column) for column in zip(*rows, strict=True)],
        )
