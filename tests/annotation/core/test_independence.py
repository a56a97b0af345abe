"""Independence of raters: whoever could read the answers of an open round rates there only as someone who could."""

from typing import Any

import pytest
from django.db import transaction
from django.db.models import Q
from django.test import Client
from django.utils import timezone

from annotation.analysis.actions import save_analysis
from annotation.assignments import jobs as rule_jobs
from annotation.core.access import get_item, get_whole_study
from annotation.exports import jobs as export_jobs
from annotation.exports.actions import request_export
from annotation.exports.queries import rows
from annotation.members.actions import leaving, members
from annotation.models import Annotation, Assignment, AuditEvent, Item, Membership, Proposal, RoundRater, Study
from annotation.rounds.actions import raters as rater_actions
from annotation.rounds.actions import rounds
from annotation.studies.actions import studies
from tests import builders as make
from tests.scripts import Script

pytestmark = pytest.mark.django_db

HANG = {"labels": {"symptom": ["hang"]}}


def study_with_arat(**more: Any) -> Study:
    """A study in which arat adjudicates and rates, in addition to olga, ada and the raters bob and carol."""
    study = make.study(**more)
    roles = ["adjudicator", "rater"]
    members.add_member(seat=make.owner_seat(study), username=make.user("arat").username, roles=roles)
    return study


def read_by(name: str, path: str = "ratings/?round=1") -> Any:
    return Script(name).send("GET", f"studies/study/{path}")


def test_a_rater_without_an_item_is_blind_in_a_planned_round_and_stays_so_when_items_come() -> None:
    study = study_with_arat()
    round_ = make.open_round(study, 4, kind="main")
    assert rater_actions.add_rater(seat=make.owner_seat(study), number=1, user="arat").n_given == 0
    make.rate(round_, "item bob\n1 hang\n2 hang")
    assert read_by("arat").json()["results"] == []
    assert make.seat(study, "arat").blind_round_ids == {round_.pk}
    assert read_by("arat", "agreement/?round=1").status_code == 403
    found = rater_actions.withdraw_rater(seat=make.owner_seat(study), number=1, rater="carol")
    assert {to.code: n for to, n in found.given} == {"R3": 4}
    assert read_by("arat").json()["results"] == []


def replaced(study: Study, name: str) -> Any:
    """Bob has answered items 1 to 4, carol none and is withdrawn; then `name` is to take her place."""
    round_ = make.open_round(study, 4, kind="main")
    make.rate(round_, "item bob\n1 hang\n2 hang\n3 crash\n4 crash")
    rater_actions.withdraw_rater(seat=make.owner_seat(study), number=1, rater="carol")
    return round_


def rejected(answer: Any, code: str = "not_blind_any_more") -> str:
    assert (answer.status_code, answer.json()["code"]) == (409, code), answer.content
    return str(answer.json()["message"])


def add(name: str, **more: Any) -> Any:
    return Script("olga").send("POST", "studies/study/rounds/1/raters/", {"user": name, **more})


def before(path: str = "agreement/?round=1&when=before") -> Any:
    (entry,) = Script("rea").send("GET", f"studies/study/{path}").json()
    return entry


@pytest.mark.parametrize("name", ["olga", "ada"])
def test_an_owner_or_adjudicator_who_read_answers_is_added_only_as_an_unblinded_rater(name: str) -> None:
    study = make.study()
    round_ = replaced(study, name)
    roles = {"olga": ["owner", "rater"], "ada": ["adjudicator", "rater"]}[name]
    members.add_member(seat=make.owner_seat(study), username=name, roles=roles)
    assert len(read_by(name).json()["results"]) == 4
    assert "let them read its labels" in rejected(add(name))
    assert not RoundRater.objects.filter(rater__user__username=name).exists()
    made = add(name, unblinded=True)
    assert (made.status_code, made.json()["unblinded"], made.json()["n_assigned"]) == (201, True, 4)
    make.rate(round_, f"item {name}\n1 hang\n2 hang\n3 hang\n4 hang")
    round_.refresh_from_db()
    assert round_.state == "resolving"


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("leaves", [False, True])
def test_someone_could_read_until_the_commit_that_took_their_role(leaves: bool) -> None:
    """Before, what they handed out is ended, which can take seconds, and they read all the while."""
    study = make.study()
    seat = make.owner_seat(study)
    members.add_member(seat=seat, username=make.user("carl").username, roles=["owner", "rater"])
    with transaction.atomic():
        if leaves:
            leaving.remove_member(seat=seat, member=make.member(study, "carl"))
        else:
            members.set_member(seat=seat, username="carl", roles=["rater"])
        given = timezone.now()
    member = study.memberships.get(Q(user__username="carl") | Q(former_user__username="carl"))
    assert member.could_read_until is not None and member.could_read_until >= given


