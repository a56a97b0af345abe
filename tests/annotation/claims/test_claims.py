"""Every sentence of the texts for papers is borne out by exported rows, and sixty lies are each caught."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from django.db import transaction

from annotation.imports.actions.ratings import import_ratings
from annotation.methods import Facts, Sentence, as_text, checklist_as_document, latex, sentences
from annotation.methods.outline import paragraph
from annotation.models import Study
from taxonomy.queries import forget_trees
from tests import builders as make
from tests.annotation.claims.analyses import Analyses
from tests.annotation.claims.checker import Checker
from tests.annotation.claims.lies import CHECK, FACTS, GOLD_LIES, LIES, SENTENCE
from tests.annotation.claims.rows import Exported
from tests.annotation.claims.studies import (
    Made,
    associated_study,
    everything_study,
    exported,
    gold_study,
    random_study,
    repeated_study,
    screened_study,
    staffed_study,
)

checklist_module = import_module("annotation.methods.checklist")
pytestmark = pytest.mark.django_db

SEEDS = [pytest.param(seed, marks=() if seed < 2 else pytest.mark.soak) for seed in range(20)]


def complaints(rows: Exported, facts: Facts) -> list[str]:
    """What the checker can't trace in the paragraph, the checklist and the table of these facts."""
    found = [f"paragraph: {each}" for each in Checker(rows).paragraph(as_text(paragraph(facts)))]
    found += [f"checklist: {each}" for each in Checker(rows).checklist(checklist_as_document(facts))]
    return found + [f"table: {each}" for each in Checker(rows).latex(latex(facts))]


@pytest.mark.slow
@pytest.mark.parametrize("seed", SEEDS)
def test_every_claim_about_a_random_study_is_borne_out(seed: int) -> None:
    made = exported(random_study(seed))
    assert complaints(made.rows, made.facts) == []
    assert Checker(made.rows).readme(made.readme) == []
    for kind, question, title, key, text in made.analyses:
        assert Analyses(made.rows).table(kind, question, title, key, text) == [], (question, text)


SHEET = "item,rater,symptom\n" + "\n".join(
    f"{item},{rater},{value}"
    for item, values in {"a": "xx x", "b": "xy x", "c": "yyy", "d": "xy", "e": "x"}.items()
    for rater, value in zip(("ann", "bo", "final"), values.replace(" ", ""), strict=False)
)


def test_every_claim_about_a_study_from_a_sheet_is_borne_out() -> None:
    import_ratings(
        user=make.user("olga"),
        study="sheet",
        file=SHEET.encode(),
        name="sheet.csv",
        dimensions=["symptom"],
        create=True,
    )
    made = exported(Study.objects.get(slug="sheet"))
    assert complaints(made.rows, made.facts) == []
    assert Checker(made.rows).readme(made.readme) == []
    independent = replace(made.facts, waves=[replace(each, n_from_sheets=0) for each in made.facts.waves])
    assert complaints(made.rows, independent)


LIES_OF_PEOPLE: list[tuple[str, Callable[[Any], Any]]] = [
    ("by_rater.0", lambda each: (each[0], each[1] + 1)),
    ("turnover", lambda each: each[:-1]),
    ("turnover.0.n_waiting", lambda n: n + 1),
    ("turnover.0.rater", lambda code: "R3"),
    ("turnover.0.given", lambda given: [("R1", 99)]),
    ("turnover.1.what", lambda what: "rejoined"),
    ("turnover.2.what", lambda what: "joined"),
    ("n_third_asked", lambda n: n - 1),
    ("n_third_by_hand", lambda n: 0),
    ("n_third_withdrawn", lambda n: n + 1),
    ("migrated.n_relabeled", lambda n: n + 1),
    ("migrated.n_without", lambda n: n - 1),
    ("migrated.version", lambda n: 1),
    ("migrated", lambda each: replace(each, n_labels=each.n_labels + 1)),
    ("dimensions.0.left_out.0", lambda each: (each[0], each[1] + 9)),
]


