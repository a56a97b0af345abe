"""How disagreements were resolved: derived, stated and checked, meetings, and how each is reported."""

import io
import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.core.management import call_command
from django.db import DatabaseError, connection, transaction
from django.test import Client
from django.utils import timezone

from accounts.actions import make_token
from annotation.assignments.rules import THIRD_RATER
from annotation.core.access import get_item, get_round
from annotation.core.errors import Invalid
from annotation.discussion.actions import write_remark
from annotation.labels.queries.resolution_facts import ways, with_facts
from annotation.labels.queries.verdicts import round_verdicts
from annotation.members.actions.leaving import leave_study
from annotation.members.actions.members import add_member, set_member
from annotation.methods import checklist
from annotation.methods.queries.methods import methods
from annotation.models import Assignment, AuditEvent, Meeting, MeetingResolution, Resolution, Round
from annotation.resolving.actions.meetings import read_meeting
from annotation.resolving.actions.resolutions import reopen, resolve
from annotation.resolving.actions.third_rater_requests import ask_third_rater
from annotation.rounds.actions import rounds
from tests import builders as make
from tests.annotation.compared_answers import history_rewritten
from tests.scripts import Script

pytestmark = pytest.mark.django_db


@pytest.fixture
def disputed() -> Round:
    """Items 1 to 4 are disputed by bob and carol; of item 5 carol gave no answer."""
    study = make.study()
    return make.rate(
        make.open_round(study, 5), "item bob carol\n1 crash hang\n2 crash slow\n3 slow hang\n4 hang slow\n5 crash -"
    )


def decide(round_: Round, number: int, values: Any = ("crash",), *, who: str = "ada", **more: Any) -> Resolution:
    seat = make.seat(round_.study, who)
    item = get_item(seat, f"acme/rocket#{number}")
    return resolve(
        seat=seat,
        round_=get_round(seat, round_.number),
        item=item,
        part=1,
        dimension="symptom",
        values=list(values),
        **more,
    )


def say(round_: Round, number: int, who: str, dimension: str = "symptom") -> None:
    seat = make.seat(round_.study, who)
    item = get_item(seat, f"acme/rocket#{number}")
    write_remark(seat=seat, round_=get_round(seat, round_.number), item=item, text="Look.", dimension=dimension)


def post(name: str, body: dict[str, Any], status: int) -> Any:
    token = make_token(user=make.user(name), name="t", scope="rate")[1]
    address = "/api/v1/studies/study/resolutions/"
    headers = {"Authorization": f"Bearer {token}"}
    response = Client().post(address, json.dumps(body), content_type="application/json", headers=headers)
    assert response.status_code == status, response.content
    return response.json()


def listed(query: str = "", name: str = "ada", status: int = 200) -> Any:
    token = make_token(user=make.user(name), name="t", scope="read")[1]
    headers = {"Authorization": f"Bearer {token}"}
    response = Client().get(f"/api/v1/studies/study/resolutions/{query}", headers=headers)
    assert response.status_code == status, response.content
    return response.json()


def paragraph(round_: Round) -> str:
    out = io.StringIO()
    call_command("agreement", "study", "--methods", stdout=out)
    return out.getvalue()


@pytest.mark.parametrize(
    ("remarks", "wanted"),
    [
        ("", "adjudicator"),
        ("ada ada", "adjudicator"),
        ("bob", "adjudicator"),
        ("ada olga", "adjudicator"),
        ("ada bob", "discussion"),
        ("bob carol", "discussion"),
    ],
)
def test_without_a_method_remarks_of_two_people_one_of_them_a_rater_make_it_a_discussion(disputed, remarks, wanted):
    for who in remarks.split():
        say(disputed, 1, who)
    assert decide(disputed, 1).method == wanted
    assert [each.method for each in methods(make.owner_seat(disputed.study)).decided] == [wanted]


def test_remarks_on_the_whole_item_count_and_those_after_the_resolution_do_not(disputed) -> None:
    for who in ("ada", "bob"):
        say(disputed, 1, who, dimension="")
    assert decide(disputed, 1).method == "discussion"
    decide(disputed, 2)
    for who in ("ada", "bob"):
        say(disputed, 2, who)
    assert [each["reported_as"] for each in listed()["results"]] == ["discussion", "adjudicator"]


