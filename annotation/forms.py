"""Forms of studies: what a page sends, read and handed to the actions, whose sentences come back beside the fields."""

from collections.abc import Mapping, Sequence
from typing import Any

from django import forms
from django.utils.text import slugify

from annotation.agreement import COEFFICIENTS, TITLES
from annotation.errors import ConcordError
from annotation.models import Membership, Round, Study
from annotation.queries.choosing import SampleLine
from taxonomy.models import Taxonomy, TaxonomyVersion
from taxonomy.tree import TreeDimension

LARGEST_SEED = 2**63 - 1
ISSUES_LONGEST = 2_000_000


def explain(form: forms.Form, error: ConcordError, **fields: str) -> None:
    """Puts what an action refused beside the fields it speaks of; `fields` maps its names to the form's."""
    placed = False
    for path, sentences in error.fields.items():
        name = fields.get(path.replace(".", "_"), path.rpartition(".")[2])
        for sentence in sentences:
            if name in form.fields:
                form.add_error(name, sentence)
                placed = True
            else:
                form.add_error(None, f"{path}: {sentence}")
                placed = True
    if not placed:
        form.add_error(None, error.message)


def words(text: str) -> list[str]:
    """What stands between commas."""
    return [word for word in (each.strip() for each in text.split(",")) if word]


