"""Sampling from a frame without replacement, by seed, in a reproducible order. Pure."""

import math
import random
from array import array
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from statistics import NormalDist


def most_missed(n_missed: int, n: int, n_frame: int) -> int:
    """The exact upper bound, at 95%, of how many of a frame were missed, of which `n_missed` are among `n` drawn.

    One-sided, by the hypergeometric distribution (Buonaccorsi 1987, The American Statistician 41, 215-218): the largest
    number with which a simple random draw without replacement finds so few or fewer in more than 5% of all draws. 0 of
    6 out of 15 give 4; of the whole frame it is what was found.
    """
    low, high = n_missed, n_frame - n + n_missed
    while low < high:
        middle = (low + high + 1) // 2
        if _finds_so_few(n_missed, n, middle, n_frame):
            low = middle
        else:
            high = middle - 1
    return low


def _finds_so_few(n_found: int, n: int, n_missed: int, n_frame: int) -> bool:
    """Whether more than 5% of all draws of `n` find `n_found` or fewer of the `n_missed` in a frame.

    Where rounding could decide, draws are counted: 0 of 3 out of 6, and 3 missed, are one draw in twenty and no more.
    """
    chance = _chance_of_so_few(n_found, n, n_missed, n_frame)
    if abs(chance - 0.05) > 1e-8:
        return chance > 0.05
    ways = sum(math.comb(n_missed, k) * math.comb(n_frame - n_missed, n - k) for k in range(min(n_found, n_missed) + 1))
    return 20 * ways > math.comb(n_frame, n)


def _chance_of_so_few(n_found: int, n: int, n_missed: int, n_frame: int) -> float:
    """The probability that a draw of `n` finds `n_found` or fewer of the `n_missed` in a frame."""
    least = max(0, n - (n_frame - n_missed))
    return math.fsum(
        math.exp(_log_ways(n_missed, k) + _log_ways(n_frame - n_missed, n - k) - _log_ways(n_frame, n))
        for k in range(least, min(n_found, n_missed) + 1)
    )


def _log_ways(n: int, k: int) -> float:
    return math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)


@dataclass(frozen=True)
class DrawnUnit:
    """One drawn unit: its place in the frame handed in, and the stratum it was drawn from."""

    index: int
    stratum: str


def draw(
    frame: Sequence[Hashable],
    size: int,
    seed: int,
    strata: Sequence[str] | None = None,
    *,
    allocation: str = "proportional",
    at_least_one: bool = False,
) -> list[DrawnUnit]:
    """Draws `size` units of `frame`: simple, or from strata as `allocate` shares them out, in seeded order.

    The draw depends on the units' sorted order and not on the order handed in, so one frame and one seed give one
    sample. Raises ValueError when the frame holds fewer than `size` units.
    """
    if size > len(frame):
        raise ValueError(f"the frame holds {len(frame)} issues, fewer than the {size} asked for")
    order = sorted(range(len(frame)), key=lambda i: frame[i])  # type: ignore[arg-type,return-value]
    drawn = drawn_indexes(order, size, seed, strata, allocation=allocation, at_least_one=at_least_one)
    return [DrawnUnit(index, strata[index] if strata is not None else "") for index in drawn]


def drawn_indexes(
    order: Sequence[int],
    size: int,
    seed: int,
    strata: Sequence[str] | None = None,
    *,
    allocation: str = "proportional",
    at_least_one: bool = False,
) -> "array[int]":
    """The indexes that `draw` draws of a frame whose indexes are `order`, in seeded order: 8 bytes each."""
    rng = random.Random(f"sample {seed}")
    if strata is None:
        return array("q", rng.sample(order, size))
    by_stratum: dict[str, array[int]] = {}
    for index in order:
        by_stratum.setdefault(strata[index], array("q")).append(index)
    sizes = {stratum: len(members) for stratum, members in by_stratum.items()}
    quotas = allocate(sizes, size, allocation, at_least_one=at_least_one)
    drawn = array("q")
    for stratum in sorted(by_stratum):
        drawn.extend(rng.sample(by_stratum[stratum], quotas[stratum]))
    rng.shuffle(drawn)
    return drawn


