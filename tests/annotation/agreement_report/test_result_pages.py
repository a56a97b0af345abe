"""The page of agreement and the items behind its numbers: who may see them, what they say, and that all links lead."""

import math
import re
from html import unescape
from typing import Any

import pytest
from django.core.management import call_command
from django.test import Client
from django.urls import reverse

from agreement import COEFFICIENTS, value_text
from annotation.agreement_report.queries import options
from annotation.agreement_report.queries.coefficients import Headline
from annotation.agreement_report.views import tables
from annotation.agreement_report.views.tables import bar
from annotation.agreement_report.views.words import meaning, scale_words, threshold_words, which_rounds
from annotation.models import Round, Study
from annotation.templatetags.studies import interval
from taxonomy import actions as taxonomy_actions
from tests import builders as make
from tests.asserts import assert_queries
from tests.scripts import Script

pytestmark = pytest.mark.django_db

AGREEMENT, ITEMS, EXPORTS = "/studies/study/agreement/", "/studies/study/agreement/items/", "/studies/study/exports/"


def visitor(name: str, *, staff: bool = False) -> Client:
    client = Client()
    client.force_login(make.user(name, staff=staff))
    return client


def words_of(response: Any) -> str:
    return re.sub(r"\s+", " ", unescape(re.sub(r"<[^>]+>", " ", response.content.decode())))


def get(name: str, address: str, status: int = 200) -> Any:
    response = visitor(name).get(address)
    assert response.status_code == status, (name, address, response.status_code, words_of(response)[:300])
    return response


def items_of(response: Any) -> list[int]:
    body = response.content.decode().partition("<tbody>")[2]
    return [int(number) for number in re.findall(r"#round-\d+\">acme/rocket#(\d+)</a>", body)]


def build_study() -> Study:
    """Round 1 is being resolved, round 2 is open and bob and carol rate in it."""
    made = make.study(primary={"symptom": {"coefficient": "cohen_kappa", "threshold": 0.8}})
    table = (
        "item bob carol\n1 crash crash\n2 crash hang\n3 hang hang\n4 slow hang\n5 slow slow\n6 crash hang\n7 - crash"
    )
    make.rate(make.open_round(made, 7), table)
    make.submit(make.open_round(made, 3, first=8), "bob", 8, {"symptom": ["slow"]})
    return made


# Who


@pytest.mark.parametrize(
    ("name", "status"), [("olga", 200), ("ada", 200), ("rea", 200), ("bob", 200), ("mallory", 404)]
)
def test_members_see_agreement_and_others_find_nothing(study: Study, name: str, status: int) -> None:
    make.study("other", text=make.FAULTS, raters=("mallory",))
    for address in (AGREEMENT, f"{ITEMS}?dimension=symptom", EXPORTS):
        is_sealed = name == "rea" and address.startswith(ITEMS)  # no round is closed
        get(name, address, 403 if is_sealed else status)
    get("stan", AGREEMENT, 404)
    assert visitor("stanley", staff=True).get(AGREEMENT).status_code == 200


def test_who_is_not_signed_in_is_sent_to_sign_in(study: Study) -> None:
    for address in (AGREEMENT, f"{ITEMS}?dimension=symptom", EXPORTS):
        response = Client().get(address)
        assert (response.status_code, response["Location"].partition("?")[0]) == (302, "/sign-in/")


def test_a_blind_round_is_left_out_and_said_so_and_refused_when_asked_for(study: Study) -> None:
    shown = words_of(get("bob", AGREEMENT))
    assert "You are a rater in round 2" in shown and "Live." not in shown
    assert "labeled by R1 and R2 in round 1 (version 1)" in shown
    for address in (f"{AGREEMENT}?round=2", f"{ITEMS}?round=2&dimension=symptom"):
        refused = words_of(get("bob", address, 403))
        assert "You are a rater in round 2, so the labels of others are hidden until the round closes." in refused
    assert items_of(get("carol", f"{ITEMS}?dimension=symptom&show=left_out")) == [7]
    assert items_of(get("olga", f"{ITEMS}?dimension=symptom&show=left_out")) == [7, 8]


