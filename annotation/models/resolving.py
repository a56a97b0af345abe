"""Models of resolving: resolutions, meetings, part matches, comments, inbox lines."""

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.db import models

from annotation.models.labeling import Annotation
from annotation.models.public import Public
from annotation.models.rounds import Round
from annotation.models.studies import Item, Membership


class Resolution(Public, models.Model):
    """The decided values of one part of an item on one dimension; a later revision stands before an earlier one."""

    class Method(models.TextChoices):
        DISCUSSION = "discussion"
        THIRD_RATER = "third_rater"
        MAJORITY = "majority"
        OWNER = "owner"
        IMPORTED = "imported"
        REOPENED = "reopened", "reopened: what was decided before counts no more"
        ADJUDICATOR = "adjudicator"

    round = models.ForeignKey(Round, on_delete=models.PROTECT, related_name="resolutions")
    item = models.ForeignKey(Item, on_delete=models.PROTECT, related_name="resolutions")
    part = models.PositiveSmallIntegerField(default=1)
    dimension = models.ForeignKey("taxonomy.Dimension", on_delete=models.PROTECT, related_name="+")
    revision = models.PositiveIntegerField()
    method = models.CharField(max_length=12, choices=Method.choices)
    no_part = models.BooleanField(
        default=False,
        db_default=False,
        help_text="The part does not exist: it has no label on any dimension, and nothing of it is open.",
    )
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


class Meeting(models.Model):
    """A meeting in which disagreements of a round were discussed, as the person who resolved them stated."""

    round = models.ForeignKey(Round, on_delete=models.PROTECT, related_name="meetings")
    held_on = models.DateField()
    participants = ArrayField(models.TextField(), help_text="Who took part: raters by code, others as they were named.")
    stated_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, blank=True, related_name="+"
    )
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["id"]


class MeetingResolution(models.Model):
    """A resolution that a meeting was stated for; only ever appended."""

    meeting = models.ForeignKey(Meeting, on_delete=models.PROTECT, related_name="places")
    resolution = models.ForeignKey(Resolution, on_delete=models.PROTECT, related_name="meetings")

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["meeting", "resolution"], name="a_meeting_names_a_resolution_once"),
        ]


class PartMatch(models.Model):
    """Which agreed part of an item a part of an annotation is; by number where there is no row.

    The rows of an annotation are written together; what stood before is kept in the audit.
    """

    annotation = models.ForeignKey(Annotation, on_delete=models.PROTECT, related_name="part_matches")
    part = models.PositiveSmallIntegerField()
    agreed_part = models.PositiveSmallIntegerField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["annotation", "part"], name="a_part_of_an_annotation_is_matched_once"),
            models.UniqueConstraint(
                fields=["annotation", "agreed_part"], name="an_agreed_part_is_matched_once_by_an_annotation"
            ),
            models.CheckConstraint(
                condition=models.Q(part__gte=1, agreed_part__gte=1), name="matched_parts_count_from_one"
            ),
        ]


class Remark(Public, models.Model):
    """A line in the discussion of one item of a round, about one dimension or about the item; only ever appended."""

    round = models.ForeignKey(Round, on_delete=models.PROTECT, related_name="remarks")
    item = models.ForeignKey(Item, on_delete=models.PROTECT, related_name="remarks")
    part = models.PositiveSmallIntegerField(default=1)
    dimension = models.ForeignKey(
        "taxonomy.Dimension", on_delete=models.PROTECT, null=True, blank=True, related_name="+"
    )
    author = models.ForeignKey(Membership, on_delete=models.PROTECT, related_name="+")
    text = models.TextField(help_text="Markdown; @name or @code mentions a member.")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["id"]
        indexes = [models.Index(fields=["round", "item"], name="remarks_of_an_item")]


class InboxLine(Public, models.Model):
    """Something that a member is told: they are mentioned, or something was assigned to them.

    It is shown only while its reader is not blind in its round.
    """

    class Kind(models.TextChoices):
        MENTION = "mention", "somebody mentioned you"
        ROUND = "round", "a round was opened in which you rate"
        ARBITER = "arbiter", "you are asked as a third rater"
        REMINDER = "reminder", "your answers as a third rater are waited for"
        GIVEN = "given", "items of somebody who left came to you"
        ADMITTED = "admitted", "you get the items of a round that has a minimum on training items"
        RESOLVING = "resolving", "a round waits for decisions"

    member = models.ForeignKey(Membership, on_delete=models.PROTECT, related_name="inbox")
    kind = models.CharField(max_length=10, choices=Kind.choices)
    round = models.ForeignKey(Round, on_delete=models.PROTECT, related_name="+")
    item = models.ForeignKey(Item, on_delete=models.PROTECT, null=True, blank=True, related_name="+")
    remark = models.ForeignKey(Remark, on_delete=models.PROTECT, null=True, blank=True, related_name="+")
    n_items = models.PositiveIntegerField(null=True, blank=True, help_text="How many items it is about.")
    created_at = models.DateTimeField(auto_now_add=True)
    read_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["-id"]
        constraints = [
            models.UniqueConstraint(
                fields=["member", "kind", "round", "item", "remark"],
                nulls_distinct=False,
                condition=~models.Q(kind="given"),
                name="a_member_is_told_something_once",
            ),
        ]
        indexes = [
            models.Index(fields=["member", "-id"], name="inbox_of_a_member"),
            models.Index(fields=["member"], condition=models.Q(read_at__isnull=True), name="unread_in_the_inbox"),
        ]
