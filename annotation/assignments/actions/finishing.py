"""End of labeling: an open round moves to resolving when its last assignment is submitted."""

from collections.abc import Iterable

from django.db import transaction
from django.db.models import Q
from django.utils import timezone

from annotation.assignments import jobs as rule_jobs
from annotation.assignments.actions import states_and_leases as assignment_states
from annotation.assignments.queries import newest_annotation
from annotation.core.access import ADJUDICATOR, OWNER
from annotation.models import InboxLine, Membership, Round, RoundItem, Study


def finish_if_done(round_id: int) -> bool:
    """Moves an open round to resolving when its last assignment is in; call it after the commit of a submit.

    Two last submits at the same moment both see the other's row, because each looks after its own commit.
    """
    if not assignment_states.all_is_in(round_id):
        return False
    with transaction.atomic():
        round_ = Round.objects.select_for_update().get(pk=round_id)
        if not assignment_states.all_is_in(round_id):
            return False
        start_resolving(round_)
        return True


def finish_left(round_ids: Iterable[int]) -> None:
    """Moves rounds on that waited for someone who left the study; after the commit.

    Relabeling queues stay as they are: what they hold can be withheld from who acts, or from others because of what
    this person is asked as a third rater.
    """
    left = Round.objects.filter(pk__in=list(round_ids)).exclude(kind=Round.Kind.RELABEL).order_by("pk")
    for pk in left.values_list("pk", flat=True):
        finish_if_done(pk)


def start_resolving(round_: Round) -> None:
    """Moves a round that is held to resolving; the rules of its study follow, in a relabeling queue when asked for.

    There the time of what they decide would tell when the last answer came, which can be withheld.
    """
    round_.state, round_.resolving_at = Round.State.RESOLVING, timezone.now()
    ruling = Study.objects.filter(Q(third_rater=True) | Q(majority=True), pk=round_.study_id)
    has_rules = round_.kind != Round.Kind.RELABEL and ruling.exists()
    round_.ruled_at = None if has_rules else round_.resolving_at
    round_.ruled_until, round_.rules_error = newest_annotation(), ""
    round_.save(update_fields=["state", "resolving_at", "ruled_at", "ruled_until", "rules_error"])
    if has_rules:  # A message that is lost is sent again by the clock.
        rule_jobs.RULES.send_later(round_.pk)
    RoundItem.objects.filter(round=round_, n_free__gt=0).update(n_free=0)
    tell_round_waits(round_)


def tell_round_waits(round_: Round) -> None:
    """Tells owner and adjudicators that a round is to be resolved, unless all its items are for training."""
    if not RoundItem.objects.counting().filter(round=round_).exists():
        return
    deciding = Membership.objects.filter(study=round_.study_id, user__isnull=False, roles__overlap=[OWNER, ADJUDICATOR])
    InboxLine.objects.bulk_create(
        [InboxLine(member=each, kind=InboxLine.Kind.RESOLVING, round=round_) for each in deciding],
        ignore_conflicts=True,
    )