@pytest.mark.parametrize(
    ("method", "number", "values", "sentence"),
    [
        ("owner", 1, ["crash"], "You are not an owner of this study."),
        ("majority", 1, ["crash"], "No label was chosen by more than half of the raters."),
        ("majority", 5, ["crash"], "No label was chosen by more than half of the raters."),
        ("third_rater", 1, ["crash"], "No third rater labeled this item."),
        ("discussion", 1, ["crash"], "There are no comments by two people here"),
        ("imported", 1, ["crash"], "Choose one of"),
        ("chance", 1, ["crash"], "Choose one of"),
    ],
)
def test_a_stated_method_that_the_facts_do_not_bear_out_is_rejected(disputed, method, number, values, sentence) -> None:
    body = {"item": f"acme/rocket#{number}", "dimension": "symptom", "values": values, "method": method}
    answer = post("ada", body, 422)
    assert sentence in answer["fields"]["method"][0]
    assert not Resolution.objects.exists()


def test_a_stated_method_that_the_facts_bear_out_is_taken() -> None:
    study = make.study(raters=("bob", "carol", "dave", "zoe"))
    table = "item bob carol dave\n1 crash crash hang\n2 crash hang slow"
    round_ = make.rate(make.open_round(study, 2, raters=["bob", "carol", "dave"], raters_per_item=3), table)
    owner = {"item": "acme/rocket#1", "dimension": "symptom", "values": ["hang"], "method": "owner"}
    assert post("olga", owner, 201)["method"] == "owner"
    with pytest.raises(Invalid, match="not resolved") as refused:
        decide(round_, 1, ["hang"], method="majority", expected=Resolution.objects.get().public_id)
    assert refused.value.fields == {"method": ["Most raters chose another label."]}
    seen = Resolution.objects.get().public_id
    assert decide(round_, 1, ["crash"], method="majority", expected=seen).method == "majority"
    ada = make.seat(study, "ada")
    place = {"round_": get_round(ada, 1), "item": get_item(ada, "acme/rocket#2")}
    ask_third_rater(seat=ada, rater="zoe", **place)
    with pytest.raises(Invalid) as refused:
        decide(round_, 2, ["slow"], method=THIRD_RATER)
    assert refused.value.fields == {"method": ["No third rater labeled this item."]}
    make.submit(round_, "zoe", 2, {"symptom": ["hang"]})
    with pytest.raises(Invalid) as refused:
        decide(round_, 2, ["slow"], method=THIRD_RATER)
    assert refused.value.fields == {"method": ["The third rater chose another label."]}
    assert decide(round_, 2, ["hang"], method=THIRD_RATER).method == THIRD_RATER
    assert "Two disagreements were resolved: 1 by a third rater; 1 by the majority of the raters." in paragraph(round_)


def meeting(*people: str, days_ago: int = 0) -> dict[str, Any]:
    day = (timezone.now() - timedelta(days=days_ago)).date()
    return {"held_on": day.isoformat(), "participants": list(people or ("bob", "R2", "Ada"))}


def test_a_meeting_is_stated_for_one_place_and_reported_as_stated(disputed) -> None:
    body = {"item": "acme/rocket#1", "dimension": "symptom", "values": ["crash"], "meeting": meeting()}
    answer = post("ada", body, 201)
    assert (answer["method"], answer["reported_as"]) == ("adjudicator", "meeting")
    assert answer["meeting"]["participants"] == ["R1", "R2", "Ada"]
    assert answer["meeting"]["stated_by"] == "ada"
    assert answer == listed()["results"][0]
    assert "resolved: 1 discussed in meetings, as reported in Concord." in paragraph(disputed)


