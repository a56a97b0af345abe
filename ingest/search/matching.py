"""Matching of words and phrases: the rule, its lexemes, and marked texts. Pure.

A text is folded once, by `fold`, for the index and for what is searched for. Then:

* a **phrase** occurs where the folded text contains it and the character before it is neither letter nor digit. Its
  end is open: `"tensor parallel"` finds "tensor parallelism", `"out of memory"` does not find "timeout of memory".
  Blanks and line breaks are compared as they are;
* a **word** occurs where, in addition, the character after it is neither letter nor digit: a whole word, or a whole
  part of an identifier, path or version. `reduce` finds "all_reduce", `hang` does not find "change";
* Chinese, Japanese and Korean have no blanks between words: beside their characters anything may begin or end.

`Term.is_in` is this rule and nothing else. The database has no such functions, so texts are stored as `marked`, with a
mark wherever something may begin or end, and a term occurs exactly where its `pattern` is in the marked text.
`lexemes` are what an index holds of a text, and `needed` what it must hold for a term to occur.
"""

import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from zlib import crc32

BEGIN, END, COMMENT = "\x01", "\x02", "\x03"
"""Marks in stored texts: something may begin, something may end, and another comment begins."""
LEXEME_CHARACTERS = 32
"""Longer words are indexed by their first characters; the marked text decides."""
LEXEMES_BYTES = 1_000_000
"""A tsvector holds 1 MB of lexemes; a text with more is a candidate for every search (`EVERYTHING`)."""
EVERYTHING = "*"
PAIR, PAIR_CHARACTERS = "=", 8
"""Stands before a number, for the first of two words and what follows it, and the beginning of the second."""
OF_TITLE, OF_COMMENT = "^", "/"
"""Stand before a lexeme of a title, which is also without it, and of a comment."""
PREFIX_CHARACTERS = 3
"""A shorter beginning of a word selects too little to be asked for beside other lexemes."""

_EAST_ASIAN = (
    "\u1100-\u11ff\u3005-\u3007\u3021-\u3029\u3031-\u3035\u3038-\u303c\u3041-\u3096\u309d-\u309f\u30a1-\u30fa"
    "\u30fc-\u30ff\u3105-\u312f\u3131-\u318e\u31a0-\u31bf\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\ua960-\ua97c\uac00-\ud7a3"
    "\ud7b0-\ud7fb\uf900-\ufaff\uff66-\uffdc\U0001b000-\U0001b167\U00020000-\U0003fffd"
)
_IS_EAST_ASIAN = re.compile(f"[{_EAST_ASIAN}]")
_ALPHABETIC = rf"[^\W_{_EAST_ASIAN}]"
_RUNS = re.compile(rf"({_ALPHABETIC}+)|([{_EAST_ASIAN}]+)")
_MAY_END = re.compile(rf"(?<=.)(?:(?!{_ALPHABETIC})|(?<=[{_EAST_ASIAN}]))", re.DOTALL)
_MAY_BEGIN = re.compile(rf"(?<!{_ALPHABETIC})(?<!{_ALPHABETIC}{END})(?=[^{END}])|(?=[{_EAST_ASIAN}])", re.DOTALL)
_RESERVED = re.compile(f"[\x00{BEGIN}{END}{COMMENT}]")


def fold(text: str) -> str:
    """The text as it is compared: Unicode's composed form (NFC), without case; U+FFFD for characters reserved here."""
    folded = text.lower() if text.isascii() else unicodedata.normalize("NFC", text).casefold()
    return _RESERVED.sub("\ufffd", folded)


def _joins(before: str, after: str) -> bool:
    """Whether no word begins or ends for the sake of East Asian writing between two characters."""
    return not (_IS_EAST_ASIAN.match(before) or _IS_EAST_ASIAN.match(after))


