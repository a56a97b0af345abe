"""The pages of resolving: who gets in, what stands there, and what a decision leads to."""

import re
from html import unescape
from typing import Any

import pytest
from django.conf import settings
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from annotation.agreement_report.queries.newest_labels import agreed_comparisons
from annotation.agreement_report.queries.patterns import Slice
from annotation.labels.queries.batches.label_batches import label_batches
from annotation.labels.queries.verdicts import n_open_proposals
from annotation.members.actions import members
from annotation.models import Item, Resolution, Round, Study
from annotation.resolving.actions.part_matches import match_parts
from annotation.resolving.queries.queue import REASONS
from annotation.rounds.actions import rounds
from taxonomy.queries import published_version
from taxonomy.tree import VersionTree
from tests import builders as make
from tests.scripts import Script

pytestmark = pytest.mark.django_db

HTMX = {"HX-Request": "true"}
FAULT = {"kind": ["fault"], "symptom": ["crash"], "distributed": True}


def client(name: str | None) -> Client:
    made = Client()
    if name:
        made.force_login(make.user(name))
    return made


def item(number: int) -> Item:
    return Item.objects.get(identifier=f"acme/rocket#{number}")


def n_queries(visitor: Client, page: str) -> int:
    with CaptureQueriesContext(connection) as captured:
        assert visitor.get(page).status_code == 200
    return len(captured)


QUEUE = "/studies/study/rounds/1/resolve/"


def address(number: int = 1) -> str:
    return f"{QUEUE}{item(number).pk}/"


def decision(choice: str = '["crash"]', **more: str) -> dict[str, str]:
    filled = {"part": "1", "dimension": "symptom", "expected": "", "rationale": ""}
    return filled | {"choice": choice} | more


@pytest.fixture
def disputed() -> Round:
    """Items 1 and 3 are disputed, 2 is agreed."""
    study = make.study()
    round_ = make.open_round(study)
    return make.rate(round_, "item bob carol\n1 crash hang\n2 slow slow\n3 crash -")


@pytest.mark.slow
def test_the_ladder_of_both_pages(disputed) -> None:
    make.study("other", owner="mallory", raters=("dave",), text=make.SYMPTOMS.replace("slug: symptoms", "slug: more"))
    expected = {"olga": 200, "ada": 200, "bob": 200, "rea": 403, "mallory": 404, "dave": 404, None: 302}
    for page in (QUEUE, address()):
        assert {name: client(name).get(page).status_code for name in expected} == expected
    outcome = {name: client(name).post(address(), decision()).status_code for name in expected if name != "olga"}
    assert outcome == {"ada": 302, "bob": 403, "rea": 403, "mallory": 404, "dave": 404, None: 302}
    assert Resolution.objects.count() == 1


@pytest.mark.slow
def test_nonsense_in_an_address_is_not_found(disputed) -> None:
    ada = client("ada")
    for page in ("/studies/study/rounds/99/resolve/", f"{QUEUE}999999/", "/studies/none/rounds/1/resolve/"):
        assert ada.get(page).status_code == 404
    for query in (
        "?dimension=nonsense",
        "?page=x",
        "?page=99",
        "?state=x",
        "?clash=%00",
        "?dimension=symptom&clash=a~b",
    ):
        assert ada.get(QUEUE + query).status_code == 200
        assert ada.get(address() + query).status_code == 200
    assert ada.get(address() + "?place=9.colour").status_code == 200


def test_an_item_of_another_study_is_not_found_under_this_one(disputed) -> None:
    other = make.study("other", text=make.FAULTS)
    make.open_round(other, 1, first=7)
    assert client("ada").get(address(7)).status_code == 404


