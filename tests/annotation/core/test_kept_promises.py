"""Promises of the design that the database itself keeps, whatever the code does."""

from collections.abc import Callable

import pytest
from django.apps import apps
from django.db import DatabaseError, connection, transaction

from annotation.models import Annotation, Assignment, Membership, Round, RoundItem
from tests import builders as make

pytestmark = pytest.mark.django_db


def refused(act: Callable[[], object], words: str) -> None:
    with pytest.raises(DatabaseError, match=words), transaction.atomic():
        act()


def test_an_item_has_no_slot_above_its_number_of_raters() -> None:
    study = make.study(raters=("bob", "carol", "dora"))
    round_ = make.open_round(study, 2)
    item = RoundItem.objects.filter(round=round_).first()
    dora = Membership.objects.get(study=study, user__username="dora")
    given = {"round": round_, "item": item.item, "rater": dora, "position": 1}
    words = "no slot above its number of raters"
    refused(lambda: Assignment.objects.create(**given, slot=3), words)
    refused(lambda: Assignment.objects.bulk_create([Assignment(**given, slot=7)]), words)
    mine = Assignment.objects.filter(round=round_, item=item.item, slot=2)
    refused(lambda: mine.update(slot=3), words)
    refused(lambda: RoundItem.objects.filter(pk=item.pk).update(n_raters=1), words)
    arbiter = Assignment.objects.create(**given, slot=None)
    assert arbiter.pk, "arbiters and model raters have no slot"


def test_what_was_answered_blind_stays_when_the_round_is_no_longer_open() -> None:
    study = make.study()
    round_ = make.open_round(study, 1)
    make.rate(round_, "item bob carol\n1 crash hang")
    assignment = Assignment.objects.filter(round=round_).first()
    assert assignment.blind_id is not None
    assert Round.objects.get(pk=round_.pk).state == "resolving"
    other = Annotation.objects.create(assignment=assignment, rater=assignment.rater, revision=9)
    mine = Assignment.objects.filter(pk=assignment.pk)
    words = "What was answered blind stays"
    refused(lambda: mine.update(blind=other), words)
    refused(lambda: mine.update(blind=None), words)
    mine.update(current=other)
    assignment.refresh_from_db()
    assert (assignment.current_id == other.pk, assignment.blind_id == other.pk) == (True, False)


def append_only() -> set[str]:
    """Tables that refuse to let a row be changed, as the database lists them."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT DISTINCT c.relname FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid"
            " JOIN pg_proc p ON p.oid = t.tgfoid WHERE NOT tgisinternal AND t.tgtype & 8 > 0"
            " AND p.proname IN ('annotation_refuse', 'accounts_refuse', 'ingest_refuse_change')"
        )
        return {name for (name,) in cursor.fetchall()}


def test_no_table_that_rows_are_only_added_to_can_be_emptied() -> None:
    tables = append_only()
    assert len(tables) >= 13
    known = {model._meta.db_table for model in apps.get_models()}
    for table in sorted(tables):
        assert table in known

        def empty(table: str = table) -> None:
            with connection.cursor() as cursor:
                cursor.execute(f"TRUNCATE {table} CASCADE")

        refused(empty, "can't be emptied")
