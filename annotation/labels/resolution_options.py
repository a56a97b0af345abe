"""Resolution options: the raters' answers side by side, each once. Pure."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from annotation.labels.consensus import PENDING, ProposalRequest, RaterValues, Values, Verdict
from taxonomy.tree import TreeCategory, TreeDimension

NO_PART = "no-part"
"""What a radio sends where the part does not exist."""
CONFIDENCE = {1: "unsure", 2: "fairly sure", 3: "sure"}


class AnswerDetails(Protocol):
    """What is known of a rater's answer beside its values."""

    @property
    def confidence(self) -> int | None: ...
    @property
    def n_parts(self) -> int: ...
    @property
    def parts(self) -> frozenset[int]: ...
    @property
    def is_arbiter(self) -> bool: ...
    @property
    def quotes(self) -> Mapping[tuple[int, str], Sequence[object]]: ...


@dataclass(frozen=True)
class RaterStatement:
    """One rater under an answer: how sure, why, on what it rests, and how it came to no value."""

    code: str
    confidence: int | None
    memo: str
    words: str
    proposal: ProposalRequest | None
    is_arbiter: bool
    quotes: Sequence[object] = ()

    @property
    def confidence_words(self) -> str:
        return CONFIDENCE.get(self.confidence or 0, "")


@dataclass(frozen=True)
class ResolutionOption:
    """An answer as a column: `value` is what its radio sends (JSON), empty where it can't be chosen.

    `number` is the key that chooses it; `shared` are categories that stand in every other answer, too.
    """

    number: int | None
    value: str
    words: str
    categories: Sequence[TreeCategory]
    shared: frozenset[str]
    said: Sequence[RaterStatement]

    @property
    def is_no_part(self) -> bool:
        return self.value == NO_PART

    @property
    def at_stake(self) -> Sequence[TreeCategory]:
        """The categories whose definitions tell this answer from the others."""
        return [category for category in self.categories if category.key not in self.shared]


def decided_by(method: str, name: str) -> str:
    """Who took a decision: a person, an import, or a rule of the study."""
    return name or ("an import" if method == "imported" else "a rule of the study")


def as_value(values: Values) -> str:
    """What a radio sends for these values."""
    return json.dumps(list(values), ensure_ascii=False)


def options(
    dimension: TreeDimension, verdict: Verdict, voices: Mapping[str, AnswerDetails], *, decided: Values = ()
) -> list[ResolutionOption]:
    """The raters' answers in the order of their codes, equal ones once; for yes or no always both.

    A number or a text that was decided before is one of them, exactly as it is.
    """
    columns: dict[str, tuple[str, Values, list[RaterStatement]]] = {}
    for given in verdict.ratings:
        name, values = _column(dimension, verdict, given, voices)
        columns.setdefault(name, (name, values, []))[2].append(_said(dimension, verdict, given, voices))
    if verdict.replaces is not None and (before := verdict.replaces.values) is not None:
        columns.setdefault(as_value(before), (as_value(before), before, []))
    if decided and not dimension.has_categories:
        columns.setdefault(as_value(decided), (as_value(decided), decided, []))
    if dimension.is_two_valued:
        for answer in (True, False):
            columns.setdefault(as_value((answer,)), (as_value((answer,)), (answer,), []))
    chosen = [frozenset(map(str, values)) for name, values, _ in columns.values() if name not in ("skip", NO_PART)]
    shared = frozenset.intersection(*chosen) if len(chosen) > 1 else frozenset()
    found: list[ResolutionOption] = []
    for name, values, said in columns.values():
        can_be_chosen = name.startswith("[") or name == NO_PART
        number = sum(option.number is not None for option in found) + 1 if can_be_chosen else None
        found.append(
            ResolutionOption(
                number=number,
                value=name if can_be_chosen else "",
                words=_title(dimension, verdict, name, values),
                categories=categories_of(dimension, values),
                shared=shared,
                said=said,
            )
        )
    return found


def _column(
    dimension: TreeDimension, verdict: Verdict, given: RaterValues, voices: Mapping[str, AnswerDetails]
) -> tuple[str, Values]:
    """The column an answer stands in, by its name, and its values without what was proposed."""
    if given.skip_reason:
        return "skip", ()
    if given.values is None and _lacks_part(verdict, voices.get(given.rater)):
        return NO_PART, ()
    if given.values is None:
        return as_value(()), ()
    kept = tuple(value for value in given.values if value != PENDING)
    if PENDING not in given.values:
        return as_value(kept), kept
    return (as_value(kept) if kept and dimension.is_set else "pending"), kept


