"""Other tools: exports of Label Studio and doccano as sheets in the long form."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import IO, Any

import orjson

from annotation.core.errors import Unreadable
from annotation.core.sheet_tables import UNSTORABLE
from ingest.tables.files import TableRow
from shared.storable_json import DEEPEST, is_too_deep, n_values
from taxonomy.kinds.number import number_words

BYTES_MAX = 128 << 20
VALUES_MAX = 2_000_000
"""So many values, counted by their marks, a file may hold: each takes up to 30 times its bytes once it is read."""
FIELD_CHARACTERS_MAX = 500
FIELDS_MAX = 50
LABEL_STUDIO, DOCCANO = "Label Studio", "doccano"
LABELS = ("label", "labels", "categories", "Categories", "cats")
USERS = ("user", "username", "annotator")
REMARKS = ("Comments", "comments", "comment")
UNKNOWN = (
    "Unknown JSON. Concord reads tasks of Label Studio (JSON or JSON-MIN) and doccano examples with their "
    "labels (JSON or JSONL)."
)


@dataclass
class ToolSheet:
    """Rows under a head, and what each column is; `several` names dimensions with several values in one answer."""

    name: str
    kind: str
    roles: list[str]
    lines: list[TableRow]
    several: frozenset[str] = frozenset()


@dataclass
class _Answers:
    """Rows while they are gathered: fields of the task, who answered, what on which question."""

    fields: dict[str, None] = field(default_factory=dict)
    rows: list[tuple[int, Mapping[str, str], str, str, str, str, str]] = field(default_factory=list)
    faults: list[TableRow] = field(default_factory=list)
    several: set[str] = field(default_factory=set)

    def add(
        self, line: int, fields: Mapping[str, str], rater: str, dimension: str, values: Sequence[str], *more: str
    ) -> None:
        for name in fields:
            if len(self.fields) < FIELDS_MAX:
                self.fields.setdefault(name)
        if len(values) > 1:
            self.several.add(dimension)
        seconds, memo = (*more, "", "")[:2]
        self.rows += [(line, fields, rater, dimension, value, seconds, memo) for value in values]

    def sheet(self, kind: str, first: str, name: str = "") -> ToolSheet:
        """The sheet; the field `first` is taken for the item, or one that holds addresses."""
        names = sorted(self.fields, key=lambda each: each != first)
        item = next((each for each in names if self._are_addresses(each)), first)
        head = [*names, "rater", "dimension", "value", "seconds", "memo"]
        roles = ["item" if each == item else "" for each in names] + ["rater", "dimension", "value", "seconds", "memo"]
        lines = [TableRow(0, head)]
        lines += [
            TableRow(line, [*(fields.get(each, "") for each in names), *rest]) for line, fields, *rest in self.rows
        ]
        lines += self.faults
        return ToolSheet(name, kind, roles, lines, frozenset(self.several))

    def _are_addresses(self, name: str) -> bool:
        texts = [fields.get(name, "") for _, fields, *_ in self.rows]
        return bool(texts) and all(text.startswith(("http://", "https://")) for text in texts)


def is_json(start: bytes) -> bool:
    """Whether a file of this beginning is JSON."""
    return start.removeprefix(b"\xef\xbb\xbf").lstrip()[:1] in (b"{", b"[")


def sheets_of_json(file: IO[bytes], stem: str) -> list[ToolSheet]:
    """The sheet of JSON or JSON Lines; `stem`, the file's name, is the rater where none is named. Raises Unreadable."""
    records = _records(file)
    if any(isinstance(each.get(key), list) for each in records for key in ("annotations", "completions")) and any(
        "data" in each and not isinstance(each["data"], str) for each in records
    ):
        return [_of_tasks(records)]
    if any("annotation_id" in each or "lead_time" in each for each in records):
        return [_of_short_tasks(records)]
    if any(key in each for each in records for key in (*LABELS, "annotations")):
        return [_of_examples(records, _rater_of(stem))]
    raise Unreadable(UNKNOWN)


def _records(file: IO[bytes]) -> list[dict[str, Any]]:
    content = file.read(BYTES_MAX + 1).removeprefix(b"\xef\xbb\xbf")
    if len(content) > BYTES_MAX:
        raise Unreadable(f"The JSON is larger than {BYTES_MAX >> 20} MB. Export it in pieces.")
    if n_values(content) > VALUES_MAX:
        raise Unreadable(f"The JSON has more than {VALUES_MAX:,} values. Export it in pieces.")
    try:
        try:
            found = orjson.loads(content)
        except orjson.JSONDecodeError:
            found = [orjson.loads(line) for line in content.splitlines() if line.strip()]
    except orjson.JSONDecodeError as error:
        raise Unreadable(f"The file is neither JSON nor JSON Lines: {error}.") from error
    if is_too_deep(found):
        raise Unreadable(f"The JSON is nested more than {DEEPEST} levels deep.")
    records = found if isinstance(found, list) else [found]
    if not records or not all(isinstance(each, dict) for each in records):
        raise Unreadable(UNKNOWN)
    return records


