"""Migration of values between versions: recorded changes are followed step by step. Pure."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from taxonomy.kinds import KINDS

Place = tuple[str, str]
"""A category: (dimension key, category key)."""


@dataclass(frozen=True)
class Link:
    """One recorded change: `old` became `new`; old is None for what was added, new is None for what was retired."""

    kind: str
    dimension: str
    old: str | None
    new: str | None
    also: tuple[str, ...] = ()


@dataclass(frozen=True)
class MigrationStep:
    """From one version to the next (or back, `is_back`): what each category becomes, and the kinds of dimensions.

    `number` is the version whose recorded changes these are: the newer of the two. `reached` is the version after the
    step, and `kinds` are those of its dimensions.
    """

    number: int
    reached: int
    links: Sequence[Link] = field(repr=False)
    kinds: Mapping[str, str] = field(repr=False)
    is_back: bool = False

    @cached_property
    def heirs(self) -> Mapping[Place, tuple[str, ...]]:
        """What each category of the version before the step becomes; nothing: it ends here."""
        found: dict[Place, dict[str, None]] = {}
        for link in self.links:
            before, after = (link.new, link.old) if self.is_back else (link.old, link.new)
            if before is None:
                continue
            kept = found.setdefault((link.dimension, before), {})
            if after is not None:
                kept[after] = None
        return {place: tuple(keys) for place, keys in found.items()}

    def links_of(self, dimension: str) -> Sequence[Link]:
        """The changes of one dimension."""
        return self._by_dimension.get(dimension, ())

    @cached_property
    def _by_dimension(self) -> Mapping[str, Sequence[Link]]:
        found: dict[str, list[Link]] = {}
        for link in self.links:
            found.setdefault(link.dimension, []).append(link)
        return found


@dataclass(frozen=True)
class BlockedValue:
    """Why a value can't be followed: `reason` is split, retired, merged (read backwards), added (read backwards),
    dimension (retired, or not there yet) or kind; `number` is the version in which it happened (of dimension and kind
    the one that the step leads to), `into` the keys that it may have become.
    """

    reason: str
    number: int
    into: tuple[str, ...] = ()

    @property
    def words(self) -> str:
        """In words, with keys."""
        into = ", ".join(self.into)
        return {
            "split": f"split in version {self.number} into {into}",
            "retired": f"retired in version {self.number}",
            "merged": f"merged in version {self.number} from {into}",
            "added": f"added in version {self.number}",
            "dimension": f"its dimension is not in version {self.number}",
            "kind": f"its dimension is of another kind in version {self.number}",
        }[self.reason]


@dataclass(frozen=True)
class Route:
    """The way of values from a version to another one, over their common ancestor.

    An empty route leaves every value as it is. Following costs one look-up for each category and is remembered.
    """

    steps: Sequence[MigrationStep] = ()
    old_kinds: Mapping[str, str] = field(default_factory=dict, repr=False)
    _known: dict[Place, "str | BlockedValue"] = field(default_factory=dict, repr=False, compare=False)

    @property
    def is_empty(self) -> bool:
        return not self.steps

    def follow(self, dimension: str, key: str) -> str | BlockedValue:
        """What one category becomes: a key, or why there is none.

        All that it may have become is followed on; where several remain at the end, or one of them ended on the way,
        the step that parted them blocks it. So what was split and merged again arrives.
        """
        place = (dimension, key)
        if place not in self._known:
            self._known[place] = self._follow(dimension, key)
        return self._known[place]

    def _follow(self, dimension: str, key: str) -> str | BlockedValue:
        if found := self.dimension_blocked(dimension):
            return found
        keys: tuple[str, ...] = (key,)
        parted: BlockedValue | None = None
        is_lost = False
        for step in self.steps:
            heirs = [step.heirs.get((dimension, each), ()) for each in keys]
            following = tuple(dict.fromkeys(new for each in heirs for new in each))
            if not following:
                return BlockedValue("added" if step.is_back else "retired", step.number)
            is_lost = is_lost or not all(heirs)
            if len(following) > 1 and parted is None:
                parted = BlockedValue("merged" if step.is_back else "split", step.number, following)
            elif len(following) == 1 and not is_lost:
                parted = None
            keys = following
        return parted or keys[0]

    def kinds_of(self, dimension: str, key: str) -> tuple[str, ...]:
        """What happens to a category on the way, each kind of change once, in the order of the steps; without kept."""
        keys: tuple[str, ...] = (key,)
        found: dict[str, None] = {}
        for step in self.steps:
            here = [link for link in step.links_of(dimension) if (link.new if step.is_back else link.old) in keys]
            found |= dict.fromkeys(kind for link in here for kind in (link.kind, *link.also) if kind != "kept")
            keys = tuple(dict.fromkeys(new for each in keys for new in step.heirs.get((dimension, each), ())))
        return tuple(found)

    def dimension_blocked(self, dimension: str) -> BlockedValue | None:
        """Why no value of a dimension can be followed: it ends on the way, or its kind changes beyond recognition."""
        kind = self.old_kinds.get(dimension, "")
        for step in self.steps:
            after = step.kinds.get(dimension)
            if after is None:
                return BlockedValue("dimension", step.reached)
            if kind and not KINDS[kind].is_like(KINDS[after]):
                return BlockedValue("kind", step.reached)
            kind = after
        return None

    def values(
        self, dimension: str, values: Collection[str | bool | float], *, free: Collection[str] = ()
    ) -> "tuple[str | bool | float, ...] | BlockedValue":
        """What an answer becomes: sorted values without doubles, or why it can't be followed as a whole.

        Texts in `free` (such as a mark for what is pending) stay as they are; booleans, numbers and texts of other
        kinds of dimensions, too, while their dimension goes on.
        """
        if found := self.dimension_blocked(dimension):
            return found
        before = KINDS.get(self.old_kinds.get(dimension, ""))
        has_categories = before is None or before.has_categories
        kept: dict[str | bool | float, None] = {}
        for value in values:
            if not has_categories or not isinstance(value, str) or value in free:
                kept[value] = None
                continue
            followed = self.follow(dimension, value)
            if isinstance(followed, BlockedValue):
                return followed
            kept[followed] = None
        after = KINDS.get(self.steps[-1].kinds.get(dimension, "")) if self.steps else None
        takes_one = after is not None and after.takes_one_category
        if takes_one and (len(kept) > 1 or (not kept and before is not None and before.is_set)):
            return BlockedValue("kind", self.steps[-1].reached)
        return tuple(sorted(kept, key=str))


@dataclass(frozen=True)
class VersionChanges:
    """The recorded changes of a version: its number, its parent's id, its links and the kinds of its dimensions."""

    number: int
    parent_id: int | None
    links: Sequence[Link]
    kinds: Mapping[str, str]


def route(told: Mapping[int, VersionChanges], old: int, new: int) -> Route | None:
    """The way from a version to another by their ids; None where no mapping joins them.

    `told` holds both and all their ancestors.
    """
    above = list(_ancestors(told, old))
    below = list(_ancestors(told, new))
    common = next((each for each in above if each in set(below)), None)
    if common is None:
        return None
    back = [
        MigrationStep(told[each].number, told[parent].number, told[each].links, told[parent].kinds, is_back=True)
        for each in above[: above.index(common)]
        if (parent := told[each].parent_id) is not None
    ]
    forth = [
        MigrationStep(told[each].number, told[each].number, told[each].links, told[each].kinds)
        for each in below[: below.index(common)]
    ]
    return Route((*back, *reversed(forth)), told[old].kinds)


def _ancestors(told: Mapping[int, VersionChanges], version_id: int) -> Iterable[int]:
    """A version and all it came from, the nearest first."""
    at: int | None = version_id
    while at is not None and at in told:
        yield at
        at = told[at].parent_id
