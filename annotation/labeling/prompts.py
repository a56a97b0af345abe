"""Prompts: how each dimension is shown, as a short list, type-ahead, yes or no, number, or text. Pure."""

from collections.abc import Iterator
from dataclasses import dataclass

from taxonomy.tree import TreeCategory, TreeDimension, VersionTree

LONGEST_LIST = 7
"""So many categories stand on the page as a list; more are searched for."""
WIDEST_ROW = 30
"""So many characters do the names of an ordinal dimension have together where its steps stand in a row."""
RESERVED = frozenset("smpe")
"""Keys that mean something on the whole page: skip, memo, previous, evidence."""


@dataclass(frozen=True)
class PromptOption:
    """A category in a list, with the key that chooses it; a group that only holds others has none."""

    category: TreeCategory
    shortcut: str


@dataclass(frozen=True)
class Prompt:
    """A dimension as it is asked: `number` counts from 1, `style` is steps, list, search or the widget of its kind."""

    number: int
    dimension: TreeDimension
    style: str
    options: tuple[PromptOption, ...]

    @property
    def template(self) -> str:
        """The template of its control."""
        return f"annotation/labeling/widgets/{self.style}.html"

    @property
    def is_row(self) -> bool:
        """Whether the steps stand in a row, or else one below the other."""
        return sum(len(option.category.name) + 2 for option in self.options) <= WIDEST_ROW

    @property
    def hue(self) -> int:
        """1 to 8."""
        return (self.number - 1) % 8 + 1


def prompts(tree: VersionTree) -> list[Prompt]:
    """The dimensions in order."""
    return [
        Prompt(number, dimension, _style(dimension), tuple(_options(dimension)))
        for number, dimension in enumerate(tree.dimensions, start=1)
    ]


def description(asked: list[Prompt]) -> list[dict[str, object]]:
    """The same for the script of the page: every dimension with its condition and categories."""
    return [
        {
            "number": prompt.number,
            "key": prompt.dimension.key,
            "title": prompt.dimension.title,
            "is_set": prompt.dimension.is_set,
            "is_two_valued": prompt.dimension.is_two_valued,
            "is_number": prompt.dimension.is_number,
            "required": prompt.dimension.required,
            "applies_when": _condition(prompt.dimension),
            "categories": [_category(option) for option in prompt.options],
        }
        for prompt in asked
    ]


def _style(dimension: TreeDimension) -> str:
    if not dimension.has_categories:
        return dimension.question_kind.widget
    n_choices = sum(category.selectable for category in dimension.categories)
    if n_choices > LONGEST_LIST:
        return "search"
    is_flat = all(category.selectable and category.level == 1 for category in dimension.categories)
    return "steps" if dimension.has_steps and is_flat else "list"


def _options(dimension: TreeDimension) -> Iterator[PromptOption]:
    """The taxonomy's own shortcuts first; in a short list the others get the first free letter of their name."""
    taken = {category.shortcut.lower() for category in dimension.categories if category.shortcut}
    for category in dimension.categories:
        shortcut = category.shortcut.lower() if category.selectable else ""
        if not shortcut and category.selectable and _style(dimension) in ("list", "steps"):
            letters = (letter for letter in category.name.lower() if letter.isascii() and letter.isalpha())
            shortcut = next((letter for letter in letters if letter not in taken | RESERVED), "")
            taken.add(shortcut)
        yield PromptOption(category, shortcut)


def _condition(dimension: TreeDimension) -> dict[str, object] | None:
    when = dimension.applies_when
    return {"dimension": when.dimension, "is": list(when.values)} if when else None


def _category(option: PromptOption) -> dict[str, object]:
    category = option.category
    told: dict[str, object] = {
        "key": category.key,
        "name": category.name,
        "keys": category.keys,
        "names": category.names,
        "shortcut": option.shortcut,
        "selectable": category.selectable,
    }
    for name in ("definition", "include", "exclude", "examples"):
        if value := getattr(category, name):
            told[name] = value
    return told
