"""A study with a relabeling queue, and everything that someone may want to change in it over REST."""

from collections.abc import Iterator
from typing import Any

from django.utils import timezone

from annotation.members.actions.members import add_member
from annotation.models import Plan, Proposal, Round, Study
from annotation.rounds.actions import rounds
from tests import builders as make

FIRST, ANEW = {"bob": ("hang", "crash"), "carol": ("hang", "slow")}, ("hang-a", "crash")
"""What was found in item 1 in round 1, and in the queue."""


def parts(*categories: str) -> list[dict[str, object]]:
    return [{"labels": {"symptom": [each]}} for each in categories]


def build_with_queue(state: str | None) -> Study:
    """Round 1 is being resolved, a queue may follow, and the last round asks about items 1 and 2 again.

    In round 1 bob and carol found two bugs in item 1, and each proposed a category for item 2.
    """
    study = make.study(raters=("bob", "carol", "al", "zed"))
    roles = {"olga": ["owner", "rater"], "ada": ["adjudicator", "rater"], "eve": ["adjudicator"], "mia": ["owner"]}
    for name in roles:
        add_member(seat=make.owner_seat(study), username=make.user(name).username, roles=roles[name])
        make.accept(name)
    first = make.open_round(study, 4, raters=("bob", "carol"))
    for name, proposed in (("bob", "Stall"), ("carol", "Freeze")):
        make.submit(first, name, 1, parts=parts(*FIRST[name]), memo=f"of {name}")
        make.submit(first, name, 2, {}, proposals={"symptom": {"name": proposed, "memo": f"of {name}"}})
    make.rate(first, "item bob carol\n3 crash crash\n4 hang hang")
    draft(study, 1, 4)
    draft(study, 3)
    if state is not None:
        _relabel(study, state)
    last = draft(study, 1, 2)
    with make.queues_aside(study):
        rounds.open_round(seat=make.owner_seat(study), number=last.number, reason="-", unregistered=True)
    draft(study, 3)
    return study


def draft(study: Study, *numbers: int) -> Round:
    """A round that asks bob, al, olga and ada about these items."""
    return rounds.create_round(
        seat=make.owner_seat(study),
        asked=rounds.NewRound(
            raters=["bob", "al", "olga", "ada"], issues=[f"acme/rocket#{n}" for n in numbers], raters_per_item=4
        ),
    )


def _relabel(study: Study, state: str) -> None:
    make.next_version(study, make.HANG_SPLIT)
    queue = make.worklist(study, 2, "item asked raters\n1 1:symptom,2:symptom bob,carol\n4 symptom bob,carol")
    before, now = study.taxonomy.versions.order_by("number")
    plan = Plan.objects.create(
        study=study, number=1, from_version=before, to_version=now, state=Plan.State.DONE, worklist=queue, n_total=2,
        created_by=study.created_by, run_at=timezone.now(), done_at=timezone.now(),
    )  # fmt: skip
    if state != Round.State.OPEN:
        for name in ("bob", "carol"):
            make.submit(queue, name, 1, parts=parts(*ANEW))
            make.submit(queue, name, 4, {"symptom": ["hang-a"]})
    if state == Round.State.CLOSED:
        rounds.close_round(seat=make.owner_seat(study), number=queue.number, leave_open=True)
    if state == Round.State.UNDONE:
        Round.objects.filter(pk=queue.pk).update(state=Round.State.UNDONE)
        Plan.objects.filter(pk=plan.pk).update(state=Plan.State.UNDONE)


GOLD = {"labels": {"symptom": ["crash"]}, "why": "-"}
Act = tuple[str, str, dict[str, Any]]
"""Method, address and body."""


