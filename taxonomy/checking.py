"""Document checks that a schema can't express, and the taxonomy built from a valid document."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from shared.names import wrong_in
from taxonomy import parsing, schema
from taxonomy.errors import InvalidDocument
from taxonomy.kinds import KINDS
from taxonomy.parsing import Node
from taxonomy.schema import AppliesWhen, CategorySpec, DimensionSpec, Document
from taxonomy.schema_errors import OTHER_BOOLEANS, Place, Structure, short

TOO_DEEP = "This is nested too deeply. At most thirty levels of categories are allowed."


def load(
    text: str | bytes, *, slug: str = "", before: Document | None = None, ignored: Collection[str] = ()
) -> Document:
    """The document of a text, YAML or JSON.

    Raises UnreadableDocument, or InvalidDocument with up to a hundred problems, each with line, column, path and
    remedy. `slug` is the one it must have, `before` the version that it follows: each `was` must name one of its
    categories. `ignored` are fields that may stand at the top and say nothing.
    """
    return check(parsing.read(text), slug=slug, before=before, ignored=ignored)


def check(root: Node, *, slug: str = "", before: Document | None = None, ignored: Collection[str] = ()) -> Document:
    """The document of a node that was read, as `load` does it."""
    checker = _Checker(Structure(root, ignored), slug, before)
    document = checker.document()
    if checker.problems or document is None:
        raise InvalidDocument(checker.problems)
    return document


@dataclass
class _Category:
    """A category while the tree is still being put together."""

    place: Place
    key: str
    fields: dict[str, Any]
    parent: str | None
    is_flat: bool = False
    children: list["_Category"] = field(default_factory=list)


@dataclass
class _Dimension:
    """A dimension whose condition is still to be looked at; `other` and `values` are what it names."""

    place: Place
    given: Mapping[str, Any]
    spec: DimensionSpec
    other: str = ""
    values: Sequence[str | bool] = ()


class _Checker:
    """What is flawed in its structure counts as not given here, so that each mistake is told once."""

    def __init__(self, structure: Structure, slug: str, before: Document | None) -> None:
        self.structure = structure
        self.problems = structure.problems
        self.add = structure.add
        self.slug = slug
        self.keys: dict[Place, dict[str, None]] = {}
        self.has_past = before is not None
        self.past = {dimension.key: dimension for dimension in before.dimensions} if before else {}

    def given(self, value: Any, place: Place) -> dict[str, Any]:
        """The fields of an object that are what they should be."""
        if not isinstance(value, dict):
            return {}
        flawed = self.structure.flawed
        if not flawed:
            return value
        return {name: inner for name, inner in value.items() if (*place, name) not in flawed}

    def items(self, given: Mapping[str, Any], name: str) -> list[Any]:
        """The entries of a list; nothing at all is an empty one."""
        return given.get(name) or []

    def text(self, given: Mapping[str, Any], place: Place, name: str) -> str:
        """A text of any number of lines."""
        return self.structure.text((*place, name), given.get(name))

    def line(self, given: Mapping[str, Any], place: Place, name: str) -> str:
        """A text of one line, trimmed; one that misleads who reads it as a name is a problem."""
        found = self.text(given, place, name).strip()
        if wrong := wrong_in(found):
            self.add((*place, name), wrong)
        return found

    def texts(self, given: Mapping[str, Any], place: Place, name: str) -> tuple[str, ...]:
        return tuple(
            self.structure.text((*place, name, number), item) for number, item in enumerate(self.items(given, name))
        )

    def document(self) -> Document | None:
        if self.structure.is_full:
            return None
        given = self.given(self.structure.plain, ())
        found: dict[str, Any] = {name: self.line(given, (), name) for name in ("slug", "title")}
        if self.slug and found["slug"] and found["slug"] != self.slug:
            self.has_past = False
            self.add(
                ("slug",),
                f"This is a document of “{short(found['slug'])}”, not of “{self.slug}”. Write “slug: "
                f"{self.slug}”, or load it as a separate taxonomy.",
            )
        if "note" in given:
            found["note"] = self.text(given, (), "note")
        dimensions = [
            self.dimension(item, ("dimensions", number)) for number, item in enumerate(self.items(given, "dimensions"))
        ]
        keys = [(each.spec.key, (*each.place, "key")) for each in dimensions]
        self.unique(keys, "Another dimension in this taxonomy has the key")
        found["dimensions"] = self.conditions(dimensions)
        return None if self.problems else Document(**found, stated=_stated(found))

    def dimension(self, value: Any, place: Place) -> _Dimension:
        given = self.given(value, place)
        found: dict[str, Any] = {name: self.line(given, place, name) for name in ("key", "title", "kind")}
        if "required" in given:
            found["required"] = given["required"]
        if "help" in given:
            found["help"] = self.text(given, place, "help")
        if "categories" in given:
            found["categories"] = self.categories(given, (*place, "categories"), self.past.get(found["key"]))
        stated = _stated(found)
        if "applies_when" in given and given["applies_when"] is None:
            stated |= {"applies_when"}
        dimension = _Dimension(place, given, DimensionSpec(**found, stated=stated))
        condition = self.given(given.get("applies_when"), (*place, "applies_when"))
        dimension.other = self.line(condition, (*place, "applies_when"), "dimension")
        dimension.values = self.items(condition, "is")
        return dimension

    def categories(
        self, given: Mapping[str, Any], place: Place, past: DimensionSpec | None
    ) -> tuple[CategorySpec, ...]:
        """The tree: nested, flat with `parent: key`, or a mixture of both."""
        found: list[_Category] = []
        self.gather(given, place, None, 1, found)
        self.unique(
            [(each.key, (*each.place, "key")) for each in found], "Another category in this dimension has the key"
        )
        if self.has_past:
            self.origins(found, past)
        by_key = {each.key: each for each in reversed(found) if each.key}
        loops = _loops({key: each.parent for key, each in by_key.items()})
        roots = []
        for each in found:
            parent = by_key.get(each.parent or "")
            if each.parent is None:
                roots.append(each)
            elif parent is None:
                sentence = f"The parent “{short(each.parent)}” is not a category of this dimension."
                self.add((*each.place, "parent"), sentence, each.parent, by_key)
            elif each.is_flat and each.key in loops:
                chain = _chain(each.key, loops[each.key]) if not self.structure.is_full else ""
                self.add(
                    (*each.place, "parent"),
                    f"“{each.key}” is its own ancestor ({chain}). Give one of them another parent.",
                )
            else:
                parent.children.append(each)
        self.siblings(roots)
        for each in found:
            self.siblings(each.children)
        shortcuts = [(each.fields.get("shortcut", ""), (*each.place, "shortcut")) for each in found]
        self.unique(shortcuts, "Another category in this dimension has the shortcut")
        if self.problems:
            return ()
        return tuple(self.grown(each, 1) for each in roots)

    def gather(
        self, given: Mapping[str, Any], place: Place, parent: str | None, level: int, found: list[_Category]
    ) -> None:
        """Adds every category of the list `categories`, and those below them, in the order of the text."""
        for number, item in enumerate(self.items(given, "categories")):
            where = (*place, number)
            if level > schema.LEVELS_MAX:
                self.add(where, TOO_DEEP)
                return
            if not isinstance(item, dict):
                continue
            inner = self.given(item, where)
            fields = self.category_fields(inner, where)
            category = _Category(where, fields["key"], fields, parent)
            if inner.get("parent"):
                self.flat_parent(category, inner["parent"])
            found.append(category)
            if "categories" in inner:
                if not inner["categories"]:
                    fields["categories"] = ()
                self.gather(inner, (*where, "categories"), category.key, level + 1, found)

    def category_fields(self, given: Mapping[str, Any], place: Place) -> dict[str, Any]:
        found: dict[str, Any] = {name: self.line(given, place, name) for name in ("key", "name")}
        for name in given:
            if name in {"definition", "shortcut"}:
                found[name] = self.text(given, place, name)
            elif name == "selectable":
                found[name] = given[name]
            elif name in {"include", "exclude", "examples", "was"}:
                found[name] = self.texts(given, place, name)
        if not found.get("shortcut", "").isprintable():
            self.add((*place, "shortcut"), "A shortcut is one letter, digit or sign.")
        self.once(found.get("was", ()), (*place, "was"))
        return found

    def origins(self, found: list[_Category], past: DimensionSpec | None) -> None:
        """Every key in a `was` must be in the version before, unless that version says just the same there."""
        before = {spec.key: spec for spec, _ in past.walk()} if past else {}
        for each in found:
            own = before.get(each.key)
            was = each.fields.get("was", ())
            if not was or (own and own.was == was):
                continue
            for number, key in enumerate(was):
                if key and key not in before:
                    sentence = f"The version before has no category “{key}” here."
                    self.add((*each.place, "was", number), sentence, key, before)

    def flat_parent(self, category: _Category, named: str) -> None:
        if category.parent is not None and named != category.parent:
            self.add(
                (*category.place, "parent"),
                f"This category is already below “{category.parent}”. Omit “parent” or move it.",
            )
        elif category.parent is None:
            category.parent, category.is_flat = named, True

    def siblings(self, children: list[_Category]) -> None:
        names = [(" ".join(each.fields["name"].split()).casefold(), (*each.place, "name")) for each in children]
        self.unique(names, "Another category at this place of the tree has the name")

    def unique(self, named: Sequence[tuple[str, Place]], another_has_the: str) -> None:
        """Notes each of the words, given with their places, that stands before already; empty ones don't count."""
        first: dict[str, Place] = {}
        for word, place in named:
            if not word:
                continue
            if word not in first:
                first[word] = place
            elif not self.structure.is_full:
                written = getattr(self.structure.node(place), "text", word).strip()
                line = self.structure.node(first[word]).line
                self.add(place, f"{another_has_the} “{short(written)}” (line {line}). Choose another.")

    def once(self, words: Sequence[str], place: Place) -> None:
        """Notes each word that stands in a list twice."""
        if len(set(words)) == len(words):
            return
        seen: set[str] = set()
        for number, word in enumerate(words):
            if word and word in seen:
                self.add((*place, number), f"“{short(word)}” is named twice.")
            seen.add(word)

    def grown(self, category: _Category, level: int) -> CategorySpec:
        if level > schema.LEVELS_MAX:
            self.add(category.place, TOO_DEEP)
            return CategorySpec(key=category.key, name="")
        fields = dict(category.fields)
        if category.children:
            fields["categories"] = tuple(self.grown(child, level + 1) for child in category.children)
        elif not fields.get("selectable", True):
            self.add(
                (*category.place, "selectable"),
                f"“{category.key}” can't be selected and has no subcategories. Omit “selectable: false”.",
                at=category.place,
            )
        return CategorySpec(**fields, stated=_stated(fields))

    def conditions(self, dimensions: list[_Dimension]) -> tuple[DimensionSpec, ...]:
        """The dimensions with their conditions, which may name what stands before."""
        by_key = {each.spec.key: (number, each) for number, each in reversed(list(enumerate(dimensions)))}
        loops = _loops({key: each.other for key, (_, each) in by_key.items() if each.other})
        found = []
        for number, each in enumerate(dimensions):
            place = (*each.place, "applies_when", "dimension")
            spec = each.spec
            referred = by_key.get(each.other)
            if not each.other or not each.values:
                pass
            elif referred is None:
                earlier = [before.spec.key for before in dimensions[:number]]
                self.add(place, f"Dimension “{short(each.other)}” not found.", each.other, earlier)
            elif spec.key in loops:
                chain = _chain(spec.key, loops[spec.key]) if not self.structure.is_full else ""
                self.add(place, f"These dimensions depend on each other ({chain}), so none would ever apply.")
            elif referred[0] > number:
                self.add(place, f"“{each.other}” comes later. A dimension can only depend on an earlier one.")
            else:
                applies_when = AppliesWhen(referred[1].spec.key, self.answers(each, referred[1]))
                spec = DimensionSpec(**{**spec.__dict__, "applies_when": applies_when})
            found.append(spec)
        return tuple(found)

    def keys_of(self, dimension: _Dimension) -> dict[str, None]:
        """The keys of a dimension's categories, in order, looked for once."""
        if dimension.place not in self.keys:
            self.keys[dimension.place] = dict.fromkeys(_keys_in(dimension.given))
        return self.keys[dimension.place]

    def answers(self, each: _Dimension, other: _Dimension) -> tuple[str | bool, ...]:
        """The answers a condition names: keys of categories of the other dimension, or booleans."""
        spec = other.spec
        place = (*each.place, "applies_when")
        kind = KINDS.get(spec.kind)  # None for what is no kind, which is told elsewhere
        if kind is not None and kind.is_open:
            self.add(
                (*place, "dimension"),
                f"“{spec.key}” is a {spec.kind}. A condition needs categories or yes and no.",
                at=(*place, "is", 0),
            )
            return ()
        has_categories, is_two_valued = (
            kind is not None and kind.has_categories,
            kind is not None and kind.is_two_valued,
        )
        keys = self.keys_of(other) if has_categories else {}
        found: dict[str | bool, None] = {}
        for number, value in enumerate(each.values):
            where = (*place, "is", number)
            if where in self.structure.flawed:
                continue
            text = self.structure.text(where, value)
            if is_two_valued and not isinstance(value, bool):
                hint = OTHER_BOOLEANS.get(text.lower(), "")
                self.add(where, f"“{spec.key}” is answered by true or false{f'; write {hint}' if hint else ''}.")
            elif has_categories and text not in keys:
                self.add(where, f"“{short(text)}” is not a category of “{spec.key}”.", text, keys)
            elif (answer := value if is_two_valued else text) in found:
                self.add(where, f"“{short(text)}” is named twice.")
            else:
                found[answer] = None
        return tuple(found)


