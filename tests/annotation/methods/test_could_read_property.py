"""Whoever could read a label of an item before they labeled it is refused, marked, or named; random histories."""

from collections import defaultdict
from collections.abc import Callable
from io import BytesIO
from random import Random
from typing import Any

import pytest
from django.db.models import QuerySet

from annotation.core.access import Seat, get_seat, get_whole_study
from annotation.core.errors import ConcordError
from annotation.imports.actions.ratings import import_ratings
from annotation.members.actions.leaving import remove_member
from annotation.members.actions.members import add_member
from annotation.methods.queries.methods import methods
from annotation.models import Assignment, Membership, Rating, Resolution, Round
from annotation.rounds.actions import raters, rounds
from annotation.transfer.actions.study_import import bring_study
from tests import builders as make
from tests.annotation.transfer.test_study_export import written
from tests.scripts import Script

pytestmark = [pytest.mark.django_db, pytest.mark.timeout(3600)]

PEOPLE = ("bob", "carol", "dave", "erin", "model")
ROLES = (["rater"], ["rater"], ["rater", "adjudicator"], ["adjudicator"], ["rater", "reader"], ["rater", "owner"])
ITEMS = tuple(f"acme/rocket#{number}" for number in (1, 2, 3))
VALUES = ("crash", "hang", "slow")


