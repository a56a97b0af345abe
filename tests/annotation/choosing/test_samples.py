"""From found to kept: samples and their frames, screening, selections; by REST and on the pages, for whom they are."""

import csv
import io
import json
import re
from typing import Any

import pytest
from django.core.files import File
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from accounts.actions import make_token
from annotation.choosing.actions import samples as sample_actions
from annotation.choosing.actions.items import items_for
from annotation.choosing.forms import SampleForm
from annotation.choosing.queries.samples import flow
from annotation.choosing.sampling import draw
from annotation.core.access import get_item
from annotation.core.errors import Conflict, Forbidden, Invalid, NotFound
from annotation.exports import jobs as export_jobs
from annotation.exports.actions import request_export
from annotation.members.actions.members import add_member
from annotation.models import AuditEvent, Export, Item, Sample, Study
from annotation.rounds.actions import rounds
from annotation.studies.actions import studies
from ingest.actions.fetches import run_now
from ingest.actions.uploads import start_file_fetch
from ingest.filters import WORDS
from ingest.models import FormerName, Issue, Repository
from ingest.upsert import keep_former_name
from shared import watched_streams
from tests import builders as make
from tests.asserts import assert_queries
from tests.github import World

pytestmark = pytest.mark.django_db
BASE = "/api/v1/"


class Caller:
    """Calls the API as one user with a token."""

    def __init__(self, name: str, scope: str = "manage") -> None:
        _, plain = make_token(user=make.user(name), name="test", scope=scope)
        self.client, self.headers = Client(), {"Authorization": f"Bearer {plain}"}

    def get(self, path: str) -> Any:
        return self.client.get(BASE + path, headers=self.headers)

    def post(self, path: str, body: object = None) -> Any:
        return self.client.post(
            BASE + path, json.dumps(body or {}), content_type="application/json", headers=self.headers
        )


def build_study() -> Study:
    made = make.study()
    make.issues(30)
    make.issues(6, "acme/boat")
    return made


def page(name: str, path: str) -> Any:
    client = Client()
    client.force_login(make.user(name))
    return client.get(path)


def text_of(response: Any) -> str:
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", response.content.decode()))


def frame_of(response: Any) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(b"".join(response.streaming_content).decode())))


BOTH = {"repository": ["acme/rocket", "acme/boat"]}


# Drawing


@pytest.mark.parametrize(
    "wish",
    [
        {"size": 7, "seed": 3},
        {"size": 9, "seed": -2, "stratify_by": "repository"},
        {"size": 9, "seed": 5, "stratify_by": "label", "allocation": "equal"},
        {"size": 5, "seed": 1, "stratify_by": "repository", "at_least_one": True},
        {"confidence": 0.9, "margin": 0.2, "seed": 8, "stratify_by": "state"},
    ],
)
def test_a_sample_is_drawn_again_from_its_exported_frame_alone(study: Study, wish: dict[str, Any]) -> None:
    olga = Caller("olga")
    answer = olga.post("studies/study/samples/", {"filter": BOTH | {"search": "hangs"}} | wish)
    assert answer.status_code == 201, answer.content
    sample = answer.json()
    rows = frame_of(olga.get(f"studies/study/samples/{sample['id']}/frame/"))
    assert len(rows) == sample["n_frame"] == 36
    again = draw(
        range(len(rows)),
        sample["size"],
        sample["seed"],
        [row["stratum"] for row in rows] if sample["stratify_by"] else None,
        allocation=sample["allocation"],
        at_least_one=sample["at_least_one"],
    )
    assert [rows[unit.index]["item"] for unit in again] == sample["issues"]
    drawn = sorted((row for row in rows if row["drawn"]), key=lambda row: int(row["drawn"]))
    assert [row["item"] for row in drawn] == sample["issues"]
    told = {share["stratum"]: (share["n_frame"], share["n_drawn"]) for share in sample["strata"]}
    if sample["stratify_by"]:
        strata = {row["stratum"] for row in rows}
        here = {
            name: (sum(row["stratum"] == name for row in rows), sum(row["stratum"] == name for row in drawn))
            for name in strata
        }
        assert told == here


def test_the_size_follows_from_confidence_and_margin(study: Study) -> None:
    sample = Caller("olga").post("studies/study/samples/", {"filter": BOTH, "confidence": 0.95, "margin": 0.05}).json()
    assert (sample["size"], sample["n_frame"], sample["confidence"], sample["margin"]) == (33, 36, 0.95, 0.05)
    wish = {"confidence": 0.95, "margin": 0.2, "stratify_by": "repository", "allocation": "equal"}
    assert Caller("olga").post("studies/study/samples/", {"filter": BOTH} | wish).status_code == 201
    shown = text_of(page("olga", reverse("samples", args=["study"])))
    # All 6 of one repository, 9 of the 30 of the other: 1.96 × √((30/36)² × 0.25/9 × 21/29)
    assert "95% ± 23.2% of a share weighted by strata" in shown and "95% ± 20%" not in shown


