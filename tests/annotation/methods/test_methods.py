"""The words for a paper: what they claim, what they mark as missing, and that LaTeX takes them."""

import re
from dataclasses import replace
from datetime import date

import pytest

from annotation.core.latex import escape_latex
from annotation.methods import (
    ChecklistItem,
    CoefficientFacts,
    DimensionFacts,
    Facts,
    GateFacts,
    ResolutionFacts,
    RoundFacts,
    SampleFacts,
    as_latex,
    as_markdown,
    as_text,
    checklist,
    checklist_as_markdown,
    latex,
    markdown_table,
)
from annotation.methods.outline import paragraph
from shared.wording import for_markdown

BOTH = ("R1", "R2")
SYMPTOM = DimensionFacts(
    key="symptom",
    title="Symptom",
    kind="single",
    n_categories=34,
    is_conditional=False,
    coefficient="cohen_kappa",
    metric="nominal",
    before=CoefficientFacts(120, BOTH, 0.812, 0.77, 0.85),
    by_round={1: CoefficientFacts(20, BOTH, 0.5, 0.2, 0.8), 2: CoefficientFacts(100, BOTH, 0.86, 0.81, 0.9)},
    after=CoefficientFacts(120, BOTH, 0.95, 0.91, 0.98),
    after_by_round={1: CoefficientFacts(20, BOTH, 0.9, 0.8, 1.0), 2: CoefficientFacts(100, BOTH, 0.96, 0.93, 0.99)},
    is_fixed=True,
    threshold=0.8,
    fixed_on=date(2026, 5, 3),
    is_fixed_before=True,
    reason="two raters rated everything.",
    words=[("landis_koch", "almost perfect", "substantial")],
    left_out=[("skipped", 3)],
    ci_method="effective_sample",
)
FACTS = Facts(
    study="Faults",
    taxonomy="Symptoms",
    software="Concord 0.1.0",
    waves=[
        RoundFacts(1, "pilot", 1, False, False, 20, BOTH, n_answers=40),
        RoundFacts(
            2,
            "main",
            2,
            False,
            False,
            103,
            BOTH,
            n_answers=203,
            n_skipped=3,
            gate=GateFacts(1, 1, ["Symptom"], "late."),
        ),
    ],
    dimensions=[SYMPTOM],
    raters=BOTH,
    has_guidelines=True,
    n_categories=34,
    n_defined=34,
    n_items=123,
    n_double=123,
    drawn=[SampleFacts(2683, 1070, 123, 7, "repository", "proportional", out=[("Spam", 3), ("Old", 1)])],
    decided=[ResolutionFacts("discussion", 17, ["R1"]), ResolutionFacts("third_rater", 2)],
    n_resolvers_without_labels=1,
    n_changed=5,
    headline=[2],
    n_training=2,
)
NOTHING = Facts(study="Faults", taxonomy="Symptoms", software="Concord 0.1.0")


def said(facts: Facts) -> str:
    return as_text(paragraph(facts))


def evidence(facts: Facts) -> dict[str, ChecklistItem]:
    return {check.key: check for check in checklist(facts)}


def answers(facts: Facts) -> dict[str, str]:
    return {check.key: check.answer for check in checklist(facts)}


WHOLE = """\
In total, 123 issues were drawn at random (seed 7) from a frame of 1,070 issues. The frame was filtered from 2,683 \
stored issues. The draw was stratified by repository with proportional allocation. Four drawn issues were excluded at \
screening: 3 “Spam”; 1 “Old”.

Items were labeled against versions 1 and 2 of the taxonomy “Symptoms” on 1 dimension as of version 2 (Symptom, one of \
34 categories). The unit of analysis was an item in a round, or each part of an item that raters divided.

Two raters (R1 and R2) labeled 123 items in 1 pilot round (20 items) and 1 main round (103 items). Within a round, two \
or more raters labeled 123 of 123 items (100%). Raters skipped 3 assignments. While a round was open, its raters could \
not see each other’s labels. Two items with known labels were labeled for training.

Agreement is reported for round 2, the only finished main round under version 2 of the taxonomy. For Symptom, \
Cohen’s κ with a threshold of 0.80 was registered on 3 May 2026, before labeling began. The reason given for Symptom \
was “two raters rated everything”. Agreement on Symptom before discussion was Cohen’s κ = 0.81, 95% CI [0.77, 0.85], \
n = 120 units, 2 raters. This reaches the threshold of 0.80, but the 95% CI includes lower values. By round, Cohen’s \
κ on Symptom was 0.50 (pilot round 1, n = 20 units) and 0.86 (round 2, n = 100 units). Agreement on Symptom after \
discussion was Cohen’s κ = 0.95, 95% CI [0.91, 0.98], n = 120 units, 2 raters, which is no measure of reliability. \
For Symptom, 3 units were excluded because another rater skipped the item. Confidence intervals are beta intervals \
by the effective number of units, after Korn and Graubard 1998 (Concord 0.1.0).

Five submissions of 243 were revised after raters could see each other’s labels. Nineteen disagreements were resolved: \
17 discussed in writing; 2 by a third rater. Resolutions were entered by R1 and 1 person who did not label.

Round 1 used version 1 and round 2 used version 2 of the taxonomy. Round 2 was opened although the pilot (round 1) had \
not reached the threshold for Symptom for the stated reason “late”.
"""


