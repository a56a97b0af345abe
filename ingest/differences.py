"""Differences between two snapshots of an issue: title, state, labels, body lines, comments. Pure."""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal, NamedTuple, Protocol

from shared.edit_scripts import Kind, edits

CONTEXT = 3
LINE_EDITS_MAX = 600
WORD_EDITS_MAX = 60
WORDS_MAX = 400
LINES_SHOWN = 2_000
"""Of a text, and of all comments together."""
CHARACTERS_COMPARED = 100_000
"""A longer text is not compared. At GitHub a text has at most 65,536 characters."""
CHARACTERS_OF_COMMENTS = 400_000
"""So many characters of all comments, before and after, are compared."""
COMMENTS_SHOWN = 100
LABELS_SHOWN = 100

_SIDES: tuple[Kind, Kind] = ("removed", "added")
_WORD = re.compile(r"\w+|\s+|[^\w\s]")


@dataclass(frozen=True)
class DiffComment:
    """A comment; `mark` is what it is known by at its source (None: only by its words).

    `words` is what it says, or a digest of that where its text is read by its `key`.
    """

    mark: int | None
    author: str
    words: str
    created_at: datetime | None = None
    key: int = 0


@dataclass(frozen=True)
class State:
    """One state of an issue; comments are None where the source did not bring them."""

    title: str
    body: str
    state: str = ""
    state_reason: str = ""
    labels: Sequence[str] = ()
    author: str = ""
    comments: Sequence[DiffComment] | None = None
    created_at: datetime | None = None
    closed_at: datetime | None = None
    n_comments: int | None = None


METADATA = {"created_at": "creation date", "closed_at": "closing date", "n_comments": "number of comments"}


class HasMetadata(Protocol):
    """What has the dates and counts of METADATA."""

    @property
    def created_at(self) -> datetime | None: ...
    @property
    def closed_at(self) -> datetime | None: ...
    @property
    def n_comments(self) -> int | None: ...


@dataclass(frozen=True)
class MetadataDifference:
    """A date or count that is another one, or known now."""

    name: str
    old: datetime | int | None
    new: datetime | int | None

    @property
    def is_date(self) -> bool:
        return isinstance(self.new or self.old, datetime)


def metadata_differences(old: HasMetadata, new: HasMetadata) -> list[MetadataDifference]:
    """The dates and counts that differ between two states."""
    pairs = ((words, getattr(old, name), getattr(new, name)) for name, words in METADATA.items())
    return [MetadataDifference(*pair) for pair in pairs if pair[1] != pair[2]]


@dataclass(frozen=True)
class Piece:
    """Some words of a line."""

    kind: Kind
    text: str


@dataclass(frozen=True)
class DiffLine:
    """A line of a text with its number on either side; `pieces` mark the words where it stands for a changed line."""

    kind: Kind
    pieces: Sequence[Piece]
    old: int | None = None
    new: int | None = None

    @property
    def text(self) -> str:
        return "".join(piece.text for piece in self.pieces)


@dataclass(frozen=True)
class Hunk:
    """Lines that stand together; `n_before` unchanged ones are left out before them."""

    n_before: int
    lines: Sequence[DiffLine]


@dataclass(frozen=True)
class TextDifference:
    """The changed lines of a text with CONTEXT lines around them; none where it is too long to be compared."""

    hunks: Sequence[Hunk] = ()
    n_added: int = 0
    n_removed: int = 0
    n_after: int = 0
    n_not_shown: int = 0
    is_too_long: bool = False

    def __bool__(self) -> bool:
        return bool(self.n_added or self.n_removed or self.is_too_long)

    @property
    def n_changed(self) -> int:
        return self.n_added + self.n_removed

    @property
    def n_lines(self) -> int:
        """How many lines there are to show."""
        return sum(len(hunk.lines) for hunk in self.hunks)


ChangeKind = Literal["added", "removed", "edited"]


class CommentChange(NamedTuple):
    """A comment before and after; `number` is its place in the newer thread, else in the older."""

    kind: ChangeKind
    number: int
    before: DiffComment | None
    after: DiffComment | None


Texts = Callable[[Sequence[DiffComment]], Mapping[int, str]]
"""The texts of comments by their keys, each cut after CHARACTERS_COMPARED + 1 characters."""