@pytest.mark.parametrize(
    ("body", "field", "sentence"),
    [
        ({}, "size", "Enter a whole number from 1."),
        ({"size": 37}, "size", "The filter matches 36 issues, fewer than 37."),
        ({"size": 5, "confidence": 0.95, "margin": 0.05}, "size", "either a size, or confidence and margin"),
        ({"confidence": 0.95}, "margin", "Enter a share between 0 and 1, such as 0.05."),
        ({"confidence": 95, "margin": 0.05}, "confidence", "Enter a share between 0 and 1, such as 0.95."),
        ({"size": 5, "allocation": "fair"}, "allocation", "Use proportional or equal."),
        ({"size": 5, "at_least_one": "yes"}, "at_least_one", "Use true or false."),
        (
            {"size": 5, "stratify_by": "stage"},
            "stratify_by",
            "Choose one of repository, state, year, label, merged_fix",
        ),
        ({"size": 5, "stratify_by": []}, "stratify_by", "Choose one of repository"),
        ({"size": 5, "stratify_by": False}, "stratify_by", "Choose one of repository"),
        ({"size": 1, "stratify_by": "state", "at_least_one": True}, "size", "1 issues can't include one of each of 2"),
        ({"size": 5, "selection": "nobody-1999"}, "selection", "Unknown ready-made selection “nobody-1999”"),
        ({"size": 5, "filter": {"lable": "x"}}, "filter.lable", "Did you mean labels?"),
        (
            {"size": 5, "filter": {"exclude_sample": 99999}},
            "filter.exclude_sample",
            "The study has no sample with the ID 99999.",
        ),
        (
            {"size": 5, "filter": {"exclude_sample": "x"}},
            "filter.exclude_sample",
            "Enter the ID of a sample, or all.",
        ),
        ({"size": 5, "filter": {"exclude_samples": 1}}, "filter.exclude_samples", "Did you mean exclude_sample?"),
    ],
)
def test_a_draw_that_cannot_be_is_refused_by_field(study: Study, body: Any, field: str, sentence: str) -> None:
    answer = Caller("olga").post("studies/study/samples/", body | {"filter": BOTH | body.get("filter", {})})
    assert answer.status_code == 422 and sentence in answer.json()["fields"][field][0], answer.content
    assert not Sample.objects.exists()


def test_counts_of_a_named_repository_do_not_depend_on_private_ones_of_the_drawer(study: Study) -> None:
    wish = {"filter": {"repository": ["acme/rocket"]}, "size": 3}

    def told() -> list[int]:
        answer = Caller("olga").post("studies/study/samples/", wish)
        assert answer.status_code == 201, answer.content
        return [step["n"] for step in answer.json()["counts"]]

    before = told()
    rows = [{"repository": "olga/secret", "number": number, "title": "x"} for number in range(1, 6)]
    content = "\n".join(map(json.dumps, rows)).encode()
    run_now(
        run=start_file_fetch(
            user=make.user("olga"), file=File(io.BytesIO(content), "a.jsonl"), private=True, send=False
        )
    )
    assert Repository.objects.get(owner="olga").private and told() == before
    wish["filter"] = {"repository": ["acme/rocket", "olga/secret"]}
    assert told() == [n + 5 for n in before]


def test_a_sample_is_drawn_without_what_was_drawn_before(study: Study) -> None:
    seat = make.owner_seat(study)
    first = sample_actions.draw_sample(seat=seat, size=10, filter=BOTH)
    second = sample_actions.draw_sample(seat=seat, size=10, filter=BOTH | {"exclude_sample": first.pk})
    third = sample_actions.draw_sample(seat=seat, size=16, filter=BOTH | {"exclude_sample": "all"})
    drawn = [set(sample.drawn.values_list("issue", flat=True)) for sample in (first, second, third)]
    assert len(drawn[0] | drawn[1] | drawn[2]) == 36
    assert second.counts[-1] == {"step": f"not in sample {first.number}", "n": 26}
    with pytest.raises(Invalid):
        sample_actions.draw_sample(seat=seat, size=1, filter=BOTH | {"exclude_sample": [first.pk, second.pk, third.pk]})
    studies.create_study(user=make.user("olga"), slug="two", title="Two", taxonomy="symptoms")
    with pytest.raises(Invalid, match="filter is not valid"):
        sample_actions.draw_sample(
            seat=make.owner_seat(Study.objects.get(slug="two")),
            size=1,
            filter=BOTH | {"exclude_sample": first.pk},
        )


def test_a_control_stretch_bounds_what_a_filter_missed(study: Study) -> None:
    seat = make.owner_seat(study)
    first = sample_actions.draw_sample(seat=seat, size=2, filter={"repository": "acme/rocket", "labels": ["bug"]})
    olga = Caller("olga")
    asked = {"filter": {"repository": "acme/rocket", "left_out_of": first.pk}, "size": 15, "seed": 3}
    stretch = olga.post("studies/study/samples/", asked).json()
    assert {"step": "excluded by the filter of sample 1", "n": 15} in stretch["counts"]
    assert all(int(name.partition("#")[2]) % 2 for name in stretch["issues"])
    path = f"studies/study/samples/{stretch['id']}/flow/"
    olga.post("studies/study/screening/", {"items": stretch["issues"][:14], "screening": "out", "reason": "no bug"})
    assert not [line for line in olga.get(path).json() if line["kind"] == "missed"]
    olga.post("studies/study/screening/", {"items": stretch["issues"][14:], "screening": "in"})
    (missed,) = [line for line in olga.get(path).json() if line["kind"] == "missed"]
    assert missed == {
        "step": "missed by the filter: 6.7% of 15 left out (all of them screened)", "n": 1, "kind": "missed",
    }  # fmt: skip
    make.open_round(study, 1, first=90, raters=("bob",), raters_per_item=1, screening=["unscreened"])
    text = olga.get("studies/study/agreement/methods/").json()["paragraph"]
    assert "All 15 issues that the filter excluded were screened; 1 (6.7%) was kept." in text
    wrong = olga.post("studies/study/samples/", asked | {"filter": asked["filter"] | {"left_out_of": 99999}})
    assert wrong.status_code == 422 and "no sample with the ID 9" in str(wrong.json()["fields"]["filter.left_out_of"])
    with pytest.raises(Conflict, match="was drawn without"):
        sample_actions.discard_sample(seat=seat, sample=first)


