"""Consensus of the raters of an item: agreed, open, or resolved; computed, never stored.

Values are tuples: `("crash",)` for a single dimension, sorted keys for a multi one (`()` is the empty set and a
rating), `(True,)`, `(3.5,)` or `("words",)` for the others, and `PENDING` among them where a category was proposed. A
dimension that a rater left blank is missing from the part's mapping: a blank is no rating.
"""

from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace

from annotation.labels.resolution_notes import NO_NOTES, ResolutionNotes

PENDING = "PENDING"
OF_PLANNED = ("unanimous", "single")
"""Methods of labels on which all planned raters agree who answered, each blind."""
THIRD_RATER = "third_rater"

Values = tuple[str | bool | float, ...]
Part = Mapping[str, Values]
Place = tuple[int, str]
"""A part and the key of a dimension."""
Applies = Callable[[str, Mapping[str, Values]], bool]


@dataclass(frozen=True)
class ConsensusQuestion:
    """What consensus has to know of a dimension: key, what it hangs on, whether it is required, multi, or free text.

    In free text `PENDING` is a text like any other, because it has no categories that could be proposed.
    """

    key: str
    hangs_on: str | None = None
    required: bool = True
    multi: bool = False
    is_text: bool = False


@dataclass(frozen=True)
class ProposalRequest:
    """A category that a rater asks for."""

    name: str
    memo: str = ""


@dataclass(frozen=True)
class RaterAnswer:
    """What one rater said of an item: one mapping per part, or a skip; proposals by part and dimension.

    Where parts were matched, None stands in the place of a bug that this rater did not find. `blind` is what they had
    said blind where that is another answer, and empty where nothing was; None: this is the answer given blind.
    """

    rater: str
    parts: Sequence[Part | None] = ()
    skip_reason: str = ""
    memo: str = ""
    part_memos: Sequence[str] = ()
    proposals: Mapping[tuple[int, str], ProposalRequest] = field(default_factory=dict)
    is_third: bool = False
    blind: Sequence[Part | None] | None = None

    def part(self, number: int) -> Part | None:
        """What they said of a bug, None where they did not find it."""
        return self.parts[number - 1] if number <= len(self.parts) else None

    def was_blind(self, part: int, key: str) -> bool:
        """Whether the value at a place was given before its rater could read others' answers."""
        if self.blind is None:
            return True
        then, now = self.blind[part - 1] if part <= len(self.blind) else None, self.part(part)
        return then is not None and now is not None and then.get(key) == now.get(key)

    def memo_of(self, part: int) -> str:
        own = self.part_memos[part - 1] if part <= len(self.part_memos) else ""
        return own or self.memo


@dataclass(frozen=True)
class Decision:
    """The newest resolution of a part on a dimension; no values: it has none there (multi: the empty set).

    With `no_part` the part does not exist, which settles it on every dimension.
    """

    id: int
    values: Values
    method: str
    notes: ResolutionNotes = NO_NOTES
    decided_by: str = ""
    decided_at: object = None
    no_part: bool = False


@dataclass(frozen=True)
class RaterValues:
    """One rater's values on a dimension, None where they gave none."""

    rater: str
    values: Values | None
    memo: str = ""
    skip_reason: str = ""
    proposal: ProposalRequest | None = None


@dataclass(frozen=True)
class Origin:
    """Where a value that a worklist carries on was agreed: in which round and version, by whom, and as what."""

    round: int
    version: int
    version_id: int
    raters: tuple[str, ...]
    values: Values
    label: str = ""
    kind: str = ""


@dataclass(frozen=True)
class Verdict:
    """How one part of an item stands on one dimension.

    `reason` is differ, parts, one_sided, skipped or pending where the raters do not agree, else None. `values` are the
    agreed ones, None where nothing is agreed (yet). `state` is agreed, open (waits for a decision) or resolved.
    `origin` tells of what was agreed in an earlier round than the one that is judged. `replaces` is the label agreed
    before that the answers of a worklist disagree with, or that one of them alone would replace.
    """

    part: int
    dimension: str
    state: str
    reason: str | None
    values: Values | None
    method: str | None
    ratings: Sequence[RaterValues] = field(default=())
    decision: Decision | None = None
    origin: Origin | None = None
    replaces: "Verdict | None" = None


