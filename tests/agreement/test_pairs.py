"""Agreement by category and by pair of raters, and who confuses what."""

import krippendorff
import numpy as np
import pytest
from hypothesis import given

import agreement
from agreement import Patterns

from .tables import QUICK, Table, rating_tables

TWO = Patterns.from_counts(
    [
        (("crash", "crash"), 10),
        (("crash", "hang"), 3),
        (("hang", "crash"), 1),
        (("hang", "hang"), 6),
        (("slow", None), 2),
    ],
    raters=["bob", "carol"],
)


def specific(patterns: Patterns) -> list[dict]:
    found = agreement.by_category(patterns)
    assert all(each["positive"] == each["agreement"] for each in found)
    return [{name: each[name] for name in ("category", "agreement", "n")} for each in found]


def test_specific_agreement_of_two_raters_is_twice_both_over_all_who_said_it():
    assert specific(TWO) == [
        {"category": "crash", "agreement": pytest.approx(20 / 24), "n": 24},
        {"category": "hang", "agreement": pytest.approx(12 / 16), "n": 16},
    ]


def test_specific_agreement_of_many_raters_counts_every_pair():
    patterns = Patterns.from_table([["a", "a", "b"], ["a", "b", None], ["b", "b", "b"]])
    assert specific(patterns) == [
        {"category": "a", "agreement": pytest.approx(2 / (2 * 2 + 1)), "n": 3},
        {"category": "b", "agreement": pytest.approx(6 / (2 + 1 + 6)), "n": 5},
    ]


def test_sets_are_taken_apart_for_agreement_by_category():
    patterns = Patterns.from_table([[{"a", "b"}, {"a"}], [set(), {"b"}], [{"c"}, {"c"}], [set(), set()]])
    assert specific(patterns) == [
        {"category": "a", "agreement": 1.0, "n": 2},
        {"category": "b", "agreement": 0.0, "n": 2},
        {"category": "c", "agreement": 1.0, "n": 2},
    ]


@pytest.mark.parametrize(
    ("cells", "kappa", "expected"),
    [
        # Feinstein and Cicchetti 1990: equal percent agreement, kappa 0.70 and 0.32; indices by their definition.
        ((40, 9, 6, 45), 0.70, {"positive": 0.84, "negative": 0.86, "prevalence": -0.05, "bias": 0.03, "pabak": 0.70}),
        ((80, 10, 5, 5), 0.32, {"positive": 0.91, "negative": 0.40, "prevalence": 0.75, "bias": 0.05, "pabak": 0.70}),
    ],
)
def test_a_low_kappa_is_told_apart_by_prevalence_and_bias(cells, kappa: float, expected: dict):
    outcomes = [("yes", "yes"), ("yes", "no"), ("no", "yes"), ("no", "no")]
    patterns = Patterns.from_counts(zip(outcomes, cells, strict=True), categories=["yes", "no"])
    assert agreement.cohen_kappa(patterns, intervals=False).value == pytest.approx(kappa, abs=0.005)
    yes, no = agreement.by_category(patterns)
    assert {name: yes[name] for name in expected} == pytest.approx(expected, abs=0.005)
    assert no["positive"] == yes["negative"] and no["negative"] == yes["positive"]
    assert (no["prevalence"], no["bias"], no["pabak"]) == (-yes["prevalence"], -yes["bias"], yes["pabak"])


@QUICK
@given(rating_tables(raters=(2, 4)))
def test_each_category_has_the_numbers_of_the_question_whether_it_was_said(table: Table):
    patterns = Patterns.from_table(table, categories=[1, 2, 3, 4])
    for each in agreement.by_category(patterns):
        said = [[None if value is None else str(value) == each["category"] for value in row] for row in table]
        alone = Patterns.from_table(said, categories=[True, False])
        sides = {one["category"]: one for one in agreement.by_category(alone)}
        assert each["positive"] == pytest.approx(sides["true"]["agreement"])
        assert each["negative"] == (pytest.approx(sides["false"]["agreement"]) if "false" in sides else None)
        assert (each["negative"] is None) == ("absence" in (each["undefined"] or ""))
        if len(patterns.active) > 2:
            assert each["prevalence"] is each["bias"] is each["pabak"] is None
            assert "two raters" in each["undefined"]
            continue
        assert each["pabak"] == pytest.approx(agreement.brennan_prediger(alone, intervals=False).value)
        first, second = (
            [row[column] for row in said if sum(value is not None for value in row) > 1] for column in patterns.active
        )
        n = len(first)
        assert each["bias"] == pytest.approx((sum(first) - sum(second)) / n)
        assert each["prevalence"] == pytest.approx((sum(first) + sum(second)) / n - 1)


