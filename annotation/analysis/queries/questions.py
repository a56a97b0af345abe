"""Questions about agreed labels: the words of a URL, checked as far as they need no labels."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from annotation.analysis import combinations
from annotation.core.errors import Invalid
from annotation.labels.columns import LEVELS

Words = Mapping[str, str | Sequence[str]]
"""The words of an address with their values; a list is what stands there more than once."""

PARTS = ("all", "single")
COMMON = ("round", "version", "level", "fold", "left_out", "parts", "where")
MOST_DIMENSIONS = 8


@dataclass(frozen=True)
class QuestionSpec:
    """The words of one kind of question, beside those of all (`COMMON`).

    It can't do without those `needed`. `of` are its denominators, with the one that nobody has to name.
    """

    needed: tuple[str, ...]
    also: tuple[str, ...] = ()
    of: tuple[str, ...] = ()
    default_of: str = ""
    default_by: str = ""
    fewest: int = 1
    most: int = MOST_DIMENSIONS
    """How many `dimensions` it takes."""
    is_of_sets: bool = False
    """Whether it asks which values come together: of several dimensions, or within the sets of one."""

    @property
    def words(self) -> tuple[str, ...]:
        return (*self.needed, *self.also)

    @property
    def group(self) -> str:
        """The word for what parts are grouped by."""
        return "within" if "within" in self.also else "by"

    @property
    def dimension_words(self) -> tuple[str, ...]:
        """The words that name dimensions, in their order."""
        return tuple(each for each in ("dimension", "rows", "columns", "dimensions") if each in self.words)


@dataclass(frozen=True)
class AnalysisQuestion:
    """One question; words that were not given are empty, levels and folds stand by dimension ("" for all asked)."""

    kind: str
    dimensions: tuple[str, ...] = ()
    by: str = ""
    mark: str = ""
    value: str = ""
    measure: str = ""
    of: str = ""
    cut: float | None = None
    least: float = 2
    largest: int = combinations.LARGEST
    round: int | None = None
    version: int | None = None
    levels: Mapping[str, str] = field(default_factory=dict)
    folds: Mapping[str, float] = field(default_factory=dict)
    left_out: tuple[str, ...] = ()
    where: tuple[str, ...] = ()
    parts: str = PARTS[0]


def read_question(kind: str, spec: QuestionSpec, words: Words) -> AnalysisQuestion:
    """A question of a kind from the words of its address; words that it does not know are passed over.

    Raises Invalid with the word that is missing or can't be read.
    """
    reading, takes = _QuestionReader(words), spec.words
    for name in spec.needed:
        if not reading.text(name):
            reading.fail(name, "Missing parameter: name a measure." if name == "measure" else "This field is required.")
    dimensions: tuple[str, ...] = tuple(
        reading.text(name) for name in ("dimension", "rows", "columns") if name in takes
    )
    if "dimensions" in takes:
        dimensions = reading.several("dimensions")
        if dimensions and not (spec.fewest <= len(dimensions) <= spec.most and len(set(dimensions)) == len(dimensions)):
            words_ = f"Name {spec.fewest} to {spec.most} different dimensions, with commas between them."
            reading.fail("dimensions", words_)
    if "columns" in takes and len(set(dimensions)) == 1 and dimensions[0]:
        reading.fail("columns", "Name another dimension than in rows.")
    found = AnalysisQuestion(
        kind=kind,
        dimensions=tuple(each for each in dimensions if each),
        by=(reading.text(spec.group) if spec.group in takes else "") or spec.default_by,
        mark=reading.text("mark") if "mark" in takes else "",
        value=reading.text("value") if "value" in takes else "",
        measure=reading.text("measure") if "measure" in takes else "",
        of=reading.choice("of", spec.of, spec.default_of) if spec.of else "",
        cut=reading.number("cut") if "cut" in takes else None,
        least=reading.positive("least", 2) if "least" in takes else 2,
        largest=int(reading.choice("largest", ("2", "3", "4"), "4")) if "largest" in takes else 4,
        round=reading.whole("round"),
        version=reading.whole("version"),
        levels={key: reading.one_of("level", level, LEVELS) for key, level in reading.keyed("level")},
        folds={key: reading.at_least_0("fold", number) for key, number in reading.keyed("fold")},
        left_out=reading.taken_apart("left_out"),
        where=reading.taken_apart("where"),
        parts=reading.choice("parts", PARTS, PARTS[0]),
    )
    if reading.fields:
        raise Invalid("Analysis not valid.", fields=reading.fields)
    return found


class _QuestionReader:
    """Reads words, and gathers what can't be read."""

    def __init__(self, words: Words) -> None:
        self.words = words
        self.fields: dict[str, list[str]] = {}

    def fail(self, name: str, sentence: str) -> None:
        self.fields.setdefault(name, [sentence])

    def text(self, name: str) -> str:
        given = self.words.get(name, "")
        if not isinstance(given, str):
            given = given[-1] if given else ""
        if "\0" in given:
            self.fail(name, "This contains a character that can't be read.")
            return ""
        return given.strip()

    def several(self, name: str) -> tuple[str, ...]:
        """Values with commas between them, without blanks around."""
        return tuple(each.strip() for each in self.taken_apart(name) if each.strip())

    def taken_apart(self, name: str) -> tuple[str, ...]:
        """What stands between commas, as it is; where the word stands there more than once, each whole."""
        given = self.words.get(name, "")
        values = [given] if isinstance(given, str) else [str(each) for each in given]
        found = tuple(values[0].split(",")) if len(values) == 1 else tuple(values)
        if any("\0" in each for each in found):
            self.fail(name, "This contains a character that can't be read.")
            return ()
        return tuple(each for each in found if each.strip())

    def keyed(self, name: str) -> list[tuple[str, str]]:
        """Values that can be for one dimension, as `dimension:value`; else the dimension is empty."""
        found = []
        for each in self.several(name):
            key, colon, value = each.rpartition(":")
            found.append((key if colon else "", value))
        return found

    def one_of(self, name: str, given: str, choices: Sequence[str]) -> str:
        if given not in choices:
            self.fail(name, f"Use one of {', '.join(choices)}.")
        return given

    def choice(self, name: str, choices: Sequence[str], default: str) -> str:
        given = self.one_of(name, self.text(name) or default, choices)
        return given if given in choices else default

    def number(self, name: str) -> float | None:
        given = self.text(name)
        return None if not given else self._float(name, given)

    def positive(self, name: str, default: float) -> float:
        found = self.number(name)
        if found is not None and not found > 0:
            self.fail(name, "Enter a number above 0: from 1 a number of parts, below 1 a share of them.")
        return default if found is None else found

    def at_least_0(self, name: str, given: str) -> float:
        found = self._float(name, given)
        if not found >= 0:
            self.fail(name, "Enter a number: from 1 a number of parts, below 1 a share of them.")
        return found

    def whole(self, name: str) -> int | None:
        given = self.text(name)
        if not given:
            return None
        if not given.isascii() or not given.isdecimal() or len(given) > 9:
            self.fail(name, "Enter a whole number.")
            return None
        return int(given)

    def _float(self, name: str, given: str) -> float:
        try:
            found = float(given) if given.isascii() and len(given) < 20 else float("nan")
        except ValueError:
            found = float("nan")
        if not abs(found) < 1e15:
            self.fail(name, "Enter a number.")
            return 0.0
        return found