def test_an_owner_who_rates_is_blind_too() -> None:
    from annotation.members.actions.members import add_member

    study = make.study()
    add_member(seat=make.owner_seat(study), username="olga", roles=["owner", "rater"])
    make.open_round(study, 1, raters=("olga", "bob"))
    assert "It appears here when the rounds in which you are a rater are closed" in words_of(get("olga", AGREEMENT))
    get("olga", f"{AGREEMENT}?round=1", 403)


@pytest.mark.parametrize(
    ("query", "status"),
    [
        ("?round=9", 404),
        ("?round=abc", 422),
        (f"?round={10**30}", 422),
        ("?round=", 200),
        ("?when=later", 422),
        ("?parts=x", 422),
        ("?dimension=colour", 422),
        ("?level=root&pending=left_out&parts=single&applies=either", 200),
        ("?unknown=1", 200),
    ],
)
def test_nonsense_in_the_address_gets_its_status(study: Study, query: str, status: int) -> None:
    get("olga", AGREEMENT + query, status)


@pytest.mark.parametrize(
    ("query", "status"),
    [
        ("", 422),
        ("?dimension=colour", 422),
        ("?dimension=symptom&b=hang", 422),
        ("?dimension=symptom&raters=R1", 422),
        ("?dimension=symptom&show=all", 422),
        ("?dimension=symptom&a=nothing&b=<script>", 200),
        ("?dimension=symptom&a=nothing%00&b=<script>", 200),
        ("?dimension=symptom&after=x.y.z", 200),
        (f"?dimension=symptom&after={10**30}.1.1", 200),
        ("?dimension=symptom&raters=R1,R99", 422),
        ("?dimension=symptom&pair=R1,R99", 200),
        ("?dimension=symptom&pair=R1", 422),
    ],
)
def test_nonsense_about_items_gets_its_status(study: Study, query: str, status: int) -> None:
    response = get("olga", ITEMS + query, status)
    assert b"<script>" not in response.content.partition(b"<main")[2]


def test_the_pages_are_for_reading(study: Study) -> None:
    for address in (AGREEMENT, ITEMS, EXPORTS):
        assert visitor("olga").post(address).status_code == 405
        assert visitor("olga").head(address + "?dimension=symptom").status_code == 200


# What


def test_the_first_line_says_value_interval_threshold_and_what_it_rests_on(study: Study) -> None:
    shown = words_of(get("olga", f"{AGREEMENT}?round=1"))
    # 3 of 6 alike; R1 crash 3, hang 1, slow 2; R2 crash 1, hang 4, slow 1: (0.5 − 9/36) / (1 − 9/36)
    assert "Symptom Cohen's kappa, registered on" in shown
    assert "0.33" in shown and "threshold 0.80" in shown and "below the threshold of 0.80" in shown
    assert "Based on 6 units labeled by R1 and R2 in round 1 (version 1), before discussion; 1 excluded ." in shown
    assert "“fair” on the scale of Landis and Koch" in shown


def test_a_dimension_is_headed_by_its_kind_and_the_units_that_count(study: Study) -> None:
    html = get("olga", f"{AGREEMENT}?round=1").content.decode()
    headings = re.findall(r"<summary><h2>.*?</h2> <span class=\"count\">(.*?)</span></summary>", html)
    assert headings == ["single, 6 units"]


def test_all_coefficients_stand_there_or_say_why_not(study: Study) -> None:
    shown = words_of(get("olga", f"{AGREEMENT}?round=1"))
    for title in (each.title for each in COEFFICIENTS.values()):
        assert title in shown
    assert "Weighted kappa needs categories in an order or numbers" in shown
    assert "Only 6 units have at least two ratings" in shown