def test_a_meeting_for_the_whole_queue_covers_what_else_was_resolved_alone(disputed) -> None:
    for who in ("ada", "bob"):
        say(disputed, 1, who)
    for number in (1, 2, 3):
        decide(disputed, number)
    answer = post("ada", {"round": 1, "meeting": meeting()}, 201)
    assert (answer["n_resolutions"], answer["round"]) == (2, 1)
    decide(disputed, 4)
    assert (
        "Four disagreements were resolved: 2 discussed in meetings, as reported in Concord; 1 in writing; "
        "1 by adjudication." in paragraph(disputed)
    )
    check = next(each for each in checklist(methods(make.owner_seat(disputed.study))) if each.key == "discussed")
    assert (check.answer, check.evidence) == (
        "partly",
        "3 of 4 resolved disagreements were discussed: 2 in meetings, as reported in Concord; 1 in writing.",
    )
    found = {row["item"]: row["reported_as"] for row in listed()["results"]}
    assert list(found.values()) == ["discussion", "meeting", "meeting", "adjudicator"]
    labels = Script("ada").send("GET", "studies/study/labels/?dimension=symptom").json()["results"]
    alike = [row["method"] for row in labels if row["item"] in found]
    assert alike == ["discussion", "discussion", "discussion", "adjudicator"]
    judged = [verdict.method for each in round_verdicts(disputed) for verdict in each.verdicts if verdict.decision]
    assert judged == alike
    assert AuditEvent.objects.get(verb="meeting stated").detail["resolutions"] == 2
    answer = post("ada", {"item": "acme/rocket#4", "dimension": "symptom", "meeting": meeting()}, 201)
    assert answer["reported_as"] == "meeting"
    assert Meeting.objects.count() == 1 and MeetingResolution.objects.count() == 3
    post("ada", {"round": 1, "meeting": meeting()}, 409)


@pytest.mark.parametrize(
    "wrong",
    [
        {"held_on": "2026-11-20"},
        {"held_on": "yesterday", "participants": ["bob", "carol"]},
        {"held_on": "2999-01-01", "participants": ["bob", "carol"]},
        {"held_on": "2001-01-01", "participants": ["bob", "carol"]},
        {"held_on": None, "participants": ["bob", "R1", " "]},
        {"held_on": "2026-11-20", "participants": "bob, carol"},
        {"held_on": "2026-11-20", "participants": ["bob", "carol"], "place": "here"},
        [],
    ],
)
def test_a_meeting_that_can_not_have_been_is_rejected_and_nothing_is_stored(disputed, wrong) -> None:
    body = {"item": "acme/rocket#1", "dimension": "symptom", "values": ["crash"], "meeting": wrong}
    assert all(name.partition(".")[0] == "meeting" for name in post("ada", body, 422)["fields"])
    assert not Resolution.objects.exists() and not Meeting.objects.exists()


def test_the_earliest_day_of_a_meeting_is_the_one_that_the_error_names(disputed) -> None:
    Round.objects.filter(pk=disputed.pk).update(opened_at=datetime(2026, 3, 27, 0, 35, tzinfo=UTC))
    body = {"item": "acme/rocket#1", "dimension": "symptom", "values": ["crash"]}
    people = {"participants": ["bob", "carol"]}
    early = post("ada", body | {"meeting": {"held_on": "2026-03-25", **people}}, 422)["fields"]["meeting"]
    assert early == [
        "The meeting must be on 2026-03-26 or later: the earliest day, anywhere on earth, on which round 1 was open."
    ]
    assert post("ada", body | {"meeting": {"held_on": "2026-03-26", **people}}, 201)["reported_as"] == "meeting"


def test_a_meeting_names_no_code_that_nobody_has(disputed) -> None:
    body = {"item": "acme/rocket#1", "dimension": "symptom", "values": ["crash"], "meeting": meeting("bob", "R7")}
    assert post("ada", body, 422)["fields"]["meeting"] == [
        "R7 is not a code of this study. Enter names or codes of its raters."
    ]
    assert not Resolution.objects.exists() and not Meeting.objects.exists()


def test_a_meeting_needs_two_different_people(disputed) -> None:
    body = {"item": "acme/rocket#1", "dimension": "symptom", "values": ["crash"], "meeting": meeting("bob", "R1")}
    assert post("ada", body, 422)["fields"]["meeting"] == ["List 2 to 100 people who took part."]


