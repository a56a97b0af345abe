"""Rows of results: agreed labels, ratings, disagreements, and resolutions, at constant memory."""

from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import Any

from django.db.models import Case, Exists, IntegerField, OuterRef, Q, QuerySet, Value, When

from accounts.models import User
from annotation.core.access import Seat
from annotation.core.member_lists import code_order
from annotation.labels.consensus import Values, Verdict
from annotation.labels.queries.label_version import label_version
from annotation.labels.queries.resolution_facts import meetings_of, ways, with_facts
from annotation.labels.queries.verdicts import (
    CHUNK,
    ItemVerdicts,
    answered_places,
    read_values,
    resolution_values,
    round_verdicts,
)
from annotation.labels.queries.version_mapping import VersionMapping
from annotation.labels.resolution_notes import ResolutionNotes, notes_of
from annotation.models import Annotation, Assignment, Item, Membership, Resolution, Round, RoundItem
from annotation.models.assignment_kinds import kind_of
from annotation.models.studies import ACCOUNTS
from ingest.errors import Invalid as NotAnIssue
from ingest.identifiers import full_name, parse_identifier
from shared.names import folded
from taxonomy.models import TaxonomyVersion
from taxonomy.queries import published_version

Place = tuple[int, int]
"""Where a reading stands: round number, and position in the round."""


@dataclass(frozen=True)
class LabelRow:
    """One agreed label; `values` in terms of `taxonomy_version`, None where `unmapped` says why they can't be."""

    item: str
    repository: str | None
    number: int | None
    part: int
    round: int
    round_label: str
    round_kind: str
    dimension: str
    values: list[str | bool | float] | None
    method: str
    taxonomy_version: int
    resolved_at: datetime | None
    raters: list[str]
    original_values: list[str | bool | float]
    original_version: int
    unmapped: str | None
    screened_out: bool


BLIND, CURRENT, FIRST = REVISIONS = ("blind", "current", "first")
"""Of a rater's answer: the last before they could see others', the newest, and the first to a training item."""


@dataclass(frozen=True)
class RatingRow:
    """What one rater gave on one dimension of a part; `revision` is one of REVISIONS, `role` one of ROLES."""

    item: str
    part: int
    round: int
    round_label: str
    round_kind: str
    rater: str
    role: str
    dimension: str
    values: list[str | bool | float] | None
    memo: str
    seconds: int | None
    training: bool
    revision: str
    taxonomy_version: int
    original_values: list[str | bool | float]
    original_version: int
    unmapped: str | None
    screened_out: bool


@dataclass(frozen=True)
class ResolutionRow:
    """One decision; later revisions stand before earlier ones."""

    item: str
    part: int
    round: int
    round_label: str
    dimension: str
    revision: int
    values: list[str | bool | float]
    method: str
    reported_as: str
    meeting_held_on: str | None
    meeting_participants: list[str]
    notes: ResolutionNotes
    decider: str
    decided_by: str
    decided_at: datetime
    no_part: bool


ROLES = RATER, THIRD, RELABEL, MODEL = ("rater", "third", "relabel", "model")
"""Whoever holds a place of the item, in a relabeling round, too; people and model raters who answered beside it."""
DECIDERS = RULE, PERSON, IMPORT = ("rule", "person", "import")


def role_of(round_: Round, kind: Assignment.Kind) -> str:
    """In which role an answer was given: agreement counts those of the role `rater` alone."""
    return RELABEL if kind == RATER and round_.kind == Round.Kind.RELABEL else str(kind)


def decider_of(made: Resolution) -> str:
    """Whether a rule of the study decided, or a person, or the decision came with an import."""
    if made.method == Resolution.Method.IMPORTED:
        return IMPORT
    return PERSON if made.decided_by_id else RULE


