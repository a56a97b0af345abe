"""Facts from the database for the methods text, as far as their reader may know them."""

import json
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, NamedTuple

from django.conf import settings
from django.core.exceptions import EmptyResultSet
from django.db import connection
from django.db.models import (
    BooleanField,
    Case,
    Count,
    Exists,
    ExpressionWrapper,
    F,
    Min,
    OuterRef,
    Q,
    QuerySet,
    Subquery,
    Sum,
    Value,
    When,
)
from django.db.models.functions import Coalesce

from accounts.models import User
from agreement import COEFFICIENTS, SCALE_WEIGHTS, VARIABLES
from annotation.agreement_report.queries.across_rounds import (
    OFF_SCALE,
    AgreementQuery,
    dimension_patterns,
    rater_codes,
    visible_rounds,
)
from annotation.agreement_report.queries.coefficients import DimensionReport, Headline, primary, report
from annotation.agreement_report.queries.headline import HeadlineSet, headline_set
from annotation.agreement_report.queries.model_raters import machines_in
from annotation.agreement_report.queries.options import ask
from annotation.agreement_report.queries.patterns import DOES_NOT_APPLY
from annotation.assignments.queries import DRAFT_READ, READ
from annotation.calibration.calibration import MET, NO_THRESHOLD
from annotation.calibration.queries.gate import gate_then
from annotation.calibration.queries.training import (
    TrainingResult,
    minimum_words,
    raters_with_hidden_tries,
    tries_of_people,
)
from annotation.choosing.queries.samples import (
    CODED_THOUGH,
    CONTROL,
    SCREENED_OUT,
    ControlStretch,
    flow,
    n_kept_again,
    stretches_screened,
)
from annotation.core.access import Seat
from annotation.core.constant_lookups import LookupExists, places_of
from annotation.core.imported import MARK, rounds_imported
from annotation.core.member_lists import code_order
from annotation.core.withheld_items import n_labeled_again, withheld_among
from annotation.labels.consensus import PENDING
from annotation.labels.queries.batches.label_batches import label_batches
from annotation.labels.queries.item_history import IS_READ_OTHERWISE
from annotation.labels.queries.label_version import standing_version
from annotation.labels.queries.proposal_states import SAME_WORDS
from annotation.labels.queries.read_before import Reach, reaches, sources_of
from annotation.labels.queries.resolution_facts import meetings_of, ways, with_facts
from annotation.labels.queries.verdicts import newest_of_each_place, round_verdicts
from annotation.labels.screening import IN, OPEN, OUT, SCREENING, UNSCREENED
from annotation.methods import (
    ALONE,
    JOINED,
    LEFT,
    MEETING,
    NO_DISAGREEMENT,
    OTHER_MEETING,
    OVERRULED,
    REJOINED,
    CoefficientFacts,
    ControlFacts,
    DimensionFacts,
    Facts,
    GateFacts,
    MigrationFacts,
    Minimum,
    OtherResolutions,
    ReadBefore,
    ResolutionFacts,
    RoundFacts,
    SampleFacts,
    ScreenedByHand,
    ScreeningFacts,
    TryFacts,
    Turnover,
    as_text,
    checklist_as_document,
    latex,
)
from annotation.methods.outline import paragraph
from annotation.models import (
    Annotation,
    Assignment,
    AuditEvent,
    Item,
    Membership,
    PartMatch,
    Proposal,
    ProposalOutcome,
    Rating,
    Resolution,
    Round,
    RoundItem,
    RoundRater,
    Sample,
    SampleIssue,
)
from annotation.models.assignment_kinds import RATERS, THIRD_RATERS, is_rater_sql
from annotation.resolving.queries.queue import queue_of
from taxonomy.kinds import KINDS
from taxonomy.models import Dimension, TaxonomyVersion
from taxonomy.queries import published_version

OWN = (
    Q(blind__submitted_by=F("rater__user"))
    | Q(blind__submitted_by=F("rater__former_user"))
    | Q(blind__submitted_by=F("rater__invited_user"))
    | Q(blind__submitted_by=F("rater__formerly"))
) & ~Q(blind__idempotency_key__startswith=MARK)
"""Answers that the raters gave themselves, here or on the server that the study came from, and not by a sheet.

Who left the study, and was invited again, gave theirs as well.
"""


