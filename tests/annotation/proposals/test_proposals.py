"""What raters propose: who reads it, what the owner answers, what comes of it, in actions and over REST."""

import threading
from collections.abc import Mapping
from typing import Any

import pytest
from django.db import connections
from django.test import Client

from annotation.analysis.actions import save_analysis
from annotation.analysis.queries.saved import saved_analyses
from annotation.core.access import Seat
from annotation.core.download_log import record_download
from annotation.core.errors import Blind, Conflict, Forbidden, Invalid, NotFound, Stale, WrongState
from annotation.labels.queries.verdicts import n_open_proposals
from annotation.members.actions import members
from annotation.models import Annotation, Assignment, AuditEvent, Proposal, ProposalOutcome, Rating, Round, Study
from annotation.proposals import queries
from annotation.proposals.actions import settle_proposals
from annotation.resolving.actions import resolutions as resolution_actions
from annotation.rounds.actions import rounds
from annotation.studies.queries.audit import audit_of
from taxonomy import actions as taxonomy_actions
from taxonomy import schema
from taxonomy.errors import TaxonomyConflict
from taxonomy.models import Dimension, TaxonomyVersion
from taxonomy.queries import document
from tests import builders as make
from tests.annotation.core.test_api import Caller
from tests.asserts import assert_queries, wait_until_someone_waits_for_a_lock
from tests.scripts import Script

pytestmark = pytest.mark.django_db


def propose(round_: Round, who: str, number: int, name: str, memo: str = "", **more: Any) -> Proposal:
    """Submits PENDING for the symptom of acme/rocket#number."""
    make.submit(round_, who, number, {}, proposals={"symptom": {"name": name, "memo": memo}}, **more)
    return Proposal.objects.order_by("-pk")[0]


@pytest.fixture
def study() -> Study:
    return make.study()


@pytest.fixture
def round_(study: Study) -> Round:
    """Items 1 to 3; nobody has answered."""
    return make.open_round(study, 3)


@pytest.fixture
def owner(study: Study) -> Seat:
    return make.owner_seat(study)


def state_of(seat: Seat, proposal: Proposal) -> str:
    return queries.get_proposal(seat, proposal.public_id).state


def draft_names(study: Study) -> list[str]:
    draft = TaxonomyVersion.objects.get(taxonomy=study.taxonomy, state="draft")
    return [category.name for category, _ in document(draft).dimensions[0].walk()]


# Answering


def test_an_accepted_category_stands_in_a_new_draft_and_in_no_published_version(round_: Round, owner: Seat) -> None:
    proposal = propose(round_, "bob", 1, "Ring stall", "no progress, no error")
    spec = {"name": " Ring  stall ", "definition": "The ring waits."}
    [outcome] = settle_proposals(seat=owner, proposals=[proposal.public_id], accept=spec)
    assert (outcome.outcome, outcome.version_number, outcome.category_key) == ("accepted", 2, "ring-stall")
    assert draft_names(owner.study) == ["Crash", "Hang", "Slow", "Ring stall"]
    draft = TaxonomyVersion.objects.get(state="draft")
    assert document(draft).dimensions[0].categories[-1].definition == "The ring waits."
    assert "Ring stall" not in str(document(round_.taxonomy_version))
    assert state_of(owner, proposal) == "accepted"


def test_no_error_and_no_default_tells_what_a_draft_holds(round_: Round, owner: Seat) -> None:
    proposal = propose(round_, "bob", 1, "Ring stall", "no progress, no error")
    settle_proposals(seat=owner, proposals=[proposal.public_id], accept={"name": "Ring stall"})
    draft = TaxonomyVersion.objects.get(state="draft")
    Dimension.objects.create(version=draft, key="secret-cause", title="Secret", kind="boolean", position=9)
    carol = Script("carol")
    body = {"slug": "own", "title": "Own", "taxonomy": owner.study.taxonomy.slug}
    assert carol.send("POST", "studies/", body).status_code == 201
    wrong = {"primary": {"symptom": {"coefficient": "weighted_kappa", "weights": [[1]]}}}
    for said in (
        carol.send("PATCH", "studies/own/", wrong).content.decode(),
        carol.send("PATCH", "studies/own/", {"primary": {"nope": {"coefficient": "gwet_ac1"}}}).content.decode(),
        carol.send("GET", "studies/own/").content.decode(),
        carol.send("GET", "studies/").content.decode(),
        carol.send("GET", "studies/study/labels/?dimension=zzz").content.decode(),
    ):
        assert "ring" not in said.lower() and "secret" not in said.lower(), said


def test_accepting_goes_into_the_draft_that_there_is_and_below_a_parent(study: Study, owner: Seat) -> None:
    round_ = make.open_round(study, 2)
    draft = taxonomy_actions.start_draft(user=owner.user, taxonomy=study.taxonomy)
    first, second = propose(round_, "bob", 1, "Ring stall"), propose(round_, "bob", 2, "Deadlock")
    settle_proposals(seat=owner, proposals=[first.public_id], accept={"name": "Ring stall", "parent": "hang"})
    settle_proposals(
        seat=owner, proposals=[second.public_id], accept={"name": "Deadlock", "parent": "Hang / Ring stall"}
    )
    draft.refresh_from_db()
    assert TaxonomyVersion.objects.filter(state="draft").count() == 1 and draft.revision == 3
    [dimension] = document(draft).dimensions
    paths = [" / ".join(one.name for one in (*above, each)) for each, above in dimension.walk()]
    assert paths == ["Crash", "Hang", "Hang / Ring stall", "Hang / Ring stall / Deadlock", "Slow"]


