"""How often a 95% interval holds the true value, over simulated studies; docs/agreement.md has the table.

`make soak` runs the whole grid, `make test` a tenth of it. Studies are rows of counts over all patterns that a
design can show, and the intervals of all of them are computed at once, by the functions that compute one.
"""

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pytest
from scipy.special import betaincinv
from scipy.stats import gamma, poisson

from agreement import Clusters, Patterns, intervals, krippendorff_alpha, one_coefficient
from agreement import estimators as ways
from agreement.metrics import distance_by_metric, distance_by_weights
from agreement.tallies import Tallies
from tests.simulation import WHOLE

STUDIES, PARTS = (2000, 16) if WHOLE else (500, 1)
SHARES = {
    "50/50": (0.5, 0.5),
    "80/20": (0.8, 0.2),
    "90/10": (0.9, 0.1),
    "97/3": (0.97, 0.03),
    "five": (0.4, 0.25, 0.2, 0.1, 0.05),
}
TREE = {1: ("a", "b"), 2: ("a", "c"), 3: ("d", "e"), 4: ("d",), 5: ("f",)}
SETS = [frozenset(each) for each in ("a", "ab", "b", "abc", "")]
"""What the five categories are to the metrics of trees and of sets."""
UNITS = (30, 50, 100, 200, 500)
"""Units with at least two ratings."""
TRUE = (0.4, 0.6, 0.8, 0.95)
"""Kappa of the whole population, chance from the pooled shares."""
LEAST, SURELY, MOST_MISSED, WIDEST = 0.92, 0.91, 0.06, 1.3
SEED = 20261130
"""None of those with which the constants of `intervals` were chosen: what is tested here is no fit to its own draws."""
FEW = 4
"""Units with a disagreement: where fewer are expected, the spread of the values is that of a few counts from 0."""