def test_the_paragraph_of_a_study_that_has_everything_is_this():
    assert said(FACTS) == WHOLE
    assert [check.key for check in checklist(FACTS) if check.answer in ("missing", "partly")] == [
        "training",
        "discussed",
    ]


def test_raters_without_a_label_are_not_claimed_and_what_is_outstanding_is_counted():
    third = RoundFacts(3, "main", 2, True, False, 0, (), n_outstanding=32)
    words = said(replace(FACTS, waves=[*FACTS.waves, third]))
    assert "Two raters (R1 and R2) labeled 123 items in 1 pilot round (20 items) and 1 main round (103 items)." in words
    assert "[missing: the end of round 3, which is open; 32 of 32 assignments are outstanding" in words


def test_how_disagreements_were_resolved_is_told_and_counted_alike():
    met = [ResolutionFacts("meeting", 44), ResolutionFacts("discussion", 1)]
    words = said(replace(FACTS, decided=met))
    told = "44 discussed in meetings, as reported in Concord; 1 in writing."
    assert f"Forty-five disagreements were resolved: {told}" in words
    check = evidence(replace(FACTS, decided=met))["discussed"]
    assert check.answer == "yes"
    assert check.evidence == (
        "45 of 45 resolved disagreements were discussed: 44 in meetings, as reported in Concord; 1 in writing."
    )
    alone = replace(FACTS, decided=[ResolutionFacts("adjudicator", 45)])
    assert "Forty-five disagreements were resolved: 45 by adjudication." in said(alone)
    check = evidence(alone)["discussed"]
    assert (check.answer, check.evidence) == ("missing", "No discussion is recorded for 45 resolved disagreements.")
    assert "discuss" not in evidence(alone)["resolved"].evidence


