"""Results of a round under way are read with a line in the audit log, and whoever has one is not blind there."""

import threading
from typing import Any

import pytest
from django.db import connection, transaction
from django.test import Client

from accounts.models import User
from annotation.agreement_report.views import agreement
from annotation.assignments import jobs as rule_jobs
from annotation.assignments.actions.reading_locks import held_unblinded, is_held_unblinded
from annotation.assignments.actions.reading_log import PAGE, note_results
from annotation.assignments.queries import READ, unblinded_among
from annotation.core.errors import Blind
from annotation.core.paging import page_of
from annotation.discussion.actions import write_remark
from annotation.inbox import views as inbox_views
from annotation.invitations.actions.invitations import accept_invitation, invite
from annotation.members.actions import members
from annotation.models import Assignment, AuditEvent, Membership, Proposal, Round, RoundRater, Study
from annotation.resolving.actions.third_rater_requests import people_to_ask
from annotation.rounds.actions import rounds
from annotation.studies.actions import studies
from tests import builders as make
from tests.annotation.core.test_independence import ask, in_state, read_by, reads, rejected, resolving_with_carol_free
from tests.scripts import Script

pytestmark = pytest.mark.django_db


# Whom a rule or an owner asks as third rater


@pytest.mark.parametrize(
    "path",
    ["api:agreement/?round=1", "api:labels/", "api:labels/?format=csv", "api:analysis/counts/?dimension=symptom",
     "api:agreement/methods/", "agreement/", "analysis/", "exports/labels.csv", "exports/resolutions.csv",
     "taxonomy:usage/?version=1", "items/?label=symptom:hang"],
)  # fmt: skip
def test_a_rater_who_read_results_of_a_round_that_is_resolved_is_no_blind_third_rater(path: str) -> None:
    round_, free = resolving_with_carol_free()
    if path.startswith("api:"):
        assert read_by("carol", path.removeprefix("api:")).status_code == 200
    else:
        carol = Client()
        carol.force_login(make.user("carol"))
        slug = round_.study.taxonomy.slug
        place = f"/taxonomies/{slug}/{path[9:]}" if path.startswith("taxonomy:") else f"/studies/study/{path}"
        assert carol.get(place).status_code == 200
    assert [who for who, _, _ in reads()] == ["carol"]
    studies.change_study(seat=make.owner_seat(round_.study), changes={"third_rater": True})
    rule_jobs.rule_items(round_.pk, [free.pk])
    assert not Assignment.objects.filter(round=round_, item=free, slot=None).exists()
    rejected(ask(item=free.identifier, rater="carol"))
    assert ask(item=free.identifier, rater="carol", unblinded=True).json()["unblinded"] is True


@pytest.mark.parametrize("door", ["REST", "page", "file"])
def test_who_is_told_that_a_label_is_too_rare_for_a_question_has_read_it(door: str) -> None:
    """The category is there, and folded: so it was agreed on, and less often than that."""
    _, free = resolving_with_carol_free()
    question = "?mark=symptom&value=crash&fold=symptom:9"
    paths = {"page": "analysis/shares/", "file": "analysis/shares/table/shares.csv"}
    if door == "REST":
        answer = read_by("carol", f"analysis/shares/{question}")
    else:
        carol = Client()
        carol.force_login(make.user("carol"))
        answer = carol.get(f"/studies/study/{paths[door]}{question}")
    assert answer.status_code == 422 and "is folded into other categories" in answer.content.decode()
    assert [who for who, _, _ in reads()] == ["carol"]
    rejected(ask(item=free.identifier, rater="carol"))


