"""Sixty lies, as data: (where, what, replacement), in the facts or in a sentence of a template; each must be caught.

A path of facts leads through attributes and places (`waves.0.n_items`); a template is a function of
`annotation.methods.sentences` (or of the checklist), in whose text `what` is replaced.
"""

from datetime import date
from typing import Any

FACTS, SENTENCE, CHECK = "facts", "sentence", "check"
Lie = tuple[str, str, Any, Any]

GOLD_LIES: list[Lie] = [
    (FACTS, "n_training", None, lambda n: n + 1),
    (FACTS, "n_proposals", None, lambda n: 1),
    (FACTS, "tries.0.n_right", None, lambda n: n + 1),
    (FACTS, "tries.1.n_items", None, lambda n: n + 1),
    (FACTS, "tries.0.n_skipped", None, lambda n: 0),
    (FACTS, "tries", None, lambda tries: tries[:1]),
    (FACTS, "waves.0.minimum.reached", None, lambda codes: [*codes, "R3"]),
    (FACTS, "waves.0.minimum.let_in", None, lambda those: []),
    (FACTS, "waves.0.minimum.words", None, lambda words: words.replace("60%", "90%")),
    (SENTENCE, "minimum", "for the stated reason", "without any reason"),
    (SENTENCE, "tries", "Before the feedback", "After the feedback"),
]
"""Those about a study with training items, a minimum on them, a second try and someone who was let in."""
LIES: list[Lie] = [
    # Counts in the facts
    (FACTS, "n_items", None, lambda n: n + 1),
    (FACTS, "n_items", None, lambda n: n - 1),
    (FACTS, "n_double", None, lambda n: n - 1),
    (FACTS, "n_double", None, lambda n: n + 1),
    (FACTS, "n_by_hand", None, lambda n: n + 2),
    (FACTS, "n_changed", None, lambda n: n + 1),
    (FACTS, "n_proposals", None, lambda n: n + 1),
    (FACTS, "n_resolvers_without_labels", None, lambda n: n + 1),
    (FACTS, "waves.0.n_items", None, lambda n: n + 1),
    (FACTS, "waves.1.n_items", None, lambda n: n - 1),
    (FACTS, "waves.0.n_skipped", None, lambda n: n + 3),
    (FACTS, "waves.1.n_answers", None, lambda n: n + 2),
    (FACTS, "n_training", None, lambda n: 2),
    (FACTS, "n_matched", None, lambda n: n + 1),
    (FACTS, "n_matched", None, lambda n: 0),
    (SENTENCE, "matched", "who could see", "who could not see"),
    (FACTS, "drawn.0.size", None, lambda n: n + 1),
    (FACTS, "drawn.0.n_frame", None, lambda n: n + 1),
    (FACTS, "drawn.0.n_found", None, lambda n: n + 5),
    (FACTS, "drawn.0.seed", None, lambda n: n + 1),
    (FACTS, "decided.0.n", None, lambda n: n + 1),
    (FACTS, "dimensions.0.n_categories", None, lambda n: n + 1),
    (FACTS, "dimensions.0.before.units", None, lambda n: n + 1),
    (FACTS, "dimensions.1.left_out.0", None, lambda pair: (pair[0], pair[1] + 1)),
    # Values in the facts
    (FACTS, "dimensions.0.before.value", None, lambda value: value + 0.06),
    (FACTS, "dimensions.1.before.value", None, lambda value: 0.95),
    (FACTS, "dimensions.0.before.low", None, lambda value: value + 0.1),
    (FACTS, "dimensions.0.before.high", None, lambda value: value - 0.1),
    (FACTS, "dimensions.0.after.value", None, lambda value: value + 0.2),
    (FACTS, "dimensions.0.by_round.1.value", None, lambda value: value + 0.02),
    (FACTS, "dimensions.0.threshold", None, lambda value: 0.1),
    (FACTS, "dimensions.2.threshold", None, lambda value: 0.7),
    (FACTS, "dimensions.0.words", None, lambda words: [("landis_koch", "almost perfect", "substantial")]),
    # Names
    (FACTS, "study", None, lambda title: "Another study"),
    (FACTS, "taxonomy", None, lambda title: "Another taxonomy"),
    (FACTS, "raters", None, lambda codes: [*codes, "R3"]),
    (FACTS, "raters", None, lambda codes: ["R1", "R9"]),
    (FACTS, "software", None, lambda name: "Concord 9.9.9"),
    (FACTS, "dimensions.0.coefficient", None, lambda name: "gwet_ac1"),
    (FACTS, "dimensions.0.reason", None, lambda words: "It gives the best value"),
    (FACTS, "dimensions.0.title", None, lambda title: "Symptom"),
    (FACTS, "decided.0.method", None, lambda way: "discussion"),
    (FACTS, "decided.0.method", None, lambda way: "third_rater"),
    # Dates and rounds
    (FACTS, "dimensions.0.fixed_on", None, lambda day: date(2020, 1, 1)),
    (FACTS, "headline_fixed_on", None, lambda day: date(2020, 1, 1)),
    (FACTS, "headline_fixed_on", None, lambda day: None),
    (FACTS, "headline", None, lambda rounds: [1, 2]),
    (FACTS, "waves.0.kind", None, lambda kind: "main"),
    (FACTS, "waves.1.version", None, lambda number: 2),
    (FACTS, "waves.1.is_resolving", None, lambda is_so: False),
    # Adverbs, and what was fixed beforehand, in the facts
    (FACTS, "dimensions.2.is_fixed", None, lambda is_so: True),
    (FACTS, "dimensions.0.is_fixed", None, lambda is_so: False),
    (FACTS, "dimensions.2.is_default", None, lambda is_so: False),
    (FACTS, "has_guidelines", None, lambda is_so: True),
    # Templates
    (SENTENCE, "blind", "could not see each other’s labels", "worked independently and blind"),
    (SENTENCE, "blind", "could not see", "could never see"),
    (SENTENCE, "fixed", "before labeling began", "long before labeling began"),
    (SENTENCE, "not_fixed", "was not registered beforehand", "was registered beforehand"),
    (SENTENCE, "not_fixed", "the default of the software; it was not registered", "and was registered"),
    (SENTENCE, "resolved", "by adjudication", "after discussion"),
    (SENTENCE, "resolved", "by adjudication", "by the majority of the raters"),
    (SENTENCE, "labeled", "labeled", "independently labeled"),
    (SENTENCE, "double_coded", "two or more", "three or more"),
    (SENTENCE, "drawn", "at random", "entirely at random"),
    (SENTENCE, "agreement", "before discussion", "after discussion"),
    (SENTENCE, "agreement", ", which is no measure of reliability", ""),
    (SENTENCE, "headline", "before it was opened", "before any label was given"),
    (SENTENCE, "few_units", "fewer than 5 units", "fewer than 30 units"),
    (SENTENCE, "computed", "Korn and Graubard 1998", "Clopper and Pearson 1934"),
    (SENTENCE, "entered_by", "who did not label", "who labeled"),
    (SENTENCE, "gate", "opened after", "opened although"),
    (SENTENCE, "by_round", "pilot round", "round"),
    (SENTENCE, "revised", "could see", "discussed"),
    (SENTENCE, "threshold", "is below", "reaches"),
    (CHECK, "independent", "could not see", "never saw"),
    (CHECK, "fixed", "Registered before labeling began", "Registered long before labeling began"),
    (FACTS, "n_defined", None, lambda n: n + 1),
    (CHECK, "materials", "The table has", "The scheme has definitions. The table has"),
    (CHECK, "discussed", "No discussion is recorded", "No long discussion is recorded"),
]
