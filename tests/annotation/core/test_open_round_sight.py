"""What a rater of an open round can count, time or measure does not depend on how others answered there."""

from collections.abc import Iterator
from typing import Any

import pytest
from django.db import transaction

from annotation.assignments.queries import READ
from annotation.core.access import get_item, get_round
from annotation.exports.actions import request_export
from annotation.exports.jobs import EXPORTS
from annotation.members.actions import members
from annotation.models import Annotation, AuditEvent, Export, Item, Membership, Round, Study
from annotation.resolving.actions.third_rater_requests import ask_third_rater
from tests import builders as make
from tests.annotation import compared_answers, permission_study
from tests.annotation.compared_answers import all_said, all_skipped, answered_in_parts, history_rewritten
from tests.annotation.permission_study import BASE, KNOWN, OF_OPEN, PAGES, Visitor, hidden_from, is_title, words_of

pytestmark = [pytest.mark.django_db, pytest.mark.timeout(900)]


@pytest.fixture(scope="module")
def study(django_db_setup: None, django_db_blocker: Any) -> Iterator[Study]:
    """Built once; what a test does to it is taken back."""
    with django_db_blocker.unblock(), transaction.atomic():
        yield permission_study.make_permission_study()
        transaction.set_rollback(True)


def _otherwise(study: Study, own: Membership) -> None:
    """Others answered everything otherwise in the open rounds: labels, skips, bugs, proposals, memos, times, quotes."""
    for number, categories in ((2, ("slow", "hang")), (3, ("in", "in"))):
        round_ = Round.objects.get(study=study, number=number)
        for place, item in enumerate(Item.objects.filter(round_items__round=round_).order_by("pk")):
            if place % 3 == 2:
                all_skipped(round_, item, own)
            else:
                all_said(round_, item, own, categories[place % 2], hours=0)
            if place % 3 == 1:
                answered_in_parts(round_, item, own)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["olga", pytest.param("dan", marks=pytest.mark.soak)])
def test_nothing_shown_to_a_blind_rater_depends_on_how_others_answered(study: Study, name: str) -> None:
    """Olga owns the study and its taxonomy; dan reads and adjudicates, too, so that every door is tried."""
    own = make.member(study, name)
    if name == "dan":
        own.roles = ["rater", "reader", "adjudicator"]
        own.save()
    table, visitor = compared_answers.steady_table(), Visitor(name)
    before = compared_answers.walked(visitor, table)
    assert not (told := compared_answers.telling(before, OF_OPEN | {"known": KNOWN})), told
    _otherwise(study, own)
    after = compared_answers.walked(visitor, table, before)
    assert not (wrong := compared_answers.differences(before, after)), wrong


@pytest.mark.slow
@pytest.mark.parametrize("name", ["rea", *(pytest.param(name, marks=pytest.mark.soak) for name in ("yan", "stan"))])
def test_nothing_shown_to_others_than_owners_and_adjudicators_depends_on_answers_of_open_rounds(
    study: Study, name: str
) -> None:
    """Yan is a rater of the study and of no round, rea reads, and stan is of the staff."""
    members.add_member(seat=make.owner_seat(study), username=make.user("yan").username, roles=["rater"])
    make.user("stan", staff=True)
    table, visitor = compared_answers.steady_table(), Visitor(name)
    before = compared_answers.walked(visitor, table)
    assert not [each for each in compared_answers.telling(before, hidden_from(name)) if not is_title(each)]
    _otherwise(study, make.member(study, "rea"))
    after = compared_answers.walked(visitor, table, before)
    assert not (wrong := compared_answers.differences(before, after)), wrong


@pytest.mark.parametrize("name", ["olga", "dan"])
def test_no_item_shows_how_many_answered_it_to_a_rater_of_its_open_round(study: Study, name: str) -> None:
    """In round 2 bob is ahead: one person of four has answered items 5 and 7."""
    visitor, ada = Visitor(name), Visitor("ada")
    listed = "studies/study/items/?round=2"
    assert "1 of 4" in words_of(ada.get(PAGES, listed))
    assert " of 4" not in words_of(visitor.get(PAGES, listed))
    item = get_item(make.seat(study, "ada"), "acme/rocket#5").pk
    assert "1 of 4 finished" in words_of(ada.get(PAGES, f"studies/study/items/{item}/"))
    assert "finished" not in words_of(visitor.get(PAGES, f"studies/study/items/{item}/"))


