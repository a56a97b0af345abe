"""Rules job: accepts majorities and assigns third raters, in batches, never in a rater's request."""

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from datetime import timedelta
from typing import Any

from django.db import transaction
from django.db.models import Exists, OuterRef, Q, QuerySet
from django.db.models.functions import Coalesce
from django.utils import timezone

from annotation.assignments.actions.third_raters import ask_third_raters, withdraw_where_settled
from annotation.assignments.queries import newest_annotation
from annotation.assignments.rules import Ruling, ruling
from annotation.core.access import hold_state
from annotation.core.locks import waits_for_queue
from annotation.labels.consensus import Verdict
from annotation.labels.queries.resolution_facts import arbiters_of, changed_arbiters_of
from annotation.labels.queries.verdicts import ItemVerdicts, round_verdicts
from annotation.models import Assignment, AuditEvent, Resolution, ResolutionValue, Round, RoundItem, Study
from shared.job_holds import JobLockKind, are_held, hold_job, place
from shared.job_time_limits import BATCHES, TaskTurn
from shared.jobs import Work
from taxonomy.queries import published_version
from taxonomy.tree import VersionTree

BATCH = 200
LOST_SECONDS = 10
"""How long rules wait until they are sent again: a round does not show that a worker began, and died."""

Touched = Collection[tuple[int, int, str]]


class RulesJob(Work):
    """The applying of rules; that they wait, were applied or failed is marked in the round."""

    lock, task = JobLockKind.RULES, "annotation.tasks.rule_round"
    limits = BATCHES
    advice = "Resolutions by the rules are saved. Apply the rules again when the server is less busy."

    def work(self, pk: int, *, turn_seconds: float | None = None) -> bool:
        return rule_round(pk, turn_seconds=turn_seconds)

    def end_over_limit(self, pk: int) -> None:
        """Notes that the worker was stopped at its time limit; the rules are applied again only by hand."""
        Round.objects.filter(pk=pk).update(rules_error=self.over_limit_sentence())

    def sweep(self, lost_seconds: float = LOST_SECONDS) -> list[int]:
        """Rounds that are being resolved for so long and to which the rules of their study were not applied.

        Those at which a worker is, however long it takes, and those that failed are left out; two queries.
        """
        since = timezone.now() - timedelta(seconds=lost_seconds)
        has_rules = Q(study__third_rater=True) | Q(study__majority=True)
        rows = _ready().filter(has_rules, state=Round.State.RESOLVING, ruled_at=None, resolving_at__lt=since)
        waiting = list(rows.order_by("pk").values_list("pk", flat=True))
        at_work = are_held(self.lock) if waiting else set()
        return [pk for pk in waiting if place(pk) not in at_work]


class AnswersJob(RulesJob):
    """The applying of rules to single items that were answered, which has a schedule of its own."""

    task = "annotation.tasks.rule_answers"

    def work(self, pk: int, *, turn_seconds: float | None = None) -> bool:
        return rule_answers(pk, turn_seconds=turn_seconds)

    def sweep(self, lost_seconds: float = LOST_SECONDS) -> list[int]:
        return []


RULES, ANSWERS = RulesJob(), AnswersJob()


def rule_round(round_id: int, *, turn_seconds: float | None = None) -> bool:
    """Applies the rules to all of a round that is being resolved, and marks it; for another one it does nothing.

    Whether it is to go on, for its turn was over. A study that is archived keeps its round waiting until it is worked
    on again.

    Each batch is one transaction that holds its items, and looks at them anew; so killed anywhere and run again, or
    run twice at once, it decides nothing twice and asks nobody twice. How far it is, and until which answer it looks,
    is in the round; where both are not as it left them, another worker began or the owner asked for the rules again,
    and it ends.
    """
    turn = TaskTurn(turn_seconds)
    round_ = _ready().filter(pk=round_id, state=Round.State.RESOLVING, ruled_at=None).first()
    if round_ is None:
        return False
    with hold_job(JobLockKind.RULES, round_id):
        if not round_.ruled_to:
            round_.ruled_until = _newest_answer(round_id)
            if not Round.objects.filter(pk=round_id, ruled_at=None, ruled_to=0).update(ruled_until=round_.ruled_until):
                return False
        waiting: list[int] = []
        for each in round_verdicts(round_, disputed_only=True, after_position=round_.ruled_to):
            if _is_disputed(each):
                waiting.append(each.round_item.item_id)
            if len(waiting) < BATCH and not turn.is_over():
                continue
            if not (rule_items(round_id, waiting) and _move(round_, ruled_to=each.round_item.position)):
                return False
            if turn.is_over():
                return True
            waiting = []
        if rule_items(round_id, waiting):
            _move(round_, ruled_at=timezone.now(), ruled_to=0)
    return False


