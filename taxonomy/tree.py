"""Tree of a published version: one frozen object in memory, for labeling and reading. Pure."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from taxonomy.kinds import HasKind
from taxonomy.schema import AppliesWhen

Answer = Collection[str] | bool | float | str | None
"""What was answered on a dimension: category keys, a boolean, a number, a text, or None for no answer."""


@dataclass(frozen=True)
class TreeCategory:
    """A category; `keys` and `names` lead from the root to it, `position` counts through the tree from the top."""

    id: int
    key: str
    name: str
    keys: tuple[str, ...]
    names: tuple[str, ...]
    position: int
    definition: str = ""
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    examples: tuple[str, ...] = ()
    shortcut: str = ""
    selectable: bool = True
    has_children: bool = False

    @property
    def path(self) -> str:
        """Names from the root: "Training / Hang"."""
        return " / ".join(self.names)

    @property
    def parent(self) -> str | None:
        """The key of the category above."""
        return self.keys[-2] if len(self.keys) > 1 else None

    @property
    def level(self) -> int:
        """1 at the root."""
        return len(self.keys)


@dataclass(frozen=True)
class TreeDimension(HasKind):
    """A question with its categories in the order of the tree, each before what is below it."""

    id: int
    key: str
    title: str
    kind: str
    required: bool
    applies_when: AppliesWhen | None
    help: str
    position: int
    categories: tuple[TreeCategory, ...] = ()

    @cached_property
    def by_key(self) -> Mapping[str, TreeCategory]:
        return {category.key: category for category in self.categories}

    @cached_property
    def by_id(self) -> Mapping[int, TreeCategory]:
        return {category.id: category for category in self.categories}

    @cached_property
    def _by_name(self) -> Mapping[str, tuple[TreeCategory, ...]]:
        return _by_text((category.name, category) for category in self.categories)

    @cached_property
    def _by_path(self) -> Mapping[str, tuple[TreeCategory, ...]]:
        return _by_text((category.path, category) for category in self.categories)

    def find(self, text: str) -> tuple[TreeCategory, ...]:
        """The categories that a text can mean, by key, else by whole name, else by path, both without case.

        More than one: ambiguous.
        """
        if text in self.by_key:
            return (self.by_key[text],)
        return self._by_name.get(_folded(text)) or self._by_path.get(_folded(text), ())

    def below(self, key: str) -> frozenset[str]:
        """The keys of a category and of all below it."""
        return self._families.get(key, frozenset())

    @cached_property
    def _families(self) -> Mapping[str, frozenset[str]]:
        found: dict[str, set[str]] = {category.key: set() for category in self.categories}
        for category in self.categories:
            for above in category.keys:
                found[above].add(category.key)
        return {key: frozenset(keys) for key, keys in found.items()}


@dataclass(frozen=True)
class VersionTree:
    """A version with everything that can be said under it."""

    id: int
    slug: str
    number: int
    title: str
    note: str
    dimensions: tuple[TreeDimension, ...] = field(repr=False)

    @cached_property
    def by_key(self) -> Mapping[str, TreeDimension]:
        return {dimension.key: dimension for dimension in self.dimensions}

    @cached_property
    def by_id(self) -> Mapping[int, TreeDimension]:
        return {dimension.id: dimension for dimension in self.dimensions}

    def applies(self, dimension: TreeDimension | str, answers: Mapping[str, Answer]) -> bool:
        """Whether a dimension is asked, given the answers so far by dimension key.

        An answer counts only while its own dimension applies, and a category named in a condition stands for all
        below it. Raises KeyError for a dimension of another version.
        """
        if isinstance(dimension, str):
            dimension = self.by_key[dimension]
        condition = dimension.applies_when
        if condition is None:
            return True
        other = self.by_key[condition.dimension]
        answer = answers.get(other.key)
        if answer is None or not self.applies(other, answers):
            return False
        if isinstance(answer, bool):
            return answer in condition.values
        if isinstance(answer, float | int):
            return False
        given = {answer} if isinstance(answer, str) else set(answer)
        return any(given & other.below(value) for value in condition.values if isinstance(value, str))

    def applicable(self, answers: Mapping[str, Answer]) -> tuple[TreeDimension, ...]:
        """The dimensions that are asked, given the answers so far."""
        return tuple(dimension for dimension in self.dimensions if self.applies(dimension, answers))


def grown(rows: Iterable[tuple[int, int | None, str, str, Mapping[str, object]]]) -> tuple[TreeCategory, ...]:
    """Categories from rows in the order of the tree: (id, parent id or None, key, name, the other fields)."""
    listed = list(rows)
    parents = {parent for _, parent, *_ in listed}
    found: dict[int, TreeCategory] = {}
    for position, (id_, parent, key, name, fields) in enumerate(listed):
        above = found[parent] if parent is not None else None
        found[id_] = TreeCategory(
            id=id_,
            key=key,
            name=name,
            keys=(*above.keys, key) if above else (key,),
            names=(*above.names, name) if above else (name,),
            position=position,
            has_children=id_ in parents,
            **fields,  # type: ignore[arg-type]
        )
    return tuple(found.values())


def _by_text(named: Iterable[tuple[str, TreeCategory]]) -> Mapping[str, tuple[TreeCategory, ...]]:
    found: dict[str, list[TreeCategory]] = {}
    for text, category in named:
        found.setdefault(_folded(text), []).append(category)
    return {text: tuple(each) for text, each in found.items()}


def _folded(text: str) -> str:
    return " ".join(text.split()).casefold()
