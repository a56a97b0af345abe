"""Whoever rates in an open round sees nothing of others there: every address is walked by everybody."""

from collections import defaultdict

import pytest
from django.urls import resolve

from annotation.actions.studies import change_study
from annotation.models import Assignment, Round, RoundRater, Study
from tests import builders as make
from tests.annotation import walled
from tests.annotation.walled import BASE, BLIND, KNOWN, OF_OPEN, OF_ROUND_1, Visitor, compared, told, words_of

pytestmark = [pytest.mark.django_db, pytest.mark.timeout(900)]


@pytest.fixture
def study() -> Study:
    return walled.walled()


def test_every_address_of_studies_stands_in_the_table(study: Study) -> None:
    listed: dict[str, list[str]] = defaultdict(list)
    for name, base, path in walled.table():
        listed[name].append(path)
        assert resolve(f"{base}{path}".partition("?")[0]).url_name == name, path
    assert set(listed) == walled.all_names()


@pytest.mark.parametrize("name", BLIND)
def test_nothing_that_others_left_in_an_open_round_reaches_its_raters(study: Study, name: str) -> None:
    assert not _walk(name, OF_OPEN | {"known": KNOWN})


def test_nothing_of_an_item_reaches_its_third_rater_before_they_answered(study: Study) -> None:
    assert not _walk("zoe", OF_ROUND_1)


def test_what_is_hidden_is_there_for_others(study: Study) -> None:
    """Else the walks would find nothing because nothing was to be found."""
    everything = OF_OPEN | OF_ROUND_1
    ada = Visitor("ada")
    seen = {word for _, base, path in walled.table() for word in told(everything, words_of(ada.get(base, path)))}
    assert seen == set(everything)


def _walk(name: str, secrets: dict[str, str]) -> list[str]:
    """Where a visitor is told what they should not be, or something breaks."""
    visitor, found = Visitor(name), []
    for _, base, path in walled.table():
        answer = visitor.get(base, path)
        if leaked := told(secrets, words_of(answer)):
            found.append(f"{base}{path} tells {', '.join(leaked)}")
        if answer.status_code >= 500:
            found.append(f"{base}{path} answers {answer.status_code}")
    return found


@pytest.mark.parametrize("name", ["mallory", None])
def test_outsiders_find_nothing_and_nobody_is_asked_to_sign_in(study: Study, name: str | None) -> None:
    visitor, wrong = Visitor(name), []
    open_to_all = set(walled.EVERYBODYS) | set(walled.API_EVERYBODYS)
    for called, base, path in walled.table():
        answer = visitor.get(base, path)
        words = words_of(answer)
        nobody, outsider = (401 if base == BASE else 302), 404
        expected = {nobody if name is None else outsider, 405}
        if name is not None and called in open_to_all:
            expected |= {200}
        if answer.status_code not in expected or told(OF_OPEN | OF_ROUND_1 | {"known": KNOWN}, words):
            wrong.append(f"{base}{path} answers {answer.status_code}")
    assert not wrong


def test_that_a_third_rater_was_asked_shows_in_no_count_of_an_open_round() -> None:
    """Who has just answered would learn from it that the other one differs."""
    study = make.study(raters=("bob", "carol", "dan"), resolve_when="item")
    change_study(seat=make.owner_seat(study), changes={"third_rater": True})
    round_ = make.open_round(study, 6, raters=("bob", "carol", "dan"), raters_per_item=2)
    both = Assignment.objects.filter(round=round_, rater__user__username="bob", item__in=_items_of(round_, "carol"))
    number = int(both[0].item.identifier.rpartition("#")[2])
    for name in ("bob", "carol"):
        make.submit(round_, name, number, {"symptom": ["crash"]})
    bob = Visitor("bob")
    paths = [("/", path) for path in ("", "studies/", "studies/study/", "studies/study/rounds/")]
    paths += [(base, f"studies/study/rounds/1/{more}") for base, more in (("/", ""), (BASE, ""), (BASE, "raters/"))]
    paths += [(BASE, "studies/study/rounds/"), (BASE, "studies/study/rounds/1/raters/R3/")]
    before = [compared(words_of(bob.get(base, path))) for base, path in paths]
    make.submit(round_, "carol", number, {"symptom": ["hang"]})
    asked = Assignment.objects.get(round=round_, slot=None)
    assert asked.rater.code == "R3" and RoundRater.objects.get(round=round_, rater=asked.rater).n_assigned == 5
    assert before == [compared(words_of(bob.get(base, path))) for base, path in paths]
    make.submit(round_, "dan", number, {"symptom": ["hang"]})
    assert before == [compared(words_of(bob.get(base, path))) for base, path in paths]


def _items_of(round_: Round, name: str) -> list[int]:
    return list(Assignment.objects.filter(round=round_, rater__user__username=name).values_list("item", flat=True))
