"""Earlier answers of a rater in a relabeling queue, mapped to its version; computed, never stored."""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import reduce
from typing import Any

from django.db.models import Exists, OuterRef, Q

from accounts.models import User
from annotation.assignments.queries import is_absent
from annotation.core.access import Seat
from annotation.labeling.queries.assignments import PartLabels, answer_parts
from annotation.labels.consensus import Values
from annotation.labels.queries.part_matches import matches_of
from annotation.models import Assignment, PartMatch, Proposal, ProposalOutcome, Rating, Round, RoundItem
from annotation.models.assignment_kinds import RATERS
from annotation.proposals.queries import outcomes_of
from shared.wording import series
from taxonomy.kinds.number import number_words
from taxonomy.migration import BlockedValue, Route
from taxonomy.models import TaxonomyVersion
from taxonomy.queries import published_version, route
from taxonomy.tree import TreeCategory, TreeDimension, VersionTree


@dataclass(frozen=True)
class OldValue:
    """A value as its own version tells it; what belongs to no category has a name alone."""

    key: str
    name: str
    path: str
    definition: str = ""


@dataclass(frozen=True)
class PreviousValue:
    """What was said earlier of one part on one dimension, and why it is asked anew or reads differently now.

    `rater` is a code where it was another rater's answer, who can't sign in, else empty. `reason` is split, retired,
    merged, added, kind, group, renamed, redefined, pending, new, unanswered, skipped or again; `words` is the sentence
    for the rater.
    """

    part: int
    dimension: str
    is_asked: bool
    rater: str
    version: int
    round: int
    values: tuple[OldValue, ...]
    reason: str
    words: str


@dataclass(frozen=True)
class PrefilledAnswer:
    """The answer to begin with, in the shape of a draft (None: there is none), and what was said at each place."""

    draft: dict[str, object] | None
    before: tuple[PreviousValue, ...]

    @property
    def before_as_documents(self) -> list[dict[str, object]]:
        return [asdict(each) for each in self.before]


@dataclass(frozen=True)
class _MappedAnswer:
    """What became of one answer on one dimension: the values to begin with, and a reason with its sentence, or none."""

    values: Values | None = None
    proposal: Mapping[str, object] | None = None
    reason: str = ""
    words: str = ""


def prefilled_answer(assignment: Assignment, tree: VersionTree) -> PrefilledAnswer | None:
    """The earlier answer of the rater on the item of a worklist, followed into its version `tree`; else None.

    The newest finished one of an earlier round that is over; before all others one of an undone worklist under the same
    version, with what was asked there beside it. Where the rater has none, they stand in for raters who can't sign in:
    what all of those gave alike is the answer to begin with. A stand-in with an answer of their own begins with that
    and sees the others'; not where they are withheld from the stand-in, who labels the item elsewhere. What can't be
    followed is left blank. A relabeling queue that was undone shows none: parts of the earlier answers may be matched
    since. No query for other rounds, at most nine for a relabeling queue, three more for a substitute, and those of
    versions that were not read before in this process.
    """
    round_ = assignment.round
    if assignment.pk is None or round_.kind != Round.Kind.RELABEL or round_.state == Round.State.UNDONE:
        return None
    places = RoundItem.objects.filter(round=round_, item=assignment.item_id)
    given, stand_ins = places.values_list("asked", "round__made_by__stand_ins").first() or (None, None)
    asked = None if given is None else frozenset((part, key) for part, key in given)
    earlier, firsts = _earlier(assignment, is_stand_in=assignment.rater_id in (stand_ins or ()))
    if any(each.rater_id != assignment.rater_id for each in earlier):
        earlier = _without_withheld(assignment, earlier)
    every = [*earlier, *firsts.values()]
    submitted = [each for each in every if each.state == Assignment.State.SUBMITTED]
    orders = _orders(submitted)
    said = _said(submitted, orders)
    settled = _SettledProposals(every, tree, said)
    known = {
        each.pk: _EarlierAnswer(each, assignment, tree, said[each.pk], asked, settled, orders.get(each.pk, ()))
        for each in every
    }
    answers = [known[each.pk] for each in earlier]
    if not answers:
        return PrefilledAnswer(None, ())
    draft = answers[0].draft if answers[0].is_own else reduce(_alike, [each.draft for each in answers])
    first_of = {pk: known[first.pk] for pk, first in firsts.items()}
    return PrefilledAnswer(
        draft, tuple(before for each in answers for before in each.marked(first_of.get(each.earlier.pk)))
    )


