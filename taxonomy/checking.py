"""Checks the nodes of a document and builds the taxonomy from them, collecting everything that is wrong."""

from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Any

from taxonomy import reading, schema
from taxonomy.errors import InvalidDocument
from taxonomy.fields import OTHER_BOOLEANS, Fields, listed, short, value_of
from taxonomy.reading import Mapping, Node, Scalar
from taxonomy.schema import AppliesWhen, CategorySpec, DimensionSpec, Document


def load(
    text: str | bytes, *, slug: str = "", before: Document | None = None, ignored: Collection[str] = ()
) -> Document:
    """The document of a text, YAML or JSON.

    Raises UnreadableDocument, or InvalidDocument with up to a hundred problems, each with line, column, path and
    remedy. `slug` is the one it must have, `before` the version that it follows: each `was` must name one of its
    categories. `ignored` are fields that may stand at the top and say nothing.
    """
    return check(reading.read(text), slug=slug, before=before, ignored=ignored)


def check(root: Node, *, slug: str = "", before: Document | None = None, ignored: Collection[str] = ()) -> Document:
    """The document of a node that was read, as `load` does it."""
    checker = _Checker(slug, before, ignored)
    document = checker.document(root)
    if checker.problems or document is None:
        raise InvalidDocument(checker.problems)
    return document


@dataclass
class _Category:
    """A category while the tree is still being put together."""

    node: Mapping
    path: str
    key: str
    fields: dict[str, Any]
    parent: str | None
    parent_node: Node | None
    children: list["_Category"] = field(default_factory=list)


@dataclass
class _Dimension:
    """A dimension whose condition is still to be looked at."""

    node: Mapping
    path: str
    spec: DimensionSpec
    condition_node: Node | None
    condition: tuple[Scalar, list[Scalar]] | None = None