def methods(seat: Seat, *, resamples: int = 1000) -> Facts:
    """What the paragraph, the checklist and the table say: the numbers are those of the page of agreement.

    Rounds that are hidden from the person are left out and named in `hidden`; items that they still have to answer as a
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
    known = _answers(seat, rounds)
    waves = _waves(seat, rounds, known)
    decided = _decided(seat, rounds)
    resolved_elsewhere, history = _resolved_elsewhere(seat), _history(seat, begun)
    third, n_third_skipped, is_third_asked = _third(seat, rounds)
    machines = [machine.code or "" for machine in machines_in(rounds)]
    controls, samples = stretches_screened(study), _samples(rounds)
    return Facts(
        study=study.title,
        taxonomy=study.taxonomy.title,
        software=f"Concord {settings.CONCORD_VERSION}",
        waves=waves,
        dimensions=_dimensions(seat, rounds, headline, asked, reports, begun),
        raters=sorted({code for wave in waves for code in wave.raters}, key=code_order),
        machines=machines,
        n_models_shown=_n_models_shown(seat, rounds) if machines else 0,
        has_guidelines=bool(study.guidelines.strip()),
        **_definitions(rounds),
        drawn=[_drawn(sample, controls) for sample in samples],
        n_in_several_samples=_n_in_several(samples) if len(samples) > 1 else 0,
        controls=[_control(each) for each in controls],
        screened=_screened(seat, asked),
        by_hand=_screened_by_hand(seat),
        **history,
        rated_elsewhere=_rated_elsewhere(seat, rounds) if history.get("is_copied") else {},
        n_labeled_out=_n_labeled_out(seat, rounds),
        keeps_out=asked.keeps_out,
        by_rater=_by_rater(seat, rounds),
        turnover=_turnover(seat, rounds),
        third=third,
        n_third_skipped=n_third_skipped,
        **(_third_asked(seat, rounds) if is_third_asked else {}),
        migrated=_migrated(seat),
        relabeled=_relabeled(seat),
        decided=decided.ways,
        n_reopened=decided.n_reopened,
        n_moot=decided.n_moot,
        resolved_elsewhere=resolved_elsewhere,
        **_places(seat, rounds),
        n_resolvers_without_labels=decided.n_others,
        **_rated_before_and_matched(seat, rounds),
        **_read_otherwise(seat, rounds),
        n_changed=sum(each["n_changed"] for each in known.values()),
        n_proposals=_n_proposals(seat, rounds),
        applies=study.applies,
        hidden=sorted(unseen),
        n_withheld=n_labeled_again(seat, rounds),
        is_by_link=seat.link is not None,
        hidden_unrated=sorted(number for number, pk in unseen.items() if pk not in rated),
        headline=headline.numbers,
        headline_waiting=[each.number for each in headline.waiting] if headline.fixed else [],
        headline_hidden=headline.hidden,
        n_training=_n_training(seat, rounds),
        tries=_tries(seat, rounds),
        headline_fixed_on=headline.fixed_at.date() if headline.fixed_at and headline.rounds else None,
        **_items(seat, rounds),
    )


def _definitions(rounds: Sequence[Round]) -> dict[str, Any]:
    """How many categories the newest version of these rounds has, and how many of them have a definition."""
    if not rounds:
        return {}
    newest = max(rounds, key=lambda round_: round_.taxonomy_version.number)
    tree = published_version(newest.taxonomy_version_id)
    categories = [each for dimension in tree.dimensions for each in dimension.categories if each.selectable]
    return {"n_categories": len(categories), "n_defined": sum(bool(each.definition.strip()) for each in categories)}


def _assigned(seat: Seat, rounds: Sequence[Round]) -> QuerySet[Assignment]:
    """What people were to answer of items that count: no training or excluded items, third raters or model raters."""
    return Assignment.objects.filter(
        seat.not_withheld(),
        COUNTS_HERE,
        RATERS,
        round__in=rounds,
        rater__kind=Membership.Kind.PERSON,
    ).order_by()


NOT_COUNTING = RoundItem.objects.filter(Q(excluded=True) | Q(known__isnull=False))
COUNTS_HERE = ~LookupExists(NOT_COUNTING.filter(round=OuterRef("round"), item=OuterRef("item")))
"""Of an assignment, a resolution or a proposal: its item counts in its round. Few do not, and indexes find those."""
PRESENT_HERE = ~LookupExists(NOT_COUNTING.filter(round=OuterRef("round"), item=OuterRef("item"), excluded=True))
"""Its item is not excluded there; it can be a calibration item."""
HAS_LABEL = LookupExists(Rating.objects.filter(annotation=OuterRef("current")))
"""An answer in which at least one dimension was labeled."""
HAD_LABEL = LookupExists(Rating.objects.filter(annotation__assignment=OuterRef("pk")))
"""One that had a label in any revision: who read it knows it, also if a skip replaced it."""


def _labeled(seat: Seat, rounds: Sequence[Round]) -> QuerySet[Assignment]:
    """Those of them that were answered with a label."""
    return _assigned(seat, rounds).filter(HAS_LABEL, state=Assignment.State.SUBMITTED)


def _third(seat: Seat, rounds: Sequence[Round]) -> tuple[list[tuple[str, int]], int, bool]:
    """Third raters by code with how many items each labeled; how many assignments they skipped; if any was asked.

    One query.
    """
    asked = Assignment.objects.filter(seat.not_withheld(), COUNTS_HERE, THIRD_RATERS, round__in=rounds)
    is_labeled = Q(HAS_LABEL, state=Assignment.State.SUBMITTED)
    counted = (
        asked.order_by()
        .values_list("rater__code")
        .annotate(
            n=Count("item", distinct=True, filter=is_labeled),
            n_skipped=Count("pk", filter=Q(state=Assignment.State.SKIPPED)),
        )
    )
    rows = sorted(((code or "", n, skipped) for code, n, skipped in counted), key=lambda each: code_order(each[0]))
    return [(code, n) for code, n, _ in rows if n], sum(skipped for *_, skipped in rows), bool(rows)


def _third_asked(seat: Seat, rounds: Sequence[Round]) -> dict[str, Any]:
    """How many requests third raters got in Concord, how many of a person, and how many were withdrawn unanswered.

    A request is an assignment: nobody gets an item twice in a round. Two queries.
    """
    asked = Assignment.objects.filter(seat.not_withheld(), COUNTS_HERE, THIRD_RATERS, round__in=rounds)
    asked = asked.exclude(current__idempotency_key__startswith=MARK)
    requests = list(asked.order_by().values_list("round__number", "item__identifier", "state"))
    if not requests:
        return {}
    places = Counter((number, item) for number, item, _ in requests)
    lines = AuditEvent.objects.filter(study=seat.study, verb="third rater asked").values_list("detail", flat=True)
    by_hand = Counter((detail.get("round"), detail.get("item")) for detail in lines)
    return {
        "n_third_asked": len(requests),
        "n_third_by_hand": sum(min(by_hand[place], n) for place, n in places.items()),
        "n_third_withdrawn": sum(state == Assignment.State.WITHDRAWN for *_, state in requests),
    }


def _by_rater(seat: Seat, rounds: Sequence[Round]) -> list[tuple[str, int]]:
    """Raters by code with how many items each labeled, once over all rounds; one query."""
    rows = _labeled(seat, rounds).values_list("rater__code").annotate(n=Count("item", distinct=True))
    return sorted(((code or "", n) for code, n in rows), key=lambda each: code_order(each[0]))


def _turnover(seat: Seat, rounds: Sequence[Round]) -> list[Turnover]:
    """Who left or joined these rounds while they were open, as the audit log has it; one query."""
    opened = {each.number: each.opened_at for each in rounds if each.opened_at is not None}
    verbs = ("rater withdrawn", "rater added")
    lines = AuditEvent.objects.filter(study=seat.study, verb__in=verbs, detail__round__in=list(opened)).order_by("pk")
    found, gone = [], set()
    for verb, detail, at in lines.values_list("verb", "detail", "at"):
        if at < opened[detail["round"]]:  # an opening that was taken back
            continue
        place = (detail["round"], detail["rater"])
        if verb == "rater added":
            found.append(Turnover(REJOINED if place in gone else JOINED, *place))
            continue
        gone.add(place)
        given = sorted(detail.get("given", {}).items(), key=lambda each: code_order(each[0]))
        found.append(Turnover(LEFT, *place, detail.get("withdrawn", 0), given, detail.get("waiting", 0)))
    return found


def _migrated(seat: Seat) -> MigrationFacts | None:
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


def _relabeled(seat: Seat) -> list[tuple[int, int, int]]:
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


def _answers(seat: Seat, rounds: Sequence[Round]) -> dict[int, dict[str, int]]:
    """Of each round: answers, how many raters gave themselves, skipped, open, revised since.

    One query.
    """
    submitted = Q(state=Assignment.State.SUBMITTED)
    is_counted = ~Q(state=Assignment.State.WITHDRAWN) | Q(current__isnull=False)  # most of a round can be withdrawn
    rows = (
        _assigned(seat, rounds)
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


_RATED_BEFORE = """
WITH labeled AS MATERIALIZED ({labeled}),
told AS (
    SELECT item_id, is_matched, is_excluded IS NULL AND {is_rater} AS counts, count(*) OVER (
        PARTITION BY item_id, rater_id ORDER BY number ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
    ) AS n_earlier
    FROM labeled WHERE is_excluded IS NOT TRUE
)
SELECT count(DISTINCT item_id) FILTER (WHERE n_earlier > 0),
    count(DISTINCT item_id) FILTER (WHERE is_matched),
    EXISTS (
        SELECT FROM annotation_rounditem WHERE cardinality(%s) > 1 AND round_id = ANY (%s)
        GROUP BY item_id HAVING count(*) > 1
    )
