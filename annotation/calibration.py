"""Calibration: a rater's answer held against a known one, and a pilot's agreement against its thresholds; pure."""

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from annotation.consensus import Values
from taxonomy.tree import VersionTree

MET, NOT_MET, UNDEFINED, NO_THRESHOLD = "met", "not met", "undefined", "no threshold"
OPEN, WAIT = "open", "wait"


@dataclass(frozen=True)
class Compared:
    """One part and dimension: what was given and what is known, None where there is no value; and whether it is so."""

    part: int
    dimension: str
    given: Values | None
    known: Values | None

    @property
    def right(self) -> bool:
        return self.given is not None and self.known is not None and set(self.given) == set(self.known)


def compare(
    dimensions: Sequence[str], given: Sequence[Mapping[str, Values]], known: Sequence[Mapping[str, Values]]
) -> list[Compared]:
    """Part by part, in the order of the dimensions, what stands on either side; what neither has is left out.

    Parts are compared by their numbers. A skipped item is given as no parts at all.
    """
    found = []
    for place in range(max(len(given), len(known))):
        mine = given[place] if place < len(given) else {}
        right = known[place] if place < len(known) else {}
        for key in dimensions:
            if key in mine or key in right:
                found.append(Compared(place + 1, key, mine.get(key), right.get(key)))
    return found


@dataclass(frozen=True)
class Score:
    """How often a rater was right on a dimension of the training items, and what was taken for what."""

    dimension: str
    n_right: int
    n_answered: int
    confusions: Sequence[tuple[str, str, int]] = ()
    """(known, given, how often), the most frequent first."""


def scores(dimensions: Sequence[str], compared: Iterable[Compared], *, most: int = 3) -> list[Score]:
    """One score for each dimension that came up, in the given order; what wasn't answered counts as not right."""
    by_dimension: dict[str, list[Compared]] = {}
    for each in compared:
        by_dimension.setdefault(each.dimension, []).append(each)
    return [
        Score(key, sum(each.right for each in here), len(here), _confusions(here, most))
        for key in dimensions
        if (here := by_dimension.get(key))
    ]


def _confusions(compared: Iterable[Compared], most: int) -> list[tuple[str, str, int]]:
    counted: dict[tuple[str, str], int] = {}
    for each in compared:
        if not each.right:
            pair = (in_short(each.known), in_short(each.given))
            counted[pair] = counted.get(pair, 0) + 1
    in_order = sorted(counted.items(), key=lambda entry: (-entry[1], entry[0]))
    return [(known, given, n) for (known, given), n in in_order[:most]]


def in_short(values: Values | None) -> str:
    """Values as one word: `crash`, `config+code`, `yes`; `-` for none."""
    if values is None:
        return "-"
    return "+".join({True: "yes", False: "no"}[each] if isinstance(each, bool) else str(each) for each in values)


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
    """What a stored gate was opened against, one phrase for each dimension: `Symptom stood at 0.61 < 0.80`."""
    return [_short(each) for each in gate["dimensions"] if each["verdict"] in (NOT_MET, UNDEFINED)]


def _short(each: Mapping[str, Any]) -> str:
    if each["value"] is None:
        return f"{each['title']} was undefined (threshold {each['threshold']:.2f})"
    # With more places where two would show 0.799 as 0.80 < 0.80.
    places = 2 if f"{each['value']:.2f}" != f"{each['threshold']:.2f}" else 4
    return f"{each['title']} stood at {each['value']:.{places}f} < {each['threshold']:.2f}"


COLUMNS = ("item", "part", "dimension", "value", "why")
TRUTHS = {"yes": True, "true": True, "no": False, "false": False}


def read_known_sheet(tree: VersionTree, text: str, wrong: list[str]) -> dict[str, dict[str, Any]]:
    """Known answers from a sheet in long form, by item, as in a request; what is wrong goes into `wrong`, line by line.

    Columns `item, dimension, value`, and `part` and `why` if needed; several rows for several values. Categories are
    named by key.
    """
    rows = csv.DictReader(io.StringIO(text.lstrip("\ufeff")))
    names = [(name or "").strip().lower() for name in rows.fieldnames or []]
    rows.fieldnames = names
    if missing := [name for name in ("item", "dimension", "value") if name not in names]:
        wrong.append(f"The first line names the columns; there is no {' and no '.join(missing)}.")
        return {}
    parts: dict[str, dict[int, dict[str, Any]]] = {}
    whys: dict[str, str] = {}
    for row in rows:
        item, part, key, value, why = ((row.get(name) or "").strip() for name in COLUMNS)
        if not (item or key or value):
            continue
        if not item or key not in tree.by_key or not (part or "1").isascii() or not (part or "1").isdigit():
            wrong.append(f"Line {rows.line_num}: needs an item, a part from 1, and a dimension of the version.")
            continue
        labels = parts.setdefault(item, {}).setdefault(int((part or "1")[:9]), {})
        whys[item] = whys.get(item) or why
        kind = tree.by_key[key].kind
        if kind == "boolean":
            labels[key] = TRUTHS.get(value.lower(), value)
        elif kind == "number":
            labels[key] = _number(value)
        elif kind == "text":
            labels[key] = value
        else:
            labels.setdefault(key, []).extend([value] if value else [])
    if not parts and not wrong:
        wrong.append("The sheet has no rows below its first line.")
    return {
        item: {"parts": [{"labels": labels} for _, labels in sorted(here.items())], "why": whys[item]}
        for item, here in parts.items()
    }


def _number(value: str) -> float | str:
    try:
        return float(value)
    except ValueError:
        return value