def test_an_owner_who_rates_in_the_open_round_sees_nothing_of_it() -> None:
    study = make.study(raters=("bob",), resolve_when="item")
    members.add_member(seat=make.owner_seat(study), username="olga", roles=["owner", "rater"])
    make.open_round(study, 1, raters=("bob", "olga"))
    make.submit(Round.objects.get(), "bob", 1, {"symptom": ["crash"]}, memo="a secret")
    for page in (QUEUE, address()):
        answer = client("olga").get(page)
        assert answer.status_code == 403
        assert "are hidden until the round closes" in answer.content.decode()
        assert "secret" not in answer.content.decode()


def test_an_open_round_tells_who_is_out_by_counts_alone() -> None:
    round_ = make.open_round(make.study(), 2)
    make.rate(round_, "item bob carol\n1 crash hang")
    words = client("ada").get(QUEUE).content.decode()
    assert "Round 1 is still open" in words and "2 assignments are unfinished" in words
    assert "Crash" not in words and "acme/rocket" not in words
    assert client("ada").get(address()).status_code == 409


def test_item_by_item_only_the_items_whose_raters_are_done_are_shown() -> None:
    round_ = make.open_round(make.study(), 2)
    Study.objects.update(resolve_when="item")
    make.rate(round_, "item bob carol\n1 crash hang")
    make.submit(round_, "bob", 2, {"symptom": ["hang"]}, memo="a secret")
    words = client("ada").get(QUEUE).content.decode()
    assert "acme/rocket#1" in words and "acme/rocket#2" not in words
    assert client("ada").get(address(1)).status_code == 200
    closed = client("ada").get(address(2))
    assert closed.status_code == 409 and "secret" not in closed.content.decode()


def test_the_queue_counts_and_narrows(disputed) -> None:
    words = client("ada").get(QUEUE).content.decode()
    assert "2 disagreements in 2 items" in words
    assert "1 item is agreed without a resolution" in words
    assert "Crash ↔ Hang" in words and "A rater skipped it" in words
    narrowed = client("ada").get(QUEUE + "?dimension=symptom&clash=crash~hang").content.decode()
    assert "acme/rocket#1" in narrowed and "acme/rocket#3" not in narrowed


def test_when_all_is_decided_the_owner_can_close_the_round(disputed) -> None:
    for number in (1, 3):
        client("ada").post(address(number), decision())
    words = client("olga").get(QUEUE).content.decode()
    assert "All 3 items are agreed: 1 without a resolution, 2 resolved." in words
    assert "Close round 1" in words
    assert "Close round 1" not in client("ada").get(QUEUE).content.decode()
    assert client("olga").post("/studies/study/rounds/1/close/").status_code == 302
    assert Round.objects.get().state == Round.State.CLOSED
    assert "You can still change a resolution." in client("ada").get(QUEUE).content.decode()


def test_an_item_shows_both_answers_with_memo_and_definitions() -> None:
    round_ = make.open_round(make.study(text=make.FAULTS), 1)
    make.submit(round_, "bob", 1, FAULT, memo="it stops", confidence=3)
    memo = "**no** `x` <script>alert(1)</script>"
    make.submit(round_, "carol", 1, {**FAULT, "symptom": ["slow"]}, memo=memo, confidence=1)
    words = client("ada").get(address()).content.decode()
    for expected in (
        "it stops",
        "<strong>no</strong> <code>x</code>",
        "Too slow.",
        "unsure",
        "rater-1",
        "rater-2",
        "Issue 1 of rocket",
    ):
        assert expected in words
    assert "<script>alert" not in words


def test_proposals_skips_and_parts_are_told_in_words() -> None:
    round_ = make.open_round(make.study(), 3)
    make.rate(round_, "item bob carol\n1 PENDING crash\n2 - crash")
    make.submit(round_, "bob", 3, parts=[{"labels": {"symptom": ["crash"]}}, {"labels": {"symptom": ["hang"]}}])
    make.submit(round_, "carol", 3, {"symptom": ["crash"]})
    pages = {number: client("ada").get(address(number)).content.decode() for number in (1, 2, 3)}
    assert "R1 proposes a new category." in pages[1] and "“New”: none fits" in pages[1]
    assert "Only R2 labeled it. R1 skipped the item." in pages[2] and "not in English" in pages[2]
    assert "R1 found two bugs, R2 one." in pages[3] and "There is no part 2" in pages[3]


