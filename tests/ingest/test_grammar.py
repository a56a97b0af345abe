"""What a search is read as, and what is rejected, by name and with the way to mend it."""

from datetime import UTC, datetime
from typing import Any

import pytest

from ingest.search.grammar import (
    LONGEST_SEARCH,
    NOT_STORED,
    TERMS_MOST,
    Condition,
    Range,
    SearchError,
    Term,
    read_search,
)
from ingest.search.suggestions import suggest


def day(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


@pytest.mark.parametrize(
    ("typed", "read"),
    [
        ("", {}),
        ("  hang\tNCCL ", {"terms": (Term("hang"), Term("nccl"))}),
        ('"Out of  Memory"', {"terms": (Term("out of  memory", is_phrase=True),)}),
        (r'"say \"hi\""', {"terms": (Term('say "hi"', is_phrase=True),)}),
        ('-docs -"a b"', {"without": (Term("docs"), Term("a b", is_phrase=True))}),
        ("--verbose - 5-3", {"terms": (Term("--verbose"), Term("-"), Term("5-3"))}),
        ("std::vector https://x.org Error: a.py:12 :)", {
            "terms": tuple(map(Term, ("std::vector", "https://x.org", "error:", "a.py:12", ":)")))
        }),
        ("#123", {"number": 123}),
        ("123", {"terms": (Term("123"),)}),
        ("a or b", {"terms": (Term("a"), Term("or"), Term("b"))}),
        ("x in:title,comments", {"terms": (Term("x"),), "places": ("title", "comments")}),
        ("is:open -state:closed IS:Locked", {
            "conditions": (Condition("is", ("open",)), Condition("state", ("closed",), is_negated=True),
                           Condition("is", ("locked",)))
        }),
        ('label:Bug,"good first issue" label:x', {
            "conditions": (Condition("label", ("Bug", "good first issue")), Condition("label", ("x",)))
        }),
        ("author:ann author:app/dependabot", {"conditions": (Condition("author", ("ann", "dependabot[bot]")),)}),
        ("repo:a/b", {"conditions": (Condition("repo", (("github.com", "a", "b"),)),)}),
        ("created:2024-02-29", {"conditions": (Condition("created", (Range(day("2024-02-29"), day("2024-03-01")),)),)}),
        ("closed:>2024-01-31", {"conditions": (Condition("closed", (Range(day("2024-02-01"), None),)),)}),
        ("updated:<=2024", {"conditions": (Condition("updated", (Range(None, day("2025-01-01")),)),)}),
        ("created:2023-12..2024-01-05", {
            "conditions": (Condition("created", (Range(day("2023-12-01"), day("2024-01-06")),)),)
        }),
        ("created:>=2024-01-01T10:00:00Z", {
            "conditions": (Condition("created", (Range(day("2024-01-01T10:00:00"), None),)),)
        }),
        ("comments:5..* -comments:<2", {
            "conditions": (Condition("comments", (Range(5, None),)), Condition("comments", (Range(None, 2),), True))
        }),
        ("no:label", {"conditions": (Condition("no", ("label",)),)}),
        ("sort:created sort", {"sort": "-created", "terms": (Term("sort"),)}),
        ("sort:comments-asc", {"sort": "comments"}),
    ],
)  # fmt: skip
def test_a_search_is_read(typed: str, read: dict[str, Any]) -> None:
    found = read_search(typed)
    usual = {"number": None, "terms": (), "without": (), "places": ("title", "body"), "conditions": (), "sort": ""}
    assert {name: getattr(found, name) for name in usual} == usual | read


@pytest.mark.parametrize(
    ("typed", "suggested"),
    [
        ("", []),
        ("hang la", ["hang label:"]),
        ("hang -c", ["hang -created:", "hang -closed:", "hang -comments:"]),
        ("is:lo", ["is:locked", "is:closed", "is:unlocked"]),
        ("label:b", ["label:bug", 'label:"Big thing"', "label:web"]),
        ('x label:"big t', ['x label:"Big thing"']),
        ("repo:a", ["repo:a/b"]),
        ('"is:', []),
        ("std::ve", []),
        (f"a:{'b' * 5_000} x y", []),  # one walk, whatever was typed
        (f"{'label:' * 2_000}", []),
    ],
)
def test_a_search_that_is_typed_is_completed(typed: str, suggested: list[str]) -> None:
    known = {"label": ["bug", "Big thing", "web"], "repo": ["a/b"]}
    found = suggest(typed, known)
    assert [each.search for each in found] == suggested
    assert all(each.means for each in found)
    for each in suggested:
        assert each.endswith(":") or read_search(each)


@pytest.mark.parametrize(
    ("typed", "sentences"),
    [
        ("lable:bug", ["Unknown qualifier “lable:”.", "Did you mean “label:”?", 'quote it: "lable:bug"']),
        ("zzzzzz:1", ["Unknown qualifier “zzzzzz:”.", "Use one of is:, state:, label:"]),
        ("assignee:ann", [f"“assignee:” can't be searched. {NOT_STORED['assignee']}"]),
        ("no:milestone", [f"“no:milestone” is not valid. {NOT_STORED['milestone']}"]),
        ("no:author", ["Write label."]),
        ("is:pr", ["Concord stores issues, not pull requests."]),
        ("is:nice", ["Write open, closed, locked"]),
        ("state:", ["“state:” has no value. Write state:open."]),
        ("label:a,", ["“label:” has no value."]),
        ('hang "out of', ["The quotation mark at character 6 is not closed."]),
        ('""', ["are empty"]),
        ("created:yesterday", ["“created:yesterday” is not valid. Enter a day such as 2024-05-31"]),
        ("created:2023-02-29", ["This day does not exist."]),
        ("created:*..*", ["at least one end"]),
        ("comments:many", ["Enter a whole number"]),
        ("author:@me", ["Enter a login."]),
        ("repo:rocket", ["Write owner/name."]),
        ("x in:code", ["Write title, body or comments."]),
        ("x -in:title", ["can't be negated"]),
        ("in:title", ["Add a word or a quoted phrase."]),
        ("sort:stars", ["Use one of created-desc"]),
        ("sort:created sort:updated", ["once"]),
        ("a " * (TERMS_MOST + 1), [f"at most {TERMS_MOST} words"]),
        ("a" * (LONGEST_SEARCH + 1), ["at most 2,000 characters"]),
    ],
)
def test_what_cannot_be_read_is_rejected_by_name(typed: str, sentences: list[str]) -> None:
    with pytest.raises(SearchError) as rejected:
        read_search(typed)
    assert all(sentence in str(rejected.value) for sentence in sentences), str(rejected.value)