def test_the_paragraph_tells_what_a_control_stretch_was_drawn_from(study: Study) -> None:
    seat, olga = make.owner_seat(study), Caller("olga")
    first = sample_actions.draw_sample(seat=seat, size=2, filter=BOTH | {"labels": ["bug"]})
    make.open_round(study, 1, raters=("bob",), raters_per_item=1)
    here = {"repository": "acme/rocket", "left_out_of": first.pk}
    equal: dict[str, Any] = {"filter": here, "stratify_by": "state", "allocation": "equal"}
    even = {"filter": here, "stratify_by": "state"}
    for asked in ({"filter": here}, {"filter": here | BOTH | {"state": "open"}}, equal, even):
        stretch = olga.post("studies/study/samples/", asked | {"size": 4}).json()
        olga.post("studies/study/screening/", {"items": stretch["issues"], "screening": "out", "reason": "no bug"})
    text = olga.get("studies/study/agreement/methods/").json()["paragraph"]
    assert re.findall(r"Of (?:a random|\d)[^.]*excluded", text) == [
        "Of a random sample of 4 of the 15 issues in acme/rocket that the filter excluded",
        "Of a random sample of 4 of the 12 issues (state: open) that the filter excluded",
        "Of 4 of the 15 issues in acme/rocket that the filter excluded",
        "Of 4 of the 15 issues in acme/rocket that the filter excluded",
    ]
    assert "with proportional allocation by state, 0 were kept on screening; at most 7 of the 15 (46.7%) were" in text
    assert "missed (one-sided 95% hypergeometric bound as of a simple random sample)." in text
    assert "drawn at random with equal allocation by state, 0 were kept on screening; no bound is given" in text


def test_a_control_stretch_of_what_was_screened_out_is_screened_again_and_bounds_what_was_missed(study: Study) -> None:
    seat, olga = make.owner_seat(study), Caller("olga")
    first = sample_actions.draw_sample(seat=seat, size=20, filter={"repository": "acme/rocket"})
    names = [row.issue.identifier for row in first.drawn.select_related("issue__repository")]
    olga.post("studies/study/screening/", {"items": names[:4], "screening": "in"})
    olga.post("studies/study/screening/", {"items": names[4:], "screening": "out", "reason": "no bug"})
    asked = {"filter": {"repository": "acme/rocket", "screened_out_of": first.pk}, "size": 10, "seed": 3}
    stretch = olga.post("studies/study/samples/", asked).json()
    assert {"step": "screened out of sample 1", "n": 16} in stretch["counts"]
    assert set(stretch["issues"]) <= set(names[4:])
    path = f"studies/study/samples/{stretch['id']}/flow/"
    assert olga.get(path).json()[-1] == {"step": "not screened again yet", "n": 10, "kind": "unscreened"}
    body = {"kind": "screening", "raters": ["bob"], "raters_per_item": 1, "sample": stretch["id"], "n_items": 10}
    made = olga.post("studies/study/rounds/", body | {"reasons": ["No bug"]})
    assert made.status_code == 201, made.json()
    round_ = rounds.open_round(seat=seat, number=made.json()["number"])
    for number, name in enumerate(stretch["issues"]):
        said = {"screening": ["out"], "screening-reason": ["no-bug"]} if number else {"screening": ["in"]}
        make.submit(round_, "bob", int(name.partition("#")[2]), said)
    rounds.close_round(seat=seat, number=round_.number)
    # With 4 missed, 1 or none is among 10 drawn in 12% of the draws; with 5, in 4%.
    assert [(line["step"], line["n"]) for line in olga.get(path).json()][-3:] == [
        ("screened out: No bug", 9), ("kept", 1),
        ("missed by screening: at most 25.0% of 16 screened out (95%, exact hypergeometric)", 1),
    ]  # fmt: skip
    assert ("kept", 5) in [
        (line["step"], line["n"]) for line in olga.get(f"studies/study/samples/{first.pk}/flow/").json()
    ]
    again = olga.post("studies/study/rounds/", body | {"n_items": 1})
    assert again.status_code == 422 and set(again.json()["fields"]) == {"sample"}
    with pytest.raises(Conflict, match="was drawn without"):
        sample_actions.discard_sample(seat=seat, sample=first)
    taken = {"sample": first.pk, "n_items": 1, "raters": ["bob"], "raters_per_item": 1}
    assert olga.post("studies/study/rounds/", taken).status_code == 201
    rounds.open_round(seat=seat, number=study.rounds.latest("number").number, unregistered=True)
    text = olga.get("studies/study/agreement/methods/").json()["paragraph"]
    assert "Twenty items were screened by hand, outside of screening rounds: 20 by 1 person without a" in text
    for words in (
        "Fifteen drawn issues were excluded at screening, without 1 that was excluded first and kept when screened "
        "again: 9 “No bug”; 6 “no bug”.",
        "Of a random sample of 10 of the 16 issues that screening excluded, 1 was kept on screening; at most 4 of the "
        "16 (25.0%) were missed (exact one-sided 95% hypergeometric bound).",
    ):
        assert words in text, text
    wrong = olga.post("studies/study/samples/", asked | {"filter": asked["filter"] | {"screened_out_of": 99999}})
    assert wrong.status_code == 422 and "no sample with the ID 9" in str(
        wrong.json()["fields"]["filter.screened_out_of"]
    )
    form = SampleForm({"left_out_of": f"out-{first.pk}", "state": "all", "seed": "1", "count": "1"}, samples=[first])
    form.is_valid()
    assert form.filter["screened_out_of"] == first.pk and "left_out_of" not in form.filter
    assert SampleForm.initial_of({"screened_out_of": first.pk})["left_out_of"] == f"out-{first.pk}"