@dataclass(frozen=True)
class Base:
    """What was agreed on an item of a worklist before, in terms of the worklist's version.

    `carried` stands as it was agreed. The places in `asked` are judged anew, those in `unsettled` (nothing was agreed,
    or it can't be followed) only if they are asked. `new` are questions that there were not before, `n_parts` is how
    many parts the item had. `before` is all that was agreed, also where the values can't be followed (None). `others`
    are the earlier ratings of asked places that can be followed: they go on counting for raters who are not asked
    again. Where a decision stood, that one counts and not what it overruled.
    """

    carried: Mapping[Place, Verdict] = field(default_factory=dict)
    asked: frozenset[Place] = frozenset()
    unsettled: frozenset[Place] = frozenset()
    new: frozenset[str] = frozenset()
    n_parts: int = 0
    before: Mapping[Place, Verdict] = field(default_factory=dict)
    others: Mapping[Place, Sequence[RaterValues]] = field(default_factory=dict)

    def above_asked(self, part: int, questions: Sequence[ConsensusQuestion]) -> frozenset[str]:
        """The questions of a part that decide whether something which is asked there applies.

        Where no agreed label is asked for, but only an answer that can't be followed: all that others hang on.
        """
        found: set[str] = set()
        for question in reversed(questions):
            if question.hangs_on and (not self.asked or (part, question.key) in self.asked or question.key in found):
                found.add(question.hangs_on)
        return frozenset(found)

    def is_judged(self, part: int, question: ConsensusQuestion, judged: Set[str]) -> bool:
        """Whether the answers of the worklist count at a place that is not carried; `judged` are those of the part."""
        if (part, question.key) in self.asked:
            return True
        if (part, question.key) in self.unsettled:
            return False
        return part > self.n_parts or question.key in self.new or question.hangs_on in judged


def verdicts(
    questions: Sequence[ConsensusQuestion],
    applies: Applies,
    answers: Sequence[RaterAnswer],
    decisions: Mapping[Place, Decision],
    n_raters: int,
    base: Base | None = None,
    *,
    is_relabel: bool = False,
) -> list[Verdict]:
    """How each part of an item stands on each dimension that applies under the agreed values.

    `questions` come in the order of the version, each after the one it hangs on. `answers` holds one entry per rater
    who is done; `n_raters` is how many were planned: one of one is `single`, two of two alike are `unanimous`, and what
    rests on anything else than the planned, blind answers has the method of that (`_method`). A dimension that hangs on
    an open one is left out until that one is decided. An item that everybody skipped has no verdict but those decided
    anyway. With a `base` (of a worklist) what was agreed before stays so where it still
    applies and nothing else was decided; the answers count only where they were asked for, or newly have to be given.
    Where one changes what decides whether the asked question applies, it disagrees with the label agreed before. One
    answer alone does not replace a label that was decided. `is_relabel`: the raters see what was agreed before.
    """
    given = [answer for answer in answers if not answer.skip_reason]
    n_base = max((part for part, _ in {*base.carried, *base.asked}), default=0) if base else 0
    n_parts = max([n_base, *(len(answer.parts) for answer in given), *(part for part, _ in decisions)])
    return [
        verdict
        for part in range(1, n_parts + 1)
        for verdict in _verdicts_of_part(part, questions, applies, answers, decisions, n_raters, base, is_relabel)
    ]