def test_staff_who_are_invited_are_marked_when_they_accept_and_nothing_tells_that_they_are_before() -> None:
    study = make.study()
    replaced(study, "sam")
    told = {}
    for name in ("sam", "dan"):
        make.user(name, staff=name == "sam")
        invited = Script("olga").send("POST", "studies/study/members/", {"user": name, "roles": ["rater"]})
        assert (invited.status_code, invited.json()["state"]) == (201, "invited")
        answer = add(name)
        assert (answer.status_code, answer.json()["unblinded"]) == (201, False)
        told[name] = {key: value for key, value in answer.json().items() if key not in {"code", "user"}}
    assert told["sam"]["n_assigned"] == 4 and told["sam"] | {"n_assigned": 0} == told["dan"]
    for name in told:
        make.accept(name)
    marked = RoundRater.objects.filter(rater__user__username__in=told).order_by("rater__user__username")
    assert [each.unblinded for each in marked] == [False, True]


def with_an_unblinded_rater() -> tuple[Study, Any]:
    """Bob answers items 1 to 4, ada reads them and answers in carol's place, twice otherwise; a round that resolves."""
    study = make.study()
    round_ = replaced(study, "ada")
    members.add_member(seat=make.owner_seat(study), username="ada", roles=["adjudicator", "rater"])
    assert add("ada", unblinded=True).status_code == 201
    return study, make.rate(round_, "item ada\n1 hang\n2 hang\n3 hang\n4 hang")


def test_answers_of_an_unblinded_rater_count_nowhere_before_discussion_and_everywhere_after() -> None:
    _, round_ = with_an_unblinded_rater()
    assert before()["units"] == 0
    after = before("agreement/?round=1&when=after")
    assert (after["units"], after["raters"]) == (4, 2)
    given = read_by("olga").json()["results"]
    assert {(row["rater"], row["revision"]) for row in given} == {("R1", "blind"), ("R3", "current")}
    blind = read_by("olga", "ratings/?round=1&revision=blind").json()["results"]
    assert {row["rater"] for row in blind} == {"R1"}
    make.submit(round_, "ada", 3, {"symptom": ["crash"]})
    given = read_by("olga").json()["results"]
    assert {(row["rater"], row["revision"]) for row in given} == {("R1", "blind"), ("R3", "current")}
    open_now = Script("ada").send("GET", "studies/study/disagreements/").json()["results"]
    assert [row["item"] for row in open_now] == ["acme/rocket#4"]
    labels = read_by("olga", "labels/?round=1").json()["results"]
    assert {row["item"] for row in labels} == {f"acme/rocket#{n}" for n in (1, 2, 3)}


def test_no_rater_passes_their_answers_off_as_imported() -> None:
    study = make.study()
    make.open_round(study, 1, kind="main")
    bob = Script("bob")
    body = {"assignment": read_by("bob", "rounds/1/next/").json()["assignment"], **HANG}
    answer = bob.send("POST", "studies/study/annotations/", body, **{"Idempotency-Key": "import:k21"})
    assert (answer.status_code, list(answer.json()["fields"])) == (422, ["Idempotency-Key"])
    assert not Annotation.objects.exists()
    assert bob.send("POST", "studies/study/annotations/", body, **{"Idempotency-Key": "k21"}).status_code == 201


def test_methods_and_checklist_name_an_unblinded_rater_by_code_and_claim_no_more() -> None:
    with_an_unblinded_rater()
    found = read_by("olga", "agreement/methods/").json()
    assert "R3 (round 1) could see labels of other raters before labeling" in found["paragraph"]
    assert "its other raters could not see each other’s labels." in found["paragraph"]
    assert "came from sheets" not in found["paragraph"]
    (check,) = [each for each in found["checklist"] if each["key"] == "independent"]
    assert check["answer"] == "partly" and "R3 (round 1) could see labels" in check["evidence"]


