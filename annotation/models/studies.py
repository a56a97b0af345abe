"""Models of studies, memberships, invitations, samples, and items."""

import secrets
from typing import Any

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.contrib.postgres.indexes import GinIndex, OpClass
from django.db import models, transaction
from django.db.models import Q
from django.db.models.functions import Now
from django.utils import timezone

from shared.names import IMPORTED, folded

ACCOUNTS = ("user", "former_user", "invited_user", "formerly")
"""The columns of `Membership.all_accounts`, to read them with it."""


def new_key() -> str:
    """A key that nobody guesses."""
    return secrets.token_hex(32)


class Study(models.Model):
    """Issues labelled against one taxonomy by several raters."""

    class ResolveWhen(models.TextChoices):
        ROUND = "round", "when all labels of the round are submitted"
        ITEM = "item", "item by item, as soon as its raters have finished it"

    class Applies(models.TextChoices):
        BOTH = "both", "where the dimension applied under the labels of both raters"
        EITHER = "either", "where it applied under the label of either; “does not apply” counts as the other’s label"

    class ScreenedOut(models.TextChoices):
        EXCLUDE = "exclude", "excluded from agreement, agreed labels, counts and files"
        KEEP = "keep", "kept, and marked screened_out in files"

    slug = models.SlugField(max_length=80, unique=True)
    title = models.CharField(max_length=200)
    guidelines = models.TextField(blank=True, help_text="What raters should know (Markdown).")
    taxonomy = models.ForeignKey("taxonomy.Taxonomy", on_delete=models.PROTECT, related_name="studies")
    primary = models.JSONField(
        default=dict,
        blank=True,
        help_text="Per dimension key: coefficient, threshold and fixed_at; fixed before labelling starts.",
    )
    resolve_when = models.CharField(max_length=10, choices=ResolveWhen.choices, default=ResolveWhen.ROUND)
    names_shown = models.BooleanField(default=False, help_text="Raters appear by name while resolving.")
    applies = models.CharField(
        max_length=6,
        choices=Applies.choices,
        default=Applies.BOTH,
        help_text="Units of a conditional dimension that agreement compares, unless asked otherwise.",
    )
    third_rater = models.BooleanField(
        default=False, help_text="A third rater is assigned automatically where two disagree."
    )
    majority = models.BooleanField(default=False, help_text="The majority is accepted automatically.")
    screening_taxonomy = models.ForeignKey(
        "taxonomy.Taxonomy", on_delete=models.PROTECT, null=True, blank=True, related_name="+",
        help_text="What screening rounds ask: in or out, and why.",
    )  # fmt: skip
    screened_out = models.CharField(
        max_length=7, choices=ScreenedOut.choices, default=ScreenedOut.EXCLUDE, db_default=ScreenedOut.EXCLUDE,
        help_text="How labeled items that are screened out count.",
    )  # fmt: skip
    screening_keywords = ArrayField(
        models.CharField(max_length=200), default=list, db_default=[], blank=True,
        help_text="Words that are highlighted for everyone who screens.",
    )  # fmt: skip
    pseudonymise = models.BooleanField(default=True, help_text="Exports name authors of issues by a keyed hash.")
    pseudonym_key = models.CharField(max_length=64, default=new_key, editable=False, help_text="Secret; never shown.")
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)
    archived_at = models.DateTimeField(null=True, blank=True, help_text="Read-only since then.")
    deleted_at = models.DateTimeField(null=True, blank=True, help_text="Deleted then; a job deletes its rows.")

    class Meta:
        ordering = ["slug"]

    def __str__(self) -> str:
        return self.title

    @property
    def is_resolved_by_item(self) -> bool:
        """Whether an item is resolved as soon as its raters are done, while its round is still open."""
        return self.resolve_when == self.ResolveWhen.ITEM

    @property
    def has_rules(self) -> bool:
        """Whether something is decided, or someone asked, by rule where raters differ."""
        return self.majority or self.third_rater