def test_accepting_deletes_nothing_that_the_editor_keeps(round_: Round, owner: Seat) -> None:
    draft = taxonomy_actions.start_draft(user=owner.user, taxonomy=owner.study.taxonomy)
    severity = {"key": "severity", "title": "Severity", "kind": "single"}
    text = {"slug": "symptoms", "title": "Symptoms", "dimensions": [severity]}
    taxonomy_actions.keep_unfinished(user=owner.user, version=draft, document=text, expected=draft.revision)
    proposal = propose(round_, "bob", 1, "Ring stall")
    with pytest.raises(TaxonomyConflict, match="not valid yet"):
        settle_proposals(seat=owner, proposals=[proposal.public_id], accept={"name": "Ring stall"})
    draft.refresh_from_db()
    assert draft.unfinished == text and state_of(owner, proposal) == "open"


def test_a_group_gets_one_answer_and_one_category(round_: Round, owner: Seat) -> None:
    asked = [propose(round_, "bob", 1, "Ring stall"), propose(round_, "carol", 1, "ring-stall")]
    outcomes = settle_proposals(seat=owner, proposals=[each.public_id for each in asked], accept={"name": "Ring stall"})
    assert [each.proposal for each in outcomes] == asked
    assert {each.category_key for each in outcomes} == {"ring-stall"}
    assert draft_names(owner.study).count("Ring stall") == 1


def test_the_same_category_accepted_twice_is_added_once(round_: Round, owner: Seat) -> None:
    first, second = propose(round_, "bob", 1, "Ring stall"), propose(round_, "bob", 2, "ring stall")
    for _ in range(2):
        settle_proposals(seat=owner, proposals=[first.public_id], accept={"name": "Ring stall"})
    settle_proposals(seat=owner, proposals=[second.public_id], accept={"name": "ring stall"})
    assert draft_names(owner.study) == ["Crash", "Hang", "Slow", "Ring stall"]
    assert ProposalOutcome.objects.count() == 2


def test_a_key_is_made_that_nobody_had_before(study: Study, round_: Round, owner: Seat) -> None:
    text = make.SYMPTOMS.replace("      - {key: hang, name: Hang}\n", "")
    taxonomy_actions.new_draft(user=owner.user, taxonomy=study.taxonomy, text=text)
    proposals = [propose(round_, "bob", number, name) for number, name in enumerate(("Hang", "死锁", "Ring"), start=1)]
    outcomes = [
        settle_proposals(seat=owner, proposals=[each.public_id], accept={"name": each.name})[0] for each in proposals
    ]
    assert [each.category_key for each in outcomes] == ["hang-2", "category", "ring"]


def test_a_key_that_an_earlier_version_retired_is_not_made_again(study: Study, round_: Round, owner: Seat) -> None:
    proposal = propose(round_, "bob", 1, "Slow")
    without = make.SYMPTOMS.replace("      - {key: slow, name: Slow}\n", "")
    make.next_version(study, without)
    make.next_version(study, without)
    [outcome] = settle_proposals(seat=owner, proposals=[proposal.public_id], accept={"name": "Slow"})
    assert outcome.category_key == "slow-2"
    [round_back] = queries.came_back(make.user("bob"))
    assert (round_back.items, round_back.n_waiting) == ([], 1)


def test_a_key_that_names_something_else_by_now_is_mapped_to_what_it_names_now(
    study: Study, round_: Round, owner: Seat
) -> None:
    proposal = propose(round_, "bob", 1, "Sluggish")
    without = make.SYMPTOMS.replace("      - {key: slow, name: Slow}\n", "")
    make.next_version(study, without)
    make.next_version(study, without + "      - {key: slow, name: Slow start}\n")
    [outcome] = settle_proposals(seat=owner, proposals=[proposal.public_id], map_to="slow")
    assert (outcome.version_number, outcome.category_name) == (3, "Slow start")
    [round_back] = queries.came_back(make.user("bob"))
    assert (round_back.items, round_back.n_waiting) == ([], 1)


def test_mapping_names_the_rounds_own_version_first_so_that_it_can_be_chosen(round_: Round, owner: Seat) -> None:
    first = propose(round_, "bob", 1, "Blocked")
    second = propose(round_, "carol", 1, "Ring stall")
    settle_proposals(seat=owner, proposals=[second.public_id], accept={"name": "Ring stall"})
    taxonomy_actions.publish_version(user=owner.user, version=TaxonomyVersion.objects.get(state="draft"))
    third = propose(round_, "bob", 2, "Ring is stuck")
    [own] = settle_proposals(seat=owner, proposals=[first.public_id], map_to="hang")
    [later] = settle_proposals(seat=owner, proposals=[third.public_id], map_to="Ring stall")
    assert (own.outcome, own.version_number, own.category_name) == ("mapped", 1, "Hang")
    assert (later.version_number, later.category_key) == (2, "ring-stall")


