"""What others do about an item is told nowhere to someone who labels it again, whatever they did before."""

import json
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest
from django.core.cache import cache
from django.db import transaction
from django.db.models import F

from annotation.core.access import get_item, get_round
from annotation.core.errors import Conflict, OpenedElsewhere, WrongState
from annotation.discussion.actions import write_remark
from annotation.members.actions.members import add_member, set_member
from annotation.models import Annotation, Assignment, Item, Plan, Proposal, Rating, Round, RoundItem, RoundRater, Study
from annotation.proposals.actions import settle_proposals
from annotation.resolving.actions.part_matches import match_parts
from annotation.resolving.actions.resolutions import resolve
from annotation.resolving.actions.third_rater_requests import ask_third_rater
from tests import builders as make
from tests.annotation import compared_answers, permission_study
from tests.annotation.compared_answers import Address, all_said, history_rewritten, said_of
from tests.annotation.permission_study import BASE, PAGES, Visitor
from tests.annotation.queue_study import Act, acts, build_with_queue, parts

pytestmark = [pytest.mark.django_db, pytest.mark.soak, pytest.mark.timeout(3600)]
QUEUES = (None, Round.State.OPEN, Round.State.RESOLVING, Round.State.CLOSED, Round.State.UNDONE)
"""States of the relabeling queue; None: there is none."""
VIEWERS = ("bob", "al", "olga", "ada")
"""Who labels items 1 and 2 in the last round: a rater of round 1 and of the queue, someone in neither, an owner,
and an adjudicator."""
FREE = "yara"
"""A rater in no round, who may read results of round 1, and be asked there as a third rater if not."""
ASKED = "vera"
"""An owner who is asked about item 1 as a third rater, where there is no queue."""
FOREIGN = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}
TOLD = "secret"
"""In every text of an event."""


@pytest.fixture(scope="module", params=QUEUES, ids=str)
def study(django_db_setup: None, django_db_blocker: Any, request: Any) -> Iterator[Study]:
    """Built once for each state of the queue; what a test does to it is taken back."""
    with django_db_blocker.unblock(), transaction.atomic():
        yield build_with_queue(request.param)
        transaction.set_rollback(True)


def decider(study: Study, round_: Round, number: int) -> dict[str, Any]:
    """Eve with an item of a round."""
    eve = make.seat(study, "eve")
    return {
        "seat": eve,
        "round_": get_round(eve, round_.number),
        "item": get_item(eve, f"acme/rocket#{number}"),
    }


def first_of(study: Study) -> Round:
    return study.rounds.get(number=1)


def queue_of(study: Study) -> Round:
    """Raises Conflict where there is none."""
    found = study.rounds.filter(kind=Round.Kind.RELABEL).first()
    if found is None:
        raise Conflict("There is no queue.")
    return found


def decide(study: Study, round_: Round, number: int) -> None:
    place: dict[str, Any] = {"part": 1, "dimension": "symptom", "values": ["crash"], "rationale": TOLD}
    resolve(**decider(study, round_, number), expected=None, **place)


def remark(study: Study, round_: Round, number: int) -> None:
    write_remark(**decider(study, round_, number), text=f"@bob @al @olga @ada {TOLD}")


def ask(study: Study) -> None:
    ask_third_rater(**decider(study, first_of(study), 2), rater="zed")


def ask_and_answer(study: Study) -> None:
    ask(study)
    make.submit(first_of(study), "zed", 2, {"symptom": ["crash"]}, memo=TOLD)


def settle(study: Study) -> None:
    found = Proposal.objects.get(proposed_by=make.member(study, "carol"))
    settle_proposals(seat=make.seat(study, "mia"), proposals=[found.public_id], map_to="crash")


def match(study: Study) -> None:
    match_parts(**decider(study, first_of(study), 1), rater=make.member(study, "bob").code, parts=[2, 1])


def revise(study: Study, round_: Round, number: int, *categories: str) -> None:
    make.submit(round_, "carol", number, parts=parts(*categories), memo=TOLD)


def answer_otherwise(study: Study) -> None:
    """As if carol, bob and all others had said something else of item 1 in round 1."""
    item = Item.objects.get(study=study, identifier="acme/rocket#1")
    all_said(first_of(study), item, make.member(study, "bob"), "slow")


def was_asked(study: Study, viewer: str) -> bool:
    asked = Assignment.objects.filter(round__study=study, round__kind=Round.Kind.RELABEL)
    return asked.filter(rater__user__username=viewer, item__identifier="acme/rocket#1").exists()


def never_asked(study: Study) -> None:
    """As if the queue did not have item 1, because its labels did not change."""
    of_item = {"round": queue_of(study), "item": Item.objects.get(study=study, identifier="acme/rocket#1")}
    asked = Assignment.objects.filter(**of_item)
    finished = asked.filter(state__in=Assignment.FINISHED)
    with history_rewritten():
        for name, rows in (("n_assigned", asked), ("n_finished", finished)):
            counted = RoundRater.objects.filter(round=of_item["round"], rater__in=rows.values("rater"))
            counted.update(**{name: F(name) - 1})
        for rows in (
            Rating.objects.filter(**of_item),
            Annotation.objects.filter(assignment__in=asked),
            asked,
            RoundItem.objects.filter(**of_item),
        ):
            rows._raw_delete(rows.db)
        RoundItem.objects.filter(round=of_item["round"]).update(position=1)  # the only other one