def test_negative_agreement_counts_units_in_which_nobody_chose_the_member_of_a_set():
    patterns = Patterns.from_table([[{"a"}, {"a"}], [set(), {"b"}], [set(), set()], [{"a"}, set()]])
    a, b = agreement.by_category(patterns)
    assert (a["negative"], b["negative"]) == (pytest.approx(4 / 5), pytest.approx(6 / 7))
    assert (a["bias"], b["bias"]) == (pytest.approx(1 / 4), pytest.approx(-1 / 4))


def test_confusion_of_any_two_raters_is_that_of_those_two_alone():
    rng = np.random.default_rng(5)
    table = [[None if value < 0 else "abc"[value] for value in row] for row in rng.integers(-1, 3, (60, 4))]
    patterns = Patterns.from_table(table)
    alone = Patterns.from_table([[row[2], row[0]] for row in table])
    assert agreement.confusion(patterns, raters=("R3", "R1")) == agreement.confusion(alone)
    turned = [{"a": each["b"], "b": each["a"], "n": each["n"]} for each in agreement.confusion(alone)]
    assert sorted(map(str, agreement.confusion(patterns, raters=("R1", "R3")))) == sorted(map(str, turned))


def test_confusion_of_two_raters_keeps_who_said_what():
    assert agreement.confusion(TWO) == [
        {"a": "crash", "b": "crash", "n": 10},
        {"a": "crash", "b": "hang", "n": 3},
        {"a": "hang", "b": "crash", "n": 1},
        {"a": "hang", "b": "hang", "n": 6},
    ]


def test_confusion_of_more_raters_pools_their_pairs():
    patterns = Patterns.from_table([["a", "a", "b"], ["b", "a", None]])
    assert agreement.confusion(patterns) == [{"a": "a", "b": "a", "n": 1}, {"a": "a", "b": "b", "n": 3}]


def test_confusion_names_sets_by_their_members():
    patterns = Patterns.from_table([[{"hang", "crash"}, set()]])
    assert agreement.confusion(patterns) == [{"a": "crash + hang", "b": "(none)", "n": 1}]


@pytest.mark.parametrize(
    ("category", "label"),
    [("crash", "crash"), (True, "true"), (2, "2"), (2.0, "2"), (2.5, "2.5"), (frozenset("ba"), "a + b")],
)
def test_a_category_has_one_label(category, label: str):
    assert agreement.category_label(category) == label


@QUICK
@given(rating_tables())
def test_confusion_adds_up_to_every_compared_pair_and_its_diagonal_to_the_agreeing_ones(table: Table):
    patterns = Patterns.from_table(table)
    cells = agreement.confusion(patterns)
    pairs = [
        (row[i], row[j])
        for row in table
        for i in range(len(row))
        for j in range(i)
        if row[i] is not None and row[j] is not None
    ]
    assert sum(cell["n"] for cell in cells) == len(pairs)
    assert sum(cell["n"] for cell in cells if cell["a"] == cell["b"]) == sum(a == b for a, b in pairs)


@QUICK
@given(rating_tables())
def test_each_pair_of_raters_has_the_kappa_of_those_two_alone(table: Table):
    patterns = Patterns.from_table(table)
    found = {tuple(pair["raters"]): pair for pair in agreement.by_pair(patterns)}
    for i, first in enumerate(patterns.raters):
        for j in range(i + 1, len(patterns.raters)):
            both = [[row[i], row[j]] for row in table if row[i] is not None and row[j] is not None]
            pair = found.pop((first, patterns.raters[j]), None)
            if not both:
                assert pair is None
                continue
            alone = Patterns.from_table(both)
            kappa = agreement.cohen_kappa(alone, intervals=False).value
            assert pair["cohen_kappa"] == (None if kappa is None else pytest.approx(kappa, abs=1e-9))
            percent = agreement.percent_agreement(alone, intervals=False).value
            assert pair["percent_agreement"] == pytest.approx(percent, abs=1e-9)
            assert pair["n"] == len(both)
    assert not found


def test_pairs_of_many_raters_are_pooled_in_bounded_pieces(monkeypatch):
    rng = np.random.default_rng(0)
    values = rng.integers(-1, 5, (200, 8))
    patterns = Patterns(values, np.ones(200), tuple("abcde"), tuple("12345678"))
    whole = agreement.confusion(patterns)
    monkeypatch.setattr("agreement.tallies.PAIRS_AT_ONCE", 20)
    assert agreement.confusion(patterns) == whole


