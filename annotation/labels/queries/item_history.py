"""History of an item by round: its raters' values and the agreed label, in words for a page."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from django.db.models import Count, F, Q, QuerySet

from annotation.core.access import Seat
from annotation.core.member_lists import code_order
from annotation.labels.consensus import PENDING, Decision, Values, Verdict
from annotation.labels.queries.label_version import label_version, way
from annotation.labels.queries.verdicts import round_verdicts
from annotation.models import Annotation, Assignment, Item, Round, RoundItem
from annotation.models.assignment_kinds import EXTRA_RATERS
from taxonomy.kinds.number import number_words
from taxonomy.migration import BlockedValue
from taxonomy.models import TaxonomyVersion
from taxonomy.queries import published_version
from taxonomy.tree import TreeDimension

REASONS = {
    "differ": "raters disagree",
    "parts": "raters gave different numbers of parts",
    "one_sided": "only one rater answered",
    "skipped": "a rater skipped it",
    "pending": "a category was proposed",
}
METHODS = {
    "unanimous": "unanimous",
    "single": "one rater was planned",
    "not_blind": "all raters agree, but not all were blind",
    "relabel": "raters relabeled it the same way",
    "relabel_single": "relabeled by one rater only",
    "discussion": "resolved in discussion",
    "third_rater": "based on a third rater",
    "majority": "resolved by majority",
    "owner": "resolved by the owner",
    "imported": "imported as final",
    "adjudicator": "resolved by adjudication",
}


@dataclass(frozen=True)
class RaterStatus:
    """How one rater is done with an item, without values; `read_otherwise`: on another state than the pinned one."""

    code: str
    state: str
    skip_reason: str
    memo: str
    confidence: int | None
    seconds: int | None
    read_otherwise: bool = False


@dataclass(frozen=True)
class RaterValuesInWords:
    """One rater's values on a dimension; no words: none given."""

    code: str
    words: Sequence[str]
    memo: str
    values: Values | None = None


@dataclass(frozen=True)
class DimensionLine:
    """A dimension of a part: what each rater gave, and what is agreed and how."""

    title: str
    position: int
    given: Sequence[RaterValuesInWords]
    state: str
    agreed: Sequence[str] | None
    how: str
    decision: Decision | None
    key: str = ""
    is_carried: bool = False

    @property
    def is_unanimous(self) -> bool:
        return self.state == "agreed"


@dataclass(frozen=True)
class PartLines:
    """A part of an item with the dimensions that apply so far."""

    number: int
    dimensions: Sequence[DimensionLine]


@dataclass(frozen=True)
class ItemInRound:
    """An item in a round.

    Hidden: this person rates there, and others' answers stay away from them until it is over. Sealed: only owners and
    adjudicators read its answers yet. How many raters are done is None where no result of it reaches the person.
    """

    round: Round
    n_done: int | None
    n_planned: int
    is_hidden: bool
    is_complete: bool
    raters: Sequence[RaterStatus] = ()
    parts: Sequence[PartLines] = ()
    own_assignment: str | None = None
    is_training: bool = False
    is_excluded: bool = False
    is_owed: bool = False
    is_repeated: bool = False
    is_sealed: bool = False

    @property
    def shows_answers(self) -> bool:
        """Whether it says what raters gave, or why they skipped the item."""
        return bool(self.parts or self.raters)

    @property
    def is_disputed(self) -> bool:
        return any(line.state == "open" for part in self.parts for line in part.dimensions)


def item_rounds(seat: Seat, item: Item) -> list[ItemInRound]:
    """The item in each of its rounds, newest first; about eight queries for each round that may be seen.

    A relabeling queue is not among them while labels of the item are withheld.
    """
    places = (
        RoundItem.objects.filter(seat.not_queued(), item=item)
        .select_related("round__taxonomy_version__taxonomy")
        .order_by("-round__number")
    )
    assignments: dict[int, list[Assignment]] = defaultdict(list)
    rows = Assignment.objects.filter(item=item).exclude(state=Assignment.State.WITHDRAWN)
    for row in rows.select_related("rater__user", "current"):
        assignments[row.round_id].append(row)
    return [_in_round(seat, item, place, sorted(assignments[place.round_id], key=_by_code)) for place in places]


