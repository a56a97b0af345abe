"""Samples: drawing, screening of issues in and out, and fetches for ready-made selections."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.db import connection, transaction
from django.db.models import QuerySet
from django.utils import timezone

from accounts.models import User
from annotation.choosing.actions.batches import (
    SAMPLED,
    SampleDraw,
    earlier_row,
    frame_to_store,
    is_large,
    require_whole,
    start_job,
)
from annotation.choosing.actions.items import WANTED, items_for, make_items
from annotation.choosing.actions.screened_out import follow_screening, hold_coding_rounds
from annotation.choosing.actions.screening_rounds import forget_queues, labeled_among, leave_drafts
from annotation.choosing.queries.samples import (
    SampleRequest,
    counts_as_document,
    draft,
    drawn_without,
    selection_lines,
    shown_state,
    with_repository,
)
from annotation.core.access import ADJUDICATOR, OWNER, Seat, items_by_identifier, require_at_work
from annotation.core.audit import record
from annotation.core.database_planner import tell_planner
from annotation.core.errors import Conflict, Invalid, NotFound, Stale
from annotation.core.locks import hold_study, require_prepared
from annotation.labels.answers import digest
from annotation.models import BulkJob, Item, LikelyDuplicate, Round, Sample, SampleIssue
from ingest import filters, selections
from ingest.access import present_identifiers
from ingest.actions import fetches
from ingest.models import FetchRun, Issue
from ingest.selections import Selection
from ingest.upsert.copying import stage

LONGEST_REASON = 200
NAMED_MOST = 10_000
RECORDED_MOST = 100
SAYS_NOTHING = {"repository", "presence"}
"""The words of a filter that tell nothing of what an issue says."""


def with_selection(conditions: object, slug: object) -> object:
    """A filter laid over that of a ready-made selection, whose words it replaces. Raises Invalid."""
    if slug in (None, ""):
        return conditions
    try:
        chosen = selections.selection(slug)
    except NotFound as error:
        raise Invalid("The filter is not valid.", fields={"selection": [error.message]}) from error
    return {**chosen.filter, **conditions} if isinstance(conditions, Mapping) else conditions


@transaction.atomic
def draw_sample(
    *,
    seat: Seat,
    filter: Mapping[str, object] | None = None,
    selection: str = "",
    idempotency_key: str = "",
    **wish: Any,
) -> Sample:
    """Draws issues that the owner may see; the frame is stored with it, and its counts. Raises Invalid, Conflict.

    `wish` is what `SampleRequest` has: size (or confidence, margin), seed, stratify_by, allocation, at_least_one.
    Words of `filter` override those of the ready-made `selection`. A large sample is drawn by a job
    (`bulk_jobs.job_of`). The same request with the same key gives the sample that it made before.
    """
    seat.require(OWNER)
    study = hold_study(seat)
    request = digest([filter, selection, wish])
    if (before := earlier_row(Sample, seat, idempotency_key, request)) is not None:
        return before
    require_prepared(study)
    asked = SampleRequest(**wish)
    conditions = with_repository(study, with_selection({} if filter is None else filter, selection))
    drafted = draft(seat, conditions, asked)
    assert isinstance(conditions, Mapping)
    assert drafted.size is not None
    places = {share.stratum: place for place, share in enumerate(drafted.shares)}
    made = Sample.objects.create(
        study=study,
        frame_strata=[places[name] for name in drafted.frame.strata]
        if asked.stratify_by in filters.STRATA_BY_FIX
        else [],
        filter=filters.as_document(conditions),
        counts=counts_as_document(drafted.frame.counts),
        frame=frame_to_store(drafted.frame.snapshots),
        n_frame=len(drafted.frame),
        size=drafted.size,
        confidence=asked.confidence,
        margin=asked.margin,
        seed=asked.seed,
        stratify_by=asked.stratify_by,
        allocation=asked.allocation,
        at_least_one=asked.at_least_one,
        strata=[
            {"stratum": share.stratum, "n_frame": share.n_frame, "n_drawn": share.n_drawn} for share in drafted.shares
        ],
        created_by=seat.user,
        idempotency_key=idempotency_key,
        request_digest=request,
    )
    sample = Sample.objects.select_related("study").defer("frame", "frame_strata").get(pk=made.pk)
    said: dict[str, object] = {"selection": selection} if selection else {}
    said |= {"size": sample.size, "seed": sample.seed}
    record(study=study, user=seat.user, verb="sample drawn", sample=sample.pk, number=sample.number, **said)
    if is_large(sample.size):
        start_job(study=study, user=seat.user, kind=BulkJob.Kind.SAMPLE, n_total=sample.size, sample=sample)
    else:
        SampleDraw.of(sample).write(0, sample.size)
        tell_planner(sample.size, SAMPLED)
    return sample


@transaction.atomic
def discard_sample(*, seat: Seat, sample: Sample) -> None:
    """Deletes a sample that no round uses; the audit log keeps its filter, seed and size. Raises Forbidden, Conflict.

    A sample whose issues a later one excluded is kept, because that one could not be drawn again without it.
    """
    seat.require(OWNER)
    study = hold_study(seat)
    require_at_work(study)
    if (round_ := Round.objects.filter(sample=sample).order_by("number").first()) is not None:
        raise Conflict(
            f"Round {round_.number} uses sample {sample.number}, so it can't be discarded.", code="sample_in_use"
        )
    if BulkJob.objects.filter(sample=sample, state__in=BulkJob.AT_WORK).exists():
        require_prepared(study)
    if (later := drawn_without(sample)) is not None:
        raise Conflict(
            f"Sample {later.number} was drawn without the issues of sample {sample.number}, so it can't be discarded.",
            code="sample_in_use",
        )
    with connection.cursor() as cursor:
        cursor.execute("SELECT set_config('concord.sample_that_goes', %s, true)", [str(sample.pk)])
    record(
        study=study,
        user=seat.user,
        verb="sample discarded",
        sample=sample.pk,
        number=sample.number,
        size=sample.size,
        seed=sample.seed,
        filter=sample.filter,
    )
    BulkJob.objects.filter(sample=sample).delete()
    LikelyDuplicate.objects.filter(sample=sample).delete()
    SampleIssue.objects.filter(sample=sample).delete()
    Sample.objects.filter(pk=sample.pk).delete()
    with connection.cursor() as cursor:
        cursor.execute("SELECT set_config('concord.sample_that_goes', '', true)")


@dataclass(frozen=True)
class ScreeningResult:
    """What a screening did: items in that state now, places in draft rounds that were taken from them, items that have
    answers in coding rounds that are over, items that raters of open rounds no longer get."""

    n: int
    n_left_rounds: int
    n_labeled: int
    n_in_open_rounds: int


@transaction.atomic
def screen_items(
    *,
    seat: Seat,
    screening: object,
    reason: str = "",
    items: object = None,
    filter: object = None,
    rows: QuerySet[Item] | None = None,
    sample: Sample | None = None,
    expected: str | None = None,
) -> ScreeningResult:
    """Sets the screening state of items: those named (also issues drawn in a sample of the study), or all that fit.

    `filter` is in the words of a sample's filter, over the items of the study; `rows` are items of the study that the
    caller chose, and with `expected` they have to be as a page showed them (`shown_state`, else Stale); `sample` stands
    for all its issues. With a sample, filter narrows it. Out needs a reason. What is screened out leaves draft rounds
    and the lists of raters, and rounds made later pass it over. For owner and adjudicator. Raises Invalid.
    """
    seat.require(OWNER, ADJUDICATOR)
    fields: dict[str, list[str]] = {}
    if screening not in Item.Screening.values:
        fields["screening"] = [f"Write {', '.join(Item.Screening.values)}."]
    why = " ".join(reason.replace("\x00", " ").split())
    if len(why) > LONGEST_REASON:
        fields["reason"] = [f"Enter at most {LONGEST_REASON} characters."]
    elif screening == Item.Screening.OUT and not why:
        fields["reason"] = ["Give a reason. It appears in the flow table."]
    if sum(each is not None for each in (items, rows)) + (filter is not None or sample is not None) != 1:
        fields["items"] = ["Send either items, or a filter or a sample."]
    if fields:
        raise Invalid("Items not screened.", fields=fields)
    hold_study(seat)
    if rows is None:
        rows = _named(seat, items) if items is not None else _fitting(seat, filter, sample)
    rows = rows.filter(study=seat.study)
    if expected is not None and expected != (state := shown_state(rows))[1]:
        raise Stale(
            "Other items match than when you opened the page, or their screening was changed. Nothing was changed.",
            newer={"n_items": state[0]},
        )
    pks = list(rows.order_by("pk").values_list("pk", flat=True))
    left = leave_drafts(seat.study, pks) if screening == Item.Screening.OUT else 0
    n_labeled = labeled_among(seat, pks)
    forget_queues(seat.study)
    held = hold_coding_rounds(seat.study)
    is_set = screening != Item.Screening.UNSCREENED
    Item.objects.filter(pk__in=pks).update(
        screening=screening,
        screening_reason=why if screening == Item.Screening.OUT else "",
        screened_by=seat.user if is_set else None,
        screened_at=timezone.now() if is_set else None,
    )
    n_in_open_rounds = follow_screening(held, pks)
    if pks:
        names = list(
            Item.objects.filter(pk__in=pks[:RECORDED_MOST]).order_by("pk").values_list("identifier", flat=True)
        )
        said: dict[str, object] = {"reason": why} if screening == Item.Screening.OUT else {}
        said |= {"left_draft_rounds": left} if left else {}
        said |= {"labeled": n_labeled} if n_labeled else {}
        said |= {"in_open_rounds": n_in_open_rounds} if n_in_open_rounds else {}
        record(study=seat.study, user=seat.user, verb=f"items screened: {screening}", n=len(pks), items=names, **said)
    return ScreeningResult(len(pks), left, n_labeled, n_in_open_rounds)


def _named(seat: Seat, names: object) -> QuerySet[Item]:
    """The items of these names; issues drawn in a sample become items. Raises Invalid."""
    if not isinstance(names, list | tuple) or not names or not all(isinstance(name, str) for name in names):
        raise Invalid("Items not screened.", fields={"items": ["Send a list with at least one item."]})
    if len(names) > NAMED_MOST:
        raise Invalid("Items not screened.", fields={"items": [f"Send at most {NAMED_MOST} at once."]})
    wanted = set(names)
    known = items_by_identifier(seat.study, wanted)
    items = {item.pk for item in known.values()}
    if unknown := wanted - known.keys():
        present = {name: now.lower() for name, now in ({n: n for n in unknown} | present_identifiers(unknown)).items()}
        drawn = _drawn(seat).filter(number__in=[int(n) for n in map(_number, unknown) if n])
        by_name = {issue.identifier.lower(): issue for issue in drawn.select_related("repository")}
        if missing := sorted(name for name, now in present.items() if now not in by_name):
            sentences = [f"“{name[:100]}” is neither an item of this study nor drawn in a sample." for name in missing]
            raise Invalid("Items not screened.", fields={"items": sentences})
        items |= {item.pk for item in items_for(seat, [by_name[name] for name in sorted(set(present.values()))])}
    return Item.objects.filter(pk__in=items)


def _number(name: str) -> str:
    number = name.rpartition("#")[2]
    return number if number.isascii() and number.isdecimal() and len(number) < 10 else ""


def _drawn(seat: Seat) -> QuerySet[Issue]:
    return Issue.objects.filter(pk__in=SampleIssue.objects.filter(sample__study=seat.study).values("issue"))


def _fitting(seat: Seat, conditions: object, sample: Sample | None) -> QuerySet[Item]:
    """The study's items that fit a filter, in a sample or all; the issues of the sample become items.

    A filter asks the newest states, so one that asks more than where an issue stands leaves out those of which this
    person may not read it.
    """
    if sample is not None:
        take_in(seat=seat, sample=sample)
        here = Issue.objects.filter(pk__in=SampleIssue.objects.filter(sample=sample).values("issue"))
    else:
        here = Issue.objects.filter(pk__in=Item.objects.filter(study=seat.study, issue__isnull=False).values("issue"))
    given = filters.read({} if conditions is None else conditions)
    if not given and sample is None:
        raise Invalid("Items not screened.", fields={"filter": ["Name at least one."]})
    if "presence" not in given:  # what was deleted at GitHub is an item still
        given["presence"] = tuple(Issue.Presence.values)
    if given.keys() - SAYS_NOTHING:
        here = here.filter(pk__in=Issue.objects.visible_to(seat.user).values("pk"))
    found = filters.frame(given, here)
    return Item.objects.filter(study=seat.study, issue__in=found.issues.tolist())


@transaction.atomic
def take_in(*, seat: Seat, sample: Sample) -> int:
    """Makes items of all issues of a sample, so that they can be screened; says how many were new."""
    seat.require(OWNER, ADJUDICATOR)
    require_whole(sample)
    stage(WANTED, {"issue_id": "bigint", "place": "int"}, ())
    with connection.cursor() as cursor:
        cursor.execute(_TAKE_IN, [sample.pk])
    n_new = make_items(seat)
    if n_new:
        tell_planner(n_new, ("item",))
        record(study=seat.study, user=seat.user, verb="sample taken in", sample=sample.pk, n=n_new)
    return n_new


_TAKE_IN = f"INSERT INTO {WANTED} SELECT issue_id, position FROM annotation_sampleissue WHERE sample_id = %s"  # noqa: S608


def fetch_selection(*, user: User, chosen: Selection) -> list[FetchRun]:
    """Starts fetches of the repositories that a selection names and that are neither stored here nor under way."""
    (line,) = selection_lines(user, [chosen])
    runs = FetchRun.objects.visible_to(user).filter(state__in=FetchRun.UNFINISHED, kind=FetchRun.Kind.GITHUB)
    under_way = {  # the repository that was asked for, and the one that GitHub found
        found.lower()
        for target, name in runs.values_list("target", "requested__name")
        for found in (target, "/".join(name or ()))
    }
    return [
        fetches.start_fetch(user=user, repository=name)
        for name in line.missing
        if f"github.com/{name}".lower() not in under_way
    ]