class History:
    """A study in which people do what their roles allow, and what each of them could read of whose labels."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.study = make.study(raters=PEOPLE[:4], resolve_when=self.random.choice(["item", "round"]))
        username = make.user("model").username
        add_member(seat=self.owner, username=username, roles=["rater"], kind="machine")
        self.memberships = {name: make.member(self.study, name).pk for name in PEOPLE}
        make.issues(len(ITEMS))
        self.scripts = {name: Script(name) for name in PEOPLE}
        self.mia = Script("olga")
        self.read: dict[str, set[tuple[int, str]]] = defaultdict(set)
        """By person the rounds and items of which they saw a label of others."""
        self.before: dict[tuple[int, str, str], set[int]] = {}
        """By round, item and person in which rounds they had seen one when they answered first."""
        self.log: list[str] = []
        self.n_told = 0
        """How many labels count as before discussion whose raters had read others, and are named or left out for it."""

    @property
    def owner(self) -> Any:
        return make.owner_seat(self.study)

    def member(self, name: str) -> Membership:
        """Also of who left."""
        return Membership.objects.get(pk=self.memberships[name])

    @property
    def open(self) -> list[Round]:
        return list(self.study.rounds.filter(state=Round.State.OPEN).order_by("number"))

    def look(self, name: str) -> None:
        """Reads every label that this person may read at present."""
        for number in self.study.rounds.order_by("number").values_list("number", flat=True):
            for kind in ("ratings", "labels"):
                answer = self.scripts[name].send("GET", f"studies/study/{kind}/?round={number}")
                assert answer.status_code in (200, 403, 404), answer.content
                if answer.status_code != 200:
                    continue
                own = self.member(name).code
                for row in answer.json()["results"]:
                    if row["values"] and row.get("rater") != own and self.is_of_others(name, number, row["item"]):
                        self.read[name].add((number, row["item"]))

    def is_of_others(self, name: str, number: int, item: str) -> bool:
        """Whether someone else labeled or resolved an item in a round: an agreed label can be one's own alone."""
        here = {"round__study": self.study, "round__number": number, "item__issue__number": item.rpartition("#")[2]}
        given = Assignment.objects.filter(annotations__ratings__isnull=False, **here)
        return given.exclude(rater__user__username=name).exists() or Resolution.objects.filter(**here).exists()

    def do(self) -> None:
        act: Callable[[], str] = self.random.choices(
            [
                self.new_round,
                self.answer,
                self.change,
                self.role,
                self.add,
                self.leave,
                self.third,
                self.sheet,
                self.end,
                self.staff,
                self.out,
            ],
            [4, 16, 3, 3, 2, 1, 3, 2, 3, 0.3, 1],
        )[0]
        try:
            said = act()
        except ConcordError as refused:
            said = f"{act.__name__} refused: {refused}"
        self.log.append(said)
        for name in self.random.sample(PEOPLE, 2):
            self.look(name)

    def new_round(self) -> str:
        names = self.random.sample(PEOPLE, self.random.choice([2, 3]))
        items = self.random.sample(ITEMS, 2)
        known = {items[1]: {"labels": {"symptom": ["crash"]}}} if self.random.random() < 0.3 else None
        asked = rounds.NewRound(raters=names, issues=items[:1] if known else items, known=known, raters_per_item=1)
        made = rounds.create_round(seat=self.owner, asked=asked)
        try:
            rounds.open_round(seat=self.owner, number=made.number, unregistered=True, reason="-")
        except ConcordError as refused:
            return f"round {made.number} stays a draft: {refused}"
        return f"round {made.number}: {names} {items} known={bool(known)}"

    def answer(self) -> str:
        under_way = [Round.State.OPEN, Round.State.RESOLVING]
        asked = Assignment.objects.filter(round__study=self.study, state__in=Assignment.UNFINISHED)
        return self.give(asked.filter(round__state__in=under_way))

    def change(self) -> str:
        given = Assignment.objects.filter(round__study=self.study, state__in=Assignment.FINISHED)
        return self.give(given.filter(rater__user__username__in=PEOPLE))

    def give(self, rows: QuerySet[Assignment]) -> str:
        """One of these gets an answer; what its rater had read counts where the answer is a new blind one, or first."""
        found = list(rows.select_related("round", "item", "rater__user").order_by("pk"))
        each = self.random.choice(found) if found else None
        if each is None or each.rater.user is None:
            return "nothing to answer"
        name, item, number = each.rater.user.username, each.item.identifier, each.round.number
        self.look(name)
        is_first, was = each.state in Assignment.UNFINISHED, each.blind_id
        seen = {of for of, read in self.read[name] if read == item}
        if self.send(each, name) and (is_first or Assignment.objects.get(pk=each.pk).blind_id != was):
            self.before[number, item, name] = seen
        return f"{name} {'answers' if is_first else 'changes'} {item} in {number}, had read {seen}"

    def send(self, each: Assignment, name: str) -> bool:
        body: dict[str, Any] = {"assignment": str(each.public_id)}
        if self.random.random() < 0.2:
            body["skip_reason"] = "no bug"
        else:
            body["labels"] = {"symptom": [self.random.choice(VALUES)]}
        return bool(self.scripts[name].send("POST", "studies/study/annotations/", body).status_code == 201)

    def role(self) -> str:
        name, roles = self.random.choice(PEOPLE), self.random.choice(ROLES)
        add_member(seat=self.owner, username=make.user(name).username, roles=roles)
        return f"{name} is {roles}"

    def add(self) -> str:
        if not self.open:
            return "nothing open"
        name, round_ = self.random.choice(PEOPLE), self.random.choice(self.open)
        is_forced = self.random.random() < 0.5
        user = make.user(name).username
        raters.add_rater(seat=self.owner, number=round_.number, user=user, unblinded=is_forced)
        return f"{name} joins {round_.number}, {is_forced=}"

    def leave(self) -> str:
        if not self.open:
            return "nothing open"
        name, round_ = self.random.choice(PEOPLE), self.random.choice(self.open)
        code = self.member(name).code or "-"
        raters.withdraw_rater(seat=self.owner, number=round_.number, rater=code)
        return f"{name} leaves {round_.number}"

    def third(self) -> str:
        under_way = self.study.rounds.filter(state__in=[Round.State.OPEN, Round.State.RESOLVING])
        numbers = list(under_way.order_by("number").values_list("number", flat=True))
        if not numbers:
            return "nothing under way"
        name = self.random.choice(PEOPLE[:4])
        body = {"round": self.random.choice(numbers), "item": self.random.choice(ITEMS), "rater": name}
        if self.random.random() < 0.3:
            body["unblinded"] = True
        return f"third {body}: {self.mia.send('POST', 'studies/study/third-raters/', body).status_code}"

    def sheet(self) -> str:
        number = self.random.choice([each.number for each in self.open] or [99])
        name, item = self.random.choice(PEOPLE[:4]), self.random.choice(ITEMS)
        text = f"round,item,rater,dimension,value\n{number},{item},{name},symptom,{self.random.choice(VALUES)}\n"
        report = import_ratings(user=make.user("olga"), study="study", file=BytesIO(text.encode()), name="sheet.csv")
        return f"sheet {number} {item} {name}: {report.n_ratings}"

    def staff(self) -> str:
        """Someone joins the staff and stays in it: they read results of every study."""
        user = make.user(self.random.choice(PEOPLE[:4]))
        user.is_staff = True
        user.save(update_fields=["is_staff"])
        return f"{user.username} is staff"

    def out(self) -> str:
        """Someone leaves the study; an owner adds them again with `role`."""
        name = self.random.choice(PEOPLE[:4])
        remove_member(seat=self.owner, member=self.member(name))
        return f"{name} leaves the study"

    def end(self) -> str:
        under_way = self.study.rounds.filter(state__in=[Round.State.OPEN, Round.State.RESOLVING])
        round_ = self.random.choice(list(under_way.order_by("number")) or [None])
        if round_ is None:
            return "nothing to end"
        if round_.state == Round.State.OPEN:
            rounds.resolve_round(seat=self.owner, number=round_.number, withdraw=True)
        else:
            rounds.close_round(seat=self.owner, number=round_.number, leave_open=True)
        return f"round {round_.number} ends being {round_.state}"

    def missed(self) -> list[str]:
        """Whose labels count as before discussion though they had read others, and nothing says so."""
        for state in (Round.State.OPEN, Round.State.RESOLVING):
            for round_ in self.study.rounds.filter(state=state).order_by("number"):
                if state == Round.State.OPEN:
                    rounds.resolve_round(seat=self.owner, number=round_.number, withdraw=True)
                rounds.close_round(seat=self.owner, number=round_.number, leave_open=True)
        facts = methods(self.owner, resamples=10)
        named = {(each.round, code) for each in facts.read_before for code, _ in each.by}
        named |= {(each.number, code) for each in facts.labeled for code in each.unblinded}
        found = []
        for (number, item, name), seen in self.before.items():
            given = Assignment.objects.get(
                round__study=self.study, round__number=number, item__issue__number=item.rpartition("#")[2],
                rater=self.member(name),
            )  # fmt: skip
            counts = Rating.objects.filter(annotation=given.blind_id or 0).exists()
            is_known = given.round.round_items.filter(item=given.item, known__isnull=False).exists()
            told = seen if given.rater.kind == Membership.Kind.PERSON else seen & {number}  # models are not named
            if not told or is_known:
                continue
            self.n_told += 1
            if counts and (number, given.rater.code) not in named:
                found.append(f"{name} ({given.rater.code}) {item} in {number} had read {seen}; named {named}")
        return found


def _told_before(seat: Seat) -> list[tuple[int, list[tuple[str, int]], list[tuple[str, int]], int]]:
    found = methods(seat, resamples=10).read_before
    return [(each.round, list(each.by), list(each.resolved), len(each.items)) for each in found]


def _checked(seed: int, n_acts: int = 40) -> int:
    history = History(seed)
    for _ in range(n_acts):
        history.do()
    assert not (missed := history.missed()), "\n".join([*missed, *history.log])
    file = BytesIO(written(get_whole_study("study"), "study"))
    moved = bring_study(user=make.user("mia"), file=file, slug="moved")[0].study
    assert _told_before(get_seat(make.user("mia"), moved.slug)) == _told_before(history.owner), history.log
    return history.n_told


@pytest.mark.slow
def test_who_could_read_a_label_before_theirs_is_marked_or_named() -> None:
    assert _checked(3, n_acts=30) > 0, "nobody had read anything"


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(20))
def test_in_many_histories_who_could_read_a_label_before_theirs_is_marked_or_named(seed: int) -> None:
    _checked(seed)