class _Checker(Fields):
    def __init__(self, slug: str, before: Document | None, ignored: Collection[str]) -> None:
        super().__init__()
        self.slug = slug
        self.keys: dict[str, dict[str, None]] = {}
        self.ignored = ignored
        self.has_past = before is not None
        self.past = {dimension.key: dimension for dimension in before.dimensions} if before else {}

    def document(self, root: Node) -> Document | None:
        given = self.mapping(root, "", "a taxonomy", schema.DOCUMENT_FIELDS, self.ignored)
        self.required(root, "", "a taxonomy", given, ("slug", "title", "dimensions"))
        found: dict[str, Any] = {"slug": "", "title": ""}
        if "slug" in given:
            found["slug"] = self.key(given["slug"][1], "slug")
            if self.slug and found["slug"] and found["slug"] != self.slug:
                self.has_past = False
                self.add(
                    given["slug"][1],
                    "slug",
                    f"This is a document of “{short(found['slug'])}”, not of “{self.slug}”; "
                    f"write “slug: {self.slug}”, or load it as a taxonomy of its own.",
                )
        if "title" in given:
            found["title"] = self.text(given["title"][1], "title", one_line=True, most=schema.NAME_MAX)
        if "note" in given:
            found["note"] = self.text(given["note"][1], "note")
        dimensions: list[_Dimension] = []
        if "dimensions" in given:
            node = given["dimensions"][1]
            items = self.items(node, "dimensions", "dimensions")
            dimensions = [self.dimension(item, f"dimensions[{place}]") for place, item in enumerate(items)]
            if isinstance(node, reading.Sequence | Scalar) and not items and not self.problems:
                self.add(node, "dimensions", "A taxonomy needs at least one dimension.")
        self.unique(dimensions, [each.spec.key for each in dimensions], "key", "dimension", "in this taxonomy")
        found["dimensions"] = self.conditions(dimensions)
        if self.problems:
            return None
        return Document(**found, stated=_stated(found))

    def dimension(self, node: Node, path: str) -> _Dimension:
        what = "a dimension"
        given = self.mapping(node, path, what, schema.DIMENSION_FIELDS)
        self.required(node, path, what, given, ("key", "title", "kind"))
        found: dict[str, Any] = {"key": "", "title": "", "kind": ""}
        if "key" in given:
            found["key"] = self.key(given["key"][1], f"{path}.key")
        if "title" in given:
            found["title"] = self.text(given["title"][1], f"{path}.title", one_line=True, most=schema.NAME_MAX)
        if "kind" in given:
            found["kind"] = self.kind(given["kind"][1], f"{path}.kind")
        if "required" in given:
            found["required"] = self.boolean(given["required"][1], f"{path}.required")
        if "help" in given:
            found["help"] = self.text(given["help"][1], f"{path}.help")
        if "categories" in given:
            key_node, value = given["categories"]
            if found["kind"] and found["kind"] not in schema.KINDS_WITH_CATEGORIES and _is_filled(value):
                self.add(
                    key_node,
                    f"{path}.categories",
                    f"A {found['kind']} dimension has no categories; leave them out, or make its kind single or multi.",
                )
            else:
                found["categories"] = self.categories(value, f"{path}.categories", self.past.get(found["key"]))
        if found["kind"] in schema.KINDS_WITH_CATEGORIES and isinstance(node, Mapping):
            listed = given.get("categories", (None, None))[1]
            if listed is None or not _is_filled(listed):
                self.add(
                    listed or node,
                    f"{path}.categories",
                    f"A {found['kind']} dimension needs categories; add at least one, with key and name.",
                )
        condition_node = given.get("applies_when", (None, None))[1]
        dimension = _Dimension(
            node if isinstance(node, Mapping) else Mapping(node.line, node.column, ()),
            path,
            DimensionSpec(**found, stated=_stated(found)),
            condition_node,
        )
        if condition_node is not None and not (isinstance(condition_node, Scalar) and condition_node.value is None):
            dimension.condition = self.condition(condition_node, f"{path}.applies_when")
        return dimension

    def kind(self, node: Node, path: str) -> str:
        kind = self.text(node, path, one_line=True, most=schema.NAME_MAX)
        if not kind or kind in schema.KINDS:
            return kind
        self.add(
            node,
            path,
            f"“{short(kind)}” is no kind of dimension; kinds are {listed(schema.KINDS)}.",
            kind,
            schema.KINDS,
        )
        return ""

    def categories(self, node: Node, path: str, past: DimensionSpec | None) -> tuple[CategorySpec, ...]:
        """The tree: nested, flat with `parent: key`, or a mixture of both."""
        found: list[_Category] = []
        self.gather(node, path, None, 1, found)
        self.unique(found, [each.key for each in found], "key", "category", "in this dimension")
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
                self.add(
                    each.parent_node or each.node,
                    f"{each.path}.parent",
                    f"The parent “{short(each.parent)}” is no category of this dimension.",
                    each.parent,
                    by_key,
                )
            elif each.parent_node is not None and each.key in loops:
                chain = _chain(each.key, loops[each.key]) if not self.is_full else ""
                self.add(
                    each.parent_node,
                    f"{each.path}.parent",
                    f"“{each.key}” ends up below itself ({chain}); one of them must have another parent.",
                )
            else:
                parent.children.append(each)
        self.siblings(roots)
        for each in found:
            self.siblings(each.children)
        shortcuts = [each.fields.get("shortcut", "") for each in found]
        self.unique(found, shortcuts, "shortcut", "category", "in this dimension")
        if self.problems:
            return ()
        return tuple(self.grown(each, 1) for each in roots)

    def gather(self, node: Node, path: str, parent: str | None, level: int, found: list[_Category]) -> None:
        """Adds every category of a list, and those below them, in the order of the text."""
        for place, item in enumerate(self.items(node, path, "categories")):
            where = f"{path}[{place}]"
            if level > schema.LEVELS_MAX:
                self.add(item, where, "This is nested too deeply; thirty levels of categories are the most.")
                return
            given = self.mapping(item, where, "a category", (*schema.CATEGORY_FIELDS, "parent"))
            if not isinstance(item, Mapping):
                continue
            self.required(item, where, "a category", given, ("key", "name"))
            fields: dict[str, Any] = {"key": "", "name": ""}
            for name, (_, value) in given.items():
                if name not in {"parent", "categories"}:
                    fields[name] = self.category_field(name, value, f"{where}.{name}")
            category = _Category(item, where, fields["key"], fields, parent, None)
            if "parent" in given:
                self.flat_parent(category, given["parent"][1])
            found.append(category)
            if "categories" in given:
                below = given["categories"][1]
                if not _is_filled(below):
                    fields["categories"] = ()
                self.gather(below, f"{where}.categories", category.key, level + 1, found)

    def category_field(self, name: str, value: Node, path: str) -> object:
        if name == "key":
            return self.key(value, path)
        if name == "name":
            return self.text(value, path, one_line=True, most=schema.NAME_MAX)
        if name == "definition":
            return self.text(value, path)
        if name == "shortcut":
            shortcut = self.text(value, path)
            if len(shortcut) > 1 or not shortcut.isprintable() or shortcut.isspace():
                self.add(value, path, "A shortcut is one letter, digit or sign.")
            return shortcut
        if name == "selectable":
            return self.boolean(value, path)
        if name == "was":
            items = self.items(value, path, "keys")
            keys = tuple(self.key(item, f"{path}[{place}]") for place, item in enumerate(items))
            for place, key in enumerate(keys):
                if key in keys[:place]:
                    self.add(items[place], f"{path}[{place}]", f"“{key}” is named twice.")
            return keys
        return self.texts(value, path)

    def origins(self, found: list[_Category], past: DimensionSpec | None) -> None:
        """Every key in a `was` must be in the version before, unless that version says just the same there."""
        before = {spec.key: spec for spec, _ in past.walk()} if past else {}
        for each in found:
            own = before.get(each.key)
            was = each.fields.get("was", ())
            if not was or (own and own.was == was):
                continue
            items = self.items(value_of(each.node, "was"), "", "keys")
            for place, key in enumerate(was):
                if key not in before:
                    where = f"{each.path}.was[{place}]"
                    self.add(items[place], where, f"The version before has no category “{key}” here.", key, before)

    def flat_parent(self, category: _Category, node: Node) -> None:
        if isinstance(node, Scalar) and node.value is None:
            return
        named = self.key(node, f"{category.path}.parent")
        if category.parent is not None and named != category.parent:
            self.add(
                node,
                f"{category.path}.parent",
                f"This category stands below “{category.parent}” already; leave “parent” out or move it.",
            )
        elif category.parent is None and named:
            category.parent, category.parent_node = named, node

    def siblings(self, children: list[_Category]) -> None:
        names = [" ".join(each.fields["name"].split()).casefold() for each in children]
        self.unique(children, names, "name", "category", "at this place of the tree", shown="name")

    def grown(self, category: _Category, level: int) -> CategorySpec:
        if level > schema.LEVELS_MAX:
            self.add(
                category.node, category.path, "This is nested too deeply; thirty levels of categories are the most."
            )
            return CategorySpec(key=category.key, name="")
        fields = dict(category.fields)
        if category.children:
            fields["categories"] = tuple(self.grown(child, level + 1) for child in category.children)
        elif not fields.get("selectable", True):
            self.add(
                category.node,
                f"{category.path}.selectable",
                f"“{category.key}” can't be chosen and nothing stands below it; leave out “selectable: false”.",
            )
        return CategorySpec(**fields, stated=_stated(fields))

    def condition(self, node: Node, path: str) -> tuple[Scalar, list[Scalar]] | None:
        given = self.mapping(node, path, "a condition", ("dimension", "is"))
        self.required(node, path, "a condition", given, ("dimension", "is"))
        if len(given) < 2:
            return None
        other, values = given["dimension"][1], given["is"][1]
        named = self.text(other, f"{path}.dimension", one_line=True, most=schema.KEY_MAX)
        items = self.items(values, f"{path}.is", "answers")
        scalars = [item for item in items if isinstance(item, Scalar) and item.value is not None]
        if isinstance(values, reading.Sequence) and (not items or len(scalars) < len(items)):
            self.add(values, f"{path}.is", "Name at least one answer, by a category's key or true or false.")
            return None
        if not named or not scalars or not isinstance(other, Scalar):
            return None
        return other, scalars

    def conditions(self, dimensions: list[_Dimension]) -> tuple[DimensionSpec, ...]:
        by_key = {each.spec.key: (place, each) for place, each in reversed(list(enumerate(dimensions)))}
        named = {key: each.condition[0].text.strip() for key, (_, each) in by_key.items() if each.condition}
        loops = _loops(named)
        found = []
        for place, each in enumerate(dimensions):
            spec = each.spec
            if each.condition:
                other, values = each.condition
                path = f"{each.path}.applies_when.dimension"
                referred = by_key.get(other.text.strip())
                if referred is None:
                    earlier = [before.spec.key for before in dimensions[:place]]
                    self.add(other, path, f"There is no dimension “{short(other.text)}”.", other.text, earlier)
                elif spec.key in loops:
                    chain = _chain(spec.key, loops[spec.key]) if not self.is_full else ""
                    self.add(other, path, f"These dimensions wait for each other ({chain}), so none is ever asked.")
                elif referred[0] > place:
                    self.add(
                        other,
                        path,
                        f"“{other.text}” comes later; a dimension can only depend on one that stands before it.",
                    )
                else:
                    answers = self.answers(each, referred[1], values)
                    applies_when = AppliesWhen(referred[1].spec.key, answers)
                    spec = DimensionSpec(**{**spec.__dict__, "applies_when": applies_when})
            elif each.condition_node is not None:
                spec = DimensionSpec(**{**spec.__dict__, "stated": spec.stated | {"applies_when"}})
            found.append(spec)
        return tuple(found)

    def keys_of(self, dimension: _Dimension) -> dict[str, None]:
        """The keys of a dimension's categories, in order, looked for once."""
        if dimension.path not in self.keys:
            self.keys[dimension.path] = dict.fromkeys(_keys_in(value_of(dimension.node, "categories")))
        return self.keys[dimension.path]

    def answers(self, each: _Dimension, other: _Dimension, values: list[Scalar]) -> tuple[str | bool, ...]:
        """The answers a condition names: keys of categories of the other dimension, or booleans."""
        spec = other.spec
        path = f"{each.path}.applies_when"
        if spec.kind in {"number", "text"}:
            self.add(
                values[0],
                f"{path}.dimension",
                f"“{spec.key}” is a {spec.kind}; a condition needs categories or yes and no.",
            )
            return ()
        keys = self.keys_of(other) if spec.kind != "boolean" else {}
        found: list[str | bool] = []
        for place, scalar in enumerate(values):
            where = f"{path}.is[{place}]"
            if spec.kind == "boolean" and not isinstance(scalar.value, bool):
                hint = OTHER_BOOLEANS.get(scalar.text.lower(), "")
                self.add(
                    scalar, where, f"“{spec.key}” is answered by true or false{f'; write {hint}' if hint else ''}."
                )
            elif spec.kind in schema.KINDS_WITH_CATEGORIES and scalar.text not in keys:
                self.add(scalar, where, f"“{short(scalar.text)}” is no category of “{spec.key}”.", scalar.text, keys)
            elif (value := scalar.value if spec.kind == "boolean" else scalar.text) in found:
                self.add(scalar, where, f"“{short(scalar.text)}” is named twice.")
            elif value is not None:
                found.append(value)
        return tuple(found)


def _stated(fields: dict[str, Any]) -> frozenset[str]:
    """The fields that were given with just their default value."""
    return frozenset(
        name for name, value in fields.items() if name in schema.DEFAULTS and value == schema.DEFAULTS[name]
    )


def _is_filled(node: Node) -> bool:
    """Whether there is more than nothing or an empty list."""
    if isinstance(node, reading.Sequence):
        return bool(node.items)
    return not (isinstance(node, Scalar) and node.value is None)


def _keys_in(node: Node) -> list[str]:
    """The keys of all categories below a node, whether or not all else is right with them."""
    found: list[str] = []
    waiting = [node]
    while waiting:
        each = waiting.pop()
        if isinstance(each, reading.Sequence):
            waiting.extend(each.items)
        elif isinstance(each, Mapping):
            found.extend(
                value.text
                for key, value in each.entries
                if isinstance(value, Scalar) and getattr(key, "text", "") == "key"
            )
            waiting.extend(
                value for key, value in each.entries if getattr(key, "text", "") in {"categories", "dimensions"}
            )
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
