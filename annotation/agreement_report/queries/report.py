"""Agreement report of a study: everything on its page, built once."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from annotation.agreement_report.queries.across_rounds import AgreementQuery, rater_codes, visible_rounds
from annotation.agreement_report.queries.changed_statistics import ChangedErrors, changed_errors
from annotation.agreement_report.queries.coefficients import DimensionReport, coverage_of, report
from annotation.agreement_report.queries.coverage import Coverage
from annotation.agreement_report.queries.model_raters import ModelRaterEntry, against_machines
from annotation.agreement_report.queries.raters import RatersEntry, rater_entries
from annotation.core.access import Seat
from annotation.core.withheld_items import withheld_words
from annotation.labels.queries.label_version import way
from annotation.labels.queries.version_mapping import versions_to_tell_in
from annotation.models import Round
from taxonomy.models import TaxonomyVersion

NOT_COUNTING = (Round.State.DRAFT, Round.State.UNDONE)


@dataclass(frozen=True)
class AgreementReport:
    """Agreement in the `chosen` rounds by dimension, and over the `compared` ones, one by one.

    `raters` are of each dimension the raters beside the agreed label and beside themselves; `models` are the model
    raters by dimension. `every` are all rounds of the study, `rounds` those whose ratings this person may see together.
    """

    seat: Seat
    asked: AgreementQuery
    every: Sequence[Round]
    rounds: Sequence[Round]
    chosen: Sequence[Round]
    compared: Sequence[Round]
    dimensions: Sequence[DimensionReport]
    raters: Sequence[RatersEntry]
    models: Mapping[str, Sequence[ModelRaterEntry]]
    coverage: Coverage
    versions: Sequence[TaxonomyVersion]
    changed: Sequence[ChangedErrors] | None

    @cached_property
    def apart(self) -> list[Round]:
        """Relabeling queues and screening rounds, which are reported alone."""
        kinds = (Round.Kind.RELABEL, Round.Kind.SCREENING)
        shown = (each for each in self.every if each.pk not in self.seat.hidden_round_ids)
        return [each for each in shown if each.kind in kinds and each.state not in NOT_COUNTING]

    @property
    def choosable(self) -> list[Round]:
        return sorted([*self.rounds, *self.apart], key=lambda each: each.number)

    @property
    def blind(self) -> list[Round]:
        return [each for each in self.every if each.pk in self.seat.blind_round_ids]

    @property
    def joinable(self) -> list[Round]:
        """Rounds that are hidden although the person does not rate there."""
        return [each for each in self.every if each.pk in self.seat.hidden_round_ids - self.seat.blind_round_ids]

    @property
    def live(self) -> list[Round]:
        return [each for each in self.chosen if each.state == Round.State.OPEN]

    @property
    def astray(self) -> list[Round]:
        """Rounds from whose version no mapping leads to the one asked for."""
        return [each for each in self.chosen if way(each, self.asked.version) is None]

    @cached_property
    def withheld(self) -> list[str]:
        """What the numbers exclude for this person, in sentences."""
        return withheld_words(self.seat, self.chosen)


def agreement_report(
    seat: Seat,
    asked: AgreementQuery,
    chosen: Sequence[Round],
    *,
    round_: Round | None = None,
    is_headline: bool = False,
) -> AgreementReport:
    """The report of the `chosen` rounds: of the one `round_`, of the headline set, or of all; queries as `report`."""
    every = list(Round.objects.filter(study=seat.study).select_related("taxonomy_version").order_by("number"))
    rounds = visible_rounds(seat)
    compared = [] if round_ is not None and round_.kind == Round.Kind.SCREENING else rounds
    number = round_.number if round_ else None
    found = report(seat, compared, chosen, asked, round_number=number, is_headline=is_headline) if chosen else []
    across = [each.across for each in found]
    return AgreementReport(
        seat=seat,
        asked=asked,
        every=every,
        rounds=rounds,
        chosen=chosen,
        compared=compared,
        dimensions=found,
        raters=rater_entries(chosen, across, rater_codes(seat), asked),
        models=against_machines(seat, chosen, asked),
        coverage=coverage_of(chosen, across, asked),
        versions=versions_to_tell_in(seat, round_),
        changed=changed_errors(chosen, [(each.across.dimension.title, each.entry) for each in found]),
    )