def test_the_checklist_says_yes_where_nobody_could_read_before_rating() -> None:
    study = make.study()
    make.rate(make.open_round(study, 2), "item bob carol\n1 hang hang\n2 crash hang")
    found = read_by("olga", "agreement/methods/").json()
    (check,) = [each for each in found["checklist"] if each["key"] == "independent"]
    assert check["answer"] == "yes" and "its raters could not see each other’s labels." in found["paragraph"]


def test_a_role_that_was_given_up_counts_if_there_were_answers_and_not_if_there_were_none() -> None:
    study = make.study(raters=("bob", "carol", "dan", "eve"))
    owner = make.owner_seat(study)
    members.add_member(seat=owner, username="dan", roles=["adjudicator", "rater"])
    round_ = make.open_round(study, 2, kind="main")
    members.add_member(seat=owner, username="dan", roles=["rater"])
    members.add_member(seat=owner, username="eve", roles=["adjudicator", "rater"])
    make.rate(round_, "item bob\n1 hang")
    members.add_member(seat=owner, username="eve", roles=["rater"])
    assert add("dan").json()["unblinded"] is False
    rejected(add("eve"))


def test_leaving_the_study_and_coming_back_does_not_blind_anybody_again() -> None:
    study = study_with_arat()
    round_ = make.open_round(study, 2, kind="main")
    make.rate(round_, "item bob\n1 hang")
    leaving.leave_study(seat=make.seat(study, "arat"))
    members.add_member(seat=make.owner_seat(study), username="arat", roles=["rater"])
    rejected(add("arat"))


def test_an_adjudicator_who_rates_from_the_start_stays_blind_whoever_leaves_and_whatever_they_become() -> None:
    study = study_with_arat()
    round_ = make.open_round(study, 2, raters=("bob", "arat"), kind="main")
    make.rate(round_, "item bob\n1 hang\n2 hang")
    make.submit(round_, "arat", 1, {"symptom": ["hang"]})
    owner = make.owner_seat(study)
    members.add_member(seat=owner, username="arat", roles=["owner", "rater"])
    rater_actions.withdraw_rater(seat=owner, number=1, rater="R3")
    assert make.seat(study, "arat").blind_round_ids == {round_.pk}
    assert add("arat").json()["unblinded"] is False


def test_an_adjudicator_who_left_without_an_answer_could_read_since() -> None:
    study = study_with_arat()
    round_ = make.open_round(study, 2, raters=("bob", "arat", "carol"), kind="main")
    make.rate(round_, "item bob\n1 hang\n2 hang")
    rater_actions.withdraw_rater(seat=make.owner_seat(study), number=1, rater="R3")
    assert len(read_by("arat").json()["results"]) == 2
    rejected(add("arat"))


def test_before_the_first_answer_of_someone_else_everybody_is_blind() -> None:
    study = study_with_arat()
    make.open_round(study, 2, kind="main")
    assert add("arat").json()["unblinded"] is False


def test_unblinded_is_true_or_false() -> None:
    study = study_with_arat()
    make.open_round(study, 2, kind="main")
    fields = Script("olga").refused("POST", "studies/study/rounds/1/raters/", {"user": "arat", "unblinded": "yes"})
    assert list(fields) == ["unblinded"]


def test_the_page_says_what_an_unblinded_rater_means_and_adds_one_only_by_the_second_button() -> None:
    study = make.study()
    replaced(study, "ada")
    members.add_member(seat=make.owner_seat(study), username="ada", roles=["adjudicator", "rater"])
    olga = Client()
    olga.force_login(make.user("olga"))
    answer = olga.post("/studies/study/rounds/1/raters/add/", {"user": "R3", "quota": "2"})
    page = answer.content.decode()
    assert answer.status_code == 409 and "Add R3 as an unblinded rater" in page and 'value="2"' in page
    assert not RoundRater.objects.filter(rater__user__username="ada").exists()
    form = {"user": "R3", "quota": "2", "unblinded": "1"}
    assert olga.post("/studies/study/rounds/1/raters/add/", form).status_code == 302
    assert ">unblinded</span>" in olga.get("/studies/study/rounds/1/").content.decode()
    assert AuditEvent.objects.get(verb="rater added").detail["unblinded"] is True