FROM told WHERE counts
"""


def _rated_before_and_matched(seat: Seat, rounds: Sequence[Round]) -> dict[str, Any]:
    """How many items a person labeled again who had labeled them in an earlier one of these rounds; one query.

    They can have been calibration items there, whose known labels the person saw, or be labeled as a third rater.
    If an item is in several of them, whether raters could read earlier labels: then the queries of `_read_before`.
    And how many items have an answer whose parts a person matched to those of another.
    """
    matched = PartMatch.objects.filter(Q(annotation=OuterRef("blind")) | Q(annotation=OuterRef("current")))
    here = NOT_COUNTING.filter(round=OuterRef("round"), item=OuterRef("item"))
    labeled = Assignment.objects.filter(
        seat.not_withheld(), HAD_LABEL, round__in=rounds, rater__kind=Membership.Kind.PERSON
    )
    is_matched = Q(Exists(matched), HAS_LABEL, state=Assignment.State.SUBMITTED)
    labeled = labeled.annotate(
        number=F("round__number"),
        is_matched=ExpressionWrapper(is_matched, BooleanField()),
        is_excluded=Subquery(here.values("excluded")),  # one look at its place for each of hundreds of thousands
    )
    columns = ("item_id", "rater_id", "round_id", "number", "is_matched", "is_excluded", "slot")
    try:
        sql, params = labeled.order_by().values(*columns).query.sql_with_params()
    except EmptyResultSet:  # the person may see no round
        return {}
    with connection.cursor() as cursor:
        every = [each.pk for each in rounds]
        cursor.execute(_RATED_BEFORE.format(labeled=sql, is_rater=is_rater_sql("labeled")), [*params, every, every])
        n_before, n_matched, is_again = cursor.fetchone()
    read_before = _read_before(seat, rounds) if is_again else ()
    return {"n_rated_before": n_before, "n_matched": n_matched, "read_before": read_before}


_READ_BEFORE = """
WITH labeled AS MATERIALIZED ({labeled}),
own AS MATERIALIZED ({own}),
more AS MATERIALIZED (
    SELECT round_id, item_id, rater_id, NULL::bigint AS account_id, at FROM ({more}) answers
    UNION ALL SELECT round_id, item_id, NULL, account_id, created_at FROM ({resolved}) resolved
),
reach AS (
    SELECT * FROM jsonb_to_recordset(%s::jsonb) AS r (
        later bigint, rater bigint, earlier bigint, blind_from timestamptz, before timestamptz, covered bigint[]
    )
)
SELECT DISTINCT l.round_id, l.rater_id, l.item_id
FROM own l JOIN reach r ON r.later = l.round_id AND r.rater = l.rater_id
WHERE NOT l.is_apart AND (EXISTS (
    SELECT FROM labeled o WHERE o.round_id = r.earlier AND o.item_id = l.item_id AND o.rater_id <> l.rater_id
        AND (r.before IS NULL OR o.first_at < r.before)
) OR EXISTS (
    SELECT FROM more m JOIN annotation_membership p ON p.id = l.rater_id
    WHERE m.round_id = r.earlier AND m.item_id = l.item_id AND m.rater_id IS DISTINCT FROM l.rater_id
        AND m.at < coalesce(r.before, r.blind_from) AND (m.account_id IS NULL OR m.account_id NOT IN (
            coalesce(p.user_id, 0), coalesce(p.former_user_id, 0), coalesce(p.invited_user_id, 0),
            coalesce(p.formerly_id, 0)))
)) AND NOT EXISTS (SELECT FROM annotation_rounditem p WHERE p.round_id = ANY (r.covered) AND p.item_id = l.item_id)
"""


def _read_before(seat: Seat, rounds: Sequence[Round]) -> list[ReadBefore]:
    """Which raters could read labels that others gave to items in other ones of these rounds, before their own.

    When labels of sheets were given is not known, and unblinded raters are named apart. Eight queries, one more where
    someone came into an open round, or left it, five more where third raters were asked, and four more where a proposal
    was accepted. Agreement counts no labels of third raters, so `items` has none of theirs.
    """
    labeled = _assigned(seat, rounds).filter(HAD_LABEL)
    thirds = Assignment.objects.filter(seat.not_withheld(), COUNTS_HERE, HAD_LABEL, THIRD_RATERS, round__in=rounds)
    thirds = thirds.order_by()
    found = reaches(seat.study, rounds, rounds), reaches(seat.study, rounds, rounds, of_third_raters=True)
    planned = _drafts_read(seat, rounds, labeled) | _known_read(rounds, labeled)
    planned |= _read_places(seat, rounds, labeled, found[0])
    places = planned | _read_places(seat, rounds, thirds, found[1])
    if not places:
        return []
    raters = _raters_by_id({rater for _, rater, _ in places})
    deciders = {account: pk for pk, (_, accounts) in raters.items() for account in accounts}
    rows = Resolution.objects.filter(
        seat.not_withheld(), COUNTS_HERE, decided_by__in=deciders, item__in={item for *_, item in places}
    ).exclude(round__kind=Round.Kind.SCREENING)
    rows = rows.exclude(method__in=[Resolution.Method.REOPENED, Resolution.Method.IMPORTED])
    resolved: set[tuple[int, int, int]] = set()
    for by, round_id, item, at in rows.order_by().values_list("decided_by", "round", "item", "created_at"):
        rater = deciders[by]
        resolved |= {
            (each.pk, rater, item)
            for each in rounds
            if each.pk != round_id and (until := places.get((each.pk, rater, item))) is not None and at < until
        }
    return [
        ReadBefore(
            round=each.number,
            by=_by_code(raters, [place for place in places if place[0] == each.pk]),
            resolved=_by_code(raters, [place for place in resolved if place[0] == each.pk]),
            items=sorted({item for round_id, _, item in planned if round_id == each.pk}),
        )
        for each in sorted(rounds, key=lambda each: each.number)
        if any(place[0] == each.pk for place in places)
    ]


def _read_places(
    seat: Seat, rounds: Sequence[Round], own: QuerySet[Assignment], found: Sequence[Reach]
) -> dict[tuple[int, int, int], datetime]:
    """Round, rater and item of those answers whose raters could read labels elsewhere, and until when; one query.

    Labels are what others answered there, also for calibration items, as third raters and as model raters, and what
    others resolved or imported.
    """
    if not found:
        return {}
    first = Annotation.objects.filter(assignment=OuterRef("pk"), revision=1).values("created_at")
    is_apart = ExpressionWrapper(Q(current__idempotency_key__startswith=MARK) | Q(blind__isnull=True), BooleanField())
    first_at = Subquery(first) if any(each.before for each in found) else F("current__created_at")
    given = Assignment.objects.filter(seat.not_withheld(), PRESENT_HERE, HAD_LABEL, round__in=rounds).order_by()
    of_people = RATERS & Q(rater__kind=Membership.Kind.PERSON)
    (theirs, of_theirs), (others, of_others) = (
        each.annotate(is_apart=is_apart, first_at=first_at)
        .values("item_id", "rater_id", "round_id", "is_apart", "first_at")
        .query.sql_with_params()
        for each in (own, given.filter(of_people))
    )
    extra = given.exclude(of_people).annotate(at=Subquery(first)).values("item_id", "rater_id", "round_id", "at")
    resolved = Resolution.objects.filter(seat.not_withheld(), PRESENT_HERE, round__in=rounds).order_by()
    by = Case(When(method=Resolution.Method.IMPORTED, then=None), default=F("decided_by"))
    resolved = resolved.exclude(method=Resolution.Method.REOPENED).annotate(account_id=by)
    (more, of_more), (decided, of_decided) = (
        each.query.sql_with_params()
        for each in (extra, resolved.values("item_id", "round_id", "account_id", "created_at"))
    )
    told = json.dumps([each._asdict() for each in found], default=str)
    query = _READ_BEFORE.format(labeled=others, own=theirs, more=more, resolved=decided)
    with connection.cursor() as cursor:
        cursor.execute(query, [*of_others, *of_theirs, *of_more, *of_decided, told])
        places = cursor.fetchall()
    until = {(each.later, each.rater): each.blind_from for each in found}
    return {(round_id, rater, item): until[round_id, rater] for round_id, rater, item in places}


def _known_read(rounds: Sequence[Round], labeled: QuerySet[Assignment]) -> dict[tuple[int, int, int], datetime]:
    """Round, rater, item and time of answers whose raters had seen what is known of a calibration item before.

    They had answered or skipped it in another of these rounds, which may be under way. One query.
    """
    first = Annotation.objects.filter(assignment=OuterRef("pk"), revision=1).values("created_at")
    known = RoundItem.objects.filter(known__isnull=False, round=OuterRef("round"), item=OuterRef("item"))
    told = Assignment.objects.filter(Exists(known), round__in=rounds, state__in=Assignment.FINISHED)
    told = told.filter(item=OuterRef("item"), rater=OuterRef("rater")).exclude(round=OuterRef("round"))
    told = told.annotate(at=Subquery(first)).filter(at__lt=OuterRef("first_at"))
    answers = labeled.filter(blind__isnull=False).exclude(current__idempotency_key__startswith=MARK)
    answers = answers.annotate(first_at=Subquery(first)).filter(Exists(told))
    places = answers.values_list("round_id", "rater_id", "item_id", "first_at")
    return {(round_id, rater, item): at for round_id, rater, item, at in places}


def _drafts_read(
    seat: Seat, rounds: Sequence[Round], labeled: QuerySet[Assignment]
) -> dict[tuple[int, int, int], datetime]:
    """Round, rater and item of answers whose raters read in drafts what others proposed elsewhere, and since when.

    Maintainers of the taxonomy and staff read drafts, and the audit log names those who maintained it. One query, four
    more where a proposal was accepted.
    """
    accepted = ProposalOutcome.objects.filter(outcome=ProposalOutcome.Outcome.ACCEPTED, proposal__round__in=rounds)
    rows = accepted.order_by().values_list("proposal__item", "proposal__round", "proposal__proposed_by")
    proposed: dict[int, list[tuple[int, int, datetime]]] = {}
    for item, round_id, by, at in rows.annotate(at=Min("created_at")):
        if (round_id, item) not in seat.withheld:
            proposed.setdefault(item, []).append((round_id, by, at))
    if not proposed:
        return {}
    first = Annotation.objects.filter(assignment=OuterRef("pk"), revision=1).values("created_at")
    answers = labeled.filter(item__in=proposed, blind__isnull=False).annotate(first_at=Subquery(first))
    answers = answers.exclude(current__idempotency_key__startswith=MARK)
    places = list(answers.values_list("round_id", "rater_id", "item_id", "first_at"))
    raters = _raters_by_id({rater for _, rater, *_ in places})
    reads = User.objects.filter(Q(is_staff=True) | Q(taxonomies=seat.study.taxonomy_id))
    maintain = set(
        reads.filter(pk__in={each for _, own in raters.values() for each in own}).values_list("pk", flat=True)
    )
    lines = AuditEvent.objects.filter(study=seat.study, verb=READ, detail__what=DRAFT_READ, detail__round__isnull=False)
    maintained = set(lines.order_by().values_list("user", "detail__round"))
    numbers = {each.pk: each.number for each in rounds}
    return {
        (of, rater, item): at
        for of, rater, item, first_at in places
        for round_id, by, at in proposed[item]
        if round_id != of
        and by != rater
        and at < first_at
        and any(own in maintain or (own, numbers[round_id]) in maintained for own in raters[rater][1])
    }


def _raters_by_id(raters: Collection[int]) -> dict[int, tuple[str, set[int]]]:
    """Codes and accounts (ids) of raters by the ids of their memberships; one query."""
    return {each.pk: (each.code or "", each.account_ids) for each in Membership.objects.filter(pk__in=raters)}


def _by_code(
    raters: Mapping[int, tuple[str, set[int]]], places: Iterable[tuple[int, int, int]]
) -> list[tuple[str, int]]:
    counted = Counter(raters[rater][0] for _, rater, _ in places)
    return sorted(counted.items(), key=lambda each: code_order(each[0]))


def _read_otherwise(seat: Seat, rounds: Sequence[Round]) -> dict[str, Any]:
    """How many submissions were made on other texts than the pinned ones; a query, and one more where there are some.

    What raters read whose labels are from a sheet is not known.
    """
    told = _assigned(seat, rounds).filter(state=Assignment.State.SUBMITTED)
    told = told.exclude(current__idempotency_key__startswith=MARK)
    places = list(told.filter(IS_READ_OTHERWISE).values_list("round", "item"))
    if not places:
        return {}
    items = {item for _, item in places}
    read: dict[tuple[int, int], set[str | None]] = {}
    for round_id, item, sha256 in told.filter(item__in=items).values_list("round", "item", "current__snapshot__sha256"):
        read.setdefault((round_id, item), set()).add(sha256)
    apart = {item for (_, item), states in read.items() if len(states) > 1}
    return {"n_otherwise": len(places), "n_items_otherwise": len(items), "n_items_apart": len(apart)}


def _withdrawn(seat: Seat) -> dict[int, int]:
    """Round by number how many unfinished assignments were withdrawn at its end, by the audit log; one query."""
    lines = AuditEvent.objects.filter(study=seat.study, verb="round moved to resolving", detail__withdrawn__gt=0)
    return {detail["round"]: detail["withdrawn"] for detail in lines.values_list("detail", flat=True)}


def _n_training(seat: Seat, rounds: Sequence[Round]) -> int:
    """How many items with known labels a person labeled; one query."""
    training = RoundItem.objects.filter(round=OuterRef("round"), item=OuterRef("item"), known__isnull=False)
    labeled = Assignment.objects.filter(
        seat.not_withheld(),
        LookupExists(training),
        round__in=rounds,
        state=Assignment.State.SUBMITTED,
        rater__kind=Membership.Kind.PERSON,
    )
    return labeled.aggregate(n=Count("item", distinct=True))["n"] or 0


def _tries(seat: Seat, rounds: Sequence[Round]) -> list[TryFacts]:
    """What came of first tries on items with known labels, of second ones, and so on; a try is a rater's in a round."""
    found: dict[int, list[TrainingResult]] = {}
    n_had: Counter[int] = Counter()
    for each in tries_of_people(rounds, seat.not_withheld()):
        n_had[each.rater.pk] += 1
        found.setdefault(n_had[each.rater.pk], []).append(each)
    return [
        TryFacts(
            len(those),
            sum(each.n_right for each in those),
            sum(each.n_items for each in those),
            sum(each.n_skipped for each in those),
        )
        for _, those in sorted(found.items())
    ]


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


