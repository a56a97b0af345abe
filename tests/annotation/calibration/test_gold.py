"""Gold in a study: partly known answers, a minimum for each rater with retries, agreement with gold, and the files."""

import csv
import io
import re
from typing import Any

import pytest
from django.test import Client

from annotation.calibration.queries.training import seen_answers
from annotation.choosing.actions.samples import draw_sample
from annotation.core.access import get_seat
from annotation.imports.actions.ratings import import_ratings
from annotation.labeling.queries.assignments import progress
from annotation.members.actions.members import add_member
from annotation.models import AuditEvent, Round, RoundItem, RoundRater, Study
from annotation.rounds.actions import rounds
from annotation.rounds.actions.raters import add_rater
from annotation.studies.actions.studies import create_study
from annotation.studies.queries.audit import audit_of
from tests import builders as make
from tests.annotation.core.test_api import Caller
from tests.forms import sent_by
from tests.interleaving import meeting

pytestmark = pytest.mark.django_db

FAULT = {"kind": ["fault"], "symptom": ["crash"], "fixes": ["config"], "distributed": False}


def build_study() -> Study:
    made = make.study(text=make.FAULTS, raters=["bob", "carol", "dave"])
    make.issues(20)
    return made


def name(number: int) -> str:
    return f"acme/rocket#{number}"


def opened(study: Study, raters: list[str], *numbers: int, known: dict[int, Any], **more: Any) -> Round:
    made = rounds.create_round(
        seat=make.owner_seat(study),
        asked=rounds.NewRound(
            raters=raters,
            issues=[name(n) for n in numbers],
            known={name(n): {"labels": labels} for n, labels in known.items()},
            **({"kind": "pilot", "raters_per_item": 1} | more),
        ),
    )
    return rounds.open_round(seat=make.owner_seat(study), number=made.number, unregistered=True)


def training(round_: Round, who: str = "olga") -> Any:
    answer = Caller(who).get(f"studies/{round_.study.slug}/rounds/{round_.number}/training/")
    assert answer.status_code == 200, answer.content
    return answer.json()


def ratings(study: Study, rest: str = "") -> list[dict[str, str]]:
    answer = Caller("olga").get(f"studies/{study.slug}/ratings/?format=csv{rest}")
    return list(csv.DictReader(io.StringIO(b"".join(answer.streaming_content).decode())))


def test_dimensions_that_gold_leaves_out_are_not_judged_and_an_empty_set_is_known_only_if_it_is_given(
    study: Study,
) -> None:
    known = {8: {"kind": ["fault"]}, 9: {"symptom": ["crash"]}, 10: {"kind": ["fault"], "fixes": []}}
    round_ = opened(study, ["bob"], 1, known=known)
    assert dict(RoundItem.objects.filter(known__isnull=False).values_list("item__identifier", "known__parts")) == {
        name(number): [{"labels": labels}] for number, labels in known.items()
    }
    for number in known:
        make.submit(round_, "bob", number, FAULT)
    (bob,) = training(round_)["results"]
    assert (bob["n_right"], bob["n_items"]) == (2, 3)
    found = {each["dimension"]: each for each in bob["dimensions"]}
    assert {key: (each["n_right"], each["n_known"]) for key, each in found.items()} == {
        "kind": (2, 2),
        "symptom": (1, 1),
        "fixes": (0, 1),
    }
    assert found["fixes"]["confusions"] == [{"known": "(none)", "given": "config", "n": 1}]
    refused = Caller("olga").post(
        f"studies/{study.slug}/rounds/",
        {"raters": ["bob"], "raters_per_item": 1, "known": {name(12): {"labels": {**FAULT, "kind": ["how-to"]}}}},
    )
    assert refused.status_code == 422 and "doesn't apply" in str(refused.json()["fields"])


