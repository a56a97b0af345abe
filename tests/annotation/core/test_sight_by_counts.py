"""What is hidden from someone who rates is hidden in warnings, counts, queues, log lines and statuses, too."""

import csv
import re
from collections.abc import Callable
from typing import Any

import pytest
from django.db import transaction
from django.test import Client

from annotation.core.access import get_item
from annotation.exports.actions import request_export
from annotation.exports.jobs import EXPORTS
from annotation.members.actions import members
from annotation.models import Assignment, AuditEvent, Plan, Round, Study
from annotation.resolving.actions import resolutions as resolution_actions
from annotation.resolving.actions.third_rater_requests import ask_third_rater
from annotation.rounds.actions import rounds
from annotation.studies.queries.audit import audit_of
from ingest.models import Issue
from tests import builders as make
from tests.annotation.compared_answers import history_rewritten
from tests.scripts import Script

pytestmark = pytest.mark.django_db


def new_study(slug: str, **more: Any) -> Study:
    """A study whose owner olga and adjudicator ada rate, too."""
    text = make.SYMPTOMS.replace("slug: symptoms", f"slug: {slug}")
    made = make.study(slug, text=text, raters=("bob", "carol", "carl", "zed"), **more)
    for name, role in (("olga", "owner"), ("ada", "adjudicator")):
        members.add_member(seat=make.owner_seat(made), username=name, roles=[role, "rater"])
    return made


def both(world: Callable[[str, bool], list[Any]]) -> tuple[list[Any], list[Any]]:
    """What a world answers where raters agree and where they differ."""
    return tuple(  # type: ignore[return-value]
        [
            re.sub(f"{slug}|[\\w-]{{16,}}|\\d{{4}}-\\d\\d-\\d\\dT[\\d:.]+(?:Z|[+]00:00)", "", str(each))
            for each in world(slug, differ)
        ]
        for slug, differ in (("agreeing", False), ("differing", True))
    )


def pilot(slug: str, number: int, rater: str) -> list[Any]:
    """What a draft with a training item answers its maker, and how many items its rater gets when it is opened."""
    olga = Script("olga")
    known = {f"acme/rocket#{number}": {"labels": {"symptom": ["crash"]}}}
    asked = {"kind": "pilot", "raters": [rater, "zed"], "raters_per_item": 1, "known": known}
    made = olga.send("POST", f"studies/{slug}/rounds/", asked)
    place = f"studies/{slug}/rounds/{made.json()['number']}/"
    opened = olga.send("POST", f"{place}open/", {"unregistered": True})
    assigned = [(each["code"], each["n_assigned"]) for each in olga.send("GET", f"{place}raters/").json()["results"]]
    return [made.status_code, made.json()["warnings"], opened.status_code, assigned]


def as_model(slug: str, name: str, kind: str = "machine") -> list[Any]:
    """What making a rater a machine, or a machine a person, answers the owner."""
    asked = {"user": name, "roles": ["rater"], "kind": kind}
    answer = Script("olga").send("POST", f"studies/{slug}/members/", asked)
    return [answer.status_code, answer.json().get("code"), answer.json().get("message")]


def in_an_open_round(slug: str, differ: bool) -> list[Any]:
    study = new_study(slug, resolve_when="item")
    round_ = make.open_round(study, 3, raters=("olga", "bob"))
    for number in (1, 2):
        make.submit(round_, "bob", number, {"symptom": ["hang" if differ else "crash"]})
        make.submit(round_, "olga", number, {"symptom": ["crash"]})
    ada = make.seat(study, "ada")
    if differ:
        ask_third_rater(seat=ada, round_=round_, item=get_item(ada, "acme/rocket#1"), rater="carl")
        place: dict[str, Any] = {"part": 1, "dimension": "symptom", "values": ["crash"], "rationale": ""}
        resolution_actions.resolve(seat=ada, round_=round_, item=get_item(ada, "acme/rocket#2"), expected=None, **place)
    return [as_model(slug, "carl"), pilot(slug, 2, "ada"), pilot(slug, 1, "carl")]