def labels(
    rounds: Sequence[Round],
    *,
    dimension: str | None = None,
    after: Place = (0, 0),
    version: TaxonomyVersion | None = None,
    standing: TaxonomyVersion | None = None,
) -> Iterator[tuple[Place, list[LabelRow]]]:
    """Item by item the agreed labels of these rounds; an item in several of them counts in the newest closed one.

    They are told in terms of `version`; without it in those of their round, or of `standing`, to which a plan moved the
    study, where that is newer.
    """
    tellings: dict[int, VersionMapping] = {}
    for round_ in rounds:
        if round_.number < after[0]:
            continue
        told_in = version or label_version(round_, standing)
        version_mapping = tellings.setdefault(told_in.pk, VersionMapping(told_in))
        start = after[1] if round_.number == after[0] else 0
        items = settled_here(round_, rounds) if len(rounds) > 1 else None
        for each in round_verdicts(round_, items=items, answered_only=True, after_position=start):
            rows = label_rows(round_, each, version_mapping)
            yield (
                (round_.number, each.round_item.position),
                [row for row in rows if dimension is None or row.dimension == dimension],
            )


def label_rows(round_: Round, each: ItemVerdicts, version_mapping: VersionMapping) -> list[LabelRow]:
    """The agreed labels of an item in terms of a version, without those whose dimension does not apply under them."""
    repository, number = _named(each.round_item.item)
    rows = []
    for verdict, found in mapped_verdicts(round_, settled_verdicts(round_, each), version_mapping):
        origin, decision = verdict.origin, verdict.decision
        rows.append(
            LabelRow(
                item=each.identifier,
                repository=repository,
                number=number,
                part=verdict.part,
                round=origin.round if origin else round_.number,
                round_label=origin.label if origin else round_.label,
                round_kind=origin.kind if origin else round_.kind,
                dimension=verdict.dimension,
                values=None if isinstance(found, str) else list(found),
                method=verdict.method or "",
                taxonomy_version=version_mapping.version.number,
                resolved_at=decision.decided_at if decision and isinstance(decision.decided_at, datetime) else None,
                raters=list(origin.raters) if origin else [r.rater for r in verdict.ratings if r.values is not None],
                original_values=list(origin.values if origin else verdict.values or ()),
                original_version=origin.version if origin else round_.taxonomy_version.number,
                unmapped=found if isinstance(found, str) else None,
                screened_out=each.round_item.item.screening == Item.Screening.OUT,
            )
        )
    return rows


def mapped_verdicts(
    round_: Round, settled: Sequence[Verdict], version_mapping: VersionMapping
) -> list[tuple[Verdict, Values | str]]:
    """Verdicts that have values, with these in terms of a version (or in words why they can't be told so).

    Left out are those whose dimension does not apply under what is told.
    """
    told: dict[int, dict[str, Values]] = defaultdict(dict)
    found: list[tuple[Verdict, Values | str]] = []
    is_moved = False
    for verdict in settled:
        origin = verdict.origin
        version_id = origin.version_id if origin else round_.taxonomy_version_id
        values = version_mapping.tell(version_id, verdict.dimension, origin.values if origin else verdict.values or ())
        is_moved = is_moved or version_id != version_mapping.version.pk
        if not isinstance(values, str):
            told[verdict.part][verdict.dimension] = values
        found.append((verdict, values))
    return [
        (one, values) for one, values in found if not is_moved or version_mapping.counts(one.dimension, told[one.part])
    ]


def settled_verdicts(round_: Round, each: ItemVerdicts) -> list[Verdict]:
    """The verdicts with a value; in a worklist also what stood before where none came in its place (yet)."""
    found = [verdict for verdict in each.verdicts if verdict.values is not None and verdict.state != "open"]
    if each.base is None or not each.is_complete:
        return found
    here = {
        (verdict.part, verdict.dimension)
        for verdict in each.verdicts
        if verdict.state == "resolved" or (verdict.values is not None and verdict.state != "open")
    }
    dimensions = published_version(round_.taxonomy_version_id).dimensions
    disputed = {(verdict.part, verdict.dimension) for verdict in each.verdicts if verdict.replaces is not None}
    waiting = {(one.part, one.dimension) for one in each.verdicts if one.replaces is not None and one.state == "open"}
    for dimension in dimensions:  # each after the one that it hangs on, which is not resolved yet
        if (condition := dimension.applies_when) is not None:
            waiting |= {(part, dimension.key) for part, key in waiting if key == condition.dimension}
    disputed |= waiting
    found += [
        verdict
        for place, verdict in each.base.before.items()
        if place not in here and (place in each.base.asked or place in disputed or verdict.values is None)
    ]
    order = {dimension.key: number for number, dimension in enumerate(dimensions)}
    return sorted(found, key=lambda verdict: (verdict.part, order.get(verdict.dimension, len(order))))


