"""Models of accounts: users, sessions, password links, API tokens, and the server's audit log."""

import json
import re
from hashlib import sha256

from django.conf import settings
from django.contrib.auth.hashers import check_password, make_password
from django.contrib.auth.models import AbstractUser
from django.contrib.sessions.base_session import AbstractBaseSession
from django.db import models
from django.db.models.functions import Lower
from django.utils import timezone

from accounts.keyboard_shortcuts import SINGLE, keys_of
from shared.names import IMPORTED, is_like_a_code

LONGEST_NAME = 150
"""Letters of a name that is kept without an account."""


def digest(plaintext: str) -> str:
    """The SHA-256 that stands for a token or a link; it is random and long, so no salt and no slow hash are needed."""
    return sha256(plaintext.encode()).hexdigest()


class User(AbstractUser):
    """Someone who signs in; what they may do in a study stands in their membership there.

    Who came along with a study of another server (`elsewhere`) only stands by their name beside what they did.
    """

    elsewhere = models.CharField(
        max_length=150, blank=True, db_default="", help_text="The user name on the server that a study came from."
    )

    class Theme(models.TextChoices):
        SYSTEM = "system"
        LIGHT = "light"
        DARK = "dark"

    theme = models.CharField(max_length=10, choices=Theme.choices, blank=True, default="", db_default="")
    keys = models.JSONField(
        default=dict, db_default={}, blank=True, help_text="What differs from the usual keys of the labelling page."
    )

    image_hosts = models.JSONField(
        default=list, db_default=[], blank=True, help_text="Hosts whose images are shown without a click."
    )

    class Mail(models.TextChoices):
        ITEMS = "items", "items that wait for my labels"
        DISAGREEMENTS = "disagreements", "disagreements that I can resolve"
        PROPOSALS = "proposals", "proposed categories that wait for me, and answers to mine"
        SUMMARY = "summary", "who waits for whom in studies that I own, once a week"

    no_mails = models.JSONField(
        default=list, db_default=[], blank=True, help_text="Kinds of e-mail that the person does not want."
    )
    mailed_on = models.DateField(null=True, blank=True, help_text="The last day (UTC) of the daily e-mail.")
    summed_up_on = models.DateField(null=True, blank=True, help_text="The last day (UTC) of the weekly summary.")

    password_link = models.ForeignKey(
        "accounts.PasswordLink", on_delete=models.SET_NULL, null=True, blank=True, related_name="+", editable=False,
        help_text="The link that the present password goes back to: it was set by it, or changed by who knew that one.",
    )  # fmt: skip
    has_notice = models.BooleanField(
        default=False, db_default=False, editable=False,
        help_text="Whether a password was set by a link, which the person has not confirmed.",
    )  # fmt: skip

    class Meta:
        constraints = [
            models.UniqueConstraint(Lower("username"), name="a_user_name_is_taken_once_whatever_its_case"),
        ]

    @classmethod
    def named(cls, *usernames: str) -> models.QuerySet["User"]:
        """The accounts that these user names mean, each at most one: compared as by the constraint above.

        `iexact` compares capital letters, and those of ivan and ıvan are the same.
        """
        names = [Lower(models.Value(cls.normalize_username(each.strip()))) for each in usernames]
        return cls.objects.alias(lower_name=Lower("username")).filter(lower_name__in=names)

    def check_password(self, raw_password: str | None) -> bool:
        """Whether this is the password. An old hash is replaced unless another password was set in the meantime."""

        def keep(raw_password: str | None) -> None:
            was, self.password = self.password, make_password(raw_password)
            User.objects.filter(pk=self.pk, password=was).update(password=self.password)

        return check_password(raw_password, self.password, keep)

    @property
    def all_keys(self) -> str:
        """The keys of the labelling page as its script reads them."""
        return json.dumps({**keys_of(self.keys), SINGLE: self.keys.get(SINGLE, True)})

    def wants(self, mail: str) -> bool:
        """Whether they want e-mails of this kind."""
        return mail not in self.no_mails

    @property
    def display_name(self) -> str:
        return self.get_full_name() or self.home_name

    @property
    def signed_name(self) -> str:
        """The name where someone reads who did something: the user name as well, for people choose full names freely.

        A user name that looks like a rater's code, or like the server, is marked as a user name, and a name that only
        a study file gave as imported: someone here can have the same.
        """
        return self._signed(self.get_full_name() or self.home_name, *([IMPORTED] if self.elsewhere else []))

    @property
    def kept_name(self) -> str:
        """The same, without that mark, as a row keeps it that has no account any more; too long a full name is cut."""
        return self.name_within(LONGEST_NAME)

    def name_within(self, length: int) -> str:
        """The same in so many letters."""
        full = self.get_full_name()
        whole = self._signed(full or self.home_name)
        room = length - len(self._signed("…"))
        if len(whole) <= length or room < 1:
            return whole[:length]
        return self._signed(f"{full[:room]}…")

    def _signed(self, shown: str, *marks: str) -> str:
        if shown != self.home_name:
            marks = self.home_name, *marks
        elif is_like_a_code(shown) or shown.lower() == "server":
            marks = "user name", *marks
        return f"{shown} ({', '.join(marks)})" if marks else shown

    @property
    def home_name(self) -> str:
        """The user name; of people of another server the one that they had there."""
        return self.elsewhere or self.username

    @property
    def first_home_name(self) -> str:
        """The same without the number that keeps two people of one name apart where a study was moved twice."""
        return re.sub(rf"( \({IMPORTED} \d+\))+$", "", self.home_name) if self.elsewhere else self.username

    @property
    def told_name(self) -> str:
        """The user name, as it is told with what someone did; that of people of another server is marked."""
        return f"{self.elsewhere} ({IMPORTED})" if self.elsewhere else self.username


