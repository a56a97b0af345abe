"""Forms of training items: what is right of one item, or of many in a sheet."""

from collections.abc import Sequence
from typing import Any

from django import forms

from accounts.spreadsheets import as_lines
from annotation.answers import LONGEST_TEXT
from annotation.errors import Unreadable
from annotation.sheets.tables import open_table
from taxonomy.tree import TreeDimension, VersionTree

LONGEST_SHEET = 1_000_000


class KnownForm(forms.Form):
    """The known answer for one item of a round; an answer in several parts comes in a sheet."""

    item = forms.ChoiceField()

    def __init__(self, *given: Any, tree: VersionTree, items: Sequence[str], **more: Any) -> None:
        more["prefix"] = "known"
        super().__init__(*given, **more)
        chosen: Any = self.fields["item"]
        chosen.choices = [(each, each) for each in items]
        self.tree = tree
        for dimension in tree.dimensions:
            self.fields[f"of-{dimension.key}"] = _field(dimension)
        self.fields["why"] = forms.CharField(
            label="Why",
            required=False,
            max_length=LONGEST_TEXT,
            widget=forms.Textarea(attrs={"rows": 2}),
            help_text="Raters read it beside their answer.",
        )

    @property
    def known(self) -> dict[str, Any]:
        """What was filled in, as the action takes it."""
        cleaned = self.cleaned_data
        labels = {}
        for dimension in self.tree.dimensions:
            value = cleaned.get(f"of-{dimension.key}")
            if value not in ("", None, []):
                labels[dimension.key] = {"yes": True, "no": False}[value] if dimension.kind == "boolean" else value
        return {cleaned["item"]: {"labels": labels, "why": cleaned["why"]}}

    def explain(self, fields: dict[str, list[str]]) -> None:
        """Puts what the action refused beside the questions it speaks of."""
        for path, sentences in fields.items():
            name = f"of-{path.rpartition('.')[2]}"
            self.add_error(name if name in self.fields else None, " ".join(sentences))


def _field(dimension: TreeDimension) -> forms.Field:
    shared: dict[str, Any] = {"label": dimension.title, "required": dimension.required and not dimension.applies_when}
    if dimension.has_categories:
        choices = [(each.key, " › ".join(each.names)) for each in dimension.categories if each.selectable]
        if dimension.kind == "multi":
            return forms.MultipleChoiceField(choices=choices, **shared)
        return forms.ChoiceField(choices=[("", "no answer"), *choices], **shared)
    if dimension.kind == "boolean":
        return forms.ChoiceField(choices=[("", "no answer"), ("yes", "yes"), ("no", "no")], **shared)
    if dimension.kind == "number":
        return forms.FloatField(**shared)
    return forms.CharField(max_length=LONGEST_TEXT, **shared)


class SheetForm(forms.Form):
    """Known answers of many items, in long form."""

    file = forms.FileField(
        label="A file",
        required=False,
        help_text="CSV, XLSX or Parquet with the columns item, dimension, value, and part and why if needed.",
    )
    sheet = forms.CharField(
        label="Or its text",
        max_length=LONGEST_SHEET,
        required=False,
        widget=forms.Textarea(attrs={"rows": 4, "class": "mono", "placeholder": "item,part,dimension,value,why"}),
        help_text="Comma-separated, with the same columns; one row for each value, categories by key.",
    )

    def clean(self) -> dict[str, Any]:
        """Puts the rows of a file where its text would stand."""
        cleaned = super().clean() or {}
        file = cleaned.get("file")
        if file and cleaned.get("sheet"):
            self.add_error("sheet", "Give a file or its text, not both.")
        elif file and file.size > LONGEST_SHEET:
            self.add_error("file", f"The file is larger than {LONGEST_SHEET:,} bytes; give it in pieces.")
        elif file:
            try:
                cleaned["sheet"] = _text_of(file)
            except Unreadable as error:
                self.add_error("file", error.message)
        elif not self.errors and not cleaned.get("sheet"):
            self.add_error("file", "Choose a file, or paste its text below.")
        return cleaned


def _text_of(file: Any) -> str:
    """A table of any kind as comma-separated text."""
    table = open_table(file)
    return as_lines([table.columns, *(row.cells for row in table.rows)])


class ReasonForm(forms.Form):
    """Why a main round is opened although the pilot speaks against it."""

    reason = forms.CharField(
        label="Why all the same",
        max_length=2000,
        widget=forms.Textarea(attrs={"rows": 2}),
        help_text="It is kept with the round and shown on its page.",
        error_messages={"required": "Say why the round is opened although the pilot speaks against it."},
    )