@dataclass(frozen=True)
class Design:
    """Raters who know a label with some probability and else guess by the shares of the categories.

    `has_hard`: of the rarest category they know three times as few. `has_single`: as many units again have one rating.
    """

    raters: int
    shares: str
    true: float
    has_hard: bool
    has_single: bool

    @cached_property
    def every(self) -> np.ndarray:
        return np.array(list(itertools.product(range(len(SHARES[self.shares])), repeat=self.raters)))

    def cells(self, known: float) -> np.ndarray:
        """The probability of each pattern of complete ratings."""
        shares = np.array(SHARES[self.shares])
        knows = np.full(len(shares), known)
        if self.has_hard:
            knows[-1] = max(1 - 3 * (1 - known), 0.05 * known)
        given = knows[:, None] * np.eye(len(shares)) + (1 - knows)[:, None] * shares
        return sum(share * np.prod(row[self.every], axis=1) for share, row in zip(shares, given, strict=True))

    def kappa(self, cells: np.ndarray) -> float:
        pair = np.zeros((len(SHARES[self.shares]),) * 2)
        np.add.at(pair, (self.every[:, 0], self.every[:, 1]), cells)
        chance = float(((pair.sum(axis=0) + pair.sum(axis=1)) ** 2).sum() / 4)
        return (float(np.trace(pair)) - chance) / (1 - chance)

    @cached_property
    def probabilities(self) -> np.ndarray:
        low, high = 0.0, 1.0
        for _ in range(60):
            middle = (low + high) / 2
            low, high = (middle, high) if self.kappa(self.cells(middle)) < self.true else (low, middle)
        return self.cells(high)

    @cached_property
    def single(self) -> tuple[np.ndarray, np.ndarray]:
        """Patterns with one rating, and their probabilities."""
        k = len(SHARES[self.shares])
        rows = np.full((self.raters * k, self.raters), -1)
        for place, (rater, category) in enumerate(itertools.product(range(self.raters), range(k))):
            rows[place, rater] = category
        shares = [
            self.probabilities[self.every[:, rater] == category].sum() / self.raters
            for rater, category in itertools.product(range(self.raters), range(k))
        ]
        return (rows, np.array(shares)) if self.has_single else (rows[:0], np.array(shares[:0]))

    @cached_property
    def patterns(self) -> Patterns:
        values = np.concatenate([self.every, self.single[0]])
        names = tuple(f"R{number}" for number in range(1, self.raters + 1))
        categories = tuple(range(1, len(SHARES[self.shares]) + 1))
        return Patterns(values, np.ones(len(values), dtype=np.int64), categories, names)

    @cached_property
    def places(self) -> list[int]:
        """Where each pattern stands in `patterns`, which are sorted."""
        order = {tuple(row): place for place, row in enumerate(self.patterns.values.tolist())}
        return [order[tuple(row)] for row in np.concatenate([self.every, self.single[0]]).tolist()]

    def counts(self, complete: np.ndarray, alone: np.ndarray) -> np.ndarray:
        found = np.zeros((len(complete), len(self.places)))
        found[:, self.places] = np.concatenate([complete, alone], axis=1)
        return found

    def studies(self, units: int, studies: int, rng: np.random.Generator) -> np.ndarray:
        complete = rng.multinomial(units, self.probabilities, size=studies)
        alone = (
            rng.multinomial(units, self.single[1], size=studies)
            if self.has_single
            else np.zeros((studies, 0), dtype=int)
        )
        return self.counts(complete, alone)

    @cached_property
    def population(self) -> np.ndarray:
        return self.counts(self.probabilities[None, :], self.single[1][None, :]) * 1e9

    @cached_property
    def disagreement(self) -> float:
        """The share of units in which not all ratings are equal."""
        return float(self.probabilities[(self.every != self.every[:, :1]).any(axis=1)].sum())

    @cached_property
    def estimators(self) -> dict[str, ways.Estimator]:
        """Every coefficient that can be a headline; those for scales where there are five levels."""
        tallies, categories = Tallies(self.patterns), self.patterns.categories
        quadratic = distance_by_weights("quadratic", categories)
        found: dict[str, ways.Estimator] = {
            "percent_agreement": ways.PercentAgreement(tallies),
            "fleiss_kappa": ways.FleissKappa(tallies),
            "conger_kappa": ways.CongerKappa(tallies),
            "brennan_prediger": ways.BrennanPrediger(tallies),
            "krippendorff_alpha": ways.KrippendorffAlpha(tallies),
            "gwet_ac1": ways.GwetAC(tallies),
        }
        if self.raters == 2:
            found["cohen_kappa"] = ways.TwoRaters(tallies)
            found["scott_pi"] = ways.TwoRaters(tallies, pooled=True)
        if self.shares == "five":
            found["alpha, ordinal"] = ways.OrdinalAlpha(tallies)
            found["alpha, interval"] = ways.KrippendorffAlpha(tallies, distance_by_metric("interval", categories))
            found["alpha, ratio"] = ways.KrippendorffAlpha(tallies, distance_by_metric("ratio", categories))
            found["alpha, tree"] = ways.KrippendorffAlpha(tallies, distance_by_metric("tree", categories, TREE))
            for metric in ("masi", "jaccard"):
                found[f"alpha, {metric}"] = ways.KrippendorffAlpha(tallies, distance_by_metric(metric, SETS))
            linear = distance_by_weights("linear", categories)
            found["gwet_ac2"] = ways.GwetAC(tallies, quadratic)
            found["gwet_ac2, linear"] = ways.GwetAC(tallies, linear)
            if self.raters == 2:
                found["weighted_kappa"] = ways.TwoRaters(tallies, quadratic)
                found["weighted_kappa, linear"] = ways.TwoRaters(tallies, linear)
        return found


@dataclass(frozen=True)
class Cell:
    """What is found for a coefficient: `n` studies with a value, the share printed, held and missed, and the width.

    `low` and `high` are the shares of intervals that end below and begin above the true value; `width` is the mean
    width over the distance between the 2.5 and 97.5 percentiles of the values.
    """

    design: Design
    units: int
    name: str
    n: int
    printed: float
    held: float
    low: float
    high: float
    width: float

    @property
    def expected(self) -> float:
        """Units with a disagreement."""
        return self.units * self.design.disagreement

    def faults(self, slack: float) -> list[str]:
        """In which of the criteria it fails; `slack` is in standard errors of the simulation."""
        error = float(np.sqrt(LEAST * (1 - LEAST) / self.n))
        found = []
        if self.held < LEAST - slack * error or self.held + (slack - 2) * error < SURELY:
            found.append("coverage")
        if max(self.low, self.high) > MOST_MISSED + slack * error:
            found.append("a tail")
        if self.printed < 0.9:
            found.append("printed")
        if self.expected >= FEW and self.width > WIDEST + slack / 100:
            found.append("width")
        return found


