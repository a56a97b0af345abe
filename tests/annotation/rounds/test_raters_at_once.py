"""Exactly N raters for each item, while raters work, leave, come and lose leases at the same moment."""

import random
import threading
from collections import Counter
from collections.abc import Callable

import pytest
from django.db import connection
from django.db.models import F

from annotation.core.access import get_round
from annotation.core.errors import ConcordError, Forbidden, WrongState
from annotation.labeling.actions.answers import submit_annotation
from annotation.labeling.actions.next_item import take_next
from annotation.members.actions import members
from annotation.models import Assignment, Round, RoundItem, RoundRater
from annotation.rounds.actions import raters as rater_actions
from tests import builders as make
from tests.annotation.rounds.test_raters_of_open_rounds import CRASH, answer_all, exactly_n

pytestmark = pytest.mark.django_db


def _storm(mode: str, n_items: int, n_raters: int, seed: int) -> None:
    """Raters submit at once while some leave, come and come back, and leases run out."""
    names = tuple(f"rater{n}" for n in range(n_raters))
    study = make.study(raters=names)
    starting = names[: n_raters - 2]
    quotas = {names[0]: n_items} if mode == "planned" else {names[0]: 3}
    round_ = make.open_round(study, n_items, raters=starting, raters_per_item=2, mode=mode, quotas=quotas)
    wrong: list[BaseException] = []
    refused = Counter[str]()

    def in_thread(act: Callable[[], None]) -> threading.Thread:
        def run() -> None:
            try:
                act()
            except BaseException as error:
                wrong.append(error)
            finally:
                connection.close()

        return threading.Thread(target=run)

    def work(name: str) -> None:
        own = make.seat(study, name)
        rng = random.Random(f"{seed} {name}")
        for _ in range(20 * n_items):
            try:
                place = take_next(seat=own, round_=get_round(own, 1))
                if place is None:
                    if Round.objects.get(pk=round_.pk).state != "open":
                        return
                    continue
                if mode == "pool" and rng.random() < 0.15:  # the lease runs out in their hands
                    Assignment.objects.filter(pk=place.pk, state="leased").update(lease_until="2020-01-01T00:00Z")
                    if rng.random() < 0.5:
                        continue
                submit_annotation(seat=own, assignment=place.public_id, body=CRASH)
            except (Forbidden, WrongState) as error:
                refused[type(error).__name__] += 1

    def own_it() -> None:
        owner = make.owner_seat(study)
        rng = random.Random(seed)
        for _ in range(6 + n_raters):
            name = rng.choice(names)
            try:
                if rng.random() < 0.5:
                    rater_actions.withdraw_rater(seat=owner, number=1, rater=name)
                elif rng.random() < 0.5:
                    rater_actions.add_rater(seat=owner, number=1, user=name)
                else:
                    rater_actions.change_quota(seat=owner, number=1, rater=name, quota=rng.choice([None, n_items]))
            except ConcordError as error:
                refused[type(error).__name__] += 1
            if Round.objects.get(pk=round_.pk).state == "open":
                exactly_n_now(round_)

    threads = [in_thread(lambda name=name: work(name)) for name in names] + [in_thread(own_it)]  # type: ignore[misc]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong, wrong[:3]
    for name in names:  # whoever stayed, came or can come finishes what is left
        row = RoundRater.objects.filter(round=round_, rater__user__username=name).first()
        if row is not None and row.left_at is None and Round.objects.get(pk=round_.pk).state == "open":
            if row.quota is not None:
                rater_actions.change_quota(seat=make.owner_seat(study), number=1, rater=name, quota=None)
            answer_all(study, name)
    late = 0
    while Round.objects.get(pk=round_.pk).state == "open":
        late += 1
        name = make.user(f"late{late}").username
        members.add_member(seat=make.owner_seat(study), username=name, roles=["rater"])
        rater_actions.add_rater(seat=make.owner_seat(study), number=1, user=name)
        answer_all(study, name)
        assert late <= 3
    exactly_n(round_)
    done = Assignment.objects.filter(round=round_, state="submitted")
    assert done.count() == 2 * n_items
    for row in RoundRater.objects.filter(round=round_):
        assert row.n_finished == done.filter(rater=row.rater_id).count()


def exactly_n_now(round_: Round) -> None:
    """In one look, as others are at work: no item has more than N."""
    held_now = Assignment.objects.filter(round=round_, slot__isnull=False).exclude(state="withdrawn")
    assert not held_now.filter(slot__gt=2).exists()
    assert not RoundItem.objects.filter(round=round_, n_free__gt=F("n_raters")).exists()


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("mode", ["planned", "pool"])
def test_exactly_two_rate_each_item_while_eight_work_leave_come_and_lose_leases(mode: str) -> None:
    _storm(mode, n_items=10, n_raters=8, seed=1)


@pytest.mark.soak
@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("mode", ["planned", "pool"])
def test_exactly_two_rate_each_item_while_twenty_work_leave_come_and_lose_leases(mode: str, seed: int) -> None:
    _storm(mode, n_items=40, n_raters=20, seed=seed)