@pytest.mark.parametrize("path", ["labels/", "labels/?format=csv", "analysis/counts/?dimension=symptom"])
def test_who_read_results_of_a_later_closed_queue_is_no_blind_third_rater_of_a_round_before_it(path: str) -> None:
    """What was agreed in the earlier round is among them, also if that round was opened last."""
    round_, free = resolving_with_carol_free()
    make.next_version(round_.study, make.HANG_SPLIT)
    make.worklist(round_.study, 2, "item asked raters\n1 symptom dan", state=Round.State.CLOSED)
    on = "&" if "?" in path else "?"
    assert read_by("carol", f"{path}{on}round=2").status_code == 200
    assert [who for who, _, _ in reads()] == ["carol"]
    rejected(ask(item=free.identifier, rater="carol"))


def test_a_member_without_a_role_who_read_results_is_no_blind_third_rater() -> None:
    """A study's file can bring a name without roles, and its link to an account makes such a member."""
    round_, free = resolving_with_carol_free()
    Membership.objects.filter(study=round_.study, user__username="carol").update(roles=[])
    assert read_by("carol", "labels/?round=1").status_code == 200
    assert [who for who, _, _ in reads()] == ["carol"]
    members.set_member(seat=make.owner_seat(round_.study), username="carol", roles=["rater"])
    rejected(ask(item=free.identifier, rater="carol"))


def test_who_is_asked_while_results_are_computed_is_not_shown_them(monkeypatch: pytest.MonkeyPatch) -> None:
    _, free = resolving_with_carol_free()
    compute = agreement.agreement_report

    def asked_meanwhile(*given: Any, **named: Any) -> Any:
        found = compute(*given, **named)
        assert ask(item=free.identifier, rater="carol").json()["unblinded"] is False
        return found

    carol = Client()
    carol.force_login(make.user("carol"))
    with monkeypatch.context() as patch:
        patch.setattr(agreement, "agreement_report", asked_meanwhile)
        answer = carol.get("/studies/study/agreement/")
    assert answer.status_code == 403 and "Open it again." in answer.content.decode()
    assert carol.get("/studies/study/agreement/").status_code == 200


@pytest.mark.django_db(transaction=True)
def test_who_is_being_asked_when_they_read_waits_and_is_shown_nothing() -> None:
    round_, free = resolving_with_carol_free()
    studies.change_study(seat=make.owner_seat(round_.study), changes={"third_rater": True})
    seat = make.seat(round_.study, "carol")
    assert seat.hidden_answers == (frozenset(), frozenset())  # what a page computes, before it notes the reading
    said: list[BaseException | None] = []

    def read() -> None:
        try:
            note_results(seat, "agreement", PAGE)
            said.append(None)
        except Blind as error:
            said.append(error)
        finally:
            connection.close()

    readers = [threading.Thread(target=read) for _ in range(2)]
    with transaction.atomic():
        rule_jobs.rule_items(round_.pk, [free.pk])
        assert Assignment.objects.get(round=round_, item=free, slot=None).rater.user_name == "carol"
        for reader in readers:  # the second finds the line that the first has just added
            reader.start()
            reader.join(1)
            assert reader.is_alive() and not said, "it does not wait for an assignment that is not committed yet"
    for reader in readers:
        reader.join(20)
    assert len(said) == 2 and all(isinstance(each, Blind) for each in said)
    assert not Assignment.objects.get(round=round_, item=free, slot=None).unblinded


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("roles", [["rater", "owner"], ["adjudicator"], ["reader"], "link"])
def test_a_role_is_given_after_an_assignment_that_is_not_committed_yet(roles: Any) -> None:
    """By the role they read answers at once, and leave no line where it is known by the role."""
    round_, free = resolving_with_carol_free()
    studies.change_study(seat=make.owner_seat(round_.study), changes={"third_rater": True})
    key = invite(seat=make.owner_seat(round_.study), roles=["adjudicator"])[1]
    given: list[None] = []

    def give() -> None:
        try:
            if roles == "link":
                accept_invitation(user=make.user("carol"), plaintext=key)
            else:
                give_roles(*roles)
            given.append(None)
        finally:
            connection.close()

    giver = threading.Thread(target=give)
    with transaction.atomic():
        rule_jobs.rule_items(round_.pk, [free.pk])
        assert Assignment.objects.get(round=round_, item=free, slot=None).rater.user_name == "carol"
        giver.start()
        giver.join(1)
        assert giver.is_alive() and not given
    giver.join(20)
    assert given and make.seat(round_.study, "carol").withheld == {(round_.pk, free.pk)}