def is_defined(name: str, design: Design, counts: np.ndarray, value: np.ndarray) -> np.ndarray:
    """B: whether a study has a value, by the same rules as `Estimator.undefined`; all categories used in BP and AC1."""
    complete = (design.patterns.values >= 0).sum(axis=1) >= 2
    used = np.stack(
        [counts @ ((design.patterns.values == k).any(axis=1) & complete) > 0 for k in range(len(SHARES[design.shares]))]
    )
    found = ~np.isnan(value)
    if name in ("brennan_prediger", "gwet_ac1") or name.startswith("gwet_ac2"):
        found &= used.all(axis=0)
    if (
        name == "cohen_kappa"
        or name.startswith("weighted_kappa")
        or (name == "conger_kappa" and design.raters == 2 and not design.has_single)
    ):
        for column in design.patterns.values.T:
            kinds = [counts @ ((column == k) & complete) > 0 for k in range(len(SHARES[design.shares]))]
            found &= np.sum(kinds, axis=0) > 1
    return found


def cells_of(design: Design, units: int, studies: int, only: str | None = None) -> Iterator[Cell]:
    seed = [
        SEED + (only is not None),
        units,
        design.raters,
        list(SHARES).index(design.shares),
        round(100 * design.true),
    ]
    rng = np.random.default_rng([*seed, design.has_hard, design.has_single])
    counts, more = design.studies(units, studies, rng), design.studies(units, max(2 * studies, 2000), rng)
    for name, estimator in design.estimators.items():
        if only not in (None, name):
            continue
        true, value = float(estimator(design.population)[0]), estimator(counts)
        smooth, weights = intervals.smoothed(estimator)
        low, high = intervals.effective_limits(estimator, smooth, counts, weights)
        bound = estimator.exact_bounds(counts)
        low, high = np.where(np.isnan(bound), low, bound), np.where(np.isnan(bound), high, 1.0)
        defined = is_defined(name, design, counts, value)
        printed = defined & ~np.isnan(low)
        if printed.sum() < 100:
            continue
        n, low, high = int(printed.sum()), low[printed], high[printed]
        below, above = float((high < true - 1e-9).mean()), float((low > true + 1e-9).mean())
        others = estimator(more)
        spread = float(np.diff(np.percentile(others[is_defined(name, design, more, others)], [2.5, 97.5]))[0])
        width = float((high - low).mean()) / spread if spread else np.inf
        yield Cell(design, units, name, n, n / int(defined.sum()), 1 - below - above, below, above, width)


GRID = [
    (Design(raters, shares, true, has_hard, has_single), units)
    for raters, shares, true, has_hard, has_single in itertools.product(
        (2, 3), SHARES, TRUE, (False, True), (False, True)
    )
    for units in UNITS
]


@pytest.fixture(autouse=True)
def quick_quantiles(monkeypatch: pytest.MonkeyPatch) -> None:
    """Thousands at once; `test_intervals.py` holds Concord's own against these."""
    monkeypatch.setattr(intervals, "beta_quantile", lambda probability, a, b: betaincinv(a, b, probability))


def faults(cells: list[tuple[Design, int]], studies: int, slack: float) -> list[Any]:
    """A cell that seems to fail is simulated again with ten times as many studies, and those count."""
    found = [cell for design, units in cells for cell in cells_of(design, units, studies)]
    assert len(found) > 5 * len(cells)
    again = [
        each
        for cell in found
        if cell.faults(slack)
        for each in cells_of(cell.design, cell.units, 10 * studies, only=cell.name)
    ]
    return [(cell.faults(slack), cell) for cell in again if cell.faults(slack)]


