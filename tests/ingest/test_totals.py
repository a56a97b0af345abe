"""What repositories hold, counted after something was stored, also while others store."""

import threading

import pytest
from django.db import connection, transaction

from ingest import totals
from ingest.models import ClosingChange, Issue, Repository
from tests import builders

pytestmark = pytest.mark.django_db


def test_only_what_is_not_counted_is_counted():
    builders.issues(9, "o/a")
    builders.issues(3, "o/b")
    assert (totals.count(), totals.count()) == (2, 0)
    a, b = Repository.objects.order_by("name")
    assert (a.n_issues, a.n_open, a.n_closing_changes, a.is_counted) == (9, 6, None, True)
    Issue.objects.filter(repository=b).update(changes_known=True)
    totals.expect_other_totals([b.pk])
    assert totals.count() == 1
    b.refresh_from_db()
    assert b.n_closing_changes == 0
    ClosingChange.objects.create(issue=Issue.objects.filter(repository=b)[0], kind="commit", identifier="o/b@1")
    totals.expect_other_totals([b.pk])
    totals.count()
    b.refresh_from_db()
    assert b.n_closing_changes == 1


@pytest.mark.django_db(transaction=True)
def test_a_repository_into_which_someone_stores_is_left_to_the_next_time():
    builders.issues(1, "o/a")
    builders.issues(1, "o/b")
    a = Repository.objects.get(name="a")
    found: list[int] = []

    def count() -> None:
        found.append(totals.count())
        connection.close()

    with transaction.atomic():
        totals.expect_other_totals([a.pk])
        other = threading.Thread(target=count)
        other.start()
        other.join(20)
    assert found == [1]
    assert totals.count() == 1