def give_roles(*roles: str) -> None:
    answer = Script("olga").send("POST", "studies/study/members/", {"user": "carol", "roles": list(roles)})
    assert answer.status_code == 200, answer.content


def test_who_was_given_a_role_since_they_were_looked_up_is_no_blind_third_rater() -> None:
    """As where a role is given between the choice of candidates and the lock."""
    round_, _ = resolving_with_carol_free()
    before = Membership.objects.get(study=round_.study, user__username="carol")
    assert unblinded_among(round_, [before]) == set()
    give_roles("rater", "adjudicator")
    assert held_unblinded(round_, [before]) == {before.pk}


@pytest.mark.parametrize("door", ["page", "REST"])
def test_a_remark_that_is_read_in_the_inbox_counts_as_reading_its_discussion(door: str) -> None:
    round_, free = resolving_with_carol_free()
    olga = make.owner_seat(round_.study)
    write_remark(seat=olga, round_=round_, item=free, text="@R2 look: R1 gave crash and R3 hang.")
    carol = Client()
    carol.force_login(make.user("carol"))
    answer = carol.get("/inbox/") if door == "page" else Script("carol").send("GET", "inbox/")
    assert "R3 hang" in answer.content.decode()
    assert reads() == [("carol", door, "inbox")]
    rejected(ask(item=free.identifier, rater="carol"))


def test_who_is_asked_while_the_inbox_is_read_is_shown_no_remark_on_the_item(monkeypatch: pytest.MonkeyPatch) -> None:
    round_, free = resolving_with_carol_free()
    write_remark(seat=make.owner_seat(round_.study), round_=round_, item=free, text="@R2 look: R1 gave crash, R3 hang.")

    def asked_meanwhile(*given: Any, **named: Any) -> Any:
        found = page_of(*given, **named)
        assert ask(item=free.identifier, rater="carol").json()["unblinded"] is False
        return found

    carol = Client()
    carol.force_login(make.user("carol"))
    with monkeypatch.context() as patch:
        patch.setattr(inbox_views, "page_of", asked_meanwhile)
        answer = carol.get("/inbox/")
    assert answer.status_code == 403 and "R3 hang" not in answer.content.decode()
    shown = carol.get("/inbox/")
    assert shown.status_code == 200 and "R3 hang" not in shown.content.decode()


@pytest.mark.parametrize("way", ["nothing", "line", "role", "draft"])
def test_who_read_answers_to_an_item_in_another_round_is_no_blind_third_rater_for_it(way: str) -> None:
    study = make.study(raters=("bob", "carol", "dan", "erin", "mal"))
    seat = make.owner_seat(study)
    first = make.open_round(study, 2)
    make.submit(first, "bob", 1, {}, proposals={"symptom": {"name": "Deadlock", "memo": "both wait"}})
    if way == "role":
        members.set_member(seat=seat, username="mal", roles=["adjudicator", "rater"])
        members.set_member(seat=seat, username="mal", roles=["rater"])
    make.rate(first, "item carol\n1 crash\n2 hang")
    make.rate(first, "item bob\n2 hang")
    if way == "line":
        assert read_by("mal", "labels/?round=1").status_code == 200
    if way == "draft":
        study.taxonomy.maintainers.add(make.user("mal"))
        place = f"studies/study/proposals/{Proposal.objects.get().public_id}/"
        assert Script("olga").send("POST", place, {"accept": {"name": "Deadlock"}}).status_code == 200
    second = make.rate(make.open_round(study, 1, raters=("dan", "erin")), "item dan erin\n1 crash hang")
    Membership.objects.filter(user__username__in=["bob", "carol"]).update(roles=[])
    item = second.round_items.get().item
    assert people_to_ask(make.seat(study, "ada"), second, item) == [("R5", "mal", way != "nothing")]
    owed = Assignment.objects.create(round=second, item=item, rater=make.member(study, "bob"), position=1)
    assert is_held_unblinded(second, owed.rater, make.member(study, "mal"), {}) == (way != "nothing")
    owed.delete()
    studies.change_study(seat=seat, changes={"third_rater": True})
    rule_jobs.rule_items(second.pk, [item.pk])
    asked = Assignment.objects.filter(round=second, slot=None)
    if way == "nothing":
        assert [each.unblinded for each in asked] == [False]
        return
    assert not asked.exists()
    rejected(ask(round=second.number, rater="mal"))
    with make.queues_aside(study):
        assert ask(round=second.number, rater="mal", unblinded=True).json()["unblinded"] is True


