"""The pages of plans through their door: who reads, who moves, what is counted, and that undoing is one button."""

import re
from typing import Any

import pytest
from django.db import connection
from django.test import Client

from accounts.models import User
from annotation.core.access import get_item, get_round
from annotation.models import Plan, Round, Study
from annotation.plans import actions
from annotation.plans import jobs as plan_jobs
from annotation.resolving.actions.resolutions import resolve
from annotation.rounds.actions import rounds
from taxonomy import actions as taxonomy_actions
from tests import builders as make
from tests.asserts import assert_queries
from tests.forms import sent_by
from tests.scripts import Script

pytestmark = pytest.mark.django_db

SPLIT = """
slug: symptoms
title: Symptoms
dimensions:
  - key: symptom
    title: Symptom
    kind: single
    categories:
      - {key: crash, name: Abort, was: [crash]}
      - {key: early-hang, name: Early hang, was: [hang]}
      - {key: late-hang, name: Late hang, was: [hang]}
      - {key: slow, name: Slow, definition: Slower than before.}
"""
ANSWERS = """
    item  bob    carol
    1     crash  crash
    2     hang   hang
    3     slow   slow
"""
HERE = "/studies/study/plans/"


def visitor(name: str) -> Client:
    client = Client()
    client.force_login(make.user(name))
    return client


def words(response: Any) -> str:
    """What a page says, without its tags, inner blanks collapsed."""
    text = re.sub(r"<(script|style|select)\b.*?</\1>", " ", response.content.decode(), flags=re.DOTALL)
    return " ".join(re.sub(r"<[^>]+>", " ", text).split())


def build_study() -> Study:
    """Version 1 with three labelled items, resolved; version 2 is published."""
    made = make.study()
    make.rate(make.open_round(made), ANSWERS)
    make.next_version(made, SPLIT)
    return made


def preview(study: Study) -> Plan:
    return actions.preview_plan(seat=make.owner_seat(study), to=2)


def run(study: Study, **more: Any) -> Plan:
    plan = actions.run_plan(seat=make.owner_seat(study), plan=preview(study), **more)
    plan_jobs.work(plan.pk)
    return Plan.objects.get(pk=plan.pk)


PAGES = ("", "1/", "1/items/", "1/items/?why=split&dimension=symptom", "1/progress/")


@pytest.mark.parametrize("page", PAGES)
@pytest.mark.parametrize(
    ("name", "status"), [("olga", 200), ("ada", 200), ("bob", 200), ("rea", 200), ("mallory", 404)]
)
def test_members_read_plans_and_nobody_else(study: Study, page: str, name: str, status: int) -> None:
    preview(study)
    make.study("other", text=make.FAULTS, raters=("mallory", "trudy"))
    if name == "rea" and "items" in page:  # why items would be asked again tells of single answers
        assert visitor(name).get(HERE + page).status_code == 403
        rounds.close_round(seat=make.owner_seat(study), number=1, leave_open=True)
    assert visitor(name).get(HERE + page).status_code == status


@pytest.mark.parametrize("page", PAGES)
def test_looking_at_a_plan_makes_no_table_and_changes_nothing(study: Study, page: str) -> None:
    preview(study)
    browser = visitor("olga")
    with connection.cursor() as cursor:
        cursor.execute("SET CONSTRAINTS ALL IMMEDIATE; SET LOCAL transaction_read_only = on")
    assert browser.get(HERE + page).status_code == 200


@pytest.mark.parametrize("page", [*PAGES, "1/run/", "1/undo/", "1/recheck/"])
def test_who_is_not_signed_in_is_sent_to_sign_in(study: Study, page: str) -> None:
    preview(study)
    response = Client().get(HERE + page)
    assert (response.status_code, response["Location"].partition("?")[0]) == (302, "/sign-in/")


