"""Forms of samples: the filter of a frame, the draw, and the bar above the table of items."""

from collections.abc import Mapping, Sequence
from typing import Any

from django import forms

from annotation.core.forms import LARGEST_SEED, words
from annotation.models import Sample
from ingest.filters import STRATA
from ingest.search.grammar import LONGEST_SEARCH


def _day() -> forms.DateInput:
    return forms.DateInput(attrs={"type": "date"}, format="%Y-%m-%d")


class SampleForm(forms.Form):
    """A filter, word by word, and what is to be drawn of what it leaves."""

    repository = forms.CharField(
        label="Repositories",
        required=False,
        max_length=2000,
        help_text="As owner/name. Separate several with commas.",
        widget=forms.TextInput(attrs={"list": "repositories"}),
    )
    state = forms.ChoiceField(choices=[("all", "open and closed"), ("closed", "closed"), ("open", "open")])
    state_reason = forms.CharField(
        label="Closed as", required=False, max_length=200, help_text="completed, not_planned, duplicate."
    )
    labels = forms.CharField(
        label="With GitHub labels", required=False, max_length=2000, help_text="Any of these, separated by commas."
    )
    labels_all = forms.CharField(
        label="With all GitHub labels", required=False, max_length=2000, help_text="All of these, separated by commas."
    )
    without_labels = forms.CharField(
        label="Without GitHub labels", required=False, max_length=2000, help_text="None of these, separated by commas."
    )
    any_keyword = forms.CharField(
        label="Any of these keywords",
        required=False,
        max_length=10_000,
        help_text="Whole words or phrases, separated by commas. * matches any letters. Code and URLs are not searched.",
    )
    all_keywords = forms.CharField(label="All of these keywords", required=False, max_length=10_000)
    no_keyword = forms.CharField(label="None of these keywords", required=False, max_length=10_000)
    keywords_in = forms.ChoiceField(
        label="Keywords in",
        required=False,
        choices=[
            ("", "title and body"),
            ("title", "title"),
            ("title,body,comments", "title, body and comments"),
            ("comments", "comments"),
        ],
    )
    words = forms.CharField(
        label="Search",
        required=False,
        max_length=LONGEST_SEARCH,
        strip=False,
        help_text='As in the list of issues: whole words, "a phrase", -without, label:bug, created:>2024-05-31.',
    )
    search = forms.CharField(
        label="Text in title or body", required=False, max_length=200, help_text="Exact text, including code."
    )
    created_since = forms.DateField(label="Opened since", required=False, widget=_day())
    created_until = forms.DateField(label="Opened before", required=False, widget=_day())
    closed_since = forms.DateField(label="Closed since", required=False, widget=_day())
    closed_until = forms.DateField(label="Closed before", required=False, widget=_day())
    updated_since = forms.DateField(label="Updated since", required=False, widget=_day())
    updated_until = forms.DateField(label="Updated before", required=False, widget=_day())
    comments_at_least = forms.IntegerField(label="Comments, at least", min_value=0, required=False)
    comments_at_most = forms.IntegerField(label="Comments, at most", min_value=0, required=False)
    has_closing_change = forms.TypedChoiceField(
        label="Closing change",
        required=False,
        empty_value="",
        coerce=lambda word: {"true": True, "false": False}.get(word, word),
        choices=[
            ("", "with or without"),
            ("true", "with one"),
            ("merged_pull_request", "a merged pull request"),
            ("false", "known to have none"),
        ],
    )
    has_merged_fix = forms.TypedChoiceField(
        label="Merged fix",
        required=False,
        empty_value="",
        coerce=lambda word: word == "true",
        choices=[("", "with or without"), ("true", "with one"), ("false", "known to have none")],
    )
    fixes_at_least = forms.IntegerField(label="Fixes, at least", min_value=0, required=False)
    fixes_at_most = forms.IntegerField(label="Fixes, at most", min_value=0, required=False)
    fix_lines_at_least = forms.IntegerField(label="Changed lines of the fix, at least", min_value=0, required=False)
    fix_lines_at_most = forms.IntegerField(label="Changed lines of the fix, at most", min_value=0, required=False)
    fix_files_at_least = forms.IntegerField(label="Changed files of the fix, at least", min_value=0, required=False)
    fix_files_at_most = forms.IntegerField(label="Changed files of the fix, at most", min_value=0, required=False)
    fix_paths = forms.CharField(
        label="Paths of the fix",
        required=False,
        max_length=10_000,
        help_text="Folders or files, separated by commas. * matches any characters.",
    )
    days_to_fix_at_least = forms.IntegerField(label="Days to the fix, at least", min_value=0, required=False)
    days_to_fix_at_most = forms.IntegerField(label="Days to the fix, at most", min_value=0, required=False)
    locked = forms.TypedChoiceField(
        label="Conversation",
        required=False,
        empty_value="",
        coerce=lambda word: word == "true",
        choices=[("", "locked or not"), ("false", "not locked"), ("true", "locked")],
    )
    presence = forms.ChoiceField(
        label="At GitHub now",
        required=False,
        choices=[
            ("", "all except deleted ones"),
            ("here", "where they were"),
            ("here,deleted,transferred,discussion", "including deleted ones"),
        ],
    )
    without_bots = forms.BooleanField(label="Exclude issues opened by bots", required=False)
    exclude_sample = forms.ChoiceField(label="Drawn before", required=False)
    left_out_of = forms.ChoiceField(
        label="Control stretch",
        required=False,
        help_text="Issues that filter or screening of a sample excluded. Screen them all to bound what it missed.",
    )
    size_by = forms.ChoiceField(
        label="Size",
        required=False,
        choices=[("size", "a number"), ("margin", "from confidence and margin")],
        initial="size",
        widget=forms.RadioSelect,
    )
    size = forms.IntegerField(
        label="How many",
        min_value=1,
        help_text="Issues to draw.",
        error_messages={"required": "Enter how many issues to draw."},
    )
    confidence = forms.TypedChoiceField(
        required=False, coerce=float, initial="0.95", choices=[("0.9", "90%"), ("0.95", "95%"), ("0.99", "99%")]
    )
    margin = forms.FloatField(
        label="Margin (± percent)", required=False, initial=5, widget=forms.NumberInput(attrs={"step": "any"})
    )
    seed = forms.IntegerField(
        min_value=-LARGEST_SEED,
        max_value=LARGEST_SEED,
        initial=1,
        help_text="The same seed draws the same issues.",
    )
    stratify_by = forms.ChoiceField(
        label="Strata",
        choices=[("", "none: simple draw"), *((name, f"by {name.replace('_', ' ')}") for name in STRATA)],
        required=False,
    )
    allocation = forms.ChoiceField(
        label="Allocation to strata",
        required=False,
        choices=[("proportional", "in proportion"), ("equal", "equal numbers")],
    )
    at_least_one = forms.BooleanField(label="At least one of each stratum", required=False)

    LISTS = ("repository", "state_reason", "labels", "labels_all", "without_labels", "fix_paths")
    FIXES = (
        *("has_merged_fix", "fixes_at_least", "fixes_at_most", "fix_lines_at_least", "fix_lines_at_most"),
        *("fix_files_at_least", "fix_files_at_most", "days_to_fix_at_least", "days_to_fix_at_most"),
    )
    PLAIN = ("words", "search", "comments_at_least", "comments_at_most", "has_closing_change", "locked", *FIXES)
    DAYS = tuple(f"{what}_{end}" for what in ("created", "closed", "updated") for end in ("since", "until"))
    KEYWORDS: Mapping[str, str] = {"any": "any_keyword", "all": "all_keywords", "none": "no_keyword"}
    RARE = (
        *("all_keywords", "no_keyword", "keywords_in", "words", "search", "labels_all", *DAYS),
        *("comments_at_least", "comments_at_most", "has_closing_change", *FIXES, "fix_paths"),
        *("state_reason", "locked", "presence"),
        *("exclude_sample", "left_out_of", "without_bots"),
    )

    def __init__(self, *given: Any, samples: Sequence[Sample] = (), **more: Any) -> None:
        super().__init__(*given, **more)
        chosen: Any = self.fields["exclude_sample"]
        chosen.choices = [
            ("", "may be drawn again"),
            *([("all", "only if not in a sample")] if samples else []),
            *((str(each.pk), f"only if not in sample {each.number}") for each in samples),
        ]
        control: Any = self.fields["left_out_of"]
        control.choices = [
            ("", "no"),
            *((str(each.pk), f"excluded by sample {each.number}") for each in samples),
            *((f"out-{each.pk}", f"screened out of sample {each.number}") for each in samples),
        ]
        if "count" in self.data or self.data.get("size_by") == "margin":
            self.fields["size"].required = False

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or {}
        if cleaned.get("size_by") == "margin" and not 0 < (cleaned.get("margin") or 0) < 100:
            self.add_error("margin", "Enter a percentage between 0 and 100.")
        return cleaned

    @property
    def rare_fields(self) -> list[Any]:
        """The fields that few need, which the page folds away."""
        return [self[name] for name in self.RARE if name != "without_bots"]

    @property
    def has_rare(self) -> bool:
        """Whether one of them is filled in."""
        return any(self[name].value() not in (None, "", False) for name in self.RARE)

    @property
    def filter(self) -> dict[str, object]:
        """The filter of the frame, without what was left empty."""
        cleaned = self.cleaned_data
        found: dict[str, Any] = {name: words(cleaned.get(name) or "") for name in self.LISTS}
        found["state"] = "" if cleaned["state"] == "all" else cleaned["state"]
        found |= {name: cleaned.get(name) for name in self.PLAIN}
        found |= {name: day.isoformat() for name in self.DAYS if (day := cleaned.get(name))}
        keywords = {name: words(cleaned.get(field) or "") for name, field in self.KEYWORDS.items()}
        if any(keywords.values()):
            places = words(cleaned.get("keywords_in") or "")
            found["keywords"] = {name: each for name, each in (keywords | {"in": places}).items() if each}
        found["presence"] = words(cleaned.get("presence") or "")
        found["without_bots"] = cleaned.get("without_bots") or None
        excluded = cleaned.get("exclude_sample") or None
        found["exclude_sample"] = (
            int(excluded) if excluded and excluded.isdecimal() and len(excluded) < 10 else excluded
        )
        control = cleaned.get("left_out_of") or ""
        word = "screened_out_of" if control.startswith("out-") else "left_out_of"
        found[word] = int(control.removeprefix("out-")) if control else None
        return {name: value for name, value in found.items() if value is not None and value not in ("", [])}

    @property
    def wish(self) -> dict[str, Any]:
        """What is to be drawn, as the action takes it."""
        cleaned = self.cleaned_data
        wish = {name: cleaned[name] for name in ("seed", "stratify_by")}
        wish |= {"allocation": cleaned.get("allocation") or "proportional"}
        wish |= {"at_least_one": bool(cleaned.get("at_least_one")) and bool(cleaned["stratify_by"])}
        if cleaned.get("size_by") == "margin":
            return wish | {"confidence": cleaned.get("confidence") or 0.95, "margin": cleaned["margin"] / 100}
        return wish | {"size": cleaned["size"]}

    @classmethod
    def initial_of(cls, filter: Mapping[str, Any]) -> dict[str, Any]:
        """A filter as the form shows it."""
        found: dict[str, Any] = {"state": "all"}
        for name, value in filter.items():
            if name == "keywords":
                given = value if isinstance(value, Mapping) else {"any": value}
                found |= {cls.KEYWORDS[each]: _with_commas(given[each]) for each in cls.KEYWORDS if each in given}
                found["keywords_in"] = ",".join(given.get("in", ()))
            elif name == "screened_out_of":
                found["left_out_of"] = f"out-{value}"
            elif isinstance(value, bool):
                found[name] = value if name == "without_bots" else str(value).lower()
            else:
                found[name] = _with_commas(value) if name != "presence" else ",".join(value)
        return found


def _with_commas(value: Any) -> Any:
    return ", ".join(map(str, value)) if isinstance(value, list | tuple) else value


class ItemFilter(forms.Form):
    """The bar above the table of items; what it can't read it passes over."""

    search = forms.CharField(label="Search", required=False, max_length=200)
    round = forms.TypedChoiceField(label="Round", required=False, coerce=int, empty_value=None)
    screening = forms.ChoiceField(
        label="Screening",
        required=False,
        choices=[("", "all"), ("unscreened", "not screened"), ("in", "in"), ("out", "out")],
    )

    sample = forms.TypedChoiceField(label="Sample", required=False, coerce=int, empty_value=None)

    def __init__(self, *given: Any, numbers: Sequence[int], samples: Sequence[Sample] = (), **more: Any) -> None:
        super().__init__(*given, **more)
        fields: Any = self.fields
        fields["round"].choices = [("", "all rounds"), *((number, f"Round {number}") for number in numbers)]
        fields["sample"].choices = [("", "any or none"), *((each.pk, str(each)) for each in samples)]
