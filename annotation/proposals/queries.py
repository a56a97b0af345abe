"""Proposals of raters: states, groups of similar names, outcomes."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import Exists, F, OuterRef, Q, Subquery

from accounts.models import User
from annotation.core.access import ADJUDICATOR, OWNER, RATER, Seat
from annotation.core.errors import NotFound
from annotation.labels.consensus import PENDING
from annotation.labels.queries.proposal_states import (
    OPEN,
    RESOLVED,
    SAME_WORDS,
    SETTLED,
    STATES,
    WITHDRAWN,
    with_states,
)
from annotation.models import Assignment, Item, Plan, Proposal, ProposalOutcome, Round
from shared.compiled_queries import CompiledQuery
from taxonomy.models import Category, Taxonomy, TaxonomyVersion
from taxonomy.queries import newest_published, published_version
from taxonomy.tree import TreeCategory, TreeDimension, VersionTree
from taxonomy.warnings import near_identical

BY_STATE = {"open": (OPEN,), "settled": SETTLED, "all": STATES}
FULL = ("annotation", "item", "round", "proposed_by", "dimension")


def visible_proposals(seat: Seat) -> Any:
    """The proposals that this person may read, with their states, in the order of their making.

    The owner and adjudicators read all but those of rounds they are blind in, and of items that they are yet to answer
    as a third rater; the staff those of closed rounds; whoever rates reads their own, in an open round as they made it.
    What was said again in the same words in a later revision stands there alone. Raises Forbidden for others.
    """
    if not seat.user.is_staff:
        seat.require(OWNER, ADJUDICATOR, RATER)
    said_again = Proposal.objects.filter(
        annotation__gt=OuterRef("annotation"), **{name: OuterRef(name) for name in SAME_WORDS}
    )
    rows = Proposal.objects.filter(~Exists(said_again), round__study=seat.study).exclude(
        round__state=Round.State.UNDONE
    )
    own = Q(proposed_by=seat.membership) if seat.membership else Q(pk__in=[])
    may_read = own
    if reads_all(seat):
        may_read |= ~Q(round__in=seat.sealed_round_ids) & seat.not_withheld()
    rows = rows.filter(may_read)
    return with_states(rows, own).select_related(*FULL).order_by("pk")


def reads_all(seat: Seat) -> bool:
    """Whether this person reads what all raters proposed, where they are not blind."""
    return seat.user.is_staff or seat.has_role(OWNER, ADJUDICATOR)


def filter_proposals(
    proposals: Any, *, state: str = "all", round_number: int | None = None, dimension: str = ""
) -> Any:
    """Those of a round and a dimension; `state` is open, settled or all."""
    if state != "all":
        proposals = proposals.filter(state__in=BY_STATE[state])
    if round_number is not None:
        proposals = proposals.filter(round__number=round_number)
    return proposals.filter(dimension__key=dimension) if dimension else proposals


@dataclass(frozen=True)
class ProposalLine:
    """One proposal with what became of it; `is_current`: the rater's answer still holds it."""

    id: int
    name: str
    memo: str
    part: int
    item: Item
    round: Round
    assignment: str | None
    rater: str
    dimension: str
    dimension_title: str
    state: str
    is_current: bool
    outcome: ProposalOutcome | None
    proposed_at: datetime

    @property
    def public_id(self) -> str:
        return Proposal.public_id_of(self.id)

    @property
    def is_open(self) -> bool:
        return self.state == OPEN

    @property
    def called(self) -> str:
        """Its name; where a sheet said no more than PENDING, its memo tells what was missed."""
        return (self.name if self.name != PENDING else " ".join(self.memo.split())[:200]) or PENDING

    @property
    def is_nameless(self) -> bool:
        """Whether nothing says what was missed: a sheet held PENDING, and no memo beside."""
        return self.called == PENDING

    @property
    def words(self) -> str:
        """The answer without the word for it: its state stands before."""
        return self.sentence.partition(" ")[2] if self.outcome else ""

    @property
    def sentence(self) -> str:
        """What became of it, without its name."""
        if self.outcome is not None:
            return words_of(self.outcome, published_version(self.round.taxonomy_version_id), self.dimension)
        return {
            OPEN: "not answered yet",
            RESOLVED: "answered while resolving",
            WITHDRAWN: "withdrawn by the rater",
        }[self.state]