@QUICK
@given(rating_tables(raters=(2, 4)))
def test_a_confused_pair_costs_what_agreement_gains_when_its_two_are_one(table: Table):
    def both(rows: Table) -> tuple[float | None, float | None]:
        patterns = Patterns.from_table(rows)
        alpha = agreement.krippendorff_alpha(patterns, intervals=False).value
        return alpha, agreement.percent_agreement(patterns, intervals=False).value

    pairs = agreement.confused_pairs(Patterns.from_table(table))
    cells = [each for each in agreement.confusion(Patterns.from_table(table)) if each["a"] != each["b"]]
    assert sum(each["n"] for each in pairs) == sum(each["n"] for each in cells)
    assert not pairs or sum(each["share"] for each in pairs) == pytest.approx(1)
    alpha, percent = both(table)
    for each in pairs:
        merged = [[int(each["a"]) if str(value) == each["b"] else value for value in row] for row in table]
        alpha_after, percent_after = both(merged)
        assert each["percent_gain"] == pytest.approx(percent_after - percent, abs=1e-9)
        if alpha_after is None:
            assert each["gain"] is None and "one category" in each["undefined"]
        else:
            assert each["gain"] == pytest.approx(alpha_after - alpha, abs=1e-9)
            assert each["undefined"] is None
    gains = [each["gain"] for each in pairs if each["gain"] is not None]
    assert gains == sorted(gains, reverse=True)


LEVELS = ["low", "some", "high", "worst"]


def confused(table: Table, kind: str, **how) -> dict[tuple[str, str], dict]:
    rows = [[None if value is None else LEVELS[value - 1] for value in row] for row in table]
    patterns = Patterns.from_table(rows, categories=LEVELS)
    found = agreement.summary(patterns, kind=kind, intervals=False, **how)["confused_pairs"]
    return {(each["a"], each["b"]): each for each in found}


@QUICK
@given(rating_tables(raters=(2, 4), categories=4))
def test_merging_levels_gains_what_ordinal_alpha_of_another_library_gains(table: Table):
    data = np.array([[np.nan if value is None else value for value in row] for row in table], dtype=float).T

    def alpha(values: np.ndarray) -> float:
        return krippendorff.alpha(values, level_of_measurement="ordinal", value_domain=[1, 2, 3, 4])

    for (a, b), each in confused(table, "ordinal").items():
        assert each["coefficient"] == "krippendorff_alpha"
        first, second = LEVELS.index(a) + 1, LEVELS.index(b) + 1
        if second - first > 1:
            assert each["gain"] is None and "levels between" in each["undefined"]
        elif each["gain"] is not None:
            assert each["gain"] == pytest.approx(alpha(np.where(data == second, first, data)) - alpha(data), abs=1e-9)


@QUICK
@given(rating_tables(raters=(2, 2), categories=4))
def test_merging_levels_gains_what_weighted_kappa_of_fewer_levels_gains(table: Table):
    for (a, b), each in confused(table, "ordinal", coefficient="weighted_kappa").items():
        assert each["coefficient"] == "weighted_kappa"
        if each["gain"] is None:
            assert each["undefined"]
            continue
        first, second = LEVELS.index(a) + 1, LEVELS.index(b) + 1
        merged = [[value if value is None or value < second else value - 1 for value in row] for row in table]
        before, after = (
            agreement.weighted_kappa(Patterns.from_table(rows, categories=range(1, k + 1)), intervals=False).value
            for rows, k in ((table, 4), (merged, 3))
        )
        assert second == first + 1 and each["gain"] == pytest.approx(after - before, abs=1e-9)


def test_merging_in_a_tree_needs_one_place_for_both():
    paths = {"f": ("f",), "crash": ("f", "crash"), "hang": ("f", "hang"), "slow": ("slow",), "late": ("slow", "late")}
    rows = [(("crash", "hang"), 6), (("crash", "late"), 5), (("f", "crash"), 4), (("hang", "hang"), 9)]
    rows += [(("crash", "crash"), 9), (("slow", "slow"), 3), (("late", "late"), 3)]
    patterns = Patterns.from_counts(rows)
    told = agreement.summary(patterns, kind="single", metric="tree", paths=paths, intervals=False)
    found = {(each["a"], each["b"]): each for each in told["confused_pairs"]}
    assert "neither neighbors" in found["crash", "late"]["undefined"]

    def alpha(changed: dict[str, str]) -> float:
        merged = [(tuple(changed.get(value, value) for value in pattern), n) for pattern, n in rows]
        return agreement.krippendorff_alpha(Patterns.from_counts(merged), "tree", paths=paths, intervals=False).value

    assert found["crash", "hang"]["gain"] == pytest.approx(alpha({"hang": "crash"}) - alpha({}))
    assert found["crash", "f"]["gain"] == pytest.approx(alpha({"crash": "f"}) - alpha({}))