def test_a_question_that_a_wrong_answer_above_closed_is_named_and_no_second_error(study: Study) -> None:
    round_ = opened(study, ["bob"], 1, known={8: {"kind": ["fault"], "symptom": ["crash"]}, 9: {"kind": ["fault"]}})
    bob = Caller("bob", "rate")
    body = {"assignment": make.assignment(round_, "bob", 8).public_id, "labels": {"kind": ["how-to"]}}
    feedback = bob.post(f"studies/{study.slug}/annotations/", body).json()["feedback"]
    assert [(each["dimension"], each["missing"]) for each in feedback["dimensions"]] == [
        ("kind", None),
        ("symptom", "not asked"),
    ]
    make.submit(round_, "bob", 9, skip="not in English")
    (found,) = training(round_)["results"]
    kind, symptom = found["dimensions"]
    assert (kind["n_known"], kind["n_answered"], kind["n_skipped"]) == (2, 1, 1)
    assert kind["confusions"] == [
        {"known": "fault", "given": "(skipped)", "n": 1},
        {"known": "fault", "given": "how-to", "n": 1},
    ]
    assert (symptom["n_not_asked"], symptom["confusions"][0]["given"]) == (1, "(not asked)")
    client = Client()
    client.force_login(make.user("olga"))
    page = client.get(f"/studies/{study.slug}/rounds/{round_.number}/").content.decode()
    assert "Fault: skipped" in page and "Crash: not asked" in page and "1 skipped" in page


def test_agreement_with_gold_has_a_coefficient_with_its_interval_by_dimension_and_category(study: Study) -> None:
    gold = {8: "crash", 9: "crash", 10: "hang", 11: "hang", 12: "slow", 13: "slow"}
    given = {**gold, 8: "hang", 13: "crash"}
    round_ = opened(study, ["bob"], 1, known={n: {"kind": ["fault"], "symptom": [each]} for n, each in gold.items()})
    for number, symptom in given.items():
        make.submit(round_, "bob", number, {**FAULT, "symptom": [symptom]})
    make.submit(round_, "bob", 13, {**FAULT, "symptom": ["slow"]})
    (found,) = training(round_)["results"]
    _, symptom = found["dimensions"]
    # Observed disagreement 2 of 6; of 12 values 4, 5 and 3: expected 1 - (4*3 + 5*4 + 3*2) / (12*11).
    alpha = symptom["coefficient"]
    assert alpha["name"] == "krippendorff_alpha" and alpha["value"] == pytest.approx(1 - (2 / 6) / (94 / 132))
    assert alpha["ci_low"] < alpha["value"] < alpha["ci_high"]
    crash = next(each for each in symptom["categories"] if each["category"] == "crash")
    assert (crash["n_known"], crash["n_given"], crash["n_both"]) == (2, 2, 1)
    assert crash["coefficient"]["value"] == pytest.approx(1 - (2 / 6) / (2 * 4 * 8 / (12 * 11)))
    assert (symptom["n_right"], found["n_revised"], found["after"]["n_right"]) == (4, 1, 5)
    assert found["after"]["dimensions"][1]["n_right"] == 5
    assert found["dimensions"][0]["coefficient"]["value"] is None  # one category on either side


def test_ratings_mark_training_items_and_keep_the_first_answer_in_json_csv_parquet_and_wide(study: Study) -> None:
    round_ = opened(study, ["bob"], 1, 2, known={8: FAULT, 9: FAULT})
    make.submit(round_, "bob", 8, {"kind": ["how-to"]})
    make.submit(round_, "bob", 9, {"kind": ["how-to"]})
    make.submit(round_, "bob", 8, {**FAULT, "fixes": []})
    make.submit(round_, "bob", 8, FAULT)
    make.submit(round_, "bob", 1, FAULT)
    make.submit(round_, "bob", 1, {"kind": ["how-to"]})
    truth = {
        (name(8), "true", "first", "how-to"),
        (name(8), "true", "current", "fault"),
        (name(9), "true", "first", "how-to"),
        (name(1), "false", "blind", "how-to"),
    }
    rows = [row for row in ratings(study) if row["dimension"] == "kind"]
    assert {(row["item"], row["training"], row["revision"], row["values"]) for row in rows} == truth and len(rows) == 4
    shown = Caller("olga").get(f"studies/{study.slug}/ratings/?dimension=kind").json()["results"]
    assert {(r["item"], str(r["training"]).lower(), r["revision"], *r["values"]) for r in shown} == truth
    wide = ratings(study, "&shape=wide")
    assert {(row["item"], row["training"], row["revision"], row["kind"]) for row in wide} == truth
    for revision in ("first", "blind", "current"):
        only = ratings(study, f"&revision={revision}&dimension=kind")
        page = Caller("olga").get(f"studies/{study.slug}/ratings/?dimension=kind&revision={revision}").json()["results"]
        assert [(row["item"], row["values"]) for row in only] == [(row["item"], *row["values"]) for row in page]
        assert {row["revision"] for row in only} == {revision}
    assert len(ratings(study, "&revision=current&dimension=kind")) == 3


