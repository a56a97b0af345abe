"""Screening protects coding: a coding round takes what is in; what is out leaves the results, or is marked."""

import csv
import io
import re
from typing import Any

import pytest
from django.test import Client

from annotation.choosing.actions import samples as sample_actions
from annotation.imports.actions.ratings import import_ratings
from annotation.models import Annotation, Assignment, AuditEvent, Draft, Item, Round, RoundItem, Study
from annotation.rounds.actions import rounds
from tests import builders as make
from tests.annotation.choosing.test_screening import REASONS, answer, close, decide, drawn
from tests.scripts import Script

pytestmark = pytest.mark.django_db


def build_study() -> Study:
    """Eight drawn issues: two rounds’ worth of trouble.

    By place in the sample: 1, 2 and 3 are in, 4 is out with two reasons, 5 was decided to be out with its reason open,
    6 is open, and nobody screened 7 and 8.
    """
    study = make.study()
    sample = drawn(study, 8)
    owner = make.owner_seat(study)
    made = rounds.create_round(
        seat=owner,
        asked=rounds.NewRound(kind="screening", raters=["bob", "carol"], sample=sample, n_items=6, reasons=REASONS),
    )
    rounds.open_round(seat=owner, number=1, unregistered=True)
    n = numbers(study)
    answer(
        made,
        f"""
        item bob carol
        {n[1]} in in
        {n[2]} in in
        {n[3]} in in
        {n[4]} spam duplicate
        {n[5]} in spam
        {n[6]} in spam
        """,
    )
    close(study, leave_open=True)
    decide(study, made, n[5], "screening", "out")
    return study


def numbers(study: Study) -> dict[int, int]:
    """Issue numbers by place in the sample."""
    rows = study.samples.get().drawn.select_related("issue").order_by("position")
    return {row.position: row.issue.number for row in rows}


def name(study: Study, place: int) -> str:
    return f"acme/rocket#{numbers(study)[place]}"


def body(study: Study, **more: object) -> dict:
    return {"raters": ["bob", "carol"], "sample": str(study.samples.get().pk), **more}


def places(study: Study, number: int) -> list[int]:
    by_number = {issue: place for place, issue in numbers(study).items()}
    rows = RoundItem.objects.filter(round__study=study, round__number=number).order_by("position")
    return [by_number[int(each.rpartition("#")[2])] for each in rows.values_list("item__identifier", flat=True)]


def flow(study: Study) -> dict[str, int]:
    lines = Script("olga").send("GET", f"studies/study/samples/{study.samples.get().pk}/flow/").json()
    return {line["step"]: line["n"] for line in lines if line["kind"] != "step"}


def test_out_is_out_whether_or_not_its_reason_is_agreed(study: Study) -> None:
    found = dict(Item.objects.filter(study=study, screening="out").values_list("identifier", "screening_reason"))
    assert found == {name(study, 4): "reason unresolved", name(study, 5): "reason unresolved"}
    assert flow(study) == {
        "drawn": 8, "screened out: reason unresolved": 2, "screening unresolved": 1, "not screened yet": 2, "kept": 3,
    }  # fmt: skip
    decide(study, Round.objects.get(study=study), numbers(study)[4], "screening-reason", "spam")
    assert flow(study)["screened out: Spam"] == flow(study)["screened out: reason unresolved"] == 1


@pytest.mark.parametrize("asked", [{}, {"share": 1.0}, {"n_items": 3}, {"screening": ["in"]}])
def test_a_coding_round_takes_what_is_in_and_says_what_it_passed_over(study: Study, asked: dict) -> None:
    made = Script("olga").send("POST", "studies/study/rounds/", body(study, **asked))
    assert made.status_code == 201, made.content
    assert places(study, 2) == [1, 2, 3]
    assert made.json()["warnings"] == [
        "This round omits issues of the sample that are not screened in: 2 not screened, 1 open, 2 out."
    ]
    detail = AuditEvent.objects.get(study=study, verb="round made", detail__round=2).detail
    assert detail["passed_over"] == {"unscreened": 2, "open": 1, "out": 2}


@pytest.mark.parametrize("asked", [{"n_items": 4}, {"screening": ["open"], "n_items": 2}])
def test_more_than_is_in_is_refused_with_the_counts(study: Study, asked: dict) -> None:
    fields = Script("olga").refused("POST", "studies/study/rounds/", body(study, **asked))
    assert "2 not screened" in fields["n_items"][0] and "2 out" in fields["n_items"][0]


