"""Headline set: the owner fixes the rounds whose agreement is the study's number."""

from collections.abc import Sequence

from django.db import transaction

from annotation.agreement_report.queries.headline import FIXED, headline_set, main_rounds, newest_fixed
from annotation.core.access import OWNER, Seat, require_at_work
from annotation.core.audit import record
from annotation.core.errors import Conflict, Invalid
from annotation.core.locks import hold_study
from annotation.models import Round


@transaction.atomic
def fix_headline(*, seat: Seat, rounds: Sequence[object]) -> None:
    """Fixes which main rounds are the headline, before the first of them opens; an empty list returns to the default.

    Raises Invalid for what is no main round of one version, Conflict where a main round of that version was opened, or
    one of the set that was fixed before.
    """
    seat.require(OWNER)
    study = hold_study(seat)
    require_at_work(study)
    numbers = sorted({each for each in rounds if isinstance(each, int) and not isinstance(each, bool)})
    if len(numbers) != len(rounds):
        raise Invalid("Headline not fixed.", fields={"headline": ["Send a list of round numbers."]})
    main = main_rounds(study)
    found = list(main.filter(number__in=numbers).select_related("taxonomy_version"))
    if missing := sorted(set(numbers) - {each.number for each in found}):
        words = f"Round {missing[0]} is not a main round of this study."
        raise Invalid("Headline not fixed.", fields={"headline": [words]})
    if len({each.taxonomy_version_id for each in found}) > 1:
        words = "These rounds use different taxonomy versions. Choose rounds of one version."
        raise Invalid("Headline not fixed.", fields={"headline": [words]})
    opened = main.exclude(state=Round.State.DRAFT)
    if found:
        opened = opened.filter(taxonomy_version=found[0].taxonomy_version_id)
    else:
        fixed = newest_fixed(seat)
        if fixed is None:
            return
        opened = opened.filter(number__in=fixed.detail["rounds"])
    if (first := opened.order_by("number").first()) is not None:
        raise Conflict(
            f"Headline not fixed: round {first.number} was already opened. It can be fixed only before the "
            "first of its rounds opens.",
            code="headline_fixed",
        )
    record(study=study, user=seat.user, verb=FIXED, rounds=numbers)


def require_not_in_headline(seat: Seat, round_: Round) -> None:
    """Raises Conflict for a draft of the fixed set: a later round could get its number."""
    if round_.number in headline_set(seat).fixed:
        raise Conflict(
            f"Round {round_.number} is part of the fixed headline. First fix another set under Settings.",
            code="headline_fixed",
        )
