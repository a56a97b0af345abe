"""Options of row exports: round, dimension, version, raters, revision, and shape."""

from collections.abc import Callable, Mapping
from typing import Any

from annotation.core.access import Seat, get_round
from annotation.core.errors import Invalid
from annotation.core.imported import number_of_label
from annotation.labels.queries.rows import REVISIONS
from annotation.labels.queries.version_mapping import target_version

REFUSED = "Export not created."
LONGEST = 200
SHAPES = ("long", "wide")

Options = dict[str, Any]


def reader(*names: str) -> Callable[[Seat, Mapping[str, Any]], Options]:
    """Reads these options from a request; gives only those that were given.

    It raises Invalid with the fields for anything else, NotFound for a round that is not there, and Blind.
    """

    def read(seat: Seat, given: Mapping[str, Any]) -> Options:
        found: Options = {}
        wrong: dict[str, list[str]] = {}
        for name, value in given.items():
            if value is None or value == "" or value == []:
                continue
            if name not in names and not (name == "round_label" and "round" in names):
                wrong[name] = ["This export kind does not have this option."]
                continue
            try:
                found[name] = READERS[name](value)
            except ValueError as error:
                wrong[name] = [str(error)]
        if wrong:
            raise Invalid(REFUSED, fields=wrong)
        round_ = None
        if label := found.pop("round_label", ""):
            found["round"] = number_of_label(seat, label, found.get("round"))
        if "round" in found:
            round_ = get_round(seat, found["round"])
            seat.require_sight(round_)
        target_version(seat, found.get("version"), round_)
        return found

    return read


def _number(value: Any) -> int:
    if isinstance(value, str) and value.isascii() and value.isdecimal() and len(value) < 11:
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 2**31:
        raise ValueError("Enter a whole number.")
    return value


def _word(value: Any) -> str:
    if not isinstance(value, str) or len(value) > LONGEST or "\x00" in value:
        raise ValueError(f"Enter at most {LONGEST} characters.")
    return value


def _codes(value: Any) -> list[str]:
    """Rater codes, as a list or as `R1,R2`."""
    codes = value.split(",") if isinstance(value, str) else value
    if not isinstance(codes, list | tuple) or not all(isinstance(code, str) and len(code) <= 20 for code in codes):
        raise ValueError("Send codes of raters as R1,R2.")
    return sorted({code.strip().upper() for code in codes if code.strip()})


def _one_of(*words: str) -> Callable[[Any], str]:
    def read(value: Any) -> str:
        if value not in words:
            raise ValueError(f"Use one of {', '.join(words)}.")
        return str(value)

    return read


READERS: Mapping[str, Callable[[Any], Any]] = {
    "round": _number,
    "round_label": _word,
    "version": _number,
    "dimension": _word,
    "raters": _codes,
    "revision": _one_of(*REVISIONS),
    "shape": _one_of(*SHAPES),
}