@pytest.mark.slow
def test_a_rater_below_the_minimum_gets_no_other_items_until_a_retry_reaches_it(study: Study) -> None:
    gold = {8: {"kind": ["fault"]}, 9: {"kind": ["fault"]}, 10: {"kind": ["how-to"]}}
    main = opened(study, ["bob", "carol"], 1, 2, 3, 4, known=gold, kind="main", gold_minimum={"share": 0.6})
    at, how_to = f"studies/{study.slug}/", {"kind": ["how-to"]}
    bob = Caller("bob", "rate")
    for number in gold:
        make.submit(main, "carol", number, FAULT)
        said = bob.post(
            f"{at}annotations/?next=1",
            {"assignment": make.assignment(main, "bob", number).public_id, "labels": how_to},
        )
        assert said.status_code == 201
    assert said.json()["next"] is None and said.json()["feedback"] is not None
    held = bob.get(f"{at}rounds/{main.number}/next/")
    assert (held.status_code, held.json()["code"]) == (409, "below_minimum")
    assert "1 of 3 calibration items correctly" in held.json()["message"]
    assert Caller("carol", "rate").get(f"{at}rounds/{main.number}/next/").status_code == 200
    own = next(row for row in main.assignments.filter(rater__user__username="bob", state="waiting"))
    refused = bob.post(f"{at}annotations/", {"assignment": own.public_id, "labels": how_to})
    assert (refused.status_code, refused.json()["code"]) == (409, "below_minimum")
    client = Client()
    client.force_login(make.user("bob"))
    for page in ("", f"{own.public_id}/"):
        text = client.get(f"/studies/{study.slug}/rounds/{main.number}/label/{page}").content.decode()
        assert "No other items for you yet" in text and f'{own.item.identifier}"' not in text
    pages = ("/", f"/studies/{study.slug}/", f"/studies/{study.slug}/rounds/{main.number}/")
    for page in pages:
        text = client.get(page).content.decode()
        words = "Show your results" in text, f'/rounds/{main.number}/label/"' in text
        assert words == (True, False), page

    again = opened(study, ["bob"], known={11: {"kind": ["fault"]}, 12: {"kind": ["fault"]}})
    make.submit(again, "bob", 11, FAULT)
    assert bob.get(f"{at}rounds/{main.number}/next/").status_code == 409
    assert "admitted" not in {each["kind"] for each in bob.get("inbox/").json()["results"]}
    make.submit(again, "bob", 12, FAULT)
    assert bob.get(f"{at}rounds/{main.number}/next/").status_code == 200
    for page in pages:
        text = client.get(page).content.decode()
        assert "Show your results" not in text and f'/rounds/{main.number}/label/"' in text, page
    lines = [(each["kind"], each["round"]) for each in bob.get("inbox/").json()["results"]]
    assert lines.count(("admitted", main.number)) == 1
    assert client.get("/inbox/").content.decode().count("Round 1 now has more items for you") == 1
    kept = {
        row["code"]: row["admission"]
        for row in Caller("olga").get(f"{at}rounds/{main.number}/raters/").json()["results"]
    }
    assert (kept["R1"]["how"], kept["R1"]["round"], kept["R1"]["n_right"]) == ("reached", again.number, 2)
    assert (kept["R2"]["how"], kept["R2"]["round"], kept["R2"]["n_right"]) == ("reached", main.number, 2)
    history = [(each["rater"], each["round"], each["n_right"], each["reached"]) for each in training(main)["tries"]]
    assert history == [("R1", 1, 1, False), ("R1", 2, 2, True), ("R2", 1, 2, True)]
    assert [each["round"] for each in training(main, "bob")["tries"]] == [1, 2]
    paragraph = Caller("olga").get(f"{at}agreement/methods/").json()["paragraph"]
    assert "Five items with known labels were labeled for training." in paragraph
    assert (
        "Before the feedback, every known label was right in 3 of 6 submissions in the first try (2 raters) and "
        "2 of 2 submissions in the second try (1 rater)." in paragraph
    )
    assert "(60% of the items correct): R1 and R2 reached it." in paragraph


