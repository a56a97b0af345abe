"""Calibration rules: a rater's answer against the gold answer, a pilot against its thresholds. Pure."""

import csv
import io
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from agreement import Coefficient, Patterns, bound, one_coefficient, value_text
from annotation.labels.consensus import PENDING, Values
from taxonomy.tree import TreeDimension, VersionTree

MET, NOT_MET, UNDEFINED, NO_THRESHOLD = "met", "not met", "undefined", "no threshold"
OPEN, WAIT = "open", "wait"
SKIPPED, NOT_ASKED, NO_ANSWER, NO_PART = "skipped", "not asked", "no answer", "no such part"
"""Why one side has no value: the item was skipped; the dimension does not apply under the rater's answer to the one
above it; it was left blank; only the other side has so many parts."""


@dataclass(frozen=True)
class GoldComparison:
    """One part and dimension: what was given and what is known, None where there is no value and `missing` says why."""

    part: int
    dimension: str
    given: Values | None
    known: Values | None
    missing: str = ""

    @property
    def right(self) -> bool:
        return self.given is not None and self.known is not None and set(self.given) == set(self.known)

    @property
    def follows(self) -> bool:
        """Whether it only follows from another answer of the rater, which differs."""
        return self.missing == NOT_ASKED


def compare(
    dimensions: Sequence[str],
    given: Sequence[Mapping[str, Values]],
    known: Sequence[Mapping[str, Values]],
    asks: Callable[[str, Mapping[str, Values]], bool] = lambda key, labels: True,
) -> list[GoldComparison]:
    """Part by part, in the order of the dimensions, what stands on either side of all that is known.

    What is not known is not judged; in a part that only the rater has, dimensions that are known in some part. Parts
    are compared by their numbers. A skipped item is given as no parts at all. `asks` says whether a dimension is asked
    under a rater's labels.
    """
    judged = {key for part in known for key in part}
    found = []
    for place in range(max(len(given), len(known))):
        mine = given[place] if place < len(given) else {}
        right = known[place] if place < len(known) else dict.fromkeys(judged & set(mine))
        for key in dimensions:
            if key not in right:
                continue
            missing = ""
            if right[key] is None:
                missing = NO_PART
            elif key not in mine:
                missing = SKIPPED if not given else NO_PART if place >= len(given) else NO_ANSWER
                if missing == NO_ANSWER and not asks(key, mine):
                    missing = NOT_ASKED
            found.append(GoldComparison(place + 1, key, mine.get(key), right[key], missing))
    return found


@dataclass(frozen=True)
class Confusion:
    """What was known and what was given in its place, how often; `missing` says why one of them is None."""

    known: Values | None
    given: Values | None
    missing: str
    n: int


@dataclass(frozen=True)
class CategoryScore:
    """A category of known answers: how often it is known, given, both; and a coefficient of it against all others."""

    category: str
    n_known: int
    n_given: int
    n_both: int
    coefficient: Coefficient


@dataclass(frozen=True)
class Score:
    """How a rater did on a dimension of the training items; `coefficient` is of their labels against the known ones.

    `n` are the known labels, of which `n_answered` were compared with a label of the rater; units without one are left
    out of the coefficient.
    """

    dimension: str
    n: int
    n_right: int
    n_answered: int
    n_skipped: int
    n_not_asked: int
    confusions: Sequence[Confusion]
    coefficient: Coefficient | None
    categories: Sequence[CategoryScore]


def scores(
    dimensions: Sequence[TreeDimension], compared: Iterable[GoldComparison], coefficients: Mapping[str, str]
) -> list[Score]:
    """One score for each dimension that came up, in the given order; what wasn't answered counts as not right.

    `coefficients` holds the name of each dimension's coefficient; texts have none.
    """
    by_dimension: dict[str, list[GoldComparison]] = {}
    for each in compared:
        by_dimension.setdefault(each.dimension, []).append(each)
    return [
        _score(dimension, here, coefficients.get(dimension.key))
        for dimension in dimensions
        if (here := by_dimension.get(dimension.key))
    ]