def test_the_file_of_items_names_all_samples_that_drew_an_item(study: Study) -> None:
    seat = make.owner_seat(study)
    first, second = (sample_actions.draw_sample(seat=seat, size=n, filter=BOTH) for n in (36, 4))
    sample_actions.take_in(seat=seat, sample=first)
    made = request_export(seat=seat, what="items", format="csv", send=False)
    export_jobs.work(made.pk)
    made.refresh_from_db()
    with made.file.open("rb") as file:
        rows = list(csv.DictReader(io.StringIO(file.read().decode())))
    both = {row.issue.identifier for row in second.drawn.select_related("issue__repository")}
    assert {row["item"] for row in rows if row["samples"] == "1;2"} == both and len(both) == 4
    assert {(row["sample"], row["samples"]) for row in rows} == {(str(first.pk), "1"), (str(second.pk), "1;2")}


def test_the_frame_stays_as_it_was_whatever_comes_in_later(study: Study) -> None:
    sample = sample_actions.draw_sample(seat=make.owner_seat(study), size=3, stratify_by="state", filter=BOTH)
    olga = Caller("olga")
    path = f"studies/study/samples/{sample.pk}/frame/?format=jsonl"
    before = b"".join(olga.get(path).streaming_content)
    make.issues(5, first=31)
    make.new_state(2, state="closed", title="=changed()", github_labels=["new"])
    assert b"".join(olga.get(path).streaming_content) == before
    rows = [json.loads(line) for line in before.splitlines()]
    assert list(rows[0]) == ["item", "repository", "number", "stratum", "drawn", "snapshot", "created_at", "state"]
    assert [row["item"] for row in rows[:2]] == ["acme/boat#1", "acme/boat#2"] and rows[0]["stratum"] == "open"
    assert sum(row["drawn"] is not None for row in rows) == 3


def test_cells_of_a_frame_that_begin_a_formula_are_defused(study: Study) -> None:
    Issue.objects.filter(repository__name="boat", number=1).update(current_snapshot=None)
    make.new_state(1, github_labels=["=HYPERLINK(1)"])
    sample = sample_actions.draw_sample(seat=make.owner_seat(study), size=3, stratify_by="label", filter=BOTH)
    strata = {row["stratum"] for row in frame_of(Caller("olga").get(f"studies/study/samples/{sample.pk}/frame/"))}
    assert "'=HYPERLINK(1)" in strata


def test_a_frame_with_private_issues_is_for_those_who_may_see_them(study: Study) -> None:
    make.issues(4, "acme/secret", private=True)
    Repository.objects.get(name="secret").readers.add(make.user("olga"))
    sample = sample_actions.draw_sample(
        seat=make.owner_seat(study), size=3, seed=2, filter={"repository": ["acme/rocket", "acme/boat", "acme/secret"]}
    )
    path = f"studies/study/samples/{sample.pk}/frame/"
    assert Caller("olga").get(path).status_code == 200
    refused = Caller("rea").get(path)
    assert refused.status_code == 403 and "private repository" in refused.json()["message"]


@pytest.mark.parametrize("is_private", [True, False])
def test_a_package_with_a_frame_of_private_issues_is_for_those_who_may_see_them(study: Study, is_private: bool) -> None:
    make.issues(4, "acme/secret", private=is_private)
    Repository.objects.get(name="secret").readers.add(make.user("olga"))
    add_member(seat=make.owner_seat(study), username=make.user("bea").username, roles=["owner"])
    asked = {"repository": ["acme/rocket", "acme/secret"]}
    sample_actions.draw_sample(seat=make.owner_seat(study), size=3, seed=2, filter=asked)
    told: dict[str, Any] = {"study": study, "created_by": make.user("olga"), "state": "done", "sha256": "0" * 64}
    told |= {"n_bytes": 1, "started_at": timezone.now(), "done_at": timezone.now()}
    for number, (what, format) in enumerate((("package", "zip"), ("labels", "csv")), start=1):
        export = Export.objects.create(number=number, what=what, format=format, file="export", **told)
        is_closed = is_private and what == "package"
        for name in ("olga", "bea"):
            row = Caller(name).get(f"exports/{export.public_id}/").json()
            assert (row["sha256"] is None) == (is_closed and name == "bea")
        answer = Caller("bea").get(f"exports/{export.public_id}/download/")
        assert ("private repository" in str(answer.json())) == is_closed


def test_a_frame_that_is_being_sent_ends_once_its_reader_may_not_read_it(
    study: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watched_streams, "LOOK_SECONDS", 0)
    asked = {"repository": ["acme/rocket", "acme/boat"]}
    sample = sample_actions.draw_sample(seat=make.owner_seat(study), size=3, seed=2, filter=asked)
    path = f"studies/study/samples/{sample.pk}/frame/?format=csv"
    answer: Any = Caller("ada").get(path)
    Repository.objects.update(private=True)
    with pytest.raises(Forbidden, match="private repository"):
        list(answer.streaming_content)
    Repository.objects.update(private=False)
    answer = Caller("ada").get(path)
    study.memberships.filter(user__username="ada").delete()
    with pytest.raises(NotFound):
        list(answer.streaming_content)


