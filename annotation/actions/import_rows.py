"""Writes imported answers and decisions of one round in few statements, a thousand items at a time."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field

from django.db.models import F, OuterRef, Subquery

from accounts.models import User
from annotation.actions.rows import value_columns
from annotation.answers import digest
from annotation.models import (
    Annotation,
    Assignment,
    Item,
    Membership,
    Proposal,
    Rating,
    Resolution,
    ResolutionValue,
    Round,
    RoundItem,
    RoundRater,
)
from annotation.queries.giving import unblinded_among
from annotation.queries.imports import MARK
from annotation.queries.verdicts import code_order
from annotation.sheets import Decided, ReadAnswer
from taxonomy.tree import VersionTree

BATCH = 5_000


@dataclass(frozen=True)
class NewAnswer:
    """An answer to be stored: for a new assignment, or as the next revision on one that stands."""

    item: Item
    rater: Membership
    read: ReadAnswer
    answers_digest: str
    assignment: Assignment | None = None
    is_later: bool = False
    """Given after discussion: the blind answer stays."""


@dataclass(frozen=True)
class NewDecision:
    """A decision to be stored."""

    item: Item
    decided: Decided
    revision: int = 1


@dataclass
class RoundWriter:
    """Keeps the places of a round's items and raters while answers come in, and writes them."""

    round_: Round
    tree: VersionTree
    user: User
    n_ratings: int = 0
    n_decided: int = 0
    n_left_blank: int = 0
    _position: int = 0
    _slots: dict[int, int] = field(default_factory=lambda: defaultdict(int))
    _places: dict[int, RoundItem] = field(default_factory=dict)
    _raters: dict[int, RoundRater] = field(default_factory=dict)

    def __post_init__(self) -> None:
        last = RoundItem.objects.filter(round=self.round_).order_by("-position").values_list("position", flat=True)
        self._position = last.first() or 0
        self._raters = {row.rater_id: row for row in RoundRater.objects.filter(round=self.round_)}

    def mark_unblinded(self, members: Sequence[Membership]) -> list[str]:
        """Marks those of these members who join only now and could read answers given in Concord; their codes.

        Answers that came from sheets don't count: raters may have filled in theirs before any was imported.
        """
        rows = self._raters
        joining = [each for each in members if each.pk not in rows or rows[each.pk].left_at is not None]
        if not joining or not self._has_answers_of_concord():
            return []
        found = unblinded_among(self.round_, joining, rows)
        for pk in found:
            rows.setdefault(pk, RoundRater(round=self.round_, rater_id=pk)).unblinded = True
        return sorted((member.code or "" for member in joining if member.pk in found), key=code_order)

    def start_unblinded(self, members: Sequence[Membership]) -> None:
        """Marks raters of a new round who were not blind where its answers were given."""
        for member in members:
            self._rater(member).unblinded = True

    def _has_answers_of_concord(self) -> bool:
        given = Annotation.objects.filter(assignment__round=self.round_)
        return given.exclude(idempotency_key__startswith=MARK).exists()

    def write(self, items: Sequence[Item], answers: Sequence[NewAnswer], decisions: Sequence[NewDecision]) -> None:
        """Stores the answers and decisions of these items; places are given in the order of `items`."""
        self._place(items, answers)
        assignments = self._assign(answers)
        self._answer(answers, assignments)
        self._decide(decisions)

    def _place(self, items: Sequence[Item], answers: Sequence[NewAnswer]) -> None:
        """Gives every item a place in the round, and a slot more for each new rater of it."""
        n_new: dict[int, int] = defaultdict(int)
        for answer in answers:
            if not _holds_a_slot(answer):
                n_new[answer.item.pk] += 1
        standing = {
            row.item_id: row for row in RoundItem.objects.filter(round=self.round_, item__in=[i.pk for i in items])
        }
        made = []
        for item in items:
            row = standing.get(item.pk)
            self._slots[item.pk] = row.n_raters if row else 0
            if row is None:
                self._position += 1
                made.append(RoundItem(round=self.round_, item=item, position=self._position, n_raters=n_new[item.pk]))
        RoundItem.objects.bulk_create(made, batch_size=BATCH)
        grown: dict[int, list[int]] = defaultdict(list)
        for item_id, row in standing.items():
            if n_new[item_id]:
                grown[n_new[item_id]].append(row.pk)
        for n, rows in grown.items():
            RoundItem.objects.filter(pk__in=rows).update(n_raters=F("n_raters") + n)

    def _assign(self, answers: Sequence[NewAnswer]) -> list[Assignment]:
        """The assignment of each answer, in order; all of them submitted."""
        found: list[Assignment] = []
        made: list[Assignment] = []
        for answer in answers:
            row = self._rater(answer.rater)
            assignment = answer.assignment
            if not _holds_a_slot(answer):
                self._slots[answer.item.pk] += 1
            if assignment is None:
                row.n_assigned += 1
                row.n_finished += 1
                assignment = Assignment(
                    round=self.round_,
                    item=answer.item,
                    rater=answer.rater,
                    slot=self._slots[answer.item.pk],
                    state=Assignment.State.SUBMITTED,
                    position=row.n_assigned,
                )
                made.append(assignment)
            elif assignment.state not in Assignment.FINISHED:
                is_back = assignment.state == Assignment.State.WITHDRAWN
                row.n_assigned += is_back
                row.n_finished += 1
                assignment.slot = self._slots[answer.item.pk] if is_back else assignment.slot
                assignment.state = Assignment.State.SUBMITTED
                assignment.lease_until = None
                assignment.save(update_fields=["slot", "state", "lease_until"])
            found.append(assignment)
        Assignment.objects.bulk_create(made, batch_size=BATCH)
        return found

    def _rater(self, rater: Membership) -> RoundRater:
        if rater.pk not in self._raters:
            self._raters[rater.pk] = RoundRater(round=self.round_, rater=rater)
        return self._raters[rater.pk]

    def _answer(self, answers: Sequence[NewAnswer], assignments: Sequence[Assignment]) -> None:
        annotations = Annotation.objects.bulk_create(
            [self._annotation(answer, assignment) for answer, assignment in zip(answers, assignments, strict=True)],
            batch_size=BATCH,
        )
        asked = [
            (place, number, dimension, part.proposals[dimension.key])
            for place, answer in enumerate(answers)
            for number, part in enumerate(answer.read.parts, start=1)
            for dimension in self.tree.dimensions
            if dimension.key in part.proposals
        ]
        proposals = Proposal.objects.bulk_create(
            [
                Proposal(
                    annotation=annotations[place],
                    round_id=self.round_.pk,
                    item_id=answers[place].item.pk,
                    proposed_by_id=answers[place].rater.pk,
                    part=number,
                    dimension_id=dimension.id,
                    name=each.name,
                    memo=each.memo,
                )
                for place, number, dimension, each in asked
            ],
            batch_size=BATCH,
        )
        ids = {
            (place, number, dimension.key): row.pk
            for (place, number, dimension, _), row in zip(asked, proposals, strict=True)
        }
        ratings = [
            Rating(
                annotation=annotation,
                round_id=self.round_.pk,
                item_id=answer.item.pk,
                rater_id=answer.rater.pk,
                part=number,
                dimension_id=dimension.id,
                **columns,
            )
            for place, (answer, annotation) in enumerate(zip(answers, annotations, strict=True))
            for number, part in enumerate(answer.read.parts, start=1)
            for dimension in self.tree.dimensions
            if dimension.key in part.values
            for columns in value_columns(dimension, part.values[dimension.key], ids.get((place, number, dimension.key)))
        ]
        Rating.objects.bulk_create(ratings, batch_size=BATCH)
        self.n_ratings += len(ratings)
        newest = Annotation.objects.filter(assignment=OuterRef("pk")).order_by("-revision").values("pk")[:1]
        never_blind = {pk for pk, row in self._raters.items() if row.unblinded}
        stays = {each.pk for each, answer in zip(assignments, answers, strict=True) if answer.is_later}
        for is_blind in (True, False):
            found = [
                each.pk
                for each in assignments
                if is_blind != (each.rater_id in never_blind or each.unblinded or each.pk in stays)
            ]
            if found:
                pointers = {"current": Subquery(newest)} | ({"blind": Subquery(newest)} if is_blind else {})
                Assignment.objects.filter(pk__in=found).update(**pointers)

    def _annotation(self, answer: NewAnswer, assignment: Assignment) -> Annotation:
        parts = answer.read.parts
        memos = [part.memo for part in parts]
        request = digest([self.round_.pk, answer.item.pk, answer.answers_digest])
        current = assignment.current
        return Annotation(
            assignment=assignment,
            rater=answer.rater,
            revision=current.revision + 1 if current else 1,
            snapshot_id=answer.item.snapshot_id,
            n_parts=len(parts),
            part_memos=memos if any(memos) else [],
            seconds=answer.read.seconds,
            n_proposals=sum(len(part.proposals) for part in parts),
            answers_digest=answer.answers_digest,
            idempotency_key=f"{MARK}{request}",
            request_digest=request,
            submitted_by=self.user,
        )

    def _decide(self, decisions: Sequence[NewDecision]) -> None:
        resolutions = Resolution.objects.bulk_create(
            [
                Resolution(
                    round=self.round_,
                    item=each.item,
                    part=each.decided.part,
                    dimension_id=self.tree.by_key[each.decided.dimension].id,
                    revision=each.revision,
                    method=Resolution.Method.IMPORTED,
                    rationale=each.decided.rationale,
                    decided_by=self.user,
                )
                for each in decisions
            ],
            batch_size=BATCH,
        )
        ResolutionValue.objects.bulk_create(
            [
                ResolutionValue(resolution=resolution, **columns)
                for resolution, each in zip(resolutions, decisions, strict=True)
                for columns in value_columns(self.tree.by_key[each.decided.dimension], each.decided.values)
                if columns
            ],
            batch_size=BATCH,
        )
        n_blank = sum(not each.decided.values for each in decisions)
        self.n_left_blank += n_blank
        self.n_decided += len(decisions) - n_blank

    def finish(self) -> None:
        """Writes how much each rater was given and has done."""
        rows = list(self._raters.values())
        RoundRater.objects.bulk_create([row for row in rows if row.pk is None and row.n_assigned])
        RoundRater.objects.bulk_update(
            [row for row in rows if row.pk is not None], ["n_assigned", "n_finished", "unblinded"]
        )


def _holds_a_slot(answer: NewAnswer) -> bool:
    """Whether the rater was given the item before and has it still."""
    return answer.assignment is not None and answer.assignment.state != Assignment.State.WITHDRAWN