@dataclass(frozen=True)
class Term:
    """A word or phrase to look for, folded."""

    text: str
    is_phrase: bool = False

    def is_in(self, folded: str) -> bool:
        """Whether it occurs in a folded text: the rule."""
        size = len(self.text)
        at = folded.find(self.text)
        while at >= 0:
            end = at + size
            begins = at == 0 or not folded[at - 1].isalnum() or not _joins(folded[at - 1], folded[at])
            ends = end == len(folded) or not folded[end].isalnum() or not _joins(folded[end - 1], folded[end])
            if begins and (ends or self.is_phrase):
                return True
            at = folded.find(self.text, at + 1)
        return False

    @property
    def pattern(self) -> str:
        """What a marked text contains where this occurs."""
        text = mark_boundaries(self.text)
        return text.removesuffix(END) if self.is_phrase else text

    @property
    def has_exact_lexeme(self) -> bool:
        """Whether it occurs wherever what is `needed` is, so that no text has to be compared.

        True of one word that is no longer than a lexeme, of its beginning, and of one or two East Asian characters.
        """
        run = _RUNS.fullmatch(self.text)
        if run is None:
            return False
        if run[2]:
            return len(self.text) <= 2
        return len(self.text) < LEXEME_CHARACTERS + self.is_phrase

    @property
    def needed(self) -> tuple[frozenset[str], str]:
        """Lexemes without which it does not occur, and the beginning of another one, or an empty string."""
        found, beginning = set(), ""
        words: list[re.Match[str]] = []
        for run in _RUNS.finditer(self.text):
            if run[2]:
                found |= _pairs(words)
                words = []
                if len(run[2]) > 1:
                    found |= {run[2][n : n + 2] for n in range(len(run[2]) - 1)}
                else:
                    beginning = beginning or run[2]
            elif self.is_phrase and run.end() == len(self.text):
                beginning = _pair(words[-1], run) if words else run[1][:LEXEME_CHARACTERS]
            else:
                words.append(run)
        found |= _pairs(words)
        return frozenset(found), "" if found and len(beginning) < PREFIX_CHARACTERS else beginning


def _pairs(words: Sequence[re.Match[str]]) -> set[str]:
    """Lexemes for every two words that follow each other; where one is alone, itself."""
    if len(words) < 2:
        return _alone(words)
    return {_pair(one, other) for one, other in pairwise(words)}


def _alone(words: Sequence[re.Match[str]]) -> set[str]:
    return {each[1][:LEXEME_CHARACTERS] for each in words}


def _pair(one: re.Match[str], other: re.Match[str]) -> str:
    """The lexeme of two words and what stands between them, or its beginning where the other word is only begun."""
    first = one.string[one.start() : other.start()]
    return f"{PAIR}{crc32(first.encode()):x} {other[1][:PAIR_CHARACTERS]}"


def mark_boundaries(folded: str) -> str:
    """A folded text with BEGIN wherever something may begin and END wherever it may end, in this order: END, BEGIN."""
    if not folded:
        return ""
    return _MAY_BEGIN.sub(BEGIN, _MAY_END.sub(END, folded))


def lexemes(folded: str) -> set[str]:
    """Words and parts of identifiers and paths, every two that follow each other, and pairs of East Asian characters.

    Of a run of those the last is alone, too. Two words are one lexeme, with what stands between them: so a phrase or an
    identifier of frequent words selects few candidates, also one that ends within a word.
    """
    found: set[str] = set()
    words: list[re.Match[str]] = []
    for run in _RUNS.finditer(folded):
        if run[1]:
            words.append(run)
        else:
            found |= _alone(words) | _pairs(words)
            words = []
            text = run[2]
            found |= {text[n : n + 2] for n in range(len(text))}
    return found | _alone(words) | _pairs(words)


def fit_into_tsvector(found: set[str]) -> bool:
    """Whether a tsvector can hold these lexemes."""
    return sum(len(each.encode()) for each in found) <= LEXEMES_BYTES


def as_tsvector(found: set[str]) -> str:
    """Lexemes as PostgreSQL reads a tsvector; EVERYTHING in place of more than one can hold."""
    return " ".join(f"'{each}'" for each in found) if fit_into_tsvector(found) else f"'{EVERYTHING}'"


def as_tsquery(terms: Iterable[Term], places: Iterable[str], without: Iterable[Term] = ()) -> str:
    """The lexemes without which an issue does not have all terms in these places; an empty string where none are.

    Of `without` those with an exact lexeme are excluded, beside terms.
    """
    places = set(places)
    texts = "" if "body" in places else OF_TITLE
    prefixes = [texts] * bool(places - {"comments"}) + [OF_COMMENT] * ("comments" in places)
    wanted = dict.fromkeys(_any_of(prefixes, term) for term in terms if any(term.needed))
    if not wanted:
        return ""
    if decide_alone(places):
        wanted |= dict.fromkeys(f"!({_any_of(prefixes, term)})" for term in without if term.has_exact_lexeme)
    return f"({' & '.join(f'({each})' for each in wanted)}) | '{EVERYTHING}'"


def decide_alone(places: Iterable[str]) -> bool:
    """Whether lexemes tell these places from others: those of bodies are mixed with those of titles."""
    return "title" in places or "body" not in places


def _any_of(prefixes: Iterable[str], term: Term) -> str:
    return " | ".join(_all_of(prefix, *term.needed) for prefix in prefixes)


def _all_of(prefix: str, found: Iterable[str], beginning: str) -> str:
    lexemes = [f"'{prefix}{each}'" for each in sorted(found)] + [f"'{prefix}{beginning}':*"] * bool(beginning)
    return " & ".join(lexemes)