def test_a_sample_from_before_frames_were_kept_says_so(study: Study) -> None:
    old = Sample.objects.create(study=study, size=1, seed=1, created_by=study.created_by)
    assert Caller("olga").get(f"studies/study/samples/{old.pk}/frame/").status_code == 409


# Screening


@pytest.fixture
def sample(study: Study) -> Sample:
    return sample_actions.draw_sample(
        seat=make.owner_seat(study), filter={"repository": "acme/rocket"}, size=10, seed=4
    )


def named(sample: Sample, *positions: int) -> list[str]:
    rows = sample.drawn.filter(position__in=positions).select_related("issue__repository").order_by("position")
    return [row.issue.identifier for row in rows]


def test_the_flow_table_goes_from_found_to_kept(study: Study, sample: Sample) -> None:
    assert [(line.step, line.n) for line in flow(sample)][-1] == ("drawn", 10)
    ada = Caller("ada")
    path = "studies/study/screening/"
    out = {"screening": "out", "reason": " not  a fault ", "items": named(sample, 1, 2, 3)}
    assert ada.post(path, out).json() == {"n": 3, "n_left_rounds": 0, "n_labeled": 0}
    assert ada.post(path, {"screening": "out", "reason": "a | b", "items": named(sample, 4)}).status_code == 200
    assert ada.post(path, {"screening": "in", "items": named(sample, 5, 6)}).json()["n"] == 2
    lines = ada.get(f"studies/study/samples/{sample.pk}/flow/").json()
    assert [(line["step"], line["n"]) for line in lines] == [
        ("all issues", 36), ("repository: acme/rocket", 30), ("drawn", 10), ("screened out: not a fault", 3),
        ("screened out: a | b", 1), ("not screened yet", 4), ("kept", 2),
    ]  # fmt: skip
    markdown = ada.get(f"studies/study/samples/{sample.pk}/flow/?format=md").content.decode()
    assert markdown.startswith("| Step | Issues |\n| --- | ---: |\n") and "| screened out: a \\| b | 1 |" in markdown
    table = ada.get(f"studies/study/samples/{sample.pk}/flow/?format=csv").content.decode()
    assert table.splitlines()[0] == "step,n,kind" and "kept,2,kept" in table
    assert ada.post(path, {"screening": "unscreened", "items": named(sample, 1)}).json()["n"] == 1
    assert ("not screened yet", 5) in [(line.step, line.n) for line in flow(sample)]
    drawn = ada.get(f"studies/study/samples/{sample.pk}/").json()["results"]
    assert [row["screening"] for row in drawn[:5]] == ["unscreened", "out", "out", "out", "in"]
    assert [row["position"] for row in drawn] == list(range(1, 11)) and drawn[1]["screening_reason"] == "not a fault"
    assert AuditEvent.objects.filter(study=study, verb__startswith="items screened").count() == 4


def test_all_of_a_sample_or_all_that_fit_a_filter_are_screened_at_once(study: Study, sample: Sample) -> None:
    olga, path = Caller("olga"), "studies/study/screening/"
    assert olga.post(path, {"screening": "in", "sample": sample.pk}).json()["n"] == 10
    body = {"screening": "out", "reason": "a bug", "sample": str(sample.pk), "filter": {"labels": ["bug"]}}
    n_bugs = sum(int(name.partition("#")[2]) % 2 == 0 for name in named(sample, *range(1, 11)))
    assert olga.post(path, body).json()["n"] == n_bugs
    assert olga.post(path, {"screening": "unscreened", "filter": {"keywords": ["hangs"]}}).json()["n"] == 10
    assert Item.objects.filter(study=study, screening="unscreened", screened_by=None, screening_reason="").count() == 10


def test_rounds_pass_over_what_is_screened_out_and_say_how_many(study: Study, sample: Sample) -> None:
    seat = make.owner_seat(study)
    sample_actions.screen_items(seat=seat, screening="out", reason="no", items=named(sample, 1, 3))
    made = rounds.create_round(seat=seat, asked=rounds.NewRound(raters=["bob", "carol"], sample=sample.pk, n_items=4))
    taken = [place.item.identifier for place in made.round_items.select_related("item")]
    assert taken == named(sample, 2, 4, 5, 6)
    assert AuditEvent.objects.filter(verb="round made").latest("pk").detail["screened_out"] == 2
    with pytest.raises(Invalid) as refused:
        rounds.create_round(seat=seat, asked=rounds.NewRound(raters=["bob", "carol"], issues=named(sample, 1)))
    assert "is screened out (no)" in refused.value.fields["issues"][0]
    with pytest.raises(Invalid) as refused:
        rounds.create_round(seat=seat, asked=rounds.NewRound(raters=["bob", "carol"], sample=sample.pk, n_items=5))
    assert refused.value.fields["n_items"] == ["Only 4 issues of this sample are unused."]