def test_what_to_talk_about_has_the_most_confused_pair_first_with_definitions() -> None:
    study = make.study(text=make.FAULTS)
    round_ = make.open_round(study, 3)
    fault = {"kind": ["fault"], "fixes": [], "distributed": True}
    for number, one, two in ((1, "crash", "slow"), (2, "slow", "crash"), (3, "crash", "hang")):
        make.submit(round_, "bob", number, {**fault, "symptom": [one]})
        make.submit(round_, "carol", number, {**fault, "symptom": [two]})
    html = get("olga", f"{AGREEMENT}?dimension=symptom").content.decode()
    talks = re.findall(r'<li class="talk">.*?</li>', html, re.S)
    assert len(talks) == 2
    assert "2 times" in talks[0] and "67% of the disagreements" in talks[0]
    assert "Failure / Crash" in talks[0] and "Too slow." in talks[0]
    pair = re.search(r'href="([^"]+)">2 times', talks[0])
    assert pair and items_of(get("olga", unescape(pair[1]))) == [1, 2]


def test_what_merging_two_levels_would_gain_is_told_by_the_headline_coefficient() -> None:
    levels = make.SYMPTOMS.replace("kind: single", "kind: ordinal")
    study = make.study(text=levels, primary={"symptom": {"coefficient": "weighted_kappa", "weights": "linear"}})
    table = (
        "item bob carol\n1 crash hang\n2 hang crash\n3 hang hang\n4 slow slow\n5 slow slow\n6 crash slow\n7 slow hang"
    )
    make.rate(make.open_round(study, 7), table)
    html = get("olga", AGREEMENT).content.decode()
    said = re.search(r"merging the two would raise Weighted kappa \(linear weights\) by (\d\.\d{3})", html)
    pairs = visitor("olga").get("/api/v1/studies/study/agreement/").json()[0]["confused_pairs"]
    first = {(each["a"], each["b"]): each for each in pairs}["crash", "hang"]
    assert said and float(said[1]) == pytest.approx(first["gain"], abs=5e-4)
    assert {(each["a"], each["b"]): each for each in pairs}["crash", "slow"]["gain"] is None


@pytest.mark.slow
def test_every_link_of_the_page_leads_and_numbers_lead_to_as_many_items(study: Study) -> None:
    html = get("olga", f"{AGREEMENT}?round=1").content.decode()
    client = visitor("olga")
    links = {unescape(each) for each in re.findall(r'href="(/studies/study/[^"]+)"', html)}
    assert len(links) > 20
    for link in links:
        assert client.get(link).status_code == 200, link
    matrix = html.partition('<table class="matrix">')[2].partition("</table>")[0]
    cells = re.findall(r'<a href="([^"]+)" title="[^"]*">(\d+)</a>', matrix)
    assert sum(int(n) for _, n in cells) == 6
    for address, n in cells:
        assert len(items_of(client.get(unescape(address)))) == int(n)
    for address, n in re.findall('href="([^"]+)">(\\d+) (?:units?|excluded)</a>', html):
        assert len(items_of(client.get(unescape(address)))) == int(n)


def test_a_matrix_of_two_raters_has_the_first_in_rows(study: Study) -> None:
    assert items_of(get("olga", f"{ITEMS}?dimension=symptom&a=crash&b=hang&raters=R1,R2")) == [2, 6]
    assert items_of(get("olga", f"{ITEMS}?dimension=symptom&a=hang&b=crash&raters=R1,R2")) == []
    shown = words_of(get("olga", f"{ITEMS}?dimension=symptom&a=crash&b=hang&raters=R1,R2"))
    assert "R1 chose Crash, R2 chose Hang" in shown.replace(" ,", ",")


def test_the_trend_has_a_line_per_round_and_live_numbers_are_said_to_be_live(study: Study) -> None:
    shown = words_of(get("olga", f"{AGREEMENT}?round=all"))
    assert "Live. Round 2 is open" in shown
    assert re.search(r"Round 1 version 1 0\.33 Round 2 version 1, open no units", shown)
    make.submit(Round.objects.get(number=2), "carol", 8, {"symptom": ["slow"]})
    make.submit(Round.objects.get(number=2), "carol", 9, {"symptom": ["hang"]})
    make.submit(Round.objects.get(number=2), "bob", 9, {"symptom": ["hang"]})
    assert re.search(r"Round 2 version 1, open 1\.00", words_of(get("olga", AGREEMENT)))


