"""Third answers of an open round show in no count that reaches a blind rater, who would learn from it who differs."""

import re
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from django.db import transaction

from annotation.assignments import queries as assignment_queries
from annotation.assignments.jobs import rule_answers, rule_round
from annotation.choosing.actions import batches
from annotation.core.access import get_item
from annotation.members.actions import members
from annotation.models import Assignment, AuditEvent, BulkJob, Round, Study
from annotation.rounds.actions.raters import LeavingByJob
from annotation.studies.actions import studies
from tests import builders as make
from tests.annotation.permission_study import BASE, PAGES, Visitor, compared, words_of
from tests.remembered import remembered
from tests.scripts import Script

pytestmark = pytest.mark.django_db

SAME, OTHER = "crash", "hang"
PASSING = re.compile(r"\d{4}-\d\d-\d\d[T ][\d:.]+(Z|\+00:00)?|\d\d:\d\d(:\d\d)?|ETag: .*")
WITHDRAW = "studies/study/rounds/1/raters/R2/withdraw/"
RATINGS = "GET", "studies/study/ratings/?round=1"


@remembered
def blind_owner(mode: str = "planned", raters: Sequence[str] = ("olga", "bob", "dan")) -> tuple[Study, Round, int]:
    """Olga owns the study and rates; she and bob have both answered an item in the same way. Dan can be asked."""
    study = make.study(raters=("bob", "dan"), resolve_when="item")
    owner = make.owner_seat(study)
    members.add_member(seat=owner, username="olga", roles=["owner", "rater"])
    studies.change_study(seat=owner, changes={"third_rater": True})
    round_ = make.open_round(study, 6, raters=raters, raters_per_item=2, mode=mode)
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
    listed = "studies/study/updates/"
    pages = ("studies/study/changes/", f"studies/study/items/{item.pk}/changes/")
    look = seen(name, [(BASE, listed), *((PAGES, page) for page in pages)])
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
    changes = "studies/study/updates/"
    assert Script("olga").send("POST", "studies/study/changes/repin/", {"all": True}).json() == {"repinned": 1}
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
        return Script("dan").send("GET", "studies/study/updates/").json()["results"][0]["n_answers"]

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