def test_an_account_that_read_before_its_study_was_moved_is_not_blind_here() -> None:
    """As after an import: the line names the account elsewhere, which the member formerly had."""
    round_, free = resolving_with_carol_free()
    elsewhere = make.user("elsewhere-carol")
    member = make.member(round_.study, "carol")
    Membership.objects.filter(pk=member.pk).update(formerly=elsewhere)
    detail = {"round": 1, "what": "item", "door": "page"}
    AuditEvent.objects.create(study=round_.study, user=elsewhere, verb=READ, detail=detail)
    assert unblinded_among(round_, [make.member(round_.study, "carol")]) == {member.pk}
    rejected(ask(item=free.identifier, rater="carol"))


# Accounts that were invited, or take a name's place


def with_a_name() -> tuple[Study, Membership]:
    """An open round with an answer of bob's, in which a member without an account rates, as after an import."""
    study = in_state("open")
    name_only = Membership.objects.create(study=study, name="Rae", code="R9", roles=["rater"])
    RoundRater.objects.create(round=study.rounds.get(), rater=name_only)
    return study, name_only


def join(name_only: Membership, username: str) -> str:
    olga = Client()
    olga.force_login(make.user("olga"))
    place = f"/studies/study/members/{name_only.pk}/join/"
    return olga.post(place, {"username": username}, follow=True).content.decode()


def accept(name: str) -> None:
    key = Script(name).send("GET", "me/invitations/").json()["results"][0]["id"]
    assert Script(name).send("POST", f"me/invitations/{key}/accept/").status_code == 200


def marked() -> list[tuple[int, str]]:
    """Round and rater of the lines about raters who were marked when they came in."""
    lines = AuditEvent.objects.filter(verb="rater marked unblinded").order_by("pk")
    return list(lines.values_list("detail__round", "detail__rater"))


@pytest.mark.parametrize("way", ["button", "link", "by staff"])
def test_a_name_in_an_open_round_becomes_an_account_of_the_staff_that_is_marked_when_it_comes_in(way: str) -> None:
    """Before, the owner is told what they would be told of anyone."""
    _, name_only = with_a_name()
    assert "could read its labels" not in join(name_only, "stan")
    assert not RoundRater.objects.get(rater=name_only).unblinded
    if way == "button":
        accept("stan")
    elif way == "link":
        study = Study.objects.get()
        accept_invitation(user=make.user("stan"), plaintext=invite(seat=make.owner_seat(study), roles=["rater"])[1])
    else:
        User.objects.filter(username="olga").update(is_staff=True)
        answer = Script("olga").send("POST", "studies/study/members/", {"user": "stan", "roles": ["rater"]})
        assert (answer.status_code, answer.json()["state"]) == (200, "member")
    assert RoundRater.objects.get(rater=name_only).unblinded
    assert marked() == [(1, "R9")]


def test_a_name_that_is_asked_as_a_third_rater_becomes_an_account_of_the_staff_that_is_marked() -> None:
    round_, free = resolving_with_carol_free()
    make.user("stan", staff=True)
    name_only = Membership.objects.create(study=round_.study, name="Rae", code="R9", roles=["rater"])
    asked = Assignment.objects.create(round=round_, item=free, rater=name_only, position=9)
    assert "could read its labels" not in join(name_only, "stan")
    accept("stan")
    asked.refresh_from_db()
    assert asked.unblinded