def _by_code(assignment: Assignment) -> tuple[int, str]:
    return code_order(assignment.rater.code)


def _in_round(seat: Seat, item: Item, place: RoundItem, assignments: Sequence[Assignment]) -> ItemInRound:
    round_ = seat.as_shown(place.round)
    n_done = None
    if not seat.hides(round_, item.pk):
        n_done = sum(each.kind == Assignment.Kind.RATER and each.state in Assignment.FINISHED for each in assignments)
    own = next((each.public_id for each in assignments if each.rater.user_id == seat.user.pk), None)
    is_owed = (round_.pk, item.pk) in seat.arbitrated
    is_repeated = not is_owed and (round_.pk, item.pk) in seat.withheld
    is_hidden = is_owed or is_repeated or round_.pk in seat.blind_round_ids
    is_sealed = not is_hidden and seat.hides_answers(round_, item.pk)
    if is_sealed:
        return ItemInRound(
            round_, n_done, place.n_raters, is_hidden, is_complete=False, own_assignment=own, is_sealed=True
        )
    if is_hidden or round_.state in (Round.State.DRAFT, Round.State.UNDONE):
        return ItemInRound(
            round_,
            n_done,
            place.n_raters,
            is_hidden,
            is_complete=False,
            own_assignment=own,
            is_owed=is_owed,
            is_repeated=is_repeated,
        )
    found = next(iter(round_verdicts(round_, items=[place.item_id])), None)
    if found is None:
        return ItemInRound(
            round_,
            n_done,
            place.n_raters,
            is_hidden,
            is_complete=False,
            own_assignment=own,
            is_training=not place.excluded,
            is_excluded=place.excluded,
        )
    tree = published_version(round_.taxonomy_version_id)
    parts: dict[int, list[DimensionLine]] = defaultdict(list)
    for verdict in found.verdicts:
        parts[verdict.part].append(_line(tree.by_key[verdict.dimension], verdict))
    return ItemInRound(
        round_,
        n_done,
        place.n_raters,
        is_hidden=False,
        is_complete=found.is_complete,
        raters=[_said(each, item) for each in assignments] if found.is_complete else [],
        parts=[PartLines(number, lines) for number, lines in sorted(parts.items())],
        own_assignment=own,
    )


IS_READ_OTHERWISE = (Q(current__snapshot__lt=F("item__snapshot")) | Q(current__snapshot__gt=F("item__snapshot"))) & ~Q(
    current__snapshot__sha256=F("item__snapshot__sha256")
)
"""An assignment that was answered on another content than the pinned one; other dates don't count."""


def countable_answers(seat: Seat) -> QuerySet[Assignment]:
    """Answers that this person may count: their own, and those of rounds and items that their seat doesn't hide.

    Third answers show where raters differ, so they count only in rounds whose single answers the person reads.
    """
    own = Q(rater=seat.membership.pk if seat.membership else None)
    told = ~Q(round__in=seat.hidden_round_ids) & seat.not_withheld()
    told &= ~EXTRA_RATERS | ~Q(round__in=seat.sealed_round_ids | seat.unsettled_round_ids)
    return Assignment.objects.filter(own | told, round__study=seat.study, current__isnull=False).order_by()


def answers_on_other_states(seat: Seat) -> dict[int, int]:
    """By item how many answers that this person may count were given on another content than its pinned one.

    Items without such an answer are not in it; one query.
    """
    rows = countable_answers(seat).filter(IS_READ_OTHERWISE).values_list("item")
    return dict(rows.annotate(n=Count("pk")))


def reads_otherwise(answer: Annotation, item: Item) -> bool:
    """Whether an answer was made on another content than the pinned one; two queries where the states differ."""
    if answer.snapshot_id in (None, item.snapshot_id):
        return False
    return answer.snapshot is None or item.snapshot is None or answer.snapshot.sha256 != item.snapshot.sha256


def _said(assignment: Assignment, item: Item) -> RaterStatus:
    current = assignment.current
    return RaterStatus(
        code=str(assignment.rater),
        state=assignment.state,
        skip_reason=current.skip_reason if current else "",
        memo=current.memo if current else "",
        confidence=current.confidence if current else None,
        seconds=current.seconds if current else None,
        read_otherwise=current is not None and reads_otherwise(current, item),
    )