class Membership(models.Model):
    """Someone's part in a study: a user, or only a name for a rater who came in from a sheet."""

    class Role(models.TextChoices):
        OWNER = "owner"
        ADJUDICATOR = "adjudicator"
        RATER = "rater"
        READER = "reader"

    class Kind(models.TextChoices):
        PERSON = "person"
        MACHINE = "machine"

    class State(models.TextChoices):
        """Where someone stands with a study; it follows from the columns."""

        MEMBER = "member"
        INVITED = "invited"
        DECLINED = "declined"
        WITHDRAWN = "withdrawn"
        LEFT = "left"
        NAME_ONLY = "name_only"

    study = models.ForeignKey(Study, on_delete=models.PROTECT, related_name="memberships")
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, blank=True, related_name="memberships"
    )
    name = models.CharField(max_length=150, blank=True, help_text="Only for a rater without a user.")
    formerly = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, blank=True, related_name="+",
        help_text="Who it was on the server that the study came from; what they did there names them so.",
    )  # fmt: skip
    roles = ArrayField(models.CharField(max_length=12, choices=Role.choices))
    code = models.CharField(max_length=20, null=True, blank=True, help_text="A rater's name in every answer: R1, R2 …")
    kind = models.CharField(max_length=10, choices=Kind.choices, default=Kind.PERSON)
    machine_name = models.CharField(max_length=100, blank=True, help_text="Name of a model rater's model.")
    machine_version = models.CharField(max_length=100, blank=True)
    machine_prompt = models.TextField(blank=True, help_text="Prompt of a model rater.")
    created_at = models.DateTimeField(auto_now_add=True)
    former_user = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, blank=True, related_name="former_memberships",
        help_text="Account that left or was removed. `user` is then empty, so it has no access.",
    )  # fmt: skip
    left_at = models.DateTimeField(null=True, blank=True)
    away_until = models.DateField(
        null=True, blank=True, help_text="The day (UTC) of their return; before it they get no items."
    )
    screening_keywords = ArrayField(
        models.CharField(max_length=200), default=list, db_default=[], blank=True,
        help_text="Words that are highlighted for this rater while screening, beside those of the study.",
    )  # fmt: skip
    could_read_until = models.DateTimeField(
        null=True, blank=True, editable=False,
        help_text="When they last lost a role that reads the answers of open rounds; the database sets it.",
    )  # fmt: skip
    invited_user = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, blank=True, related_name="invited_memberships",
        help_text="The account that was invited and has not accepted: then `user` is empty, and `name` is as typed.",
    )  # fmt: skip
    invited_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, blank=True, related_name="+"
    )
    invited_at = models.DateTimeField(null=True, blank=True)
    invitation_key = models.CharField(
        max_length=32, null=True, blank=True, unique=True, editable=False,
        help_text="The ID of an invitation that waits for its answer; random.",
    )  # fmt: skip
    declined_at = models.DateTimeField(null=True, blank=True)
    n_invited = models.PositiveSmallIntegerField(
        default=0, db_default=0, help_text="How often the account was invited without accepting."
    )

    class Meta:
        ordering = ["id"]
        constraints = [
            models.UniqueConstraint(fields=["study", "user"], name="a_user_is_a_member_of_a_study_once"),
            models.UniqueConstraint(fields=["study", "former_user"], name="a_user_left_a_study_once"),
            models.UniqueConstraint(fields=["study", "invited_user"], name="a_user_is_invited_to_a_study_once"),
            models.CheckConstraint(
                condition=Q(invited_user__isnull=True) | Q(user__isnull=True, former_user__isnull=True),
                name="an_invited_user_is_no_member",
            ),
            models.CheckConstraint(
                condition=Q(invitation_key__isnull=True) | Q(invited_user__isnull=False),
                name="an_invitation_has_an_invited_user",
            ),
            models.CheckConstraint(
                condition=Q(user__isnull=True) | Q(former_user__isnull=True), name="who_left_is_no_member"
            ),
            models.UniqueConstraint(fields=["study", "code"], name="a_rater_code_is_used_once_in_a_study"),
            models.CheckConstraint(
                condition=Q(user__isnull=False) | ~Q(name=""), name="a_member_is_a_user_or_has_a_name"
            ),
        ]

    def __str__(self) -> str:
        return self.code or self.signed_name

    def save(self, *arguments: Any, **options: Any) -> None:
        """Saves the row; where a role by which they could read ends, `could_read_until` is set again after the commit.

        They read until others see the end, which can be some time after the database noted it.
        """
        is_new, known = self._state.adding, self.could_read_until
        super().save(*arguments, **options)
        if not is_new:
            ended = Membership.objects.filter(pk=self.pk, could_read_until__isnull=False)
            ended = ended.exclude(could_read_until=known) if known else ended
            transaction.on_commit(lambda: ended.update(could_read_until=Now()), robust=True)

    @property
    def is_machine(self) -> bool:
        return self.kind == self.Kind.MACHINE

    @property
    def is_away(self) -> bool:
        """Whether they get no items now."""
        return self.away_until is not None and timezone.now().date() < self.away_until

    @property
    def display_name(self) -> str:
        return self.user.display_name if self.user else self.name

    @property
    def signed_name(self) -> str:
        """The same where someone reads who did something, with the user name; a name of a file alone is marked."""
        if self.user is not None:
            return self.user.signed_name
        was_here = self.former_user_id is not None or (self.invited_user_id is not None and self.formerly_id is None)
        return self.name if was_here or self.is_machine else f"{self.name} ({IMPORTED})"

    @property
    def is_invited(self) -> bool:
        """Whether an invitation waits for the answer of its account."""
        return self.invitation_key is not None

    @property
    def state(self) -> str:
        """One of `State`."""
        if self.user_id is not None:
            return self.State.MEMBER
        if self.is_invited:
            return self.State.INVITED
        if self.invited_user_id is not None:
            return self.State.DECLINED if self.declined_at else self.State.WITHDRAWN
        return self.State.LEFT if self.left_at else self.State.NAME_ONLY

    @property
    def user_name(self) -> str | None:
        """The user name as the owner may know it: of someone who was invited as it was typed.

        Someone with another name here (who left, or was linked to an account) was invited by the user name, too.
        """
        if self.user is not None or self.invited_user is None:
            return str(self.user.username) if self.user else None
        name = str(self.invited_user.username)
        return self.name if folded(self.name) == folded(name) else name

    @property
    def accounts(self) -> list[Any]:
        """The users whose acts here are this member's: now, before they left, and where the study came from."""
        return [each for each in (self.user, self.former_user, self.formerly) if each is not None]

    @property
    def all_accounts(self) -> list[Any]:
        """`accounts`, and the one that was invited, also again after the person left."""
        return [*self.accounts, *([self.invited_user] if self.invited_user is not None else [])]

    @property
    def account_ids(self) -> set[int]:
        """The ids of `all_accounts`: of those whose acts are this person's."""
        ids = (self.user_id, self.former_user_id, self.formerly_id, self.invited_user_id)
        return {each for each in ids if each is not None}

    def has_role(self, *roles: str) -> bool:
        return any(role in self.roles for role in roles)