def test_a_name_becomes_an_account_that_could_read_nothing_and_stays_blind() -> None:
    study, name_only = with_a_name()
    assert "could read its labels" not in join(name_only, make.user("nina").username)
    accept("nina")
    row = RoundRater.objects.get(rater=name_only)
    assert not row.unblinded and marked() == []
    assert make.seat(study, "nina").blind_round_ids == {row.round_id}


def test_an_account_that_has_read_is_marked_when_it_accepts_an_invitation_of_an_older_release() -> None:
    study, name_only = with_a_name()
    join(name_only, make.user("nina").username)
    detail = {"round": 1, "what": "labels", "door": "REST"}
    AuditEvent.objects.create(study=study, user=make.user("nina"), verb=READ, detail=detail)
    accept("nina")
    assert RoundRater.objects.get(rater=name_only).unblinded
    assert marked() == [(1, "R9")]


@pytest.mark.parametrize("was_there", [True, False])
def test_a_role_that_a_name_had_on_another_server_counts_though_its_account_never_has_it_here(
    was_there: bool,
) -> None:
    study = in_state("open")
    there = make.user("elsewhere-rae") if was_there else None
    rae = Membership.objects.create(study=study, name="Rae", code="R9", formerly=there, roles=["adjudicator", "rater"])
    make.user("nina")
    join(rae, "nina")
    olga = Script("olga")
    assert olga.send("POST", "studies/study/members/", {"user": "nina", "roles": ["rater"]}).status_code == 200
    accept("nina")
    assert make.member(study, "nina").code == "R9"
    answer = olga.send("POST", "studies/study/rounds/1/raters/", {"user": "nina"})
    assert answer.status_code == (409 if was_there else 201)


def test_nobody_takes_the_places_of_two_accounts_of_another_server() -> None:
    study = in_state("open")
    for name, code in (("Rae", None), ("Sue", "R9")):
        there = make.user(f"elsewhere-{name.lower()}")
        Membership.objects.create(study=study, name=name, code=code, formerly=there, roles=["rater"])
    make.user("nina")
    join(study.memberships.get(name="Rae"), "nina")
    assert "nina already has the place of Rae" in join(study.memberships.get(name="Sue"), "nina")


# Drafts of the taxonomy


@pytest.mark.parametrize("is_staff", [False, True])
def test_a_proposal_is_not_accepted_while_who_reads_drafts_of_the_taxonomy_rates_in_its_open_round(
    is_staff: bool,
) -> None:
    study = in_state("open")
    round_ = study.rounds.get()
    make.submit(round_, "carol", 1, {}, proposals={"symptom": {"name": "Deadlock", "memo": "both wait"}})
    bob = make.user("bob")
    if is_staff:
        bob.is_staff = True
        bob.save()
    else:
        study.taxonomy.maintainers.add(bob)
    place = f"studies/study/proposals/{Proposal.objects.get().public_id}/"
    given = {"accept": {"name": "Deadlock"}}
    answer = Script("olga").send("POST", place, given)
    assert (answer.status_code, answer.json()["code"]) == (409, "maintainer_blind")
    assert "R1 is a rater in round 1" in answer.json()["message"]
    assert not study.taxonomy.versions.filter(state="draft").exists()
    make.rate(round_, "item carol\n2 hang")
    round_.refresh_from_db()
    assert round_.state == "resolving"
    assert Script("olga").send("POST", place, given).status_code == 200


