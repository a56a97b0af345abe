"""Roles that end while someone acts or reads by them: what waits then is refused, and what was read is not shown."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection, transaction
from django.db.models import Q
from django.test import Client
from django.utils import timezone

from annotation.analysis.actions import remove_analysis, save_analysis
from annotation.choosing.actions.samples import screen_items
from annotation.core.access import Seat, changing, get_item, get_seat
from annotation.core.errors import Forbidden, NotFound
from annotation.discussion.actions import write_remark
from annotation.exports.actions import request_export
from annotation.invitations.actions.invitations import invite
from annotation.labeling.actions import answers
from annotation.members.actions import leaving, members
from annotation.members.actions.name_only_members import join_member
from annotation.members.actions.reader_links import make_reader_link, withdraw_reader_link
from annotation.models import Annotation, AuditEvent, Membership, Round, Study
from annotation.resolving.actions import resolutions
from annotation.rounds.actions import raters, rounds
from annotation.rounds.actions.absence import set_away
from annotation.studies.actions import archive, studies
from annotation.transfer.actions.life import delete_study
from tests import builders as make
from tests.annotation.permission_study import BASE, Visitor
from tests.annotation.queue_study import acts, build_with_queue
from tests.scripts import Script

pytestmark = pytest.mark.django_db


def with_carl(*roles: str) -> Study:
    study = make.study()
    members.add_member(seat=make.owner_seat(study), username=make.user("carl").username, roles=roles)
    make.open_round(study, 3)
    return study


def end_roles(study: Study, *, leaves: bool) -> None:
    seat = make.owner_seat(study)
    if leaves:
        leaving.remove_member(seat=seat, member=make.member(study, "carl"))
    else:
        members.set_member(seat=seat, username="carl", roles=["rater"])


def a_name(study: Study) -> Membership:
    return Membership.objects.create(study=study, name="Nina", roles=["rater"], code="R9")


ACTIONS: dict[str, Callable[[Study, Seat], Any]] = {
    "takes a role": lambda _, seat: members.set_member(seat=seat, username="carl", roles=["owner"]),
    "removes another owner": lambda study, seat: leaving.remove_member(seat=seat, member=make.member(study, "olga")),
    "takes a name": lambda study, seat: join_member(seat=seat, member=a_name(study), username="carl"),
    "invites": lambda _, seat: invite(seat=seat, roles=["owner"]),
    "makes a reader link": lambda _, seat: make_reader_link(seat=seat, label="Mine"),
    "changes the study": lambda _, seat: studies.change_study(seat=seat, changes={"title": "Mine"}),
    "archives": lambda _, seat: archive.archive_study(seat=seat),
    "deletes": lambda _, seat: delete_study(seat=seat, typed="study"),
    "makes a round": lambda _, seat: rounds.create_round(
        seat=seat, asked=rounds.NewRound(raters=["bob", "carol"], issues=["acme/rocket#1"])
    ),
    "screens items": lambda _, seat: screen_items(
        seat=seat, items=["acme/rocket#1"], screening="out", reason="No fault"
    ),
    "withdraws a rater": lambda _, seat: raters.withdraw_rater(seat=seat, number=1, rater="bob"),
    "asks for a file": lambda _, seat: request_export(seat=seat, what="ratings", format="csv", send=False),
    "deletes an analysis": lambda study, seat: remove_analysis(seat=seat, analysis=study.analyses.get(number=1)),
    "moves a round on": lambda _, seat: rounds.resolve_round(seat=seat, number=1),
}


@pytest.mark.slow
@pytest.mark.parametrize("who", ["mia", "eve"])
def test_no_act_over_rest_is_done_by_a_role_that_ended_after_it_was_looked_at(
    monkeypatch: pytest.MonkeyPatch, who: str
) -> None:
    """An owner and an adjudicator become raters at the moment in which an act of theirs has asked for the role."""
    study = build_with_queue(Round.State.OPEN)
    visitor, ended, wrong = Visitor(who), list[bool](), []
    pk, first_look = make.member(study, who).pk, Seat.require

    def look(seat: Seat, *roles: str) -> None:
        first_look(seat, *roles)
        if seat.membership is not None and seat.membership.pk == pk:
            ended.append(True)
            Membership.objects.filter(pk=pk).update(roles=["rater"])

    monkeypatch.setattr(Seat, "require", look)
    n = 0
    for method, path, body in acts(study):
        ended.clear()
        with transaction.atomic():
            answer = visitor.client.generic(
                method.upper(), f"{BASE}studies/study/{path}", json.dumps(body), "application/json",
                headers=visitor.headers,
            )  # fmt: skip
            n += len(ended) > 0
            is_done = answer.status_code < 300 and answer.content != b'{"repinned":0}'
            if ended and is_done:
                wrong.append(f"{method} {path} {body}: {answer.status_code}")
            transaction.set_rollback(True)
    assert n > 100 and not wrong, "\n".join(wrong)


@pytest.mark.parametrize("leaves", [False, True])
@pytest.mark.parametrize("action", ACTIONS)
def test_an_owner_who_is_one_no_more_does_nothing_that_waited_for_it(action: str, leaves: bool) -> None:
    study = with_carl("owner")
    waiting = get_seat(make.user("carl"), "study")
    save_analysis(seat=make.seat(study, "carl"), title="Symptoms", kind="counts", question={})
    end_roles(study, leaves=leaves)
    with pytest.raises(Forbidden, match="need the role owner"):
        ACTIONS[action](study, waiting)
    assert make.member(study, "olga").roles == ["owner"]


def test_what_an_owner_waited_for_is_done_where_they_are_one_still() -> None:
    study = with_carl("owner")
    waiting = get_seat(make.user("carl"), "study")
    members.set_member(seat=make.owner_seat(study), username="carl", roles=["owner", "reader"])
    assert studies.change_study(seat=waiting, changes={"title": "Ours"}).title == "Ours"


def test_a_rater_who_was_removed_changes_no_answer_by_a_submit_that_waited() -> None:
    study = make.study()
    round_ = make.rate(make.open_round(study, 2), "item bob\n1 hang\n2 crash")
    waiting = get_seat(make.user("bob"), "study")
    assignment = make.assignment(round_, "bob", 1).public_id
    leaving.remove_member(seat=make.owner_seat(study), member=make.member(study, "bob"))
    with pytest.raises(NotFound):
        answers.submit_annotation(seat=waiting, assignment=assignment, body={"labels": {"symptom": ["slow"]}})
    assert Annotation.objects.filter(rater__code="R1").count() == 2


def test_a_rater_who_was_removed_sets_no_absence_that_waited() -> None:
    study = make.study()
    waiting = get_seat(make.user("bob"), "study")
    leaving.remove_member(seat=make.owner_seat(study), member=make.member(study, "bob"))
    with pytest.raises(NotFound, match="left the study"):
        set_away(seat=waiting, until="2099-01-01")


@pytest.mark.parametrize("leaves", [False, True])
def test_an_adjudicator_who_is_one_no_more_decides_nothing_that_waited_for_it(leaves: bool) -> None:
    study = with_carl("adjudicator")
    round_ = make.rate(study.rounds.get(), "item bob carol\n1 crash hang\n2 crash hang\n3 crash crash")
    waiting = get_seat(make.user("carl"), "study")
    end_roles(study, leaves=leaves)
    with pytest.raises(Forbidden, match="need the role"):
        resolutions.hold_item(waiting, round_, get_item(waiting, "acme/rocket#1"))


@pytest.mark.parametrize("leaves", [False, True])
def test_who_decides_no_more_writes_no_remark_that_waited_for_it(leaves: bool) -> None:
    study = with_carl("owner", "adjudicator")
    round_ = make.rate(study.rounds.get(), "item bob carol\n1 crash hang\n2 crash hang\n3 crash crash")
    waiting = get_seat(make.user("carl"), "study")
    item = get_item(waiting, "acme/rocket#1")
    end_roles(study, leaves=leaves)
    with pytest.raises(NotFound if leaves else Forbidden):
        write_remark(seat=waiting, round_=round_, item=item, text="Hm.")


@pytest.mark.parametrize("leaves", [False, True])
def test_what_is_written_into_the_audit_needs_the_role_that_it_began_with(leaves: bool) -> None:
    """Whatever it waited for in between."""
    study = with_carl("owner", "adjudicator")
    number = make_reader_link(seat=make.owner_seat(study), label="Reviewers")[0].number
    with changing():
        waiting = get_seat(make.user("carl"), "study")
        end_roles(study, leaves=leaves)
        with pytest.raises(Forbidden, match="need the role owner"):
            withdraw_reader_link(seat=waiting, number=number)
        assert withdraw_reader_link(seat=make.owner_seat(study), number=number).withdrawn_at


def test_an_analysis_that_two_requests_delete_leaves_one_line() -> None:
    study = with_carl("owner")
    seat = make.seat(study, "carl")
    one = save_analysis(seat=seat, title="Symptoms", kind="counts", question={})
    other = study.analyses.get(pk=one.pk)
    for each in (one, other):
        remove_analysis(seat=seat, analysis=each)
    assert AuditEvent.objects.filter(study=study, verb="removed an analysis").count() == 1
    assert save_analysis(seat=seat, title="Causes", kind="counts", question={}).number == one.number + 1


def test_an_owner_gives_up_the_role_and_leaves() -> None:
    study = with_carl("owner")
    carl = Script("carl")
    assert carl.send("POST", "studies/study/members/", {"user": "carl", "roles": ["owner", "rater"]}).status_code == 200
    make.user("nora")
    assert carl.send("POST", "studies/study/members/", {"user": "nora", "roles": ["rater"]}).status_code == 201
    assert carl.send("POST", "studies/study/members/", {"user": "carl", "roles": ["rater"]}).status_code == 200
    assert carl.send("POST", "studies/study/members/", {"user": "carl", "roles": ["owner"]}).status_code == 403
    assert make.member(study, "carl").roles == ["rater"]


READS = {
    "studies/study/agreement/": ("owner", "annotation.agreement_report.api.results.note_results"),
    "studies/study/analysis/counts/?dimension=symptom": (
        "adjudicator",
        "annotation.assignments.actions.reading_log.note_results",
    ),
}
PAGES = {
    "/studies/study/agreement/": ("adjudicator", "annotation.agreement_report.views.agreement.note_results"),
    "/studies/study/analysis/": ("owner", "annotation.analysis.views.reading_log.note_results"),
}
"""What is read, by whom, and what is called while it is prepared."""


@pytest.mark.parametrize("change", ["a role ends", "a rater is added", "nothing"])
@pytest.mark.parametrize("address", [*READS, *PAGES])
def test_what_took_long_to_read_is_not_shown_to_who_may_read_it_no_more(
    monkeypatch: pytest.MonkeyPatch, address: str, change: str
) -> None:
    role, called = {**READS, **PAGES}[address]
    study = with_carl(role, "rater")
    seat = make.owner_seat(study)

    def while_reading(*arguments: object, **more: object) -> None:
        if change == "a role ends":
            members.set_member(seat=seat, username="carl", roles=["rater"])
        elif change == "a rater is added":
            raters.add_rater(seat=seat, number=1, user="carl")

    monkeypatch.setattr(called, while_reading)
    if address in READS:
        answer = Script("carl").send("GET", address)
        told = answer.json().get("message", "") if answer.status_code == 403 else ""
    else:
        carl = Client()
        carl.force_login(make.user("carl"))
        answer = carl.get(address)
        told = answer.content.decode()
    assert answer.status_code == (200 if change == "nothing" else 403)
    assert ("Your role in this study changed" in told) == (change != "nothing")


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("leaves", [False, True])
def test_someone_could_read_until_others_see_that_their_role_ended(leaves: bool) -> None:
    """The checks of a commit run after it noted the end, and can take long."""
    study = with_carl("owner", "rater")
    with connection.cursor() as cursor:
        cursor.execute("CREATE TABLE commit_ended (at timestamptz)")
        cursor.execute(
            "CREATE FUNCTION wait_at_commit() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN "
            "PERFORM pg_sleep(0.3); INSERT INTO commit_ended VALUES (clock_timestamp()); RETURN NULL; END $$"
        )
        cursor.execute(
            "CREATE CONSTRAINT TRIGGER wait_at_commit AFTER INSERT ON annotation_auditevent "
            "DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION wait_at_commit()"
        )
    try:
        with transaction.atomic():
            end_roles(study, leaves=leaves)
        with connection.cursor() as cursor:
            cursor.execute("SELECT max(at) FROM commit_ended")
            ended = cursor.fetchone()[0]
    finally:
        with connection.cursor() as cursor:
            cursor.execute("DROP TABLE commit_ended; DROP FUNCTION wait_at_commit CASCADE")
    member = study.memberships.get(Q(user__username="carl") | Q(former_user__username="carl"))
    assert member.could_read_until is not None and ended <= member.could_read_until <= timezone.now()