@dataclass(frozen=True)
class CommentDifference:
    """A comment that was added, removed or edited; `number` is its place in the newer thread, else in the older."""

    kind: ChangeKind
    number: int
    author: str
    created_at: datetime | None
    text: TextDifference


@dataclass(frozen=True)
class Difference:
    """All that differs. `words` says it in short: title · body · closed · 2 comments added.

    It has the first labels and comments, and the numbers of those that are not shown.
    """

    title: Sequence[Piece] = ()
    state: tuple[str, str] | None = None
    labels_added: Sequence[str] = ()
    labels_removed: Sequence[str] = ()
    n_labels_not_shown: int = 0
    author: tuple[str, str] | None = None
    body: TextDifference = field(default_factory=TextDifference)
    comments: Sequence[CommentDifference] = ()
    n_comments_not_shown: int = 0
    comments_became: Literal["", "known", "unknown"] = ""
    metadata: Sequence[MetadataDifference] = ()
    words: Sequence[str] = ()

    def __bool__(self) -> bool:
        return bool(self.words)


def difference(old: State, new: State, texts: Texts | None = None) -> Difference:
    """What became of `old` in `new`; time and memory are bounded whatever the texts are.

    Without `texts` the words of the comments are what they say.
    """
    title = _words_of(old.title, new.title) if old.title != new.title else ()
    before, after = state_words(old.state, old.state_reason), state_words(new.state, new.state_reason)
    added, removed = _labels(old.labels, new.labels)
    body = text_difference(old.body, new.body)
    became: Literal["", "known", "unknown"] = ""
    changes: list[CommentChange] = []
    if old.comments is None or new.comments is None:
        if (old.comments is None) != (new.comments is None):
            became = "unknown" if new.comments is None else "known"
    else:
        changes = list(_changes(old.comments, new.comments))
    comments = list(_comments(changes, texts))
    counts = Counter(each.kind for each in changes)
    metadata = metadata_differences(old, new)
    return Difference(
        title=title,
        state=(before, after) if before != after else None,
        labels_added=added[:LABELS_SHOWN],
        labels_removed=removed[:LABELS_SHOWN],
        n_labels_not_shown=sum(max(len(names) - LABELS_SHOWN, 0) for names in (added, removed)),
        author=(old.author, new.author) if old.author != new.author else None,
        body=body,
        comments=comments,
        n_comments_not_shown=len(changes) - len(comments),
        comments_became=became,
        metadata=metadata,
        words=change_words(
            title=bool(title),
            body=old.body != new.body,
            state=after if before != after else None,
            n_labels=len(added) + len(removed),
            author=old.author != new.author,
            n_added=counts["added"],
            n_edited=counts["edited"],
            n_removed=counts["removed"],
            comments_became=became,
            metadata=[each.name for each in metadata],
        ),
    )


def change_words(
    *,
    title: bool,
    body: bool,
    state: str | None,
    n_labels: int,
    author: bool,
    n_added: int,
    n_edited: int,
    n_removed: int,
    comments_became: str = "",
    metadata: Sequence[str] = (),
) -> list[str]:
    """What changed in short words; `state` is the new one, None where it is as it was.

    Of `metadata`, the dates and counts that differ, those that follow from the state or the comments are not repeated.
    """
    found = ["title"] * title + ["body"] * body
    if state is not None:
        found.append(state or "state not known")
    found += ["labels"] * bool(n_labels) + ["author"] * author
    for n, what in ((n_added, "added"), (n_edited, "edited"), (n_removed, "removed")):
        if n:
            found.append(f"{n} comment{'' if n == 1 else 's'} {what}")
    if comments_became:
        found.append("comments are known now" if comments_became == "known" else "comments are not known any more")
    implied = {METADATA["closed_at"]} if state is not None else set()
    implied |= {METADATA["n_comments"]} if n_added or n_removed or comments_became else set()
    return found + [name for name in metadata if name not in implied]


def state_words(state: str, reason: str) -> str:
    """`closed as not planned`, `open`; empty where the source did not say."""
    if state == "closed" and reason and reason.lower() != "completed":
        return f"closed as {reason.lower().replace('_', ' ')}"
    return "reopened" if state == "open" and reason.lower() == "reopened" else state


