"""Keywords in the prose of issues, without code, URLs, and hidden comments. Pure."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

PLACES = ("title", "body", "comments")
USUAL_PLACES = ("title", "body")
KEYWORDS_MOST = 200
LONGEST_KEYWORD = 200

GAP = "\x00"
"""Stands where something was left out, so that what was before and after makes no phrase; no stored text holds it."""

_FENCE = re.compile(r"(`{3,}(?=[^`]*$)|~{3,})")
_LIST_MARK = re.compile(r"(?:[-*+]|\d{1,9}[.)])(?=[ \t]|$)[ \t]{0,4}")
_QUOTE = re.compile(r"(?: {0,3}> ?)+")
_TICKS = re.compile("`+")
# A tag ends before the next one begins, so that tags without an end are each read once.
_HTML_CODE = re.compile(r"<(pre|code)\b[^<>]*+>.*?(?:</\1\s*+>|\Z)", re.DOTALL)
_HTML_COMMENT = re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL)
# Addresses are found by what they have in common, which is rare: two slashes after a colon, an at sign, a bracket.
_SCHEME = re.compile(r"(?:[a-z][a-z0-9+.-]{0,20})\Z")
_ADDRESS = re.compile(r"(?:[^\s<>()`\x00]|\([^\s<>()`\x00]*\))*")
_WWW = re.compile(r"www\.(?<!\wwww\.)(?:[^\s<>()`\x00]|\([^\s<>()`\x00]*\))+")
_TARGET = re.compile(r"\]\([^\s()]*")
_REFERENCE = re.compile(r"^ {0,3}\[[^\]\n]+\]:[ \t]*\S+", re.MULTILINE)
_MAILBOX = re.compile(r"[\w.+-]{1,64}\Z")
_HOST = re.compile(r"[\w-]+(?:\.[\w-]+)*(?::[\w./~-]+)?")
_SOMEONE = re.compile(r"[a-z0-9][a-z0-9-]*(?:/[\w.-]+)?")
# Letters and digits make a word, and a single line below joins two of them, as in NCCL_TIMEOUT; around a word it is
# Markdown's emphasis.
_BEGIN = r"(?<![^\W_]{0})(?<![^\W_]_{0})(?<![^\W_]__{0})"
# The end has a bound, because many lines below would be read again from each of them.
_END = r"(?!_{0,20}+[^\W_])"


def prose(text: str) -> str:
    """What an issue's text says in words, in lower case.

    Left out are code (fenced, indented, inline, in <pre> and <code>), addresses (of pages, files, e-mail; the words of
    a link stay), names of people (@someone) and comments of HTML, which templates are full of and pages do not show.
    """
    text = _without_blocks(text.lower().replace("\r\n", "\n").replace("\r", "\n"))
    text = _without_inline_code(text)
    if "<" in text:
        text = _HTML_CODE.sub(GAP, text)
    return _without_addresses(text)


def _without_blocks(text: str) -> str:
    """Without fenced and indented code and HTML comments, line by line as CommonMark reads blocks."""
    kept: list[str] = []
    fence, in_comment = "", False
    may_be_code, in_list = True, 0
    for line in text.split("\n"):
        quote = _QUOTE.match(line)
        line = (line[quote.end() :] if quote else line).expandtabs(4)
        words = line.lstrip(" ")
        indent = len(line) - len(words)
        if fence:
            if indent <= in_list + 3 and words.startswith(fence) and not words.strip(fence[0] + " "):
                fence = ""
            continue
        if in_comment:
            _, mark, after = line.partition("-->")
            in_comment = not mark
            if in_comment:
                continue
            line = words = GAP + after
            indent = 0
        if not words:
            kept.append("")
            may_be_code = True
            continue
        if in_list and indent < in_list and may_be_code and not _LIST_MARK.match(words):
            in_list = 0
        if may_be_code and indent >= in_list + 4:
            kept.append(GAP)
            continue
        may_be_code = False
        if item := _LIST_MARK.match(words):
            in_list = indent + len(item[0])
            words = words[item.end() :]
        if opened := _FENCE.match(words):
            fence = opened[1]
            kept.append(GAP)
            may_be_code = True
            continue
        line = _HTML_COMMENT.sub(GAP, line) if "-->" in line else line
        if "<!--" in line and "`" not in line.partition("<!--")[0]:
            line, in_comment = line.partition("<!--")[0] + GAP, True
        kept.append(line)
    return "\n".join(kept)


def _without_inline_code(text: str) -> str:
    """Without `code`: a run of ticks up to the next run as long in the same paragraph; blank lines are empty by now."""
    if "`" not in text:
        return text
    return "\n\n".join(_without_ticks(paragraph) for paragraph in text.split("\n\n"))


def _without_ticks(paragraph: str) -> str:
    runs = [(found.start(), found.end()) for found in _TICKS.finditer(paragraph)]
    closing: list[int | None] = [None] * len(runs)
    ahead: dict[int, int] = {}
    for at in range(len(runs) - 1, -1, -1):
        length = runs[at][1] - runs[at][0]
        closing[at] = ahead.get(length)
        ahead[length] = at
    kept, begin, at = [], 0, 0
    while at < len(runs):
        end = closing[at]
        if end is None:
            at += 1
            continue
        kept += [paragraph[begin : runs[at][0]], GAP]
        begin, at = runs[end][1], end + 1
    return "".join([*kept, paragraph[begin:]])


def _without_addresses(text: str) -> str:
    """Without addresses of pages, files and mail and without @names, in lower case; the words of links stay."""
    if "]:" in text:
        text = _REFERENCE.sub(GAP, text)
    if "](" in text:
        text = _TARGET.sub("](" + GAP, text)
    if "://" in text:
        text = _cut_around(text, "://", _SCHEME, _ADDRESS)
    if "www." in text:
        text = _WWW.sub(GAP, text)
    if "@" in text:
        text = _cut_around(text, "@", _MAILBOX, _HOST, alone=_SOMEONE)
    return text


def _cut_around(
    text: str, mark: str, before: re.Pattern[str], after: re.Pattern[str], *, alone: re.Pattern[str] | None = None
) -> str:
    """Without every `mark` and what belongs to it: `before` at the end of the left side, `after` on the right.

    Where nothing fits on the left the mark stays, or goes with what is `alone` on its right.
    """
    left, *rest = text.split(mark)
    kept = []
    for right in rest:
        # 80 characters hold all that `before` may take, and the one before it.
        tail = left[-80:]
        begun = before.search(tail)
        end = after if begun else alone
        ended = end.match(right) if end else None
        if ended is None:
            kept.append(left + mark)
            left = right
            continue
        kept.append(left[: len(left) - len(begun[0])] + GAP if begun else left + GAP)
        left = right[ended.end() :]
    return "".join([*kept, left])


@dataclass(frozen=True)
class Pattern:
    """One keyword, ready to be looked for."""

    keyword: str
    piece: str
    """Its longest literal part in lower case: a text without it is not looked at more closely."""
    expression: re.Pattern[str]

    def is_in(self, text: str) -> bool:
        """Whether a text in lower case has the keyword; takes time in proportion to its length."""
        return any(found.lastindex for found in self.expression.finditer(text))


def pattern(keyword: str) -> Pattern:
    """Reads a word or phrase; `*` stands for any letters and digits, any blank for any blanks, `*` alone for a word.

    Case does not matter. Whole words only: `hang` finds neither `hangs` nor `change`, `hang*` finds `hangs` and
    `hanging`. Raises ValueError with the reason for what holds no letter or digit, or is too long.
    """
    words = keyword.lower().split()
    pieces = sorted(re.split(r"[*\s]+", " ".join(words)), key=len)
    if not words or not any(letter.isalnum() for letter in pieces[-1]):
        raise ValueError(f"“{keyword}” has no letter or digit to look for")
    if len(keyword) > LONGEST_KEYWORD:
        raise ValueError(f"“{keyword[:40]}…” has more than {LONGEST_KEYWORD} characters")
    return Pattern(keyword, pieces[-1], re.compile(_expression(words)))


def _expression(words: list[str]) -> str:
    r"""The words with blanks between them; its only group takes part in a match that has the whole keyword.

    A text is read once from left to right, whatever was entered. Each part of a word counts at its first place: a `*`
    stands for letters and digits alone, so what follows a later place follows the first one, too. Where a first word
    that begins with letters does not fit, the rest of the word is passed over: no later beginning in it fits either.
    """
    split = [[re.escape(part) for part in re.split(r"\*+", word)] for word in words]
    ends = [r"\s++"] * (len(words) - 1) + [_END]
    begin = _BEGIN.format(split[0][0])
    # Letters before the first part and after the last one need not be read.
    if not split[0][0]:
        del split[0][0]
        begin = "" if split[0][0] else r"(?<!\s)"
    if len(split[-1]) > 1 and not split[-1][-1]:
        del split[-1][-1]
        ends[-1] = ""
    first = split[0][0]
    # What must not stand before a word is asked after its first letters, which are quick to find.
    split[0][0] += begin
    pieces = []
    for parts, end in zip(split, ends, strict=True):
        parts[-1] += end
        pieces += [parts[0], *(rf"(?>\w*?{part})" for part in parts[1:])]
    if len(split[0]) > 1 and re.fullmatch(r"\w+", first):
        return f"{pieces[0]}(?:{''.join(pieces[1:])}()|\\w*+)"
    return "".join(pieces) + "()"


@dataclass(frozen=True)
class Keywords:
    """What to look for, and where: at least one of `any`, each of `all`, none of `none`."""

    any: tuple[Pattern, ...] = ()
    all: tuple[Pattern, ...] = ()
    none: tuple[Pattern, ...] = ()
    places: tuple[str, ...] = USUAL_PLACES

    def __str__(self) -> str:
        said = [
            f"{words} {', '.join(each.keyword for each in patterns)}"
            for words, patterns in (("any of", self.any), ("all of", self.all), ("none of", self.none))
            if patterns
        ]
        where = ", ".join(self.places[:-1]) + " or " + self.places[-1] if len(self.places) > 1 else self.places[0]
        return f"keywords: {'; '.join(said)} (in {where})"

    def fit(self, texts: Iterable[str]) -> bool:
        """Whether an issue with these texts (title, body, comments: those of `places`) has the keywords.

        Most issues are told from their raw text: where a keyword's piece does not occur, nothing is parsed.
        """
        raw = [(text, text.lower()) for text in texts if text]
        words: list[str] = []

        def has(wanted: Pattern) -> bool:
            if not any(wanted.piece in lowered for _, lowered in raw):
                return False
            if not words:
                words.extend(prose(text) for text, _ in raw)
            return any(wanted.is_in(each) for each in words)

        return (
            all(has(each) for each in self.all)
            and (not self.any or any(has(each) for each in self.any))
            and not any(has(each) for each in self.none)
        )


def read_keywords(value: object) -> Keywords | None:
    """Reads a keyword, a list of them (any of), or {any, all, none, in}; None where none is given.

    Raises ValueError with a sentence for what can't be read.
    """
    given: Mapping[str, object] = value if isinstance(value, Mapping) else {"any": value}
    if unknown := [str(name) for name in given if name not in ("any", "all", "none", "in")]:
        raise ValueError(f"“{unknown[0]}” is unknown here. Use any, all, none or in.")
    listed = {name: _list(given.get(name)) for name in ("any", "all", "none")}
    if sum(map(len, listed.values())) > KEYWORDS_MOST:
        raise ValueError(f"These are more than {KEYWORDS_MOST} keywords.")
    read = {name: tuple(map(_pattern, words)) for name, words in listed.items()}
    places = tuple(_list(given.get("in"))) or USUAL_PLACES
    if wrong := [place for place in places if place not in PLACES]:
        raise ValueError(f"“{wrong[0]}” is not a place to search. Use {', '.join(PLACES)}.")
    if not any(read.values()):
        return None
    return Keywords(**read, places=tuple(place for place in PLACES if place in places))


def _pattern(word: str) -> Pattern:
    try:
        return pattern(word)
    except ValueError as error:
        raise ValueError(f"{error}.") from error


def _list(value: object) -> list[str]:
    if value is None:
        return []
    words = [value] if isinstance(value, str) else value
    if not isinstance(words, list | tuple) or not all(isinstance(word, str) for word in words):
        raise ValueError("Send a keyword, a list of them, or any, all, none and in with lists.")
    return list(dict.fromkeys(word.strip() for word in words if word.strip()))