def _earlier(assignment: Assignment, *, is_stand_in: bool) -> tuple[list[Assignment], dict[int, Assignment]]:
    """The rater's own earlier assignment, then those of the raters they may stand in for, by code; one query.

    Of others only those that the migration moved: a round under the queue's version may be sealed for the substitute.
    By the id of one of an undone worklist also the rater's assignment before it.
    """
    round_ = assignment.round
    is_over = Q(round__state__in=Round.OVER)
    is_undone = Q(round__state=Round.State.UNDONE, round__taxonomy_version=round_.taxonomy_version_id)
    is_own, is_moved = Q(rater=assignment.rater_id), ~Q(round__taxonomy_version=round_.taxonomy_version_id)
    rows = (
        Assignment.objects.filter(is_over & (is_own | is_moved) | is_undone)
        .filter(item=assignment.item_id, round__number__lt=round_.number)
        .filter(RATERS, state__in=Assignment.FINISHED, current__isnull=False)
        .exclude(round__kind=Round.Kind.SCREENING)
        .select_related("round__taxonomy_version", "rater__user", "current")
        .annotate(is_matched=Exists(PartMatch.objects.filter(annotation=OuterRef("current"))))
    )
    newest: dict[int, Assignment] = {}
    standing: dict[int, Assignment] = {}
    for row in sorted(rows, key=lambda each: (each.round.state == Round.State.UNDONE, each.round.number)):
        newest[row.rater_id] = row
        if row.round.state != Round.State.UNDONE:
            standing[row.rater_id] = row
    firsts = {
        row.pk: standing[rater]
        for rater, row in newest.items()
        if row.round.state == Round.State.UNDONE and rater in standing
    }
    own = newest.pop(assignment.rater_id, None)
    absent = sorted((row for row in newest.values() if is_absent(row.rater)), key=lambda row: str(row.rater))
    found = absent if own is None else [own, *absent] if is_stand_in else [own]
    return found, {each.pk: firsts[each.pk] for each in found if each.pk in firsts}


def _without_withheld(assignment: Assignment, earlier: Sequence[Assignment]) -> list[Assignment]:
    """The rater's own answer, and those of others that are not withheld from them; three queries."""
    rater = assignment.rater
    withheld = Seat(rater.user or User(), assignment.round.study, rater).withheld
    own = assignment.rater_id
    return [each for each in earlier if each.rater_id == own or (each.round_id, each.item_id) not in withheld]


def _orders(assignments: Sequence[Assignment]) -> dict[int, list[int]]:
    """The places of each answer's parts in the order of the agreed bugs; as they are where that would leave gaps.

    One query where an answer was matched; give the assignments as `_earlier` reads them.
    """
    answers = {each.pk: each.current for each in assignments if each.current is not None}
    matched = matches_of([each.current_id for each in assignments if each.current_id and each.is_matched])  # type: ignore[attr-defined]
    found: dict[int, list[int]] = {}
    for pk, answer in answers.items():
        match = matched.get(answer.pk, {})
        agreed = [match.get(number, number) for number in range(1, answer.n_parts + 1)]
        numbers = range(answer.n_parts)
        has_gaps = max(agreed) > answer.n_parts
        found[pk] = list(numbers) if has_gaps else sorted(numbers, key=agreed.__getitem__)
    return found


def _said(assignments: Sequence[Assignment], orders: Mapping[int, Sequence[int]]) -> Mapping[int, list[PartLabels]]:
    """The parts of each assignment's current answer, in terms of its own version; one query, two with proposals."""
    ids = [each.current_id for each in assignments]
    ratings: dict[int, list[Rating]] = defaultdict(list)
    for rating in Rating.objects.filter(annotation__in=ids).order_by("pk") if ids else ():
        ratings[rating.annotation_id].append(rating)
    has_proposals = any(each.current and each.current.n_proposals for each in assignments)
    asked = {row.pk: row for row in Proposal.objects.filter(annotation__in=ids)} if has_proposals else {}
    found: dict[int, list[PartLabels]] = defaultdict(list)
    for each in assignments:
        assert each.current is not None
        own_tree = published_version(each.round.taxonomy_version_id)
        parts = answer_parts(each.current, own_tree, ratings[each.current.pk], asked)
        found[each.pk] = [parts[number] for number in orders[each.pk]]
    return found


