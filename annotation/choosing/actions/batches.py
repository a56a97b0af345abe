"""Bulk samples and rounds: rows written in batches, above a size by a job, at constant memory.

Small ones are written by the same statements within the request.
"""

from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from celery import current_app
from django.db import connection, transaction
from django.db.models import F
from django.db.models.expressions import RawSQL
from django.utils import timezone

from accounts.models import User
from annotation.assignments.planning import AssignmentPlan, own_order, plan, raters_planned
from annotation.choosing.actions.items import WANTED, make_items
from annotation.choosing.queries.samples import OWN_WORDS, kept_strata, unused_issues
from annotation.choosing.sampling import drawn_indexes
from annotation.core.access import Seat
from annotation.core.bulk_jobs import job_of
from annotation.core.errors import Conflict, Invalid
from annotation.models import Assignment, BulkJob, Round, RoundItem, RoundRater, Sample, Study
from ingest import filters
from ingest.access import require_readable
from ingest.identifiers import full_name
from ingest.models import Issue
from ingest.upsert.copying import copy, stage

JOB = "annotation.jobs.run_bulk_job"
SEARCH_JOB = "annotation.jobs.find_duplicates"
JOB_FROM = 20_000
"""Above so many issues or items a job draws a sample, prepares a round, or opens it."""
ASSIGNMENTS_JOB_FROM = 100_000
"""Above so many assignments a job opens a round of fewer items, too."""
BATCH = 20_000
"""Rows of a transaction of a job."""
BATCH_OF_OPEN = 2_000
"""Rows of a transaction that holds a round which is open: its raters wait for each."""
KEY_LONGEST = 200


SAMPLED, TAKEN, GIVEN = ("sample", "sampleissue"), ("item", "rounditem"), ("assignment", "rounditem", "roundrater")
"""The tables that the three kinds of jobs write, for the planner."""


def is_large(n: int) -> bool:
    """Whether a job is to write so many issues or items."""
    return n > JOB_FROM


def start_job(*, study: Study, user: User, kind: str, n_total: int, **of: Any) -> BulkJob:
    """Queues a job, whose worker is notified after the commit."""
    job = BulkJob.objects.create(
        study=study, kind=kind, n_total=n_total, created_by=user, worked_at=timezone.now(), **of
    )
    task = SEARCH_JOB if kind == BulkJob.Kind.DUPLICATES else JOB
    transaction.on_commit(lambda: current_app.send_task(task, args=[job.pk]))
    return job


def require_whole(row: Round | Sample) -> None:
    """Raises Conflict for a sample or a round whose job failed."""
    job = job_of(row)
    if job is not None and job.state == BulkJob.State.FAILED and job.kind in (BulkJob.Kind.SAMPLE, BulkJob.Kind.ROUND):
        what, instead = (
            (str(row), "Draw another one.")
            if isinstance(row, Sample)
            else (f"Round {row.number}", "Delete its draft and create it again.")
        )
        raise Conflict(f"{what} could not be prepared: {job.error} {instead}", code="not_prepared")


Made = TypeVar("Made", Round, Sample)


def earlier_row(model: type[Made], seat: Seat, key: str, request: str) -> Made | None:
    """The row that this person's request with this Idempotency-Key made before. Raises Conflict for another request.

    `request` is a digest of it. Call it with the study's row locked.
    """
    if len(key) > KEY_LONGEST:
        raise Invalid(
            f"The Idempotency-Key is longer than {KEY_LONGEST} characters.", fields={"Idempotency-Key": ["Too long."]}
        )
    if not key:
        return None
    rows = model._default_manager.filter(study=seat.study, created_by=seat.user, idempotency_key=key)
    found = rows.first()
    if found is not None and found.request_digest != request:
        raise Conflict(
            "This Idempotency-Key was used for another request. Use a new one.", code="idempotency_key_reused"
        )
    return found


# Samples