def test_a_category_of_the_draft_can_be_mapped_to(round_: Round, owner: Seat) -> None:
    first, second = propose(round_, "bob", 1, "Ring stall"), propose(round_, "bob", 2, "Stalled ring")
    settle_proposals(seat=owner, proposals=[first.public_id], accept={"name": "Ring stall"})
    [outcome] = settle_proposals(seat=owner, proposals=[second.public_id], map_to="ring-stall")
    assert (outcome.outcome, outcome.version_number) == ("mapped", 2)


@pytest.mark.parametrize(
    ("answer", "field", "words"),
    [
        ({}, "accept", "exactly one"),
        ({"decline": "no", "map_to": "hang"}, "decline", "exactly one"),
        ({"decline": "  "}, "decline", "Give a reason"),
        ({"map_to": "nothing"}, "map_to", "no category “nothing”"),
        ({"accept": "Ring stall"}, "accept", "at least its name"),
        ({"accept": {}}, "accept.name", "needs a name"),
        ({"accept": {"name": "x" * 201}}, "accept.name", "at most 200"),
        ({"accept": {"name": "hang"}}, "accept.name", "“Hang” already"),
        ({"accept": {"name": "A", "parent": "nowhere"}}, "accept.parent", "not a category of that draft"),
        ({"accept": {"name": "A", "key": "crash"}}, "accept.key", "taken"),
        ({"accept": {"name": "A", "key": "Not A Key"}}, "accept.key", "lowercase letters"),
        ({"accept": {"name": "A", "include": "text"}}, "accept.include", "list"),
        ({"accept": {"name": "A", "colour": "red"}}, "accept.colour", "no field “colour”"),
    ],
)
def test_an_answer_that_cannot_be_taken_says_which_field_is_wrong_and_changes_nothing(
    round_: Round, owner: Seat, answer: Mapping[str, Any], field: str, words: str
) -> None:
    proposal = propose(round_, "bob", 1, "Ring stall")
    with pytest.raises(Invalid) as caught:
        settle_proposals(seat=owner, proposals=[proposal.public_id], **answer)
    assert words in " ".join(caught.value.fields[field])
    assert not ProposalOutcome.objects.exists()
    assert not TaxonomyVersion.objects.filter(state="draft").exists()


def test_a_category_that_only_groups_is_not_mapped_to() -> None:
    study = make.study(text=make.FAULTS)
    round_ = make.open_round(study, 1)
    asked = {"symptom": {"name": "Ring stall", "memo": ""}}
    make.submit(round_, "bob", 1, {"kind": ["fault"], "distributed": True}, proposals=asked)
    with pytest.raises(Invalid) as caught:
        settle_proposals(seat=make.owner_seat(study), proposals=[Proposal.objects.get().public_id], map_to="failure")
    assert "only groups others" in caught.value.fields["map_to"][0]


def test_proposals_of_two_dimensions_get_no_common_answer() -> None:
    study = make.study(text=make.FAULTS)
    round_ = make.open_round(study, 1)
    asked = {"symptom": {"name": "A"}, "fixes": {"name": "B"}}
    make.submit(round_, "bob", 1, {"kind": ["fault"], "distributed": True}, proposals=asked)
    with pytest.raises(Invalid):
        settle_proposals(
            seat=make.owner_seat(study), proposals=[p.public_id for p in Proposal.objects.all()], decline="no"
        )
    assert not ProposalOutcome.objects.exists()


def test_categories_of_a_draft_are_shown_to_those_who_read_it_alone(study: Study, owner: Seat) -> None:
    """A draft's category may come from what someone proposed in an open round."""
    members.add_member(seat=owner, username=make.user("carl").username, roles=["owner", "rater"])
    earlier = make.open_round(study, 1, raters=("bob", "carol"))
    bobs = propose(earlier, "bob", 1, "Lock trouble")
    make.submit(earlier, "carol", 1, {"symptom": ["hang"]})
    rounds.close_round(seat=owner, number=1, leave_open=True)
    carols = propose(make.open_round(study, 2, first=2, raters=("bob", "carol", "carl")), "carol", 2, "Deadlock")
    settle_proposals(seat=owner, proposals=[carols.public_id], accept={"name": "Deadlock"})
    settle_proposals(seat=owner, proposals=[bobs.public_id], map_to="deadlock")

    def told(who: str) -> list[bool]:
        script = Script(who)
        entry = script.send("GET", f"studies/study/proposals/{bobs.public_id}/").json()
        visitor = Client()
        visitor.force_login(make.user(who))
        page = visitor.get(f"/studies/study/proposals/{bobs.public_id}/")
        assert (entry["outcome"]["outcome"], entry["outcome"]["version"], page.status_code) == ("mapped", 2, 200)
        line = queries.get_proposal(make.seat(study, who), bobs.public_id)
        in_audit = "deadlock" in str(list(audit_of(make.seat(study, who)).values_list("detail", flat=True)))
        return [
            (entry["outcome"]["category"], entry["outcome"]["category_name"]) == ("deadlock", "Deadlock"),
            "Deadlock" in page.content.decode(),
            "Deadlock" in line.sentence,
            in_audit,
        ]

    assert told("olga") == [True] * 4
    for who in ("bob", "carl"):
        assert told(who) == [False] * 4, who
    wording = queries.get_proposal(make.seat(study, "bob"), bobs.public_id).sentence
    assert wording == "mapped to a category of version 2 that is not published"
    taxonomy_actions.publish_version(user=make.user("olga"), version=TaxonomyVersion.objects.get(state="draft"))
    assert told("bob")[:3] == told("carl")[:3] == [True] * 3


