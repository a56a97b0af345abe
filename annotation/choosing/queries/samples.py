"""Samples: the result of a filter, the allocation of a draw, and the state of drawn issues."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any

from django.db import connection
from django.db.models import (
    BigIntegerField,
    Case,
    Count,
    Exists,
    ExpressionWrapper,
    F,
    OuterRef,
    Q,
    QuerySet,
    Subquery,
    TextField,
    Value,
    When,
)
from django.db.models.expressions import RawSQL
from django.db.models.functions import Cast, Concat

from annotation.choosing.sampling import allocate, most_missed, sample_size, weighted_margin
from annotation.core.access import Seat, row_number
from annotation.core.constant_lookups import LookupExists, item_of, places_of
from annotation.core.digests import digest_of
from annotation.core.errors import Conflict, Forbidden, Invalid
from annotation.core.issue_states import may_read_frame, newest_readable
from annotation.core.strata import repositories
from annotation.labels.screening import IN, OPEN, OUT, STANDINGS, UNSCREENED, standings_taken
from annotation.models import Assignment, Item, Round, RoundItem, Sample, SampleIssue, Study
from annotation.models.assignment_kinds import RATERS
from ingest import filters
from ingest.filters.frames import Stratum
from ingest.identifiers import full_name, parse_repository
from ingest.models import Issue, Repository, Snapshot, lower_name, names_after
from ingest.selections import Selection
from shared.wording import for_markdown, plural

OWN_WORDS = {
    "exclude_sample": "without issues drawn in these samples of the study: an ID, a list of them, or all",
    "left_out_of": "only issues that the filter of this sample of the study excluded, of its repositories: its ID",
    "screened_out_of": "only issues of this sample of the study that are screened out: its ID",
}
CONTROL = "screened_out_of"
LARGEST_SEED = 2**63 - 1
CHUNK = 2000
REASONS_MOST = 50


@dataclass(frozen=True)
class SampleRequest:
    """What is asked of a draw beside its filter; `size`, or `confidence` and `margin`."""

    size: Any = None
    confidence: Any = None
    margin: Any = None
    seed: Any = 1
    stratify_by: Any = ""
    allocation: Any = Sample.Allocation.PROPORTIONAL.value
    at_least_one: Any = False

    def faults(self, *, is_draw: bool = True) -> dict[str, list[str]]:
        """What can't be used, by field; only to count, a size may be missing."""
        fields: dict[str, list[str]] = {}
        if self.confidence is not None or self.margin is not None:
            if self.size is not None:
                fields["size"] = ["Send either a size, or confidence and margin."]
            for name in ("confidence", "margin"):
                value = getattr(self, name)
                if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < 1:
                    fields[name] = [f"Enter a share between 0 and 1, such as {'0.95' if name[0] == 'c' else '0.05'}."]
        elif (is_draw or self.size is not None) and not _is_whole(self.size, 1):
            fields["size"] = ["Enter a whole number from 1."]
        if not _is_whole(self.seed, -LARGEST_SEED - 1):
            fields["seed"] = ["Enter a whole number."]
        if self.stratify_by is not None and self.stratify_by not in ("", *filters.STRATA):
            fields["stratify_by"] = [f"Choose one of {', '.join(filters.STRATA)}."]
        if self.allocation not in Sample.Allocation.values:
            fields["allocation"] = ["Use proportional or equal."]
        if not isinstance(self.at_least_one, bool):
            fields["at_least_one"] = ["Use true or false."]
        return fields

    def size_of(self, n_frame: int) -> int | None:
        if self.confidence is not None and self.margin is not None:
            return sample_size(n_frame, self.confidence, self.margin)
        size: int | None = self.size
        return size