def _score(dimension: TreeDimension, here: Sequence[GoldComparison], name: str | None) -> Score:
    both = [each for each in here if each.given is not None and each.known is not None]
    return Score(
        dimension=dimension.key,
        n=len(here),
        n_right=sum(each.right for each in here),
        n_answered=sum(each.given is not None for each in here),
        n_skipped=sum(each.missing == SKIPPED for each in here),
        n_not_asked=sum(each.follows for each in here),
        confusions=_confusions(here),
        coefficient=_coefficient(dimension, both, name) if name else None,
        categories=_categories(dimension, both) if name else [],
    )


def _coefficient(dimension: TreeDimension, both: Sequence[GoldComparison], name: str) -> Coefficient:
    def value(values: Values) -> Any:
        return dimension.question_kind.as_compared(values)

    rows = [(value(each.given or ()), value(each.known or ())) for each in both]
    scale = None
    if dimension.has_steps:
        off = [PENDING] if any(PENDING in row for row in rows) else []
        scale = [category.key for category in dimension.categories if category.selectable] + off
    found = Patterns.from_table(rows, raters=RATER_AND_GOLD, categories=scale)
    return one_coefficient(found, name, kind=dimension.variable, apart=(PENDING,))


RATER_AND_GOLD = ("rater", "gold")


def _categories(dimension: TreeDimension, both: Sequence[GoldComparison]) -> list[CategoryScore]:
    """The categories that occur on either side, in the order of the dimension, each against all others together."""
    if dimension.is_number:
        return []
    order = {category.key: place for place, category in enumerate(dimension.categories)}
    used = {str(one) for each in both for one in (*(each.known or ()), *(each.given or ()))}
    found = []
    for key in sorted(used, key=lambda key: (order.get(key, len(order)), key)):
        rows = [
            tuple(key in {str(one) for one in side} for side in (each.given or (), each.known or ())) for each in both
        ]
        patterns = Patterns.from_table(rows, raters=RATER_AND_GOLD)
        found.append(
            CategoryScore(
                category={"True": "yes", "False": "no"}.get(key, key) if dimension.is_two_valued else key,
                n_known=sum(known for _, known in rows),
                n_given=sum(given for given, _ in rows),
                n_both=sum(given and known for given, known in rows),
                coefficient=one_coefficient(patterns, "krippendorff_alpha", kind="boolean"),
            )
        )
    return found


def _confusions(compared: Iterable[GoldComparison]) -> list[Confusion]:
    """What was taken for what, the most frequent first."""
    counted: dict[tuple[Values | None, Values | None, str], int] = {}
    for each in compared:
        if not each.right:
            pair = (each.known, each.given, each.missing)
            counted[pair] = counted.get(pair, 0) + 1
    in_order = sorted(
        counted.items(),
        key=lambda entry: (-entry[1], in_short(entry[0][0], entry[0][2]), in_short(entry[0][1], entry[0][2])),
    )
    return [Confusion(known, given, missing, n) for (known, given, missing), n in in_order]


def in_short(values: Values | None, missing: str = "") -> str:
    """Values as one word: `crash`, `config+code`, `yes`; `(none)` for the empty set, `(skipped)` for no values."""
    if values is None:
        return f"({missing or NO_ANSWER})"
    shown = ({True: "yes", False: "no"}[each] if isinstance(each, bool) else str(each) for each in values)
    return "+".join(shown) or "(none)"


@dataclass(frozen=True)
class Criterion:
    """One criterion of a minimum on training items, for the items (`dimension` empty) or a dimension; and the result.

    `value` is None where the coefficient is undefined: then it is reached if every label is right.
    """

    dimension: str
    coefficient: str
    value: float | None
    minimum: float
    reached: bool