def test_named_issues_that_are_not_in_are_refused_with_the_counts(study: Study) -> None:
    make.issues(1, first=50)
    named = {"raters": ["bob", "carol"], "issues": [*(name(study, each) for each in (1, 6, 7)), "acme/rocket#50"]}
    fields = Script("olga").refused("POST", "studies/study/rounds/", named)
    assert fields["screening"][0].startswith("Of these issues, 2 not screened, 1 open.")
    fields = Script("olga").refused("POST", "studies/study/rounds/", named | {"issues": [name(study, 4)]})
    assert "screened out (reason unresolved)" in fields["issues"][0]
    made = Script("olga").send("POST", "studies/study/rounds/", named | {"screening": ["in", "unscreened", "open"]})
    assert made.status_code == 201 and made.json()["warnings"][0] == (
        "This round includes issues that are not screened in: 2 not screened, 1 open."
    )


def test_what_else_is_taken_is_a_choice_that_the_audit_log_keeps(study: Study) -> None:
    chosen = body(study, screening=["in", "unscreened", "open", "out"])
    assert list(Script("olga").refused("POST", "studies/study/rounds/", chosen)) == ["screening"], "out counts nowhere"
    Script("olga").send("PATCH", "studies/study/", {"screened_out": "keep"})
    made = Script("olga").send("POST", "studies/study/rounds/", chosen)
    assert made.status_code == 201, made.content
    assert places(study, 2) == [1, 2, 3, 4, 5, 6, 7, 8]
    detail = AuditEvent.objects.get(study=study, verb="round made", detail__round=2).detail
    assert detail["screening"] == ["in", "unscreened", "open", "out"]
    assert detail["took"] == {"in": 3, "unscreened": 2, "open": 1, "out": 2}
    for wrong in ("in", [], ["maybe"], [1]):
        assert list(Script("olga").refused("POST", "studies/study/rounds/", body(study, screening=wrong))) == [
            "screening"
        ]
    screening = {"kind": "screening", "screening": ["in"]}
    assert "screening" in Script("olga").refused("POST", "studies/study/rounds/", body(study, **screening))


def page(path: str, sent: dict | None = None, **more: object) -> str:
    browser = Client()
    browser.force_login(make.user("olga"))
    answered = browser.get(path) if sent is None else browser.post(path, sent, **more)
    return " ".join(answered.content.decode().split())


def test_the_page_names_the_counts_and_takes_the_choice(study: Study) -> None:
    text = page("/studies/study/rounds/new/")
    assert "unused: 3 screened in, 2 not screened, 1 open, 2 out" in text
    assert "2 not screened</span>" in text and "1 open</span>" in text and "2 out</span>" not in text
    sent = {
        "kind": "main", "taxonomy_version": "1", "raters": ["R1", "R2"], "raters_per_item": "2",
        "double_percent": "100", "mode": "planned", "source": "sample", "sample": str(study.samples.get().pk),
        "seed": "1", "reasons": "",
    }  # fmt: skip
    text = page("/studies/study/rounds/new/", {**sent, "preview": "1"})
    assert "<strong>3</strong> items" in text
    assert "It chooses from 3 screened in. It omits 2 not screened, 1 open, 2 out." in text
    page("/studies/study/rounds/new/", {**sent, "screening": ["unscreened"]})
    assert places(study, 2) == [1, 2, 3, 7, 8]
    note = "This round includes issues that are not screened in: 2 not screened."
    assert note in page("/studies/study/rounds/2/")
    rounds.open_round(seat=make.owner_seat(study), number=2, unregistered=True)
    assert note not in page("/studies/study/rounds/2/")


def test_a_draft_from_before_the_screening_does_not_open_with_what_is_not_in() -> None:
    study = make.study()
    sample, owner = drawn(study, 2), make.owner_seat(study)
    for more in ({"kind": "screening", "reasons": REASONS}, {"kind": "main"}):
        rounds.create_round(seat=owner, asked=rounds.NewRound(raters=["bob", "carol"], sample=sample, **more))
    rounds.open_round(seat=owner, number=1, unregistered=True)
    n = numbers(study)
    answer(Round.objects.get(study=study, number=1), f"item bob carol\n{n[1]} in in\n{n[2]} in spam")
    close(study, leave_open=True)
    refused = Script("olga").send("POST", "studies/study/rounds/2/open/", {"unregistered": True})
    assert refused.status_code == 409 and "not screened in: 1 open." in refused.json()["message"]
    screen(study, "in", 2)
    assert Script("olga").send("POST", "studies/study/rounds/2/open/", {"unregistered": True}).status_code == 200


