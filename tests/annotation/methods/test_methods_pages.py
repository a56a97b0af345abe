"""The methods of a study through its doors: who may read them, that they say what agreement says, and blindness."""

import io
import json
import re
import tomllib
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.core.management import CommandError, call_command
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from accounts.actions import make_token
from annotation.agreement_report.queries.coefficients import agreement
from annotation.agreement_report.queries.options import ask
from annotation.choosing.actions import samples as sample_actions
from annotation.core.access import get_item, get_whole_study
from annotation.imports.actions.ratings import import_ratings
from annotation.methods.queries.methods import methods
from annotation.models import Round, Study
from annotation.resolving.actions import resolutions as resolution_actions
from annotation.resolving.actions import third_rater_requests as third_raters
from tests import builders as make
from tests.published import LIU

pytestmark = pytest.mark.django_db

ROOT = Path(__file__).resolve().parents[3]
PAGE = "/studies/study/agreement/methods/"
FILES = [f"/studies/study/agreement/methods.{format}" for format in ("txt", "md", "tex")]


def visitor(name: str) -> Client:
    client = Client()
    client.force_login(make.user(name))
    return client


def get(name: str, address: str, status: int = 200) -> str:
    response = visitor(name).get(address)
    assert response.status_code == status, (name, address, response.status_code)
    body = response.content.decode()
    if "html" in response["Content-Type"]:
        body = re.sub(r"\s+", " ", unescape(re.sub(r"<[^>]+>", "", body.partition("<main")[2])))
    return body


def rest(name: str, status: int = 200) -> Any:
    token = make_token(user=make.user(name), name="t", scope="read")[1]
    response = Client().get(f"/api/v1{PAGE}", headers={"Authorization": f"Bearer {token}"})
    assert response.status_code == status
    return response.json()


def build_study() -> Study:
    """Round 1, a pilot, is being resolved: item 2 is decided; round 2 is open and bob and carol rate in it."""
    made = make.study(primary={"symptom": {"coefficient": "cohen_kappa", "threshold": 0.8}})
    table = "item bob carol\n1 crash crash\n2 crash hang\n3 hang hang\n4 slow hang\n5 slow slow\n6 - crash"
    round_ = make.rate(make.open_round(made, 6, kind="pilot"), table)
    item = get_item(make.seat(made, "ada"), "acme/rocket#2")
    place: dict[str, Any] = {"round_": round_, "item": item, "part": 1, "dimension": "symptom", "expected": None}
    resolution_actions.resolve(seat=make.seat(made, "ada"), values=["crash"], rationale="as the log says", **place)
    make.submit(make.open_round(made, 3, first=8), "bob", 8, {"symptom": ["slow"]})
    return made


@pytest.mark.parametrize(
    ("name", "status"), [("olga", 200), ("ada", 200), ("rea", 200), ("bob", 200), ("mallory", 404)]
)
def test_members_read_the_methods_and_others_find_nothing(study: Study, name: str, status: int) -> None:
    make.study("other", text=make.FAULTS, raters=("mallory",))
    for address in (PAGE, *FILES):
        get(name, address, status)
    rest(name, status)


def test_who_is_not_signed_in_is_sent_to_sign_in_and_nonsense_is_not_found(study: Study) -> None:
    for address in (PAGE, *FILES):
        assert Client().get(address).status_code == 302
    assert Client().get(f"/api/v1{PAGE}").status_code == 401
    get("olga", "/studies/study/agreement/methods.docx", 404)
    get("olga", "/studies/nothing/agreement/methods/", 404)


def test_the_page_tells_what_happened_and_marks_what_is_missing(study: Study) -> None:
    words = get("olga", PAGE)
    for part in (
        "[missing: how the 7 items that no round took from a sample were chosen]",
        "Items were labeled against version 1 of the taxonomy",
        "Two raters (R1 and R2) labeled 7 items in 1 pilot round (6 items) and 1 main round (1 item).",
        "Within a round, two or more raters labeled 5 of 7 items (71.4%).",
        "[missing: the end of round 2, which is open; 5 of 6 assignments are outstanding",
        "Raters skipped 1 assignment.",
        "While a round was open, its raters could not see each other’s labels.",
        "[missing: why Cohen’s κ suits Symptom]",
        "One disagreement was resolved: 1 by adjudication. Resolutions were entered by 1 person who did not label.",
        "Symptom: Cohen’s κ, threshold 0.80",
    ):
        assert part in words, part


def test_the_numbers_are_those_of_the_page_of_agreement(study: Study) -> None:
    seat = get_whole_study("study")
    facts = methods(seat)
    (symptom,) = facts.dimensions
    assert (symptom.before.value, symptom.before.undefined) == (None, None)
    Round.objects.filter(number=1).update(kind=Round.Kind.MAIN)
    facts = methods(get_whole_study("study"))
    (entry,) = agreement(seat, list(study.rounds.filter(number=1)), ask(seat, {}), round_number=None)
    kappa = next(each for each in entry["coefficients"] if each["name"] == "cohen_kappa")
    (symptom,) = facts.dimensions
    assert (symptom.before.value, symptom.before.low, symptom.before.high, symptom.before.units) == (
        kappa["value"],
        kappa["ci_low"],
        kappa["ci_high"],
        entry["units"],
    )
    assert sum(n for _, n in symptom.left_out) == entry["left_out"] == 1
    assert rest("olga")["paragraph"] == get("olga", FILES[0])
    assert f"{kappa['value']:.3f}" in rest("olga")["latex"]


