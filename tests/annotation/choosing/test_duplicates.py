"""Likely duplicates: MinHash of real issues against exact comparison, marks of GitHub and comments, page and REST."""

import json
import tracemalloc
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from django.test import Client

from annotation.choosing.actions import duplicates as actions
from annotation.choosing.actions import samples as sample_actions
from annotation.choosing.duplicates import (
    FEWEST,
    RUN_MOST,
    Commonness,
    Sketches,
    duplicate_mark,
    groups,
    shingles,
    sketch,
)
from annotation.choosing.queries.duplicates import likely_duplicates, suggested_state
from annotation.choosing.queries.samples import flow
from annotation.members.actions import members
from annotation.models import AuditEvent, BulkJob, Item, LikelyDuplicate, Sample, Study
from annotation.rounds import jobs as bulk_jobs
from ingest.models import Activity, Issue, Repository
from tests import builders as make
from tests.scripts import Script

REAL = Path(__file__).resolve().parents[4] / "shared" / "data" / "issues-vllm" / "issues.jsonl"


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Duplicate of #12", ("", 12)),
        (f"Duplicate of {'a' * 300}/b#1", None),
        (f"Duplicate of https://{'h' * 300}/a/b/issues/1", None),
        ("Thanks!\n> duplicate of: #7.", ("", 7)),
        ("Duplicate of acme/rocket#3", ("acme/rocket", 3)),
        ("Duplicate of https://github.com/acme/rocket/issues/9#issuecomment-1", ("acme/rocket", 9)),
        ("This is no duplicate of #12", None),
        ("Duplicate of the other one", None),
        ("", None),
    ],
)
def test_a_mark_is_read_as_github_reads_it(text: str, found: tuple[str, int] | None) -> None:
    assert duplicate_mark(text) == found


def test_shingles_are_of_prose_alone_and_read_signs_without_blanks() -> None:
    plain = shingles("It hangs", "after the first step of training")
    assert list(plain) == list(
        shingles("IT  hangs", "after the first\nstep of *training* <!-- form -->\n```\nlog a b c\n```")
    )
    assert len(plain) == 4 and len(shingles("", "训练在第一步之后挂起")) == 8


def texts_of_two(share: float, n: int = 400) -> tuple[Any, Any]:
    same = round(2 * n * share / (1 + share))
    numbers = np.arange(2 * n, dtype=np.uint32) * np.uint32(2654435761)
    return numbers[:n], np.concatenate([numbers[:same], numbers[n : 2 * n - same]])


@pytest.mark.parametrize("share", [0.0, 0.3, 0.5, 0.7, 0.9, 1.0])
def test_equal_places_estimate_the_jaccard_index(share: float) -> None:
    one, other = texts_of_two(share)
    exact = len(set(one.tolist()) & set(other.tolist())) / len(set(one.tolist()) | set(other.tolist()))
    assert abs((sketch(one) == sketch(other)).mean() - exact) <= 0.13  # three standard errors of 128 places


def test_a_sketch_is_the_same_however_many_shingles_are_hashed_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    numbers = np.arange(1_000, dtype=np.uint32) * np.uint32(2654435761)
    one = sketch(numbers)
    assert (one == sketch(numbers[::-1])).all() and len(set(one.tolist())) > 100
    monkeypatch.setattr("annotation.choosing.duplicates.READ", 7)
    assert (one == sketch(numbers)).all()
    assert (sketch(numbers[:0]) == 0xFFFFFFFF).all()


