"""Flows, profiles, saturation and combinations: against pandas, and by going through every order."""

import time
from itertools import combinations as subsets
from itertools import permutations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from annotation.analysis.combinations import combinations
from annotation.analysis.flow import flow
from annotation.analysis.profiles import profiles, spearman
from annotation.analysis.saturation import saturation
from annotation.analysis.shares import AnalysisTooLarge, ExcludedParts
from annotation.labels.columns import Categories, SingleColumn
from tests.annotation.analysis.made_columns import multi, single
from tests.simulation import examples

KEYS = ("a", "b", "c")
some = st.sampled_from([*KEYS, None])
rows = st.lists(st.tuples(some, some, some, some), min_size=1, max_size=40)


def columns_of(table):
    return [single(name, values, KEYS) for name, values in zip("wxyz", zip(*table, strict=True), strict=True)]


@settings(max_examples=examples(30), deadline=None)
@given(rows)
def test_bands_and_paths_within_each_stage_are_those_of_pandas(table):
    within, *steps = columns_of(table)
    frame = pd.DataFrame(table, columns=list("wxyz")).dropna()
    found = flow(steps, within)
    assert (found.n, found.n_parts) == (len(frame), len(table))
    assert sum(each.n for each in found.left_out) == len(table) - len(frame)
    assert [group.value for group in found.groups] == sorted(set(frame["w"]))
    for group in found.groups:
        here = frame[frame["w"] == group.value]
        assert group.denominator.n == len(here)
        for band in group.bands:
            start, end = "xy" if band.step == 0 else "yz"
            n = int(((here[start] == band.start) & (here[end] == band.end)).sum())
            assert (band.share.n, band.share.of, band.of_start.of) == (n, len(here), (here[start] == band.start).sum())
        assert sum(band.share.n for band in group.bands) == 2 * len(here)
        assert {path.categories: path.share.n for path in group.paths} == here.value_counts(["x", "y", "z"]).to_dict()
        for step, name in enumerate("xyz"):
            passing = {node.category: node.share.n for node in group.nodes if node.step == step}
            assert passing == here[name].value_counts().to_dict()


def test_a_part_with_several_fixes_goes_through_each_of_them_and_the_answer_says_so():
    found = flow(
        [
            single("cause", ["p", "p", "q", "q"]),
            multi("fix", [("x", "y"), ("x",), (), None]),
            single("stage", list("sttt")),
        ]
    )
    (group,) = found.groups
    assert {(band.start, band.end): band.share.n for band in group.bands} == {
        ("p", "x"): 2, ("p", "y"): 1, ("x", "s"): 1, ("x", "t"): 1, ("y", "s"): 1,
    }  # fmt: skip
    assert {path.categories: path.share.n for path in group.paths} == {
        ("p", "x", "s"): 1, ("p", "y", "s"): 1, ("p", "x", "t"): 1,
    }  # fmt: skip
    assert found.left_out == (
        ExcludedParts("Fix: not applicable, or not labeled.", 1),
        ExcludedParts("Of a dimension with several values none was chosen.", 1),
    )
    assert found.notes == ("A part can have several values of fix, so that the numbers add up to 3, not to 2.",)


def test_a_flow_needs_two_to_four_columns():
    column = single("a", ["x"])
    for steps in ([column], [column] * 5):
        with pytest.raises(ValueError):
            flow(steps)


def test_a_flow_of_nothing_has_no_group():
    assert flow([single("a", [None], KEYS), single("b", ["b"], KEYS)], single("c", ["a"], KEYS)).groups == ()


# profiles


def test_spearman_is_the_published_one():
    """Siegel 1956, Nonparametric Statistics, table 9.8: authoritarianism and status striving, r = 0.82."""
    authoritarianism = np.array([82, 98, 87, 40, 116, 113, 111, 83, 85, 126, 106, 117], dtype=float)
    striving = np.array([42, 46, 39, 37, 65, 88, 86, 56, 62, 92, 54, 81], dtype=float)
    assert round(spearman(authoritarianism, striving)[0], 2) == 0.82