def test_the_owner_lets_a_rater_in_for_a_reason_and_no_other_rater_is_named_again(study: Study) -> None:
    main = opened(
        study, ["bob"], 1, known={8: {"kind": ["fault"]}}, kind="main", gold_minimum={"dimensions": {"kind": 0.5}}
    )
    make.submit(main, "bob", 8, {"kind": ["how-to"]})
    at = f"studies/{study.slug}/rounds/{main.number}/"
    olga, bob = Caller("olga"), Caller("bob", "rate")
    assert bob.get(f"{at}next/").status_code == 409
    assert Caller("bob").post(f"{at}raters/R1/admit/", {"reason": "x"}).status_code == 403
    assert olga.post(f"{at}raters/R1/admit/", {"reason": " "}).json()["fields"] == {
        "reason": ["Give a reason of at most 2,000 characters."]
    }
    client = Client()
    client.force_login(make.user("olga"))
    page = f"/studies/{study.slug}/rounds/{main.number}/"
    assert "R1 is below the minimum on calibration items" in client.get(f"/studies/{study.slug}/").content.decode()
    assert "not yet" in client.get(page).content.decode()
    assert client.post(f"{page}raters/R1/admit/", {"reason": "He wrote the codebook."}).status_code == 302
    assert "admitted" in {each["kind"] for each in bob.get("inbox/").json()["results"]}
    assert bob.get(f"{at}next/").status_code == 200
    text = client.get(page).content.decode()
    assert "let in" in text and "“He wrote the codebook.”" in text
    said = AuditEvent.objects.get(verb="rater let in below the minimum").detail
    assert (said["rater"], said["reason"]) == ("R1", "He wrote the codebook.")
    assert (
        olga.post(f"{at}raters/R1/admit/", {"reason": "again"}).json()["admission"]["reason"]
        == "He wrote the codebook."
    )
    paragraph = olga.get(f"studies/{study.slug}/agreement/methods/").json()["paragraph"]
    assert "R1 was let in for the stated reason “He wrote the codebook”." in paragraph