@pytest.mark.parametrize(
    ("change", "missing", "key"),
    [
        ({"drawn": (), "n_by_hand": 123}, "how the 123 items that no round took from a sample were chosen", None),
        ({"decided": ()}, "how disagreements were resolved", "resolved"),
        ({"decided": [ResolutionFacts("imported", 9)]}, "how disagreements in the sheets were resolved", "resolved"),
        ({"n_double": 100}, "", "single_rater"),
        ({"has_guidelines": False}, "", "materials"),
        ({"dimensions": [replace(SYMPTOM, reason="")]}, "why Cohen’s κ suits Symptom", "justified"),
        ({"dimensions": [replace(SYMPTOM, threshold=None)]}, "", "thresholds"),
        (
            {"dimensions": [replace(SYMPTOM, is_fixed=False)]},
            "why Cohen’s κ suits Symptom",
            "fixed",
        ),
        ({"dimensions": [replace(SYMPTOM, warnings=["One category prevails."])]}, "", "anomalies"),
        (
            {"waves": [replace(FACTS.waves[1], n_from_sheets=203)]},
            "whether raters worked indep",
            "independent",
        ),
        ({"waves": [FACTS.waves[1]], "n_training": 0}, "how raters were trained", "training"),
        (
            {"waves": [replace(FACTS.waves[1], is_resolving=True)]},
            "the end of resolving disagreements in round 2",
            "resolved",
        ),
        ({"waves": [replace(FACTS.waves[1], is_open=True)]}, "the end of round 2, which is open", None),
        ({"hidden": [3]}, "round 3; you rate there", None),
        (
            {"hidden": [2, 3], "hidden_unrated": [3]},
            "round 3; it is hidden from you for now, so this text excludes it",
            None,
        ),
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
    assert "was chosen on 3 May 2026, after labeling had begun." in said(late)
    assert answers(late)["fixed"] == "missing"


def test_answers_from_sheets_are_not_said_to_be_blind():
    words = said(replace(FACTS, waves=[replace(FACTS.waves[1], n_from_sheets=203)], n_changed=0))
    assert "could not see" not in words


def test_a_value_below_its_threshold_is_called_so():
    low = replace(FACTS, dimensions=[replace(SYMPTOM, before=CoefficientFacts(120, BOTH, 0.7996, 0.7, 0.85))])
    assert "Cohen’s κ = 0.7996, 95% CI [0.70, 0.85], n = 120 units, 2 raters." in said(low)
    assert "This is below the threshold of 0.80, but the 95% CI includes it." in said(low)
    assert answers(low)["below"] == "partly"


def test_an_undefined_value_stands_with_its_reason_everywhere():
    one = replace(SYMPTOM, before=CoefficientFacts(9, BOTH, None, undefined="Only one category was used."), by_round={})
    facts = replace(FACTS, dimensions=[one])
    assert (
        "Cohen’s κ on Symptom before discussion is undefined (n = 9 units, 2 raters): Only one category was used."
        in said(facts)
    )
    assert "Undefined: Symptom, headline: Only one category was used." in latex(facts)
    assert answers(facts)["statistic"] == "missing"


@pytest.mark.parametrize(
    ("n", "answer", "words"),
    [
        (34, "yes", "“Symptoms”, with its definitions. "),
        (9, "yes", "“Symptoms”, with definitions of 9 of 34 categories. "),
        (0, "partly", "“Symptoms”. "),
    ],
)
def test_the_checklist_claims_no_definitions_that_there_are_not(n: int, answer: str, words: str) -> None:
    check = evidence(replace(FACTS, n_defined=n))["materials"]
    assert check.answer == answer and words in check.evidence


def test_the_caption_names_the_interval_method_of_each_dimension_and_round() -> None:
    exact = CoefficientFacts(9, BOTH, 1.0, 0.7, 1.0, ci_method="exact_one_sided")
    other = CoefficientFacts(9, BOTH, 0.5, 0.2, 0.8, ci_method="effective_sample")
    symptom = replace(SYMPTOM, before=other, by_round={1: exact, 2: other})
    cause = replace(SYMPTOM, key="cause", title="Cause", before=exact, by_round={1: other, 2: exact})
    kind = replace(SYMPTOM, key="kind", title="Kind", before=other, by_round={1: other, 2: other})
    caption = latex(replace(FACTS, dimensions=[symptom, cause, kind], headline=[1, 2]))
    assert (
        "Confidence intervals for Symptom (round 2 and headline), Cause (round 1) and Kind are beta intervals"
        in caption
    )
    assert "Confidence intervals for Symptom (round 1) and Cause (round 2 and headline) are one-sided" in caption
    assert "in rows" not in caption


def test_a_study_without_rounds_says_so_and_claims_nothing():
    assert said(NOTHING).startswith("[missing: how labels came about; no round is open to you yet")
    assert not {"yes"} & {answers(NOTHING)[key] for key in ("properties", "independent", "resolved", "statistic")}
    assert latex(NOTHING).startswith("%")


def test_the_words_of_a_scale_stand_beside_the_number_and_not_instead_of_it():
    found = next(check for check in checklist(FACTS) if check.key == "thresholds")
    assert "0.812 against 0.80" in found.evidence
    assert "“almost perfect” on the scale of Landis and Koch (at least “substantial”, 95%)" in found.evidence


SPECIALS = "50% of_C# & \\D {x} ~^$ <a|b> \n“q”"


def test_latex_takes_signs_by_commands_that_need_no_package():
    told = escape_latex("[opt] *x* `a` p ≥ 0.9 → α, 46▲ 0▼ --flag --- é–…")
    assert told == (
        r"{[}opt{]} {*}x{*} \textasciigrave{}a\textasciigrave{} p $\geq$ 0.9 $\rightarrow$ $\alpha$, "
        r"46$\uparrow$ 0$\downarrow$ -{}-flag -{}-{}- é–…"
    )


def test_markdown_takes_what_pandoc_hands_to_tex_for_itself():
    """TeX reads `^^5c` as a backslash, so a formula with it could read files of who makes a PDF."""
    assert for_markdown("$^^5cinput{/etc/hostname}$ &#36; R&D") == (r"\$\^\^5cinput\{/etc/hostname\}\$ \&\#36; R&D")
    hostile = "$^^5cinput{a}$"
    facts = replace(
        FACTS, study=hostile, taxonomy=hostile, dimensions=[replace(SYMPTOM, title=hostile, reason=hostile)]
    )
    assert not re.search(r"(?<!\\)[$^{}]", as_markdown(paragraph(facts)))


def test_latex_takes_every_special_character_for_itself():
    told = escape_latex(SPECIALS)
    assert told == (
        r"50\% of\_C\# \& \textbackslash{}D \{x\} \textasciitilde{}\textasciicircum{}\$ "
        r"\textless{}a\textbar{}b\textgreater{} ``q''"
    )
    facts = replace(
        FACTS, study=SPECIALS, taxonomy=SPECIALS, dimensions=[replace(SYMPTOM, title=SPECIALS, reason=SPECIALS)]
    )
    document = as_latex(facts)
    bare = re.sub(r"\\textbackslash\{\}|\$\\[a-z]+\$|\\[\\%#&_{}$]", "", document)
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
    assert r"\multicolumn{6}{l}{\emph{Symptom: Cohen's $\kappa$, threshold 0.80}}" in latex(FACTS)
    assert "    headline & 120 & 2 & 0.812 & {[}0.770, 0.850{]} & 0.950 \\\\" in latex(FACTS)


def test_markdown_shows_specials_as_they_are():
    facts = replace(FACTS, taxonomy="*a* [b] <i>", dimensions=[replace(SYMPTOM, title="a|b")])
    assert r"\*a\* \[b\] \<i\>" in as_markdown(paragraph(facts))
    assert r"| a\|b |" in markdown_table(facts)
    assert r"\<i\>" in checklist_as_markdown(facts)
    assert checklist_as_markdown(FACTS).count("- [x]") == 16
