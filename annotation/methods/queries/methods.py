"""Facts from the database for the methods text, as far as their reader may know them."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from django.conf import settings
from django.db.models import Q

from annotation.agreement_report.queries.across_rounds import visible_rounds
from annotation.agreement_report.queries.coefficients import report
from annotation.agreement_report.queries.headline import headline_set
from annotation.agreement_report.queries.model_raters import machines_in
from annotation.agreement_report.queries.options import ask
from annotation.choosing.queries.samples import stretches_screened
from annotation.core.access import Seat
from annotation.core.member_lists import code_order
from annotation.core.withheld_items import n_labeled_again
from annotation.methods import Facts, as_text, checklist_as_document, latex
from annotation.methods.outline import paragraph
from annotation.methods.queries.dimensions import dimension_facts
from annotation.methods.queries.earlier_reading import rated_before_and_matched, rated_elsewhere
from annotation.methods.queries.raters import (
    by_rater,
    n_training,
    read_otherwise,
    third_raters,
    third_requests,
    tries,
    turnover,
)
from annotation.methods.queries.resolutions import (
    disputed_counts,
    n_models_shown,
    n_proposals,
    other_resolutions,
    resolutions_by_way,
)
from annotation.methods.queries.rounds import answers_by_round, item_counts, migrated, relabeled, round_facts
from annotation.methods.queries.samples import (
    control_facts,
    n_in_several,
    n_labeled_out,
    sample_facts,
    samples_of,
    screened,
    screened_by_hand,
)
from annotation.models import AuditEvent, Round
from taxonomy.queries import published_version


def methods(seat: Seat, *, resamples: int = 1000) -> Facts:
    """What the paragraph, the checklist and the table say: the numbers are those of the page of agreement.

    Rounds that are hidden from the person are excluded and named in `hidden`; items that they still have to answer as a
    third rater count nowhere. Cost: the queries of the page of agreement before and after discussion, twenty-nine
    more, and the queue of each round that is no longer open.
    """
    study, rounds = seat.study, visible_rounds(seat)
    hidden = list(seat.study.rounds.filter(pk__in=seat.hidden_round_ids))
    unseen = {each.number: each.pk for each in hidden}
    counting = [each for each in hidden if each.kind in (Round.Kind.PILOT, Round.Kind.MAIN)]
    begun = min((each.opened_at for each in [*rounds, *counting] if each.opened_at), default=None)
    rated = seat.blind_round_ids if seat.link is None else ()
    asked = replace(ask(seat, {}), resamples=resamples)
    headline = headline_set(seat)
    chosen = list(headline.rounds) or rounds
    reports = (
        report(seat, rounds, chosen, asked, round_number=None, is_headline=headline.is_of(chosen)) if rounds else []
    )
    known = answers_by_round(seat, rounds)
    waves = round_facts(seat, rounds, known)
    decided = resolutions_by_way(seat, rounds)
    resolved_elsewhere, history = other_resolutions(seat), _history(seat, begun)
    third, n_third_skipped, is_third_asked = third_raters(seat, rounds)
    machines = [machine.code or "" for machine in machines_in(rounds)]
    controls, samples = stretches_screened(study), samples_of(rounds)
    return Facts(
        study=study.title,
        taxonomy=study.taxonomy.title,
        software=f"Concord {settings.CONCORD_VERSION}",
        waves=waves,
        dimensions=dimension_facts(seat, rounds, headline, asked, reports, begun),
        raters=sorted({code for wave in waves for code in wave.raters}, key=code_order),
        machines=machines,
        n_models_shown=n_models_shown(seat, rounds) if machines else 0,
        has_guidelines=bool(study.guidelines.strip()),
        **_definitions(rounds),
        drawn=[sample_facts(sample, controls) for sample in samples],
        n_in_several_samples=n_in_several(samples) if len(samples) > 1 else 0,
        controls=[control_facts(each) for each in controls],
        screened=screened(seat, asked),
        by_hand=screened_by_hand(seat),
        **history,
        rated_elsewhere=rated_elsewhere(seat, rounds) if history.get("is_copied") else {},
        n_labeled_out=n_labeled_out(seat, rounds),
        keeps_out=asked.keeps_out,
        by_rater=by_rater(seat, rounds),
        turnover=turnover(seat, rounds),
        third=third,
        n_third_skipped=n_third_skipped,
        **(third_requests(seat, rounds) if is_third_asked else {}),
        migrated=migrated(seat),
        relabeled=relabeled(seat),
        decided=decided.ways,
        n_reopened=decided.n_reopened,
        n_moot=decided.n_moot,
        resolved_elsewhere=resolved_elsewhere,
        **disputed_counts(seat, rounds),
        n_resolvers_without_labels=decided.n_others,
        **rated_before_and_matched(seat, rounds),
        **read_otherwise(seat, rounds),
        n_changed=sum(each["n_changed"] for each in known.values()),
        n_proposals=n_proposals(seat, rounds),
        applies=study.applies,
        hidden=sorted(unseen),
        n_withheld=n_labeled_again(seat, rounds),
        is_by_link=seat.link is not None,
        hidden_unrated=sorted(number for number, pk in unseen.items() if pk not in rated),
        headline=headline.numbers,
        headline_waiting=[each.number for each in headline.waiting] if headline.fixed else [],
        headline_hidden=headline.hidden,
        n_training=n_training(seat, rounds),
        tries=tries(seat, rounds),
        headline_fixed_on=headline.fixed_at.date() if headline.fixed_at and headline.rounds else None,
        **item_counts(seat, rounds),
    )


def _definitions(rounds: Sequence[Round]) -> dict[str, Any]:
    """How many categories the newest version of these rounds has, and how many of them have a definition."""
    if not rounds:
        return {}
    newest = max(rounds, key=lambda round_: round_.taxonomy_version.number)
    tree = published_version(newest.taxonomy_version_id)
    categories = [each for dimension in tree.dimensions for each in dimension.categories if each.selectable]
    return {"n_categories": len(categories), "n_defined": sum(bool(each.definition.strip()) for each in categories)}


def _history(seat: Seat, begun: datetime | None) -> dict[str, Any]:
    """Whether the rule for conditional dimensions was changed after labeling had `begun`, and whether it is a copy.

    One query.
    """
    is_change = Q(verb="study changed", detail__has_key="applies")
    lines = AuditEvent.objects.filter(is_change | Q(verb="duplicated from a study"), study=seat.study).order_by("pk")
    found: dict[str, Any] = {}
    for verb, detail, at in lines.values_list("verb", "detail", "at"):
        if verb != "study changed":
            n_items = detail.get("items")
            found |= {"is_copied": True, "copied_items": n_items if type(n_items) is int else 0}
        elif begun is not None and at > begun:
            found["applies_chosen_on"] = at.astimezone(UTC).date()
    return found


def methods_as_document(facts: Facts) -> dict[str, Any]:
    """What REST and the shell answer: paragraph, checklist and latex."""
    return {
        "paragraph": as_text(paragraph(facts)),
        "checklist": checklist_as_document(facts),
        "latex": latex(facts),
    }
