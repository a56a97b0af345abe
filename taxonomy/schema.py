"""Schema of taxonomy documents: YAML or JSON text to frozen dataclasses and back, unchanged."""

import io
import json
import re
import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedMap, CommentedSeq
from ruamel.yaml.scalarstring import DoubleQuotedScalarString, LiteralScalarString

from taxonomy.kinds import KINDS, HasKind

SCHEMA: dict[str, Any] = json.loads((Path(__file__).parent / "document.schema.json").read_text(encoding="utf-8"))
"""The JSON Schema (2020-12) of a document: the one place for fields, patterns and lengths; kinds are filled in."""

_PARTS: Mapping[str, Any] = SCHEMA["$defs"]

DOCUMENT_FIELDS: tuple[str, ...] = tuple(SCHEMA["properties"])
DIMENSION_FIELDS: tuple[str, ...] = tuple(_PARTS["dimension"]["properties"])
CATEGORY_FIELDS: tuple[str, ...] = tuple(name for name in _PARTS["category"]["properties"] if name != "parent")
KEY_MAX: int = _PARTS["key"]["maxLength"]
NAME_MAX: int = _PARTS["line"]["maxLength"]
LEVELS_MAX = 30  # a schema can't count how often it is inside itself


def document_schema() -> dict[str, Any]:
    """SCHEMA with the kinds that are registered; always the same object, so that its parts can be known by identity."""
    dimension = _PARTS["dimension"]
    kind = dimension["properties"]["kind"]
    if kind["enum"] != [*KINDS]:
        with_categories, without = (part["if"]["properties"]["kind"] for part in dimension["allOf"])
        with_categories["enum"][:] = [name for name, each in KINDS.items() if each.has_categories]
        without["enum"][:] = [name for name, each in KINDS.items() if not each.has_categories]
        words = [f"{name}: {each.words}" for name, each in KINDS.items()]
        kind["description"] = ". ".join(["What an answer is", *words, ""]).strip()
        kind["enum"][:] = [*KINDS]
    return SCHEMA


document_schema()


def schema_text() -> str:
    """The schema as JSON."""
    return json.dumps(document_schema(), ensure_ascii=False, indent=2) + "\n"


_KEY = re.compile(_PARTS["key"]["pattern"].removesuffix("$") + r"\Z")


@dataclass(frozen=True)
class AppliesWhen:
    """The answers to an earlier dimension under which a question is asked; a category stands for all below it."""

    dimension: str
    values: tuple[str | bool, ...]


@dataclass(frozen=True, kw_only=True)
class CategorySpec:
    """One answer with its definition; `stated` holds fields that were written out though they hold the default."""

    key: str
    name: str
    definition: str = ""
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    examples: tuple[str, ...] = ()
    shortcut: str = ""
    selectable: bool = True
    was: tuple[str, ...] = ()
    categories: tuple["CategorySpec", ...] = ()
    stated: frozenset[str] = frozenset()


@dataclass(frozen=True, kw_only=True)
class DimensionSpec(HasKind):
    """One question; its categories are a tree."""

    key: str
    title: str
    kind: str
    required: bool = True
    applies_when: AppliesWhen | None = None
    help: str = ""
    categories: tuple[CategorySpec, ...] = ()
    stated: frozenset[str] = frozenset()

    def walk(self) -> Iterator[tuple[CategorySpec, tuple[CategorySpec, ...]]]:
        """Every category with its ancestors from the root, in the order of the document."""
        yield from _walk(self.categories, ())


@dataclass(frozen=True, kw_only=True)
class Document:
    """A whole taxonomy as its document says it."""

    slug: str
    title: str
    note: str = ""
    dimensions: tuple[DimensionSpec, ...] = ()
    stated: frozenset[str] = frozenset()


def _walk(
    categories: tuple[CategorySpec, ...], above: tuple[CategorySpec, ...]
) -> Iterator[tuple[CategorySpec, tuple[CategorySpec, ...]]]:
    for category in categories:
        yield category, above
        yield from _walk(category.categories, (*above, category))


