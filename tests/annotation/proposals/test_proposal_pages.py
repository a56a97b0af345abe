"""The pages of proposals: who sees what, groups and their form, read by raters, what comes back."""

from typing import Any

import pytest
from django.test import Client

from annotation.models import Proposal, ProposalOutcome, Round, Study
from annotation.plans import jobs as plan_jobs
from annotation.plans.actions import preview_plan, run_plan
from annotation.proposals.actions import settle_proposals
from annotation.studies.actions.archive import archive_study
from taxonomy.actions import publish_version, start_draft
from taxonomy.models import TaxonomyVersion
from tests import builders as make
from tests.annotation.proposals.test_proposals import propose
from tests.asserts import assert_queries

pytestmark = pytest.mark.django_db
PAGE = "/studies/study/proposals/"
HTMX = {"HX-Request": "true"}


def enter(name: str) -> Client:
    client = Client()
    client.force_login(make.user(name))
    return client


def text(answer: Any) -> str:
    return " ".join(answer.content.decode().split())


def build_study() -> Study:
    return make.study()


@pytest.fixture
def round_(study: Study) -> Round:
    return make.open_round(study, 3)


def test_who_sees_the_pages_of_proposals(round_: Round) -> None:
    bobs, carols = propose(round_, "bob", 1, "Ring stall", "no progress"), propose(round_, "carol", 2, "Deadlock")
    make.study("other", text=make.SYMPTOMS.replace("slug: symptoms", "slug: more"), owner="otto", raters=())
    for name in ("olga", "ada"):
        page = text(enter(name).get(PAGE))
        assert "Ring stall" in page and "Deadlock" in page and "no progress" in page
    assert "Accept it as a new category" not in text(enter("ada").get(PAGE))
    page = text(enter("bob").get(PAGE))
    assert "Ring stall" in page and "Deadlock" not in page and ">R2<" not in page
    assert enter("bob").get(f"{PAGE}{carols.public_id}/").status_code == 404
    assert enter("bob").get(f"{PAGE}{bobs.public_id}/").status_code == 200
    assert enter("rea").get(PAGE).status_code == 403
    assert enter("otto").get(PAGE).status_code == 404
    assert Client().get(PAGE).status_code == 302
    assert enter("olga").get(f"{PAGE}999999/").status_code == 404
    assert enter("olga").get(f"{PAGE}{'9' * 30}/").status_code == 404
    for name in ("bob", "ada", "rea"):
        body = {"chosen": bobs.public_id, "answer": "map_to", "map_to": "hang"}
        sent = enter(name).post(f"{PAGE}{bobs.public_id}/", body)
        assert sent.status_code == 403
    assert enter("otto").post(f"{PAGE}{bobs.public_id}/", {"chosen": bobs.public_id}).status_code == 404
    assert not ProposalOutcome.objects.exists()


def test_an_owner_who_rates_sees_only_their_own_of_the_round_they_are_blind_in(study: Study) -> None:
    from annotation.members.actions import members

    members.add_member(seat=make.owner_seat(study), username="olga", roles=["owner", "rater"])
    round_ = make.open_round(study, 2, raters=("bob", "olga"))
    bobs = propose(round_, "bob", 1, "Ring stall")
    propose(round_, "olga", 2, "Deadlock")
    page = text(enter("olga").get(PAGE))
    assert "Deadlock" in page and "Ring stall" not in page and "are hidden until those rounds close" in page
    assert enter("olga").get(f"{PAGE}{bobs.public_id}/").status_code == 404


def test_a_group_is_answered_in_place_and_what_was_left_out_stays_open(round_: Round) -> None:
    first, second = propose(round_, "bob", 1, "Ring stall"), propose(round_, "carol", 1, "ring-stall")
    olga = enter("olga")
    assert text(olga.get(PAGE)).count("proposal-group") == 1
    sent: dict[str, object] = {"member": [first.public_id, second.public_id], "chosen": [second.public_id]}
    sent |= {"answer": "accept", "name": "Ring stall"}
    answer = olga.post(f"{PAGE}{first.public_id}/", sent, headers=HTMX)
    assert answer.status_code == 200
    assert "into version 2 as Ring stall" in text(answer) and f'id="group-{first.public_id}"' in text(answer)
    assert ProposalOutcome.objects.get().proposal == second
    assert "Ring stall" in text(olga.get(PAGE)) and "Answered" in text(olga.get(PAGE))