class StudyForm(forms.Form):
    title = forms.CharField(max_length=200)
    slug = forms.CharField(
        label="Address",
        max_length=80,
        required=False,
        help_text="Small letters, digits and hyphens; it stands in links and scripts. Left empty, the title makes it.",
    )
    taxonomy = forms.ModelChoiceField(
        Taxonomy.objects.none(), to_field_name="slug", help_text="Only those with a published version can be used."
    )
    guidelines = forms.CharField(
        required=False,
        widget=forms.Textarea(attrs={"rows": 6}),
        help_text="What raters should know, in Markdown. They can be changed at any time.",
    )
    resolve_when = forms.ChoiceField(
        label="Disagreements can be resolved",
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
                self.add_error("slug", "The title has no letters that an address can be made of; write one here.")
        return cleaned


class SettingsForm(forms.Form):
    title = forms.CharField(max_length=200)
    guidelines = forms.CharField(
        required=False,
        widget=forms.Textarea(attrs={"rows": 14}),
        help_text="What raters should know, in Markdown.",
    )
    resolve_when = forms.ChoiceField(
        label="Disagreements can be resolved", choices=Study.ResolveWhen.choices, widget=forms.RadioSelect
    )
    pseudonymise = forms.BooleanField(
        label="Files name the people of issues by pseudonyms",
        required=False,
        help_text="Authors, mentions and e-mail addresses. The pages show them as GitHub does.",
    )


class PrimaryForm(forms.Form):
    """The primary coefficient of each dimension and the value it is to reach, fixed before labelling starts."""

    def __init__(self, *given: Any, dimensions: Sequence[TreeDimension], **more: Any) -> None:
        more["prefix"] = "primary"
        super().__init__(*given, **more)
        self.dimensions = [each for each in dimensions if each.kind != "text"]
        for dimension in self.dimensions:
            self.fields[f"{dimension.key}.coefficient"] = forms.ChoiceField(
                label=f"Coefficient of {dimension.title}",
                choices=[("", "not fixed"), *((name, TITLES.get(name, name)) for name in suitable(dimension))],
                required=False,
            )
            self.fields[f"{dimension.key}.threshold"] = forms.FloatField(
                label=f"Threshold of {dimension.title}",
                min_value=-1,
                max_value=1,
                required=False,
                widget=forms.NumberInput(attrs={"step": "0.01", "placeholder": "0.80"}),
            )

    @property
    def rows(self) -> list[tuple[TreeDimension, Any, Any]]:
        """Each dimension with its two fields."""
        return [(each, self[f"{each.key}.coefficient"], self[f"{each.key}.threshold"]) for each in self.dimensions]

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or {}
        for dimension in self.dimensions:
            if cleaned.get(f"{dimension.key}.threshold") is not None and not cleaned.get(
                f"{dimension.key}.coefficient"
            ):
                self.add_error(f"{dimension.key}.coefficient", "Choose what the threshold is for.")
        return cleaned

    @property
    def primary(self) -> dict[str, dict[str, object]]:
        """What was chosen, as the actions take it."""
        return {
            each.key: {
                "coefficient": self.cleaned_data[f"{each.key}.coefficient"],
                "threshold": self.cleaned_data[f"{each.key}.threshold"],
            }
            for each in self.dimensions
            if self.cleaned_data[f"{each.key}.coefficient"]
        }

    @staticmethod
    def initial_of(primary: Mapping[str, Mapping[str, object]]) -> dict[str, object]:
        return {
            f"{key}.{name}": entry.get(name) for key, entry in primary.items() for name in ("coefficient", "threshold")
        }


def suitable(dimension: TreeDimension) -> list[str]:
    """The coefficients that suit a dimension: weights need an order."""
    ordered = dimension.kind in {"ordinal", "number"}
    return [name for name in COEFFICIENTS if ordered or name not in {"weighted_kappa", "gwet_ac2"}]


class MemberForm(forms.Form):
    username = forms.CharField(
        label="User name",
        max_length=150,
        widget=forms.TextInput(attrs={"autocomplete": "off", "autocapitalize": "none"}),
    )
    roles = forms.MultipleChoiceField(
        choices=[
            (Membership.Role.OWNER, "owner: changes the study, its members and rounds"),
            (Membership.Role.ADJUDICATOR, "adjudicator: decides where raters differ"),
            (Membership.Role.RATER, "rater: labels issues, under a code"),
            (Membership.Role.READER, "reader: looks at results"),
        ],
        widget=forms.CheckboxSelectMultiple,
        error_messages={"required": "Give at least one role."},
    )
    kind = forms.ChoiceField(
        label="Who answers",
        choices=[(Membership.Kind.PERSON, "a person"), (Membership.Kind.MACHINE, "a machine, by a script")],
        initial=Membership.Kind.PERSON,
    )


class RoundForm(forms.Form):
    kind = forms.ChoiceField(
        choices=[
            (Round.Kind.PILOT, "pilot: to try the taxonomy and each other"),
            (Round.Kind.MAIN, "main: counts for the results"),
        ],
        initial=Round.Kind.MAIN,
        widget=forms.RadioSelect,
    )
    taxonomy_version = forms.TypedChoiceField(label="Taxonomy version", coerce=int)
    raters = forms.MultipleChoiceField(
        widget=forms.CheckboxSelectMultiple, error_messages={"required": "Choose at least one rater."}
    )
    raters_per_item = forms.IntegerField(label="Raters per item", min_value=1, max_value=100, initial=2)
    double_percent = forms.FloatField(
        label="Double-coded share",
        min_value=0,
        max_value=100,
        initial=100,
        help_text="Percent of the items that get all of them; the others get one rater.",
    )
    mode = forms.ChoiceField(
        label="Giving out",
        choices=[
            (Round.Mode.PLANNED, "planned: every rater gets equally many, fixed when the round opens"),
            (Round.Mode.POOL, "pool: whoever is free takes the next"),
        ],
        initial=Round.Mode.PLANNED,
        widget=forms.RadioSelect,
    )
    source = forms.ChoiceField(
        label="Items",
        choices=[("sample", "the next unused issues of a sample"), ("issues", "named issues")],
        initial="sample",
        widget=forms.RadioSelect,
    )
    sample = forms.TypedChoiceField(
        coerce=int, empty_value=None, error_messages={"required": "Choose a sample, or draw one first."}
    )
    n_items = forms.IntegerField(label="How many", min_value=1, required=False, help_text="Empty: all that are unused.")
    share_percent = forms.FloatField(label="Or percent of it", min_value=0.001, max_value=100, required=False)
    issues = forms.CharField(
        label="Issues",
        required=False,
        max_length=ISSUES_LONGEST,
        widget=forms.Textarea(attrs={"rows": 6, "class": "mono", "placeholder": "owner/name#123"}),
        help_text="One on each line: owner/name#number, or an issue’s address.",
    )
    seed = forms.IntegerField(
        min_value=-LARGEST_SEED,
        max_value=LARGEST_SEED,
        initial=1,
        help_text="Decides who gets what, and in which order.",
    )

    def __init__(
        self,
        *given: Any,
        versions: Sequence[TaxonomyVersion],
        raters: Sequence[Membership],
        samples: Sequence[SampleLine],
        **more: Any,
    ) -> None:
        super().__init__(*given, **more)
        fields: Any = self.fields
        fields["taxonomy_version"].choices = [
            (each.number, f"version {each.number}" + (f": {each.title}" if each.title else "")) for each in versions
        ]
        fields["raters"].choices = [(each.code, f"{each.code} · {each.display_name}") for each in raters]
        fields["sample"].choices = [
            (
                line.sample.pk,
                f"Sample {line.sample.pk}: {line.sample.size} issues, {line.n_unused} unused"
                + (f", {line.n_out} screened out" if line.n_out else ""),
            )
            for line in samples
        ]
        if not samples:
            fields["source"].initial = "issues"
        if self.data.get("source") == "issues":
            fields["sample"].required = False
        fields["sample"].initial = next((line.sample.pk for line in samples if line.n_unused), None)
        self.samples = {line.sample.pk: line for line in samples}

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or {}
        if cleaned.get("source") == "sample":
            if cleaned.get("n_items") and cleaned.get("share_percent"):
                self.add_error("share_percent", "Give a number or a percentage, not both.")
        elif cleaned.get("source") == "issues" and not self.named_issues(cleaned):
            self.add_error("issues", "Name at least one issue, as owner/name#number.")
        return cleaned

    @staticmethod
    def named_issues(cleaned: Mapping[str, Any]) -> list[str]:
        lines = (line.strip().rstrip(",;") for line in (cleaned.get("issues") or "").splitlines())
        return list(dict.fromkeys(line for line in lines if line))

    @property
    def chosen(self) -> dict[str, Any]:
        """What was chosen, as the actions take it."""
        cleaned = self.cleaned_data
        found = {
            name: cleaned[name] for name in ("kind", "taxonomy_version", "raters", "raters_per_item", "mode", "seed")
        }
        found["double_share"] = cleaned["double_percent"] / 100
        if cleaned["source"] == "issues":
            return found | {"issues": self.named_issues(cleaned)}
        share = cleaned["share_percent"]
        return found | {
            "sample": cleaned["sample"],
            "n_items": cleaned["n_items"],
            "share": share / 100 if share else None,
        }

    @property
    def n_wanted(self) -> int | None:
        """How many items the round would hold; None where the form does not say."""
        cleaned = self.cleaned_data
        if cleaned.get("source") == "issues":
            return len(self.named_issues(cleaned))
        line = self.samples.get(cleaned.get("sample") or 0)
        if line is None:
            return None
        wanted = cleaned.get("n_items")
        if cleaned.get("share_percent"):
            wanted = int(line.sample.size * cleaned["share_percent"] / 100 + 0.5)
        return min(wanted or line.n_unused, line.n_unused)


class PlanForm(forms.Form):
    """To which version a study is to move."""

    to = forms.TypedChoiceField(label="Move to", coerce=int, error_messages={"invalid_choice": "Choose a version."})

    def __init__(self, *given: Any, versions: Sequence[TaxonomyVersion], **more: Any) -> None:
        super().__init__(*given, **more)
        fields: Any = self.fields
        fields["to"].choices = [
            (each.number, f"version {each.number}" + (" (draft: to look at only)" if each.is_draft else ""))
            for each in versions
        ]