def rated_again(slug: str, differ: bool) -> list[Any]:
    study = new_study(slug)
    round_ = make.open_round(study, 4)
    make.rate(round_, f"item bob carol\n1 crash {'hang' if differ else 'crash'}\n2 slow slow\n3 slow slow\n4 slow slow")
    ada = make.seat(study, "ada")
    if differ:
        ask_third_rater(seat=ada, round_=round_, item=get_item(ada, "acme/rocket#1"), rater="carl")
        make.submit(round_, "carl", 1, {"symptom": ["crash"]})
        ask_third_rater(seat=ada, round_=round_, item=get_item(ada, "acme/rocket#1"), rater="zed")
    rounds.close_round(seat=make.owner_seat(study), number=1, leave_open=True)
    names = ["acme/rocket#1", "acme/rocket#3"]
    made = rounds.create_round(
        seat=make.owner_seat(study), asked=rounds.NewRound(raters=["olga"], issues=names, raters_per_item=1)
    )
    rounds.open_round(seat=make.owner_seat(study), number=made.number, reason="-", unregistered=True)
    olga = Script("olga")
    found: list[Any] = []
    for path in ("rounds/", "rounds/1/", "rounds/1/raters/"):
        found.append(olga.send("GET", f"studies/{slug}/{path}").json())
    client = Client()
    client.force_login(make.user("olga"))
    log = b"".join(client.get(f"/studies/{slug}/audit/audit.jsonl").streaming_content).decode()  # type: ignore[attr-defined]
    found.append([line for line in log.splitlines() if "round closed" in line or "third" in line])
    page = client.get(f"/studies/{slug}/rounds/1/").content.decode()
    found.append(["Third raters" in page, re.findall(r"\d+ of \d+", page)])
    return [*found, as_model(slug, "zed"), pilot(slug, 1, "carl"), pilot(slug, 3, "ada")]


def training(slug: str, differ: bool) -> list[Any]:
    study = new_study(slug)
    if not Issue.objects.exists():
        make.issues(9)
    known = {f"acme/rocket#{number}": {"labels": {"symptom": ["crash"]}} for number in (1, 2, 3)}
    asked = {"kind": "main", "raters": ["bob", "carol"], "issues": ["acme/rocket#7", "acme/rocket#8"], "known": known}
    olga = Script("olga")
    made = olga.send("POST", f"studies/{slug}/rounds/", asked | {"gold_minimum": {"share": 0.5}})
    assert made.status_code == 201, made.content
    assert olga.send("POST", f"studies/{slug}/rounds/1/open/", {"unregistered": True}).status_code == 200
    round_ = Round.objects.get(study=study)
    again = rounds.create_round(
        seat=make.owner_seat(study),
        asked=rounds.NewRound(raters=["olga"], issues=["acme/rocket#1", "acme/rocket#9"], raters_per_item=1),
    )
    rounds.open_round(seat=make.owner_seat(study), number=again.number, reason="-", unregistered=True)
    make.rate(round_, f"item bob\n1 {'hang' if differ else 'crash'}\n2 crash\n3 crash\n7 crash")
    assert make.member(study, "bob").pk and Round.objects.get(pk=round_.pk).round_raters.filter(
        admission__how="reached"
    )
    return [olga.send("GET", f"studies/{slug}/rounds/1/raters/").json()]


