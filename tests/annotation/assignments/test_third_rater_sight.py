"""A third rater who has not answered yet: nothing that they are shown depends on what others answered there."""

import json
import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.db import transaction

from annotation.core.access import get_item, get_round
from annotation.core.audit import record
from annotation.core.errors import Blind, Conflict, WrongState
from annotation.members.actions.members import add_member
from annotation.models import Assignment, Export, Item, Membership, Plan, Resolution, Round, Study
from annotation.plans import actions as plan_actions
from annotation.plans.queries.listing import why_not_run
from annotation.resolving.actions import resolutions as resolution_actions
from annotation.resolving.actions.third_rater_requests import ask_third_rater
from annotation.rounds.actions import rounds
from annotation.studies.actions.studies import change_study
from annotation.studies.queries.audit import audit_of
from tests import builders as make
from tests.annotation import compared_answers, permission_study
from tests.annotation.compared_answers import all_said, all_skipped, history_rewritten
from tests.annotation.permission_study import BASE, OF_ROUND_1, PAGES, Visitor, compared, words_of
from tests.annotation.plans.test_plans import SECOND

pytestmark = [pytest.mark.django_db, pytest.mark.timeout(900)]

ITEM = "acme/rocket#1"
ROLES = {"oma": ["rater", "owner"], "zoe": ["rater", "adjudicator"], "lea": ["rater", "reader"]}


@pytest.fixture(scope="module")
def study(django_db_setup: None, django_db_blocker: Any) -> Iterator[Study]:
    """Built once; what a test does to it is taken back."""
    with django_db_blocker.unblock(), transaction.atomic():
        yield permission_study.make_permission_study()
        transaction.set_rollback(True)


def decided(round_: Round, item: Item, own: Membership) -> None:
    ada = make.seat(round_.study, "ada")
    place: dict[str, Any] = {"round_": get_round(ada, 1), "item": item, "part": 1, "dimension": "symptom"}
    newest = Resolution.objects.filter(round=round_, item=item).order_by("-revision")[0].public_id
    resolution_actions.resolve(seat=ada, values=["slow"], rationale="Slow.", expected=newest, **place)
    # Nothing else is open on the item, which ends the request for a third answer; here it goes on.
    asked = Assignment.objects.filter(round=round_, item=item, slot=None, state=Assignment.State.WITHDRAWN)
    assert asked.update(state=Assignment.State.WAITING) == 1
    all_said(round_, item, own, "slow")


