"""Draws issues from a frame without replacement, by seed, in an order that can be drawn again."""

import random
from collections.abc import Hashable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Drawn:
    """One drawn unit: its place in the frame handed in, and the stratum it was drawn from."""

    index: int
    stratum: str


def draw(frame: Sequence[Hashable], size: int, seed: int, strata: Sequence[str] | None = None) -> list[Drawn]:
    """Draws `size` units of `frame`: simple, or in proportion to strata (largest remainders), in seeded order.

    The draw depends on the units' sorted order and not on the order handed in, so one frame and one seed give one
    sample. Raises ValueError when the frame holds fewer than `size` units.
    """
    if size > len(frame):
        raise ValueError(f"the frame holds {len(frame)} issues, fewer than the {size} asked for")
    order = sorted(range(len(frame)), key=lambda i: frame[i])  # type: ignore[arg-type,return-value]
    rng = random.Random(f"sample {seed}")
    if strata is None:
        return [Drawn(index, "") for index in rng.sample(order, size)]
    by_stratum: dict[str, list[int]] = {}
    for index in order:
        by_stratum.setdefault(strata[index], []).append(index)
    quotas = proportional({stratum: len(members) for stratum, members in by_stratum.items()}, size)
    drawn = [
        Drawn(index, stratum)
        for stratum in sorted(by_stratum)
        for index in rng.sample(by_stratum[stratum], quotas[stratum])
    ]
    rng.shuffle(drawn)
    return drawn


def proportional(sizes: dict[str, int], size: int) -> dict[str, int]:
    """Shares `size` among strata in proportion to their sizes, by largest remainder; ties go to the earlier name."""
    total = sum(sizes.values())
    if not total:
        return dict.fromkeys(sizes, 0)
    quotas = {stratum: size * n // total for stratum, n in sizes.items()}
    left = size - sum(quotas.values())
    by_remainder = sorted(sizes, key=lambda stratum: (-(size * sizes[stratum] % total), stratum))
    for stratum in by_remainder[:left]:
        quotas[stratum] += 1
    return quotas
