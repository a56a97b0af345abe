"""YAML errors, explained so that the author can fix the text."""

import re

from ruamel.yaml.error import MarkedYAMLError, StreamMark

FIELD = re.compile(r"(\s*(?:- +)*)([\w-]+): +(\S.*?)\s*")
ODD_BLANK = re.compile("[ \t]*([\u00a0\u1680\u2000-\u200b\u202f\u205f\u3000\ufeff])")


def error_sentence(text: str, error: MarkedYAMLError) -> tuple[str, int, int]:
    """A sentence for a parser's error, and the line and column (from 1) to mend."""
    mark = error.problem_mark or error.context_mark
    lines = [*text.splitlines(), ""]
    if mark is None:
        return "it can't be read", 1, 1
    here = (mark.line + 1, mark.column + 1)
    for number in (mark.line, mark.line - 1):
        if 0 <= number < len(lines) and (found := ODD_BLANK.match(lines[number])):
            what = f"a blank of another kind (U+{ord(found[1]):04X}) stands at the beginning of this line"
            return f"{what}; indent with ordinary blanks", number + 1, found.start(1) + 1
    line = lines[mark.line] if mark.line < len(lines) else ""
    problem = error.problem or error.context or ""
    above = error.context_mark or mark
    if "mapping values are not allowed" in problem:
        return _colon(lines, mark.line, mark.column), *here
    if "could not find expected ':'" in problem:
        return _no_colon(lines[above.line].strip()), above.line + 1, above.column + 1
    if "'\\t'" in problem or (line[: mark.column + 1].strip(" ") == "\t"):
        return "a tab is here; indent with blanks", *here
    if "unexpected end of stream" in problem or "unexpected document separator" in problem:
        sign = lines[above.line][above.column : above.column + 1]
        return f"the quote {sign} that opens here is never closed; add another {sign}", above.line + 1, above.column + 1
    if "expected <block end>" in problem or "expected '<document start>'" in problem:
        return _depth(lines, problem, mark, above), *here
    if "expected ',' or" in problem:
        return _bracket(lines, problem, mark, above), *here
    if "unknown escape character" in problem:
        return "a \\ in double quotes begins a sign of its own; put the text in single quotes, or write \\\\", *here
    if "cannot start any token" in problem or "line break, but found" in problem or "alphabetic or numeric" in problem:
        return _beginning(line, above.column if above.line == mark.line else mark.column), *here
    return problem, *here


def quote(text: str) -> str:
    """The text in quotes that YAML takes literally."""
    return "'" + text.replace("'", "''") + "'"


def _shown(line: str) -> str:
    """The line with its text in quotes, to be written instead."""
    found = FIELD.fullmatch(line) if len(line) <= 100 else None
    if not found:
        return ""
    value = found[3]
    if value[0] in "'\"":
        value = value[1:].removesuffix(value[0]) if value.endswith(value[0]) else value.replace(value[0], "")
    return f", such as {found[2]}: {quote(value)}"


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip(" "))


def _start(line: str) -> int:
    """Where a line's first field begins, after any “- ”."""
    found = re.match(r" *(?:- +)*", line)
    return found.end() if found else 0


def _above(lines: list[str], number: int) -> int | None:
    """The line above that is not empty."""
    return next((each for each in range(number - 1, -1, -1) if lines[each].strip()), None)


def _colon(lines: list[str], number: int, column: int) -> str:
    line = lines[number]
    before = _above(lines, number)
    if before is not None and ":" not in line[:column] and _indent(line) > _indent(lines[before]):
        return (
            f"this line is indented deeper than the field above it, which has a value already; begin it in "
            f"column {_start(lines[before]) + 1}, or put the text in quotes if it goes on from line {before + 1}"
        )
    return f"a colon too many; put text that contains “: ” in quotes{_shown(line)}"


def _no_colon(line: str) -> str:
    if found := re.match(r"(?:- +)*([\w-]+):(\S.*)", line):
        return f"a blank is missing after the colon; write {found[1]}: {found[2][:60]}"
    if re.match(r"-\S", line):
        return "a blank is missing after “-”"
    return (
        "a field's name with a colon is expected here; text that continues the line above must be indented "
        "deeper than its field"
    )


def _depth(lines: list[str], problem: str, mark: StreamMark, above: StreamMark) -> str:
    number, column = mark.line, mark.column
    first, wanted = above.line, above.column
    line = lines[number] if number < len(lines) else ""
    if re.match(r"\s*-[^\s-]", line):
        return f"a blank is missing after “-”; write - {line.strip()[1:61]}"
    if "<scalar>" in problem and line[:column].rstrip()[-1:] in {"'", '"'}:
        return f"there is text after the closing quote; put all of it in quotes, and double a ' inside{_shown(line)}"
    if line[:column].strip():
        return "something is left over here; put the text in quotes, or write it in a line of its own"
    if line.strip().startswith("- "):
        for before in range(number - 1, -1, -1):
            if lines[before].lstrip(" ").startswith("- ") and _indent(lines[before]) != column:
                return (
                    f"this “- ” stands in column {column + 1}, the one before it in column "
                    f"{_indent(lines[before]) + 1} (line {before + 1}); entries of one list stand below each other"
                )
    near = _above(lines, number)
    if near is not None and column not in {wanted, _start(lines[near])}:
        other = f", in column {wanted + 1} if it goes on with line {first + 1}" if first != near else ""
        return (
            f"this line begins in column {column + 1}; begin it in column {_start(lines[near]) + 1} if it goes on with "
            f"line {near + 1}{other}"
        )
    what = "begins with “- ”" if line.strip().startswith("- ") else "has no “- ”"
    return f"this line {what}, unlike line {first + 1}, to which it belongs; check its indentation"


def _bracket(lines: list[str], problem: str, mark: StreamMark, above: StreamMark) -> str:
    number, column = mark.line, mark.column
    first, start = above.line, above.column
    opening = lines[first][start : start + 1]
    closing = {"[": "]", "{": "}"}.get(opening, "]")
    if first != number or "stream end" in problem:
        return f"the bracket {opening} of line {first + 1} is never closed; add {closing}"
    if "got ':'" in problem and (found := re.search(r"([\w-]+)\s*$", lines[number][max(0, column - 60) : column])):
        return f"a comma is missing before “{found[1]}”, or quotes around a text that contains “: ”"
    return f"a comma or {closing} is missing before this"


def _beginning(line: str, column: int) -> str:
    sign = line[column : column + 1]
    if sign == "*" and not line[:column].strip():
        return "begin the entries of a list with “- ”, not with “*”"
    return f"text can't begin with {sign}; put it in quotes{_shown(line)}"
