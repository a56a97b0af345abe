"""Raters who could read labels of an item, or had labeled it, before they labeled it in a round."""

import json
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from django.core.exceptions import EmptyResultSet
from django.db import connection
from django.db.models import (
    BooleanField,
    Case,
    Exists,
    ExpressionWrapper,
    F,
    Min,
    OuterRef,
    Q,
    QuerySet,
    Subquery,
    When,
)
from django.db.models.functions import Coalesce

from accounts.models import User
from annotation.assignments.queries import DRAFT_READ, READ
from annotation.core.access import Seat
from annotation.core.imported import MARK
from annotation.core.member_lists import code_order
from annotation.labels.queries.read_before import Reach, reaches, sources_of
from annotation.methods import ReadBefore
from annotation.methods.queries.counted_answers import (
    COUNTS_HERE,
    HAD_LABEL,
    HAS_LABEL,
    NOT_COUNTING,
    PRESENT_HERE,
    assigned_answers,
    labeled_answers,
)
from annotation.models import (
    Annotation,
    Assignment,
    AuditEvent,
    Membership,
    PartMatch,
    ProposalOutcome,
    Resolution,
    Round,
    RoundItem,
)
from annotation.models.assignment_kinds import RATERS, THIRD_RATERS, is_rater_sql

FIRST_AT = Subquery(Annotation.objects.filter(assignment=OuterRef("pk"), revision=1).values("created_at"))
"""When an assignment was answered first."""

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


def rated_before_and_matched(seat: Seat, rounds: Sequence[Round]) -> dict[str, Any]:
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
    labeled = assigned_answers(seat, rounds).filter(HAD_LABEL)
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
    is_apart = ExpressionWrapper(Q(current__idempotency_key__startswith=MARK) | Q(blind__isnull=True), BooleanField())
    first_at = FIRST_AT if any(each.before for each in found) else F("current__created_at")
    given = Assignment.objects.filter(seat.not_withheld(), PRESENT_HERE, HAD_LABEL, round__in=rounds).order_by()
    of_people = RATERS & Q(rater__kind=Membership.Kind.PERSON)
    (theirs, of_theirs), (others, of_others) = (
        each.annotate(is_apart=is_apart, first_at=first_at)
        .values("item_id", "rater_id", "round_id", "is_apart", "first_at")
        .query.sql_with_params()
        for each in (own, given.filter(of_people))
    )
    extra = given.exclude(of_people).annotate(at=FIRST_AT).values("item_id", "rater_id", "round_id", "at")
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
    known = RoundItem.objects.filter(known__isnull=False, round=OuterRef("round"), item=OuterRef("item"))
    told = Assignment.objects.filter(Exists(known), round__in=rounds, state__in=Assignment.FINISHED)
    told = told.filter(item=OuterRef("item"), rater=OuterRef("rater")).exclude(round=OuterRef("round"))
    told = told.annotate(at=FIRST_AT).filter(at__lt=OuterRef("first_at"))
    answers = labeled.filter(blind__isnull=False).exclude(current__idempotency_key__startswith=MARK)
    answers = answers.annotate(first_at=FIRST_AT).filter(Exists(told))
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
    answers = labeled.filter(item__in=proposed, blind__isnull=False).annotate(first_at=FIRST_AT)
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


def rated_elsewhere(seat: Seat, rounds: Sequence[Round]) -> dict[int, set[int]] | None:
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
    labeled = labeled_answers(seat, rounds).exclude(current__idempotency_key__startswith=MARK)
    for number, item in labeled.filter(Exists(earlier)).values_list("round__number", "item"):
        found.setdefault(number, set()).add(item)
    return found