def relabeled(slug: str, differ: bool) -> list[Any]:
    """Carl and a model are substitutes in the queue where raters differ."""
    study = new_study(slug)
    members.add_member(
        seat=make.owner_seat(study), username=make.user("model").username, roles=["rater"], kind="machine"
    )
    make.rate(make.open_round(study, 5), "\n".join(["item bob carol", *(f"{n} hang hang" for n in range(1, 6))]))
    rounds.close_round(seat=make.owner_seat(study), number=1)
    make.next_version(study, make.HANG_SPLIT.replace("slug: symptoms", f"slug: {slug}"))
    numbers = (4, 5) if differ else (1, 2, 3, 5)
    who = {5: "bob,zed"} | dict.fromkeys(range(1, 5), "carl,model" if differ else "bob")
    lines = "\n".join(f"{number} symptom {who[number]}" for number in numbers)
    queue = make.worklist(study, 2, f"item asked raters\n{lines}")
    versions = list(study.taxonomy.versions.order_by("number"))
    Plan.objects.create(
        study=study, number=1, from_version=versions[0], to_version=versions[1], state="done", worklist=queue,
        n_total=len(numbers), created_by=study.created_by,
    )  # fmt: skip
    AuditEvent.objects.create(study=study, verb="plan run", detail={"plan": 1, "items_asked_again": len(numbers)})
    AuditEvent.objects.create(study=study, verb="rater withdrawn", detail={"round": 2, "given": len(numbers)})
    names = [f"acme/rocket#{number}" for number in range(1, 5)]
    made = rounds.create_round(
        seat=make.owner_seat(study), asked=rounds.NewRound(raters=["zed", "olga"], issues=names, raters_per_item=2)
    )
    with make.queues_aside(study):
        rounds.open_round(seat=make.owner_seat(study), number=made.number, reason="-", unregistered=True)
    zed, client = Script("zed"), Client()
    client.force_login(make.user("zed"))
    found: list[Any] = [
        zed.send("GET", f"studies/{slug}/{path}").json() for path in ("rounds/", "rounds/2/", "rounds/2/raters/")
    ]
    plans = zed.send("GET", f"studies/{slug}/plans/").json()["results"]
    found.append([each["worklist"]["items"] for each in plans])
    for path in ("items/?round=2", "items/", "rounds/", "rounds/2/"):
        page = client.get(f"/studies/{slug}/{path}").content.decode()
        found.append([path, re.findall(r"rocket#\d+|\d+ of \d+|\d+ items", page)])
    assert "rocket#5" in str(found[4]) and "R1" in str(found[2])
    found.append(
        [zed.send("GET", f"studies/{slug}/rounds/2/raters/{code}/").json().get("code") for code in ("R2", "R9")]
    )
    found.append([as_model(slug, "carl"), as_model(slug, "model", "person")])
    leaving = [Script("olga").send(way, f"studies/{slug}/rounds/2/raters/R1/withdraw/") for way in ("GET", "POST")]
    found.append([(each.status_code, each.json()["code"]) for each in leaving])
    owner = Client()
    owner.force_login(make.user("olga"))
    found.append([owner.get(f"/studies/{slug}/rounds/2/raters/R1/withdraw/").status_code])
    for who in ("bob", "zed"):
        make.submit(queue, who, 5, {"symptom": ["hang-a"]})
    if differ:
        make.submit(queue, "model", 4, {"symptom": ["hang-a"]})
    last = get_item(make.owner_seat(study), "acme/rocket#5").pk
    found.append(Script("olga").send("GET", f"studies/{slug}/agreement/?round=2").json())
    for path in ("agreement/?round=2", f"rounds/2/discuss/{last}/", f"rounds/2/resolve/{last}/?walk=all"):
        page = owner.get(f"/studies/{slug}/{path}")
        found.append(
            [path.replace(str(last), ""), page.status_code, re.findall(r"R\d+|model rater", page.content.decode())]
        )
    described = {"user": "model", "roles": ["rater"], "machine": {"prompt": "Another one"}}
    answer = Script("olga").send("POST", f"studies/{slug}/members/", described)
    found.append([answer.status_code, answer.json()["code"]])
    log = b"".join(owner.get(f"/studies/{slug}/audit/audit.jsonl").streaming_content).decode()  # type: ignore[attr-defined]
    found.append([line for line in log.splitlines() if "asked_again" in line or "rater withdrawn" in line])
    return found