def coded() -> Study:
    """The same, with what is in and what nobody screened coded and closed; then 3 and 7 are screened out."""
    study = build_study()
    owner = make.owner_seat(study)
    sample = study.samples.get().pk
    rounds.create_round(
        seat=owner, asked=rounds.NewRound(raters=["bob", "carol"], sample=sample, screening=["in", "unscreened"])
    )
    made = rounds.open_round(seat=owner, number=2, unregistered=True)
    n = numbers(study)
    rows = f"{n[1]} crash crash\n{n[2]} crash hang\n{n[3]} hang hang\n{n[7]} hang crash\n{n[8]} slow slow"
    make.rate(made, f"item bob carol\n{rows}")
    rounds.close_round(seat=owner, number=2, leave_open=True)
    return study


def screen(study: Study, screening: str, *which: int) -> dict:
    said = {"screening": screening, "reason": "Spam", "items": [name(study, each) for each in which]}
    done = Script("olga").send("POST", "studies/study/screening/", said)
    assert done.status_code == 200, done.content
    return done.json()


def rows(path: str) -> list[dict]:
    return Script("olga").send("GET", f"studies/study/{path}").json()["results"]


def table(what: str, shape: str = "long") -> list[dict]:
    answered = Script("olga").send("GET", f"studies/study/{what}/?format=csv&shape={shape}")
    return list(csv.DictReader(io.StringIO(b"".join(answered.streaming_content).decode())))


def units() -> tuple[int, int, int]:
    """Units, and items that are covered and labeled by two raters."""
    entry = Script("olga").send("GET", "studies/study/agreement/?round=2").json()[0]
    return entry["units"], entry["coverage"]["items"], entry["coverage"]["double"]


def paragraph() -> str:
    return Script("olga").send("GET", "studies/study/agreement/methods/").json()["paragraph"]


def counts() -> dict:
    return Script("olga").send("GET", "studies/study/analysis/counts/?dimension=symptom").json()


def everything(study: Study) -> dict[str, object]:
    """What the results are made of: which places are in each of them, and whether each row says so."""
    by_name = {name(study, place): place for place in numbers(study)}
    resolving = page("/studies/study/rounds/2/resolve/")
    found: dict[str, object] = {"units": units(), "counted": counts()["labels"]["n_items"]}
    for what in ("labels", "ratings"):
        listed = rows(f"{what}/")
        found[what] = sorted({by_name[row["item"]] for row in listed})
        found[f"{what} marked"] = sorted({by_name[row["item"]] for row in listed if row["screened_out"]})
        for shape in ("long", "wide"):
            lines = table(what, shape)
            assert sorted({by_name[line["item"]] for line in lines}) == found[what], (what, shape)
            marked = sorted({by_name[line["item"]] for line in lines if line["screened_out"] == "true"})
            assert marked == found[f"{what} marked"], (what, shape)
    found["disputed"] = sorted(place for each, place in by_name.items() if each.partition("/")[2] in resolving)
    return found


WHOLE = {
    "units": (5, 5, 5), "counted": 5, "labels": [1, 3, 8], "labels marked": [], "ratings": [1, 2, 3, 7, 8],
    "ratings marked": [], "disputed": [2, 7],
}  # fmt: skip


@pytest.mark.slow
def test_what_is_screened_out_after_coding_leaves_all_results_or_stays_and_is_marked() -> None:
    study = coded()
    assert everything(study) == WHOLE
    assert screen(study, "out", 3, 7) == {"n": 2, "n_left_rounds": 0, "n_labeled": 2}
    decided = {"item": name(study, 7), "dimension": "symptom", "values": ["hang"], "rationale": "Seen."}
    refused = Script("olga").send("POST", "studies/study/resolutions/", decided)
    assert refused.status_code == 409 and "is screened out, and this study excludes" in refused.json()["message"]
    gone = {"units": (3, 3, 3), "counted": 3, "labels": [1, 8], "ratings": [1, 2, 8], "disputed": [2]}
    assert everything(study) == WHOLE | gone
    assert flow(study) == {
        "drawn": 8, "screened out: reason unresolved": 2, "screened out: Spam": 2, "screening unresolved": 1,
        "not screened yet": 1, "kept": 2, "coded without screening": 1, "in coding rounds": 3,
    }  # fmt: skip
    text = paragraph()
    assert "labeled 3 items in 1 main round (3 items)" in text
    assert "Two labeled items are screened out; no number includes them." in text
    assert "2 screened out, excluded" in page("/studies/study/rounds/2/")
    assert "so its labels count in no result" in page(f"/studies/study/items/{item(study, 3).pk}/")

    Script("olga").send("PATCH", "studies/study/", {"screened_out": "keep"})
    marked = {"labels marked": [3], "ratings marked": [3, 7]}
    assert everything(study) == WHOLE | marked
    entry = Script("olga").send("GET", "studies/study/agreement/?round=2").json()[0]
    assert "2 items that are screened out can be among the units" in " ".join(entry["warnings"])
    assert counts()["labels"]["items_screened_out"] == 2
    assert flow(study)["coded, though screened out"] == 2 and flow(study)["in coding rounds"] == 5
    assert "Two labeled items are screened out; all numbers include them." in paragraph()
    assert "2 screened out, kept" in page("/studies/study/rounds/2/")

    Script("olga").send("PATCH", "studies/study/", {"screened_out": "exclude"})
    assert everything(study) == WHOLE | gone
    screen(study, "in", 3, 7)
    assert everything(study) == WHOLE