# Label Studio


def _of_tasks(tasks: Sequence[Mapping[str, Any]]) -> ToolSheet:
    answers = _Answers()
    for line, task in enumerate(tasks, start=1):
        fields = _fields({"task": task.get("id", line), **_mapping(task.get("data"))})
        unread: set[str] = set()
        for annotation in _list(task.get("annotations", task.get("completions"))):
            if not isinstance(annotation, dict) or annotation.get("was_cancelled"):
                continue
            rater = _person(annotation.get("completed_by"))
            seconds = _text(annotation.get("lead_time"))
            for result in _list(annotation.get("result")):
                kind = str(_mapping(result).get("type", ""))
                values = _values(kind, _mapping(_mapping(result).get("value")))
                if values is None:
                    unread.add(kind or "no kind")
                elif values:
                    answers.add(line, fields, rater, str(result.get("from_name") or kind), values, seconds)
        if unread:
            named = ", ".join(sorted(unread))
            fault = f"Task {task.get('id', line)} has annotations that do not label the whole task ({named})."
            answers.faults.append(TableRow(line, [], fault, " · ".join(fields.values())[:200]))
    return answers.sheet(LABEL_STUDIO, "task")


def _values(type_: str, value: Mapping[str, Any]) -> list[str] | None:
    """The values of one result, None for a type that is no answer; levels of a taxonomy are joined to a path."""
    match type_:
        case "choices":
            return [_text(each) for each in _list(value.get("choices"))]
        case "taxonomy":
            return [_path(each) for each in _list(value.get("taxonomy"))]
        case "rating" | "number":
            return [_text(value[type_])] if value.get(type_) is not None else []
        case "textarea":
            text = "\n".join(_text(each) for each in _list(value.get("text")))
            return [text] if text.strip() else []
        case _:
            return None


def _of_short_tasks(tasks: Sequence[Mapping[str, Any]]) -> ToolSheet:
    """JSON-MIN: one flat record per annotation, whose questions are those that don't stand in every export."""
    own = {"id", "annotator", "annotation_id", "created_at", "updated_at", "lead_time", "agreement"}
    names = dict.fromkeys(name for task in tasks for name in task)
    lines = [TableRow(0, list(names))]
    for line, task in enumerate(tasks, start=1):
        lines.append(TableRow(line, [_short(task.get(name)) for name in names]))
    several = {
        name for name in names if name not in own and any(len(_choices(task.get(name)) or ()) > 1 for task in tasks)
    }
    return ToolSheet("", LABEL_STUDIO, [], lines, frozenset(several))


def _choices(value: Any) -> list[str] | None:
    """The values of a cell as JSON-MIN and CSV write several choices or levels; None for anything else."""
    if isinstance(value, dict) and isinstance(value.get("choices"), list):
        return [_text(each) for each in value["choices"]]
    if isinstance(value, dict) and isinstance(value.get("taxonomy"), list):
        value = value["taxonomy"]
    if isinstance(value, list) and value and all(isinstance(each, list) for each in value):
        return [_path(each) for each in value]
    if isinstance(value, list) and all(isinstance(each, str | int | float) for each in value):
        return [_text(each) for each in value]
    if isinstance(value, list) and len(value) == 1 and isinstance(value[0], dict):
        return _choices(value[0])
    return None


def _short(value: Any) -> str:
    found = _choices(value)
    if found is not None:
        return "; ".join(found)
    if isinstance(value, list) and value and all(isinstance(each, dict) for each in value):
        return "; ".join(_text(each.get("rating", each.get("number", ""))) for each in value)
    return _person(value) if isinstance(value, dict) else _text(value)


def flatten_json(lines: list[TableRow]) -> str:
    """Rewrites the JSON in cells of a CSV of Label Studio as plain values; what made the file, if that is known."""
    if not lines or "annotation_id" not in lines[0].cells or "annotator" not in lines[0].cells:
        return ""
    for place, line in enumerate(lines[1:], start=1):
        if any(cell[:1] in ("{", "[") for cell in line.cells):
            lines[place] = TableRow(line.line, [_spelled_out(cell) for cell in line.cells], line.fault, line.text)
    return LABEL_STUDIO


