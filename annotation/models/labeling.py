"""Models of labeling: assignments, annotations, ratings, evidence; answers are only appended."""

from typing import TypeAlias

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q

from annotation.models.assignment_kinds import EXTRA_RATERS, AssignmentKind, kind_of
from annotation.models.public import Public
from annotation.models.rounds import Round
from annotation.models.studies import Item, Membership


class Assignment(Public, models.Model):
    """One item given to one rater in one round; it points to the blind and to the current revision of the answer."""

    class State(models.TextChoices):
        WAITING = "waiting"
        LEASED = "leased"
        SUBMITTED = "submitted"
        SKIPPED = "skipped"
        WITHDRAWN = "withdrawn"

    Kind: TypeAlias = AssignmentKind
    UNFINISHED = (State.WAITING, State.LEASED)
    FINISHED = (State.SUBMITTED, State.SKIPPED)

    round = models.ForeignKey(  # found by the constraints' indexes
        Round, on_delete=models.PROTECT, related_name="assignments", db_index=False
    )
    item = models.ForeignKey(Item, on_delete=models.PROTECT, related_name="assignments")
    rater = models.ForeignKey(Membership, on_delete=models.PROTECT, related_name="assignments")
    slot = models.PositiveSmallIntegerField(null=True, blank=True, help_text="1 … N; none for an arbiter.")
    state = models.CharField(max_length=10, choices=State.choices, default=State.WAITING)
    position = models.PositiveIntegerField(help_text="The item's place in this rater's own order.")
    lease_until = models.DateTimeField(null=True, blank=True)
    blind = models.ForeignKey(
        "Annotation",
        on_delete=models.PROTECT,
        null=True,
        blank=True,
        related_name="+",
        db_index=False,
        db_constraint=False,
    )
    current = models.ForeignKey(
        "Annotation",
        on_delete=models.PROTECT,
        null=True,
        blank=True,
        related_name="+",
        db_index=False,
        db_constraint=False,
    )
    unblinded = models.BooleanField(
        default=False, db_default=False,
        help_text="Of a third rater who could read the answers before they were asked; they give no blind revision.",
    )  # fmt: skip

    maybe = models.BooleanField(
        default=False, db_default=False,
        help_text="While screening its rater put it off as a maybe; it stays to be answered.",
    )  # fmt: skip

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["round", "item", "rater"], name="a_rater_gets_an_item_once_in_a_round"),
            models.UniqueConstraint(
                fields=["round", "item", "slot"],
                condition=~Q(state="withdrawn"),
                name="a_slot_of_an_item_is_held_by_one_rater",
            ),
        ]
        indexes = [
            models.Index(
                fields=["round", "rater", "position"],
                condition=Q(state__in=["waiting", "leased"]),
                name="next_in_a_raters_order",
            ),
            models.Index(fields=["round", "rater", "position"], name="a_raters_order"),
            models.Index(fields=["round", "rater"], condition=EXTRA_RATERS, name="extra_raters_of_a_round"),
            models.Index(fields=["round", "rater"], condition=Q(state="skipped"), name="skipped_by_rater"),
            models.Index(fields=["round", "lease_until"], condition=Q(state="leased"), name="leases_by_end"),
            models.Index(
                fields=["round"],
                condition=Q(current__isnull=False) & (EXTRA_RATERS | Q(blind__isnull=True)),
                name="answers_out_of_the_ordinary",
            ),
            models.Index(fields=["round", "current"], condition=Q(current__isnull=False), name="answers_by_age"),
            models.Index(fields=["blind"], condition=Q(blind__isnull=False), name="assignments_by_blind"),
            models.Index(fields=["current"], condition=Q(current__isnull=False), name="assignments_by_current"),
        ]

    @property
    def kind(self) -> AssignmentKind:
        """Its kind; without a slot it asks its rater."""
        return self.Kind.RATER if self.slot is not None else kind_of(None, self.rater.kind)

    @property
    def is_arbiter(self) -> bool:
        """Whether a third rater answers it."""
        return self.kind == self.Kind.THIRD


class Annotation(Public, models.Model):
    """One revision of what a rater submitted for an assignment: labels in parts, or a skip with its reason."""

    assignment = models.ForeignKey(  # found by the constraint's index
        Assignment, on_delete=models.PROTECT, related_name="annotations", db_index=False
    )
    rater = models.ForeignKey(Membership, on_delete=models.PROTECT, related_name="+")
    revision = models.PositiveIntegerField()
    snapshot = models.ForeignKey(
        "ingest.Snapshot", on_delete=models.PROTECT, null=True, blank=True, related_name="+", help_text="What was read."
    )
    skip_reason = models.TextField(blank=True)
    n_parts = models.PositiveSmallIntegerField(default=1)
    memo = models.TextField(blank=True)
    part_memos = ArrayField(models.TextField(blank=True), default=list, blank=True)
    confidence = models.PositiveSmallIntegerField(null=True, blank=True, help_text="1 unsure, 2 fairly sure, 3 sure.")
    seconds = models.PositiveIntegerField(null=True, blank=True, help_text="Time spent with the tab in sight.")
    is_flagged = models.BooleanField(default=False, help_text="The rater wants to talk about this item.")
    n_proposals = models.PositiveSmallIntegerField(default=0)
    answers_digest = models.CharField(max_length=64, help_text="SHA-256 of the labels: equal answers, equal digest.")
    idempotency_key = models.CharField(max_length=200, blank=True)
    request_digest = models.CharField(max_length=64, help_text="SHA-256 of the whole request, to tell a resend.")
    submitted_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, blank=True, related_name="+"
    )
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["assignment", "revision"], name="a_revision_number_is_used_once"),
            models.UniqueConstraint(
                fields=["rater", "idempotency_key"],
                condition=~Q(idempotency_key=""),
                name="an_idempotency_key_is_used_once_by_a_rater",
            ),
        ]
        indexes = [
            models.Index(fields=["created_at"], name="annotations_by_date"),
            models.Index(fields=["assignment"], condition=Q(revision__gt=1), name="annotations_that_replace"),
        ]


