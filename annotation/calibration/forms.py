"""Forms of training items: gold answers of one item or of a table, the minimum, and exceptions."""

from collections.abc import Callable, Mapping
from typing import Any

from django import forms

from agreement import COEFFICIENTS
from annotation.calibration.calibration import EMPTY_SET
from annotation.core.errors import Unreadable
from annotation.core.forms import tell_what_is_shown
from annotation.core.sheet_tables import open_table
from annotation.labels.registration import Primary, primary_of
from shared.csv_files import as_lines
from taxonomy.kinds import BOOLEAN, CATEGORY, LONGEST_TEXT, NUMBER, TEXT
from taxonomy.tree import TreeDimension, VersionTree

LONGEST_SHEET = 1_000_000


class KnownForm(forms.Form):
    """The known answer for one issue; an answer in several parts comes in a sheet."""

    item = forms.CharField(
        max_length=LONGEST_TEXT,
        widget=forms.TextInput(attrs={"list": "round-items", "placeholder": "owner/name#123"}),
        help_text="Any stored issue. An issue that is not in the round is added to its other items. An item of the "
        "round becomes a calibration item only.",
    )

    def __init__(self, *given: Any, tree: VersionTree, **more: Any) -> None:
        more["prefix"] = "known"
        super().__init__(*given, **more)
        self.tree = tree
        for dimension in tree.dimensions:
            self.fields[f"of-{dimension.key}"] = _field(dimension)
        self.fields["why"] = forms.CharField(
            label="Why",
            required=False,
            max_length=LONGEST_TEXT,
            widget=forms.Textarea(attrs={"rows": 2}),
            help_text="Shown to raters next to their labels.",
        )

    @property
    def known(self) -> dict[str, Any]:
        """What was filled in, as the action takes it."""
        cleaned = self.cleaned_data
        labels: dict[str, Any] = {}
        for dimension in self.tree.dimensions:
            value = cleaned.get(f"of-{dimension.key}")
            if value == [EMPTY_SET]:
                labels[dimension.key] = []
            elif value not in ("", None, []):
                labels[dimension.key] = dimension.question_kind.parse(value) if isinstance(value, str) else value
        return {cleaned["item"]: {"labels": labels, "why": cleaned["why"]}}

    def explain(self, fields: dict[str, list[str]]) -> None:
        """Puts what the action refused beside the questions it speaks of."""
        for path, sentences in fields.items():
            name = f"of-{path.rpartition('.')[2]}"
            self.add_error(name if name in self.fields else "item" if path == "known" else None, " ".join(sentences))


def _field(dimension: TreeDimension) -> forms.Field:
    """Empty: not known, so raters are not judged by it."""
    return FIELDS[dimension.column](dimension, {"label": dimension.title, "required": False})


def _categories(dimension: TreeDimension, shared: dict[str, Any]) -> forms.Field:
    choices = [(each.key, " › ".join(each.names)) for each in dimension.categories if each.selectable]
    if dimension.is_set:
        return forms.MultipleChoiceField(choices=[(EMPTY_SET, "none (the empty set)"), *choices], **shared)
    return forms.ChoiceField(choices=[("", "not known"), *choices], **shared)


FIELDS: dict[str, Callable[[TreeDimension, dict[str, Any]], forms.Field]] = {
    CATEGORY: _categories,
    BOOLEAN: lambda _, shared: forms.ChoiceField(choices=[("", "not known"), ("yes", "yes"), ("no", "no")], **shared),
    NUMBER: lambda _, shared: forms.FloatField(**shared),
    TEXT: lambda _, shared: forms.CharField(max_length=LONGEST_TEXT, **shared),
}
"""The field of a form by the column of the values."""