class _SettledProposals:
    """What was answered to the proposals of the earlier answers, with the category in the worklist's version."""

    def __init__(
        self, earlier: Sequence[Assignment], tree: VersionTree, said: Mapping[int, Sequence[PartLabels]]
    ) -> None:
        has_proposals = any(part["proposals"] for parts in said.values() for part in parts)
        answered = [each.current_id for each in earlier if each.current_id is not None]
        taxonomies = {each.round.taxonomy_version.taxonomy_id for each in earlier}
        self.outcomes = outcomes_of(taxonomies, answered) if has_proposals else {}
        numbers = {row.version_number for row in self.outcomes.values()} - {None, tree.number}
        versions = TaxonomyVersion.objects.filter(
            taxonomy__in=taxonomies,
            number__in=[number for number in numbers if number],
        )
        self._ways = {each.number: route(each.pk, tree.id) for each in versions} if numbers else {}

    def key(self, outcome: ProposalOutcome, dimension: TreeDimension) -> str | None:
        """The category that an accepted or mapped proposal is now, where the version has it."""
        found: str | BlockedValue | None = outcome.category_key or None
        passed = self._ways.get(outcome.version_number or 0)
        if found and passed is not None:
            found = passed.follow(dimension.key, str(found))
        return found if isinstance(found, str) and _chosen(dimension, found) else None


def _chosen(dimension: TreeDimension, key: str) -> bool:
    category = dimension.by_key.get(key)
    return category is not None and category.selectable