def test_an_address_with_a_character_that_postgres_can_not_hold_is_read_without_it(study: Study) -> None:
    preview(study)
    for address in ("/taxonomies/?after=%00", "/studies/new/?taxonomy=%00", "/studies/study/agreement/?items=%00"):
        assert visitor("olga").get(address).status_code == 200, address
    assert "acme/rocket#2" in words(visitor("olga").get(HERE + "1/items/?why=split%00&dimension=symptom%00"))


@pytest.mark.parametrize("page", ["9/", "9/items/", "9/progress/", "99999999999999999999/"])
def test_a_plan_that_is_not_there_is_not_found(study: Study, page: str) -> None:
    assert visitor("olga").get(HERE + page).status_code == 404


@pytest.mark.parametrize("name", ["ada", "bob", "rea", "mallory"])
def test_only_the_owner_previews_runs_and_undoes(study: Study, name: str) -> None:
    preview(study)
    make.study("other", text=make.FAULTS, raters=("mallory", "trudy"))
    client, status = visitor(name), 404 if name == "mallory" else 403
    assert client.post(HERE, {"to": 2}).status_code == status
    for move in ("run", "undo", "recheck"):
        assert client.post(f"{HERE}1/{move}/").status_code == status
    assert Plan.objects.get().state == Plan.State.PREVIEWED


def test_readers_get_no_button_that_moves(study: Study) -> None:
    preview(study)
    for name in ("ada", "bob", "rea"):
        text = visitor(name).get(HERE + "1/").content.decode()
        assert "Run migration" not in text and "The owner of the study runs it." in text
    assert "Run migration 1" in visitor("olga").get(HERE + "1/").content.decode()


def test_a_preview_says_first_what_will_happen_and_counts_each_change(study: Study) -> None:
    response = visitor("olga").post(HERE, {"to": 2}, follow=True)
    text = words(response)
    assert "4 labels migrate automatically, 1 item goes to a relabeling queue, and no label is lost." in text
    assert re.search("Hang Symptom, version 1 split Early hang or Late hang to relabel 2 1", text)
    assert re.search(r"Crash Symptom, version 1 renamed Abort follows 2 1", text)
    assert text.index("Hang Symptom") < text.index("Crash Symptom")
    assert not Round.objects.filter(kind=Round.Kind.RELABEL).exists()


def test_each_count_leads_to_its_items(study: Study) -> None:
    preview(study)
    olga = visitor("olga")
    text = olga.get(HERE + "1/").content.decode()
    found = re.search(r'href="([^"]*category=hang[^"]*)"', text)
    assert found is not None
    items = olga.get(found[1].replace("&amp;", "&"))
    assert "acme/rocket#2" in words(items)
    assert "acme/rocket#1" not in words(items)
    asked = words(olga.get(HERE + "1/items/"))
    assert "Symptom: Hang was split R1 R2" in asked
    assert "acme/rocket#1" not in asked


def test_ticking_look_again_counts_anew_at_once(study: Study) -> None:
    preview(study)
    olga = visitor("olga")
    assert "Check labels of Slow again" in words(olga.get(HERE + "1/"))
    response = olga.post(HERE + "1/recheck/", {"recheck": "symptom slow"}, headers={"HX-Request": "true"})
    assert "2 items go to a relabeling queue" in words(response)
    assert "<html" not in response.content.decode()
    assert Plan.objects.get().recheck == [["symptom", "slow"]]
    assert olga.post(HERE + "1/recheck/", {"recheck": "symptom crash"}).status_code == 422
    assert olga.post(HERE + "1/recheck/", {}).status_code == 302
    assert Plan.objects.get().recheck == []


def test_running_twice_runs_once(study: Study) -> None:
    preview(study)
    olga = visitor("olga")
    for _ in range(2):
        assert olga.post(HERE + "1/run/").status_code == 302
    assert Plan.objects.get().state == Plan.State.QUEUED
    plan_jobs.work(Plan.objects.get().pk)
    assert olga.post(HERE + "1/run/").status_code == 409
    assert Round.objects.filter(kind=Round.Kind.RELABEL).count() == 1