def _stated(fields: dict[str, Any]) -> frozenset[str]:
    """The fields that were given with just their default value."""
    return frozenset(
        name for name, value in fields.items() if name in schema.DEFAULTS and value == schema.DEFAULTS[name]
    )


def _keys_in(given: Mapping[str, Any]) -> list[str]:
    """The keys of all categories below a dimension, whether or not all else is right with them."""
    found: list[str] = []
    waiting: list[Any] = [given.get("categories")]
    while waiting:
        each = waiting.pop()
        if isinstance(each, list):
            waiting.extend(reversed(each))
        elif isinstance(each, dict):
            if isinstance(each.get("key"), str):
                found.append(each["key"])
            waiting.append(each.get("categories"))
    return found


def _loops(parents: dict[str, str | None] | dict[str, str]) -> dict[str, list[str]]:
    """For each key that comes back to itself by its parents: all keys of that loop, in order; linear time."""
    found: dict[str, list[str]] = {}
    seen: set[str] = set()
    for key in parents:
        chain: dict[str, None] = {}
        at: str | None = key
        while at is not None and at in parents and at not in seen:
            seen.add(at)
            chain[at] = None
            at = parents[at]
        if at is not None and at in chain:
            keys = list(chain)
            loop = keys[keys.index(at) :]
            found |= dict.fromkeys(loop, loop)
    return found


def _chain(key: str, loop: list[str]) -> str:
    """A loop told from one of its keys on; the middle of a long one is left out."""
    start = loop.index(key)
    turned = [*loop[start:], *loop[:start], key]
    if len(turned) > 8:
        turned = [*turned[:4], "…", *turned[-3:]]
    return " → ".join(turned)