def _ready() -> QuerySet[Round]:
    """The rounds to which rules can be applied now; relabeling queues opened after them come first."""
    working = Round.objects.filter(study__archived_at=None, rules_error="").exclude(waits_for_queue())
    return working.select_related("study")


def _move(round_: Round, **changes: Any) -> bool:
    """Notes how far the rules are in a round; nothing where another worker moved them meanwhile."""
    working = Study.objects.filter(archived_at=None)
    as_left = Round.objects.filter(pk=round_.pk, state=round_.state, ruled_at=round_.ruled_at, study__in=working)
    if not as_left.filter(ruled_to=round_.ruled_to, ruled_until=round_.ruled_until).update(**changes):
        return False
    for name, value in changes.items():
        setattr(round_, name, value)
    return True


def rule_answers(round_id: int, *, turn_seconds: float | None = None) -> bool:
    """Applies the rules to the items of a round that were answered since the last time; nothing for other rounds.

    Whether it is to go on, for its turn was over. Takes steps like `rule_round`, the answers in the order of their age,
    so killed anywhere and run again, or run twice at once, it decides nothing twice.
    """
    turn = TaskTurn(turn_seconds)
    round_ = _with_new_answers().filter(pk=round_id).first()
    if round_ is None:
        return False
    with hold_job(JobLockKind.RULES, round_id):
        until = _newest_answer(round_id)
        rows = Assignment.objects.filter(round=round_id, current__lte=until).order_by("current")
        answered = rows.values_list("current", "item")
        while batch := list(answered.filter(current__gt=round_.ruled_until or 0)[:BATCH]):
            judged = round_verdicts(round_, items={item for _, item in batch})
            disputed = [each.round_item.item_id for each in judged if _is_disputed(each)]
            if not (rule_items(round_id, disputed) and _move(round_, ruled_until=batch[-1][0])):
                return False
            if turn.is_over():
                return True
    return False


def rounds_with_new_answers() -> list[int]:
    """Rounds that `rule_answers` has work in and no worker is at; two queries, one index probe per round under way."""
    waiting = list(_with_new_answers().order_by("pk").values_list("pk", flat=True))
    at_work = are_held(JobLockKind.RULES) if waiting else set()
    return [pk for pk in waiting if place(pk) not in at_work]


def _with_new_answers() -> QuerySet[Round]:
    """Rounds whose rules act on single items, and in which an answer came since they were last applied.

    No relabeling queues: whether an act followed an answer there would tell whether the queue had ended by then.
    """
    has_rules = Q(study__third_rater=True) | Q(study__majority=True)
    item_by_item = Q(state=Round.State.OPEN, study__resolve_when=Study.ResolveWhen.ITEM)
    ruled_once = Q(state=Round.State.RESOLVING, ruled_at__isnull=False)
    newer = Assignment.objects.filter(round=OuterRef("pk"), current__gt=Coalesce(OuterRef("ruled_until"), 0))
    ready = _ready().exclude(kind=Round.Kind.RELABEL)
    return ready.filter(has_rules, item_by_item | ruled_once).filter(Exists(newer))


@transaction.atomic
def _newest_answer(round_id: int) -> int:
    """The newest annotation; no answer that the round gets from now on has a smaller id.

    Every submit holds the state of its round before it takes an id, so once this got the row no submit is under way.
    """
    Round.objects.select_for_update(no_key=True).get(pk=round_id)
    return newest_annotation()


