"""What the fields of a document are made of: reads texts, keys, lists and yes or no, and collects what is wrong."""

import difflib
import re
from collections.abc import Collection, Iterable, Sequence
from typing import Any

from taxonomy import reading, schema
from taxonomy.errors import Problem
from taxonomy.reading import Mapping, Node, Scalar

PROBLEMS_MAX = 100
SUGGESTIONS_MAX = 20
CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f\ud800-\udfff\ufffe\uffff]")
OTHER_BOOLEANS = {"yes": "true", "on": "true", "y": "true", "no": "false", "off": "false", "n": "false"}


def nearest(word: str, options: Iterable[str]) -> str:
    """The option that is spelled most alike, or an empty string."""
    found = difflib.get_close_matches(word, list(options), n=1, cutoff=0.6)
    return found[0] if found else ""


class Fields:
    """Reads the values of fields, noting a problem for each that is not what it should be."""

    def __init__(self) -> None:
        self.problems: list[Problem] = []

    @property
    def is_full(self) -> bool:
        """Whether there are so many problems that no more are noted."""
        return len(self.problems) >= PROBLEMS_MAX

    def add(self, node: Node, path: str, sentence: str, word: str = "", options: Iterable[str] = ()) -> None:
        """Notes a problem, with the nearest option to `word` (for the first twenty); beyond a hundred none is added."""
        if self.is_full:
            return
        if word and len(self.problems) < SUGGESTIONS_MAX and (found := nearest(word, options)):
            sentence = f"{sentence} Did you mean “{found}”?"
        self.problems.append(Problem(path, node.line, node.column, sentence))

    def mapping(
        self, node: Node, path: str, what: str, fields: Sequence[str], ignored: Collection[str] = ()
    ) -> dict[str, tuple[Scalar, Node]]:
        """The known fields of a mapping: name → (its key's node, its value's node)."""
        if not isinstance(node, Mapping):
            self.add(node, path, f"Here {what} is expected, with fields such as {listed(fields[:3])}.")
            return {}
        found: dict[str, tuple[Scalar, Node]] = {}
        for key, value in node.entries:
            if not isinstance(key, Scalar):
                self.add(key, path, "A field's name must be a plain word.")
                continue
            where = joined(path, short(key.text))
            if key.text in ignored:
                continue
            if key.text not in fields:
                self.add(
                    key,
                    where,
                    f"{what.capitalize()} has no field “{short(key.text)}”; it has {listed(fields)}.",
                    key.text,
                    fields,
                )
            elif key.text in found:
                first = found[key.text][0]
                self.add(key, where, f"“{key.text}” is given twice; it stands in line {first.line} already.")
            else:
                found[key.text] = (key, value)
        return found

    def text(self, node: Node, path: str, *, one_line: bool = False, most: int = 0) -> str:
        """A text; one-line texts are trimmed and can't be empty."""
        if not isinstance(node, Scalar):
            self.add(node, path, "Here a text is expected; write it after the colon, in quotes if it holds “: ”.")
            return ""
        if node.value is None and one_line:
            self.add(node, path, "Nothing stands here; write a text.")
            return ""
        text = "" if node.value is None else node.text
        if found := CONTROL.search(text):
            self.add(
                node, path, f"The text holds the character U+{ord(found[0]):04X}, which can't be stored; leave it out."
            )
            return ""
        if not one_line:
            return text
        text = text.strip()
        if not text:
            self.add(node, path, "Nothing stands here; write a text.")
        elif "\n" in text or "\t" in text:
            self.add(node, path, "This must be one line without tabs.")
        elif len(text) > most:
            self.add(node, path, f"This has {len(text)} characters; {most} are the most.")
        return text

    def key(self, node: Node, path: str) -> str:
        """A key or slug."""
        text = self.text(node, path, one_line=True, most=schema.KEY_MAX)
        if text and not schema.is_key(text) and len(text) <= schema.KEY_MAX:
            better = schema.key_of(text)
            self.add(
                node,
                path,
                f"“{short(text)}” can't be a key: keys are lower-case letters a-z and digits, joined by single "
                "hyphens or underscores" + (f", such as “{better}”." if better else "."),
            )
        return text

    def boolean(self, node: Node, path: str) -> bool:
        if isinstance(node, Scalar) and isinstance(node.value, bool):
            return node.value
        hint = OTHER_BOOLEANS.get(node.text.lower(), "") if isinstance(node, Scalar) else ""
        self.add(node, path, f"Here true or false is expected{f'; write {hint}' if hint else ''}.")
        return True

    def items(self, node: Node, path: str, what: str) -> tuple[Node, ...]:
        """The entries of a list; nothing at all is an empty one."""
        if isinstance(node, reading.Sequence):
            return node.items
        if isinstance(node, Scalar) and node.value is None:
            return ()
        example = f"[{short(node.text)}]" if isinstance(node, Scalar) else "with “- ” before each entry"
        self.add(node, path, f"Here a list of {what} is expected; write {example}.")
        return ()

    def texts(self, node: Node, path: str) -> tuple[str, ...]:
        found = []
        for place, item in enumerate(self.items(node, path, "texts")):
            where = f"{path}[{place}]"
            text = self.text(item, where)
            if not text.strip() and isinstance(item, Scalar) and not CONTROL.search(item.text):
                self.add(item, where, "An empty entry; leave it out.")
            found.append(text)
        return tuple(found)

    def required(self, node: Node, path: str, what: str, given: Iterable[str], fields: Sequence[str]) -> None:
        if isinstance(node, Mapping):
            for name in fields:
                if name not in given:
                    self.add(node, joined(path, name), f"{what.capitalize()} needs “{name}”; add “{name}: …”.")

    def unique(
        self, found: Sequence[Any], values: Sequence[str], name: str, what: str, where: str, shown: str = ""
    ) -> None:
        first: dict[str, int] = {}
        for each, value in zip(found, values, strict=True):
            if not value:
                continue
            node = value_of(each.node, name)
            if value in first:
                text = each.fields[shown] if shown else value
                self.add(
                    node,
                    f"{each.path}.{name}",
                    f"Another {what} {where} has the {name} “{short(text)}” (line {first[value]}); choose another.",
                )
            else:
                first[value] = node.line


def value_of(node: Mapping, name: str) -> Node:
    """The value of a field, or the mapping itself where it is missing."""
    return next((value for key, value in node.entries if isinstance(key, Scalar) and key.text == name), node)


def joined(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name


def short(text: str) -> str:
    return text if len(text) <= 60 else f"{text[:57]}…"


def listed(words: Sequence[str]) -> str:
    return ", ".join(words[:-1]) + (" and " if len(words) > 1 else "") + words[-1]
