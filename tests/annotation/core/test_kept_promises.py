"""Promises of the design that the database itself keeps, whatever the code does."""

from collections.abc import Callable

import pytest
from django.apps import apps
from django.db import DatabaseError, connection, transaction

from annotation.models import Annotation, Assignment, Membership, Proposal, Round, RoundItem
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


@pytest.mark.parametrize("column", ["item", "proposed_by"])
def test_a_proposal_is_of_the_item_and_rater_of_its_answer(column: str) -> None:
    round_ = make.open_round(make.study(), 2)
    make.submit(round_, "bob", 1, {"symptom": ["crash"]})
    answer = Annotation.objects.select_related("assignment").get()
    own = {"round": round_, "item": answer.assignment.item, "proposed_by": answer.rater}
    wrong = {
        "item": RoundItem.objects.exclude(item=answer.assignment.item).get(round=round_).item,
        "proposed_by": make.member(round_.study, "carol"),
    }
    dimension = round_.taxonomy_version.dimensions.get()
    rest = {"annotation": answer, "part": 1, "dimension": dimension, "name": "Stall"}
    refused(lambda: Proposal.objects.create(**own | {column: wrong[column]}, **rest), "A proposal must carry the round")
    assert Proposal.objects.create(**own, **rest).pk


COLUMNS = "annotation_id, round_id, item_id, rater_id, part, dimension_id, category_id"
AGAIN = f"INSERT INTO annotation_rating ({COLUMNS}) SELECT {{}} FROM annotation_rating"
SECOND, NOTHING = 900_000, 987_654_321
OF_SECOND = COLUMNS.replace("annotation_id", str(SECOND))


@pytest.fixture
def rated() -> Round:
    """A round of two items, of which bob labeled the first; a second revision has no ratings yet."""
    round_ = make.open_round(make.study(), 2)
    make.submit(round_, "bob", 1, {"symptom": ["crash"]})
    first = Annotation.objects.get()
    Annotation.objects.create(pk=SECOND, assignment=first.assignment, rater=first.rater, revision=2)
    return round_


def run(statement: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(f"{statement}; SET CONSTRAINTS ALL IMMEDIATE")


@pytest.mark.parametrize(
    ("column", "words"),
    [
        (str(SECOND), "must carry the round, item, rater"),  # else nothing checks it if its answer is stored after it
        ("round_id", "must carry the round, item, rater"),
        ("item_id", "must carry the round, item, rater"),
        ("rater_id", "must carry the round, item, rater"),
        ("dimension_id", "of the published taxonomy version of its round"),
        ("category_id", "a category of its dimension"),
    ],
)
def test_a_rating_names_rows_that_exist(rated: Round, column: str, words: str) -> None:
    refused(lambda: run(AGAIN.format(OF_SECOND.replace(column, str(NOTHING)))), words)
    run(AGAIN.format(OF_SECOND))


@pytest.mark.parametrize(
    ("table", "column"),
    [
        ("annotation_assignment", "a.assignment_id"),
        ("annotation_annotation", "a.id"),
        ("annotation_round", "r.round_id"),
        ("annotation_item", "r.item_id"),
        ("annotation_membership", "r.rater_id"),
        ("taxonomy_dimension", "r.dimension_id"),
        ("taxonomy_category", "r.category_id"),
    ],
)
def test_what_a_rating_names_stays(rated: Round, table: str, column: str) -> None:
    named = f"SELECT {column} FROM annotation_rating r JOIN annotation_annotation a ON a.id = r.annotation_id"
    refused(lambda: run(f"DELETE FROM {table} WHERE id IN ({named})"), "foreign key|or deleted|published")


@pytest.mark.parametrize("column", ["round_id", "item_id", "rater_id"])
def test_an_assignment_keeps_its_place_which_its_ratings_carry(rated: Round, column: str) -> None:
    changed = f"UPDATE annotation_assignment SET {column} = {{}} WHERE current_id IS NOT NULL"
    refused(lambda: run(changed.format(f"{column} + 1")), "keeps its round, item and rater")
    run(changed.format(column))


def test_new_assignments_point_to_their_own_answers(rated: Round) -> None:
    answer = Annotation.objects.get(pk=SECOND)
    item = RoundItem.objects.get(round=rated, item__issue__number=2).item
    waiting = Assignment.objects.filter(round=rated, item=item)
    raters = list(waiting.values_list("rater", flat=True))
    waiting.delete()
    new = [Assignment(round=rated, item=item, rater_id=pk, slot=n, position=9) for n, pk in enumerate(raters, start=1)]
    for name in ("blind_id", "current_id"):
        for pk in (answer.pk, NOTHING):
            setattr(new[1], name, pk)
            refused(lambda: Assignment.objects.bulk_create(new), "its own annotations")
        setattr(new[1], name, None)


@pytest.mark.parametrize("column", ["blind_id", "current_id"])
def test_assignments_point_to_answers_that_exist(rated: Round, column: str) -> None:
    pointed = "UPDATE annotation_assignment SET {} = {} WHERE current_id IS NOT NULL"
    refused(lambda: run(pointed.format(column, NOTHING)), "its own annotations")
    run(pointed.format(column, SECOND))


def test_a_rating_is_of_a_published_version(rated: Round) -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            "SET LOCAL session_replication_role = replica;"
            "UPDATE taxonomy_taxonomyversion SET state = 'draft', published_at = NULL;"
            "SET LOCAL session_replication_role = origin"
        )
    refused(lambda: run(AGAIN.format(OF_SECOND)), "published taxonomy version")


@pytest.mark.parametrize("names", ["annotation_rating", "blind_id", "current_id"])
def test_an_answer_that_is_named_stays_also_while_its_study_is_deleted(rated: Round, names: str) -> None:
    """The rule that answers are only appended is off here, as a transaction that deletes a study has it."""
    run("SET CONSTRAINTS ALL IMMEDIATE")
    run("ALTER TABLE annotation_annotation DISABLE TRIGGER append_only")
    run("ALTER TABLE annotation_rating DISABLE TRIGGER append_only")
    free = {"blind_id", "current_id"} - {names}
    let_go = [f"UPDATE annotation_assignment SET {', '.join(f'{column} = NULL' for column in sorted(free))}"]
    let_go += ["DELETE FROM annotation_rating"] if names != "annotation_rating" else []
    refused(lambda: run("; ".join([*let_go, "DELETE FROM annotation_annotation"])), "names can't be deleted")
    last = ["UPDATE annotation_assignment SET blind_id = NULL, current_id = NULL", "DELETE FROM annotation_rating"]
    run("; ".join([*last, "DELETE FROM annotation_annotation"]))


def test_an_answer_is_locked_while_a_rating_names_it(rated: Round) -> None:
    """As a foreign key locks it, so that nobody deletes it at the same time."""
    run(AGAIN.format(OF_SECOND))
    with connection.cursor() as cursor:
        cursor.execute("SELECT xmax <> '0' FROM annotation_annotation WHERE id = %s", [SECOND])
        assert cursor.fetchone() == (True,)


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
