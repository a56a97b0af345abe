"""Models of study imports and deletions, which stay as a register."""

from django.conf import settings
from django.db import models
from django.db.models import Q

from annotation.models.studies import Study
from shared.jobs import Job


class Arrival(Job):
    """A study's file on its way in; the study, with all that it holds, is there when the job is done and not before."""

    file = models.FileField(upload_to="arrivals/%Y/%m/", max_length=300, blank=True)
    name = models.CharField(max_length=200)
    slug = models.CharField(max_length=80, help_text="The ID that the study gets.")
    n_attempts = models.PositiveIntegerField(default=0, help_text="How often a worker began.")
    n_done = models.PositiveBigIntegerField(default=0, help_text="Rows stored so far.")
    n_total = models.PositiveBigIntegerField(default=0, help_text="Rows in the file.")
    step = models.CharField(max_length=200, blank=True, help_text="What the job is at, in words.")
    report = models.JSONField(null=True, blank=True, help_text="Report of the import.")
    study = models.ForeignKey(Study, on_delete=models.SET_NULL, null=True, blank=True, related_name="+")
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["-id"]

    def __str__(self) -> str:
        return self.name


class Deletion(Job):
    """That a study was deleted whole: who, when, and the SHA-256 of the export that holds what it was.

    While `study` is there the job is at work on it; the database lets the study's rows go for this row alone.
    """

    study = models.OneToOneField(Study, on_delete=models.SET_NULL, null=True, blank=True, related_name="deletion")
    slug = models.CharField(max_length=80)
    title = models.CharField(max_length=200)
    sha256 = models.CharField(max_length=64, help_text="Of the whole export that was made of it last.")
    exported_at = models.DateTimeField()
    counts = models.JSONField(default=dict, help_text="What it held: name of a table, number of rows.")
    n_done = models.PositiveBigIntegerField(default=0, help_text="Rows deleted so far.")
    n_total = models.PositiveBigIntegerField(default=0)
    deleted_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    deleted_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["-id"]
        constraints = [
            models.CheckConstraint(
                condition=Q(sha256__regex="^[0-9a-f]{64}$"), name="a_study_is_deleted_after_an_export"
            ),
            models.CheckConstraint(
                condition=Q(done_at__isnull=True, study__isnull=False) | Q(done_at__isnull=False, study__isnull=True),
                name="a_deletion_is_over_when_the_study_is_gone",
            ),
        ]

    def __str__(self) -> str:
        return self.slug
