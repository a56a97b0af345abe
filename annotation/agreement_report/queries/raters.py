"""Raters: each one, models too, compared with the agreed labels and with their own later answers."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from statistics import median
from typing import TypedDict

from agreement import Patterns, RaterEntry, against_reference, intra_rater
from annotation.agreement_report.queries.across_rounds import (
    AgreementQuery,
    DimensionPatterns,
    RoundPatterns,
    at_level,
    map_to_version,
)
from annotation.agreement_report.queries.intra_rater import repeated_ratings
from annotation.agreement_report.queries.mapped_patterns import LostValue, MappedDimension
from annotation.agreement_report.queries.model_raters import machines_in
from annotation.agreement_report.queries.newest_labels import AgreedComparison, agreed_comparisons, decisions_so_far
from annotation.agreement_report.queries.patterns import PatternRow, Value, patterns
from annotation.labels.consensus import PENDING
from annotation.labels.queries.label_version import way
from annotation.models import Membership, Round
from taxonomy.queries import published_version

AGREED = "agreed"


class ByRaterEntry(RaterEntry):
    """A rater against the agreed labels; `n_decided` of them were decided because raters differed."""

    machine: bool
    n_decided: int
    decided_agreement: float | None


class IntraRaterEntry(RaterEntry):
    """A rater against themselves, so many days later (the median)."""

    days_between: float


class RatersEntry(TypedDict):
    """The raters of a dimension, one by one."""

    by_rater: list[ByRaterEntry]
    intra_rater: list[IntraRaterEntry]


def rater_entries(
    rounds: Sequence[Round], found: Sequence[DimensionPatterns], codes: Mapping[int, str], asked: AgreementQuery
) -> list[RatersEntry]:
    """Each rater beside what was agreed on, and beside themselves, by dimension.

    The agreed label of a part is the newest decision, else what two raters or more said and nobody else otherwise; that
    agrees with its raters by itself. So `n_decided` of the n were decided because raters differed, and
    `decided_agreement` is the share of these in which the rater gave what was decided (None without any). A worklist
    has none, and neither has free text. `intra_rater` holds each rater beside themselves in the next later round. Cost:
    two queries, and where answers or decisions changed since, up to three per round and dimension.
    """
    machines = machines_in(rounds)
    decided = decisions_so_far(list(rounds))
    question = (replace(asked, dimension=None, metric=None, weights=None), dict(codes), [each.pk for each in machines])
    return [
        {
            "by_rater": each.kept("by_rater", question, partial(_by_rater, each, codes, machines, asked), also=decided),
            "intra_rater": each.kept("intra_rater", question, partial(_intra_rater, each, codes, asked)),
        }
        if each.dimension.has_coefficients
        else {"by_rater": [], "intra_rater": []}
        for each in found
    ]


def _intra_rater(found: DimensionPatterns, codes: Mapping[int, str], asked: AgreementQuery) -> list[IntraRaterEntry]:
    """Each rater beside themselves where they labelled the same part in two pilot or main rounds.

    Their values are compared in terms of one version; what has no value there does not count. One query, and those of
    the mapping where it was not read before.
    """
    kinds = (Round.Kind.PILOT, Round.Kind.MAIN)
    counted = [
        each for each in found.counted if each.round.kind in kinds and each.told.own.kind == found.dimension.kind
    ]
    counted.sort(key=lambda each: each.round.number)
    told = _in_one_version(found.dimension.key, counted, asked)
    counted = [each for each in counted if each.round.pk in told]
    if len(counted) < 2:
        return []
    rounds = [(each.round.pk, published_version(each.round.taxonomy_version_id), each.told.own) for each in counted]
    tables: dict[int, Counter[tuple[Value, Value]]] = {pk: Counter() for pk in codes}
    days: dict[int, list[int]] = {pk: [] for pk in codes}
    for row in repeated_ratings(rounds, asked.slice):
        earlier, later = told[row.rounds[0]].value(row.earlier), told[row.rounds[1]].value(row.later)
        if row.rater not in codes or isinstance(earlier, LostValue) or isinstance(later, LostValue):
            continue
        dimension = told[row.rounds[1]].dimension
        (lifted,) = at_level(dimension, [PatternRow((0, 1), (earlier, later), row.n)], asked.level)
        tables[row.rater][lifted.values[0], lifted.values[1]] += row.n
        days[row.rater] += [row.days] * row.n
    pairs = {
        codes[pk]: Patterns.from_counts(list(table.items()), raters=["earlier", "later"])
        for pk, table in tables.items()
        if table
    }
    between = {codes[pk]: median(each) for pk, each in days.items() if each}
    return [{**line, "days_between": between[line["rater"]]} for line in intra_rater(pairs)]


def _in_one_version(key: str, counted: Sequence[RoundPatterns], asked: AgreementQuery) -> dict[int, MappedDimension]:
    """By round id, what maps its values to the version asked for, else to the newest one of these rounds.

    A rename or merge between two rounds is no change of the rater's answer. Rounds from whose version no mapping leads
    there are left out. No query where all rounds have one version.
    """
    versions = {each.round.taxonomy_version for each in counted}
    if asked.version is not None or len(versions) < 2:
        return {each.round.pk: each.told for each in counted}
    newest = max(versions, key=lambda each: each.number)
    dimension = published_version(newest.pk).by_key[key]
    asked = replace(asked, version=newest)
    found = ((each.round, map_to_version(each.round, way(each.round, newest), dimension, asked)) for each in counted)
    return {round_.pk: told for round_, told in found if told is not None}


def _by_rater(
    found: DimensionPatterns, codes: Mapping[int, str], machines: Sequence[Membership], asked: AgreementQuery
) -> list[ByRaterEntry]:
    said: dict[int, Counter[tuple[Value, Value, bool]]] = {pk: Counter() for pk in codes}
    for each in found.counted:
        if each.round.kind != Round.Kind.RELABEL:
            for row in _beside(each, machines, asked):
                _count(each, row, asked.level, said)
    by_machine = {each.pk for each in machines}
    told: list[ByRaterEntry] = []
    for pk, code in codes.items():
        if not said[pk] or (asked.raters and code not in asked.raters):
            continue
        table = Patterns.from_counts(
            [((given, agreed), n) for (given, agreed, _), n in said[pk].items()], raters=[code, AGREED]
        )
        (line,) = against_reference(table, AGREED)
        decided = dict.fromkeys((True, False), 0)
        for (given, agreed, is_decided), n in said[pk].items():
            decided[given == agreed] += n if is_decided else 0
        n_decided = sum(decided.values())
        told.append(
            {
                **line,
                "machine": pk in by_machine,
                "n_decided": n_decided,
                "decided_agreement": decided[True] / n_decided if n_decided else None,
            }
        )
    return told


def _beside(each: RoundPatterns, machines: Sequence[Membership], asked: AgreementQuery) -> list[AgreedComparison]:
    """The patterns of a round with what was agreed on."""
    tree, own = published_version(each.round.taxonomy_version_id), each.told.own
    part = replace(asked.slice.whole, applies="both", machines=tuple(machine.pk for machine in machines))
    whole = each.own_rows if part == asked.slice else patterns(each.round.pk, tree, own, part, n_answers=each.n_answers)
    exceptions = agreed_comparisons(each.round, own, part)
    counted = Counter({(row.raters, row.values): row.n for row in whole})
    for row in exceptions:
        counted[row.raters, row.values] -= row.n
    beside = set(part.machines)
    found = [row for row in exceptions if row.agreed is not None and not _is_pending(row.agreed)]
    for (raters, values), n in counted.items():
        of_people = [value for pk, value in zip(raters, values, strict=True) if pk not in beside]
        if n > 0 and len(of_people) > 1 and len(set(of_people)) == 1 and not _is_pending(of_people[0]):
            found.append(AgreedComparison(raters, values, of_people[0], False, n))
    return found


def _is_pending(value: Value) -> bool:
    return value == PENDING or (isinstance(value, frozenset) and PENDING in value)


def _count(
    each: RoundPatterns, row: AgreedComparison, level: str, said: dict[int, Counter[tuple[Value, Value, bool]]]
) -> None:
    """Counts what each rater gave beside what was agreed on, told and lifted as it was asked for."""
    assert row.agreed is not None
    agreed = each.told.value(row.agreed)
    if isinstance(agreed, LostValue):
        return
    for pk, value in zip(row.raters, row.values, strict=True):
        told = each.told.value(value)
        if pk in said and not isinstance(told, LostValue):
            (lifted,) = at_level(each.told.dimension, [PatternRow((pk, pk), (told, agreed), 1)], level)
            said[pk][lifted.values[0], lifted.values[1], row.is_decided] += row.n
