"""Verdicts on the items of a round: reads answers and resolutions, and asks consensus."""

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from django.db.models import BooleanField, Count, Exists, F, OuterRef, Q, QuerySet, Subquery, Sum
from django.db.models.expressions import RawSQL

from annotation.core.constant_lookups import LookupExists
from annotation.core.member_lists import code_order
from annotation.labels.answers import applies
from annotation.labels.consensus import (
    PENDING,
    Base,
    ConsensusQuestion,
    Decision,
    Part,
    ProposalRequest,
    RaterAnswer,
    Values,
    Verdict,
    verdicts,
)
from annotation.labels.part_matching import in_place
from annotation.labels.queries.agreed_before import base_verdicts
from annotation.labels.queries.part_matches import matches_of
from annotation.labels.queries.proposal_states import OPEN, with_states
from annotation.labels.resolution_notes import notes_of
from annotation.models import (
    Annotation,
    Assignment,
    MeetingResolution,
    PartMatch,
    Proposal,
    Rating,
    Resolution,
    ResolutionValue,
    Round,
    RoundItem,
    RoundRater,
)
from annotation.models.assignment_kinds import CONSENSUS_RATERS, RATERS, kind_of
from shared.compiled_queries import CompiledQuery
from taxonomy.queries import published_version
from taxonomy.tree import VersionTree

CHUNK = 1000


@dataclass(frozen=True)
class ItemVerdicts:
    """An item of a round with the verdicts of all its parts and dimensions; in a worklist, what was agreed before."""

    round_item: RoundItem
    verdicts: Sequence[Verdict]
    is_complete: bool
    base: Base | None = None

    @property
    def identifier(self) -> str:
        return self.round_item.item.identifier


def questions(tree: VersionTree) -> list[ConsensusQuestion]:
    return [
        ConsensusQuestion(
            dimension.key,
            dimension.applies_when.dimension if dimension.applies_when else None,
            dimension.required,
            dimension.is_set,
            not dimension.has_categories,
        )
        for dimension in tree.dimensions
    ]


def round_verdicts(
    round_: Round,
    *,
    items: Iterable[int] | QuerySet[Any] | None = None,
    disputed_only: bool = False,
    answered_only: bool = False,
    after_position: int = 0,
) -> Iterator[ItemVerdicts]:
    """The verdicts of a round's items in its order, in chunks of a thousand items with five queries each.

    `items` are item ids or a query for them; `disputed_only` leaves out those where all raters said the same and
    nothing was decided; `answered_only` those that nobody answered or decided. Training and excluded items have none:
    they count nowhere. In a worklist what was agreed before and is not asked stays agreed (`base_verdicts`).
    """
    chunk_after = _reader(round_, items, disputed_only=disputed_only, answered_only=answered_only)
    tree = published_version(round_.taxonomy_version_id)
    asked = questions(tree)
    position = after_position
    while chunk := chunk_after(position):
        position = chunk[-1].position
        answers, unfinished, n_done = _answers(round_, tree, [row.item_id for row in chunk])
        decisions = _decisions(round_, tree, [row.item_id for row in chunk])
        bases = base_verdicts(round_, chunk, round_verdicts)
        for row in chunk:
            given, base = answers.get(row.item_id, []), bases.get(row.item_id)
            is_complete = round_.state != Round.State.OPEN or (
                row.item_id not in unfinished and n_done[row.item_id] >= row.n_raters
            )
            judged = (
                verdicts(
                    asked,
                    partial(applies, tree),
                    given,
                    decisions[row.item_id],
                    row.n_raters,
                    base,
                    is_relabel=round_.kind == Round.Kind.RELABEL,
                )
                if is_complete
                else []
            )
            yield ItemVerdicts(row, judged, is_complete, base)
        if len(chunk) < CHUNK:
            return


def _places(round_: Any) -> QuerySet[RoundItem]:
    counting = RoundItem.objects.counting().filter(round=round_)
    return counting.select_related("item__issue__repository").order_by("position")


_chunk = CompiledQuery(lambda round_, after: _places(round_).filter(position__gt=after)[:CHUNK], int, int)
_chunk_among = CompiledQuery(
    lambda round_, items, after: _places(round_).filter(item__any_of=items, position__gt=after)[:CHUNK], int, list, int
)