def _said(
    dimension: TreeDimension, verdict: Verdict, given: RaterValues, voices: Mapping[str, AnswerDetails]
) -> RaterStatement:
    voice = voices.get(given.rater)
    words = ""
    if given.skip_reason:
        words = given.skip_reason
    elif given.values is None:
        words = f"found no part {verdict.part}" if _lacks_part(verdict, voice) else "gave no label here"
    return RaterStatement(
        code=given.rater,
        confidence=None if given.skip_reason or voice is None else voice.confidence,
        memo="" if given.proposal and given.memo == given.proposal.memo else given.memo,
        words=words,
        proposal=given.proposal,
        is_arbiter=bool(voice and voice.is_arbiter),
        quotes=voice.quotes.get((verdict.part, verdict.dimension), ()) if voice else (),
    )


def _lacks_part(verdict: Verdict, voice: AnswerDetails | None) -> bool:
    """Whether a rater who answered found no such part."""
    return voice is not None and bool(voice.parts) and verdict.part not in voice.parts


def _title(dimension: TreeDimension, verdict: Verdict, name: str, values: Values) -> str:
    if name == "skip":
        return "Skipped"
    if name == "pending":
        return "A new category"
    if name == NO_PART:
        return no_part_words(verdict.part)
    return value_words(dimension, values) if values else none_words(dimension)


def value_words(dimension: TreeDimension, values: Values) -> str:
    """`Hang + Crash`, `Yes`, `3.5`; `none` for no value."""
    if not values:
        return "none"
    if dimension.has_categories:
        return " + ".join(category.name for category in categories_of(dimension, values))
    return dimension.question_kind.word(values[0])


def no_part_words(part: int) -> str:
    """What it means to decide that a part does not exist."""
    return f"There is no part {part}"


def none_words(dimension: TreeDimension) -> str:
    """What it means to decide that there is no value."""
    return "None of the categories" if dimension.is_set else "No value"


def categories_of(dimension: TreeDimension, values: Values) -> list[TreeCategory]:
    """The categories of values, in the order of the tree."""
    found = [dimension.by_key[str(value)] for value in values if str(value) in dimension.by_key]
    return sorted(found, key=lambda category: category.position)


def reason_words(verdict: Verdict, voices: Mapping[str, AnswerDetails], agreed_before: str = "") -> str:
    """Why this is to be decided, in words; `agreed_before` is the label that answers of a worklist disagree with."""
    given = [rating.rater for rating in verdict.ratings if rating.values is not None]
    if verdict.replaces is not None and verdict.replaces.origin is not None:
        stood = f"The label agreed in round {verdict.replaces.origin.round} is “{agreed_before}”"
        if verdict.reason != "one_sided":
            changing = _changing(verdict, verdict.replaces)
            return f"{stood}. {_and(changing)} labeled it differently."
        if given:
            return f"{stood}. Only {_and(given)} relabeled it, which alone does not replace a resolved label."
        return f"{stood}, and nobody relabeled it."
    match verdict.reason:
        case "differ":
            return "The raters disagree."
        case "parts":
            counted = [(code, voice.n_parts) for code, voice in voices.items() if voice.n_parts]
            if len({n for _, n in counted}) == 1:
                missing = [code for code, voice in voices.items() if voice.parts and verdict.part not in voice.parts]
                return f"{_and(missing)} found no part {verdict.part}."
            told = [f"{code} found {_bugs(n)}" for code, n in counted[:1]]
            told += [f"{code} {_number(n)}" for code, n in counted[1:]]
            return f"{', '.join(told)}."
        case "pending":
            asking = [rating.rater for rating in verdict.ratings if PENDING in (rating.values or ())]
            return f"{_and(asking)} {'proposes' if len(asking) == 1 else 'propose'} a new category."
        case "skipped":
            gone = [rating.rater for rating in verdict.ratings if rating.skip_reason]
            return f"Only {_and(given)} labeled it. {_and(gone)} skipped the item."
        case "one_sided":
            return f"Only {_and(given)} labeled it." if given else "It is required, and nobody labeled it."
    if verdict.method == "single":
        return "One rater was planned here."
    return "All raters agree." if verdict.method == "unanimous" else "All raters who labeled it agree."


def _changing(verdict: Verdict, before: Verdict) -> list[str]:
    """Who gave something else than the label that stands."""
    stood = set(before.values or ())
    return [each.rater for each in verdict.ratings if each.values is not None and set(each.values) != stood]


def _bugs(n: int) -> str:
    return f"{_number(n)} bug" if n == 1 else f"{_number(n)} bugs"


def _number(n: int) -> str:
    words = ("none", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
    return words[n] if n < len(words) else str(n)


def _and(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}" if names else "nobody"