def after_a_pilot(slug: str, differ: bool) -> list[Any]:
    """Olga labels the one item of the second pilot again, which another rater labeled or skipped."""
    text = make.SYMPTOMS.replace("slug: symptoms", f"slug: {slug}")
    primary = {"symptom": {"coefficient": "krippendorff_alpha", "threshold": 0.8, "reason": "-"}}
    study = make.study(slug, text=text, raters=("bob", "carol", "zed"), primary=primary)
    members.add_member(seat=make.owner_seat(study), username="olga", roles=["owner", "rater"])
    make.user("mia")
    members.add_member(seat=make.owner_seat(study), username="mia", roles=["owner"])
    make.accept("mia")
    make.rate(make.open_round(study, 3, kind="pilot"), "item bob carol\n1 crash hang\n2 hang crash\n3 slow slow")
    make.rate(make.open_round(study, 1, kind="pilot", first=4), f"item bob carol\n4 crash {'-' if differ else 'crash'}")
    for number in (1, 2):
        rounds.close_round(seat=make.owner_seat(study), number=number, leave_open=True)
    make.open_round(study, 1, raters=("olga", "zed"), first=4)
    mia, olga, client = Script("mia"), Script("olga"), Client()
    client.force_login(make.user("olga"))
    asked = {"kind": "main", "raters": ["bob", "carol"], "issues": ["acme/rocket#1"], "raters_per_item": 2}
    for _ in range(2):
        assert mia.send("POST", f"studies/{slug}/rounds/", asked).status_code == 201
    opened = mia.send("POST", f"studies/{slug}/rounds/4/open/", {"unregistered": True, "reason": "-"})
    assert opened.status_code == 200 and mia.send("GET", f"studies/{slug}/rounds/4/").json()["gate"], opened.content
    found: list[Any] = []
    for path in ("", "rounds/new/", "rounds/4/", "rounds/5/", "methods/"):
        page = client.get(f"/studies/{slug}/{path}").content.decode()
        found.append([path, re.findall(r"[^.<>]*[Pp]ilot[^.<>]*", page)])
    found.append(olga.send("GET", f"studies/{slug}/rounds/4/").json())
    refused = olga.send("POST", f"studies/{slug}/rounds/5/open/", {"unregistered": True})
    found.append([refused.status_code, refused.json()["code"]])
    log = b"".join(client.get(f"/studies/{slug}/audit/audit.jsonl").streaming_content).decode()  # type: ignore[attr-defined]
    return [*found, [line for line in log.splitlines() if "round opened" in line]]


def older_than_a_queue(slug: str, differ: bool) -> list[Any]:
    """Olga opens drafts from before a queue, which holds item 1 where raters differ; she labels that item again."""
    study = new_study(slug)
    make.rate(make.open_round(study, 3), "item bob carol\n1 hang hang\n2 crash crash\n3 hang hang")
    rounds.close_round(seat=make.owner_seat(study), number=1)
    if not Issue.objects.filter(number=4).exists():  # the other world made it
        make.issues(1, first=4)
    for number in (1, 2, 4):
        asked = rounds.NewRound(raters=["bob", "carol"], issues=[f"acme/rocket#{number}"], raters_per_item=2)
        rounds.create_round(seat=make.owner_seat(study), asked=asked)
    make.next_version(study, make.HANG_SPLIT.replace("slug: symptoms", f"slug: {slug}"))
    make.worklist(study, 2, "\n".join(["item asked raters", *(["1 symptom bob"] if differ else []), "3 symptom bob"]))
    with make.queues_aside(study):
        make.open_round(study, 1, raters=("olga", "zed"))
    olga, asked_for = Script("olga"), {"unregistered": True, "reason": "-"}
    with make.queues_aside(study):
        answers = [olga.send("POST", f"studies/{slug}/rounds/{number}/open/", asked_for) for number in (2, 3, 4)]
    assert [each.status_code for each in answers] == [409, 409, 200]
    assert [each.json()["code"] for each in answers[:2]] == ["older_than_queue"] * 2
    return [each.json().get("message") for each in answers]


@pytest.mark.parametrize(
    "world", [in_an_open_round, rated_again, training, relabeled, after_a_pilot, older_than_a_queue]
)
def test_nothing_hangs_on_what_others_answered(world: Callable[[str, bool], list[Any]]) -> None:
    agreeing, differing = both(world)
    assert agreeing == differing


def test_screening_does_not_tell_which_items_of_an_open_round_are_answered() -> None:
    study = make.study()
    members.add_member(seat=make.owner_seat(study), username="olga", roles=["owner", "rater"])
    round_ = make.open_round(study, 2, raters=("olga", "bob"))
    make.submit(round_, "bob", 1, {"symptom": ["hang"]})
    told = [
        Script("olga").send(
            "POST", "studies/study/screening/", {"items": [f"acme/rocket#{number}"], "screening": "unscreened"}
        )
        for number in (1, 2)
    ]
    assert [each.status_code for each in told] == [200, 200] and told[0].json() == told[1].json()


