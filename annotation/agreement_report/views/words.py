"""Words of the agreement page: meanings of numbers, names of labels, rounds."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from agreement import COEFFICIENTS, BenchmarkWord, CoefficientEntry, benchmark_words, bound
from annotation.agreement_report.queries.across_rounds import DimensionPatterns
from annotation.agreement_report.queries.coefficients import AgreementEntry, Headline
from annotation.agreement_report.queries.patterns import DOES_NOT_APPLY
from annotation.labels.consensus import PENDING
from annotation.models import Round
from shared.wording import series
from taxonomy.tree import TreeCategory

SCALE_WORDS = {"krippendorff": "Krippendorff’s scale", "landis_koch": "the scale of Landis and Koch"}
METRICS = {
    "nominal": "equal or not",
    "tree": "distance in the tree of categories",
    "ordinal": "ranks",
    "interval": "squared differences",
    "ratio": "squared differences in proportion",
    "masi": "MASI distance between sets",
    "jaccard": "Jaccard distance between sets",
}


@dataclass(frozen=True)
class Names:
    """Labels of an agreement entry in words."""

    across: DimensionPatterns

    def of(self, label: str) -> str:
        members = label.split(" + ") if self.across.dimension.is_set else [label]
        return ", ".join(map(self._of_one, members))

    def _of_one(self, label: str) -> str:
        if label in FIXED:
            return FIXED[label]
        if label in self._categories:
            return self._categories[label].path
        return BOOLEANS.get(label, label) if self.across.dimension.is_two_valued else label

    def defined(self, label: str) -> list["CategoryDefinition"]:
        """A label with its definition; each of its categories, when it is a set."""
        members = label.split(" + ") if self.across.dimension.is_set else [label]
        found = []
        for member in members:
            category = self._categories.get(member)
            found.append(
                CategoryDefinition(
                    self.of(member),
                    category.definition if category else EXPLAINED.get(member, ""),
                    category.include if category else (),
                    category.exclude if category else (),
                )
            )
        return found

    @property
    def _categories(self) -> dict[str, TreeCategory]:
        return self.across.categories


FIXED = {PENDING: "none fits (proposal)", DOES_NOT_APPLY: "does not apply", "(none)": "none"}
EXPLAINED = {
    PENDING: "The rater found no category that fits and proposed one.",
    DOES_NOT_APPLY: "The dimension did not apply under the rater’s own labels.",
    "(none)": "The rater chose no category.",
}
BOOLEANS = {"true": "yes", "false": "no"}


@dataclass(frozen=True)
class CategoryDefinition:
    """A category with what belongs to it."""

    name: str
    definition: str
    include: Sequence[str]
    exclude: Sequence[str]


def meaning(head: Headline) -> str:
    """In words where the value and its interval stand to the threshold."""
    if head.value is None:
        return head.undefined or ""
    if head.threshold is None:
        return "No threshold is set."
    at = f"the threshold of {bound(head.threshold)}"
    if head.ci_low is None or head.ci_high is None:
        return " ".join([f"{at}.", *([head.ci_undefined] if head.ci_undefined else [])])
    if head.value >= head.threshold:
        is_whole = head.ci_low >= head.threshold
        return f"{at}, {'with its whole 95% CI' if is_whole else 'but its 95% CI includes lower values'}."
    is_whole = head.ci_high < head.threshold
    return f"{at}, {'with its whole 95% CI' if is_whole else 'though its 95% CI includes it'}."


def scale_words(head: Headline) -> str:
    """The scale's word for the value, and that of the lower limit of its 95% CI; empty where no scale suits."""
    for first in benchmark_words(head.coefficient, head.value, head.ci_low)[:1]:
        return f"“{first['word']}” on {SCALE_WORDS[first['scale']]}{_at_least(first)}"
    return ""


def _at_least(found: BenchmarkWord) -> str:
    return f", at least “{found['earned']}” (95%)" if found["earned"] else ""


def threshold_words(head: Headline) -> str:
    """In which share of the bootstrap resamples the value reaches the threshold; empty where there is no such share."""
    if head.reached_share is None:
        return ""
    share = _in_percent(head.reached_share)
    return f"It reaches the threshold in {share} of the bootstrap resamples in which it is defined."


def word_of(each: CoefficientEntry) -> str:
    """Of a coefficient in an entry: its scale's word, and that of the lower limit of its 95% CI."""
    return "".join(f"“{first['word']}”{_at_least(first)}" for first in each["words"][:1])


def about_coefficients(entry: AgreementEntry) -> list[str]:
    """What a reader of the table of coefficients would wonder about, in sentences."""
    if entry.raters > 2:
        of_two = series([each.title_within.replace("'", "’") for each in COEFFICIENTS.values() if each.is_of_two])
        return [
            f"{of_two[0].upper()}{of_two[1:]} are defined for two raters and not listed. See the pairs of raters above."
        ]
    values = {each["name"]: each["value"] for each in entry.coefficients}
    fleiss, scott = values["fleiss_kappa"], values["scott_pi"]
    if fleiss is None or scott is None or abs(fleiss - scott) < 1e-9:
        return []
    return [
        "Fleiss’ kappa differs from Scott’s pi because some units have one rating. Both take the agreement from the "
        "units with two ratings. For chance, Fleiss’ kappa counts how often all ratings are in a category, Scott’s pi "
        "leaves out the units with one rating. Conger’s and Cohen’s kappa differ in the same way."
    ]


def _in_percent(share: float) -> str:
    """A share that is never rounded to none or all."""
    if share in (0.0, 1.0):
        return f"{share:.0%}"
    if share > 0.995:
        return "over 99%"
    return "under 1%" if share < 0.005 else f"{share:.0%}"


def which_rounds(rounds: Sequence[Round]) -> str:
    """`round 2 (version 3)`, or `rounds 1 to 5 (versions 1 and 2)`."""
    numbers = sorted({round_.number for round_ in rounds})
    versions = sorted({round_.taxonomy_version.number for round_ in rounds})
    one = len(numbers) > 2 and all(after - before == 1 for before, after in pairwise(numbers))
    named = f"{numbers[0]} to {numbers[-1]}" if one else series([str(number) for number in numbers])
    return (
        f"round{'s' if len(numbers) > 1 else ''} {named} "
        f"(version{'s' if len(versions) > 1 else ''} {series([str(number) for number in versions])})"
    )
