"""The words for a paper: what they claim, what they mark as missing, and that LaTeX takes them."""

import re
from dataclasses import replace
from datetime import date

import pytest

from annotation.methods import (
    Decided,
    Dimension,
    Drawn,
    Facts,
    Number,
    Wave,
    as_latex,
    as_markdown,
    as_text,
    checklist,
    checklist_as_markdown,
    escaped,
    latex,
    markdown_table,
    paragraph,
)

BOTH = ("R1", "R2")
SYMPTOM = Dimension(
    key="symptom",
    title="Symptom",
    kind="single",
    n_categories=34,
    is_conditional=False,
    coefficient="cohen_kappa",
    metric="nominal",
    before=Number(120, BOTH, 0.812, 0.77, 0.85),
    by_round={1: Number(20, BOTH, 0.5, 0.2, 0.8), 2: Number(100, BOTH, 0.86, 0.81, 0.9)},
    after=Number(120, BOTH, 0.95, 0.91, 0.98),
    after_by_round={1: Number(20, BOTH, 0.9, 0.8, 1.0), 2: Number(100, BOTH, 0.96, 0.93, 0.99)},
    is_fixed=True,
    threshold=0.8,
    fixed_on=date(2026, 5, 3),
    is_fixed_before=True,
    reason="two raters rated everything.",
    words=[("landis_koch", "almost perfect", "substantial")],
    left_out=[("one rater skipped it", 3)],
)
FACTS = Facts(
    study="Faults",
    taxonomy="Symptoms",
    software="Concord 0.1.0",
    waves=[
        Wave(1, "pilot", 1, False, False, 20, 20, BOTH, n_training=2, n_answers=40),
        Wave(2, "main", 2, False, False, 103, 103, BOTH, n_answers=203, n_skipped=3),
    ],
    dimensions=[SYMPTOM],
    raters=BOTH,
    has_guidelines=True,
    n_items=123,
    n_double=123,
    drawn=[Drawn(2683, 1070, 123, 7, "repository", "proportional", 4)],
    decided=[Decided("discussion", 17, ["R1"], 1), Decided("third_rater", 2, ["R3"])],
    n_changed=5,
)
NOTHING = Facts(study="Faults", taxonomy="Symptoms", software="Concord 0.1.0")


def said(facts: Facts) -> str:
    return as_text(paragraph(facts))


def answers(facts: Facts) -> dict[str, str]:
    return {check.key: check.answer for check in checklist(facts)}


def test_a_study_that_has_everything_misses_nothing_but_what_only_people_know():
    words = said(FACTS)
    assert "[missing" not in words
    for part in (
        "2 raters (R1 and R2) labelled 123 items in 1 pilot round and 1 main round under versions 1 and 2",
        "123 issues were drawn at random (seed 7) from a frame of 1,070, what a filter left of 2,683 stored issues",
        "in proportion to its strata, repository; 4 of them were screened out.",
        "123 of 123 items (100 %) were given to two raters or more.",
        "without seeing what others said",
        "Before the main rounds they labelled a pilot (round 1).",
        "trained on 2 items whose right answer was known",
        "Cohen's kappa was fixed on 3 May 2026, before labelling began, with a threshold of 0.80.",
        "The reason given: two raters rated everything.",
        "Symptom: 0.812 (95 % interval 0.770 to 0.850; 120 units, 2 raters), which reaches the threshold of 0.80, "
        "though its interval begins below; by round, 0.500 in round 1 and 0.860 in round 2; after discussion, and not "
        "as a measure of reliability, 0.950 (0.910 to 0.980).",
        "19 disagreements were decided: 17 in discussion (decided by R1 and 1 who did not rate) and 2 by a third rater",
        "Left out of Symptom are 3 units (one rater skipped it).",
        "3 assignments were skipped",
        "Concord 0.1.0; intervals are percentile intervals of a bootstrap over units (1,000 resamples, seed 0).",
    ):
        assert part in words, part
    assert [check.key for check in checklist(FACTS) if check.answer in ("missing", "partly")] == [
        "training",
        "discussed",
    ]


@pytest.mark.parametrize(
    ("change", "missing", "key"),
    [
        ({"drawn": (), "n_by_hand": 123}, "how 123 items that came by name", None),
        ({"decided": ()}, "how disagreements were resolved", "resolved"),
        ({"decided": [Decided("imported", 9)]}, "how the disagreements of the sheets were resolved", "resolved"),
        ({"n_double": 100}, "", "single_rater"),
        ({"has_guidelines": False}, "", "materials"),
        ({"dimensions": [replace(SYMPTOM, reason="")]}, "why Cohen's kappa suits Symptom", "justified"),
        ({"dimensions": [replace(SYMPTOM, threshold=None)]}, "", "thresholds"),
        ({"dimensions": [replace(SYMPTOM, is_fixed=False)]}, "a coefficient for Symptom that was fixed", "fixed"),
        ({"dimensions": [replace(SYMPTOM, warnings=["One category prevails."])]}, "", "anomalies"),
        ({"waves": [replace(FACTS.waves[1], n_from_sheets=203)]}, "whether raters worked independently", "independent"),
        ({"waves": [FACTS.waves[1]]}, "how the raters were trained", "training"),
        ({"waves": [replace(FACTS.waves[1], is_resolving=True)]}, "the end of round 2", "resolved"),
        ({"waves": [replace(FACTS.waves[1], is_open=True)]}, "round 2: still open", None),
        ({"hidden": [3]}, "round 3: hidden from you", None),
    ],
)
def test_what_is_missing_is_marked_and_never_claimed(change, missing, key):
    facts = replace(FACTS, **change)
    assert f"[missing: {missing}" in said(facts) if missing else True
    if key is not None:
        check = next(check for check in checklist(facts) if check.key == key)
        assert check.answer in ("missing", "partly")
        assert check.mend