def _items(seat: Seat, rounds: Sequence[Round]) -> dict[str, Any]:
    """Items with an answer, once over all rounds: all, by two raters in a round, not from a sample; one query."""
    drawn = places_of(OuterRef("item"), rounds).counting().filter(round__sample__isnull=False)
    samples = {round_.sample_id for round_ in rounds if round_.sample_id}
    in_sample = SampleIssue.objects.filter(sample__in=samples, issue=OuterRef("issue"))
    named = Item.objects.filter(Exists(in_sample), pk=OuterRef("item"))  # a round can name drawn ones
    of_samples = [round_.pk for round_ in rounds if round_.sample_id]  # an item that counts there was drawn
    is_drawn = Case(When(round__in=of_samples, then=Value(True)), default=Exists(drawn) | Exists(named))
    places = _labeled(seat, rounds).values("round", "item").annotate(n=Count("pk"), is_drawn=is_drawn)
    return places.aggregate(
        n_items=Count("item", distinct=True),
        n_double=Count("item", distinct=True, filter=Q(n__gte=2)),
        n_by_hand=Count("item", distinct=True, filter=Q(is_drawn=False)),
    )


def _waves(seat: Seat, rounds: Sequence[Round], known: dict[int, dict[str, int]]) -> list[RoundFacts]:
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
    labeled = _labeled(seat, rounds).values("round").annotate(n=Count("item", distinct=True))
    n_items = dict(labeled.values_list("round", "n"))
    raters: dict[int, set[str]] = {}
    for round_id, code in _labeled(seat, rounds).values_list("round", "rater__code").distinct():
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


