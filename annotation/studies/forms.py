"""Forms of studies: a new one, its settings, and the primary coefficient of each dimension."""

from collections.abc import Iterable, Sequence
from typing import Any

from django import forms
from django.utils.text import slugify

from agreement import COEFFICIENTS, SCALE_WEIGHTS, VARIABLES
from annotation.core.forms import tell_what_is_shown
from annotation.labels.registration import Primary, has_coefficients, with_defaults
from annotation.models import Study
from annotation.studies.actions.primary import LONGEST_REASON
from taxonomy.models import Taxonomy
from taxonomy.tree import TreeDimension

MORE = ("metric", "weights", "reason")


MATRIX = "matrix"


class StudyForm(forms.Form):
    title = forms.CharField(max_length=200)
    slug = forms.CharField(
        label="Address",
        max_length=80,
        required=False,
        help_text="Lowercase letters, numbers and hyphens. Used in URLs and scripts. Leave empty to derive it from the "
        "title.",
    )
    taxonomy = forms.ModelChoiceField(
        Taxonomy.objects.none(), to_field_name="slug", help_text="Only taxonomies with a published version can be used."
    )
    guidelines = forms.CharField(
        required=False,
        widget=forms.Textarea(attrs={"rows": 6}),
        help_text="Instructions for raters, in Markdown. You can change them at any time.",
    )
    resolve_when = forms.ChoiceField(
        label="When to resolve disagreements",
        choices=Study.ResolveWhen.choices,
        initial=Study.ResolveWhen.ROUND,
        widget=forms.RadioSelect,
    )

    def __init__(self, *given: Any, taxonomies: Any, **more: Any) -> None:
        super().__init__(*given, **more)
        chosen: Any = self.fields["taxonomy"]
        chosen.queryset = taxonomies
        chosen.empty_label = None
        chosen.label_from_instance = lambda taxonomy: f"{taxonomy.title} ({taxonomy.slug})"

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or {}
        if cleaned.get("title") and not cleaned.get("slug"):
            cleaned["slug"] = slugify(cleaned["title"])[:80].strip("-_")
            if not cleaned["slug"]:
                self.add_error("slug", "The title has no letters for an ID. Enter one here.")
        return cleaned


class SettingsForm(forms.Form):
    title = forms.CharField(max_length=200)
    guidelines = forms.CharField(
        required=False,
        widget=forms.Textarea(attrs={"rows": 14}),
        help_text="Instructions for raters, in Markdown.",
    )
    resolve_when = forms.ChoiceField(
        label="When to resolve disagreements", choices=Study.ResolveWhen.choices, widget=forms.RadioSelect
    )
    applies = forms.ChoiceField(
        label="Conditional dimensions: which items count",
        choices=Study.Applies.choices,
        required=False,
        widget=forms.RadioSelect,
        help_text="Issues that agreement compares, unless a page or script chooses otherwise. Shown with every number.",
    )
    screened_out = forms.ChoiceField(
        label="Labeled items that are screened out",
        choices=Study.ScreenedOut.choices,
        required=False,
        widget=forms.RadioSelect,
        help_text="Applies to closed rounds, too. You can change it at any time.",
    )
    screening_keywords = forms.CharField(
        label="Keywords for screening",
        required=False,
        max_length=10_000,
        widget=forms.Textarea(attrs={"rows": 2}),
        help_text="They are highlighted for everyone who screens, in titles and texts. Separate them by commas. With a "
        "star, hang* also finds hangs and hanging. Raters can add their own.",
    )
    third_rater = forms.BooleanField(
        label="Assign a third rater automatically",
        required=False,
        help_text="When two raters disagree, someone who has not had the item labels it, blind. A value chosen by two "
        "of three then becomes the agreed label.",
    )
    majority = forms.BooleanField(
        label="Accept the majority automatically",
        required=False,
        help_text="When at least three raters labeled it and more than half of them agree. Never for a proposed "
        "category.",
    )
    names_shown = forms.BooleanField(
        label="Show names while resolving and discussing",
        required=False,
        help_text="In addition to rater codes. Exports contain codes only.",
    )
    pseudonymise = forms.BooleanField(
        label="Pseudonymize people of issues in exports",
        required=False,
        help_text="Authors, mentions and e-mail addresses. The pages show them as GitHub does.",
    )

    def __init__(self, *given: Any, fixable: Sequence[int] = (), **more: Any) -> None:
        super().__init__(*given, **more)
        if fixable:
            self.fields["headline"] = forms.MultipleChoiceField(
                label="Headline",
                choices=[(str(number), f"Round {number}") for number in fixable],
                required=False,
                widget=forms.CheckboxSelectMultiple,
                help_text="Rounds whose agreement is the study’s headline. Without a choice, these are all finished "
                "main rounds of the newest version that has one. You can fix them until the first of them opens, "
                "and the pages show who fixed them and when.",
            )
        tell_what_is_shown(self)


