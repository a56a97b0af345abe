"""Lettering: the width of words in a chart, and words in several lines.

Nothing is drawn to measure text. The widths are those of Helvetica, which Arial and Liberation Sans share, with a
margin for other fonts.
"""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from unicodedata import combining, east_asian_width

LINE = 1.15
"""From one line of words to the next, in sizes of a letter."""
SPARE = 1.04
BOLD = 1.08
MOST_LINES = 5
MOST_SIGNS = 1000
"""Of a name; those that combine with others have no width."""
_WIDTHS = {
    sign: width
    for width, signs in (
        (0.22, "ijl'"),
        (0.28, " \N{NO-BREAK SPACE}!,./:;I[]\\ft|"),
        (0.34, '()-r`{}"'),
        (0.5, "Jckvsxyz^*"),
        (0.56, "abdeghnopqu0123456789?$#L_"),
        (0.61, "FTZ+<=>~"),
        (0.67, "ABEKPSVXY&"),
        (0.72, "CDHNRUw"),
        (0.78, "GOQ"),
        (0.83, "mM▲▼"),
        (0.89, "%"),
        (0.95, "W"),
        (1.02, "@"),
    )
    for sign in signs
}
_BREAKS = "/-_–—"
"""After these a word may go on in the next line."""


def width_of(words: str, letter: float, *, is_bold: bool = False) -> float:
    """How wide words are, in the unit of `letter`, their size."""
    return sum(map(_width, words)) * letter * SPARE * (BOLD if is_bold else 1)


def _width(sign: str) -> float:
    known = _WIDTHS.get(sign)
    if known is not None:
        return known
    if combining(sign):
        return 0.0
    return 1.0 if east_asian_width(sign) in "WF" else 0.7


def in_lines(
    words: str, room: float, letter: float, most: int = MOST_LINES, *, is_bold: bool = False, end: str = ""
) -> list[str]:
    """Words in lines that fit the room, broken between words, or inside of one that fits no line.

    Of more lines than `most` the last one kept ends with an ellipsis. `end` is never cut: it stands behind the words.
    """
    n_most = _fitting(words, room * most, letter, is_bold)
    if n_most == len(words):
        lines = _broken(f"{words}{end}", room, letter, is_bold)
        if len(lines) <= most:
            return lines

    def cut(kept: int) -> list[str]:
        return _broken(f"{words[:kept].rstrip()}…{end}", room, letter, is_bold)

    longer = range(2, min(n_most, len(words) - 1) + 1)
    return cut(1 + bisect_right(longer, most, key=lambda kept: len(cut(kept))))


def _fitting(words: str, room: float, letter: float, is_bold: bool) -> int:
    """How many signs could fit this room at most; more are not looked at, however long a name is."""
    left = room / width_of("%", letter, is_bold=is_bold) * _width("%")
    for at, sign in enumerate(words[:MOST_SIGNS]):
        left -= 0 if sign == " " else _width(sign)
        if left < 0:
            return at
    return min(len(words), MOST_SIGNS)


def _broken(words: str, room: float, letter: float, is_bold: bool) -> list[str]:
    lines, line = [], ""
    for piece in _pieces(words):
        if width_of(f"{line}{piece}".rstrip(), letter, is_bold=is_bold) <= room:
            line += piece
            continue
        if line.strip():
            lines.append(line.rstrip())
        line = ""
        for sign in piece:
            if line and width_of(f"{line}{sign}".rstrip(), letter, is_bold=is_bold) > room:
                is_word = line[-1].isalpha() and sign.isalpha() and ord(sign) < 0x2E80
                kept = line[:-1] if is_word and len(line) > 2 else line
                lines.append(f"{kept}-" if is_word else kept)
                line = line[len(kept) :]
            line += sign
    return [*lines, line.rstrip()] if line.strip() or not lines else lines


def _pieces(words: str) -> list[str]:
    """What is not broken while it fits a line: a word with the blank behind it, or a part of one up to a hyphen."""
    found, piece = [], ""
    for sign in words:
        if piece and piece[-1] == " " and sign != " ":
            found.append(piece)
            piece = ""
        piece += sign
        if sign in _BREAKS and len(piece) > 2:
            found.append(piece)
            piece = ""
    return [*found, piece] if piece else found


@dataclass(frozen=True)
class RowNames:
    """Names below each other at the left of a figure, in px: the lines of each, and where its middle is.

    All are so high, need so much room for their names, and what is drawn in each is so thick.
    """

    lines: Sequence[Sequence[str]]
    middles: Sequence[float]
    height: float
    room: float
    thick: float

    def place(self, row: int) -> dict[str, float]:
        """Middle, top and bottom of what stands in a row."""
        middle = self.middles[row]
        return {"y": middle, "top": middle - self.thick / 2, "bottom": middle + self.thick / 2}


def rows_of(names: Sequence[str], most_room: float, letter: float, least: float) -> RowNames:
    """Rows that are as high as their names need, and at least as high as is said; no wider than the widest line."""
    lines = [in_lines(name, most_room, letter) for name in names]
    middles, height = [], 0.0
    for each in lines:
        high = max(least, (len(each) * LINE + 0.5) * letter)
        middles.append(height + high / 2)
        height += high
    room = max((width_of(line, letter) for each in lines for line in each), default=0.0)
    return RowNames(lines, middles, max(height, least), room, 0.72 * least)


def first_line(middle: float, lines: Sequence[str], letter: float) -> float:
    """Where the first of some lines stands, if they are to stand around a middle."""
    return middle - (len(lines) - 1) * LINE * letter / 2
