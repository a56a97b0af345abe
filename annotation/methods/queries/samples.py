"""Samples and screening for the methods text."""

from collections.abc import Sequence

from django.db.models import Count, Exists, OuterRef, Subquery

from annotation.agreement_report.queries.across_rounds import AgreementQuery, dimension_patterns, rater_codes
from annotation.agreement_report.queries.coefficients import primary
from annotation.choosing.queries.samples import CODED_THOUGH, CONTROL, SCREENED_OUT, ControlStretch, flow, n_kept_again
from annotation.core.access import Seat
from annotation.core.constant_lookups import LookupExists
from annotation.core.member_lists import code_order
from annotation.labels.screening import IN, OPEN, OUT, SCREENING, UNSCREENED
from annotation.methods import CoefficientFacts, ControlFacts, SampleFacts, ScreenedByHand, ScreeningFacts
from annotation.methods.queries.counted_answers import HAS_LABEL, labeled_answers
from annotation.methods.queries.dimensions import coefficient_facts
from annotation.models import Assignment, AuditEvent, Item, Membership, Round, RoundItem, Sample, SampleIssue


def samples_of(rounds: Sequence[Round]) -> list[Sample]:
    wanted = {round_.sample_id for round_ in rounds if round_.sample_id}
    return list(Sample.objects.filter(pk__in=wanted).defer("frame").order_by("pk"))


def n_in_several(samples: Sequence[Sample]) -> int:
    """How many issues more than one of these samples drew; one query."""
    rows = SampleIssue.objects.filter(sample__in=samples).order_by().values("issue")
    return rows.annotate(n=Count("pk")).filter(n__gt=1).count()


KEPT_WORDS = {"kept": "kept", "unscreened": "not screened", "open": "unresolved"}

CODED_WORDS = {
    IN: "kept",
    UNSCREENED: "not screened",
    OPEN: "unresolved at screening",
    OUT: "screened out",
}


def sample_facts(sample: Sample, controls: Sequence[ControlStretch]) -> SampleFacts:
    """A sample as it was drawn, and what screening made of it; two queries, and one where some was screened again."""
    lines = flow(sample)
    is_again = CONTROL not in sample.filter and any(each.is_of_screening for each in controls)
    by_kind = {line.kind: line.n for line in lines}
    coded = {
        IN: by_kind.get("kept", 0) - by_kind.get("uncoded", 0),
        **{each: line.n for line in lines for each, words in CODED_THOUGH.items() if line.step == words},
    }
    return SampleFacts(
        n_found=sample.counts[0]["n"] if len(sample.counts) > 1 else None,
        n_frame=sample.n_frame if sample.n_frame is not None else (sample.counts[-1]["n"] if sample.counts else None),
        size=sample.size,
        seed=sample.seed,
        stratify_by=sample.stratify_by,
        allocation=sample.allocation,
        per_stratum=(min(sizes), max(sizes)) if (sizes := [each["n_drawn"] for each in sample.strata]) else None,
        out=[(line.step.removeprefix(SCREENED_OUT), line.n) for line in lines if line.kind == "out"],
        stand=[(words, by_kind[kind]) for kind, words in KEPT_WORDS.items() if by_kind.get(kind)],
        coded=[(words, coded[each]) for each, words in CODED_WORDS.items() if coded.get(each)]
        if "coded" in by_kind
        else [],
        is_of_each=sample.at_least_one,
        n_kept_again=n_kept_again(sample) if is_again else 0,
    )


def control_facts(each: ControlStretch) -> ControlFacts:
    by = "screening" if each.is_of_screening else "the filter"
    sample = each.sample
    return ControlFacts(
        by,
        sample.size,
        each.n_frame,
        each.n_kept,
        each.n_most,
        each.repositories,
        each.steps,
        sample.stratify_by,
    )