def test_after_discussion_stands_beside_and_never_first(study: Study) -> None:
    make.submit(Round.objects.get(number=1), "bob", 2, {"symptom": ["hang"]})
    before, after = (words_of(get("olga", f"{AGREEMENT}?round=1&when={when}")) for when in ("before", "after"))
    assert "After discussion it is" not in before
    assert "After discussion it is 0.50" in after and "0.33" in after
    assert "The coefficient before discussion is the measure of reliability" in after


def test_what_is_defined_for_two_raters_is_not_printed_with_three() -> None:
    study = make.study(raters=("bob", "carol", "dan"))
    table = "item bob carol dan\n1 crash crash crash\n2 crash hang slow\n3 hang hang crash"
    make.rate(make.open_round(study, 3, raters=("bob", "carol", "dan")), table)
    html = get("olga", AGREEMENT).content.decode()
    listed = html.partition("<h3>All coefficients</h3>")[2]
    for title in ("Cohen", "Scott&#x27;s pi", "Weighted kappa"):
        assert f'<th scope="row">{title}' not in listed
    assert '<th scope="row">Fleiss&#x27; kappa' in listed and "See the pairs of raters above." in listed
    assert "PABAK" not in html and "Bias" not in html
    told = Script("olga").send("GET", "studies/study/agreement/").json()[0]["coefficients"]
    assert [each["name"] for each in told] == list(COEFFICIENTS)


def test_two_raters_with_a_gap_are_told_why_fleiss_and_scott_differ() -> None:
    study = make.study()
    why = "Fleiss’ kappa differs from Scott’s pi because some units have one rating."
    round_ = make.open_round(study, 4)
    make.rate(round_, "item bob carol\n1 crash crash\n2 crash hang\n3 hang hang")
    html = words_of(get("olga", AGREEMENT))
    assert why not in html and "PABAK" in html
    make.submit(round_, "bob", 4, {"symptom": ["crash"]})
    assert why in words_of(get("olga", AGREEMENT))


def test_page_rest_and_shell_tell_how_many_more_units_narrow_an_interval(capsys: pytest.CaptureFixture[str]) -> None:
    study = make.study(primary={"symptom": {"coefficient": "cohen_kappa"}})
    table = "item bob carol\n1 crash crash\n2 crash hang\n3 hang hang\n4 slow slow\n5 slow slow\n6 crash crash"
    make.rate(make.open_round(study, 6), table)
    told = Script("olga").send("GET", "studies/study/agreement/?width=0.1").json()[0]
    assert "planned" not in Script("olga").send("GET", "studies/study/agreement/").json()[0]["coefficients"][0]
    kappa = {each["name"]: each for each in told["coefficients"]}["cohen_kappa"]
    plan = kappa["planned"]
    needed = math.ceil(6 * (2 * 1.959964 * kappa["se"] / 0.1) ** 2)
    assert (plan["width"], plan["units"], plan["units_needed"], plan["more_units"]) == (0.1, 6, needed, needed - 6)
    html = get("olga", f"{AGREEMENT}?round=1&width=0.1").content.decode()
    part = html.partition('id="how-many-more"')[2].partition("</section>")[0]
    assert f"<strong>{needed - 6:,}</strong>" in part and "Cohen&#x27;s kappa" in part
    assert 'name="width" id="id_width" value="0.1"' in part and '<input type="hidden" name="round" value="1">' in part
    assert 'id="id_width" value="0.2"' in get("olga", AGREEMENT).content.decode()
    call_command("agreement", "study", "--width", "0.1")
    assert f"{needed - 6} more units for a width of 0.1" in capsys.readouterr().out


def test_labels_from_a_sheet_are_not_called_independent() -> None:
    study = make.study()
    make.rate(make.open_round(study, 2), "item bob carol\n1 crash crash\n2 crash hang")
    assert "independent (“blind”) labels" in words_of(get("olga", AGREEMENT))
    study.rounds.update(label="pilot")
    text = words_of(get("olga", AGREEMENT))
    assert "labels from a sheet, which does not show whether its raters worked independently" in text
    assert "independent (“blind”)" not in text


@pytest.mark.parametrize("width", ["0", "-1", "wide", "nan", "3"])
def test_a_width_that_is_none_is_invalid(study: Study, width: str) -> None:
    get("olga", f"{AGREEMENT}?width={width}", 422)
    answer = Script("olga").send("GET", f"studies/study/agreement/?width={width}")
    assert answer.status_code == 422 and "width" in answer.json()["fields"]


