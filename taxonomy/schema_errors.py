"""Schema errors: a document checked against its JSON Schema, each error as a sentence with its place."""

import re
from collections.abc import Callable, Collection, Iterable, Iterator
from typing import Any

from jsonschema import Draft202012Validator, ValidationError, validators

from shared.wording import did_you_mean, series
from taxonomy import parsing, schema
from taxonomy.errors import DocumentProblem
from taxonomy.kinds import KINDS
from taxonomy.parsing import Mapping, Node, Scalar
from taxonomy.yaml_errors import quote

PROBLEMS_MAX = 100
SUGGESTIONS_MAX = 20
CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff\ufffe\uffff]")
BARE = re.compile(r"[A-Za-z0-9][\w ./()+-]*(?<! )")
OTHER_BOOLEANS = {"yes": "true", "on": "true", "y": "true", "no": "false", "off": "false", "n": "false"}
OTHER_WORDS = {
    "children": "categories",
    "comment": "note",
    "depends_on": "applies_when",
    "description": "definition",
    "id": "key",
    "label": "name",
    "labels": "categories",
    "options": "categories",
    "question": "help",
    "subcategories": "categories",
    "type": "kind",
    "value": "is",
    "values": "is",
    "when": "applies_when",
}

Place = tuple[str | int, ...]
"""Where a value stands: ("dimensions", 0, "kind")."""

Plain = dict[str, Any] | list[Any] | str | bool | None
"""A value as the schema sees it; numbers are texts, as written."""


