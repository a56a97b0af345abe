"""The mistakes that researchers make in a document, each told where it is and with the way to mend it."""

import json

import pytest

from taxonomy.checking import load
from taxonomy.errors import DocumentProblem, InvalidDocument, UnreadableDocument

RIGHT = """\
slug: s
title: T
dimensions:
  - key: kind
    title: Kind
    kind: single
    categories:
      - key: fault
        name: Fault
      - key: how-to
        name: How-to question
"""
CONDITION = RIGHT + "  - {key: x, title: X, kind: text, applies_when: kind=fault}\n"


def problems(text: str) -> tuple[DocumentProblem, ...]:
    with pytest.raises((InvalidDocument, UnreadableDocument)) as caught:
        load(text)
    found: tuple[DocumentProblem, ...] = caught.value.problems
    return found


# What is written, what is written instead of it, the line and column that are named, and words of the sentence.
MISTAKES = [
    ("    title: Kind", "      title: Kind", 5, 12, "indented deeper than the field above it"),
    ("        name: Fault", "       name: Fault", 9, 8, "begin it in column 9 if it goes on with line 8"),
    (
        "      - key: how-to\n  ",
        "    - key: how-to\n",
        10,
        5,
        "this “- ” stands in column 5, the one before it in column 7",
    ),
    ("        name: Fault", "\tname: Fault", 9, 1, "a tab is here; indent with blanks"),
    ("        name: Fault", "\u00a0       name: Fault", 9, 1, "a blank of another kind (U+00A0)"),
    ("title: Kind", "title: Kind: of issue", 5, 16, "such as title: 'Kind: of issue'"),
    ("name: Fault", "name:Fault", 9, 9, "a blank is missing after the colon; write name: Fault"),
    ("- key: how-to", "-key: how-to", 10, 7, "a blank is missing after “-”; write - key: how-to"),
    ("name: Fault", "name: 'Fault", 9, 15, "the quote ' that opens here is never closed"),
    ("name: Fault", "name: 'It's broken'", 9, 19, "such as name: 'It''s broken'"),
    ("name: Fault", "name: Fault\n        include: [a, b", 11, 12, "the bracket [ of line 10 is never closed; add ]"),
    ("name: Fault", "name: @Fault", 9, 15, "text can't begin with @; put it in quotes, such as name: '@Fault'"),
    ("name: Fault", "name: > 5 GB", 9, 17, "text can't begin with >; put it in quotes, such as name: '> 5 GB'"),
    ("name: Fault", 'name: "C:\\path"', 9, 19, "put the text in single quotes"),
    ("name: Fault", "name: *Fault*", 9, 15, "in quotes if it begins with *"),
    ("name: Fault", "name: #1", 9, 9, "in quotes if it begins with “#”"),
    (
        "name: Fault",
        "name: Fault\n        name: Error",
        10,
        9,
        "it is already in line 9. Remove one, or begin the next",
    ),
    ("name: Fault", "name: Fault\n        include: a hang, or two", 10, 18, "write ['a hang, or two']"),
    ("name: Fault", "name: Fault\n        include: [a: b]", 10, 19, "put one that contains “: ” in quotes: 'a: b'"),
    (
        "name: Fault",
        "name: Fault\n        include: [a, ]\n        exclude: ['']",
        11,
        19,
        "An empty entry. Remove it",
    ),
    ("name: Fault", "name: Fault\n        description: x", 10, 9, "Did you mean “definition”?"),
    ("name: Fault", "name: Fault\n        help: x", 10, 9, "“help” is a field of a dimension; check how far"),
    ("key: fault\n        name: Fault", "name: Fault (any)", 8, 9, "add “key: fault-any”"),
    ("key: how-to", "key: How to", 10, 14, "such as “how-to”"),
    ("key: how-to", "key: true", 10, 14, "write it in quotes: 'true'"),
    ("kind: single", "kind: multiple choice", 6, 11, "Did you mean “multi”?"),
    ("kind: single", "kind: Single", 6, 11, "Did you mean “single”?"),
    ("kind: single", "kind:", 6, 5, "The kind is missing"),
    ("kind: single", "kind: boolean", 7, 5, "A boolean dimension has no categories"),
    ("name: How-to question", "name: FAULT", 11, 15, "has the name “FAULT” (line 9). Choose another"),
    ("How-to question\n", "H\n        categories: [{key: fault, name: F}]\n", 12, 28, "has the key “fault” (line 8)"),
    (RIGHT[RIGHT.index("\n      - ") :], " [Fault]\n", 7, 18, "write {key: fault, name: Fault}"),
    (RIGHT[RIGHT.index("      - ") :], "      fault: Fault\n", 8, 7, "write - {key: fault, name: Fault}"),
]


@pytest.mark.parametrize("mistake", MISTAKES, ids=[mistake[4] for mistake in MISTAKES])
def test_a_mistake_is_told_once_where_it_is_and_how_to_mend_it(mistake: tuple[str, str, int, int, str]) -> None:
    old, new, line, column, words = mistake
    assert RIGHT.count(old) >= 1
    (problem,) = problems(RIGHT.replace(old, new, 1))
    assert words in problem.sentence
    assert (problem.line, problem.column) == (line, column), problem


@pytest.mark.parametrize("condition", ["kind=fault", "kind is fault", "{kind: fault}", "{kind: [fault]}"])
def test_a_condition_in_other_words_is_shown_as_it_is_written(condition: str) -> None:
    (problem,) = problems(CONDITION.replace("kind=fault", condition))
    assert "write {dimension: kind, is: [fault]}" in problem.sentence
    load(CONDITION.replace("kind=fault", "{dimension: kind, is: [fault]}"))


@pytest.mark.parametrize("mistake", [each for each in MISTAKES if "such as " in each[4] and ": '" in each[4]], ids=str)
def test_what_a_sentence_shows_can_be_written(mistake: tuple[str, str, int, int, str]) -> None:
    old, new, _, _, words = mistake
    load(RIGHT.replace(old, new, 1).replace(new, words.partition("such as ")[2]))


def test_json_that_breaks_off_names_the_text_that_is_not_closed() -> None:
    (problem,) = problems('{"slug": "s",\n "title": "T')
    assert (problem.line, problem.column) == (2, 11)
    assert "has no closing quote" in problem.sentence


def test_a_document_with_more_mistakes_than_are_told_is_left_at_that() -> None:
    whole = {"slug": "s", "title": "T", "dimensions": [{"key": "d", "title": "D", "kind": "single", "categories": []}]}
    whole["dimensions"][0]["categories"] = [{} for _ in range(20_000)]  # type: ignore[index]
    assert len(problems(json.dumps(whole))) == 100
