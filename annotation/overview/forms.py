"""Forms of the guided path to a first study: issues, taxonomy, people, first round."""

import io
from collections.abc import Sequence
from typing import Any

from django import forms

from accounts.models import User
from annotation.models import Membership
from annotation.overview.queries.first_study import StoredRepository
from ingest.errors import Unreadable
from ingest.tables.files import open_table
from taxonomy.models import Taxonomy
from taxonomy.ready_made import Preset

PILOT_ITEMS = 20
SHEET_BYTES_MAX = 1_000_000


def _repository_input() -> forms.TextInput:
    return forms.TextInput(attrs={"placeholder": "owner/name", "spellcheck": "false", "autocapitalize": "none"})


class IssuesForm(forms.Form):
    """Where the issues come from; what is chosen decides which of the other fields is read."""

    source = forms.ChoiceField(
        choices=[
            ("github", "A repository on GitHub"),
            ("file", "A file"),
            ("stored", "Issues that are stored here"),
            ("demo", "60 made-up issues, to try Concord"),
        ],
        widget=forms.RadioSelect,
    )
    repository = forms.CharField(
        label="Repository",
        max_length=300,
        required=False,
        widget=_repository_input(),
    )
    file = forms.FileField(
        label="File",
        required=False,
        allow_empty_file=True,
        widget=forms.ClearableFileInput(attrs={"accept": ".json,.jsonl,.ndjson,.txt,.csv,.tsv,.xlsx"}),
    )
    file_repository = forms.CharField(
        label="Repository of the issues",
        max_length=300,
        required=False,
        help_text="Enter it if the file does not name it.",
        widget=_repository_input(),
    )
    stored = forms.ChoiceField(label="Repository", required=False)

    def __init__(self, *given: Any, stored: Sequence[StoredRepository], has_demo: bool, **more: Any) -> None:
        super().__init__(*given, **{"auto_id": "start_%s", **more})
        fields: Any = self.fields
        gone = {"demo"} if has_demo else set()
        gone |= set() if stored else {"stored"}
        fields["source"].choices = [each for each in fields["source"].choices if each[0] not in gone]
        fields["source"].initial = "stored" if stored else "demo"
        fields["stored"].choices = [(each.full_name, str(each)) for each in stored]

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or {}
        if cleaned.get("source") == "github" and not cleaned.get("repository"):
            self.add_error("repository", "Enter the repository as owner/name, or paste its URL.")
        if cleaned.get("source") == "file" and cleaned.get("file") is None and "file" not in self.errors:
            self.add_error("file", "Choose a file.")
        return cleaned


