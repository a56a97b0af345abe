"""The end of labeling: an open round moves to resolving when its last assignment is in."""

from django.db import connection, transaction
from django.db.models import Q
from django.utils import timezone

from annotation import ruling
from annotation.actions.inbox import tell_round_waits
from annotation.models import Round, RoundItem, Study


def finish_if_done(round_id: int) -> bool:
    """Moves an open round to resolving when its last assignment is in; call it after the commit of a submit.

    Two last submits at the same moment both see the other's row, because each looks after its own commit.
    """
    if not _all_is_in(round_id):
        return False
    with transaction.atomic():
        round_ = Round.objects.select_for_update().get(pk=round_id)
        if not _all_is_in(round_id):
            return False
        start_resolving(round_)
        return True


def _all_is_in(round_id: int) -> bool:
    """Whether a round is open with nothing left to do; one query, so that a slot just taken is not missed.

    An arbiter, who has no slot, is not waited for. Written as SQL because it is asked after every submit.
    """
    with connection.cursor() as cursor:
        cursor.execute(_ALL_IS_IN, [round_id])
        return bool(cursor.fetchone()[0])


_ALL_IS_IN = """
    SELECT EXISTS (
        SELECT FROM annotation_round r WHERE r.id = %s AND r.state = 'open'
        AND NOT EXISTS (
            SELECT FROM annotation_assignment a
            WHERE a.round_id = r.id AND a.slot IS NOT NULL AND a.state IN ('waiting', 'leased'))
        AND NOT EXISTS (SELECT FROM annotation_rounditem i WHERE i.round_id = r.id AND i.n_free > 0))
"""


def start_resolving(round_: Round) -> None:
    """Moves a round that is held to resolving; the rules of its study follow."""
    round_.state, round_.resolving_at = Round.State.RESOLVING, timezone.now()
    has_rules = Study.objects.filter(Q(third_rater=True) | Q(majority=True), pk=round_.study_id).exists()
    round_.ruled_at = None if has_rules else round_.resolving_at
    round_.ruled_until, round_.rules_error = ruling.newest_annotation(), ""
    round_.save(update_fields=["state", "resolving_at", "ruled_at", "ruled_until", "rules_error"])
    if has_rules:  # A message that is lost is sent again by the clock.
        ruling.RULES.send_later(round_.pk)
    RoundItem.objects.filter(round=round_, n_free__gt=0).update(n_free=0)
    tell_round_waits(round_)
