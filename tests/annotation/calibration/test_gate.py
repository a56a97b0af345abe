"""What a pilot says of the main round: the advice, where it is shown, and what is kept when it is not followed."""

from typing import Any

import pytest
from django.test import Client

from annotation.calibration import calibration
from annotation.calibration.queries.gate import gate
from annotation.members.actions.reader_links import make_reader_link
from annotation.models import AuditEvent, Round, Study
from annotation.rounds.actions import rounds
from taxonomy.queries import forget_trees
from tests import builders as make
from tests.annotation.core.test_api import Caller
from tests.asserts import assert_queries

pytestmark = pytest.mark.django_db

ALIKE = """
    item  bob    carol
    1     crash  crash
    2     hang   hang
    3     slow   slow
"""
APART = """
    item  bob    carol
    1     crash  hang
    2     hang   crash
    3     slow   slow
"""


def a_study(threshold: float | None = 0.8) -> Study:
    chosen = {"symptom": {"coefficient": "krippendorff_alpha", "threshold": threshold}}
    return make.study(primary=chosen)


def drafted(study: Study, table: str | None) -> Round:
    """A draft main round after a pilot with these labels."""
    make.issues(6)
    if table:
        make.rate(make.open_round(study, 3, kind="pilot"), table)
    return rounds.create_round(
        seat=make.owner_seat(study),
        asked=rounds.NewRound(raters=["bob", "carol"], issues=["acme/rocket#4"], kind="main"),
    )


def page(who: str, study: Study, rest: str = "") -> Any:
    client = Client()
    client.force_login(make.user(who))
    return client.get(f"/studies/{study.slug}/{rest}")


def send(who: str, study: Study, rest: str, **body: str) -> Any:
    client = Client()
    client.force_login(make.user(who))
    return client.post(f"/studies/{study.slug}/{rest}", body)


@pytest.mark.parametrize(
    ("value", "threshold", "expected"),
    [(0.8, 0.8, "met"), (0.7999, 0.8, "not met"), (None, 0.8, "undefined"), (0.1, None, "no threshold")],
)
def test_a_coefficient_meets_its_threshold_when_it_is_not_below_it(
    value: float | None, threshold: float | None, expected: str
) -> None:
    assert calibration.verdict(value, threshold) == expected


def test_the_advice_is_to_wait_unless_every_threshold_is_met() -> None:
    assert calibration.advice(["met", "no threshold"]) == "open"
    assert calibration.advice(["met", "not met"]) == "wait"
    assert calibration.advice(["undefined"]) == "wait"
    assert calibration.advice(["no threshold"]) is None
    assert calibration.advice([]) is None


def test_without_a_pilot_or_a_threshold_there_is_no_advice_and_the_round_opens_as_ever() -> None:
    study = a_study()
    round_ = drafted(study, None)
    assert gate(make.owner_seat(study)) is None
    assert "Pilot result" not in page("olga", study, f"rounds/{round_.number}/").content.decode()
    assert rounds.open_round(seat=make.owner_seat(study), number=round_.number, unregistered=True).gate is None


def test_without_a_threshold_there_is_no_advice() -> None:
    study = a_study(None)
    drafted(study, APART)
    assert gate(make.owner_seat(study)) is None


def test_a_pilot_that_reached_its_thresholds_speaks_for_the_main_round() -> None:
    study = a_study()
    round_ = drafted(study, ALIKE)
    text = page("olga", study, f"rounds/{round_.number}/").content.decode()
    assert "the threshold was reached. You can start the main round" in text
    assert "Open anyway" not in text
    assert send("olga", study, f"rounds/{round_.number}/open/").status_code == 302
    kept = Round.objects.get(pk=round_.pk).gate
    assert kept is not None and (kept["advice"], kept["reason"]) == ("open", "")


def test_a_pilot_below_its_threshold_is_opened_on_the_page_only_with_a_reason_which_is_kept() -> None:
    study = a_study()
    round_ = drafted(study, APART)
    at = f"rounds/{round_.number}/"
    text = page("olga", study, at).content.decode()
    assert "Open anyway" in text
    assert "the threshold was not reached" in text
    for reason in ("", "   "):
        refused = send("olga", study, f"{at}open/", reason=reason)
        assert refused.status_code == 422
        assert "Give the reason for opening the round" in refused.content.decode()
    assert Round.objects.get(pk=round_.pk).state == Round.State.DRAFT
    assert send("olga", study, f"{at}open/", reason="The definitions are <clear> now.").status_code == 302
    kept = Round.objects.get(pk=round_.pk).gate
    assert kept is not None
    assert (kept["advice"], kept["reason"], kept["by"]) == ("wait", "The definitions are <clear> now.", "olga")
    (line,) = kept["dimensions"]
    assert (line["verdict"], line["threshold"]) == ("not met", 0.8)
    text = page("olga", study, at).content.decode()
    assert "Opened although Symptom was" in text
    assert "“The definitions are &lt;clear&gt; now.”" in text
    said = AuditEvent.objects.filter(verb="round opened").latest("pk").detail
    assert said["reason"] == "The definitions are <clear> now."
    assert said["against"][0].startswith("Symptom was")


