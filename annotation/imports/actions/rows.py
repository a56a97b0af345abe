"""Rows of imported answers and resolutions, written in few statements."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from hashlib import sha256
from typing import Any

from django.db import connection
from django.db.models import F, OuterRef, Subquery
from django.utils import timezone

from accounts.models import User
from annotation.assignments.actions.states_and_leases import submit_imported
from annotation.assignments.queries import (
    counted_third,
    may_have_it_queued,
    read_elsewhere,
    rounds_elsewhere,
    unblinded_among,
)
from annotation.core.audit import record
from annotation.core.imported import MARK
from annotation.core.member_lists import code_order
from annotation.imports.sheets import ReadAnswer, ReadDecision
from annotation.labels.consensus import PENDING, Values
from annotation.labels.queries.read_before import CAME_INTO_ROUND
from annotation.labels.value_rows import value_columns
from annotation.models import (
    Annotation,
    Assignment,
    Item,
    Membership,
    Proposal,
    Resolution,
    ResolutionValue,
    Round,
    RoundItem,
    RoundRater,
)
from annotation.models.assignment_kinds import RATERS, kind_of
from ingest.upsert.copying import copy, copy_while_made, new_ids
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
    is_beside: bool = False
    """Given by a third or a model rater, who holds no place of the item."""
    is_unblinded: bool = False
    """By a third rater who could read the answers before."""


@dataclass(frozen=True)
class NewDecision:
    """A decision to be stored."""

    item: Item
    decided: ReadDecision
    revision: int = 1


def n_ratings(parts: Iterable[Mapping[str, Values]]) -> int:
    """How many ratings these labels are, as files of ratings have them: one per dimension, also of several values."""
    return sum(len(part) for part in parts)


@dataclass(frozen=True, slots=True)
class _Place:
    """The assignment that an answer is stored for, by its number; slot and position of a new one."""

    assignment: int
    is_blind: bool
    slot: int | None = None
    position: int = 0
    is_unblinded: bool = False


_VALUES = ("category_id", "proposal_id", "boolean", "number", "text")
_RATING = ["annotation_id", "round_id", "item_id", "rater_id", "part", "dimension_id", *_VALUES]
_ANNOTATION = [
    "id", "assignment_id", "rater_id", "revision", "snapshot_id", "skip_reason", "n_parts", "memo", "part_memos",
    "seconds", "is_flagged", "n_proposals", "answers_digest", "idempotency_key", "request_digest", "submitted_by_id",
    "created_at",
]  # fmt: skip


@dataclass
class RoundWriter:
    """Keeps the places of a round's items and raters while answers come in, and writes them."""

    round_: Round
    tree: VersionTree
    user: User
    is_new: bool = False
    """Whether nothing is in the round but what is written here."""
    n_ratings: int = 0
    n_decided: int = 0
    n_left_blank: int = 0
    _position: int = 0
    _slots: dict[int, int] = field(default_factory=lambda: defaultdict(int))
    _places: dict[int, RoundItem] = field(default_factory=dict)
    _raters: dict[int, RoundRater] = field(default_factory=dict)
    _of_round: set[int] = field(default_factory=set)
    _third: dict[int, tuple[int, int]] = field(default_factory=dict)
    _could_read: set[int] = field(default_factory=set)
    _could_read_sheets: set[int] = field(default_factory=set)
    _read_elsewhere: dict[int, set[int]] = field(default_factory=dict)
    _marked: set[str] = field(default_factory=set)
    _left: set[int] = field(default_factory=set)
    _joined: set[int] = field(default_factory=set)

    def __post_init__(self) -> None:
        last = RoundItem.objects.filter(round=self.round_).order_by("-position").values_list("position", flat=True)
        self._position = last.first() or 0
        self._raters = {row.rater_id: row for row in RoundRater.objects.filter(round=self.round_)}
        self._third = {} if self.is_new else counted_third(self.round_)
        if left := {pk for pk, row in self._raters.items() if row.left_at is not None}:  # with an answer they are blind
            given = Assignment.objects.filter(RATERS, round=self.round_, rater__in=left, state__in=Assignment.FINISHED)
            self._left = left.difference(given.order_by().values_list("rater_id", flat=True))

    def mark_unblinded(self, members: Sequence[Membership], items: Collection[int]) -> None:
        """Marks those of these members who could read answers given in Concord: who joins now as a rater who could.

        Of raters who are in the round already, only what the sheet adds to it is marked. Who joins and could only read
        answers that came from sheets is marked for what they answer in Concord: they may have filled in the sheet
        before any was imported. In a round that is being resolved, what the sheet adds is like answers of third raters:
        reading labels of its `items` in other rounds counts, too.
        """
        if not members:
            return
        if self.round_.state == Round.State.RESOLVING:
            others = rounds_elsewhere(self.round_, items)
            given_here = _with_answers_of_concord(others)
            told = {round_: there for round_, there in others.items() if round_.pk in given_here}
            self._read_elsewhere = read_elsewhere(self.round_, told, items, members)
            for item, raters in may_have_it_queued(self.round_, items).items():
                self._read_elsewhere[item] |= raters
        rows = self._raters
        before = {pk for pk, row in rows.items() if row.unblinded}
        could_read = unblinded_among(self.round_, members, rows) - before
        joining = {pk for pk in could_read if pk not in rows or rows[pk].left_at is not None}
        if not _with_answers_of_concord([self.round_]):
            self._could_read_sheets = joining if self.round_.state == Round.State.OPEN else set()
            return
        self._could_read = could_read
        for pk in joining:
            self._row(pk).unblinded = True

    @property
    def marked(self) -> list[str]:
        """The codes of those of whom answers were written as unblinded because they could read others."""
        return sorted(self._marked, key=code_order)

    def start_unblinded(self, members: Sequence[Membership]) -> None:
        """Marks raters of a new round who were not blind where its answers were given."""
        for member in members:
            self._row(member.pk).unblinded = True

    def write(self, items: Sequence[Item], answers: Sequence[NewAnswer], decisions: Sequence[NewDecision]) -> None:
        """Stores the answers and decisions of these items; places are given in the order of `items`."""
        self._place(items, answers)
        self._answer(answers)
        self._decide(decisions)

    def _place(self, items: Sequence[Item], answers: Sequence[NewAnswer]) -> None:
        """Gives every item a place in the round, and a slot more for each new rater of it."""
        n_new: dict[int, int] = defaultdict(int)
        for answer in answers:
            if _takes_a_slot(answer):
                n_new[answer.item.id] += 1
        known = [item.id for item in items if not self.is_new or item.id in self._slots]
        standing = {row.item_id: row for row in RoundItem.objects.filter(round=self.round_, item__in=known)}
        made = []
        for item in items:
            row = standing.get(item.id)
            self._slots[item.id] = row.n_raters if row else 0
            if row is None:
                self._position += 1
                made.append((self.round_.id, item.id, self._position, n_new[item.id], 0))
        copy("annotation_rounditem", ["round_id", "item_id", "position", "n_raters", "n_free"], made)
        grown: dict[int, list[int]] = defaultdict(list)
        for item_id, row in standing.items():
            if n_new[item_id]:
                grown[n_new[item_id]].append(row.pk)
        for n, rows in grown.items():
            RoundItem.objects.filter(pk__in=rows).update(n_raters=F("n_raters") + n)

    def _assign(self, answers: Sequence[NewAnswer]) -> list[_Place]:
        """Where each answer goes, in order: a new assignment, whose number is drawn here, or the one that stands."""
        numbers = iter(new_ids("annotation_assignment", sum(answer.assignment is None for answer in answers)))
        never_blind = {pk for pk, row in self._raters.items() if row.unblinded}
        found: list[_Place] = []
        for answer in answers:
            row = self._row(answer.rater.pk)
            assignment = answer.assignment
            could_read = answer.rater.id in self._could_read | self._read_elsewhere.get(answer.item.id, set())
            if could_read:
                self._marked.add(answer.rater.code or "")
            is_unblinded = answer.is_unblinded or (could_read and not row.unblinded)
            is_blind = answer.rater.id not in never_blind and not answer.is_later and not is_unblinded
            slot = None
            if _takes_a_slot(answer):
                self._slots[answer.item.id] += 1
                slot = self._slots[answer.item.id]
            if kind_of(slot, answer.rater.kind) != Assignment.Kind.THIRD:
                self._of_round.add(answer.rater.id)
            if assignment is None:
                row.n_assigned += 1
                row.n_finished += 1
                found.append(_Place(next(numbers), is_blind, slot, row.n_assigned, is_unblinded))
                continue
            if assignment.state not in Assignment.FINISHED:
                is_back = submit_imported(assignment, slot)
                # In a pool the count includes what was withdrawn.
                row.n_assigned += is_back and self.round_.mode == Round.Mode.PLANNED
                row.n_finished += 1
            found.append(_Place(assignment.pk, is_blind and not assignment.unblinded))
        return found

    def _row(self, rater: int) -> RoundRater:
        """The row of a rater (by the membership's id): a new one counts what they are asked as a third rater, too."""
        if rater not in self._raters:
            n, n_done = self._third.get(rater, (0, 0))
            self._raters[rater] = RoundRater(round=self.round_, rater_id=rater, n_assigned=n, n_finished=n_done)
        return self._raters[rater]

    def _note_joined(self, answers: Sequence[NewAnswer]) -> None:
        """Records who joins the open round by these answers, before they are stored: until now they were not blind."""
        study, number = self.round_.study, self.round_.number
        for member in {answer.rater.pk: answer.rater for answer in answers}.values():
            row = self._raters[member.pk]
            is_new = member.pk in self._of_round - self._joined and (row.pk is None or member.pk in self._left)
            if is_new and self.round_.state == Round.State.OPEN:
                self._joined.add(member.pk)
                is_unblinded = row.unblinded or member.pk in self._could_read_sheets
                said = {"unblinded": True} if is_unblinded else {}
                record(study=study, user=self.user, verb=CAME_INTO_ROUND, round=number, rater=member.code, **said)

    def _answer(self, answers: Sequence[NewAnswer]) -> None:
        """Stores answers, then the assignments that point to them, then their ratings, for triggers to compare."""
        places = self._assign(answers)
        self._note_joined(answers)
        annotations = new_ids("annotation_annotation", len(answers))
        now = timezone.now()
        copy_while_made(
            "annotation_annotation",
            _ANNOTATION,
            (
                self._annotation(number, place, answer, now)
                for number, place, answer in zip(annotations, places, answers, strict=True)
            ),
        )
        copy_while_made(
            "annotation_assignment",
            ["id", "round_id", "item_id", "rater_id", "slot", "state", "position", "current_id", "blind_id",
             "unblinded"],
            (
                (place.assignment, self.round_.id, answer.item.id, answer.rater.id, place.slot,
                 str(Assignment.State.SUBMITTED), place.position, number, number if place.is_blind else None,
                 place.is_unblinded)
                for number, place, answer in zip(annotations, places, answers, strict=True)
                if answer.assignment is None
            ),
        )  # fmt: skip
        asked = [
            (place, number, dimension, part.proposals[dimension.key])
            for place, answer in enumerate(answers)
            for number, part in enumerate(answer.read.parts, start=1)
            if part.proposals
            for dimension in self.tree.dimensions
            if dimension.key in part.proposals
        ]
        proposals = Proposal.objects.bulk_create(
            [
                Proposal(
                    annotation_id=annotations[place],
                    round_id=self.round_.id,
                    item_id=answers[place].item.id,
                    proposed_by_id=answers[place].rater.id,
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
        copy_while_made("annotation_rating", _RATING, self._ratings(answers, annotations, ids))
        self.n_ratings += sum(n_ratings(part.values for part in answer.read.parts) for answer in answers)
        self._point(answers, places)

    def _ratings(
        self, answers: Sequence[NewAnswer], annotations: Sequence[int], proposals: Mapping[tuple[int, int, str], int]
    ) -> Iterator[tuple[Any, ...]]:
        """The rows of ratings, in the order of `_RATING`; the columns of equal labels are made once."""
        known: dict[tuple[str, Values], list[tuple[Any, ...]]] = {}
        round_id = self.round_.id
        for place, answer in enumerate(answers):
            of_answer = annotations[place], round_id, answer.item.id, answer.rater.id
            for number, part in enumerate(answer.read.parts, start=1):
                for dimension in self.tree.dimensions:
                    key = dimension.key
                    if key not in part.values:
                        continue
                    values = part.values[key]
                    rows = known.get((key, values)) if dimension.has_categories else None
                    if rows is None:
                        columns = value_columns(dimension, values, proposals.get((place, number, key)))
                        rows = [(dimension.id, *map(each.get, _VALUES)) for each in columns]
                        if dimension.has_categories and PENDING not in values:
                            known[key, values] = rows
                    for row in rows:
                        yield *of_answer, number, *row

    def _point(self, answers: Sequence[NewAnswer], places: Sequence[_Place]) -> None:
        """Has assignments that stood before point to their newest revision."""
        newest = Annotation.objects.filter(assignment=OuterRef("pk")).order_by("-revision").values("pk")[:1]
        stood = [place for answer, place in zip(answers, places, strict=True) if answer.assignment is not None]
        for is_blind in (True, False):
            found = [place.assignment for place in stood if place.is_blind == is_blind]
            if found:
                pointers = {"current": Subquery(newest)} | ({"blind": Subquery(newest)} if is_blind else {})
                Assignment.objects.filter(pk__in=found).update(**pointers)

    def _annotation(self, number: int, place: _Place, answer: NewAnswer, now: datetime) -> tuple[Any, ...]:
        """The row of an answer, in the order of `_ANNOTATION`."""
        parts = answer.read.parts
        memos = tuple(part.memo for part in parts)
        # The digest of a list of the three, written out because this is done for every answer.
        request = sha256(f'[{self.round_.id},{answer.item.id},"{answer.answers_digest}"]'.encode()).hexdigest()
        current = answer.assignment.current if answer.assignment else None
        return (
            number, place.assignment, answer.rater.id, current.revision + 1 if current else 1, answer.item.snapshot_id,
            "", len(parts), "", memos if any(memos) else (), answer.read.seconds, False,
            sum(len(part.proposals) for part in parts), answer.answers_digest, f"{MARK}{request}", request,
            self.user.id, now,
        )  # fmt: skip

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
                    decided_by=self.user,
                    **each.decided.notes.columns(),
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
        """Writes how much each rater was given and has done; who was asked as a third rater alone is none of these."""
        for pk in self._could_read_sheets & self._raters.keys():
            self._raters[pk].unblinded = True
        rows = list(self._raters.values())
        RoundRater.objects.bulk_create([row for row in rows if row.pk is None and row.rater_id in self._of_round])
        there = [row for row in rows if row.pk is not None]
        RoundRater.objects.bulk_update(there, ["n_assigned", "n_finished", "unblinded"])
        if there:  # as the database does where an assignment comes to point to an answer
            with connection.cursor() as cursor:
                raters = [row.rater_id for row in there]
                cursor.execute("SELECT annotation_count_up_raters(%s, %s)", [[self.round_.id] * len(raters), raters])


def _with_answers_of_concord(rounds: Iterable[Round]) -> set[int]:
    """The rounds (ids) with an answer that came with no sheet; one query."""
    given = Annotation.objects.filter(assignment__round__in=[round_.pk for round_ in rounds])
    given = given.exclude(idempotency_key__startswith=MARK)
    return set(given.order_by().values_list("assignment__round", flat=True).distinct())


def _takes_a_slot(answer: NewAnswer) -> bool:
    """Whether the item needs a slot more: not where the rater was given it before and has it still, or holds none.

    Who is asked about the item as a third rater becomes one of its raters, as if they had not been asked: or else what
    the sheet adds would show whether they were, and so whether others differ.
    """
    if answer.is_beside:
        return False
    there = answer.assignment
    if there is None or there.state == Assignment.State.WITHDRAWN:
        return True
    is_asked = kind_of(there.slot, answer.rater.kind) == Assignment.Kind.THIRD
    return is_asked and there.state in Assignment.UNFINISHED