# Third raters


def disputed(study: Study) -> Any:
    return make.rate(make.open_round(study, 1, kind="main"), "item bob carol\n1 crash hang")


def ask(**more: Any) -> Any:
    return Script("olga").send("POST", "studies/study/third-raters/", {"item": "acme/rocket#1", **more})


def test_a_rule_never_asks_someone_who_could_read_the_answers() -> None:
    study = study_with_arat()
    round_ = disputed(study)
    assert round_.state == "resolving"
    studies.change_study(seat=make.owner_seat(study), changes={"third_rater": True})
    rule_jobs.rule_items(round_.pk, [get_item(make.owner_seat(study), "acme/rocket#1").pk])
    assert not Assignment.objects.filter(round=round_, slot=None).exists()
    members.add_member(seat=make.owner_seat(study), username=make.user("dan").username, roles=["rater"])
    rule_jobs.rule_items(round_.pk, [get_item(make.owner_seat(study), "acme/rocket#1").pk])
    assert Assignment.objects.get(round=round_, slot=None).rater.user == make.user("dan")


def test_by_hand_someone_who_could_read_the_answers_is_asked_by_name_and_marked() -> None:
    study = study_with_arat()
    round_ = disputed(study)
    assert "Name one of them" in ask().json()["fields"]["rater"][0]
    rejected(ask(rater="arat"))
    made = ask(rater="arat", unblinded=True)
    assert (made.status_code, made.json()["unblinded"]) == (201, True)
    make.submit(round_, "arat", 1, {"symptom": ["hang"]})
    given = Assignment.objects.get(round=round_, slot=None)
    assert given.blind is None and given.current is not None
    found = read_by("olga", "agreement/methods/").json()
    assert "R3 (round 1) could see labels of other raters before labeling" in found["paragraph"]


def resolving_with_carol_free(*, is_skipped: bool = False) -> Any:
    """Bob and dan differ on an item that carol, who rates in the same round, does not have, or both skip it."""
    study = make.study(raters=("bob", "carol", "dan"))
    round_ = make.open_round(study, 3, raters=("bob", "carol", "dan"), raters_per_item=2, kind="main")
    for each in Assignment.objects.filter(round=round_).select_related("rater__user", "item"):
        name, number = each.rater.user_name or "", int(each.item.identifier.rpartition("#")[2])
        others = {row.rater.user_name for row in Assignment.objects.filter(round=round_, item=each.item)}
        if is_skipped and "carol" not in others:
            make.submit(round_, name, number, skip=f"it hangs, says {name}")
        else:
            make.submit(round_, name, number, {"symptom": ["hang" if name == "dan" else "crash"]})
    round_.refresh_from_db()
    assert round_.state == "resolving"
    of_carol = Assignment.objects.filter(round=round_, rater__user__username="carol").values("item")
    (free,) = Item.objects.filter(study=study).exclude(pk__in=of_carol)
    return round_, free


@pytest.mark.parametrize(
    "path",
    ["rounds/1/resolve/{item}/?walk=all", "rounds/1/discuss/", "items/{item}/", "api:remarks/?round=1"],
)
def test_a_rater_who_read_answers_of_a_round_that_is_resolved_is_no_blind_third_rater(path: str) -> None:
    round_, free = resolving_with_carol_free()
    place = path.format(item=free.pk)
    if place.startswith("api:"):
        assert read_by("carol", place.removeprefix("api:")).status_code == 200
    else:
        carol = Client()
        carol.force_login(make.user("carol"))
        assert carol.get(f"/studies/study/{place}").status_code == 200
    assert [who for who, _, _ in reads()] == ["carol"]
    studies.change_study(seat=make.owner_seat(round_.study), changes={"third_rater": True})
    rule_jobs.rule_items(round_.pk, [free.pk])
    assert not Assignment.objects.filter(round=round_, item=free, slot=None).exists()
    item = {"item": free.identifier, "rater": "carol"}
    rejected(Script("olga").send("POST", "studies/study/third-raters/", item))
    made = Script("olga").send("POST", "studies/study/third-raters/", {**item, "unblinded": True})
    assert (made.status_code, made.json()["unblinded"]) == (201, True)
    make.submit(round_, "carol", int(free.identifier.rpartition("#")[2]), {"symptom": ["hang"]})
    given = Assignment.objects.get(round=round_, item=free, slot=None)
    assert given.blind is None and given.current is not None
    assert "R2 (round 1) could see labels" in read_by("olga", "agreement/methods/").json()["paragraph"]