def with_outcomes(rows: Iterable[Proposal], seat: Seat | None = None) -> list[ProposalLine]:
    """Proposals of `visible_proposals` with their outcomes; one query beside theirs.

    With a seat as this person may read the outcomes (`without_drafts`).
    """
    listed: list[Any] = list(rows)
    outcomes = ProposalOutcome.objects.in_bulk({row.outcome_pk for row in listed if row.outcome_pk})
    if seat is not None:
        without_drafts([seat.study.taxonomy_id], outcomes.values(), seat.user)
    return [
        ProposalLine(
            id=row.pk,
            name=row.name,
            memo=row.memo,
            part=row.part,
            item=row.item,
            round=row.round,
            assignment=Assignment.public_id_of(row.annotation.assignment_id) if row.annotation else None,
            rater=str(row.proposed_by),
            dimension=row.dimension.key,
            dimension_title=row.dimension.title,
            state=row.state,
            is_current=row.is_current,
            outcome=outcomes.get(row.outcome_pk),
            proposed_at=row.created_at,
        )
        for row in listed
    ]


def get_proposal(seat: Seat, identifier: object) -> ProposalLine:
    """A proposal that this person may read, by its public ID; raises NotFound, Forbidden. Two queries."""
    number = Proposal.number_of(identifier)
    found = [] if number is None else with_outcomes(visible_proposals(seat).filter(pk=number), seat)
    if not found:
        raise NotFound(f"The study “{seat.study.slug}” has no proposal {str(identifier)[:40]}.")
    return found[0]


def outcomes_of(taxonomies: Collection[int], annotations: Collection[int]) -> dict[int, ProposalOutcome]:
    """Of the proposals in these annotations (by id) that were answered: proposal id → the answer; three queries."""
    rows = with_states(Proposal.objects.filter(annotation__in=annotations)).filter(outcome_pk__isnull=False)
    found = dict(rows.values_list("pk", "outcome_pk"))
    outcomes = ProposalOutcome.objects.in_bulk(found.values())
    without_drafts(taxonomies, outcomes.values())
    return {proposal: outcomes[outcome] for proposal, outcome in found.items()}


def history_of(seat: Seat, proposal: int) -> Sequence[ProposalOutcome]:
    """All answers to a proposal, newest first, as this person may read them (`without_drafts`)."""
    found = ProposalOutcome.objects.filter(proposal=proposal).order_by("-revision")
    return without_drafts([seat.study.taxonomy_id], found, seat.user)


def without_drafts(
    taxonomies: Collection[int], outcomes: Iterable[ProposalOutcome], user: User | None = None
) -> Sequence[ProposalOutcome]:
    """The same outcomes without the key and name of a category that no published version of the taxonomies has.

    It may come from a proposal in a round in which the reader is blind. It has the name that was published. A `user`
    who reads drafts is shown key and name as they were. One query where categories are named, one more where one or its
    name was not published.
    """
    listed = list(outcomes)
    named = [each for each in listed if each.version_number is not None]
    published = dict(_with_published_name(taxonomies, [each.pk for each in named])) if named else {}
    hidden = [each for each in named if published.get(each.pk) != each.category_name]
    if hidden and not (user is not None and _reads_drafts(user, taxonomies)):
        for each in hidden:
            each.category_name = published.get(each.pk) or ""
            each.category_key = each.category_key if each.category_name else ""
    return listed


def _with_published_name(taxonomies: Collection[int], outcomes: Sequence[int]) -> Iterable[tuple[int, str | None]]:
    """Outcomes (by key), each with the name of its category in the published version of its number; null for none."""
    names = Category.objects.filter(
        key=OuterRef("category_key"),
        dimension__key=OuterRef("proposal__dimension__key"),
        dimension__version__number=OuterRef("version_number"),
        dimension__version__taxonomy__in=taxonomies,
        dimension__version__published_at__isnull=False,
    ).values("name")
    named = ProposalOutcome.objects.filter(pk__in=outcomes).order_by().annotate(published_name=Subquery(names[:1]))
    return named.values_list("pk", "published_name")


def _reads_drafts(user: User, taxonomies: Collection[int]) -> bool:
    return user.is_staff or Taxonomy.objects.filter(pk__in=taxonomies, maintainers=user.pk).exists()


def choosable(tree: VersionTree, dimension: str, key: str, number: int | None) -> bool:
    """Whether a category of the version `number` can be chosen under a version: a later one's key says nothing here."""
    asked = tree.by_key.get(dimension) if number is None or number <= tree.number else None
    found = asked.by_key.get(key) if asked else None
    return found is not None and found.selectable