@pytest.mark.parametrize("from_all", [True, False])
def test_a_job_that_withdraws_a_rater_tells_no_third_answer(from_all: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither whether one is needed, nor how it gets on; the third answer comes first of what dan has left."""
    _, round_, number = blind_owner("planned")
    own = Assignment.objects.filter(round=round_, rater__user__username="dan", state__in=Assignment.UNFINISHED)
    monkeypatch.setattr(assignment_queries, "JOB_FROM", own.count() if from_all else 0)
    monkeypatch.setattr(batches, "BATCH_OF_OPEN", 1)
    worlds = []
    for first in (lambda: None, lambda: differ(round_, number)):
        with transaction.atomic():
            first()
            own.filter(slot=None).update(position=0)
            told, job = [Script("olga").send("POST", WITHDRAW).json()], BulkJob.objects.first()
            assert (job is None) == from_all
            steps = LeavingByJob(job) if job else None
            while job and steps and steps.step(job):
                told.append(job.n_done)
            worlds.append([each if isinstance(each, int) else each.get("n_items", each.get("total")) for each in told])
            transaction.set_rollback(True)
    assert worlds[0] == worlds[1] and len(worlds[0]) > 1 - from_all


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


ADD = ("POST", "studies/study/rounds/1/raters/", {"user": "dan"})
LEAVE = ("POST", WITHDRAW, {})
STEPS = {
    "come and go": [
        ADD,
        ("PATCH", "studies/study/rounds/1/raters/R2/", {"quota": 5}),
        LEAVE,
        ("POST", "studies/study/rounds/1/raters/R1/withdraw/", {}),
        ADD,
    ],
    "resolve by round": [("PATCH", "studies/study/", {"resolve_when": "round"}), ADD],
}
LOOKS = [(BASE, "studies/study/rounds/1/"), (BASE, "studies/study/rounds/1/raters/")]
LAST_LOOKS = [(base, f"studies/study/{path}") for base in (BASE, PAGES) for path in ("", "rounds/1/")]
LAST_LOOKS += [(BASE, "studies/study/rounds/"), (PAGES, "studies/study/audit/")]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("steps", "mode", "is_in_round"),
    [
        ("come and go", "pool", True),
        ("resolve by round", "planned", True),
        ("resolve by round", "pool", False),
        pytest.param("come and go", "planned", False, marks=pytest.mark.soak),
        pytest.param("come and go", "planned", True, marks=pytest.mark.soak),
        pytest.param("come and go", "pool", False, marks=pytest.mark.soak),
        pytest.param("resolve by round", "planned", False, marks=pytest.mark.soak),
        pytest.param("resolve by round", "pool", True, marks=pytest.mark.soak),
    ],
)
def test_whatever_is_done_with_raters_no_count_tells_a_third_answer(steps: str, mode: str, is_in_round: bool) -> None:
    _, round_, number = blind_owner(mode, ("olga", "bob", *(["dan"] if is_in_round else [])))

    def asked_and_answered() -> None:
        differ(round_, number)
        answer_as_third(round_, number)

    same = _told_after(STEPS[steps], lambda: None)
    for first in (lambda: differ(round_, number), asked_and_answered):
        for here, there in zip(same, _told_after(STEPS[steps], first), strict=True):
            assert here == there


def _told_after(todo: Sequence[tuple[str, str, Any]], first: Callable[[], None]) -> list[str]:
    """What each step answers, and pages and REST after it, to a blind owner and a rater; all of it is taken back."""
    olga = Script("olga")
    people = {name: Visitor(name) for name in ("olga", "bob")}
    told = []
    with transaction.atomic():
        first()
        for step in todo:
            answer = olga.send(*step)
            assert answer.status_code < 300, answer.content
            told.append(f"{step} {answer.status_code} {PASSING.sub('', answer.content.decode())}")
            for name, visitor in people.items():
                for base, path in [*LOOKS, *(LAST_LOOKS if step is todo[-1] else [])]:
                    words = compared(words_of(visitor.get(base, path)))
                    told.append(f"{name} {path} {PASSING.sub('', words)}")
        transaction.set_rollback(True)
    return told


def test_who_left_with_nothing_but_a_third_answer_comes_back_like_anybody_without_an_answer() -> None:
    study, round_, number = blind_owner()
    members.add_member(seat=make.owner_seat(study), username="dan", roles=["rater", "reader"])

    def come_back(first: Callable[[], None]) -> Any:
        with transaction.atomic():
            first()
            olga = Script("olga")
            assert olga.send(*LEAVE).status_code == 200
            answer = olga.send(*ADD)
            transaction.set_rollback(True)
        return answer.status_code, answer.json()

    def asked_and_answered() -> None:
        differ(round_, number)
        answer_as_third(round_, number)

    assert come_back(lambda: None)[0] == 409
    assert come_back(asked_and_answered) == come_back(lambda: None)


def third() -> Study:
    study = make.study(raters=("bob", "carol", "dan"), resolve_when="item")
    round_ = make.rate(make.open_round(study, 2), "item bob carol\n1 crash hang")
    asked = {"round": 1, "item": "acme/rocket#1", "rater": "R3"}
    assert Script("ada").send("POST", "studies/study/third-raters/", asked).status_code == 201
    make.submit(round_, "dan", 1, {"symptom": ["slow"]})
    return study


def read_others() -> None:
    read = Script("dan").send(*RATINGS).json()["results"]
    assert {row["rater"] for row in read} == {"R1", "R2", "R3"}


def third_who_decides_then() -> None:
    """Dan answers as a third rater, and becomes an adjudicator then."""
    members.add_member(seat=make.owner_seat(third()), username="dan", roles=["rater", "adjudicator"])
    read_others()


def third_who_decided_once() -> None:
    third_who_decides_then()
    members.add_member(seat=make.owner_seat(Study.objects.get()), username="dan", roles=["rater"])


def third_without_an_answer() -> None:
    """Dan, an adjudicator who rates, answers as a third rater alone and is taken out of the round then."""
    study = make.study(raters=("bob", "carol", "dan"), resolve_when="item")
    members.add_member(seat=make.owner_seat(study), username="dan", roles=["rater", "adjudicator"])
    round_ = make.open_round(study, 3, raters=("bob", "carol", "dan"), raters_per_item=2)
    given = set(Assignment.objects.filter(rater__user__username="dan").values_list("item__issue__number", flat=True))
    number = ({1, 2, 3} - given).pop()
    make.rate(round_, f"item bob carol\n{number} crash hang")
    asked = {"round": 1, "item": f"acme/rocket#{number}", "rater": "R3"}
    assert Script("ada").send("POST", "studies/study/third-raters/", asked).status_code == 201
    make.submit(round_, "dan", number, {"symptom": ["slow"]})
    assert Script("olga").send("POST", WITHDRAW.replace("R2", "R3")).status_code == 200
    read_others()


def model_that_left() -> None:
    """The account of a model, which is an adjudicator's, answers and is taken out of the round then."""
    study, username = make.study(), make.user("dan").username
    members.add_member(seat=make.owner_seat(study), username=username, roles=["rater", "adjudicator"], kind="machine")
    round_ = make.open_round(study, 2, raters=("bob", "carol", "dan"), raters_per_item=2)
    make.rate(round_, "item bob carol dan\n1 crash hang slow")
    assert Script("olga").send("POST", WITHDRAW.replace("R2", "R3")).status_code == 200
    read_others()


AFTER_READING = [third_who_decides_then, third_who_decided_once, third_without_an_answer, model_that_left]


@pytest.mark.parametrize("come_and_answer", AFTER_READING)
def test_an_answer_that_was_changed_after_reading_others_is_not_blind(come_and_answer: Callable[[], None]) -> None:
    come_and_answer()
    mine = Assignment.objects.get(rater__user__username="dan", blind__isnull=False)
    answer = {"assignment": str(mine.public_id), "labels": {"symptom": ["crash"]}}
    assert Script("dan").send("POST", "studies/study/annotations/", answer).status_code == 201
    own = [row for row in Script("ada").send(*RATINGS).json()["results"] if row["rater"] == "R3"]
    assert {(row["revision"], *row["values"]) for row in own} == {("blind", "slow"), ("current", "crash")}
    added = Script("olga").send("POST", "studies/study/rounds/1/raters/", {"user": "dan"})
    assert (added.status_code, added.json()["code"]) == (409, "not_blind_any_more")


def model_of_the_round() -> None:
    study, username = make.study(), make.user("dan").username
    members.add_member(seat=make.owner_seat(study), username=username, roles=["rater"], kind="machine")
    round_ = make.open_round(study, 2, raters=("bob", "carol", "dan"), raters_per_item=2)
    make.rate(round_, "item bob carol dan\n1 crash hang slow")


@pytest.mark.parametrize("come_and_answer", [third, model_of_the_round])
def test_an_answer_that_was_changed_without_reading_others_is_blind(come_and_answer: Callable[[], object]) -> None:
    come_and_answer()
    mine = Assignment.objects.get(rater__user__username="dan", current__isnull=False)
    answer = {"assignment": str(mine.public_id), "labels": {"symptom": ["crash"]}}
    assert Script("dan").send("POST", "studies/study/annotations/", answer).status_code == 201
    mine.refresh_from_db()
    assert mine.blind_id == mine.current_id and mine.blind is not None and mine.blind.revision == 2


def test_a_pool_gives_its_slots_out_before_third_items_so_nobody_learns_who_was_asked() -> None:
    """In both worlds dan takes the same slots at the same moments, and the blind owner sees the same after each."""
    _, round_, number = blind_owner("pool")
    Script("olga").send("PATCH", "studies/study/rounds/1/raters/R2/", {"quota": 2})
    same = _walked_by_dan(lambda: None)
    other = _walked_by_dan(lambda: differ(round_, number))
    assert same[0] == [*other[0][:2], None, None] and other[0][2:] == [f"acme/rocket#{number}", None]
    assert same[1] == other[1]


def _walked_by_dan(first: Callable[[], None]) -> tuple[list[str | None], list[str]]:
    """What `next` gives dan until nothing is left, and what olga sees after each; all of it is taken back."""
    dan, olga, items, told = Script("dan"), Visitor("olga"), [], []
    with transaction.atomic():
        first()
        given = dan.send("GET", "studies/study/rounds/1/next/")
        for step in range(4):
            found = given.json() if given.status_code < 300 and given.content else None
            found = found.get("next", found) if found else None
            items.append(found and found["item"])
            for base, path in [*LOOKS, *([(PAGES, "studies/study/rounds/1/")] if step == 3 else [])]:
                told.append(PASSING.sub("", compared(words_of(olga.get(base, path)))))
            if found:
                body = {"assignment": found["assignment"], "labels": {"symptom": [SAME]}}
                given = dan.send("POST", "studies/study/annotations/?next=1", body)
                assert given.status_code == 201, given.content
        transaction.set_rollback(True)
    return items, told


def test_a_free_slot_that_a_third_rater_can_still_take_is_not_reported_as_one_that_nobody_can() -> None:
    _, round_, number = blind_owner("pool")
    olga = Script("olga")
    for code, quota in (("R1", 1), ("R2", 1), (make.member(round_.study, "olga").code, 1)):
        assert olga.send("PATCH", f"studies/study/rounds/1/raters/{code}/", {"quota": quota}).status_code == 200
    differ(round_, number)
    answer_as_third(round_, number)
    look = seen("olga", [(PAGES, "studies/study/rounds/1/")])
    assert "have no rater" not in look()[0]
    assert Script("dan").send("GET", "studies/study/rounds/1/next/").status_code == 200


def test_the_owner_reminds_and_withdraws_one_third_rater_who_has_not_answered() -> None:
    study = make.study(raters=("bob", "carol", "dan"))
    studies.change_study(seat=make.owner_seat(study), changes={"third_rater": True})
    round_ = make.open_round(study, 2, raters=("bob", "carol"))
    make.rate(round_, "item bob carol\n1 crash hang\n2 hang slow")
    rule_round(round_.pk)
    olga, dan = Script("olga"), Script("dan", "rate")
    at = "studies/study/rounds/1/third-raters/"
    make.submit(round_, "dan", 1, {"symptom": [SAME]})
    browser = Visitor("olga")
    assert f"/{at}R3/remind/" in words_of(browser.get(PAGES, "studies/study/rounds/1/"))
    assert Script("ada").send("POST", f"{at}R3/remind/").status_code == 403
    for _ in range(2):
        assert olga.send("POST", f"{at}dan/remind/").json() == {"rater": "R3", "n_items": 1}
    lines = [each for each in dan.send("GET", "inbox/").json()["results"] if each["kind"] == "reminder"]
    assert len(lines) == 1 and not lines[0]["read_at"]
    assert "Reminder: 1 item to label as a third rater" in words_of(Visitor("dan").get(PAGES, "inbox/"))
    assert olga.send("POST", f"{at}R3/withdraw/").json() == {"rater": "R3", "n_items": 1}
    asked = Assignment.objects.filter(round=round_, slot=None).order_by("item")
    assert [each.state for each in asked] == ["submitted", "withdrawn"]
    assert dan.send("GET", "studies/study/rounds/1/next/").status_code == 204
    for what in ("remind", "withdraw"):
        refused = olga.send("POST", f"{at}R3/{what}/")
        assert refused.status_code == 409 and "has answered every item" in refused.json()["message"]
        assert olga.send("POST", f"{at}R1/{what}/").status_code == 404
    done = AuditEvent.objects.filter(verb__startswith="third rater ").order_by("pk")
    assert [each.verb for each in done][-3:] == ["third rater reminded"] * 2 + ["third rater withdrawn"]
