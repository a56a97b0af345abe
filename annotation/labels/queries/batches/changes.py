"""Changes in a round since its labels were read: the chunks to read again."""

from collections.abc import Sequence
from dataclasses import dataclass

from django.db import connection

from annotation.labels.queries.batches import chunks
from annotation.models import Round
from annotation.models.assignment_kinds import is_extra_sql

_NONE_YET = 2**62
_STRETCHES = """
    SELECT DISTINCT (position - 1) / %s FROM annotation_rounditem WHERE round_id = %s ORDER BY 1"""
_REVISION = f"""
    WITH answered AS (
        SELECT id, item_id FROM annotation_assignment WHERE round_id = %(round)s AND current_id > %(answer)s
    ), decided AS (
        SELECT item_id FROM annotation_resolution WHERE round_id = %(round)s AND id > %(decision)s
    )
    SELECT
        (SELECT coalesce(max(current_id), 0) FROM annotation_assignment
            WHERE round_id = %(round)s AND current_id IS NOT NULL),
        (SELECT coalesce(sum(n_finished), 0)::bigint FROM annotation_roundrater WHERE round_id = %(round)s)
            + (SELECT count(*) FROM annotation_assignment a
                WHERE a.round_id = %(round)s AND a.current_id IS NOT NULL AND {is_extra_sql("a")} AND NOT EXISTS (
                    SELECT FROM annotation_roundrater r WHERE r.round_id = a.round_id AND r.rater_id = a.rater_id))
            + (SELECT count(*) FROM annotation_annotation x JOIN annotation_assignment a ON a.id = x.assignment_id
                WHERE x.revision > 1 AND a.round_id = %(round)s),
        (SELECT coalesce(max(id), 0) FROM annotation_resolution WHERE round_id = %(round)s),
        (SELECT count(*) FROM annotation_resolution WHERE round_id = %(round)s),
        concat_ws(' ',
            (SELECT sum(hashint8extended(id, 1)) FROM annotation_rounditem
                WHERE round_id = %(round)s AND known IS NOT NULL),
            (SELECT sum(hashint8extended(id, 2)) FROM annotation_rounditem WHERE round_id = %(round)s AND excluded),
            (SELECT sum(hashint8extended(m.agreed_part, hashint8extended(m.part, m.annotation_id)))
                FROM annotation_partmatch m JOIN annotation_annotation x ON x.id = m.annotation_id
                JOIN annotation_assignment a ON a.id = x.assignment_id WHERE a.round_id = %(round)s),
            (SELECT sum(hashint8extended(n_raters, id)) FROM annotation_rounditem
                WHERE round_id = %(round)s AND %(is_open)s)),
        (SELECT count(*) FROM annotation_annotation x JOIN answered a ON a.id = x.assignment_id
            WHERE x.id > %(answer)s),
        (SELECT count(*) FROM decided),
        ARRAY (SELECT DISTINCT (p.position - 1) / %(items)s FROM annotation_rounditem p
            WHERE p.round_id = %(round)s AND (%(is_first)s
                OR p.item_id IN (SELECT item_id FROM answered UNION SELECT item_id FROM decided)))"""


@dataclass(frozen=True)
class RoundRevision:
    """Which answers and decisions of a round were counted: the newest of each and how many there were.

    `rest` is a digest of all else that its labels rest on: state, training and excluded items, matched parts and, while
    it is open, how many raters each item has.
    """

    round: int
    newest_answer: int
    n_answers: int
    newest_decision: int
    n_decisions: int
    rest: str


def revision_of(round_: Round, since: RoundRevision | None = None) -> tuple[RoundRevision, Sequence[int] | None]:
    """The revision of a round, and the numbers of its stretches, or of those that changed since another one.

    None: that can't be told, because something else changed, or an answer committed after one with a higher id: then
    more became known than has a higher id. One query: indexed reads, and a pass over the places of an open round.
    """
    with connection.cursor() as cursor:
        cursor.execute(
            _REVISION,
            {
                "round": round_.pk,
                "is_first": since is None,
                "is_open": round_.state == Round.State.OPEN,
                "items": chunks.ITEMS,
                "answer": _NONE_YET if since is None else since.newest_answer,
                "decision": _NONE_YET if since is None else since.newest_decision,
            },
        )
        answer, n_answers, decision, n_decisions, rest, n_answered, n_decided, changed = cursor.fetchone()
    found = RoundRevision(round_.pk, answer, n_answers, decision, n_decisions, f"{round_.state} {rest}")
    is_known = since is None or (found.rest, n_answers, n_decisions) == (
        since.rest,
        since.n_answers + n_answered,
        since.n_decisions + n_decided,
    )
    return found, sorted(changed) if is_known else None


def stretch_numbers(round_: Round) -> list[int]:
    """The numbers of all stretches of a round; one query."""
    with connection.cursor() as cursor:
        cursor.execute(_STRETCHES, [chunks.ITEMS, round_.pk])
        return [number for (number,) in cursor.fetchall()]