def _dimensions(
    seat: Seat,
    rounds: Sequence[Round],
    headline: HeadlineSet,
    asked: AgreementQuery,
    reports: Sequence[DimensionReport],
    begun: datetime | None,
) -> list[DimensionFacts]:
    """What was found for each dimension in the headline set, with what was found after discussion, and by round.

    Without a headline no number is the study's: those by round are all there is.
    """
    codes = rater_codes(seat)
    later = replace(asked, slice=replace(asked.slice, when="after"))
    after = {each.dimension.key: each for each in dimension_patterns(rounds, later)} if reports else {}
    rated = _rated(seat, rounds) if reports else set()
    raters = _raters_of_dimensions(seat, rounds) if reports else {}
    registered = _registered(seat, rounds, reports)
    found = []
    for each in reports:
        key = each.across.dimension.key
        discussed = after.get(key)
        of_all = replace(
            _dimension(each, begun),
            **registered.get(key, {}),
            is_rated=key in rated,
            raters=raters.get(key, ()),
        )
        if not headline.rounds:
            of_all = replace(
                of_all,
                before=CoefficientFacts(0, (), None),
                left_out=(),
                warnings=(),
                words=(),
                ci_method=None,
            )
        together = replace(discussed.only(headline.rounds), is_headline=True) if discussed else None
        found.append(
            replace(
                of_all,
                after=_number(primary(seat, together, codes, later)) if together and together.counted else None,
                after_by_round={
                    one.round.number: _number(primary(seat, discussed.only([one.round]), codes, later))
                    for one in discussed.counted
                }
                if discussed
                else {},
            )
        )
    return found