def criteria(minimum: Mapping[str, Any], n_right: int, n_items: int, found: Sequence[Score]) -> list[Criterion]:
    """A rater's result held against the minimum of a round: `share` of items right, coefficients by dimension."""
    judged = []
    if (least := minimum.get("share")) is not None:
        share = n_right / n_items if n_items else 0.0
        judged.append(Criterion("", "", share, least, bool(n_items) and share >= least - 1e-12))
    by_dimension = {each.dimension: each for each in found}
    for key, one in minimum.get("dimensions", {}).items():
        score = by_dimension.get(key)
        value = score.coefficient.value if score and score.coefficient else None
        whole = score is not None and score.n_right == score.n
        reached = whole if value is None else value >= one["minimum"] - 1e-12
        judged.append(Criterion(key, one["coefficient"], value, one["minimum"], reached))
    return judged


def verdict(value: float | None, threshold: float | None) -> str:
    """Where a coefficient stands: no threshold, undefined, met (not below it) or not met."""
    if threshold is None:
        return NO_THRESHOLD
    if value is None:
        return UNDEFINED
    return MET if value >= threshold else NOT_MET


def advice(verdicts: Iterable[str]) -> str | None:
    """`open` where every threshold is met, `wait` where one is not or can't be judged, None without a threshold."""
    judged = [each for each in verdicts if each != NO_THRESHOLD]
    if not judged:
        return None
    return OPEN if all(each == MET for each in judged) else WAIT


def short_of(gate: Mapping[str, Any]) -> list[str]:
    """What a stored gate was opened against, one phrase for each dimension: `Symptom was 0.61, below 0.80`."""
    return [_short(each) for each in gate["dimensions"] if each["verdict"] in (NOT_MET, UNDEFINED)]


def _short(each: Mapping[str, Any]) -> str:
    if each["value"] is None:
        return f"{each['title']} was undefined (threshold {bound(each['threshold'])})"
    value, threshold = value_text(each["value"], each["threshold"]), bound(each["threshold"])
    return f"{each['title']} was {value}, below {threshold}"


COLUMNS = ("item", "part", "dimension", "value", "why")
EMPTY_SET = "[]"


def read_gold_sheet(tree: VersionTree, text: str, wrong: list[str]) -> dict[str, dict[str, Any]]:
    """Known answers from a sheet in long form, by item, as in a request; what is wrong goes into `wrong`, line by line.

    Columns `item, dimension, value`, and `part` and `why` if needed; several rows for several values. Categories are
    named by key. `[]` is the empty set; a blank value is not known.
    """
    try:
        return _gold_rows(tree, text, wrong)
    except csv.Error:
        wrong.append(
            "The sheet can't be read as CSV. Put a cell with a line break in quotation marks, close every "
            "quotation mark, and shorten long cells."
        )
        return {}


def _gold_rows(tree: VersionTree, text: str, wrong: list[str]) -> dict[str, dict[str, Any]]:
    rows = csv.DictReader(io.StringIO(text.lstrip("\ufeff")), strict=True)
    names = [(name or "").strip().lower() for name in rows.fieldnames or []]
    rows.fieldnames = names
    if missing := [name for name in ("item", "dimension", "value") if name not in names]:
        wrong.append(f"The first line must name the columns. Missing: {' and '.join(missing)}.")
        return {}
    parts: dict[str, dict[int, dict[str, Any]]] = {}
    whys: dict[str, str] = {}
    for row in rows:
        item, part, key, value, why = ((row.get(name) or "").strip() for name in COLUMNS)
        if not (item or key or value):
            continue
        if not item or key not in tree.by_key or not (part or "1").isascii() or not (part or "1").isdecimal():
            wrong.append(f"Line {rows.line_num}: enter an item, a part from 1, and a dimension of the version.")
            continue
        labels = parts.setdefault(item, {}).setdefault(int((part or "1")[:9]), {})
        whys[item] = whys.get(item) or why
        if not value:
            continue
        if tree.by_key[key].has_categories:
            labels.setdefault(key, []).extend([value] if value != EMPTY_SET else [])
        else:
            labels[key] = tree.by_key[key].question_kind.parse(value)
    if not parts and not wrong:
        wrong.append("The sheet has no rows below its first line.")
    return {
        item: {"parts": [{"labels": labels} for _, labels in sorted(here.items())], "why": whys[item]}
        for item, here in parts.items()
    }