def _reader(
    round_: Round, items: Iterable[int] | QuerySet[Any] | None, *, disputed_only: bool, answered_only: bool
) -> Callable[[int], list[RoundItem]]:
    """Reads the places of a round that are asked for, a chunk behind a position."""
    if round_.kind == Round.Kind.RELABEL:  # there earlier answers of others count as well
        disputed_only = answered_only = False
    among = None if items is None or isinstance(items, QuerySet) else set(items)
    if disputed_only:  # read once and not with every chunk: it takes all answers of the round to tell
        disputed = set(disputed_items(round_).values_list("item", flat=True))
        among = disputed if among is None else among & disputed
    if not isinstance(items, QuerySet) and not answered_only:
        if among is None:
            return lambda after: _chunk.all(round_.pk, after)
        listed = sorted(among)
        return lambda after: _chunk_among.all(round_.pk, listed, after) if listed else []
    rows = _places(round_)
    if isinstance(items, QuerySet):
        rows = rows.filter(item__in=items)
    if among is not None:
        rows = rows.filter(item__in=among)
    if answered_only:
        rows = answered_places(rows, round_, decided=True)
    return lambda after: list(rows.filter(position__gt=after)[:CHUNK])


FEW_SHARE = 0.25
"""Where fewer of a round's items are answered, these are looked up; else the round is walked through."""


def answered_places(places: QuerySet[RoundItem], round_: Round, *, decided: bool = False) -> QuerySet[RoundItem]:
    """Those places of a round whose items someone answered (or, if `decided`, that were decided); one query.

    A page of a large round with few answers would otherwise read all that lies before them.
    """
    n_items = RoundItem.objects.filter(round=OuterRef("round")).order_by().values("round").annotate(n=Count("pk"))
    finished = RoundRater.objects.filter(round=round_).order_by().values("round").annotate(n=Sum("n_finished"))
    counted = finished.annotate(n_items=Subquery(n_items.values("n"))).values_list("n", "n_items")
    if any(n < FEW_SHARE * (n_all or 0) for n, n_all in counted):
        # As an array it is read once, and its items are looked up in an index of the round.
        condition = _AMONG.format(or_decided=_OR_DECIDED if decided else "")
        params = [round_.pk] * (2 if decided else 1)
        return places.filter(RawSQL(condition, params, output_field=BooleanField()))  # noqa: S611
    # By the round of the place: one that is written out could be answered by an index of the round's answers alone.
    place = {"round": OuterRef("round"), "item": OuterRef("item")}
    found = Q(LookupExists(Assignment.objects.filter(current__isnull=False, **place)))
    if decided:
        found |= Q(LookupExists(Resolution.objects.filter(**place)))
    return places.filter(found)


_AMONG = """annotation_rounditem.item_id = ANY (ARRAY (
    SELECT item_id FROM annotation_assignment WHERE round_id = %s AND current_id IS NOT NULL{or_decided}
))"""
_OR_DECIDED = " UNION SELECT item_id FROM annotation_resolution WHERE round_id = %s"


def disputed_items(round_: Round) -> QuerySet[Any, Any]:
    """Ids of items where answers differ or miss, someone skipped or ever proposed, or they were decided or matched.

    While the round is open, of those alone on which all raters are done.
    """
    counting = RoundItem.objects.counting().filter(round=OuterRef("round"), item=OuterRef("item"))
    # Looked up for each answer: joined, the answers of all studies may be read for those of one round.
    digest = Annotation.objects.filter(pk=OuterRef("current")).order_by()
    decided = Resolution.objects.filter(round=round_).values("item")
    proposing = Proposal.objects.filter(round=round_).order_by().values("item")
    matched = PartMatch.objects.filter(annotation__assignment__round=round_).values("annotation__assignment__item")
    found = (
        Assignment.objects.filter(CONSENSUS_RATERS, round=round_, state__in=Assignment.FINISHED)
        .order_by()
        .values("item")
        .annotate(
            n_kinds=Count(Subquery(digest.values("answers_digest")), distinct=True),
            n_skipped=Count("pk", filter=Q(state=Assignment.State.SKIPPED)),
            n_done=Count("pk", filter=RATERS),
        )
        .annotate(n_planned=counting.order_by().values("n_raters"))
        .filter(n_planned__isnull=False)
        .filter(
            Q(n_kinds__gt=1)
            | Q(n_skipped__gt=0)
            | Q(n_done__lt=F("n_planned"))
            | Q(item__in=decided)
            | Q(item__in=matched)
            | Q(item__in=proposing)
        )
    )
    if round_.state == Round.State.OPEN:
        found = found.filter(n_done__gte=F("n_planned"))
    return found.values("item")


def has_open_disagreements(round_: Round, *, items: Collection[int] | None = None) -> bool:
    """Whether any item of the round, or of these (ids), waits for a decision; stops at the first."""
    if items is not None and not items:
        return False
    found = round_verdicts(round_, items=items, disputed_only=items is None)
    return any(verdict.state == "open" for each in found for verdict in each.verdicts)