@pytest.mark.parametrize(
    ("sent", "words"),
    [
        ({"answer": "accept", "name": ""}, "A category needs a name"),
        ({"answer": "accept", "name": "hang"}, "“Hang” already"),
        ({"answer": "accept", "name": "A", "parent": "nowhere"}, "is not a category of that draft"),
        ({"answer": "map_to", "map_to": "nothing"}, "no category “nothing”"),
        ({"answer": "decline", "decline": ""}, "Give a reason"),
        ({}, "exactly one"),
    ],
)
def test_what_is_wrong_stands_in_the_form_with_what_was_typed(round_: Round, sent: dict[str, str], words: str) -> None:
    proposal = propose(round_, "bob", 1, "Ring stall")
    body = {"member": proposal.public_id, "chosen": proposal.public_id, **sent}
    for headers in (HTMX, {}):
        answer = enter("olga").post(f"{PAGE}{proposal.public_id}/", body, headers=headers)
        assert answer.status_code == 422 and words in text(answer)
        assert ("<html" in text(answer)) == (not headers)
    none = enter("olga").post(f"{PAGE}{proposal.public_id}/", {"member": proposal.public_id, **sent}, headers=HTMX)
    assert none.status_code == 422 and "Choose at least one" in text(none)
    assert not ProposalOutcome.objects.exists()


def test_without_scripts_the_owner_comes_back_to_the_list_and_can_answer_anew(round_: Round) -> None:
    proposal = propose(round_, "bob", 1, "Ring stall")
    olga, path = enter("olga"), f"{PAGE}{proposal.public_id}/"
    body = {"member": proposal.public_id, "chosen": proposal.public_id}
    answer = olga.post(path, {**body, "answer": "accept", "name": "Ring stall", "definition": "It waits."}, follow=True)
    assert answer.redirect_chain[0][0] == PAGE and "accepted into version 2" in text(answer)
    page = text(olga.get(path))
    assert "accepted" in page and "stays in version 2" in page
    outcome = ProposalOutcome.objects.get()
    unseen = olga.post(path, {**body, "answer": "decline", "decline": "no"})
    assert unseen.status_code == 409
    olga.post(path, {**body, "answer": "decline", "decline": "it is a hang", "expected": outcome.public_id})
    assert "it is a hang" in text(olga.get(path)) and ProposalOutcome.objects.count() == 2
    assert TaxonomyVersion.objects.filter(state="draft").count() == 1


def test_what_is_typed_is_shown_as_text(round_: Round) -> None:
    proposal = propose(round_, "bob", 1, "<b>Ring</b>", "<script>alert(1)</script>")
    for path in (PAGE, f"{PAGE}{proposal.public_id}/"):
        page = enter("olga").get(path).content.decode()
        assert "<b>Ring" not in page and "<script>alert" not in page


def test_the_owner_who_does_not_maintain_the_taxonomy_is_offered_no_accepting(round_: Round, study: Study) -> None:
    propose(round_, "bob", 1, "Ring stall")
    study.taxonomy.maintainers.clear()
    page = text(enter("olga").get(PAGE))
    assert "You don’t maintain the taxonomy" in page and 'name="definition"' not in page


def test_the_empty_page_says_where_proposals_come_from(study: Study) -> None:
    assert "No proposals yet." in text(enter("olga").get(PAGE))
    assert "No proposals yet." in text(enter("bob").get(PAGE))


def test_a_round_and_a_dimension_narrow_the_page(study: Study) -> None:
    first = make.open_round(study, 1)
    propose(first, "bob", 1, "Ring stall")
    propose(make.open_round(study, 1, first=2), "bob", 2, "Deadlock")
    page = text(enter("olga").get(f"{PAGE}?round=2"))
    assert "Deadlock" in page and "Ring stall" not in page
    for query in ("round=x", f"round={'9' * 30}", "from=999", "from=x", "after=x"):
        assert "Ring stall" in text(enter("olga").get(f"{PAGE}?{query}"))
    assert "No proposals match this filter." in text(enter("olga").get(f"{PAGE}?dimension=none"))
    assert "Ring stall" in text(enter("olga").get(f"{PAGE}?dimension=symptom%00"))


def test_my_work_and_the_list_of_the_round_say_what_came_back(round_: Round, study: Study) -> None:
    first, second = propose(round_, "bob", 1, "Ring stall"), propose(round_, "bob", 2, "Deadlock")
    bob = enter("bob")
    assert "returned" not in text(bob.get("/"))
    settle_proposals(seat=make.owner_seat(study), proposals=[first.public_id], map_to="hang")
    settle_proposals(seat=make.owner_seat(study), proposals=[second.public_id], decline="too narrow")
    assert "2 of your items were returned" in text(bob.get("/"))
    assert "returned" not in text(enter("carol").get("/"))
    label = "/studies/study/rounds/1/label/"
    assert "2 of your items were returned" in text(bob.get(label))
    page = text(bob.get(f"{label}{first.annotation.assignment.public_id}/"))
    assert "the owner mapped it to Hang" in page
    make.submit(round_, "bob", 1, {"symptom": ["hang"]})
    assert "1 of your items was returned" in text(bob.get("/"))


