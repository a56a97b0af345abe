"""Model raters: their agreement with people and with agreed labels, apart from that among people."""

from collections.abc import Container, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, TypedDict

from agreement import by_pair
from annotation.agreement_report.queries.across_rounds import (
    AgreementQuery,
    DimensionPatterns,
    as_patterns,
    dimension_patterns,
    rater_codes,
)
from annotation.core.access import Seat
from annotation.models import Membership, Round, RoundRater


class PersonEntry(TypedDict):
    """A person whom a model rater is held against."""

    rater: str
    cohen_kappa: float | None
    percent_agreement: float
    n: int


class ModelRaterEntry(TypedDict):
    """A model rater by its code, and its agreement with each person."""

    machine: str | None
    name: str
    version: str
    pairs: list[PersonEntry]


def machines_in(rounds: Sequence[Round], unseen: Container[tuple[int, int]] = ()) -> list[Membership]:
    """The machines that rate in these rounds, in the order of their codes; one query.

    Without those `unseen`, by round and member, as in `Seat.unseen_queue_raters`.
    """
    rows = RoundRater.objects.filter(round__in=rounds, rater__kind=Membership.Kind.MACHINE).select_related("rater")
    found = {row.rater_id: row.rater for row in rows if (row.round_id, row.rater_id) not in unseen}
    return sorted(found.values(), key=lambda each: (len(each.code or ""), each.code or ""))


def against_machines(seat: Seat, rounds: Sequence[Round], asked: AgreementQuery) -> dict[str, list[ModelRaterEntry]]:
    """By dimension, each machine beside each person: [{machine, name, version, pairs: [{rater, cohen_kappa, …}]}].

    None for free text. Of a pair: cohen_kappa (None where undefined), percent_agreement (0–1) and n, the units both
    rated. One query where no machine rates in these rounds; else as `dimension_patterns`, and two more.
    """
    machines = machines_in(rounds, seat.unseen_queue_raters)
    if not machines:
        return {}
    codes = rater_codes(seat)
    beside = replace(asked, slice=replace(asked.slice, machines=tuple(each.pk for each in machines)))
    named = [(each.pk, each.machine_name, each.machine_version) for each in machines]
    question = (replace(beside, dimension=None, metric=None), codes, named)
    return {
        each.dimension.key: each.kept("machines", question, partial(_told, each, codes, machines, asked))
        for each in dimension_patterns(rounds, beside)
        if each.dimension.has_coefficients
    }


def with_machines(
    seat: Seat, rounds: Sequence[Round], asked: AgreementQuery, entries: Sequence[dict[str, Any]]
) -> list[dict[str, Any]]:
    """The entries of `coefficients.agreement` with `by_machine`, empty where no machine rates."""
    found = against_machines(seat, rounds, asked)
    return [entry | {"by_machine": found.get(entry["dimension"], [])} for entry in entries]


def _told(
    found: DimensionPatterns, codes: Mapping[int, str], machines: Sequence[Membership], asked: AgreementQuery
) -> list[ModelRaterEntry]:
    rows = [row for each in found.counted for row in each.rows]
    pairs = by_pair(as_patterns(found.dimension, rows, dict(codes), asked.level, keys=list(found.categories)))
    among = {each.code for each in machines}
    told: list[ModelRaterEntry] = []
    for machine in machines:
        own: list[PersonEntry] = []
        for pair in pairs:
            others = [code for code in pair["raters"] if code != machine.code]
            if len(others) == 1 and others[0] not in among:
                own.append(
                    {
                        "rater": others[0],
                        "cohen_kappa": pair["cohen_kappa"],
                        "percent_agreement": pair["percent_agreement"],
                        "n": pair["n"],
                    }
                )
        told.append(
            {
                "machine": machine.code,
                "name": machine.machine_name,
                "version": machine.machine_version,
                "pairs": own,
            }
        )
    return told