def _labels(old: Sequence[str], new: Sequence[str]) -> tuple[list[str], list[str]]:
    before, after = set(old), set(new)
    return [name for name in new if name not in before], [name for name in old if name not in after]


def text_difference(old: str, new: str) -> TextDifference:
    """A text's changed lines with their words marked; where most of it changed, the old and the new as a whole."""
    if old == new:
        return TextDifference()
    if max(len(old), len(new)) > CHARACTERS_COMPARED:
        return TextDifference(is_too_long=True)
    lines = list(_marked(list(_line_edits(_split(old), _split(new)))))
    n_added = sum(line.kind == "added" for line in lines)
    n_removed = sum(line.kind == "removed" for line in lines)
    if not (n_added or n_removed):
        return TextDifference()  # the ends of lines are written another way, no more
    hunks, n_after = _hunks(lines)
    shown, n_not_shown = _bounded(hunks)
    return TextDifference(shown, n_added, n_removed, n_after, n_not_shown)


def whole_text(text: str, kind: Kind) -> TextDifference:
    """A text that came or went as a whole."""
    if len(text) > CHARACTERS_COMPARED:
        return TextDifference(is_too_long=True)
    lines = [
        DiffLine(kind, (Piece(kind, words),), None if kind == "added" else number, number if kind == "added" else None)
        for number, words in enumerate(_split(text), start=1)
    ]
    shown, n_not_shown = _bounded([Hunk(0, lines)] if lines else [])
    n_added, n_removed = (len(lines), 0) if kind == "added" else (0, len(lines))
    return TextDifference(shown, n_added, n_removed, 0, n_not_shown)


def _split(text: str) -> list[str]:
    return re.split(r"\r\n|\r|\n", text.rstrip("\r\n")) if text.strip("\r\n") else []


def _line_edits(old: Sequence[str], new: Sequence[str]) -> Iterator[DiffLine]:
    whole: list[tuple[Kind, int, int]] = [("removed", place, 0) for place in range(len(old))]
    whole += [("added", len(old), place) for place in range(len(new))]
    steps = edits(old, new, LINE_EDITS_MAX)
    for kind, i, j in whole if steps is None else steps:
        text = new[j] if kind == "added" else old[i]
        yield DiffLine(
            kind, (Piece(kind, text),), None if kind == "added" else i + 1, None if kind == "removed" else j + 1
        )


def _marked(lines: Sequence[DiffLine]) -> Iterator[DiffLine]:
    """Removed lines stand before the added ones that replace them, the changed words of each pair marked."""
    place = 0
    while place < len(lines):
        if lines[place].kind == "same":
            yield lines[place]
            place += 1
            continue
        end = place
        while end < len(lines) and lines[end].kind != "same":
            end += 1
        removed = [line for line in lines[place:end] if line.kind == "removed"]
        added = [line for line in lines[place:end] if line.kind == "added"]
        is_long = len(removed) + len(added) > LINE_EDITS_MAX
        pairs = [] if is_long else [_pair(old, new) for old, new in zip(removed, added, strict=False)]
        yield from (old for old, _ in pairs)
        yield from removed[len(pairs) :]
        yield from (new for _, new in pairs)
        yield from added[len(pairs) :]
        place = end


def _pair(old: DiffLine, new: DiffLine) -> tuple[DiffLine, DiffLine]:
    pieces = _words_of(old.text, new.text)
    n_same = sum(len(piece.text.strip()) for piece in pieces if piece.kind == "same")
    if 2 * n_same < min(len(old.text), len(new.text)):
        return old, new
    return (
        DiffLine("removed", _side(pieces, "removed"), old.old, None),
        DiffLine("added", _side(pieces, "added"), None, new.new),
    )


def _side(pieces: Sequence[Piece], kind: Kind) -> tuple[Piece, ...]:
    return tuple(piece for piece in pieces if piece.kind in ("same", kind))


def _words_of(old: str, new: str) -> tuple[Piece, ...]:
    """Old and new in one line, word by word; as a whole where they are long or have little in common."""
    before, after = _WORD.findall(old), _WORD.findall(new)
    steps = None
    if max(len(before), len(after)) <= WORDS_MAX:
        steps = edits(before, after, WORD_EDITS_MAX)
    if steps is None:
        return tuple(piece for piece in (Piece("removed", old), Piece("added", new)) if piece.text)
    return tuple(_joined([Piece(kind, after[j] if kind == "added" else before[i]) for kind, i, j in steps]))


