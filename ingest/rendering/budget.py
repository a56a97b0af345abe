"""Rendering budget: the work that formatting a text takes, counted before it is done.

The time of formatting is about linear in the characters that can be markup. So a text costs a unit for each of them
(two for `[` and `<`, which may begin something long) and one for every PLAIN_CHARACTERS. A block of code costs
CODE_UNITS, because its contents are shown as they are.
"""

import re
from dataclasses import dataclass

UNITS_OF_TEXT = 8_000
UNITS_OF_PAGE = 40_000
PLAIN_CHARACTERS = 32
CODE_UNITS = 40

_MARKUP = re.compile(r"[^\w ]|_")
_RAW = re.compile(r"<(?:pre|script|style|textarea|\?|!\[|![a-z])", re.IGNORECASE)
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})(.*)")


@dataclass
class Budget:
    """Units that the texts of one page may still take together."""

    units: int = UNITS_OF_PAGE

    @property
    def of_text(self) -> int:
        """Units of the next text, which may turn out four times as costly as its signs promise."""
        return max(0, min(UNITS_OF_TEXT, self.units // 4))


def units_of(text: str) -> int:
    """Units of work that the signs of a text promise."""
    signs = len(_MARKUP.findall(text)) + text.count("[") + text.count("<")
    return signs + len(text) // PLAIN_CHARACTERS


def formatted_end(text: str, most: int) -> int:
    """Where to stop formatting a text that is worth more than `most` units: between blocks or lines, where they are.

    The length of the text, where all of it may be formatted. Reads no further than to that place.
    """
    units = 0
    start = blank_end = 0
    fence = ""
    # In HTML nobody knows without parsing whether what looks like a fence is one; then it counts as any other text.
    may_be_html = is_raw = in_comment = False
    while start < len(text):
        end = text.find("\n", start) + 1 or len(text)
        line = text[start:end].rstrip("\n")
        found = _FENCE.fullmatch(line)
        if fence:
            if found and found[1].startswith(fence) and not found[2].strip(" \t"):
                fence = ""
            start = end
            continue
        if found and not may_be_html and not (found[1][0] == "`" and "`" in found[2]):
            fence = found[1]
            units += CODE_UNITS
        elif not line.strip(" \t"):
            units += 1
            may_be_html = is_raw or in_comment
            blank_end = end
        else:
            is_raw = is_raw or bool(_RAW.search(line))
            in_comment = line.rfind("<!--") > line.rfind("-->") or (in_comment and "-->" not in line)
            may_be_html = may_be_html or "<" in line
            units += 1 + units_of(line)
            if units > most and start == 0:
                return _end_in_line(line, most)
        if units > most:
            return blank_end if blank_end > start / 2 else start
        start = end
    return len(text)


def _end_in_line(line: str, most: int) -> int:
    """After how many characters a line is worth as many units; at a blank, where there is one close by."""
    low, high = 0, len(line)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if units_of(line[:middle]) <= most else (low, middle - 1)
    blank = line.rfind(" ", 0, low)
    return blank + 1 if blank > low / 2 else low