def test_nobody_gets_gold_that_they_had_in_a_round_that_is_over_or_resolved(study: Study) -> None:
    """Whether they answered it there makes no difference: who gets it is no secret to others who are blind there."""
    first = opened(study, ["bob", "carol"], 1, known={8: {"kind": ["fault"]}, 9: {"kind": ["fault"]}})
    for who in ("bob", "carol"):
        make.submit(first, who, 8, FAULT)
    owner = make.owner_seat(study)
    rounds.resolve_round(seat=owner, number=first.number, withdraw=True)
    made = Caller("olga").post(
        f"studies/{study.slug}/rounds/",
        {"raters": ["bob", "dave"], "raters_per_item": 1, "issues": [name(2)], "kind": "main",
         "known": {name(n): {"labels": {"kind": ["fault"]}} for n in (8, 9)}},
    ).json()  # fmt: skip
    assert any("R1 had 2 of the 2 calibration items before" in each for each in made["warnings"])
    second = rounds.open_round(seat=make.owner_seat(study), number=made["number"], unregistered=True)
    of = {who: set(second.assignments.filter(rater__user__username=who).values_list("item__identifier", flat=True))
          for who in ("bob", "dave")}  # fmt: skip
    both = {name(8), name(9)}
    assert (of["bob"] & both, of["dave"] & both) == (set(), both)
    assert dict(RoundRater.objects.filter(round=second).values_list("rater__code", "n_assigned")) == {
        make.member(study, who).code: len(each) for who, each in of.items()
    }
    items = dict(RoundItem.objects.filter(round=second).values_list("item__identifier", "item_id"))
    assert seen_answers(second, [make.member(study, "carol").pk], list(items.values())) == {
        (items[name(n)], make.member(study, "carol").pk) for n in (8, 9)
    }
    retry = rounds.create_round(
        seat=make.owner_seat(study),
        asked=rounds.NewRound(
            raters=["bob"], raters_per_item=1, kind="pilot", known={name(8): {"labels": {"kind": ["fault"]}}}
        ),
    )
    refused = Caller("olga").post(f"studies/{study.slug}/rounds/{retry.number}/open/", {"unregistered": True})
    assert (refused.status_code, refused.json()["code"]) == (409, "gold_seen")


def test_gold_from_anywhere_comes_beside_the_items_asked_for_on_the_page_and_over_rest(study: Study) -> None:
    seat = make.owner_seat(study)
    sample = draw_sample(seat=seat, size=12, seed=5, filter={"repository": "acme/rocket"})
    drawn = [name(n) for n in sample.drawn.order_by("position").values_list("issue__number", flat=True)]
    body = {"raters": ["bob"], "raters_per_item": 1, "sample": str(sample.pk), "n_items": 6, "kind": "pilot",
            "known": {each: {"labels": {"kind": ["fault"]}} for each in drawn[:2]}}  # fmt: skip
    made = Caller("olga").post(f"studies/{study.slug}/rounds/", body).json()
    places = RoundItem.objects.filter(round__number=made["number"])
    assert (places.counting().count(), places.count()) == (6, 8)
    client = Client()
    client.force_login(make.user("olga"))
    page = f"/studies/{study.slug}/rounds/{made['number']}/training/"
    outside = next(n for n in range(1, 21) if not places.filter(item__identifier=name(n)).exists())
    sent = client.post(page, {"known-item": name(outside), "known-of-kind": "fault", "known-of-fixes": "[]"})
    assert sent.status_code == 302, sent.content.decode()
    assert places.get(item__identifier=name(outside)).known["parts"] == [{"labels": {"kind": ["fault"], "fixes": []}}]
    assert client.post(page, {"known-item": name(99), "known-of-kind": "fault"}).status_code == 422
    assert client.post(page, {"minimum": "1", "minimum-share": "75", "minimum-of-kind": "0.5"}).status_code == 302
    assert Round.objects.get(number=made["number"]).gold_minimum == {
        "share": 0.75,
        "dimensions": {"kind": {"coefficient": "krippendorff_alpha", "minimum": 0.5}},
    }
    at = f"studies/{study.slug}/rounds/{made['number']}/training/"
    olga = Caller("olga")
    for wrong in ({"share": 2}, {"dimensions": {"knd": 0.5}}, {"dimensions": {"kind": "x"}}, {"least": 1}, []):
        assert olga.patch(at, {"gold_minimum": wrong}).status_code == 422, wrong
    other = next(n for n in range(20, 0, -1) if not places.filter(item__identifier=name(n)).exists())
    changed = olga.patch(at, {"known": {name(other): {"labels": {"kind": ["fault"]}}}, "gold_minimum": None})
    assert changed.status_code == 200 and changed.json()["gold_minimum"] is None
    assert (places.counting().count(), places.count()) == (6, 10)
    opened_ = rounds.open_round(seat=make.owner_seat(study), number=made["number"], unregistered=True)
    assert opened_.assignments.count() == 10
    assert olga.patch(at, {"gold_minimum": {"share": 1}}).status_code == 409