def _line(dimension: TreeDimension, verdict: Verdict) -> DimensionLine:
    decision = verdict.decision
    how = METHODS.get(verdict.method or "", verdict.method or "")
    if verdict.state == "open":
        how = REASONS.get(verdict.reason or "", verdict.reason or "")
    elif decision is not None and decision.no_part:
        how = f"there is no part {verdict.part}; {how}"
    elif verdict.origin is not None:
        how = f"{how}, in round {verdict.origin.round}"
    return DimensionLine(
        title=dimension.title,
        position=dimension.position,
        given=[
            RaterValuesInWords(
                each.rater, [] if each.values is None else value_words(dimension, each.values), each.memo, each.values
            )
            for each in verdict.ratings
        ],
        state=verdict.state,
        agreed=None if verdict.values is None else value_words(dimension, verdict.values),
        how=how,
        decision=decision,
        key=dimension.key,
        is_carried=verdict.origin is not None,
    )


@dataclass(frozen=True)
class LabelHistory:
    """One rater's answer to one question through the versions, each link in words, the oldest first."""

    part: int
    title: str
    position: int
    code: str
    links: Sequence[str]


def label_histories(rounds: Sequence[ItemInRound], standing: TaxonomyVersion | None) -> list[LabelHistory]:
    """The answers that were given anew in a worklist, or that a plan moved on; `rounds` as `item_rounds` gives them.

    `standing` is the version that the study's labels were moved to. No query for versions read before in this process.
    """
    given: dict[tuple[int, int, str, str], list[tuple[ItemInRound, DimensionLine, RaterValuesInWords]]] = defaultdict(
        list
    )
    for each in reversed(rounds):
        for part in each.parts if each.is_complete else ():
            for line in part.dimensions:
                for said in line.given if not line.is_carried else ():
                    if said.words:
                        given[part.number, line.position, line.key, said.code].append((each, line, said))
    found = []
    for (part_number, position, key, code), answers in sorted(given.items(), key=lambda each: each[0]):
        links = [f"{', '.join(said.words)} ({_place(each.round)})" for each, _, said in answers]
        last, line, said = answers[-1]
        if standing is not None and label_version(last.round, standing) == standing != last.round.taxonomy_version:
            links += _moved_on(last.round, standing, key, said.values or (), _answered_again(rounds, last.round, code))
        if len(links) > 1:
            found.append(LabelHistory(part_number, line.title, position, code, links))
    return found


def _place(round_: Round) -> str:
    return f"round {round_.number}, version {round_.taxonomy_version.number}"


def _answered_again(rounds: Sequence[ItemInRound], since: Round, code: str) -> int | None:
    """The number of a later worklist in which a rater answered the item, where its answers may be seen."""
    later = [each for each in rounds if each.round.kind == Round.Kind.RELABEL and each.round.number > since.number]
    for each in later:
        if any(rater.code == code and rater.state == Assignment.State.SUBMITTED for rater in each.raters):
            return each.round.number
    return None


def _moved_on(
    round_: Round, standing: TaxonomyVersion, key: str, values: Values, answered_again: int | None
) -> list[str]:
    """What a plan made of an answer: nothing where it reads the same as before."""
    passed = way(round_, standing)
    followed = passed.values(key, values, free=[PENDING]) if passed else None
    if followed is None:
        return []
    if isinstance(followed, BlockedValue):
        again = "not relabeled" if answered_again is None else f"no label of this dimension in round {answered_again}"
        return [f"{followed.words}; {again}"]
    tree, old = published_version(standing.pk), published_version(round_.taxonomy_version_id)
    words = value_words(tree.by_key[key], followed)
    return [] if words == value_words(old.by_key[key], values) else [f"{', '.join(words)} (version {standing.number})"]


def value_words(dimension: TreeDimension, values: Values) -> list[str]:
    """Values as people read them: names of categories with what is above them, yes and no, numbers, texts."""
    if not values:
        return ["none"]
    found = []
    for value in values:
        if value == PENDING:
            found.append("none fits (proposal)")
        elif isinstance(value, bool):
            found.append("yes" if value else "no")
        elif isinstance(value, float | int):
            found.append(number_words(value))
        else:
            category = dimension.by_key.get(value) if dimension.has_categories else None
            found.append(category.path if category else str(value))
    return found