def test_what_stands_in_the_way_of_a_run_is_said_instead_of_the_button(study: Study) -> None:
    preview(study)
    make.open_round(study, 1, first=9)
    text = words(visitor("olga").get(HERE + "1/"))
    assert "Round 2 is open, so its labels would be too late." in text
    assert "Run migration 1" not in text
    assert visitor("olga").post(HERE + "1/run/").status_code == 409


def test_while_it_works_the_page_asks_again_and_then_stops(study: Study) -> None:
    plan = actions.run_plan(seat=make.owner_seat(study), plan=preview(study))
    olga = visitor("olga")
    assert 'hx-trigger="every 1s"' in olga.get(HERE + "1/").content.decode()
    part = olga.get(HERE + "1/progress/")
    assert "HX-Refresh" not in part and "queued" in words(part)
    plan_jobs.work(plan.pk)
    part = olga.get(HERE + "1/progress/")
    assert part["HX-Refresh"] == "true"
    assert "hx-get" not in part.content.decode()


def test_who_stops_a_migration_that_has_finished_meanwhile_undoes_nothing(study: Study) -> None:
    plan = actions.run_plan(seat=make.owner_seat(study), plan=preview(study))
    olga = visitor("olga")
    sent = sent_by(olga.get(HERE + "1/").content.decode(), "Stop migration")
    plan_jobs.work(plan.pk)
    refused = olga.post(HERE + "1/undo/", sent)
    assert refused.status_code == 409 and "Migration 1 is finished, so it can" in words(refused)
    plan.refresh_from_db()
    assert plan.state == Plan.State.DONE
    assert olga.post(HERE + "1/undo/", sent_by(olga.get(HERE + "1/").content.decode(), "Undo")).status_code == 302


def test_a_plan_that_was_run_says_what_it_did_and_links_its_worklist(study: Study) -> None:
    run(study)
    response = visitor("rea").get(HERE + "1/")
    text = words(response)
    assert (
        "The labels are mapped to version 2. 4 migrated automatically, and 1 item went to a relabeling queue." in text
    )
    assert 'href="/studies/study/rounds/2/"' in response.content.decode()
    assert "acme/rocket#2" in words(visitor("rea").get(HERE + "1/items/"))


@pytest.mark.slow
def test_labels_without_a_value_are_counted_before_a_plan_runs_and_listed_until_none_is_left(study: Study) -> None:
    """Item 4 is rated hang by one of two and agreed to be slow: an item of the worklist, and no agreed label of it."""
    more = make.rate(make.open_round(study, 2, first=4, taxonomy_version=1), "item bob carol\n4 hang slow\n5 hang hang")
    seat = make.seat(study, "ada")
    decide = {"part": 1, "dimension": "symptom", "rationale": "so"}
    resolve(seat=seat, round_=more, item=get_item(seat, "acme/rocket#4"), values=["slow"], **decide)
    preview(study)
    olga, script = visitor("olga"), Script("olga")
    assert "2 of 5 agreed labels have no value in version 2" in words(olga.get(HERE + "1/"))
    run(study)
    (plan,) = script.send("GET", "studies/study/plans/").json()["results"]
    told = script.send("GET", f"studies/study/plans/{plan['id']}/").json()
    assert (told["agreed"], told["labels_without_value"]) == ({"labels": 5, "unmapped": 2}, 2)
    assert told["worklist"]["items"] == 3
    worklist = get_round(make.owner_seat(study), 3)
    for name in ("bob", "carol"):
        make.submit(worklist, name, 2, {"symptom": ["early-hang"]})
        make.submit(worklist, name, 5, {"symptom": ["early-hang" if name == "bob" else "late-hang"]})
    make.submit(worklist, "bob", 4, {"symptom": ["late-hang"]})
    text = words(olga.get(HERE + "1/"))
    assert "Labels without a value in version 2 1" in text
    assert "acme/rocket#5 Symptom Hang split in version 2 into early-hang, late-hang" in text
    assert "1 agreed label has no value in version 2" in words(olga.get("/studies/study/"))
    close = olga.get("/studies/study/rounds/3/").content.decode()
    assert "You can still resolve them later. 1 label has no value in version 2." in close
    assert "Labels without a value" not in words(visitor("bob").get(HERE + "1/"))
    resolve(seat=seat, round_=get_round(seat, 3), item=get_item(seat, "acme/rocket#5"), values=["late-hang"], **decide)
    assert "Labels without a value in version 2 Every agreed label has a value." in words(olga.get(HERE + "1/"))
    assert "no value" not in words(olga.get("/studies/study/"))


