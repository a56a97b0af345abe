"""Duplicate search in a sample: in the request for a small one, by a job for a large one."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from django.db import transaction
from django.db.models import Q
from django.utils import timezone

from annotation.choosing.actions.batches import require_whole, start_job
from annotation.choosing.actions.samples import ScreeningResult, screen_items, take_in
from annotation.choosing.duplicates import Commonness, GroupMember, ShingleFile, Sketches, groups, shingles
from annotation.choosing.queries.duplicates import (
    SUGGESTED,
    IssueText,
    issues_of,
    likely_duplicates,
    places_of,
    suggested_state,
    texts_of,
)
from annotation.core.access import ADJUDICATOR, OWNER, Seat
from annotation.core.audit import record
from annotation.core.errors import Invalid, Stale
from annotation.core.locks import hold_study, require_prepared
from annotation.models import BulkJob, Item, LikelyDuplicate, Sample
from ingest.models import Repository

JOB_FROM = 500
"""A job searches samples of more issues."""
BATCH = 500
PRIVATE_MARK = Q(snapshot=None) & ~Q(named="")
"""The condition that a row names what only a private history does."""
REASON = "Duplicate of another issue"
"""Why issues are out that are excluded as duplicates, unless another reason is given."""


@transaction.atomic
def find_duplicates(*, seat: Seat, sample: Sample) -> BulkJob:
    """Searches a sample for likely duplicates; what was found before is replaced. Nothing is screened.

    The job is done already for a small sample. Raises Forbidden, and Conflict while another job is at work.
    """
    seat.require(OWNER, ADJUDICATOR)
    study = hold_study(seat)
    require_prepared(study)
    require_whole(sample)
    record(study=study, user=seat.user, verb="duplicates searched", sample=sample.pk, number=sample.number)
    n_total = 2 * sample.size
    if sample.size > JOB_FROM:
        kind = BulkJob.Kind.DUPLICATES
        return start_job(study=study, user=seat.user, kind=kind, n_total=n_total, sample=sample)
    now = timezone.now()
    job = BulkJob.objects.create(
        study=study, sample=sample, kind=BulkJob.Kind.DUPLICATES, state=BulkJob.State.DONE, created_by=seat.user,
        n_total=n_total, n_done=n_total, worked_at=now, done_at=now,
    )  # fmt: skip
    finding = DuplicateSearch(seat, sample)
    while finding.step(job):
        pass
    job.n_done = n_total
    job.save(update_fields=["cursor", "n_done"])
    return job


@dataclass
class DuplicateSearch:
    """Someone's search, batch by batch: all texts are read and their shingles counted; then these are compared.

    A worker that takes over from a killed one begins anew: nothing is stored before the end.
    """

    seat: Seat
    sample: Sample
    issues: Sequence[int] = ()
    n_done: int = 0
    commonness: Commonness = field(default_factory=Commonness)
    shingles: ShingleFile = field(default_factory=ShingleFile)
    sketches: Sketches = field(default_factory=Sketches)
    closed: set[int] = field(default_factory=set)
    marks: dict[int, tuple[str, int]] = field(default_factory=dict)
    snapshots: list[int | None] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.issues = issues_of(self.sample)

    def step(self, job: BulkJob) -> bool:
        """Does the next batch, and notes in the job's row how far it is; whether there is more."""
        n = len(self.issues)
        start = self.n_done % n if n else 0
        batch = self.issues[start : start + BATCH]
        if self.n_done < n:
            texts = texts_of(self.seat, batch)
            for each in texts:
                found = shingles(each.title, each.body)
                self.commonness.add(found)
                self.shingles.add(found)
            self.snapshots += [each.snapshot for each in texts]
            self._mark(start, texts)
        else:
            self.sketches.add(map(self.commonness.rare, self.shingles.read(len(batch))))
        self.n_done += len(batch)
        job.n_done = self.n_done
        if self.n_done < 2 * n:
            return True
        job.cursor = self._store()
        self.shingles.close()
        self.sketches.close()
        return False

    def _mark(self, start: int, texts: Sequence[IssueText]) -> None:
        for at, each in enumerate(texts, start=start):
            if each.is_closed_as_duplicate:
                self.closed.add(at)
            if each.mark is not None:
                name, number = each.mark
                self.marks[at] = (name or each.repository, number)

    def _store(self) -> dict[str, int]:
        """Replaces what was found before; how many groups and issues."""
        names = {(name.lower(), number) for name, number in self.marks.values()}
        places = places_of(names, self.issues)
        pairs = {at: places.get((name.lower(), number)) for at, (name, number) in self.marks.items()}
        marks = [(at, other) for at, other in pairs.items() if other is not None and other != at]
        found = groups(self.sketches, marks)
        alone = sorted((self.closed | set(self.marks)) - {each.index for each in found})
        rows = [self._row(each) for each in found]
        firsts = {first: number for number, first in enumerate(dict.fromkeys(each.first for each in found), start=1)}
        for row, each in zip(rows, found, strict=True):
            row.group = firsts[each.first]
        for number, at in enumerate(alone, start=len(firsts) + 1):
            row = self._row(GroupMember(at, -1, None, None, is_marked=at in self.marks))
            row.group = number
            rows.append(row)
        LikelyDuplicate.objects.filter(sample=self.sample).delete()
        LikelyDuplicate.objects.bulk_create(rows, batch_size=5000)
        self._forget_public()
        return {"groups": len(firsts) + len(alone), "issues": len(rows)}

    def _forget_public(self) -> None:
        """Forgets the private marks of repositories that became public since their marks were read."""
        marked = LikelyDuplicate.objects.filter(PRIVATE_MARK, sample=self.sample).values("issue__repository")
        homes = Repository.objects.select_for_update(no_key=True).filter(pk__in=marked).order_by("pk")
        for home in homes:
            if not home.private:
                forget_marks(home.pk)

    def _row(self, each: GroupMember) -> LikelyDuplicate:
        how = LikelyDuplicate.How.TEXT
        if each.is_marked or (each.like is not None and each.similarity is None):
            how = LikelyDuplicate.How.MARKED
        elif each.index in self.closed:
            how = LikelyDuplicate.How.GITHUB
        name, number = self.marks.get(each.index, ("", 0))
        return LikelyDuplicate(
            sample=self.sample,
            issue_id=self.issues[each.index],
            snapshot_id=self.snapshots[each.index],
            is_first=each.index == each.first,
            how=how,
            like_id=None if each.like is None else self.issues[each.like],
            named=f"{name}#{number}" if name else "",
            similarity=each.similarity,
        )