AREAS = """
slug: symptoms
title: Symptoms
dimensions:
  - {key: symptom, title: Symptom, kind: single, categories: [{key: crash, name: Crash}, {key: hang, name: Hang}]}
  - key: areas
    title: Areas
    kind: multi
    required: false
    categories: [{key: api, name: API}, {key: docs, name: Docs}]
"""


@pytest.mark.parametrize("dimension", ["symptom", "areas"])
@pytest.mark.parametrize("door", ["page", "rest"])
def test_there_is_no_part_2_settles_all_its_dimensions_until_it_is_reopened(door: str, dimension: str) -> None:
    study = make.study(text=AREAS, raters=("bob", "carol", "dan"))
    round_ = make.open_round(study, 1, raters=("bob", "carol", "dan"))
    first, second = {"symptom": ["crash"], "areas": ["api"]}, {"areas": []}
    asked_for = {"proposals": {"symptom": {"name": "Stall"}}}
    make.submit(round_, "bob", 1, first)
    for name in ("carol", "dan"):
        make.submit(round_, name, 1, parts=[{"labels": first}, {"labels": second, **asked_for}])
    assert n_open_proposals(round_) == 2
    place = {"item": "acme/rocket#1", "part": 2, "dimension": dimension}
    if door == "page":
        page = client("ada").get(f"{address()}?place=2.{dimension}").content.decode()
        assert 'value="no-part"' in page
        sent = decision("no-part", part="2", dimension=dimension)
        assert client("ada").post(address(), sent, headers=HTMX)["HX-Redirect"] == QUEUE
    else:
        made = Script("ada").send("POST", "studies/study/resolutions/", place | {"no_part": True})
        assert made.status_code == 201 and made.json()["no_part"] is True, made.content
    assert open_places(study) == [] and n_open_proposals(round_) == 0
    for found in (Script("rea").send("GET", "studies/study/labels/").json()["results"], label_batch(round_)):
        assert {(row["part"], row["dimension"]) for row in found} == {(1, "symptom"), (1, "areas")}
    by_rater = agreed_comparisons(round_, tree_of(round_).by_key["areas"], Slice())
    assert [each.agreed for each in by_rater if len(each.raters) == 2] == [None]
    assert "There is no part 2" in client("ada").get(f"{address()}?place=2.{dimension}").content.decode()
    refused = Script("ada").refused("POST", "studies/study/resolutions/", place | {"part": 1, "no_part": True})
    assert "All raters found part 1" in refused["no_part"][0]
    newest = str(Resolution.objects.get().public_id)
    reopened = place | {"reopen": True, "expected": newest}
    assert Script("ada").send("POST", "studies/study/resolutions/", reopened).status_code == 201
    assert open_places(study) == [(2, "symptom"), (2, "areas")]


def open_places(study: Study) -> list[tuple[int, str]]:
    found = Script("ada").send("GET", f"studies/{study.slug}/disagreements/").json()["results"]
    return [(row["part"], row["dimension"]) for row in found]


def label_batch(round_: Round) -> list[dict[str, Any]]:
    fresh = Round.objects.select_related("taxonomy_version", "study").get(pk=round_.pk)
    return [row for _, batch in label_batches([fresh]) for row in batch.to_pylist()]


def tree_of(round_: Round) -> VersionTree:
    return published_version(round_.taxonomy_version_id)


def test_an_imported_item_without_an_issue_is_shown_with_its_attributes(disputed) -> None:
    Item.objects.filter(pk=item(1).pk).update(issue=None, snapshot=None, attributes={"framework": "Horovod"})
    words = client("ada").get(address()).content.decode()
    assert "Horovod" in words and "acme/rocket#1" in words