class ApiToken(models.Model):
    """A script's key: only the digest is kept; read ⊂ rate ⊂ manage."""

    class Scope(models.TextChoices):
        READ = "read"
        RATE = "rate"
        MANAGE = "manage"

    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="tokens")
    name = models.CharField(max_length=100, help_text="What this token is for.")
    scope = models.CharField(max_length=10, choices=Scope.choices, default=Scope.READ)
    digest = models.CharField(max_length=64, unique=True, editable=False)
    prefix = models.CharField(max_length=12, editable=False, help_text="The first characters, to tell tokens apart.")
    created_at = models.DateTimeField(auto_now_add=True)
    expires_at = models.DateTimeField(null=True, blank=True)
    last_used_at = models.DateTimeField(null=True, blank=True)
    revoked_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["-created_at"]

    @property
    def is_over(self) -> bool:
        return self.expires_at is not None and self.expires_at <= timezone.now()


class Session(AbstractBaseSession):
    """A browser in which someone is signed in, or a visitor's; the row is the session."""

    user = models.ForeignKey(User, on_delete=models.CASCADE, null=True, related_name="sessions")
    browser = models.CharField(max_length=300, blank=True, help_text="As it names itself.")
    address = models.CharField(max_length=45, blank=True, help_text="Where it was last seen, shortened.")
    begun_at = models.DateTimeField()
    seen_at = models.DateTimeField(help_text="To the hour.")

    class Meta:
        indexes = [models.Index(fields=["user"], condition=models.Q(user__isnull=False), name="sessions_of_a_person")]

    @property
    def number(self) -> str:
        """What it is called in an address; its key would be the session itself."""
        return sha256(self.pk.encode()).hexdigest()[:16]

    @classmethod
    def get_session_store_class(cls) -> type:
        from accounts.sessions import SessionStore

        return SessionStore


class PasswordLink(models.Model):
    """A link by which someone chooses a new password, once; only its digest is kept."""

    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="password_links")
    made_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, related_name="+",
        help_text="None: asked for by e-mail, or made in the shell.",
    )  # fmt: skip
    of_study = models.BigIntegerField(
        null=True, help_text="ID of the study whose owner made it. None: staff, the shell or an e-mail."
    )
    digest = models.CharField(max_length=64, unique=True, editable=False)
    created_at = models.DateTimeField(auto_now_add=True)
    expires_at = models.DateTimeField()
    used_at = models.DateTimeField(null=True)
    told_at = models.DateTimeField(null=True, help_text="When its person was told that somebody else had made it.")
    by_email = models.BooleanField(
        default=False, db_default=False, help_text="Sent to the person's own address, because they asked for it."
    )
    to_former_address = models.BooleanField(
        default=False, db_default=False,
        help_text="Sent to an e-mail address that was not the account's any more when the link was used.",
    )  # fmt: skip
    confirmed_at = models.DateTimeField(
        null=True, help_text="When its person, or staff for them, confirmed that they used it themselves."
    )

    class Meta:
        ordering = ["-created_at"]

    @property
    def is_to_own_address(self) -> bool:
        """Whether it was sent to the address that its person had until they used it."""
        return self.by_email and not self.to_former_address


class ServerEvent(models.Model):
    """Who did what on this server outside of studies, and when; only ever appended."""

    at = models.DateTimeField(auto_now_add=True)
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, related_name="+",
        help_text="None: nobody was signed in, or it was done in the shell.",
    )  # fmt: skip
    about = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, related_name="+",
        help_text="Whom it concerns.",
    )  # fmt: skip
    verb = models.CharField(max_length=60)
    detail = models.JSONField(default=dict)

    class Meta:
        ordering = ["-id"]
        indexes = [
            models.Index(fields=["verb", "-id"], name="server_audit_by_verb"),
            models.Index(fields=["user", "-id"], name="server_audit_by_user"),
            models.Index(fields=["about", "-id"], name="server_audit_by_person"),
        ]