def _rated(seat: Seat, rounds: Sequence[Round]) -> set[str]:
    """The keys of the dimensions on which a person gave a label in these rounds; one query."""
    given = Assignment.objects.filter(seat.not_withheld(), COUNTS_HERE, current=OuterRef("annotation"))
    labels = Rating.objects.filter(
        LookupExists(given), round__in=rounds, rater__kind=Membership.Kind.PERSON, dimension=OuterRef("pk")
    )
    asked = Dimension.objects.filter(version__in={each.taxonomy_version_id for each in rounds})
    return set(asked.filter(Exists(labels)).values_list("key", flat=True))


def _raters_of_dimensions(seat: Seat, rounds: Sequence[Round]) -> dict[str, list[str]]:
    """By key of a dimension who labeled it in these rounds, third raters apart; one query."""
    asked = "round__taxonomy_version__dimensions"
    given = Assignment.objects.filter(
        seat.not_withheld(),
        COUNTS_HERE,
        RATERS,
        current=OuterRef("annotation"),
        state=Assignment.State.SUBMITTED,
        rater__kind=Membership.Kind.PERSON,
    )
    labels = Rating.objects.filter(
        LookupExists(given), round=OuterRef("round"), rater=OuterRef("rater"), dimension=OuterRef(asked)
    )
    rows = RoundRater.objects.filter(LookupExists(labels), round__in=rounds).order_by()
    found: dict[str, set[str]] = {}
    for key, code in rows.values_list(f"{asked}__key", "rater__code").distinct():
        found.setdefault(key, set()).add(code or "")
    return {key: sorted(codes, key=code_order) for key, codes in found.items()}


def _dimension(found: DimensionReport, begun: datetime | None) -> DimensionFacts:
    dimension, head, entry = found.across.dimension, found.headline, found.entry
    value = next(each for each in entry.coefficients if each["name"] == head.coefficient)
    fixed_at = datetime.fromisoformat(head.fixed_at).astimezone(UTC) if head.fixed_at else None
    why = [(each["because"], each["n"]) for each in entry.left_out_because if each["n"]]
    if not why and entry.left_out:
        why = [("", entry.left_out)]
    weights = entry.weights or ""
    return DimensionFacts(
        key=dimension.key,
        title=dimension.title,
        kind=dimension.kind,
        n_categories=sum(category.selectable for category in dimension.categories),
        is_conditional=dimension.applies_when is not None,
        coefficient=head.coefficient,
        metric=entry.metric,
        before=_number(head),
        by_round={number: _number(one) for number, one in found.trend.items()},
        is_fixed=fixed_at is not None,
        is_default=head.is_default,
        threshold=head.threshold,
        fixed_on=fixed_at.date() if fixed_at else None,
        is_fixed_before=fixed_at is not None and (begun is None or fixed_at <= begun),
        reason=head.reason,
        weights=weights if isinstance(weights, str) else "its own",
        words=[(each["scale"], each["word"], each.get("earned")) for each in value.get("words", [])],
        left_out=why,
        **_on_scale(found, entry.metric),
        warnings=entry.warnings,
        ci_method=value.get("ci_method"),
    )


def _registered(seat: Seat, rounds: Sequence[Round], reports: Sequence[DimensionReport]) -> dict[str, dict[str, Any]]:
    """By key of a dimension the statistic that was registered and what changed since, where the kind is another one.

    No query where nothing is registered, else one.
    """
    fixed = {each.across.dimension.key: each for each in reports if each.headline.fixed_at}
    if not fixed:
        return {}
    versions = TaxonomyVersion.objects.filter(taxonomy=seat.study.taxonomy_id, published_at__isnull=False)
    versions = versions.filter(number__lte=max(each.taxonomy_version.number for each in rounds))
    published = list(versions.order_by("number").values_list("published_at", "pk"))
    found = {}
    for key, each in fixed.items():
        at = datetime.fromisoformat(each.headline.fixed_at or "")
        there = [place for place, (when, _) in enumerate(published) if when is not None and when <= at]
        trees = [published_version(pk) for _, pk in published[there[-1] :]] if there else []
        then, entry = trees[0].by_key.get(key) if trees else None, seat.study.primary[key]
        if then is None or then.kind == each.across.dimension.kind or not KINDS[then.kind].has_coefficients:
            continue
        kind, changes = then.kind, []
        for tree in trees[1:]:
            dimension = tree.by_key.get(key)
            if dimension is not None and dimension.kind != kind:
                changes.append((tree.number, kind, dimension.kind))
                kind = dimension.kind
        metric = entry.get("metric") or VARIABLES[then.variable].metrics[0]
        weights = (entry.get("weights") or SCALE_WEIGHTS[0]) if then.is_ordered else ""
        weights = weights if isinstance(weights, str) else "its own"
        words = replace(_dimension(each, None), metric=metric, weights=weights).statistic
        found[key] = {"registered": words, "kind_changes": changes}
    return found


