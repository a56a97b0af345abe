"""Agreement by repository, by stratum and between two raters: the same numbers and items at every door."""

import json
from io import StringIO
from typing import Any

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError
from django.test import Client

from annotation.agreement_report.queries.across_rounds import visible_rounds
from annotation.agreement_report.queries.coefficients import agreement
from annotation.agreement_report.queries.options import ask
from annotation.agreement_report.queries.units_behind import DrillDown, drill_down_units
from annotation.choosing.actions.samples import draw_sample
from annotation.core.access import get_whole_study
from annotation.core.errors import Invalid
from annotation.labeling.actions.answers import submit_annotation
from annotation.models import Assignment, Study
from annotation.rounds.actions import rounds
from tests import builders as make
from tests.scripts import Script

pytestmark = pytest.mark.django_db

AGREEMENT = "/studies/study/agreement/"


def entry(study: Study, **words: str) -> dict[str, Any]:
    seat = get_whole_study(study.slug)
    found = agreement(seat, visible_rounds(seat), ask(seat, {"dimension": "symptom", **words}), round_number=None)
    return found[0]


def value(found: dict[str, Any], name: str = "percent_agreement") -> float | None:
    given: float | None = next(each["value"] for each in found["coefficients"] if each["name"] == name)
    return given


def behind(study: Study, show: str = "compared", **words: str) -> list[str]:
    seat = get_whole_study(study.slug)
    words = {"dimension": "symptom", "show": show, **words}
    found = drill_down_units(seat, visible_rounds(seat), ask(seat, words), DrillDown.read(words))
    return [line.item.identifier for line in found.lines]


def test_a_repository_has_the_numbers_of_its_own_items() -> None:
    study = make.study()
    make.rate(make.open_round(study, 3), "item bob carol\n1 crash crash\n2 crash hang\n3 slow -")
    make.issues(2, "acme/rocket2", first=1)
    seat = make.owner_seat(study)
    named = ["acme/rocket2#1", "acme/rocket2#2"]
    more = rounds.create_round(
        seat=seat, asked=rounds.NewRound(raters=["bob", "carol"], issues=named, raters_per_item=2)
    )
    rounds.open_round(seat=seat, number=more.number, unregistered=True)
    for each in Assignment.objects.filter(round=more).select_related("rater__user"):
        assert each.rater.user
        seat = make.seat(study, each.rater.user.username)
        submit_annotation(seat=seat, assignment=each.public_id, body={"labels": {"symptom": ["hang"]}})
    assert [entry(study)[each] for each in ("units", "left_out")] == [4, 1]
    rocket, other = entry(study, repository="acme/rocket"), entry(study, repository="acme/rocket2")
    assert (rocket["units"], rocket["left_out"], value(rocket)) == (2, 1, 0.5)
    assert (other["units"], other["left_out"], value(other)) == (2, 0, 1)
    assert behind(study, repository="acme/rocket2") == ["acme/rocket2#1", "acme/rocket2#2"]
    assert behind(study, "left_out", repository="acme/rocket") == ["acme/rocket#3"]
    assert behind(study, "left_out", repository="acme/rocket2") == []


def test_a_stratum_has_the_numbers_of_the_issues_drawn_from_it() -> None:
    study = make.study()
    make.issues(9)
    seat = make.owner_seat(study)
    sample = draw_sample(seat=seat, filter={"repository": "acme/rocket"}, size=9, seed=1, stratify_by="state")
    round_ = rounds.create_round(seat=seat, asked=rounds.NewRound(raters=["bob", "carol"], sample=sample.pk, n_items=9))
    round_ = rounds.open_round(seat=seat, number=round_.number, unregistered=True)
    for number in range(1, 10):  # every third is closed
        make.submit(round_, "bob", number, {"symptom": ["crash"]})
        make.submit(round_, "carol", number, {"symptom": ["hang" if number % 3 == 0 else "crash"]})
    closed, still_open = entry(study, stratum="closed"), entry(study, stratum="open")
    assert (closed["units"], value(closed)) == (3, 0) and (still_open["units"], value(still_open)) == (6, 1)
    assert sorted(behind(study, "differ")) == sorted(behind(study, stratum="closed"))
    shown = visitor("olga").get(AGREEMENT).content.decode()
    assert '<select name="stratum"' in shown and '<select name="repository"' not in shown


