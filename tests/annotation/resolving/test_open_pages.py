"""Pages of resolving that were open while someone else acted: what their person did not see is not done."""

from typing import Any

import pytest
from django.test import Client

from annotation.core.access import get_item
from annotation.members.actions import members
from annotation.models import MeetingResolution, PartMatch, Proposal, ProposalOutcome, Resolution, Study
from annotation.proposals.actions import settle_proposals
from annotation.resolving.actions.part_matches import match_parts
from annotation.resolving.actions.resolutions import reopen, resolve
from annotation.resolving.actions.third_rater_requests import ask_third_rater
from tests import builders as make
from tests.forms import sent_by
from tests.interleaving import meeting

pytestmark = pytest.mark.django_db
ROUND = "/studies/study/rounds/1/"
QUEUE = f"{ROUND}resolve/"


def client(name: str) -> Client:
    made = Client()
    made.force_login(make.user(name))
    return made


@pytest.fixture
def study() -> Study:
    """Ada and mia decide; olga and mia own the study."""
    study = make.study()
    roles = ["owner", "adjudicator"]
    members.add_member(seat=make.owner_seat(study), username=make.user("mia").username, roles=roles)
    make.accept("mia")
    return study


def place(study: Study, name: str, number: int) -> dict[str, Any]:
    seat = make.seat(study, name)
    return {"seat": seat, "round_": study.rounds.get(), "item": get_item(seat, f"acme/rocket#{number}")}


def decide(study: Study, name: str, number: int) -> None:
    of: dict[str, Any] = {"part": 1, "dimension": "symptom", "values": ["crash"]}
    resolve(**place(study, name, number), expected=None, **of)


def test_a_meeting_is_stated_for_the_resolutions_that_the_page_counted(study: Study) -> None:
    make.rate(make.open_round(study, 3), "item bob carol\n1 hang crash\n2 hang crash\n3 hang slow")
    decide(study, "ada", 1)
    ada = client("ada")
    sent = sent_by(ada.get(QUEUE).content.decode(), "State meeting")
    decide(study, "mia", 2)
    told = {"held_on": str(study.rounds.get().opened_at.date()), "participants": "bob, carol"}
    assert "The meeting was saved for 1 resolution." in ada.post(QUEUE, sent | told, follow=True).content.decode()
    assert [each.resolution.item.identifier for each in MeetingResolution.objects.all()] == ["acme/rocket#1"]
    again = sent_by(ada.get(QUEUE).content.decode(), "State meeting")
    assert "saved for 1 resolution." in ada.post(QUEUE, again | told, follow=True).content.decode()
    assert MeetingResolution.objects.count() == 2


def test_parts_that_someone_matched_since_the_page_was_opened_stay_matched(study: Study) -> None:
    round_ = make.open_round(study, 1)
    parts = {"bob": ("hang", "crash", "slow"), "carol": ("crash", "hang", "slow")}
    for name, given in parts.items():
        make.submit(round_, name, 1, parts=[{"labels": {"symptom": [each]}} for each in given])
    ada, address = client("ada"), f"{QUEUE}{get_item(make.owner_seat(study), 'acme/rocket#1').pk}/"
    sent = sent_by(ada.get(address).content.decode(), "Match R1")
    match_parts(**place(study, "mia", 1), rater="R1", parts=[2, 1, 3])
    page = ada.post(f"{address}match/", sent | {"parts": ["1", "2", "4"]}, follow=True).content.decode()
    assert "they are 2, 1, 3 now. Nothing was changed." in page
    assert list(PartMatch.objects.order_by("part").values_list("agreed_part", flat=True)) == [2, 1, 3]
    sent = sent_by(ada.get(address).content.decode(), "Match R1")
    ada.post(f"{address}match/", sent | {"parts": ["2", "1", "4"]})
    assert list(PartMatch.objects.order_by("part").values_list("agreed_part", flat=True)) == [2, 1, 4]


def test_an_answer_to_a_proposal_that_came_since_is_seen_before_a_typing_error_is(study: Study) -> None:
    round_ = make.open_round(study, 1)
    make.submit(round_, "bob", 1, {}, proposals={"symptom": {"name": "Stall"}})
    make.submit(round_, "carol", 1, {"symptom": ["crash"]})
    olga = client("olga")
    sent = sent_by(olga.get("/studies/study/proposals/").content.decode(), "Map")
    proposal = Proposal.objects.get()
    settle_proposals(seat=make.seat(study, "mia"), proposals=[proposal.public_id], decline="Use hang.")
    address = f"/studies/study/proposals/{proposal.public_id}/"
    answer = olga.post(address, sent | {"answer": "map_to", "map_to": "slwo"})
    assert answer.status_code == 409 and "mia" in answer.content.decode()
    assert ProposalOutcome.objects.get().outcome == "declined"


