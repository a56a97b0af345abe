"""Rounds for the methods text: items, answers, what they were opened on, and versions."""

from collections.abc import Sequence
from typing import Any

from django.db.models import Case, Count, Exists, F, OuterRef, Q, Sum, Value, When

from annotation.calibration.calibration import MET, NO_THRESHOLD
from annotation.calibration.queries.gate import gate_then
from annotation.calibration.queries.training import minimum_words, raters_with_hidden_tries
from annotation.core.access import Seat
from annotation.core.constant_lookups import places_of
from annotation.core.imported import rounds_imported
from annotation.core.member_lists import code_order
from annotation.core.withheld_items import withheld_among
from annotation.labels.queries.batches.label_batches import label_batches
from annotation.labels.queries.label_version import standing_version
from annotation.methods import GateFacts, MigrationFacts, Minimum, RoundFacts
from annotation.methods.queries.counted_answers import COUNTS_HERE, HAS_LABEL, OWN, assigned_answers, labeled_answers
from annotation.models import Assignment, AuditEvent, Item, Membership, Round, RoundItem, RoundRater, SampleIssue
from annotation.models.assignment_kinds import RATERS


def migrated(seat: Seat) -> MigrationFacts | None:
    """The version that a plan moved labels to, how many it moved, and how many of these have no value, if one did.

    Cost: nothing where no plan did, else the reading of all labels.
    """
    from pyarrow import compute

    version = standing_version(seat.study)
    if version is None:
        return None
    rounds = seat.study.rounds.exclude(state__in=[Round.State.DRAFT, Round.State.UNDONE])
    rounds = rounds.exclude(kind=Round.Kind.SCREENING).exclude(pk__in=seat.hidden_round_ids)
    seen = list(rounds.select_related("taxonomy_version").order_by("number"))
    numbers = {each.pk: each.number for each in seen}
    withheld = seat.withheld | withheld_among(seat, seen)
    hidden = [(numbers[round_id], item) for round_id, item in withheld if round_id in numbers]
    n_labels = n_without = n_relabeled = 0
    for _, batch in label_batches(seen, standing=version, hidden=hidden):
        moved = batch.filter(compute.less(batch["original_version"], batch["taxonomy_version"]))
        n_labels += moved.num_rows
        n_without += moved["values"].null_count
        own = batch.filter(compute.equal(batch["original_version"], batch["taxonomy_version"]))
        own = own.filter(compute.equal(own["round_kind"].cast("string"), str(Round.Kind.RELABEL)))
        n_relabeled += own.num_rows
    return MigrationFacts(version.number, n_labels, n_without, n_relabeled)


def relabeled(seat: Seat) -> list[tuple[int, int, int]]:
    """Number, version and labeled items of relabeling rounds; one query."""
    kinds = seat.study.rounds.filter(kind=Round.Kind.RELABEL).exclude(state__in=[Round.State.DRAFT, Round.State.UNDONE])
    labeled = Assignment.objects.filter(
        seat.not_withheld(),
        COUNTS_HERE,
        HAS_LABEL,
        RATERS,
        round__in=kinds.exclude(pk__in=seat.hidden_round_ids),
        state=Assignment.State.SUBMITTED,
        rater__kind=Membership.Kind.PERSON,
    )
    rows = labeled.order_by("round__number").values_list("round__number", "round__taxonomy_version__number")
    return list(rows.annotate(n=Count("item", distinct=True)))


def answers_by_round(seat: Seat, rounds: Sequence[Round]) -> dict[int, dict[str, int]]:
    """Of each round: answers, how many raters gave themselves, skipped, open, revised since.

    One query.
    """
    submitted = Q(state=Assignment.State.SUBMITTED)
    is_counted = ~Q(state=Assignment.State.WITHDRAWN) | Q(current__isnull=False)  # most of a round can be withdrawn
    rows = (
        assigned_answers(seat, rounds)
        .filter(is_counted)
        .values("round")
        .annotate(
            n_answers=Count("pk", filter=submitted),
            n_own=Count("pk", filter=submitted & OWN),
            n_skipped=Count("pk", filter=Q(state=Assignment.State.SKIPPED)),
            n_open=Count("pk", filter=Q(state__in=Assignment.UNFINISHED)),
            n_unblinded=Count("pk", filter=submitted & Q(blind__isnull=True)),
            n_changed=Count("pk", filter=Q(current__revision__gt=F("blind__revision"))),
        )
    )
    found: list[dict[str, Any]] = [dict(row) for row in rows]
    return {row.pop("round"): row for row in found}


def _withdrawn(seat: Seat) -> dict[int, int]:
    """Round by number how many unfinished assignments were withdrawn at its end, by the audit log; one query."""
    lines = AuditEvent.objects.filter(study=seat.study, verb="round moved to resolving", detail__withdrawn__gt=0)
    return {detail["round"]: detail["withdrawn"] for detail in lines.values_list("detail", flat=True)}


