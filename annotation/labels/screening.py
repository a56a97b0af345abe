"""Screening questions (in or out, and why), and their effect on an item. Pure."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from annotation.labels.answers import AnswerPart
from annotation.labels.consensus import Verdict
from ingest.search.keywords import KEYWORDS_MOST, pattern
from taxonomy.kinds.single import SINGLE
from taxonomy.schema import KEY_MAX, NAME_MAX, AppliesWhen, CategorySpec, DimensionSpec, Document, key_of, without_was

SCREENING, REASON = "screening", "screening-reason"
"""The two dimensions."""
IN, OUT = "in", "out"
UNSCREENED, OPEN = "unscreened", "open"
"""Of an item that is neither: no screening round asked for it, or one did and has no agreed result (yet)."""
STANDINGS = {IN: "screened in", UNSCREENED: "not screened", OPEN: "open", OUT: "out"}
"""How items of a study can stand to its screening, in words that follow a count: `9 not screened, 3 open, 2 out`."""
MOST_REASONS = 40
ASTERISKS_MOST = 5
"""In one keyword to highlight: a browser looks for every part between two of them in all that it shows."""
NO_REASON = "raters disagreed on the reason"
REASON_OPEN = "reason unresolved"
"""The reason of an item that is out while raters still disagree on why."""
SLUG_END = "-screening"

USUAL = {
    "Not a bug": "A question, a wish or a task: nothing is said to go wrong.",
    "Not what this study asks about": "Something goes wrong, but not where this study looks.",
    "Duplicate of another issue": "The same thing is told in another issue.",
    "Too little information": "What went wrong can’t be told from what was written.",
    "Not readable (language, spam, test)": "",
}
"""The reasons of a study that names none, and what each means."""


def slug_of(study_slug: str) -> str:
    """The slug of a study's screening taxonomy, if it is free."""
    return study_slug[: KEY_MAX - len(SLUG_END)].rstrip("-_") + SLUG_END


def standings_taken(has_screening: bool) -> tuple[str, ...]:
    """What a coding round takes unless its owner chose otherwise: once it has screened what is in, else all but out."""
    return (IN,) if has_screening else (IN, UNSCREENED, OPEN)


def in_words(counts: Mapping[str, int]) -> str:
    """`9 not screened, 3 open, 2 out`, without what there is none of."""
    return ", ".join(f"{counts[each]:,} {words}" for each, words in STANDINGS.items() if counts.get(each))


def read_reasons(given: object, fields: dict[str, list[str]]) -> tuple[str, ...]:
    """The reasons of a request, one name each, none twice; what is wrong goes into `fields`."""
    if not isinstance(given, list | tuple) or not all(isinstance(each, str) for each in given):
        fields["reasons"] = ["Send a list of texts, one reason each."]
        return ()
    lines = (" ".join(each.replace("\x00", " ").split()) for each in given)
    found: dict[str, str] = {}
    for line in filter(None, lines):
        found.setdefault(line.casefold(), line)
    reasons = tuple(found.values())
    if not reasons:
        fields["reasons"] = ["Send at least one reason, because raters who screen an issue out choose one."]
    elif len(reasons) > MOST_REASONS:
        fields["reasons"] = [f"Send at most {MOST_REASONS} reasons. You sent {len(reasons)}."]
    elif longest := next((each for each in reasons if len(each) > NAME_MAX), None):
        fields["reasons"] = [f"A reason has at most {NAME_MAX} characters. “{longest[:40]}…” has {len(longest)}."]
    return reasons if "reasons" not in fields else ()


def read_keywords(given: object, fields: dict[str, list[str]], name: str) -> list[str]:
    """The keywords to highlight of a request, none twice; what is wrong goes into `fields`. Empty: highlight none."""
    if not isinstance(given, list | tuple) or not all(isinstance(each, str) for each in given):
        fields[name] = ["Give a list of texts, one keyword each."]
        return []
    found: dict[str, str] = {}
    for word in filter(None, (" ".join(each.split()) for each in given)):
        found.setdefault(word.casefold(), word)
    if len(found) > KEYWORDS_MOST:
        fields[name] = [f"Give at most {KEYWORDS_MOST} keywords; there are {len(found)}."]
        return []
    for word in found.values():
        if (n := word.count("*")) > ASTERISKS_MOST:
            fields[name] = [f"“{word[:40]}” has {n} asterisks. Use at most {ASTERISKS_MOST} in a keyword."]
            break
        try:
            pattern(word)
        except ValueError as error:
            fields[name] = [f"{error}."]
            break
    return list(found.values()) if name not in fields else []


def answer_to_screen(side: object, reason: str, before: Mapping[str, Any] | None) -> dict[str, Any]:
    """In or out (with the key of its reason) as the body of a submit.

    `before` is the draft or the answer that it follows, of one part: its memo, confidence and flag stay, and the quotes
    of what is said again.
    """
    labels: dict[str, list[object]] = {SCREENING: [side], **({REASON: [reason]} if side == OUT and reason else {})}
    body: dict[str, Any] = {"labels": labels}
    if before is None:
        return body
    parts = before.get("parts")
    part: Mapping[str, Any] = parts[0] if isinstance(parts, list) and parts and isinstance(parts[0], Mapping) else {}
    memos = (before.get("memo"), part.get("memo"))
    body["memo"] = "\n\n".join(each for each in memos if isinstance(each, str) and each)
    body["confidence"], body["flag"] = before.get("confidence"), bool(before.get("flag"))
    quotes = [each for each in part.get("evidence") or () if isinstance(each, Mapping)]
    body["evidence"] = [each for each in quotes if each.get("category") in labels.get(str(each.get("dimension")), ())]
    return body


