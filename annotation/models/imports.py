"""Models of imports: uploaded workbooks, and confirmed spellings."""

from django.conf import settings
from django.db import models

from annotation.models.studies import Study
from shared.jobs import Job


class Workbook(Job):
    """A file with ratings that someone uploaded; nothing of it is in a study until its mapping is confirmed."""

    class State(models.TextChoices):
        WAITING = "waiting", "waits for its mapping"
        QUEUED = "queued"
        RUNNING = "running"
        DONE = "done"
        FAILED = "failed"

    OPEN = (State.WAITING, State.FAILED)

    study = models.ForeignKey(
        Study, on_delete=models.CASCADE, null=True, blank=True, related_name="+", help_text="None: it makes a new one."
    )
    file = models.FileField(upload_to="workbooks/%Y/%m/", max_length=300)
    name = models.CharField(max_length=200)
    mapping = models.JSONField(
        default=dict, blank=True, help_text="What each sheet and column is, as far as it was chosen."
    )
    state = models.CharField(max_length=10, choices=State.choices, default=State.WAITING)
    n_attempts = models.PositiveIntegerField(default=0, help_text="How often a worker began.")
    n_done = models.PositiveIntegerField(default=0, help_text="Items stored so far.")
    n_total = models.PositiveIntegerField(default=0, help_text="Items in all rounds of the file.")
    report = models.JSONField(null=True, blank=True, help_text="What came of it.")
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)

    def __str__(self) -> str:
        return self.name

    @property
    def is_open(self) -> bool:
        """Whether its mapping can still be changed."""
        return self.state in self.OPEN


class Spelling(models.Model):
    """What a spelling in sheets stands for in one dimension of a study, as someone decided; the newest counts."""

    study = models.ForeignKey(Study, on_delete=models.PROTECT, related_name="spellings")
    dimension_key = models.CharField(max_length=100)
    spelling = models.CharField(max_length=500, help_text="Trimmed, inner blanks collapsed, without case.")
    category_key = models.CharField(max_length=100, blank=True, help_text="Empty: it is no rating.")
    is_pending = models.BooleanField(default=False, help_text="It asks for a category that is missing.")
    decided_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    decided_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        indexes = [models.Index(fields=["study", "dimension_key", "spelling"], name="spellings_decided")]

    def __str__(self) -> str:
        return self.spelling
