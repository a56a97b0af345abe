"""Evidence: quotes read from a request, and found again in the text of the issue. Pure."""

import re
import unicodedata
from array import array
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from html import unescape
from typing import NamedTuple

from annotation.labels.consensus import PENDING, Values
from taxonomy.tree import TreeDimension, VersionTree

LONGEST_QUOTE = 5_000
LONGEST_CONTEXT = 80
MOST_PER_PART = 100
MOST_PLACES = 5_000
MOST_ANCHORS = 400
SLOWER = 100
"""So much longer it takes to read a letter than to look it up."""
HIDDEN_MOST = 600
"""So many characters that are not shown, beyond twice its length, may stand within a quote."""
TITLE, BODY, COMMENT = "title", "body", "comment"


class Quote(NamedTuple):
    """A quote as a rater took it: for which answer, from where, with the shown text around it.

    `category` is a key, PENDING for a proposal, empty in a dimension without categories; `comment` counts the thread
    from 1; `start` and `end` are offsets that a script gave along, `at` is how far into the shown text it stands (0–1).
    """

    dimension: str
    category: str
    where: str
    comment: int | None
    quote: str
    before: str = ""
    after: str = ""
    start: int | None = None
    end: int | None = None
    at: float | None = None


def read_evidence(
    tree: VersionTree,
    given: object,
    values: Mapping[str, Values],
    fields: dict[str, list[str]],
    prefix: str = "",
) -> list[Quote]:
    """The quotes of one part; `values` are its answers. What is wrong goes into `fields` by its path."""
    if given is None:
        return []
    if not isinstance(given, list):
        fields[f"{prefix}evidence"] = ['Send a list such as [{"dimension": …, "where": "body", "quote": …}, …].']
        return []
    if len(given) > MOST_PER_PART:
        fields[f"{prefix}evidence"] = [f"A part has at most {MOST_PER_PART} quotes. You sent {len(given)}."]
        return []
    found = []
    for number, each in enumerate(given, start=1):
        read = _read(tree, each, values)
        if isinstance(read, Quote):
            found.append(read)
        else:
            fields[f"{prefix}evidence[{number}]"] = [read]
    return found


def _read(tree: VersionTree, given: object, values: Mapping[str, Values]) -> Quote | str:
    """The quote, or a sentence that says what is wrong with it."""
    if not isinstance(given, Mapping):
        return "Send a mapping with dimension, category, where and quote."
    key = given.get("dimension")
    dimension = tree.by_key.get(key) if isinstance(key, str) else None
    if dimension is None:
        return f"The version has no dimension “{key}”."
    category = given.get("category") or ""
    if sentence := _wrong_category(dimension, category, values.get(dimension.key)):
        return sentence
    where, comment = given.get("where"), given.get("comment")
    if where not in (TITLE, BODY, COMMENT):
        return "Give the place: title, body or comment."
    if where != COMMENT:
        comment = None
    elif isinstance(comment, bool) or not isinstance(comment, int) or comment < 1:
        return "Give the number of the comment in the thread, from 1."
    quote = given.get("quote")
    if not isinstance(quote, str) or not quote.strip():
        return "Give the quoted text."
    if len(quote) > LONGEST_QUOTE:
        return f"A quote has at most {LONGEST_QUOTE:,} characters. This one has {len(quote):,}."
    before, after = given.get("before") or "", given.get("after") or ""
    if not isinstance(before, str) or not isinstance(after, str):
        return "The context before and after a quote must be text."
    start, end = _offset(given.get("start")), _offset(given.get("end"))
    at = given.get("at")
    return Quote(
        dimension=dimension.key,
        category=category if dimension.has_categories else "",
        where=where,
        comment=comment,
        quote=quote,
        before=before[-LONGEST_CONTEXT:],
        after=after[:LONGEST_CONTEXT],
        start=start,
        end=end,
        at=float(at) if isinstance(at, int | float) and not isinstance(at, bool) and 0 <= at <= 1 else None,
    )


def _wrong_category(dimension: TreeDimension, category: object, chosen: Values | None) -> str:
    if chosen is None:
        return f"“{dimension.title}” has no label here, so it can't have evidence."
    if not dimension.has_categories:
        return f"“{dimension.title}” has no categories. Omit `category`." if category else ""
    if category in chosen and isinstance(category, str):
        return ""
    if category == PENDING:
        return f"“{dimension.title}” has no proposal here."
    if not category:
        return f"Name the category of “{dimension.title}” for which this is evidence."
    return f"“{category}” is not among the categories selected for “{dimension.title}”."