def without_was(document: Document) -> Document:
    """The same taxonomy without what its categories were in the version before."""

    def told_nothing(specs: tuple[CategorySpec, ...]) -> tuple[CategorySpec, ...]:
        return tuple(
            replace(spec, was=(), stated=spec.stated - {"was"}, categories=told_nothing(spec.categories))
            for spec in specs
        )

    dimensions = tuple(replace(each, categories=told_nothing(each.categories)) for each in document.dimensions)
    return replace(document, dimensions=dimensions)


def is_key(text: str) -> bool:
    """Whether this can be a key or slug: lower-case letters and digits, joined by single hyphens or underscores."""
    return len(text) <= KEY_MAX and bool(_KEY.match(text))


def key_of(text: str) -> str:
    """The key that a name would have ("Hang & timeout": hang-and-timeout); empty where no Latin letter is left."""
    plain = unicodedata.normalize("NFKD", text.casefold().replace("&", " and ")).encode("ascii", "ignore").decode()
    return re.sub(r"[^a-z0-9_]+", "-", plain).strip("-_")[:KEY_MAX].strip("-_")


DEFAULTS: Mapping[str, object] = {
    "note": "",
    "required": True,
    "help": "",
    "categories": (),
    "definition": "",
    "include": (),
    "exclude": (),
    "examples": (),
    "shortcut": "",
    "selectable": True,
    "was": (),
    "applies_when": None,
}


def plain(document: Document) -> dict[str, Any]:
    """The document as dicts and lists, ready for JSON: what was left out stays left out."""
    return _plain(document, DOCUMENT_FIELDS)


def _plain(spec: Document | DimensionSpec | CategorySpec, fields: tuple[str, ...]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for field in fields:
        value = getattr(spec, field)
        if field in DEFAULTS and value == DEFAULTS[field] and field not in spec.stated:
            continue
        if field == "dimensions":
            value = [_plain(inner, DIMENSION_FIELDS) for inner in value]
        elif field == "categories":
            value = [_plain(inner, CATEGORY_FIELDS) for inner in value]
        elif isinstance(value, AppliesWhen):
            value = {"dimension": value.dimension, "is": list(value.values)}
        elif isinstance(value, tuple):
            value = list(value)
        found[field] = value
    return found


def dump(document: Document) -> str:
    """YAML in one fixed layout; loading it gives an equal document."""
    writer = YAML(typ="rt", pure=True)
    writer.width = 1_000_000  # one text, one line: a fold would leave blanks at the ends of lines
    writer.allow_unicode = True
    writer.indent(mapping=2, sequence=4, offset=2)
    stream = io.StringIO()
    writer.dump(_laid_out(plain(document)), stream)
    return stream.getvalue()


def _laid_out(value: Any, field: str = "") -> Any:
    """The value with conditions and lists of keys on one line, and text of several lines as a block."""
    if isinstance(value, dict):
        mapping = CommentedMap((key, _laid_out(inner, key)) for key, inner in value.items())
        if field == "applies_when":
            mapping.fa.set_flow_style()
        return mapping
    if isinstance(value, list):
        sequence = CommentedSeq(_laid_out(inner) for inner in value)
        if field in {"is", "was"} or not value:
            sequence.fa.set_flow_style()
        return sequence
    if isinstance(value, str) and re.search("[\r\x85]", value):
        return DoubleQuotedScalarString(value)  # where a line break of another kind is written as a sign
    if isinstance(value, str) and "\n" in value and _fits_a_block(value):
        return LiteralScalarString(value)
    return value


def _fits_a_block(text: str) -> bool:
    """Whether a literal block gives the text back: no edges of blanks, and nothing that YAML counts as a line break."""
    lines = text.split("\n")
    return (
        not text.startswith((" ", "\n", "\t"))
        and not text.endswith("\n\n")
        and not any(line != line.rstrip() for line in lines)
        and not re.search("[\x85\u2028\u2029\ufeff\t]", text)
    )