@pytest.mark.slow
def test_a_blind_round_is_left_out_of_everything_and_said_so(study: Study) -> None:
    words = get("bob", PAGE)
    assert "You are a rater in round 2, so this text excludes it until it closes." in words
    assert "labeled 6 items in 1 pilot round (6 items)." in words
    before = [get("bob", address) for address in FILES], rest("bob")
    make.submit(study.rounds.get(number=2), "carol", 8, {"symptom": ["hang"]})
    assert ([get("bob", address) for address in FILES], rest("bob")) == before
    assert rest("ada")["paragraph"] != before[1]["paragraph"]


def test_decisions_on_an_item_that_one_is_asked_about_are_not_counted() -> None:
    study = make.study(raters=("bob", "carol", "zoe"))
    round_ = make.rate(make.open_round(study, 2), "item bob carol\n1 crash hang\n2 crash hang")
    ada = make.seat(study, "ada")
    for number in (1, 2):
        item = get_item(ada, f"acme/rocket#{number}")
        third_raters.ask_third_rater(seat=ada, round_=round_, item=item, rater="zoe") if number == 1 else None
        resolution_actions.resolve(
            seat=ada,
            round_=round_,
            item=item,
            part=1,
            dimension="symptom",
            values=["crash"],
            rationale="as the log says",
            expected=None,
        )
    # Nothing else is open on the item, which ended the request for a third answer; here it goes on.
    assert round_.assignments.filter(slot=None, state="withdrawn").update(state="waiting") == 1
    assert "Two disagreements were resolved" in rest("olga")["paragraph"]
    assert "One disagreement was resolved" in rest("zoe")["paragraph"]


def test_a_sample_is_told_with_its_frame_and_seed() -> None:
    study = make.study()
    make.issues(9)
    owner = make.owner_seat(study)
    sample = sample_actions.draw_sample(seat=owner, filter={"repository": "acme/rocket"}, size=4, seed=77)
    from annotation.rounds.actions import rounds

    made = rounds.create_round(
        seat=owner, asked=rounds.NewRound(raters=["bob", "carol"], raters_per_item=2, sample=sample.pk, n_items=4)
    )
    rounds.open_round(seat=owner, number=made.number, unregistered=True)
    assert "Four issues were drawn at random (seed 77) from a frame of 9 issues." in get("olga", FILES[0])


def test_an_empty_study_says_that_there_is_nothing_yet() -> None:
    make.study()
    assert "Nothing to report yet." in get("olga", PAGE)
    assert get("olga", FILES[2]).endswith("% There is nothing to compare yet.\n")
    assert rest("olga")["paragraph"].startswith("[missing:")


@pytest.mark.slow
def test_a_person_who_is_blind_everywhere_reads_of_no_round() -> None:
    make.open_round(make.study(), 1)
    assert "Nothing to report yet." in get("bob", PAGE)


def test_the_shell_prints_the_same(study: Study) -> None:
    def printed(*words: str) -> str:
        out = io.StringIO()
        call_command("agreement", "study", *words, stdout=out)
        return out.getvalue()

    assert printed("--methods") == get("olga", FILES[1])
    assert printed("--latex") == rest("olga")["latex"]
    assert json.loads(printed("--methods", "--json")) == rest("olga")
    with pytest.raises(CommandError, match="not found"):
        call_command("agreement", "nothing", "--methods")


def test_the_number_of_queries_does_not_grow_with_items() -> None:
    counts = []
    for slug, n in (("few", 2), ("many", 14)):
        study = make.study(slug, text=make.SYMPTOMS.replace("slug: symptoms", f"slug: {slug}"))
        table = "item bob carol\n" + "\n".join(f"{number} crash hang" for number in range(1, n + 1))
        make.rate(make.open_round(study, n), table)
        client = visitor("olga")
        client.get(f"/studies/{slug}/agreement/methods/")
        with CaptureQueriesContext(connection) as captured:
            client.get(f"/studies/{slug}/agreement/methods/")
        counts.append(len(captured))
    assert counts[0] == counts[1] < 50


def test_the_version_that_is_named_is_that_of_the_package_and_of_its_citation() -> None:
    with (ROOT / "pyproject.toml").open("rb") as file:
        assert tomllib.load(file)["project"]["version"] == settings.CONCORD_VERSION
    assert f"\nversion: {settings.CONCORD_VERSION}\n" in (ROOT / "CITATION.cff").read_text()


@pytest.mark.slow
def test_the_five_rounds_of_liu_et_al_are_told_with_what_sheets_do_not_say() -> None:
    with (LIU / "labels_long.csv").open("rb") as file:
        columns = "issue_type,howto_topic,howto_subtopic,distributed_specific,stage,type,leaf_category,fix_pattern"
        mapping = {"item": "item_url", "part": "unit"}
        import_ratings(
            user=make.user("olga"),
            study="liu",
            file=file,
            mapping=mapping,
            dimensions=columns.split(","),
            create=True,
        )
    facts = methods(get_whole_study("liu"), resamples=0)
    assert [(wave.number, wave.n_items) for wave in facts.waves] == [(1, 108), (2, 108), (3, 108), (4, 108), (5, 99)]
    assert facts.n_from_sheets == facts.n_answers > 1000
    assert [each.method for each in facts.decided] == ["imported"]
    stage = next(each for each in facts.dimensions if each.key == "stage")
    assert [round(stage.by_round[number].value or 0, 3) for number in range(1, 6)] == [0.665, 0.873, 0.946, 0.97, 1.0]