class CodebookForm(forms.Form):
    """The title of the study, and the taxonomy that it begins with."""

    title = forms.CharField(label="Title of the study", max_length=200)
    source = forms.ChoiceField(
        choices=[
            ("ready", "A ready-made taxonomy"),
            ("new", "A new taxonomy, in the tree editor"),
            ("list", "Your own list of categories"),
            ("use", "A taxonomy on this server"),
            ("copy", "A copy of a taxonomy on this server"),
            ("document", "A document in YAML or JSON"),
        ],
        widget=forms.RadioSelect,
        initial="ready",
    )
    preset = forms.ChoiceField(label="Taxonomy", required=False)
    taxonomy = forms.ModelChoiceField(
        Taxonomy.objects.none(), label="Taxonomy", required=False, to_field_name="slug", empty_label=None
    )
    question = forms.CharField(
        label="Dimension",
        required=False,
        max_length=200,
        initial="Category",
        help_text="The question that raters answer with one of these categories. Example: Symptom.",
    )
    list_file = forms.FileField(
        label="Or choose a CSV or XLSX file",
        required=False,
        widget=forms.ClearableFileInput(attrs={"accept": ".csv,.tsv,.txt,.xlsx"}),
    )
    list = forms.CharField(
        label="Paste it",
        required=False,
        max_length=SHEET_BYTES_MAX,
        widget=forms.Textarea(attrs={"rows": 6, "placeholder": "name\tdefinition\tparent"}),
        help_text="One category on each line, or cells from a spreadsheet: name, definition, parent.",
    )
    document_file = forms.FileField(
        label="Or choose a file", required=False, widget=forms.ClearableFileInput(attrs={"accept": ".yaml,.yml,.json"})
    )
    document = forms.CharField(
        label="Paste it",
        required=False,
        max_length=2_000_000,
        strip=False,
        widget=forms.Textarea(attrs={"rows": 8, "spellcheck": "false", "class": "mono"}),
    )

    def __init__(self, *given: Any, presets: Sequence[Preset], taxonomies: Any, **more: Any) -> None:
        super().__init__(*given, **{"auto_id": "start_%s", **more})
        fields: Any = self.fields
        fields["preset"].choices = [
            (each.name, each.document.title + (" (partial)" if each.is_partial else "")) for each in presets
        ]
        fields["preset"].initial = "liu-2023"
        fields["taxonomy"].queryset = taxonomies
        fields["taxonomy"].label_from_instance = lambda taxonomy: f"{taxonomy.title} ({taxonomy.slug})"
        if not taxonomies.exists():
            fields["source"].choices = [each for each in fields["source"].choices if each[0] not in ("use", "copy")]

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or {}
        source = cleaned.get("source")
        if source in ("use", "copy") and not cleaned.get("taxonomy"):
            self.add_error("taxonomy", "Choose a taxonomy.")
        for name in ("list", "document"):
            text = self._text(cleaned, name) if source == name else ""
            if source == name and not text.strip() and name not in self.errors:
                self.add_error(name, "Choose a file, or paste the text.")
            cleaned[f"{name}_text"] = text
        return cleaned

    def _text(self, cleaned: dict[str, Any], name: str) -> str:
        if (file := cleaned.get(f"{name}_file")) is None:
            return str(cleaned.get(name) or "").replace("\r\n", "\n")
        if file.size > 2 * SHEET_BYTES_MAX:
            self.add_error(f"{name}_file", "The file is larger than 2 MB.")
            return "-"
        content = file.read()
        try:
            if name == "list" and content.startswith(b"PK\x03\x04"):
                table = open_table(io.BytesIO(content))
                rows = [table.columns, *(row.cells for row in table.rows)]
                return "\n".join("\t".join(" ".join(cell.split()) for cell in cells) for cells in rows)
            return str(content.decode("utf-8-sig"))
        except UnicodeDecodeError:
            self.add_error(f"{name}_file", "The file is not UTF-8 text. Save it as “CSV UTF-8”, or paste its cells.")
        except Unreadable as error:
            self.add_error(f"{name}_file", error.message)
        return "-"


class PeopleForm(forms.Form):
    """Who labels."""

    labels_too = forms.BooleanField(label="I am one of the raters", required=False, initial=True)
    names = forms.CharField(
        label="Other raters, by user name",
        max_length=2_000,
        required=False,
        help_text="Separate names with a comma or space. Concord invites them under “My work”.",
        widget=forms.TextInput(attrs={"autocomplete": "off", "autocapitalize": "none", "spellcheck": "false"}),
    )

    def __init__(self, *given: Any, **more: Any) -> None:
        super().__init__(*given, **{"auto_id": "start_%s", **more})

    @property
    def user_names(self) -> list[str]:
        return list(dict.fromkeys(self.cleaned_data["names"].replace(",", " ").replace(";", " ").split()))


class FirstRoundForm(forms.Form):
    """The pilot: which issues, how many, by how many raters each."""

    repository = forms.ChoiceField(label="Issues from", error_messages={"required": "Choose a repository."})
    n_items = forms.IntegerField(label="Items", min_value=1, max_value=200, initial=PILOT_ITEMS)
    raters_per_item = forms.IntegerField(label="Raters per item", min_value=1, max_value=100)
    registers = forms.BooleanField(
        label="Register these coefficients and thresholds before labeling begins", required=False, initial=True
    )

    def __init__(
        self,
        *given: Any,
        stored: Sequence[StoredRepository],
        preset: str,
        raters: Sequence[Membership],
        user: User,
        **more: Any,
    ) -> None:
        super().__init__(*given, **{"auto_id": "start_%s", **more})
        fields: Any = self.fields
        fields["repository"].choices = [(each.full_name, str(each)) for each in stored]
        fields["repository"].initial = preset
        fields["raters_per_item"].initial = min(2, len(raters)) or 1
        n_stored = next((each.n for each in stored if each.full_name == preset), None)
        fields["n_items"].initial = min(PILOT_ITEMS, n_stored) if n_stored else PILOT_ITEMS