def _is_whole(value: object, least: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and least <= value <= LARGEST_SEED


@dataclass(frozen=True)
class StratumShare:
    """A stratum: how many issues of the frame are in it, how many a draw takes."""

    stratum: str
    n_frame: int
    n_drawn: int
    is_emptied: bool = False
    """All of it is drawn, and equal shares would have taken more."""


@dataclass(frozen=True)
class SampleDraft:
    """A draw before it is made: the frame, the size that is asked for or follows, and how strata share it."""

    frame: filters.Frame
    n_frame: int
    size: int | None
    shares: Sequence[StratumShare] = ()
    confidence: float | None = None
    is_equal: bool = False

    @property
    def margin_of_equal(self) -> float | None:
        """The margin of a share weighted by equal strata; None where a stratum gives nothing."""
        strata = [(share.n_frame, share.n_drawn) for share in self.shares]
        return weighted_margin(strata, self.confidence) if self.confidence and self.is_equal else None

    @property
    def has_small(self) -> bool:
        """Whether a stratum is too small for an equal share."""
        return any(share.is_emptied for share in self.shares)


def repositories_in_use(study: Study) -> list[str]:
    """The repositories that items of a study are from, or that its samples name, in order; two queries."""
    found = {name.lower(): name for name in repositories(study)}
    for filter in Sample.objects.filter(study=study).values_list("filter", flat=True):
        for name in _named_repositories(filter):
            found.setdefault(name.lower(), name)
    return [found[key] for key in sorted(found)]


def with_repository(study: Study, conditions: object) -> object:
    """A filter with the repository of the study, if it names none and the study uses exactly one."""
    if not isinstance(conditions, Mapping) or not _names_no_repository(conditions):
        return conditions
    used = repositories_in_use(study)
    return {**conditions, "repository": used} if len(used) == 1 else conditions


def _names_no_repository(conditions: object) -> bool:
    return isinstance(conditions, Mapping) and conditions.get("repository") in (None, "", [])


def drawn_without(sample: Sample) -> Sample | None:
    """A sample that left out the issues of this one; one query."""
    for other in Sample.objects.filter(study=sample.study_id).defer("frame").exclude(pk=sample.pk).order_by("pk"):
        left_out = other.filter.get("exclude_sample")
        numbers = left_out if isinstance(left_out, list) else [left_out]
        numbers = [*numbers, other.filter.get("left_out_of"), other.filter.get(CONTROL)]
        if (left_out == "all" and other.pk > sample.pk) or sample.pk in map(row_number, numbers):
            return other
    return None


def draft(seat: Seat, conditions: object, wish: SampleRequest, *, is_draw: bool = True) -> SampleDraft:
    """Reads filter and wish and says what they give, for a draw or (`is_draw=False`) only to look. Raises Invalid."""
    given = filters.read(conditions, others=tuple(OWN_WORDS))
    further = _further(seat.study, conditions)
    fields = wish.faults(is_draw=is_draw)
    if is_draw and _names_no_repository(conditions):
        used = repositories_in_use(seat.study)
        which = f"This study uses {', '.join(used)}." if used else "This study uses none yet."
        fields["filter.repository"] = [f"Name at least one repository as owner/name. {which}"]
    if fields:
        raise Invalid("Sample not drawn.", fields=fields)
    frame = filters.frame(
        given,
        Issue.objects.takeable_by(seat.user),
        further=further,
        stratify_by=wish.stratify_by,
        rows=is_draw or bool(wish.stratify_by),
    )
    n_frame = frame.counts[-1].n
    size = wish.size_of(n_frame)
    if is_draw and not n_frame:
        sentence = (
            "No stored issue matches the filter. Check that each repository is fetched and entered as owner/name."
        )
        raise Invalid("Sample not drawn.", fields={"size": [sentence]})
    if size is not None and n_frame and size > n_frame:
        sentence = f"The filter matches {plural(n_frame, 'issue')}, fewer than {size}."
        raise Invalid("Sample not drawn.", fields={"size": [sentence]})
    is_equal = bool(wish.stratify_by) and wish.allocation == Sample.Allocation.EQUAL
    shares = _shares(frame, size, wish) if wish.stratify_by else ()
    return SampleDraft(frame, n_frame, size, shares, wish.confidence, is_equal)


def _shares(frame: filters.Frame, size: int | None, wish: SampleRequest) -> list[StratumShare]:
    sizes = dict(sorted(Counter(frame.strata).items()))
    try:
        quotas = allocate(sizes, size or 0, wish.allocation, at_least_one=wish.at_least_one and bool(size))
    except ValueError:
        sentence = f"{size} issues can't include one of each of {len(sizes)} strata. Draw at least {len(sizes)}."
        raise Invalid("Sample not drawn.", fields={"size": [sentence]}) from None
    most = max(quotas.values(), default=0)
    is_equal = wish.allocation == Sample.Allocation.EQUAL
    return [
        StratumShare(name, n, quotas[name], is_emptied=is_equal and quotas[name] == n and n < most)
        for name, n in sizes.items()
    ]


def _further(study: Study, conditions: object) -> list[filters.FilterStep]:
    """The steps of the words that speak of the study's samples. Raises Invalid."""
    return [*_left_out(study, conditions), *_screened_out(study, conditions), *_not_drawn(study, conditions)]


def _left_out(study: Study, conditions: object) -> list[filters.FilterStep]:
    """The step that leaves what the filter of a sample left out: a frame to draw a control stretch from."""
    given = conditions.get("left_out_of") if isinstance(conditions, Mapping) else None
    if given is None or given in ("", []):
        return []
    number = row_number(given)
    sample = Sample.objects.filter(study=study, pk=number).defer("frame").first() if number else None
    if sample is None:
        sentence = _no_sample(study, number)
        raise Invalid("The filter is not valid.", fields={"filter.left_out_of": [sentence]})
    if sample.n_frame is None:
        sentence = f"Sample {sample.number} was drawn before frames were stored. Draw another one."
        raise Invalid("The filter is not valid.", fields={"filter.left_out_of": [sentence]})
    named = sample.filter.get("repository")
    here = filters.steps(filters.read({"repository": named}))[0].condition if named else Q()
    framed = Q(pk__in=RawSQL(_FRAMED, [sample.pk]))  # noqa: S611
    return [filters.FilterStep(f"excluded by the filter of sample {sample.number}", here & ~framed)]


def _screened_out(study: Study, conditions: object) -> list[filters.FilterStep]:
    """The step that leaves what screening excluded of a sample: a frame to draw a control stretch from."""
    given = conditions.get(CONTROL) if isinstance(conditions, Mapping) else None
    if given is None or given in ("", []):
        return []
    number = row_number(given)
    sample = Sample.objects.filter(study=study, pk=number).defer("frame").first() if number else None
    if sample is None:
        sentence = _no_sample(study, number)
        raise Invalid("The filter is not valid.", fields={f"filter.{CONTROL}": [sentence]})
    drawn = SampleIssue.objects.filter(sample=sample, issue=OuterRef("pk"))
    out = Item.objects.filter(study=study, issue=OuterRef("pk"), screening=Item.Screening.OUT)
    step = f"screened out of sample {sample.number}"
    return [filters.FilterStep(step, Q(Exists(drawn)) & Q(Exists(out)))]


def _no_sample(study: Study, given: int | None) -> str:
    """Filters name samples by ID; the number that pages show is another one."""
    if not given:
        return "Enter the ID of a sample."
    other = Sample.objects.filter(study=study, number=given).values_list("pk", flat=True).first()
    hint = f" Sample number {given} has the ID {other}." if other else ""
    return f"The study has no sample with the ID {given}.{hint}"


_FRAMED = """
    SELECT snapshot.issue_id FROM ingest_snapshot AS snapshot
    JOIN (SELECT unnest(frame) AS id FROM annotation_sample WHERE id = %s) AS framed ON framed.id = snapshot.id
"""


def _not_drawn(study: Study, conditions: object) -> list[filters.FilterStep]:
    given = conditions.get("exclude_sample") if isinstance(conditions, Mapping) else None
    if given is None or given in ("", []):
        return []
    drawn = SampleIssue.objects.filter(sample__study=study)
    if given == "all":
        return [filters.FilterStep("not in a sample of the study", ~Q(Exists(drawn.filter(issue=OuterRef("pk")))))]
    numbers = [row_number(each) for each in (given if isinstance(given, list | tuple) else [given])]
    rows = Sample.objects.filter(study=study, pk__in=[n for n in numbers if n]).order_by("number")
    known = dict(rows.values_list("pk", "number"))
    if missing := [n for n in numbers if n not in known]:
        sentence = _no_sample(study, missing[0]) if missing[0] else "Enter the ID of a sample, or all."
        raise Invalid("The filter is not valid.", fields={"filter.exclude_sample": [sentence]})
    without = Q(Exists(drawn.filter(issue=OuterRef("pk"), sample__in=sorted(known))))
    return [filters.FilterStep(f"not in sample {', '.join(map(str, known.values()))}", ~without)]


def counts_as_document(counts: Sequence[filters.Count]) -> list[dict[str, Any]]:
    return [{"step": count.step, "n": count.n} for count in counts]


@dataclass(frozen=True)
class SampleLine:
    """A sample and how many of its issues no coding round holds yet, by how they stand to screening.

    `n_out` counts all that are screened out, `left` by standing those that no coding round holds. `n_to_screen` are
    those that are in no round of any kind, without those that are out. `has_screening`: the study has screened.
    """

    sample: Sample
    has_screening: bool
    n_in: int
    n_unscreened: int
    n_open: int
    n_out: int
    n_out_left: int
    n_to_screen: int

    @property
    def is_equal(self) -> bool:
        return bool(self.sample.stratify_by) and self.sample.allocation == Sample.Allocation.EQUAL

    @property
    def margin_of_equal(self) -> float | None:
        """The margin of a share weighted by equal strata; None where a stratum gave nothing."""
        strata = [(each["n_frame"], each["n_drawn"]) for each in self.sample.strata]
        return weighted_margin(strata, self.sample.confidence) if self.sample.confidence and self.is_equal else None

    @property
    def left(self) -> dict[str, int]:
        return {IN: self.n_in, UNSCREENED: self.n_unscreened, OPEN: self.n_open, OUT: self.n_out_left}

    @property
    def n_unused(self) -> int:
        """Those in no coding round, without those that are out."""
        return self.n_in + self.n_unscreened + self.n_open

    @property
    def n_uncoded(self) -> int:
        """Those in no coding round, with those that are out."""
        return self.n_unused + self.n_out_left

    def n_to_code(self, standings: Sequence[str] = ()) -> int:
        """How many a coding round can take: those of some standings, or what it takes by default."""
        return sum(self.left[each] for each in standings or standings_taken(self.has_screening))

    def passed_over(self, standings: Sequence[str] = ()) -> dict[str, int]:
        """How many of each other standing a coding round passes over."""
        taken = standings or standings_taken(self.has_screening)
        return {each: n for each, n in self.left.items() if n and each not in taken}


def samples_of(study: Study) -> QuerySet[Sample]:
    """The samples of a study without their frames, which may be long."""
    return Sample.objects.filter(study=study).select_related("created_by").defer("frame")


def has_screening(study: Study) -> bool:
    """Whether a screening round of the study was opened: a draft asks nobody."""
    rounds = Round.objects.filter(study=study, kind=Round.Kind.SCREENING)
    return rounds.exclude(state=Round.State.DRAFT).exists()


def unused_issues(sample: int, standings: Sequence[str] = (IN, UNSCREENED, OPEN)) -> QuerySet[SampleIssue]:
    """What a coding round may still take of a sample: in no coding round, of these standings to screening.

    Having been screened uses nothing up. Without standings: what a screening round may take.
    """
    if not standings:
        return _unscreened_of(sample)
    coding = Round.objects.filter(pk=OuterRef("round")).exclude(kind=Round.Kind.SCREENING)
    refused = Q(LookupExists(RoundItem.objects.filter(LookupExists(coding), item=OuterRef("pk")))) | ~_stands(standings)
    items = _items_of_sample(sample)
    left = SampleIssue.objects.filter(~LookupExists(items.filter(refused)), sample=sample)
    return left if UNSCREENED in standings else left.filter(LookupExists(items))


def _unscreened_of(sample: int) -> QuerySet[SampleIssue]:
    """What a screening round may still take of a sample: in no round of any kind, not screened out.

    Of a control stretch, whose issues were screened before, it takes all that no round of this very sample has.
    """
    if Sample.objects.filter(pk=sample, filter__has_key=CONTROL).exists():
        again = RoundItem.objects.filter(item=OuterRef("pk"), round__sample=sample)
        return SampleIssue.objects.filter(~LookupExists(_items_of_sample(sample).filter(Exists(again))), sample=sample)
    placed = Q(LookupExists(RoundItem.objects.filter(item=OuterRef("pk"))))
    items = _items_of_sample(sample).filter(Q(screening=Item.Screening.OUT) | placed)
    return SampleIssue.objects.filter(~LookupExists(items), sample=sample)


def _items_of_sample(sample: int) -> QuerySet[Item]:
    """The item of an outer issue in the study of a sample."""
    return item_of(OuterRef("issue"), Subquery(Sample.objects.filter(pk=sample).values("study")))


def _stands(standings: Sequence[str]) -> Q:
    """Whether an item is of one of these standings."""
    rounds = Round.objects.filter(kind=Round.Kind.SCREENING, pk=OuterRef("round")).exclude(state=Round.State.DRAFT)
    asked = Q(LookupExists(RoundItem.objects.filter(LookupExists(rounds), item=OuterRef("pk"))))
    found = Q(screening__in=[each for each in standings if each in (IN, OUT)])
    if UNSCREENED in standings and OPEN in standings:
        return found | Q(screening=Item.Screening.UNSCREENED)
    if UNSCREENED in standings:
        return found | (Q(screening=Item.Screening.UNSCREENED) & ~asked)
    return found | (Q(screening=Item.Screening.UNSCREENED) & asked) if OPEN in standings else found


def standing_counts(items: QuerySet[Item]) -> dict[str, int]:
    """How many of these items stand how to screening; one query."""
    rows = items.order_by().annotate(is_open=Case(When(_stands([OPEN]), then=True), default=False))
    counts: Counter[str] = Counter()
    for screening, is_open, n in rows.values_list("screening", "is_open").annotate(n=Count("pk")):
        counts[OPEN if is_open else screening] += n
    return {each: counts[each] for each in STANDINGS if counts[each]}


@dataclass(frozen=True)
class _ScreeningStatus:
    """How many issues of a sample stand so to screening, with the reason; `is_coded`: in a coding round that counts."""

    standing: str
    reason: str
    is_coded: bool
    n: int


def _screenings(sample: Sample) -> list[_ScreeningStatus]:
    """How many issues of a sample stand how to screening; nothing before anybody has screened. Two queries."""
    if not Item.objects.filter(study=sample.study_id).exclude(screening=Item.Screening.UNSCREENED).exists():
        return []
    with connection.cursor() as cursor:
        cursor.execute(_SCREENINGS, {"sample": sample.pk, "study": sample.study_id})
        return [_ScreeningStatus(*row) for row in cursor.fetchall()]


# Rows are put together and grouped, never joined: that takes the same time whatever the planner expects of a study, and
# whatever other studies hold.
_SCREENINGS = """
    WITH opened AS MATERIALIZED (
        SELECT array_agg(id) AS every, array_agg(id) FILTER (WHERE kind = 'screening') AS asks,
            array_agg(id) FILTER (WHERE kind <> 'screening') AS codes
        FROM annotation_round WHERE study_id = %(study)s AND state NOT IN ('draft', 'undone')
    )
    SELECT coalesce(screening, CASE WHEN is_asked THEN 'open' ELSE 'unscreened' END), coalesce(reason, ''), is_coded,
        count(*)
    FROM (
        SELECT issue_id, bool_or(is_drawn) AS is_drawn, max(screening) AS screening, max(reason) AS reason,
            bool_or(is_asked) AS is_asked, bool_or(is_coded) AS is_coded
        FROM (
            SELECT issue_id, true AS is_drawn, NULL AS screening, NULL AS reason, false AS is_asked, false AS is_coded
            FROM annotation_sampleissue WHERE sample_id = %(sample)s
            UNION ALL
            SELECT issue_id, false, screening, screening_reason, false, false
            FROM annotation_item WHERE study_id = %(study)s AND screening <> 'unscreened' AND issue_id IS NOT NULL
            UNION ALL
            SELECT (SELECT i.issue_id FROM annotation_item i WHERE i.id = p.item_id), false, NULL, NULL,
                p.round_id = ANY((SELECT asks FROM opened)::bigint[]),
                p.round_id = ANY((SELECT codes FROM opened)::bigint[]) AND p.known IS NULL AND NOT p.excluded
            FROM annotation_rounditem p WHERE p.round_id = ANY((SELECT every FROM opened)::bigint[])
        ) rows
        GROUP BY issue_id
    ) issues
    WHERE is_drawn GROUP BY 1, 2, 3
"""
# What is known of an issue, in bits: placed in a round (1), in one that uses it (2), in one that screens (4),
# screened in (8), screened out (16). Issues are grouped and not joined, so that a planner who expects few of them does
# no harm.
_LEFT = """
    SELECT sample_id,
        count(*) FILTER (WHERE flags & 2 = 0 AND flags & 8 > 0),
        count(*) FILTER (WHERE flags & (2 | 4 | 8 | 16) = 0),
        count(*) FILTER (WHERE flags & (2 | 8 | 16) = 0 AND flags & 4 > 0),
        count(*) FILTER (WHERE flags & 16 > 0),
        count(*) FILTER (WHERE flags & 2 = 0 AND flags & 16 > 0),
        count(*) FILTER (WHERE flags & (1 | 16) = 0)
    FROM (
        SELECT unnest(array_agg(sample_id) FILTER (WHERE sample_id IS NOT NULL)) AS sample_id, bit_or(flags) AS flags
        FROM (
            SELECT issue_id, sample_id, 0 AS flags FROM annotation_sampleissue WHERE sample_id = ANY(%s)
            UNION ALL
            SELECT issue_id, NULL, CASE screening WHEN 'in' THEN 8 WHEN 'out' THEN 16 ELSE 0 END
            FROM annotation_item WHERE study_id = %s AND screening <> 'unscreened' AND issue_id IS NOT NULL
            UNION ALL
            SELECT i.issue_id, NULL,
                1 + CASE WHEN p.round_id = ANY(%s) THEN 2 ELSE 0 END + CASE WHEN p.round_id = ANY(%s) THEN 4 ELSE 0 END
            FROM annotation_rounditem p JOIN annotation_item i ON i.id = p.item_id WHERE p.round_id = ANY(%s)
        ) rows
        GROUP BY issue_id
    ) issues
    GROUP BY sample_id
"""


def sample_lines(study: Study, samples: Sequence[Sample] | None = None) -> list[SampleLine]:
    """The samples of a study, newest first, or those given; three queries, or two."""
    if samples is None:
        samples = list(samples_of(study).order_by("-pk"))
    if not samples:
        return []
    rounds = list(Round.objects.filter(study=study))
    uses = [each.pk for each in rounds if each.kind != Round.Kind.SCREENING]
    asks = [each.pk for each in rounds if each.kind == Round.Kind.SCREENING and each.state != Round.State.DRAFT]
    with connection.cursor() as cursor:
        cursor.execute(_LEFT, [[each.pk for each in samples], study.pk, uses, asks, [each.pk for each in rounds]])
        left = {pk: numbers for pk, *numbers in cursor.fetchall()}
    none = (0,) * 6
    lines = [SampleLine(each, bool(asks), *left.get(each.pk, none)) for each in samples]
    # A query for each control stretch of what was screened out, of which there are few.
    return [
        replace(each, n_to_screen=_unscreened_of(each.sample.pk).count()) if CONTROL in each.sample.filter else each
        for each in lines
    ]


def drawn_issues(seat: Seat, sample: Sample) -> QuerySet[SampleIssue]:
    """The issues of a sample in the order drawn, with title and state and what screening said of them.

    Both are those of the newest state that this person may read, or null; `is_open` says whether the issue has a page
    for them.
    """
    item = item_of(OuterRef("issue"), sample.study_id)
    return (
        SampleIssue.objects.filter(sample=sample)
        .select_related("issue__repository")
        .annotate(
            title=newest_readable(seat, "issue", "title"),
            state=newest_readable(seat, "issue", "state"),
            is_open=Exists(Issue.objects.visible_to(seat.user).filter(pk=OuterRef("issue"))),
            item_pk=Subquery(item.values("pk")),
            screening=Subquery(item.values("screening")),
            screening_reason=Subquery(item.values("screening_reason")),
        )
        .order_by("position")
    )


@dataclass(frozen=True)
class FlowLine:
    """A line of the flow table: `kind` is step, drawn, out, open, unscreened, kept, missed, added, uncoded or coded.

    Missed are those kept of a control stretch.
    Drawn are those out, open, unscreened and kept; coded are those kept and added without those uncoded.
    """

    step: str
    n: int
    kind: str = "step"


SCREENED_OUT = "screened out: "
CODED_THOUGH = {
    UNSCREENED: "coded without screening",
    OPEN: "coded with screening unresolved",
    OUT: "coded, though screened out",
}


def flow(sample: Sample) -> list[FlowLine]:
    """The flow table of a paper: what each step left, what was drawn, screened out by reason, kept and coded.

    Before anybody has screened the table ends with what was drawn, and before a coding round opened with what was
    kept. Two queries.
    """
    lines = [FlowLine(each["step"], each["n"]) for each in sample.counts]
    lines.append(FlowLine("drawn", sample.size, "drawn"))
    if CONTROL in sample.filter:
        return lines + _screened_again(sample)
    n_of: Counter[str] = Counter()
    coded: Counter[str] = Counter()
    reasons: Counter[str] = Counter()
    for each in _screenings(sample):
        n_of[each.standing] += each.n
        coded[each.standing] += each.n if each.is_coded else 0
        if each.standing == OUT:
            reasons[each.reason] += each.n
    if not n_of[OUT] and not n_of[IN]:
        return lines
    for reason, n in sorted(reasons.items(), key=lambda each: (-each[1], each[0])):
        lines.append(FlowLine(f"{SCREENED_OUT}{reason}", n, "out"))
    if n_of[OPEN]:
        lines.append(FlowLine("screening unresolved", n_of[OPEN], "open"))
    if n_of[UNSCREENED]:
        lines.append(FlowLine("not screened yet", n_of[UNSCREENED], "unscreened"))
    lines.append(FlowLine("kept", n_of[IN], "kept"))
    lines += _missed(sample, n_of)
    if n_coded := sum(coded.values()):
        lines += [FlowLine(words, coded[each], "added") for each, words in CODED_THOUGH.items() if coded[each]]
        if n := n_of[IN] - coded[IN]:
            lines.append(FlowLine("included, in no coding round yet", n, "uncoded"))
        lines.append(FlowLine("in coding rounds", n_coded, "coded"))
    return lines


def _screened_again(sample: Sample) -> list[FlowLine]:
    """What a further screening made of issues that were screened out, and the bound once all are screened again.

    Only what was said after the draw counts. One query.
    """
    drawn = SampleIssue.objects.filter(sample=sample, issue=OuterRef("issue"))
    items = Item.objects.filter(Exists(drawn), study=sample.study_id, screened_at__gt=sample.created_at).order_by()
    rows = list(items.values_list("screening", "screening_reason").annotate(n=Count("pk")))
    out = [(reason, n) for screening, reason, n in rows if screening == OUT]
    lines = [
        FlowLine(f"{SCREENED_OUT}{reason}", n, "out") for reason, n in sorted(out, key=lambda each: (-each[1], each[0]))
    ]
    n_in = sum(n for screening, _, n in rows if screening == IN)
    n_left = sample.size - n_in - sum(n for _, n in out)
    if n_left:
        lines.append(FlowLine("not screened again yet", n_left, "unscreened"))
    if n_left < sample.size:
        lines.append(FlowLine("kept", n_in, "kept"))
    return lines + _missed(sample, {IN: n_in, OPEN: 0, UNSCREENED: n_left})


def _missed(sample: Sample, n_of: Mapping[str, int]) -> list[FlowLine]:
    """Of a control stretch that was screened whole: what filter or screening missed, and the bound of that share.

    Of a stretch that is the whole frame, what was missed is known. None for strata of equal size, which are no simple
    random draw, and of what screening excluded in the study that this one was duplicated from.
    """
    is_control = sample.filter.get("left_out_of") or sample.filter.get(CONTROL)
    if not is_control or n_of[OPEN] or n_of[UNSCREENED]:
        return []
    if CONTROL in sample.filter and sample.created_at < sample.study.created_at:
        return []
    n_most, n_frame = _most_missed(sample, n_of[IN]), _n_frame(sample)
    if n_most is None:
        return []
    by, whole = ("screening", "screened out") if sample.filter.get(CONTROL) else ("the filter", "left out")
    share = f"{n_most / n_frame:.1%} of {n_frame:,} {whole}"
    if sample.size == n_frame:
        return [FlowLine(f"missed by {by}: {share} (all of them screened)", n_of[IN], "missed")]
    how = "hypergeometric, as of a simple draw" if sample.stratify_by else "exact hypergeometric"
    return [FlowLine(f"missed by {by}: at most {share} (95%, {how})", n_of[IN], "missed")]


def _most_missed(sample: Sample, n_kept: int) -> int | None:
    """How many of its frame a control stretch with so many kept leaves at most; None for strata of equal size."""
    n_frame = _n_frame(sample)
    is_in_proportion = not sample.stratify_by or sample.allocation == Sample.Allocation.PROPORTIONAL
    return most_missed(n_kept, sample.size, n_frame) if is_in_proportion or sample.size == n_frame else None


def _n_frame(sample: Sample) -> int:
    n_frame: int = sample.counts[-1]["n"] if sample.n_frame is None else sample.n_frame
    return n_frame


@dataclass(frozen=True)
class ControlStretch:
    """A control stretch that was screened whole: of what screening excluded (`is_of_screening`), or a filter.

    `repositories` and `steps` are what else restricted the draw: repositories where they are not all of the sample
    that it controls, and further steps of its filter. `n_most` of the `n_frame` issues were missed at most, by the
    exact 95% bound; None for strata that are not in proportion.
    """

    sample: Sample
    n_frame: int
    n_kept: int
    n_most: int | None
    is_of_screening: bool
    repositories: Sequence[str] = ()
    steps: Sequence[str] = ()


def n_kept_again(sample: Sample) -> int:
    """How many issues of a sample screening excluded, and kept when a control stretch was screened again; one query."""
    again = SampleIssue.objects.filter(
        issue=OuterRef("issue"),
        sample__study=sample.study_id,
        sample__filter__has_key=CONTROL,
        sample__created_at__gt=sample.study.created_at,
        sample__created_at__lt=OuterRef("screened_at"),
    )
    drawn = SampleIssue.objects.filter(issue=OuterRef("issue"), sample=sample)
    items = Item.objects.filter(Exists(drawn), Exists(again), study=sample.study_id, screening=IN)
    return items.count()


def stretches_screened(study: Study) -> list[ControlStretch]:
    """The control stretches of a study that were screened whole, in their order.

    One query, and two of each stretch: its flow table and the sample that it controls.
    """
    words = Q(filter__has_key="left_out_of") | Q(filter__has_key=CONTROL)
    found = []
    for sample in samples_of(study).filter(words).order_by("pk"):
        n_of = {line.kind: line.n for line in flow(sample)}
        if "kept" in n_of and not n_of.keys() & {"open", "unscreened"}:
            repositories, steps = _restrictions(sample)
            n_kept, n_frame, is_of_screening = n_of["kept"], _n_frame(sample), CONTROL in sample.filter
            n_most = _most_missed(sample, n_kept)
            found.append(ControlStretch(sample, n_frame, n_kept, n_most, is_of_screening, repositories, steps))
    return found


def _restrictions(sample: Sample) -> tuple[list[str], list[str]]:
    """The repositories and the other steps that a control stretch was restricted to; one query."""
    controlled = row_number(sample.filter.get(CONTROL) or sample.filter.get("left_out_of"))
    of_study = Sample.objects.filter(study=sample.study_id, pk=controlled or 0)
    whole = of_study.values_list("filter", flat=True).first() or {}
    named = _named_repositories(sample.filter)
    among = {name.lower() for name in _named_repositories(whole)}
    own = ("repository: ", "excluded by the filter of sample ", "screened out of sample ")
    steps = [each["step"] for each in sample.counts[1:] if not each["step"].startswith(own)]
    return ([] if among and among <= {name.lower() for name in named} else named), steps


def _named_repositories(filter: Mapping[str, Any]) -> list[str]:
    named = filter.get("repository") or []
    return [named] if isinstance(named, str) else list(named)


def flow_as_markdown(lines: Sequence[FlowLine]) -> str:
    """The flow table as a table of Markdown."""
    rows = [f"| {for_markdown(line.step)} | {line.n:,} |" for line in lines]
    return "\n".join(["| Step | Issues |", "| --- | ---: |", *rows]) + "\n"


def frame_rows(seat: Seat, sample: Sample) -> Iterator[dict[str, Any]]:
    """The frame of a sample as it was drawn from, in its order, as rows of a file; a query for every 2,000 issues.

    Raises Conflict for a sample drawn before frames were kept, Forbidden where it holds issues that are hidden from
    this person.
    """
    ids: list[int] = Sample.objects.values_list("frame", flat=True).get(pk=sample.pk)
    if not ids:
        raise Conflict(f"{sample} was drawn before frames were stored. Draw another one.")
    require_frame(seat, sample)
    return _frame_rows(sample, ids)


def require_frame(seat: Seat, sample: Sample) -> None:
    """Raises Forbidden where the frame of a sample holds issues that are hidden from this person; two queries."""
    if not may_read_frame(seat, sample):
        raise Forbidden(
            "This frame contains issues of a private repository that you can't see. Ask the person who drew it."
        )


def is_readable(sample: Sample) -> bool:
    """Whether filter, strata and counts of a sample have their form: those of a file that was brought may have any."""
    try:
        _stratum_of(sample)
    except (Invalid, KeyError):
        return False
    return all(
        isinstance(rows, list)
        and all(isinstance(row, dict) and isinstance(row.get(name), str) for row in rows)
        and all(type(row.get(number)) is int for row in rows for number in numbers)
        for rows, name, *numbers in (
            (sample.counts, "step", "n"),
            (sample.strata, "stratum", "n_frame", "n_drawn"),
        )
    ) and _has_kept_strata(sample)


def kept_strata(sample: Sample) -> list[str]:
    """The stratum of each of a sample's frame, of one whose strata snapshots do not tell; one query."""
    names = [each["stratum"] for each in sample.strata]
    places = Sample.objects.values_list("frame_strata", flat=True).get(pk=sample.pk)
    return [names[place] for place in places]


def _has_kept_strata(sample: Sample) -> bool:
    """Whether each of the frame has a stratum, where they are kept; one query."""
    if sample.stratify_by not in filters.STRATA_BY_FIX:
        return True
    places = Sample.objects.values_list("frame_strata", flat=True).get(pk=sample.pk)
    return len(places) == (sample.n_frame or 0) and all(0 <= place < len(sample.strata) for place in places)


def _stratum_of(sample: Sample) -> Stratum:
    if sample.stratify_by in filters.STRATA_BY_FIX:
        return filters.strata_of("", {})
    return filters.strata_of(sample.stratify_by, filters.read(sample.filter, others=tuple(OWN_WORDS)))


def _frame_rows(sample: Sample, ids: Sequence[int]) -> Iterator[dict[str, Any]]:
    stratum = _stratum_of(sample)
    positions = dict(SampleIssue.objects.filter(sample=sample).values_list("issue", "position"))
    kept = iter(kept_strata(sample)) if sample.stratify_by in filters.STRATA_BY_FIX else None
    remaining = iter(ids)
    while chunk := list(islice(remaining, CHUNK)):
        rows = Snapshot.objects.filter(pk__in=chunk).values(
            "pk", "issue_id", "sha256", "state", "created_at", "github_labels", number=F("issue__number"),
            host=F("issue__repository__host"), owner=F("issue__repository__owner"), name=F("issue__repository__name"),
        )  # fmt: skip
        by_id = {row["pk"]: row for row in rows}
        for pk in chunk:
            row = by_id[pk]
            repository = full_name(row["host"], row["owner"], row["name"])
            yield {
                "item": f"{repository}#{row['number']}",
                "repository": repository,
                "number": row["number"],
                "stratum": stratum(repository, row["state"], row["created_at"], row["github_labels"])
                if kept is None
                else next(kept),
                "drawn": positions.get(row["issue_id"]),
                "snapshot": row["sha256"],
                "created_at": row["created_at"],
                "state": row["state"],
            }


@dataclass(frozen=True)
class SelectionLine:
    """A ready-made selection and which of its repositories are not stored here, or not for this person."""

    selection: Selection
    missing: Sequence[str] = field(default=())


def selection_lines(seat_user: Any, chosen: Sequence[Selection]) -> list[SelectionLine]:
    """Selections with what would have to be fetched; two queries.

    A repository that is stored under a later name is stored.
    """
    visible = Repository.objects.visible_to(seat_user)
    stored = {lower_name(name) for name in visible.values_list("host", "owner", "name")}
    named = {name: lower_name(parse_repository(name)) for each in chosen for name in each.repositories}
    stored |= {former for former, now in names_after(named.values()).items() if lower_name(now) in stored}
    return [SelectionLine(each, [name for name in each.repositories if named[name] not in stored]) for each in chosen]


@dataclass(frozen=True)
class ItemRound:
    """An item in one round: how many of its answers are in, None for someone who is blind there."""

    round: Round
    n_done: int | None
    n_planned: int


@dataclass(frozen=True)
class ItemLine:
    """An item of a study with its rounds."""

    item: Item
    title: str
    rounds: Sequence[ItemRound] = field(default=())


def shown_state(items: QuerySet[Item]) -> tuple[int, str]:
    """How many these items are, and a digest of which they are and how they are screened. One query."""
    line = Concat(Cast("pk", TextField()), Value(" "), "screening", Value(" "), "screening_reason")
    found = items.order_by().aggregate(n=Count("pk"), told=digest_of(line, order_by="pk"))
    return found["n"], found["told"] or ""


def items_of(
    study: Study,
    *,
    search: str = "",
    in_titles: bool = True,
    round_: Round | None = None,
    screening: str = "",
    sample: int | None = None,
    seat: Seat | None = None,
) -> QuerySet[Item]:
    """The items of a study with title; `search` is a part of the identifier or, `in_titles`, of the title."""
    rows = Item.objects.filter(study=study).select_related("issue__repository", "snapshot").defer("snapshot__body")
    if round_ is not None:
        here = seat.not_queued() if seat else Q()
        rows = rows.filter(LookupExists(places_of(OuterRef("pk"), [round_]).filter(here)))
    if sample is not None:
        rows = rows.filter(LookupExists(_drawn(sample, study, OuterRef("issue"))))
    if screening:
        rows = rows.filter(screening=screening)
    if words := search.replace("\x00", " ").strip():
        titled = Q(snapshot__title__icontains=words) if in_titles else Q(pk__in=[])
        rows = rows.filter(Q(identifier__icontains=words) | titled)
    return rows


def _drawn(sample: int, study: Study, issue: Any) -> QuerySet[SampleIssue]:
    """The place of an issue in a sample of the study, found by the issue and not among all issues of the sample."""
    in_sample = ExpressionWrapper(F("sample_id") + 0, output_field=BigIntegerField())
    drawn = SampleIssue.objects.alias(in_sample=in_sample)
    return drawn.filter(issue=issue, in_sample=sample, sample__study=study)


def item_lines(seat: Seat, items: Sequence[Item]) -> list[ItemLine]:
    """Items with how many answers each has in its rounds, except where this person is blind; two queries."""
    wanted = [item.pk for item in items]
    done = {
        (row["item"], row["round"]): row["n"]
        for row in Assignment.objects.filter(RATERS, item__in=wanted, state__in=Assignment.FINISHED)
        .order_by()
        .values("item", "round")
        .annotate(n=Count("pk"))
    }
    rounds: dict[int, list[ItemRound]] = defaultdict(list)
    places = RoundItem.objects.filter(seat.not_queued(), item__in=wanted).select_related("round")
    places = places.order_by("round__number")
    for place in places:
        rounds[place.item_id].append(
            ItemRound(
                seat.as_shown(place.round),
                None if seat.hides(place.round, place.item_id) else done.get((place.item_id, place.round_id), 0),
                place.n_raters,
            )
        )
    return [ItemLine(item, title_of(item), rounds[item.pk]) for item in items]


def title_of(item: Item) -> str:
    """The title of an item's issue as raters read it; empty for an imported identifier."""
    return item.snapshot.title if item.snapshot else ""


def screening_counts(study: Study) -> dict[str, int]:
    """How many items of the study are in each state of screening; one query."""
    found = dict(Item.objects.filter(study=study).order_by().values_list("screening").annotate(n=Count("pk")))
    return {state: found.get(state, 0) for state in Item.Screening.values}


def reasons_of(study: Study) -> list[str]:
    """The reasons given in this study so far, the most frequent first; one query."""
    out = Item.objects.filter(study=study, screening=Item.Screening.OUT).exclude(screening_reason="")
    rows = out.order_by().values_list("screening_reason").annotate(n=Count("pk")).order_by("-n", "screening_reason")
    return [reason for reason, _ in rows[:REASONS_MOST]]
