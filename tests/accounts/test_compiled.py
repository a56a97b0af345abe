"""A queryset whose SQL is written once yields what the queryset yields."""

from datetime import timedelta

import pytest
from django.db import transaction
from django.db.models import F
from django.utils import timezone

from accounts.models import ApiToken, User
from shared.compiled_queries import CompiledQuery
from tests import builders as make
from tests.asserts import assert_queries

pytestmark = pytest.mark.django_db


def test_rows_related_rows_and_annotations_are_those_of_the_queryset() -> None:
    make.user("ann")
    ben = make.user("ben")
    for name in ("one", "two"):
        ApiToken.objects.create(user=ben, name=name, scope="read", digest=name, prefix=name)

    def tokens(user: int):  # type: ignore[no-untyped-def]
        return (
            ApiToken.objects.filter(user=user)
            .select_related("user")
            .annotate(whose=F("user__username"))
            .order_by("name")
        )

    compiled = CompiledQuery(tokens, int)
    with assert_queries(1):
        found = compiled.all(ben.pk)
        assert [(each.name, each.user.username, each.whose) for each in found] == [  # type: ignore[attr-defined]
            ("one", "ben", "ben"),
            ("two", "ben", "ben"),
        ]
    assert found == list(tokens(ben.pk))
    assert compiled.all(make.user("ann").pk) == []
    assert compiled.first(ben.pk) == found[0]


def test_each_call_has_its_own_arguments_and_times_are_compared_as_times() -> None:
    make.user("ann")
    since = CompiledQuery(
        lambda at: User.objects.filter(date_joined__gt=at).order_by().values_list("username"), type(timezone.now())
    )
    assert since.all(timezone.now() - timedelta(hours=1)) == [("ann",)]
    assert since.all(timezone.now() + timedelta(hours=1)) == []


def test_an_argument_that_the_sql_does_not_hold_is_told_at_once() -> None:
    with pytest.raises(TypeError, match="do not stand in the SQL"):
        CompiledQuery(lambda name, more: User.objects.filter(username=name), str, str).all("ann", "ben")


@pytest.mark.django_db(transaction=True)
def test_a_lock_needs_a_transaction_also_when_the_sql_is_written_already() -> None:
    make.user("ann")
    held = CompiledQuery(lambda name: User.objects.filter(username=name).select_for_update(), str)
    with transaction.atomic():
        assert [each.username for each in held.all("ann")] == ["ann"]
    with pytest.raises(transaction.TransactionManagementError):
        held.all("ann")


def test_ids_are_compared_with_those_of_a_list_by_sql_of_one_shape() -> None:
    people = [make.user(name) for name in ("ann", "ben", "cleo")]
    tokens = [
        ApiToken.objects.create(user=each, name=each.username, scope="read", digest=each.username, prefix="x")
        for each in people
    ]
    of_users = CompiledQuery(
        lambda users: ApiToken.objects.filter(user__any_of=users).order_by("pk").values_list("pk"), list
    )
    with assert_queries(3):
        assert of_users.all([people[2].pk, people[0].pk]) == [(tokens[0].pk,), (tokens[2].pk,)]
        assert of_users.all([people[1].pk]) == [(tokens[1].pk,)]
        assert of_users.all([]) == []