@pytest.mark.parametrize("reader", ["olga", "rea"])
def test_screening_out_and_in_does_not_tell_which_items_of_an_open_round_are_answered(reader: str) -> None:
    study = make.study()
    members.add_member(seat=make.owner_seat(study), username="olga", roles=["owner", "rater"])
    round_ = make.open_round(study, 3, raters=("olga", "bob"))
    make.submit(round_, "bob", 1, {"symptom": ["hang"]})
    make.submit(round_, "olga", 1, {"symptom": ["hang"]})
    make.submit(round_, "olga", 2, {"symptom": ["hang"]})
    client, reads = Client(), Client()
    client.force_login(make.user("olga"))
    reads.force_login(make.user(reader))

    def told(number: int) -> list[Any]:
        found: list[Any] = []
        pk = get_item(make.owner_seat(study), f"acme/rocket#{number}").pk
        for screening in ("out", "unscreened"):
            body = {"items": [f"acme/rocket#{number}"], "screening": screening, "reason": "Spam"}
            found.append(Script("olga").send("POST", "studies/study/screening/", body).json())
            found.append(Script(reader).send("GET", "studies/study/rounds/1/raters/").json())
            found.append(Script(reader).send("GET", "studies/study/rounds/1/").json())
            detail = audit_of(make.seat(study, reader))[0].detail
            found.append({name: value for name, value in detail.items() if name != "items"})
            shown = (
                reads.get("/studies/study/rounds/1/").content.decode() + reads.get("/studies/study/").content.decode()
            )
            found.append(re.findall(r"\d+ (?:of|items?|assignments?|left)\b[^<>]*", shown))
            page = client.post(f"/studies/study/items/{pk}/screening/", body, follow=True)
            found.append(re.findall(r"\d+ items? (?:is|are) [^<]*", page.content.decode()))
        return found

    AuditEvent.objects.create(study=study, verb="items screened: out", detail={"n": 1, "unanswered_withdrawn": 1})
    assert audit_of(make.seat(study, reader))[0].detail.get("n") is None, "a line of an earlier version"
    for one, other in zip(told(1), told(2), strict=True):
        assert one == other


def test_screening_does_not_tell_which_items_were_answered_before_to_who_labels_them_again() -> None:
    """Bob answered the first of two items; olga, an owner, and carol label both again, ada only adjudicates."""
    study = make.study()
    members.add_member(seat=make.owner_seat(study), username="olga", roles=["owner", "rater"])
    make.submit(make.open_round(study, 2, raters=("bob",)), "bob", 1, {"symptom": ["hang"]})
    rounds.resolve_round(seat=make.owner_seat(study), number=1, withdraw=True)
    rounds.close_round(seat=make.owner_seat(study), number=1, leave_open=True)
    make.open_round(study, 2, raters=("olga", "carol"))

    def told(name: str, number: int) -> list[Any]:
        body = {"items": [f"acme/rocket#{number}"], "screening": "out", "reason": "Spam"}
        found = [Script(name).send("POST", "studies/study/screening/", body).json()]
        Script(name).send("POST", "studies/study/screening/", body | {"screening": "in"})
        log = audit_of(make.seat(study, "olga")).filter(verb__startswith="items screened")
        return [*found, [each.detail.get("labeled") for each in log]]

    assert told("olga", 1) == told("olga", 2)
    (one, seen), (other, seen_then) = told("ada", 1), told("ada", 2)
    assert (one["n_labeled"], other["n_labeled"]) == (1, 0) and seen == seen_then


def test_what_others_skip_is_not_counted_for_raters_of_a_round_that_is_resolved() -> None:
    """A skip is an answer: carol could still be asked as a third rater, and no line would tell that she read it."""
    study = make.study()
    make.rate(make.open_round(study, 2), "item bob carol\n1 - crash\n2 hang hang")

    def counted(name: str) -> list[int]:
        client = Client()
        client.force_login(make.user(name))
        return [
            client.get(f"/studies/study/{path}").content.decode().count("1 skipped")
            for path in ("rounds/", "rounds/1/")
        ]

    assert Round.objects.get().state == Round.State.RESOLVING
    assert counted("carol") == [0, 0] and all(counted("ada")) and counted("bob")[1] == 1, "bob counts his own"
    rounds.close_round(seat=make.owner_seat(study), number=1, leave_open=True)
    assert all(counted("carol"))


FINISHED = [(1, 2), (3, 4)]
"""What al has finished of an open round, in two worlds."""


def item_pages(study: Study, name: str) -> list[list[str]]:
    """What the pages of four items, and the list of items, count."""
    client = Client()
    client.force_login(make.user(name))
    items = (get_item(make.owner_seat(study), f"acme/rocket#{number}").pk for number in range(1, 5))
    pages = (client.get(f"/studies/study/{path}") for path in ("items/", *(f"items/{item}/" for item in items)))
    return [re.findall(r"\d of \d\b|\d raters?\b", page.content.decode()) for page in pages]


