"""Models of rounds, their items, and their raters."""

from datetime import datetime

from django.conf import settings
from django.db import models
from django.db.models import Q

from annotation.models.public import Public
from annotation.models.studies import Item, Membership, Sample, Study
from shared.jobs import Job


class Round(models.Model):
    """A wave of labelling under one published version of the taxonomy."""

    class Kind(models.TextChoices):
        SCREENING = "screening"
        PILOT = "pilot"
        MAIN = "main"
        RELABEL = "relabel"

    class Mode(models.TextChoices):
        PLANNED = "planned", "every assignment is made when the round opens"
        POOL = "pool", "raters take the next item from a pool, with leases"

    class State(models.TextChoices):
        DRAFT = "draft"
        OPEN = "open"
        RESOLVING = "resolving"
        CLOSED = "closed"
        UNDONE = (
            "undone",
            "undone: relabeling queue of a migration that was undone; its labels count in no result",
        )

    OVER = (State.RESOLVING, State.CLOSED)

    study = models.ForeignKey(Study, on_delete=models.PROTECT, related_name="rounds")
    number = models.PositiveIntegerField()
    label = models.CharField(
        max_length=200, blank=True, default="", db_default="", help_text="What the sheet that it came from calls it."
    )
    kind = models.CharField(max_length=10, choices=Kind.choices, default=Kind.MAIN)
    taxonomy_version = models.ForeignKey("taxonomy.TaxonomyVersion", on_delete=models.PROTECT, related_name="rounds")
    raters_per_item = models.PositiveSmallIntegerField(default=2)
    double_share = models.FloatField(default=1.0, help_text="Share of items that get all raters; others get one.")
    mode = models.CharField(max_length=10, choices=Mode.choices, default=Mode.PLANNED)
    state = models.CharField(max_length=10, choices=State.choices, default=State.DRAFT)
    seed = models.BigIntegerField(default=1)
    sample = models.ForeignKey("annotation.Sample", on_delete=models.PROTECT, null=True, blank=True, related_name="+")
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)
    opened_at = models.DateTimeField(null=True, blank=True)
    resolving_at = models.DateTimeField(null=True, blank=True)
    closed_at = models.DateTimeField(null=True, blank=True)
    due_on = models.DateField(null=True, blank=True, help_text="Due date (UTC); null: none.")
    gate = models.JSONField(
        null=True,
        blank=True,
        help_text="Result of the last pilot when this main round was opened: round, advice, dimensions, and the "
        "owner's reason where it was opened against the advice.",
    )
    gold_minimum = models.JSONField(
        null=True,
        blank=True,
        help_text="Minimum on calibration items before a rater gets others: share of items right, and by "
        "dimension coefficient and minimum. Fixed when the round opens; null: nothing.",
    )
    ruled_at = models.DateTimeField(
        null=True, blank=True, help_text="When the study's rules (third rater, majority) were applied to all of it."
    )
    ruled_until = models.BigIntegerField(
        null=True, blank=True, help_text="The newest annotation that the study's rules have seen; null: none."
    )
    ruled_to = models.PositiveIntegerField(
        default=0,
        db_default=0,
        help_text="The position to which the job of the rules is; 0: it has not begun, or is over.",
    )
    rules_error = models.TextField(
        blank=True, default="", db_default="", help_text="Why the job of the rules failed; it is run again by hand."
    )
    idempotency_key = models.CharField(max_length=200, blank=True, default="", db_default="")
    request_digest = models.CharField(
        max_length=64, blank=True, default="", db_default="", help_text="SHA-256 of the request, to recognize a resend."
    )

    class Meta:
        ordering = ["number"]
        constraints = [
            models.UniqueConstraint(fields=["study", "number"], name="a_round_number_is_used_once_in_a_study"),
            models.CheckConstraint(condition=Q(raters_per_item__gte=1), name="a_round_has_at_least_one_rater_per_item"),
            models.CheckConstraint(
                condition=Q(double_share__gte=0) & Q(double_share__lte=1), name="a_double_share_lies_between_0_and_1"
            ),
            models.UniqueConstraint(
                fields=["study", "created_by", "idempotency_key"],
                condition=~Q(idempotency_key=""),
                name="an_idempotency_key_makes_one_round",
            ),
        ]

    def __str__(self) -> str:
        return f"Round {self.number}"

    @property
    def other_label(self) -> str:
        """What its sheet calls it, where that is not its number."""
        return "" if self.label == str(self.number) else self.label

    @property
    def is_from_sheet(self) -> bool:
        """Whether an import made it: that opens it and starts its resolving at one moment, as nothing else does."""
        return self.opened_at is not None and self.opened_at == self.resolving_at

    @property
    def decided_since(self) -> datetime | None:
        """Since when disagreements can wait; of a queue, whose last answer may be hidden, since its opening."""
        return self.opened_at if self.kind == Round.Kind.RELABEL else self.resolving_at or self.opened_at