def _on_scale(found: DimensionReport, metric: str) -> dict[str, Any]:
    """On how many units an alpha of an order rests, where some labels are no level of the scale."""
    is_order = found.across.dimension.is_ordered and metric != "nominal"
    if COEFFICIENTS[found.headline.coefficient].takes != "metric" or not is_order:
        return {}
    rows = [row for each in found.across.counted for row in each.rows if len(row.raters) > 1]
    away = [value for value in OFF_SCALE if any(value in row.values for row in rows)]
    used = sum(row.n for row in rows if sum(value not in away for value in row.values) > 1)
    if used == found.headline.units:
        return {}
    return {"n_used": used, "off_scale": [OFF_SCALE_WORDS[value] for value in away]}


OFF_SCALE_WORDS = {PENDING: "a proposal", DOES_NOT_APPLY: "“does not apply”"}


def _number(head: Headline) -> CoefficientFacts:
    return CoefficientFacts(
        head.units, head.raters, head.value, head.ci_low, head.ci_high, head.undefined, head.ci_method
    )


def _samples(rounds: Sequence[Round]) -> list[Sample]:
    wanted = {round_.sample_id for round_ in rounds if round_.sample_id}
    return list(Sample.objects.filter(pk__in=wanted).defer("frame").order_by("pk"))


def _n_in_several(samples: Sequence[Sample]) -> int:
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


def _drawn(sample: Sample, controls: Sequence[ControlStretch]) -> SampleFacts:
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


def _control(each: ControlStretch) -> ControlFacts:
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


def _screened(seat: Seat, asked: AgreementQuery) -> ScreeningFacts | None:
    """What raters did in screening rounds that are over and not hidden from the person.

    Two queries, and where there is such a round two more and those of its agreement.
    """
    every = seat.study.rounds.filter(kind=Round.Kind.SCREENING, state__in=Round.OVER)
    rounds = list(every.exclude(pk__in=seat.hidden_round_ids).select_related("taxonomy_version").order_by("number"))
    answered = _labeled(seat, rounds)
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
    return (head.coefficient, _number(head)) if head is not None and head.units else ("", None)


def _screened_by_hand(seat: Seat) -> ScreenedByHand | None:
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


def _rated_elsewhere(seat: Seat, rounds: Sequence[Round]) -> dict[int, set[int]] | None:
    """By number of a round the items whose issue their rater had labeled before in a study that this is a copy of.

    None for everyone while a round there is under way: its third raters must not know who labeled or skipped an item,
    and who read it here leaves no line there. Four queries, and two more for each further study that was copied.
    """
    sources = sources_of(seat.study)
    if not sources:
        return {}
    if Round.objects.filter(study__in=sources, state__in=(Round.State.OPEN, Round.State.RESOLVING)).exists():
        return None
    same = Q(rater__former_user=OuterRef("rater__user"))
    for name in ("user", "former_user", "invited_user"):
        same |= Q(rater__user=OuterRef(f"rater__{name}"))
    earlier = Annotation.objects.filter(
        same,
        assignment__round__study__in=sources,
        assignment__item__issue=OuterRef("item__issue"),
        created_at__lt=Coalesce(OuterRef("blind__created_at"), OuterRef("current__created_at")),
        skip_reason="",
    )
    found: dict[int, set[int]] = {}
    labeled = _labeled(seat, rounds).exclude(current__idempotency_key__startswith=MARK)
    for number, item in labeled.filter(Exists(earlier)).values_list("round__number", "item"):
        found.setdefault(number, set()).add(item)
    return found


def _n_labeled_out(seat: Seat, rounds: Sequence[Round]) -> int:
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


class Decided(NamedTuple):
    """The resolutions that count, by the way in which they are reported, and how many people without a code took them.

    `n_reopened` places were resolved, reopened, and not resolved again; `n_moot` resolutions are of questions that no
    longer apply, or wait for one that was reopened.
    """

    ways: list[ResolutionFacts]
    n_others: int
    n_reopened: int
    n_moot: int


def _decided(seat: Seat, rounds: Sequence[Round]) -> Decided:
    """How disagreements were resolved, as the queue of each round counts them: only resolutions that stand.

    Those of places on which raters agreed are no disagreements: `overruled`, or not counted where they are what raters
    agreed on; `alone` are those of places where fewer than two raters gave a label. Two queries, those of `ways`, and
    where there are resolutions those of the queue of their round, and of verdicts where some are of no disagreement.
    """
    rows = newest_of_each_place(Resolution.objects.filter(seat.not_withheld(), COUNTS_HERE, round__in=rounds))
    every = list(with_facts(rows.order_by("round")))
    resolutions = [row for row in every if row.method != Resolution.Method.REOPENED]
    told = ways(resolutions)
    codes = {account: each.code for each in seat.study.memberships.all() for account in each.account_ids}
    resolved = {row.round_id for row in resolutions}
    disputed = _disputed([each for each in rounds if each.pk in resolved])
    standing = _standing(
        rounds,
        [row for row in resolutions if row.method != Resolution.Method.IMPORTED and place_of(row) not in disputed],
    )
    n_moot = sum(way == MOOT for way in standing.values())
    present = _present([row for row in resolutions if told[row.pk] == MEETING])
    counted: Counter[str] = Counter()
    by: dict[str, set[str]] = {}
    others: set[int] = set()
    apart: set[str] = set()
    for row in resolutions:
        if standing.get(row.pk) in (MOOT, CONFIRMED):
            continue
        way = told[row.pk]
        if way != Resolution.Method.IMPORTED:
            if row.pk in present and not present[row.pk].is_of_item:
                way = OTHER_MEETING
            if row.pk in standing:
                way = standing[row.pk]
            elif way == OTHER_MEETING:
                apart.update(present[row.pk].people)
            if row.decided_by_id and codes.get(row.decided_by_id):
                by.setdefault(way, set()).add(codes[row.decided_by_id] or "")
            elif row.decided_by_id:
                others.add(row.decided_by_id)
        counted[way] += 1
    who = sorted(apart & {code or "" for code in codes.values()}, key=code_order)
    found = [ResolutionFacts(way, n, sorted(by.get(way, ()), key=code_order)) for way, n in counted.most_common()]
    found = [
        replace(each, present=who, n_others=len(apart) - len(who)) if each.method == OTHER_MEETING else each
        for each in found
    ]
    return Decided(found, len(others), len(every) - len(resolutions), n_moot)