def item(study: Study, place: int) -> Item:
    return Item.objects.get(study=study, identifier=name(study, place))


def test_a_late_decision_of_screening_counts_like_any_other(study: Study) -> None:
    owner = make.owner_seat(study)
    sample = study.samples.get().pk
    rounds.create_round(
        seat=owner, asked=rounds.NewRound(raters=["bob", "carol"], sample=sample, screening=["in", "open"])
    )
    made = rounds.open_round(seat=owner, number=2, unregistered=True)
    n = numbers(study)
    make.rate(made, f"item bob carol\n{n[1]} crash crash\n{n[2]} hang hang\n{n[3]} hang hang\n{n[6]} slow slow")
    assert (units()[0], len(rows("labels/"))) == (4, 4)
    decide(study, Round.objects.get(study=study, number=1), n[6], "screening", "out")
    assert (units()[0], len(rows("labels/"))) == (3, 3)
    detail = AuditEvent.objects.filter(study=study, verb="items screened by a round").latest("pk").detail
    assert detail["labeled"] == 1


def test_the_setting_is_on_the_page_and_in_rest_and_a_sheet_for_an_item_that_is_out_counts_nowhere(
    study: Study,
) -> None:
    assert Script("olga").send("GET", "studies/study/").json()["screened_out"] == "exclude"
    assert "Labeled items that are screened out" in page("/studies/study/settings/")
    wrong = Script("olga").refused("PATCH", "studies/study/", {"screened_out": "maybe"})
    assert wrong == {"screened_out": ["Use exclude or keep."]}
    lines = [f"{name(study, place)},{who},2,symptom,crash" for place in (1, 4) for who in ("bob", "carol")]
    sheet = "\n".join(["item,rater,round,dimension,value", *lines]).encode()
    assert not import_ratings(user=make.user("olga"), study="study", file=sheet, name="sheet.csv").n_refused
    assert {row["item"] for row in rows("labels/")} == {name(study, 1)} and units() == (1, 1, 1)
    settings = {"title": study.title, "guidelines": "", "resolve_when": "round", "screened_out": "keep"}
    page("/studies/study/settings/", settings)
    assert units() == (2, 2, 2)


def test_the_paragraph_reports_raters_reasons_and_agreement_of_screening() -> None:
    coded()
    text = paragraph()
    assert "Two drawn issues were excluded at screening: 2 “reason unresolved”." in text
    assert "Of the other drawn issues, 3 were kept, 2 were not screened and 1 was unresolved." in text
    assert "Coding rounds contain 5 drawn issues: 3 kept and 2 not screened." in text
    assert "Two raters (R1 and R2) screened 6 items in round 1." in text
    assert "Agreement on what was screened in or out, before discussion, was Krippendorff’s α = " in text
    answered = Script("olga").send("GET", "studies/study/agreement/?round=1&dimension=screening").json()[0]
    alpha = next(each["value"] for each in answered["coefficients"] if each["name"] == "krippendorff_alpha")
    assert f"α = {alpha:.2f}, n = 6 units, 2 raters." in text


