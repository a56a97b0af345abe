"""Question kind: how answers to a kind of question are read, stored, worded, and exported. Pure.

This module and those of the kinds import only the standard library and this package, because a replication package
contains them unchanged.
"""

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Protocol

Value = str | bool | float
Values = tuple[Value, ...]

CATEGORY, BOOLEAN, NUMBER, TEXT = "category", "boolean", "number", "text"
COLUMNS = (CATEGORY, BOOLEAN, NUMBER, TEXT)
"""The columns that a value can be stored in: a row per category, or one value."""

LONGEST_TEXT = 20_000
LONGEST_SHOWN = 200


class WrongValue(ValueError):
    """A value that a question can't take; `sentences` say why."""

    def __init__(self, *sentences: str) -> None:
        super().__init__(" ".join(sentences))
        self.sentences = list(sentences)


class CategoryLike(Protocol):
    """What a kind knows of a category."""

    @property
    def name(self) -> str: ...
    @property
    def selectable(self) -> bool: ...


class QuestionLike(Protocol):
    """What a kind knows of a question."""

    @property
    def title(self) -> str: ...
    @property
    def by_key(self) -> Mapping[str, Any]: ...


class Kind:
    """What answers to a question are. A kind is a subclass that declares what is below, and `register`ed once."""

    name: ClassVar[str]
    """The kind's name in documents, in the database and in files; at most 10 characters."""
    words: ClassVar[str]
    """What an answer is: "one category"."""
    described: ClassVar[str]
    """The same in a paper; `{categories}` and `{levels}` are how many of them there are."""
    synonyms: ClassVar[tuple[str, ...]] = ()
    """Other words for the kind, which a document's author may write by mistake."""

    column: ClassVar[str]
    """The column that holds a value: one of COLUMNS. The database checks it."""
    is_set: ClassVar[bool] = False
    """Whether an answer is any number of values, none of them included."""
    level: ClassVar[str] = "nominal"
    """The level of measurement: nominal, ordinal or interval."""
    variable: ClassVar[str]
    """The entry of `agreement.VARIABLES` by which agreement is measured."""
    has_coefficients: ClassVar[bool] = True
    """Whether agreement on the values is measured: nobody writes the same free text twice."""

    widget: ClassVar[str]
    """The control that raters answer with: a template of `templates/annotation/labeling/widgets/`; of kinds with
    categories their number and order decide (`annotation/labeling/prompts.py`)."""
    attributes: ClassVar[Mapping[str, str]] = {}
    """HTML attributes of that control."""
    arrow_type: ClassVar[str]
    """The type of a wide file's column: bool, double, string, list<string>, or dictionary for repeated texts."""
    table_type: ClassVar[str] = "string"
    """The type of such a column in the descriptor of a replication package."""

    @property
    def has_categories(self) -> bool:
        """Whether the taxonomy lists the answers."""
        return self.column == CATEGORY

    @property
    def takes_one_category(self) -> bool:
        return self.has_categories and not self.is_set

    @property
    def is_ordered(self) -> bool:
        """Whether some values are nearer to each other than others: an order, or numbers."""
        return self.level != "nominal"

    @property
    def has_steps(self) -> bool:
        """Whether the categories are the steps of a scale, in their order."""
        return self.has_categories and self.is_ordered

    @property
    def is_open(self) -> bool:
        """Whether anything can be answered: no list names all values, so no condition can either."""
        return self.column in (NUMBER, TEXT)

    @property
    def is_two_valued(self) -> bool:
        """Whether the answer is yes or no."""
        return self.column == BOOLEAN

    @property
    def is_number(self) -> bool:
        return self.column == NUMBER

    @property
    def is_free_text(self) -> bool:
        """Whether a text is taken as it was written: no word of it means anything else."""
        return self.column == TEXT

    def is_like(self, other: "Kind") -> bool:
        """Whether values of this kind can be carried over to a question of another kind."""
        return self.name == other.name or (self.has_categories and other.has_categories)

    def read(self, question: QuestionLike, given: object) -> Values | None:
        """The values of an answer that came as JSON, None where it is blank. Raises WrongValue."""
        raise NotImplementedError

    def parse(self, text: str) -> object:
        """What a text means, as `read` takes it; the text itself where it means nothing."""
        return text

    def read_cell(self, question: QuestionLike, text: str) -> Values:
        """The value in a cell of a sheet, for kinds without categories. Raises WrongValue."""
        raise NotImplementedError

    def as_json(self, values: Values) -> object:
        """Values as answers have them in JSON: a list of keys, or the value alone."""
        return list(values) if self.has_categories else values[0]

    def as_answer(self, values: Values) -> Any:
        """Values as conditions compare them: a list of keys, or the value alone."""
        return values[0] if values and not self.has_categories else [str(value) for value in values]

    def as_compared(self, values: Values) -> Any:
        """Values as one rating, hashable: a set, or the value alone."""
        return frozenset(values) if self.is_set else values[0]

    def value_in(self, cell: str) -> Any:
        """The rating in a cell of a table that Concord wrote: a set, a number or a text."""
        return cell

    def word(self, value: Value) -> str:
        """A value that is no category, for a reader."""
        return str(value)


KINDS: dict[str, Kind] = {}
"""The kinds of questions by name, in the order in which pages offer them."""


def register(kind: Kind) -> Kind:
    """Makes a kind known under its name. Raises ValueError for a second one, or for a column that there is not."""
    if kind.column not in COLUMNS:
        raise ValueError(f"{kind.column!r} is no column of values; there are {', '.join(COLUMNS)}.")
    if kind.name in KINDS:
        raise ValueError(f"There is a kind {kind.name!r} already.")
    KINDS[kind.name] = kind
    return kind


def sources() -> list[Path]:
    """The files of the registered kinds and of what they build on, by name."""
    names = {each.__module__ for kind in KINDS.values() for each in type(kind).__mro__ if each is not object}
    files = [sys.modules[name].__file__ for name in {__name__.rpartition(".")[0], *names}]
    return sorted((Path(each) for each in files if each), key=lambda path: path.name)


class HasKind:
    """Whatever has the name of a kind as its `kind`: the kind itself, and what is asked most about it."""

    kind: str

    @property
    def question_kind(self) -> Kind:
        return KINDS[self.kind]

    @property
    def has_categories(self) -> bool:
        return KINDS[self.kind].has_categories

    @property
    def takes_one_category(self) -> bool:
        return KINDS[self.kind].takes_one_category

    @property
    def is_set(self) -> bool:
        return KINDS[self.kind].is_set

    @property
    def is_ordered(self) -> bool:
        return KINDS[self.kind].is_ordered

    @property
    def has_steps(self) -> bool:
        return KINDS[self.kind].has_steps

    @property
    def is_open(self) -> bool:
        return KINDS[self.kind].is_open

    @property
    def is_two_valued(self) -> bool:
        return KINDS[self.kind].is_two_valued

    @property
    def is_number(self) -> bool:
        return KINDS[self.kind].is_number

    @property
    def is_free_text(self) -> bool:
        return KINDS[self.kind].is_free_text

    @property
    def has_coefficients(self) -> bool:
        return KINDS[self.kind].has_coefficients

    @property
    def column(self) -> str:
        return KINDS[self.kind].column

    @property
    def variable(self) -> str:
        return KINDS[self.kind].variable


def nearest(word: str, known: Sequence[str]) -> str:
    """A question with the nearest known word, or nothing. Packages have no library for it."""
    try:
        from shared.wording import did_you_mean
    except ImportError:
        return ""
    return did_you_mean(word, sorted(known))