@pytest.mark.slow
def test_an_item_shows_how_many_finished_it_only_to_who_reads_its_open_round() -> None:
    """Zed rates in no round, rea reads, stan is of the staff, and carl is an owner who rates in it."""
    worlds: list[dict[str, Any]] = []
    for finished in FINISHED:
        with transaction.atomic():
            study = make.study(raters=("al", "carl", "zed"))
            members.add_member(seat=make.owner_seat(study), username="carl", roles=["owner", "rater"])
            make.user("stan", staff=True)
            round_ = make.open_round(study, 4, raters=("al", "carl"))
            for number in finished:
                make.submit(round_, "al", number, {"symptom": ["hang"]})
            worlds.append({each: item_pages(study, each) for each in ("zed", "rea", "stan", "carl", "ada")})
            transaction.set_rollback(True)
    one, other = ({name: told for name, told in world.items() if name != "ada"} for world in worlds)
    assert one == other and all(["2 raters"] in told for told in one.values())
    assert worlds[0]["ada"] != worlds[1]["ada"] and ["1 of 2"] in worlds[0]["ada"]


def counts(study: Study) -> list[Any]:
    """What people from whom an open round is hidden count in it, and what acts on a rater answer its blind owner."""
    carl, code = Script("carl"), make.member(study, "al").code
    path, told = "studies/study/rounds/1/", re.compile(r"\d+(?: of \d+| assignments?| items?)[^<>]*")
    found: list[Any] = []
    for name in ("carl", "zed", "rea", "stan"):
        client = Client()
        client.force_login(make.user(name))
        pages = ["/", "/studies/"]
        if name == "carl":
            member = f"/studies/study/members/{make.member(study, 'al').pk}"
            pages += [f"{member}/remove/", f"{member}/withdraw/", f"/{path}raters/{code}/withdraw/", f"/{path}"]
        for page in pages:
            text = client.get(page).content.decode()
            found.append([name, page, told.findall(text), re.findall(r'class="number">(\d+)', text)])
        row = Script(name).send("GET", path).json()
        found.append([row[key] for key in ("n_assignments", "n_finished", "n_free")])
    found.append(carl.send("GET", f"{path}raters/{code}/withdraw/").json())
    found.append(carl.send("PATCH", f"{path}raters/{code}/", {"quota": 0}).json())
    found.append(carl.send("POST", f"{path}resolve/", {}).json())
    return found


def left_after_screening(finished: tuple[int, int]) -> list[Any]:
    """Carl, an owner who rates in a round, screens an item of al out and in, and withdraws al while it is out."""
    study = make.study(raters=("al", "mal", "carl", "zed"))
    members.add_member(seat=make.owner_seat(study), username="carl", roles=["owner", "rater"])
    make.user("stan", staff=True)
    round_ = make.open_round(study, 12, raters=("al", "mal", "carl"), raters_per_item=1)
    held = Assignment.objects.filter(round=round_, rater__user__username="al").order_by("item")
    names = list(held.values_list("item__identifier", flat=True))
    for place in finished:
        make.submit(round_, "al", int(names[place - 1].rpartition("#")[2]), {"symptom": ["hang"]})
    carl, path = Script("carl"), "studies/study/rounds/1/"
    body = {"items": names[:1], "screening": "out", "reason": "-"}
    found: list[Any] = []

    def screen(screening: str) -> None:
        asked = body | {"screening": screening}
        found.append(carl.send("POST", "studies/study/screening/", asked).json())

    found.append(counts(study))
    screen("out")
    found.append(counts(study))
    found.append(carl.send("POST", f"{path}raters/{make.member(study, 'al').code}/withdraw/").json())
    (line,) = audit_of(make.seat(study, "carl")).filter(verb="rater withdrawn")
    found.append(line.detail)
    for screening in ("in", "out"):
        found.append([carl.send("GET", path).json(), carl.send("GET", f"{path}raters/").json()])
        screen(screening)
    unfinished = Assignment.objects.filter(round=round_, state__in=Assignment.UNFINISHED)
    assert not unfinished.filter(rater__user__username="al").exists()
    assert carl.send("POST", f"{path}resolve/", {"withdraw": True}).status_code == 200
    log = audit_of(make.seat(study, "stan"))
    found.append([(each.verb, each.detail) for each in log if "resolving" in each.verb])
    return found


