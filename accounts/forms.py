"""Forms of sign-in, registration, and user settings."""

from datetime import datetime, timedelta
from typing import Any, cast

from django import forms
from django.contrib.auth.base_user import AbstractBaseUser
from django.contrib.auth.forms import AuthenticationForm
from django.utils import timezone

from accounts.audit import AuditQuery
from accounts.keyboard_shortcuts import SINGLE, WORDS, keys_of
from accounts.known_browsers import known_browser
from accounts.models import ApiToken, User
from accounts.passwords import REFUSED, is_refused
from shared.rate_limits import count_sign_in, give_back, in_minutes


class SignInForm(AuthenticationForm):
    """Name and password."""

    error_messages = {
        "invalid_login": "Wrong user name or password. Passwords are case-sensitive.",
        "inactive": "This account may no longer sign in.",
    }

    wait_seconds = 0

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["username"].label = "User name"

    def clean(self) -> dict[str, Any]:
        """Counts the try before the password is looked at; `wait_seconds` says how long to wait."""
        assert self.request is not None
        name = self.cleaned_data.get("username")
        if name is None or self.cleaned_data.get("password") is None:
            return super().clean()
        counted = count_sign_in(self.request, name, known_browser(self.request, name))
        self.wait_seconds = counted.wait_seconds
        if self.wait_seconds:
            raise forms.ValidationError(
                f"Too many sign-in attempts. Wait {in_minutes(self.wait_seconds)}, then try again."
            )
        cleaned = super().clean()
        give_back(counted)
        return cleaned

    def confirm_login_allowed(self, user: AbstractBaseUser) -> None:
        super().confirm_login_allowed(cast(User, user))
        assert self.request is not None
        if is_refused(self.cleaned_data["password"], self.request):
            raise forms.ValidationError(REFUSED)


def own_password(help_text: str = "", *, required: bool = True) -> forms.CharField:
    """The password of who is signed in, asked for once more."""
    return forms.CharField(
        label="Your password",
        strip=False,
        required=required,
        help_text=help_text,
        widget=forms.PasswordInput(attrs={"autocomplete": "current-password"}),
        error_messages={"required": "Enter your password to confirm this."},
    )


class ConfirmedForm(forms.Form):
    """A form that asks for the password again; without the field for who has none. A page may have several."""

    def __init__(self, *args: Any, has_password: bool = True, **kwargs: Any) -> None:
        kwargs.setdefault("auto_id", f"{type(self).__name__.lower()}_%s")
        super().__init__(*args, **kwargs)
        if not has_password:
            del self.fields["password"]

    @property
    def own_password(self) -> str:
        return str(self.cleaned_data.get("password", ""))


class ProfileForm(ConfirmedForm):
    full_name = forms.CharField(label="Name", max_length=250, required=False, help_text="Shown to other people.")
    email = forms.EmailField(label="E-mail", required=False)
    password = own_password("Only needed for a new e-mail address.", required=False)


class ConnectForm(ConfirmedForm):
    password = own_password("Needed to connect a provider.")


class PasswordForm(forms.Form):
    old = forms.CharField(
        label="Current password",
        strip=False,
        widget=forms.PasswordInput(attrs={"autocomplete": "current-password"}),
    )
    new = forms.CharField(
        label="New password",
        strip=False,
        help_text="12 characters or more. A shorter password has to be hard to guess.",
        widget=forms.PasswordInput(attrs={"autocomplete": "new-password"}),
    )

    revoke_tokens = forms.BooleanField(
        label="Also revoke all my API tokens", required=False, help_text="Scripts that use them stop working."
    )


class FirstPasswordForm(forms.Form):
    new = PasswordForm.declared_fields["new"]


class CloseForm(ConfirmedForm):
    typed = forms.CharField(
        label="Your user name", max_length=150, widget=forms.TextInput(attrs={"autocomplete": "off"})
    )
    password = own_password()


class EmailForm(forms.Form):
    email = forms.EmailField(label="E-mail", widget=forms.EmailInput(attrs={"autocomplete": "email"}))