WORLDS: dict[str, Callable[[Round, Item, Membership], None]] = {
    "oma": decided,
    "zoe": all_skipped,
    "lea": lambda round_, item, own: all_said(round_, item, own, "hang"),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", ["oma", *(pytest.param(name, marks=pytest.mark.soak) for name in ("zoe", "lea"))])
def test_no_answer_to_a_pending_third_rater_depends_on_what_others_said_there(study: Study, name: str) -> None:
    table = compared_answers.steady_table()
    if name != "zoe":
        add_member(seat=make.owner_seat(study), username=make.user(name).username, roles=ROLES[name])
    own, round_ = make.member(study, name), study.rounds.get(number=1)
    with history_rewritten():
        Assignment.objects.filter(round=round_, slot=None).update(rater=own)
    visitor = Visitor(name)
    before = compared_answers.walked(visitor, table)
    assert not (told := compared_answers.telling(before, OF_ROUND_1)), told
    WORLDS[name](round_, Item.objects.get(study=study, identifier=ITEM), own)
    after = compared_answers.walked(visitor, table, before)
    assert not (wrong := compared_answers.differences(before, after)), wrong


# A round of six items on which two raters differ; dan is asked about three of them, and dora, an owner, about one.


@pytest.fixture
def third() -> Study:
    text = make.SYMPTOMS.replace("slug: symptoms", "slug: thirds")
    primary = {"symptom": {"coefficient": "krippendorff_alpha", "threshold": 0.8}}
    study = make.study("third", raters=("ann", "ben", "dan"), text=text, primary=primary)
    add_member(seat=make.owner_seat(study), username=make.user("dora").username, roles=["owner", "rater"])
    round_ = make.open_round(study, 6, raters=("ann", "ben"), kind="pilot")
    round_ = make.rate(
        round_, "item ann ben\n1 crash hang\n2 crash hang\n3 crash hang\n4 crash hang\n5 crash crash\n6 hang slow"
    )
    ada = make.seat(study, "ada")
    for name, numbers in (("dan", (1, 2, 3)), ("dora", (4,))):
        for number in numbers:
            item = get_item(ada, f"acme/rocket#{number}")
            ask_third_rater(seat=ada, round_=round_, item=item, rater=name, unblinded=name == "dora")
    return study


AGGREGATES = (
    (BASE, "agreement/"),
    (BASE, "agreement/?round=1&dimension=symptom"),
    (BASE, "agreement/?round=1&when=after"),
    (BASE, "agreement/methods/"),
    (BASE, "analysis/counts/?dimension=symptom"),
    (BASE, "labels/"),
    (PAGES, "agreement/figure/confusion.svg?dimension=symptom"),
    (PAGES, "agreement/methods.tex"),
)


def _aggregates(name: str) -> list[Any]:
    visitor = Visitor(name)
    answers = [visitor.get(base, f"studies/third/{path}") for base, path in AGGREGATES]
    return [(answer.status_code, _plain(answer)) for answer in answers]


def _plain(answer: Any) -> Any:
    """What an answer says, but for how many items are hidden, which has to differ."""
    if "json" in answer.headers["Content-Type"]:
        return json.loads(re.sub(r'"items_hidden":\d+', '"items_hidden":0', answer.content.decode()))
    return compared(words_of(answer).partition("\n<")[2] or answer.content.decode())


@pytest.mark.slow
@pytest.mark.parametrize(("name", "n_left"), [("dan", 3), ("dora", 5)])
def test_aggregates_are_those_of_a_round_without_the_items_that_one_still_owes(
    third: Study, name: str, n_left: int
) -> None:
    change_study(seat=make.owner_seat(third), changes={"resolve_when": "round"})
    if name == "dan":
        add_member(seat=make.owner_seat(third), username="dan", roles=["rater", "reader"])
    everybody, shown = _aggregates("rea"), _aggregates(name)
    assert everybody[0][1][0]["units"] == 6 and shown[0][1][0]["units"] == n_left
    owed, before = make.seat(third, name).arbitrated, transaction.savepoint()
    with history_rewritten() as cursor:
        for round_id, item_id in owed:
            place = [round_id, item_id]
            cursor.execute("DELETE FROM annotation_rating WHERE round_id = %s AND item_id = %s", place)
            cursor.execute("DELETE FROM annotation_rounditem WHERE round_id = %s AND item_id = %s", place)
            cursor.execute("DELETE FROM annotation_assignment WHERE round_id = %s AND item_id = %s", place)
    without = _aggregates("rea")
    transaction.savepoint_rollback(before)
    for (_, path), told, removed in zip(AGGREGATES, shown, without, strict=True):
        assert told == removed, path


def test_numbers_kept_for_others_are_not_those_of_a_third_rater_nor_the_other_way_round(third: Study) -> None:
    units = [
        Visitor(name).get(BASE, "studies/third/agreement/").json()[0]["units"]
        for name in ("rea", "dan", "rea", "dora", "dan")
    ]
    assert units == [6, 3, 6, 5, 3]


def test_a_third_rater_sees_all_again_once_their_answers_are_in(third: Study) -> None:
    dan, round_ = Visitor("dan"), third.rounds.get()
    for number in (1, 2, 3):
        make.submit(round_, "dan", number, {"symptom": ["crash"]})
    assert dan.get(BASE, "studies/third/agreement/").json()[0]["units"] == 6


def test_a_plan_is_hidden_from_a_third_rater_and_not_run_before_they_answered(third: Study) -> None:
    text = SECOND.replace("slug: symptoms", "slug: thirds") + "      - {key: slow, name: Slow}\n"
    make.next_version(third, text)
    plan = plan_actions.preview_plan(seat=make.owner_seat(third), to=2)
    assert Visitor("olga").get(BASE, f"studies/third/plans/{plan.pk}/").status_code == 200
    dora = Visitor("dora")
    for base, path in (
        (BASE, f"plans/{plan.pk}/"),
        (BASE, f"plans/{plan.pk}/items/"),
        (PAGES, f"plans/{plan.number}/"),
    ):
        answer = dora.get(base, f"studies/third/{path}")
        assert answer.status_code == 403 and "third rater" in words_of(answer)
    with pytest.raises(Blind):
        plan_actions.preview_plan(seat=make.seat(third, "dora"), to=2)
    assert "third rater" in why_not_run(Plan.objects.get(study=third))
    with pytest.raises(WrongState):
        plan_actions.run_plan(seat=make.owner_seat(third), plan=plan)


def test_a_pilot_in_which_an_owner_is_asked_as_third_rater_says_nothing_to_them_of_the_main_round(
    third: Study,
) -> None:
    make.issues(2, first=71)
    olga, dora = make.owner_seat(third), make.seat(third, "dora")
    for first in (71, 72):
        rounds.create_round(
            seat=olga,
            asked=rounds.NewRound(
                kind="main", raters=["ann", "ben"], raters_per_item=2, issues=[f"acme/rocket#{first}"]
            ),
        )
    with pytest.raises(Blind):
        rounds.open_round(seat=dora, number=2, reason="", unregistered=True)
    rounds.open_round(seat=olga, number=3, reason="It has to go on.", unregistered=True)
    told = {name: Visitor(name).get(BASE, "studies/third/rounds/3/").json()["gate"] for name in ("olga", "dora")}
    assert told["olga"]["dimensions"][0]["value"] is not None and told["dora"] is None
    page, audit = (words_of(Visitor("dora").get(PAGES, f"studies/third/{path}")) for path in ("rounds/3/", "audit/"))
    assert "Symptom was" not in page and "Symptom was" not in audit
    assert "Symptom was −0.34, below 0.80" in words_of(Visitor("olga").get(PAGES, "studies/third/audit/"))


def test_closing_a_round_tells_an_owner_who_owes_an_answer_nothing_of_what_is_open_there(third: Study) -> None:
    dora = make.seat(third, "dora")
    with pytest.raises(Conflict, match="as a third rater"):
        rounds.close_round(seat=dora, number=1)
    assert rounds.close_round(seat=dora, number=1, leave_open=True).state == Round.State.CLOSED


def test_an_earlier_line_of_the_audit_log_that_counts_third_raters_is_hidden_from_who_is_one(third: Study) -> None:
    for detail in ({"third_raters_withdrawn": 2}, {"leave_open": True}, {}):  # earlier versions told so in this line
        record(study=third, user=None, verb="round closed", round=1, **detail)
    seen = {name: audit_of(make.seat(third, name)).filter(verb="round closed").count() for name in ("olga", "dora")}
    assert seen == {"olga": 3, "dora": 1}


def test_the_length_of_a_file_is_hidden_from_whom_its_answers_are_hidden(third: Study) -> None:
    made = {"what": "ratings", "format": "csv", "state": "done", "n_rows": 12, "n_bytes": 345, "sha256": "a" * 64}
    export = Export.objects.create(
        study=third, number=1, rounds=[1], file="none.csv", created_by=make.user("olga"), **made
    )
    told = {name: Visitor(name).get(BASE, f"exports/{export.public_id}/").json() for name in ("olga", "dora")}
    lengths = {name: [each["rows"], each["bytes"], each["sha256"]] for name, each in told.items()}
    assert lengths == {"olga": [12, 345, "a" * 64], "dora": [None, None, None]}
    for path in ("studies/third/exports/", "studies/third/exports/1/state/"):
        assert "a" * 64 in words_of(Visitor("olga").get(PAGES, path))
        assert "a" * 64 not in (words := words_of(Visitor("dora").get(PAGES, path))) and "12 rows" not in words


def test_how_far_a_file_is_shows_only_to_whom_its_answers_show(third: Study) -> None:
    at_work = {"what": "ratings", "format": "csv", "state": "running", "n_rows": 1234, "n_expected": 5678}
    Export.objects.create(study=third, number=1, rounds=[1], created_by=make.user("olga"), **at_work)
    for path in ("studies/third/exports/", "studies/third/exports/1/state/"):
        assert "1,234" in words_of(Visitor("olga").get(PAGES, path))
        words = words_of(Visitor("dora").get(PAGES, path))
        assert "hidden" in words and "running" not in words and "1,234" not in words and "5678" not in words