@pytest.mark.slow
def test_who_left_who_was_asked_and_what_was_migrated_is_borne_out_and_lies_about_it_are_caught() -> None:
    made = exported(staffed_study(), resamples=10)
    text = as_text(paragraph(made.facts))
    for words in ("R2 left round 1 with", "R4 joined round 1", "R2 rejoined round 1", "waited for another rater",
                  "planned for the item", "Third raters received 4 requests", "no value in that version"):  # fmt: skip
        assert words in text, text
    assert complaints(made.rows, made.facts) == []
    for path, change in LIES_OF_PEOPLE:
        assert complaints(made.rows, with_lie(made.facts, path.split("."), change)), path


SCREENING_LIES: list[tuple[str, Callable[[Any], Any]]] = [
    ("screened.n_items", lambda n: n + 1),
    ("screened.raters", lambda codes: [*codes, "R3"]),
    ("screened.rounds", lambda numbers: [2]),
    ("screened.agreement.value", lambda value: value + 0.1),
    ("screened.agreement.units", lambda n: n + 1),
    ("by_hand.n_items", lambda n: n + 1),
    ("by_hand.n_others", lambda n: n + 1),
    ("by_hand.n_by_others", lambda n: n - 1),
    ("by_hand.by", lambda by: [("R1", 1)]),
    ("controls.0.size", lambda n: n + 1),
    ("controls.0.n_frame", lambda n: n + 1),
    ("controls.0.n_kept", lambda n: n + 1),
    ("controls.0.n_most", lambda n: n + 1),
    ("controls.0.by", lambda by: "the filter"),
    ("controls.0.repositories", lambda names: ["acme/boat"]),
    ("controls.1.steps", lambda steps: ["locked"]),
    ("controls.2.n_most", lambda n: 1),
    ("controls.2.stratify_by", lambda by: "repository"),
    ("drawn.0.out", lambda out: [("Spam", 3), *out[1:]]),
    ("drawn.0.n_kept_again", lambda n: n + 1),
    ("drawn.0.out", lambda out: [("Dull", n) for _, n in out]),
    ("drawn.0.stand", lambda stand: [(words, n + 1) for words, n in stand]),
    ("drawn.0.coded", lambda coded: [(words, n + 1) for words, n in coded]),
    ("n_labeled_out", lambda n: n + 1),
    ("keeps_out", lambda is_so: not is_so),
]


@pytest.mark.slow
@pytest.mark.parametrize("screened_out", ["exclude", "keep"])
def test_what_screening_made_of_a_sample_is_borne_out_and_lies_about_it_are_caught(screened_out: str) -> None:
    made = exported(screened_study(screened_out), resamples=10)
    assert complaints(made.rows, made.facts) == []
    assert Checker(made.rows).readme(made.readme) == []
    for path, lie in SCREENING_LIES:
        facts = with_lie(made.facts, path.split("."), lie)
        assert texts(facts) != texts(made.facts) and complaints(made.rows, facts), path


REPEATED_LIES: list[tuple[str, Callable[[Any], Any]]] = [
    ("n_rated_before", lambda n: 3),
    ("read_before", lambda rounds: []),
    ("read_before.0.round", lambda number: 1),
    ("read_before.0.by", lambda by: [("R1", 3)]),
    ("read_before.0.by.0", lambda each: (each[0], 4)),
    ("read_before.0.items", lambda items: [1]),
    ("read_before.0.resolved", lambda by: [("R1", 1)]),
    ("n_third_skipped", lambda n: 0),
    ("decided.0.method", lambda way: "meeting"),
    ("decided.0.present", lambda codes: ["R1"]),
    ("decided.0.n_others", lambda n: 2),
    ("waves.0.n_withdrawn", lambda n: 0),
    ("waves.1.n_withdrawn", lambda n: 1),
    ("n_models_shown", lambda n: 0),
    ("n_models_shown", lambda n: 2),
    ("n_otherwise", lambda n: 0),
    ("n_otherwise", lambda n: n + 1),
    ("n_items_otherwise", lambda n: 2),
    ("n_items_apart", lambda n: 0),
    ("n_items_apart", lambda n: 2),
]