class ReaderLink(models.Model):
    """A way in for reviewers without an account: who opens it reads the closed rounds of one study in that browser.

    It holds until it ends or is withdrawn; only the digest of what stands in its address is kept.
    """

    study = models.ForeignKey(Study, on_delete=models.PROTECT, related_name="reader_links")
    number = models.PositiveIntegerField()
    label = models.CharField(max_length=100, help_text="Note for its creator.")
    digest = models.CharField(max_length=64, unique=True, editable=False)
    with_issues = models.BooleanField(default=False, help_text="Its readers see the texts of issues, private ones too.")
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)
    ends_at = models.DateTimeField(null=True, blank=True, help_text="Empty: valid until it is revoked.")
    withdrawn_at = models.DateTimeField(null=True, blank=True)
    n_opened = models.PositiveIntegerField(default=0, help_text="How often it was opened.")
    last_opened_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["-number"]
        constraints = [
            models.UniqueConstraint(fields=["study", "number"], name="a_reader_link_number_is_used_once_in_a_study"),
        ]

    def __str__(self) -> str:
        return f"Reader link {self.number}"

    @property
    def holds(self) -> bool:
        """Whether it can be read by now."""
        return self.withdrawn_at is None and (self.ends_at is None or self.ends_at > timezone.now())


class Invitation(models.Model):
    """A link by which people become members of a study; only its digest is kept."""

    study = models.ForeignKey(Study, on_delete=models.PROTECT, related_name="invitations")
    roles = ArrayField(models.CharField(max_length=12, choices=Membership.Role.choices))
    note = models.CharField(max_length=200, blank=True, help_text="Note, visible to owners.")
    email = models.EmailField(blank=True, help_text="Where it was sent.")
    digest = models.CharField(max_length=64, unique=True, editable=False)
    n_most = models.PositiveIntegerField(default=1, help_text="How many people may use it.")
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)
    expires_at = models.DateTimeField()
    withdrawn_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["-id"]


