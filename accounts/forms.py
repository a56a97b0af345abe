"""Forms of sign-in and a person's own page."""

from datetime import datetime, timedelta
from typing import Any

from django import forms
from django.contrib.auth.forms import AuthenticationForm
from django.utils import timezone

from accounts.models import ApiToken


class SignInForm(AuthenticationForm):
    """Name and password."""

    error_messages = {
        "invalid_login": "This name and password do not go together. Mind capital letters in the password.",
        "inactive": "This person may no longer sign in.",
    }

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["username"].label = "User name"


class ProfileForm(forms.Form):
    full_name = forms.CharField(label="Name", max_length=250, required=False, help_text="As others see it.")
    email = forms.EmailField(label="E-mail", required=False)


class PasswordForm(forms.Form):
    old = forms.CharField(
        label="Present password",
        strip=False,
        widget=forms.PasswordInput(attrs={"autocomplete": "current-password"}),
    )
    new = forms.CharField(
        label="New password",
        strip=False,
        help_text="At least 8 characters, and not one of the common ones.",
        widget=forms.PasswordInput(attrs={"autocomplete": "new-password"}),
    )


class TokenForm(forms.Form):
    DAYS = (("30", "30 days"), ("90", "90 days"), ("365", "1 year"), ("never", "Never"))
    SCOPES = (
        (ApiToken.Scope.READ, "read"),
        (ApiToken.Scope.RATE, "rate: read and label"),
        (ApiToken.Scope.MANAGE, "manage: all I may do"),
    )

    name = forms.CharField(label="What for", max_length=100)
    scope = forms.ChoiceField(label="Scope", choices=SCOPES)
    days = forms.ChoiceField(label="Ends after", choices=DAYS, initial="90")

    @property
    def expires_at(self) -> datetime | None:
        days = self.cleaned_data["days"]
        return None if days == "never" else timezone.now() + timedelta(days=int(days))