@dataclass
class SampleDraw:
    """The draw of a sample from its stored frame; the same one every time, so a job can continue it."""

    sample: Sample
    issues: "array[int]" = field(default_factory=lambda: array("q"))
    strata: list[str] = field(default_factory=list)
    drawn: "array[int]" = field(default_factory=lambda: array("q"))

    @classmethod
    def of(cls, sample: Sample) -> "SampleDraw":
        """Reads the frame and draws from it."""
        drawing = cls(sample)
        given = filters.read(sample.filter, others=tuple(OWN_WORDS))
        by_fix = sample.stratify_by in filters.STRATA_BY_FIX
        stratum = filters.strata_of("" if by_fix else sample.stratify_by, given)
        kept = kept_strata(sample) if by_fix else []
        names: dict[str, str] = {}  # each once
        for n in range(0, sample.n_frame or 0, BATCH):
            with connection.cursor() as cursor:
                described_by = DESCRIBED if sample.stratify_by and not by_fix else ""
                cursor.execute(_FRAME.format(described=described_by), [n + 1, n + BATCH, sample.pk])
                for issue, *described in cursor.fetchall():
                    drawing.issues.append(issue)
                    if by_fix:
                        drawing.strata.append(kept[len(drawing.strata)])
                    elif sample.stratify_by:
                        host, owner, repository, state, created_at, labels = described
                        name = stratum(full_name(host, owner, repository), state, created_at, labels)
                        drawing.strata.append(names.setdefault(name, name))
        drawing.drawn = drawn_indexes(
            range(len(drawing.issues)),
            sample.size,
            sample.seed,
            drawing.strata if sample.stratify_by else None,
            allocation=sample.allocation,
            at_least_one=sample.at_least_one,
        )
        return drawing

    def write(self, start: int, stop: int) -> None:
        """Stores the issues drawn in places from `start` (0 is the first) up to `stop`.

        Raises Conflict if a repository became private that the person may not read.
        """
        drawn = [self.issues[index] for index in self.drawn[start:stop]]
        given = RawSQL("SELECT unnest(%s::bigint[])", [drawn])
        require_readable(self.sample.created_by, Issue.objects.filter(pk__in=given))
        copy(
            "annotation_sampleissue",
            ["sample_id", "issue_id", "position", "stratum"],
            (
                (self.sample.pk, self.issues[index], position, self.strata[index] if self.strata else "")
                for position, index in enumerate(self.drawn[start:stop], start=start + 1)
            ),
        )


DESCRIBED = ", r.host, r.owner, r.name, s.state, s.created_at, s.github_labels"
_FRAME = """
    SELECT s.issue_id{described}
    FROM unnest((SELECT frame[%s:%s] FROM annotation_sample WHERE id = %s)) WITH ORDINALITY f (id, n)
    JOIN ingest_snapshot s ON s.id = f.id JOIN ingest_issue i ON i.id = s.issue_id
    JOIN ingest_repository r ON r.id = i.repository_id
    ORDER BY f.n
"""


def frame_to_store(snapshots: "array[int]") -> RawSQL:
    """The frame of a sample for its INSERT, by COPY: a list of a million ids would take a hundred megabytes."""
    stage("framed", {"n": "int", "id": "bigint"}, ())
    for start in range(0, len(snapshots), BATCH):
        copy("framed", ["n", "id"], enumerate(snapshots[start : start + BATCH], start=start))
    return RawSQL("SELECT coalesce(array_agg(id ORDER BY n), '{}') FROM framed", [])


# Rounds that take the next issues of a sample


def take_issues(
    seat: Seat,
    round_: Round,
    planned: Sequence[int],
    cursor: dict[str, int],
    n_training: int,
    standings: Sequence[str],
) -> None:
    """Puts the next batch of unused issues of its sample into a round, and moves `cursor` on.

    A coding round takes those of some `standings` to screening, a screening round (none) what no round holds.

    The cursor holds the last place of the sample that was looked at (`drawn`) and how many issues were taken
    (`taken`); `planned` holds the raters of each, and places 1 … `n_training` of the round are training items. Raises
    Conflict at the end of the sample.
    """
    drawn, taken = cursor.get("drawn", 0), cursor.get("taken", 0)
    assert round_.sample is not None
    if drawn >= round_.sample.size:
        raise Conflict("The sample now has fewer unused issues than when the round was created.")
    wanted = unused_issues(round_.sample.pk, standings)
    rows = wanted.filter(position__gt=drawn, position__lte=drawn + BATCH).order_by("position")
    sql, params = rows.values_list("issue", "position")[: len(planned) - taken].query.sql_with_params()
    stage(WANTED, {"issue_id": "bigint", "place": "int"}, ())
    with connection.cursor() as db:
        db.execute(f"INSERT INTO {WANTED} {sql}", params)
        n = db.rowcount
        if n:
            make_items(seat)
            batch = list(planned[taken : taken + n])
            db.execute(_PLACES, [round_.pk, n_training + taken, batch, seat.study.pk])
    cursor["drawn"], cursor["taken"] = drawn + BATCH, taken + n


_PLACES = f"""
    INSERT INTO annotation_rounditem (round_id, item_id, position, n_raters, n_free)
    SELECT %s, item_id, %s + n, (%s::smallint[])[n], 0
    FROM (
        SELECT t.id AS item_id, row_number() OVER (ORDER BY w.place) AS n
        FROM {WANTED} w JOIN annotation_item t ON t.study_id = %s AND t.issue_id = w.issue_id
    ) taken
    ORDER BY n
"""


