"""How often categories were given, as the taxonomy's editor is told; nothing of it comes out of a blind round."""

import pytest
from django.test import Client

from annotation.core.access import get_item, get_round
from annotation.resolving.actions.third_rater_requests import ask_third_rater
from annotation.rounds.actions import rounds
from taxonomy import actions
from tests import builders as make

pytestmark = pytest.mark.django_db

USAGE = "/taxonomies/symptoms/usage/?version=1"


def usage(name: str, address: str = USAGE, *, staff: bool = False):
    client = Client()
    client.force_login(make.user(name, staff=staff))
    return client.get(address)


def closed(study, table):
    round_ = make.rate(make.open_round(study, 3), table)
    rounds.close_round(seat=make.owner_seat(study), number=round_.number, leave_open=True)
    return round_


TABLE = """
    item  bob    carol
    1     crash  crash
    2     crash  hang
    3     slow   -
"""


def test_current_ratings_of_rounds_that_are_over_are_counted():
    study = make.study()
    closed(study, TABLE)
    for name in ("olga", "ada", "rea", "bob"):
        body = usage(name).json()
        assert body["counts"] == {"symptom": {"crash": 3, "hang": 1, "slow": 1}} and body["n_ratings"] == 5, name


def test_counts_follow_a_merge_and_say_what_is_lost():
    study = make.study()
    closed(study, TABLE)
    text = """
slug: symptoms
title: Symptoms
dimensions:
  - key: symptom
    title: Symptom
    kind: single
    categories: [{key: crash, name: Crash, was: [crash, hang]}]
"""
    actions.new_draft(user=make.user("olga"), taxonomy=study.taxonomy, text=text)
    body = usage("olga", "/taxonomies/symptoms/usage/?version=2").json()
    assert body["counts"] == {"symptom": {"crash": 4}} and body["n_lost"] == 1
    assert usage("rea", "/taxonomies/symptoms/usage/?version=2").status_code == 404  # a draft of others


def test_who_is_blind_in_an_open_round_gets_no_count_out_of_it():
    study = make.study()
    round_ = make.open_round(study, 3)
    make.submit(round_, "carol", 1, {"symptom": ["crash"]})
    for name in ("bob", "carol", "olga", "rea"):
        assert usage(name).json()["counts"] == {}, name
    before = usage("bob").content
    make.submit(round_, "carol", 2, {"symptom": ["hang"]})
    assert usage("bob").content == before


def test_an_open_round_adds_nothing_to_one_that_is_over():
    study = make.study()
    closed(study, TABLE)
    again = make.open_round(study, 3, first=10)
    before = usage("bob").json()
    make.submit(again, "carol", 10, {"symptom": ["slow"]})
    assert usage("bob").json() == before


def test_studies_of_others_count_for_nobody_else():
    study = make.study()
    closed(study, TABLE)
    make.user("eve")
    assert usage("eve").json()["counts"] == {}
    assert usage("root", staff=True).json()["n_ratings"] == 5


def test_nonsense_is_not_found_and_strangers_sign_in():
    make.study()
    assert Client().get(USAGE).status_code == 302
    for address in (
        "/taxonomies/none/usage/?version=1",
        "/taxonomies/symptoms/usage/?version=x",
        "/taxonomies/symptoms/usage/",
    ):
        assert usage("olga", address).status_code == 404
    assert usage("olga", "/taxonomies/symptoms/usage/?version=9").status_code == 404


def test_third_answers_count_for_nobody_from_whom_an_item_of_their_round_is_withheld():
    study = make.study(raters=("bob", "carol", "dave", "erin"))
    round_ = make.rate(make.open_round(study, 2, raters=("bob", "carol")), "item bob carol\n1 crash hang\n2 crash hang")
    ada = make.seat(study, "ada")
    for name, number in (("dave", 1), ("erin", 2)):
        item = get_item(ada, f"acme/rocket#{number}")
        ask_third_rater(seat=ada, round_=get_round(ada, 1), item=item, rater=name)
    make.submit(round_, "erin", 2, {"symptom": ["hang"]})
    assert usage("ada").json()["counts"] == {"symptom": {"crash": 2, "hang": 3}}
    assert usage("dave").json()["counts"] == {"symptom": {"crash": 1, "hang": 1}}
    make.submit(round_, "dave", 1, {"symptom": ["hang"]})
    assert usage("dave").json()["counts"] == {"symptom": {"crash": 2, "hang": 4}}
