"""Two worlds in which others answered otherwise, and everything that someone is shown in each of them."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import pytest
from django.core.cache import cache
from django.db import DatabaseError, connection, transaction

from annotation.models import Assignment, Item, Membership, Round
from tests.annotation import permission_study
from tests.annotation.permission_study import Visitor, compared, told, words_of

BADGE = re.compile(r'<span class="count">\d+</span>')
READS = ("inbox_line", "inbox", "read_inbox")
"""What changes the badge of the inbox by being opened."""
Address = tuple[str, str, str]


def steady_table() -> list[Address]:
    """Every address of the permission study that can be asked twice; the second world has the same ones."""
    return [each for each in permission_study.table() if each[0] not in READS]


BY_CONTENT = "markdown:"
"""What is cached under a digest of all that it is made of."""


class Sources:
    """All that an answer was made of: what the database and the cache said, in the order in which they were asked.

    As long as both say the same, a request is answered the same, for each further question follows from the answers
    before it.
    """

    def __init__(self) -> None:
        self._asked: list[tuple[str, Any, list[Any] | None]] = []
        self._is_known = True

    @contextmanager
    def noted(self) -> Iterator[None]:
        with pytest.MonkeyPatch.context() as patch, connection.execute_wrapper(self._note):
            for name in ("get", "get_many", "has_key", "add", "incr"):
                patch.setattr(cache, name, self._cached(getattr(cache, name)))
            yield

    def _note(self, execute: Any, sql: Any, params: Any, many: bool, context: Any) -> Any:
        result, cursor = execute(sql, params, many, context), context["cursor"].cursor
        rows = None
        if many or cursor.name:  # many statements, or rows that are still to come
            self._is_known = False
        elif cursor.description and str(sql).lstrip().startswith(("SELECT", "(SELECT")):
            rows = cursor.fetchall()
            if rows:
                cursor.scroll(0, mode="absolute")
        self._asked.append((sql, params, rows))
        return result

    def _cached(self, ask: Any) -> Any:
        def asked(key: Any, *rest: Any, **more: Any) -> Any:
            found = ask(key, *rest, **more)
            is_limit = str(key).startswith(("limit", "throttle"))
            if found and not is_limit and not str(key).startswith(BY_CONTENT):
                self._is_known = False  # what it was made of is not known
            return found

        return asked

    def say_the_same(self) -> bool:
        """Whether the database answers every question as it did; what is written meanwhile is taken back."""
        if not self._is_known:
            return False
        with transaction.atomic():
            try:
                with connection.connection.cursor() as cursor:
                    for sql, params, rows in self._asked:
                        cursor.execute(sql, params)
                        if rows is not None and cursor.fetchall() != rows:
                            return False
            except DatabaseError:
                return False
            finally:
                transaction.set_rollback(True)
        return True


def said_of(answer: Any) -> str:
    """Status, head and body, without what changes with the minute."""
    return BADGE.sub("", f"{answer.status_code}\n{compared(words_of(answer))}")


@dataclass
class Answer:
    """What someone was answered: status, head and body, without what changes with the minute."""

    said: str
    sources: Sources
    more: Any
    """What was true right after it."""


Answers = dict[str, Answer]
"""By address."""


def walked(
    visitor: Visitor,
    table: Sequence[Address],
    before: Answers | None = None,
    more: Callable[[], Any] = lambda: None,
) -> Answers:
    """What someone is answered at each address.

    What a request writes (that it read open answers, that it downloaded) is taken back, so that no later one shows it.
    Where everything that an answer of `before` was made of is as it was, it is the answer still, and is not asked for.
    """
    found: Answers = {}
    for _, base, path in table:
        if before and before[base + path].sources.say_the_same():
            found[base + path] = before[base + path]
            continue
        sources = Sources()
        with transaction.atomic():
            with sources.noted():
                answer = visitor.get(base, path)
            found[base + path] = Answer(said_of(answer), sources, more())
            transaction.set_rollback(True)
    return found


def telling(answers: Answers, secrets: Mapping[str, str]) -> list[str]:
    """Where someone is told what they should not be, or something breaks."""
    found = []
    for path, answer in answers.items():
        if leaked := told(secrets, answer.said):
            found.append(f"{path} tells {', '.join(leaked)}")
        if int(answer.said.partition("\n")[0]) >= 500:
            found.append(f"{path} answers {answer.said[:3]}")
    return found


def changed(one: Answers, other: Answers) -> list[str]:
    """The addresses that are answered otherwise."""
    return [path for path in one if one[path].said != other[path].said]


def differences(one: Answers, other: Answers) -> str:
    """The addresses that are answered otherwise, each with the words around its first difference."""
    return "\n".join(f"{path}: {first_difference(one[path].said, other[path].said)}" for path in changed(one, other))


def first_difference(one: str, other: str) -> str:
    """The words around it in both."""
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
