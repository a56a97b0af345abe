"""Two worlds in which others answered otherwise, and everything that somebody is shown in each of them."""

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from django.core.cache import cache
from django.db import connection, transaction

from annotation.models import Assignment, Item, Membership, Round
from tests.annotation import permission_study
from tests.annotation.permission_study import Visitor, compared, words_of

AGES = re.compile(r"just now|\d+ (?:minutes?|seconds?) ago|Expires: .*|Content-Length: .*|As of [^<]*UTC")
"""What changes with the minute; where the words are the same, so is their length."""
BADGE = re.compile(r'<span class="count">\d+</span>')
READS = ("inbox_line", "inbox", "read_inbox")
"""What changes the badge of the inbox by being opened."""
Address = tuple[str, str, str]


def steady_table() -> list[Address]:
    """Every address of the permission study that can be asked twice; the second world has the same ones."""
    return [each for each in permission_study.table() if each[0] not in READS]


def walked(visitor: Visitor, table: Sequence[Address]) -> dict[str, str]:
    """What somebody is answered at each address: status, head and body, without what changes with the minute.

    What a request writes (that it read open answers, that it downloaded) is taken back, so that no later one shows it.
    """
    found = {}
    for _, base, path in table:
        with transaction.atomic():
            answer = visitor.get(base, path)
            found[base + path] = BADGE.sub("", AGES.sub("", f"{answer.status_code}\n{compared(words_of(answer))}"))
            transaction.set_rollback(True)
    return found


def differences(one: Mapping[str, str], other: Mapping[str, str]) -> str:
    """The addresses that are answered otherwise, each with the words around its first difference."""
    return "\n".join(f"{path}: {_first(one[path], other[path])}" for path in one if one[path] != other[path])


def _first(one: str, other: str) -> str:
    at = next((n for n, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))
    return f"{one[max(at - 60, 0) : at + 60]!r} | {other[max(at - 60, 0) : at + 60]!r}"


@contextmanager
def history_rewritten() -> Iterator[Any]:
    """A cursor without triggers: what others answered becomes something else, and nothing tells that it did."""
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL session_replication_role = replica")
        yield cursor
        cursor.execute("SET LOCAL session_replication_role = origin")
    cache.clear()


OTHERS = "SELECT id FROM annotation_assignment WHERE round_id = %s AND item_id = %s AND rater_id <> %s"
ANSWERS = f"SELECT id FROM annotation_annotation WHERE assignment_id IN ({OTHERS})"
RATINGS = f"SELECT id FROM annotation_rating WHERE annotation_id IN ({ANSWERS})"


def all_said(round_: Round, item: Item, own: Membership, category: str, *, hours: int = 1) -> None:
    """Everybody else gave this category, in another time, with another memo, sure of it, without a quote or a flag."""
    place = [round_.pk, item.pk, own.pk]
    with history_rewritten() as cursor:
        cursor.execute(f"DELETE FROM annotation_evidence WHERE rating_id IN ({RATINGS})", place)
        cursor.execute(
            "UPDATE annotation_rating r SET proposal_id = NULL, category_id = (SELECT id FROM taxonomy_category"
            f" WHERE key = %s AND dimension_id = r.dimension_id) WHERE r.id IN ({RATINGS})",
            [category, *place],
        )
        cursor.execute("DELETE FROM annotation_proposal WHERE round_id = %s AND item_id = %s", place[:2])
        cursor.execute(
            "UPDATE annotation_annotation SET memo = %s, seconds = 977, confidence = 2, is_flagged = false,"
            " n_proposals = 0, answers_digest = %s, created_at = created_at - make_interval(hours => %s)"
            f" WHERE id IN ({ANSWERS})",
            ["Another memo, and a longer one. " * 9, "9" * 64, hours, *place],
        )
        cursor.execute("UPDATE annotation_remark SET text = 'No.' WHERE round_id = %s AND item_id = %s", place[:2])


def all_skipped(round_: Round, item: Item, own: Membership) -> None:
    all_said(round_, item, own, "hang")
    place = [round_.pk, item.pk, own.pk]
    with history_rewritten() as cursor:
        cursor.execute(f"DELETE FROM annotation_rating WHERE id IN ({RATINGS})", place)
        cursor.execute(f"UPDATE annotation_annotation SET skip_reason = 'no bug' WHERE id IN ({ANSWERS})", place)
        cursor.execute(
            f"UPDATE annotation_assignment SET state = 'skipped' WHERE id IN ({OTHERS}) AND current_id IS NOT NULL",
            place,
        )


def answered_in_parts(round_: Round, item: Item, own: Membership) -> None:
    """Everybody else found a second bug like the first."""
    place = [round_.pk, item.pk, own.pk]
    columns = "annotation_id, round_id, item_id, rater_id, dimension_id, category_id, boolean, number, text"
    with history_rewritten() as cursor:
        cursor.execute(
            f"INSERT INTO annotation_rating ({columns}, part) SELECT {columns}, 2 FROM annotation_rating"
            f" WHERE id IN ({RATINGS}) AND part = 1",
            place,
        )
        cursor.execute(f"UPDATE annotation_annotation SET n_parts = 2 WHERE id IN ({ANSWERS})", place)


def finished_by(own: Membership, round_: Round) -> set[int]:
    """The items that this person has answered there."""
    rows = Assignment.objects.filter(round=round_, rater=own, state__in=Assignment.FINISHED)
    return set(rows.values_list("item", flat=True))
