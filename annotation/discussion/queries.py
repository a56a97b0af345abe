"""Discussion of an item: its comments, and every rater's blind and current labels side by side."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from django.db.models import BooleanField, Max, OuterRef, Q, QuerySet
from django.db.models.expressions import RawSQL

from annotation.core.access import ADJUDICATOR, OWNER, Seat
from annotation.core.constant_lookups import LookupExists
from annotation.core.member_lists import code_order
from annotation.labels.consensus import PENDING, Values, Verdict
from annotation.labels.queries.verdicts import read_values
from annotation.labels.resolution_options import CONFIDENCE, no_part_words, value_words
from annotation.models import (
    Assignment,
    Item,
    Membership,
    PartMatch,
    Remark,
    Resolution,
    Round,
    RoundItem,
    RoundRater,
)
from annotation.models.assignment_kinds import RATERS, is_rater_sql
from shared.names import folded
from taxonomy.queries import published_version
from taxonomy.tree import TreeDimension, VersionTree

BEHIND, AHEAD = 12, 40
RATER_NAMES = ("rater__user", "rater__former_user", "rater__formerly")
"""What names of raters are made of."""


@dataclass(frozen=True)
class MemberNames:
    """The members of a study, as a discussion names them: raters by code, or by name too where the study says so."""

    members: Sequence[Membership]
    names_shown: bool

    @cached_property
    def by_name(self) -> dict[str, int]:
        """User names and codes, as `folded`, each with the member's id; codes before names, former names last."""
        named = {folded(user.home_name): each.pk for each in self.members for user in each.accounts}
        named |= {folded(each.user.username): each.pk for each in self.members if each.user}
        return named | {folded(each.code): each.pk for each in self.members if each.code}

    def label(self, member: Membership) -> str:
        """What stands beside a code: the name of who has none, or where names are shown; else nothing."""
        return member.signed_name if self.names_shown or not member.code else ""

    def words(self, member: Membership) -> str:
        """A member in a sentence, also one who takes no part: a third rater from outside the round."""
        return self.label(member) or member.code or ""

    @cached_property
    def names_of_codes(self) -> dict[str, str]:
        """Code → name where the study shows names; else empty."""
        return {each.code: each.signed_name for each in self.members if each.code and self.names_shown}

    def to_mention(self, own: int | None) -> list[tuple[str, str]]:
        """Whom one can mention, as (what is written after the @, name beside it): raters by code, others by name."""
        found = [
            (each.code or (each.user.username if each.user else ""), self.label(each))
            for each in self.members
            if each.pk != own and each.user and not each.is_machine
        ]
        return sorted(found, key=lambda pair: code_order(pair[0]) if pair[0] in self.names_of_codes else (99, pair[0]))


def people(seat: Seat, round_: Round) -> MemberNames:
    """Who takes part in the discussion of a round: its raters, the adjudicators, the owners; one query.

    Not the raters of a relabeling queue all of whose items there are withheld from this person; one query more for it.
    """
    unseen = [rater for number, rater in seat.unseen_queue_raters if number == round_.pk]
    in_round = RoundRater.objects.filter(round=round_).exclude(rater__in=unseen).values("rater")
    rows = Membership.objects.filter(study=seat.study).select_related("user", "former_user", "formerly").order_by("pk")
    found = rows.filter(Q(roles__overlap=[OWNER, ADJUDICATOR]) | Q(pk__in=in_round))
    return MemberNames(list(found), seat.study.names_shown)


def remarks(round_: Round, item: Item, *, after: int = 0) -> QuerySet[Remark]:
    """What was said of an item, oldest first; `after` is the last remark that was seen."""
    found = Remark.objects.filter(round=round_, item=item, pk__gt=after)
    return found.select_related("author__user", "dimension").order_by("pk")