@pytest.mark.slow
def test_what_was_read_before_withdrawn_and_skipped_is_borne_out_and_lies_about_it_are_caught() -> None:
    made = exported(repeated_study(), resamples=10)
    text = as_text(paragraph(made.facts))
    for words in (
        "In round 1, 1 unfinished assignment was withdrawn. Third raters skipped 1 assignment.",
        "Four items had been labeled in an earlier round by at least one of the same raters. Before labeling items in "
        "round 2, R1 (3 items) and R2 (4 items) could read labels that others had given to these items in other rounds",
        "though raters could read earlier labels of 4 items, was",
        "Four submissions of 15 (for 1 item) were made on another snapshot of the issue than the one pinned",
        "For 1 item, those who entered resolutions could see labels of model raters before that.",
        "For 1 item, raters of the same round read different snapshots; agreement includes their labels.",
        "1 in meetings without a rater of the item, as reported in Concord (R4 and 1 other person).",
    ):
        assert words in text, text
    assert complaints(made.rows, made.facts) == []
    tables = made.rows.tables
    otherwise = {row["item"]: row["n_answers_on_other_states"] for row in tables["items"]}
    assert otherwise == {f"acme/rocket#{n}": "4" if n == 3 else "0" for n in range(1, 5)}
    read = {(row["rater"], row["snapshot"]) for row in tables["ratings"] if row["item"] == "acme/rocket#3"}
    assert len(read) == 3 and read < {(row["rater"], row["snapshot"]) for row in tables["answers"]}
    for path, change in REPEATED_LIES:
        assert complaints(made.rows, with_lie(made.facts, path.split("."), change)), path


@pytest.fixture(scope="module")
def made(django_db_setup: None, django_db_blocker: Any) -> Made:
    """One study in which most sentences occur, whose rows are gone again."""
    with django_db_blocker.unblock(), transaction.atomic():
        found = exported(everything_study())
        transaction.set_rollback(True)
    forget_trees()
    return found


def test_nothing_false_is_said_of_the_study_that_is_lied_about(made: Made) -> None:
    assert complaints(made.rows, made.facts) == []


@pytest.mark.parametrize(
    ("what", "lie"),
    [
        (r"labeled by (\d+) rater", "labeled by 9 rater"),
        (r"\| `data/ratings` \| \d+ \|", "| `data/ratings` | 7 |"),
        (r"\d+ agreed labels?", "9,999 agreed labels"),
        (r"n<1K", "1K<n<10K"),
        (r"made with Concord [\d.]+\d", "made with Concord 9.9"),
        (r"Raters skipped", "Raters never skipped"),
    ],
)
def test_a_lie_in_the_readme_is_caught(made: Made, what: str, lie: str) -> None:
    assert Checker(made.rows).readme(made.readme) == []
    told, n = re.subn(what, lie, made.readme)
    assert n and Checker(made.rows).readme(told)


def test_tables_of_counts_and_their_captions_are_borne_out_and_lies_in_them_are_caught(made: Made) -> None:
    assert len(made.counts) == 3
    for text, key in zip(made.counts.values(), ("kind", "symptom", "stage"), strict=True):
        assert Checker(made.rows).counts(key, text) == []
        for what, lie in ((r"caption\{(.*?)\. \d+ part", r"caption{\1. 99 part"), (r"of (\d+) items", "of 99 items")):
            told, n = re.subn(what, lie, text)
            assert n and Checker(made.rows).counts(key, told)


def test_a_row_under_a_wrong_interval_method_is_caught(made: Made) -> None:
    caption = latex(made.facts)
    told = re.sub(r"(Confidence intervals for .*?) and ([^(]*?)( \\(.*?\\))? are", r"\1 are", caption, count=1)
    assert told != caption and Checker(made.rows).latex(told)
    told = caption.replace("(round 1)", "(headline)", 1)
    assert told != caption and Checker(made.rows).latex(told)


NUMBER = re.compile(r"(?<![\w#.:])(\d[\d,]*(?:\.\d+)?)(?![\w}])")
"""A number in a caption or a cell, but none in a name."""
METHOD = re.compile(r"Analysis $|are below $|none below $")
"""What stands before numbers that say how something is computed, and not what came out."""