def test_why_others_skipped_an_item_is_an_answer_that_someone_read() -> None:
    _, free = resolving_with_carol_free(is_skipped=True)
    carol = Client()
    carol.force_login(make.user("carol"))
    assert "it hangs, says bob" in carol.get(f"/studies/study/items/{free.pk}/").content.decode()
    assert reads() == [("carol", "page", "item")]


def test_a_member_without_roles_leaves_a_line_as_raters_do() -> None:
    """No action makes one, and a role can be given later."""
    round_, free = resolving_with_carol_free()
    Membership.objects.filter(study=round_.study, user__username="carol").update(roles=[])
    carol = Client()
    carol.force_login(make.user("carol"))
    assert carol.get(f"/studies/study/items/{free.pk}/").status_code == 200
    assert reads() == [("carol", "page", "item")]


@pytest.mark.parametrize("path", ["", "ratings/?round=1", "ratings/?format=csv", "rounds/1/"])
def test_a_rater_who_read_only_their_own_answers_is_asked_by_rule_as_a_blind_third_rater(path: str) -> None:
    round_, free = resolving_with_carol_free()
    answer = read_by("carol", path)
    assert answer.status_code == 200 and (not answer.streaming or list(answer.streaming_content))
    assert reads() == []
    studies.change_study(seat=make.owner_seat(round_.study), changes={"third_rater": True})
    rule_jobs.rule_items(round_.pk, [free.pk])
    asked = Assignment.objects.get(round=round_, item=free, slot=None)
    assert asked.rater.code == "R2" and not asked.unblinded


# Who reads single answers of a round that is not closed


def in_state(state: str) -> Study:
    study = make.study(raters=("bob", "carol", "dan"))
    make.user("stan", staff=True)
    round_ = make.open_round(study, 2, kind="main")
    make.rate(round_, "item bob\n1 hang\n2 hang" if state == "open" else "item bob carol\n1 hang crash\n2 hang hang")
    if state == "closed":
        rounds.close_round(seat=make.owner_seat(study), number=1, leave_open=True)
    return study


@pytest.mark.parametrize(("state", "status"), [("open", 403), ("resolving", 403), ("closed", 200)])
@pytest.mark.parametrize("name", ["rea", "stan"])
def test_readers_and_staff_read_ratings_of_closed_rounds_only(state: str, status: int, name: str) -> None:
    in_state(state)
    assert read_by(name).status_code == status
    assert bool(read_by(name, "ratings/").json()["results"]) == (state == "closed")
    assert read_by(name, "evidence/?round=1").status_code == status
    assert read_by(name, "labels/?round=1").status_code == (403 if state == "open" else 200)
    if name == "stan":
        assert read_by(name, "disagreements/?round=1&state=all").status_code == status
        assert bool(read_by(name, "disagreements/?state=all").json()["results"]) == (state == "closed")
    for other in ("olga", "ada"):
        assert read_by(other, "ratings/").json()["results"]
    if status == 403:
        assert "only owners and adjudicators" in read_by(name).json()["message"]