@pytest.mark.slow
def test_no_count_of_assignments_shows_who_has_answered_an_item_that_is_screened_out() -> None:
    worlds = []
    for finished in FINISHED:
        with transaction.atomic():
            worlds.append(left_after_screening(finished))
            transaction.set_rollback(True)
    for one, other in zip(*worlds, strict=True):
        assert re.sub(r"\d{4}-\d\d-\d\dT[^\"']+|[0-9a-f-]{36}", "", str(one)) == re.sub(
            r"\d{4}-\d\d-\d\dT[^\"']+|[0-9a-f-]{36}", "", str(other)
        )


@pytest.mark.slow
def test_a_file_of_issues_shows_only_who_reads_an_open_round_which_items_were_answered() -> None:
    """Carl is an owner who rates in the round, and stan of the staff; olga rates nowhere."""
    worlds = []
    for finished in FINISHED:
        with transaction.atomic():
            study = make.study(raters=("al", "carl"))
            members.add_member(seat=make.owner_seat(study), username="carl", roles=["owner", "rater"])
            make.user("stan", staff=True)
            round_ = make.open_round(study, 4, raters=("al", "carl"))
            for number in finished:
                make.submit(round_, "al", number, {"symptom": ["hang"]})
            for number in range(1, 5):
                make.new_state(number, body="another text")
            assert Script("olga").send("POST", "studies/study/changes/repin/", {"all": True}).status_code == 200
            files = {}
            for maker in ("olga", "carl"):
                export = request_export(seat=make.seat(study, maker), what="issues", format="csv", send=False)
                EXPORTS.work(export.pk)
                files[maker] = str(export.public_id)
            told: list[Any] = []
            for reader, maker in [("olga", "olga"), *((name, maker) for name in ("carl", "stan") for maker in files)]:
                row = Script(reader).send("GET", f"exports/{files[maker]}/").json()
                answer = Script(reader).send("GET", f"exports/{files[maker]}/download/")
                seen: Any = answer.status_code
                if answer.status_code == 200:
                    rows = csv.DictReader(b"".join(answer.streaming_content).decode().splitlines())
                    seen = [each["n_answers_on_other_states"] for each in rows]
                told.append(([row[key] is None for key in ("rows", "bytes", "sha256")], row["rounds"], seen))
            worlds.append(told)
            transaction.set_rollback(True)
    assert [told[0][2] for told in worlds] == [["1", "1", "0", "0"], ["0", "0", "1", "1"]]
    of_carl = ([False] * 3, [], ["0"] * 4)
    of_olga = {"carl": ([True] * 3, [], 403), "stan": ([True] * 3, [1], 403)}
    assert worlds[0][1:] == worlds[1][1:] == [of_olga["carl"], of_carl, of_olga["stan"], of_carl]


@pytest.mark.parametrize("is_earlier", [False, True])
def test_the_line_of_a_closed_round_does_not_tell_a_blind_owner_whether_others_differ_there(is_earlier: bool) -> None:
    """The page closes with disagreements left open where there are some, so this follows from answers."""
    lines = {}
    for slug, differ in (("agreeing", False), ("differing", True)):
        study = new_study(slug)
        make.rate(make.open_round(study, 1), f"item bob carol\n1 crash {'hang' if differ else 'crash'}")
        make.open_round(study, 1, raters=("olga", "zed"))
        add = {"username": make.user("mia").username, "roles": ["owner"]}
        members.add_member(seat=make.owner_seat(study), **add)
        make.accept("mia")
        rounds.close_round(seat=make.seat(study, "mia"), number=1, leave_open=differ)
        if is_earlier:
            with history_rewritten() as cursor:
                told = "detail = detail || jsonb_build_object('leave_open', %s)"
                cursor.execute(f"UPDATE annotation_auditevent SET {told} WHERE verb = 'round closed'", [differ])
        for name in ("olga", "mia"):
            found = audit_of(make.seat(study, name)).filter(detail__round=1, verb__in=["round closed", "left open"])
            lines[slug, name] = sorted((each.verb, str(each.detail)) for each in found)
    assert lines["agreeing", "olga"] == lines["differing", "olga"]
    assert bool(lines["agreeing", "olga"]) is not is_earlier
    assert lines["agreeing", "mia"] != lines["differing", "mia"]