def test_two_raters_count_alone_and_what_others_gave_is_left_out() -> None:
    study = three()
    assert entry(study)["units"] == 4
    pair = entry(study, raters="R2,R1")
    assert (pair["units"], pair["left_out"], pair["raters"], value(pair)) == (2, 2, 2, 0.5)
    assert value(pair, "scott_pi") is not None and value(entry(study), "scott_pi") is None
    assert behind(study, raters="R1,R2") == ["acme/rocket#1", "acme/rocket#2"]
    assert behind(study, "left_out", raters="R1,R2") == ["acme/rocket#3", "acme/rocket#4"]
    assert behind(study, a="crash", b="hang", raters="R1,R2") == ["acme/rocket#2"]
    assert behind(study, a="hang", b="crash", raters="R1,R2") == []


def three() -> Study:
    study = make.study(raters=("bob", "carol", "dan"))
    round_ = make.open_round(study, 4, raters=("bob", "carol", "dan"))
    make.rate(round_, "item bob carol dan\n1 crash crash hang\n2 crash hang crash\n3 - slow slow\n4 hang - slow")
    return study


@pytest.mark.parametrize(
    ("words", "field", "sentence"),
    [
        ({"repository": "acme/moon"}, "repository", "No item is from “acme/moon”; there is acme/rocket."),
        ({"repository": "acme/rock"}, "repository", "there is acme/rocket."),
        ({"stratum": "old"}, "stratum", "No sample of this study has a stratum “old”; there are none."),
        ({"raters": "R1"}, "raters", "Name two raters, as R1,R2."),
        ({"raters": "R1,R1"}, "raters", "Name two raters, as R1,R2."),
        ({"raters": "R1,R7"}, "raters", "No person rates here as “R7”; there are R1, R2, R3."),
        ({"weights": "cubic"}, "weights", "Write linear or quadratic."),
    ],
)
def test_an_unknown_slice_is_refused_with_what_there_is(words: dict[str, str], field: str, sentence: str) -> None:
    study = three()
    with pytest.raises(Invalid) as refused:
        ask(get_whole_study(study.slug), words)
    assert sentence in refused.value.fields[field][0]


def visitor(name: str) -> Client:
    client = Client()
    client.force_login(make.user(name))
    return client


def test_page_rest_and_command_slice_alike() -> None:
    three()
    asked = {"dimension": "symptom", "raters": "R1,R3", "repository": "acme/rocket"}
    client = visitor("olga")
    over_rest = client.get("/api/v1/studies/study/agreement/", asked).json()
    out = StringIO()
    options = [f"--{name}={each}" for name, each in asked.items()]
    call_command("agreement", "study", *options, "--json", stdout=out)
    assert json.loads(out.getvalue()) == over_rest and over_rest[0]["units"] == 3
    page = client.get(AGREEMENT, asked).content.decode()
    assert "Only items of acme/rocket, labels of R1 and R3." in page
    assert '<option value="R1,R3" selected>R1 and R3</option>' in page and '<select name="repository"' not in page
    assert client.get(AGREEMENT, {"raters": "R1,R9"}).status_code == 422
    with pytest.raises(CommandError, match="No person rates here as “R9”"):
        call_command("agreement", "study", "--raters=R1,R9")


def test_two_raters_offer_no_choice_of_raters() -> None:
    study = make.study()
    make.rate(make.open_round(study, 1), "item bob carol\n1 crash crash")
    assert '<select name="raters"' not in visitor("olga").get(AGREEMENT).content.decode()


@pytest.mark.parametrize("name", ["repository", "stratum", "raters"])
@pytest.mark.parametrize("place", ["agreement/", "agreement/items/"])
def test_a_character_that_can_not_be_stored_is_left_out_by_pages_and_refused_over_rest(name: str, place: str) -> None:
    make.rate(make.open_round(make.study(), 1), "item bob carol\n1 crash hang")
    olga = Client()
    olga.force_login(make.user("olga"))
    answer = olga.get(f"/studies/study/{place}", {"dimension": "symptom", name: "\0"})
    assert answer.status_code == 200  # pages read their addresses without it
    assert Script("olga").send("GET", f"studies/study/agreement/?{name}=%00").status_code == 422


SETS = """
  - key: fixes
    title: Fixes
    kind: multi
    categories:
      - {key: code, name: Code}
"""


@pytest.mark.parametrize("dimension", ["symptom", "fixes"])
def test_the_units_of_a_category_that_a_dimension_does_not_have_are_none(dimension: str) -> None:
    round_ = make.open_round(make.study(text=make.SYMPTOMS.rstrip() + SETS), 1)
    for name in ("bob", "carol"):
        make.submit(round_, name, 1, {"symptom": ["hang"], "fixes": ["code"]})
    olga = visitor("olga")
    answer = olga.get("/studies/study/agreement/items/", {"dimension": dimension, "a": "slow + late", "b": "x"})
    assert answer.status_code == 200 and "acme/rocket#1" not in answer.content.decode()
