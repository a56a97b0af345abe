"""Counting patterns: many answers are counted in a quicker way, and come out as they do one by one."""

import random
from itertools import product
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from annotation.agreement_report.queries.bitpacked_patterns import packing
from annotation.agreement_report.queries.patterns import MANY, Slice, patterns
from annotation.models import Assignment, Round, RoundItem
from annotation.resolving.actions.part_matches import match_parts
from annotation.rounds.actions.raters import withdraw_rater
from taxonomy.queries import published_version
from tests import builders as make

pytestmark = pytest.mark.django_db

RATERS = ("bob", "carol", "dan", "eve")
SYMPTOMS = ("crash", "hang", "slow")


def answer(rng: random.Random) -> dict[str, Any]:
    """A skip, a proposal, or one to three bugs, some of which a conditional dimension does not apply to."""

    def labels() -> dict[str, Any]:
        if rng.random() < 0.3:
            return {"kind": ["how-to"]}
        return {
            "kind": ["fault"],
            "symptom": [rng.choice(SYMPTOMS)],
            "fixes": rng.sample(["config", "version", "code"], rng.randrange(3)),
            "distributed": rng.random() < 0.5,
        }

    chance = rng.random()
    if chance < 0.15:
        return {"skip": "not in English"}
    if chance < 0.3:
        labeled = {"kind": ["fault"], "fixes": [], "distributed": True}
        return {"labels": labeled, "proposals": {"symptom": {"name": "New", "memo": "none fits"}}}
    return {"parts": [{"labels": labels()} for _ in range(rng.choice((1, 1, 1, 2, 3)))]}


def a_round(seed: int) -> Round:
    """Three or four raters with gaps, second thoughts, training items, a third rater, and one who left."""
    rng = random.Random(seed)
    names = RATERS[: 3 + seed % 2]
    round_ = make.open_round(make.study(text=make.FAULTS, raters=names), 8, raters=names)
    given = [(name, number) for name in names for number in range(1, 9) if rng.random() < 0.8]
    for name, number in given:
        make.submit(round_, name, number, **answer(rng))
    for name, number in rng.sample(given, 6):
        make.submit(round_, name, number, **answer(rng))
    RoundItem.objects.filter(round=round_, position=seed % 8 + 1).update(known={"parts": []})
    Assignment.objects.filter(pk=make.assignment(round_, "bob", 2).pk).update(slot=None)
    if seed % 3 == 0:
        withdraw_rater(seat=make.owner_seat(round_.study), number=1, rater="R3")
    round_.refresh_from_db()
    if round_.state == Round.State.OPEN:
        Round.objects.filter(pk=round_.pk).update(state=Round.State.RESOLVING)
    answered = Assignment.objects.filter(round=round_, state="submitted").select_related("rater__user")
    for each in rng.sample([*answered], 4):
        number = int(each.item.identifier.rpartition("#")[2])
        make.submit(round_, each.rater.user.username, number, **answer(rng))
    return round_


def slices(round_: Round) -> list[Slice]:
    pair = tuple(round_.round_raters.values_list("rater", flat=True)[:2])
    return [
        Slice(when=when, parts=parts, pending=pending, applies=applies, raters=raters, repository=repository)
        for when, parts, pending, applies, raters, repository in product(
            ("before", "after"),
            ("aligned", "single"),
            ("category", "left_out"),
            ("both", "either"),
            ((), pair),
            ("", "acme/rocket"),
        )
    ]


def told(round_: Round, key: str, part: Slice, n_answers: int) -> tuple[list[Any], bool]:
    """The patterns in a fixed order, and whether they were counted in the quicker way."""
    tree = published_version(round_.taxonomy_version_id)
    with CaptureQueriesContext(connection) as captured:
        found = patterns(round_.pk, tree, tree.by_key[key], part, n_answers=n_answers)
    rows = sorted(((row.raters, row.values, row.n) for row in found), key=repr)
    return rows, any("bit_or" in query["sql"] for query in captured)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.soak) for seed in range(1, 10))])
def test_many_answers_are_counted_as_few_are(seed: int) -> None:
    round_ = a_round(seed)
    quick = set()
    for key, part in product(("kind", "symptom", "fixes", "distributed"), slices(round_)):
        plain, is_quick = told(round_, key, part, 0)
        assert not is_quick and (plain or part.parts == "single" or part.raters)
        again, is_quick = told(round_, key, part, MANY)
        assert again == plain
        quick |= {(key, part.when, part.parts, part.applies)} if is_quick else set()
    whens, parts = ("before", "after"), ("aligned", "single")
    conditional = set(product(("symptom", "distributed"), whens, parts, ("both",)))
    assert quick == conditional | set(product(("kind",), whens, parts, ("both", "either")))


def test_matched_bugs_and_too_many_raters_are_counted_one_by_one() -> None:
    round_ = make.open_round(make.study(), 1)
    dimension = published_version(round_.taxonomy_version_id).by_key["symptom"]
    labels = [{"labels": {"symptom": [key]}} for key in ("crash", "hang")]
    make.submit(round_, "bob", 1, parts=labels)
    make.submit(round_, "carol", 1, parts=labels[::-1])
    found = packing(round_.pk, dimension)
    assert found is not None and (len(found.raters), found.bits) == (2, 3)
    item = round_.study.items.get()
    match_parts(seat=make.seat(round_.study, "ada"), round_=round_, item=item, rater="R2", parts=[2, 1])
    assert packing(round_.pk, dimension) is None
    assert told(round_, "symptom", Slice(), MANY) == told(round_, "symptom", Slice(), 0)

    names = [f"rater-{n}" for n in range(22)]
    make.user("rita")
    study = make.study("many", text=make.SYMPTOMS.replace("slug: symptoms", "slug: more"), raters=names)
    crowded = make.open_round(study, 1, raters=names)
    assert packing(crowded.pk, published_version(crowded.taxonomy_version_id).by_key["symptom"]) is None