def test_a_stated_meeting_is_never_changed_or_deleted(disputed) -> None:
    decide(disputed, 1, meeting=meeting())
    for statement in (
        "UPDATE annotation_meeting SET held_on = '2020-01-01'",
        "DELETE FROM annotation_meetingresolution",
        "UPDATE annotation_meetingresolution SET meeting_id = meeting_id",
        "DELETE FROM annotation_meeting",
    ):
        with pytest.raises(DatabaseError, match="can't be changed or deleted"), transaction.atomic():
            connection.cursor().execute(statement)


def test_raters_and_readers_neither_state_nor_list(disputed) -> None:
    decide(disputed, 1)
    for name in ("bob", "rea"):
        post(name, {"round": 1, "meeting": meeting()}, 403)
        listed(name=name, status=403)
    assert listed("?round=1&dimension=symptom")["results"][0]["values"] == ["crash"]
    assert list(listed("?dimension=kind", status=422)["fields"]) == ["dimension"]


@pytest.mark.parametrize("method", ["discussion", "majority", "third_rater", "owner"])
def test_what_older_versions_stored_keeps_its_method_and_is_reported_as_the_facts_are(disputed, method) -> None:
    made = decide(disputed, 1)
    Resolution.objects.create(
        round=made.round,
        item=made.item,
        dimension=made.dimension,
        revision=2,
        method=method,
        decided_by=made.decided_by,
    )
    row = listed()["results"][-1]
    assert (row["method"], row["reported_as"]) == (method, "adjudicator")
    assert "One disagreement was resolved: 1 by adjudication." in paragraph(disputed)


def test_what_raters_agreed_on_is_no_disagreement_when_it_is_resolved(disputed) -> None:
    study = disputed.study
    make.rate(make.open_round(study, 1, first=9), "item bob carol\n9 crash crash")
    seat = make.seat(study, "ada")
    item = get_item(seat, "acme/rocket#9")
    resolve(seat=seat, round_=get_round(seat, 2), item=item, part=1, dimension="symptom", values=["hang"])
    decide(disputed, 1)
    words = paragraph(disputed)
    assert "One disagreement was resolved: 1 by adjudication." in words
    assert "One label on which raters agreed was replaced by resolution." in words


def test_what_one_rater_alone_labeled_is_no_label_on_which_raters_agreed() -> None:
    """The kind is reopened, so the symptom that only one rater labeled is no open disagreement."""
    study = make.study(text=make.FAULTS)
    round_ = make.open_round(study, 1)
    make.submit(round_, "bob", 1, {"kind": ["fault"], "symptom": ["slow"], "distributed": True})
    make.submit(round_, "carol", 1, {"kind": ["how-to"]})
    seat = make.seat(study, "ada")
    place: dict[str, Any] = {"seat": seat, "round_": get_round(seat, 1), "item": get_item(seat, "acme/rocket#1")}
    made = resolve(**place, part=1, dimension="kind", values=["fault"])
    resolve(**place, part=1, dimension="symptom", values=["slow"])
    reopen(**place, part=1, dimension="kind", rationale="", expected=made.public_id)
    words = paragraph(round_)
    assert "replaced by resolution" not in words and "disagreement was resolved:" not in words
    assert "One resolution was reopened and not replaced. One other resolution does not count now:" in words


def test_a_resolution_that_is_what_raters_agreed_on_replaces_nothing(disputed) -> None:
    study = disputed.study
    make.rate(make.open_round(study, 1, first=9), "item bob carol\n9 crash crash")
    seat = make.seat(study, "ada")
    item = get_item(seat, "acme/rocket#9")
    resolve(seat=seat, round_=get_round(seat, 2), item=item, part=1, dimension="symptom", values=["crash"])
    words = paragraph(disputed)
    assert "replaced by resolution" not in words and "Resolutions were entered" not in words


def test_a_rater_without_an_answer_on_the_item_makes_no_discussion(disputed) -> None:
    say(disputed, 1, "bob")
    say(disputed, 1, "ada")
    Assignment.objects.filter(rater__user__username="bob", item__identifier="acme/rocket#1").update(current=None)
    assert decide(disputed, 1).method == "adjudicator"