def test_the_page_of_a_minimum_changes_only_what_was_changed_there(study: Study) -> None:
    known = {name(8): {"labels": {"kind": ["fault"]}}}
    asked = rounds.NewRound(raters=["bob"], raters_per_item=1, kind="pilot", known=known)
    number = rounds.create_round(seat=make.owner_seat(study), asked=asked).number
    place, olga = f"studies/{study.slug}/rounds/{number}/training/", Caller("olga")
    page, client = f"/{place}", Client()
    client.force_login(make.user("olga"))

    def opened_page(shown: Any = None) -> dict[str, Any]:
        """What a browser sends of the form as it is shown."""
        return sent_by((shown or client.get(page)).content.decode(), "Save minimum") | {"minimum": "1"}

    agreed = {"dimensions": {"kind": {"coefficient": "percent_agreement", "minimum": 0.6}}, "share": 1 / 3}
    assert olga.patch(place, {"gold_minimum": agreed}).status_code == 200
    assert "percent agreement" in client.get(page).content.decode().lower()
    sent = opened_page()
    assert client.post(page, sent).status_code == 302
    assert Round.objects.get(number=number).gold_minimum == agreed
    assert olga.patch(place, {"gold_minimum": {"share": 0.9}}).status_code == 200
    refused = client.post(page, sent | {"minimum-of-kind": "0.7"})
    assert refused.status_code == 422 and "Someone else changed this after you opened" in refused.content.decode()
    assert client.post(page, opened_page(refused) | {"minimum-of-kind": "0.7"}).status_code == 302
    assert Round.objects.get(number=number).gold_minimum == {
        "share": 0.9, "dimensions": {"kind": {"coefficient": "krippendorff_alpha", "minimum": 0.7}},
    }  # fmt: skip
    with meeting(lambda: olga.patch(place, {"gold_minimum": {"share": 0.5}})):
        assert client.post(page, opened_page() | {"minimum-of-kind": ""}).status_code == 302
    assert Round.objects.get(number=number).gold_minimum == {"share": 0.5}
    assert client.post(page, opened_page() | {"minimum-share": ""}).status_code == 302
    assert Round.objects.get(number=number).gold_minimum is None


def test_a_proposal_on_gold_holds_back_no_closing_and_is_in_no_paragraph(study: Study) -> None:
    round_ = opened(study, ["bob"], 1, known={8: FAULT})
    make.submit(round_, "bob", 8, {}, proposals={"kind": {"name": "New", "memo": "none fits"}})
    make.submit(round_, "bob", 1, FAULT)
    olga = Caller("olga")
    assert "proposal" not in olga.get(f"studies/{study.slug}/agreement/methods/").json()["paragraph"]
    assert rounds.close_round(seat=make.owner_seat(study), number=round_.number).state == Round.State.CLOSED


def test_in_a_pool_too_nothing_is_taken_below_the_minimum(study: Study) -> None:
    round_ = opened(
        study, ["bob", "carol"], 1, 2, known={8: {"kind": ["fault"]}}, mode="pool", gold_minimum={"share": 1}
    )
    for who, labels in (("bob", FAULT), ("carol", {"kind": ["how-to"]})):
        make.submit(round_, who, 8, labels)
    add_rater(seat=make.owner_seat(study), number=round_.number, user="dave")
    assert [progress(round_, make.member(study, who)).n_total for who in ("bob", "dave")] == [3, 3]
    second = opened(study, ["bob", "dave"], 3, known={8: FAULT}, mode="pool")
    assert [progress(second, make.member(study, who)).n_total for who in ("bob", "dave")] == [1, 1]
    at = f"studies/{study.slug}/rounds/{round_.number}/next/"
    assert Caller("carol", "rate").get(at).status_code == 409
    assert Caller("bob", "rate").get(at).status_code == 200
    assert not round_.assignments.filter(state="leased", rater__user__username="carol").exists()


