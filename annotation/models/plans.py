"""Models of migration plans, and of outcomes of proposals."""

from django.conf import settings
from django.db import models
from django.db.models import F, Q

from annotation.models.labeling import Proposal
from annotation.models.public import Public
from annotation.models.rounds import Round
from annotation.models.studies import Study
from shared.jobs import Job


class Plan(Job):
    """A study's move to a newer version of its taxonomy; no rating is written by it, and undoing only marks it.

    What it means for values stands in the taxonomy's CategoryChange. `worklist` is the round in which raters answer
    anew what can't be followed.
    """

    class State(models.TextChoices):
        PREVIEWED = "previewed"
        QUEUED = "queued"
        RUNNING = "running"
        DONE = "done"
        UNDONE = "undone"
        FAILED = "failed", "failed: stopped at its time limit, with nothing assigned; it can be run again"

    OPEN = (State.PREVIEWED, State.FAILED)

    study = models.ForeignKey(Study, on_delete=models.PROTECT, related_name="plans")
    number = models.PositiveIntegerField()
    from_version = models.ForeignKey("taxonomy.TaxonomyVersion", on_delete=models.PROTECT, related_name="+")
    to_version = models.ForeignKey("taxonomy.TaxonomyVersion", on_delete=models.CASCADE, related_name="+")
    state = models.CharField(max_length=10, choices=State.choices, default=State.PREVIEWED)
    recheck = models.JSONField(
        default=list, blank=True, help_text="[dimension key, category key] of redefined categories to look at again."
    )
    stand_ins = models.JSONField(
        default=list, blank=True, help_text="Substitutes: members who relabel for raters that can't sign in."
    )
    preview = models.JSONField(default=dict, blank=True, help_text="Counts of the preview when the migration was run.")
    worklist = models.OneToOneField(Round, on_delete=models.PROTECT, null=True, blank=True, related_name="made_by")
    cursor = models.JSONField(default=dict, blank=True, help_text="How far the job is.")
    n_done = models.PositiveIntegerField(default=0, help_text="Items looked at so far.")
    n_total = models.PositiveIntegerField(default=0, help_text="Items to look at.")
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)
    run_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, blank=True, related_name="+"
    )
    run_at = models.DateTimeField(null=True, blank=True)
    undone_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, blank=True, related_name="+"
    )
    undone_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["-number"]
        constraints = [
            models.UniqueConstraint(fields=["study", "number"], name="a_plan_number_is_used_once_in_a_study"),
            models.UniqueConstraint(
                fields=["study"], condition=Q(state__in=["queued", "running"]), name="a_study_has_one_plan_at_work"
            ),
            models.CheckConstraint(condition=~Q(from_version=F("to_version")), name="a_plan_leads_to_another_version"),
        ]

    def __str__(self) -> str:
        return f"Plan {self.number}"

    @property
    def is_over(self) -> bool:
        """Whether it was run, and is at work no more."""
        return self.state not in (*self.OPEN, *self.AT_WORK)

    @property
    def n_unassigned(self) -> int:
        """Items of a plan that is done which nobody was assigned: their raters can't sign in and had no stand-ins."""
        return self.n_total - int(self.cursor.get("position", 0)) if self.state == self.State.DONE else 0

    @property
    def warning(self) -> str:
        """What whoever ran the plan has to know about its relabeling queue; empty where every item was assigned."""
        if not self.n_unassigned:
            return ""
        items = "1 item was" if self.n_unassigned == 1 else f"{self.n_unassigned:,} items were"
        rest = "Nothing was assigned" if self.worklist_id is None else f"{items} not assigned"
        count = f" {items} left as they are." if self.worklist_id is None and self.n_unassigned > 1 else ""
        return (
            f"{rest}: the raters concerned can’t sign in, and the plan has no stand-ins for them.{count} "
            "To relabel, undo the plan and run it again with stand-ins."
        )


class ProposalOutcome(Public, models.Model):
    """What was answered to a proposal; only ever appended, and the newest revision counts."""

    class Outcome(models.TextChoices):
        ACCEPTED = "accepted", "accepted into the draft of a version"
        MAPPED = "mapped", "mapped to a category that there is"
        DECLINED = "declined"

    proposal = models.ForeignKey(Proposal, on_delete=models.PROTECT, related_name="outcomes")
    revision = models.PositiveIntegerField(default=1)
    outcome = models.CharField(max_length=10, choices=Outcome.choices)
    version_number = models.PositiveIntegerField(
        null=True, blank=True, help_text="Of the version that has the category, or of the draft that it went into."
    )
    category_key = models.CharField(max_length=100, blank=True, help_text="In the proposal's dimension.")
    category_name = models.CharField(max_length=200, blank=True)
    reason = models.TextField(blank=True)
    decided_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, blank=True, related_name="+"
    )
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["proposal", "revision"]
        constraints = [
            models.UniqueConstraint(
                fields=["proposal", "revision"], name="a_revision_of_a_proposals_outcome_is_used_once"
            ),
            models.CheckConstraint(
                condition=Q(outcome="declined", category_key="") | ~Q(outcome="declined") & ~Q(category_key=""),
                name="only_a_declined_proposal_has_no_category",
            ),
        ]
