"""Forms of fetches and uploads."""

from typing import Any

from django import forms

from ingest.actions.fetches import LAST, labels_in


class SinceField(forms.DateField):
    """A date, or "last": from where the last complete fetch ended."""

    def to_python(self, value: Any) -> Any:
        return value if value == LAST else super().to_python(value)


class FetchForm(forms.Form):
    """A repository at GitHub, and which of its issues."""

    repository = forms.CharField(
        max_length=300,
        help_text="owner/name, or its URL.",
        widget=forms.TextInput(attrs={"placeholder": "deepspeedai/DeepSpeed", "spellcheck": "false"}),
    )
    state = forms.ChoiceField(choices=[("all", "Open and closed"), ("open", "Open"), ("closed", "Closed")])
    labels = forms.CharField(
        label="GitHub labels",
        max_length=500,
        required=False,
        help_text="Separated by commas. Finds issues that have all of them. Put a label that contains a comma in "
        "double quotes.",
    )
    since = SinceField(
        label="Changed since",
        required=False,
        widget=forms.DateInput(attrs={"type": "date"}),
        error_messages={"invalid": "Enter a date as 2024-05-31."},
    )

    def asked(self) -> dict[str, Any]:
        """What `start_fetch` takes."""
        return self.cleaned_data | {"labels": labels_in(self.cleaned_data["labels"])}


class UploadForm(forms.Form):
    """A file of issues."""

    file = forms.FileField(
        help_text="JSON or JSON Lines, as printed by gh issue list --json … and gh api --paginate; or CSV, XLSX.",
        widget=forms.ClearableFileInput(attrs={"accept": ".json,.jsonl,.ndjson,.txt,.csv,.tsv,.xlsx"}),
        allow_empty_file=True,
    )
    repository = forms.CharField(
        max_length=300,
        required=False,
        help_text="For rows that don't say where they are from.",
        widget=forms.TextInput(attrs={"placeholder": "owner/name", "spellcheck": "false"}),
    )
    private = forms.BooleanField(
        required=False, initial=True, label="Private: visible to you, staff and the studies that use the issues"
    )