def visible_remarks(seat: Seat, rounds: Iterable[Round]) -> QuerySet[Remark]:
    """The remarks of rounds in whose discussion this person takes part, items they are to judge as arbiter left out."""
    found = Remark.objects.filter(seat.not_withheld(), round__in=list(rounds))
    return found.select_related("author__user", "dimension", "item", "round")


def discussed_rounds(seat: Seat) -> list[Round]:
    """The rounds of a study whose discussions this person may read; three queries at most."""
    rounds = Round.objects.filter(study=seat.study).exclude(pk__in=seat.sealed_round_ids)
    if not seat.has_role(OWNER, ADJUDICATOR):
        own = RoundRater.objects.filter(rater=seat.membership).values("round")
        rounds = rounds.filter(state__in=Round.OVER, pk__in=own)
    return list(rounds)


@dataclass(frozen=True)
class DiscussionProgress:
    """How far a discussion is: the newest decision and the newest answer of others on an item."""

    resolution: int
    annotation: int


def newest(round_: Round, item: Item) -> DiscussionProgress:
    """The ids of the newest decision and the newest answer on an item; two queries."""
    decided = Resolution.objects.filter(round=round_, item=item).aggregate(newest=Max("pk"))["newest"]
    answered = Assignment.objects.filter(round=round_, item=item).aggregate(newest=Max("current"))["newest"]
    return DiscussionProgress(decided or 0, answered or 0)


@dataclass(frozen=True)
class ConcurrentChange:
    """What others did on an item since then: who decided which dimensions, and who answered, with the revision."""

    decided: Sequence[tuple[str, str]]
    answered: Sequence[tuple[Membership, int]]

    def __bool__(self) -> bool:
        return bool(self.decided or self.answered)


def meanwhile(seat: Seat, round_: Round, item: Item, since: DiscussionProgress) -> ConcurrentChange:
    """The decisions and answers of others since then; two queries."""
    decided = Resolution.objects.filter(round=round_, item=item, pk__gt=since.resolution)
    decided = decided.exclude(decided_by=seat.user).select_related("decided_by", "dimension").order_by("pk")
    answered = Assignment.objects.filter(round=round_, item=item, current__gt=since.annotation)
    answered = answered.exclude(rater=seat.membership).select_related("current", *RATER_NAMES).order_by("pk")
    return ConcurrentChange(
        [
            (row.decided_by.signed_name if row.decided_by else "Rule of the study", row.dimension.title)
            for row in decided
        ],
        [(each.rater, each.current.revision) for each in answered if each.current],
    )


@dataclass(frozen=True)
class AnswersColumn:
    """A rater of an item: how sure, whether they skipped, and whether the answer was changed since it was blind."""

    code: str
    confidence: int | None
    skip_reason: str
    memo: str
    is_arbiter: bool
    is_machine: bool
    is_flagged: bool
    is_own: bool

    @property
    def confidence_words(self) -> str:
        return CONFIDENCE.get(self.confidence or 0, "")


@dataclass(frozen=True)
class AnswersCell:
    """One rater's values on a dimension in words; `blind` are those given blind where they were others."""

    words: str
    blind: str
    values: Values | None


@dataclass(frozen=True)
class AnswersRow:
    """A part and a dimension with what each rater said, and how it stands."""

    part: int
    dimension: str
    title: str
    cells: Sequence[AnswersCell]
    differs: bool
    state: str
    agreed: str


@dataclass(frozen=True)
class AnswersTable:
    """All answers to an item: raters as columns, parts and dimensions as rows."""

    columns: Sequence[AnswersColumn]
    rows: Sequence[AnswersRow]

    @property
    def n_parts(self) -> int:
        return max((row.part for row in self.rows), default=1)