def test_a_coefficient_fixed_late_is_not_said_to_be_fixed_before():
    late = replace(FACTS, dimensions=[replace(SYMPTOM, is_fixed_before=False)])
    assert "after labelling had begun" in said(late)
    assert answers(late)["fixed"] == "missing"


def test_answers_from_sheets_are_not_said_to_be_blind():
    words = said(replace(FACTS, waves=[replace(FACTS.waves[1], n_from_sheets=203)], n_changed=0))
    assert "without seeing" not in words
    assert "No rater changed" not in words


def test_a_value_below_its_threshold_is_called_so():
    low = replace(FACTS, dimensions=[replace(SYMPTOM, before=Number(120, BOTH, 0.7996, 0.7, 0.85))])
    assert "0.800 (95 % interval 0.700 to 0.850; 120 units, 2 raters), which is below the threshold" in said(low)
    assert answers(low)["below"] == "partly"


def test_an_undefined_value_stands_with_its_reason_everywhere():
    one = replace(SYMPTOM, before=Number(9, BOTH, None, undefined="Only one category was used."), by_round={})
    facts = replace(FACTS, dimensions=[one])
    assert "Symptom: undefined (9 units, 2 raters), for: Only one category was used." in said(facts)
    assert "Undefined: Symptom, all rounds: Only one category was used." in latex(facts)
    assert answers(facts)["statistic"] == "missing"


def test_a_study_without_rounds_says_so_and_claims_nothing():
    assert said(NOTHING).startswith("[missing: no round is open to you yet")
    assert not {"yes"} & {answers(NOTHING)[key] for key in ("properties", "independent", "resolved", "statistic")}
    assert latex(NOTHING).startswith("%")


def test_the_words_of_a_scale_stand_beside_the_number_and_not_instead_of_it():
    found = next(check for check in checklist(FACTS) if check.key == "thresholds")
    assert "0.812 against 0.80" in found.evidence
    assert "“almost perfect” on the scale of Landis and Koch (but only “substantial” with 95 %" in found.evidence


SPECIALS = "50% of_C# & \\D {x} ~^$ <a|b> \n“q”"


def test_latex_takes_signs_by_commands_that_need_no_package():
    told = escaped("[opt] *x* `a` p ≥ 0.9 → α, 46▲ 0▼ --flag --- é–…")
    assert told == (
        r"{[}opt{]} {*}x{*} \textasciigrave{}a\textasciigrave{} p $\geq$ 0.9 $\rightarrow$ $\alpha$, "
        r"46$\uparrow$ 0$\downarrow$ -{}-flag -{}-{}- é–…"
    )


def test_latex_takes_every_special_character_for_itself():
    told = escaped(SPECIALS)
    assert told == (
        r"50\% of\_C\# \& \textbackslash{}D \{x\} \textasciitilde{}\textasciicircum{}\$ "
        r"\textless{}a\textbar{}b\textgreater{} ``q''"
    )
    facts = replace(
        FACTS, study=SPECIALS, taxonomy=SPECIALS, dimensions=[replace(SYMPTOM, title=SPECIALS, reason=SPECIALS)]
    )
    document = as_latex(facts)
    bare = re.sub(r"\\textbackslash\{\}|\\[\\%#&_{}$]", "", document)
    assert not re.search(r"[%#$~^_]", bare.replace("tab:agreement", ""))
    depth = 0
    for letter in bare:
        depth += {"{": 1, "}": -1}.get(letter, 0)
        assert depth >= 0
    assert depth == 0
    begun = re.findall(r"\\begin\{(\w+)\}", document)
    assert re.findall(r"\\end\{(\w+)\}", document) == begun[::-1] == ["tabular", "table"]


def test_every_row_of_the_latex_table_has_as_many_cells_as_the_table_has_columns():
    for facts in (FACTS, replace(FACTS, n_changed=0)):
        document = latex(facts)
        columns = len(re.search(r"\\begin\{tabular\}\{(\w+)\}", document)[1])
        lines = [line for line in document.splitlines() if line.endswith(r"\\") and "multicolumn" not in line]
        assert {line.count(" & ") + 1 for line in lines} == {columns} == {6 if facts.n_changed else 5}
        assert re.findall(r"multicolumn\{(\d)", document) == [str(columns)]
    assert r"\multicolumn{6}{l}{\emph{Symptom: Cohen's kappa, threshold 0.80}}" in latex(FACTS)
    assert "    all & 120 & 2 & 0.812 & 0.770 to 0.850 & 0.950 \\\\" in latex(FACTS)


def test_markdown_shows_specials_as_they_are():
    facts = replace(FACTS, taxonomy="*a* [b] <i>", dimensions=[replace(SYMPTOM, title="a|b")])
    assert r"\*a\* \[b\] \<i\>" in as_markdown(paragraph(facts))
    assert r"| a\|b |" in markdown_table(facts)
    assert r"\<i\>" in checklist_as_markdown(facts)
    assert checklist_as_markdown(FACTS).count("- [x]") == 16