def forget_marks(repository_id: int) -> None:
    """Drops which issues the issues of a repository were marked as duplicates of, as only its private history said."""
    LikelyDuplicate.objects.filter(PRIVATE_MARK, issue__repository=repository_id).update(named="")


@transaction.atomic
def exclude_duplicates(
    *, seat: Seat, sample: Sample, issues: Sequence[object], reason: str = "", expected: str | None = None
) -> ScreeningResult:
    """Screens issues of the sample's groups out as duplicates (ids of LikelyDuplicate, or `all` that are suggested).

    `expected` tells which all were when a page showed them (`suggested_state`); Stale where these are others. They stay
    listed with their reason, and the flow table counts them; nothing is merged. Raises Invalid, Forbidden.
    """
    seat.require(OWNER, ADJUDICATOR)
    hold_study(seat)
    rows = likely_duplicates(seat, sample)
    if list(issues) == ["all"]:
        rows = rows.filter(SUGGESTED)
    else:
        wanted = [int(str(each)) for each in issues if str(each).isascii() and str(each).isdecimal()]
        rows = rows.filter(pk__in=wanted)
    chosen = list(rows.values_list("issue", flat=True))
    if expected is not None and expected != (state := suggested_state(rows)):
        raise Stale(
            "Other issues are suggested than when you opened the page. Nothing was excluded.", newer={"issues": state}
        )
    if not chosen:
        raise Invalid("Nothing was excluded.", fields={"issues": ["Choose the duplicates to exclude."]})
    take_in(seat=seat, sample=sample)
    items = Item.objects.filter(study=seat.study, issue__in=chosen)
    return screen_items(seat=seat, rows=items, screening=Item.Screening.OUT, reason=reason or REASON)