def test_a_file_of_ratings_that_is_imported_brings_no_answer_to_a_training_item_and_says_so(study: Study) -> None:
    round_ = opened(study, ["bob"], 1, known={8: FAULT})
    make.submit(round_, "bob", 8, {"kind": ["how-to"]})
    make.submit(round_, "bob", 1, FAULT)
    answer = Caller("olga").get(f"studies/{study.slug}/ratings/?format=csv&shape=wide")
    create_study(user=make.user("olga"), slug="second", title="Second", taxonomy=study.taxonomy.slug)
    file = b"".join(answer.streaming_content)
    report = import_ratings(user=make.user("olga"), study="second", file=file, name="ratings.csv")
    assert report.refusals and {each.reason.split(",")[0] for each in report.refusals} == {
        "This is a label of a calibration item"
    }
    rows = Caller("olga").get("studies/second/ratings/").json()["results"]
    assert {(row["item"], row["training"], row["screened_out"]) for row in rows} == {(name(1), False, False)}
    assert {row["dimension"] for row in rows} == {"kind", "symptom", "fixes", "distributed"}


def test_other_training_items_for_one_rater_are_made_on_the_pages(study: Study) -> None:
    make.submit(opened(study, ["bob"], 1, known={8: FAULT}), "bob", 8, FAULT)
    client = Client()
    client.force_login(make.user("olga"))
    form = client.get(f"/studies/{study.slug}/rounds/new/?retry=R1").content.decode()
    assert all(f'value="{each}" ' in form.split("checked")[n] for n, each in enumerate(("pilot", "none", "R1")))
    chosen = {"kind": "pilot", "source": "none", "raters": ["R1"], "raters_per_item": "1", "double_percent": "100",
              "mode": "planned", "taxonomy_version": "1", "seed": "1"}  # fmt: skip
    assert client.post(f"/studies/{study.slug}/rounds/new/", {**chosen, "kind": "main"}).status_code == 422
    made = client.post(f"/studies/{study.slug}/rounds/new/", chosen)
    assert made.status_code == 302 and made["Location"].endswith("/rounds/2/")
    refused = client.post(f"/studies/{study.slug}/rounds/2/open/", {"unregistered": "1"})
    assert refused.status_code == 409 and "has no items" in refused.content.decode()
    at = f"/studies/{study.slug}/rounds/2/training/"
    for number, seen in ((9, 0), (8, 1)):
        assert client.post(at, {"known-item": name(number), "known-of-kind": "fault"}).status_code == 302
        assert client.get(at).content.decode().count("had 1 of the 2 calibration items before") == seen
    assert len(Caller("olga").get(at.removeprefix("/")).json()["warnings"]) == 1
    assert client.post(f"/studies/{study.slug}/rounds/2/open/", {"unregistered": "1"}).status_code == 302
    given = Round.objects.get(number=2).assignments.values_list("rater__code", "item__identifier")
    assert list(given) == [("R1", name(9))]


@pytest.mark.parametrize("given", ["fault", "how-to"])
def test_whether_an_answer_was_right_is_no_step_for_an_owner_who_rates_its_item_elsewhere(
    study: Study, given: str
) -> None:
    add_member(seat=make.owner_seat(study), username="olga", roles=["owner", "rater"])
    gold = {8: {"kind": ["fault"]}}
    main = opened(study, ["bob"], 1, known=gold, kind="main", gold_minimum={"share": 1})
    make.submit(main, "bob", 8, FAULT | {"kind": [given]} if given == "fault" else {"kind": [given]})
    again = opened(study, ["olga", "carol"], 8, known={}, kind="main", raters_per_item=2)
    make.submit(again, "olga", 8, FAULT)
    client = Client()
    client.force_login(make.user("olga"))
    for page in ("", "rounds/1/", "rounds/2/"):
        assert "below the minimum" not in client.get(f"/studies/{study.slug}/{page}").content.decode(), page