def first_document(slug: str, study_title: str, reasons: Sequence[str]) -> Document:
    """What the first screening round of a study asks."""
    return Document(
        slug=slug,
        title=f"Screening: {study_title}"[:NAME_MAX],
        note=f"What the screening rounds of the study “{study_title}” ask.",
        dimensions=(
            DimensionSpec(
                key=SCREENING,
                title="In or out",
                kind=SINGLE.name,
                categories=(
                    CategorySpec(key=IN, name="In: keep it", shortcut="i"),
                    CategorySpec(key=OUT, name="Out: leave it out", shortcut="o"),
                ),
            ),
            _why(_specs(reasons, {})),
        ),
    )


def next_document(before: Document, reasons: Sequence[str]) -> Document | None:
    """The same with other reasons, where a reason of the same name is the same one; None where nothing changes.

    Give a document that `fits`. What else its maintainers wrote there stays.
    """
    if list(reasons) == list(reasons_of(before)):
        return None
    old = without_was(before)
    known = {spec.name.casefold(): spec for spec, _ in _dimension(old, REASON).walk()}
    specs = _specs(reasons, known)
    dimensions = tuple(replace(each, categories=specs) if each.key == REASON else each for each in old.dimensions)
    return replace(old, dimensions=dimensions)


def _why(specs: tuple[CategorySpec, ...]) -> DimensionSpec:
    return DimensionSpec(
        key=REASON, title="Why out", kind=SINGLE.name, applies_when=AppliesWhen(SCREENING, (OUT,)), categories=specs
    )


def _specs(reasons: Sequence[str], known: Mapping[str, CategorySpec]) -> tuple[CategorySpec, ...]:
    taken = {spec.key for spec in known.values()}
    found = []
    for number, name in enumerate(reasons, start=1):
        old = known.get(name.casefold())
        if old is not None:
            found.append(replace(old, name=name, selectable=True, categories=(), stated=old.stated - {"categories"}))
            continue
        key = wanted = key_of(name) or f"reason-{number}"
        more = 1
        while key in taken:
            more += 1
            key = f"{wanted[: KEY_MAX - 4].rstrip('-_')}-{more}"
        taken.add(key)
        found.append(CategorySpec(key=key, name=name, definition=USUAL.get(name, "")))
    return tuple(found)


def refuse_proposals(parts: Sequence[AnswerPart], fields: dict[str, list[str]], *, in_parts: bool) -> None:
    """Puts into `fields` where a category was proposed: reasons are the owner's, who gives others with a new round."""
    for number, part in enumerate(parts, start=1):
        for key in part.proposals:
            path = f"parts[{number}].{key}" if in_parts else key
            fields[path] = [
                "Categories can't be proposed while screening. Choose the closest reason and explain it in the memo."
            ]


def fits(document: Document) -> bool:
    """Whether a version still asks in or out, and why out: its maintainers may have made something else of it."""
    keys = {each.key: each for each in document.dimensions}
    if not {SCREENING, REASON} <= set(keys) or {keys[SCREENING].kind, keys[REASON].kind} != {SINGLE.name}:
        return False
    sides = {spec.key for spec, _ in keys[SCREENING].walk() if spec.selectable}
    when = keys[REASON].applies_when
    return {IN, OUT} <= sides and when is not None and (when.dimension, when.values) == (SCREENING, (OUT,))


def reasons_of(document: Document) -> tuple[str, ...]:
    """The reasons that can be chosen, in their order."""
    return tuple(spec.name for spec, _ in _dimension(document, REASON).walk() if spec.selectable)


def _dimension(document: Document, key: str) -> DimensionSpec:
    return next(each for each in document.dimensions if each.key == key)


@dataclass(frozen=True)
class Outcome:
    """What a screening round says of an item: `in`, or `out` with the reason in words."""

    screening: str
    reason: str = ""


def outcome(verdicts: Sequence[Verdict], names: Mapping[str, str]) -> Outcome | None:
    """What the agreed answers on an item make of it; None while in or out is open, or where nobody answered.

    `names` are those of the reasons by key. An item that was split is in as soon as one of its parts is. An item that
    is out is out whether or not its reason is agreed.
    """
    parts: dict[int, dict[str, Verdict]] = defaultdict(dict)
    for verdict in verdicts:
        parts[verdict.part][verdict.dimension] = verdict
    sides = [_value(part.get(SCREENING)) for _, part in sorted(parts.items())]
    if not sides or not all(sides):
        return None
    if any(side != OUT for side in sides):
        return Outcome(IN)
    why = parts[min(parts)].get(REASON)
    if why is not None and why.state == "open":
        return Outcome(OUT, REASON_OPEN)
    reason = _value(why)
    return Outcome(OUT, names.get(reason, reason) if reason else NO_REASON)


def _value(verdict: Verdict | None) -> str:
    """The agreed value, empty where it is open or there is none."""
    return str(verdict.values[0]) if verdict and verdict.values and verdict.state != "open" else ""
