"""What was decided where raters differed; a decision stands beside their answers and not over them."""

from django.conf import settings
from django.db import models

from annotation.models.rounds import Round
from annotation.models.studies import Item


class Resolution(models.Model):
    """The decided values of one part of an item on one dimension; a later revision stands before an earlier one."""

    class Method(models.TextChoices):
        DISCUSSION = "discussion"
        THIRD_RATER = "third_rater"
        MAJORITY = "majority"
        OWNER = "owner"
        IMPORTED = "imported"

    round = models.ForeignKey(Round, on_delete=models.PROTECT, related_name="resolutions")
    item = models.ForeignKey(Item, on_delete=models.PROTECT, related_name="resolutions")
    part = models.PositiveSmallIntegerField(default=1)
    dimension = models.ForeignKey("taxonomy.Dimension", on_delete=models.PROTECT, related_name="+")
    revision = models.PositiveIntegerField()
    method = models.CharField(max_length=12, choices=Method.choices)
    rationale = models.TextField(blank=True)
    decided_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, blank=True, related_name="+"
    )
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["round", "item", "part", "dimension", "revision"], name="a_resolution_revision_is_used_once"
            ),
        ]
        indexes = [models.Index(fields=["round", "created_at"], name="resolutions_by_date")]


class ResolutionValue(models.Model):
    """One decided value; a resolution without any says that the part has no value there."""

    resolution = models.ForeignKey(Resolution, on_delete=models.PROTECT, related_name="decided")
    category = models.ForeignKey("taxonomy.Category", on_delete=models.PROTECT, null=True, blank=True, related_name="+")
    boolean = models.BooleanField(null=True, blank=True)
    number = models.FloatField(null=True, blank=True)
    text = models.TextField(null=True, blank=True)
