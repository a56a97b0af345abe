"""Models of likely duplicates among the issues of a sample."""

from django.db import models

from annotation.models.studies import Sample


class LikelyDuplicate(models.Model):
    """An issue of a sample that is likely a duplicate, or the first of a group of those that are."""

    class How(models.TextChoices):
        GITHUB = "github", "closed as a duplicate at GitHub"
        MARKED = "marked", "marked as a duplicate at GitHub, in its text or in a comment"
        TEXT = "text", "title and text are alike"

    sample = models.ForeignKey(  # found by the constraints' indexes
        Sample, on_delete=models.CASCADE, related_name="likely_duplicates", db_index=False
    )
    issue = models.ForeignKey("ingest.Issue", on_delete=models.PROTECT, related_name="+")
    snapshot = models.ForeignKey(
        "ingest.Snapshot", on_delete=models.PROTECT, null=True, blank=True, related_name="+", db_index=False,
        help_text="The state that was compared: who may not read it sees nothing of the row. Where it is null, whoever "
        "may not see the repository does not.",
    )  # fmt: skip
    group = models.PositiveIntegerField(help_text="From 1.")
    is_first = models.BooleanField(help_text="The oldest of its group; the others are duplicates of it.")
    how = models.CharField(max_length=6, choices=How.choices)
    like = models.ForeignKey(
        "ingest.Issue", on_delete=models.PROTECT, null=True, blank=True, related_name="+",
        help_text="The issue of the sample that it is most like, or is marked as a duplicate of.",
    )  # fmt: skip
    named = models.CharField(
        max_length=300,
        blank=True,
        default="",
        help_text="The issue that it is marked as a duplicate of, as it is named.",
    )
    similarity = models.FloatField(
        null=True, blank=True, help_text="Estimated Jaccard index of their texts, 0 to 1; null where it is marked."
    )

    class Meta:
        ordering = ["id"]
        constraints = [
            models.UniqueConstraint(fields=["sample", "issue"], name="an_issue_is_in_one_group_of_duplicates"),
        ]

    @property
    def alike(self) -> str:
        """The similarity in percent; empty where there is none."""
        return "" if self.similarity is None else f"{self.similarity:.0%}"