class InvitationUse(models.Model):
    """Someone became a member by an invitation."""

    invitation = models.ForeignKey(Invitation, on_delete=models.PROTECT, related_name="uses")
    member = models.ForeignKey(Membership, on_delete=models.PROTECT, related_name="+")
    accepted_at = models.DateTimeField(auto_now_add=True)
    made_account = models.BooleanField(
        default=False, db_default=False, help_text="Whether the account was created by accepting the invitation."
    )

    class Meta:
        ordering = ["id"]
        constraints = [
            models.UniqueConstraint(fields=["invitation", "member"], name="an_invitation_is_used_once_by_a_member")
        ]


class Sample(models.Model):
    """Issues drawn from a frame, by seed, in an order that can be drawn again."""

    study = models.ForeignKey(Study, on_delete=models.PROTECT, related_name="samples")

    number = models.PositiveIntegerField(
        null=True, editable=False, help_text="Within its study, from 1; the database gives it."
    )

    class Allocation(models.TextChoices):
        PROPORTIONAL = "proportional", "in proportion to the strata"
        EQUAL = "equal", "equally many of each stratum"

    filter = models.JSONField(default=dict, blank=True, help_text="The frame's query.")
    counts = models.JSONField(default=list, blank=True, help_text="How many issues were left after each step.")
    frame = ArrayField(
        models.BigIntegerField(), default=list, blank=True,
        help_text="The snapshots of the frame's issues when it was drawn, in the order that the seed drew from.",
    )  # fmt: skip
    frame_strata = ArrayField(
        models.SmallIntegerField(), default=list, db_default=[], blank=True,
        help_text="Where snapshots do not tell the strata: for each of the frame its place in `strata`, from 0.",
    )  # fmt: skip
    n_frame = models.PositiveIntegerField(null=True, blank=True, help_text="Issues in the frame.")
    size = models.PositiveIntegerField()
    confidence = models.FloatField(null=True, blank=True, help_text="0–1; with margin, what the size comes from.")
    margin = models.FloatField(null=True, blank=True, help_text="Half the width of the interval, 0–1.")
    seed = models.BigIntegerField()
    stratify_by = models.CharField(max_length=40, blank=True)
    allocation = models.CharField(max_length=12, choices=Allocation.choices, default=Allocation.PROPORTIONAL)
    at_least_one = models.BooleanField(default=False, help_text="At least one issue from every stratum.")
    strata = models.JSONField(default=list, blank=True, help_text="Of each: stratum, n_frame, n_drawn.")
    idempotency_key = models.CharField(max_length=200, blank=True, default="", db_default="")
    request_digest = models.CharField(
        max_length=64, blank=True, default="", db_default="", help_text="SHA-256 of the request, to recognize a resend."
    )
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["id"]
        constraints = [
            models.UniqueConstraint(
                fields=["study", "created_by", "idempotency_key"],
                condition=~Q(idempotency_key=""),
                name="an_idempotency_key_makes_one_sample",
            ),
            models.UniqueConstraint(fields=["study", "number"], name="a_sample_number_is_used_once_in_a_study"),
        ]

    def __str__(self) -> str:
        return f"Sample {self.number}"