@pytest.mark.parametrize("asked", ["resolving", "open", "another round"])
def test_a_proposal_is_not_accepted_while_who_reads_drafts_of_the_taxonomy_is_to_answer_its_item(asked: str) -> None:
    study = make.study(resolve_when="item" if asked == "open" else "round")
    mal = members.add_member(seat=make.owner_seat(study), username=make.user("mal").username, roles=["rater"])
    study.taxonomy.maintainers.add(mal.user)
    round_ = make.open_round(study, 2)
    make.submit(round_, "carol", 1, {}, proposals={"symptom": {"name": "Deadlock", "memo": "both wait"}})
    make.submit(round_, "bob", 1, {"symptom": ["crash"]})
    if asked != "open":
        make.rate(round_, "item bob carol\n2 hang hang")
    if asked == "another round":
        rounds.close_round(seat=make.owner_seat(study), number=1, leave_open=True)
        round_ = make.open_round(study, 1, raters=("bob", "mal"))
    else:
        assert ask(round=1, item="acme/rocket#1", rater="mal").json()["unblinded"] is False
    place = f"studies/study/proposals/{Proposal.objects.get().public_id}/"
    given = {"accept": {"name": "Deadlock"}}
    answer = Script("olga").send("POST", place, given)
    assert (answer.status_code, answer.json()["code"]) == (409, "maintainer_blind")
    assert not study.taxonomy.versions.filter(state="draft").exists()
    make.rate(round_, "item mal\n1 hang")
    if asked == "another round":
        assert Script("olga").send("POST", place, given).status_code == 409
        make.rate(round_, "item bob\n1 hang")
    assert Script("olga").send("POST", place, given).status_code == 200


@pytest.mark.parametrize("maintains", [False, True])
def test_who_maintains_the_taxonomy_is_marked_where_a_draft_shows_what_was_proposed_before(maintains: bool) -> None:
    study = make.study()
    round_ = make.open_round(study, 2)
    make.submit(round_, "carol", 1, {}, proposals={"symptom": {"name": "Deadlock", "memo": "both wait"}})
    mal = members.add_member(seat=make.owner_seat(study), username=make.user("mal").username, roles=["rater"])
    if maintains:
        study.taxonomy.maintainers.add(mal.user)
    place = f"studies/study/proposals/{Proposal.objects.get().public_id}/"
    assert Script("olga").send("POST", place, {"accept": {"name": "Deadlock"}}).status_code == 200
    answer = Script("olga").send("POST", "studies/study/rounds/1/raters/", {"user": "mal"})
    assert answer.status_code == (409 if maintains else 201)
    if maintains:
        assert answer.json()["code"] == "not_blind_any_more"
        answer = Script("olga").send("POST", "studies/study/rounds/1/raters/", {"user": "mal", "unblinded": True})
    assert (answer.status_code, answer.json()["unblinded"]) == (201, maintains)


def test_a_proposal_counts_for_each_item_of_its_round_in_other_rounds() -> None:
    """An owner who rates there (a relabeling queue withholds no other rounds) must not learn for which it was."""
    study = make.study(raters=("bob", "carol", "dan", "eve"))
    mal = members.add_member(seat=make.owner_seat(study), username=make.user("mal").username, roles=["rater"])
    study.taxonomy.maintainers.add(mal.user)
    round_ = make.open_round(study, 2)
    make.rate(make.open_round(study, 2, raters=("dan", "eve")), "item dan eve\n1 crash hang\n2 crash hang")
    make.submit(round_, "carol", 1, {}, proposals={"symptom": {"name": "Deadlock", "memo": "both wait"}})
    place = f"studies/study/proposals/{Proposal.objects.get().public_id}/"
    assert Script("olga").send("POST", place, {"accept": {"name": "Deadlock"}}).status_code == 200
    refused = [ask(round=2, item=f"acme/rocket#{n}", rater="mal").status_code for n in (1, 2)]
    assert refused == [409, 409]
    make.rate(round_, "item bob carol\n1 crash -\n2 hang hang")
    assert study.rounds.get(number=1).state == "resolving"
    asked = [ask(round=2, item=f"acme/rocket#{n}", rater="mal").status_code for n in (1, 2)]
    assert asked == [409, 409]
