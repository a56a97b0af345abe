"""Rounds of sheets: which number a label gets, and which rounds come before all others. Pure."""

import re
from collections.abc import Iterable, Mapping

from annotation.imports.sheets.columns import whole_number

APART = re.compile(r"[\W_]+")
TRIALS = frozenset({"pilot", "pilots", "calibration", "training", "trial"})


def is_trial(label: str) -> bool:
    """Whether a label names a round that comes before the study's own: pilot, calibration, training, trial, test."""
    words = APART.sub(" ", label.casefold()).split()
    return not TRIALS.isdisjoint(words) or words in (["test"], ["tests"]) or "test round" in " ".join(words)


def in_order(labels: Iterable[str]) -> list[str]:
    """Labels in the order of their rounds: trials first, then numbers by value, then the others as they appear."""

    def rank(label: str) -> tuple[int, float]:
        if is_trial(label):
            return 0, 0.0
        number = _number(label)
        return (2, 0.0) if number is None else (1, number)

    return sorted(labels, key=rank)


def number_rounds(
    labels: Iterable[str], there: Mapping[int, str], called: Mapping[str, str] | None = None
) -> dict[str, int]:
    """Label → number, for the labels of a sheet and the rounds that a study has (`there`: number → label).

    A label that a round has is that round. If all labels are whole numbers of 1 or more, they are the numbers, also
    those of rounds without a label; what would come before a round that is there, or is another one's number, comes
    after all of them. Else rounds are numbered in order, after those that are there. In a file of Concord labels are
    numbers, and `called` says what each round is called.
    """
    labels = list(dict.fromkeys(labels))
    known = {label.casefold(): number for number, label in there.items() if label}
    names = {label: (called or {}).get(label) or label for label in labels}
    found = {label: known[name.casefold()] for label, name in names.items() if name.casefold() in known}
    are_numbers = all(whole_number(label) for label in labels)
    highest = max(there, default=0)
    for label in in_order(label for label in labels if label not in found):
        number = (whole_number(label) or 0) if are_numbers else 0
        if number not in there or there[number] or names[label] != label:
            number = max(number, highest + 1)
        found[label] = number
        highest = max(highest, number)
    return {label: found[label] for label in labels}


def newest_trial(labels: Mapping[int, str]) -> int | None:
    """The number of a trial that comes after another round, and so counts as newer, by the labels of a study's rounds.

    Rounds of sheets were numbered so before trials came first.
    """
    trials = [number for number, label in labels.items() if is_trial(label)]
    others = [number for number, label in labels.items() if label and not is_trial(label)]
    return max(trials) if trials and others and max(trials) > min(others) else None


def _number(label: str) -> float | None:
    try:
        number = float(label)
    except ValueError:
        return None
    return number if abs(number) < float("inf") else None
