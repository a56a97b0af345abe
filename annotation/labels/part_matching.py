"""Part matching: which part of one answer is which part of another, and the likeliest match. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import permutations

from annotation.labels.consensus import Part, RaterAnswer

MOST_TRIED = 7
"""With more parts than these the match is found greedily: all orders of eight are 40,320."""


def in_place(answer: RaterAnswer, match: Mapping[int, int]) -> RaterAnswer:
    """The same answer with its parts, their memos and proposals where they were matched to; between them may be gaps.

    `match` is part → agreed part; a part that is missing there stays at its number.
    """
    placed = {number: match.get(number, number) for number in range(1, len(answer.parts) + 1)}
    n = max(placed.values(), default=0)
    back = {agreed: number for number, agreed in placed.items()}
    memos = answer.part_memos
    parts = [answer.parts[back[agreed] - 1] if agreed in back else None for agreed in range(1, n + 1)]
    return replace(
        answer,
        parts=parts,
        part_memos=[
            memos[back[agreed] - 1] if agreed in back and back[agreed] <= len(memos) else ""
            for agreed in range(1, n + 1)
        ]
        if memos
        else (),
        proposals={(placed.get(part, part), key): asked for (part, key), asked in answer.proposals.items()},
    )


def likeness(one: Part, other: Part) -> float:
    """How alike two parts are, from 0 to the number of dimensions: equal values count 1, sets by what they share."""
    total = 0.0
    for key, values in one.items():
        if key not in other:
            continue
        mine, theirs = set(values), set(other[key])
        total += len(mine & theirs) / len(mine | theirs) if mine | theirs else 1.0
    return total


def likeliest(agreed: Sequence[Part], parts: Sequence[Part]) -> list[int]:
    """For each part the number of the agreed bug that it is likeliest to be; numbers beyond `agreed` are new bugs.

    The assignment with the largest sum of likeness, found by trying all up to MOST_TRIED, else greedily; of equally
    good ones the one that moves least.
    """
    n = max(len(agreed), len(parts))
    alike = [[likeness(part, agreed[at]) if at < len(agreed) else 0.0 for at in range(n)] for part in parts]
    if n <= MOST_TRIED:
        best = max(
            permutations(range(n), len(parts)),
            key=lambda order: (
                round(sum(alike[part][at] for part, at in enumerate(order)), 9),
                sum(part == at for part, at in enumerate(order)),
            ),
        )
        return [at + 1 for at in best]
    pairs = sorted(
        ((part, at) for part in range(len(parts)) for at in range(n)),
        key=lambda pair: (-alike[pair[0]][pair[1]], pair[0] != pair[1], pair),
    )
    found: dict[int, int] = {}
    for part, at in pairs:
        if part not in found and at not in found.values():
            found[part] = at
    return [found[part] + 1 for part in range(len(parts))]