def _spelled_out(cell: str) -> str:
    if cell[:1] not in ("{", "["):
        return cell
    try:
        value = orjson.loads(cell)
    except orjson.JSONDecodeError:
        return cell
    found = None if is_too_deep(value) else _choices(value)
    return cell if found is None else "; ".join(found)


# doccano


def are_examples(head: Sequence[str]) -> bool:
    """Whether these are the columns of a CSV of doccano: number and text first, and the labels of the whole text."""
    return len(head) > 2 and head[0] == "id" and head[1] in ("text", "data") and "label" in head[2:]


def sheet_of_examples(lines: Sequence[TableRow], stem: str) -> ToolSheet:
    """The sheet of a CSV of doccano, in which `#` stands between several labels; `stem` as of `sheets_of_json`."""
    head, *rows = lines
    examples = [
        {
            name: _labels_of_cell(cell) if name == "label" else [cell] if name in REMARKS and cell else cell
            for name, cell in zip(head.cells, row.cells, strict=False)
        }
        for row in rows
        if not row.fault
    ]
    numbers = [row.line for row in rows if not row.fault]
    found = _of_examples(examples, _rater_of(stem), numbers)
    found.lines += [row for row in rows if row.fault]
    return found


def _labels_of_cell(cell: str) -> list[str]:
    words = [word.strip() for word in cell.split("#")]
    return words if all(words) else [cell.strip()] if cell.strip() else []


def _rater_of(stem: str) -> str:
    return "annotator" if stem in ("all", "") else stem


def _of_examples(examples: Sequence[Mapping[str, Any]], stem: str, numbers: Sequence[int] = ()) -> ToolSheet:
    """The sheet of examples; `numbers` are their lines in the file, from 1 where none are given."""
    answers = _Answers()
    for line, example in zip(numbers or range(1, len(examples) + 1), examples, strict=True):
        known = (*LABELS, *REMARKS, "annotations", "meta", "annotation_approver")
        fields = _fields(
            {
                "id": example.get("id", line),
                **{key: value for key, value in example.items() if key not in known},
                **_mapping(example.get("meta")),
            }
        )
        memo = "\n".join(_text(each) for key in REMARKS for each in _list(example.get(key)))
        try:
            for rater, dimension, values in _labels(example, stem):
                answers.add(line, fields, rater, dimension, values, "", memo)
        except ValueError as error:
            answers.faults.append(TableRow(line, [], str(error), " · ".join(fields.values())[:200]))
    return answers.sheet(DOCCANO, "id")


def _labels(example: Mapping[str, Any], stem: str) -> Iterator[tuple[str, str, list[str]]]:
    """Who gave which labels; raises ValueError for marks of words, which are no labels of the whole text."""
    rater = next((_text(example[key]) for key in USERS if example.get(key)), stem)
    for key in LABELS:
        found = example.get(key)
        labels = [found] if isinstance(found, str) and found else _list(found)
        if any(isinstance(each, list | dict) for each in labels):
            raise ValueError("These labels are on words or regions, not on the whole text.")
        if labels:
            yield rater, "label", [_text(each) for each in labels]
    by_user: dict[str, list[str]] = {}
    for annotation in _list(example.get("annotations")):
        if not isinstance(annotation, dict) or "start_offset" in annotation or "label" not in annotation:
            raise ValueError("These labels are on words or regions, not on the whole text.")
        user = _text(annotation.get("user"))
        by_user.setdefault(f"user {user}" if user.isdecimal() else user or rater, []).append(_text(annotation["label"]))
    for user, values in by_user.items():
        yield user, "label", values


# Both


def _fields(found: Mapping[str, Any]) -> dict[str, str]:
    """Fields of a task that are short texts or numbers."""
    texts = {str(key): _text(value) for key, value in found.items() if isinstance(value, str | int | float)}
    return {key: text for key, text in texts.items() if 0 < len(text) <= FIELD_CHARACTERS_MAX}


def _person(found: Any) -> str:
    if isinstance(found, dict):
        named = " ".join(_text(found.get(key)) for key in ("first_name", "last_name")).strip()
        return _text(found.get("email") or found.get("username")) or named or _person(found.get("id"))
    text = _text(found)
    return f"annotator {text}" if text.isdecimal() else text or "annotator"


def _path(levels: Any) -> str:
    return " / ".join(_text(each) for each in levels) if isinstance(levels, list) else _text(levels)


def _text(value: Any) -> str:
    match value:
        case None:
            return ""
        case bool():
            return "true" if value else "false"
        case float():
            return number_words(value)
        case str():
            return UNSTORABLE.sub("\ufffd", value)
        case int():
            return str(value)
        case _:
            return orjson.dumps(value).decode()


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}