def test_alpha_with_the_ordinal_metric_has_no_plan() -> None:
    study = make.study(text=make.SYMPTOMS.replace("kind: single", "kind: ordinal"))
    make.rate(make.open_round(study, 3), "item bob carol\n1 crash crash\n2 crash hang\n3 hang hang")
    part = get("olga", AGREEMENT).content.decode().partition('id="how-many-more"')[2].partition("</section>")[0]
    assert "There is no standard error to plan from." in part


def test_of_very_many_raters_the_pairs_with_the_lowest_kappa_are_listed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "MOST_RATER_PAIRS", 2)
    monkeypatch.setattr(options, "MOST_RATERS", 2)
    study = make.study(raters=("bob", "carol", "dan"))
    table = "item bob carol dan\n1 crash crash hang\n2 hang hang crash\n3 hang hang crash"
    make.rate(make.open_round(study, 3, raters=("bob", "carol", "dan")), table)
    response = get("olga", AGREEMENT)
    shown = words_of(response)
    assert "The 2 pairs with the lowest kappa, of 3. REST lists all." in shown
    assert "R1 and R3" in shown and "R2 and R3" in shown and "R1 and R2" not in shown
    assert "R1,R3" not in re.findall(r'<option value="([^"]+)"', response.content.decode())


def test_three_raters_are_pooled_and_every_pair_is_listed() -> None:
    study = make.study(raters=("bob", "carol", "dan"))
    table = "item bob carol dan\n1 crash crash crash\n2 crash hang slow\n3 hang hang crash"
    make.rate(make.open_round(study, 3, raters=("bob", "carol", "dan")), table)
    response = get("olga", AGREEMENT)
    shown = words_of(response)
    assert "All pairs of raters pooled" in shown and "Look at" not in shown
    assert "R1 and R2" in shown and "R1 and R3" in shown and "R2 and R3" in shown
    assert "labeled by R1, R2 and R3" in shown
    cells = re.findall(r'<a href="([^"]+)" title="[^"]*">(\d+)</a>', response.content.decode())
    for address, _ in cells:
        assert items_of(get("olga", unescape(address)))


def test_many_raters_are_counted_and_not_listed() -> None:
    names = [f"rater{number}" for number in range(1, 10)]
    study = make.study(raters=names)
    table = f"item {' '.join(names)}\n1 {' '.join(['crash'] * 8)} hang"
    make.rate(make.open_round(study, 1, raters=names, raters_per_item=9), table)
    assert "labeled by 9 raters, R1 to R9, in round 1" in words_of(get("olga", AGREEMENT))


def test_sixty_categories_show_those_that_raters_differ_on() -> None:
    keys = [f"c{number}" for number in range(60)]
    categories = "\n".join(f"      - {{key: {key}, name: Name of {key}}}" for key in keys)
    head = make.SYMPTOMS.partition("      - {key: crash")[0]
    study = make.study(text=head + categories + "\n")
    lines = [f"{n} {key} {keys[0] if n % 20 == 1 else key}" for n, key in enumerate(keys, start=1)]
    make.rate(make.open_round(study, 60), "item bob carol\n" + "\n".join(lines))
    html = get("olga", AGREEMENT).content.decode()
    matrix = html.partition('<table class="matrix">')[2].partition("</table>")[0]
    assert matrix.count("<tr>") == 50 and "Name of c20" in matrix and "Name of c40" in matrix
    assert "12 more with fewer disagreements are not shown" in html
    assert ">60</td></tr></tfoot>" in matrix


def test_a_relabel_round_is_not_counted_and_said_so(study: Study) -> None:
    Round.objects.filter(number=2).update(kind=Round.Kind.RELABEL)
    shown = words_of(get("olga", AGREEMENT))
    assert "Round 2 (relabel) does not measure reliability" in shown and "Live." not in shown
    get("olga", f"{AGREEMENT}?round=2")