def _named(item: Item) -> tuple[str | None, int | None]:
    """Repository and number of an item; of one without a stored issue as its identifier says, if it names an issue."""
    if item.issue is not None:
        return item.issue.repository.full_name, item.issue.number
    try:
        host, owner, name, number = parse_identifier(item.identifier)
    except NotAnIssue:
        return None, None
    return full_name(host, owner, name), number


def settled_here(round_: Round, rounds: Sequence[Round]) -> QuerySet[Any, Any]:
    """Items of a round for which none of the other rounds comes first: closed before not closed, then newest.

    A worklist comes last while it is open, for what it rests on still stands, and counts as closed from then on: where
    nothing came in the place of what stood before, that stands in it, too.
    """

    def rank(prefix: str) -> Case:
        relabel = {f"{prefix}kind": Round.Kind.RELABEL}
        return Case(
            When(**{f"{prefix}state": Round.State.CLOSED}, then=Value(2)),
            When(**relabel, **{f"{prefix}state": Round.State.RESOLVING}, then=Value(2)),
            When(**relabel, then=Value(0)),
            default=Value(1),
            output_field=_INT,
        )

    own = 2 if round_.state == Round.State.CLOSED else 1
    if round_.kind == Round.Kind.RELABEL:
        own = 2 if round_.state in Round.OVER else 0
    better = (
        RoundItem.objects.counting()
        .filter(item=OuterRef("item"), round__in=[each.pk for each in rounds])
        .exclude(round=round_)
        .annotate(rank=rank("round__"))
        .filter(Q(rank__gt=own) | Q(rank=own, round__number__gt=round_.number))
    )
    return RoundItem.objects.counting().filter(~Exists(better), round=round_).order_by().values("item")


_INT = IntegerField()


def ratings(
    rounds: Sequence[Round],
    *,
    dimension: str | None = None,
    revision: str | None = None,
    own: Seat | None = None,
    own_round_ids: frozenset[int] = frozenset(),
    after: Place = (0, 0),
    version: TaxonomyVersion | None = None,
) -> Iterator[tuple[Place, list[RatingRow]]]:
    """Item by item what raters gave, the blind revision, and the current one where it is another.

    Of a training item the first answer, given before its feedback, takes the place of the blind revision.

    With `version` in its terms, else as given. With `revision` all of that one. With `own` only that person's ratings
    in the rounds of `own_round_ids`, or in all of them when it is empty.
    """
    version_mapping: VersionMapping | None = None
    for round_ in rounds:
        if round_.number < after[0]:
            continue
        tree = published_version(round_.taxonomy_version_id)
        own_version = round_.taxonomy_version
        version_mapping = version_mapping if version and version_mapping else VersionMapping(version or own_version)
        position = after[1] if round_.number == after[0] else 0
        places = answered_places(RoundItem.objects.present().filter(round=round_), round_)
        places = places.select_related("item").order_by("position")
        while chunk := list(places.filter(position__gt=position)[:CHUNK]):
            position = chunk[-1].position
            given = Assignment.objects.filter(
                round=round_, item__in=[place.item_id for place in chunk], current__isnull=False
            )
            if own is not None and (not own_round_ids or round_.pk in own_round_ids):
                given = given.filter(rater__user=own.user)
            first = _first_answers(round_, [place.item_id for place in chunk if place.known is not None])
            by_item: dict[int, list[tuple[str, str, int | None, int]]] = {}
            for pk, item_id, code, slot, member_kind, blind, current in given.values_list(
                "pk", "item_id", "rater__code", "slot", "rater__kind", "blind_id", "current_id"
            ):
                assert current is not None
                answer = (code or "", role_of(round_, kind_of(slot, member_kind)), first.get(pk, blind), current)
                by_item.setdefault(item_id, []).append(answer)
            wanted = {
                pk for answers in by_item.values() for *_, before, current in answers for pk in (before, current) if pk
            }
            said = _said(wanted)
            values = read_values(tree, list(wanted))
            for place in chunk:
                rows = [
                    RatingRow(
                        item=place.item.identifier,
                        part=part,
                        round=round_.number,
                        round_label=round_.label,
                        round_kind=round_.kind,
                        rater=code,
                        role=role,
                        dimension=key,
                        values=None if isinstance(told, str) else list(told),
                        memo=memo,
                        seconds=seconds,
                        training=place.known is not None,
                        revision=name,
                        taxonomy_version=version_mapping.version.number,
                        original_values=list(given_values),
                        original_version=own_version.number,
                        unmapped=told if isinstance(told, str) else None,
                        screened_out=place.item.screening == Item.Screening.OUT,
                    )
                    for code, role, before, current in sorted(
                        by_item.get(place.item_id, []), key=lambda each: code_order(each[0])
                    )
                    for name, annotation in _revisions(
                        before_revision(round_, place.known is not None), before, current, revision
                    )
                    for part, memo, seconds in said[annotation]
                    for key, given_values in values.get((annotation, part), {}).items()
                    if dimension is None or key == dimension
                    for told in [version_mapping.tell(own_version.pk, key, given_values)]
                ]
                rows.sort(key=lambda row: (row.part, tree.by_key[row.dimension].position))
                yield (round_.number, place.position), rows
            if len(chunk) < CHUNK:
                break