def test_undoing_is_offered_until_the_next_round_opens_and_then_the_reason_stands_there(study: Study) -> None:
    run(study)
    olga = visitor("olga")
    assert "Undo migration 1" in words(olga.get(HERE + "1/"))
    owner = make.owner_seat(study)
    rounds.resolve_round(seat=owner, number=2, withdraw=True)
    make.open_round(study, 1, first=9)
    text = words(olga.get(HERE + "1/"))
    assert "It can’t be undone: Round 3 was opened since" in text
    assert "Undo migration 1" not in text
    assert olga.post(HERE + "1/undo/").status_code == 409
    assert Plan.objects.get().state == Plan.State.DONE


def test_undone_the_labels_stand_as_before_and_the_list_says_so(study: Study) -> None:
    run(study)
    olga = visitor("olga")
    assert 'action="/studies/study/plans/1/undo/"' in olga.get(HERE).content.decode()
    done = olga.post(HERE + "1/undo/", follow=True)
    assert "The labels are as they were before this migration." in words(done)
    assert olga.post(HERE + "1/undo/").status_code == 409
    listed = olga.get(HERE)
    assert "Migration 1 version 1 → 2 undone" in words(listed)
    assert "1/undo/" not in listed.content.decode()
    queue = olga.get("/studies/study/rounds/2/")
    assert "Relabeling queue of migration 1" in words(queue)
    assert ">Left</th>" not in queue.content.decode(), "nothing is left of what was undone"


def test_absent_raters_are_named_and_stand_ins_answer_for_them(study: Study) -> None:
    User.objects.filter(username="carol").update(is_active=False)
    preview(study)
    olga = visitor("olga")
    text = words(olga.get(HERE + "1/"))
    assert "R2 carol can’t sign in" in text
    assert "Who relabels for raters who can’t sign in?" in text
    assert olga.post(HERE + "1/run/", {"stand_ins": "R9"}).status_code == 422
    assert olga.post(HERE + "1/run/", {"stand_ins": "R1"}).status_code == 302


def test_items_that_nobody_can_answer_are_not_said_to_be_in_the_worklist(study: Study) -> None:
    User.objects.filter(username__in=("bob", "carol")).update(is_active=False)
    run(study)
    text = words(visitor("olga").get(HERE + "1/"))
    assert "4 migrated automatically. Run" in text
    assert "Nothing was assigned: the raters concerned can’t sign in, and the plan has no stand-ins for them." in text
    assert "no rater available" in words(visitor("olga").get(HERE))


def test_empty_lists_teach(study: Study) -> None:
    empty = make.study("empty", text=make.FAULTS)
    assert "No labels to migrate yet." in words(visitor("olga").get("/studies/empty/plans/"))
    make.open_round(empty, 1, first=20)
    rounds.resolve_round(seat=make.owner_seat(empty), number=1, withdraw=True)
    text = words(visitor("olga").get("/studies/empty/plans/"))
    assert "The labels are mapped to version 1, and no newer version is published." in text
    assert visitor("olga").post("/studies/empty/plans/", {"to": 1}).status_code == 422
    assert visitor("olga").post(HERE, {"to": "x"}).status_code == 422


def test_a_draft_is_previewed_but_not_run(study: Study) -> None:
    taxonomy_actions.new_draft(
        user=study.created_by, taxonomy=study.taxonomy, text=SPLIT.replace("Abort", "Abortion of the process")
    )
    response = visitor("olga").post(HERE, {"to": 3}, follow=True)
    assert "Version 3 is a draft. Publish it first." in words(response)
    assert "Run migration" not in words(response)