def test_the_page_presets_nothing_and_states_a_meeting(disputed) -> None:
    client = Client()
    client.force_login(make.user("ada"))
    item = get_item(make.seat(disputed.study, "ada"), "acme/rocket#1")
    address = f"/studies/study/rounds/1/resolve/{item.pk}/"
    page = client.get(address).content.decode()
    assert 'value="discussion"' not in page and 'name="method"' not in page
    sent = {"part": "1", "dimension": "symptom", "choice": '["crash"]', "expected": "", **NO_MEETING}
    wrong = client.post(address, sent | {"held_on": "2026-11-20"})
    assert wrong.status_code == 422 and "List 2 to 100 people" in wrong.content.decode()
    wrong = client.post(address, sent | {"method": "majority"})
    assert wrong.status_code == 422 and "No label was chosen by more than half" in wrong.content.decode()
    client.post(address, sent)
    assert Resolution.objects.get().method == "adjudicator"
    queue = "/studies/study/rounds/1/resolve/"
    assert "1 resolution of this round is reported as resolved by adjudication" in " ".join(
        client.get(queue).content.decode().split()
    )
    assert client.post(queue, {"held_on": "", "participants": "R1, R2"}).status_code == 422
    day = timezone.now().date().isoformat()
    answer = client.post(queue, {"held_on": day, "participants": "R1, R2"}, follow=True).content.decode()
    assert "The meeting was saved for 1 resolution." in answer
    shown = client.get(f"{address}?place=1.symptom").content.decode()
    assert "discussed in a meeting on" in shown and "(R1, R2), as stated by ada" in shown


NO_MEETING = {"held_on": "", "participants": "", "method": "", "rationale": ""}


def reported(resolution: Resolution) -> str:
    (found,) = with_facts(Resolution.objects.filter(pk=resolution.pk))
    return ways([found])[found.pk]


def test_what_was_true_when_it_was_stated_is_reported_after_roles_and_answers_changed(disputed: Round) -> None:
    study = disputed.study
    add_member(seat=make.owner_seat(study), username=make.user("greta").username, roles=["owner"])
    add_member(seat=make.owner_seat(study), username=make.user("dan").username, roles=["rater"])
    by_owner = decide(disputed, 1, who="greta", method="owner")
    set_member(seat=make.owner_seat(study), username="greta", roles=["adjudicator"])
    assert reported(by_owner) == "owner"
    asked = ask_third_rater(
        seat=make.seat(study, "ada"), round_=disputed, item=get_item(make.seat(study, "ada"), "acme/rocket#2"),
        rater=None, unblinded=None,
    )  # fmt: skip
    make.submit(disputed, asked.rater.user.username, 2, {"symptom": ["crash"]})
    by_majority = decide(disputed, 2, method="majority")
    assert reported(by_majority) == "majority"
    make.submit(disputed, "bob", 2, {"symptom": ["slow"]})
    assert reported(by_majority) == "majority"
    with history_rewritten():
        AuditEvent.objects.filter(study=study, detail__member="greta").delete()
    assert reported(by_owner) == "adjudicator", "who never was an owner"


def test_participants_are_found_by_any_case_and_after_they_left(disputed: Round) -> None:
    study = disputed.study
    rounds.close_round(seat=make.owner_seat(study), number=disputed.number, leave_open=True)
    code = make.member(study, "bob").code
    leave_study(seat=make.seat(study, "bob"))
    day = timezone.now().date().isoformat()
    given = {"held_on": day, "participants": ["Bob", "CAROL", "Ada B"]}
    stated = read_meeting(make.seat(study, "ada"), disputed, given, {})
    assert stated is not None and stated.participants == [code, make.member(study, "carol").code, "Ada B"]
    fields: dict[str, list[str]] = {}
    assert (
        read_meeting(make.seat(study, "ada"), disputed, given | {"participants": ["R2\u200b", "ada"]}, fields) is None
    )
    assert "invisible" in fields["meeting"][0]