def test_a_round_under_a_newer_version_stands_in_the_trend(study: Study) -> None:
    draft = taxonomy_actions.new_draft(
        user=make.user("olga"),
        taxonomy=study.taxonomy,
        text=make.SYMPTOMS.replace("key: slow, name: Slow", "key: lag, name: Lag"),
    )
    taxonomy_actions.publish_version(user=make.user("olga"), version=draft)
    make.rate(make.open_round(study, 1, first=20, taxonomy_version=2), "item bob carol\n20 lag lag")
    shown = words_of(get("olga", f"{AGREEMENT}?round=all"))
    assert "in rounds 1 and 3 (versions 1 and 2)" in shown
    assert items_of(get("olga", f"{ITEMS}?dimension=symptom&a=slow&b=slow")) == [5]


def test_raters_stand_beside_the_agreed_labels(study: Study) -> None:
    shown = words_of(get("olga", f"{AGREEMENT}?round=1"))
    assert re.search(r"Raters and the agreed labels .*? R1 1\.000 100% 3 none 0 R2 1\.000 100% 3 none 0", shown)


# Empty


def test_without_rounds_the_page_teaches() -> None:
    make.study()
    shown = words_of(get("olga", AGREEMENT))
    assert "appears as soon as two raters have labeled the same item" in shown
    assert "Download as JSON" not in shown


def test_an_open_round_without_answers_and_a_draft_say_what_is_missing() -> None:
    from annotation.rounds.actions import rounds

    study = make.study()
    make.open_round(study, 1)
    assert "Round 1 has no labels yet" in words_of(get("olga", f"{AGREEMENT}?round=1"))
    make.issues(1, first=7)
    rounds.create_round(
        seat=make.owner_seat(study), asked=rounds.NewRound(raters=["bob", "carol"], issues=["acme/rocket#7"])
    )
    assert "Round 2 is not open yet" in words_of(get("olga", f"{AGREEMENT}?round=2"))


def test_no_item_behind_a_number_leads_back(study: Study) -> None:
    shown = words_of(get("olga", f"{ITEMS}?dimension=symptom&a=slow&b=crash"))
    assert "No items." in shown and "Back to agreement" in shown


# How


def test_queries_of_the_pages_do_not_grow_with_the_study(study: Study) -> None:
    lines = "\n".join(f"{number} crash hang" for number in range(30, 60))
    make.rate(make.open_round(study, 30, first=30), "item bob carol\n" + lines)
    client = visitor("olga")
    for address, n in (
        ("/studies/study/agreement/?round={}", 22),
        ("/studies/study/agreement/items/?dimension=symptom&round={}", 11),
    ):
        for number in (1, 3):
            client.get(address.format(number))
            with assert_queries(n):
                client.get(address.format(number))


def test_there_is_no_inline_style_or_script(study: Study) -> None:
    for address in (AGREEMENT, f"{ITEMS}?dimension=symptom", EXPORTS):
        body = get("olga", address).content.decode().partition("<main")[2]
        assert " style=" not in body and " onclick" not in body
        assert all('type="application/json"' in tag for tag in re.findall(r"<script[^>]*>", body))


def test_names_of_categories_are_escaped() -> None:
    study = make.study(text=make.SYMPTOMS.replace("name: Crash", "name: '<b>Crash</b>'"))
    make.rate(make.open_round(study, 1), "item bob carol\n1 crash hang")
    for address in (AGREEMENT, f"{ITEMS}?dimension=symptom&a=crash&b=hang"):
        assert b"<b>Crash" not in get("olga", address).content


def test_addresses_of_the_pages() -> None:
    assert reverse("agreement", args=["study"]) == AGREEMENT
    assert reverse("agreement_items", args=["study"]) == ITEMS
    assert reverse("exports", args=["study"]) == EXPORTS


# Words