def test_a_decision_leads_to_the_next_item_in_one_round_trip(disputed) -> None:
    answer = client("ada").post(address(1), decision(), headers=HTMX)
    assert answer.status_code == 200
    assert (answer["HX-Retarget"], answer["HX-Push-Url"]) == ("#room", address(3))
    words = answer.content.decode()
    assert "Issue 3 of rocket" in words and "Symptom: Crash" in words
    last = client("ada").post(address(3), decision("[]"), headers=HTMX)
    assert last["HX-Redirect"] == QUEUE


def test_what_hangs_on_a_decision_is_asked_next() -> None:
    round_ = make.open_round(make.study(text=make.FAULTS), 2)
    for number in (1, 2):
        make.submit(round_, "bob", number, FAULT)
        make.submit(round_, "carol", number, {"kind": ["how-to"]})
    answer = client("ada").post(address(1), decision('["fault"]', dimension="kind"), headers=HTMX)
    words = answer.content.decode()
    assert "HX-Retarget" not in answer and 'name="dimension" value="symptom"' in words
    assert 'hx-swap-oob="true"' in words and "Only R1 labeled it." in words
    other = client("ada").post(address(2), decision('["how-to"]', dimension="kind"), headers=HTMX)
    assert other["HX-Push-Url"] == address(1)


def test_without_scripts_a_decision_redirects(disputed) -> None:
    answer = client("ada").post(address(1), decision("other", other="slow"))
    assert (answer.status_code, answer["Location"]) == (302, address(3))
    assert Resolution.objects.get().decided.get().category.key == "slow"


@pytest.mark.parametrize(
    ("filled", "sentence"),
    [
        ({"choice": ""}, "Choose an agreed label."),
        ({"choice": "other"}, "Enter the other value."),
        ({"choice": "other", "other": "bang"}, "is not a category of"),
        ({"choice": "{}"}, "Choose an agreed label."),
        ({"choice": '["\\ud800"]'}, "Choose an agreed label."),
        ({"choice": f"[{'{},' * 30_000}{{}}]"}, "Choose an agreed label."),
        ({"choice": '["bang"]'}, "is not a category of"),
        ({"method": "dice"}, "Choose one of"),
        ({"part": "x"}, "The item has no part"),
        ({"dimension": "colour"}, "Dimension “colour” not found."),
        ({"rationale": "x" * 20_001}, "at most 20000 characters"),
    ],
)
def test_what_is_wrong_is_said_at_its_field(disputed, filled, sentence) -> None:
    for headers in (HTMX, {}):
        answer = client("ada").post(address(), decision() | filled, headers=headers)
        words = answer.content.decode()
        assert answer.status_code == 422 and sentence in words
        assert 'aria-invalid="true"' in words or "This disagreement is no longer open." in words
    assert not Resolution.objects.exists()


def test_a_stale_decision_shows_the_newer_one_and_overwrites_nothing(disputed) -> None:
    client("olga").post(address(), decision('["hang"]', rationale="the trace ends there"))
    for headers in (HTMX, {}):
        answer = client("ada").post(address(), decision(rationale="mine"), headers=headers)
        words = answer.content.decode()
        assert answer.status_code == 409
        assert "olga resolved this as Hang while you were reading." in words and "the trace ends there" in words
        assert "mine" in words and f'name="expected" value="{Resolution.objects.get().public_id}"' in words
    again = client("ada").post(address(), decision(expected=Resolution.objects.get().public_id))
    assert again.status_code == 302 and Resolution.objects.count() == 2


def test_what_was_decided_is_shown_with_its_history(disputed) -> None:
    client("ada").post(address(), decision(rationale="one reason"))
    first = Resolution.objects.get()
    client("olga").post(address(), decision('["hang"]', rationale="a better reason", expected=first.public_id))
    words = client("ada").get(address()).content.decode()
    for expected in ("one reason", "a better reason", "by ada, adjudicator,", "by olga", "by ada", "Resolve again"):
        assert expected in words