EVENTS: dict[str, Callable[[Study], object]] = {
    "item 1 resolved": lambda study: decide(study, first_of(study), 1),
    "item 2 resolved": lambda study: decide(study, first_of(study), 2),
    "item 1 discussed": lambda study: remark(study, first_of(study), 1),
    "item 2 discussed": lambda study: remark(study, first_of(study), 2),
    "third rater asked": ask,
    "third rater answered": ask_and_answer,
    "proposal of carol answered": settle,
    "parts matched": match,
    "item 1 revised": lambda study: revise(study, first_of(study), 1, "crash", "slow"),
    "item 2 revised": lambda study: revise(study, first_of(study), 2, "slow"),
    "queue revised": lambda study: revise(study, queue_of(study), 1, "hang-b", "crash"),
    "queue resolved": lambda study: decide(study, queue_of(study), 1),
    "queue discussed": lambda study: remark(study, queue_of(study), 1),
    "answered otherwise": answer_otherwise,
    "item 1 not asked": never_asked,
}
OF_ITEM_1 = ("item 1 resolved", "item 1 discussed", "parts matched", "item 1 revised", "answered otherwise")
"""Of item 1 alone, in round 1."""


def addresses(study: Study) -> list[Address]:
    """Every address of studies that can be asked twice, with the rounds, items, answers and proposals of this one."""
    items = {each.identifier.rpartition("#")[2]: str(each.pk) for each in Item.objects.filter(study=study)}
    asked = Assignment.objects.filter(round__study=study, item__in=[items["1"], items["2"]]).select_related("round")
    answers = [(each.round.number, str(each.public_id)) for each in asked]
    numbers = list(study.rounds.values_list("number", flat=True))
    proposals = [str(each.public_id) for each in Proposal.objects.filter(round__study=study)]
    plans = [(str(each.pk), str(each.number)) for each in Plan.objects.filter(study=study)]
    bob = str(make.member(study, "bob").pk)

    def filled(path: str) -> Iterator[str]:
        """The address for each thing that it can be about."""
        if re.search(r"rounds/\d+/.*\{\w+ \d+\}", path):
            found = [re.sub(r"(rounds/)\d+/(.*)\{\w+ \d+\}", rf"\g<1>{n}/\g<2>{pk}", path) for n, pk in answers]
        elif re.search(r"rounds/\d+/|round=\d", path):
            found = [re.sub(r"(rounds/|round=)\d+", rf"\g<1>{n}", path) for n in numbers]
        else:
            found = [path]
        if "{plan" in path:
            found = [each.replace("{plan}", pk).replace("{plan number}", n) for each in found for pk, n in plans]
        if "{proposal" in path:
            found = [re.sub(r"\{proposal \d\}", pk, each) for each in found for pk in proposals]
        for each in found:
            for number in items:
                of_item = re.sub(r"\{\d+\}", items[number], each)
                of_item = re.sub(r"(rocket%23|before/)\d+", rf"\g<1>{number}", of_item)
                yield re.sub(r"\{member \w+\}", bob, of_item)

    tables = {
        PAGES: permission_study.EVERYBODYS | permission_study.OF_STUDY,
        BASE: permission_study.API_EVERYBODYS | permission_study.API_OF_STUDY,
    }
    found = {
        (base, place): name
        for base, table in tables.items()
        for name, paths in table.items()
        if name not in compared_answers.READS
        for path in paths
        for place in filled(path)
        if "{" not in place
    }
    return [(name, base, place) for (base, place), name in found.items()]


def ask_vera(study: Study) -> None:
    """Asks a rater, who is made an owner after that; for raters of other rounds item 2 would be withheld, too."""
    add_member(seat=make.owner_seat(study), username=make.user(ASKED).username, roles=["rater"])
    make.accept(ASKED)
    ask_third_rater(**decider(study, first_of(study), 1), rater=ASKED)
    set_member(seat=make.owner_seat(study), username=ASKED, roles=["owner", "rater"])


def events(study: Study, viewer: str) -> Iterator[str]:
    """Lets each event happen that can, and takes it back; its name."""
    if viewer == ASKED and study.rounds.filter(kind=Round.Kind.RELABEL).exists():
        pytest.skip("Nobody is asked blind once a queue shows labels of the round.")
    happened = set()
    for name, event in EVENTS.items():
        if viewer == ASKED and name not in OF_ITEM_1:
            continue
        if name == "item 1 not asked" and was_asked(study, viewer):  # so the viewer knows it
            continue
        with transaction.atomic():
            try:
                event(study)
            except (Conflict, WrongState):  # a queue in this state, or none, does not allow it
                transaction.set_rollback(True)
                continue
            cache.clear()
            yield name
            transaction.set_rollback(True)
        happened.add(name)
    assert len(happened) >= (len(OF_ITEM_1) if viewer == ASKED else len(EVENTS) - 6), happened