class SheetForm(forms.Form):
    """Known answers of many items, in long form."""

    file = forms.FileField(
        label="A file",
        required=False,
        help_text="CSV, XLSX or Parquet with the columns item, dimension, value, and part and why if needed.",
    )
    sheet = forms.CharField(
        label="Or paste the table",
        max_length=LONGEST_SHEET,
        required=False,
        widget=forms.Textarea(attrs={"rows": 4, "class": "mono", "placeholder": "item,part,dimension,value,why"}),
        help_text="Comma-separated, with the same columns. One row per value, categories by key. [] is the empty set. "
        "Raters are not judged on dimensions without a row.",
    )

    def clean(self) -> dict[str, Any]:
        """Puts the rows of a file where its text would stand."""
        cleaned = super().clean() or {}
        file = cleaned.get("file")
        if file and cleaned.get("sheet"):
            self.add_error("sheet", "Choose a file or paste text, not both.")
        elif file and file.size > LONGEST_SHEET:
            self.add_error("file", f"The file is larger than {LONGEST_SHEET:,} bytes. Import it in pieces.")
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


class MinimumForm(forms.Form):
    """What raters have to reach on training items before they get other items; all empty: nothing."""

    share = forms.FloatField(
        label="Correct items, in percent",
        min_value=0.01,
        max_value=100,
        required=False,
        help_text="Items with every gold label correct. Skipped items are not correct.",
    )

    def __init__(
        self, given: Any, *, tree: VersionTree, primary: Primary, kept: Mapping[str, Any] | None, **more: Any
    ) -> None:
        """`kept` is the minimum that is stored: what is not changed on the page stays of it, its coefficients, too."""
        self.kept = kept or {}
        shown = {f"of-{key}": one["minimum"] for key, one in self.kept.get("dimensions", {}).items()}
        if "share" in self.kept:
            shown["share"] = f"{self.kept['share'] * 100:.10g}"
        super().__init__(given, prefix="minimum", initial=shown, **more)
        self.coefficients: dict[str, str] = {}
        for each in tree.dimensions:
            if entry := self.kept.get("dimensions", {}).get(each.key) or primary_of(primary, each.key, each.kind):
                self.coefficients[each.key] = entry["coefficient"]
                self.fields[f"by-{each.key}"] = forms.ChoiceField(
                    choices=[(name, one.title) for name, one in COEFFICIENTS.items()],
                    initial=entry["coefficient"],
                    required=False,
                    widget=forms.HiddenInput,
                )
                self.fields[f"of-{each.key}"] = forms.FloatField(
                    label=f"{each.title}: {COEFFICIENTS[entry['coefficient']].title}",
                    min_value=0.001,
                    max_value=1,
                    required=False,
                )
        tell_what_is_shown(self)

    @staticmethod
    def dimension_of(name: str) -> str:
        """The dimension that a field is about, or the share."""
        return name.removeprefix("of-").removeprefix("by-") if "-" in name else ""

    @property
    def minimum(self) -> dict[str, Any] | None:
        """The minimum that is stored, with what was changed, as the action takes it."""
        cleaned = self.cleaned_data
        share = cleaned["share"] and cleaned["share"] / 100 if "share" in self.changed_data else self.kept.get("share")
        dimensions = dict(self.kept.get("dimensions", {}))
        for key, coefficient in self.coefficients.items():
            if f"of-{key}" in self.changed_data:
                named = cleaned.get(f"by-{key}") or coefficient  # that of the page
                dimensions[key] = {"coefficient": named, "minimum": cleaned[f"of-{key}"]}
        dimensions = {key: one for key, one in dimensions.items() if one["minimum"]}
        return ({"share": share} if share else {}) | ({"dimensions": dimensions} if dimensions else {}) or None


class ReasonForm(forms.Form):
    """Why a main round is opened although the pilot speaks against it."""

    reason = forms.CharField(
        label="Reason to open it anyway",
        max_length=2000,
        widget=forms.Textarea(attrs={"rows": 2}),
        help_text="Saved with the round and shown on its page.",
        error_messages={"required": "Give the reason for opening the round although the pilot advises against it."},
    )
