"""Category outcomes: what a plan does to each category and question. Pure."""

from collections.abc import Iterator
from dataclasses import dataclass

from taxonomy.migration import BlockedValue, Route
from taxonomy.tree import TreeCategory, TreeDimension, VersionTree

CARRIED = ("kept", "renamed", "redefined", "moved", "merged")
"""Kinds of outcomes with which a label follows by itself."""
ASKED = ("split", "retired", "kind", "merged back", "added")
"""Kinds with which it can't, so that its raters are asked again."""


@dataclass(frozen=True)
class CategoryOutcome:
    """What becomes of the labels that name one category of a version.

    `kind` decides: one of CARRIED or of ASKED, or `dimension` where the question itself is gone. `also` holds what
    else happens on the way. `new` is the category that it becomes, `into` those that it may become.
    """

    version: int
    dimension: str
    title: str
    category: TreeCategory
    kind: str
    also: tuple[str, ...] = ()
    new: TreeCategory | None = None
    into: tuple[TreeCategory, ...] = ()
    words: str = ""

    @property
    def is_carried(self) -> bool:
        return self.kind in CARRIED

    @property
    def is_redefined(self) -> bool:
        """Whether its labels follow into a category that is defined otherwise."""
        return self.is_carried and "redefined" in (self.kind, *self.also)

    @property
    def is_asked(self) -> bool:
        return self.kind in ASKED


@dataclass(frozen=True)
class NewQuestion:
    """A question of the newer version that answers under the older one may lack, though it is required.

    `old_id` is the question's id in the older version, None where it was not there. Where it hangs on an answer: the
    id of that question in the older version, and the ids of categories (or the yes and no) with which it is asked.
    """

    dimension: str
    title: str
    old_id: int | None
    parent_id: int | None = None
    categories: tuple[int, ...] = ()
    booleans: tuple[bool, ...] = ()


def category_outcomes(old: VersionTree, way: Route, new: VersionTree) -> Iterator[CategoryOutcome]:
    """The outcome of every category of a version, in the order of its tree."""
    for dimension in old.dimensions:
        after = new.by_key.get(dimension.key)
        for category in dimension.categories:
            found = way.follow(dimension.key, category.key)
            also = way.kinds_of(dimension.key, category.key)
            if isinstance(found, BlockedValue):
                kind = "merged back" if found.reason == "merged" else found.reason
                into = tuple(after.by_key[key] for key in found.into if key in after.by_key) if after else ()
                yield CategoryOutcome(
                    old.number, dimension.key, dimension.title, category, kind, (), None, into, found.words
                )
                continue
            kind, *more = sorted(set(also) - {"split"}, key=("merged", "moved", "renamed", "redefined").index) or [
                "kept"
            ]
            successor = after.by_key[found] if after else None
            yield CategoryOutcome(old.number, dimension.key, dimension.title, category, kind, tuple(more), successor)


def new_questions(old: VersionTree, way: Route, new: VersionTree) -> Iterator[NewQuestion]:
    """Questions that the newer version requires where the older one did not, or not of the same issues.

    One that hangs on a question which is itself new comes with that one.
    """
    for dimension in new.dimensions:
        before = old.by_key.get(dimension.key)
        if before is not None and _is_another(way, before):
            before = None
        if not dimension.required or (before is not None and _asked_alike(old, way, before, dimension, new)):
            continue
        condition = dimension.applies_when
        if condition is None:
            yield NewQuestion(dimension.key, dimension.title, before.id if before else None)
            continue
        parent = old.by_key.get(condition.dimension)
        if parent is None:
            continue
        after = new.by_key[condition.dimension]
        wanted = {key for value in condition.values if isinstance(value, str) for key in after.below(value)}
        yield NewQuestion(
            dimension.key,
            dimension.title,
            before.id if before else None,
            parent.id,
            tuple(each.id for each in parent.categories if way.follow(parent.key, each.key) in wanted),
            tuple(value for value in condition.values if isinstance(value, bool)),
        )


def _is_another(way: Route, before: TreeDimension) -> bool:
    """Whether only the key is the same: no answer to a question can follow, and no category’s outcome tells of it."""
    blocked = way.dimension_blocked(before.key)
    return blocked is not None and (blocked.reason == "dimension" or not before.has_categories)


def _asked_alike(old: VersionTree, way: Route, before: TreeDimension, after: TreeDimension, new: VersionTree) -> bool:
    """Whether all were asked under the older version whom the newer one asks."""
    if not before.required:
        return False
    if after.applies_when is None or before.applies_when is None:
        return before.applies_when == after.applies_when
    if before.applies_when.dimension != after.applies_when.dimension:
        return False
    parent = old.by_key[before.applies_when.dimension]
    if not parent.has_categories:
        return set(after.applies_when.values) <= set(before.applies_when.values)
    asked = {key for value in before.applies_when.values for key in parent.below(str(value))}
    above = new.by_key[parent.key]
    wanted = {key for value in after.applies_when.values for key in above.below(str(value))}
    return not any(way.follow(parent.key, each.key) in wanted for each in parent.categories if each.key not in asked)