@pytest.mark.slow
def test_agreement_on_what_was_screened_again_is_apart_and_who_screened_by_hand_is_named() -> None:
    study = coded()
    screen(study, "in", 7, 8)
    owner, n = make.owner_seat(study), numbers(study)
    out = sample_actions.draw_sample(
        seat=owner, size=2, filter={"repository": "acme/rocket", "screened_out_of": study.samples.get().pk}
    )
    asked = rounds.NewRound(kind="screening", raters=["bob", "carol"], sample=out.pk, n_items=2, reasons=REASONS)
    rounds.create_round(seat=owner, asked=asked)
    made = rounds.open_round(seat=owner, number=3)
    answer(made, f"item bob carol\n{n[4]} in spam\n{n[5]} spam in")
    rounds.close_round(seat=owner, number=3, leave_open=True)
    text = paragraph()
    assert re.findall(r"Agreement on what was screened[^=]*= \S+, n = \d", text) == [
        "Agreement on what was screened in or out in round 1, before discussion, was Krippendorff’s α = 0.31, n = 6",
        "Agreement on what was screened in or out in round 3, where issues that had been screened out were screened "
        "again, before discussion, was Krippendorff’s α = −0.50, n = 2",
    ]
    assert "Two items were screened by hand, outside of screening rounds: 2 by 1 person without a rater’s code." in text


def test_a_sample_of_a_study_without_screening_rounds_is_taken_as_before() -> None:
    study = make.study()
    sample = drawn(study, 4)
    sample_actions.take_in(seat=make.owner_seat(study), sample=study.samples.get(pk=sample))
    screen(study, "out", 1)
    made = Script("olga").send("POST", "studies/study/rounds/", body(study))
    assert made.status_code == 201 and made.json()["warnings"] == []
    assert places(study, 1) == [2, 3, 4]


@pytest.mark.parametrize("mode", ["planned", "pool"])
def test_raters_of_an_open_round_lose_an_item_that_is_screened_out_and_get_it_back_with_what_they_typed(
    mode: str, django_capture_on_commit_callbacks: Any
) -> None:
    study = make.study()
    round_ = make.open_round(study, 3, mode=mode)
    raters = {who: Script(who, "rate") for who in ("bob", "carol")}

    def given(who: str) -> dict:
        answered = raters[who].send("GET", "studies/study/rounds/1/next/")
        return answered.json() if answered.status_code == 200 else {"item": None}

    def label(who: str) -> str:
        body = given(who)
        made = raters[who].send(
            "POST", "studies/study/annotations/", {"assignment": body["assignment"], "labels": {"symptom": ["crash"]}}
        )
        assert made.status_code == 201, made.content
        return body["item"]

    def put(screening: str, *items: str) -> None:
        body = {"screening": screening, "items": items, **({"reason": "Spam"} if screening == "out" else {})}
        with django_capture_on_commit_callbacks(execute=True):
            assert Script("olga").send("POST", "studies/study/screening/", body).status_code == 200

    done, open_ = label("bob"), given("bob")
    mine = Assignment.objects.get(round=round_, item__identifier=open_["item"], rater__user__username="bob")
    Draft.objects.create(assignment=mine, body={"labels": {"symptom": ["hang"]}})
    put("out", done, open_["item"])
    detail = AuditEvent.objects.filter(verb="items screened: out").latest("pk").detail
    assert detail["in_open_rounds"] == 2 and "unanswered_withdrawn" not in detail
    (left,) = {f"acme/rocket#{n}" for n in (1, 2, 3)} - {done, open_["item"]}
    assert {given(who)["item"] for who in raters} == {left}
    refused = raters["bob"].send(
        "POST", "studies/study/annotations/", {"assignment": open_["assignment"], "labels": {"symptom": ["hang"]}}
    )
    assert refused.status_code == 409 and "was screened out of the study" in refused.json()["message"]
    browser = Client()
    browser.force_login(make.user("bob"))
    shown = browser.get(f"/studies/study/rounds/1/label/{open_['assignment']}/").content.decode()
    assert "This item was screened out of the study. You do not need to label it." in shown
    assert Annotation.objects.count() == 1
    for who in raters:
        assert label(who) == left
        assert given(who)["item"] is None
    assert Round.objects.get(pk=round_.pk).state == "resolving", "nothing is left"
    Round.objects.filter(pk=round_.pk).update(state="open", resolving_at=None)
    put("in", done, open_["item"])
    assert given("bob")["item"] == open_["item"] and given("bob")["draft"] == {"labels": {"symptom": ["hang"]}}
    assert {label("carol"), label("carol")} == {done, open_["item"]}
    counts = {each.rater.user.username: (each.n_assigned, each.n_finished) for each in round_.round_raters.all()}
    assert counts == {"bob": (3, 2), "carol": (3, 3)}
    put("out", open_["item"])
    assert Round.objects.get(pk=round_.pk).state == "resolving", "the item was the last one that was open"