class _EarlierAnswer:
    """One earlier answer on its way into the worklist's version."""

    def __init__(
        self,
        earlier: Assignment,
        now: Assignment,
        tree: VersionTree,
        parts: Sequence[PartLabels],
        asked: Collection[tuple[int, str]] | None,
        settled: _SettledProposals,
        order: Sequence[int],
    ) -> None:
        self.earlier, self.tree, self.parts, self.asked, self.settled = earlier, tree, parts, asked, settled
        self.order = order
        self.is_own = earlier.rater_id == now.rater_id
        self.who = "you" if self.is_own else str(earlier.rater)
        self.old_tree = published_version(earlier.round.taxonomy_version_id)
        self.way: Route | None = route(earlier.round.taxonomy_version_id, now.round.taxonomy_version_id)
        none: PartLabels = {"labels": {}, "proposals": {}}
        self.told = [{each.key: self._told(each, part) for each in tree.dimensions} for part in parts or [none]]

    @property
    def draft(self) -> dict[str, object] | None:
        """What can be followed; memo and confidence go along where the answer was the rater's own."""
        answer = self.earlier.current
        assert answer is not None
        if not self.parts:
            return None
        memos = [answer.part_memos[number] for number in self.order] if answer.part_memos else [answer.memo]
        return {
            "parts": [
                {
                    "labels": {
                        key: _as_sent(self.tree.by_key[key], told.values)
                        for key, told in part.items()
                        if told.values is not None
                    },
                    "proposals": {key: dict(told.proposal) for key, told in part.items() if told.proposal},
                    "memo": memos[number] if self.is_own and number < len(memos) else "",
                }
                for number, part in enumerate(self.told)
            ],
            "memo": answer.memo if self.is_own and answer.part_memos else "",
            "confidence": answer.confidence if self.is_own else None,
            "skip": "",
            "revision": 0,
        }

    @property
    def before(self) -> list[PreviousValue]:
        """The places that are asked or read differently now, part by part in the order of the questions."""
        return [
            before
            for number, part in enumerate(self.told, start=1)
            for dimension in self.tree.dimensions
            if (before := self._before(number, dimension, part[dimension.key])) is not None
        ]

    def marked(self, first: "_EarlierAnswer | None") -> list[PreviousValue]:
        """The places of `before`; with the answer before an undone worklist also those that are asked because of it."""
        here = self.before
        if first is None:
            return here
        places = {(each.part, each.dimension) for each in here}
        more = [
            replace(each, words=f"{each.words} {self._when_undone(each)}")
            for each in first.before
            if (each.part, each.dimension) not in places
        ]
        order = {key: number for number, key in enumerate(self.tree.by_key)}
        return sorted([*here, *more], key=lambda each: (each.part, order[each.dimension]))

    def _when_undone(self, before: PreviousValue) -> str:
        old = self.old_tree.by_key.get(before.dimension)
        given = self.parts[before.part - 1]["labels"].get(before.dimension) if before.part <= len(self.parts) else None
        return self._undone_words(_old_values(old, given) if old else ())

    def _undone_words(self, values: Sequence[OldValue]) -> str:
        return f"In round {self.earlier.round.number}, before its migration was undone, {self._has_said(values)}."

    def _before(self, part: int, dimension: TreeDimension, told: _MappedAnswer) -> PreviousValue | None:
        is_asked = self.asked is None or (part, dimension.key) in self.asked
        reason, words = told.reason, told.words
        old = self.old_tree.by_key.get(dimension.key)
        given = self.parts[part - 1]["labels"].get(dimension.key) if self.parts else None
        values = tuple(_old_values(old, given)) if old else ()
        if reason in ("", "redefined", "unanswered", "new") and not is_asked:
            return None
        if not reason:
            reason, words = "again", f"{self._began(values)}. Relabel it."
            if self.earlier.round.state == Round.State.UNDONE:
                words = self._undone_words(values)
        return PreviousValue(
            part=part,
            dimension=dimension.key,
            is_asked=is_asked,
            rater="" if self.is_own else str(self.earlier.rater),
            version=self.old_tree.number,
            round=self.earlier.round.number,
            values=values,
            reason=reason,
            words=words,
        )

    def _has_said(self, values: Sequence[OldValue]) -> str:
        return f"{self.who} said {series([each.path for each in values]) or 'none of them'}"

    def _began(self, values: Sequence[OldValue]) -> str:
        return f"In version {self.old_tree.number} {self._has_said(values)}"

    def _told(self, dimension: TreeDimension, part: PartLabels) -> _MappedAnswer:
        """What becomes of the answer to one question."""
        answer, old = self.earlier.current, self.old_tree.by_key.get(dimension.key)
        assert answer is not None
        if answer.skip_reason:
            words = f"In version {self.old_tree.number} {self.who} skipped this item: {answer.skip_reason}"
            return _MappedAnswer(reason="skipped", words=words)
        if old is None:
            return _MappedAnswer(reason="new", words=f"This dimension is new in version {self.tree.number}.")
        given: Any = part["labels"].get(dimension.key)
        proposal: Proposal | None = part["proposals"].get(dimension.key)
        if given is None and proposal is None:
            words = f"In version {self.old_tree.number} {self.who} gave no label here."
            return _MappedAnswer(reason="unanswered", words=words)
        blocked = self.way.dimension_blocked(dimension.key) if self.way else BlockedValue("kind", self.tree.number)
        if blocked is not None or old.has_categories != dimension.has_categories:
            began = self._began(list(_old_values(old, given)))
            if blocked is not None and blocked.reason == "dimension":
                return _MappedAnswer(reason="new", words=f"{began}. The dimension was removed since, and is back.")
            return _MappedAnswer(reason="kind", words=f"{began}. The dimension is now of another kind.")
        if not dimension.has_categories:
            return _MappedAnswer(values=(given,))
        keys = sorted(given or (), key=lambda key: old.by_key[key].position)
        return self._of_categories(dimension, old, keys, proposal)

    def _of_categories(
        self, new: TreeDimension, old: TreeDimension, keys: Sequence[str], proposal: Proposal | None
    ) -> _MappedAnswer:
        kept: dict[str, None] = {}
        reasons: list[tuple[str, str]] = []
        for key in keys:
            followed, reason, clause = self._followed(new, old.by_key[key], is_only=len(keys) == 1)
            if followed is not None:
                kept[followed] = None
            if reason:
                reasons.append((reason, clause))
        asked_for = None
        if proposal is not None:
            became, asked_for, clause = self._proposed(new, proposal)
            if became:
                kept[became] = None
            reasons.insert(0, ("pending", clause))
        if len(kept) > 1 and not new.is_set:
            kept, reasons = {}, [("kind", "the dimension now takes one value")]
        values: Values | None = tuple(sorted(kept, key=lambda key: new.by_key[key].position)) if kept else None
        if values is None and not reasons and new.is_set:
            values = ()
        if not reasons:
            return _MappedAnswer(values)
        began = self._began([_old_value(old.by_key[key]) for key in keys]) + "; " if keys else ""
        words = began + "; ".join(clause for _, clause in reasons)
        order = ("pending", "split", "retired", "merged", "added", "kind", "group", "renamed", "redefined")
        reason = min((each for each, _ in reasons), key=order.index)
        return _MappedAnswer(values, asked_for, reason, f"{words[0].upper()}{words[1:]}.")

    def _followed(self, new: TreeDimension, old: TreeCategory, *, is_only: bool) -> tuple[str | None, str, str]:
        """The key to begin with, a reason and its clause (empty: nothing changed for the reader)."""
        assert self.way is not None
        found = self.way.follow(new.key, old.key)
        subject = "it" if is_only else old.name
        if isinstance(found, BlockedValue):
            into = series([new.by_key[key].name if key in new.by_key else key for key in found.into])
            ends = {"split": f"was split into {into}", "retired": "was retired", "merged": f"was merged from {into}"}
            return None, found.reason, f"{subject} {ends.get(found.reason, 'is not there')}"
        category = new.by_key[found]
        if not category.selectable:
            return (
                None,
                "group",
                (f"{subject} now only groups others. Choose one of the subcategories of {category.name}"),
            )
        kinds = self.way.kinds_of(new.key, old.key)
        shown = category.path.replace(" / ", " › ") if category.name == old.name else category.name
        if category.path != old.path:
            return found, "renamed", f"{subject} {'became part of' if 'merged' in kinds else 'is now'} {shown}"
        if "redefined" in kinds:
            return found, "redefined", f"{subject} is redefined. Check whether it still applies"
        return found, "", ""

    def _proposed(self, new: TreeDimension, proposal: Proposal) -> tuple[str | None, Mapping[str, object] | None, str]:
        """The category that a proposal became, or the proposal again where nothing was decided, and its clause."""
        words = f"{self.who} proposed “{proposal.name}”"
        outcome = self.settled.outcomes.get(proposal.pk)
        if outcome is None:
            again = {"name": proposal.name, "memo": proposal.memo}
            return None, again, f"{words}. It was not answered yet"
        if outcome.outcome == ProposalOutcome.Outcome.DECLINED:
            return None, None, f"{words}. It was declined: {outcome.reason.rstrip('. ')}"
        key = self.settled.key(outcome, new)
        name = new.by_key[key].name if key else outcome.category_name or "a category that is not published"
        is_new = outcome.outcome == ProposalOutcome.Outcome.ACCEPTED
        said = f"it was accepted as {name}" if is_new else f"it was mapped to {name}"
        return key, None, f"{words}; {said}" + ("" if key else ", which this version does not have")


