"""People who sign in, and the tokens of their scripts."""

from django.contrib.auth.models import AbstractUser
from django.db import models
from django.db.models.functions import Lower


class User(AbstractUser):
    """Someone who signs in; what they may do in a study stands in their membership there."""

    class Meta:
        constraints = [
            models.UniqueConstraint(Lower("username"), name="a_user_name_is_taken_once_whatever_its_case"),
        ]

    @property
    def display_name(self) -> str:
        return self.get_full_name() or self.username


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