def before_revision(round_: Round, is_training: bool = False) -> str:
    """What the answer before the current one is called.

    It is the first, not a blind one, to a training item and in a relabeling round, whose raters see earlier labels.
    """
    return FIRST if is_training or round_.kind == Round.Kind.RELABEL else BLIND


def _first_answers(round_: Round, training: Collection[int]) -> dict[int, int]:
    """Assignment id → the first answer to a training item; one query where some of the items are."""
    if not training:
        return {}
    first = Annotation.objects.filter(assignment__round=round_, assignment__item__in=list(training), revision=1)
    return dict(first.values_list("assignment", "pk"))


def _revisions(name: str, before: int | None, current: int, wanted: str | None) -> list[tuple[str, int]]:
    """The revisions of an answer that are listed: the one `before`, and the current one where it is another or wanted.

    `name` is what the one before is called.
    """
    found = [(name, before)] if before is not None else []
    if wanted == CURRENT or current != before:
        found.append((CURRENT, current))
    return [(called, each) for called, each in found if wanted in (None, called)]


def _said(annotations: Collection[int]) -> dict[int, list[tuple[int, str, int | None]]]:
    """Annotation id → number, memo and seconds of each of its parts; one query."""
    found = {}
    rows = Annotation.objects.filter(pk__in=annotations)
    for pk, n_parts, memo, part_memos, seconds in rows.values_list("pk", "n_parts", "memo", "part_memos", "seconds"):
        own = [*part_memos, *[""] * (n_parts - len(part_memos))]
        found[pk] = [(part, own[part - 1] or memo, seconds) for part in range(1, n_parts + 1)]
    return found


def disagreements(
    rounds: Sequence[Round],
    *,
    state: str = "open",
    dimension: str | None = None,
    after: Place = (0, 0),
    without: Collection[tuple[int, int]] = (),
) -> Iterator[tuple[Place, list[dict[str, Any]]]]:
    """Item by item where raters differ: open, resolved, or all; with the resolution that stands, if any.

    `without` are rounds and items that are left out.
    """
    for round_ in rounds:
        if round_.number < after[0]:
            continue
        start = after[1] if round_.number == after[0] else 0
        for each in round_verdicts(round_, disputed_only=True, after_position=start):
            rows = [
                disagreement(round_, each.identifier, verdict)
                for verdict in each.verdicts
                if verdict.reason is not None
                and (round_.pk, each.round_item.item_id) not in without
                and (state == "all" or verdict.state == state)
                and (dimension is None or verdict.dimension == dimension)
            ]
            yield (round_.number, each.round_item.position), rows


