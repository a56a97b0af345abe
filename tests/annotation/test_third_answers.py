"""Third answers of an open round show in no count that reaches a blind rater, who would learn from it who differs."""

from collections.abc import Callable
from typing import Any

import pytest
from django.db import transaction

from annotation.access import get_item
from annotation.actions import studies
from annotation.models import Assignment, AuditEvent, Round, Study
from annotation.ruling import rule_answers
from tests import builders as make
from tests.annotation.permission_study import BASE, PAGES, Visitor, compared, words_of
from tests.scripts import Script

pytestmark = pytest.mark.django_db

SAME, OTHER = "crash", "hang"
WITHDRAW = "studies/study/rounds/1/raters/R2/withdraw/"


def blind_owner(mode: str = "planned") -> tuple[Study, Round, int]:
    """Olga owns the study and rates; she and bob have both answered an item in the same way. Dan can be asked."""
    study = make.study(raters=("bob", "dan"), resolve_when="item")
    owner = make.owner_seat(study)
    studies.add_member(seat=owner, username="olga", roles=["owner", "rater"])
    studies.change_study(seat=owner, changes={"third_rater": True})
    round_ = make.open_round(study, 6, raters=("olga", "bob", "dan"), raters_per_item=2, mode=mode)
    if mode == "pool":
        for name in ("olga", "bob"):
            assert Script(name).send("GET", "studies/study/rounds/1/next/").status_code == 200
    rows = Assignment.objects.filter(round=round_)
    of_bob = rows.filter(rater__user__username="bob").values("item")
    both = rows.filter(rater__user__username="olga", item__in=of_bob)
    number = int(both[0].item.identifier.rpartition("#")[2])
    for name in ("olga", "bob"):
        make.submit(round_, name, number, {"symptom": [SAME]})
    return study, round_, number


def differ(round_: Round, number: int) -> None:
    make.submit(round_, "bob", number, {"symptom": [OTHER]})
    rule_answers(round_.pk)
    assert Assignment.objects.get(round=round_, slot=None).rater.user.username == "dan"


def answer_as_third(round_: Round, number: int) -> None:
    make.submit(round_, "dan", number, {"symptom": [OTHER]})


def seen(name: str, paths: list[tuple[str, str]]) -> Callable[[], list[str]]:
    visitor = Visitor(name)

    def look() -> list[str]:
        answers = [visitor.get(base, path) for base, path in paths]
        assert {answer.status_code for answer in answers} == {200}
        return [compared(words_of(answer)) for answer in answers]

    return look


@pytest.mark.parametrize("name", ["olga", "bob"])
def test_changes_count_no_third_answer_for_a_rater_of_the_open_round(name: str) -> None:
    study, round_, number = blind_owner()
    item = get_item(make.owner_seat(study), f"acme/rocket#{number}")
    make.new_state(number, body="Solved.")
    listed = "studies/study/changes/"
    look = seen(name, [(BASE, listed), (PAGES, listed), (PAGES, f"studies/study/items/{item.pk}/changes/")])
    before = look()
    differ(round_, number)
    answer_as_third(round_, number)
    assert before == look()
    counted = {who: Script(who).send("GET", listed).json()["results"][0]["n_answers"] for who in (name, "ada")}
    assert counted == {name: 1, "ada": 3}


def test_a_state_that_only_others_answered_on_lists_no_item_for_a_blind_rater() -> None:
    _, round_, number = blind_owner()
    differ(round_, number)
    make.new_state(number, body="Solved.")
    changes = "studies/study/changes/"
    assert Script("olga").send("POST", f"{changes}repin/", {"all": True}).json() == {"repinned": 1}
    make.submit(round_, "olga", number, {"symptom": [OTHER]})
    found = {name: Script(name).send("GET", changes).json()["results"] for name in ("olga", "ada")}
    assert found["olga"] == [] and found["ada"][0]["n_answers_on_other_states"] == 1


def test_a_third_rater_counts_no_answer_of_others_before_their_own() -> None:
    _, round_, number = blind_owner()
    differ(round_, number)
    round_.state = Round.State.RESOLVING
    round_.save(update_fields=["state"])
    make.new_state(number, body="Solved.")

    def n_answers() -> Any:
        return Script("dan").send("GET", "studies/study/changes/").json()["results"][0]["n_answers"]

    assert n_answers() == 0
    answer_as_third(round_, number)
    assert n_answers() == 3


@pytest.mark.parametrize("mode", ["planned", "pool"])
@pytest.mark.parametrize("is_answered", [False, True])
def test_what_withdrawing_a_rater_would_do_counts_no_third_answer(mode: str, is_answered: bool) -> None:
    study, round_, number = blind_owner(mode)
    pk = make.member(study, "dan").pk
    member = f"studies/study/members/{pk}/"
    paths = [(BASE, WITHDRAW), (PAGES, WITHDRAW), (PAGES, f"{member}withdraw/"), (PAGES, f"{member}remove/")]
    look = seen("olga", paths)
    before = look()
    differ(round_, number)
    if is_answered:
        answer_as_third(round_, number)
    assert before == look()


@pytest.mark.parametrize("mode", ["planned", "pool"])
def test_withdrawing_a_rater_tells_no_third_answer_and_withdraws_it(mode: str) -> None:
    _, round_, number = blind_owner(mode)
    same = _withdrawn(lambda: None)
    assert same == _withdrawn(lambda: differ(round_, number))
    differ(round_, number)
    Script("olga").send("POST", WITHDRAW)
    assert Assignment.objects.get(round=round_, slot=None).state == Assignment.State.WITHDRAWN


def _withdrawn(first: Callable[[], None]) -> list[Any]:
    """What the owner is told on withdrawing dan after something else was done, all of which is taken back."""
    olga = Script("olga")
    with transaction.atomic():
        first()
        told = [olga.send("POST", WITHDRAW).json()]
        told.append(AuditEvent.objects.get(verb="rater withdrawn").detail)
        told.append(olga.send("GET", "studies/study/rounds/1/").json())
        raters = olga.send("GET", "studies/study/rounds/1/raters/").json()["results"]
        told += [{key: row[key] for key in row if key != "left_at"} for row in raters]
        transaction.set_rollback(True)
    return told