class Proposal(Public, models.Model):
    """A category asked for, because the taxonomy has no place for what was found: in an answer, or while resolving.

    `annotation` is the answer that asks for it; none where an adjudicator found the taxonomy at fault.
    """

    annotation = models.ForeignKey(
        Annotation, on_delete=models.PROTECT, null=True, blank=True, related_name="proposals"
    )
    round = models.ForeignKey(Round, on_delete=models.PROTECT, related_name="+")
    item = models.ForeignKey(Item, on_delete=models.PROTECT, related_name="+")
    part = models.PositiveSmallIntegerField(default=1)
    proposed_by = models.ForeignKey(Membership, on_delete=models.PROTECT, related_name="+")
    dimension = models.ForeignKey("taxonomy.Dimension", on_delete=models.PROTECT, related_name="+")
    name = models.CharField(max_length=200)
    memo = models.TextField(blank=True)
    created_at = models.DateTimeField(auto_now_add=True)


class Rating(models.Model):
    """The value of one part on one dimension: one row per category when multi, one empty row for the empty set.

    Round, item and rater are carried along from the assignment; the database holds them to it.
    """

    # Without an index of its own a key is found by a constraint's; without a constraint a trigger checks it.
    annotation = models.ForeignKey(
        Annotation, on_delete=models.PROTECT, related_name="ratings", db_index=False, db_constraint=False
    )
    round = models.ForeignKey(Round, on_delete=models.PROTECT, related_name="+", db_index=False, db_constraint=False)
    item = models.ForeignKey(Item, on_delete=models.PROTECT, related_name="+", db_constraint=False)
    rater = models.ForeignKey(Membership, on_delete=models.PROTECT, related_name="+", db_constraint=False)
    part = models.PositiveSmallIntegerField(default=1)
    dimension = models.ForeignKey("taxonomy.Dimension", on_delete=models.PROTECT, related_name="+", db_constraint=False)
    category = models.ForeignKey(
        "taxonomy.Category", on_delete=models.PROTECT, null=True, blank=True, related_name="+", db_constraint=False
    )
    proposal = models.ForeignKey(Proposal, on_delete=models.PROTECT, null=True, blank=True, related_name="+")
    boolean = models.BooleanField(null=True, blank=True)
    number = models.FloatField(null=True, blank=True)
    text = models.TextField(null=True, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["annotation", "part", "dimension", "category", "proposal"],
                nulls_distinct=False,
                name="a_category_is_given_once_to_a_part",
            ),
        ]
        indexes = [
            models.Index(fields=["round", "dimension"], name="ratings_of_a_dimension"),
        ]


class Evidence(models.Model):
    """What in the issue a rating rests on: a quoted range of the snapshot that its annotation was made on.

    `start` and `end` count characters (code points) in the title, the body or the comment as the snapshot holds it;
    none where the quote can't be found there. `before` and `after` are the shown text around the quote, which
    tell two places with the same words apart.
    """

    class Where(models.TextChoices):
        TITLE = "title"
        BODY = "body"
        COMMENT = "comment"

    rating = models.ForeignKey(Rating, on_delete=models.PROTECT, related_name="evidence")
    where = models.CharField(max_length=8, choices=Where.choices)
    comment = models.ForeignKey("ingest.Comment", on_delete=models.PROTECT, null=True, blank=True, related_name="+")
    start = models.PositiveIntegerField(null=True, blank=True)
    end = models.PositiveIntegerField(null=True, blank=True)
    quote = models.TextField(help_text="As it was shown and selected.")
    before = models.CharField(max_length=80, blank=True)
    after = models.CharField(max_length=80, blank=True)

    class Meta:
        ordering = ["id"]
        constraints = [
            models.CheckConstraint(
                condition=Q(where="comment", comment__isnull=False) | ~Q(where="comment") & Q(comment__isnull=True),
                name="evidence_in_a_comment_names_it",
            ),
            models.CheckConstraint(
                condition=Q(start__isnull=True, end__isnull=True) | Q(start__lt=models.F("end")),
                name="evidence_starts_before_it_ends",
            ),
        ]


class Draft(models.Model):
    """What a rater has typed so far for an assignment; thrown away when they submit."""

    assignment = models.OneToOneField(Assignment, on_delete=models.CASCADE, related_name="draft")
    body = models.JSONField(default=dict)
    updated_at = models.DateTimeField(auto_now=True)