@pytest.mark.parametrize("became", ["published", "renamed", "removed"])
def test_a_category_that_was_not_published_is_shown_to_those_who_read_drafts_alone(
    study: Study, owner: Seat, became: str
) -> None:
    """A maintainer took it out of the draft again, so that nobody learns what was proposed in the open round."""
    members.add_member(seat=owner, username=make.user("carl").username, roles=["owner"])
    bobs = propose(make.open_round(study, 1), "bob", 1, "Lock trouble")
    settle_proposals(seat=owner, proposals=[bobs.public_id], accept={"name": "Deadlock"})
    analysis = {"where": ["symptom:deadlock"], "version": ["2"], "dimension": ["symptom"]}
    save_analysis(seat=owner, title="Of the draft", kind="counts", question=analysis)
    record_download(seat=owner, what="table: counts", format="csv", version="2", where="symptom:deadlock")
    draft = TaxonomyVersion.objects.get(taxonomy=study.taxonomy, state="draft")
    told = schema.dump(document(draft))
    if became == "renamed":
        told = told.replace("name: Deadlock", "name: Stall")
    elif became == "removed":
        told = make.SYMPTOMS
    draft = taxonomy_actions.replace_draft(user=make.user("olga"), version=draft, text=told)
    taxonomy_actions.publish_version(user=make.user("olga"), version=draft)

    def shown(who: str) -> tuple[str, str, bool, int]:
        seat = make.seat(study, who)
        line = queries.get_proposal(seat, bobs.public_id)
        verbs = list(audit_of(seat).values_list("verb", flat=True)) if who != "bob" else []
        return line.outcome.category_name, line.sentence, "proposal accepted" in verbs, len(saved_analyses(seat))

    as_it_was = "accepted into version 2 as Deadlock; it can be selected once the study is migrated to that version"
    assert shown("olga") == ("Deadlock", as_it_was, True, 1)
    name, sentence, is_in_audit, n_analyses = shown("carl")
    assert name == {"published": "Deadlock", "renamed": "Stall", "removed": ""}[became]
    assert sentence == (
        as_it_was.replace("Deadlock", name) if name else "accepted into version 2 as a category that is not published"
    )
    assert is_in_audit == (became != "removed") and n_analyses == 0
    assert shown("bob")[:2] == (name, sentence)
    assert AuditEvent.DOWNLOADED not in audit_of(make.seat(study, "carl")).values_list("verb", flat=True)
    save_analysis(seat=owner, title="Of the version", kind="counts", question=analysis)
    assert [each.title for each in saved_analyses(make.seat(study, "carl"))] == ["Of the version"]


def test_an_owner_who_does_not_maintain_the_taxonomy_is_told_and_can_still_map(round_: Round, owner: Seat) -> None:
    owner.study.taxonomy.maintainers.clear()
    proposal = propose(round_, "bob", 1, "Ring stall")
    with pytest.raises(Forbidden, match="Only maintainers of the taxonomy"):
        settle_proposals(seat=owner, proposals=[proposal.public_id], accept={"name": "Ring stall"})
    settle_proposals(seat=owner, proposals=[proposal.public_id], map_to="hang")
    assert state_of(owner, proposal) == "mapped"


def test_nothing_of_an_annotation_is_written_by_an_answer(round_: Round, owner: Seat) -> None:
    proposal = propose(round_, "bob", 1, "Ring stall")
    before = [list(model.objects.order_by("pk").values()) for model in (Annotation, Rating, Proposal)]
    settle_proposals(seat=owner, proposals=[proposal.public_id], accept={"name": "Ring stall"})
    assert before == [list(model.objects.order_by("pk").values()) for model in (Annotation, Rating, Proposal)]


def test_changing_ones_mind_appends_and_what_was_accepted_stays_in_the_draft(round_: Round, owner: Seat) -> None:
    proposal = propose(round_, "bob", 1, "Ring stall")
    [first] = settle_proposals(seat=owner, proposals=[proposal.public_id], accept={"name": "Ring stall"})
    settle_proposals(seat=owner, proposals=[proposal.public_id], decline="it is a hang", expected=[first.public_id])
    assert [each.outcome for each in queries.history_of(owner, proposal.pk)] == ["declined", "accepted"]
    assert state_of(owner, proposal) == "declined"
    assert "Ring stall" in draft_names(owner.study)


def test_an_answer_that_names_a_draft_goes_with_the_draft(round_: Round, owner: Seat) -> None:
    proposal = propose(round_, "bob", 1, "Ring stall")
    make.submit(round_, "carol", 1, {}, proposals={"symptom": {"name": "Stall"}})
    settle_proposals(seat=owner, proposals=[proposal.public_id], accept={"name": "Ring stall"})
    taxonomy_actions.discard_draft(user=owner.user, version=TaxonomyVersion.objects.get(state="draft"))
    assert state_of(owner, proposal) == "open" and n_open_proposals(round_) == 2
    [outcome] = settle_proposals(seat=owner, proposals=[proposal.public_id], accept={"name": "Ring stall"})
    assert state_of(owner, proposal) == "accepted"
    assert TaxonomyVersion.objects.get(state="draft").number == outcome.version_number == 3


