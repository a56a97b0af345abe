"""Forms of taxonomies: a title, and a document as a file, as text, or ready-made."""

from django import forms

from taxonomy.parsing import BYTES_MAX
from taxonomy.ready_made import preset


class TitleForm(forms.Form):
    """The title of a new taxonomy."""

    title = forms.CharField(max_length=200, widget=forms.TextInput(attrs={"placeholder": "Faults in training"}))


class DocumentForm(forms.Form):
    """Takes a file before a text, and a text before the name of a ready-made taxonomy."""

    file = forms.FileField(required=False, label="A file", help_text="YAML or JSON, up to 2 MB.")
    text = forms.CharField(
        required=False,
        strip=False,
        label="Or text",
        widget=forms.Textarea(attrs={"rows": 14, "spellcheck": "false", "class": "document-text", "wrap": "off"}),
    )
    preset = forms.CharField(required=False, widget=forms.HiddenInput)

    def document(self) -> str | bytes:
        """What was given; empty where nothing was. Raises TaxonomyNotFound for an unknown ready-made one."""
        if file := self.cleaned_data.get("file"):
            return bytes(file.read(BYTES_MAX + 1))
        if self.cleaned_data["text"].strip() or not self.cleaned_data["preset"]:
            return str(self.cleaned_data["text"]).replace("\r\n", "\n")
        return preset(self.cleaned_data["preset"]).text