def test_what_is_screened_out_leaves_drafts_and_stays_where_it_is_being_labeled(study: Study, sample: Sample) -> None:
    seat = make.owner_seat(study)
    opened = rounds.create_round(seat=seat, asked=rounds.NewRound(raters=["bob", "carol"], sample=sample.pk, n_items=2))
    rounds.open_round(seat=seat, number=opened.number, unregistered=True)
    draft = rounds.create_round(seat=seat, asked=rounds.NewRound(raters=["bob", "carol"], sample=sample.pk, n_items=3))
    done = sample_actions.screen_items(seat=seat, screening="out", reason="no", items=named(sample, 1, 3, 4))
    assert (done.n, done.n_left_rounds) == (3, 2)
    assert opened.round_items.count() == 2 and opened.assignments.count() == 4 and draft.round_items.count() == 1
    assert rounds.open_round(seat=seat, number=draft.number, unregistered=True).assignments.count() == 2


@pytest.mark.parametrize(
    ("body", "field", "sentence"),
    [
        ({"screening": "out", "items": ["acme/rocket#1"]}, "reason", "Give a reason"),
        ({"screening": "out", "reason": "  ", "items": ["acme/rocket#1"]}, "reason", "Give a reason"),
        ({"screening": "out", "reason": 3, "items": ["acme/rocket#1"]}, "reason", "Enter at most"),
        ({"screening": "out", "reason": "x" * 201, "items": ["acme/rocket#1"]}, "reason", "at most 200"),
        ({"screening": "maybe", "items": ["acme/rocket#1"]}, "screening", "Write unscreened, in, out."),
        ({"screening": "in"}, "items", "Send either items, or a filter or a sample."),
        ({"screening": "in", "items": ["acme/rocket#1"], "filter": {"state": "open"}}, "items", "Send either"),
        ({"screening": "in", "items": []}, "items", "Send a list with at least one item"),
        ({"screening": "in", "items": ["acme/none#1"]}, "items", "“acme/none#1” is neither an item of this study"),
        ({"screening": "in", "items": ["acme/boat#1"]}, "items", "“acme/boat#1” is neither an item of this study"),
        ({"screening": "in", "filter": {}}, "filter", "Name at least one."),
        ({"screening": "in", "filter": {"lable": 1}}, "filter.lable", "Did you mean labels?"),
    ],
)
def test_a_screening_that_cannot_be_is_refused_by_field(
    study: Study, sample: Sample, body: Any, field: str, sentence: str
) -> None:
    answer = Caller("olga").post("studies/study/screening/", body)
    assert answer.status_code == 422 and sentence in answer.json()["fields"][field][0], answer.content
    assert not Item.objects.exclude(screening="unscreened").exists()


def test_screening_is_listed_by_state_and_in_pages(study: Study, sample: Sample) -> None:
    sample_actions.screen_items(seat=make.owner_seat(study), screening="out", reason="no", items=named(sample, 1, 2, 3))
    sample_actions.take_in(seat=make.owner_seat(study), sample=sample)
    rea = Caller("rea")
    first = rea.get("studies/study/screening/?screening=out&page_size=2").json()
    assert len(first["results"]) == 2 and first["results"][0]["reason"] == "no" and first["next"]
    assert len(rea.get("studies/study/screening/").json()["results"]) == 10
    assert rea.get("studies/study/screening/?screening=perhaps").status_code == 422


# Who may


def test_who_may_read_and_who_may_change(study: Study, sample: Sample) -> None:
    studies.create_study(user=make.user("mia"), slug="other", title="Other", taxonomy="symptoms")
    one, screening = f"studies/study/samples/{sample.pk}/", "studies/study/screening/"
    body = {"screening": "in", "items": named(sample, 1)}
    expected = {"olga": (200, 200, 201), "ada": (200, 200, 403), "bob": (200, 403, 403), "rea": (200, 403, 403)}
    for name, (reading, changing, drawing) in expected.items():
        caller = Caller(name)
        for path in ("studies/study/samples/", one, one + "frame/", one + "flow/", screening):
            assert caller.get(path).status_code == reading, (name, path)
        assert caller.post(screening, body).status_code == changing, name
        assert caller.post("studies/study/samples/", {"filter": BOTH, "size": 1}).status_code == drawing, name
    mia = Caller("mia")
    for path in ("studies/study/samples/", one, one + "frame/", one + "flow/", screening):
        assert mia.get(path).status_code == 404 and Client().get(BASE + path).status_code == 401, path
    assert mia.post(screening, body).status_code == 404
    assert Caller("olga", "read").post(screening, body).status_code == 403
    olga = Caller("olga")
    for wrong in ("999999", "x", "9" * 30):
        assert olga.get(f"studies/study/samples/{wrong}/").status_code == 404
        assert olga.get(f"studies/study/samples/{wrong}/frame/").status_code == 404
    assert olga.get(one + "frame/?format=xlsx").status_code == 422
    assert olga.get(one + "flow/?format=xlsx").status_code == 422
    assert olga.post(screening, body | {"items": None, "sample": "999999"}).status_code == 404