def answers_table(seat: Seat, round_: Round, item: Item, verdicts: Sequence[Verdict]) -> AnswersTable:
    """Every rater's answers to an item, differences and what was said blind marked; three queries."""
    tree = published_version(round_.taxonomy_version_id)
    assignments = list(
        Assignment.objects.filter(round=round_, item=item, state__in=Assignment.FINISHED, current__isnull=False)
        .select_related("rater", "current", "blind")
        .order_by("pk")
    )
    assignments.sort(key=lambda each: (each.kind != Assignment.Kind.RATER, code_order(each.rater.code)))
    wanted = {each.current_id or 0 for each in assignments} | {each.blind_id or 0 for each in assignments}
    values = read_values(tree, sorted(wanted - {0}))
    moved = part_matches(sorted(wanted - {0}))
    said = {(annotation, moved.get((annotation, part), part)): given for (annotation, part), given in values.items()}
    standing = {(verdict.part, verdict.dimension): verdict for verdict in verdicts}
    n_parts = max([part for _, part in said] + [verdict.part for verdict in verdicts], default=0)
    rows = []
    for part in range(1, n_parts + 1):
        for dimension in tree.dimensions:
            cells = [_cell(tree, dimension.key, part, each, said) for each in assignments]
            verdict = standing.get((part, dimension.key))
            given = {cell.values for cell in cells if cell.values is not None}
            if verdict is None and not given and not any(cell.blind for cell in cells):
                continue
            answered = [
                cell.values is not None
                for cell, each in zip(cells, assignments, strict=True)
                if each.state == Assignment.State.SUBMITTED
            ]
            rows.append(
                AnswersRow(
                    part=part,
                    dimension=dimension.key,
                    title=dimension.title,
                    cells=cells,
                    differs=len(given) > 1 or len(set(answered)) > 1,
                    state=verdict.state if verdict else "",
                    agreed=_agreed_words(dimension, verdict) if verdict and verdict.state != "open" else "",
                )
            )
    return AnswersTable([_column(seat, each) for each in assignments], rows)


def _agreed_words(dimension: TreeDimension, verdict: Verdict) -> str:
    if verdict.decision is not None and verdict.decision.no_part:
        return no_part_words(verdict.part)
    return value_words(dimension, verdict.values or ())


def part_matches(annotations: Sequence[int]) -> dict[tuple[int, int], int]:
    """(annotation, its part) → the agreed part it is, where that is not by number; one query."""
    rows = PartMatch.objects.filter(annotation__in=annotations).values_list("annotation_id", "part", "agreed_part")
    return {(annotation, part): agreed for annotation, part, agreed in rows}


def _column(seat: Seat, assignment: Assignment) -> AnswersColumn:
    current = assignment.current
    assert current is not None
    return AnswersColumn(
        code=assignment.rater.code or "",
        confidence=None if current.skip_reason else current.confidence,
        skip_reason=current.skip_reason,
        memo=current.memo,
        is_arbiter=assignment.is_arbiter,
        is_machine=assignment.rater.is_machine,
        is_flagged=current.is_flagged,
        is_own=seat.membership is not None and assignment.rater_id == seat.membership.pk,
    )


def _cell(
    tree: VersionTree,
    key: str,
    part: int,
    assignment: Assignment,
    said: Mapping[tuple[int, int], Mapping[str, Values]],
) -> AnswersCell:
    now = said.get((assignment.current_id or 0, part), {}).get(key)
    blind = said.get((assignment.blind_id or 0, part), {}).get(key)
    words = _words(tree, key, now)
    changed = assignment.blind is not None and assignment.blind_id != assignment.current_id and blind != now
    before = ""
    if changed and assignment.blind is not None:
        before = "skipped" if assignment.blind.skip_reason else _words(tree, key, blind) or "no answer"
    return AnswersCell(words, before, now)


def _words(tree: VersionTree, key: str, values: Values | None) -> str:
    if values is None:
        return ""
    kept = tuple(value for value in values if value != PENDING)
    if PENDING not in values:
        return value_words(tree.by_key[key], kept)
    return f"{value_words(tree.by_key[key], kept)} + a new category" if kept else "a new category"