def open_proposals(round_: Round | int) -> QuerySet[Proposal]:
    """Categories asked for in current answers of a round, or while resolving it, that were not answered or decided.

    Without those on training items, whose right answer is known, and on excluded ones.
    """
    counting = RoundItem.objects.counting().filter(round=OuterRef("round"), item=OuterRef("item"))
    proposals = Proposal.objects.filter(Exists(counting), round=round_)
    open_ones: QuerySet[Proposal] = with_states(proposals).filter(state=OPEN)
    return open_ones.select_related("item", "proposed_by", "dimension")


_open_by_round: CompiledQuery[Any] = CompiledQuery(
    lambda round_, without: (
        open_proposals(round_).exclude(item__any_of=without).order_by().values_list("round").annotate(n=Count("pk"))
    ),
    int,
    list,
)


def n_open_proposals(round_: Round, *, without: Collection[int] = ()) -> int:
    """How many proposals wait for an answer, those on some items (ids) left out."""
    return sum(n for _, n in _open_by_round.all(round_.pk, list(without)))


_current_answers: CompiledQuery[Any] = CompiledQuery(
    lambda round_, items: (
        Assignment.objects.filter(CONSENSUS_RATERS, round=round_, item__any_of=items)
        .exclude(state=Assignment.State.WITHDRAWN)
        .values_list(
            "item_id",
            "rater__code",
            "state",
            "current_id",
            "current__skip_reason",
            "current__n_parts",
            "current__memo",
            "current__part_memos",
            "current__n_proposals",
            Exists(PartMatch.objects.filter(annotation=OuterRef("current"))),
            "blind_id",
            "slot",
            "rater__kind",
        )
    ),
    int,
    list,
)


def _answers(
    round_: Round, tree: VersionTree, items: Sequence[int]
) -> tuple[dict[int, list[RaterAnswer]], set[int], Counter[int]]:
    """Per item the current answers of its raters (arbiters too), in the order of their codes.

    Also the items that a planned rater has not done yet, and how many have each: an arbiter is not waited for. The
    parts of an answer stand where they were matched to.
    """
    rows = _current_answers.all(round_.pk, items) if items else []
    rows = [(*row[:-2], kind_of(*row[-2:])) for row in rows]
    rows.sort(key=lambda row: code_order(row[1]))
    unfinished = {row[0] for row in rows if row[2] in Assignment.UNFINISHED and row[-1] == Assignment.Kind.RATER}
    done = [row for row in rows if row[2] in Assignment.FINISHED and row[3] is not None]
    changed = [row[-2] for row in done if row[-2] not in (None, row[3])]
    values = read_values(tree, [*(row[3] for row in done), *changed])
    proposals = _proposals(tree, [row[3] for row in done if row[-4]])
    matched = matches_of([*(row[3] for row in done if row[-3]), *changed])
    n_blind = dict(Annotation.objects.filter(pk__in=changed).values_list("pk", "n_parts")) if changed else {}
    found: dict[int, list[RaterAnswer]] = defaultdict(list)
    n_done: Counter[int] = Counter()
    for item, code, _, current, skip_reason, n_parts, memo, part_memos, _, _, blind, kind in done:
        n_done[item] += kind == Assignment.Kind.RATER
        answer = RaterAnswer(
            rater=code or "",
            parts=[] if skip_reason else [values.get((current, part), {}) for part in range(1, n_parts + 1)],
            skip_reason=skip_reason,
            memo=memo,
            part_memos=part_memos,
            proposals=proposals.get(current, {}),
            is_third=kind == Assignment.Kind.THIRD,
            blind=None if blind == current else _parts_of(blind, n_blind.get(blind or 0, 0), values, matched),
        )
        found[item].append(in_place(answer, matched[current]) if current in matched else answer)
    return found, unfinished, n_done


def _parts_of(
    annotation: int | None,
    n_parts: int,
    values: Mapping[tuple[int, int], dict[str, Values]],
    matched: Mapping[int, Mapping[int, int]],
) -> Sequence[Part | None]:
    """What was said in an annotation, its parts where they were matched to; nothing without one."""
    if annotation is None:
        return ()
    said = RaterAnswer("", [values.get((annotation, part), {}) for part in range(1, n_parts + 1)])
    return (in_place(said, matched[annotation]) if annotation in matched else said).parts