def test_a_long_text_is_compared_by_its_beginning_and_takes_little_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each Chinese sign is a word."""
    monkeypatch.setattr("annotation.choosing.duplicates.CHARACTERS_COMPARED", 30_000)
    text = "".join(chr(0x4E00 + (n * 7919) % 20_000) for n in range(30_000))
    tracemalloc.start()
    found = shingles("", text + "更多" * 1_000)
    sketch(found)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert (found == shingles("", text)).all() and len(found) > 10_000
    assert most < 20_000_000, most


def found_among(texts: list[Any], **more: Any) -> list[Any]:
    with Sketches() as sketches:
        sketches.add(texts[:7])
        sketches.add(texts[7:])
        return groups(sketches, **more)


@pytest.mark.slow
@pytest.mark.skipif(not REAL.exists(), reason="needs ../shared/data/issues-vllm")
def test_reposts_of_real_issues_are_found_and_forms_are_not() -> None:
    rows = [json.loads(line) for line in REAL.open(encoding="utf-8")]
    texts = [(row["title"], row["body"] or "") for row in rows]
    originals = [at for at, (title, body) in enumerate(texts) if len(shingles(title, body)) >= 120][:100]
    for at in originals:  # who posts again writes a new beginning and leaves out every eighth line
        title, body = texts[at]
        lines = [line for n, line in enumerate(body.splitlines()) if n % 8 != 3]
        texts.append((title, "\n".join(["I reported this before and got no answer, so once more:", "", *lines])))
    commonness = Commonness()
    every = [shingles(*each) for each in texts]
    for each in every:
        commonness.add(each)
    rare = [commonness.rare(each) for each in every]
    found = found_among(rare)
    pairs = {tuple(sorted((each.index, each.like))) for each in found}
    wanted = {(at, len(rows) + n) for n, at in enumerate(originals)}
    sets = [set(each.tolist()) for each in rare]
    alike = {
        (one, other)
        for one, other in combinations(range(len(texts)), 2)
        if min(len(sets[one]), len(sets[other])) >= FEWEST
        and len(sets[one] & sets[other]) >= 0.5 * len(sets[one] | sets[other])
    }
    assert len(pairs & wanted) >= 0.9 * len(alike & wanted), "recall of what is alike"
    assert len(alike & wanted) >= 90
    assert len(pairs - wanted) <= 0.02 * len(pairs), "precision"
    with_forms = found_among(every[: len(rows)])
    assert len(with_forms) > 50 and not found_among(rare[: len(rows)])


def test_a_group_begins_with_its_oldest_issue_that_is_not_marked() -> None:
    a, b, c = (np.arange(n, n + 50, dtype=np.uint32) for n in (0, 1000, 2000))
    found = found_among([a, b, a, np.zeros(0, dtype=np.uint32), c, a, c], marks=[(1, 3), (4, 6)])
    said = [(each.index, each.first, each.like, each.similarity, each.is_marked) for each in found]
    assert said == [
        (0, 0, 2, 1.0, False), (2, 0, 0, 1.0, False), (5, 0, 0, 1.0, False),
        (3, 3, 1, None, False), (1, 3, 3, None, True),
        (6, 6, 4, None, False), (4, 6, 6, None, True),
    ]  # fmt: skip


def test_many_equal_issues_make_one_group_without_comparing_each_two() -> None:
    same = np.arange(50, dtype=np.uint32)
    found = found_among([same] * (4 * RUN_MOST))
    assert len(found) == 4 * RUN_MOST and {each.first for each in found} == {0}
    assert not found_among([same[: FEWEST - 1]] * 9)


WORDS = (
    "The second worker {0} of rank {0} waits forever in barrier {0} while nobody reads queue {0} of host {0} at night"
)


@pytest.fixture
def study() -> Study:
    return make.study()


def drawn(study: Study, n: int = 6) -> Sample:
    """Issues 1 to 6: 2 and 5 tell the same, 3 is closed as a duplicate, a comment of 4 says of which it is one."""
    make.issues(n)
    for number in range(1, n + 1):
        told = {"body": WORDS.format(2 if number == 5 else number)}
        if number == 3:
            told |= {"state": "closed", "state_reason": "duplicate"}
        make.new_state(number, [(1, "ada", "Duplicate of #1")] if number == 4 else [], **told)
    return sample_actions.draw_sample(seat=make.owner_seat(study), filter={"repository": "acme/rocket"}, size=n, seed=1)


def listed(sample: Sample) -> list[tuple[Any, ...]]:
    rows = Script("olga").send("GET", f"studies/study/samples/{sample.pk}/duplicates/").json()["results"]
    numbers = [
        (row["group"], row["item"][-2:], row["first"], row["how"], row["like"] and row["like"][-2:]) for row in rows
    ]
    assert all((row["similarity"] is None) == (row["how"] != "text") for row in rows)
    return numbers


GROUPS = [
    (1, "#1", True, "marked", "#4"), (1, "#4", False, "marked", "#1"),
    (2, "#2", True, "text", "#5"), (2, "#5", False, "text", "#2"),
    (3, "#3", False, "github", None),
]  # fmt: skip


@pytest.mark.django_db
def test_duplicates_are_found_listed_and_excluded_with_a_line_in_the_flow_table(study: Study) -> None:
    sample = drawn(study)
    client = Client()
    client.force_login(make.user("olga"))
    place = f"/studies/study/sample/{sample.pk}/duplicates/"
    assert "was not searched yet" in client.get(place).content.decode() and listed(sample) == []
    assert client.post(place, {"search": "1"}).status_code == 302
    page = client.get(place).content.decode()
    assert (
        "3 groups with 5 issues" in page
        and "marked as a duplicate of acme/rocket#1" in page
        and "% like acme/rocket#2" in page
    )
    assert page.count(" checked") == 2 and [line.step for line in flow(sample)][-1] == "drawn"
    assert client.post(place, {}).status_code == 422 and not Item.objects.exists()
    rows = {row.issue.number: row.pk for row in LikelyDuplicate.objects.select_related("issue")}
    assert client.post(place, {"issues": [rows[4], rows[5]]}).status_code == 302
    out = Item.objects.filter(screening="out").values_list("identifier", "screening_reason")
    assert sorted(out) == [("acme/rocket#4", actions.REASON), ("acme/rocket#5", actions.REASON)]
    assert ("screened out: Duplicate of another issue", 2) in [(line.step, line.n) for line in flow(sample)]
    assert client.get(place).content.decode().count("out: Duplicate of another issue") == 2
    assert AuditEvent.objects.filter(verb="duplicates searched").count() == 1
    other = Client()
    other.force_login(make.user("bob"))
    assert other.get(place).status_code == 403


@pytest.mark.django_db
def test_all_that_are_suggested_are_those_that_are_not_out_and_as_many_as_the_page_showed(study: Study) -> None:
    sample = drawn(study)
    client = Client()
    client.force_login(make.user("olga"))
    place = f"/studies/study/sample/{sample.pk}/duplicates/"
    client.post(place, {"search": "1"})
    rows = {row.issue.number: row.pk for row in LikelyDuplicate.objects.select_related("issue")}
    found = likely_duplicates(make.owner_seat(study), sample)
    sent = {"all": "1", "suggested": suggested_state(found), "reason": "duplicate"}
    client.post(place, {"issues": [rows[4]], "reason": "a question"})
    refused = client.post(place, sent)
    assert refused.status_code == 409 and "Other issues are suggested than when" in refused.content.decode()
    assert client.post(place, sent | {"suggested": suggested_state(found)}).status_code == 302
    out = Item.objects.filter(screening="out").values_list("identifier", "screening_reason")
    assert sorted(out) == [("acme/rocket#4", "a question"), ("acme/rocket#5", "duplicate")]
    sample_actions.screen_items(seat=make.owner_seat(study), items=["acme/rocket#4", "acme/rocket#5"], screening="in")
    page = client.get(place).content.decode()
    assert page.count("screened in") == 2 and " checked" not in page
    assert client.post(place, {"all": "1", "reason": "duplicate"}).status_code == 422


@pytest.mark.django_db
def test_marks_of_github_count_before_what_texts_say(study: Study) -> None:
    sample = drawn(study)

    def tell(number: int, *marks: tuple[str, str]) -> None:
        events = [{"kind": f"{kind}_as_duplicate", "at": None, "actor": "ada", "detail": of} for kind, of in marks]
        more = {"kind": "labeled", "at": None, "actor": "ada", "detail": "duplicate"}
        Activity.objects.create(issue=Issue.objects.get(number=number), told={"events": [*events, more]})

    tell(4, ("marked", "acme/rocket#1"), ("unmarked", "acme/rocket#1"))
    tell(6, ("unmarked", ""), ("marked", "Acme/Rocket#1"))
    tell(3, ("marked", ""))
    tell(5, ("marked", "acme/elsewhere#7"))
    assert Script("olga").send("POST", f"studies/study/samples/{sample.pk}/duplicates/").status_code == 200
    assert listed(sample) == [
        (1, "#1", True, "marked", "#6"), (1, "#6", False, "marked", "#1"),
        (2, "#2", True, "text", "#5"), (2, "#5", False, "text", "#2"),
        (3, "#3", False, "github", None),
    ]  # fmt: skip
    assert LikelyDuplicate.objects.get(issue__number=5).named == "acme/elsewhere#7"
    Repository.objects.update(private=True)
    Repository.readers.through.objects.all().delete()
    assert Script("olga").send("POST", f"studies/study/samples/{sample.pk}/duplicates/").status_code == 200
    assert listed(sample)[:2] == GROUPS[:2] and LikelyDuplicate.objects.get(issue__number=5).named == ""


@pytest.mark.django_db
def test_nobody_learns_of_a_state_that_they_may_not_read_by_a_search_of_anyone(study: Study) -> None:
    sample = drawn(study)
    members.add_member(seat=make.owner_seat(study), username=make.user("staffy", staff=True).username, roles=["owner"])
    make.accept("staffy")
    Repository.objects.update(private=True)
    Repository.readers.through.objects.all().delete()
    make.new_state(6, body=WORDS.format(1))
    make.new_state(4, body="Duplicate of acme/secret#77")
    place = f"studies/study/samples/{sample.pk}/duplicates/"

    def seen(name: str) -> list[Any]:
        return [
            (row["item"][-2:], row["like"] and row["like"][-2:])
            for row in Script(name).send("GET", place).json()["results"]
        ]

    def shown(name: str) -> str:
        client = Client()
        client.force_login(make.user(name))
        return client.get(f"/studies/study/sample/{sample.pk}/duplicates/").content.decode()

    drawn_before = [("#1", "#4"), ("#4", "#1"), ("#2", "#5"), ("#5", "#2"), ("#3", None)]
    assert Script("ada").send("POST", place).json()["issues"] == 0, "she drew none of it"
    assert seen("olga") == [] == seen("ada")
    assert Script("olga").send("POST", place).json()["issues"] == 5
    assert seen("olga") == drawn_before and seen("ada") == [], "what olga could read when she drew it"
    assert "3 groups with 5 issues" in shown("olga") and "groups with" not in shown("ada")
    assert Script("staffy").send("POST", place).json()["groups"] == 4
    assert ("#6", "#1") in seen("staffy") and seen("ada") == []
    assert seen("olga") == [] and "staffy searched sample 1" in shown("olga"), "which rows are left tells of others"
    sample_actions.take_in(seat=make.owner_seat(study), sample=sample)  # pins what she drew, not what was compared
    assert seen("ada") == seen("olga") == []
    assert Script("ada").send("POST", place).json()["issues"] == 5 and seen("ada") == drawn_before
    Repository.objects.update(private=False)
    assert seen("olga") == drawn_before and "searched sample" not in shown("olga")


@pytest.mark.django_db
def test_rest_searches_lists_and_a_later_search_replaces_the_first(study: Study) -> None:
    sample = drawn(study)
    script = Script("olga")
    for _ in range(2):
        answer = script.send("POST", f"studies/study/samples/{sample.pk}/duplicates/")
        assert answer.status_code == 200
        assert {name: answer.json()[name] for name in ("state", "groups", "issues")} == {
            "state": "done", "groups": 3, "issues": 5,
        }  # fmt: skip
        assert listed(sample) == GROUPS
    assert script.send("DELETE", f"studies/study/samples/{sample.pk}/").status_code == 204
    assert not LikelyDuplicate.objects.exists() and not BulkJob.objects.exists()


@pytest.mark.django_db
def test_a_job_searches_a_large_sample_and_begins_anew_after_a_killed_worker(
    study: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    sample = drawn(study)
    monkeypatch.setattr(actions, "JOB_FROM", 5)
    monkeypatch.setattr(actions, "BATCH", 2)
    script, place = Script("olga"), f"studies/study/samples/{sample.pk}/duplicates/"
    answer = script.send("POST", place)
    assert answer.status_code == 202 and answer.json()["state"] == "queued"
    assert script.send("POST", place).json()["code"] == "preparing"
    job = BulkJob.objects.get()
    finding = actions.DuplicateSearch(make.owner_seat(study), sample)
    assert finding.step(job) and finding.step(job) and job.n_done == 4  # and then its worker is killed
    bulk_jobs.SEARCHES.work(job.pk)
    job.refresh_from_db()
    assert (job.state, job.n_done, job.cursor) == ("done", 12, {"groups": 3, "issues": 5})
    first = listed(sample)
    bulk_jobs.SEARCHES.work(job.pk)
    assert listed(sample) == first