def test_what_came_back_in_a_study_that_is_archived_is_nobodys_work(round_: Round, study: Study) -> None:
    found = propose(round_, "bob", 1, "Ring stall")
    settle_proposals(seat=make.owner_seat(study), proposals=[found.public_id], decline="too narrow")
    Round.objects.filter(pk=round_.pk).update(state=Round.State.RESOLVING)
    assert "returned" in text(enter("bob").get("/"))
    archive_study(seat=make.owner_seat(study))
    assert "returned" not in text(enter("bob").get("/"))


def test_the_page_costs_the_same_for_three_names_and_for_thirty(study: Study) -> None:
    olga, bob = enter("olga"), enter("bob")
    for n in (3, 30):
        round_ = make.open_round(study, n)
        for number in range(1, n + 1):
            propose(round_, "bob", number, f"Name number {chr(64 + number)}")
        pks = [each.public_id for each in Proposal.objects.filter(outcomes=None)]
        settle_proposals(seat=make.owner_seat(study), proposals=pks[: n // 3], map_to="hang")
        for client in (olga, bob):
            client.get(PAGE)
        with assert_queries(OWNERS):
            olga.get(PAGE)
        with assert_queries(RATERS):
            bob.get(PAGE)
        with assert_queries(HOME):
            bob.get("/")


OWNERS, RATERS, HOME = 17, 12, 12


def test_what_a_sheet_called_pending_is_grouped_by_its_memo_and_never_taken_together_unasked(round_: Round) -> None:
    for rater, item, memo in (("bob", 1, "horovod build"), ("carol", 1, "Horovod  build"), ("bob", 2, "how to set IP")):
        propose(round_, rater, item, "PENDING", memo)
    nameless = [propose(round_, rater, 3, "PENDING") for rater in ("bob", "carol")]
    page = text(enter("olga").get(PAGE))
    assert "5 open proposals in 3 groups" in page
    places = [page.index(words) for words in ("horovod build", "how to set IP", "without a name or memo")]
    assert places == sorted(places)
    assert 'name="name" maxlength="200" value="horovod build"' in page and 'value="PENDING"' not in page
    for each in nameless:
        assert f'name="chosen" value="{each.public_id}"> ' in page  # not ticked
    body = {"member": [nameless[1].public_id], "answer": "accept", "name": "X"}
    sent = enter("olga").post(f"{PAGE}{nameless[0].public_id}/", body)
    assert sent.status_code == 422 and "Choose at least one of them." in text(sent)


def test_a_proposal_goes_into_a_coming_version_until_a_plan_has_moved_the_study_there(study: Study) -> None:
    round_ = make.open_round(study, 1)
    proposal = propose(round_, "bob", 1, "Ring stall")
    make.submit(round_, "carol", 1, {"symptom": ["hang"]})
    seat = make.owner_seat(study)
    settle_proposals(seat=seat, proposals=[proposal.public_id], accept={"name": "Ring stall"})
    coming = "1 of your proposals was accepted for a coming version"
    assert coming in text(enter("bob").get("/"))
    publish_version(user=study.created_by, version=TaxonomyVersion.objects.get(state="draft"))
    plan = preview_plan(seat=seat, to=2)
    run_plan(seat=seat, plan=plan, send=False)
    plan_jobs.work(plan.pk)
    home = text(enter("bob").get("/"))
    assert coming not in home and "1 item left to label" in home
    assert "it can be selected once the study is migrated to that version" in text(enter("bob").get(PAGE))


def test_the_preview_of_a_draft_leads_to_it(study: Study) -> None:
    round_ = make.open_round(study, 1)
    for name in ("bob", "carol"):
        make.submit(round_, name, 1, {"symptom": ["hang"]})
    draft = start_draft(user=study.created_by, taxonomy=study.taxonomy)
    plan = preview_plan(seat=make.owner_seat(study), to=draft.number)
    page = text(enter("olga").get(f"/studies/study/plans/{plan.number}/"))
    assert f'<a href="/taxonomies/{study.taxonomy.slug}/versions/{draft.number}/">Read it</a>' in page