def _offset(given: object) -> int | None:
    return given if isinstance(given, int) and not isinstance(given, bool) and 0 <= given < 2**31 else None


_HIDDEN = re.compile(
    r"(?P<fence>^[ >\t]*(?P<mark>`{3,}|~{3,})[^\n`]*\n)(?P<code>.*?)(?:^[ >\t]*(?P=mark)[`~]*|\Z)"
    r"|(?P<ticks>`{1,3})(?!`)(?P<span>[^`]{1,2000})(?P=ticks)(?!`)"
    r"|(?P<comment><!--.*?(?:-->|\Z))"
    r"|(?P<image>!\[[^\]\n]{0,500}\]\([^()\s]{0,3000}(?:\s+\"[^\"\n]*\")?\))"
    r"|(?P<target>\]\(\s*+<?[^()\s<>]*+(?:\([^()\s]*+\)[^()\s<>]*+)*+>?(?:\s++(?:\"[^\"\n]*+\"|'[^'\n]*+'))?+\s*+\))"
    r"|(?P<reference>\]\[[^\]\n]{0,200}\])"
    r"|(?P<footnote>\[\^[^\]\s]{1,100}\](?::[ \t]?)?)"
    r"|(?P<marker>^[ >\t]*(?:[-*+]|\d{1,9}[.)])[ \t]+(?:\[[ xX]\](?=\s))?|^[ >\t]*\[![A-Z]+\])"
    r"|(?P<address>https?://(?P<host>[^/\s]+)/(?P<repository>[A-Za-z0-9][A-Za-z0-9-]*/[A-Za-z0-9._-]+)/"
    r"(?:(?:issues|pull|discussions)/(?P<number>\d+)(?P<rest>[#/?][^\s<>()\]]*)?|commit/(?P<sha>[0-9a-f]{7,40})))"
    r"|\b(?P<hash>[0-9a-f]{40})\b"
    r"|(?P<tag></?[A-Za-z][^<>]{0,3000}>)"
    r"|(?P<entity>&(?:#\d{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});)",
    re.DOTALL | re.MULTILINE,
)
"""What Markdown does not show as it is typed. Code comes first: in it everything is shown."""


@dataclass(frozen=True)
class _Skeleton:
    """The letters and digits of a text, and where each of them stands in it; `ends` of those shown in a short form."""

    letters: str
    places: Sequence[int]
    ends: Mapping[int, int] = field(default_factory=dict)

    def occurrences(self, wanted: str, most: int = MOST_PLACES) -> Iterator[int]:
        at = self.letters.find(wanted)
        while at >= 0 and most:
            yield at
            most -= 1
            at = self.letters.find(wanted, at + 1)

    def span(self, first: int, last: int) -> tuple[int, int]:
        """The range of the text from one letter to another, both included."""
        return self.places[first], self.ends.get(last, self.places[last] + 1)


def _letters(text: str, offset: int = 0) -> tuple[list[str], "array[int]"]:
    """The letters of each character that has some, and the place of each letter."""
    letters: list[str] = []
    places = array("I")
    for place, character in enumerate(text, start=offset):
        if character.isascii():
            if character.isalnum():
                letters.append(character.lower())
                places.append(place)
        elif some := _letters_of(character):
            letters.append(some)
            places.extend([place] * len(some))
    return letters, places


@lru_cache(maxsize=10_000)
def _letters_of(character: str) -> str:
    return "".join(each for each in unicodedata.normalize("NFKC", character).casefold() if each.isalnum())


def skeleton(text: str) -> str:
    """The letters and digits of a text, without case and width: what of it survives every rendering."""
    return "".join(_letters(text)[0])