def _alike(one: dict[str, object] | None, other: dict[str, object] | None) -> dict[str, object] | None:
    """What two drafts have in common; nothing where they tell different numbers of parts."""
    if one is None or other is None:
        return None
    parts, others = one["parts"], other["parts"]
    assert isinstance(parts, list)
    assert isinstance(others, list)
    if len(parts) != len(others):
        return None
    return one | {
        "parts": [
            part
            | {
                name: {key: value for key, value in part[name].items() if match[name].get(key) == value}
                for name in ("labels", "proposals")
            }
            for part, match in zip(parts, others, strict=True)
        ]
    }


def _as_sent(dimension: TreeDimension, values: Values) -> object:
    """Values in the shape of a request: a list of keys, or a scalar."""
    return dimension.question_kind.as_json(values)


def _old_values(dimension: TreeDimension, given: object) -> Sequence[OldValue]:
    if given is None:
        return ()
    if isinstance(given, list):
        return [_old_value(each) for each in sorted((dimension.by_key[key] for key in given), key=_by_position)]
    if isinstance(given, bool):
        words = "yes" if given else "no"
    else:
        words = number_words(given) if isinstance(given, float) else f"“{given}”"
    return (OldValue("", words, words),)


def _by_position(category: TreeCategory) -> int:
    return category.position


def _old_value(category: TreeCategory) -> OldValue:
    return OldValue(category.key, category.name, category.path.replace(" / ", " › "), category.definition)