class RoundRater(models.Model):
    """A rater of a round and how far they are; in a pool, how far they have walked through its order."""

    round = models.ForeignKey(Round, on_delete=models.PROTECT, related_name="round_raters")
    rater = models.ForeignKey(Membership, on_delete=models.PROTECT, related_name="+")
    n_assigned = models.PositiveIntegerField(default=0)
    n_finished = models.PositiveIntegerField(default=0, help_text="Submitted or skipped.")
    walked = models.PositiveIntegerField(default=0, help_text="The last position taken from the pool.")
    quota = models.PositiveIntegerField(null=True, blank=True, help_text="At most so many items; none: no limit.")
    left_at = models.DateTimeField(null=True, blank=True, help_text="When they left; their open items were reassigned.")
    unblinded = models.BooleanField(
        default=False, db_default=False,
        help_text="They could read answers of the round before they rated: none of theirs counts as before discussion.",
    )  # fmt: skip
    admission = models.JSONField(
        null=True,
        blank=True,
        help_text="Where the round has a minimum on training items: when it was reached, in which round, and with what "
        "result, or who let the rater in and why. Null: not yet.",
    )
    revision = models.BigIntegerField(
        default=0, help_text="Counted up by the database whenever answers of this rater come to count otherwise."
    )

    class Meta:
        ordering = ["id"]
        constraints = [models.UniqueConstraint(fields=["round", "rater"], name="a_rater_is_in_a_round_once")]


class RoundItemQuerySet(models.QuerySet["RoundItem"]):
    """Items of rounds."""

    def counting(self) -> "RoundItemQuerySet":
        """Those whose answers count: no training items, which are only to learn from, and none that is excluded."""
        return self.filter(known__isnull=True, excluded=False)

    def present(self) -> "RoundItemQuerySet":
        """Those that files have: none that is excluded."""
        return self.filter(excluded=False)


class RoundItem(models.Model):
    """An item of a round, its place in the order, and how many raters it is to have."""

    round = models.ForeignKey(  # found by the constraints' indexes
        Round, on_delete=models.PROTECT, related_name="round_items", db_index=False
    )
    item = models.ForeignKey(Item, on_delete=models.PROTECT, related_name="round_items")
    position = models.PositiveIntegerField()
    n_raters = models.PositiveSmallIntegerField()
    n_free = models.PositiveSmallIntegerField(default=0, help_text="Slots without a rater that need one.")
    asked = models.JSONField(
        null=True,
        blank=True,
        help_text="In a relabeling queue: [part, dimension key] of what must be relabeled; null: everything.",
    )
    known = models.JSONField(
        null=True,
        blank=True,
        help_text="Gold answer of a calibration item, as in a request: parts with labels, and why. Null: not known.",
    )

    excluded = models.BooleanField(
        default=False, db_default=False, editable=False,
        help_text="The item is screened out, and the study excludes such items; the database sets it. Never in a "
        "screening round.",
    )  # fmt: skip
    n_aside = models.PositiveSmallIntegerField(
        default=0, db_default=0, editable=False,
        help_text="Of an excluded item, the slots without an answer: nobody holds or takes them meanwhile.",
    )  # fmt: skip

    objects = RoundItemQuerySet.as_manager()

    class Meta:
        ordering = ["position"]
        constraints = [
            models.UniqueConstraint(fields=["round", "item"], name="an_item_is_in_a_round_once"),
            models.UniqueConstraint(fields=["round", "position"], name="a_place_in_a_round_is_taken_once"),
            models.CheckConstraint(
                condition=Q(n_free__lte=models.F("n_raters")), name="no_more_slots_are_free_than_there_are"
            ),
        ]
        indexes = [
            models.Index(fields=["round", "position"], condition=Q(n_free__gt=0), name="free_slots_in_order"),
            models.Index(fields=["round", "item"], condition=Q(known__isnull=False), name="training_items"),
            models.Index(fields=["round", "item"], condition=Q(excluded=True), name="excluded_items"),
        ]


class BulkJob(Public, Job):
    """The job that works on a large sample or round, or pins many items, batch by batch.

    `cursor` holds how far it is, so a worker that is killed anywhere is followed by one that continues there.
    """

    class Kind(models.TextChoices):
        SAMPLE = "sample", "draws the issues of a sample"
        ROUND = "round", "puts the items of a sample into a round"
        OPENING = "opening", "makes the assignments of a round and opens it"
        DUPLICATES = "duplicates", "finds likely duplicates in a sample"
        LEAVING = "leaving", "reassigns the items of a rater who leaves open rounds"
        GIVING = "giving", "assigns waiting items to a rater of an open round"
        PINNING = "pinning", "pins items to their newest snapshots"

    BESIDE_LABELING = (Kind.LEAVING, Kind.GIVING, Kind.PINNING)
    """Raters go on labeling while such a job is at work."""

    study = models.ForeignKey(Study, on_delete=models.PROTECT, related_name="bulk_jobs")
    kind = models.CharField(max_length=10, choices=Kind.choices)
    sample = models.ForeignKey(Sample, on_delete=models.CASCADE, null=True, blank=True, related_name="bulk_jobs")
    round = models.ForeignKey(Round, on_delete=models.CASCADE, null=True, blank=True, related_name="bulk_jobs")
    asked = models.JSONField(default=dict, blank=True, help_text="What the request said beyond the row that it made.")
    cursor = models.JSONField(default=dict, blank=True, help_text="How far the job is.")
    n_done = models.PositiveIntegerField(default=0)
    n_total = models.PositiveIntegerField(default=0)
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["-id"]
        constraints = [
            models.UniqueConstraint(
                fields=["study"], condition=Q(state__in=["queued", "running"]), name="a_study_has_one_bulk_job_at_work"
            ),
        ]

    @property
    def is_preparing(self) -> bool:
        """Whether its sample or round can't be used before it is done."""
        return self.is_at_work and self.kind not in self.BESIDE_LABELING