def _joined(words: Sequence[Piece]) -> Iterator[Piece]:
    """Words that changed beside each other as one piece each, what was removed first; blanks between them go along."""
    place = 0
    while place < len(words):
        end = place
        if words[place].kind == "same":
            while end < len(words) and words[end].kind == "same":
                end += 1
            yield Piece("same", "".join(word.text for word in words[place:end]))
            place = end
            continue
        for at in range(place, len(words)):
            if words[at].kind != "same":
                end = at + 1
            elif words[at].text.strip():
                break
        changed = words[place:end]
        blanks = any(word.kind == "same" for word in changed)
        for kind in _SIDES:
            if blanks or any(word.kind == kind for word in changed):  # a blank that both have is on both sides
                yield Piece(kind, "".join(word.text for word in changed if word.kind in ("same", kind)))
        place = end


def _hunks(lines: Sequence[DiffLine]) -> tuple[list[Hunk], int]:
    """Changed lines with what stands around them, and how many unchanged lines follow the last."""
    ranges: list[tuple[int, int]] = []
    for place, line in enumerate(lines):
        if line.kind == "same":
            continue
        start, until = max(place - CONTEXT, 0), min(place + CONTEXT + 1, len(lines))
        if ranges and start <= ranges[-1][1]:
            start = ranges.pop()[0]
        ranges.append((start, until))
    ends = [0, *(until for _, until in ranges)]
    found = [Hunk(start - end, lines[start:until]) for end, (start, until) in zip(ends, ranges, strict=False)]
    return found, len(lines) - ends[-1]


def _bounded(hunks: Sequence[Hunk]) -> tuple[list[Hunk], int]:
    """The first LINES_SHOWN lines, and how many are left out behind them."""
    left = LINES_SHOWN
    found: list[Hunk] = []
    for hunk in hunks:
        if left <= 0:
            break
        found.append(Hunk(hunk.n_before, hunk.lines[:left]))
        left -= len(hunk.lines)
    n_all = sum(len(hunk.lines) for hunk in hunks)
    return found, max(n_all - LINES_SHOWN, 0)


def _comments(changes: Sequence[CommentChange], texts: Texts | None) -> Iterator[CommentDifference]:
    """The first changes with their texts, as many as may be compared and shown."""
    shown = changes[:COMMENTS_SHOWN]
    sides = [side for change in shown for side in (change.before, change.after) if side is not None]
    by_key = texts(sides) if texts is not None else {}
    left, n_lines = CHARACTERS_OF_COMMENTS, LINES_SHOWN
    for kind, number, before, after in shown:
        was, now = ("" if side is None else by_key.get(side.key, side.words) for side in (before, after))
        left -= len(was) + len(now)
        if left < 0 or n_lines <= 0:
            return
        text = text_difference(was, now) if kind == "edited" else whole_text(was + now, kind)
        n_lines -= text.n_lines
        said = after or before
        assert said is not None
        yield CommentDifference(kind, number, said.author, said.created_at, text)


def _changes(old: Sequence[DiffComment], new: Sequence[DiffComment]) -> Iterator[CommentChange]:
    """By their marks, else by their words; those that went come first."""
    before = {_known_by(said, n): (number, said) for number, said, n in _numbered(old)}
    after = {_known_by(said, n): (number, said) for number, said, n in _numbered(new)}
    for key, (number, said) in before.items():
        if key not in after:
            yield CommentChange("removed", number, said, None)
    for key, (number, said) in after.items():
        if key not in before:
            yield CommentChange("added", number, None, said)
        elif before[key][1].words != said.words:
            yield CommentChange("edited", number, before[key][1], said)


def _numbered(comments: Sequence[DiffComment]) -> Iterator[tuple[int, DiffComment, int]]:
    """Each comment with its place and with how many said the very same before it."""
    seen: Counter[tuple[str, str]] = Counter()
    for number, said in enumerate(comments, start=1):
        yield number, said, seen[said.author, said.words]
        seen[said.author, said.words] += 1


def _known_by(said: DiffComment, n: int) -> tuple[object, ...]:
    return (said.mark,) if said.mark is not None else (said.author, said.words, n)