def place_items(round_: Round, items: Sequence[int], planned: Sequence[int], n_training: int) -> None:
    """Puts items (ids) into a round after its training items."""
    columns = ["round_id", "item_id", "position", "n_raters", "n_free"]
    for start in range(0, len(items), BATCH):
        batch = zip(items[start : start + BATCH], planned[start : start + BATCH], strict=True)
        rows = ((round_.pk, pk, n_training + n, raters, 0) for n, (pk, raters) in enumerate(batch, start=start + 1))
        copy("annotation_rounditem", columns, rows)


# Opening


@dataclass
class RoundOpening:
    """The assignments of a round that is opened; the same ones every time, so a job can continue them.

    First those of its raters (in a pool the free slots), then every item for each model rater.
    """

    round_: Round
    raters: list[RoundRater]
    machines: list[RoundRater]
    n_training: int = 0
    items: "array[int]" = field(default_factory=lambda: array("q"))
    places: AssignmentPlan = field(default_factory=AssignmentPlan)
    orders: list["array[int]"] = field(default_factory=list)

    @classmethod
    def of(cls, round_: Round, raters: Sequence[RoundRater]) -> "RoundOpening":
        """Reads the round's items and plans who answers them; corrects how many raters items are to have."""
        people = [each for each in raters if not each.rater.is_machine]
        opening = cls(round_, people, [each for each in raters if each.rater.is_machine])
        opening.n_training = RoundItem.objects.filter(round=round_, known__isnull=False).count()
        counting = RoundItem.objects.counting().filter(round=round_)
        planned = raters_planned(counting.count(), round_.raters_per_item, round_.double_share, round_.seed)
        last = 0
        while rows := list(
            counting.filter(position__gt=last)
            .order_by("position")
            .values_list("pk", "item", "n_raters", "position")[:BATCH]
        ):
            due = planned[len(opening.items) : len(opening.items) + len(rows)]
            changed = [(row[0], n) for row, n in zip(rows, due, strict=True) if row[2] != n]
            if changed:
                with connection.cursor() as cursor:
                    cursor.execute(_CORRECT, [[pk for pk, _ in changed], [n for _, n in changed]])
            opening.items.extend(row[1] for row in rows)
            last = rows[-1][3]
        if round_.mode == Round.Mode.PLANNED:
            opening.places = plan(planned, len(people), round_.seed, [each.quota for each in people])
        opening.orders = [own_order(len(opening.items), round_.seed, each.rater_id) for each in opening.machines]
        return opening

    @property
    def n_first(self) -> int:
        """Assignments of people; in a pool, items."""
        return len(self.places) if self.round_.mode == Round.Mode.PLANNED else len(self.items)

    @property
    def n_total(self) -> int:
        return self.n_first + len(self.machines) * len(self.items)

    def write(self, start: int, stop: int) -> None:
        """Stores the assignments from number `start` (0 is the first) up to `stop`."""
        if self.round_.mode == Round.Mode.POOL and start < self.n_first:
            self._free(self.items[start : min(stop, self.n_first)])
        columns = ["round_id", "item_id", "rater_id", "slot", "state", "position"]
        copy("annotation_assignment", columns, self._rows(start, min(stop, self.n_total)))

    def _free(self, items: "array[int]") -> None:
        RoundItem.objects.filter(round=self.round_, item__in=items.tolist()).update(n_free=F("n_raters"))

    def _rows(self, start: int, stop: int) -> Iterator[tuple[Any, ...]]:
        round_, waiting = self.round_.pk, str(Assignment.State.WAITING)
        for number in range(start, stop):
            if number >= self.n_first:
                machine, position = divmod(number - self.n_first, len(self.items))
                item = self.items[self.orders[machine][position]]
                yield round_, item, self.machines[machine].rater_id, None, waiting, position + 1
            elif self.round_.mode == Round.Mode.PLANNED:
                place = self.places[number]
                rater = self.raters[place.rater].rater_id
                yield round_, self.items[place.item], rater, place.slot, waiting, self.n_training + place.position

    def count(self) -> None:
        """Stores how many assignments each rater has, training items excepted."""
        if self.round_.mode == Round.Mode.PLANNED:
            for index, rater in enumerate(self.raters):
                rater.n_assigned = self.places.n_of(index)
        for machine in self.machines:
            machine.n_assigned = len(self.items)
        RoundRater.objects.bulk_update([*self.raters, *self.machines], ["n_assigned"])


_CORRECT = """
    UPDATE annotation_rounditem i SET n_raters = d.n FROM unnest(%s::bigint[], %s::int[]) d (id, n) WHERE i.id = d.id
"""
