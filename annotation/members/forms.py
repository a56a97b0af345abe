"""Form of a reader link."""

from typing import Any

from django import forms

from annotation.members.actions.reader_links import LONGEST_LABEL, MOST_DAYS
from annotation.model_raters.actions import LONGEST
from annotation.models import Membership


class ReaderLinkForm(forms.Form):
    label = forms.CharField(
        max_length=LONGEST_LABEL, label="Name", help_text="Visible to you only, for example “reviewers of ICSE”."
    )
    days = forms.IntegerField(
        min_value=1,
        max_value=MOST_DAYS,
        required=False,
        label="Days until it expires",
        help_text="Leave empty for a link that stays valid until you revoke it.",
    )
    with_issues = forms.BooleanField(
        required=False,
        label="Include issue texts",
        help_text="Titles, bodies, comments and quotes, including those of private repositories.",
    )


ROLES = (
    (Membership.Role.OWNER, "owner: changes the study, its members and rounds"),
    (Membership.Role.ADJUDICATOR, "adjudicator: resolves disagreements"),
    (Membership.Role.RATER, "rater: labels issues under a code"),
    (Membership.Role.READER, "reader: sees results"),
)


class MemberForm(forms.Form):
    username = forms.CharField(
        label="User name",
        max_length=150,
        widget=forms.TextInput(attrs={"autocomplete": "off", "autocapitalize": "none"}),
    )
    roles = forms.MultipleChoiceField(
        choices=ROLES,
        widget=forms.CheckboxSelectMultiple,
        error_messages={"required": "Choose at least one role."},
    )
    kind = forms.ChoiceField(
        label="Rater",
        choices=[(Membership.Kind.PERSON, "a person"), (Membership.Kind.MACHINE, "a model or tool, through a script")],
        initial=Membership.Kind.PERSON,
    )
    machine_name = forms.CharField(
        label="Model", max_length=100, required=False, help_text="For example its public name."
    )
    machine_version = forms.CharField(label="Version", max_length=100, required=False)
    machine_prompt = forms.CharField(
        label="Prompt",
        max_length=LONGEST["prompt"],
        required=False,
        widget=forms.Textarea(attrs={"rows": 4, "class": "mono"}),
        help_text="Prompt of the model. Stored with the study. Another prompt is another rater.",
    )

    shown = forms.CharField(required=False, max_length=200, widget=forms.HiddenInput)
    """The kind and the roles that the page showed, separated by commas; empty where it adds someone."""

    @property
    def chosen(self) -> dict[str, Any]:
        """What was chosen, as the action takes it."""
        cleaned = self.cleaned_data
        machine = {name: cleaned[f"machine_{name}"] for name in ("name", "version", "prompt")}
        chosen = {name: cleaned[name] for name in ("username", "roles", "kind")}
        expected = set(filter(None, cleaned["shown"].split(","))) if "shown" in self.data else None
        return chosen | {"machine": machine if any(machine.values()) else None, "expected": expected}


class InvitationForm(forms.Form):
    """A link by which people become members; it stands beside `MemberForm`, so its fields have ids of their own."""

    def __init__(self, *args: Any, **named: Any) -> None:
        super().__init__(*args, **{"auto_id": "invitation_%s", **named})

    roles = forms.MultipleChoiceField(
        choices=ROLES,
        initial=[Membership.Role.RATER],
        widget=forms.CheckboxSelectMultiple,
        error_messages={"required": "Choose at least one role."},
    )
    note = forms.CharField(label="Note", max_length=200, required=False, help_text="Visible to owners only.")
    email = forms.EmailField(label="E-mail", required=False)
    days = forms.TypedChoiceField(
        label="Expires after",
        coerce=int,
        choices=[(1, "1 day"), (3, "3 days"), (7, "a week"), (14, "two weeks"), (30, "30 days"), (90, "90 days")],
        initial=14,
    )
    n_most = forms.IntegerField(label="Maximum uses", min_value=1, max_value=200, initial=1)