class SampleIssue(models.Model):
    """One drawn issue: where in the order, and from which stratum."""

    sample = models.ForeignKey(  # found by the constraints' indexes
        Sample, on_delete=models.PROTECT, related_name="drawn", db_index=False
    )
    issue = models.ForeignKey("ingest.Issue", on_delete=models.PROTECT, related_name="+")
    position = models.PositiveIntegerField()
    stratum = models.CharField(max_length=200, blank=True)

    class Meta:
        ordering = ["position"]
        constraints = [
            models.UniqueConstraint(fields=["sample", "issue"], name="an_issue_is_drawn_once_in_a_sample"),
            models.UniqueConstraint(fields=["sample", "position"], name="a_place_in_a_sample_is_taken_once"),
        ]


class Item(models.Model):
    """An issue in a study, or any imported identifier without an issue."""

    class Screening(models.TextChoices):
        UNSCREENED = "unscreened"
        IN = "in"
        OUT = "out"

    study = models.ForeignKey(  # found by the constraints' indexes
        Study, on_delete=models.PROTECT, related_name="items", db_index=False
    )
    issue = models.ForeignKey("ingest.Issue", on_delete=models.PROTECT, null=True, blank=True, related_name="items")
    identifier = models.CharField(max_length=500)
    snapshot = models.ForeignKey(
        "ingest.Snapshot", null=True, blank=True, on_delete=models.PROTECT, related_name="+",
        help_text="The state that raters read: pinned when the issue became an item, moved on by the owner alone.",
    )  # fmt: skip
    screening = models.CharField(max_length=10, choices=Screening.choices, default=Screening.UNSCREENED)
    screening_reason = models.CharField(max_length=200, blank=True)
    screened_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.PROTECT, related_name="+", db_index=False
    )
    screened_at = models.DateTimeField(null=True, blank=True)
    attributes = models.JSONField(default=dict, blank=True)

    class Meta:
        ordering = ["id"]
        constraints = [
            models.UniqueConstraint(fields=["study", "identifier"], name="an_item_is_in_a_study_once"),
            models.UniqueConstraint(fields=["study", "issue"], name="an_issue_is_one_item_of_a_study"),
        ]
        indexes = [
            models.Index(fields=["screened_by"], condition=Q(screened_by__isnull=False), name="items_by_screener"),
            models.Index(fields=["study", "screening"], condition=~Q(screening="unscreened"), name="screened_items"),
        ]

    def __str__(self) -> str:
        return self.identifier


class EarlierPin(models.Model):
    """A state that an item was pinned to until its owner moved on to another one; only ever appended."""

    item = models.ForeignKey(Item, on_delete=models.PROTECT, related_name="earlier_pins")
    snapshot = models.ForeignKey("ingest.Snapshot", on_delete=models.PROTECT, related_name="+")
    until = models.DateTimeField(auto_now_add=True, db_default=Now())

    class Meta:
        ordering = ["id"]


class AuditEvent(models.Model):
    """Who did what to a study, and when; only ever appended."""

    DOWNLOADED = "downloaded"

    study = models.ForeignKey(Study, on_delete=models.PROTECT, related_name="audit_events")
    at = models.DateTimeField(auto_now_add=True)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, related_name="+")
    verb = models.CharField(max_length=60)
    detail = models.JSONField(default=dict)
    account = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, related_name="+", db_index=False,
        help_text="Of lines about a member: the account. The line has its user name, which others can have elsewhere.",
    )  # fmt: skip

    class Meta:
        ordering = ["-id"]
        indexes = [
            models.Index(fields=["study", "-id"], name="audit_by_study"),
            models.Index(fields=["study", "verb", "-id"], name="audit_by_verb"),
            models.Index(fields=["study", "user", "-id"], name="audit_by_user"),
            GinIndex(OpClass("detail", name="jsonb_path_ops"), name="audit_by_object"),
        ]