def test_an_answer_that_someone_else_gave_meanwhile_is_not_written_over(round_: Round, owner: Seat) -> None:
    proposal = propose(round_, "bob", 1, "Ring stall")
    [first] = settle_proposals(seat=owner, proposals=[proposal.public_id], map_to="hang")
    for answer in ({"decline": "no"}, {"accept": {"name": "Ring stall"}}, {"map_to": "slow"}):
        with pytest.raises(Stale) as caught:
            settle_proposals(seat=owner, proposals=[proposal.public_id], **answer)
        assert caught.value.newer["id"] == first.public_id
    assert not TaxonomyVersion.objects.filter(state="draft").exists()
    settle_proposals(seat=owner, proposals=[proposal.public_id], map_to="hang")
    assert ProposalOutcome.objects.count() == 1


def test_an_accepted_proposal_is_not_accepted_otherwise_unseen(round_: Round, owner: Seat) -> None:
    proposal = propose(round_, "bob", 1, "Ring stall")
    settle_proposals(seat=owner, proposals=[proposal.public_id], accept={"name": "Ring stall"})
    with pytest.raises(Stale):
        settle_proposals(seat=owner, proposals=[proposal.public_id], accept={"name": "Ring blocked"})
    assert "Ring blocked" not in draft_names(owner.study)


def test_what_the_rater_took_back_is_not_answered(round_: Round, owner: Seat) -> None:
    proposal = propose(round_, "bob", 1, "Ring stall")
    make.submit(round_, "bob", 1, {"symptom": ["hang"]})
    assert state_of(owner, proposal) == "withdrawn"
    with pytest.raises(WrongState):
        settle_proposals(seat=owner, proposals=[proposal.public_id], map_to="hang")


def test_only_the_owner_answers_and_not_in_a_round_they_are_blind_in(study: Study, owner: Seat) -> None:

    members.add_member(seat=owner, username="olga", roles=["owner", "rater"])
    round_ = make.open_round(study, 1, raters=("bob", "olga"))
    proposal = propose(round_, "bob", 1, "Ring stall")
    for name in ("bob", "ada", "rea"):
        with pytest.raises(Forbidden):
            settle_proposals(seat=make.seat(study, name), proposals=[proposal.public_id], map_to="hang")
    with pytest.raises(Blind):
        settle_proposals(seat=make.owner_seat(study), proposals=[proposal.public_id], map_to="hang")
    make.submit(round_, "olga", 1, {"symptom": ["hang"]})
    settle_proposals(seat=make.owner_seat(study), proposals=[proposal.public_id], map_to="hang")


def test_another_studys_proposal_is_not_found(round_: Round) -> None:
    proposal = propose(round_, "bob", 1, "Ring stall")
    other = make.study("other", text=make.SYMPTOMS.replace("slug: symptoms", "slug: more"))
    for ids in ([proposal.public_id], [proposal.pk], [str(proposal.pk)], ["x"], [2**70]):
        with pytest.raises(NotFound):
            settle_proposals(seat=make.owner_seat(other), proposals=ids, map_to="hang")


def test_the_audit_says_what_was_answered_but_not_to_who_is_blind(round_: Round, owner: Seat, study: Study) -> None:
    proposal = propose(round_, "bob", 1, "Ring stall")
    settle_proposals(seat=owner, proposals=[proposal.public_id], map_to="hang")
    event = AuditEvent.objects.get(verb="proposal mapped")
    assert event.detail["names"] == ["Ring stall"] and event.detail["category"] == "hang"
    assert event.detail["items"] == ["acme/rocket#1"] and event.detail["round"] == 1
    assert "proposal mapped" not in [each.verb for each in audit_of(make.seat(study, "carol"))]


@pytest.mark.django_db(transaction=True)
def test_two_owners_at_once_lose_no_category_and_make_one_draft() -> None:
    study = make.study()
    round_ = make.open_round(study, 2)
    proposals = [propose(round_, "bob", 1, "Ring stall"), propose(round_, "bob", 2, "Deadlock")]
    wrong: list[BaseException] = []
    together = threading.Barrier(2)

    def accept(proposal: Proposal) -> None:
        try:
            together.wait(20)
            settle_proposals(
                seat=make.owner_seat(study), proposals=[proposal.public_id], accept={"name": proposal.name}
            )
        except BaseException as error:
            wrong.append(error)
        finally:
            connections.close_all()

    threads = [threading.Thread(target=accept, args=[each]) for each in proposals]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not wrong
    assert sorted(draft_names(study)) == ["Crash", "Deadlock", "Hang", "Ring stall", "Slow"]


