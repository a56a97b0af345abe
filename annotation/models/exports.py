"""Models of exports, and of saved analyses."""

from django.conf import settings
from django.db import models
from django.db.models import Q

from annotation.models.public import Public
from annotation.models.studies import Study
from shared.jobs import Job


class Export(Public, Job):
    """A request for a file and what became of it; the job can be killed at any moment and begins its file anew."""

    class State(models.TextChoices):
        QUEUED = "queued"
        RUNNING = "running"
        DONE = "done"
        FAILED = "failed"
        CANCELLED = "cancelled"
        REMOVED = "removed", "removed: the file is gone, its hash still says which one it was"

    WITHOUT_FILE = (State.FAILED, State.CANCELLED, State.REMOVED)
    """States in which `file` names at most what could not be deleted yet."""

    study = models.ForeignKey(Study, on_delete=models.PROTECT, related_name="exports")
    number = models.PositiveIntegerField()
    what = models.CharField(max_length=20)
    format = models.CharField(max_length=10)
    asked = models.JSONField(default=dict, blank=True, help_text="Filters and options, as they were asked for.")
    rounds = models.JSONField(default=list, blank=True, help_text="Numbers of the rounds whose answers are in it.")
    left_out = models.JSONField(
        default=list, blank=True, help_text="Numbers of the rounds left out, because who asked was blind in them."
    )
    hidden = models.JSONField(
        default=list, blank=True, help_text="[round, item] ids left out, because who asked was to answer them yet."
    )
    state = models.CharField(max_length=10, choices=State.choices, default=State.QUEUED)
    n_rows = models.PositiveBigIntegerField(default=0, help_text="Rows written so far.")
    n_expected = models.PositiveBigIntegerField(null=True, blank=True, help_text="Rows there will be, about.")
    step = models.CharField(max_length=200, blank=True, help_text="What the job is at, in words.")
    file = models.FileField(upload_to="exports/%Y/%m/", max_length=300, blank=True)
    n_bytes = models.PositiveBigIntegerField(null=True, blank=True)
    sha256 = models.CharField(max_length=64, blank=True)
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)
    started_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["-number"]
        constraints = [
            models.UniqueConstraint(fields=["study", "number"], name="an_export_number_is_used_once_in_a_study"),
            models.CheckConstraint(
                condition=~Q(state="done") | ~Q(file="") & ~Q(sha256="") & Q(n_bytes__isnull=False),
                name="a_done_export_has_a_file_and_its_hash",
            ),
        ]

    def __str__(self) -> str:
        return f"Export {self.number}"

    @property
    def name(self) -> str:
        """What the file is called when it is taken home."""
        return f"{self.study.slug}-{self.what}-{self.number}.{self.format}"

    @property
    def seconds_left(self) -> float | None:
        """About how long it still takes, at its pace so far; None where that can't be told."""
        if not self.n_rows or not self.n_expected or self.started_at is None or self.worked_at is None:
            return None
        spent = (self.worked_at - self.started_at).total_seconds()
        return max(0.0, (self.n_expected - self.n_rows) / self.n_rows * spent) if spent > 1 else None


class Analysis(models.Model):
    """A question to the agreed labels that is kept with the study; its answer is computed whenever it is read."""

    study = models.ForeignKey(Study, on_delete=models.PROTECT, related_name="analyses")
    number = models.PositiveIntegerField()
    title = models.CharField(max_length=200)
    kind = models.CharField(max_length=20, help_text="counts, crosstab, flow, numbers …: the page it is asked on.")
    question = models.JSONField(default=dict, help_text="The words of its address, with their values.")
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        verbose_name_plural = "analyses"
        ordering = ["number"]
        constraints = [
            models.UniqueConstraint(fields=["study", "number"], name="an_analysis_number_is_used_once_in_a_study"),
        ]

    def __str__(self) -> str:
        return self.title