class Structure:
    """A document as plain values, and what is wrong with their structure; collects up to a hundred problems.

    `flawed` are the places of the values that are not what they should be. Costs one walk over the document; the
    nodes are looked at again only where there is a problem.
    """

    def __init__(self, root: Node, ignored: Collection[str] = ()) -> None:
        self.root = root
        self.problems: list[DocumentProblem] = []
        self.flawed: set[Place] = set()
        self.plain = self._plain(root, (), ignored)
        for error in _kept(schema.document_schema()).iter_errors(self.plain):
            if self.is_full:
                break
            self._tell(error)

    @property
    def is_full(self) -> bool:
        """Whether there are so many problems that no more are noted."""
        return len(self.problems) >= PROBLEMS_MAX

    def add(
        self,
        place: Place,
        sentence: str,
        word: str = "",
        options: Iterable[str] = (),
        *,
        node: Node | None = None,
        at: Place = (),
    ) -> None:
        """Notes a problem, with the nearest option to `word` (for the first twenty); beyond a hundred none is added.

        It stands where the value at `place` stands, unless a node or the place of another value is given.
        """
        if self.is_full:
            return
        if word and len(self.problems) < SUGGESTIONS_MAX:
            sentence += did_you_mean(word[: schema.NAME_MAX], options)
        node = node or self.node(at or place)
        self.problems.append(DocumentProblem(path_of(place), node.line, node.column, sentence))

    def node(self, place: Place) -> Node:
        """The node of a value, or the last one on the way to it where it is missing."""
        node = self.root
        for step in place:
            if isinstance(node, Mapping):
                entry = _entry(node, step)
                if entry is None:
                    break
                node = entry[1]
            elif isinstance(node, parsing.Sequence) and isinstance(step, int) and step < len(node.items):
                node = node.items[step]
            else:
                break
        return node

    def text(self, place: Place, value: Plain) -> str:
        """A single value as it was written: the text, "true" for a boolean, nothing for null."""
        if isinstance(value, bool):
            node = self.node(place)
            return node.text if isinstance(node, Scalar) else ""
        return value if isinstance(value, str) else ""

    def _plain(self, node: Node, place: Place, ignored: Collection[str] = ()) -> Plain:
        """The value of a node; of a field that is given twice the first counts."""
        if isinstance(node, Scalar):
            if found := CONTROL.search(node.text):
                self.flawed.add(place)
                self.add(
                    place,
                    f"The text contains the character U+{ord(found[0]):04X}, which can't be stored. Remove it.",
                    node=node,
                )
            return node.value
        if isinstance(node, parsing.Sequence):
            return [self._plain(item, (*place, number)) for number, item in enumerate(node.items)]
        found_fields: dict[str, Plain] = {}
        first: dict[str, Node] = {}
        for key, value in node.entries:
            if not isinstance(key, Scalar):
                self.add(place, "A field's name must be a plain word.", node=key)
            elif key.text in first:
                self.add(
                    (*place, key.text),
                    f"“{short(key.text)}” appears twice; it is already in line {first[key.text].line}. Remove "
                    "one, or begin the next entry with “- ”.",
                    node=key,
                )
            elif key.text not in ignored:
                first[key.text] = key
                found_fields[key.text] = self._plain(value, (*place, key.text))
        return found_fields

    def _tell(self, error: ValidationError) -> None:
        place: Place = tuple(error.path)
        told: Callable[[Place, ValidationError], None] = getattr(self, SENTENCES[error.validator])
        if error.validator in {"additionalProperties", "required"}:
            told(place, error)
        elif place not in self.flawed:
            self.flawed.add(place)
            told(place, error)

    def _unknown_field(self, place: Place, error: ValidationError) -> None:
        if place in self.flawed:
            return
        fields, what = error.schema["properties"], error.schema["title"]
        node = self.node(place)
        for key, _ in node.entries if isinstance(node, Mapping) else ():
            name = getattr(key, "text", "")
            if name not in error.instance or name in fields:
                continue
            sentence = f"{what} has no field “{short(name)}”. It has {series(list(fields))}."
            meant = OTHER_WORDS.get(name.lower(), "")
            home = next((each for each in OBJECTS if name in each["properties"]), None)
            if meant in fields:
                sentence += f" Did you mean “{meant}”?"
            elif home is not None:
                sentence += f" “{name}” is a field of {in_words(home)}; check how far the line is indented."
            hopeless = meant in fields or home is not None
            self.add((*place, name), sentence, "" if hopeless else name, fields, node=key)

    def _missing_field(self, place: Place, error: ValidationError) -> None:
        if error.schema is PARTS["condition"] and (written := _as_condition(error.instance)):
            self.flawed.add(place)
            self.add(place, f"A condition names a dimension and its answers; write {written}.")
            return
        for name in error.validator_value:
            if name in error.instance:
                continue
            if "title" not in error.schema:
                self._needs_categories((*place, name))
                continue
            sentence = f"{error.schema['title']} needs “{name}”; add “{name}: …”."
            if name == "key" and isinstance(written := error.instance.get("name", error.instance.get("title")), str):
                sentence = f"{error.schema['title']} needs “key”; add “key: {schema.key_of(written) or '…'}”."
            self.add((*place, name), sentence, at=place or (0,))

    def _needs_categories(self, place: Place) -> None:
        kind = self._value(place[:-1])["kind"]
        self.flawed.add(place)
        self.add(place, f"A {kind} dimension needs categories. Add at least one, with key and name.")

    def _another_type(self, place: Place, error: ValidationError) -> None:
        wanted, value = _as_list(error.validator_value), error.instance
        node = self.node(place)
        if "object" in wanted:
            fields = series([*dict.fromkeys([*error.schema["required"], *error.schema["properties"]])][:3])
            sentence = f"Here {in_words(error.schema)} is expected, with fields such as {fields}"
            self.add(place, f"{sentence}{_as_object(error.schema, value)}.")
        elif "array" in wanted and value is None:
            self._too_few(place, error)
        elif "array" in wanted:
            if "title" not in error.schema:  # a text told of already stands where these kinds need categories
                return
            what = error.schema["title"].lower()
            self.add(place, f"Here a list of {what} is expected; write {_as_list_entry(node, value)}.")
        elif wanted == ["boolean"]:
            hint = OTHER_BOOLEANS.get(node.text.lower(), "") if isinstance(node, Scalar) else ""
            self.add(place, f"Here true or false is expected{f'; write {hint}' if hint else ''}.")
        elif value is None:
            self.add(place, EMPTY_ENTRY if isinstance(place[-1], int) else NOTHING)
        elif isinstance(value, bool):
            written = self.text(place, value)
            self.add(place, f"Here “{written}” would mean yes or no; write it in quotes: {quote(written)}.")
        elif isinstance(value, dict) and len(value) == 1 and isinstance(inner := next(iter(value.values())), str):
            text = quote(short(f"{next(iter(value))}: {inner}"))
            self.add(place, f"Here a text is expected; put one that contains “: ” in quotes: {text}.")
        else:
            self.add(place, "Here a text is expected; write it after the colon, in quotes if it contains “: ”.")

    def _no_kind(self, place: Place, error: ValidationError) -> None:
        kinds = series(error.validator_value)
        node = self.node(place)
        if not isinstance(node, Scalar) or not node.text.strip():
            self.add(place, f"The kind is missing. Kinds are {kinds}.")
        else:
            sentence = f"“{short(node.text)}” is not a kind of dimension. Kinds are {kinds}."
            word = node.text.strip().lower()
            meant = next((name for name, kind in KINDS.items() if word in kind.synonyms), "")
            if meant:
                sentence += f" Did you mean “{meant}”?"
            self.add(place, sentence, "" if meant else word, error.validator_value)

    def _another_pattern(self, place: Place, error: ValidationError) -> None:
        text: str = error.instance
        if error.schema is PARTS["key"]:
            better = schema.key_of(text)
            self.add(
                place,
                f"“{short(text)}” can't be a key: keys have lowercase letters a-z and digits, joined by "
                "single hyphens or underscores" + (f", such as “{better}”." if better else "."),
            )
        elif error.schema is PARTS["sign"]:
            self.add(place, "A shortcut is one letter, digit or sign.")
        elif isinstance(place[-1], int):
            self.add(place, EMPTY_ENTRY)
        else:
            self.add(place, "This must be one line without tabs." if text.strip() else NOTHING)

    def _empty(self, place: Place, error: ValidationError) -> None:
        self.add(place, EMPTY_ENTRY if isinstance(place[-1], int) else NOTHING)

    def _too_long(self, place: Place, error: ValidationError) -> None:
        if error.schema is PARTS["sign"]:
            self._another_pattern(place, error)
        else:
            self.add(place, f"This has {len(error.instance)} characters. At most {error.validator_value} are allowed.")

    def _too_few(self, place: Place, error: ValidationError) -> None:
        if place[-1] == "is":
            self.add(place, "Name at least one answer, by a category's key or true or false.")
        elif place == ("dimensions",):
            self.add(place, "A taxonomy needs at least one dimension.")
        else:
            self._needs_categories(place)

    def _too_many(self, place: Place, error: ValidationError) -> None:
        if place == ("dimensions",):
            self.add(
                place, f"A taxonomy has at most {error.validator_value} dimensions, and here are {len(error.instance)}."
            )
            return
        kind = self._value(place[:-1])["kind"]
        self.add(
            place,
            f"A {kind} dimension has no categories. Omit them, or make its kind single or multi.",
            node=self._key(place),
        )

    def _value(self, place: Place) -> Any:
        value: Any = self.plain
        for step in place:
            value = value[step]
        return value

    def _key(self, place: Place) -> Node:
        """The node of the name of a field."""
        above = self.node(place[:-1])
        entry = _entry(above, place[-1]) if isinstance(above, Mapping) else None
        return entry[0] if entry else above


