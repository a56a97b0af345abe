"""Forms of studies: what a page sends, read and handed to the actions, whose sentences come back beside the fields."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from django import forms
from django.utils.text import slugify

from agreement import COEFFICIENTS, SCALE_WEIGHTS, VARIABLES
from annotation.choosing.queries.samples import SampleLine
from annotation.core.forms import LARGEST_SEED
from annotation.labels.registration import Primary, has_coefficients, with_defaults
from annotation.labels.screening import IN, OPEN, OUT, STANDINGS, UNSCREENED, in_words
from annotation.model_raters.actions import LONGEST
from annotation.models import Membership, Round, Study
from annotation.studies.actions.primary import LONGEST_REASON
from shared.wording import counted
from taxonomy.models import Taxonomy, TaxonomyVersion
from taxonomy.tree import TreeDimension

ISSUES_LONGEST = 2_000_000
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
                "main rounds of the newest version in use. You can fix them until the first of them opens, "
                "and the pages show who fixed them and when.",
            )


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
            entry = {name: self.cleaned_data.get(f"{each.key}.{name}") for name in names}
            if entry["weights"] == MATRIX:
                entry["weights"] = self.initial[f"{each.key}.matrix"]
            if entry["coefficient"]:
                found[each.key] = entry
        return found

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

    @property
    def chosen(self) -> dict[str, Any]:
        """What was chosen, as the action takes it."""
        cleaned = self.cleaned_data
        machine = {name: cleaned[f"machine_{name}"] for name in ("name", "version", "prompt")}
        chosen = {name: cleaned[name] for name in ("username", "roles", "kind")}
        return chosen | {"machine": machine if any(machine.values()) else None}


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
        fields["raters"].choices = [(each.code, f"{each.code} · {each.display_name}") for each in raters]
        self.people = [each.code or "" for each in raters if not each.is_machine]
        for code in self.people:
            fields[f"quota_{code}"] = forms.IntegerField(
                label=f"Quota of {code}", min_value=0, max_value=2**31 - 1, required=False
            )
            fields[f"quota_{code}"].widget.attrs = {"placeholder": "no limit", "aria-label": f"Quota of {code}"}
        fields["sample"].choices = [
            (
                line.sample.pk,
                f"{line.sample}: {counted(line.sample.size, 'issue')}, "
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
    def chosen(self) -> dict[str, Any]:
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


class PlanForm(forms.Form):
    """To which version a study is to move."""

    to = forms.TypedChoiceField(label="Migrate to", coerce=int, error_messages={"invalid_choice": "Choose a version."})

    def __init__(self, *given: Any, versions: Sequence[TaxonomyVersion], **more: Any) -> None:
        super().__init__(*given, **more)
        fields: Any = self.fields
        fields["to"].choices = [
            (each.number, f"version {each.number}" + (" (draft: preview only)" if each.is_draft else ""))
            for each in versions
        ]