@pytest.mark.slow
def test_owners_see_the_day_of_each_raters_last_answer_and_no_time(study: Study) -> None:
    bob = make.member(study, "bob")
    with history_rewritten() as cursor:
        at = "created_at = '2026-03-04 23:30:00+00'::timestamptz"
        cursor.execute(f"UPDATE annotation_annotation SET {at} WHERE rater_id = %s", [bob.pk])
    newest = Annotation.objects.filter(rater=bob).latest("created_at").created_at
    rest, page = "studies/study/rounds/2/raters/", "studies/study/rounds/2/"
    day = newest.date().isoformat()
    for name in ("olga", "ida"):
        visitor = Visitor(name)
        rows = {each["code"]: each for each in visitor.get(BASE, rest).json()["results"]}
        assert rows["R1"]["last_day"] == day == visitor.get(BASE, f"{rest}R1/").json()["last_day"]
        said = words_of(visitor.get(PAGES, page))
        assert f'<time datetime="{day}">4 March 2026</time>' in said and "23:30" not in said
    with history_rewritten() as cursor:
        cursor.execute(
            "UPDATE annotation_annotation SET created_at = created_at - interval '9 hours' WHERE rater_id = %s",
            [bob.pk],
        )
    assert words_of(Visitor("olga").get(PAGES, page)).count("4 March 2026") == 1
    told = Visitor("dan").get(BASE, rest).json()["results"]
    assert {each["last_day"] for each in told} == {None}
    assert "Last day of work" not in words_of(Visitor("dan").get(PAGES, page))


def test_the_length_of_another_owners_file_is_hidden_from_raters_of_an_open_round_in_it(study: Study) -> None:
    export = Export.objects.get(study=study)
    assert 2 in export.rounds
    told = {name: Visitor(name).get(BASE, f"exports/{export.public_id}/").json() for name in ("ida", "olga", "sam")}
    assert told["ida"]["rows"] and told["ida"]["bytes"] and told["ida"]["sha256"]
    for name in ("olga", "sam"):
        assert [told[name][key] for key in ("rows", "rows_expected", "bytes", "sha256")] == [None] * 4
        assert told["ida"]["sha256"] not in words_of(Visitor(name).get(PAGES, "studies/study/exports/"))


@pytest.mark.parametrize("state", ["open", "resolving"])
def test_another_owners_file_does_not_tell_what_its_maker_is_asked_as_a_third_rater(state: str) -> None:
    """Olga rates the item in an open round, so she would learn that others differ on it."""
    told = []
    for answers in ("hang crash", "hang hang"):
        with transaction.atomic():
            text = make.SYMPTOMS.replace("slug: symptoms", "slug: thirds")
            study = make.study("thirds", raters=("bob", "carol"), resolve_when="item", text=text)
            for name, roles in {"mia": ["owner", "rater"], "olga": ["owner", "rater"]}.items():
                members.set_member(seat=make.owner_seat(study), username=make.user(name).username, roles=roles)
                if name == "mia":
                    make.accept(name)
            raters = ("bob", "carol", "olga") if state == "open" else ("bob", "carol")
            first = make.open_round(study, 2, raters=raters)
            make.rate(first, f"item bob carol\n1 {answers}" + ("\n2 hang crash" if state == "resolving" else ""))
            if state == "open":
                make.submit(first, "olga", 1, {"symptom": ["slow"]})
            else:
                make.open_round(study, 1, raters=("olga", "carol"))
            if answers == "hang crash":
                ada = make.seat(study, "ada")
                round_, item = get_round(ada, 1), get_item(ada, "acme/rocket#1")
                ask_third_rater(seat=ada, round_=round_, item=item, rater="mia", unblinded=True)
            options = {"round": 1} if state == "resolving" else {}
            mia = make.seat(study, "mia")
            export = request_export(seat=mia, what="labels", format="csv", options=options, send=False)
            EXPORTS.work(export.pk)
            row = Visitor("olga").get(BASE, f"exports/{export.public_id}/").json()
            told.append({name: row[name] for name in ("rounds", "rows", "bytes", "sha256")})
            assert Visitor("olga").get(BASE, f"exports/{export.public_id}/download/").status_code == 403
            transaction.set_rollback(True)
    assert told[0] == told[1] and told[0]["sha256"] is None


# Who reads results of a round that is resolved


@pytest.mark.slow
def test_whatever_depends_on_answers_of_a_round_that_is_resolved_leaves_a_line(study: Study) -> None:
    """Dan only rates, and could be asked as a third rater in round 1."""
    own = make.member(study, "dan")
    AuditEvent.objects.filter(verb=READ).delete()
    table, visitor = compared_answers.steady_table(), Visitor("dan")
    lines = AuditEvent.objects.filter(verb=READ, user__username="dan", detail__round=1)
    before = compared_answers.walked(visitor, table, more=lines.exists)
    assert not (told := compared_answers.telling(before, OF_OPEN | {"known": KNOWN})), told
    round_ = Round.objects.get(study=study, number=1)
    for place, item in enumerate(Item.objects.filter(round_items__round=round_).order_by("pk")):
        if place == 2:
            all_skipped(round_, item, own)
        else:
            all_said(round_, item, own, ("slow", "hang")[place % 2], hours=0)
    after = compared_answers.walked(visitor, table, before, more=lines.exists)
    changed = compared_answers.changed(before, after)
    without = {path: before[path] for path in changed if not (before[path].more and after[path].more)}
    assert changed and not without, compared_answers.differences(without, {path: after[path] for path in without})