@transaction.atomic
def rule_items(round_id: int, items: Sequence[int]) -> bool:
    """Applies the rules of the study to some items: decides what they decide, then asks third raters for the rest.

    A place that someone decided or reopened is left to people. Whether rules apply to the round now.
    """
    state = hold_state(round_id)
    round_ = Round.objects.select_related("study").annotate(waits=waits_for_queue()).get(pk=round_id)
    study = round_.study
    item_by_item = state == Round.State.OPEN and study.is_resolved_by_item
    if (
        round_.waits
        or study.archived_at is not None
        or not study.has_rules
        or not (state == Round.State.RESOLVING or item_by_item)
    ):
        return False
    if not items:
        return True
    list(RoundItem.objects.select_for_update().filter(round=round_, item__in=items).order_by("position"))
    tree = published_version(round_.taxonomy_version_id)
    touched = _touched(round_, tree, items)
    codes = arbiters_of(round_, items)
    changed = changed_arbiters_of(round_, items)
    still_open: list[int] = []
    waiting: Sequence[int] = list(items)
    n_decided: Counter[str] = Counter()
    while waiting:
        ruled: list[int] = []
        for each in round_verdicts(round_, items=waiting):
            item = each.round_item.item_id
            made = _rulings(each, study, touched, codes.get(item, ()), changed.get(item, ()))
            if made:
                _decide(round_, tree, item, made)
                ruled.append(item)
                n_decided.update(decided.method for _, decided in made)
                touched |= {(item, verdict.part, verdict.dimension) for verdict, _ in made}
            elif any(_is_for_rules(v) and (item, v.part, v.dimension) not in touched for v in each.verdicts):
                still_open.append(item)
        waiting = ruled  # What hangs on a decision comes to light when it is taken.
    if study.third_rater and round_.kind != Round.Kind.RELABEL:
        asked = ask_third_raters(round_, [item for item in still_open if item not in codes])
        if asked:
            _record(round_, "third raters asked by rule", items=len(asked))
    if n_decided:
        _record(round_, "decided by rule", **n_decided)
        withdraw_where_settled(round_, items)
    return True


def _record(round_: Round, verb: str, **detail: object) -> None:
    AuditEvent.objects.create(study_id=round_.study_id, user=None, verb=verb, detail={"round": round_.number, **detail})


def _is_disputed(each: ItemVerdicts) -> bool:
    return any(_is_for_rules(verdict) for verdict in each.verdicts)


def _is_for_rules(verdict: Verdict) -> bool:
    return verdict.state == "open" and verdict.reason == "differ" and verdict.replaces is None


def _touched(round_: Round, tree: VersionTree, items: Sequence[int]) -> set[tuple[int, int, str]]:
    rows = Resolution.objects.filter(round=round_, item__in=items).values_list("item_id", "part", "dimension_id")
    return {(item, part, tree.by_id[dimension].key) for item, part, dimension in rows}


def _rulings(
    each: ItemVerdicts, study: Study, touched: Touched, arbiters: Collection[str], not_blind: Collection[str]
) -> list[tuple[Verdict, Ruling]]:
    found = []
    for verdict in each.verdicts:
        if (each.round_item.item_id, verdict.part, verdict.dimension) in touched:
            continue
        made = ruling(verdict, arbiters, third_rater=study.third_rater, majority=study.majority, not_blind=not_blind)
        if made is not None:
            found.append((verdict, made))
    return found


def _decide(round_: Round, tree: VersionTree, item: int, made: Iterable[tuple[Verdict, Ruling]]) -> None:
    for verdict, decided in made:
        dimension = tree.by_key[verdict.dimension]
        resolution = Resolution.objects.create(
            round=round_,
            item_id=item,
            part=verdict.part,
            dimension_id=dimension.id,
            revision=1,
            method=decided.method,
            **decided.notes.columns(),
        )
        ResolutionValue.objects.bulk_create(
            ResolutionValue(resolution=resolution, category_id=dimension.by_key[str(value)].id)
            if dimension.has_categories
            else ResolutionValue(resolution=resolution, **{dimension.column: value})
            for value in decided.values
        )