@pytest.mark.parametrize("path", ["labels/", "agreement/", "analysis/counts/?dimension=symptom"])
def test_a_member_who_may_still_join_an_open_round_sees_no_result_of_it(path: str) -> None:
    study = in_state("open")
    there = f"{path}{'&' if '?' in path else '?'}round=1"
    answer = read_by("dan", there)
    assert answer.status_code == 403 and "could still become one of its raters" in answer.json()["message"]
    assert [read_by(name, there).status_code for name in ("ada", "olga", "bob", "rea", "stan")] == [200] * 2 + [403] * 3
    part = "&repository=acme/rocket" if path == "agreement/" else ""
    for name in ("rea", "stan"):
        refused = read_by(name, f"{there}{part}").json()["message"]
        assert refused == read_by(name, "ratings/?round=1").json()["message"]
        assert "Until it closes, only owners and adjudicators" in refused
    if path == "agreement/":
        assert read_by("dan", path).json() == read_by("rea", path).json() == [] != read_by("ada", path).json()
    make.rate(study.rounds.get(), "item carol\n1 hang\n2 hang")
    assert [read_by(name, there).status_code for name in ("dan", "rea", "stan")] == [200] * 3


def test_staff_do_not_download_a_file_with_answers_of_an_open_round() -> None:
    study = in_state("open")
    export = request_export(seat=make.owner_seat(study), what="ratings", format="csv", send=False)
    export_jobs.work(export.pk)
    path = f"exports/{export.public_id}/download/"
    assert Script("stan").send("GET", path).status_code == 403
    assert Script("olga").send("GET", path).status_code == 200
    make.rate(study.rounds.get(), "item carol\n1 hang\n2 hang")
    rounds.close_round(seat=make.owner_seat(study), number=1)
    assert Script("stan").send("GET", path).status_code == 200


# The audit log


def reads() -> list[tuple[str, str, str]]:
    lines = AuditEvent.objects.filter(verb="open answers read").order_by("pk")
    assert all(line.detail["round"] == 1 and line.user for line in lines)
    return [(line.user.username, line.detail["door"], line.detail["what"]) for line in lines if line.user]


def test_readings_of_open_answers_leave_one_line_for_each_person_round_and_door() -> None:
    study = in_state("open")
    for path in ("ratings/", "ratings/?round=1", "evidence/"):
        assert read_by("ada", path).status_code == 200
    assert reads() == [("ada", "REST", "ratings")]
    assert list(read_by("ada", "ratings/?format=csv").streaming_content)
    ada = Client()
    ada.force_login(make.user("ada"))
    for _ in range(2):
        assert ada.get("/studies/study/agreement/items/?dimension=symptom").status_code == 200
    assert reads()[1:] == [("ada", "file", "ratings"), ("ada", "page", "items behind agreement")]
    assert read_by("olga", "ratings/").status_code == 200
    assert reads()[3:] == [("olga", "REST", "ratings")]
    for name in ("bob", "carol", "dan", "rea", "stan"):
        read_by(name, "ratings/")
    assert len(reads()) == 4
    export = request_export(seat=make.owner_seat(study), what="ratings", format="csv", send=False)
    export_jobs.work(export.pk)
    Script("olga").send("GET", f"exports/{export.public_id}/download/")
    assert reads()[4:] == [("olga", "file", f"export {export.number}")]


def test_a_reading_after_a_new_or_changed_answer_leaves_another_line() -> None:
    study = in_state("open")
    round_ = study.rounds.get()
    for _ in range(2):
        read_by("ada", "ratings/")
    assert len(reads()) == 1
    make.rate(round_, "item carol\n1 hang")
    for _ in range(2):
        read_by("ada", "ratings/")
    assert len(reads()) == 2
    make.submit(round_, "carol", 1, {"symptom": ["crash"]})
    for _ in range(2):
        read_by("ada", "ratings/")
    assert len(reads()) == 3
    hashes = AuditEvent.objects.filter(verb="open answers read").values_list("detail__answers_hash", flat=True)
    assert len(set(hashes)) == 3


@pytest.mark.parametrize(
    "path",
    ["ratings/?version=99", "ratings/?cursor=wrong", "evidence/?cursor=wrong", "disagreements/?state=wrong",
     "remarks/?item=none", "proposals/?cursor=wrong"],
)  # fmt: skip
def test_a_request_that_is_rejected_leaves_no_line(path: str) -> None:
    in_state("open")
    assert 400 <= read_by("ada", path).status_code < 500
    assert reads() == []


