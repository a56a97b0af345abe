"""The databases of the tests."""

from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

import pytest
from django.db import connection

from accounts.models import User
from tests import builders as make
from tests import prepared
from tests.asserts import wait_until_someone_waits_for_a_lock

FIRST_AND_LAST = """
SELECT min(oid)::regclass::text, max(oid)::regclass::text FROM pg_class
WHERE relnamespace = 'public'::regnamespace AND relkind = 'r'
    AND relname NOT IN ('django_migrations', 'django_content_type', 'auth_permission')
"""


@pytest.mark.django_db(transaction=True)
def test_a_database_is_emptied_although_someone_takes_its_tables_the_other_way_round() -> None:
    make.user("zoe")

    def empty() -> None:
        with closing(connection):
            prepared.empty(connection)

    side = connection.copy()
    with closing(side), ThreadPoolExecutor(1) as other, side.cursor() as cursor:
        cursor.execute(FIRST_AND_LAST)
        first, last = cursor.fetchone()
        side.set_autocommit(False)
        cursor.execute("SET deadlock_timeout = '60s'")  # so that the other one is ended
        cursor.execute(f"LOCK TABLE {last}")
        emptied = other.submit(empty)
        wait_until_someone_waits_for_a_lock()
        cursor.execute(f"SELECT count(*) FROM {first}")
        side.commit()
        emptied.result(30)
    assert not User.objects.exists()