def words_of(outcome: ProposalOutcome, tree: VersionTree, dimension: str) -> str:
    """An answer in words for who rates under this version."""
    if outcome.outcome == ProposalOutcome.Outcome.DECLINED:
        return f"declined: {outcome.reason}"
    name, number = outcome.category_name, outcome.version_number
    if not name:
        if outcome.outcome == ProposalOutcome.Outcome.MAPPED:
            return f"mapped to a category of version {number} that is not published"
        return f"accepted into version {number} as a category that is not published"
    can_be_chosen = choosable(tree, dimension, outcome.category_key, number)
    when = "" if can_be_chosen else "; it can be selected once the study is migrated to that version"
    if outcome.outcome == ProposalOutcome.Outcome.MAPPED:
        return f"mapped to {name}" + ("" if can_be_chosen else f" of version {number}{when}")
    return f"accepted into version {number} as {name}{when}"


@dataclass(frozen=True)
class AnsweredProposal:
    """What was answered to a proposal in one's own current answer; `take` is the category that can be chosen now."""

    part: int
    dimension: str
    words: str
    take: str
    take_name: str


def answers_in(taxonomies: Collection[int], annotation: int, tree: VersionTree) -> list[AnsweredProposal]:
    """The answers to what stands in one annotation, for the page where its rater changes it; three queries at most."""
    rows = with_states(Proposal.objects.filter(annotation=annotation)).filter(outcome_pk__isnull=False)
    listed: list[Any] = list(rows.order_by("pk"))
    outcomes = ProposalOutcome.objects.in_bulk(row.outcome_pk for row in listed)
    without_drafts(taxonomies, outcomes.values())
    found = []
    for row in listed:
        outcome, key = outcomes[row.outcome_pk], tree.by_id[row.dimension_id].key
        can_be_chosen = choosable(tree, key, outcome.category_key, outcome.version_number)
        take = outcome.category_key if can_be_chosen else ""
        told_before, verb = words_of(outcome, tree, key), outcome.outcome
        words = f"“{row.name}”: the owner {verb} it{told_before[len(verb) :]}"
        found.append(AnsweredProposal(row.part, key, words, take, outcome.category_name if take else ""))
    return found


@dataclass(frozen=True)
class ReturnedItems:
    """What of a rater's in one round was answered: items to answer anew, and those that wait for a coming version."""

    round: Round
    items: Sequence[tuple[int, str]]
    n_waiting: int

    @property
    def n(self) -> int:
        return len(self.items)

    @property
    def short_items(self) -> list[tuple[str, str]]:
        """Public ids of the assignments, and the names without the owner of the repository, for a narrow list."""
        return [(Assignment.public_id_of(pk), name.rpartition("/")[2] or name) for pk, name in self.items]

    @property
    def first(self) -> str:
        """The public id of the assignment to begin with."""
        return Assignment.public_id_of(self.items[0][0])


def _answered_proposals(user: int, round_: int | None = None) -> Any:
    """Proposals of someone that were answered and are not resolved yet, with the category they led to."""
    rows = Proposal.objects.filter(
        annotation__rater__user=user,
        annotation__n_proposals__gt=0,
        annotation__assignment__current=F("annotation"),
        annotation__assignment__round__state__in=(Round.State.OPEN, Round.State.RESOLVING),
        annotation__assignment__round__study__archived_at=None,
    )
    if round_ is not None:
        rows = rows.filter(annotation__assignment__round=round_)
    answered = with_states(rows, Q(proposed_by__user=user)).filter(outcome_pk__isnull=False, is_decided=False)
    outcome = ProposalOutcome.objects.filter(pk=OuterRef("outcome_pk"))
    moved = Plan.objects.filter(study=OuterRef("annotation__assignment__round__study"), state=Plan.State.DONE)
    return (
        answered.annotate(
            category_key=Subquery(outcome.values("category_key")[:1]),
            version_number=Subquery(outcome.values("version_number")[:1]),
            standing=Subquery(moved.order_by("-done_at", "-pk").values("to_version__number")[:1]),
        )
        .select_related("annotation__assignment__item", "annotation__assignment__round__study", "dimension")
        .order_by("annotation__assignment__round", "annotation__assignment__position", "pk")
    )


