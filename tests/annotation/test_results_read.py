"""Results of a round under way are read with a line in the audit log, and whoever has one is not blind there."""

import pytest
from django.test import Client

from annotation import ruling
from annotation.actions import studies
from annotation.actions.analyses import save_analysis
from annotation.actions.discussing import write_remark
from annotation.models import Assignment, AuditEvent, Membership, Proposal, RoundRater, Study
from annotation.queries.giving import READ, unblinded_among
from tests import builders as make
from tests.annotation.test_independence import add, ask, in_state, read_by, reads, rejected, resolving_with_carol_free
from tests.scripts import Script

pytestmark = pytest.mark.django_db


# Whom a rule or an owner asks as third rater


@pytest.mark.parametrize(
    "path",
    ["api:agreement/?round=1", "api:labels/", "api:labels/?format=csv", "api:analysis/counts/?dimension=symptom",
     "api:agreement/methods/", "agreement/", "analysis/", "exports/labels.csv", "exports/resolutions.csv",
     "taxonomy:usage/?version=1"],
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
    ruling.rule_items(round_.pk, [free.pk])
    assert not Assignment.objects.filter(round=round_, item=free, slot=None).exists()
    rejected(ask(item=free.identifier, rater="carol"))
    assert ask(item=free.identifier, rater="carol", unblinded=True).json()["unblinded"] is True


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


# Readers and staff


@pytest.mark.parametrize("name", ["rea", "stan"])
@pytest.mark.parametrize("path", ["agreement/?round=1&raters=R1,R2", "labels/?round=1"])
def test_results_of_an_open_round_are_read_with_a_line(name: str, path: str) -> None:
    study = in_state("open")
    assert read_by(name, path).status_code == 200
    assert [who for who, _, _ in reads()] == [name]
    for other in ("olga", "ada"):
        read_by(other, path)
    assert len(reads()) == 1
    make.rate(study.rounds.get(), "item carol\n1 hang\n2 hang")


# Accounts that were invited


def staff_invited() -> Study:
    """Stan, of the staff, has read the labels of an open round and is invited to rate."""
    study = in_state("open")
    assert read_by("stan", "labels/?round=1").status_code == 200
    assert (
        Script("olga").send("POST", "studies/study/members/", {"user": "stan", "roles": ["rater"]}).status_code == 201
    )
    assert Membership.objects.get(invited_user__username="stan").is_invited
    return study


def test_staff_who_are_invited_are_not_blind_in_an_open_round_with_answers() -> None:
    staff_invited()
    rejected(add("stan"))
    assert add("stan", unblinded=True).json()["unblinded"] is True


def test_who_reads_results_while_an_invitation_waits_is_marked_when_it_is_accepted() -> None:
    """An older release added invited accounts without a look at what they had read."""
    study = staff_invited()
    member = Membership.objects.get(invited_user__username="stan")
    row = RoundRater.objects.create(round=study.rounds.get(), rater=member)
    key = Script("stan").send("GET", "me/invitations/").json()["results"][0]["id"]
    assert Script("stan").send("POST", f"me/invitations/{key}/accept/").status_code == 200
    row.refresh_from_db()
    assert row.unblinded
    assert AuditEvent.objects.get(verb="member accepted", user__username="stan").detail["unblinded"] == [1]


def test_a_name_in_an_open_round_becomes_no_account_that_could_read_its_answers() -> None:
    study = in_state("open")
    name_only = Membership.objects.create(study=study, name="Rae", code="R9", roles=["rater"])
    RoundRater.objects.create(round=study.rounds.get(), rater=name_only)
    olga = Client()
    olga.force_login(make.user("olga"))
    answer = olga.post(f"/studies/study/members/{name_only.pk}/join/", {"username": "stan"}, follow=True)
    name_only.refresh_from_db()
    assert "could read its answers" in answer.content.decode() and not name_only.is_invited


# Titles of analyses, and proposals


def test_titles_of_analyses_of_others_are_hidden_from_members_who_may_still_join_an_open_round() -> None:
    study = in_state("open")
    question = {"dimension": ["symptom"]}
    save_analysis(seat=make.seat(study, "ada"), title="Everything hangs", kind="counts", question=question)
    for name, status in (("dan", 403), ("bob", 403), ("ada", 200)):
        visitor = Client()
        visitor.force_login(make.user(name))
        answer = visitor.get("/studies/study/analysis/1/")
        assert answer.status_code == status
        listed = visitor.get("/studies/study/analysis/").content.decode()
        assert ("Everything hangs" in answer.content.decode() + listed) == (status == 200)


@pytest.mark.parametrize("door", ["REST", "page"])
def test_one_proposal_of_an_open_round_is_read_with_a_line(door: str) -> None:
    study = in_state("open")
    proposed = {"symptom": {"name": "Deadlock", "memo": "both wait"}}
    make.submit(study.rounds.get(), "carol", 1, {}, proposals=proposed)
    place = f"studies/study/proposals/{Proposal.objects.get().public_id}/"
    ada, carol = Client(), Client()
    ada.force_login(make.user("ada"))
    carol.force_login(make.user("carol"))
    (carol.get(f"/{place}") if door == "page" else Script("carol").send("GET", place))
    assert reads() == []
    answer = ada.get(f"/{place}") if door == "page" else Script("ada").send("GET", place)
    assert answer.status_code == 200 and reads() == [("ada", door, "proposal")]


def test_a_proposal_is_not_accepted_while_a_maintainer_of_the_taxonomy_rates_in_its_open_round() -> None:
    study = in_state("open")
    round_ = study.rounds.get()
    make.submit(round_, "carol", 1, {}, proposals={"symptom": {"name": "Deadlock", "memo": "both wait"}})
    study.taxonomy.maintainers.add(make.user("bob"))
    place = f"studies/study/proposals/{Proposal.objects.get().public_id}/"
    accept = {"accept": {"name": "Deadlock"}}
    answer = Script("olga").send("POST", place, accept)
    assert (answer.status_code, answer.json()["code"]) == (409, "maintainer_blind")
    assert not study.taxonomy.versions.filter(state="draft").exists()
    make.rate(round_, "item carol\n2 hang")
    round_.refresh_from_db()
    assert round_.state == "resolving"
    assert Script("olga").send("POST", place, accept).status_code == 200