def _verdicts_of_part(
    part: int,
    questions: Sequence[ConsensusQuestion],
    applies: Applies,
    answers: Sequence[RaterAnswer],
    decisions: Mapping[Place, Decision],
    n_raters: int,
    base: Base | None,
    is_relabel: bool,
) -> list[Verdict]:
    if gone := {key: each for (at, key), each in decisions.items() if at == part and each.no_part}:
        return [
            _resolved(part, question, answers, _verdict(part, question, answers, n_raters, False), gone[question.key])
            for question in questions
            if question.key in gone
        ]
    found: list[Verdict] = []
    agreed: dict[str, Values] = {}
    above_by: dict[str, str] = {}
    undecided: set[str] = set()
    unanswered: set[str] = set()
    judged: set[str] = set()
    above = base.above_asked(part, questions) if base else frozenset()
    for question in questions:
        if question.hangs_on in undecided:
            undecided.add(question.key)
            continue
        if question.hangs_on in unanswered:
            # A sheet from elsewhere may leave the parent blank; then nothing speaks against what was given below it.
            question = replace(question, required=False)
        elif question.hangs_on is not None and not applies(question.key, agreed):
            continue
        verdict: Verdict | None
        place = (part, question.key)
        decision = decisions.get(place)
        stands = base.carried.get(place) if base else None
        changed = _changed(part, question, answers, stands) if stands and question.key in above else None
        if stands and decision is None:
            verdict = changed or stands
        elif base and decision is None and not base.is_judged(part, question, judged):
            verdict = None
        else:
            judged.add(question.key)
            is_new = question.required and (part, question.hangs_on) in decisions
            others = base.others.get(place, ()) if base else ()
            verdict = _verdict(part, question, answers, n_raters, is_new, others)
            if verdict is not None and verdict.state == "agreed":
                above_method = above_by.get(question.hangs_on or "")
                verdict = replace(verdict, method=_method(verdict, answers, n_raters, above_method, is_relabel))
            if base and place in base.asked:
                verdict = _asked_again(part, question, answers, verdict, base.before.get(place))
            if decision is not None:
                verdict = _resolved(part, question, answers, changed or verdict, decision)
        if verdict is None:
            unanswered.add(question.key)
            continue
        found.append(verdict)
        if verdict.method not in (*OF_PLANNED, None):
            above_by[question.key] = verdict.method
        if verdict.state == "open":
            undecided.add(question.key)
        elif verdict.values is not None:
            agreed[question.key] = verdict.values
    return found


def _verdict(
    part: int,
    question: ConsensusQuestion,
    answers: Sequence[RaterAnswer],
    n_raters: int,
    is_new: bool,
    others: Sequence[RaterValues] = (),
) -> Verdict | None:
    asked = {answer.rater for answer in answers}
    more = [rating for rating in others if rating.rater not in asked]
    ratings = [*(_given(answer, part, question.key) for answer in answers), *more]
    ratings.sort(key=lambda each: (len(each.rater), each.rater))  # R2 before R10
    n_raters += len(more)
    reason = _reason(part, question, answers, ratings, n_raters, is_new)
    if reason is not None:
        return Verdict(part, question.key, "open", reason, None, None, ratings)
    present = [rating.values for rating in ratings if rating.values is not None]
    if not present:
        return None
    return Verdict(part, question.key, "agreed", None, present[0], None, ratings)


def _method(
    verdict: Verdict, answers: Sequence[RaterAnswer], n_raters: int, above: str | None, is_relabel: bool
) -> str:
    """What a label rests on where all answers to it are alike.

    `unanimous` and `single` are of planned raters who answered blind. Else it is relabeling answers (one, or several);
    a third rater; `above`, the method that settled the question above, if a planned rater gave nothing here for it;
    or an answer that was not given blind.
    """
    given = {rating.rater for rating in verdict.ratings if rating.values is not None}
    if is_relabel:
        return "relabel" if len(given) > 1 else "relabel_single"
    planned = [answer for answer in answers if not answer.is_third and not answer.skip_reason]
    alike = [answer for answer in planned if answer.rater in given]
    if len(alike) < min(n_raters, 2) or (len(alike) < len(planned) and len(alike) < len(given)):
        return THIRD_RATER
    if above is not None and len(alike) < len(planned):
        return above
    if not all(answer.was_blind(verdict.part, verdict.dimension) for answer in alike):
        return "not_blind"
    return "single" if n_raters == 1 else "unanimous"