@pytest.mark.slow
@pytest.mark.hypothesis
@pytest.mark.parametrize("part", range(PARTS))
def test_intervals_hold_the_true_value_and_are_no_wider_than_they_need_be(part: int) -> None:
    # A step of 11 is prime to the numbers of raters, shares and so on: every value of each is met.
    cells = GRID[part::PARTS] if WHOLE else GRID[3::11]
    assert faults(cells, STUDIES, 0 if WHOLE else 3) == []


@pytest.mark.parametrize(("shares", "units"), [("97/3", 50), ("97/3", 200), ("90/10", 50)])
@pytest.mark.parametrize("true", TRUE)
def test_a_rare_category_does_not_make_intervals_too_narrow(shares: str, units: int, true: float) -> None:
    """Resampling held the true value in 38 to 46, 87 to 91 and 84 to 90% of the studies."""
    for cell in cells_of(Design(2, shares, true, False, False), units, 1000):
        assert cell.held > 0.92, cell


@pytest.mark.parametrize(("expected", "ratio"), [(0.5, 1.79), (1, 1.42)])
def test_where_few_disagreements_are_expected_no_limits_are_narrow(expected: float, ratio: float) -> None:
    """Of a Poisson count: the narrowest limits that miss at most 6% on either side, whatever is expected."""
    counts = np.arange(60)
    upper, lower = gamma.ppf(1 - MOST_MISSED, counts + 1), gamma.ppf(MOST_MISSED, np.maximum(counts, 1))
    width = poisson.pmf(counts, expected) @ (upper - np.where(counts, lower, 0))
    assert width / np.diff(poisson.ppf([0.025, 0.975], expected))[0] == pytest.approx(ratio, abs=0.01)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("shares", "true", "items", "parts", "alike"),
    [("90/10", 0.6, 30, 4, 1.0), ("80/20", 0.6, 60, 6, 0.9), ("five", 0.8, 30, 8, 1.0)],
)
def test_parts_of_an_item_that_resemble_each_other_are_one_cluster(
    shares: str, true: float, items: int, parts: int, alike: float
) -> None:
    """Of up to so many parts of an item, each is with this probability labeled as the first one is.

    Taken as independent units, their intervals hold the true value in 55 to 75% of the studies.
    """
    design, rng = Design(2, shares, true, False, False), np.random.default_rng(SEED)
    studies = 2000 if WHOLE else 120
    names = ("krippendorff_alpha", "cohen_kappa", "gwet_ac1", "percent_agreement")
    held = {name: np.zeros(2) for name in names}
    for _ in range(studies):
        first = rng.choice(len(design.every), items, p=design.probabilities)
        found = []
        for own in first:
            more = int(rng.integers(0, parts))
            others = rng.choice(len(design.every), more, p=design.probabilities)
            found.append(design.every[[own, *np.where(rng.random(more) < alike, own, others)]].tolist())
        patterns = Patterns.from_table([row for own in found for row in own], categories=range(len(SHARES[shares])))
        clusters = Clusters.of(patterns, found)
        for name in names:
            value = float(design.estimators[name](design.population)[0])
            for place, together in enumerate((clusters, None)):
                one = one_coefficient(patterns, name, kind="single", clusters=together)
                held[name][place] += one.ci_low is None or one.ci_low - 1e-9 <= value <= (one.ci_high or 1) + 1e-9
    error = float(np.sqrt(LEAST * (1 - LEAST) / studies))
    for name, (by_item, by_unit) in held.items():
        assert by_item / studies >= LEAST - (1 if WHOLE else 3) * error, (name, by_item / studies)
        assert by_unit / studies < 0.85, (name, by_unit / studies)


def test_one_study_has_the_interval_it_has_among_many() -> None:
    design = Design(3, "90/10", 0.6, True, True)
    counts = design.studies(50, 5, np.random.default_rng(1))
    estimator = design.estimators["krippendorff_alpha"]
    smooth, weights = intervals.smoothed(estimator)
    low, high = intervals.effective_limits(estimator, smooth, counts, weights)
    for row, below, above in zip(counts, low, high, strict=True):
        patterns = Patterns(design.patterns.values, row.astype(int), design.patterns.categories, design.patterns.raters)
        found = krippendorff_alpha(patterns)
        assert (found.ci_low, found.ci_high) == pytest.approx((below, above), abs=1e-9)