@dataclass
class Places:
    """How many places all quotes of an answer are compared with, at most; then they are kept without a place.

    Of all texts together they are looked for in the first `n_letters`, each of which takes about 50 bytes. A text of
    GitHub has at most 65,536 characters; some characters become eighteen letters.
    """

    left: int = 100_000
    n_letters: int = 1_000_000
    n_looked: int = 300_000_000
    """So many letters are looked through, each once for each beginning or end of a quote; about a second."""

    def beginning(self, text: str) -> str:
        """As much of a text as there is room for."""
        found = text[: self.n_letters]
        if found.isascii():
            self.n_letters -= len(found)
            return found
        for place, character in enumerate(found):
            self.n_letters -= max(len(_letters_of(character)), 1)
            if self.n_letters < 0:
                self.n_letters = 0
                return found[:place]
        return found

    def may_look_through(self, n_letters: int) -> bool:
        """Whether so many letters may be looked through once more."""
        self.n_looked -= n_letters
        return self.n_looked >= 0

    def of(self, side: "_Skeleton", wanted: str, most: int = MOST_PLACES) -> Iterator[int]:
        """The places of some letters."""
        if not self.may_look_through(len(side.letters)):
            return
        for at in side.occurrences(wanted, most):
            if not self.left:
                return
            self.left -= 1
            yield at