def allocate(
    sizes: Mapping[str, int], size: int, allocation: str = "proportional", *, at_least_one: bool = False
) -> dict[str, int]:
    """How many units each stratum gives: `proportional` to the strata, or `equal`.

    With `at_least_one` every stratum that holds any gives one first, and the rest is shared out among what is left.
    Raises ValueError for more units or more strata than there is room for, KeyError for another allocation.
    """
    share = {"proportional": proportional, "equal": equal}[allocation]
    if size > sum(sizes.values()):
        raise ValueError(f"the strata hold {sum(sizes.values())} units, fewer than the {size} asked for")
    if not at_least_one:
        return share(sizes, size)
    filled = [stratum for stratum, n in sizes.items() if n]
    if len(filled) > size:
        raise ValueError(f"{size} units can't give one to each of {len(filled)} strata")
    if allocation == "equal":
        return share(sizes, size)
    quotas = share(sizes, size)
    # Those without any take one each from the strata with the most above one; the sum and the order by size stay.
    for stratum in sorted(filled):
        if not quotas[stratum]:
            giver = max((each for each in filled if quotas[each] > 1), key=lambda each: (quotas[each], each))
            quotas[giver] -= 1
            quotas[stratum] = 1
    return quotas


def proportional(sizes: Mapping[str, int], size: int) -> dict[str, int]:
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


def equal(sizes: Mapping[str, int], size: int) -> dict[str, int]:
    """Shares `size` equally; what a stratum is too small for goes to the others, single units to the earlier names."""
    quotas = dict.fromkeys(sizes, 0)
    open_, left = sorted(stratum for stratum, n in sizes.items() if n), min(size, sum(sizes.values()))
    while left:
        each = left // len(open_)
        for stratum in open_ if each else open_[:left]:
            given = min(each or 1, sizes[stratum] - quotas[stratum])
            quotas[stratum] += given
            left -= given
        open_ = [stratum for stratum in open_ if quotas[stratum] < sizes[stratum]]
    return quotas


def sample_size(n_frame: int, confidence: float, margin: float, expected_share: float = 0.5) -> int:
    """How many of `n_frame` units are needed to estimate a share within ±`margin` at a confidence, rounded up.

    n₀ = z² p (1 − p) / d², with the finite population correction n = n₀ / (1 + (n₀ − 1) / N) (Cochran, Sampling
    Techniques, 3rd edition, 1977, section 4.4). p is `expected_share`; 0.5 needs the most. Krejcie and Morgan (1970,
    doi 10.1177/001316447003000308) tabulate the same for 95 % and 5 %, rounded to the nearest. Raises ValueError for
    a confidence, margin or share that does not lie between 0 and 1.
    """
    for name, value in (("confidence", confidence), ("margin", margin), ("expected share", expected_share)):
        if not 0 < value < 1:
            raise ValueError(f"the {name} has to lie between 0 and 1")
    if not n_frame:
        return 0
    wanted = unbounded_size(confidence, margin, expected_share)
    if not math.isfinite(wanted):
        return n_frame
    return min(n_frame, math.ceil(wanted / (1 + (wanted - 1) / n_frame) - 1e-9))


def _quantile(confidence: float) -> float:
    """The normal quantile of a two-sided interval; finite, however near to 1 the confidence is."""
    return NormalDist().inv_cdf(min((1 + confidence) / 2, math.nextafter(1, 0)))


def unbounded_size(confidence: float, margin: float, expected_share: float = 0.5) -> float:
    """n₀ of `sample_size`: for a population without end."""
    z = _quantile(confidence)
    share = z / margin
    return share * share * expected_share * (1 - expected_share)


def weighted_margin(strata: Sequence[tuple[int, int]], confidence: float, expected_share: float = 0.5) -> float | None:
    """Half the width of the interval of a share that is weighted by the strata, given (size, drawn) of each.

    z √(Σ W² p (1 − p) / n · (N − n) / (N − 1)) with W the share of the frame in a stratum (Cochran 1977, section 5.9).
    None where nothing was drawn from a stratum, of which nothing can be estimated then.
    """
    n_frame = sum(size for size, _ in strata)
    if not n_frame or any(size and not drawn for size, drawn in strata):
        return None
    variance = sum(
        (size / n_frame) ** 2 * expected_share * (1 - expected_share) / drawn * (size - drawn) / (size - 1)
        for size, drawn in strata
        if size > 1
    )
    return _quantile(confidence) * math.sqrt(variance)