def test_two_sets_are_never_one_and_a_proposal_is_no_level():
    sets = Patterns.from_counts([(({"a"}, {"a", "b"}), 4), (({"a"}, {"a"}), 9), (({"b"}, {"b"}), 9)])
    for metric, is_told in (("masi", False), ("nominal", True)):
        (pair,) = agreement.summary(sets, kind="multi", metric=metric, intervals=False)["confused_pairs"]
        assert (pair["gain"] is not None) is is_told and bool(pair["undefined"]) is not is_told
    levels = Patterns.from_counts([(("low", "PENDING"), 3), (("low", "high"), 2), (("low", "low"), 4)])
    found = agreement.summary(levels, kind="ordinal", apart=["PENDING"], intervals=False)["confused_pairs"]
    assert {each["undefined"] for each in found if "PENDING" in (each["a"], each["b"])} == {
        "“PENDING” is not on the scale."
    }


def test_the_pair_that_costs_most_stands_first_and_rare_confusions_are_left_out():
    rows = [(("a", "b"), 8), (("c", "d"), 6), (("a", "a"), 100), (("b", "b"), 100), (("c", "c"), 9), (("d", "d"), 9)]
    patterns = Patterns.from_counts([*rows, (("a", "c"), 1)])
    first, second = agreement.confused_pairs(patterns, most=2)
    assert [(each["a"], each["b"], each["n"]) for each in (first, second)] == [("c", "d", 6), ("a", "b", 8)]
    assert first["percent_gain"] < second["percent_gain"] and first["gain"] > 0 > second["gain"]
    assert first["share"] + second["share"] == pytest.approx(14 / 15)
    assert agreement.confused_pairs(Patterns.from_table([["a", "a"], ["b", None]])) == []


def test_each_rater_stands_beside_the_reference_and_no_other():
    rng = np.random.default_rng(8)
    table = [[None if value < 0 else "abc"[value] for value in row] for row in rng.integers(-1, 3, (80, 3))]
    patterns = Patterns.from_table([[*row, None] for row in table], raters=["R1", "agreed", "R2", "R3"])
    found = agreement.against_reference(patterns, "agreed")
    assert [each["rater"] for each in found] == ["R1", "R2"]
    for each, column in zip(found, (0, 2), strict=True):
        (alone,) = agreement.by_pair(Patterns.from_table([[row[column], row[1]] for row in table]))
        assert {name: alone[name] for name in ("cohen_kappa", "percent_agreement", "n", "undefined")} == {
            name: each[name] for name in each if name != "rater"
        }


def test_a_rater_stands_beside_themselves_at_another_time():
    earlier_later = [["a", "a"], ["a", "b"], ["b", "b"], ["b", None], ["b", "b"]]
    found = agreement.intra_rater(
        {
            "R1": Patterns.from_table(earlier_later),
            "R2": Patterns.from_table([["a", "a"]] * 3),
            "R3": Patterns.from_table([["a", None]]),
        }
    )
    kappa = agreement.cohen_kappa(Patterns.from_table(earlier_later), intervals=False).value
    assert found == [
        {"rater": "R1", "cohen_kappa": pytest.approx(kappa), "percent_agreement": 0.75, "n": 4, "undefined": None},
        {
            "rater": "R2",
            "cohen_kappa": None,
            "percent_agreement": 1.0,
            "n": 3,
            "undefined": "Both raters used “a” only, so agreement beyond chance is undefined.",
        },
    ]


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: agreement.confusion(TWO, raters=("bob", "dan")), "no rater 'dan'; there are bob, carol"),
        (lambda: agreement.confusion(TWO, raters=("bob", "bob")), "named twice"),
        (lambda: agreement.confusion(TWO, raters=("bob",)), "two raters"),
        (lambda: agreement.against_reference(TWO, "agreed"), "no rater 'agreed'"),
        (lambda: agreement.intra_rater({"R1": Patterns.from_table([["a", "b", "c"]])}), "two columns"),
    ],
)
def test_raters_who_are_not_there_are_refused_in_words(call, words: str):
    with pytest.raises(ValueError, match=words):
        call()
