"""Rules of a study: the majority's value, and the choice of a third rater. Pure."""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256

from annotation.labels.consensus import PENDING, Values, Verdict
from annotation.labels.resolution_notes import ResolutionNotes

THIRD_RATER, MAJORITY = "third_rater", "majority"
LEAST_ANSWERS = 3


@dataclass(frozen=True)
class Ruling:
    """A decision that a rule takes by itself."""

    values: Values
    method: str
    notes: ResolutionNotes


def ruling(
    verdict: Verdict,
    arbiters: Collection[str],
    *,
    third_rater: bool,
    majority: bool,
    not_blind: Collection[str] = (),
) -> Ruling | None:
    """What the rules decide at an open place on which raters differ; None: nothing.

    More than half of all who answered there, three at least, must have given the same. `arbiters` are the codes of
    those who were asked as third raters: with one of them among those who answered, either rule decides, without one
    only the majority's. `not_blind` are those of them whose answer is not their first one, which may rest on the
    others': it does not count. A proposed category, another number of parts and a disagreement with a label that was
    agreed before are never decided by a rule.
    """
    if verdict.state != "open" or verdict.reason != "differ" or verdict.replaces is not None:
        return None
    given = [
        (rating.rater, rating.values)
        for rating in verdict.ratings
        if rating.values is not None and rating.rater not in not_blind
    ]
    has_arbiter = any(rater in arbiters for rater, _ in given)
    if len(given) < LEAST_ANSWERS or not (majority or (third_rater and has_arbiter)):
        return None
    if any(PENDING in values for _, values in given):
        return None
    counted = Counter(frozenset(values) for _, values in given)
    ((most, n),) = counted.most_common(1)
    if 2 * n <= len(given):
        return None
    values = next(values for _, values in given if frozenset(values) == most)
    method = THIRD_RATER if has_arbiter else MAJORITY
    words = f"{n} of {len(given)} raters chose it{', including the third rater' if has_arbiter else ''}."
    return Ruling(values, method, ResolutionNotes(rationale=words))


@dataclass(frozen=True)
class Candidate:
    """Someone who may be asked as a third rater: the lower the rank, the sooner."""

    id: int
    rank: int


def third_raters(
    items: Sequence[int], candidates: Sequence[Candidate], had: Mapping[int, Collection[int]], seed: int
) -> dict[int, int]:
    """Item → whom to ask: never someone who had the item, the lowest rank first, then who is drawn by the seed.

    Each item is drawn independently. If loads were balanced over the disputed items, who is asked about one would tell
    that raters differ on another, which may be withheld from the reader. Items for which nobody is left are missing.
    """
    found: dict[int, int] = {}
    for item in items:
        free = [each for each in candidates if each.id not in had.get(item, ())]
        if free:
            found[item] = min(free, key=lambda each: (each.rank, _drawn(seed, item, each.id))).id
    return found


def _drawn(seed: int, item: int, candidate: int) -> str:
    return sha256(f"third rater {seed} {item} {candidate}".encode()).hexdigest()
