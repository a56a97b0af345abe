"""What a round shows of its raters: how many items they share, and until when they hold one of a pool."""

from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone

from annotation.assignments.actions import states_and_leases
from annotation.models import Assignment
from tests import builders as make
from tests.annotation.agreement_report.test_coverage import build_study as partly_double_coded
from tests.scripts import Script

pytestmark = pytest.mark.django_db


def test_a_rater_sees_how_many_of_their_items_another_rater_has(client: Client) -> None:
    partly_double_coded()
    olga = Script("olga")
    told = {
        each["code"]: each["n_double"] for each in olga.send("GET", "studies/study/rounds/1/raters/").json()["results"]
    }
    assert told == {"R1": 4, "R2": 4}
    assert olga.send("GET", "studies/study/rounds/1/raters/R1/").json()["n_double"] == 4
    held = Assignment.objects.filter(rater__code="R1").count()
    client.force_login(make.user("olga"))
    page = client.get("/studies/study/rounds/1/").content.decode()
    assert f"4 of {held} " in page and "Double-coded" in page


def test_where_all_items_have_all_raters_no_share_is_shown(client: Client) -> None:
    make.open_round(make.study(), 2)
    assert {
        each["n_double"] for each in Script("olga").send("GET", "studies/study/rounds/1/raters/").json()["results"]
    } == {None}
    client.force_login(make.user("olga"))
    assert "Double-coded" not in client.get("/studies/study/rounds/1/").content.decode()


def test_an_item_of_a_pool_is_shown_as_held_until_its_lease_ends(client: Client) -> None:
    make.open_round(make.study(), 3, raters_per_item=1, mode="pool")
    assert Script("bob").send("GET", "studies/study/rounds/1/next/").status_code == 200
    until = Assignment.objects.get(state="leased").lease_until
    assert until is not None
    path = "studies/study/rounds/1/raters/"
    told = {each["code"]: each["lease_until"] for each in Script("olga").send("GET", path).json()["results"]}
    hour = until.replace(minute=0, second=0, microsecond=0) + timedelta(hours=1)
    assert told == {"R1": hour.isoformat().replace("+00:00", "Z"), "R2": None}
    client.force_login(make.user("olga"))
    assert "one item assigned, expires" in client.get("/studies/study/rounds/1/").content.decode()
    Assignment.objects.update(lease_until=timezone.now() - timedelta(minutes=1))
    assert "one item assigned, expires" not in client.get("/studies/study/rounds/1/").content.decode()
    assert {each["lease_until"] for each in Script("olga").send("GET", path).json()["results"]} == {None}


def test_a_lease_that_was_given_back_meanwhile_is_not_renewed() -> None:
    make.open_round(make.study(), 1, raters_per_item=1, mode="pool")
    assert Script("bob").send("GET", "studies/study/rounds/1/next/").status_code == 200
    Assignment.objects.update(lease_until=timezone.now() - timedelta(minutes=1))
    read_before = Assignment.objects.get()
    states_and_leases.release_expired(read_before.round_id)
    assert not states_and_leases.renew(read_before)
    given_back = Assignment.objects.get()
    assert (given_back.state, given_back.lease_until) == (Assignment.State.WITHDRAWN, None)


def test_a_lease_that_ran_out_is_renewed_while_nobody_gave_it_back() -> None:
    make.open_round(make.study(), 1, raters_per_item=1, mode="pool")
    assert Script("bob").send("GET", "studies/study/rounds/1/next/").status_code == 200
    Assignment.objects.update(lease_until=timezone.now() - timedelta(minutes=1))
    assert states_and_leases.renew(Assignment.objects.get())
    assert Assignment.objects.get(lease_until__gt=timezone.now()).state == Assignment.State.LEASED