def test_a_round_is_closed_with_no_more_left_open_than_the_page_showed(study: Study) -> None:
    make.rate(make.open_round(study, 3), "item bob carol\n1 hang crash\n2 hang crash\n3 hang hang")
    decide(study, "ada", 1)
    olga = client("olga")
    sent = sent_by(olga.get(ROUND).content.decode(), "Close and leave")
    newest = Resolution.objects.get().public_id
    reopen(**place(study, "mia", 1), part=1, dimension="symptom", expected=newest)
    refused = olga.post(f"{ROUND}close/", sent)
    assert refused.status_code == 409 and "More is left in round 1" in refused.content.decode()
    assert study.rounds.get().state == "resolving"
    assert olga.post(f"{ROUND}close/", sent_by(olga.get(ROUND).content.decode(), "Close and leave")).status_code == 302
    assert study.rounds.get().state == "closed"


@pytest.mark.parametrize("swapped", [False, True])
def test_other_disagreements_than_the_page_showed_are_not_left_open_in_place_of_proposals(
    study: Study, swapped: bool
) -> None:
    """Each number is compared, in the moment in which the round is held."""
    round_ = make.rate(make.open_round(study, 3), "item bob carol\n1 hang crash\n2 hang crash")
    make.submit(round_, "bob", 3, {}, proposals={"symptom": {"name": "Stall"}})
    make.submit(round_, "carol", 3, {"symptom": ["crash"]})
    decide(study, "ada", 1)
    olga = client("olga")
    sent = sent_by(olga.get(ROUND).content.decode(), "Close and leave")
    newest = Resolution.objects.get().public_id

    def others() -> None:
        reopen(**place(study, "mia", 1), part=1, dimension="symptom", expected=newest)
        proposals = [each.public_id for each in Proposal.objects.all()]
        settle_proposals(seat=make.seat(study, "mia"), proposals=proposals, map_to="crash")

    if swapped:
        others()
        assert olga.post(f"{ROUND}close/", sent).status_code == 409
    else:
        with meeting(others):
            assert olga.post(f"{ROUND}close/", sent).status_code == 409
    assert study.rounds.get().state == "resolving"


def test_no_more_assignments_are_withdrawn_than_the_page_showed(study: Study) -> None:
    make.rate(make.open_round(study, 2), "item bob carol\n1 hang crash")
    olga = client("olga")
    sent = sent_by(olga.get(ROUND).content.decode(), "Withdraw 2 and start resolving")
    refused = olga.post(f"{ROUND}to-resolving/", sent | {"left": ["1"]})
    assert refused.status_code == 409 and "More is left in round 1" in refused.content.decode()
    assert study.rounds.get().state == "open"
    make.submit(study.rounds.get(), "bob", 2, {"symptom": ["hang"]})
    assert olga.post(f"{ROUND}to-resolving/", sent).status_code == 302
    assert study.rounds.get().state == "resolving"


def test_who_does_not_own_a_study_is_not_told_whether_more_is_left(study: Study) -> None:
    make.rate(make.open_round(study, 2), "item bob carol\n1 hang crash\n2 hang hang")
    for left in (["0", "0", "0"], ["9", "9", "9"]):
        assert client("bob").post(f"{ROUND}close/", {"leave_open": "1", "left": left}).status_code == 403


def test_the_page_of_an_open_round_counts_no_third_rater_who_is_asked() -> None:
    """An owner who labels the item elsewhere sees it, and that someone is asked tells that others differ."""
    study = make.study(raters=("bob", "carol", "dan"), resolve_when="item")
    make.rate(make.open_round(study, 2, raters=("bob", "carol")), "item bob carol\n1 hang crash")
    pages = []
    for is_asked in (False, True):
        if is_asked:
            ask_third_rater(**place(study, "ada", 1), rater="dan")
        Study.objects.update(resolve_when="round")
        pages.append(client("olga").get(QUEUE).content.decode().partition("<main")[2])
        Study.objects.update(resolve_when="item")
    assert pages[0] == pages[1] and "2 assignments are unfinished" in pages[0]
