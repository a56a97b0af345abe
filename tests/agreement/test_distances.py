"""Distances over the category tree, and weights: by name, as a matrix, and laid out over a scale."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import agreement
from agreement import Patterns, jaccard_distance, masi_distance, one_coefficient, summary, tree_distance, weights_over
from agreement.metrics import Matrix, distance_by_metric

from .tables import QUICK, Table, rating_tables

PATHS = {
    "setup": ("setup",),
    "setup-hang": ("setup", "setup-hang"),
    "setup-crash": ("setup", "setup-crash"),
    "train": ("train",),
    "train-loss": ("train", "train-loss"),
    "train-loss-nan": ("train", "train-loss", "train-loss-nan"),
}
LEAVES = ["setup-hang", "setup-crash", "train-loss-nan", "PENDING"]


def coefficient(entry: dict, name: str) -> dict:
    return next(each for each in entry["coefficients"] if each["name"] == name)


@pytest.mark.parametrize(
    ("a", "b", "distance"),
    [
        ("setup-hang", "setup-hang", 0),
        ("setup-hang", "setup-crash", 1 - 2 * 1 / (2 + 2)),
        ("setup", "setup-hang", 1 - 2 * 1 / (1 + 2)),
        ("train-loss", "train-loss-nan", 1 - 2 * 2 / (2 + 3)),
        ("train", "train-loss-nan", 1 - 2 * 1 / (1 + 3)),
        ("setup-hang", "train-loss", 1),
        ("setup", "train", 1),
    ],
)
def test_the_distance_of_two_categories_is_that_of_wu_and_palmer(a: str, b: str, distance: float):
    assert tree_distance(PATHS[a], PATHS[b]) == tree_distance(PATHS[b], PATHS[a]) == pytest.approx(distance)


@QUICK
@given(rating_tables(categories=len(LEAVES)))
def test_alpha_over_the_tree_is_that_of_nltk(table: Table):
    from nltk.metrics.agreement import AnnotationTask

    def apart(a: str, b: str) -> float:
        return tree_distance(PATHS.get(a, (a,)), PATHS.get(b, (b,)))

    named = [[None if value is None else LEAVES[value - 1] for value in row] for row in table]
    kept = [row for row in named if sum(value is not None for value in row) > 1]
    ours = agreement.krippendorff_alpha(Patterns.from_table(named), "tree", paths=PATHS, intervals=False)
    by_function = agreement.krippendorff_alpha(Patterns.from_table(named), apart, intervals=False)
    assert ours.value == (None if by_function.value is None else pytest.approx(by_function.value, abs=1e-12))
    if len({value for row in kept for value in row if value is not None}) < 2:
        assert ours.value is None
        return
    rows = [
        (str(rater), unit, value)
        for unit, row in enumerate(kept)
        for rater, value in enumerate(row)
        if value is not None
    ]
    assert ours.value == pytest.approx(AnnotationTask(rows, distance=apart).alpha(), abs=1e-9)


def test_the_tree_forgives_siblings_but_not_strangers_and_a_flat_tree_is_nominal():
    rows = [(("setup-hang", "setup-crash"), 10), (("setup-hang", "setup-hang"), 30), (("train-loss", "train-loss"), 20)]
    near = Patterns.from_counts(rows)
    far = Patterns.from_counts([(("setup-hang", "train-loss"), 10), *rows[1:], (("setup-crash", "setup-crash"), 10)])
    for patterns, forgiven in ((near, True), (far, False)):
        tree = agreement.krippendorff_alpha(patterns, "tree", paths=PATHS, intervals=False).value
        nominal = agreement.krippendorff_alpha(patterns, intervals=False).value
        assert (tree > nominal) is forgiven
    flat = agreement.krippendorff_alpha(near, "tree", paths={}, intervals=False)
    assert flat.value == pytest.approx(agreement.krippendorff_alpha(near, intervals=False).value, abs=1e-12)


def test_alpha_over_the_tree_has_a_standard_error_that_tells_what_the_bootstrap_tells():
    rng = np.random.default_rng(2)
    true = rng.integers(0, 4, 500)
    rated = [np.where(rng.random(500) < 0.7, true, rng.integers(0, 4, 500)) for _ in range(3)]
    patterns = Patterns.from_table([[LEAVES[k] for k in row] for row in np.stack(rated, axis=1)])
    entry = summary(patterns, kind="single", metric="tree", paths=PATHS)
    alpha = coefficient(entry, "krippendorff_alpha")
    assert entry["metric"] == "tree"
    assert (alpha["ci_high"] - alpha["ci_low"]) / (2 * 1.96) == pytest.approx(alpha["se"], rel=0.08)


LEVELS = ["low", "middle", "high"]
ORDERED = Patterns.from_counts(
    [(("low", "low"), 12), (("low", "middle"), 4), (("middle", "middle"), 9), (("low", "high"), 2), (("high",) * 2, 7)],
    categories=LEVELS,
)
NEARLY = [[1, 0.9, 0], [0.9, 1, 0.5], [0, 0.5, 1]]


@pytest.mark.parametrize(
    "weights", [None, "linear", "quadratic", NEARLY], ids=["default", "linear", "quadratic", "own"]
)
def test_weighted_kappa_and_ac2_go_by_the_weights_asked_for(weights):
    entry = summary(ORDERED, kind="ordinal", weights=weights)
    expected = "quadratic" if weights is None else weights
    assert entry["weights"] == (expected if isinstance(expected, str) else "custom")
    for name in ("weighted_kappa", "gwet_ac2"):
        alone = getattr(agreement, name)(ORDERED, expected)
        assert coefficient(entry, name)["value"] == alone.value
        assert one_coefficient(ORDERED, name, kind="ordinal", weights=weights) == alone
    assert json.loads(json.dumps(entry, allow_nan=False)) == entry


def test_categories_without_an_order_have_weighted_kappa_only_by_a_matrix():
    names = Patterns.from_counts([(("a", "a"), 9), (("a", "b"), 4), (("b", "b"), 7), (("c", "a"), 2), (("c", "c"), 5)])
    for weights in (None, "linear"):
        entry = summary(names, kind="single", weights=weights, intervals=False)
        assert entry["weights"] is None
        assert "order" in coefficient(entry, "weighted_kappa")["undefined"]
    entry = summary(names, kind="single", weights=[[1, 0.5, 0], [0.5, 1, 0], [0, 0, 1]], intervals=False)
    kappa = coefficient(entry, "cohen_kappa")["value"]
    assert coefficient(entry, "weighted_kappa")["value"] > kappa
    same = summary(names, kind="single", weights=np.eye(3), intervals=False)
    assert coefficient(same, "weighted_kappa")["value"] == pytest.approx(kappa)


def test_weights_of_a_scale_are_laid_out_over_the_categories_in_use():
    laid = weights_over(NEARLY, LEVELS, ["high", "low", "PENDING"], apart=["PENDING"])
    assert laid.tolist() == [[1, 0, 0], [0, 1, 0], [0, 0, 1]]
    assert weights_over(NEARLY, LEVELS, ["middle", "high"]).tolist() == [[1, 0.5], [0.5, 1]]
    with pytest.raises(ValueError, match="nothing about highest"):
        weights_over(NEARLY, LEVELS, ["low", "highest"])


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({"weights": "radical"}, "no weights"),
        ({"weights": [[1, 0], [0, 1]]}, "3 × 3"),
        ({"weights": [[1, 2, 0], [0, 1, 0], [0, 0, 1]]}, "0 .* to 1"),
        ({"weights": np.zeros((3, 3))}, "0 .* to 1"),
        ({"weights": np.full((3, 3), np.nan)}, "0 .* to 1"),
        ({"metric": "tree"}, "does not suit"),
        ({"metric": "tree", "kind": "single"}, "paths"),
    ],
)
def test_weights_and_trees_that_do_not_fit_are_refused_in_words(asked: dict, words: str):
    with pytest.raises(ValueError, match=words):
        summary(ORDERED, **{"kind": "ordinal", **asked}, intervals=False)
    one = "krippendorff_alpha" if "metric" in asked else "weighted_kappa"
    with pytest.raises(ValueError, match=words):
        one_coefficient(ORDERED, one, **{"kind": "ordinal", **asked}, intervals=False)


@QUICK
@given(st.lists(st.sampled_from("xyz"), max_size=4), st.lists(st.sampled_from("xyz"), max_size=4))
def test_distances_in_a_tree_lie_between_0_and_1_and_are_0_for_one_place_alone(a: list[str], b: list[str]):
    assert 0 <= tree_distance(a, b) <= 1
    assert (tree_distance(a, b) == 0) is (a == b)


ASKED = Patterns.from_counts(
    [*[((a, b), 6 if a == b else 2) for a in LEVELS for b in LEVELS], (("PENDING", "high"), 3), (("PENDING",) * 2, 1)],
    categories=[*LEVELS, "PENDING"],
)
SCALE = Patterns.from_counts([((a, b), 6 if a == b else 2) for a in LEVELS for b in LEVELS], categories=LEVELS)


@pytest.mark.parametrize("metric", ["ordinal", "interval"])
def test_a_proposal_is_no_level_of_a_scale(metric: str):
    entry = summary(ASKED, kind="ordinal", metric=metric, apart=["PENDING"])
    alpha = coefficient(entry, "krippendorff_alpha")
    alone = agreement.krippendorff_alpha(SCALE, metric)
    assert alpha["value"] == pytest.approx(alone.value, abs=1e-12)
    assert alpha["se"] == (None if alone.se is None else pytest.approx(alone.se, abs=1e-12))
    assert alpha["ci_low"] < alpha["value"] < alpha["ci_high"]
    assert alpha["value"] != pytest.approx(agreement.krippendorff_alpha(ASKED, metric, intervals=False).value, abs=1e-3)
    (told,) = [each for each in entry["warnings"] if "which the scale does not contain" in each]
    assert "5 ratings of “PENDING”" in told
    assert one_coefficient(
        ASKED, "krippendorff_alpha", kind="ordinal", metric=metric, apart=["PENDING"], intervals=False
    ).value == pytest.approx(alone.value, abs=1e-12)


@pytest.mark.parametrize("weights", ["linear", "quadratic"])
def test_a_proposal_agrees_with_no_level_and_with_another_proposal(weights: str):
    entry = summary(ASKED, kind="ordinal", weights=weights, apart=["PENDING"], intervals=False)
    near = 0.5 if weights == "linear" else 0.75
    cells = [[1, near, 0, 0], [near, 1, near, 0], [0, near, 1, 0], [0, 0, 0, 1]]
    for name in ("weighted_kappa", "gwet_ac2"):
        expected = getattr(agreement, name)(ASKED, cells, intervals=False)
        assert coefficient(entry, name)["value"] == pytest.approx(expected.value, abs=1e-12)
        assert coefficient(entry, name)["se"] == pytest.approx(expected.se, abs=1e-12)


def test_what_has_no_place_on_a_scale_leaves_nominal_alpha_and_plain_names_as_they_are():
    for kind, metric in (("ordinal", "nominal"), ("single", None)):
        with_it, without = (
            summary(ASKED, kind=kind, metric=metric, apart=apart, intervals=False) for apart in (["PENDING"], ())
        )
        assert coefficient(with_it, "krippendorff_alpha") == coefficient(without, "krippendorff_alpha")
        assert with_it["warnings"] == without["warnings"]


def test_alpha_of_proposals_alone_says_that_nothing_on_the_scale_was_rated_twice():
    rows = [(("PENDING", "PENDING"), 9), (("PENDING", "low"), 3)]
    alone = Patterns.from_counts(rows, categories=[*LEVELS, "PENDING"])
    alpha = coefficient(summary(alone, kind="ordinal", apart=["PENDING"]), "krippendorff_alpha")
    assert (alpha["value"], alpha["undefined"]) == (None, "No unit was rated by two raters.")


@pytest.mark.parametrize(("metric", "apart"), [("masi", masi_distance), ("jaccard", jaccard_distance)])
@given(sets=st.lists(st.frozensets(st.sampled_from("abcdefg")), unique=True, max_size=30))
@QUICK
def test_all_sets_at_once_are_as_far_apart_as_two_by_two(metric: str, apart, sets: list[frozenset[str]]):
    found = distance_by_metric(metric, sets)
    assert isinstance(found, Matrix)
    assert found.cells.tolist() == [[apart(a, b) for b in sets] for a in sets]
