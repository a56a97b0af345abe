"""Whoever rates in an open round sees nothing of others there: every address is walked by everybody."""

from collections import defaultdict
from collections.abc import Collection, Iterator
from typing import Any

import pytest
from django.db import transaction
from django.urls import resolve

from annotation.assignments.jobs import rule_answers
from annotation.members.actions.reader_links import make_reader_link
from annotation.models import Assignment, Round, RoundRater, Study
from annotation.studies.actions.studies import change_study
from tests import builders as make
from tests.annotation import compared_answers, permission_study
from tests.annotation.permission_study import (
    BASE,
    KNOWN,
    OF_OPEN,
    OF_ROUND_1,
    PAGES,
    Visitor,
    compared,
    hidden_from,
    is_title,
    told,
    words_of,
)

pytestmark = [pytest.mark.django_db, pytest.mark.timeout(900)]


@pytest.fixture(scope="module")
def study(django_db_setup: None, django_db_blocker: Any) -> Iterator[Study]:
    """Built once; what a test does to it is taken back."""
    with django_db_blocker.unblock(), transaction.atomic():
        yield permission_study.make_permission_study()
        transaction.set_rollback(True)


def test_every_address_of_studies_stands_in_the_table(study: Study) -> None:
    listed: dict[str, list[str]] = defaultdict(list)
    for name, base, path in permission_study.table():
        listed[name].append(path)
        assert resolve(f"{base}{path}".partition("?")[0]).url_name == name, path
    assert set(listed) == permission_study.all_names()


@pytest.mark.slow
@pytest.mark.parametrize("name", ["dan", "olga", pytest.param("sam", marks=pytest.mark.soak)])
def test_nothing_that_others_left_in_an_open_round_reaches_its_raters(study: Study, name: str) -> None:
    """All other addresses of dan and olga are looked through in test_open_round_sight.py."""
    names = () if name == "sam" else compared_answers.READS
    assert not _walk(Visitor(name), OF_OPEN | {"known": KNOWN}, names=names)


@pytest.mark.soak
def test_nothing_of_an_item_reaches_its_third_rater_before_they_answered(study: Study) -> None:
    """Of an owner who is asked, test_third_rater_sight.py looks at every address."""
    assert not _walk(Visitor("zoe"), OF_ROUND_1)


@pytest.mark.slow
def test_what_is_hidden_is_there_for_others(study: Study) -> None:
    """Else the walks would find nothing because nothing was to be found."""
    hidden, ada = OF_OPEN | OF_ROUND_1, Visitor("ada")
    for _, base, path in reversed(list(permission_study.table())):  # what tells most comes last
        for word in told(hidden, words_of(ada.get(base, path))):
            del hidden[word]
        if not hidden:
            return
    assert not hidden


def _walk(visitor: Visitor, secrets: dict[str, str], *, door: str = "", names: Collection[str] = ()) -> list[str]:
    """Where a visitor is told what they should not be, or something breaks; at one door, or under some names alone."""
    found = []
    for name, base, path in permission_study.table():
        if (door and base != door) or (names and name not in names):
            continue
        answer = visitor.get(base, path)
        if leaked := told(secrets, words_of(answer)):
            found.append(f"{base}{path} tells {', '.join(leaked)}")
        if answer.status_code >= 500:
            found.append(f"{base}{path} answers {answer.status_code}")
    return found


@pytest.mark.slow
def test_who_reads_by_a_link_is_told_nothing_of_a_round_that_is_not_closed(study: Study) -> None:
    """A link may be opened by a rater."""
    _, secret = make_reader_link(seat=make.seat(study, "ida"), label="reviewers", with_issues=True)
    visitor = Visitor(None)
    assert visitor.client.get(f"/read/{secret}/").status_code == 302
    assert visitor.get(PAGES, "studies/study/").status_code == 200
    assert not _walk(visitor, OF_OPEN | OF_ROUND_1 | {"known": KNOWN}, door=PAGES)


@pytest.mark.slow
def test_who_is_no_member_is_told_nothing_where_everybody_may_ask(study: Study) -> None:
    """That all else is not found, or asks for sign-in, stands in the tables of tests/permissions/."""
    names = {*permission_study.EVERYBODYS, *permission_study.OPEN, *permission_study.API_EVERYBODYS}
    assert not _walk(Visitor("mallory"), OF_OPEN | OF_ROUND_1 | {"known": KNOWN}, names=names)


def test_that_a_third_rater_was_asked_shows_in_no_count_of_an_open_round() -> None:
    """Who has just answered would learn from it that the other one differs."""
    words = make.SYMPTOMS.replace("slug: symptoms", "slug: counted")
    study = make.study("counted", raters=("bob", "carol", "dan"), resolve_when="item", text=words)
    change_study(seat=make.owner_seat(study), changes={"third_rater": True})
    round_ = make.open_round(study, 6, raters=("bob", "carol", "dan"), raters_per_item=2)
    both = Assignment.objects.filter(round=round_, rater__user__username="bob", item__in=_items_of(round_, "carol"))
    number = int(both[0].item.identifier.rpartition("#")[2])
    for name in ("bob", "carol"):
        make.submit(round_, name, number, {"symptom": ["crash"]})
    bob = Visitor("bob")
    paths = [("/", path) for path in ("", "studies/", "studies/counted/", "studies/counted/rounds/")]
    paths += [(base, f"studies/counted/rounds/1/{more}") for base, more in (("/", ""), (BASE, ""), (BASE, "raters/"))]
    paths += [(BASE, "studies/counted/rounds/"), (BASE, "studies/counted/rounds/1/raters/R3/")]

    def seen() -> dict[str, str]:
        answers = {base + path: bob.get(base, path) for base, path in paths}
        assert {answer.status_code for answer in answers.values()} == {200}
        return {address: compared(words_of(answer)) for address, answer in answers.items()}

    before = seen()
    make.submit(round_, "carol", number, {"symptom": ["hang"]})
    rule_answers(round_.pk)
    asked = Assignment.objects.get(round=round_, slot=None)
    assert asked.rater.code == "R3" and RoundRater.objects.get(round=round_, rater=asked.rater).n_assigned == 5
    assert before == seen()
    make.submit(round_, "dan", number, {"symptom": ["hang"]})
    rule_answers(round_.pk)
    assert before == seen()


def _items_of(round_: Round, name: str) -> list[int]:
    return list(Assignment.objects.filter(round=round_, rater__user__username=name).values_list("item", flat=True))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["rea", pytest.param("carol", marks=pytest.mark.soak), "stan"])
def test_who_does_not_decide_is_told_no_answer_of_a_round_that_is_not_closed(study: Study, name: str) -> None:
    """A reader, a rater of another round, and staff who are no member; carol rated in the round being resolved.

    Of rea all other addresses are looked through in test_open_round_sight.py.
    """
    make.user("stan", staff=True)
    names = compared_answers.READS if name == "rea" else ()
    assert not [each for each in _walk(Visitor(name), hidden_from(name), names=names) if not is_title(each)]