def _minimum(seat: Seat, round_: Round) -> Minimum | None:
    """What raters of a round had to reach on training items, and who came in how; None before anybody came in.

    None as well where tries of a rater in another round are hidden from the person: who came in would show them.
    """
    if not round_.gold_minimum or round_.pk in seat.unsettled_round_ids:
        return None
    rows = list(RoundRater.objects.filter(round=round_).select_related("rater"))
    if not raters_with_hidden_tries(seat, round_).isdisjoint(row.rater_id for row in rows):
        return None
    came = sorted(
        ((row.rater.code or "", row.admission) for row in rows if row.admission), key=lambda each: code_order(each[0])
    )
    if not came:
        return None
    reached = [code for code, how in came if how.get("how") == "reached"]
    let_in = [(code, str(how.get("reason") or "")) for code, how in came if how.get("how") != "reached"]
    return Minimum(minimum_words(round_), reached, let_in)


def item_counts(seat: Seat, rounds: Sequence[Round]) -> dict[str, Any]:
    """Items with an answer, once over all rounds: all, by two raters in a round, not from a sample; one query."""
    drawn = places_of(OuterRef("item"), rounds).counting().filter(round__sample__isnull=False)
    samples = {round_.sample_id for round_ in rounds if round_.sample_id}
    in_sample = SampleIssue.objects.filter(sample__in=samples, issue=OuterRef("issue"))
    named = Item.objects.filter(Exists(in_sample), pk=OuterRef("item"))  # a round can name drawn ones
    of_samples = [round_.pk for round_ in rounds if round_.sample_id]  # an item that counts there was drawn
    is_drawn = Case(When(round__in=of_samples, then=Value(True)), default=Exists(drawn) | Exists(named))
    places = labeled_answers(seat, rounds).values("round", "item").annotate(n=Count("pk"), is_drawn=is_drawn)
    return places.aggregate(
        n_items=Count("item", distinct=True),
        n_double=Count("item", distinct=True, filter=Q(n__gte=2)),
        n_by_hand=Count("item", distinct=True, filter=Q(is_drawn=False)),
    )


def round_facts(seat: Seat, rounds: Sequence[Round], known: dict[int, dict[str, int]]) -> list[RoundFacts]:
    """The rounds in order; seven queries."""
    of_items: dict[int, Any] = {
        row["round"]: row
        for row in RoundItem.objects.filter(seat.not_withheld(), round__in=rounds)
        .order_by()
        .values("round")
        .annotate(
            n_free=Sum("n_free", filter=Q(known__isnull=True, excluded=False), default=0),
            n_counting=Count("pk", filter=Q(known__isnull=True, excluded=False)),
        )
    }
    labeled = labeled_answers(seat, rounds).values("round").annotate(n=Count("item", distinct=True))
    n_items = dict(labeled.values_list("round", "n"))
    raters: dict[int, set[str]] = {}
    for round_id, code in labeled_answers(seat, rounds).values_list("round", "rater__code").distinct():
        raters.setdefault(round_id, set()).add(code or "")
    unblinded: dict[int, set[str]] = {}
    read_before = Assignment.objects.filter(
        seat.not_withheld(), COUNTS_HERE, round__in=rounds, current__isnull=False, blind__isnull=True
    )
    read_before = read_before.filter(rater__kind=Membership.Kind.PERSON)
    for round_id, code in read_before.order_by().values_list("round", "rater__code").distinct():
        unblinded.setdefault(round_id, set()).add(code or "")
    imported, withdrawn = rounds_imported(seat.study), _withdrawn(seat)
    waves = []
    for round_ in sorted(rounds, key=lambda each: each.number):
        counts, answers = of_items.get(round_.pk, {}), known.get(round_.pk, {})
        waves.append(
            RoundFacts(
                number=round_.number,
                kind=round_.kind,
                version=round_.taxonomy_version.number,
                is_open=round_.state == Round.State.OPEN,
                is_resolving=round_.state == Round.State.RESOLVING and bool(counts.get("n_counting")),
                n_items=n_items.get(round_.pk, 0),
                raters=sorted(raters.get(round_.pk, ()), key=code_order),
                n_answers=answers.get("n_answers", 0),
                n_outstanding=answers.get("n_open", 0) + counts.get("n_free", 0),
                n_from_sheets=answers.get("n_answers", 0) - answers.get("n_own", 0) - answers.get("n_unblinded", 0),
                n_skipped=answers.get("n_skipped", 0),
                n_withdrawn=withdrawn.get(round_.number, 0),
                unblinded=sorted(unblinded.get(round_.pk, ()), key=code_order),
                n_unblinded=answers.get("n_unblinded", 0),
                is_imported=imported is None or round_.number in imported,
                gate=_gate(seat, round_),
                minimum=_minimum(seat, round_),
            )
        )
    return waves


def _gate(seat: Seat, round_: Round) -> GateFacts | None:
    """What a main round was opened on, unless that is hidden from the person."""
    found = gate_then(seat, round_)
    if not found:
        return None
    judged = [each for each in found["dimensions"] if each["verdict"] != NO_THRESHOLD]
    missed = [each["title"] for each in judged if each["verdict"] != MET]
    return GateFacts(found["round"], len(judged), missed, found.get("reason") or "")