@pytest.mark.django_db(transaction=True)
def test_of_two_owners_who_answer_the_same_proposal_at_once_the_second_is_told() -> None:
    from django.db import transaction

    study = make.study()
    proposal = propose(make.open_round(study, 1), "bob", 1, "Ring stall")
    told: list[Stale] = []

    def decline() -> None:
        try:
            settle_proposals(seat=make.owner_seat(study), proposals=[proposal.public_id], decline="no")
        except Stale as stale:
            told.append(stale)
        finally:
            connections.close_all()

    second = threading.Thread(target=decline)
    with transaction.atomic():
        settle_proposals(seat=make.owner_seat(study), proposals=[proposal.public_id], map_to="hang")
        second.start()
        wait_until_someone_waits_for_a_lock()
    second.join(60)
    assert len(told) == 1 and told[0].newer["outcome"] == "mapped"
    assert ProposalOutcome.objects.count() == 1


# What is open


def test_an_answer_a_resolution_and_a_revision_each_settle(round_: Round, owner: Seat) -> None:
    answered = propose(round_, "bob", 1, "Ring stall")
    resolved = propose(round_, "bob", 2, "Deadlock")
    revised = propose(round_, "bob", 3, "Silence")
    make.rate(round_, "item carol\n1 hang\n2 hang\n3 hang")
    assert n_open_proposals(round_) == 3
    settle_proposals(seat=owner, proposals=[answered.public_id], decline="no")
    assert n_open_proposals(round_) == 2
    round_.refresh_from_db()
    item = resolved.annotation.assignment.item
    resolution_actions.resolve(seat=owner, round_=round_, item=item, part=1, dimension="symptom", values=["hang"])
    assert n_open_proposals(round_) == 1 and state_of(owner, resolved) == "resolved"
    make.submit(round_, "bob", 3, {"symptom": ["hang"]})
    assert n_open_proposals(round_) == 0 and state_of(owner, revised) == "withdrawn"


@pytest.mark.parametrize("is_answered", [False, True])
def test_a_rater_learns_of_a_resolution_when_the_round_is_open_no_more(is_answered: bool) -> None:
    study = make.study(resolve_when="item")
    round_ = make.open_round(study, 2)
    proposal = propose(round_, "bob", 1, "Ring stall")
    make.submit(round_, "carol", 1, {"symptom": ["hang"]})
    if is_answered:
        settle_proposals(seat=make.owner_seat(study), proposals=[proposal.public_id], map_to="hang")

    def shown(who: str) -> list[Any]:
        caller = Caller(who)
        listed = [caller.get(f"studies/study/proposals/?state={state}").json() for state in ("open", "settled", "all")]
        return [*listed, [back.items for back in queries.came_back(make.user(who))]]

    before = shown("bob")
    item = proposal.annotation.assignment.item
    resolution_actions.resolve(
        seat=make.seat(study, "ada"), round_=round_, item=item, part=1, dimension="symptom", values=["hang"]
    )
    assert shown("bob") == before
    assert is_answered or state_of(make.seat(study, "ada"), proposal) == "resolved"
    Round.objects.update(state=Round.State.RESOLVING)
    assert shown("bob") != before
    assert is_answered or state_of(make.seat(study, "bob"), proposal) == "resolved"


@pytest.mark.parametrize("is_answered", [False, True])
@pytest.mark.parametrize("how", ["rated again", "third rater"])
def test_a_rater_who_labels_the_item_again_learns_of_no_resolution(is_answered: bool, how: str) -> None:
    study = make.study(raters=("bob", "carol", "dave"))
    make.rate(make.open_round(study, 1), "item bob carol\n1 crash hang")
    round_ = make.open_round(study, 2, raters=("bob", "dave"))
    proposal = propose(round_, "bob", 1, "Ring stall")
    make.submit(round_, "dave", 1, {"symptom": ["hang"]})
    make.rate(round_, "item bob dave\n2 hang hang")
    if is_answered:
        settle_proposals(seat=make.owner_seat(study), proposals=[proposal.public_id], map_to="hang")
    item = proposal.annotation.assignment.item
    if how == "rated again":
        again = make.open_round(study, 1, raters=("bob", "carol"))
    else:
        again = Round.objects.get(number=1)
        Assignment.objects.filter(round=again, rater__user__username="bob").update(state=Assignment.State.WAITING)

    def shown() -> list[Any]:
        caller = Caller("bob")
        listed = [caller.get(f"studies/study/proposals/?state={state}").json() for state in ("open", "settled", "all")]
        return [*listed, [back.items for back in queries.came_back(make.user("bob"))]]

    before = shown()
    ada = make.seat(study, "ada")
    resolution_actions.resolve(seat=ada, round_=round_, item=item, part=1, dimension="symptom", values=["hang"])
    assert shown() == before
    Round.objects.filter(pk=again.pk).update(state=Round.State.CLOSED)
    Assignment.objects.filter(round=again).update(state=Assignment.State.SUBMITTED)
    assert shown() != before


def test_a_resolution_of_another_part_settles_nothing(round_: Round, owner: Seat) -> None:
    part = {"labels": {"symptom": ["hang"]}}
    asked = {"labels": {}, "proposals": {"symptom": {"name": "Ring stall"}}}
    make.submit(round_, "bob", 1, parts=[part, asked])
    make.submit(round_, "carol", 1, parts=[{"labels": {"symptom": ["crash"]}}, part])
    make.rate(round_, "item bob carol\n2 hang hang\n3 hang hang")
    round_.refresh_from_db()
    item = Proposal.objects.get().annotation.assignment.item
    resolution_actions.resolve(seat=owner, round_=round_, item=item, part=1, dimension="symptom", values=["hang"])
    assert n_open_proposals(round_) == 1


