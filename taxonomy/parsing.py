"""Parser of YAML and JSON into plain nodes with line and column; independent of taxonomies."""

import json
import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from json.decoder import scanstring  # type: ignore[attr-defined]
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError, YAMLError

from taxonomy import yaml_errors
from taxonomy.errors import UnreadableDocument

BYTES_MAX = 2_000_000
DEPTH_MAX = 70
NODES_MAX = 60_000
"""So many values, keys included, a document may have: each takes some 40 microseconds to read."""

NULLS = {"", "~", "null", "Null", "NULL"}
BOOLEANS = {"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False}


@dataclass(frozen=True)
class Scalar:
    """A single value: `text` as written; `value` is that text, or a boolean or None if it was written as one."""

    line: int
    column: int
    text: str
    value: str | bool | None


@dataclass(frozen=True)
class Sequence:
    """A list."""

    line: int
    column: int
    items: tuple["Node", ...]


@dataclass(frozen=True)
class Mapping:
    """Fields with values in the order of the text; a key may occur twice."""

    line: int
    column: int
    entries: tuple[tuple["Node", "Node"], ...]


Node = Scalar | Sequence | Mapping


def read(text: str | bytes) -> Node:
    """The node of a whole document; raises UnreadableDocument.

    Refused: more than 2 MB, what is not UTF-8, nesting deeper than 70, more than NODES_MAX values, several documents
    in one text, and YAML's anchors, aliases and tags (nothing in a taxonomy needs them).
    """
    if len(text) > BYTES_MAX:
        raise UnreadableDocument("The document is larger than 2 MB. A taxonomy has at most a few hundred kilobytes.")
    if isinstance(text, bytes):
        try:
            text = text.decode("utf-16" if text[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8")
        except UnicodeDecodeError as error:
            head = error.object[: error.start]
            line, column = head.count(b"\n") + 1, len(head) - head.rfind(b"\n")
            raise UnreadableDocument(
                "The text is not UTF-8. Save the file as UTF-8.", line=line, column=column
            ) from None
    text = text.removeprefix("\ufeff")
    if not text.strip():
        raise UnreadableDocument("The document is empty.")
    if not text.lstrip().startswith(("{", "[")):
        return _read_yaml(text)
    reader = _JsonReader(text)
    try:
        return reader.document()
    except UnreadableDocument:
        if reader.n_nodes > NODES_MAX:
            raise
        try:
            return _read_yaml(text)
        except UnreadableDocument:
            pass
        raise


def _too_many() -> str:
    return f"The document has more than {NODES_MAX:,} values, keys included. Remove categories, or split the taxonomy."


def _read_yaml(text: str) -> Node:
    try:
        events = YAML(typ="safe", pure=True).parse(text)
        return _YamlReader(events).document()
    except MarkedYAMLError as error:
        sentence, line, column = yaml_errors.error_sentence(text, error)
        raise UnreadableDocument(f"This is not YAML: {sentence}.", line=line, column=column) from None
    except YAMLError as error:
        position = getattr(error, "position", 0) or 0
        line, column = _place(text, position if isinstance(position, int) else 0)
        raise UnreadableDocument(
            "This is not YAML: it contains a character that text files don't have.", line=line, column=column
        ) from None


class _YamlReader:
    """Builds nodes from parser events, so that neither depth nor aliases cost anything before they are refused."""

    def __init__(self, events: Iterator[Any]) -> None:
        self.events = events
        self.n_nodes = 0

    def document(self) -> Node:
        root: Node | None = None
        for event in self.events:
            name = type(event).__name__
            if name in {"StreamStartEvent", "StreamEndEvent", "DocumentEndEvent", "CommentEvent"}:
                continue
            if name == "DocumentStartEvent":
                if root is not None:
                    self._refuse(event, "A second document begins here; a text contains one taxonomy.")
                continue
            root = self._node(event, 0)
        if root is None:
            raise UnreadableDocument("The document is empty.")
        return root

    def _refuse(self, event: Any, sentence: str) -> None:
        mark = event.start_mark
        raise UnreadableDocument(sentence, line=mark.line + 1, column=mark.column + 1)

    def _node(self, event: Any, depth: int) -> Node:
        name = type(event).__name__
        line, column = event.start_mark.line + 1, event.start_mark.column + 1
        if name == "AliasEvent":
            self._refuse(
                event, f"*{event.anchor} would be an alias; write the text out, in quotes if it begins with *."
            )
        if event.anchor:
            self._refuse(
                event, f"&{event.anchor} would be an anchor; leave it out, or put text that begins with & in quotes."
            )
        if event.tag and event.tag != "!":
            self._refuse(event, f"{event.tag} would be a tag; leave it out, or put text that begins with ! in quotes.")
        self.n_nodes += 1
        if self.n_nodes > NODES_MAX:
            self._refuse(event, _too_many())
        if depth > DEPTH_MAX:
            self._refuse(event, "This is nested too deeply. At most thirty levels of categories are allowed.")
        if name == "ScalarEvent":
            plain = not event.style
            value: str | bool | None = event.value
            if plain and event.value in NULLS:
                value = None
            elif plain:
                value = BOOLEANS.get(event.value, event.value)
            return Scalar(line, column, event.value, value)
        if name == "SequenceStartEvent":
            items = []
            while type(inner := next(self.events)).__name__ != "SequenceEndEvent":
                items.append(self._node(inner, depth + 1))
            return Sequence(line, column, tuple(items))
        entries = []
        while type(inner := next(self.events)).__name__ != "MappingEndEvent":
            key = self._node(inner, depth + 1)
            node = self._node(next(self.events), depth + 1)
            if isinstance(node, Scalar) and node.text == "" and node.value is None:
                node = Scalar(key.line, key.column, "", None)  # nothing has no place of its own
            entries.append((key, node))
        return Mapping(line, column, tuple(entries))


class _JsonReader:
    """JSON by the standard library's own string scanner, keeping the places that `json.loads` forgets."""

    BLANK = re.compile(r"[ \t\n\r]*")
    NUMBER = re.compile(r"-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][-+]?\d+)?")
    WORDS = (("true", True), ("false", False), ("null", None))

    def __init__(self, text: str) -> None:
        self.text = text
        self.n_nodes = 0
        self.line_starts = [0, *(match.end() for match in re.finditer("\n", text))]

    def document(self) -> Node:
        node, end = self._node(self._skip(0), 0)
        end = self._skip(end)
        if end < len(self.text):
            self._refuse(end, "more text follows after the document's end")
        return node

    def _skip(self, at: int) -> int:
        match = self.BLANK.match(self.text, at)
        return match.end() if match else at

    def _refuse(self, at: int, what: str) -> None:
        line, column = _place(self.text, at)
        raise UnreadableDocument(f"This is not JSON: {what}.", line=line, column=column)

    def _string(self, at: int) -> tuple[str, int]:
        try:
            found: tuple[str, int] = scanstring(self.text, at + 1, True)
            return found
        except json.JSONDecodeError as error:
            if error.msg.startswith("Unterminated"):
                self._refuse(at, "the text that begins here has no closing quote")
            self._refuse(error.pos, error.msg[0].lower() + error.msg[1:])
            raise

    def _node(self, at: int, depth: int) -> tuple[Node, int]:
        line, column = _place(self.text, at, self.line_starts)
        self.n_nodes += 1
        if self.n_nodes > NODES_MAX:
            raise UnreadableDocument(_too_many(), line=line, column=column)
        if depth > DEPTH_MAX:
            raise UnreadableDocument(
                "This is nested too deeply. At most thirty levels of categories are allowed.", line=line, column=column
            )
        first = self.text[at : at + 1]
        if first == '"':
            value, end = self._string(at)
            return Scalar(line, column, value, value), end
        if first == "{":
            return self._mapping(at, depth)
        if first == "[":
            return self._sequence(at, depth)
        for word, meaning in self.WORDS:
            if self.text.startswith(word, at):
                return Scalar(line, column, word, meaning), at + len(word)
        if match := self.NUMBER.match(self.text, at):
            return Scalar(line, column, match[0], match[0]), match.end()
        self._refuse(at, "a value is missing here" if first else "it ends too early")
        raise AssertionError

    def _sequence(self, at: int, depth: int) -> tuple[Node, int]:
        line, column = _place(self.text, at, self.line_starts)
        items: list[Node] = []
        at = self._skip(at + 1)
        while self.text[at : at + 1] != "]":
            if items:
                at = self._comma(at)
            node, at = self._node(at, depth + 1)
            items.append(node)
            at = self._skip(at)
        return Sequence(line, column, tuple(items)), at + 1

    def _mapping(self, at: int, depth: int) -> tuple[Node, int]:
        line, column = _place(self.text, at, self.line_starts)
        entries: list[tuple[Node, Node]] = []
        at = self._skip(at + 1)
        while self.text[at : at + 1] != "}":
            if entries:
                at = self._comma(at)
            if self.text[at : at + 1] != '"':
                self._refuse(at, "a key in double quotes is missing here")
            key, at = self._node(at, depth + 1)
            at = self._skip(at)
            if self.text[at : at + 1] != ":":
                self._refuse(at, "a colon is missing after the key")
            node, at = self._node(self._skip(at + 1), depth + 1)
            entries.append((key, node))
            at = self._skip(at)
        return Mapping(line, column, tuple(entries)), at + 1

    def _comma(self, at: int) -> int:
        if self.text[at : at + 1] != ",":
            self._refuse(at, "a comma or a closing bracket is missing here")
        return self._skip(at + 1)


def _place(text: str, at: int, line_starts: list[int] | None = None) -> tuple[int, int]:
    """Line and column, from 1, of a position; quick where the starts of the lines are known."""
    if line_starts is None:
        return text.count("\n", 0, at) + 1, at - text.rfind("\n", 0, at)
    line = bisect_right(line_starts, at)
    return line, at - line_starts[line - 1] + 1