def test_every_number_of_cross_tables_flows_and_saturations_is_borne_out_and_a_lie_in_any_of_them_is_caught() -> None:
    made = exported(associated_study(), resamples=10)
    assert {key.partition("-")[0] for *_, key, _ in made.analyses} == {"crosstab", "residuals", "flow", "saturation"}
    texts = " ".join(text for *_, text in made.analyses)
    for words in ("degrees of freedom", "exact permutation", "tables drawn", "uparrow", "Fisher's exact test of each"):
        assert words in texts, words
    checker, n_lies = Analyses(made.rows), 0
    for kind, question, title, key, text in made.analyses:
        assert checker.table(kind, question, title, key, text) == [], text
        for found in NUMBER.finditer(text):
            before = text[: found.start()]
            if METHOD.search(before[-20:]) or text[found.end() :].startswith((r"\% CI", " after Holm")):
                continue
            lie = f"{float(found[1].replace(',', '')) + 1:.{len(found[1].partition('.')[2])}f}"
            told = before + lie + text[found.end() :]
            assert checker.table(kind, question, title, key, told), (told[:2000], found[1])
            n_lies += 1
    assert n_lies > 150


def with_lie(facts: Any, path: list[str], change: Callable[[Any], Any]) -> Any:
    """The facts with one of them changed."""
    if not path:
        return change(facts)
    name, *rest = path
    if isinstance(facts, Mapping):
        return {**facts, int(name): with_lie(facts[int(name)], rest, change)}
    if isinstance(facts, Sequence):
        place = int(name)
        return [with_lie(each, rest, change) if at == place else each for at, each in enumerate(facts)]
    return replace(facts, **{name: with_lie(getattr(facts, name), rest, change)})


def lying(function: Callable[..., Any], what: str, words: str) -> Callable[..., Any]:
    """The function of a template with other words in what it gives."""

    def told(given: Any) -> Any:
        if isinstance(given, Sentence):
            return replace(given, text=given.text.replace(what, words))
        return [told(each) for each in given] if isinstance(given, list) else given

    return lambda *given, **more: told(function(*given, **more))


@pytest.mark.parametrize("lie", [pytest.param(lie, id=f"{at}-{lie[1]}") for at, lie in enumerate(LIES)])
def test_a_lie_is_caught(made: Made, monkeypatch: pytest.MonkeyPatch, lie: tuple[str, str, Any, Any]) -> None:
    kind, where, what, words = lie
    facts = made.facts
    before = texts(facts)
    if kind == FACTS:
        facts = with_lie(facts, where.split("."), words)
    elif kind == SENTENCE:
        monkeypatch.setattr(sentences, where, lying(getattr(sentences, where), what, words))
    else:
        changed = [
            (key, level, asks, answering(answer, what, words) if key == where else answer)
            for key, level, asks, answer in checklist_module.QUESTIONS
        ]
        monkeypatch.setattr(checklist_module, "QUESTIONS", changed)
    assert texts(facts) != before, "the lie is not in the texts"
    assert complaints(made.rows, facts)


@pytest.mark.slow
def test_nothing_false_is_said_of_training_items_and_each_lie_about_them_is_caught(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made = exported(gold_study(), resamples=10)
    assert complaints(made.rows, made.facts) == []
    for kind, where, what, words in GOLD_LIES:
        facts, before = made.facts, texts(made.facts)
        with monkeypatch.context() as patch:
            if kind == FACTS:
                facts = with_lie(facts, where.split("."), words)
            else:
                patch.setattr(sentences, where, lying(getattr(sentences, where), what, words))
            assert texts(facts) != before and complaints(made.rows, facts), where


def answering(function: Callable[..., Any], what: str, words: str) -> Callable[..., Any]:
    """The function of a question with other words in its evidence."""

    def told(facts: Facts) -> tuple[str, str, str]:
        answer, evidence, mend = function(facts)
        return answer, evidence.replace(what, words), mend

    return told


def texts(facts: Facts) -> tuple[Any, ...]:
    return as_text(paragraph(facts)), checklist_as_document(facts), latex(facts)


def test_there_are_sixty_lies_of_all_kinds() -> None:
    assert len(LIES) >= 60 and {kind for kind, *_ in LIES} == {FACTS, SENTENCE, CHECK}


def test_the_checker_shares_no_code_with_what_it_checks() -> None:
    folder = Path(__file__).parent
    for name in ("__init__", "rows", "statistics", "checker", "analyses"):
        imported = re.findall(
            r"^(?:from|import) (\w+)", (folder / f"{name}.py").read_text(encoding="utf-8"), re.MULTILINE
        )
        assert not {"accounts", "agreement", "annotation", "config", "django", "ingest", "shared", "taxonomy"} & set(
            imported
        )