def test_over_rest_a_main_round_opens_against_the_pilot_with_a_reason_alone() -> None:
    study = a_study()
    round_ = drafted(study, APART)
    for body in ({}, {"reason": "  "}):
        answer = Caller("olga").post(f"studies/{study.slug}/rounds/{round_.number}/open/", body)
        assert (answer.status_code, answer.json()["code"], list(answer.json()["fields"])) == (
            409,
            "against_gate",
            ["reason"],
        )
    assert Round.objects.get(pk=round_.pk).state == Round.State.DRAFT


def test_a_later_pilot_of_training_items_alone_stands_in_for_no_pilot() -> None:
    study = a_study()
    round_ = drafted(study, APART)
    known = {"acme/rocket#6": {"labels": {"symptom": ["crash"]}}}
    retry = rounds.create_round(
        seat=make.owner_seat(study),
        asked=rounds.NewRound(raters=["bob"], raters_per_item=1, issues=list(known), known=known, kind="pilot"),
    )
    rounds.open_round(seat=make.owner_seat(study), number=retry.number, unregistered=True)
    make.submit(retry, "bob", 6, {"symptom": ["crash"]})
    found = gate(make.owner_seat(study))
    assert found is not None and (found.pilot.number, found.is_wait) == (1, True)
    assert round_.number == 2 and retry.number == 3


def test_over_rest_a_reason_is_kept_and_one_that_is_no_text_is_refused() -> None:
    study = a_study()
    round_ = drafted(study, APART)
    olga, at = Caller("olga"), f"studies/{study.slug}/rounds/{round_.number}/open/"
    assert olga.post(at, {"reason": "x" * 2001}).status_code == 422
    assert olga.post(at, {"reason": "Time is short."}).json()["gate"]["reason"] == "Time is short."


@pytest.mark.parametrize("who", ["bob", "ada", "rea"])
def test_only_the_owner_reads_the_advice_on_a_draft_and_opens_the_round(who: str) -> None:
    study = a_study()
    round_ = drafted(study, APART)
    assert "Pilot result" not in page(who, study, f"rounds/{round_.number}/").content.decode()
    assert send(who, study, f"rounds/{round_.number}/open/", reason="because").status_code == 403
    assert Round.objects.get(pk=round_.pk).state == Round.State.DRAFT


def test_the_advice_stands_on_the_overview_and_where_a_round_is_made() -> None:
    study = a_study()
    drafted(study, APART)
    for rest in ("", "rounds/new/"):
        assert "Pilot result" in page("olga", study, rest).content.decode()
    assert "Pilot result" not in page("bob", study).content.decode()


def test_a_pilot_opens_without_a_gate() -> None:
    study = a_study()
    drafted(study, APART)
    pilot = rounds.create_round(
        seat=make.owner_seat(study),
        asked=rounds.NewRound(raters=["bob", "carol"], issues=["acme/rocket#5"], kind="pilot"),
    )
    assert rounds.open_round(seat=make.owner_seat(study), number=pilot.number, unregistered=True).gate is None


def test_the_advice_costs_three_queries_where_it_was_read_before() -> None:
    study = a_study()
    drafted(study, APART)
    seat = make.owner_seat(study)
    forget_trees()
    gate(seat)
    with assert_queries(3):  # the pilot, the raters, what has come to count
        gate(seat)


def test_an_undefined_coefficient_speaks_against_opening_with_its_reason() -> None:
    study = a_study()
    round_ = drafted(study, "item bob carol\n1 crash crash\n2 crash crash\n3 crash crash")
    found = gate(make.owner_seat(study))
    assert found is not None and found.is_wait
    rounds.open_round(seat=make.owner_seat(study), number=round_.number, reason="All crashes.", unregistered=True)
    text = page("olga", study, f"rounds/{round_.number}/").content.decode()
    assert "Symptom was undefined (threshold 0.80)" in text


def test_raters_and_links_are_told_what_the_pilot_said_when_it_is_closed() -> None:
    study = a_study()
    number = drafted(study, APART).number
    rounds.open_round(seat=make.owner_seat(study), number=number, reason="Time is short.")
    _, secret = make_reader_link(seat=make.owner_seat(study), label="Reviewer", with_issues=True)
    link = Client()
    link.get(f"/read/{secret}/")

    def told() -> list[bool]:
        by_link = link.get(f"/studies/{study.slug}/rounds/{number}/").content.decode()
        over_rest = Caller("bob").get(f"studies/{study.slug}/rounds/{number}/").json()["gate"]
        pages = [page(who, study, f"rounds/{number}/").content.decode() for who in ("olga", "bob")]
        return [*("Time is short." in each for each in pages), over_rest is not None, "Time is short." in by_link]

    pilot = study.rounds.get(kind="pilot")
    if pilot.state == Round.State.OPEN:
        rounds.resolve_round(seat=make.owner_seat(study), number=pilot.number)
    assert told() == [True, False, False, False]
    Round.objects.filter(pk=pilot.pk).update(state=Round.State.CLOSED)
    assert told() == [True, True, True, True]