@pytest.mark.parametrize(
    "path", ["rounds/1/resolve/999999/", "agreement/items/?dimension=none", "exports/ratings.csv?version=99"]
)
def test_a_page_that_is_rejected_leaves_no_line(path: str) -> None:
    study = make.study(resolve_when="item")
    make.rate(make.open_round(study, 2, kind="main"), "item bob carol\n1 hang crash")
    ada = Client()
    ada.force_login(make.user("ada"))
    assert 400 <= ada.get(f"/studies/study/{path}").status_code < 500
    assert reads() == []


@pytest.mark.parametrize(
    ("door", "path"),
    [
        ("REST", "evidence/"),
        ("REST", "disagreements/"),
        ("REST", "proposals/"),
        ("file", "exports/ratings.csv"),
        ("file", "exports/1/download/"),
        ("page", "rounds/1/resolve/"),
        ("page", "rounds/1/resolve/{item}/"),
        ("page", "rounds/1/discuss/"),
        ("page", "items/{item}/"),
        ("page", "proposals/"),
    ],
)
def test_every_door_to_open_answers_leaves_its_line(door: str, path: str) -> None:
    study = make.study(raters=("bob", "carol"), resolve_when="item")
    make.rate(make.open_round(study, 2, kind="main"), "item bob carol\n1 hang crash")
    export_jobs.work(request_export(seat=make.owner_seat(study), what="ratings", format="csv", send=False).pk)
    place = f"studies/study/{path.format(item=get_item(make.owner_seat(study), 'acme/rocket#1').pk)}"
    if door == "REST":
        answer = Script("olga").send("GET", place)
    else:
        client = Client()
        client.force_login(make.user("olga"))
        answer = client.get(f"/{place}")
    assert answer.status_code == 200
    assert [(who, by) for who, by, _ in reads()] == [("olga", door)]


@pytest.mark.parametrize("door", ["REST", "page"])
def test_reading_one_proposal_of_an_open_round_leaves_a_line_unless_it_is_ones_own(door: str) -> None:
    study = make.study()
    round_ = make.open_round(study, 2, kind="main")
    make.submit(round_, "bob", 1, {}, proposals={"symptom": {"name": "Deadlock", "memo": ""}})
    place = f"studies/study/proposals/{Proposal.objects.get().public_id}/"
    for name, lines in (("bob", []), ("ada", [("ada", door, "proposals")])):
        client = Client()
        client.force_login(make.user(name))
        answer = Script(name).send("GET", place) if door == "REST" else client.get(f"/{place}")
        assert answer.status_code == 200
        assert reads() == lines


def test_the_title_of_a_saved_analysis_is_hidden_from_who_may_still_join_an_open_round() -> None:
    study = in_state("open")
    title = "Everything is a hang"
    save_analysis(seat=make.seat(study, "ada"), title=title, kind="counts", question={"dimension": ["symptom"]})
    members.add_member(seat=make.owner_seat(study), username=make.user("yan").username, roles=["rater"])
    for name, status in (("yan", 403), ("bob", 403), ("rea", 403), ("ada", 200)):
        client = Client()
        client.force_login(make.user(name))
        assert client.get("/studies/study/analysis/1/").status_code == status
        listed = client.get("/studies/study/analysis/").content.decode()
        assert title not in listed or status == 200


def test_readings_of_closed_rounds_and_by_the_shell_leave_no_line() -> None:
    study = in_state("resolving")
    assert read_by("ada", "ratings/").json()["results"]
    assert read_by("ada", "disagreements/").json()["results"]
    assert [row for _, row in rows.ratings(get_whole_study(study.slug))]
    assert reads() == []


def test_who_reads_no_answers_of_a_round_does_not_see_who_read_them() -> None:
    study = make.study()
    members.add_member(seat=make.owner_seat(study), username=make.user("ida").username, roles=["owner"])
    members.add_member(seat=make.owner_seat(study), username="olga", roles=["owner", "rater"])
    round_ = make.open_round(study, 2, raters=("bob", "olga"))
    make.rate(round_, "item bob\n1 hang")
    make.user("stan", staff=True)
    assert read_by("ida", "ratings/").json()["results"] and len(reads()) == 1
    for name, is_seen in (("ida", True), ("olga", False), ("stan", False)):
        visitor = Client()
        visitor.force_login(make.user(name))
        lines = b"".join(visitor.get("/studies/study/audit/audit.csv").streaming_content)
        assert (b"open answers read" in lines) == is_seen
