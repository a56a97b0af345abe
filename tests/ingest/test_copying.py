"""COPY of rows that are made while PostgreSQL stores the first of them."""

from collections.abc import Iterator

import pytest
from celery.exceptions import SoftTimeLimitExceeded
from django.db import connection, transaction

from ingest.upsert.copying import ROWS_AT_ONCE, copy_while_made, stage

pytestmark = pytest.mark.django_db
COLUMNS = {"n": "int", "word": "text"}
N = 2 * ROWS_AT_ONCE + 1


def stored() -> int:
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*), count(DISTINCT (n, word)) FROM given WHERE word = 'a\tb' || n")
        n, n_different = cursor.fetchone()
    assert n == n_different
    return int(n)


def rows(fault: BaseException | None = None) -> Iterator[tuple[int, str]]:
    yield from ((n, f"a\tb{n}") for n in range(N))
    if fault is not None:
        raise fault


def test_all_rows_are_stored_once() -> None:
    stage("given", COLUMNS, ())
    copy_while_made("given", list(COLUMNS), rows())
    copy_while_made("given", list(COLUMNS), ())
    assert stored() == N


@pytest.mark.parametrize("fault", [KeyError("a type that can't be written"), SoftTimeLimitExceeded()])
def test_what_goes_wrong_with_a_row_is_raised_as_it_is_and_nothing_is_stored(fault: BaseException) -> None:
    stage("given", COLUMNS, ())
    with pytest.raises(type(fault)) as raised, transaction.atomic():
        copy_while_made("given", list(COLUMNS), rows(fault))
    assert raised.value is fault
    assert stored() == 0