def disagreement(round_: Round, identifier: str, verdict: Verdict) -> dict[str, Any]:
    decision = verdict.decision
    return {
        "item": identifier,
        "part": verdict.part,
        "round": round_.number,
        "round_label": round_.label,
        "dimension": verdict.dimension,
        "state": verdict.state,
        "reason": verdict.reason,
        "ratings": [
            {
                "rater": rating.rater,
                "values": None if rating.values is None else list(rating.values),
                "memo": rating.memo,
                "skip": rating.skip_reason or None,
                "proposal": rating.proposal and {"name": rating.proposal.name, "memo": rating.proposal.memo},
            }
            for rating in verdict.ratings
        ],
        "resolution": None
        if decision is None
        else {
            "id": Resolution.public_id_of(decision.id),
            "values": list(decision.values),
            "no_part": decision.no_part,
            "method": decision.method,
            **decision.notes.columns(),
            "decided_by": decision.decided_by,
            "decided_at": decision.decided_at,
        },
        "agreed_before": None if verdict.replaces is None else _agreed_before(verdict.replaces),
    }


def _agreed_before(verdict: Verdict) -> dict[str, Any]:
    """The label of an earlier round that a disagreement of a worklist is about, as it was agreed."""
    origin = verdict.origin
    assert origin is not None
    return {
        "values": list(origin.values),
        "round": origin.round,
        "taxonomy_version": origin.version,
        "method": verdict.method,
    }


def resolvable_rounds(seat: Seat) -> list[Round]:
    """Rounds in which decisions can be taken now and which this person may see."""
    states = [*Round.OVER]
    if seat.study.is_resolved_by_item:
        states.append(Round.State.OPEN)
    rounds = Round.objects.filter(study=seat.study, state__in=states).select_related("taxonomy_version")
    return [round_ for round_ in rounds.order_by("number") if round_.pk not in seat.sealed_round_ids]


class Deciders:
    """User names of who decided, in files: equal before and after a study is moved to another server.

    That of someone of the other server is marked only where another member here has the same.
    """

    def __init__(self, studies: Collection[int]) -> None:
        self._studies, self._told = studies, dict[int, str]()

    @cached_property
    def _members(self) -> list[Membership]:
        found = Membership.objects.filter(study__in=self._studies)
        return list(found.select_related(*ACCOUNTS))

    def _has_namesake(self, user: User) -> bool:
        others = (each for each in self._members if user.pk not in each.account_ids)
        accounts = (account for each in others for account in each.all_accounts)
        return any(not each.elsewhere and folded(each.username) == folded(user.elsewhere) for each in accounts)

    def __call__(self, user: User | None) -> str:
        if user is None:
            return ""
        if user.pk not in self._told:
            self._told[user.pk] = user.told_name if user.elsewhere and self._has_namesake(user) else user.home_name
        return self._told[user.pk]


def resolutions(rounds: Sequence[Round]) -> Iterator[ResolutionRow]:
    """Every decision with its revisions, in the order of rounds, items and dimensions."""
    names = Deciders([round_.study_id for round_ in rounds])
    for round_ in rounds:
        tree = published_version(round_.taxonomy_version_id)
        places = RoundItem.objects.present().filter(round=round_).order_by("position")
        position = 0
        while chunk := list(places.filter(position__gt=position)[:CHUNK]):
            position = chunk[-1].position
            order = {place.item_id: place.position for place in chunk}
            rows = list(
                with_facts(Resolution.objects.filter(round=round_, item__in=list(order))).select_related(
                    "item", "decided_by"
                )
            )
            rows.sort(
                key=lambda row: (
                    order[row.item_id],
                    row.part,
                    tree.by_id[row.dimension_id].position,
                    row.revision,
                )
            )
            values, told, meetings = resolution_values(tree, rows), ways(rows), meetings_of(rows)
            for row in rows:
                met = meetings.get(row.pk)
                yield ResolutionRow(
                    item=row.item.identifier,
                    part=row.part,
                    round=round_.number,
                    round_label=round_.label,
                    dimension=tree.by_id[row.dimension_id].key,
                    revision=row.revision,
                    values=list(values.get(row.pk, ())),
                    method=row.method,
                    reported_as=told[row.pk],
                    meeting_held_on=met.held_on.isoformat() if met else None,
                    meeting_participants=list(met.participants) if met else [],
                    notes=notes_of(row),
                    decider=decider_of(row),
                    decided_by=names(row.decided_by),
                    decided_at=row.created_at,
                    no_part=row.no_part,
                )


def as_dict(row: object) -> dict[str, Any]:
    """A row as a mapping by column; each note of a resolution is one."""
    found = dict(vars(row))
    return found | found.pop("notes").columns() if isinstance(row, ResolutionRow) else found