class Source:
    """The text of a title, body or comment as typed, in which quotes are looked for; read once, used for many.

    `repository` is where the issue stands: addresses within it are shown shorter than others.
    """

    def __init__(self, text: str, repository: str = "", places: Places | None = None) -> None:
        self.text = text
        self.repository = repository.lower()
        self.places = places or Places()

    @cached_property
    def searched(self) -> str:
        """The beginning of the text in which quotes are looked for."""
        return self.places.beginning(self.text)

    @cached_property
    def typed(self) -> _Skeleton:
        letters, places = _letters(self.searched)
        return _Skeleton("".join(letters), places)

    @cached_property
    def shown(self) -> _Skeleton:
        """Without what Markdown hides: tags, comments, addresses of links, the language of code."""
        letters: list[str] = []
        places = array("I")
        ends: dict[int, int] = {}

        def take(start: int, end: int) -> None:
            some, where = _letters(self.searched[start:end], start)
            letters.extend(some)
            places.extend(where)

        end = 0
        for match in _HIDDEN.finditer(self.searched):
            take(end, match.start())
            end = match.end()
            if match["code"] is not None:
                take(*match.span("code"))
            elif match["span"] is not None:
                take(*match.span("span"))
            elif match["entity"] or match["address"] or match["hash"]:
                some = skeleton(self._as_shown(match))
                ends |= {len(places) + n: match.end() for n in range(len(some))}
                letters.append(some)
                places.extend([match.start()] * len(some))
        take(end, len(self.searched))
        return _Skeleton("".join(letters), places, ends)

    def _as_shown(self, match: re.Match[str]) -> str:
        """An entity as its sign; an issue's or commit's address in its short form, as the renderer writes it."""
        if match["entity"]:
            return unescape(match["entity"])
        if match["hash"]:
            return match["hash"][:7]
        home = self.repository if self.repository.count("/") == 2 else f"github.com/{self.repository}"
        host = match["host"].lower().removeprefix("www.")
        if host != home.partition("/")[0]:
            return match[0]
        name = "" if f"{host}/{match['repository']}".lower() == home else match["repository"]
        if match["sha"]:
            return f"{name} {match['sha'][:7]}"
        rest = match["rest"] or ""
        return f"{name} {match['number']} {('comment' if 'comment' in rest else 'part') if rest else ''}"

    def locate(self, quote: Quote) -> tuple[int, int] | None:
        """Where the quote stands, in characters of the typed text, or None where it can't be found.

        A quote comes from the shown text, so only letters and digits are compared. Offsets given along are used where
        they hold them. Of several places the one with the fitting surroundings counts, then the nearest to `at`.
        """
        wanted = skeleton(quote.quote)
        if not wanted:
            return self._signs(quote)
        if (
            quote.start is not None
            and quote.end is not None
            and quote.start < quote.end <= len(self.text)
            and quote.end - quote.start <= 3 * len(quote.quote) + HIDDEN_MOST
            and self.places.may_look_through(SLOWER * (quote.end - quote.start))
        ):
            given = self.text[quote.start : quote.end]
            if wanted in (skeleton(given), skeleton(Source(given).shown.letters)):
                return quote.start, quote.end
        before, after = skeleton(quote.before), skeleton(quote.after)
        best: tuple[float, float, _Skeleton, int] | None = None
        for side in (self.shown, self.typed):
            for first in self.places.of(side, wanted):
                fit = _common(side.letters, first, first + len(wanted), before, after)
                far = self._far(side.places[first], quote.at)
                if best is None or (-fit, far) < best[:2]:
                    best = (-fit, far, side, first)
            if best is not None and -best[0] >= len(before) + len(after):
                break
        if best is not None:
            _, _, side, first = best
            return self._with_signs(side.span(first, first + len(wanted) - 1), quote.quote)
        return self._between_anchors(wanted, before, after, quote)

    def _far(self, place: int, at: float | None) -> float:
        return abs(place / max(len(self.text), 1) - at) if at is not None else 0.0

    def _between_anchors(self, wanted: str, before: str, after: str, quote: Quote) -> tuple[int, int] | None:
        """By the quote's first and last letters, where something that is not shown stands between them."""
        for length in (24, 16, 12, 8, 5):
            if length * 2 > len(wanted):
                continue
            for side in (self.shown, self.typed):
                heads = [
                    (at, _common(side.letters, at, None, before, ""))
                    for at in self.places.of(side, wanted[:length], MOST_ANCHORS)
                ]
                ends = self.places.of(side, wanted[-length:], MOST_ANCHORS)
                tails = [at + length - 1 for at in ends]
                follows = [_common(side.letters, None, tail + 1, "", after) for tail in tails]
                best: tuple[float, float, int, int] | None = None
                for head, fit in heads:
                    nearest = bisect_left(tails, head + len(wanted) - 1)
                    for n in range(max(nearest - 2, 0), min(nearest + 6, len(tails))):
                        span = tails[n] - head + 1
                        if not len(wanted) / 2 <= span <= 3 * len(wanted) + HIDDEN_MOST:
                            continue
                        cost = abs(span - len(wanted)) - 4.0 * (fit + follows[n])
                        far = self._far(side.places[head], quote.at)
                        if best is None or (cost, far) < best[:2]:
                            best = (cost, far, head, tails[n])
                if best is not None and _holds(side.letters[best[2] : best[3] + 1], quote.quote):
                    return self._with_signs(side.span(best[2], best[3]), quote.quote)
        return None

    def _signs(self, quote: Quote) -> tuple[int, int] | None:
        """A quote without letters, as it is typed; of several places the one with the fitting surroundings."""
        wanted = quote.quote.strip()
        before, after = quote.before.rstrip()[-8:], quote.after.lstrip()[:8]
        best: tuple[float, float, int] | None = None
        if not self.places.may_look_through(len(self.text)):
            return None
        first, left = self.text.find(wanted), MOST_PLACES
        while first >= 0 and left:
            end = first + len(wanted)
            left -= 1
            fit = _common(self.text[max(first - 9, 0) : first].rstrip(), None, None, before, "")
            fit += _common(self.text[end : end + 9].lstrip(), 0, 0, "", after)
            far = self._far(first, quote.at)
            if best is None or (-fit, far) < best[:2]:
                best = (-fit, far, first)
            first = self.text.find(wanted, first + 1)
        return None if best is None else (best[2], best[2] + len(wanted))

    def _with_signs(self, span: tuple[int, int], quote: str) -> tuple[int, int]:
        """Takes along the signs with which the quote begins and ends, where they stand so in the source."""
        start, end = span
        stripped = quote.strip()
        first = next((n for n, each in enumerate(stripped) if each.isalnum()), 0)
        last = next((n for n, each in enumerate(reversed(stripped)) if each.isalnum()), 0)
        head, tail = stripped[:first], stripped[len(stripped) - last :]
        if head and self.text[max(start - len(head), 0) : start] == head:
            start -= len(head)
        if tail and self.text[end : end + len(tail)] == tail:
            end += len(tail)
        return start, end


def _common(letters: str, first: int | None, end: int | None, before: str, after: str) -> int:
    """How many letters right before `first` and right from `end` on are those that should stand there."""
    n = 0
    at = len(letters) if first is None else first
    for wanted in reversed(before):
        at -= 1
        if at < 0 or letters[at] != wanted:
            break
        n += 1
    at = len(letters) if end is None else end
    for wanted in after:
        if at >= len(letters) or letters[at] != wanted:
            break
        at += 1
        n += 1
    return n


def _holds(letters: str, quote: str) -> bool:
    """Whether at least four of five words of a quote stand in these letters, in their order."""
    words = [word for word in map(skeleton, quote.split()) if word]
    at = n = 0
    for word in words:
        found = letters.find(word, at)
        if found >= 0:
            n += 1
            at = found + len(word)
    return n * 5 >= len(words) * 4
