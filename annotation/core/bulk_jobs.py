"""Bulk jobs of samples, rounds, and items: the one of a study, sample, or round."""

from annotation.models import BulkJob, Round, Sample, Study
from shared.compiled_queries import CompiledQuery

_at_work = CompiledQuery(
    lambda study: BulkJob.objects.filter(study=study, state__in=BulkJob.AT_WORK).select_related("round", "sample")[:1],
    int,
)


def job_at_work(study: Study) -> BulkJob | None:
    """The bulk job of a study now; there is one at most."""
    return _at_work.first(study.pk)


def job_of(row: Round | Sample) -> BulkJob | None:
    """The newest job that works on a round or a sample, unless it is done; one query, none where jobs came along.

    A search for duplicates prepares nothing: the sample can be used meanwhile, and if it fails.
    """
    preparing = (each for each in row.bulk_jobs.all() if each.kind != BulkJob.Kind.DUPLICATES)
    newest = max(preparing, key=lambda each: each.pk, default=None)
    return None if newest is None or newest.state == BulkJob.State.DONE else newest


def pinning_of(study: Study) -> BulkJob | None:
    """The newest job that pinned items of a study to their newest snapshots, unless it is done."""
    newest = BulkJob.objects.filter(study=study, kind=BulkJob.Kind.PINNING).first()
    return None if newest is None or newest.state == BulkJob.State.DONE else newest


def rounds_of(job: BulkJob) -> set[int | None]:
    """The rounds (ids) that a job works on."""
    return {job.round_id, *job.asked.get("rounds", ())}


def job_as_document(job: BulkJob) -> dict[str, object]:
    """The row of a job in an answer of the API."""
    failed = {"error": job.error} if job.state == BulkJob.State.FAILED else {}
    return {"id": job.public_id, "state": job.state, "done": job.n_done, "total": job.n_total, **failed}