def test_kinds_without_categories_are_decided_by_number_text_and_yes_or_no() -> None:
    text = """
slug: kinds
title: Kinds
dimensions:
  - {key: lines, title: Lines changed, kind: number}
  - {key: note, title: Note, kind: text}
  - {key: mark, title: Mark, kind: boolean}
"""
    round_ = make.open_round(make.study(text=text), 1)
    make.submit(round_, "bob", 1, {"lines": 3, "note": "a", "mark": True})
    make.submit(round_, "carol", 1, {"lines": 4.5, "note": "b", "mark": False})
    ada = client("ada")
    wrong = ada.post(address(), decision("other", dimension="lines", other="many"), headers=HTMX)
    assert wrong.status_code == 422 and "Enter a number." in wrong.content.decode()
    ada.post(address(), decision("other", dimension="lines", other="5"))
    ada.post(address(), decision("other", dimension="note", other="c & d"))
    ada.post(address(), decision("[false]", dimension="mark"))
    words = ada.get(address()).content.decode()
    assert "c &amp; d" in words
    assert Resolution.objects.count() == 3


@pytest.mark.parametrize(
    ("key", "decided"),
    [("lines", 1234567.25), ("lines", 0.1 + 0.2), ("lines", 1e20), ("note", "two\nlines"), ("note", " \r\nas sent")],
)
def test_a_number_or_text_that_is_resolved_again_stays_what_it_was(key: str, decided: Any) -> None:
    text = """
slug: kinds
title: Kinds
dimensions:
  - {key: lines, title: Lines changed, kind: number}
  - {key: note, title: Note, kind: text}
"""
    round_ = make.open_round(make.study(text=text), 1)
    make.submit(round_, "bob", 1, {"lines": 1234567, "note": "a"})
    make.submit(round_, "carol", 1, {"lines": 1234568, "note": "b"})
    place = {"round": 1, "item": "acme/rocket#1", "part": 1, "dimension": key, "values": [decided], "expected": None}
    assert Script("ada").send("POST", "studies/study/resolutions/", place).status_code == 201
    page = client("ada").get(f"{address()}?place=1.{key}").content.decode()
    assert ("<strong>1234567</strong>" in page and "<strong>1234568</strong>" in page) or key == "note"
    (choice,) = re.findall(r'name="choice" value="([^"]*)" checked', page)
    (expected,) = re.findall(r'name="expected" value="([^"]*)"', page)
    sent = decision(unescape(choice), dimension=key, expected=expected, rationale="Once more.")
    assert client("ada").post(address(), sent).status_code == 302
    first, second = Resolution.objects.order_by("pk").prefetch_related("decided")
    (one,), (again,) = ([(each.number, each.text) for each in row.decided.all()] for row in (first, second))
    assert one == again and second.rationale == "Once more."


@pytest.mark.slow
def test_the_queue_is_paged_and_both_pages_take_the_same_queries_at_two_sizes() -> None:
    counts = []
    for slug, n in (("small", 3), ("large", 60)):
        study = make.study(slug, text=make.SYMPTOMS.replace("slug: symptoms", f"slug: {slug}"))
        round_ = make.open_round(study, n, first=1)
        lines = "\n".join(f"{number} crash hang" for number in range(1, n + 1))
        make.rate(round_, f"item bob carol\n{lines}")
        ada = client("ada")
        page = f"/studies/{slug}/rounds/1/resolve/"
        first = Item.objects.filter(study=study).order_by("pk")[0].pk
        ada.get(page)
        counts.append((n_queries(ada, page), n_queries(ada, f"{page}{first}/")))
    assert counts[0] == counts[1]
    words = ada.get(page + "?page=2").content.decode()
    assert "51–60 of 60" in words and words.count("row-title") == 10