def test_an_owner_who_rates_reads_how_nobody_else_came_in(study: Study) -> None:
    add_member(seat=make.owner_seat(study), username="olga", roles=["owner", "rater"])
    round_ = opened(study, ["olga", "bob"], 1, 2, known={8: FAULT}, gold_minimum={"share": 1})
    for who in ("olga", "bob"):
        make.submit(round_, who, 8, FAULT)
        assert Caller(who, "rate").get(f"studies/{study.slug}/rounds/1/next/").status_code == 200
    at = f"studies/{study.slug}/rounds/1/"
    came = {row["user"]: row["admission"] for row in Caller("olga").get(f"{at}raters/").json()["results"]}
    assert came["olga"]["how"] == "reached" and came["bob"] is None
    assert [each["rater"] for each in training(round_)["tries"]] == [make.member(study, "olga").code]
    client = Client()
    client.force_login(make.user("olga"))
    assert client.get(f"/studies/{study.slug}/rounds/1/").content.decode().count("minimum reached") == 1


def told_of_a_minimum(slug: str, is_right: bool) -> list[Any]:
    """What others are told of a round with a minimum while bob's try is in another one that is open to them.

    Carl owns the study and rates in the other round, stan is of the staff, and rea reads.
    """
    study = make.study(slug, text=make.FAULTS.replace("slug: faults", f"slug: {slug}"), raters=["bob", "carol"])
    owner, at = make.owner_seat(study), f"studies/{slug}/"
    add_member(seat=owner, username=make.user("carl").username, roles=["owner", "rater"])
    make.user("stan", staff=True)
    opened(study, ["bob", "carol"], 1, known={}, kind="main", gold_minimum={"share": 1}, raters_per_item=2)
    other = opened(study, ["bob", "carol", "carl"], known={8: {"kind": ["fault"]}})
    make.submit(other, "bob", 8, FAULT if is_right else {"kind": ["how-to"]})
    make.submit(other, "carl", 8, FAULT)
    assert Caller("bob", "rate").get(f"{at}rounds/1/next/").status_code == (200 if is_right else 409)
    admit = f"{at}rounds/1/raters/{{}}/admit/"
    assert Caller("olga").post(admit.format("R2"), {"reason": "Known."}).json()["admission"]["how"] == "let_in"

    def admissions(*names: str) -> list[Any]:
        rows = [Caller(name).get(f"{at}rounds/1/raters/").json()["results"] for name in names]
        return [[each["admission"] and each["admission"]["how"] for each in one] for one in rows]

    client = Client()
    client.force_login(make.user("carl"))
    pages = [client.get(f"/{at}{page}").content.decode() for page in ("", "rounds/1/")]
    found: list[Any] = [admissions("carl", "stan", "rea"), [_words_of_minimum(page) for page in pages]]
    found.append(Caller("carl").post(admit.format("R1"), {"reason": "Please."}).json()["admission"])
    assert admissions("olga") == [["reached" if is_right else "let_in", "let_in"]]
    make.submit(study.rounds.get(number=1), "carol", 1, FAULT)
    rounds.resolve_round(seat=owner, number=1, withdraw=True)
    rounds.close_round(seat=owner, number=1, leave_open=True)
    found.append(admissions("carl", "stan", "rea"))
    for name in ("carl", "stan", "rea", "carol"):
        found.append(_words_of_minimum(Caller(name).get(f"{at}agreement/methods/").json()["paragraph"]))
        found.append([each.verb for each in audit_of(get_seat(make.user(name), slug)) if "let in" in each.verb])
    told = Caller("olga").get(f"{at}agreement/methods/").json()["paragraph"]
    assert f"R1{' reached it; ' if is_right else ' was let in'}" in told
    return found


def _words_of_minimum(text: str) -> list[str]:
    return re.findall(r"minimum reached|below the minimum|not yet|reached it|was let in", text)


@pytest.mark.slow
def test_nothing_tells_how_a_rater_came_in_by_a_try_in_a_round_that_is_hidden() -> None:
    make.issues(20)
    right, wrong = (told_of_a_minimum(*world) for world in (("right", True), ("wrong", False)))
    assert right == wrong