class PrimaryForm(forms.Form):
    """The primary coefficient of each dimension and the value it is to reach, fixed before labelling starts."""

    def __init__(self, *given: Any, dimensions: Sequence[TreeDimension], **more: Any) -> None:
        more["prefix"] = "primary"
        super().__init__(*given, **more)
        self.dimensions = [each for each in dimensions if has_coefficients(each.kind)]
        for dimension in self.dimensions:
            self.fields[f"{dimension.key}.coefficient"] = forms.ChoiceField(
                label=f"Coefficient of {dimension.title}",
                choices=[
                    ("", "default, not registered"),
                    *((name, COEFFICIENTS[name].title) for name in suitable(dimension)),
                ],
                required=False,
            )
            self.fields[f"{dimension.key}.threshold"] = forms.FloatField(
                label=f"Threshold of {dimension.title}",
                min_value=-1,
                max_value=1,
                required=False,
                widget=forms.NumberInput(attrs={"step": "0.01", "placeholder": "0.80"}),
            )
            self.fields[f"{dimension.key}.reason"] = forms.CharField(
                label=f"Reason for the coefficient of {dimension.title}",
                max_length=LONGEST_REASON,
                required=False,
                widget=forms.TextInput(attrs={"placeholder": "Reason"}),
            )
            suited = VARIABLES[dimension.variable].metrics
            if len(suited) > 1:
                self.fields[f"{dimension.key}.metric"] = forms.ChoiceField(
                    label=f"Distance of alpha for {dimension.title}",
                    choices=[("", f"{suited[0]} (default)"), *((name, name) for name in suited[1:])],
                    required=False,
                )
            weights = self._weights_of(dimension)
            if len(weights) > 1:
                self.fields[f"{dimension.key}.weights"] = forms.ChoiceField(
                    label=f"Weights for {dimension.title}", choices=weights, required=False
                )
        tell_what_is_shown(self)

    def _weights_of(self, dimension: TreeDimension) -> list[tuple[str, str]]:
        is_scaled = dimension.is_ordered
        found = [("", f"{SCALE_WEIGHTS[0]} (default)" if is_scaled else "none")]
        found += [(name, name) for name in SCALE_WEIGHTS[1:]] if is_scaled else []
        sent = self.initial.get(f"{dimension.key}.weights")
        return [*found, (MATRIX, "the matrix sent by a script")] if sent == MATRIX else found

    @property
    def rows(self) -> list[tuple[TreeDimension, Any, Any, list[Any]]]:
        """Each dimension with the fields of its coefficient and threshold, and those that say more."""
        return [
            (
                each,
                self[f"{each.key}.coefficient"],
                self[f"{each.key}.threshold"],
                [self[name] for more in MORE if (name := f"{each.key}.{more}") in self.fields],
            )
            for each in self.dimensions
        ]

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or {}
        for dimension in self.dimensions:
            key = dimension.key
            if cleaned.get(f"{key}.coefficient"):
                continue
            if cleaned.get(f"{key}.threshold") is not None:
                self.add_error(f"{key}.coefficient", "Choose a coefficient for the threshold.")
            elif any(cleaned.get(f"{key}.{more}") for more in MORE):
                self.add_error(f"{key}.coefficient", "Choose a coefficient first.")
        return cleaned

    @property
    def primary(self) -> dict[str, dict[str, object]]:
        """What was chosen, as the actions take it; a matrix that a script sent is the one that was there."""
        found: dict[str, dict[str, object]] = {}
        for each in self.dimensions:
            names = ("coefficient", "threshold", *MORE)
            is_changed = any(f"{each.key}.{name}" in self.changed_data for name in names)
            given = self.cleaned_data if is_changed else self.initial
            entry = {name: given.get(f"{each.key}.{name}") for name in names}
            if entry["weights"] == MATRIX:
                entry["weights"] = self.initial[f"{each.key}.matrix"]
            if entry["coefficient"]:
                found[each.key] = entry
        return found

    @staticmethod
    def dimension_of(name: str) -> str:
        """The dimension that a field is about: its coefficient and all that goes with it are changed together."""
        return name.rpartition(".")[0]

    @staticmethod
    def initial_of(primary: Primary, dimensions: Iterable[TreeDimension]) -> dict[str, object]:
        """The coefficients as they are, with the default where the study chose none."""
        found: dict[str, object] = {}
        for key, entry in with_defaults(primary, dimensions).items():
            found |= {f"{key}.{name}": entry.get(name) for name in ("coefficient", "threshold", *MORE)}
            if isinstance(entry.get("weights"), list):
                found |= {f"{key}.weights": MATRIX, f"{key}.matrix": entry["weights"]}
        return found


def suitable(dimension: TreeDimension) -> list[str]:
    """The coefficients that suit a dimension: weights need an order."""
    return [name for name, each in COEFFICIENTS.items() if dimension.is_ordered or not each.needs_order]