def test_a_round_of_one_rater_has_nothing_to_resolve() -> None:
    round_ = make.open_round(make.study(raters=("bob",)), 2, raters=("bob",))
    make.rate(round_, "item bob\n1 crash\n2 hang")
    assert "All items are agreed" in client("ada").get(QUEUE).content.decode()


def test_a_draft_round_has_not_begun() -> None:
    study = make.study()
    make.issues(1)
    rounds.create_round(
        seat=make.owner_seat(study), asked=rounds.NewRound(raters=["bob", "carol"], issues=["acme/rocket#1"])
    )
    assert "is not open yet" in client("ada").get(QUEUE).content.decode()


def test_the_guide_and_the_sheet_of_keys_name_the_same_keys() -> None:
    """So that neither is forgotten when a key changes."""
    guide = (settings.BASE_DIR / "docs/adjudicators.md").read_text()
    table = guide.partition("## Keys")[2].partition("##")[0]
    sheet = (settings.BASE_DIR / "templates/annotation/resolving/_keys.html").read_text()
    in_sheet = set(re.findall(r"<kbd[^>]*>([^<]+)</kbd>", sheet.partition("</dl>")[0]))
    in_guide = set(re.findall(r"`([^`]+)`", table))
    assert in_sheet - {"↵"} == in_guide - {"Enter", "⌘"}


def test_every_reason_of_the_queue_is_explained_in_the_guide() -> None:
    guide = (settings.BASE_DIR / "docs/adjudicators.md").read_text()
    for key, words in REASONS.items():
        assert key == "differ" or f"*{words}*" in guide


def test_a_bug_that_a_rater_does_not_have_after_matching_is_said_not_to_be_found() -> None:
    round_ = make.open_round(make.study(), 1)
    for name in ("bob", "carol"):
        make.submit(round_, name, 1, parts=[{"labels": {"symptom": [key]}} for key in ("crash", "hang")])
    seat = make.seat(round_.study, "ada")
    match_parts(seat=seat, round_=Round.objects.get(), item=item(1), rater="R2", parts=[1, 3])
    page = client("ada").get(address(), {"place": "1.symptom"}).content.decode()
    assert "gave no label here" not in page
    for number, sentence in ((2, "R2 found no part 2."), (3, "R1 found no part 3.")):
        words = client("ada").get(address(), {"place": f"{number}.symptom"}).content.decode()
        assert sentence in words and f"found no part {number}</span>" in words
        assert "gave no label here" not in words


def test_who_flagged_an_item_stands_at_its_top_and_the_flagged_ones_are_gone_through_in_order() -> None:
    round_ = make.open_round(make.study(), 3)
    for name in ("bob", "carol"):
        for number in (1, 2, 3):
            more = {"flag": True, "memo": f"about {number}"} if name == "bob" and number != 2 else {}
            value = "hang" if (name, number) == ("carol", 1) else "crash"
            make.submit(round_, name, number, {"symptom": [value]}, **more)
    visitor = client("ada")
    assert "⚑ 2 flagged" in visitor.get(QUEUE).content.decode()
    disputed, flagged = (visitor.get(address(number), {"walk": "flagged"}).content.decode() for number in (1, 3))
    assert "flagged this for discussion" in disputed and disputed.count("about 1") == 1
    assert "flagged this for discussion" in flagged and f'data-previous="{address(1)}?walk=flagged"' in flagged
    assert f'data-next="{address(3)}?walk=flagged"' in disputed
    assert "flagged this for discussion" not in visitor.get(address(2)).content.decode()


def test_three_values_at_one_place_are_told_once_each_in_the_queue() -> None:
    names = ("bob", "carol", "dave")
    make.rate(make.open_round(make.study(raters=names), 1, raters=names), "item bob carol dave\n1 crash hang slow")
    words = client("ada").get(QUEUE).content.decode()
    assert '<span class="resolve-clash">Crash ↔ Hang ↔ Slow</span>' in words
