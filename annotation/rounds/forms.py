"""Form of a new round."""

from collections.abc import Mapping, Sequence
from typing import Any

from django import forms

from annotation.choosing.queries.samples import SampleLine
from annotation.core.forms import LARGEST_SEED
from annotation.labels.screening import IN, OPEN, OUT, STANDINGS, UNSCREENED, in_words
from annotation.models import Membership, Round
from annotation.rounds.actions.rounds import NewRound
from shared.wording import plural
from taxonomy.models import TaxonomyVersion

ISSUES_LONGEST = 2_000_000


class RoundForm(forms.Form):
    kind = forms.ChoiceField(
        choices=[
            (Round.Kind.SCREENING, "Screening: decide which issues are in or out, and why"),
            (Round.Kind.PILOT, "Pilot: try out the codebook and calibrate raters"),
            (Round.Kind.MAIN, "Main: counts for the results"),
        ],
        initial=Round.Kind.MAIN,
        widget=forms.RadioSelect,
    )
    taxonomy_version = forms.TypedChoiceField(label="Taxonomy version", coerce=int)
    reasons = forms.CharField(
        label="Reasons for screening out",
        required=False,
        max_length=20_000,
        widget=forms.Textarea(attrs={"rows": 6}),
        help_text="One reason per line. Raters choose one of them, and the flow table counts them.",
    )
    screening = forms.MultipleChoiceField(
        label="Also include issues that are not screened in",
        required=False,
        widget=forms.CheckboxSelectMultiple,
        help_text="The study has a screening round, so a coding round includes what is screened in. The audit log "
        "records your choice here.",
    )
    raters = forms.MultipleChoiceField(
        widget=forms.CheckboxSelectMultiple, error_messages={"required": "Choose at least one rater."}
    )
    raters_per_item = forms.IntegerField(label="Raters per item", min_value=1, max_value=100, initial=2)
    double_percent = forms.FloatField(
        label="Double-coded share",
        min_value=0,
        max_value=100,
        initial=100,
        help_text="Percentage of items labeled by all raters per item. The rest get one rater.",
    )
    n_training = forms.IntegerField(
        label="Calibration items first",
        min_value=1,
        max_value=200,
        required=False,
        help_text="Number of items with agreed labels that raters label first. They count in no result.",
    )
    training_round = forms.TypedChoiceField(label="Their round", coerce=int, empty_value=None, required=False)
    mode = forms.ChoiceField(
        label="Assignment",
        choices=[
            (Round.Mode.PLANNED, "Planned: every rater gets an equal number of items, fixed when the round opens"),
            (Round.Mode.POOL, "Pool: raters who are free take the next item"),
        ],
        initial=Round.Mode.PLANNED,
        widget=forms.RadioSelect,
    )
    source = forms.ChoiceField(
        label="Items",
        choices=[
            ("sample", "the next unused issues of a sample"),
            ("issues", "issues that you list"),
            ("none", "none: calibration items only"),
        ],
        initial="sample",
        widget=forms.RadioSelect,
    )
    sample = forms.TypedChoiceField(
        coerce=int, empty_value=None, error_messages={"required": "Choose a sample, or draw one first."}
    )
    n_items = forms.IntegerField(
        label="How many", min_value=1, required=False, help_text="Leave empty for all unused issues."
    )
    share_percent = forms.FloatField(label="Or percent", min_value=0.001, max_value=100, required=False)
    issues = forms.CharField(
        label="Issues",
        required=False,
        max_length=ISSUES_LONGEST,
        widget=forms.Textarea(attrs={"rows": 6, "class": "mono", "placeholder": "owner/name#123"}),
        help_text="One per line: owner/name#number, or an issue’s URL.",
    )
    seed = forms.IntegerField(
        min_value=-LARGEST_SEED,
        max_value=LARGEST_SEED,
        initial=1,
        help_text="Determines the assignment and its order.",
    )
    due_on = forms.DateField(
        label="Due date",
        required=False,
        widget=forms.DateInput(attrs={"type": "date"}, format="%Y-%m-%d"),
        help_text="The day by which raters should finish. They see it, and nothing else depends on it.",
        error_messages={"invalid": "Enter a day as 2027-05-31."},
    )

    def __init__(
        self,
        *given: Any,
        versions: Sequence[TaxonomyVersion],
        raters: Sequence[Membership],
        samples: Sequence[SampleLine],
        training_rounds: Sequence[Round] = (),
        has_screening: bool = False,
        keeps_out: bool = False,
        **more: Any,
    ) -> None:
        super().__init__(*given, **more)
        fields: Any = self.fields
        if has_screening:
            left = samples[0].left if len(samples) == 1 else {}
            fields["screening"].choices = [
                (each, f"{left[each]:,} {STANDINGS[each]}" if each in left else STANDINGS[each])
                for each in (UNSCREENED, OPEN, *([OUT] if keeps_out else []))
            ]
        else:
            del fields["screening"]
        if training_rounds:
            fields["training_round"].choices = [
                (each.number, f"round {each.number}, {each.kind}") for each in training_rounds
            ]
        else:
            del fields["training_round"], fields["n_training"]
        fields["taxonomy_version"].choices = [
            (each.number, f"version {each.number}" + (f": {each.title}" if each.title else "")) for each in versions
        ]
        fields["raters"].choices = [(each.code, f"{each.code} · {each.signed_name}") for each in raters]
        self.people = [each.code or "" for each in raters if not each.is_machine]
        for code in self.people:
            fields[f"quota_{code}"] = forms.IntegerField(
                label=f"Quota of {code}", min_value=0, max_value=2**31 - 1, required=False
            )
            fields[f"quota_{code}"].widget.attrs = {"placeholder": "no limit", "aria-label": f"Quota of {code}"}
        fields["sample"].choices = [
            (
                line.sample.pk,
                f"{line.sample}: {plural(line.sample.size, 'issue')}, "
                + (f"unused: {in_words(line.left) or 'none'}" if line.has_screening else f"{line.n_unused} unused")
                + (f", {line.n_out} screened out" if line.n_out and not line.has_screening else "")
                + (f", {line.n_to_screen} in no round yet" if line.n_to_screen != line.n_unused else ""),
            )
            for line in samples
        ]
        if not samples:
            fields["source"].initial = "issues"
        if self.data.get("source") in ("issues", "none"):
            fields["sample"].required = False
        self.is_screening = self.data.get("kind") == Round.Kind.SCREENING
        if self.is_screening:
            fields["taxonomy_version"].required = False
        fields["sample"].initial = next((line.sample.pk for line in samples if line.n_to_code()), None)
        self.samples = {line.sample.pk: line for line in samples}

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or {}
        if cleaned.get("source") == "sample":
            if cleaned.get("n_items") and cleaned.get("share_percent"):
                self.add_error("share_percent", "Enter a number or a percentage, not both.")
        elif cleaned.get("source") == "issues" and not self.named_issues(cleaned):
            self.add_error("issues", "Name at least one issue, as owner/name#number.")
        elif cleaned.get("source") == "none" and cleaned.get("kind") != Round.Kind.PILOT:
            self.add_error("source", "Only a pilot can have calibration items only.")
        return cleaned

    @staticmethod
    def named_issues(cleaned: Mapping[str, Any]) -> list[str]:
        if cleaned.get("source") == "none":
            return []
        lines = (line.strip().rstrip(",;") for line in (cleaned.get("issues") or "").splitlines())
        return list(dict.fromkeys(line for line in lines if line))

    def rater_lines(self) -> list[tuple[Any, Any]]:
        """Each rater to choose, with the field for how many items they take at most; a machine has none."""
        return [
            (choice, self[f"quota_{code}"] if (code := choice.data["value"]) in self.people else None)
            for choice in self["raters"]
        ]

    @property
    def quotas(self) -> dict[str, int]:
        """How many items each of the chosen raters takes at most, where that is limited."""
        given = {code: self.cleaned_data.get(f"quota_{code}") for code in self.people}
        return {code: n for code, n in given.items() if n is not None and code in self.cleaned_data["raters"]}

    @property
    def quotas_of_people(self) -> list[int | None]:
        """One entry for each person who was chosen."""
        return [self.quotas.get(code) for code in self.people if code in self.cleaned_data["raters"]]

    @property
    def chosen(self) -> NewRound:
        """What was chosen, as the actions take it."""
        cleaned = self.cleaned_data
        found = {
            name: cleaned[name] for name in ("kind", "taxonomy_version", "raters", "raters_per_item", "mode", "seed")
        }
        if self.is_screening:
            del found["taxonomy_version"]
            found["reasons"] = cleaned["reasons"].splitlines()
        elif cleaned.get("screening"):
            found["screening"] = self.standings
        found["double_share"] = cleaned["double_percent"] / 100
        found["quotas"] = self.quotas
        if cleaned.get("due_on"):
            found["due_on"] = cleaned["due_on"]
        if cleaned.get("n_training"):
            found |= {"n_training": cleaned["n_training"], "training_round": cleaned["training_round"]}
        if cleaned["source"] != "sample":
            return NewRound(**found, issues=self.named_issues(cleaned))
        share = cleaned["share_percent"]
        return NewRound(
            **found,
            sample=cleaned["sample"],
            n_items=cleaned["n_items"],
            share=share / 100 if share else None,
        )

    @property
    def n_wanted(self) -> int | None:
        """How many items the round would hold; None where the form does not say."""
        cleaned = self.cleaned_data
        if cleaned.get("source") != "sample":
            return len(self.named_issues(cleaned))
        line = self.samples.get(cleaned.get("sample") or 0)
        if line is None:
            return None
        wanted = cleaned.get("n_items")
        if cleaned.get("share_percent"):
            wanted = int(line.sample.size * cleaned["share_percent"] / 100 + 0.5)
        n_left = line.n_to_screen if self.is_screening else line.n_to_code(self.standings)
        return min(wanted or n_left, n_left)

    @property
    def standings(self) -> list[str]:
        """How the issues that were chosen may stand to screening; empty: by default."""
        also = self.cleaned_data.get("screening")
        return [IN, *also] if also else []

    @property
    def screening_words(self) -> str:
        """What a coding round from a sample takes and passes over, in counts; empty where screening decides nothing."""
        line = self.samples.get(self.cleaned_data.get("sample") or 0)
        if line is None or self.is_screening or not line.has_screening or self.cleaned_data.get("source") != "sample":
            return ""
        passed = line.passed_over(self.standings)
        taken = {each: n for each, n in line.left.items() if n and each not in passed}
        told = f"It chooses from {in_words(taken)}." if taken else "No issues are left for it."
        return f"{told} It omits {in_words(passed)}." if passed else told