SENTENCES = {
    "additionalProperties": "_unknown_field",
    "required": "_missing_field",
    "type": "_another_type",
    "enum": "_no_kind",
    "pattern": "_another_pattern",
    "minLength": "_empty",
    "maxLength": "_too_long",
    "minItems": "_too_few",
    "maxItems": "_too_many",
}
"""The method that tells of an error, by the keyword of the schema that found it."""

PARTS: dict[str, Any] = schema.SCHEMA["$defs"]
OBJECTS = (schema.SCHEMA, PARTS["dimension"], PARTS["category"], PARTS["condition"])
NOTHING = "Text is missing here. Put it in quotes if it begins with “#”."
EMPTY_ENTRY = "An empty entry. Remove it, or put its text in quotes if it begins with “#”."


def path_of(place: Place) -> str:
    """A place in words: dimensions[0].kind."""
    path = ""
    for step in place:
        path += f"[{step}]" if isinstance(step, int) else f".{short(step)}" if path else short(step)
    return path


def in_words(part: Any) -> str:
    """A part of the schema by its title, inside a sentence: a dimension."""
    title: str = part["title"]
    return title[0].lower() + title[1:]


def short(text: str) -> str:
    """A text as a sentence quotes it: sixty characters at most."""
    return text if len(text) <= 60 else f"{text[:57]}…"


def _entry(node: Mapping, name: object) -> tuple[Node, Node] | None:
    return next((entry for entry in node.entries if isinstance(entry[0], Scalar) and entry[0].text == name), None)


def _as_list(wanted: str | list[str]) -> list[str]:
    return [wanted] if isinstance(wanted, str) else wanted