class NewAccountForm(forms.Form):
    """Who accepts an invitation and has no account; without a password where they come by a provider."""

    username = forms.CharField(
        label="User name",
        max_length=150,
        help_text="Letters, digits and @ . + - _",
        widget=forms.TextInput(attrs={"autocomplete": "username", "autocapitalize": "none"}),
    )
    full_name = forms.CharField(
        label="Name", max_length=250, required=False, widget=forms.TextInput(attrs={"autocomplete": "name"})
    )
    email = forms.EmailField(label="E-mail", required=False, widget=forms.EmailInput(attrs={"autocomplete": "email"}))
    password = PasswordForm.declared_fields["new"]

    def __init__(self, *args: Any, with_password: bool = True, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["password"].label = "Password"
        if not with_password:
            del self.fields["password"]


class KeysForm(forms.Form):
    """A key for each action of the labelling page."""

    single = forms.BooleanField(
        label="Single keys on",
        required=False,
        help_text="When off, only Tab, arrows, Enter and Ctrl Enter work. Useful with screen readers and speech input.",
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for action, words in WORDS.items():
            field = forms.CharField(label=words.capitalize(), max_length=1, required=False)
            field.widget.attrs |= {
                "class": "one-key mono",
                "autocomplete": "off",
                "autocapitalize": "none",
                "size": "2",
            }
            self.fields[action] = field

    @staticmethod
    def of(user: User) -> dict[str, Any]:
        """What the form shows at first."""
        return {**keys_of(user.keys), SINGLE: user.keys.get(SINGLE, True)}

    @property
    def keys(self) -> list[forms.BoundField]:
        return [self[action] for action in WORDS]


class ImageHostsForm(forms.Form):
    """Hosts whose images are shown without a click."""

    hosts = forms.CharField(
        label="Hosts",
        required=False,
        max_length=15_000,
        widget=forms.Textarea(attrs={"rows": 3, "spellcheck": "false", "class": "mono"}),
        help_text="One per line, for example user-images.githubusercontent.com. Such a host can see that you read an "
        "issue with its images.",
    )

    @staticmethod
    def of(user: User) -> dict[str, Any]:
        """What the form shows at first."""
        return {"hosts": "\n".join(user.image_hosts)}


class MailsForm(forms.Form):
    """The kinds of e-mail that a person wants."""

    mails = forms.MultipleChoiceField(
        label="Send me an e-mail about",
        choices=User.Mail.choices,
        required=False,
        widget=forms.CheckboxSelectMultiple,
    )

    @staticmethod
    def of(user: User) -> dict[str, Any]:
        """What the form shows at first."""
        return {"mails": [kind for kind in User.Mail.values if user.wants(kind)]}


class TokenForm(ConfirmedForm):
    DAYS = (("30", "30 days"), ("90", "90 days"), ("365", "1 year"), ("never", "Never"))
    SCOPES = (
        (ApiToken.Scope.READ, "read"),
        (ApiToken.Scope.RATE, "rate: read and label"),
        (ApiToken.Scope.MANAGE, "manage: everything you may do"),
    )

    name = forms.CharField(label="Token name", max_length=100)
    scope = forms.ChoiceField(label="Scope", choices=SCOPES)
    days = forms.ChoiceField(label="Expires", choices=DAYS, initial="90")
    password = own_password()

    @property
    def expires_at(self) -> datetime | None:
        days = self.cleaned_data["days"]
        return None if days == "never" else timezone.now() + timedelta(days=int(days))


class AuditForm(forms.Form):
    """Narrows an audit; what is left empty narrows nothing."""

    who = forms.CharField(max_length=150, required=False)
    what = forms.CharField(max_length=60, required=False)
    since = forms.DateField(required=False, widget=forms.DateInput(attrs={"type": "date"}))
    until = forms.DateField(required=False, widget=forms.DateInput(attrs={"type": "date"}))
    of = forms.CharField(max_length=300, required=False)

    def asked(self) -> AuditQuery:
        """What was asked; a field that can't be read narrows nothing, and says so beside it."""
        self.is_valid()
        return AuditQuery(**self.cleaned_data)
