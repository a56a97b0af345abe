"""Leftover files: removes tables that were never confirmed and files of finished runs."""

from datetime import timedelta

from django.conf import settings
from django.db import transaction
from django.utils import timezone

from ingest.models import FetchRun, Upload

UNCONFIRMED_DAYS = 2
FILES_AT_ONCE = 500


def remove_old_files() -> int:
    """Removes unconfirmed uploads after two days, files of runs UPLOADS_KEPT_DAYS after these ended; how many.

    Each file goes before its row says so: what stops in between is done again the next time.
    """
    now = timezone.now()
    before = now - timedelta(days=UNCONFIRMED_DAYS)
    n_removed = 0
    for key in list(Upload.objects.filter(created_at__lt=before).values_list("pk", flat=True)[:FILES_AT_ONCE]):
        with transaction.atomic():
            upload = Upload.objects.select_for_update(skip_locked=True).filter(pk=key).first()
            if upload is not None:
                upload.file.delete(save=False)
                upload.delete()
                n_removed += 1
    before = now - timedelta(days=settings.UPLOADS_KEPT_DAYS)
    over = FetchRun.objects.filter(finished_at__lt=before).exclude(state__in=FetchRun.UNFINISHED)
    kept = over.filter(upload__gt="")
    for key in list(kept.values_list("pk", flat=True)[:FILES_AT_ONCE]):
        with transaction.atomic():
            run = kept.select_for_update(skip_locked=True, of=("self",)).filter(pk=key).first()
            if run is not None:
                run.upload.delete(save=False)
                FetchRun.objects.filter(pk=key).update(upload="")
                n_removed += 1
    return n_removed