def _resolved_elsewhere(seat: Seat) -> list[OtherResolutions]:
    """What was resolved in screening and relabeling rounds; one query, and where there is any those of `_decided`."""
    kinds = (Round.Kind.SCREENING, Round.Kind.RELABEL)
    rounds = seat.study.rounds.filter(Exists(Resolution.objects.filter(round=OuterRef("pk"))), kind__in=kinds)
    rounds = rounds.exclude(state=Round.State.UNDONE).exclude(pk__in=seat.hidden_round_ids)
    seen = list(rounds.select_related("taxonomy_version").order_by("number"))
    found = []
    for kind in kinds:
        those = [each for each in seen if each.kind == kind]
        decided = _decided(seat, those).ways if those else []
        resolved = [each for each in decided if each.method not in NO_DISAGREEMENT]
        if resolved:
            found.append(OtherResolutions(kind, [each.number for each in those], resolved))
    return found


def _n_models_shown(seat: Seat, rounds: Sequence[Round]) -> int:
    """Of how many items a person resolved something after a model had labeled them, and so could see it; one query."""
    before = Annotation.objects.filter(
        assignment__round=OuterRef("round"),
        assignment__item=OuterRef("item"),
        rater__kind=Membership.Kind.MACHINE,
        created_at__lt=OuterRef("created_at"),
    )
    rows = Resolution.objects.filter(
        seat.not_withheld(), COUNTS_HERE, LookupExists(before), round__in=rounds, decided_by__isnull=False
    )
    rows = rows.exclude(method__in=[Resolution.Method.REOPENED, Resolution.Method.IMPORTED])
    return rows.aggregate(n=Count("item", distinct=True))["n"] or 0


class Present(NamedTuple):
    """Who took part in the meeting of a resolution, and whether one of them answered its item in its round."""

    people: Sequence[str]
    is_of_item: bool


def _present(resolutions: Sequence[Resolution]) -> dict[int, Present]:
    """Of each of these resolutions who took part in the meeting that was stated for it last; two queries, or none."""
    if not resolutions:
        return {}
    meetings = meetings_of(resolutions)
    rows = Assignment.objects.filter(
        round__in={row.round_id for row in resolutions},
        item__in={row.item_id for row in resolutions},
        current__isnull=False,
    )
    answered = set(rows.order_by().values_list("round_id", "item_id", "rater__code"))
    return {
        row.pk: Present(
            meetings[row.pk].participants,
            any((row.round_id, row.item_id, each) in answered for each in meetings[row.pk].participants),
        )
        for row in resolutions
    }


def place_of(row: Resolution) -> tuple[int, int, int, int]:
    return row.round_id, row.item_id, row.part, row.dimension_id


MOOT, CONFIRMED = "moot", "confirmed"
"""Resolutions of places that have no verdict now, and those that are what all raters gave."""


def _standing(rounds: Sequence[Round], rows: Sequence[Resolution]) -> dict[int, str]:
    """By id of the resolutions of places that are no disagreement what they are: moot, confirmed, overruled or alone.

    The queries of the verdicts on their items.
    """
    found = {row.pk: MOOT for row in rows}
    for round_ in rounds:
        items = {row.item_id for row in rows if row.round_id == round_.pk}
        for each in (verdict for those in round_verdicts(round_, items=items) for verdict in those.verdicts):
            if each.decision is None or each.decision.id not in found:
                continue
            given = [set(rating.values) for rating in each.ratings if rating.values is not None]
            is_same = all(values == set(each.decision.values) for values in given)
            if is_same and (given or not each.decision.values):
                found[each.decision.id] = CONFIRMED
            else:
                found[each.decision.id] = OVERRULED if len(given) > 1 else ALONE
    return found


def _places(seat: Seat, rounds: Sequence[Round]) -> dict[str, Any]:
    """How many places raters disagreed on in rounds that are no longer open, and how many closed ones left unresolved.

    Questions that arose from a resolution, and that nobody answered, are apart. Cost: the queue of each of these
    rounds.
    """
    n_disputed = n_unresolved = n_unanswered = 0
    for round_ in rounds:
        if round_.state in Round.OVER:
            queue = queue_of(round_).without(seat.withheld_in(round_))
            n_disputed += queue.n_disagreements
            n_unresolved += queue.n_unresolved if round_.state == Round.State.CLOSED else 0
            n_unanswered += queue.n_unanswered if round_.state == Round.State.CLOSED else 0
    return {"n_disputed": n_disputed, "n_unresolved": n_unresolved, "n_unanswered": n_unanswered}


def _disputed(rounds: Sequence[Round]) -> set[tuple[int, int, int, int]]:
    """Round, item, part and dimension of every disagreement, resolved or not, without questions nobody answered."""
    found = set()
    for round_ in rounds:
        tree = published_version(round_.taxonomy_version_id)
        for line in queue_of(round_).lines:
            found |= {
                (round_.pk, line.item, each.part, tree.by_key[each.dimension].id)
                for each in line.places
                if not each.is_unanswered
            }
    return found


def _n_proposals(seat: Seat, rounds: Sequence[Round]) -> int:
    """How many proposals people made; what they said again in the same words counts once. One query."""
    made = Proposal.objects.filter(
        seat.not_withheld(),
        COUNTS_HERE,
        round__in=rounds,
        annotation__isnull=False,
        proposed_by__kind=Membership.Kind.PERSON,
    )
    n: int = made.order_by().values("part", *SAME_WORDS).distinct().count()
    return n


def methods_as_document(facts: Facts) -> dict[str, Any]:
    """What REST and the shell answer: paragraph, checklist and latex."""
    return {
        "paragraph": as_text(paragraph(facts)),
        "checklist": checklist_as_document(facts),
        "latex": latex(facts),
    }