def line(**more: Any) -> Headline:
    given = {"value": 0.85, "se": 0.02, "ci_low": 0.81, "ci_high": 0.9, "threshold": 0.8, "undefined": None}
    given |= {"dimension": "d", "title": "D", "coefficient": "cohen_kappa", "units": 9, "left_out": 0}
    return Headline(**{**given, "raters": ("R1",), "fixed_at": None, **more})


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({}, "the threshold of 0.80, with its whole 95% CI."),
        ({"ci_low": 0.7}, "the threshold of 0.80, but its 95% CI includes lower values."),
        ({"value": 0.7, "ci_low": 0.6}, "the threshold of 0.80, though its 95% CI includes it."),
        ({"value": 0.7, "ci_low": 0.6, "ci_high": 0.75}, "the threshold of 0.80, with its whole 95% CI."),
        ({"ci_low": None, "ci_high": None, "ci_undefined": "There is one."}, "the threshold of 0.80. There is one."),
        (
            {"value": 0.667, "threshold": 0.667, "ci_low": 0.6},
            "the threshold of 0.667, but its 95% CI includes lower values.",
        ),
        ({"threshold": None}, "No threshold is set."),
        ({"value": None, "undefined": "One category."}, "One category."),
    ],
)
def test_what_a_value_means_against_its_threshold(more: dict[str, Any], words: str) -> None:
    assert meaning(line(**more)) == words


def test_what_is_printed_of_a_value_and_its_interval_is_on_the_side_of_the_threshold_that_it_is_on() -> None:
    assert interval(line(ci_low=0.798, ci_high=0.9)) == "[0.798, 0.90]"
    assert interval(line(ci_low=0.798, ci_high=0.9, threshold=0.7)) == "[0.80, 0.90]"
    assert [value_text(each, 0.8) for each in (0.799, 0.8, -0.041)] == ["0.799", "0.80", "−0.04"]


LANDIS_KOCH, ALPHA = "on the scale of Landis and Koch", "krippendorff_alpha"


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"reached_share": 0.84}, "It reaches the threshold in 84% of the bootstrap resamples in which it is defined."),
        (
            {"reached_share": 0.999},
            "It reaches the threshold in over 99% of the bootstrap resamples in which it is defined.",
        ),
        (
            {"reached_share": 0.001},
            "It reaches the threshold in under 1% of the bootstrap resamples in which it is defined.",
        ),
        ({"reached_share": 1.0}, "It reaches the threshold in 100% of the bootstrap resamples in which it is defined."),
        ({}, ""),
    ],
)
def test_in_which_share_of_the_resamples_a_threshold_is_reached(more: dict[str, Any], words: str) -> None:
    assert threshold_words(line(**more)) == words


@pytest.mark.slow
@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"value": 0.9}, f"“almost perfect” {LANDIS_KOCH}, at least “almost perfect” (95%)"),
        ({"value": 0.85, "ci_low": 0.799}, f"“almost perfect” {LANDIS_KOCH}, at least “substantial” (95%)"),
        ({"value": 0.05, "ci_low": -0.2}, f"“slight” {LANDIS_KOCH}"),
        (
            {"value": 0.7, "ci_low": 0.6, "coefficient": ALPHA},
            "“tentative conclusions only” on Krippendorff’s scale",
        ),
        ({"value": 0.7, "coefficient": ALPHA, "ci_low": None}, "“tentative conclusions only” on Krippendorff’s scale"),
        ({"value": -0.3, "ci_low": None}, f"“poor” {LANDIS_KOCH}"),
        ({"coefficient": "percent_agreement"}, ""),
        ({"value": None}, ""),
    ],
)
def test_the_word_of_a_scale_stands_beside_the_number(more: dict[str, Any], words: str) -> None:
    assert scale_words(line(**more)) == words


def test_a_bar_is_drawn_between_0_and_1() -> None:
    drawn = bar(0.5, -0.2, 0.75, 0.8)
    assert drawn and (drawn.low, drawn.width, drawn.value, drawn.threshold) == ("0.0%", "75.0%", "50.0%", "80.0%")
    assert bar(None, None, None) is None


def test_rounds_are_named_in_short(study: Study) -> None:
    rounds = list(study.rounds.order_by("number"))
    assert which_rounds(rounds[:1]) == "round 1 (version 1)"
    assert which_rounds(rounds) == "rounds 1 and 2 (version 1)"


def test_the_commands_on_the_exports_page_name_the_study_also_before_the_first_round() -> None:
    make.study("early")
    text = get("olga", "/studies/early/exports/").content.decode()
    assert "/api/v1/studies/early/labels/?format=csv" in text