def screened(seat: Seat, asked: AgreementQuery) -> ScreeningFacts | None:
    """What raters did in screening rounds that are over and not hidden from the person.

    Two queries, and where there is such a round two more and those of its agreement.
    """
    every = seat.study.rounds.filter(kind=Round.Kind.SCREENING, state__in=Round.OVER)
    rounds = list(every.exclude(pk__in=seat.hidden_round_ids).select_related("taxonomy_version").order_by("number"))
    answered = labeled_answers(seat, rounds)
    raters = sorted({code or "" for code in answered.values_list("rater__code", flat=True).distinct()}, key=code_order)
    if not raters:
        return None
    controls = Sample.objects.filter(study=seat.study, filter__has_key=CONTROL).values_list("pk", flat=True)
    of_control = {each.pk for each in rounds if each.sample_id in set(controls)}
    apart = [each for each in rounds if each.pk in of_control]
    coefficient, agreement = _screening_agreement(seat, [each for each in rounds if each.pk not in of_control], asked)
    again_by, again = _screening_agreement(seat, apart, asked)
    return ScreeningFacts(
        rounds=[each.number for each in rounds],
        raters=raters,
        n_items=answered.values("item").distinct().count(),
        coefficient=coefficient or again_by,
        agreement=agreement,
        again_rounds=[each.number for each in apart],
        again=again,
    )


def _screening_agreement(
    seat: Seat, rounds: Sequence[Round], asked: AgreementQuery
) -> tuple[str, CoefficientFacts | None]:
    """The agreement of screening rounds on in or out, and the coefficient; none where nothing is compared."""
    if not rounds:
        return "", None
    found = next((each for each in dimension_patterns(rounds, asked) if each.dimension.key == SCREENING), None)
    head = primary(seat, found, rater_codes(seat), asked) if found is not None and found.counted else None
    return (head.coefficient, coefficient_facts(head)) if head is not None and head.units else ("", None)


def screened_by_hand(seat: Seat) -> ScreenedByHand | None:
    """Who screened items that are in or out by hand: those that no screening round asked for, and those in the log.

    The log names up to 100 items of each act. One query, and three more where something is screened.
    """
    items = Item.objects.filter(study=seat.study, screening__in=[IN, OUT])
    if not items.exists():
        return None
    asked = RoundItem.objects.filter(item=OuterRef("pk"), round__kind=Round.Kind.SCREENING)
    asked = asked.exclude(round__state=Round.State.DRAFT)
    alone = items.filter(~Exists(asked), screened_by__isnull=False)
    pairs = set(alone.order_by().values_list("screened_by", "identifier"))
    verbs = [f"items screened: {each}" for each in (IN, OUT)]
    lines = AuditEvent.objects.filter(study=seat.study, verb__in=verbs, user__isnull=False)
    logged = {(user, name) for user, names in lines.values_list("user", "detail__items") for name in names or ()}
    names = {name for _, name in logged}
    now = set(items.filter(identifier__in=names).values_list("identifier", flat=True)) if names else set()
    pairs |= {(user, name) for user, name in logged if name in now}
    if not pairs:
        return None
    codes = {account: each.code for each in seat.study.memberships.all() for account in each.account_ids}
    by: dict[str, set[str]] = {}
    for user, name in pairs:
        by.setdefault(codes.get(user) or "", set()).add(name)
    others = by.pop("", set())
    return ScreenedByHand(
        n_items=len({name for _, name in pairs}),
        by=[(code, len(by[code])) for code in sorted(by, key=code_order)],
        n_others=len({user for user, _ in pairs if not codes.get(user)}),
        n_by_others=len(others),
    )


def n_labeled_out(seat: Seat, rounds: Sequence[Round]) -> int:
    """How many items that a rater labeled in these rounds are screened out; one query."""
    place = RoundItem.objects.filter(round=OuterRef("round"), item=OuterRef("item"), known__isnull=True)
    screening = Subquery(Item.objects.filter(pk=OuterRef("item")).order_by().values("screening"))
    labeled = Assignment.objects.alias(screening=screening).filter(
        seat.not_withheld(),
        LookupExists(place),
        HAS_LABEL,
        screening=OUT,
        round__in=rounds,
        state=Assignment.State.SUBMITTED,
        rater__kind=Membership.Kind.PERSON,
    )
    return labeled.aggregate(n=Count("item", distinct=True))["n"] or 0
