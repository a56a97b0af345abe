"""A study that builders copy in is the one that the actions left; where it would not be, they run."""

import pytest
from django.db import connection, transaction

from annotation.models import Round
from tests import builders as make
from tests.asserts import assert_queries
from tests.remembered import memory

pytestmark = pytest.mark.django_db


def _built() -> Round:
    return make.rate(make.open_round(make.study("twice"), 2), "item bob carol\n1 crash hang\n2 slow -")


def _rows() -> dict[str, list[str]]:
    return {table: sorted(rows) for table in memory.changed() if (rows := memory.copied(table))}


def test_what_is_copied_in_has_every_row_that_the_actions_left_and_triggers_are_in_force_again() -> None:
    with transaction.atomic():
        built, left = _built(), _rows()
        transaction.set_rollback(True)
    assert len(left) > 15
    with transaction.atomic():
        with assert_queries(0):
            copied = _built()
        assert _rows() == left
        assert (copied, copied.study, copied.state, copied.opened_at) == (
            built,
            built.study,
            built.state,
            built.opened_at,
        )
        with connection.cursor() as cursor:
            cursor.execute("SHOW session_replication_role")
            assert cursor.fetchone() == ("origin",)
        transaction.set_rollback(True)


@pytest.mark.parametrize("before", ["a row", "a replaced name"])
def test_the_actions_run_where_anything_was_written_or_replaced(monkeypatch: pytest.MonkeyPatch, before: str) -> None:
    with transaction.atomic():
        study = make.study("twice")
        transaction.set_rollback(True)
    with transaction.atomic():
        assert make.study("twice") == study
        transaction.set_rollback(True)
    if before == "a row":
        make.user("zoe")
    else:
        monkeypatch.setattr(make, "FAULTS", "")
    assert make.study("twice") != study


def test_a_round_is_built_by_the_actions_once_the_study_has_been_changed() -> None:
    with transaction.atomic():
        round_ = make.open_round(make.study("twice"), 1)
        transaction.set_rollback(True)
    study = make.study("twice")
    study.title = "Changed"
    study.save()
    assert make.open_round(study, 1) != round_


def test_rows_written_later_get_ids_of_their_own_though_a_test_began_the_sequences_again() -> None:
    with transaction.atomic():
        _built()
        transaction.set_rollback(True)
    with connection.cursor() as cursor:
        cursor.execute("SELECT setval(pg_get_serial_sequence('annotation_annotation', 'id'), 1, false)")
    with transaction.atomic():
        make.rate(_built(), "item bob carol\n2 - slow")
        transaction.set_rollback(True)