@pytest.fixture
def seen(study: Study, viewer: str) -> Iterator[Study]:
    """The study as someone sees it who is to label item 1."""
    with transaction.atomic():
        if viewer == ASKED and not study.rounds.filter(kind=Round.Kind.RELABEL).exists():
            ask_vera(study)
        if viewer == FREE:
            add_member(seat=make.owner_seat(study), username=make.user(FREE).username, roles=["rater"])
            make.accept(FREE)
        yield study
        transaction.set_rollback(True)


@pytest.mark.parametrize("viewer", [*VIEWERS, ASKED])
def test_nothing_that_happens_to_an_item_is_told_to_who_labels_it_again(seen: Study, viewer: str) -> None:
    table, visitor, wrong = addresses(seen), Visitor(viewer), []
    before = compared_answers.walked(visitor, table)
    assert not (broken := compared_answers.telling(before, {})), broken
    for name in events(seen, viewer):
        after = compared_answers.walked(visitor, table, before)
        told = [*compared_answers.telling(after, {TOLD: TOLD}), compared_answers.differences(before, after)]
        wrong += [f"{name}: {each}" for each in told if each]
    assert not wrong, "\n".join(wrong)


QUESTIONS = (
    *(f"shares/?mark=symptom&value={each}" for each in ("crash", "hang", "slow")), "counts/?dimension=symptom",
    "crosstab/?rows=symptom&columns=repository", "flow/?dimensions=symptom,repository",
    "numbers/?measure=comments&by=symptom", "profiles/?dimension=symptom&by=repository",
    "saturation/?dimension=symptom", "combinations/?dimensions=symptom,repository",
)  # fmt: skip
MORE = (
    "", "fold=symptom:2", "fold=symptom:3", "fold=0.5", "where=symptom:crash", "left_out=symptom:crash",
    "parts=single", "level=root", "round=1", "round=1&fold=symptom:2&where=symptom:hang",
)  # fmt: skip


class StoppedVisitor(Visitor):
    """Someone who asks as a page of another site does, which is refused where a line about reading would be added."""

    def get(self, base: str, path: str) -> Any:
        return self.client.get(base + path, headers={**(self.headers if base == BASE else {}), **FOREIGN})


@pytest.mark.parametrize("viewer", [FREE])
def test_what_leaves_no_line_about_reading_tells_no_answer(seen: Study, viewer: str) -> None:
    if seen.rounds.filter(kind=Round.Kind.RELABEL).exists():
        pytest.skip("Nobody is asked blind once a queue shows labels of the round.")
    asked = [f"analysis/{each}&{more}" for each in QUESTIONS for more in MORE]
    asked += [f"items/?label=symptom:{each}&{more}" for each in ("crash", "hang") for more in MORE]
    table = [("asked", base, f"studies/study/{each}") for base in (PAGES, BASE) for each in asked] + addresses(seen)
    visitor, wrong = StoppedVisitor(viewer), []
    before = compared_answers.walked(visitor, table)
    assert any(f'"code":"{OpenedElsewhere.code}"' in each.said for each in before.values())
    for name in events(seen, viewer):
        if name.startswith("third rater"):  # whom a round waits for is no secret to its members
            continue
        after = compared_answers.walked(visitor, table, before)
        told = [*compared_answers.telling(after, {TOLD: TOLD}), compared_answers.differences(before, after)]
        wrong += [f"{name}: {each}" for each in told if each]
    assert not wrong, "\n".join(wrong)


NUMBERED = re.compile(r'"(?:id|group|at|\w+_at|expected)": ?[^,}]+')
"""What each new row has of its own."""


def acted(visitor: Visitor, done: Sequence[Act]) -> dict[str, str]:
    """What someone is answered to each act, which is taken back."""
    found = {}
    for method, path, body in done:
        with transaction.atomic():
            answer = visitor.client.generic(
                method.upper(), f"{BASE}studies/study/{path}", json.dumps(body), "application/json",
                headers=visitor.headers,
            )  # fmt: skip
            found[f"{method} {path} {json.dumps(body)}"] = NUMBERED.sub("", said_of(answer))
            transaction.set_rollback(True)
    return found


@pytest.mark.parametrize("viewer", [*VIEWERS, ASKED])
def test_no_act_is_answered_otherwise_by_what_happened_to_an_item(seen: Study, viewer: str) -> None:
    visitor, wrong, done = Visitor(viewer), [], list(acts(seen))
    before = acted(visitor, done)
    for name in events(seen, viewer):
        after = acted(visitor, done)
        wrong += [
            f"{name}: {act}: {compared_answers.first_difference(before[act], after[act])}"
            for act in before
            if before[act] != after[act]
        ]
    assert not wrong, "\n".join(wrong)
