"""Fixes of a study's issues: one row for each change, counted once, in files, numbers and filters."""

import csv
import io
import json
from typing import Any

import pytest

from annotation.models import Study
from ingest.models import ClosingChange, Issue, Snapshot
from tests import builders as make
from tests.annotation.core.test_api import Caller

pytestmark = pytest.mark.django_db


def fix(of: int, n: int = 0, **more: Any) -> None:
    """A merged pull request of one file with three lines, or what `more` says, that closed the issue of that number."""
    issue = Issue.objects.get(number=of)
    Issue.objects.filter(pk=issue.pk).update(changes_known=True)
    given = {"kind": "pull_request", "identifier": f"acme/rocket#{of}0{n}", "number": of * 100 + n}
    sizes = {"additions": 2, "deletions": 1, "n_files": 1, "paths": ["src/a.py"], "merged_at": "2024-01-03T00:00:00Z"}
    by_file = {"path_additions": [2], "path_deletions": [1], "author_login": "dana", "title": "Fix for @bob"}
    ClosingChange.objects.create(issue=issue, **(given | sizes | by_file | more))


def build_study() -> Study:
    study = make.study()
    make.open_round(study, 6)
    # As older versions stored it: a pull request, and the commit that it was merged as.
    fix(1)
    fix(1, kind="commit", identifier="acme/rocket@abc", number=None)
    fix(2, kind="commit", identifier="acme/rocket@def", number=None, additions=20, paths=["docs/b.md"])
    fix(3)
    fix(3, n=1, additions=8, n_files=2, merged_at="2024-01-12T00:00:00Z")
    fix(4, merged_at=None, closes=False)
    fix(5, additions=None)
    return study


def test_changes_leave_as_a_table_with_pseudonyms(study: Study) -> None:
    found = Caller("rea").get("studies/study/changes/").json()["results"]
    assert [(row["item"], row["kind"], row["merged"]) for row in found] == [
        ("acme/rocket#1", "pull_request", True),
        ("acme/rocket#1", "commit", True),
        ("acme/rocket#2", "commit", True),
        ("acme/rocket#3", "pull_request", True),
        ("acme/rocket#3", "pull_request", True),
        ("acme/rocket#4", "pull_request", False),
        ("acme/rocket#5", "pull_request", True),
    ]
    assert found[0]["paths"] == [{"path": "src/a.py", "additions": 2, "deletions": 1}]
    assert found[1]["sha"] == "abc"
    assert "dana" not in json.dumps(found) and "bob" not in json.dumps(found)
    answer = Caller("olga").get("studies/study/changes/?format=csv")
    rows = list(csv.DictReader(io.StringIO(b"".join(answer.streaming_content).decode())))
    assert [row["change"] for row in rows] == [row["change"] for row in found]
    assert json.loads(rows[0]["paths"]) == found[0]["paths"]
    assert Caller("olga").get("studies/study/changes/?format=xlsx").status_code == 422


def test_the_size_of_a_fix_is_counted_once(study: Study) -> None:
    answer = Caller("olga").get("studies/study/issues/?format=csv")
    rows = list(csv.DictReader(io.StringIO(b"".join(answer.streaming_content).decode())))
    assert [(row["additions"], row["deletions"], row["files"]) for row in rows] == [
        ("2", "1", "1"),
        ("20", "1", "1"),
        ("10", "2", "3"),
        ("", "", ""),
        ("", "1", "1"),
        ("", "", ""),
    ]
    assert rows[3]["closed_by"] == ""


@pytest.mark.parametrize(
    ("filter", "left"),
    [
        ({"has_merged_fix": True}, [1, 2, 3, 5]),
        ({"has_merged_fix": False}, [4]),
        ({"fixes_at_least": 2}, [3]),
        ({"fixes_at_most": 1}, [1, 2, 4, 5]),
        ({"fix_lines_at_most": 10}, [1]),
        ({"fix_lines_at_least": 11, "fix_lines_at_most": 12}, [3]),
        ({"fix_files_at_least": 2}, [3]),
        ({"fix_files_at_most": 1}, [1, 2, 5]),
        ({"fix_paths": ["src"]}, [1, 3, 5]),
        ({"fix_paths": ["*.md", "nowhere"]}, [2]),
        ({"days_to_fix_at_most": 2}, [1, 2, 3, 5]),
        ({"days_to_fix_at_least": 3}, []),
        ({"days_to_fix_at_least": 2}, [1, 2, 3, 5]),
        ({"has_closing_change": True}, [1, 2, 3, 5]),
    ],
)
def test_issues_are_chosen_by_their_fixes(study: Study, filter: dict[str, Any], left: list[int]) -> None:
    if any(name.startswith("days") for name in filter):
        for issue in Issue.objects.select_related("current_snapshot"):
            made = Snapshot.objects.get(pk=issue.current_snapshot_id)
            made.pk, made.created_at, made.sha256 = None, "2024-01-01T00:00:00Z", f"{issue.pk + 900:064x}"
            made._state.adding = True
            made.save()
            Issue.objects.filter(pk=issue.pk).update(current_snapshot=made)
    body = {"filter": {"repository": "acme/rocket"} | filter, "size": max(1, len(left)), "seed": 1}
    made = Caller("olga").post("studies/study/samples/", body)
    assert made.status_code == (201 if left else 422)
    if left:
        assert made.json()["n_frame"] == len(left)
        assert sorted(int(name.rpartition("#")[2]) for name in made.json()["issues"]) == left


def test_the_flow_of_a_study_of_small_fixes_is_told_step_by_step(study: Study) -> None:
    words = {"repository": "acme/rocket", "has_closing_change": True, "has_merged_fix": True, "fix_lines_at_most": 10}
    made = Caller("olga").post("studies/study/samples/", {"filter": words, "size": 1, "seed": 1}).json()
    assert [(each["step"], each["n"]) for each in made["counts"]] == [
        ("all issues", 6),
        ("repository: acme/rocket", 6),
        ("has a closing change", 4),
        ("has a merged fix", 4),
        ("fixed by at most 10 changed lines", 1),
    ]


@pytest.mark.parametrize(
    ("stratify_by", "strata"),
    [
        ("merged_fix", {"merged fix": 4, "no merged fix": 1, "not known": 1}),
        ("fixes", {"1 fix": 3, "2 fixes": 1, "no merged fix": 1, "not known": 1}),
        ("fix_lines", {"1 to 10 lines": 1, "11 to 50 lines": 2, "no merged fix": 1, "not known": 2}),
        ("fix_files", {"1 file": 3, "2 to 5 files": 1, "no merged fix": 1, "not known": 1}),
        ("fix_folder", {"src": 3, "docs": 1, "no merged fix": 1, "not known": 1}),
        ("days_to_fix", {"no merged fix": 1, "not known": 5}),
    ],
)
def test_a_sample_keeps_strata_by_fix_whatever_comes_later(
    study: Study, stratify_by: str, strata: dict[str, int]
) -> None:
    body = {"filter": {"repository": "acme/rocket"}, "size": 6, "seed": 1, "stratify_by": stratify_by}
    made = Caller("olga").post("studies/study/samples/", body).json()
    assert {each["stratum"]: each["n_frame"] for each in made["strata"]} == strata
    ClosingChange.objects.all().delete()
    answer = Caller("olga").get(f"studies/study/samples/{made['id']}/frame/?format=csv")
    sent = answer.content if not answer.streaming else b"".join(answer.streaming_content)
    found = [row["stratum"] for row in csv.DictReader(io.StringIO(sent.decode()))]
    assert {name: found.count(name) for name in found} == strata