_answered: CompiledQuery[Any] = CompiledQuery(_answered_proposals, int)
_answered_in: CompiledQuery[Any] = CompiledQuery(_answered_proposals, int, int)


def came_back(user: User, round_: Round | None = None) -> list[ReturnedItems]:
    """The rounds, open or being resolved, where something that this person proposed was answered; one query.

    Studies that are archived are out of everybody's work.

    An item comes back once, with its assignment and its identifier, while the proposal stands in the current answer
    and the place is not resolved, in an open round even then. A category that can't be chosen in the round yet brings
    nothing back; it waits until a plan has moved the study to its version, which asks for it in a worklist.
    """
    listed = _answered_in.all(user.pk, round_.pk) if round_ else _answered.all(user.pk)
    rounds: dict[int, Round] = {}
    items: dict[int, dict[int, str]] = defaultdict(dict)
    waiting: dict[int, int] = defaultdict(int)
    for row in listed:
        assignment = row.annotation.assignment
        here = rounds.setdefault(assignment.round_id, assignment.round)
        tree = published_version(here.taxonomy_version_id)
        is_declined = row.answer == ProposalOutcome.Outcome.DECLINED
        if is_declined or choosable(tree, row.dimension.key, row.category_key, row.version_number):
            items[here.pk][assignment.pk] = assignment.item.identifier
        elif row.standing is None or row.standing < (row.version_number or 0):
            waiting[here.pk] += 1
    told_of = [pk for pk in rounds if items[pk] or waiting[pk]]
    return [ReturnedItems(rounds[pk], list(items[pk].items()), waiting[pk]) for pk in told_of]


@dataclass(frozen=True)
class ProposalGroup:
    """Open proposals of a dimension whose names are nearly the same, and the existing categories these are near to."""

    dimension: str
    dimension_title: str
    proposals: Sequence[ProposalLine]
    near: Sequence[TreeCategory]

    @property
    def public_id(self) -> str:
        """That of its first proposal."""
        return self.proposals[0].public_id

    @property
    def names(self) -> list[str]:
        """As they were typed, the most frequent first; a memo stands for the name of one that has none."""
        counted: dict[str, int] = defaultdict(int)
        for each in self.proposals:
            counted[each.called] += 1
        return sorted(counted, key=lambda name: -counted[name])

    @property
    def is_nameless(self) -> bool:
        """Whether they have nothing in common but that nothing says what was missed."""
        return self.proposals[0].is_nameless

    @property
    def raters(self) -> list[str]:
        return sorted({each.rater for each in self.proposals}, key=lambda code: (len(code), code))


def group_proposals(proposals: Sequence[ProposalLine], newest: VersionTree | None) -> list[ProposalGroup]:
    """Proposals by dimension in the newest version's order, near-identical names together; no query.

    The biggest groups of a dimension come first, those that nobody named at its end.
    """
    by_dimension: dict[str, list[ProposalLine]] = defaultdict(list)
    for each in proposals:
        by_dimension[each.dimension].append(each)
    order = list(newest.by_key) if newest else []
    found: list[ProposalGroup] = []
    for key in sorted(by_dimension, key=lambda key: (order.index(key) if key in order else len(order), key)):
        here = by_dimension[key]
        existing = newest.by_key[key].categories if newest and key in newest.by_key else ()
        names = [each.called for each in here] + [category.name for category in existing]
        groups = [
            ProposalGroup(
                key,
                here[0].dimension_title,
                [here[place] for place in places if place < len(here)],
                [existing[place - len(here)] for place in places if place >= len(here)],
            )
            for places in near_identical(names)
            if places[0] < len(here)
        ]
        found += sorted(groups, key=lambda group: (group.is_nameless, -len(group.proposals), group.proposals[0].id))
    return found


def newest_tree(seat: Seat) -> VersionTree | None:
    """The newest published version of the study's taxonomy; one query, or four where it was not read before."""
    version = newest_published(seat.study.taxonomy)
    return published_version(version.pk) if version else None


def newest_draft(seat: Seat) -> TaxonomyVersion | None:
    """The draft that accepted categories go into: the version with the highest number, if it is a draft; one query."""
    version = seat.study.taxonomy.versions.order_by("-number").first()
    return version if version is not None and version.is_draft else None


def selectable(dimension: TreeDimension) -> list[TreeCategory]:
    """What can be chosen there."""
    return [category for category in dimension.categories if category.selectable]