def test_pages_follow_the_same_ladder(study: Study, sample: Sample) -> None:
    sample_actions.take_in(seat=make.owner_seat(study), sample=sample)
    item = Item.objects.filter(study=study).earliest("pk")
    reading = [
        reverse("samples", args=["study"]),
        reverse("download_frame", args=["study", sample.pk, "csv"]),
        reverse("download_flow", args=["study", sample.pk, "md"]),
        reverse("items", args=["study"]),
    ]
    changing = [
        (reverse("frame", args=["study"]), {}, "olga"),
        (reverse("fetch_selection", args=["study"]), {"selection": "nobody"}, ""),
        (reverse("screen_sample", args=["study", sample.pk]), {}, "olga ada"),
        (reverse("screen_item", args=["study", item.pk]), {"screening": "in"}, "olga ada"),
        (reverse("items", args=["study"]) + "?screening=in", {"screening": "unscreened"}, "olga ada"),
    ]
    for name in ("olga", "ada", "bob", "rea", "mia"):
        client = Client()
        client.force_login(make.user(name))
        for path in reading:
            assert client.get(path).status_code == (404 if name == "mia" else 200), (name, path)
        for path, sent, may in changing:
            status = client.post(path, sent).status_code
            wanted = {404} if name == "mia" or (name == "olga" and not may) else {200, 302} if name in may else {403}
            assert status in wanted, (name, path, status)
    for path in reading + [path for path, _, _ in changing]:
        assert Client().post(path).status_code in (302, 405), path


def test_an_item_of_another_study_is_not_screened_through_this_one(study: Study, sample: Sample) -> None:
    other = studies.create_study(user=make.user("mia"), slug="other", title="Other", taxonomy="symptoms")
    item = items_for(make.owner_seat(other), Issue.objects.select_related("repository").filter(number=1))[0]
    client = Client()
    client.force_login(make.user("olga"))
    assert client.post(reverse("screen_item", args=["study", item.pk]), {"screening": "in"}).status_code == 404
    with pytest.raises(Forbidden):
        sample_actions.screen_items(seat=make.seat(study, "bob"), screening="in", items=["acme/rocket#1"])
    assert sample_actions.screen_items(seat=make.owner_seat(study), screening="in", rows=Item.objects.all()).n == 0


# Pages


def test_the_frame_is_counted_while_the_form_is_filled_in(study: Study) -> None:
    client = Client()
    client.force_login(make.user("olga"))
    path = reverse("frame", args=["study"])
    sent = {"state": "all", "seed": "1", "stratify_by": "repository", "allocation": "equal", "size": "20"}
    seen = text_of(client.post(path, sent | {"any_keyword": "hang*, deadlock", "without_labels": "crash"}))
    assert (
        "all issues 36 without GitHub labels: crash 36 keywords: any of hang*, deadlock (in title or body) 36" in seen
    )
    assert "Draws 20 of 36" in seen and "acme/boat (all of it) 6 6" in seen
    margin = text_of(client.post(path, sent | {"size_by": "margin", "margin": "5", "confidence": "0.95"}))
    assert "Draws 33 of 36: ±5.1% at 95% confidence" in margin
    equal = sent | {"size_by": "margin", "margin": "5", "confidence": "0.95", "stratify_by": "state"}
    equal |= {"allocation": "equal"}
    assert "confidence for a share that is weighted by strata" in text_of(client.post(path, equal))
    wrong = client.post(path, sent | {"margin": "0", "size_by": "margin"})
    assert wrong.status_code == 200 and "Enter a percentage between 0 and 100." in text_of(wrong)
    assert "“rocket” is not a repository" in text_of(client.post(path, sent | {"repository": "rocket"}))
    assert not Sample.objects.exists()


def test_every_word_of_the_filter_can_be_set_on_the_page(study: Study) -> None:
    first = sample_actions.draw_sample(seat=make.owner_seat(study), size=1, filter=BOTH)
    client = Client()
    client.force_login(make.user("olga"))
    sent = {
        "repository": "acme/rocket", "state": "closed", "state_reason": "completed", "labels": "a", "labels_all": "b",
        "without_labels": "c", "any_keyword": "d", "all_keywords": "e", "no_keyword": "f", "words": "g", "search": "h",
        "keywords_in": "title,body,comments", "created_since": "2020-01-01", "created_until": "2020-01-02",
        "closed_since": "2020-01-03", "closed_until": "2020-01-04", "updated_since": "2020-01-05",
        "updated_until": "2020-01-06", "comments_at_least": "0", "comments_at_most": "9", "without_bots": "on",
        "has_closing_change": "false", "locked": "true", "presence": "here", "exclude_sample": str(first.pk),
        "left_out_of": str(first.pk), "has_merged_fix": "true", "fix_paths": "src, docs",
        **{f"{word}_at_{end}": "3" for word in ("fixes", "fix_lines", "fix_files", "days_to_fix")
           for end in ("least", "most")},
        "size": "1", "seed": "1", "stratify_by": "", "count": "1",
    }  # fmt: skip
    answer = client.post(reverse("samples", args=["study"]), sent)
    assert answer.status_code == 200, text_of(answer)
    filter = answer.context["form"].filter
    assert set(filter) == {*WORDS, "exclude_sample", "left_out_of"}
    assert answer.context["form"].initial_of(filter).keys() - {"state"} <= set(sent)
    assert filter["keywords"] == {"any": ["d"], "all": ["e"], "none": ["f"], "in": ["title", "body", "comments"]}
    assert (filter["has_closing_change"], filter["locked"], filter["comments_at_least"]) == (False, True, 0)
    assert (filter["has_merged_fix"], filter["fix_paths"], filter["fix_lines_at_most"]) == (True, ["src", "docs"], 3)