def _as_list_entry(node: Node, value: Plain) -> str:
    """How a value that is no list would be written as one."""
    if isinstance(value, dict) and value and "key" not in value:
        name, inner = next(iter(value.items()))
        named = f", name: {short(inner)}" if isinstance(inner, str) else ""
        return f"- {{key: {short(name)}{named}}}" if named else f"- key: {short(name)}, and its fields below"
    if not isinstance(node, Scalar):
        return "“- ” before each entry"
    text = node.text.strip()
    if len(text) > 40 or "\n" in text:
        return "each entry in a line of its own below, after “- ”"
    return f"[{text}]" if BARE.fullmatch(text) else f"[{quote(text)}]"


def _as_object(part: Any, value: Plain) -> str:
    """How a single value would be written as an object of this part, where one can guess it."""
    if not isinstance(value, str) or len(value) > 60:
        return ""
    if part is PARTS["category"] and BARE.fullmatch(value):
        return f"; write {{key: {schema.key_of(value)}, name: {value}}}"
    if part is PARTS["condition"]:
        words = re.findall(r"[\w-]+", value)
        answers = ", ".join(word for word in words[1:] if word not in {"is", "in", "or", "and"})
        return f"; write {{dimension: {words[0]}, is: [{answers}]}}" if answers else ""
    return ""


def _as_condition(value: dict[str, Plain]) -> str:
    """How {kind: fault} or {kind: [fault]} would be written."""
    if len(value) != 1:
        return ""
    name, answers = next(iter(value.items()))
    words = answers if isinstance(answers, list) else [answers]
    if name in PARTS["condition"]["properties"] or not words or not all(isinstance(word, str) for word in words):
        return ""
    return short(f"{{dimension: {name}, is: [{', '.join(str(word) for word in words)}]}}")


# The library makes a validator anew for every value below a value. Each part of the schema has one here that is kept,
# and the keywords that meet every value are said for plain values: twenty times quicker on a large document.

_TYPES = {str: "string", bool: "boolean", type(None): "null", list: "array", dict: "object"}
_validators: dict[int, Any] = {}
_patterns: dict[str, re.Pattern[str]] = {}


def _kept(part: Any) -> Any:
    """The validator of a part of the schema; a part that refers to another says nothing more that is to be checked."""
    while "$ref" in part:
        part = PARTS[part["$ref"].rpartition("/")[2]]
    if id(part) not in _validators:
        _validators[id(part)] = _Validator(part)
    return _validators[id(part)]


def _below(part: Any, value: Plain, step: str | int) -> Iterator[ValidationError]:
    for error in _kept(part).iter_errors(value):
        error.path.appendleft(step)
        yield error


def _properties(validator: Any, parts: Any, value: Plain, part: Any) -> Iterator[ValidationError]:
    if isinstance(value, dict):
        for name, inner in value.items():
            if name in parts:
                yield from _below(parts[name], inner, name)


def _items(validator: Any, each: Any, value: Plain, part: Any) -> Iterator[ValidationError]:
    if isinstance(value, list):
        for number, item in enumerate(value):
            yield from _below(each, item, number)


def _if(validator: Any, condition: Any, value: Plain, part: Any) -> Iterable[ValidationError]:
    found: Iterable[ValidationError] = (
        _kept(part["then"]).iter_errors(value) if _kept(condition).is_valid(value) else ()
    )
    return found


def _type_of(validator: Any, wanted: str | list[str], value: Plain, part: Any) -> Iterable[ValidationError]:
    return () if _TYPES[type(value)] in _as_list(wanted) else (ValidationError("another type"),)


def _pattern_of(validator: Any, pattern: str, value: Plain, part: Any) -> Iterable[ValidationError]:
    """As ECMAScript means it: `$` is the end alone."""
    if not isinstance(value, str):
        return ()
    if pattern not in _patterns:
        _patterns[pattern] = re.compile(pattern.removesuffix("$") + r"\Z" if pattern.endswith("$") else pattern)
    return () if _patterns[pattern].search(value) else (ValidationError("another pattern"),)


def _required_of(validator: Any, names: list[str], value: Plain, part: Any) -> Iterable[ValidationError]:
    if not isinstance(value, dict) or all(name in value for name in names):
        return ()
    return (ValidationError("fields are missing"),)


def _no_others(validator: Any, allowed: bool, value: Plain, part: Any) -> Iterable[ValidationError]:
    if not isinstance(value, dict) or value.keys() <= part["properties"].keys():
        return ()
    return (ValidationError("unknown fields"),)


_Validator = validators.extend(
    Draft202012Validator,
    {
        "additionalProperties": _no_others,
        "if": _if,
        "items": _items,
        "pattern": _pattern_of,
        "properties": _properties,
        "required": _required_of,
        "type": _type_of,
    },
)
