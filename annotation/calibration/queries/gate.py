"""Gate of the main round: the pilot's agreement before discussion against the study's thresholds."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from django.db.models import Exists, OuterRef, Q

from annotation.agreement_report.queries.coefficients import Headline, of_rounds
from annotation.calibration.calibration import NO_THRESHOLD, OPEN, UNDEFINED, WAIT, advice, verdict
from annotation.core.access import ADJUDICATOR, OWNER, RATER, Seat
from annotation.core.errors import Blind
from annotation.labels.registration import is_registered
from annotation.models import Assignment, Round, RoundItem
from annotation.models.assignment_kinds import RATERS


@dataclass(frozen=True)
class Gate:
    """What the newest pilot (`last_pilot`) says of the main round; `lines` holds each dimension with its verdict."""

    pilot: Round
    advice: str
    lines: Sequence[tuple[Headline, str]]

    @property
    def is_wait(self) -> bool:
        return self.advice == WAIT

    @property
    def sentence(self) -> str:
        """What the pilot says, in one sentence."""
        judged = [found for _, found in self.lines if found != NO_THRESHOLD]
        n, n_met = len(judged), sum(found not in (UNDEFINED, "not met") for found in judged)
        said = f"In the pilot, round {self.pilot.number}, "
        if self.advice == OPEN:
            reached = "the threshold was reached" if n == 1 else f"all {n} thresholds were reached"
            return f"{said}{reached}. You can start the main round."
        reached = "the threshold was not reached" if n == 1 else f"{n_met} of {n} thresholds were reached"
        return f"{said}{reached}. Sharpen the definitions and pilot again before the main round."

    def as_document(self) -> dict[str, Any]:
        """The same as it is kept with the round and told over REST."""
        return {
            "round": self.pilot.number,
            "advice": self.advice,
            "dimensions": [
                {
                    "dimension": each.dimension,
                    "title": each.title,
                    "coefficient": each.coefficient,
                    "value": each.value,
                    "ci_low": each.ci_low,
                    "ci_high": each.ci_high,
                    "ci_method": each.ci_method,
                    "threshold": each.threshold,
                    "undefined": each.undefined,
                    "verdict": found,
                }
                for each, found in self.lines
            ],
        }


def gate_then(seat: Seat, round_: Round) -> dict[str, Any] | None:
    """What the pilot said when a round was opened; None where something of it, or a later one, is withheld.

    Which pilot was the last one follows from labels. Until the pilot is closed, it is told neither by a link nor to
    raters, who may still be asked about its items. Who opened the round is not named to those who read by a link. One
    query where something is withheld, and one for each of these people.
    """
    found: dict[str, Any] | None = round_.gate
    may_be_asked = seat.has_role(RATER) and not seat.has_role(OWNER, ADJUDICATOR)
    if found and (may_be_asked or seat.link is not None) and found["round"] not in seat.closed_numbers:
        return None
    if found and seat.withheld:
        later = Round.objects.filter(pk__in=seat.unsettled_round_ids, kind=Round.Kind.PILOT)
        return None if later.filter(number__gte=found["round"]).exists() else found
    return found | {"by": ""} if found and seat.link is not None else found


def last_pilot(seat: Seat) -> Round | None:
    """The newest pilot round of the study under its taxonomy that is over and has an item that two raters labeled.

    A pilot of training items alone says nothing of agreement and is passed over. One of which something is withheld
    from the person counts whether it has such an item or not. One query.
    """
    place = {"round": OuterRef("round"), "item": OuterRef("item")}
    labeled = Assignment.objects.filter(RATERS, state=Assignment.State.SUBMITTED)
    twice = labeled.filter(
        ~Exists(RoundItem.objects.filter(known__isnull=False, **place)),
        Exists(labeled.filter(**place).exclude(rater=OuterRef("rater"))),
        round=OuterRef("pk"),
    )
    counts = Exists(twice) | Q(pk__in=seat.unsettled_round_ids)
    rounds = Round.objects.filter(counts, study=seat.study, kind=Round.Kind.PILOT, state__in=Round.OVER)
    rounds = rounds.filter(taxonomy_version__taxonomy=seat.study.taxonomy_id)
    return rounds.select_related("taxonomy_version").order_by("-number").first()


def gate(seat: Seat) -> Gate | None:
    """What the last pilot says; None without one, or where the study registered no threshold.

    Raises Blind where something of that pilot is withheld from the person. Three queries where the pilot's numbers were
    computed before and hold, else as many as its headline takes.
    """
    fixed = [each for each in seat.study.primary.values() if is_registered(each)]
    if not any(each.get("threshold") is not None for each in fixed):
        return None
    pilot = last_pilot(seat)
    if pilot is None:
        return None
    if pilot.pk in seat.unsettled_round_ids:
        seat.require_nothing_withheld("What the pilot says of the main round")
    numbers = [each if each.fixed_at else replace(each, threshold=None) for each in of_rounds(seat, [pilot])]
    lines = [(each, verdict(each.value, each.threshold)) for each in numbers]
    found = advice(each for _, each in lines)
    return None if found is None else Gate(pilot, found, lines)


def shown_gate(seat: Seat) -> Gate | None:
    """What the last pilot says, as pages show it; None also where it is withheld from the person."""
    try:
        return gate(seat)
    except Blind:
        return None