def own_answer(seat: Seat, round_: Round, item: Item) -> Assignment | None:
    """This person's own finished assignment of an item, with its answer; one query."""
    if seat.membership is None:
        return None
    own = Assignment.objects.filter(round=round_, item=item, rater=seat.membership, state__in=Assignment.FINISHED)
    return own.select_related("current", "item", "round").first()


@dataclass(frozen=True)
class DiscussionItem:
    """An item of a round in its order, with who flagged it and how much was said of it."""

    item: int
    position: int
    identifier: str
    title: str = ""
    flags: Sequence[tuple[str, str]] = ()
    n_remarks: int = 0
    n_open: int = 0

    @property
    def short_name(self) -> str:
        """The identifier without the owner, for a narrow list."""
        return self.identifier.rpartition("/")[2] or self.identifier


def round_items(round_: Round, *, flagged: bool, without: Iterable[int] = ()) -> QuerySet[RoundItem]:
    """The items of a round that are done, in its order; with `flagged` those that a rater wants to talk about."""
    found = RoundItem.objects.counting().filter(round=round_).exclude(item__in=list(without)).select_related("item")
    if flagged:
        # As an array it is read once, and its items are looked up.
        found = found.filter(RawSQL(_FLAGGED, [round_.pk], output_field=BooleanField()))  # noqa: S611
    if round_.state == Round.State.OPEN:
        theirs = Assignment.objects.filter(RATERS, round=OuterRef("round"), item=OuterRef("item"))
        unfinished = theirs.filter(state__in=Assignment.UNFINISHED)
        found = found.exclude(n_free__gt=0).filter(~LookupExists(unfinished))
    return found.order_by("position")


_FLAGGED = f"""annotation_rounditem.item_id = ANY (ARRAY (
    SELECT a.item_id FROM annotation_assignment a JOIN annotation_annotation n ON n.id = a.current_id
    WHERE a.round_id = %s AND {is_rater_sql("a")} AND n.is_flagged
))"""  # noqa: S608


def n_flagged(round_: Round, without: Iterable[int] = ()) -> int:
    """How many items of a round a rater wants to talk about; one query."""
    return round_items(round_, flagged=True, without=without).count()


def neighboring_items(
    round_: Round, rows: QuerySet[RoundItem], item: Item
) -> tuple[list[DiscussionItem], list[DiscussionItem]]:
    """The items before one in an order, and from it on; three queries, bounded."""
    place = RoundItem.objects.filter(round=round_, item=item).values_list("position", flat=True).first() or 0
    before = list(rows.filter(position__lt=place).order_by("-position")[: BEHIND + 1])[::-1]
    onwards = list(rows.filter(position__gte=place)[: AHEAD + 1])
    return [_bare(row) for row in before], [_bare(row) for row in onwards]


def _bare(row: RoundItem) -> DiscussionItem:
    return DiscussionItem(row.item_id, row.position, row.item.identifier)


def discussion_items(round_: Round, rows: Sequence[RoundItem]) -> list[DiscussionItem]:
    """Items with their titles, flags and how many remarks they have; three queries."""
    items = [row.item_id for row in rows]
    titles = dict(Item.objects.filter(pk__in=items).values_list("pk", "snapshot__title"))
    flags: dict[int, list[tuple[str, str]]] = {}
    flagging = Assignment.objects.filter(round=round_, item__in=items, current__is_flagged=True)
    for item, code, memo in flagging.order_by("pk").values_list("item_id", "rater__code", "current__memo"):
        flags.setdefault(item, []).append((code or "", memo or ""))
    counted: dict[int, int] = {}
    for item in Remark.objects.filter(round=round_, item__in=items).order_by().values_list("item_id", flat=True):
        counted[item] = counted.get(item, 0) + 1
    return [
        DiscussionItem(
            row.item_id,
            row.position,
            row.item.identifier,
            titles.get(row.item_id) or "",
            sorted(flags.get(row.item_id, ()), key=lambda flag: code_order(flag[0])),
            counted.get(row.item_id, 0),
        )
        for row in rows
    ]