def _resolved(
    part: int, question: ConsensusQuestion, answers: Sequence[RaterAnswer], verdict: Verdict | None, decision: Decision
) -> Verdict:
    """A place as it was decided; `verdict` is how it would stand without."""
    values = decision.values if question.multi and not decision.no_part else decision.values or None
    if verdict is None:
        ratings = [_given(answer, part, question.key) for answer in answers]
        verdict = Verdict(part, question.key, "open", None, None, None, ratings)
    return replace(verdict, state="resolved", values=values, method=decision.method, decision=decision, origin=None)


def _changed(part: int, question: ConsensusQuestion, answers: Sequence[RaterAnswer], agreed: Verdict) -> Verdict | None:
    """The disagreement with a label that stands where an answer of a worklist changes it; None where none does.

    Who repeats what they said when the label was agreed changes nothing.
    """
    if agreed.values is None:
        return None
    earlier = {rating.rater: rating.values for rating in agreed.ratings}
    ratings = [_given(answer, part, question.key) for answer in answers]
    changed = [
        rating.values
        for rating in ratings
        if rating.values is not None
        and not _are_alike(rating.values, agreed.values)
        and not _are_alike(rating.values, earlier.get(rating.rater))
    ]
    if not changed:
        return None
    reason = "pending" if _is_pending(question, changed) else "differ"
    return Verdict(part, question.key, "open", reason, None, None, ratings, replaces=agreed)


def _is_pending(question: ConsensusQuestion, given: Sequence[Values]) -> bool:
    """Whether one of these answers proposes a category."""
    return not question.is_text and any(PENDING in values for values in given)


def _are_alike(values: Values, other: Values | None) -> bool:
    return other is not None and set(values) == set(other)


def _asked_again(
    part: int,
    question: ConsensusQuestion,
    answers: Sequence[RaterAnswer],
    verdict: Verdict | None,
    before: Verdict | None,
) -> Verdict | None:
    """How a place stands that a worklist asks for: no label that stood there goes without an answer that counts.

    One answer alone does not replace a label that was decided, and where all who answered the item gave none here,
    someone has to say what counts.
    """
    if verdict is None:
        ratings = [_given(answer, part, question.key) for answer in answers]
        if (before is None and not question.required) or all(answer.skip_reason for answer in answers):
            return None
        return Verdict(part, question.key, "open", "one_sided", None, None, ratings, replaces=before)
    given = [rating for rating in verdict.ratings if rating.values is not None]
    if verdict.state != "agreed" or before is None or before.decision is None or len(given) > 1:
        return verdict
    if before.values is not None and _are_alike(given[0].values or (), before.values):
        return before
    return replace(verdict, state="open", reason="one_sided", values=None, method=None, replaces=before)


def _given(answer: RaterAnswer, part: int, key: str) -> RaterValues:
    if answer.skip_reason:
        return RaterValues(answer.rater, None, answer.memo, answer.skip_reason)
    said = answer.part(part)
    if said is None:
        return RaterValues(answer.rater, None, answer.memo)
    proposal = answer.proposals.get((part, key))
    return RaterValues(answer.rater, said.get(key), answer.memo_of(part), proposal=proposal)


def _reason(
    part: int,
    question: ConsensusQuestion,
    answers: Sequence[RaterAnswer],
    ratings: Sequence[RaterValues],
    n_raters: int,
    is_new: bool,
) -> str | None:
    """Why this is a disagreement, or None; raters who skipped count only where fewer than two others answered.

    `is_new`: a decision made this required question apply, so someone has to answer it even where no rater did.
    """
    present = [rating.values for rating in ratings if rating.values is not None]
    if _is_pending(question, present):
        return "pending"
    if any(set(values) != set(present[0]) for values in present):
        return "differ"
    holders = [answer for answer in answers if not answer.skip_reason and answer.part(part) is not None]
    given = [answer for answer in answers if not answer.skip_reason]
    if holders and len(holders) < len(given) and (present or question.required):
        return "parts"
    if not present:
        return "one_sided" if is_new and holders else None
    if n_raters < 2 or len(present) > 1:
        return None
    return "skipped" if any(answer.skip_reason for answer in answers) else "one_sided"
