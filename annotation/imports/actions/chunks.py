"""Chunks of a sheet: a thousand items at a time are stored, unchanged, completed, or rejected."""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from annotation.core.imported import MARK
from annotation.imports.actions.rows import NewAnswer, NewDecision, RoundWriter, n_ratings
from annotation.imports.queries.ratings import standing_assignments, standing_decisions
from annotation.imports.sheets import (
    Blank,
    GatheredSheet,
    ReadAnswer,
    ReadDecision,
    SheetRow,
    ValueReader,
    read_answer,
    read_decisions,
)
from annotation.labels.answers import answers_digest
from annotation.labels.consensus import Values
from annotation.labels.queries.verdicts import read_values
from annotation.models import Assignment, Item, Membership, Resolution, Round
from annotation.models.assignment_kinds import kind_of


@dataclass
class Chunk:
    """Some items of one round with their rows; `keys` and `label` are the sheet's, `hides` says what is hidden."""

    sheet: GatheredSheet
    label: str
    round_: Round
    is_new: bool
    keys: Sequence[str]
    rows: Mapping[tuple[str, str], Sequence[tuple[str, list[SheetRow]]]]
    members: Mapping[str, Membership]
    items: Mapping[str, Item]
    later: Mapping[tuple[str, str], Sequence[tuple[str, list[SheetRow]]]]
    reader: ValueReader
    hides: Callable[[Round, int], bool]
    n_unchanged: int = 0
    n_ratings_unchanged: int = 0
    """Ratings of the sheet that were there before, those of completed answers included."""
    told: set[tuple[int, int | None]] = field(default_factory=set)
    """Item and rater (by number) of answers with something in them; of items with resolutions alone no rater."""
    _answers: list[NewAnswer] = field(default_factory=list)
    _decisions: list[NewDecision] = field(default_factory=list)
    _contested: list[tuple[NewAnswer, list[SheetRow]]] = field(default_factory=list)
    _digests: dict[str, str] = field(default_factory=dict)
    _n_known: dict[int, int] = field(default_factory=lambda: defaultdict(int))

    def write(self, writer: RoundWriter) -> None:
        """Stores what is new; the rest is counted or refused in the sheet."""
        keys = [key for key in self.keys if not self._is_hidden(key)]
        ids = [] if self.is_new else [self.items[key].id for key in keys]
        standing = standing_assignments(self.round_, ids) if ids else {}
        for (item_id, _), assignment in standing.items():
            if assignment.current is not None:
                self._n_known[item_id] = max(self._n_known[item_id], assignment.current.n_parts)
        decided = standing_decisions(self.round_, self.reader.tree, ids) if ids else {}
        kept = []
        for key in keys:
            given = self._take_answers(key, standing)
            n_decisions = len(self._decisions)
            self._take_decisions(key, given, decided)
            is_decided = len(self._decisions) > n_decisions
            self.told |= {(self.items[key].id, None)} if is_decided else set()
            if is_decided or any(not read.is_blank for read in given):
                kept.append(self.items[key])
        self._complete(writer)
        writer.write(kept, self._answers, self._decisions)
        self._change(keys, writer)

    def _change(self, keys: Sequence[str], writer: RoundWriter) -> None:
        """Stores what raters changed after discussion, as further revisions of the answers that are there."""
        changed = [key for key in keys if (self.label, key) in self.later]
        if not changed:
            return
        there = standing_assignments(self.round_, [self.items[key].id for key in changed])
        answers = []
        for key in changed:
            numbers = self.sheet.part_numbers(self.label, key, self._n_known[self.items[key].id])
            for rater, rows in self.later[self.label, key]:
                assignment = there.get((self.items[key].id, self.members[rater].pk))
                read = read_answer(self.reader, rows, numbers, self.sheet.refuse)
                made = self._digest(read)
                current = assignment.current if assignment else None
                if current is not None and current.answers_digest == made:
                    self._is_there(read)
                elif self.is_new and current is not None:
                    answers.append(
                        NewAnswer(self.items[key], self.members[rater], read, made, assignment, is_later=True)
                    )
                else:
                    self._refuse(
                        rows, f"{rater} has other labels in round {self.round_.number}. They are not replaced."
                    )
        writer.write([], answers, [])

    def _is_hidden(self, key: str) -> bool:
        """Refuses all rows of an item of which the importer must not learn what others said, before anything is read.

        A report that compared them would tell who answered, and what.
        """
        if self.is_new or not self.hides(self.round_, self.items[key].id):
            return False
        answers = (rows for _, rows in self.rows.get((self.label, key), ()))
        for rows in (*answers, self.sheet.finals.get((self.label, key), ())):
            self._refuse(
                rows,
                f"The labels of {self.items[key]} in round {self.round_.number} are hidden from you for now, "
                "so none were imported for it.",
            )
        return True

    def _refuse(self, rows: Sequence[SheetRow], reason: str) -> None:
        for row in rows:
            self.sheet.refuse(row, reason)

    # Answers

    def _take_answers(self, key: str, standing: Mapping[tuple[int, int], Assignment]) -> list[ReadAnswer]:
        """Reads the answers of an item, all of which are handed back, and keeps those that are new."""
        numbers = self.sheet.part_numbers(self.label, key, self._n_known[self.items[key].id])
        item = self.items[key]
        read_of: dict[int, ReadAnswer] = {}
        for rater, rows in self.rows.get((self.label, key), ()):
            member = self.members[rater]
            if member.id in read_of:
                self._refuse(rows, f"{member} appears in this sheet under two names. This is the second submission.")
                continue
            read = read_answer(self.reader, rows, numbers, self.sheet.refuse)
            read_of[member.id] = read
            there = standing.get((item.id, member.id))
            if read.is_blank and (there is None or there.state not in Assignment.FINISHED):
                continue  # nothing that was read would end what they are to answer
            self.told.add((item.id, member.id))
            place = (self.label, key, rater)
            answer = NewAnswer(
                item,
                member,
                read,
                self._digest(read),
                there,
                is_beside=place in self.sheet.beside,
                is_unblinded=place in self.sheet.never_blind,
            )
            self._judge(answer, rows)
        return list(read_of.values())

    def _digest(self, read: ReadAnswer) -> str:
        """The digest of an answer's labels; that of equal ones is computed once, for many are equal."""
        told = [part.values for part in read.parts]
        key = repr(told)
        if key not in self._digests:
            self._digests[key] = answers_digest(told)
        return self._digests[key]

    def _judge(self, answer: NewAnswer, rows: list[SheetRow]) -> None:
        there = answer.assignment
        number = self.round_.number
        if there is None or there.state in Assignment.UNFINISHED or self._is_back(answer, there):
            self._answers.append(answer)
        elif there.state not in Assignment.FINISHED:
            self._refuse(
                rows,
                f"The assignment of {answer.rater} to {answer.item} was withdrawn, and round {number} is not open.",
            )
        elif self.round_.state == Round.State.OPEN:
            self._refuse(rows, f"{answer.rater} has already labeled {answer.item}, and round {number} is still open.")
        elif there.current is not None and there.current.answers_digest == answer.answers_digest:
            self._is_there(answer.read)
        else:
            self._contested.append((answer, rows))

    def _is_back(self, answer: NewAnswer, there: Assignment) -> bool:
        """Whether the sheet brings a withdrawn assignment back: in an open round, and that of a third rater always."""
        if there.state != Assignment.State.WITHDRAWN:
            return False
        return self.round_.state == Round.State.OPEN or kind_of(there.slot, answer.rater.kind) == Assignment.Kind.THIRD

    def _is_there(self, read: ReadAnswer) -> None:
        self.n_unchanged += 1
        self.n_ratings_unchanged += n_ratings(part.values for part in read.parts)

    def _complete(self, writer: RoundWriter) -> None:
        """An imported answer that only lacks values is completed by a further revision; any other one stands.

        A sheet with some of the values of an answer, and no other, changes nothing.
        """
        there_before = [
            (answer, rows, answer.assignment.current)
            for answer, rows in self._contested
            if answer.assignment and answer.assignment.current
        ]
        before = read_values(self.reader.tree, [current.pk for _, _, current in there_before]) if there_before else {}
        for answer, rows, current in there_before:
            parts = [before.get((current.pk, part), {}) for part in range(1, current.n_parts + 1)]
            told = [part.values for part in answer.read.parts]
            if _completes(told, parts):
                self._is_there(answer.read)
            elif current.idempotency_key.startswith(MARK) and _completes(parts, told):
                self._answers.append(answer)
                self.n_ratings_unchanged += n_ratings(parts)
                writer.n_ratings -= n_ratings(parts)
            else:
                self._refuse(
                    rows,
                    f"{answer.rater} labeled {answer.item} differently in round {self.round_.number}. "
                    "Submitted labels are not replaced.",
                )

    # Decisions

    def _take_decisions(
        self,
        key: str,
        given: Sequence[ReadAnswer],
        standing: Mapping[tuple[int, int, str], tuple[Resolution, Values]],
    ) -> None:
        rows = self.sheet.finals.get((self.label, key), ())
        if not rows:
            return
        if self.round_.state == Round.State.OPEN:
            self._refuse(
                rows, f"Round {self.round_.number} is open. Resolutions can be imported when its raters have finished."
            )
            return
        numbers = self.sheet.part_numbers(self.label, key, self._n_known[self.items[key].id])
        decided, blanks = read_decisions(self.reader, rows, numbers, self.sheet.refuse)
        for each in (*decided, *(_as_decided(blank) for blank in blanks if _sides_with_a_rater(blank, given))):
            self._decide(self.items[key], each, standing)

    def _decide(
        self, item: Item, decided: ReadDecision, standing: Mapping[tuple[int, int, str], tuple[Resolution, Values]]
    ) -> None:
        newest, values = standing.get((item.id, decided.part, decided.dimension), (None, ()))
        if newest is None:
            self._decisions.append(NewDecision(item, decided))
        elif newest.method == Resolution.Method.REOPENED:
            title = self.reader.tree.by_key[decided.dimension].title
            self.sheet.refuse(decided.row, f"“{title}” of {item} was reopened. Resolve it on its page.")
        elif set(values) == set(decided.values):
            self.n_unchanged += 1
        elif newest.method == Resolution.Method.IMPORTED:
            self._decisions.append(NewDecision(item, decided, newest.revision + 1))
        else:
            title = self.reader.tree.by_key[decided.dimension].title
            self.sheet.refuse(
                decided.row, f"“{title}” of {item} was resolved differently ({newest.method}). That resolution is kept."
            )


def _completes(before: Sequence[Mapping[str, Values]], after: Sequence[Mapping[str, Values]]) -> bool:
    """Whether everything that was said is still said, and nothing of it otherwise."""
    return len(before) <= len(after) and all(
        key in new and set(new[key]) == set(values)
        for old, new in zip(before, after, strict=False)
        for key, values in old.items()
    )


def _sides_with_a_rater(blank: Blank, given: Sequence[ReadAnswer]) -> bool:
    """Whether some rater gave a value there and another left it blank, as the final rater did."""
    has_value = [
        blank.part <= len(answer.parts) and blank.dimension in answer.parts[blank.part - 1].values for answer in given
    ]
    return any(has_value) and not all(has_value)


def _as_decided(blank: Blank) -> ReadDecision:
    return ReadDecision(blank.part, blank.dimension, (), blank.notes, blank.row)
