"""A filter, word by word and all together: what each keeps, what it counts, and what it refuses."""

from datetime import UTC, date, datetime
from typing import Any

import pytest
from ruamel.yaml import YAML

from ingest import filters
from ingest.errors import Invalid
from ingest.filters import frames
from ingest.models import ClosingChange, Comment, Issue, Repository, Snapshot, SnapshotComment, Unsearchable
from ingest.search import indexing
from ingest.selections import selection, selections
from ingest.upsert.spellings import store_spellings
from shared import chunks
from tests import builders as make
from tests.asserts import assert_queries

pytestmark = pytest.mark.django_db


def day(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def issue(number: int, repository: str = "acme/rocket", *, comments: tuple[str, ...] = (), **changes: Any) -> Issue:
    """An issue whose snapshot has these values; `issue_` before a name says that it is the issue's own."""
    (made,) = make.issues(1, repository, first=number)
    own = {name.removeprefix("issue_"): changes.pop(name) for name in list(changes) if name.startswith("issue_")}
    said = {"state": "open", "title": "T", "body": "B", "n_comments": len(comments), "github_labels": []} | changes
    values = {field.attname: getattr(made.current_snapshot, field.attname) for field in Snapshot._meta.concrete_fields}
    values |= said | {"sha256": f"{made.pk:032x}{made.pk:032x}", "id": None}
    snapshot = Snapshot.objects.create(**values)
    for position, body in enumerate(comments, start=1):
        comment = Comment.objects.create(sha256=f"{snapshot.pk:032x}{position:032x}", body=body)
        SnapshotComment.objects.create(snapshot=snapshot, comment=comment, position=position)
    Issue.objects.filter(pk=made.pk).update(current_snapshot=snapshot, **own)
    return Issue.objects.get(pk=made.pk)


def left(filter: dict[str, Any], **more: Any) -> list[int]:
    """The numbers of the issues that a filter leaves, in the frame's order."""
    found = filters.frame(filters.read(filter), Issue.objects.all(), **more)
    numbers = dict(Issue.objects.values_list("pk", "number"))
    return [numbers[pk] for pk in found.issues]


def counts(filter: dict[str, Any]) -> list[tuple[str, int]]:
    found = filters.frame(filters.read(filter), Issue.objects.all(), rows=False)
    return [(count.step, count.n) for count in found.counts]


@pytest.fixture
def many() -> None:
    """Eight issues that differ in everything a filter asks about."""
    one = issue(
        1, state="closed", state_reason="completed", github_labels=["bug", "nccl"], title="It hangs",
        body="A deadlock on `gpu`", created_at=day("2023-01-05"), closed_at=day("2023-02-01"), author_login="ann",
        comments=("waiting for the barrier",), issue_changes_known=True,
    )  # fmt: skip
    ClosingChange.objects.create(
        issue=one, kind="pull_request", identifier="acme/rocket#90", number=90, merged_at=day("2023-02-01")
    )
    two = issue(
        2, state="closed", state_reason="not_planned", github_labels=["bug"], created_at=day("2023-06-01"),
        author_login="dependabot[bot]", comments=("a", "b", "c"), issue_changes_known=True,
    )  # fmt: skip
    ClosingChange.objects.create(issue=two, kind="pull_request", identifier="acme/rocket#91", number=91)
    issue(3, github_labels=["docs"], created_at=day("2024-01-01"), issue_locked=True, issue_changes_known=True)
    issue(4, title="DEADLOCK", body="```\nbarrier\n```", issue_presence="deleted")
    issue(5, n_comments=None, issue_presence="transferred", issue_updated_at=day("2025-05-01"))
    issue(6, "acme/boat", locked=True, body="see https://x.org/deadlock")
    issue(7, "acme/boat", issue_updated_at=day("2022-01-01"), issue_locked=False)
    issue(8, "Acme/Boat2", state="")


@pytest.mark.usefixtures("many")
@pytest.mark.parametrize(
    ("filter", "numbers"),
    [
        ({}, [8, 6, 7, 1, 2, 3, 5]),
        ({"repository": "ACME/Rocket"}, [1, 2, 3, 5]),
        ({"repository": ["acme/boat", "https://github.com/acme/rocket"]}, [6, 7, 1, 2, 3, 5]),
        ({"repository": "acme/none"}, []),
        ({"state": "closed"}, [1, 2]),
        ({"state": "all"}, [8, 6, 7, 1, 2, 3, 5]),
        ({"state_reason": "completed"}, [1]),
        ({"state_reason": ["completed", "NOT_PLANNED"]}, [1, 2]),
        ({"labels": ["nccl", "docs"]}, [1, 3]),
        ({"labels_all": ["nccl", "bug"]}, [1]),
        ({"without_labels": "bug"}, [8, 6, 7, 3, 5]),
        ({"created_since": "2023-06-01"}, [2, 3]),
        ({"created_until": date(2023, 6, 1)}, [1]),
        ({"created_since": "2023-01-05T00:00:01Z", "created_until": "2023-12-31"}, [2]),
        ({"closed_since": "2023-02-01"}, [1]),
        ({"closed_until": "2023-02-01"}, []),
        ({"updated_since": "2025-01-01"}, [5]),
        ({"updated_until": "2023-01-01"}, [7]),
        ({"comments_at_least": 1}, [1, 2]),
        ({"comments_at_most": 1, "repository": "acme/rocket"}, [1, 3]),
        ({"comments_at_least": 2, "comments_at_most": 3}, [2]),
        ({"without_bots": True, "state": "closed"}, [1]),
        ({"without_bots": False, "state": "closed"}, [1, 2]),
        ({"locked": True}, [6, 3]),
        ({"locked": False}, [8, 7, 1, 2, 5]),
        ({"has_closing_change": True}, [1, 2]),
        ({"has_closing_change": "merged_pull_request"}, [1]),
        ({"has_closing_change": False}, [3]),
        ({"presence": "deleted"}, [4]),
        ({"presence": ["here", "deleted"], "repository": "acme/rocket"}, [1, 2, 3, 4]),
        ({"search": "DEADLOCK"}, [6, 1]),
        ({"search": "100%_"}, []),
        ({"keywords": ["deadlock"]}, [1]),
        ({"keywords": ["gpu"]}, []),
        ({"keywords": {"any": ["barrier"], "in": ["comments"]}}, [1]),
        ({"keywords": {"all": ["hangs", "barrier"], "in": ["title", "body", "comments"]}}, [1]),
        ({"keywords": {"all": ["hangs", "barrier"]}}, []),
        ({"keywords": {"none": ["hang*", "b"]}}, [6]),
        ({"labels": [], "search": "", "state": None, "keywords": []}, [8, 6, 7, 1, 2, 3, 5]),
        (
            {
                "repository": ["acme/rocket"], "state": "closed", "state_reason": "completed", "labels": ["bug"],
                "labels_all": ["nccl"], "without_labels": ["docs"], "created_since": "2023-01-01",
                "closed_until": "2024-01-01", "comments_at_least": 1, "without_bots": True,
                "has_closing_change": "merged_pull_request", "presence": ["here"], "locked": False,
                "search": "hangs", "keywords": {"any": ["dead*"], "in": ["body"]},
            },
            [1],
        ),
    ],
)  # fmt: skip
def test_each_word_keeps_what_it_says_and_all_go_together(filter: dict[str, Any], numbers: list[int]) -> None:
    assert left(filter) == numbers
    assert filters.frame(filters.read(filter), Issue.objects.all(), rows=False).counts[-1].n == len(numbers)


@pytest.mark.usefixtures("many")
def test_every_step_is_counted_and_nobody_twice() -> None:
    asked = {
        "keywords": ["deadlock", "hangs"],
        "labels": ["bug", "docs", "nccl"],
        "repository": ["acme/rocket", "Acme/ROCKET", "https://github.com/acme/rocket", "github.com/acme/rocket"],
    }
    assert counts(asked) == [
        ("all issues", 8),
        ("repository: acme/rocket", 5),
        ("not deleted at GitHub", 4),
        ("GitHub labels: bug, docs, nccl", 3),
        ("keywords: any of deadlock, hangs (in title or body)", 1),
    ]
    assert counts({"repository": "acme/boat"}) == [("all issues", 8), ("repository: acme/boat", 2)]


@pytest.mark.usefixtures("many")
def test_words_are_those_of_the_index_and_what_waits_for_it_is_read_itself() -> None:
    asked = ["deadlock", "deadlock -hangs", "b", "barrier in:comments", 'label:bug "B"', "is:closed author:ann"]
    wanted = [[6, 1], [6], [8, 7, 2, 3, 5], [1], [2], [1]]
    assert indexing.queue_what_is_missing() == 8
    assert [left({"words": each}) for each in asked] == wanted
    assert indexing.index() == 8
    assert [left({"words": each}) for each in asked] == wanted
    Unsearchable.objects.create(issue_id=Issue.objects.get(number=2).pk)
    assert [left({"words": each}) for each in asked] == wanted


@pytest.mark.usefixtures("many")
def test_labels_are_compared_without_case() -> None:
    store_spellings(["bug", "nccl", "docs"], [])
    assert left({"labels": ["BUG"]}) == [1, 2]
    assert left({"labels_all": ["Bug", "NCCL"]}) == [1]
    assert left({"without_labels": ["Bug"], "repository": "acme/rocket"}) == [3, 5]
    asked = filters.read({"repository": "acme/rocket", "labels": ["NCCL", "Docs"]})
    assert filters.frame(asked, Issue.objects.all(), stratify_by="label").strata == ["NCCL", "Docs"]


@pytest.mark.parametrize(
    ("words", "sentence"),
    [("lable:bug", "Did you mean “label:”?"), ("sort:created", "A frame has its own order.")],
)
def test_a_search_that_cannot_be_read_makes_no_frame(words: str, sentence: str) -> None:
    with pytest.raises(Invalid) as rejected:
        filters.frame(filters.read({"words": words}), Issue.objects.all())
    assert sentence in rejected.value.fields["filter.words"][0]


@pytest.mark.parametrize(
    ("filter", "field", "sentence"),
    [
        ({"lables": ["bug"]}, "filter.lables", "Did you mean labels?"),
        ({"created_after": "2023-01-01"}, "filter.created_after", "Did you mean created_since?"),
        ({"xyzzy": 1}, "filter.xyzzy", "Known: repository"),
        ({"repository": "rocket"}, "filter.repository", "“rocket” is not a repository. Enter it as owner/name."),
        ({"repository": 7}, "filter.repository", "Send text, or a list of texts."),
        ({"state": "shut"}, "filter.state", "Use open, closed or all."),
        ({"labels": [1]}, "filter.labels", "Send text, or a list of texts."),
        ({"search": ["a"]}, "filter.search", "Enter text."),
        ({"created_since": "yesterday"}, "filter.created_since", "Enter a date such as 2024-05-31."),
        ({"created_since": 20240531}, "filter.created_since", "Enter a date"),
        ({"comments_at_least": "3"}, "filter.comments_at_least", "Enter a whole number from 0."),
        ({"comments_at_least": True}, "filter.comments_at_least", "Enter a whole number from 0."),
        ({"locked": "yes"}, "filter.locked", "Use true or false."),
        ({"has_closing_change": "commit"}, "filter.has_closing_change", "Use true, false or merged_pull_request."),
        ({"presence": ["gone"]}, "filter.presence", "“gone” is not one of here, deleted"),
        ({"keywords": {"every": ["a"]}}, "filter.keywords", "“every” is unknown"),
        ([], "filter", "Send a mapping"),
    ],
)
def test_what_cannot_be_read_is_refused_by_its_word(filter: Any, field: str, sentence: str) -> None:
    with pytest.raises(Invalid) as refused:
        filters.read(filter)
    assert list(refused.value.fields) == [field] and sentence in refused.value.fields[field][0]


def test_every_word_has_a_meaning_and_a_step() -> None:
    assert [name for name, word in filters.WORDS.items() if word.step is None] == ["keywords"]
    assert all(word.means for word in filters.WORDS.values())


@pytest.mark.usefixtures("many")
def test_strata_are_told_from_the_snapshot_and_the_filter() -> None:
    def strata(by: str, **filter: Any) -> list[str]:
        asked = {"repository": "acme/rocket"} | filter
        return filters.frame(filters.read(asked), Issue.objects.all(), stratify_by=by).strata

    assert strata("state") == ["closed", "closed", "open", "open"]
    assert strata("year") == ["2023", "2023", "2024", "not known"]
    assert strata("repository") == ["acme/rocket"] * 4
    assert strata("label") == ["bug + nccl", "bug", "docs", "no label"]
    assert strata("label", labels=["nccl", "docs"]) == ["nccl", "docs"]


def test_a_frame_takes_as_many_queries_at_any_size() -> None:
    make.issues(30)
    asked = filters.read({"repository": "acme/rocket", "state": "open", "keywords": ["hangs"], "labels": ["bug"]})
    for _ in range(2):
        with assert_queries(5):  # spellings of the label, counts, rows, and for a thousand of them lengths and texts
            assert len(filters.frame(asked, Issue.objects.all(), stratify_by="state")) > 5
        make.issues(900, first=Issue.objects.count() + 1)


@pytest.mark.usefixtures("many")
def test_keywords_read_long_texts_in_small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = filters.read({"keywords": {"any": ["hangs"], "in": ["title", "body", "comments"]}})
    monkeypatch.setattr(chunks, "CHARACTERS_AT_ONCE", 1)
    sizes: list[int] = []
    read = frames._texts
    monkeypatch.setattr(frames, "_texts", lambda some, places: sizes.append(len(some)) or read(some, places))
    in_small = filters.frame(asked, Issue.objects.all())
    assert max(sizes) < len(sizes)
    monkeypatch.undo()
    assert list(filters.frame(asked, Issue.objects.all()).issues) == list(in_small.issues) and len(in_small)


def test_every_ready_made_selection_can_be_read_and_says_what_is_missing() -> None:
    assert [each.slug for each in selections()] == ["chen-2023", "liu-2023", "ma-2025", "yu-2025"]
    for each in selections():
        assert each.title and each.source and each.missing and "Partial" in each.note
        assert filters.read(each.filter)["repository"] and each.repositories
        assert filters.as_document(each.filter) == each.filter
    assert selection("yu-2025").filter["has_closing_change"] == "merged_pull_request"


def test_a_filter_of_yaml_is_kept_as_json_can_keep_it() -> None:
    read = YAML(typ="safe").load("created_since: 2023-01-05\nrepository: [acme/rocket]\nlabels:\n")
    assert filters.as_document(read) == {"created_since": "2023-01-05", "repository": ["acme/rocket"]}
    assert filters.read(read) == filters.read(filters.as_document(read))


def test_issues_of_another_host_are_chosen_by_it() -> None:
    make.issues(2)
    Repository.objects.create(host="git.example.org", owner="acme", name="rocket")
    home = Repository.objects.get(host="git.example.org")
    made = Issue.objects.create(repository=home, number=5)
    made.current_snapshot = Snapshot.objects.create(issue=made, sha256="f" * 64, title="T")
    made.save()
    assert left({"repository": "git.example.org/acme/rocket"}) == [5]
    assert left({"repository": "acme/rocket"}) == [1, 2]