def test_who_labels_in_an_open_round_reads_no_values_behind_the_counts(study: Study) -> None:
    preview(study)
    make.open_round(study, 1, first=9)
    asked = words(visitor("bob").get(HERE + "1/items/"))
    assert "acme/rocket#2" in asked and "Symptom: was split" in asked
    assert "Hang was split" not in asked and "R2" not in asked.partition("Question")[2]
    assert visitor("bob").get(HERE + "1/items/?category=hang&dimension=symptom&version=1").status_code == 403


def test_the_studies_that_a_version_concerns_are_their_owners_alone(study: Study) -> None:
    here = "/taxonomies/symptoms/versions/2/plans/"
    text = visitor("olga").get(here).content.decode()
    assert "Preview migration" in text and 'name="to" value="2"' in text
    for name in ("bob", "ada", "mallory"):
        response = visitor(name).get(here)
        assert response.status_code == 200
        assert "No study of yours uses this taxonomy." in words(response)
    assert visitor("olga").get("/taxonomies/symptoms/versions/9/plans/").status_code == 404
    assert Client().get(here).status_code == 302


def test_the_overview_tells_the_owner_of_a_newer_version(study: Study) -> None:
    rounds.close_round(seat=make.owner_seat(study), number=1, leave_open=True)
    text = visitor("olga").get("/studies/study/").content.decode()
    assert "Version 2 is published. The labels are mapped to version 1." in text
    assert 'href="/studies/study/plans/?to=2"' in text
    assert "Version 2 is published" not in visitor("rea").get("/studies/study/").content.decode()
    run(study)
    bob = words(visitor("bob").get("/studies/study/"))
    assert "Relabeling queue: 1 item waits for you." in bob


@pytest.mark.slow
def test_a_page_of_affected_items_ends_and_goes_on(study: Study) -> None:
    round_ = make.open_round(study, 60, first=101, taxonomy_version=1)
    table = "item bob carol\n" + "\n".join(f"{n} hang hang" for n in range(101, 161))
    make.rate(round_, table)
    preview(study)
    olga = visitor("olga")
    first = olga.get(HERE + "1/items/").content.decode()
    found = re.search(r'rel="next" href="([^"]+)"', first)
    assert found is not None and first.count('class="id"') == 50
    second = olga.get(HERE + "1/items/" + found[1].replace("&amp;", "&")).content.decode()
    assert second.count('class="id"') == 11
    assert 'rel="next"' not in second


def test_the_list_costs_the_same_for_one_plan_and_for_many(study: Study) -> None:
    olga = visitor("olga")
    run(study)
    olga.get(HERE)
    with assert_queries(14):
        olga.get(HERE)
    for _ in range(3):
        actions.undo_plan(seat=make.owner_seat(study), plan=Plan.objects.get(state=Plan.State.DONE))
        run(study)
    with assert_queries(14):
        olga.get(HERE)


def test_an_items_page_tells_each_label_through_the_versions(study: Study) -> None:
    run(study)
    worklist = study.rounds.get(number=2)
    for name in ("bob", "carol"):
        make.submit(worklist, name, 2, {"symptom": ["early-hang"]})
    ada = visitor("ada")
    pages = {
        number: words(ada.get(f"/studies/study/items/{study.items.get(identifier=f'acme/rocket#{number}').pk}/"))
        for number in (1, 2, 3)
    }
    assert "Symptom R1 Hang (round 1, version 1) → Early hang (round 2, version 2)" in pages[2]
    assert "Symptom R2 Crash (round 1, version 1) → Abort (version 2)" in pages[1]
    assert "Labels by taxonomy version" not in pages[3]


def test_the_pages_have_no_inline_script_or_style(study: Study) -> None:
    preview(study)
    for page in ("", "1/", "1/items/"):
        text = visitor("olga").get(HERE + page).content.decode()
        assert " style=" not in text and "<style" not in text and " onclick" not in text