def _proposals(tree: VersionTree, annotations: Sequence[int]) -> dict[int, dict[tuple[int, str], ProposalRequest]]:
    """Annotation id → part and dimension key → the category asked for; one query where there is any."""
    found: dict[int, dict[tuple[int, str], ProposalRequest]] = defaultdict(dict)
    rows = Rating.objects.filter(annotation__in=annotations, proposal__isnull=False)
    for annotation, part, dimension, name, memo in rows.values_list(
        "annotation_id", "part", "dimension_id", "proposal__name", "proposal__memo"
    ):
        found[annotation][part, tree.by_id[dimension].key] = ProposalRequest(name or "", memo or "")
    return found


_values: CompiledQuery[Any] = CompiledQuery(
    lambda annotations: Rating.objects.filter(annotation__any_of=annotations).values_list(
        "annotation_id", "part", "dimension_id", "category_id", "proposal_id", "boolean", "number", "text"
    ),
    list,
)


def read_values(tree: VersionTree, annotations: Sequence[int]) -> dict[tuple[int, int], dict[str, Values]]:
    """The values of annotations: (annotation id, part) → dimension key → values; one query."""
    gathered: dict[tuple[int, int], dict[str, list[str | bool | float]]] = defaultdict(dict)
    rows = _values.all(annotations) if annotations else []
    for annotation_id, part, dimension_id, category_id, proposal_id, boolean, number, text in rows:
        dimension = tree.by_id[dimension_id]
        kept = gathered[annotation_id, part].setdefault(dimension.key, [])
        if proposal_id is not None:
            kept.append(PENDING)
        elif category_id is not None:
            kept.append(dimension.by_id[category_id].key)
        else:
            kept.extend(value for value in (boolean, number, text) if value is not None)
    return {
        place: {key: tuple(sorted(values, key=str)) for key, values in dimensions.items()}
        for place, dimensions in gathered.items()
    }


_newest_resolutions: CompiledQuery[Any] = CompiledQuery(
    lambda round_, items: (
        Resolution.objects.filter(round=round_, item__any_of=items)
        .select_related("decided_by")
        .annotate(has_meeting=Exists(MeetingResolution.objects.filter(resolution=OuterRef("pk"))))
        .order_by("item_id", "part", "dimension_id", "-revision")
        .distinct("item_id", "part", "dimension_id")
    ),
    int,
    list,
)


def _decisions(round_: Round, tree: VersionTree, items: Sequence[int]) -> dict[int, dict[tuple[int, str], Decision]]:
    """Per item the newest resolution of each part and dimension, none where it was reopened; two queries.

    What was discussed in a meeting, as whoever resolved it stated, has the method `discussion`.
    """
    newest = _newest_resolutions.all(round_.pk, items) if items else []
    newest = [each for each in newest if each.method != Resolution.Method.REOPENED]
    values = resolution_values(tree, newest)
    found: dict[int, dict[tuple[int, str], Decision]] = defaultdict(dict)
    for resolution in newest:
        key = tree.by_id[resolution.dimension_id].key
        method = Resolution.Method.DISCUSSION if resolution.has_meeting else resolution.method
        found[resolution.item_id][resolution.part, key] = decision_of(resolution, values, method)
    return found


def decision_of(resolution: Resolution, values: Mapping[int, Values], method: str) -> Decision:
    """A resolution as consensus reads it; `values` as from `resolution_values`, `method` as it is reported."""
    return Decision(
        id=resolution.pk,
        values=values.get(resolution.pk, ()),
        method=method,
        notes=notes_of(resolution),
        decided_by=resolution.decided_by.told_name if resolution.decided_by else "",
        decided_at=resolution.created_at,
        no_part=resolution.no_part,
    )


def newest_of_each_place(rows: QuerySet[Resolution]) -> QuerySet[Resolution]:
    """Those of the rows that no later revision replaced."""
    newest = Resolution.objects.filter(
        round=OuterRef("round"), item=OuterRef("item"), part=OuterRef("part"), dimension=OuterRef("dimension")
    ).order_by("-revision")
    return rows.filter(pk=Subquery(newest.values("pk")[:1]))


def resolution_values(tree: VersionTree, resolutions: Sequence[Resolution]) -> dict[int, Values]:
    """Resolution id → its values, as consensus writes them."""
    by_id = {resolution.pk: resolution for resolution in resolutions}
    gathered: dict[int, list[str | bool | float]] = defaultdict(list)
    for row in ResolutionValue.objects.filter(resolution__in=list(by_id)):
        dimension = tree.by_id[by_id[row.resolution_id].dimension_id]
        if row.category_id is not None:
            gathered[row.resolution_id].append(dimension.by_id[row.category_id].key)
        else:
            gathered[row.resolution_id].extend(v for v in (row.boolean, row.number, row.text) if v is not None)
    return {pk: tuple(sorted(values, key=str)) for pk, values in gathered.items()}