def test_profiles_of_repositories_are_those_of_scipy():
    rng = np.random.default_rng(2)
    symptom = [f"s{each}" for each in rng.integers(0, 9, 400) ** 2 // 9]
    repository = [f"r{each}" for each in rng.integers(0, 3, 400)]
    found = profiles(single("symptom", symptom), single("repository", repository))
    table = pd.crosstab(pd.Series(repository), pd.Series(symptom))
    assert [(each.a, each.b) for each in found.correlations] == [("r0", "r1"), ("r0", "r2"), ("r1", "r2")]
    for each in found.correlations:
        wanted = stats.spearmanr(table.loc[each.a], table.loc[each.b])
        assert each.rho == pytest.approx(wanted.statistic) and each.method == "exact"


def test_profiles_that_cannot_be_compared_say_why():
    symptom, repository = list("abcabbcaab"), list("xxxyyyyzzz")
    found = {(each.a, each.b): each for each in profiles(single("s", symptom), single("r", repository)).correlations}
    assert found["x", "y"].undefined == "In one of the groups all categories are equally frequent."
    assert found["x", "y"].rho is None and found["x", "y"].p_value is None
    found = profiles(single("s", list("abab"), list("abcd")), single("r", list("xxyy"))).correlations
    assert found[0].undefined == "There are 2 categories; a correlation needs 3."
    assert profiles(single("s", ["a"]), single("r", ["x"])).correlations == ()


# saturation


def test_new_categories_come_item_by_item_in_the_order_of_labeling():
    found = saturation(single("s", ["a", "b", "a", None, "c", "b", "a"], list("abcd")), np.array([5, 5, 9, 8, 7, 3, 2]))
    assert [(point.n_items, point.n_categories) for point in found.curve] == [(1, 2), (2, 2), (3, 3), (4, 3), (5, 3)]
    assert [(each.category, each.place, each.item, each.n_items) for each in found.first_seen] == [
        ("a", 1, 5, 3), ("b", 1, 5, 2), ("c", 3, 7, 1),
    ]  # fmt: skip
    assert (found.n_items, found.n_categories, found.n_unseen, found.n_once) == (5, 3, 1, 1)
    assert found.chance_new == pytest.approx(1 / 5)
    assert found.left_out == (ExcludedParts("S: not applicable, or not labeled.", 1),)


def test_the_mean_over_orders_is_that_of_all_orders():
    sets = [{"a"}, {"a", "b"}, set(), {"c"}, {"b", "d"}]
    orders = [[len(set().union(*order[:k])) for k in range(1, 6)] for order in permutations(sets)]
    found = saturation(multi("s", [tuple(each) for each in sets]), np.arange(5))
    assert [point.mean for point in found.curve] == pytest.approx(np.mean(orders, axis=0))


def test_a_group_of_categories_did_not_occur_only_if_none_below_it_did():
    tree = Categories(("top", "a", "rest", "b"), ("Top", "A", "Rest", "B"), (-1, 0, -1, 2))
    column = SingleColumn("s", "S", "single", tree, np.array([1, 1]))
    assert saturation(column, np.arange(2)).n_unseen == 2


def test_a_long_curve_is_told_at_some_places_and_ends_with_all():
    rng = np.random.default_rng(1)
    found = saturation(single("s", [f"c{each}" for each in rng.integers(0, 30, 3000)]), np.arange(3000))
    assert len(found.curve) == 400
    assert (found.curve[-1].n_items, found.curve[-1].n_categories) == (3000, 30)
    assert found.curve[-1].mean == pytest.approx(30)


def test_without_labels_there_is_no_chance_of_a_new_category():
    found = saturation(single("s", [None, None], ["a"]), np.arange(2))
    assert (found.chance_new, found.undefined, found.curve, found.n_unseen) == (None, "No item has a value.", (), 1)


# combinations


@settings(max_examples=examples(25), deadline=None)
@given(st.lists(st.tuples(some, some, st.none() | st.sets(st.sampled_from("pqr"))), min_size=1, max_size=30))
def test_combinations_are_those_of_counting_every_subset(table):
    columns = [single("x", [a for a, _, _ in table], KEYS), single("y", [b for _, b, _ in table], KEYS)]
    columns.append(multi("z", [None if c is None else tuple(c) for _, _, c in table], list("pqr")))
    baskets = [
        frozenset([("x", a), ("y", b), *(("z", each) for each in c)])
        for a, b, c in table
        if a is not None and b is not None and c is not None
    ]
    values = sorted({value for basket in baskets for value in basket})
    wanted = {}
    for size in (2, 3):
        for chosen in subsets(values, size):
            n = sum(set(chosen) <= basket for basket in baskets)
            if n >= 2:
                single_shares = [sum(value in basket for basket in baskets) / len(baskets) for value in chosen]
                wanted[chosen] = (n, pytest.approx(n / len(baskets) / np.prod(single_shares)))
    found = combinations(columns, least=2, largest=3)
    assert {each.values: (each.share.n, each.lift) for each in found.combinations} == wanted
    assert (found.n, found.n_found) == (len(baskets), len(wanted))
    assert [each.share.n for each in found.combinations] == sorted((n for n, _ in wanted.values()), reverse=True)


def test_a_share_as_least_is_of_the_parts_with_a_value_of_each():
    column, other = single("x", [*list("aaab"), None]), single("y", list("ppqqp"))
    assert [
        (each.values, each.share.n, each.share.of) for each in combinations([column, other], least=0.5).combinations
    ] == [((("x", "a"), ("y", "p")), 2, 4)]
    with pytest.raises(ValueError):
        combinations([column, other], least=0)


def test_combinations_of_nothing_are_none():
    assert combinations([single("x", [None], KEYS), single("y", ["a"], KEYS)]).combinations == ()


def test_ways_through_columns_of_sets_have_a_limit() -> None:
    keys = [f"c{number}" for number in range(60)]
    columns = [multi(name, [keys]) for name in "abcd"]
    with pytest.raises(AnalysisTooLarge, match="too many paths"):
        flow(columns)
    assert len(flow(columns[:2]).groups[0].paths) == 3_600


def test_profiles_of_many_groups_are_compared_in_short_time_or_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    draw = np.random.default_rng(1)
    keys = [f"c{number}" for number in range(9)]
    values = [keys[code] for code in np.minimum(draw.geometric(0.3, 40_000) - 1, 8)]
    groups = [f"g{number % 200}" for number in range(40_000)]
    begun = time.process_time()
    with pytest.raises(AnalysisTooLarge, match="200"):
        profiles(single("d", values), single("g", [*groups[:-1], "another"]))
    assert len(profiles(single("d", values[:400]), single("g", [f"g{n % 12}" for n in range(400)])).correlations) == 66
    monkeypatch.setattr("annotation.analysis.profiles.ORDERS_MAX", 4_000_000)
    with pytest.raises(AnalysisTooLarge, match="exact tests"):
        profiles(single("d", values), single("g", groups))
    assert time.process_time() - begun < 2.5