def test_a_round_closes_when_its_proposals_are_answered_and_its_places_decided(round_: Round, owner: Seat) -> None:
    proposal = propose(round_, "bob", 1, "Ring stall")
    make.rate(round_, "item carol\n1 hang\n2 hang\n3 hang")
    make.rate(round_, "item bob\n2 hang\n3 hang")
    with pytest.raises(Conflict):
        rounds.close_round(seat=owner, number=1)
    settle_proposals(seat=owner, proposals=[proposal.public_id], map_to="hang")
    make.submit(round_, "bob", 1, {"symptom": ["hang"]})
    assert rounds.close_round(seat=owner, number=1).state == "closed"


def test_the_same_words_in_a_later_revision_keep_their_answer_and_other_words_are_open(
    round_: Round, owner: Seat
) -> None:
    proposal = propose(round_, "bob", 1, "Ring stall", "why")
    settle_proposals(seat=owner, proposals=[proposal.public_id], decline="no")
    propose(round_, "bob", 1, "Ring stall", "why", confidence=1)
    assert n_open_proposals(round_) == 0
    assert [each.state for each in queries.with_outcomes(queries.visible_proposals(owner))] == ["declined"]
    propose(round_, "bob", 1, "Ring stall", "because it is not a hang")
    assert n_open_proposals(round_) == 1


# Near-identical names together


def test_near_identical_names_stand_together_with_the_categories_they_are_near_to(round_: Round, owner: Seat) -> None:
    for number, name in enumerate(("Ring stall", "ring-stall", "hang"), start=1):
        propose(round_, "bob", number, name)
    propose(round_, "carol", 1, "Ring stalls")
    rows = queries.with_outcomes(queries.visible_proposals(owner))
    groups = queries.group_proposals(rows, queries.newest_tree(owner))
    assert [(each.names, [near.key for near in each.near]) for each in groups] == [
        (["Ring stall", "ring-stall", "Ring stalls"], []),
        (["hang"], ["hang"]),
    ]


# What comes back


def test_an_item_comes_back_when_its_proposal_was_answered_until_it_is_answered_anew(
    round_: Round, owner: Seat
) -> None:
    first, second = propose(round_, "bob", 1, "Ring stall"), propose(round_, "bob", 2, "Deadlock")
    third = propose(round_, "bob", 3, "Silence")
    carols = propose(round_, "carol", 1, "Ring stalled")
    assert queries.came_back(make.user("bob")) == []
    settle_proposals(seat=owner, proposals=[first.public_id, carols.public_id], map_to="hang")
    settle_proposals(seat=owner, proposals=[second.public_id], decline="too narrow")
    settle_proposals(seat=owner, proposals=[third.public_id], accept={"name": "Silence"})
    [back] = queries.came_back(make.user("bob"))
    assert {name for _, name in back.items} == {"acme/rocket#1", "acme/rocket#2"} and back.n_waiting == 1
    make.submit(round_, "bob", 1, {"symptom": ["hang"]})
    [back] = queries.came_back(make.user("bob"))
    assert [name for _, name in back.items] == ["acme/rocket#2"]


def test_the_answer_is_told_in_words_and_names_what_can_be_chosen_now(round_: Round, owner: Seat) -> None:
    from taxonomy.queries import published_version

    tree = published_version(round_.taxonomy_version_id)
    told = []
    for number, answer in enumerate(({"map_to": "hang"}, {"decline": "too narrow"}, {"accept": {"name": "X"}}), 1):
        proposal = propose(round_, "bob", number, "Ring stall")
        settle_proposals(seat=owner, proposals=[proposal.public_id], **answer)  # type: ignore[arg-type]
        [each] = queries.answers_in([round_.study.taxonomy_id], proposal.annotation_id, tree)
        told.append((each.words, each.take))
    assert told == [
        ("“Ring stall”: the owner mapped it to Hang", "hang"),
        ("“Ring stall”: the owner declined it: too narrow", ""),
        (
            "“Ring stall”: the owner accepted it into version 2 as a category that is not published",
            "",
        ),
    ]


def test_outcomes_are_found_for_many_annotations_at_once(round_: Round, owner: Seat) -> None:
    first, second = propose(round_, "bob", 1, "Ring stall"), propose(round_, "bob", 2, "Deadlock")
    settle_proposals(seat=owner, proposals=[first.public_id], map_to="hang")
    with assert_queries(3):
        found = queries.outcomes_of([round_.study.taxonomy_id], [first.annotation_id, second.annotation_id])
    assert {pk: outcome.category_key for pk, outcome in found.items()} == {first.pk: "hang"}


# Over REST