def test_items_are_screened_one_by_one_and_all_that_are_shown(study: Study, sample: Sample) -> None:
    client = Client()
    client.force_login(make.user("ada"))
    assert client.post(reverse("screen_sample", args=["study", sample.pk])).status_code == 302
    path, one = reverse("items", args=["study"]), Item.objects.filter(study=study).earliest("pk")
    row = reverse("screen_item", args=["study", one.pk])
    refused = client.post(row, {"screening": "out", "reason": ""}, headers={"HX-Request": "true"})
    assert refused.status_code == 422 and "Give a reason" in text_of(refused)
    told = client.post(row, {"screening": "out", "reason": "spam"}, headers={"HX-Request": "true"})
    assert told.status_code == 200 and told.content.count(b"<tr") == 1 and b'value="spam"' in told.content
    assert one.snapshot is not None and one.snapshot.title in text_of(told), "the row keeps its columns"
    assert "0 in, 1 out, 9 not screened" in text_of(told), "the counts above the table follow"
    assert "0 in, 1 out, 9 not screened" in text_of(client.get(path))
    assert client.post(path + "?screening=unscreened", {"screening": "out"}).status_code == 422
    done = client.post(path + "?screening=unscreened", {"screening": "in"}, follow=True)
    assert "9 items are screened in." in text_of(done) and "9 in, 1 out, 0 not screened" in text_of(done)
    shown = text_of(client.get(path + "?screening=out"))
    assert one.identifier in shown and "acme/rocket" in shown
    assert "spam" in text_of(page("bob", path)) and "All in" not in text_of(page("bob", path + "?screening=out"))


def test_a_selection_fills_the_form_and_fetches_what_is_not_stored(study: Study, world: World) -> None:
    client = Client()
    client.force_login(make.user("olga"))
    path = reverse("samples", args=["study"])
    shown = client.get(path + "?selection=yu-2025")
    form = shown.context["form"]
    assert form["state"].value() == "closed" and form["has_closing_change"].value() == "merged_pull_request"
    assert "NVIDIA/Megatron-LM" in form["repository"].value() and "the list of the 308 issues" in text_of(shown)
    assert client.get(path + "?selection=nobody").status_code == 404
    make.issues(3, "deepspeedai/DeepSpeed")
    olga = Caller("olga")
    listed = {each["slug"]: each for each in olga.get("selections/").json()}
    assert listed["ma-2025"]["not_stored"] == ["NVIDIA/Megatron-LM", "hpcaitech/ColossalAI"]
    moved = make.issues(1, "NVIDIA/megatron-core")[0].repository
    keep_former_name(moved, ("github.com", "nvidia", "Megatron-LM"))
    listed = {each["slug"]: each for each in olga.get("selections/").json()}
    assert listed["ma-2025"]["not_stored"] == ["hpcaitech/ColossalAI"], "stored under its later name"
    FormerName.objects.all().delete()
    started = olga.post("selections/ma-2025/fetch/")
    assert started.status_code == 202 and len(started.json()["fetches"]) == 2
    assert olga.post("selections/ma-2025/fetch/").json() == {"fetches": []}
    assert Caller("olga", "read").post("selections/ma-2025/fetch/").status_code == 403
    assert olga.post("selections/nobody/fetch/").status_code == 404
    answer = olga.post("studies/study/samples/", {"selection": "ma-2025", "filter": {"state": "open"}, "size": 2})
    assert answer.status_code == 201 and answer.json()["filter"]["state"] == "open"
    assert answer.json()["filter"]["repository"][0] == "deepspeedai/DeepSpeed"
    assert "Fetching" in text_of(
        client.post(reverse("fetch_selection", args=["study"]), {"selection": "chen-2023"}, follow=True)
    )


def test_lists_cost_the_same_at_any_size(study: Study, sample: Sample) -> None:
    owner = Caller("olga")
    one = f"studies/study/samples/{sample.pk}/"
    sample_actions.take_in(seat=make.owner_seat(study), sample=sample)
    sample_actions.screen_items(seat=make.owner_seat(study), screening="in", items=named(sample, 1))
    paths = [("studies/study/samples/", 4), (one, 4), (one + "flow/", 5), ("studies/study/screening/", 3)]
    for path, n in paths:
        owner.get(path)
        with assert_queries(n):
            assert owner.get(path).status_code == 200, path
    make.issues(300, first=100)
    large = sample_actions.draw_sample(seat=make.owner_seat(study), size=250, filter=BOTH)
    for n in range(10):
        sample_actions.draw_sample(seat=make.owner_seat(study), size=3, seed=n, filter=BOTH)
    sample_actions.screen_items(seat=make.owner_seat(study), screening="in", sample=large)
    for path, n in [(path.replace(f"/{sample.pk}/", f"/{large.pk}/"), n) for path, n in paths]:
        with assert_queries(n):
            assert owner.get(path).status_code == 200, path


def test_an_item_without_an_issue_does_not_tell_which_repository_has_its_name_now(study: Study) -> None:
    (issue,) = make.issues(1, "acme/merger", private=True)
    keep_former_name(issue.repository, ("github.com", "acme", "before"))
    Item.objects.create(study=study, identifier="acme/merger#1")
    olga, screened = Caller("olga"), {"screening": "out", "reason": "no bug"}
    for name in ("acme/before#1", "acme/never#1"):
        answer = olga.post("studies/study/screening/", {"items": [name], **screened})
        assert answer.status_code == 422 and "is neither an item of this study" in answer.content.decode()
        with pytest.raises(NotFound):
            get_item(make.owner_seat(study), name)
    Item.objects.filter(identifier="acme/merger#1").update(issue=issue, snapshot=issue.current_snapshot)
    assert olga.post("studies/study/screening/", {"items": ["acme/before#1"], **screened}).status_code == 200
    assert get_item(make.owner_seat(study), "acme/before#1").issue == issue
