"""Changed statistics: numbers that an earlier version reported differently."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from agreement import COEFFICIENTS
from annotation.agreement_report.queries.coefficients import AgreementEntry
from annotation.models import Round

SINGLE_SINCE = datetime(2026, 11, 25, tzinfo=UTC)
"""From here on items with one rating do not enlarge standard errors, and intervals are computed by other methods."""
SINGLE_REASONS = frozenset({"one_sided", "planned_for_one", "skipped", "not_asked"})
SINGLE_COEFFICIENTS = frozenset(
    {"percent_agreement", "fleiss_kappa", "conger_kappa", "brennan_prediger", "gwet_ac1", "gwet_ac2"}
)


@dataclass(frozen=True)
class ChangedErrors:
    """A dimension whose standard errors differ from those of an earlier version, because of `n_single` units."""

    title: str
    n_single: int
    titles: Sequence[str]
    """Of the coefficients."""


def changed_errors(
    rounds: Iterable[Round], entries: Iterable[tuple[str, AgreementEntry]]
) -> list[ChangedErrors] | None:
    """Of titles and entries of the agreement report, those whose standard errors differ from an earlier version.

    None where no round is so old that an earlier version reported it, with other intervals too.
    """
    if not any(each.created_at < SINGLE_SINCE for each in rounds):
        return None
    found = []
    for title, entry in entries:
        n_single = sum(each["n"] for each in entry.left_out_because if each["because"] in SINGLE_REASONS)
        titles = [
            COEFFICIENTS[each["name"]].title
            for each in entry.coefficients
            if each["name"] in SINGLE_COEFFICIENTS and each["se"] is not None
        ]
        if n_single and titles:
            found.append(ChangedErrors(title, n_single, titles))
    return found