def test_who_reads_what_and_who_answers_over_rest(round_: Round, study: Study) -> None:
    bobs, carols = propose(round_, "bob", 1, "Ring stall"), propose(round_, "carol", 2, "Deadlock")
    make.study("other", text=make.SYMPTOMS.replace("slug: symptoms", "slug: more"), owner="otto", raters=())
    path, one = "studies/study/proposals/", f"studies/study/proposals/{bobs.public_id}/"

    def names(who: str) -> list[str]:
        return [each["name"] for each in Caller(who).get(path).json()["results"]]

    assert names("olga") == ["Ring stall", "Deadlock"] == names("ada")
    assert names("bob") == ["Ring stall"] and names("carol") == ["Deadlock"]
    (own,) = Caller("bob").get(path).json()["results"]
    assert own["assignment"] == make.assignment(round_, "bob", 1).public_id
    assert Caller("rea").get(path).status_code == 403
    assert Caller("otto").get(path).status_code == 404
    assert Caller("otto").post(one, {"map_to": "hang"}).status_code == 404
    assert Caller("olga").client.get("/api/v1/" + path).status_code == 401
    for who in ("bob", "ada", "rea"):
        assert Caller(who).post(one, {"map_to": "hang"}).status_code == 403
    assert Caller("olga", "rate").post(one, {"map_to": "hang"}).status_code == 403
    assert Caller("bob").get(f"studies/study/proposals/{carols.public_id}/").status_code == 404
    assert Caller("olga").get("studies/study/proposals/x/").status_code == 404
    assert Caller("olga").post("studies/study/proposals/999999/", {"map_to": "hang"}).status_code == 404
    assert Caller("olga").post(one, {"map_to": "hang"}).status_code == 200
    again = Caller("olga").post(one, {"map_to": "hang"})
    assert again.status_code == 200 and again.json()["outcome"]["category"] == "hang"
    assert Caller("bob").get(one).json()["outcome"]["outcome"] == "mapped"


def test_the_list_over_rest_says_state_group_and_outcome(round_: Round) -> None:
    first = propose(round_, "bob", 1, "Ring stall", "no progress")
    second = propose(round_, "carol", 1, "ring-stall")
    third = propose(round_, "bob", 2, "hang")
    olga = Caller("olga")
    rows = olga.get("studies/study/proposals/?state=open").json()["results"]
    assert [each["group"] for each in rows] == [first.public_id, first.public_id, third.public_id]
    assert rows[2]["near"] == ["hang"]
    both = {"decline": "too narrow", "also": [second.public_id]}
    answer = olga.post(f"studies/study/proposals/{first.public_id}/", both)
    assert answer.status_code == 200, answer.content
    settled = olga.get("studies/study/proposals/?state=settled").json()["results"]
    assert [each["id"] for each in settled] == [first.public_id, second.public_id]
    told = settled[0]
    assert told["outcome"].pop("id") and told["outcome"].pop("decided_at") and told.pop("proposed_at")
    assert told == {
        "id": first.public_id, "item": "acme/rocket#1", "part": 1, "round": 1, "dimension": "symptom", "rater": "R1",
        "assignment": None, "name": "Ring stall", "memo": "no progress", "state": "declined", "group": None, "near": [],
        "outcome": {
            "outcome": "declined", "category": None, "category_name": None, "version": None, "reason": "too narrow",
        },
    }  # fmt: skip
    assert olga.get("studies/study/proposals/?state=nonsense").status_code == 422
    assert olga.get("studies/study/proposals/?round=9").status_code == 422
    assert olga.get("studies/study/proposals/?dimension=none").status_code == 422
    assert olga.get("studies/study/proposals/?dimension=%00").status_code == 422
    page = olga.get("studies/study/proposals/?page_size=2&round=1").json()
    assert len(page["results"]) == 2 and "cursor=" in page["next"]


def test_errors_over_rest_have_the_statuses_of_the_contract(round_: Round) -> None:
    proposal = propose(round_, "bob", 1, "Ring stall")
    olga, path = Caller("olga"), f"studies/study/proposals/{proposal.public_id}/"
    answer = olga.post(path, {"accept": {"name": ""}})
    assert answer.status_code == 422 and "accept.name" in answer.json()["fields"]
    assert olga.post(path, {"decline": "no", "also": {}}).status_code == 422
    accepted = olga.post(path, {"accept": {"name": "Ring stall", "definition": "It waits."}})
    assert accepted.status_code == 200 and accepted.json()["outcome"]["version"] == 2
    stale = olga.post(path, {"decline": "no"})
    assert stale.status_code == 409 and stale.json()["outcome"]["id"] == accepted.json()["outcome"]["id"]
    changed = olga.post(path, {"decline": "no", "expected": [accepted.json()["outcome"]["id"]]})
    assert changed.status_code == 200 and changed.json()["state"] == "declined"
    assert olga.post(path, {"map_to": "hang"}).json()["outcome"]["category"] is None
    make.submit(round_, "bob", 1, {"symptom": ["hang"]})
    assert olga.post(path, {"map_to": "hang"}).status_code == 409


def test_the_list_costs_the_same_for_three_and_for_thirty(study: Study) -> None:
    def fill(round_: Round, n: int) -> None:
        for number in range(1, n + 1):
            propose(round_, "bob", number, f"Name {number}")
        pks = [each.public_id for each in Proposal.objects.filter(outcomes=None)]
        settle_proposals(seat=make.owner_seat(study), proposals=pks[: n // 3], map_to="hang")

    olga = Caller("olga")
    for n in (3, 30):
        fill(make.open_round(study, n), n)
        olga.get("studies/study/proposals/")
        with assert_queries(12):
            assert olga.get("studies/study/proposals/").status_code == 200