def acts(study: Study) -> Iterator[Act]:
    """What an owner, an adjudicator or a rater may want to change about items 1, 2 and 4 in any round, over REST."""
    numbers = list(study.rounds.order_by("number").values_list("number", flat=True))
    places = [(n, f"acme/rocket#{item}") for n in numbers for item in (1, 2, 4)]
    codes = {name: make.member(study, name).code for name in ("bob", "carol", "al", "zed")}
    for n in numbers:
        at = f"rounds/{n}/"
        changes: dict[str, list[dict[str, Any]]] = {
            "open/": [{}, {"unregistered": True, "reason": "-"}],
            "resolve/": [{}, {"withdraw": True}],
            "close/": [{}, {"leave_open": True}],
            "return-to-draft/": [{}],
            "rules/": [{}],
            "raters/": [
                {"user": name, "unblinded": is_so} for name in ("zed", "carol", "eve") for is_so in (False, True)
            ],
        }
        for path, bodies in changes.items():
            for body in bodies:
                yield "post", at + path, body
        yield "delete", at, {}
        yield "patch", at, {"due_on": "2099-01-01"}
        yield "patch", at + "training/", {"gold_minimum": {"share": 0.5}}
        for number in (1, 2, 4):
            yield "patch", at + "training/", {"known": {f"acme/rocket#{number}": GOLD}}
        for code in codes.values():
            yield "patch", at + f"raters/{code}/", {"quota": 1}
            yield "post", at + f"raters/{code}/withdraw/", {}
            yield "post", at + f"raters/{code}/admit/", {"reason": "-"}
            yield "post", at + f"third-raters/{code}/withdraw/", {}
            yield "post", at + f"third-raters/{code}/remind/", {}
    for n, item in places:
        place = {"round": n, "item": item}
        yield "post", "third-raters/", place
        for name in ("zed", "al", "bob"):
            for more in ({}, {"unblinded": True}):
                yield "post", "third-raters/", {**place, "rater": name, **more}
        for part in (1, 2):
            decided = {**place, "part": part, "dimension": "symptom"}
            yield "post", "resolutions/", {**decided, "values": ["crash"], "method": "owner", "expected": None}
            yield "post", "resolutions/", {**decided, "values": ["hang-a"], "method": "discussion", "rationale": "-"}
            yield "post", "resolutions/", {**decided, "reopen": True}
            yield "post", "resolutions/", {**decided, "no_part": True}
            yield "post", "remarks/", {**decided, "text": "Hm."}
        yield "post", "remarks/", {**place, "text": "Hm."}
        for parts_ in ([1, 2], [2, 1], [1]):
            yield "post", "matches/", {**place, "rater": codes["bob"], "parts": parts_}
        yield "post", "proposals/", {**place, "dimension": "symptom", "name": "Slow start"}
    for number in (1, 2, 4):
        item = f"acme/rocket#{number}"
        only: dict[str, Any] = {"issues": [item], "raters": ["al", "zed"], "raters_per_item": 2, "seed": 7}
        yield "post", "rounds/", only
        yield "post", "rounds/", {**only, "kind": "pilot", "taxonomy_version": 1}
        yield "post", "rounds/", {**only, "mode": "pool"}
        yield "post", "rounds/", {**only, "kind": "screening", "reasons": ["no bug"]}
        yield "post", "rounds/", {**only, "raters": ["bob", "carol", "zed"], "issues": [], "known": {item: GOLD}}
        trained = {"issues": ["acme/rocket#3"], "n_training": 1, "training_round": 1}
        yield "post", "rounds/", {**only, **trained, "raters": ["al"], "raters_per_item": 1}
        yield "post", "screening/", {"items": [item], "screening": "out", "reason": "no bug"}
        yield "post", "changes/repin/", {"items": [item]}
    yield "post", "screening/", {"filter": {"search": "hang"}, "screening": "out", "reason": "no bug"}
    yield "post", "changes/repin/", {"all": True}
    for proposal in Proposal.objects.filter(round__study=study).order_by("pk"):
        for body in ({"map_to": "crash"}, {"decline": "-"}, {"accept": {"name": "Stall"}}):
            yield "post", f"proposals/{proposal.public_id}/", body
    for to in study.taxonomy.versions.values_list("number", flat=True):
        yield "post", "plans/", {"to": to}
    for plan in Plan.objects.filter(study=study):
        yield "post", f"plans/{plan.pk}/run/", {}
        yield "post", f"plans/{plan.pk}/undo/", {}
    for name in ("bob", "carol", "al", "zed", "eve"):
        for roles in (["rater"], ["owner", "rater"], ["reader"], []):
            yield "post", "members/", {"user": name, "roles": roles}
        yield "post", "away/", {"user": name, "until": "2099-01-01"}
    yield "post", "members/", {"user": "al", "roles": ["rater"], "kind": "machine",
                               "machine": {"name": "m", "version": "1", "prompt": "p"}}  # fmt: skip
    yield "post", "away/", {"until": "2099-01-01"}
    for what, form in (
        ("labels", "csv"),
        ("ratings", "csv"),
        ("agreement", "csv"),
        ("package", "zip"),
        ("study", "zip"),
    ):
        yield "post", "exports/", {"what": what, "format": form}
        for n in numbers:
            yield "post", "exports/", {"what": what, "format": form, "round": n}
    for setting in ("third_rater", "majority", "names_shown", "archived"):
        yield "patch", "", {setting: True}
    for settings in ({"resolve_when": "item"}, {"headline": [1]}, {"applies": "both"}, {"screened_out": "keep"}):
        yield "patch", "", settings
